"""One layer of ``s / sqrt(E s^2)``, from the closed form or quadrature of its dual."""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from theory import gaussian
from theory.activations import Activation, pair
from theory.activations._engines import parity_at
from theory.activations.affine import split
from theory.activations.function import EVEN, ODD
from theory.duals import ArcCosine, Truncated

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def values(
    activation: Activation,
    parity: int,
    rho: Array,
    d: Array,
    product: Array | None = None,
) -> tuple[Array, Array, Array]:
    """Return f, 1 - |f| and the slope over that at one, from ``d = 1 - |rho|``.

    Shapes (m,); the slope is zero where that at one is infinite, or `product` if given.
    """
    base, _, shift = split(activation)  # whose own engine knows more than a multiple's
    activation = (activation if shift else base)._near_one()
    scale = split(activation)[1]
    e, total = pair(activation, activation), activation.second_moment
    negative = rho < 0.0
    distance = e.distance(from_one(parity, rho, d)) / total
    f = e.dual(rho) / total
    # Close to one, and to minus one where that is its image, distances are accurate.
    sign = np.where(negative, float(parity), 1.0)
    f = np.where((d < 0.25) & (sign != 0.0), sign * (1.0 - distance), f)
    mirrored, away = np.full(d.shape, parity != 0), apart(activation)
    if away:
        beyond = e.distance(d) / total + away
        f = np.where(negative & (d < 0.25), beyond - 1.0, f)
        mirrored = negative & (f < 0.0)
        distance = np.where(mirrored, beyond, distance)
    d_one = activation.derivative_second_moment
    p = np.zeros_like(d) if product is None else product
    if product is None and d_one > 0.0 and math.isfinite(d_one / total):
        angle = 2.0 * np.arcsin(np.sqrt(0.5 * d))
        p = e.slope(rho, np.where(negative, np.pi - angle, angle)) / d_one
    engine = pair(base, base) if shift else e
    if isinstance(engine, (Truncated, ArcCosine)):
        # The dual of ReLU vanishes at minus one, that of a step like the root of d.
        far = np.flatnonzero(negative & (d < 0.25) & (d > 0.0))
        if far.size:
            value, slope = engine.opposite(d[far])
            if shift:
                shift = split(activation)[2]
                value = scale * scale * value + shift * (
                    shift + 2.0 * scale * base.mean
                )
                slope *= scale * scale
            f[far] = value / total
            if not parity:
                lost = engine.beyond(d[far]) * (scale * scale / total)
                distance[far] = np.where(mirrored[far], distance[far], lost)
                f[far] = np.where(lost < 0.25, 1.0 - lost, f[far])
            if math.isfinite(d_one / total):
                p[far] = slope / d_one
    f = np.clip(f, -1.0, 1.0)  # one to rounding, in the next layer's domain
    return f, nearer(mirrored, f, distance), p


def from_one(parity: int, rho: Array, d: Array) -> Array:
    """1 - rho from ``d = 1 - |rho|``; odd and even maps see the mirror image, d."""
    return d if parity else np.where(rho < 0.0, 2.0 - d, d)


def nearer(mirrored: Mask, f: Array, distance: Array) -> Array:
    """1 - |f| from 1 - f; where `mirrored` that is given, of odd and even maps e.g."""
    return np.where(~mirrored & (f < 0.0), 1.0 + f, distance)


@lru_cache(maxsize=256)
def apart(activation: Activation) -> float:
    """1 + f at rho = -1 of an odd function that is shifted, 0 of any other one.

    The distance from -1 exceeds that of the mirror image from 1 by as much.
    """
    base, _, shift = split(activation)
    if not shift or parity_of(base) != -1:
        return 0.0
    return 2.0 * shift * shift / activation.second_moment


def beside(sign: Array, d: Array, share: float, rest: float) -> tuple[Array, Array]:
    """Return ``share rho + rest`` and its distance from the nearer of +-1.

    `d` is the distance of rho from -1 where `sign` is negative, else from 1. From both
    ends what adds up is positive: no digit is lost.
    """
    negative = sign < 0.0
    below = share * np.where(negative, 2.0 - d, d)
    above = share * np.where(negative, d, 2.0 - d) + 2.0 * rest
    return np.where(below < above, 1.0 - below, above - 1.0), np.minimum(below, above)


@lru_cache(maxsize=256)
def parity_of(activation: Activation, reach: float = 20.0, unit: float = 4.0) -> int:
    """Return -1 for an odd function, 1 for an even one, 0 for neither.

    Of a callable it is not known: by its values up to the `reach`, on every panel that
    resolves it, to rounding of what it is for arguments of this size, or up to a `unit`.
    """
    parity, (base, _, shift) = activation.parity, split(activation)
    if shift and base.parity == ODD:
        return 0  # however small the shift
    if parity is None:
        edges = np.abs(activation._edges(reach))
        # Nodes of panels, between their ends: a jump has no value there.
        x, _ = gaussian.composite(np.union1d(edges, [0.0, reach]), 4)
        parity = parity_at(activation._value, x, 8.0 * math.ulp(1.0), unit)
    return {ODD: -1, EVEN: 1, None: 0}[parity]


def decay(activation: Activation) -> float:
    """log(a_1^2 / E s^2): times the depth, so every digit counts; -inf for a_1 = 0."""
    share = float(activation.hermite(1)[1]) ** 2 / activation.second_moment
    # From the rest of the energy where that is the smaller part.
    if activation.mean == 0.0 and 0.5 < share < 1.0 - 1e-9:
        return math.log1p(-activation.mu)
    return math.log(share) if share > 0.0 else -math.inf
