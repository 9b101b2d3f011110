"""The coupled flows against other routes: angles, each other, energy, closed forms."""

import dataclasses
import pickle
import warnings

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from theory import square_loss as sl

START = [[[np.cos(1.5), np.sin(1.5)]]]


def by_angle(angle, rho, x, y, decay, times):
    """One layer in the plane: the angle of V alone, by an implicit method."""
    x, y = np.asarray(x), np.asarray(y)

    def right_side(_, state):
        v = np.array([np.cos(state[0]), np.sin(state[0])])
        f, slope = x @ v, x @ np.array([-v[1], v[0]])
        e = state[1] * f - y
        return [-2 * state[1] * e @ slope, -2 * (e @ f + decay * state[1])]

    span = (0.0, times[-1])
    found = solve_ivp(
        right_side, span, [angle, rho], "Radau", times, rtol=1e-11, atol=1e-13
    )
    return found.y


CASES = [
    # x, y, angle, decay, peak, end: the counterexamples' printed digits.
    ([[1.0, 0.0]], [1], 1.5, 0.01, 1.135392, 0.990099, 3000.0),
    ([[1.0, 0.0]], [1], 1.5, 0.1, 0.995518, 0.909091, 300.0),
    ([[1.0, 0.0], [0.96, 0.28]], [1, 1], np.pi / 2, 0.0, 1.136234, 1.0101525, 3000.0),
]


@pytest.mark.parametrize(("x", "y", "angle", "decay", "peak", "end", "t_end"), CASES)
def test_the_norm_overshoots_and_falls_back(x, y, angle, decay, peak, end, t_end):
    start = [[[np.cos(angle), np.sin(angle)]]]
    flow = sl.gradient_flow(start, 0.01, x, y, decay, t_end=t_end)
    assert len(flow.crossings) == 1
    top = flow.crossings[0]
    assert abs(flow.rho_at(top) - peak) <= 5e-7
    assert abs(flow.rho_at(t_end) - end) <= 5e-7
    # At the crossing: at rest for the moment, and a maximum.
    v = flow.directions(top)
    assert abs(sl.rho_velocity(flow.rho_at(top), flow.outputs(top), y, decay)) <= 1e-8
    curvature = sl.overshoot_curvature(flow.rho_at(top), v, x, y)
    step = 1e-3
    around = flow.rho_at([top - step, top, top + step])
    # Fourth-order terms step^2, errors of the flow over step^2.
    assert abs(np.diff(around, 2)[0] / step**2 - curvature) <= 1e-3
    assert curvature < 0.0
    times = np.sort([0.5, 2.0, top, 8.0, 50.0])
    exact = by_angle(angle, 0.01, x, y, decay, times)
    # Both to 1e-10 a step, some hundreds of steps, carried on by a stable flow.
    np.testing.assert_allclose(flow.rho_at(times), exact[1], rtol=3e-8)
    turned = np.stack([np.cos(exact[0]), np.sin(exact[0])], axis=1)
    np.testing.assert_allclose(flow.directions(times)[0][:, 0], turned, atol=3e-8)
    assert flow.energy_error <= min(flow.energy_allowance, 1e-9)


def small_net(seed, widths=(3, 6, 1), n=5):
    generator = np.random.default_rng(seed)
    w = [generator.normal(size=s) for s in zip(widths[1:], widths[:-1], strict=True)]
    x = generator.normal(size=(n, widths[0]))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return w, x, np.where(np.arange(n) % 2, 1.0, -1.0)


def until_stuck(flow, *args, **options):
    with warnings.catch_warnings():
        # Nets with hidden layers reach a kink that the flow points at.
        warnings.simplefilter("ignore", sl.FlowWarning)
        return flow(*args, **options)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_weight_normalisation_is_the_flow_on_the_sphere(seed, decay):
    w, x, y = small_net(seed)
    _, v = sl.normalise(w)
    on_sphere = until_stuck(sl.gradient_flow, v, 0.7, x, y, decay, t_end=0.5)
    normal = until_stuck(sl.weight_normalised_flow, 0.7, v, x, y, decay, t_end=0.5)
    end = min(on_sphere.t_end, normal.t_end)
    assert end > 1e-3
    times = np.linspace(0.0, end, 20)
    # Two integrations to 1e-10 a step; the jump at a kink adds their step there.
    np.testing.assert_allclose(on_sphere.rho_at(times), normal.rho_at(times), rtol=1e-8)
    for a, b in zip(on_sphere.directions(times), normal.directions(times), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8)
    lengths = sl.norms(normal.parameters(end))
    np.testing.assert_allclose(lengths, 1.0, rtol=1e-8)


def test_longer_vectors_slow_the_direction_down():
    # One layer, frozen scale: c = 2 turns at a quarter of the speed.
    x, y = [[1.0, 0.0]], [1]
    one = sl.weight_normalised_flow(1.0, START, x, y, 0.0, t_end=1e-6)
    two = sl.weight_normalised_flow(1.0, 2.0 * np.array(START), x, y, 0.0, t_end=1e-6)
    turned = [np.linalg.norm(f.directions(1e-6)[0] - START[0]) for f in (one, two)]
    # Differences of numbers near 1 after 1e-6: 1e-16 / 1e-6.
    assert abs(turned[0] / turned[1] - 4.0) <= 1e-5
    assert abs(one.rho_at(1e-6) - two.rho_at(1e-6)) <= 1e-11


def test_without_normalisation_norms_differ_as_they_should():
    w, x, y = small_net(1, (3, 4, 4, 1))
    for decay in (0.0, 0.5):
        flow = until_stuck(sl.unnormalised_flow, w, x, y, decay, t_end=0.3)
        times = np.linspace(0.0, flow.t_end, 9)
        squares = sl.norms(flow.parameters(times)) ** 2
        gaps = (squares - squares[:, :1]) * np.exp(4 * decay * times)[:, np.newaxis]
        np.testing.assert_allclose(gaps, gaps[:1] + 0 * gaps, atol=1e-7)
        assert np.all(np.diff(flow.loss(times)) <= 1e-9)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e6])
@pytest.mark.parametrize("decay", [0.0, 1e-12, 0.3, 30.0, 1e3])
def test_one_unnormalised_layer_to_thirty_digits(decay, size, error):
    """A linear system: W' = -2 (W (X'X + lambda) - y'X), by its eigenvectors."""
    generator = np.random.default_rng(3)
    x = generator.normal(size=(8, 3))
    y = np.sign(generator.normal(size=8))
    start = generator.normal(size=(1, 3)) * size
    end = min(5.0, 20.0 / (decay + 1e-9))
    flow = sl.unnormalised_flow(
        [start], x, y, decay, t_end=end, rtol=1e-13, atol=1e-15 * max(size, 1.0)
    )
    with mpmath.workdps(30):
        rows, w0 = mpmath.matrix(x.tolist()), mpmath.matrix(start.tolist())
        rates, q = mpmath.eigsy(2 * (rows.T * rows + decay * mpmath.eye(3)))
        along = (w0 * q, 2 * mpmath.matrix([y.tolist()]) * rows * q)
        for time in (0.01 * end, 0.3 * end, end):
            left = [mpmath.exp(-rate * time) for rate in rates]
            parts = zip(*map(list, along), left, rates, strict=True)
            modes = [w * e + b * (1 - e) / rate for w, b, e, rate in parts]
            exact = list(mpmath.matrix([modes]) * q.T)
            scale = max(*map(abs, exact), np.abs(start).max())
            for found, due in zip(flow.parameters(time)[0][0], exact, strict=True):
                # Every step may add its tolerance, of what the weights were at most.
                assert error(found, due, scale) <= len(flow.t) * 1e-13
    if decay == 0.3 and size <= 1.0:  # then it has come to rest
        assert abs(flow.rho_at(end) / flow.rho_equilibrium(end) - 1.0) <= 1e-8


@pytest.mark.parametrize(
    ("decay", "rho0"), [(0.0, 1.0), (1e-12, 0.01), (0.5, 3.0), (1e-3, 1e-6)]
)
def test_two_linear_layers_by_their_taylor_series(decay, rho0, error):
    """Equations (3) and (4), entry by entry, in mpmath's integrator of high order."""
    generator = np.random.default_rng(5)
    x = generator.normal(size=(3, 2))
    y = np.sign(generator.normal(size=3))
    v = generator.normal(size=(2, 2)), generator.normal(size=(1, 2))
    units = [w / np.linalg.norm(w) for w in v]
    flow = sl.gradient_flow(
        units, rho0, x, y, decay, t_end=1.0, rtol=1e-13, atol=1e-15, linear=True
    )

    def right_side(_, state):
        rho, first, last = state[0], mpmath.matrix(2, 2), mpmath.matrix([state[5:]])
        first[0, :], first[1, :] = (
            mpmath.matrix([state[1:3]]),
            mpmath.matrix([state[3:5]]),
        )
        outputs = list(rows * first.T * last.T)
        e = [rho * f - label for f, label in zip(outputs, y, strict=True)]
        mean = mpmath.fdot(e, outputs)
        pulled = rows.T * mpmath.matrix(e)
        slopes = list((pulled * last).T) + list(first * pulled)
        turn = [
            2 * rho * (a * mean - g) for a, g in zip(state[1:], slopes, strict=True)
        ]
        return [-2 * (mean + decay * rho), *turn]

    with mpmath.workdps(20):
        rows = mpmath.matrix(x.tolist())
        start = []
        for w in v:
            entries = [mpmath.mpf(a) for a in w.ravel().tolist()]
            start += [a / mpmath.norm(entries) for a in entries]
        exact = mpmath.odefun(right_side, 0, [mpmath.mpf(rho0), *start])(1)
        found = [
            flow.rho_at(1.0),
            *np.concatenate([w.ravel() for w in flow.directions(1.0)]),
        ]
        for a, b in zip(found, exact, strict=True):
            assert error(a, b, max(abs(b), mpmath.mpf(1e-3))) <= 1e-11


def test_the_flow_on_the_sphere_ends_at_the_ridge_solution():
    generator = np.random.default_rng(4)
    x = generator.normal(size=(8, 3))
    y = np.sign(generator.normal(size=8))
    rho, v = sl.linear_minimiser(x, y, 0.7, ())
    for seed in (1, 2):
        start = np.random.default_rng(seed).normal(size=(1, 3))
        start /= np.linalg.norm(start)
        flow = sl.gradient_flow([start], 0.5, x, y, 0.7, t_end=100.0)
        # rho may have passed through 0, and the direction turned: the map is the same.
        end, turned = flow.rho_at(100.0), flow.directions(100.0)[0]
        assert abs(abs(end) / rho - 1.0) <= 1e-8
        np.testing.assert_allclose(end * turned, rho * v[0], atol=1e-8)


def test_frozen_directions_follow_the_closed_form():
    # An aligned direction is critical: only the norm moves.
    flow = sl.gradient_flow([[[0.6, 0.8]]], 3.0, [[0.6, 0.8]], [1], 0.5, t_end=4.0)
    times = np.linspace(0.0, 4.0, 7)
    exact = sl.rho_trajectory(times, 3.0, [1.0], [1], 0.5)
    np.testing.assert_allclose(flow.rho_at(times), exact, rtol=1e-8)
    assert len(flow.crossings) == 0


def test_shapes_times_and_what_is_asked_for():
    times = np.array([0.0, 0.5, 2.0])
    flow = sl.gradient_flow(START, 0.5, [[1.0, 0.0]], [1], 0.1, t_end=2.0, t_eval=times)
    assert np.array_equal(flow.t, times)
    assert flow.rho[0] == 0.5
    assert flow.outputs(times).shape == (3, 1)
    assert flow.directions(times)[0].shape == (3, 1, 2)
    assert isinstance(flow.rho_at(1.0), float)
    assert isinstance(flow.loss(1.0), float)
    np.testing.assert_allclose(sl.norms(flow.directions(times))[:, 0], 1.0, rtol=1e-14)
    with pytest.raises(
        ValueError, match=r"Flow.rho_at: `t` must lie in \[0, 2\], got 3"
    ):
        flow.rho_at(3.0)


def test_flows_do_not_follow_what_becomes_of_the_data():
    x, y, start = np.array([[1.0, 0.0]]), np.array([1.0]), np.array([[0.6, 0.8]])
    for flow in (
        sl.gradient_flow([start], 0.5, x, y, 0.1, t_end=1.0),
        sl.unnormalised_flow([start], x, y, 0.1, t_end=1.0),
    ):
        before = flow.loss(0.5), flow.rho_equilibrium(0.5), flow.rho_at(0.0)
        given = x.copy(), y.copy(), start.copy()
        x[:], y[:], start[:] = 7.0, -1.0, 7.0
        assert (flow.loss(0.5), flow.rho_equilibrium(0.5), flow.rho_at(0.0)) == before
        x[:], y[:], start[:] = given


def test_a_flow_that_is_stuck_says_so():
    w, x, y = small_net(0, (6, 8, 8, 1), 20)
    _, v = sl.normalise(w)
    with pytest.warns(sl.FlowWarning, match="slides along a kink|were not enough"):
        flow = sl.gradient_flow(v, 1.0, x, y, 0.0, t_end=30.0, max_steps=1500)
    assert flow.t_end < 30.0
    # What was integrated still balances.
    assert flow.energy_error <= flow.energy_allowance


def test_the_energy_check_sees_a_wrong_velocity():
    from theory.square_loss import _driver
    from theory.square_loss._systems import normalised

    v = (np.array(START[0]),)
    right = normalised(v, np.array([[1.0, 0.0]]), np.ones(1), 0.1, clock=False)
    wrong = dataclasses.replace(
        right, velocity=lambda y: 1.01 * right.velocity(y) + np.array([1e-3, 0.0, 0.0])
    )
    start = np.array([0.01, *START[0][0]])
    with pytest.warns(sl.FlowWarning, match="the energy is off by"):
        _driver.integrate(
            *("who", wrong, start),
            t_end=5.0,
            rtol=1e-10,
            atol=1e-12,
            max_steps=5000,
        )


@pytest.mark.parametrize("linear", [False, True])
def test_flows_go_from_one_process_to_another(linear):
    (row,), x = START[0], [[1.0, 0.0]]
    data = (x, [1], 0.1)
    flows = [
        sl.gradient_flow([[row]], 0.5, *data, t_end=1.0, linear=linear),
        sl.weight_normalised_flow(0.5, [[row]], *data, t_end=1.0),
        sl.unnormalised_flow([[row]], *data, t_end=1.0),
    ]
    for flow in flows:
        copy = pickle.loads(pickle.dumps(flow))
        for t in (0.0, 0.3, 1.0):
            assert copy.rho_at(t) == flow.rho_at(t)
            assert copy.loss(t) == flow.loss(t)
            np.testing.assert_array_equal(copy.directions(t), flow.directions(t))


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1e-160])
def test_weights_next_to_zero_have_directions(size):
    """Squares of such norms are nothing: directions were infinite, outputs not numbers."""
    start = np.array([[size, 2.0 * size]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flow = sl.unnormalised_flow([start], [[1.0, 0.0]], [1], 0.1, t_end=1.0)
        (v,), rest = flow.directions(0.0), flow.rho_equilibrium(0.0)
    np.testing.assert_allclose(v, [[0.2**0.5, 0.8**0.5]], rtol=1e-15)
    # B / S, less lambda times the norm, of one layer.
    assert rest == pytest.approx(5.0**0.5, rel=1e-15)
    assert flow.rho_at(0.0) == pytest.approx(5.0**0.5 * size, rel=1e-15, abs=5e-324)


@pytest.mark.parametrize("size", [1e-160, 1e-200])
def test_products_of_norms_below_float64_rest_at_b_over_s_without_decay(size):
    """The penalty's part is 0 times infinity there: the resting norm was not a number."""
    start = [[[size]], [[size]], [[size]]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flow = sl.unnormalised_flow(start, [[0.5]], [1], 0.0, t_end=1.0)
    assert flow.rho_equilibrium([0.0, 1.0]).tolist() == [2.0, 2.0]


def test_steps_beyond_float64_are_taken_smaller_without_numpys_words():
    """At rest the integrator tries steps of 1e285, and what it multiplies overflows."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sl.FlowWarning)
        x = [[1.0, 0.0]]
        flow = sl.gradient_flow([x], 1.0, x, [1], 1e-300, t_end=1e300)
    assert flow.rho_at(flow.t_end) == pytest.approx(1.0, abs=1e-12)
