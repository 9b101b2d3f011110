"""One case of a claim, or its search, asked alone, and what follows for the claim.

A claim is judged by all its cases: its outcome is the worst of theirs, its control must
be refuted in some of them, and a bound is loose if it is so in each. Where only some are
run, the others are taken to be as they were without a mutation, or as they ought to be.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verify.claim import Claim
    from verify.records import CaseRecord

SEARCH = -1
"""The number of a claim's search for counterexamples; cases are numbered from 0."""


UNKNOWN = 0.0
"""In the place of a slack, which is at least one."""


@dataclass(frozen=True)
class Said:
    """What a case says: its outcome, and its control's, empty where it has none.

    And the slack of a bound, absent where there is none.
    """

    outcome: str
    control: str
    slack: float | None = UNKNOWN


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
            return Said(found.outcome.value, found.control, found.slack)
        searched = search(claim)
    closest = searched.closest
    return Said(searched.outcome.value, closest.control, closest.slack)


def is_green(claim: "Claim", said: Mapping[int, Said]) -> bool:
    """Whether a claim is green by what its cases say, by number.

    A case that is not among them is taken to be as the claim expects it, its control
    included: what was not asked speaks against no claim. Nor does a bound while a case is
    left in which it might be tight.
    """
    from verify.compare import Outcome
    from verify.judging import concluded
    from verify.records import SearchRecord
    from verify.report.rows import is_loose, least_slack

    holds, refuted = Outcome.HOLDS.value, Outcome.REFUTED.value
    expects_truth = claim.expected is Outcome.HOLDS
    best = Said(holds, refuted) if expects_truth else Said(refuted, holds)
    cases = [_record(said.get(n, best)) for n in range(len(claim.cases))]
    searched = None
    if claim.examples is not None:
        closest = _record(said.get(SEARCH, best))
        searched = SearchRecord(examples=1, closest=closest, seconds=0.0)
    if not concluded(claim, cases, searched)["green"]:
        return False
    least = least_slack(cases, searched)
    return least == UNKNOWN or is_loose(claim, least) is claim.loose


def _record(said: Said) -> "CaseRecord":
    from verify.compare import Outcome
    from verify.records import CaseRecord

    return CaseRecord(
        case={},
        outcome=Outcome(said.outcome),
        control=said.control,
        slack=said.slack,
    )
