"""What symbolic proofs compare, as formulas: nothing lost, and nothing but formulas."""

from dataclasses import replace

import pytest

from verify.compare import Outcome
from verify.records import CaseRecord
from verify.report import expressions, numbers
from verify.report.html import markup
from verify.report.html.templating import templates


def _case(predicted: object, measured: object, gap: float = 0.0) -> CaseRecord:
    outcome = Outcome.REFUTED if gap else Outcome.HOLDS
    return CaseRecord(
        case={},
        outcome=outcome,
        gap=gap,
        unit="exact",
        predicted=predicted,
        measured=measured,
    )


def _shown(case: CaseRecord, side: str) -> str:
    """Return a side as a card shows it."""
    return templates().from_string(f"{{{{ case|{side} }}}}").render(case=case)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("-1/(2*lambda - 1)", r"-\frac{1}{2\lambda -1}"),
        ("x0_0**2*v_1 - y_01/2", r"x_{0,0}^{2}v_{1}-\frac{y_{01}}{2}"),
        ("2**n*3*(a + b)*pi", r"2^{n}3(a+b)\pi "),
        ("2*3 + C*M", r"2\cdot 3+CM"),
        ("exp(-2*t)*erf(p/s)**2", r"e^{-2t}(\operatorname{erf}(\frac{p}{s}))^{2}"),
        ("a/(b/c) + (a/b)/c", r"\frac{a}{\frac{b}{c}}+\frac{\frac{a}{b}}{c}"),
        ("a*(b/c)*(-d)", r"a\frac{b}{c}(-d)"),
        ("a - (b - c)", "a-(b-c)"),
        ("exp(-c**2/(2*s**2))/pi**(3/2)", r"\frac{e^{-c^{2}/(2s^{2})}}{\pi ^{3/2}}"),
        ("exp(-1/s**2)*exp(a/(b + c))", "e^{-1/s^{2}}e^{a/(b+c)}"),
        ("(-a + b)/c", r"\frac{-a+b}{c}"),
    ],
)
def test_an_expression_is_a_formula(text: str, shown: str) -> None:
    assert expressions.latex(text) == shown
    assert "formula-error" not in markup.formula(shown)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').remove('x')",
        "tanh.normalized()",
        "sqrt(x, y)",
        "eval(x)",
        "[x for x in y]",
        "x if y else z",
        "lambda: 0",
        "'x'",
        "True",
        "4 networks",
        "nngp",
        "((((" * 999,
        "x" + "+x" * 99_999,
        "1" + "**1" * 9_999,
    ],
)
def test_other_text_is_none(text: str) -> None:
    assert expressions.latex(text) == ""


def test_of_a_long_sum_the_first_terms_and_their_number_are_shown() -> None:
    text = " + ".join(f"x_{k}*y_{k}" for k in range(50))
    shown = expressions.latex(text)
    assert shown.startswith("x_{0}y_{0}+x_{1}y_{1}+")
    assert shown.endswith(r"+\cdots\ (50\text{ terms})")
    assert len(shown) < 200


def test_a_proof_shows_its_expressions_as_formulas() -> None:
    case = _case(["0", "rho**2/2", "x_0*y_0"], ["0", "rho**2/2", "x_0*y_0"])
    assert numbers.predicted_of(case) == "0; ρ²/2; x_0 y_0"
    assert _shown(case, "predicted").count("<math") == 3
    assert _shown(case, "measured") == "the same"


def test_a_proof_that_fails_shows_where() -> None:
    case = replace(_case(["x", "y"], ["x", "2*y"], gap=1.0), worst=1)
    assert (numbers.predicted_of(case), numbers.measured_of(case)) == ("y", "2y")
    assert "<mi>y</mi>" in _shown(case, "measured")
    assert "<mi>x</mi>" not in _shown(case, "predicted")


def test_settings_are_told_by_name_and_digests_counted() -> None:
    one = {"batch": 50, "rates": [0.1, 0.2], "drop": None}
    assert (
        numbers.predicted_of(_case(one, one))
        == "batch: 50, rates: [0.1, 0.2], drop: none"
    )
    other = one | {"batch": 20}
    case = _case(one, other, gap=1.0)
    assert (numbers.predicted_of(case), numbers.measured_of(case)) == (
        "batch: 50",
        "batch: 20",
    )
    digests = {"bn": "ae0fb29804631611", "wn": "e998d1ecf234bbdb"}
    assert numbers.predicted_of(_case(digests, digests)) == "2 digests"
    assert numbers.measured_of(_case(digests, digests | {"wn": "0" * 16}, 1.0)) == (
        "wn: 0000000000000000"
    )
