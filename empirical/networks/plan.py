"""What layers are, as frozen values; `layers` says what they do.

Nothing here loads PyTorch, so that configurations can be listed at once.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from empirical.checks import check_choice, check_counts, check_weights

if TYPE_CHECKING:
    from torch import Tensor

Elementwise = Callable[["Tensor"], "Tensor"]
"""Acts on each entry; keeps shape, dtype and device."""

NAMED = ("linear", "relu", "tanh", "selu")
"""Activations that have a name, see `layers.ACTIVATIONS`; any other is a callable."""

Activation = str | Elementwise

Weighting = Literal["rows", "matrix"]
WEIGHTINGS = ("rows", "matrix")


@dataclass(frozen=True, kw_only=True)
class Norm:
    """Normalisation of what enters an activation: less its mean, over its deviation.

    Attributes
    ----------
    over : {"batch", "layer"}
        Statistics of each unit over the batch (and the spots of an image), or of each
        example over its units.
    affine : bool
        Whether each unit then has a gain and a shift, which are learnt.
    eps : float
        Added to variances.
    momentum : float, optional
        Of the running statistics that stand for the batch's outside of training; without
        it there are none, and statistics are always the batch's. Only over batches.

    Raises
    ------
    ValueError
        If any of these does not fit.
    """

    over: Literal["batch", "layer"]
    affine: bool = True
    eps: float = 1e-5
    momentum: float | None = 0.1

    def __post_init__(self) -> None:
        check_choice("Norm", "over", self.over, ("batch", "layer"))
        check_weights("Norm", eps=self.eps)
        if self.momentum is not None and not 0.0 < self.momentum <= 1.0:
            raise ValueError(
                f"Norm: `momentum` must lie in (0, 1], but it is {self.momentum}"
            )

    @property
    def runs(self) -> bool:
        """Whether there are running statistics."""
        return self.over == "batch" and self.momentum is not None


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A weight, and what is done to its outputs, in this order.

    Attributes
    ----------
    weight : tuple of int
        (out, in), or (out, in, K, K) of a convolution.
    stride : int
        Of the convolution.
    bias : bool
    weighting : {"rows", "matrix"}, optional
        The weight acts divided by the norm of each row, times a gain, or by its own.
    sized : bool
        Whether one number multiplies a weight divided by its own norm.
    norm : Norm, optional
    activation : str or callable
    divisor : float
        Divides the outputs.
    skip : int
        The inputs of the layer so many before the next are added; 0 adds none.
    early : bool
        Whether they are added ahead of the activation: every so many spots where there
        are fewer than before, and zeros for new channels.
    pooled : bool
        Whether images are averaged over their spots first.
    numbers : tuple of {"ahead", "factor", "behind"}
        Single numbers that are learnt: added to the inputs, multiplying the outputs,
        then added to them.
    start : float
        Factor of the first weights.
    """

    weight: tuple[int, ...]
    stride: int = 1
    bias: bool = False
    weighting: Weighting | None = None
    sized: bool = False
    norm: Norm | None = None
    activation: Activation = "linear"
    divisor: float = 1.0
    skip: int = 0
    early: bool = False
    pooled: bool = False
    numbers: tuple[Literal["ahead", "factor", "behind"], ...] = ()
    start: float = 1.0

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of its parameters."""
        out = self.weight[:1]
        found = {"weight": self.weight}
        if self.weighting == "rows":
            found["size"] = out
        elif self.sized:
            found["size"] = (1,)
        if self.bias:
            found["bias"] = out
        if self.norm is not None and self.norm.affine:
            found |= {"gain": out, "shift": out}
        return found | dict.fromkeys(self.numbers, (1,))

    @property
    def running(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of its running statistics, mean and variance."""
        runs = self.norm is not None and self.norm.runs
        return (self.weight[:1],) * 2 if runs else ()

    @property
    def by_columns(self) -> bool:
        """Whether products have their examples last in memory, for their statistics."""
        return self.norm is not None and self.norm.over == "batch"


def checked_sizes(who: str, name: str, sizes: Iterable[int]) -> tuple[int, ...]:
    """Return whole numbers from 1 on as a tuple of int; refuse others."""
    found = tuple(sizes)
    for size in found:
        check_counts(who, **{name: size})
    return tuple(int(size) for size in found)


def checked_image(who: str, name: str, shape: Iterable[int]) -> tuple[int, int, int]:
    """Return channels, height and width; refuse what they can't be."""
    found = checked_sizes(who, name, shape)
    if len(found) != 3:
        raise ValueError(
            f"{who}: `{name}` must be channels, height and width, but it is {found}"
        )
    return found
