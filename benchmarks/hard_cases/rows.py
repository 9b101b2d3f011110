"""Kernels of rows of unequal and of equal lengths."""

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb, ctx

from hard_cases.case import Case, known, law
from theory import activations as act
from theory import kernels


def _correlation(k: Any) -> Any:
    root = np.sqrt(np.diag(k))
    return k / np.outer(root, root)


def _copies(depth: int) -> Callable[[], Any]:
    """Both kernels of ten rows of unequal lengths and their copies."""
    x = np.random.default_rng(0).standard_normal((10, 5))
    rows, a = np.vstack([x, x]), act.erf.normalized()
    return lambda: kernels.nngp_ntk(rows, a, depth, normalized=True)


def _least(which: int) -> Callable[[Any], float]:
    """Smallest correlation of a row with its copy."""
    return lambda both: float(np.diag(_correlation(both[which])[:10, 10:]).min())


def _apart(k: Any) -> float:
    return float(1.0 - _correlation(k)[0, 1])


def _exact(x: Any) -> list[list[Any]]:
    """Inner products of the float64 rows, exactly."""
    ctx.prec = 300
    rows = [[arb(float(v)) for v in row] for row in x]
    return [
        [sum((a * b for a, b in zip(u, v, strict=True)), arb(0)) for v in rows]
        for u in rows
    ]


def _entries(name: str, x: Any, which: int) -> Callable[[Any], float]:
    """Largest error over the diagonal of one layer's K (0) or T (1)."""

    def judge(both: Any) -> float:
        exact, gram, n = law(name), _exact(x), range(len(x))
        found, errors = both[which], list[float]()
        sizes = [_entry(exact, gram, i, i, which) for i in n]
        for i in n:
            for j in range(i + 1):
                gap = arb(float(found[i, j])) - _entry(exact, gram, i, j, which)
                errors.append(float(abs(gap) / (sizes[i] * sizes[j]).sqrt()))
        return float(np.max(errors))  # nan where there is one

    return judge


def _entry(exact: Any, gram: list[list[Any]], i: int, j: int, which: int) -> Any:
    k = gram[i][j]
    found, slope = exact.one(k) if i == j else exact.two(gram[i][i], gram[j][j], k)
    return found + k * slope if which else found


def unequal() -> list[Case]:
    """Rows of unequal lengths."""
    before = {150: "0.995", 200: "0.081", 300: "9.65e-06"}
    what = "normalised erf, a row and its copy, depth {}: correlation"
    out = [Case(what.format(d), "1", before[d], _copies(d), _least(0)) for d in before]
    out.append(
        Case(
            "the same, tangent kernel, depth 150", "1", "0.981", _copies(150), _least(1)
        )
    )
    long, turn = 1.0 + 1e-12, [np.cos(1e-8), np.sin(1e-8)]
    a = act.erf.normalized()
    same, near = [[1.0, 0.0], [long, 0.0]], [[1.0, 0.0], [long * v for v in turn]]
    out += [
        Case(
            "same direction, lengths 1 and 1 + 1e-12, depth 200: 1 - correlation",
            *("1.755e-8", "0.809"),
            lambda: kernels.nngp(same, a, 200),
            _apart,
        ),
        Case(
            "angle 1e-8, lengths 1 and 1 + 1e-12, depth 200: 1 - correlation",
            *("0.8218", "0"),
            lambda: kernels.nngp(near, a, 200),
            _apart,
        ),
    ]
    shape = np.array([[1.0, 0.2, 0.1], [0.3, 0.9, -0.5], [-0.6, 0.4, 0.8]])
    found = {
        784.0: ("1.7e-10", "2.5e-07"),
        3072.0: ("1.8e-08", "1.7e-05"),
        1e4: ("3.3e-07", "6.3e-05"),
    }
    for square, both in found.items():
        x = shape * np.sqrt(square)
        for which, kind in enumerate(("NNGP", "NTK")):
            out.append(
                Case(
                    f"erf, squared lengths about {square:g}, {kind}: error",
                    *("1e-12", both[which]),
                    lambda x=x: kernels.nngp_ntk(x, act.erf, 1),
                    _entries("erf", x, which),
                )
            )
    return out


def equal() -> list[Case]:
    """Rows of equal lengths."""
    out: list[Case] = []
    for name, square, before in (
        *(("tanh", 100.0, "1.8e-08"), ("tanh", 200.0, "5.7e-07")),
        *(("tanh", 784.0, "0.00011"), ("tanh", 1000.0, "0.00020")),
        *(("tanh", 3072.0, "> 300 s"), ("tanh", 1e4, "0.17")),
        *(("arctan", 100.0, "1.8e-08"), ("asinh", 100.0, "9.1e-09")),
        *(("selu", 1420.0, "OverflowError"), ("selu", 3072.0, "OverflowError")),
    ):
        r, a = np.sqrt(square), known(name)
        x = np.array([[r, 0.0], [0.3 * r, np.sqrt(1.0 - 0.09) * r]])
        out.append(
            Case(
                f"{name}, squared length {square:g}, cosine 0.3, one layer: error",
                *("1e-12", before),
                lambda x=x, a=a: (kernels.nngp(x, a, 1),),
                _entries(name, x, 0),
            )
        )
    twin = act.selu.normalized()
    for depth, before in ((300, "1.5e-11"), (600, "3.3e-07"), (1000, "0.048")):
        out.append(
            Case(
                f"raw SELU against the normalised one, depth {depth}: difference",
                *("1e-12", before),
                lambda d=depth: [kernels.nngp_map(0.5, a, d) for a in (act.selu, twin)],
                lambda pair: abs(pair[0] / pair[1] - 1.0),
            )
        )
    return out


def single() -> tuple[Any, Any]:
    """Rows normalised in float32: as single and as double precision would have them."""
    x = np.random.default_rng(0).standard_normal((50, 20)).astype(np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    double = x.astype(np.float64)
    return x, double / np.linalg.norm(double, axis=1, keepdims=True)


def float32() -> list[Case]:
    """Rows normalised in float32, whose norms differ by 2e-7."""
    x, unit = single()
    a = act.selu.normalized()

    def moved(k: Any) -> float:
        return float(np.abs(k - kernels.nngp(unit, a, 20)).max())

    return [
        Case(
            "difference from the kernel of exactly normalised rows, `sphere=True`",
            *("1e-12", "no such flag"),
            lambda: kernels.nngp(x, a, 20, sphere=True),
            moved,
        ),
        Case(
            "the same without it: the norms' own effect",
            *("1e-6", ""),
            lambda: kernels.nngp(x, a, 20),
            moved,
        ),
    ]
