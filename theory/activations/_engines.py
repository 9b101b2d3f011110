"""Duals of two activations without a formula: by Hermite series, or by quadrature."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import duals, gaussian
from theory.activations.function import EVEN, ODD
from theory.meshes import RULE

Array = npt.NDArray[np.float64]

FEW = 5
"""A polynomial's degree from which on a single power is faster."""

PARSEVAL = 1e-13
"""Share of the slope's energy that a series may miss."""

EPS = float(np.finfo(np.float64).eps)

ROUNDING = 1e4
"""Rounding of a value, over the deviation and the tolerance, that leaves a dual without
digits: averages over nodes are a hundred times as accurate as values."""

PANELS = 512
"""Panels of the axis, at most, of a dual by quadrature in the plane: the work, seconds
there, is their square. The catalogue needs a hundred at any variance."""

OFTEN = 160
"""Panels of the axis from which on transforms of even values are tried first."""


def series(a: Any, b: Any) -> duals.Engine | None:
    """Return the series of a_k b_k rho^k; None where its tail is not rounding."""
    if not (a._may_converge and b._may_converge):
        return None
    x = a._series_coefficients()
    y = x if a == b else b._series_coefficients()
    p = x * y
    k = np.arange(len(p))
    scale = float(k @ np.abs(p))
    # What is missing beyond the last order is less than what is missing of energies.
    for f, c in ((a, x),) if a == b else ((a, x), (b, y)):
        energy = f.derivative_second_moment
        if not abs(float(k @ (c * c)) - energy) <= PARSEVAL * energy:
            return None
    last = int(np.max(np.nonzero(k * np.abs(p) > 1e-19 * scale)[0], initial=1))
    return sum_of(p[: last + 1])


def sum_of(p: Array) -> duals.Engine:
    """Return the engine of sum_k p_k rho^k."""
    terms = np.flatnonzero(p)
    if len(terms) == 1 and terms[0] >= FEW:
        return duals.Monomial(float(p[terms[0]]), int(terms[0]))
    return duals.Series(tuple(p.tolist()))


def tabulated(a: Any, b: Any) -> duals.Engine:
    """Integrate the slope E a'(X) b'(Y), which is tabulated in the angle."""
    edges = np.union1d(a._edges(RULE), b._edges(RULE))
    x, w = gaussian.rule(np.union1d(edges, -edges))
    centred = a._value(x) - a.mean
    for f in (a, b):
        _require_digits(f)
    parity = parity_at(a._value, x)
    return duals.Tabulated.build(
        _slope_of_jumps(a, b)
        or _slope_by_formula(a, b)
        or _slope(a, b, parity if a == b else None),
        who=f"{a.name}.dual",
        size=math.sqrt(a.variance) * math.sqrt(b.variance),
        mean=a.mean * b.mean,
        at_one=gaussian.total(w * centred * (b._value(x) - b.mean)),
        at_minus_one=gaussian.total(w * centred * (b._value(-x) - b.mean)),
        tolerance=max(a.tolerance, b.tolerance),
        parity=parity,
    )


def rounding_of(a: Any) -> float:
    """Return what rounding of values makes of the deviation, as a share of it."""
    noise = EPS * abs(a.mean)
    return noise / math.sqrt(a.variance) if a.variance else math.inf if noise else 0.0


def _require_digits(a: Any) -> None:
    """Raise where what varies is rounding of the values, which no panel resolves."""
    share = rounding_of(a)
    if a.rounded and share > ROUNDING * a.tolerance:
        raise ValueError(
            f"{a.name}.dual: the activation must vary more beside its mean, or rounding"
            f" leaves its covariance with an error of {share:.1g}. Give the part that"
            " varies alone, or accept a larger `tolerance`."
        )


def _slope_of_jumps(a: Any, b: Any) -> duals.Slope | None:
    r"""Return :math:`\sum_j J_j \varphi(c_j) E\,b'(c_j \cos t + Z \sin t)`.

    The slope beside a function a of jumps J_j at c_j that is constant between them.
    """
    steps, other = (a, b) if a._jumps else (b, a)
    if not steps._jumps or other._jumps:
        return None
    slope = other.derivative
    if math.isinf(slope.second_moment):
        raise ValueError(
            f"{a.name}.dual: activation must have a square integrable slope beside one"
            f" that jumps, but E s'^2 = inf for {other.name}."
        )
    ends = [sign * c for c in other.kinks for sign in (1.0, -1.0)]
    gap = min(
        (abs(c - d) for c, _ in steps._jumps for d in ends if c != d), default=math.inf
    )
    each = [
        (jump * float(gaussian.pdf(c)), c, slope._edges(20.0 + abs(c)))
        for c, jump in steps._jumps
    ]

    def at(mirrored: bool) -> tuple[Any, float]:  # noqa: FBT001
        sign = -1.0 if mirrored else 1.0

        def expected(c: float, cuts: Array, t: float) -> float:
            # A cut next to c, or at c, is no nearer to c cos t than to c.
            shift = 2.0 * c * math.sin(0.5 * t) ** 2
            z = ((cuts - c) + shift) / math.sin(t)
            x, w = gaussian.rule(z[np.abs(z) <= 20.0])
            return gaussian.total(w * slope._value(c * math.cos(t) + math.sin(t) * x))

        def value(t: float) -> float:
            return math.fsum(
                size * expected(sign * c, cuts, t) for size, c, cuts in each
            )

        return lambda t: np.array([value(v) for v in t.tolist()]), gap

    return at


def _slope_by_formula(a: Any, b: Any) -> duals.Slope | None:
    """Return E a'(X) b'(+-Y) where it is written with elementary functions."""
    formula = a._slope_with(b)
    if formula is None:
        return None
    return lambda mirrored: (
        lambda t: formula(-np.cos(t) if mirrored else np.cos(t), np.sin(t) ** 2),
        math.inf,
    )


def slope_of(a: Any, parity: int | None = None) -> duals.Broken:
    """Return s' with its kinks and the edges of its panels, which are kept.

    Of s of a known parity.
    """
    return _broken(a, a.derivative, parity)


def _broken(a: Any, slope: Any, parity: int | None) -> duals.Broken:
    edges = lru_cache(maxsize=8)(slope._edges)
    out = duals.Broken(slope._value, a.kinks, edges)
    return out if parity is None else out.halved(ODD if parity == EVEN else EVEN)


def waves(a: Any, b: Any) -> tuple[duals.Spectrum, duals.Spectrum] | None:
    """Return the slopes of the pair and of its mirror image by transforms.

    None where panels are few, with kinks, and where no even spacing resolves both.
    """
    if a.kinks or b.kinks or max(slope_of(h).panels(RULE) for h in (a, b)) <= OFTEN:
        return None
    centred = [
        duals.Broken(lambda x, f=f: f._value(x) - f.mean, (), f._edges)
        for f in ((a,) if a == b else (a, b))
    ]
    energies, tolerance = (a.variance, b.variance), max(a.tolerance, b.tolerance)
    return duals.spectra(centred[0], centred[-1], energies, tolerance)


def _slope(a: Any, b: Any, parity: int | None) -> duals.Slope:
    """Return the slope by quadrature in the plane, or by transforms of many panels."""
    each = (a,) if a == b else (a, b)
    found = waves(a, b)
    if found is not None:
        return lambda mirrored: (found[mirrored], found[mirrored].gap)
    f = [slope_of(h, parity) for h in each]
    panels = max(h.panels(RULE) for h in f)
    if panels > PANELS:
        raise ValueError(
            f"{a.name}.dual: `var_x` and `var_y` must leave an activation that {PANELS}"
            f" panels or {duals.MOST_VALUES:,} evenly spaced values resolve, but it needs"
            f" {panels} panels."
        )
    kinks = sorted({c for f in each for c in f.kinks})
    steep = any(math.isinf(f.derivative_second_moment) for f in each)
    if steep and any(kinks):
        raise ValueError(
            f"{a.name}.dual: activation must have no kink but at 0 where its slope is"
            f" infinite, E s'^2 = inf, got kinks at {', '.join(f'{c:.6g}' for c in kinks)}."
            " Next to another point arguments in double precision are rounded too much for"
            " the slope's integral; moments and Hermite coefficients are known."
        )
    size = math.sqrt(a.variance) * math.sqrt(b.variance)
    tolerance = max(a.tolerance, b.tolerance)
    noise = 0.1 * tolerance
    if steep:
        error = max(_noise(h, parity) for h in each)
        if error > tolerance:
            raise ValueError(
                f"{a.name}.dual: activation must have a `derivative` given, as its slope"
                " is infinite at 0 and rounding of its values there leaves that of"
                f" neighbours with an error of {error:.1g}, more than {tolerance:g}."
                " Moments and Hermite coefficients are known; for duals without it give"
                " a larger `tolerance`."
            )
        noise = max(noise, error)
    for h, c, error in ((h, *_rounding(h)) for h in each):
        if error > tolerance:
            raise ValueError(
                f"{a.name}.dual: activation must be less steep near x = {c:.6g}, where"
                f" rounding of arguments leaves the slope of {h.name} with an error of"
                f" {error:.1g}, more than {tolerance:g}. Moments and Hermite coefficients"
                " are known; for duals give a larger `tolerance`."
            )

    def in_the_plane(mirrored: bool) -> tuple[Any, float]:  # noqa: FBT001
        plane = duals.Plane.of_pair(
            f[0],
            f[-1],
            size,
            mirrored=mirrored,
            symmetric=parity is not None,
            noise=noise,
        )
        return lambda t: plane(t)[:, 0, -1], plane.gap

    return in_the_plane


def _noise(a: Any, parity: int | None) -> float:
    """Return the share of E s'(X) s'(Y) next to 1 that rounding of values of s makes."""
    other = a._slope_by_others
    if other is None:
        return 0.0
    return duals.apart(*(_broken(a, slope, parity) for slope in (a.derivative, other)))


def _rounding(a: Any) -> tuple[float, float]:
    """Return the kink where rounded arguments harm E s'^2 the most, and the share lost."""
    slope, out = a.derivative, (0.0, 0.0)
    edges, whole = slope._edges(RULE), a.derivative_second_moment
    for c in a.kinks if 0.0 < whole < math.inf else ():
        step = np.abs(edges - c)[edges != c].min(initial=1.0)
        steepest = float(np.abs(slope._value(np.array([c - step, c + step]))).max())
        error = EPS * abs(c) * float(gaussian.pdf(c)) * steepest * (steepest / whole)
        out = max(out, (c, error), key=lambda pair: pair[1])
    return out


def parity_at(
    f: Callable[[Array], Array], x: Array, rounding: float = 0.0, unit: float = 0.0
) -> int | None:
    """Return `EVEN`, `ODD` or neither, as values at x and -x have it.

    With `rounding`, to this share of the largest value from 0 to x, or to a `unit` that
    is farther, for x that rise from zero. What is zero at all x is odd.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        values, others = f(x), f(-x)
        size = np.maximum.accumulate(np.abs(values))
        error = rounding * np.maximum(size, size[x <= unit].max(initial=0.0))
        for parity, mirrored in ((ODD, -others), (EVEN, others)):
            if np.all((values == mirrored) | (np.abs(values - mirrored) <= error)):
                return parity
    return None
