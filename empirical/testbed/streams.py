"""Standard streams of a program that runs for hours, whatever becomes of their ends."""

import io
import os
import sys
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any


class _Lossy(io.FileIO):
    """Takes what is written, and loses what has no place any more.

    The disk of a log fills up, a terminal is closed: what is told there is not worth the
    work it tells of, and there is nowhere left to say so.
    """

    def write(self, content: Any, /) -> int:
        try:
            written = super().write(content)
        except OSError:
            written = None
        return memoryview(content).nbytes if written is None else written


def open_all() -> None:
    """Give a program the standard streams that it was started without.

    Else a socket or a record would take their numbers, and what is printed. Writing to
    such a stream is an error still. One for results that is unbuffered gets a buffer.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # It takes the lowest number that is free.
            os.set_inheritable(os.open(os.devnull, os.O_RDONLY), True)  # noqa: FBT003
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            opened = io.TextIOWrapper(io.FileIO(number, "w", closefd=False))
            setattr(sys, name, opened)
            setattr(sys, f"__{name}__", opened)
    if isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        # As PYTHONUNBUFFERED has it: what a full disk takes no more of would be lost.
        raw = io.FileIO(sys.stdout.fileno(), "w", closefd=False)
        buffered = io.BufferedWriter(raw)
        kind = sys.stdout.encoding, sys.stdout.errors
        opened = io.TextIOWrapper(buffered, *kind, line_buffering=True)
        sys.stdout = sys.__stdout__ = opened


def keep_going(*names: str) -> None:
    """Have writing to a stream never fail; one that has been replaced is left alone.

    Parameters
    ----------
    names : str
        ``"stderr"``, and ``"stdout"`` where no results go there.
    """
    open_all()
    for name in names:
        stream = getattr(sys, name)
        if stream is getattr(sys, f"__{name}__"):
            lossy = io.BufferedWriter(_Lossy(stream.fileno(), "w", closefd=False))
            kind = {"encoding": stream.encoding, "errors": stream.errors}
            # With PYTHONUNBUFFERED nothing is kept back, and no line is.
            line = stream.line_buffering or stream.write_through
            setattr(sys, name, io.TextIOWrapper(lossy, line_buffering=line, **kind))


def flush_stdout() -> None:
    """Write what is left for stdout.

    Raises
    ------
    OSError
        If it can't be written; it is not tried again at the program's very end, outside
        of any handler.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise


@contextmanager
def warning_in_lines(worded: Callable[[str], str]) -> Generator[None]:
    """Show warnings as `worded`, without the place in the code that they come from."""
    shown = warnings.formatwarning
    warnings.formatwarning = lambda told, *_, **__: f"warning: {worded(str(told))}\n"
    try:
        yield
    finally:
        warnings.formatwarning = shown
