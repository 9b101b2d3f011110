r"""From an optimiser's settings to the penalty and the time of the formulas.

The formulas minimise ``sum_n e_n^2 + lambda rho^2`` by gradient flow. A framework's SGD
follows ``gradient of (c sum_n e_n^2) + weight_decay * parameter``, where c depends on the
reduction of the loss. Dividing by c,

.. math:: \dot w = -c\,\nabla\Big[\sum_n e_n^2 + \frac{d}{2c} \|w\|^2\Big], \qquad
    \lambda = \frac{d}{2c}, \qquad dt = \frac{\eta\, c}{1 - \mu}

for weight decay d, rate eta and heavy-ball momentum mu: momentum moves no equilibrium.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from theory import _checks
from theory._quadratic import checked_momentum

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
    penalty = _checks.result(who, 0.5 * decay * inverse, "weight_decay", "examples")
    return OptimiserScale(
        penalty=0.0 if decayed == "directions" else penalty,
        rate=eta / inverse,
        momentum=mu,
        equilibrium="unnormalised" if decayed == "all" else "normalised",
    )
