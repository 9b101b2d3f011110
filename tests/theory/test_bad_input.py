"""Ranges of activations, kernels and bounds; `test_boundary.py` tests the rest."""

import math
from typing import NamedTuple

import numpy as np
import pytest

from theory import activations as act
from theory import conditioning as dc
from theory import kernels, lengths, matrices, phase, spectrum, width

NAN, INF = math.nan, math.inf
RELU, TANH = act.relu.normalized(), act.tanh.normalized()
X = np.eye(3)


class Case(NamedTuple):
    """A call with one argument left open, and what must not be put there."""

    who: str
    name: str
    call: object
    bad: tuple


CORRELATION = (-1.5, [0.0, 2.0])
UNIT = (-1e-9, [0.5, 3.0])
MATRIX = (
    [1.0, 2.0],
    np.zeros((2, 2, 2)),
    np.zeros((0, 3)),
    [[0.0, 0.0], [1.0, 0.0]],
    [[NAN, 0.0], [1.0, 0.0]],
    [[INF, 0.0], [1.0, 0.0]],
    [["a", "b"]],
)

CASES = [
    Case("relu.dual", "rho", act.relu.dual, CORRELATION),
    Case("relu.dual_derivative", "rho", act.relu.dual_derivative, CORRELATION),
    Case("tanh.dual", "rho", act.tanh.dual, CORRELATION),
    Case(
        "relu.distance_map",
        "delta",
        act.relu.distance_map,
        (-1e-9, 2.1),
    ),
    Case(
        "tanh.distance_map",
        "delta",
        act.tanh.distance_map,
        (-1e-9, 2.1),
    ),
    Case("relu.hermite", "order", act.relu.hermite, (10**18,)),
    Case("relu", "x", act.relu, ([1.0, NAN],)),
    Case("leaky_relu", "slope", act.leaky_relu, (1e200,)),
    Case("elu", "alpha", act.elu, (-1e200,)),
    Case("hermite", "k", act.hermite, (10**7,)),
    Case(
        "PiecewisePolynomial",
        "m",
        lambda m: act.PiecewisePolynomial("p", m, (0.0,)),
        (3,),
    ),
    Case(
        "PiecewisePolynomial",
        "poly",
        lambda c: act.PiecewisePolynomial("p", 1, c),
        ([0.0], (NAN,), ("x",), (1.0, 2.0, 3.0), None),
    ),
    Case(
        "PiecewisePolynomial",
        "kinks",
        lambda c: act.PiecewisePolynomial("p", 1, (0.0,), c, (1.0,)),
        ([0.0], (INF,), 0.0),
    ),
    Case(
        "PiecewisePolynomial",
        "jumps",
        lambda j: act.PiecewisePolynomial("p", 1, (0.0,), (0.0,), j),
        ((), (1.0, 2.0), [1.0], (NAN,)),
    ),
    Case("HermiteMixture", "a", act.HermiteMixture, ((), [1.0], (NAN,), None)),
    Case("Affine", "base", lambda a: act.Affine(a, 1.0, 0.0), ("relu", np.tanh, None)),
    Case("Affine", "scale", lambda c: act.Affine(TANH, c, 0.0), (1e200,)),
    Case("Affine", "shift", lambda c: act.Affine(TANH, 1.0, c), (-1e200,)),
    Case(
        "normrelu_constants",
        "c",
        act.normrelu_constants,
        (-40.0, 40.0),
    ),
    Case("normrelu", "c", act.normrelu, (50.0, NAN, INF, "x")),
    Case("normrelu", "scale", lambda s: act.normrelu(scale=s), (0.0, -1.0, 1.0, NAN)),
    Case(
        "from_function",
        "kinks",
        lambda k: act.from_function(np.abs, kinks=[k]),
        (NAN, INF),
    ),
    Case("nngp_map", "rho", lambda r: kernels.nngp_map(r, RELU, 3), CORRELATION),
    Case("ntk_map", "rho", lambda r: kernels.ntk_map(r, RELU, 3), CORRELATION),
    Case("ntk_map", "activation", lambda a: kernels.ntk_map(0.5, a, 2), (act.sign,)),
    Case("nngp", "x", lambda x: kernels.nngp(x, RELU, 3), MATRIX),
    Case("nngp_ntk", "x", lambda x: kernels.nngp_ntk(x, RELU, 3), MATRIX),
    Case("nngp_ntk", "activation", lambda a: kernels.nngp_ntk(X, a, 2), (act.step,)),
    Case("ntk", "x", lambda x: kernels.ntk(x, RELU, 3), MATRIX),
    Case("correlation", "x", kernels.correlation, MATRIX),
    Case("separation", "x", kernels.separation, (*MATRIX, [[1.0, 0.0]])),
    Case(
        "least_distance",
        "inputs",
        matrices.least_distance,
        # Rows of a network with bias, whose distances are shares of these.
        (matrices.Inputs(np.eye(2), np.ones(2), 0.5, 0.5), None),
    ),
    Case("one_layer_bound", "delta", lambda d: dc.one_layer_bound(d, 0.5), UNIT),
    Case("one_layer_bound", "mu", lambda m: dc.one_layer_bound(0.5, m), UNIT),
    Case(
        "correlation_bound",
        "depth",
        lambda l: dc.correlation_bound(l, 0.1, 0.5),
        (-1, NAN, INF, "x", None),
    ),
    Case(
        "correlation_envelope",
        "delta",
        lambda d: dc.correlation_envelope(3, d, 0.5),
        UNIT,
    ),
    Case(
        "correlation_envelope", "mu", lambda m: dc.correlation_envelope(3, 0.1, m), UNIT
    ),
    Case("derivative_bound", "mu", lambda m: dc.derivative_bound(0.5, m), UNIT),
    Case(
        "ntk_ratio_bound",
        "depth",
        lambda l: dc.ntk_ratio_bound(l, 0.1, 0.5),
        (-1, NAN, INF, "x", None),
    ),
    Case(
        "nngp_condition_bound",
        "assumption",
        lambda a: dc.nngp_condition_bound(3, 0.1, 0.5, 9, assumption=a),
        ("a", "C", None),
    ),
    Case(
        "depth_for_condition_number",
        "target",
        lambda t: dc.depth_for_condition_number(0.1, 0.5, 9, t),
        (1.0, 0.5, -2.0, NAN, INF, "x"),
    ),
    Case(
        "ntk_condition_bound",
        "assumption",
        lambda a: dc.ntk_condition_bound(3, 0.1, 0.5, 9, assumption=a),
        ("C", None),
    ),
    Case(
        "ntk_threshold_depth",
        "assumption",
        lambda a: dc.ntk_threshold_depth(0.1, 0.5, 9, assumption=a),
        ("C", None),
    ),
    Case(
        "eigenvalue_transfer",
        "value_at_one",
        lambda v: dc.eigenvalue_transfer(v, -1.5e308),
        (1.5e308,),
    ),
    Case(
        "fixed_point_convergence",
        "activation",
        lambda a: dc.fixed_point_convergence(a, 0.1),
        # Centred up to rounding, and of a slope 2e-9 above one.
        (act.tanh, act.relu, act.from_function(lambda x: x * x - 1.0), act.relu6),
    ),
    Case(
        "unit_slope_bound",
        "depth",
        lambda l: dc.unit_slope_bound(l, 0.5),
        (-1, NAN, INF, "x"),
    ),
    Case("unit_slope_bound", "nu", lambda n: dc.unit_slope_bound(3, n), UNIT[:1]),
    Case(
        "joint_trajectory",
        "rho",
        lambda r: lengths.joint_trajectory(TANH, 2.0, 0.5, r, 2),
        CORRELATION[:1],
    ),
    Case(
        "odd_correlation_bound",
        "rho",
        lambda r: lengths.odd_correlation_bound(r, 0.1, 0.1),
        CORRELATION[:1],
    ),
    Case(
        "settling_depth",
        "gamma_x",
        lambda g: lengths.settling_depth(TANH, g, 1.0),
        (0.49,),
    ),
    Case(
        "settling_depth",
        "activation",
        lambda a: lengths.settling_depth(a, 2.0, 1.0),
        (act.absolute,),
    ),
    Case(
        "normrelu_length",
        "c",
        lambda c: lengths.normrelu_length(1.0, c),
        (99,),
    ),
    Case(
        "normrelu_decay",
        "gamma_x",
        lambda g: lengths.normrelu_decay(g, 1.0, 0.5, act.normrelu()),
        (0.4, 1.6),
    ),
    Case(
        "normrelu_decay",
        "delta",
        lambda d: lengths.normrelu_decay(1.5, 1.0, d, act.normrelu()),
        (0.0, 1e-3),
    ),
    Case(
        "unstable_length",
        "c",
        lengths.unstable_length,
        (0.0, -0.4, 1.0),
    ),
]

TABLE = [
    pytest.param(case, bad, id=f"{i}-{case.who}-{case.name}-{str(bad)[:20]}")
    for i, case in enumerate(CASES)
    for bad in case.bad
]


@pytest.mark.parametrize(("case", "bad"), TABLE)
def test_refused(case, bad):
    with pytest.raises(ValueError, match=rf"(?s){case.who}: `{case.name}") as caught:
        case.call(bad)
    text = str(caught.value)
    assert "must" in text
    assert text.rstrip().endswith((".", "`."))


def test_offenders_are_counted_and_shown():
    with pytest.raises(ValueError, match=r"but 2 of 4 entries do not, e\.g\. 1\.5"):
        act.relu.dual([0.0, 1.5, 1.0, -3.0])


def test_offenders_that_are_not_what_they_must_be_are_said_so():
    with pytest.raises(ValueError, match=r"must be finite, but 1 of 2 entries are not"):
        act.relu.dual([0.0, np.nan])
    with pytest.raises(ValueError, match=r"`delta` must lie in \(0, 1\], got 0\.0"):
        dc.burn_in_depth(delta=0.0, mu=0.2)


def _classified(_x, given, _depth):
    return phase.classify(given, 1.5)


def _shares(_x, given, depth):
    return spectrum.degree_shares(given, depth, [0, 1], 10)


@pytest.mark.parametrize("call", [kernels.nngp, _classified, _shares])
@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("relu", "`theory.activations` has them by name"),
        (act.elu, r"Call it: `elu\(\)`"),
        (np.tanh, "`from_function` makes one of a callable"),
    ],
)
def test_what_is_no_activation_says_how_to_come_by_one(call, given, hint):
    with pytest.raises(ValueError, match=rf"must be a theory Activation.*{hint}"):
        call([[1.0, 0.0]], given, 3)


def test_rounding_beyond_the_ends_is_forgiven():
    edge = 1.0 + 2.0**-52
    assert act.relu.dual(edge) == act.relu.dual(1.0)
    assert act.relu.dual(-edge) == act.relu.dual(-1.0)
    assert kernels.nngp_map(edge, RELU, 3) == kernels.nngp_map(1.0, RELU, 3)


def test_inputs_that_cannot_be_normalised():
    with pytest.raises(ValueError, match=r"normrelu: give either `c` or `scale`"):
        act.normrelu(-1.0, scale=1.1)
    with pytest.raises(ValueError, match=r"hermite\(0\)\.normalized: .*constant"):
        act.hermite(0).normalized()
    with pytest.raises(ValueError, match=r"identity\.mu: .*affine"):
        _ = act.identity.mu
    with pytest.raises(ValueError, match=r"hermite\(0\)\.mu: .*constant"):
        _ = act.hermite(0).mu


def test_kernels_that_leave_float64():
    with pytest.raises(
        ValueError, match=r"`depth` must keep the kernel within float64"
    ):
        kernels.nngp_map(0.5, act.relu, 2000)
    with pytest.raises(ValueError, match=r"`depth` must keep the variance of what exp"):
        kernels.nngp(2.0 * X, act.exp, 9)
    with pytest.raises(
        ValueError, match=r"`depth` must keep the kernel within float64"
    ):
        kernels.nngp(2.0 * X, act.relu_squared, 20)
    with pytest.raises(ValueError, match=r"`depth` must keep the variance of what .*"):
        kernels.nngp([[1e3, 0.0], [0.0, 1e3]], act.log_cosh.normalized(), 20)


PLANE = [[1.0, 0.0], [0.0, 2.0]]
CONSTANT = act.hermite(0)
THREE = act.from_function(lambda x: 0.0 * x + 3.0, name="three")


@pytest.mark.parametrize(
    ("function", "arguments", "text"),
    [
        (kernels.nngp_map, (0.5, act.relu, 2000), "`depth` must keep the kernel"),
        (kernels.ntk_map, (0.5, act.relu_squared, 99), "`depth` must keep the kernel"),
        (kernels.ntk, (PLANE, act.exp, 9), "`depth` must keep the kernel"),
        (kernels.nngp_ntk, (PLANE, act.exp, 9), "`depth` must keep the kernel"),
        (width.ntk_mean, (0.5, act.step, 3, 9), "`activation` must have a square"),
        (width.nngp_variance, (0.5, act.exp, 9, 9), "`depth` must keep"),
        (width.nngp_mean, (1.0, act.hermite(12), 160, 9), "`depth` must keep"),
        (spectrum.ntk_eigenvalues, (act.sign, 2, 2, 4), "`activation` must have a sq"),
        (spectrum.nngp_eigenvalues, (act.exp, 9, 2, 4), "`depth` must keep"),
        (kernels.nngp_map, (0.5, CONSTANT, 2), "`activation` must not be constant"),
        (kernels.nngp, (PLANE, THREE, 2), "`activation` must not be constant"),
        (phase.edge_curve, (1.0, CONSTANT), "`activation` must not be constant"),
        (lengths.settling_depth, (CONSTANT, 2.0, 1.0), r"hermite\(0\)\.mu: activation"),
        (lengths.generalised_mu, (act.exp, 1e9), "exp: `gamma` must"),
    ],
)
def test_errors_begin_with_the_function_that_was_called(function, arguments, text):
    with pytest.raises(ValueError, match=f"^{function.__name__}: {text}"):
        function(*arguments)


def test_shares_of_a_degree_are_refused_in_their_own_name():
    with pytest.raises(ValueError, match=r"^degree_shares: `activation` must have"):
        spectrum.degree_shares(act.sign, 2, 2, 4, kernel="ntk")


@pytest.mark.parametrize("q", [1e9, 1e12])
def test_layers_wider_than_any_are_refused_or_known(q):
    # A layer of erf at this variance is sign but for 1 / sqrt(q).
    found = kernels.nngp_map(0.5, act.erf, 1, weight_var=q) / q
    assert found == pytest.approx(2.0 / math.pi * math.asin(0.5), rel=1e-8)
    with pytest.raises(ValueError, match=r"^nngp_map: `depth` must keep the variance"):
        kernels.nngp_map(0.5, act.exp, 2, weight_var=1e8)


def test_whole_numbers_of_numpy_are_accepted():
    assert kernels.nngp_map(0.5, RELU, np.int64(3)) == kernels.nngp_map(0.5, RELU, 3)


@pytest.mark.parametrize("value", [np.tanh, "relu", None, [], [RELU, np.tanh], {RELU}])
def test_layers_are_activations(value):
    need = r"`activation` must be a theory Activation"
    with pytest.raises(ValueError, match=r"^nngp: " + need):
        kernels.nngp(X, value, 2)
    with pytest.raises(ValueError, match=r"^Layer: " + need):
        kernels.Layer(value)


@pytest.mark.parametrize(
    ("activation", "long", "bias_var", "got"),
    [(act.relu_squared, 1e92, 0.0, "inf"), (act.exp, 100.0, 1.0, r"e\^2e\+04")],
)
def test_a_long_row_beside_a_short_one_is_refused(activation, long, bias_var, got):
    # Before, an OverflowError of Python's, and warnings that ended in e^nan.
    with pytest.raises(ValueError, match=rf"nngp: `depth` must keep .* got {got} on"):
        kernels.nngp([[long, 0.0], [0.0, 1.0]], activation, 1, bias_var=bias_var)
