r"""Loss and gradients of many networks at once, without forming what need not be.

The gradient of a fully connected layer's weight for n examples is

.. math:: G = \Delta H^T, \qquad \Delta \in R^{out \times n},\ H \in R^{in \times n},

with one example an outer product. Its norm is that of two n x n Gram matrices, and a
momentum takes it in without G being stored: a training step then reads the weights as
rarely as it can. Convolutions are differentiated by PyTorch, whose kernels leave
nothing to gain there.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

from empirical.identity_map.networks import Network, Params

Loss = Literal["mean", "half-sum"]
LOSSES = ("mean", "half-sum")


class Slope(Protocol):
    """The gradient of one layer's weights, draws in front."""

    def square_norms(self) -> Tensor:
        """Return each draw's squared Euclidean norm, shape (draws,)."""
        ...

    def scaled(self, factors: Tensor) -> "Slope":
        """Return the gradient with each draw's multiplied by its factor."""
        ...

    def dense(self) -> Tensor:
        """Return the gradient as a tensor of the weight's shape."""
        ...

    def fold_into_(self, buffer: Tensor, decay: float) -> None:
        """Set `buffer` to decay * buffer + gradient."""
        ...


@dataclass(frozen=True)
class Dense:
    """A gradient that exists as a tensor."""

    value: Tensor

    def square_norms(self) -> Tensor:
        """Return each draw's squared norm."""
        # One pass and no copy, unlike the sum of squares.
        return torch.linalg.vector_norm(self.value.flatten(1), dim=1).square()

    def scaled(self, factors: Tensor) -> "Dense":
        """Return the gradient times each draw's factor."""
        return Dense(self.value * along(factors, self.value))

    def dense(self) -> Tensor:
        """Return the tensor."""
        return self.value

    def fold_into_(self, buffer: Tensor, decay: float) -> None:
        """Set `buffer` to decay * buffer + gradient."""
        buffer.mul_(decay).add_(self.value)


@dataclass(frozen=True)
class Outer:
    """The gradient Delta H^T; shapes (draws, out, n) and (draws, in, n)."""

    delta: Tensor
    h: Tensor

    def square_norms(self) -> Tensor:
        """Return each draw's squared norm, sum of (delta_i . delta_j)(h_i . h_j)."""
        left = self.delta.transpose(1, 2) @ self.delta
        right = self.h.transpose(1, 2) @ self.h
        return (left * right).sum(dim=(1, 2))

    def scaled(self, factors: Tensor) -> "Outer":
        """Return the gradient times each draw's factor."""
        return Outer(self.delta * along(factors, self.delta), self.h)

    def dense(self) -> Tensor:
        """Return the product."""
        return self.delta @ self.h.transpose(1, 2)

    def fold_into_(self, buffer: Tensor, decay: float) -> None:
        """Set `buffer` to decay * buffer + gradient."""
        rows = self.h.transpose(1, 2)
        if self.h.shape[2] == 1:
            # A matrix product with inner size one is slower than its definition.
            buffer.mul_(decay).addcmul_(self.delta, rows)
        else:
            torch.baddbmm(buffer, self.delta, rows, beta=decay, out=buffer)


def along(factors: Tensor, like: Tensor) -> Tensor:
    """Return `factors`, shape (draws,), so that it multiplies `like` draw by draw."""
    return factors.view(-1, *[1] * (like.ndim - 1))


def product(weight: Tensor, h: Tensor) -> Tensor:
    """Return the products of each draw's matrix with its few columns.

    On a CPU the batched product of such thin factors is several times slower than the
    products one by one (measured: ten times for 8 draws of 196 x 196 and one column).

    Examples
    --------
    >>> product(torch.ones(2, 3, 4), torch.ones(2, 4, 1)).flatten()
    tensor([4., 4., 4., 4., 4., 4.])
    """
    if weight.device.type != "cpu":
        return torch.bmm(weight, h)
    out = h.new_empty((len(weight), weight.shape[1], h.shape[2]))
    for one, columns, place in zip(weight, h, out, strict=True):
        torch.mm(one, columns, out=place)
    return out


def losses_of(outputs: Tensor, targets: Tensor, loss: Loss) -> Tensor:
    """Return each draw's loss, shape (draws,)."""
    squares = (outputs - targets).square().flatten(1)
    return squares.mean(dim=1) if loss == "mean" else 0.5 * squares.sum(dim=1)


def losses_and_slopes(
    network: Network,
    params: Params,
    images: Tensor,
    targets: Tensor,
    *,
    loss: Loss,
    bottom: bool = False,
) -> tuple[Tensor, tuple[Slope, ...]]:
    r"""Return each draw's loss and the gradients of its layers.

    Parameters
    ----------
    network : Network
    params : tuple of Tensor
    images, targets : Tensor, shape (draws, n, C, H, W) or (1, n, C, H, W)
    loss : {"mean", "half-sum"}
        :math:`\frac{1}{nd}\sum (f - y)^2` or :math:`\frac12 \sum (f - y)^2`, over
        examples and pixels.
    bottom : bool
        Differentiate the first layer alone.

    Returns
    -------
    losses : Tensor, shape (draws,)
    slopes : tuple of Slope
        Of every layer, or of the first.

    Examples
    --------
    >>> net = Network(kind="fcn", shape=(1, 1, 1), layers=2, width=1)
    >>> params = net.load([[[2.0]], [[3.0]]])
    >>> x = torch.ones(1, 1, 1, 1, 1, dtype=torch.float64)
    >>> losses, slopes = losses_and_slopes(net, params, x, x, loss="half-sum")
    >>> losses.item(), [slope.dense().item() for slope in slopes]
    (12.5, [15.0, 10.0])
    """
    if network.kind == "cnn":
        return _by_autograd(network, params, images, targets, loss, bottom=bottom)
    with torch.no_grad():
        return _by_hand(network, params, images, targets, loss, bottom=bottom)


def _by_autograd(
    network: Network,
    params: Params,
    images: Tensor,
    targets: Tensor,
    loss: Loss,
    *,
    bottom: bool,
) -> tuple[Tensor, tuple[Slope, ...]]:
    with torch.enable_grad():
        leaves = tuple(w.detach().requires_grad_() for w in params)
        each = losses_of(network.run(leaves, images)[-1], targets, loss)
        # Draws share no weight: the gradient of the sum is every draw's own.
        chosen = leaves[:1] if bottom else leaves
        gradients = torch.autograd.grad(each.sum(), chosen)
    return each.detach(), tuple(Dense(g) for g in gradients)


def _by_hand(
    network: Network,
    params: Params,
    images: Tensor,
    targets: Tensor,
    loss: Loss,
    *,
    bottom: bool,
) -> tuple[Tensor, tuple[Slope, ...]]:
    """Differentiate stacks of matrices; images as columns, (draws, units, n)."""
    residual, relu = network.kind == "residual", network.activation == "relu"
    draws, last = len(params[0]), len(params) - 1
    x = images.flatten(2).transpose(1, 2).expand(draws, -1, -1)
    inputs, active, h, skip = [x], [], x, x
    for index, weight in enumerate(params):
        z = product(weight, h)
        h = z.relu_() if relu and index < last else z
        active.append(h)
        if residual and index % 2:
            h = skip = skip + h
        inputs.append(h)
    gap = h - targets.flatten(2).transpose(1, 2)
    squares = gap.square().flatten(1)
    losses = squares.mean(dim=1) if loss == "mean" else 0.5 * squares.sum(dim=1)
    delta = gap * (2.0 / squares.shape[1]) if loss == "mean" else gap
    slopes: list[Slope] = []
    through = delta
    for index in range(last, -1, -1):
        if relu and index < last:
            delta = delta * (active[index] > 0.0)
        if not bottom or index == 0:
            slopes.append(Outer(delta, inputs[index]))
        if index:
            delta = product(params[index].transpose(1, 2), delta)
            if residual and index % 2 == 0:
                # The block's input also reaches its output unchanged.
                delta = through = through + delta
    return losses, tuple(reversed(slopes))
