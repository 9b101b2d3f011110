"""What all specifications have in common."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from empirical._cached import cached_property
from empirical.checks import (
    check_choice,
    check_counts,
    check_finite,
    check_generators,
    check_kinds,
    check_whole,
)
from empirical.networks import initial
from empirical.networks.plan import (
    NAMED,
    WEIGHTINGS,
    Activation,
    Layer,
    Norm,
    Weighting,
)

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from empirical.networks.layers import Signals
    from empirical.testbed.modules import Params


@dataclass(frozen=True, kw_only=True)
class Network(ABC):
    r"""A specification; parameters live outside it, stacked along replicates.

    Parameters come layer by layer, of each layer weight, size, bias, gain and shift as
    far as it has them (`Layer.shapes`).

    Parameters
    ----------
    activation : str or callable
        One of `plan.NAMED`, or what acts entrywise on tensors.
    bias : bool
        Of every layer.
    norm : Norm, optional
        Ahead of every activation.
    weighting : {"rows", "matrix"}, optional
        Weight normalisation: each row is :math:`g_i v_i/|v_i|`, in every layer; or each
        weight has norm 1, and the last is :math:`\rho v/|v|`.

    Raises
    ------
    ValueError
        If sizes are not positive or do not fit, or a name is none.
    """

    activation: Activation | tuple[Activation, ...] = "relu"
    bias: bool = False
    norm: Norm | None = None
    weighting: Weighting | None = None

    def __post_init__(self) -> None:
        who, given = type(self).__name__, self.activation
        for each in given if isinstance(given, tuple) else [given]:
            if isinstance(each, str):
                check_choice(who, "activation", each, NAMED)
            elif not callable(each):
                raise ValueError(
                    f"{who}: `activation` must be a name or a callable, but it is {each!r}"
                )
        if not isinstance(self.norm, Norm | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"{who}: `norm` must be a Norm, but it is {self.norm!r}")
        if self.weighting is not None:
            check_choice(who, "weighting", self.weighting, WEIGHTINGS)

    @abstractmethod
    def built(self) -> tuple[Layer, ...]:
        """Return the weight layers; see `plan`."""

    def hidden(self, weight: tuple[int, ...], act: Activation, **more: Any) -> Layer:
        """Return a hidden layer; `more` are further fields of `Layer`."""
        return replace(
            self.readout(weight, sized=False, **more), norm=self.norm, activation=act
        )

    def readout(self, weight: tuple[int, ...], **more: Any) -> Layer:
        """Return a last layer; `more` are further fields of `Layer`."""
        more.setdefault("sized", self.weighting == "matrix")
        return Layer(weight=weight, bias=self.bias, weighting=self.weighting, **more)

    @cached_property
    def plan(self) -> tuple[Layer, ...]:
        """The weight layers, in order."""
        return self.built()

    @property
    @abstractmethod
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input."""

    @property
    def out_shape(self) -> tuple[int, ...] | None:
        """Shape that outputs are given; as the last layer has them where None."""
        return None

    @property
    def scheme(self) -> str:
        """Default scheme of initial weights."""
        return "framework"

    @property
    def layers(self) -> int:
        """Number of weight layers, L."""
        return len(self.plan)

    @cached_property
    def units(self) -> tuple[int, ...]:
        """Units or channels of h_0, ..., h_L."""
        plan = self.plan
        return (plan[0].weight[1], *(layer.weight[0] for layer in plan))

    @cached_property
    def weight_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shape of every layer's weight, without the replicates."""
        return tuple(layer.weight for layer in self.plan)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of all parameters, without the replicates."""
        return tuple(s for layer in self.plan for s in layer.shapes.values())

    @property
    def parameters(self) -> int:
        """Number of parameters of one replicate."""
        return sum(math.prod(shape) for shape in self.shapes)

    @property
    def products(self) -> int:
        """Multiplications in one pass of one input: what its time goes with."""
        total, edges = 0, self.input_shape[1:]
        for layer in self.plan:
            if len(layer.weight) == 4:
                edges = tuple(-(-edge // layer.stride) for edge in edges)
                total += math.prod(layer.weight) * math.prod(edges)
            else:
                total += math.prod(layer.weight)
        return total

    def grouped(self, params: "Params") -> "list[dict[str, Tensor]]":
        """Return the parameters of each layer by name."""
        each = iter(params)
        return [{name: next(each) for name in layer.shapes} for layer in self.plan]

    def of_layer(self, index: int) -> range:
        """Return which of all parameters are a layer's, by index; -1 is the last layer."""
        counts = [len(layer.shapes) for layer in self.plan]
        start = sum(counts[:index])
        return range(start, start + counts[index])

    def init(
        self,
        scheme: str | None = None,
        *,
        generator: "torch.Generator | Sequence[torch.Generator]",
        replicates: int = 1,
        dtype: "torch.dtype | None" = None,
        device: "torch.device | str | None" = None,
    ) -> "Params":
        r"""Draw parameters, one network after another.

        So many at once, one at a time or in chunks of any size are the same numbers.
        Biases are 0, but in the scheme ``"framework"`` uniform in
        :math:`\pm f_i^{-1/2}`, each after its weight. Gains are 1, shifts 0, and sizes
        such that weights act as drawn.

        Parameters
        ----------
        scheme : str, optional
            Of the weights, one of `initial.SCHEMES`; the specification's own by default.
        generator : torch.Generator, or a sequence of them
            Advanced by `replicates` networks, or one each. Draws on its device.
        replicates : int
            As many networks; of a sequence as many as it has, or 1.
        dtype : torch.dtype, optional
            Of the parameters, and of the numbers drawn; float64 by default.
        device : torch.device or str, optional
            Where the parameters go; the generator's device when absent.

        Raises
        ------
        ValueError
            If there is no replicate, no whole number of them, or another than generators,
            no such scheme, a generator is none, or `dtype` is none of real numbers.
        """
        # Loaded here, as below: what only describes networks does without.
        import torch

        from empirical.networks import layers

        who = f"{type(self).__name__}.init"
        check_counts(who, replicates=replicates)
        scheme = initial.checked(scheme or self.scheme)
        several = isinstance(generator, Sequence)
        sources = generator if several else [generator] * replicates
        check_generators(who, sources, "generator")
        if replicates not in (1, len(sources)):
            raise ValueError(
                f"{who}: `replicates` must be as many as `generator` has, {len(sources)}, "
                f"or left out, but it is {replicates}"
            )
        kind, there = dtype or torch.float64, sources[0].device
        check_kinds(who, dtype=(kind, torch.dtype))
        if not kind.is_floating_point:
            raise ValueError(
                f"{who}: `dtype` must be of real numbers, but it is {kind}"
            )
        made = tuple(
            torch.empty((len(sources), *s), dtype=kind, device=there)
            for s in self.shapes
        )
        for replicate, source in enumerate(sources):
            one = self.grouped(tuple(p[replicate] for p in made))
            for layer, own in zip(self.plan, one, strict=True):
                layers.fill_(layer, own, scheme, generator=source)
        return tuple(p.to(device or there) for p in made)

    def load(self, params: "Sequence[npt.ArrayLike | Tensor]") -> "Params":
        """Take parameters made elsewhere, each with replicates in front or not.

        In float64, on the CPU.

        Raises
        ------
        ValueError
            If number, shapes or replicates do not fit, or an entry is not finite or
            complex.
        """
        import torch

        who = type(self).__name__
        loaded: list[Tensor] = []
        for given, shape in zip(params, self.shapes, strict=False):
            values: Any = given
            tensor = torch.as_tensor(values)
            if tensor.is_complex():
                raise ValueError(
                    f"{who}.load: `params` must be real, but one is {tensor.dtype}"
                )
            tensor = tensor.to("cpu", torch.float64)
            loaded.append(tensor[None] if tensor.ndim == len(shape) else tensor)
        if len(params) != len(self.shapes):
            raise ValueError(
                f"{who}.load: `params` must hold {len(self.shapes)} tensors, but it "
                f"holds {len(params)}"
            )
        self.check_params(tuple(loaded))
        for tensor in loaded:
            check_finite(f"{who}.load", "params", tensor)
        return tuple(p.clone() for p in loaded)

    def arranged(self, params: "Params") -> "Params":
        """Return parameters in the order of memory that their slopes have.

        Autograd has the slopes of products with a matrix's transpose in the order of
        (replicates, in, out). An update in the order of memory is three times as fast.
        """
        grouped = self.grouped(params)
        for layer, own in zip(self.plan, grouped, strict=True):
            if len(layer.weight) == 2 and not layer.by_columns:
                own["weight"] = own["weight"].mT.contiguous().mT
        return tuple(p for own in grouped for p in own.values())

    def running(self, params: "Params") -> "Params":
        """Return running statistics as they are before training: means 0, variances 1."""
        first = params[0]
        return tuple(
            first.new_full((len(first), *shape), float(index % 2))
            for layer in self.plan
            for index, shape in enumerate(layer.running)
        )

    def weights(self, params: "Params") -> "Params":
        """Return W_1, ..., W_L as they act, replicates in front."""
        from empirical.networks.layers import acting

        return tuple(
            acting(layer, own)
            for layer, own in zip(self.plan, self.grouped(params), strict=True)
        )

    def apply(
        self, params: "Params", inputs: "Tensor", *, buffers: "Params" = ()
    ) -> "Tensor":
        """Return outputs, (replicates, n, ...), of inputs (n, ...) or as many stacked.

        With normalisation over batches the inputs are the batch, unless there are
        running statistics, `buffers`.

        Raises
        ------
        ValueError
            If shapes or dtypes do not fit.
        """
        self.check(params, inputs)
        return self.run(params, inputs, buffers=buffers, training=not buffers).outputs

    def run(
        self,
        params: "Params",
        inputs: "Tensor",
        *,
        weights: "Params | None" = None,
        buffers: "Params" = (),
        training: bool = True,
        kept: bool = False,
    ) -> "Signals":
        """Run unchecked: what an update calls.

        Parameters
        ----------
        weights : tuple of Tensor, optional
            Those that act, where they are there already.
        buffers : tuple of Tensor
            Running statistics, which training moves in place; elsewhere they are used.
        kept : bool
            Whether the products of all layers are kept.
        """
        from empirical.networks.layers import Signals, run

        if inputs.ndim > 3 and len(self.weight_shapes[0]) == 2:
            inputs = inputs.flatten(-3)
        outputs, before = run(
            self.plan,
            self.grouped(params),
            self.weights(params) if weights is None else weights,
            inputs,
            buffers=buffers,
            training=training,
            kept=kept,
        )
        return Signals(self._shaped(outputs[-1]), tuple(outputs[:-1]), tuple(before))

    def layer_outputs(self, params: "Params", inputs: "Tensor") -> "tuple[Tensor, ...]":
        """Return h_1, ..., h_{L-1} and the outputs; see `Signals`."""
        self.check(params, inputs)
        signals = self.run(params, inputs)
        return (*signals.hidden, signals.outputs)

    def upper(self, params: "Params", representation: "Tensor", count: int) -> "Tensor":
        """Run only the last `count` layers, on what the one below them puts out.

        Or on anything of that shape, with replicates in front or not; `params` is of the
        whole network.

        Examples
        --------
        >>> from empirical.networks import Convolutional
        >>> from empirical.randomness import torch_generator
        >>> net = Convolutional(shape=(1, 5, 5), widths=(3, 3, 3))
        >>> params = net.init(generator=torch_generator(7))
        >>> x = params[0].new_ones(1, 1, 5, 5)
        >>> hidden = net.layer_outputs(params, x)[1]
        >>> bool((net.upper(params, hidden, 2) == net.apply(params, x)).all())
        True
        """
        from empirical.networks.layers import run

        self.check_params(params)
        who = type(self).__name__
        check_whole(f"{who}.upper", count=count)
        plan = self.plan[-count:]
        cut = any(layer.skip > index + 1 for index, layer in enumerate(plan))
        if not 1 <= count <= self.layers or cut:
            raise ValueError(
                f"{who}.upper: `count` must be from 1 to {self.layers}, and even for a "
                f"residual network, but it is {count}"
            )
        units, axes = plan[0].weight[1], len(plan[0].weight)
        h = representation
        # A readout takes the images of convolutions below it, too.
        below = self.weight_shapes[-count - 1 : -count]
        if h.ndim in (4, 5) and axes == 2 and below and len(below[0]) == 4:
            each = h.shape[-3] if plan[0].pooled else math.prod(h.shape[-3:])
            fits = each == units
        else:
            fits = h.ndim in (axes, axes + 1) and h.shape[1 - axes] == units
        if not fits:
            named = f"(n, {units}, H, W)" if axes == 4 else f"(n, {units})"
            raise ValueError(
                f"{who}.upper: `representation` must have shape {named}, with "
                f"replicates in front or not, but it has {tuple(h.shape)}"
            )
        owns, weights = self.grouped(params)[-count:], self.weights(params)[-count:]
        return self._shaped(run(plan, owns, weights, h)[0][-1])

    def check_params(self, params: "Params") -> None:
        """Raise ValueError if parameters do not fit the network."""
        shapes = tuple(tuple(p.shape[1:]) for p in params)
        if shapes != self.shapes or len({len(p) for p in params}) != 1:
            raise ValueError(
                f"{type(self).__name__}: `params` must have the shapes (replicates, ...) "
                f"with {self.shapes} behind the replicates, but they are "
                f"{tuple(tuple(p.shape) for p in params)}. Use `init` of the same network."
            )

    def check(self, params: "Params", inputs: "Tensor") -> None:
        """Raise ValueError if parameters or inputs do not fit the network."""
        self.check_params(params)
        who, axes = type(self).__name__, len(self.input_shape)
        # Convolutions without a readout take images of every size.
        free = 2 if axes == 3 and all(len(s) == 4 for s in self.weight_shapes) else 0
        wanted = self.input_shape[: axes - free]
        found = tuple(inputs.shape[-axes:])[: axes - free]
        named = ", ".join(map(str, [*wanted, "H", "W"][:axes]))
        fits = inputs.ndim in (axes + 1, axes + 2) and inputs.numel() > 0
        if not fits or found != wanted:
            raise ValueError(
                f"{who}: `inputs` must have shape (n, {named}), with replicates in front "
                f"or not, but they have {tuple(inputs.shape)}"
            )
        stacked = inputs.ndim == axes + 2
        if stacked and len(inputs) not in (1, len(params[0])):
            raise ValueError(
                f"{who}: `inputs` must have 1 or {len(params[0])} replicates, as `params` "
                f"has, but they have {len(inputs)}"
            )
        if inputs.dtype != params[0].dtype:
            raise ValueError(
                f"{who}: `inputs` must have the weights' dtype {params[0].dtype}, but "
                f"they have {inputs.dtype}. Convert them with inputs.to(...)."
            )

    def _shaped(self, outputs: "Tensor") -> "Tensor":
        shape = self.out_shape
        return outputs if shape is None else outputs.reshape(*outputs.shape[:2], *shape)
