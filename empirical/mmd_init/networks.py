"""Fully connected ReLU classifiers by the names of PyTorch's own state dicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor, nn

from empirical.networks import FullyConnected, Norm

Start = Literal["he", "xavier"]
STARTS = ("he", "xavier")
State = dict[str, Tensor]
"""Name to tensor as in `torch.nn.Module.state_dict`; stacked, replicates in front."""
Weights = list[tuple[Tensor, Tensor]]
"""Weight and bias of every layer."""


@dataclass(frozen=True)
class Layer:
    """Names of one layer's modules within a network.

    Attributes
    ----------
    linear : str
        ``"<linear>.weight"`` and ``"<linear>.bias"`` are its parameters.
    norm : str, optional
        Of the batch normalisation behind it.
    """

    linear: str
    norm: str | None = None


@dataclass(frozen=True, kw_only=True)
class Network:
    """Names for the parameters of a fully connected network that returns logits.

    Attributes
    ----------
    widths : tuple of int
        Inputs, hidden units of each layer, classes.
    batch_norm : bool
        Whether hidden units are normalised over the batch ahead of each ReLU, with
        gain, shift and running statistics.
    layers : tuple of Layer
        Names of the modules; by default those of the `torch.nn.Sequential` that
        `module` returns.

    Raises
    ------
    ValueError
        If there are fewer than two classes, or a width is not positive.

    Examples
    --------
    >>> Network(widths=(784, 392, 392, 392, 2)).parameters
    616618
    >>> [layer.linear for layer in Network(widths=(4, 3, 2)).layers]
    ['0', '2']
    """

    widths: tuple[int, ...]
    batch_norm: bool = False
    layers: tuple[Layer, ...] = ()

    def __post_init__(self) -> None:
        widths = tuple(int(w) for w in self.widths)
        object.__setattr__(self, "widths", widths)
        if len(widths) < 2 or min(widths) < 1:
            raise ValueError(
                "Network: `widths` must be inputs, hidden units and classes, all "
                f"positive, but they are {widths}"
            )
        if widths[-1] < 2:
            raise ValueError(
                f"Network: `widths` must end in at least 2 classes, but it ends in "
                f"{widths[-1]}. A single logit z has the two classes (0, z)."
            )
        if not self.layers:
            step = 3 if self.batch_norm else 2
            made = [
                Layer(str(step * i), str(step * i + 1) if self.batch_norm else None)
                for i in range(len(widths) - 2)
            ]
            made.append(Layer(str(step * (len(widths) - 2))))
            object.__setattr__(self, "layers", tuple(made))

    @cached_property
    def spec(self) -> FullyConnected:
        """The network itself, whose parameters are `learnt` in this order."""
        return FullyConnected(
            widths=self.widths,
            parametrisation="standard",
            bias=True,
            norm=Norm(over="batch") if self.batch_norm else None,
        )

    @property
    def classes(self) -> int:
        """Number of outputs."""
        return self.widths[-1]

    @property
    def parameters(self) -> int:
        """Number of weights and biases, gains and shifts."""
        return self.spec.parameters

    def init(
        self,
        start: Start,
        generators: list[torch.Generator],
        *,
        uniform: bool = False,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> State:
        """Draw one start a generator, stacked: weights (replicates, out, in), biases 0.

        Weights have variance 2/in (``"he"``) or 2/(in + out) (``"xavier"``), and are
        Gaussian, or uniform; drawn in float32. The generators live on the CPU, whatever
        the device.

        Raises
        ------
        ValueError
            If `start` is unknown.

        Examples
        --------
        >>> g = torch.Generator().manual_seed(7)
        >>> state = Network(widths=(4, 3, 2)).init("he", [g])
        >>> {name: tuple(t.shape) for name, t in state.items()}["0.weight"]
        (1, 3, 4)
        """
        if start not in STARTS:
            raise ValueError(
                f"init: `start` must be one of {', '.join(STARTS)}, but it is {start!r}"
            )
        scheme = "kaiming" if start == "he" else "xavier"
        params = self.spec.init(
            f"{scheme}-{'uniform' if uniform else 'normal'}",
            generator=generators,
            dtype=torch.float32,
        )
        state = self.named(params, self.spec.running(params))
        return {name: t.to(device, dtype) for name, t in state.items()}

    def weights(self, state: Mapping[str, Tensor]) -> Weights:
        """Return weight and bias of every layer."""
        return [
            (state[f"{layer.linear}.weight"], state[f"{layer.linear}.bias"])
            for layer in self.layers
        ]

    def learnt(self) -> list[str]:
        """Return the names of what is trained: all but running statistics."""
        names: list[str] = []
        for layer in self.layers:
            for part in (layer.linear, layer.norm):
                if part is not None:
                    names += [f"{part}.weight", f"{part}.bias"]
        return names

    def running(self) -> list[str]:
        """Return the names of the running statistics of batch normalisation."""
        return [
            f"{layer.norm}.running_{part}"
            for layer in self.layers
            if layer.norm is not None
            for part in ("mean", "var")
        ]

    def named(self, learnt: Sequence[Tensor], running: Sequence[Tensor] = ()) -> State:
        """Return tensors by name, in the order of `learnt` and of `running`."""
        names = [*self.learnt(), *self.running()]
        return dict(zip(names, [*learnt, *running], strict=True))

    def run(
        self, state: Mapping[str, Tensor], inputs: Tensor, *, training: bool = False
    ) -> tuple[Tensor, list[Tensor]]:
        """Return logits (..., n, classes) and each hidden layer's products.

        These are what enters each ReLU, but for batch normalisation.

        Parameters
        ----------
        state : mapping
            Stacked or not.
        inputs : Tensor, shape (..., n, features)
            With the stack's replicates in front, or shared by them all.
        training : bool
            Whether batches are normalised by their own statistics, which also move
            the running ones, in place; otherwise by the running ones.
        """
        learnt, running = (
            tuple(state[name] for name in names)
            for names in (self.learnt(), self.running())
        )
        alone = learnt[0].ndim == 2
        if alone:
            learnt, running = (tuple(t[None] for t in ts) for ts in (learnt, running))
        logits, _, products = self.spec.run(
            learnt, inputs, buffers=running, training=training, kept=True
        )
        entering = products[:-1]
        return (logits[0], [z[0] for z in entering]) if alone else (logits, [*entering])

    def module(self) -> nn.Sequential:
        """Return the network in PyTorch, for a state of one replicate.

        Examples
        --------
        >>> net = Network(widths=(4, 3, 2))
        >>> state = net.init("he", [torch.Generator().manual_seed(7)])
        >>> module = net.module()
        >>> _ = module.load_state_dict(draw(state, 0))
        >>> x = torch.ones(1, 4)
        >>> bool(torch.allclose(module(x), net.run(draw(state, 0), x)[0]))
        True
        """
        parts: list[nn.Module] = []
        for fan, out in zip(self.widths[:-1], self.widths[1:], strict=True):
            parts.append(nn.Linear(fan, out))
            if self.batch_norm:
                parts.append(nn.BatchNorm1d(out))
            parts.append(nn.ReLU())
        return nn.Sequential(*parts[: -2 if self.batch_norm else -1])


def draw(state: Mapping[str, Tensor], index: int) -> State:
    """Return one replicate of a stack, for `torch.nn.Module.load_state_dict`."""
    return {name: tensor[index].detach().clone() for name, tensor in state.items()}


def stacked(states: list[State]) -> State:
    """Return single replicates as one stack."""
    return {name: torch.stack([s[name] for s in states]) for name in states[0]}


def from_module(module: nn.Module) -> tuple[Network, State]:
    """Return the network that a `torch.nn.Sequential` is, and its parameters.

    Raises
    ------
    TypeError
        If it is anything but layers ``Linear`` with ``ReLU`` between them, a
        ``Flatten`` in front allowed.
    ValueError
        If there are fewer than two outputs, or widths do not fit.

    Examples
    --------
    >>> net, _ = from_module(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)))
    >>> net.widths
    (4, 3, 2)
    """
    way_out = (
        "Build it as torch.nn.Sequential(Linear, ReLU, ..., Linear), logits last and "
        "without Dropout, BatchNorm or Softmax; only then is the noise of a layer's "
        "outputs Gaussian with a known covariance."
    )
    if not isinstance(module, nn.Sequential):
        raise TypeError(
            "pretrain: `network` must be a torch.nn.Sequential or a Network, but it is "
            f"a {type(module).__name__}. {way_out}"
        )
    parts = list(module.named_children())
    if parts and isinstance(parts[0][1], nn.Flatten):
        parts = parts[1:]
    linear = parts[::2]
    for index, (name, part) in enumerate(parts):
        wanted = nn.Linear if index % 2 == 0 else nn.ReLU
        if not isinstance(part, wanted):
            raise TypeError(
                "pretrain: `network` must be Linear layers with ReLU between them, but "
                f"module {name} is a {type(part).__name__}. {way_out}"
            )
    if len(parts) % 2 == 0:
        raise TypeError(f"pretrain: `network` must end in a Linear layer. {way_out}")
    fitting: list[nn.Linear] = [p for _, p in linear if isinstance(p, nn.Linear)]
    if any(p.bias is None for p in fitting):  # pyright: ignore[reportUnnecessaryComparison]
        raise TypeError(
            "pretrain: `network` must have a bias in every layer, for the noise has"
        )
    widths = (fitting[0].in_features, *(p.out_features for p in fitting))
    if any(p.in_features != w for p, w in zip(fitting, widths, strict=False)):
        raise ValueError(
            "pretrain: `network` must have layers that fit, but their widths are "
            f"{[(p.in_features, p.out_features) for p in fitting]}"
        )
    network = Network(widths=widths, layers=tuple(Layer(name) for name, _ in linear))
    state = {k: t.detach().clone() for k, t in module.state_dict().items()}
    return network, state
