"""The trained networks of this paper's claims, by name and scale, and what they show.

A replicate is a seed: the networks that it starts from several scales are paired. Which
of them count, and what a claim presupposes, is written in ``docs/trained/square-loss.md``.
"""

from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any

import numpy as np

from empirical.square_loss.experiments import Configuration
from empirical.square_loss.study import STUDY
from empirical.testbed.records import Draw, Draws, RunRecord
from verify.claim import Claim, grid, trend
from verify.claims._predictors import Limits, stated
from verify.claims.square_loss._networks import Array
from verify.claims.square_loss._sources import as_read
from verify.compare import Contrast, EffectWithin
from verify.trained import NotLearnt, Run, Trainer

NETWORKS = Trainer(STUDY)

CLOSED = ("sl/expA-steps", "sl/obs1-records", "sl/expA-tests", "sl/expA-examples")
"""What every claim on trained networks rests on: their steps and measures."""

DECAYED, NORMALISED, NEITHER = "bn-decay", "bn", "none"
CONVOLUTION = "bn-conv"

SMALL: Mapping[str, tuple[Any, ...]] = {"scale": ("small",), "data": ("mnist",)}
LARGER: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "full": {"scale": ("full",), "data": ("mnist",)},
    "gpu": {"scale": ("paper",), "data": ("cifar10",)},
}
ON_COLOURS = LARGER | {"full": {"scale": ("full",), "data": ("mnist", "cifar10")}}
"""Of claims that are tried on the paper's images, too, from as few examples."""

ERRS, LOSS, AWAY = 0.01, 0.05, 0.05
"""A network fits: largest training error; without decay, largest mean loss. It rests:
largest distance of its norm from equilibrium, over that."""

NOISE = {"shuffled": "networks that learn noise by heart obey the same laws"}
"""Of claims on norms, margins and features; see `Claim.withstands`."""

FITS_SLOWLY = {"slow": "normalised networks fit at a hundredth of the rates, too"}
FITTED = {
    **FITS_SLOWLY,
    "short": "eighty epochs fit the examples, and without decay nothing moves then",
}
"""Of claims on networks that fit, whenever they came to it."""

RATES = (
    "rates as printed: 0.1 with normalisation and decay, 0.01 with normalisation alone",
    "the former fall at the end but for the paper's scale",
)
"""Of claims that set batch-normalised networks with decay against those without."""

MISSING = 0.25
"""Largest share of the seeds that may be left out."""


def trained(
    *,
    axes: Mapping[str, tuple[Any, ...]] | None = None,
    withstands: Mapping[str, str] = NOISE,
    small: bool = True,
    unit: str = "",
    **parts: Any,
) -> Claim:
    """Return a claim on trained networks, small ones in the quick profile.

    Not so without `small`: those do not decide it. The text prints no limits: what it
    or a figure says is read as an effect of a size that is ours. `axes` are those of its
    cases beside scale and data; `withstands` as of a claim that is not on test errors;
    `unit` is that of its effect.
    """
    more = axes or {}
    larger = parts.pop("larger", LARGER)
    parts["uses"] = (*CLOSED, *parts.get("uses", ()))
    parts.setdefault("source", as_read("Section 3"))
    parts.setdefault("compare", EffectWithin(paired=True, unit=unit))
    return trend(
        cases=grid(**SMALL, **more) if small else (),
        larger_cases={name: grid(**each, **more) for name, each in larger.items()},
        withstands=withstands,
        **parts,
    )


def effect(
    measure: Callable[..., Contrast],
    least: float | None,
    most: float | None = None,
    *,
    wrong: Limits = (None, 0.0),
    **parts: Any,
) -> Claim:
    """Return a claim that an effect, paired by seed, lies between two limits.

    `wrong` are limits that have to be refuted; of none at all, by default.
    """
    return trained(measure=measure, **stated(least, most, wrong), **parts)


# --- records --------------------------------------------------------------------------


def name_of(family: str, scale: str, data: str) -> str:
    """Return the run of a family; where there are several data sets, on one."""
    several = family not in NETWORKS.names(scale)
    return f"{family}-{data}" if several else family


def looks(*families: str) -> Callable[..., tuple[Run, ...]]:
    """Return a claim's `runs`: those of families, on the data of the case."""
    return partial(_of, families)


def _of(
    families: tuple[str, ...], *, scale: str, data: str, **_case: Any
) -> tuple[Run, ...]:
    names = (name_of(family, scale, data) for family in families)
    return tuple(Run(NETWORKS, name, scale) for name in names)


def run(family: str, scale: str, data: str) -> RunRecord:
    """Return the record of a family; where there are several data sets, on one."""
    return NETWORKS.record(name_of(family, scale, data), scale)


def configuration(family: str, scale: str, data: str) -> Configuration:
    """Return what that record is of."""
    return NETWORKS.configuration(name_of(family, scale, data), scale)


def draws(family: str, scale: str, data: str) -> Draws:
    """Return the networks that were trained to their end, one-class ones among them.

    Raises
    ------
    NotLearnt
        If more than one in five diverged, or died.
    """
    found = run(family, scale, data).draws
    ended = found.ended("finished", "one-class")
    if len(ended) < 0.8 * len(found):
        raise NotLearnt(f"{family} ({scale}, {data}): draws ended as {found.status}")
    return ended


def last(found: Draws, series: str) -> Array:
    """Return the last value of a series, by draw."""
    return found.series(series)[:, -1]


def first(found: Draws, series: str) -> Array:
    """Return the value before training, by draw."""
    return found.series(series)[:, 0]


# --- networks that count --------------------------------------------------------------

Start = tuple[str, int]
"""A family, and which of its initial scales, smallest first."""

Counts = Callable[[Draw, float], bool]
"""Whether a network, trained with a penalty, is one of those that a claim is about."""


def fits(draw: Draw, penalty: float) -> bool:
    """Whether a network has learnt its examples and, with decay, is at rest."""
    if draw.status != "finished" or draw.series("error")[-1] > ERRS:
        return False
    if penalty == 0.0:
        return bool(draw.series("loss")[-1] <= LOSS)
    return away(draw) <= AWAY


def norm_rests(draw: Draw, penalty: float) -> bool:
    """Whether the norm is at rest, whatever the network has learnt."""
    del penalty
    return draw.status in ("finished", "one-class") and away(draw) <= AWAY


def rests(draw: Draw, penalty: float) -> bool:
    """Whether norm and directions are at rest, whatever was learnt.

    Of what pulls at a layer at most a fifth may turn it, the rest is along it.
    """
    if not norm_rests(draw, penalty):
        return False
    rho, nu, loss = (draw.series(s)[-1] for s in ("rho", "nu", "loss"))
    # Residuals are over |e|; the multiplier is -rho times the sum of e_n f_n.
    size = np.sqrt(draw.series("margins").size * loss)
    turning, along = draw.series("residual")[-1].max() * size, abs(nu / rho)
    return bool(turning <= 0.2 * np.hypot(turning, along))


def away(draw: Draw) -> float:
    """Return how far a norm is from its equilibrium, over that."""
    rho, rest = (draw.series(s)[-1] for s in ("rho", "rho_eq"))
    return float(abs(rho / rest - 1.0)) if rest > 0.0 else np.inf


def learnt(*starts: Start, scale: str, data: str, counts: Counts = fits) -> list[Draws]:
    """Return the networks of each start, in one order of the seeds that count for all.

    Raises
    ------
    NotLearnt
        If more than a quarter of the seeds don't.
    """
    each: list[dict[int, Draw]] = []
    seeds: set[int] | None = None
    for family, index in starts:
        found, made = run(family, scale, data), configuration(family, scale, data)
        wanted, penalty = sorted(made.scales)[index], float(found.fact("penalty"))
        here = [draw for draw in found.draws if draw.key("scale") == wanted]
        each.append({int(d.key("seed")): d for d in here if counts(d, penalty)})
        own = {int(draw.key("seed")) for draw in here}
        seeds = own if seeds is None else seeds & own
    every = sorted(seeds or ())
    kept = [seed for seed in every if all(seed in found for found in each)]
    if len(kept) < max(2, (1.0 - MISSING) * len(every)):
        families = ", ".join(dict.fromkeys(family for family, _ in starts))
        raise NotLearnt(
            f"{families} ({scale}, {data}): the claim presupposes networks that have"
            " learnt their examples and are at rest, but those of"
            f" {len(kept)} of {len(every)} seeds have"
        )
    return [Draws(found[seed] for seed in kept) for found in each]


Value = Callable[[Draws], Array]
"""What a claim is about, of networks from one start, by seed."""
Measure = Callable[..., Contrast]


def alone(*starts: Start, counts: Counts = fits) -> Callable[[Value], Measure]:
    """Let a value be measured: its mean over some starts of a seed, by seed."""
    return _by_seed(starts, counts, lambda *v: Contrast.alone(np.mean(v, axis=0)))


def between(
    over: Start, under: Start, counts: Counts = fits
) -> Callable[[Value], Measure]:
    """Let a value be compared: from one start of a seed, and from another."""
    return _by_seed((over, under), counts, Contrast)


def _by_seed(
    starts: tuple[Start, ...], counts: Counts, made: Callable[..., Contrast]
) -> Callable[[Value], Measure]:
    def decorate(value: Value) -> Measure:
        @wraps(value)
        def measure(*, scale: str, data: str, **_case: Any) -> Contrast:
            found = learnt(*starts, scale=scale, data=data, counts=counts)
            return made(*map(value, found))

        return measure

    return decorate


def log_ratio(
    series: str, over: Start, under: Start, *, scale: str, data: str, **_case: Any
) -> Contrast:
    """Return logarithms of a series at the end, from two starts of a seed."""
    compare = between(over, under)(lambda found: np.log(last(found, series)))
    return compare(scale=scale, data=data)
