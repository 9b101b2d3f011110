"""Trained networks: the figures of experiments A, B and C (Figures 1 to 11).

With batch normalisation and decay (A), normalisation alone (B), neither (C). Estimands
and smallest effects are those of the protocol in ``docs/trained/square-loss.md``.
"""

import math
from functools import partial
from typing import Any

import numpy as np

from empirical.testbed.records import Draws
from verify.claim import Claim
from verify.claims.square_loss._networks import Array
from verify.claims.square_loss._runs import (
    CONVOLUTION,
    DECAYED,
    FITTED,
    MISSING,
    NEITHER,
    NOISE,
    NORMALISED,
    ON_COLOURS,
    RATES,
    Start,
    alone,
    draws,
    effect,
    first,
    last,
    learnt,
    log_ratio,
    looks,
    norm_rests,
    run,
    trained,
)
from verify.claims.square_loss._sources import as_read
from verify.compare import Contrast
from verify.trained import NotLearnt

ENDS_OF_A: tuple[Start, ...] = ((DECAYED, -1), (DECAYED, 0))
ENDS_OF_B: tuple[Start, ...] = ((CONVOLUTION, -1), (CONVOLUTION, 0))


# --- curves ---------------------------------------------------------------------------

_CURVES = {"loss": -2.0, "test_error": 0.25}
"""What training and testing come to at most: log10 of a loss, and half of chance."""


def _at_the_end(family: str, *, scale: str, data: str, on: str) -> Contrast:
    """Log10 of the loss, or test error, of networks, means over the starts of a seed.

    Of those that decay most must be at rest: before that training has not ended.
    """
    found = draws(family, scale, data)
    penalty = float(run(family, scale, data).fact("penalty"))
    still = [penalty == 0.0 or norm_rests(draw, penalty) for draw in found]
    if np.mean(still) < 1.0 - MISSING:
        raise NotLearnt(
            f"{family} ({scale}, {data}): the claim presupposes norms that are at rest,"
            f" but those of {sum(still)} of {len(found)} networks are"
        )
    values = (
        np.log10(last(found, on))
        if on == "loss"
        else np.array([float(draw.fact(on)) for draw in found])
    )
    seeds = np.array(found.key("seed"))
    return Contrast.alone([values[seeds == seed].mean() for seed in sorted(set(seeds))])


def _little(*, scale: str, data: str, on: str) -> tuple[None, float]:
    return None, _CURVES[on]


def _as_before(*, scale: str, data: str, on: str) -> tuple[float, None]:
    """Networks that learn nothing: a loss of 0.8, or an error of a half."""
    return {"loss": -0.1, "test_error": 0.5}[on], None


_ARMS = {
    "A": "normalisation and decay",
    "B": "normalisation, no decay",
    "C": "neither normalisation nor decay",
}


def _curves(number: int, item: str, family: str, **parts: Any) -> Claim:
    return trained(
        id=f"sl/Fig{number}",
        runs=looks(family),
        items=(f"Fig{number}", item),
        title=f"Experiment {item[-1]} ({_ARMS[item[-1]]}) fits its data and generalises",
        statement=r"\overline{\log_{10}L_{end}}\le-2,\qquad\text{test error}\le\tfrac14",
        axes={"on": tuple(_CURVES)},
        predict=_little,
        measure=partial(_at_the_end, family),
        must_refute=_as_before,
        withstands={},
        source=as_read(f"Figure {number}"),
        figure=f"square_loss_figure_{number}",
        version=2,
        **parts,
    )


CURVES = (
    _curves(1, "ExpA", DECAYED, larger=ON_COLOURS),
    _curves(5, "ExpB", CONVOLUTION, larger=ON_COLOURS),
    _curves(9, "ExpC", NEITHER),
)


# --- norms, by where they start -------------------------------------------------------


def kept(family: str, *, scale: str, data: str) -> Array:
    """Return what is left of the logarithmic distance of the extreme starts, by seed."""
    high, low = learnt((family, -1), (family, 0), scale=scale, data=data)
    return share(high, low)


def share(high: Draws, low: Draws) -> Array:
    """Return what is left of the logarithmic distance of two starts."""
    start, end = (np.log(f(high, "rho") / f(low, "rho")) for f in (first, last))
    return end / start


def _kept(family: str, *, scale: str, data: str) -> Contrast:
    return Contrast.alone(kept(family, scale=scale, data=data))


MERGING = effect(
    id="sl/Fig2",
    runs=looks(DECAYED),
    larger=ON_COLOURS,
    items=("Fig2", "ExpA"),
    title="With normalisation and decay, runs from scales 0.1 and 5 end at nearly one norm",
    statement=(
        r"\frac{\ln(\rho_{end}(5)/\rho_{end}(0.1))}{\ln(\rho_0(5)/\rho_0(0.1))}"
        r"=0\pm\tfrac14"
    ),
    measure=partial(_kept, DECAYED),
    least=-0.25,
    most=0.25,
    wrong=(0.75, None),
    source=as_read("Figure 2"),
    figure="square_loss_figure_2",
    version=2,
)

REMAINS = effect(
    id="sl/Fig6-spread",
    runs=looks(NORMALISED),
    larger=ON_COLOURS,
    items=("Fig6", "ExpB"),
    title=(
        "With normalisation alone, much of the initial difference of norms remains, not all"
    ),
    statement=(
        r"\tfrac14\le\frac{\ln(\rho_{end}(5)/\rho_{end}(0.1))}"
        r"{\ln(\rho_0(5)/\rho_0(0.1))}\le0.9"
    ),
    measure=partial(_kept, NORMALISED),
    least=0.25,
    most=0.9,
    withstands={**NOISE, **FITTED},
    wrong=(None, 0.1),
    source=as_read("Figure 6, with the network of Figure 2"),
    version=2,
)


def _forgetting(*, scale: str, data: str, without: str) -> Contrast:
    """Shares left without decay, and with it and batch normalisation, by seed."""
    starts = ((without, -1), (without, 0), (DECAYED, -1), (DECAYED, 0))
    high, low, decayed_high, decayed_low = learnt(*starts, scale=scale, data=data)
    return Contrast(share(high, low), share(decayed_high, decayed_low))


INITIAL = effect(
    id="sl/init",
    runs=looks(DECAYED, NORMALISED, NEITHER),
    assumptions=RATES,
    items=("Init", "Lemma1"),
    title=(
        "Networks forget their initial scale more with normalisation and decay than without"
    ),
    statement=(
        r"\text{share left of }\ln(\rho_0/\rho_0')\text{ of the extreme starts:}"
        r"\text{ without decay, or both}"
        r" - \text{with BN and WD}\ge0.2"
    ),
    axes={"without": (NORMALISED, NEITHER)},
    measure=_forgetting,
    least=0.2,
    source=as_read("Section 2, above Observation 3, and Lemma 1.2"),
    figure="square_loss_families",
    version=2,
)

CONVOLUTION_SCALES = effect(
    id="sl/Fig6",
    runs=looks(CONVOLUTION),
    larger=ON_COLOURS,
    items=("Fig6", "ExpB"),
    title=(
        "Normalised convolutional networks without decay end in the order of their starts"
    ),
    statement=r"2\le\rho_{end}(5)/\rho_{end}(0.1)\le40",
    measure=partial(log_ratio, "rho", *ENDS_OF_B),
    least=math.log(2.0),
    unit="e-folds",
    most=math.log(40.0),
    source=as_read("Figure 6"),
    figure="square_loss_figure_6",
    version=2,
)

CONVOLUTION_MARGINS = effect(
    id="sl/Fig7",
    runs=looks(CONVOLUTION),
    larger=ON_COLOURS,
    items=("Fig7", "ExpB"),
    title="With normalisation alone, the larger start ends with smaller margins",
    statement=r"\overline{yf}(0.1)\ge2\,\overline{yf}(5)",
    measure=partial(log_ratio, "margin_mean", *reversed(ENDS_OF_B)),
    least=math.log(2.0),
    unit="e-folds",
    source=as_read("Figure 7"),
    figure="square_loss_figure_7",
    version=2,
)

_NEIGHBOURS = (0, 1)
"""Pairs of the three starts of experiment C, by the smaller one."""


def _neighbours(
    series: str, sign: int, *, scale: str, data: str, pair: int
) -> Contrast:
    starts = [(NEITHER, pair + 1), (NEITHER, pair)][::sign]
    return log_ratio(series, *starts, scale=scale, data=data)


PLAIN_SCALES = effect(
    id="sl/Fig10",
    runs=looks(NEITHER),
    items=("Fig10", "ExpC"),
    title="With neither normalisation nor decay, the final norm grows with the initial one",
    statement=r"\rho_{end}\ge2\,\rho_{end}\text{ from the next smaller start}",
    axes={"pair": _NEIGHBOURS},
    measure=partial(_neighbours, "rho", 1),
    least=math.log(2.0),
    unit="e-folds",
    source=as_read("Figure 10"),
    figure="square_loss_figure_10",
    version=2,
)

PLAIN_MARGINS = effect(
    id="sl/Fig11",
    runs=looks(NEITHER),
    items=("Fig11", "ExpC"),
    title="With neither normalisation nor decay, margins fall as the initial scale grows",
    statement=r"\overline{yf}\ge2\,\overline{yf}\text{ from the next larger start}",
    axes={"pair": _NEIGHBOURS},
    measure=partial(_neighbours, "margin_mean", -1),
    least=math.log(2.0),
    unit="e-folds",
    source=as_read("Figure 11"),
    figure="square_loss_figure_11",
    version=2,
)

NEAR_ZERO = effect(
    id="sl/init-zero",
    runs=looks(NEITHER),
    items=("NearZero",),
    title=(
        "With neither normalisation nor decay, the smallest start ends at by far the"
        " smallest norm"
    ),
    statement=r"\rho_{end}\text{ from the largest start}\ge10\times\text{ the smallest}",
    measure=partial(log_ratio, "rho", (NEITHER, -1), (NEITHER, 0)),
    least=math.log(10.0),
    unit="e-folds",
    source=as_read("Section 1.2 and Lemma 1.3"),
    version=2,
    finding=(
        "The text asks for a start near zero. The smallest of experiment C, which its"
        " caption calls small, is not: nearer to zero growth stalls."
    ),
)


# --- margins and outputs --------------------------------------------------------------


@alone(*ENDS_OF_A)
def _growth(found: Draws) -> Array:
    return np.log(last(found, "abs_mean") / first(found, "abs_mean"))


OUTPUTS = effect(
    id="sl/Fig3",
    runs=looks(DECAYED),
    larger=ON_COLOURS,
    items=("Fig3", "ExpA"),
    title="With normalisation and decay, the normalised outputs grow during training",
    statement=r"\overline{|f_n|}_{end}\ge1.5\,\overline{|f_n|}_{start}",
    measure=_growth,
    least=math.log(1.5),
    unit="e-folds",
    source=as_read("Figure 3"),
    figure="square_loss_figure_3",
    version=2,
)


@alone(*ENDS_OF_A)
def _variation(found: Draws) -> Array:
    return np.array([f.std() / f.mean() for f in found.series("margins")])


FLAT = effect(
    id="sl/Fig4",
    runs=looks(DECAYED),
    larger=ON_COLOURS,
    items=("Fig4", "ExpA"),
    title="With normalisation and decay, all margins are nearly the same",
    statement=r"\operatorname{sd}(y_nf_n)/\overline{yf}\le0.1",
    measure=_variation,
    least=None,
    most=0.1,
    wrong=(0.2, None),
    source=as_read("Figure 4"),
    figure="square_loss_figure_4",
    version=2,
)


def _narrowing(*, scale: str, data: str) -> Contrast:
    """Log of (q95 - q05)/q50 of |f_n| before training less that at the end, by seed."""
    levels = run(CONVOLUTION, scale, data).fact("levels")
    low, middle, high = (levels.index(q) for q in (0.05, 0.5, 0.95))

    @alone(*ENDS_OF_B)
    def change(found: Draws) -> Array:
        q = found.series("abs_quantiles")
        width = np.log((q[..., high] - q[..., low]) / q[..., middle])
        return width[:, 0] - width[:, -1]

    return change(scale=scale, data=data)


NARROW = effect(
    id="sl/Fig8",
    runs=looks(CONVOLUTION),
    larger=ON_COLOURS,
    items=("Fig8", "ExpB"),
    title="The relative spread of a normalised network's outputs halves during training",
    statement=r"(q_{95}-q_5)/q_{50}\text{ of }|f_n|\text{ halves in training}",
    measure=_narrowing,
    least=math.log(2.0),
    unit="e-folds",
    source=as_read("Figure 8"),
    figure="square_loss_figure_8",
    version=2,
)
