"""What looks at training between the updates, and who leaves it.

An observer sees the losses of all updates since the last pause, in the order in which
they were made, and may ask for the next pause. What it knows of a replicate is kept by
row of the start, so that it outlives the replicate's leaving.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils import _pytree as trees

from empirical.checks import (
    check_counts,
    check_exploded,
    check_kinds,
    check_weights,
)
from empirical.testbed.stack import Params, Stack
from empirical.testbed.writing import Array, Bools, Integers


class Observer:
    """Looks on; does nothing by itself.

    Attributes
    ----------
    kept : tuple of str
        Names of the attributes that a checkpoint holds: arrays, tensors and numbers.
    told : tuple of str
        Names of the settings by which a checkpoint is compared, see
        `checkpoints.fingerprint`.
    """

    kept: ClassVar[tuple[str, ...]] = ()
    told: ClassVar[tuple[str, ...]] = ("times",)

    @property
    def paces(self) -> bool:
        """Whether it sets learning rates, from those of the start; two would not add up."""
        return False

    def begin(self, stack: Stack) -> None:
        """Set up for the replicates of `stack`, before anything is loaded."""

    def following(self, t: int) -> int | None:
        """Return the next time after `t` at which training must pause, if there is one."""
        del t

    def before(self, t: int, stack: Stack) -> None:
        """Look at the stack after `t` updates; called at every pause, and at the end."""

    def see(self, t: int, seen: Array, stack: Stack) -> Mapping[int, str] | None:
        """Look at updates t, t + 1, ...; return statuses of replicates that end, by column.

        Nothing, or None, where none does.

        Parameters
        ----------
        t : int
        seen : array, shape (updates, 1 + notes, replicates)
            Losses before each update, then what else the task notes.
        stack : Stack
            After these updates.
        """
        del t, seen, stack

    def leaving(self, t: int, leaving: dict[int, str], stack: Stack) -> None:
        """Look at replicates that leave after `t` updates; may change their status."""

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        kept = {name: getattr(self, name) for name in self.kept}
        return trees.tree_map_only(np.ndarray, torch.from_numpy, kept)

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        for name in self.kept:
            setattr(self, name, _read(state[name]))


class Diverged(Observer):
    """Sends away replicates whose loss explodes.

    Parameters
    ----------
    exploded : float
        A loss above so many times the first one's size has exploded; so has one that is
        not finite, and a last update to parameters that are not.
    every : int
        They leave at multiples of so many updates: no pause that another observer asks
        for moves their end.

    Attributes
    ----------
    first : array, shape (replicates,)
        First losses.
    at : array of int, shape (replicates,)
        The update before which the loss had exploded, -1 for none.

    Raises
    ------
    ValueError
        If `exploded` is not above 1, or `every` is less.
    """

    kept = ("first", "at")
    told = ("exploded", "every")

    def __init__(self, exploded: float = 1e3, *, every: int = 1) -> None:
        check_exploded("Diverged", exploded)
        check_counts("Diverged", every=every)
        self.exploded, self.every = exploded, every

    def begin(self, stack: Stack) -> None:
        """Set up; see `Observer.begin`."""
        self.first = np.full(len(stack), np.nan)
        self.at = np.full(len(stack), -1, dtype=np.int64)

    def see(self, t: int, seen: Array, stack: Stack) -> Mapping[int, str]:
        """Find exploded losses; see `Observer.see`."""
        losses, rows = seen[:, 0], stack.rows.cpu().numpy()
        if t == 0:
            self.first[rows] = losses[0]
        # A run that starts at zero loss can only leave it by rounding.
        size = np.abs(self.first)
        limits = self.exploded * np.where(size > 0.0, size, np.inf)
        bad = ~((losses <= limits[rows]) & np.isfinite(losses))
        found = np.flatnonzero(bad.any(axis=0) & (self.at[rows] < 0))
        self.at[rows[found]] = t + bad.argmax(axis=0)[found]
        if (t + len(seen)) % self.every:
            return {}
        gone = np.flatnonzero(self.at[rows] >= 0)
        return dict.fromkeys(gone.tolist(), "diverged")

    def leaving(self, t: int, leaving: dict[int, str], stack: Stack) -> None:
        """Call exploded replicates diverged that leave for another reason."""
        rows, finite = stack.rows.cpu().numpy(), _finite(stack)
        for column in leaving:
            row = rows[column]
            if self.at[row] < 0 and not finite[column]:
                self.at[row] = t
            if self.at[row] >= 0:
                leaving[column] = "diverged"


class Curve(Observer):
    """Records losses at given times.

    Parameters
    ----------
    times : array of int
        Numbers of updates made before the loss, increasing.
    note : int
        Which number of an update: the loss, or what else the task notes, from 1 on.

    Attributes
    ----------
    values : array, shape (replicates, times)
        nan from a replicate's end on.
    """

    kept = ("values",)
    told = ("times", "note")

    def __init__(self, times: npt.ArrayLike, *, note: int = 0) -> None:
        self.times = checked_times("Curve", times)
        check_counts("Curve", 0, note=note)
        self.note = note

    def begin(self, stack: Stack) -> None:
        """Set up; see `Observer.begin`."""
        self.values = np.full((len(stack), len(self.times)), np.nan)

    def see(self, t: int, seen: Array, stack: Stack) -> Mapping[int, str]:
        """Record the losses of these updates; see `Observer.see`."""
        if self.note >= seen.shape[1]:
            raise ValueError(
                f"Curve: `note` must be one of the {seen.shape[1]} numbers that the task "
                f"notes, from 0 on, but it is {self.note}"
            )
        places = slice(*np.searchsorted(self.times, [t, t + len(seen)]).tolist())
        rows = stack.rows.cpu().numpy()
        self.values[rows, places] = seen[self.times[places] - t, self.note].T
        return {}


class _Timed(Observer):
    """Has training pause at its times."""

    times: Integers

    def following(self, t: int) -> int | None:
        """Return the next of its times."""
        place = int(np.searchsorted(self.times, t, side="right"))
        return int(self.times[place]) if place < len(self.times) else None


class Series(_Timed):
    """Measures the stack at given times.

    Parameters
    ----------
    times : array of int
        Numbers of updates, increasing; training pauses there.
    measure : callable
        Stack to named tensors of shape (replicates, ...).

    Attributes
    ----------
    values : dict of str to array, shape (times, replicates, ...)
        nan after a replicate's end.
    """

    kept = ("values",)

    def __init__(
        self, times: npt.ArrayLike, measure: Callable[[Stack], Mapping[str, Tensor]]
    ) -> None:
        self.times = checked_times("Series", times)
        self.measure = measure

    def begin(self, stack: Stack) -> None:
        """Set up; see `Observer.begin`."""
        self.replicates = len(stack)
        self.values: dict[str, Array] = {}

    def before(self, t: int, stack: Stack) -> None:
        """Measure, if it is time."""
        places = np.flatnonzero(self.times == t)
        if not len(places):
            return
        for name, found in self.measure(stack).items():
            _check_rows(f"Series: `measure` of {name!r}", found, stack)
            shape = (len(self.times), self.replicates, *found.shape[1:])
            values = self.values.setdefault(name, np.full(shape, np.nan))
            rows = np.ix_(places, stack.rows.cpu().numpy())
            values[rows] = found.double().cpu().numpy()


class Drops(_Timed):
    """Multiplies every replicate's learning rate at given times.

    Parameters
    ----------
    times : sequence of int
        Updates before which the rate drops, increasing; twice at a time given twice.
    factor : float
        Of each drop.
    """

    told = ("times", "factor")

    def __init__(self, times: Sequence[int], factor: float) -> None:
        check_weights("Drops", factor=factor)
        self.times = checked_times("Drops", times)
        self.factor = factor

    @property
    def paces(self) -> bool:
        """Whether the rates drop."""
        return len(self.times) > 0

    def begin(self, stack: Stack) -> None:
        """Store the learning rates of the start."""
        self.rates = stack.rates.double().cpu().numpy().copy()

    def before(self, t: int, stack: Stack) -> None:
        """Set the rates, if it is time."""
        if t in self.times:
            made = int((self.times <= t).sum())
            rates = self.rates[stack.rows.cpu().numpy()]
            stack.set_rates(rates * self.factor**made)


class BestWindow(Observer):
    """Keeps the parameters at the end of the window of least mean loss.

    Parameters
    ----------
    updates : int
        Of a window.
    judge : callable, optional
        Stack at a window's end to tensor (replicates,), in the place of the mean loss.

    Attributes
    ----------
    values : array, shape (replicates, windows)
        By which complete windows were compared; nan after a replicate's end.
    at : array of int, shape (replicates,)
        Updates made when they were taken, 0 for the start.
    params, buffers : tuple of Tensor
        Replicates in front.
    """

    kept = ("values", "at", "least", "sums", "params", "buffers")
    told = ("updates",)

    def __init__(
        self, updates: int, judge: Callable[[Stack], Tensor] | None = None
    ) -> None:
        check_counts("BestWindow", updates=updates)
        self.updates, self.judge = updates, judge

    def begin(self, stack: Stack) -> None:
        """Store the parameters of the start."""
        self.values = np.empty((len(stack), 0))
        self.at = np.zeros(len(stack), dtype=np.int64)
        self.least = np.full(len(stack), np.inf)
        self.sums = np.zeros(len(stack))
        self.params: Params = tuple(p.clone() for p in stack.params)
        self.buffers: Params = tuple(b.clone() for b in stack.buffers)

    def following(self, t: int) -> int | None:
        """Return the end of this window."""
        return (t // self.updates + 1) * self.updates

    def see(self, t: int, seen: Array, stack: Stack) -> Mapping[int, str]:
        """Compare a window that is complete; see `Observer.see`."""
        rows, end = stack.rows.cpu().numpy(), t + len(seen)
        self.sums[rows] += seen[:, 0].sum(axis=0)
        if end % self.updates:
            return {}
        values = np.full(len(self.at), np.nan)
        if self.judge is None:
            values[rows] = self.sums[rows] / self.updates
        else:
            judged = self.judge(stack)
            _check_rows("BestWindow: `judge`", judged, stack)
            values[rows] = judged.double().cpu().numpy()
        self.values = np.column_stack([self.values, values])
        better = values[rows] < self.least[rows]
        if self.judge is None:
            # The last update may have led away from losses that were finite.
            better &= _finite(stack)
        self.least[rows[better]] = values[rows[better]]
        self.at[rows[better]] = end
        self.sums[:] = 0.0
        take_(self.params, stack.params, stack, np.flatnonzero(better))
        take_(self.buffers, stack.buffers, stack, np.flatnonzero(better))
        return {}


class Snapshots(_Timed):
    """Keeps the parameters after given numbers of updates, off the device.

    Parameters
    ----------
    times : sequence of int

    Attributes
    ----------
    taken : dict of int to tuple of Tensor
        Of the whole start: replicates that have left are nan.
    """

    kept = ("taken",)

    def __init__(self, times: Sequence[int]) -> None:
        self.times = checked_times("Snapshots", np.unique(np.asarray(times)))

    def begin(self, stack: Stack) -> None:
        """Set up; see `Observer.begin`."""
        self.replicates = len(stack)
        self.taken: dict[int, Params] = {}

    def before(self, t: int, stack: Stack) -> None:
        """Copy the parameters, if it is time."""
        if t in self.times:
            shapes = [(self.replicates, *p.shape[1:]) for p in stack.params]
            empty = tuple(
                torch.full(s, torch.nan, dtype=stack.params[0].dtype) for s in shapes
            )
            take_(empty, stack.params, stack, np.arange(len(stack)))
            self.taken[t] = empty


def check_observers(who: str, observers: Sequence[Observer]) -> None:
    """Refuse what are no observers, one that is there twice, and two that set rates."""
    check_kinds(who, observers=(observers, Sequence))
    for index, one in enumerate(observers):
        check_kinds(who, **{f"observers[{index}]": (one, Observer)})
    pacing = [type(one).__name__ for one in observers if one.paces]
    if len(pacing) > 1 or len(set(map(id, observers))) < len(observers):
        raise ValueError(
            f"{who}: `observers` must be each there once, and one at most set learning "
            f"rates, but they are {[type(one).__name__ for one in observers]}, of which "
            f"{pacing} set them. One Drops takes several times."
        )


def _finite(stack: Stack) -> Bools:
    every = [torch.isfinite(p.reshape(len(p), -1)).all(1) for p in stack.params]
    return torch.stack(every).all(dim=0).cpu().numpy()


def _check_rows(who: str, found: Tensor, stack: Stack) -> None:
    # Callers may not be type-checked, and NumPy would spread one number over all.
    known = isinstance(found, Tensor)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not known or not found.ndim or len(found) != len(stack):
        came = f"its shape is {tuple(found.shape)}" if known else f"it is {found!r:.80}"
        raise ValueError(
            f"{who} must return a tensor with a row for each of the {len(stack)} "
            f"replicates in training, but {came}"
        )


def checked_times(who: str, times: npt.ArrayLike, name: str = "times") -> Integers:
    """Return numbers of updates; refuse all but whole ones from 0 on that do not fall."""
    given = np.asarray(times)
    # No times are an empty array of floats.
    numbers = given.dtype.kind in "iuf" and given.ndim == 1
    found = given.astype(np.int64) if numbers else np.zeros(0, dtype=np.int64)
    if (
        not numbers
        or not bool((found == given).all())
        or bool((np.diff(found, prepend=0) < 0).any())
    ):
        raise ValueError(
            f"{who}: `{name}` must be whole numbers from 0 on, increasing, but they are "
            f"{given.tolist()}"
        )
    return found


def take_(kept: Params, params: Params, stack: Stack, columns: Integers) -> None:
    """Copy the parameters of some columns of a stack to their rows of `kept`."""
    here = torch.from_numpy(columns).to(stack.rows.device)
    for target, source in zip(kept, params, strict=True):
        if len(columns) == len(source) == len(target):
            target.copy_(source)
            continue
        target[stack.rows[here].to(target.device)] = source[here].to(target.device)


def _read(value: Any) -> Any:
    # Observers keep arrays on the host, and parameters as tuples of tensors.
    if isinstance(value, Tensor):
        return value.cpu().numpy()
    if isinstance(value, Mapping):
        return {name: _read(part) for name, part in value.items()}
    return value
