"""Fully connected networks: starts, runs against PyTorch's modules, what is refused."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from empirical.mmd_init import networks
from empirical.mmd_init.networks import as_module, classifier, from_module
from empirical.networks import Norm
from empirical.randomness import torch_generator

WIDTHS = (7, 6, 5, 3)


def start(replicates=2, *, batch_norm=False, dtype=torch.float64):
    net = classifier(WIDTHS, batch_norm=batch_norm)
    generators = [torch_generator(7, "start", k) for k in range(replicates)]
    return net, networks.start(net, "he", generators, dtype=dtype)


def inputs(*shape):
    return torch.randn(*shape, generator=torch_generator(7, "x"), dtype=torch.float64)


class TestStart:
    @pytest.mark.parametrize("uniform", [False, True])
    @pytest.mark.parametrize("name", ["he", "xavier"])
    def test_variances(self, name, uniform):
        net = classifier((300, 200, 2))
        generator = torch_generator(7, name)
        params = networks.start(net, name, [generator], uniform=uniform)
        w = params[0].double()
        variance = 2.0 / (300 if name == "he" else 500)
        # The mean of 60,000 squares deviates by sqrt((k - 1) / 60000) of it, with a
        # kurtosis k of 3 (or 1.8): 6 deviations have a chance of 2e-9, and so below.
        assert abs(w.square().mean() / variance - 1.0) < 6.0 * (2.0 / 60000) ** 0.5
        assert abs(w.mean()) < 6.0 * (variance / 60000) ** 0.5
        kurtosis = float((w**4).mean() / w.square().mean() ** 2)
        assert abs(kurtosis - (1.8 if uniform else 3.0)) < 0.3
        if uniform:
            assert w.abs().max() <= math.sqrt(3.0 * variance) * (1.0 + 1e-6)
        assert not params[1].any()

    def test_a_replicate_does_not_depend_on_its_neighbours(self):
        net, both = start()
        generator = torch_generator(7, "start", 1)
        alone = networks.start(net, "he", [generator], dtype=torch.float64)
        assert all(map(torch.equal, [p[1] for p in both], [p[0] for p in alone]))

    def test_unknown(self):
        with pytest.raises(ValueError, match="`kind` must be one of he, xavier"):
            networks.start(classifier(WIDTHS), "zeros", [torch_generator(7)])  # pyright: ignore[reportArgumentType]


OTHERS = (
    replace(classifier(WIDTHS), activation="tanh"),
    replace(classifier(WIDTHS), parametrisation="ntk"),
    replace(classifier(WIDTHS), bias=False),
    replace(classifier(WIDTHS), weighting="rows"),
    replace(classifier(WIDTHS), norm=Norm(over="layer")),
)


@pytest.mark.parametrize("other", OTHERS)
def test_what_is_no_classifier_is_refused(other):
    params = other.init(generator=torch_generator(7))
    with pytest.raises(ValueError, match="pairs: `network` must be one that `mmd_init"):
        networks.pairs(other, params)
    with pytest.raises(ValueError, match="as_module: `network` must be one that `mmd"):
        as_module(other, params)


class TestAsModule:
    @pytest.mark.parametrize("training", [False, True])
    @pytest.mark.parametrize("batch_norm", [False, True])
    def test_is_the_network(self, batch_norm, training):
        net, params = start(batch_norm=batch_norm)
        buffers, x = net.running(params), inputs(2, 9, 7)
        modules = [
            as_module(net, params, buffers, replicate=index).train(training)
            for index in range(2)
        ]
        made = net.run(params, x, buffers=buffers, training=training).outputs
        for index, module in enumerate(modules):
            # Three layers of ten terms of size one.
            torch.testing.assert_close(
                made[index], module(x[index]), rtol=1e-12, atol=1e-13
            )
            running = [b for b in module.buffers() if b.ndim]
            for mine, theirs in zip(buffers, running, strict=True):
                torch.testing.assert_close(mine[index], theirs, rtol=1e-12, atol=1e-13)

    def test_has_memory_of_its_own(self):
        net, params = start()
        as_module(net, params).get_parameter("0.weight").data.zero_()
        assert params[0].any()

    @pytest.mark.parametrize("batch_norm", [False, True])
    def test_has_as_many_parameters(self, batch_norm):
        net, params = start(batch_norm=batch_norm)
        own = as_module(net, params).parameters()
        assert net.parameters == sum(p.numel() for p in own)

    def test_what_enters_the_activations(self):
        net, params = start()
        found = networks.entering(net, params, inputs(2, 9, 7))
        assert [z.shape for z in found] == [(2, 9, 6), (2, 9, 5)]
        (first, bias), *_ = networks.pairs(net, params)
        wanted = inputs(2, 9, 7) @ first.mT + bias[:, None]
        torch.testing.assert_close(found[0], wanted, rtol=1e-12, atol=1e-13)


class Tenfold(nn.Linear):
    def forward(self, input):
        return 10.0 * super().forward(input)


def hooked():
    made = nn.Sequential(nn.Linear(7, 3), nn.ReLU(), nn.Linear(3, 2))
    made[0].register_forward_hook(lambda _module, _given, out: 2.0 * out)
    return made


def tied():
    layer, on = nn.Linear(7, 7), nn.ReLU()
    return nn.Sequential(layer, on, layer, on, nn.Linear(7, 2))


def tied_weights():
    made = nn.Sequential(nn.Linear(7, 7), nn.ReLU(), nn.Linear(7, 7), nn.ReLU())
    made.append(nn.Linear(7, 2))
    made[2].weight = made[0].weight
    return made


class TestSilentlyWrong:
    """Networks that are not what their classes say, or have fewer parameters."""

    @pytest.mark.parametrize(
        ("module", "match"),
        [
            (
                nn.Sequential(Tenfold(7, 3), nn.ReLU(), nn.Linear(3, 2)),
                "0 is a Tenfold",
            ),
            (hooked(), "0 is a Linear with hooks"),
            (
                nn.Sequential(
                    nn.utils.parametrizations.weight_norm(nn.Linear(7, 3)),
                    nn.ReLU(),
                    nn.Linear(3, 2),
                ),
                "0 is a ParametrizedLinear",
            ),
            (tied(), "layers of their own, but some share"),
            (tied_weights(), "layers of their own, but some share"),
            (
                nn.Sequential(nn.Linear(7, 3), nn.ReLU(), nn.Linear(3, 2)).bfloat16(),
                "float32 or float64, but it is of torch.bfloat16",
            ),
        ],
    )
    def test_refuses(self, module, match):
        with pytest.raises(TypeError, match=match):
            from_module(module)

    def test_one_relu_may_stand_twice(self):
        on = nn.ReLU()
        module = nn.Sequential(
            nn.Linear(7, 4), on, nn.Linear(4, 3), on, nn.Linear(3, 2)
        )
        net, params = from_module(module)
        assert net.widths == (7, 4, 3, 2)
        x = inputs(9, 7).float()
        torch.testing.assert_close(net.apply(params, x)[0], module(x))


class TestFromModule:
    def test_keeps_names_and_values(self):
        module = nn.Sequential()
        module.add_module("flat", nn.Flatten())
        module.add_module("first", nn.Linear(7, 6))
        module.add_module("on", nn.ReLU())
        module.add_module("last", nn.Linear(6, 3))
        net, params = from_module(module)
        assert net.widths == (7, 6, 3)
        x = inputs(9, 7).float()
        torch.testing.assert_close(net.apply(params, x)[0], module(x))
        params[0].zero_()
        assert module.get_parameter("first.weight").any()

    @pytest.mark.parametrize(
        ("module", "match"),
        [
            (
                nn.Linear(7, 3),
                "must be a torch.nn.Sequential or a FullyConnected, but it is a L",
            ),
            (nn.Sequential(nn.Linear(7, 3), nn.Tanh(), nn.Linear(3, 2)), "1 is a Tanh"),
            (
                nn.Sequential(nn.Linear(7, 3), nn.BatchNorm1d(3), nn.ReLU()),
                "1 is a BatchNorm1d. Build it as",
            ),
            (nn.Sequential(nn.Conv1d(1, 2, 3)), "0 is a Conv1d"),
            (nn.Sequential(nn.Linear(7, 3), nn.ReLU()), "must end in a Linear layer"),
            (nn.Sequential(), "must end in a Linear layer"),
            (nn.Sequential(nn.Linear(7, 3, bias=False)), "must have a bias in every"),
        ],
    )
    def test_refuses_other_kinds(self, module, match):
        with pytest.raises(TypeError, match=match):
            from_module(module)

    def test_refuses_widths(self):
        module = nn.Sequential(nn.Linear(7, 3), nn.ReLU(), nn.Linear(4, 2))
        with pytest.raises(ValueError, match=r"must have layers that fit.*\(4, 2\)"):
            from_module(module)
        with pytest.raises(ValueError, match="at least 2 classes, but it ends in 1"):
            from_module(nn.Sequential(nn.Linear(7, 1)))


@pytest.mark.parametrize(
    ("widths", "match"),
    [
        ((4,), "must be inputs, hidden units and classes"),
        ((4, 0, 2), "all positive, but they are"),
        ((4, 3, 1), "at least 2 classes, but it ends in 1. A single logit"),
    ],
)
def test_network_refuses(widths, match):
    with pytest.raises(ValueError, match=match):
        classifier(widths)
