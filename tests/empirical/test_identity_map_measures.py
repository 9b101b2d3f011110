import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from drawing import normal
from hypothesis import given, settings
from hypothesis import strategies as st

from empirical.data import load
from empirical.identity_map import copier, measures
from empirical.identity_map.images import (
    chosen,
    joined,
    patterns,
    resize,
    standardised,
    unseen,
)
from empirical.identity_map.measures import Settings, measure
from empirical.identity_map.probes import RHOS
from empirical.networks import Convolutional, FullyConnected, ResNet
from empirical.randomness import torch_generator

EPS = 2.0**-52


def identity(x):
    return torch.stack([x, x])


class TestCosine:
    @settings(max_examples=50)
    @given(
        shape=st.tuples(st.integers(1, 3), st.integers(1, 6), st.integers(2, 6)),
        scales=st.tuples(*[st.sampled_from([-1e-40, 1e-5, 1.0, -1e180])] * 2),
        centred=st.booleans(),
    )
    def test_is_the_definition_at_any_scale(self, shape, scales, centred):
        a, b = normal(*shape, name="a"), normal(*shape, name="b")
        u, v = (
            x.flatten().numpy().astype(np.longdouble) - (x.mean().item() * centred)
            for x in (a, b)
        )
        want = float(u @ v / np.sqrt((u @ u) * (v @ v)))
        sign = math.copysign(1.0, scales[0] * 1e-200 * scales[1])
        got = measures.cosine(scales[0] * a, scales[1] * b, centred=centred)
        # Unit vectors of at most 108 numbers, each off by a few roundings of sums.
        assert abs(float(got) - sign * want) < 1e-12

    def test_float32_images_lose_nothing_more(self):
        a, b = normal(1, 4, 4, name="a").float(), normal(1, 4, 4, name="b").float()
        got = measures.cosine(1e-36 * a, b)
        want = measures.cosine((1e-36 * a).double(), b.double())
        assert torch.equal(got, want)

    @pytest.mark.parametrize("bad", [0.0, math.nan, math.inf])
    def test_no_direction_is_nan(self, bad):
        a = torch.stack([normal(1, 2, 2), torch.full((1, 2, 2), bad).double()])
        got = measures.cosine(a, normal(1, 2, 2, name="b"))
        assert got.isnan().tolist() == [False, True]

    @pytest.mark.parametrize("value", [0.1, 1.0, -2.8215])
    def test_a_constant_image_has_no_centred_direction(self, value):
        a = torch.full((1, 7, 7), value, dtype=torch.float64)
        b = normal(1, 7, 7)
        assert measures.cosine(a, b, centred=True).isnan()
        assert not measures.cosine(a, b).isnan()

    def test_itself_is_one_exactly_or_by_rounding(self):
        a = normal(50, 1, 28, 28)
        got = measures.cosine(a, a)
        assert float(got.max()) <= 1.0
        assert float((1.0 - got).max()) < 784 * EPS


class TestHeatMap:
    image = normal(1, 6, 5)

    def found(self, function, **options):
        return measures.heat_map(
            function, self.image, count=3, generator=torch_generator(7), **options
        )

    def test_identity_is_one_everywhere_and_rho_to_the_constant(self):
        found = self.found(identity)
        assert found.identity.shape == (2, 11, 3)
        assert float((found.identity - 1.0).abs().max()) < 1e-12
        rhos = torch.tensor(RHOS, dtype=torch.float64)[None, :, None]
        assert float((found.constant - rhos).abs().max()) < 1e-12
        assert float(found.identity_mse.max()) == 0.0
        # |x - xhat|^2 = 2 |xhat|^2 (1 - rho).
        want = 2.0 * self.image.square().mean() * (1.0 - rhos)
        assert float((found.constant_mse - want).abs().max()) < 1e-12

    def test_constant_is_one_everywhere_and_rho_to_the_identity(self):
        found = self.found(lambda x: self.image.expand(1, *x.shape))
        rhos = torch.tensor(RHOS, dtype=torch.float64)[None, :, None]
        assert float((found.constant - 1.0).abs().max()) < 1e-12
        assert float((found.identity - rhos).abs().max()) < 1e-12
        assert float(found.constant_mse.max()) == 0.0

    def test_dead_and_diverged_networks_are_counted(self):
        def function(x):
            return torch.stack([x, 0.0 * x, x / 0.0])

        means = self.found(function).mean(1, 2)
        assert means["zero"].tolist() == [0, 33, 0]
        assert means["nonfinite"].tolist() == [0, 0, 33]
        assert means["identity"].isnan().tolist() == [False, True, True]
        assert means["identity_mse"].isnan().tolist() == [False, False, True]
        want = float(self.image.square().mean())
        assert float(means["constant_mse"][1]) == pytest.approx(want, rel=1e-12)

    def test_means_leave_out_what_is_undefined(self):
        def function(x):
            out = x.clone()[None]
            out[0, 0] = 0.0
            return out

        means = self.found(function).mean(1, 2)
        assert float(means["identity"][0]) == pytest.approx(1.0, abs=1e-12)
        assert means["zero"].tolist() == [1]

    def test_dtype_of_the_network(self):
        def function(x):
            assert x.dtype == torch.float32
            return x[None]

        assert float(self.found(function, dtype=torch.float32).identity.min()) > 0.9999


class TestShares:
    def test_recovers_a_mixture(self):
        training = normal(3, 1, 4, 4)
        coefficients = normal(2, 5, 3, name="c")
        outputs = torch.einsum("dnm,mchw->dnchw", coefficients, training)
        got, explained = measures.shares(outputs, training)
        torch.testing.assert_close(got, coefficients, rtol=0, atol=1e-12)
        assert float((explained - 1.0).abs().max()) < 1e-12

    def test_is_least_squares(self):
        training, output = normal(2, 1, 4, 4), normal(1, 1, 4, 4, name="y")
        got, explained = measures.shares(output, training)
        a, y = training.flatten(1).T.numpy(), output.flatten().numpy()
        want, residual, *_ = np.linalg.lstsq(a, y)
        np.testing.assert_allclose(got[0].numpy(), want, rtol=0, atol=1e-12)
        assert float(explained[0]) == pytest.approx(1 - residual[0] / (y @ y))

    @pytest.mark.parametrize("scale", [2.0**-600, 2.0**600])
    def test_is_explained_at_any_scale(self, scale):
        training, output = normal(2, 1, 4, 4), normal(1, 1, 4, 4, name="y")
        usual, scaled = (
            measures.shares(by * output, training)[1] for by in (1.0, scale)
        )
        assert torch.equal(scaled, usual)

    def test_undefined(self):
        outputs = torch.stack([torch.zeros(1, 2, 2), torch.full((1, 2, 2), math.inf)])
        got, explained = measures.shares(outputs, normal(1, 1, 2, 2))
        assert explained.isnan().all()
        assert got.isnan().tolist() == [[False], [True]]

    def test_dependent_images_are_refused(self):
        x = normal(1, 1, 2, 2)
        with pytest.raises(ValueError, match="`training` must be finite"):
            measures.shares(x, torch.nan * x)
        with pytest.raises(ValueError, match="must have the outputs' shape"):
            measures.shares(x, normal(1, 1, 2, 3))
        with pytest.raises(ValueError, match="linearly independent"):
            measures.shares(x, torch.cat([x, 2 * x]))
        with pytest.raises(ValueError, match="linearly independent"):
            measures.shares(x, normal(5, 1, 2, 2))


def pairwise_error(training, labels, tests, wanted):
    """The definition: every test example against every training example."""
    scores = np.zeros((len(tests), 10))
    for i, r in enumerate(tests.flatten(1).numpy()):
        for j, s in enumerate(training.flatten(1).numpy()):
            scores[i, labels[j]] += r @ s
    return float((scores.argmax(axis=1) != wanted.numpy()).mean())


class TestLayerErrors:
    def examples(self, n, name):
        data = load("mnist", name, cached=False).head(n)
        labels = torch.from_numpy(data.labels.astype("int64"))
        return standardised(data.images), labels

    @pytest.mark.parametrize("chunk", [7, 1000])
    def test_is_the_pairwise_definition(self, chunk):
        training, tests = self.examples(120, "train"), self.examples(60, "test")
        weight = normal(2, 30, 784) / 28

        def layers(x):
            hidden = torch.relu(x.flatten(1) @ weight.transpose(1, 2))
            return hidden, hidden.square()

        got = measures.layer_errors(layers, training=training, tests=tests, chunk=chunk)
        assert got.shape == (2, 3)
        for draw in range(2):
            for index in range(3):
                a, b = (
                    (x, *layers(x))[index] if index == 0 else layers(x)[index - 1][draw]
                    for x in (training[0], tests[0])
                )
                want = pairwise_error(a, training[1], b, tests[1])
                assert float(got[draw, index]) == pytest.approx(want, abs=1e-12)

    def test_raw_digits(self):
        got = measures.layer_errors(
            lambda x: (x[None],),
            training=self.examples(4000, "train"),
            tests=self.examples(1000, "test"),
            chunk=500,
        )
        # The same scores in plain numpy gave 246 wrong of 1,000; ten near-ties that a
        # rounding could turn are more than there are.
        assert float(got[0, 0]) == pytest.approx(0.246, abs=0.01)

    def test_a_dead_layer_errs_as_chance(self):
        training, tests = self.examples(50, "train"), self.examples(20, "test")

        def layers(x):
            h = x.flatten(1)
            return torch.stack([h, 0 * h, 1e-300 * h]), torch.stack([h / 0, h, h])

        got = measures.layer_errors(layers, training=training, tests=tests)
        assert float(got[1, 1]) == pytest.approx(0.9, abs=1e-12)
        # A scale is no error, however small.
        assert got[2, 1] == got[0, 1] == got[0, 0]
        assert got[:, 2].isnan().tolist() == [True, False, False]

    @pytest.mark.parametrize("scale", [1e-36, 1e37])
    def test_the_range_of_float32_suffices(self, scale):
        # Sums of 100 such numbers, and products of two, are beyond it.
        training, tests = (
            (x.float(), y)
            for x, y in (self.examples(100, "train"), self.examples(50, "test"))
        )
        got = measures.layer_errors(
            lambda x: (scale * x[None],), training=training, tests=tests
        )
        assert got[0, 0] == got[0, 1]

    def test_bad_examples(self):
        x, y = self.examples(20, "train")
        good = (x, y)
        for bad in ((x, y[:3]), (x[:0], y[:0]), (x, y.double()), (x[0], y[:1])):
            with pytest.raises(ValueError, match="`tests` must be images"):
                measures.layer_errors(lambda x: (x[None],), training=good, tests=bad)
        with pytest.raises(ValueError, match=r"labels 0\.\.9, but they reach"):
            measures.layer_errors(lambda x: (x[None],), training=(x, y + 5), tests=good)


class TestSignalSizes:
    def test_root_mean_squares(self):
        x = normal(3, 2, 4, 4)
        h = normal(2, 3, 7, name="h")
        got = measures.signal_sizes(lambda _: [h, 0 * h, 1e-170 * h], x)
        want = h.square().mean(dim=(1, 2)).sqrt()
        assert got.shape == (2, 4)
        torch.testing.assert_close(got[:, 1], want, rtol=1e-14, atol=0)
        assert got[:, 2].tolist() == [0.0, 0.0]
        torch.testing.assert_close(got[:, 3], 1e-170 * want, rtol=1e-13, atol=0)

    def test_a_layer_shrinks_as_its_variance_says(self):
        # One hidden layer: E h^2 = s^2 |x|^2 / 2 for ReLU of N(0, s^2 |x|^2).
        net = copier(kind="fcn", shape=(1, 7, 7), layers=2, width=4096)
        x = normal(1, 1, 7, 7)
        weights = [0.1 * normal(4096, 49, name="w"), normal(49, 4096, name="v")]
        params = net.load(weights)
        got = measures.signal_sizes(lambda y: net.layer_outputs(params, y), x)
        want = 0.1 * float(x.norm()) / math.sqrt(2)
        # Mean of 4096 squares: relative error sqrt(5/4096)/2 = 1.8 %; five of them.
        assert float(got[0, 1]) == pytest.approx(want, rel=0.09)


class TestPicture:
    def test_of_one_channel_is_the_channel(self):
        x = normal(1, 5, 4)
        h = normal(1, 5, 4, name="h")
        seen = measures.picture(h, x)
        assert seen is not None
        torch.testing.assert_close(seen.singular, h[0] / h.norm(), rtol=0, atol=1e-14)
        assert seen.share == pytest.approx(1.0, abs=1e-12)
        assert torch.equal(seen.first, h[0])

    def test_singular_vector_and_its_sign(self):
        x, h = normal(1, 5, 4), normal(6, 5, 4, name="h")
        seen, other = measures.picture(h, x), measures.picture(-1e-30 * h, x)
        assert seen is not None
        assert other is not None
        _, values, right = np.linalg.svd(h.flatten(1).numpy(), full_matrices=False)
        assert abs(float(seen.singular.flatten() @ torch.from_numpy(right[0]))) == (
            pytest.approx(1.0, abs=1e-12)
        )
        assert seen.share == pytest.approx(values[0] ** 2 / (values**2).sum())
        assert float((seen.singular * h.sum(dim=0)).sum()) > 0.0
        torch.testing.assert_close(other.singular, -seen.singular, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("size", [1e-200, 1e200])
    def test_no_size_of_the_image_moves_its_channel(self, size):
        x, h = normal(1, 5, 4), normal(6, 5, 4, name="h")
        seen, other = measures.picture(h, x), measures.picture(h, size * x)
        assert seen is not None
        assert other is not None
        assert other.channel == seen.channel
        assert other.cosine == pytest.approx(seen.cosine, rel=1e-14)

    def test_nonnegative_channels_have_a_nonnegative_picture(self):
        seen = measures.picture(normal(6, 5, 4).abs(), normal(1, 5, 4))
        assert seen is not None
        assert float(seen.singular.min()) > -1e-14

    def test_cancelling_channels_have_a_sign_too(self):
        x = torch.tensor([[[-1.0, 2.0]]]).double()
        seen = measures.picture(torch.cat([x, -x]), x)
        assert seen is not None
        assert float(seen.singular[0, 0]) > 0.0
        assert seen.channel == 0

    def test_most_correlated_channel(self):
        x = normal(1, 5, 4)
        h = torch.cat(
            [0 * x, -x, 0.01 * x + 0.001 * normal(1, 5, 4, name="e"), x.abs()]
        )
        seen = measures.picture(h, x)
        assert seen is not None
        assert seen.channel == 2
        want = measures.cosine(h[2:3], x)
        assert seen.cosine == pytest.approx(float(want), abs=1e-12)
        assert torch.equal(seen.correlated, h[2])

    def test_nothing_to_see(self):
        x = normal(1, 5, 4)
        assert measures.picture(torch.zeros(3, 5, 4), x) is None
        assert measures.picture(torch.full((3, 5, 4), math.nan), x) is None

    def test_bad_input(self):
        x = normal(1, 5, 4)
        with pytest.raises(ValueError, match="the image's"):
            measures.picture(x[..., :3], x)
        with pytest.raises(ValueError, match="must be finite and not zero"):
            measures.picture(x, 0 * x)


class TestRelativeChange:
    def test_is_the_formula(self):
        old = (normal(2, 5, 4, name="a"), normal(2, 3, 5, 3, 3, name="b"))
        new = tuple(w + 0.5 * normal(*w.shape, name="c") for w in old)
        got = measures.relative_change(old, new)
        for draw in range(2):
            for layer in range(2):
                a, b = old[layer][draw].numpy(), new[layer][draw].numpy()
                want = np.linalg.norm((a - b).ravel()) / np.linalg.norm(a.ravel())
                assert float(got[draw, layer]) == pytest.approx(want, rel=1e-13)

    @pytest.mark.parametrize("size", [1e-200, 1e200])
    def test_no_size_of_weights_moves_it(self, size):
        old, new = normal(2, 3, 3, name="a"), normal(2, 3, 3, name="b")
        wanted = measures.relative_change((old,), (new,))
        got = measures.relative_change((size * old,), (size * new,))
        torch.testing.assert_close(got, wanted, rtol=1e-14, atol=0.0)

    def test_diverged_is_nan(self):
        w = normal(2, 3, 3)
        after = w.clone()
        after[0] = math.inf
        got = measures.relative_change((w,), (after,))
        assert got.isnan().flatten().tolist() == [True, False]

    def test_bad_input(self):
        w = normal(2, 3, 3)
        with pytest.raises(ValueError, match="layer 1 of 2 of 2 replicates"):
            measures.relative_change((0 * w,), (w,))
        with pytest.raises(ValueError, match="must have the shapes of `initial`"):
            measures.relative_change((w,), (w, w))


class TestCover:
    def network(self, kernel=5, layers=3, edge=11):
        return copier(
            kind="cnn", shape=(1, edge, edge), layers=layers, width=2, kernel=kernel
        )

    @pytest.mark.parametrize("position", [(0, 0), (5, 5), (10, 3)])
    @pytest.mark.parametrize("kernel", [1, 3, 5, 9])
    def test_is_what_gradients_say(self, position, kernel):
        net = self.network(kernel)
        params = tuple(
            w.abs() for w in net.init("framework", generator=torch_generator(7))
        )
        image = torch.ones(1, 1, 11, 11, dtype=torch.float64, requires_grad=True)
        row, column = position
        net.apply(params, image)[0, 0, 0, row, column].backward()
        assert image.grad is not None
        want = float((image.grad != 0).double().mean())
        got = measures.cover(net, position)
        assert got.shape == (3,)
        assert float(got[-1]) == pytest.approx(want, abs=1e-15)

    def test_half_of_the_layer_below_is_not_seen_from_a_corner(self):
        net = self.network(29, 1, 28)
        assert float(measures.cover(net, (0, 0))) == pytest.approx(225 / 784)
        assert float(measures.cover(net, (14, 14))) == 1.0
        seen = [float(measures.cover(self.network(k, 1, 28), (0, 0))) for k in (53, 55)]
        assert seen[0] < seen[1] == 1.0

    def test_no_depth_overflows(self):
        got = measures.cover(self.network(9, 1), (0, 0), layers=500)
        assert float(got[-1]) == 1.0
        assert bool((got.diff() >= 0).all())

    def test_full_layers_see_everything(self):
        net = copier(kind="fcn", shape=(1, 3, 3), layers=4, width=2)
        assert measures.cover(net, (0, 0)).tolist() == [1.0] * 4

    @pytest.mark.parametrize(
        "net",
        [
            Convolutional(shape=(1, 8, 8), widths=(4, 4), stride=2),
            Convolutional(shape=(1, 8, 8), widths=(4,), outputs=3),
            ResNet(blocks=1),
            FullyConnected(widths=(4, 4)),
        ],
    )
    def test_networks_it_does_not_know_are_refused(self, net):
        with pytest.raises(ValueError, match="cover: `network` must be of images"):
            measures.cover(net, (0, 0))

    def test_no_layers(self):
        with pytest.raises(ValueError, match="`layers` must be at least 1"):
            measures.cover(self.network(), (0, 0), layers=0)

    def test_bad_position(self):
        with pytest.raises(ValueError, match="must be a pixel of 11 by 11"):
            measures.cover(self.network(), (11, 0))

    def test_even_kernels_are_refused(self):
        with pytest.raises(ValueError, match="`kernel` must be odd"):
            self.network(4)


def channel_identity(net, draws=1):
    """Weights of a one-channel linear network that copies: centre taps of one."""
    weights = []
    for shape in net.weight_shapes:
        w = torch.zeros(draws, *shape, dtype=torch.float64)
        middle = net.kernel // 2
        w[:, 0, 0, middle, middle] = 1.0
        weights.append(w)
    return tuple(weights)


SMALL = Settings(
    count=2, sizes=(4, 7, 9), largest=7, upper=(1, 2, 9), examples=(100, 50)
)


class TestMeasure:
    shape = (1, 7, 7)
    image = chosen((7,)).fitted(shape)

    def cnn(self, layers=3, **options):
        return copier(
            kind="cnn",
            shape=self.shape,
            layers=layers,
            width=3,
            kernel=3,
            **options,
        )

    def beside(self, factor):
        """Return the image beside itself times a factor."""
        changed = {"pixels": factor * self.image.pixels, "names": ("changed",)}
        return joined(self.image, replace(self.image, **changed))

    def found(self, net, initial, final, *names, **options):
        options = {"training_images": self.image, "settings": SMALL} | options
        return measure(net, initial, final, names=names, seed=7, **options)

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
    @pytest.mark.parametrize(
        "net",
        [
            copier(kind="cnn", shape=(1, 7, 7), layers=3, width=3, kernel=3),
            copier(kind="cnn", shape=(3, 7, 7), layers=1, kernel=3),
            copier(kind="fcn", shape=(1, 7, 7), layers=3, width=20),
            copier(kind="fcn", shape=(1, 7, 7), layers=2, width=49),
            copier(kind="residual", shape=(1, 7, 7), layers=4),
        ],
        ids=["cnn", "colour", "fcn", "square", "residual"],
    )
    def test_everything_of_every_kind_is_a_record(self, net, dtype):
        old, new = (
            net.init(generator=torch_generator(7, name), replicates=2, dtype=dtype)
            for name in "ab"
        )
        image = chosen((7,)).fitted(net.input_shape)
        found = self.found(net, old, new, *measures.MEASUREMENTS, training_images=image)
        shared, each = measures.by_replicate(found)
        text = json.dumps(shared, allow_nan=False)
        assert json.loads(text) == shared
        assert len(text) + sum(v.nbytes for one in each for v in one.values()) < 200_000
        assert len(each) == 2
        assert np.shape(found["curve"]["identity"]) == (2, 1)
        assert np.shape(found["heatmap"]["constant"]) == (2, 1, 11)
        assert np.shape(found["layer-error"]["trained"]) == (2, net.layers + 1)
        assert np.shape(found["change"]["relative"]) == (2, net.layers)
        assert np.shape(found["signal"]["untrained"]) == (2, net.layers + 1)
        seen = found["pictures"]
        # Pictures of the first network, numbers of both.
        assert np.shape(seen["trained/singular"]) == (1, 2, net.layers, 7, 7)
        for name in ("share", "channel", "cosine"):
            assert np.shape(seen[f"trained/{name}"]) == (2, 2, net.layers)
        assert np.shape(found["probes"]["identity"]) == (2, 4)
        assert np.shape(found["probes"]["untrained_constant"]) == (2, 4)
        outputs = found["predictions"]["outputs"]
        channels = net.input_shape[0]
        assert np.shape(outputs) == (1, 20, 7 * channels, 7)
        assert np.shape(found["predictions"]["constant"]) == (2, 1, 20)

    def test_the_curve_is_the_mean_of_the_heat_map(self):
        net = self.cnn()
        params = net.init(generator=torch_generator(7), replicates=3)
        found = self.found(net, params, params, "curve", "heatmap")
        np.testing.assert_allclose(
            found["curve"]["identity"],
            found["heatmap"]["identity"].mean(dim=-1),
            rtol=0,
            atol=1e-14,
        )

    def test_the_identity_as_weights(self):
        net = self.cnn(activation="linear")
        params = channel_identity(net)
        found = self.found(net, params, params, "heatmap", "predictions", "sizes")
        np.testing.assert_allclose(
            found["heatmap"]["identity"], 1.0, rtol=0, atol=1e-12
        )
        np.testing.assert_allclose(
            np.ravel(found["heatmap"]["constant"]), RHOS, rtol=0, atol=1e-12
        )
        predictions, sizes = found["predictions"], found["sizes"]
        assert torch.equal(predictions["outputs"], predictions["inputs"])
        for rule in ("resized", "placed"):
            identity = sizes[f"{rule}/identity"]
            np.testing.assert_allclose(identity, 1.0, rtol=0, atol=1e-12)
            assert np.shape(identity) == (1, 3, 20)
            # The first is the training image itself, sized as the constant is.
            own = sizes[f"{rule}/constant"][0, :, 0]
            np.testing.assert_allclose(own, 1.0, rtol=0, atol=1e-12)
            assert np.shape(sizes[f"{rule}/outputs/7"]) == (1, 2, 7, 7)
            assert f"{rule}/outputs/9" not in sizes

    def test_probes_are_what_their_names_say(self):
        net = self.cnn(activation="linear")
        params = channel_identity(net)
        found = self.found(net, params, params, "probes", "heatmap")["probes"]
        assert found["kinds"] == ["orthogonal", "gaussian", "uniform", "digits"]
        np.testing.assert_allclose(found["identity"], 1.0, rtol=0, atol=1e-12)
        (constant,) = found["constant"]
        assert abs(constant[0]) < 1e-12
        # Half of it, over correlations 0 to 1; digits are like a digit, but less.
        assert constant[1] == pytest.approx(0.5, abs=1e-12)
        assert constant[2] == pytest.approx(0.5, abs=1e-12)
        assert 0.2 < constant[3] < 0.9
        assert torch.equal(found["untrained_constant"], found["constant"])

    def test_changes_are_of_weights_whose_layers_have_biases(self):
        net = self.cnn(bias=True)
        old = net.init("kaiming-normal", generator=torch_generator(7))
        new = tuple(3.0 * p if p.ndim > 2 else p + 1.0 for p in old)
        change = self.found(net, old, new, "change")["change"]["relative"]
        assert change.tolist() == [pytest.approx([2.0, 2.0, 2.0])]

    def test_layers_at_other_sizes(self):
        net = self.cnn()
        params = net.init(generator=torch_generator(7), replicates=2)
        found = self.found(net, params, params, "sizes")["sizes"]
        for edge in (4, 7):
            assert found[f"resized/layers/{edge}"].shape == (1, 3, edge, edge)
        assert "resized/layers/9" not in found

    def test_upper_layers_are_fed_the_image_in_every_channel(self):
        net = self.cnn()
        params = net.init(generator=torch_generator(7), replicates=2)
        found = self.found(net, params, params, "upper")["upper"]
        assert found["counts"] == [1, 2]
        x = self.image.pixels.expand(1, 3, 7, 7)
        want = net.upper(params, x, 2)
        cosines = measures.cosine(want[:, 0], self.image.pixels[0])
        got = found["identity"][:, 1, 0].numpy()
        np.testing.assert_allclose(got, cosines.numpy(), rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            found["outputs"][0, 1, 0].numpy(), want[0, 0, 0].numpy(), rtol=0, atol=5e-4
        )

    def test_upper_of_another_width_says_why_not(self):
        net = copier(kind="fcn", shape=self.shape, layers=2, width=20)
        params = net.init(generator=torch_generator(7))
        found = self.found(net, params, params, "upper", "sizes")
        assert "does not fit 20" in found["upper"]["reason"]
        assert "one size" in found["sizes"]["reason"]

    def test_dead_and_diverged_draws_are_nan_and_counted(self):
        net = self.cnn()
        params = net.init(generator=torch_generator(7), replicates=3)
        final = tuple(w.clone() for w in params)
        final[1][0] = 0.0
        final[2][1] = math.nan
        found = self.found(net, params, final, *measures.MEASUREMENTS)
        shared, each = measures.by_replicate(found)
        json.dumps(shared, allow_nan=False)
        assert [one["curve/zero"].item() for one in each] == [22, 0, 0]
        assert [one["curve/nonfinite"].item() for one in each] == [0, 22, 0]
        cosines = [one["curve/identity"].item() for one in each]
        assert np.isnan(cosines).tolist() == [True, True, False]
        dead, diverged, _ = (one["layer-error/trained"] for one in each)
        assert dead[2:] == pytest.approx([0.9, 0.9])
        assert np.isnan(diverged[3])
        share = each[0]["pictures/trained/share"]
        assert np.isnan(share[0]).tolist() == [False, True, True]
        assert not any(np.isinf(v).any() for one in each for v in one.values())

    def test_several_training_images(self):
        net = self.cnn()
        params = net.init(generator=torch_generator(7), replicates=2)
        pair = chosen((7, 1)).fitted(self.shape)
        found = self.found(
            net, params, params, "curve", "predictions", training_images=pair
        )
        assert np.shape(found["curve"]["identity"]) == (2, 2)
        predictions = found["predictions"]
        assert np.shape(predictions["coefficients"]) == (2, 21, 2)
        assert [x["name"] for x in predictions["images"]][:2] == ["train 7", "train 1"]
        twice = self.beside(2.0)
        found = self.found(net, params, params, "predictions", training_images=twice)
        assert "linearly independent" in found["predictions"]["reason"]

    def test_chunks_change_rounding_only(self, monkeypatch):
        net = self.cnn()
        params = net.init(generator=torch_generator(7), replicates=2)
        names = ("curve", "layer-error", "predictions")
        whole = self.found(net, params, params, *names)
        monkeypatch.setattr(measures.subjects, "BYTES", 1)
        single = self.found(net, params, params, *names)
        np.testing.assert_allclose(
            single["curve"]["identity"], whole["curve"]["identity"], atol=1e-13
        )
        np.testing.assert_allclose(
            single["layer-error"]["trained"], whole["layer-error"]["trained"]
        )

    def test_the_same_seed_gives_the_same_record(self):
        net = self.cnn()
        params = net.init(generator=torch_generator(7))
        first, second = (
            self.found(net, params, params, "curve", "predictions") for _ in range(2)
        )
        np.testing.assert_equal(
            measures.by_replicate(first), measures.by_replicate(second)
        )
        other = measure(
            net,
            params,
            params,
            training_images=self.image,
            names=("curve",),
            seed=8,
            settings=SMALL,
        )
        assert not torch.equal(other["curve"]["identity"], first["curve"]["identity"])

    def test_every_training_image_has_its_own_probes(self):
        net = self.cnn()
        params = net.init(generator=torch_generator(7))
        pair = chosen((7, 1)).fitted(self.shape)
        found = self.found(net, params, params, "heatmap", training_images=pair)[
            "heatmap"
        ]
        for index, image in enumerate(pair.pixels):
            want = measures.heat_map(
                lambda x: net.apply(params, x),
                image,
                count=2,
                generator=torch_generator(7, "probes", index),
            ).mean(2)
            np.testing.assert_allclose(
                found["identity"][0][index], want["identity"][0], rtol=0, atol=1e-12
            )

    def test_pictures_of_one_kind(self):
        net = self.cnn()
        params = net.init(generator=torch_generator(7))
        found = self.found(
            net, params, params, "pictures", settings=Settings(kinds=("first",))
        )["pictures"]
        seen = [key for key in found if key.startswith("trained/")]
        assert seen == [f"trained/{k}" for k in ("share", "channel", "cosine", "first")]
        want = net.layer_outputs(params, self.image.pixels)[1][0, 0, 0].numpy()
        # Three digits.
        got = found["trained/first"][0, 0, 1].numpy()
        np.testing.assert_allclose(got, want, rtol=5e-3)
        with pytest.raises(
            ValueError, match="`kinds` must be one of singular, correlated, first"
        ):
            Settings(kinds=("last",))

    def test_own_test_images(self):
        net = self.cnn()
        params = net.init(generator=torch_generator(7))
        shown = patterns(self.shape, generator=torch_generator(7))
        settings_ = Settings(shown=("disc",), count=2)
        found = self.found(
            net, params, params, "pictures", test_images=shown, settings=settings_
        )
        assert found["pictures"]["images"] == ["train 7", "disc"]
        with pytest.raises(ValueError, match=r"e\.g\. 'disc'"):
            self.found(
                net,
                params,
                params,
                "pictures",
                test_images=unseen(self.shape, generator=torch_generator(7)).select(
                    ["1"]
                ),
                settings=settings_,
            )

    def test_bad_input(self):
        net = self.cnn()
        params = net.init(generator=torch_generator(7))
        with pytest.raises(ValueError, match=r"Did you mean 'heatmap'"):
            self.found(net, params, params, "heat-map")
        with pytest.raises(ValueError, match=r"1 of 2 are, e\.g\. image 1"):
            self.found(net, params, params, "curve", training_images=self.beside(0.0))
        with pytest.raises(ValueError, match="must have the network's shape"):
            self.found(net, params, params, "curve", training_images=chosen((7,)))
        with pytest.raises(ValueError, match="must have the same shapes"):
            self.found(net, params[:2], params, "curve")


class TestEdges:
    def test_sobel_is_the_sum_over_neighbours(self):
        image = normal(2, 5, 6)
        got = measures.sobel(image[None])[0].numpy()
        padded = np.pad(image.numpy(), ((0, 0), (1, 1), (1, 1)), mode="edge")
        for c, i, j in np.ndindex(*got.shape):
            near = padded[c, i : i + 3, j : j + 3]
            down = near[2] - near[0]
            right = near[:, 2] - near[:, 0]
            want = math.hypot(
                down[0] + 2 * down[1] + down[2], right[0] + 2 * right[1] + right[2]
            )
            # Ten sums and a root of numbers of order one.
            assert got[c, i, j] == pytest.approx(want, rel=20 * EPS, abs=20 * EPS)

    def test_share_is_what_the_fit_gains(self):
        images, training = normal(3, 1, 6, 5), normal(1, 6, 5, name="training")
        outputs, edges = normal(2, 3, 1, 6, 5, name="out"), measures.sobel(images)
        got = measures.edge_share(outputs, images, training, edges)
        for network, row in np.ndindex(2, 3):
            y = outputs[network, row].numpy().ravel()
            known = [np.ones(30), images[row].numpy().ravel(), training.numpy().ravel()]
            left = [
                np.linalg.lstsq(np.stack(basis, 1), y, rcond=None)[1].item()
                for basis in (known, [*known, edges[row].numpy().ravel()])
            ]
            want = (left[0] - left[1]) / (y.var() * y.size)
            # Least squares of 30 numbers by two methods, condition numbers below ten.
            assert got[network, row].item() == pytest.approx(want, abs=1e-12)

    def test_pictures_that_others_make_up_count_once(self):
        # The training image itself is put in; and edges that are a mixture add nothing.
        images = normal(1, 1, 6, 5)
        edges = measures.sobel(images)
        got = measures.edge_share(edges[None], images, images[0], edges)
        y = edges.numpy().ravel()
        known = np.stack([np.ones(30), images.numpy().ravel()], 1)
        left = np.linalg.lstsq(known, y, rcond=None)[1].item()
        assert got.item() == pytest.approx(left / (y.var() * y.size), abs=1e-12)
        none = measures.edge_share(edges[None], images, images[0], 2.0 * images + 1.0)
        assert none.item() == 0.0

    @pytest.mark.parametrize("value", [0.1, 0.7, 1e-30])
    def test_a_constant_output_has_no_share(self, value):
        images, training = normal(2, 3, 7, 7), normal(3, 7, 7, name="training")
        flat = torch.full((1, 2, 3, 7, 7), value, dtype=torch.float64)
        edges = measures.sobel(images)
        assert measures.edge_share(flat, images, training, edges).isnan().all()

    @pytest.mark.parametrize("scale", [2.0**-600, 2.0**600])
    def test_shares_at_any_scale(self, scale):
        images, training = normal(3, 1, 6, 5), normal(1, 6, 5, name="training")
        outputs, edges = normal(2, 3, 1, 6, 5, name="out"), measures.sobel(images)
        usual, scaled = (
            measures.edge_share(by * outputs, images, training, edges)
            for by in (1.0, scale)
        )
        assert torch.equal(scaled, usual)

    @pytest.mark.parametrize("name", ["images", "training", "edges"])
    def test_pictures_that_are_not_finite_are_refused(self, name):
        given = {"images": normal(1, 1, 3, 3), "training": normal(1, 3, 3)}
        given["edges"] = measures.sobel(given["images"])
        given[name] = given[name].clone().fill_(math.nan)
        with pytest.raises(ValueError, match=f"edge_share: `{name}` must be finite"):
            measures.edge_share(normal(1, 1, 1, 3, 3), **given)

    def test_mixtures_and_constants_have_none(self):
        images, training = normal(2, 1, 6, 6), normal(1, 6, 6, name="training")
        edges = measures.sobel(images)
        outputs = torch.stack([2.0 * images + 3.0 * training - 1.0])
        got = measures.edge_share(outputs, images, training, edges)
        assert float(got.max()) < 1e-25
        flat = torch.zeros(1, 2, 1, 6, 6).double()
        nothing = measures.edge_share(flat, images, training, edges)
        assert nothing.isnan().all()

    def test_networks_that_copy_have_no_edges_and_points_are_outputs(self):
        net = copier("cnn", shape=(1, 10, 10), layers=1)
        weight = torch.zeros(1, 1, 1, 5, 5).double()
        weight[..., 2, 2] = 1.0
        seven = chosen((7,)).fitted((1, 10, 10))
        few = Settings(digits=6, points=600)
        names = ("points", "edges")
        made = measure(
            net,
            (weight,),
            (weight,),
            training_images=seven,
            names=names,
            seed=7,
            settings=few,
        )
        assert made["edges"]["own"][0] < 1e-20
        assert 0.1 < made["edges"]["detector"] <= 1.0
        # All the pixels there are, in another order, of four digits.
        (kinds,) = made["points"]["outputs"]
        assert made["points"]["kinds"] == ["digits", "gaussian"]
        digits = standardised(load("mnist", "test").head(6).images, data="mnist")
        images = resize(digits, (10, 10))
        want = sorted(float(f"{v:.4g}") for v in images.flatten().tolist())
        assert sorted(kinds[0].tolist()) == pytest.approx(want, rel=1e-3, abs=1e-9)
