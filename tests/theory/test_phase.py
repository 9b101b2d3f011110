"""Phases of deep random networks against closed forms and 40-digit integrals."""

import itertools
import math
import time
import warnings

import mpmath as mp
import numpy as np
import pytest

from theory import activations as act
from theory import phase

DIGITS = 40


def _selu(x):
    scale, alpha = mp.mpf(act.selu.scale), mp.mpf(act.selu.alpha)
    return scale * (x if x > 0 else alpha * mp.expm1(x))


def _selu_slope(x):
    scale, alpha = mp.mpf(act.selu.scale), mp.mpf(act.selu.alpha)
    return scale * (1 if x > 0 else alpha * mp.exp(x))


def _mine(x):
    return np.tanh(x) + 0.1 * x * x


MINE = act.from_function(
    _mine, name="mine", derivative=lambda x: np.cosh(x) ** -2.0 + 0.2 * x
)

# Name: activation, function and slope in mpmath, kinks.
FUNCTIONS = {
    "tanh": (act.tanh, mp.tanh, lambda x: mp.sech(x) ** 2, ()),
    "erf": (act.erf, mp.erf, lambda x: 2 * mp.exp(-x * x) / mp.sqrt(mp.pi), ()),
    "relu": (act.relu, lambda x: max(x, 0), lambda x: mp.mpf(x > 0), (0,)),
    "gelu": (
        act.gelu,
        lambda x: x * mp.ncdf(x),
        lambda x: mp.ncdf(x) + x * mp.npdf(x),
        (),
    ),
    "selu": (act.selu, _selu, _selu_slope, (0,)),
    "hard_tanh": (
        act.hard_tanh,
        lambda x: max(min(x, mp.mpf(1)), mp.mpf(-1)),
        lambda x: mp.mpf(abs(x) < 1),
        (-1, 1),
    ),
    "sin": (act.sin, mp.sin, mp.cos, ()),
    "softplus": (
        act.softplus,
        lambda x: mp.log1p(mp.exp(x)),
        lambda x: 1 / (1 + mp.exp(-x)),
        (),
    ),
    "from_function": (
        MINE,
        lambda x: mp.tanh(x) + mp.mpf(0.1) * x * x,
        lambda x: mp.sech(x) ** 2 + mp.mpf(0.2) * x,
        (),
    ),
}

CASES = (
    ("tanh", 2.5, 0.05),
    ("tanh", 0.8, 0.1),
    ("erf", 1.5, 0.01),
    ("relu", 1.6, 0.3),
    ("gelu", 1.7, 0.1),
    ("selu", 1.1, 0.05),
    ("hard_tanh", 2.0, 0.1),
    ("sin", 2.5, 0.2),
    ("softplus", 1.0, 0.0),
    ("from_function", 1.2, 0.05),
)


def _mean(f, q, kinks):
    """E f(sqrt(q) Z) by Gauss-Legendre quadrature on panels that end at the kinks."""
    root = mp.sqrt(q)
    cuts = {mp.mpf(c) / root for c in kinks} | {mp.mpf(k) for k in range(-14, 15, 2)}
    # On panels of two deviations rules of 96 nodes leave less than 1e-25.
    return mp.quad(
        lambda z: f(root * z) * mp.npdf(z), sorted(cuts), method="gauss-legendre"
    )


@pytest.mark.parametrize(("name", "w", "b"), CASES)
def test_fixed_variances_and_slopes_match_integrals(name, w, b):
    a, f, slope, kinks = FUNCTIONS[name]
    p = phase.classify(a, w, b)
    with mp.workdps(25):
        w, b = mp.mpf(w), mp.mpf(b)

        def excess(q):
            return w * _mean(lambda x: f(x) ** 2, q, kinks) + b - q

        # The secant's root, from a start that shares no digit with the answer.
        q = mp.findroot(excess, (p.variance * 1.05, p.variance * 0.96), tol=1e-18)
        first = w * _mean(lambda x: slope(x) ** 2, q, kinks)
        chi = w * _mean(lambda x: f(x) * slope(x) * x, q, kinks) / q
        # One layer's rounding, 2e-15, over 1 - chi_q > 0.05; the slopes follow q*.
        assert abs(p.variance - q) < 1e-13 * q
        assert abs(p.chi_1 - first) < 1e-12 * first
        assert abs(p.chi_q - chi) < 1e-12 * max(abs(chi), mp.mpf("0.1"))


def _plane(f, q, c):
    """E f(u) f(v) by the trapezoid rule in two independent Gaussians."""
    # u, v = sqrt(q) (cos t P +- sin t Q): steps of 1/8 leave exp(-16 pi d), with
    # singularities at distance d > 0.8 (tanh at q = 4): 1e-17.
    half = mp.acos(c) / 2
    co, si = mp.sqrt(q) * mp.cos(half), mp.sqrt(q) * mp.sin(half)
    step, n = mp.mpf(1) / 8, 72
    weight = [step * mp.npdf(k * step) for k in range(-n, n + 1)]
    # Both arguments are steps of one lattice apart only if co = si: all pairs are needed.
    x = [co * k * step for k in range(-n, n + 1)]
    y = [si * k * step for k in range(-n, n + 1)]
    total = mp.mpf(0)
    for i, j in itertools.product(range(2 * n + 1), range(n, 2 * n + 1)):
        factor = 1 if j == n else 2
        product = f(x[i] + y[j]) * f(x[i] - y[j])
        total += factor * weight[i] * weight[j] * product
    return total


@pytest.mark.parametrize(
    ("name", "w", "b"),
    [("tanh", 2.5, 0.05), ("sin", 2.5, 0.2), ("from_function", 2.0, 0.05)],
)
def test_fixed_correlations_match_integrals_over_the_plane(name, w, b):
    a, f, slope, _ = FUNCTIONS[name]
    p = phase.classify(a, w, b)
    assert p.phase == "chaotic"
    with mp.workdps(20):
        q, c = mp.mpf(p.variance), mp.mpf(p.correlation)
        image = (mp.mpf(w) * _plane(f, q, c) + mp.mpf(b)) / q
        chi = mp.mpf(w) * _plane(slope, q, c)
        # A residual of the map over 1 - chi_c is the error of c*.
        assert abs(image - c) < 1e-13 * (1 - chi)
        assert abs(p.chi_c - chi) < 1e-12 * chi
        assert abs(1 - c - p.distance) < 1e-12 * p.distance


# --- closed forms ---------------------------------------------------------------------


@pytest.mark.parametrize("w", [0.5, 5.0, 50.0, 300.0])
def test_the_slopes_of_waves_are_exponentials(w):
    # E sin^2 = (1 - e^-2q)/2, E cos^2 = (1 + e^-2q)/2; with E cos = e^-q/2 the normalised
    # cosine has the slope (e^(-(q+1)/2) - e^-2q) / Var.
    b = 0.1
    with mp.workdps(DIGITS):
        for a in (act.sin, act.sin.normalized(), act.cos, act.cos.normalized()):
            p = phase.classify(a, w, b)
            q, normal = mp.mpf(p.variance), isinstance(a, act.Affine)
            scale = w / mp.mpf(a.base.variance) if normal else w
            true = size = scale * mp.exp(-2 * q)
            if "cos" in a.name:
                shift = scale * mp.exp(-(q + 1) / 2) if normal else 0
                true, size = shift - true, shift + true
            # exp's argument is rounded, to 2 q ulps.
            assert abs(p.chi_q - true) < (4e-15 + 4e-16 * q) * size
            depth, rounding = -1 / mp.log(abs(true)), 8e-15 * size / abs(true)
            assert abs(p.variance_depth - depth) < rounding * depth * (1 + abs(depth))


@pytest.mark.parametrize("w", [30.0, 1e4, 1e7])
def test_the_slope_of_a_saturated_map_keeps_its_digits(w):
    # E erf^2 = (2/pi) asin(2q / (1 + 2q)), whose slope in q is below 1e-10 at last.
    p = phase.classify(act.erf, w, 0.1)
    with mp.workdps(DIGITS):
        q = mp.mpf(p.variance)
        true = 4 * w / mp.pi / ((1 + 2 * q) * mp.sqrt(1 + 4 * q))
        # The table of a panel: twenty terms, each known to an ulp or two.
        assert abs(p.chi_q - true) < 1e-14 * true
    assert phase.classify(act.sign, w, 0.1).chi_q == 0.0


@pytest.mark.parametrize("q", [1e-6, 0.3, 2.0, 50.0, 1e4, 1e7])
def test_the_edge_of_erf_is_the_arcsine_law(q):
    # E erf^2 = (2/pi) asin(2q / (1 + 2q)), E erf'^2 = (4/pi) / sqrt(1 + 4q).
    with mp.workdps(DIGITS):
        v = 2 / mp.pi * mp.asin(2 * mp.mpf(q) / (1 + 2 * mp.mpf(q)))
        w = mp.pi / 4 * mp.sqrt(1 + 4 * mp.mpf(q))
        b = q - w * v
        edge = phase.edge_curve(q, act.erf)
        # The quadratures behind E s'^2 keep 1e-13 up to variance 100.
        assert abs(edge.weight_var - w) < (1e-13 if q < 100 else 1e-11) * w
        assert abs(edge.bias_var - b) < (1e-13 if q < 100 else 1e-11) * q
    if q in (0.3, 2.0):
        found = phase.edge_of_chaos(act.erf, edge.bias_var)
        assert found == pytest.approx(edge.weight_var, rel=1e-12)
        assert phase.classify(act.erf, found, edge.bias_var).phase == "critical"


def test_the_phases_of_erf_follow_from_arcsines():
    w, b = 2.0, 0.1
    p = phase.classify(act.erf, w, b)
    with mp.workdps(DIGITS):

        def dual(c, q):
            return 2 / mp.pi * mp.asin(2 * q * c / (1 + 2 * q))

        q = mp.findroot(lambda q: w * dual(1, q) + mp.mpf(b) - q, 1.0)
        c = mp.findroot(lambda c: (w * dual(c, q) + mp.mpf(b)) / q - c, 0.5)
        slope = mp.diff(lambda c: w * dual(c, q) / q, c)
        assert abs(p.variance - q) < 1e-13 * q
        assert abs(p.chi_1 - w * 4 / mp.pi / mp.sqrt(1 + 4 * q)) < 1e-12
        assert abs(p.correlation - c) < 1e-12 * c
        assert abs(p.chi_c - slope) < 1e-12 * slope
        assert abs(p.correlation_depth + 1 / mp.log(slope)) < 1e-11 / (1 - slope)


def test_relu_is_critical_at_two_only():
    p = phase.classify(act.relu, [1.0, 2.0, 2.0, 3.0], [0.5, 0.0, 0.1, 0.0], start=3.0)
    assert p.phase.tolist() == ["ordered", "critical", "divergent", "divergent"]
    assert p.variance.tolist() == [1.0, 3.0, math.inf, math.inf]
    assert p.chi_1.tolist() == [0.5, 1.0, 1.0, 1.5]
    assert p.correlation_depth[1] == math.inf
    assert phase.edge_points(act.relu, 0.1) == ()
    assert phase.edge_of_chaos(act.relu) == 2.0
    assert phase.fixed_variances(act.relu, 2.0) == ()


def test_hermite_two_has_the_fixed_points_of_a_parabola():
    # h_2 at variance q: E s^2 = ((q - 1)^2 + 2 q^2) / 2, so the map is a parabola.
    w, b = 0.3, 0.1
    roots = np.sort(np.roots([1.5 * w, -w - 1.0, 0.5 * w + b]).real)
    points = phase.fixed_variances(act.hermite(2), w, b)
    assert [p.stable for p in points] == [True, False]
    for p, q in zip(points, roots, strict=True):
        assert p.variance == pytest.approx(q, rel=1e-13)
        assert p.slope == pytest.approx(w * (3.0 * q - 1.0), rel=1e-12)
    low, high = roots
    close = [0.99 * high, 1.01 * high]
    ends = [phase.fixed_variance(act.hermite(2), w, b, start=s) for s in close]
    assert ends[0] == pytest.approx(low, rel=1e-13)
    assert ends[1] == math.inf


def test_two_fixed_points_that_nearly_merge_are_both_found():
    # E relu_squared^2 = 3 q^2 / 2: at 6 w b = 1 the parabola touches the diagonal.
    w = 0.7
    for gap in (1e-3, 1e-6, 1e-10):
        b = (1.0 - gap) / (6.0 * w)
        points = phase.fixed_variances(act.relu_squared, w, b)
        root = math.sqrt(gap)
        exact = [(1.0 - root) / (3.0 * w), (1.0 + root) / (3.0 * w)]
        # The excess over q, known to 4e-15, is a parabola of height gap: the roots' error
        # is 4e-15 / root, of the smaller a little less.
        for p, q in zip(points, exact, strict=True):
            assert abs(p.variance - q) < 8e-15 / root + 1e-13
    assert phase.fixed_variance(act.relu_squared, w, (1.0 + 1e-6) / (6.0 * w)) == (
        math.inf
    )


@pytest.mark.parametrize("b", [1e-4, 1e-8, 1e-12])
def test_tanh_at_the_corner_of_its_edge_follows_its_series(b):
    # E tanh^2 = q - 2 q^2 + 17 q^3 / 3 ...: at weight_var 1, b = 2 q^2 (1 - 17 q / 6 ...).
    q = phase.fixed_variance(act.tanh, 1.0, b)
    series = 2.0 * q * q * (1.0 - 17.0 * q / 6.0)
    # Next term below 30 q^2; rounding 4e-15 q of the map.
    assert abs(b - series) < 60.0 * q**4 + 8e-15 * q


def test_distances_at_the_edge_keep_their_digits():
    # To first order 1 - c* = 2 (chi_1 - 1) / C''(1), C''(1) = w q E s''(u)^2.
    b = 0.1
    edge = phase.edge_of_chaos(act.sin, b)
    w = edge + 1e-7
    p = phase.classify(act.sin, w, b)
    # sin: E s'^2 = (1 + e^{-2q})/2 and E s''^2 = (1 - e^{-2q})/2.
    second = w * p.variance * 0.5 * -math.expm1(-2.0 * p.variance)
    first = 2.0 * (p.chi_1 - 1.0) / second
    # Second order: another factor of the distance; rounding 1e-15 / (chi_1 - 1).
    assert abs(p.distance / first - 1.0) < 3.0 * p.distance + 1e-6
    assert 1e-9 < p.distance < 1e-6


# --- laws -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tanh", "gelu", "selu", "sin", "gaussian", "sign"])
def test_fixed_points_are_where_iteration_goes(name):
    a = act.CATALOGUE[name]
    for w, b, start in itertools.product((0.7, 1.8), (0.0, 0.2), (0.1, 3.0)):
        q = start
        for _ in range(200):
            if not 1e-12 < q < 1e7:
                break
            q = phase.variance_map(q, a, w, b)
        found = phase.fixed_variance(a, w, b, start=start)
        if q >= 1e7:
            assert found == math.inf
        elif q <= 1e-12:
            assert found == 0.0
        else:
            # 200 layers: the deviation left is chi_q^200.
            slope = abs(phase.classify(a, w, b, start=start).chi_q)
            assert q == pytest.approx(found, rel=1e-12 + 10.0 * slope**200)


def test_many_networks_at_once_are_those_alone():
    w, b = np.linspace(1.1, 3.0, 40)[:, None], np.array([0.0, 1e-3, 0.1])
    p = phase.classify(act.tanh, w, b)
    for i, j in ((0, 0), (3, 1), (17, 0), (25, 1), (39, 2)):
        one = phase.classify(act.tanh, float(w[i, 0]), float(b[j]))
        assert p.phase[i, j] == one.phase
        # chi_1 - 1 > 0.01 amplifies the interpolation's 1e-14.
        for field in ("variance", "chi_q", "chi_1", "distance", "chi_c"):
            assert getattr(p, field)[i, j] == pytest.approx(
                getattr(one, field), rel=1e-11
            ), field


def test_edges_separate_the_phases():
    b = np.array([0.01, 0.1, 1.0])
    for a in (act.tanh, act.hard_tanh):
        w = phase.edge_of_chaos(a, b)
        assert set(phase.classify(a, w, b).phase) == {"critical"}
        assert set(phase.classify(a, 0.999 * w, b).phase) == {"ordered"}
        assert set(phase.classify(a, 1.001 * w, b).phase) == {"chaotic"}
        points = phase.edge_points(a, 0.1)
        assert [p.weight_var for p in points] == pytest.approx([w[1]], rel=1e-14)


def test_gelu_has_an_edge_that_no_variance_rests_at():
    (point,) = phase.edge_points(act.gelu, 0.1)
    assert not point.stable
    assert point.chi_q > 1.0
    with pytest.raises(ValueError, match=r"gelu has 0 at 0\.1 \(of edges in all: 1;"):
        phase.edge_of_chaos(act.gelu, 0.1)


def test_scaling_the_activation_scales_the_weights():
    plain = phase.classify(act.tanh, 2.0, 0.1)
    twice = phase.classify(act.Affine(act.tanh, 2.0, 0.0), 0.5, 0.1)
    for field in ("variance", "chi_q", "chi_1", "distance", "chi_c"):
        assert getattr(twice, field) == pytest.approx(getattr(plain, field), rel=1e-12)


def test_jumps_are_chaotic_at_every_variance():
    p = phase.classify(act.sign, 2.0, 0.3)
    assert (p.phase, p.chi_1, p.gradient_depth) == ("chaotic", math.inf, 0.0)
    # c = (w (2/pi) asin c + b) / (w + b)
    c = p.correlation
    assert (4.0 / math.pi * math.asin(c) + 0.3) / 2.3 == pytest.approx(c, rel=1e-13)
    with pytest.raises(ValueError, match="square-integrable derivative"):
        phase.edge_points(act.sign)


def test_maps_fix_their_fixed_points():
    for a, w, b in ((act.tanh, 2.2, 0.05), (act.selu, 1.2, 0.0), (act.sign, 2.0, 0.1)):
        p = phase.classify(a, w, b)
        assert phase.variance_map(p.variance, a, w, b) == pytest.approx(
            p.variance, rel=1e-13
        )
        assert phase.correlation_map(p.correlation, a, w, b) == pytest.approx(
            p.correlation, rel=1e-12
        )
        assert phase.correlation_distance_map(p.distance, a, w, b) == pytest.approx(
            p.distance, rel=1e-12
        )
        assert phase.fixed_distance(a, w, b) == p.distance
        assert phase.fixed_correlation(a, w, b) == p.correlation
        assert phase.chi_1(a, w, b) == p.chi_1


# --- arguments ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: phase.classify(act.tanh, -1.0), "`weight_var` must be positive"),
        (lambda: phase.classify(act.tanh, 1.0, -1.0), "`bias_var` must be at least 0"),
        (lambda: phase.classify(act.tanh, [1.0, 2.0], [0.1] * 3), "must broadcast"),
        (lambda: phase.fixed_variance(act.tanh, np.nan), "must be finite"),
        (lambda: phase.fixed_variance(act.tanh, 1.0, start=0.0), "`start` must be"),
        (lambda: phase.fixed_variances(act.tanh, [1.0]), "must be a number"),
        (
            lambda: phase.variance_map(0.0, act.tanh, 1.0),
            r"variance_map: `q` must lie in",
        ),
        (lambda: phase.correlation_map(2.0, act.tanh, 2.0), r"lie in \[-1, 1\]"),
        (lambda: phase.correlation_map(0.5, act.tanh, 0.5), "variance above 0"),
        (
            lambda: phase.correlation_map([0.1] * 3, act.tanh, [2.0, 3.0]),
            "must broadcast",
        ),
        (lambda: phase.edge_curve(1e9, act.tanh), "edge_curve: `q` must lie in"),
        (lambda: phase.edge_of_chaos(act.tanh, -1.0), "`bias_var` must be at least 0"),
    ],
)
def test_bad_arguments_are_named(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_scalars_in_floats_out():
    p = phase.classify(act.tanh, 1.5, 0.1)
    for name, value in vars(p).items():
        assert isinstance(value, str if name == "phase" else float), name
    assert isinstance(phase.edge_of_chaos(act.tanh, 0.1), float)
    assert str(p).startswith("ordered: weight_var 1.5, bias_var 0.1\n")
    assert str(phase.classify(act.tanh, [0.5, 3.0])) == (
        "2 networks: 1 chaotic, 1 ordered"
    )


def test_a_function_that_is_not_resolved_far_out_is_not_said_to_diverge():
    def noisy(x):
        far = np.where(np.abs(x) > 3000.0, np.sin(1e7 * x), 0.0)
        return x * (1.0 + 0.5 * np.tanh(x)) * (1.0 + far)

    activation = act.from_function(noisy)
    q = phase.fixed_variance(activation, 0.3, 1.0)
    # The map contracts: its tables' 1e-13 is what is left.
    assert phase.variance_map(q, activation, 0.3, 1.0) == pytest.approx(q, rel=1e-12)
    with pytest.raises(ValueError, match="`f` must be smooth between its `kinks`"):
        phase.fixed_variance(activation, 2.0, 1.0)


def test_own_functions_take_no_longer_than_a_few_seconds():
    own = act.from_function(lambda x: x + np.sin(x), name="x + sin")
    start = time.process_time()
    p = phase.classify(own, 0.5, 0.1)
    # E s^2 = q + (1 - e^{-2q})/2 + 2 q e^{-q/2}, E s'^2 = 1 + 2 e^{-q/2} + (1 + e^{-2q})/2.
    q = p.variance
    energy = q - 0.5 * math.expm1(-2.0 * q) + 2.0 * q * math.exp(-0.5 * q)
    slope = 1.5 + 2.0 * math.exp(-0.5 * q) + 0.5 * math.exp(-2.0 * q)
    assert 0.5 * energy + 0.1 == pytest.approx(q, rel=1e-13)
    assert p.chi_1 == pytest.approx(0.5 * slope, rel=1e-12)
    assert time.process_time() - start < 10.0


@pytest.mark.parametrize("q", [1e-8, 0.7, 5.0, 3e3, 4e5, 5e7])
def test_edges_of_waves_by_values_are_those_of_exponentials(q):
    snake = act.from_function(lambda x: x + np.sin(x) ** 2, name="snake")
    edge = phase.edge_curve(q, snake)
    with mp.workdps(DIGITS):
        # s' = 1 + sin 2x, s^2 = (x + 1/2 - cos(2x) / 2)^2 without its odd terms.
        slope = 1 - mp.expm1(-8 * mp.mpf(q)) / 2
        energy = mp.mpf(q) - mp.expm1(-2 * mp.mpf(q)) / 2 + mp.expm1(-8 * mp.mpf(q)) / 8
        assert abs(edge.weight_var * slope - 1) < 1e-12
        assert abs(edge.bias_var - (q - energy / slope)) < 1e-12 * q


@pytest.mark.parametrize("name", ["sin", "cos"])
@pytest.mark.parametrize("q", [1e-6, 0.3, 40.0, 900.0])
def test_duals_of_waves_are_those_of_exponentials(name, q):
    a = act.CATALOGUE[name]
    with mp.workdps(DIGITS):
        f = mp.sinh if name == "sin" else mp.cosh
        g = mp.cosh if name == "sin" else mp.sinh
        for rho in (-1.0, -0.5, 1e-9, 0.3, 0.999, 1.0):
            dual = mp.exp(-mp.mpf(q)) * f(mp.mpf(q) * rho)
            slope = mp.exp(-mp.mpf(q)) * mp.mpf(q) * g(mp.mpf(q) * rho)
            # Exponents up to q are rounded: 4 of them. Nothing is below 1e-300.
            error = 4.0 * (2.0 + q) * 2.0**-53
            assert (
                abs(a.dual(rho, var_x=q, var_y=q) - dual) <= error * abs(dual) + 1e-300
            )
            found = a.dual_derivative(rho, var_x=q, var_y=q)
            assert abs(found - slope) <= error * abs(slope) + 1e-300
            # The distance of x -> s(sqrt(q) x), however small.
            delta = 1.0 - rho
            rest = mp.exp(-mp.mpf(q)) * (
                f(mp.mpf(q)) - f(mp.mpf(q) * (1 - mp.mpf(delta)))
            )
            away = a.scaled(q).distance_map(delta) * a.scaled(q).second_moment
            assert abs(away - rest) <= 2.0 * error * abs(rest)


@pytest.mark.parametrize("frequency", [3.0, 5.0, 12.0])
def test_slopes_of_the_variance_that_cancel_are_small_and_not_infinite(
    frequency: float,
):
    """What is less than rounding of E s^2 was not known, and called infinite."""
    own = act.from_function(lambda x: np.sin(frequency * x))
    found = phase.classify(own, weight_var=1.0, bias_var=0.1)
    true = frequency**2 * math.exp(-2.0 * frequency**2 * found.variance)
    assert abs(found.chi_q - true) <= 1e-12 * frequency
    assert found.phase == "chaotic"


@pytest.mark.parametrize(
    ("kink", "q"), [(3.0, 0.05), (3.0, 0.01), (1.0, 0.01), (36.0, 30.0)]
)
def test_slopes_of_normrelu_at_its_edge_have_their_digits(kink: float, q: float):
    """Where hardly any input passes the kink, a table of rounding gave 4e8 for 0.98."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = phase.edge_curve(q, act.normrelu(kink))
    with mp.workdps(400):
        c, r = mp.mpf(kink), mp.sqrt(mp.mpf(q))
        shift = c * mp.ncdf(-c) - mp.npdf(c)
        share, density = mp.ncdf(-c / r), mp.npdf(c / r)
        # E s s' x = lambda^2 (q share + b r density), over E s'^2 = lambda^2 share.
        true = 1 + shift * density / (r * share)
        norm = 1 / ((1 + c * c) * mp.ncdf(-c) - c * mp.npdf(c) - shift**2)
        weight = 1 / (norm * share)
        assert abs(found.chi_q - true) <= 1e-12 * max(1, abs(true))
        assert abs(found.weight_var / weight - 1) <= 1e-12


@pytest.mark.parametrize("q", [0.01, 0.02, 0.05, 0.2])
@pytest.mark.parametrize("kink", [2.0, 3.0])
@pytest.mark.parametrize("given", [True, False])
def test_slopes_of_a_function_that_is_flat_up_to_a_kink_have_their_digits(
    given, kink, q
):
    """They were 6e9 for -14, where no table of values near rounding has a sign.

    Without a derivative 1e-3 off: 12 deviations out a mesh resolves nothing.
    """

    def f(x):
        return np.where(x > kink, np.tanh(np.maximum(x - kink, 0.0)), 0.0) - 0.25

    def slope(x):
        return np.where(x > kink, 1.0 - np.tanh(x - kink) ** 2, 0.0)

    own = act.from_function(f, kinks=(kink,), derivative=slope if given else None)
    found = phase.edge_curve(q, own)
    with mp.workdps(30):
        root = mp.sqrt(mp.mpf(q))
        start = kink / root
        ends = [start + k / start for k in (0, 1, 2, 4, 8, 16, 32, 64, 120)]

        def mean(g):
            return mp.quad(lambda z: g(root * z - kink) * mp.npdf(z), ends)

        first = mean(lambda x: mp.sech(x) ** 4)
        change = mean(
            lambda x: (mp.tanh(x) - mp.mpf(0.25)) * mp.sech(x) ** 2 * (x + kink)
        )
        true = change / (q * first)
    assert abs(found.chi_q - true) <= 1e-10 * max(1, abs(true))
    assert abs(own.length_map_derivative(q) / change * q - 1) <= 1e-10


@pytest.mark.parametrize("kink", [5.0, 20.0, 31.0, 36.0])
def test_slopes_of_a_kink_far_out_have_their_digits(kink: float):
    """They were zero from 26 deviations on, where no quadrature sees them."""
    far = act.PiecewisePolynomial("far", 1, (0.0,), (kink,), (1.0,))
    found = phase.classify(far, weight_var=1.0, bias_var=1.0)
    assert abs(found.variance - 1.0) <= 1e-7
    with mp.workdps(30):
        true = mp.ncdf(-kink / mp.sqrt(found.variance))
        for slope in (found.chi_1, found.chi_c, found.chi_q):
            # Tables of what falls by hundreds of powers of ten.
            assert abs(slope / true - 1) <= 1e-9


@pytest.mark.parametrize("function", [np.sinh, np.exp, lambda x: x * np.exp(x)])
def test_functions_by_values_diverge_where_they_leave_float64(function):
    a = act.from_function(function)
    assert phase.classify(a, 1.0, 0.1).phase == "divergent"
    with pytest.raises(ValueError, match="edge_curve: `q` must leave the moments of"):
        phase.edge_curve([1.0, 1e4], a)


def test_that_variances_diverge_does_not_depend_on_what_was_asked_before():
    """It was refused once a slope had been asked for where no mesh resolves it."""

    def slope(x):
        noise = np.where(abs(x) > 3000.0, 1e-3 * np.sin(1e4 * x), 0.0)
        return np.cosh(x / 50.0) / 50.0 * (1.0 + noise)

    a = act.from_function(lambda x: np.sinh(x / 50.0), derivative=slope)
    for _ in range(2):
        assert phase.fixed_variance(a, 1e5, 0.1) == math.inf
        with pytest.raises(ValueError, match="must leave the moments of"):
            phase.edge_curve(1e7, a)


def test_rough_slopes_next_to_the_end_of_float64_warn_of_nothing():
    def slope(x):
        noise = np.where(abs(x) > 600.0, 1e-3 * np.sin(1e4 * x), 0.0)
        return np.cosh(x) * (1.0 + noise)

    a = act.from_function(np.sinh, derivative=slope)
    with pytest.raises(ValueError, match="must leave the moments of"):
        phase.edge_curve(1e4, a)


@pytest.mark.parametrize("function", [np.sinh, lambda x: x * np.exp(x)])
def test_the_edge_of_a_function_by_values_is_not_made_of_rounding(function):
    # E s^2 / q rises from its limit: at weight variance one no variance is stable.
    points = phase.edge_points(act.from_function(function))
    assert [(p.variance, p.stable) for p in points] == [(0.0, False)]


def test_biases_beyond_the_moments_within_float64_are_refused():
    a = 1e-100 * act.exp
    # E s^2 = 1e-200 exp(2 q) is nothing at 149, but float64 ends at 354.
    assert phase.classify(a, 1.0, 100.0).variance == pytest.approx(100.0, rel=1e-13)
    with pytest.raises(ValueError, match="`bias_var` must leave the moments of exp"):
        phase.classify(a, 1.0, 149.0)


@pytest.mark.slow
def test_noise_near_zero_does_not_hide_that_variances_diverge():
    a = act.from_function(lambda x: np.cosh(x) - 1.0)
    assert phase.classify(a, 1.0, 0.1).phase == "divergent"
    # Without biases the map falls: moments that are not known were subtracted.
    assert phase.classify(a, 0.5).variance == 0.0


def test_edges_of_an_activation_that_is_constant_about_zero():
    # E s'^2 = 2 P(Z > c) of the soft threshold, c in deviations.
    place = 0.5
    soft = act.PiecewisePolynomial(
        "soft", 1, (place, 1.0), (-place, place), (-1.0, 1.0)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (point,) = phase.edge_points(soft, 0.1)
        with pytest.raises(ValueError, match="edge_curve: `q` must leave the moments"):
            phase.edge_curve([1e-10, 1.0], soft)
    tail = math.erfc(place / math.sqrt(2.0 * point.variance))
    assert point.weight_var == pytest.approx(1.0 / tail, rel=1e-12)


@pytest.mark.parametrize("bias_var", [0.01, 0.1, 0.3])
def test_no_variance_rests_where_the_map_only_touches_the_diagonal(bias_var):
    """Of relu(x - 1), whose chi_q is chi_1: below the edge it comes to rest, above not."""
    a = act.PiecewisePolynomial("late relu", 1, (), (1.0,), (1.0,))
    (point,) = phase.edge_points(a, bias_var)
    assert not point.stable
    assert not phase.edge_curve(point.variance, a).stable
    with pytest.raises(ValueError, match="has 0 at"):
        phase.edge_of_chaos(a, bias_var)
    w, start = point.weight_var, 1.01 * point.variance
    assert phase.classify(a, 1.001 * w, bias_var, start=start).phase == "divergent"
    assert phase.classify(a, 0.9 * w, bias_var, start=start).phase == "ordered"


def test_variances_that_no_layer_reaches_are_not_asked_for():
    farthest = []

    def wave(x):
        farthest.append(float(np.abs(x).max(initial=0.0)))
        return np.tanh(x) + np.cos(40.0 * x)

    found = phase.classify(act.from_function(wave), 2.0, 0.1)
    # No layer's variance is above 2 * 4 + 0.1: forty deviations of it, an octave and a
    # panel of log q more.
    assert max(farthest) < 40.0 * math.sqrt(8.1 * math.e) * 2.0
    cos = math.exp(-800.0 * found.variance)
    swing = act.tanh.scaled(found.variance).second_moment + (1.0 + cos**4) / 2.0
    assert found.variance == pytest.approx(2.0 * swing + 0.1, rel=1e-13)


@pytest.mark.parametrize(("q", "error"), [(1e-16, 1e-8), (1e-10, 1e-11), (1e-3, 1e-11)])
def test_edges_of_a_function_by_values_whose_slope_vanishes_at_zero(q, error):
    """E cosh^2 = (1 + e^2q) / 2 and E sinh^2 = (e^2q - 1) / 2."""
    found = phase.edge_curve(q, act.from_function(np.cosh))
    with mp.workdps(40):
        weight = 2 / mp.expm1(2 * mp.mpf(q))
        energy = weight * (1 + mp.exp(2 * mp.mpf(q))) / 2
        assert abs(found.weight_var / weight - 1) <= error
        assert abs(found.bias_var - (q - energy)) <= error * energy


@pytest.mark.parametrize("q", [1e-3, 1.0, 1e4])
def test_edges_of_a_mean_that_outweighs_the_variance(q):
    """Of softplus, by Gauss's rule: the bias variance is negative, and larger than q."""
    found = phase.edge_curve(q, act.softplus)
    with mp.workdps(25):
        root = mp.sqrt(mp.mpf(q))
        cuts = sorted({v / root for v in (-40, -10, -4, 0, 4, 10, 40) if v < 14 * root})
        ends = sorted({*(c for c in cuts if abs(c) < 14), *range(-14, 15, 2)})

        def mean(f):
            return mp.quad(lambda z: f(root * z) * mp.npdf(z), ends)

        energy = mean(lambda x: (max(x, 0) + mp.log1p(mp.exp(-abs(x)))) ** 2)
        weight = 1 / mean(lambda x: (1 / (1 + mp.exp(-x))) ** 2)
        size = max(q, weight * energy)
        assert abs(found.weight_var / weight - 1) <= 1e-13
        assert abs(found.bias_var - (q - weight * energy)) <= 1e-14 * size
