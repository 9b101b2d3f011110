"""Neural collapse: definitions by brute force, exact simplices, invariances, refusals."""

import math

import mpmath
import numpy as np
import pytest

from theory import neural_collapse as nc

EPS = float(np.finfo(float).eps)


def simplex(classes, dim, generator):
    """An exact equiangular tight frame, turned into `dim` dimensions."""
    frame = np.eye(classes) - 1.0 / classes
    turn = np.linalg.qr(generator.normal(size=(dim, dim)))[0][:, :classes]
    return frame @ turn.T


def drawn(classes, dim, each, seed=0, spread=0.3):
    generator = np.random.default_rng(seed)
    labels = np.repeat(np.arange(classes), each)
    means = generator.normal(size=(classes, dim))
    return means[labels] + spread * generator.normal(size=(len(labels), dim)), labels


def nc1_by_pseudoinverse(h, c):
    """The definition, at 60 digits, with the rank given."""
    classes = int(c.max()) + 1
    rows = [[mpmath.mpf(v) for v in row] for row in h.tolist()]
    p = len(rows[0])
    means = []
    for k in range(classes):
        members = [r for r, label in zip(rows, c, strict=True) if label == k]
        means.append(
            [mpmath.fsum(col) / len(members) for col in zip(*members, strict=True)]
        )
    centre = [mpmath.fsum(col) / classes for col in zip(*means, strict=True)]
    between, within = mpmath.zeros(p), mpmath.zeros(p)
    for m in means:
        d = mpmath.matrix([a - b for a, b in zip(m, centre, strict=True)])
        between += d * d.T / classes
    for r, label in zip(rows, c, strict=True):
        d = mpmath.matrix([a - b for a, b in zip(r, means[label], strict=True)])
        within += d * d.T / len(rows)
    values, vectors = mpmath.eigsy(between)
    total = mpmath.mpf(0)
    for k in range(p):
        if values[k] > mpmath.mpf(10) ** -40:
            v = vectors[:, k]
            total += (v.T * within * v)[0] / values[k]
    return total / classes


@pytest.mark.parametrize(("classes", "dim"), [(2, 3), (3, 3), (4, 6), (5, 2)])
def test_nc1_is_its_definition(classes, dim, error):
    h, c = drawn(classes, dim, 4)
    assert error(nc.nc1(h, c), nc1_by_pseudoinverse(h, c)) <= 1e-13


def test_nc1_keeps_its_digits_under_a_common_offset(error):
    # Offsets that floats hold exactly, so that only the algorithm could lose digits.
    h, c = drawn(3, 4, 5)
    h = np.round(h * 2**20) / 2**20
    shifted = h + 2.0**20
    assert error(nc.nc1(shifted, c), nc1_by_pseudoinverse(h, c)) <= 1e-9
    assert error(nc.nc1(h, c), nc1_by_pseudoinverse(h, c)) <= 1e-13


MOVE = np.array([0.01, 0.0])


def test_nc1_decides_the_rank_of_means_on_a_line():
    h = np.array([[0.0, 0.0], [1.0, 0.1], [2.0, 0.2]])
    moved = np.concatenate([h + MOVE, h - MOVE])
    c = np.array([0, 1, 2, 0, 1, 2])
    # Means along (1, 0.1): variance of the moves along it, over that of the means,
    # which are -d, 0, d with squared length 1.01: Tr / 3 = v / (2 * 1.01).
    along = (0.01 / math.sqrt(1.01)) ** 2
    assert abs(nc.nc1(moved, c) * 2 * 1.01 / along - 1.0) <= 1e-12


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_an_exact_simplex_has_collapsed(classes):
    frame = simplex(classes, 9, np.random.default_rng(classes))
    labels = np.tile(np.arange(classes), 3)
    h = 2.5 * frame[labels] + 0.75
    assert nc.nc1(h, labels) <= 1e-28
    found = nc.nc2(h, labels)
    assert max(found.equinorm, found.equiangle, found.maximal_angle) <= 50 * EPS
    rows = nc.nc2_classifier(frame)
    assert max(rows.equinorm, rows.equiangle, rows.maximal_angle) <= 50 * EPS
    assert nc.nc3(h, labels, 4.0 * frame) <= 1e-28
    # Classifier and means agree up to the shift's biases.
    assert nc.nc4(h, labels, frame, -frame @ np.full(9, 0.75)) == 0.0
    # The wrong way round nothing agrees.
    assert abs(nc.nc3(h, labels, -frame) - 4.0) <= 1e-14
    assert nc.nc4(h, labels, -frame) > 0.5


def test_rotation_and_scale_change_nothing():
    h, c = drawn(4, 6, 5, seed=1)
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(6, 6)))[0]
    w = np.random.default_rng(3).normal(size=(4, 6))
    moved = 8.0 * h @ turn
    assert abs(nc.nc1(moved, c) / nc.nc1(h, c) - 1.0) <= 1e-12
    one, two = nc.nc2(h, c), nc.nc2(moved, c)
    assert abs(one.equinorm - two.equinorm) <= 1e-14
    assert abs(one.equiangle - two.equiangle) <= 1e-14
    assert abs(one.maximal_angle - two.maximal_angle) <= 1e-14
    assert nc.nc4(moved, c, w @ turn) == nc.nc4(h, c, w)


def test_two_classes_are_always_a_simplex():
    h, c = drawn(2, 5, 6, seed=4)
    found = nc.nc2(h, c)
    assert max(found.equinorm, found.equiangle, found.maximal_angle) <= 20 * EPS
    signs = np.where(c == 1, 1, -1)
    assert nc.nc1(h, signs) == nc.nc1(h, c)
    w = np.random.default_rng(5).normal(size=5)
    rows = nc.binary_rows(w)
    assert np.array_equal(np.argmax(h @ rows.T, axis=1) == 1, h @ w > 0.0)


def test_nc4_counts_by_brute_force():
    h, c = drawn(3, 4, 7, seed=6, spread=2.0)
    generator = np.random.default_rng(7)
    w, b = generator.normal(size=(3, 4)), generator.normal(size=3)
    means = np.stack([h[c == k].mean(axis=0) for k in range(3)])
    wrong = 0
    for row in h:
        scores = [row @ w[k] + b[k] for k in range(3)]
        gaps = [np.linalg.norm(row - means[k]) for k in range(3)]
        wrong += int(np.argmax(scores) != np.argmin(gaps))
    assert 0 < wrong < len(h)
    assert nc.nc4(h, c, w, b) == wrong / len(h)


H = np.arange(12.0).reshape(6, 2) ** 2
REFUSED = [
    (lambda: nc.nc1(H, [0] * 6), "nc1: `labels` must name at least two classes"),
    (lambda: nc.nc1(H, [1] * 6), "nc1: `labels` must name at least two classes"),
    (lambda: nc.nc1(H, [-1] * 6), "nc1: `labels` must name at least two classes"),
    (lambda: nc.nc2(H, [0, 0, 2, 2, 3, 3]), "every class an example, but class 1"),
    (lambda: nc.nc2(H, [0, 0, 1, 1, 10**12, 3]), "every class an example, but class 2"),
    (lambda: nc.nc1(H, [0, 1, 2]), r"`labels` must have shape \(6,\), got \(3,\)"),
    (lambda: nc.nc1(H, [0, 0, 1, 1, 1.5, 2]), "whole numbers from 0, or -1 and .*1.5"),
    (lambda: nc.nc1(H, [-1, 1, 2, 1, 1, 1]), "whole numbers from 0, or -1 and .*2"),
    (lambda: nc.nc1(H * np.nan, [0, 0, 0, 1, 1, 1]), "`features` must be finite"),
    (lambda: nc.nc1(np.ones((6, 2)), [0, 0, 0, 1, 1, 1]), "class means that differ"),
    (lambda: nc.nc3(H, [0, 0, 0, 1, 1, 1], np.zeros((2, 2))), "have a non-zero entry"),
    (
        lambda: nc.nc3(H, [0, 0, 0, 1, 1, 1], np.ones((3, 2))),
        r"must have shape \(2, 2\)",
    ),
    (
        lambda: nc.nc4(H, [0, 0, 0, 1, 1, 1], np.eye(2), [1.0]),
        "`biases` must have shape",
    ),
    (lambda: nc.nc2_classifier([[0.0, 0.0], [1.0, 0.0]]), "vector that is not zero"),
    (lambda: nc.nc2_classifier([[1.0, 0.0]]), "one row a class, at least two"),
    (lambda: nc.binary_rows(np.eye(2)), r"shape \(p,\) or \(1, p\), got \(2, 2\)"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("spread", [1e-5, 1e-9, 1e-12])
def test_nc1_keeps_its_digits_as_classes_collapse(spread, error):
    h, c = drawn(3, 6, 4, spread=spread)
    assert error(nc.nc1(h, c), nc1_by_pseudoinverse(h, c)) <= 1e-14


def test_nc4_tells_near_classes_apart_beside_a_far_one():
    generator = np.random.default_rng(1)
    labels = np.repeat(np.arange(3), 20)
    centres = np.array([[0.0, 0.0], [1e-7, 0.0], [1e3, 1e3]])
    h = centres[labels] + 1e-7 * generator.normal(size=(60, 2))
    means = [h[labels == k].mean(axis=0) for k in range(3)]
    nearest = np.argmin([np.linalg.norm(h - m, axis=1) for m in means], axis=0)
    weights = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    shares = np.mean(np.argmax(h @ weights.T, axis=1) != nearest)
    assert nc.nc4(h, labels, weights) == shares


@pytest.mark.parametrize("biases", [None, [0.0, 0.0]])
def test_nc4_sees_logits_too_small_for_a_float(biases):
    h = [[0.0, 1e-200], [0.0, 3e-200], [1e-200, 0.0], [3e-200, 0.0]]
    rows = np.array([[0.0, 1e-200], [1e-200, 0.0]])
    assert nc.nc4(h, [0, 0, 1, 1], rows, biases) == 0.0
    assert nc.nc4(h, [0, 0, 1, 1], rows[::-1], biases) == 1.0


def test_a_short_classifier_row_still_has_a_direction():
    found = nc.nc2_classifier([[1.0, 0.0], [0.0, 1e-200]])
    assert found == nc.Simplex(1.0, 0.0, 1.0)


def test_a_class_far_away_does_not_merge_near_ones():
    """From the mean of all, 3e8 away, the two near classes were one."""
    h = np.repeat([[0.0], [1e-9], [1e9]], 2, axis=0)
    rows, offsets = [[0.0], [1.0], [2.0]], [0.0, -5e-10, -5e8]
    assert nc.nc4(h, [0, 0, 1, 1, 2, 2], rows, offsets) == 0.0
