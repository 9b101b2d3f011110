"""Tables of measured numbers in documents: ``python docs/pages/tables.py NAME ...``.

What was measured is kept in ``docs/numbers/NAME.json``, with a digest of the files that it
was measured of, and shown between two comments of a document. Sentences quote cells of
tables, see `pages.sentences`. Tests see to it that documents say what the files do, and
that the files are as they were.
"""

import argparse
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

from empirical.digest import substance  # noqa: E402
from pages.quotes import Quotes  # noqa: E402

Rows = list[list[str]]

_FOLDERS = ("docs", "docs/trained", "docs/findings")
PAGES = ("README.md", "CONTRIBUTING.md", *(f"{each}/*.md" for each in _FOLDERS))
"""Documents that may quote numbers."""


@dataclass(frozen=True)
class Table:
    """A table of a document.

    Attributes
    ----------
    name : str
        Of the file and of the comments around the table.
    document : str
        Path from the project's root; empty for numbers that only sentences quote.
    head : tuple of str
        Column headings; those after the first `words` hold numbers.
    sources : tuple of str
        Patterns of the files that decide the numbers.
    measure : callable
        Returns the rows; it may take minutes.
    words : int
    dated : bool
        Whether the day and the commit stand above it, as they do of seconds.
    added : tuple, optional
        A column, and what returns of a row's name what is said there besides.
    """

    name: str
    document: str
    head: tuple[str, ...]
    sources: tuple[str, ...]
    measure: Callable[[], Rows]
    words: int = 1
    dated: bool = False
    added: tuple[int, Callable[[str], str]] | None = None

    @property
    def file(self) -> Path:
        """Where the numbers are kept."""
        name = self.name.replace(",", "").replace(" ", "-")
        return ROOT / "docs" / "numbers" / f"{name}.json"

    @property
    def digest(self) -> str:
        """Digest of the files that decide the numbers, as they are now."""
        found = {each: list(ROOT.glob(each)) for each in self.sources}
        if missing := [each for each, paths in found.items() if not paths]:
            raise LookupError(f"{self.name}: no file is {' or '.join(missing)}")
        paths = sorted(path for paths in found.values() for path in paths)
        digest = hashlib.sha256()
        for path in paths:
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".py":
                # Comments and docstrings make no difference.
                text = substance(path.read_bytes())
            if path.name == "pyproject.toml":
                # Nor do the version and the tools' settings.
                text = _installed(text)
            elif path.name == "constraints.txt":
                # Nor do pins of what only tests or documents take.
                wanted = _installed((ROOT / "pyproject.toml").read_text("utf-8"))
                lines = text.splitlines()
                names = (line.partition("==")[0] for line in lines)
                kept = zip(names, lines, strict=True)
                text = "\n".join(line for name, line in kept if f'"{name}' in wanted)
            digest.update(f"{path.relative_to(ROOT)}\0{text}\0".encode())
        return digest.hexdigest()[:16]

    def kept(self) -> dict[str, Any]:
        """Return what the file says."""
        return json.loads(self.file.read_text(encoding="utf-8"))

    def markdown(self) -> str:
        """Return the numbers of the file as a Markdown table."""
        rule = ["---"] * self.words + ["---:"] * (len(self.head) - self.words)
        kept = self.kept()
        rows = [self._whole(row) for row in kept["rows"]]
        lines = [self.head, rule, *rows]
        above = f"Measured on {kept['measured']}.\n\n" if self.dated else ""
        return above + "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def _whole(self, row: list[str]) -> list[str]:
        if self.added is None:
            return row
        column, tell = self.added
        words = tell(row[0].strip("`"))
        cells = row[column : column + 1]
        if words and cells != ["no record"]:
            cells = [f"{cell}; {words}" for cell in cells]
        return [*row[:column], *cells, *row[column + 1 :]]

    def block(self) -> re.Pattern[str]:
        """Return the pattern of its place in the document, comments included."""
        start, end = (f"<!-- {self.name}: {which} -->" for which in ("start", "end"))
        return re.compile(rf"({start}\n)(.*?)({end})", re.DOTALL)

    def refresh(self) -> None:
        """Measure, write the file and the document.

        Raises
        ------
        LookupError
            If records are missing, of what the file holds.
        """
        rows = self.measure()
        if self.file.exists() and _filled(rows) < _filled(self.kept()["rows"]):
            raise LookupError(
                f"{self.name}: less was found than {self.file} holds, as where records are"
                " missing (`python -m verify.report` makes those of the quick profile);"
                " remove the file if less is meant"
            )
        content = {"digest": self.digest, "rows": rows}
        if self.dated:
            content["measured"] = _today()
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        if self.document:
            path = ROOT / self.document
            text = path.read_text(encoding="utf-8")
            table = self.markdown()
            path.write_text(
                self.block().sub(rf"\g<1>{table}\n\g<3>", text), encoding="utf-8"
            )


def _filled(rows: Rows) -> int:
    return sum(cell not in ("", "no record") for row in rows for cell in row)


def _today() -> str:
    """Return the day and the commit."""
    day = datetime.now(UTC)
    command = ("git", "rev-parse", "--short", "HEAD")
    commit = subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    return f"{day.day} {day:%B %Y}, at commit {commit.stdout.decode().strip()}"


def _installed(project: str) -> str:
    """Return what a project's file says of its dependencies and extras."""
    return project[project.index("dependencies = [") : project.index("[dependency-")]


_NORMRELU = (
    *("arm", "hidden layers", "rate chosen", "largest stable"),
    *("fit after one epoch", "fit at the end", "test", "epochs to fit 90 %"),
    *("cosine, start / end", "tangent kernel", "top layer's kernel"),
)
"""Of kernels, log10 of condition numbers at the start and at the end."""

_BIASED = tuple(f"results/full/runs/{arm}-depth-*.json" for arm in ("cnn", "biased"))
_BY_DEPTH = (
    *("layers", "biases", "networks"),
    *(f"constant, {kind}" for kind in ("orthogonal", "Gaussian", "uniform", "digits")),
    *(f"identity, {kind}" for kind in ("Gaussian", "uniform", "digits")),
)
_EXTENTS = (
    *("layers", "biases", "networks"),
    *("constant: orthogonal images", "Gaussian", "digits", "identity: digits"),
)

_ENDS = ("test errors, %", "norm", "equilibrium")
_STARTS = tuple(f"results/full/runs/*-{start}.json" for start in ("xavier", "he"))
_PRINTED_STARTS = tuple(each.replace("full", "paper") for each in _STARTS)
_TRAINED = ("ten epochs", "10 updates")


def _redrawn(claim_id: str) -> str:
    """Say of a claim whether its verdict on small networks depends on the draw."""
    from pages import effects

    return effects.redrawn(claim_id)


def _effects(paper: str, profiles: Sequence[str]) -> Rows:
    """Read the effects of a paper's claims from the records."""
    from pages import effects

    words = getattr(effects, paper.upper())
    return effects.effects(words, ROOT / "results", *profiles)


def _networks(which: str, folder: str, *settled: Any) -> Rows:
    """Read what networks showed from the records of their runs."""
    # Loaded here: `--check` needs no records.
    from pages import networks

    return getattr(networks, which)(*settled, ROOT / "results" / folder / "runs")


def _sentences(which: str) -> Rows:
    """Read what sentences quote from the records of claims."""
    from pages import sentences

    return getattr(sentences, which)(ROOT / "results")


def quotes() -> Quotes:
    """Return the kept tables, for sentences to quote."""
    there = (table for table in TABLES if table.file.exists())
    return Quotes({table.name: (table.head, table.kept()["rows"]) for table in there})


def documents() -> list[Path]:
    """Return the pages that may quote numbers."""
    return sorted(page for pattern in PAGES for page in ROOT.glob(pattern))


_CLOSED = (
    *("theory/activations/*.py", "theory/duals/*.py", "theory/_pair_moments.py"),
    *("theory/_twofold.py", "theory/gaussian.py", "theory/hermite.py"),
)
_LOOP = (
    *("empirical/networks/*.py", "empirical/testbed/loop.py"),
    *("empirical/testbed/stack.py", "empirical/testbed/optimisers.py"),
)
_TIMED: Mapping[str, tuple[str, ...]] = {
    "kernels": ("theory/_recursion/*.py", "theory/kernel*.py", *_CLOSED),
    "duals": _CLOSED,
    "identity_map": ("empirical/identity_map/task.py", *_LOOP),
    "square_loss": ("empirical/square_loss/task.py", *_LOOP),
    "normrelu": ("empirical/activations.py",),
    "mmd_pretraining": (
        *("empirical/mmd_init/task.py", "empirical/mmd_init/gram.py"),
        *("empirical/mmd_init/noise.py", "empirical/mmd_init/uniformity.py", *_LOOP),
    ),
    "mmd_finetuning": ("empirical/mmd_init/finetuning.py", *_LOOP),
    "own_modules": ("empirical/testbed/supervised.py", *_LOOP),
}
"""What a benchmark times, by its name."""


def _timed(which: str) -> Rows:
    """Measure seconds."""
    from pages import timings

    return getattr(timings, which)()


def _of_seconds(
    name: str,
    script: str,
    *head: str,
    page: str = "docs/accuracy.md",
    which: str = "",
) -> Table:
    """Return a table of a benchmark's seconds, by a function of `timings`.

    It is old when the benchmark has changed, or what the benchmark times.
    """
    return Table(
        name=name,
        document=page,
        head=head,
        sources=(f"benchmarks/bench_{script}.py", *_TIMED[script]),
        measure=partial(_timed, which or script.removeprefix("mmd_")),
        dated=True,
    )


def _alike(profile: str) -> Rows:
    """Try arms alike of the published networks of a profile."""
    from pages import alike

    return alike.published(profile, ROOT / "results")


def _of_networks(
    name: str,
    document: str,
    head: tuple[str, ...],
    sources: tuple[str, ...],
    *measure: Any,
    words: int = 1,
) -> Table:
    """Return a table of runs: of `measure`, the function, the profile and arguments."""
    return Table(name, document, head, sources, partial(_networks, *measure), words)


def _of_effects(
    name: str, document: str, paper: str, *sources: str, **scales: str
) -> Table:
    """Return a table of a paper's effects: of each profile its heading."""
    columns = (each for scale in scales.values() for each in (scale, "verdict"))
    return Table(
        name=name,
        document=document,
        head=("claim", "effect", "limits", *columns),
        sources=sources,
        measure=partial(_effects, paper, tuple(scales)),
        words=2,
        # Behind the verdict of small networks, which are drawn anew.
        added=(4, _redrawn) if next(iter(scales)) == "quick" else None,
    )


_QUOTED = ("what", "claim", "number")

TABLES = (
    Table(
        name="seen, small",
        document="",
        head=_QUOTED,
        sources=(
            "empirical/normrelu/[a-z]*.py",
            "empirical/mmd_init/[a-z]*.py",
            "verify/claims/deep_conditioning/training/kernels.py",
            "verify/claims/deep_conditioning/training/start.py",
        ),
        measure=partial(_sentences, "small"),
    ),
    Table(
        name="seen, full",
        document="",
        head=_QUOTED,
        sources=(
            "results/full/dc-fig[34]*.json",
            "results/full/sl-obs3-trained.json",
            "results/full/sl-eq5-bn.json",
        ),
        measure=partial(_sentences, "full"),
    ),
    Table(
        name="extras",
        document="README.md",
        head=("to install", "for", "MB", "s of CPU"),
        sources=("pyproject.toml", "constraints.txt"),
        measure=partial(_timed, "extras"),
        words=2,
    ),
    _of_seconds(
        *("seconds of kernels", "kernels", "activation"),
        *("depth 1 over floor", "depth 1,000 over floor", "depth 1,000 over depth 1"),
        "first call, depth 1,000, s",
    ),
    _of_seconds(
        *("first calls without normalisation", "kernels", "activation"),
        "first call, depth 1,000, s",
        which="plain_kernels",
    ),
    _of_seconds(
        *("seconds of duals", "duals", "a million points, s", "`dual`, first call"),
        *("again", "`dual_derivative`", "`distance_map`"),
    ),
    _of_seconds(
        *("updates a second", "identity_map", "network"),
        *("stacked", "one by one", "usual", "stacked over floor"),
    ),
    _of_seconds("square loss, ms", "square_loss", "a step", "float64", "float32"),
    _of_seconds(
        *("pre-training", "mmd_pretraining", "a step"),
        *("seconds", "MiB", "times the first"),
    ),
    _of_seconds(
        *("fine-tuning", "mmd_finetuning", "network", "N"),
        *("one by one over stacked", "`torch.nn` one by one over stacked"),
    ),
    _of_seconds(
        *("compiled updates", "own_modules", "network", "as it is, ms", "compiled, ms"),
        "first 50 compiled, s",
        page="docs/own-module.md",
    ),
    Table(
        name="workers",
        document="docs/clusters.md",
        head=("workers", "wall clock, s", "CPU, s", "times as fast as one"),
        sources=tuple(
            f"empirical/testbed/{name}.py" for name in ("engine", "cluster", "serving")
        ),
        measure=partial(_timed, "workers"),
        dated=True,
    ),
    _of_seconds(
        *("overhead", "normrelu", "units", "NormReLU", "LayerNorm", "BatchNorm"),
        page="docs/trained/normrelu.md",
    ),
    _of_networks(
        *("normrelu", "docs/trained/normrelu.md", _NORMRELU),
        *(("empirical/normrelu/[a-z]*.py",), "normrelu", "quick", (16, 32)),
    ),
    _of_networks(
        *("normrelu, full", "docs/trained/normrelu.md", _NORMRELU),
        *(("results/full/runs/*-depth-[36][24].json",), "normrelu", "full", (32, 64)),
    ),
    _of_networks(
        *("normrelu, residual", "docs/trained/normrelu.md"),
        ("arm", "layers", "rate chosen", "largest stable", "fit", "test"),
        *(("results/full/runs/*-residual-[0-9]*.json",), "residual", "full"),
    ),
    _of_networks(
        *("depth and biases", "docs/trained/identity-map.md", _BY_DEPTH),
        *(_BIASED, "by_depth", "full"),
        words=2,
    ),
    _of_networks(
        *("extents by depth and biases", "docs/findings/at-full-size.md"),
        *(_EXTENTS, _BIASED, "extents_by_depth", "full"),
        words=2,
    ),
    _of_networks(
        *("learned starts, accuracies", "docs/trained/mmd-init.md"),
        ("pre-training", *(f"N = {n}, {t}" for t in _TRAINED for n in (5, 40))),
        *(("empirical/mmd_init/[a-z]*.py",), "learned_small", "quick"),
    ),
    *(
        _of_networks(
            *(f"learned starts, table {number}", "docs/trained/mmd-init.md"),
            ("start", "pre-training", "N = 5", "10", "20", "40"),
            *(_STARTS, "learned_tasks", "full", number),
            words=2,
        )
        for number in (1, 2)
    ),
    *(
        _of_networks(
            *(
                f"learned starts, table {number} at its size",
                "docs/trained/mmd-init.md",
            ),
            ("start", "pre-training", "N = 5", "10", "20", "40"),
            *(_PRINTED_STARTS, "learned_tasks", "paper", number),
            words=2,
        )
        for number in (1, 2)
    ),
    *(
        _of_networks(
            *(f"learned starts, tables 3 and 4{where}", "docs/trained/mmd-init.md"),
            ("λ, ξ", "constant", "layer 1", "2", "3"),
            *((f"results/{scale}/runs/*-xavier.json",), "learned_units", scale),
        )
        for scale, where in (("full", ""), ("paper", " at its size"))
    ),
    _of_networks(
        *("learned starts, table 5", "docs/trained/mmd-init.md"),
        ("s²", "λ", "constant", "dead, worst layer"),
        *(("results/full/runs/sweep.json",), "learned_sweep", "full"),
        words=2,
    ),
    _of_effects(
        *("identity map, full", "docs/trained/identity-map.md", "identity_map"),
        "results/full/id-*.json",
        full="28 x 28",
    ),
    _of_effects(
        *("identity map, paper", "docs/trained/identity-map.md", "identity_map"),
        "results/paper/id-*.json",
        gpu="the paper's networks",
    ),
    _of_effects(
        *("identity map, small", "docs/trained/identity-map.md", "identity_map"),
        "empirical/identity_map/[a-z]*.py",
        quick="14 x 14",
    ),
    _of_effects(
        *("square loss", "docs/trained/square-loss.md", "square_loss"),
        *("results/full/sl-*.json", "empirical/square_loss/[a-z]*.py"),
        quick="small",
        full="full",
    ),
    _of_networks(
        *("square loss, ends at its size", "docs/trained/square-loss.md"),
        ("experiment", "start", "networks", "fit", "training errors, %", *_ENDS),
        ("results/paper/runs/bn-*.json", "results/paper/runs/none.json"),
        *("norms", "paper"),
        words=2,
    ),
    _of_effects(
        *("square loss, paper", "docs/trained/square-loss.md", "square_loss"),
        "results/paper/sl-*.json",
        gpu="of the paper's size",
    ),
    _of_effects(
        *("learned starts, small", "docs/trained/mmd-init.md", "mmd_init"),
        "empirical/mmd_init/[a-z]*.py",
        quick="from He's starts",
    ),
    _of_effects(
        *("learned starts, full", "docs/trained/mmd-init.md", "mmd_init"),
        "results/full/mmd-*.json",
        full="eight starts of each law",
    ),
    _of_effects(
        *("learned starts, paper", "docs/trained/mmd-init.md", "mmd_init"),
        "results/paper/mmd-*.json",
        gpu="paper's network",
    ),
    *(
        Table(
            name=f"alike, {scale}",
            document="docs/calibration-full.md",
            head=("claim", "tried", "told apart", "networks", "one arrangement, %"),
            sources=(
                f"results/{scale}/runs/*.json",
                "verify/alike.py",
                "verify/compare/contrast.py",
            ),
            measure=partial(_alike, profile),
            words=2,
        )
        for scale, profile in (("full", "full"), ("paper", "gpu"))
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Refresh tables, all by default; or say which are older than what they are of."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [table.name for table in TABLES]
    text = "tables, by name (default: all)"
    parser.add_argument("names", nargs="*", metavar="NAME", help=text)
    parser.add_argument("--check", action="store_true", help="only say which are old")
    options = parser.parse_args(argv)
    if unknown := set(options.names) - set(names):
        # Many a name has a comma and blanks.
        known = ", ".join(f'"{name}"' for name in names)
        parser.error(f'NAME must be one of {known}, got "{unknown.pop()}"')
    old = 0
    for table in TABLES:
        if options.names and table.name not in options.names:
            continue
        if not options.check:
            table.refresh()
        elif not table.file.exists():
            old += 1
            sys.stdout.write(f"{table.name}: never measured\n")
        elif table.kept()["digest"] != table.digest:
            old += 1
            sys.stdout.write(
                f"{table.name}: {' or '.join(table.sources)} has changed\n"
            )
    if not options.check:
        for page in documents():
            text = page.read_text(encoding="utf-8")
            page.write_text(quotes().filled(text), encoding="utf-8")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
