"""A/A trials: what a comparison says of two arms that differ in nothing.

The networks of several draws of one law are a pool. Two arms drawn from it without
replacement, or the pool in another order, have no effect to find: "holds" for a one-sided
prediction of no size must then be as rare as the comparison's level says.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from verify.compare import (
    Array,
    Contrast,
    EffectWithin,
    Outcome,
    RankTrend,
    SignedRankTest,
    SignTest,
)


@dataclass(frozen=True)
class Trial:
    """How often a comparison decided what was to be left undecided.

    Attributes
    ----------
    decided, trials : int
    level : float
        Probability with which it may decide so.
    pool : int
        Independent networks that the arms were drawn from, or pairs of them.
    """

    decided: int
    trials: int
    level: float
    pool: int

    @property
    def chance(self) -> float:
        """Probability of as many or more where the level is kept.

        Examples
        --------
        >>> Trial(decided=0, trials=200, level=0.01, pool=24).chance
        1.0
        >>> Trial(decided=20, trials=200, level=0.01, pool=24).chance < 1e-12
        True
        """
        from scipy.stats import binom

        return float(binom.sf(self.decided - 1, self.trials, self.level))


def trial_of(
    compare: Any,
    draws: Sequence[Sequence[Any]],
    trials: int,
    generator: np.random.Generator,
) -> Trial | None:
    """Return the A/A trials of a comparison on what was measured, draw by draw.

    The trials go round the cases, each on the pool of its own draws.

    Parameters
    ----------
    compare : Comparison
    draws : sequence of sequences
        Draw by draw, the measurement of each case.
    trials : int
        How many in all.
    generator : numpy.random.Generator

    Returns
    -------
    Trial or None
        None where the comparison has no level that could be kept, or nothing was drawn.
    """
    if not draws or arms_alike.dispatch(type(compare)) is arms_alike.dispatch(object):
        return None
    cases = list(zip(*draws, strict=True))
    decided = 0
    for index in range(trials):
        predicted, arms = arms_alike(compare, cases[index % len(cases)], generator)
        decided += compare.judge(predicted, arms).outcome is Outcome.HOLDS
    pool = min(pool_of(compare, case) for case in cases)
    return Trial(decided, trials, compare.level, pool)


@singledispatch
def arms_alike(
    compare: Any,
    pool: Sequence[Any],  # noqa: ARG001
    generator: np.random.Generator,  # noqa: ARG001
) -> tuple[Any, Any]:
    """Return a prediction of an effect of any size, and a measurement with none.

    `pool` holds what the case measured in each draw.
    """
    raise TypeError(f"{type(compare).__name__} has no level to try")


@arms_alike.register
def _(
    compare: EffectWithin, pool: Sequence[Contrast], generator: np.random.Generator
) -> tuple[Any, Any]:
    if compare.paired:
        changes = np.concatenate([_array(c.treated) - _array(c.baseline) for c in pool])
        # Centred: what is left is their spread.
        signs = generator.choice([-1.0, 1.0], _array(pool[0].treated).size)
        drawn = generator.choice(changes - changes.mean(), signs.size, replace=False)
        return (0.0, None), Contrast(signs * drawn, np.zeros(signs.size))
    baseline = np.concatenate([_array(c.baseline) for c in pool])
    first, second = _array(pool[0].treated).size, _array(pool[0].baseline).size
    if first + second > baseline.size:
        raise ValueError(
            f"arms_alike: arms of {first} and {second} networks need a pool of as many,"
            f" but it holds {baseline.size}: more draws"
        )
    drawn = generator.permutation(baseline)
    return (0.0, None), Contrast(drawn[:first], drawn[first : first + second])


@arms_alike.register(SignTest)
@arms_alike.register(SignedRankTest)
def _(
    _compare: SignTest | SignedRankTest,
    pool: Sequence[Any],
    generator: np.random.Generator,
) -> tuple[Any, Any]:
    changes = np.concatenate([_array(each) for each in pool])
    drawn = generator.choice(changes, _array(pool[0]).size, replace=False)
    return 1, np.abs(drawn) * generator.choice([-1.0, 1.0], drawn.size)


@arms_alike.register
def _(
    _compare: RankTrend, pool: Sequence[Any], generator: np.random.Generator
) -> tuple[Any, Any]:
    # A ladder of one level: the replicates of the middle one, whatever the draw.
    rows = [_array(row) for row in pool[0]]
    middle = np.concatenate([_array(each[len(rows) // 2]) for each in pool])
    drawn = generator.choice(middle, sum(row.size for row in rows))
    return 1, np.split(drawn, np.cumsum([row.size for row in rows])[:-1])


def pool_of(compare: Any, case: Sequence[Any]) -> int:
    """Return how many networks, or pairs of them, a case's draws hold."""
    if isinstance(compare, EffectWithin):
        return sum(_array(each.baseline).size for each in case)
    if isinstance(compare, RankTrend):
        return sum(_array(each[len(each) // 2]).size for each in case)
    return sum(_array(each).size for each in case)


def _array(values: Any) -> Array:
    return np.ravel(np.asarray(values, dtype=np.float64))
