"""How a command ends: what was run, what came out, where it lies, and a picture of it."""

import shlex
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from empirical.testbed.graph import End
from empirical.testbed.records import RunRecord
from empirical.testbed.study import checkpoint_at, checkpoints_of
from empirical.testbed.writing import whole

STDOUT = Path("-")
"""As an output: the record itself, on stdout, and the sentences on stderr."""

FORMATS = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Curve:
    """A line of a figure, or points with error bars.

    Attributes
    ----------
    label : str
    x, y : array, shape (n,)
    error : array, shape (n,), optional
    """

    label: str
    x: npt.NDArray[Any]
    y: npt.NDArray[Any]
    error: npt.NDArray[Any] | None = None


@dataclass(frozen=True)
class Panel:
    """A picture given to a network, and what it makes of it.

    Attributes
    ----------
    name : str
    given, made : array, shape (H, W) or (H, W, 3)
        In [0, 1].
    """

    name: str
    given: npt.NDArray[Any]
    made: npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Ending:
    """Sentence about a run that has ended, and the content of its figure.

    Attributes
    ----------
    said : tuple of str
        Sentences: what was run, on what, how it ended, what that means.
    curves : tuple of Curve
    x, y : str
        What the axes are.
    log, log_x : bool
        Whether the vertical axis is logarithmic, and whether the other is.
    error : str
        What the curves' errors are.
    panels : tuple of Panel
        Pictures beside the curves, from left to right.
    """

    said: tuple[str, ...]
    curves: tuple[Curve, ...]
    x: str
    y: str
    log: bool = False
    log_x: bool = False
    error: str = "standard error"
    panels: tuple[Panel, ...] = ()


def advised(found: Ending, record: RunRecord, advice: Mapping[str, str]) -> Ending:
    """Return an ending whose second sentence gives advice on how all networks ended.

    Parameters
    ----------
    found : Ending
    record : RunRecord
    advice : mapping
        By status. Where a network has another one, the ending stays as it is.
    """
    kinds = dict.fromkeys(record.draws.status)
    if not kinds or not set(kinds) <= set(advice):
        return found
    said = f"{ended(record)}: {'; '.join(advice[kind] for kind in kinds)}."
    return replace(found, said=(found.said[0], said, *found.said[2:]))


def check_figure(path: Path | None, option: str = "--figure") -> None:
    """Refuse a file whose ending is none of `FORMATS`, and any without Matplotlib."""
    if path is None:
        return
    if path.suffix.lower() not in FORMATS:
        raise ValueError(
            f"`{option}` must end in {', '.join(FORMATS)}, but it is {path}"
        )
    _figure(option)


def finish(
    record: RunRecord, ending: Ending, *, output: Path | None, figure: Path | None
) -> None:
    """Write the record and the figure where they are asked for, and say how it ended.

    Raises
    ------
    OSError
        If they can't be written; how it ended is said on stderr.
    """
    try:
        where = _written(record, ending, output, figure)
    except BrokenPipeError:
        raise
    except OSError:
        say(ending.said, sys.stderr)
        raise
    say((*ending.said, where), sys.stderr if output == STDOUT else sys.stdout)


def _written(
    record: RunRecord, ending: Ending, output: Path | None, figure: Path | None
) -> str:
    """Write the record and the figure, and return where they are."""
    where = "No record is kept: `--output FILE` keeps one, `--output -` prints it."
    if output == STDOUT:
        sys.stdout.write(record.text())
        where = "The record is on stdout."
    elif output is not None:
        record.write(output)
        where = f"The record is in {output}."
    if figure is not None:
        draw(ending, figure)
        where += f" The figure is in {figure}."
    return where


def say_interrupted(
    checkpoint: Path | None, *, resumes: bool = True, what: str = "interrupted"
) -> None:
    """Say on stderr what is left of a run that was interrupted, or whose record was."""
    left = "nothing is kept"
    if not resumes:
        left += ", a run of this kind is made in one go"
    elif checkpoint is None:
        left += "; with `--checkpoint FILE` the next call would go on from there"
    elif checkpoints_of(checkpoint):
        left = f"the same command goes on from {checkpoint}"
    sys.stderr.write(f"{what}; {left}\n")


def going_on(
    call: Sequence[str], ends: Mapping[str, str], folder: Path, minutes: float | None
) -> str:
    """Return the command that goes on with what timed out, if there is anything to do so.

    It is the call that was, of these names alone and with twice the minutes.
    """
    late = [name for name, end in ends.items() if end.startswith(End.TIMED_OUT)]
    kept = [n for n in late if checkpoints_of(checkpoint_at(folder / f"{n}.json"))]
    if minutes is None or not kept:
        return ""
    words = list(call)
    if "--most-minutes" in words:
        # Said in another way it stays: the last one counts.
        at = words.index("--most-minutes")
        del words[at : at + 2]
    words += ["--most-minutes", f"{2.0 * minutes:g}", "--names", *kept]
    return (
        "What timed out is kept as it was up to half a minute before; this goes on from"
        f" there:\n{shlex.join(words)}"
    )


def say(sentences: Sequence[str], stream: TextIO) -> None:
    """Write sentences, each from a line of its own on."""
    for sentence in sentences:
        stream.write(textwrap.fill(sentence, 88, break_on_hyphens=False) + "\n")


def draw(ending: Ending, path: Path) -> None:
    """Draw an ending's curves, and its pictures beside them, to a file.

    Raises
    ------
    ValueError
        If Matplotlib is not installed; the message names the extra.
    """
    figure: Any = _figure("--figure")
    beside: Any = figure
    if ending.panels:
        count = len(ending.panels)
        figure.set_size_inches(5.0 + 1.1 * count, 3.6)
        beside, right = figure.subfigures(1, 2, width_ratios=(4.6, 0.4 + 1.1 * count))
        draw_panels(right, ending.panels)
    ax: Any = beside.subplots()
    for k, curve in enumerate(ending.curves):
        style: dict[str, Any] = {"linewidth": 1.4, "label": curve.label}
        style["linestyle"] = ("-", "--", ":", "-.")[k % 4]
        if curve.error is None:
            ax.plot(curve.x, curve.y, **style)
        else:
            ax.errorbar(curve.x, curve.y, yerr=curve.error, capsize=2, **style)
    bars = any(curve.error is not None for curve in ending.curves)
    ax.set(xlabel=ending.x, ylabel=ending.y + f" ± {ending.error}" * bars)
    if ending.log:
        ax.set_yscale("log")
    if ending.log_x:
        ax.set_xscale("log")
        # Widths that were measured, not powers of ten.
        measured = sorted({float(x) for curve in ending.curves for x in curve.x})
        ax.set_xticks(measured, [f"{x:g}" for x in measured])
        ax.set_xticks([], minor=True)
    else:
        # Epochs and updates are counted.
        ax.xaxis.get_major_locator().set_params(integer=True)
    if not ending.curves:
        ax.text(0.5, 0.5, "nothing to draw", transform=ax.transAxes, ha="center")
    if len(ending.curves) > 1:
        ax.legend(frameon=False, fontsize="small")
    save_figure(figure, path)


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure of Matplotlib's, whole or not at all, in the format of its ending."""
    with whole(path) as partial:
        figure.savefig(partial, dpi=150, format=path.suffix[1:].lower())


def draw_panels(figure: Any, panels: Sequence[Panel]) -> None:
    """Draw what a network makes of pictures below them, in a figure or a part of one."""
    cells = figure.subplots(2, len(panels), squeeze=False)
    for column, panel in enumerate(panels):
        for ax, image in zip(cells[:, column], (panel.given, panel.made), strict=True):
            ax.imshow(image, cmap="gray", vmin=0.0, vmax=1.0)
            ax.set(xticks=[], yticks=[])
        cells[0, column].set_title(panel.name, fontsize=8)
    cells[0, 0].set_ylabel("in")
    cells[1, 0].set_ylabel("out")


def _figure(option: str) -> Any:
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ValueError(
            f'`{option}` needs Matplotlib: python -m pip install "deep-ledger[plots]"'
        ) from error
    return Figure(figsize=(6.4, 4.0), layout="constrained")


def spread(values: Sequence[float] | npt.NDArray[Any], form: str = ".3g") -> str:
    """Return a number, or the least and the largest of several.

    Examples
    --------
    >>> spread([0.25]), spread([1.0, 3.0, 2.0])
    ('0.25', '1 to 3')
    """
    low, high = float(np.min(values)), float(np.max(values))
    shown = format(low, form)
    return shown if format(high, form) == shown else f"{shown} to {format(high, form)}"


def counted(number: int, noun: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> counted(1, "network"), counted(2000, "network")
    ('1 network', '2,000 networks')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(words: Sequence[object]) -> str:
    """Return several things in words.

    Examples
    --------
    >>> listed([3]), listed([3, 8]), listed([1, 2, 3])
    ('3', '3 and 8', '1, 2 and 3')
    """
    *others, last = map(str, words)
    return f"{', '.join(others)} and {last}" if others else last


DID = {
    "dead": "died",
    "floor": "came to the floor",
    "one-class": "ended at one class",
}
"""What a network did whose status is no verb."""


def ended(record: RunRecord, noun: str = "network") -> str:
    """Say how the replicates of a record ended.

    Examples
    --------
    >>> from empirical.testbed.records import Draw, Draws
    >>> draws = Draws(Draw(keys={}, status=s) for s in ("finished", "diverged"))
    >>> record = RunRecord(configuration={}, schema=1, device="cpu", code="", draws=draws)
    >>> ended(record)
    'Of 2 networks 1 finished and 1 diverged'
    """
    status = [DID.get(each, each) for each in record.draws.status]
    kinds = list(dict.fromkeys(status))
    if len(kinds) == 1:
        each = {1: f"The {noun}", 2: f"Both {noun}s"}
        return f"{each.get(len(status), f'All {len(status)} {noun}s')} {kinds[0]}"
    counts = " and ".join(f"{status.count(kind)} {kind}" for kind in kinds)
    return f"Of {len(status)} {noun}s {counts}"
