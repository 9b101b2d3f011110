"""What loss curves say about rates."""

import numpy as np

from empirical.conditioning.descent import Curves
from empirical.testbed.writing import Array, Integers


def steps_to(curves: Curves, fraction: float) -> Integers:
    """Return the first recorded step with loss at most `fraction` of the first loss.

    ``-1`` where a run never gets there; shape (runs,).

    Examples
    --------
    >>> import torch
    >>> from empirical.conditioning.descent import train_top_layer
    >>> eye = torch.eye(4, dtype=torch.float64)
    >>> curves = train_top_layer(eye[None], eye[:, :1], step=2.0, steps=9)
    >>> steps_to(curves, 1e-3).tolist()  # the residual is halved by each step
    [5]
    """
    if not 0.0 < fraction < 1.0:
        raise ValueError(
            f"steps_to: `fraction` must lie in (0, 1), but it is {fraction}"
        )
    # Comparisons with nan are false, as they should be for diverged runs.
    there = curves.losses <= fraction * curves.losses[:, :1]
    first = curves.steps[np.argmax(there, axis=1)]
    return np.where(there.any(axis=1), first, -1)


def slowest_rates(curves: Curves) -> Array:
    r"""Return the largest r with loss(t) <= exp(-r t) loss(0) at all recorded t, (runs,).

    .. math:: r = \min_t \frac{-\log(\mathcal{L}_t/\mathcal{L}_0)}{t}

    This is what a bound "for all t" speaks of. Losses under 1e-24 times the first
    are rounding and are left out; a diverged run has rate ``-inf``, one that starts at
    zero loss has none, ``nan``.

    Examples
    --------
    >>> import torch
    >>> from empirical.conditioning.descent import train_top_layer
    >>> eye = torch.eye(4, dtype=torch.float64)
    >>> curves = train_top_layer(eye[None], eye[:, :1], step=2.0, steps=9)
    >>> bool(abs(slowest_rates(curves).item() - np.log(4.0)) < 1e-12)
    True
    """
    first = curves.losses[:, :1]
    used = (curves.steps > 0) & (curves.losses > 1e-24 * first)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = -np.log(curves.losses / first) / curves.steps
    # Rounded away at the first record already: faster than can be told.
    rates = np.where(used, ratios, np.inf).min(axis=1)
    rates[first[:, 0] == 0.0] = np.nan
    rates[curves.diverged] = -np.inf
    return rates


def fitted_rates(curves: Curves, *, above: float = 1e-20, below: float = 1e-2) -> Array:
    """Return the decay of log loss per step, fitted by least squares.

    Only losses between `above` and `below` times the first one are used: late, so that
    the slowest direction is what is left, and clear of rounding.

    Returns
    -------
    array, shape (runs,)
        ``nan`` where fewer than three losses lie in the range.

    Examples
    --------
    >>> import torch
    >>> from empirical.conditioning.descent import train_top_layer
    >>> eye = torch.eye(4, dtype=torch.float64)
    >>> curves = train_top_layer(eye[None], eye[:, :1], step=2.0, steps=20)
    >>> bool(abs(fitted_rates(curves).item() - np.log(4.0)) < 1e-10)
    True
    """
    if not 0.0 < above < below <= 1.0:
        raise ValueError(
            "fitted_rates: `above` and `below` must satisfy 0 < above < below <= 1, "
            f"but they are {above} and {below}"
        )
    rates = np.full(len(curves.losses), np.nan)
    for run, curve in enumerate(curves.losses):
        if curve[0] == 0.0:
            continue
        relative = curve / curve[0]
        used = (relative >= above) & (relative <= below)
        if np.count_nonzero(used) >= 3:
            slope = np.polyfit(curves.steps[used], np.log(relative[used]), 1)[0]
            rates[run] = -float(slope)
    return rates
