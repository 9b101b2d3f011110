"""The equilibrium where margins cancel: in fractions, from floats as they are."""

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from theory import square_loss as sl
from verify.claim import grid, numeric
from verify.claims.square_loss._sources import ours
from verify.compare import AgreesTo, Array


def _problem(examples: int, seed: int) -> tuple[Array, Array]:
    """Return outputs and labels: two large margins cancel, small ones between are left."""
    rng = np.random.default_rng([31, examples, seed])
    margins = rng.uniform(1e-14, 1e-12, examples)
    margins[0], margins[-1] = 0.7, -0.7
    labels = rng.choice([-1.0, 1.0], examples)
    return labels * margins, labels


def _measure(*, examples: int, penalty: float, seed: int) -> Any:
    f, labels = _problem(examples, seed)
    each = [Fraction(v) for v in f.tolist()]
    b = sum(Fraction(y) * v for y, v in zip(labels.tolist(), each, strict=True))
    a = Fraction(penalty) + sum(v * v for v in each)
    with mpmath.workdps(40):
        return mpmath.mpf((b / a).numerator) / (b / a).denominator


def _predict(*, examples: int, penalty: float, seed: int) -> float:
    return float(sl.rho_equilibrium(*_problem(examples, seed), penalty))


def _in_float64(*, examples: int, penalty: float, seed: int) -> float:
    """The formula in float64, which loses the digits."""
    f, labels = _problem(examples, seed)
    return float(np.sum(labels * f) / (penalty + np.sum(f * f)))


CANCELLING = numeric(
    id="sl/eq5-cancelling",
    title="The equilibrium keeps its digits where margins cancel",
    statement=r"\rho_{eq}=\frac{\sum_n y_nf_n}{\lambda+\sum_n f_n^2},\quad"
    r" \Big|\sum_n y_nf_n\Big|\ll\max_n|f_n|",
    source=ours("Equation 5"),
    cases=grid(examples=(3, 4, 5, 7, 8, 11, 26), penalty=(0.0, 0.3), seed=(1, 2)),
    predict=_predict,
    measure=_measure,
    # The library's promise, 2 eps.
    compare=AgreesTo(relative=4.5e-16),
    must_refute=_in_float64,
    uses=("sl/eq5",),
)
