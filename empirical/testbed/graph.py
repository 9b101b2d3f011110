"""What the engine runs: tasks, how they end, and the order that their needs impose."""

import math
import pickle
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from typing import Any

from empirical.testbed import stopping
from empirical.testbed.signals import Ended

UNGUARDED = (
    "worker processes import the program that starts them: put what it runs below"
    " `if __name__ == '__main__':`, or ask for one worker"
)


@dataclass(frozen=True)
class Task:
    """A call of a function, under a name.

    Attributes
    ----------
    key : str
        Stands for everything the result depends on, code included: two programs on one
        scheduler share what has the same key.
    function : callable
        Pure, of a module's top level. The results of `needs` follow its `arguments`.
    arguments : tuple
    needs : tuple of str
        Keys of the tasks whose results it is given.
    gpu : bool
        Whether it runs only where a GPU is.
    seconds : float, optional
        How long it may take.
    memory : int, optional
        Bytes that its process may hold in memory.

    Raises
    ------
    ValueError
        If a limit is not positive and finite.
    """

    key: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    needs: tuple[str, ...] = ()
    gpu: bool = False
    seconds: float | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        for name in ("seconds", "memory"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ValueError(
                    f"Task: `{name}` must be positive and finite, but that of"
                    f" {self.key!r} is {value}"
                )


class End(StrEnum):
    """How a task ended."""

    DONE = "done"
    FAILED = "failed"
    """It raised, or a task that it needs has no result."""
    DIED = "died"
    """Every process that it was given died."""
    TIMED_OUT = "timed out"
    OUT_OF_MEMORY = "out of memory"
    """More than its limit."""
    STOPPED = "stopped"
    """The program was asked to end first."""


@dataclass(frozen=True)
class Result:
    """How a task ended, with its value or error.

    Attributes
    ----------
    end : End
    value : object
        What the function returned, if it is done; else None.
    error : str
        Why it is not done: a traceback, or a sentence.
    seconds : float
        From its start to its end, in its last process.
    """

    end: End
    value: Any = None
    error: str = ""
    seconds: float = 0.0


class Graph:
    """Tasks that wait for each other's results.

    Raises
    ------
    ValueError
        If two tasks have one key, a need is no task's key, or tasks need each other.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.tasks = {task.key: task for task in tasks}
        if len(self.tasks) < len(tasks):
            keys = [task.key for task in tasks]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ValueError(f"Engine.run: two tasks have the key {twice!r}")
        for task in tasks:
            if missing := [key for key in task.needs if key not in self.tasks]:
                raise ValueError(
                    f"Engine.run: {task.key!r} needs {missing[0]!r}, which is no task"
                )
        self.results: dict[str, Result] = {}
        self._order = TopologicalSorter({t.key: t.needs for t in tasks})
        try:
            self._order.prepare()
        except CycleError as error:
            around = " needs ".join(map(repr, reversed(error.args[1])))
            raise ValueError(f"Engine.run: a circle, {around}") from None
        self._place = {key: place for place, key in enumerate(self.tasks)}
        self.ready: list[str] = []
        self._advance()

    def settle(self, key: str, result: Result) -> None:
        """Note how a task ended."""
        self.results[key] = result
        self._order.done(key)
        self._advance()

    def lacking(self, key: str) -> Result | None:
        """Return the result of a ready task that can't run: a need has no result."""
        for need in self.tasks[key].needs:
            end = self.results[need].end
            if end is not End.DONE:
                ended = End.STOPPED if end is End.STOPPED else End.FAILED
                return Result(ended, error=f"needs {need}, which is {end.value}")
        return None

    def payload(self, key: str) -> bytes:
        """Return what `call` runs."""
        task = self.tasks[key]
        values = [self.results[need].value for need in task.needs]
        return pickle.dumps((task.function, (*task.arguments, *values)))

    def _advance(self) -> None:
        # In the order of the caller, who knows which ones take long.
        fresh = self._order.get_ready()
        self.ready = sorted([*self.ready, *fresh], key=self._place.__getitem__)


def call(payload: bytes) -> tuple[End, Any, float]:
    """Call a pickled function; return the pickled value, or why there is none."""
    start = time.perf_counter()
    ended: tuple[End, Any]
    try:
        function, arguments = pickle.loads(payload)
        ended = End.DONE, pickle.dumps(function(*arguments))
    except Ended:
        raise
    except stopping.Stopped as stopped:
        ended = End.STOPPED, str(stopped)
    except (Exception, SystemExit, KeyboardInterrupt):
        ended = End.FAILED, traceback.format_exc()
    sys.stdout.flush()
    return ended[0], ended[1], time.perf_counter() - start


def result_of(end: End, content: Any, seconds: float) -> Result:
    """Return the result that `call` describes."""
    if end is End.DONE:
        return Result(end, pickle.loads(content), seconds=seconds)
    return Result(end, error=content, seconds=seconds)


def exceeded(task: Task, seconds: float, memory: int) -> tuple[End, str] | None:
    """Return the end of a task that takes too much, and why; else None."""
    if task.seconds is not None and seconds > task.seconds:
        return End.TIMED_OUT, f"timed out: it may take {task.seconds:g} s"
    if task.memory is not None and memory > task.memory:
        held, allowed = memory / 2**20, task.memory / 2**20
        text = f"out of memory: {held:.0f} MiB of {allowed:.0f} MiB allowed"
        return End.OUT_OF_MEMORY, text
    return None


def resident() -> int:
    """Return how many bytes of memory this process holds."""
    import psutil

    return psutil.Process().memory_info().rss


@contextmanager
def beside(look: Callable[[float], None], every: float) -> Generator[None]:
    """Call `look` with the seconds gone by, in another thread, every so often."""
    over, start = threading.Event(), time.monotonic()

    def watch() -> None:
        while not over.wait(every):
            look(time.monotonic() - start)

    thread = threading.Thread(target=watch, name="watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
