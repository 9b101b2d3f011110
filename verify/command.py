"""What the two commands share: options, running with progress, exit codes."""

import argparse
import io
import shutil
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from empirical.digest import ROOT
from empirical.testbed import streams
from verify.paths import SCALES, folder_of

if TYPE_CHECKING:
    from verify import ledger
    from verify.records import Record
    from verify.report.rows import Row
    from verify.run import Report, Say

EXIT_GREEN, EXIT_RED, EXIT_USAGE, EXIT_INTERRUPTED, EXIT_PIPE = 0, 1, 2, 130, 141
"""A signal that the engine handles ends a command with 128 and its number."""

EXITS = (
    "Exit codes: 0, every claim is as expected; 1, some are not, or something could not"
    " be read or written; 2, wrong usage; 130, interrupted; 141, nobody reads the output."
)
"""What is said below the options of commands on claims."""

MOST_NARROW = 40
"""Columns of the shortest lines that are written."""


def records_root() -> Path:
    """Return the folder of records: ``./results``, or the user's cache if installed."""
    if (ROOT / "pyproject.toml").is_file():
        return Path("results")
    return Path(platformdirs.user_cache_dir("deep-ledger", appauthor=False)) / "results"


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of all commands that run claims."""
    add_place_options(parser)
    where = parser.add_mutually_exclusive_group()
    add_count(where, "--workers", 2, "processes that run claims, with one thread each")
    where.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="address or file of a Dask scheduler, to run claims on its workers",
    )


def add_count(parser: Any, name: str, default: int, what: str) -> None:
    """Add an option, to a parser or a group of one, that is a number of things."""
    text = f"{what} (default: {default})"
    parser.add_argument(name, type=positive, default=default, metavar="N", help=text)


def add_switches(parser: Any, switches: Mapping[str, str]) -> None:
    """Add options without a value, to a parser or a group of one, by what they do."""
    for name, text in switches.items():
        parser.add_argument(name, action="store_true", help=text)


def add_place_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which records are meant."""
    parser.add_argument(
        "--profile",
        choices=tuple(SCALES),
        default="quick",
        help="which cases, and whose records: quick, all claims in minutes; certify,"
        " wider boxes of certificates; full, larger networks, in hours; gpu, the papers'"
        " own, on a GPU (default: quick)",
    )
    add_records_option(parser)


def add_records_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that says where records are."""
    parser.add_argument(
        "--records",
        type=records,
        default=records_root(),
        metavar="FOLDER",
        help="folder of the records (default: ./results; installed from a wheel, the"
        " user's cache)",
    )


def records(text: str) -> Path:
    """Read an option that is the folder of all records.

    Raises
    ------
    argparse.ArgumentTypeError
        If it is that of the records of one profile.
    """
    path = Path(text)
    names = {folder_of(profile).name for profile in SCALES}
    here = path.resolve()
    try:
        inside = any((here / name).is_dir() for name in names)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"must be a folder, but {error}") from None
    if here.name in names and not inside and any(here.glob("*.json")):
        raise argparse.ArgumentTypeError(
            f"must be the folder of all profiles' records, {path.parent}, but {path} is"
            " that of one profile"
        )
    return path


def note_absent(folder: Path) -> None:
    """Say of a folder that is named, where records are only shown, that there is none."""
    if folder != records_root() and not folder.is_dir():
        complain(f"note: there is no folder {folder}, and so no record")


def positive(text: str) -> int:
    """Read an option that is a number of things.

    Raises
    ------
    argparse.ArgumentTypeError
        If it is none, or less than 1.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(
            f"must be a whole number of at least 1, but it is {text!r}"
        )
    return int(text)


def output(text: str) -> Path | None:
    """Read an option that is a file, or ``-`` for stdout."""
    return None if text == "-" else Path(text)


def columns() -> int:
    """Return how wide lines may be: as the terminal, but for one too narrow to read."""
    return max(MOST_NARROW, shutil.get_terminal_size().columns)


def complain(message: str) -> None:
    """Write a message to stderr."""
    streams.keep_going("stderr")
    sys.stderr.write(message.rstrip() + "\n")


def refuse(message: object) -> int:
    """Say what is wrong with how a command was called; return its exit code."""
    complain(f"error: {message}")
    return EXIT_USAGE


def check_output(path: Path) -> None:
    """Check before minutes of work that a file can be written.

    Raises
    ------
    OSError
        If not.
    """
    # Loaded here: `list` and `--help` write nothing.
    from empirical.testbed.runner import open_folder

    open_folder(path.absolute().parent)
    if path.is_dir():
        raise IsADirectoryError(f"{path} must be a file, but it is a folder")


def put(text: str) -> None:
    """Write a result to stdout, all of it before the program ends.

    What its encoding cannot say is escaped at a terminal; a file is UTF-8 then.

    Raises
    ------
    OSError
        If it can't be written.
    """
    streams.open_all()
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        assert isinstance(sys.stdout, io.TextIOWrapper)
        if sys.stdout.isatty():
            sys.stdout.reconfigure(errors="backslashreplace")
        else:
            sys.stdout.reconfigure(encoding="utf-8")
    try:
        sys.stdout.write(text)
    finally:
        streams.flush_stdout()


def deliver(text: str, output: Path | None) -> None:
    """Write a result to a file, which is replaced once all is written, or to stdout.

    Raises
    ------
    OSError
        If it can't be written.
    """
    # Loaded here: `list` and `--help` write no files.
    from empirical.testbed.writing import write_text

    if output is None:
        put(text)
    elif output.exists() and not output.is_file():
        # A pipe or a device takes it as it comes.
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            error.filename = str(output)  # a device that is full does not say which
            raise
    else:
        # Behind a link, the file itself.
        write_text(output.resolve(), text)


def written(text: str, path: Path) -> int:
    """Write a file of the project anew; return the exit code, having said what it is of."""
    try:
        deliver(text, path)
    except OSError as error:
        complain(f"error: {error}")
        return EXIT_RED
    complain(f"{path} is written")
    return EXIT_GREEN


def reading(what: str = "reading the ledger") -> AbstractContextManager[object]:
    """Show at a terminal what takes seconds: to read all of the ledger, by default."""
    if not sys.stderr.isatty():
        return nullcontext()
    # Loaded here: `list` and `--help` wait for nothing.
    from rich.console import Console

    return Console(stderr=True).status(what)


def interruptible(run: Callable[[], int], *, kept: str) -> int:
    """Return the exit code of `run`, or of what interrupts it, saying what is kept.

    What cannot be read or written is said in a line.
    """
    # Loaded here: `list` and `--help` run nothing.
    from empirical.testbed.signals import Ended

    streams.keep_going("stderr")
    try:
        return run()
    except Ended as ended:
        code = ended.exit_code
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has had enough.
        return EXIT_PIPE
    except OSError as error:
        complain(f"error: {error}")
        return EXIT_RED
    complain(f"interrupted; {kept}")
    return code


def run_with_progress(
    entries: "Sequence[ledger.Entry]",
    folder: Path,
    options: argparse.Namespace,
    *,
    done: set[str] | None = None,
    redraw: int = 0,
    fault: str = "",
) -> bool:
    """Run claims, showing progress on stderr; return whether all of them could run.

    `options` are those of `add_common_options`, and name the profile; to `done` the ids
    of those are added that were run and recorded.
    """
    # Loaded here: `list` and `--help` run nothing.
    from verify import run
    from verify.claim import Profile

    profile = Profile(options.profile)
    total = sum(bool(entry.claim.cases_for(profile)) for entry in entries)
    with _progress(total) as (tell, say):

        def report(name: str, record: "Record") -> None:
            if done is not None:
                done.add(name)
            tell(name, record)

        try:
            run.run_many(
                entries,
                profile=profile,
                folder=folder,
                workers=options.workers,
                scheduler=options.scheduler,
                report=report,
                say=say,
                redraw=redraw,
                fault=fault,
            )
        except RuntimeError as error:
            complain(str(error))
            return False
        except ValueError as error:
            # Nothing else that is given here can be wrong.
            if options.scheduler is None:
                raise
            complain(f"error: {error}")
            return False
    return True


@contextmanager
def _progress(total: int) -> "Generator[tuple[Report, Say], None, None]":
    """Yield what reports and what says: by a bar at a terminal, by lines elsewhere."""
    if not sys.stderr.isatty():
        done = 0

        def line(name: str, record: Any) -> None:
            nonlocal done
            done += 1
            complain(f"[{done:>{len(str(total))}}/{total}] {_result(name, record)}")

        yield line, complain
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("claims", total=total)

        def advance(name: str, record: Any) -> None:
            if not record.green:
                progress.console.print(_result(name, record), style="red")
            progress.update(task, advance=1)

        def say(text: str) -> None:
            progress.console.print(text, markup=False, highlight=False)

        yield advance, say


def _result(name: str, record: "Record") -> str:
    # "refuted" alone would alarm where it is what the ledger says of the paper.
    false = record.outcome.value == "refuted"
    remark = (
        (", as expected" if false else "") if record.green else "  <-- not as expected"
    )
    return f"{name} {record.outcome.value} {record.seconds:.1f} s{remark}"


def exit_code(rows: "Sequence[Row]", *, strict: bool = False) -> int:
    """Return 0 when every claim is as expected, else 1.

    What says nothing yet (open, stale, not run) and what decides nothing fails only
    under `strict`; an undecided claim is then as bad as a refuted one.
    """
    tolerated = () if strict else ("open", "stale", "not run", "undecided")
    bad = [row for row in rows if not row.green and row.outcome not in tolerated]
    return EXIT_RED if bad else EXIT_GREEN
