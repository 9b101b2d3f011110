r"""Schemes of initial weights, with their exact standard deviations.

A weight of shape (fan_out, fan_in) or (channels out, channels in, K, K) is drawn
with independent entries (but for ``"orthogonal"``), mean zero. With

.. math::
    f_i = C_{in} K^2, \qquad f_o = C_{out} K^2

(K = 1 for a matrix) the standard deviations are

=================== =================================================
``unit``            1, normal
``default``         :math:`(f_i f_o)^{-1/2}`, normal, as printed
``default-sqrt``    :math:`(f_i f_o)^{-1/4}`, normal
``framework``       uniform in :math:`\pm f_i^{-1/2}`: :math:`(3 f_i)^{-1/2}`
``xavier-normal``   :math:`(2/(f_i + f_o))^{1/2}`
``xavier-uniform``  the same, uniform
``kaiming-normal``  :math:`(2/f_i)^{1/2}`
``kaiming-uniform`` the same, uniform
``orthogonal``      orthonormal rows or columns: :math:`\max(r, c)^{-1/2}`
=================== =================================================

where the weight is flattened to r = C_out rows and c = C_in K^2 columns.

The printed scheme shrinks a signal by about (2 f_o)^{-1/2} at every ReLU layer, which
no deep network survives in float32; its square root keeps the signal's order of
magnitude. The framework's is what PyTorch draws where nobody chooses.

References
----------
Zhang, Bengio, Hardt, Mozer, Singer 2020, appendix on initialisations.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from empirical.checks import check_choice

if TYPE_CHECKING:
    import torch
    from torch import Tensor

UNIT = "unit"
"""Of the NTK parametrisation."""

_DEVIATIONS: dict[str, Callable[[int, int], float]] = {
    UNIT: lambda _in, _out: 1.0,
    "default": lambda fan_in, fan_out: (fan_in * fan_out) ** -0.5,
    "default-sqrt": lambda fan_in, fan_out: (fan_in * fan_out) ** -0.25,
    "framework": lambda fan_in, _out: (3.0 * fan_in) ** -0.5,
    "xavier-normal": lambda fan_in, fan_out: (2.0 / (fan_in + fan_out)) ** 0.5,
    "xavier-uniform": lambda fan_in, fan_out: (2.0 / (fan_in + fan_out)) ** 0.5,
    "kaiming-normal": lambda fan_in, _out: (2.0 / fan_in) ** 0.5,
    "kaiming-uniform": lambda fan_in, _out: (2.0 / fan_in) ** 0.5,
}

SCHEMES = (*(name for name in _DEVIATIONS if name != UNIT), "orthogonal")
"""Those that the paper compares, and two more senses of its default."""


def checked(scheme: str) -> str:
    """Return `scheme`; refuse one that is not known, and name the nearest.

    Examples
    --------
    >>> checked("orthogonal")
    'orthogonal'
    """
    check_choice("init", "scheme", scheme, (*SCHEMES, UNIT))
    return scheme


def fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return f_i and f_o of a weight of `shape` (out, in) or (out, in, K, K).

    Examples
    --------
    >>> fans((128, 1, 5, 5))
    (25, 3200)
    """
    taps = math.prod(shape[2:])
    return shape[1] * taps, shape[0] * taps


def deviation(scheme: str, shape: tuple[int, ...]) -> float:
    """Return the standard deviation of an entry of a weight of `shape`.

    Examples
    --------
    The printed scheme, for 128 channels on both sides of a 5 x 5 kernel:

    >>> deviation("default", (128, 128, 5, 5))
    0.0003125
    """
    fan_in, fan_out = fans(shape)
    if checked(scheme) == "orthogonal":
        return max(shape[0], fan_in) ** -0.5
    return _DEVIATIONS[scheme](fan_in, fan_out)


def fill_(weight: "Tensor", scheme: str, *, generator: "torch.Generator") -> "Tensor":
    """Fill one weight in place and return it.

    Parameters
    ----------
    weight : Tensor, shape (out, in) or (out, in, K, K)
        On the generator's device.
    scheme : str
        One of `SCHEMES`, or `UNIT`.
    generator : torch.Generator
        Advanced.

    Examples
    --------
    >>> from empirical.randomness import torch_generator
    >>> import torch
    >>> w = torch.empty(3, 7, dtype=torch.float64)
    >>> _ = fill_(w, "orthogonal", generator=torch_generator(7))
    >>> torch.allclose(w @ w.T, torch.eye(3, dtype=torch.float64))
    True
    """
    scale = deviation(scheme, tuple(weight.shape))
    if scheme == "orthogonal":
        return _fill_orthogonal_(weight, generator)
    if scheme in ("framework", "xavier-uniform", "kaiming-uniform"):
        half = math.sqrt(3.0) * scale
        return weight.uniform_(-half, half, generator=generator)
    return weight.normal_(0.0, scale, generator=generator)


def _fill_orthogonal_(weight: "Tensor", generator: "torch.Generator") -> "Tensor":
    import torch

    rows, columns = weight.shape[0], weight[0].numel()
    tall = torch.empty(
        (max(rows, columns), min(rows, columns)),
        dtype=weight.dtype,
        device=weight.device,
    ).normal_(generator=generator)
    q, r = torch.linalg.qr(tall)
    # With the diagonal of r positive, q is uniform over the orthonormal frames.
    q = q * torch.where(r.diagonal() < 0.0, -1.0, 1.0)
    return weight.copy_((q if rows >= columns else q.T).reshape(weight.shape))
