"""The closed forms load neither a learning framework nor computer algebra."""

import json
import pkgutil
import subprocess
import sys

import theory

HEAVY = ("torch", "sympy", "mpmath", "flint", "matplotlib")

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(theory.__path__, "theory.")
)


def _loaded(code: str) -> list[str]:
    """Run `code` in a fresh interpreter; return the heavy packages it loaded."""
    script = f"{code}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return sorted(set(HEAVY) & set(json.loads(done.stdout)))


def test_the_walk_finds_the_public_modules():
    names = {name.rpartition(".")[2] for name in MODULES}
    public = {"activations", "hermite", "duals", "kernels", "conditioning", "lengths"}
    assert public | {"optimization"} <= names


def test_no_module_of_theory_loads_a_heavy_package():
    assert _loaded("\n".join(f"import {name}" for name in MODULES)) == []


def test_kernels_load_scipy_only_when_it_is_asked():
    code = (
        "import sys\n"
        "from theory import kernels, phase\n"
        "assert 'scipy' not in sys.modules\n"
    )
    assert _loaded(code) == []


def test_the_probe_sees_a_heavy_package():
    assert _loaded("import mpmath") == ["mpmath"]


def test_kernels_and_bounds_load_no_heavy_package():
    code = (
        "from theory import activations as act, kernels\n"
        "kernels.ntk([[1.0, 0.0], [0.5, 1.0]], act.relu.normalized(), 3)\n"
        "kernels.nngp_map(0.5, act.tanh.normalized(), 3)\n"
        "act.from_function(lambda x: x * x).mu\n"
    )
    assert _loaded(code) == []
