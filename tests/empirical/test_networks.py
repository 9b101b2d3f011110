import numpy as np
import pytest
import torch

from empirical.networks import FullyConnected, derivative
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
        with pytest.raises(ValueError, match="`widths` must be positive"):
            FullyConnected(widths=widths, activation=torch.tanh)

    def test_bad_activation_count(self):
        with pytest.raises(ValueError, match="`activation` must be one callable"):
            FullyConnected(widths=(3, 4, 4, 1), activation=(torch.tanh,))

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
        with pytest.raises(TypeError, match="`names` must be text or integers"):
            seed_sequence(7, 0.5)  # pyright: ignore[reportArgumentType]

    def test_no_global_state_moves(self):
        before = torch.random.get_rng_state()
        FullyConnected(widths=(3, 4, 1), activation=torch.tanh).init(
            generator=torch_generator(7)
        )
        assert torch.equal(before, torch.random.get_rng_state())
