r"""Pairs near +-1 at lengths of their own, one by one.

With S the mean product of slopes at lengths r, o and angle t to the nearer end,

.. math::

   \int_{\cos t}^1 S\,d\rho = \int_0^t S(u) \sin u\,du, \qquad
   \int_0^{\pm 1} S\,d\rho
       = \frac{E\,s(r Z)\,s(\pm o Z) - E\,s(r Z)\,E\,s(o Z)}{r o},

the plane (`theory.duals._planes`) is needed for small angles only, and no table in the
lengths or in the angle.
"""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from theory import gaussian
from theory._recursion.reaches import rule_of
from theory._recursion.rows import Index, distinct
from theory.activations import Activation
from theory.activations._engines import parity_at, slope_of, waves
from theory.activations.affine import split
from theory.duals import Spectrum
from theory.duals._panels import LAYER
from theory.duals._planes import Broken, Plane

Array = npt.NDArray[np.float64]

NODES = 16

SLOPES = 20
"""Nodes of a panel for products of slopes, which may be polynomials of 20 nodes each."""

TOGETHER = 64
"""Rows of a group: kinks of each are edges of the panels of all."""

OCTAVES = 26
"""Of the angle, at most: those below count 4^-26."""


def at_ends(
    activation: Activation, r: Array, i: Index, j: Index, rho: Array
) -> tuple[Array, Array]:
    """Return the integrals of S over [0, rho] and S for pairs of rows whose rho is +-1.

    `r` are all rows' lengths: neighbours of these share a quadrature in one variable.
    S is NaN where the slope is not square integrable.
    """
    inner, slope = np.empty_like(rho), np.full_like(rho, math.nan)
    rows, places = distinct(len(r), i, j)
    group = np.empty(len(rows), dtype=np.intp)
    group[np.argsort(r[rows])] = np.arange(len(rows)) // TOGETHER
    p, q = (group[k] for k in places)
    for a, b in np.unique(np.stack([p, q]), axis=1).T.tolist():
        at = np.flatnonzero((p == a) & (q == b))
        own, (left, right) = distinct(len(r), i[at], j[at])
        z, w = rule_of(activation, r[own], nodes=SLOPES, mirrored=True)
        x = r[own, None] * z
        s = activation._value(x)
        s -= (s @ w)[:, None]
        tables = [(inner, s / r[own, None])]
        if math.isfinite(activation.derivative_second_moment):
            tables.append((slope, activation.derivative._value(x)))
        far = rho[at] < 0.0
        for out, f in tables:
            near, opposite = (f * w) @ f.T, (f * w) @ f[:, ::-1].T
            out[at] = np.where(far, opposite[left, right], near[left, right])
    return inner, slope


@lru_cache(maxsize=1024)
def _slope(activation: Activation, v: float) -> Broken:
    """Return the slope at a row's length, with panels of its own, for all of its pairs.

    Panels far out matter to the longer row alone.
    """
    return slope_of(activation._scaled(v * v))


@lru_cache(maxsize=4)
def _waves(
    activation: Activation, r: float, other: float
) -> tuple[Spectrum, Spectrum] | None:
    """Return the slopes of smooth functions that turn often, where transforms have them.

    In the plane such a pair takes minutes: the panels of one length meet all of the other.
    """
    return waves(*(activation._scaled(v * v) for v in (r, other)))


def integrals(
    activation: Activation, r: float, other: float, rho: float, d: float
) -> tuple[float, float, float]:
    """Return the integrals of S over [0, rho] and from |rho| to the end, and S.

    `d` is 1 - |rho|, positive and at most 1/2: `at_ends` has the ends.
    """
    sign = -1.0 if rho < 0.0 else 1.0
    both = np.array([r, other])
    z, w = rule_of(activation, both, mirrored=True)
    left, right = activation._value(r * z), activation._value(sign * other * z)
    symmetric = parity_at(activation._value, both[:, None] * z) is not None
    left -= w @ left
    right -= w @ right
    whole = float((left * w) @ right) / (r * other)
    f = tuple(_slope(activation, v) for v in (r, other))
    found = _waves(activation, r, other)
    size = math.sqrt(float((left * left) @ w) * float((right * right) @ w))
    t = 2.0 * math.asin(math.sqrt(0.5 * d))
    noise = 0.1 * split(activation)[0].tolerance
    plane = Plane.of_pair(
        f[0], f[1], size, mirrored=rho < 0.0, widest=t, symmetric=symmetric, noise=noise
    )
    slope = found[rho < 0.0] if found else plane
    x, share = gaussian.legendre(NODES)
    # Slopes vary over angles like the least gap of kinks and the narrowest panel.
    finest = min([float(np.diff(e.edges(e.reach)).min(initial=1.0)) for e in f])
    layers = math.log2(t / min(finest, slope.gap / LAYER))
    octaves = 2.0 ** -np.arange(1.0 + min(max(math.ceil(layers), 0), OCTAVES))
    low = np.append(octaves[1:], 0.0)[:, None]
    half = 0.5 * (octaves[:, None] - low)
    u = t * np.append((low + half * (1.0 + x)).ravel(), 1.0)
    slopes = (slope(u) if found else plane(u)[:, 0, -1]) / (r * other)
    lost = t * float((half * share).ravel() @ (slopes * np.sin(u))[:-1])
    return whole - sign * lost, lost, float(slopes[-1])
