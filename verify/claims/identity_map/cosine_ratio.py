"""Mean cosines of a trained layer's output, exactly and by its mean square.

The measured side takes the moments of f(x) = W0 (x - t z) + t z, t = z . x, from vectors
and the covariance of every pixel, in fractions; of the cosines themselves it integrates
Gaussian means of exponentials of a squared length, to 20 digits.
"""

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import torch

from theory import identity_map as idm
from verify.claim import grid, numeric
from verify.claims._predictors import always, mistake
from verify.claims.identity_map._framework import trained
from verify.claims.identity_map._sources import as_read, ours
from verify.compare import AgreesTo, AtLeast, Outcome


def _pair(dim: int, numerator: int) -> tuple[list[Fraction], list[Fraction]]:
    """Return unit vectors z and x of fractions; their product is a fraction too."""
    # (1 - t^2) / (1 + t^2) and 2 t / (1 + t^2) lie on the circle.
    t = Fraction(numerator, 7)
    c, s = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
    z = [Fraction(k == 0) for k in range(dim)]
    x = [c, *(Fraction(0) for _ in range(dim - 2)), s]
    return z, x


def _dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum((v * w for v, w in zip(a, b, strict=True)), start=Fraction(0))


def _measure(*, dim: int, numerator: int, scale: float) -> list[Any]:
    z, x = _pair(dim, numerator)
    shared = _dot(z, x)
    rest = [v - shared * w for v, w in zip(x, z, strict=True)]
    variance = Fraction(scale) ** 2 * _dot(rest, rest)  # of each pixel of W0 rest
    mean = [shared * w for w in z]
    square = sum(m * m + variance for m in mean)
    with mpmath.workdps(40):
        size = mpmath.sqrt(mpmath.mpf(square.numerator) / square.denominator)
        each = (_dot(mean, z), _dot(mean, x))
        cosines = [mpmath.mpf(v.numerator) / v.denominator / size for v in each]
        return [*cosines, size**2]


def _ratios(*, dim: int, rho: float, scale: float) -> list[float]:
    functions = (idm.expected_cosine_to_train, idm.expected_cosine_to_input)
    return [float(f(rho, scale=scale, dim=dim, form="ratio")) for f in functions]


def _predict(*, dim: int, numerator: int, scale: float) -> list[float]:
    rho = float(_dot(*_pair(dim, numerator)))
    square = float(idm.expected_squared_norm(rho, scale=scale, dim=dim))
    return [*_ratios(dim=dim, rho=rho, scale=scale), square]


RATIO = numeric(
    id="id/thm1-cosines-ratio",
    items=("Thm1-orth", "Corr"),
    title="Cosine of a trained layer's output in mean square: a ratio of moments",
    statement=(
        r"\frac{\mathbb{E}\langle f(x),\hat x\rangle}{\sqrt{\mathbb{E}\|f(x)\|^2}}"
        r"=\frac{\rho}{\sqrt{\mathbb{E}\|f(x)\|^2}},\quad"
        r"\mathbb{E}\|f(x)\|^2=\rho^2+s^2d\,(1-\rho^2);"
        r"\text{ and }\rho\text{ times this of }\langle f(x),x\rangle"
    ),
    source=ours("After Theorem 1; ours"),
    # With the image itself and one across it.
    cases=grid(dim=(2, 5, 400), numerator=(-2, 0, 1, 7, 20), scale=(0.05, 1.0)),
    predict=_predict,
    measure=_measure,
    # A root of three products, and the correlation itself, rounded.
    compare=AgreesTo(relative=1e-14),
    must_refute=mistake(
        "The variance of one pixel in the place of all.",
        scale=lambda scale, *, dim: scale / np.sqrt(dim),
    ),
    assumptions=("initial weights independent N(0, s²)", "unit images"),
    uses=("id/thm1-cosines",),
)


# --- the cosines themselves -------------------------------------------------------------


def _predict_exact(*, dim: int, rho: float, scale: float) -> list[float]:
    functions = (
        idm.expected_cosine_to_train,
        idm.expected_cosine_to_input,
        idm.expected_squared_cosine_to_train,
    )
    return [float(f(rho, scale=scale, dim=dim)) for f in functions]


def _measure_exact(*, dim: int, rho: float, scale: float) -> list[Any]:
    r"""Integrate over s and t, as |u|^-1 = 2/sqrt(pi) int e^{-s^2 |u|^2} ds has it.

    And |u|^-2 = int e^{-t |u|^2} dt, where u = k e_1 + g of independent normal numbers.
    """
    if abs(rho) == 1.0:  # no noise, and the output is the input
        return [rho, 1.0, 1.0]
    with mpmath.workdps(20):
        r, half = mpmath.mpf(rho), mpmath.mpf(dim) / 2
        k = r / (mpmath.mpf(scale) * mpmath.sqrt(1 - r * r))

        def moment(t: Any) -> Any:
            """E e^{-t |u|^2}, which is also E u_1 e^{-t |u|^2} (1 + 2 t) / k."""
            return (1 + 2 * t) ** -half * mpmath.exp(-k * k * t / (1 + 2 * t))

        def first(s: Any) -> Any:
            return 2 / mpmath.sqrt(mpmath.pi) * k * moment(s * s) / (1 + 2 * s * s)

        def second(t: Any) -> Any:
            wide = 1 + 2 * t
            return moment(t) * (1 / wide + k * k / wide**2)

        # Both end where t is like the inverse of the mean squared length.
        size = 1 / (k * k + dim)
        edges = [0, *(mpmath.mpf(8) ** n for n in range(-2, 4))]
        cosine = mpmath.quad(
            first, [e * mpmath.sqrt(size) for e in edges] + [mpmath.inf]
        )
        square = mpmath.quad(second, [e * size for e in edges] + [mpmath.inf])
        return [cosine, r * cosine, square]


def _ratio_of_moments(*, dim: int, rho: float, scale: float) -> list[float]:
    """The ratio of moments, and its square."""
    cosines = _ratios(dim=dim, rho=rho, scale=scale)
    return [*cosines, cosines[0] ** 2]


EXACT = numeric(
    id="id/thm1-cosines-exact",
    items=("Thm1-orth", "Corr"),
    title="Mean cosines of a trained layer's output, also where little of it is noise",
    statement=(
        r"\mathbb{E}\frac{k+g_1}{|k e_1+g|},\quad"
        r" \mathbb{E}\frac{(k+g_1)^2}{|k e_1+g|^2},\qquad"
        r" k=\frac{\rho}{s\sqrt{1-\rho^2}}"
    ),
    source=ours("After Theorem 1; ours"),
    cases=(
        *grid(dim=(3, 400), rho=(-0.4, 0.9), scale=0.002),
        *grid(dim=(2, 5), rho=0.4, scale=(0.05, 1.0)),
        # All of it is noise, or nothing.
        *grid(dim=(2, 7), rho=(-1.0, 0.0, 1.0), scale=0.2),
        # On both sides of where one series takes over from another.
        *grid(dim=10_000, rho=0.9, scale=(0.01035, 0.0103)),
        *grid(dim=20, rho=-0.9, scale=(0.1464, 0.1455)),
        # Little is left of either: the square is next to 1 / dim.
        *grid(dim=10_000, rho=0.4, scale=30.0),
    ),
    predict=_predict_exact,
    measure=_measure_exact,
    # Products of up to 60,000 factors, rounded to 1.1e-16 each, at random: 3e-14.
    compare=AgreesTo(relative=1e-13),
    must_refute=_ratio_of_moments,
    assumptions=RATIO.assumptions,
    uses=("id/thm1-cosines",),
)


# --- their range ------------------------------------------------------------------------


def _measure_least(*, dim: int, draws: int) -> float:
    """Least cosine of output and input of trained layers, inputs across the image."""
    rng = np.random.default_rng([28, dim])
    x, z = torch.from_numpy(np.linalg.qr(rng.standard_normal((dim, 2)))[0]).T
    weight = torch.from_numpy(rng.standard_normal((draws, dim, dim)))
    outputs = trained(weight, x, steps=30) @ z.numpy()
    return float((outputs @ z.numpy() / np.linalg.norm(outputs, axis=1)).min())


RANGE = numeric(
    id="id/corr-range",
    items=("Corr", "MSE"),
    title="The correlation of a network's output with a reference lies between 0 and 1",
    statement=r"0\le\cos(f(x),x)\le1",
    source=as_read("Appendix J"),
    cases=grid(dim=(3, 25), draws=40),
    predict=always(0.0),
    measure=_measure_least,
    compare=AtLeast(),
    must_hold=always(-1.0, "Correlations from -1 on."),
    expected=Outcome.REFUTED,
    uses=("id/thm1-cosines",),
    finding=(
        "On images orthogonal to the training image one layer's output is noise, which"
        " half of all starts turn away from the input. The plots may well have that range;"
        " what they show has not, so that a mean near zero can hide both signs."
    ),
)
