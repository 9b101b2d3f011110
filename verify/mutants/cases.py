"""One case of a claim, or its search, asked alone, and what follows for the claim.

A claim is judged by all its cases: its outcome is the worst of theirs, and its control
must be refuted in some of them. Where only some are run, the others are taken to be as
they were without a mutation, or as they ought to be.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verify.claim import Claim
    from verify.records import CaseRecord

SEARCH = -1
"""The number of a claim's search for counterexamples; cases are numbered from 0."""


@dataclass(frozen=True)
class Said:
    """What a case says: its outcome, and its control's, empty where it has none."""

    outcome: str
    control: str


def numbers(claim: "Claim") -> list[int]:
    """Return the numbers of a claim's cases, and of its search, which comes last."""
    return [*range(len(claim.cases)), *([] if claim.examples is None else [SEARCH])]


def ask(claim: "Claim", number: int) -> Said:
    """Run one case of a claim, or its search, as the ledger does."""
    from verify.judging import judge, strict
    from verify.search import search

    with strict():
        if number != SEARCH:
            found = judge(claim, claim.cases[number])
            return Said(found.outcome.value, found.control)
        searched = search(claim)
    return Said(searched.outcome.value, searched.closest.control)


def is_green(claim: "Claim", said: Mapping[int, Said]) -> bool:
    """Whether a claim is green by what its cases say, by number.

    A case that is not among them is taken to be as the claim expects it, its control
    included: what was not asked speaks against no claim.
    """
    from verify.compare import Outcome
    from verify.judging import concluded
    from verify.records import SearchRecord

    holds, refuted = Outcome.HOLDS.value, Outcome.REFUTED.value
    expects_truth = claim.expected is Outcome.HOLDS
    best = Said(holds, refuted) if expects_truth else Said(refuted, holds)
    cases = [_record(said.get(n, best)) for n in range(len(claim.cases))]
    searched = None
    if claim.examples is not None:
        closest = _record(said.get(SEARCH, best))
        searched = SearchRecord(examples=1, closest=closest, seconds=0.0)
    return concluded(claim, cases, searched)["green"]


def _record(said: Said) -> "CaseRecord":
    from verify.compare import Outcome
    from verify.records import CaseRecord

    return CaseRecord(case={}, outcome=Outcome(said.outcome), control=said.control)
