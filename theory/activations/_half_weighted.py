"""Integrals against a Gaussian from values at the nodes of one rule."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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


def product_moment(
    name: str,
    f: Function,
    g: Function,
    edges: Array,
    kinks: Sequence[float],
    tolerance: float,
) -> float:
    """E f(Z) g(Z), which may grow without bound towards a kink; infinite if it diverges.

    There the averages over octaves of the distance are a geometric series in the end: its
    sum is known from the last ratio.

    Raises
    ------
    ValueError
        If values so close to the kink are too inaccurate for that.
    """

    def both(x: Array) -> Array:
        return np.asarray(f(x), dtype=np.float64) * np.asarray(g(x), dtype=np.float64)

    each = [
        (c, sign, 0.25 * min([1.0, *(abs(c - d) for d in kinks if d != c)]))
        for c in kinks
        for sign in (1.0, -1.0)
        if abs(c) < 30.0
    ]
    last = {side: _innermost(edges, *side) for side in each}
    # Not the product, which may change its sign.
    sides = [s for s in each if _grows(f, last[s], *s) or _grows(g, last[s], *s)]
    octaves = [_octaves(both, last[side], *side) for side in sides]
    # Infinities of both signs are no number.
    whole = math.fsum(v for v, _ in octaves)
    if not math.isfinite(whole):
        return whole
    ends = [c + sign * width for c, sign, width in sides]
    rest = _outside(f, g, np.concatenate([edges, ends]), sides)
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


def _is_chord(f: Function, last: float, c: float, sign: float) -> bool:
    """Whether f is constant next to c, as the slope of a line or of a chord is."""
    with np.errstate(all="ignore"):
        one, two = f(c + sign * last * np.array([0.1, 0.2]))
    return bool(one == two)


def _grows(f: Function, last: float, c: float, sign: float, width: float) -> bool:
    """Whether |f| still grows over twelve halvings of the distance from c.

    They end at 2^-26 of a deviation, or nearer where other kinks are near. Outside of a
    last panel with a chord they are fewer where there is no room. A logarithm gains as
    much over the second half of them as over the first; what slows down is bounded.
    """
    steps = np.array([1.0, 0.75, 0.55])
    start, half = min(2.0**-14, 2.0**-6 * width), 2.0**-6
    if _is_chord(f, last, c, sign):
        start = max(start, min(width, 2.0**14 * last))
        half = max(half, min(math.sqrt(4.0 * last / start), 0.5))
    u = np.concatenate([start * h * steps for h in (1.0, half, half * half)])
    with np.errstate(all="ignore"):
        values = np.asarray(f(c + sign * u), dtype=np.float64)
    far, middle, near = np.abs(values).reshape(3, -1).max(axis=1).tolist()
    steep = near > ROUGH * middle and middle > ROUGH * far
    return steep and near - middle > 0.5 * (middle - far)


def _octaves(
    f: Function, last: float, c: float, sign: float, width: float
) -> tuple[float, float]:
    """E f(Z) on one side of c up to a width, and the error of that."""
    # Next to a kink that is not zero arguments are rounded too much.
    least = max(2.0 * last, 2.0**-26 * abs(c))
    halvings = math.floor(math.log2(width / least))
    tops = width * 2.0 ** -np.arange(max(halvings, 6))
    y, w = gaussian.legendre(20)
    u = tops[:, None] * (0.75 + 0.25 * y)
    with np.errstate(all="ignore"):
        values = np.asarray(f((c + sign * u).ravel()), dtype=np.float64)
    density = gaussian.pdf(c + sign * u)
    energy = (values.reshape(u.shape) * density) @ w * (0.25 * tops)
    if halvings < 6 and _is_chord(f, last, c, sign):
        return math.fsum(energy), math.fsum(np.abs(energy))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.nan_to_num(energy[1:] / energy[:-1], nan=0.0, posinf=0.0)
    sums = []
    for taken in (energy.size, energy.size - 3):
        e, last_ratios = energy[:taken], ratios[max(taken - 4, 0) : taken - 1]
        if last_ratios.min() >= LOGARITHMIC:
            return math.copysign(math.inf, e[-1]), 0.0
        ratio = float(last_ratios[-1])
        if ratio >= LOGARITHMIC:  # by what the values have lost
            return math.fsum(e), math.fsum(np.abs(e))
        sums.append(math.fsum(e) + float(e[-1]) * ratio / (1.0 - ratio))
    # Three octaves more gain at least a factor of two.
    return sums[0], abs(sums[0] - sums[1])
