"""Seconds of processor time of one thread."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from hard_cases.case import Case, known
from hard_cases.functions import hard_swish
from hard_cases.rows import single
from theory import activations as act
from theory import kernels

MILLION = 1_000_000


def _case(what: str, right: str, before: str, call: Callable[[], Any]) -> Case:
    return Case(what, right, before, call, None)


def _rows(n: int, d: int, low: float, high: float) -> Any:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x * rng.uniform(low, high, (n, 1))


def kernel_seconds() -> list[Case]:
    """Kernels, at any lengths."""
    kink, both = act.normrelu(), kernels.nngp_ntk
    swish = act.from_function(hard_swish, kinks=(-3.0, 3.0))
    rows, selu = single()[0], act.selu.normalized()
    relu, parallel = act.relu.normalized(), [[1.0, 2.0, 3.0], [1.1, 2.2, 3.3]]
    few, thin = _rows(4, 3, 0.5, 1.5), _rows(4, 3, 0.5e-4, 1.5e-4)
    tiny, many = _rows(4, 3, 0.5e-6, 1.5e-6), _rows(200, 20, 0.5, 1.5)
    hundred, thousand = _rows(100, 20, 0.5, 1.5), _rows(1000, 100, 0.5, 1.5)
    return [
        _case(
            "hard-swish, 4 rows of unequal lengths, one layer",
            *("1", "24"),
            lambda: both(few, swish, 1),
        ),
        _case(
            "hard-swish, 100 rows of unequal lengths, depth 10",
            *("10", "a day"),
            lambda: both(hundred, swish, 10),
        ),
        _case(
            "NormReLU, 4 rows of norms about 1e-4, one layer",
            *("1", "8"),
            lambda: both(thin, kink, 1),
        ),
        _case(
            "NormReLU, 4 rows of norms about 1e-6, one layer",
            *("1", "1,200"),
            lambda: both(tiny, kink, 1),
        ),
        *(
            _case(
                f"NormReLU, 4 rows of norm {r:g}, one layer",
                *("1", before),
                lambda r=r: both(_rows(4, 3, r, r), kink, 1),
            )
            for r, before in ((0.1, "7"), (0.01, "> 20"))
        ),
        *(
            _case(
                f"{name}, 1,000 rows of unequal lengths, depth 20",
                *(f"{rival}, neural-tangents", before),
                lambda a=name: both(thousand, known(a), 20),
            )
            for name, rival, before in (
                ("relu", "0.17", "0.01"),
                ("erf", "0.13", "1.9"),
            )
        ),
        _case(
            "SELU, 200 rows of unequal lengths, depth 3",
            *("1", "8.4"),
            lambda: both(many, act.selu, 3),
        ),
        _case(
            "normalised ReLU, parallel rows, depth 10,000",
            *("1", "4, then ValueError"),
            lambda: kernels.nngp(parallel, relu, 10**4),
        ),
        _case(
            "SELU, 50 rows normalised in float32, depth 20",
            *("", "3.4"),
            lambda: both(rows, selu, 20),
        ),
        _case(
            "the same, `sphere=True`",
            *("0.05 and the table", "no such flag"),
            lambda: both(rows, selu, 20, sphere=True),
        ),
    ]


def function_seconds() -> list[Case]:
    """First answers, of a process that has just begun."""
    first = {"selu": "0.033", "elu": "0.033", "softsign": "0.12", "tanh": "0.005"}
    return [
        *(
            _case(f"{name}, first dual", old, old, lambda a=name: known(a).dual(0.5))
            for name, old in first.items()
        ),
        Case("import of activations and kernels", "0.14", "0.14", _imported),
    ]


def _imported() -> float:
    """Processor seconds of a new process that imports, less those of one that does not."""

    def spent(code: str) -> float:
        before = os.times()
        subprocess.run([sys.executable, "-c", code], check=True)
        after = os.times()
        return sum(after[2:4]) - sum(before[2:4])

    line = "from theory import activations, kernels"
    return min(spent(line) - spent("pass") for _ in range(3))


def bulk() -> list[Case]:
    """A million duals, the first of them known."""
    rho = np.linspace(-1.0, 1.0, MILLION)
    before = {
        "hard_tanh": "19.6",
        "normrelu": "10.6",
        "leaky_relu(0.01)": "1.2",
        **dict.fromkeys(("relu", "abs", "step", "sign", "relu_squared"), "1.15"),
        "identity": "1.0",
        "arctan": "0.17",
        "asinh": "0.15",
        "tanh": "0.10",
        "selu": "0.22",
        "elu": "0.09",
        "gelu": "0.08",
    }

    def timed(name: str, method: str) -> Callable[[], Any]:
        a = known(name)
        points = 1.0 - rho if method == "distance_map" else rho
        return lambda: getattr(a, method)(points)

    out = [
        _case(f"{name}, dual", "0.1, first call 0.5", old, timed(name, "dual"))
        for name, old in before.items()
    ]
    for method in ("dual_derivative", "distance_map"):
        out += [
            _case(f"{n}, {method}", "0.1, first call 0.5", "", timed(n, method))
            for n in ("relu", "hard_tanh", "normrelu", "tanh", "selu")
        ]
    for name in ("hard_tanh", "relu"):
        out.append(
            _case(
                f"{name}, nngp_map at one point: the table of one layer",
                *("", "0.03 to 0.29"),
                lambda a=name: kernels.nngp_map(0.5, known(a), 1),
            )
        )
    for name, old in (("hard_tanh", "0.014 to 0.028"), ("relu", "0.014 to 0.028")):
        what = f"{name}, nngp_map, one layer, table not counted"
        a = known(name)

        def warm(a: Any = a) -> float:
            import time

            kernels.nngp_map(0.5, a, 1)
            start = time.process_time()
            kernels.nngp_map(rho, a, 1)
            return time.process_time() - start

        out.append(Case(what, "0.03", old, warm))
    return out
