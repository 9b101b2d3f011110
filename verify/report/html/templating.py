"""The page's templates and the filters that they use."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from empirical.digest import ROOT
from verify import references
from verify.claim import FAULTS
from verify.items import papers
from verify.records import CaseRecord, Record, badness
from verify.report import functions, numbers
from verify.report.html import markup
from verify.report.rows import Row
from verify.report.text import briefly

WIDE = 24
"""Letters of a value that stands beside others."""
SHOWN_CASES = 3
"""So many cases of a claim are shown, the worst; its record has the others."""

COLOURS: Mapping[str, str] = {
    "hold": "holds",
    "hold, loosely": "loose",
    **dict.fromkeys(FAULTS, "refuted"),
    "undecided": "undecided",
    "not as expected": "bad",
    "in error": "bad",
    "open": "open",
}


@cache
def templates() -> Environment:
    """Return the templates: everything is escaped that is not marked as markup."""
    environment = Environment(
        loader=PackageLoader("verify.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[..., Any]] = {
        "again": functions.again,
        "anchor": markup.anchor,
        "arguments": markup.arguments,
        "cited": references.short_citation,
        "origin": references.origin,
        "colour": lambda name: COLOURS.get(name, "pending"),
        "control": _control,
        "dressed": markup.text,
        "formula": markup.formula,
        "effect": lambda row: "" if numbers.is_alone(row) else _effect(row),
        "gap": numbers.gap_of,
        "kind": lambda row: row.kind,
        "link": lambda row: f"#{markup.anchor(row.claim.id)}",
        "local": _local,
        "measured": _measured,
        "own_paper": _own_paper,
        "predicted": _predicted,
        "reason": lambda row: "\n".join(briefly(row)),
        "resolves": numbers.resolves_of,
        "tried": _tried,
        "unit": lambda row: f" {functions.unit(row.claim)}".rstrip(),
        "wide": lambda shown: len(shown) > WIDE,
        # Of places outside the page, where there are any.
        "hint": _nothing,
        "next_cases": _next_cases,
        "record_link": _nothing,
    }
    environment.filters.update(filters)
    return environment


def _effect(of: Row | CaseRecord) -> str:
    unit = "" if isinstance(of, CaseRecord) else functions.unit(of.claim)
    return numbers.effect_of(of, unit)


def _predicted(of: Row | CaseRecord) -> str:
    """Return what was predicted; of a proof the formulas."""
    case = of.worst if isinstance(of, Row) else of
    proved = numbers.expressions_of(case.predicted, case) if case else ()
    if proved:
        return Markup("").join(map(markup.formula, proved))
    unit = functions.unit(of.claim) if isinstance(of, Row) else ""
    value = numbers.predicted_of(of)
    return f"{value} {unit}".rstrip() if value else ""


def _measured(of: Row | CaseRecord) -> str:
    """Return what was measured, of an arm alone with its interval."""
    if numbers.is_alone(of):
        return _effect(of)
    case = of.worst if isinstance(of, Row) else of
    found = numbers.measured_of(of)
    if case is None or case.unit != "exact":
        return found
    proved = numbers.expressions_of(case.measured, case)
    if case.gap == 0.0 and (proved or len(found) > WIDE):
        return "the same"
    return Markup("").join(map(markup.formula, proved)) or found


def _local(traceback: str) -> str:
    """Name files by their place in the project, not on the machine that ran them."""
    return traceback.strip().replace(f"{ROOT}/", "")


def _control(row: Row) -> Markup:
    """Say what a claim would have caught, or what corrects a false one."""
    kind, words = functions.control(row.claim)
    found = "not run yet"
    if row.record is not None:
        found = functions.tried(row.claim, row.record).removeprefix("refuted ")
    line = Markup("<dt>{}</dt><dd><i>{}</i> ({})")
    return line.format(kind.capitalize(), markup.text(words), found)


def _nothing(_: Row) -> str:
    return ""


def _own_paper(row: Row) -> bool:
    """Whether a claim's source is the paper under whose heading it stands."""
    keys = {paper.prefix: paper.key for paper in papers()}
    return row.claim.source.key == keys[row.claim.paper]


def _next_cases(record: Record, shown: int) -> list[CaseRecord]:
    """Return the cases that are worst but for the one that is shown by itself."""
    worst, cases = record.worst, sorted(record.cases, key=badness, reverse=True)
    return [case for case in cases if case is not worst][: shown - 1]


def _tried(case: CaseRecord) -> str:
    """Return what the control predicted of a case, and what became of it."""
    if not case.control:
        return ""
    other = replace(case, predicted=case.control_predicted)
    return f"{numbers.predicted_of(other)}: {case.control}"
