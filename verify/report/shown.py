"""All that is to be said of one claim, as text: what ``python -m verify show`` prints."""

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from empirical.testbed.records import RunRecord
from verify import calibrated, records, references
from verify.claim import Case, Claim, Profile
from verify.paths import SCALES, Place, folder_of
from verify.report import functions, numbers
from verify.report.plain import formula
from verify.report.rows import NOT_RUN, STALE, Row
from verify.report.text import briefly

if TYPE_CHECKING:
    from verify.trained import Run

_LABEL = 15
"""Columns of what stands in front of a paragraph."""
_MOST = 8
"""So many values, or names of runs, are listed; of more, the first of them."""
_PROFILES = (Profile.QUICK, Profile.CERTIFY, Profile.FULL, Profile.GPU)


def describe(row: Row, root: Path, *, width: int = 80) -> str:
    """Return what a claim states, how it is tested, what came out and how to run it.

    Parameters
    ----------
    row : Row
    root : Path
        Folder with one of records for each profile: they tell what a profile costs.
    width : int
        Columns.
    """
    lines = textwrap.wrap(f"{row.claim.id}  {row.claim.title}", width)
    for label, text in _paragraphs(row, root):
        if not text:
            continue
        lines += textwrap.wrap(
            text,
            width,
            initial_indent=f"  {label:{_LABEL}}",
            subsequent_indent=" " * (_LABEL + 2),
            break_on_hyphens=False,
        )
    return "\n".join(lines) + "\n"


def _paragraphs(row: Row, root: Path) -> Iterator[tuple[str, str]]:
    claim = row.claim
    source = claim.source
    yield "statement", formula(claim.statement)
    yield "assuming", "; ".join(claim.assumptions)
    where = source.where.rstrip(".")
    yield "source", f"{references.full_citation(source.key)} {where}."
    yield "wording", f"{claim.reading.value}: {claim.reading.meaning}"
    yield "items", ", ".join(claim.items)
    yield "rests on", ", ".join(claim.uses)
    yield "finding", claim.finding
    if claim.compare is None:
        yield "open", claim.open_reason
        return
    kind = claim.evidence
    yield "evidence", f"{kind.value}; holds means: {kind.meaning}"
    yield "expected", claim.expected.value
    places = functions.places(claim)
    caught, words = functions.control(claim)
    control = places["must_refute" if caught != "corrected" else "must_hold"]
    for label, name in (("predicted by", "predict"), ("measured by", "measure")):
        said = functions.purpose(getattr(claim, name))
        place = places[name]
        yield label, place if _repeats(place, said) else f"{place}: {said}"
    for profile in _PROFILES:
        if _own(claim, profile):
            cases = claim.cases_for(profile)
            yield f"cases, {profile.value}", _cases(cases)
            yield "", _networks(claim.runs_for(profile))
    if claim.examples is not None:
        drawn = functions.drawn(claim)
        yield "searched", f"up to {claim.max_examples} more cases, {drawn}"
    yield "refuted if", claim.compare.criterion()
    yield (
        caught.removeprefix("would have "),
        control if _repeats(control, words) else f"{words}: {control}",
    )
    for profile in _PROFILES:
        if _own(claim, profile):
            yield f"cost, {profile.value}", _cost(claim, profile, root)
    yield from _outcomes(row)
    yield "redrawn", ", ".join(calibrated.redrawn(claim.id))
    yield "run it", functions.again(claim)


def _repeats(place: str, words: str) -> bool:
    """Whether what is said of a function's place starts with these words, or none."""
    return place.casefold().startswith(words.casefold())


def _own(claim: Claim, profile: Profile) -> bool:
    """Whether a profile has cases of its own."""
    if profile is Profile.QUICK:
        return bool(claim.cases)
    return bool(claim.larger_cases.get(profile.value))


def _cases(cases: Sequence[Case]) -> str:
    """Say which arguments the cases have, each with all its values."""
    axes: dict[str, list[str]] = {}
    for case in cases:
        for name, value in case.items():
            shown = functions.in_words(value)
            if shown not in axes.setdefault(name, []):
                axes[name].append(shown)
    told = [f"{name} = {_some(values)}" for name, values in axes.items()]
    return f"{_counted(len(cases), 'case')}{': ' if told else ''}{'; '.join(told)}"


def _some(values: Sequence[str]) -> str:
    more = len(values) - _MOST
    shown = ", ".join(values[:_MOST])
    return f"{shown} and {more} more" if more > 0 else shown


def _networks(runs: "Sequence[Run]") -> str:
    """Say at which trained networks the cases look: their runs, by name, with seeds."""
    if not runs:
        return ""
    names: list[str] = []
    for run in runs:
        seeds = run.configuration(Place()).seeds
        last = f" to {seeds[-1]}" if len(seeds) > 1 else ""
        names.append(f"{run.name} (seeds {seeds[0]}{last})")
    return f"they look at {_counted(len(runs), 'trained run')}: {_some(names)}"


def _cost(claim: Claim, profile: Profile, root: Path) -> str:
    """Say how long it took: the networks, as their records tell, and the check."""
    folder = folder_of(profile.value, root)
    here = Place(folder)
    # A claim without networks has no training to tell of.
    runs = claim.runs_for(profile)
    found = [RunRecord.read(run.path(here)) for run in runs]
    spent = [sum(each.seconds.values()) for each in found if each is not None]
    told: list[str] = []
    if spent:
        told.append(
            f"training of {len(spent)} of {_counted(len(runs), 'run')}, shared with other"
            f" claims, {_time(sum(spent))}"
        )
    elif runs:
        told.append(f"{_counted(len(runs), 'run')} to be trained, none has a record")
    seconds = records.seconds(claim, folder)
    told.append("not checked yet" if seconds is None else f"check {_time(seconds)}")
    return "; ".join(told)


def _time(seconds: float) -> str:
    if seconds < 120.0:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200.0 else f"{seconds / 3600:.1f} h"


def _outcomes(row: Row) -> Iterator[tuple[str, str]]:
    """Yield what each record says, the smallest scale first."""
    if row.record is None:
        yield "last record", "; ".join(("none: not run yet", *briefly(row)))
    for each in row.scales:
        record, worst = each.record, each.worst
        assert record is not None
        assert worst is not None
        where = f", {SCALES[record.profile]} scale" if row.claim.runs else ""
        told = [f"{record.made}, profile {record.profile}{where}: {each.verdict}"]
        if each.outcome == STALE:
            told.append("the claim's code has changed since")
        if each.outcome == NOT_RUN:
            told.append(each.remark)
        elif not each.settled:
            told += briefly(each)
        else:
            told.append(_worst(each))
        yield (
            "last record" if each is row else "published",
            "; ".join(filter(None, told)),
        )


def _worst(row: Row) -> str:
    """Say what was found in the case that is nearest to refutation."""
    case = row.worst
    if case is None or case.error:
        return ""
    unit = functions.unit(row.claim)
    measured = numbers.effect_of(case, unit) or numbers.measured_of(case)
    found = f"measured {measured}, predicted {numbers.predicted_of(case)}"
    at = ", ".join(f"{k} = {functions.in_words(v)}" for k, v in case.case.items())
    if len(row.record.cases if row.record else ()) > 1:
        return f"nearest to refutation at {at}: {found}"
    return found


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
