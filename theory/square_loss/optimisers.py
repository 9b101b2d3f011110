r"""What an optimiser's settings mean: the penalty, the time, and the widest network.

The formulas minimise ``sum_n e_n^2 + lambda rho^2`` by gradient flow. A framework's SGD
follows ``gradient of (c sum_n e_n^2) + weight_decay * parameter``, where c depends on the
reduction of the loss. Dividing by c,

.. math:: \dot w = -c\,\nabla\Big[\sum_n e_n^2 + \frac{d}{2c} \|w\|^2\Big], \qquad
    \lambda = \frac{d}{2c}, \qquad dt = \frac{\eta\, c}{1 - \mu}

for weight decay d, rate eta and heavy-ball momentum mu: momentum moves no equilibrium.
Rate and momentum also limit the width of a batch-normalised network that can be trained
with them, `largest_stable_width`.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from theory import _checks
from theory._quadratic import checked_momentum, rate_limit

Reduction = Literal["mean", "sum", "half-mean", "half-sum"]
Decayed = Literal["scale", "directions", "all"]
Law = Literal["normalised", "unnormalised"]


@dataclass(frozen=True)
class OptimiserScale:
    """An optimiser's settings in the units of the formulas.

    Attributes
    ----------
    penalty : float
        ``lambda``, the `weight_decay` argument of every formula here.
    rate : float
        The step on the sum loss, for `rho_iterates` and `stability_limit`.
    momentum : float
        Heavy-ball momentum.
    equilibrium : {"normalised", "unnormalised"}
        Which law holds at rest: `rho_equilibrium`, eq. (5), or
        `unnormalised_equilibrium`, for layers that all decay and none is normalised.
    """

    penalty: float
    rate: float
    momentum: float
    equilibrium: Law

    @property
    def time_per_step(self) -> float:
        """Time of the gradient flow that one step takes, to first order in the rate."""
        return self.rate / (1.0 - self.momentum)


def torch_scale(
    reduction: Reduction,
    weight_decay: float,
    examples: int,
    rate: float,
    momentum: float = 0.0,
    decayed: Decayed = "scale",
    *,
    batch: int | None = None,
) -> OptimiserScale:
    r"""Convert the settings of ``torch.optim.SGD`` and its loss.

    ========= ============= ==================== =================
    reduction loss          penalty              rate on the sum
    ========= ============= ==================== =================
    mean      mean of e^2   ``N d / 2``          ``eta / N``
    sum       sum of e^2    ``d / 2``            ``eta``
    half-mean half of mean  ``N d``              ``eta / (2 N)``
    half-sum  half of sum   ``d``                ``eta / 2``
    ========= ============= ==================== =================

    Parameters
    ----------
    reduction : {"mean", "sum", "half-mean", "half-sum"}
        Of the squared errors, in the code that trains.
    weight_decay : float
        d >= 0, which adds ``d w`` to the gradient (half of what a penalty ``d |w|^2``
        would add).
    examples : int
        N, the size of the training set, not of a batch.
    rate : float
        eta > 0.
    momentum : float
        mu in [0, 1), without dampening; Nesterov's has the same equilibrium and time.
    decayed : {"scale", "directions", "all"}
        Which parameters decay. "scale": rho, the last layer behind a normalisation, or
        every parameter of a network with batch or weight normalisation (the other decays
        change no function, only effective steps). "directions": only those others, so
        that no penalty is left. "all": every matrix of a network without normalisation.
    batch : int, optional
        Size of a minibatch. A mean is unbiased by it; a *sum* over a batch is
        ``batch / N`` of the sum over all, and the same weight decay means more.

    Returns
    -------
    OptimiserScale

    Raises
    ------
    ValueError
        If a setting is outside its range or unknown.

    Notes
    -----
    Exact but for the rounding of two products. Source: ours; Poggio and Liao 2021 name
    no reduction.

    Examples
    --------
    Two classes of 5,000 images with weight decay 0.01 are a penalty of 50:

    >>> scale = torch_scale(
    ...     reduction="mean", weight_decay=0.01, examples=10_000, rate=0.1, momentum=0.9
    ... )
    >>> scale.penalty, scale.rate, round(scale.time_per_step, 9)
    (50.0, 1e-05, 0.0001)
    """
    who = "torch_scale"
    decay = _checks.scalar(who, "weight_decay", weight_decay)
    eta = _checks.scalar(who, "rate", rate, positive=True)
    count = _checks.integer(who, "examples", examples, 1)
    size = count if batch is None else _checks.integer(who, "batch", batch, 1)
    if size > count:
        need = f"be at most {count}, the number of `examples`"
        raise _checks.refuse(who, "batch", need, size)
    _checks.choice(who, "reduction", reduction, get_args(Reduction))
    _checks.choice(who, "decayed", decayed, get_args(Decayed))
    checked_momentum(who, momentum)
    mu = _checks.scalar(who, "momentum", momentum)
    # 1 / c of the sum over all examples.
    inverse = 2.0 if reduction.startswith("half") else 1.0
    inverse *= float(count)
    if reduction.endswith("sum"):
        inverse /= size
    penalty = _checks.result(who, decay * (0.5 * inverse), "weight_decay", "examples")
    return OptimiserScale(
        penalty=0.0 if decayed == "directions" else penalty,
        rate=eta / inverse,
        momentum=mu,
        equilibrium="unnormalised" if decayed == "all" else "normalised",
    )


def largest_stable_width(rate: Any, momentum: Any = 0.0) -> Any:
    r"""Return the number of features from which on descent of the last layer diverges.

    .. math:: n < \frac{2\pi (1 + \mu)}{\eta}

    for the *mean* over examples of ``(w . h - y)^2``. Batch-normalised pre-activations
    (without gain and shift) have mean 0 and variance 1. Where they are Gaussian, each of
    the n ReLU features h has mean ``m = 1/sqrt(2 pi)``, and the curvature along weights
    that are all alike is

    .. math:: \frac{2\, E(\sum_i h_i)^2}{n} \ge 2 n m^2 = \frac{n}{\pi},

    while heavy ball is stable up to a curvature of ``2 (1 + mu) / eta``.

    Parameters
    ----------
    rate : float or array
        eta > 0; broadcasts against `momentum`.
    momentum : float or array
        mu in [0, 1), heavy ball, without dampening.

    Returns
    -------
    float or array
        A positive real number, not rounded down. Features are units, or channels times
        places where a convolution is flattened.

    Raises
    ------
    ValueError
        If an argument is outside its range, shapes do not broadcast, or the result leaves
        float64.

    Notes
    -----
    Relative error at most 2 eps. Necessary, not sufficient: features that vary together,
    other layers and weight decay d, which adds d, raise the curvature. Source: ours;
    Poggio and Liao 2021 print rates 0.1 and 0.01 with momentum 0.9, and no widths.

    Examples
    --------
    The paper's rates, without convolutions and with them:

    >>> [round(largest_stable_width(rate, momentum=0.9), 2) for rate in (0.1, 0.01)]
    [119.38, 1193.81]
    """
    who = "largest_stable_width"
    eta = _checks.positive(who, "rate", rate)
    mu = checked_momentum(who, momentum)
    _checks.broadcast(who, rate=eta, momentum=mu)
    with np.errstate(over="ignore"):
        out = math.pi * rate_limit(eta, mu)
    return _checks.plain(_checks.result(who, out, "rate"))
