"""NormReLU by its definition and in closed form: what its claims have in common."""

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice, pairwise
from types import MappingProxyType
from typing import Any

import flint
import mpmath

from verify import integrals

STAR = -1.5907658564412685  # the kink whose scale is SELU's, to the last bit
STAR_TEXT = str(STAR)
PUBLISHED = -1.5975


# --- the constants from the defining integrals (Eq. 4) --------------------------------


def _bits(kink: str) -> int:
    """Precision for 50 digits of every difference of moments.

    Moments at c = 30 are near 1e-200, and at c = -30 the non-linearity is, as the
    difference of numbers near 900: at most 2 * 650 bits, and 400 to spare.
    """
    return 400 + math.ceil(1.5 * float(kink) ** 2)


@lru_cache(maxsize=64)
def _moments(kink: str) -> tuple[Any, Any, Any]:
    r"""E (X - c)_+^k for k = 0, 1, 2."""
    bits = _bits(kink)
    with flint.ctx.workprec(bits):
        c = flint.arb(kink)
        reach = math.ceil(math.sqrt(1.4 * bits) + 1.0)  # e^{-reach^2/2} < 2^{-bits}
        ends = [c, flint.arb(0), flint.arb(reach)] if c < 0 else [c, c + reach]
        norm = (2 * flint.arb.pi()).sqrt()
        out: list[Any] = []
        for k in range(3):
            total = flint.acb(0)
            for low, high in pairwise(ends):
                total += flint.acb.integral(
                    lambda x, _, k=k: (x - c) ** k * (-x * x / 2).exp(),
                    low,
                    high,
                    abs_tol=flint.arb(2) ** (-bits),
                )
            out.append(total.real / norm)
        return out[0], out[1], out[2]


def tail_moments(kink: str) -> list[Any]:
    r"""E (X - c)_+^k for k = 0, 1, 2, as mpmath numbers."""
    return [_mp(value) for value in _moments(kink)]


@lru_cache(maxsize=64)
def constants_of(kink: str) -> Mapping[str, Any]:
    """Scale, shift, mu and slope of lambda (max(x - c, 0) + b), by definition."""
    zero, one, two = _moments(kink)
    with flint.ctx.workprec(_bits(kink)):
        variance = two - one * one
        values = {
            "scale": 1 / variance.sqrt(),
            "shift": -one,
            "mu": 1 - zero * zero / variance,
            "slope": zero / variance,
        }
    for name, value in values.items():
        if value.rel_accuracy_bits() < 170:
            raise ArithmeticError(
                f"normrelu: {name} at {kink} is not known to 50 digits"
            )
    return MappingProxyType({name: _mp(value) for name, value in values.items()})


def _mp(x: Any) -> Any:
    with mpmath.workdps(60):
        return mpmath.mpf(x.mid().str(60, radius=False))


def moments_at(kink: str, gamma: Any) -> tuple[Any, Any]:
    r"""E s(sqrt(gamma) X) and E s(sqrt(gamma) X)^2 of NormReLU, by integrals."""
    constants = constants_of(kink)
    at = integrals.Pieces(1, (0, 0), (kink,), (1,), variance=gamma)
    with mpmath.workdps(60):
        one, two = at.coefficient(0), at.dual(1)
        scale, shift = constants["scale"], constants["shift"]
        return (
            scale * (one + shift),
            scale**2 * (two + 2 * shift * one + shift * shift),
        )


def measure_length(*, kink: str, gamma: str) -> Any:
    """E s(sqrt(gamma) X)^2 of NormReLU, by integrals."""
    return moments_at(kink, mpmath.mpf(gamma))[1]


def course(kink: str, gamma_x: float, gamma_y: float, rho: float) -> Iterator[Any]:
    """Correlations behind layers of NormReLU, one after another, by integrals."""
    constants = constants_of(kink)
    scale, shift = constants["scale"], constants["shift"]
    x, y, r = mpmath.mpf(gamma_x), mpmath.mpf(gamma_y), mpmath.mpf(rho)
    while True:
        with mpmath.workdps(60):
            one, two = (
                integrals.Pieces(1, (0, 0), (kink,), (1,), variance=g) for g in (x, y)
            )
            means = one.coefficient(0) + two.coefficient(0)
            product = one.dual(r, two) + shift * means + shift * shift
            after = {g: moments_at(kink, g)[1] for g in {x, y}}
            x, y = after[x], after[y]
            r = scale**2 * product / mpmath.sqrt(x * y)
        yield r


@lru_cache(maxsize=64)
def correlations(
    kink: str, gamma_x: float, gamma_y: float, rho: float, depth: int
) -> tuple[Any, ...]:
    """Correlations behind 1..depth layers of NormReLU, by integrals."""
    return tuple(islice(course(kink, gamma_x, gamma_y, rho), depth))


# --- in closed form -------------------------------------------------------------------


def closed_constants(c: Any) -> tuple[Any, Any, Any]:
    """P(X > c), b, and the variance of max(X - c, 0), of an mpmath number."""
    upper, density = mpmath.ncdf(-c), mpmath.npdf(c)
    b = c * upper - density
    return upper, b, (1 + c * c) * upper - c * density - b * b


# --- the same on balls ---------------------------------------------------------


def upper_tail(x: Any) -> Any:
    """P(X > x)."""
    return (x / flint.arb(2).sqrt()).erfc() / 2


def normal_density(x: Any) -> Any:
    """Density of a standard normal variable."""
    return (-x * x / 2).exp() / (2 * flint.arb.pi()).sqrt()


def shift_of(c: Any) -> Any:
    """NormReLU's b, which centres it."""
    return c * upper_tail(c) - normal_density(c)


def inverse_scale_squared(c: Any) -> Any:
    """1 / lambda^2, the variance of max(X - c, 0)."""
    b = shift_of(c)
    return (1 + c * c) * upper_tail(c) - c * normal_density(c) - b * b
