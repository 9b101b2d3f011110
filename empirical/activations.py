"""Normalised activations as modules, to be put into any network.

>>> net = nn.Sequential(nn.Linear(64, 128), NormReLU(-1.0), nn.Linear(128, 10))
>>> gelu = normalize(nn.functional.gelu)
"""

import math
from collections.abc import Callable, Sequence

from torch import Tensor, nn

from empirical.conditioning.activations import shifted_relu, standardised


class Normalized(nn.Module):
    r"""An activation less its Gaussian mean, over its Gaussian deviation.

    .. math:: x \mapsto (\sigma(x) - E\,\sigma(Z)) / \mathrm{sd}\,\sigma(Z),
        \qquad Z \sim N(0, 1)

    Has no parameters; entries of any shape, dtype and device.

    Parameters
    ----------
    function : callable
        Acts entrywise on tensors.
    kinks : sequence of float
        Where it or a derivative jumps, for the two integrals.

    Attributes
    ----------
    mean, deviation : float
        To 1e-14 of the largest value.

    Raises
    ------
    ValueError
        If `function` is constant, or its variance is not finite.

    References
    ----------
    Agarwal, Awasthi, Kale 2021, equation 2.
    """

    def __init__(
        self, function: Callable[[Tensor], Tensor], *, kinks: Sequence[float] = ()
    ) -> None:
        super().__init__()
        made = standardised(function, kinks=kinks)
        self.function, self.mean, self.deviation = function, made.mean, made.deviation

    def forward(self, x: Tensor) -> Tensor:
        """Evaluate entrywise."""
        # The difference is a tensor of its own, unlike what the function returns.
        return (self.function(x) - self.mean).mul_(1.0 / self.deviation)

    def extra_repr(self) -> str:
        """Return mean and deviation."""
        return f"mean={self.mean:.6g}, deviation={self.deviation:.6g}"


class NormReLU(Normalized):
    r"""ReLU with its kink at c, of Gaussian mean 0 and variance 1.

    .. math:: x \mapsto \lambda_c (\max(x, c) - E \max(Z, c))

    Parameters
    ----------
    c : float
        Kink. At -1.5907658564412686 the slope is SELU's, 1.0507.

    Raises
    ------
    ValueError
        If `c` is not finite, or so large that the variance vanishes.

    References
    ----------
    Agarwal, Awasthi, Kale 2021, equation 4.

    Examples
    --------
    >>> import torch
    >>> NormReLU(0.0)(torch.tensor([-1.0, 0.0, 1.0])).round(decimals=4)
    tensor([-0.6833, -0.6833,  1.0295])
    """

    def __init__(self, c: float = -1.5907658564412686) -> None:
        if not math.isfinite(c):
            raise ValueError(f"NormReLU: `c` must be finite, but it is {c}")
        super().__init__(shifted_relu(c), kinks=(c,))
        self.c = float(c)


def normalize(
    function: Callable[[Tensor], Tensor], *, kinks: Sequence[float] = ()
) -> Normalized:
    """Return any activation of finite variance normalised; see `Normalized`.

    Examples
    --------
    >>> import torch
    >>> f = normalize(torch.relu, kinks=(0.0,))
    >>> round(f.mean, 6), round(f.deviation, 6)
    (0.398942, 0.583819)
    """
    return Normalized(function, kinks=kinks)
