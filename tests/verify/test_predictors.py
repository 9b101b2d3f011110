"""Predictions and controls made of other predictions."""

import functools
from typing import Any

import pytest

from verify.claim import Claim, Evidence, Source, grid, numeric
from verify.claims import _predictors as made
from verify.claims._searches import SIGNS, searched
from verify.claims._twins import closed
from verify.compare import AgreesTo, Outcome
from verify.report import functions


def _predict(*, depth: int, rate: float = 2.0) -> float:
    return rate**depth


CONTROLS = {
    "always": (made.always(3.0, "Three."), 3.0),
    "changed by a value": (made.changed(_predict, "Three.", rate=3.0), 9.0),
    "changed by a function": (
        made.changed(_predict, "Three.", depth=made.plus(1)),
        8.0,
    ),
    "mapped": (made.mapped(_predict, "Three.", lambda found: found - 1.0), 3.0),
    "scaled": (made.scaled(_predict, 0.5, "Three."), 2.0),
    "of a partial": (
        made.changed(functools.partial(_predict, rate=3.0), "Three.", depth=1),
        3.0,
    ),
}


def _claim(control: Any, **parts: Any) -> Claim:
    settled: dict[str, Any] = {
        "id": "dc/eq1",
        "items": ("Eq1",),
        "title": "",
        "statement": "",
        "source": Source("agarwal2021deep", "Equation 1"),
        "cases": grid(depth=2),
        "predict": _predict,
        "measure": made.always(4.0),
        "compare": AgreesTo(),
        "must_refute": control,
    }
    return numeric(**settled | parts)


@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_predicts_and_says_what_is_wrong(name: str) -> None:
    control, value = CONTROLS[name]
    assert control(depth=2) == value
    claim = _claim(control)
    assert claim.evidence is Evidence.NUMERIC
    assert functions.control(claim) == ("would have caught", "Three")
    expected = "Three (" if name == "always" else "_predict"
    assert functions.places(claim)["must_refute"].startswith(expected)


def test_a_claim_makes_a_control_of_its_own_prediction() -> None:
    wrong = made.mistake(
        "A layer more, halved.", depth=made.plus(1), then=made.times(0.5)
    )
    own = _claim(wrong)
    assert own.must_refute is not None
    assert own.must_refute(depth=2) == 4.0
    assert functions.control(own) == ("would have caught", "A layer more, halved")
    other = _claim(wrong, predict=functools.partial(_predict, rate=3.0))
    assert other.must_refute is not None
    assert other.must_refute(depth=2) == 13.5


def test_a_mistake_takes_of_the_case_what_it_names_by_keyword() -> None:
    wrong = made.mistake(
        "The rate over the depth, less the rate.",
        rate=lambda rate, *, depth: rate / depth,
        then=lambda found, *, rate: found - rate,
    )
    assert wrong.of(_predict)(depth=2, rate=6.0) == 3.0
    less = made.mistake("Less the rate.", then=lambda found, *, rate: found - rate)
    with pytest.raises(TypeError, match="rate"):
        less.of(_predict)(depth=2)


def test_a_refuted_claim_makes_what_must_hold_of_its_own_prediction() -> None:
    claim = _claim(
        None, must_hold=made.mistake("A layer more.", depth=3), expected=Outcome.REFUTED
    )
    assert claim.must_hold is not None
    assert claim.must_hold(depth=2) == 8.0


def test_a_mistake_needs_a_prediction() -> None:
    with pytest.raises(ValueError, match="`predict`"):
        _claim(made.mistake("A layer more.", depth=3), predict=None)


def test_a_prediction_is_left_as_it_is() -> None:
    made.changed(_predict, "A layer more.", depth=made.plus(1))(depth=2)
    assert _predict(depth=2) == 4.0
    assert _predict.__doc__ is None


def test_a_function_takes_what_is_drawn_and_the_other_arguments() -> None:
    def pair(first: int, second: int = 5) -> tuple[int, int]:
        return first, second

    @made.drawn(pair)
    def shifted(a: int, b: int, shift: int = 0) -> list[int]:
        """Add a shift."""
        return [a + shift, b + shift]

    assert shifted(first=1) == [1, 5]
    assert shifted(first=1, second=2, shift=10) == [11, 12]
    assert shifted.__doc__ == "Add a shift."
    control = made.changed(shifted, "Another first number.", first=made.plus(1))
    assert control(first=1, shift=1) == [3, 6]


def test_what_is_drawn_may_be_one_value() -> None:
    count = made.drawn(lambda size: [0] * size)(
        lambda zeros, factor: len(zeros) * factor
    )
    assert count(size=3, factor=2) == 6
    with pytest.raises(TypeError, match="unknown"):
        count(size=3, factor=2, unknown=1)


def test_the_source_of_a_closed_claim_is_its_paper_unless_another_is_named() -> None:
    def twin(*, wrong: bool) -> float:
        return 1.0 + wrong

    parts: dict[str, Any] = {
        "items": ("Tab1",),
        "title": "",
        "statement": "",
        "where": "Table 1",
        "cases": ({},),
        "measure": made.always(1.0),
    }
    own = closed(id="id/tab1", twin=twin, **parts)
    other = closed(id="id/tab1", twin=twin, key="poggio2021explicit", **parts)
    assert own.source.key == "zhang2020identity"
    assert other.source.key == "poggio2021explicit"


def test_a_value_is_the_same_in_every_case_unless_it_is_a_collection() -> None:
    data: dict[str, Any] = {"a": [1.0]}
    cases = grid(name="relu", data=data, rho=(0.0, 1.0), sizes=([1, 2],))
    same = {"name": "relu", "data": data, "sizes": [1, 2]}
    assert [*cases] == [same | {"rho": rho} for rho in (0.0, 1.0)]


def test_a_search_draws_every_argument_and_keeps_what_is_asked_for() -> None:
    from hypothesis import find

    cases = searched(lambda case: case["sign"] < 0, sign=SIGNS)()
    assert find(cases, lambda _: True) == {"sign": -1}
