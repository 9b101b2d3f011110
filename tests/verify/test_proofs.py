"""What certificates and symbolic proofs stand on: links to the library, enclosed flows."""

import math
from typing import Any

import flint
import pytest
import sympy

from theory import lengths
from verify import enclose, integrals, ledger
from verify.claim import Claim, Evidence, Profile, Source, declared
from verify.claims import _certified, _symbolic
from verify.claims.deep_conditioning.proved import _energies
from verify.compare import Outcome
from verify.enclose_flow import flow
from verify.judging import judge

x, y = sympy.symbols("x y")


def test_a_formula_that_the_library_does_not_have_is_an_error() -> None:
    where = _certified.points((0.1, 1.0))
    _certified.agree(math.exp, lambda v: v.exp(), where)
    with pytest.raises(ArithmeticError, match="the library has"):
        _certified.agree(math.expm1, lambda v: v.exp(), where)
    # A part in 1e12 is seen at the tolerance of rounding.
    with pytest.raises(ArithmeticError):
        _certified.agree(lambda v: math.exp(v) * (1 + 1e-12), lambda v: v.exp(), where)


def test_a_library_that_answers_nan_does_not_agree() -> None:
    with pytest.raises(ArithmeticError):
        _certified.agree(lambda _: math.nan, lambda v: v, [[0.5]])


def test_values_of_one_constant_have_to_be_one() -> None:
    assert _certified.common([2.0, 2.0 + 1e-12], relative=1e-9) == pytest.approx(2.0)
    for values in ([2.0, 2.1], [2.0, math.nan], [-1.0, 1.0]):
        with pytest.raises(ArithmeticError):
            _certified.common(values, relative=1e-9)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((x + y) ** 3, x**3 + 3 * x**2 * y + 3 * x * y**2 + y**3),
        (1 / (x - y) - 1 / (x + y), 2 * y / (x**2 - y**2)),
        (sympy.exp(2 * x) / sympy.exp(x), sympy.exp(x)),
    ],
)
def test_equal_expressions_have_one_normal_form(one: Any, other: Any) -> None:
    assert _symbolic.normal(one) == _symbolic.normal(other)
    assert _symbolic.normal(one) != _symbolic.normal(2 * other)


def _square(**changes: Any) -> Claim:
    parts: dict[str, Any] = {
        "id": "dc/eq1",
        "items": ("Eq1",),
        "title": "A square",
        "statement": "x^2",
        "source": Source("agarwal2021deep", "nowhere"),
        "derived": lambda: [sympy.expand((x + 1) ** 2)],
        "formula": lambda: [x**2 + 2 * x + 1],
        "wrong": lambda: [x**2 + x + 1],
        "mistake": "The middle term once",
        "links": lambda: [
            _symbolic.Link(lambda v: (v + 1.0) ** 2, (x + 1) ** 2, {x: (0.0, 1.0)})
        ],
    }
    return _symbolic.proof(**(parts | changes))


def test_a_proof_holds_and_refutes_its_control() -> None:
    found = judge(_square(), {})
    assert found.outcome is Outcome.HOLDS
    assert found.control == Outcome.REFUTED


def test_a_wrong_formula_is_refuted() -> None:
    wrong = _square(formula=lambda: [x**2 + 1])
    assert judge(wrong, {}).outcome is Outcome.REFUTED


def test_a_proof_of_what_the_library_does_not_compute_is_an_error() -> None:
    def links() -> list[_symbolic.Link]:
        return [_symbolic.Link(lambda v: v * v, (x + 1) ** 2, {x: (0.0, 1.0)})]

    found = judge(_square(links=links), {})
    assert found.outcome is Outcome.ERROR
    assert "ArithmeticError" in found.error


def test_every_proof_and_certificate_compares_the_library() -> None:
    for entry in ledger.entries():
        claim = entry.claim
        if claim.evidence is Evidence.SYMBOLIC and entry.module.endswith("proofs"):
            assert claim.predict is not None
            assert claim.predict.__module__ == "verify.claims._symbolic"


# --- energies, flows, the profile -----------------------------------------------------


@pytest.mark.parametrize(
    ("id", "name"),
    [
        *((f"dc/fact1-{c}", "normrelu_length") for c in ("concave", "concave-limit")),
        *((f"dc/fact1-{c}", "normrelu_bias") for c in ("convex", "convex-limit")),
        ("dc/E9-as-read", "normrelu_length_slope"),
    ],
)
def test_a_sign_on_boxes_is_that_of_the_library_s_function(
    monkeypatch: pytest.MonkeyPatch, id: str, name: str
) -> None:
    (found,) = (e.claim for e in ledger.find(id) if e.claim.id == id)
    assert found.predict is not None
    found.predict(**found.cases[0])
    right = getattr(lengths, name)
    monkeypatch.setattr(lengths, name, lambda *at: right(*at) + 1e-6)
    with pytest.raises(ArithmeticError, match="the library has"):
        found.predict(**found.cases[0])


@pytest.mark.parametrize("name", ["gelu", "step", "relu_squared"])
def test_energies_with_a_mean_hold_the_definitions(name: str) -> None:
    found, law = _energies.energies_with_mean(name, 8), integrals.law(name)
    with flint.ctx.workprec(integrals.BITS):
        square = integrals.arb(law.moment())
        for k, ball in enumerate(found.p):
            exact = integrals.arb(law.coefficient(k)) ** 2 / square
            assert ball.contains(exact)
            assert ball.rad() < 1e-19


@pytest.mark.parametrize("name", _energies.SLOPED)
def test_enclosed_slopes_are_the_library_s(name: str) -> None:
    from verify.claims.deep_conditioning._subjects import subject

    a = subject(name)
    scale = 1.0
    if name.startswith("normrelu"):  # its pieces are not scaled
        scale = float(a(10.0) - a(9.0)) ** 2
    found = float(_energies.slope_energy(name)) * scale
    assert found == pytest.approx(a.derivative_second_moment, rel=1e-13)


def test_an_enclosed_flow_holds_the_closed_form() -> None:
    # The pendulum of unit frequency, three quarters of a turn.
    one, nought = flint.arb(1), flint.arb(0)
    end = 1.5 * math.pi
    found = flow(lambda s: [s[1], -s[0]], [one, nought], end, 60)
    with flint.ctx.workprec(enclose.BITS):
        exact = flint.arb(end).cos(), -flint.arb(end).sin()
        for ball, value in zip(found, exact, strict=True):
            assert ball.contains(value)
            assert float(ball.rad()) < 1e-15


def test_a_flow_that_ends_in_infinite_time_is_not_enclosed() -> None:
    with pytest.raises(ArithmeticError, match="too long"):
        flow(lambda s: [s[0] * s[0]], [flint.arb(1)], 1.5, 3)


def test_certify_runs_only_what_has_wider_boxes() -> None:
    everything = ledger.entries()
    chosen = ledger.in_profile(everything, Profile.CERTIFY)
    assert chosen
    assert {e.claim.evidence for e in chosen} == {Evidence.CERTIFICATE}
    for entry in chosen:
        assert entry.claim.cases_for(Profile.CERTIFY) != entry.claim.cases
    assert ledger.in_profile(everything, Profile.FULL) == everything


def test_quotients_with_no_jet_on_the_hull_are_still_enclosed() -> None:
    # asin has no derivative at one, which the hull of [0.9, 1] and 1/2 contains.
    rise = enclose.quotient(
        lambda v: v.asin() - flint.arb(0.5).asin(), flint.arb(0.5), 1
    )
    with flint.ctx.workprec(enclose.BITS):
        found = rise(enclose.ball((0.9, 0.9375)))
    exact = (math.asin(0.92) - math.asin(0.5)) / 0.42
    assert found.contains(exact)


def test_modules_of_proofs_declare_only_what_they_prove() -> None:
    from verify.claims.deep_conditioning.proved import lengths as certified_lengths
    from verify.claims.deep_conditioning.proved import symbols as proofs

    assert all(c.evidence is Evidence.SYMBOLIC for c in declared(proofs))
    kinds = {c.evidence for c in declared(certified_lengths)}
    assert kinds == {Evidence.CERTIFICATE}
