"""The cosine of a trained layer's output by its mean square: a ratio of moments.

The measured side takes the moments of f(x) = W0 (x - t z) + t z, t = z . x, from vectors
and the covariance of every pixel, in fractions.
"""

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt

from theory import identity_map as idm
from verify.claim import Claim, Evidence, Source, grid
from verify.compare import AgreesTo
from verify.reading import Reading

Array = npt.NDArray[np.float64]


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
        return [mpmath.mpf(v.numerator) / v.denominator / size for v in each]


def _rho(dim: int, numerator: int) -> float:
    return float(_dot(*_pair(dim, numerator)))


def _predict(*, dim: int, numerator: int, scale: float) -> list[float]:
    functions = (idm.expected_cosine_to_train, idm.expected_cosine_to_input)
    rho = _rho(dim, numerator)
    return [float(f(rho, scale=scale, dim=dim, form="ratio")) for f in functions]


def _one_pixel(*, dim: int, numerator: int, scale: float) -> list[float]:
    """The variance of one pixel in the place of all."""
    return _predict(dim=dim, numerator=numerator, scale=scale / np.sqrt(dim))


RATIO = Claim(
    id="id/thm1-cosines-ratio",
    items=("Thm1-orth", "Corr"),
    title="Cosine of a trained layer's output in mean square: a ratio of moments",
    statement=(
        r"\frac{E\langle f(x),\hat x\rangle}{\sqrt{E\|f(x)\|^2}}"
        r"=\frac{\rho}{\sqrt{\rho^2+s^2d\,(1-\rho^2)}}"
    ),
    source=Source("zhang2020identity", "After Theorem 1; ours", Reading.OURS),
    evidence=Evidence.NUMERIC,
    cases=grid(dim=(2, 5, 400), numerator=(-2, 1, 20), scale=(0.05, 1.0)),
    predict=_predict,
    measure=_measure,
    compare=AgreesTo(relative=1e-13),
    must_refute=_one_pixel,
    assumptions=("initial weights independent N(0, s²)", "unit images"),
    uses=("id/thm1-cosines",),
)
