r"""Test images at a given correlation with a training image.

The construction: random pixels z, then :math:`z + \alpha \hat x` with the
:math:`\alpha` that makes its cosine with :math:`\hat x` equal :math:`\rho`, scaled to
the norm of :math:`\hat x`. Squaring the condition gives a quadratic in :math:`\alpha`
whose two roots belong to :math:`\rho` and :math:`-\rho`. Written with the parts of z
along and across :math:`\hat x`, the root of the right sign and the scaled image are

.. math::
    \alpha = \frac{\rho \|z_\perp\|}{\sqrt{1 - \rho^2} \|\hat x\|}
             - \frac{z \cdot \hat x}{\|\hat x\|^2}, \qquad
    \rho \hat x + \sqrt{1 - \rho^2}\, \|\hat x\| \frac{z_\perp}{\|z_\perp\|},

the same image without the cancellation, finite at :math:`\rho = \pm 1` where
:math:`\alpha` is not. Only the direction of :math:`z_\perp` matters, so that the law
of z does not; for Gaussian z it is uniform on the unit sphere across :math:`\hat x`.

References
----------
Zhang, Bengio, Hardt, Mozer, Singer 2020, section on heat maps (correlations in [0, 1];
here negative ones too).
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from empirical.checks import check_choice, check_counts

Law = Literal["gaussian", "uniform"]
LAWS = ("gaussian", "uniform")
RHOS = tuple(k / 10 for k in range(11))
"""Correlations 0, 0.1, ..., 1."""


def probes(
    image: Tensor,
    rhos: Sequence[float] = RHOS,
    *,
    count: int,
    generator: torch.Generator,
    law: Law = "gaussian",
) -> Tensor:
    """Return random images at each correlation, (rhos, count, C, H, W), float64.

    The noise is drawn once and shared by all correlations: along them an image moves
    on a half circle through `image`, and another list of correlations leaves it where
    it was.

    Parameters
    ----------
    image : Tensor, shape (C, H, W)
        Not zero. Computed in float64 whatever its dtype.
    rhos : sequence of float
        In [-1, 1].
    count : int
        Images at each correlation.
    generator : torch.Generator
        Advanced by `count` images. Lives on the CPU.
    law : {"gaussian", "uniform"}
        Of the random pixels: standard normal, or uniform on [0, 1].

    Raises
    ------
    ValueError
        If an argument is outside its range, or the image is zero or has one pixel,
        which leaves no direction across it.

    Notes
    -----
    Cosine and norm are exact to a few roundings, 1e-12 for up to a million pixels.

    Examples
    --------
    >>> from empirical.randomness import torch_generator
    >>> image = torch.tensor([[[3.0, 0.0], [0.0, 4.0]]], dtype=torch.float64)
    >>> drawn = probes(image, (0.6,), count=100, generator=torch_generator(7))
    >>> inner = (drawn * image).sum(dim=(-1, -2, -3)) / 25.0
    >>> bool((inner - 0.6).abs().max() < 1e-15)
    True
    """
    check_counts("probes", count=count)
    noise = random_pixels((count, *image.shape), generator=generator, law=law)
    return placed_at(noise.to(image.device), image, rhos)


def placed_at(noise: Tensor, image: Tensor, rhos: Sequence[float]) -> Tensor:
    """Move random pixels to correlations with an image, (rhos, count, C, H, W), float64.

    Parameters
    ----------
    noise : Tensor, shape (count, C, H, W)
        The z of the construction.
    image : Tensor, shape (C, H, W)
    rhos : sequence of float

    Raises
    ------
    ValueError
        If the image is zero, not finite or of one pixel, a correlation is outside
        [-1, 1], or the noise is not of such images, or has no part across this one, as
        far as float64 can tell.
    """
    target = _checked_image(image)
    rho = torch.tensor(rhos, dtype=torch.float64, device=target.device)
    if not len(rho) or not bool((rho.abs() <= 1.0).all()):
        raise ValueError(
            f"placed_at: `rhos` must lie in [-1, 1], at least one, but they are {rhos}"
        )
    along = (target / target.norm()).flatten()
    z = noise.to(torch.float64).flatten(1) if noise.ndim > 1 else noise
    if noise.shape[1:] != image.shape or not bool(torch.isfinite(z).all()):
        raise ValueError(
            "placed_at: `noise` must be finite images of shape (count, "
            f"{', '.join(map(str, image.shape))}), but it has shape {tuple(noise.shape)}, "
            "or is not finite"
        )
    across = z - (z @ along)[:, None] * along
    lost = across.norm(dim=1) <= 1e-8 * z.norm(dim=1)
    if bool(lost.any()):
        raise ValueError(
            "placed_at: `noise` must have a part across the image, but "
            f"{int(lost.sum())} of {len(z)} have not, e.g. row "
            f"{int(lost.nonzero()[0])}. Draw others."
        )
    # A second time: the first leaves a part along the image of eps |z|.
    across = across / across.norm(dim=1, keepdim=True)
    across = across - (across @ along)[:, None] * along
    across = across / across.norm(dim=1, keepdim=True)
    # (1 - rho)(1 + rho): accurate at both ends.
    sine = ((1.0 - rho) * (1.0 + rho)).sqrt()
    mixed = rho[:, None, None] * along + sine[:, None, None] * across
    return (target.norm() * mixed).reshape(len(rho), *noise.shape)


def random_pixels(
    shape: Sequence[int], *, generator: torch.Generator, law: Law = "gaussian"
) -> Tensor:
    """Return independent pixels, standard normal or uniform on [0, 1], float64."""
    check_choice("random_pixels", "law", law, LAWS)
    draw = torch.randn if law == "gaussian" else torch.rand
    return draw(tuple(shape), generator=generator, dtype=torch.float64)


def _checked_image(image: Tensor) -> Tensor:
    if image.ndim != 3 or image.numel() < 2:
        raise ValueError(
            f"placed_at: `image` must have shape (C, H, W) and at least two pixels, but "
            f"its shape is {tuple(image.shape)}"
        )
    target = image.detach().to(torch.float64)
    size = float(target.abs().max())
    if not 1e-150 < size < 1e150:
        # Beyond, or NaN: the norm is not a positive number.
        raise ValueError(
            f"placed_at: `image` must be finite and not zero, but its largest pixel is "
            f"{size}. A zero image has no correlation with anything."
        )
    return target
