"""The terminal table, and numbers with the digits they deserve."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from verify import run
from verify.claim import Profile
from verify.compare import Outcome
from verify.records import CaseRecord
from verify.report import as_text, build, numbers
from verify.report.plain import formula
from verify.report.rows import Row, summary

Toy = Callable[..., Any]


def _row(entry: Any, folder: Path) -> Row:
    run.run_and_write(entry, Profile.QUICK, folder)
    return build((entry,), folder)[0]


@pytest.mark.parametrize("width", [60, 80, 119, 120, 160])
def test_lines_fit_the_terminal(toy_entry: Toy, tmp_path: Path, width: int) -> None:
    text = as_text((_row(toy_entry(""), tmp_path),), width=width, colour=False)
    assert max(len(line) for line in text.splitlines()) <= width
    assert "dc/eq1" in text
    assert "\x1b" not in text
    assert ("predicted" in text) == (width >= 120)
    assert ("gap" in text) == (width >= 160)


def test_titles_have_the_room_that_outcomes_leave(
    toy_entry: Toy, tmp_path: Path
) -> None:
    short, long = (
        replace(_row(toy_entry(f"title='{'A title of sixty letters ' * 4}'"), tmp_path))
        for _ in range(2)
    )
    older = Row(claim=long.claim, record=long.record, outcome="undecided")
    long = replace(long, published=(older, older))
    lines = as_text((short, long), width=80, colour=False).splitlines()
    found = [line for line in lines if line.startswith("dc/eq1")]
    # 19 columns of the claim's name and two in front of the outcome.
    assert [line.index("…") for line in found] == [
        len(line) - len(line.split("…")[1]) - 1 for line in found
    ]
    assert all(len(line) == 80 for line in found)
    assert found[0].endswith("…  holds")
    # What would cut the title to a few letters stands below it.
    assert len(found[1].partition("…")[0]) > 19 + 28
    below = lines[lines.index(found[0]) + 2]
    assert below.startswith(" ")
    assert below.strip() == "undecided (); undecided ()"


ARMS = ((5.0, 5.1, 5.2, 5.12), (1.0, 1.1, 1.0, 1.2))
EFFECT = f"""
from verify.compare import Contrast, EffectWithin

def arms(x):
    return Contrast(*{ARMS})

def least(x):
    return (0.5, None)

def none(x):
    return (None, 0.0)
"""


def test_an_effect_has_its_interval_and_its_unit(
    toy_entry: Toy, tmp_path: Path
) -> None:
    arguments = (
        "measure=arms, predict=least, must_refute=none, evidence=Evidence.TREND,"
        " compare=EffectWithin(unit='points')"
    )
    row = _row(toy_entry(arguments, EFFECT), tmp_path)
    (line,) = (
        line
        for line in as_text((row,), width=120, colour=False).splitlines()
        if line.startswith("dc/eq1")
    )
    again = stats.ttest_ind(*ARMS, equal_var=False).confidence_interval(0.98)
    ends = f"[{again.low:.2f}, {again.high:.2f}]"
    assert f"4.03 {ends} points (≥ 0.5)  holds" in line


def test_the_sum_says_seconds_of_what(toy_entry: Toy, tmp_path: Path) -> None:
    row = _row(toy_entry(""), tmp_path)
    assert row.record is not None
    longer = replace(row, record=replace(row.record, seconds=7.3))
    assert summary([longer]).endswith(
        "(checked in 7 s of computing, training not counted)"
    )


def test_a_red_claim_is_explained_above_the_table(
    toy_entry: Toy, tmp_path: Path
) -> None:
    row = _row(toy_entry("predict=doubled, must_refute=square"), tmp_path)
    text = as_text((row,), width=100, colour=False)
    assert f"dc/eq1: refuted, expected: holds\n  {row.claim.title}\n" in text
    # Lines that are folded stay indented.
    above = as_text((row,), width=40, colour=False).partition("\n\n")[0].splitlines()
    assert all(line.startswith("  ") for line in above[1:])
    assert "expected 2, observed 1 (gap 1 rel) at x = 1" in text
    assert "control: square (refuted in 0 of 3 cases)" in text


def test_colours_are_left_out_where_nobody_wants_them(
    toy_entry: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = build((toy_entry(""),), tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[33m" in as_text(rows, width=80, colour=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[33m" not in as_text(rows, width=80, colour=True)


def test_colours_only_when_asked(toy_entry: Toy, tmp_path: Path) -> None:
    row = _row(toy_entry(""), tmp_path)
    assert "\x1b[" in as_text((row,), width=100, colour=True)


def _case(measured: Any, predicted: Any = 0.0, **more: Any) -> CaseRecord:
    return CaseRecord(
        case={}, outcome=Outcome.HOLDS, measured=measured, predicted=predicted, **more
    )


@pytest.mark.parametrize(
    ("limits", "shown"),
    [((0.5, None), "≥ 0.5"), ((None, 0.5), "≤ 0.5"), ((0.0, 0.5), "0 to 0.5")],
)
def test_limits_of_an_effect_are_shown_as_such(limits: Any, shown: str) -> None:
    measured = {"treated": [1.0, 2.0], "baseline": [0.0, 1.0]}
    assert numbers.predicted_of(_case(measured, list(limits))) == shown


@pytest.mark.parametrize(
    ("mean", "stderr", "shown"),
    [
        (0.123456, 0.004, "0.123 ± 0.004"),
        # Two digits of an error that starts with a 1.
        (0.123456, 0.0123, "0.123 ± 0.012"),
        (-12.3456, 0.5, "−12.3 ± 0.5"),
        (1.0, 0.0, "1 ± 0"),
        (1234.5, 77.0, "1.23e+03 ± 7.7e+01"),
        (6.56e-30, 8.5e-32, "6.56e−30 ± 8.5e−32"),
    ],
)
def test_digits_follow_the_standard_error(
    mean: float, stderr: float, shown: str
) -> None:
    measured = {"mean": mean, "stderr": stderr, "replicates": 9}
    assert numbers.measured_of(_case(measured)) == shown


@pytest.mark.parametrize(
    ("measured", "shown"),
    [
        (1.0 / 3.0, "0.333333"),
        (12, "12"),
        (-1, "−1"),
        (-0.5, "−0.5"),
        (True, "yes"),
        ("1/3", "0.333333"),
        ("odd", "odd"),
        ([1.0, 2.0], "2"),
        ({"lower": 0.5, "upper": 0.75, "covers": "", "boxes": 1}, "[0.5, 0.75]"),
        ({"lower": 0.5, "upper": 0.5, "covers": "", "boxes": 1}, "0.5"),
    ],
)
def test_values_are_shown_short(measured: Any, shown: str) -> None:
    assert numbers.measured_of(_case(measured, worst=1)) == shown


@pytest.mark.parametrize(
    ("gap", "unit", "shown"),
    [
        (0.0, "exact", "none"),
        (float("inf"), "exact", "differs"),
        (1.24e-14, "relative", "1.2e−14 rel"),
        (-0.5, "absolute", "−0.5"),
        (float("inf"), "absolute", "∞"),
    ],
)
def test_gaps_have_their_unit(gap: float, unit: str, shown: str) -> None:
    assert numbers.gap_of(_case(1.0, gap=gap, unit=unit)) == shown


def test_digits_below_what_is_resolved_are_noise() -> None:
    told = {"resolves": 1e-13, "unit": "absolute"}
    case = _case([2.2e-16, 0.5], 4.4e-16, **told)
    assert (numbers.measured_of(case), numbers.predicted_of(case)) == ("0", "0")
    assert numbers.gap_of(replace(case, gap=2.2e-16)) == "2.2e−16"
    # Of a relative error any digit may count, and of a bound that is met exactly.
    assert numbers.measured_of(replace(case, unit="relative")) == "2.2e−16"
    assert numbers.measured_of(replace(case, resolves=0.0)) == "2.2e−16"
    # What a bound resolves is no error of its numbers.
    assert numbers.predicted_of(replace(case, slack=2.0)) == "4.4e−16"


def test_a_bound_says_of_which_side(toy_entry: Toy, tmp_path: Path) -> None:
    below = "from verify.compare import AtLeast\n"
    row = _row(toy_entry("compare=AtLeast()", below), tmp_path)
    assert re.fullmatch("≥ [149]", numbers.predicted_of(row))
    shown = f"{numbers.measured_of(row)} ({numbers.predicted_of(row)})"
    assert shown in as_text((row,), width=120, colour=False)
    assert not numbers.predicted_of(_row(toy_entry(""), tmp_path)).startswith("≥")


def test_an_arm_alone_is_not_said_to_be_against_another() -> None:
    alone = {"treated": [0.5, 0.7], "baseline": [0.0, 0.0]}
    assert numbers.measured_of(_case(alone)) == "0.6"
    both = alone | {"baseline": [0.0, 0.2]}
    assert numbers.measured_of(_case(both)) == "0.6 against 0.1"


def test_what_a_check_resolves_has_the_unit_of_its_gap() -> None:
    assert (
        numbers.resolves_of(_case(1.0, resolves=1e-12, unit="relative")) == "1e−12 rel"
    )
    assert numbers.resolves_of(_case(1.0, resolves=0.5, unit="absolute")) == "0.5"


def test_a_case_in_error_shows_no_numbers() -> None:
    case = _case(None, error="Traceback")
    assert numbers.measured_of(case) == numbers.predicted_of(case) == ""
    assert numbers.gap_of(case) == numbers.resolves_of(case) == ""


@pytest.mark.parametrize(
    ("latex", "shown"),
    [
        (r"\frac{2\mu}{1+\mu} (1 - \rho)", "2μ/(1 + μ) · (1 − ρ)"),
        (r"\hat\sigma''(\rho)^2", "σ̂′′(ρ)²"),
        (r"\sum_{k \ge 0} a_k^2 \rho^k", "∑_(k ≥ 0)a_k² ρ^k"),
        (r"\tbinom{M}{2} \log n", "(M choose 2) log n"),
        (
            r"x > -1 \iff \overline{|f_n|} \le \sqrt{\tfrac12}",
            "x > −1 ⟺ overline(|f_n|) ≤ √(1/2)",
        ),
        (r"\frac{\overline{a+b}}2 \sqrt{\overline{e}}", "overline(a + b)/2 · √e\u0304"),
        (r"\overline{\cos}(f(x), x)", "overline(cos)(f(x), x)"),
        (r"K^{(m)}_{ij} = \|x\|^2, \quad m \to \infty", "K_ij^(m) = ‖x‖², m → ∞"),
        (r"\frac{k}{\sqrt{1 - \rho^2}}", "k/√(1 − ρ²)"),
        (r"\frac{1}{dn} + \frac{d\rho}{dt}", "1/(dn) + dρ/dt"),
        (
            r"\frac{1}{2\pi} n + \frac{1}{m^2} \frac{d}{dt} f",
            "1/(2π) · n + 1/m² · d/dt · f",
        ),
        (r"\sqrt{K_{xx} K_{yy}} \sqrt[3]{2}", "√(K_xx K_yy)³√2"),
        (r"3\sqrt{\ln(2/\delta)/(2N)}", "3√(ln(2/δ)/(2N))"),
        (r"\frac{dL}{dt} = \frac1{m^2\sqrt{8\pi}}", "dL/dt = 1/(m²√(8π))"),
        (
            r"\frac N{2b} |x + \tfrac13| + \tfrac12 |y|",
            "N/(2b) · |x + 1/3| + 1/2 · |y|",
        ),
        (r"\sqrt[3]{a + b} \ge \sqrt{1 - \rho^2}", "³√(a + b) ≥ √(1 − ρ²)"),
        (r"\arcsin \tfrac{K}{1 + q} \text{ or } 2", "arcsin (K/(1 + q)) or 2"),
        (r"\mathrm{erf}\frac p\gamma", "erf(p/γ)"),
        (r"\log_2 \frac{f(w)}\epsilon + \log_2 n", "log_2 ((f(w))/ϵ) + log_2 n"),
        (r"|-x| - (x + 1)_+ + 2, w \gets -w", "|−x| − (x + 1)_+ + 2, w ← −w"),
        (r"\tfrac{n}{m} \text{ or } \frac{2}{k}", "n/m or 2/k"),
    ],
)
def test_formulas_as_text(latex: str, shown: str) -> None:
    assert formula(latex) == shown
