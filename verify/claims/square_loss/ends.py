"""What the norms of trained networks end at, and what their errors have to do with it.

Estimands and smallest effects are those of the protocol in ``docs/trained/square-loss.md``.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from empirical.testbed.records import Draw, Draws
from verify.claims._predictors import stated, unmet
from verify.claims.square_loss._networks import Array
from verify.claims.square_loss._runs import (
    DECAYED,
    ERRS,
    FITTED,
    NEITHER,
    NORMALISED,
    ON_COLOURS,
    RATES,
    alone,
    between,
    configuration,
    draws,
    effect,
    fits,
    last,
    learnt,
    log_ratio,
    looks,
    norm_rests,
    rests,
    run,
    trained,
)
from verify.claims.square_loss._sources import as_read, ours
from verify.claims.square_loss.training import ENDS_OF_A
from verify.compare import Contrast, EffectWithin
from verify.trained import NotLearnt

# --- the least norm -------------------------------------------------------------------


def _spread(*, scale: str, data: str) -> Contrast:
    """Distance of the logarithms of the ends of one seed's two extreme starts."""
    found = learnt(*ENDS_OF_A, scale=scale, data=data)
    return Contrast.alone(
        np.abs(np.subtract(*np.log([last(each, "rho") for each in found])))
    )


LEAST_NORM = trained(
    id="sl/abs-trained",
    runs=looks(DECAYED),
    larger=ON_COLOURS,
    items=("MinNormFlow",),
    title=(
        "With normalisation and decay, interpolating networks end at one norm from"
        " either start"
    ),
    statement=r"|\ln(\rho_{end}(5)/\rho_{end}(0.1))|\le\ln1.1\text{ of one seed}",
    source=as_read("Abstract and section 3"),
    measure=_spread,
    unit="e-folds",
    **unmet((None, math.log(1.1)), (math.log(1.1), None)),
    uses=("sl/abs-minnorm",),
    finding=(
        "Ends at the absolute minimum norm, of which the paper speaks, would all be one;"
        " ends that are one need not be that minimum."
    ),
    version=2,
)

LOWERED = effect(
    id="sl/abs-decay",
    runs=looks(DECAYED, NORMALISED),
    assumptions=RATES,
    larger=ON_COLOURS,
    items=("MinNormFlow",),
    title="From a large start, weight decay lowers the norm at which networks interpolate",
    statement=r"\rho_{end}\text{ without decay}\ge2\,\rho_{end}\text{ with it}",
    measure=partial(log_ratio, "rho", (NORMALISED, -1), (DECAYED, -1)),
    least=math.log(2.0),
    unit="e-folds",
    source=as_read("Abstract and section 3"),
)


# --- on the way -----------------------------------------------------------------------


@between((DECAYED, 0), (NORMALISED, 0))
def _peaks(found: Draws) -> Array:
    """Log of the largest norm over the last, from the smallest start; without decay."""
    return np.log(found.series("rho").max(axis=1) / last(found, "rho"))


OVERSHOOT = effect(
    id="sl/obs1-trained",
    runs=looks(DECAYED, NORMALISED),
    assumptions=RATES,
    larger=ON_COLOURS,
    items=("Obs1", "ExpA"),
    title="From a small start, experiment A's norm overshoots its final value",
    statement=(
        r"\rho(0)=0.1:\quad\max_t\rho(t)/\rho_{end}\text{ with decay}"
        r"\ge1.2\times\text{without}"
    ),
    measure=_peaks,
    least=math.log(1.2),
    unit="e-folds",
    source=ours("Observation 1, and Figure 2"),
    uses=("sl/err2", "sl/expA-times"),
    version=2,
)


@alone((DECAYED, -1))
def _dips(found: Draws) -> Array:
    """Log of the last norm over the least on the way, from the largest start."""
    return np.log(last(found, "rho") / found.series("rho").min(axis=1))


FALLS = effect(
    id="sl/obs1-dip",
    runs=looks(DECAYED),
    larger=ON_COLOURS,
    items=("Obs1large", "ExpA"),
    title="From a large start, experiment A's norm never falls far below its final value",
    statement=r"\rho(0)=5:\quad\min_t\rho(t)\ge\rho_{end}/1.2",
    measure=_dips,
    least=None,
    most=math.log(1.2),
    unit="e-folds",
    wrong=(math.log(1.2), None),
    small=False,
    source=as_read("Section 2, below Equation 7"),
    uses=("sl/expA-times", "sl/obs1-large"),
    finding=(
        "Networks of the small scale leave it undecided. The flow of sl/obs1-large"
        " falls to a tenth of its end."
    ),
)


# --- errors ---------------------------------------------------------------------------


def _errors(found: Draws) -> Array:
    return np.array([float(draw.fact("test_error")) for draw in found])


SMALLER_ERROR = effect(
    id="sl/obs3-trained",
    runs=looks(NORMALISED),
    larger=ON_COLOURS,
    items=("Obs3error", "Lemma1"),
    title="Interpolating networks of small norm, from a small start, have lower test error",
    statement=(
        r"\text{test error}(\rho_0=5)-\text{test error}(\rho_0=0.1)\ge0.01,"
        r"\quad\rho_{end}(5)>\rho_{end}(0.1)"
    ),
    measure=between((NORMALISED, -1), (NORMALISED, 0))(_errors),
    least=0.01,
    withstands=FITTED,
    source=as_read("Section 2, above Observation 3, and Lemma 1"),
    # Which of the two norms is the larger.
    uses=("sl/Fig6-spread",),
    version=2,
)


@between((NORMALISED, -1), (DECAYED, -1))
def _by_decay(found: Draws) -> Array:
    """Test errors from the largest start, without decay and with it."""
    return _errors(found)


DECAY_ERROR = effect(
    id="sl/obs3-decay",
    runs=looks(DECAYED, NORMALISED),
    assumptions=RATES,
    larger=ON_COLOURS,
    items=("Obs3error", "Lemma1"),
    title="From a large start, networks that decay has made smaller have lower test error",
    statement=(
        r"\rho_0=5:\quad\text{test error without decay}-\text{test error with it}\ge0.01"
    ),
    measure=_by_decay,
    least=0.01,
    withstands={},
    small=False,
    source=as_read("Section 2, above Observation 3, and Lemma 1"),
    uses=("sl/abs-decay",),
    finding=(
        "Decay lowers the norm by far (sl/abs-decay). With colours errors are lower with"
        " it, too. With digits they are on the mean, but seeds differ too much to say"
        " that it is by the smallest effect of interest."
    ),
)


# --- decay that is large enough -------------------------------------------------------

WEIGHED = "wn-decay-0.01"
"""Weight-normalised networks with the paper's decay, from scales 0.1 and 5."""


@between((WEIGHED, -1), (WEIGHED, 0), counts=norm_rests)
def _from_both(found: Draws) -> Array:
    """Log of the norms from scales 5 and 0.1, paired by seed."""
    return np.log(last(found, "rho"))


LARGE = effect(
    id="sl/sec1.2-trained",
    runs=looks(WEIGHED),
    items=("Sec1.2", "Err14", "Init"),
    title="With the paper's decay, weight-normalised networks forget their initial scale",
    statement=r"|\ln(\rho_{end}(5)/\rho_{end}(0.1))|\le\ln1.1",
    measure=_from_both,
    least=-math.log(1.1),
    unit="e-folds",
    most=math.log(1.1),
    wrong=(math.log(2.0), None),
    small=False,
    source=as_read("Section 1.2"),
    uses=("sl/init-large",),
    finding=(
        "Some networks answer for one class, at a norm of its own, whatever their"
        " start, and leave it undecided. At the small scale those of both classes end at"
        " one norm (sl/sec1.2-both); at the full one too few come to rest."
    ),
)


def _of_both_classes(*, scale: str, data: str) -> Contrast:
    """That of networks that answer for both classes, whose directions rest, too."""
    penalty = float(run(WEIGHED, scale, data).fact("penalty"))
    levels: dict[float, list[float]] = {}
    for draw in draws(WEIGHED, scale, data):
        both = draw.status == "finished" and draw.series("error")[-1] <= 0.25
        if both and rests(draw, penalty):
            end = float(np.log(draw.series("rho")[-1]))
            levels.setdefault(float(draw.key("scale")), []).append(end)
    low, high = (levels.get(s, []) for s in configuration(WEIGHED, scale, data).scales)
    if min(len(low), len(high)) < 2:
        raise NotLearnt(
            f"{WEIGHED} ({scale}, {data}): the claim presupposes two networks of either"
            f" start that answer for both classes, but there are {len(low)}, {len(high)}"
        )
    return Contrast(high, low)


TWO_CLASSES = trained(
    id="sl/sec1.2-both",
    runs=looks(WEIGHED),
    items=("Sec1.2", "Err14"),
    title="Networks that predict both classes end at one norm from either start",
    statement=r"|\ln(\rho_{end}(5)/\rho_{end}(0.1))|\le\ln1.1\text{ of both classes}",
    measure=_of_both_classes,
    # Not the same seeds from both starts.
    compare=EffectWithin(unit="e-folds"),
    **stated(-math.log(1.1), math.log(1.1), (math.log(1.5), None)),
    source=ours("Section 1.2"),
)


@alone((WEIGHED, -1), (WEIGHED, 0), counts=norm_rests)
def _one_class(found: Draws) -> Array:
    """Share of a seed's networks that are silent on a class."""
    return np.array([draw.status == "one-class" for draw in found])


COST = effect(
    id="sl/sec1.2-cost",
    runs=looks(WEIGHED),
    items=("Sec1.2", "Err14"),
    title="With the paper's decay, many weight-normalised networks predict one class only",
    statement=r"\text{share of one-class networks}\ge0.1",
    measure=_one_class,
    least=0.1,
    small=False,
    source=ours("Section 1.2"),
    uses=("sl/expA-ends", "sl/sec1.2-trained"),
    finding="Networks of the small scale leave it undecided.",
)


# --- rates ----------------------------------------------------------------------------

_RATES = tuple(f"rate-{rate}" for rate in ("0.001", "0.01", "0.1", "1"))
_DEEP = tuple(f"deep-rate-{0.001 * 2**k:g}" for k in range(12))


def _learns(draw: Draw, _penalty: float) -> bool:
    """Whether a network ends with its examples learnt, at rest or not."""
    return draw.status == "finished" and bool(draw.series("error")[-1] <= ERRS)


def _suited(
    rates: tuple[str, ...],
    suits: Callable[[Draw, float], bool],
    *,
    scale: str,
    data: str,
) -> Contrast:
    """Number of rates that suit a seed's network, with both and with neither."""

    def count(family: str) -> list[int]:
        names = [f"{family}-{rate}" for rate in rates]
        each = {name: run(name, scale, data) for name in names}
        penalty = {name: float(r.fact("penalty")) for name, r in each.items()}
        seeds = each[names[0]].draws.key("seed")
        return [
            sum(suits(each[n].draws.where(seed=seed)[0], penalty[n]) for n in names)
            for seed in seeds
        ]

    return Contrast(count(DECAYED), count(NEITHER))


AUTOTUNING = trained(
    id="sl/autotuning",
    runs=looks(*(f"{f}-{rate}" for f in (DECAYED, NEITHER) for rate in _RATES)),
    items=("Sec3tuning",),
    title="With normalisation and decay, networks fit over ten times the range of rates",
    statement=r"\#\{\eta:\text{fits}\}_{BN+WD}-\#\{\eta:\text{fits}\}_{neither}\ge1",
    measure=partial(_suited, _RATES, fits),
    **unmet((1.0, None), (-0.5, 0.5)),
    small=False,
    source=as_read("Section 3"),
    uses=("sl/expA-ends",),
    finding=(
        "Both kinds of networks fit at every rate of the grid but the largest, in"
        " every run. At that the loss of both exceeds a thousand times its initial"
        " value, which counts as divergence. Rates a decade apart cannot tell whether one"
        " range is wider by less: sl/autotuning-deep asks that, of deep networks."
    ),
    version=2,
)

AUTOTUNING_DEEP = effect(
    id="sl/autotuning-deep",
    runs=looks(*(f"{f}-{rate}" for f in (DECAYED, NEITHER) for rate in _DEEP)),
    items=("Sec3tuning",),
    title=(
        "With normalisation and decay, networks of 20 layers fit over twice the range of"
        " rates"
    ),
    statement=(
        r"L=20,\ \eta=2^k/1000:\quad\#\{\eta:\text{learns}\}_{BN+WD}"
        r"-\#\{\eta:\text{learns}\}_{neither}\ge1"
    ),
    measure=partial(_suited, _DEEP, _learns),
    least=1.0,
    small=False,
    source=as_read("Section 3"),
    uses=("sl/autotuning",),
    finding=(
        "With both, networks learn at rates at which those with neither diverge or fall"
        " silent, but at some rates more of their examples stay wrong than the claim"
        " lets pass, by network: eight seeds leave undecided whether the range is twice"
        " as wide."
    ),
)


# --- rest -----------------------------------------------------------------------------


def _residuals(*, scale: str, data: str) -> Contrast:
    """Log10 of the largest residual r_k over the error, without decay and with it.

    At the last epoch that both records have from before the rates of either fall.
    """
    families = ("wn", "wn-decay")
    recipes = [configuration(f, scale, data).recipe for f in families]
    falls = min(r.epochs * min(r.schedule, default=1.0) for r in recipes)
    epochs = [run(f, scale, data).series("epochs") for f in families]
    shared = np.intersect1d(epochs[0], epochs[1])
    at = shared[shared <= falls].max()
    found = learnt(*((f, 0) for f in families), scale=scale, data=data)
    return Contrast(
        *(
            np.log10(draws.series("residual")[:, each == at].max(axis=(1, 2)))
            for draws, each in zip(found, epochs, strict=True)
        )
    )


REST = effect(
    id="sl/eq6-trained",
    runs=looks("wn", "wn-decay"),
    items=("Eq6", "Sing"),
    title="With decay the directions come to rest; without decay only the errors vanish",
    statement=(
        r"\max_kr_k/\|e\|\text{ at one rate: without decay}\ge3\times\text{with it}"
    ),
    measure=_residuals,
    least=math.log10(3.0),
    unit="decades",
    source=as_read("Equation 6 and the singular case below it"),
    version=2,
    uses=("sl/sing",),
    finding=(
        "It was first asked of the end, when the rate of the networks with decay has fallen"
        " and that of the others has not: a rate that falls lets directions come to rest"
        " without decay, too, near kinks. Changed after the networks were seen."
    ),
)
