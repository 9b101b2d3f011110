"""Kernels of pairs of inputs among hundreds of others, where they are read off tables.

The pairs are rows of one matrix, whose lengths differ; the measured side,
`verify.claims.deep_conditioning._pairs`, knows each pair alone.
"""

import math
from dataclasses import replace
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np

from theory import kernels
from verify.claim import Source, grid, numeric
from verify.claims.deep_conditioning import _pairs as pairs
from verify.claims.deep_conditioning._subjects import KEY, subject
from verify.compare import AgreesTo, Array

CROWD = 400
"""Other rows: pairs enough at any angle for tables of all layers."""

_SHARES = ((0.1, 0.6), (0.9, 0.7))
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
    name: str,
    squares: Squares,
    turns: Turns,
    depth: int,
    *,
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
    found = kernels.nngp_ntk(x, subject(name).normalized(), depth, y=y)
    first = range(0, len(flat), 2)
    return [np.array([k[i : i + 2, i : i + 2] for i in first]) for k in found]


def _predict(
    which: int,
    *,
    activation: str,
    squares: Squares,
    turns: Turns,
    depth: int,
    across: bool = False,
    cone: float = math.inf,
    crowd: int = CROWD,
) -> list[Any]:
    found = _library(
        activation,
        tuple(squares),
        tuple(turns),
        depth,
        across=across,
        cone=cone,
        crowd=crowd,
    )
    return [entry for k in found[which] for entry in pairs.entries_of(k)]


def _a_layer_less(which: int, **case: Any) -> list[Any]:
    """One hidden layer too few."""
    return _predict(which, crowd=0, **{**case, "depth": case["depth"] - 1})


@lru_cache(maxsize=64)
def _states(
    name: str, squares: Squares, turns: Turns, depth: int
) -> tuple[pairs.State, ...]:
    """Return both kernels of every pair alone."""
    law = pairs.Normalised(pairs.LAWS[name])
    return tuple(
        pairs.recursion(law, pairs.start(*both), depth)[-1]
        for both in _rows(squares, turns)
    )


def _measure(
    which: str,
    *,
    activation: str,
    squares: Squares,
    turns: Turns,
    depth: int,
    cone: float = math.inf,
) -> list[Any]:
    del cone
    return [
        entry
        for state in _states(activation, tuple(squares), tuple(turns), depth)
        for entry in pairs.entries(*getattr(state, which))
    ]


def _a_layer_more(which: int, **case: Any) -> list[Any]:
    """One hidden layer too many."""
    # Without the crowd: it takes most of the time, and says nothing of a wrong formula.
    return _predict(which, crowd=0, **{**case, "depth": case["depth"] + 1})


_FORMULAS = (
    *grid(
        activation=("relu", "erf", "gelu", "sin"),
        squares=((0.5, 30.0),),
        turns=((0.02, 0.3, 1.2, 2.0, 3.1),),
        depth=4,
    ),
    # Lengths so close that tables of all layers are worth their while.
    *grid(
        activation=("gelu", "sin"),
        squares=((2.0, 8.0),),
        turns=((0.3, 1.2, 2.0),),
        depth=3,
    ),
    # Where a layer saturates between inputs a small angle apart.
    *grid(
        activation="erf", squares=((100.0, 3072.0),), turns=((0.02, 0.1, 0.5),), depth=1
    ),
)
# An angle of 1.2 is one that the closed form is for.
_KINKED = grid(
    activation="hard_tanh", squares=((0.5, 30.0),), turns=((0.1, 1.2, 2.9),), depth=1
)
_NOT_ODD = grid(
    activation="relu6", squares=((0.5, 30.0),), turns=((1.2, 2.9),), depth=1
)
# Rows so close that slopes are read off tables of both lengths: up to long ones, and
# where kinks meet at different places for different lengths.
_CONE_OF_LONG = grid(
    activation="selu", squares=((50.0, 400.0),), turns=((0.01,),), depth=1, cone=0.01
)
_CONE_OF_KINKED = grid(
    activation="relu6",
    squares=((400.0, 400.1),),
    turns=((0.01, 3.12),),
    depth=1,
    cone=0.01,
)
# Slopes that bend and jump: a piecewise linear part and a rest.
_CONE_OF_BENT = grid(
    activation="hard_swish",
    squares=((2.0, 12.0),),
    turns=((0.01, 0.3, 3.12),),
    depth=1,
    cone=0.01,
)

NNGP = numeric(
    id="dc/eq1-crowd",
    items=("Eq1", "D.0"),
    title="Kernels of pairs among hundreds of inputs of unequal lengths",
    statement=r"K^{(l+1)}_{ij} = \mathbb{E}[\sigma(u) \sigma(v)], \quad n > 400",
    assumptions=("normalised activation, as it is at any length",),
    source=Source(KEY, "Equation 1 and Appendix D"),
    cases=_FORMULAS,
    predict=partial(_predict, 0),
    measure=partial(_measure, "k"),
    # The library's promise: 1e-12 of the diagonal.
    compare=AgreesTo(relative=1e-12),
    must_refute=partial(_a_layer_more, 0),
    uses=("dc/eq1-lengths",),
)

NTK = replace(
    NNGP,
    id="dc/eq7-crowd",
    items=("Eq7", "D.0"),
    title="Tangent kernels of pairs among hundreds of inputs of unequal lengths",
    statement=r"T^{(l+1)}_{ij} = K^{(l+1)}_{ij} + T^{(l)}_{ij}\, \mathbb{E}[\sigma'(u)"
    r" \sigma'(v)], \quad n > 400",
    source=Source(KEY, "Equation 7 and Appendix D"),
    predict=partial(_predict, 1),
    measure=partial(_measure, "t"),
    must_refute=partial(_a_layer_more, 1),
    uses=("dc/eq7-lengths",),
)

NNGP_KINKED = replace(
    NNGP,
    id="dc/eq1-crowd-kinked",
    title="Kernels of pairs among hundreds of inputs, of activations with kinks",
    cases=(*_KINKED, *_CONE_OF_LONG, *_CONE_OF_BENT),
    uses=("dc/eq1-crowd",),
)

NTK_KINKED = replace(
    NTK,
    id="dc/eq7-crowd-kinked",
    title="Tangent kernels among hundreds of inputs, of activations with kinks",
    cases=(*_KINKED, *_NOT_ODD, *_CONE_OF_KINKED, *_CONE_OF_BENT),
    uses=("dc/eq7-crowd",),
)

_TWO_SETS = grid(
    activation=("gelu", "sin", "erf"),
    squares=((2.0, 8.0),),
    turns=((0.02, 0.3, 1.2, 2.0, 3.1),),
    depth=3,
)

NNGP_ACROSS = replace(
    NNGP,
    id="dc/eq1-crowd-across",
    title="Kernels between two sets of hundreds of inputs of unequal lengths",
    statement=r"K^{(l+1)}(x_i, y_j) = \mathbb{E}[\sigma(u) \sigma(v)], \quad n > 400",
    cases=_TWO_SETS,
    predict=partial(_predict, 0, across=True),
    must_refute=partial(_a_layer_less, 0),
    uses=("dc/eq1-crowd",),
)

NTK_ACROSS = replace(
    NTK,
    id="dc/eq7-crowd-across",
    title="Tangent kernels between two sets of hundreds of inputs",
    cases=_TWO_SETS,
    predict=partial(_predict, 1, across=True),
    must_refute=partial(_a_layer_less, 1),
    uses=("dc/eq7-crowd",),
)

# Closed forms at any lengths, and tables of all layers: within a second.
_WAVES = grid(
    activation=("sin", "cos"),
    squares=((2.0, 8.0),),
    turns=((0.02, 0.3, 1.2, 2.0, 3.1),),
    depth=3,
)

NNGP_WAVES = replace(
    NNGP,
    id="dc/eq1-crowd-waves",
    title="Kernels of pairs among hundreds of inputs, of a sine and a cosine",
    cases=_WAVES,
    uses=("dc/eq1-lengths",),
)

NTK_WAVES = replace(
    NTK,
    id="dc/eq7-crowd-waves",
    title="Tangent kernels of pairs among hundreds of inputs, of a sine and a cosine",
    cases=_WAVES,
    uses=("dc/eq7-lengths",),
)
