"""NormReLU's lengths in closed form, what they do to correlations, and where they end."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from theory import _arrays, _checks, gaussian
from theory._naming import in_own_name
from theory.activations import Activation, normrelu, normrelu_constants
from theory.lengths.trajectories import rest_share

CRITICAL_KINK = -0.376657093117569877496291343387
"""NormReLU's scale is sqrt(2) here: above it lengths diverge from large starts.

Computed to 30 digits from ``normrelu_constants(c).scale = sqrt(2)``.
"""

LINE = -1e-100
"""From here to zero the unstable length is a straight line in the kink."""

_NODES, _WEIGHTS = gaussian.legendre(40)


def normrelu_length(gamma: Any, c: Any) -> Any:
    r"""Return NormReLU's length map in closed form (appendix I).

    .. math:: \hat\sigma_0(\gamma) = \lambda^2[(\gamma+c^2)\Phi(-c/s) - cs\varphi(c/s)
        + 2b(s\varphi(c/s) - c\Phi(-c/s)) + b^2],\quad s = \sqrt\gamma

    Parameters
    ----------
    gamma : float or array
        Squared length, positive.
    c : float or array
        The kink, in [-37, 37].

    Returns
    -------
    float or array
        To a relative 1e-13. For c < 0 the function is taken from its other side, linear
        up to a small tail, where nothing of size c^2 cancels.

    Raises
    ------
    ValueError
        If an argument is outside its range, or the length beyond float64.

    Examples
    --------
    >>> round(normrelu_length(0.5, -1.0), 12), round(normrelu_length(1.0, -1.0), 12)
    (0.583556822096, 1.0)
    """
    return _each("normrelu_length", _length, gamma, c)


def _length(gamma: float, c: float) -> float:
    s = math.sqrt(gamma)
    if c <= 0.0:
        # (x - c)_+ + b = x + (c - x)_+ - E(c - Z)_+.
        rest = gaussian.tail_moment(1, -c)
        none, one, two = (s**j * gaussian.tail_moment(j, -c / s) for j in range(3))
        square = gamma * (1.0 - 2.0 * none) + two - 2.0 * rest * one + rest * rest
        return normrelu_constants(c).scale ** 2 * square
    density, shift, energy = _tails(c)
    grown = _density_ratio(c, gamma)
    one, two = (s**j * grown * gaussian.scaled_tail_moment(j, c / s) for j in (1, 2))
    return (two - 2.0 * density * one * shift + density * shift * shift) / energy


def _tails(c: float) -> tuple[float, float, float]:
    """Return phi(c), and over it -b and 1/lambda^2, for a kink at or above 0."""
    density = float(gaussian.pdf(c))
    shift, square = (gaussian.scaled_tail_moment(j, c) for j in (1, 2))
    return density, shift, square - density * shift * shift


def _density_ratio(c: float, gamma: Any) -> Any:
    """Return phi(c / sqrt(gamma)) / phi(c), of which neither may be a float."""
    part = (gamma - 1.0) / np.maximum(gamma, 1.0) * c / np.minimum(gamma, 1.0)
    return np.exp(0.5 * c * part)


def _each(who: str, function: Any, gamma: Any, c: Any) -> Any:
    g, k = _checks.positive(who, "gamma", gamma), _checks.interval(who, "c", c, -37, 37)
    _checks.broadcast(who, gamma=g, c=k)
    g, k = np.broadcast_arrays(g, k)
    pairs = zip(g.flat, k.flat, strict=True)
    with np.errstate(over="ignore", invalid="ignore"):
        out = np.array([function(float(v), float(w)) for v, w in pairs])
    return _checks.plain(_checks.result(who, out.reshape(g.shape), "gamma", "c"))


def normrelu_length_slope(gamma: Any, c: Any) -> Any:
    r"""Return ``lambda^2 [Phi(-c/s) + b phi(c/s)/s]``, the slope of the length map.

    Parameters
    ----------
    gamma : float or array
        Squared length, positive.
    c : float or array
        The kink, in [-37, 37].

    Returns
    -------
    float or array
        To 1e-13 of the first of the two terms, which cancel where a slope changes its
        sign: of the slope itself but near there.

    Raises
    ------
    ValueError
        If an argument is outside its range, or the slope beyond float64.

    Examples
    --------
    >>> round(normrelu_length_slope(1.0, 0.0), 12)
    1.0
    """

    def slope(gamma: float, c: float) -> float:
        s = math.sqrt(gamma)
        if c > 0.0:
            density, shift, energy = _tails(c)
            upper = gaussian.scaled_tail_moment(0, c / s)
            return _density_ratio(c, gamma) * (upper - density * shift / s) / energy
        k = normrelu_constants(c)
        at = max(c / s, -1e100)  # all of the Gaussian lies above
        upper = gaussian.tail_moment(0, at)
        return k.scale**2 * (upper + k.shift * float(gaussian.pdf(at)) / s)

    return _each("normrelu_length_slope", slope, gamma, c)


def normrelu_bias(gamma: Any, c: Any) -> Any:
    r"""Return the bias function ``beta(gamma) = (E s(sqrt(gamma) Z))^2 / length``.

    .. math:: E\,\sigma_c(\sqrt\gamma Z) = \lambda \int_1^{\sqrt\gamma} \varphi(c/u)\, du

    Parameters
    ----------
    gamma : float or array
        Squared length, positive.
    c : float or array
        The kink, in [-37, 37].

    Returns
    -------
    float or array
        To a relative 1e-12, however close to one gamma is.

    Raises
    ------
    ValueError
        If an argument is outside its range, or the length beyond float64.

    Examples
    --------
    >>> normrelu_bias(1.0, -1.0), normrelu_bias(1.0 + 2.0**-40, 0.0) > 0.0
    (0.0, True)
    """

    def bias(gamma: float, c: float) -> float:
        s, square = math.sqrt(gamma), _length(gamma, c)
        if not math.isfinite(square):
            return math.inf
        if c > 0.0:
            # The mean over phi(c), which lambda is large by.
            density, _, energy = _tails(c)
            scale, one = math.sqrt(density / energy), gaussian.scaled_tail_moment
            grown = _density_ratio(c, gamma)
        else:
            scale, one, grown = normrelu_constants(c).scale, gaussian.tail_moment, 1.0
        # Near one the difference of two means cancels.
        if abs(gamma - 1.0) <= 0.02:
            half = 0.5 * (gamma - 1.0) / (s + 1.0)
            u = 1.0 + half * (1.0 + _NODES)
            at = _density_ratio(c, u * u) if c > 0.0 else gaussian.pdf(c / u)
            mean = half * float(np.sum(_WEIGHTS * at))
        else:
            mean = s * grown * one(1, abs(c) / s) - one(1, abs(c))
        return (scale * mean / math.sqrt(square)) ** 2

    return _each("normrelu_bias", bias, gamma, c)


@dataclass(frozen=True, eq=False)
class NormReLUDecay:
    r"""Constants of Theorem I.1: lengths contract at `alpha`, correlations at `rate`.

    ``|rho_L| <= rate^L |rho_0| + beta t_0 sum_{i<L} alpha^i rate^{L-1-i}`` with ``t_0`` the
    larger distance of the squared lengths from one. `start` (t_0) and `rate` are arrays
    where lengths or separation were.
    """

    alpha: float
    beta: float
    start: Any
    rate: Any

    def bound(self, rho: Any, depth: Any) -> Any:
        """Return the bound on the correlation after `depth` layers.

        Examples
        --------
        >>> NormReLUDecay(0.5, 0.1, 0.2, 0.9).bound(0.5, [0, 1, 2]).round(12).tolist()
        [0.5, 0.47, 0.433]
        """
        who = "NormReLUDecay.bound"
        r = np.abs(_checks.correlation(who, rho))
        l = _arrays.whole(who, "depth", depth, 0)
        rate = np.asarray(self.rate, dtype=np.float64)
        _checks.broadcast(who, rho=r, depth=l, rate=rate)
        high, low = np.maximum(rate, self.alpha), np.minimum(rate, self.alpha)
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = (high - low) / high
            sums = np.where(gap > 0.0, -np.expm1(l * np.log1p(-gap)) / gap, l)
        total = np.where(l > 0.0, high ** np.maximum(l - 1.0, 0.0) * sums, 0.0)
        return _checks.plain(rate**l * r + self.beta * np.asarray(self.start) * total)


@in_own_name
def normrelu_decay(
    gamma_x: Any, gamma_y: Any, delta: Any, activation: Activation
) -> NormReLUDecay:
    """Return the constants of Theorem I.1 for a NormReLU and lengths in [1/2, 3/2].

    Parameters
    ----------
    gamma_x, gamma_y : float or array
        Squared lengths, in [1/2, 3/2].
    delta : float or array
        Of the inputs' correlation, at most 1.
    activation : Activation
        A NormReLU whose length map is concave on [1/2, 3/2], as Fact 1 says: kinks below
        about -0.6.

    Raises
    ------
    ValueError
        If a squared length is outside [1/2, 3/2], the activation is no such NormReLU, or
        `delta` is at most the total bias ``S = beta_0 t_0 / (1 - alpha)``.

    Examples
    --------
    >>> from theory import activations as act
    >>> decay = normrelu_decay(0.5, 1.5, 0.5, act.normrelu())
    >>> round(decay.alpha, 9), round(decay.rate, 9)
    (0.919129305, 0.998735238)
    """
    who = "normrelu_decay"
    x = _checks.interval(who, "gamma_x", gamma_x, 0.5, 1.5)
    y = _checks.interval(who, "gamma_y", gamma_y, 0.5, 1.5)
    d = _checks.interval(who, "delta", delta, 0.0, 1.0)
    _checks.broadcast(who, gamma_x=x, gamma_y=y, delta=d)
    c = _kink(who, _checks.instance(who, "activation", activation, Activation))
    alpha = 2.0 * (1.0 - normrelu_length(0.5, c))
    beta = 2.0 * max(normrelu_bias(0.5, c), normrelu_bias(1.5, c))
    start = np.maximum(np.abs(x - 1.0), np.abs(y - 1.0))
    total = beta * start / (1.0 - alpha)
    start, total, d = np.broadcast_arrays(start, total, d)
    need = f"be greater than {float(total[d <= total].max(initial=0.0)):.6g}"
    _checks.reject(who, "delta", need, d <= total, d, "Biases add up to as much.")
    least = min(rest_share(activation, g) for g in (0.5, 1.0, 1.5))
    return NormReLUDecay(
        alpha,
        beta,
        _checks.plain(start),
        _checks.plain(1.0 - least * (d - total)),
    )


def _kink(who: str, activation: Activation) -> float:
    """Return the kink of a NormReLU whose lengths contract on [1/2, 3/2]."""
    kinks = activation.kinks
    if len(kinks) != 1 or abs(kinks[0]) > 37.0 or not _same(activation, kinks[0]):
        raise ValueError(
            f"{who}: `activation` must be a NormReLU, got {activation.name}."
            " See `theory.activations.normrelu`."
        )
    c = float(kinks[0])
    # The second derivative of the length map has this sign, and is largest, at 3/2.
    if c + normrelu_constants(c).shift * (c * c / 1.5 - 1.0) > 0.0:
        raise ValueError(
            f"{who}: `activation` must have a length map that is concave on [1/2, 3/2],"
            f" got the kink {c:.6g}. Kinks nearer to zero make lengths diverge."
        )
    return c


def _same(activation: Activation, c: float) -> bool:
    x = c + np.array([-4.0, -1.0, -0.1, 0.1, 1.0, 4.0])
    found, expected = np.asarray(activation(x)), np.asarray(normrelu(c)(x))
    size = float(np.max(np.abs(expected)))
    return bool(np.max(np.abs(found - expected)) <= 1e-12 * size)


def unstable_length(c: Any, *, excess: bool = False) -> Any:
    r"""Return the squared length above which NormReLU's lengths diverge.

    The root above one of ``length(gamma) = gamma``. In ``x = gamma - 1``

    .. math:: \frac{\hat\sigma_0(\gamma) - \gamma}{x}
        = -\lambda^2 b c\, \Phi(c) + \frac1x \int_1^\gamma (\gamma - w)
        \frac{\lambda^2 \varphi(c/\sqrt w)}{2 w^{3/2}}
        \left[c + b\left(\frac{c^2}{w} - 1\right)\right] dw

    (slope at one less one, then the remainder), where nothing cancels as c tends to 0.

    Parameters
    ----------
    c : float or array
        The kink, between `CRITICAL_KINK` and 0: below, lengths converge to one from
        every start; at 0 and above, one itself is not attracting.
    excess : bool
        Return ``gamma - 1``, which keeps its digits where gamma has lost them.

    Returns
    -------
    float or array
        To a relative 1e-12 for c >= -0.37, and so is the excess; it is about -5.013 c
        near zero.

    Raises
    ------
    ValueError
        If `c` is outside that interval.

    Examples
    --------
    >>> round(unstable_length(-0.1), 12), f"{unstable_length(-1e-9, excess=True):.9g}"
    (1.833641582223, '5.01325657e-09')
    """
    who = "unstable_length"
    k = _checks.real(who, "c", c)
    bad = ~((k > CRITICAL_KINK) & (k < 0.0))
    _checks.reject(who, "c", f"lie in ({CRITICAL_KINK:.6g}, 0)", bad, k, "")
    less = _checks.flag(who, "excess", excess)
    logs = np.array([_unstable(float(v)) for v in k.flat]).reshape(k.shape)
    return _checks.plain(np.expm1(logs) if less else np.exp(logs))


def _unstable(c: float) -> float:
    """Return log gamma of the unstable length."""
    if c > LINE:
        return _unstable(LINE) * (c / LINE)

    from scipy.optimize import brentq

    k = normrelu_constants(c)
    first = -(k.scale**2) * k.shift * c * gaussian.tail_moment(0, -c)

    def growth(log: float) -> float:
        # Panels of one in log w, in which the remainder is smooth.
        panels = max(1, math.ceil(log))
        y = ((np.arange(panels)[:, None] + 0.5 * (1.0 + _NODES)) / panels).ravel() * log
        w = np.exp(y)
        curve = c + k.shift * (c * c / w - 1.0)
        curve = 0.5 * k.scale**2 * gaussian.pdf(c / np.sqrt(w)) / w**1.5 * curve
        weights = np.tile(_WEIGHTS, panels) * 0.5 * log / panels
        # (gamma - w) / (gamma - 1), of differences that are exact at either end.
        share = np.expm1(log - y) * w / math.expm1(log)
        return first + float(np.sum(weights * share * curve * w))

    top = 1.0
    while growth(top) < 0.0:
        top *= 2.0
    tolerance = np.float64(1e-15)
    found: Any = brentq(growth, -6.0 * c / 10.0, top, xtol=1e-300, rtol=tolerance)
    return float(found)
