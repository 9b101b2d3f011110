r"""Hermite coefficients in closed form, :math:`a_k = E[s(\sqrt q Z) h_k(Z)]`.

From the generating function :math:`E[s(X) e^{tX - t^2/2}] = \sum_k a_k t^k/\sqrt{k!}`.
"""

import numpy as np
import numpy.typing as npt

from theory import _checks

Array = npt.NDArray[np.float64]

WIDEST = 1e300

FACTORS = 1400.0
"""Variance to which e^{-q/2}, and what it is multiplied by, stay within float64."""


def sine(q: float, order: int) -> Array:
    """sin: (-1)^((k-1)/2) e^{-q/2} q^{k/2} / sqrt(k!) for odd k."""
    q, order = _checked("sine", q, order)
    return _powers(q, order, -0.5) * _cycle((0, 1, 0, -1), order)


def cosine(q: float, order: int) -> Array:
    """cos: (-1)^(k/2) e^{-q/2} q^{k/2} / sqrt(k!) for even k."""
    q, order = _checked("cosine", q, order)
    return _powers(q, order, -0.5) * _cycle((1, 0, -1, 0), order)


def bump(q: float, order: int) -> Array:
    """exp(-x^2/2): (1+q)^{-1/2} (-q / (2(1+q)))^j sqrt((2j)!) / j! for k = 2j."""
    q, order = _checked("bump", q, order)
    out = np.zeros(order + 1)
    term = (1.0 + q) ** -0.5
    for k in range(0, order + 1, 2):
        out[k] = term
        # sqrt((2j+2)!/(2j)!) / (j+1) = 2 sqrt((2j+1)/(2j+2))
        term *= -q / (1.0 + q) * np.sqrt((k + 1) / (k + 2))
    return out


def error_function(q: float, order: int) -> Array:
    """erf: sqrt(4 q / pi) bump(2 q)_{k-1} / sqrt(k), the coefficients of its slope."""
    q, order = _checked("error_function", q, order)
    out = np.zeros(order + 1)
    if order:
        k = np.arange(1, order + 1)
        out[1:] = np.sqrt(4.0 * q / np.pi) * bump(2.0 * q, order - 1) / np.sqrt(k)
    return out


def gaussian_linear(q: float, order: int) -> Array:
    """GELU, x Phi(x) = x (1 + erf(x / sqrt 2)) / 2, by x h_k = sqrt(k+1) h_{k+1} + ..."""
    q, order = _checked("gaussian_linear", q, order)
    e = error_function(0.5 * q, order + 1)
    k = np.arange(order + 1)
    out = np.sqrt(k + 1.0) * e[1:]
    out[1:] += np.sqrt(k[1:]) * e[:order]
    if order:
        out[1] += 1.0
    return 0.5 * np.sqrt(q) * out


def _checked(who: str, q: float, order: int) -> tuple[float, int]:
    return _checks.number(who, "q", q, 0.0, WIDEST), _checks.integer(
        who, "order", order, 0
    )


def _powers(q: float, order: int, rate: float) -> Array:
    """e^{rate q} q^{k/2} / sqrt(k!)."""
    k = np.arange(1, order + 1)
    if q > FACTORS:
        from scipy.special import gammaln

        logs = 0.5 * (
            np.arange(order + 1) * np.log(q) - gammaln(np.arange(order + 1) + 1)
        )
        with np.errstate(over="ignore"):
            return np.exp(rate * q + logs)
    return np.exp(rate * q) * np.concatenate([[1.0], np.cumprod(np.sqrt(q / k))])


def _cycle(pattern: tuple[int, ...], order: int) -> Array:
    return np.resize(np.array(pattern, dtype=np.float64), order + 1)
