"""Predictions of infinitely wide networks against matrix functions and an ODE."""

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from theory import activations as act
from theory import kernels, regression
from theory.regression import predict, predict_from_kernels

EPS = float(np.finfo(np.float64).eps)
INF = np.inf
TIMES = [0.0, 1e-9, 0.1, 3.0, 40.0]


def _problem(n=6, m=3, k=2, seed=0):
    """Joint kernels of n + m inputs, from feature matrices, and targets."""
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, n + m, n + m + 2)) / np.sqrt(n)
    return a @ a.T, a @ a.T + b @ b.T, rng.standard_normal((n, k))


def _inputs(n, d, seed):
    return np.random.default_rng(seed).standard_normal((n, d))


def _exactly(k, t, y, time, ridge=0.0, noise_var=0.0):
    """Mean and covariance at 60 digits, from the exponential of a block matrix."""
    n, size = len(y), len(k)
    k, t, y = (mpmath.matrix(v.tolist()) for v in (k, t, y))
    # exp [[-S, 1], [0, 0]] t has the integral of e^{-S u} over [0, t] at its corner.
    block = mpmath.zeros(2 * n)
    block[:n, :n] = -time * (t[:n, :n] + (ridge + noise_var) * mpmath.eye(n))
    block[:n, n:] = time * mpmath.eye(n)
    a = t[n:, :n] * mpmath.expm(block, method="taylor")[:n, n:]
    c = k[n:, n:] - a * k[:n, n:] - (a * k[:n, n:]).T
    c += a * (k[:n, :n] + noise_var * mpmath.eye(n)) * a.T
    numbers = [np.array(v.tolist(), dtype=np.float64) for v in (a * y, c)]
    assert numbers[1].shape == (size - n, size - n)
    return numbers


def _rounding(t, n, time):
    """n ulps of what is learnt by a time: of the condition number up to 1/time."""
    values = np.linalg.eigvalsh(t[:n, :n])
    return 10.0 * n * EPS * max(1.0, values[-1] * min(time, 1.0 / values[0]))


@pytest.mark.parametrize(("ridge", "noise_var"), [(0, 0), (0.3, 0), (0, 0.2), (1, 2)])
def test_flow_against_the_exponential_of_a_block_matrix(ridge, noise_var):
    k, t, y = _problem()
    found = predict_from_kernels(y, t, k, times=TIMES, ridge=ridge, noise_var=noise_var)
    for i, time in enumerate(TIMES):
        mean, covariance = _exactly(k, t, y, time, ridge, noise_var)
        bound = _rounding(t, 6, time)
        np.testing.assert_allclose(found.mean[i], mean, rtol=bound, atol=bound * time)
        scale = np.abs(k).max()
        np.testing.assert_allclose(found.covariance[i], covariance, atol=bound * scale)


def test_flow_against_the_differential_equation():
    _, t, y = _problem()
    n = len(y)

    def slope(_, state):
        f = state.reshape(len(t), -1)
        return -(t[:, :n] @ (f[:n] - y)).ravel()

    start = np.zeros((len(t), 2))
    out = solve_ivp(slope, (0.0, 2.0), start.ravel(), rtol=1e-12, atol=1e-12)
    end = out.y[:, -1].reshape(len(t), 2)
    found = predict_from_kernels(y, t, times=2.0)
    # The solver's tolerance for each of its steps.
    error = 1e-12 * len(out.t) * np.abs(end).max()
    np.testing.assert_allclose(found.mean, end[n:], atol=error)


def test_two_flows_in_a_row_are_one():
    x = _inputs(8, 5, 1)

    def left(time):
        """What training for a time leaves of each residual."""
        return np.eye(8) - predict(x, np.eye(8), x, act.erf, 2, times=time).mean

    np.testing.assert_allclose(left(0.3) @ left(0.9), left(1.2), atol=1e-13)


def test_the_prior_at_time_zero():
    x, y = _inputs(5, 4, 2), np.ones((5, 3))
    test = _inputs(4, 4, 3)
    found = predict(x, y, test, act.erf, 2, times=0.0, bias_var=0.1)
    assert found.mean.shape == (4, 3)
    assert not found.mean.any()
    k = kernels.nngp(test, act.erf, 2, bias_var=0.1)
    np.testing.assert_allclose(found.covariance, k, rtol=1e-14)


def test_in_the_end_regression_with_the_tangent_kernel():
    x, test = _inputs(12, 6, 4), _inputs(5, 6, 5)
    y = np.sin(x[:, 0])
    t = kernels.ntk(x, act.relu, 3, weight_var=2.0)
    across = kernels.ntk(test, act.relu, 3, y=x, weight_var=2.0)
    want = across @ np.linalg.solve(t, y)
    for time in (1e9, INF):
        found = predict(x, y, test, act.relu, 3, weight_var=2.0, times=time)
        assert found.mean.shape == (5,)
        np.testing.assert_allclose(found.mean, want, atol=_rounding(t, 12, INF))


def test_bayesian_inference_with_noise():
    x, test = _inputs(12, 6, 4), _inputs(5, 6, 5)
    y = np.cos(x)
    k = kernels.nngp(np.concatenate([x, test]), act.erf, 2, bias_var=0.2)
    noisy = k[:12, :12] + 0.1 * np.eye(12)
    want = k[12:, :12] @ np.linalg.solve(noisy, y)
    spread = k[12:, 12:] - k[12:, :12] @ np.linalg.solve(noisy, k[:12, 12:])
    given = {"kernel": "nngp", "noise_var": 0.1, "bias_var": 0.2}
    found = predict(x, y, test, act.erf, 2, **given)
    np.testing.assert_allclose(found.mean, want, rtol=1e-12)
    np.testing.assert_allclose(found.covariance, spread, atol=1e-13)
    np.testing.assert_array_equal(found.variance, found.covariance.diagonal())


def test_the_readout_alone_is_the_nngp_kernel():
    x, test, y = _inputs(9, 4, 6), _inputs(3, 4, 7), np.arange(9.0)
    one = predict(x, y, test, act.erf, 1, times=[0.5, INF], kernel="nngp")
    two = predict(x, y, test, act.erf, 1, times=[0.5, INF], trained=[2])
    np.testing.assert_allclose(one.mean, two.mean, rtol=1e-9)
    np.testing.assert_allclose(one.covariance, two.covariance, atol=1e-12)


@pytest.mark.parametrize("covariance", [True, False])
def test_copies_count_as_often_as_they_come(covariance):
    x, test = _inputs(5, 3, 8), _inputs(4, 3, 9)
    x, y = x[[0, 1, 2, 3, 4, 1, 1, 4]], np.arange(8.0) ** 2
    times = np.array([[0.0, 0.2], [5.0, 1e4]])
    found = predict(x, y, test, act.relu, 2, times=times, covariance=covariance)
    assert found.mean.shape == (2, 2, 4)
    assert found.rank == 5
    k, t = kernels.nngp_ntk(np.concatenate([x, test]), act.relu, 2)
    all_of_them = predict_from_kernels(y, t, k, times=times)
    np.testing.assert_allclose(found.mean, all_of_them.mean, atol=1e-9)
    end = predict(x, y, test, act.relu, 2, covariance=covariance)
    means = [y[[0]].mean(), y[[1, 5, 6]].mean(), y[2], y[3], y[[4, 7]].mean()]
    distinct = predict(x[:5], means, test, act.relu, 2)
    np.testing.assert_allclose(end.mean, distinct.mean, rtol=1e-11)
    if covariance:
        assert found.covariance.shape == (2, 2, 4, 4)
        np.testing.assert_allclose(found.covariance, all_of_them.covariance, atol=1e-12)
        np.testing.assert_allclose(end.covariance, distinct.covariance, atol=1e-13)
    else:
        assert found.covariance is None
        with pytest.raises(ValueError, match="`variance` needs `covariance=True`"):
            _ = found.variance


@pytest.mark.parametrize("time", [10.0, 1e3, 1e6, 1e12, INF])
def test_a_linear_network_ends_at_least_squares(time):
    x, y, test = _inputs(30, 4, 10), _inputs(30, 2, 11), _inputs(5, 4, 12)
    found = predict(x, y, test, act.identity, 3, times=time)
    want = test @ np.linalg.lstsq(x, y, rcond=None)[0]
    assert found.rank == 4
    # Directions that no feature sees do not grow with time.
    np.testing.assert_allclose(found.mean, want, atol=1e-13)


def test_rows_in_one_direction_share_what_they_learn():
    x, y = [[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]], [1.0, 3.0, 0.0]
    found = predict(x, y, [[1.0, 0.0]], act.relu, 2)
    # The slope of least squares: (1 * 1 + 2 * 3) / (1 + 4).
    assert found.rank == 2
    np.testing.assert_allclose(found.mean, [1.4], rtol=1e-14)


def test_near_copies_learn_as_copies_do_at_first():
    x, test = _inputs(5, 3, 13), _inputs(4, 3, 14)
    near, y = np.concatenate([x, x[:1] + 1e-9]), np.append(np.arange(5.0), 1.0)
    same = np.concatenate([x, x[:1]])
    one, two = (predict(v, y, test, act.erf, 2, times=3.0) for v in (near, same))
    # Features differ by about 1e-9 and are multiplied by the time.
    np.testing.assert_allclose(one.mean, two.mean, atol=1e-7)
    np.testing.assert_allclose(one.covariance, two.covariance, atol=1e-7)


def test_what_rounding_would_decide_is_refused():
    x = np.linspace(-2.0, 2.1, 60)[:, None]
    call = (x, np.sin(x[:, 0]), [[0.3]], act.erf, 2)
    found = predict(*call, times=1e6, bias_var=0.1)
    assert abs(float(found.mean[0]) - np.sin(0.3)) < 0.01
    text = "predict: `times` must be at most .* or `ridge` or `noise_var` at least"
    with pytest.raises(ValueError, match=text):
        predict(*call, bias_var=0.1)
    found = predict(*call, bias_var=0.1, ridge=1e-6)
    assert abs(float(found.mean[0]) - np.sin(0.3)) < 0.01


def test_small_times_keep_their_digits():
    k, t, y = _problem()
    for time in (1e-300, 1e-100, 1e-12):
        found = predict_from_kernels(y, t, k, times=time)
        # The next term is of relative size t T.
        want = time * (t[6:, :6] @ y)
        np.testing.assert_allclose(found.mean, want, rtol=1e-10)


def test_units():
    k, t, y = _problem()
    one = predict_from_kernels(y, t, k, times=0.7, ridge=0.2)
    two = predict_from_kernels(5.0 * y, 8.0 * t, k, times=0.7 / 8.0, ridge=1.6)
    np.testing.assert_allclose(two.mean, 5.0 * one.mean, rtol=1e-13)
    np.testing.assert_allclose(two.covariance, one.covariance, atol=1e-13)


def test_variances_are_never_negative():
    x = _inputs(40, 3, 15)
    x = np.concatenate([x, x[:3]])
    for kernel in ("ntk", "nngp"):
        found = predict(x, x, x, act.relu, 4, times=[0.0, 1.0, 1e5, INF], kernel=kernel)
        assert (found.variance >= 0.0).all()
        assert found.variance[-1].max() < 1e-13
        np.testing.assert_array_equal(
            found.covariance, found.covariance.transpose(0, 2, 1)
        )


@pytest.mark.parametrize("far", [1e6, 1e9, 1e100])
@pytest.mark.parametrize("kernel", ["ntk", "nngp"])
def test_variances_far_away_grow_with_the_square_of_the_distance(far, kernel):
    """ReLU without biases: twice as far away everything is twice as large."""
    x, y, test = _inputs(6, 3, 1), _inputs(6, 1, 2), _inputs(3, 3, 3)
    given = {"times": [0.3, INF], "kernel": kernel, "weight_var": 2.0}
    near = predict(x, y, test, act.relu, 2, **given)
    both = predict(x, y, np.vstack([test, far * test]), act.relu, 2, **given)
    np.testing.assert_allclose(both.variance[:, :3], near.variance, rtol=1e-11)
    np.testing.assert_allclose(both.variance[:, 3:] / far**2, near.variance, rtol=1e-11)
    across = both.covariance[:, :3, 3:] / far
    np.testing.assert_allclose(across, near.covariance, rtol=0.0, atol=1e-12)


def test_a_prior_without_variance_stays():
    found = predict_from_kernels([1.0], np.zeros((2, 2)), np.zeros((2, 2)))
    assert (found.mean, found.covariance, found.rank) == ([0.0], [[0.0]], 0)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"targets": [1.0]}, "`targets` must have one row for each of `x_train`, 2"),
        ({"targets": [[[1.0]]]}, r"`targets` must have shape \(n,\) or \(n, k\)"),
        ({"x_test": [[1.0]]}, "`x_test` must have the columns of `x_train`, 2"),
        ({"times": -1.0}, "`times` must be at least 0"),
        ({"times": [0.0, np.nan]}, "`times` must be at least 0"),
        ({"times": None}, "`times` must be real numbers"),
        ({"noise_var": -0.1}, "`noise_var` must be at least 0"),
        ({"ridge": [0.1]}, "`ridge` must be a number"),
        ({"kernel": "NTK"}, "Did you mean 'ntk'"),
        ({"kernel": "nngp", "trained": [1]}, "`trained` must be left out"),
        ({"trained": 2}, "`trained` must list weight layers"),
        ({"covariance": 1}, "`covariance` must be True or False"),
    ],
)
def test_bad_input(changes, text):
    good = {
        "x_train": np.eye(2),
        "targets": [1.0, 2.0],
        "x_test": [[1.0, 1.0]],
        "activation": act.relu,
        "depth": 2,
    }
    predict(**good)
    with pytest.raises(ValueError, match=f"predict: .*{text}|{text}"):
        predict(**(good | changes))


def test_bad_kernels():
    k, t, y = _problem()
    who = "predict_from_kernels: "
    with pytest.raises(ValueError, match=who + "`ntk` must have shape"):
        predict_from_kernels(y, t[:, :4], k)
    with pytest.raises(ValueError, match=who + "`ntk` must be symmetric"):
        predict_from_kernels(y, np.triu(t), k)
    with pytest.raises(ValueError, match=who + "`nngp` must be symmetric"):
        predict_from_kernels(y, t, np.triu(k))
    with pytest.raises(ValueError, match=who + "`nngp` must have shape"):
        predict_from_kernels(y, t, k[:, :6])
    with pytest.raises(ValueError, match=who + "`ntk` must be positive semidef"):
        predict_from_kernels(y, t - 2.0 * np.eye(9), k)
    with pytest.raises(ValueError, match=who + "`nngp` must be positive semidef"):
        predict_from_kernels(y, t, k - 0.5 * np.eye(9))


def test_it_is_found_where_it_is_looked_for():
    assert kernels.predict is regression.predict


def test_covariances_beyond_float64_are_refused():
    ntk = np.eye(3) + 1.0
    ntk[2, :2] = 1e200
    need = r"^predict_from_kernels: `ntk`, `nngp` and `noise_var` must keep the result"
    with pytest.raises(ValueError, match=need):
        predict_from_kernels([1.0, 2.0], ntk, np.eye(3) + 1.0, noise_var=1.0)
