"""The named activations, one definition each.

An activation that is defined here is a name of `theory.activations` and an entry of
`CATALOGUE`; nothing else in `theory` is to be written for it.
"""

import math
from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks, gaussian
from theory.activations import closed
from theory.activations.base import Activation
from theory.activations.exponential import ExponentialUnit
from theory.activations.function import EVEN, ODD
from theory.activations.mixture import HermiteMixture
from theory.activations.normrelu import SELU_SCALE, normrelu
from theory.activations.piecewise import PiecewisePolynomial as Pieces
from theory.activations.smooth import Closed, Definition, Smooth
from theory.duals import OfLengths
from theory.duals import _closed_pairs as pairs
from theory.hermite import MOST

Array = npt.NDArray[np.float64]

SELU_ALPHA = 1.6732632423543772
"""Saturation of SELU over its scale (Klambauer et al. 2017)."""

# --- piecewise polynomials ----------------------------------------------------------

identity = Pieces("identity", 1, (0.0, 1.0), parity=ODD)
relu = Pieces("relu", 1, (0.0,), (0.0,), (1.0,))
relu6 = Pieces("relu6", 1, (0.0,), (0.0, 6.0), (1.0, -1.0))
absolute = Pieces("abs", 1, (0.0, -1.0), (0.0,), (2.0,), parity=EVEN)
step = Pieces("step", 0, (0.0,), (0.0,), (1.0,))
sign = Pieces("sign", 0, (-1.0,), (0.0,), (2.0,), parity=ODD)
hard_tanh = Pieces("hard_tanh", 1, (-1.0,), (-1.0, 1.0), (1.0, -1.0), parity=ODD)
hard_sigmoid = Pieces("hard_sigmoid", 1, (0.0,), (-3.0, 3.0), (1 / 6, -1 / 6))
relu_squared = Pieces("relu_squared", 2, (0.0,), (0.0,), (2.0,))


def leaky_relu(slope: float = 0.01) -> Activation:
    """Return x for x > 0 and ``slope * x`` below, `slope` from -1e150 to 1e150.

    Values are good to a rounding of the larger branch.

    >>> leaky_relu(0.1)([-1.0, 2.0]).tolist()
    [-0.1, 2.0]
    """
    s = _checks.number("leaky_relu", "slope", slope, -1e150, 1e150)
    return Pieces(f"leaky_relu({s:g})", 1, (0.0, s), (0.0,), (1.0 - s,))


# --- smooth --------------------------------------------------------------------------


def _special(name: str) -> Callable[[Array], Array]:
    # SciPy's special functions are loaded when one is evaluated, not on import.
    def f(x: Array) -> Array:
        import scipy.special

        return getattr(scipy.special, name)(x)

    return f


_expit, _erf = _special("expit"), _special("erf")
_TWO_BY_ROOT_PI = 2.0 / math.sqrt(math.pi)
_QUICK = 1.702
"""Of quick GELU: the logistic function that is closest to the normal distribution's."""


def _softplus(x: Array) -> Array:
    return np.logaddexp(0.0, x)


_ERF = pairs.ErrorFunctionPairs
_SINE, _COSINE = (partial(pairs.WavePairs, odd) for odd in (True, False))


def _sine_energy(q: Array) -> Array:
    return -0.5 * np.expm1(-2.0 * q)


def _log_cosh(x: Array) -> Array:
    size = np.abs(x)
    near = 0.5 * np.log1p(np.sinh(np.minimum(size, 1.0)) ** 2)
    return np.where(size < 1.0, near, size + np.log1p(0.5 * np.expm1(-2.0 * size)))


def _sech_squared(x: Array) -> Array:
    e = np.exp(-2.0 * np.abs(x))
    return 4.0 * e / (1.0 + e) ** 2


def _swish(b: float) -> dict[str, Any]:
    """Describe x / (1 + e^(-b x))."""
    return {
        "f": lambda x: x * _expit(b * x),
        "df": lambda x: _expit(b * x) * (1.0 + b * x * _expit(-b * x)),
        "precise": lambda mp, x: x / (1 + mp.exp(-mp.mpf(b) * x)),
        "strip": math.pi / b,
    }


def _mish_slope(x: Array) -> Array:
    th = np.tanh(_softplus(x))
    return th + x * (1.0 - th * th) * _expit(x)


erf = Smooth(
    Definition(
        name="erf",
        f=_erf,
        df=lambda x: _TWO_BY_ROOT_PI * np.exp(-x * x),
        precise=lambda mp, x: mp.erf(x),
        parity=ODD,
        widest=1e100,
        closed=Closed(
            coefficients=closed.error_function,
            dual=partial(OfLengths, _ERF),
        ),
    )
)
tanh = Smooth(
    Definition(
        name="tanh",
        f=np.tanh,
        df=_sech_squared,
        precise=lambda mp, x: mp.tanh(x),
        parity=ODD,
        strip=0.5 * math.pi,
    )
)
sigmoid = Smooth(
    Definition(
        name="sigmoid",
        f=_expit,
        df=lambda x: _expit(x) * _expit(-x),
        precise=lambda mp, x: 1 / (1 + mp.exp(-x)),
        strip=math.pi,
    )
)
gelu = Smooth(
    Definition(
        name="gelu",
        f=lambda x: x * gaussian.cdf(x),
        df=lambda x: gaussian.cdf(x) + x * gaussian.pdf(x),
        precise=lambda mp, x: x * mp.ncdf(x),
        closed=Closed(
            coefficients=closed.gaussian_linear,
            slope=lambda *at: pairs.GeluPairs.at(*at).slope(),
        ),
    )
)
silu = Smooth(Definition(name="silu", **_swish(1.0)))
quick_gelu = Smooth(Definition(name="quick_gelu", **_swish(_QUICK)))
softplus = Smooth(
    Definition(
        name="softplus",
        f=_softplus,
        df=_expit,
        precise=lambda mp, x: mp.log1p(mp.exp(x)),
        strip=math.pi,
    )
)
mish = Smooth(
    Definition(
        name="mish",
        f=lambda x: x * np.tanh(_softplus(x)),
        df=_mish_slope,
        precise=lambda mp, x: x * mp.tanh(mp.log1p(mp.exp(x))),
        strip=0.75 * math.pi,  # where e^x = -1 +- i
    )
)
exp = Smooth(
    Definition(
        name="exp",
        f=np.exp,
        df=np.exp,
        precise=lambda mp, x: mp.exp(x),
        widest=354.0,
        closed=Closed(
            coefficients=lambda q, order: closed._powers(q, order, 0.5),
            dual=pairs.Exponential,
            mean_slope=lambda q: 0.5 * np.exp(0.5 * q),
            energy=lambda q: np.exp(2.0 * q),
            energy_slope=lambda q: 2.0 * np.exp(2.0 * q),
            variance=lambda q: np.exp(q) * np.expm1(q),
            slope_energy=lambda q: q * np.exp(2.0 * q),
        ),
    )
)
sin = Smooth(
    Definition(
        name="sin",
        f=np.sin,
        df=np.cos,
        precise=lambda mp, x: mp.sin(x),
        parity=ODD,
        closed=Closed(
            coefficients=closed.sine,
            dual=partial(OfLengths, _SINE),
            mean_slope=np.zeros_like,
            energy=_sine_energy,
            energy_slope=lambda q: np.exp(-2.0 * q),
            variance=_sine_energy,
            slope_energy=lambda q: 0.5 * q * (1.0 + np.exp(-2.0 * q)),
        ),
    )
)
cos = Smooth(
    Definition(
        name="cos",
        f=np.cos,
        df=lambda x: -np.sin(x),
        precise=lambda mp, x: mp.cos(x),
        parity=EVEN,
        closed=Closed(
            coefficients=closed.cosine,
            dual=partial(OfLengths, _COSINE),
            mean_slope=lambda q: -0.5 * np.exp(-0.5 * q),
            energy=lambda q: 0.5 * (1.0 + np.exp(-2.0 * q)),
            energy_slope=lambda q: -np.exp(-2.0 * q),
            variance=lambda q: 0.5 * np.expm1(-q) ** 2,
            slope_energy=lambda q: -0.5 * q * np.expm1(-2.0 * q),
        ),
    )
)
arctan = Smooth(
    Definition(
        name="arctan",
        f=np.arctan,
        df=lambda x: 1.0 / (1.0 + x * x),
        precise=lambda mp, x: mp.atan(x),
        parity=ODD,
        strip=1.0,
    )
)
asinh = Smooth(
    Definition(
        name="asinh",
        f=np.arcsinh,
        df=lambda x: 1.0 / np.sqrt(1.0 + x * x),
        precise=lambda mp, x: mp.asinh(x),
        parity=ODD,
        strip=1.0,
    )
)
log_cosh = Smooth(
    Definition(
        name="log_cosh",
        f=_log_cosh,
        df=np.tanh,
        precise=lambda mp, x: mp.log(mp.cosh(x)),
        parity=EVEN,
        strip=0.5 * math.pi,
    )
)
gaussian_bump = Smooth(
    Definition(
        name="gaussian",
        f=lambda x: np.exp(-0.5 * x * x),
        df=lambda x: -x * np.exp(-0.5 * x * x),
        precise=lambda mp, x: mp.exp(-x * x / 2),
        parity=EVEN,
        closed=Closed(
            coefficients=closed.bump, dual=partial(OfLengths, pairs.BumpPairs)
        ),
    )
)


def hermite(k: int) -> Activation:
    """Return the normalised probabilists' Hermite polynomial h_k: mu = 1 for k > 1.

    k is at most 1,000,000.

    >>> hermite(2)(3.0) * 2**0.5
    8.0
    """
    k = _checks.integer("hermite", "k", k, 0, MOST)
    return HermiteMixture((*([0.0] * k), 1.0), f"hermite({k})", is_normalized=k > 0)


# --- other branches on either side of a kink --------------------------------------------


def elu(alpha: float = 1.0) -> Activation:
    """Return x for x > 0 and ``alpha (e^x - 1)`` below, `alpha` from -1e150 to 1e150.

    >>> elu(2.0)(1.5)
    1.5
    """
    alpha = _checks.number("elu", "alpha", alpha, -1e150, 1e150)
    return ExponentialUnit(f"elu({alpha:g})", alpha)


selu = ExponentialUnit("selu", SELU_ALPHA, SELU_SCALE)
softsign = Smooth(
    Definition(
        name="softsign",
        f=lambda x: x / (1.0 + np.abs(x)),
        df=lambda x: (1.0 + np.abs(x)) ** -2.0,
        precise=lambda _, x: x / (1 + abs(x)),
        parity=ODD,
        kinks=(0.0,),
        strip=1.0,
        bend=(
            lambda x: -x * np.abs(x) / (1.0 + np.abs(x)),
            lambda x: -np.abs(x) * (2.0 + np.abs(x)) / (1.0 + np.abs(x)) ** 2,
        ),
        second=lambda x: -2.0 * np.sign(x) / (1.0 + np.abs(x)) ** 3,
    )
)
_HARD_SWISH = (
    Pieces("", 2, (0.0,), (-3.0, 3.0), (1 / 3, -1 / 3)),
    Pieces("", 1, (0.0,), (-3.0, 3.0), (-0.5, -0.5)),
)


def _hard_swish_coefficients(q: float, order: int) -> Array:
    ramps, squares = (p._scaled(q)._coefficients(order) for p in _HARD_SWISH)
    return ramps + squares


hard_swish = Smooth(
    Definition(
        name="hard_swish",
        f=lambda x: x * np.clip(x + 3.0, 0.0, 6.0) / 6.0,
        df=lambda x: np.where(np.abs(x) < 3.0, (2.0 * x + 3.0) / 6.0, (x > 0.0) + 0.0),
        precise=lambda _, x: x * min(max(x + 3, 0), 6) / 6,
        kinks=(-3.0, 3.0),
        closed=Closed(coefficients=_hard_swish_coefficients, first=3),
    )
)

# --- the catalogue ----------------------------------------------------------------------

NAMES = tuple(k for k, v in globals().items() if isinstance(v, Activation))
"""The names under which `theory.activations` offers activations."""

CATALOGUE = MappingProxyType(
    {
        **{globals()[name].name: globals()[name] for name in NAMES},
        "elu": elu(),
        "normrelu": normrelu(),
        **{a.name: a for a in (leaky_relu(), *map(hermite, (2, 3, 4)))},
    }
)
"""Every named activation by its name, with the factories at their defaults."""
