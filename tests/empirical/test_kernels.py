import numpy as np
import pytest
import torch

from empirical import kernels
from empirical.networks import FullyConnected
from empirical.randomness import numpy_generator, torch_generator

ACTIVATIONS = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "gelu": torch.nn.functional.gelu,
    "softplus": torch.nn.functional.softplus,
    "sign": torch.sign,
}


def inputs(n=6, d=5):
    x = numpy_generator(7, "x").standard_normal((n, d))
    return torch.from_numpy(x / np.linalg.norm(x, axis=1, keepdims=True))


@pytest.mark.parametrize("outputs", ["mean", "sum"])
@pytest.mark.parametrize("widths", [(5, 9, 1), (5, 9, 7, 3), (5, 8, 9, 10, 7, 2)])
@pytest.mark.parametrize("name", ["relu", "tanh", "gelu", "softplus"])
def test_ntk_is_the_gram_matrix_of_the_jacobian(name, widths, outputs):
    network = FullyConnected(widths=widths, activation=ACTIVATIONS[name])
    params = network.init(draws=3, generator=torch_generator(7))
    x = inputs()
    fast = kernels.ntk(network, params, x, outputs=outputs)
    slow = kernels.ntk_by_jacobian(network, params, x, outputs=outputs)
    # Both sum fewer than 1e3 products in another order: 1e3 eps of the diagonal.
    torch.testing.assert_close(fast, slow, rtol=1e-10, atol=1e-12 * float(slow.max()))


def test_against_jacrev_written_out():
    # Nothing of the package but the network's function.
    network = FullyConnected(widths=(5, 16, 12, 2), activation=torch.tanh)
    params = network.init(generator=torch_generator(7))
    x = inputs()
    jacobian = torch.func.jacrev(lambda p: network.apply(p, x)[0])(params)
    total = sum(
        torch.einsum("ikp,jkp->ij", j.flatten(2), j.flatten(2)) for j in jacobian
    )
    torch.testing.assert_close(
        kernels.ntk(network, params, x, outputs="sum")[0], total, rtol=1e-10, atol=1e-12
    )


def test_inputs_may_differ_between_draws():
    network = FullyConnected(widths=(5, 9, 7, 2), activation=torch.tanh)
    params = network.init(draws=2, generator=torch_generator(7))
    x = torch.stack([inputs(), -2 * inputs()])
    both = kernels.nngp_ntk(network, params, x)
    for draw in range(2):
        one = kernels.nngp_ntk(network, tuple(p[draw, None] for p in params), x[draw])
        torch.testing.assert_close(both.nngp[draw], one.nngp[0], rtol=1e-12, atol=0)
        torch.testing.assert_close(both.ntk[draw], one.ntk[0], rtol=1e-12, atol=1e-13)


def test_a_flat_activation_trains_its_readout_only():
    network = FullyConnected(widths=(5, 9, 7, 2), activation=torch.sign)
    params = network.init(draws=2, generator=torch_generator(7))
    both = kernels.nngp_ntk(network, params, inputs())
    torch.testing.assert_close(both.ntk, both.nngp, rtol=1e-15, atol=0)


def test_nngp_is_the_features_gram_matrix():
    network = FullyConnected(widths=(5, 9, 7, 1), activation=torch.relu)
    params = network.init(draws=2, generator=torch_generator(7))
    h = network.features(params, inputs())[-1].numpy()
    expected = np.einsum("dim,djm->dij", h, h)
    np.testing.assert_allclose(
        kernels.nngp(network, params, inputs()).numpy(), expected, rtol=1e-13
    )


def test_wide_relu_kernels_are_near_their_limits():
    # One hidden layer, orthogonal inputs: K_12 = 1/(2 pi), K_11 = 1/2, and the tangent
    # kernel adds x.y E[s's'] = x.y P(both positive): T_11 = 1, T_12 = K_12.
    network = FullyConnected(widths=(2, 200, 1), activation=torch.relu)
    draws = 400
    x = torch.eye(2, dtype=torch.float64)
    chunks = list(kernels.sample(network, x, draws=draws, generator=torch_generator(7)))
    for kind, diagonal in (("nngp", 0.5), ("ntk", 1.0)):
        stack = torch.cat([getattr(c, kind) for c in chunks])
        limit = torch.full((2, 2), 1 / (2 * np.pi), dtype=torch.float64)
        limit.fill_diagonal_(diagonal)
        error = stack.std(dim=0) / draws**0.5
        # Six standard errors, three entries, two kernels: a false alarm in 1e8. A
        # factor of 1.1 in either limit would be seen.
        assert bool(((stack.mean(dim=0) - limit).abs() < 6 * error).all())
        assert 6 * float(error.max()) < 0.1 * diagonal


class TestSample:
    network = FullyConnected(widths=(5, 16, 16, 1), activation=torch.tanh)

    @pytest.mark.parametrize("tangent", [True, False])
    def test_chunks_change_no_number(self, tangent):
        runs = {}
        for budget in (1, 30_000, 1 << 30):
            chunks = list(
                kernels.sample(
                    self.network,
                    inputs(),
                    draws=7,
                    generator=torch_generator(7),
                    tangent=tangent,
                    max_bytes=budget,
                )
            )
            runs[len(chunks)] = chunks
        assert set(runs) == {7, 4, 1}
        one = torch.cat([c.nngp for c in runs[1]])
        for chunks in runs.values():
            torch.testing.assert_close(
                torch.cat([c.nngp for c in chunks]), one, rtol=1e-12, atol=1e-14
            )
            if tangent:
                torch.testing.assert_close(
                    torch.cat([c.ntk for c in chunks]),
                    runs[1][0].ntk,
                    rtol=1e-12,
                    atol=1e-13,
                )

    def test_a_seed_fixes_the_numbers(self):
        def first(seed):
            return next(
                kernels.sample(
                    self.network,
                    inputs(),
                    draws=1,
                    generator=torch_generator(seed),
                )
            ).ntk

        assert torch.equal(first(7), first(7))
        assert not torch.equal(first(7), first(8))

    def test_bad_draws(self):
        with pytest.raises(ValueError, match="`draws` must be at least 1"):
            next(
                kernels.sample(
                    self.network, inputs(), draws=0, generator=torch_generator(7)
                )
            )


def test_bad_outputs():
    network = FullyConnected(widths=(5, 4, 1), activation=torch.tanh)
    params = network.init(generator=torch_generator(7))
    for function in (kernels.ntk, kernels.ntk_by_jacobian):
        with pytest.raises(ValueError, match="`outputs` must be mean or sum"):
            function(network, params, inputs(), outputs="product")  # pyright: ignore[reportArgumentType]
