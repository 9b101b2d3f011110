"""The named activations."""

import math
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks, gaussian
from theory.activations import closed
from theory.activations.base import Activation
from theory.activations.custom import FromFunction
from theory.activations.exponential import ExponentialUnit
from theory.activations.normrelu import SELU_SCALE, normrelu
from theory.activations.piecewise import PiecewisePolynomial as Pieces
from theory.activations.smooth import Formula, HermiteMixture, Smooth

Array = npt.NDArray[np.float64]

SELU_ALPHA = 1.6732632423543772
"""Saturation of SELU over its scale (Klambauer et al. 2017)."""

# --- piecewise polynomials ----------------------------------------------------------

identity = Pieces("identity", 1, (0.0, 1.0))
relu = Pieces("relu", 1, (0.0,), (0.0,), (1.0,))
absolute = Pieces("abs", 1, (0.0, -1.0), (0.0,), (2.0,))
step = Pieces("step", 0, (0.0,), (0.0,), (1.0,))
sign = Pieces("sign", 0, (-1.0,), (0.0,), (2.0,))
hard_tanh = Pieces(
    "hard_tanh",
    1,
    (-1.0,),
    (-1.0, 1.0),
    (1.0, -1.0),
    known=(0.0, math.erf(math.sqrt(0.5))),  # an odd function's mean, without rounding
)
relu_squared = Pieces("relu_squared", 2, (0.0,), (0.0,), (2.0,))


def leaky_relu(slope: float = 0.01) -> Activation:
    """Return x for x > 0 and ``slope * x`` below; `slope` is any finite number.

    >>> leaky_relu(0.1)([-1.0, 2.0]).tolist()
    [-0.1, 2.0]
    """
    s = float(_checks.real("leaky_relu", "slope", slope))
    return Pieces(f"leaky_relu({s:g})", 1, (0.0, s), (0.0,), (1.0 - s,))


# --- smooth --------------------------------------------------------------------------


def _special(name: str) -> Callable[[Array], Array]:
    # SciPy's special functions are loaded when one is evaluated, not on import.
    def f(x: Array) -> Array:
        import scipy.special

        return getattr(scipy.special, name)(x)

    return f


_expit, _erf = _special("expit"), _special("erf")


def _softplus(x: Array) -> Array:
    return np.logaddexp(0.0, x)


def _mish_slope(x: Array) -> Array:
    th = np.tanh(_softplus(x))
    return th + x * (1.0 - th * th) * _expit(x)


def _sech_squared(x: Array) -> Array:
    e = np.exp(-2.0 * np.abs(x))
    return 4.0 * e / (1.0 + e) ** 2


def _precisely(name: str) -> Callable[[Any], Any]:
    """Return the same function in mpmath, for coefficients of high order."""

    def f(x: Any) -> Any:
        import mpmath as mp

        return {
            "tanh": mp.tanh,
            "sigmoid": lambda v: 1 / (1 + mp.exp(-v)),
            "silu": lambda v: v / (1 + mp.exp(-v)),
            "softplus": lambda v: mp.log1p(mp.exp(v)),
            "arctan": mp.atan,
            "asinh": mp.asinh,
            "mish": lambda v: v * mp.tanh(mp.log1p(mp.exp(v))),
        }[name](x)

    return f


def _smooth(
    name: str,
    f: Callable[[Array], Array],
    df: Callable[[Array], Array],
    parity: int | None = None,
    exact: Callable[[float, int], Array] | None = None,
) -> Smooth:
    precise = None if exact else _precisely(name)
    return Smooth(Formula(name, f, df, parity, precise, exact, name))


_TWO_BY_ROOT_PI = 2.0 / math.sqrt(math.pi)

erf = _smooth(
    "erf",
    _erf,
    lambda x: _TWO_BY_ROOT_PI * np.exp(-x * x),
    1,
    closed.error_function,
)
tanh = _smooth("tanh", np.tanh, _sech_squared, 1)
sigmoid = _smooth("sigmoid", _expit, lambda x: _expit(x) * _expit(-x))
gelu = _smooth(
    "gelu",
    lambda x: x * gaussian.cdf(x),
    lambda x: gaussian.cdf(x) + x * gaussian.pdf(x),
    exact=closed.gaussian_linear,
)
silu = _smooth(
    "silu",
    lambda x: x * _expit(x),
    lambda x: _expit(x) * (1.0 + x * _expit(-x)),
)
softplus = _smooth("softplus", _softplus, _expit)
exp = _smooth("exp", np.exp, np.exp, exact=closed.exponential)
sin = _smooth("sin", np.sin, np.cos, 1, closed.sine)
cos = _smooth("cos", np.cos, lambda x: -np.sin(x), 0, closed.cosine)
arctan = _smooth("arctan", np.arctan, lambda x: 1.0 / (1.0 + x * x), 1)
asinh = _smooth("asinh", np.arcsinh, lambda x: 1.0 / np.sqrt(1.0 + x * x), 1)
gaussian_bump = _smooth(
    "gaussian",
    lambda x: np.exp(-0.5 * x * x),
    lambda x: -x * np.exp(-0.5 * x * x),
    0,
    closed.bump,
)
mish = _smooth("mish", lambda x: x * np.tanh(_softplus(x)), _mish_slope)


def hermite(k: int) -> Activation:
    """Return the normalised probabilists' Hermite polynomial h_k: mu = 1 for k > 1.

    >>> hermite(2)(3.0) * 2**0.5
    8.0
    """
    k = _checks.integer("hermite", "k", k, 0)
    return HermiteMixture((*([0.0] * k), 1.0), f"hermite({k})", is_normalized=k > 0)


# --- exponential and rational branches ------------------------------------------------


def elu(alpha: float = 1.0) -> Activation:
    """Return x for x > 0 and ``alpha (e^x - 1)`` below.

    >>> elu(2.0)(1.5)
    1.5
    """
    alpha = float(_checks.real("elu", "alpha", alpha))
    return ExponentialUnit(f"elu({alpha:g})", alpha)


selu = ExponentialUnit("selu", SELU_ALPHA, SELU_SCALE)
softsign = FromFunction(
    "softsign",
    lambda x: x / (1.0 + np.abs(x)),
    lambda x: (1.0 + np.abs(x)) ** -2.0,
    (0.0,),
)

CATALOGUE = MappingProxyType(
    {
        **{a.name: a for a in (identity, relu, absolute, step, sign, hard_tanh)},
        **{a.name: a for a in (relu_squared, leaky_relu(), erf, tanh, sigmoid, gelu)},
        **{a.name: a for a in (silu, softplus, exp, sin, cos, arctan, asinh, mish)},
        **{a.name: a for a in (gaussian_bump, softsign, selu)},
        "elu": elu(),
        "normrelu": normrelu(),
        **{f"hermite({k})": hermite(k) for k in (2, 3, 4)},
    }
)
"""Every named activation by its name, with the factories at their defaults."""
