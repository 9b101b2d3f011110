"""Adversarial search: cases drawn by Hypothesis, driven towards refutation."""

import hashlib
import time
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from unittest.mock import patch

from verify import records
from verify.claim import Case, Claim
from verify.compare import Outcome
from verify.judging import judge
from verify.records import CaseRecord, SearchRecord


class _Refuted(Exception):
    """Carries a counterexample out of hypothesis, which shrinks it on the way."""

    def __init__(self, case: CaseRecord) -> None:
        super().__init__(str(case.case))
        self.case = case


def search(claim: Claim) -> SearchRecord:
    """Look for a counterexample among drawn cases, drawn towards refutation."""
    import hypothesis
    from hypothesis.errors import HypothesisException

    assert claim.examples is not None
    tried: list[CaseRecord] = []
    start = time.perf_counter()

    def attempt(case: Case) -> None:
        found = judge(claim, case)
        tried.append(found)
        if found.outcome is Outcome.ERROR:
            raise _Refuted(found)
        # Bounded: infinite strains carry no direction.
        hypothesis.target(min(max(found.strain, -1e9), 1e9), label="strain")
        if found.outcome is Outcome.REFUTED:
            raise _Refuted(found)

    run = _hypothesis(claim)(attempt)
    try:
        with _whatever_is_loaded():
            run()
    except _Refuted as refuted:
        return _searched(len(tried), refuted.case.outcome, refuted.case, start)
    except HypothesisException:
        # The strategy itself, or a measurement that differs from run to run.
        broken = CaseRecord(
            case={}, outcome=Outcome.ERROR, error=traceback.format_exc()
        )
        return _searched(len(tried), Outcome.ERROR, broken, start)
    outcome = records.worst_outcome(case.outcome for case in tried)
    closest = max(tried, key=records.badness)
    return _searched(len(tried), outcome, closest, start)


@contextmanager
def _whatever_is_loaded() -> Generator[None, None, None]:
    """Draw the same examples whatever modules are loaded.

    Hypothesis also tries numbers that it reads in the modules of a checkout, those that
    happen to be loaded: a worker's examples would be others than the report's, and an
    installed ledger's others again. Versions before 6.131 read none.
    """
    from hypothesis.internal.conjecture import providers

    own = "_get_local_constants"
    if not hasattr(providers, own):
        yield
        return
    # What is remembered of them, too.
    providers.CONSTANTS_CACHE.cache.clear()
    with patch.object(providers, own, providers.Constants):
        yield
    providers.CONSTANTS_CACHE.cache.clear()


def _searched(
    examples: int, outcome: Outcome, closest: CaseRecord, start: float
) -> SearchRecord:
    return SearchRecord(
        examples=examples,
        outcome=outcome,
        closest=closest,
        seconds=round(time.perf_counter() - start, 3),
    )


def _hypothesis(claim: Claim) -> Callable[[Callable[[Case], None]], Callable[[], None]]:
    """Return the decorator that draws a claim's examples, the same ones on every run."""
    import hypothesis

    assert claim.examples is not None
    seed = int.from_bytes(hashlib.sha256(claim.id.encode()).digest()[:8])
    settings = hypothesis.settings(
        max_examples=claim.max_examples,
        database=None,
        deadline=None,
        derandomize=False,  # the seed below is ours
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=list(hypothesis.HealthCheck),  # pyright: ignore[reportArgumentType]
        phases=(
            hypothesis.Phase.generate,
            hypothesis.Phase.target,
            hypothesis.Phase.shrink,
        ),
    )
    given = hypothesis.given(claim.examples())
    return lambda test: hypothesis.seed(seed)(settings(given(test)))
