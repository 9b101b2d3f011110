"""Linear algebra in one thread, where many small products are taken."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock

from threadpoolctl import ThreadpoolController

_HELD = Lock()
_BEFORE = {"threads": 1}
"""How many threads linear algebra may use, while it is held to one."""


@lru_cache(maxsize=2)
def _found(_with_scipy: bool) -> ThreadpoolController:  # noqa: FBT001
    return ThreadpoolController().select(user_api="blas")


def _libraries() -> ThreadpoolController:
    """Return what does linear algebra: SciPy, once it is loaded, has a library too."""
    return _found("scipy.linalg" in sys.modules)


@contextmanager
def one_thread() -> Generator[int]:
    """Hold linear algebra to one thread; yield how many it would have used.

    Small products gain nothing from more, and threads that wait for each other take up
    to ten times as long where processors are shared. The limit is the process's: whoever
    finds it free sets it, and takes it off on leaving.
    """
    if not _HELD.acquire(blocking=False):
        yield _BEFORE["threads"]
        return
    try:
        found = _libraries().info()
        _BEFORE["threads"] = max((each["num_threads"] for each in found), default=1)
        with _libraries().limit(limits=1):
            yield _BEFORE["threads"]
    finally:
        _HELD.release()
