"""Condition numbers of stacked kernels some of which have diverged."""

import numpy as np
import numpy.typing as npt
import torch

from empirical.normrelu.tangent import conditions
from verify.claim import grid, numeric
from verify.claims._predictors import mistake
from verify.claims.deep_conditioning._sources import ours
from verify.compare import AgreesTo

_SPECTRA = ((1.0, 1.0, 1.0, 1.0), (0.5, 2.0, 3.0, 40.0), (1e-4, 1.0, 2.0, 1e3))


def _kernels(seed: int) -> npt.NDArray[np.float64]:
    """Return matrices of these spectra in drawn directions, and one that is not finite."""
    rng = np.random.default_rng([84, seed])
    made = []
    for spectrum in _SPECTRA:
        turn, _ = np.linalg.qr(rng.standard_normal((4, 4)))
        made.append(turn @ np.diag(spectrum) @ turn.T)
    broken = made[1].copy()
    broken[2, 3] = np.nan
    return np.stack([made[0], broken, *made[1:]])


def _measure(*, seed: int) -> list[float]:
    """Minus one stands for no condition number."""
    found = conditions(torch.from_numpy(_kernels(seed))).numpy()
    return np.where(np.isnan(found), -1.0, found).tolist()


def _predict(*, seed: int, by_the_trace: bool = False) -> list[float]:
    known = [np.log10((sum if by_the_trace else max)(s) / min(s)) for s in _SPECTRA]
    return [known[0], -1.0, *known[1:]]


CONDITIONS = numeric(
    id="dc/sec7-conditions",
    items=("Sec11",),
    uses=("dc/sec7-steps",),
    title="Measured condition numbers leave out networks that diverged",
    statement=r"\log_{10} \frac{\lambda_1}{\lambda_n}",
    source=ours("Section 7"),
    cases=grid(seed=(1, 2)),
    predict=_predict,
    measure=_measure,
    # The smallest of four eigenvalues, 1e7 times below the largest, to a few ulps of it.
    compare=AgreesTo(absolute=1e-8),
    must_refute=mistake(
        "The trace over the smallest eigenvalue, a bound of the condition number.",
        by_the_trace=True,
    ),
)
