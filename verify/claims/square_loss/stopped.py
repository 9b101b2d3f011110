"""Flows that end before they were to: what is said, and that all is right up to there."""

import warnings
from collections.abc import Sequence

import numpy as np

from theory import square_loss as sl
from verify.claim import numeric
from verify.claims._predictors import mistake
from verify.claims.square_loss._flows import followed, stuck
from verify.claims.square_loss._networks import Array, Problem, problem
from verify.claims.square_loss._sources import ours
from verify.compare import AgreesTo

_WIDTHS, _EXAMPLES, _DECAY, _LATE = [3, 4, 4, 1], 6, 0.02, 8.0
_WORDS = {"kink": "slides along a kink", "stiff": "stiff", "steps": "were not enough"}
_BEFORE: dict[int, list[float]] = {
    0: [0.005, 0.02],
    1: [0.01, 0.03, 0.04],
    2: [0.02, 0.09],
}
"""Times before the flow of a problem stops, of its seed."""
_SHORTEST, _PART = 1e-9, 0.01
"""Length of a step that gets nowhere; what share of the time of it is compared."""


def _drawn(seed: int) -> Problem:
    return problem(_WIDTHS, _EXAMPLES, seed)


def _rows(scale: list[float], directions: Sequence[Sequence[Array]]) -> list[float]:
    sizes = [float(np.abs(v).sum()) for each in directions for v in each]
    return [*scale, *sizes]


def _predict(*, seed: int, why: str, max_steps: int, rate: float = 1.0) -> list[float]:
    p, early = _drawn(seed), _BEFORE[seed]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        flow = sl.gradient_flow(
            *(p.directions, p.rho, p.x, p.labels, rate * _DECAY),
            t_end=_LATE,
            rtol=1e-11,
            # The last one is never reached.
            t_eval=[*early, _LATE],
            max_steps=max_steps,
        )
    said = [str(w.message) for w in told if issubclass(w.category, sl.FlowWarning)]
    named = [k for k, words in _WORDS.items() if any(words in s for s in said)]
    # A stiff flow may slide along a kink, too.
    fine = len(said) == 1 and why in named and f"t = {flow.t_end:.6g}:" in said[0]
    if not fine or len(flow.t) != len(early):
        raise ValueError(
            f"sl/eq4-stopped: the flow must stop behind {early}, and say once when and"
            f" why ({why}), but it has {len(flow.t)} times and said {said}"
        )
    moved = [[*flow.directions(t)] for t in early]
    return [_PART * flow.t_end, *_rows(flow.rho.tolist(), moved)]


def _measure(*, seed: int, why: str, max_steps: int) -> list[float]:
    del why, max_steps
    p = _drawn(seed)
    states = followed(p, _DECAY, _BEFORE[seed], tolerance=1e-11)
    scales = [float(state[0].item()) for state in states]
    moved = [state[1:] for state in states]
    return [_PART * stuck(p, _DECAY, _SHORTEST, tolerance=1e-11), *_rows(scales, moved)]


STOPPED = numeric(
    id="sl/eq4-stopped",
    items=("Eq3", "Eq4"),
    title="Flows that slide along kinks, or take more steps than allowed, say so and stop",
    statement=r"(\rho, V)(t), \quad t < t_{\text{stop}} < t_{\text{end}}",
    source=ours("Equations 3 and 4 with ReLU; ours"),
    cases=(
        {"seed": 0, "why": "stiff", "max_steps": 4000},
        {"seed": 1, "why": "kink", "max_steps": 10_000},
        {"seed": 2, "why": "steps", "max_steps": 60},
    ),
    predict=_predict,
    measure=_measure,
    # Both integrators work to 1e-11 a step; at a kink of the network an error of a step
    # passes into the path, of order ten steps of tolerance. Where a flow slides, steps of
    # either are below 1e-9, in which the path turns by more than they may err; a thousand
    # of them last 1e-6, of which a hundredth is compared.
    compare=AgreesTo(absolute=1e-8),
    must_refute=mistake("Twice the decay.", rate=2.0),
    uses=("sl/eq3", "sl/eq4"),
)
