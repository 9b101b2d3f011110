r"""Infinite-width kernels of deep fully connected networks.

NTK parametrisation, no biases, readout included; `depth` counts hidden layers and the
activation is used as it is:

.. math::

   K^{(0)}_{ij} = x_i \cdot x_j, \qquad K^{(l)}_{ij} = E[s(u) s(v)], \qquad
   T^{(0)} = K^{(0)}, \qquad T^{(l)}_{ij} = K^{(l)}_{ij} + T^{(l-1)}_{ij} E[s'(u) s'(v)],

with (u, v) Gaussian of covariance :math:`K^{(l-1)}`. On a sphere, and for homogeneous
activations everywhere, both are functions of the input correlation, tabulated once for
all layers (`theory.compositions`) and read off once for each pair: the cost of a matrix
does not grow with depth. Other inputs go through `theory.layer_recursion`.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks, layer_recursion, matrices
from theory.activations import Activation, PiecewisePolynomial
from theory.depth_maps import DepthMap, depth_map

Array = npt.NDArray[np.float64]

SAME_LENGTH = 1e-14
"""Relative spread of squared norms, per input dimension, that counts as one sphere."""


def correlation(x: Any) -> Array:
    r"""Return the cosines of all pairs of rows.

    .. math:: \rho_{ij} = x_i \cdot x_j / (|x_i| |x_j|)

    Parameters
    ----------
    x : array_like, (n, d)
        Inputs, one in each row.

    Returns
    -------
    array, (n, n)
        Symmetric, in [-1, 1], exactly 1 on the diagonal; absolute accuracy d ulps.

    Raises
    ------
    ValueError
        If `x` is not a matrix of finite numbers, or has a zero row.

    Examples
    --------
    >>> correlation([[3.0, 0.0], [1.0, 1.0]]).round(6).tolist()
    [[1.0, 0.707107], [0.707107, 1.0]]
    """
    v, norms = _inputs("correlation", x)
    unit = v / norms[:, None]
    out = np.clip(unit @ unit.T, -1.0, 1.0)
    np.fill_diagonal(out, 1.0)
    return out


def separation(x: Any) -> float:
    r"""Return the largest delta for which Assumption A holds, in [0, 1].

    .. math:: \delta = \min_{i \ne j} (1 - |\rho_{ij}|)

    Parameters
    ----------
    x : array_like, (n, d)
        At least two inputs.

    Returns
    -------
    float
        Relative accuracy 1e-14 even for near-duplicates, where 1 - abs(correlation(x))
        has lost its digits.

    Raises
    ------
    ValueError
        As `correlation`, and for fewer than two rows.

    Examples
    --------
    >>> separation([[1.0, 0.0], [1.0, 2e-9]])
    2e-18
    """
    v, norms = _inputs("separation", x)
    if len(v) < 2:
        raise ValueError("separation: `x` must have at least two rows, got 1.")
    return matrices.least_distance(matrices.Inputs(v, norms))


def nngp_map(rho: Any, activation: Activation, depth: int) -> Any:
    r"""Return the top-layer (NNGP) kernel of two unit inputs of correlation `rho`.

    The dual activation composed with itself `depth` times, when E s^2 = 1.

    Parameters
    ----------
    rho : float or array_like
        Correlations in [-1, 1].
    activation : Activation
        Used as it is; see `Activation.normalized`.
    depth : int
        Hidden layers, at least 1.

    Returns
    -------
    float or array
        Relative accuracy 1e-12 of the layer-by-layer recursion from the given `rho`,
        at any depth. For an activation without linear part (a_1 = 0), which sends
        small correlations to their squares or cubes, 1e-13 of the diagonal.

    Raises
    ------
    ValueError
        For a correlation outside [-1, 1], a depth that is not a positive whole number
        or a diagonal that leaves float64.

    Notes
    -----
    Agarwal, Awasthi, Kale (2020), equation 1 and Definition C.1.

    Examples
    --------
    >>> from theory import activations as act
    >>> round(nngp_map(0.9, act.relu.normalized(), 10), 12)
    0.301609113383
    """
    r, deep = _scalar("nngp_map", rho, activation, depth)
    k, _ = deep.map(r.ravel())
    return _checks.like(rho, np.asarray(k * deep.length).reshape(r.shape))


def ntk_map(
    rho: Any, activation: Activation, depth: int, *, normalized: bool = False
) -> Any:
    r"""Return the tangent kernel of two unit inputs of correlation `rho`.

    .. math::

       T = \sum_{h=1}^{L+1} \hat s^{(h-1)}(\rho)
           \prod_{l=h}^{L} \dot{\hat s}(\hat s^{(l-1)}(\rho))

    Parameters
    ----------
    rho : float or array_like
        Correlations in [-1, 1].
    activation : Activation
        Used as it is.
    depth : int
        Hidden layers, at least 1.
    normalized : bool
        Divide by the value at rho = 1, which grows like D^L: for great depth.

    Returns
    -------
    float or array
        Relative accuracy 1e-12 of the layer-by-layer recursion.

    Raises
    ------
    ValueError
        As `nngp_map`; also for a derivative that is not square integrable and, unless
        `normalized`, a value beyond float64.

    Notes
    -----
    Agarwal, Awasthi, Kale (2020), equation 2; Jacot, Gabriel, Hongler (2018).

    Examples
    --------
    >>> from theory import activations as act
    >>> round(ntk_map(0.9, act.relu.normalized(), 10), 10)
    8.8257790835
    """
    _needs_slope("ntk_map", activation)
    r, deep = _scalar("ntk_map", rho, activation, depth)
    _, t = deep.map(r.ravel())
    t *= 1.0 if normalized else deep.tangent("ntk_map")
    return _checks.like(rho, t.reshape(r.shape))


def nngp(x: Any, activation: Activation, depth: int) -> Array:
    """Return the top-layer (NNGP) kernel matrix K of the rows of `x`.

    Parameters
    ----------
    x : array_like, (n, d)
        Inputs of any lengths.
    activation : Activation
    depth : int
        Hidden layers, at least 1.

    Returns
    -------
    array, (n, n)
        Symmetric. Near-duplicate inputs are told apart: distances are taken from the
        difference of the rows where the product would have lost them.

    Raises
    ------
    ValueError
        For a zero row, numbers that are not finite, or as `nngp_map`.

    Examples
    --------
    >>> from theory import activations as act
    >>> nngp([[1.0, 0.0], [0.0, 2.0]], act.sign, 3).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return _kernels("nngp", x, activation, depth, tangent=False)[0]


def ntk(
    x: Any, activation: Activation, depth: int, *, normalized: bool = False
) -> Array:
    r"""Return the neural tangent kernel matrix T of the rows of `x`.

    With `normalized`, divided by the geometric mean of the two diagonal entries.

    Parameters, errors and accuracy as `nngp` and `ntk_map`.

    Examples
    --------
    >>> from theory import activations as act
    >>> ntk([[1.0, 0.0], [0.0, 1.0]], act.identity, 4).round(12).tolist()
    [[5.0, 0.0], [0.0, 5.0]]
    """
    return nngp_ntk(x, activation, depth, normalized=normalized)[1]


def nngp_ntk(
    x: Any, activation: Activation, depth: int, *, normalized: bool = False
) -> tuple[Array, Array]:
    """Return (K, T), both kernels in one pass; see `nngp` and `ntk`.

    Peak memory is the two results and blocks of a few megabytes.
    """
    _needs_slope("nngp_ntk", activation)
    k, t = _kernels("nngp_ntk", x, activation, depth, tangent=True, relative=normalized)
    assert t is not None
    return k, t


# --- on the sphere --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Deep:
    """Depth map of inputs of one length, with the lengths it leads to."""

    map: DepthMap
    length: float  # the kernel's diagonal

    def tangent(self, who: str) -> float:
        """Return the tangent kernel's diagonal."""
        log = self.map.log_diagonal + math.log(self.length)
        if log > 709.0:
            raise ValueError(
                f"{who}: `depth` must keep the tangent kernel within float64, got a"
                f" diagonal of 10^{log / math.log(10.0):.0f}. Use `normalized=True`."
            )
        return math.exp(self.map.log_diagonal) * self.length


def homogeneity(activation: Activation) -> int | None:
    """Return m when ``s(r x) = r^m s(x)`` for all r > 0, else None.

    >>> from theory import activations as act
    >>> homogeneity(act.relu), homogeneity(act.sign), homogeneity(act.tanh)
    (1, 0, None)
    """
    if not isinstance(activation, PiecewisePolynomial):
        return None
    if any(c != 0.0 for c in activation.kinks):
        return None
    lower = (p for i, p in enumerate(activation.poly) if i != activation.m)
    return None if any(lower) else activation.m


@lru_cache(maxsize=64)
def _deep(activation: Activation, depth: int, start: float) -> _Deep:
    """Layers for inputs of squared norm `start`; equal neighbours are one step."""
    m = homogeneity(activation)
    if m is not None:
        length = start
        for _ in range(depth):
            length = _finite(activation.second_moment * length**m)
        return _Deep(depth_map(((activation, depth),)), length)
    steps: list[tuple[Activation, int]] = []
    length = start
    for layer in range(depth):
        here = activation if length == 1.0 else activation.scaled(length)
        with np.errstate(over="ignore", invalid="ignore"):
            new = _finite(here.second_moment)
        if abs(new - length) <= 2.0 * math.ulp(length):
            steps.append((here, depth - layer))  # a fixed point, to rounding
            break
        steps.append((here, 1))
        length = new
    return _Deep(depth_map(tuple(steps)), length)


def _finite(length: float) -> float:
    if not 1e-300 < length < 1e300:
        raise ValueError(
            "kernels: `depth` must keep the kernel within float64, got"
            f" {length:g} on the diagonal. Use `activation.normalized()`."
        )
    return length


def _scalar(
    who: str, rho: Any, activation: Activation, depth: int
) -> tuple[Array, _Deep]:
    r = _checks.correlation(who, rho)
    return r, _deep(activation, _checks.integer(who, "depth", depth, 1), 1.0)


def _needs_slope(who: str, activation: Activation) -> None:
    if not math.isfinite(activation.derivative_second_moment):
        raise ValueError(
            f"{who}: `activation` must have a square-integrable derivative, got"
            f" {activation.name}."
        )


def _inputs(who: str, x: Any) -> tuple[Array, Array]:
    v = _checks.real(who, "x", x)
    if v.ndim != 2 or v.size == 0:
        raise ValueError(f"{who}: `x` must have shape (n, d), got shape {v.shape}.")
    with np.errstate(over="ignore", under="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->i", v, v))
    bad = ~((norms > 1e-150) & (norms < 1e150))
    need = "have rows of norm between 1e-150 and 1e150 (none of zeros)"
    _checks.reject(who, "x", need, bad, norms, "Drop or rescale such inputs.")
    return v, norms


def _kernels(
    who: str,
    x: Any,
    activation: Activation,
    depth: Any,
    *,
    tangent: bool,
    relative: bool = False,
) -> tuple[Array, Array | None]:
    depth = _checks.integer(who, "depth", depth, 1)
    v, norms = _inputs(who, x)
    q = norms * norms
    start = float(q.mean())
    tolerance = SAME_LENGTH * math.sqrt(v.shape[1])
    sphere = float(np.ptp(q)) <= tolerance * start
    m = homogeneity(activation)
    if not sphere and m is None:
        return layer_recursion.kernels(
            v, activation, depth, tangent=tangent, relative=relative
        )
    if m is None:
        # Norms are rounded: one from an exact unit vector is one.
        start = 1.0 if abs(start - 1.0) <= tolerance else start
        deep = _deep(activation, depth, start)
        scale = np.full(len(v), math.sqrt(deep.length))
    else:
        deep = _deep(activation, depth, 1.0)
        # |s(r x)| = r^m |s(x)|: after `depth` layers norms are raised to m^depth.
        with np.errstate(over="ignore", under="ignore"):
            scale = norms ** float(m**depth if m else 0) * math.sqrt(deep.length)
        for value in (scale.min(), scale.max()):
            _finite(float(value) ** 2)
    growth = 1.0
    if tangent and not relative:
        growth = deep.tangent(who) / deep.length
    inputs = matrices.Inputs(v, norms)
    return matrices.fill(
        inputs, deep.map, scale, growth, tangent=tangent, relative=relative
    )
