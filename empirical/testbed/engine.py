"""Tasks of one graph, run in this process or on a Dask cluster.

::

    tasks = [Task("run", train, (5,)), Task("claim", judge, ("a",), needs=("run",))]
    with Engine(workers=4) as engine:
        for task, result in engine.run(tasks):
            ...  # results as they come

Whatever happens to one task, the others go on. The program that has the engine is the
only one to write files. With one worker or one task all happens in its own process, with
the same results.
"""

import ctypes
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from multiprocessing import current_process
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Self, TypeAlias

from empirical.checks import check_counts, check_weights
from empirical.testbed import stopping, streams, telling
from empirical.testbed.graph import (
    UNGUARDED,
    End,
    Graph,
    Result,
    Task,
    beside,
    call,
    exceeded,
    resident,
    result_of,
)
from empirical.testbed.signals import Ended, Interruption, Listener
from empirical.testbed.threads import one_thread

if TYPE_CHECKING:
    from empirical.testbed.cluster import Cluster


@dataclass(frozen=True)
class Progress:
    """Progress of a run.

    Attributes
    ----------
    waiting, done : int
        Numbers of tasks.
    running : mapping
        Key to the seconds since its start.
    workers : int
        Processes at hand now.
    said : mapping
        Key to where a running task stands, as it told by `telling.tell`.
    """

    waiting: int
    running: Mapping[str, float]
    done: int
    workers: int
    said: Mapping[str, telling.Said]


Team: TypeAlias = "_Here | Cluster"
"""What runs tasks: this process, or a cluster; they have the same methods."""


class Engine:
    """Runs tasks; to be used in a ``with`` statement.

    Parameters
    ----------
    workers : int, optional
        Processes of one thread each, on this machine; by default, one a core.
    scheduler : str or Path, optional
        Address or file of a Dask scheduler, whose workers run the tasks instead.
    minutes : float, optional
        After which the program is asked to end.
    gpus : int, optional
        GPUs of this machine to use; by default all, counted when a task wants one.
    grace : float
        Seconds that running tasks have to leave a checkpoint in, once asked to stop.
    deaths : int
        How many processes a task of a local worker may bring down before it has
        `End.DIED`; for `scheduler`, its own setting rules.

    Raises
    ------
    ValueError
        If an argument makes no sense.
    RuntimeError
        If worker processes can't import the program.
    OSError
        If the scheduler can't be reached, at the start or any more.
    """

    def __init__(
        self,
        *,
        workers: int | None = None,
        scheduler: str | Path | None = None,
        minutes: float | None = None,
        gpus: int | None = None,
        grace: float = 20.0,
        deaths: int = 3,
    ) -> None:
        check_counts("Engine", workers=workers, deaths=deaths)
        check_counts("Engine", 0, gpus=gpus)
        check_weights("Engine", grace=grace)
        if workers is not None and scheduler is not None:
            raise ValueError("Engine: give `workers` or `scheduler`, not both")
        self._workers = workers or cores()
        self._scheduler = scheduler
        self._gpus, self._grace, self._deaths = gpus, grace, deaths
        self._listener = Listener(minutes)
        self._open = ExitStack()
        self._cluster: Team | None = None

    def __enter__(self) -> Self:
        if getattr(current_process(), "_inheriting", False):
            # A worker process that runs the program once more instead of importing it.
            raise SystemExit(f"error: {UNGUARDED}")
        streams.open_all()
        self._open.enter_context(self._listener.listening())
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def run(
        self,
        tasks: Sequence[Task],
        *,
        progress: Callable[[Progress], None] | None = None,
    ) -> Iterator[tuple[Task, Result]]:
        """Run tasks, those given first first; yield each with its result, once.

        Parameters
        ----------
        tasks : sequence of Task
        progress : callable, optional
            Called every second at least, not always by the thread that calls this.

        Raises
        ------
        Ended
            After the last result, if a signal or the deadline has ended the run: what
            had not ended by itself was yielded as `End.STOPPED`. Ahead of all, if it
            came while a scheduler was waited for.
        ValueError
            If the tasks are no graph.
        """
        graph = Graph(tasks)
        if not tasks:
            return
        team = self._team(tasks)
        stopped = False

        def look() -> None:
            if progress is not None:
                running, done = team.running(), len(graph.results)
                waiting = len(graph.tasks) - done - len(running)
                progress(Progress(waiting, running, done, team.size(), team.said()))

        try:
            while len(graph.results) < len(graph.tasks):
                if self._listener.code and not stopped:
                    stopped = True
                    team.stop(self._listener.reason)
                ended = self._start(graph, team)
                look()
                for key, result in [*ended, *team.collect(look)]:
                    graph.settle(key, result)
                    yield graph.tasks[key], result
            look()
        finally:
            team.drop()
        if self._listener.code:
            raise Ended(self._listener.code)

    def _start(self, graph: Graph, team: Team) -> list[tuple[str, Result]]:
        """Start what is ready while there are workers; return what can't be."""
        ended: list[tuple[str, Result]] = []
        for key in list(graph.ready):
            task, result = graph.tasks[key], graph.lacking(key)
            if result is None and self._listener.code:
                result = Result(
                    End.STOPPED, error=f"{self._listener.reason}, unstarted"
                )
            if result is None:
                if not team.free(task):
                    continue
                try:
                    payload = graph.payload(key)
                except Exception as error:
                    text = f"the task can't be sent to a worker: {error}"
                    result = Result(End.FAILED, error=text)
                else:
                    result = team.take(task, payload)
            graph.ready.remove(key)
            if result is not None:
                ended.append((key, result))
        return ended

    def _team(self, tasks: Sequence[Task]) -> Team:
        alone = self._workers == 1 or len(tasks) == 1
        if self._scheduler is None and alone:
            return _Here(self._listener, self._grace)
        if self._cluster is None:
            # Loading Dask takes a second.
            from empirical.testbed import cluster

            if self._scheduler is not None:
                team = cluster.connect(self._scheduler, self._grace, self._listener)
            else:
                gpus = self._gpus
                if gpus is None:
                    gpus = _gpus() if any(task.gpu for task in tasks) else 0
                team = cluster.local(self._workers, gpus, self._deaths, self._grace)
            self._cluster = self._open.enter_context(team)
        return self._cluster


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _gpus() -> int:
    import torch

    return torch.cuda.device_count()


class _Here:
    """A team of one: this process, where a task runs while its end is waited for.

    Limits take effect between two instructions of Python, in the main thread.
    """

    def __init__(self, listener: Listener, grace: float) -> None:
        self._listener, self._grace = listener, grace
        self._held: tuple[Task, bytes] | None = None
        self._start = 0.0

    def free(self, _task: Task, /) -> bool:
        return self._held is None

    def take(self, task: Task, payload: bytes) -> Result | None:
        self._held = task, payload
        self._start = time.monotonic()
        telling.forget()
        return None

    def collect(self, look: Callable[[], None], /) -> Sequence[tuple[str, Result]]:
        if self._held is None:
            return []
        task, payload = self._held
        watch = self._watch(task, look)
        try:
            with one_thread(), _printing_to_stderr(), _staying(), beside(watch, 0.05):
                result = result_of(*call(payload))
        except Interruption as interruption:
            end, text = interruption.args
            result = Result(end, error=text, seconds=time.monotonic() - self._start)
        finally:
            stopping.withdraw()
            self._held = None
        return [(task.key, result)]

    def _watch(self, task: Task, look: Callable[[], None]) -> Callable[[float], None]:
        asked, shown = math.inf, 0.0
        main = threading.current_thread() is threading.main_thread()
        interrupted = False

        def watch(seconds: float) -> None:
            nonlocal asked, interrupted, shown
            if seconds - shown > 0.5:
                shown = seconds
                look()
            if self._listener.code and asked == math.inf:
                asked = seconds
                stopping.request()
            memory = resident() if task.memory is not None else 0
            over = exceeded(task, seconds, memory)
            if seconds - asked > self._grace:
                over = End.STOPPED, f"{self._listener.reason}, after {self._grace:g} s"
            if over is not None and main and not interrupted:
                interrupted = True
                self._listener.interrupt(Interruption(*over))

        return watch

    def running(self) -> Mapping[str, float]:
        held = self._held
        return {} if held is None else {held[0].key: time.monotonic() - self._start}

    def said(self) -> Mapping[str, telling.Said]:
        held, said = self._held, telling.said()
        return {} if held is None or said is None else {held[0].key: said}

    def size(self) -> int:
        return 1

    def stop(self, reason: str) -> None:
        """Do nothing: no task waits here, and the running one stops by itself."""

    def drop(self) -> None:
        self._held = None


@contextmanager
def _staying() -> Generator[None]:
    """Make `os._exit` a failure of the task: it would end the program without a word.

    A process that the task forked may still end so.
    """
    leave, own = os._exit, os.getpid()

    def refused(status: int) -> NoReturn:
        if os.getpid() == own:
            raise SystemExit(f"a task must return, but it called os._exit({status})")
        leave(status)

    os._exit = refused
    try:
        yield
    finally:
        os._exit = leave


@contextmanager
def _printing_to_stderr() -> Generator[None]:
    """Send to stderr what is printed, by libraries in C too."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        if os.name == "posix":
            ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
