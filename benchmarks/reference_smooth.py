"""Laws without a formula: smooth functions, and softsign; see `reference_laws`."""

import cmath
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from flint import arb
from reference_laws import Ball, Both, Law, kept

LOG10 = math.log(10.0)


def _sigmoid(x: Ball) -> Both:
    s = 1 / (1 + (-x).exp())
    return s, s * (1 - s)


def _tanh(x: Ball) -> Both:
    s = x.tanh()
    return s, 1 - s * s


def _silu(x: Ball) -> Both:
    s = 1 / (1 + (-x).exp())
    return x * s, s * (1 + x * (1 - s))


def _softplus(x: Ball) -> Both:
    e = x.exp()
    return e.log1p(), e / (1 + e)


def _arctan(x: Ball) -> Both:
    return x.atan(), 1 / (1 + x * x)


def _asinh(x: Ball) -> Both:
    return x.asinh(), 1 / (1 + x * x).sqrt()


def _mish(x: Ball) -> Both:
    e = x.exp()
    # tanh(log(1 + e^x)) = (e^2 + 2 e) / (e^2 + 2 e + 2)
    n = e * (e + 2)
    t = n / (n + 2)
    return x * t, t + x * (1 - t * t) * e / (1 + e)


POLE = {
    "tanh": (_tanh, math.pi / 2),
    "sigmoid": (_sigmoid, math.pi),
    "silu": (_silu, math.pi),
    "softplus": (_softplus, math.pi),
    "arctan": (_arctan, 1.0),
    "asinh": (_asinh, 1.0),
    "mish": (_mish, 2.35),
}
"""s with its derivative, and how far from the axis it is analytic."""


MOST = 300_000
"""Products of nodes to be spent on a pair."""


class TooManyNodes(Exception):
    """A pair whose distance and lengths are too far apart for both rules."""


def _angles(top: float) -> Iterator[float]:
    yield from (top * j / 64 for j in range(1, 65))


@dataclass(frozen=True)
class _Grid:
    """u = sinh t at t = n step, with dt = step; density left out."""

    step: float
    reach: float

    def nodes(self) -> list[tuple[Ball, Ball]]:
        return _sinh_nodes(self.step, int(math.asinh(self.reach) / self.step) + 1)


@lru_cache(maxsize=16)
def _sinh_nodes(step: float, count: int) -> list[tuple[Ball, Ball]]:
    h = arb(step)
    return [
        ((n * h).sinh().mid(), (h * (n * h).cosh()).mid())
        for n in range(-count, count + 1)
    ]


class Smooth(Law):
    """A function analytic within `pole` of the axis."""

    def __init__(self, name: str, digits: int) -> None:
        self.f, self.pole = POLE[name]
        self.digits = digits  # of a variance; of a pair as many as its distance needs
        self._values: dict[Any, Any] = {}

    def mean(self, p: Ball) -> Ball:
        return self._single(p)[0]

    def one(self, p: Ball) -> Both:
        return self._single(p)[1:]

    def _single(self, p: Ball) -> tuple[Ball, Ball, Ball]:
        key = p.str(40)
        if key not in self._values:
            total = [arb(0)] * 3
            for u, weight in self._line(p, self.digits + 3, 0.0):
                s, d = self.f(u)
                total[0] += weight * s
                total[1] += weight * s * s
                total[2] += weight * d * d
            self._values[key] = tuple(t.mid() for t in total)
        return self._values[key]

    def _line(self, p: Ball, digits: float, spread: float) -> list[tuple[Ball, Ball]]:
        """Nodes of N(0, p); `spread` is that of an inner variable about its mean."""
        need, var = digits * LOG10, float(p)
        step = max(
            2 * math.pi * b / (need + math.sin(b) ** 2 / (2 * var))
            for b in _angles(math.pi / 4)
        )
        if spread:  # v = u + spread y: the pole is met at u = i pole - spread y
            for y in (j / 4 for j in range(int(4 * math.sqrt(2 * need)))):
                meets = _imaginary_asinh(-spread * y, self.pole)
                step = min(step, 2 * math.pi * meets / (need - y * y / 2))
        grid = _Grid(_round(step), math.sqrt(2 * need * var) + 1e-12)
        root, norm = 2 * p, (2 * arb.pi() * p).sqrt()
        return [(u, w * (-u * u / root).exp() / norm) for u, w in grid.nodes()]

    @kept
    def two(self, p: Ball, q: Ball, k: Ball) -> Both:
        if p < q:
            p, q = q, p
        det = p * q - k * k
        det = det.mid() if det > 0 else arb(0)
        # Distances lose digits of the covariance: as many as 1 - |rho| is small.
        ratio = max(float(det / (p * q)), 1e-60)
        loss = -math.log10(ratio)
        digits = min(self.digits, 0.53 * self.digits + loss)
        inner, outer = self._conditional_size(p, k, det, digits)
        plane = self._plane_steps(p, q, ratio, digits)
        if min(inner * outer, plane[2] or inner * outer) > MOST:
            raise TooManyNodes
        if inner * outer * 5 < plane[2] or plane[0] == 0.0:
            return self._conditional(p, k, det, digits)
        return self._plane(p, q, k, det, plane)

    # v given u

    def _inner_step(self, sd: float, digits: float) -> float:
        need = digits * LOG10
        top = min(self.pole / sd if sd else 1e9, math.sqrt(2 * need))
        return max(2 * math.pi * b / (need + b * b / 2) for b in _angles(top))

    def _conditional_size(
        self, p: Ball, k: Ball, det: Ball, digits: float
    ) -> tuple[int, int]:
        sd = math.sqrt(float(det / p))
        step = self._inner_step(sd, digits)
        inner = int(2 * math.sqrt(2 * digits * LOG10) / step) if sd else 1
        spread = sd / max(abs(float(k / p)), 1e-9)
        if spread > 50:
            return inner, 10**9
        return inner, len(self._line(p, digits, spread))

    def _conditional(self, p: Ball, k: Ball, det: Ball, digits: float) -> Both:
        sd, slope = (det / p).sqrt(), k / p
        h = arb(_round(self._inner_step(float(sd), digits)))
        count = int(math.sqrt(2 * digits * LOG10) / float(h)) + 1 if sd > 0 else 0
        norm = h / (2 * arb.pi()).sqrt() if count else arb(1)
        inner = [
            (sd * (n * h), norm * (-((n * h) ** 2) / 2).exp())
            for n in range(-count, count + 1)
        ]
        value, derivative, f = arb(0), arb(0), self.f
        spread = float(sd) / max(abs(float(slope)), 1e-9)
        for u, weight in self._line(p, digits, spread):
            s, d = f(u)
            a, b, m = arb(0), arb(0), slope * u
            for y, w in inner:
                t, e = f(m + y)
                a += w * t
                b += w * e
            value += weight * s * a
            derivative += weight * d * b
        return value.mid(), derivative.mid()

    # u and v

    def _plane_steps(
        self, p: Ball, q: Ball, ratio: float, digits: float
    ) -> tuple[float, float, int]:
        """Steps of both sinh grids, and the number of nodes."""
        need, top = digits * LOG10, math.acos(1 / math.sqrt(1 + ratio))
        if top < 1e-2:
            return 0.0, 0.0, 0
        steps, count = [], 1
        for var in (float(p), float(q)):
            step = max(
                2 * math.pi * b / (need + math.sin(b) ** 2 / (2 * var * ratio))
                for b in _angles(top)
            )
            steps.append(_round(step))
            count *= 2 * int(math.asinh(math.sqrt(2 * need * var)) / step) + 3
        return steps[0], steps[1], count

    def _plane(
        self, p: Ball, q: Ball, k: Ball, det: Ball, plane: tuple[float, float, int]
    ) -> Both:
        need = self.digits * LOG10
        rows = []
        for var, step, other in ((p, plane[0], q), (q, plane[1], p)):
            grid = _Grid(step, math.sqrt(2 * need * float(var)))
            row = []
            for u, w in grid.nodes():
                weight = w * (-u * u * other / (2 * det)).exp()
                s, d = self.f(u)
                row.append((u, weight * s, weight * d))
            rows.append(row)
        value, derivative, cross = arb(0), arb(0), k / det
        for u, s, d in rows[0]:
            a, b, rate = arb(0), arb(0), cross * u
            for v, t, e in rows[1]:
                weight = (rate * v).exp()
                a += weight * t
                b += weight * e
            value += s * a
            derivative += d * b
        norm = 2 * arb.pi() * det.sqrt()
        return (value / norm).mid(), (derivative / norm).mid()


def _imaginary_asinh(x: float, y: float) -> float:
    return cmath.asinh(complex(x, y)).imag


def _round(step: float) -> float:
    """Few distinct steps, so that grids are kept."""
    return 2.0 ** (math.floor(16 * math.log2(step)) / 16)


class SoftSign(Law):
    """x / (1 + |x|), in polar coordinates between the rays u = 0 and v = 0."""

    def __init__(self, digits: int) -> None:
        self.digits = digits

    def mean(self, p: Ball) -> Ball:
        return 0 * p

    def one(self, p: Ball) -> Both:
        total, root = [arb(0)] * 2, p.sqrt()
        for r, w in self._radii(self.digits):
            u, weight = root * r, w / r * (2 / arb.pi()).sqrt()
            total[0] += weight * (u / (1 + u)) ** 2
            total[1] += weight / (1 + u) ** 4
        return total[0].mid(), total[1].mid()

    @kept
    def two(self, p: Ball, q: Ball, k: Ball) -> Both:
        det = p * q - k * k
        width = _angle(k, det.sqrt() if det > 0 else arb(0))
        loss = -math.log10(max(float(det / (p * q)), 1e-60))
        digits = min(self.digits, 0.53 * self.digits + loss)
        value, slope = arb(0), arb(0)
        for sector, sign in ((arb.pi() - width, 1), (width, -1)):
            if not sector > 0:
                continue
            edges = [
                (
                    w * sector,
                    p.sqrt() * (x * sector).sin(),
                    q.sqrt() * (y * sector).sin(),
                )
                for x, y, w in self._sector(digits)
            ]
            for r, weight in self._radii(digits):
                a, b = arb(0), arb(0)
                for w, x, y in edges:
                    u, v = r * x, r * y
                    over = 1 / ((1 + u) * (1 + v))
                    a += w * u * v * over
                    b += w * over * over
                value += sign * weight * a
                slope += weight * b
        return (value / arb.pi()).mid(), (slope / arb.pi()).mid()

    @staticmethod
    @lru_cache(maxsize=8)
    def _radii(digits: float) -> list[tuple[Ball, Ball]]:
        """r = exp(t - e^-t) under the density r e^{-r^2/2}."""
        need = digits * LOG10
        step = arb(_round(2 * math.pi * 0.3 / need))
        low, high = -math.log(need), math.log(math.sqrt(2 * need)) + 0.2
        out = []
        for n in range(int(low / float(step)), int(high / float(step)) + 1):
            e = (-(n * step)).exp()
            r = (n * step - e).exp()
            out.append((r, step * r * (1 + e) * r * (-r * r / 2).exp()))
        return out

    @staticmethod
    @lru_cache(maxsize=8)
    def _sector(digits: float) -> list[tuple[Ball, Ball, Ball]]:
        """x, 1 - x and weights on (0, 1), crowded at both ends."""
        need = digits * LOG10
        step = arb(_round(2 * math.pi * 0.3 / need))
        top = int(math.asinh(need / math.pi) / float(step)) + 1
        out = []
        for n in range(-top, top + 1):
            t = n * step
            e = (arb.pi() * t.sinh()).exp()
            x, y = 1 / (1 + e), e / (1 + e)
            out.append((x, y, step * arb.pi() * t.cosh() * x * y))
        return out


def _angle(k: Ball, root: Ball) -> Ball:
    """arg(k + i root) in [0, pi]."""
    if abs(k) > root:
        turn = (root / k).atan()
        return turn if k > 0 else arb.pi() + turn
    return arb.pi() / 2 - (k / root).atan()


def smooth(digits: int) -> dict[str, Callable[[], Law]]:
    return {
        **{name: lambda name=name: Smooth(name, digits) for name in POLE},
        "softsign": lambda: SoftSign(digits),
    }
