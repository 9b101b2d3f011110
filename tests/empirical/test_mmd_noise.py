"""Noise on outputs: its factor, its law, its mean slope, its stacks."""

from typing import get_args

import numpy as np
import pytest
import torch
from drawing import normal, streams

from empirical.mmd_init import gram, networks, noise
from empirical.mmd_init.gram import Escalations, Room, cholesky, noises
from empirical.mmd_init.gram import normal as fill
from empirical.mmd_init.networks import classifier
from empirical.mmd_init.recipes import Way

S = 0.5**0.5
# A z-test of so many deviations errs by chance once in 5e8; with 100 entries once in 5e6.
DEVIATIONS = 6.0


def problem(widths, count, draws, dtype=torch.float64):
    net = classifier(widths)
    state = networks.start(net, "he", streams(draws, "start"), dtype=dtype)
    for index, values in enumerate(state[1::2]):
        values.copy_(0.3 * normal(*values.shape, name=f"{2 * index}.bias"))
    return networks.pairs(net, state), normal(draws, count, widths[0]).to(dtype)


def covariance(h, out, s2=S**2):
    """The definition, in loops."""
    h = np.asarray(h)
    c = np.empty((len(h), len(h)))
    for i, a in enumerate(h):
        for j, b in enumerate(h):
            c[i, j] = s2 * (sum(a * b) / h.shape[1] + 1.0 / out)
    return c


def run(way, weights, x, perturbations, name="noise", s=S, log=None):
    scales = x.new_full((len(x),), s)
    return noise.BY_WAY[way](
        weights, x, perturbations, scales, streams(len(x), name), escalations=log
    )


def layer(h, weight, bias, z, log=None):
    """Run a later layer of one network, z as its normal numbers."""
    draw = gram._Draw(
        perturbations=h.shape[1],
        s=h.new_tensor([S]),
        generators=streams(1),
        few=0,
        escalations=log,
        room=Room(),
        slopes=True,
    )
    out = h.new_empty(*h.shape[:3], weight.shape[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gram, "normal", lambda room, _: room.copy_(z))
        return out, draw, gram._on_outputs(out, h, weight, bias, draw, 1)


class TestCholesky:
    def test_factors(self):
        c = torch.from_numpy(covariance(normal(5, 9), 4))
        log = Escalations()
        before = c.clone()
        root = cholesky(c, escalations=log)
        assert torch.equal(c, before)
        # The jitter is 1e-9 of the mean variance.
        torch.testing.assert_close(root @ root.mT, c, rtol=0.0, atol=1.1e-9 * 2.0)
        assert log == Escalations(count=0, largest=1e-9)

    def test_escalates_those_that_need_it_and_says_so(self):
        # Of mean 1/2: 1e-5 of it is the first power of ten above 1e-6.
        bad = torch.diag(torch.tensor([1.0, -1e-6], dtype=torch.float64))
        fine = torch.from_numpy(covariance(normal(2, 9), 4))
        log = Escalations()
        found = cholesky(torch.stack([fine, bad, fine]), escalations=log)
        assert torch.equal(found[0], cholesky(fine))
        assert torch.equal(found[2], cholesky(fine))
        assert float(found[1, 1, 1]) ** 2 == pytest.approx(5e-6 - 1e-6, rel=1e-3)
        assert log.count == 4
        assert log.largest == pytest.approx(1e-5)

    def test_gives_up_after_a_thousandth(self):
        last = torch.diag(torch.tensor([1.0, -4e-4], dtype=torch.float64))
        log = Escalations()
        cholesky(last, escalations=log)
        assert log.largest == pytest.approx(1e-3)
        hopeless = torch.diag(torch.tensor([1.0, -6e-4], dtype=torch.float64))
        with pytest.raises(RuntimeError, match=r"within 0.001 of its mean.*1 of 2 are"):
            cholesky(torch.stack([last, hopeless]))

    def test_leaves_what_is_not_finite(self):
        fine = torch.from_numpy(covariance(normal(2, 9), 4))
        log = Escalations()
        found = cholesky(
            torch.stack([fine, torch.full_like(fine, torch.nan)]), escalations=log
        )
        assert torch.equal(found[0], cholesky(fine))
        assert log.count == 0


class TestLaw:
    @pytest.mark.parametrize("kind", ["different", "twice", "dead"])
    def test_a_layers_factor_exactly(self, kind):
        """With z the identity, the noise is L itself."""
        h = normal(1, 1, 6, 9).relu()
        if kind == "twice":
            h[..., 3:, :] = h[..., :3, :]
        if kind == "dead":
            h.zero_()
        weight, bias = normal(1, 6, 9, name="w"), normal(1, 6, name="b")
        z = torch.eye(6, dtype=h.dtype)[None, None]
        log = Escalations()
        out, *_ = layer(h, weight, bias, z, log)
        root = (out - h @ weight.mT - bias)[0, 0]
        # Jitter, 1e-9 of a mean variance of less than one.
        np.testing.assert_allclose(
            root @ root.mT, covariance(h[0, 0], 6), rtol=0.0, atol=2e-9
        )
        assert log.count == 0

    @pytest.mark.parametrize("way", ["gram", "explicit", "local"])
    @pytest.mark.parametrize("kind", ["different", "twice", "zero"])
    def test_one_layers_outputs(self, way, kind):
        weights, x = problem((7, 4), 3, 1)
        if kind == "twice":
            x[:, 2] = x[:, 0]
        if kind == "zero":
            x.zero_()
        ((weight, bias),) = weights
        noisy = run(way, weights, x, 20_000)[0] - x @ weight[0].mT - bias[0]
        # Units as further draws: they are independent.
        draws = noisy.transpose(1, 2).flatten(0, 1).numpy()
        count, c = len(draws), covariance(x[0], 4)
        products = draws[:, :, None] * draws[:, None, :]
        z = (products.mean(axis=0) - c) / (products.std(axis=0) / count**0.5)
        diagonal = np.eye(3, dtype=bool)
        assert (np.abs(z[diagonal]) < DEVIATIONS).all()
        means = draws.mean(axis=0) / (draws.std(axis=0) / count**0.5)
        assert (np.abs(means) < DEVIATIONS).all()
        if way == "local":
            # Examples are independent: covariances are missed altogether.
            assert (np.abs(z[~diagonal]) > DEVIATIONS).any()
        else:
            assert (np.abs(z[~diagonal]) < DEVIATIONS).all()
        # Units share no noise.
        units = noisy.numpy()
        mixed = units[:, :, 0] * units[:, :, 1]
        across = mixed.mean(axis=0) / (mixed.std(axis=0) / len(units) ** 0.5)
        assert (np.abs(across) < DEVIATIONS).all()

    @pytest.mark.parametrize("way", get_args(Way))
    def test_without_noise_it_is_the_network(self, way):
        weights, x = problem((7, 8, 8, 2), 5, 2)
        net = classifier((7, 8, 8, 2))
        state = tuple(part for pair in weights for part in pair)
        usual = net.apply(state, x)
        found = run(way, weights, x, 3, s=1e-13)
        expected = usual.unsqueeze(1).expand_as(found)
        # Noise of 1e-13 through slopes of at most ten, and rounding.
        torch.testing.assert_close(found, expected, rtol=0.0, atol=1e-11)

    def test_auto_is_gram_but_for_few_weights(self, monkeypatch):
        weights, x = problem((7, 9, 8, 2), 2, 1)
        # 72 and 16 weights, against 40.
        found = run("auto", weights, x, 4)
        assert not torch.equal(found, run("gram", weights, x, 4))
        monkeypatch.setattr(noise, "_FEW", 0)
        assert torch.equal(run("auto", weights, x, 4), run("gram", weights, x, 4))
        monkeypatch.undo()
        seen = []
        monkeypatch.setattr(
            gram,
            "noises",
            lambda w, *a: seen.append(w[0].numel()) or noises(w, *a),
        )
        assert torch.equal(run("auto", weights, x, 4), found)
        assert seen == [16]

    def test_runs_that_share_a_generator_share_the_noise(self):
        weights, x = problem((7, 9, 8, 2), 4, 2)
        twin = torch.Generator().manual_seed(5)
        alike = [(w[:1].expand_as(w), b[:1].expand_as(b)) for w, b in weights]
        same = x[:1].expand_as(x)
        out = noise.auto(alike, same, 4, torch.full((2,), S), [twin, twin])
        assert torch.equal(out[0], out[1])

    def test_variances_of_parameters(self):
        weights, _ = problem((50, 40), 1, 1)
        ((w, b),) = noise.perturbed(weights, 500, torch.tensor([S]), streams(1))
        for made, start, variance in (
            (w, weights[0][0], 0.01),
            (b, weights[0][1], 1 / 80),
        ):
            e = made[0] - start
            ratio = float(e.square().mean()) / variance
            assert abs(ratio - 1.0) < DEVIATIONS * (2.0 / e.numel()) ** 0.5

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_repeated_and_dead_examples_in_either_precision(self, dtype):
        weights, x = problem((7, 8, 8, 2), 6, 1, dtype)
        x[:, 3:] = x[:, :3]
        log = Escalations()
        made = run("gram", weights, x, 50, log=log)
        assert log.count == 0
        # Twins differ by jitter, the root of 1e-9, a few times that after three layers.
        torch.testing.assert_close(made[:, :, 3:], made[:, :, :3], rtol=0, atol=2e-3)
        weights[0][1].fill_(-100.0)
        made = run("gram", weights, x, 50, log=log)
        assert log.count == 0
        spread = made - made[:, :, :1]
        torch.testing.assert_close(spread, torch.zeros_like(spread), rtol=0, atol=2e-3)


class TestSlope:
    def test_is_that_of_the_mean_weights_given_the_outputs(self):
        """E[E | n] = (s^2 / n_in) n^T C^{-1} H, here by least squares of its own."""
        h, weight = normal(1, 1, 4, 30), normal(1, 5, 30, name="w")
        bias, z = normal(1, 5, name="b"), normal(1, 1, 4, 5, name="z")
        pull = normal(1, 1, 4, 5, name="p")
        out, draw, kept = layer(h, weight, bias, z)
        by_h = torch.empty_like(h)
        gram._through_outputs(by_h, pull, draw, h, *kept)
        x, w = h[0, 0].numpy(), weight[0].numpy()
        n = out[0, 0].numpy() - x @ w.T - bias[0].numpy()
        # Minimise |E|^2 n_in / s^2 + |e|^2 n_out / s^2 with E x + e = n.
        scaled = np.hstack([x * S / 30**0.5, np.full((4, 1), S / 5**0.5)])
        least = np.linalg.lstsq(scaled, n, rcond=None)[0]
        mean = w + (least[:-1] * S / 30**0.5).T
        # Jitter: 1e-9 of the variance, against eigenvalues of C of a tenth of it.
        found = pull[0, 0].numpy() @ mean
        np.testing.assert_allclose(by_h[0, 0], found, rtol=1e-7, atol=1e-7)

    def test_of_noise_on_weights_is_autograds(self):
        weights, x = problem((6, 5, 4, 3), 4, 2)
        scales = x.new_tensor([0.3, 0.9])
        leaves = [p.clone().requires_grad_() for pair in weights for p in pair]
        pairs = list(zip(leaves[::2], leaves[1::2], strict=True))
        out = gram.gram(pairs, x, 7, scales, streams(2), few=10**9)
        # The same numbers, in the order in which they are drawn.
        own, ((w, b), *others) = streams(2), pairs
        z = fill(x.new_empty(2, 7, 4, 5), own)
        c = [covariance(h, 5, float(s) ** 2) for h, s in zip(x, scales, strict=True)]
        root = cholesky(torch.from_numpy(np.stack(c)))
        plain = (x @ w.mT + b.unsqueeze(1)).unsqueeze(1) + root.unsqueeze(1) @ z
        for w, b in others:
            e, f = noises(w, 7, scales, own)
            plain = (
                plain.relu() @ (w.unsqueeze(1) + e).mT
                + (b.unsqueeze(1) + f)[:, :, None]
            )
        torch.testing.assert_close(out, plain, rtol=1e-12, atol=1e-12)
        up = normal(*out.shape, name="up")
        mine, theirs = (torch.autograd.grad(o, leaves, up) for o in (out, plain))
        for one, other in zip(mine, theirs, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)

    def test_has_the_mean_of_explicit_weights(self):
        """A toy of one hidden layer; 18 projections and each parameter's own direction."""
        runs = 1500
        weights, x = problem((3, 6, 5, 5), 4, 1)
        found = {}
        for way in ("gram", "explicit"):
            stack = [
                tuple(
                    p.expand(runs, *p.shape[1:]).clone().requires_grad_() for p in pair
                )
                for pair in weights
            ]
            logits = run(way, stack, x.expand(runs, -1, -1), 8, name=way)
            # A loss that mixes the batch.
            loss = logits.softmax(dim=-1)[..., 0].mean(dim=2).square().mean(dim=1)
            leaves = [p for pair in stack for p in pair]
            slopes = torch.autograd.grad(loss.sum(), leaves)
            flat = torch.cat([g.flatten(1) for g in slopes], dim=1)
            random = normal(flat.shape[1], 18, name="projections")
            own = torch.block_diag(
                *[p.flatten()[:, None] for pair in weights for p in pair]
            )
            found[way] = (flat @ torch.cat([random, own], dim=1)).numpy()
        a, b = found["gram"], found["explicit"]
        error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / runs)
        assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) < DEVIATIONS * error).all()
        # It averages over weights: it deviates no more, but for the chance of 6 in 1500.
        assert (a.std(axis=0) < b.std(axis=0) * 1.15).all()


class TestStack:
    @pytest.mark.parametrize("way", get_args(Way))
    def test_equals_its_members(self, way):
        weights, x = problem((7, 8, 8, 2), 6, 3)
        scales = torch.tensor([0.2, 0.5, 1.0], dtype=x.dtype)
        sample = noise.BY_WAY[way]
        together = sample(weights, x, 4, scales, streams(3))
        for k in range(3):
            alone = sample(
                [(w[k : k + 1], b[k : k + 1]) for w, b in weights],
                x[k : k + 1],
                4,
                scales[k : k + 1],
                streams(3)[k : k + 1],
            )
            # Products of other shapes round otherwise; C of 6 examples is regular.
            torch.testing.assert_close(together[k], alone[0], rtol=1e-9, atol=1e-11)

    def test_a_diverged_network_leaves_others_alone(self):
        weights, x = problem((7, 8, 8, 2), 6, 3)
        found = []
        for broken in (False, True):
            leaves = [(w.clone(), b.clone()) for w, b in weights]
            if broken:
                leaves[0][0][1] = torch.nan
                leaves[1][1][1] = torch.inf
            leaves = [(w.requires_grad_(), b.requires_grad_()) for w, b in leaves]
            log = Escalations()
            logits = run("gram", leaves, x, 4, log=log)
            logits.square().sum().backward()
            grads = [p.grad[[0, 2]] for pair in leaves for p in pair]
            found.append((logits.detach(), grads))
            assert log.count == 0
        (fine, fine_slopes), (made, slopes) = found
        assert not torch.isfinite(made[1]).any()
        assert torch.equal(made[[0, 2]], fine[[0, 2]])
        for one, other in zip(fine_slopes, slopes, strict=True):
            assert torch.equal(one, other)

    def test_touches_no_global_numbers(self):
        weights, x = problem((7, 8, 2), 6, 2)
        before = torch.get_rng_state()
        for way in get_args(Way):
            run(way, weights, x, 4)
        assert torch.equal(before, torch.get_rng_state())


class TestRoom:
    def steps(self, room, widths=(7, 20, 20, 2), count=3):
        """Logits and slopes of some steps, with a room in common or none."""
        weights, x = problem(widths, 6, 2)
        leaves = [p.requires_grad_() for pair in weights for p in pair]
        found = []
        for k in range(count):
            own = streams(2, f"step {k}")
            scales = x.new_full((2,), S)
            out = noise.auto(weights, x, 4, scales, own, room=room)
            found.append([out, *torch.autograd.grad(out.square().sum(), leaves)])
        return found

    @pytest.mark.parametrize("widths", [(7, 20, 20, 2), (7, 40, 30, 20, 2), (7, 2)])
    def test_changes_no_number(self, widths):
        for mine, fresh in zip(
            self.steps(Room(), widths), self.steps(None, widths), strict=True
        ):
            assert all(torch.equal(a, b) for a, b in zip(mine, fresh, strict=True))

    def test_is_taken_again(self):
        room = Room()
        self.steps(room, count=1)
        before = {key: t.data_ptr() for key, t in room._kept.items()}
        self.steps(room)
        assert {key: t.data_ptr() for key, t in room._kept.items()} == before

    def test_refuses_slopes_of_what_is_gone(self):
        weights, x = problem((7, 20, 20, 2), 6, 2)
        for pair in weights:
            for p in pair:
                p.requires_grad_()
        room, scales = Room(), x.new_full((2,), S)
        first, second = (
            noise.auto(weights, x, 4, scales, streams(2), room=room) for _ in range(2)
        )
        second.sum().backward()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            first.sum().backward()

    def test_keeps_less_where_no_slopes_are_wanted(self):
        weights, x = problem((7, *[20] * 8, 2), 6, 2)
        sizes = []
        for wanted in (True, False):
            room = Room()
            for w, _ in weights:
                w.requires_grad_(wanted)
            noise.gram(weights, x, 4, x.new_full((2,), S), streams(2), room=room)
            sizes.append(sum(t.numel() for t in room._kept.values()))
        assert sizes[1] < 0.5 * sizes[0]
