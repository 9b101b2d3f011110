"""A/A trials: what a comparison says of two arms that differ in nothing.

The networks of several draws of one law are a pool. Two arms drawn from it without
replacement, or the pool in another order, have no effect to find: "holds" for a one-sided
prediction of no size must then be as rare as the comparison's level says.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from empirical.randomness import numpy_generator
from empirical.testbed.records import RunRecord
from verify import paths
from verify.claim import Claim, Profile
from verify.compare import Array, Contrast, EffectWithin, Outcome
from verify.ledger import Entry
from verify.paths import Place, placed
from verify.trained import NotLearnt, found_for, given


@dataclass(frozen=True)
class Trial:
    """Number of trials in which a comparison told groups of one kind apart.

    Attributes
    ----------
    decided, trials : int
    level : float
        Probability with which it may decide so.
    pool : int
        Independent networks that the arms were drawn from, or pairs of them.
    finest : float
        Probability of one arrangement of the pool, of which a small one has few. Trials
        cannot tell of a level below it: one that decides comes up as often.
    """

    decided: int
    trials: int
    level: float
    pool: int
    finest: float = 0.0

    @property
    def chance(self) -> float:
        """Probability of as many or more where the level is kept.

        Of five networks with either sign there are 32 arrangements: one of them decides
        in 3 % of the trials, which says nothing against a level of 1 %.

        Examples
        --------
        >>> Trial(decided=0, trials=200, level=0.01, pool=24).chance
        1.0
        >>> Trial(decided=20, trials=200, level=0.01, pool=24).chance < 1e-12
        True
        >>> Trial(decided=9, trials=200, level=0.01, pool=5, finest=1 / 30).chance > 0.1
        True
        """
        from scipy.stats import binom

        level = max(self.level, self.finest)
        return float(binom.sf(self.decided - 1, self.trials, level))


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
    if not draws or not isinstance(compare, EffectWithin):
        return None
    pools = [_pool(compare, case) for case in zip(*draws, strict=True)]
    decided = 0
    for index in range(trials):
        pool, sizes = pools[index % len(pools)]
        arms = _arms_alike(pool, sizes, generator)
        decided += compare.judge((0.0, None), arms).outcome is Outcome.HOLDS
    smallest = min(pool.size for pool, _ in pools)
    finest = max(_arrangement(pool.size, sizes) for pool, sizes in pools)
    return Trial(decided, trials, compare.level, smallest, finest)


def _arrangement(count: int, sizes: Sequence[int]) -> float:
    """Return the probability of one arrangement of a pool in arms of these sizes.

    >>> round(1 / _arrangement(5, [2, 2])), round(1 / _arrangement(5, [5]))
    (30, 32)
    """
    left, ways = count, 1
    for size in sizes:
        ways, left = ways * math.comb(left, size), left - size
    # A single arm is tried by its signs.
    return 1.0 / (ways * (2 ** sizes[0] if len(sizes) == 1 else 1))


def _pool(compare: EffectWithin, case: Sequence[Contrast]) -> tuple[Array, list[int]]:
    """Return the numbers of networks of one law, and how many each arm takes.

    `case` holds what a case measured in each draw.
    """
    if compare.paired or _against_nothing(case):
        each = [np.subtract(c.treated, c.baseline) for c in case]
        sizes = [np.size(each[0])]
    else:
        sizes = [np.size(case[0].treated), np.size(case[0].baseline)]
        # The law of the larger arm, of which there are more networks.
        larger = "treated" if sizes[0] > sizes[1] else "baseline"
        each = [getattr(c, larger) for c in case]
    pool = np.concatenate([np.ravel(np.asarray(x, dtype=np.float64)) for x in each])
    if sum(sizes) > pool.size:
        # As many as there are, drawn without replacement.
        sizes = [min(size, pool.size // len(sizes)) for size in sizes]
        if min(sizes) < 2:
            raise ValueError(
                f"trial_of: {len(sizes)} arms of two networks at least need a pool of as"
                f" many, but it holds {pool.size}: more draws"
            )
    return pool, sizes


def _against_nothing(case: Sequence[Contrast]) -> bool:
    """Whether an effect stands alone; see `Contrast.alone`."""
    return not any(np.any(c.baseline) for c in case)


def _arms_alike(
    pool: Array, sizes: Sequence[int], generator: np.random.Generator
) -> Contrast:
    """Return a measurement with no effect in it."""
    count = sum(sizes)
    drawn = generator.choice(pool, count, replace=False)
    if len(sizes) == 2:
        return Contrast(*np.split(drawn, sizes[:1]))
    # Centred: what is left is their spread.
    signs = generator.choice([-1.0, 1.0], count)
    return Contrast.alone(signs * (drawn - pool.mean()))


def alike(
    entries: Sequence[Entry], profile: Profile, here: Place, trials: int = 200
) -> list[tuple[Claim, Trial | str]]:
    """Return the A/A trials of claims on the networks that have records in a place.

    A text in the place of trials says why there are none.
    """
    return [(e.claim, _tried_alike(e.claim, profile, here, trials)) for e in entries]


def generator_of(claim: Claim) -> np.random.Generator:
    """Return what draws a claim's trials: other claims beside it change nothing."""
    return numpy_generator(2026, "alike", claim.id)


def _tried_alike(
    claim: Claim, profile: Profile, here: Place, trials: int
) -> Trial | str:
    """Return a claim's A/A trials on published networks, or why there are none."""
    scale = paths.SCALES[profile.value]
    cases = [c for c in claim.cases_for(profile) if c.get("scale", scale) == scale]
    if not cases:
        return f"it is not tried on networks of the {scale} scale"
    assert claim.measure is not None
    measured: list[object] = []
    found = found_for(claim, profile, here)
    with placed(here), given(found):
        for case in cases:
            # Runs that this case looks at, and no others.
            looks = claim.runs(**case) if claim.runs is not None else ()
            if not all(isinstance(found.get(run), RunRecord) for run in looks):
                continue
            try:
                measured.append(claim.measure(**case))
            except NotLearnt:
                continue
    if not measured:
        whole = all(isinstance(record, RunRecord) for record in found.values())
        if whole:
            return "its networks have not learnt what it presupposes"
        return "its networks are not published"
    try:
        trial = trial_of(claim.compare, [measured], trials, generator_of(claim))
    except ValueError:
        return "there are too few networks for two arms of two"
    return trial or "it compares numbers, without a level"
