"""The layers of the project: who may import whom, and how long a module may be."""

import ast
import configparser
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import theory
from empirical import digest, testbed

ROOT = Path(__file__).resolve().parents[1]

FORBIDDEN = {
    "theory": {"empirical", "verify", "torch", "rich", "hypothesis"},
    "empirical": {"theory", "verify", "hypothesis"},
}
"""A prediction and its measurement share no code."""

LAZY = {"sympy", "mpmath", "flint", "matplotlib"}
"""What `theory` may import inside a function only."""

LIMIT = 320
"""About 300 lines of code a module: without docstrings, comments and blank lines."""

LONGER = {
    "verify/integrals.py": "a second library, kept apart from the first in one file",
}
"""Modules that may be longer, each with its reason."""


def _modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def _imports(tree: ast.AST) -> set[str]:
    """Top-level packages of every import statement below `tree`."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
            ("import_module", "__import__")
        ):
            names |= {
                str(arg.value).partition(".")[0]
                for arg in node.args
                if isinstance(arg, ast.Constant)
            }
    return names


def _at_import_time(tree: ast.Module) -> set[str]:
    """Packages imported by running the module: outside functions, typing aside."""
    names: set[str] = set()
    stack: list[ast.stmt] = list(tree.body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith(
            "TYPE_CHECKING"
        ):
            stack += node.orelse
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= _imports(node)
        for field in ("body", "orelse", "finalbody"):
            stack += [s for s in getattr(node, field, []) if isinstance(s, ast.stmt)]
    return names


UNIX = {"fcntl", "resource", "termios", "pwd", "grp"}
"""Of the standard library, what Windows lacks: mutations of the source alone need it."""


@pytest.mark.parametrize("package", ["theory", "empirical", "verify"])
def test_every_system_can_import(package):
    for path in _modules(package):
        if (ROOT / "verify/mutants") not in path.parents:
            assert not _imports(ast.parse(path.read_text())) & UNIX, path


@pytest.mark.parametrize("package", ["theory", "empirical", "verify"])
def test_no_thread_waits_for_an_attribute_of_another(package):
    """Python 3.11 holds one lock for all of `functools.cached_property`: see `_cached`."""
    for path in _modules(package):
        if path.name == "_cached.py":
            continue
        assert not any(
            (isinstance(node, ast.Attribute) and node.attr == "cached_property")
            or (
                (isinstance(node, ast.ImportFrom) and node.module == "functools")
                and any(alias.name == "cached_property" for alias in node.names)
            )
            for node in ast.walk(ast.parse(path.read_text()))
        ), path


@pytest.mark.parametrize("package", sorted(FORBIDDEN))
def test_layers(package):
    modules = _modules(package)
    assert modules
    offenders = {
        str(path.relative_to(ROOT)): sorted(found)
        for path in modules
        if (found := _imports(ast.parse(path.read_text())) & FORBIDDEN[package])
    }
    assert offenders == {}


def test_theory_imports_heavy_packages_lazily():
    offenders = {
        str(path.relative_to(ROOT)): sorted(found)
        for path in _modules("theory")
        if (found := _at_import_time(ast.parse(path.read_text())) & LAZY)
    }
    assert offenders == {}


def test_topics_of_theory_are_loaded_when_asked_for():
    code = (
        "import sys, theory\n"
        "assert 'theory.kernels' not in sys.modules\n"
        "assert {'activations', 'kernels', 'mmd'} <= set(dir(theory))\n"
        "assert not any(name.startswith('_') for name in dir(theory))\n"
        "print(theory.activations.relu.second_moment, hasattr(theory, 'kernel'))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT
    )
    assert found.stdout.split() == ["0.5", "False"], found.stderr


def test_modules_whose_doctests_come_first_are_not_loaded_again():
    """Tests patch a module: of two copies it was the one that nothing called."""
    paths = ("theory/spectrum/deep.py", "tests/theory/test_spectrum.py")
    some = ("-k", "test_series_are_composed_no_further_than_they_are_asked_for")
    command = [sys.executable, "-m", "pytest", "-q", "--doctest-modules", *paths, *some]
    found = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert found.returncode == 0, found.stdout


def test_the_list_of_topics_names_modules_only():
    listed = re.findall(r"^(\w+)  ", str(theory.__doc__), flags=re.MULTILINE)
    assert len(listed) > 10
    assert set(listed) <= set(dir(theory))


def test_the_map_of_the_testbed_names_each_of_its_modules_once():
    listed = re.findall(r"`(\w+)`", str(testbed.__doc__))
    modules = {path.stem for path in _modules("empirical/testbed")} - {"__init__"}
    assert sorted(listed) == sorted(modules)


def test_no_module_of_empirical_takes_a_name_that_another_keeps_to_itself():
    taken = {
        f"{path.relative_to(ROOT)}: {node.module}.{alias.name}"
        for path in _modules("empirical")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("empirical")
        for alias in node.names
        if alias.name.startswith("_")
        and not digest.sources(f"{node.module}.{alias.name}")
    }
    assert not taken


def test_no_module_takes_topics_from_the_package():
    # A digest follows imports, not attributes.
    bare = {
        str(path.relative_to(ROOT))
        for package in ("theory", "empirical", "verify")
        for path in _modules(package)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import)
        and any(alias.name == "theory" for alias in node.names)
    }
    assert bare == set()


def test_one_module_of_theory_draws():
    drawing = {
        str(path.relative_to(ROOT))
        for path in _modules("theory")
        if "matplotlib" in _imports(ast.parse(path.read_text()))
    }
    assert drawing == {"theory/plots.py"}


def test_the_reader_of_imports_sees_every_form():
    code = (
        "import a.b\nfrom c.d import e\nfrom . import f\n"
        "def g():\n    import h\n    importlib.import_module('i.j')\n"
    )
    assert _imports(ast.parse(code)) == {"a", "c", "h", "i"}
    assert _at_import_time(ast.parse(code)) == {"a", "c"}


def _code_lines(text: str) -> int:
    """Count the lines that are neither docstrings, comments nor blank."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        # A docstring is the first text of a body; a constant's follows it.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            documented.update(range(node.lineno, (node.end_lineno or 0) + 1))
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("#")
        for number, line in enumerate(text.splitlines(), 1)
        if number not in documented
    )


def test_modules_stay_short():
    # A topic's claims stand together, however many they are.
    lengths = {
        str(path.relative_to(ROOT)): _code_lines(path.read_text())
        for package in ("theory", "empirical", "verify")
        for path in _modules(package)
        if ROOT / "verify" / "claims" not in path.parents
    }
    assert lengths
    assert {path for path, n in lengths.items() if n > LIMIT} == set(LONGER)


def test_docstrings_comments_and_blank_lines_are_no_code():
    text = '"""Module\n\nof."""\n\n# Why.\nA = 1  # one\n"""What A is."""\n'
    assert _code_lines(text) == 1
    assert (
        _code_lines(text + 'def f():\n    """F."""\n    return (\n        A\n    )\n')
        == 5
    )


def test_claims_know_nothing_of_their_looks():
    # A record is stale when code that a claim imports changes: a colour must not do so.
    looks = ("verify.figures", "verify.report", "verify.command", "verify.run")
    for path in _modules("verify"):
        if ROOT / "verify" / "claims" not in path.parents:
            continue
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        drawn = [m for m in digest.sources(name) if m.startswith(looks)]
        assert drawn == [], name


def test_what_trains_networks_knows_no_command_line():
    papers = {p.parent.name for p in (ROOT / "empirical").glob("*/study.py")}
    papers -= {"testbed"}
    assert len(papers) >= 4
    for paper in papers:
        behind = digest.sources(f"empirical.{paper}.study")
        assert f"empirical.{paper}.experiments" in behind
        assert not {m for m in behind if m.endswith(("__main__", "command", "engine"))}


LOADERS = {"load", "digit_problem"}
"""What looks in the user's cache of data sets, unless told ``cached=False``."""


def _cache_readers(tree: ast.Module) -> list[int]:
    """Lines that call a loader of `empirical` without ``cached=False``."""
    loaders = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("empirical")
        for alias in node.names
        if alias.name in LOADERS
    }
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in loaders
        and "cached=False" not in map(ast.unparse, node.keywords)
    ]


def test_a_verdict_does_not_depend_on_the_users_cache():
    offenders = {
        str(path.relative_to(ROOT)): lines
        for path in _modules("verify")
        if (lines := _cache_readers(ast.parse(path.read_text())))
    }
    assert offenders == {}


def test_the_reader_of_loaders_sees_them():
    code = (
        "from empirical.data import load as get\nfrom verify.ledger import load\n"
        "load('x')\nget('x')\nget('x', cached=False)\nget('x', cached=True)\n"
    )
    assert _cache_readers(ast.parse(code)) == [4, 6]


def test_tox_collects_the_benchmarks() -> None:
    settings = configparser.ConfigParser(interpolation=None)
    settings.read(ROOT / "tox.ini", encoding="utf-8")
    words = settings["testenv:bench"]["commands"].split()
    (files,) = (w.removeprefix("python_files=") for w in words if "python_files" in w)
    collected = set((ROOT / "benchmarks").glob(files))
    tests = {
        path
        for path in (ROOT / "benchmarks").glob("*.py")
        if "def test_" in path.read_text(encoding="utf-8")
    }
    assert tests
    assert tests <= collected


def test_the_oldest_versions_are_those_that_are_admitted() -> None:
    """So that `tox -e oldest` tries what pyproject.toml says."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = (project["dependencies"], *project["optional-dependencies"].values())
    needed = {line for lines in lists for line in lines if ">=" in line}
    admitted = dict(re.match(r"([\w-]+)>=([\d.]+)", line).groups() for line in needed)
    text = (ROOT / "constraints-oldest.txt").read_text()
    tried = dict(re.findall(r"^([\w-]+)==([\d.]+)$", text, re.MULTILINE))
    exact = (ROOT / "constraints.txt").read_text()
    assert f"torch=={tried['torch']}\n" in exact  # older ones would be for GPUs
    for name in admitted.keys() - {"torch"}:
        assert re.fullmatch(re.escape(admitted[name]) + r"(\.0)*", tried[name]), name
