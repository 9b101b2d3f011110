r"""The quadratic activation layer by layer: what correlations and ratios can be at most.

``sigma = sqrt(1 - mu) h_1 + sqrt(mu) h_2`` has the dual ``r (1 - mu (1 - r))`` and the
slope ``D = 1 + mu`` at one. With r a correlation, t the tangent kernel over its diagonal
S, and the distances d = 1 - r, e = 1 - t, a layer is

    r <- r (1 - mu + mu r),  d <- d (1 + mu r),  S <- 1 + (1 + mu) S,
    t <- (r + (1 + mu) S g t) / S,  (1 + mu) g = 1 - mu + 2 mu r,

sums of positive terms throughout. Of each pair the smaller is kept, so that both are
accurate to a few ulp a layer.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._arrays import power

Array = npt.NDArray[np.float64]

NEGLIGIBLE = 1e-17
"""Beside one: a distance that grows by (1 + mu) a layer, a correlation that falls so."""

SMALL = 1.0 / 64.0
"""Rates below have `_flow`; at others nothing is left after 6,000 layers."""

SHORT = 1e-8
"""Layers times their rate in which r and d change too little to change their paces."""

PATIENCE = 4096
"""Layers that are cheap to iterate."""

MOST = 50_000
"""Layers of a tangent kernel: about two seconds."""


@dataclass(frozen=True, eq=False)
class Pair:
    """A number in [0, 1] and its distance from one, both accurate."""

    value: Array
    gap: Array


def correlations(depth: Any, delta: Any, mu: Any) -> Pair:
    """Return the largest correlations after `depth` layers, any number of them."""
    l, d, m = (np.array(v) for v in np.broadcast_arrays(depth, delta, mu))
    shape = l.shape
    l, d, m = (v.astype(np.float64).ravel() for v in (l, d, m))
    # Far below one a distance grows by a constant factor.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        jump = np.floor(np.log(NEGLIGIBLE / d) / np.log1p(m))
    jump = np.where((d > 0.0) & (d < NEGLIGIBLE) & (m > 0.0), np.minimum(jump, l), 0.0)
    half = power(m, 0.5 * jump)
    d, l = (d * half) * half, l - jump
    r = 1.0 - d
    short = l * m <= SHORT
    few = np.where(short, l, 0.0)
    r, d = r * power(-m * d, few), d * power(m * r, few)
    l = np.where(short | (d == 0.0), 0.0, l)
    flow = (m < SMALL) & (l > PATIENCE) & (r > 0.0)
    for i in np.flatnonzero(flow):
        r[i], d[i] = _flow(l[i], r[i], d[i], m[i])
    l = np.where(flow, 0.0, l)
    rest = l.copy()
    for _ in range(_steps(l)):
        going = (rest > 0.0) & (r > NEGLIGIBLE * (1.0 - m))
        if not going.any():
            break
        new = r * ((1.0 - m) + m * r), d * (1.0 + m * r)
        r, d = (np.where(going, a, b) for a, b in zip(new, (r, d), strict=True))
        r, d = _smaller(r, d)
        rest -= going
    r = r * power(-m, rest)
    d = np.where(rest > 0.0, 1.0 - r, d)
    return Pair(r.reshape(shape), d.reshape(shape))


def ratios(who: str, depth: Any, delta: Any, mu: Any, name: str = "depth") -> Pair:
    """Return the largest tangent kernels over their diagonals.

    Raises
    ------
    ValueError
        Where more than `MOST` layers would have to be gone through.
    """
    l, d, m = np.broadcast_arrays(depth, delta, mu)
    shape = l.shape
    l, d, m = (v.astype(np.float64).ravel() for v in (l, d, m))
    r = 1.0 - d
    t, e, share = r, d, np.ones_like(d)
    # A distance of zero, or no layer's effect, stays.
    rest = np.where((d == 0.0) | (m == 0.0), 0.0, l)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        needed = np.fmin(rest, (40.0 - np.log(d)) / np.log1p(m))
        _checks.reject(
            who,
            name,
            f"take at most {MOST:,} layers one by one",
            needed > MOST,
            needed,
            "The form 'sharp' is a closed formula.",
        )
        for _ in range(_steps(rest)):
            going = (rest > 0.0) & (r > NEGLIGIBLE * (1.0 - m))
            if not going.any():
                break
            fall, slope = 2.0 * m / (1.0 + m) * d, (1.0 - m + 2.0 * m * r) / (1.0 + m)
            new_r, new_d = r * ((1.0 - m) + m * r), d * (1.0 + m * r)
            new_r, new_d = _smaller(new_r, new_d)
            new_share = share / (share + 1.0 + m)
            kept = (1.0 + m) / (share + 1.0 + m)
            new_t = new_share * new_r + kept * slope * t
            new_e = new_share * new_d + kept * (fall + slope * e)
            new_t, new_e = _smaller(new_t, new_e)
            new = new_r, new_d, new_t, new_e, new_share
            old = r, d, t, e, share
            r, d, t, e, share = (
                np.where(going, a, b) for a, b in zip(new, old, strict=True)
            )
            rest = rest - going
    # From there on r <- (1 - mu) r and T <- r + (1 - mu) T, while S goes on growing.
    left = np.where((d == 0.0) | (m == 0.0), 0.0, rest)
    grown = power(m, -left)
    with np.errstate(invalid="ignore"):
        top = 1.0 + np.where(m > 0.0, -np.expm1(-left * np.log1p(m)) / m, left) * share
    tail = power(-m, left) * grown * (t + left * r * share) / top
    t = np.where(left > 0.0, tail, t)
    e = np.where(left > 0.0, 1.0 - tail, e)
    return Pair(t.reshape(shape), e.reshape(shape))


def _steps(layers: Array) -> int:
    return int(layers.max(initial=0.0))


def _smaller(value: Array, gap: Array) -> tuple[Array, Array]:
    near = gap < 0.5
    return np.where(near, 1.0 - gap, value), np.where(near, gap, 1.0 - value)


# --- many layers of a small rate ------------------------------------------------------
#
# A(r) = log r / log(1 - mu) + log(1 - r) / log(1 + mu) + sum_k mu^k P_k(r) grows by one
# a layer: each of the first two terms does at its end of [0, 1], where the other stands
# still, and the polynomials solve P(f(r)) - P(r) = 1 - (what the two grow by), order by
# order in mu. After L layers A(r_L) = A(r_0) + L.

_POLYNOMIALS = (
    (-1 / 2,),
    (-1 / 3, 1 / 3),
    (-3 / 8, 13 / 24, -13 / 36),
    (-14 / 45, 563 / 720, -113 / 120, 113 / 240),
    (-95 / 288, 347 / 360, -209 / 120, 1187 / 720, -1187 / 1800),
)
"""Coefficients of r, r^2, ... of P_1, P_2, ...: the next is 5e-13 layers at 1/64."""


def _flow(layers: float, r: float, d: float, mu: float) -> tuple[float, float]:
    """Return correlation and distance after many layers: solve A(r_L) = A(r_0) + L."""
    from scipy.optimize import brentq

    down, up = float(np.log1p(-mu)), float(np.log1p(mu))

    def smooth(r: float) -> float:
        total = 0.0
        for coefficients in reversed(_POLYNOMIALS):
            inner = 0.0
            for c in reversed(coefficients):
                inner = (inner + c) * r
            total = (total + inner) * mu
        return total

    def split(logit: float) -> tuple[float, float]:
        """Return log r and log d of a logit log(d / r)."""
        return -float(np.logaddexp(0.0, logit)), -float(np.logaddexp(0.0, -logit))

    # Times log(1 + mu), so that numbers are of the size of the logit.
    def progress(logit: float) -> float:
        log_r, log_d = split(logit)
        return log_r * (up / down) + log_d + up * smooth(float(np.exp(log_r)))

    start = float(np.log(d)) - float(np.log(r))
    goal = progress(start) + layers * up
    # A layer adds at least log(1 + mu) and at most -log(1 - mu) to the logit.
    low, high = start + 0.999 * layers * up, start - 1.001 * layers * down
    tolerance = np.float64(1e-15)
    found: Any = brentq(
        lambda x: progress(x) - goal, low, high, xtol=1e-15, rtol=tolerance
    )
    log_r, log_d = split(float(found))
    return float(np.exp(log_r)), float(np.exp(log_d))
