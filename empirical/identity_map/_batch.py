"""The networks in training, as tensors on a device, and one update of all of them."""

from collections.abc import Callable

import torch
from torch import Tensor

from empirical.identity_map.gradients import (
    Slope,
    losses_and_slopes,
    losses_of,
)
from empirical.identity_map.networks import Network, Params
from empirical.identity_map.optimisers import Optimiser
from empirical.identity_map.recipes import Recipe

# Images that one evaluation of a loss holds at a time.
_AT_ONCE = 1000

# Updates before a capture, so that libraries have chosen their kernels.
_WARMUP = 3


# Weights and moments that are updated together on a CPU, in bytes: a few updates in a
# row then find them in a cache. Measured: with 8 networks of 20 layers of 512 units at
# once, updates take almost three times as long.
_CACHED = 4 * 2**20


class Batch:
    """Weights, moments and rates of the draws still in training.

    One update never waits for the device: losses go to a buffer there.
    """

    def __init__(
        self,
        network: Network,
        params: Params,
        images: Tensor,
        targets: Tensor,
        recipe: Recipe,
    ) -> None:
        self.network, self.recipe = network, recipe
        self.images, self.targets = images, targets
        self.params = tuple(w.detach().clone() for w in params)
        trained = self.params[:1] if recipe.trained == "bottom" else self.params
        self.optimiser = Optimiser(recipe.optimiser, trained, momentum=recipe.momentum)
        first = self.params[0]
        draws = len(first)
        self.rates = torch.zeros(draws, dtype=first.dtype, device=first.device)
        self.first = torch.zeros_like(self.rates)
        self.released = torch.zeros(draws, dtype=torch.bool, device=first.device)
        self.buffer = first.new_zeros((recipe.check, draws))
        self.chosen = torch.zeros(
            recipe.batch or 1, dtype=torch.int64, device=first.device
        )
        self._lanes: list[_Lane] = []

    def advance(self, count: int, examples: Tensor | None) -> Tensor:
        """Make `count` updates; return the losses before each, (count, draws).

        `examples`, shape (count, batch), chooses the images of each update.
        """
        if not self._lanes:
            self._lanes = [_Lane(self, rows) for rows in self._parts()]
        for lane in self._lanes:
            lane.cursor.zero_()
            for index in range(count):
                if examples is not None:
                    self.chosen.copy_(examples[index])
                lane.step()
        # On the CPU: everything that looks at losses is there, in their precision.
        return self.buffer[:count].cpu().clone()

    def losses(self, chosen: Tensor) -> Tensor:
        """Return the losses now of the draws `chosen`, over all examples."""
        params = tuple(w[chosen] for w in self.params)
        images = self.images if len(self.images) == 1 else self.images[chosen]
        targets = self.targets if len(self.targets) == 1 else self.targets[chosen]
        total, n = params[0].new_zeros(len(chosen)), images.shape[1]
        for start in range(0, n, _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            h = images[:, part]
            outputs = self.network.run(
                params, h if self.network.kind == "cnn" else h.flatten(2)
            )[-1]
            each = losses_of(outputs, targets[:, part], self.recipe.loss)
            share = h.shape[1] / n if self.recipe.loss == "mean" else 1.0
            total += share * each
        return total.cpu()

    def keep(self, chosen: Tensor) -> None:
        """Drop all draws but the chosen ones."""
        self.params = tuple(w[chosen] for w in self.params)
        self.optimiser.keep(chosen)
        for name in ("rates", "first", "released"):
            setattr(self, name, getattr(self, name)[chosen])
        self.buffer = self.buffer[:, chosen]
        if len(self.images) > 1:
            self.images = self.images[chosen]
        if len(self.targets) > 1:
            self.targets = self.targets[chosen]
        self._lanes = []

    def restart_(self, draw: int, initial: Params) -> None:
        """Put one draw back to its first weights."""
        for weight, start in zip(self.params, initial, strict=True):
            weight[draw] = start
        self.optimiser.forget_(draw)
        self.released[draw] = False

    def state(self) -> dict[str, Tensor | list[Tensor]]:
        """Return what a checkpoint holds of the batch."""
        return {
            "params": list(self.params),
            "moments": [m for each in self.optimiser.moments for m in each],
            "clock": self.optimiser.clock,
            "first": self.first,
            "released": self.released,
        }

    def restore(self, state: dict[str, Tensor | list[Tensor]]) -> None:
        """Take a state that `state` returned, for the same draws."""
        mine = self.state()
        for name, value in state.items():
            pairs = zip(_listed(mine[name]), _listed(value), strict=True)
            for target, source in pairs:
                target.copy_(source)

    def _parts(self) -> list[slice]:
        """Divide the draws into those updated together.

        Convolutions gain from being many, and a GPU from few launches.
        """
        draws = len(self.rates)
        size = draws
        if not self.rates.is_cuda and self.network.kind != "cnn":
            tensors = _listed(self.state())
            held = sum(t.numel() * t.element_size() for t in tensors) / draws
            size = max(1, int(_CACHED // held))
        return [slice(a, min(a + size, draws)) for a in range(0, draws, size)]


class _Lane:
    """Some draws of a batch, as views of its tensors, and their update."""

    def __init__(self, batch: Batch, rows: slice) -> None:
        self.network, self.recipe = batch.network, batch.recipe
        self.params = tuple(w[rows] for w in batch.params)
        self.optimiser = batch.optimiser.part(rows)
        self.rates, self.first = batch.rates[rows], batch.first[rows]
        self.released, self.buffer = batch.released[rows], batch.buffer[:, rows]
        self.images = batch.images if len(batch.images) == 1 else batch.images[rows]
        self.targets = batch.targets if len(batch.targets) == 1 else batch.targets[rows]
        self.chosen = batch.chosen
        self.cursor = torch.zeros(1, dtype=torch.int64, device=self.rates.device)
        self.step = self._captured() if self.rates.is_cuda else self._update

    def _update(self) -> None:
        images, targets = self.images, self.targets
        if self.recipe.batch is not None:
            images, targets = images[:, self.chosen], targets[:, self.chosen]
        bottom = self.recipe.trained == "bottom"
        losses, slopes = losses_and_slopes(
            self.network,
            self.params,
            images,
            targets,
            loss=self.recipe.loss,
            bottom=bottom,
        )
        self.first.copy_(torch.where(self.optimiser.clock == 0.0, losses, self.first))
        if self.recipe.release is not None:
            self.released |= losses < self.recipe.release * self.first
        if self.recipe.clip is not None:
            slopes = self._clipped(slopes, self.recipe.clip)
        weights = self.params[:1] if bottom else self.params
        self.optimiser.update(weights, slopes, self.rates)
        self.buffer.index_copy_(0, self.cursor, losses[None])
        self.cursor += 1

    def _clipped(self, slopes: tuple[Slope, ...], largest: float) -> tuple[Slope, ...]:
        squares = torch.stack([slope.square_norms() for slope in slopes]).sum(dim=0)
        norms = squares.sqrt()
        factors = torch.where(norms > 0.0, largest / norms, 1.0)
        # A loss that is nan stays one: it compares as neither, and is found later.
        least = factors.clamp(max=1.0)
        if self.recipe.rescale:
            least = torch.where(self.released, least, factors)
        return tuple(slope.scaled(least) for slope in slopes)

    def _captured(self) -> Callable[[], None]:
        """Record one update as a CUDA graph: one launch instead of hundreds."""
        moments = [m for each in self.optimiser.moments for m in each]
        mutable = (*self.params, *moments, self.optimiser.clock, self.first)
        mutable += (self.released, self.buffer, self.cursor)
        before = [tensor.clone() for tensor in mutable]
        stream = torch.cuda.Stream(self.rates.device)
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARMUP):
                self._update()
                self.cursor.zero_()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._update()
        for tensor, value in zip(mutable, before, strict=True):
            tensor.copy_(value)
        return graph.replay


def _listed(value: object) -> list[Tensor]:
    """Return the tensors of nested lists and dictionaries, in order."""
    if isinstance(value, Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value
    return [tensor for part in parts for tensor in _listed(part)]  # type: ignore[attr-defined]
