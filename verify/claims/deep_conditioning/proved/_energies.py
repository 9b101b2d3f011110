r"""Rigorous Hermite energies of the catalogue, and bounds of polynomials with such weights.

The energies are enclosed by rigorous integration of the activation itself; what is left
of their sum is known from the variance.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import flint

from verify.claims.deep_conditioning._subjects import NORMRELU
from verify.claims.deep_conditioning.normrelu._definitions import STAR
from verify.enclose import Function, Interval, minimum, partial
from verify.integrals import hermite_polynomial

ORDER = 12
"""Energies enclosed one by one; at rho = 1/2 the others weigh 2^-11."""
_INTEGRATION_BITS = 100

# --- the catalogue as analytic pieces -------------------------------------------------
#
# `acb.integral` needs functions that say when they are not analytic on a complex ball.


def _unless(fails: Any, value: Callable[[], Any]) -> Any:
    return flint.acb(flint.arb.nan()) if fails else value()


def _strip(z: Any) -> bool:
    """Whether a ball may reach the branch cuts of atan, at +-i and beyond."""
    return not abs(z.imag) < 1


def _softplus(z: Any) -> Any:
    grown = 1 + z.exp()
    return _unless(not grown.real > 0, grown.log)


def _asinh(z: Any) -> Any:
    # Faster on wide balls than Arb's own, which does not signal its cuts either.
    square = 1 + z * z
    if not (abs(z.imag) < 1 and square.real > 0):
        return flint.acb(flint.arb.nan())
    inner = z + square.sqrt()
    return _unless(not inner.real > 0, inner.log)


def _half(z: Any) -> Any:
    return z / flint.arb(2).sqrt()


def _sigmoid(z: Any) -> Any:
    return 1 / (1 + (-z).exp())


def _mish(z: Any) -> Any:
    # tanh(log(1 + e^z)) = (u - 1)/(u + 1), u = (1 + e^z)^2.
    square = (1 + z.exp()) ** 2
    return z * (square - 1) / (square + 1)


def tanh(z: Any) -> Any:
    """Of balls, real or complex."""
    return 1 - 2 / ((2 * z).exp() + 1)


def erf_slope(z: Any) -> Any:
    """Derivative of the error function."""
    return 2 * (-z * z).exp() / flint.arb.pi().sqrt()


def _quick_gelu_slope(z: Any) -> Any:
    y = flint.arb(1.702) * z
    return _sigmoid(y) * (1 + y * _sigmoid(-y))


def _nought(z: Any) -> Any:
    return 0 * z


def _one(z: Any) -> Any:
    return 0 * z + 1


def _itself(z: Any) -> Any:
    return z


Analytic = Callable[[Any], Any]
PIECES: dict[str, tuple[tuple[float, ...], tuple[Analytic, ...]]] = {
    "erf": ((), (lambda z: z.erf(),)),
    "tanh": ((), (tanh,)),
    "sigmoid": ((), (_sigmoid,)),
    "gelu": ((), (lambda z: z * _half(-z).erfc() / 2,)),
    "silu": ((), (lambda z: z * _sigmoid(z),)),
    "softplus": ((), (_softplus,)),
    "exp": ((), (lambda z: z.exp(),)),
    "sin": ((), (lambda z: z.sin(),)),
    "cos": ((), (lambda z: z.cos(),)),
    "arctan": ((), (lambda z: _unless(_strip(z), z.atan),)),
    "asinh": ((), (_asinh,)),
    "gaussian": ((), (lambda z: (-z * z / 2).exp(),)),
    "mish": ((), (_mish,)),
    "softsign": ((0.0,), (lambda z: z / (1 - z), lambda z: z / (1 + z))),
    "relu": ((0.0,), (_nought, _itself)),
    "abs": ((0.0,), (lambda z: -z, _itself)),
    "leaky_relu(0.01)": ((0.0,), (lambda z: flint.arb(0.01) * z, _itself)),
    "leaky_relu(0.2)": ((0.0,), (lambda z: flint.arb(0.2) * z, _itself)),
    "relu_squared": ((0.0,), (_nought, lambda z: z * z)),
    "step": ((0.0,), (_nought, _one)),
    "sign": ((0.0,), (lambda z: 0 * z - 1, _one)),
    "hard_tanh": ((-1.0, 1.0), (lambda z: 0 * z - 1, _itself, _one)),
    "relu6": ((0.0, 6.0), (_nought, _itself, lambda z: 0 * z + 6)),
    "hard_sigmoid": ((-3.0, 3.0), (_nought, lambda z: (z + 3) / 6, _one)),
    "hard_swish": ((-3.0, 3.0), (_nought, lambda z: z * (z + 3) / 6, _itself)),
    "quick_gelu": ((), (lambda z: z * _sigmoid(flint.arb(1.702) * z),)),
    "log_cosh": ((), (lambda z: z + _softplus(-2 * z) - flint.arb(2).log(),)),
    "elu": ((0.0,), (lambda z: z.exp() - 1, _itself)),
    "selu": (
        (0.0,),
        (lambda z: flint.arb(1.6732632423543772) * (z.exp() - 1), _itself),
    ),
    NORMRELU: (
        (STAR,),
        (_nought, lambda z: z - flint.arb(STAR)),
    ),
}
_POLYNOMIALS = {"hermite(2)": 2, "hermite(3)": 3, "hermite(4)": 4}
CATALOGUE = (*_POLYNOMIALS, *PIECES)

# --- rigorous energies ----------------------------------------------------------------

_REACH = 16
# Every piece is at most 2 e^|x|, and |h_k(x)| phi(x) <= 0.44 e^{-x^2/4} (Cramer), so
# the tails hold at most 2 e^{R - R^2/4} / (R/2 - 1) < 4.1e-22; those of s^2 phi less.
_TAIL = 4.1e-22


@dataclass(frozen=True)
class Energies:
    """Balls of p_1 .. p_{K-1} and q_0 .. q_{K-1} of the normalised activation."""

    p: tuple[Any, ...]
    q: tuple[Any, ...]


def integral(
    name: str, weight: Callable[[Any, Any], Any], pieces: tuple[Analytic, ...] = ()
) -> Any:
    """Enclose E weight(X, s(X)), tails included; of other pieces, E weight(X, t(X))."""
    kinks, functions = PIECES[name]
    functions = pieces or functions
    cuts = [flint.arb(-_REACH), *map(flint.arb, kinks), flint.arb(_REACH)]
    norm = 1 / (2 * flint.arb.pi()).sqrt()
    total = flint.acb(0)
    for (low, high), function in zip(pairwise(cuts), functions, strict=True):
        total += flint.acb.integral(
            lambda z, _, f=function: weight(z, f(z)) * (-z * z / 2).exp() * norm,
            low,
            high,
            abs_tol=flint.arb(2) ** -80,
        )
    return total.real + flint.arb(0, _TAIL)


def _hermite(order: int) -> Any:
    """Return h_k as a polynomial."""
    return hermite_polynomial(order) * (1 / flint.arb.fac_ui(order).sqrt())


@lru_cache(maxsize=64)
def coefficients(name: str, order: int = ORDER) -> tuple[tuple[Any, ...], Any]:
    """Return balls of a_0 .. a_{order-1} and of E s^2, of the raw activation."""
    with flint.ctx.workprec(_INTEGRATION_BITS):
        if name in _POLYNOMIALS:
            degree = _POLYNOMIALS[name]
            return tuple(flint.arb(int(k == degree)) for k in range(order)), flint.arb(
                1
            )
        a = tuple(
            integral(name, lambda z, s, h=h: s * h(z))
            for h in map(_hermite, range(order))
        )
        return a, integral(name, lambda _, s: s * s)


def energies(name: str) -> Energies:
    """Return the enclosed energies of an activation of the catalogue, normalised."""
    a, square = coefficients(name)
    with flint.ctx.workprec(_INTEGRATION_BITS):
        variance = square - a[0] * a[0]
        return _energies((flint.arb(0), *(c * c / variance for c in a[1:])))


def energies_with_mean(name: str, order: int) -> Energies:
    """Return the energies over E s^2, that of the mean included."""
    a, square = coefficients(name, order)
    with flint.ctx.workprec(_INTEGRATION_BITS):
        return _energies(tuple(c * c / square for c in a))


def _energies(p: tuple[Any, ...]) -> Energies:
    q = [1 - p[0]]
    for value in p[1:]:
        # Exact zeros past the last energy; otherwise non-negative by definition.
        left = q[-1] - value
        q.append(left if left.is_exact() else left.nonnegative_part())
    return Energies(p, tuple(q))


_SLOPES: dict[str, tuple[Analytic, ...]] = {
    "erf": (erf_slope,),
    "tanh": (lambda z: 1 - tanh(z) ** 2,),
    "sigmoid": (lambda z: _sigmoid(z) * _sigmoid(-z),),
    "gelu": (
        lambda z: (
            _half(-z).erfc() / 2 + z * (-z * z / 2).exp() / (2 * flint.arb.pi()).sqrt()
        ),
    ),
    "silu": (lambda z: _sigmoid(z) * (1 + z * _sigmoid(-z)),),
    "softplus": (_sigmoid,),
    "exp": (lambda z: z.exp(),),
    "sin": (lambda z: z.cos(),),
    "cos": (lambda z: -z.sin(),),
    "arctan": (lambda z: _unless(_strip(z), lambda: 1 / (1 + z * z)),),
    "gaussian": (lambda z: -z * (-z * z / 2).exp(),),
    "relu": (_nought, _one),
    "leaky_relu(0.2)": (lambda z: 0 * z + flint.arb(0.2), _one),
    "abs": (lambda z: 0 * z - 1, _one),
    "relu_squared": (_nought, lambda z: 2 * z),
    "hard_tanh": (_nought, _one, _nought),
    "relu6": (_nought, _one, _nought),
    "hard_sigmoid": (_nought, lambda z: 0 * z + flint.arb(1) / 6, _nought),
    "hard_swish": (_nought, lambda z: (2 * z + 3) / 6, _one),
    "quick_gelu": (_quick_gelu_slope,),
    "log_cosh": (tanh,),
    "elu": (lambda z: z.exp(), _one),
    NORMRELU: (_nought, _one),
}
SLOPED = tuple(_SLOPES)
"""Activations whose slopes are integrated as well."""


@lru_cache(maxsize=64)
def slope_energy(name: str) -> Any:
    """Return a ball of E s'^2, of the raw activation."""
    with flint.ctx.workprec(_INTEGRATION_BITS):
        return integral(name, lambda _, s: s * s, _SLOPES[name])


# --- polynomials with such coefficients -----------------------------------------------


def powers(coefficients: tuple[Any, ...]) -> Function:
    def value(x: Any) -> Any:
        total = 0 * x
        for c in reversed(coefficients):
            total = total * x + c
        return total

    return value


def least(functions: tuple[Function, ...], interval: Interval) -> tuple[float, int]:
    """Return a lower bound of all functions on an interval, and the boxes it took."""
    covers = [
        minimum(f, (interval,), gradient=(partial(f, 0),), tolerance=1e-9)
        for f in functions
    ]
    return min(c.lower for c in covers), sum(len(c.leaves) for c in covers)
