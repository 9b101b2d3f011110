"""Numbers in documents come from files that a command wrote, and are not out of date."""

import dataclasses
import importlib
import re
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from pages import effects, networks, quotes, tables
from pages.tables import TABLES, Table

from empirical.testbed.records import Draw, Draws, RunRecord
from verify.claim import Claim, Evidence
from verify.compare import Outcome
from verify.ledger import load
from verify.records import CaseRecord

AGAIN = "`python docs/pages/tables.py {}` measures it again"


SHOWN = [table for table in TABLES if table.document]


@pytest.mark.parametrize("table", SHOWN, ids=[table.name for table in SHOWN])
def test_a_document_says_what_was_measured(table: Table) -> None:
    text = (tables.ROOT / table.document).read_text(encoding="utf-8")
    found = table.block().search(text)
    assert found is not None, f"{table.document} has no place for {table.name}"
    assert found[2] == table.markdown() + "\n", AGAIN.format(table.name)


@pytest.mark.parametrize("table", TABLES, ids=[table.name for table in TABLES])
def test_numbers_are_not_older_than_what_they_are_of(table: Table) -> None:
    assert table.kept()["digest"] == table.digest, AGAIN.format(table.name)


@pytest.mark.parametrize("page", sorted({table.document for table in SHOWN}))
def test_a_page_names_the_command_of_its_tables(page: str) -> None:
    text = (tables.ROOT / page).read_text(encoding="utf-8")
    assert "docs/pages/tables.py" in text


def test_published_records_take_no_more_than_was_asked_for() -> None:
    folders = (tables.ROOT / "results" / scale for scale in ("full", "paper"))
    sizes = [p.stat().st_size for each in folders for p in each.rglob("*.json")]
    assert sum(sizes) < 20_000_000


TYPED = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
WRITTEN = re.compile(r"<!-- (.*): start -->.*?<!-- \1: end -->", re.DOTALL)
DATED = re.compile(r"\b\d{1,2} [A-Z][a-z]+ 20\d\d\b")


def typed_without_date(text: str) -> list[str]:
    """Return the headings of tables of measured numbers that nothing tells the age of.

    Protocols and promises state limits, which are typed.
    """
    found: list[str] = []
    for section in re.split(r"^#", WRITTEN.sub("", text), flags=re.MULTILINE):
        for table in TYPED.finditer(section):
            head, rule, *lines = table[0].splitlines()
            limits = "smallest effect" in head or "error |" in head
            # Words stand to the left, numbers to the right.
            numbers = "--:" in rule and any(re.search(r"\d\.\d", n) for n in lines)
            measured = numbers or any("±" in line for line in lines)
            if measured and not limits and not DATED.search(section):
                found.append(head)
    return found


def test_measured_numbers_are_written_by_a_command_or_dated() -> None:
    pages = tables.documents()
    assert len(pages) > 25
    found = {
        str(page.relative_to(tables.ROOT)): heads
        for page in pages
        if (heads := typed_without_date(page.read_text(encoding="utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize("page", tables.documents(), ids=lambda page: page.name)
def test_sentences_say_what_was_measured(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == tables.quotes().filled(text), AGAIN.format("")
    # Markdown takes a line that begins so for a block of HTML.
    assert not re.search(r"^\s*<!--= ", text, re.MULTILINE)


FENCED = re.compile(r"^```.*?^```|^\$\$.*?^\$\$|^\|.*?$", re.DOTALL | re.MULTILINE)
ASIDE = re.compile(r"`[^`]*`|\$[^$]*\$|\[[^]]*\]\([^)]*\)")
NUMBER = re.compile(
    r"(?<![\w.,])[−-]?(?:\d[\d,]*\.\d+(?:e[−-]?\d+)?|\d[\d,]*(?= ±| %)|\d{1,3}(?= points))"
)
NAMED = re.compile(r"\b(?:Theorems?|Python) [A-Z]?\.?[\d.]+(?:(?: and| to) [\d.]+)*")
EXAMPLES = re.compile(r"^```pycon\n(.*?)^```", re.DOTALL | re.MULTILINE)
LIMITS = ("Protocol", "At the small scale", "How accurate", "What is promised")
SETTINGS: Mapping[str, set[str]] = {
    "README.md": {"0.99", "0.01", "3.0"},
    "accuracy.md": {"0.9", "0.25", "1.7e-16"},
    # What the identity map would have there.
    "at-full-size.md": {"0.5", "0.28"},
    "depth-not-half-of-it.md": {"5"},
    # Levels, and the paper's table 5.
    "mmd-init.md": {"95", "0.01", "1.6", "5.5", "0.5", "0.4"},
    "normrelu.md": {"0.1", "1.4", "0.5"},
    "one-image.md": {"0.1"},
    "phases.md": {"0.9", "-0.1"},
    "rates-that-bound-widths.md": {"0.9", "0.1", "0.01"},
    "square-loss.md": {"0.01", "0.1", "0.5", "0.001"},
}
"""Settings of runs, limits and a paper's own numbers, by page."""


def typed_numbers(text: str) -> list[str]:
    """Return numbers of sentences that no table, no example and no date stands behind.

    What an example of the page prints may be said again, with fewer digits.
    """
    printed = [
        float(number.replace(",", "").replace("−", "-"))
        for example in EXAMPLES.findall(text)
        for line in example.splitlines()
        if not line.startswith((">>>", "..."))
        for number in re.findall(r"-?\d[\d,]*\.?\d*(?:e[+-]?\d+)?", line)
    ]
    found: list[str] = []
    plain = FENCED.sub("", quotes.QUOTED.sub("", WRITTEN.sub("", text)))
    for section in re.split(r"^#+ ", plain, flags=re.MULTILINE):
        title, _, body = section.partition("\n")
        if title.startswith(LIMITS):
            continue
        for paragraph in body.split("\n\n"):
            if DATED.search(paragraph):
                continue
            for number in NUMBER.findall(NAMED.sub("", ASIDE.sub("", paragraph))):
                value = float(number.replace(",", "").replace("−", "-"))
                if not any(_rounds_to(exact, value, number) for exact in printed):
                    found.append(number)
    return found


def _rounds_to(exact: float, value: float, number: str) -> bool:
    """Tell whether a printed number is the typed one to the typed one's digits."""
    digits = re.sub(r"e.*|[^\d]", "", number).lstrip("0")
    return float(f"{exact:.{max(len(digits), 1)}g}") == value


@pytest.mark.parametrize("page", tables.documents(), ids=lambda page: page.name)
def test_numbers_of_sentences_come_from_somewhere(page: Path) -> None:
    found = typed_numbers(page.read_text(encoding="utf-8"))
    assert set(found) <= SETTINGS.get(page.name, set()), AGAIN.format("")


def test_a_typed_number_is_found() -> None:
    assert typed_numbers("# Speed\n\nIt takes 0.5 s, 3 ± 1 or 4 %.") == [
        "0.5",
        "3",
        "4",
    ]
    assert typed_numbers("# Speed\n\nOn 1 May 2026 it took 0.5 s.") == []
    assert typed_numbers("# Protocol\n\nRates of 0.5.") == []
    quoted = "<!--= speed; all -->0.5<!--/-->"
    assert typed_numbers(f"# Speed\n\nIt takes {quoted} s (Theorem 3.4).") == []
    example = "```pycon\n>>> 0.25 * 2.01\n0.5025\n\n```\n"
    assert typed_numbers(f"# Speed\n\nAbout 0.5, 0.50 or 0.25.\n\n{example}") == [
        "0.25"
    ]


def measured_numbers(claim: Claim) -> list[str]:
    """Return numbers of a finding, or of why there is none, that are not the claim's own.

    Its own are those of what it says and of what it tries.
    """
    own = (claim.title, claim.statement, claim.assumptions)
    tried = (claim.cases, *claim.larger_cases.values())
    known = {float(number) for number in re.findall(r"\d+\.?\d*", f"{own} {tried}")}
    # Of documents, a bare power of ten is a tolerance.
    said = f"{claim.finding} {claim.open_reason}"
    powers = re.findall(r"(?<![\w.])\d+e-?\d+", said)
    found = typed_numbers(f"\n{said}") + powers
    return [n for n in found if float(n.strip("-−").replace(",", "")) not in known]


def test_findings_on_training_leave_numbers_to_records() -> None:
    """The claim's card shows them, at every scale; a typed one would not follow."""
    on_training = [
        claim
        for claim in load()
        if claim.evidence is Evidence.TREND or claim.runs is not None
    ]
    assert len(on_training) > 100
    found = {c.id: typed for c in on_training if (typed := measured_numbers(c))}
    assert found == {}, "say in words what records show in numbers"


def test_a_measured_number_of_a_finding_is_found() -> None:
    (claim,) = (c for c in load() if c.id == "sl/Fig4")
    of = dataclasses.replace
    said = "Margins differ by 0.02 ± 0.01, 1.9 %, 5e-4 or 3 points of the 0.1 allowed."
    assert measured_numbers(of(claim, finding=said)) == [
        *("0.02", "0.01", "1.9", "3", "5e-4")
    ]
    assert measured_numbers(of(claim, finding="Of 500 digits, see sl/eq5b.")) == []


def test_a_typed_table_without_a_date_is_found() -> None:
    table = "| what | s |\n| --- | ---: |\n| all | 0.5 |\n"
    assert typed_without_date(f"# Speed\n\n{table}") == ["| what | s |"]
    assert typed_without_date(f"On 1 May 2026.\n\n# Speed\n\n{table}") != []
    assert typed_without_date(f"# Speed\n\nOn 1 May 2026.\n\n{table}") == []
    written = f"<!-- x: start -->\n{table}<!-- x: end -->\n"
    assert typed_without_date(f"# Speed\n\n{written}") == []
    assert (
        typed_without_date("| claim | smallest effect |\n| --- | --- |\n| a | 0.5 |")
        == []
    )


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    """A table of one number, which a file holds."""
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "code.py").write_text("7")
    (tmp_path / "page.md").write_text(
        "before\n<!-- toy: start -->\n<!-- toy: end -->\nafter\n"
    )
    made = Table(
        name="toy",
        document="page.md",
        head=("what", "number"),
        sources=("*.py",),
        measure=lambda: [["seven", (tmp_path / "code.py").read_text()]],
    )
    monkeypatch.setattr(tables, "TABLES", (made,))
    return made


def test_a_table_is_measured_written_and_goes_out_of_date(
    toy: Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tables.main([]) == 0
    page = (tmp_path / "page.md").read_text()
    assert page.startswith("before\n<!-- toy: start -->\n| what | number |\n")
    assert page.endswith("| seven | 7 |\n<!-- toy: end -->\nafter\n")
    assert tables.main(["--check"]) == 0
    (tmp_path / "code.py").write_text("8")
    assert tables.main(["--check", "toy"]) == 1
    assert capsys.readouterr().out == "toy: *.py has changed\n"
    assert tables.main(["toy"]) == 0
    assert "| seven | 8 |" in (tmp_path / "page.md").read_text()


def test_a_table_that_there_is_not_is_answered_with_names_to_copy(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="2"):
        tables.main(["--check", "seen"])
    said = capsys.readouterr().err
    assert all(f'"{table.name}"' in said for table in TABLES)


def test_a_table_keeps_what_no_record_is_here_to_say_again(
    toy: Table, tmp_path: Path
) -> None:
    toy.refresh()
    before = toy.file.read_text(), (tmp_path / "page.md").read_text()
    for rows in ([], [["seven", "no record"]]):
        less = dataclasses.replace(toy, measure=lambda rows=rows: rows)
        with pytest.raises(LookupError, match=r"toy: less was found than .* missing"):
            less.refresh()
    assert (toy.file.read_text(), (tmp_path / "page.md").read_text()) == before
    toy.file.unlink()
    dataclasses.replace(toy, measure=lambda: [["seven", "no record"]]).refresh()
    assert "| seven | no record |" in (tmp_path / "page.md").read_text()


def test_versions_of_the_project_make_nothing_old(toy: Table, tmp_path: Path) -> None:
    project = tmp_path / "pyproject.toml"
    text = 'version = "{}"\ndependencies = [{}]\n[dependency-groups]\nx = 1\n'
    of = dataclasses.replace(toy, sources=("pyproject.toml",))
    project.write_text(text.format("1", "'numpy'"))
    first = of.digest
    project.write_text(text.format("2", "'numpy'"))
    assert of.digest == first
    project.write_text(text.format("2", "'scipy'"))
    assert of.digest != first


def test_pins_of_tools_do_not_age_what_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    (tmp_path / "pyproject.toml").write_text(
        'dependencies = ["numpy>=2"]\n[dependency-groups]\ntest = ["pytest"]\n'
    )
    extras = next(table for table in TABLES if table.name == "extras")
    pins, found = tmp_path / "constraints.txt", []
    for text in ("numpy==2.0\n", "numpy==2.0\npytest==9\n", "numpy==2.1\n"):
        pins.write_text(text)
        found.append(extras.digest)
    assert found[0] == found[1] != found[2]


def _effect(treated: list[float], resolves: float, **more: object) -> CaseRecord:
    arms = {"treated": treated, "baseline": [0.0] * len(treated)}
    return CaseRecord(
        case={}, measured=arms, resolves=resolves, **({"outcome": Outcome.HOLDS} | more)
    )


def test_effects_are_read_from_records(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = (
        _effect([1.0, 2.0], 0.25, predicted=[0.5, None]),
        _effect([-0.25], 1.0, predicted=[None, -0.5], outcome=Outcome.UNDECIDED),
    )
    found = {
        "full": SimpleNamespace(cases=cases),
        "quick": None,
    }
    monkeypatch.setattr(effects, "_record", lambda _name, folder: found[folder.name])
    words = {"sl/Fig1": "what it is"}
    assert effects.effects(words, Path(), "quick", "full") == [
        [
            *("`sl/Fig1`", "what it is", "at least 0.5; at most −0.5"),
            *("", "no record"),
            *("1.50 ± 0.25; −0.2 ± 1.0", "reproduced; undecided"),
        ]
    ]
    assert effects.effects(words, Path(), "quick") == []


def _run(folder: Path, name: str, *networks: Draw) -> None:
    record = RunRecord(
        configuration={"name": name},
        schema=1,
        device="cpu",
        code="0",
        facts={"rate": 0.01},
        draws=Draws(networks),
    )
    record.write(folder / f"{name}.json")


def test_what_networks_showed_is_read_from_the_records_of_runs(tmp_path: Path) -> None:
    own = [
        Draw(
            keys={"seed": seed, "lam": lam},
            arrays={"share": [0.1 * seed, lam], **({"late": [lam]} if lam else {})},
        )
        for lam in (0.0, 0.5)
        for seed in (1, 2, 3)
    ]
    _run(tmp_path, "one", *own)

    def last(_: RunRecord, draws: Draws) -> np.ndarray:
        return draws.series("share")[:, 0]

    lines = (
        networks.Line(("none",), "one", {"lam": 0.0}, (0.02, float("nan"), 0.25)),
        networks.Line(("half",), "one", {"lam": 0.5}),
    )
    columns = (
        networks.networks,
        networks.fact("rate"),
        networks.mean(last),
        networks.interval("late", last),
        networks.extent(last, centre=True),
        networks.start_and_end("share", digits=1),
    )
    assert networks.rows(lines, columns, tmp_path) == [
        [
            "none",
            "3 (0.02)",
            "0.01",
            "0.20 (0.2)",
            "",
            "0.20 (0.10 to 0.30)",
            "0.2 / 0.0",
        ],
        # t = 4.303 at two degrees of freedom, times 0.1 over the root of three.
        ["half", "3", "0.01", "0.20", "0.2 ± 0.2", "0.20 (0.10 to 0.30)", "0.2 / 0.5"],
    ]
    with pytest.raises(SystemExit, match=r"there is no record .*two\.json"):
        networks.rows((networks.Line(("two",), "two"),), columns, tmp_path)


def test_hard_cases_are_of_what_theory_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tables.ROOT / "benchmarks"))
    table = importlib.import_module("hard_cases.table")
    # Cases name the functions that they call.
    assert all(cases() for cases in table.GROUPS.values())
