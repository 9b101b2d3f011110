r"""How far the perturbed parameters are from the start: Theorem 1 and its lemmas.

A variable x is sub-exponential with ``(nu^2, alpha)`` if ``log E exp(lambda (x - E x)) <=
lambda^2 nu^2 / 2`` for ``|lambda| < 1 / alpha``. A squared normal is with (4, 4), weighted
sums of them are, and so ``|eps|^2 = sum sigma_i^2 z_i^2`` has an exponential tail. Source:
Lee and Cho 2023, Theorem 1 and appendix A.1, after Wainwright 2019, chapter 2.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from theory import _checks, _gamma_tails
from theory import _twofold as two
from theory.mmd import _inputs

Array = npt.NDArray[np.float64]

Form = Literal["printed", "sharp", "intermediate"]

FORMS = ("printed", "sharp", "intermediate")


@dataclass(frozen=True)
class SubExponential:
    """The two numbers that bound a variable's exponential moments.

    Attributes
    ----------
    nu_squared, alpha : float
        Positive.
    """

    nu_squared: float
    alpha: float

    def __post_init__(self) -> None:
        for name, value in (("nu_squared", self.nu_squared), ("alpha", self.alpha)):
            out = _checks.scalar("SubExponential", name, value, positive=True)
            object.__setattr__(self, name, out)
        # Its inverse bounds lambda.
        _checks.number("SubExponential", "alpha", self.alpha, 1e-300)

    def scaled(self, factor: float) -> "SubExponential":
        r"""Return those of ``factor * x``, ``(factor^2 nu^2, factor alpha)`` (Lemma 2).

        Raises
        ------
        ValueError
            If `factor` is not a positive number.

        Examples
        --------
        >>> CHI_SQUARE.scaled(0.5)
        SubExponential(nu_squared=1.0, alpha=2.0)
        """
        who = "SubExponential.scaled"
        by = _checks.scalar(who, "factor", factor, positive=True)
        parts = by * by * self.nu_squared, by * self.alpha
        bad = not (parts[0] > 0.0 and parts[1] >= 1e-300)
        need = "keep both numbers positive within float64"
        _checks.reject(who, "factor", need, bad, by, "")
        return SubExponential(*_checks.result(who, np.array(parts), "factor").tolist())

    def log_moment_bound(self, lam: Any) -> Any:
        r"""Bound ``log E exp(lambda (x - E x))`` by ``lambda^2 nu^2 / 2``.

        Raises
        ------
        ValueError
            If ``|lambda| >= 1 / alpha``, where nothing is promised.

        Examples
        --------
        >>> CHI_SQUARE.log_moment_bound(0.125)
        0.03125
        """
        who = "SubExponential.log_moment_bound"
        x = _checks.real(who, "lam", lam)
        limit = 1.0 / self.alpha
        need = f"lie in (-{limit:g}, {limit:g})"
        _checks.reject(who, "lam", need, np.abs(x) >= limit, x, "")
        with np.errstate(over="ignore"):
            out = 0.5 * self.nu_squared * x * x
        return _checks.plain(_checks.result(who, out, "lam"))

    def tail_bound(self, t: Any) -> Any:
        r"""Bound ``P(x - E x >= t)`` (Proposition 1).

        .. math:: \exp\Big(-\frac12 \min\Big\{\frac{t^2}{\nu^2}, \frac t\alpha\Big\}\Big)

        Parameters
        ----------
        t : float or array
            At least 0.

        Returns
        -------
        float or array
            In [0, 1].

        Raises
        ------
        ValueError
            If `t` is negative.

        Examples
        --------
        >>> CHI_SQUARE.tail_bound(0.0), round(CHI_SQUARE.tail_bound(8.0), 6)
        (1.0, 0.367879)
        """
        x = _checks.not_negative("SubExponential.tail_bound", "t", t)
        with np.errstate(over="ignore"):
            square = (x / math.sqrt(self.nu_squared)) ** 2
            out = np.exp(-0.5 * np.minimum(square, x / self.alpha))
        return _checks.plain(out)


CHI_SQUARE = SubExponential(4.0, 4.0)
"""Those of the square of a standard normal (Lemma 1)."""


def sub_exponential_sum(parts: Sequence[SubExponential]) -> SubExponential:
    r"""Return those of a sum of independent variables (Lemma 3).

    .. math:: \Big(\sum_i \nu_i^2,\; \max_i \alpha_i\Big)

    Raises
    ------
    ValueError
        If there are no parts.

    Examples
    --------
    >>> sub_exponential_sum([CHI_SQUARE, CHI_SQUARE.scaled(2.0)])
    SubExponential(nu_squared=20.0, alpha=8.0)
    """
    who = "sub_exponential_sum"
    what = "at least one `SubExponential`"
    found = _checks.listed(who, "parts", parts, what)
    if not found:
        raise ValueError(f"{who}: `parts` must not be empty, got none.")
    for k, part in enumerate(found):
        _checks.instance(who, f"parts[{k}]", part, SubExponential)
    total = sum(part.nu_squared for part in found)
    _checks.result(who, total, "parts")
    return SubExponential(
        math.fsum(part.nu_squared for part in found), max(part.alpha for part in found)
    )


def chi_square_log_moment(lam: Any) -> Any:
    r"""Return ``log E exp(lambda (z^2 - 1))`` of a standard normal z (eq. 24).

    .. math:: -\lambda - \frac12 \log(1 - 2\lambda)

    Parameters
    ----------
    lam : float or array
        Below 1/2.

    Returns
    -------
    float or array
        At least 0; relative error below 1e-15, near 0 too, where it is ``lambda^2``.

    Raises
    ------
    ValueError
        If an entry is not below 1/2, where the moment is infinite.

    Examples
    --------
    >>> round(chi_square_log_moment(1e-9) * 1e18, 12)
    1.000000001333
    """
    who = "chi_square_log_moment"
    x = _checks.real(who, "lam", lam)
    _checks.reject(who, "lam", "be below 1/2", x >= 0.5, x, "The moment is infinite.")
    part = np.maximum(x, -5e307)  # twice which is a float
    out = 0.5 * _gamma_tails.less_log(-2.0 * part) + (part - x)
    return _checks.plain(out)


def tail_bound(
    radius: Any, variances: Any, counts: Any = None, *, form: Form = "printed"
) -> Any:
    r"""Bound the probability that a normal perturbation is longer than r (Theorem 1).

    With ``eta = r^2 / (m alpha) - 1``, alpha the largest variance,

    .. math:: P(\|\epsilon\| \ge r) \le
        \exp\Big(-\tfrac18 \min\{\eta^2, m\eta\}\Big) \quad\text{(printed)}, \qquad
        \exp\Big(-\tfrac m8 \min\{\eta^2, \eta\}\Big) \quad\text{(sharp)}

    .. math:: \exp\Big(-\tfrac18 \min\Big\{\frac{(r^2 - \sum\sigma_i^2)^2}{\sum\sigma_i^4},
        \frac{r^2 - \sum\sigma_i^2}{\alpha}\Big\}\Big) \quad\text{(intermediate)}

    Parameters
    ----------
    radius : float or array
        r, at least 0.
    variances : float or list of floats
        sigma_i^2 > 0, one a parameter or one a group.
    counts : list of int, optional
        How many parameters each group has; one each if left out.
    form : {"printed", "sharp", "intermediate"}
        See the notes.

    Returns
    -------
    float or array
        In [0, 1]; 1 where the form says nothing, which is for ``r^2 <= m alpha``, and for
        ``r^2 <= sum sigma_i^2`` in the intermediate form.

    Raises
    ------
    ValueError
        If a variance is not positive, `radius` is negative or lengths differ.

    Notes
    -----
    Lemmas 1 to 3 and Proposition 1 give the intermediate form. ``sum sigma_i^4 <= m
    alpha^2`` and ``sum sigma_i^2 <= m alpha`` give the sharp one; the printed proof takes
    ``sum sigma_i^4 <= (sum sigma_i^2)^2`` and loses a factor m. Each is at most the one
    before in the order printed, sharp, intermediate; all are equal for m = 1. Relative
    error a few eps times one plus the logarithm's size, however near ``r^2`` is to the
    sum it is compared with.

    Examples
    --------
    A hundred equal variances, r^2 half as large again as its mean:

    >>> case = (150.0**0.5, 1.0, 100)
    >>> round(tail_bound(*case), 3), round(tail_bound(*case, form="sharp"), 4)
    (0.969, 0.0439)
    >>> round(norm_tail(150.0**0.5, 100), 6)
    0.000904
    """
    who = "tail_bound"
    _checks.choice(who, "form", form, FORMS)
    r = _checks.not_negative(who, "radius", radius)
    sigma2, n = _groups(who, variances, counts)
    alpha, m = float(sigma2.max()), float(n.sum())
    with np.errstate(over="ignore"):
        if form == "intermediate":
            excess = _excess(r, alpha, n, sigma2)
            energy = float(n @ (sigma2 / alpha) ** 2)
            exponent = np.minimum(excess * (excess / energy), excess)
        else:
            excess = _excess(r, alpha, np.array([m]), np.array([alpha]))
            eta = excess / m
            square = eta * eta * (m if form == "sharp" else 1.0)
            exponent = np.minimum(square, excess)
        out = np.exp(-0.125 * exponent)
    return _checks.plain(out)


def _excess(r: Array, alpha: float, counts: Array, variances: Array) -> Array:
    """Return ``(r^2 - sum n sigma^2) / alpha``, exact where it cancels, and at least 0."""
    part, power = np.frexp(r)
    unit, shift = math.frexp(alpha)
    # Beyond 2^1000 nothing is left of the probability, and below 2^-1000 of r.
    by = np.clip(2 * power.astype(np.int64) - shift, -1000, 1000)
    square = two.scale(two.multiply_exactly(part, part), by)
    terms = two.multiply_exactly(counts, np.ldexp(variances, -shift))
    flat = [*terms[0].tolist(), *terms[1].tolist()]
    energy = math.fsum(flat)
    rest = math.fsum([*flat, -energy])
    less = np.asarray(-energy), np.asarray(-rest)
    return np.maximum(two.add(square, less)[0], 0.0) / unit


def norm_tail(radius: Any, count: int, variance: float = 1.0) -> Any:
    r"""Return the probability itself where all variances are equal.

    .. math:: P(\|\epsilon\| \ge r) = Q\Big(\frac m2, \frac{r^2}{2\sigma^2}\Big)

    Parameters
    ----------
    radius : float or array
        r, at least 0.
    count : int
        m, at least 1.
    variance : float
        sigma^2 > 0.

    Returns
    -------
    float or array
        In [0, 1]; relative error below 1e-11 down to 1e-100 for m up to 1e6.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    Two dimensions: ``exp(-r^2 / 2)``.

    >>> round(-2.0 * np.log(norm_tail(3.0, 2)), 12)
    np.float64(9.0)
    """
    who = "norm_tail"
    r = _checks.not_negative(who, "radius", radius)
    m = _checks.integer(who, "count", count, 1)
    sigma2 = _checks.scalar(who, "variance", variance, positive=True)
    with np.errstate(over="ignore"):
        half = 0.5 * (r / math.sqrt(sigma2)) ** 2
    half = np.minimum(half, np.finfo(np.float64).max)
    out = _gamma_tails.upper(np.asarray(0.5 * m), half)
    return _checks.plain(out)


def vacuous_radius(variances: Any, counts: Any = None) -> float:
    r"""Return the radius up to which Theorem 1 says nothing, ``sqrt(m alpha)``.

    Parameters
    ----------
    variances : float or list of floats
        sigma_i^2 > 0, one a parameter or one a group.
    counts : list of int, optional
        How many parameters each group has.

    Returns
    -------
    float
        At least ``sqrt(E|eps|^2)``, with equality for equal variances alone.

    Raises
    ------
    ValueError
        As `tail_bound` does.

    Examples
    --------
    The paper's network and noise: perturbations of length 24.3 are bounded from 392.6.

    >>> from theory.mmd import noise_rule
    >>> noise = noise_rule((784, 392, 392, 392, 2))
    >>> round(vacuous_radius(noise.variances, noise.counts), 1)
    392.6
    """
    sigma2, n = _groups("vacuous_radius", variances, counts)
    return math.sqrt(float(n.sum())) * math.sqrt(float(sigma2.max()))


def _groups(who: str, variances: Any, counts: Any) -> tuple[Array, Array]:
    sigma2 = _inputs.positive_list(who, "variances", variances)
    if counts is None:
        return sigma2, np.ones_like(sigma2)
    n = np.atleast_1d(_checks.real(who, "counts", counts))
    if n.shape != sigma2.shape:
        hint = f"`variances` has shape {sigma2.shape}."
        raise _checks.misshapen(who, "counts", "have one entry a variance", n, hint)
    bad = (n < 1.0) | (n != np.floor(n)) | (n > _checks.LARGEST)
    _checks.reject(who, "counts", "be positive whole numbers", bad, n, "")
    return sigma2, n
