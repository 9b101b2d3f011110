"""What follows from the numbers of a run, when it runs and when its record is read."""

import errno
import sys
import time
import traceback
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import replace
from functools import cache
from os import fsdecode
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

from verify import records
from verify.claim import Case, Claim, NotLearnt, Profile
from verify.compare import (
    AgreesTo,
    AtLeast,
    AtMost,
    Comparison,
    Identical,
    MeanTest,
    Outcome,
)
from verify.records import CaseRecord, Record, RecordError, SearchRecord
from verify.trained import NotTrained


@contextmanager
def strict() -> Generator[None]:
    """Make an overflow or an invalid operation an error of the claim, not a remark.

    What it sets of NumPy's handling of errors and mpmath's precision ends with it.
    """
    with warnings.catch_warnings(), np.errstate(), mpmath.workprec(mpmath.mp.prec):
        warnings.simplefilter("error", RuntimeWarning)
        yield


_unread: ContextVar[str] = ContextVar("unread", default="")


@contextmanager
def unread(claim: Claim) -> Generator[None]:
    """Make it an error to read a claim's record: it says what was measured."""
    _audited()
    token = _unread.set(records.path_of(claim.id, Path()).name)
    try:
        yield
    finally:
        _unread.reset(token)


@cache
def _audited() -> None:
    sys.addaudithook(_opened)


def _opened(event: str, given: Any) -> None:
    name = _unread.get() if event == "open" else ""
    if name and not isinstance(given[0], int) and fsdecode(given[0]).endswith(name):
        raise PermissionError(f"{name}: a prediction must not read what was measured")


def judged(
    compare: Comparison, predicted: Any, measured: Any, *, where: CaseRecord
) -> CaseRecord:
    """Return a case with both sides and the verdict on them."""
    verdict = compare.judge(predicted, measured)
    return replace(
        where,
        predicted=records.encode(predicted),
        measured=records.encode(measured),
        **vars(verdict),
    )


def judge(claim: Claim, case: Case) -> CaseRecord:
    """Predict, measure and compare one case; try the control on the same measurement.

    Networks that have not learnt what the claim presupposes decide nothing.

    Raises
    ------
    MemoryError, OSError
        What is the machine's fault is no verdict on the claim.
    """
    assert claim.predict is not None
    assert claim.measure is not None
    assert claim.compare is not None
    start = time.process_time()
    blank = CaseRecord(case=records.encode(case), outcome=Outcome.ERROR)
    try:
        # Of its own: one that sorts a list would sort it for the others.
        with unread(claim):
            predicted = claim.predict(**deepcopy(case))
        measured = claim.measure(**deepcopy(case))
        found = judged(claim.compare, predicted, measured, where=blank)
        if has_control(claim, found.outcome):
            holds = claim.expected is Outcome.HOLDS
            control = claim.must_refute if holds else claim.must_hold
            assert control is not None
            with unread(claim):
                other = control(**deepcopy(case))
            found = replace(
                found,
                control=_tried(claim, predicted, other, measured).value,
                control_predicted=records.encode(other),
            )
    except NotLearnt as error:
        found = replace(blank, outcome=Outcome.UNDECIDED, error=str(error))
    except NotTrained as error:
        found = replace(blank, error=str(error))
    except Exception as error:
        if _is_of_the_machine(error):
            raise
        found = replace(blank, error=traceback.format_exc())
    return replace(found, seconds=round(time.process_time() - start, 4))


_NUMBERS = (AgreesTo, AtLeast, AtMost, MeanTest)


def _tried(claim: Claim, predicted: Any, control: Any, measured: Any) -> Outcome:
    """Return what becomes of a control on a case.

    A wrong prediction says nothing where the claim's own bound says nothing. The mirror
    image of a number is refuted by anything but zero, and what is no list where one is
    predicted, by any list: they say nothing either.
    """
    compare = claim.compare
    assert compare is not None
    if claim.expected is not Outcome.HOLDS:
        return compare.judge(control, measured).outcome
    if isinstance(compare, _NUMBERS) and _mirrored(predicted, control):
        return Outcome.VACUOUS
    if isinstance(compare, Identical) and _form(predicted) is not _form(control):
        return Outcome.VACUOUS
    if isinstance(compare, AtLeast | AtMost):
        control = compare.telling(predicted, control)
    return compare.judge(control, measured).outcome


def _mirrored(predicted: Any, control: Any) -> bool:
    p, c = (np.asarray(side, dtype=np.float64) for side in (predicted, control))
    return p.shape == c.shape and bool(np.any(p != 0.0) and np.all(c == -p))


def _form(side: Any) -> type:
    """Return whether JSON has a side as a list, as an object, as nothing or otherwise."""
    kind = type(records.encode(side))
    return kind if kind in (list, dict, type(None)) else object


EXHAUSTED = (
    *(errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS),
    *(errno.EMFILE, errno.ENFILE),
)
"""What the operating system says when memory, a disk or its files are exhausted."""


def _is_of_the_machine(error: Exception) -> bool:
    """Whether memory or a disk failed; PyTorch says so in words."""
    if isinstance(error, OSError):
        return error.errno in EXHAUSTED
    words = ("out of memory", "can't allocate memory", "not enough memory")
    said = isinstance(error, RuntimeError) and any(w in str(error) for w in words)
    return isinstance(error, MemoryError) or said


def has_control(claim: Claim, outcome: Outcome) -> bool:
    """Whether a case of this outcome is one to try the control on."""
    return claim.expected is Outcome.HOLDS or outcome is Outcome.REFUTED


def outcome_of(cases: Sequence[CaseRecord], search: SearchRecord | None) -> Outcome:
    """Return the worst outcome; vacuous only where every case is."""
    found = [case.outcome for case in cases]
    return records.worst_outcome(found if search is None else [*found, search.outcome])


def control_of(
    claim: Claim, cases: Sequence[CaseRecord], search: SearchRecord | None
) -> tuple[bool, str]:
    """Return whether the control did what it must, and what happened in words."""
    did, telling = tried(claim, cases, search)
    if claim.expected is Outcome.HOLDS:
        return did > 0, f"a wrong prediction was refuted in {did} of {telling} cases"
    words = (
        f"refuted in {telling} cases, and the corrected statement holds in"
        f" {did} of them"
    )
    return 0 < telling == did, words


def concluded(
    claim: Claim, cases: Sequence[CaseRecord], search: SearchRecord | None
) -> dict[str, Any]:
    """Return the fields of a record that follow from its cases and its search."""
    outcome = outcome_of(cases, search)
    passed, control = control_of(claim, cases, search)
    return {
        "outcome": outcome,
        "green": passed and outcome is claim.expected,
        "control": control,
        "control_passed": passed,
    }


def tried(
    claim: Claim, cases: Sequence[CaseRecord], search: SearchRecord | None
) -> tuple[int, int]:
    """Return in how many cases the control did what it must, and of how many.

    A wrong prediction must be refuted where the claim itself says something (`_tried`):
    where its bound is vacuous, another that is refuted tells nothing. A corrected one
    must hold where the statement is refuted.
    """
    if claim.expected is Outcome.HOLDS:
        telling = [case for case in cases if case.outcome is not Outcome.VACUOUS]
        return sum(c.control == Outcome.REFUTED for c in telling), len(telling)
    refuted = [case for case in cases if case.outcome is Outcome.REFUTED]
    if search is not None and search.outcome is Outcome.REFUTED:
        refuted.append(search.closest)
    return sum(case.control == Outcome.HOLDS for case in refuted), len(refuted)


def derived(claim: Claim, record: Record) -> Record:
    """Return the record with all that follows from its numbers derived again."""
    cases = tuple(_again(claim, case) for case in record.cases)
    search = record.search
    if search is not None:
        search = replace(search, closest=_again(claim, search.closest))
    found = concluded(claim, cases, search)
    return replace(record, cases=cases, search=search, **found)


def checked(claim: Claim, record: Record, profile: Profile) -> Record:
    """Return a current record once what it says follows from its numbers.

    Raises
    ------
    RecordError
        If it is of another claim, profile, comparison or other cases, or says of
        itself what does not follow from its numbers.
    """
    said: dict[str, tuple[Any, Any]] = {
        "claim": (record.claim, claim.id),
        "profile": (record.profile, profile.value),
        "comparison": (record.comparison, type(claim.compare).__name__),
        "cases": (
            [case.case for case in record.cases],
            [records.encode(case) for case in claim.cases_for(profile)],
        ),
        "search": (
            record.search is not None and record.search.examples > 0,
            claim.examples is not None,
        ),
    }
    with strict():
        true = derived(claim, record)
    said |= {
        name: (getattr(record, name), getattr(true, name))
        for name in ("outcome", "green", "control", "control_passed")
    }
    said["outcomes"] = (_outcomes(record), _outcomes(true))
    wrong = [name for name, (mine, wanted) in said.items() if mine != wanted]
    if wrong:
        raise RecordError(
            f"{claim.id}: the record's {', '.join(wrong)} must follow from the claim and"
            " the record's numbers, and differs; run the claim again"
        )
    return true


def _outcomes(record: Record) -> list[tuple[Outcome, str]]:
    found = [(case.outcome, case.control) for case in record.cases]
    if record.search is not None:
        closest = record.search.closest
        found.append((closest.outcome, closest.control))
    return found


def _again(claim: Claim, case: CaseRecord) -> CaseRecord:
    """Judge a recorded case again; an error, and what decides nothing, stays as it is."""
    untried = case.outcome is Outcome.UNDECIDED and case.measured is None
    if case.outcome is Outcome.ERROR or untried:
        return case
    assert claim.compare is not None
    try:
        measured = records.decode(case.measured)
        predicted = records.decode(case.predicted)
        verdict = claim.compare.judge(predicted, measured)
        control = ""
        if has_control(claim, verdict.outcome):
            other = records.decode(case.control_predicted)
            control = _tried(claim, predicted, other, measured).value
    except Exception:  # the comparison's of what is no measurement of its kind
        return replace(case, outcome=Outcome.ERROR, error=traceback.format_exc())
    return replace(case, **vars(verdict), control=control, error="")
