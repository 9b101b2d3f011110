r"""Networks of finite width: means and variances of their kernels, to order 1/width.

Fully connected, NTK parametrisation, no biases, L hidden layers of one width n, standard
Gaussian weights. Given the Gram matrix G of one layer, the units of the next are
independent Gaussian vectors of covariance G, so that layers form a Markov chain:

.. math::

   E[G'_{ab} | G] = F_{ab}(G) = E\,s_a s_b, \qquad
   \mathrm{Cov}(G'_{ab}, G'_{cd} | G) = \tfrac1n \mathrm{Cov}_G(s_a s_b, s_c s_d).

With G = K + fluctuations of covariance V/n and mean m/n, expanding F,

.. math::

   V' = \mathrm{Cov}_K(s s, s s) + \partial F\, V\, \partial F^T, \qquad
   m' = \partial F\, m + \tfrac12\, \partial^2 F : V.

The tangent kernel between units i, j of one layer obeys

.. math::

   \hat H'_{ij} = \delta_{ij} \tfrac1n \sum_k s_k^2
       + \tfrac1n \sum_{km} W_{ik} W_{jm}\, s'_k s'_m\, \hat H_{km},

and with :math:`\hat H = H \delta_{ij} + \Delta`, g = s s + H s' s', the covariances
(times n) X of :math:`\Delta_{11}` with G, A of :math:`\Delta_{11}` with
:math:`\Delta_{22}`, B of :math:`\Delta_{12}` with itself and Q of :math:`\Delta_{12}`
with :math:`z_1 z_2` follow from the law of total covariance, over W and then over the
layers before:

.. math::

   X' &= \mathrm{Cov}_K(g, s s) + \partial g\, V\, \partial F^T + D X \partial F^T, \\
   A' &= \mathrm{Cov}_K(g, g) + \partial g\, V\, \partial g^T
         + \partial g\, X^T D + D X \partial g^T + D A D, \\
   B'_{ab,ab} &= H_{ab}^2\, E\,s_a'^2 s_b'^2 + D_{aa} D_{bb} B_{ab,ab}, \qquad
   B'_{ab,ba} = H_{ab}^2\, E\,s_a'^2 s_b'^2 + D_{ab}^2 B_{ab,ba}, \\
   Q'_{ab;cd} &= H_{ab}\, E\,s_c s'_a s_d s'_b
         + \sum_{ef} E[\partial_e (s_c s'_a)]\, E[\partial_f (s_d s'_b)]\, Q_{ab;ef},

with D = E s' s', all derivatives in K. The variance of an entry of the network's tangent
kernel is :math:`(A + B_{ab,ab} + B_{ab,ba})/n`. For one hidden layer this is exact.

In the field's words: V is the four-point vertex, and the others are the tensors of the
finite-width tangent kernel, of Roberts, Yaida, Hanin, *The Principles of Deep Learning
Theory* (2022), chapters 4 and 8, here for two inputs and derived anew; Hanin, Nica (2020)
for the exact moments of ReLU networks.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks, kernels
from theory._naming import in_own_name, publish
from theory._pair_derivatives import Series, mixed, straight
from theory._pair_moments import Moments, moments, pairs
from theory.activations import Activation

Array = npt.NDArray[np.float64]

DEEPEST = 10_000
"""Layers that take minutes: each is a quadrature of its own."""

NEAR = 1e-5
"""Distance of a layer's correlation from +-1 that activations with kinks have to keep."""


@in_own_name
def nngp_mean(rho: Any, activation: Activation, depth: int, width: int) -> Any:
    r"""Return the mean of a finite network's NNGP kernel, up to errors of 1/width^2.

    Parameters
    ----------
    rho : float or array_like
        Correlations of two unit inputs, in [-1, 1].
    activation : Activation
        Used as it is.
    depth : int
        Hidden layers, from 1 to 10,000. For one the mean is that of infinite width.
    width : int
        n, units of every hidden layer.

    Returns
    -------
    float or array
        The limit as `theory.kernels.nngp_map` gives it, and the correction of order
        1/width to 1e-13 of the terms that it is the sum of, the entries of
        :math:`\partial^2 F : V`, for smooth functions and those of straight pieces,
        however close inputs come. For others with kinks derivatives are averages of
        powers of 1 / (1 - r^2): to 1e-13 / (1 - r^2)^2 of the terms, with r the
        correlation of any layer between the first and the last. Next to one, terms cancel
        for ReLU: its lengths have no correction. Some 0.01 s for each layer and
        correlation below one, up to a second for a function with kinks, kept for the
        next call.

    Raises
    ------
    ValueError
        As `theory.kernels.nngp_map`, and where depth brings two inputs of an activation
        with kinks closer than correlation 1 - 1e-5 without making them equal; for one
        that grows so fast that E s^4 is infinite or comes from beyond 16 standard
        deviations.

    Examples
    --------
    Lengths of a ReLU network have the same mean at every width; products of orthogonal
    inputs are smaller in narrow networks:

    >>> from theory import activations as act
    >>> relu = act.relu.scaled(2.0)
    >>> bool(abs(nngp_mean(1.0, relu, 4, 64) - 1.0) < 1e-12)
    True
    >>> [round(nngp_mean(0.0, relu, 4, n), 6) for n in (64, 256, 10**9)]
    [0.664338, 0.6768, 0.680954]
    """
    return _over("nngp_mean", rho, activation, depth, width, "nngp")[0]


@in_own_name
def nngp_variance(rho: Any, activation: Activation, depth: int, width: int) -> Any:
    r"""Return the variance of an entry of a finite network's NNGP kernel.

    .. math:: \mathrm{Var}\, \Phi(x) \cdot \Phi(x') = V_{ab,ab}/n + O(1/n^2)

    Exactly :math:`(E\,s(u)^2 s(v)^2 - \hat s(\rho)^2)/n` for one hidden layer.

    Parameters and errors as `nngp_mean`; relative error of V 1e-12, and that over
    1 - r^2 where there are kinks between bent pieces.

    Examples
    --------
    Every layer of ReLU adds 5/n to the relative variance of a length:

    >>> from theory import activations as act
    >>> [round(1000 * nngp_variance(1.0, act.relu.scaled(2.0), l, 1000)) for l in (1, 2, 8)]
    [5, 10, 40]
    """
    return _over("nngp_variance", rho, activation, depth, width, "nngp")[1]


@in_own_name
def ntk_mean(rho: Any, activation: Activation, depth: int, width: int) -> Any:
    """Return the mean of a finite network's tangent kernel, up to errors of 1/width^2.

    Parameters, accuracy and errors as `nngp_mean` and `theory.kernels.ntk_map`.

    Examples
    --------
    >>> from theory import activations as act
    >>> relu = act.relu.scaled(2.0)
    >>> bool(abs(ntk_mean(1.0, relu, 3, 100) - 4.0) < 1e-12)
    True
    """
    return _over("ntk_mean", rho, activation, depth, width, "ntk")[0]


@in_own_name
def ntk_variance(rho: Any, activation: Activation, depth: int, width: int) -> Any:
    r"""Return the variance of an entry of a finite network's tangent kernel.

    One output; to leading order in 1/width, and for one hidden layer exactly

    .. math::

       \frac1n \left[\mathrm{Var}(s_a s_b)
           + 2 \rho\, \mathrm{Cov}(s_a s_b, s'_a s'_b)
           + \rho^2 \left(3\,E\,s_a'^2 s_b'^2 - (E\,s'_a s'_b)^2\right)\right].

    Parameters and errors as `nngp_variance` and `theory.kernels.ntk_map`.

    Examples
    --------
    Fluctuations grow like depth over width; for ReLU, relative to the mean (L + 1)^2,
    by L (11 L + 7) / (3 (L + 1) n):

    >>> from theory import activations as act
    >>> relu, depth = act.relu.scaled(2.0), 16
    >>> round(ntk_variance(1.0, relu, depth, 1000) / (depth + 1) ** 2, 10)
    0.0574117647
    >>> round(depth * (11 * depth + 7) / (3 * (depth + 1)) / 1000, 10)
    0.0574117647
    """
    return _over("ntk_variance", rho, activation, depth, width, "ntk")[1]


@in_own_name
def length_moment(activation: Activation, depth: int, width: int) -> float:
    r"""Return the second moment of a finite network's squared length over its mean squared.

    .. math::

       \frac{E|\Phi(x)|^4}{(E|\Phi(x)|^2)^2}
       = \left(1 + \frac1n \frac{\mathrm{Var}\, s(Z)^2}{(E\,s(Z)^2)^2}\right)^L

    Exact at every width for activations with :math:`s(r x) = r s(x)`, r > 0: the factors
    that layers multiply the length by are independent. For ReLU :math:`(1 + 5/n)^L`, which
    Hanin and Nica (2020) bound by :math:`e^{5 L/n}`.

    Parameters
    ----------
    activation : Activation
        Positively homogeneous of degree one.
    depth, width : int
        At least 1.

    Returns
    -------
    float
        At least 1; relative error 1e-13 L.

    Raises
    ------
    ValueError
        For another activation, a depth or width out of range, or a moment beyond what
        float64 holds.

    Examples
    --------
    >>> from theory import activations as act
    >>> round(length_moment(act.relu, 10, 100), 9), round(1.05**10, 9)
    (1.628894627, 1.628894627)
    """
    _checks.instance("length_moment", "activation", activation, Activation)
    layers = _checks.integer("length_moment", "depth", depth, 1)
    n = _checks.integer("length_moment", "width", width, 1)
    if kernels.homogeneity(activation) != 1:
        raise ValueError(
            "length_moment: `activation` must be positively homogeneous of degree one,"
            f" got {activation.name}."
        )
    found = moments(activation, np.ones((1, 1)), tangent=False, derivatives=False)
    spread = float(found.second[0, 0] / found.value[0] ** 2)
    with np.errstate(over="ignore"):
        out = np.exp(layers * math.log1p(spread / n))
    return float(_checks.result("length_moment", out, "depth", "width"))


# --- the recursion ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _State:
    """Kernels of one layer, and the coefficients of 1/n of their means and covariances."""

    k: Array  # (m,), entries of K
    h: Array  # (m,), of the tangent kernel
    k_mean: Array  # (m,)
    h_mean: Array  # (m,)
    v: Array  # (m, m)
    x: Array  # (m, m), tangent kernel with Gram matrix
    a: Array  # (m, m)
    same: Array  # (m,), B_{ab,ab}
    turned: Array  # (m,), B_{ab,ba}
    q: Array  # (m, p, p)
    apart: float  # 1 - r, to its last digits for an activation of straight pieces


def _start(k: Array, inputs: int) -> _State:
    m = k.size
    none, square = np.zeros(m), np.zeros((m, m))
    q = np.zeros((m, inputs, inputs))
    apart = 1.0 - float(k[1]) if inputs == 2 else 0.0
    return _State(k, k, none, none, square, square, square, none, none, q, apart)


def _next(state: _State, found: Moments, index: tuple[tuple[int, int], ...]) -> _State:
    """Return the next layer's state, from this one's and the averages over its units."""
    m, h, d = len(index), state.h, found.slope
    ss, st = found.second[:m, :m], found.second[:m, m:]
    gs = ss + h[:, None] * st.T
    gg = gs + (st + h[:, None] * found.second[m:, m:]) * h
    f1, d1 = found.value_d, found.slope_d
    g1 = f1 + h[:, None] * d1
    across = g1 @ state.x.T * d
    mean = f1 @ state.k_mean + 0.5 * np.einsum("ijk,jk->i", found.value_dd, state.v)
    slope_mean = d1 @ state.k_mean
    slope_mean = slope_mean + 0.5 * np.einsum("ijk,jk->i", found.slope_dd, state.v)
    # Unit by unit the tangent kernel and the preactivations are correlated.
    joint = state.x + np.array([[q[c, e] + q[e, c] for c, e in index] for q in state.q])
    inside = (d1 * joint).sum(axis=1)
    squares = np.diagonal(found.second)[m:] + d * d
    ends = np.array([d[index.index((a, a))] * d[index.index((b, b))] for a, b in index])
    q = np.array(
        [
            h[i] * found.mixed[:, a, :, b]
            + found.mixed_d[:, a] @ state.q[i] @ found.mixed_d[:, b].T
            for i, (a, b) in enumerate(index)
        ]
    )
    return _State(
        k=found.value,
        h=found.value + h * d,
        k_mean=mean,
        h_mean=mean + d * state.h_mean + h * slope_mean + inside,
        v=ss + f1 @ state.v @ f1.T,
        x=gs + g1 @ state.v @ f1.T + d[:, None] * state.x @ f1.T,
        a=gg + g1 @ state.v @ g1.T + across + across.T + d[:, None] * state.a * d,
        same=h * h * squares + ends * state.same,
        turned=h * h * squares + d * d * state.turned,
        q=q,
        apart=state.apart,
    )


@lru_cache(maxsize=2048)
def _after(
    activation: Activation, depth: int, rho: float, *, tangent: bool
) -> _State | int:
    """Return the state after `depth` layers, or the layer that inputs merge in."""
    inputs = 1 if rho == 1.0 else 2
    index = pairs(inputs)
    if depth == 0:
        return _start(np.array([1.0] if inputs == 1 else [1.0, rho, 1.0]), inputs)
    layer = depth - 1
    state = _after(activation, layer, rho, tangent=tangent)
    if isinstance(state, int):
        return state
    k = np.empty((inputs, inputs))
    for value, (a, b) in zip(state.k, index, strict=True):
        k[a, b] = k[b, a] = value
    apart = 1.0 - k[0, -1] / math.sqrt(k[0, 0] * k[-1, -1])
    lines = inputs == 2 and straight(activation)
    exact = state.apart if lines else max(apart, 0.0)
    known = mixed(activation, k, exact) if layer else None
    near = inputs == 2 and min(apart, 2.0 - apart) < NEAR
    if layer and near and not isinstance(known, Series):
        return layer
    found = moments(activation, k, tangent=tangent, derivatives=layer > 0, known=known)
    # Lengths that are at rest stay there: rounding grows where their map is steep.
    length = activation._one(float(k[0, 0])).second_moment
    if abs(length - k[0, 0]) <= 2.0 * math.ulp(k[0, 0]):
        length = float(k[0, 0])
    value = np.where([a == b for a, b in index], length, found.value)
    after = _next(state, replace(found, value=value), index)
    if not lines:
        return after
    unit = activation._one(float(k[0, 0]))
    return replace(after, apart=float(unit.distance_map(state.apart)))


def _entry(
    who: str, activation: Activation, depth: int, rho: float, kernel: str
) -> tuple[float, float]:
    """Return n times the mean's correction and n times the variance."""
    sign = 1.0
    if rho == -1.0:
        # Even and odd functions: the second input is the first, but for the sign.
        ratio = float(activation.dual(-1.0)) / activation.second_moment
        if abs(abs(ratio) - 1.0) < 1e-13:
            rho, sign = 1.0, math.copysign(1.0, ratio)
    tangent = kernel == "ntk"
    # From the first layer on: each finds the one before it.
    for layer in range(depth):
        _after(activation, layer, rho, tangent=tangent)
    state = _after(activation, depth, rho, tangent=tangent)
    if isinstance(state, int):
        raise ValueError(
            f"{who}: `depth` must leave inputs apart, but after {state} layers their"
            f" correlation is within {NEAR:g} of one."
        )
    i = 0 if rho == 1.0 else 1
    if kernel == "nngp":
        return sign * float(state.k_mean[i]), float(state.v[i, i])
    spread = state.a[i, i] + state.same[i] + state.turned[i]
    return sign * float(state.h_mean[i]), float(spread)


def _over(
    who: str, rho: Any, activation: Activation, depth: int, width: int, kernel: str
) -> tuple[Any, Any]:
    """Return mean and variance at `width`, in the shape of `rho`."""
    r = _checks.correlation(who, rho)
    _checks.instance(who, "activation", activation, Activation)
    layers = _checks.integer(who, "depth", depth, 1, DEEPEST)
    n = _checks.integer(who, "width", width, 1)
    limit = kernels.nngp_map if kernel == "nngp" else kernels.ntk_map
    limits = np.asarray(limit(r, activation, layers))  # complains about lengths, slopes
    with np.errstate(over="ignore", invalid="ignore"):
        found = [_entry(who, activation, layers, float(v), kernel) for v in r.ravel()]
    table = _checks.result(who, np.array(found), "depth").reshape(-1, 2)
    mean = limits + (table[:, 0] / n).reshape(r.shape)
    variance = (table[:, 1] / n).reshape(r.shape)
    return _checks.like(rho, mean), _checks.like(rho, variance)


publish(globals())
