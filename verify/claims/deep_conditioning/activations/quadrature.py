"""Closed forms of the catalogue against one double quadrature.

The functions under the integrals are PyTorch's, by `empirical.conditioning`.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import pairwise

import mpmath
import numpy as np
import torch

from empirical.conditioning import named
from theory import activations as act
from verify.claim import grid, numeric
from verify.claims._predictors import mistake
from verify.claims._twins import Array
from verify.claims.deep_conditioning._sources import ours
from verify.compare import AgreesTo

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_PANEL, _REACH = 0.5, 12.0
_RHOS = (-0.97, -0.4, 0.0, 0.9)

NAMES = tuple(sorted(set(act.NAMES)))


_BENT = (-0.27, 1.31)
_FALL = 0.62
_KINKS: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(("absolute", "relu", "relu_squared", "selu"), (0.0,)),
    **dict.fromkeys(("sign", "softsign", "step"), (0.0,)),
    **dict.fromkeys(("hard_sigmoid", "hard_swish"), (-3.0, 3.0)),
    "hard_tanh": (-1.0, 1.0),
    "relu6": (0.0, 6.0),
    "bent": _BENT,
    "falls": (_FALL,),
}
"""Where panels end; other functions are smooth."""
_CALLED = {"absolute": "abs", "gaussian_bump": "gaussian"}


def _bent(x: Array) -> Array:
    left, right = _BENT
    return np.abs(x - right) - np.maximum(x - left, 0.0) + np.sin(x)


def _falls(x: Array) -> Array:
    return np.exp(-1.5 * x) + np.abs(x - _FALL)


_OWN = {"bent": _bent, "falls": _falls}


def _subject(name: str) -> act.Activation:
    if name in _OWN:
        return act.from_function(_OWN[name], kinks=_KINKS[name], name=name)
    return getattr(act, name)


def _values(name: str, x: Array) -> Array:
    if name in _OWN:
        return _OWN[name](x)
    function = named(_CALLED.get(name, name)).function
    return function(torch.from_numpy(x)).numpy()


def _grid(cuts: Array) -> tuple[Array, Array]:
    """Return nodes and weights of Gauss and Legendre between cuts, (rows, nodes)."""
    low, half = cuts[:, :-1, None], 0.5 * np.diff(cuts, axis=1)[:, :, None]
    x = low + half * (1.0 + _NODES)
    w = half * _WEIGHTS * np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    return x.reshape(len(cuts), -1), w.reshape(len(cuts), -1)


def _cuts(kinks: Array) -> Array:
    """Return edges of panels, (rows, edges), those at kinks (rows, kinks) among them."""
    fixed = np.arange(-_REACH, _REACH + _PANEL / 2, _PANEL)
    rows = np.broadcast_to(fixed, (len(kinks), len(fixed)))
    return np.sort(np.hstack([rows, np.clip(kinks, -_REACH, _REACH)]), axis=1)


def _product(
    values: Callable[[Array], Array],
    places: Iterable[float],
    rho: float,
    x: float,
    y: float,
) -> float:
    """Return E[s(X) s(Y)] of variances x and y: first over Y given X, then over X."""
    kinks = np.asarray(tuple(places), dtype=np.float64)
    u, w = _grid(_cuts(kinks[None] / math.sqrt(x)))
    sine = math.sqrt((1.0 - rho) * (1.0 + rho))
    given = (kinks / math.sqrt(y) - rho * u.T) / sine
    v, inner = _grid(_cuts(given))
    means = (values(math.sqrt(y) * (rho * u.T + sine * v)) * inner).sum(axis=1)
    return float(values(math.sqrt(x) * u[0]) @ (w[0] * means))


def moment(name: str, rho: float, x: float, y: float) -> float:
    """Return E[s(X) s(Y)] of a catalogued activation."""
    return _product(partial(_values, name), _KINKS.get(name, ()), rho, x, y)


def _predict(*, name: str, var_x: float, var_y: float) -> Array:
    a = _subject(name)
    return np.asarray(a.dual(np.array(_RHOS), var_x=var_x, var_y=var_y))


def _measure(*, name: str, var_x: float, var_y: float) -> list[float]:
    return [moment(name, rho, var_x, var_y) for rho in _RHOS]


UNEQUAL = numeric(
    id="dc/defC.1-double",
    title="Duals of every activation, and of one by its values, equal double integrals",
    statement=r"\hat\sigma(\rho;q,p)=\mathbb{E}\,\sigma(\sqrt qX)\sigma(\sqrt pY),"
    r"\text{ also } \sigma(x)=|x-1.31|-(x+0.27)_++\sin x,\ e^{-3x/2}+|x-0.62|",
    source=ours("Definition C.1"),
    cases=(
        *grid(name=NAMES, var_x=0.4, var_y=2.5),
        # Which side of a jump an argument of 1e-6 lies on.
        *grid(name=("sign", "step"), var_x=1e-12, var_y=3e-12),
        # Bent between two kinks, and known by its values.
        *grid(name="bent", var_x=0.4, var_y=(0.4, 2.5)),
        # And large far out on the left alone.
        {"name": "falls", "var_x": 0.4, "var_y": 2.5},
    ),
    predict=_predict,
    measure=_measure,
    # The library's 1e-13, and of terms whose sizes sum to at most a hundred times the
    # largest value ten roundings each: 100 * 10 * 1.1e-16.
    compare=AgreesTo(relative=2.1e-13, of_largest=True),
    must_refute=mistake(
        "The mean of the variances for both.",
        var_x=lambda x, *, var_y: 0.5 * (x + var_y),
        var_y=lambda y, *, var_x: 0.5 * (var_x + y),
    ),
    uses=("dc/defC.1-unequal",),
    version=2,
)

_VARIANCES = (1e-3, 0.3, 1.0, 4.0)


def _predict_lengths(*, name: str) -> list[float]:
    a = _subject(name)
    return [float(a.length_map(q)) for q in _VARIANCES]


def _measure_lengths(*, name: str) -> list[float]:
    found = list[float]()
    for q in _VARIANCES:
        kinks = np.asarray(_KINKS.get(name, ()), dtype=np.float64)[None] / math.sqrt(q)
        x, w = _grid(_cuts(kinks))
        found.append(float(_values(name, math.sqrt(q) * x[0]) ** 2 @ w[0]))
    return found


def _at_the_deviation(*, name: str) -> list[float]:
    """The deviation in the place of the variance."""
    return [float(_subject(name).length_map(math.sqrt(q))) for q in _VARIANCES]


LENGTHS = numeric(
    id="dc/defC.1-moments",
    title="Second moments of every catalogued activation at four variances equal integrals",
    statement=r"\mathbb{E}\,\sigma(\sqrt qZ)^2",
    source=ours("Definition C.1"),
    cases=grid(name=NAMES),
    predict=_predict_lengths,
    measure=_measure_lengths,
    # Two sums of positive terms, each to 1e-13.
    compare=AgreesTo(relative=2e-13),
    must_refute=_at_the_deviation,
    uses=("dc/defC.1-unequal",),
)

_STAIRS = {
    "falls": ((1.5, -1.0), (0.37,)),
    "rises and falls": ((-1.5, 1.0, 0.25), (0.37, 1.3)),
}
"""Levels, and the places where they change."""


def _predict_stairs(*, stairs: str) -> list[float]:
    levels, places = _STAIRS[stairs]

    def f(x: Array) -> Array:
        return np.array(levels)[np.searchsorted(places, x)]

    a = act.from_function(f, name="stairs")
    return [float(a.length_map(q)) for q in _VARIANCES]


def _measure_stairs(*, stairs: str, places: tuple[float, ...] = ()) -> list[float]:
    levels, known = _STAIRS[stairs]
    found = list[float]()
    for q in _VARIANCES:
        ends = (mpmath.mpf(c) / mpmath.sqrt(q) for c in places or known)
        below = [mpmath.mpf(0), *map(mpmath.ncdf, ends), mpmath.mpf(1)]
        pieces = zip(levels, pairwise(below), strict=True)
        found.append(float(mpmath.fsum(v * v * (b - a) for v, (a, b) in pieces)))
    return found


def _next_to_the_jump(*, stairs: str) -> list[float]:
    """Jumps that are found to a millionth millionth only."""
    places = tuple(c + 1e-12 for c in _STAIRS[stairs][1])
    return _measure_stairs(stairs=stairs, places=places)


STAIRS = replace(
    LENGTHS,
    id="dc/defC.1-stairs",
    title="Second moments of functions by values that jump up and down, at places unsaid",
    statement=r"\mathbb{E}\,\sigma(\sqrt qZ)^2=\sum_i v_i^2\,P(c_i<\sqrt qZ\le c_{i+1})",
    cases=grid(stairs=tuple(_STAIRS)),
    predict=_predict_stairs,
    measure=_measure_stairs,
    # A sum of three squares of at most 1.5 times probabilities of a few ulp.
    compare=AgreesTo(relative=1e-14),
    must_refute=_next_to_the_jump,
    uses=("dc/defC.1-moments",),
)
