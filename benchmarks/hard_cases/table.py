"""All cases as markdown, each run in a process of its own that can be ended."""

import multiprocessing as mp
import resource
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

from threadpoolctl import threadpool_limits

from hard_cases import functions, misuse, rows, times
from hard_cases.case import Case

BEFORE = "2585c73"

GROUPS: dict[str, Callable[[], list[Case]]] = {
    "Kernels of rows of unequal lengths": rows.unequal,
    "Kernels of rows of equal lengths": rows.equal,
    "Rows normalised in float32": rows.float32,
    "Duals": functions.duals,
    "Functions given to `from_function`": functions.callables,
    "Slopes and lengths next to one": functions.near_one,
    "Sharp bound of the tangent kernel, delta = 0.1, mu = 0.2": misuse.tangent_bound,
    "Arguments that used to get an answer": misuse.silent,
    "Arguments that used to raise raw errors or to hang": misuse.raw,
    "All bad arguments": misuse.bad_calls,
    "Seconds of kernels": times.kernel_seconds,
    "Seconds of first answers": times.function_seconds,
    "Seconds of a million points": times.bulk,
}


def _answer(case: Case, send: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (case.limit, case.limit))
    with threadpool_limits(1):
        send.send(case.run())


def measured(case: Case) -> tuple[str, str]:
    """Run a case in a process of its own, as the first thing that it does."""
    context = mp.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    worker = context.Process(target=_answer, args=(case, send))
    worker.start()
    send.close()
    try:
        return receive.recv()
    except EOFError:
        return f"> {case.limit} s", f"> {case.limit}"
    finally:
        worker.join()


def table(only: str = "") -> str:
    """Return every group whose heading contains `only`; progress goes to stderr."""
    lines: list[str] = []
    began = time.monotonic()
    for heading, cases in GROUPS.items():
        if only.lower() not in heading.lower():
            continue
        lines += ["", f"**{heading}**", ""]
        lines += [f"| case | right | {BEFORE} | now | seconds now |"]
        lines += ["| --- | ---: | ---: | ---: | ---: |"]
        for case in cases():
            now, seconds = measured(case)
            at = f"{time.monotonic() - began:4.0f} s"
            print(f"{at} {case.what}: {now} ({seconds} s)", file=sys.stderr, flush=True)
            cells = (case.what, case.right, case.before, now, seconds)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines[1:])
