"""Stacked classifiers and problems, against modules and definitions written out."""

import numpy as np
import pytest
import torch
from torch import nn

from empirical.networks import Convolutional
from empirical.randomness import torch_generator
from empirical.square_loss import classifier, problem, start
from empirical.square_loss.classifiers import FAMILIES
from empirical.square_loss.networks import rho

DENSE = {"shape": (5,), "widths": (4, 3)}
CONV = {"shape": (2, 6, 5), "widths": (3, 4), "stride": 2}


def generators(count, seed=7):
    return [torch_generator(seed, i) for i in range(count)]


def perturbed(params, seed=9):
    """Move every parameter, gains and shifts too."""
    g = torch_generator(seed)
    noise = [torch.randn(p.shape, generator=g, dtype=p.dtype) for p in params]
    return tuple(p + 0.1 * n for p, n in zip(params, noise, strict=True))


def module(network, params, replicate):
    """One replicate in the library's own layers, from raw parameters."""
    parts, last = [], network.layers - 1
    images = isinstance(network, Convolutional)
    for index, own in enumerate(network.grouped(params)):
        own = {name: p[replicate] for name, p in own.items()}
        v = own["weight"]
        if images and index < last:
            layer = nn.Conv2d(
                v.shape[1], v.shape[0], 3, stride=network.stride, padding=1, bias=False
            )
        else:
            layer = nn.Linear(v.shape[1], v.shape[0], bias=False)
        layer = layer.double()
        layer.weight.data.copy_(v)
        if network.weighting == "rows":
            layer = nn.utils.parametrizations.weight_norm(layer, dim=0)
            gains = layer.parametrizations.weight.original0
            gains.data.copy_(own["size"].view(gains.shape))
        elif network.weighting == "matrix":
            size = own["size"][0] if index == last else 1.0
            layer.weight.data.copy_(size * v / v.square().sum().sqrt())
        if index == last and images:
            parts.append(nn.Flatten())
        parts.append(layer)
        if index == last:
            break
        if network.norm is not None:
            affine = network.norm.affine
            kind = nn.BatchNorm2d if images else nn.BatchNorm1d
            norm = kind(v.shape[0], eps=network.norm.eps, affine=affine).double()
            if affine:
                norm.weight.data.copy_(own["gain"])
                norm.bias.data.copy_(own["shift"])
            parts.append(norm)
        parts.append(nn.ReLU())
    return nn.Sequential(*parts)


class TestNetworks:
    @pytest.mark.parametrize("family", FAMILIES)
    @pytest.mark.parametrize("spec", [DENSE, CONV])
    @pytest.mark.parametrize("outputs", [1, 3])
    def test_equals_modules_one_by_one(self, family, spec, outputs):
        net = classifier(family, outputs=outputs, **spec)
        params = perturbed(start(net, [0.5, 1.0, 4.0], generators(3)))
        x = torch.randn(
            7, *net.input_shape, generator=torch_generator(3), dtype=torch.float64
        )
        g = net.apply(params, x)
        assert g.shape == (3, 7, outputs)
        for replicate in range(3):
            theirs = module(net, params, replicate)(x)
            # Rounding, magnified by normalising a batch of seven.
            torch.testing.assert_close(g[replicate], theirs, rtol=1e-9, atol=1e-11)

    @pytest.mark.parametrize("family", FAMILIES)
    def test_norms_at_the_start_are_the_stated_ones(self, family):
        net = classifier(family, **DENSE)
        params = start(net, [0.1, 30.0], generators(2))
        effective = torch.stack([w.flatten(1).norm(dim=1) for w in net.weights(params)])
        for draw, scale in enumerate((0.1, 30.0)):
            inner = 1.0 if family == "wn" else scale
            assert effective[:-1, draw].numpy() == pytest.approx(inner, rel=1e-14)
            assert float(effective[-1, draw]) == pytest.approx(scale, rel=1e-14)
        product = scale**3 if family in ("none", "wn-rows") else scale
        assert float(rho(net, params)[1]) == pytest.approx(product, rel=1e-13)

    def test_a_start_does_not_depend_on_who_is_beside_it(self):
        net = classifier("bn", **DENSE)
        many = start(net, [1.0, 2.0, 3.0], generators(3))
        alone = start(net, [3.0], generators(3)[2:])
        assert all(torch.equal(a[2:], b) for a, b in zip(many, alone, strict=True))

    def test_batch_normalised_outputs_forget_hidden_sizes(self):
        net = classifier("bn", **DENSE)
        params = start(net, [1.0], generators(1))
        x = torch.randn(20, 5, generator=torch_generator(3), dtype=torch.float64)
        shrunk = (1e-3 * params[0], 10.0 * params[1], params[2])
        # eps over a variance of 1e-8 leaves 1e-4; the default leaves rounding.
        torch.testing.assert_close(
            net.apply(shrunk, x), net.apply(params, x), rtol=1e-4, atol=1e-5
        )
        trap = classifier("bn", eps=1e-5, **DENSE)
        assert not torch.allclose(
            trap.apply(shrunk, x), trap.apply(params, x), rtol=1e-2
        )

    @pytest.mark.parametrize(
        ("changes", "match"),
        [
            ({"family": "batchnorm"}, "`family` must be one of"),
            ({"family": "wn-row"}, "Did you mean 'wn-rows'"),
            ({"shape": (2, 3)}, r"`shape` must be channels.* but it is \(2, 3\)"),
            ({"shape": (0,)}, "`widths` must be at least 1"),
            ({"widths": (3, 0)}, "`widths` must be at least 1"),
            ({"shape": (1, 4, 4), "widths": (3, 0)}, "must be at least 1"),
            ({"shape": (1, 4, 4), "kernel": 4}, "`kernel` must be odd"),
            ({"eps": -1.0}, "`eps` must not be negative"),
        ],
    )
    def test_refusals(self, changes, match):
        with pytest.raises(ValueError, match=match):
            classifier(**({"family": "bn", **DENSE} | changes))

    def test_refusals_of_numbers(self):
        net = classifier("bn", **DENSE)
        for scales in ([0.0], [-1.0], [np.inf], [1.0, 1.0]):
            with pytest.raises(ValueError, match="`scales` must be positive"):
                start(net, scales, generators(1))
        params = start(net, [1.0], generators(1))
        x = torch.ones(3, 5, dtype=torch.float64)
        for bad, match in (
            ((params[:-1], x), "`params` must have the shapes"),
            ((params, x[:, :4]), "`inputs` must have shape"),
            ((params, x[:0]), "`inputs` must have shape"),
            ((params, x.float()), "dtype"),
        ):
            with pytest.raises(ValueError, match=match):
                net.apply(*bad)


class TestProblems:
    def test_balanced_unit_inputs_with_a_constant(self):
        two = problem(side=8, constant=0.25, per_class=20, tests=5, cached=False)
        assert two.inputs.shape == (40, 65)
        assert two.inputs.norm(dim=1).numpy() == pytest.approx(1.0, rel=1e-15)
        assert two.targets(two.classes).sum() == 0
        # The constant's share of the norm: all of them had the same before.
        raw = problem(side=8, per_class=20, tests=5, cached=False).inputs.flatten(1)
        ratio = two.inputs[:, :-1] / two.inputs[:, -1:] * 0.25
        unit = ratio / ratio.norm(dim=1, keepdim=True)
        torch.testing.assert_close(unit, raw, rtol=1e-12, atol=1e-14)

    def test_several_classes_are_one_hot(self):
        three = problem(labels=(1, 5, 7), per_class=4, tests=2, cached=False)
        assert three.inputs.shape == (12, 1, 28, 28)
        hot = three.targets(three.classes)
        assert hot.shape == (12, 3)
        assert hot[:3].tolist() == np.eye(3).tolist()
        assert three.source["labels"] == [1, 5, 7]

    @pytest.mark.parametrize(
        ("given", "match"),
        [
            ({"labels": (3,)}, "at least two classes"),
            ({"labels": (3, 3)}, "each once"),
            ({"labels": (3, 11)}, "class 11 has 0"),
            ({"per_class": 401}, "class 3 has 400"),
            ({"tests": 0}, "at least 1"),
            ({"data": "minst"}, "`name` must be one of"),
        ],
    )
    def test_refusals(self, given, match):
        with pytest.raises(ValueError, match=match):
            problem(cached=False, **given)

    def test_the_constant_is_a_number(self):
        with pytest.raises(ValueError, match="`constant` must be finite"):
            problem(cached=False, constant=np.nan)
