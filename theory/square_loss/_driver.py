"""One integrator for every gradient flow: dense output, crossings, energy."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy.integrate import DOP853, OdeSolution
from scipy.optimize import brentq

from theory import _checks

Array = npt.NDArray[np.float64]
Weights = tuple[Array, ...]

SAMPLES = np.array([0.25, 0.5, 0.75, 1.0])
"""Where a step looks for crossings: two within a quarter of a step would be missed."""

NOISE = 1000.0
"""Tolerances a gap must exceed to be a crossing: at rest an explicit method bounces at
the limit of its stability, with an amplitude of up to hundreds of tolerances."""

SHORT, MANY = 1e-5, 100
"""Where a flow slides along a kink, steps shrink to the tolerance and stay so: this
many more than longer ones, each this much shorter than the longest of all. Passing a
kink takes about ten."""

STABLE = 8.0
"""More than the integrator's interval of stability on the negative axis, 6.4."""

WATCHED, HOPELESS = 100, 3.0
"""A flow is given up if by its pace over this many steps, and by how that grows from one
such stretch to the next, it ends before this part of the way."""

KINK = (
    "Where the flow points at a kink from both sides it has no velocity, and steps shrink"
    " to nothing: end before."
)

EPS = float(np.finfo(np.float64).eps)


class FlowWarning(UserWarning):
    """A flow that stopped early, or whose energy does not balance."""


@dataclass(frozen=True)
class System:
    """A gradient flow ``y' = -grad loss`` and how its states are read.

    Every function takes states with leading axes, except `velocity` and `project`. They
    are closures: what is pickled is `made`, which makes the same system again.
    """

    made: Callable[[], "System"]
    velocity: Callable[[Array], Array]
    project: Callable[[Array], Array]
    loss: Callable[[Array], Array]
    rho: Callable[[Array], Array]
    rest: Callable[[Array], Array]
    parameters: Callable[[Array], Weights]
    outputs: Callable[[Array], Array]

    def __reduce__(self) -> tuple[Callable[[], "System"], tuple[()]]:
        return self.made, ()


@dataclass(frozen=True)
class Path:
    """An integrated flow."""

    times: Array
    states: OdeSolution
    crossings: Array
    energy_error: float
    energy_allowance: float


def integrate(
    who: str,
    system: System,
    start: Array,
    *,
    t_end: float,
    rtol: float,
    atol: float,
    max_steps: int,
    names: tuple[str, ...] = (),
) -> Path:
    """Integrate, with the dissipated energy as one more component of the state."""

    def right_side(_: float, state: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            speed = system.velocity(state[:-1])
            return np.append(speed, speed @ speed)

    first = np.append(start, 0.0)
    # The integrator squares what it is given, and is lost where this overflows.
    with np.errstate(over="ignore", invalid="ignore"):
        trial = np.append(right_side(0.0, first), system.loss(start)) ** 2
    _checks.result(who, trial, *names)
    # Its status changes under the checker's eyes, hence no type.
    solver = cast(Any, DOP853(right_side, 0.0, first, t_end, rtol=rtol, atol=atol))
    balance = _Balance(system, solver.y, rtol, atol)
    brackets = _Brackets(system, solver.y, NOISE * rtol, NOISE * atol)
    longest, short, stop = 0.0, 0, ""
    times, pieces = [0.0], []
    while solver.status == "running" and not stop:
        # A step that overflows is tried again, a fifth as long.
        with np.errstate(over="ignore", invalid="ignore"):
            reason = solver.step()
        if reason is not None:
            stop = f"{reason}. {KINK}"
            break
        piece = solver.dense_output()
        times.append(float(solver.t))
        pieces.append(piece)
        balance.add(solver.y, solver.f)
        brackets.add(piece, times[-2], times[-1])
        longest = max(longest, times[-1] - times[-2])
        tiny = times[-1] - times[-2] < SHORT * longest
        short = max(0, short + (1 if tiny else -1))
        count = len(pieces)
        late = count >= 2 * WATCHED and count % WATCHED == 0
        if short > MANY:
            stop = f"it slides along a kink of ReLU. {KINK}"
        elif late and t_end > HOPELESS * _reach(times, max_steps):
            stop = (
                f"at its pace `max_steps` = {max_steps} steps end before `t_end` / 3: it"
                f" is stiff, and needs smaller `t_end` or {_checks.named(names)}, or it"
                f" slides along a kink of ReLU. {KINK}"
            )
        elif count == max_steps and solver.status == "running":
            need = "were not enough. Raise it, or lower `t_end`."
            stop = f"`max_steps` = {max_steps} steps {need}"
        # The field is constant along the rays that this moves on: `solver.f` stays.
        solver.y = np.append(system.project(solver.y[:-1]), solver.y[-1])
    if stop:
        text = f"{who}: stopped at t = {solver.t:.6g}: {stop}"
        warnings.warn(text, FlowWarning, stacklevel=4)
    if balance.error > balance.allowance:
        text = (
            f"{who}: the energy is off by {balance.error:.3g} where `rtol` and `atol`"
            f" allow {balance.allowance:.3g}: a step missed a kink. Use smaller ones."
        )
        warnings.warn(text, FlowWarning, stacklevel=4)
    if not pieces:
        raise ValueError(
            f"{who}: {_checks.named(names)} must not start the flow on a kink, got"
            f" {solver.y[:3]}: the first step of the integration failed."
        )
    states = OdeSolution(times, pieces)
    found = [_root(system, states, low, high) for low, high in brackets.found]
    return Path(
        np.array(times), states, np.array(found), balance.error, balance.allowance
    )


def states_at(path: Path, times: Array) -> Array:
    """Return the states at times of any shape, without the dissipated energy."""
    # One time more: of none there would be no states.
    found = np.asarray(path.states(np.append(times, 0.0)))[:-1, :-1]
    return found.T.reshape(*times.shape, len(found))


def refuse_stiff(who: str, decay: float, t_end: float, max_steps: int) -> None:
    """Refuse a weight decay that alone takes more steps than there may be.

    The norm decays at the rate ``2 weight_decay`` at least, and an explicit step is stable
    up to 6.4 over the rate: `STABLE` is a little more.
    """
    if 2.0 * decay * t_end > STABLE * max_steps:
        raise ValueError(
            f"{who}: `weight_decay` times `t_end` must be at most {STABLE / 2.0:g} times"
            f" `max_steps`, {STABLE / 2.0 * max_steps:g}, got {decay * t_end:g}: the flow"
            " is stiff. Lower them, or take `rho_trajectory` for directions at rest."
        )


def _reach(times: list[float], max_steps: int) -> float:
    """Return how far the steps left lead at the pace, and its growth, of the last ones."""
    before, middle, now = (times[-1 - k * WATCHED] for k in (2, 1, 0))
    pace, growth = now - middle, max(1.0, (now - middle) / (middle - before))
    stretches = (max_steps + 1 - len(times)) / WATCHED
    # At most so many of the longest stretch; the exponent is cut where any end is reached.
    return now + pace * stretches * math.exp(min(stretches * math.log(growth), 700.0))


class _Balance:
    """How far ``loss - loss(0) + dissipated`` strays, and how far it may."""

    def __init__(self, system: System, state: Array, rtol: float, atol: float) -> None:
        self.system, self.rtol, self.atol = system, rtol, atol
        self.first = float(system.loss(state[:-1]))
        self.error = self.allowance = 0.0

    def add(self, state: Array, speed: Array) -> None:
        gap = float(self.system.loss(state[:-1])) - self.first + float(state[-1])
        self.error = max(self.error, abs(gap))
        # The integrator keeps the mean square of errors over scales below 1; an error
        # d of the state moves the loss by |grad| d; the dissipation has its own.
        root = math.sqrt(state.size)
        d = root * (self.atol + self.rtol * float(np.abs(state[:-1]).max()))
        lost = root * (self.atol + self.rtol * float(state[-1]))
        slope = math.sqrt(max(float(speed[-1]), 0.0))
        rounding = 8.0 * EPS * math.sqrt(state.size) * (self.first + float(state[-1]))
        self.allowance += slope * d + lost + rounding


class _Brackets:
    """Intervals within which the norm crosses its resting value."""

    def __init__(self, system: System, state: Array, rtol: float, atol: float) -> None:
        self.system, self.rtol, self.atol = system, rtol, atol
        self.found: list[tuple[float, float]] = []
        self.time, self.sign = 0.0, float(self._signs(state[np.newaxis, :-1])[0])

    def add(self, piece: Callable[[Array], Array], low: float, high: float) -> None:
        times = low + SAMPLES * (high - low)
        signs = self._signs(piece(times).T[:, :-1])
        for time, sign in zip(times.tolist(), signs.tolist(), strict=True):
            if sign and self.sign and sign != self.sign:
                self.found.append((self.time, time))
            if sign:
                self.time, self.sign = time, sign

    def _signs(self, states: Array) -> Array:
        """Return the sign of rest - rho, 0 where it may be the integrator's error."""
        rho = self.system.rho(states)
        gap = self.system.rest(states) - rho
        noise = self.rtol * np.abs(rho) + self.atol
        return np.where(np.abs(gap) > noise, np.sign(gap), 0.0)


def _root(system: System, states: OdeSolution, low: float, high: float) -> float:
    def gap(time: float) -> float:
        state = states(time)[:-1]
        return float(system.rest(state) - system.rho(state))

    root: Any = brentq(gap, low, high, xtol=1e-300, rtol=np.float64(4.0 * EPS))
    return float(root)
