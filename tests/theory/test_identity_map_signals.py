"""Signals of wide convolutional networks, and what one image promises."""

import mpmath
import numpy as np
import pytest
from scipy.signal import convolve2d

from theory import activations as act
from theory import identity_map as idm

EPS = float(np.finfo(float).eps)


def by_duals(x, y, kernel, layers, weight_var, bias_var):
    """The same by covariances and the dual of ReLU, a pixel at a time."""
    box = np.full((kernel, kernel), 1.0 / kernel**2)

    def mean(values):
        return convolve2d(values, box, mode="same")

    q, r, c = (mean(v) * weight_var + bias_var for v in (x * x, y * y, x * y))
    found = [(q, 0.5 * (q + r) - c)]
    for _ in range(layers - 1):
        rho = np.clip(c / np.sqrt(q * r), -1.0, 1.0)
        both = np.sqrt(q * r) * act.relu.dual(rho)
        q, r, c = (weight_var * mean(v) + bias_var for v in (0.5 * q, 0.5 * r, both))
        found.append((q, 0.5 * (q + r) - c))
    return found


@pytest.mark.parametrize("bias_var", [0.0, 0.02])
@pytest.mark.parametrize("weight_var", [1.0 / 3.0, 2.0])
def test_signals_are_those_of_duals(weight_var, bias_var):
    x, y = np.random.default_rng(3).standard_normal((2, 6, 5))
    found = idm.wide_signals(x, y, 3, 6, weight_var=weight_var, bias_var=bias_var)
    for layer, (q, d) in enumerate(by_duals(x, y, 3, 6, weight_var, bias_var)):
        np.testing.assert_allclose(found.lengths[layer], q, rtol=1e-13)
        # The twin subtracts covariances: it has their rounding.
        atol = 200 * EPS * float(q.max())
        np.testing.assert_allclose(found.differences[layer], d, rtol=0, atol=atol)


def test_a_single_pixel_to_fifty_digits():
    weight, bias, layers = 1.0 / 3.0, 1e-3, 30
    found = idm.wide_signals([[3.0]], [[-1.0]], 1, layers, bias_var=bias)
    with mpmath.workdps(50):
        w, b = mpmath.mpf(weight), mpmath.mpf(bias)
        q, r, c = (w * v + b for v in (9, 1, -3))
        for layer in range(layers):
            if layer:
                t = mpmath.acos(c / mpmath.sqrt(q * r))
                both = mpmath.sqrt(q * r) / (2 * mpmath.pi)
                both *= mpmath.sin(t) + (mpmath.pi - t) * mpmath.cos(t)
                q, r, c = (w * v + b for v in (q / 2, r / 2, both))
            d = (q + r) / 2 - c
            assert found.lengths[layer, 0, 0] == pytest.approx(float(q), rel=1e-14)
            assert found.differences[layer, 0, 0] == pytest.approx(float(d), rel=1e-12)


def test_an_image_is_no_different_from_itself_and_zero_has_no_signal():
    x = np.eye(4)
    same = idm.wide_signals(x, x, 3, 5, bias_var=0.1)
    assert not same.differences.any()
    assert not same.shares.any()
    none = idm.wide_signals(0 * x, 0 * x, 3, 5)
    assert not none.lengths.any()
    assert np.isnan(none.shares).all()
    assert same != none  # objects, whose arrays are not compared


def test_colour_is_a_mean_over_channels():
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((2, 4, 4))
    grey = idm.wide_signals(x, y, 3, 3, bias_var=0.1)
    one, other = (np.stack([v, v, v], axis=2) for v in (x, y))
    colour = idm.wide_signals(one, other, 3, 3, bias_var=0.1)
    np.testing.assert_allclose(colour.differences, grey.differences, rtol=1e-14)


def test_a_promise_is_rank_and_bound_together():
    image = np.array([[1.0, 2.0], [3.0, -1.0]])
    found = idm.promise(image, 3, scale=0.2, delta=0.01, form="printed")
    rank = idm.patch_rank(image, 3)
    bound = idm.mse_bound(
        rank.nullity, 3, 1, pixel_bound=3.0, scale=0.2, delta=0.01, form="printed"
    )
    assert (found.rank, found.bound) == (rank, bound)
    assert (found.nullity, found.total) == (5, bound.total)
    wider = idm.promise(image, 3, scale=0.2, pixel_bound=6.0)
    assert wider.total == pytest.approx(4 * idm.promise(image, 3, scale=0.2).total)


@pytest.mark.parametrize("delta", [1e-300, 1e-10, 0.05, 0.9, 1.0 - 2.0**-53])
def test_promises_to_forty_digits(delta):
    """Of five directions left open, with Lambert's function and the chi-square law."""
    image, n = np.array([[1.0, 2.0], [3.0, -1.0]]), 5
    with mpmath.workdps(40):
        p = mpmath.mpf(delta)
        least = -mpmath.lambertw(-mpmath.exp(-1 - 2 * mpmath.log(n / p)), -1).real
        rho = 2 * mpmath.log(n / p) + 1 + mpmath.log(least)
        low, high = mpmath.mpf(-20), mpmath.mpf(8)  # logarithms of half the quantile
        for _ in range(80):
            log = (low + high) / 2
            ends = (
                (mpmath.exp(log), mpmath.inf) if delta < 0.5 else (0, mpmath.exp(log))
            )
            part = mpmath.gammainc(n / 2, *ends, regularized=True)
            less = part > p if delta < 0.5 else part < 1 - p
            low, high = (log, high) if less else (low, log)
        root = mpmath.sqrt(2 * mpmath.exp(low))
        spectral = mpmath.sqrt(n) + 1 + mpmath.sqrt(-2 * mpmath.log(p))
        for scale in (1e-3, 0.3, 30.0):
            sizes = {
                "printed": scale * mpmath.sqrt(n * rho) + mpmath.sqrt(n),
                "sharp": scale * min(root, spectral) + 1,
            }
            for form, size in sizes.items():
                found = idm.promise(image, 3, scale=scale, delta=delta, form=form)
                assert abs(found.total / (9 * size) ** 2 - 1) < 1e-14


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32)])
def test_channels_come_last(shape):
    image = np.random.default_rng(1).standard_normal(shape)
    for call in (
        lambda v: idm.patch_rank(v, 5),
        lambda v: idm.patches(v, 5),
        lambda v: idm.promise(v, 5, scale=0.1),
        lambda v: idm.wide_signals(v, v, 5, 2),
    ):
        with pytest.raises(ValueError, match=r"channels last, .*PyTorch's"):
            call(image)
    assert idm.patch_rank(np.moveaxis(image, 0, -1), 5).full


@pytest.mark.parametrize("share", [0.0, 1e-5, 1e-8])
@pytest.mark.parametrize("bias_var", [1e-9, 1e-16])
def test_differences_from_a_far_darker_image(share, bias_var, error):
    found = idm.wide_signals(
        [[1.3]], [[share * 1.3]], 1, 6, weight_var=2.0, bias_var=bias_var
    )
    with mpmath.workdps(60):
        x, y, bias = mpmath.mpf(1.3), mpmath.mpf(share * 1.3), mpmath.mpf(bias_var)
        q, r, c = (2 * v + bias for v in (x * x, y * y, x * y))
        for difference in found.differences.ravel().tolist():
            assert error(difference, (q + r) / 2 - c) <= 4e-15
            size = mpmath.sqrt(q * r)
            angle = mpmath.acos(min(c / size, 1))
            turned = mpmath.sin(angle) + (mpmath.pi - angle) * mpmath.cos(angle)
            q, r, c = q + bias, r + bias, size / mpmath.pi * turned + bias


def test_small_pixels_keep_their_digits_while_their_squares_do():
    x, y = np.random.default_rng(7).standard_normal((2, 8, 8))
    small, size = 2.0**-470, 2.0**-940
    known = idm.wide_signals(x, y, 3, 9)
    found = idm.wide_signals(small * x, small * y, 3, 9)
    assert found.differences.min() > 1e-300
    np.testing.assert_allclose(found.lengths, size * known.lengths, rtol=1e-14, atol=0)
    np.testing.assert_allclose(
        found.differences, size * known.differences, rtol=1e-13, atol=0
    )
