r"""Local minima of two ReLU layers whose hidden units share the examples out.

N unit inputs with inner products ``-overlap`` between any two: a unit that points along
the sum of some of them is off at all others. So every partition of the examples into
clusters of one class, with a unit for each, is a strict local minimum of the loss over
scale and unit directions, at every weight decay: several minima, of different norms.
Source: ours, for the statements of Poggio and Liao 2021 on what the flow converges to.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.special as sp

from theory import _checks
from theory import _twofold as two

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClusterEquilibrium:
    """Equilibrium of scale and directions.

    Attributes
    ----------
    rho : float
        The norm.
    shares : array, shape (G,)
        Of each cluster's unit in it, in (0, 1]: the unit's row in the first layer and
        its entry in the second both have this squared norm.
    margins : array, shape (G,)
        ``y_n f_n`` of every example of a cluster.
    loss : float
        ``sum (rho f_n - y_n)^2 + lambda rho^2``.
    """

    rho: float
    shares: Array
    margins: Array
    loss: float


def cluster_equilibrium(
    sizes: Sequence[int], overlap: float, weight_decay: float
) -> ClusterEquilibrium:
    r"""Return the local minimum that a partition of the examples makes.

    With ``m`` examples in a cluster, ``s = 1 - (m - 1) overlap`` and ``c = sqrt(s / m)``,
    the cosine of its unit with each of them, the shares p add up to one and

    .. math:: \rho = \frac{\sum_g 1/c_g}{1 + \lambda\sum_g 1/s_g}, \qquad
        \rho\,p_g = \frac1{c_g} - \frac{\lambda\rho}{s_g}, \qquad y_n f_n = p_g c_g

    Parameters
    ----------
    sizes : sequence of int
        m of each cluster, N in all.
    overlap : float
        Minus the inner product of two inputs: positive, and below ``1 / (N - 1)``.
    weight_decay : float
        ``lambda >= 0``.

    Returns
    -------
    ClusterEquilibrium

    Raises
    ------
    ValueError
        If an argument is outside its range, or decay leaves a cluster nothing: then no
        minimum has a unit for it.

    Notes
    -----
    Relative error a few eps, next to the largest overlap and at any weight decay too; of
    a share, relative to what it is without decay. By the inequality between means
    ``|W_1||a| >= sum |w_g||a_g|``, and the loss is convex in the outputs of the units.

    Examples
    --------
    Three examples, in one cluster or one by one: both interpolate.

    >>> one = cluster_equilibrium([3], 0.2, 0.0)
    >>> three = cluster_equilibrium([1, 1, 1], 0.2, 0.0)
    >>> round(one.rho, 12), round(three.rho, 12), one.loss, three.loss
    (2.2360679775, 3.0, 0.0, 0.0)
    """
    who = "cluster_equilibrium"
    listed = _checks.listed(who, "sizes", sizes, "numbers of examples")
    m = np.array([_checks.integer(who, "sizes", n, 1, 2**31) for n in listed], float)
    if not m.size:
        raise ValueError(f"{who}: `sizes` must name at least one cluster, got none.")
    pairs = float(m.sum()) - 1.0
    between = _checks.scalar(who, "overlap", overlap, positive=True)
    bad = between * max(pairs, 1.0) >= 1.0
    need = f"be below 1 / (N - 1) = {1.0 / max(pairs, 1.0):.6g}"
    _checks.reject(who, "overlap", need, bad, between, "")
    decay = _checks.scalar(who, "weight_decay", weight_decay)
    s = _one_less(m - 1.0, between)
    root = np.sqrt(s * m)
    total, inverse = math.fsum(m / root), math.fsum(1.0 / s)
    rho = total / (1.0 + decay * inverse)
    _checks.reject(who, "weight_decay", "leave a norm", rho == 0.0, decay, "")
    with np.errstate(over="ignore"):
        # Its formula, without the difference: equal clusters have equal shares.
        shares = (m / root + decay * _gains(m, s, root, between)) / total
    hint = "With this `weight_decay` and these `sizes` its unit dies out."
    _checks.reject(who, "sizes", "leave each a share", shares <= 0.0, m, hint)
    cosine = root / m
    # rho p c - 1 = -lambda rho / (s / c): no difference of near numbers.
    errors = decay * rho * cosine / s
    loss = math.fsum(m * errors * errors) + decay * rho * rho
    return ClusterEquilibrium(float(rho), shares, shares * cosine, float(loss))


def _one_less(count: Array, overlap: float) -> Array:
    """Return ``1 - count * overlap``, exact where it cancels."""
    product, rest = two.multiply_exactly(count, np.asarray(overlap))
    return (1.0 - product) - rest


def _gains(m: Array, s: Array, root: Array, overlap: float) -> Array:
    r"""Return ``sum_h (k_g - k_h) / (s_g s_h)``, ``k = sqrt(s m)``, of every cluster.

    .. math:: k_g^2 - k_h^2 = (m_g - m_h)\,\big(1 - (m_g + m_h - 1)\,\text{overlap}\big)
    """
    _, first, place, count = np.unique(
        m, return_index=True, return_inverse=True, return_counts=True
    )
    m, s, root = m[first], s[first], root[first]
    ours = m[:, np.newaxis]
    squares = (ours - m) * _one_less(ours + m - 1.0, overlap)
    gaps = squares / (root[:, np.newaxis] + root)
    return ((gaps / s) @ count / s)[place]


def typical_output(widths: Sequence[Any]) -> float:
    r"""Return the root mean square output of random directions at a unit input.

    .. math:: \sqrt{E f^2} = \Big(2^{L-1} \prod_{k=0}^{L-1} n_k\Big)^{-1/2}

    for layers drawn evenly from the spheres ``|V_k|_F = 1``: a row keeps ``1/n_{k-1}`` of
    the squared length, and ReLU a half, by symmetry.

    Parameters
    ----------
    widths : sequence of int
        ``n_0 .. n_{L-1}``, inputs first, without the one output.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If there is no width, or one is not a positive whole number.

    Examples
    --------
    >>> typical_output([4]), typical_output([4, 2, 2])
    (0.5, 0.125)
    """
    who = "typical_output"
    listed = _checks.listed(who, "widths", widths, "widths, inputs first")
    sizes = [_checks.integer(who, "widths", n, 1, 2**31) for n in listed]
    if not sizes:
        raise ValueError(f"{who}: `widths` must hold the inputs' dimension, got none.")
    square = 2 ** (len(sizes) - 1) * math.prod(sizes)
    # Of many layers it is no float: the leading digits and an even power of two.
    half = max(square.bit_length() - 900, 0) // 2
    return math.ldexp(1.0 / math.sqrt(square >> 2 * half), -half)


def linear_mode(time: Any, start: float, target: float) -> Any:
    r"""Return the singular value that two linear layers have learnt by a time.

    .. math:: s(t) = \frac{\sigma}{1 + (\sigma/s_0 - 1)\,e^{-4\sigma t}}

    for the flow of ``|W_2 W_1 - Sigma|_F^2`` from balanced layers along the singular
    vectors of Sigma: every mode on its own, the larger the sooner.

    Parameters
    ----------
    time : float or array
        At least 0.
    start, target : float
        ``s_0`` and ``sigma``, positive.

    Returns
    -------
    float or array

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Relative error a few eps times ``1 + 4 sigma t``. Source: Saxe, McClelland, Ganguli
    2014; for the remark of Poggio and Liao 2021, section 3, on solutions of small rank.

    Examples
    --------
    Twice the singular value is learnt in half of the time:

    >>> linear_mode([0.5, 1.0], 2e-3, 2.0).round(3)
    array([0.104, 1.498])
    >>> linear_mode([1.0, 2.0], 1e-3, 1.0).round(3)
    array([0.052, 0.749])
    """
    who = "linear_mode"
    t = _checks.not_negative(who, "time", time)
    first = _checks.scalar(who, "start", start, positive=True)
    last = _checks.scalar(who, "target", target, positive=True)
    with np.errstate(all="ignore"):
        x = 4.0 * last * t
        # (1 - exp(-x)) / target, however small x is.
        spent = np.where(x < 1.0, 4.0 * t * sp.exprel(-x), -np.expm1(-x) / last)
        half = np.exp(-0.5 * x)  # whose square may underflow where a start is as small
        out = 1.0 / (half / first * half + spent)
    return _checks.plain(_checks.result(who, out, "start", "target"))
