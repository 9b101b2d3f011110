"""Where a Dask scheduler is, and whether one answers there."""

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.config
from dask.utils import parse_timedelta
from distributed.comm.addressing import get_address_host_port, normalize_address
from distributed.comm.core import connect
from distributed.security import Security
from distributed.utils import LoopRunner


def address_of(scheduler: str | Path) -> str:
    """Return an address, from a scheduler's file where it is one.

    Refuses what ends in a Client of Dask's that is never made, and never closed.
    """
    where = str(scheduler)
    try:
        if Path(scheduler).is_file():
            where = str(json.loads(Path(scheduler).read_text("utf-8"))["address"])
        if not where.startswith("inproc://"):
            get_address_host_port(normalize_address(where), strict=True)
    except (ValueError, LookupError, TypeError):
        raise ValueError(
            "Engine: `scheduler` must be an address, as tcp://127.0.0.1:8786, or a file "
            f"that `dask scheduler --scheduler-file` has written, but it is {scheduler}"
        ) from None
    try:
        settings = Security().get_connection_args("client")
    except OSError as error:
        text = f"Dask's settings distributed.comm.tls name no usable files: {error}"
        raise ValueError(text) from None
    encrypted = where.startswith(("tls://", "wss://"))
    if encrypted and settings["ssl_context"] is None:
        raise ValueError(
            f"Engine: `scheduler` {where} needs certificates, but Dask's settings"
            " distributed.comm.tls name none; see docs/clusters.md"
        )
    if settings["require_encryption"] and not encrypted:
        raise ValueError(
            f"Engine: `scheduler` must be encrypted, as Dask's settings require, but it is"
            f" {where}"
        )
    return where


def greet(where: str, patience: float, go_on: Callable[[float], bool]) -> bool:
    """Connect once, and return whether there was an answer: a Client of Dask's needs one.

    It would wait without end. Every tenth of a second `go_on` is asked, with the seconds
    gone by, whether to wait any longer.

    Raises
    ------
    OSError, MemoryError
        If none comes within Dask's own time-out and this patience, in seconds, or what
        comes is no scheduler's.
    """
    return LoopRunner().run_sync(_greet, where, patience, go_on)


async def _greet(where: str, patience: float, go_on: Callable[[float], bool]) -> bool:
    own = parse_timedelta(dask.config.get("distributed.comm.timeouts.connect"))
    settings: Any = Security().get_connection_args("client")
    connecting = connect(where, timeout=own, **settings)
    waiting = asyncio.ensure_future(asyncio.wait_for(connecting, own + patience))
    start = time.monotonic()
    while not (await asyncio.wait({waiting}, timeout=0.1))[0]:
        if not go_on(time.monotonic() - start):
            waiting.cancel()
            return False
    await waiting.result().close()
    return True
