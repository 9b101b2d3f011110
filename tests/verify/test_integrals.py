"""Integrals of piecewise polynomials, which duals are compared with."""

import pytest

from verify.integrals import Pieces

CUBE = Pieces(order=3, kinks=("0.25", "-0.5"), jumps=("1", "-2"))
HINGE = Pieces(order=1, kinks=("-0.125",), jumps=("1",), line=("0.5", "-0.25"))


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
