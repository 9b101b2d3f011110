"""Which engine evaluates the dual of two activations."""

import math
from typing import TypeGuard

import numpy as np
import numpy.typing as npt

from theory import duals, gaussian
from theory.activations.affine import Affine
from theory.activations.base import Activation, pair
from theory.activations.piecewise import PiecewisePolynomial
from theory.activations.smooth import Smooth

Array = npt.NDArray[np.float64]


def engine(a: Activation, b: Activation) -> duals.Engine:
    """Return the covariance function of a(X) and b(Y)."""
    if isinstance(a, Affine) and isinstance(b, Affine):
        mean = 0.0 if a.is_normalized else a.mean * b.mean
        return duals.Rescaled(pair(a.base, b.base), a.scale * b.scale, mean)
    if isinstance(a, PiecewisePolynomial) and isinstance(b, PiecewisePolynomial):
        return _truncated(a, b)
    if _is_erf(a) and _is_erf(b):
        return duals.Arcsine(a.var, b.var)
    series = _series(a, b)
    if series is not None:
        return series
    return _quadrature(a, b)


def _is_erf(a: Activation) -> TypeGuard[Smooth]:
    return isinstance(a, Smooth) and a.formula.key == "erf" and a.order == 0


def _truncated(a: PiecewisePolynomial, b: PiecewisePolynomial) -> duals.Truncated:
    if a.m != b.m:
        raise ValueError("engine: piecewise polynomials of different orders")
    m = a.m
    low = tuple(
        float(x * y)
        for x, y in zip(a._coefficients(m), b._coefficients(m), strict=True)
    )
    kinks = (*a.kinks, *b.kinks)
    both = tuple(sorted({*kinks, *(-k for k in kinks)}))
    reach = max([20.0, *(abs(k) + 12.0 for k in kinks)])
    x, w = gaussian.panels(both, reach)
    weight = w * gaussian.pdf(x)
    one, minus = [], []
    f: Activation = a
    g: Activation = b
    for k in range(m + 1):
        fx = f._value(x)
        one.append(float(np.sum(weight * fx * g._value(x))))
        minus.append(float(np.sum(weight * fx * g._value(-x))))
        if k < m:
            f, g = f.derivative, g.derivative
    if a.is_normalized and a is b:
        one[0] = 1.0
    pairs = tuple(
        (ja * jb, ca, cb)
        for ca, ja in zip(a.kinks, a.jumps, strict=True)
        for cb, jb in zip(b.kinks, b.jumps, strict=True)
    )
    odd = 0.5 * np.sum(
        weight * (a._value(x) - a._value(-x)) * (b._value(x) - b._value(-x))
    )
    return duals.Truncated(
        m, pairs, low, tuple(one), tuple(minus), one[0] - low[0], float(odd)
    )


def _coefficients(a: Activation, order: int) -> Array:
    return (
        a._quadrature_coefficients(order)
        if isinstance(a, Smooth)
        else a._coefficients(order)
    )


def _series(a: Activation, b: Activation) -> duals.Series | None:
    order = 640
    if a.kinks or b.kinks:
        return None
    x = _coefficients(a, order)
    y = x if a is b or a == b else _coefficients(b, order)
    p = x * y
    # Geometric tails: the last entries bound what is missing, relative to the slope.
    k = np.arange(order + 1)
    scale = float(np.sum(k * np.abs(p)))
    if scale == 0.0:
        return duals.Series((float(p[0]), 0.0))
    if float(np.abs(p[-40:]).max()) * order**2 > 1e-17 * scale:
        return None
    last = int(np.max(np.nonzero(k * np.abs(p) > 1e-19 * scale)[0], initial=1))
    return duals.Series(tuple(float(v) for v in p[: last + 1]))


def _quadrature(a: Activation, b: Activation) -> duals.Engine:
    cuts = np.concatenate([h._edges(20.0) for h in (a, b)])
    cuts = np.union1d(np.concatenate([cuts, -cuts]), np.arange(-20.0, 20.5, 0.5))
    x, w = duals.rule(cuts[np.abs(cuts) <= 20.0])
    w = w * gaussian.pdf(x)
    centred = a._value(x) - a.mean
    f = duals.Broken(a.derivative._value, a.kinks, a.derivative._edges)
    g = f if a == b else duals.Broken(b.derivative._value, b.kinks, b.derivative._edges)
    return duals.Tabulated.build(
        (f, g),
        who=f"{a.name}.dual",
        size=math.sqrt(a.variance * b.variance),
        mean=a.mean * b.mean,
        at_one=float(w @ (centred * (b._value(x) - b.mean))),
        at_minus_one=float(w @ (centred * (b._value(-x) - b.mean))),
    )
