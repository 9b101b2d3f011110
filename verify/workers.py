"""Worker processes that run named jobs, one at a time each.

A process pool that can be interrupted: on Ctrl-C the workers are stopped at once, and a
worker that dies takes only its own job with it.
"""

import multiprocessing
import os
import signal
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

Report = Callable[[str, Any], None]
Job = tuple[str, tuple[Any, ...]]
"""A name and the arguments of the function."""

_THREAD_SETTINGS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def run_jobs(
    function: Callable[..., Any],
    jobs: Sequence[Job],
    *,
    workers: int,
    finish: Report,
) -> dict[str, str]:
    """Call `function` on the arguments of each job, in order, in worker processes.

    `finish(name, result)` is called in this process as results arrive. Returns the
    reason of every job that failed, by name. The workers are spawned, use one thread,
    and are gone when this returns or raises.
    """
    waiting = deque(jobs)
    failures: dict[str, str] = {}
    team: list[_Worker] = []
    try:
        team = [_Worker(function) for _ in range(min(workers, len(jobs)))]
        busy = {worker.connection: worker for worker in team if worker.next(waiting)}
        while busy:
            for ready in wait(list(busy)):
                assert isinstance(ready, Connection)
                worker = busy.pop(ready)
                try:
                    name, result, error = ready.recv()
                except EOFError:
                    # Killed (out of memory, a crash in a library): a fresh one goes on.
                    failures[worker.job] = worker.cause_of_death()
                    worker = _Worker(function)
                    team.append(worker)
                else:
                    if error:
                        failures[name] = error
                    else:
                        finish(name, result)
                if worker.next(waiting):
                    busy[worker.connection] = worker
    finally:
        for worker in team:
            worker.stop()
    return failures


class _Worker:
    """A process and this side's end of its pipe."""

    def __init__(self, function: Callable[..., Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.job = ""
        self._process: SpawnProcess = context.Process(
            target=_serve, args=(function, theirs), daemon=True
        )
        # Read by the numerical libraries when the child first loads them.
        before = {name: os.environ.get(name) for name in _THREAD_SETTINGS}
        os.environ.update(dict.fromkeys(_THREAD_SETTINGS, "1"))
        try:
            self._process.start()
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
        theirs.close()  # so that the worker's death shows as end of file

    def next(self, waiting: deque[Job]) -> bool:
        """Give the worker the next job, if there is one."""
        if not waiting:
            return False
        job = waiting.popleft()
        self.job = job[0]
        self.connection.send(job)
        return True

    def cause_of_death(self) -> str:
        self._process.join(timeout=5.0)
        return f"the worker ended with exit code {self._process.exitcode}"

    def stop(self) -> None:
        self._process.terminate()
        self._process.join()
        self.connection.close()


def _serve(function: Callable[..., Any], connection: Connection) -> None:
    """Run jobs until the pipe closes or the process is stopped."""
    # Ctrl-C reaches the whole process group; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            name, arguments = connection.recv()
        except EOFError:
            return
        try:
            connection.send((name, function(*arguments), ""))
        except Exception:
            connection.send((name, None, traceback.format_exc()))
