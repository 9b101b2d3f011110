"""``python -m verify.figures id``: draw a paper's figures from run records.

Tables of a paper that has such go into the page that shows its figures. Any picture of the
report or of the site's gallery is drawn by its name.
"""

import argparse
import importlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from empirical.digest import code_digest
from empirical.testbed.options import spoken
from empirical.testbed.runner import open_folder
from verify import ledger
from verify.claim import Profile
from verify.command import EXIT_INTERRUPTED, EXIT_PIPE, complain, records_root, refuse
from verify.figures import (
    Numbered,
    Picture,
    identity_map,
    mmd_init,
    named,
    pictures,
    square_loss,
    topic,
)
from verify.figures.recorded import Unrecorded, fullest, run_command
from verify.figures.runs import (
    Folder,
    Missing,
    beside,
    published,
    training_command,
)
from verify.figures.style import as_svg, settled, styled
from verify.figures.tables import Table
from verify.items import papers
from verify.paths import SCALES, folder_of

EXIT_DONE, EXIT_MISSING = 0, 2

_PIXELS = 150
"""Per inch, of bitmaps."""


@dataclass(frozen=True)
class Paper:
    """A paper's figures.

    Attributes
    ----------
    figures : mapping
        By number.
    module : str
        What trains its networks, ``empirical.<topic>``.
    tables : mapping
        By number.
    """

    figures: Mapping[int, Numbered]
    module: str
    tables: Mapping[int, Numbered] = field(default_factory=dict[int, Numbered])

    def expected(self, scale: str, kind: str = "figures") -> dict[int, list[str]]:
        """Return the configurations of each figure, or table, at a scale."""
        # Loaded here: it takes seconds, which `--help` should not.
        experiments: Any = importlib.import_module(f"{self.module}.experiments")
        found: dict[int, list[str]] = {}
        for configuration in experiments.configurations(scale):
            for number in getattr(configuration, kind, ()):
                found.setdefault(number, []).append(configuration.name)
        return found


PAPERS: Mapping[str, Paper] = {
    "id": Paper(identity_map.FIGURES, "empirical.identity_map"),
    "sl": Paper(square_loss.FIGURES, "empirical.square_loss"),
    "mmd": Paper(mmd_init.FIGURES, "empirical.mmd_init", tables=mmd_init.TABLES),
}
"""By the start of their claims' ids."""


def main(argv: Sequence[str] | None = None) -> int:
    """Draw figures and tables; return 0, 2 if some could not be drawn whole, 130 on Ctrl-C.

    Wrong usage is 2 as well; 141: whoever read the output has closed it.
    """
    parser = _parser()
    options = parser.parse_args(argv)
    numbered = PAPERS.get(options.what)
    if options.only and numbered is None:
        parser.error(
            f"--only must come with a paper whose figures are numbered, one of"
            f" {', '.join(PAPERS)}, but it comes with {options.what}"
        )
    figures = numbered.figures if numbered else {}
    if unknown := [n for n in options.only or () if n not in figures]:
        return refuse(f"--only must be figures 1 to {max(figures)}, but has {unknown}")
    try:
        chosen = [] if numbered else _asked(options.what)
    except ValueError as error:
        return refuse(spoken(str(error), options, {"name": "PAPER|NAME"}))
    profile = Profile(options.profile)
    try:
        open_folder(options.out)
        if numbered is None:
            return _draw_each(chosen, profile, options)
        return _draw_paper(numbered, profile, options)
    except KeyboardInterrupt:
        complain(f"interrupted; what is drawn stays in {options.out}")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        return EXIT_PIPE
    except OSError as error:
        return refuse(error)


def _draw_paper(paper: Paper, profile: Profile, options: argparse.Namespace) -> int:
    """Draw a paper's figures and tables; say what is missing and what makes it."""
    scale = SCALES[profile.value]
    expected = paper.expected(scale)
    shown = (expected, paper.expected(scale, "tables"))
    names = {name for by in shown for each in by.values() for name in each}
    folder = _runs(profile, options.records)
    records = Folder(folder, scale=scale, names=names)
    numbers: list[int] = sorted(set(options.only or paper.figures))
    absent = _draw(paper, numbers, expected, records, options)
    # Those who choose figures want no tables.
    tables, lacking = ([], []) if options.only else _tables(paper, records)
    _index(paper, numbers, options.out, options.format, tables)
    _note_other_code(records, paper)
    if not _said(paper, absent, lacking, records):
        return EXIT_DONE
    for other in published(folder.parent, profile.value):
        if there := len(Folder(other.folder, names=names)):
            at = {SCALES[each]: each for each in SCALES}[other.scale]
            complain(f"published at {other.scale} scale: {there}; --profile {at}")
    return EXIT_MISSING


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m verify.figures",
        description="Draw a paper's figures from the records of trained networks.",
    )
    known = "; ".join(f"{paper.prefix}: {paper.title}" for paper in papers())
    text = f"a paper's figures ({known}), or one picture by its name, e.g. length_maps"
    parser.add_argument("what", metavar="PAPER|NAME", help=text)
    parser.add_argument(
        "--records",
        type=Path,
        metavar="DIR",
        help="folder of the run records, or of the records of all profiles, in which"
        " they are <profile>/runs (default: results)",
    )
    parser.add_argument(
        "--profile",
        choices=[profile.value for profile in Profile],
        default=Profile.QUICK.value,
        help="profile of the records (default: quick)",
    )
    text = (
        "folder of the drawings; papers need one each, as their figures' numbers meet"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", required=True, help=text)
    text = f"of {', '.join(PAPERS)}: figures of these numbers alone"
    parser.add_argument("--only", type=int, nargs="+", metavar="NUMBER", help=text)
    text = "kind of the files (default: svg)"
    kinds = ("svg", "png")
    parser.add_argument("--format", choices=kinds, default="svg", help=text)
    return parser


def _runs(profile: Profile, given: Path | None) -> Path:
    """Return the folder of a profile's run records, in a folder of all or as given."""
    if given is not None and not any(folder_of(p, given).is_dir() for p in Profile):
        return given
    return beside(folder_of(profile, given or records_root()), profile.value).folder


def _asked(what: str) -> list[Picture]:
    """Return the pictures of a paper, or the one of a name.

    Raises
    ------
    ValueError
        If there is neither.
    """
    if what not in {paper.prefix for paper in papers()}:
        return [named(what)]
    claims = ledger.load()
    return [p for p in pictures(everything=True) if topic(p, claims) == what]


def _draw_each(
    chosen: Sequence[Picture], profile: Profile, options: argparse.Namespace
) -> int:
    """Draw pictures; say of those that cannot be what would make them, at the end."""
    runs = Folder(_runs(profile, options.records), scale=SCALES[profile.value])
    absent, claims, trainings = 0, dict[str, None](), dict[str, None]()
    for picture in chosen:
        try:
            _draw_one(picture, runs, options)
        except ValueError as error:
            absent += 1
            told = error.reason if isinstance(error, Missing) else str(error)
            refuse(f"{picture.name}: {told.removeprefix(f'{picture.name}: ')}")
            if isinstance(error, Unrecorded):
                claims |= dict.fromkeys(error.claims)
            elif isinstance(error, Missing):
                trainings[error.command] = None
    commands = [run_command(claims, runs.folder.parent)] if claims else []
    if commands := [*commands, *filter(None, trainings)]:
        sys.stderr.write("\n  ".join(["What is missing is made by", *commands]) + "\n")
    return EXIT_MISSING if absent else EXIT_DONE


def _draw_one(picture: Picture, runs: Folder, options: argparse.Namespace) -> None:
    """Draw a picture to a file of its name, a table as Markdown; say where it is.

    Raises
    ------
    ValueError
        If what it shows has no record: `Missing`; or if this cannot be drawn.
    """
    of_claims = runs.folder.parent
    record = fullest(picture.name, of_claims) if picture.of_record is not None else None
    made = picture(record, runs=runs)
    path: Path = options.out / f"{picture.name}.{options.format}"
    if isinstance(made, Table):
        path = path.with_suffix(".md")
        path.write_text(made.markdown() + "\n", encoding="utf-8")
    else:
        _save(made, path, title=picture.title, words=picture.caption)
    sys.stdout.write(f"{path}: {picture.title}. {picture.caption}\n")


def _draw(
    paper: Paper,
    numbers: Sequence[int],
    expected: dict[int, list[str]],
    records: Folder,
    options: argparse.Namespace,
) -> dict[int, str]:
    """Draw what can be; return why the others, or parts of them, cannot."""
    out: Path = options.out
    absent: dict[int, str] = {}
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=Console(stderr=True),
    )
    with bar:
        task = bar.add_task("figures", total=len(numbers))
        for number in numbers:
            bar.update(task, description=f"figure {number}")
            try:
                path = out / _name(number, options.format)
                _write(number, paper.figures[number], records, path)
            except Missing as error:
                _remove(out, number)
                absent[number] = error.reason
            else:
                lacking = [n for n in expected.get(number, ()) if n not in records]
                if lacking:
                    names = ", ".join(lacking)
                    absent[number] = f"figure {number}: drawn without {names}"
            bar.advance(task)
    return absent


def _tables(paper: Paper, records: Folder) -> tuple[list[str], list[str]]:
    """Return the tables as sections of the page, and why there are not all."""
    sections: list[str] = []
    lacking: list[str] = []
    for number, table in paper.tables.items():
        try:
            body = table(records).markdown()
        except Missing as error:
            lacking.append(error.reason)
        else:
            head = f"## Table {number}: {table.title}"
            sections.append(f"{head}\n\n{table.words}\n\n{body}\n")
    return sections, lacking


def _name(number: int, kind: str) -> str:
    return f"figure-{number:02d}.{kind}"


def _remove(out: Path, number: int) -> None:
    """Remove an earlier drawing that no record stands behind any more."""
    for kind in ("svg", "png"):
        (out / _name(number, kind)).unlink(missing_ok=True)


def _write(number: int, figure: Numbered, records: Folder, path: Path) -> None:
    with styled():
        drawn: Any = settled(figure(records))
    _save(drawn, path, title=f"Figure {number}: {figure.title}", words=figure.words)


def _save(drawn: Any, path: Path, *, title: str, words: str) -> None:
    """Write a figure to a file, a bitmap or SVG by the file's name."""
    if path.suffix == ".png":
        with styled():
            # Without this, text would be dark on whatever shows the file.
            drawn.patch.set_alpha(1.0)
            drawn.savefig(path, dpi=_PIXELS, facecolor="white")
        return
    svg = as_svg(drawn, name=path.stem, title=title, description=words, themed=False)
    path.write_text(svg + "\n", encoding="utf-8")


def _index(
    paper: Paper,
    numbers: Iterable[int],
    out: Path,
    kind: str,
    tables: Iterable[str] = (),
) -> None:
    """Write captions of what is there, and tables, as a page; of nothing there is none."""
    lines: list[str] = []
    for number in numbers:
        if not (out / _name(number, kind)).exists():
            continue
        figure = paper.figures[number]
        lines += [
            f"## Figure {number}: {figure.title}",
            "",
            f"![{figure.title}]({_name(number, kind)})",
            "",
            figure.words,
            "",
        ]
    lines += tables
    page = out / "index.md"
    if lines:
        page.write_text("\n".join(["# Figures", "", *lines]), encoding="utf-8")
    else:
        page.unlink(missing_ok=True)


def _note_other_code(records: Folder, paper: Paper) -> None:
    """Say on stderr which of the records that were drawn are of earlier code."""
    now = code_digest(f"{paper.module}.study")
    # Records of a GPU are kept as they are: few can make them anew.
    old = [
        name
        for name, record in records.read.items()
        if record.device == "cpu" and record.code != now
    ]
    if old:
        sys.stderr.write(
            f"note: {len(old)} of {len(records.read)} records are of other code than"
            f" the present, e.g. {old[0]}; `batch --rerun` trains them anew\n"
        )


def _said(
    paper: Paper, absent: dict[int, str], tables: Sequence[str], records: Folder
) -> bool:
    """List on stderr what is missing; return whether anything is."""
    if not (absent or tables):
        return False
    lines = [*(absent[number] for number in sorted(absent)), *tables]
    numbers = " ".join(map(str, sorted(absent)))
    # Of tables the batch knows nothing: it then makes all that is missing.
    options = "" if tables else f"--figures {numbers}"
    made = training_command(paper.module, records, options)
    sys.stderr.write("\n".join([*lines, f"Train what is missing: {made}", ""]))
    return True


if __name__ == "__main__":
    raise SystemExit(main())
