"""What the command lines share: subcommands of a study, a progress bar, exit codes."""

import argparse
import importlib
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from empirical.checks import nearest
from empirical.testbed import stopping, streams, telling
from empirical.testbed.bar import Bar
from empirical.testbed.before import check_folder, check_outputs
from empirical.testbed.ending import (
    FORMATS,
    STDOUT,
    Ending,
    finish,
    going_on,
    say,
    say_interrupted,
)
from empirical.testbed.engine import Engine, cores
from empirical.testbed.graph import beside
from empirical.testbed.options import Chosen, add_options, made, spoken, spoken_end
from empirical.testbed.records import RunRecord
from empirical.testbed.runner import run_batch, sentence, summary
from empirical.testbed.signals import Ended, Interruption, Listener
from empirical.testbed.study import (
    SCALES,
    Named,
    Setting,
    Study,
    line_of,
    remove_checkpoints,
)
from empirical.testbed.writing import save_tensors, whole

Value = TypeVar("Value")

GRACE = 20.0
"""Seconds that a run has to leave a checkpoint in, once asked to stop."""


@dataclass(frozen=True)
class Single:
    """A subcommand that runs one thing.

    Attributes
    ----------
    name, about : str
    add : callable
        Adds options of its own, once it is chosen.
    run : callable
        Options and setting to exit code.
    resumes : bool
        Whether it can go on from a checkpoint.
    """

    name: str
    about: str
    add: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Setting], int]
    resumes: bool = True


def main(
    study: Study[Any] | str,
    singles: Sequence[Single],
    argv: Sequence[str] | None,
    *,
    about: str,
    batch: bool = True,
    changed: Callable[[Any, argparse.Namespace], Any] | None = None,
    add: Callable[[argparse.ArgumentParser], None] | None = None,
    named: Mapping[str, str] | None = None,
) -> int:
    """Run a study's command line.

    Parameters
    ----------
    study : Study or str
        A package's name stands for the ``STUDY`` of its module ``study``, loaded when it
        is needed; its ``experiments`` have the configurations of the list.
    singles : sequence of Single
    argv : sequence of str, optional
    about : str
    batch : bool
        Whether there are ``batch`` and ``list`` too.
    changed, add : callable, optional
        What the batch makes of a configuration with options of its own, and those.
    named : mapping, optional
        Options of parameters that are called otherwise, for messages.

    Returns
    -------
    int
        0; 1 if something failed; 2 for misuse; 124 at the deadline; 128 + n after
        signal n, 130 for Ctrl-C.
    """
    name = study if isinstance(study, str) else study.module
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description=about)
    commands = parser.add_subparsers(dest="command", required=True, parser_class=Chosen)
    for single in singles:
        one = commands.add_parser(
            single.name, help=single.about, description=single.about
        )
        one.fill = partial(_fill, single)
    if batch:
        text = "run every configuration that has no record yet"
        many = commands.add_parser("batch", help=text, description=text)
        _add_batch(many)
        if add is not None:
            add(many)
        names = commands.add_parser("list", help="print the configurations' names")
        for each in (many, names):
            _add_choice(each)
    given = sys.argv[1:] if argv is None else list(argv)
    options = parser.parse_args(given)

    def run() -> int:
        known: Any = study
        if options.command == "list":
            if isinstance(study, str):
                known = importlib.import_module(f"{study}.experiments")
            found = chosen(known.configurations(options.scale), options)
            sys.stdout.write("".join(f"{line_of(c)}\n" for c in found))
            return 0
        setting = made(_setting(), options)
        check_folder(setting.data_folder)
        if getattr(options, "scheduler", None) is None or setting.device == "auto":
            # Loaded here: it loads PyTorch.
            from empirical import devices

            setting = replace(setting, device=str(devices.resolve(setting.device)))
        if options.command == "batch":
            if isinstance(study, str):
                known = importlib.import_module(f"{study}.study").STUDY
            found = chosen(known.configurations(options.scale), options)
            if changed is not None:
                found = [changed(c, options) for c in found]
            call = ["python", "-m", name, *given]
            return _batch(known, found, options, setting, call)
        (single,) = (s for s in singles if s.name == options.command)
        return single.run(options, setting)

    return guarded(run, lambda told: spoken(told, options, named))


def _fill(single: Single, parser: argparse.ArgumentParser) -> None:
    single.add(parser)
    left, skip = "with `--checkpoint` the next call goes on from there", ()
    if not single.resumes:
        left, skip = "nothing is kept", ("checkpoint",)
    _add_setting(parser, left, *skip)


def _setting() -> Setting:
    """Return what holds where no option says otherwise."""
    folder = os.environ.get("DEEP_LEDGER_DATA")
    return Setting(device="auto", data_folder=Path(folder) if folder else None)


def _add_setting(parser: argparse.ArgumentParser, left: str, *skip: str) -> None:
    """Add the options of a `Setting`, and the deadline with what is left at it."""
    add_options(parser, _setting(), skip=("progress", "rows", *skip))
    text = f"stop after this time, with exit code 124; {left}"
    parser.add_argument("--minutes", type=float, metavar="X", help=text)


def _add_batch(parser: argparse.ArgumentParser) -> None:
    text = "folder of the records"
    parser.add_argument("--out", type=Path, metavar="FOLDER", required=True, help=text)
    text = "train again even where there is a record"
    parser.add_argument("--rerun", action="store_true", help=text)
    text = "processes on this machine, one thread each (default: one a core, or a GPU)"
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", type=int, metavar="N", help=text)
    text = "address or file of a Dask scheduler, whose workers do the work"
    where.add_argument("--scheduler", metavar="ADDRESS", help=text)
    text = "tasks that the seeds of a configuration are divided among (default: 1)"
    parser.add_argument("--parts", type=int, default=1, metavar="N", help=text)
    text = "minutes that one task may take; the others go on when it has timed out"
    parser.add_argument("--most-minutes", type=float, metavar="X", help=text)
    text = "GiB of memory that the process of a task may hold"
    parser.add_argument("--most-memory", type=float, metavar="X", help=text)
    _add_setting(parser, "the next call goes on from there", "checkpoint")


def _add_choice(parser: argparse.ArgumentParser) -> None:
    text = "minutes on two cores, hours, or the paper's protocol (default: small)"
    parser.add_argument("--scale", choices=SCALES, default="small", help=text)
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="WORD",
        help="only configurations whose name holds every WORD",
    )
    text = "only the configurations of these names"
    parser.add_argument("--names", nargs="+", metavar="NAME", help=text)
    text = "only what one of these figures of the paper shows"
    parser.add_argument("--figures", nargs="+", type=int, metavar="NUMBER", help=text)


def chosen(configurations: Sequence[Named], options: argparse.Namespace) -> list[Named]:
    """Return the configurations that the options choose.

    Raises
    ------
    ValueError
        If there are none, or none of a name that is asked for.
    """
    words, names, figures = options.only or (), options.names, options.figures
    known = [c.name for c in configurations]
    if unknown := sorted(set(names or ()) - set(known)):
        raise ValueError(
            f"no configuration of scale {options.scale} has the name"
            f" {' or '.join(unknown)}; `list` names them all{nearest(unknown, known)}"
        )
    found = [
        c
        for c in configurations
        if all(word in c.name for word in words)
        and (names is None or c.name in names)
        and (figures is None or set(figures) & set(getattr(c, "figures", ())))
    ]
    if not found:
        wanted = [f"has {' and '.join(words)} in its name"] if words else []
        if names is not None and (words or figures is not None):
            wanted.append(f"is named {' or '.join(names)}")
        if figures is not None:
            wanted.append(f"is for the paper's figure {' or '.join(map(str, figures))}")
        raise ValueError(
            f"no configuration of scale {options.scale} {' and '.join(wanted)}; `list`"
            f" names them all, and their figures where they have any{nearest(words, known)}"
        )
    return found


def _batch(
    study: Study[Any],
    found: Sequence[Named],
    options: argparse.Namespace,
    setting: Setting,
    call: Sequence[str],
) -> int:
    workers = options.workers
    if workers is None and options.scheduler is None and setting.device != "cpu":
        import torch

        workers = torch.cuda.device_count()
    if options.scheduler is None and (workers is None or workers > 1):
        # One without a task would load PyTorch for nothing.
        workers = min(workers or cores(), len(found) * max(1, options.parts))
    engine = Engine(
        workers=workers,
        scheduler=options.scheduler,
        minutes=options.minutes,
        grace=GRACE,
    )
    with engine, Bar(len(found)) as bar:
        try:
            outcomes = run_batch(
                study,
                found,
                folder=options.out,
                engine=engine,
                setting=setting,
                rerun=options.rerun,
                parts=options.parts,
                most_minutes=options.most_minutes,
                most_memory=options.most_memory,
                report=lambda name, how: bar.report(name, spoken_end(how, options)),
                look=bar.look,
            )
        except Ended:
            bar.say(f"interrupted; what is done stays in {options.out}")
            raise
        bar.say(f"{summary(outcomes)}; records are in {options.out}")
        if told := going_on(call, outcomes, options.out, options.most_minutes):
            bar.say(told)
    fine = ("done", "kept")
    return 0 if all(o.startswith(fine) for o in outcomes.values()) else 1


def alone(
    function: Callable[[], Value],
    name: str,
    minutes: float | None,
    *,
    checkpoint: Path | None = None,
    resumes: bool = True,
    grace: float = GRACE,
) -> Value:
    """Call a function that tells where it stands and stops on request, below a bar.

    It has `grace` seconds to do so, and is interrupted after them.

    Raises
    ------
    Ended
        After a signal or the deadline, with its checkpoint written; what is left is said.
    """
    listener, bar, asked, told = Listener(minutes), Bar(1), math.inf, False

    def watch(seconds: float) -> None:
        nonlocal asked, told
        bar.look({name: telling.said()})
        if listener.code and asked == math.inf:
            asked = seconds
            stopping.request()
        if seconds - asked > 1.0 and not told and grace > 1.0:
            told = True
            bar.say(f"stopping at the next pause, or after {grace:.0f} s")
        if seconds - asked > grace:
            asked = -math.inf
            listener.interrupt(Interruption(listener.reason))

    telling.forget()
    try:
        with listener.listening(), bar, beside(watch, 0.25):
            return function()
    except (stopping.Stopped, Interruption, Ended):
        say_interrupted(checkpoint, resumes=resumes)
        raise Ended(listener.code) from None
    finally:
        stopping.withdraw()


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add where a record and its figure go."""
    text = "file of the record, JSON; - writes it to stdout"
    parser.add_argument("--output", type=Path, metavar="FILE", help=text)
    text = f"draw what came out, to a {', '.join(FORMATS)} file"
    parser.add_argument("--figure", type=Path, metavar="FILE", help=text)


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add where `train_one` writes to."""
    add_output(parser)
    text = "file of the first and last weights"
    parser.add_argument("--weights", type=Path, metavar="FILE", help=text)


def train_one(
    train: Callable[[Any, Setting], tuple[Any, Any]],
    configuration: Named,
    options: argparse.Namespace,
    setting: Setting,
    *,
    ending: Callable[[RunRecord], Ending],
) -> Any:
    """Train one configuration; write record and weights, and return the latter."""
    weights: Path | None = getattr(options, "weights", None)
    check_outputs(
        output=options.output,
        weights=weights,
        checkpoint=setting.checkpoint,
        figure=options.figure,
        pictures=getattr(options, "pictures", None),
    )
    told = replace(setting, progress=telling.tell)
    record, trained = alone(
        lambda: train(configuration, told),
        configuration.name,
        options.minutes,
        checkpoint=setting.checkpoint,
    )
    shown = ending(record)
    if data := record.facts.get("problem"):
        said = (*shown.said, f"The images are of {data['source']}.")
        shown = replace(shown, said=said)
    try:
        finish(record, shown, output=options.output, figure=options.figure)
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            say_interrupted(setting.checkpoint, what="trained, and not written")
        raise
    # Behind the record, which has room where weights have none.
    if weights is not None:
        kept = {"initial": list(trained.initial), "final": list(trained.final)}
        with whole(weights) as partial:
            save_tensors(kept, partial)
        stream = sys.stderr if options.output == STDOUT else sys.stdout
        say([f"The first and last weights are in {weights}."], stream)
    if setting.checkpoint is not None:
        remove_checkpoints(setting.checkpoint)
    return trained


def guarded(run: Callable[[], int], worded: Callable[[str], str] = str) -> int:
    """Return the exit code of `run`, see `main`; what went wrong is said as `worded`."""
    streams.keep_going("stderr")
    try:
        try:
            return streams.warning_in_lines(worded)(run)()
        finally:
            streams.flush_stdout()
    except BrokenPipeError:
        # Whoever read the output has had enough.
        return 141
    except (MemoryError, OSError, OverflowError, RuntimeError, ValueError) as error:
        sys.stderr.write(f"error: {worded(sentence(error))}\n")
        return 2 if isinstance(error, ValueError) else 1
    except Ended as ended:
        return ended.exit_code
    except KeyboardInterrupt:
        return 130
