"""Every public function of MMD initialisation refuses what it can't answer."""

import math

import numpy as np
import pytest

from theory import mmd

NAN = math.nan
X = [[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]]
Y = [[0.3, 0.7], [0.6, 0.4]]
SAME = [[0.5, 0.5]] * 4
W, B = [np.eye(3), np.ones((2, 3))], [np.zeros(3), np.zeros(2)]
ONE_CLASS = "at least 2 classes, got 1. One probability p of two classes stands for"
GENERATOR = np.random.default_rng(0)
PART = mmd.SubExponential(1.0, 1.0)

REFUSED = [
    (f"{name}: .*{text}", call)
    for name, text, call in [
        (
            "simplex_sample",
            "`classes` must be at least 2, got 1",
            lambda: mmd.simplex_sample(3, 1, generator=GENERATOR),
        ),
        (
            "simplex_sample",
            "`count` must be at least 0",
            lambda: mmd.simplex_sample(-1, 2, generator=GENERATOR),
        ),
        ("simplex_mean", "`classes` must be at least 2", lambda: mmd.simplex_mean(1)),
        (
            "simplex_covariance",
            "`classes` must be a whole number",
            lambda: mmd.simplex_covariance(2.5),
        ),
        ("simplex_cdf", r"`t` must lie in \[0, 1\]", lambda: mmd.simplex_cdf(1.5, 3)),
        (
            "kernel_bandwidths",
            "`median` must be positive, got 0.0",
            lambda: mmd.kernel_bandwidths(0.0),
        ),
        (
            "mixture_kernel",
            "`bandwidths` must be positive",
            lambda: mmd.mixture_kernel(X, Y, [1.0, 0.0]),
        ),
        (
            "mixture_kernel",
            "`bandwidths` must be a number or a list",
            lambda: mmd.mixture_kernel(X, Y, []),
        ),
        (
            "median_bandwidth",
            "6 have distance 0: .* Perturb the models more",
            lambda: mmd.median_bandwidth(SAME[:2], SAME[:2]),
        ),
        (
            "median_bandwidth",
            "`x` and `y` must keep the result within float64",
            lambda: mmd.median_bandwidth([[1.5e308, 0.0]], [[-1.5e308, 0.0]]),
        ),
        (
            "median_bandwidth",
            "more than half of the 10 pairs",
            lambda: mmd.median_bandwidth(SAME, Y[:1]),
        ),
        (
            "median_bandwidth",
            "`x` must have shape .points, classes., got",
            lambda: mmd.median_bandwidth([0.2, 0.5], Y),
        ),
        (
            "median_bandwidth",
            "`rule` must be one of 'average', 'lower', got 'upper'",
            lambda: mmd.median_bandwidth(X, Y, rule="upper"),
        ),
        (
            "mmd_squared",
            ONE_CLASS,
            lambda: mmd.mmd_squared([[0.2], [0.3]], [[0.1], [0.4]], 1.0),
        ),
        (
            "mmd_squared",
            "`x` must hold at least 2 points, got 1. .* biased estimator",
            lambda: mmd.mmd_squared(X[:1], Y, 1.0),
        ),
        (
            "mmd_squared",
            "`y` must hold at least 1 points, got 0",
            lambda: mmd.mmd_squared(X, np.empty((0, 2)), 1.0, "biased"),
        ),
        (
            "mmd_squared",
            "`y` must have the 2 classes of `x`, got 3",
            lambda: mmd.mmd_squared(X, np.eye(3), 1.0),
        ),
        (
            "mmd_squared",
            "`x` must be finite, but 1 of 4 entries",
            lambda: mmd.mmd_squared([[0.2, NAN], [0.1, 0.9]], Y, 1.0),
        ),
        (
            "mmd_squared",
            "`estimator` must be one of",
            lambda: mmd.mmd_squared(X, Y, 1.0, "U"),
        ),
        (
            "estimator_gap",
            "`x` must hold at least 2 points",
            lambda: mmd.estimator_gap(X[:1], Y, 1.0),
        ),
        (
            "segment_kernel_mean",
            "`gamma` must be positive",
            lambda: mmd.segment_kernel_mean([1.0, -1.0]),
        ),
        (
            "segment_embedding",
            r"`p` must lie in \[0, 1\]",
            lambda: mmd.segment_embedding(-0.1, 1.0),
        ),
        (
            "segment_embedding",
            "`p` and `gamma` must broadcast",
            lambda: mmd.segment_embedding([0.1, 0.2], [1.0, 2.0, 3.0]),
        ),
        (
            "segment_embedding_derivative",
            "`gamma` must be finite",
            lambda: mmd.segment_embedding_derivative(0.1, math.inf),
        ),
        (
            "segment_point_mmd",
            "`gamma` must be positive",
            lambda: mmd.segment_point_mmd(0.1, 0.0),
        ),
        (
            "segment_mmd",
            "`p` must be a list of at least 2 probabilities",
            lambda: mmd.segment_mmd([0.1], 1.0),
        ),
        ("segment_mmd", "`p` must be a list", lambda: mmd.segment_mmd(X, 1.0)),
        (
            "segment_mmd_gradient",
            r"`p` must lie in \[0, 1\]",
            lambda: mmd.segment_mmd_gradient([0.1, 1.1], 1.0),
        ),
        (
            "segment_null_bias",
            "`samples` must be at least 1",
            lambda: mmd.segment_null_bias(3, 0, 1.0),
        ),
        (
            "segment_null_variance_ratio",
            "`predictions` must be at least 2",
            lambda: mmd.segment_null_variance_ratio(1, 5),
        ),
        (
            "noise_rule",
            "`widths` must end in at least 2 classes, got 1. .*logit",
            lambda: mmd.noise_rule((784, 10, 1)),
        ),
        (
            "noise_rule",
            "`scale` must be at least 0, got -0.5",
            lambda: mmd.noise_rule((3, 2), -0.5),
        ),
        ("noise_rule", "`widths` must list", lambda: mmd.noise_rule((3,))),
        (
            "noise_rule",
            "`widths` must be at least 1",
            lambda: mmd.noise_rule((3, 0, 2)),
        ),
        (
            "ball_mean_square",
            "`radius` must be at least 0",
            lambda: mmd.ball_mean_square(-1.0, 3),
        ),
        (
            "total_loss",
            "`degeneracy_weight` must be at least 0, got -0.4",
            lambda: mmd.total_loss(0.1, 0.1, 0.1, degeneracy_weight=-0.4),
        ),
        (
            "total_loss",
            "`detachment_weight` must be at least 0, got -1.0",
            lambda: mmd.total_loss(0.1, 0.1, 0.1, detachment_weight=-1.0),
        ),
        (
            "total_loss",
            "`degeneracy_weight` and `detachment_weight` must keep the result within",
            lambda: mmd.total_loss(1e308, 1e308, 0.0, degeneracy_weight=1.0),
        ),
        (
            "total_loss",
            "`uniformity` must be finite",
            lambda: mmd.total_loss(NAN, 0.1, 0.1),
        ),
        (
            "binary_task_count",
            "`classes` must be at least 2",
            lambda: mmd.binary_task_count(1),
        ),
        (
            "SubExponential",
            "`nu_squared` must be positive",
            lambda: mmd.SubExponential(0.0, 1.0),
        ),
        (
            "SubExponential.scaled",
            "`factor` must be positive",
            lambda: PART.scaled(-1.0),
        ),
        (
            "SubExponential.log_moment_bound",
            r"`lam` must lie in \(-1, 1\)",
            lambda: PART.log_moment_bound(1.0),
        ),
        (
            "SubExponential.tail_bound",
            "`t` must be at least 0",
            lambda: PART.tail_bound(-1.0),
        ),
        (
            "sub_exponential_sum",
            "`parts` must not be empty",
            lambda: mmd.sub_exponential_sum([]),
        ),
        (
            "chi_square_log_moment",
            "`lam` must be below 1/2, got 0.5. The moment is infinite",
            lambda: mmd.chi_square_log_moment(0.5),
        ),
        (
            "tail_bound",
            "`variances` must be positive, but 1 of 2 entries",
            lambda: mmd.tail_bound(1.0, [1.0, 0.0]),
        ),
        (
            "tail_bound",
            "`counts` must have one entry a variance",
            lambda: mmd.tail_bound(1.0, [1.0, 2.0], 3),
        ),
        (
            "tail_bound",
            "`counts` must be positive whole numbers",
            lambda: mmd.tail_bound(1.0, [1.0], [1.5]),
        ),
        (
            "tail_bound",
            "`form` must be one of",
            lambda: mmd.tail_bound(1.0, 1.0, form="x"),
        ),
        ("norm_tail", "`radius` must be at least 0", lambda: mmd.norm_tail(-1.0, 3)),
        (
            "vacuous_radius",
            "`variances` must be a number or a list",
            lambda: mmd.vacuous_radius(np.empty((0,))),
        ),
        (
            "least_square_norm",
            "`classes` must be at least 2",
            lambda: mmd.least_square_norm(0),
        ),
        (
            "coverage_radius",
            "`form` must be one of 'printed', 'sharp'",
            lambda: mmd.coverage_radius(3, form="loose"),
        ),
        (
            "coverage_bound",
            "`distance` must be at least 0",
            lambda: mmd.coverage_bound([0.1, -0.1], 3),
        ),
        (
            "degeneracy_loss",
            "`predictions` must have at least 2 classes, got 1",
            lambda: mmd.degeneracy_loss(np.ones((2, 3, 1))),
        ),
        (
            "degeneracy_loss",
            "`predictions` must have shape .perturbations, inputs, classes., none",
            lambda: mmd.degeneracy_loss(np.ones((2, 0, 3))),
        ),
        (
            "degeneracy_loss",
            "`predictions` must sum to 1 over classes, .*Apply softmax",
            lambda: mmd.degeneracy_loss(np.ones((2, 3, 2))),
        ),
        (
            "degeneracy_loss",
            "`predictions` must be at least 0",
            lambda: mmd.degeneracy_loss([[[1.5, -0.5]]]),
        ),
        (
            "degeneracy_floor",
            "`classes` must be at least 2",
            lambda: mmd.degeneracy_floor(1),
        ),
        (
            "segment_degeneracy_loss",
            "`p` must have shape .perturbations, inputs.",
            lambda: mmd.segment_degeneracy_loss([0.1, 0.2]),
        ),
        (
            "jacobian_row_moments",
            "`weight_variance` must be positive",
            lambda: mmd.jacobian_row_moments(3, 0.0),
        ),
        (
            "jacobian_row_moments",
            r"`active` must lie in \[0, 1\]",
            lambda: mmd.jacobian_row_moments(3, active=1.5),
        ),
        (
            "jacobian_chain",
            "`start` must be one of 'he', 'xavier'",
            lambda: mmd.jacobian_chain((3, 2), "glorot"),
        ),
        (
            "detachment_limit",
            "`widths` must end in at least 2 classes",
            lambda: mmd.detachment_limit((3, 1)),
        ),
        (
            "layer_jacobians",
            r"`weights\[1\]` must have shape \(n, 3\), got \(2, 4\). .*fully connected",
            lambda: mmd.layer_jacobians(
                [np.eye(3), np.ones((2, 4))], B, np.ones((1, 3))
            ),
        ),
        (
            "layer_jacobians",
            r"`biases\[1\]` must have shape \(2,\)",
            lambda: mmd.layer_jacobians(W, [np.zeros(3), np.zeros(3)], np.ones((1, 3))),
        ),
        (
            "layer_jacobians",
            r"`x` must have shape \(inputs, n_0\)",
            lambda: mmd.layer_jacobians(W, B, np.empty((0, 3))),
        ),
        (
            "layer_jacobians",
            "`biases` must have one entry a layer, got 1 for 2",
            lambda: mmd.layer_jacobians(W, B[:1], np.ones((1, 3))),
        ),
        (
            "layer_jacobians",
            "`weights` must end in at least 2 classes",
            lambda: mmd.layer_jacobians([np.ones((1, 3))], [[0.0]], np.ones((1, 3))),
        ),
        (
            "detachment_loss",
            "`jacobians` must have shapes .inputs, classes, n_l.",
            lambda: mmd.detachment_loss([np.ones((1, 2, 3)), np.ones((2, 2, 3))]),
        ),
        (
            "detachment_loss",
            "`jacobians` must have at least 2 classes, got 1",
            lambda: mmd.detachment_loss([np.ones((1, 1, 3))]),
        ),
        (
            "segment_mmd_gradient",
            "`bandwidths` must keep the result within float64",
            lambda: mmd.segment_mmd_gradient([0.0, 1e-310], 1e-310),
        ),
        (
            "detachment_loss",
            "`jacobians` must have shapes",
            lambda: mmd.detachment_loss([]),
        ),
    ]
]


@pytest.mark.parametrize(("message", "call"), REFUSED)
def test_bad_input_is_named(message, call):
    with pytest.raises(ValueError, match=message):
        call()


def test_duplicate_rows_are_handled():
    x = [[0.5, 0.5]] * 3 + [[0.1, 0.9]]
    y = [[0.5, 0.5], [0.2, 0.8], [0.4, 0.6], [0.9, 0.1]]
    gamma = mmd.median_bandwidth(x, y)
    assert gamma > 0.0
    assert math.isfinite(mmd.mmd_squared(x, y, mmd.kernel_bandwidths(gamma)))
