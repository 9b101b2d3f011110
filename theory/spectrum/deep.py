"""Spectra of the NNGP and tangent kernels of deep networks."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks, kernels
from theory._naming import in_own_name
from theory._recursion.layers import Layers
from theory._recursion.spheres import sphere
from theory.activations import Activation
from theory.depth_maps import DepthMap
from theory.spectrum import _funk_hecke
from theory.spectrum._inputs import WIDEST, degrees, dimension
from theory.spectrum._taylor_series import Series, series
from theory.spectrum.harmonics import log_multiplicity

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]

ORDER = 2048
"""Taylor coefficients behind the eigenvalues; what is beyond is extrapolated."""

ORDERS = (128, 512, ORDER)
"""Up to which series are composed: each takes some sixteen times what the last does."""

GOOD, WORST = 1e-12, 1e-6
"""Relative errors: one at which no other route is asked, the largest ever returned."""

FLAT, TINY = 0.005, 1e-300
"""Value at correlation 0.1, over that at one, whose last digit is what quadrature allows
for; and the smallest."""

SHALLOW = 5
"""Layers up to which the series is asked first."""

KERNELS = ("nngp", "ntk")


@in_own_name
def taylor_coefficients(
    activation: Activation, depth: int, order: int, *, kernel: str = "nngp"
) -> Array:
    r"""Return b_0, ..., b_order of a deep kernel, :math:`K(\rho) = \sum_n b_n \rho^n`.

    The mass of degree n of the dual applied `depth` times: b_n = a_n^2 for one layer,
    composed for more; none is negative, and they add up to the diagonal.

    Parameters
    ----------
    activation : Activation
        Used as it is.
    depth : int
        Hidden layers, at least 1.
    order : int
        From 0 to 2048.
    kernel : {"nngp", "ntk"}

    Returns
    -------
    array, (order + 1,)
        Relative error 1e-12, each; for an activation made of a function of one's own, of
        those above 1e-24 of the largest. Beyond order 200 those of smooth activations are
        zero from where rounding would hide them, below about 1e-24 of the diagonal.

    Raises
    ------
    ValueError
        As `theory.kernels.nngp_map` and `ntk_map`; for an order out of range; and for
        depths that leave hardly anything but a constant, whose coefficients would ask
        for more of the activation's than are known.

    Notes
    -----
    Definition C.1 and equation 7 of Agarwal, Awasthi, Kale (2020). Composition by baby
    and giant steps (Brent and Kung 1978), products by direct convolution. Many equal
    layers are squared when the activation is centred; otherwise, and while lengths move,
    a layer takes tenths of a second beyond order 512.

    Examples
    --------
    Depth moves mass from the linear part to higher degrees:

    >>> from theory import activations as act
    >>> relu = act.relu.normalized()
    >>> taylor_coefficients(relu, 1, 3).round(6).tolist()
    [0.0, 0.733471, 0.233471, 0.0]
    >>> taylor_coefficients(relu, 5, 3).round(6).tolist()
    [0.0, 0.212283, 0.199706, 0.143418]
    """
    _checks.instance("taylor_coefficients", "activation", activation, Activation)
    layers = _checks.integer("taylor_coefficients", "depth", depth, 1)
    top = _checks.integer("taylor_coefficients", "order", order, 0)
    if top > ORDER:
        raise ValueError(
            f"taylor_coefficients: `order` must be at most {ORDER}, got {top}."
        )
    _checks.choice("taylor_coefficients", "kernel", kernel, KERNELS)
    _kernel_map(kernel, activation, layers)(0.0)  # complains as the maps do
    found = series(activation, layers, next(n for n in ORDERS if top <= n))
    if not found.agrees:
        raise ValueError(
            "taylor_coefficients: `depth` must leave more of the kernel than a constant,"
            f" got {layers} layers of {activation.name}."
        )
    b = _part(found, kernel)[: top + 1]
    return np.concatenate([b, np.zeros(top + 1 - b.size)])


@in_own_name
def nngp_eigenvalues(
    activation: Activation, depth: int, degree: Any, dim: int, *, log: bool = False
) -> Any:
    """Return the eigenvalues of the NNGP kernel of `depth` layers on the sphere.

    Parameters
    ----------
    activation : Activation
        Used as it is.
    depth : int
        Hidden layers, at least 1.
    degree : int or array_like of int
        k, at least 0; several at once cost hardly more than one.
    dim : int
        d, at least 2.
    log : bool
        Return the logarithms, which do not underflow; minus infinity for zero.

    Returns
    -------
    float or array
        Not negative. Relative error mostly 1e-13 and never above 1e-6; at most 1e-10 up to
        k = 500 for kinks, not jumps, at zero and up to five layers, in any dimension.
        Kinks elsewhere, as NormReLU's: about 1e-11 to k = 7 and 1e-7 to k = 25 in ten
        dimensions and fewer, refused from about k = 60; 1e-13 in hundreds of dimensions.
        Smooth activations are known as far as their Taylor series: on the circle to a
        degree of about 10 (mish) to 160 (exp), more in hundreds of dimensions, with
        fewer digits, down to 1e-6, at the last degrees before they are refused. Of a
        function of one's own, relative errors also are those of its Hermite coefficients,
        1e-16 of the largest.

    Raises
    ------
    ValueError
        As `theory.kernels.nngp_map`; for a degree that neither the series nor the
        quadrature gives to 1e-6; for a degree or a dimension out of range.

    Notes
    -----
    From 2,049 Taylor coefficients, whose tail is continued by a fitted power law, or
    from a quadrature that knows how far from one a correlation is, however small:
    whichever knows its error to be smaller. Beyond five layers the quadrature is asked
    first, since a series costs tenths of a second a layer.

    Examples
    --------
    Odd degrees from 3 are not in one layer of ReLU, and in every deeper network:

    >>> from theory import activations as act
    >>> nngp_eigenvalues(act.relu, 1, [0, 1, 2, 3], 10).round(9).tolist()
    [0.167301212, 0.025, 0.001382655, 0.0]
    >>> nngp_eigenvalues(act.relu, 2, 3, 10) > 1e-5
    True
    """
    return _deep("nngp_eigenvalues", "nngp", activation, depth, degree, dim, log=log)


@in_own_name
def ntk_eigenvalues(
    activation: Activation, depth: int, degree: Any, dim: int, *, log: bool = False
) -> Any:
    """Return the eigenvalues of the tangent kernel of `depth` hidden layers.

    Parameters, accuracy and errors as `nngp_eigenvalues` and `theory.kernels.ntk_map`.

    Examples
    --------
    On the circle a network of two ReLU layers learns frequency 30 slower than frequency
    10, by a factor of nine: the tangent kernel's exponent is d = 2.

    >>> from theory import activations as act
    >>> slow = ntk_eigenvalues(act.relu, 2, [10, 30], 2)
    >>> round(float(slow[0] / slow[1]), 2)
    9.43
    """
    return _deep("ntk_eigenvalues", "ntk", activation, depth, degree, dim, log=log)


@in_own_name
def degree_shares(
    activation: Activation, depth: int, degree: Any, dim: int, *, kernel: str = "nngp"
) -> Any:
    r"""Return the share of the trace in each degree, :math:`N(d, k) \lambda_k / \kappa(1)`.

    The variance of a random function of that kernel that its part of degree k has; over
    all degrees they add up to one. Finite where eigenvalues underflow.

    Parameters, accuracy and errors as `nngp_eigenvalues`.

    Examples
    --------
    Depth flattens the spectrum:

    >>> from theory import activations as act
    >>> relu = act.relu.normalized()
    >>> for depth in (1, 4, 16):
    ...     print(degree_shares(relu, depth, [0, 1, 2, 3, 4], 20).round(3))
    [0.012 0.733 0.227 0.    0.018]
    [0.013 0.312 0.258 0.152 0.09 ]
    [0.    0.008 0.011 0.012 0.012]
    """
    _checks.choice("degree_shares", "kernel", kernel, KERNELS)
    who = "degree_shares"
    logs = np.asarray(_deep(who, kernel, activation, depth, degree, dim, log=True))
    top = float(_kernel_map(kernel, activation, depth)(1.0))
    counts = np.asarray(log_multiplicity(degree, dim))
    return _checks.like(degree, np.asarray(np.exp(logs + counts) / top, np.float64))


def _kernel_map(kernel: str, activation: Activation, depth: int) -> Callable[..., Any]:
    which = kernels.nngp_map if kernel == "nngp" else kernels.ntk_map
    return lambda rho: which(rho, activation, depth)


def _part(found: Series, kernel: str) -> Array:
    return found.nngp if kernel == "nngp" else found.ntk


def _deep(
    who: str,
    kernel: str,
    activation: Activation,
    depth: int,
    degree: Any,
    dim: int,
    *,
    log: bool,
) -> Any:
    _checks.instance(who, "activation", activation, Activation)
    _checks.flag(who, "log", log)
    layers = _checks.integer(who, "depth", depth, 1)
    k, d = degrees(who, degree), dimension(who, dim)
    total = float(_kernel_map(kernel, activation, layers)(1.0))

    def by_series(degree: Index) -> Array:
        found = series(activation, layers, ORDER)
        if not found.agrees:
            return np.full((2, degree.size), math.inf)
        b = _part(found, kernel)
        return np.array([_funk_hecke.by_series(b, int(v), d, total) for v in degree]).T

    def by_quadrature(degree: Index) -> Array:
        if d > WIDEST:
            return np.full((2, degree.size), math.inf)
        slopes = kernel == "ntk"
        network = Layers.read(who, activation, layers, 1.0, 0.0, tangent=slopes)
        # A layer's values are known to ulps of their peak.
        peak = activation.second_moment / max(float(activation.dual(0.1)), TINY)
        logs, errors = _by_quadrature(
            sphere(network, 1.0).map, int(slopes), total, degree, d
        )
        return np.array([logs, errors * max(peak * FLAT, 1.0)])

    # Each returns log eigenvalues and their relative errors.
    routes = (by_series, by_quadrature)
    if layers > SHALLOW:  # a series costs tenths of a second a layer
        routes = (by_quadrature, by_series)
    logs, errors = np.full(k.size, -math.inf), np.full(k.size, math.inf)
    if activation.parity is not None:
        errors[k.ravel() % 2 != activation.parity] = 0.0  # whose eigenvalues are zero
    for route in routes:
        unsure = np.flatnonzero(errors > GOOD)
        if unsure.size:
            found = route(k.ravel()[unsure])
            better = found[1] < errors[unsure]
            logs[unsure[better]], errors[unsure[better]] = found[:, better]
    _checks.reject(
        who,
        "degree",
        "be so low that the eigenvalue is known to 1e-6",
        errors > WORST,
        k.ravel(),
        "Neither the Taylor series nor quadrature resolves it.",
    )
    out = logs if log else np.exp(logs)
    return _checks.like(degree, out.reshape(k.shape))


def _by_quadrature(
    deep: DepthMap, which: int, total: float, degree: Index, dim: int
) -> Array:
    """Integrate one of a depth map's kernels, from its values at distances from one."""

    def at(rho: Array, distance: Array) -> Array:
        return total * deep.close(rho, distance)[which]

    values, rounding = _funk_hecke.by_distances(at, int(degree.max()), dim)
    # None is negative: one that is shows how little is known of values beside a peak.
    rounding = max(rounding, -float(values.min()))
    counts = np.asarray(log_multiplicity(degree, dim))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs, errors = np.log(values[degree]) - 0.5 * counts, rounding / values[degree]
    return np.where(values[degree] > 0.0, [logs, errors], math.inf)
