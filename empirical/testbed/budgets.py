"""Observers that give each replicate a time of its own."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import torch

from empirical.checks import check_counts, check_positive, check_share, check_weights
from empirical.testbed.observers import Observer, checked_times
from empirical.testbed.stack import Stack
from empirical.testbed.writing import Array, Integers


class Released(Observer):
    """Counts a replicate's budget from when its loss has left the first plateau.

    A replicate that has used up its budget leaves as ``"finished"``, one that waited too
    long for its release as ``"stalled"``.

    Parameters
    ----------
    share : float
        The release is where the loss is first below `share` times the first loss; in
        (0, 1).
    limit : int
        Most updates to wait for it.
    steps : int
        Budget: updates after the release.
    drops : sequence of int
        Updates after the release before which the learning rate drops, increasing.
    factor : float
        Of each drop.

    Attributes
    ----------
    first : array, shape (replicates,)
        First losses.
    at : array of int, shape (replicates,)
        Updates until the release, -1 where there was none.

    Raises
    ------
    ValueError
        If `share` is not in (0, 1), a number of updates is less than 1, `drops` are no
        increasing whole numbers, or `factor` is negative.

    Examples
    --------
    >>> import torch
    >>> stack = Stack([torch.zeros(2, 1)], rates=1.0)
    >>> budget = Released(0.5, limit=9, steps=2)
    >>> budget.begin(stack)
    >>> budget.see(0, np.array([[[1.0, 1.0]], [[0.4, 0.9]], [[0.3, 0.9]]]), stack)
    {0: 'finished'}
    >>> budget.at.tolist()
    [1, -1]
    """

    kept: ClassVar[tuple[str, ...]] = ("first", "at", "rows")
    told: ClassVar[tuple[str, ...]] = ("share", "limit", "steps", "drops", "factor")

    def __init__(
        self,
        share: float,
        *,
        limit: int,
        steps: int,
        drops: Sequence[int] = (),
        factor: float = 1.0,
    ) -> None:
        check_positive("Released", share=share)
        check_share("Released", share=share)
        check_counts("Released", limit=limit, steps=steps)
        self.share, self.limit, self.steps = share, limit, steps
        self.drops = checked_times("Released", drops, "drops")
        check_weights("Released", factor=factor)
        self.factor = factor

    def begin(self, stack: Stack) -> None:
        """Set up; see `Observer.begin`."""
        self.first = np.full(len(stack), np.nan)
        self.at = np.full(len(stack), -1, dtype=np.int64)
        self.rates = stack.rates.double().cpu().numpy().copy()
        self.rows = np.arange(len(stack))

    @property
    def paces(self) -> bool:
        """Whether the rates drop."""
        return len(self.drops) > 0

    @property
    def ends(self) -> Integers:
        """Updates after which each replicate's time is over, shape (replicates,)."""
        return np.where(self.at >= 0, self.at + self.steps, self.limit)

    @property
    def last(self) -> int:
        """Latest update at which a replicate still in training ends."""
        return int(self.ends[self.rows].max())

    def following(self, t: int) -> int | None:
        """Return the next drop, end, or release whose first drop must be met."""
        events = self.ends[self.rows].tolist()
        since = self.at[self.rows]
        events += (since[since >= 0, None] + self.drops).ravel().tolist()
        if (since < 0).any():
            # Soon enough for the first drop of a replicate that is released meanwhile.
            events.append(t + max(1, min([*self.drops.tolist(), self.steps])))
        return min((e for e in events if e > t), default=None)

    def before(self, t: int, stack: Stack) -> None:
        """Set the rates."""
        self.rows = stack.rows.cpu().numpy()
        if len(self.drops):
            since = self.at[self.rows, None]
            made = ((since >= 0) & (since + self.drops <= t)).sum(axis=1)
            stack.set_rates(self.rates[self.rows] * self.factor**made)

    def see(self, t: int, seen: Array, stack: Stack) -> Mapping[int, str]:
        """Find releases and ends; see `Observer.see`."""
        losses, rows = seen[:, 0], stack.rows.cpu().numpy()
        if t == 0:
            self.first[rows] = losses[0]
        # In the precision of training, as `optimisers.Clipped` compares.
        first = torch.from_numpy(self.first[rows]).to(stack.rates.dtype)
        low = losses < (self.share * first).double().numpy()
        found = np.flatnonzero(low.any(axis=0) & (self.at[rows] < 0))
        self.at[rows[found]] = t + low.argmax(axis=0)[found]
        over = np.flatnonzero(self.ends[rows] <= t + len(seen)).tolist()
        return {c: "finished" if self.at[rows[c]] >= 0 else "stalled" for c in over}


class Floor(Observer):
    """Ends replicates whose loss cannot fall further, with the status ``"floor"``.

    Parameters
    ----------
    floor : float
        Loss that counts as low.
    patience : int
        A replicate ends once its loss has been low for more than so many updates.
    every : int
        Replicates end only at multiples of this, so that the pauses of other observers
        change no result.

    Raises
    ------
    ValueError
        If `floor` is not positive and finite, or a number of updates less than 1.
    """

    kept: ClassVar[tuple[str, ...]] = ("above",)
    told: ClassVar[tuple[str, ...]] = ("floor", "patience", "every")

    def __init__(self, floor: float, *, patience: int, every: int = 1) -> None:
        check_positive("Floor", floor=floor)
        check_counts("Floor", patience=patience, every=every)
        self.floor, self.patience, self.every = floor, patience, every

    def begin(self, stack: Stack) -> None:
        """Set up; see `Observer.begin`."""
        # The last update before which the loss was above the floor.
        self.above = np.zeros(len(stack), dtype=np.int64)

    def see(self, t: int, seen: Array, stack: Stack) -> Mapping[int, str]:
        """Find losses that stay low; see `Observer.see`."""
        rows, end = stack.rows.cpu().numpy(), t + len(seen)
        above = seen[:, 0] > self.floor
        found = np.flatnonzero(above.any(axis=0))
        self.above[rows[found]] = end - 1 - above[::-1].argmax(axis=0)[found]
        if end % self.every:
            return {}
        quiet = end - self.above[rows] > self.patience
        return dict.fromkeys(np.flatnonzero(quiet).tolist(), "floor")
