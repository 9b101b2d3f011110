r"""The noise of the perturbed models, and the weights of the three losses.

Source: Lee and Cho 2023, section 3.3: ``Var W_ij = s^2 / n_in`` and ``Var b_i = s^2 /
n_out`` in every layer, with s = sqrt(1/2), and eq. (23). The sums are ours.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory.mmd import _inputs

Array = npt.NDArray[np.float64]

SCALE = math.sqrt(0.5)
"""The paper's s."""


@dataclass(frozen=True)
class Noise:
    """A diagonal covariance: groups of parameters that share a variance.

    Attributes
    ----------
    variances : tuple of float
        Of the weights and the biases, layer by layer: W1, b1, W2, b2, ...
    counts : tuple of int
        How many parameters each belongs to.
    parameters : int
        m, all of them.
    energy : float
        The sum of all variances, ``E|eps|^2``.
    square_energy : float
        The sum of their squares; ``Var |eps|^2`` is twice that.
    largest : float
        The largest variance, alpha in Theorem 1.
    """

    variances: tuple[float, ...]
    counts: tuple[int, ...]
    parameters: int
    energy: float
    square_energy: float
    largest: float


def noise_rule(widths: Sequence[int], scale: float = SCALE) -> Noise:
    r"""Return the paper's noise for a fully connected network.

    .. math:: E\|\epsilon\|^2 = s^2 \sum_k (n_k + 1), \qquad
        \sum_i \sigma_i^4 = s^4 \sum_k \Big(\frac{n_k}{n_{k-1}} + \frac1{n_k}\Big)

    over layers k: the weights of a layer give ``s^2 n_k``, its biases s^2.

    Parameters
    ----------
    widths : sequence of int
        Inputs, hidden layers and classes, ``(784, 392, 392, 392, 2)`` say.
    scale : float
        s, at least 0; the square root of 1/2 in the paper.

    Returns
    -------
    Noise
        To a few eps.

    Raises
    ------
    ValueError
        If there are fewer than 2 classes, a width is not a positive whole number or
        `scale` is negative or above 1e70.

    Examples
    --------
    The noise has length ``sqrt(591) = 24.3``; its largest variance is of the last bias:

    >>> noise = noise_rule((784, 392, 392, 392, 2))
    >>> noise.parameters, round(noise.energy, 6), round(noise.largest, 6)
    (616618, 591.0, 0.25)
    """
    sizes = _inputs.widths("noise_rule", widths)
    size = _checks.scalar("noise_rule", "scale", scale)
    # Its fourth power is summed.
    bad = size > 1e70
    _checks.reject("noise_rule", "scale", "be at most 1e70", bad, size, "")
    s2 = size * size
    variances: list[float] = []
    counts: list[int] = []
    for before, after in itertools.pairwise(sizes):
        variances += [s2 / before, s2 / after]
        counts += [before * after, after]
    pairs = list(zip(counts, variances, strict=True))
    return Noise(
        variances=tuple(variances),
        counts=tuple(counts),
        parameters=sum(counts),
        energy=math.fsum(n * v for n, v in pairs),
        square_energy=math.fsum(n * v * v for n, v in pairs),
        largest=max(variances),
    )


def ball_mean_square(radius: float, dimension: int) -> float:
    r"""Return the mean squared length of a uniform point of a ball.

    .. math:: E\|\theta\|^2 = \frac{r^2 m}{m + 2}

    For large m the normal law ``N(0, r^2 / m)`` has nearly the same length: it is the
    relaxation of Claim 1 to eq. (9).

    Parameters
    ----------
    radius : float
        r, at least 0.
    dimension : int
        m, at least 1.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If `radius` is negative or `dimension` not a positive whole number.

    Examples
    --------
    >>> ball_mean_square(1.0, 1) * 3.0, ball_mean_square(1.0, 616_618) > 0.99999
    (1.0, True)
    """
    who = "ball_mean_square"
    r = _checks.scalar(who, "radius", radius)
    m = _checks.integer(who, "dimension", dimension, 1)
    return _checks.result(who, r * (m / (m + 2.0)) * r, "radius")


def total_loss(
    uniformity: float,
    degeneracy: float,
    detachment: float,
    *,
    degeneracy_weight: float = 0.4,
    detachment_weight: float = 1.0,
) -> float:
    r"""Return the loss that is minimised, ``L_uni + lambda L_sd + xi L_iod`` (eq. 23).

    Parameters
    ----------
    uniformity : float
        L_uni; the unbiased estimate may be negative.
    degeneracy, detachment : float
        L_sd and L_iod, at least 0.
    degeneracy_weight, detachment_weight : float
        lambda and xi, at least 0; 0.4 and 1 in the paper.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If a loss is not finite, or one of the others is negative.

    Examples
    --------
    >>> total_loss(0.01, 0.1, 0.2)
    0.25
    """
    who = "total_loss"
    first = _checks.number(who, "uniformity", uniformity)
    second = _checks.scalar(who, "degeneracy", degeneracy)
    third = _checks.scalar(who, "detachment", detachment)
    lam = _checks.scalar(who, "degeneracy_weight", degeneracy_weight)
    xi = _checks.scalar(who, "detachment_weight", detachment_weight)
    parts = (first, lam * second, xi * third)
    names = ("uniformity", "degeneracy", "detachment")
    weights = ("degeneracy_weight", "detachment_weight")
    # At most one of them is negative: the sum overflows only where it must.
    _checks.result(who, sum(parts), *names, *weights)
    return math.fsum(parts)


def binary_task_count(classes: int, *, ordered: bool = True) -> int:
    r"""Return how many binary tasks the labels of a data set allow.

    .. math:: 2^c - 2, \qquad 2^{c-1} - 1 \text{ up to swapping the two labels}

    Parameters
    ----------
    classes : int
        c, at least 2.
    ordered : bool
        Whether a task and its complement are two tasks, as in the paper.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If `classes` is below 2 or above 1,000,000.

    Examples
    --------
    >>> binary_task_count(10), binary_task_count(10, ordered=False)
    (1022, 511)
    """
    c = _inputs.classes("binary_task_count", classes, 10**6)
    tasks = 2 ** (c - 1) - 1
    both = _checks.flag("binary_task_count", "ordered", ordered)
    return 2 * tasks if both else tasks
