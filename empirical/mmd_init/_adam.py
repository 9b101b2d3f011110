"""Adam on stacks of networks: one step trains all draws, none knows of the others."""

import math
from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor
from torch.nn import functional
from torch.optim.adam import adam

from empirical.mmd_init.networks import Network, State

Progress = Callable[[int, int, float], None]
"""Called with updates done, updates in all, and the mean loss of the last ones."""
Told = Callable[[int, float], None]
"""The same for one part: its updates done, and the loss."""

CPU_BYTES, CUDA_BYTES = 256 * 2**20, 8 * 2**30
"""Of parameters, gradients and moments at once."""


def draws_at_once(network: Network, state: Mapping[str, Tensor]) -> int:
    """Return how many draws to train together by default.

    Parameters, gradients and both moments of all fit a budget. On a CPU it is enough to
    hide the cost of calls, and more brings nothing: networks of some hundred units
    a layer are limited by arithmetic and memory from the first on.

    Examples
    --------
    >>> net = Network(widths=(784, 392, 392, 392, 2))
    >>> draws_at_once(net, net.init("he", [torch.Generator()]))
    27
    """
    one = next(iter(state.values()))
    budget = CPU_BYTES if one.device.type == "cpu" else CUDA_BYTES
    return max(1, budget // (4 * network.parameters * one.element_size()))


def in_chunks(
    draws: int, size: int, updates: int, progress: Progress | None
) -> Iterator[tuple[range, Told]]:
    """Give the draws to train together, and what to call on the way.

    Examples
    --------
    >>> for members, told in in_chunks(5, 3, 100, lambda *seen: print(*seen)):
    ...     told(50, 0.7)
    50 200 0.7
    150 200 0.7
    """
    firsts = range(0, draws, size)
    for index, first in enumerate(firsts):

        def told(done: int, loss: float, before: int = index * updates) -> None:
            if progress is not None:
                progress(before + done, len(firsts) * updates, loss)

        yield range(first, min(first + size, draws)), told


def check_adam(
    who: str, *, rate: float, betas: tuple[float, float], eps: float, batch: int
) -> None:
    """Refuse numbers that Adam has no use for.

    Raises
    ------
    ValueError
        Naming the recipe, the argument and the offender.
    """
    for name, value in (("rate", rate), ("eps", eps)):
        if not (math.isfinite(value) and value > 0.0):
            raise ValueError(
                f"{who}: `{name}` must be positive and finite, but it is {value}"
            )
    if len(betas) != 2 or not all(0.0 <= b < 1.0 for b in betas):
        raise ValueError(f"{who}: `betas` must be two in [0, 1), but they are {betas}")
    check_count(who, "batch", batch)


def check_count(who: str, name: str, value: int) -> None:
    """Refuse what is not at least 1.

    Raises
    ------
    ValueError
        Naming caller, argument and offender.
    """
    if value < 1:
        raise ValueError(f"{who}: `{name}` must be at least 1, but it is {value}")


def check_state(who: str, network: Network, state: Mapping[str, Tensor]) -> int:
    """Return the number of draws of a stack; refuse what is not one of `network`.

    Raises
    ------
    ValueError
        If tensors are absent, of other shapes or not finite.
    """
    wanted: dict[str, tuple[int, ...]] = {}
    fans = zip(network.widths, network.widths[1:], network.layers, strict=False)
    for fan, out, layer in fans:
        wanted |= {f"{layer.linear}.weight": (out, fan), f"{layer.linear}.bias": (out,)}
        if layer.norm is not None:
            for part in ("weight", "bias", "running_mean", "running_var"):
                wanted[f"{layer.norm}.{part}"] = (out,)
    absent = [name for name in wanted if name not in state]
    if absent:
        raise ValueError(
            f"{who}: `state` must have the tensors of `network`, but {len(absent)} of "
            f"{len(wanted)} are absent, e.g. {absent[0]!r}"
        )
    draws = len(state[next(iter(wanted))])
    for name, shape in wanted.items():
        found = state[name]
        if tuple(found.shape) != (draws, *shape) or not draws:
            raise ValueError(
                f"{who}: `state` must be a stack, {name!r} of shape "
                f"{(max(draws, 1), *shape)}, but it is {tuple(found.shape)}. A single "
                "draw needs a 1 in front: `stacked([state])`."
            )
        bad = int((~torch.isfinite(found)).sum())
        if bad:
            raise ValueError(
                f"{who}: `state` must be finite, but {bad} of {found.numel()} entries "
                f"of {name!r} are not. Leave draws that diverged out."
            )
    return draws


class Learner:
    """A stack in training by Adam, with the parameters worth keeping of each draw.

    One call updates all draws: Adam works by entry, and the gradient of a sum of losses
    has no cross terms, so a draw moves as it would alone. Accurate as PyTorch's own
    update, which is what runs.

    Parameters
    ----------
    network : Network
    state : mapping
        A stack; copied.
    rate, betas, eps
        Of Adam (Kingma and Ba 2015), as PyTorch has them.
    """

    def __init__(
        self,
        network: Network,
        state: Mapping[str, Tensor],
        *,
        rate: float,
        betas: tuple[float, float],
        eps: float,
    ) -> None:
        self.network = network
        # Not names of the state that the network has no use for: counters of batches.
        names = network.learnt() + [
            f"{layer.norm}.running_{part}"
            for layer in network.layers
            if layer.norm is not None
            for part in ("mean", "var")
        ]
        self.state: State = {name: _laid_out(state[name].detach()) for name in names}
        self.kept: State = {name: t.clone() for name, t in self.state.items()}
        self.leaves = [self.state[name].requires_grad_() for name in network.learnt()]
        self.rate, self.betas, self.eps = rate, betas, eps
        self._memory = [_in_memory(p.detach()) for p in self.leaves]
        self._first = [torch.zeros_like(p) for p in self._memory]
        self._second = [torch.zeros_like(p) for p in self._memory]
        one = self.leaves[0]
        self._steps = [torch.zeros((), device=one.device) for _ in self.leaves]
        self.diverged = torch.zeros(len(one), dtype=torch.bool, device=one.device)

    def step(self, inputs: Tensor, classes: Tensor) -> Tensor:
        """Move against the gradient of the cross entropy; return it, one a draw.

        Parameters
        ----------
        inputs : Tensor, shape (draws, batch, features)
        classes : Tensor, shape (draws, batch), int64
        """
        logits, _ = self.network.run(self.state, inputs, training=True)
        losses = cross_entropy(logits, classes)
        gradients = torch.autograd.grad(losses.sum(), self.leaves)
        # Copies only where autograd has another layout: a fused update relies on it.
        self._update([_in_memory(g).contiguous() for g in gradients])
        losses = losses.detach()
        self.diverged |= ~torch.isfinite(losses)
        return losses

    @torch.no_grad()
    def _update(self, gradients: list[Tensor]) -> None:
        # One pass over memory; `torch.optim.Adam` does the same, but importing what it
        # needs takes longer than many a training here.
        adam(
            self._memory,
            gradients,
            self._first,
            self._second,
            [],
            self._steps,
            fused=True,
            amsgrad=False,
            beta1=self.betas[0],
            beta2=self.betas[1],
            lr=self.rate,
            weight_decay=0.0,
            eps=self.eps,
            maximize=False,
        )

    @torch.no_grad()
    def keep(self, better: Tensor) -> None:
        """Keep the present state of some draws, those where `better` (draws,) is True."""
        rows = better.nonzero().squeeze(-1)
        for name, tensor in self.state.items():
            self.kept[name][rows] = tensor[rows]


def _in_memory(tensor: Tensor) -> Tensor:
    """Return a view of weights (draws, in, out), of others as they are.

    Their memory has that order, for so autograd has their gradients, of products with
    their transpose; and an update in the order of memory is three times as fast.
    """
    return tensor.mT if tensor.ndim == 3 else tensor


def _laid_out(tensor: Tensor) -> Tensor:
    """Return a copy whose memory is what `_in_memory` shows."""
    return _in_memory(_in_memory(tensor).clone(memory_format=torch.contiguous_format))


def cross_entropy(logits: Tensor, classes: Tensor) -> Tensor:
    """Return the mean over the batch, one a draw, of (draws, batch, classes)."""
    each = functional.cross_entropy(
        logits.flatten(0, 1), classes.flatten(), reduction="none"
    )
    return each.view(classes.shape).mean(dim=-1)
