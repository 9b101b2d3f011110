"""What Dask's processes do: workers run tasks, tell where they stand, and heed a stop."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any, cast

from distributed import Scheduler, get_worker
from distributed.diagnostics.plugin import SchedulerPlugin
from distributed.utils import sync

from empirical.testbed import stopping, streams, telling
from empirical.testbed.crew import STOP, die_with_parent
from empirical.testbed.graph import End, Task, beside, call, exceeded, resident

TOPIC = "deep-ledger"
"""Of the events by which workers tell what they run, and of published results."""

_lock = threading.Lock()
_key = ""  # of the task that this worker runs


def serve(task: Task, payload: bytes, *, shared: bool) -> tuple[End, Any, float]:
    """Run a task in a worker, and tell the clients so.

    On a `shared` scheduler another program may have published the result. Looked up by
    the one that asks, it could be published just after.
    """
    global _key
    worker = get_worker()
    if shared:
        ask_for = worker.scheduler.get_metadata
        found = cast(
            "tuple[bytes, float] | None",
            sync(worker.loop, ask_for, keys=[TOPIC, task.key], default=None),
        )
        if found is not None:
            return End.DONE, *found
    elif STOP is not None:
        sync(worker.loop, _heed)
    die_with_parent()
    os.dup2(2, 1)  # what is printed, by libraries in C too, goes to stderr
    streams.keep_going("stdout", "stderr")

    def message(seconds: float, memory: int = 0) -> dict[str, Any]:
        place = {"key": task.key, "worker": worker.address}
        return {**place, "seconds": seconds, "memory": memory, "said": telling.said()}

    def look(seconds: float) -> None:
        memory = resident() if task.memory is not None else 0
        if int(seconds) > int(seconds - 0.1) or exceeded(task, 0.0, memory):
            worker.log_event(TOPIC, message(seconds, memory))

    # Waits for the answer: the function may keep the interpreter to itself.
    sync(worker.loop, worker.scheduler.log_event, topic=TOPIC, msg=message(0.0))
    with _lock:
        _key = task.key
        stopping.withdraw()
        telling.forget()
    try:
        with beside(look, 0.1):
            return call(payload)
    finally:
        with _lock:
            _key = ""


def server() -> Callable[..., tuple[End, Any, float]]:
    """Return a function that calls `serve` in a worker.

    Where a worker lacks this package, or has another version, that fails and is told:
    unlike a class or a function by name, which cost a worker its connection.
    """

    # A function of this function's travels whole, but for what its annotations name.
    def begin(task: bytes, payload: bytes, *, shared: bool) -> Any:
        import pickle

        from empirical.testbed.serving import serve

        return serve(pickle.loads(task), payload, shared=shared)

    return begin


def sweeper() -> SchedulerPlugin:
    """Return a plugin that clears a scheduler of results once all clients have left."""

    # A class of this function's: the scheduler need not have this package.
    class Sweeper(SchedulerPlugin):
        name = TOPIC
        idempotent = True

        def remove_client(self, scheduler: Scheduler, client: str) -> None:
            if {client, "fire-and-forget"}.issuperset(scheduler.clients):
                scheduler.task_metadata.pop(TOPIC, None)

    return Sweeper()


def ask(keys: Sequence[str] | None = None) -> None:
    """Ask the task that this worker runs to stop, if it is one of these, or any."""
    with _lock:
        if _key and (keys is None or _key in keys):
            stopping.request()


async def _heed() -> None:
    """Heed `STOP`, in a worker's main thread."""
    assert STOP is not None
    asyncio.get_running_loop().add_signal_handler(STOP, ask)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [STOP])
