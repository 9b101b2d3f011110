"""Scales that rise and then fall, by enclosed flows."""

from typing import Any

import flint
import numpy as np

from theory import square_loss as sl
from verify.claim import certified
from verify.claims.square_loss._sources import ours
from verify.compare import CertifiedAtLeast, Enclosure
from verify.enclose import BITS, above, below
from verify.enclose_flow import flow


def _setting(example: int) -> tuple[list[list[Any]], list[Any], float]:
    """Return inputs and the first direction, as balls, and the decay."""
    with flint.ctx.workprec(BITS):
        one, nought = flint.arb(1), flint.arb(0)
        if example == 1:
            angle = flint.arb(1.5)
            return [[one, nought]], [angle.cos(), angle.sin()], 0.01
        sine = flint.arb(7) / 25
        return [[one, nought], [flint.arb(24) / 25, sine]], [nought, one], 0.0


def _scales(example: int, times: tuple[float, float]) -> list[Any]:
    inputs, direction, decay = _setting(example)

    def velocity(state: Any) -> list[Any]:
        """Equations 3 and 4, for one layer and labels of one."""
        rho, *v = state
        f = [sum((a * b for a, b in zip(v, x, strict=True)), 0 * rho) for x in inputs]
        errors = [rho * out - 1 for out in f]
        pull = sum((e * out for e, out in zip(errors, f, strict=True)), decay * rho)
        turns = [
            sum(
                (
                    e * (v[k] * out - x[k])
                    for e, out, x in zip(errors, f, inputs, strict=True)
                ),
                0 * rho,
            )
            for k in (0, 1)
        ]
        return [-2 * pull, *(2 * rho * turn for turn in turns)]

    state = [flint.arb(0.01), *direction]
    found: list[Any] = []
    before = 0.0
    for time in times:
        state = flow(velocity, state, time - before, int(40 * (time - before)))
        found.append(state[0])
        before = time
    return found


def _measure_fall(*, example: int, times: list[float]) -> Enclosure:
    early, late = _scales(example, (times[0], times[1]))
    with flint.ctx.workprec(BITS):
        fall = early - late
    return Enclosure(below(fall), above(fall), "this flow, by Taylor's method", 1)


def _library_flow(example: int, end: float) -> sl.Flow:
    inputs, direction, decay = _setting(example)
    x = np.array([[float(v) for v in row] for row in inputs])
    v = np.array([[float(entry) for entry in direction]])
    return sl.gradient_flow([v], 0.01, x, np.ones(len(x)), decay, t_end=end, rtol=1e-11)


def _predict_fall(*, example: int, times: list[float]) -> float:
    found = _library_flow(example, times[1])
    # The integrator's own error, at a relative tolerance of 1e-11 a step.
    return float(found.rho_at(times[0]) - found.rho_at(times[1])) - 1e-8


def _wrong_fall(*, example: int, times: list[float]) -> float:
    """The fall from the largest scale, where it meets its equilibrium."""
    found = _library_flow(example, times[1])
    return float(found.rho_at(found.crossings[0]) - found.rho_at(times[1]))


CLAIMS = (
    certified(
        id="sl/err2-certified",
        items=("Err2", "Obs1"),
        title="The scale can rise and then fall: two flows (certified)",
        statement=r"\rho(t_1) - \rho(t_2) > 0, \quad t_1 < t_2",
        source=ours("Observation 1; ours"),
        cases=(
            {"example": 1, "times": [4.0, 5.0]},
            {"example": 2, "times": [1.75, 3.0]},
        ),
        larger_cases={
            "certify": (
                {"example": 1, "times": [4.0, 10.0]},
                {"example": 2, "times": [1.75, 4.0]},
            )
        },
        predict=_predict_fall,
        measure=_measure_fall,
        compare=CertifiedAtLeast(),
        must_refute=_wrong_fall,
        assumptions=(
            "Ball arithmetic (Arb), 160 bits, Taylor polynomials of order 16",
        ),
        uses=("sl/err2",),
        finding="This proves that the rise of Observation 1 need not last to the end.",
    ),
)
