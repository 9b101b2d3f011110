"""A stop that is asked for from outside, and heeded between updates.

One process has one such flag: signals and deadlines are of the process.
"""

import threading

_asked = threading.Event()


class Stopped(BaseException):
    """Training stopped because it was asked to; its checkpoint is written.

    No `Exception`, as Ctrl-C is none: handlers of errors let it pass.
    """


def request() -> None:
    """Ask everything that trains in this process to stop at its next pause."""
    _asked.set()


def withdraw() -> None:
    """Let what is started from now on run."""
    _asked.clear()


def requested() -> bool:
    """Return whether a stop was asked for."""
    return _asked.is_set()


def check() -> None:
    """Raise `Stopped` if a stop was asked for."""
    if requested():
        raise Stopped("stopped on request; run again to go on")
