"""One thread for what is computed: whoever trains, in whichever process."""

import os
from collections.abc import Generator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@contextmanager
def one_thread() -> Generator[None]:
    """Compute with one thread, as worker processes do.

    Other numbers of threads round sums differently, and matrices as small as those of
    most networks here take longer with threads: where other programs run as well, they
    wait for each other a hundred times as long as they compute.

    Examples
    --------
    >>> with one_thread():
    ...     print(os.environ["OMP_NUM_THREADS"])
    1
    """
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        with threadpool_limits(1):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
