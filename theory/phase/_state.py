"""Checked parameters, and every fixed point and slope of flat arrays of them."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory.activations import Activation
from theory.phase import _correlations
from theory.phase._curves import LOW, Moments, moments
from theory.phase._settling import settle, variance_slope

Array = npt.NDArray[np.float64]

EDGE = 1e-12
"""How far from one a chi_1 may be and count as one."""


def parameters(who: str, weight_var: Any, bias_var: Any) -> tuple[Array, Array]:
    """Return both variances, checked and broadcast."""
    w = _checks.positive(who, "weight_var", weight_var)
    b = _checks.not_negative(who, "bias_var", bias_var)
    shape = _checks.broadcast(who, weight_var=w, bias_var=b)
    return np.broadcast_to(w, shape).copy(), np.broadcast_to(b, shape).copy()


def tables(who: str, activation: Any) -> Moments:
    """Return the tables of an activation, once it is checked to be one."""
    return moments(_checks.instance(who, "activation", activation, Activation))


def like(inputs: tuple[Any, ...], out: Any) -> Any:
    """Return a Python float when all inputs are scalars."""
    array = np.asarray(out)
    return float(array) if all(np.ndim(v) == 0 for v in inputs) else array


def depth(slope: Array) -> Array:
    """Return -1/log(slope): 0 at slopes 0 and infinity, infinite at one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(slope == 1.0, np.inf, -1.0 / np.log(slope)) + 0.0


def first_slope(m: Moments, q: Array, w: Array) -> Array:
    """Return chi_1 at variances q, for flat arrays."""
    if m.proportional is not None:
        return w * m.proportional
    out = np.full(q.shape, np.nan)
    out[q < math.exp(LOW)] = m.at_zero[1]
    inside = (q >= math.exp(LOW)) & np.isfinite(q)
    if math.isinf(m.activation.derivative_second_moment):
        out[inside] = np.inf
    else:
        out[inside] = m.slopes(q[inside])
    return w * out


class State:
    """Fixed points and slopes, for flat arrays of parameters.

    Correlations are interpolated between the variances on `panels`.
    """

    def __init__(
        self,
        m: Moments,
        w: Array,
        b: Array,
        start: float,
        panels: _correlations.Panels = _correlations.EXACT,
    ) -> None:
        self.q = settle(m, w, b, start)
        self.chi_q = variance_slope(m, self.q, w)
        self.chi_1 = first_slope(m, self.q, w)
        known = np.isfinite(self.q)
        self.correlation = np.where(known, 1.0, np.nan)
        self.distance = np.where(known, 0.0, np.nan)
        self.chi_c = np.where(known, self.chi_1, np.nan)
        apart = np.flatnonzero(
            known & (self.q >= math.exp(LOW)) & (self.chi_1 > 1.0 + EDGE)
        )
        if apart.size:
            found = _correlations.fixed(m, self.q[apart], w[apart], b[apart], panels)
            self.distance[apart], self.correlation[apart], self.chi_c[apart] = found

    @property
    def phase(self) -> npt.NDArray[np.str_]:
        """Names of the phases."""
        off = self.chi_1 - 1.0
        phase = np.where(off > 0.0, "chaotic", "ordered")
        phase = np.where(np.abs(off) <= EDGE, "critical", phase)
        return np.where(np.isinf(self.q), "divergent", phase)
