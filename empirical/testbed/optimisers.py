"""Optimisers as frozen values; each replicate has its own rate.

The formulas are PyTorch's. All of them act entry by entry, so that a stacked update is
the update of each single network; what they keep lies in `Stack.state`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.optim.adam import adam

from empirical.checks import check_kinds
from empirical.declared import Positive, Share, Weight, Whole, check_fields
from empirical.testbed.slopes import Slope, dense, fold_into_, norms, scaled
from empirical.testbed.stack import Stack, along


class Optimiser(ABC):
    """Rule that moves the parameters of a stack along their gradients."""

    @abstractmethod
    def prepare(self, stack: Stack) -> None:
        """Add to `stack.state` what the updates will keep."""

    @abstractmethod
    def update(self, stack: Stack, losses: Tensor, slopes: Sequence[Slope]) -> None:
        """Make one update in place.

        Parameters
        ----------
        stack : Stack
        losses : Tensor, shape (replicates,)
            Before the update.
        slopes : sequence of Slope
            Gradients of `stack.trained`.
        """


def _zeros(stack: Stack) -> tuple[Tensor, ...]:
    return tuple(torch.zeros_like(p) for p in stack.trained)


@dataclass(frozen=True, kw_only=True)
class SGD(Optimiser):
    r"""Gradient descent with heavy-ball momentum and weight decay.

    .. math:: m \leftarrow \mu m + g + \lambda w, \qquad w \leftarrow w - \eta m

    Parameters
    ----------
    momentum : float
        In [0, 1).
    weight_decay : float
        That times the parameter is added to the gradient; the penalty's derivative for
        a penalty of half of it times the square.
    decayed : tuple of int, optional
        Which of the trained parameters decay; all by default.

    Raises
    ------
    ValueError
        If a value does not fit.

    Examples
    --------
    >>> stack = Stack([torch.zeros(2, 1)], rates=[1.0, 2.0])
    >>> sgd = SGD(momentum=0.5)
    >>> sgd.prepare(stack)
    >>> for _ in range(2):
    ...     sgd.update(stack, torch.zeros(2), [torch.ones(2, 1)])
    >>> stack.params[0].tolist()
    [[-2.5], [-5.0]]
    """

    momentum: Share = 0.0
    weight_decay: Weight = 0.0
    decayed: tuple[Whole, ...] | None = None

    def __post_init__(self) -> None:
        check_fields(self)

    def prepare(self, stack: Stack) -> None:
        """Add the momenta, if there are any; refuse to decay what is not trained."""
        count = len(stack.trained)
        for index in self.decayed or ():
            if not 0 <= index < count:
                raise ValueError(
                    f"SGD: `decayed` must be positions among the {count} trained"
                    f" parameters, from 0 to {count - 1}, got {index}"
                )
        if self.momentum:
            stack.state["momentum"] = _zeros(stack)

    def update(self, stack: Stack, losses: Tensor, slopes: Sequence[Slope]) -> None:
        """Make one update in place; see `Optimiser.update`."""
        del losses
        moments = stack.state.get("momentum", ())
        for index, (param, slope) in enumerate(zip(stack.trained, slopes, strict=True)):
            if self.weight_decay and (self.decayed is None or index in self.decayed):
                slope = torch.add(dense(slope), param, alpha=self.weight_decay)
            if self.momentum:
                fold_into_(moments[index], self.momentum, slope)
                slope = moments[index]
            param.addcmul_(along(stack.rates, param), dense(slope), value=-1.0)


class _Entrywise(Optimiser):
    """Moves each entry by minus the rate times what it makes of that entry's moments."""

    moments: ClassVar[tuple[str, ...]]
    eps: float

    def __post_init__(self) -> None:
        check_fields(self)

    def prepare(self, stack: Stack) -> None:
        """Add the moments, zero at first; refuse an `eps` that the dtype calls zero."""
        if not torch.tensor(self.eps, dtype=stack.rates.dtype) > 0.0:
            raise ValueError(
                f"{type(self).__name__}: `eps` must be positive in the parameters' "
                f"{stack.rates.dtype}, but {self.eps} is zero there: an entry without a "
                "slope would become nan"
            )
        for name in self.moments:
            stack.state[name] = _zeros(stack)

    def update(self, stack: Stack, losses: Tensor, slopes: Sequence[Slope]) -> None:
        """Make one update in place; see `Optimiser.update`."""
        del losses
        kept = (stack.state[name] for name in self.moments)
        for param, slope, *moments in zip(stack.trained, slopes, *kept, strict=True):
            g = dense(slope)
            change = self.change(g, along(stack.clock, g) + 1.0, *moments)
            param.addcmul_(along(stack.rates, param), change, value=-1.0)

    @abstractmethod
    def change(self, g: Tensor, clock: Tensor, *moments: Tensor) -> Tensor:
        """Update the moments by a gradient, in place; return the step per learning rate.

        `clock`, (replicates, 1, ...), has the updates made, this one too; the moments are
        in the order of the class's `moments`.
        """


@dataclass(frozen=True, kw_only=True)
class _Adaptive(_Entrywise):
    """By two moments, each forgotten at a rate of its own."""

    betas: tuple[Share, Share] = (0.9, 0.999)
    eps: Positive = 1e-8


@dataclass(frozen=True, kw_only=True)
class Adam(_Adaptive):
    """Adam (Kingma and Ba 2015), as PyTorch has it.

    Replicates of one rate are updated by PyTorch's own fused pass over memory, where
    parameters lie in it in their order, or matrices transposed.

    Parameters
    ----------
    betas : tuple of float
        In [0, 1).
    eps : float
        Positive.

    Raises
    ------
    ValueError
        If a value does not fit.
    """

    moments = ("first", "second")

    def update(self, stack: Stack, losses: Tensor, slopes: Sequence[Slope]) -> None:
        """Make one update in place; see `Optimiser.update`."""
        rate = stack.common_rate
        # The fused kernel takes memory as it lies, without regard to strides.
        packed = all(_in_memory(param).is_contiguous() for param in stack.trained)
        if rate is None or not packed:
            super().update(stack, losses, slopes)
        else:
            self._fused(stack, [dense(slope) for slope in slopes], rate)

    def change(self, g: Tensor, clock: Tensor, *moments: Tensor) -> Tensor:
        """Return the mean over the root of the mean square; see `_Entrywise.change`."""
        first, second = moments
        first.lerp_(g, 1.0 - self.betas[0])
        second.mul_(self.betas[1]).addcmul_(g, g, value=1.0 - self.betas[1])
        # In double precision: 1 - 0.999 loses three digits.
        shares = [1.0 - beta ** clock.double() for beta in self.betas]
        root = second.sqrt() / shares[1].sqrt().to(clock.dtype) + self.eps
        return first / shares[0].to(clock.dtype) / root

    def _fused(self, stack: Stack, gradients: list[Tensor], rate: float) -> None:
        # One pass over memory, in its order: strides of all four must agree.
        params = [_in_memory(p) for p in stack.trained]
        adam(
            params,
            [_in_order_of(p, g) for p, g in zip(stack.trained, gradients, strict=True)],
            [_in_memory(m) for m in stack.state["first"]],
            [_in_memory(m) for m in stack.state["second"]],
            [],
            # The fused kernel counts its step tensors up: copies, so that the clock stays.
            [stack.clock[0].to(torch.float32, copy=True) for _ in params],
            fused=True,
            amsgrad=False,
            beta1=self.betas[0],
            beta2=self.betas[1],
            lr=rate,
            weight_decay=0.0,
            eps=self.eps,
            maximize=False,
        )


@dataclass(frozen=True, kw_only=True)
class Adamax(_Adaptive):
    """Adamax (Kingma and Ba 2015), as PyTorch has it."""

    moments = ("first", "largest")

    def change(self, g: Tensor, clock: Tensor, *moments: Tensor) -> Tensor:
        """Return the mean over the largest gradient; see `_Entrywise.change`."""
        first, largest = moments
        first.lerp_(g, 1.0 - self.betas[0])
        torch.maximum(largest.mul_(self.betas[1]), g.abs() + self.eps, out=largest)
        return first / (1.0 - self.betas[0] ** clock) / largest


@dataclass(frozen=True, kw_only=True)
class Adagrad(_Entrywise):
    """Adagrad (Duchi, Hazan and Singer 2011), as PyTorch has it."""

    eps: Positive = 1e-10
    moments = ("squares",)

    def change(self, g: Tensor, clock: Tensor, *moments: Tensor) -> Tensor:
        """Return the gradient over the root of the sum; see `_Entrywise.change`."""
        del clock
        (squares,) = moments
        squares.addcmul_(g, g)
        return g / (squares.sqrt() + self.eps)


@dataclass(frozen=True, kw_only=True)
class RMSprop(_Entrywise):
    """RMSprop (Hinton 2012), as PyTorch has it."""

    alpha: Share = 0.99
    eps: Positive = 1e-8
    moments = ("squares",)

    def change(self, g: Tensor, clock: Tensor, *moments: Tensor) -> Tensor:
        """Return the gradient over the root of the mean; see `_Entrywise.change`."""
        del clock
        (squares,) = moments
        squares.mul_(self.alpha).addcmul_(g, g, value=1.0 - self.alpha)
        return g / (squares.sqrt() + self.eps)


@dataclass(frozen=True, kw_only=True)
class Clipped(Optimiser):
    """An optimiser whose gradients are clipped to a norm over all parameters.

    Parameters
    ----------
    base : Optimiser
    largest : float
        Of each replicate's gradient.
    rescale_above : float, optional
        Until a replicate's loss has first been below `rescale_above` times its first
        loss, bring every gradient to the norm `largest`, small ones too: otherwise a
        plateau at zero output lasts for ever.

    Raises
    ------
    ValueError
        If a value does not fit.
    """

    base: Optimiser
    largest: Positive
    rescale_above: Positive | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_kinds("Clipped", base=(self.base, Optimiser))

    def prepare(self, stack: Stack) -> None:
        """Add what the base keeps and, to rescale, the first losses and who was below."""
        self.base.prepare(stack)
        if self.rescale_above is not None:
            below = torch.zeros_like(stack.rates, dtype=torch.bool)
            stack.state["first loss"] = (torch.zeros_like(stack.rates),)
            stack.state["below"] = (below,)

    def update(self, stack: Stack, losses: Tensor, slopes: Sequence[Slope]) -> None:
        """Make one update in place; see `Optimiser.update`."""
        sizes = norms(slopes)
        factors = torch.where(sizes > 0.0, self.largest / sizes, 1.0)
        # What raises the smallest of them is no number of the dtype.
        factors = factors.clamp(max=torch.finfo(stack.rates.dtype).max)
        # A norm that is nan stays one: `observers.Diverged` finds the loss.
        clipped = factors.clamp(max=1.0)
        if self.rescale_above is not None:
            (first,), (below,) = stack.state["first loss"], stack.state["below"]
            first.copy_(torch.where(stack.clock == 0.0, losses, first))
            below |= losses < self.rescale_above * first
            clipped = torch.where(below, clipped, factors)
        clipped = clipped.to(stack.rates.dtype)
        self.base.update(stack, losses, [scaled(s, clipped) for s in slopes])


def _in_memory(tensor: Tensor) -> Tensor:
    """Return a view in the order of memory, where that is the transposed one."""
    return tensor if tensor.is_contiguous() else tensor.mT


def _in_order_of(param: Tensor, gradient: Tensor) -> Tensor:
    view = gradient if param.is_contiguous() else gradient.mT
    return view.contiguous()
