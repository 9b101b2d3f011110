"""Duals of other functions: the slope by quadrature, tabulated in the angle."""

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import gaussian

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tabulated:
    """Slope as piecewise Chebyshev in t = arccos rho, integrated by Gauss-Legendre."""

    coefs: Array  # (panels, degree + 1)
    at_one: float
    at_minus: float
    mean: float
    ends: tuple[float, float]

    @classmethod
    def build(cls, f, at_one, at_minus, mean, ends, panels=6, degree=22):  # type: ignore[no-untyped-def]
        """Tabulate the slope f(t), t = arccos rho, with the ends given."""
        nodes = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
        edges = np.linspace(0.0, np.pi, panels + 1)
        coefs = []
        for a, b in itertools.pairwise(edges):
            t = 0.5 * (a + b) + 0.5 * (b - a) * nodes
            y = f(t)
            coefs.append(np.polynomial.chebyshev.chebfit(nodes, y, degree))
        return cls(np.array(coefs), at_one, at_minus, mean, ends)

    def _slope(self, t: Array) -> Array:
        n = len(self.coefs)
        i = np.clip((t * (n / np.pi)).astype(int), 0, n - 1)
        x = 2.0 * (t * (n / np.pi) - i) - 1.0
        c = self.coefs[i]
        b1 = np.zeros_like(t)
        b2 = np.zeros_like(t)
        for k in range(c.shape[-1] - 1, 0, -1):
            b1, b2 = 2.0 * x * b1 - b2 + c[..., k], b1
        return x * b1 - b2 + c[..., 0]

    def _between(self, a: Array, width: Array) -> Array:
        """Integrate slope times sine from a to a + width."""
        x, w = gaussian.legendre(24)
        n = 4
        total = np.zeros(np.broadcast(a, width).shape)
        for i in range(n):
            lo = a + width * (i / n)
            half = width / (2 * n)
            for xi, wi in zip(x, w, strict=True):
                u = lo + half * (xi + 1.0)
                total = total + wi * half * self._slope(u) * np.sin(u)
        return total

    def slope(self, rho: Array, t: Array | None = None) -> Array:
        """Return E[a'(X) b'(Y)]; `t` is arccos rho where better known."""
        t = np.arccos(rho) if t is None else t
        out = self._slope(t)
        out = np.where(rho == 1.0, self.ends[0], out)
        return np.where(rho == -1.0, self.ends[1], out)

    def covariance(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)] - E a E b, without cancellation."""
        # The width arcsin rho keeps its digits as rho -> 0, where pi/2 - arccos does not.
        near = -self._between(np.full_like(rho, np.pi / 2), -np.arcsin(rho))
        t = np.arccos(rho)
        far = self.at_minus - self.mean + self._between(t, np.pi - t)
        return np.where(rho < -0.6, far, near)

    def dual(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)]."""
        t = np.arccos(rho)
        far = self.at_minus + self._between(t, np.pi - t)
        return np.where(rho < -0.6, far, self.mean + self.covariance(rho))

    def distance(self, delta: Array) -> Array:
        """Return E a^2 - E[a(X) a(Y)] at rho = 1 - delta, without cancellation."""
        t = 2.0 * np.arcsin(np.sqrt(0.5 * delta))
        return self._between(np.zeros_like(t), t)


def polar_expectation(f, g, t):  # type: ignore[no-untyped-def]
    """E f(X) g(Y) with X = R cos p, Y = R cos(p - t); rays at the kinks at zero."""
    x, w = gaussian.legendre(20)
    edges = np.array([0.0, 0.02, 0.1, 0.3, 0.7, 1.2, 2, 3, 4, 5, 6, 7, 8.5, 10, 12, 15])
    half = 0.5 * np.diff(edges)
    r = (edges[:-1, None] + half[:, None] * (x + 1.0)).ravel()
    wr = (half[:, None] * w).ravel() * r * np.exp(-0.5 * r * r)
    y, v = gaussian.legendre(40)
    out = []
    for s in np.atleast_1d(t):
        total = 0.0
        cuts = [-np.pi / 2, s - np.pi / 2, np.pi / 2, s + np.pi / 2, 1.5 * np.pi]
        for a, b in itertools.pairwise(cuts):
            if b <= a:
                continue
            p = 0.5 * (a + b) + 0.5 * (b - a) * y
            values = f(r[:, None] * np.cos(p)) * g(r[:, None] * np.cos(p - s))
            total += 0.5 * (b - a) * float(wr @ values @ v)
        out.append(total / (2.0 * np.pi))
    return np.array(out)


def strip_expectation(ka, kb):  # type: ignore[no-untyped-def]
    """E f(X) g(Y) for kinks anywhere: outer panels in x, inner split at the kinks."""

    def pair(f, g, t):  # type: ignore[no-untyped-def]
        x, w = gaussian.panels(tuple(ka), 12.0)
        weight = w * gaussian.pdf(x)
        y, v = gaussian.legendre(16)
        out = []
        for s in np.atleast_1d(t):
            rho, omega = np.cos(s), np.sin(s)
            cut = np.clip((np.array(kb)[None, :] - rho * x[:, None]) / omega, -12, 12)
            cut.sort(axis=1)
            grid = np.broadcast_to(np.linspace(-12, 12, 17), (len(x), 17))
            edges = np.sort(np.concatenate([grid, cut], axis=1), axis=1)
            half = 0.5 * np.diff(edges, axis=1)
            z = edges[:, :-1, None] + half[:, :, None] * (y + 1.0)
            inner = np.sum(
                half[:, :, None]
                * v
                * gaussian.pdf(z)
                * g(rho * x[:, None, None] + omega * z),
                axis=(1, 2),
            )
            out.append(float(np.sum(weight * f(x) * inner)))
        return np.array(out)

    return pair
