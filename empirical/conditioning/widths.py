"""Errors of finite-width kernels against width."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from empirical.kernels import MAX_BYTES, sample
from empirical.networks import Elementwise, FullyConnected

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class WidthCurves:
    r"""Statistics of a kernel over many random networks, at each width.

    Attributes
    ----------
    widths : int array, shape (widths,)
    draws : int
    means : float array, shape (widths, n, n)
        Average kernels.
    deviations : float array, shape (widths, n, n)
        Sample standard deviations of one draw (divisor draws - 1); over the root of
        `draws` they are the standard errors of `means`.
    errors : float array, shape (widths, draws)
        :math:`\lVert K_m - K \rVert_F / \lVert K \rVert_F` of each draw, with the given
        limit K; empty, shape (widths, 0), without one.
    """

    widths: npt.NDArray[np.int64]
    draws: int
    means: Array
    deviations: Array
    errors: Array


@dataclass(frozen=True, kw_only=True)
class Slope:
    """A power law fitted to errors.

    Attributes
    ----------
    value : float
        Slope of log error against log width.
    standard_error : float
        From the spread between draws.
    """

    value: float
    standard_error: float


def kernels_by_width(
    x: Tensor,
    *,
    activation: Elementwise,
    widths: Sequence[int],
    depth: int,
    draws: int,
    generator: torch.Generator,
    nngp_limit: npt.ArrayLike | None = None,
    ntk_limit: npt.ArrayLike | None = None,
    tangent: bool = True,
    max_bytes: int = MAX_BYTES,
) -> tuple[WidthCurves, WidthCurves | None]:
    """Draw networks of each width and compare their kernels with the limits given.

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
    nngp_limit, ntk_limit : array, shape (n, n), optional
        What the kernels are compared with: closed forms of the caller, as numbers.
    tangent : bool
        Without it only the NNGP kernel is measured.
    max_bytes : int

    Returns
    -------
    nngp, ntk : WidthCurves
        The second is ``None`` without `tangent`.

    References
    ----------
    Agarwal, Awasthi, Kale 2020, equations 1 and 7, Lemma E.1 for the rate.

    Examples
    --------
    >>> from empirical.randomness import torch_generator
    >>> curves, _ = kernels_by_width(
    ...     torch.eye(2, dtype=torch.float64),
    ...     activation=torch.sign,
    ...     widths=(16, 256),
    ...     depth=1,
    ...     draws=50,
    ...     generator=torch_generator(7),
    ...     nngp_limit=np.eye(2),
    ...     tangent=False,
    ... )
    >>> bool(curves.errors[0].mean() > 2.0 * curves.errors[1].mean())
    True
    """
    if draws < 2 or not widths:
        raise ValueError(
            "kernels_by_width: `draws` must be at least 2 and `widths` not empty, but "
            f"they are {draws} and {tuple(widths)}"
        )
    kinds = ("nngp", "ntk") if tangent else ("nngp",)
    limits = {
        "nngp": _limit("nngp_limit", nngp_limit, x),
        "ntk": _limit("ntk_limit", ntk_limit, x),
    }
    parts: dict[str, list[tuple[Array, Array, Array]]] = {kind: [] for kind in kinds}
    for width in widths:
        network = FullyConnected.uniform(
            inputs=x.shape[-1], width=width, depth=depth, activation=activation
        )
        chunks = list(
            sample(
                network,
                x,
                draws=draws,
                generator=generator,
                tangent=tangent,
                max_bytes=max_bytes,
            )
        )
        for kind in kinds:
            stack = torch.cat([getattr(chunk, kind) for chunk in chunks])
            parts[kind].append(
                _summary(stack.cpu().numpy().astype(np.float64), limits[kind])
            )
    first, *rest = (
        WidthCurves(
            widths=np.asarray(widths, dtype=np.int64),
            draws=draws,
            means=np.stack([p[0] for p in parts[kind]]),
            deviations=np.stack([p[1] for p in parts[kind]]),
            errors=np.stack([p[2] for p in parts[kind]]),
        )
        for kind in kinds
    )
    return first, rest[0] if rest else None


def error_slope(curves: WidthCurves) -> Slope:
    """Fit log of the root mean square error against log width; -1/2 is expected.

    Each width counts alike; the standard error propagates the spread between draws.

    Raises
    ------
    ValueError
        If there are fewer than two different widths, no errors, or none at a width.

    Examples
    --------
    >>> curves = WidthCurves(
    ...     widths=np.array([4, 16]),
    ...     draws=2,
    ...     means=np.empty((2, 0, 0)),
    ...     deviations=np.empty((2, 0, 0)),
    ...     errors=np.array([[2.0, 2.0], [1.0, 1.0]]),
    ... )
    >>> round(error_slope(curves).value, 12)
    -0.5
    """
    squares = curves.errors**2
    if len(squares) < 2 or squares.shape[1] < 2:
        raise ValueError(
            "error_slope: `curves` must have two widths and two errors each, but its "
            f"errors have shape {squares.shape}. Give a limit to kernels_by_width."
        )
    mean = squares.mean(axis=1)
    if len(set(curves.widths.tolist())) < 2 or not (mean > 0.0).all():
        raise ValueError(
            "error_slope: `curves` must have two different widths and an error above 0 "
            f"at each, but the widths are {curves.widths.tolist()} and the mean squares "
            f"{mean.tolist()}"
        )
    # Delta method: log sqrt(mean square) has this variance.
    variance = squares.var(axis=1, ddof=1) / squares.shape[1] / (2.0 * mean) ** 2
    at = np.log(curves.widths) - np.log(curves.widths).mean()
    weights = at / (at @ at)
    value = float(weights @ np.log(mean) / 2.0)
    return Slope(value=value, standard_error=float(np.sqrt(weights**2 @ variance)))


def _limit(name: str, limit: npt.ArrayLike | None, x: Tensor) -> Array | None:
    if limit is None:
        return None
    given = np.asarray(limit, dtype=np.float64)
    n = x.shape[-2]
    if given.shape != (n, n) or not np.isfinite(given).all() or not given.any():
        raise ValueError(
            f"kernels_by_width: `{name}` must be finite, not zero and of shape ({n}, "
            f"{n}), but its shape is {given.shape}, or its entries are not"
        )
    return given


def _summary(stack: Array, limit: Array | None) -> tuple[Array, Array, Array]:
    if limit is None:
        errors = np.empty(0)
    else:
        errors = np.linalg.norm(stack - limit, axis=(1, 2)) / np.linalg.norm(limit)
    return stack.mean(axis=0), stack.std(axis=0, ddof=1), errors
