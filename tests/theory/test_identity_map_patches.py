"""Least squares, patches and one convolution layer, against exact rational algebra."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theory import identity_map as idm

EPS = float(np.finfo(float).eps)

seeds = st.integers(0, 2**32 - 1)
kernels = st.sampled_from([1, 3, 5])


# --- exact rational algebra -----------------------------------------------------------


def fractions(matrix):
    return [[Fraction(float(v)) for v in row] for row in matrix]


def echelon(rows):
    """The non-zero rows of the reduced echelon form: a basis of the row space."""
    rows, basis, lead = [list(r) for r in rows], [], 0
    while rows and lead < len(rows[0]):
        pick = next((r for r in rows if r[lead]), None)
        if pick is not None:
            rows.remove(pick)
            pick = [v / pick[lead] for v in pick]
            rows = [
                [a - r[lead] * b for a, b in zip(r, pick, strict=True)] for r in rows
            ]
            basis = [
                [a - r[lead] * b for a, b in zip(r, pick, strict=True)] for r in basis
            ]
            basis.append(pick)
        lead += 1
    return basis


def product(a, b):
    columns = list(zip(*b, strict=True))
    return [[sum(x * y for x, y in zip(r, c, strict=True)) for c in columns] for r in a]


def transpose(a):
    return [list(r) for r in zip(*a, strict=True)]


def solve(a, b):
    """a^-1 b by elimination."""
    n = len(a)
    rows = echelon([[*r, *s] for r, s in zip(a, b, strict=True)])
    return [r[n:] for r in rows]


def onto_rows(x, w):
    """The projection of the columns of w on the row space of x, in fractions."""
    basis = echelon(x)
    if not basis:
        return [[Fraction(0)] * len(w[0]) for _ in w]
    back = transpose(basis)
    return product(back, solve(product(basis, back), product(basis, w)))


def gap(found, exact):
    """Largest error of any entry, from fractions."""
    return max(
        float(abs(Fraction(float(f)) - e))
        for f, e in zip(np.ravel(found), itertools.chain(*exact), strict=True)
    )


def integers(rng, *shape):
    return rng.integers(-4, 5, size=shape).astype(float)


# --- least squares --------------------------------------------------------------------


@settings(max_examples=60)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6), seeds)
def test_least_squares_at_any_rank(n, dim, rank, seed):
    rng = np.random.default_rng(seed)
    # Small integers: the product is exact and its rank at most `rank`.
    x = integers(rng, n, rank) @ integers(rng, rank, dim)
    y, w0 = integers(rng, n, 2), integers(rng, dim, 2)
    found = idm.least_squares_weights(x, y, w0)
    # W0 + X+(Y - X W0) solves the normal equations and differs from W0 by a vector of
    # the row space: both determine it.
    fx, fy, fw = fractions(x), fractions(y), fractions(w0)
    gram = product(transpose(fx), fx)
    right = product(transpose(fx), fy)
    basis = echelon(fx)
    if not basis:
        assert found.tolist() == w0.tolist()
        return
    back = transpose(basis)
    start = product(gram, fw)
    wanted = [
        [a - b for a, b in zip(r, s, strict=True)]
        for r, s in zip(right, start, strict=True)
    ]
    # gram (W0 + B^T z) = right, tested with B.
    z = solve(product(basis, product(gram, back)), product(basis, wanted))
    exact = [
        [a + b for a, b in zip(r, s, strict=True)]
        for r, s in zip(fw, product(back, z), strict=True)
    ]
    s = idm.decide_rank(np.linalg.svd(x, compute_uv=False), x.shape)
    assert s.rank == len(basis)
    size = 1.0 + np.abs(y).max() + np.abs(w0).max() + np.abs(found).max()
    assert gap(found, exact) <= 100 * EPS * s.condition**2 * size


@pytest.mark.parametrize("shape", [(3, 7), (7, 3), (5, 5)])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("loss", ["half_sum", "mean"])
def test_least_squares_follow_descent(shape, momentum, loss):
    rng = np.random.default_rng(5)
    n, dim = shape
    x, y = rng.standard_normal((n, dim)), rng.standard_normal((n, 2))
    w0 = rng.standard_normal((dim, 2))
    scale = 1.0 if loss == "half_sum" else 2.0 / y.size
    rate = 1.0 / (scale * np.linalg.norm(x, 2) ** 2)
    how = {"learning_rate": rate, "momentum": momentum, "loss": loss}
    steps = [0, 1, 2, 17, 200]
    found = idm.least_squares_weights(x, y, w0, steps=steps, **how)
    w, b, seen = w0.copy(), np.zeros_like(w0), []
    for t in range(201):
        if t in steps:
            seen.append(w.copy())
        b = momentum * b + scale * x.T @ (x @ w - y)
        w = w - rate * b
    # Each step of the loop rounds by a few eps; momentum adds up ten of them.
    np.testing.assert_allclose(found, seen, rtol=0, atol=1e-12)
    late = idm.least_squares_weights(x, y, w0, steps=10**6, **how)
    limit = idm.least_squares_weights(x, y, w0, **how)
    np.testing.assert_allclose(late, limit, rtol=0, atol=1e-11)


def test_least_squares_are_lemmas_1_and_2():
    rng = np.random.default_rng(6)
    wide, y, w0 = (rng.standard_normal(s) for s in ((3, 8), (3, 2), (8, 2)))
    first = w0 + wide.T @ np.linalg.solve(wide @ wide.T, y - wide @ w0)
    np.testing.assert_allclose(
        idm.least_squares_weights(wide, y, w0), first, rtol=0, atol=1e-13
    )
    tall, y = wide.T, rng.standard_normal((8, 2))
    second = np.linalg.solve(tall.T @ tall, tall.T @ y)
    for start in (np.zeros((3, 2)), 1e3 * rng.standard_normal((3, 2))):
        found = idm.least_squares_weights(tall, y, start)
        np.testing.assert_allclose(found, second, rtol=0, atol=1e-11)


# --- patches and their rank -----------------------------------------------------------


@given(
    st.integers(1, 5), st.integers(1, 5), st.integers(1, 3), st.sampled_from([1, 3, 9])
)
def test_patches_by_their_definition(height, width, channels, kernel):
    image = 1.0 + np.arange(height * width * channels).reshape(height, width, channels)
    found = idm.patches(image, kernel)
    assert found.shape == (height * width, kernel**2 * channels)
    half = kernel // 2
    for i, j, c, p, q in itertools.product(
        *map(range, (height, width, channels, kernel, kernel))
    ):
        row, column = i + p - half, j + q - half
        inside = 0 <= row < height and 0 <= column < width
        expected = image[row, column, c] if inside else 0.0
        assert found[i * width + j, (c * kernel + p) * kernel + q] == expected
    if channels == 1:
        np.testing.assert_array_equal(idm.patches(image[:, :, 0], kernel), found)
    centre = found @ idm.centre_selector(kernel, channels)
    np.testing.assert_array_equal(centre, image.reshape(-1, channels))
    assert (idm.centre_selector(kernel, channels) ** 2).sum() == channels


@settings(max_examples=60)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 2), kernels, seeds)
def test_ranks_are_exact(height, width, channels, kernel, seed):
    rng = np.random.default_rng(seed)
    # Few grey levels, so that deficient cases are not rare.
    image = rng.integers(0, 3, (height, width, channels)).astype(float)
    found = idm.patch_rank(image, kernel)
    assert found.decided
    assert found.rank == len(echelon(fractions(idm.patches(image, kernel))))
    assert found.columns == kernel**2 * channels
    assert found.nullity == found.columns - found.rank
    assert found.full is (found.nullity == 0)
    assert found.rank <= min(height * width, found.columns)
    found.require_decided("anyone")


@settings(max_examples=40)
@given(st.integers(1, 4), st.integers(1, 4), kernels, seeds)
def test_zeros_around_an_image_always_complete_its_rank(height, width, kernel, seed):
    # The columns of the padded image's patches are its K^2 shifts: as polynomials in two
    # variables, products of one of them by different monomials, hence independent.
    image = np.random.default_rng(seed).integers(-2, 3, (height, width)).astype(float)
    if not image.any():
        image[0, 0] = 1.0
    half = kernel // 2
    assert idm.patch_rank(np.pad(image, half), kernel).full
    # And with a kernel that covers it, all its patches are independent.
    cover = 2 * max(height, width) - 1
    assert idm.patch_rank(image, cover).rank == height * width


def test_the_case_split_goes_by_rank():
    # 49 patches against 81 weights would be the underdetermined case, yet all is learnt.
    image = np.random.default_rng(0).standard_normal((7, 7, 3))
    rank = idm.patch_rank(image, 3)
    assert 49 <= 81 == 3 * rank.columns
    assert (rank.rank, rank.nullity, rank.full) == (27, 0, True)


def test_padding_reduces_the_nullity():
    image = np.array([[1.0, 2.0], [3.0, -1.0]])
    assert idm.patch_rank(image, 3).rank == 4
    assert idm.patch_rank(np.pad(image, 1), 3).rank == 9
    assert idm.patch_rank([[2.0]], 3).rank == 1
    assert idm.patch_rank(np.pad([[2.0]], 1), 3).rank == 9


def test_ranks_of_special_images():
    rng = np.random.default_rng(1)
    for side in (5, 6, 9):
        assert idm.patch_rank(rng.standard_normal((side, side)), 3).full
    grey = np.repeat(rng.standard_normal((9, 9, 1)), 3, axis=2)
    assert idm.patch_rank(grey, 3).rank == 9
    # Channels in proportion, rounded each: still nine directions, not 27.
    tinted = rng.standard_normal((9, 9, 1)) * np.array([0.3, 0.7, 1.1])
    assert idm.patch_rank(tinted, 3).rank == 9
    assert idm.patch_rank(np.full((9, 9), 0.3), 3).full
    empty = idm.patch_rank(np.zeros((4, 4)), 3)
    assert (empty.rank, empty.nullity, empty.gap, empty.condition) == (0, 9, 1.0, 1.0)
    full = idm.patch_rank(rng.standard_normal((9, 9)), 3)
    assert full.gap == math.inf
    assert 1.0 < full.condition < 100.0


def test_ranks_too_close_to_call_say_so():
    rng = np.random.default_rng(2)
    base = rng.standard_normal((9, 9, 1))
    image = np.concatenate([base, base + 3e-14 * rng.standard_normal((9, 9, 1))], 2)
    rank = idm.patch_rank(image, 3)
    assert not rank.decided
    with pytest.raises(ValueError, match=r"rank is too close to call: the singular"):
        rank.require_decided("someone")
    with pytest.raises(ValueError, match=r"^one_layer_conv_weights: the rank is too"):
        idm.one_layer_conv_weights(image, 3, np.zeros((18, 2)))
    with pytest.raises(ValueError, match=r"^expected_mse: the rank is too close"):
        idm.expected_mse(image, 3, image, scale=1.0)
    x = [[1.0, 1.0], [1.0, 1.0 + 2e-14]]
    with pytest.raises(ValueError, match=r"^least_squares_weights: the rank is too"):
        idm.least_squares_weights(x, x, np.eye(2))
    decided = idm.patch_rank(image, 3, rank_tolerance=1e-10)
    assert decided.decided
    assert decided.rank == 9
    assert decided.gap > 1e10
    w = idm.one_layer_conv_weights(image, 3, np.zeros((18, 2)), rank_tolerance=1e-10)
    # Half of the weight in each of two equal channels.
    np.testing.assert_allclose(w[4], [0.5, 0.5], rtol=0, atol=1e-10)
    assert idm.patch_rank(image, 3, rank_tolerance=0.0).rank == 18


def test_a_wide_kernel_on_a_colour_image_goes_by_the_short_side():
    image = np.random.default_rng(3).standard_normal((28, 28, 3))
    rank = idm.patch_rank(image, 57)
    assert (rank.rank, rank.columns, rank.decided) == (784, 9747, True)
    assert rank.singular_values.shape == (784,)


# --- one convolution layer ------------------------------------------------------------


def naive(image, weights, kernel):
    """The convolution by its definition, as a framework's weights enter it."""
    theta = idm.weights_to_framework(weights, kernel)
    half = kernel // 2
    height, width, _ = image.shape
    padded = np.pad(image, ((half, half), (half, half), (0, 0)))
    out = np.zeros((height, width, theta.shape[0]))
    for o, c, p, q in itertools.product(*map(range, theta.shape)):
        window = padded[p : p + height, q : q + width, c]
        out[:, :, o] += theta[o, c, p, q] * window
    return out


@settings(max_examples=40)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 2), kernels, seeds)
def test_the_solution_in_fractions(height, width, channels, kernel, seed):
    rng = np.random.default_rng(seed)
    image = integers(rng, height, width, channels)
    if not image.any():
        image[0, 0, 0] = 1.0
    w0 = integers(rng, kernel**2 * channels, channels)
    found = idm.one_layer_conv_weights(image, kernel, w0)
    target = idm.centre_selector(kernel, channels)
    x = fractions(idm.patches(image, kernel))
    learnt = onto_rows(x, fractions(target - w0))
    exact = [
        [Fraction(float(a)) + b for a, b in zip(r, s, strict=True)]
        for r, s in zip(w0, learnt, strict=True)
    ]
    rank = idm.patch_rank(image, kernel)
    size = 1.0 + np.linalg.norm(w0 - target)
    assert gap(found, exact) <= 20 * EPS * rank.condition * size
    if rank.full:
        assert (found == target).all()
    # What it makes of another image, of another size.
    test = integers(rng, 3, 5, channels)
    seen = idm.one_layer_conv_prediction(image, test, w0)
    np.testing.assert_allclose(seen, naive(test, found, kernel), rtol=0, atol=1e-11)
    mse = idm.one_layer_conv_mse(image, test, w0)
    assert mse == pytest.approx(np.mean((seen - test) ** 2), rel=1e-9, abs=1e-20)
    again = idm.one_layer_conv_mse(image, image, w0)
    assert again <= (100 * EPS * size * np.abs(image).max() * kernel) ** 2 * (
        rank.condition**2
    )


@pytest.mark.parametrize("loss", ["half_sum", "mean"])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_the_layer_follows_descent(loss, momentum):
    rng = np.random.default_rng(8)
    image, test = rng.standard_normal((3, 4, 2)), rng.standard_normal((5, 2, 2))
    w0 = rng.standard_normal((3, 50, 2))
    x, y = idm.patches(image, 5), image.reshape(-1, 2)
    scale = 1.0 if loss == "half_sum" else 2.0 / y.size
    rate = 1.0 / (scale * np.linalg.norm(x, 2) ** 2)
    steps = np.array([[0, 1], [7, 100]])
    how = {"steps": steps, "learning_rate": rate, "momentum": momentum, "loss": loss}
    found = idm.one_layer_conv_weights(image, 5, w0, **how)
    assert found.shape == (2, 2, 3, 50, 2)
    seen = {}
    w, b = w0.copy(), np.zeros_like(w0)
    for t in range(101):
        seen[t] = w.copy()
        b = momentum * b + scale * x.T @ (x @ w - y)
        w = w - rate * b
    for index in np.ndindex(2, 2):
        expected = seen[int(steps[index])]
        np.testing.assert_allclose(found[index], expected, rtol=0, atol=1e-12)
    out = idm.one_layer_conv_prediction(image, test, w0, **how)
    assert out.shape == (2, 2, 3, 5, 2, 2)
    expected = naive(test, found[1, 0, 2], 5)
    np.testing.assert_allclose(out[1, 0, 2], expected, rtol=0, atol=1e-12)
    mse = idm.one_layer_conv_mse(image, test, w0, **how)
    assert mse.shape == (2, 2, 3)
    np.testing.assert_allclose(
        mse, np.mean((out - test) ** 2, axis=(-3, -2, -1)), rtol=1e-10
    )


@settings(max_examples=25)
@given(st.integers(1, 4), st.integers(1, 2), st.sampled_from([1, 3]), seeds)
def test_the_expected_error_is_the_mean_over_weights(side, channels, kernel, seed):
    rng = np.random.default_rng(seed)
    image, test = (integers(rng, n, n, channels) for n in (side, 3))
    image[0, 0, 0] = 1.0
    scale, width = 0.3, kernel**2 * channels
    for how in ({}, {"steps": 3, "learning_rate": 0.01, "momentum": 0.5}):
        # A quadratic form in W0: its mean is its value at zero, plus the variance times
        # its second derivatives along every entry.
        at_zero = idm.one_layer_conv_mse(
            image, test, np.zeros((1, width, channels)), **how
        )[0]
        units = np.eye(width * channels).reshape(-1, width, channels)
        both = np.concatenate([units, -units])
        sides = idm.one_layer_conv_mse(image, test, both, **how)
        forms = np.sum(sides) / 2 - len(units) * at_zero
        found = idm.expected_mse(image, kernel, test, scale=scale, **how)
        expected = at_zero + scale**2 * forms
        assert found == pytest.approx(expected, rel=1e-11, abs=1e-25)
        if not how and idm.patch_rank(image, kernel).full:
            assert found == 0.0


def test_the_expected_error_along_descent():
    rng = np.random.default_rng(9)
    image, test = rng.standard_normal((6, 6)), rng.standard_normal((9, 7))
    steps = np.array([[0, 1], [50, 10**6]])
    found = idm.expected_mse(
        image, 3, test, scale=0.5, steps=steps, learning_rate=0.01, momentum=0.3
    )
    assert found.shape == (2, 2)
    x = idm.patches(test, 3)
    # At the start A is the identity.
    start = 0.25 * np.mean(np.sum(x**2, axis=1)) + np.mean(test**2)
    assert found[0, 0] == pytest.approx(start, rel=1e-12)
    assert found[0, 0] > found[0, 1] > found[1, 0]
    assert found[1, 1] < 1e-20


def test_large_images_go_block_by_block():
    # 112 x 112 pixels, three channels, kernel 29: 2,523 columns, 250 MB if formed.
    rng = np.random.default_rng(10)
    image, test = rng.standard_normal((4, 4, 3)), rng.standard_normal((60, 60, 3))
    w0 = rng.standard_normal((29**2 * 3, 3))
    seen = idm.one_layer_conv_prediction(image, test, w0)
    weights = idm.one_layer_conv_weights(image, 29, w0)
    for i, j in ((0, 0), (31, 17), (59, 59)):
        patch = np.pad(test, ((14, 14), (14, 14), (0, 0)))[i : i + 29, j : j + 29]
        expected = patch.transpose(2, 0, 1).ravel() @ weights
        # 2,523 products of order one each.
        np.testing.assert_allclose(seen[i, j], expected, rtol=0, atol=1e-11)


def test_framework_layout_round_trip():
    rng = np.random.default_rng(11)
    theta = rng.standard_normal((4, 2, 3, 3))
    weights = idm.weights_from_framework(theta)
    assert weights.shape == (18, 4)
    np.testing.assert_array_equal(idm.weights_to_framework(weights, 3), theta)
    # Correlation, not flipped: output channel 3 at a pixel is a plain sum of products.
    image = rng.standard_normal((5, 5, 2))
    window = image[1:4, 2:5].transpose(2, 0, 1)
    found = (idm.patches(image, 3) @ weights).reshape(5, 5, 4)[2, 3, 3]
    assert found == pytest.approx(np.sum(theta[3] * window), rel=1e-12)


def test_layouts_are_copies_where_they_agree():
    theta = np.ones((1, 2, 3, 3))  # one output: both layouts are one list of numbers
    weights = idm.weights_from_framework(theta)
    assert not np.shares_memory(weights, theta)
    assert not np.shares_memory(idm.weights_to_framework(weights, 3), weights)


# --- the error on one patch -----------------------------------------------------------


def test_the_printed_split_is_no_bound():
    image, w0 = np.array([[1.0, 2.0], [3.0, -1.0]]), np.full((9, 1), 10.0)
    exact = idm.worst_patch_error(image, 3, w0)
    assert round(exact, 2) == 308.82
    assert round(idm.split_patch_bound(image, 3, w0, form="printed"), 2) == 18.32
    assert round(idm.split_patch_bound(image, 3, w0), 2) == 322.38


@settings(max_examples=40)
@given(st.integers(1, 4), st.integers(1, 3), kernels, seeds)
def test_the_corrected_split_bounds_every_patch(side, channels, kernel, seed):
    rng = np.random.default_rng(seed)
    image = rng.standard_normal((side, side, channels))
    w0 = rng.standard_normal((kernel**2 * channels, channels))
    worst = idm.worst_patch_error(image, kernel, w0)
    assert worst <= idm.split_patch_bound(image, kernel, w0) * (1 + 1e-12)
    limit = idm.one_layer_conv_weights(image, kernel, w0)
    off = limit - idm.centre_selector(kernel, channels)
    rank = idm.patch_rank(image, kernel)
    size = (1 + np.linalg.norm(w0)) ** 2
    assert worst == pytest.approx(
        np.linalg.norm(off, 2) ** 2, rel=1e-9, abs=100 * EPS * rank.condition * size
    )
    if rank.full:
        assert worst == idm.split_patch_bound(image, kernel, w0) == 0.0
