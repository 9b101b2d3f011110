"""Duals of any other functions: the slope by quadrature, tabulated in the angle."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory.duals._panels import Panels
from theory.duals._planes import Broken, Plane

Array = npt.NDArray[np.float64]

PROMISED = 1e-12
"""Error of a dual, over its size, above which it is refused."""


@dataclass(frozen=True, eq=False)
class Tabulated:
    """Tables from both ends, rho = 1 and rho = -1, to rho = 0.

    The covariance is rho times the mean slope between 0 and rho, the distance 1 - rho
    times that between rho and 1: both keep their digits as the factor vanishes.
    """

    near: Panels
    far: Panels
    mean: float
    odd: float  # E a(X) (b(X) - b(-X))

    @classmethod
    def build(
        cls,
        slopes: tuple[Broken, Broken],
        *,
        who: str,
        size: float,
        mean: float,
        at_one: float,
        at_minus_one: float,
    ) -> "Tabulated":
        """Tabulate the slope E f(X) g(Y), f = a' and g = b'.

        `size` is sd a(X) sd b(Y), `mean` is E a E b, and the covariances at both ends
        are integrals over one variable, which the tables are held to.

        Raises
        ------
        ValueError
            If a table misses an end by more than `PROMISED`.
        """
        f = slopes[:1] if slopes[0] is slopes[1] else slopes
        tables: list[Panels] = []
        for mirrored, end in ((False, at_one), (True, -at_minus_one)):
            plane = Plane(f, size, mirrored)
            whole = Panels.build(lambda t, p=plane: p(t)[:, 0, -1], gap=plane.gap)
            error = abs(
                float(whole.read(whole.to_end, np.full(1, 0.5 * np.pi))[0]) - end
            )
            if error > PROMISED * size:
                raise ValueError(
                    f"{who}: the activation must be smooth between its `kinks`, but its"
                    f" dual has an error of {error / size:.1g} at correlation"
                    f" {-1 if mirrored else 1}. Name the points where it or a derivative"
                    " jumps."
                )
            tables.append(whole)
        near, far = tables
        return cls(near, far, mean, at_one - at_minus_one)

    order = 1
    """The covariance is given relative to this power of rho."""

    def mirrored(self) -> "Tabulated":
        """Return the engine of the dual at -rho."""
        far, near = (side.negated() for side in (self.near, self.far))
        return Tabulated(near, far, self.mean, -self.odd)

    def _either(self, rho: Array, which: str, t: Array | None = None) -> Array:
        flat = rho.ravel()
        angle = np.arccos(np.abs(flat))
        if t is not None:
            angle = np.where(flat < 0.0, np.pi - t.ravel(), t.ravel())
        out = np.empty_like(flat)
        for mask, side in ((flat >= 0.0, self.near), (flat < 0.0, self.far)):
            out[mask] = side.read(getattr(side, which), angle[mask])
        return out.reshape(rho.shape)

    def slope(self, rho: Array, t: Array | None = None) -> Array:
        """Return E[a'(X) b'(Y)]; `t` is arccos rho where better known."""
        return self._either(rho, "slope", t)

    def covariance(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)] - E a E b, without cancellation."""
        return rho * self._either(rho, "to_zero")

    def dual(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)]."""
        return self.mean + self.covariance(rho)

    def distance(self, delta: Array) -> Array:
        """Return E a^2 - E[a(X) a(Y)] at rho = 1 - delta, without cancellation."""
        t = 2.0 * np.arcsin(np.sqrt(0.5 * np.minimum(delta, 1.0)))
        near = delta * self.near.read(self.near.to_end, t)
        # Where the distance of an even function vanishes again.
        rest = np.minimum(2.0 - delta, 1.0)
        t = 2.0 * np.arcsin(np.sqrt(0.5 * rest))
        far = self.odd - rest * self.far.read(self.far.to_end, t)
        return np.where(delta < 1.0, near, far)
