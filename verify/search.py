"""Adversarial search: cases drawn by Hypothesis, driven towards refutation."""

import hashlib
import json
import time
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any
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


class _Enough(BaseException):
    """Ends a search that has drawn all it may."""


DRAWS = 10
"""Draws for each example that is asked for, those that come to nothing among them."""

FRUITLESS = 2
"""Draws in a row for each of them, after which a search that finds no more ends.

Climbing towards refutation, Hypothesis goes on as long as new examples are no worse,
which may be ten thousand of them that it draws in part and gives up.
"""


def search(claim: Claim) -> SearchRecord:
    """Look for a counterexample among drawn cases, drawn towards refutation."""
    import hypothesis
    from hypothesis.errors import HypothesisException

    assert claim.examples is not None
    tried: list[CaseRecord] = []
    known: dict[str, CaseRecord] = {}
    start = time.process_time()

    def attempt(case: Case) -> None:
        nonlocal fruitless
        fruitless = 0
        # Hypothesis draws many a case again, its arguments in another order.
        key = json.dumps(records.encode(case), sort_keys=True)
        found = known.get(key)
        if found is None:
            found = judge(claim, case)
            tried.append(found)
        if found.outcome is Outcome.ERROR:
            raise _Refuted(found)
        # Bounded: infinite strains carry no direction.
        hypothesis.target(min(max(found.strain, -1e9), 1e9), label="strain")
        if found.outcome is Outcome.REFUTED:
            raise _Refuted(found)
        known[key] = found

    drawn, fruitless, most = 0, 0, claim.max_examples

    def is_over() -> bool:
        return drawn > DRAWS * most or fruitless > FRUITLESS * most

    def draw() -> None:
        nonlocal drawn, fruitless
        drawn, fruitless = drawn + 1, fruitless + 1
        if is_over():
            raise _Enough

    run = _hypothesis(claim, draw)(attempt)
    try:
        with _whatever_is_loaded():
            run()
    except _Refuted as refuted:
        return _searched(len(tried), refuted.case, start)
    except (HypothesisException, _Enough):
        # To Hypothesis a strategy that ends is one that differs from run to run.
        if is_over() and tried:
            return _found(tried, start)
        # The strategy itself, or a measurement that differs from run to run.
        broken = CaseRecord(
            case={}, outcome=Outcome.ERROR, error=traceback.format_exc()
        )
        return _searched(len(tried), broken, start)
    return _found(tried, start)


def _found(tried: list[CaseRecord], start: float) -> SearchRecord:
    return _searched(len(tried), max(tried, key=records.badness), start)


@contextmanager
def _whatever_is_loaded() -> Generator[None, None, None]:
    """Draw the same examples whatever modules are loaded.

    Hypothesis also tries numbers that it reads in the modules of a checkout, those that
    happen to be loaded: a worker's examples would be others than the report's, and an
    installed ledger's others again.
    """
    from hypothesis.internal.conjecture import providers
    from hypothesis.internal.constants_ast import Constants

    # What is remembered of them, too.
    providers.CONSTANTS_CACHE.cache.clear()
    with patch.object(providers, "_get_local_constants", Constants):
        yield
    providers.CONSTANTS_CACHE.cache.clear()


def _searched(examples: int, closest: CaseRecord, start: float) -> SearchRecord:
    return SearchRecord(
        examples=examples,
        closest=closest,
        seconds=round(time.process_time() - start, 3),
    )


def _hypothesis(
    claim: Claim, before: Callable[[], None]
) -> Callable[[Callable[[Case], None]], Callable[[], None]]:
    """Return the decorator that draws a claim's examples, the same ones on every run.

    `before` is called before each draw.
    """
    import hypothesis.strategies

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
    cases = claim.examples()

    @hypothesis.strategies.composite
    def drawn(draw: Callable[[Any], Case]) -> Case:
        before()
        return draw(cases)

    given = hypothesis.given(drawn())
    return lambda test: hypothesis.seed(seed)(settings(given(test)))
