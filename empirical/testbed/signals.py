"""What ends a program before its work is done: signals and a deadline."""

import signal
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

DEADLINE = 124
"""Exit code of a program that its deadline has ended, as ``timeout`` has it."""

SIGNALS = tuple(
    signal.Signals[name]
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if name in signal.Signals.__members__
)
"""They end a program in order; its exit code is 128 + n: 130, 143, 129."""


class Ended(SystemExit):
    """Ends the program after a signal or the deadline."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


class Interruption(BaseException):
    """Takes a task out of this process: its time or memory has run out."""


class Listener:
    """Waits for a signal or deadline that asks the program to end.

    Parameters
    ----------
    minutes : float, optional
        Until the deadline.

    Raises
    ------
    ValueError
        If `minutes` are negative, or no number.
    """

    def __init__(self, minutes: float | None = None) -> None:
        if minutes is not None and not minutes >= 0:
            raise ValueError(
                f"Listener: `minutes` must not be negative, but it is {minutes}"
            )
        self._until = None if minutes is None else time.monotonic() + 60.0 * minutes
        self._signal = 0
        self._interruption: Interruption | None = None

    @property
    def code(self) -> int:
        """The exit code: 0 while nothing has asked, 128 + n, or `DEADLINE`."""
        if self._signal:
            return 128 + self._signal
        late = self._until is not None and time.monotonic() >= self._until
        return DEADLINE if late else 0

    @property
    def reason(self) -> str:
        """What has asked, in words."""
        if self._signal:
            return f"stopped by {signal.Signals(self._signal).name}"
        return "stopped at the deadline"

    @contextmanager
    def listening(self) -> Generator[None]:
        """Handle the signals, in the main thread; elsewhere they are left alone.

        The first one is noted, a second one raises `Ended` at once. SIGINT is handled
        even where it was ignored, as in what a shell starts in the background. SIGHUP
        stays ignored under ``nohup``, whose purpose that is.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {
            number: signal.signal(number, self._handle)
            for number in SIGNALS
            if number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def interrupt(self, interruption: Interruption) -> None:
        """Raise `interruption` in the main thread, called from another one."""
        self._interruption = interruption
        if hasattr(signal, "pthread_kill"):  # ends a sleep, too
            main = threading.main_thread().ident
            assert main is not None
            signal.pthread_kill(main, signal.SIGINT)
        else:
            signal.raise_signal(signal.SIGINT)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        interruption, self._interruption = self._interruption, None
        if interruption is not None:
            raise interruption
        if self._signal:
            raise Ended(self.code)
        self._signal = number
