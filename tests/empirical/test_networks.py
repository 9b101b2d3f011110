import itertools

import numpy as np
import pytest
import torch
from drawing import normal
from torch import nn
from torch.nn import functional

from empirical.networks import (
    Convolutional,
    FullyConnected,
    Norm,
    Residual,
    ResNet,
    derivative,
)
from empirical.networks.layers import convolved
from empirical.randomness import numpy_generator, seed_sequence, torch_generator


def inputs(n=5, d=3, *, name="x"):
    return torch.from_numpy(numpy_generator(7, name).standard_normal((n, d)))


class TestFullyConnected:
    network = FullyConnected(widths=(3, 8, 6, 2), activation=torch.tanh)

    def test_apply_is_the_formula(self):
        params = self.network.init(replicates=2, generator=torch_generator(7))
        x = inputs()
        first, second, readout = (p[1].numpy() for p in params)
        h = np.tanh(x.numpy() @ first.T) / np.sqrt(8)
        h = np.tanh(h @ second.T) / np.sqrt(6)
        # Sums of at most 8 terms of order one: a few ulp.
        np.testing.assert_allclose(
            self.network.apply(params, x)[1].numpy(), h @ readout.T, rtol=0, atol=1e-14
        )

    def test_a_replicate_does_not_depend_on_how_many_there_are(self):
        together = self.network.init(replicates=3, generator=torch_generator(7))
        generator = torch_generator(7)
        alone = [self.network.init(generator=generator) for _ in range(3)]
        for layer, stacked in enumerate(together):
            for r in range(3):
                assert torch.equal(stacked[r], alone[r][layer][0])

    def test_weights_are_standard_normal(self):
        network = FullyConnected(widths=(100, 200, 1), activation=torch.relu)
        weight = network.init(replicates=5, generator=torch_generator(7))[0]
        n = weight.numel()
        # Six standard errors: a false alarm in 1e8.
        assert abs(float(weight.mean())) < 6 / n**0.5
        assert abs(float(weight.square().mean()) - 1) < 6 * (2 / n) ** 0.5
        assert weight.dtype == torch.float64

    def test_streamed_features_are_those_of_init(self):
        params = self.network.init(generator=torch_generator(7))
        x = inputs()
        kept = self.network.features(params, x)[1:]
        streamed = self.network.stream_features(x, generator=torch_generator(7))
        for a, b in zip(kept, streamed, strict=True):
            torch.testing.assert_close(a[0], b, rtol=1e-14, atol=1e-15)

    def test_projected_features_are_scaled_between_layers(self):
        h = inputs()
        for weight in self.network.init(generator=torch_generator(7))[:2]:
            h = torch.tanh(h @ weight[0].T)
            h = h / h.square().sum(dim=1, keepdim=True).sqrt()
        *_, got = self.network.stream_features(
            inputs(), generator=torch_generator(7), project=True
        )
        torch.testing.assert_close(got, h, rtol=1e-13, atol=1e-14)

    def test_inputs_may_differ_between_replicates(self):
        params = self.network.init(replicates=2, generator=torch_generator(7))
        x = torch.stack([inputs(name="a"), inputs(name="b")])
        out = self.network.apply(params, x)
        one = self.network.apply(tuple(p[1:] for p in params), x[1])
        torch.testing.assert_close(out[1:], one, rtol=1e-13, atol=1e-14)

    def test_an_activation_for_each_layer(self):
        mixed = FullyConnected(widths=(3, 4, 4, 1), activation=(torch.relu, torch.sin))
        params = mixed.init(generator=torch_generator(7))
        kept = mixed.run(params, inputs(), kept=True)
        assert torch.equal(kept.hidden[0], torch.relu(kept.before[0]) / 2)
        assert torch.equal(kept.hidden[1], torch.sin(kept.before[1]) / 2)

    @pytest.mark.parametrize("widths", [(3,), (3, 0, 1), ()])
    def test_bad_widths(self, widths):
        with pytest.raises(ValueError, match="`widths` must"):
            FullyConnected(widths=widths, activation=torch.tanh)

    def test_bad_activation_count(self):
        with pytest.raises(ValueError, match="`activation` must be one callable"):
            FullyConnected(widths=(3, 4, 4, 1), activation=(torch.tanh,))

    @pytest.mark.parametrize("generator", [7, [7], []])
    def test_what_is_no_generator_is_refused(self, generator):
        with pytest.raises(ValueError, match=r"FullyConnected\.init: `generator` must"):
            self.network.init(generator=generator)

    def test_bad_calls(self):
        params = self.network.init(generator=torch_generator(7))
        with pytest.raises(ValueError, match="`replicates` must be at least 1"):
            self.network.init(replicates=0, generator=torch_generator(7))
        with pytest.raises(ValueError, match="`params` must have the shapes"):
            self.network.apply(params[:2], inputs())
        with pytest.raises(ValueError, match="`inputs` must have shape"):
            self.network.apply(params, inputs(d=4))
        with pytest.raises(ValueError, match="`inputs` must have the weights' dtype"):
            self.network.apply(params, inputs().float())


class Blocks(nn.Module):
    """The residual network in the library's own layers."""

    def __init__(self, parts):
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, x):
        h = x
        for index in range(0, len(self.parts), 2):
            inner = self.parts[index + 1](self.parts[index](h).relu())
            h = h + (inner if index + 2 == len(self.parts) else inner.relu())
        return h


def as_module(network, params, replicate):
    """One replicate in the library's own layers, parameters in the same order."""
    parts: list[nn.Module] = []
    for index, layer in enumerate(network.plan):
        out, fan, *taps = layer.weight
        if taps:
            parts.append(nn.Conv2d(fan, out, taps[0], layer.stride, taps[0] // 2))
        else:
            if network.kind == "convolutional":
                parts.append(nn.Flatten())
            parts.append(nn.Linear(fan, out))
        if layer.norm is not None and layer.norm.over == "batch":
            parts.append((nn.BatchNorm2d if taps else nn.BatchNorm1d)(out))
        elif layer.norm is not None:
            # Over channels and spots, with a gain for each channel.
            parts.append(nn.GroupNorm(1, out) if taps else nn.LayerNorm(out))
        if index < network.layers - 1 and network.kind != "residual":
            parts.append(nn.Tanh())
    made = Blocks(parts) if network.kind == "residual" else nn.Sequential(*parts)
    own = list(made.double().parameters())
    with torch.no_grad():
        for mine, theirs in zip(own, params, strict=True):
            mine.copy_(theirs[replicate])
    return made


NORMS = [None, Norm(over="batch"), Norm(over="layer"), Norm(over="batch", momentum=0.3)]
KINDS = {
    "dense": lambda norm: FullyConnected(
        widths=(6, 5, 4, 3),
        activation="tanh",
        parametrisation="standard",
        bias=True,
        norm=norm,
    ),
    "images": lambda norm: Convolutional(
        shape=(2, 5, 4), widths=(3, 9), activation="tanh", bias=True, norm=norm
    ),
    "readout": lambda norm: Convolutional(
        shape=(2, 5, 4),
        widths=(3, 4),
        outputs=3,
        stride=2,
        activation="tanh",
        bias=True,
        norm=norm,
    ),
    "blocks": lambda norm: Residual(shape=(6,), blocks=2, bias=True, norm=norm),
}


class TestAgainstModules:
    @pytest.mark.parametrize("own", [False, True])
    @pytest.mark.parametrize("norm", NORMS)
    @pytest.mark.parametrize("kind", ["dense", "images", "readout"])
    def test_outputs_and_running_statistics(self, kind, norm, own):
        network = KINDS[kind](norm)
        params = network.init(replicates=2, generator=torch_generator(7))
        params = tuple(p + 0.1 * normal(*p.shape) for p in params)
        shape = (7, *network.input_shape)
        x = normal(2, *shape) if own else normal(*shape)
        buffers = network.running(params)
        made = network.run(params, x, buffers=buffers).outputs
        later = network.apply(params, x, buffers=buffers)
        for replicate in range(2):
            module = as_module(network, params, replicate)
            for part in module.modules():
                if isinstance(part, nn.BatchNorm1d | nn.BatchNorm2d):
                    part.momentum = norm.momentum
            seen = x[replicate] if own else x
            # Rounding, magnified by normalising a batch of seven.
            close = {"rtol": 1e-9, "atol": 1e-11}
            torch.testing.assert_close(made[replicate], module(seen), **close)
            kept = [b for b in module.buffers() if b.ndim]
            for mine, theirs in zip(buffers, kept, strict=True):
                torch.testing.assert_close(mine[replicate], theirs, **close)
            module.eval()
            torch.testing.assert_close(later[replicate], module(seen), **close)

    def test_residual_blocks_with_biases(self):
        network = KINDS["blocks"](None)
        params = network.init(replicates=2, generator=torch_generator(7))
        x = normal(7, 6)
        for replicate in range(2):
            wanted = as_module(network, params, replicate)(x)
            torch.testing.assert_close(network.apply(params, x)[replicate], wanted)

    @pytest.mark.parametrize("kind", ["dense", "images", "readout"])
    def test_the_frameworks_start(self, kind):
        network = KINDS[kind](Norm(over="layer"))
        generator = torch_generator(7)
        params = network.init("framework", generator=generator, dtype=torch.float32)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.set_state(torch_generator(7).get_state())
            # Its layers draw weight and bias in turn, as soon as they are made.
            theirs = as_module(network, [p.double() for p in params], 0).float()
            torch.default_generator.set_state(torch_generator(7).get_state())
            for part in theirs.modules():
                if isinstance(part, nn.Linear | nn.Conv2d):
                    part.reset_parameters()
        for mine, wanted in zip(params, theirs.parameters(), strict=True):
            torch.testing.assert_close(mine[0], wanted)

    def test_as_many_parameters_as_modules(self):
        for kind, norm in itertools.product(KINDS, NORMS[:3]):
            network = KINDS[kind](norm)
            params = network.init(generator=torch_generator(7))
            assert [tuple(p.shape[1:]) for p in params] == list(network.shapes)
            if kind != "blocks":
                own = as_module(network, params, 0).parameters()
                assert network.parameters == sum(p.numel() for p in own)


class Basic(nn.Module):
    """A block of the residual classifier in the library's own layers."""

    def __init__(self, fan: int, out: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(fan, out, 3, stride, 1, bias=False)
        self.above = nn.BatchNorm2d(out)
        self.second = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.over = nn.BatchNorm2d(out)
        self.stride, self.more = stride, out - fan

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = self.over(self.second(self.above(self.first(x)).relu()))
        short = nn.functional.pad(
            x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.more)
        )
        return (short + inner).relu()


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("sides", [(9, 8), (4, 2), (1, 7)])
def test_residual_classifiers_are_the_usual_ones(own, sides):
    """Of images of every shape: each axis that still has spots is halved by itself."""
    network = ResNet(
        shape=(3, *sides),
        widths=(4, 6, 8),
        blocks=2,
        outputs=5,
        norm=Norm(over="batch"),
    )
    assert network.layers == 6 * 2 + 2
    params = network.init("kaiming-normal", replicates=2, generator=torch_generator(7))
    params = tuple(p + 0.1 * normal(*p.shape) for p in params)
    x = normal(2, 7, 3, *sides) if own else normal(7, 3, *sides)
    buffers = network.running(params)
    made = network.run(params, x, buffers=buffers).outputs
    for replicate in range(2):
        blocks = [
            Basic(4, 4, 1),
            Basic(4, 4, 1),
            Basic(4, 6, 2),
            Basic(6, 6, 1),
            Basic(6, 8, 2),
            Basic(8, 8, 1),
        ]
        stem = [nn.Conv2d(3, 4, 3, 1, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU()]
        ends = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5, bias=False)]
        module = nn.Sequential(*stem, *blocks, *ends).double()
        with torch.no_grad():
            for theirs, p in zip(module.parameters(), params, strict=True):
                theirs.copy_(p[replicate])
        wanted = module(x[replicate] if own else x)
        torch.testing.assert_close(made[replicate], wanted, rtol=1e-9, atol=1e-11)
        kept = [b for b in module.buffers() if b.ndim]
        for mine, theirs in zip(buffers, kept, strict=True):
            torch.testing.assert_close(mine[replicate], theirs, rtol=1e-9, atol=1e-11)


def test_a_batch_of_one_number_has_no_variance():
    network = FullyConnected(widths=(3, 4, 2), norm=Norm(over="batch"))
    params = network.init(generator=torch_generator(7))
    with pytest.raises(ValueError, match=r"Norm: .* two numbers of each unit.* has 1"):
        network.apply(params, normal(1, 3))
    running = network.running(params)
    assert network.apply(params, normal(1, 3), buffers=running).shape == (1, 1, 2)


def number(value: float) -> nn.Parameter:
    return nn.Parameter(torch.full((1,), value))


class Fixed(nn.Module):
    """A block without normalisation as Zhang, Dauphin and Ma 2019 have it."""

    def __init__(self, fan: int, out: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(fan, out, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.biases = nn.ParameterList(number(0.0) for _ in range(4))
        self.scale, self.stride, self.more = number(1.0), stride, out - fan

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        one, two, three, four = self.biases
        inner = (self.first(x + one) + two).relu()
        inner = self.second(inner + three) * self.scale + four
        short = x[:, :, :: self.stride, :: self.stride]
        return (nn.functional.pad(short, (0, 0, 0, 0, 0, self.more)) + inner).relu()

    def in_order(self) -> list[torch.Tensor]:
        one, two, three, four = self.biases
        weights = self.first.weight, self.second.weight
        return [weights[0], one, two, weights[1], three, self.scale, four]


class FixedUp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, 1, 1, bias=False)
        shapes = [(4, 4, 1), (4, 4, 1), (4, 6, 2), (6, 6, 1)]
        self.blocks = nn.Sequential(*(Fixed(*shape) for shape in shapes))
        self.behind, self.ahead, self.last = number(0.0), number(0.0), nn.Linear(6, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.blocks((self.stem(x) + self.behind).relu())
        return self.last(h.mean(dim=(2, 3)) + self.ahead)

    def in_order(self) -> list[torch.Tensor]:
        blocks = [p for block in self.blocks for p in block.in_order()]
        last = [self.last.weight, self.last.bias, self.ahead]
        return [self.stem.weight, self.behind, *blocks, *last]


class TestFixup:
    network = ResNet(shape=(3, 9, 8), widths=(4, 6), blocks=2, outputs=5, fixup=True)

    @pytest.mark.parametrize("own", [False, True])
    def test_is_the_usual_one(self, own):
        params = self.network.init(replicates=2, generator=torch_generator(7))
        params = tuple((p + 0.3 * normal(*p.shape)).requires_grad_() for p in params)
        x = normal(2, 7, 3, 9, 8) if own else normal(7, 3, 9, 8)
        made = self.network.apply(params, x)
        slopes = torch.autograd.grad(made.square().sum(), params)
        for replicate in range(2):
            module = FixedUp().double()
            ordered = module.in_order()
            assert len(ordered) == len(list(module.parameters()))
            with torch.no_grad():
                for theirs, p in zip(ordered, params, strict=True):
                    theirs.copy_(p[replicate])
            wanted = module(x[replicate] if own else x)
            torch.testing.assert_close(made[replicate], wanted, rtol=1e-10, atol=1e-10)
            theirs = torch.autograd.grad(wanted.square().sum(), ordered)
            for mine, slope in zip(slopes, theirs, strict=True):
                torch.testing.assert_close(mine[replicate], slope, rtol=1e-8, atol=1e-8)

    def test_starts_as_the_paper_says(self):
        network = ResNet(shape=(3, 8, 8), widths=(16, 32), blocks=4, fixup=True)
        params = network.init(generator=torch_generator(7))
        first, *blocks, last = network.grouped(params)
        usual = (2.0 / (3 * 9)) ** 0.5
        # 432 numbers: six standard errors are a fifth.
        assert abs(float(first["weight"].std()) / usual - 1.0) < 0.2
        for index, own in enumerate(blocks):
            weight = own["weight"]
            if index % 2:
                assert not weight.any()
                assert own["factor"].item() == 1.0
            else:
                size = (2.0 / weight[0, 0].numel()) ** 0.5 * 8**-0.5
                assert abs(float(weight.std()) / size - 1.0) < 0.1
            assert own["ahead"].item() == own["behind"].item() == 0.0
        assert not any(p.any() for p in last.values())

    def test_the_last_block_takes_what_the_one_below_puts_out(self):
        params = self.network.init(generator=torch_generator(7))
        params = tuple(p + 0.3 * normal(*p.shape) for p in params)
        x = normal(3, 3, 9, 8)
        *_, below, _, _, outputs = self.network.layer_outputs(params, x)
        for h in (below, below[0]):
            torch.testing.assert_close(self.network.upper(params, h, 3), outputs)

    def test_takes_no_normalisation(self):
        with pytest.raises(ValueError, match="`fixup` must come without `norm`"):
            ResNet(blocks=1, fixup=True, norm=Norm(over="batch"))


@pytest.mark.parametrize(
    "network",
    [
        Convolutional(shape=(2, 5, 4), widths=(3, 4), outputs=2, stride=2),
        ResNet(shape=(1, 6, 4), widths=(2, 3), blocks=1, outputs=2),
        TestFixup.network,
    ],
)
def test_readouts_take_the_images_of_the_layer_below(network):
    params = network.init("kaiming-normal", replicates=2, generator=torch_generator(7))
    params = tuple(p + 0.1 * normal(*p.shape) for p in params)
    *_, below, outputs = network.layer_outputs(params, normal(3, *network.input_shape))
    torch.testing.assert_close(network.upper(params, below, 1), outputs)
    one = network.upper(params, below[0], 1)[0]
    torch.testing.assert_close(one, outputs[0])
    with pytest.raises(ValueError, match=r"upper: `representation` must have shape"):
        network.upper(params, below[:, :, :1], 1)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: FullyConnected(widths=(3, 2), activation="rely"), "`activation` must"),
        (
            lambda: FullyConnected(widths=(3, 2), parametrisation="mup"),
            "must be one of ntk, s",
        ),
        (lambda: FullyConnected(widths=(3, 2), weighting="row"), "`weighting` must be"),
        (lambda: FullyConnected(widths=(3, 2), image=(1, 2, 2)), "have the 3 numbers"),
        (lambda: Residual(shape=(3,), blocks=0), "`blocks` must be at least 1"),
        (lambda: Convolutional(shape=(1, 3, 3), outputs=0), "must be at least 1"),
        (lambda: ResNet(blocks=0), "ResNet: `blocks` must be at least 1"),
        (lambda: ResNet(blocks=1, widths=(8, 4)), "not fall"),
        (lambda: FullyConnected(widths=(2.7, 3)), "`widths` must be a whole number"),
        (lambda: FullyConnected(widths=(True, 3)), "`widths` must be a whole number"),
        (lambda: FullyConnected(widths=(3, 2), image=(1, 1.5, 2)), "but it is 1.5"),
        (
            lambda: FullyConnected(widths=(3, 2), activation=None),
            "a name or a callable",
        ),
        (lambda: FullyConnected(widths=(3, 2), norm="batch"), "`norm` must be a Norm"),
        (
            lambda: Convolutional(shape=(1, 3, 3), kernel=3.5),
            "`kernel` must be a whole",
        ),
        (
            lambda: Convolutional(shape=(1, 3, 3), stride=1.5),
            "`stride` must be a whole",
        ),
        (lambda: Residual(shape=(3,), blocks=1.5), "`blocks` must be a whole number"),
        (lambda: ResNet(blocks=float("nan")), "`blocks` must be a whole number"),
        (lambda: Norm(over="units"), "`over` must be one of batch, layer"),
        (lambda: Norm(over="batch", momentum=0.0), "`momentum` must lie"),
    ],
)
def test_specifications_that_are_refused(make, match):
    with pytest.raises(ValueError, match=match):
        make()


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (torch.tanh, lambda z: 1 / torch.cosh(z) ** 2),
        (torch.relu, lambda z: (z > 0).double()),
        (torch.sign, torch.zeros_like),
    ],
)
def test_derivative(function, slope):
    z = torch.linspace(-3, 3, 41, dtype=torch.float64)
    torch.testing.assert_close(
        derivative(function, z), slope(z), rtol=1e-13, atol=1e-15
    )


@pytest.mark.parametrize("count", [1, 3])
def test_as_many_replicates_are_drawn_as_are_asked_for(count):
    network = FullyConnected(widths=(3, 2))
    several = [torch_generator(7, k) for k in range(count)]
    assert len(network.init(generator=several)[0]) == count
    with pytest.raises(ValueError, match=f"as `generator` has, {count}, or left out"):
        network.init(generator=several, replicates=2)


@pytest.mark.parametrize("dtype", [torch.int64, torch.complex64, "float32"])
def test_parameters_are_real_numbers(dtype):
    network = FullyConnected(widths=(3, 2))
    with pytest.raises(ValueError, match="init: `dtype` must be"):
        network.init(generator=torch_generator(7), dtype=dtype)
    with pytest.raises(
        ValueError, match="load: `params` must be real, but one is torc"
    ):
        network.load([np.ones((2, 3)) * 1j])


@pytest.mark.parametrize("replicates", [2.5, True])
def test_replicates_are_counted_in_whole_numbers(replicates):
    network = FullyConnected(widths=(3, 2))
    with pytest.raises(ValueError, match="init: `replicates` must be a whole number"):
        network.init(generator=torch_generator(7), replicates=replicates)


@pytest.mark.parametrize("made", [nn.ReLU(inplace=True), torch.tanh_])
def test_an_activation_may_act_in_place(made):
    plain = torch.relu if isinstance(made, nn.ReLU) else torch.tanh
    nets = [FullyConnected(widths=(3, 8, 6, 2), activation=a) for a in (made, plain)]
    params, x = nets[0].init(generator=torch_generator(7)), inputs()
    one, other = (net.run(params, x, kept=True) for net in nets)
    assert all(map(torch.equal, one.before, other.before))
    assert torch.equal(one.outputs, other.outputs)
    assert torch.equal(derivative(made, x), derivative(plain, x))


def test_inference_mode_changes_no_derivative():
    outside = torch.linspace(-3, 3, 41, dtype=torch.float64)
    expected = derivative(torch.tanh, outside)
    with torch.inference_mode():
        for z in (outside, outside.clone()):
            assert torch.equal(derivative(torch.tanh, z), expected)


class TestRandomness:
    def test_streams_are_addressed_by_name_and_type(self):
        states = {
            tuple(seed_sequence(7, *names).generate_state(4))
            for names in [(), ("a",), ("b",), (1,), ("1",), ("a", "b"), ("b", "a")]
        }
        assert len(states) == 7

    def test_nesting_is_concatenation(self):
        nested = seed_sequence(seed_sequence(7, "a"), 3)
        assert (
            nested.generate_state(4) == seed_sequence(7, "a", 3).generate_state(4)
        ).all()

    def test_bad_seed(self):
        with pytest.raises(ValueError, match="`seed` must be non-negative"):
            seed_sequence(-1)
        for seed in (7.5, True, "7", None):
            with pytest.raises(ValueError, match="a whole number, but it is"):
                seed_sequence(seed)  # pyright: ignore[reportArgumentType]
        with pytest.raises(TypeError, match="`names` must be text or integers"):
            seed_sequence(7, 0.5)  # pyright: ignore[reportArgumentType]

    def test_no_global_state_moves(self):
        before = torch.random.get_rng_state()
        FullyConnected(widths=(3, 4, 1), activation=torch.tanh).init(
            generator=torch_generator(7)
        )
        assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("outputs", [1, 5])
@pytest.mark.parametrize("shared", [True, False])
def test_convolutions_are_pytorchs_one_by_one(stride, outputs, shared):
    """From eight channels to one another way is quicker, of stride one alone."""
    g = torch_generator(7)
    weight = torch.randn(3, outputs, 8, 3, 3, dtype=torch.float64, generator=g)
    bias = torch.randn(3, outputs, dtype=torch.float64, generator=g)
    images = torch.randn(3, 2, 8, 5, 6, dtype=torch.float64, generator=g)
    images = images[0] if shared else images
    found = convolved(weight, bias, images, stride).unflatten(1, (3, outputs))
    for row in range(3):
        own = images if shared else images[row]
        wanted = functional.conv2d(own, weight[row], bias[row], stride, padding=1)
        # Sums of 72 products of about one.
        torch.testing.assert_close(found[:, row], wanted, rtol=0.0, atol=1e-13)
