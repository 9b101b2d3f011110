"""What a Dask worker does: runs a task, tells where it stands, and heeds a stop."""

import asyncio
import os
import signal
import threading
from collections.abc import Sequence
from typing import Any, cast

from distributed import get_worker
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
