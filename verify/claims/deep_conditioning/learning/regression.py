"""What infinitely wide networks predict: gradient flow and Bayesian inference.

The measured side runs the recursion of the kernels and the exponential of the flow's
matrix, or linear solves, at 77 digits.
"""

import math
from functools import partial
from typing import Any

import mpmath
import numpy as np

from theory import kernels
from theory import regression as wide
from verify.claim import Source, grid, numeric
from verify.claims._predictors import mistake, unlike
from verify.claims.deep_conditioning._subjects import subject
from verify.claims.deep_conditioning.conditioning.tangent import four_inputs
from verify.claims.deep_conditioning.kernels import _pairs as pairs
from verify.compare import AgreesTo, Array
from verify.integrals import BITS

_TRAIN = 3
_TARGETS = (1.0, -2.0, 0.5, -0.7)
"""Of the training inputs, and of the first one once more."""


def _rows(again: int) -> list[int]:
    """Training inputs, the first ones again, and the test input."""
    return [*range(_TRAIN), *range(again), _TRAIN]


# --- the measured side ------------------------------------------------------------------


def _closed(*, activation: str, depth: int, seed: int, again: int = 0) -> list[Any]:
    """Both kernels of four inputs, layer by layer from closed forms."""
    rows = _rows(again)
    both = pairs.matrices(pairs.LAWS[activation], four_inputs(seed), depth)
    return [mpmath.matrix([[k[i, j] for j in rows] for i in rows]) for k in both]


def _spread(k: Any, a: Any) -> Any:
    """Return the variance of the last output less `a` times the others."""
    n = k.rows - 1
    square = (a * k[:n, :n] * a.T)[0, 0]
    return k[n, n] - 2 * (a * k[:n, n])[0, 0] + square


def _response(t: Any, n: int, time: float, ridge: float) -> Any:
    # exp [[-S, 1], [0, 0]] t has the integral of e^{-S u} over [0, t] at its corner.
    block = mpmath.zeros(2 * n)
    block[:n, :n] = -time * (t[:n, :n] + ridge * mpmath.eye(n))
    block[:n, n:] = time * mpmath.eye(n)
    return t[n:, :n] * mpmath.expm(block, method="taylor")[:n, n:]


def _measure_flow(*, time: float, ridge: float, **network: Any) -> list[Any]:
    with mpmath.workprec(BITS):
        k, t = _closed(**network)
        n = k.rows - 1
        a = _response(t, n, time, ridge)
        mean = (a * mpmath.matrix(_TARGETS[:n]))[0, 0]
        spread = _spread(k, a)
        return [mean, spread, mean, spread, mean]


def _measure_posterior(*, noise_var: float, **network: Any) -> list[Any]:
    """Mean and variance of the last output given the others, by Schur's complement."""
    with mpmath.workprec(BITS):
        k, _ = _closed(**network)
        n = k.rows - 1
        noisy = k[:n, :n] + mpmath.mpf(noise_var) * mpmath.eye(n)
        solved = mpmath.lu_solve(noisy, mpmath.matrix(_TARGETS[:n]))
        across = mpmath.lu_solve(noisy, k[:n, n])
        mean, drop = (k[n:, :n] * solved)[0, 0], (k[n:, :n] * across)[0, 0]
        return [mean, k[n, n] - drop]


# --- the predicted side -----------------------------------------------------------------


def _found(
    *, activation: str, depth: int, seed: int, again: int = 0, **given: Any
) -> Array:
    x, n = four_inputs(seed)[_rows(again)], _TRAIN + again
    y = _TARGETS[:n]
    found = wide.predict(x[:n], y, x[n:], subject(activation), depth, **given)
    return np.array([found.mean[0], found.variance[0]])


_ASSUMED = {"times": math.inf, "ridge": 0.0, "noise_var": 0.0, "bias_var": 0.0}
"""Networks without biases, trained to the end on targets as they are."""


def _predict_flow(
    *, time: float, ridge: float, kernel: str = "ntk", **network: Any
) -> Array:
    given = unlike(_ASSUMED, times=time, ridge=ridge)
    found = _found(**given, **unlike({"kernel": "ntk"}, kernel=kernel), **network)
    k, t = _kernels(**network)
    targets, t = _TARGETS[: len(k) - 1], k if kernel == "nngp" else t
    both = wide.predict_from_kernels(targets, t, k, **given)
    # Without the first kernel the mean is known, and no variance.
    alone = wide.predict_from_kernels(targets, t, **given)
    if alone.covariance is not None:
        raise ValueError("_predict_flow: there is a variance without its kernel")
    return np.array([*found, both.mean[0], both.variance[0], alone.mean[0]])


def _kernels(
    *, activation: str, depth: int, seed: int, again: int = 0
) -> tuple[Array, Array]:
    x = four_inputs(seed)[_rows(again)]
    return kernels.nngp_ntk(x, subject(activation), depth)


def _wrong_posterior(*, noise_var: float, **network: Any) -> Array:
    """Noise as a penalty only, its share of the variance missing."""
    return _found(ridge=noise_var, kernel="nngp", **network)


# Kernels to 1e-12, times condition numbers of three inputs, at most 100.
_CLOSE = AgreesTo(relative=1e-10, of_largest=True)
_CASES = grid(
    activation=("relu", "erf", "sin"),
    depth=(1, 3),
    time=(1e-3, 0.5, 20.0),
    ridge=(0.0, 0.3),
    seed=7,
)
# One input twice, with two targets.
_TWICE = grid(
    activation="erf", depth=2, time=(0.5, 20.0), ridge=(0.0, 0.3), seed=7, again=1
)

FLOW = numeric(
    id="dc/eq7-flow",
    items=("Eq7", "D.0"),
    title="Mean and variance of infinitely wide networks' outputs during training",
    statement=r"\mu_t = A_t y, \quad C_t = \Sigma_{**} - A_t \Sigma_{x*}"
    r" - \Sigma_{*x} A_t^T + A_t \Sigma_{xx} A_t^T,"
    r" \quad A_t = T_{*x} \int_0^t e^{-(T_{xx} + \lambda) u} du",
    assumptions=("gradient flow on half the sum of squares", "all layers are trained"),
    source=Source("lee2019wide", "Equations 14 to 16, with the kernels of equation 7"),
    # From inputs, and from their kernel matrices; the last ones' are singular.
    cases=(*_CASES, *_TWICE),
    predict=_predict_flow,
    measure=_measure_flow,
    compare=_CLOSE,
    must_refute=mistake(
        "The top layer's kernel, as if the readout alone learnt.", kernel="nngp"
    ),
    uses=("dc/eq7-matrix",),
)

_SINGULAR = [[1.0, 1.0], [1.0, 1.0], [1.0, 0.5], [0.25, 0.25]]
"""Of two training inputs that are one to each other, and not to the third."""


_NOUGHT = [[0.0, 0.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.5, 1.0]]
"""Of a training input that is zero, another one and a test input."""


def _predict_singular(*, time: float, nought: bool = False, seen: float = 0.0) -> Array:
    if nought:
        k = np.array(_NOUGHT)
        found = wide.predict_from_kernels(_TARGETS[:2], k, k, times=time)
        return np.array([found.mean[0], found.variance[0]])
    t = np.array(_SINGULAR)
    t[2, 1] = seen + (1.0 - seen) * t[2, 1]
    return wide.predict_from_kernels(_TARGETS[:2], t, times=time).mean


def _measure_singular(*, time: float, nought: bool = False) -> list[Any]:
    with mpmath.workprec(BITS):
        if nought:
            k = mpmath.matrix(_NOUGHT)
            a = _response(k, 2, time, 0.0)
            return [(a * mpmath.matrix(_TARGETS[:2]))[0, 0], _spread(k, a)]
        a = _response(mpmath.matrix(_SINGULAR), 2, time, 0.0)
        return list(a * mpmath.matrix(_TARGETS[:2]))


SINGULAR = numeric(
    id="dc/eq7-flow-singular",
    items=("Eq7", "D.0"),
    title="A direction that training inputs do not tell apart, and another one does",
    statement=r"\mu_t = T_{*x} \int_0^t e^{-T_{xx} u} du\; y, \quad \det T_{xx} = 0",
    source=Source("lee2019wide", "Equation 14, with a kernel that is given"),
    cases=(*grid(time=(0.5, 20.0)), {"time": 0.5, "nought": True}),
    predict=_predict_singular,
    measure=_measure_singular,
    # Sums of two products of given numbers, and a few roundings of their exponentials.
    compare=AgreesTo(relative=2e-15, of_largest=True),
    must_refute=mistake("The third input sees them as one.", seen=1.0),
    uses=("dc/eq7-flow",),
)

POSTERIOR = numeric(
    id="dc/eq1-posterior",
    items=("Eq1", "D.0"),
    title="The posterior of a Bayesian network of infinite width: mean and variance at a"
    " test input",
    statement=r"\mu = \Sigma_{*x} (\Sigma_{xx} + \sigma^2)^{-1} y, \quad"
    r" C = \Sigma_{**} - \Sigma_{*x} (\Sigma_{xx} + \sigma^2)^{-1} \Sigma_{x*}",
    assumptions=("Gaussian noise of variance sigma^2 in the targets",),
    source=Source("lee2018deep", "Equations 8 and 9, with the kernel of equation 1"),
    cases=(
        *grid(
            activation=("relu", "erf", "sin"),
            depth=(1, 3),
            noise_var=(0.0, 1e-3, 2.0),
            seed=7,
        ),
        *grid(activation="erf", depth=2, noise_var=(1e-3, 2.0), seed=7, again=1),
    ),
    predict=partial(_found, kernel="nngp"),
    measure=_measure_posterior,
    compare=_CLOSE,
    must_refute=_wrong_posterior,
    uses=("dc/eq7-matrix",),
)
