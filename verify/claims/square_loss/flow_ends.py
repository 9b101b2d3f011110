"""Flows that stop before their time: what they say, and that all before it is right.

The measured side differentiates automatically and integrates by a library.
"""

import re
import warnings
from typing import Any

import numpy as np

from theory import square_loss as sl
from verify.claim import numeric
from verify.claims._predictors import mistake
from verify.claims.square_loss._flows import followed
from verify.claims.square_loss._networks import problem
from verify.claims.square_loss._sources import ours
from verify.compare import AgreesTo

_END = 30.0
_DECAY = 0.1
_WORDS = ("", "slides along a kink of ReLU. ", "at its pace", "were not enough")


def _predict_stopped(
    *,
    widths: list[int],
    examples: int,
    seed: int,
    times: list[float],
    kind: int,
    later: float = 0.0,
    **options: Any,
) -> list[float]:
    """The scale at the times before the stop, which of the words are said, and of when."""
    p = problem(widths, examples, seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        flow = sl.gradient_flow(
            *(p.directions, p.rho, p.x, p.labels, _DECAY),
            t_end=_END,
            t_eval=[*(t + later for t in times), _END],
            **options,
        )
    said = [str(w.message) for w in caught if w.category is sl.FlowWarning]
    (text,) = said or [f"stopped at t = {flow.t_end}:"]
    (time,) = re.findall(r"stopped at t = ([^:]+):", text)
    found = [k for k, words in enumerate(_WORDS) if words and words in text] or [0]
    stated = abs(float(time) - flow.t_end) <= 1e-5 * flow.t_end
    before = times[-1] < flow.t_end and (flow.t_end < _END or not kind)
    none = flow.rho_at(np.empty((2, 0))).shape == (2, 0)
    answered = len(flow.t) - len(times)
    return [
        *(*flow.rho[: len(times)], float(answered), float(found[-1])),
        *(float(stated), float(before), float(none)),
    ]


def _measure_stopped(
    *,
    widths: list[int],
    examples: int,
    seed: int,
    times: list[float],
    kind: int,
    **_: int,
) -> list[float]:
    """Of the times asked for, the end alone is answered if the flow comes to it."""
    p = problem(widths, examples, seed)
    path = followed(p, _DECAY, times, tolerance=1e-11)
    scales = [float(state[0][0]) for state in path]
    return [*scales, float(kind == 0), float(kind), 1.0, 1.0, 1.0]


def _flow(widths: list[int], examples: int, seed: int, **more: Any) -> dict[str, Any]:
    return {"widths": widths, "examples": examples, "seed": seed, **more}


STOPPED = numeric(
    id="sl/energy-stopped",
    items=("Energy",),
    title="A flow that stops at a kink, or for want of steps, says so and is right up to"
    " there",
    statement=r"\dot\rho=-2(A\rho-B),\;\dot V_k=\dots\quad(t<t_{\text{stop}})",
    source=ours("Equations 3 and 4; ours"),
    cases=(
        _flow([2, 2, 1], 2, 1, times=[0.0, 0.5, 4.0], kind=0),
        _flow([3, 6, 1], 4, 9, times=[0.0, 0.5, 1.3], kind=1),
        _flow([4, 4, 4, 1], 3, 9, times=[0.3, 2.0], kind=1),
        _flow([6, 8, 8, 1], 20, 0, times=[0.004, 0.01], kind=2),
        _flow([2, 2, 1], 2, 1, times=[0.0, 0.5], kind=3, max_steps=20),
    ),
    predict=_predict_stopped,
    measure=_measure_stopped,
    # As for weight normalisation: 1e-11 a step, and more at kinks that are crossed.
    compare=AgreesTo(absolute=1e-8),
    must_refute=mistake("A thousandth of a unit of time later.", later=0.001),
    uses=("sl/energy-flow",),
)
