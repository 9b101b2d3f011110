"""A printed formula that pairs each output with one point only."""

import itertools
import math

import numpy as np
import torch

from theory import mmd
from verify.claim import grid, numeric
from verify.claims.mmd_init._samples import laws
from verify.claims.mmd_init._sources import quoted
from verify.compare import AgreesTo, Outcome


def _measure_median(*, size: int, seed: int) -> float:
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
    measure=_measure_median,
    compare=AgreesTo(relative=4e-15),
    must_hold=_both_indices,
    expected=Outcome.REFUTED,
    uses=("mmd/c1",),
    finding="The list of perturbations beside it begins with the first one twice.",
)
