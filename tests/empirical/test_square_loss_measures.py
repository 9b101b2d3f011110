"""Measurements against their definitions, written out with autograd and NumPy."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from empirical.randomness import torch_generator
from empirical.square_loss import classifier, measures, start
from empirical.square_loss.classifiers import FAMILIES
from empirical.square_loss.losses import LOSSES
from empirical.square_loss.networks import rho, statistics
from empirical.square_loss.task import wrong_answers

SPECS = {
    "dense": {"shape": (5,), "widths": (16, 12)},
    "conv": {"shape": (1, 5, 5), "widths": (3, 4)},
    "linear": {"shape": (5,), "widths": ()},
}


def subject(family, spec, *, n=12, draws=2, outputs=1, seed=7):
    net = classifier(family, outputs=outputs, **SPECS[spec])
    scales = [0.7, 2.5][:draws]
    params = start(net, scales, [torch_generator(seed, i) for i in range(draws)])
    g = torch_generator(seed, "x")
    x = torch.randn(n, *net.input_shape, generator=g, dtype=torch.float64)
    classes = torch.arange(n) % (2 if outputs == 1 else outputs)
    if outputs == 1:
        targets = (2.0 * classes - 1.0)[:, None].double()
    else:
        targets = torch.eye(outputs, dtype=torch.float64)[classes]
    return net, params, x, targets, classes


def unit_outputs(net, units, x, known=()):
    """f as a function of unit-norm layers, without the network's own normalisation."""
    plain = replace(net, weighting=None)
    return plain.run(units, x, buffers=known, training=not known).outputs


@pytest.mark.parametrize("family", ["none", "bn", "wn", "wn-rows"])
@pytest.mark.parametrize("spec", list(SPECS))
class TestAgainstDefinitions:
    def test_sums_and_critical_residual(self, family, spec):
        net, params, x, y, classes = subject(family, spec)
        found = measures.observe(net, params, x, y, classes, penalty=0.3)
        for draw in range(2):
            weights = [w[draw : draw + 1] for w in net.weights(params)]
            units = [(w / w.norm()).requires_grad_() for w in weights]
            size = rho(net, params)[draw]
            f = unit_outputs(net, tuple(units), x)[0, :, 0]
            e = (size * f - y[:, 0]).detach()
            got = {name: value[draw] for name, value in found.items()}
            close = {"rel": 1e-9, "abs": 1e-12}
            assert float(got["loss"]) == pytest.approx(float((e**2).mean()), **close)
            s = float((f.detach() ** 2).sum())
            b = float((y[:, 0] * f.detach()).sum())
            assert float(got["S"]) == pytest.approx(s, **close)
            assert float(got["B"]) == pytest.approx(b, **close)
            assert float(got["rho_eq"]) == pytest.approx(b / (0.3 + s), **close)
            nu = -float(size * (e * f.detach()).sum())
            assert float(got["nu"]) == pytest.approx(nu, **close)
            slopes = torch.autograd.grad((e * f).sum(), units)
            for k, (v, slope) in enumerate(zip(units, slopes, strict=True)):
                radial = (v * slope).sum()
                if not (net.norm and k < net.layers - 1):
                    # Euler: where f is homogeneous the radial part is sum e f.
                    assert float(radial.detach()) == pytest.approx(
                        float((e * f.detach()).sum()), rel=1e-9, abs=1e-11
                    )
                r = (slope - v.detach() * radial).norm() / e.norm()
                assert float(got["residual"][k]) == pytest.approx(
                    float(r.detach()), rel=1e-8, abs=1e-11
                )

    def test_example_residuals(self, family, spec):
        net, params, x, _, classes = subject(family, spec)
        found = measures.example_residuals(net, params, x, classes)
        for draw in range(2):
            units = [
                (w / w.flatten(1).norm(dim=1).view(-1, *[1] * (w.ndim - 1)))
                for w in net.weights(params)
            ]
            units = [u[draw : draw + 1].requires_grad_() for u in units]
            known = ()
            if net.norm is not None:
                known = tuple(s.detach() for s in statistics(net, tuple(units), x))
            f = unit_outputs(net, tuple(units), x, known)[0, :, 0]
            each = np.empty((net.layers, len(x)))
            for j in range(len(x)):
                slopes = torch.autograd.grad(f[j], units, retain_graph=True)
                for k, (v, slope) in enumerate(zip(units, slopes, strict=True)):
                    each[k, j] = float(
                        ((slope - v * f[j]).norm() / f[j].abs()).detach()
                    )
            for c in (0, 1):
                wanted = np.quantile(
                    each[:, classes.numpy() == c], measures.CLASS_LEVELS, axis=1
                ).T
                got = found[draw, :, c].detach().numpy()
                assert got == pytest.approx(wanted, rel=1e-6, abs=1e-7)


def test_residuals_of_a_class_that_is_not_there_are_nan():
    net, params, x, *_ = subject("none", "conv")
    more = torch.cat([x] * (200 // len(x) + 1))
    # Behind the examples whose gradients are formed.
    classes = torch.zeros(len(more), dtype=torch.int64)
    classes[-3:] = 1
    found = measures.example_residuals(net, params, more, classes)
    assert found[:, :, 0].isfinite().all()
    assert found[:, :, 1].isnan().all()


class TestMargins:
    @pytest.mark.parametrize("family", FAMILIES)
    def test_quantiles_means_and_errors(self, family):
        net, params, x, y, classes = subject(family, "dense")
        found = measures.observe(net, params, x, y, classes, penalty=0.0)
        f = (net.apply(params, x)[..., 0] / rho(net, params)[:, None]).numpy()
        margins = f * y[:, 0].numpy()
        got = {name: value.numpy() for name, value in found.items()}
        assert got["abs_mean"] == pytest.approx(np.abs(f).mean(axis=1))
        assert got["margin_mean"] == pytest.approx(margins.mean(axis=1))
        assert got["error"] == pytest.approx((margins <= 0).mean(axis=1))
        for name, values in (("abs", np.abs(f)), ("margin", margins)):
            wanted = np.quantile(values, measures.LEVELS, axis=1).T
            assert got[f"{name}_quantiles"] == pytest.approx(wanted)

    def test_the_sums_of_several_outputs(self):
        net, params, x, y, classes = subject("bn", "dense", outputs=3)
        found = measures.observe(net, params, x, y, classes, penalty=0.5)
        g = net.apply(params, x)
        # d loss / d rho = 0 along the ray defines the equilibrium, decay included.
        at = found["rho_eq"].clone().requires_grad_()
        f = (g / rho(net, params)[:, None, None]).detach()
        total = ((at[:, None, None] * f - y) ** 2).sum(dim=(1, 2)) + 0.5 * at**2
        (slope,) = torch.autograd.grad(total.sum(), at)
        assert slope.numpy() == pytest.approx(0.0, abs=1e-11)
        wrong = g.argmax(dim=2) != classes
        assert found["error"].tolist() == wrong.double().mean(dim=1).tolist()


def simplex(count, size, seed=7):
    """Vertices of a regular simplex, centred, in random directions: (count, size)."""
    g = np.random.default_rng(seed)
    frame = np.linalg.qr(g.standard_normal((size, count)))[0]
    return (np.eye(count) - 1.0 / count) @ frame.T


class TestCollapse:
    @pytest.mark.parametrize("count", [2, 3, 5])
    def test_a_simplex_has_collapsed(self, count):
        classes = torch.arange(4 * count) % count
        vertices = torch.from_numpy(simplex(count, 9))
        features = (3.0 * vertices[classes])[None]
        found = measures.collapse(features, classes, 0.2 * vertices[None])
        for name, values in found.items():
            assert values.numpy() == pytest.approx(0.0, abs=1e-12), name

    @pytest.mark.parametrize("count", [2, 3, 5])
    def test_against_the_definitions(self, count):
        g = np.random.default_rng(7)
        h, classes = g.standard_normal((40, 6)), np.arange(40) % count
        w = g.standard_normal((count, 6))
        found = measures.collapse(
            torch.from_numpy(h[None]),
            torch.from_numpy(classes),
            torch.from_numpy(w[None]),
        )
        mu = np.array([h[classes == c].mean(axis=0) for c in range(count)])
        m = mu - mu.mean(axis=0)
        within = h - mu[classes]
        nc1 = np.trace(
            within.T @ within / 40 @ np.linalg.pinv(m.T @ m / count, rcond=1e-10)
        )
        norms = np.linalg.norm(m, axis=1)
        cosines = (m @ m.T / np.outer(norms, norms))[~np.eye(count, dtype=bool)]
        nearest = ((h[:, None] - mu) ** 2).sum(axis=2).argmin(axis=1)
        wanted = {
            "nc1": [nc1 / count],
            "nc2_means": [
                [
                    norms.std() / norms.mean(),
                    cosines.std(),
                    np.abs(cosines + 1 / (count - 1)).mean(),
                ]
            ],
            "nc3": [
                ((w / np.linalg.norm(w) - m / np.linalg.norm(m)) ** 2).sum(),
            ],
            "nc4": [((h @ w.T).argmax(axis=1) != nearest).mean()],
        }
        for name, value in wanted.items():
            got = found[name].numpy()
            assert got == pytest.approx(np.array(value), rel=1e-9, abs=1e-12), name

    def test_one_row_stands_for_two(self):
        g = torch_generator(7)
        h = torch.randn(1, 10, 6, generator=g, dtype=torch.float64)
        w = torch.randn(1, 1, 6, generator=g, dtype=torch.float64)
        classes = torch.arange(10) % 2
        one = measures.collapse(h, classes, w)
        two = measures.collapse(h, classes, torch.cat([-w, w], dim=1))
        assert all(torch.equal(one[name], two[name]) for name in one)

    def test_class_means_on_a_line(self):
        # The pseudo-inverse leaves out what is rounding.
        g = torch_generator(7)
        classes = torch.arange(20) % 3
        h = torch.randn(20, 6, generator=g, dtype=torch.float64)
        h -= torch.stack([h[classes == c].mean(dim=0) for c in range(3)])[classes]
        line = torch.randn(6, generator=g, dtype=torch.float64)
        within = (h.T @ h / 20).numpy()
        h = h + classes[:, None] * line
        centred = np.outer([-1.0, 0.0, 1.0], line.numpy())
        wanted = np.trace(within @ np.linalg.pinv(centred.T @ centred / 3)) / 3
        found = measures.collapse(h[None], classes, torch.ones(1, 3, 6).double())
        assert float(found["nc1"]) == pytest.approx(wanted, rel=1e-9)

    def test_a_class_mean_that_is_the_centre_has_no_direction(self):
        # Of -v, 0 and v in each direction, but for the rounding of three means.
        classes = torch.arange(12) % 3
        means = (classes - 1.0).double()[:, None] * torch.tensor([0.3, 0.7]).double()
        found = measures.collapse(
            (means + 0.1)[None], classes, torch.eye(3, 2)[None].double()
        )
        equinorm, *angles = found["nc2_means"][0].tolist()
        assert equinorm == pytest.approx(0.5**0.5, rel=1e-12)
        assert all(math.isnan(angle) for angle in angles)
        assert found["nc3"].isfinite().all()

    @pytest.mark.parametrize("count", [20, 300])
    def test_constant_features_collapse_to_nothing(self, count):
        features = torch.full((1, count, 6), 0.1, dtype=torch.float64)
        rows = torch.randn(1, 3, 6, generator=torch_generator(7)).double()
        found = measures.collapse(features, torch.arange(count) % 3, rows)
        for name in ("nc1", "nc2_means", "nc3", "nc4"):
            assert found[name].isnan().all(), name

    def test_a_class_without_examples_is_undefined(self):
        g = torch_generator(7)
        h = torch.randn(1, 6, 4, generator=g, dtype=torch.float64)
        found = measures.collapse(
            h, 2 * (torch.arange(6) % 2), torch.ones(1, 3, 4).double()
        )
        assert found["nc1"].isnan().all()
        assert found["nc4"].isnan().all()

    @pytest.mark.parametrize("classes", [[0, 0, 0, 0], [0, 1, 0, 1]])
    def test_a_last_class_without_examples_is_undefined(self, classes):
        h = torch.randn(1, 4, 5, generator=torch_generator(7)).double()
        found = measures.collapse(
            h, torch.tensor(classes), torch.eye(3, 5)[None].double()
        )
        assert found["nc1"].isnan().all()
        assert found["nc2_rows"].isfinite().all()

    def test_classes_are_those_of_the_rows(self):
        h = torch.ones(1, 4, 5)
        with pytest.raises(ValueError, match=r"collapse: `classes` .* 0 to 1"):
            measures.collapse(h, torch.tensor([0, 1, 2, 0]), torch.ones(1, 1, 5))

    @pytest.mark.parametrize("size", [2.0**-83, 2.0**83])
    def test_no_size_of_features_moves_a_bit(self, size):
        g = torch_generator(7)
        h, w = torch.randn(1, 12, 5, generator=g), torch.randn(1, 3, 5, generator=g)
        classes = torch.arange(12) % 3
        wanted = measures.collapse(h, classes, w)
        found = measures.collapse(size * h, classes, w / size)
        assert all(torch.equal(found[name], wanted[name]) for name in wanted)

    def test_what_is_undefined_is_nan(self):
        classes = torch.arange(6) % 2
        dead = torch.zeros(1, 6, 4, dtype=torch.float64)
        blown = torch.full((1, 6, 4), torch.inf, dtype=torch.float64)
        for features in (dead, blown):
            found = measures.collapse(features, classes, torch.ones(1, 1, 4).double())
            assert found["nc1"].isnan().all()
            assert found["nc3"].isnan().all()
        rows = torch.full((1, 1, 4), torch.nan).double()
        found = measures.collapse(torch.eye(6, 4)[None].double(), classes, rows)
        assert found["nc4"].isnan().all()
        assert found["nc1"].isfinite().all()


@pytest.mark.parametrize("spec", list(SPECS))
def test_a_norm_below_zero_turns_f_and_no_residual(spec):
    net, params, x, y, classes = subject("wn", spec)
    last, size = params[-2:]
    there = (*params[:-2], -last, size)
    here = (*params[:-2], last, -size)
    wanted = measures.observe(net, there, x, y, classes, penalty=0.3)
    found = measures.observe(net, here, x, y, classes, penalty=0.3)
    for name in ("loss", "product", "residual"):
        torch.testing.assert_close(found[name], wanted[name])
    torch.testing.assert_close(found["rho"], -wanted["rho"])
    assert bool((found["residual"] > 0.0).all())


def test_slopes_in_inference_mode_are_refused():
    net, params, x, y, classes = subject("none", "dense")
    with torch.inference_mode():
        with pytest.raises(RuntimeError, match="observe: must be called outside"):
            measures.observe(net, params, x, y, classes, penalty=0.0)
        with pytest.raises(RuntimeError, match="example_gradients: must be called out"):
            measures.example_gradients(net, params, x)


def test_gradients_of_several_outputs_are_refused():
    net, params, x, _, _ = subject("none", "dense", outputs=3)
    with pytest.raises(ValueError, match="must have one output"):
        measures.example_gradients(net, params, x)


@pytest.mark.parametrize("outputs", [1, 3])
def test_the_norm_rests_where_cross_entropy_and_decay_balance(outputs):
    net, params, x, y, classes = subject("bn", "dense", outputs=outputs)
    found = measures.observe(net, params, x, y, classes, penalty=0.3, loss="entropy")
    f = (net.run(params, x).outputs / rho(net, params)[:, None, None]).detach()
    at = found["rho_eq"].clone().requires_grad_()
    for draw in range(2):
        g = at[draw] * f[draw]
        if outputs == 1:
            total = torch.nn.functional.binary_cross_entropy_with_logits(
                g, 0.5 * (y + 1.0), reduction="sum"
            )
        else:
            total = torch.nn.functional.cross_entropy(g, classes, reduction="sum")
        # Weight decay d adds d/2 rho^2 to the mean of n: N d/2 = 0.3 to their sum.
        (slope,) = torch.autograd.grad(total + 0.3 * at[draw].square(), at)
        assert at[draw] > 0.0 or slope[draw] >= 0.0
        if at[draw] > 1e-9:
            # Rounding of twelve terms below one.
            assert abs(float(slope[draw])) < 1e-11
    free = measures.observe(net, params, x, y, classes, penalty=0.0, loss="entropy")
    assert bool(torch.isinf(free["rho_eq"]).all())


@pytest.mark.parametrize("penalty", [1e-15, 0.3, 1e6])
def test_cross_entropy_rests_at_any_penalty(penalty):
    # A thousand right answers: the root of 500 / (1 + exp(rho)) = penalty rho.
    f = torch.ones(1, 1000, 1, dtype=torch.float64)
    right, wrong = (
        float(LOSSES["entropy"].equilibrium(f, y, penalty)) for y in (f, -f)
    )
    pull = 500.0 / (1.0 + math.exp(right))
    # A rounded root moves the pull by its own size times eps, at most.
    slack = 4e-16 * (right + 1.0) * pull + 4e-16 * penalty * right
    assert abs(pull - penalty * right) <= slack
    assert wrong < 1e-12


@pytest.mark.parametrize("outputs", [1, 3])
def test_outputs_that_are_no_numbers_are_wrong(outputs):
    g = torch.full((2, 4, outputs), torch.nan)
    targets = torch.eye(outputs)[[0] * 4]
    assert wrong_answers(g, targets).tolist() == [4, 4]


def test_outputs_below_the_root_of_rounding_are_no_answers():
    # Of four right signs; 2^-27 and 2^-25 of the largest lie on both sides of 2^-26.
    g = torch.tensor([1.0, 2.0**-25, 2.0**-27, 2.0**-40], dtype=torch.float64)
    assert wrong_answers(g[None, :, None], torch.ones_like(g)[:, None]).tolist() == [2]
