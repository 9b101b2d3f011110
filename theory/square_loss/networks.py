r"""Bias-free ReLU (or linear) networks with one output: values, norms and gradients.

.. math:: g(W; x) = W_L\,\sigma(W_{L-1} \cdots \sigma(W_1 x)), \qquad
    g(W; x) = \rho\, f(x), \quad \rho = \prod_k \|W_k\|_F

Weights are sequences of arrays ``(n_k, n_{k-1})`` with ``n_L = 1``, first layer first;
inputs are rows. Leading axes of the weights (and of the inputs) broadcast: many networks
are evaluated at once. Source: Poggio and Liao 2021, section 2 and eq. (9).
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._arrays import unscaled
from theory.square_loss import _inputs
from theory.square_loss._passes import (
    backward,
    forward,
    frobenius,
    lengths,
    project,
    pull_back,
)

Array = npt.NDArray[np.float64]
Weights = tuple[Array, ...]


def outputs(weights: Sequence[Any], x: Any, *, linear: bool = False) -> Array:
    r"""Return g(W; x) for every input.

    Parameters
    ----------
    weights : sequence of array, shapes (..., n_k, n_{k-1})
        ``n_L = 1``.
    x : array, shape (..., N, d)
        One input a row.
    linear : bool
        Whether layers follow on each other without ReLU.

    Returns
    -------
    array, shape (..., N)

    Raises
    ------
    ValueError
        If shapes do not follow on each other or an entry is not finite.

    Notes
    -----
    Error at most ``sum_k n_k eps`` times `output_bound`: no accuracy relative to an
    output that cancels.

    Examples
    --------
    Homogeneous of degree one in every layer:

    >>> w = [np.array([[1.0, -1.0], [0.5, 2.0]]), np.array([[1.0, -3.0]])]
    >>> x = [[0.6, 0.8], [0.8, -0.6]]
    >>> outputs(w, x).tolist()
    [-5.7, 1.4]
    >>> outputs([2.0 * w[0], 3.0 * w[1]], x) / outputs(w, x)
    array([6., 6.])
    >>> outputs(w, x, linear=True).tolist()
    [-5.9, 3.8]
    """
    w, rows = _network_and_data("outputs", weights, x)
    straight = _checks.flag("outputs", "linear", linear)
    with np.errstate(over="ignore", invalid="ignore"):
        return _checks.result(
            "outputs", forward(w, rows, linear=straight)[1], "weights", "x"
        )


def norms(weights: Sequence[Any]) -> Array:
    r"""Return the Frobenius norm of every layer.

    Returns
    -------
    array, shape (..., L)
        ``rho_k``, to a few eps.

    Raises
    ------
    ValueError
        If shapes do not follow on each other or an entry is not finite.

    Examples
    --------
    >>> norms([np.array([[3.0, 4.0]])])
    array([5.])
    """
    return _sizes("norms", _inputs.network("norms", "weights", weights))[0]


def normalise(weights: Sequence[Any]) -> tuple[Array, Weights]:
    r"""Return the norms and directions, ``W_k = rho_k V_k``.

    Then ``g(W; x) = prod(rho_k) * g(V; x)``: ReLU is homogeneous.

    Returns
    -------
    rho : array, shape (..., L)
    directions : tuple of array
        Of Frobenius norm 1.

    Raises
    ------
    ValueError
        If a weight matrix is zero: it has no direction.

    Examples
    --------
    >>> rho, directions = normalise([np.array([[3.0, 4.0]])])
    >>> rho, directions
    (array([5.]), (array([[0.6, 0.8]]),))
    """
    w = _inputs.network("normalise", "weights", weights)
    _inputs.nonzero("normalise", "weights", w)
    rho, parts = _sizes("normalise", w)
    return rho, project(parts)


def output_bound(weights: Sequence[Any], x: Any) -> Array:
    r"""Return the largest output that the layers' spectral norms allow.

    .. math:: |g(W; x)| \le \prod_k \|W_k\|_2\; \|x\| \le \prod_k \|W_k\|_F\; \|x\|

    With unit directions and inputs it is at most 1, so that interpolation of -1 and +1
    needs ``rho >= 1 / min |f_n| >= 1``. Equality: `aligned_directions`.

    Returns
    -------
    array, shape (..., N)

    Raises
    ------
    ValueError
        If shapes do not follow on each other or an entry is not finite.

    Examples
    --------
    >>> output_bound([np.eye(2), np.array([[0.6, 0.8]])], [[1.0, 0.0]])
    array([1.])
    """
    who = "output_bound"
    w, rows = _network_and_data(who, weights, x)
    with np.errstate(over="ignore", invalid="ignore"):
        spectral = [np.linalg.norm(v, 2, axis=(-2, -1)) for v in w]
        # Exponents apart: partial products may leave float64.
        part, power = np.frexp(np.stack(np.broadcast_arrays(*spectral), axis=-1))
        size, shift = np.frexp(lengths(rows))
        product = np.prod(part, axis=-1)[..., np.newaxis] * size
        out = np.ldexp(product, power.sum(axis=-1)[..., np.newaxis] + shift)
    return _checks.result(who, out, "weights", "x")


def layer_gradients(weights: Sequence[Any], x: Any, *, linear: bool = False) -> Weights:
    r"""Return the gradient of every output with respect to every layer.

    .. math:: \frac{\partial f}{\partial V_k} =
        [V_L D_{L-1} V_{L-1} \cdots V_{k+1} D_k]^T\,
        [D_{k-1} V_{k-1} \cdots D_1 V_1 x]^T, \qquad D_k = \mathrm{diag}(z_k > 0)

    Of rank one at most, whatever the layer. Source: Poggio and Liao 2021, eq. (9), which
    lacks the transpose of the second bracket.

    Parameters
    ----------
    weights, x, linear
        As for `outputs`; every ``D_k`` of a linear network is the identity.

    Returns
    -------
    tuple of array, shapes (..., N, n_k, n_{k-1})
        At a kink (a pre-activation of exactly 0) the one-sided value of ``D = 0``.

    Raises
    ------
    ValueError
        If shapes do not follow on each other or an entry is not finite.

    Notes
    -----
    Memory N times that of the network: `weighted_gradients` sums over the examples
    without it.

    Examples
    --------
    Euler's identity: ``<V_k, df/dV_k> = f`` for every layer.

    >>> w = [np.array([[1.0, -1.0], [0.5, 2.0]]), np.array([[1.0, -3.0]])]
    >>> x = [[0.6, 0.8], [0.8, -0.6]]
    >>> for v, g in zip(w, layer_gradients(w, x)):
    ...     np.sum(v * g, axis=(-2, -1))
    array([-5.7,  1.4])
    array([-5.7,  1.4])
    """
    who = "layer_gradients"
    w, rows = _network_and_data(who, weights, x)
    straight = _checks.flag(who, "linear", linear)
    with np.errstate(over="ignore", invalid="ignore"):
        hidden, out = forward(w, rows, linear=straight)
        back = backward(w, hidden, np.ones_like(out), linear=straight)
        found = tuple(
            a[..., :, np.newaxis] * h[..., np.newaxis, :]
            for a, h in zip(back, hidden, strict=True)
        )
    return _inputs.finite(who, found, "weights", "x")


def weighted_gradients(
    weights: Sequence[Any], x: Any, coefficients: Any, *, linear: bool = False
) -> Weights:
    r"""Return ``sum_n c_n df_n/dW_k`` for every layer, by matrix products alone.

    Parameters
    ----------
    weights, x, linear
        As for `outputs`.
    coefficients : array, shape (..., N)
        ``c_n``.

    Returns
    -------
    tuple of array, shapes of the weights

    Raises
    ------
    ValueError
        If shapes do not follow on each other or an entry is not finite.

    Examples
    --------
    >>> w = [np.array([[1.0, -1.0], [0.5, 2.0]]), np.array([[1.0, -3.0]])]
    >>> x = [[0.6, 0.8], [0.8, -0.6]]
    >>> summed = weighted_gradients(w, x, [2.0, -1.0])
    >>> bool(np.allclose(summed[0], np.tensordot([2.0, -1.0], layer_gradients(w, x)[0], 1)))
    True
    """
    who = "weighted_gradients"
    w, rows = _network_and_data(who, weights, x)
    c = _inputs.coefficients(who, coefficients, rows, w)
    straight = _checks.flag(who, "linear", linear)
    with np.errstate(over="ignore", invalid="ignore"):
        hidden = forward(w, rows, linear=straight)[0]
        found = pull_back(w, hidden, c, linear=straight)
    return _inputs.finite(who, found, "weights", "x", "coefficients")


def aligned_directions(vectors: Sequence[Any]) -> Weights:
    r"""Return the rank-one directions that hand a vector on without loss.

    .. math:: V_k = \frac{v_k v_{k-1}^T}{\|v_k\|\,\|v_{k-1}\|}, \qquad k = 1..L

    With non-negative hidden vectors and ``v_L = 1`` the network gives ``f = |x|`` for
    inputs along ``v_0``: equality in `output_bound`.

    Parameters
    ----------
    vectors : sequence of array, shapes (n_k,)
        L + 1 of them, none zero; the last is ``(1,)`` for a network with one output.

    Returns
    -------
    tuple of array, shapes (n_k, n_{k-1})
        Of Frobenius norm 1.

    Raises
    ------
    ValueError
        If there are fewer than two vectors, or one is zero or not finite.

    Examples
    --------
    >>> v = aligned_directions([[0.6, 0.8], [1.0, 2.0, 2.0], [1.0]])
    >>> outputs(v, [[0.6, 0.8]]).round(15)
    array([1.])
    """
    who = "aligned_directions"
    found = _checks.listed(who, "vectors", vectors, "vectors, one before each layer")
    if len(found) < 2:
        raise ValueError(
            f"{who}: `vectors` must be at least two, got {len(found)}."
            " A layer joins the vector before it to the one after it."
        )
    units: list[Array] = []
    for k, value in enumerate(found):
        v = _checks.real(who, f"vectors[{k}]", value)
        if v.ndim != 1 or not v.any():
            raise _checks.refuse(who, f"vectors[{k}]", "be a non-zero vector", value)
        part = unscaled(v)[0]
        units.append(part / np.linalg.norm(part))
    return tuple(np.outer(b, a) for a, b in itertools.pairwise(units))


def _network_and_data(who: str, weights: Any, x: Any) -> tuple[Weights, Array]:
    w = _inputs.network(who, "weights", weights)
    return w, _inputs.data(who, x, "weights", w)


def _sizes(who: str, w: Weights) -> tuple[Array, Weights]:
    """Return the norms, and the weights over powers of two near their largest entry."""
    with np.errstate(over="ignore"):
        rho = frobenius(w)
    parts = tuple(unscaled(v, (-2, -1))[0] for v in w)
    return _checks.result(who, rho, "weights"), parts
