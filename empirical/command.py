"""What the command lines share: options, a progress bar, exit codes."""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from empirical import devices
from empirical.batch import Named
from empirical.testbed import writing
from empirical.testbed.records import RunRecord

Item = TypeVar("Item", bound=Named)


def common_options(*, unverified: bool = True) -> argparse.ArgumentParser:
    """Return a parent parser: device, folder of the data sets."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--device", default="auto", help="auto, cpu or cuda[:i]")
    common.add_argument(
        "--directory",
        default=os.environ.get("DEEP_LEDGER_DATA"),
        help="folder of the full data sets; default: DEEP_LEDGER_DATA, where set",
    )
    if unverified:
        common.add_argument(
            "--allow-unverified",
            action="store_true",
            help="take CIFAR-10 files whose pixels nothing vouches for",
        )
    return common


def add_batch_options(parser: argparse.ArgumentParser) -> None:
    """Add where the records go and whether what exists is run again."""
    text = "folder of the records"
    parser.add_argument("--out", type=Path, required=True, help=text)
    parser.add_argument("--rerun", action="store_true", help="also what has a record")


def add_deadline(parser: argparse.ArgumentParser) -> None:
    """Add ``--minutes``."""
    text = "stop after so long; the next call goes on from there"
    parser.add_argument("--minutes", type=float, help=text)


def add_choice(
    parser: argparse.ArgumentParser, scales: Sequence[str], default: str
) -> None:
    """Add what chooses among configurations."""
    parser.add_argument("--scale", choices=scales, default=default)
    parser.add_argument("--only", nargs="+", metavar="WORD", help="names with all")


def add_figures(parser: argparse.ArgumentParser) -> None:
    """Add shards and figures, which choose too."""
    text = "every n-th configuration from the i-th: n processes share the work"
    parser.add_argument("--shard", metavar="I/N", default="1/1", help=text)
    parser.add_argument("--figures", nargs="+", type=int, help="for one of these")


def chosen(configurations: Sequence[Item], options: argparse.Namespace) -> list[Item]:
    """Return the configurations that the options choose.

    Raises
    ------
    ValueError
        If there are none, or the shard makes no sense.
    """
    figures = getattr(options, "figures", None)
    found = [
        c
        for c in configurations
        if all(word in c.name for word in options.only or ())
        and (figures is None or set(figures) & set(getattr(c, "figures", ())))
    ]
    shard = getattr(options, "shard", "1/1")
    index, _, count = shard.partition("/")
    if not (index + count).isdecimal() or not 1 <= int(index) <= int(count):
        raise ValueError(
            f"batch: `--shard` must be I/N with 1 <= I <= N, but it is {shard}"
        )
    found = found[int(index) - 1 :: int(count)]
    if not found:
        also = "" if figures is None else f" and one of the figures {figures}"
        raise ValueError(
            f"batch: no configuration of scale {options.scale} holds {options.only}"
            f"{also}"
        )
    return found


class Bar:
    """A progress bar on stderr, and the deadline."""

    def __init__(self, total: int, minutes: float | None = None) -> None:
        # Loaded here: `list` and `--help` draw nothing.
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[shown]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self.all = self.bar.add_task("all", total=total, shown=f"0/{total}")
        self.one = self.bar.add_task("", total=None, shown="")
        self.until = None if minutes is None else time.monotonic() + 60.0 * minutes
        self.done = 0

    def steps(self, done: int, last: int, loss: float, **terms: float) -> None:
        """Show updates, and what the loss is made of; at the deadline, interrupt."""
        shown = f"{done} of at most {last} updates, loss {loss:.2e}"
        shown += "".join(f", {name} {value:.2e}" for name, value in terms.items())
        self.bar.update(self.one, completed=done, total=last, shown=shown)
        self._stop_when_due()

    def _stop_when_due(self) -> None:
        if self.until is not None and time.monotonic() > self.until:
            raise KeyboardInterrupt

    def report(self, configuration: Named, outcome: str) -> None:
        """Show the start or the end of a configuration; at the deadline, interrupt."""
        if outcome == "running":
            self.bar.reset(self.one, description=configuration.name, shown="")
            # Some have no updates to stop at.
            self._stop_when_due()
            return
        self.done += 1
        total = self.bar.tasks[0].total
        self.bar.update(self.all, advance=1, shown=f"{self.done}/{total:g}")
        if outcome != "kept":
            self.bar.console.print(f"{configuration.name}: {outcome}", markup=False)

    def run(self, batch: Callable[[], Mapping[str, str]], *, out: Path) -> int:
        """Run a batch below the bar: 0, 1 if one failed, 130 on Ctrl-C."""
        with self.bar:
            try:
                outcomes = batch()
            except KeyboardInterrupt:
                said = f"interrupted; what is done stays in {out}"
                self.bar.console.print(said, markup=False)
                return 130
        return 1 if any(o.startswith("failed") for o in outcomes.values()) else 0


def run_chosen(
    chosen: Sequence[Item],
    run_batch: Callable[..., Mapping[str, str]],
    options: argparse.Namespace,
    device: str,
    **more: Any,
) -> int:
    """Run configurations below a bar, with the options of `add_batch_options`."""
    bar = Bar(len(chosen), options.minutes)

    def run() -> Mapping[str, str]:
        return run_batch(
            chosen,
            directory=options.out,
            device=device,
            rerun=options.rerun,
            data=options.directory,
            allow_unverified=options.allow_unverified,
            report=bar.report,
            progress=bar.steps,
            **more,
        )

    return bar.run(run, out=options.out)


def put(record: Any, path: Path | None) -> None:
    """Write a record to a file, or to stdout when there is none."""
    if isinstance(record, RunRecord):
        if path is not None:
            record.write(path)
        else:
            sys.stdout.write(record.text())
        return
    if path is not None:
        writing.write_json(path, record)
        return
    text = json.dumps(writing.plain(record), indent=1, allow_nan=False)
    sys.stdout.write(text + "\n")


def guarded(run: Callable[[], int]) -> int:
    """Return the exit code of `run`: 1 on failure, 2 on misuse, 130 on Ctrl-C."""
    try:
        return run()
    except (OSError, RuntimeError, ValueError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2 if isinstance(error, ValueError) else 1
    except KeyboardInterrupt:
        return 130


def resolved(options: argparse.Namespace) -> str:
    """Return the device that the options mean.

    Examples
    --------
    >>> resolved(argparse.Namespace(device="cpu"))
    'cpu'
    """
    return str(devices.resolve(options.device))
