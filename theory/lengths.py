r"""Inputs that are not of unit length: how lengths and correlations move with depth.

One layer maps the squared length ``gamma`` to ``length_map(gamma)`` and the correlation
to ``dual(rho; gamma_x, gamma_y) / sqrt(length_map(gamma_x) length_map(gamma_y))``.
Source: Agarwal, Awasthi, Kale 2020, appendices D and I.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks, gaussian
from theory.activations import Activation, normrelu_constants
from theory.conditioning import correlation_bound

Array = npt.NDArray[np.float64]

CRITICAL_KINK = -0.376657093117569877496291343387
"""NormReLU's scale is sqrt(2) here: above it lengths diverge from large starts.

Computed to 30 digits from ``normrelu_constants(c).scale = sqrt(2)``.
"""


def chord_rate(activation: Activation) -> float:
    r"""Return ``alpha = 2 (1 - length_map(1/2))``, the contraction rate of Theorem D.1.

    For activations that are non-decreasing, vanish at zero, are concave on the right,
    convex on the left and have unit second moment, ``|gamma_L - 1| <= alpha^L |gamma_0
    - 1|`` from every ``gamma_0 >= 1/2``. It is 1 for positively homogeneous ones.
    """
    return 2.0 * (1.0 - float(activation.length_map(0.5)))


def length_trajectory(activation: Activation, gamma: float, depth: int) -> Array:
    """Return squared lengths ``gamma_0, ..., gamma_depth``, shape (depth + 1,)."""
    layers = _checks.integer("length_trajectory", "depth", depth, 0)
    out = [float(_checks.positive("length_trajectory", "gamma", gamma))]
    for _ in range(layers):
        out.append(float(activation.length_map(out[-1])))
    return np.array(out)


def joint_trajectory(
    activation: Activation, gamma_x: float, gamma_y: float, rho: float, depth: int
) -> tuple[Array, Array, Array]:
    """Return both squared lengths and the correlation after 0..depth layers."""
    layers = _checks.integer("joint_trajectory", "depth", depth, 0)
    x = length_trajectory(activation, gamma_x, layers)
    y = length_trajectory(activation, gamma_y, layers)
    r = [float(_checks.correlation("joint_trajectory", rho))]
    for l in range(layers):
        dual = activation.dual(r[-1], var_x=float(x[l]), var_y=float(y[l]))
        r.append(float(dual) / math.sqrt(x[l + 1] * y[l + 1]))
    return x, y, np.array(r)


def generalised_mu(activation: Activation, gamma: float) -> float:
    r"""Return ``mu(gamma) = 1 - a_1(gamma)^2 / length_map(gamma)`` (Lemma D.6)."""
    a = activation.hermite(1, var=gamma)
    at = activation.scaled(float(gamma)) if gamma != 1.0 else activation
    # The rest energy plus the mean's: a difference of nearly equal numbers is avoided.
    return float((at._rest + a[0] ** 2) / at.second_moment)  # pyright: ignore[reportPrivateUsage]


def rest_share(activation: Activation, gamma: float) -> float:
    r"""Return ``1 - (a_0(gamma)^2 + a_1(gamma)^2) / length_map(gamma)``."""
    at = activation.scaled(float(gamma)) if gamma != 1.0 else activation
    return at.nu


def odd_correlation_bound(rho: float, mu_x: float, mu_y: float) -> float:
    r"""Bound one layer's correlation for odd activations (Lemma D.6).

    ``sqrt(g(mu_x) g(mu_y))``, ``g(mu) = 1 - (1 + mu/2) delta`` for ``delta <= 1/2``, else
    ``(1 - mu/2)(1 - delta)``, with ``delta = 1 - |rho|``.
    """
    delta = 1.0 - abs(float(_checks.correlation("odd_correlation_bound", rho)))

    def g(mu: float) -> float:
        if delta <= 0.5:
            return 1.0 - (1.0 + mu / 2.0) * delta
        return (1.0 - mu / 2.0) * (1.0 - delta)

    return math.sqrt(g(mu_x) * g(mu_y))


def settling_depth(activation: Activation, gamma_x: float, gamma_y: float) -> int:
    r"""Return the layers until both squared lengths are within mu/2 of 1 (Theorem D.9).

    .. math:: \hat L = \max\left(\left\lceil
        \frac{\log(2\max(|\gamma_x-1|,|\gamma_y-1|)/\mu)}{-\log\alpha}\right\rceil, 0\right)
    """
    who = "settling_depth"
    x = float(_checks.interval(who, "gamma_x", gamma_x, 0.5, math.inf))
    y = float(_checks.interval(who, "gamma_y", gamma_y, 0.5, math.inf))
    alpha = chord_rate(activation)
    if not alpha < 1.0 - 1e-12:
        raise ValueError(
            f"{who}: `activation` must contract lengths, got rate {alpha:.6g}."
        )
    start = max(abs(x - 1.0), abs(y - 1.0))
    if start == 0.0:
        return 0
    return max(0, math.ceil(math.log(2.0 * start / activation.mu) / -math.log(alpha)))


def correlation_bound_any_length(
    activation: Activation, gamma_x: float, gamma_y: float, delta: float, depth: int
) -> float:
    """Bound ``|rho_L|`` by ``B_{mu/2}(L - settling_depth, delta)`` (Theorem 3.11).

    One below the settling depth, where the theorem says nothing.
    """
    settle = settling_depth(activation, gamma_x, gamma_y)
    if depth < settle:
        return 1.0
    return float(correlation_bound(depth - settle, delta, activation.mu / 2.0))


def normrelu_length(gamma: Any, c: float) -> Any:
    r"""Return NormReLU's length map in closed form (appendix I).

    .. math:: \hat\sigma_0(\gamma) = \lambda^2[(\gamma+c^2)\Phi(-c/s) - cs\varphi(c/s)
        + 2b(s\varphi(c/s) - c\Phi(-c/s)) + b^2],\quad s = \sqrt\gamma
    """
    g = _checks.positive("normrelu_length", "gamma", gamma)
    k = normrelu_constants(c)
    out = np.empty_like(g)
    for i, v in np.ndenumerate(g):
        s = math.sqrt(v)
        one = k.scale * s * gaussian.tail_moment(1, c / s)
        two = k.scale**2 * v * gaussian.tail_moment(2, c / s)
        shift = k.scale * k.shift
        out[i] = two + 2.0 * one * shift + shift * shift
    return _checks.like(gamma, out)


def normrelu_length_slope(gamma: Any, c: float) -> Any:
    r"""Return ``lambda^2 [Phi(-c/s) + b phi(c/s)/s]``, the slope of the length map."""
    g = _checks.positive("normrelu_length_slope", "gamma", gamma)
    k = normrelu_constants(c)
    s = np.sqrt(g)
    out = k.scale**2 * (gaussian.cdf(-c / s) + k.shift * gaussian.pdf(c / s) / s)
    return _checks.like(gamma, np.asarray(out))


def normrelu_bias(gamma: Any, c: float) -> Any:
    r"""Return the bias function ``beta(gamma) = (E s(sqrt(gamma) Z))^2 / length``."""
    g = _checks.positive("normrelu_bias", "gamma", gamma)
    k = normrelu_constants(c)
    out = np.empty_like(g)
    for i, v in np.ndenumerate(g):
        s = math.sqrt(v)
        mean = k.scale * (s * gaussian.tail_moment(1, c / s) + k.shift)
        out[i] = mean * mean / normrelu_length(float(v), c)
    return _checks.like(gamma, out)


@dataclass(frozen=True)
class NormReLUDecay:
    r"""Constants of Theorem I.1: lengths contract at `alpha`, correlations at `rate`.

    ``|rho_L| <= rate^L |rho_0| + beta t_0 sum_{i<L} alpha^i rate^{L-1-i}`` with ``t_0`` the
    larger distance of the squared lengths from one.
    """

    alpha: float
    beta: float
    start: float
    rate: float

    def bound(self, rho: float, depth: int) -> float:
        """Return the bound on the correlation after `depth` layers."""
        total = sum(self.alpha**i * self.rate ** (depth - 1 - i) for i in range(depth))
        return self.rate**depth * abs(rho) + self.beta * self.start * total


def normrelu_decay(
    gamma_x: float, gamma_y: float, delta: float, activation: Activation
) -> NormReLUDecay:
    """Return the constants of Theorem I.1 for a NormReLU and lengths in [1/2, 3/2].

    Raises
    ------
    ValueError
        If a squared length is outside [1/2, 3/2] or `delta` is at most the total bias
        ``S = beta_0 t_0 / (1 - alpha)``.
    """
    who = "normrelu_decay"
    x = float(_checks.interval(who, "gamma_x", gamma_x, 0.5, 1.5))
    y = float(_checks.interval(who, "gamma_y", gamma_y, 0.5, 1.5))
    c = activation.kinks[0]
    alpha = 2.0 * (1.0 - normrelu_length(0.5, c))
    beta = 2.0 * max(normrelu_bias(0.5, c), normrelu_bias(1.5, c))
    start = max(abs(x - 1.0), abs(y - 1.0))
    total = beta * start / (1.0 - alpha)
    if delta <= total:
        raise ValueError(
            f"{who}: `delta` must be greater than {total:.6g}, got {delta}."
        )
    least = min(rest_share(activation, g) for g in (0.5, 1.0, 1.5))
    return NormReLUDecay(alpha, beta, start, 1.0 - least * (delta - total))


def unstable_length(c: float) -> float:
    """Return the squared length above which NormReLU's lengths diverge.

    Defined for kinks between `CRITICAL_KINK` and 0: below, lengths converge to one from
    every start; at 0 and above, one itself is not attracting.

    Raises
    ------
    ValueError
        If `c` is outside that interval.
    """
    from scipy.optimize import brentq

    k = float(_checks.real("unstable_length", "c", c))
    if not CRITICAL_KINK < k < 0.0:
        raise ValueError(
            f"unstable_length: `c` must lie in ({CRITICAL_KINK:.6g}, 0), got {c}."
        )

    def growth(log: float) -> float:
        g = math.exp(log)
        return (normrelu_length(g, k) - g) / (g - 1.0)

    top = 1.0
    while growth(top) < 0.0:
        top *= 2.0
    return math.exp(brentq(growth, 1e-9, top, xtol=1e-15, rtol=1e-15))
