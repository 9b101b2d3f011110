import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from empirical.identity_map.probes import (
    LAWS,
    RHOS,
    placed_at,
    probes,
    random_pixels,
)
from empirical.randomness import torch_generator


def image(shape=(1, 7, 6), *, name="image", scale=1.0, shift=0.0):
    pixels = random_pixels(shape, generator=torch_generator(7, name))
    return shift + scale * pixels


def cosines(drawn, target):
    """In extended precision, over the last three axes."""
    rows = drawn.flatten(-3).numpy().astype(np.longdouble)
    x = target.flatten().numpy().astype(np.longdouble)
    inner = (rows * x).sum(axis=-1)
    return inner / np.sqrt((rows**2).sum(axis=-1) * (x**2).sum())


class TestProbes:
    @settings(max_examples=60)
    @given(
        rho=st.floats(-1.0, 1.0),
        shape=st.tuples(st.integers(1, 3), st.integers(1, 8), st.integers(2, 8)),
        law=st.sampled_from(LAWS),
        scale=st.sampled_from([1e-30, 1.0, 1e30]),
        shift=st.sampled_from([0.0, 0.5]),
    )
    def test_cosine_and_norm_are_exact(self, rho, shape, law, scale, shift):
        x = scale * (image(shape) + shift)
        drawn = probes(x, (rho,), count=3, generator=torch_generator(7, "z"), law=law)
        # Ten roundings of unit vectors of at most 192 pixels, each 192 eps at worst.
        assert np.abs(cosines(drawn, x) - rho).max() <= 1e-12
        norms = drawn.flatten(-3).norm(dim=-1)
        assert float((norms / x.norm() - 1.0).abs().max()) <= 1e-12

    def test_a_wrong_cosine_is_seen(self):
        x = image()
        drawn = probes(x, (0.5,), count=3, generator=torch_generator(7))
        assert np.abs(cosines(drawn, x) - 0.500001).max() > 1e-12

    @pytest.mark.parametrize("rho", [-0.9, -0.1, 0.0, 0.3, 0.99])
    def test_is_the_root_of_the_quadratic(self, rho):
        x = image()
        z = image((4, 1, 7, 6), name="z", shift=0.3)
        flat, target = z.flatten(1).numpy(), x.flatten().numpy()
        inner, size = flat @ target, target @ target
        norms = (flat**2).sum(axis=1)
        # cos^2 = rho^2: quadratic in alpha, solved as it stands.
        a = size**2 - rho**2 * size**2
        b = 2 * inner * size * (1 - rho**2)
        c = inner**2 - rho**2 * size * norms
        # At rho = 0 the discriminant is zero up to rounding of either sign.
        spread = np.sqrt(np.maximum(b * b - 4 * a * c, 0.0))
        roots = [(-b + s * spread) / (2 * a) for s in (1, -1)]
        sums = [flat + r[:, None] * target for r in roots]
        pick = next(s for s in sums if np.all(s @ target * rho >= 0.0))
        want = pick / np.linalg.norm(pick, axis=1)[:, None] * np.sqrt(size)
        got = placed_at(z, x, (rho,))[0].flatten(1).numpy()
        # The quadratic as it stands loses half the digits at rho = 0 (double root).
        tolerance = 1e-6 if rho == 0.0 else 1e-12
        np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * np.sqrt(size))

    @pytest.mark.parametrize("share", [1e-2, 1e-4, 1e-7])
    def test_noise_almost_along_the_image_is_exact_too(self, share):
        # One subtraction leaves a part along the image of eps / share.
        x = image()
        z = x + share * image((3, 1, 7, 6), name="z")
        drawn = placed_at(z, x, (0.0, 0.5))
        want = np.array([[0.0], [0.5]])
        assert np.abs(cosines(drawn, x) - want).max() <= 1e-12

    def test_ends_are_the_image_and_its_negative(self):
        x = image()
        drawn = probes(x, (-1.0, 1.0), count=2, generator=torch_generator(7))
        for got, want in zip(drawn, (-x, x), strict=True):
            torch.testing.assert_close(got, want.expand_as(got), rtol=1e-14, atol=1e-14)

    def test_direction_across_is_uniform_for_gaussian_pixels(self):
        # u across x, unit, in R^(d-1): each coordinate of a basis has variance
        # 1/(d-1) and fourth moment 3/((d-1)(d+1)).
        x, n = image((1, 3, 3)), 20_000
        drawn = probes(x, (0.0,), count=n, generator=torch_generator(7))[0].flatten(1)
        basis = np.linalg.qr(np.column_stack([x.flatten().numpy(), np.eye(9)[:, :8]]))[
            0
        ][:, 1:]
        coordinates = drawn.numpy() @ basis / float(x.norm())
        variance = 1 / 8
        fourth = 3 / (8 * 10)
        # 5 standard errors over 8 + 28 entries: a false alarm in 5e4.
        covariance = coordinates.T @ coordinates / n
        error = np.sqrt((fourth - variance**2) / n)
        assert np.abs(np.diag(covariance) - variance).max() < 5 * error
        off = covariance[np.triu_indices(8, 1)]
        assert np.abs(off).max() < 5 * np.sqrt(1 / 80 / n)
        assert np.abs(coordinates.mean(axis=0)).max() < 5 * np.sqrt(variance / n)

    def test_correlations_share_their_noise(self):
        x = image()
        few = probes(x, (0.5,), count=2, generator=torch_generator(7))
        many = probes(x, RHOS, count=2, generator=torch_generator(7))
        assert torch.equal(few[0], many[5])
        assert many.shape == (11, 2, 1, 7, 6)

    def test_laws_differ_and_streams_repeat(self):
        x = image()
        a, b = (
            probes(x, count=1, generator=torch_generator(7), law=law) for law in LAWS
        )
        assert not torch.equal(a, b)
        again = probes(x, count=1, generator=torch_generator(7))
        assert torch.equal(a, again)

    @pytest.mark.parametrize("bad", [0.0, math.nan, math.inf])
    def test_an_image_without_direction_is_refused(self, bad):
        x = torch.full((1, 3, 3), bad)
        with pytest.raises(ValueError, match="must be finite and not zero"):
            probes(x, count=1, generator=torch_generator(7))

    @pytest.mark.parametrize("shape", [(1, 1, 1), (3, 3), (2, 1, 3, 3)])
    def test_bad_shape(self, shape):
        with pytest.raises(ValueError, match=r"must have shape \(C, H, W\)"):
            probes(torch.ones(shape), count=1, generator=torch_generator(7))

    @pytest.mark.parametrize("rhos", [(1.1,), (0.5, -1.01), (math.nan,), ()])
    def test_bad_correlations(self, rhos):
        with pytest.raises(ValueError, match=r"`rhos` must lie in \[-1, 1\]"):
            probes(image(), rhos, count=1, generator=torch_generator(7))

    def test_bad_count_and_law(self):
        with pytest.raises(ValueError, match="`count` must be at least 1"):
            probes(image(), count=0, generator=torch_generator(7))
        with pytest.raises(ValueError, match="`law` must be one of"):
            probes(image(), count=1, generator=torch_generator(7), law="cauchy")

    def test_noise_along_the_image_is_refused(self):
        x = image()
        noise = torch.stack([image(name="z"), 2.0 * x])
        with pytest.raises(ValueError, match=r"1 of 2 have not, e\.g\. row 1"):
            placed_at(noise, x, (0.5,))
        with pytest.raises(ValueError, match="part across the image"):
            placed_at(0.0 * noise, x, (0.5,))
        for noise in (torch.rand(4, 1, 3, 2), torch.rand(4, 6), torch.rand(1, 2, 3)):
            with pytest.raises(ValueError, match=r"of shape \(count, 1, 2, 3\), but"):
                placed_at(noise, torch.rand(1, 2, 3), (0.3,))
        with pytest.raises(ValueError, match=r"placed_at: `rhos` must lie in"):
            placed_at(torch.rand(4, 1, 2, 3), torch.rand(1, 2, 3), (3.0,))
        with pytest.raises(ValueError, match="must be finite images of shape"):
            placed_at(noise * math.nan, x, (0.5,))
        with pytest.raises(ValueError, match="must be finite images of shape"):
            placed_at(noise[..., :3], x, (0.5,))
