r"""What of an image is left, layer by layer, in a wide convolutional ReLU network.

Weights and biases are independent, of mean zero, weights of variance ``weight_var`` over
the number of inputs of a unit. Then the squared length of a signal is multiplied by
half of ``weight_var`` in every layer and the biases' variance is added: what comes from
the image decays, what comes from the biases does not. Sources: Neal 1996; Poole,
Lahiri, Raghu, Sohl-Dickstein, Ganguli 2016; Garriga-Alonso, Rasmussen, Aitchison 2019
for convolutions.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory.identity_map import _inputs

Array = npt.NDArray[np.float64]

_SMALL = 0.3
"""Angle below which the series is used: its first term left out is below 1e-17."""


@dataclass(frozen=True)
class Signals:
    r"""Pre-activations z of two images in every layer, at every pixel.

    Attributes
    ----------
    lengths : array, shape (layers, H, W)
        :math:`E z_l(x)^2` of the first image.
    differences : array, shape (layers, H, W)
        :math:`\tfrac12 E(z_l(x) - z_l(x'))^2`, to full relative accuracy.
    """

    lengths: Array = field(repr=False)
    differences: Array = field(repr=False)

    @property
    def shares(self) -> Array:
        """Root of the mean difference over the mean length, shape (layers,).

        Of the signal's size, what depends on the image; 0 if nothing does. NaN where
        there is no signal.
        """
        means = self.differences.mean(axis=(1, 2)), self.lengths.mean(axis=(1, 2))
        with np.errstate(invalid="ignore"):
            return np.sqrt(means[0] / means[1])


def wide_signals(
    image: Any,
    other: Any,
    kernel_size: int,
    layers: int,
    *,
    weight_var: float = 1.0 / 3.0,
    bias_var: Any = 0.0,
) -> Signals:
    r"""Return how much of two images is left in every layer, at random weights.

    .. math:: q_{l+1} = \tfrac{\sigma_w^2}{2}\,\overline{q_l} + \sigma_b^2, \qquad
        d_{l+1} = \tfrac{\sigma_w^2}{2}\;\overline{d_l
            - \tfrac{\sqrt{q_l q_l'}}{\pi}(\sin\theta_l - \theta_l\cos\theta_l)}

    with q the lengths of the two images, d the `Signals.differences`, :math:`\theta` the
    angle between their signals, and the bar the mean over a pixel's patch, zero outside
    of the image. So images become indistinguishable beside biases at the rate
    :math:`(\sigma_w^2/2)^{1/2}` a layer, 0.41 as PyTorch draws weights.

    Parameters
    ----------
    image, other : array, shape (H, W) or (H, W, C)
        Of one shape.
    kernel_size : int
        Odd K. Zero padding ``K//2``, stride 1.
    layers : int
        At least 1.
    weight_var : float
        Of a weight, times the inputs of a unit. PyTorch's default is 1/3.
    bias_var : float or array, shape (layers,)
        Of a bias. PyTorch's default is ``1 / (3 f)``, f the inputs of a unit.

    Returns
    -------
    Signals

    Raises
    ------
    ValueError
        If shapes differ, the kernel is even, or a variance is negative or not finite.

    Notes
    -----
    Lengths are exact means at any number of channels, for laws symmetric about zero;
    differences at infinitely many, and nearly so at the angles of deep layers.

    Examples
    --------
    Twenty layers of 32 channels. Without biases the signal shrinks, and two images are
    still told apart; with them hardly anything of the images is left:

    >>> rng = np.random.default_rng(7)
    >>> x, y = rng.standard_normal((2, 28, 28))
    >>> none = wide_signals(x, y, 5, 20)
    >>> bool(none.lengths[-1].max() < 1e-15), bool(none.shares[-1] > 0.05)
    (True, True)
    >>> biases = [1 / (3 * 25)] + 19 * [1 / (3 * 25 * 32)]
    >>> bool(wide_signals(x, y, 5, 20, bias_var=biases).shares[-1] < 1e-6)
    True
    """
    who = "wide_signals"
    x = _inputs.image(who, "image", image)
    y = _inputs.image(who, "other", other)
    if x.shape != y.shape:
        raise ValueError(
            f"{who}: `other` must have the shape {x.shape} of `image`, got {y.shape}."
        )
    size = _inputs.kernel(who, kernel_size)
    (count,) = _inputs.whole(who, layers=(layers, 1))
    weight = _checks.scalar(who, "weight_var", weight_var)
    given = _checks.not_negative(who, "bias_var", bias_var)
    if given.shape not in ((), (count,)):
        raise ValueError(
            f"{who}: `bias_var` must be one number or of shape ({count},),"
            f" got {given.shape}."
        )
    # Of both images the squares, their difference, and what tells them apart.
    q = (x**2).mean(axis=2)
    gap = ((x - y) * (x + y)).mean(axis=2)
    d = 0.5 * ((x - y) ** 2).mean(axis=2)
    lengths, differences = [], []
    with np.errstate(over="ignore", invalid="ignore"):
        for layer, bias in enumerate(np.broadcast_to(given, (count,))):
            if layer:
                q, gap, d = 0.5 * q, 0.5 * gap, _behind_relu(q, gap, d)
            q, gap, d = (weight * _patch_mean(v, size) for v in (q, gap, d))
            q = q + bias
            lengths.append(q)
            differences.append(d)
    names = ("image", "other", "weight_var", "bias_var")
    return Signals(
        _checks.result(who, np.stack(lengths), *names),
        _checks.result(who, np.stack(differences), *names),
    )


def _patch_mean(values: Array, size: int) -> Array:
    """Mean over every pixel's patch; sums of few terms, without cancellation."""
    half = size // 2
    for axis in (0, 1):
        pads = [(0, 0), (0, 0)]
        pads[axis] = (half, half)
        padded = np.pad(values, pads)
        windows = np.lib.stride_tricks.sliding_window_view(padded, size, axis=axis)
        values = windows.mean(axis=-1)
    return values


def _behind_relu(q: Array, gap: Array, d: Array) -> Array:
    """Half the mean squared difference of two ReLUs."""
    other = np.maximum(q - gap, 0.0)
    product = np.sqrt(q) * np.sqrt(other)
    roots = np.sqrt(q) + np.sqrt(other)
    between = np.divide(gap, roots, out=np.zeros_like(gap), where=roots > 0.0)
    # 1 - cos of the angle, from differences alone.
    versine = np.divide(
        np.maximum(d - 0.5 * between**2, 0.0),
        product,
        out=np.zeros_like(d),
        where=product > 0.0,
    )
    angle = 2.0 * np.arcsin(np.sqrt(np.minimum(0.5 * versine, 1.0)))
    return 0.5 * d - product / (2.0 * np.pi) * _sine_less_cosine(angle)


def _sine_less_cosine(angle: Array) -> Array:
    """Return sin t - t cos t, without cancellation."""
    t2 = np.minimum(angle, _SMALL) ** 2
    series = t2 * (
        1 / 3 - t2 * (1 / 30 - t2 * (1 / 840 - t2 * (1 / 45360 - t2 / 3991680)))
    )
    direct = np.sin(angle) - angle * np.cos(angle)
    return np.where(angle < _SMALL, angle * series, direct)
