"""Activations by name, brought to zero mean and unit variance by quadrature.

For the command line and the batch. A measurement that faces a prediction takes its
activation as an argument instead.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from empirical.checks import check_choice
from empirical.networks import Elementwise

_REACH = 13.0
"""Beyond it the Gaussian weight is below 1e-37."""


@dataclass(frozen=True, kw_only=True)
class Standardised:
    """An activation minus its Gaussian mean, divided by its standard deviation.

    Attributes
    ----------
    function : callable
    mean, deviation : float
        Of ``function(Z)`` for standard normal Z.
    """

    function: Elementwise
    mean: float
    deviation: float

    def __call__(self, z: Tensor) -> Tensor:
        """Evaluate entrywise."""
        return (self.function(z) - self.mean) / self.deviation


def gaussian_mean(
    function: Callable[[Tensor], Tensor], *, kinks: Sequence[float] = ()
) -> float:
    """Return E[function(Z)] for standard normal Z.

    Gauss-Legendre with 20 nodes on pieces of length at most 1/2, cut at `kinks`: 1e-14
    of the largest value for functions smooth between the kinks on the scale of 1/2.

    Examples
    --------
    >>> abs(gaussian_mean(torch.square) - 1.0) < 1e-14
    True
    """
    if any(math.isnan(kink) for kink in kinks):
        raise ValueError(f"gaussian_mean: `kinks` must be numbers, but are {kinks}")
    nodes, weights = np.polynomial.legendre.leggauss(20)
    inner = sorted(k for k in kinks if -_REACH < k < _REACH)
    ends = [-_REACH, *inner, _REACH]
    total = 0.0
    for left, right in itertools.pairwise(ends):
        cuts = np.linspace(left, right, 1 + math.ceil((right - left) / 0.5))
        half = np.diff(cuts)[:, None] / 2.0
        x = (cuts[:-1, None] + half * (1.0 + nodes)).ravel()
        w = (half * weights).ravel() * np.exp(-x * x / 2.0) / math.sqrt(2.0 * math.pi)
        total += float(w @ function(torch.from_numpy(x)).numpy())
    return total


def standardised(function: Elementwise, *, kinks: Sequence[float] = ()) -> Standardised:
    """Return `function` with zero mean and unit variance under the standard normal.

    Raises
    ------
    ValueError
        If `function` is constant, its variance is not finite, or what lies beyond 13
        deviations may count, as it does for exp(x^2/5).

    References
    ----------
    Agarwal, Awasthi, Kale 2020, equation 2.

    Examples
    --------
    >>> f = standardised(torch.relu, kinks=(0.0,))
    >>> abs(f.mean - (2.0 * math.pi) ** -0.5) < 1e-14
    True
    """
    mean = gaussian_mean(function, kinks=kinks)
    variance = gaussian_mean(lambda z: (function(z) - mean).square(), kinks=kinks)
    # What the integral leaves out: nothing that grows as fast as the weight falls.
    ends = function(torch.tensor([-_REACH, _REACH], dtype=torch.float64)) - mean
    left_out = float(ends.square().max()) * math.exp(-(_REACH**2) / 2.0)
    # Of a constant less its mean rounding is left: none of its digits.
    rounding = (1e-13 * mean) ** 2
    if not (rounding < variance < math.inf and left_out < 1e-12 * variance):
        raise ValueError(
            "standardised: `function` must have a finite, positive variance under the "
            f"standard normal, all of it within {_REACH:g} deviations, but there it is "
            f"{variance}"
        )
    return Standardised(function=function, mean=mean, deviation=math.sqrt(variance))


def shifted_relu(kink: float) -> Elementwise:
    """Return x -> max(x - kink, 0); standardised, it is NormReLU.

    Examples
    --------
    >>> shifted_relu(-1.0)(torch.tensor([-2.0, 0.0, 1.0]))
    tensor([0., 1., 2.])
    """
    if not math.isfinite(kink):
        raise ValueError(f"shifted_relu: `kink` must be finite, but it is {kink}")
    return lambda z: (z - kink).relu_()


_F = torch.nn.functional

_KNOWN: dict[str, tuple[Elementwise, tuple[float, ...]]] = {
    "relu": (torch.relu, (0.0,)),
    "identity": (lambda z: z, ()),
    "relu6": (_F.relu6, (0.0, 6.0)),
    "relu_squared": (lambda z: torch.relu(z).square(), (0.0,)),
    "leaky_relu(0.01)": (_F.leaky_relu, (0.0,)),
    "abs": (torch.abs, (0.0,)),
    "step": (lambda z: (z > 0.0).to(z.dtype), (0.0,)),
    "sign": (torch.sign, (0.0,)),
    "hard_tanh": (_F.hardtanh, (-1.0, 1.0)),
    "hard_sigmoid": (_F.hardsigmoid, (-3.0, 3.0)),
    "hard_swish": (_F.hardswish, (-3.0, 3.0)),
    "tanh": (torch.tanh, ()),
    "tanh3": (lambda z: torch.tanh(3.0 * z), ()),
    "erf": (torch.special.erf, ()),
    "sin": (torch.sin, ()),
    "cos": (torch.cos, ()),
    "exp": (torch.exp, ()),
    "arctan": (torch.arctan, ()),
    "asinh": (torch.asinh, ()),
    "gaussian": (lambda z: torch.exp(-0.5 * z.square()), ()),
    "sigmoid": (torch.sigmoid, ()),
    "softplus": (_F.softplus, ()),
    "softsign": (_F.softsign, (0.0,)),
    "log_cosh": (lambda z: torch.log(torch.cosh(z)), ()),
    "gelu": (_F.gelu, ()),
    "quick_gelu": (lambda z: z * torch.sigmoid(1.702 * z), ()),
    "silu": (_F.silu, ()),
    "mish": (_F.mish, ()),
    "elu": (_F.elu, (0.0,)),
    "selu": (_F.selu, (0.0,)),
    # But for what their moments take away.
    "hermite2": (torch.square, ()),
    "hermite3": (lambda z: (z.square() - 3.0) * z, ()),
    "hermite4": (lambda z: (z.square() - 6.0) * z.square(), ()),
}

NAMES = (*_KNOWN, "relu<kink>")
"""What `named` understands; ``relu-1.6`` has its kink at -1.6, ``relu6.0`` at 6."""


def named(name: str) -> Standardised:
    """Return the standardised activation called `name`.

    Examples
    --------
    >>> named("relu-1.59076585644126852").deviation  # 1 / SELU's scale
    0.951745...
    """
    if name in _KNOWN:
        function, kinks = _KNOWN[name]
        return standardised(function, kinks=kinks)
    try:
        kink = float(name.removeprefix("relu")) if name.startswith("relu") else math.nan
    except ValueError:
        kink = math.nan
    if name.lower().startswith("normrelu"):
        raise ValueError(
            "named: `name` must be relu<kink> for NormReLU, relu-1.0 with its kink at -1,"
            f" but it is {name!r}"
        )
    if not math.isfinite(kink):
        check_choice("named", "name", name, NAMES)
        raise ValueError(
            f"named: `name` must give a number for <kink>, but is {name!r}"
        )
    return standardised(shifted_relu(kink), kinks=(kink,))
