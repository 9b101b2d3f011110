"""Tasks on a Dask cluster: worker processes of this machine, or a scheduler's.

This side submits no more tasks than there are threads, so that a worker that dies takes
one task with it; it keeps results, so that none is computed again for a lost worker.
"""

import logging
import pickle
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dask.config
from distributed import Client, Future, KilledWorker

from empirical.testbed import telling
from empirical.testbed.addresses import address_of, greet
from empirical.testbed.crew import CONFIG, Crew
from empirical.testbed.graph import (
    UNGUARDED,
    End,
    Result,
    Task,
    call,
    exceeded,
    result_of,
)
from empirical.testbed.serving import TOPIC, ask, server, sweeper
from empirical.testbed.signals import Ended, Listener

PATIENCE = 5.0
"""Seconds without a worker for what is next, or an answer, after which this is told."""

ANSWER = 2.0
"""Seconds that an answer of the scheduler is waited for: signals are to be heeded."""


@dataclass(eq=False)
class _Held:
    """A task that is at Dask's, and what its worker has told of it."""

    task: Task
    payload: bytes
    future: "Future[Any]" = field(init=False)  # no generic before Dask 2025.12
    started: tuple[str, float] | None = None  # worker, when
    starts: int = 0
    memory: int = 0
    said: telling.Said | None = None


class Cluster:
    """A team of Dask workers."""

    def __init__(self, client: Client, crew: Crew | None, grace: float) -> None:
        self._client: Any = client
        self._address: str = self._client.scheduler.address
        self._crew, self._grace = crew, grace
        self._held: dict[str, _Held] = {}
        self._ended: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self._workers: Mapping[str, Any] = {}
        self._asked_workers = 0.0
        self._restarting = 0
        self._stopped: tuple[str, float] | None = None  # why, when
        self._asked = 0.0
        self._idle, self._told, self._lacks = time.monotonic(), False, ""
        self._answers = True
        client.subscribe_topic(TOPIC, self._hear)

    def _hear(self, event: tuple[float, Mapping[str, Any]]) -> None:
        said = event[1]
        held = self._held.get(said["key"])
        if held is not None:
            held.started = said["worker"], time.monotonic() - said["seconds"]
            held.memory = said["memory"]
            if said["said"] is not None:
                held.said = telling.Said(*said["said"])
            held.starts += said["seconds"] == 0.0

    def free(self, task: Task, /) -> bool:
        """Whether a worker has time for such a task."""
        every = self._workers.values()
        if task.gpu:
            gpus = sum(int(w["resources"].get("GPU", 0)) for w in every)
            taken = sum(held.task.gpu for held in self._held.values())
            if taken >= gpus and not self._lacks_gpus():
                self._lacks = " that offers a GPU"
                return False
        self._lacks = ""
        threads = sum(w["nthreads"] for w in every) - self._restarting
        return len(self._held) < threads

    def _lacks_gpus(self) -> bool:
        return self._crew is not None and self._crew.gpus == 0

    def take(self, task: Task, payload: bytes) -> Result | None:
        """Submit a task; return its result if no worker can have it."""
        if task.gpu and self._lacks_gpus():
            return Result(End.FAILED, error="it needs a GPU, and this machine has none")
        held = _Held(task, payload)
        self._submit(held)
        self._held[task.key] = held
        return None

    def _submit(self, held: _Held) -> None:
        task = held.task
        # The function travels in the payload, by name.
        bare = Task(task.key, call, seconds=task.seconds, memory=task.memory)
        held.future = self._client.submit(
            server(),
            pickle.dumps(bare),
            held.payload,
            shared=self._crew is None,
            key=task.key,
            resources={"GPU": 1} if task.gpu else None,
        )
        held.future.add_done_callback(self._ended.put)

    def collect(self, _look: Callable[[], None], /) -> Sequence[tuple[str, Result]]:
        """Wait a little; return what has ended, by key."""
        try:
            self._check()
            self._tell()
            ended = [*self._arrived(), *self._exceeding()]
            if self._stopped is not None:
                ended += self._press(*self._stopped)
        except OSError:
            raise self._gone() from None
        return ended

    def _arrived(self) -> Iterator[tuple[str, Result]]:
        with suppress(queue.Empty):
            future = self._ended.get(timeout=0.1)
            while True:
                key = str(future.key)
                held = self._held.get(key)
                if held is not None and held.future is future:
                    result = self._result(key, held)
                    if result is not None:
                        self._forget(key)
                        yield key, result
                future = self._ended.get_nowait()

    def _check(self) -> None:
        if self._crew is not None and self._crew.broken:
            raise RuntimeError(self._crew.broken)
        if self._client.status != "running":
            raise self._gone()
        if time.monotonic() - self._asked_workers > 0.3:
            self._answers = False
            with suppress(OSError):  # it may answer later
                ask = self._client.scheduler.identity
                found = self._client.sync(ask, n_workers=-1, callback_timeout=ANSWER)
                self._workers, self._answers = found["workers"], True
            self._asked_workers = time.monotonic()

    def _tell(self) -> None:
        """Say what is waited for, where nothing goes on."""
        now, where = time.monotonic(), f"the Dask scheduler at {self._address}"
        busy = self._held and self._workers and self._answers
        if busy or self._crew is not None:
            self._idle, self._told = now, False
        elif now - self._idle > PATIENCE and not self._told:
            self._told = True
            lacks = f"a worker{self._lacks}: {where} has none"
            if not self._answers:
                lacks = f"{where}: it does not answer"
            sys.stderr.write(f"waiting for {lacks}\n")

    def _gone(self) -> ConnectionError:
        return ConnectionError(
            f"the Dask scheduler at {self._address} is gone; what was done is kept"
        )

    def _result(self, key: str, held: _Held) -> Result | None:
        """Return the result of an ended task; None if its worker has gone with it."""
        if held.future.cancelled():
            raise self._gone()
        try:
            ended = held.future.result(timeout=10.0)
        except KilledWorker as error:
            if held.starts > error.allowed_failures:
                return Result(End.DIED, error=self._obituary(held.starts, error))
            # It had not started on some of the workers that died with it.
            held.started = None
            held.future.release()
            self._submit(held)
            return None
        except TimeoutError:
            held.future.add_done_callback(self._ended.put)
            return None
        except (ImportError, AttributeError) as error:
            text = "a worker lacks this program, or has another version of it"
            return Result(End.FAILED, error=f"{text}: {error}")
        if ended[0] is End.DONE and self._crew is None:
            with suppress(OSError):
                self._client.set_metadata([TOPIC, key], ended[1:])
        return result_of(*ended)

    def _obituary(self, starts: int, error: KilledWorker) -> str:
        text = f"the process that ran it died, {starts} times"
        code = self._crew and self._crew.exit_of(error.last_worker)
        if code is None:
            return text
        if code < 0:
            return f"{text}; the last one was killed by {signal.Signals(-code).name}"
        return f"{text}; the last one ended with exit code {code}"

    def _exceeding(self) -> Iterator[tuple[str, Result]]:
        for key, held in list(self._held.items()):
            if held.started is None:
                continue
            worker, start = held.started
            seconds = time.monotonic() - start
            over = exceeded(held.task, seconds, held.memory)
            if over is not None:
                end, text = over
                self._kill(key, worker)
                yield key, Result(end, error=text, seconds=seconds)

    def _kill(self, key: str, worker: str) -> None:
        # Nobody wants it any more when the worker goes: it isn't done again.
        self._cancel(key)
        self._restarting += 1
        threading.Thread(target=self._restart, args=(worker,), daemon=True).start()

    def _restart(self, worker: str) -> None:
        try:
            with suppress(KeyError):  # it has gone by itself
                self._client.restart_workers([worker], raise_for_error=False)
        except (OSError, ValueError, RuntimeError, TimeoutError) as error:
            if self._client.status != "running":
                return
            sys.stderr.write(f"worker {worker} can't be restarted: {error}\n")
        finally:
            self._restarting -= 1

    def stop(self, reason: str) -> None:
        """Ask what runs to stop, and see to it that it does."""
        self._stopped = reason, time.monotonic()

    def _press(self, reason: str, when: float) -> Iterator[tuple[str, Result]]:
        """See to it that what runs stops, and leave to others what they want too."""
        now = time.monotonic()
        if now - self._asked > 1.0:
            self._asked = now
            for key in self._shared():
                self._forget(key)
                yield key, Result(End.STOPPED, error=f"{reason}; others go on with it")
            if self._crew is not None:
                self._crew.ask()
            # In a thread of its own: a busy worker does not answer.
            threading.Thread(target=self._ask, daemon=True).start()
        for key, held in list(self._held.items()):
            if held.started is None:
                self._cancel(key)
                yield key, Result(End.STOPPED, error=f"{reason}, unstarted")
            elif now - when > self._grace:
                worker, start = held.started
                self._kill(key, worker)
                error = f"{reason}, after {self._grace:g} s"
                yield key, Result(End.STOPPED, error=error, seconds=now - start)

    def _ask(self) -> None:
        # It is asked once more a second, until it has stopped.
        with suppress(OSError, RuntimeError, TimeoutError):
            self._client.run(ask, list(self._held), on_error="ignore")

    def _shared(self) -> list[str]:
        """Return the keys that another program waits for, too."""
        if self._crew is not None:
            return []
        mine = list(self._held)

        def wanted(dask_scheduler: Any = None) -> list[str]:
            known = dask_scheduler.tasks
            return [k for k in mine if k in known and len(known[k].who_wants) > 1]

        with suppress(OSError):
            return self._client.run_on_scheduler(wanted, callback_timeout=ANSWER)
        return []

    def _cancel(self, key: str) -> None:
        self._client.cancel([self._held[key].future])
        self._forget(key)

    def _forget(self, key: str) -> None:
        self._held.pop(key).future.release()

    def running(self) -> Mapping[str, float]:
        """Return the tasks that run, with the seconds since their start."""
        now, every = time.monotonic(), list(self._held.items())
        return {key: now - h.started[1] for key, h in every if h.started is not None}

    def said(self) -> Mapping[str, telling.Said]:
        """Return the progress of those tasks that have reported it."""
        every = list(self._held.items())
        return {key: held.said for key, held in every if held.said is not None}

    def size(self) -> int:
        """Return the number of workers now."""
        return len(self._workers)

    def drop(self) -> None:
        """Forget the running tasks."""
        with suppress(OSError):
            if self._held and self._client.status == "running":
                self._client.cancel([held.future for held in self._held.values()])
        for key in list(self._held):
            self._forget(key)


def _quiet() -> None:
    # A death is a result or an error, and the engine tells it.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


@contextmanager
def connect(
    scheduler: str | Path, grace: float, listener: Listener
) -> Generator[Cluster]:
    """Use the workers of a scheduler, given by address or file.

    Raises
    ------
    Ended
        If the program is asked to end before it answers.
    OSError
        If it does not answer.
    ValueError
        If there is no such address, the file does not hold one, or Dask's settings of
        encryption do not fit it.
    """
    where, told = address_of(scheduler), False

    def go_on(seconds: float) -> bool:
        nonlocal told
        if seconds > PATIENCE and not told:
            told = True
            sys.stderr.write(f"waiting for a Dask scheduler to answer at {where}\n")
        return not listener.code

    _quiet()
    try:
        if not greet(where, ANSWER, go_on):
            raise Ended(listener.code)
        client = Client(where, set_as_default=False)
    except (OSError, MemoryError) as error:
        said = str(error)
        # What another program says is taken for the size of a message.
        if isinstance(error, MemoryError) or not said:
            said = "what is there is something else, or is stopped"
        text = f"no Dask scheduler answers at {scheduler}: {said}"
        raise ConnectionError(text) from None
    with client:
        client.register_plugin(sweeper())
        yield Cluster(client, None, grace)


@contextmanager
def local(workers: int, gpus: int, deaths: int, grace: float) -> Generator[Cluster]:
    """Start a scheduler in this process, and workers of one thread each beside it."""
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    if getattr(main, "__spec__", None) is None and file and not Path(file).is_file():
        raise RuntimeError(f"the program is no file ({file}), but {UNGUARDED}")
    _quiet()
    with dask.config.set(CONFIG):
        crew = Crew(workers, gpus)
        try:
            crew.open(deaths)
            with Client(crew.address, loop=crew.loop, set_as_default=False) as client:
                yield Cluster(client, crew, grace)
        finally:
            crew.close()
