"""Rows so long that an activation bends around zero alone, against other rules."""

import math

import mpmath
import numpy as np
import pytest

from theory import activations as act
from theory import kernels
from theory._recursion import close_pairs, layer_maps, long_rows, recursion, tangents
from theory._recursion.layers import Layer
from theory._recursion.length_tables import Lengths
from theory._recursion.recursion import Recursion, Stack
from theory._recursion.rows import LogLengths

SMOOTH = ("silu", "quick_gelu", "softplus", "mish", "log_cosh")
EPS = float(np.finfo(np.float64).eps)
ONE = np.longdouble(1.0)


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(np.longdouble(0.0), x)


def _expit(x: np.ndarray) -> np.ndarray:
    return np.exp(-np.logaddexp(np.longdouble(0.0), -x))


def _average(f, r: float, o: float, rho: float, sine: np.longdouble) -> np.longdouble:
    """E f(r X) f(o Y) by evenly spaced values of extended precision.

    Poles at i pi: a spacing of h in the argument leaves exp(-2 pi^2 / h), 3e-43 for 0.2.
    """
    x = np.arange(-11 * ONE, 11 * ONE, 0.2 / max(r, o * abs(rho)))
    z = np.arange(-11 * ONE, 11 * ONE, min(0.2, 0.2 / (o * float(sine))))
    bell = [np.exp(-v * v / 2) * (v[1] - v[0]) for v in (x, z)]
    inner = f(o * (rho * x[:, None] + sine * z)) @ bell[1]
    return (f(r * x) * bell[0] * inner).sum() / (8 * np.arctan(ONE))


@pytest.mark.parametrize("d", [0.2, 1e-2, 1e-4])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("r", "o"), [(13.5, 14.0), (18.0, 15.0)])
def test_transforms_have_the_digits_of_a_rule_in_the_plane(r, o, sign, d):
    found = long_rows.integrals(
        act.softplus,
        np.array([r, o]),
        *(np.array([k]) for k in (0, 1, sign * (1.0 - d), d)),
    )
    rho, sine = sign * (1 - np.longdouble(d)), np.sqrt(d * (2 - np.longdouble(d)))
    slope = _average(_expit, r, o, rho, sine)
    x = np.arange(-11 * ONE, 11 * ONE, 0.2 / max(r, o))
    bell = np.exp(-x * x / 2) * (x[1] - x[0]) / np.sqrt(8 * np.arctan(ONE))
    means = [_softplus(v * x) @ bell for v in (r, o)]
    inner = _average(_softplus, r, o, rho, sine) - means[0] * means[1]
    # One end, of rounded values at a thousand nodes, and an integral over the angle.
    assert abs(float(found[2][0] - slope)) <= 8.0 * EPS
    assert abs(float(found[0][0] - inner / (r * o))) <= 8.0 * EPS


@pytest.mark.parametrize("name", [*SMOOTH, "hard_swish"])
@pytest.mark.parametrize("d", [0.2, 1e-3, 1e-8])
def test_transforms_keep_the_digits_of_distances(name: str, d: float) -> None:
    a = 2.0 * act.CATALOGUE[name] + 1.0
    bend = long_rows.bend_of(a)
    assert bend is not None
    for r, o in ((bend.least, 1.3 * bend.least), (300.0, 290.0)):
        for rho in (1.0 - d, d - 1.0):
            one = (np.array([k]) for k in (0, 1, rho, d))
            found = long_rows.integrals(a, np.array([r, o]), *one)
            true = close_pairs.integrals(a, min(r, o), max(r, o), rho, d)
            # The plane's own: 1e-15 of E s'^2, which is at most 5, and of the distance.
            for value, other, size in zip(
                found, true, (5.0, 5.0 * d, 5.0), strict=True
            ):
                assert abs(float(value[0]) - other) <= 2e-15 * size


def test_slopes_that_bend_elsewhere_or_slowly_have_no_transforms() -> None:
    for name in set(act.CATALOGUE) - {*SMOOTH, "hard_swish"}:
        assert long_rows.bend_of(act.CATALOGUE[name]) is None, name


def test_layers_at_long_rows_are_those_of_pairs_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = np.random.default_rng(3).standard_normal((4, 5))
    x[1] = x[0] + 1e-5 * x[2]
    x *= np.array([[20.0], [25.0], [30.0], [20.0]])
    ask = {"depth": 2, "weight_var": 2.5, "bias_var": 0.1}
    found = kernels.nngp_ntk(x, act.mish, **ask)
    monkeypatch.setattr(layer_maps, "WAVES", 0)
    for k, other in zip(found, kernels.nngp_ntk(x, act.mish, **ask), strict=True):
        size = np.sqrt(np.outer(np.diag(k), np.diag(k)))
        # Both ways round a few times in each of two layers.
        assert np.abs(k - other).max() <= 20.0 * EPS * size.max()
        gap, rest = (v[0, 0] + v[1, 1] - 2.0 * v[0, 1] for v in (k, other))
        assert gap == pytest.approx(rest, rel=1e-9)


@pytest.mark.parametrize("name", [*SMOOTH, "gelu", "selu", "hard_swish"])
def test_rows_beyond_the_bend_are_as_those_of_the_limit(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = act.CATALOGUE[name]
    logs = tangents.bend_ends(a) + np.array([0.1, 0.3, 2.0])
    start = LogLengths.from_gaps((float(logs[0]), 0.0), np.diff(logs), np.arange(3))
    stack = Stack((Layer(a, 3.0, 1.0),) * 2, frozenset({1, 2, 3}))
    # Parallel rows, near ones, opposite ones and rows that are apart.
    pairs = (
        *(np.array(k) for k in ([0, 0, 1, 0], [1, 2, 2, 1])),
        np.array([1.0, 1.0 - 1e-6, -1.0, 0.3]),
        np.array([0.0, 1e-6, 0.0, 0.7]),
    )
    net = Recursion.build(stack, start)
    rho, theta = net.pairs(*pairs)
    lam = net.steps[0].map.alone.turned(pairs[0], pairs[1], pairs[3])
    monkeypatch.setattr(recursion, "bend_ends", lambda _: math.inf)
    before = Recursion.build(stack, start)
    other, tangent = before.pairs(*pairs)
    assert net.rows.high == pytest.approx(before.rows.high, rel=0, abs=100.0 * EPS)
    # A slope differs where |Z| < 2^-50, by two at most.
    assert rho == pytest.approx(other, rel=0, abs=8.0 * EPS)
    assert theta == pytest.approx(tangent, rel=0, abs=8.0 * EPS)
    # Nothing but this is left of parallel rows' distances.
    assert lam[0] == Lengths(a, 3).turned(logs[:1], np.diff(logs)[:1])[0]


def test_waves_have_no_limit() -> None:
    turns = act.from_function(
        lambda x: x + np.sin(np.pi * x) ** 2 / np.pi,
        derivative=lambda x: 1.0 + np.sin(2.0 * np.pi * x),
    )
    for a in (turns, act.tanh, act.asinh, act.relu_squared, act.exp, act.sign):
        assert tangents.bend_ends(a) == math.inf


@pytest.mark.parametrize("var", [100.0, 1e4, 1e8])
def test_slopes_of_gelu_at_large_variances_are_those_of_its_formula(var: float) -> None:
    rho = np.array([-1.0, -1.0 + 1e-6, -0.999, -0.5, 0.3, 0.99, 1.0 - 1e-9, 1.0])
    found = act.gelu.dual_derivative(rho, var_x=var, var_y=var) / var
    with mpmath.workdps(60):
        # The derivative of E u Phi(u) v Phi(v), by the orthant of u and v with noise.
        def dual(r: mpmath.mpf) -> mpmath.mpf:
            z = var * r / (1 + var)
            root = mpmath.sqrt(1 - z * z)
            area = mpmath.mpf(1) / 4 + mpmath.asin(z) / (2 * mpmath.pi)
            rest = 2 * r * r / (1 + mpmath.mpf(var)) + 1 - r * r
            return r * area + var / (1 + mpmath.mpf(var)) * rest / root / 2 / mpmath.pi

        for r, value in zip(rho.tolist(), found.tolist(), strict=True):
            true = float(mpmath.diff(dual, mpmath.mpf(r), h=mpmath.mpf(10) ** -25))
            # Rounding of a table beside its largest value, one half, and of the angle.
            assert abs(value - true) <= 8.0 * EPS
