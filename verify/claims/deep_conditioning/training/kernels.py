"""Section 7's networks and their tangent kernels: see ``docs/trained/normrelu.md``.

Condition numbers at the start and after training, and the rates at which training is
stable, met with the kernels of infinite width.
"""

import math
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from empirical.normrelu import training
from empirical.normrelu.experiments import Configuration
from empirical.normrelu.networks import arm_of as arm_called
from empirical.normrelu.study import examples_of, network_of, problem_of
from empirical.normrelu.training import KERNEL
from theory import kernels
from verify.claim import grid, trend
from verify.claims._predictors import Limits, mistake, stated
from verify.claims.deep_conditioning._sources import ours
from verify.claims.deep_conditioning.training.comparisons import (
    CLOSED,
    DATA,
    DEPTHS,
    SHALLOWER,
    arm_of,
    compared,
    configuration,
    runs_of,
    trained,
)
from verify.claims.deep_conditioning.training.start import ACTIVATIONS
from verify.compare import AgreesTo, Contrast, EffectWithin, Outcome
from verify.trained import Run

_SOURCE = ours("Section 7")
_ASSUMPTIONS = (
    DATA,
    "fully connected networks, SGD with momentum, no biases",
    "256 training examples, the first class's output, all weight matrices",
)
_MOMENTUM, _CLASSES = 0.9, 10
NEAR = 0.15
"""Of log10 of a condition number, a factor 1.4."""


def _runs(*, scale: str, depth: int, arm: str) -> tuple[Run, ...]:
    return runs_of(scale=scale, depth=depth, rival=arm)


@lru_cache(maxsize=8)
def _eigenvalues(found: Configuration) -> tuple[float, float]:
    """Return the largest and least eigenvalues of an infinitely wide network's kernel.

    Weights W of a layer act as they are, not divided by the root of their inputs m: each
    layer's part of the tangent kernel is m times as large as in the NTK parametrisation.
    """
    x = examples_of(found, problem_of(found)).inputs[:KERNEL].double().numpy()
    first, every = (
        kernels.ntk(
            x / math.sqrt(x.shape[1]),
            ACTIVATIONS[found.arm],
            found.depth,
            trained=which,
            sphere=True,
        )
        for which in ([1], None)
    )
    # All layers' kernel is quick on a sphere; the others' part is most of it.
    values = np.linalg.eigvalsh(x.shape[1] * first + found.width * (every - first))
    return float(values[-1]), float(values[0])


def _at_start(*, scale: str, depth: int, arm: str) -> Contrast:
    """log10 of the condition number, one a network."""
    return Contrast.alone(arm_of(arm, scale, depth).draws.series("condition")[:, 0])


def _wide(*, scale: str, depth: int, arm: str) -> float:
    """log10 of the condition number at infinite width."""
    largest, least = _eigenvalues(configuration(arm, scale, depth))
    return math.log10(largest / least)


def _as_wide(**case: Any) -> Limits:
    return _wide(**case) - NEAR, _wide(**case) + NEAR


def _above_wide(**case: Any) -> Limits:
    """At least the condition number at infinite width."""
    return _wide(**case), None


_SMALL = grid(scale="small", depth=DEPTHS["small"], arm=("normrelu", "selu"))

START = trend(
    id="dc/sec11-condition-start",
    items=("Sec11",),
    title="At initialisation, section 7's tangent kernels are conditioned as at infinite"
    " width",
    statement=r"|\log_{10} \kappa(\Theta_0) - \log_{10} \kappa(\Theta_\infty)| \le 0.15",
    source=_SOURCE,
    cases=_SMALL,
    runs=_runs,
    uses=(*CLOSED, "dc/sec11-conditions"),
    predict=_as_wide,
    measure=_at_start,
    must_hold=_above_wide,
    expected=Outcome.REFUTED,
    compare=EffectWithin(unit="decades"),
    version=2,
    assumptions=_ASSUMPTIONS,
    finding=(
        "Layers of 128 units are too narrow: at initialisation the least eigenvalues"
        " are smaller than at infinite width, the more so the deeper the network. The"
        " infinite-width values give the order of magnitude at best."
    ),
)


def _conditions(series: str, time: int, **case: Any) -> Contrast:
    """Return log10 of condition numbers at a time, the rival's first."""
    return compared(
        lambda record: record.draws.series(series)[:, time], rival_first=True, **case
    )


END = trend(
    id="dc/sec11-condition-end",
    items=("Sec11",),
    title="Trained networks have better conditioned kernels with NormReLU than with norm"
    " layers",
    statement=r"\log_{10} \kappa(\Theta_T)\text{: norm} - \text{NormReLU} \ge \tfrac12",
    source=_SOURCE,
    cases=grid(scale="small", depth=DEPTHS["small"], rival=("batch", "layer")),
    runs=runs_of,
    uses=(*CLOSED, "dc/sec11-conditions"),
    measure=partial(_conditions, "condition", -1),
    compare=EffectWithin(unit="decades"),
    assumptions=_ASSUMPTIONS,
    finding=(
        "The protocol first named plain ReLU, whose kernels are worse conditioned on"
        " the mean of six networks, too, but not by enough to decide. The comparison"
        " with section 7's rivals was entered after that had been seen."
    ),
    **stated(0.5),
)


_TOP = partial(
    trained,
    items=("Sec11",),
    source=_SOURCE,
    compare=EffectWithin(unit="decades"),
)

TOP_START = _TOP(
    id="dc/sec11-top-start",
    title="Top layers' kernels start better conditioned with NormReLU than with ReLU or"
    " LayerNorm",
    statement=r"\log_{10} \kappa(K^{(L)}_0)\text{: rival} - \text{NormReLU} \ge \tfrac12",
    rivals=("relu", "layer"),
    measure=partial(_conditions, "top_condition", 0),
    finding=(
        "Batch-normalised networks start better conditioned still: the correlations"
        " within a batch are 1/pi from the first layer on (dc/fig1-batch-start)."
    ),
    **stated(0.5),
)

_END = partial(
    _TOP,
    statement=r"\log_{10} \kappa(K^{(L)}_T)\text{: rival} - \text{NormReLU} \ge \tfrac12",
    measure=partial(_conditions, "top_condition", -1),
)

TOP_END = _END(
    id="dc/sec11-top-end",
    title="Top layers' kernels end better conditioned with NormReLU than with ReLU or"
    " LayerNorm",
    rivals=("relu", "layer"),
    **stated(0.5),
)

TOP_BATCH = _END(
    id="dc/sec11-top-batch",
    title="Top layers' kernels end better conditioned with NormReLU than with BatchNorm",
    rivals=("batch",),
    depths=SHALLOWER,
    finding=(
        "The protocol asks it of both depths. At 32 layers six networks do not decide:"
        " batch normalisation's condition numbers spread so widely that the difference"
        " of the means, though large, exceeds the smallest effect of interest by no"
        " more than its uncertainty."
    ),
    **stated(0.5),
)


RATES = tuple(0.0075 * 2.0 ** (step / 2) for step in range(12))
"""Learning rates a factor of the root of two apart."""


def _networks(arm: str, depth: int) -> Configuration:
    """Return what is trained of an arm at any depth, for an epoch."""
    return replace(configuration(arm, "small", 16), depth=depth)


def _predicted_step(*, arm: str, depth: int) -> int:
    """Return the step of the grid below 2 (1 + beta) / lambda, -1 below them all."""
    largest, _ = _eigenvalues(_networks(arm, depth))
    limit = 2.0 * (1.0 + _MOMENTUM) * _CLASSES * KERNEL / largest
    return int(np.searchsorted(RATES, limit, side="right")) - 1


def _stable_step(*, arm: str, depth: int) -> int:
    """Return the step below the least rate at which a network diverges."""
    c = _networks(arm, depth)
    found = problem_of(c)
    course = training.trained(
        arm_called(c.arm, c.kink),
        network_of(c, found),
        examples_of(c, found, c.held_out),
        rates=RATES,
        seeds=c.chosen_by,
        epochs=1,
        batch=c.batch,
        every_epoch=False,
        recipe=c.recipe,
    )
    ended = np.array(course.status).reshape(len(RATES), -1) == "finished"
    diverged = ~ended.all(axis=1)
    return int(diverged.argmax() if diverged.any() else len(RATES)) - 1


STABLE = trend(
    id="dc/sec7-rates-kernel",
    items=("Sec7-rates", "Sec11"),
    title="The tangent kernel predicts the largest stable learning rate of the first epoch",
    statement=r"\eta_{stable} \approx \frac{2 (1 + \beta)\,10\,n}{\lambda_1(\Theta_\infty)}"
    r"\quad\text{within a factor } \sqrt 2",
    source=_SOURCE,
    cases=grid(arm="normrelu", depth=(4, 16)),
    larger_cases={"full": grid(arm=("normrelu", "selu"), depth=(4, 8, 16, 32))},
    uses=CLOSED,
    predict=_predicted_step,
    measure=_stable_step,
    # A step of the grid: the largest rate of it that is stable is known to no less.
    compare=AgreesTo(absolute=1.0),
    must_refute=mistake("The rate of eight layers, at any depth.", depth=8),
    assumptions=(*_ASSUMPTIONS, "ten classes, equally likely at the start"),
    finding=(
        "The protocol first asked it of four epochs on a grid of thirds, which any rate in"
        " the middle would have met at every depth. Networks also diverge in later epochs,"
        " at lower rates: the kernel of the start tells of the start."
    ),
    version=2,
)
