"""What one update learns from: images, and what to make of them."""

from dataclasses import dataclass

import torch
from torch import Tensor

from empirical.identity_map.recipes import Loss
from empirical.networks import FullyConnected, Layer, Network, Residual
from empirical.testbed.loop import Task
from empirical.testbed.slopes import Outer, Slope
from empirical.testbed.stack import Params, Stack

# Images that one evaluation of a loss holds at a time.
_AT_ONCE = 1000


@dataclass(frozen=True, kw_only=True, eq=False)
class Copy(Task):
    r"""Training of networks to put out targets, as a rule the images they are given.

    Attributes
    ----------
    network : Network
    images, targets : Tensor, shape (replicates, n, C, H, W) or (1, n, C, H, W)
        Each replicate's own, or shared.
    loss : {"mean", "half-sum"}
        :math:`\frac{1}{nd}\sum (f - y)^2` or :math:`\frac12 \sum (f - y)^2`, over
        examples and pixels.
    """

    told = ("network", "images", "targets", "loss")

    network: Network
    images: Tensor
    targets: Tensor
    loss: Loss

    def chosen(self, stack: Stack, examples: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the images and targets of an update."""
        x, y = stack.select(self.images), stack.select(self.targets)
        return (x, y) if examples is None else (x[:, examples], y[:, examples])

    def losses(self, params: Params, stack: Stack, examples: Tensor | None) -> Tensor:
        """Return each replicate's loss; see `Task.losses`."""
        return self._losses(params, *self.chosen(stack, examples))

    def over_all(self, params: Params) -> Tensor:
        """Return the loss of every replicate of the start over all examples."""
        n = self.images.shape[1]
        total = params[0].new_zeros(len(params[0]))
        for start in range(0, n, _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            images, targets = self.images[:, part], self.targets[:, part]
            share = images.shape[1] / n if self.loss == "mean" else 1.0
            total += share * self._losses(params, images, targets)
        return total

    def _losses(self, params: Params, images: Tensor, targets: Tensor) -> Tensor:
        outputs = self.network.run(params, images).outputs
        squares = (outputs - targets).square().flatten(1)
        return squares.mean(dim=1) if self.loss == "mean" else 0.5 * squares.sum(dim=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class CopyDense(Copy):
    r"""`Copy` for fully connected networks, differentiated by hand.

    The gradient of a layer's weight for n examples, :math:`\Delta H^T`, is never
    formed: an update then reads the weights as rarely as it can.

    Raises
    ------
    ValueError
        If the network is of a kind that it does not know.

    Examples
    --------
    >>> from empirical.identity_map import copier
    >>> net = copier("fcn", shape=(1, 1, 1), layers=2, width=1)
    >>> x = torch.ones(1, 1, 1, 1, 1, dtype=torch.float64)
    >>> task = CopyDense(network=net, images=x, targets=x, loss="half-sum")
    >>> stack = Stack(net.load([[[2.0]], [[3.0]]]), rates=1.0)
    >>> losses, slopes = task.losses_and_slopes(stack, None)
    >>> losses.item(), [(slope.delta * slope.h).item() for slope in slopes]
    (12.5, [15.0, 10.0])
    """

    def __post_init__(self) -> None:
        if not by_hand(self.network):
            raise ValueError(
                "CopyDense: `network` must be fully connected or residual, with ReLU "
                f"or linear, but it is {self.network}"
            )

    def losses_and_slopes(
        self, stack: Stack, examples: Tensor | None
    ) -> tuple[Tensor, tuple[Slope, ...]]:
        """Return losses and gradients; images are columns, (replicates, units, n)."""
        images, targets = self.chosen(stack, examples)
        params, last = stack.params, len(stack.params) - 1
        residual = isinstance(self.network, Residual)
        relu = [layer.activation == "relu" for layer in self.network.plan]
        x = images.flatten(2).transpose(1, 2).expand(len(stack), -1, -1)
        inputs, active, h, skip = [x], [], x, x
        for index, weight in enumerate(params):
            z = product(weight, h)
            h = z.relu_() if relu[index] else z
            active.append(h)
            if residual and index % 2:
                h = skip = skip + h
            inputs.append(h)
        gap = h - targets.flatten(2).transpose(1, 2)
        squares = gap.square().flatten(1)
        mean = self.loss == "mean"
        losses = squares.mean(dim=1) if mean else 0.5 * squares.sum(dim=1)
        delta = gap * (2.0 / squares.shape[1]) if mean else gap
        slopes: dict[int, Slope] = {}
        through = delta
        lowest = min(stack.learnt)
        for index in range(last, lowest - 1, -1):
            if relu[index]:
                delta = delta * (active[index] > 0.0)
            slopes[index] = Outer(delta, inputs[index])
            if index > lowest:
                delta = product(params[index].transpose(1, 2), delta)
                if residual and index % 2 == 0:
                    # The block's input also reaches its output unchanged.
                    delta = through = through + delta
        return losses, tuple(slopes[index] for index in stack.learnt)


def by_hand(network: Network) -> bool:
    """Whether `CopyDense` knows the network."""
    return type(network) in (FullyConnected, Residual) and all(
        # With nothing but weight, activation and skip.
        layer
        == Layer(weight=layer.weight, activation=layer.activation, skip=layer.skip)
        and layer.activation in ("relu", "linear")
        for layer in network.plan
    )


def product(weight: Tensor, h: Tensor) -> Tensor:
    """Return the products of each replicate's matrix with its few columns.

    On a CPU the batched product of such thin factors is several times slower than the
    products one by one (measured: ten times for 8 of 196 x 196 and one column).

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
