r"""The norm and the directions in motion together, as ordinary differential equations.

Three flows, one integrator (Dormand and Prince's of order 8): on the spheres, eqs. (3)
and (4) of Poggio and Liao 2021; in the parameters of weight normalisation; and without
any normalisation. Each is the gradient flow of its loss in its own parameters, so that
the loss falls by the squared speed, integrated: `Flow.energy_error` holds them to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory.square_loss import _inputs, _passes
from theory.square_loss._driver import FlowWarning as FlowWarning
from theory.square_loss._driver import (
    Path,
    System,
    integrate,
    refuse_stiff,
    states_at,
)
from theory.square_loss._systems import flatten, free, normalised

Array = npt.NDArray[np.float64]
Weights = tuple[Array, ...]


@dataclass(frozen=True, eq=False)
class Flow:
    """A trajectory, with dense output.

    Attributes
    ----------
    t : array, shape (T,)
        The times asked for, or those of the integrator's steps.
    rho : array, shape (T,)
        The norm at these times. On the spheres it may fall through 0, where the average
        margin is negative: the network goes on with ``|rho|`` and one direction turned.
    crossings : array
        Every time at which the norm meets its resting value `rho_equilibrium` of the
        moment, where its velocity changes sign. Excursions smaller than a thousand times
        the tolerances are not told from errors at rest, and left out.
    energy_error : float
        Largest ``|loss(t) - loss(0) + int |velocity|^2|`` over the steps.
    energy_allowance : float
        What the tolerances allow it; beyond, a `FlowWarning` is given.
    t_end : float
        The time reached.
    """

    t: Array
    rho: Array
    crossings: Array
    energy_error: float
    energy_allowance: float
    t_end: float
    _system: System = field(repr=False)
    _path: Path = field(repr=False)

    def rho_at(self, t: Any) -> Any:
        """Return the norm (the product of the layers' norms) at times t."""
        return _checks.plain(self._system.rho(self._state("rho_at", t)))

    def parameters(self, t: Any) -> Weights:
        """Return the matrices that flow: ``V_k``, ``v_k`` or ``W_k``."""
        return self._system.parameters(self._state("parameters", t))

    def directions(self, t: Any) -> Weights:
        """Return the directions, ``np.shape(t) + (n_k, n_{k-1})``, of norm 1."""
        weights = self._system.parameters(self._state("directions", t))
        return _passes.project(weights)

    def outputs(self, t: Any) -> Array:
        """Return ``f_n`` of the unit directions, ``np.shape(t) + (N,)``."""
        return self._system.outputs(self._state("outputs", t))

    def rho_equilibrium(self, t: Any) -> Any:
        """Return the norm at which it would not move, for the parameters of time t.

        Eq. (5) of the directions; without normalisation the same with ``lambda`` times
        ``L / (rho sum rho_k^-2)`` subtracted from B instead of added to S.
        """
        return _checks.plain(self._system.rest(self._state("rho_equilibrium", t)))

    def loss(self, t: Any) -> Any:
        """Return the penalised sum of squares at times t."""
        return _checks.plain(self._system.loss(self._state("loss", t)))

    def _state(self, who: str, t: Any) -> Array:
        times = _checks.interval(f"Flow.{who}", "t", t, 0.0, self.t_end)
        return states_at(self._path, times)


def gradient_flow(
    directions: Sequence[Any],
    rho0: float,
    x: Any,
    labels: Any,
    weight_decay: float,
    *,
    t_end: float,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    t_eval: Any = None,
    max_steps: int = 10_000,
    linear: bool = False,
) -> Flow:
    r"""Integrate the coupled flow of the norm and the directions.

    .. math:: \dot\rho = -2(A\rho - B), \qquad
        \dot V_k = 2\rho \sum_n e_n
        \Big(V_k f_n - \frac{\partial f_n}{\partial V_k}\Big),
        \qquad e_n = \rho f_n - y_n

    Parameters
    ----------
    directions : sequence of array, shapes (n_k, n_{k-1})
        ``V_k`` of Frobenius norm 1, at t = 0.
    rho0 : float
        Positive.
    x : array, shape (N, d)
        Inputs, one a row.
    labels : array, shape (N,)
        -1 and +1.
    weight_decay : float
        ``lambda >= 0``.
    t_end : float
        Positive.
    rtol, atol : float
        Tolerances of a step, each positive; `rtol` at least 2.3e-14.
    t_eval : array, optional
        Times in [0, t_end] for `Flow.t` and `Flow.rho`.
    max_steps : int
        After which the flow stops with a warning; earlier, once its pace shows that they
        are far from enough.
    linear : bool
        Whether layers follow on each other without ReLU; such a flow has no kinks.

    Returns
    -------
    Flow

    Raises
    ------
    ValueError
        If shapes do not follow on each other, a direction is zero or not of norm 1, a
        label is not -1 or +1, a number is outside its range, or the weight decay is so
        stiff that `t_end` is out of reach of `max_steps` steps of an explicit method.

    Warns
    -----
    FlowWarning
        If the energy does not balance to the tolerances, or the flow stops early.

    Notes
    -----
    Off the spheres eq. (4) attracts or repels (`off_sphere_rate`). Here the field is
    continued along rays instead, where spheres are neutral, and each step is projected:
    neither moves a solution. Errors are about `rtol` a step, added up and carried along
    by the flow. ReLU makes the field jump where a pre-activation changes sign: steps
    shrink there, the order falls to one, the tolerance is kept. Where the field points
    at a kink from both sides, as it often comes to in networks with hidden layers, the
    equation has no solution beyond in the classical sense: the flow stops there, with a
    `FlowWarning`, and `Flow.t_end` tells when.

    Examples
    --------
    The norm overshoots: it rises to 0.9955, where it meets its equilibrium of the
    moment, then falls to 1 / 1.1.

    >>> start = [[[np.cos(1.5), np.sin(1.5)]]]
    >>> flow = gradient_flow(start, 0.01, [[1.0, 0.0]], [1], 0.1, t_end=300.0)
    >>> flow.crossings.round(3), round(flow.rho_at(flow.crossings[0]), 6)
    (array([3.273]), 0.995518)
    >>> round(flow.rho_at(300.0), 6)
    0.909091
    """
    who = "gradient_flow"
    v, data = _given(who, "directions", directions, x, labels, weight_decay)
    _inputs.unit(who, v)
    rho = _checks.scalar(who, "rho0", rho0, positive=True)
    straight = _checks.flag(who, "linear", linear)
    system = normalised(v, *data, clock=False, linear=straight)
    start = flatten(np.array([rho]), _passes.project(v))
    run = _Run(who, ("rho0", "directions", "x", "weight_decay"), data[-1], max_steps)
    return run.flow(system, start, t_end, rtol, atol, t_eval)


def weight_normalised_flow(
    scale: float,
    vectors: Sequence[Any],
    x: Any,
    labels: Any,
    weight_decay: float,
    *,
    t_end: float,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    t_eval: Any = None,
    max_steps: int = 10_000,
) -> Flow:
    r"""Integrate the flow of a network with weight normalisation of whole matrices.

    The layers are ``v_k / |v_k|``, the output is ``scale`` times theirs, and gradients
    are those in scale and ``v_k``. Then ``|v_k|`` stays what it was: from 1 the
    trajectory is that of `gradient_flow`; from c the direction's clock runs at 1/c^2,
    the norm's at 1. The usual library layer normalises rows, which is another flow.

    Parameters
    ----------
    scale : float
        Positive; rho at t = 0.
    vectors : sequence of array, shapes (n_k, n_{k-1})
        ``v_k``, none zero.
    x, labels, weight_decay, t_end, rtol, atol, t_eval, max_steps
        As for `gradient_flow`. Only the scale decays: weight decay on ``v_k`` would
        change its length alone.

    Returns
    -------
    Flow
        Its `parameters` are ``v_k``, not projected.

    Raises
    ------
    ValueError
        As `gradient_flow`; vectors may have any norm of 1e-150 to 1e150.

    Warns
    -----
    FlowWarning
        As `gradient_flow`.

    Examples
    --------
    >>> flow = weight_normalised_flow(
    ...     0.5, [[[0.0, 2.0]]], [[0.6, 0.8]], [1], 0.1, t_end=3.0
    ... )
    >>> round(float(np.linalg.norm(flow.parameters(3.0)[0])), 9)
    2.0
    """
    who = "weight_normalised_flow"
    v, data = _given(who, "vectors", vectors, x, labels, weight_decay)
    rho = _checks.scalar(who, "scale", scale, positive=True)
    with np.errstate(over="ignore"):
        lengths = _passes.frobenius(v)
    bad = ~((lengths >= 1e-150) & (lengths <= 1e150))
    _checks.reject(who, "vectors", "have norms of 1e-150 to 1e150", bad, lengths, "")
    system = normalised(v, *data, clock=True)
    start = flatten(np.array([rho]), v)
    run = _Run(who, ("scale", "vectors", "x", "weight_decay"), data[-1], max_steps)
    return run.flow(system, start, t_end, rtol, atol, t_eval)


def unnormalised_flow(
    weights: Sequence[Any],
    x: Any,
    labels: Any,
    weight_decay: float,
    *,
    t_end: float,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    t_eval: Any = None,
    max_steps: int = 10_000,
) -> Flow:
    r"""Integrate the flow of a network without normalisation.

    .. math:: \dot W_k = -\frac{\partial}{\partial W_k}
        \Big[\sum_n (g_n - y_n)^2 + \lambda \sum_j \|W_j\|_F^2\Big]

    Parameters
    ----------
    weights : sequence of array, shapes (n_k, n_{k-1})
        ``W_k`` at t = 0, none zero.
    x, labels, weight_decay, t_end, rtol, atol, t_eval, max_steps
        As for `gradient_flow`; every layer decays.

    Returns
    -------
    Flow
        Its `parameters` are ``W_k``, its norm is the product of theirs.

    Raises
    ------
    ValueError
        As `gradient_flow`; weights may have any norm but 0.

    Warns
    -----
    FlowWarning
        As `gradient_flow`.

    Examples
    --------
    Without weight decay differences of squared norms are conserved:

    >>> w = [[[0.6, 0.8]], [[0.5]]]
    >>> flow = unnormalised_flow(w, [[1.0, 0.0]], [1], 0.0, t_end=2.0)
    >>> first, last = flow.parameters(2.0)
    >>> round(float(np.sum(first**2) - np.sum(last**2)), 9)
    0.75
    """
    who = "unnormalised_flow"
    w, data = _given(who, "weights", weights, x, labels, weight_decay)
    start = flatten(np.array([]), w)
    system = free(w, *data)
    run = _Run(who, ("weights", "x", "weight_decay"), data[-1], max_steps)
    return run.flow(system, start, t_end, rtol, atol, t_eval)


def _given(
    who: str, name: str, weights: Sequence[Any], x: Any, labels: Any, decay: Any
) -> tuple[Weights, tuple[Array, Array, float]]:
    w, rows = _inputs.single_network(who, name, weights, x)
    _inputs.nonzero(who, name, w)
    y = _inputs.single_labels(who, labels, len(rows))
    # Copies: a flow answers from them later.
    return w, (rows.copy(), y.copy(), _checks.scalar(who, "weight_decay", decay))


@dataclass(frozen=True)
class _Run:
    """Whose flow it is, what its speed depends on, and how many steps it may take."""

    who: str
    names: tuple[str, ...]
    decay: float
    max_steps: Any

    def flow(
        self, system: System, start: Array, t_end: Any, rtol: Any, atol: Any, at: Any
    ) -> Flow:
        who = self.who
        end = _checks.scalar(who, "t_end", t_end, positive=True)
        relative = _checks.scalar(who, "rtol", rtol, positive=True)
        bad = relative < 2.3e-14
        _checks.reject(who, "rtol", "be at least 2.3e-14", bad, relative, "")
        _checks.reject(who, "rtol", "be at most 1", relative > 1.0, relative, "")
        absolute = _checks.scalar(who, "atol", atol, positive=True)
        _checks.number(who, "atol", absolute, 1e-150, 1e150)
        wanted = None if at is None else _times(who, at, end)
        steps = _checks.integer(who, "max_steps", self.max_steps, 1)
        refuse_stiff(who, self.decay, end, steps)
        path = integrate(
            who,
            system,
            start,
            t_end=end,
            rtol=relative,
            atol=absolute,
            max_steps=steps,
            names=self.names,
        )
        times = path.times if wanted is None else wanted[wanted <= path.times[-1]]
        return Flow(
            times,
            system.rho(states_at(path, times)),
            path.crossings,
            path.energy_error,
            path.energy_allowance,
            float(path.times[-1]),
            system,
            path,
        )


def _times(who: str, value: Any, end: float) -> Array:
    out = np.atleast_1d(_checks.real(who, "t_eval", value))
    if out.ndim != 1 or out.size == 0:
        raise _checks.misshapen(who, "t_eval", "be a list of times", out)
    bad = (out < 0.0) | (out > end)
    need = f"lie in [0, {end:g}], up to `t_end`"
    _checks.reject(who, "t_eval", need, bad, out, "")
    return out
