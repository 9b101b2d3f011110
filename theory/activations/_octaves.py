"""The meshes of one function for Gaussians of every width."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from theory.meshes import DEVIATIONS, Mesh, resolve

Array = npt.NDArray[np.float64]
Function = Callable[[Array], Array]


@dataclass(eq=False)
class Octaves:
    """The meshes of a function for Gaussians of any deviation, one for each octave.

    Attributes
    ----------
    f : callable
    named : tuple of float
        Its kinks as far as they were given.
    noise, who
        As in `resolve`.
    """

    f: Function
    named: tuple[float, ...] = ()
    noise: float = 1e-13
    who: str = "resolve"
    _made: dict[int, Mesh | str] = field(
        default_factory=dict[int, "Mesh | str"], repr=False
    )

    @property
    def found(self) -> tuple[float, ...]:
        """Kinks within the reach of the standard Gaussian that were not named."""
        return self.at(1.0).found

    def at(self, sigma: float) -> Mesh:
        """Return the mesh for deviations up to sigma and above half of it.

        Raises
        ------
        ValueError
            As `resolve`.
        """
        octave = math.ceil(math.log2(sigma) - 1e-9)
        if octave not in self._made:
            kinks = self.named if octave == 0 else (*self.named, *self.found)
            reach = DEVIATIONS * 2.0**octave
            try:
                made = resolve(
                    self.f, kinks, reach=reach, noise=self.noise, who=self.who
                )
            except ValueError as error:
                made = str(error)
            self._made[octave] = made
        known = self._made[octave]
        if isinstance(known, str):
            raise ValueError(known)
        return known

    def kinks(self, sigma: float) -> tuple[float, ...]:
        """Return the named kinks and all that were found within the reach of sigma."""
        return tuple(sorted({*self.named, *self.found, *self.at(sigma).found}))
