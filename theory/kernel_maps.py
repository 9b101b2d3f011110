"""Kernels of unit inputs as functions of their correlation."""

from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._naming import in_own_name
from theory._recursion.layers import Layers, Network
from theory._recursion.spheres import Sphere, sphere

Array = npt.NDArray[np.float64]


@in_own_name
def nngp_map(
    rho: Any,
    activation: Network,
    depth: int | None = None,
    *,
    weight_var: float = 1.0,
    bias_var: float = 0.0,
) -> Any:
    r"""Return the top-layer (NNGP) kernel of two unit inputs of correlation `rho`.

    The dual activation composed with itself `depth` times, when E s^2 = 1.

    Parameters
    ----------
    rho : float or array_like
        Correlations in [-1, 1].
    activation : Activation, or a list of Activation or `Layer`, one for each layer
        Used as it is; see `Activation.normalized`.
    depth : int
        Hidden layers, at least 1; not needed with a list.
    weight_var, bias_var : float
        Variances of every layer's weights, 1e-100 to 1e12, and biases, 0 to 1e12.

    Returns
    -------
    float or array
        Relative accuracy 1e-12 of the layer-by-layer recursion from the given `rho`, at
        any depth, however little a layer changes; 1e-15 a layer of an activation that has
        kinks and is no piecewise polynomial, and is so nearly linear that thousands of
        layers leave a kernel. For an activation without linear part (a_1 = 0), which
        sends small correlations to their squares or cubes, or with one of less than a
        hundredth of the energy, 1e-13 of the diagonal; where a mean takes the kernel
        through zero, 1e-15, and where it is so small that the kernel falls below a
        thousandth, 1e-14. With biases the distance from -1 is known to 1e-16, after odd
        activations alone to 1e-14 of itself: variances of a million magnify that, and of
        it `sign` and `step` take the root, 1e-8.

    Raises
    ------
    ValueError
        For a correlation outside [-1, 1], a depth that is not a positive whole number
        or a diagonal that leaves float64, or that is not at rest after 5,000 layers: each
        length has a table of its own: about 10 ms, 0.03 to 0.2 s at variances of a hundred
        or more, and up to 0.3 s of a piecewise polynomial with several kinks.

    Notes
    -----
    Agarwal, Awasthi, Kale (2020), equation 1 and Definition C.1.

    Examples
    --------
    >>> from theory import activations as act
    >>> round(nngp_map(0.9, act.relu.normalized(), 10), 12)
    0.301609113383
    """
    r, deep = _map("nngp_map", rho, activation, depth, weight_var, bias_var)
    k, _ = deep.at(r.ravel())
    k *= deep.length
    return _checks.like(rho, k.reshape(r.shape))


@in_own_name
def ntk_map(
    rho: Any,
    activation: Network,
    depth: int | None = None,
    *,
    normalized: bool = False,
    weight_var: float = 1.0,
    bias_var: float = 0.0,
) -> Any:
    r"""Return the tangent kernel of two unit inputs of correlation `rho`.

    .. math::

       T = \sum_{h=1}^{L+1} \hat s^{(h-1)}(\rho)
           \prod_{l=h}^{L} \dot{\hat s}(\hat s^{(l-1)}(\rho))

    Parameters
    ----------
    rho : float or array_like
        Correlations in [-1, 1].
    activation, depth, weight_var, bias_var
        As `nngp_map`.
    normalized : bool
        Divide by the value at rho = 1, which grows like D^L: for great depth.

    Returns
    -------
    float or array
        Relative accuracy as of `nngp_map`, of what is above 1e-307 of the value at
        rho = 1; what is below 5e-324 of it is 0.

    Raises
    ------
    ValueError
        As `nngp_map`; also for a derivative that is not square integrable and, unless
        `normalized`, a value beyond float64.

    Notes
    -----
    Agarwal, Awasthi, Kale (2020), equation 7; Jacot, Gabriel, Hongler (2018).

    Examples
    --------
    >>> from theory import activations as act
    >>> round(ntk_map(0.9, act.relu.normalized(), 10), 10)
    8.8257790835
    """
    _checks.flag("ntk_map", "normalized", normalized)
    r, deep = _map(
        "ntk_map", rho, activation, depth, weight_var, bias_var, tangent=True
    )
    _, t = deep.at(r.ravel())
    t *= 1.0 if normalized else deep.tangent("ntk_map")
    return _checks.like(rho, t.reshape(r.shape))


def _map(
    who: str,
    rho: Any,
    activation: Network,
    depth: Any,
    weight_var: Any,
    bias_var: Any,
    *,
    tangent: bool = False,
) -> tuple[Array, Sphere]:
    """Return correlations of the inputs, and what maps them."""
    r = _checks.correlation(who, rho)
    network = Layers.read(who, activation, depth, weight_var, bias_var, tangent=tangent)
    if network.residual:
        raise ValueError(
            f"{who}: `activation` must not have residual layers, got one with `skip`. Use"
            " `nngp` or `ntk`."
        )
    return r, sphere(network, 1.0)
