"""The paper's optimisers, each draw with its own rate and its own clock.

The formulas are PyTorch's, with its default constants; a stacked update equals the
updates of single networks because all of them act entry by entry.
"""

import copy
import difflib
from collections.abc import Sequence

import torch
from torch import Tensor

from empirical.identity_map.gradients import Slope, along

RATES = {
    "sgd": 0.01,
    "adagrad": 0.001,
    "rmsprop": 0.0001,
    "adam": 0.0001,
    "adamax": 0.001,
}
"""Optimisers and the rates that the paper gives them."""

_MOMENTS = {"sgd": 1, "adagrad": 1, "rmsprop": 1, "adam": 2, "adamax": 2}

# Of Adam and Adamax, and of RMSprop's average.
_FIRST, _SECOND, _AVERAGE, _TINY = 0.9, 0.999, 0.99, 1e-8


def checked(name: str) -> str:
    """Return `name` if it is a known optimiser.

    Raises
    ------
    ValueError
        If it is not; the message names the nearest one.
    """
    if name not in RATES:
        near = difflib.get_close_matches(str(name).lower(), RATES, n=1, cutoff=0.3)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"Recipe: `optimiser` must be one of {', '.join(RATES)}, but it is "
            f"{name!r}.{hint}"
        )
    return name


class Optimiser:
    """Moments of every trained weight, and each draw's count of updates.

    Parameters
    ----------
    name : str
        A key of `RATES`.
    weights : sequence of Tensor
        What will be updated, draws in front.
    momentum : float
        Of SGD.

    Attributes
    ----------
    moments : list of list of Tensor
        For each moment one tensor a weight.
    clock : Tensor, shape (draws,)

    Examples
    --------
    >>> from empirical.identity_map.gradients import Dense
    >>> w = torch.zeros(2, 1)
    >>> sgd = Optimiser("sgd", [w], momentum=0.5)
    >>> for _ in range(2):
    ...     sgd.update([w], [Dense(torch.ones(2, 1))], torch.tensor([1.0, 2.0]))
    >>> w.tolist()
    [[-2.5], [-5.0]]
    """

    def __init__(
        self, name: str, weights: Sequence[Tensor], *, momentum: float = 0.9
    ) -> None:
        self.name, self.momentum = checked(name), momentum
        self.moments = [
            [torch.zeros_like(w) for w in weights] for _ in range(_MOMENTS[name])
        ]
        self.clock = torch.zeros(
            len(weights[0]), dtype=weights[0].dtype, device=weights[0].device
        )

    def update(
        self, weights: Sequence[Tensor], slopes: Sequence[Slope], rates: Tensor
    ) -> None:
        """Update `weights` in place; `rates` of shape (draws,)."""
        self.clock += 1.0
        for index, (weight, slope) in enumerate(zip(weights, slopes, strict=True)):
            moments = [each[index] for each in self.moments]
            if self.name == "sgd":
                slope.fold_into_(moments[0], self.momentum)
                weight.addcmul_(along(rates, weight), moments[0], value=-1.0)
            else:
                change = self._change(moments, slope.dense())
                weight.addcmul_(along(rates, weight), change, value=-1.0)

    def part(self, rows: slice) -> "Optimiser":
        """Return the optimiser of some draws, which shares its memory with this one."""
        mine = copy.copy(self)
        mine.moments = [[m[rows] for m in each] for each in self.moments]
        mine.clock = self.clock[rows]
        return mine

    def keep(self, chosen: Tensor) -> None:
        """Drop all draws but the chosen ones."""
        self.moments = [[m[chosen] for m in each] for each in self.moments]
        self.clock = self.clock[chosen]

    def forget_(self, draw: int) -> None:
        """Start one draw anew."""
        self.clock[draw] = 0.0
        for each in self.moments:
            for moment in each:
                moment[draw] = 0.0

    def _change(self, moments: list[Tensor], g: Tensor) -> Tensor:
        """Advance the moments; return what the rate multiplies."""
        first, second = moments[0], moments[-1]
        clock = along(self.clock, g)
        match self.name:
            case "adagrad":
                first.addcmul_(g, g)
                return g / (first.sqrt() + 1e-10)
            case "rmsprop":
                first.mul_(_AVERAGE).addcmul_(g, g, value=1.0 - _AVERAGE)
                return g / (first.sqrt() + _TINY)
            case "adam":
                first.lerp_(g, 1.0 - _FIRST)
                second.mul_(_SECOND).addcmul_(g, g, value=1.0 - _SECOND)
                root = second.sqrt() / (1.0 - _SECOND**clock).sqrt() + _TINY
                return first / (1.0 - _FIRST**clock) / root
            case _:
                first.lerp_(g, 1.0 - _FIRST)
                torch.maximum(second.mul_(_SECOND), g.abs() + _TINY, out=second)
                return first / (1.0 - _FIRST**clock) / second
