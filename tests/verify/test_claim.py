"""What a claim must have, and what it may not."""

from collections.abc import Callable
from typing import Any

import pytest

from verify.claim import Claim, Evidence, Profile, Source, grid
from verify.compare import Identical, Outcome


def _one(x: int) -> int:
    return x


def _same(x: int) -> int:
    return 1 * x


PARTS: dict[str, Any] = {
    "id": "dc/thm3.2",
    "items": ("Thm3.2",),
    "title": "A claim",
    "statement": "x = x",
    "source": Source("agarwal2021deep", "Theorem 3.2"),
    "evidence": Evidence.NUMERIC,
    "cases": grid(x=(1,)),
    "predict": _one,
    "measure": _same,
    "compare": Identical(),
    "must_refute": _one,
}


def test_a_whole_claim_is_accepted() -> None:
    claim = Claim(**PARTS)
    assert claim.paper == "dc"
    assert claim.cases_for(Profile.QUICK) == claim.cases_for(Profile.GPU)


def test_a_claim_covers_the_item_of_its_id_unless_it_names_others() -> None:
    silent = {k: v for k, v in PARTS.items() if k != "items"}
    assert Claim(**silent | {"id": "dc/lemC.2-sharp"}).items == ("LemC.2",)
    assert Claim(**silent, items=("Eq1",)).items == ("Eq1",)
    assert Claim(**silent | {"id": "dc/beside"}).items == ()


@pytest.mark.parametrize("name", ["thm3.2", "dc/", "DC/thm3.2", "dc/thm 3.2", "dc/a-"])
def test_malformed_ids_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="must look like paper/item"):
        Claim(**PARTS | {"id": name})


@pytest.mark.parametrize("part", ["cases", "predict", "measure", "compare"])
def test_a_missing_part_is_refused(part: str) -> None:
    missing = () if part == "cases" else None
    with pytest.raises(ValueError, match="are required"):
        Claim(**PARTS | {part: missing})


@pytest.mark.parametrize("outcome", [Outcome.UNDECIDED, Outcome.OPEN, Outcome.ERROR])
def test_only_holds_and_refuted_can_be_expected(outcome: Outcome) -> None:
    with pytest.raises(ValueError, match="holds or refuted"):
        Claim(**PARTS | {"expected": outcome})


def test_a_control_is_required() -> None:
    with pytest.raises(ValueError, match="needs `must_refute`"):
        Claim(**PARTS | {"must_refute": None})
    # A wrong prediction is no control for a statement that is itself wrong.
    with pytest.raises(ValueError, match="needs `must_hold`"):
        Claim(**PARTS | {"expected": Outcome.REFUTED})
    Claim(**PARTS | {"expected": Outcome.REFUTED, "must_hold": _one})


def test_a_search_draws_examples() -> None:
    with pytest.raises(ValueError, match="search needs `examples`"):
        Claim(**PARTS | {"evidence": Evidence.SEARCH})


def test_a_prediction_is_not_its_own_measurement() -> None:
    with pytest.raises(ValueError, match="must share no code with `predict`"):
        Claim(**PARTS | {"measure": _one})


def test_some_profile_has_cases() -> None:
    trained = {"cases": (), "runs": lambda **_case: ()}
    with pytest.raises(ValueError, match="are required"):
        Claim(**PARTS | trained | {"larger_cases": {"full": ()}})
    Claim(**PARTS | trained | {"larger_cases": {"full": grid(x=(1,))}})


def test_cases_of_an_unknown_profile_are_refused() -> None:
    """They would never be run, and those of quick be run in the place of others."""
    for profile in ("ful", "quick"):
        with pytest.raises(ValueError, match=f"other than quick, got {profile}"):
            Claim(**PARTS, larger_cases={profile: grid(x=2)})


def test_a_case_is_listed_once() -> None:
    with pytest.raises(ValueError, match=r"1 of quick are not, e\.g\. .*'x', 1"):
        Claim(**PARTS | {"cases": grid(x=(1, 2, 1))})
    with pytest.raises(ValueError, match="1 of full are not"):
        Claim(**PARTS, larger_cases={"full": grid(x=(1, 1))})
    Claim(**PARTS | {"cases": grid(x=(1, 1.0))})


def test_an_open_claim_has_no_functions() -> None:
    with pytest.raises(ValueError, match="open claim has no cases"):
        Claim(**PARTS | {"open_reason": "not yet"})
    bare = {k: PARTS[k] for k in ("id", "items", "title", "statement", "source")}
    claim = Claim(**bare, evidence=Evidence.NUMERIC, open_reason="not yet")
    assert claim.cases == ()


def test_larger_cases_replace_the_quick_ones() -> None:
    larger = {"full": grid(x=(1, 2, 3))}
    claim = Claim(**PARTS | {"larger_cases": larger})
    assert len(claim.cases_for(Profile.FULL)) == 3
    assert len(claim.cases_for(Profile.QUICK)) == 1


def test_cases_that_can_be_asked_for_once_are_kept() -> None:
    """They were used up by the check, and then there were none."""
    cases = ({"x": x} for x in (1, 2, 3))
    larger = {"full": ({"x": x} for x in (4, 5))}
    claim = Claim(**PARTS | {"cases": cases, "larger_cases": larger})
    assert [len(claim.cases_for(p)) for p in (Profile.QUICK, Profile.FULL)] == [3, 2]


def test_grid_runs_through_all_combinations() -> None:
    assert len(grid(a=(1, 2), b=("x", "y", "z"))) == 6


def test_every_kind_of_evidence_says_what_holds_means() -> None:
    assert len({kind.meaning for kind in Evidence}) == len(Evidence)


@pytest.mark.parametrize(
    ("compare", "name"),
    [
        ("AgreesTo(relative=1.5)", "relative"),
        ("AgreesTo(relative=float('nan'))", "relative"),
        ("AgreesTo(absolute=1e9)", "absolute"),
        ("AtMost(rounding=1e9)", "rounding"),
        ("AtLeast(rounding=float('inf'))", "rounding"),
        ("Enclosed(radius=1e9)", "radius"),
        ("MeanAtMost(1.0, rounding=2.0)", "rounding"),
        ("EffectWithin(level=0.4)", "level"),
        ("MeanEquals(1.0, false_fail=0.5)", "false_fail"),
        ("MeanEquals(1.0, false_pass=0.5)", "false_pass"),
    ],
)
def test_a_comparison_that_decides_nothing_is_refused(
    toy_entry: Callable[..., Any], compare: str, name: str
) -> None:
    """Zero is within 1.5 of every number; at a level of 0.4 chance decides."""
    with pytest.raises(ValueError, match=f"comparison's `{name}` must be from 0 to"):
        toy_entry(f"compare={compare}", "from verify.compare import EffectWithin")


GENEROUS = """
class Generous:
    def criterion(self):
        return "never"
    def judge(self, predicted, measured):
        return AgreesTo(absolute=abs(measured)).judge(predicted, measured)
class Wider(AgreesTo):
    def judge(self, predicted, measured):
        return Generous().judge(predicted, measured)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        "compare=Generous()",
        "compare=Wider(relative=1e-15)",
        "evidence=Evidence.SYMBOLIC",
        "evidence=Evidence.CERTIFICATE",
    ],
)
def test_a_comparison_is_one_that_its_evidence_is_decided_by(
    toy_entry: Callable[..., Any], arguments: str
) -> None:
    """One whose tolerance grows with what is measured; digits worded as a proof."""
    with pytest.raises(ValueError, match=r"`compare` of a .* must be one of .*, got"):
        toy_entry(arguments, GENEROUS)


def test_a_search_tries_several_cases() -> None:
    with pytest.raises(ValueError, match="`max_examples` must be at least 2, got 1"):
        Claim(**PARTS, max_examples=1)
