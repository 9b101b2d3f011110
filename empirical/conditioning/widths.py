"""Kernels of finite width against width, and how fast their errors fall."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from empirical.checks import check_counts
from empirical.kernels import sample
from empirical.networks import Elementwise, FullyConnected
from empirical.testbed.writing import Array


@dataclass(frozen=True, kw_only=True, eq=False)
class WidthCurves:
    r"""Statistics of a kernel over many random networks, at each width.

    Attributes
    ----------
    means : float array, shape (widths, n, n)
        Average kernels.
    deviations : float array, shape (widths, n, n)
        Sample standard deviations of one draw (divisor draws - 1); over the root of the
        number of draws they are the standard errors of `means`.
    """

    means: Array
    deviations: Array


def kernels_by_width(
    x: Tensor,
    *,
    activation: Elementwise,
    widths: Sequence[int],
    depth: int,
    draws: int,
    generator: torch.Generator,
) -> dict[str, WidthCurves]:
    """Draw networks of each width and summarise their kernels, ``"nngp"`` and ``"ntk"``.

    Parameters
    ----------
    x : Tensor, shape (n, d)
    activation : callable
    widths : sequence of int
    depth : int
        Hidden layers.
    draws : int
        At least two for each width.
    generator : torch.Generator
        Used for one width after another.

    Raises
    ------
    ValueError
        If there are fewer than two draws, or no widths.

    References
    ----------
    Agarwal, Awasthi, Kale 2020, equations 1 and 7, Lemma E.1 for the rate.

    Examples
    --------
    >>> from empirical.randomness import torch_generator
    >>> curves = kernels_by_width(
    ...     torch.eye(2, dtype=torch.float64),
    ...     activation=torch.sign,
    ...     widths=(16, 256),
    ...     depth=1,
    ...     draws=50,
    ...     generator=torch_generator(7),
    ... )
    >>> narrow, wide = curves["nngp"].deviations[:, 0, 1]
    >>> bool(narrow > 2.0 * wide)
    True
    """
    check_counts("kernels_by_width", depth=depth, draws=draws)
    if draws < 2 or not widths:
        raise ValueError(
            "kernels_by_width: `draws` must be at least 2 and `widths` not empty, but "
            f"they are {draws} and {tuple(widths)}"
        )
    parts: dict[str, list[Array]] = {"nngp": [], "ntk": []}
    for width in widths:
        network = FullyConnected.uniform(
            inputs=x.shape[-1], width=width, depth=depth, activation=activation
        )
        chunks = list(sample(network, x, draws=draws, generator=generator))
        for kind, drawn in parts.items():
            stack = torch.cat([getattr(chunk, kind) for chunk in chunks])
            drawn.append(stack.cpu().numpy().astype(np.float64))
    return {
        kind: WidthCurves(
            means=np.stack([each.mean(axis=0) for each in drawn]),
            deviations=np.stack([each.std(axis=0, ddof=1) for each in drawn]),
        )
        for kind, drawn in parts.items()
    }


def error_slope(widths: npt.ArrayLike, errors: npt.ArrayLike) -> tuple[float, float]:
    """Fit log of the root mean square error against log width; -1/2 is expected.

    Returned are the slope and its standard error, which propagates the spread between
    draws. Each width counts alike.

    Parameters
    ----------
    widths : array of int, shape (widths,)
    errors : array, shape (widths, draws)
        Of the kernels of each draw.

    Raises
    ------
    ValueError
        If there are fewer than two different widths or two draws, no errors at a width,
        or a number is not finite.

    Examples
    --------
    >>> round(error_slope([4, 16], [[2.0, 2.0], [1.0, 1.0]])[0], 12)
    -0.5
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        at, squares = np.log(widths), np.asarray(errors, dtype=np.float64) ** 2
    if squares.ndim != 2 or squares.shape[1] < 2 or at.shape != squares.shape[:1]:
        raise ValueError(
            "error_slope: `errors` must be two or more of each of `widths`, but the "
            f"shapes are {squares.shape} and {at.shape}"
        )
    mean = squares.mean(axis=1)
    known = np.isfinite(at).all() and ((mean > 0.0) & (mean < np.inf)).all()
    if len(set(at.tolist())) < 2 or not known:
        raise ValueError(
            "error_slope: `widths` must hold two different ones, with a finite error above "
            f"0 at each, but they are {np.asarray(widths).tolist()} and the mean squares "
            f"{mean.tolist()}"
        )
    # Delta method: log sqrt(mean square) has this variance.
    variance = squares.var(axis=1, ddof=1) / squares.shape[1] / (2.0 * mean) ** 2
    at = at - at.mean()
    weights = at / (at @ at)
    value = float(weights @ np.log(mean) / 2.0)
    return value, float(np.sqrt(weights**2 @ variance))
