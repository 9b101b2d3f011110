"""Every public function of square loss refuses what it can't answer, and says what."""

import math

import numpy as np
import pytest

from theory import square_loss as sl

NAN = math.nan
F, Y = [0.5, -0.2], [1, -1]
V = [np.array([[0.6, 0.8], [0.0, 0.0]]), np.array([[1.0, 0.0]])]
X = np.eye(2)
EVEN = [[1.0, 0.3], [1.0, 0.3]]
ZERO = [np.zeros((2, 2)), np.array([[1.0, 0.0]])]
BROKEN = [np.full((2, 2), NAN), np.array([[1.0, 0.0]])]
LONG = [2.0 * V[0], V[1]]
SCALE = ("sum", 0.1, 10, 0.1)


def flow(directions=V, rho0=1.0, x=X, labels=Y, decay=0.0, **more):
    return sl.gradient_flow(
        directions, rho0, x, labels, decay, **{"t_end": 1.0, **more}
    )


LABELS = "`labels` must be -1 or .1, but 1 of 2 entries are not, e.g. 0.0. Map"
LENGTHS = "`labels` must have one entry an example, got 3 for 2"
DECAY = "`weight_decay` must be at least 0, got -0.1"
IDLE = "`outputs` must have a non-zero entry where `weight_decay` is 0"
TRIPLE = [1, -1, 1]

REFUSED = [
    *(
        (f"{who.__name__}: .*{text}", lambda w=who, a=args: w(*a))
        for who, args, text in [
            (sl.rho_equilibrium, (F, [0, 1], 0.0), LABELS),
            (sl.rho_equilibrium, (F, TRIPLE, 0.0), LENGTHS),
            (sl.rho_equilibrium, (F, Y, -0.1), DECAY),
            (sl.rho_equilibrium, ([0.0, 0.0], Y, 0.0), IDLE),
            (sl.rho_equilibrium, ([0.5, NAN], Y, 0.0), "`outputs` must be finite"),
            (sl.rho_velocity, (0.0, F, Y, 0.0), "`rho` must be positive, got 0.0"),
            (sl.rho_velocity, (1.0, F, [0, 1], 0.0), LABELS),
            (sl.lagrange_multiplier, (1.0, F, TRIPLE), LENGTHS),
            (sl.lagrange_multiplier, (-1.0, F, Y), "`rho` must be positive"),
            (sl.off_sphere_rate, (0.0, F, Y), "`rho` must be positive"),
            (sl.equilibrium_distance, (1.0, [0.0, 0.0], Y, 0.0), IDLE),
            (sl.rho_trajectory, (-1.0, 1.0, F, Y, 0.0), "`t` must be at least 0"),
            (sl.rho_trajectory, (1.0, 0.0, F, Y, 0.0), "`rho0` must be positive"),
            (sl.settling_time, (1.5, F, 0.0), r"`fraction` must lie in \(0, 1\]"),
            (sl.settling_time, (0.5, [0.0], 0.0), IDLE),
            (sl.stability_limit, ([0.0], 0.0), IDLE),
            (sl.stability_limit, (F, 0.0, 1.0), r"`momentum` must lie in \[0, 1\)"),
            (sl.unnormalised_equilibrium, (F, Y, -0.1, 3), DECAY),
            (sl.unnormalised_equilibrium, (F, Y, 0.1, 0), "`depth` must be at least 1"),
            (sl.unnormalised_barrier, ([0.0, 0.0], Y, 0.1, 3), "have a non-zero entry"),
            (sl.critical_weight_decay, (F, [2, 1], 3), "`labels` must be -1 or"),
            (sl.outputs, ([np.eye(2)], X), "must have one row, as the output is one"),
            (
                sl.outputs,
                ([np.eye(2), np.ones((1, 3))], X),
                r"must have shape \(1, 2\)",
            ),
            (sl.outputs, (V, np.ones((3, 5))), r"`x` must have shape \(N, 2\)"),
            (sl.outputs, ("nets", X), "must be a sequence of weight matrices"),
            (sl.normalise, ([],), "first layer first, got an empty one"),
            (sl.norms, (BROKEN,), r"`weights\[0\]` must be finite"),
            (sl.normalise, (ZERO,), r"`weights\[0\]` must have a non-zero entry"),
            (sl.output_bound, (BROKEN, X), r"`weights\[0\]` must be finite"),
            (sl.layer_gradients, (BROKEN, X), r"`weights\[0\]` must be finite"),
            (sl.weighted_gradients, (V, X, [1.0]), r"must have shape \(..., 2\)"),
            (sl.aligned_directions, ([[1.0]],), "`vectors` must be at least two"),
            (sl.aligned_directions, ([[0.0], [1.0]],), r"`vectors\[0\]` must be a non"),
            (sl.directions_velocity, (1.0, V, X, [0, 1]), LABELS),
            (sl.weights_velocity, (V, X, Y, -0.1), DECAY),
            (
                sl.direction_from_weight_velocity,
                ([[0.0]], [[1.0]]),
                "`weight` must have a non-zero entry",
            ),
            (
                sl.direction_from_weight_velocity,
                ([[1.0]], [[1.0, 2.0]]),
                "must have the shape of `weight`",
            ),
            (sl.critical_residual, (1.0, LONG, X, Y), "must have Frobenius norm 1"),
            (sl.per_sample_residual, (LONG, X), r"`directions\[0\]` must have Frob"),
            (sl.projected_kernel, (ZERO, X), "must have a non-zero entry"),
            (sl.overshoot_curvature, (0.0, V, X, Y), "`rho` must be positive"),
            (sl.alignment_gap, (np.eye(2),), "`direction` must have Frobenius norm 1"),
            (sl.ridge_solution, (X, [1.0], 0.0), r"`y` must have shape \(2,\)"),
            (sl.ridge_solution, (X, Y, -0.1), DECAY),
            (sl.linear_minimiser, (X, [0, 1], 0.1, ()), LABELS),
            (sl.linear_minimiser, (0.0 * X, Y, 0.1, ()), "correlate with an input"),
            (sl.linear_minimiser, (EVEN, [1, -1], 0.1, ()), "got X.T y = 0"),
            (sl.regularisation_path, (EVEN, [1, -1], [0.1]), "got X.T y = 0"),
            (sl.regularisation_path, ([[1e-200]], [1], [1e300]), "`weight_decay`"),
            (sl.linear_minimiser, (X, Y, 0.1, (0,)), "`widths` must be at least 1"),
            (sl.regularisation_path, (X, Y, [-0.1]), DECAY),
            (sl.rademacher_linear, (np.eye(30),), "with N <= 24"),
            (sl.rademacher_linear_bound, (0,), "`examples` must be at least 1"),
            (sl.rademacher_bound, (10, 0), "`depth` must be at least 1"),
            (sl.ramp_loss, (F, 0.0), "`gamma` must be positive"),
            (sl.vacuous_below, (-1.0, 3), "`rho` must be positive"),
            (sl.gram_deviation_mean, (0, 1), "`rows` must be at least 1"),
            (sl.gram_deviation_variance, (1, 1.5), "`columns` must be a whole number"),
            (sl.gram_spectrum_edges, (1, True), "`columns` must be a whole number"),
            (
                sl.torch_scale,
                ("max", 0.1, 10, 0.1),
                "`reduction` must be one of 'mean'",
            ),
            (sl.torch_scale, ("sum", -0.1, 10, 0.1), DECAY),
            (sl.torch_scale, ("sum", 0.1, 0, 0.1), "`examples` must be at least 1"),
            (sl.torch_scale, ("sum", 0.1, 10, 0.0), "`rate` must be positive"),
            (sl.torch_scale, (*SCALE, 1.0), r"`momentum` must lie in \[0, 1\)"),
            (sl.largest_stable_width, (0.0,), "`rate` must be positive, got 0.0"),
            (sl.largest_stable_width, (0.1, 1.0), r"`momentum` must lie in \[0, 1\)"),
            (sl.largest_stable_width, (1e-320,), "`rate` must keep the result within"),
            (
                sl.largest_stable_width,
                ([0.1, 0.2], [0.0, 0.5, 0.9]),
                "`rate` and `momentum` must broadcast",
            ),
            (sl.torch_scale, (*SCALE, 0.0, "none"), "`decayed` must be one of 'scale'"),
        ]
    ),
    (
        "margin_bound: `gamma` must be at most 1",
        lambda: sl.margin_bound(F, Y, gamma=2.0, depth=2, data_dependent=True),
    ),
    (
        r"margin_bound: `confidence` must lie in \(0, 1\)",
        lambda: sl.margin_bound(F, Y, gamma=0.5, depth=2, confidence=1.0),
    ),
    (
        "rho_iterates: `rate` must be positive",
        lambda: sl.rho_iterates(1, 1.0, F, Y, 0.0, rate=0.0),
    ),
    (
        "rho_iterates: `steps` must be whole numbers",
        lambda: sl.rho_iterates(1.5, 1.0, F, Y, 0.0, rate=0.1),
    ),
    (
        "torch_scale: `batch` must be at most 10",
        lambda: sl.torch_scale(*SCALE, batch=11),
    ),
    ("gradient_flow: " + LABELS, lambda: flow(labels=[0, 1])),
    ("gradient_flow: " + LENGTHS, lambda: flow(labels=TRIPLE)),
    ("gradient_flow: " + DECAY, lambda: flow(decay=-0.1)),
    ("gradient_flow: `rho0` must be positive, got 0.0", lambda: flow(rho0=0.0)),
    (r"`directions\[0\]` must have a non-zero entry", lambda: flow(ZERO)),
    (r"`directions\[0\]` must be finite", lambda: flow(BROKEN)),
    (r"Frobenius norm 1, got 2.0. `normalise`", lambda: flow(LONG)),
    ("`t_end` must be positive", lambda: flow(t_end=0.0)),
    ("`rtol` must be at least 2.3e-14", lambda: flow(rtol=1e-15)),
    (r"`t_eval` must lie in \[0, 1\]", lambda: flow(t_eval=[2.0])),
    (
        r"unnormalised_flow: `weights\[0\]` must have a non-zero entry",
        lambda: sl.unnormalised_flow(ZERO, X, Y, 0.0, t_end=1.0),
    ),
    (
        "weight_normalised_flow: `scale` must be positive",
        lambda: sl.weight_normalised_flow(0.0, V, X, Y, 0.0, t_end=1.0),
    ),
]


@pytest.mark.parametrize(("message", "call"), REFUSED)
def test_bad_input_is_named(message, call):
    with pytest.raises(ValueError, match=message):
        call()
