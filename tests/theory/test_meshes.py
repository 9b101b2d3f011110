"""Panels on which a function is resolved, and the kinks found on the way."""

import math

import numpy as np
import pytest

from theory import _breaks as breaks
from theory.meshes import NODES, RESOLVED, resolve

EPS = np.finfo(float).eps


def _interpolated(mesh, x):
    """Evaluate the Chebyshev series of the panels, one point at a time."""
    out = []
    for v in x:
        i = min(max(int(np.searchsorted(mesh.edges, v)) - 1, 0), len(mesh.edges) - 2)
        a, b = mesh.edges[i : i + 2]
        y = (2.0 * v - a - b) / (b - a)
        out.append(np.polynomial.chebyshev.chebval(y, mesh.series[i]))
    return np.array(out)


SMOOTH = {
    "tanh": np.tanh,
    "bump": lambda x: x + np.exp(-(((x - 0.7) / 0.08) ** 2) / 2.0),
    "chirp": lambda x: np.sin(x * x),
    "power": lambda x: x**12,
}


@pytest.mark.parametrize("name", SMOOTH)
def test_the_panels_determine_the_function(name):
    f = SMOOTH[name]
    mesh = resolve(f)
    assert mesh.rough == mesh.found == mesh.jumps == ()
    assert mesh.edges[0] == -40.0
    assert mesh.edges[-1] == 40.0
    assert np.all(np.diff(mesh.edges) > 0.0)
    x = np.random.default_rng(1).uniform(-12.0, 12.0, 400)
    size = np.maximum.accumulate(np.abs(f(np.linspace(0.0, 40.0, 4001))))
    # A panel reaches at most twice as far out as a point of it. Its last three
    # coefficients are below RESOLVED of the size, rounding of the arguments included, and
    # the sum of NODES of that order bounds what is missing.
    steepness = 2.0 if name == "chirp" else 1.0
    reach = np.minimum(2.2 * np.abs(x) + 0.5, 40.0)
    bound = NODES * RESOLVED * size[(reach * 100).astype(int)]
    bound *= 1.0 + steepness * reach**2
    assert np.all(np.abs(_interpolated(mesh, x) - f(x)) <= bound)


KINKED = {
    "absolute value": (np.abs, (0.0,)),
    "small": (lambda x: x + 0.1 * np.maximum(x - 0.3, 0.0), (0.3,)),
    "far": (lambda x: np.maximum(x - 25.0, 0.0), (25.0,)),
    "far, on a line": (lambda x: x + np.maximum(x - 25.0, 0.0), (25.0,)),
    "on octaves": (lambda x: np.clip(x, -5.0, 5.0), (-5.0, 5.0)),
    "second derivative": (
        lambda x: np.where(x > 0.0, x, np.expm1(np.minimum(x, 0.0))),
        (0.0,),
    ),
    "third derivative": (lambda x: np.abs(x - 0.2) ** 3, (0.2,)),
    "close": (
        lambda x: np.maximum(x - 0.7, 0.0) - np.maximum(x - 0.70001, 0.0) + x,
        (0.7, 0.70001),
    ),
    "rounded next to zero": (
        lambda x: np.maximum(1.0 - np.abs(x - 1.0), 0.0),
        (0.0, 1.0, 2.0),
    ),
    "squared": (lambda x: np.maximum(1.0 - np.abs(x - 1.0), 0.0) ** 2, (0.0, 1.0, 2.0)),
    "no short decimal": (lambda x: np.maximum(x - 5 / 9, 0.1 * x), ()),
    "curved": (
        lambda x: np.tanh(np.abs(np.abs(x) - 1.0)),
        (-1.0, 0.0, 1.0),
    ),
}


@pytest.mark.parametrize("name", KINKED)
def test_kinks_are_found(name):
    f, kinks = KINKED[name]
    mesh = resolve(f)
    if name == "no short decimal":
        # max(x - 5/9, x/10) bends at 50/81; found is the shortest decimal that is as near
        # as the polynomials on both sides tell.
        assert mesh.found == pytest.approx((50 / 81,), rel=1e-13, abs=0.0)
    else:
        assert mesh.found == kinks
    assert mesh.rough == mesh.jumps == ()
    assert set(mesh.found) <= set(mesh.edges.tolist())
    # Next to a kink that is known panels are as wide as elsewhere.
    assert np.diff(mesh.edges).min() > (1e-6 if name == "close" else 0.01)


@pytest.mark.parametrize("c", [-math.sqrt(0.5), math.pi / 7.0, math.e])
@pytest.mark.parametrize("powers", [(1, 3), (1, 5), (1,)])
@pytest.mark.parametrize("line", [lambda x: 0.0 * x, lambda x: x, np.square])
def test_kinks_of_functions_that_grow_are_found_to_rounding(c, powers, line):
    # At 20 the fifth power is 1e7, whose rounding hides the place of the kink.
    mesh = resolve(lambda x: line(x) - sum(np.maximum(x - c, 0.0) ** n for n in powers))
    assert mesh.found == pytest.approx((c,), rel=0.0, abs=32.0 * EPS * (1.0 + c * c))
    assert mesh.rough == mesh.jumps == ()


@pytest.mark.parametrize("name", KINKED)
def test_named_kinks_are_not_searched_for(name):
    f, kinks = KINKED[name]
    kinks = kinks or (50 / 81,)
    mesh = resolve(f, kinks)
    assert mesh.found == ()
    assert set(kinks) <= set(mesh.edges.tolist())


def test_kinks_are_found_at_other_scales():
    f = KINKED["small"][0]
    for reach in (4e-3, 4e5):
        mesh = resolve(lambda x, r=reach: f(x / r * 40.0), reach=reach)
        assert mesh.found == pytest.approx((0.3 * reach / 40.0,), rel=1e-13)
    # Of a function whose own scale is far below the Gaussian's as well.
    assert resolve(f, reach=4e5).found == (0.3,)


def test_jumps_are_found_to_the_last_digit():
    mesh = resolve(lambda x: np.where(x > 0.123, 2.0, -1.0))
    assert mesh.jumps == mesh.found == (0.123,)
    mesh = resolve(lambda x: np.where(x > 1 / 3, 1.0 + x, np.tanh(x)))
    assert mesh.jumps == pytest.approx((1 / 3,), rel=4.0 * EPS)


def test_a_jump_that_no_gaussian_of_this_width_sees():
    def softplus(x):  # linear above 20, as libraries have it, 2e-9 off
        return np.where(x > 20.0, x, np.log1p(np.exp(np.minimum(x, 20.0))))

    near = resolve(softplus)
    assert near.found == near.jumps == near.rough == ()
    assert 20.0 in near.edges
    assert resolve(softplus, reach=4000.0).jumps == (20.0,)


def test_singularities_that_are_not_named_are_rough():
    for f, at in (
        (np.cbrt, 0.0),
        (lambda x: np.sqrt(np.abs(x - 0.3)), 0.3),
        (lambda x: np.maximum(x - 0.3, 0.0) ** 0.25, 0.3),
    ):
        mesh = resolve(f)
        assert len(mesh.rough) == 1
        assert mesh.rough[0] == pytest.approx(at, abs=1e-8)
        named = resolve(f, (at,))
        assert named.rough == named.found == ()


def test_panels_shrink_towards_a_singularity_and_no_further_than_needed():
    mesh = resolve(lambda x: np.abs(x) ** 1.5, (0.0,))
    inner = mesh.needed((0.0,))
    assert set(inner) <= set(mesh.edges)
    assert len(inner) < len(mesh.edges)
    closest = np.abs(inner[inner != 0.0]).min()
    # Joined while the width times the function is below 1e-17.
    assert 1e-9 < closest < 1e-5
    assert closest**2.5 < 1e-15


def test_panels_that_a_gaussian_leaves_empty_are_joined():
    mesh = resolve(lambda x: np.exp(x * x / 8.0))
    assert np.abs(mesh.needed(())[1:-1]).max() < 25.0


@pytest.mark.parametrize(
    ("f", "need"),
    [
        (lambda x: np.tanh(x.astype(np.float32)).astype(float), "do not resolve it"),
        (lambda x: np.sin(1.0 / (np.abs(x) + 1e-300)), "do not resolve it"),
        (np.floor, "more than 32 were found within"),
    ],
)
def test_refused(f, need):
    with pytest.raises(ValueError, match=rf"resolve: `f` must .*{need}.*[Gg]ive `kin"):
        resolve(f)


def test_noise_that_is_rounding_here_and_there_is_refused_after_one_sweep(monkeypatch):
    """Half of the panels are resolved: 860,000 were kept, and all halved once more."""
    count = 0
    series = breaks.series

    def counted(f, low, high):
        nonlocal count
        count += len(low)
        return series(f, low, high)

    monkeypatch.setattr(breaks, "series", counted)
    with pytest.raises(ValueError, match=r"resolve: `f` must be smooth between"):
        resolve(lambda x: np.cosh(x) - 1.0, reach=40.0 * 2.0**-22)
    assert count < 800_000


def test_noise_is_accepted_when_asked_for():
    def f(x):
        return np.tanh(x.astype(np.float32)).astype(float)

    mesh = resolve(f, noise=1e-6)
    assert mesh.rough == ()
    assert len(mesh.edges) < 500


def test_the_widths_of_gaussians_only_add_panels_as_their_octaves():
    lengths = [
        len(resolve(np.tanh, reach=40.0 * 10.0**k).edges) for k in range(0, 9, 2)
    ]
    # Two panels for each octave of the reach and the halving around the bend.
    assert all(n < 60 + 2.0 * math.log2(10.0**8) for n in lengths)


def test_functions_that_overflow_far_out():
    mesh = resolve(lambda x: np.exp(x * x / 2.0), reach=80.0)
    assert np.isnan(mesh.series).any()
    assert mesh.rough == ()


def test_the_series_of_a_constant_is_its_value():
    # Rows of the transform sum to rounding, which would be a slope of a narrow panel.
    low, high = np.array([0.0, 1e-20, 3.0]), np.array([1e-20, 2e-20, 5.0])
    c = breaks.series(lambda x: np.full_like(x, 0.7), low, high, 20)
    assert np.all(c[:, 0] == 0.7)
    assert not c[:, 1:].any()
