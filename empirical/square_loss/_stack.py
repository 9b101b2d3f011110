"""The draws in training, as one flat vector on a device, and one step of all."""

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

from empirical.square_loss._dense import Workspace
from empirical.square_loss.networks import Network, Params
from empirical.square_loss.recipes import Recipe

# Activations and slopes of draws that take a step together on a CPU, in bytes: a few
# stay in a cache. Measured at 4 layers of 32 units on 300 examples: with all 30 draws
# together a step takes a fifth longer, with single ones half as long again.
_CACHED = 3 * 2**20


class Stack:
    """Parameters and momenta of the draws still in training.

    All numbers lie in one vector, layer after layer, draws in front within each: so a
    step's update is four operations, whatever the number of layers and draws.
    """

    def __init__(
        self,
        network: Network,
        params: Params,
        inputs: Tensor,
        targets: Tensor,
        recipe: Recipe,
        *,
        workers: int = 1,
    ) -> None:
        self.network, self.recipe = network, recipe
        self.pool = ThreadPoolExecutor(workers) if workers > 1 else None
        self.workers = workers
        self.inputs, self.targets = inputs, targets
        self._take([p.detach().clone() for p in params])
        self.moments = torch.zeros_like(self.flat)

    def _take(self, params: list[Tensor]) -> None:
        draws = len(params[0])
        self.draws = draws
        self.sizes = [p.numel() for p in params]
        self.flat = torch.cat([p.reshape(-1) for p in params])
        self.params = tuple(
            part.view(p.shape)
            for part, p in zip(self.flat.split(self.sizes), params, strict=True)
        )
        self.gradient = torch.empty_like(self.flat)
        self.slopes = tuple(
            part.view(p.shape)
            for part, p in zip(
                self.gradient.split(self.sizes), self.params, strict=True
            )
        )
        self.workspaces: dict[int, list[tuple[slice, Workspace]]] = {}
        self.rates = torch.zeros_like(self.flat)
        last = self.network.layers - 1 if self.network.family != "wn" else -1
        decay = torch.full_like(self.flat, self.recipe.weight_decay)
        if self.recipe.decayed == "last":
            kept = decay.split(self.sizes)[last].clone()
            decay.zero_().split(self.sizes)[last].copy_(kept)
        self.decay = decay if self.recipe.weight_decay > 0.0 else None
        self.losses = self.flat.new_zeros((self.recipe.check, draws))
        self.wrong = torch.zeros_like(self.losses)

    def set_rates(self, rates: Tensor) -> None:
        """Set the learning rates, one a draw."""
        for part, param in zip(self.rates.split(self.sizes), self.params, strict=True):
            part.view(self.draws, -1).copy_(
                rates.to(part)[:, None].expand(-1, param[0].numel())
            )

    def step(self, index: int, examples: Tensor | None) -> None:
        """Make one step; loss and wrong answers before it go to row `index`."""
        inputs, targets = self.inputs, self.targets
        if examples is not None:
            inputs, targets = inputs[examples], targets[:, examples]
        # The kept memory is for the CPU; convolutions have no code of their own.
        if inputs.is_cuda or self.network.convolutional:
            self._by_autograd(index, inputs, targets)
        else:
            self._by_hand(index, inputs, targets)
        if self.decay is not None:
            self.gradient.addcmul_(self.decay, self.flat)
        self.moments.mul_(self.recipe.momentum).add_(self.gradient)
        self.flat.addcmul_(self.rates, self.moments, value=-1.0)

    def _by_autograd(self, index: int, inputs: Tensor, targets: Tensor) -> None:
        leaves = tuple(p.detach().requires_grad_() for p in self.params)
        with torch.enable_grad():
            weights = self.network.weights(leaves)
            outputs = self.network.run(weights, leaves, inputs).outputs
        e = self._errors(index, slice(None), outputs.detach().clone(), targets)
        slopes = torch.autograd.grad(outputs, leaves, e)
        torch.cat([s.reshape(-1) for s in slopes], out=self.gradient)

    def _by_hand(self, index: int, inputs: Tensor, targets: Tensor) -> None:
        layers = self.network.layers
        weights, found = self.params[:layers], self.slopes
        graph = leaves = ()
        if self.network.family in ("wn", "wn-rows"):
            # From parameters to weights is little work: autograd has it.
            leaves = tuple(p.detach().requires_grad_() for p in self.params)
            with torch.enable_grad():
                graph = self.network.weights(leaves)
            weights = tuple(w.detach() for w in graph)
            found = tuple(torch.empty_like(w) for w in weights)
        affine = self.params[layers:] if self.network.family == "bn-affine" else ()

        def lane(rows: slice, space: Workspace) -> None:
            # Gradients are switched off for each thread by itself.
            with torch.no_grad():
                mine = [w[rows] for w in weights]
                more = [a[rows] for a in affine]
                outputs = space.forward(mine, inputs, more)
                e = self._errors(index, rows, outputs, targets)
                space.backward(mine, inputs, e, [f[rows] for f in found], more)

        lanes = self._lanes(len(inputs))
        if self.pool is None:
            for rows, space in lanes:
                lane(rows, space)
        else:
            list(self.pool.map(lambda pair: lane(*pair), lanes))
        if graph:
            slopes = torch.autograd.grad(graph, leaves, found)
            torch.cat([s.reshape(-1) for s in slopes], out=self.gradient)

    def _errors(self, index: int, rows: slice, g: Tensor, targets: Tensor) -> Tensor:
        """Note losses and wrong answers; turn g into the slope of the loss by it."""
        n = targets.shape[1]
        self.wrong[index, rows] = self._wrong(g, targets)
        g -= targets
        self.losses[index, rows] = (g * g).sum(dim=(1, 2)) / n
        return g.mul_(2.0 / n)

    def _lanes(self, n: int) -> list[tuple[slice, Workspace]]:
        """Divide the draws into those that fit a cache, and the workers' shares."""
        if n not in self.workspaces:
            units = 3 * sum(self.network.widths) + self.network.outputs
            size = int(_CACHED // (units * n * self.flat.element_size()))
            size = max(1, min(size, -(-self.draws // self.workers)))
            made: list[tuple[slice, Workspace]] = []
            for start in range(0, self.draws, size):
                rows = slice(start, min(start + size, self.draws))
                count = rows.stop - start
                made.append((rows, Workspace(self.network, count, n, self.flat)))
            self.workspaces[n] = made
        return self.workspaces[n]

    def close(self) -> None:
        """End the workers."""
        if self.pool is not None:
            self.pool.shutdown()

    def keep(self, chosen: Tensor) -> None:
        """Drop all draws but the chosen ones."""
        moments = [
            m.view(p.shape)[chosen].reshape(-1)
            for m, p in zip(self.moments.split(self.sizes), self.params, strict=True)
        ]
        self._take([p[chosen] for p in self.params])
        self.moments = torch.cat(moments)

    @staticmethod
    def _wrong(g: Tensor, targets: Tensor) -> Tensor:
        """Count wrong answers, (draws,)."""
        if g.shape[1] == 1:
            return (g * targets <= 0.0).sum(dim=(1, 2)).to(g.dtype)
        return (g.argmax(dim=1) != targets.argmax(dim=0)).sum(dim=1).to(g.dtype)
