r"""Infinite-width kernels of deep fully connected networks.

NTK parametrisation, readout included; `depth` counts hidden layers and the activation is
used as it is. With weight and bias variances :math:`\sigma_w^2, \sigma_b^2`, without
biases by default,

.. math::

   \Sigma^{(1)}_{ij} = \sigma_w^2\, x_i \cdot x_j + \sigma_b^2, \qquad
   \Sigma^{(l+1)}_{ij} = \sigma_w^2\, E[s(u) s(v)] + \sigma_b^2, \qquad
   T^{(1)} = \Sigma^{(1)}, \qquad
   T^{(l+1)}_{ij} = \Sigma^{(l+1)}_{ij} + \sigma_w^2\, T^{(l)}_{ij} E[s'(u) s'(v)],

with (u, v) Gaussian of covariance :math:`\Sigma^{(l)}`; the NNGP kernel is
:math:`\Sigma^{(L+1)}`, the covariance of the outputs, the tangent kernel
:math:`T^{(L+1)}`. On a sphere, and for homogeneous activations everywhere, both are
functions of the input correlation, tabulated once for all layers (`theory.depth_maps`)
and read off once for each pair: the cost of a matrix does not grow with depth. For
inputs of other lengths the table has both lengths as well, but for pairs near +-1, which
go through the layers one by one (`theory._recursion`).
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks, matrices
from theory._naming import in_own_name, publish
from theory._recursion.kernel_matrices import Rows, chosen, kernels, normed
from theory._recursion.layers import Layer as Layer
from theory._recursion.layers import Layers, Network
from theory._recursion.spheres import homogeneity as homogeneity
from theory.kernel_maps import nngp_map as nngp_map
from theory.kernel_maps import ntk_map as ntk_map
from theory.regression import Prediction as Prediction
from theory.regression import predict as predict

Array = npt.NDArray[np.float64]


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
    v, norms = normed("correlation", "x", x)
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
        Relative accuracy 1e-14 in up to a thousand dimensions, even for near-duplicates,
        where 1 - abs(correlation(x)) has lost its digits.

    Raises
    ------
    ValueError
        As `correlation`, and for fewer than two rows.

    Examples
    --------
    >>> separation([[1.0, 0.0], [1.0, 2e-9]])
    2e-18
    """
    v, norms = normed("separation", "x", x)
    if len(v) < 2:
        raise ValueError("separation: `x` must have at least two rows, got 1.")
    return matrices.least_distance(matrices.Inputs(v, norms))


@in_own_name
def nngp(
    x: Any,
    activation: Network,
    depth: int | None = None,
    *,
    y: Any = None,
    weight_var: float = 1.0,
    bias_var: float = 0.0,
    sphere: bool = False,
) -> Array:
    r"""Return the NNGP kernel: the covariance of a wide network's outputs.

    Parameters
    ----------
    x : array_like, (n, d)
        Inputs of any lengths.
    activation : Activation, or a list of Activation or `Layer`, one for each layer
        Used as it is; see `Activation.normalized`. A `Layer` has variances of its own
        and may be residual.
    depth : int
        Hidden layers, at least 1; not needed with a list.
    y : array_like, (m, d), optional
        Other inputs: return the kernel of the rows of `x` with those of `y`.
    weight_var, bias_var : float
        Variances sigma_w^2 > 0 and sigma_b^2 >= 0 of the weights and biases of every
        layer.
    sphere : bool
        Take rows whose norms agree to a relative 1e-6, as those normalised in float32
        do, for rows of one norm (of norm one, if theirs is one to 1e-6). The cost then
        does not grow with depth. Without it lengths count as they are, unless the squared
        norms of all rows are within a relative 1e-14 sqrt(d), their rounding.

    Returns
    -------
    array, (n, n), symmetric, or (n, m)
        Relative error 1e-12 of the diagonal, and 1e-10 of one less the correlation: near
        duplicates are told apart by the difference of the rows, at any depth.

    Raises
    ------
    ValueError
        For a zero row, numbers that are not finite, norms that differ with `sphere`,
        or as `nngp_map`.

    Notes
    -----
    Agarwal, Awasthi, Kale (2020), equation 1; with variances Lee et al. (2018).

    Rows of one length take as long at any depth, once their length is at rest (see
    `nngp_map`). Rows of several lengths, and residual layers, of which there may be
    100,000, take 0.5 to 3 ms a layer where they are 20, some 15 ms where they are 200, up
    to a second where tables are made, and minutes without a word where lengths grow from
    layer to layer beyond what a series follows, or where hundreds of rows lie on a line
    and the activation is a function of one's own.

    Examples
    --------
    >>> from theory import activations as act
    >>> nngp([[1.0, 0.0], [0.0, 2.0]], act.sign, 3).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    >>> nngp([[1.0, 0.0]], act.relu, 2, y=[[2.0, 0.0]], weight_var=2.0).round(12)
    array([[4.]])
    """
    network = Layers.read(
        "nngp", activation, depth, weight_var, bias_var, tangent=False
    )
    rows = Rows.read("nngp", x, y, sphere=sphere)
    return kernels("nngp", network, rows, frozenset())[0]


@in_own_name
def ntk(
    x: Any,
    activation: Network,
    depth: int | None = None,
    *,
    y: Any = None,
    weight_var: float = 1.0,
    bias_var: float = 0.0,
    sphere: bool = False,
    normalized: bool = False,
    trained: Iterable[int] | None = None,
) -> Array:
    r"""Return the neural tangent kernel T of the rows of `x`.

    With `normalized`, divided by the geometric mean of the two diagonal entries. `trained`
    names the weight layers whose parameters are trained, 1 (of the inputs) to depth + 1
    (the readout), by default all.

    Other parameters, errors and accuracy as `nngp` and `ntk_map`.

    Examples
    --------
    >>> from theory import activations as act
    >>> ntk([[1.0, 0.0], [0.0, 1.0]], act.identity, 4).round(12).tolist()
    [[5.0, 0.0], [0.0, 5.0]]
    >>> x = [[1.0, 0.0], [0.6, 0.8]]
    >>> bool(np.allclose(ntk(x, act.erf, 3, trained=[4]), nngp(x, act.erf, 3)))
    True
    """
    network = Layers.read("ntk", activation, depth, weight_var, bias_var, tangent=True)
    relative = _checks.flag("ntk", "normalized", normalized)
    which = chosen("ntk", trained, network.depth)
    rows = Rows.read("ntk", x, y, sphere=sphere)
    _, t = kernels("ntk", network, rows, which, relative=relative)
    assert t is not None  # as asked for
    return t


@in_own_name
def nngp_ntk(
    x: Any,
    activation: Network,
    depth: int | None = None,
    *,
    y: Any = None,
    weight_var: float = 1.0,
    bias_var: float = 0.0,
    sphere: bool = False,
    normalized: bool = False,
    trained: Iterable[int] | None = None,
) -> tuple[Array, Array]:
    """Return (K, T), both kernels in one pass; see `nngp` and `ntk`.

    Peak memory is the two results and blocks of a few megabytes.

    Examples
    --------
    >>> from theory import activations as act
    >>> k, t = nngp_ntk([[1.0, 0.0], [0.6, 0.8]], act.relu.normalized(), 3)
    >>> k.round(3).tolist(), t.round(3).tolist()
    ([[1.0, 0.381], [0.381, 1.0]], [[7.776, 1.898], [1.898, 7.776]])
    """
    network = Layers.read(
        "nngp_ntk", activation, depth, weight_var, bias_var, tangent=True
    )
    relative = _checks.flag("nngp_ntk", "normalized", normalized)
    which = chosen("nngp_ntk", trained, network.depth)
    rows = Rows.read("nngp_ntk", x, y, sphere=sphere)
    k, t = kernels("nngp_ntk", network, rows, which, relative=relative)
    assert t is not None  # as asked for
    return k, t


publish(
    globals(), "Layer", "Prediction", "homogeneity", "nngp_map", "ntk_map", "predict"
)
