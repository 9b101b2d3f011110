"""Kernels of pairs of inputs among hundreds of others, where they are read off tables.

The pairs are rows of one matrix, whose lengths differ; the measured side,
`verify.claims.deep_conditioning.kernels._pairs`, knows each pair alone.
"""

import math
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from theory import kernels
from verify.claim import grid, numeric
from verify.claims._predictors import mistake, plus
from verify.claims.deep_conditioning._sources import quoted
from verify.claims.deep_conditioning._subjects import normalised
from verify.claims.deep_conditioning.kernels import _pairs as pairs
from verify.compare import AgreesTo, Array

CROWD = 400
"""Other rows: pairs enough at any angle for tables of all layers."""

_SHARES = ((0.1, 0.6), (0.9, 0.87))
"""Where in the range of log lengths the two rows of a pair lie."""

Squares = tuple[float, float]
Turns = tuple[float, ...]


def _rows(squares: Squares, turns: Turns) -> list[list[list[float]]]:
    """Return the pairs: every angle at two pairs of lengths within a range."""
    low, high = (0.5 * math.log(q) for q in squares)

    def length(share: float) -> float:
        return math.exp(low + share * (high - low))

    return [
        pairs.rows(length(one), length(two), turn)
        for turn, (one, two) in product(turns, _SHARES)
    ]


@lru_cache(maxsize=64)
def _library(
    squares: Squares,
    turns: Turns,
    *,
    activation: str,
    depth: int,
    across: bool = False,
    cone: float = math.inf,
    crowd: int = CROWD,
) -> list[Array]:
    """Return both kernels of every pair, shape (pairs, 2, 2), from those of a crowd.

    Of all rows with all, or `across`: with themselves and half of the others. The others
    lie in all directions, or in a `cone` of this width around the first row's, and its
    mirror image.
    """
    rng, (low, high) = np.random.default_rng(29), 0.5 * np.log(squares)
    others = rng.standard_normal((crowd, 3))
    if cone < math.inf:
        others = cone * others + np.array([1.0, 0.0, 0.0])
        others[::2] *= -1.0
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    others *= np.exp(rng.uniform(low, high, (crowd, 1)))
    flat = np.pad(np.concatenate(_rows(squares, turns)), ((0, 0), (0, 1)))
    x = np.concatenate([flat, others])
    y = x[: len(flat) + crowd // 2] if across else None
    found = kernels.nngp_ntk(x, normalised(activation), depth, y=y)
    first = range(0, len(flat), 2)
    return [np.array([k[i : i + 2, i : i + 2] for i in first]) for k in found]


def _predict(*, squares: Squares, turns: Turns, **case: Any) -> list[Any]:
    found = _library(tuple(squares), tuple(turns), **case)
    return [entry for each in found for k in each for entry in pairs.entries_of(k)]


@lru_cache(maxsize=64)
def _states(
    name: str, squares: Squares, turns: Turns, depth: int
) -> tuple[pairs.State, ...]:
    """Return both kernels of every pair alone."""
    law = pairs.Normalised(pairs.LAWS[name])
    starts = (pairs.start(*both) for both in _rows(squares, turns))
    return tuple(pairs.recursion(law, first, depth)[-1] for first in starts)


def _measure(
    *, activation: str, squares: Squares, turns: Turns, depth: int, **_: Any
) -> list[Any]:
    states = _states(activation, tuple(squares), tuple(turns), depth)
    every = [state[which] for which in (0, 1) for state in states]
    return [entry for products in every for entry in pairs.entries(*products)]


def _of(names: Any, squares: Squares, turns: Turns, depth: int, **more: Any) -> Any:
    return grid(activation=names, squares=[squares], turns=[turns], depth=depth, **more)


_EVERY_TURN = (0.02, 0.3, 1.2, 2.0, 3.1)
_KINKED = (0.01, 0.3, 3.12)
_CASES = (
    *_of(("relu", "erf", "gelu", "sin"), (0.5, 30.0), _EVERY_TURN, 4),
    # Lengths so close that tables of all layers are worth their while.
    *_of(("gelu", "sin"), (2.0, 8.0), (0.3, 1.2, 2.0), 3),
    # Where a layer saturates between inputs a small angle apart.
    *_of("erf", (100.0, 3072.0), (0.02, 0.1, 0.5), 1),
    # Kinks. An angle of 1.2 is one that the closed form is for.
    *_of("hard_tanh", (0.5, 30.0), (0.1, 1.2, 2.9), 1),
    *_of("relu6", (0.5, 30.0), (1.2, 2.9), 1),
    # Rows so close that slopes are read off tables of both lengths: up to long ones, and
    # where kinks meet at different places for different lengths.
    *_of("selu", (50.0, 400.0), (0.01,), 1, cone=0.01),
    *_of("relu6", (400.0, 400.1), (0.01, 3.12), 1, cone=0.01),
    # Slopes that bend and jump: a piecewise linear part and a rest.
    *_of("hard_swish", (2.0, 12.0), _KINKED, 1, cone=0.01),
    # And a slope that goes on growing to one side, with a rest that waves.
    *_of("ramp, parabola and sine", (2.0, 12.0), _KINKED, 1, cone=0.01),
    *_of(("gelu", "sin", "erf"), (2.0, 8.0), _EVERY_TURN, 3, across=True),
    # Closed forms at any lengths, and tables of all layers: within a second.
    *_of(("sin", "cos"), (2.0, 8.0), _EVERY_TURN, 3),
    # Rows whose squares' squares leave float64, nearly parallel.
    *_of("relu", (1e200, 4e200), (1e-9, 0.3, 3.12), 2, crowd=2),
    # Between two sets, more close pairs than go through the layers together.
    *_of("sin", (0.5, 30.0), (0.02, 3.1), 1, cone=0.03, crowd=1040, across=True),
)

CROWD_OF_PAIRS = numeric(
    id="dc/eq1-crowd",
    items=("Eq1", "Eq7", "D.0"),
    title="Both kernels of pairs among hundreds of inputs, of one set or of two",
    statement=r"K^{(l+1)}_{ij} = \mathbb{E}[\sigma(u) \sigma(v)], \quad"
    r" T^{(l+1)}_{ij} = K^{(l+1)}_{ij} + T^{(l)}_{ij}\, \mathbb{E}[\sigma'(u)"
    r" \sigma'(v)], \quad n > 400",
    assumptions=("normalised activation, as it is at any length",),
    source=quoted("Equations 1 and 7, Appendix D"),
    cases=_CASES,
    predict=_predict,
    measure=_measure,
    # The library's promise: 1e-12 of the diagonal.
    compare=AgreesTo(relative=1e-12),
    # Without the crowd, which takes long and says nothing of a wrong formula.
    must_refute=mistake("One hidden layer too many.", depth=plus(1), crowd=0),
    uses=("dc/eq1-lengths",),
    version=2,
)
