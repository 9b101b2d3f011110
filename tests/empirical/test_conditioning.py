import gc
import math

import numpy as np
import pytest
import torch

from empirical import conditioning as ec
from empirical import data
from empirical.conditioning import chains, spectra
from empirical.networks import FullyConnected
from empirical.randomness import numpy_generator, torch_generator


def sphere(n, d, name="x"):
    return data.sphere_inputs(n, d, generator=numpy_generator(7, name))


def test_eigenvalues_that_are_no_numbers_have_no_condition():
    found = spectra.condition_numbers(np.array([[math.nan] * 2, [0.0, 1.0]]))
    assert math.isnan(found[0])
    assert found[1] == math.inf


class TestActivations:
    @pytest.mark.parametrize(
        ("name", "mean", "second"),
        [
            ("relu", (2 * math.pi) ** -0.5, 0.5),
            ("abs", (2 / math.pi) ** 0.5, 1.0),
            ("sign", 0.0, 1.0),
            ("erf", 0.0, 2 / math.pi * math.asin(2 / 3)),
            ("sin", 0.0, (1 - math.exp(-2)) / 2),
            ("hermite2", 1.0, 3.0),
        ],
    )
    def test_moments_in_closed_form(self, name, mean, second):
        made = ec.named(name)
        # The quadrature's stated accuracy.
        assert made.mean == pytest.approx(mean, abs=1e-14)
        assert made.deviation == pytest.approx((second - mean**2) ** 0.5, rel=1e-13)

    @pytest.mark.parametrize("name", ec.NAMES[:-1])
    def test_sample_moments(self, name):
        z = torch.empty(200_000, dtype=torch.float64)
        value = ec.named(name)(z.normal_(generator=torch_generator(7)))
        # Six standard errors each.
        for sample in (value, value**2 - 1):
            error = float(sample.std()) / len(z) ** 0.5
            assert abs(float(sample.mean())) < 6 * error + 1e-12

    def test_shifted_relu_gives_the_published_scale(self):
        # The kink whose scale is SELU's.
        made = ec.named("relu-1.59076585644126852193")
        assert 1 / made.deviation == pytest.approx(1.0507009873554805, rel=1e-13)

    def test_refusals(self):
        for bad in ("swish?", "relu!", "reluinf"):
            with pytest.raises(ValueError, match="`name` must be one of relu"):
                ec.named(bad)
        with pytest.raises(ValueError, match=r"'rellu'\. Did you mean 'relu'"):
            ec.named("rellu")
        for bad in ("normrelu", "normrelu(c=-1)"):
            with pytest.raises(ValueError, match="must be relu<kink> for NormReLU"):
                ec.named(bad)
        with pytest.raises(ValueError, match="must give a number for <kink>"):
            ec.named("relu<kink>")
        with pytest.raises(ValueError, match="`function` must have a finite"):
            ec.standardised(torch.zeros_like)
        for constant in (0.1, 1e10 / 3, -7e40):
            with pytest.raises(ValueError, match="`function` must have a finite"):
                ec.standardised(lambda z, c=constant: torch.full_like(z, c))
        assert ec.standardised(lambda z: z + 1e6).deviation == pytest.approx(1.0)
        # Its variance is 0.57; what is left out of it could be more.
        with pytest.raises(ValueError, match="all of it within 13 deviations"):
            ec.standardised(lambda z: torch.exp(0.2 * z * z))
        with pytest.raises(ValueError, match="`kinks` must be numbers"):
            ec.standardised(torch.relu, kinks=(math.nan,))
        with pytest.raises(ValueError, match="`kink` must be finite"):
            ec.shifted_relu(math.nan)


class TestSpectrum:
    def test_against_known_eigenvalues(self):
        # Equicorrelated: 1 + (n - 1) c and 1 - c, whatever the scales.
        n, c = 6, 0.4
        scale = np.arange(1.0, n + 1)
        k = ((1 - c) * np.eye(n) + c) * np.outer(scale, scale)
        got = ec.spectrum(torch.from_numpy(np.stack([k, 3 * k])))
        np.testing.assert_allclose(got.smallest, 1 - c, rtol=1e-13)
        np.testing.assert_allclose(got.largest, 1 + (n - 1) * c, rtol=1e-13)
        np.testing.assert_allclose(got.conditions, 3 / 0.6, rtol=1e-13)

    def test_singular(self):
        got = ec.spectrum(torch.ones(4, 4, dtype=torch.float64))
        assert got.conditions == math.inf

    def test_refusals(self):
        with pytest.raises(ValueError, match="`kernels` must have a positive, finite"):
            ec.normalised(torch.diag(torch.tensor([1.0, 0.0])))
        with pytest.raises(ValueError, match="`kernels` must have shape"):
            ec.normalised(torch.zeros(2, 3))
        one, nan = 1.0, math.nan
        with pytest.raises(ValueError, match="`kernels` must be finite, but 2 of 4"):
            ec.spectrum(torch.tensor([[one, nan], [nan, one]]))
        with pytest.raises(ValueError, match=r"must be symmetric, .* differ by 0\.9"):
            ec.spectrum(torch.tensor([[one, 0.9], [0.0, one]]))

    def test_kernels_with_a_graph(self):
        eye = torch.eye(3, requires_grad=True)
        assert ec.spectrum(2.0 * eye).conditions == pytest.approx(1.0)


class TestConditionByDepth:
    def measure(self, x, **changed):
        options = {
            "activation": ec.named("tanh3"),
            "width": 256,
            "depths": (0, 1, 4),
            "draws": 2,
            "generator": torch_generator(7),
        } | changed
        return ec.condition_by_depth(torch.from_numpy(x), **options)

    def test_shapes_and_the_input(self):
        x = sphere(5, 8)
        curves = self.measure(x, tangent=True)
        values = np.linalg.eigvalsh(x @ x.T)
        assert curves.nngp.conditions.shape == (2, 3)
        assert curves.ntk is not None
        for kind in (curves.nngp, curves.ntk):
            np.testing.assert_allclose(
                kind.conditions[:, 0], values[-1] / values[0], rtol=1e-11
            )
        np.testing.assert_allclose(
            curves.largest_correlations[:, 0], data.largest_correlation(x), rtol=1e-13
        )

    def test_streamed_draws_are_those_held(self):
        # One draw: the streams of random numbers agree up to the readout.
        x = sphere(5, 8)
        a = self.measure(x, draws=1)
        b = self.measure(x, draws=1, tangent=True)
        np.testing.assert_allclose(
            a.nngp.conditions, b.nngp.conditions, rtol=1e-9
        )  # rounding times the condition number

    @pytest.mark.parametrize("more", [{}, {"units": True}, {"max_bytes": 1}])
    def test_draws_are_looked_at_one_by_one(self, more, monkeypatch):
        # A hundred draws of thirty depths and a thousand digits are 24 GB.
        seen, plain = [], spectra.spectrum
        monkeypatch.setattr(
            spectra, "spectrum", lambda k: seen.append(len(k)) or plain(k)
        )
        options = {"draws": 3, "tangent": "max_bytes" in more, **more}
        curves = self.measure(sphere(3, 3), **options)
        assert len(curves.nngp.conditions) == 3
        assert set(seen) == {1}

    def test_the_tangent_kernel_of_each_depth(self):
        x = sphere(4, 6)
        curves = self.measure(x, draws=1, depths=(1, 2), width=32, tangent=True)
        network = FullyConnected(widths=(6, 32, 32, 1), activation=ec.named("tanh3"))
        params = network.init(generator=torch_generator(7))
        jacobian = torch.func.jacrev(
            lambda p: network.apply(p, torch.from_numpy(x))[0, :, 0]
        )(params)
        kernel = sum(j.flatten(1) @ j.flatten(1).T for j in jacobian)
        expected = ec.spectrum(kernel).conditions
        assert curves.ntk is not None
        assert curves.ntk.conditions[0, 1] == pytest.approx(float(expected), rel=1e-9)

    def test_drawing_units_has_the_law_of_drawing_weights(self):
        x = sphere(4, 6)
        options = {"draws": 200, "depths": (0, 1, 3), "width": 64}
        a = self.measure(x, **options)
        other = torch_generator(8)
        b = self.measure(x, **options, units=True, generator=other)
        for f in (lambda c: np.log(c.nngp.conditions), lambda c: c.nngp.smallest):
            p, q = f(a), f(b)
            error = np.sqrt((p.var(axis=0) + q.var(axis=0)) / 200)
            # Six standard errors; at depth 0 rounding times the condition number.
            assert (abs(p.mean(axis=0) - q.mean(axis=0)) < 6 * error + 1e-12).all()
        assert a.nngp.conditions[:, 2].std() > 0

    def test_depth_conditions_assumption_a_and_b(self):
        # Depth 8 leaves a third or less of the input's condition number; the draws
        # agree within 10 %, as width 256 against n = 8 allows.
        for x in (
            data.assumption_a_inputs(8, 64, 0.05, generator=numpy_generator(7)),
            data.assumption_b_inputs(8, 0.05, generator=numpy_generator(7)),
        ):
            curves = self.measure(x, depths=(0, 8))
            assert (
                curves.nngp.conditions[:, 1] < curves.nngp.conditions[:, 0] / 3
            ).all()

    def test_digits(self):
        x = ec.digit_problem(20, 1).inputs
        curves = self.measure(x, depths=(0, 8), width=512)
        assert (curves.nngp.conditions[:, 1] < curves.nngp.conditions[:, 0] / 5).all()

    def test_refusals(self):
        for bad in ((), (2, 1), (-1,), (1, 1)):
            with pytest.raises(ValueError, match="`depths` must be increasing"):
                self.measure(sphere(3, 3), depths=bad)
        with pytest.raises(ValueError, match="`depths` must be a whole number"):
            self.measure(sphere(3, 3), depths=(0, 1.5))
        with pytest.raises(ValueError, match="`draws` must be at least 1"):
            self.measure(sphere(3, 3), draws=0)
        with pytest.raises(ValueError, match="`x` must have shape"):
            self.measure(sphere(3, 3)[None])
        with pytest.raises(ValueError, match="`units` must be false"):
            self.measure(sphere(3, 3), tangent=True, units=True)


class TestWidths:
    def test_deviations_fall_as_the_root_of_the_width(self):
        # Sign, orthogonal inputs: K = I exactly, an off-diagonal entry has variance 1/m.
        widths = np.array([16, 64, 256, 1024])
        curves = ec.kernels_by_width(
            torch.eye(2, dtype=torch.float64),
            activation=torch.sign,
            widths=widths.tolist(),
            depth=1,
            draws=300,
            generator=torch_generator(7),
        )
        found = curves["nngp"].deviations[:, 0, 1]
        np.testing.assert_allclose(found, widths**-0.5, rtol=0.3)

    def test_slope_of_errors_that_fall_as_the_root_of_the_width(self):
        # Root mean squares of 300 normal numbers of deviation 1/sqrt(m).
        widths = np.array([16, 64, 256, 1024])
        drawn = numpy_generator(7).standard_normal((4, 300))
        value, standard_error = ec.error_slope(widths, drawn / widths[:, None] ** 0.5)
        # Six standard errors: a slope of -0.4 or -0.6 would be seen.
        assert standard_error < 0.1 / 6
        assert abs(value + 0.5) < 6 * standard_error

    def test_both_kernels(self):
        found = ec.kernels_by_width(
            torch.eye(2, dtype=torch.float64),
            activation=torch.relu,
            widths=(32, 256),
            depth=1,
            draws=200,
            generator=torch_generator(7),
        )
        for kind, diagonal in (("nngp", 0.5), ("ntk", 1.0)):
            error = found[kind].deviations[1, 0, 0] / 200**0.5
            assert abs(found[kind].means[1, 0, 0] - diagonal) < 6 * error

    def test_refuses_a_single_draw(self):
        with pytest.raises(ValueError, match="`draws` must be at least 2"):
            ec.kernels_by_width(
                torch.eye(2, dtype=torch.float64),
                activation=torch.relu,
                widths=(4,),
                depth=1,
                draws=1,
                generator=torch_generator(7),
            )

    @pytest.mark.parametrize(
        ("widths", "errors", "match"),
        [
            ((8, 16), [[1.0], [1.0]], "`errors` must be two or more of each"),
            ((8,), [[1.0, 2.0], [1.0, 2.0]], "`errors` must be two or more of each"),
            ((8, 8), [[1.0, 2.0], [1.0, 2.0]], "two different ones, with a"),
            ((8, 16), [[0.0, 0.0], [1.0, 2.0]], "two different ones, with a"),
            ((8, 16), [[math.inf, 1.0], [1.0, 2.0]], "two different ones, with a"),
            ((8, math.nan), [[1.0, 2.0], [1.0, 2.0]], "two different ones, with a"),
            ((0, 16), [[1.0, 2.0], [1.0, 2.0]], "two different ones, with a"),
        ],
    )
    def test_errors_without_a_slope(self, widths, errors, match):
        with pytest.raises(ValueError, match=match):
            ec.error_slope(widths, errors)


class TestChains:
    def run(self, **changed):
        options = {
            "rho": 0.6,
            "activation": ec.named("relu"),
            "width": 32,
            "depth": 3,
            "chains": 2000,
            "generator": torch_generator(7),
        } | changed
        return ec.pair_chains(options.pop("rho"), **options)

    def test_one_layer_is_the_dual_in_the_mean(self):
        # Sign: E rho' = (2 / pi) asin rho, unbiased at every width since all signs
        # have the same norm.
        runs = self.run(activation=torch.sign, depth=1)
        expected = 2 / math.pi * math.asin(0.6)
        assert abs(runs.means[1] - expected) < 6 * runs.standard_errors[1]
        assert runs.standard_errors[1] < 0.005

    @pytest.mark.parametrize("project", [True, False])
    def test_chains_are_distributed_as_networks(self, project):
        # Against weights, with the paper's projections written out.
        runs = self.run(project=project)
        network = FullyConnected.uniform(
            inputs=2, width=32, depth=3, activation=ec.named("relu")
        )
        params = network.init(replicates=2000, generator=torch_generator(8))
        h = torch.from_numpy(data.pair_inputs(0.6)).expand(2000, -1, -1)
        for weight in params[:3]:
            if project:
                h = h / h.norm(dim=-1, keepdim=True)
            h = ec.named("relu")(h @ weight.transpose(1, 2)) / 32**0.5
        u = h / h.norm(dim=-1, keepdim=True)
        rho = (u[:, 0] * u[:, 1]).sum(dim=-1).numpy()
        for f in (lambda v: v, lambda v: v**2):
            a, b = f(rho), f(runs.correlations[:, 3])
            error = math.sqrt((a.var() + b.var()) / 2000)
            assert abs(a.mean() - b.mean()) < 6 * error
        a, b = (h**2).sum(dim=-1)[:, 0].numpy(), runs.squared_norms[:, 3, 0]
        error = math.sqrt((a.var() + b.var()) / 2000)
        assert abs(a.mean() - b.mean()) < 6 * error

    @pytest.mark.parametrize("project", [True, False])
    def test_equal_and_opposite_inputs_stay_so(self, project):
        # Exactly: distances grow near 1, so an ulp would become a decorrelation.
        same = self.run(rho=1.0, depth=200, chains=50, project=project)
        assert (same.correlations == 1).all()
        odd = self.run(
            rho=-1.0, activation=torch.tanh, depth=200, chains=50, project=project
        )
        assert (odd.correlations == -1).all()

    def test_lengths(self):
        # ReLU halves the squared length in the mean at every layer.
        runs = self.run(activation=torch.relu)
        for which in (0, 1):
            values = runs.squared_norms[:, 3, which]
            error = values.std() / len(values) ** 0.5
            assert abs(values.mean() - 1 / 8) < 6 * error

    def test_odd_activations_decorrelate_others_keep_a_floor(self):
        deep = {"depth": 30, "project": True, "rho": 0.5, "width": 64, "chains": 10_000}
        odd = self.run(activation=torch.sign, **deep)
        # The rate is 2 / pi a layer: 1e-6 is left after 30.
        assert abs(odd.means[-1]) < 6 * odd.standard_errors[-1] + 1e-5
        for even in ("relu", "hermite2"):
            runs = self.run(activation=ec.named(even), **deep)
            # What is left does not go away with depth: order 1 / width, here above 13
            # standard errors.
            for layer in (15, 30):
                assert runs.means[layer] > 4 * runs.standard_errors[layer]
                assert 0.5 / 64 < runs.means[layer] < 4 / 64

    def test_chunks_do_not_change_the_law(self, monkeypatch):
        monkeypatch.setattr(chains, "CHUNK", 700)
        runs = self.run(chains=101)
        assert runs.correlations.shape == (101, 4)
        assert len(np.unique(runs.correlations[:, 3])) == 101

    def test_dead_representations_are_nan(self):
        runs = self.run(activation=torch.relu, width=1, depth=6, chains=50)
        assert np.isnan(runs.correlations[:, -1]).any()

    @pytest.mark.parametrize(
        ("factor", "dtype"),
        [(1e-100, torch.float64), (1e90, torch.float64), (1e12, torch.float32)],
    )
    def test_correlations_outlive_products_of_squared_norms(self, factor, dtype):
        usual, extreme = (
            self.run(activation=lambda z, by=by: by * z, depth=1, dtype=dtype)
            for by in (1.0, factor)
        )
        # Two sums of 32 products, each rounded.
        np.testing.assert_allclose(
            extreme.correlations,
            usual.correlations,
            rtol=0,
            atol=64 * torch.finfo(dtype).eps,
        )

    def test_gram_chain_is_distributed_as_networks(self):
        x = torch.from_numpy(sphere(3, 3))
        grams = list(
            ec.gram_chain(
                x @ x.T,
                activation=torch.tanh,
                width=20,
                depth=2,
                generator=torch_generator(7),
                draws=2000,
            )
        )[-1]
        network = FullyConnected(widths=(3, 20, 20, 1), activation=torch.tanh)
        h = network.features(
            network.init(replicates=2000, generator=torch_generator(8)), x
        )[-1]
        other = h @ h.transpose(1, 2)
        error = ((grams.var(dim=0) + other.var(dim=0)) / 2000).sqrt()
        # Six entries, six standard errors.
        assert bool(((grams.mean(dim=0) - other.mean(dim=0)).abs() < 6 * error).all())
        assert float(error.max()) < 0.005

    def test_a_gram_chain_holds_what_it_says(self):
        """Twice the units: what an activation is given, and what it returns."""
        seen: list[int] = []

        def counting(z: torch.Tensor) -> torch.Tensor:
            held = {
                t.untyped_storage().data_ptr()
                for t in gc.get_objects()
                if type(t) is torch.Tensor and t.numel() == z.numel()
            }
            seen.append(len(held))
            return torch.relu(z)

        start = torch.eye(3).double()
        given = {"width": 4099, "depth": 3, "generator": torch_generator(7)}
        for _ in ec.gram_chain(start, activation=counting, draws=2, **given):
            pass
        assert seen == [1, 1, 1]

    def test_equal_inputs_of_a_gram_chain_stay_equal(self):
        # Among others; with this slope at 0 all that differs grows apart in 30 layers.
        start = torch.tensor([[1.0, 1.0, 0.5], [1.0, 1.0, 0.5], [0.5, 0.5, 1.0]])
        *_, last = ec.gram_chain(
            start.double(),
            activation=ec.named("tanh3"),
            width=64,
            depth=200,
            generator=torch_generator(7),
        )
        correlations = ec.normalised(last)[0]
        assert correlations[0, 1] == pytest.approx(1.0, abs=1e-12)
        assert abs(correlations[0, 2]) < 0.9

    def test_layer_statistics_are_the_definition(self):
        network = FullyConnected(widths=(2, 6, 5, 1), activation=torch.tanh)
        x = torch.tensor([[3.0, 0.0], [0.6, 0.8]], dtype=torch.float64)
        got = ec.layer_statistics(network, x, draws=2, generator=torch_generator(7))
        assert got.squared_norms.shape == (2, 3, 2)
        params = network.init(generator=torch_generator(7))
        for layer, h in enumerate(network.features(params, x)):
            rows = h.reshape(2, -1).numpy()
            norms = np.linalg.norm(rows, axis=1)
            np.testing.assert_allclose(
                got.squared_norms[0, layer], norms**2, rtol=1e-13
            )
            np.testing.assert_allclose(
                got.correlations[0, layer],
                rows @ rows.T / np.outer(norms, norms),
                rtol=1e-12,
            )

    @pytest.mark.parametrize(
        ("factor", "dtype"),
        [(2.0**-100, torch.float32), (2.0**100, torch.float32), (2.0**-600, None)],
    )
    def test_layer_statistics_of_any_length(self, factor, dtype):
        network = FullyConnected(widths=(2, 6, 5, 1), activation=torch.relu)
        x = torch.tensor([[3.0, 0.0], [0.6, 0.8]], dtype=dtype or torch.float64)
        usual, scaled = (
            ec.layer_statistics(network, y, draws=2, generator=torch_generator(7))
            for y in (x, factor * x)
        )
        np.testing.assert_array_equal(
            scaled.squared_norms, factor**2 * usual.squared_norms
        )
        np.testing.assert_array_equal(scaled.correlations, usual.correlations)

    def test_norms_of_tanh_networks_converge(self):
        # Normalised tanh brings lengths from 2 and 1/2 to near 1 within ten layers,
        # to a few / sqrt(width).
        network = FullyConnected.uniform(
            inputs=2, width=1024, depth=10, activation=ec.named("tanh")
        )
        x = data.pair_inputs(0.9) * np.sqrt([[2.0], [0.5]])
        got = ec.layer_statistics(
            network, torch.from_numpy(x), draws=4, generator=torch_generator(7)
        )
        assert (abs(got.squared_norms[:, 0] - [2.0, 0.5]) < 1e-12).all()
        assert (abs(got.squared_norms[:, -1] - 1) < 0.15).all()

    def test_refusals(self):
        for changed, match in (
            ({"rho": 1.01}, "`rho` must lie in"),
            ({"rho": math.nan}, "`rho` must lie in"),
            ({"width": 0}, "`width` must be at least 1"),
            ({"depth": 0}, "`depth` must be at least 1"),
            ({"chains": 0}, "`chains` must be at least 1"),
        ):
            with pytest.raises(ValueError, match=match):
                self.run(**changed)
        options = {"activation": torch.tanh, "width": 2, "depth": 1}
        eye = torch.eye(2, dtype=torch.float64)
        with pytest.raises(ValueError, match="`start` must have shape"):
            next(ec.gram_chain(eye[0], **options, generator=torch_generator(7)))
        for bad, match in (
            (eye / 0, "must be finite"),
            (-eye, "positive semi-definite, .* least eigenvalue is -1"),
            (eye + torch.ones(2, 2).triu(1), "entries differ by 1 from their mirror"),
        ):
            with pytest.raises(ValueError, match=f"`start` .*{match}"):
                next(ec.gram_chain(bad, **options, generator=torch_generator(7)))
        with pytest.raises(ValueError, match="`draws` must be at least 1"):
            next(ec.gram_chain(eye, **options, generator=torch_generator(7), draws=0))
        network = FullyConnected(widths=(2, 3, 1), activation=torch.tanh)
        with pytest.raises(ValueError, match="`draws` must be at least 1"):
            ec.layer_statistics(network, eye, draws=0, generator=torch_generator(7))
        with pytest.raises(ValueError, match="`x` must be finite"):
            ec.layer_statistics(network, eye / 0, draws=1, generator=torch_generator(7))
        usual = FullyConnected(widths=(2, 3, 1), parametrisation="standard")
        with pytest.raises(ValueError, match="must be in the NTK parametrisation"):
            ec.layer_statistics(usual, eye, draws=1, generator=torch_generator(7))


class TestInterpolation:
    def test_against_the_pseudo_inverse(self):
        phi, y = sphere(6, 30), sphere(6, 2, "y")
        other = sphere(4, 30, "other")
        fit = ec.minimum_norm(phi @ phi.T, y, cross=other @ phi.T)
        theta = np.linalg.pinv(phi) @ y
        np.testing.assert_allclose(fit.predictions, other @ theta, atol=1e-13)
        np.testing.assert_allclose(
            fit.squared_norms, (theta**2).sum(axis=0), rtol=1e-12
        )
        assert fit.residual < 1e-13
        values = np.linalg.svd(phi, compute_uv=False) ** 2
        assert fit.condition == pytest.approx(values[0] / values[-1], rel=1e-12)

    def test_digits_are_learnt(self):
        problem = ec.digit_problem(300, 200)
        # exp(x.y - 1) is a kernel of unit diagonal.
        k = np.exp(problem.inputs @ problem.inputs.T - 1)
        cross = np.exp(problem.test_inputs @ problem.inputs.T - 1)
        fit = ec.minimum_norm(k, problem.targets, cross=cross)
        assert fit.residual < 1e-10
        # Chance is 0.1.
        assert ec.accuracy(fit.predictions, problem.test_labels) > 0.7

    def test_digit_problem(self):
        problem = ec.digit_problem(50, 30, centre=True)
        np.testing.assert_allclose((problem.inputs**2).sum(axis=1), 1, rtol=1e-12)
        assert problem.targets.argmax(axis=1).tolist() == problem.labels.tolist()
        np.testing.assert_allclose(np.unique(problem.targets), [-0.1, 0.9])
        np.testing.assert_allclose(problem.test_targets.sum(axis=1), 0, atol=1e-15)
        assert problem.source["train"]["examples"] == 50
        assert problem.inputs.min() < 0

    def test_digits_are_counted_in_whole_numbers(self):
        with pytest.raises(ValueError, match="`n` must be a whole number"):
            ec.digit_problem(2.5, 10)  # pyright: ignore[reportArgumentType]

    def test_noise(self):
        y = ec.with_label_noise(
            np.zeros((500, 2)), deviation=3.0, generator=numpy_generator(7)
        )
        # Six standard errors of a variance from 1,000 numbers.
        assert abs(y.var() / 9 - 1) < 6 * math.sqrt(2 / 1000)

    @pytest.mark.parametrize(
        ("changed", "match"),
        [
            ({"kernel": np.ones((2, 2))}, "`kernel` must be positive definite"),
            ({"kernel": [[1.0, 0.5], [0.0, 1.0]]}, "`kernel` must be symmetric"),
            ({"kernel": np.eye(3)[:2]}, "`kernel` must be finite and fit"),
            ({"kernel": np.eye(2) * np.nan}, "`kernel` must be finite"),
            ({"targets": [1.0, 2.0]}, "`targets` must be finite and fit 2"),
            ({"cross": np.ones((1, 3))}, "`cross` must be finite and fit 2"),
        ],
    )
    def test_refusals(self, changed, match):
        given = {
            "kernel": np.eye(2),
            "targets": np.ones((2, 1)),
            "cross": np.ones((1, 2)),
        } | changed
        with pytest.raises(ValueError, match=match):
            ec.minimum_norm(given["kernel"], given["targets"], cross=given["cross"])

    def test_other_refusals(self):
        with pytest.raises(ValueError, match="`labels` must have one entry"):
            ec.accuracy(np.eye(2), [0])
        # The largest of them is the first that is none.
        with pytest.raises(ValueError, match="`predictions` must be numbers, but 1 of"):
            ec.accuracy([[np.nan, 1.0]], [0])
        with pytest.raises(ValueError, match="`kernel` must be finite and fit"):
            ec.minimum_norm(3.0, [[1.0]], cross=[[1.0]])
        with pytest.raises(ValueError, match="`deviation` must not be negative"):
            ec.with_label_noise([[0.0]], deviation=-1.0, generator=numpy_generator(7))
