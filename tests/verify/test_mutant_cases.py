"""Claims that are asked by case: the verdict is the one that the whole would give."""

import json
import math
from dataclasses import replace

import pytest

from empirical.digest import roots_of
from empirical.testbed.writing import plain
from verify.mutants import lines, sites, verdicts
from verify.mutants.cases import SEARCH, Said, ask, is_green, numbers
from verify.mutants.verdicts import Fate
from verify.run import run_claim

TRUE = "cases=grid(x=(1, 2, 3))"
FALSE = """
    cases=grid(x=(0, 1, 2)), predict=doubled, must_refute=None, must_hold=square,
    expected=Outcome.REFUTED
"""
SEARCHED = "examples=lambda: st.fixed_dictionaries({'x': st.integers(0, 9)})"


@pytest.mark.parametrize(
    "arguments",
    [
        TRUE,
        FALSE,
        "predict=off_by_one",
        "predict=broken",
        # Its control is wrong nowhere, and in one case alone.
        "must_refute=lambda x: x**2",
        "must_refute=lambda x: x**2 + (x == 3)",
        "compare=AtMost(trivial=0.0)",
        f"{SEARCHED}, max_examples=20",
        f"{SEARCHED}, max_examples=20, predict=lambda x: x**2 + (x > 3)",
    ],
)
def test_all_cases_together_say_what_the_ledger_says(toy_entry, arguments):
    entry = toy_entry(arguments, "import hypothesis.strategies as st")
    record = run_claim(entry.claim, module=entry.module, roots=roots_of(entry.module))
    said = {number: ask(entry.claim, number) for number in numbers(entry.claim)}
    assert is_green(entry.claim, said) is record.green
    cases = [Said(c.outcome.value, c.control, c.slack) for c in record.cases]
    assert [said[n] for n in range(3)] == cases
    assert (SEARCH in said) is (record.search is not None)


def test_a_control_may_be_refuted_in_a_case_that_was_not_asked(toy_entry):
    claim = toy_entry(TRUE).claim
    lenient = Said("holds", "holds")
    assert is_green(claim, {0: lenient, 1: lenient})
    assert not is_green(claim, {0: lenient, 1: lenient, 2: lenient})
    assert is_green(claim, {0: lenient, 1: lenient, 2: Said("holds", "refuted")})


@pytest.mark.parametrize("outcome", ["refuted", "undecided", "error"])
def test_one_case_turns_a_true_claim_red(toy_entry, outcome):
    assert not is_green(toy_entry(TRUE).claim, {1: Said(outcome, "refuted")})


def test_bounds_that_say_nothing_are_no_matter_while_another_may(toy_entry):
    claim = toy_entry(TRUE).claim
    silent = Said("vacuous", "vacuous")
    assert is_green(claim, {0: silent, 2: silent})
    assert not is_green(claim, dict.fromkeys(range(3), silent))


def test_a_bound_that_is_loose_in_every_case_turns_red_unless_it_is_declared(toy_entry):
    claim = toy_entry(f"{TRUE}, compare=AtMost()").claim
    tight, far = (Said("holds", "refuted", slack) for slack in (1.0, 3.0))
    everywhere = dict.fromkeys(range(3), far)
    assert is_green(claim, {0: far, 1: far})
    assert is_green(claim, everywhere | {1: tight})
    assert is_green(claim, everywhere | {1: Said("holds", "refuted")})
    assert not is_green(claim, everywhere)
    declared = replace(claim, loose=True, finding="It is a guess.")
    assert is_green(declared, everywhere)
    assert not is_green(declared, everywhere | {1: tight})


def test_a_false_statement_may_be_refuted_in_a_case_that_was_not_asked(toy_entry):
    claim = toy_entry(FALSE).claim
    holds, refuted = Said("holds", ""), Said("refuted", "holds")
    assert is_green(claim, {0: holds})
    assert not is_green(claim, dict.fromkeys(range(3), holds))
    assert is_green(claim, {0: holds, 1: refuted})
    assert not is_green(claim, {0: holds, 1: Said("refuted", "refuted")})
    assert not is_green(claim, {0: holds, 1: Said("error", "")})


# --- which cases are asked ------------------------------------------------------------


def claim_of(name, *parts):
    """Return the lines of a claim: of each case its seconds and lines of one file."""
    said = Said("holds", "refuted")
    made = [
        lines.Part(n, s, said, {"theory/f.py": frozenset(run)})
        for n, (s, run) in enumerate(parts)
    ]
    return lines.Executed(name, "module", name, [], made)


(PLUS,) = sites.mutants_of("def f(a, b):\n    return a + b\n", "theory/f.py")[:1]


def asked(*claims):
    questions = verdicts.asked(PLUS, {claim.claim: claim for claim in claims})
    return [(q.claim.claim, q.part.number) for q in questions]


def test_a_cheap_case_of_an_expensive_claim_is_asked():
    dear = claim_of("dc/dear", (40.0, []), (2.0, [2]), (300.0, [2]))
    assert asked(dear) == [("dc/dear", 1)]


def test_cases_that_execute_the_line_come_first_then_those_behind_them():
    one = claim_of("dc/one", (0.1, []), (3.0, [2]), (0.2, []))
    two = claim_of("dc/two", (1.0, [2]), (0.1, [1]))
    assert asked(one, two) == [
        ("dc/two", 0),
        ("dc/one", 1),
        ("dc/two", 1),
        ("dc/one", 2),
    ]


def test_what_a_mutation_cannot_reach_stays_as_it_was():
    claim = claim_of("dc/one", (0.1, []), (0.2, [1]), (3.0, [2]), (0.2, []))
    assert set(verdicts.untouched(PLUS, claim)) == {0, 1}
    ended = lines.Part(0, lines.TOO_LONG, None, {})
    unknown = lines.Executed("dc/one", "", "", [], [ended, *claim.parts[1:]])
    assert verdicts.untouched(PLUS, unknown) == {}


def test_a_case_alone_is_given_the_time_of_those_before_it():
    # What these left in a cache it has to find itself.
    claim = claim_of("dc/one", (8.0, [2]), (0.5, [2]))
    late = verdicts.Question(claim, claim.parts[1])
    assert late.allowance == verdicts.AT_LEAST + verdicts.SLOWER * 8.5


HERMITE = "theory/hermite.py"


def test_a_restricted_run_kills_by_its_case_and_not_by_its_control():
    from verify import ledger

    text = (sites.ROOT / HERMITE).read_text(encoding="utf-8")
    recursion = "x * high - math.sqrt(k) * low"
    (wrong,) = [
        m
        for m in sites.mutants_of(text, HERMITE)
        if (m.operator, m.before) == ("sign", recursion)
    ]
    (entry,) = ledger.find("dc/defC.1-polynomials")

    def fate(executing, seconds):
        parts = [
            lines.Part(n, s, Said("holds", "holds"), {HERMITE: frozenset(run)})
            for n, s, run in zip(
                range(len(seconds)),
                seconds,
                [wrong.lines if n in executing else [] for n in range(len(seconds))],
                strict=True,
            )
        ]
        claim = lines.Executed(entry.claim.id, entry.module, "", [], parts)
        (found,) = verdicts.judged([wrong], {claim.claim: claim}, workers=1)
        return found.fate, found.case, found.asked

    # Cases 2 and 3 notice; the whole claim would be too long.
    assert fate({2, 3}, [20.0, 20.0, 50.0, 1.0]) == (Fate.KILLED, 3, 1)
    # The control agrees with a constant polynomial: it is refuted in other cases.
    assert fate({0}, [1.0, 50.0]) == (Fate.SURVIVED, None, 1)


def test_lines_are_kept_once_for_all_cases_that_execute_them():
    run = {"theory/a.py": frozenset({3, 4, 5, 9}), "theory/b.py": frozenset({1})}
    less = run | {"theory/b.py": frozenset[int]()}
    said = [Said("holds", "", slack) for slack in (None, 1.5, math.inf)]
    parts = [lines.Part(n, 0.5, said[n], run) for n in range(3)]
    parts += [lines.Part(3, 0.5, said[0], less), lines.Part(SEARCH, 1e9, None, {})]
    found = lines.Executed("dc/a", "m", "c", ["theory/a.py"], parts)
    kept = lines.packed(found)
    assert kept["lines"] == ["theory/a.py 3-5,9", "theory/b.py 1", "theory/b.py "]
    assert lines.unpacked(json.loads(json.dumps(plain(kept)))) == found
    # Lines that were found before slacks were kept.
    older = kept | {"parts": [[n, t, s and s[:2], r] for n, t, s, r in kept["parts"]]}
    assert lines.unpacked(older).parts[1].said == Said("holds", "")
