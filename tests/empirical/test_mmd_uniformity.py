"""Uniformity and the regularisers, against their definitions written out."""

import itertools
import math
from typing import get_args

import numpy as np
import pytest
import torch

from empirical.mmd_init import networks, regularisers, uniformity
from empirical.mmd_init.losses import constant_share, losses
from empirical.mmd_init.networks import classifier
from empirical.mmd_init.recipes import Estimator, Recipe
from empirical.randomness import torch_generator

SCALES = [2.0**i for i in range(-4, 5)]


def predictions(perturbations, inputs, classes, spread=1.5, name="f"):
    shape = (perturbations, inputs, classes)
    g = torch_generator(7, name, *shape)
    logits = spread * torch.randn(shape, generator=g, dtype=torch.float64)
    return logits.softmax(dim=2)


def nine(square, gamma):
    """The kernel by nine exponentials."""
    return sum(torch.exp(-square / (2.0 * (s * gamma) ** 2)) for s in SCALES)


def gauss(panels=400, nodes=20):
    """Nodes and weights on [0, 1], panels much narrower than any kernel below."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    starts = np.arange(panels)[:, None]
    points = (starts + 0.5 * (x + 1.0)) / panels
    weights = np.broadcast_to(0.5 * w / panels, points.shape)
    return torch.from_numpy(points.ravel()), torch.from_numpy(weights.ravel())


def closed_by_quadrature(p, gammas, *, unbiased):
    found = []
    points, weights = gauss()
    count = len(p)
    for at, gamma in zip(p.T, gammas, strict=True):
        own = nine(2.0 * (at[:, None] - at) ** 2, gamma)
        total = own.sum() - (9.0 * count if unbiased else 0.0)
        total = total / (count * (count - 1 if unbiased else count))
        cross = nine(2.0 * (at[:, None] - points) ** 2, gamma) @ weights
        # Two uniform numbers are t apart with density 2 (1 - t).
        among = nine(2.0 * points**2, gamma) @ (weights * 2.0 * (1.0 - points))
        found.append(total - 2.0 * cross.mean() + among)
    return torch.stack(found)


def sampled_by_pairs(f, u, gammas, *, unbiased):
    found = []
    for at, gamma in zip(f.transpose(0, 1), gammas, strict=True):
        sums = {}
        for name, a, b in (("ff", at, at), ("fu", at, u), ("uu", u, u)):
            sums[name] = nine((a[:, None] - b).square().sum(dim=2), gamma).sum()
        m, n = len(at), len(u)
        value = -2.0 * sums["fu"] / (m * n)
        for name, k in (("ff", m), ("uu", n)):
            if unbiased:
                value = value + (sums[name] - 9.0 * k) / (k * (k - 1))
            else:
                value = value + sums[name] / k**2
        found.append(value)
    return torch.stack(found)


# Both estimators; bandwidths about a median, and so wide that all kernels are nearly one.
GAMMAS = torch.tensor([0.1, 0.45, 3.0, 1e4], dtype=torch.float64)


@pytest.mark.parametrize("estimator", get_args(Estimator))
class TestValues:
    def test_two_classes(self, estimator):
        p = predictions(17, 4, 2)[..., 0].clone().requires_grad_()
        unbiased = estimator == "unbiased"
        wanted = closed_by_quadrature(p, GAMMAS, unbiased=unbiased)
        (slope,) = torch.autograd.grad(wanted.sum(), p)
        found = uniformity.closed(p, bandwidths=GAMMAS, estimator=estimator)
        # Nine kernels of size one; a fourth power's fourth power has 64 times the
        # rounding of an exponential. Slopes are 16 / 0.1 / 17 at most.
        torch.testing.assert_close(found, wanted, rtol=0.0, atol=1e-12)
        (made,) = torch.autograd.grad(found.sum(), p)
        torch.testing.assert_close(made, slope, rtol=0.0, atol=1e-11)
        lower = uniformity.closed(
            p.float(), bandwidths=GAMMAS.float(), estimator=estimator
        )
        # Three fours: 3 (1 + 4 + 16 + 64) roundings of 6e-8, and p's own, 6e-8 / 2
        # times slopes of at most 16 / 0.1 of each of a few narrow kernels.
        torch.testing.assert_close(lower.double(), wanted, rtol=0.0, atol=2e-5)

    @pytest.mark.parametrize("classes", [2, 3, 4])
    def test_any_number_of_classes(self, classes, estimator):
        f = predictions(13, 4, classes).requires_grad_()
        g = torch_generator(7, "u")
        u = uniformity.simplex_sample(11, classes, g, dtype=torch.float64)
        unbiased = estimator == "unbiased"
        wanted = sampled_by_pairs(f, u, GAMMAS, unbiased=unbiased)
        (slope,) = torch.autograd.grad(wanted.sum(), f)
        found = uniformity.sampled(f, u, bandwidths=GAMMAS, estimator=estimator)
        torch.testing.assert_close(found, wanted, rtol=0.0, atol=1e-12)
        (made,) = torch.autograd.grad(found.sum(), f)
        torch.testing.assert_close(made, slope, rtol=0.0, atol=1e-11)
        lower = uniformity.sampled(
            f.float(), u.float(), bandwidths=GAMMAS.float(), estimator=estimator
        )
        torch.testing.assert_close(lower.double(), wanted, rtol=0.0, atol=2e-5)

    def test_slopes_by_differences(self, estimator):
        p = predictions(5, 2, 2)[..., 0].clone().requires_grad_()
        gammas = GAMMAS[:2]
        assert torch.autograd.gradcheck(
            lambda q: uniformity.closed(q, bandwidths=gammas, estimator=estimator), p
        )
        f = predictions(4, 2, 3).requires_grad_()
        u = predictions(5, 1, 3)[:, 0]
        assert torch.autograd.gradcheck(
            lambda q: uniformity.sampled(q, u, bandwidths=gammas, estimator=estimator),
            f,
        )

    def test_blocks_change_nothing(self, estimator, monkeypatch):
        p = predictions(9, 7, 2)[..., 0]
        gammas = torch.linspace(0.2, 0.6, 7, dtype=torch.float64)
        f, u = predictions(9, 7, 3), predictions(6, 1, 3)[:, 0]

        def both():
            return (
                uniformity.closed(p, bandwidths=gammas, estimator=estimator),
                uniformity.sampled(f, u, bandwidths=gammas, estimator=estimator),
            )

        whole = both()
        monkeypatch.setattr(uniformity, "_BLOCK", 170)
        for one, other in zip(whole, both(), strict=True):
            torch.testing.assert_close(one, other, rtol=0.0, atol=1e-14)


class TestSeries:
    def test_pairs_of_uniform_points(self):
        g = torch.tensor([0.01, 0.3, 1.9, 2.0, 2.1, 50.0, 1e6], dtype=torch.float64)
        points, weights = gauss()
        wanted = [
            torch.exp(-((points / k) ** 2)) @ (weights * 2.0 * (1.0 - points))
            for k in g
        ]
        found = uniformity._uniform_pairs(g)
        # Sums of 8,000 terms, and a form that loses less than a digit below 2.
        torch.testing.assert_close(found, torch.stack(wanted), rtol=1e-14, atol=0.0)

    def test_uniform_predictions_score_zero(self):
        even = (torch.arange(400, dtype=torch.float64) + 0.5) / 400
        value = uniformity.closed(even[:, None], estimator="biased")
        # The midpoint rule; the narrowest kernel is a fortieth wide, ten points.
        assert abs(float(value)) < 1e-4
        assert float(uniformity.closed(even[:, None] ** 3)) > 0.5

    def test_fewer_reference_points_move_the_bandwidth_alone(self):
        p = predictions(20, 3, 2)[..., 0]
        given = uniformity.segment_median(p, 7)
        assert torch.equal(
            uniformity.closed(p, reference=7), uniformity.closed(p, bandwidths=given)
        )


def all_distances(points):
    return [math.dist(a, b) for a, b in itertools.combinations(points, 2)]


class TestMedians:
    @pytest.mark.parametrize("kind", ["different", "ties", "repeated", "ends"])
    # 2, 3, 6 and 7 points have an odd number of distances, 4, 5, 8 and 9 an even one.
    @pytest.mark.parametrize(
        ("count", "reference"), [(2, 0), (2, 1), (3, 1), (2, 3), (3, 3), (4, 3), (5, 4)]
    )
    def test_on_the_segment(self, count, reference, kind):
        p = predictions(count, 3, 2)[..., 0].clone()
        if kind == "ties":
            p[:] = (torch.arange(count) % 3)[:, None] / 4.0
        if kind == "repeated" and count > 2:
            p[1] = p[0]
        if kind == "ends":
            p[0], p[1] = 0.0, 1.0
        even = [(j + 0.5) / reference for j in range(reference)]
        wanted = []
        for at in p.T.tolist():
            points = [(v, 1.0 - v) for v in [*at, *even]]
            wanted.append(np.median(all_distances(points)))
        found = uniformity.segment_median(p, reference)
        # Distances are told apart from 1e-15 on.
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=3e-15)
        lower = uniformity.segment_median(p.float(), reference)
        # The roundings of two p.
        np.testing.assert_allclose(lower, wanted, rtol=0.0, atol=2e-7)

    @pytest.mark.parametrize("classes", [2, 3, 5])
    @pytest.mark.parametrize(("count", "others"), [(2, 2), (3, 2), (4, 3), (5, 3)])
    def test_on_the_simplex(self, count, others, classes):
        f = predictions(count, 3, classes)
        f[1, 2] = f[0, 2]
        u = predictions(others, 1, classes, name="u")[:, 0]
        wanted = [
            np.median(all_distances([*f[:, i].tolist(), *u.tolist()])) for i in range(3)
        ]
        found = uniformity.simplex_median(f, u)
        np.testing.assert_allclose(found, wanted, rtol=1e-14)

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_zero(self, dtype):
        p = torch.full((20, 2), 0.9, dtype=dtype)
        p[:, 1] = torch.linspace(0.1, 0.8, 20, dtype=dtype)
        with pytest.raises(
            ValueError, match=r"must be positive, but 1 of 2 are 0: more"
        ):
            uniformity.closed(p, reference=2)
        f = torch.stack([p, 1.0 - p], dim=2)
        with pytest.raises(ValueError, match=r"simplex_median.*1 of 2 are 0"):
            uniformity.sampled(f, f[:2, 1])
        # Of an even number of distances the two in the middle may be 0 and not.
        half = torch.tensor([[0.5], [0.5], [0.5], [1.0]], dtype=dtype)
        assert float(uniformity.segment_median(half, 0)) == pytest.approx(
            0.25 * 2**0.5, rel=1e-6
        )
        # As many points of reference as predictions do.
        assert float(uniformity.segment_median(p[:, :1], 20)[0]) > 0.0

    def test_a_diverged_network_leaves_others_alone(self):
        p = predictions(9, 3, 2)[..., 0].clone()
        fine = uniformity.closed(p, reference=8)
        p[4, 1] = torch.nan
        found = uniformity.closed(p, reference=8)
        assert torch.equal(found[[0, 2]], fine[[0, 2]])
        assert torch.isnan(found[1])
        f = torch.stack([p, 1.0 - p], dim=2)
        assert torch.isfinite(uniformity.sampled(f, f[:5, 0])).tolist() == [1, 0, 1]

    def test_bandwidths_have_no_slope(self):
        p = predictions(9, 2, 2)[..., 0].clone().requires_grad_()
        given = uniformity.segment_median(p.detach(), 8)
        slopes = [
            torch.autograd.grad(value.sum(), p)[0]
            for value in (
                uniformity.closed(p, reference=8),
                uniformity.closed(p, bandwidths=given),
            )
        ]
        assert torch.equal(*slopes)


@pytest.mark.parametrize(
    ("run", "match"),
    [
        (lambda p, f, u: uniformity.closed(p[:1]), "at least 2 perturbations"),
        (lambda p, f, u: uniformity.closed(f), "predictions must have 2 axes"),
        (lambda p, f, u: uniformity.sampled(p, u), "predictions must have 3 axes"),
        (lambda p, f, u: uniformity.sampled(f, u[:1]), "`u` must be at least 2 points"),
        (lambda p, f, u: uniformity.sampled(f, u[:, :2]), "points of 3 classes"),
        (
            lambda p, f, u: uniformity.closed(p, estimator="v"),
            "one of unbiased, biased, but it is 'v'",
        ),
        (
            lambda p, f, u: uniformity.closed(p, reference=-1),
            "`reference` must be at least 0",
        ),
        *(
            (
                lambda p, f, u, g=given: uniformity.closed(p, bandwidths=g),
                "closed: `bandwidths` must be 2 positive numbers",
            )
            for given in (torch.zeros(2), -torch.ones(2), torch.ones(3))
        ),
        (
            lambda p, f, u: uniformity.sampled(f, u, bandwidths=torch.ones(1)),
            "sampled: `bandwidths` must be 2 positive numbers",
        ),
    ],
)
def test_refuses(run, match):
    f, u = predictions(4, 2, 3), predictions(5, 1, 3)[:, 0]
    with pytest.raises(ValueError, match=match):
        run(predictions(4, 2, 2)[..., 0], f, u)


class TestSample:
    @pytest.mark.parametrize("classes", [2, 3, 10])
    def test_moments(self, classes):
        count = 100_000
        g = torch_generator(7, "simplex")
        u = uniformity.simplex_sample(count, classes, g, dtype=torch.float64)
        assert (u >= 0.0).all()
        torch.testing.assert_close(u.sum(dim=1), torch.ones_like(u[:, 0]))
        # Beta(1, d - 1): 6 deviations have a chance of 2e-9 each.
        for power, wanted in ((1, 1.0 / classes), (2, 2.0 / (classes * (classes + 1)))):
            values = u**power
            z = (values.mean(dim=0) - wanted) / (values.std(dim=0) / count**0.5)
            assert (z.abs() < 6.0).all()


def degeneracy_by_loops(f):
    """Of one perturbed network, inputs by classes."""
    classes = f.shape[1]
    means = []
    for i in range(classes):
        vertex = [float(j == i) for j in range(classes)]
        means.append(np.mean([math.dist(vertex, row) for row in f.tolist()]))
    return max(*means, classes**-0.5) - classes**-0.5


class TestDegeneracy:
    @pytest.mark.parametrize("classes", [2, 3, 4, 7])
    def test_definition(self, classes):
        f = predictions(6, 9, classes, spread=3.0)
        found = regularisers.degeneracy(f)
        wanted = [degeneracy_by_loops(one) for one in f]
        # Squares are in error by a few eps, the root of 1e-6 by a thousand times that.
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-12)
        stack = regularisers.degeneracy(torch.stack([f, f.flip(0)]))
        assert torch.equal(stack[0], found)
        assert stack.shape == (2, 6)

    def test_two_classes(self):
        f = predictions(6, 9, 2, spread=3.0)
        wanted = 2**0.5 * (f[..., 0].mean(dim=1) - 0.5).abs()
        torch.testing.assert_close(regularisers.degeneracy(f), wanted)

    @pytest.mark.parametrize("classes", [2, 3, 4, 10])
    def test_on_vertices_and_at_the_centre(self, classes):
        corners = torch.eye(classes, dtype=torch.float64)
        constant = corners[:1].expand(classes, -1)
        centre = torch.full_like(corners, 1.0 / classes)
        f = torch.stack([constant, corners, centre]).requires_grad_()
        found = regularisers.degeneracy(f)
        root = classes**0.5
        wanted = [
            2**0.5 - 1.0 / root,
            (classes - 1) / classes * 2**0.5 - 1.0 / root,
            ((classes - 1) ** 0.5 - 1.0) / root,
        ]
        np.testing.assert_allclose(found.detach(), wanted, rtol=0.0, atol=1e-15)
        # Ties, and distances of 0, have slopes, if not unique ones.
        (slope,) = torch.autograd.grad(found.sum(), f)
        assert torch.isfinite(slope).all()

    @pytest.mark.parametrize("classes", [2, 3, 10])
    def test_never_below_its_floor(self, classes):
        f = predictions(300, 5, classes, spread=0.5)
        floor = ((classes - 1) ** 0.5 - 1.0) / classes**0.5
        assert (regularisers.degeneracy(f) >= floor - 1e-12).all()

    @pytest.mark.parametrize("classes", [2, 3])
    def test_slopes(self, classes):
        f = predictions(3, 4, classes).requires_grad_()
        assert torch.autograd.gradcheck(regularisers.degeneracy, f)


def network(widths, draws):
    net = classifier(widths)
    generators = [torch_generator(7, k) for k in range(draws)]
    state = networks.start(net, "he", generators, dtype=torch.float64)
    for index, values in enumerate(state[1::2]):
        g = torch_generator(7, f"{2 * index}.bias")
        values.copy_(0.3 * torch.randn(values.shape, generator=g))
    x = torch.randn(
        draws, 6, widths[0], generator=torch_generator(7, "x"), dtype=torch.float64
    )
    return net, state, x


def norms_by_autograd(weights, x):
    """Norms (layers, n, d) of one network, inputs one at a time."""

    def behind(index, entering):
        for k in range(index, len(weights)):
            h = entering.relu() if k else entering
            entering = weights[k][0] @ h + weights[k][1]
        return entering

    found = torch.empty(len(weights), len(x), len(weights[-1][1]), dtype=x.dtype)
    for row, at in enumerate(x):
        entering = at
        for index in range(len(weights)):
            j = torch.func.jacrev(lambda z, k=index: behind(k, z))(entering)
            found[index, row] = j.norm(dim=1)
            h = entering.relu() if index else entering
            entering = weights[index][0] @ h + weights[index][1]
    return found


class TestJacobians:
    @pytest.mark.parametrize("widths", [(5, 7, 3), (5, 7, 8, 6, 2)])
    def test_stacked_and_alone(self, widths):
        net, state, x = network(widths, 3)
        entering = networks.entering(net, state, x)
        weights = networks.pairs(net, state)
        stack = regularisers.jacobian_norms(weights, entering)
        assert stack.shape == (len(widths) - 1, 3, 6, widths[-1])
        for draw in range(3):
            own = [(w[draw], b[draw]) for w, b in weights]
            wanted = norms_by_autograd(own, x[draw])
            torch.testing.assert_close(stack[:, draw], wanted, rtol=1e-12, atol=0.0)
            alone = regularisers.jacobian_norms(own, [e[draw] for e in entering])
            torch.testing.assert_close(alone, wanted, rtol=1e-12, atol=0.0)

    def test_detachment_and_its_slope(self):
        net, state, x = network((5, 7, 8, 2), 1)
        leaves = tuple(v.requires_grad_() for v in state)
        entering = networks.entering(net, leaves, x)
        norms = regularisers.jacobian_norms(networks.pairs(net, leaves), entering)
        found = regularisers.detachment(norms)
        worst = [
            max((1.0 - n) ** 2 for n in norms[:, 0, i, c].tolist())
            for i in range(6)
            for c in range(2)
        ]
        assert float(found.detach()) == pytest.approx(np.mean(worst), rel=1e-14)
        found.sum().backward()
        ends = []
        for sign in (1.0, -1.0):
            moved = tuple(v.detach().clone() for v in leaves)
            for weight in moved[::2]:
                weight += sign * 1e-6
            entering = networks.entering(net, moved, x)
            value = regularisers.detachment(
                regularisers.jacobian_norms(networks.pairs(net, moved), entering)
            )
            ends.append(float(value))
        # All weights move by the same.
        slope = sum(float(weight.grad.sum()) for weight in leaves[::2])
        # Rounding, 1e-16 over 2e-6, and curvature times 1e-12.
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(slope, rel=1e-7)

    def test_dead_layers(self):
        net, state, x = network((5, 7, 8, 2), 1)
        state[3].fill_(-100.0)
        leaves = tuple(v.requires_grad_() for v in state)
        entering = networks.entering(net, leaves, x)
        norms = regularisers.jacobian_norms(networks.pairs(net, leaves), entering)
        assert not norms.any()
        regularisers.detachment(norms).sum().backward()
        assert all(v.grad is None or torch.isfinite(v.grad).all() for v in leaves)
        assert float(regularisers.detachment(norms).detach()) == 1.0

    def test_needs_a_hidden_layer(self):
        net, state, _ = network((5, 2), 1)
        with pytest.raises(ValueError, match="`weights` must have a hidden layer"):
            regularisers.jacobian_norms(networks.pairs(net, state), [])


class TestWholeLoss:
    # Explicit noise: the slope through noise on outputs is a mean over weights with the
    # same outputs, right in the mean and not for the numbers drawn.
    @pytest.mark.parametrize("estimator", get_args(Estimator))
    @pytest.mark.parametrize(("classes", "closed"), [(2, True), (2, False), (3, True)])
    @pytest.mark.parametrize(
        "parts", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.4, 1.0)]
    )
    def test_slopes_by_differences(self, parts, classes, closed, estimator):
        net, state, x = network((5, 7, 6, classes), 2)
        uni, lam, xi = parts
        recipes = [
            Recipe(
                uni=uni,
                lam=lam,
                xi=xi,
                s=s,
                perturbations=6,
                reference=5,
                noise="explicit",
                estimator=estimator,
                closed=closed,
            )
            for s in (0.5, 0.9)
        ]
        gammas = torch.linspace(0.3, 0.7, 12, dtype=torch.float64)

        def loss(values):
            common = [torch_generator(7, "noise", k) for k in range(2)]
            made = losses(net, values, x, recipes, common, bandwidths=gammas)
            return made.loss.sum()

        leaves = tuple(v.clone().requires_grad_() for v in state)
        loss(leaves).backward()
        h = 1e-5
        for trial in range(3):
            g = torch_generator(7, "direction", trial)
            slope, ends = 0.0, []
            directions = [
                torch.randn(v.shape, generator=g, dtype=v.dtype) for v in state
            ]
            for v, d in zip(leaves, directions, strict=True):
                slope += 0.0 if v.grad is None else float((v.grad * d).sum())
            for sign in (1.0, -1.0):
                moved = tuple(
                    v + sign * h * d for v, d in zip(state, directions, strict=True)
                )
                ends.append(float(loss(moved)))
            assert (ends[0] - ends[1]) / (2.0 * h) == pytest.approx(
                slope, rel=1e-5, abs=1e-7
            )

    def test_is_the_sum_of_its_terms(self):
        net, state, x = network((5, 7, 6, 2), 2)
        recipes = [
            Recipe(lam=lam, xi=xi, perturbations=8, s=0.5)
            for lam, xi in ((0.4, 1.0), (2.0, 0.0))
        ]
        streams = [torch_generator(7, k) for k in range(2)]
        made = losses(net, state, x, recipes, streams)
        terms = (made.uniformity, made.degeneracy, made.detachment)
        assert all(t is not None for t in terms)
        uni, sd, iod = terms
        lam, xi = torch.tensor([0.4, 2.0]), torch.tensor([1.0, 0.0])
        torch.testing.assert_close(made.loss, uni + lam * sd + xi * iod)
        alone = losses(
            net, state, x, [Recipe(uni=0.0, lam=0.0)] * 2, [torch_generator(7)] * 2
        )
        assert alone.uniformity is alone.degeneracy is alone.constant is None
        assert torch.equal(alone.loss, alone.detachment)
        assert torch.equal(alone.detachment, iod)


def test_constant_share():
    f = predictions(40, 3, 3, spread=4.0)
    wanted = np.mean([len(set(one.argmax(dim=1).tolist())) < 3 for one in f])
    assert float(constant_share(f)) == pytest.approx(wanted)
    assert constant_share(torch.stack([f, f])).shape == (2,)
