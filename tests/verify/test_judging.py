"""The ledger believes numbers, not what a record says of itself."""

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from empirical.testbed.writing import sealed, unsealed
from verify import records, run
from verify.claim import Profile
from verify.compare import Outcome
from verify.report import as_json, as_markdown, as_text, build
from verify.report.html import as_html
from verify.report.rows import NOT_RUN, STALE, Row
from verify.report.shown import describe

Toy = Callable[..., Any]

INFINITE = """
import math
def nothing(x): return math.nan
def endless(x): return math.inf
def one(x): return 1.0
def half(x): return 0.5
def tenth(x): return 0.1
def ladder(x): return 1.0 / x
"""


def _row(entry: Any, folder: Path) -> Row:
    run.run_and_write(entry, Profile.QUICK, folder)
    (row,) = build((entry,), folder)
    return row


@pytest.mark.parametrize(
    "arguments",
    [
        "must_refute=nothing",
        "predict=nothing",
        "measure=nothing",
        "predict=nothing, expected=Outcome.REFUTED, must_hold=square",
        "predict=endless, expected=Outcome.REFUTED, must_hold=square",
        "predict=off_by_one, expected=Outcome.REFUTED, must_hold=nothing",
        "compare=AtMost(rounding=1.0), must_refute=nothing",
    ],
)
def test_what_is_no_number_is_an_error(
    toy_entry: Toy, tmp_path: Path, arguments: str
) -> None:
    row = _row(toy_entry(arguments, INFINITE), tmp_path)
    assert row.outcome == Outcome.ERROR
    assert not row.green
    assert row.worst is not None
    assert "must be finite" in row.worst.error


UNLEARNT = """
from verify.claim import NotLearnt
def unlearnt(x): raise NotLearnt("toy (small): 0 networks have fitted, and 3 are needed")
"""


def test_networks_that_have_not_learnt_decide_nothing(
    toy_entry: Toy, tmp_path: Path
) -> None:
    entry = toy_entry("measure=unlearnt", UNLEARNT)
    row = _row(entry, tmp_path)
    assert (row.outcome, row.green) == (Outcome.UNDECIDED, False)
    assert row.worst is not None
    # Said as it is, without a traceback.
    assert row.worst.error == "toy (small): 0 networks have fitted, and 3 are needed"
    shown = as_text((row,), width=120, colour=False)
    assert "0 networks have fitted" in shown
    assert "not learnt" in shown
    # A record that says more of them is not believed.
    again = _forged(entry, tmp_path, _says_holds)
    assert (again.outcome, again.green) == (NOT_RUN, False)


UNTRAINED = """
from verify.trained import NotTrained
def untrained(x): raise NotTrained("toy (paper): a GPU must be here to train it")
"""


def test_networks_that_are_missing_are_an_error_in_a_sentence(
    toy_entry: Toy, tmp_path: Path
) -> None:
    row = _row(toy_entry("measure=untrained", UNTRAINED), tmp_path)
    assert (row.outcome, row.green) == (Outcome.ERROR, False)
    assert row.worst is not None
    assert row.worst.error == "toy (paper): a GPU must be here to train it"


@pytest.mark.parametrize(
    "bound", ["predict=endless", "predict=one, compare=AtMost(trivial=1.0)"]
)
def test_a_bound_that_says_nothing_is_not_green(
    toy_entry: Toy, tmp_path: Path, bound: str
) -> None:
    arguments = f"compare=AtMost(), measure=half, must_refute=tenth, {bound}"
    row = _row(toy_entry(_last_wins(arguments), INFINITE), tmp_path)
    assert (row.outcome, row.green) == (Outcome.VACUOUS, False)
    assert row.record is not None
    assert row.record.control == "a wrong prediction was refuted in 0 of 0 cases"


def _last_wins(arguments: str) -> str:
    """Return keyword arguments without those that a later one replaces."""
    given: dict[str, str] = {}
    for argument in arguments.split(", "):
        name, _, value = argument.partition("=")
        given[name] = value
    return ", ".join(f"{name}={value}" for name, value in given.items())


def test_a_control_counts_only_where_the_bound_says_something(
    toy_entry: Toy, tmp_path: Path
) -> None:
    # At x = 1 the bound is 1 and says nothing; at 2 and 3 the control is not refuted.
    arguments = (
        "compare=AtMost(trivial=1.0), predict=ladder, measure=lambda x: 0.1 / x,"
        " must_refute=lambda x: 0.0 if x == 1 else 0.5 / x"
    )
    row = _row(toy_entry(arguments, INFINITE), tmp_path)
    assert (row.outcome, row.green) == (Outcome.HOLDS, False)
    assert row.verdict == "holds, but its control failed"


def test_a_control_counts_only_at_entries_where_the_bound_says_something(
    toy_entry: Toy, tmp_path: Path
) -> None:
    # Of two bounds one says nothing: there the control is refuted, and there alone.
    arguments = (
        "compare=AtMost(trivial=1.0), predict=lambda x: [1.0 * x for _ in 'a'] + [0.5],"
        " measure=lambda x: [0.4 for _ in 'a'] + [0.3],"
        " must_refute=lambda x: [0.1 for _ in 'a'] + [0.45]"
    )
    row = _row(toy_entry(arguments, INFINITE), tmp_path)
    assert row.outcome == Outcome.HOLDS
    assert not row.green
    again = _row(toy_entry(arguments.replace("0.45", "0.25"), INFINITE), tmp_path)
    assert again.green


@pytest.mark.parametrize(("control", "green"), [("1.0", False), ("1.2", True)])
def test_a_control_is_a_value_that_could_be_measured(
    toy_entry: Toy, tmp_path: Path, control: str, green: bool
) -> None:
    arguments = (
        "compare=AtMost(origin=1.0), predict=lambda x: 2.0, measure=lambda x: 1.5,"
        f" must_refute=lambda x: {control}"
    )
    assert _row(toy_entry(arguments, INFINITE), tmp_path).green is green


@pytest.mark.parametrize("compare", ["AgreesTo(absolute=0.1)", "AtMost()"])
def test_a_mirror_image_is_no_control(
    toy_entry: Toy, tmp_path: Path, compare: str
) -> None:
    sides = "measure=lambda x: x, predict=lambda x: x"
    mirrored = f"compare={compare}, {sides}, must_refute=lambda x: -x"
    row = _row(toy_entry(mirrored, INFINITE), tmp_path)
    assert (row.outcome, row.green) == (Outcome.HOLDS, False)
    shifted = mirrored.replace("lambda x: -x", "lambda x: 0.5 * x")
    assert _row(toy_entry(shifted, INFINITE), tmp_path).green


@pytest.mark.parametrize(
    ("measure", "verdict", "resolves"),
    [
        ("lambda x: 0.8 / x", "holds", "×1.2"),
        ("lambda x: 0.4 / x", "holds, looser than declared", "×2.5"),
        ("lambda x: 0.4 if x == 3 else 0.5 / x", "not", ""),
        ("lambda x: 0.3 if x == 3 else 1e-9", "holds", "×1.1"),
    ],
)
def test_a_bound_says_by_how_much_it_could_shrink(
    toy_entry: Toy, tmp_path: Path, measure: str, verdict: str, resolves: str
) -> None:
    arguments = (
        f"compare=AtMost(), predict=ladder, measure={measure},"
        " must_refute=lambda x: 0.0"
    )
    row = _row(toy_entry(arguments, INFINITE), tmp_path)
    if verdict == "not":
        assert row.outcome == Outcome.REFUTED
        return
    assert row.verdict == verdict
    # Wide enough for what would have been caught.
    text = as_text((row,), width=170, colour=False)
    assert resolves in text
    assert row.green == (not row.loose)
    assert ("2.5 times as small in every case" in text) == row.loose
    (shown,) = json.loads(as_json((row,)))
    assert shown["slack"] == row.slack


def test_a_bound_that_is_known_to_be_loose_says_so(
    toy_entry: Toy, tmp_path: Path
) -> None:
    arguments = (
        "compare=AtMost(), predict=ladder, measure=lambda x: 0.4 / x,"
        " must_refute=lambda x: 0.0, loose=True"
    )
    row = _row(toy_entry(f"{arguments}, finding='Why.'", INFINITE), tmp_path)
    assert (row.green, row.verdict) == (True, "holds, loosely")
    assert "1 hold, loosely" in as_text((row,), width=120, colour=False)
    with pytest.raises(ValueError, match="needs a finding"):
        toy_entry(arguments, INFINITE)


@pytest.mark.parametrize(
    "control", ["None", "(i for i in (x, x))", "x", "{1: x}", "'no'"]
)
def test_a_control_of_another_form_is_no_wrong_prediction(
    toy_entry: Toy, tmp_path: Path, control: str
) -> None:
    """A ``return`` was forgotten, or a ``list``: whatever is measured refutes that."""
    sides = "predict=lambda x: [x * 1, x], measure=lambda x: [x, x]"
    arguments = f"compare=Identical(), {sides}, must_refute=lambda x: {control}"
    extra = "from verify.compare import Identical"
    row = _row(toy_entry(arguments, extra), tmp_path)
    assert (row.outcome, row.green) == (Outcome.HOLDS, False)
    sound = arguments.replace(f": {control}", ": [x, x, x]")
    assert _row(toy_entry(sound, extra), tmp_path).green


def test_sides_that_forgot_to_return_are_not_green(
    toy_entry: Toy, tmp_path: Path
) -> None:
    arguments = (
        "compare=Identical(), predict=lambda x: None, measure=lambda x: (None),"
        " must_refute=lambda x: 1"
    )
    extra = "from verify.compare import Identical"
    assert not _row(toy_entry(arguments, extra), tmp_path).green


SORTS = """
def sorts(xs):
    xs.sort()
    return xs[0]
"""


def test_what_a_prediction_makes_of_its_case_is_not_measured(
    toy_entry: Toy, tmp_path: Path
) -> None:
    arguments = (
        "cases=({'xs': [2, 1]},), predict=sorts, measure=lambda xs: xs[0],"
        " must_refute=lambda xs: 5"
    )
    entry = toy_entry(arguments, SORTS)
    assert _row(entry, tmp_path).outcome == Outcome.REFUTED
    assert entry.claim.cases == ({"xs": [2, 1]},)


CARELESS = """
import mpmath
import numpy as np
def careless(x):
    np.seterr(all="ignore")
    mpmath.mp.dps = 3
    return x**2
"""


def test_what_a_claim_sets_ends_with_it(toy_entry: Toy, tmp_path: Path) -> None:
    """The verdict on the next one would depend on who ran before it."""
    before = np.geterr(), mpmath.mp.dps
    assert _row(toy_entry("measure=careless", CARELESS), tmp_path).green
    assert (np.geterr(), mpmath.mp.dps) == before


# --- records --------------------------------------------------------------------------


def _forged(entry: Any, folder: Path, change: Callable[[dict[str, Any]], None]) -> Row:
    """Change a record as somebody would who knows how its digest is made."""
    run.run_and_write(entry, Profile.QUICK, folder)
    path = records.path_of(entry.claim.id, folder)
    data = unsealed(json.loads(path.read_text()))
    change(data)
    path.write_text(json.dumps(sealed(data)))
    (row,) = build((entry,), folder)
    return row


def _says_holds(data: dict[str, Any]) -> None:
    data.update(outcome="holds", green=True, control_passed=True)
    for case in data["cases"]:
        case.update(outcome="holds", gap=0.0, control="refuted")


def _set(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda data: data.update(fields)


def _set_case(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda data: data["cases"][0].update(fields)


def _lose_a_case(data: dict[str, Any]) -> None:
    del data["cases"][0]


FORGERIES: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "another claim": _set(claim="dc/eq2"),
    "another profile": _set(profile="gpu"),
    "another comparison": _set(comparison="AtMost"),
    "green as a word": _set(green="no"),
    "packages as a list": _set(packages=[]),
    "device as a number": _set(device=5),
    "seconds as nothing": _set(seconds=None),
    "an entry that is none": _set_case(worst=1.5),
    "a case that is none": _set_case(case=[1]),
    "another case": _set_case(case={"x": 7}),
    "a case less": _lose_a_case,
    "no cases": _set(cases=[]),
    "another control": _set_case(control="holds"),
    "a control that is none": _set_case(control_predicted="nan"),
    "another field": _set(remark="trust me"),
    "a prediction moved": _set_case(predicted=1.5),
    "a newer schema": _set(schema=99),
    "seconds beyond float64": _set(seconds=10**400),
    "a gap beyond float64": _set_case(gap=10**400),
    "a gap over nothing": _set_case(gap="1/0"),
    "a prediction over nothing": _set_case(predicted=["1/0"]),
    "an enclosure inside out": _set_case(
        measured={"lower": 2, "upper": 1, "covers": "x", "boxes": 1}
    ),
    "a measurement of another kind": _set_case(
        measured={"lower": "a", "upper": [], "covers": 3, "boxes": "x"}
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_record_is_none(toy_entry: Toy, tmp_path: Path, name: str) -> None:
    row = _forged(toy_entry(""), tmp_path, FORGERIES[name])
    assert row.outcome == NOT_RUN
    assert not row.green
    assert row.remark
    assert row.remark in as_text((row,), width=2000, colour=False)


SEARCH = """
from hypothesis import strategies as st

def draws():
    return st.fixed_dictionaries({"x": st.integers(0, 9)})

def planted(x):
    return x * x + (x > 3)
"""


def test_a_search_that_found_a_counterexample_is_no_search_that_found_none(
    toy_entry: Toy, tmp_path: Path
) -> None:
    def hide(data: dict[str, Any]) -> None:
        data.update(outcome="holds", green=True)
        data["search"]["outcome"] = "holds"

    entry = toy_entry("predict=planted, examples=draws", SEARCH)
    assert _row(entry, tmp_path).outcome == Outcome.REFUTED
    row = _forged(entry, tmp_path, hide)
    assert row.outcome == NOT_RUN
    assert not row.green


@pytest.mark.parametrize(
    "change", [{"outcome": "open"}, {"examples": 0}, {"closest": None}]
)
def test_a_search_that_tried_nothing_is_none(
    toy_entry: Toy, tmp_path: Path, change: dict[str, Any]
) -> None:
    entry = toy_entry("examples=draws, max_examples=5", SEARCH)
    row = _forged(entry, tmp_path, lambda data: data["search"].update(change))
    assert row.outcome == NOT_RUN


def test_a_case_that_is_judged_has_no_error(toy_entry: Toy, tmp_path: Path) -> None:
    row = _forged(toy_entry(""), tmp_path, _set_case(error="it went wrong"))
    assert row.green
    assert row.record is not None
    assert not row.record.cases[0].error


def test_a_page_shows_an_error_that_says_nothing(
    toy_entry: Toy, tmp_path: Path
) -> None:
    def blank(data: dict[str, Any]) -> None:
        for case in data["cases"]:
            case.update(error="\n")

    row = _forged(toy_entry("measure=lambda x: 1 / 0"), tmp_path, blank)
    page = as_html((row,), profile=Profile.QUICK, whole=False)
    assert "in error" in page


def test_a_claim_is_shown_with_the_last_line_of_its_error(
    toy_entry: Toy, tmp_path: Path
) -> None:
    row = _row(toy_entry("measure=broken"), tmp_path)
    said = " ".join(describe(row, tmp_path).split())
    assert "profile quick: error; ArithmeticError: no such power" in said


UNPRINTABLE = """
def odd(x):
    raise ValueError(f"no file {chr(0xdcff)}{chr(27)}[2J")
"""


@pytest.mark.parametrize(
    "show", [lambda rows: as_text(rows, width=80, colour=False), as_json, as_markdown]
)
def test_an_error_of_any_characters_can_be_shown(
    toy_entry: Toy, tmp_path: Path, show: Callable[..., str]
) -> None:
    """A name that is no UTF-8, a sequence that clears a terminal."""
    row = _row(toy_entry("measure=odd", UNPRINTABLE), tmp_path)
    assert row.worst is not None
    assert r"no file \udcff\x1b[2J" in row.worst.error
    assert all(c == "\n" or c.isprintable() for c in show((row,)))


def test_a_measured_text_of_any_characters_can_be_shown(
    toy_entry: Toy, tmp_path: Path
) -> None:
    extra = "from verify.compare import Identical\ndef esc(x): return chr(27) + '[2J'"
    row = _row(toy_entry("compare=Identical(), measure=esc", extra), tmp_path)
    assert row.outcome == Outcome.REFUTED
    assert "\x1b" not in as_text((row,), width=80, colour=False)


def test_a_refuted_claim_does_not_hold_because_its_record_says_so(
    toy_entry: Toy, tmp_path: Path
) -> None:
    row = _forged(toy_entry("predict=doubled"), tmp_path, _says_holds)
    assert row.outcome == NOT_RUN
    assert "outcome" in row.remark


def test_the_gap_that_is_shown_is_that_of_the_numbers(
    toy_entry: Toy, tmp_path: Path
) -> None:
    def close(data: dict[str, Any]) -> None:
        for case in data["cases"]:
            case.update(gap=1e-30, resolves=1e-30)

    arguments = "compare=AgreesTo(absolute=0.5), predict=lambda x: x * x + 0.25"
    row = _forged(toy_entry(arguments), tmp_path, close)
    assert row.worst is not None
    assert (row.outcome, row.worst.gap, row.worst.resolves) == ("holds", 0.25, 0.5)


def test_a_record_changed_by_hand_is_none(toy_entry: Toy, tmp_path: Path) -> None:
    entry = toy_entry("")
    run.run_and_write(entry, Profile.QUICK, tmp_path)
    path = records.path_of(entry.claim.id, tmp_path)
    path.write_text(path.read_text().replace('"seconds": 0.0', '"seconds": 1.0', 1))
    (row,) = build((entry,), tmp_path)
    assert row.outcome == NOT_RUN
    assert "its digest is not that of its content" in row.remark


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "[" * 100_000, "\xff"])
def test_a_file_that_is_no_record_stops_no_other(
    toy: Toy, tmp_path: Path, content: str
) -> None:
    from verify import ledger

    entries = ledger.entries(
        toy(one="CLAIMS = tuple(Claim(id=f'dc/eq{i}', **COMMON) for i in (1, 2))")
    )
    for entry in entries:
        run.run_and_write(entry, Profile.QUICK, tmp_path)
    path = records.path_of("dc/eq1", tmp_path)
    path.write_text(content, encoding="latin-1")
    rows = build(entries, tmp_path)
    assert [row.outcome for row in rows] == [NOT_RUN, "holds"]
    path.unlink()
    path.mkdir()
    rows = build(entries, tmp_path)
    assert [row.outcome for row in rows] == [NOT_RUN, "holds"]
    assert "Is a directory" in rows[0].remark


def test_an_older_record_is_stale_and_not_judged(
    toy_entry: Toy, tmp_path: Path
) -> None:
    row = _forged(toy_entry(""), tmp_path, _set(code="0" * 12, outcome="refuted"))
    assert row.outcome == STALE


@pytest.mark.parametrize(
    "error",
    [
        "MemoryError()",
        "OSError(28, 'No space left on device')",
        "RuntimeError('[enforce fail] DefaultCPUAllocator: can\\'t allocate memory')",
    ],
)
def test_errors_of_the_machine_are_no_verdicts(
    toy_entry: Toy, tmp_path: Path, error: str
) -> None:
    entry = toy_entry("measure=fail", f"def fail(x):\n    raise {error}\n")
    with pytest.raises((MemoryError, OSError, RuntimeError)):
        run.run_and_write(entry, Profile.QUICK, tmp_path)
    assert records.find(entry.claim, tmp_path) is None


# --- encoding and back ----------------------------------------------------------------


def test_infinities_are_written_and_read() -> None:
    assert records.decode(records.encode([math.inf, -math.inf])) == [
        math.inf,
        -math.inf,
    ]


def test_a_prediction_that_reads_the_record_is_an_error(
    toy_entry: Toy, tmp_path: Path
) -> None:
    """It agreed with whatever had been measured before."""
    arguments = "predict=told, measure=doubled, must_refute=off_by_one"
    extra = (
        "import json\nfrom pathlib import Path\ndef told(x):\n"
        "    found = Path(__file__).parents[1] / 'dc-eq1.json'\n"
        "    if not found.exists(): return 0\n"
        "    cases = json.loads(found.read_text())['cases']\n"
        "    return next(c['measured'] for c in cases if c['case']['x'] == x)\n"
    )
    entry = toy_entry(arguments, extra)
    assert _row(entry, tmp_path).outcome == Outcome.REFUTED
    row = _row(entry, tmp_path)
    assert row.outcome == Outcome.ERROR
    assert row.worst is not None
    assert "must not read what was measured" in row.worst.error
