"""Kernels of functions that grow fast, at inputs of different lengths (equations 1, 7)."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import mpmath
import numpy as np

from theory import activations as act
from theory import kernels
from verify.claim import numeric
from verify.claims.deep_conditioning._sources import ours
from verify.claims.deep_conditioning.kernels import _pairs as pairs
from verify.compare import AgreesTo, Array
from verify.integrals import BITS

_VALUES: Mapping[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "steep exp": lambda x: np.exp(1.5 * x),
    "cosh": np.cosh,
    "cube": lambda x: x**3,
}


def _rows(count: int, shortest: float, longest: float, crowd: int = 0) -> Array:
    """Points of space in every direction, of rising lengths, and a crowd among them."""
    k = np.arange(count)
    lengths = shortest * (longest / shortest) ** (k / (count - 1.0))
    flat = np.stack([np.cos(2.4 * k), np.sin(2.4 * k), 0.0 * k], axis=1)
    rng = np.random.default_rng(31)
    others = rng.standard_normal((crowd, 3))
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    others *= rng.uniform(shortest, longest, (crowd, 1))
    return np.concatenate([lengths[:, None] * flat, others])


def _formulas(name: str, q: Any, o: Any, c: Any) -> pairs.Moments:
    """E s(u) s(v) and E s'(u) s'(v) of variances q and o and covariance c."""
    if name == "cube":
        return 6 * c**3 + 9 * c * q * o, 9 * (q * o + 2 * c * c)
    if name == "cosh":
        top = mpmath.exp((q + o) / 2)
        return top * mpmath.cosh(c), top * mpmath.sinh(c)
    a = mpmath.mpf(1.5 if name == "steep exp" else 1.0) ** 2
    both = mpmath.exp(a * ((q + o) / 2 + c))
    return both, a * both


def _library(name: str, x: Array, count: int, scale: float = 1.0) -> Array:
    """Kernels of the first rows over the roots of their diagonals, and these in logs."""
    a = act.from_function(lambda v: scale * _VALUES[name](v), name=name)
    found = kernels.nngp_ntk(x, a, 1)
    parts = [m[:count, :count] for m in found]
    sizes = [np.diag(m) for m in parts]
    shares = [m / np.sqrt(np.outer(d, d)) for m, d in zip(parts, sizes, strict=True)]
    return np.concatenate([*map(np.ravel, shares), *map(np.log, sizes)])


def _measure(
    *,
    name: str,
    count: int,
    shortest: float,
    longest: float,
    scale: float = 1.0,
    **_: Any,
) -> Array:
    rows = _rows(count, shortest, longest)
    pair, each = partial(_formulas, name), range(count)
    # Means are not negative: roots of E s(u) s(v) of independent u and v.
    law = pairs.Formula(lambda p: mpmath.sqrt(pair(p, p, 0)[0]), pair)
    both = pairs.matrices(law, rows, 1)
    with mpmath.workprec(BITS):
        sizes = [[mpmath.sqrt(m[i, i]) for i in each] for m in both]
        parts = [
            [float(m[i, j] / (s[i] * s[j])) for i in each for j in each]
            for m, s in zip(both, sizes, strict=True)
        ]
        logs = [[float(2 * mpmath.log(scale * v)) for v in s] for s in sizes]
    return np.concatenate([*parts, *logs])


def _predict(*, name: str, count: int, scale: float = 1.0, **ends: Any) -> Array:
    return _library(name, _rows(count, **ends), count, scale)


def _wrong(*, name: str, count: int, scale: float = 1.0, **ends: Any) -> Array:
    """Kernels of the directions alone, as if every row had the mean length."""
    x = _rows(count, **ends)
    lengths = np.linalg.norm(x, axis=1)
    x *= (np.exp(np.mean(np.log(lengths))) / lengths)[:, None]
    return _library(name, x, count, scale)


GROWING = numeric(
    id="dc/eq1-growing",
    items=("Eq1", "Eq7"),
    title="Kernels of exponentials, hyperbolic cosines and cubes at unequal lengths",
    statement=r"\mathbb{E}\, e^{u} e^{v} = e^{(q + o)/2 + c}, \quad"
    r" \mathbb{E}\, \cosh u \cosh v = e^{(q + o)/2} \cosh c, \quad"
    r" \mathbb{E}\, u^3 v^3 = 6 c^3 + 9 c q o",
    assumptions=(
        "one hidden layer; q and o are the variances of u and v, c their covariance",
        "the functions are known by their values alone",
    ),
    source=ours("Equations 1 and 7"),
    cases=(
        {"name": "exp", "count": 5, "shortest": 0.1, "longest": 5.6},
        {"name": "steep exp", "count": 4, "shortest": 0.1, "longest": 7.0},
        # As steep, of values next to nothing.
        {"name": "exp", "count": 5, "shortest": 0.9, "longest": 3.0, "scale": 1e-6},
        {"name": "cosh", "count": 6, "shortest": 0.1, "longest": 3.0},
        {"name": "cosh", "count": 20, "shortest": 0.1, "longest": 2.0},
        {"name": "cube", "count": 30, "shortest": 0.1, "longest": 4.0},
        # Slopes next to nothing there, of huge values.
        {"name": "cube", "count": 4, "shortest": 1e-5, "longest": 1e-3, "scale": 1e25},
        # Rows enough for tables of the whole network.
        {"name": "cosh", "count": 9, "shortest": 0.7, "longest": 1.0, "crowd": 400},
    ),
    predict=_predict,
    measure=_measure,
    # Entries over the roots of their diagonals: a few hundred roundings of sums; of
    # logarithms up to 170 their own.
    compare=AgreesTo(absolute=1e-12),
    must_refute=_wrong,
    uses=("dc/eq1", "dc/eq7"),
)
