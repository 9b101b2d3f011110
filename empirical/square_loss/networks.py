r"""Stacks of small classifiers without biases: normalised or not, dense or convolutional.

Many networks of one shape run as one: every parameter has an axis of draws in front.
Layers k < L are followed by a ReLU, the last is linear; its outputs are g(x). By family:

``"none"``
    :math:`g(x) = W_L\sigma(W_{L-1}\cdots\sigma(W_1 x))`.
``"bn"``, ``"bn-affine"``
    The same with batch normalisation before every ReLU, without or with a gain and a
    shift for each unit; the statistics are always those of the batch.
``"wn"``
    :math:`W_k = v_k/\|v_k\|` for k < L and :math:`W_L = \rho\,v_L/\|v_L\|`: the whole
    matrix has unit Frobenius norm and one scalar carries the size of the network.
``"wn-rows"``
    Weight normalisation as libraries have it: each row (output channel) is
    :math:`g_i v_i/\|v_i\|` with a gain of its own, in every layer.

The normalised outputs are f = g/rho. With batch normalisation g does not depend on the
sizes of the hidden layers, so there rho is the Frobenius norm of the last layer; in the
other families it is the product over all layers.

References
----------
Poggio, Liao 2021, sections 2 and 4. Theirs keeps the hidden layers' norms at one in
theory and trains ordinary batch normalisation; here both exist.
"""

import difflib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

# Matrices of layers 1..L, then what a family adds; draws in front of each.
Params = tuple[Tensor, ...]
Family = Literal["none", "bn", "bn-affine", "wn", "wn-rows"]
FAMILIES: tuple[Family, ...] = ("none", "bn", "bn-affine", "wn", "wn-rows")


class Signals(NamedTuple):
    """What one pass computes.

    Attributes
    ----------
    outputs : Tensor, shape (draws, outputs, n)
        g, before division by rho.
    hidden : tuple of Tensor
        h_1, ..., h_{L-1} after the ReLU: (draws, units, n), or in a convolutional
        network (n, draws * channels, H, W).
    before : tuple of Tensor
        The same before normalisation and ReLU, of all L layers.
    """

    outputs: Tensor
    hidden: tuple[Tensor, ...]
    before: tuple[Tensor, ...]


@dataclass(frozen=True, kw_only=True)
class Network:
    """Specification of a classifier; its weights live outside it.

    Parameters
    ----------
    family : {"none", "bn", "bn-affine", "wn", "wn-rows"}
    shape : tuple of int
        Of an input: ``(d,)`` makes the network fully connected, ``(C, H, W)``
        convolutional, with zero padding and a linear last layer on all that is left.
    widths : tuple of int
        Hidden units or channels; one entry fewer than layers.
    outputs : int
        1 for two classes, the number of classes otherwise.
    kernel, stride : int
        Of the convolutions; the kernel is odd.
    eps : float
        Added to the variances that batch normalisation divides by. Under weight decay
        hidden weights shrink, and with a larger eps the outputs would depend on them.

    Raises
    ------
    ValueError
        If any of these does not fit.

    Examples
    --------
    >>> from empirical.randomness import torch_generator
    >>> net = Network(family="wn", shape=(3,), widths=(4, 4))
    >>> params = net.init([5.0], [torch_generator(7)])
    >>> [round(float(w.norm()), 12) for w in net.weights(params)]
    [1.0, 1.0, 5.0]
    """

    family: Family
    shape: tuple[int, ...]
    widths: tuple[int, ...]
    outputs: int = 1
    kernel: int = 3
    stride: int = 2
    eps: float = 1e-12

    def __post_init__(self) -> None:
        for name in ("shape", "widths"):
            object.__setattr__(self, name, tuple(int(n) for n in getattr(self, name)))
        if self.family not in FAMILIES:
            near = difflib.get_close_matches(str(self.family), FAMILIES, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"Network: `family` must be one of {', '.join(FAMILIES)}, but it is "
                f"{self.family!r}.{hint}"
            )
        if len(self.shape) not in (1, 3) or min(self.shape) < 1:
            raise ValueError(
                "Network: `shape` must be (d,) or (channels, height, width), each at "
                f"least 1, but it is {self.shape}"
            )
        if any(width < 1 for width in self.widths) or self.outputs < 1:
            raise ValueError(
                "Network: `widths` and `outputs` must be at least 1, but they are "
                f"{self.widths} and {self.outputs}"
            )
        if self.kernel < 1 or self.kernel % 2 == 0 or self.stride < 1:
            raise ValueError(
                "Network: `kernel` must be odd and `stride` at least 1, but they are "
                f"{self.kernel} and {self.stride}"
            )
        if not 0.0 <= self.eps < float("inf"):
            raise ValueError(
                f"Network: `eps` must not be negative, but it is {self.eps}"
            )

    @property
    def layers(self) -> int:
        """Weight layers, L."""
        return len(self.widths) + 1

    @property
    def convolutional(self) -> bool:
        """Whether inputs are images."""
        return len(self.shape) == 3

    @property
    def normalises_batch(self) -> bool:
        """Whether statistics of the batch enter."""
        return self.family in ("bn", "bn-affine")

    @property
    def weight_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shape of every layer's weight, without the draws.

        Examples
        --------
        >>> Network(family="none", shape=(1, 8, 8), widths=(4, 4, 6)).weight_shapes
        ((4, 1, 3, 3), (4, 4, 3, 3), (6, 4, 3, 3), (1, 6))
        """
        units = (self.shape[0], *self.widths)
        taps = (self.kernel, self.kernel) if self.convolutional else ()
        hidden = [(b, a, *taps) for a, b in itertools.pairwise(units)]
        fan_in, edges = units[-1], self.shape[1:]
        for _ in self.widths:
            edges = tuple((edge - 1) // self.stride + 1 for edge in edges)
        for edge in edges:
            fan_in *= edge
        return (*hidden, (self.outputs, fan_in))

    @property
    def parameter_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of all parameters: the layers' matrices, then the family's own."""
        extra: tuple[tuple[int, ...], ...] = ()
        if self.family == "wn":
            extra = ((1,),)
        elif self.family == "wn-rows":
            extra = tuple((shape[0],) for shape in self.weight_shapes)
        elif self.family == "bn-affine":
            extra = tuple((width,) for width in self.widths) * 2
        return self.weight_shapes + extra

    @property
    def parameters(self) -> int:
        """Number of parameters of one draw."""
        return sum(torch.Size(shape).numel() for shape in self.parameter_shapes)

    def init(
        self,
        scales: Sequence[float],
        generators: Sequence[torch.Generator],
        *,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> Params:
        """Draw Gaussian weights, each layer rescaled to a Frobenius norm.

        Parameters
        ----------
        scales : sequence of float
            One a draw: the norm of every layer. In the family ``"wn"`` directions start
            at norm one and rho at the scale: there the sizes of v are the optimiser's
            clock, not the network's.
        generators : sequence of torch.Generator
            One a draw, so that a start does not depend on who is beside it; drawn in
            float64 on the generator's device, whatever `dtype` is.

        Raises
        ------
        ValueError
            If a scale is not positive, or there are not as many as generators.
        """
        if len(scales) != len(generators) or not all(0 < s < torch.inf for s in scales):
            raise ValueError(
                "Network.init: `scales` must be positive, one for each of the "
                f"{len(generators)} generators, but they are {list(scales)}"
            )
        each = [self._draw(s, g) for s, g in zip(scales, generators, strict=True)]
        stacked = zip(*each, strict=True)
        return tuple(torch.stack(p).to(device=device, dtype=dtype) for p in stacked)

    def _draw(self, scale: float, generator: torch.Generator) -> list[Tensor]:
        made: list[Tensor] = []
        size = 1.0 if self.family == "wn" else scale
        for shape in self.weight_shapes:
            w = torch.randn(
                shape, generator=generator, dtype=torch.float64, device=generator.device
            )
            made.append(w * (size / w.norm()))
        one = made[0].new_ones(1)
        if self.family == "wn":
            made.append(scale * one)
        elif self.family == "wn-rows":
            made += [w.flatten(1).norm(dim=1) for w in made]
        elif self.family == "bn-affine":
            made += [one.expand(n).clone() for n in self.widths]
            made += [torch.zeros(n, dtype=one.dtype).to(one) for n in self.widths]
        return made

    def weights(self, params: Params) -> tuple[Tensor, ...]:
        """Return W_1, ..., W_L as they act; draws in front."""
        matrices = params[: self.layers]
        if self.family == "wn":
            units = [along(1.0 / _norms(v), v) * v for v in matrices]
            units[-1] = along(params[-1][:, 0], units[-1]) * units[-1]
            return tuple(units)
        if self.family == "wn-rows":
            gains = params[self.layers :]
            return tuple(
                (g / v.flatten(2).norm(dim=2)).view(*g.shape, *[1] * (v.ndim - 2)) * v
                for g, v in zip(gains, matrices, strict=True)
            )
        return matrices

    def norms(self, params: Params) -> Tensor:
        """Return the layers' Frobenius norms, (draws, L); in ``"wn"`` those of v."""
        own = self.family == "wn"
        matrices = params[: self.layers] if own else self.weights(params)
        return torch.stack([_norms(w) for w in matrices], dim=1)

    def rho(self, params: Params) -> Tensor:
        """Return what divides g to give f, shape (draws,)."""
        if self.family == "wn":
            return params[-1][:, 0]
        norms = self.norms(params)
        return norms[:, -1] if self.normalises_batch else norms.prod(dim=1)

    def apply(self, params: Params, inputs: Tensor) -> Tensor:
        """Return g, shape (draws, n, outputs), for inputs of shape ``(n, *shape)``.

        With batch normalisation the inputs are the batch.

        Raises
        ------
        ValueError
            If shapes do not fit.
        """
        self.check(params, inputs)
        return self.run(self.weights(params), params, inputs).outputs.transpose(1, 2)

    def run(
        self,
        weights: tuple[Tensor, ...],
        params: Params,
        inputs: Tensor,
        statistics: Sequence[tuple[Tensor, Tensor]] | None = None,
    ) -> Signals:
        """Run unchecked, with effective weights: what a training step calls.

        Parameters
        ----------
        weights : tuple of Tensor
            As `weights` returns them.
        params : tuple of Tensor
            For gains and shifts.
        inputs : Tensor, shape ``(n, *shape)``
        statistics : sequence of pairs of Tensor, optional
            Means and variances of each hidden layer's units to use in the place of the
            batch's own.
        """
        draws = len(weights[0])
        h = inputs if self.convolutional else inputs.T
        hidden: list[Tensor] = []
        before: list[Tensor] = []
        for index, weight in enumerate(weights[:-1]):
            z = self._linear(weight, h, first=index == 0)
            before.append(z)
            if self.normalises_batch:
                fixed = None if statistics is None else statistics[index]
                # In place: normalisation made a tensor of its own.
                h = self._normalised(z, index, params, fixed).relu_()
            else:
                h = z.relu()
            hidden.append(h)
        if self.convolutional:
            flat = h.reshape(len(h), draws if hidden else 1, -1)
            h = flat.permute(1, 2, 0)
        outputs = weights[-1] @ h
        before.append(outputs)
        return Signals(outputs, tuple(hidden), tuple(before))

    def features(self, signals: Signals, inputs: Tensor) -> Tensor:
        """Return the last layer's input, shape (draws, units, n)."""
        draws = len(signals.outputs)
        if not signals.hidden:
            return inputs.flatten(1).T.expand(draws, -1, -1)
        last = signals.hidden[-1]
        if self.convolutional:
            return last.reshape(len(last), draws, -1).permute(1, 2, 0)
        return last

    def statistics(self, signals: Signals) -> list[tuple[Tensor, Tensor]]:
        """Return each hidden layer's means and variances over the batch."""
        found: list[tuple[Tensor, Tensor]] = []
        for z in signals.before[:-1]:
            units = (
                z.transpose(0, 1).flatten(1) if self.convolutional else z.flatten(0, 1)
            )
            found.append((units.mean(dim=1), units.var(dim=1, correction=0)))
        return found

    def check(self, params: Params, inputs: Tensor) -> None:
        """Raise ValueError if parameters or inputs do not fit the network."""
        shapes = tuple(tuple(p.shape[1:]) for p in params)
        if shapes != self.parameter_shapes or len({len(p) for p in params}) != 1:
            raise ValueError(
                "Network: `params` must have the shapes (draws, ...) with "
                f"{self.parameter_shapes} behind the draws, but they are "
                f"{tuple(tuple(p.shape) for p in params)}. Use `init` of the same network."
            )
        if tuple(inputs.shape[1:]) != self.shape or not len(inputs):
            raise ValueError(
                f"Network: `inputs` must have shape (n, {', '.join(map(str, self.shape))}"
                f"), but they have {tuple(inputs.shape)}"
            )
        if inputs.dtype != params[0].dtype:
            raise ValueError(
                f"Network: `inputs` must have the parameters' dtype {params[0].dtype}, "
                f"but it is {inputs.dtype}. Convert them with inputs.to(...)."
            )

    def _linear(self, weight: Tensor, h: Tensor, *, first: bool) -> Tensor:
        draws, fan_out = weight.shape[:2]
        if self.convolutional:
            # All draws look at the same images: one wide convolution, no groups.
            return functional.conv2d(
                h,
                weight.flatten(0, 1),
                stride=self.stride,
                padding=self.kernel // 2,
                groups=1 if first else draws,
            )
        if first:
            return (weight.flatten(0, 1) @ h).view(draws, fan_out, -1)
        return torch.bmm(weight, h)

    def _normalised(
        self,
        z: Tensor,
        index: int,
        params: Params,
        fixed: tuple[Tensor, Tensor] | None,
    ) -> Tensor:
        gain = shift = None
        if self.family == "bn-affine":
            gain = params[self.layers + index].flatten()
            shift = params[self.layers + len(self.widths) + index].flatten()
        mean, variance = (None, None) if fixed is None else fixed
        # One channel for each unit of each draw; z of a dense layer is contiguous.
        channels = z if self.convolutional else z.view(1, -1, z.shape[-1])
        return functional.batch_norm(
            channels, mean, variance, gain, shift, training=fixed is None, eps=self.eps
        ).view(z.shape)


def along(values: Tensor, like: Tensor) -> Tensor:
    """Return `values`, one a draw, shaped to multiply `like`."""
    return values.view(-1, *[1] * (like.ndim - 1))


def _norms(weight: Tensor) -> Tensor:
    return weight.flatten(1).norm(dim=1)
