"""The figures: drawn once and kept, a file and a page each, and the gallery of them all."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

from markupsafe import Markup

from empirical.digest import code_digest, roots_of
from pages.writing import write_all
from verify import figures
from verify.figures import Picture
from verify.figures.recorded import fullest
from verify.figures.runs import Folder
from verify.paths import RUNS

SCALES = (("paper", "paper"), ("full", "full"), ("quick", "small"))
"""Folders of records, the largest networks first, and what their scale is called."""

ABSENT = "absent: "
"""What a kept drawing starts with that is none."""

_SIZE = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')


@dataclass(frozen=True)
class Shown:
    """A picture on the site.

    Attributes
    ----------
    picture : Picture
    body : str
        SVG or a table; empty where it is not drawn.
    missing : str
        Why it is not.
    scale : str
        Of the networks that it shows, empty for others.
    """

    picture: Picture
    body: str = ""
    missing: str = ""
    scale: str = ""

    @property
    def is_table(self) -> bool:
        """Whether it is a table, which goes into pages as it is."""
        return not self.body.startswith("<svg")

    @property
    def size(self) -> str:
        """Width and height as attributes of an image."""
        found = _SIZE.search(self.body)
        return (
            f'width="{float(found[1]):.0f}" height="{float(found[2]):.0f}"'
            if found
            else ""
        )

    @property
    def seen(self) -> str:
        """What to see in it."""
        return self.picture.caption.partition(" In the paper: ")[0]

    @property
    def printed(self) -> str:
        """What the paper's own figure shows, where the caption says so."""
        return self.picture.caption.partition(" In the paper: ")[2]

    def markup(self) -> Markup:
        """Return it as part of a page, in the page's own colours."""
        return Markup(self.body)

    def again(self, prefix: str) -> Markup:
        """Return it as an image beside text, or the table itself."""
        if self.is_table:
            return self.markup()
        return Markup(
            f'<a href="{prefix}figures/{self.picture.name}.html"><img class="paper"'
            f' src="{prefix}_static/figures/{self.picture.name}.svg" {self.size}'
            f' loading="lazy" alt="{escape(self.picture.title)}"></a>'
        )

    def file(self) -> str:
        """Return an SVG that stands by itself, with a font and without variables."""
        body = re.sub(r"var\(--[\w-]+, ([^)]+)\)", r"\1", self.body)
        font = 'font-family="DejaVu Sans, Helvetica, Arial, sans-serif"'
        return f"{body.replace('<svg ', f'<svg {font} ', 1)}\n"


def shown(root: Path, kept: Path) -> dict[str, Shown]:
    """Draw every picture from the largest networks there are; keep what is drawn.

    Parameters
    ----------
    root : Path
        Of the records, by profile.
    kept : Path
        Folder of earlier drawings, which are taken again while code and records last.
    """
    kept.mkdir(parents=True, exist_ok=True)
    return {p.name: _shown(p, root, kept) for p in figures.pictures(everything=True)}


def _shown(picture: Picture, root: Path, kept: Path) -> Shown:
    if not picture.from_runs:
        return _drawn(picture, "quick", "", root, kept)
    tried = [
        _drawn(picture, name, scale, root, kept)
        for name, scale in SCALES
        if (root / name / RUNS).is_dir()
    ]
    found = (one for one in tried if one.body)
    default = Shown(
        picture, missing="Drawn from trained networks, of which no record is here."
    )
    return next(found, tried[-1] if tried else default)


def _drawn(picture: Picture, name: str, scale: str, root: Path, kept: Path) -> Shown:
    folder = root / name
    key = hashlib.sha256(
        f"{picture.title}{picture.caption}{_code(picture)}{_state(folder)}".encode()
    ).hexdigest()
    path = kept / f"{picture.name}-{name}-{key[:16]}.html"
    if path.exists():
        body = path.read_text(encoding="utf-8")
    else:
        body = _body(picture, folder, scale, root)
        for old in kept.glob(f"{picture.name}-{name}-*.html"):
            old.unlink()
        path.write_text(body, encoding="utf-8")
    if body.startswith(ABSENT):
        return Shown(picture, missing=body.removeprefix(ABSENT), scale=scale)
    return Shown(picture, body, scale=scale)


def _body(picture: Picture, folder: Path, scale: str, root: Path) -> str:
    """Return a picture, or why there is none: that takes as long to find out."""
    try:
        record = (
            fullest(picture.name, folder) if picture.of_record is not None else None
        )
        return picture.markup(record, runs=_runs(folder, scale))
    except ValueError as error:  # of which `Missing` is one
        reason = str(error).replace(f"{root.parent}/", "")
        return f"{ABSENT}{reason}."


@cache
def _runs(folder: Path, scale: str) -> Folder:
    """Return a folder of runs: pictures share what it has read."""
    return Folder(folder / RUNS, scale=scale)


def _code(picture: Picture) -> str:
    made = picture.of_runs or picture.of_record or picture.of_theory
    module = getattr(made, "__module__", "")
    if picture.of_runs is not None:  # objects of a paper's package
        module = type(made).__module__.rpartition(".")[0]
    return _digest(module)


@cache
def _digest(module: str) -> str:
    return code_digest(module, roots_of(module))


@cache
def _state(folder: Path) -> str:
    """Return what tells whether records have changed: names, sizes and times."""
    paths = sorted([*folder.glob("*.json"), *(folder / RUNS).glob("*.json")])
    stats = ((p.name, s.st_size, s.st_mtime_ns) for p in paths for s in (p.stat(),))
    return hashlib.sha256(repr(list(stats)).encode()).hexdigest()


def write_files(every: Iterable[Shown], folder: Path) -> None:
    """Write each SVG to a file of its own, for pages that show many."""
    files = {
        f"{s.picture.name}.svg": s.file() for s in every if s.body and not s.is_table
    }
    write_all(folder, files)


__all__ = ["Shown", "shown", "write_files"]
