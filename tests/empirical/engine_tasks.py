"""Functions that tests run in worker processes, which import them by name."""

import ctypes
import os
import signal
import sys
import threading
import time
from pathlib import Path

from empirical.testbed import stopping


def add(*terms):
    return sum(terms)


def product_trace(seed):
    import numpy as np

    a = np.random.default_rng(seed).standard_normal((200, 200))
    return float(np.trace(a @ a)), float((a @ a).sum())


def threads():
    import numpy as np
    import threadpoolctl

    np.ones((2, 2)) @ np.ones((2, 2))
    pools = threadpoolctl.threadpool_info()
    return {pool["num_threads"] for pool in pools}, os.environ["OMP_NUM_THREADS"]


def fail(text):
    raise ValueError(text)


class Unsendable(Exception):
    def __init__(self, first, second):
        super().__init__("no arguments")
        self.lock = threading.Lock()


def fail_unsendably():
    raise Unsendable(1, 2)


def lock():
    return threading.Lock()


def leave():
    sys.exit(3)


def shout(text):
    sys.stdout.write(f"python says {text}\n")
    os.write(1, f"libc says {text}\n".encode())
    ctypes.CDLL(None).printf(b"stdio says %s\n", text.encode())
    ctypes.CDLL(None).fflush(None)
    return text


def sleep(seconds):
    time.sleep(seconds)
    return os.getpid()


def keep_the_interpreter(seconds):
    # PyDLL holds the lock of the interpreter while it calls.
    ctypes.PyDLL(None).sleep(seconds)


def hold(mebibytes):
    held = bytearray(mebibytes * 2**20)
    held[:: 2**12] = b"x" * len(held[:: 2**12])
    time.sleep(60)


def die(number=signal.SIGKILL):
    os.kill(os.getpid(), number)
    time.sleep(60)


def die_once(marker):
    """Be killed at the first call, and say so at the second."""
    path = Path(marker)
    if not path.exists():
        path.touch()
        die()
    return "lived"


def log_and_sleep(folder, name, seconds):
    """Leave a file a call, so that calls can be counted."""
    handle = Path(folder) / f"{name}.{time.time_ns()}.{os.getpid()}"
    handle.touch()
    time.sleep(seconds)
    return name


def wait_there(file):
    """Return the process's number once `file` is there."""
    while not Path(file).exists():
        time.sleep(0.05)
    return os.getpid()


def log_and_wait(folder, name, file):
    """Leave a file a call, and return once `file` is there."""
    log_and_sleep(folder, name, 0)
    wait_there(file)
    return name


def train(folder, name, updates, pause=0.05):
    """Count updates like a training run that goes on from its checkpoint."""
    path = Path(folder) / f"{name}.checkpoint"
    path.with_suffix(".begun").touch()
    done = int(path.read_text()) if path.exists() else 0
    while done < updates:
        if stopping.requested():
            path.write_text(str(done))
            stopping.check()
        time.sleep(pause)
        done += 1
    path.unlink(missing_ok=True)
    return done


def train_until(file, checkpoint):
    """Train until there is a file, or a checkpoint is asked for."""
    while not Path(file).exists():
        if stopping.requested():
            Path(checkpoint).touch()
            stopping.check()
        time.sleep(0.05)
    return "trained"


def ignore_requests(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(0.05)
