"""The ledger: collecting, ordering, selecting claims; its laws."""

import dataclasses
import functools
import math
import re
import runpy
from collections.abc import Callable
from typing import Any

import pytest

from empirical.digest import ROOT
from verify import items, ledger
from verify.claim import Profile
from verify.claims._predictors import limits
from verify.compare import EffectWithin, Outcome
from verify.items import PAPERS
from verify.misprints import MISPRINTS
from verify.reading import Reading
from verify.report import functions
from verify.retired import RETIRED

Toy = Callable[..., Any]

THREE = """
CLAIMS = tuple(
    Claim(id=name, **COMMON) for name in ("dc/eq14", "dc/eq1", "dc/eq1-again")
)
"""


def _ids(entries: tuple[ledger.Entry, ...]) -> list[str]:
    return [entry.claim.id for entry in entries]


def test_claims_come_in_natural_order(toy: Toy) -> None:
    package = toy(one=THREE)
    assert _ids(ledger.entries(package)) == ["dc/eq1", "dc/eq1-again", "dc/eq14"]
    assert [c.id for c in ledger.load(package)] == _ids(ledger.entries(package))


def test_modules_with_a_leading_underscore_hold_no_claims(toy: Toy) -> None:
    package = toy(one=THREE, _helpers="")
    assert len(ledger.entries(package)) == 3


@pytest.mark.parametrize(
    ("selectors", "found"),
    [
        ([], ["dc/eq1", "dc/eq1-again", "dc/eq14"]),
        (["dc/eq1"], ["dc/eq1"]),
        (["DC/EQ14"], ["dc/eq14"]),
        (["DC/EQ1"], ["dc/eq1"]),
        (["dc/eq1-a"], ["dc/eq1-again"]),
        (["dc/eq"], ["dc/eq1", "dc/eq1-again", "dc/eq14"]),
        (["dc"], ["dc/eq1", "dc/eq1-again", "dc/eq14"]),
        (["dc/eq14", "dc/eq1"], ["dc/eq1", "dc/eq14"]),
    ],
)
def test_select(toy: Toy, selectors: list[str], found: list[str]) -> None:
    assert _ids(ledger.select(selectors, toy(one=THREE))) == found


def test_a_start_does_not_end_inside_a_number(toy: Toy) -> None:
    package = toy(one="CLAIMS = (Claim(id='dc/eq14', **COMMON),)")
    with pytest.raises(ValueError, match="no claim is called 'dc/eq1'"):
        ledger.select(["dc/eq1"], package)


def test_an_unknown_id_suggests_near_ones(toy: Toy) -> None:
    with pytest.raises(ValueError, match=r"Did you mean .*dc/eq14"):
        ledger.find("dc/ep14", toy(one=THREE))


def _claim(name: str, changes: str) -> str:
    return f"Claim(id='{name}', **COMMON | dict({changes}))"


FIRST, SECOND = "uses=('dc/eq2',)", "uses=('dc/eq1',)"


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ([_claim("dc/eq1", "")] * 2, "ids must be unique"),
        ([_claim("dc/eq1", "source=Source('x', 'y')")], "is not in references.bib"),
        ([_claim("dc/eq1", FIRST)], "names no claim"),
        ([_claim("dc/eq1", "items=('Eq99',)")], "`items` must name items of dc"),
        ([_claim("dc/beside", "items=()")], "`items` must name items of dc"),
        ([_claim("dc/eq1", FIRST), _claim("dc/eq2", SECOND)], "must not go round"),
    ],
)
def test_the_laws_of_the_ledger(toy: Toy, claims: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ledger.entries(toy(one=f"CLAIMS = ({', '.join(claims)},)"))


def test_an_id_of_two_modules_is_refused_when_one_claim_is_asked_for(toy: Toy) -> None:
    package = toy(
        one=f"ONE = {_claim('dc/eq1', '')}", two=f"TWO = {_claim('dc/eq1', '')}"
    )
    with pytest.raises(
        ValueError, match=r"dc/eq1 is that of claims in .*one and .*two"
    ):
        ledger.select(["dc/eq1"], package)


def test_a_module_without_claims_is_refused(toy: Toy) -> None:
    with pytest.raises(ValueError, match="must declare a Claim"):
        ledger.entries(toy(one="NOTHING = ()"))


def test_coverage_lists_every_item(toy: Toy) -> None:
    covered = ledger.coverage("dc", ledger.load(toy(one=THREE)))
    assert tuple(covered) == PAPERS[0].items
    assert covered["Eq1"] == ("dc/eq1", "dc/eq1-again", "dc/eq14")
    assert covered["Eq2"] == ()


def test_the_false_alarm_probability_counts_cases_and_examples(toy: Toy) -> None:
    package = toy(
        one="from hypothesis import strategies as st\n"
        "def draws():\n    return st.just({'x': 1})\n"
        "TEST = MeanEquals(discrepancy=1.0, false_fail=1e-3)\n"
        "CLAIMS = (Claim(id='dc/eq1', **COMMON | dict(compare=TEST)),"
        " Claim(id='dc/eq2', examples=draws, max_examples=7,"
        " **COMMON | dict(compare=TEST)), Claim(id='dc/eq3', **COMMON))\n"
    )
    # Three cases, then three cases and seven examples, then an exact comparison.
    total = ledger.false_alarm_probability(ledger.load(package))
    assert total == pytest.approx(13e-3, rel=1e-12)


ALONE = {
    "dc/eq1-drawn": "a picture of any matrix, a kernel or not",
    "dc/lemE.1-slope": "a line through made-up errors; no claim is measured by it",
    "dc/sec1-overhead": "a count of parameters and memory, of any NormReLU",
    "id/B2-slopes": "slopes for tangent kernels, which no claim of its paper is about",
    "id/Fig2-tangent": "tangent kernels by Jacobians; no claim is measured by them",
    "mmd/claim1-support": "what a definition cannot be given; no claim is measured by it",
}
"""Claims that rest on no other, and on which none rests, with why."""


def test_claims_are_connected_but_for_those_known_to_stand_alone() -> None:
    claims = ledger.load()
    rested_on = {used for claim in claims for used in claim.uses}
    alone = {c.id for c in claims if not c.uses and c.id not in rested_on}
    assert sorted(alone - set(ALONE)) == [], "`uses` is to be filled in"
    assert sorted(set(ALONE) - alone) == [], "not alone"


def test_every_paper_has_unique_items() -> None:
    for paper in PAPERS:
        assert len(set(paper.items)) == len(paper.items)
        assert paper.section_of((paper.items[-1],)) == paper.sections[-1][0]


# --- readings, misprints, retired ids -------------------------------------------------


def test_no_formula_that_was_restored_is_called_printed() -> None:
    for claim in ledger.load():
        if claim.paper == "dc":
            assert claim.reading is not Reading.QUOTED, claim.id
            assert claim.fault != "false as printed", claim.id
            said = (claim.title, *claim.assumptions)
            assert not re.search(r"\bprinted\b|\bas stated\b", " ".join(said)), claim.id


def test_values_are_known_no_better_than_the_formulas_that_they_are_of() -> None:
    """A value is of the formula in whose name it is, and of those that it uses."""
    by_id = {claim.id: claim for claim in ledger.load()}
    strength = list(Reading).index
    values = {
        name: (claim, name.rpartition("-")[0])
        for name, claim in by_id.items()
        if claim.paper == "dc" and re.search(r"-(values|constants)$", name)
    }
    assert len(values) > 10
    too_strong = {
        (name, formula)
        for name, (claim, own) in values.items()
        for formula in {own, *claim.uses} & by_id.keys()
        if strength(claim.reading) < strength(by_id[formula].reading)
    }
    assert too_strong == set()


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ("", "false as read"),
        (
            "source=Source('agarwal2021deep', 'Eq', Reading.QUOTED)",
            "false as printed",
        ),
        ("source=Source('agarwal2021deep', 'Eq', Reading.OURS)", "false, as expected"),
        ("source=Source('lee2019wide', 'Eq')", "false, as expected"),
        ("evidence=Evidence.TREND", "not reproduced"),
    ],
)
def test_a_fault_is_worded_as_its_statement_is_known(
    toy_entry: Toy, more: str, fault: str
) -> None:
    false = "predict=off_by_one, expected=Outcome.REFUTED, must_hold=square"
    entry = toy_entry(f"{false}, {more}", "from verify.reading import Reading")
    assert entry.claim.fault == fault


def test_misprints_are_items_of_their_papers_and_no_claims() -> None:
    refuted = {(c.paper, c.items[0]) for c in ledger.load() if c.must_hold is not None}
    for misprint in MISPRINTS:
        assert misprint.item in items.paper(misprint.paper).items
        assert (misprint.paper, misprint.item) not in refuted
        assert misprint.printed != misprint.correct


def test_a_retired_id_says_where_its_claim_went(toy: Toy) -> None:
    with pytest.raises(ValueError, match=r"retired: a misprint"):
        ledger.find("mmd/err8")
    package = toy(one="CLAIMS = (Claim(id='dc/E4-as-printed', **COMMON),)\n")
    with pytest.raises(ValueError, match="never taken again"):
        ledger.entries(package)
    known = {claim.id for claim in ledger.load()}
    for reason in RETIRED.values():
        named = re.findall(r"\b(?:dc|id|sl|mmd)/[\w.-]*\w", reason)
        assert set(named) <= known


def test_titles_can_be_read_alone() -> None:
    titles = {claim.id: claim.title for claim in ledger.load()}
    assert len(set(titles.values())) == len(titles)
    leaning = re.compile(
        r"(And|But|Or|So|Then|Also|It|Its|They|Their|This|These|Those|The same)\b"
    )
    assert [name for name, title in titles.items() if leaning.match(title)] == []
    assert [name for name, title in titles.items() if len(title) > 90] == []
    # Words of this project alone, which no reader of the papers knows.
    private = re.compile(
        r"^Drawn|condition on gradients|answers? for one class|around it\b|motion over"
        r"|^Of the\b|whole quotient"
    )
    assert [name for name, title in titles.items() if private.search(title)] == []


LETTERS = {"dc/lemH.3", "mmd/eq20-nearby", "mmd/gram-slope", "sl/energy-balance"}
"""Statements in which E is an event, a matrix, or an integral."""


def test_an_expectation_has_one_letter() -> None:
    plain = re.compile(r"(?<![A-Za-z\\])(?<!\\mathbb{)(?<!\\mathbb )E(?![_0-9]|xp)")
    found = {claim.id for claim in ledger.load() if plain.search(claim.statement)}
    assert found == LETTERS


def test_no_difference_of_experiments_reads_as_a_range() -> None:
    """As in "14 - 5 layers": each side says of what it is the number."""
    bare = re.compile(r"\d-\d+\\text|\\text\{[^}]*\}-\d+\\[gl]e")
    found = {claim.id for claim in ledger.load() if bare.search(claim.statement)}
    assert found == set()


def test_what_is_said_of_claims_has_no_control_characters() -> None:
    r"""As a tab that was meant for the beginning of \text."""
    said = {
        claim.id: (claim.title, claim.statement, claim.finding, *claim.assumptions)
        for claim in ledger.load()
    }
    odd = [name for name, texts in said.items() if not all(map(str.isprintable, texts))]
    assert odd == []


def test_cards_say_in_words_which_mistake_would_have_been_caught() -> None:
    tried = [claim for claim in ledger.load() if claim.must_refute or claim.must_hold]
    words = {claim.id: functions.control(claim)[1] for claim in tried}
    assert [name for name, said in words.items() if len(said.split()) < 3] == []
    # An identifier is no word.
    name_of_code = re.compile(r"\b_?[a-z]{4,}_")
    assert [name for name, said in words.items() if name_of_code.search(said)] == []


def test_of_what_is_false_every_claim_says_why() -> None:
    false = [c for c in ledger.load() if c.expected is Outcome.REFUTED]
    assert [claim.id for claim in false if not claim.finding] == []


def test_a_control_speaks_of_its_mistake_alone() -> None:
    def twin(*, wrong: bool) -> float:
        """Return the sum.

        Wrong: The sum without
        its last term.
        """
        return float(wrong)

    def nameless_twin() -> float:
        return 0.0

    holds = next(c for c in ledger.load() if c.must_refute is not None)
    for control, said in (
        (functools.partial(twin, wrong=True), "The sum without its last term"),
        (nameless_twin, "nameless twin"),
        (functools.partial(limits, None, 0.5), "An effect of at most 0.5"),
        (
            functools.partial(limits, None, 0.0),
            "No effect, or one in the other direction",
        ),
    ):
        claim = dataclasses.replace(holds, must_refute=control)
        assert functions.control(claim) == ("would have caught", said)


@pytest.mark.parametrize("profile", [Profile.QUICK, Profile.FULL, Profile.GPU])
def test_the_runs_of_claims_are_configurations(profile: Profile) -> None:
    """At every scale: a claim that looks at others cannot be run there."""
    missing = {
        (claim.id, run.name, run.scale)
        for claim in ledger.load()
        for run in claim.runs_for(profile)
        if run.name not in run.trainer.names(run.scale)
    }
    assert missing == set()


def test_the_built_package_is_tried_on_every_paper_and_kind_of_evidence() -> None:
    tried = runpy.run_path(str(ROOT / "tests" / "packaging" / "try_package.py"))["SOME"]
    known = {claim.id: claim for claim in ledger.load()}
    covered = {(known[name].paper, known[name].evidence) for name in tried}
    there = {
        (c.paper, c.evidence)
        for c in known.values()
        if c.cases and c.expected is Outcome.HOLDS
    }
    assert covered == there
    # Networks are trained for it, too.
    assert any(known[name].runs is not None for name in tried)


FACTORS = (1.1, 1.2, 1.5, 2.0, 3.0, 10.0)


def test_limits_that_are_logarithms_have_a_unit() -> None:
    """A card that says 0.693 of a statement that says "halves" is understood by nobody."""
    logs = [function(f) for f in FACTORS for function in (math.log, math.log10)]
    silent = {
        claim.id
        for claim in ledger.load()
        if isinstance(claim.compare, EffectWithin) and claim.predict
        for profile in Profile
        for case in claim.cases_for(profile)[:1]
        for limit in claim.predict(**case)
        if limit
        and not claim.compare.unit
        and abs(limit) != 1.0
        and min(abs(abs(limit) - log) for log in logs) < 1e-9
    }
    assert silent == set()
