"""Statements on trained networks: what pre-training does, and what it is worth."""

import math
from functools import partial
from typing import Any

import numpy as np

from empirical.mmd_init.experiments import NOISES, SHOTS
from verify.claim import Claim, Evidence, Source, grid
from verify.claims._predictors import constantly, down, up
from verify.claims.mmd_init._runs import (
    NETWORKS,
    Array,
    accuracy,
    constant,
    dead,
    last_uniformity,
    learnt,
    runs,
)
from verify.compare import (
    AtMost,
    Estimate,
    MeanAtMost,
    Outcome,
    SignedRankTest,
    SignTest,
)

KEY = "lee2023unsupervised"

OURS = {"lam": 0.4, "xi": 1.0}
ALONE = {"lam": 0.0, "xi": 0.0}
STARTS = ("xavier", "he")

SCALES = grid(scale=("small",))
LARGER = {"full": grid(scale=("full",)), "gpu": grid(scale=("paper",))}


def _by(**axes: Any) -> dict[str, Any]:
    """Return cases at every scale, `axes` beside it."""
    return {
        "cases": grid(scale=("small",), **axes),
        "larger_cases": {
            "full": grid(scale=("full",), **axes),
            "gpu": grid(scale=("paper",), **axes),
        },
    }


def trained(*, where: str, **parts: Any) -> Claim:
    """Return a claim on trained networks, small ones in the quick profile."""
    given: dict[str, Any] = {
        "evidence": Evidence.TREND,
        "cases": SCALES,
        "larger_cases": LARGER,
    }
    return Claim(source=Source(KEY, where), **(given | parts))


# --- accuracy: tables 1 and 2 ---------------------------------------------------------


def _gain(*, scale: str, shots: int) -> Array:
    """Accuracy that pre-training adds, by start and task: means over the seeds."""
    gains: list[Array] = []
    for start in STARTS:
        ours = accuracy(f"mmd-{start}", scale, shots, **OURS)
        gains.append((ours - accuracy(f"none-{start}", scale, shots)).mean(axis=0))
    return np.concatenate(gains)


GAIN = trained(
    id="mmd/tab1",
    runs=NETWORKS.looks(r"(mmd|none)-(xavier|he)"),
    items=("Tab1",),
    title="Networks trained from a learnt start are more accurate, task for task",
    statement=r"\text{accuracy(Ours)}>\text{accuracy(scratch)}\text{ at each }N",
    predict=up,
    measure=_gain,
    compare=SignedRankTest(),
    must_refute=down,
    where="Table 1",
    figure="mmd_table_1",
    **_by(shots=SHOTS),
    finding=(
        "76.7 against 74.2 % (N = 5), 82.0 and 80.1, 86.1 and 85.2, 89.8 and 89.3 (N"
        " = 40) from Xavier's start; 75.6 and 70.1, 81.6 and 78.6, 86.1 and 84.1,"
        " 89.9 and 88.9 from He's, over 40 tasks on digits of 8 x 8 pixels."
    ),
)


def _more_with_few(*, scale: str) -> Array:
    return _gain(scale=scale, shots=5) - _gain(scale=scale, shots=40)


MORE = trained(
    id="mmd/tab1-few",
    runs=NETWORKS.looks(r"(mmd|none)-(xavier|he)"),
    items=("Tab1",),
    title="The fewer the labels, the more a learnt start is worth",
    statement=r"82.42-79.63>92.48-90.91\text{ (Xavier)},\;"
    r"82.27-79.17>92.61-91.34\text{ (He)}",
    predict=up,
    measure=_more_with_few,
    compare=SignedRankTest(),
    must_refute=down,
    where="Table 1",
)


LABELS = Claim(
    id="mmd/tab1-labels",
    items=("Tab1", "Err14"),
    title="Random labels hurt plain networks where there are few true ones",
    statement=r"\text{N=5: }76.81<79.63\text{ (Xavier)},\;77.41<79.17\text{ (He)}",
    source=Source(KEY, "Table 1 and section 5.1"),
    evidence=Evidence.TREND,
    open_reason=(
        "needs eight starts and more: with two of each the change is down from Xavier's"
        " and up from He's (70.1 to 70.6 %), as chance would have it"
    ),
    version=2,
)


def _spread(
    method: str, factor: float = 1.0, *, scale: str, start: str, shots: int
) -> float:
    """Standard deviation of the accuracy over tasks, mean over seeds."""
    variant = OURS if method == "mmd" else {}
    found = accuracy(f"{method}-{start}", scale, shots, **variant)
    return factor * float(np.mean(found.std(axis=1, ddof=1)))


def _mean_spread(method: str, factor: float = 1.0, *, scale: str) -> float:
    """Mean of that over starts and N."""
    cells = [
        _spread(method, factor, scale=scale, start=start, shots=shots)
        for start in STARTS
        for shots in SHOTS
    ]
    return float(np.mean(cells))


_PRINTED_SPREAD = (4.76 + 4.54 + 3.01 + 2.26 + 5.26 + 4.04 + 3.25 + 2.16) / (
    6.62 + 5.55 + 3.54 + 2.65 + 5.74 + 5.32 + 3.31 + 2.47
)
"""What a learnt start leaves of the spread in Table 2, on the mean over its cells."""


SPREAD = trained(
    id="mmd/tab2",
    runs=NETWORKS.looks(r"(mmd|none)-(xavier|he)"),
    items=("Tab2",),
    title="On the mean of all cells a learnt start narrows the spread over tasks",
    statement=r"\operatorname{mean}_{cells}\operatorname{sd}_{tasks}(\text{Ours})<"
    r"\operatorname{mean}_{cells}\operatorname{sd}_{tasks}(\text{scratch})",
    predict=partial(_mean_spread, "none"),
    measure=partial(_mean_spread, "mmd"),
    compare=AtMost(),
    # By as much as the paper has it.
    must_refute=partial(_mean_spread, "none", _PRINTED_SPREAD),
    version=2,
    where="Table 2",
    figure="mmd_table_2",
    finding=(
        "By a twelfth on the mean, 4.9 for 5.4 points, where the paper has a sixth; more"
        " than half of that comes from one cell, and two starts decide nothing."
    ),
)

SPREAD_BY_CELL = trained(
    id="mmd/tab2-cells",
    runs=NETWORKS.looks(r"(mmd|none)-(xavier|he)"),
    items=("Tab2",),
    title="A learnt start narrows the spread over tasks in each cell",
    statement=r"\operatorname{sd}_{tasks}(\text{Ours})<\operatorname{sd}_{tasks}"
    r"(\text{scratch}):\;4.76<6.62,\;5.26<5.74\;(N=5)",
    predict=partial(_spread, "none"),
    measure=partial(_spread, "mmd"),
    compare=AtMost(),
    # A standard deviation over 40 tasks is known to 1 / sqrt(78) of itself.
    must_hold=partial(_spread, "none", 1.0 + 78.0**-0.5),
    expected=Outcome.REFUTED,
    where="Table 2",
    **_by(start=STARTS, shots=SHOTS),
    finding=(
        "From Xavier's start at N = 5 it is 6.6 points for 6.5, the wrong way round, by"
        " less than 40 tasks can tell."
    ),
)


# --- regularisers: tables 3, 4 and 5 --------------------------------------------------


def _constant_with(*, scale: str, xi: float) -> Array:
    return constant("mmd-xavier", scale, lam=0.4, xi=xi)


def _constant_without(*, scale: str, xi: float) -> Array:
    return constant("uniform-xavier", scale, lam=0.0, xi=xi)


def _printed_share(*, scale: str, xi: float) -> float:
    """Take the share of Table 3."""
    return 0.0139 if xi else 0.0041


def _share_of(part: float, *, scale: str, xi: float) -> Array:
    return part * _constant_without(scale=scale, xi=xi)


DEGENERATE = trained(
    id="mmd/tab3",
    runs=NETWORKS.looks("mmd-xavier", "uniform-xavier"),
    items=("Tab3", "DS"),
    title="The loss against degenerate softmax lowers the share of constant models",
    statement=r"DS(\lambda=0.4)<DS(\lambda=0)",
    predict=_constant_without,
    measure=_constant_with,
    compare=AtMost(),
    must_refute=_printed_share,
    where="Table 3",
    figure="mmd_table_3",
    **_by(xi=(0.0, 1.0)),
    finding=(
        "From 47 to 26 % (xi = 0) and from 48 to 25 % (xi = 1) after 800 steps of"
        " pre-training a narrow network, where the paper has 9,375 of a wide one."
    ),
)

A_FIFTH = trained(
    id="mmd/tab3-fifth",
    runs=NETWORKS.looks("mmd-xavier", "uniform-xavier"),
    items=("Tab3",),
    title="The loss against degenerate softmax lowers that share to less than a fifth",
    statement=r"89.32\to0.41\;(\xi=0),\quad80.83\to1.39\;(\xi=1)",
    predict=partial(_share_of, 0.2),
    measure=_constant_with,
    compare=AtMost(),
    must_hold=_constant_without,
    expected=Outcome.REFUTED,
    where="Table 3",
    **_by(xi=(0.0, 1.0)),
    finding=(
        "To a half in the quick profile; the share still falls when training ends."
    ),
)


def _dead_with(factor: float = 1.0, *, scale: str, **variant: float) -> float:
    """Share of dead units in the last hidden layer."""
    return factor * float(dead(learnt(variant["lam"]), scale, **variant)[:, -1].mean())


DEAD = trained(
    id="mmd/tab4",
    runs=NETWORKS.looks("mmd-xavier", "uniform-xavier"),
    items=("Tab4", "Dead"),
    title="The loss against degenerate softmax leaves fewer dead units at the end",
    statement=r"80.08\,(\lambda=0)>8.21\,(\lambda=0.4)\;\%\text{ in layer 3}",
    predict=partial(_dead_with, **ALONE),
    measure=partial(_dead_with, lam=0.4, xi=0.0),
    compare=AtMost(),
    # The share of the next row, with both regularisers.
    must_refute=partial(constantly, 0.0002),
    where="Table 4",
    figure="mmd_table_4",
)

DEAD_DETACHED = trained(
    id="mmd/tab4-iod",
    runs=NETWORKS.looks("mmd-xavier", "uniform-xavier"),
    items=("Tab4", "Dead"),
    title="The loss against detachment leaves no more than a tenth of those",
    statement=r"8.21\,(\xi=0)\to0.02\,(\xi=1)\;\%\text{ in layer 3}",
    predict=partial(_dead_with, 0.1, lam=0.4, xi=0.0),
    measure=partial(_dead_with, **OURS),
    compare=AtMost(),
    must_hold=partial(_dead_with, **ALONE),
    expected=Outcome.REFUTED,
    where="Table 4",
    figure="mmd_table_4",
    finding=(
        "As many are left: 8 and 11 % in the quick profile, where other starts or"
        " rounding turn them about, 9.5 and 10.1 % at the paper's size after a fifth of"
        " its steps."
    ),
)


def _constant_at(s2: float, factor: float = 1.0, *, scale: str, lam: float) -> float:
    return factor * float(constant("sweep", scale, s2=s2, lam=lam).mean())


NOISE = trained(
    id="mmd/tab5",
    runs=NETWORKS.looks("sweep"),
    items=("Tab5", "DS"),
    title="The noise that is chosen leaves a third of the constant models of the most",
    statement=r"DS(s^2=0.5)\le\tfrac13DS(s^2=2):\;1.33,\,44.20;\;1.58,\,35.57;\;"
    r"1.41,\,16.93",
    predict=partial(_constant_at, 2.0, 1.0 / 3.0),
    measure=partial(_constant_at, 0.5),
    compare=AtMost(),
    must_hold=partial(constantly, 0.5),
    expected=Outcome.REFUTED,
    where="Table 5",
    figure="mmd_table_5",
    **_by(lam=(0.2, 0.4, 1.0)),
    finding=(
        "In the quick profile, after 300 steps, as much as with the most: 47, 33, 28"
        " and 31 % at lambda = 0.2 as s^2 rises. At the paper's size, after 600, half:"
        " 41, 17, 19 and 34 %. It falls as training goes on: less than half is all that"
        " so short a run shows."
    ),
)


def _detached_at(s2: float, *, scale: str, lam: float) -> float:
    """IOD: the layer with most dead units."""
    return float(dead("sweep", scale, s2=s2, lam=lam).mean(axis=0).max())


MOST_NOISE = trained(
    id="mmd/tab5-iod",
    runs=NETWORKS.looks("sweep"),
    items=("Tab5", "IOD"),
    title="The most noise cuts more units off than the noise that is chosen",
    statement=r"IOD(s^2=2)>IOD(s^2=0.5):\;56.44>17.80\;(\lambda=0.2),\;"
    r"47.62>5.48\;(\lambda=0.4)",
    predict=partial(_detached_at, 2.0),
    measure=partial(_detached_at, 0.5),
    compare=AtMost(),
    # The least of Table 5.
    must_refute=partial(constantly, 0.0548),
    where="Table 5",
    **_by(lam=(0.2, 0.4)),
)


# --- laws of the predictions: claim 1 and figure 1 ------------------------------------


def _distances(scale: str, when: str, **variant: float) -> Array:
    """Kolmogorov-Smirnov distances from uniform, (seeds, inputs)."""
    found = runs(learnt(variant["lam"]), scale, **variant)
    return found.series(f"densities/{when}/distances")


def _each(when: str, factor: float = 1.0, *, scale: str, **variant: float) -> Array:
    """Of every start and input."""
    return factor * _distances(scale, when, **variant).ravel()


NEARER = trained(
    id="mmd/claim1",
    runs=NETWORKS.looks("mmd-xavier", "uniform-xavier"),
    items=("Claim1", "Fig1"),
    title="Pre-training brings the law of each prediction nearer to uniform",
    statement=r"\sup_p|P(f_{\theta_0+\epsilon}(x)_1\le p)-p|\text{ falls for each }x",
    predict=partial(_each, "before"),
    measure=partial(_each, "after"),
    compare=AtMost(),
    # The factor that the worst input falls by, asked of all.
    must_refute=partial(_each, "before", 1.0 / 3.0),
    where="Claim 1 and Figure 1",
    figure="mmd_figure_1",
    **_by(lam=(0.0, 0.4), xi=(0.0, 1.0)),
    version=2,
)


def _worst(when: str, factor: float = 1.0, *, scale: str, **variant: float) -> float:
    """The largest over starts and inputs."""
    return factor * float(np.max(_distances(scale, when, **variant)))


_SAMPLED = math.sqrt(math.pi / 2.0) * math.log(2.0) / math.sqrt(1024.0)
"""Mean distance of 1,024 uniform numbers from their law (Kolmogorov), 0.027."""

_uniform_claim = partial(
    trained,
    compare=AtMost(),
    # As if the law were uniform but for the sampling.
    must_refute=partial(constantly, _SAMPLED),
    version=2,
)

UNIFORM = _uniform_claim(
    id="mmd/claim1-uniform",
    runs=NETWORKS.looks("uniform-xavier"),
    items=("Claim1",),
    title="After pre-training for uniformity the worst law is three times nearer to it",
    statement=r"\max_{\theta_0,x}D_{KS}\text{ after}\le\tfrac13\text{ before}\;(L_{uni})",
    predict=partial(_worst, "before", 1.0 / 3.0, **ALONE),
    measure=partial(_worst, "after", **ALONE),
    where="Claim 1",
    figure="mmd_figure_1",
)

UNIFORM_OURS = _uniform_claim(
    id="mmd/claim1-ours",
    runs=NETWORKS.looks("mmd-xavier"),
    items=("Claim1",),
    title="With both regularisers the worst law is three times nearer to uniform too",
    statement=r"\max_{\theta_0,x}D_{KS}\text{ after}\le\tfrac13\text{ before}"
    r"\;(L_{uni}+0.4L_{sd}+L_{iod})",
    predict=partial(_worst, "before", 1.0 / 3.0, **OURS),
    measure=partial(_worst, "after", **OURS),
    where="Claim 1",
)


def _median(when: str, factor: float = 1.0, *, scale: str, **variant: float) -> float:
    """Median over starts and inputs."""
    return factor * float(np.median(_distances(scale, when, **variant)))


FIGURE_1A = _uniform_claim(
    id="mmd/Fig1a",
    runs=NETWORKS.looks("uniform-xavier"),
    items=("Fig1",),
    title="Uniformity alone: the distance from uniform falls to less than a third",
    statement=r"\operatorname{median}_xD_{KS}\text{ after}\le\tfrac13\text{ before}",
    predict=partial(_median, "before", 1.0 / 3.0, **ALONE),
    measure=partial(_median, "after", **ALONE),
    where="Figure 1 (a)",
    figure="mmd_figure_1",
)


def _spread_over_inputs(when: str, *, scale: str) -> float:
    """Median over perturbed models of p's standard deviation over inputs."""
    found = runs("uniform-xavier", scale, **ALONE)
    return float(np.median(found.series(f"densities/{when}/spread")))


FIGURE_1B = trained(
    id="mmd/Fig1b",
    runs=NETWORKS.looks("uniform-xavier"),
    items=("Fig1",),
    title="Uniformity alone makes models constant: over inputs, predictions are a spike",
    statement=r"\operatorname{median}_\epsilon\operatorname{sd}_x\,f(x)_1\le0.05",
    predict=partial(constantly, 0.05),
    measure=partial(_spread_over_inputs, "after"),
    compare=AtMost(),
    must_hold=partial(_spread_over_inputs, "before"),
    expected=Outcome.REFUTED,
    where="Figure 1 (b)",
    figure="mmd_figure_1",
    finding=(
        "The median falls from 0.13 to 0.11 in the quick profile, from 0.14 to 0.06 at"
        " the paper's size."
    ),
)


# --- detachment around the start: figure 2 --------------------------------------------


def _around(s2: float, *, scale: str) -> Estimate:
    """Log of L_iod at perturbed starts, after training over before, by start."""
    found = runs("detachment", scale).series(f"snapshots/around/{s2}")
    return Estimate.of(np.log(found[:, -1] / found[:, 0]).mean(axis=1))


def _at_the_start(*, scale: str) -> float:
    """The same at the start itself, mean over starts."""
    found = runs("detachment", scale).series("snapshots/here")
    return float(np.log(found[:, -1] / found[:, 0]).mean())


FIGURE_2 = trained(
    id="mmd/Fig2",
    runs=NETWORKS.looks("detachment"),
    items=("Fig2", "Eq20", "Eq22"),
    title="Minimising detachment at the start lowers it where there is little noise",
    statement=r"L_{iod}(\theta_0+\epsilon)\text{ falls with }L_{iod}(\theta_0),\;s^2=0.2",
    predict=partial(constantly, 0.0),
    measure=partial(_around, NOISES[0]),
    # A start is one replicate; four of them.
    compare=MeanAtMost(discrepancy=0.0, false_fail=1e-2, false_pass=1e-2),
    # As far as at the start itself.
    must_refute=_at_the_start,
    where="Figure 2",
    figure="mmd_figure_2",
    uses=("mmd/Fig2-chosen",),
    version=2,
)

FIGURE_2_CHOSEN = trained(
    id="mmd/Fig2-chosen",
    runs=NETWORKS.looks("detachment"),
    items=("Fig2", "Fig2chosen"),
    title="The loss against detachment lowers it with the noise that is chosen, too",
    statement=r"L_{iod}(\theta_0+\epsilon)\text{ falls with }L_{iod}(\theta_0),\;s^2=0.5",
    predict=partial(constantly, 0.0),
    measure=partial(_around, 0.5),
    compare=MeanAtMost(discrepancy=0.0, false_fail=1e-2, false_pass=1e-2),
    # Up, by less than a factor of ten.
    must_hold=partial(constantly, math.log(10.0)),
    expected=Outcome.REFUTED,
    where="Figure 2",
    figure="mmd_figure_2",
    uses=("mmd/Fig2-chain",),
    finding=(
        "It rises threefold at each of four starts, eightfold in the paper's networks:"
        " from Xavier's start the noise fills up rows that are too short, at the minimum"
        " it makes right ones too long (mmd/Fig2-chain)."
    ),
)


# --- uniformity: figure 3 -------------------------------------------------------------


def _left_at(lam: float, factor: float = 1.0, *, scale: str) -> float:
    left = [last_uniformity("sweep", scale, s2=s2, lam=lam) for s2 in NOISES]
    return factor * float(np.mean(left))


FIGURE_3 = trained(
    id="mmd/Fig3",
    runs=NETWORKS.looks("sweep"),
    items=("Fig3",),
    title="With the largest weight on the other loss, uniformity comes later",
    statement=r"\operatorname{mean}_{s^2}\operatorname{mean}_{t\le300}L_{uni}:\quad"
    r"\lambda=0.2\;\le\;\lambda=1",
    predict=partial(_left_at, 1.0),
    measure=partial(_left_at, 0.2),
    compare=AtMost(),
    # The paper's figure ends three times as far off with the largest weight.
    must_refute=partial(_left_at, 1.0, 1.0 / 3.0),
    finding=(
        "A mean over four sizes of noise and over a whole run of 300 steps: at s^2 = 2"
        " alone it is the other way round. What is left at the end needs longer runs."
    ),
    version=2,
    where="Figure 3",
    figure="mmd_figure_3",
)


# --- distances from the start: equation 5 ---------------------------------------------

_FROM = 50


def _explained(values: Array, clock: Array) -> float:
    """R^2 of a straight line in the clock."""
    return float(np.corrcoef(clock, values)[0, 1] ** 2)


def _logarithm_or_root(*, scale: str) -> Array:
    """R^2 of log t less that of the root of t, by start."""
    found: list[float] = []
    for draw in runs("distance", scale):
        distances = draw.series("distances")
        t = np.arange(distances.size)[_FROM:]
        values = distances[_FROM:]
        found.append(_explained(values, np.log(t)) - _explained(values, np.sqrt(t)))
    return np.array(found)


EQ_5 = trained(
    id="mmd/eq5",
    runs=NETWORKS.looks("distance"),
    items=("Eq5",),
    title="Parameters leave their start as the logarithm of time, not as its root",
    statement=r"\|\theta_t-\theta_0\|\sim\log t:\;R^2(\log t)>R^2(\sqrt t)",
    predict=up,
    measure=_logarithm_or_root,
    compare=SignTest(),
    must_refute=down,
    where="Equation 5, after Hoffer, Hubara and Soudry 2017",
    finding=(
        "In fine-tuning with Adam, 10 starts of 10; the root of time explains less in"
        " each."
    ),
)
