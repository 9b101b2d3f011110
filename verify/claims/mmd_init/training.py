"""What pre-training does to predictions and losses: figures 1 to 3, claim 1."""

import math
from functools import partial
from typing import Any

import numpy as np

from empirical.mmd_init.experiments import NOISES
from verify.claims._predictors import stated, unmet
from verify.claims.mmd_init._runs import (
    ALONE,
    NETWORKS,
    OURS,
    UNLABELLED,
    Array,
    apart,
    effect,
    learnt,
    runs,
    series,
    trained,
    window,
)
from verify.claims.mmd_init._sources import as_read, quoted
from verify.compare import Contrast
from verify.trained import NotLearnt

BOTH = NETWORKS.looks("mmd-xavier", "uniform-xavier")
UNIFORM, REGULARISED = NETWORKS.looks("uniform-xavier"), NETWORKS.looks("mmd-xavier")
SWEEP, DETACHED = NETWORKS.looks("sweep"), NETWORKS.looks("detachment")

_effect, _trained = (partial(f, withstands=UNLABELLED) for f in (effect, trained))


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
    unit="e-folds",
    title="Pre-training brings the distributions of predictions closer to uniform",
    statement=(
        r"\sup_p|P(f_{\theta_0+\epsilon}(x)_1\le p)-p|"
        r"\text{ falls by a factor of at least }1.5"
    ),
    source=as_read("Claim 1 and Figure 1"),
    figure="mmd_figure_1",
    axes={"lam": (0.0, 0.4), "xi": (0.0, 1.0)},
    version=3,
    uses=("mmd/fig1-distance",),
)


def _third(over_inputs: Any, variant: dict[str, float], *, scale: str) -> Contrast:
    """A third of a distance before, and the distance after."""
    before, after = (
        over_inputs(_distances(scale, when, **variant), axis=1)
        for when in ("before", "after")
    )
    return Contrast(before / 3.0, after)


_uniform_claim = partial(
    _effect,
    least=0.0,
    wrong=(None, -0.05),
    source=as_read("Claim 1 and Figure 1 (a)"),
    version=3,
)

UNIFORM_LAW = _uniform_claim(
    partial(_third, np.max, ALONE),
    id="mmd/claim1-uniform",
    runs=UNIFORM,
    title="Pre-training for uniformity lowers the largest distance from uniform to a third",
    statement=r"\max_xD_{KS}\text{ after}\le\tfrac13\text{ before}\;(L_{uni})",
    figure="mmd_figure_1",
    uses=("mmd/fig1-distance",),
)

UNIFORM_OURS = _uniform_claim(
    partial(_third, np.max, OURS),
    id="mmd/claim1-ours",
    uses=("mmd/fig1-distance",),
    finding=(
        "It falls from every start, and on their mean to about a third or less; but starts"
        " differ by too much for eight of them to decide, at either size."
    ),
    runs=REGULARISED,
    title="With both regularisers, too, the largest distance from uniform falls to a third",
    statement=r"\max_xD_{KS}\text{ after}\le\tfrac13\text{ before}"
    r"\;(L_{uni}+0.4L_{sd}+L_{iod})",
)

FIGURE_1A = _uniform_claim(
    partial(_third, np.median, ALONE),
    id="mmd/Fig1a",
    runs=UNIFORM,
    items=("Fig1",),
    title=(
        "With the uniformity loss alone, the distance from uniform falls to"
        " less than a third"
    ),
    statement=r"\operatorname{median}_xD_{KS}\text{ after}\le\tfrac13\text{ before}",
    source=as_read("Figure 1 (a)"),
    figure="mmd_figure_1",
    uses=("mmd/fig1-distance",),
)


def _spread_over_inputs(*, scale: str) -> Contrast:
    """Median over perturbed models of p's standard deviation over inputs."""
    spread = series("uniform-xavier", scale, "densities/after/spread", **ALONE)
    return Contrast.alone(np.median(spread, axis=1))


FIGURE_1B = _trained(
    measure=_spread_over_inputs,
    **stated(None, 0.05, wrong=(0.05, None)),
    finding=(
        "After 3,000 steps of a narrow network predictions vary less over inputs than"
        " before, on the mean of starts, but they still do. After the paper's 9,375 of its"
        " own network they hardly do."
    ),
    id="mmd/Fig1b",
    runs=UNIFORM,
    items=("Fig1",),
    title="With the uniformity loss alone, models become constant over inputs",
    statement=r"\operatorname{median}_\epsilon\operatorname{sd}_x\,f(x)_1\le0.05",
    source=as_read("Figure 1 (b)"),
    figure="mmd_figure_1",
    version=2,
)


# --- detachment around the start: figure 2 --------------------------------------------


MINIMAL = 0.01
"""L_iod at most, once it is minimised: rows of length one but for a tenth."""


def _around(s2: float, *, scale: str) -> Contrast:
    """Logarithms of L_iod at perturbed starts, before and after, by start.

    Raises
    ------
    NotLearnt
        If it is not minimised at the starts themselves.
    """
    here = series("detachment", scale, "snapshots/here")[:, -1]
    if here.max() > MINIMAL:
        raise NotLearnt(
            f"detachment ({scale}): the claim presupposes starts at which L_iod is"
            f" minimised, at most {MINIMAL}, but it is {here.round(3).tolist()}"
        )
    found = np.log(series("detachment", scale, f"snapshots/around/{s2}")).mean(axis=2)
    return Contrast(found[:, 0], found[:, -1])


FIGURE_2 = _effect(
    partial(_around, NOISES[0]),
    0.1,
    id="mmd/Fig2",
    quick=True,
    runs=DETACHED,
    items=("Fig2", "Eq20", "Eq22"),
    title=("Minimising the detachment loss at a start lowers it nearby (small noise)"),
    statement=r"L_{iod}(\theta_0+\epsilon)\text{ falls with }L_{iod}(\theta_0),\;s^2=0.2",
    source=quoted("Figure 2"),
    figure="mmd_figure_2",
    uses=("mmd/Fig2-chosen",),
    version=3,
)

FIGURE_2_CHOSEN = _trained(
    measure=partial(_around, 0.5),
    **unmet((0.1, None), (None, 0.0)),
    id="mmd/Fig2-chosen",
    quick=True,
    runs=DETACHED,
    items=("Fig2", "Fig2chosen"),
    title=("Minimising the detachment loss at a start lowers it nearby (chosen noise)"),
    statement=r"L_{iod}(\theta_0+\epsilon)\text{ falls with }L_{iod}(\theta_0),\;s^2=0.5",
    source=quoted("Figure 2"),
    figure="mmd_figure_2",
    uses=("mmd/Fig2-chain",),
    version=2,
    finding=(
        "It rises from every start: at Xavier's initialisation the noise lengthens"
        " rows that are too short, at the minimum it makes rows of the right length"
        " too long (mmd/Fig2-chain)."
    ),
)


def _least_and_larger(*, scale: str, s2: float) -> Contrast:
    """How far the logarithm falls around starts, at the least noise and at a larger."""
    each = (_around(noise, scale=scale) for noise in (NOISES[0], s2))
    return Contrast(*(found.treated - found.baseline for found in each))


FIGURE_2_LESS = _effect(
    _least_and_larger,
    0.1,
    id="mmd/Fig2-less",
    runs=DETACHED,
    title="Minimising the detachment loss at a start does less nearby the larger the noise",
    statement=(
        r"\log\frac{L_{iod}(\theta_0+\epsilon)\text{ at first}}{\text{at last}}:\quad "
        r"s^2=0.2\text{ more than }0.5,1,2"
    ),
    source=as_read("Appendix B.2"),
    axes={"s2": NOISES[1:]},
    uses=("mmd/Fig2-chosen",),
    finding=(
        "At the least noise alone it falls. At the others it rises, on the mean most at"
        " the smallest of them: they are not in the order that the text has them in."
    ),
)


# --- losses on the way: figure 3 and section 3.3 --------------------------------------


_left = partial(window, "sweep", term="uniformity", at="last")

FIGURE_3 = _effect(
    apart(_left, {"lam": 1.0}, {"lam": 0.2}),
    0.0,
    wrong=(None, -0.01),
    id="mmd/Fig3",
    runs=SWEEP,
    title="A larger weight on the degeneracy loss leaves more of the uniformity loss",
    statement=r"L_{uni}\text{ at the end}:\quad\lambda=0.2\;<\;\lambda=1",
    source=as_read("Figure 3 and appendix C.2"),
    figure="mmd_figure_3",
    axes={"s2": NOISES},
    version=3,
    finding="At the largest noise four starts do not decide.",
)


def _rises(scale: str, **variant: float) -> Array:
    """Return the most by which three windows on end exceed three earlier ones, by start."""
    windows = series("sweep", scale, "windows/uniformity", **variant)
    means = np.lib.stride_tricks.sliding_window_view(windows, 3, axis=1).mean(axis=2)
    least = np.minimum.accumulate(means, axis=1)
    return (means - least).max(axis=1)


NOT_MONOTONE = _trained(
    measure=apart(_rises, {"lam": 1.0}, {"lam": 0.2}),
    **unmet((0.01, None), (None, 0.01)),
    id="mmd/Fig3-rise",
    runs=SWEEP,
    items=("Fig3", "Fig3rise"),
    title=(
        "With weight 1 on the degeneracy loss and large noise, the uniformity loss"
        " also rises"
    ),
    statement=(
        r"\max_{t>t'}\bigl(L_{uni}(t)-L_{uni}(t')\bigr):\quad"
        r"\lambda=1\;\ge\;\lambda=0.2\text{ and }0.01,\;s^2\in\{1,2\}"
    ),
    source=as_read("Caption of Figure 3"),
    figure="mmd_figure_3",
    axes={"s2": NOISES[2:]},
    uses=("mmd/Fig3",),
    finding=(
        "In narrow networks it rises by no more than minibatches make it rise at the"
        " smallest weight, where the paper has it fall."
    ),
)


def _fall(*, scale: str, term: str) -> Contrast:
    """Logarithms of a loss in the first window and in the last three."""
    return Contrast(
        *(
            np.log(window("mmd-xavier", scale, term, at, **OURS))
            for at in ("first", "last")
        )
    )


BOTH_FALL = _effect(
    _fall,
    0.0,
    id="mmd/both-fall",
    runs=REGULARISED,
    items=("BothFall",),
    title="With weight 0.4, both the uniformity loss and the degeneracy loss fall",
    statement=r"L_{uni},L_{sd}\text{ in the first window}>\text{in the last three}",
    source=quoted("Section 3.3 and appendix C.3"),
    axes={"term": ("uniformity", "degeneracy")},
    finding=(
        "The uniformity loss does by much, the degeneracy loss by little: at"
        " initialisation all predictions are near one half and hardly favour a class;"
        " once they are spread evenly, they must."
    ),
    version=3,
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
        if distances.size < 4 * _FROM:
            raise NotLearnt(
                f"distance ({scale}): the claim presupposes {4 * _FROM} updates, but there"
                f" are {distances.size - 1}"
            )
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
    quick=True,
    runs=NETWORKS.looks("distance"),
    title=(
        "In training, parameters leave their initial values like log t, not like its root"
    ),
    statement=r"\|\theta_t-\theta_0\|\sim\log t:\;R^2(\log t)-R^2(\sqrt t)\ge0.01",
    source=as_read("Equation 5, after Hoffer, Hubara and Soudry 2017"),
    version=2,
    finding=(
        "In narrow networks it is the logarithm that fits. In the paper's the root fits as"
        " well, as far as ten starts tell."
    ),
)
