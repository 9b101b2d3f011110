"""What pre-training does to a start: tables 3 to 5, figures 1 to 3, claim 1."""

import math
from functools import partial
from typing import Any

import numpy as np

from empirical.mmd_init.experiments import NOISES
from verify.claims.mmd_init._runs import (
    ALONE,
    NETWORKS,
    OURS,
    WAITS,
    Array,
    alone,
    constant,
    dead,
    effect,
    learnt,
    limits,
    runs,
    series,
    trained,
    window,
)
from verify.compare import Contrast, Outcome

BOTH = NETWORKS.looks("mmd-xavier", "uniform-xavier")
UNIFORM, REGULARISED = NETWORKS.looks("uniform-xavier"), NETWORKS.looks("mmd-xavier")
SWEEP, DETACHED = NETWORKS.looks("sweep"), NETWORKS.looks("detachment")
XI: dict[str, tuple[Any, ...]] = {"xi": (0.0, 1.0)}
LAMBDAS: dict[str, tuple[Any, ...]] = {"lam": (0.2, 0.4, 1.0)}

UNLABELLED = {"shuffled": "pre-training sees no labels"}
_effect, _trained = (partial(f, withstands=UNLABELLED) for f in (effect, trained))


# --- tables 3 and 4 -------------------------------------------------------------------


def _constant(part: float = 1.0, *, scale: str, xi: float) -> Contrast:
    """Share of constant models without the loss against them, and with it."""
    without = constant("uniform-xavier", scale, lam=0.0, xi=xi)
    return Contrast(part * without, constant("mmd-xavier", scale, lam=0.4, xi=xi))


DEGENERATE = _effect(
    _constant,
    10.0,
    id="mmd/tab3",
    runs=BOTH,
    items=("Tab3", "DS"),
    title="The loss against degenerate softmax lowers the share of constant models",
    statement=r"DS(\lambda=0)-DS(\lambda=0.4)\ge10\,\%",
    where="Table 3",
    figure="mmd_table_3",
    axes=XI,
    quick=False,
    open_reason=WAITS,
    version=2,
)

A_FIFTH = _effect(
    partial(_constant, 0.2),
    0.0,
    wrong=(None, -5.0),
    id="mmd/tab3-fifth",
    runs=BOTH,
    items=("Tab3",),
    title="The loss against degenerate softmax lowers that share to less than a fifth",
    statement=r"89.32\to0.41\;(\xi=0),\quad80.83\to1.39\;(\xi=1)",
    where="Table 3",
    axes=XI,
    quick=False,
    open_reason=WAITS,
    version=2,
)


def _dead(layer: int, scale: str, **variant: float) -> Array:
    return dead(learnt(variant["lam"]), scale, **variant)[:, layer]


def _fewer_dead(*, scale: str) -> Contrast:
    return Contrast(
        _dead(-1, scale, **ALONE), _dead(-1, scale, **{**ALONE, "lam": 0.4})
    )


DEAD = _effect(
    _fewer_dead,
    10.0,
    id="mmd/tab4",
    runs=BOTH,
    items=("Tab4", "Dead"),
    title="The loss against degenerate softmax leaves fewer dead units at the end",
    statement=r"80.08\,(\lambda=0)>8.21\,(\lambda=0.4)\;\%\text{ in layer 3}",
    where="Table 4",
    figure="mmd_table_4",
    quick=False,
    open_reason=WAITS,
    version=2,
)


def _last_and_first(*, scale: str) -> Contrast:
    return Contrast(_dead(-1, scale, **ALONE), _dead(0, scale, **ALONE))


DEEPER = _effect(
    _last_and_first,
    5.0,
    id="mmd/tab4-layers",
    runs=UNIFORM,
    items=("Tab4", "Layers"),
    title="Uniformity alone leaves the more dead units the deeper the layer",
    statement=r"52.11<63.88<80.08\;\%:\quad\text{layer 3 less layer 1}\ge5",
    where="Table 4 and appendix B.3",
    quick=False,
    open_reason=WAITS,
    version=2,
)


def _tenth_left(*, scale: str) -> Contrast:
    with_one = _dead(-1, scale, lam=0.4, xi=0.0)
    return Contrast(0.1 * with_one, _dead(-1, scale, **OURS))


DEAD_DETACHED = _trained(
    id="mmd/tab4-iod",
    runs=REGULARISED,
    items=("Tab4", "Dead"),
    title="The loss against detachment leaves no more than a tenth of those",
    statement=r"8.21\,(\xi=0)\to0.02\,(\xi=1)\;\%\text{ in layer 3}",
    predict=partial(limits, 0.0, None),
    measure=_tenth_left,
    must_hold=partial(limits, None, 0.0),
    expected=Outcome.REFUTED,
    where="Table 4",
    figure="mmd_table_4",
    quick=False,
    version=2,
    finding=(
        "In narrow networks as many are left with it, 6.8 and 5.7 % at full scale: the"
        " loss keeps rows of Jacobians long, not every unit alive."
    ),
)


def _worst_layer(*, scale: str) -> Contrast:
    return alone(dead("mmd-xavier", scale, **OURS).max(axis=1))


FEW_DEAD = _effect(
    _worst_layer,
    None,
    10.0,
    wrong=(20.0, None),
    id="mmd/tab4-few",
    runs=BOTH,
    items=("Tab4", "Layers"),
    title="With both regularisers few units are dead in any layer",
    statement=r"3.75,\,5.12,\,0.02\;\%:\quad\max_l\le10\,\%",
    where="Table 4 and appendix B.3",
    quick=False,
    open_reason=(
        "eight starts leave it undecided at the full scale: 11.0 ± 2.4 % of units are dead"
        " in the worst layer"
    ),
)


# --- table 5 --------------------------------------------------------------------------


def _constant_at(*, scale: str, lam: float) -> Contrast:
    most, chosen = (constant("sweep", scale, s2=s2, lam=lam) for s2 in (2.0, 0.5))
    return Contrast(most / 3.0, chosen)


NOISE = _effect(
    _constant_at,
    0.0,
    wrong=(None, -5.0),
    id="mmd/tab5",
    runs=SWEEP,
    items=("Tab5", "DS"),
    title="The noise that is chosen leaves a third of the constant models of the most",
    statement=r"DS(s^2=0.5)\le\tfrac13DS(s^2=2):\;1.33,\,44.20;\;1.58,\,35.57;\;"
    r"1.41,\,16.93",
    where="Table 5",
    figure="mmd_table_5",
    axes=LAMBDAS,
    quick=False,
    open_reason=WAITS,
    version=2,
)


def _detached(scale: str, s2: float, lam: float) -> Array:
    """IOD: the layer with most dead units."""
    return dead("sweep", scale, s2=s2, lam=lam).max(axis=1)


def _detached_at(*, scale: str, lam: float) -> Contrast:
    return Contrast(*(_detached(scale, s2, lam) for s2 in (2.0, 0.5)))


MOST_NOISE = _effect(
    _detached_at,
    0.0,
    wrong=(None, -5.0),
    id="mmd/tab5-iod",
    runs=SWEEP,
    items=("Tab5", "IOD"),
    title="The most noise cuts more units off than the noise that is chosen",
    statement=r"IOD(s^2=2)>IOD(s^2=0.5):\;56.44>17.80\;(\lambda=0.2),\;"
    r"47.62>5.48\;(\lambda=0.4)",
    where="Table 5",
    axes={"lam": (0.2, 0.4)},
    quick=False,
    open_reason=WAITS,
    version=2,
)


def _other_and_chosen(*, scale: str, s2: float, lam: float) -> Contrast:
    return Contrast(_detached(scale, s2, lam), _detached(scale, 0.5, 0.4))


CHOICE = _effect(
    _other_and_chosen,
    0.0,
    wrong=(None, -5.0),
    id="mmd/tab5-choice",
    runs=SWEEP,
    items=("Tab5", "Choice"),
    title="Noise of 0.5 and weight 0.4 leave the fewest dead units",
    statement=r"IOD(s^2,\lambda)>IOD(0.5,0.4)",
    where="Table 5 and appendix C.2",
    axes={"s2": NOISES, "lam": (0.2, 1.0)},
    quick=False,
    open_reason=WAITS,
    version=2,
)


# --- laws of the predictions: claim 1 and figure 1 ------------------------------------


def _distances(scale: str, when: str, **variant: float) -> Array:
    """Kolmogorov-Smirnov distances from uniform, (starts, inputs)."""
    return series(
        learnt(variant["lam"]), scale, f"densities/{when}/distances", **variant
    )


def _nearer(*, scale: str, lam: float, xi: float) -> Contrast:
    """Mean logarithms over inputs, before and after."""
    return Contrast(
        *(
            np.log(_distances(scale, when, lam=lam, xi=xi)).mean(axis=1)
            for when in ("before", "after")
        )
    )


NEARER = _effect(
    _nearer,
    math.log(1.5),
    id="mmd/claim1",
    runs=BOTH,
    items=("Claim1", "Fig1"),
    title="Pre-training brings the laws of predictions nearer to uniform",
    statement=r"\sup_p|P(f_{\theta_0+\epsilon}(x)_1\le p)-p|\text{ falls by }1.5",
    where="Claim 1 and Figure 1",
    figure="mmd_figure_1",
    axes={"lam": (0.0, 0.4), "xi": (0.0, 1.0)},
    quick=False,
    open_reason=WAITS,
    version=3,
)


def _third(over_inputs: Any, variant: dict[str, float], *, scale: str) -> Contrast:
    """A third of a distance before, and the distance after."""
    before, after = (
        over_inputs(_distances(scale, when, **variant), axis=1)
        for when in ("before", "after")
    )
    return Contrast(before / 3.0, after)


_uniform_claim = partial(
    _effect, least=0.0, wrong=(None, -0.05), where="Claim 1", quick=False, version=3
)

UNIFORM_LAW = _uniform_claim(
    partial(_third, np.max, ALONE),
    id="mmd/claim1-uniform",
    open_reason=WAITS,
    runs=UNIFORM,
    items=("Claim1",),
    title="After pre-training for uniformity the worst law is three times nearer to it",
    statement=r"\max_xD_{KS}\text{ after}\le\tfrac13\text{ before}\;(L_{uni})",
    figure="mmd_figure_1",
)

UNIFORM_OURS = _uniform_claim(
    partial(_third, np.max, OURS),
    id="mmd/claim1-ours",
    open_reason=(
        "eight starts leave it undecided at the full scale: the largest of four distances"
        " falls from 0.31 to 0.076, a third of it less that is 0.028 ± 0.032"
    ),
    runs=REGULARISED,
    items=("Claim1",),
    title="With both regularisers the worst law is three times nearer to uniform too",
    statement=r"\max_xD_{KS}\text{ after}\le\tfrac13\text{ before}"
    r"\;(L_{uni}+0.4L_{sd}+L_{iod})",
)

FIGURE_1A = _uniform_claim(
    partial(_third, np.median, ALONE),
    id="mmd/Fig1a",
    open_reason=WAITS,
    runs=UNIFORM,
    items=("Fig1",),
    title="Uniformity alone: the distance from uniform falls to less than a third",
    statement=r"\operatorname{median}_xD_{KS}\text{ after}\le\tfrac13\text{ before}",
    where="Figure 1 (a)",
    figure="mmd_figure_1",
)


def _spread_over_inputs(*, scale: str) -> Contrast:
    """Median over perturbed models of p's standard deviation over inputs."""
    spread = series("uniform-xavier", scale, "densities/after/spread", **ALONE)
    return alone(np.median(spread, axis=1))


FIGURE_1B = _effect(
    _spread_over_inputs,
    None,
    0.05,
    wrong=(0.1, None),
    id="mmd/Fig1b",
    runs=UNIFORM,
    items=("Fig1",),
    title="Uniformity alone makes models constant: over inputs, predictions are a spike",
    statement=r"\operatorname{median}_\epsilon\operatorname{sd}_x\,f(x)_1\le0.05",
    where="Figure 1 (b)",
    figure="mmd_figure_1",
    quick=False,
    open_reason=WAITS,
    version=2,
)


# --- detachment around the start: figure 2 --------------------------------------------


def _around(s2: float, *, scale: str) -> Contrast:
    """Logarithms of L_iod at perturbed starts, before and after, by start."""
    found = np.log(series("detachment", scale, f"snapshots/around/{s2}")).mean(axis=2)
    return Contrast(found[:, 0], found[:, -1])


FIGURE_2 = _effect(
    partial(_around, NOISES[0]),
    0.1,
    id="mmd/Fig2",
    runs=DETACHED,
    items=("Fig2", "Eq20", "Eq22"),
    title="Minimising detachment at the start lowers it where there is little noise",
    statement=r"L_{iod}(\theta_0+\epsilon)\text{ falls with }L_{iod}(\theta_0),\;s^2=0.2",
    where="Figure 2",
    figure="mmd_figure_2",
    uses=("mmd/Fig2-chosen",),
    version=3,
)

FIGURE_2_CHOSEN = _trained(
    predict=partial(limits, 0.1, None),
    measure=partial(_around, 0.5),
    must_hold=partial(limits, None, 0.0),
    expected=Outcome.REFUTED,
    id="mmd/Fig2-chosen",
    runs=DETACHED,
    items=("Fig2", "Fig2chosen"),
    title="The loss against detachment lowers it with the noise that is chosen, too",
    statement=r"L_{iod}(\theta_0+\epsilon)\text{ falls with }L_{iod}(\theta_0),\;s^2=0.5",
    where="Figure 2",
    figure="mmd_figure_2",
    uses=("mmd/Fig2-chain",),
    version=2,
    finding=(
        "It rises at each start: from Xavier's the noise fills up rows that are too"
        " short, at the minimum it makes right ones too long (mmd/Fig2-chain)."
    ),
)


# --- losses on the way: figure 3 and section 3.3 --------------------------------------


def _left_at(*, scale: str, s2: float) -> Contrast:
    return Contrast(
        *(
            window("sweep", scale, "uniformity", "last", s2=s2, lam=lam)
            for lam in (1.0, 0.2)
        )
    )


FIGURE_3 = _effect(
    _left_at,
    0.0,
    wrong=(None, -0.01),
    id="mmd/Fig3",
    runs=SWEEP,
    items=("Fig3",),
    title="With the largest weight on the other loss, more of the first one is left",
    statement=r"L_{uni}\text{ at the end}:\quad\lambda=0.2\;<\;\lambda=1",
    where="Figure 3",
    figure="mmd_figure_3",
    axes={"s2": NOISES},
    quick=False,
    open_reason=WAITS,
    version=3,
)


def _fall(*, scale: str, term: str) -> Contrast:
    """Logarithms of a loss in the first window and in the last three."""
    return Contrast(
        *(
            np.log(window("mmd-xavier", scale, term, at, **OURS))
            for at in ("first", "last")
        )
    )


BOTH_FALL = _trained(
    predict=partial(limits, math.log(1.5), None),
    measure=_fall,
    must_hold=partial(limits, None, math.log(1.5)),
    expected=Outcome.REFUTED,
    id="mmd/both-fall",
    runs=REGULARISED,
    items=("BothFall",),
    title="With weight 0.4 both the uniformity and the softmax loss fall",
    statement=r"L_{uni},L_{sd}\text{ in the first window}\ge1.5\times\text{the last}",
    where="Section 3.3 and appendix C.2",
    axes={"term": ("uniformity", "degeneracy")},
    quick=False,
    finding=(
        "Uniformity falls fourfold, the loss against degenerate softmax by 4 %: predictions"
        " of the start, all near one half, hardly lean to a class, and those that are"
        " spread evenly must."
    ),
    version=2,
)


# --- distances from the start: equation 5 ---------------------------------------------

_FROM = 50


def _explained(values: Array, clock: Array) -> float:
    """R^2 of a straight line in the clock; none of what does not move."""
    if not np.ptp(values):
        return 0.0
    return float(np.corrcoef(clock, values)[0, 1] ** 2)


def _logarithm_and_root(*, scale: str) -> Contrast:
    """R^2 of log t and of the root of t, by start."""
    found: list[tuple[float, float]] = []
    for draw in runs("distance", scale):
        distances = draw.series("distances")
        t = np.arange(distances.size)[_FROM:]
        found.append(
            (
                _explained(distances[_FROM:], np.log(t)),
                _explained(distances[_FROM:], np.sqrt(t)),
            )
        )
    return Contrast(*np.array(found).T)


EQ_5 = effect(
    _logarithm_and_root,
    0.01,
    withstands={"shuffled": "a distance travelled is one whatever the labels are"},
    id="mmd/eq5",
    runs=NETWORKS.looks("distance"),
    items=("Eq5",),
    title="Parameters leave their start as the logarithm of time, not as its root",
    statement=r"\|\theta_t-\theta_0\|\sim\log t:\;R^2(\log t)-R^2(\sqrt t)\ge0.01",
    where="Equation 5, after Hoffer, Hubara and Soudry 2017",
    version=2,
)
