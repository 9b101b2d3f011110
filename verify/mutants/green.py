"""Whether a claim is green with the code as it is, asked in a child."""

import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verify.claim import Claim


def is_green(claim: "Claim") -> bool:
    """Whether a run of the claim is green; it stops at the first case that is not."""
    from verify.compare import Outcome
    from verify.judging import control_of, judge, outcome_of
    from verify.search import search

    cases: list[Any] = []
    holds = (Outcome.HOLDS, Outcome.VACUOUS)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for case in claim.cases:
            cases.append(found := judge(claim, case))
            if claim.expected is Outcome.HOLDS and found.outcome not in holds:
                return False
        searched = search(claim) if claim.examples is not None else None
    passed, _ = control_of(claim, cases, searched)
    return passed and outcome_of(cases, searched) is claim.expected
