import weakref

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from empirical import kernels
from empirical.identity_map import copier
from empirical.jacobian import ntk_by_jacobian
from empirical.networks import FullyConnected
from empirical.randomness import numpy_generator, torch_generator
from empirical.square_loss import classifier, start

ACTIVATIONS = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "gelu": torch.nn.functional.gelu,
    "softplus": torch.nn.functional.softplus,
    "sign": torch.sign,
}


EPS = torch.finfo(torch.float64).eps


def inputs(n=6, d=5):
    x = numpy_generator(7, "x").standard_normal((n, d))
    return torch.from_numpy(x / np.linalg.norm(x, axis=1, keepdims=True))


@pytest.mark.parametrize(
    ("across", "max_bytes"), [(False, kernels.MAX_BYTES), (False, 20_000), (True, 1)]
)
@pytest.mark.parametrize("outputs", ["mean", "sum", "all"])
@pytest.mark.parametrize(
    ("name", "widths"),
    [
        ("relu", (5, 9, 1)),
        ("gelu", (5, 9, 7, 3)),
        ("tanh", (5, 8, 9, 10, 7, 2)),
        ("softplus", (5, 6, 4, 2)),
    ],
)
def test_ntk_is_the_contracted_jacobian(name, widths, outputs, across, max_bytes):
    network = FullyConnected(widths=widths, activation=ACTIVATIONS[name])
    params = network.init(replicates=2, generator=torch_generator(7))
    x, y = inputs(), inputs()[1:5] * 1.5 if across else None
    slow = written_out(network, params, x, x if y is None else y)
    if outputs != "all":
        slow = slow.diagonal(dim1=3, dim2=4).sum(dim=3)
    if outputs == "mean":
        slow = slow / widths[-1]
    for function in (kernels.ntk, ntk_by_jacobian):
        fast = function(network, params, x, y, outputs=outputs, max_bytes=max_bytes)
        # All sum fewer than 1e3 products in another order: 1e3 eps of the diagonal.
        bound = 1e3 * EPS * float(slow.abs().max())
        torch.testing.assert_close(fast, slow, rtol=0, atol=bound)


def written_out(network, params, x, y):
    """Nothing of the package but the networks' function: all pairs of outputs."""
    rows = []
    for draw in range(len(params[0])):
        weights = tuple(p[draw : draw + 1] for p in params)
        left, right = (
            torch.func.jacrev(lambda p, at=at: network.apply(p, at)[0].flatten(1))(
                weights
            )
            for at in (x, y)
        )
        pairs = zip(left, right, strict=True)
        rows.append(
            sum(
                torch.einsum("ikp,jlp->ijkl", a.flatten(2), b.flatten(2))
                for a, b in pairs
            )
        )
    return torch.stack(rows)


@pytest.mark.parametrize("kind", ["fcn", "cnn", "residual"])
def test_other_networks_have_the_kernel_of_their_jacobian(kind):
    width = None if kind == "residual" else 3
    network = copier(kind=kind, shape=(1, 3, 3), layers=2, width=width, kernel=3)
    params = network.init(replicates=2, generator=torch_generator(7))
    x = inputs(d=9).reshape(6, 1, 3, 3)
    slow = written_out(network, params, x, x[:4])
    fast = ntk_by_jacobian(network, params, x, x[:4], outputs="all")
    bound = 1e3 * EPS * float(slow.abs().max())
    torch.testing.assert_close(fast, slow, rtol=0, atol=bound)


def test_weights_divided_by_their_norm():
    network = classifier("wn", shape=(5,), widths=(7, 6), outputs=2)
    params = start(network, [1.0, 2.0], [torch_generator(7), torch_generator(8)])
    slow = written_out(network, params, inputs(), inputs())
    fast = ntk_by_jacobian(network, params, inputs(), outputs="all")
    bound = 1e3 * EPS * float(slow.abs().max())
    torch.testing.assert_close(fast, slow, rtol=0, atol=bound)


def test_inputs_that_see_each_other_have_no_kernel():
    network = classifier("bn", shape=(5,), widths=(7,), outputs=2)
    params = start(network, [1.0], [torch_generator(7)])
    with pytest.raises(ValueError, match="`network` must map each input by itself"):
        ntk_by_jacobian(network, params, inputs())


class Held(TorchDispatchMode):
    """The most bytes that tensors made meanwhile held at once."""

    def __init__(self):
        super().__init__()
        self.now = self.most = 0
        self.known = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        before = {
            t.untyped_storage()._cdata
            for t in tree_leaves((args, kwargs))
            if isinstance(t, torch.Tensor)
        }
        for t in tree_leaves(result):
            storage = t.untyped_storage() if isinstance(t, torch.Tensor) else None
            if storage is None or storage._cdata in before | self.known:
                continue
            self.known.add(storage._cdata)
            self.now += storage.nbytes()
            weakref.finalize(storage, self.freed, storage._cdata, storage.nbytes())
        self.most = max(self.most, self.now)
        return result

    def freed(self, key, size):
        self.known.discard(key)
        self.now -= size


@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("outputs", ["mean", "all"])
def test_memory_keeps_to_its_budget(outputs, across):
    network = FullyConnected(widths=(8, 64, 64, 4), activation=torch.relu)
    params = network.init(generator=torch_generator(7))
    x = inputs(n=300, d=8)
    beside = {}
    for budget in (1 << 20, kernels.MAX_BYTES):
        with Held() as held:
            both = kernels.nngp_ntk(
                network,
                params,
                x,
                x if across else None,
                outputs=outputs,
                max_bytes=budget,
            )
        made = sum(t.untyped_storage().nbytes() for t in (both.nngp, both.ntk))
        beside[budget] = held.most - made
    assert 0 < beside[1 << 20] < 1 << 20 < beside[kernels.MAX_BYTES]


def test_inputs_may_differ_between_draws():
    network = FullyConnected(widths=(5, 9, 7, 2), activation=torch.tanh)
    params = network.init(replicates=2, generator=torch_generator(7))
    x = torch.stack([inputs(), -2 * inputs()])
    both = kernels.nngp_ntk(network, params, x)
    for draw in range(2):
        one = kernels.nngp_ntk(network, tuple(p[draw, None] for p in params), x[draw])
        torch.testing.assert_close(both.nngp[draw], one.nngp[0], rtol=1e-12, atol=0)
        torch.testing.assert_close(both.ntk[draw], one.ntk[0], rtol=1e-12, atol=1e-13)


def test_a_flat_activation_trains_its_readout_only():
    network = FullyConnected(widths=(5, 9, 7, 2), activation=torch.sign)
    params = network.init(replicates=2, generator=torch_generator(7))
    both = kernels.nngp_ntk(network, params, inputs())
    torch.testing.assert_close(both.ntk, both.nngp, rtol=1e-15, atol=0)


def test_nngp_is_the_features_gram_matrix():
    network = FullyConnected(widths=(5, 9, 7, 1), activation=torch.relu)
    params = network.init(replicates=2, generator=torch_generator(7))
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
    for function in (kernels.ntk, ntk_by_jacobian):
        with pytest.raises(ValueError, match="`outputs` must be one of mean, sum, all"):
            function(network, params, inputs(), outputs="product")  # pyright: ignore[reportArgumentType]


def test_bad_inputs():
    network = FullyConnected(widths=(5, 4, 1), activation=torch.tanh)
    params = network.init(generator=torch_generator(7))
    x = inputs()
    for function in (kernels.ntk, ntk_by_jacobian):
        for name, given in {
            "x": (params, x * torch.inf, None),
            "y": (params, x, x * torch.nan),
            "params": ((params[0], params[1] / 0), x, None),
        }.items():
            with pytest.raises(ValueError, match=f"`{name}` must be finite"):
                function(network, *given)
        with pytest.raises(ValueError, match="`x` must not be empty"):
            function(network, params, x[:0])
        with pytest.raises(ValueError, match="`y` must have the last axis and the d"):
            function(network, params, x, x.float())
        with pytest.raises(ValueError, match="`y` must be inputs in rows"):
            function(network, params, x, x[0])
    with pytest.raises(ValueError, match="nngp: `x` must be finite"):
        kernels.nngp(network, params, x * torch.nan)
    with pytest.raises(ValueError, match="sample: `x` must be finite"):
        next(kernels.sample(network, x / 0, draws=1, generator=torch_generator(7)))
    with pytest.raises(ValueError, match="`max_bytes` must be at least 0"):
        kernels.ntk(network, params, x, max_bytes=-1)


@pytest.mark.parametrize("tangent", [True, False])
@pytest.mark.parametrize("max_bytes", [1, kernels.MAX_BYTES])
def test_kernels_of_hidden_layers_want_one(tangent, max_bytes):
    network, x = FullyConnected(widths=(5, 2)), inputs()
    params = network.init(replicates=3, generator=torch_generator(7))
    with pytest.raises(ValueError, match="sample: `network` must have a hidden layer"):
        next(
            kernels.sample(
                network,
                x,
                draws=3,
                generator=torch_generator(7),
                tangent=tangent,
                max_bytes=max_bytes,
            )
        )
    for function in (kernels.nngp, kernels.ntk):
        with pytest.raises(ValueError, match="`network` must have a hidden layer"):
            function(network, params, x)
    assert ntk_by_jacobian(network, params, x).shape == (3, 6, 6)


@pytest.mark.parametrize("x", [inputs()[None], torch.eye(5, dtype=torch.int64)])
def test_drawn_networks_share_their_inputs(x):
    network = FullyConnected(widths=(5, 4, 1), activation=torch.tanh)
    with pytest.raises(ValueError, match="sample: `x` must be floating point"):
        next(kernels.sample(network, x, draws=3, generator=torch_generator(7)))


def test_a_jacobians_kernel_keeps_no_graph():
    network = FullyConnected(widths=(5, 4, 1), activation=torch.tanh)
    params = network.init(generator=torch_generator(7))
    leaves = tuple(p.requires_grad_() for p in params)
    x = inputs().requires_grad_()
    assert not ntk_by_jacobian(network, leaves, x, x).requires_grad


@pytest.mark.parametrize("more", [{"parametrisation": "standard"}, {"bias": True}])
def test_what_is_not_drawn_unit_normal_is_no_stream(more):
    # Its numbers would not be those of `init`.
    network = FullyConnected(widths=(5, 4, 1), **more)
    with pytest.raises(
        ValueError, match="stream_features: `network` must be in the NTK"
    ):
        next(network.stream_features(inputs(), generator=torch_generator(7)))


def test_finite_weights_may_have_an_infinite_sum():
    network = FullyConnected(widths=(5, 4, 1), activation=torch.tanh)
    _, readout = network.init(generator=torch_generator(7))
    large = torch.full((1, 4, 5), 1e308, dtype=torch.float64)
    assert large.sum().isinf()
    assert kernels.ntk(network, (large, readout), 1e-308 * inputs()).isfinite().all()
