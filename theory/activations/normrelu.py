"""NormReLU: ReLU with its kink moved, centred and scaled."""

import math
from dataclasses import dataclass
from functools import lru_cache

from theory import _checks, gaussian
from theory._precision import digits
from theory.activations.base import Activation
from theory.activations.piecewise import PiecewisePolynomial

SELU_SCALE = 1.0507009873554805
"""Scale of SELU (Klambauer et al. 2017)."""

SELU_KINK = -1.5907658564412685
"""NormReLU's kink of that scale, so that importing this needs no mpmath."""


@dataclass(frozen=True)
class NormReLUConstants:
    """Scale, shift, mu and slope D of NormReLU at a kink."""

    scale: float
    shift: float
    mu: float
    slope: float


def normrelu_constants(c: float) -> NormReLUConstants:
    r"""Return the constants of :math:`\sigma_c(x) = \lambda [(x - c)_+ + b]`.

    .. math:: b = c\,\Phi(-c) - \varphi(c), \quad
       \lambda^{-2} = (1 + c^2)\Phi(-c) - c\,\varphi(c) - b^2, \quad
       \mu = 1 - \lambda^2 \Phi(-c)^2, \quad D = \lambda^2 \Phi(-c)

    Parameters
    ----------
    c : float
        The kink, in [-37, 37]: beyond, the density there has left float64.

    Returns
    -------
    NormReLUConstants
        ``scale`` (lambda), ``shift`` (b), ``mu`` and ``slope`` (D), each to a relative
        1e-13: tails are expanded in positive terms, so nothing cancels for large kinks.

    Raises
    ------
    ValueError
        If `c` is not a finite number in the range.

    Notes
    -----
    Agarwal, Awasthi, Kale (2020), equation 4.

    Examples
    --------
    >>> k = normrelu_constants(0.0)
    >>> round(k.scale, 12), round(k.mu, 12)
    (1.71285855045, 0.266528896538)
    """
    c = _checks.number("normrelu_constants", "c", c, -37.0, 37.0)
    if c > 0.0:
        p = float(gaussian.pdf(c))
        t0, t1, t2 = (gaussian.scaled_tail_moment(k, c) for k in range(3))
        v = t2 / p - t1 * t1
        scale = 1.0 / (p * math.sqrt(v))
        return NormReLUConstants(
            scale, -p * t1, (t2 / p - t1 * t1 - t0 * t0) / v, t0 / (p * v)
        )
    g0, g1, g2 = (gaussian.tail_moment(k, -c) for k in range(3))  # mirrored tails
    v = 1.0 - 2.0 * g0 + g2 - g1 * g1
    rest = g2 - g1 * g1 - g0 * g0
    return NormReLUConstants(1.0 / math.sqrt(v), c - g1, rest / v, (1.0 - g0) / v)


def normrelu(c: float | None = None, *, scale: float | None = None) -> Activation:
    """Return NormReLU, exactly normalised, with the kink at `c`.

    Parameters
    ----------
    c : float, optional
        The kink, in [-37, 37].
    scale : float, optional
        Solve for the kink at which lambda is this, greater than 1; the number is read
        as the decimal it is written as. Without either argument: SELU's scale.

    Returns
    -------
    Activation
        Its `kinks` hold c, to the last digit.

    Raises
    ------
    ValueError
        If both arguments are given, or one is out of range.

    Notes
    -----
    Agarwal, Awasthi, Kale (2020), equation 4.

    Examples
    --------
    >>> normrelu().kinks
    (-1.5907658564412686,)
    >>> round(normrelu(-1.0).mu, 9)
    0.057552294
    """
    if c is not None and scale is not None:
        raise ValueError("normrelu: give either `c` or `scale`, got both.")
    if c is None and scale is None:
        c = SELU_KINK
    if c is None:
        largest = normrelu_constants(37.0).scale
        target = _checks.number("normrelu", "scale", scale, 1.0, largest)
        if target <= 1.0:
            raise ValueError(f"normrelu: `scale` must be greater than 1, got {scale}.")
        c = _kink_of_scale(target)
    c = _checks.number("normrelu", "c", c, -37.0, 37.0)
    k = normrelu_constants(c)
    return PiecewisePolynomial(
        f"normrelu({c:.6g})",
        1,
        (k.scale * k.shift, 0.0),
        (float(c),),
        (k.scale,),
        is_normalized=True,
        known=(0.0, k.scale * gaussian.tail_moment(0, c)),
    )


@lru_cache(maxsize=64)
def _kink_of_scale(scale: float) -> float:
    from scipy.optimize import brentq

    start = brentq(lambda c: normrelu_constants(c).scale - scale, -37, 37, xtol=1e-12)
    # In float64 the scale's rounding moves the root by 25 ulp. Two Newton steps on
    # 1/scale^2 settle the last digit, for the scale read as the decimal it is written as.
    # Terms cancel to e^{-c^2/2} below zero, where float64 ends at c = -8.2: to 1e-16.
    with digits(60) as mp:
        c, target = mp.mpf(start), mp.mpf(repr(scale)) ** -2
        for _ in range(2):
            tail, density = mp.ncdf(-c), mp.npdf(c)
            shift = c * tail - density
            variance = (1 + c * c) * tail - c * density - shift * shift
            c -= (variance - target) / (2 * shift * mp.ncdf(c))
        return float(c)
