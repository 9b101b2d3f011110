"""Kernels of copies and near-copies of an input, of equal lengths or not.

The measured side is `verify.claims.deep_conditioning.kernels._pairs`.
"""

import math
from itertools import product
from typing import Any

import mpmath
import numpy as np

from theory import kernels
from verify.claim import Case, grid, numeric
from verify.claims._predictors import mistake
from verify.claims.deep_conditioning._sources import ours, quoted
from verify.claims.deep_conditioning._subjects import Subject, normalised, subject
from verify.claims.deep_conditioning.kernels import _pairs as pairs
from verify.compare import AgreesTo, Array
from verify.integrals import BITS, Pieces


def _law(name: str) -> pairs.Law:
    return pairs.Normalised(pairs.NEAR.get(name, pairs.LAWS[name]))


def _exact(law: pairs.Law, rows: list[list[float]], depth: int) -> Any:
    return pairs.recursion(law, pairs.start(*rows), depth)[-1].distance


def _rounded(law: pairs.Law, p: float, q: float, k: float, depth: int) -> Any:
    """1 - correlation with every entry of every layer rounded to 53 bits."""
    first = tuple(mpmath.mpf(v) for v in (p, q, k))
    state = pairs.State(first, first)
    return pairs.recursion(law, state, depth, bits=53)[-1].distance


def _distances(k: Array, ends: list[tuple[int, int]]) -> list[Any]:
    """1 - correlation of pairs of rows, without further rounding."""
    with mpmath.workprec(BITS):
        out: list[Any] = []
        for i, j in ends:
            one, two, both = (mpmath.mpf(float(k[e])) for e in ((i, i), (j, j), (i, j)))
            out.append(1 - both / mpmath.sqrt(one * two))
        return out


_EVEN = ("cos",)
"""Functions to which an opposite input is a copy."""


def _twice(seed: int, activation: str) -> Array:
    x = np.random.default_rng(seed).standard_normal((5, 3))
    return np.concatenate([x, -x if activation in _EVEN else x])


_COPIES = [(i, i + 5) for i in range(5)]


def _predict_copies(*, activation: str, depth: int, seed: int) -> list[Any]:
    x = _twice(seed, activation)
    k = kernels.nngp(x, normalised(activation), depth)
    # No cosine is beyond one, of copies and of what is opposite.
    cosines = kernels.correlation(np.concatenate([x, -x]))
    # A jump takes the root of any distance, layer by layer.
    signs = kernels.nngp(np.outer([1.0, -7.0], [1.0, 2.0, 3.0]), subject("sign"), 6)
    over = float(np.abs(cosines).max() > 1.0)
    return [*_distances(k, _COPIES), over, 1.0 + signs[0, 1]]


def _measure_copies(*, activation: str, depth: int, seed: int) -> list[Any]:
    law, rows = (
        pairs.Normalised(pairs.LAWS[activation]),
        _twice(seed, activation).tolist(),
    )
    return [*(_exact(law, [rows[i], rows[j]], depth) for i, j in _COPIES), 0, 0]


def _wrong_copies(*, activation: str, depth: int, seed: int) -> list[Any]:
    """Products summed in another order than squares, as by `x @ x.T`."""
    law, x = pairs.Normalised(pairs.LAWS[activation]), _twice(seed, activation)
    squares = [float(v) for v in np.sum(x * x, axis=1)]
    return [
        *(
            _rounded(law, squares[i], squares[j], squares[i] * (1.0 - 2.0**-52), depth)
            for i, j in _COPIES
        ),
        *(0, 0),
    ]


# Three entries, each rounded twice.
_STORED = 2.0**-50

COPIES = numeric(
    id="dc/eq1-copies",
    items=("Eq1", "D.0"),
    title="An input and its exact copy keep correlation one through 200 layers",
    statement=r"x = y \;\Rightarrow\; K_{xy} = \sqrt{K_{xx} K_{yy}}",
    assumptions=(
        "normalised activation; of an even one also x = -y",
        "other inputs of other lengths present",
    ),
    source=quoted("Equation 1 and Appendix D"),
    cases=(
        {"activation": "erf", "depth": 200, "seed": 11},
        {"activation": "relu", "depth": 5, "seed": 12},
        {"activation": "cos", "depth": 30, "seed": 11},
    ),
    larger_cases={
        "full": tuple(grid(activation=("erf", "sin", "relu"), depth=200, seed=11))
    },
    predict=_predict_copies,
    measure=_measure_copies,
    # Of correlations from stored entries.
    compare=AgreesTo(absolute=_STORED),
    must_refute=_wrong_copies,
    uses=("dc/eq1-lengths",),
    finding=(
        "If entries are rounded in every layer, the correlation of an input with its"
        " own copy falls below 0.1 at depth 200: a distance of the size of rounding"
        " grows in each layer by the slope at one."
    ),
)

_ANGLE = 1e-8
_STEP = 1.0 + 1e-12


def _predict_near(
    *, activation: str, turn: float, ratio: float, depth: int
) -> list[Any]:
    k = kernels.nngp(pairs.rows(1.0, ratio, turn), normalised(activation), depth)
    return _distances(k, [(0, 1)])


def _measure_near(
    *, activation: str, turn: float, ratio: float, depth: int
) -> list[Any]:
    return [_exact(_law(activation), pairs.rows(1.0, ratio, turn), depth)]


def _wrong_near(*, activation: str, turn: float, ratio: float, depth: int) -> list[Any]:
    """Correlations from the rounded entries of the Gram matrix."""
    x = np.array(pairs.rows(1.0, ratio, turn))
    k = x @ x.T
    entries = (float(k[0, 0]), float(k[1, 1]), float(k[0, 1]))
    return [_rounded(_law(activation), *entries, depth)]


def _turned(names: Any, turn: Any, ratio: Any, depth: int = 200) -> tuple[Case, ...]:
    return grid(activation=names, turn=turn, ratio=ratio, depth=depth)


_ULPS = (0, 1, 20, 60, 1000, 10**6)
"""Between 20 and 60 the library stops taking the two lengths for one."""


DUPLICATES = numeric(
    id="dc/eq1-duplicates",
    items=("Eq1", "D.0", "AsmA"),
    title="Near-duplicate inputs stay distinguishable when deep, of equal lengths or not",
    statement=r"1 - \frac{K_{12}}{\sqrt{K_{11} K_{22}}} > 0, \quad"
    r" x_1 \ne x_2, \quad \angle(x_1, x_2) \in \{0, 10^{-8}, 10^{-4}\}, \quad"
    r" |x_2| / |x_1| \in \{1, 1 + n 2^{-52}, 1 + 10^{-12}, 1.5\}",
    assumptions=(
        "normalised activation",
        "lengths of parallel inputs differ by 1e-12 or more",
    ),
    source=ours("Equation 1 and Appendix D, for close inputs"),
    cases=(
        *_turned(("relu", "erf", "sin", "tanh"), _ANGLE, 1.0),
        *_turned("erf", (0.0, _ANGLE), _STEP),
        *_turned("erf", _ANGLE, 1.5),
        # No jump between equal and nearly equal lengths, which converge.
        *_turned("erf", 1e-4, [1.0 + n * 2.0**-52 for n in _ULPS], 60),
    ),
    larger_cases={
        "full": (
            *_turned(("relu", "erf", "sin"), (0.0, _ANGLE), (_STEP, 1.5)),
            *_turned("tanh", (0.0, _ANGLE), _STEP),
        )
    },
    predict=_predict_near,
    measure=_measure_near,
    # The library's promise for 1 - correlation; of stored entries.
    compare=AgreesTo(relative=1e-10, absolute=_STORED),
    must_refute=_wrong_near,
    uses=("dc/asmA", "dc/eq1-copies"),
    finding=(
        "If a difference of lengths does not die out, deep kernels are not continuous"
        " in rounded inputs. In exact arithmetic, two parallel inputs of lengths 1"
        " and 1 + 2^-52 have correlation 0.095 after 200 layers of normalised ReLU."
        " The library treats squared lengths within 1e-14 sqrt(dimension) of each"
        " other as equal, which gives 1."
    ),
    version=2,
)

# --- few lengths and many directions --------------------------------------------------

_DIRECTIONS = 12
_PAIRS = [(1, 2), (0, 3), (1, 11), (3, 14), (0, 22)]
"""Rows of a fan, in which every direction has both lengths: near ones and far ones."""

_STAIRS = {"line": [0.0, 0.0], "kinks": [0.0, 1.0, 2.0, 3.0], "jumps": [1, -1, 1, -1]}
_ODD = {
    "line": [0.75, 1.0],
    "kinks": [-2.0, -1.0, 1.0, 2.0],
    "jumps": [-0.75, 0.75, -0.75, 0.75],
}
_STEEP = {"line": [0.0, 1.0], "kinks": [4.0], "jumps": [100.0]}
"""Functions whose slopes jump by much more than their mean square is."""


def _fan(lengths: list[float], width: float) -> list[list[float]]:
    """Return rows of both lengths in a dozen directions, up to an angle apart."""
    turns = np.linspace(0.0, width, _DIRECTIONS).tolist()
    return [
        [size * math.cos(turn), size * math.sin(turn)]
        for turn, size in product(turns, lengths)
    ]


def _predict_fan(
    *, activation: Subject, lengths: list[float], width: float, depth: int = 1
) -> list[Any]:
    a = subject(activation).normalized()
    return _distances(kernels.nngp(_fan(lengths, width), a, depth), _PAIRS)


def _measure_fan(
    *, activation: Subject, lengths: list[float], width: float
) -> list[Any]:
    if isinstance(activation, str):
        law = _law(activation)
    else:
        values = (tuple(activation[k]) for k in ("line", "kinks", "jumps"))
        law = pairs.Normalised(pairs.Enclosed(Pieces(1, *values)))
    rows = _fan(lengths, width)
    return [_exact(law, [rows[i], rows[j]], 1) for i, j in _PAIRS]


FAN = numeric(
    id="dc/eq1-fan",
    items=("Eq1", "D.0"),
    title="Distances between inputs of two lengths in a dozen directions",
    statement=r"1 - \frac{K_{ij}}{\sqrt{K_{ii} K_{jj}}}, \quad |x_i| \in \{p, q\}",
    assumptions=("normalised activation, piecewise linear",),
    source=ours("Equation 1 and Appendix D"),
    cases=(
        # From lengths below the kinks to those at which a layer saturates between
        # directions next to each other.
        *grid(
            activation=("hard_tanh", _STAIRS, _STEEP),
            lengths=([0.3, 0.5], [1.0, 3.0], [30.0, 100.0]),
            width=0.3,
        ),
        # Two kinks on either side of zero, beyond most of both rows.
        *grid(activation=(_ODD,), lengths=([0.3, 0.5],), width=(0.003, 0.3)),
        *grid(activation="hard_tanh", lengths=([1e6, 1.001e6],), width=(1e-6, 1e-4)),
    ),
    predict=_predict_fan,
    measure=_measure_fan,
    # The library's promise for 1 - correlation; of stored entries.
    compare=AgreesTo(relative=1e-10, absolute=_STORED),
    must_refute=mistake("One hidden layer too many.", depth=2),
    uses=("dc/eq1-duplicates",),
)
