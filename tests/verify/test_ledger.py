"""The ledger: collecting, ordering, selecting claims; its laws."""

from collections.abc import Callable

import pytest

from verify import ledger
from verify.items import PAPERS

Toy = Callable[..., str]

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
    with pytest.raises(ValueError, match=r"did you mean .*dc/eq14"):
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
        ([_claim("dc/eq1", "items=()")], "`items` must name items of dc"),
        ([_claim("dc/eq1", FIRST), _claim("dc/eq2", SECOND)], "must not go round"),
    ],
)
def test_the_laws_of_the_ledger(toy: Toy, claims: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ledger.entries(toy(one=f"CLAIMS = ({', '.join(claims)},)"))


def test_a_module_without_claims_is_refused(toy: Toy) -> None:
    with pytest.raises(ValueError, match="must define CLAIMS"):
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


def test_every_paper_has_unique_items() -> None:
    for paper in PAPERS:
        assert len(set(paper.items)) == len(paper.items)
        assert paper.section_of((paper.items[-1],)) == paper.sections[-1][0]
