"""Fully connected networks: starts, runs against PyTorch's modules, what is refused."""

import math

import pytest
import torch
from torch import nn

from empirical.mmd_init.networks import Network, draw, from_module, stacked
from empirical.randomness import torch_generator

WIDTHS = (7, 6, 5, 3)


def start(draws=2, *, batch_norm=False, dtype=torch.float64):
    net = Network(widths=WIDTHS, batch_norm=batch_norm)
    generators = [torch_generator(7, "start", k) for k in range(draws)]
    return net, net.init("he", generators, dtype=dtype)


def inputs(*shape):
    return torch.randn(*shape, generator=torch_generator(7, "x"), dtype=torch.float64)


class TestStart:
    @pytest.mark.parametrize("uniform", [False, True])
    @pytest.mark.parametrize("name", ["he", "xavier"])
    def test_variances(self, name, uniform):
        net = Network(widths=(300, 200, 2))
        state = net.init(name, [torch_generator(7, name)], uniform=uniform)
        w = state["0.weight"].double()
        variance = 2.0 / (300 if name == "he" else 500)
        # The mean of 60,000 squares deviates by sqrt((k - 1) / 60000) of it, with a
        # kurtosis k of 3 (or 1.8): 6 deviations have a chance of 2e-9, and so below.
        assert abs(w.square().mean() / variance - 1.0) < 6.0 * (2.0 / 60000) ** 0.5
        assert abs(w.mean()) < 6.0 * (variance / 60000) ** 0.5
        kurtosis = float((w**4).mean() / w.square().mean() ** 2)
        assert abs(kurtosis - (1.8 if uniform else 3.0)) < 0.3
        if uniform:
            assert w.abs().max() <= math.sqrt(3.0 * variance) * (1.0 + 1e-6)
        assert not state["0.bias"].any()

    def test_a_draw_does_not_depend_on_its_neighbours(self):
        net, both = start()
        alone = net.init("he", [torch_generator(7, "start", 1)], dtype=torch.float64)
        assert all(torch.equal(both[name][1], alone[name][0]) for name in both)

    def test_unknown(self):
        with pytest.raises(ValueError, match="`start` must be one of he, xavier"):
            Network(widths=WIDTHS).init("zeros", [torch_generator(7)])  # pyright: ignore[reportArgumentType]


class TestRun:
    @pytest.mark.parametrize("training", [False, True])
    @pytest.mark.parametrize("batch_norm", [False, True])
    def test_equals_the_module(self, batch_norm, training):
        net, state = start(batch_norm=batch_norm)
        x = inputs(2, 9, 7)
        modules = []
        for index in range(2):
            module = net.module().double().train(training)
            # The modules count batches too.
            module.load_state_dict(draw(state, index), strict=not batch_norm)
            modules.append(module)
        made, entering = net.run(state, x, training=training)
        assert [e.shape for e in entering] == [(2, 9, 6), (2, 9, 5)]
        for index, module in enumerate(modules):
            # Three layers of ten terms of size one.
            torch.testing.assert_close(
                made[index], module(x[index]), rtol=1e-12, atol=1e-13
            )
            own = module.state_dict()
            for name, values in draw(state, index).items():
                torch.testing.assert_close(values, own[name], rtol=1e-12, atol=1e-13)

    def test_shares_inputs(self):
        net, state = start()
        x = inputs(9, 7)
        made, _ = net.run(state, x)
        for index in range(2):
            alone, _ = net.run(draw(state, index), x)
            torch.testing.assert_close(made[index], alone, rtol=1e-12, atol=1e-13)

    def test_stacks_and_draws(self):
        _, state = start()
        again = stacked([draw(state, 0), draw(state, 1)])
        assert all(torch.equal(state[name], again[name]) for name in state)
        draw(state, 0)["0.weight"].zero_()
        assert state["0.weight"][0].any()

    @pytest.mark.parametrize("batch_norm", [False, True])
    def test_counts_and_names_parameters(self, batch_norm):
        net = Network(widths=WIDTHS, batch_norm=batch_norm)
        own = dict(net.module().named_parameters())
        assert net.parameters == sum(p.numel() for p in own.values())
        assert set(net.learnt()) == set(own)


class TestFromModule:
    def test_keeps_names_and_values(self):
        module = nn.Sequential()
        module.add_module("flat", nn.Flatten())
        module.add_module("first", nn.Linear(7, 6))
        module.add_module("on", nn.ReLU())
        module.add_module("last", nn.Linear(6, 3))
        net, state = from_module(module)
        assert net.widths == (7, 6, 3)
        assert set(state) == set(module.state_dict())
        x = inputs(9, 7).float()
        torch.testing.assert_close(net.run(state, x)[0], module(x))
        state["first.weight"].zero_()
        assert module.get_parameter("first.weight").any()

    @pytest.mark.parametrize(
        ("module", "match"),
        [
            (
                nn.Linear(7, 3),
                "must be a torch.nn.Sequential or a Network, but it is a L",
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
        Network(widths=widths)
