"""Duals and kernels of inputs of any lengths: long, short, unequal.

The squared lengths are those of real data: 784 and 3,072 of standardised pixels, 100 of
raw ones. The measured side is `verify.claims.deep_conditioning.kernels._pairs`.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from itertools import product
from typing import Any

import mpmath
import numpy as np

from theory import activations as act
from theory import kernels
from verify.claim import Case, grid, numeric
from verify.claims._predictors import mistake
from verify.claims.deep_conditioning._sources import ours, quoted
from verify.claims.deep_conditioning._subjects import normalised, subject
from verify.claims.deep_conditioning.kernels import _pairs as pairs
from verify.compare import AgreesTo, Array
from verify.integrals import BITS, Pieces

SQUARES = (1e-4, 100.0, 784.0, 3072.0, 1e4)

# --- what used to be computed ---------------------------------------------------------

_RULE = np.polynomial.hermite_e.hermegauss(64)
_NODES, _WEIGHTS = _RULE[0], _RULE[1] / math.sqrt(2.0 * math.pi)


def _fixed_nodes(a: act.Activation, p: float, q: float, rho: float) -> Array:
    """E s(u) s(v) and E s'(u) s'(v) by 64 x 64 nodes placed for variance one."""
    y = rho * _NODES[:, None] + math.sqrt((1.0 - rho) * (1.0 + rho)) * _NODES
    u, v = math.sqrt(p) * _NODES, math.sqrt(q) * y
    values = (a(u)[:, None] * a(v), a.derivative(u)[:, None] * a.derivative(v))
    return np.array([_WEIGHTS @ f @ _WEIGHTS for f in values])


# --- duals and lengths ----------------------------------------------------------------


def _measure_dual(
    *, activation: str, var_x: float, var_y: float, rhos: list[float]
) -> list[Any]:
    law = pairs.LAWS[activation]
    with mpmath.workprec(BITS):
        p, q = mpmath.mpf(var_x), mpmath.mpf(var_y)
        root = mpmath.sqrt(p * q)
        values, slopes = zip(*(law.two(p, q, rho * root) for rho in rhos), strict=True)
        return [*values, *(root * slope for slope in slopes)]


def _predict_dual(
    *, activation: str, var_x: float, var_y: float, rhos: list[float]
) -> Array:
    a, rho = subject(activation), np.array(rhos)
    functions = (a.dual, a.dual_derivative)
    return np.concatenate([f(rho, var_x=var_x, var_y=var_y) for f in functions])


def _wrong_dual(
    *, activation: str, var_x: float, var_y: float, rhos: list[float]
) -> Array:
    """64 quadrature nodes, placed for variance one."""
    a, root = subject(activation), math.sqrt(var_x * var_y)
    each = np.array([_fixed_nodes(a, var_x, var_y, rho) for rho in rhos])
    return np.concatenate([each[:, 0], root * each[:, 1]])


_EQUAL = tuple((q, q) for q in SQUARES)
_UNEQUAL = ((784.0, 3072.0), (1e-4, 1e4))

DUALS = numeric(
    id="dc/defC.1-scales",
    items=("DefC.1", "D.0"),
    title="Dual activations of very short, very long and unequal inputs",
    statement=r"\hat\sigma(\rho; \gamma_1, \gamma_2) = \mathbb{E}[\sigma(z_1)"
    r" \sigma(z_2)], \quad 10^{-4} \le \gamma \le 10^4",
    source=quoted("Definition C.1 and Appendix D"),
    cases=tuple(
        {"activation": name, "var_x": p, "var_y": q, "rhos": rhos}
        for names, variances, rhos in (
            (("relu", "erf"), (*_EQUAL, *_UNEQUAL), [-0.9, 0.3, 0.9]),
            (("gelu", "tanh", "selu"), (_EQUAL[0], _EQUAL[3], _UNEQUAL[1]), [0.3]),
        )
        for name, (p, q) in product(names, variances)
    ),
    predict=_predict_dual,
    measure=_measure_dual,
    # The library's promise; 1e-14 is the measured side's.
    compare=AgreesTo(relative=1e-13, of_largest=True),
    must_refute=_wrong_dual,
    uses=("dc/defC.1", "dc/defC.1-unequal"),
    finding=(
        "64 Gauss-Hermite nodes placed for variance one, a common way to compute"
        " duals, are wrong by a fifth of the value for tanh at variance 1e4 and"
        " correlation 0.3, and see no slope there."
    ),
)


# --- kernels of two inputs ------------------------------------------------------------


def _rows(p: float, q: float, turn: float) -> list[list[float]]:
    return pairs.rows(math.sqrt(p), math.sqrt(q), turn)


def _predict(
    both: Callable[..., Any], *, squares: list[float], **case: Any
) -> list[Any]:
    """Entries of both kernels, float64 matrices."""
    return [entry for k in both(*squares, **case) for entry in pairs.entries_of(k)]


def _measure(
    both: Callable[..., Any], *, squares: list[float], **case: Any
) -> list[Any]:
    """Entries of both kernels, by the definition."""
    return [entry for k in both(*squares, **case) for entry in pairs.entries(*k)]


def _states(
    p: float, q: float, *, activation: str, turn: float, depth: int, way: str = ""
) -> Any:
    del way
    law = pairs.Normalised(pairs.LAWS[activation])
    return pairs.recursion(law, pairs.start(*_rows(p, q, turn)), depth)[-1]


CROWD = 120
"""Rows: twice as many pairs as from which on kernels are read off tables."""


def _among_many(p: float, q: float, *, activation: str, turn: float, depth: int) -> Any:
    """Both kernels of a pair of inputs, from those of a crowd around them."""
    rng = np.random.default_rng(17)
    logs, angles = rng.uniform(math.log(p), math.log(q), CROWD), rng.uniform(size=CROWD)
    turns = 2.0 * math.pi * angles[:, None]
    others = np.exp(0.5 * logs)[:, None] * np.hstack([np.cos(turns), np.sin(turns)])
    one, two = _rows(p, q, turn)
    a, x = normalised(activation), np.vstack([one, others, two])
    square = kernels.nngp_ntk(x, a, depth)
    # Between the pair from a matrix of all with some, in another order.
    across = kernels.nngp_ntk(x, a, depth, y=x[:30:-1])
    found = [np.asarray(k)[np.ix_((0, -1), (0, -1))] for k in square]
    for k, between in zip(found, across, strict=True):
        k[0, 1] = between[0, 0]
    return found


def _library(
    p: float, q: float, *, activation: str, turn: float, depth: int, way: str = ""
) -> Any:
    if way == "among many":
        return _among_many(p, q, activation=activation, turn=turn, depth=depth)
    rows = _rows(p, q, turn)
    if way == "turned":
        # In the opposite direction, and in one more dimension, in which neither extends.
        rows = [[0.0, *(-v for v in row)] for row in rows]
    return kernels.nngp_ntk(rows, normalised(activation), depth)


def _by_fixed_nodes(
    p: float, q: float, *, activation: str, turn: float, depth: int, way: str = ""
) -> Any:
    del way
    a, x = normalised(activation), np.array(_rows(p, q, turn))
    k = x @ x.T
    t = k.copy()
    for _ in range(depth):
        root = np.sqrt(np.diag(k))
        rho = np.clip(k / np.outer(root, root), -1.0, 1.0)
        new, slope = np.empty_like(k), np.empty_like(k)
        for i in range(2):
            for j in range(2):
                found = _fixed_nodes(a, k[i, i], k[j, j], rho[i, j])
                new[i, j], slope[i, j] = found
        k, t = new, new + t * slope
    return k, t


def _wrong(**case: Any) -> list[Any]:
    """64 quadrature nodes a layer, placed for variance one."""
    return _predict(_by_fixed_nodes, **case)


def _pair(
    names: Any, squares: Any, turn: Any, depth: Any, **way: str
) -> tuple[Case, ...]:
    return grid(activation=names, squares=squares, turn=turn, depth=depth, **way)


def _cases(name: str, depth: int, *squares: tuple[float, float]) -> tuple[Case, ...]:
    return _pair(name, map(list, squares), 1.2, depth)


_SHORTER_EQUAL = tuple(each for each in _EQUAL if 3072.0 not in each)
_KERNELS = (
    *_cases("relu", 3, *_EQUAL, *_UNEQUAL),
    *_cases("erf", 3, *_EQUAL, *_UNEQUAL),
    *_cases("erf", 20, (3072.0, 3072.0), *_UNEQUAL),
    *_cases("tanh", 3, *_SHORTER_EQUAL, (1e-4, 1e4)),
    *_cases("tanh", 20, (3072.0, 3072.0)),
    *_cases("gelu", 1, *_EQUAL),
    *_cases("gelu", 20, *_UNEQUAL),
    *_cases("selu", 1, (1e-4, 1e-4), (3072.0, 3072.0)),
)
_MORE = (
    *_KERNELS,
    *_cases("relu", 20, *_EQUAL, *_UNEQUAL),
    *_cases("tanh", 20, *_SHORTER_EQUAL, *_UNEQUAL),
    *_cases("selu", 3, *_EQUAL, *_UNEQUAL),
)


# Parallel and nearly parallel rows, whose distances cancel, and nearly opposite ones.
_NEARLY = (0.0, 1e-4, 3.0)
_MANY = ("relu", "erf", "gelu", "sin")
_SHORT, _SHORTER, _APART = [0.3, 0.5], [0.01, 0.02], [0.5, 16.0]
_PARALLEL = (
    *_pair(("sin", "erf", "gelu"), (_SHORTER, _SHORT, [4.0, 4.1], _APART), _NEARLY, 2),
    # Normalised, of powers of lengths and of a bump, each with a shift.
    *_pair(("relu_squared", "gaussian"), (_SHORTER, _APART), (0.0, 1e-4, 1.2, 3.0), 1),
    # Parallel rows that are turned by much: by less, by which they are near, and by more.
    *_pair(("abs", "relu_squared"), ([1.44, 2.25], [0.01, 16.0]), 0.0, (1, 2)),
    # By so little that a correlation does not tell: slopes and the next layer do.
    *_pair(("abs", "relu"), ([1.44, 1.4400001],), 0.0, (2, 3)),
    *_pair("selu", (_SHORT,), (0.0, 1e-4), 1),
    # Both shorter than the kinks, and on both sides of them.
    *_pair("hard_tanh", (_SHORT, [0.7, 1.5]), 0.0, 1),
    *_pair(("hard_tanh", "relu6"), ([0.7, 1.5],), 0.4, 1),
    *_pair(("cos", "exp"), (_SHORTER, _SHORT), _NEARLY, (1, 2)),
    # Longer than one.
    *_pair(("sin", "cos", "exp"), ([1.44, 1.5],), 0.0, 1),
    # A kink that has no mirror image, of no piecewise linear function.
    *_pair("bent at 1/2", (_SHORTER, _SHORT, _APART), 0.0, 1),
    # And one in closed form.
    *_pair("ramp at 1/4", ([0.7, 1.5], _SHORTER), (0.0, 0.4), 1),
    # Turning both inputs leaves their kernels as they are, and so do many others.
    *_pair("erf", ([1.0, 1.0], [0.5, 2.0]), (1e-3, 1.2), 2, way="turned"),
    *_pair(_MANY, ([0.5, 30.0],), (0.02, 1.2, 3.1), (1, 3), way="among many"),
    # Nearly opposite, of a function with two kinks.
    *_pair("relu6", ([0.5, 30.0],), 3.1, 1, way="among many"),
)


LENGTHS_OF_BOTH = numeric(
    id="dc/eq1-lengths",
    items=("Eq1", "Eq7", "D.0"),
    title="Deep kernels of short, long, unequal, nearly parallel and opposite inputs",
    statement=r"K^{(l+1)}_{ij} = \mathbb{E}[\sigma(u) \sigma(v)], \quad"
    r" T^{(l+1)}_{ij} = K^{(l+1)}_{ij} + T^{(l)}_{ij}\, \mathbb{E}[\sigma'(u)"
    r" \sigma'(v)], \quad 10^{-4} \le |x|^2 \le 10^4",
    assumptions=(
        "normalised activation, as it is at any length",
        "alone, turned together, or among 120 others",
    ),
    source=quoted("Equations 1 and 7, Appendix D"),
    cases=(*_KERNELS, *_PARALLEL),
    larger_cases={"full": (*_MORE, *_PARALLEL)},
    predict=partial(_predict, _library),
    measure=partial(_measure, _states),
    # The library's promise: 1e-12 of the diagonal.
    compare=AgreesTo(relative=1e-12),
    must_refute=_wrong,
    uses=("dc/defC.1-scales", "dc/D.0-derivative"),
    version=2,
)

# --- variances other than 1, biases and residual connections --------------------------

_INPUT_VAR, _INPUT_BIAS, _VAR, _BIAS = 1.3, 0.2, 1.7, 0.3
"""Variances of the first layer's weights and biases, and of those that follow."""


def _residual(
    p: float, q: float, *, activation: str, turn: float, depth: int, **given: Any
) -> Any:
    across, given = given.pop("across", False), {"bias_var": _BIAS} | given
    layer = kernels.Layer(subject(activation), weight_var=_VAR, **given)
    both = partial(kernels.nngp_ntk, weight_var=_INPUT_VAR, bias_var=_INPUT_BIAS)
    x, network = _rows(p, q, turn), [layer] * depth
    found = both(x, network)
    if across:  # the same pair, as one input of either of two sets
        for k, between in zip(found, both(x[:1], network, y=x[1:]), strict=True):
            k[0, 1] = between[0, 0]
    return found


def _residual_states(
    p: float, q: float, *, activation: str, turn: float, depth: int, **given: Any
) -> Any:
    given = {"weight_var": _VAR, "bias_var": _BIAS} | given
    given.pop("across", False)
    first = pairs.affine(pairs.start(*_rows(p, q, turn)), _INPUT_VAR, _INPUT_BIAS)
    return pairs.recursion(pairs.LAWS[activation], first, depth, **given)[-1]


def _skipping(
    names: Any, squares: Any, turn: Any, depth: Any, *, skip: Any = 0.6, **given: Any
) -> tuple[Case, ...]:
    where = {"activation": names, "squares": squares, "turn": turn}
    return grid(**where, skip=skip, depth=depth, **given)


_TWO = ("relu", "erf")
_SMOOTH = ("sin", "cos", "exp", "gaussian", "relu_squared")

RESIDUAL = replace(
    LENGTHS_OF_BOTH,
    larger_cases={},
    id="dc/eq1-residual",
    title="Both kernels with weight variances, bias variances and residual layers",
    statement=r"K' = c^2 K + \sigma_w^2 \mathbb{E}[\sigma(u) \sigma(v)] + \sigma_b^2,"
    r" \quad T' = \sigma_w^2 \mathbb{E}[\sigma(u) \sigma(v)] + \sigma_b^2"
    r" + T (\sigma_w^2 \mathbb{E}[\sigma'(u) \sigma'(v)] + c^2)",
    assumptions=("weights of the inputs have variance 1.3, their biases 0.2",),
    source=ours("Equations 1 and 7, with biases and skip connections"),
    cases=(
        *_skipping(
            (*_TWO, "gelu"),
            ([2.0, 2.0], [0.5, 9.0]),
            1.2,
            (1, 3),
            skip=(0.0, 0.6, 1.5),
        ),
        # Of any form, not normalised: waves, an exponential, a bump, powers, pieces.
        *_skipping(_SMOOTH, (_SHORT,), (0.001, 1.2), (1, 2)),
        *_skipping(("hard_tanh", "relu6"), (_SHORT,), 1.2, 1),
        # Nearly parallel: what biases add turns rows of unequal lengths.
        *_skipping(_TWO, ([2.0, 2.1],), 0.001, (1, 3)),
        # So nearly that correlations do not tell what slopes do.
        *_skipping("relu", ([2.0, 2.000001],), 1e-6, 2),
        # Weights alone: nothing is added to what they scale.
        *_skipping(_TWO, ([0.5, 9.0],), 1.2, (1, 3), skip=0.0, bias_var=0.0),
        # Between two sets of inputs.
        *_skipping(_TWO, ([0.5, 9.0],), 1.2, 2, across=True),
        # So far apart that what the branches add up to is negative.
        *_skipping(_TWO, ([2.0, 2.0], [4.0, 9.0]), 2.6, (1, 2), skip=1.5),
    ),
    predict=partial(_predict, _residual),
    measure=partial(_measure, _residual_states),
    must_refute=mistake(
        "The share of a residual branch in the place of its square.", skip=math.sqrt
    ),
    uses=("dc/eq1-lengths",),
)

# --- threshold units --------------------------------------------------------------------


@lru_cache(maxsize=2)
def _unit(threshold: float) -> Any:
    if threshold == 0.0:
        return act.step
    return act.from_function(
        lambda x: (x > threshold).astype(np.float64),
        kinks=(threshold,),
        name="threshold",
    )


def _placed(squares: list[float], turn: float) -> list[list[float]]:
    """Two rows: exactly opposite, where the angle is pi."""
    one, two = _rows(squares[0], squares[1], turn)
    return [one, [two[0], 0.0 if turn == math.pi else two[1]]]


def _predict_threshold(
    *,
    threshold: float,
    squares: list[float],
    turn: float,
    bias_var: float = 0.0,
    signs: bool = False,
) -> list[Any]:
    x = _placed(squares, turn)
    unit = act.sign if signs else _unit(threshold)
    layer = kernels.Layer(unit, weight_var=2.0 if signs else 1.0, bias_var=bias_var)
    found = kernels.nngp(x, [layer], bias_var=bias_var)
    return pairs.entries_of(found)


def _measure_threshold(
    *,
    threshold: float,
    squares: list[float],
    turn: float,
    bias_var: float = 0.0,
    signs: bool = False,
) -> list[Any]:
    """Probabilities that one unit is on, and that both are: of signs 4 P - 1, twice."""
    first, second = _placed(squares, turn)
    p, q, k = pairs.affine(pairs.start(first, second), 1, bias_var).k
    one, two = (Pieces(0, kinks=(threshold,), jumps=(1,), variance=v) for v in (p, q))
    with mpmath.workprec(BITS):
        both = one.dual(k / mpmath.sqrt(p * q), two)
        found = one.dual(1), two.dual(1), both
        if signs:
            found = 2, 2, 2 * (4 * both - 1)
        return pairs.entries(*(v + bias_var for v in found))


THRESHOLD = numeric(
    id="dc/eq1-threshold",
    items=("Eq1", "D.0"),
    uses=("dc/defC.1-unequal",),
    title="The kernel of threshold units, of two inputs of unequal lengths",
    statement=r"K_{ij} = P(u > \theta, v > \theta), \quad \theta \in \{0, \tfrac12\}",
    source=quoted("Equation 1 and Appendix D"),
    cases=(
        *grid(threshold=(0.0, 0.5), squares=([0.49, 1.69],), turn=(0.01, 0.5, 3.1)),
        # Lengths so close that their difference afterwards is an integral.
        *grid(threshold=0.5, squares=([1.0, 1.02],), turn=0.5),
        # With biases, which turn rows of unequal lengths.
        *grid(threshold=0.0, squares=([0.49, 1.69],), turn=(0.01, 3.1), bias_var=0.25),
        # Signs: nearly opposite rows stay so.
        *(
            {**case, "threshold": 0.0, "squares": [0.49, 1.69], "signs": True}
            for case in grid(turn=(0.01, 3.1, math.pi), bias_var=(0.0, 1e-6))
        ),
    ),
    predict=_predict_threshold,
    measure=_measure_threshold,
    # Probabilities and twice signs' means, at most two: a few dozen roundings.
    compare=AgreesTo(absolute=1e-14),
    must_refute=mistake("Inputs of unit length.", squares=[1.0, 1.0]),
)
