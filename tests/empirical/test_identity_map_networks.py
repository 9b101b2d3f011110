"""Networks from images to images, and their first weights."""

import math
from dataclasses import replace
from typing import get_args

import pytest
import torch
from drawing import normal
from torch import nn

from empirical.identity_map import copier, networks
from empirical.identity_map.recipes import Loss, Recipe
from empirical.identity_map.task import Copy, CopyDense, by_hand
from empirical.identity_map.training import train
from empirical.networks import (
    Convolutional,
    FullyConnected,
    Norm,
    Residual,
    initial,
)
from empirical.networks.layers import convolved
from empirical.randomness import torch_generator
from empirical.testbed.loop import by_autograd
from empirical.testbed.slopes import dense, square_norms
from empirical.testbed.stack import Stack

F64 = torch.float64


def nets(**changes):
    """One network of each kind."""
    given = {"shape": (2, 5, 4), "layers": 4} | changes
    return [
        copier(kind="fcn", width=6, **given),
        copier(kind="residual", **given),
        copier(kind="cnn", width=9, kernel=3, **given),
    ]


def by_definition(net, params, draw, x):
    """One image through one network, layer by layer."""
    h = x if isinstance(net, Convolutional) else x.flatten()
    outputs, block = [], h
    for index, w in enumerate(w[draw] for w in params):
        if isinstance(net, Convolutional):
            z = nn.functional.conv2d(h[None], w, padding=net.kernel // 2)[0]
        else:
            z = w @ h
        last = index == net.layers - 1
        h = z if last or net.activation == "linear" else z.clamp(min=0)
        if isinstance(net, Residual) and index % 2:
            h = block = block + h
        outputs.append(h)
    return outputs


class TestForward:
    @pytest.mark.parametrize("activation", ["relu", "linear"])
    @pytest.mark.parametrize("kind", range(3))
    def test_layers_follow_the_definition(self, kind, activation):
        net = nets(activation=activation)[kind]
        params = net.init(generator=torch_generator(7), replicates=3)
        shared, own = normal(4, *net.input_shape), normal(3, 4, *net.input_shape)
        for images in (shared, own):
            got = net.layer_outputs(params, images)
            assert len(got) == net.layers
            for draw in range(3):
                for n in range(4):
                    x = images[n] if images is shared else images[draw, n]
                    wanted = by_definition(net, params, draw, x)
                    for mine, theirs in zip(got, wanted, strict=True):
                        one = mine[draw, n].reshape(theirs.shape)
                        # Sums of at most 40 products of order one.
                        torch.testing.assert_close(one, theirs, rtol=0, atol=1e-13)
            assert got[-1].shape == (3, 4, *net.input_shape)
            torch.testing.assert_close(net.apply(params, images), got[-1])

    @pytest.mark.parametrize("kind", range(3))
    def test_upper_layers_finish_what_lower_ones_began(self, kind):
        net = nets()[kind]
        params = net.init(generator=torch_generator(7), replicates=2)
        x = normal(3, *net.input_shape)
        outputs = net.layer_outputs(params, x)
        for count in (2, 4):
            if count == net.layers:
                below = x if isinstance(net, Convolutional) else x.flatten(1)
            else:
                below = outputs[net.layers - count - 1]
            got = net.upper(params, below, count)
            assert torch.equal(got, outputs[-1])

    @pytest.mark.parametrize("fan_out", [1, 2, 3, 9])
    @pytest.mark.parametrize("kernel", [1, 3, 7, 15])
    def test_both_ways_to_convolve_agree(self, fan_out, kernel):
        weight = normal(2, fan_out, 8, kernel, kernel)
        x = normal(2, 3, 8, 6, 5, name=8)
        together = convolved(weight, None, x, stride=1)
        got = together.unflatten(1, (2, fan_out)).transpose(0, 1)
        for draw in range(2):
            wanted = nn.functional.conv2d(x[draw], weight[draw], padding=kernel // 2)
            # Sums of 8 K^2 <= 1800 products.
            torch.testing.assert_close(got[draw], wanted, rtol=0, atol=1e-11)

    def test_convolutions_take_every_size(self):
        net = copier(kind="cnn", shape=(1, 8, 8), layers=3, width=4, kernel=5)
        params = net.init(generator=torch_generator(7))
        for size in ((1, 1), (3, 9), (20, 20)):
            assert net.apply(params, normal(1, 1, *size)).shape[-2:] == size

    def test_identity_by_constructed_weights(self):
        d = 12
        eye = torch.eye(d, dtype=F64)
        split = torch.cat([eye, -eye])
        fcn = copier(kind="fcn", shape=(1, 3, 4), layers=4, width=2 * d)
        middle = torch.eye(2 * d, dtype=F64)
        params = fcn.load([split, middle, middle, split.T])
        x = normal(5, 1, 3, 4)
        assert torch.equal(fcn.apply(params, x)[0], x)
        cnn = copier(kind="cnn", shape=(2, 7, 7), layers=3, width=4, kernel=3)
        taps = torch.zeros(3, 4, 4, 3, 3, dtype=F64)
        taps[0, :, :2, 1, 1] = split[[0, 1, d, d + 1], :2]
        taps[1, :, :, 1, 1] = torch.eye(4)
        taps[2, :2, :, 1, 1] = split[[0, 1, d, d + 1], :2].T
        params = cnn.load([taps[0, :, :2], taps[1], taps[2, :2]])
        for size in (3, 7, 16):
            x = normal(2, 2, size, size)
            assert torch.equal(cnn.apply(params, x)[0], x)


class TestGradients:
    @pytest.mark.parametrize("learnt", [None, [0], [1, 3]])
    @pytest.mark.parametrize("loss", get_args(Loss))
    @pytest.mark.parametrize("activation", networks.ACTIVATIONS)
    @pytest.mark.parametrize("kind", range(3))
    @torch.no_grad()
    def test_slopes_are_autograds(self, kind, activation, loss, learnt):
        net = nets(activation=activation)[kind]
        params = net.init(generator=torch_generator(7), replicates=3)
        stack = Stack(params, rates=1.0, learnt=learnt)
        way = CopyDense if by_hand(net) else Copy
        for draws, n, examples in ((1, 1, None), (3, 2, None), (1, 4, [2, 0, 2])):
            images, targets = (
                normal(draws, n, *net.input_shape),
                normal(draws, n, *net.input_shape),
            )
            task = way(network=net, images=images, targets=targets, loss=loss)
            rows = None if examples is None else torch.tensor(examples)
            losses, slopes = task.losses_and_slopes(stack, rows)
            _, gradients = by_autograd(task, stack, rows)
            if examples is not None:
                images, targets = images[:, examples], targets[:, examples]
            squares = (net.apply(params, images) - targets).square().flatten(1)
            wanted = squares.mean(1) if loss == "mean" else squares.sum(1) / 2
            torch.testing.assert_close(losses, wanted)
            assert len(slopes) == len(gradients) == len(stack.trained)
            for slope, gradient in zip(slopes, gradients, strict=True):
                close = {"rtol": 1e-10, "atol": 1e-12}
                torch.testing.assert_close(dense(slope), gradient, **close)
                norms = gradient.flatten(1).square().sum(1)
                torch.testing.assert_close(square_norms(slope), norms, **close)

    def test_kinds_unknown_to_the_fast_way_are_trained_as_they_are(self):
        class Bent(FullyConnected):
            def run(self, params, inputs, **how):
                signals = super().run(params, inputs, **how)
                return signals._replace(outputs=signals.outputs.tanh())

        given = {"widths": (6, 4, 6), "parametrisation": "standard", "image": (1, 2, 3)}
        net = Bent(**given)
        params = net.init("kaiming-normal", generator=torch_generator(7))
        x = normal(1, *net.input_shape)
        done = train(net, params, x, Recipe(steps=1))
        own = (net.apply(params, x) - x).square().mean().item()
        as_fcn = FullyConnected(**given).apply(params, x)
        assert done.losses[0, 0] == pytest.approx(own, rel=1e-12)
        assert (as_fcn - x).square().mean().item() != pytest.approx(own, rel=1e-3)

    @pytest.mark.parametrize(
        "changes",
        [
            {"activation": "tanh"},
            {"bias": True},
            {"norm": Norm(over="layer")},
            {"weighting": "rows"},
            {"parametrisation": "ntk"},
        ],
    )
    def test_the_fast_way_refuses_what_it_does_not_know(self, changes):
        x = normal(1, 1, 2, 5, 4)
        for net in (replace(nets()[0], **changes), nets()[2]):
            with pytest.raises(
                ValueError, match="`network` must be fully connected or"
            ):
                CopyDense(network=net, images=x, targets=x, loss="mean")


class TestInitial:
    @pytest.mark.parametrize("scheme", initial.SCHEMES)
    @pytest.mark.parametrize("shape", [(80, 40), (12, 20, 5, 5)])
    def test_scales(self, scheme, shape):
        w = torch.empty(shape, dtype=F64)
        initial.fill_(w, scheme, generator=torch_generator(7))
        fan_in, fan_out = initial.fans(shape)
        variance = {
            "default": 1 / (fan_in * fan_out),
            "default-sqrt": 1 / math.sqrt(fan_in * fan_out),
            "framework": 1 / (3 * fan_in),
            "xavier-normal": 2 / (fan_in + fan_out),
            "xavier-uniform": 2 / (fan_in + fan_out),
            "kaiming-normal": 2 / fan_in,
            "kaiming-uniform": 2 / fan_in,
            "orthogonal": 1 / max(shape[0], fan_in),
        }[scheme]
        assert initial.deviation(scheme, shape) ** 2 == pytest.approx(variance)
        # At least 3200 entries: five standard errors of a normal's second moment.
        assert w.square().mean().item() == pytest.approx(variance, rel=0.125)
        if scheme == "framework" or scheme.endswith("uniform"):
            assert w.abs().max() <= math.sqrt(3 * variance)
        if scheme == "orthogonal":
            flat = w.flatten(1)
            gram = flat.T @ flat if len(flat) > flat.shape[1] else flat @ flat.T
            eye = torch.eye(len(gram), dtype=F64)
            torch.testing.assert_close(gram, eye, rtol=0, atol=1e-13)

    def test_draws_do_not_depend_on_how_many(self):
        for net in nets():
            together = net.init(
                "orthogonal", generator=torch_generator(7), replicates=3
            )
            g = torch_generator(7)
            each = [net.init("orthogonal", generator=g) for _ in range(3)]
            for w, parts in zip(together, zip(*each, strict=True), strict=True):
                assert torch.equal(w, torch.cat(parts))


class TestRefusals:
    @pytest.mark.parametrize(
        ("changes", "match"),
        [
            ({"kind": "cnm"}, "`kind` must be one of fcn, cnn, residual"),
            ({"activation": "tanh"}, "`activation` must be one of relu, linear"),
            ({"kernel": 4}, "`kernel` must be odd"),
            ({"shape": (1, -3, 3)}, "`shape` must be at least 1, but it is -3"),
            ({"shape": (3, 3)}, "`shape` must be channels"),
            ({"layers": 0}, "`layers` must be at least 1"),
            ({"width": None}, "`width` must be at least 1"),
            ({"width": 0}, "`width` must be at least 1"),
            ({"kind": "residual", "width": None, "layers": 3}, "even for a residual"),
            ({"kind": "residual", "layers": 2}, "must be absent or its images' size"),
        ],
    )
    def test_specifications(self, changes, match):
        given = {"kind": "cnn", "shape": (1, 3, 3), "layers": 3, "width": 2} | changes
        with pytest.raises(ValueError, match=match):
            copier(**given)

    def test_images_and_weights(self):
        net = nets()[2]
        params = net.init(generator=torch_generator(7), replicates=2)
        x = normal(1, *net.input_shape)
        for images, match in (
            (normal(1, 3, 5, 4), r"`inputs` must have shape \(n, 2, H, W\)"),
            (normal(1, 2, 0, 4), r"`inputs` must have shape \(n, 2, H, W\)"),
            (normal(3, 1, *net.input_shape), "must have 1 or 2 replicates"),
            (x.float(), "must have the weights' dtype"),
        ):
            with pytest.raises(ValueError, match=match):
                net.apply(params, images)
        with pytest.raises(ValueError, match="`params` must have the shapes"):
            net.apply(params[1:], x)
        with pytest.raises(ValueError, match="`count` must be from 1 to 4"):
            net.upper(params, x, 5)
        with pytest.raises(ValueError, match=r"must have shape \(n, 9, H, W\)"):
            net.upper(params, x, 1)
        residual = nets()[1]
        theirs = residual.init(generator=torch_generator(7))
        with pytest.raises(ValueError, match="even for a residual network"):
            residual.upper(theirs, x, 1)
        broken = [w[0].clone() for w in params]
        with pytest.raises(ValueError, match="must hold 4 tensors"):
            net.load(broken[:2])
        broken[1][0, 0, 0, 0] = math.nan
        with pytest.raises(ValueError, match="`params` must be finite"):
            net.load(broken)
        with pytest.raises(ValueError, match="`replicates` must be at least 1"):
            net.init(generator=torch_generator(7), replicates=0)

    def test_a_near_scheme_is_named(self):
        with pytest.raises(ValueError, match=r"Did you mean 'kaiming-\w+'"):
            nets()[0].init("kaiming", generator=torch_generator(7))
