"""The networks of the claims on training, by name and scale, and what they show.

A number of each network that has fitted its image, as
``docs/trained/identity-map.md`` states.
"""

import re
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np

from empirical.identity_map.study import STUDY
from empirical.testbed.records import Draw, Draws, RunRecord
from verify.claim import Claim, grid, trend
from verify.compare import Array, Contrast, EffectWithin
from verify.trained import NotLearnt, Run, Trainer

Number = Callable[[str, str], Array]
"""Name and scale to a number of every network that counts."""

NETWORKS = Trainer(STUDY)

CLOSED = (
    *("id/Fig2-steps", "id/release-steps", "id/release-looks", "id/Fig32-steps"),
    *("id/Fig31-starts", "id/probe-pictures", "id/corr-records"),
)
"""What every claim on trained networks rests on: images, steps and measures."""

FITTED = 0.1
"""Share of the first loss that may be left of a network that has fitted its image."""

LEAST = 3
"""Networks that decide anything."""

LARGER = {"full": grid(scale="full"), "gpu": grid(scale="paper")}
CNN = r"cnn-depth-(\d+)"
BIASED = r"biased-depth-(\d+)"


def run(name: str, scale: str) -> RunRecord:
    """Return the record of a configuration, of a claim's `runs`.

    Raises
    ------
    ValueError
        As `Trainer.record`.
    """
    return NETWORKS.record(name, scale)


def fitted(name: str, scale: str) -> Draws:
    """Return what came of the networks that have fitted their images.

    Raises
    ------
    NotLearnt
        If they are fewer than `LEAST`.
    """
    draws = run(name, scale).draws
    counted = Draws(d for d in draws if remaining(d) <= FITTED)
    if len(counted) < LEAST:
        left = [round(remaining(d), 3) for d in draws]
        raise NotLearnt(
            f"{name} ({scale}): {len(counted)} networks have fitted their images, and"
            f" {LEAST} are needed; of the first loss they have left {left}"
        )
    return counted


def remaining(draw: Draw) -> float:
    """Return the share of the first loss that is left, infinite where it diverged."""
    last = draw.fact("final_loss")
    first = float(draw.series("losses")[0])
    if last is None or draw.status not in ("finished", "floor") or first == 0.0:
        return np.inf
    return float(last) / first


def names(pattern: str, scale: str) -> dict[int, str]:
    """Return configurations whose whole name matches, by the number in the group.

    The first of each number.
    """
    found: dict[int, str] = {}
    for name in NETWORKS.names(scale):
        if match := re.fullmatch(pattern, name):
            found.setdefault(int(match[1]), name)
    return dict(sorted(found.items()))


def deepest(pattern: str, scale: str) -> str:
    """Return the configuration of the largest number."""
    found = names(pattern, scale)
    return found[max(found)]


def by_depth(scale: str) -> str:
    """Return the pattern of the depth curve: with biases where they can be trained."""
    return CNN if scale == "small" else BIASED


# --- one number a network ---------------------------------------------------------------


def curve(field: str) -> Number:
    """Correlation or error, a mean over Gaussian probes of all correlations."""
    return partial(_curve, field)


def _curve(field: str, name: str, scale: str) -> Array:
    found = fitted(name, scale).series(f"curve/{field}")
    return found.reshape(len(found), -1).mean(axis=1)


def orthogonal(field: str) -> Number:
    """Correlation on Gaussian probes orthogonal to the first training image."""
    return partial(_orthogonal, field)


def _orthogonal(field: str, name: str, scale: str) -> Array:
    zero = run(name, scale).fact("heatmap/rhos").index(0.0)
    return fitted(name, scale).series(f"heatmap/{field}")[:, 0, zero]


def probe(kind: str, field: str) -> Number:
    """Correlation on a kind of probes: orthogonal, gaussian, uniform, digits."""
    return partial(_probe, kind, field)


def _probe(kind: str, field: str, name: str, scale: str) -> Array:
    column = run(name, scale).fact("probes/kinds").index(kind)
    return fitted(name, scale).series(f"probes/{field}")[:, column]


# --- two arms ---------------------------------------------------------------------------

Arm = Callable[[str], str]
"""Scale to the name of a configuration."""


def named(name: str) -> Arm:
    """Return an arm of one name at every scale."""
    return partial(_named, name)


def _named(name: str, scale: str) -> str:
    return name


def between(number: Number, treated: Arm, baseline: Arm, *, scale: str) -> Contrast:
    """Compare a number of two arms' networks."""
    return Contrast(number(treated(scale), scale), number(baseline(scale), scale))


def within(arm: Arm, measure: Callable[..., Contrast]) -> dict[str, Any]:
    """Return the parts of a claim on one arm's networks, by name and scale."""

    @wraps(measure)
    def of_arm(*, scale: str, **case: Any) -> Contrast:
        return measure(arm(scale), scale, **case)

    return {"measure": of_arm, "runs": looks(arm), "paired": True}


def looks(*arms: Arm) -> Callable[..., tuple[Run, ...]]:
    """Return a claim's `runs`: those of its arms."""
    return partial(_looked_at, arms)


def _looked_at(arms: tuple[Arm, ...], *, scale: str, **_case: Any) -> tuple[Run, ...]:
    found = dict.fromkeys(arm(scale) for arm in arms)
    return tuple(Run(NETWORKS, name, scale) for name in found)


Arms = Callable[..., tuple[str, ...]]
"""Scale and the other arguments of a case to the names of two configurations, or one."""


def compared(number: Number, arms: Arms) -> dict[str, Any]:
    """Return the parts of a claim that compares a number of a case's arms.

    Of a single arm the number stands alone.
    """
    return {
        "measure": partial(_compared, number, arms),
        "runs": partial(_runs_of, arms),
    }


def _compared(number: Number, arms: Arms, *, scale: str, **case: Any) -> Contrast:
    found = [number(name, scale) for name in arms(scale, **case)]
    return Contrast(*found) if len(found) > 1 else Contrast.alone(*found)


def _runs_of(arms: Arms, *, scale: str, **case: Any) -> tuple[Run, ...]:
    return tuple(Run(NETWORKS, name, scale) for name in arms(scale, **case))


# --- claims -----------------------------------------------------------------------------


def effect(*, paired: bool = False, unit: str = "", **parts: Any) -> Claim:
    """Return a claim on an effect of training, small networks in the quick profile.

    What is measured, and how much of it is an effect, the text leaves open.
    """
    parts.setdefault("cases", grid(scale="small"))
    parts.setdefault("larger_cases", LARGER)
    parts["uses"] = (*CLOSED, *parts.get("uses", ()))
    return trend(compare=EffectWithin(paired=paired, unit=unit), **parts)


def contrast(
    name: str, number: Number, treated: Arm, baseline: Arm, **parts: Any
) -> Claim:
    """Return a claim that a number of one arm exceeds that of another."""
    return effect(
        id=name,
        measure=partial(between, number, treated, baseline),
        runs=looks(treated, baseline),
        **parts,
    )
