"""The draws in training, as one flat vector on a device, and one step of all."""

import torch
from torch import Tensor

from empirical.square_loss.networks import Network, Params
from empirical.square_loss.recipes import Recipe


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
    ) -> None:
        self.network, self.recipe = network, recipe
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
        leaves = tuple(p.detach().requires_grad_() for p in self.params)
        with torch.enable_grad():
            weights = self.network.weights(leaves)
            outputs = self.network.run(weights, leaves, inputs).outputs
        g = outputs.detach()
        e = g - targets
        slopes = torch.autograd.grad(outputs, leaves, e * (2.0 / len(inputs)))
        torch.mul(
            (e * e).flatten(1).sum(dim=1), 1.0 / len(inputs), out=self.losses[index]
        )
        self.wrong[index] = self._wrong(g, targets)
        gradient = torch.cat([s.reshape(-1) for s in slopes])
        if self.decay is not None:
            gradient.addcmul_(self.decay, self.flat)
        self.moments.mul_(self.recipe.momentum).add_(gradient)
        self.flat.addcmul_(self.rates, self.moments, value=-1.0)

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
