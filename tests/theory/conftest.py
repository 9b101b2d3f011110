"""What every test of the closed forms compares against: 50 digits, made another way."""

from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import pytest

from verify import integrals


@pytest.fixture(autouse=True)
def _digits() -> Iterator[None]:
    """References are compared at 60 digits, so that only the library rounds."""
    with mpmath.workdps(60):
        yield


@pytest.fixture
def error() -> Callable[..., float]:
    """|value - reference| relative to a scale, by default to the reference."""

    def error(value: Any, reference: Any, scale: Any = None) -> float:
        gap = abs(mpmath.mpf(float(value)) - reference)
        size = abs(reference) if scale is None else abs(scale)
        return float(gap / size) if size else float(gap)

    return error


@pytest.fixture(scope="session")
def law() -> Callable[[str], integrals.Law]:
    """The independent law of a catalogue entry; NormReLU's is not yet normalised."""
    from theory import activations as act

    def law(name: str) -> integrals.Law:
        if name == "normrelu":
            kink = act.CATALOGUE[name].kinks[0]
            return integrals.of_pieces(integrals.normrelu(kink))
        return integrals.law(name)

    return law
