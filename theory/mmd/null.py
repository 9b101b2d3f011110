r"""What sampling costs when predictions are uniform already: bias and variance.

Two classes, as in `theory.mmd.segment`. Source: the estimates are those of Lee and Cho
2023, appendix C.1; their moments are ours.
"""

from typing import Any

import numpy as np

from theory import _checks
from theory.mmd import _inputs, _segment_series
from theory.mmd.segment import segment_kernel_mean


def segment_null_variance_ratio(predictions: int, samples: int) -> float:
    r"""Return how much more the sampled estimate varies than the one in closed form.

    For M uniform predictions, the variance of the unbiased `mmd_squared` with N sampled
    points over that of the unbiased `segment_mmd`:

    .. math:: 1 + \frac{M(M-1)}2 \Big(\frac2{N(N-1)} + \frac4{MN}\Big)

    whatever the kernels. It is ``4 - 2/M`` for N = M, and tends to 1 as N grows.

    Parameters
    ----------
    predictions, samples : int
        M and N, at least 2.

    Returns
    -------
    float
        Above 1; relative error a few eps.

    Raises
    ------
    ValueError
        If a count is below 2.

    Notes
    -----
    With the kernel ``k(x, y) - h(x) - h(y) + E k`` both are U-statistics whose terms are
    uncorrelated: ``M (M - 1) / 2`` pairs weigh ``2 / (M (M - 1))`` each, as many of the N
    points, and ``M N`` crossed pairs weigh ``-2 / (M N)``.

    Examples
    --------
    >>> segment_null_variance_ratio(64, 64), segment_null_variance_ratio(2, 10**9) < 1.00001
    (3.96875, True)
    """
    who = "segment_null_variance_ratio"
    m = _checks.integer(who, "predictions", predictions, 2)
    n = _checks.integer(who, "samples", samples, 2)
    return 1.0 + m * (m - 1) / (n * (n - 1)) + 2.0 * (m - 1) / n


def segment_null_bias(predictions: int, samples: int, bandwidths: Any) -> float:
    r"""Return the mean of the biased `mmd_squared` when both samples are uniform.

    .. math:: \Big(\frac1M + \frac1N\Big) \sum_\gamma \big(1 - E\,k_\gamma(u, u')\big)

    The unbiased one has mean 0 there; with the uniform law in closed form, in
    `segment_mmd`, the term 1 / N goes.

    Parameters
    ----------
    predictions, samples : int
        M and N, at least 1.
    bandwidths : float or list of floats
        Positive, in the paper's units: of distances in the plane of the segment.

    Returns
    -------
    float
        Relative error below 1e-14, wide kernels included.

    Raises
    ------
    ValueError
        If a count is not a positive whole number or a bandwidth not positive.

    Examples
    --------
    The nine kernels about a median distance of 1/2, at the paper's 256 and 256:

    >>> from theory.mmd import kernel_bandwidths
    >>> round(segment_null_bias(256, 256, kernel_bandwidths(0.5)), 5)
    0.02974
    """
    who = "segment_null_bias"
    m = _checks.integer(who, "predictions", predictions, 1)
    n = _checks.integer(who, "samples", samples, 1)
    g = _inputs.bandwidths(who, bandwidths)
    wide = _segment_series.gap(np.maximum(g, 1.0))
    gap = float(np.where(g < 1.0, 1.0 - segment_kernel_mean(g), wide).sum())
    return gap / m + gap / n
