"""Duals of any other functions: the slope by quadrature, tabulated in the angle."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory._cached import cached_property
from theory.duals._panels import Panels

Array = npt.NDArray[np.float64]

Slope = Callable[[bool], tuple[Callable[[Array], Array], float]]
"""Whether b is mirrored -> E a'(X) b'(+-Y) at angles (m,), and the least gap of kinks."""


LEAST = float(np.finfo(np.float64).tiny)
"""Error of a dual that is rounding, however small the dual is."""


@dataclass(frozen=True, eq=False)
class Tabulated:
    """Tables from both ends, rho = 1 and rho = -1, to rho = 0.

    The covariance is rho times the mean slope between 0 and rho, the distance 1 - rho
    times that between rho and 1: both keep their digits as the factor vanishes. The table
    from rho = -1 is made when a negative correlation first asks for it.
    """

    near: Panels
    make_far: Callable[[], Panels]
    mean: float
    odd: float  # E a(X) (b(X) - b(-X))

    @cached_property
    def far(self) -> Panels:
        """The table from rho = -1; refused like the other if it misses its end."""
        return self.make_far()

    @classmethod
    def build(
        cls,
        slope: Slope,
        *,
        who: str,
        size: float,
        mean: float,
        at_one: float,
        at_minus_one: float,
        tolerance: float,
        parity: int | None = None,
    ) -> "Tabulated":
        """Tabulate the slope towards both ends.

        `size` is sd a(X) sd b(Y), `mean` is E a E b, and the covariances at both ends
        are integrals over one variable, which the tables are held to. `parity` is that of
        a or b, 0 for even and 1 for odd: then the tables of both ends are the same.

        Raises
        ------
        ValueError
            If a table misses an end by more than the tolerance, a share of the size.
        """

        def side(end: float, *, mirrored: bool, alike: Panels | None = None) -> Panels:
            whole = alike
            if whole is None:
                values, gap = slope(mirrored)
                whole = Panels.build(values, gap=gap)
            error = abs(
                float(whole.read(whole.to_end, np.full(1, 0.5 * np.pi))[0]) - end
            )
            if error <= max(tolerance * size, LEAST):
                return whole
            need = (
                "be smooth between its `kinks`, and its slope not grow too fast towards"
                " them, but its dual has an error of"
            )
            mend = "Name the points where it or a derivative jumps"
            if error <= tolerance * abs(mean):
                need = (
                    "vary more beside its mean, or rounding leaves its covariance with an"
                    " error of"
                )
                mend = "Give the part that varies alone"
            share = error / size if size else math.inf
            raise ValueError(
                f"{who}: the activation must {need} {share:.1g} at correlation"
                f" {-1 if mirrored else 1}. {mend}, or accept a larger `tolerance`."
            )

        near = side(at_one, mirrored=False)

        def far() -> Panels:
            alike = None
            if parity is not None:
                alike = near if parity else near.negated()
            return side(-at_minus_one, mirrored=True, alike=alike)

        return cls(near, far, mean, at_one - at_minus_one)

    order = 1
    """The covariance is given relative to this power of rho."""

    def mirrored(self) -> "Tabulated":
        """Return the engine of the dual at -rho."""
        return Tabulated(
            self.far.negated(), lambda: self.near.negated(), self.mean, -self.odd
        )

    def _either(self, rho: Array, which: str, t: Array | None = None) -> Array:
        flat = rho.ravel()
        angle = np.arccos(np.abs(flat))
        if t is not None:
            angle = np.where(flat < 0.0, np.pi - t.ravel(), t.ravel())
        out = np.empty_like(flat)
        for name, mask in (("near", flat >= 0.0), ("far", flat < 0.0)):
            if mask.any():
                side = getattr(self, name)
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
        if (delta < 1.0).all():
            return near
        # Where the distance of an even function vanishes again.
        rest = np.minimum(2.0 - delta, 1.0)
        t = 2.0 * np.arcsin(np.sqrt(0.5 * rest))
        far = self.odd - rest * self.far.read(self.far.to_end, t)
        return np.where(delta < 1.0, near, far)
