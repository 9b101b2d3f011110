"""Cases that used to be wrong, to fail or to take minutes: before and after.

``python benchmarks/accuracy.py --hard --write docs/accuracy.md`` writes the table. Each
case runs in a process of its own, ``python benchmarks/hard_cases.py NAME``, which
prints one number (an error, a kernel's entry, or seconds of processor time), so that one
that hangs can be ended.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import reference_laws as laws
import reference_smooth as smooth
from flint import arb, ctx

from theory import activations as act
from theory import kernels, lengths

BEFORE = "2585c73"
LIMIT = 60
"""Seconds of processor time after which a case is ended."""

THEN: dict[str, str] = {
    "copies-150": "0.995",
    "copies-200": "0.081",
    "copies-300": "9.65e-06",
    "copies-ntk": "0.981",
    "lengths-parallel": "0",
    "lengths-near": "0",
    "erf-784-nngp": "1.7e-10",
    "erf-784-ntk": "2.52e-07",
    "erf-3072-nngp": "1.82e-08",
    "erf-3072-ntk": "1.66e-05",
    "erf-10000-nngp": "3.31e-07",
    "erf-10000-ntk": "6.32e-05",
    "tanh-100": "1.84e-08",
    "tanh-200": "5.68e-07",
    "tanh-784": "0.000113",
    "tanh-1000": "0.000204",
    "tanh-3072": "> 60 s",
    "tanh-10000": "0.171",
    "arctan-100": "1.76e-08",
    "asinh-100": "9.1e-09",
    "selu-300": "1.53e-11",
    "selu-600": "3.26e-07",
    "selu-1000": "0.0482",
    "tanh-dual": "0.171",
    "erf-callable": "0.000873",
    "bump": "0.116",
    "kink-mu": "1.93e-05",
    "kink-elu": "1.79e-08",
    "kink-hard-swish": "> 60 s",
    "cube-root": "2.55",
    "far-ramp": "1",
    "power": "2.04e-08",
    "power-time": "14.9",
    "nearly-linear": "4.94e-05",
    "leaky-12": "7.86e-05",
    "leaky-13": "0.00286",
    "unstable-1e-05": "4.43e-05",
    "unstable-1e-07": "0.33",
    "unstable-1e-09": "65.8",
    "hard-tanh-small": "5.39",
    "normrelu-1e-4": "5.49",
    "normrelu-1e-6": "> 60 s",
    "normrelu-sphere": "15.6",
    "hard-swish": "25.3",
    "selu-uneven": "14.8",
    "parallel-deep": "ValueError",
    "tanh-callable": "24.6",
    "single": "6.55",
    "dual-hard_tanh": "7.75",
    "dual-normrelu": "4.12",
    "dual-leaky_relu(0.01)": "0.761",
    "dual-relu": "0.743",
    "dual-abs": "0.773",
    "dual-step": "0.769",
    "dual-sign": "0.797",
    "dual-relu_squared": "0.756",
    "dual-identity": "0.67",
    "dual-arctan": "0.292",
    "dual-asinh": "0.231",
    "dual-tanh": "0.174",
    "dual-selu": "0.18",
    "dual-elu": "0.183",
    "dual-gelu": "0.0525",
}
"""What was measured at BEFORE."""


@dataclass(frozen=True)
class Case:
    group: str
    what: str
    right: str  # the exact value, or what is asked for
    run: Callable[[], float | str]


def law(name: str) -> laws.Law:
    ctx.prec = 300
    return {**laws.FORMULAS, **laws.half_lines(50), **smooth.smooth(45)}[name]()


def layer(name: str, square: float, cosine: float) -> tuple[Any, Any]:
    """Exact K and E s'(u)s'(v) of one layer, lengths equal."""
    p = arb(square)
    return law(name).two(p, p, (p * arb(cosine)).mid())


# --- kernels --------------------------------------------------------------------------


def copies(depth: int, *, tangent: bool = False) -> float:
    """Smallest correlation of ten rows of unequal lengths with their copies."""
    x = np.random.default_rng(0).standard_normal((10, 5))
    k, t = kernels.nngp_ntk(
        np.vstack([x, x]), act.erf.normalized(), depth, normalized=True
    )
    k = t if tangent else k
    root = np.sqrt(np.diag(k))
    return float(min((k / np.outer(root, root))[i, i + 10] for i in range(10)))


def apart(x: list[list[float]]) -> float:
    """1 - correlation of two rows after 200 layers of normalised erf."""
    k = kernels.nngp(x, act.erf.normalized(), 200)
    return float(1.0 - k[0, 1] / np.sqrt(k[0, 0] * k[1, 1]))


def sphere(name: str, square: float) -> float:
    """Error of K_01 over K_00: one layer, equal lengths, cosine 0.3 of the floats."""
    r = np.sqrt(square)
    x = np.array([[r, 0.0], [0.3 * r, np.sqrt(1.0 - 0.09) * r]])
    k = kernels.nngp(x, act.CATALOGUE[name], 1)
    ctx.prec = 300
    rows = [[arb(float(v)) for v in row] for row in x]
    p, q, both = (
        sum((a * b for a, b in zip(*pair, strict=True)), arb(0))
        for pair in ((rows[0], rows[0]), (rows[1], rows[1]), (rows[0], rows[1]))
    )
    true = law(name).two(p, q, both)[0]
    return float(abs(arb(float(k[0, 1])) - true) / law(name).one(p)[0])


def uneven_erf(square: float, *, tangent: bool) -> float:
    """Largest error of three rows over the diagonal: raw erf, one layer."""
    x = np.array([[1.0, 0.2, 0.1], [0.3, 0.9, -0.5], [-0.6, 0.4, 0.8]]) * np.sqrt(
        square
    )
    found = kernels.nngp_ntk(x, act.erf, 1)[tangent]
    ctx.prec = 300
    rows = [[arb(float(v)) for v in row] for row in x]
    true = {}
    for i in range(3):
        for j in range(3):
            p, q, k = (
                sum((a * b for a, b in zip(rows[m], rows[n], strict=True)), arb(0))
                for m, n in ((i, i), (j, j), (i, j))
            )
            value, slope = law("erf").two(p, q, k)
            true[i, j] = value + k * slope if tangent else value
    return max(
        float(abs(arb(float(found[i, j])) - t) / (true[i, i] * true[j, j]).sqrt())
        for (i, j), t in true.items()
    )


def selu_depth(depth: int) -> float:
    """Raw SELU, normalised to 1e-16, against the exactly normalised one."""
    twin = kernels.nngp_map(0.5, act.selu.normalized(), depth)
    return abs(kernels.nngp_map(0.5, act.selu, depth) / twin - 1.0)


def dual_error(name: str, var: float) -> float:
    true, _ = layer(name, var, 0.3)
    got = act.CATALOGUE[name].dual(0.3, var_x=var, var_y=var)
    return float(abs(arb(got) - true) / law(name).one(arb(var))[0])


def callable_dual(f: Callable[[Any], Any], name: str, var: float) -> float:
    true, _ = layer(name, var, 0.3)
    got = act.from_function(f).dual(0.3, var_x=var, var_y=var)
    return float(abs(arb(got) - true))


# --- callables ------------------------------------------------------------------------


def moments(f: Callable[[Any], Any], cuts: list[float]) -> tuple[Any, Any]:
    """mu and E f^2 by mpmath, cut where the function turns."""
    with mpmath.workdps(40):
        ends = [-mpmath.inf, -6, *cuts, 6, mpmath.inf]

        def mean(g: Callable[[Any], Any]) -> Any:
            return mpmath.quad(lambda x: g(x) * mpmath.npdf(x), ends)

        first, second, line = (
            mean(f),
            mean(lambda x: f(x) ** 2),
            mean(lambda x: x * f(x)),
        )
        return 1 - line**2 / (second - first**2), second


def refused(run: Callable[[], float]) -> float | str:
    """The error of what is returned, or that the function was refused."""
    try:
        return run()
    except ValueError:
        return "refused"


def relative(got: float, true: Any) -> float:
    return float(abs(mpmath.mpf(got) - true) / abs(true))


def bump() -> float:
    got = act.from_function(lambda x: x + np.exp(-(((x - 0.7) / 0.08) ** 2) / 2))
    f = lambda x: x + mpmath.exp(-(((x - 0.7) / 0.08) ** 2) / 2)  # noqa: E731
    return relative(got.second_moment, moments(f, [0.3, 0.7, 1.1])[1])


def hidden_kink() -> float:
    got = act.from_function(lambda x: x + 0.1 * np.maximum(x - 0.3, 0.0)).mu
    true = moments(lambda x: x + 0.1 * max(x - 0.3, 0), [0.3])[0]
    return relative(got, true)


def hidden_dual(f: Callable[[Any], Any], name: str) -> float:
    got = act.from_function(f).dual(0.5)
    true = layer(name, 1.0, 0.5)[0]
    return float(abs(arb(got) - true) / law(name).one(arb(1))[0])


def elu(x: Any) -> Any:
    return np.where(x > 0.0, x, np.expm1(np.minimum(x, 0.0)))


def hard_swish(x: Any) -> Any:
    return x * np.clip(x + 3.0, 0.0, 6.0) / 6.0


def cube_root() -> float:
    return act.from_function(np.cbrt, kinks=(0.0,)).derivative_second_moment


def far_ramp() -> float:
    a = act.from_function(lambda x: np.maximum(x - 25.0, 0.0), kinks=(25.0,))
    with mpmath.workdps(40):
        c = mpmath.mpf(25)
        true = (1 + c * c) * mpmath.erfc(c / mpmath.sqrt(2)) / 2 - c * mpmath.npdf(c)
    return relative(a.second_moment, true)


def power_dual() -> float:
    a = act.from_function(lambda x: np.abs(x) ** 1.5, kinks=(0.0,))
    got = a.dual(0.5)
    with mpmath.workdps(30):
        # E |u|^3/2 |v|^3/2 by the hypergeometric series of absolute moments.
        s = mpmath.mpf(3) / 2
        size = (2**s / mpmath.pi) * mpmath.gamma((s + 1) / 2) ** 2
        true = size * mpmath.hyp2f1(-s / 2, -s / 2, 0.5, 0.25)
        return float(abs(got - true) / mpmath.mpf(4 / mpmath.sqrt(2 * mpmath.pi)))


def nearly_linear() -> float:
    a = act.from_function(lambda x: x + 1e-13 * (x * x - 1.0))
    # The energy of h_2 is 2e-26, the variance 1 + 2e-26.
    return relative(a.mu, 2 * mpmath.mpf(1e-13) ** 2)


def leaky(excess: float) -> float:
    slope = 1.0 + excess
    with mpmath.workdps(60):
        s = mpmath.mpf(slope)
        one, mean = (1 + s) / 2, (1 - s) / mpmath.sqrt(2 * mpmath.pi)
        variance = (1 + s * s) / 2 - mean**2
        true = 1 - one**2 / variance
    return relative(act.leaky_relu(slope).mu, true)


def unstable(c: float) -> float:
    """Error of unstable_length(c) - 1, relative."""
    ctx.prec = 400
    normal = laws.normalized(laws.pieces(([-arb(c), 1], c)))

    def f(x: Any) -> Any:  # (length_map(1 + x) - 1 - x) / x
        return normal.one(1 + x)[0] / x - 1 / x - 1

    start, end = arb(float(-c) * 4.0), arb(float(-c) * 6.0)
    for _ in range(60):
        low, high = f(start), f(end)
        if abs(high) < arb("1e-60") or abs(high - low) < arb("1e-90"):
            break
        start, end = end, (end - high * (end - start) / (high - low)).mid()
    return relative(
        lengths.unstable_length(c) - 1.0, mpmath.mpf(end.str(30, radius=False))
    )


# --- seconds --------------------------------------------------------------------------


def seconds(run: Callable[[], object]) -> Callable[[], float]:
    def timed() -> float:
        start = time.process_time()
        run()
        return time.process_time() - start

    return timed


def rows(n: int, d: int, low: float, high: float) -> Any:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x * rng.uniform(low, high, (n, 1))


def single_precision() -> Any:
    x = np.random.default_rng(0).standard_normal((50, 20)).astype(np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return kernels.nngp_ntk(x, act.selu.normalized(), 20)


def points(name: str) -> Callable[[], float]:
    rho = np.linspace(-1.0, 1.0, 1_000_000)
    a = act.CATALOGUE[name]
    a.dual(0.5)
    return seconds(lambda: a.dual(rho))


_TURN = [float(np.cos(1e-8)), float(np.sin(1e-8))]
_LONG = 1.0 + 1e-12


def cases() -> dict[str, Case]:
    kink = act.normrelu()
    g = "kernels of rows of unequal lengths"
    out = {
        f"copies-{d}": Case(
            g,
            f"normalised erf, a row and its copy, depth {d}: correlation",
            "1",
            lambda d=d: copies(d),
        )
        for d in (150, 200, 300)
    }
    out["copies-ntk"] = Case(
        g, "the same, tangent kernel, depth 150", "1", lambda: copies(150, tangent=True)
    )
    out["lengths-parallel"] = Case(
        g,
        "same direction, lengths 1 and 1 + 1e-12, depth 200: 1 - correlation",
        "1.755e-8",
        lambda: apart([[1.0, 0.0], [_LONG, 0.0]]),
    )
    out["lengths-near"] = Case(
        g,
        "angle 1e-8, lengths 1 and 1 + 1e-12, depth 200: 1 - correlation",
        "0.8218",
        lambda: apart([[1.0, 0.0], [_LONG * v for v in _TURN]]),
    )
    for s in (784.0, 3072.0, 1e4):
        for t in (False, True):
            out[f"erf-{s:g}-{'ntk' if t else 'nngp'}"] = Case(
                g,
                f"erf, squared lengths about {s:g}, {'NTK' if t else 'NNGP'}: error",
                "1e-12",
                lambda s=s, t=t: uneven_erf(s, tangent=t),
            )
    g = "kernels of rows of equal lengths"
    for name, squares in (
        ("tanh", (100.0, 200.0, 784.0, 1000.0, 3072.0, 1e4)),
        ("arctan", (100.0,)),
        ("asinh", (100.0,)),
    ):
        for s in squares:
            out[f"{name}-{s:g}"] = Case(
                g,
                f"{name}, squared length {s:g}, cosine 0.3, one layer: error",
                "1e-12",
                lambda name=name, s=s: sphere(name, s),
            )
    for d in (300, 600, 1000):
        out[f"selu-{d}"] = Case(
            g,
            f"raw SELU against the normalised one, depth {d}: difference",
            "1e-12",
            lambda d=d: selu_depth(d),
        )
    g = "duals"
    out["tanh-dual"] = Case(
        g, "tanh, variances 1e4: error", "1e-13", lambda: dual_error("tanh", 1e4)
    )
    from scipy.special import erf

    out["erf-callable"] = Case(
        g,
        "erf as a callable, variances 1,000: error",
        "1e-13",
        lambda: callable_dual(erf, "erf", 1000.0),
    )
    g = "callables and slopes"
    out |= {
        "bump": Case(g, "x + narrow bump: error of E s^2", "1e-12", bump),
        "kink-mu": Case(
            g,
            "x + 0.1 (x - 0.3)_+, kink not named: error of mu",
            "refused or 1e-12",
            lambda: refused(hidden_kink),
        ),
        "kink-elu": Case(
            g,
            "ELU, kink not named: error of the dual",
            "refused or 1e-12",
            lambda: refused(lambda: hidden_dual(elu, "elu")),
        ),
        "kink-hard-swish": Case(
            g,
            "hard-swish, kinks not named: error of the dual",
            "refused or 1e-12",
            lambda: refused(lambda: hidden_dual(hard_swish, "hard-swish")),
        ),
        "cube-root": Case(
            g, "cube root: E s'^2", "inf or refused", lambda: refused(cube_root)
        ),
        "far-ramp": Case(
            g,
            "(x - 25)_+: error of E s^2",
            "refused or 1e-12",
            lambda: refused(far_ramp),
        ),
        "power": Case(g, "abs(x)^1.5: error of the dual", "1e-12", power_dual),
        "power-time": Case(
            g, "abs(x)^1.5: seconds of one dual", "60 or less", seconds(power_dual)
        ),
        "nearly-linear": Case(
            g,
            "x + 1e-13 (x^2 - 1): error of mu",
            "refused or 1e-12",
            lambda: refused(nearly_linear),
        ),
        "leaky-12": Case(
            g, "leaky ReLU, slope 1 + 1e-12: error of mu", "1e-13", lambda: leaky(1e-12)
        ),
        "leaky-13": Case(
            g, "leaky ReLU, slope 1 + 1e-13: error of mu", "1e-13", lambda: leaky(1e-13)
        ),
    }
    g = "lengths"
    for c in (-1e-5, -1e-7, -1e-9):
        out[f"unstable{c:g}"] = Case(
            g,
            f"unstable length of NormReLU less one, kink {c:g}: error",
            "1e-12",
            lambda c=c: unstable(c),
        )
    g = "seconds of one thread"
    slow: dict[str, tuple[str, Callable[[], object]]] = {
        "hard-tanh-small": (
            "hard tanh, dual(0.5) at variances 1e-8",
            lambda: act.hard_tanh.dual(0.5, var_x=1e-8, var_y=1e-8),
        ),
        "normrelu-1e-4": (
            "NormReLU, 4 rows of norms about 1e-4, one layer",
            lambda: kernels.nngp_ntk(rows(4, 3, 0.5e-4, 1.5e-4), kink, 1),
        ),
        "normrelu-1e-6": (
            "NormReLU, 4 rows of norms about 1e-6, one layer",
            lambda: kernels.nngp_ntk(rows(4, 3, 0.5e-6, 1.5e-6), kink, 1),
        ),
        "normrelu-sphere": (
            "NormReLU, sphere of norm 0.01, one layer",
            lambda: kernels.nngp_ntk(rows(4, 3, 0.01, 0.01), kink, 1),
        ),
        "hard-swish": (
            "hard-swish, 4 rows of unequal lengths, one layer",
            lambda: kernels.nngp_ntk(
                rows(4, 3, 0.5, 1.5),
                act.from_function(hard_swish, kinks=(-3.0, 3.0)),
                1,
            ),
        ),
        "selu-uneven": (
            "SELU, 200 rows of unequal lengths, depth 3",
            lambda: kernels.nngp_ntk(rows(200, 20, 0.5, 1.5), act.selu, 3),
        ),
        "parallel-deep": (
            "normalised ReLU, parallel rows, depth 10,000",
            lambda: kernels.nngp(
                [[1.0, 2.0, 3.0], [1.1, 2.2, 3.3]], act.relu.normalized(), 10**4
            ),
        ),
        "tanh-callable": (
            "tanh as a callable, dual(0.3) at variances 1e4",
            lambda: act.from_function(np.tanh).dual(0.3, var_x=1e4, var_y=1e4),
        ),
        "single": ("SELU, 50 rows normalised in float32, depth 20", single_precision),
    }
    for name, (what, run) in slow.items():
        out[name] = Case(g, what, "", seconds(run))
    for name in (
        *("hard_tanh", "normrelu", "leaky_relu(0.01)", "relu", "abs", "step", "sign"),
        *("relu_squared", "identity", "arctan", "asinh", "tanh", "selu", "elu", "gelu"),
    ):
        out[f"dual-{name}"] = Case(
            g, f"{name}, dual at 1,000,000 points", "", lambda name=name: points(name)()
        )
    return out


def measured(name: str) -> str:
    """Run one case in a process of its own, for LIMIT seconds of processor time."""
    limit = f"import resource as r; r.setrlimit(r.RLIMIT_CPU, ({LIMIT}, {LIMIT}))"
    code = f"{limit}; import runpy, sys; sys.argv = ['', {name!r}]"
    here = Path(__file__)
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            f"{code}; runpy.run_path({str(here)!r}, run_name='__main__')",
        ],
        env=os.environ
        | {"OMP_NUM_THREADS": "1", "PYTHONPATH": f"{here.parent}:{here.parents[1]}"},
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode < 0:
        return f"> {LIMIT} s"
    if run.returncode:
        return run.stderr.strip().splitlines()[-1].partition(":")[0]
    return run.stdout.strip()


def table() -> str:
    """Every case: what is right, what was and what is measured."""
    lines, group = [], ""
    for name, case in cases().items():
        if case.group != group:
            group = case.group
            lines += [
                "",
                f"| {group} | right | {BEFORE} | now |",
                "| --- | ---: | ---: | ---: |",
            ]
        now = measured(name)
        print(name, now, file=sys.stderr, flush=True)
        lines.append(f"| {case.what} | {case.right} | {THEN[name]} | {now} |")
    return "\n".join(lines[1:])


def main() -> int:
    found = cases()[sys.argv[1]].run()
    print(found if isinstance(found, str) else f"{found:.3g}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
