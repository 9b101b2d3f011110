"""Finite populations of the overfitting claims, against dense linear algebra."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from verify.claims.deep_conditioning.learning import _populations as pop
from verify.claims.deep_conditioning.learning.overfitting import circle_case


def _dense(atoms, depth):
    angle = 2.0 * np.pi * np.arange(atoms) / atoms
    rho = np.cos(angle[:, None] - angle[None, :])
    for _ in range(depth):
        theta = np.arccos(np.clip(rho, -1.0, 1.0))
        rho = (np.sin(theta) + (np.pi - theta) * rho - 1.0) / (np.pi - 1.0)
    return rho


@pytest.mark.parametrize("d", [1e-14, 1e-6, 0.00124, 0.00126, 0.3, 1.0, 1.7, 2.0])
def test_relu_layer_keeps_its_digits_near_equal_inputs(d):
    with mpmath.workdps(40):
        theta = mpmath.acos(1 - mpmath.mpf(d))
        dual = mpmath.sin(theta) + (mpmath.pi - theta) * mpmath.cos(theta)
        expected = (mpmath.pi - dual) / (mpmath.pi - 1)
    # Largest next to the switch of formulas at theta = 0.05, where the difference of
    # two numbers of size theta, 2e-16 theta, is divided by pi theta^2 / 2: 2.5e-15.
    error = abs(pop.relu_layer(np.array([d]))[0] - float(expected))
    assert error <= 4e-15 * float(expected)


@pytest.mark.parametrize("depth", [0, 1, 6])
@pytest.mark.parametrize("first", [0.0, 0.05, 0.4])
def test_covariance_norm_is_the_largest_eigenvalue(depth, first):
    atoms = 101
    weights = np.full(atoms, 1.0 / atoms)
    if first:
        weights = np.full(atoms, (1.0 - first) / (atoms - 1))
        weights[0] = first
    root = np.sqrt(weights)
    dense = root[:, None] * _dense(atoms, depth) * root[None, :]
    expected = np.linalg.eigvalsh(dense)[-1]
    # The dense recursion loses half the digits of neighbours: arccos near 1.
    assert pop.circle_norm(atoms, depth, first) == pytest.approx(expected, rel=1e-7)


def test_risks_of_a_draw_are_sums_over_the_population():
    atoms, depth, n, norm, seed = 51, 4, 4, 0.3, 3
    draw = pop.circle_draw(atoms=atoms, depth=depth, n=n, norm=norm, seed=seed)
    kernel, rng = _dense(atoms, depth), np.random.default_rng(seed)
    centres, drawn = rng.choice(atoms, 3, replace=False), rng.integers(0, atoms, n)
    c = rng.standard_normal(3)
    c *= norm / math.sqrt(c @ kernel[np.ix_(centres, centres)] @ c)
    optimum = kernel[:, centres] @ c
    y = np.where(rng.random(n) < (1.0 + optimum[drawn]) / 2.0, 1.0, -1.0)
    among = kernel[np.ix_(drawn, drawn)]
    fitted = kernel[:, drawn] @ np.linalg.solve(among, y)
    assert draw.least == pytest.approx(np.linalg.eigvalsh(among)[0], abs=1e-7)
    # The dense kernel's 1e-8 (see above) through the sample's condition number.
    assert draw.excess == pytest.approx(np.mean((fitted - optimum) ** 2), rel=1e-5)
    assert draw.signal == pytest.approx(np.mean(optimum**2), rel=1e-6)


def test_a_draw_from_the_cube_is_a_sum_over_its_points():
    dim, depth, n, norm, seed = 7, 3, 4, 0.3, 2
    draw = pop.cube_draw(dim=dim, depth=depth, n=n, norm=norm, seed=seed)
    bits = np.array(list(itertools.product((0, 1), repeat=dim)))
    cube = (1.0 - 2.0 * bits[bits.sum(axis=1) % 2 == 0]) / math.sqrt(dim)
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 2, (n + 3, dim))
    words[:, -1] = words[:, :-1].sum(axis=1) % 2
    points, c = (1.0 - 2.0 * words) / math.sqrt(dim), rng.standard_normal(3)
    d = 1.0 - np.concatenate([cube, points]) @ points.T
    for _ in range(depth):
        d = pop.relu_layer(d)
    sections, among = 1.0 - d[: len(cube)], 1.0 - d[len(cube) :]
    c *= norm / math.sqrt(c @ among[n:, n:] @ c)
    y = np.where(rng.random(n) < (1.0 + among[:n, n:] @ c) / 2.0, 1.0, -1.0)
    fitted = sections[:, :n] @ np.linalg.solve(among[:n, :n], y)
    optimum = sections[:, n:] @ c
    assert draw.excess == pytest.approx(np.mean((fitted - optimum) ** 2), rel=1e-9)
    assert draw.signal == pytest.approx(np.mean(optimum**2), rel=1e-9)


def test_two_equal_draws_leave_no_interpolator():
    draw = pop.circle_draw(atoms=5, depth=3, n=6, norm=0.1, seed=1)
    assert math.isinf(draw.excess)


def test_excess_risk_is_the_squared_distance_to_50_digits():
    for spec in pop.SHARP:
        found = pop.solved(spec)
        assert abs(found.excess - found.distance) < 1e-40


def test_too_few_atoms_are_refused():
    with pytest.raises(ValueError, match="100 atoms are too few for 64 distinct"):
        circle_case(64, 100, 0.0)
