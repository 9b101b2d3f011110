"""Worker processes of this machine, and the Dask scheduler that they share."""

import asyncio
import ctypes
import logging
import os
import signal
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from typing import Any

import psutil
from distributed import Nanny, Scheduler
from distributed.core import Status
from distributed.scheduler import WorkerState
from distributed.utils import LoopRunner

from empirical.testbed.graph import UNGUARDED
from empirical.testbed.signals import SIGNALS
from empirical.testbed.threads import THREADS

CONFIG: dict[str, Any] = {
    # A library that keeps the interpreter to itself is busy, not dead.
    "distributed.scheduler.worker-ttl": None,
    # Limits are the tasks' own.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.multiprocessing-method": "spawn",
    # Dask's own has freed memory given back at once, to be asked for at the next update.
    "distributed.nanny.pre-spawn-environ": dict.fromkeys(THREADS, 1),
    "distributed.diagnostics.nvml": False,
    # Nothing but the engine's own connections, and those on loopback.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "logging": {"distributed": "critical"},
}


STOP: signal.Signals | None = getattr(signal, "SIGUSR2", None)
"""Asks a worker to stop its task: one that is busy hears it before any message.

It is blocked, as `SIGNALS` are, until the worker begins its first task.
"""


class _Nanny(Nanny):
    """Keeps a worker process alive, and notes how each has ended."""

    exits: dict[str, int]
    last: int = 0

    async def instantiate(self) -> Status:
        if self.process is not None and not self.process.is_alive():
            # It would be taken for the address of the worker that starts now.
            self.process.worker_address = None
        return await super().instantiate()

    def _on_worker_exit_sync(self, exitcode: int) -> None:
        self.last = exitcode
        # One that dies as soon as the scheduler has it hasn't told its nanny where it is.
        self.exits[self.worker_address or self.address] = exitcode
        super()._on_worker_exit_sync(exitcode)


@contextmanager
def _blocked() -> Generator[None]:
    """Block the signals in threads that are started here, and in their processes."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    these = SIGNALS if STOP is None else (*SIGNALS, STOP)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, these)
    try:
        # It inherits the mask, too, but unblocks some in the thread that starts it.
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, these)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _first(error: BaseException) -> BaseException:
    """Return the error that led to another: Dask's own says that a start has failed."""
    while (before := error.__cause__ or error.__context__) is not None:
        error = before
    return error


def die_with_parent() -> None:
    """Be killed with the process that looks after this one.

    Dask sees to it by a thread, which a library can keep from running.
    """
    if sys.platform == "linux":
        set_parent_death_signal = 1  # PR_SET_PDEATHSIG of <sys/prctl.h>
        ctypes.CDLL(None).prctl(set_parent_death_signal, int(signal.SIGKILL))


class Crew:
    """The processes of this machine."""

    def __init__(self, workers: int, gpus: int) -> None:
        self.gpus = min(gpus, workers)
        self.exits: dict[str, int] = {}
        self.broken = ""
        self._workers, self._failures, self._closing = workers, 0, False
        self._nannies: list[_Nanny] = []
        self._keepers: list[asyncio.Task[None]] = []
        self._scheduler: Scheduler | None = None
        # What a terminal, Slurm or `timeout` sends to the whole process group is for
        # the client to handle.
        with _blocked():
            self._runner = LoopRunner()
            self._runner.start()
        self.loop = self._runner.loop

    def open(self, deaths: int) -> None:
        """Start the scheduler; workers come by and by."""
        self.address: str = self._runner.run_sync(self._open, deaths)

    def ask(self) -> None:
        """Send `STOP` to the workers."""
        for nanny in list(self._nannies):
            if STOP is not None and nanny.pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(nanny.pid, STOP)

    def exit_of(self, worker: WorkerState, patience: float = 5.0) -> int | None:
        """Return how a worker's process ended; None if its nanny never says."""
        # A broken connection tells the scheduler of a death before the nanny hears of it.
        end = time.monotonic() + patience
        while True:
            for address in (worker.address, worker.nanny):
                if address in self.exits:
                    return self.exits[address]
            if time.monotonic() > end:
                return None
            time.sleep(0.02)

    async def _open(self, deaths: int) -> str:
        self._scheduler = scheduler = await Scheduler(
            host="127.0.0.1",
            port=0,
            dashboard=False,
            dashboard_address="127.0.0.1:0",
            allowed_failures=deaths - 1,
        )
        self._keepers = [
            asyncio.create_task(self._keep(scheduler.address, place))
            for place in range(self._workers)
        ]
        return scheduler.address

    async def _keep(self, address: str, place: int) -> None:
        """Have a worker, and another when it can't be restarted."""
        gpu = place < self.gpus
        seen = os.environ.get("CUDA_VISIBLE_DEVICES")
        device = seen.split(",")[place] if gpu and seen else str(place)
        while not self._closing and not self.broken:
            nanny = _Nanny(
                address,
                host="127.0.0.1",
                nthreads=1,
                memory_limit="0",
                dashboard=False,
                silence_logs=logging.CRITICAL,
                resources={"GPU": 1} if gpu else {},
                env={"CUDA_VISIBLE_DEVICES": device} if gpu else {},
            )
            nanny.exits = self.exits
            self._nannies.append(nanny)
            try:
                await nanny
                self._failures = 0
                await nanny.finished()
            except Exception as error:
                reason = str(_first(error))
            else:
                reason = "it ended"
            self._nannies.remove(nanny)
            # One that was killed says nothing about the program.
            self._failures += nanny.last >= 0
            if self._failures > 2 + self._workers:
                self.broken = (
                    f"no worker process can be started ({reason}); {UNGUARDED}"
                )
            await asyncio.sleep(0.1)

    def close(self) -> None:
        """Kill the workers."""
        self._closing = True
        self._runner.run_sync(self._close)
        self._runner.stop()

    async def _close(self) -> None:
        for keeper in self._keepers:
            keeper.cancel()
        for nanny in self._nannies:
            nanny.close_gracefully()  # it starts no other process
            if nanny.pid is not None:
                with suppress(psutil.NoSuchProcess):
                    psutil.Process(nanny.pid).kill()
        # One whose process was just starting may say that it is in no state to close.
        closing = [nanny.close(timeout=30.0) for nanny in self._nannies]
        await asyncio.gather(*closing, return_exceptions=True)
        if self._scheduler is not None:
            await self._scheduler.close()
