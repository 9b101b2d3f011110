"""Duals, callables, slopes next to one and lengths next to one."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import reference_laws as laws
from flint import arb, ctx
from scipy.special import erf

from hard_cases.case import Case, Judge, dual, known, relative
from theory import activations as act
from theory import lengths

GOOD = "refused or 1e-12"


def duals() -> list[Case]:
    """Duals at variances other than one."""
    return [
        Case(
            "tanh, variances 1e4: error",
            *("1e-13", "0.17"),
            lambda: act.tanh.dual(0.3, var_x=1e4, var_y=1e4),
            dual("tanh", 1e4),
        ),
        Case(
            "erf as a callable, variances 1,000: error",
            *("1e-13", "0.07"),
            lambda: act.from_function(erf).dual(0.3, var_x=1e3, var_y=1e3),
            dual("erf", 1e3),
        ),
        Case(
            "SELU, variances 1,600: error",
            *("1e-13", "OverflowError"),
            lambda: act.selu.dual(0.5, var_x=1600.0, var_y=1600.0),
            dual("selu", 1600.0, 0.5),
        ),
        Case(
            "hard tanh, variances 1e-8: error",
            *("1e-13", "12 s"),
            lambda: known("hard_tanh").dual(0.5, var_x=1e-8, var_y=1e-8),
            relative(lambda: mpmath.mpf(0.5) * mpmath.mpf(1e-8)),
        ),
        Case(
            "tanh as a callable, variances 1e4: error",
            *("1e-12", "> 40 s"),
            lambda: act.from_function(np.tanh).dual(0.3, var_x=1e4, var_y=1e4),
            dual("tanh", 1e4),
        ),
    ]


# --- callables ------------------------------------------------------------------------


def _mean(f: Callable[[Any], Any], cuts: list[float]) -> Any:
    ends = [-mpmath.inf, -6, *cuts, 6, mpmath.inf]
    return mpmath.quad(lambda x: f(x) * mpmath.npdf(x), ends)


def _moments(f: Callable[[Any], Any], cuts: list[float]) -> tuple[Any, Any]:
    """mu and E f^2, cut where the function turns."""
    with mpmath.workdps(40):
        first, line = _mean(f, cuts), _mean(lambda x: x * f(x), cuts)
        second = _mean(lambda x: f(x) ** 2, cuts)
        return 1 - line**2 / (second - first**2), second


def _bump(x: Any, exp: Callable[[Any], Any]) -> Any:
    return x + exp(-(((x - 0.7) / 0.08) ** 2) / 2)


def bent(x: Any) -> Any:
    return x + 0.1 * np.maximum(x - 0.3, 0.0)


def elu(x: Any) -> Any:
    return np.where(x > 0.0, x, np.expm1(np.minimum(x, 0.0)))


def hard_swish(x: Any) -> Any:
    return x * np.clip(x + 3.0, 0.0, 6.0) / 6.0


def _slope() -> Any:
    """D of `bent`: E s'^2 over the variance."""
    mu, second = _moments(lambda x: x + 0.1 * max(x - 0.3, 0), [0.3])
    with mpmath.workdps(40):
        above = mpmath.erfc(mpmath.mpf(0.3) / mpmath.sqrt(2)) / 2
        line = 1 + above / 10
        return (1 + mpmath.mpf("0.21") * above) / (line**2 / (1 - mu)) + 0 * second


def _bent_dual() -> Any:
    ctx.prec = 300
    c = arb(0.3)
    two = laws.pieces(([0, 1], None), ([-c / 10, arb(1) / 10], c))
    return mpmath.mpf(two.two(arb(1), arb(1), arb(0.5))[0].str(30, radius=False))


def _far() -> Any:
    with mpmath.workdps(40):
        c = mpmath.mpf(25)
        return (1 + c * c) * mpmath.erfc(c / mpmath.sqrt(2)) / 2 - c * mpmath.npdf(c)


def _power(got: float) -> float:
    """E |u|^3/2 |v|^3/2 by the hypergeometric series of absolute moments."""
    with mpmath.workdps(30):
        s = mpmath.mpf(3) / 2
        size = (2**s / mpmath.pi) * mpmath.gamma((s + 1) / 2) ** 2
        true = size * mpmath.hyp2f1(-s / 2, -s / 2, 0.5, 0.25)
        return float(abs(got - true) / mpmath.mpf(4 / mpmath.sqrt(2 * mpmath.pi)))


def _over_estimate(pair: tuple[float, float]) -> float:
    """Error of ELU's dual over the error estimate beside it."""
    return float(dual("elu", 1.0, 0.5)(pair[0])) / pair[1]


def _with_estimate() -> tuple[float, float]:
    a = act.from_function(elu)
    return a.dual(0.5), a.quadrature_error


def callables() -> list[Case]:
    """Functions given to `from_function`: made and asked once, in less than a second."""
    from_function = act.from_function
    rows: list[tuple[str, str, str, Callable[[], Any], Judge]] = [
        (
            *("x + narrow bump: error of E s^2", GOOD, "0.12"),
            lambda: from_function(lambda x: _bump(x, np.exp)).second_moment,
            relative(
                lambda: _moments(lambda x: _bump(x, mpmath.exp), [0.3, 0.7, 1.1])[1]
            ),
        ),
        (
            *("x + 0.1 (x - 0.3)_+, kink not named: error of mu", GOOD, "1.9e-05"),
            lambda: from_function(bent).mu,
            relative(lambda: _moments(lambda x: x + 0.1 * max(x - 0.3, 0), [0.3])[0]),
        ),
        (
            *("the same: error of the slope D at one", GOOD, "1e-4"),
            lambda: from_function(bent).normalized().derivative_second_moment,
            relative(_slope),
        ),
        (
            *("the same: error of the dual", GOOD, "3e-6, 20 s"),
            lambda: from_function(bent).dual(0.5),
            relative(_bent_dual),
        ),
        (
            *("ELU, kink not named: error of the dual", GOOD, "2e-7"),
            lambda: from_function(elu).dual(0.5),
            dual("elu", 1.0, 0.5),
        ),
        (
            *("the same: error over its own estimate", "refused or 1", "2,000"),
            _with_estimate,
            _over_estimate,
        ),
        (
            *("hard-swish, kinks not named: error of the dual", GOOD, "1e-7, 18 s"),
            lambda: from_function(hard_swish).dual(0.5),
            dual("hard-swish", 1.0, 0.5),
        ),
        (
            *("cube root: E s'^2", "refused or inf", "2.55"),
            lambda: from_function(np.cbrt, kinks=(0.0,)).derivative_second_moment,
            float,
        ),
        (
            *("(x - 25)_+, kink named: error of E s^2", GOOD, "1"),
            lambda: (
                from_function(
                    lambda x: np.maximum(x - 25.0, 0.0), kinks=(25.0,)
                ).second_moment
            ),
            relative(_far),
        ),
        (
            *("abs(x)^1.5, kink named: error of the dual", GOOD, "4e-8, 10.6 s"),
            lambda: from_function(lambda x: np.abs(x) ** 1.5, kinks=(0.0,)).dual(0.5),
            _power,
        ),
        (
            *("x + 1e-13 (x^2 - 1): error of mu", GOOD, "4.9e-05"),
            lambda: from_function(lambda x: x + 1e-13 * (x * x - 1.0)).mu,
            relative(lambda: 2 * mpmath.mpf(1e-13) ** 2),  # over 1 + 2e-26
        ),
    ]
    return [Case(*row) for row in rows]


# --- slopes and lengths next to one ---------------------------------------------------


def _leaky(slope: float) -> Any:
    s = mpmath.mpf(slope)
    one, mean = (1 + s) / 2, (1 - s) / mpmath.sqrt(2 * mpmath.pi)
    return 1 - one**2 / ((1 + s * s) / 2 - mean**2)


def _unstable(c: float) -> Any:
    """Root of the length map of NormReLU beside one, by secants."""
    ctx.prec = 400
    normal = laws.normalized(laws.pieces(([-arb(c), 1], c)))

    def f(x: Any) -> Any:  # (length_map(1 + x) - 1 - x) / x
        return normal.one(1 + x)[0] / x - 1 / x - 1

    start, end = arb(float(-c) * 4.0), arb(float(-c) * 6.0)
    for _ in range(60):
        low, high = f(start), f(end)
        if abs(high) < arb("1e-60") or abs(high - low) < arb("1e-90"):
            break
        start, end = end, (end - high * (end - start) / (high - low)).mid()
    return mpmath.mpf(end.str(30, radius=False))


def near_one() -> list[Case]:
    """Slopes of leaky ReLU and lengths of NormReLU that are nearly one."""
    out: list[Case] = []
    for excess, before in ((1e-12, "3e-4"), (1e-13, "4e-3"), (-1e-12, "exact")):
        out.append(
            Case(
                f"leaky ReLU, slope 1 {excess:+g}: error of mu",
                *("1e-13", before),
                lambda e=excess: act.leaky_relu(1.0 + e).mu,
                relative(lambda e=excess: _leaky(1.0 + e)),
            )
        )
    for c, before in ((-1e-5, "4.4e-05"), (-1e-7, "0.33"), (-1e-9, "66")):
        out.append(
            Case(
                f"unstable length of NormReLU less one, kink {c:g}: error",
                # The length is 1 - 5 c, and rounded to half a unit of 2e-16.
                *(f"{1.1e-16 / (-5.0 * c):.0e}, its rounding", before),
                lambda c=c: lengths.unstable_length(c) - 1.0,
                relative(lambda c=c: _unstable(c)),
            )
        )
    return out
