"""Duals from their definitions: a shortcut of the quadrature leaves no trace."""

from dataclasses import replace
from typing import Any

import mpmath
import pytest

from verify import integrals


@pytest.mark.parametrize("level", ["dual", "slope"])
@pytest.mark.parametrize("variance", [0.01, 2.0, 1e5])
@pytest.mark.parametrize("rho", [0.99, -0.999999])
@pytest.mark.parametrize("name", ["hard_tanh", "relu_squared", "selu"])
def test_far_from_its_kinks_a_mean_is_that_of_its_branch(
    name: str, rho: float, variance: float, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A branch is integrated far from kinks; with no argument far, the mean itself."""
    piece = integrals.PIECES[name]

    def value() -> Any:
        return getattr(piece, level)(rho, replace(piece, variance=variance))

    found = value()
    # Farther than the axis reaches.
    monkeypatch.setattr(integrals, "_FAR", 100_000_000)
    with mpmath.workprec(integrals.BITS):
        assert abs(found - value()) < 1e-40 * max(1, abs(found))
