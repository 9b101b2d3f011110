"""Median bandwidths: of networks some of which have diverged, and as printed."""

import itertools
import math
from typing import Any

import numpy as np
import torch

from empirical.mmd_init.uniformity import segment_median
from theory import mmd
from verify.claim import grid, numeric
from verify.claims._predictors import mistake
from verify.claims.mmd_init._samples import Array, laws
from verify.claims.mmd_init._sources import ours, quoted
from verify.compare import AgreesTo, Outcome

_INPUTS = 4


def _predictions(seed: int, networks: int) -> Array:
    """Return predictions of networks at four inputs; two have one that diverged."""
    p = np.random.default_rng([83, seed]).uniform(size=(networks, _INPUTS))
    p[1, 1], p[2, 3] = -np.inf, np.nan
    return p


def _measure(*, networks: int, reference: int, seed: int) -> list[float]:
    """Zero stands for no median."""
    p = torch.from_numpy(_predictions(seed, networks))
    found: Any = segment_median(p, reference).numpy()
    return np.where(np.isnan(found), 0.0, found).tolist()


def _points(p: Array) -> Array:
    return np.stack([p, 1.0 - p], axis=-1)


def _predict(
    *, networks: int, reference: int, seed: int, of_the_rest: bool = False
) -> list[float]:
    even = _points((np.arange(reference) + 0.5) / reference)
    p = _predictions(seed, networks).T
    rows = [row[np.isfinite(row)] for row in p]
    return [
        mmd.median_bandwidth(_points(row), even)
        if of_the_rest or len(row) == networks
        else 0.0
        for row in rows
    ]


MEDIAN = numeric(
    id="mmd/seg-median",
    items=("Seg", "C1"),
    uses=("mmd/seg",),
    title=(
        "The median bandwidth of two classes counts all pairs; a diverged network leaves"
        " none"
    ),
    statement=(
        r"\gamma = \operatorname{median}\{\sqrt2\,|p_i - p_j|\}_{i<j}"
        r"\text{ over predictions and an even reference}"
    ),
    source=ours("Appendix C.1; diverged networks are ours"),
    cases=grid(networks=(5, 12), reference=(6, 9), seed=1),
    predict=_predict,
    measure=_measure,
    # A difference of two numbers below one, times the root of two.
    compare=AgreesTo(absolute=1e-15),
    must_refute=mistake("Medians of the networks that are left.", of_the_rest=True),
)


# --- as printed -----------------------------------------------------------------------


def _measure_printed(*, size: int, seed: int) -> float:
    """The median of the distances as appendix C.1 counts them, cross pairs by both."""
    x, y = (torch.from_numpy(z) for z in laws(3, [size, size], seed))
    own = [torch.pdist(z) for z in (x, y)]
    cross = torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist").ravel()
    return float(np.median(torch.cat([*own, cross]).numpy()))


def _printed_indices(*, size: int, seed: int) -> float:
    """Take |f_i - u_i| for all i and j, as printed."""
    x, y = laws(3, [size, size], seed)
    own = [math.dist(a, b) for z in (x, y) for a, b in itertools.combinations(z, 2)]
    cross = np.repeat(np.linalg.norm(x - y, axis=1), size)
    return float(np.median(np.concatenate([own, cross])))


def _both_indices(*, size: int, seed: int) -> float:
    """Distances of all pairs, not of equal indices only."""
    x, y = laws(3, [size, size], seed)
    return mmd.median_bandwidth(x, y)


ERR_9 = numeric(
    id="mmd/err9",
    items=("Err9", "C1"),
    title="The printed list of distances pairs outputs and points of equal index",
    statement=r"\|f_{\theta_0+\epsilon_i}(x)-u_i\|\text{ for all }i\le M,\,j\le N",
    source=quoted("Appendix C.1"),
    cases=grid(size=(5, 40), seed=(0, 1)),
    predict=_printed_indices,
    measure=_measure_printed,
    compare=AgreesTo(relative=4e-15),
    must_hold=_both_indices,
    expected=Outcome.REFUTED,
    uses=("mmd/c1",),
    finding="The list of perturbations beside it begins with the first one twice.",
)
