r"""Order and chaos: chi_1, depth scales, and all that is known of a network at once.

.. math:: \chi_1 = \sigma_w^2\, E\,s'(\sqrt{q^*} Z)^2

is the slope at c = 1 of the correlation map, and what a squared gradient is multiplied by
in every layer. Ordered (chi_1 < 1): all inputs become parallel, gradients vanish. Chaotic
(chi_1 > 1): inputs part to the fixed correlation c* < 1, gradients explode. Deviations
from the fixed points die like exp(-layers / xi).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._naming import in_own_name
from theory.activations import Activation
from theory.phase._settling import settle
from theory.phase._state import State, depth, first_slope, like, parameters, tables

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Phase:
    r"""Behaviour of infinitely wide random networks at great depth; see `classify`.

    Attributes
    ----------
    weight_var, bias_var : float or array
        The parameters, broadcast.
    phase : str or array of str
        ``ordered`` (chi_1 < 1), ``chaotic`` (chi_1 > 1), ``critical`` (chi_1 = 1 within
        `EDGE`), or ``divergent`` (variances grow without bound, or beyond 1e8; see
        `fixed_variance`).
    variance : float or array
        q*, the variance of pre-activations: ``inf`` where divergent.
    chi_q : float or array
        Slope of the variance map at q*.
    chi_1 : float or array
        Slope of the correlation map at c = 1: what a squared gradient is multiplied by
        from layer to layer.
    correlation, distance : float or array
        c*, and 1 - c* with all its digits.
    chi_c : float or array
        Slope of the correlation map at c*.
    variance_depth, correlation_depth : float or array
        ``xi_q = -1/log |chi_q|`` and ``xi_c = -1/log chi_c``: layers in which a deviation
        falls by the factor e; infinite where it does not fall exponentially.
    gradient_depth : float or array
        ``-1/log chi_1``: squared gradients shrink by the factor e in so many layers;
        negative where they grow.

    All but the parameters, the phase and the variance are ``nan`` where divergent (for
    ReLU and its kin, whose slopes are the same at every variance, chi_q, chi_1 and
    `gradient_depth` stay known). At q* = 0, in the ordered phase without biases, the
    values are the limits of vanishing biases.
    """

    weight_var: Any
    bias_var: Any
    phase: Any
    variance: Any
    chi_q: Any
    chi_1: Any
    correlation: Any
    distance: Any
    chi_c: Any
    variance_depth: Any
    correlation_depth: Any
    gradient_depth: Any

    def __str__(self) -> str:
        """One line for each quantity, where they are numbers."""
        if np.ndim(self.variance):
            names, counts = np.unique(self.phase, return_counts=True)
            found = (f"{n} {k}" for k, n in zip(names, counts, strict=True))
            return f"{np.size(self.variance)} networks: {', '.join(found)}"
        return (
            f"{self.phase}: weight_var {self.weight_var:g}, bias_var {self.bias_var:g}\n"
            f"variance     q* = {self.variance:<12.6g} chi_q = {self.chi_q:<12.6g}"
            f" xi_q = {self.variance_depth:.6g}\n"
            f"correlation  c* = {self.correlation:<12.6g} chi_c = {self.chi_c:<12.6g}"
            f" xi_c = {self.correlation_depth:.6g}\n"
            f"gradients    {'':18}chi_1 = {self.chi_1:<12.6g}"
            f" xi_g = {self.gradient_depth:.6g}"
        )


@in_own_name
def classify(
    activation: Activation,
    weight_var: Any,
    bias_var: Any = 0.0,
    *,
    start: float = 1.0,
) -> Phase:
    r"""Return the phase of deep random networks, with its fixed points and depth scales.

    Parameters
    ----------
    activation : Activation
        Used as it is.
    weight_var, bias_var : float or array_like
        Variance of a weight times the width, positive; of a bias, at least 0.
    start : float
        Variance of the first layer's pre-activations: it decides where there are several
        fixed points, and is q* where every variance is one.

    Returns
    -------
    Phase
        Floats, or arrays of the broadcast shape.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Relative errors are 1e-12 or below away from the edge. Near it rounding of one layer,
    1e-14, is amplified: the errors of q* by ``1/|1 - chi_q|``, of `distance` and the
    depth scales by ``1/|1 - chi_1|`` on top of q*'s, and `distance` itself vanishes there
    (in proportion to ``chi_1 - 1``, or to its square for an activation with a kink).
    A chi_q whose positive and negative parts cancel to 1e-14 of themselves is 0, unless
    a closed form is known, as of the sine.
    Poole et al. (2016); Schoenholz et al. (2017), equations 9 and 13.

    Examples
    --------
    >>> from theory import activations as act
    >>> print(classify(act.tanh, 2.0, 0.1))
    chaotic: weight_var 2, bias_var 0.1
    variance     q* = 0.814644     chi_q = 0.438309     xi_q = 1.21237
    correlation  c* = 0.987999     chi_c = 0.997028     xi_c = 335.958
    gradients                      chi_1 = 1.00301      xi_g = -333.067
    >>> classify(act.relu, [1.0, 2.0, 3.0]).phase.tolist()
    ['ordered', 'critical', 'divergent']
    """
    who = "classify"
    w, b = parameters(who, weight_var, bias_var)
    q = _checks.scalar(who, "start", start, positive=True)
    s = State(tables(who, activation), w.ravel(), b.ravel(), q)
    inputs = (weight_var, bias_var)

    def shaped(values: Array) -> Any:
        return like(inputs, values.reshape(w.shape))

    phase = s.phase.reshape(w.shape)
    return Phase(
        weight_var=shaped(w),
        bias_var=shaped(b),
        phase=phase if phase.ndim else str(phase),
        variance=shaped(s.q),
        chi_q=shaped(s.chi_q),
        chi_1=shaped(s.chi_1),
        correlation=shaped(s.correlation),
        distance=shaped(s.distance),
        chi_c=shaped(s.chi_c),
        variance_depth=shaped(depth(np.abs(s.chi_q))),
        correlation_depth=shaped(depth(s.chi_c)),
        gradient_depth=shaped(depth(s.chi_1)),
    )


@in_own_name
def chi_1(
    activation: Activation,
    weight_var: Any,
    bias_var: Any = 0.0,
    *,
    start: float = 1.0,
) -> Any:
    r"""Return chi_1 = weight_var E s'(sqrt(q*) Z)^2 at the fixed variance.

    Below one in the ordered phase, above one in the chaotic one. Infinite for a function
    with jumps; its limit at q* = 0; nan where variances diverge, except for ReLU and its
    kin. Parameters and errors as `classify`.

    Examples
    --------
    >>> from theory import activations as act
    >>> round(chi_1(act.tanh, 2.0, 0.1), 9)
    1.003006915
    >>> chi_1(act.relu, [1.0, 2.0], 0.0).tolist()
    [0.5, 1.0]
    """
    who = "chi_1"
    w, b = parameters(who, weight_var, bias_var)
    q = _checks.scalar(who, "start", start, positive=True)
    m = tables(who, activation)
    flat = w.ravel()
    out = first_slope(m, settle(m, flat, b.ravel(), q), flat)
    return like((weight_var, bias_var), out.reshape(w.shape))
