r"""What random first weights leave of an image, in a linear layer and in a deep net.

A trained linear layer: for x at cosine ``rho`` to the training example, and W0 with
independent entries N(0, s^2), Theorem 1 gives ``f(x) = |x| (rho u + sqrt(1 - rho^2) s
z)``, with u the unit training example and z standard normal in d dimensions. Source:
Zhang, Bengio, Hardt, Mozer, Singer 2020, Theorem 1; the expectations are ours.

A wide convolutional ReLU network: weights and biases are independent, of mean zero,
weights of variance ``weight_var`` over the number of inputs of a unit. Then the squared
length of a signal is multiplied by half of ``weight_var`` in every layer and the biases'
variance is added: what comes from the image decays, what comes from the biases does
not. Sources: Neal 1996; Poole, Lahiri, Raghu, Sohl-Dickstein, Ganguli 2016;
Garriga-Alonso, Rasmussen, Aitchison 2019 for convolutions.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory.duals import ArcCosine
from theory.identity_map import _inputs

Array = npt.NDArray[np.float64]

_RELU = ArcCosine.build(1, (np.zeros(2), 1.0), (np.zeros(2), 1.0))

_MOST = 2**24
"""Pixels up to which sums over half of them, and a little more, fit into memory."""


def expected_squared_norm(rho: Any, *, scale: float, dim: int) -> Any:
    r"""Return ``E |f(x)|^2 / |x|^2 = rho^2 + s^2 d (1 - rho^2)``, exactly.

    Arguments as in `expected_cosine_to_train`.

    Returns
    -------
    float or array
        Between 1 and ``s^2 d``; to 4 ulp.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> expected_squared_norm([0.0, 1.0], scale=0.5, dim=8)
    array([2., 1.])
    """
    r, s, d = _arguments("expected_squared_norm", rho, scale, dim)
    with np.errstate(over="ignore", invalid="ignore"):
        out = r * r + s * (s * (d * ((1.0 - r) * (1.0 + r))))
    return _checks.plain(_checks.result("expected_squared_norm", out, "scale"))


def expected_cosine_to_train(
    rho: Any, *, scale: float, dim: int, form: Literal["exact", "ratio"] = "exact"
) -> Any:
    r"""Return the mean cosine of f(x) to the training example.

    .. math:: E\cos = \frac{\kappa\,\Gamma(\frac{d+1}2)}{\sqrt2\,\Gamma(\frac d2+1)}\,
        {}_1F_1\Big(\tfrac12;\tfrac d2+1;-\tfrac{\kappa^2}2\Big)
        \approx \frac{\rho}{\sqrt{\rho^2 + s^2 d(1-\rho^2)}},
        \qquad \kappa = \frac{\rho}{s\sqrt{1-\rho^2}}

    The cosine of a normal vector whose mean has length kappa. The second form divides by
    the root mean square norm: off by O(1/d), too large near rho = 0 and too small near
    rho = 1.

    Parameters
    ----------
    rho : float or array
        Cosine of x to the training example, in [-1, 1].
    scale : float
        Standard deviation s > 0 of the initial weights.
    dim : int
        Number of pixels d >= 2; at most 2^24, but for the second form.
    form : {"exact", "ratio"}

    Returns
    -------
    float or array
        In [-1, 1], odd in `rho`; relative error below 1e-12 for d up to 10,000.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> near = expected_cosine_to_train(0.5, scale=0.05, dim=400, form="ratio")
    >>> round(near, 4), round(expected_cosine_to_train(0.5, scale=0.05, dim=400), 4)
    (0.5, 0.4999)
    """
    return _checks.plain(_cosine("expected_cosine_to_train", rho, scale, dim, form)[1])


def _cosine(who: str, rho: Any, scale: Any, dim: Any, form: str) -> tuple[Array, Array]:
    """Return rho and the mean cosine to the training example."""
    r, s, d = _arguments(who, rho, scale, dim)
    if _checks.choice(who, "form", form, ("exact", "ratio")) == "ratio":
        with np.errstate(over="ignore"):  # beside which no cosine is left
            noise = s * (math.sqrt(d) * np.sqrt((1.0 - r) * (1.0 + r)))
            return r, np.asarray(r / np.hypot(r, noise))
    _summable(who, d, "The form 'ratio' takes more: it is off by O(1/d).")
    return r, _each(lambda k: _mean_cosine(k, d), r, s)


def expected_cosine_to_input(
    rho: Any, *, scale: float, dim: int, form: Literal["exact", "ratio"] = "exact"
) -> Any:
    r"""Return the mean cosine of f(x) to x itself: rho times that to the example.

    The part of ``W0 x`` along the rest of x has a symmetric law whatever the norm is, so
    only the shared direction counts. Arguments and accuracy as in
    `expected_cosine_to_train`.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> expected_cosine_to_input([0.0, 1.0], scale=0.05, dim=400)
    array([0., 1.])
    """
    r, cosine = _cosine("expected_cosine_to_input", rho, scale, dim, form)
    return _checks.plain(r * cosine)


def expected_squared_cosine_to_train(rho: Any, *, scale: float, dim: int) -> Any:
    r"""Return the mean squared cosine of f(x) to the training example.

    .. math:: E\cos^2 = 1 - \frac{d-1}{d}\,
        {}_1F_1\Big(1;\tfrac d2+1;-\tfrac{\kappa^2}2\Big),
        \qquad \kappa = \frac{\rho}{s\sqrt{1-\rho^2}}

    It is 1/d at rho = 0, where the prediction is noise. Arguments and accuracy as in
    `expected_cosine_to_train`.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> expected_squared_cosine_to_train([0.0, 1.0], scale=0.05, dim=4)
    array([0.25, 1.  ])
    """
    who = "expected_squared_cosine_to_train"
    r, s, d = _arguments(who, rho, scale, dim)
    _summable(who, d)

    def square(kappa: float) -> float:
        half, b = 0.5 * kappa * kappa, 0.5 * d + 1.0
        if half > _far(b):
            return 1.0 - (d - 1.0) / (2.0 * half) * _descending(1.0, b, half)
        # Of a chi square with 1 + 2J and one with d - 1 degrees, the former's share.
        return _poisson_mean(half, lambda j: (1.0 + 2.0 * j) / (d + 2.0 * j))

    return _checks.plain(np.abs(_each(square, r, s)))


def _arguments(who: str, rho: Any, scale: Any, dim: Any) -> tuple[Array, float, int]:
    r = _checks.correlation(who, rho)
    s = _checks.scalar(who, "scale", scale, positive=True)
    return r, s, _checks.integer(who, "dim", dim, 2)


def _summable(who: str, dim: int, hint: str = "") -> None:
    need = f"be at most {_MOST}"
    _checks.reject(who, "dim", need, dim > _MOST, dim, hint)


def _each(function: Callable[[float], float], rho: Array, scale: float) -> Array:
    """Apply a function of kappa >= 0; the sign of rho is put back."""
    size = np.abs(rho)
    rest = scale * np.sqrt((1.0 - size) * (1.0 + size))
    values = [
        1.0 if q == 0.0 or p / q > 1e100 else function(p / q)
        for p, q in zip(size.ravel().tolist(), rest.ravel().tolist(), strict=True)
    ]
    return np.copysign(np.array(values).reshape(rho.shape), rho)


def _mean_cosine(kappa: float, dim: int) -> float:
    if kappa == 0.0:
        return 0.0
    half, b = 0.5 * kappa * kappa, 0.5 * dim + 1.0
    if half > _far(b):
        # kappa / sqrt(2) * half**(-1/2) = 1: this series needs no gammas.
        return _descending(0.5, b, half)

    def factors(j: Array) -> Array:
        steps = (b - 1.5 + j[1:]) / (b - 1.0 + j[1:])
        return np.concatenate([[1.0], np.cumprod(steps)])

    # Kummer's e^-x 1F1(b - a; b; x): all terms are positive.
    return kappa * np.sqrt(0.5) * _gamma_ratio(dim) * _poisson_mean(half, factors)


def _gamma_ratio(dim: int) -> float:
    """Gamma((d + 1)/2) / Gamma(d/2 + 1), by its recursion in steps of two."""
    start = np.sqrt(np.pi) if dim % 2 == 0 else 2.0 / np.sqrt(np.pi)
    j = np.arange(2.0 if dim % 2 == 0 else 3.0, dim + 1.0, 2.0)
    return float(start * np.prod((j - 1.0) / j))


def _far(b: float) -> float:
    return max(100.0, 4.0 * b)


def _descending(a: float, b: float, x: float) -> float:
    r"""``Gamma(b - a) / Gamma(b) x^a 1F1(a; b; -x)`` for x above `_far`.

    ``sum_n (a)_n (a - b + 1)_n / (n! x^n)``.
    """
    n = np.arange(0.0, 60.0)
    ratios = (a + n) * (a - b + 1.0 + n) / ((n + 1.0) * x)
    return 1.0 + float(np.cumprod(ratios).sum())


def _poisson_mean(x: float, values: Callable[[Array], Array]) -> float:
    """Return the mean of a function of a Poisson number of mean x."""
    j = np.arange(0.0, np.ceil(x + 14.0 * np.sqrt(x) + 60.0))
    mode = int(x)
    # Weights relative to their mode, then normalised: no gamma functions.
    up = np.cumprod(x / np.arange(mode + 1.0, j.size))
    down = np.cumprod(np.arange(float(mode), 0.0, -1.0) / x) if mode else np.empty(0)
    weights = np.concatenate([down[::-1], [1.0], up])
    return float(weights @ values(j) / weights.sum())


@dataclass(frozen=True, eq=False)
class Signals:
    r"""Pre-activations z of two images in every layer, at every pixel.

    Attributes
    ----------
    lengths : array, shape (layers, H, W)
        :math:`E z_l(x)^2` of the first image.
    differences : array, shape (layers, H, W)
        :math:`\tfrac12 E(z_l(x) - z_l(x'))^2`, to full relative accuracy above 1e-300:
        smaller squares, as of pixels of 1e-160, lose digits and vanish.
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
        If shapes differ, the kernel is even, a variance is negative or not finite, or
        lengths have more than 2^30 entries.

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
    _inputs.writable(who, count * x.shape[0] * x.shape[1], "image", "layers")
    weight = _checks.scalar(who, "weight_var", weight_var)
    given = _checks.not_negative(who, "bias_var", bias_var)
    if given.shape not in ((), (count,)):
        raise ValueError(
            f"{who}: `bias_var` must be one number or of shape ({count},),"
            f" got {given.shape}."
        )
    # Of both images the squares, their difference, and what tells them apart.
    q, other_q = (x**2).mean(axis=2), (y**2).mean(axis=2)
    gap = ((x - y) * (x + y)).mean(axis=2)
    d = 0.5 * ((x - y) ** 2).mean(axis=2)
    lengths, differences = [], []
    with np.errstate(over="ignore", invalid="ignore"):
        for layer, bias in enumerate(np.broadcast_to(given, (count,))):
            if layer:
                d = _behind_relu(q, other_q, gap, d)
                q, other_q, gap = 0.5 * q, 0.5 * other_q, 0.5 * gap
            parts = (weight * _patch_mean(v, size) for v in (q, other_q, gap, d))
            q, other_q, gap, d = parts
            q, other_q = q + bias, other_q + bias
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


def _behind_relu(q: Array, other: Array, gap: Array, d: Array) -> Array:
    """Half the mean squared difference of two ReLUs; ``gap`` is that of lengths."""
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
    lost = _RELU.distance(np.minimum(versine, 2.0))
    return 0.25 * between**2 + product * lost
