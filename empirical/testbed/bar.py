"""Where runs stand, on stderr."""

import time
from collections.abc import Mapping
from datetime import timedelta
from itertools import islice
from typing import Self

from empirical.testbed import telling

QUIET = 60.0
"""Seconds between two lines on what runs, where there is no terminal."""

WIDE = 160
"""Columns of a terminal from which on all that a run says of itself is shown."""


class Bar:
    """Progress on stderr: bars at a terminal, elsewhere a line now and then."""

    def __init__(self, total: int) -> None:
        # Loaded here: `list` and `--help` draw nothing.
        from rich import progress
        from rich.console import Console

        self._console = Console(stderr=True, soft_wrap=True)
        self._bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.TextColumn("{task.fields[shown]}"),
            progress.TimeElapsedColumn(),
            progress.TextColumn("left"),
            progress.TimeRemainingColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._all = self._bar.add_task("all", total=total, shown=f"0/{total}")
        self._total, self._done = total, 0
        self._rows: dict[str, progress.TaskID] = {}
        # Where runs stood when they were first looked at, and where they do, each with
        # the time at which it was seen.
        self._first: dict[str, tuple[float, telling.Said]] = {}
        self._last: dict[str, tuple[float, telling.Said]] = {}
        self._spoke = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def say(self, line: str) -> None:
        """Write a line above the bars."""
        # A command is copied from it: the terminal breaks the line, if need be.
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def report(self, name: str, outcome: str) -> None:
        """Show the start or the end of a run."""
        if outcome == "running":
            return
        if name in self._rows:
            self._bar.remove_task(self._rows.pop(name))
        self._done += 1
        shown = f"{self._done}/{self._total}"
        self._bar.update(self._all, advance=1, shown=shown)
        if outcome != "kept":
            self.say(f"[{shown}] {name}: {outcome}")
        if outcome.startswith("stopped") and name in self._last:
            self.say(f"{name}: {self._standing(name)}")

    def look(self, running: Mapping[str, telling.Said | None]) -> None:
        """Show where runs stand."""
        for name, said in running.items():
            if name not in self._rows:
                self._rows[name] = self._bar.add_task(name, total=None, shown="")
            if said is not None:
                if name not in self._last or said.done != self._last[name][1].done:
                    self._last[name] = (time.monotonic(), said)
                    self._first.setdefault(name, self._last[name])
                row = self._rows[name]
                # The times stay in sight on a narrow terminal.
                some = None if self._console.width >= WIDE else 1
                terms = dict(islice(said.terms.items(), some))
                shown = str(said._replace(terms=terms))
                self._bar.update(row, completed=said.done, total=said.last, shown=shown)
        if self._bar.disable and time.monotonic() - self._spoke > QUIET:
            self._spoke = time.monotonic()
            for name in running:
                self.say(f"{name}: {self._standing(name)}")

    def _standing(self, name: str) -> str:
        """Say where a run stands, and how long it will take at the rate seen so far."""
        if name not in self._last:
            return "running"
        (since, first), (until, last) = self._first[name], self._last[name]
        if last.done == first.done:
            return str(last)
        each = (until - since) / (last.done - first.done)
        left = timedelta(seconds=round(each * (last.last - last.done)))
        return f"{last}; {left} left at this rate"
