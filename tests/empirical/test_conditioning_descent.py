import numpy as np
import pytest
import torch
from drawing import normal

from empirical.conditioning import descent
from empirical.conditioning.descent import (
    Curves,
    _TopLayer,
    step_sizes,
    train_all_layers,
    train_top_layer,
)
from empirical.conditioning.rates import fitted_rates, slowest_rates, steps_to
from empirical.kernels import ntk
from empirical.networks import FullyConnected
from empirical.randomness import torch_generator
from empirical.testbed.loop import by_autograd
from empirical.testbed.stack import Stack


class TestStepSizes:
    def test_both_rules(self):
        k = np.diag([1.0, 2.0, 5.0])
        assert step_sizes(k).item() == pytest.approx(3 / 5, rel=1e-14)
        assert step_sizes(k, rule="balanced").item() == pytest.approx(1, rel=1e-14)
        assert step_sizes(np.stack([k, 2 * k])).shape == (2,)

    def test_refusals(self):
        with pytest.raises(ValueError, match="`kernels` must be finite"):
            step_sizes([[np.nan]])
        with pytest.raises(ValueError, match=r"must be symmetric, .* differ by 0\.5"):
            step_sizes([[1.0, 0.5], [0.0, 1.0]])
        with pytest.raises(ValueError, match="`kernels` must be finite and of shape"):
            step_sizes([1.0, 2.0])
        # Neither infinite steps nor steps uphill.
        for kernels in (np.zeros((2, 2)), -np.eye(2)):
            with pytest.raises(
                ValueError, match="must be positive semi-definite and no"
            ):
                step_sizes(kernels)
        with pytest.raises(ValueError, match=r"finite and of shape \(..., n, n\)"):
            step_sizes(np.zeros((0, 0)))
        with pytest.raises(ValueError, match="`rule` must be one of largest, balanced"):
            step_sizes([[1.0]], rule="best")  # pyright: ignore[reportArgumentType]


class TestTopLayer:
    features = normal(3, 6, 20, name="features")
    targets = normal(6, 2, name="targets")

    def test_losses_are_those_of_the_residual_recursion(self):
        # The residual obeys r <- (I - step K / n) r, whatever the weights.
        steps, sizes = 12, np.array([0.05, 0.1, 0.02])
        curves = train_top_layer(self.features, self.targets, step=sizes, steps=steps)
        for run in range(3):
            phi = self.features[run].numpy()
            r, kernel = -self.targets.numpy(), phi @ phi.T
            for t in range(steps + 1):
                # Twelve products of norm below one: 1e-13 covers their rounding.
                assert curves.losses[run, t] == pytest.approx(
                    (r**2).sum() / 12, rel=1e-12
                )
                r = r - sizes[run] / 6 * kernel @ r

    def test_loss_is_within_the_exponential_of_the_condition_number(self):
        kernels = self.features @ self.features.transpose(1, 2)
        curves = train_top_layer(
            self.features, self.targets, step=step_sizes(kernels), steps=200
        )
        values = np.linalg.eigvalsh(kernels.numpy())
        floor = 2 * values[:, 0] / values[:, -1]
        assert (slowest_rates(curves) >= floor * (1 - 1e-9)).all()
        # Late, only the slowest direction is left: its rate is known exactly.
        late = train_top_layer(
            self.features, self.targets, step=step_sizes(kernels), steps=600
        )
        exact = -2 * np.log1p(-values[:, 0] / values[:, -1])
        got = fitted_rates(late, above=1e-24, below=1e-10)
        np.testing.assert_allclose(got, exact, rtol=0.02)

    def test_the_readout_starts_at_zero(self):
        curves = train_top_layer(self.features, self.targets, step=1e-3, steps=1)
        zero = float((self.targets**2).sum() / 12)
        np.testing.assert_allclose(curves.losses[:, 0], zero, rtol=1e-13)

    def test_its_gradient_is_that_of_autograd(self):
        task = _TopLayer(self.features, self.targets.expand(3, -1, -1))
        stack = Stack(
            [normal(3, self.targets.shape[-1], 20, name="readout")], rates=0.1
        )
        losses, (slope,) = task.losses_and_slopes(stack, None)
        wanted, (other,) = by_autograd(task, stack, None)
        torch.testing.assert_close(losses, wanted)
        torch.testing.assert_close(slope, other)

    def test_only_the_divergent_run_stops(self):
        sizes = np.array([0.05, 1e3, 0.05])
        curves = train_top_layer(self.features, self.targets, step=sizes, steps=50)
        alone = train_top_layer(
            self.features[[0, 2]], self.targets, step=0.05, steps=50
        )
        assert curves.diverged.tolist() == [False, True, False]
        assert 1 <= curves.diverged_at[1] <= 5
        assert np.isnan(curves.losses[1, curves.diverged_at[1] :]).all()
        assert np.isfinite(curves.losses[1, : curves.diverged_at[1]]).all()
        np.testing.assert_allclose(curves.losses[[0, 2]], alone.losses, rtol=1e-12)
        assert slowest_rates(curves)[1] == -np.inf
        assert np.isnan(fitted_rates(curves)[1])
        assert steps_to(curves, 0.5)[1] == -1

    def test_all_diverge(self):
        curves = train_top_layer(self.features, self.targets, step=1e3, steps=50)
        assert curves.diverged.all()

    def test_overflow_to_nan_is_divergence(self, monkeypatch):
        monkeypatch.setattr(descent, "EXPLODED", np.inf)
        curves = train_top_layer(self.features, self.targets, step=1e300, steps=9)
        assert curves.diverged.all()

    def test_starting_at_the_minimum(self):
        curves = train_top_layer(
            self.features, torch.zeros(6, 1).double(), step=0.1, steps=5
        )
        assert (curves.losses == 0).all()
        assert not curves.diverged.any()
        assert np.isnan(slowest_rates(curves)).all()
        assert np.isnan(fitted_rates(curves)).all()
        assert steps_to(curves, 0.5).tolist() == [0, 0, 0]

    def test_recorded_times(self):
        every = train_top_layer(self.features, self.targets, step=0.05, steps=10)
        some = train_top_layer(
            self.features, self.targets, step=0.05, steps=10, every=4
        )
        assert some.steps.tolist() == [0, 4, 8, 10]
        assert np.array_equal(some.losses, every.losses[:, some.steps])

    @pytest.mark.parametrize(
        ("changed", "match"),
        [
            ({"features": torch.zeros(6, 20)}, "`features` must have shape"),
            ({"features": torch.zeros(3, 0, 20)}, "`features` must have shape"),
            ({"features": torch.full((3, 6, 20), np.nan)}, "`features` must be finite"),
            ({"targets": torch.zeros(6)}, "`targets` must have shape"),
            ({"targets": torch.zeros(5, 1).double()}, "`targets` must have shape"),
            ({"targets": torch.zeros(6, 1)}, "`targets` must be finite and of dtype"),
            ({"step": 0.0}, "`step` must be positive"),
            ({"step": np.nan}, "`step` must be positive"),
            ({"step": [0.1, 0.1]}, "`step` must be positive and finite, one for each"),
            ({"steps": 0}, "`steps` must be at least 1"),
        ],
    )
    def test_refusals(self, changed, match):
        given = {
            "features": self.features,
            "targets": self.targets,
            "step": 0.1,
            "steps": 2,
        } | changed
        with pytest.raises(ValueError, match=match):
            train_top_layer(given.pop("features"), given.pop("targets"), **given)


class TestAllLayers:
    network = FullyConnected(widths=(4, 12, 10, 2), activation=torch.tanh)
    x = normal(5, 4, name="x") / 2
    targets = normal(5, 2, name="y")

    def params(self, draws=3):
        return self.network.init(replicates=draws, generator=torch_generator(7))

    def test_one_step_is_the_gradient_by_differences(self):
        params, step = self.params(1), 1e-2
        curves = train_all_layers(
            self.network, params, self.x, self.targets, step=step, steps=1
        )

        def loss(weights):
            gap = self.network.apply(weights, self.x)[0] - self.targets
            return float((gap**2).sum() / 10)

        moved = []
        for layer, weight in enumerate(params):
            slope = torch.zeros_like(weight)
            for index in np.ndindex(*weight.shape):
                ends = []
                for h in (1e-5, -1e-5):
                    other = [w.clone() for w in params]
                    other[layer][index] += h
                    ends.append(loss(other))
                slope[index] = (ends[0] - ends[1]) / 2e-5
            moved.append(weight - step * slope)
        assert curves.losses[0, 0] == pytest.approx(loss(params), rel=1e-14)
        # Central differences: h^2 = 1e-10, times step 1e-2; rounding 1e-16 / h = 1e-11.
        assert curves.losses[0, 1] == pytest.approx(loss(moved), rel=1e-9)

    def test_stacked_runs_are_the_runs_alone(self):
        params = self.params()
        sizes = np.array([0.3, 0.2, 0.1])
        curves = train_all_layers(
            self.network, params, self.x, self.targets, step=sizes, steps=30
        )
        for run in range(3):
            one = train_all_layers(
                self.network,
                tuple(p[run, None] for p in params),
                self.x,
                self.targets,
                step=sizes[run],
                steps=30,
            )
            np.testing.assert_allclose(curves.losses[run], one.losses[0], rtol=1e-9)

    def test_the_weights_given_stay(self):
        params = self.params()
        copies = [p.clone() for p in params]
        train_all_layers(self.network, params, self.x, self.targets, step=0.1, steps=3)
        assert all(torch.equal(a, b) for a, b in zip(params, copies, strict=True))
        assert not any(p.requires_grad for p in params)

    @pytest.mark.parametrize("own", [False, True])
    def test_all_diverge(self, own):
        params = self.network.init(replicates=2, generator=torch_generator(7))
        x = self.x.expand(2, -1, -1) if own else self.x
        curves = train_all_layers(
            self.network, params, x, self.targets, step=1e6, steps=200
        )
        assert curves.diverged.all()

    def test_only_the_divergent_run_stops(self):
        params = self.params()
        curves = train_all_layers(
            self.network,
            params,
            self.x,
            self.targets,
            step=[0.1, 1e6, 0.1],
            steps=20,
        )
        assert curves.diverged.tolist() == [False, True, False]
        assert np.isfinite(curves.losses[[0, 2]]).all()

    def test_wide_networks_follow_their_tangent_kernel(self):
        # Linearised, the residual obeys r <- (I - step T / n) r. The kernel moves by
        # O(1 / sqrt(width)): sixteen times as wide, losses are a quarter as far off.
        y, gaps = self.targets[:, :1], []
        for width in (256, 4096):
            network = FullyConnected(widths=(4, width, 1), activation=torch.tanh)
            params = network.init(replicates=4, generator=torch_generator(7))
            kernels = ntk(network, params, self.x).numpy()
            steps = step_sizes(kernels, rule="balanced")
            # From the zero function: that changes no tangent kernel.
            goal = y + network.apply(params, self.x)
            curves = train_all_layers(
                network, params, self.x, goal, step=steps, steps=20
            )
            r, linear = -y.numpy() * np.ones((4, 1, 1)), []
            for _ in curves.steps:
                linear.append((r**2).sum(axis=(1, 2)) / 10)
                r = r - steps[:, None, None] / 5 * kernels @ r
            assert (curves.losses[:, -1] < 0.1 * curves.losses[:, 0]).all()
            gaps.append(np.abs(curves.losses - np.transpose(linear)).max())
        assert gaps[1] < 0.5 * gaps[0]

    def test_refusals(self):
        with pytest.raises(ValueError, match="`targets` must have 2 columns"):
            train_all_layers(
                self.network,
                self.params(),
                self.x,
                self.targets[:, :1],
                step=0.1,
                steps=1,
            )
        with pytest.raises(ValueError, match="`x` must be finite"):
            train_all_layers(
                self.network,
                self.params(),
                self.x / 0.0,
                self.targets,
                step=0.1,
                steps=1,
            )
        with pytest.raises(ValueError, match="`step` must be positive"):
            train_all_layers(
                self.network, self.params(), self.x, self.targets, step=-1.0, steps=1
            )


def test_rates_refuse():
    eye = torch.eye(3, dtype=torch.float64)
    curves = train_top_layer(eye[None], eye, step=1.0, steps=3)
    with pytest.raises(ValueError, match="`fraction` must lie in"):
        steps_to(curves, 1.0)
    with pytest.raises(ValueError, match="`above` and `below` must satisfy"):
        fitted_rates(curves, above=0.1, below=0.1)


def test_slowest_rate_is_the_smallest_of_all_times():
    # Rates 1, 3/2 and 1/2 to the times 1, 2, 4; the last loss is rounding.
    curves = Curves(
        steps=np.array([0, 1, 2, 4, 5]),
        losses=2.0 * np.exp([[0.0, -1.0, -3.0, -2.0, -100.0]]),
        step_sizes=np.ones(1),
        diverged_at=np.array([-1]),
    )
    assert slowest_rates(curves).item() == pytest.approx(0.5, rel=1e-14)
    assert steps_to(curves, 0.1).tolist() == [2]
