r"""Error bounds from margins: Rademacher averages with their constants.

The paper's bound, eq. (8), leaves its constants open and omits the training loss. Here
is the margin bound that it stands for, with every constant. For the ramp loss at margin
gamma, with probability ``1 - delta`` over N examples, for all f of the class,

.. math:: P(y f \le 0) \le \frac1N \sum_n \mathrm{ramp}_\gamma(y_n f_n)
    + \frac{2}{\gamma}\,\hat R_N + 3\sqrt{\frac{\ln(2/\delta)}{2N}}

Sources: Bartlett and Mendelson 2002; Mohri, Rostamizadeh and Talwalkar 2018, Theorem
5.8; Golowich, Rakhlin and Shamir 2018, Theorem 1, for the class of networks.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._arrays import unscaled
from theory.square_loss import _inputs

Array = npt.NDArray[np.float64]

MOST = 24
"""Examples whose signs are enumerated: 2**23 patterns take a second or two."""


def rademacher_linear(x: Any) -> float:
    r"""Return the Rademacher average of the linear functions of norm 1, exactly.

    .. math:: \hat R_N = \frac1N\, E_\sigma \Big\|\sum_n \sigma_n x_n\Big\|

    Every pattern of signs is visited; the first sign is fixed by symmetry.

    Parameters
    ----------
    x : array, shape (N, d)
        At most 24 inputs.

    Returns
    -------
    float
        At most ``sqrt(sum |x_n|^2) / N``: `rademacher_linear_bound` for unit inputs.

    Raises
    ------
    ValueError
        If there are more than 24 inputs or an entry is not finite.

    Notes
    -----
    Relative error about ``N eps``; no sampling.

    Examples
    --------
    Orthogonal inputs attain the bound, equal ones do not:

    >>> rademacher_linear(np.eye(4)), rademacher_linear_bound(4)
    (0.5, 0.5)
    >>> rademacher_linear([[1.0], [1.0]])
    0.5
    """
    who = "rademacher_linear"
    rows = _checks.real(who, "x", x)
    if rows.ndim != 2 or rows.size == 0 or len(rows) > MOST:
        raise ValueError(
            f"{who}: `x` must have shape (N, d) with N <= {MOST}, got {rows.shape}."
            " Larger sets have too many sign patterns: use `rademacher_linear_bound`."
        )
    count = len(rows)
    rows, power = unscaled(rows)
    # All sums over the later half, shifted by each sum over the earlier half.
    early, late = rows[1 : count // 2 + 1], rows[count // 2 + 1 :]
    shifts = _signed_sums(early) + rows[0]
    ends = _signed_sums(late)
    means = [float(np.linalg.norm(ends + shift, axis=1).mean()) for shift in shifts]
    return float(np.ldexp(math.fsum(means) / len(means) / count, power.item()))


def _signed_sums(rows: Array) -> Array:
    out = np.zeros((1, rows.shape[1]))
    for row in rows:
        out = np.concatenate((out - row, out + row))
    return out


def rademacher_linear_bound(examples: int) -> float:
    r"""Return the bound on the Rademacher average of linear functions, unit inputs.

    .. math:: \hat R_N \le \frac{1}{\sqrt N}

    Parameters
    ----------
    examples : int
        N.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If `examples` is not a positive whole number.

    Examples
    --------
    >>> rademacher_linear_bound(100)
    0.1
    """
    count = _checks.integer("rademacher_linear_bound", "examples", examples, 1)
    return 1.0 / math.sqrt(count)


def rademacher_bound(examples: int, depth: int) -> float:
    r"""Return the bound for ReLU networks whose layers have Frobenius norm 1.

    .. math:: \hat R_N \le \frac{\sqrt{2 L \ln 2} + 1}{\sqrt N}

    for unit inputs; times rho for networks of norm rho.

    Parameters
    ----------
    examples, depth : int
        N, and the number L of weight layers.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If a count is not a positive whole number.

    Notes
    -----
    Source: Golowich, Rakhlin and Shamir 2018, Theorem 1, with all norms 1.

    Examples
    --------
    >>> round(rademacher_bound(10_000, 4), 6)
    0.033548
    """
    count = _checks.integer("rademacher_bound", "examples", examples, 1)
    layers = _checks.integer("rademacher_bound", "depth", depth, 1)
    return (math.sqrt(2.0 * layers * math.log(2.0)) + 1.0) / math.sqrt(count)


def ramp_loss(margins: Any, gamma: Any) -> Any:
    r"""Return the ramp loss, between the error and the share of margins below gamma.

    .. math:: \mathrm{ramp}_\gamma(m) = \min(1, \max(0, 1 - m/\gamma))

    Parameters
    ----------
    margins : float or array
        ``y_n f_n``.
    gamma : float or array
        Positive.

    Returns
    -------
    float or array
        In [0, 1].

    Raises
    ------
    ValueError
        If `gamma` is not positive or an entry is not finite.

    Examples
    --------
    >>> ramp_loss([-1.0, 0.0, 0.25, 0.5], 0.5)
    array([1. , 1. , 0.5, 0. ])
    """
    m = _checks.real("ramp_loss", "margins", margins)
    g = _checks.positive("ramp_loss", "gamma", gamma)
    _checks.broadcast("ramp_loss", margins=m, gamma=g)
    return _checks.plain(_ramp(m, g))


def _ramp(m: Array, g: Any) -> Array:
    with np.errstate(over="ignore"):
        # (g - m) / g: the difference is exact near the upper end.
        return np.clip((g - m) / g, 0.0, 1.0)


@dataclass(frozen=True)
class MarginBound:
    """The three terms of a bound on the probability of error.

    Attributes
    ----------
    gamma : float
        The margin at which it was taken.
    ramp : float
        Mean ramp loss of the training set.
    complexity : float
        ``2 / gamma`` times the bound on the Rademacher average.
    deviation : float
        What the confidence costs.
    """

    gamma: float
    ramp: float
    complexity: float
    deviation: float

    @property
    def total(self) -> float:
        """The bound itself."""
        return self.ramp + self.complexity + self.deviation

    @property
    def vacuous(self) -> bool:
        """Whether it says nothing: a probability is at most 1."""
        return self.total >= 1.0


def margin_bound(
    outputs: Any,
    labels: Any,
    *,
    gamma: float,
    depth: int,
    confidence: float = 0.95,
    data_dependent: bool = False,
) -> MarginBound:
    r"""Return the bound on the error of a network with unit-norm layers.

    Fixed gamma: the bound at the head of this module, with `rademacher_bound`. If gamma
    was chosen after seeing the data (``1 / rho`` of the trained network, say), a union
    over ``gamma_j = 2^-j`` with ``delta_j = 6 delta / (pi^2 j^2)`` is needed: the bound
    is taken at the largest ``gamma_j < gamma`` (at least half of it),

    .. math:: \mathrm{mean\ ramp}_{\gamma_j} + \frac{2}{\gamma_j}\hat R_N
        + 3\sqrt{\frac{\ln(\pi^2 j^2 / (3\delta))}{2N}}

    Parameters
    ----------
    outputs : array, shape (N,)
        ``f_n`` of the network with unit directions, for unit inputs.
    labels : array, shape (N,)
        -1 and +1.
    gamma : float
        Positive; at most 1 if it depends on the data.
    depth : int
        L, the number of weight layers; 1 takes the linear class.
    confidence : float
        ``1 - delta``, in (0, 1).
    data_dependent : bool
        Whether gamma was chosen from these data.

    Returns
    -------
    MarginBound

    Raises
    ------
    ValueError
        If an argument is outside its range or lengths differ.

    Notes
    -----
    For the floats as given to about 1e-15. Networks of practical size need more than
    ``4 rho^2 (sqrt(2 L ln 2) + 1)^2`` examples (`vacuous_below`) for a total below 1.

    Examples
    --------
    >>> f, y = np.full(10_000, 0.5), np.ones(10_000)
    >>> bound = margin_bound(f, y, gamma=0.5, depth=1)
    >>> bound.ramp, round(bound.complexity, 6), bound.vacuous
    (0.0, 0.04, False)
    >>> margin_bound(f, y, gamma=0.5, depth=1, data_dependent=True).gamma
    0.25
    """
    who = "margin_bound"
    f, y = _inputs.outputs_and_labels(who, outputs, labels)
    for name, out in (("outputs", f), ("labels", y)):
        if out.ndim != 1:
            raise _checks.misshapen(who, name, "have shape (N,)", out)
    level = _checks.scalar(who, "gamma", gamma, positive=True)
    # Below, the bound leaves float64.
    _checks.reject(who, "gamma", "be at least 1e-300", level < 1e-300, level, "")
    sure = _checks.scalar(who, "confidence", confidence, positive=True)
    _checks.reject(who, "confidence", "lie in (0, 1)", sure >= 1.0, sure, "")
    layers = _checks.integer(who, "depth", depth, 1)
    delta, count = 1.0 - sure, len(f)
    log = math.log(2.0 / delta)
    if _checks.flag(who, "data_dependent", data_dependent):
        hint = "Unit directions and inputs have no larger margin."
        _checks.reject(who, "gamma", "be at most 1", level > 1.0, level, hint)
        # gamma = m 2^e with m in [1/2, 1): the next power of two below, strictly.
        mantissa, exponent = math.frexp(level)
        j = 1 - exponent + (1 if mantissa == 0.5 else 0)
        level = math.ldexp(1.0, -j)
        log = math.log(math.pi**2 * j * j / (3.0 * delta))
    complexity = 2.0 / level * _average(count, layers)
    return MarginBound(
        gamma=level,
        ramp=float(np.mean(_ramp(f * y, level))),
        complexity=_checks.result(who, complexity, "gamma", "depth"),
        deviation=3.0 * math.sqrt(log / (2.0 * count)),
    )


def _average(examples: int, depth: int) -> float:
    """Bound the Rademacher average; one layer is the linear class."""
    deep = rademacher_bound(examples, depth)
    return deep if depth > 1 else rademacher_linear_bound(examples)


def vacuous_below(rho: float, depth: int) -> float:
    r"""Return the number of examples below which `margin_bound` at 1/rho says nothing.

    .. math:: N = 4\rho^2 \big(\sqrt{2L\ln 2} + 1\big)^2, \qquad
        4\rho^2 \text{ for the linear class, } L = 1

    where the complexity alone is 1.

    Parameters
    ----------
    rho : float
        Positive; ``gamma = 1 / rho``.
    depth : int
        L, the number of weight layers.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If `rho` is not positive or `depth` is not a positive whole number.

    Examples
    --------
    >>> round(vacuous_below(20.0, 4)), vacuous_below(20.0, 1)
    (18008, 1600.0)
    """
    size = _checks.scalar("vacuous_below", "rho", rho, positive=True)
    layers = _checks.integer("vacuous_below", "depth", depth, 1)
    root = 2.0 * size * _average(1, layers)
    return _checks.result("vacuous_below", root * root, "rho", "depth")
