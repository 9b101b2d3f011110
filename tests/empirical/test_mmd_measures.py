"""What is measured of initialisations: against loops, autograd, SciPy and laws."""

import math

import numpy as np
import pytest
import torch
from drawing import one_of, streams
from scipy import stats

from empirical.mmd_init import measures, networks, noise
from empirical.mmd_init.networks import classifier
from empirical.networks import joined
from empirical.randomness import numpy_generator, torch_generator

NET = classifier((5, 12, 12, 2))


def start(draws=2, net=NET, bias=0.3):
    state = networks.start(net, "he", streams(draws, "start"), dtype=torch.float64)
    for index, values in enumerate(state[1::2]):
        values.normal_(0.0, bias, generator=torch_generator(7, "bias", index))
    return state


def inputs(count, features=5):
    g = torch_generator(7, "inputs")
    return torch.randn(count, features, generator=g, dtype=torch.float64)


def share_by_loops(state, x, s, count, *, each_alone=False):
    """Share of networks with noise on every weight that predict one class for all."""
    g = numpy_generator(7, "loops", int(each_alone))
    rows = [x[i : i + 1] for i in range(len(x))] if each_alone else [x]
    chosen = []
    for part in rows:
        h = np.broadcast_to(part.numpy(), (count, *part.shape))
        for index, (w, b) in enumerate(networks.pairs(NET, state)):
            w, b = w[0], b[0]
            out, fan = w.shape
            e = g.normal(0.0, s / math.sqrt(fan), (count, out, fan))
            c = g.normal(0.0, s / math.sqrt(out), (count, 1, out))
            h = np.maximum(h, 0.0) if index else h
            h = h @ np.swapaxes(w.numpy() + e, 1, 2) + b.numpy() + c
        chosen.append(h.argmax(axis=-1))
    classes = np.concatenate(chosen, axis=1)
    return float((classes == classes[:, :1]).all(axis=1).mean())


class TestConstantShares:
    # 20,000 networks a side. By Hoeffding's inequality two shares of one law differ by t
    # with a chance of at most 2 exp(-20000 t^2): 1e-10 at this t, four times in all.
    COUNT = 20_000
    T = math.sqrt(math.log(2e10) / COUNT)

    # Three inputs: noise on the outputs of the second layer, on weights of the last.
    # Six: on weights of both.
    @pytest.mark.parametrize("n", [3, 6])
    def test_have_the_law_of_noise_on_every_weight(self, n):
        x, state, levels = inputs(n), start(), (0.4, 1.1)
        assert (noise._FEW * n**2 >= 12 * 12) == (n == 6)
        # A minibatch is all inputs: its networks are alike in law to any others.
        shares = measures.constant_shares(
            NET,
            state,
            x,
            s=levels,
            generators=streams(2),
            perturbations=self.COUNT // 10,
            batch=n,
            batches=10,
        )
        assert shares.shape == (2, 10)
        for index, s in enumerate(levels):
            one = one_of(state, index)
            expected = share_by_loops(one, x, s, self.COUNT)
            assert 0.05 < expected < 0.95
            assert abs(float(shares[index].mean()) - expected) < self.T
            # Noise of its own for each input would be found out.
            wrong = share_by_loops(one, x, s, self.COUNT, each_alone=True)
            assert abs(wrong - expected) > 2.0 * self.T

    def test_without_noise_it_is_the_start_itself(self):
        x, state = inputs(40), start(4)
        found = measures.constant_shares(
            NET,
            state,
            x,
            s=[1e-12] * 4,
            generators=streams(4),
            perturbations=3,
            batch=40,
            batches=2,
        )
        logits = NET.apply(state, x)
        constant = [len(set(row.tolist())) < 2 for row in logits.argmax(dim=-1)]
        assert found.tolist() == [[float(c)] * 2 for c in constant]

    def test_of_three_classes_all_must_be_there(self):
        net = classifier((3, 3, 3))
        eye = torch.eye(3, dtype=torch.float64)[None]
        zero = torch.zeros(1, 3, dtype=torch.float64)
        state = (eye, zero, eye, zero)
        # Rows choose their own class, so three of four rows hold all when they are
        # different: minibatches with both copies of the first do not.
        x = torch.eye(3, dtype=torch.float64)[[0, 0, 1, 2]]
        given = {"s": [1e-9], "perturbations": 5, "batches": 200}
        every = measures.constant_shares(
            net, state, x, generators=streams(1), batch=4, **given
        )
        assert every.unique().tolist() == [0.0]
        # Both copies are in half of the minibatches: all or none of 200 are with a chance
        # of 2^-199.
        some = measures.constant_shares(
            net, state, x, generators=streams(1), batch=3, **given
        )
        assert some.unique().tolist() == [0.0, 1.0]


class TestDeadShares:
    def test_by_hand(self):
        net = classifier((1, 4, 2))
        # On, off, on for the second input only, and at 0, which is off.
        w = torch.tensor([[1.0], [-1.0], [1.0], [0.0]])
        b = torch.tensor([0.0, 0.5, -1.5, 0.0])
        state = joined(
            [
                (sign * w[None], b[None], torch.ones(1, 2, 4), torch.zeros(1, 2))
                for sign in (1.0, -1.0)
            ]
        )
        found = measures.dead_shares(
            net,
            state,
            torch.tensor([[1.0], [2.0]]),
            generators=streams(2),
            batch=2,
            batches=3,
        )
        # With the other sign only the second is on, and off are -1, -3.5 and 0.
        assert found.tolist() == [[[0.5]] * 3, [[0.75]] * 3]

    def test_of_each_layer(self):
        net = classifier((2, 2, 3, 2))
        state = networks.start(net, "he", streams(1, "start"))
        state[0][0] = torch.eye(2)
        state[1][0] = torch.tensor([1.0, -9.0])
        state[2][0] = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
        x = torch.rand(6, 2, generator=torch_generator(7, "inputs"))
        given = {"generators": streams(1), "batch": 6, "batches": 1}
        found = measures.dead_shares(net, state, x, **given)
        np.testing.assert_allclose(found.numpy(), [[[1 / 2, 2 / 3]]], rtol=1e-6)

    def test_minibatches_are_drawn_without_replacement_and_anew(self):
        # Each unit is on for one input: those of the minibatch are, if all are different.
        net = classifier((12, 12, 2))
        state = networks.start(net, "he", streams(1, "start"))
        state[0][0] = torch.eye(12)
        given = {"generators": streams(1), "batch": 4, "batches": 50}
        found = measures.dead_shares(net, state, torch.eye(12), **given)
        np.testing.assert_allclose(
            found.numpy(), np.full((1, 50, 1), 8 / 12), rtol=1e-6
        )
        # With the first four on alone, what is off tells how many of them are in the
        # minibatch, each number with a chance of at most 224/495: 50 alike come once in
        # 10^17.
        state[0][0, 4:] = 0.0
        found = measures.dead_shares(net, state, torch.eye(12), **given)
        assert len(found.unique()) > 1


class TestSlopes:
    def by_autograd(self, state, x):
        """Norms of each class's slope by what enters each layer, (L, n, d)."""
        weights = [(w[0], b[0]) for w, b in networks.pairs(NET, state)]
        entering = [x.clone().requires_grad_()]
        for index, (w, b) in enumerate(weights[:-1]):
            h = entering[-1].relu() if index else entering[-1]
            entering.append(h @ w.T + b)
            entering[-1].retain_grad()
        logits = entering[-1].relu() @ weights[-1][0].T + weights[-1][1]
        # Rows do not mix, so the slope of a column's sum is each row's own.
        slopes = [
            torch.autograd.grad(logits[:, i].sum(), entering, retain_graph=True)
            for i in range(2)
        ]
        return torch.stack(
            [
                torch.stack([by[layer].norm(dim=-1) for by in slopes], dim=-1)
                for layer in range(len(entering))
            ]
        )

    def test_equal_autograds(self):
        state, x = start(3), inputs(30)
        squares = measures.jacobian_squares(NET, state, x)
        detached = measures.detachment(NET, state, x)
        assert squares.shape == (3, 3)
        assert detached.shape == (3,)
        for index in range(3):
            norms = self.by_autograd(one_of(state, index), x).numpy()
            # Sums of some hundred products of 2^-53 each.
            np.testing.assert_allclose(
                squares[index].numpy(), (norms**2).mean(axis=(1, 2)), rtol=1e-12
            )
            np.testing.assert_allclose(
                float(detached[index]),
                ((1 - norms) ** 2).max(axis=0).mean(),
                rtol=1e-12,
            )

    def test_nothing_is_left_for_autograd(self):
        state = tuple(v.requires_grad_() for v in start())
        assert not measures.jacobian_squares(NET, state, inputs(4)).requires_grad
        assert not measures.detachment(NET, state, inputs(4)).requires_grad


def perturbed(s, *, perturbations=4, state=None, generators=None):
    return measures.perturbed_detachment(
        NET,
        start() if state is None else state,
        inputs(30),
        s=s,
        generators=generators or streams(2),
        perturbations=perturbations,
    )


class TestPerturbedDetachment:
    def test_without_noise_it_is_the_starts(self):
        here = measures.detachment(NET, start(), inputs(30))
        # No pre-activation is so near to 0 that this noise switches a unit, and a slope
        # of L_iod by the weights is of order 10.
        found = perturbed(1e-10)
        assert found.shape == (2, 4)
        np.testing.assert_allclose(
            found.numpy(), np.repeat(here.numpy()[:, None], 4, axis=1), atol=1e-8
        )

    def test_noise_is_in_proportion_to_s(self):
        here = measures.detachment(NET, start(), inputs(30))[:, None]
        once, twice = (perturbed(s) - here for s in (1e-6, 2e-6))
        # Curvature, of order 10 to 100, at 1e-6, against slopes of order 1.
        np.testing.assert_allclose((twice / once).numpy(), 2.0, rtol=1e-2)

    def test_is_that_of_the_perturbed_networks(self):
        state = start(1)
        found = perturbed(0.7, state=state, generators=streams(1))
        # The seed of its noise is the first number of its generator.
        (g,) = streams(1)
        seed = int(torch.randint(2**62, (), generator=g))
        noisy = noise.perturbed(
            networks.pairs(NET, state),
            4,
            torch.tensor([0.7], dtype=torch.float64),
            [torch.Generator().manual_seed(seed)],
        )
        for index in range(4):
            one = tuple(part[:, index] for pair in noisy for part in pair)
            alone = measures.detachment(NET, one, inputs(30))
            assert float(found[0, index]) == pytest.approx(float(alone), rel=1e-12)

    def test_shared_generators_share_noise(self):
        twice = joined([one_of(start(), 0)] * 2)
        (g,) = streams(1)
        shared = perturbed(0.7, state=twice, generators=[g, g])
        assert torch.equal(shared[0], shared[1])
        own = perturbed(0.7, state=twice)
        assert bool((own[0] != own[1]).all())


class TestPredictions:
    def test_are_probabilities_of_the_first_class(self):
        state, x = start(), inputs(9)
        p = measures.predictions(
            NET, state, x, s=1e-10, generators=streams(2), perturbations=3
        )
        assert p.shape == (2, 3, 9)
        expected = NET.apply(state, x).softmax(dim=-1)[..., 0]
        np.testing.assert_allclose(
            p.numpy(), expected[:, None].expand(2, 3, 9).numpy(), atol=1e-8
        )

    @pytest.mark.parametrize(("perturbations", "apart"), [(3, 1e-12), (50, 1e-3)])
    def test_noise_is_that_of_weights(self, perturbations, apart):
        # Of equal inputs predictions are equal, of networks they are not. On outputs
        # they are so but for the root of the jitter.
        x = inputs(2)[[0, 0, 1]]
        p = measures.predictions(
            NET, start(), x, s=0.7, generators=streams(2), perturbations=perturbations
        )
        np.testing.assert_allclose(p[..., 0].numpy(), p[..., 1].numpy(), rtol=apart)
        assert len(p[..., 0].unique()) == 2 * perturbations
        assert bool((p > 0.0).all() & (p < 1.0).all())


class TestDistanceToUniform:
    @pytest.mark.parametrize(
        "sample",
        [
            lambda g: g.random((40, 3)),
            lambda g: g.beta(0.3, 0.7, (17, 3)),
            # Ties, ends and a single one.
            lambda g: g.integers(0, 5, (25, 3)) / 4.0,
            lambda g: np.zeros((6, 3)),
            lambda g: np.ones((6, 3)),
            lambda g: g.random((1, 3)),
            lambda g: 3.0 * g.standard_normal((7, 3)),
        ],
    )
    def test_equals_scipys(self, sample):
        g = numpy_generator(7, "samples")
        p = np.stack([sample(g), sample(g)])
        found = measures.distance_to_uniform(torch.from_numpy(p))
        expected = [
            [stats.kstest(column, "uniform").statistic for column in one.T] for one in p
        ]
        # Differences of numbers up to 1.
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-15)


class TestSharing:
    def constant(self, state, generators, *, batch=8, batches=5):
        return measures.constant_shares(
            NET,
            state,
            inputs(60),
            s=[0.7] * len(generators),
            generators=generators,
            perturbations=40,
            batch=batch,
            batches=batches,
        )

    def dead(self, state, generators, *, batch=8, batches=5):
        return measures.dead_shares(
            NET, state, inputs(60), generators=generators, batch=batch, batches=batches
        )

    @pytest.mark.parametrize("name", ["constant", "dead"])
    def test_shared_generators_share_minibatches(self, name):
        measure = getattr(self, name)
        twice = joined([one_of(start(), 0)] * 2)
        (g,) = streams(1)
        shared = measure(twice, [g, g])
        assert torch.equal(shared[0], shared[1])
        assert torch.equal(shared[:1], measure(one_of(start(), 0), streams(1)))
        own = measure(twice, streams(2))
        assert torch.equal(own[0], shared[0])
        assert not torch.equal(own[1], own[0])

    @pytest.mark.parametrize("name", ["constant", "dead"])
    def test_runs_do_not_depend_on_their_neighbours(self, name):
        measure = getattr(self, name)
        state, generators = start(3), streams(3)
        together = measure(state, generators)
        for index in range(3):
            one = one_of(state, index)
            assert torch.equal(together[index], measure(one, [streams(3)[index]])[0])

    @pytest.mark.parametrize("name", ["constant", "dead"])
    @pytest.mark.parametrize(
        ("batch", "batches", "match"),
        [
            (61, 5, "`batch` must not be above the 60 inputs, but it is 61"),
            (0, 5, "_shares: `batch` must be at least 1, but it is 0"),
            (8, 0, "_shares: `batches` must be at least 1, but it is 0"),
            (8, -1, "_shares: `batches` must be at least 1, but it is -1"),
            (-1, 5, "_shares: `batch` must be at least 1, but it is -1"),
        ],
    )
    def test_refusals(self, name, batch, batches, match):
        with pytest.raises(ValueError, match=match):
            getattr(self, name)(start(), streams(2), batch=batch, batches=batches)

    def test_global_numbers_are_not_drawn(self):
        before = torch.get_rng_state()
        self.constant(start(), streams(2))
        perturbed(0.7)
        assert torch.equal(before, torch.get_rng_state())


def test_what_is_normalised_is_not_measured_as_if_it_were_not():
    normed = classifier((6, 5, 4, 2), batch_norm=True)
    generator = torch_generator(7)
    state = networks.start(normed, "he", [generator], dtype=torch.float64)
    x = torch.randn(60, 6, generator=generator, dtype=torch.float64)
    drawn = {"generators": [generator]}
    noisy = {"s": 0.5, **drawn}
    for measure in (
        lambda: measures.detachment(normed, state, x),
        lambda: measures.jacobian_squares(normed, state, x),
        lambda: measures.dead_shares(normed, state, x, **drawn),
        lambda: measures.constant_shares(normed, state, x, s=[0.5], **drawn),
        lambda: measures.perturbed_detachment(normed, state, x, **noisy),
        lambda: measures.predictions(normed, state, x, perturbations=3, **noisy),
    ):
        with pytest.raises(ValueError, match="without batch normalisation, but it is"):
            measure()


def test_networks_that_diverged_have_no_shares():
    state = start(3)
    state[0][1] = torch.nan
    given = {"generators": streams(3), "batch": 8, "batches": 2}
    dead = measures.dead_shares(NET, state, inputs(20), **given)
    constant = measures.constant_shares(NET, state, inputs(20), s=[0.7] * 3, **given)
    for shares in (dead, constant):
        undefined = shares.flatten(1).isnan()
        assert undefined.all(dim=1).tolist() == [False, True, False]
        assert undefined.any(dim=1).tolist() == [False, True, False]


def test_networks_with_a_single_infinite_unit_have_no_shares():
    given = {"generators": streams(2), "batch": 8, "batches": 2}
    # One of two logits, of every example.
    state = start()
    state[-1][1, 0] = math.inf
    constant = measures.constant_shares(NET, state, inputs(20), s=[0.7] * 2, **given)
    assert constant.isnan().all(dim=1).tolist() == [False, True]
    assert constant.isnan().any(dim=1).tolist() == [False, True]
    # One of twelve hidden units, of examples of one sign; what is above it as well.
    state = start()
    state[0][1, 0, 0] = math.inf
    dead = measures.dead_shares(NET, state, inputs(20), **given).isnan()
    assert dead.flatten(1).all(dim=1).tolist() == [False, True]
    assert dead.flatten(1).any(dim=1).tolist() == [False, True]


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"generators": streams(1)}, "`generators` must be one for each of 2 networks"),
        ({"inputs": inputs(60)[:, :4]}, r"`inputs` must have shape \(n, 5\)"),
        ({"inputs": inputs(60).float()}, "`inputs` must have the weights' dtype"),
        ({"inputs": inputs(60)[None]}, r"`inputs` must have shape \(n, features\)"),
        (
            {"inputs": inputs(60).fill_(math.nan)},
            "`inputs` must be finite, but 300 of 300",
        ),
        ({"s": 0.0}, "`s` must be positive and finite"),
        ({"s": -1.0}, "`s` must be positive and finite"),
        ({"s": math.nan}, "`s` must be positive and finite"),
    ],
)
def test_what_does_not_fit_is_refused(changed, match):
    given = {"inputs": inputs(60), "generators": streams(2), "s": 0.7} | changed
    x, drawn, s = given["inputs"], {"generators": given["generators"]}, given["s"]
    noisy = {"s": s, **drawn}
    calls = {
        "perturbed_detachment": lambda: measures.perturbed_detachment(
            NET, start(), x, **noisy
        ),
        "predictions": lambda: measures.predictions(
            NET, start(), x, perturbations=3, **noisy
        ),
        "constant_shares": lambda: measures.constant_shares(
            NET, start(), x, s=[s] * 2, **drawn
        ),
    }
    if "s" not in changed:
        calls["dead_shares"] = lambda: measures.dead_shares(NET, start(), x, **drawn)
    if "inputs" in changed:
        calls["detachment"] = lambda: measures.detachment(NET, start(), x)
    for measure in calls.values():
        with pytest.raises(ValueError, match=match):
            measure()


def test_noise_is_told_for_each_network():
    with pytest.raises(ValueError, match="`s` must be one for each of 2 networks"):
        measures.constant_shares(
            NET, start(), inputs(60), s=[0.7], generators=streams(2)
        )
