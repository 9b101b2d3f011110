"""Duals of piecewise functions from their definitions, which theory is compared with."""

from dataclasses import replace
from typing import Any

import flint
import mpmath
import pytest

from verify import integrals
from verify.integrals import Pieces

CUBE = Pieces(order=3, kinks=("0.25", "-0.5"), jumps=("1", "-2"))
HINGE = Pieces(
    order=1, kinks=("-0.125",), jumps=("1",), line=("0.5", "-0.25"), variance="0.75"
)


def test_the_middle_of_a_wide_ball_is_no_number() -> None:
    for wide in (flint.arb(1, 1e-20), flint.arb(0, 1e-20), flint.arb("nan")):
        with pytest.raises(ArithmeticError, match="not known to 30 digits"):
            integrals.mpf(wide)
    assert integrals.mpf(flint.arb(2**80, 1e-8)) == 2**80


@pytest.mark.parametrize("rho", ["-0.75", "0", "0.5"])
def test_the_order_of_two_functions_makes_no_difference(rho: str) -> None:
    one, other = CUBE.dual(rho, HINGE), HINGE.dual(rho, CUBE)
    assert abs(one - other) < 1e-40
    assert abs(CUBE.slope(rho, HINGE) - HINGE.slope(rho, CUBE)) < 1e-40


def test_independent_arguments_give_the_product_of_means() -> None:
    cube = Pieces(order=3, kinks=("0",), jumps=("6",))  # max(x, 0)^3, of mean 2 phi(0)
    hinge = Pieces(order=1, kinks=("0",), jumps=("1",))  # of mean phi(0)
    for found in (cube.dual("0", hinge), hinge.dual("0", cube)):
        assert float(found) == pytest.approx(0.3183098861837907, rel=1e-15)  # 1 / pi


def test_kinks_at_one_place_may_be_balls() -> None:
    ball = flint.arb(1, 2.0**-300)
    bent = Pieces(2, kinks=(1, 1, 2), jumps=(1, 1, 1), orders=(2, 1, 1))
    about = replace(bent, kinks=(ball, ball, 2))
    assert abs(bent.dual("0.5") - about.dual("0.5")) < 1e-40


@pytest.mark.parametrize("level", ["dual", "slope"])
@pytest.mark.parametrize("variance", [0.01, 2.0, 1e5])
@pytest.mark.parametrize("rho", [0.99, -0.999999])
@pytest.mark.parametrize(
    "piece",
    [*(integrals.PIECES[n] for n in ("hard_tanh", "relu_squared", "selu")), CUBE],
    ids=["hard_tanh", "relu_squared", "selu", "cube"],
)
def test_far_from_its_kinks_a_mean_is_that_of_its_branch(
    piece: Pieces,
    rho: float,
    variance: float,
    level: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A branch is integrated far from kinks; with no argument far, the mean itself."""

    def value() -> Any:
        return getattr(piece, level)(rho, replace(piece, variance=variance))

    found = value()
    # Farther than the axis reaches.
    monkeypatch.setattr(integrals, "_FAR", 100_000_000)
    with mpmath.workprec(integrals.BITS):
        assert abs(found - value()) < 1e-40 * max(1, abs(found))


def test_coefficients_do_not_depend_on_who_asked_before() -> None:
    order = 187  # of which nothing else asks
    with flint.ctx.workprec(53):
        integrals.hermite_polynomial(order)
    asked = integrals.law("relu6").coefficient(order)
    assert asked != 0
    with flint.ctx.workprec(4096), mpmath.workprec(integrals.BITS):
        piece = integrals.PIECES["relu6"]
        exact = integrals.mpf(integrals._coefficient(piece, order))
        assert abs(asked - exact) <= 1e-30 * abs(exact)
