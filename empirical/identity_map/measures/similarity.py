r"""How close a network is to the identity and to the constant.

For an output f(x), a test image x and the training image :math:`\hat x`: cosine and
mean squared error of f(x) to x (the identity) and to :math:`\hat x` (the constant).

What is undefined is said. The cosine of a zero image, which a dead network puts out,
is NaN and counted as `zero`; anything of an output that is not finite is NaN and
counted as `nonfinite`. Means leave NaN out and are NaN where nothing is left. A mean
squared error is defined for a zero output.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from empirical.checks import check_finite
from empirical.identity_map.probes import RHOS, Law, probes

Function = Callable[[Tensor], Tensor]
"""Images (n, C, H, W) to the outputs of many networks, (replicates, n, C, H, W)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Closeness:
    """Closeness to the identity and to the constant.

    Attributes
    ----------
    identity, constant : Tensor, shape (...), float64
        Cosines; NaN where undefined.
    identity_mse, constant_mse : Tensor, shape (...), float64
        Mean squared errors; NaN where the output is not finite.
    zero, nonfinite : Tensor, shape (...), bool
        Outputs that are zero, or not finite.
    """

    identity: Tensor
    constant: Tensor
    identity_mse: Tensor
    constant_mse: Tensor
    zero: Tensor
    nonfinite: Tensor

    def mean(self, *axes: int) -> dict[str, Tensor]:
        """Average what is defined; ``zero`` and ``nonfinite`` become counts.

        Returns
        -------
        dict
            One tensor for each attribute, without `axes`.
        """
        counted = ("zero", "nonfinite")
        return {
            key: value.sum(dim=axes) if key in counted else value.nanmean(dim=axes)
            for key, value in vars(self).items()
        }


def cosine(a: Tensor, b: Tensor, *, centred: bool = False) -> Tensor:
    r"""Correlate images as flattened vectors.

    .. math:: \frac{a \cdot b}{\|a\| \|b\|},

    means subtracted first when `centred`: Pearson's correlation.

    Parameters
    ----------
    a, b : Tensor, shape (..., C, H, W)
        Leading axes broadcast. Computed in float64, each image scaled by its largest
        pixel first, so that neither 1e-40 nor 1e200 is lost.
    centred : bool

    Returns
    -------
    Tensor, shape (...), float64
        In [-1, 1]; NaN where an image is zero (after centring) or not finite.

    Examples
    --------
    >>> a = torch.tensor([[[3.0, 4.0]]])
    >>> round(cosine(a, torch.tensor([[[4.0, 3.0]]])).item(), 12)
    0.96
    >>> cosine(a, 0.0 * a).item()
    nan
    """
    u, v = (_direction(image, centred=centred) for image in (a, b))
    return (u * v).sum(dim=-1).clamp(-1.0, 1.0)


def mean_squared_error(a: Tensor, b: Tensor) -> Tensor:
    """Return the mean over pixels of ``(a - b)**2``, float64, NaN if not finite.

    Examples
    --------
    >>> mean_squared_error(torch.ones(1, 1, 4), torch.zeros(1, 1, 4)).item()
    1.0
    """
    gap = a.to(torch.float64) - b.to(torch.float64)
    error = gap.square().mean(dim=(-1, -2, -3))
    return torch.where(torch.isfinite(error), error, torch.nan)


def closeness(
    outputs: Tensor, images: Tensor, constant: Tensor, *, centred: bool = False
) -> Closeness:
    """Compare outputs with those of identity and constant, shape (replicates, n).

    Parameters
    ----------
    outputs : Tensor, shape (replicates, n, C, H, W)
    images : Tensor, shape (n, C, H, W)
        What was put in.
    constant : Tensor, shape (C, H, W)
        The training image.
    centred : bool
        Of the cosines.
    """
    finite = torch.isfinite(outputs).flatten(-3).all(dim=-1)
    return Closeness(
        identity=cosine(outputs, images, centred=centred),
        constant=cosine(outputs, constant, centred=centred),
        identity_mse=mean_squared_error(outputs, images),
        constant_mse=mean_squared_error(outputs, constant),
        zero=(outputs == 0).flatten(-3).all(dim=-1),
        nonfinite=~finite,
    )


def heat_map(
    function: Function,
    image: Tensor,
    rhos: Sequence[float] = RHOS,
    *,
    count: int,
    generator: torch.Generator,
    law: Law = "gaussian",
    centred: bool = False,
    dtype: torch.dtype = torch.float64,
) -> Closeness:
    """Compare networks with identity and constant at each correlation.

    Shape (replicates, rhos, count): every network sees the same test images. One column
    of the paper's heat maps; its mean over correlations and images is one point of the
    curve over depths.

    Parameters
    ----------
    function : callable
        Images (n, C, H, W) of `dtype` to (replicates, n, C, H, W).
    image : Tensor, shape (C, H, W)
        The training image.
    rhos, count, generator, law
        See `probes`.
    centred : bool
        Of the cosines.
    dtype : torch.dtype
        What the function takes. The outputs are compared with the rounded images.

    Examples
    --------
    A perfect constant is half correlated with the identity, on average:

    >>> from empirical.randomness import torch_generator
    >>> image = torch.rand(1, 5, 5, generator=torch_generator(7), dtype=torch.float64)
    >>> made = heat_map(
    ...     lambda x: image.expand(1, *x.shape),
    ...     image,
    ...     count=2,
    ...     generator=torch_generator(7),
    ... )
    >>> means = made.mean(1, 2)
    >>> round(means["constant"].item(), 12), round(means["identity"].item(), 12)
    (1.0, 0.5)
    """
    drawn = probes(image, rhos, count=count, generator=generator, law=law)
    tests = drawn.flatten(0, 1).to(dtype)
    target = image.to(device=tests.device, dtype=dtype)
    found = closeness(function(tests), tests, target, centred=centred)
    shape = (-1, len(rhos), count)
    return Closeness(**{name: v.reshape(shape) for name, v in vars(found).items()})


def shares(outputs: Tensor, training: Tensor) -> tuple[Tensor, Tensor]:
    r"""Write outputs as mixtures of training images, by least squares.

    Parameters
    ----------
    outputs : Tensor, shape (..., C, H, W)
    training : Tensor, shape (m, C, H, W)
        Linearly independent.

    Returns
    -------
    coefficients : Tensor, shape (..., m), float64
    explained : Tensor, shape (...)
        Of the squared norm, the part that the mixture has: 1 for an exact mixture. NaN
        for a zero output, both for one that is not finite.

    Raises
    ------
    ValueError
        If `training` is not finite, or not linearly independent, or of another shape
        than outputs.

    Examples
    --------
    >>> pair = torch.eye(2, dtype=torch.float64).reshape(2, 1, 1, 2)
    >>> c, r = shares(torch.tensor([[[0.5, 2.0]]]), pair)
    >>> [round(v, 12) for v in c.tolist()], round(r.item(), 12)
    ([0.5, 2.0], 1.0)
    """
    if outputs.shape[-3:] != training.shape[1:]:
        raise ValueError(
            "shares: `training` must have the outputs' shape "
            f"{tuple(outputs.shape[-3:])}, but it has {tuple(training.shape[1:])}"
        )
    check_finite("shares", "training", training)
    basis = training.to(torch.float64).flatten(1)
    flat = outputs.to(torch.float64).flatten(-3)
    left, values, right = torch.linalg.svd(basis, full_matrices=False)
    if int(torch.linalg.matrix_rank(basis)) < len(basis):
        raise ValueError(
            "shares: `training` must be linearly independent, but of "
            f"{len(basis)} images the smallest singular value is {float(values[-1])}, "
            f"the largest {float(values[0])}"
        )
    inside = flat @ right.T
    coefficients = (inside / values) @ left.T
    # No square under- or overflows.
    top = flat.abs().amax(dim=-1, keepdim=True)
    total = (flat / top).square().sum(dim=-1)
    explained = (inside / top).square().sum(dim=-1) / total
    bad = ~torch.isfinite(flat).all(dim=-1)
    return (
        coefficients.masked_fill(bad[..., None], torch.nan),
        explained.masked_fill(bad, torch.nan).clamp(max=1.0),
    )


def _direction(images: Tensor, *, centred: bool) -> Tensor:
    """Flatten to unit vectors (..., d), float64; NaN where there is no direction."""
    flat = images.to(torch.float64).flatten(-3)
    flat = flat / flat.abs().amax(dim=-1, keepdim=True)
    if centred:
        # A constant image is nothing but ones, of which nothing is left.
        flat = flat - flat.mean(dim=-1, keepdim=True)
    return flat / flat.norm(dim=-1, keepdim=True)
