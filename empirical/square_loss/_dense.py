"""Outputs and slopes of stacked dense networks, in memory that is kept.

The same numbers as autograd's, up to rounding, in about half its time: what a step
touches fits a cache, and nothing of the size of an activation is allocated twice.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from empirical.square_loss.networks import Network

_ATEN = torch.ops.aten


class Workspace:
    """Activations and slopes of a stack on batches of one size.

    Parameters
    ----------
    network : Network
        Fully connected.
    draws, n : int
    like : Tensor
        Has the dtype and the device.
    """

    def __init__(self, network: Network, draws: int, n: int, like: Tensor) -> None:
        self.network, self.draws, self.n = network, draws, n
        make = like.new_empty
        # Centred and not yet divided, after the ReLU, and slopes by the latter.
        self.before = [make(draws, width, n) for width in network.widths]
        self.hidden = [make(draws, width, n) for width in network.widths]
        if not network.normalises_batch:
            self.before = self.hidden
        self.slopes = [make(draws, width, n) for width in network.widths]
        # Of each unit: mean, and one over the deviation.
        self.means = [make(draws, width, 1) for width in network.widths]
        self.inverses = [make(draws, width, 1) for width in network.widths]
        self.zeros = [like.new_zeros(draws * width) for width in network.widths]
        self.outputs = make(draws, network.outputs, n)

    def forward(
        self, weights: Sequence[Tensor], inputs: Tensor, affine: Sequence[Tensor] = ()
    ) -> Tensor:
        """Return g, (draws, outputs, n): overwritten by the next call.

        `inputs` are (n, d); `affine` gains, then shifts, of every hidden layer.
        """
        h, depth = inputs.T, len(self.before)
        for index, (z, out) in enumerate(zip(self.before, self.hidden, strict=True)):
            _product(weights[index], h, z)
            if self.network.normalises_batch:
                self._normalise(index, z, out)
                if affine:
                    out.mul_(affine[index][..., None])
                    out.add_(affine[depth + index][..., None])
            h = out.relu_()
        return _product(weights[-1], h, self.outputs)

    def backward(
        self,
        weights: Sequence[Tensor],
        inputs: Tensor,
        slope: Tensor,
        found: Sequence[Tensor],
        affine: Sequence[Tensor] = (),
    ) -> None:
        """Write slopes by the weights, and by gains and shifts, to `found`.

        `slope`, of the outputs, may be `outputs` itself.
        """
        depth = len(self.hidden)
        if not depth:
            torch.matmul(slope, inputs, out=found[0])
            return
        torch.bmm(slope, self.hidden[-1].mT, out=found[depth])
        torch.bmm(weights[-1].mT, slope, out=self.slopes[-1])
        for index in reversed(range(depth)):
            s, h = self.slopes[index], self.hidden[index]
            _ATEN.threshold_backward.grad_input(s, h, 0.0, grad_input=s)
            if self.network.normalises_batch:
                s = self._through_normalisation(index, s, found, affine)
            if index:
                torch.bmm(s, self.hidden[index - 1].mT, out=found[index])
                torch.bmm(weights[index].mT, s, out=self.slopes[index - 1])
            else:
                torch.mm(s.view(-1, self.n), inputs, out=found[0].flatten(0, 1))

    def _normalise(self, index: int, z: Tensor, out: Tensor) -> None:
        """Centre z, and write it divided by its deviations to `out`.

        Measured: less than half the time of the library's one call.
        """
        mean, inverse = self.means[index], self.inverses[index]
        z.sub_(torch.mean(z, -1, keepdim=True, out=mean))
        torch.linalg.vector_norm(z, dim=-1, keepdim=True, out=inverse)
        inverse.square_().div_(self.n).add_(self.network.eps).rsqrt_()
        torch.mul(z, inverse, out=out)

    def _through_normalisation(
        self,
        index: int,
        slope: Tensor,
        found: Sequence[Tensor],
        affine: Sequence[Tensor],
    ) -> Tensor:
        flat = (1, -1, self.n)
        # No memory of ours: the library's variant for that would copy.
        through, gains, shifts = _ATEN.native_batch_norm_backward(
            slope.view(flat),
            self.before[index].view(flat),
            affine[index].view(-1) if affine else None,
            None,
            None,
            self.zeros[index],
            self.inverses[index].view(-1),
            True,  # noqa: FBT003 (the operator takes no names)
            self.network.eps,
            [True, bool(affine), bool(affine)],
        )
        if affine:
            depth = len(self.hidden)
            found[depth + 1 + index].view(-1).copy_(gains)
            found[2 * depth + 1 + index].view(-1).copy_(shifts)
        return through.view(slope.shape)


def _product(weight: Tensor, h: Tensor, out: Tensor) -> Tensor:
    """Write weight times h to `out`; one product for all draws when they share h."""
    if h.ndim == 2:
        torch.mm(weight.flatten(0, 1), h, out=out.view(-1, h.shape[-1]))
        return out
    return torch.bmm(weight, h, out=out)
