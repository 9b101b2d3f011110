"""Integrals against a Gaussian from values at the nodes of one rule."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from theory import gaussian
from theory.meshes import DEVIATIONS

Array = npt.NDArray[np.float64]
Function = Callable[[Array], Array]

ROUGH = 1.01
"""Growth of a function over six halvings of the distance that counts as singular."""

LOGARITHMIC = 2.0**-0.015
"""Ratio of the averages over two octaves next to a kink at which the sum diverges."""

LEVELS = 3
"""Powers of the distance from a kink that are summed to infinity."""

ALIKE, CHANCE = 4, 8.0
"""Sums whose range, times this, bounds the error of the last."""


@dataclass(frozen=True, eq=False)
class HalfWeighted:
    """Nodes with sqrt(weight * density), and the values times that.

    Half of the density goes with either factor of a product, so that functions that grow
    like the density falls neither overflow nor vanish.
    """

    x: Array
    root: Array
    y: Array

    @staticmethod
    def rule(edges: Array, nodes: int) -> tuple[Array, Array]:
        """Return nodes and sqrt(weight * density) on panels that end at the edges.

        Both the edges and their mirror images, so that odd functions have mean zero.
        """
        grid = np.linspace(-DEVIATIONS, DEVIATIONS, 161)
        every = np.unique(np.concatenate([grid, edges, -edges]))
        # Rounding of mirrored edges leaves slivers.
        gap = np.diff(every) > 4.0 * np.spacing(np.abs(every[1:]))
        every = every[np.concatenate([[True], gap])]
        y, w = gaussian.legendre(nodes)
        low, half = every[:-1, None], 0.5 * np.diff(every)[:, None]
        x = np.where(
            y < 0.0, low + half * (1.0 + y), every[1:, None] - half * (1.0 - y)
        ).ravel()
        weight = (half * w).ravel()
        root = np.sqrt(weight / gaussian.SQRT_TWO_PI) * np.exp(-0.25 * x * x)
        return x, root

    @classmethod
    def of(cls, f: Function, edges: Array, nodes: int) -> "HalfWeighted":
        """Take the values of f at the nodes of a rule."""
        x, root = cls.rule(edges, nodes)
        with np.errstate(all="ignore"):
            y = np.asarray(f(x.copy()), dtype=np.float64) * root
        return cls(x, root, y)

    def trouble(self, *, is_slope: bool, within: float = 38.0) -> str:
        """Say what is wrong with the values, or nothing; beyond 20 they may overflow.

        What is left of the square beyond `within` deviations has to be nothing, unless
        most of it is beyond 18.
        """
        bad = ~np.isfinite(self.y)
        near = bad & (np.abs(self.x) < 20.0)
        if near.any():
            x = self.x[near]
            return (
                f"`f` must be finite on the real line, got none at {x[0]:g} deviations"
            )
        self.y[bad] = 0.0
        largest = np.abs(self.y).max(initial=0.0)
        if is_slope or not largest:
            return ""
        density = np.square(self.y / largest)
        top = np.abs(self.x[np.argmax(density)])
        far = within if top < 18.0 else 38.0
        left = float(density[np.abs(self.x) > far].max())
        if bad.any() and top >= 18.0:
            left = 1.0
        if left <= 1e-13:
            return ""
        return (
            "`f` must be square integrable, f(x)^2 exp(-x^2/2) -> 0, but it is still"
            f" {left:.1g} of its maximum beyond |x| = {far:g} deviations"
        )

    def mean(self) -> float:
        """E s(Z)."""
        return gaussian.total(self.y * self.root)

    def mean_about(self, m: float, b: float) -> float:
        """E[s(Z) - m - b Z]."""
        return gaussian.total((self.y - (m + b * self.x) * self.root) * self.root)

    def energy_about(self, m: float, b: float) -> float:
        """E[(s(Z) - m - b Z)^2]."""
        y = self.y
        if m or b:
            y = y - (m + b * self.x) * self.root
        return gaussian.total(y * y)

    def opposite(self, f: Function) -> float:
        """E s(Z) s(-Z)."""
        with np.errstate(all="ignore"):
            other = np.asarray(f(-self.x), dtype=np.float64) * self.root
        return gaussian.total(np.where(np.isfinite(other), other, 0.0) * self.y)

    def coefficients(self, order: int) -> Array:
        """E[s(Z) h_k(Z)] for k <= order."""
        out = np.empty(order + 1)
        out[0] = self.mean()
        # Where the values are nothing the rest of the integrand is bounded.
        at = np.abs(self.y) > 1e-20 * np.abs(self.y).max(initial=0.0)
        x, y, high = self.x[at], self.y[at], self.root[at]
        low, step = np.zeros_like(x), np.empty_like(x)
        for n in range(1, order + 1):
            np.multiply(x, high, out=step)
            step *= 1.0 / math.sqrt(n)
            low *= math.sqrt((n - 1) / n)
            np.subtract(step, low, out=low)
            low, high = high, low
            out[n] = float(np.sum(y * high))
        return out


@dataclass(frozen=True, eq=False)
class Factor:
    """A function x -> f(unit x), and kinks with the side, 1 or -1, of a chord's panel.

    `own` has kinks in the units of f, to which those of x are rounded.
    """

    value: Function
    chords: frozenset[tuple[float, float]] = frozenset()
    unit: float = 1.0
    own: Mapping[float, float] = field(default_factory=dict[float, float])

    def mirrored(self) -> "Factor":
        """Return the function x -> f(-x)."""
        chords = frozenset((-c, -sign) for c, sign in self.chords)
        own = {-c: -at for c, at in self.own.items()}
        return Factor(lambda x: self.value(-x), chords, self.unit, own)

    def apart(self, c: float, x: Array) -> Array:
        """Return how far from a kink the points are at which f is evaluated."""
        return (self.unit * x - self.own.get(c, self.unit * c)) / self.unit


def product_moment(
    name: str,
    f: Factor,
    g: Factor,
    edges: Array,
    kinks: Sequence[float],
    tolerance: float,
) -> float:
    """E f(Z) g(Z), which may grow without bound towards a kink; infinite if it diverges.

    There the averages over octaves of the distance are a sum of geometric series in the
    end: it is known from its ratios.

    Raises
    ------
    ValueError
        If values so close to the kink are too inaccurate for that.
    """

    def both(x: Array) -> Array:
        one = np.asarray(f.value(x), dtype=np.float64)
        return one * (one if g is f else np.asarray(g.value(x), dtype=np.float64))

    each = [
        (c, sign, 0.25 * min([1.0, *(abs(c - d) for d in kinks if d != c)]))
        for c in kinks
        for sign in (1.0, -1.0)
        if abs(c) < 30.0
    ]
    last = {side: _innermost(edges, *side) for side in each}
    # Not the product, which may change its sign.
    chords = f.chords | g.chords
    sides = [s for s in each if s[:2] in chords or any(_grows(h, *s) for h in (f, g))]
    octaves = [
        _octaves(both, (f if s[0] in f.own else g).apart, last[s], *s) for s in sides
    ]
    # Infinities of both signs are no number.
    whole = math.fsum(v for v, _ in octaves)
    if not math.isfinite(whole):
        return whole
    ends = [c + sign * width for c, sign, width in sides]
    rest = _outside(f.value, g.value, np.concatenate([edges, ends]), sides)
    out = math.fsum([*(v for v, _ in octaves), gaussian.total(rest)])
    size = math.fsum([*(abs(v) for v, _ in octaves), float(np.abs(rest).sum())])
    for (c, _, _), (_, error) in zip(sides, octaves, strict=True):
        if error > tolerance * size:
            raise ValueError(
                f"{name}: `f` must not be as steep as it is near x = {c:.6g} for the"
                f" second moment to be known to {tolerance:g}; it is known to"
                f" {error / size:.1g}. Give a larger `tolerance`, or the `derivative`."
            )
    return out


def _outside(
    f: Function, g: Function, edges: Array, sides: list[tuple[float, float, float]]
) -> Array:
    """Return the terms of E f(Z) g(Z) outside of the sides."""
    one = HalfWeighted.of(f, edges, 20)
    other = one if g == f else HalfWeighted.of(g, edges, 20)
    kept = np.isfinite(one.y) & np.isfinite(other.y)
    for c, sign, width in sides:
        apart = sign * (one.x - c)
        kept &= (apart <= 0.0) | (apart >= width)
    return one.y[kept] * other.y[kept]


def _innermost(edges: Array, c: float, sign: float, width: float) -> float:
    """Return the width of the panel next to c on one side."""
    apart = sign * (edges - c)
    return float(apart[apart > 4.0 * math.ulp(c)].min(initial=width))


def _grows(f: Factor, c: float, sign: float, width: float) -> bool:
    """Whether |f| still grows over twelve halvings of the distance from c.

    They end at 2^-26 of a deviation, or nearer where other kinks are near. A logarithm
    gains as much over the second half of them as over the first; what slows down is
    bounded.
    """
    steps = np.array([1.0, 0.75, 0.55])
    start, half = min(2.0**-14, 2.0**-6 * width), 2.0**-6
    u = np.concatenate([start * h * steps for h in (1.0, half, half * half)])
    with np.errstate(all="ignore"):
        values = np.asarray(f.value(c + sign * u), dtype=np.float64)
    far, middle, near = np.abs(values).reshape(3, -1).max(axis=1).tolist()
    steep = near > ROUGH * middle and middle > ROUGH * far
    return steep and near - middle > 0.5 * (middle - far)


def _octaves(
    f: Function,
    apart: Callable[[float, Array], Array],
    last: float,
    c: float,
    sign: float,
    width: float,
) -> tuple[float, float]:
    """E f(Z) on one side of c up to a width, and the error of that."""
    # Nearer to a kink that is not zero nodes of a panel may be the same float.
    least = max(2.0 * last, 2.0**-40 * abs(c))
    halvings = math.floor(math.log2(width / least))
    tops = width * 2.0 ** -np.arange(max(halvings, 6))
    y, w = gaussian.legendre(20)
    u = tops[:, None] * (0.75 + 0.25 * y)
    x = c + sign * u
    with np.errstate(all="ignore"):
        values = np.asarray(f(x.ravel()), dtype=np.float64).reshape(u.shape)
    if c:  # the rule of the nodes as they are rounded
        place = 4.0 * sign * apart(c, x) / tops[:, None] - 3.0
        powers = np.polynomial.legendre.legvander(place, 19).transpose(0, 2, 1)
        w = np.linalg.solve(powers, 2.0 * np.eye(20, 1)[None])[..., 0]
    energy = (values * gaussian.pdf(x) * w).sum(axis=1) * (0.25 * tops)
    if halvings < 6:
        return math.fsum(energy), math.fsum(np.abs(energy))
    return _limit(energy)


def _limit(terms: Array) -> tuple[float, float]:
    """Return the sum of a series whose terms become geometric in the end, and its error.

    With what a geometric series adds, partial sums are again sums of such a series, of
    the next power of the distance. Rounding of the terms grows as others vanish: of all
    these sums the one stands that differs the least from those before it, its error some
    times their difference, which may be little by chance.
    """
    sums, best, error = np.cumsum(terms), math.fsum(terms), math.fsum(np.abs(terms))
    for level in range(LEVELS):
        with np.errstate(all="ignore"):
            ratios = np.nan_to_num(terms[1:] / terms[:-1], nan=0.0, posinf=0.0)
            rest = terms[1:] * ratios / (1.0 - ratios)
        if level == 0:
            for taken in (ratios, ratios[:-3]):
                if taken[-4:].min(initial=1.0) >= LOGARITHMIC:
                    return math.copysign(math.inf, terms[len(taken)]), 0.0
        rest[ratios >= LOGARITHMIC] = math.nan  # by what the values have lost
        terms = terms[2:] + np.diff(rest)  # without the rounding of the sums
        sums = sums[1:] + rest
        if sums.size < ALIKE:
            break
        near = np.lib.stride_tricks.sliding_window_view(sums, ALIKE)
        spread = np.nan_to_num(np.ptp(near, axis=1), nan=math.inf)
        at = int(np.argmin(spread))
        if CHANCE * spread[at] < error:
            best, error = float(sums[at + ALIKE - 1]), CHANCE * float(spread[at])
        sums = sums[1:]
    return best, error
