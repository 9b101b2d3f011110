"""Eigenvalues of polynomial kernels on the sphere, in fractions."""

from fractions import Fraction
from functools import lru_cache

import flint
import numpy as np

from theory import activations as act
from theory import spectrum
from verify.claim import grid, numeric
from verify.claims._predictors import mistake, plus
from verify.claims.deep_conditioning._sources import ours
from verify.claims.deep_conditioning.spectrum.sphere import zonal
from verify.compare import AgreesTo, Array

_ORDERS = {
    "of h_3": (3,),
    "cubic": (1, 3),
    "sparse": (0, 5, 11),
    "full": tuple(range(45)),
}
"""Powers that a kernel has; the weight of t^n is 4 / (n + 1)."""


@lru_cache(maxsize=512)
def _moment(order: int, dim: int) -> flint.fmpq:
    """E t^n of one coordinate of a uniform unit vector."""
    if order % 2 or not order:
        return flint.fmpq(1 - order % 2)
    return _moment(order - 2, dim) * flint.fmpq(order - 1, dim + order - 2)


def _measure(*, kernel: str, dim: int, degrees: list[int]) -> list[Fraction]:
    """E kappa(t) P_k(t): the Funk-Hecke formula."""
    found = (
        sum(
            (
                flint.fmpq(4, n + 1) * c * _moment(n + i, dim)
                for n in _ORDERS[kernel]
                for i, c in enumerate(zonal(k, dim).coeffs())
            ),
            start=flint.fmpq(0),
        )
        for k in degrees
    )
    return [Fraction(int(value.p), int(value.q)) for value in found]


def _series(kernel: str) -> Array:
    b = np.zeros(80)
    orders = np.array(_ORDERS[kernel])
    b[orders] = 4.0 / (orders + 1.0)
    return b


def _predict(*, kernel: str, dim: int, degrees: list[int]) -> Array:
    if kernel == "of h_3":
        return spectrum.nngp_eigenvalues(act.hermite(3), 1, degrees, dim)
    return spectrum.series_eigenvalues(_series(kernel), degrees, dim)


POLYNOMIAL = numeric(
    id="dc/D.0-spectrum-polynomial",
    items=("DefC.1",),
    title="Eigenvalues of polynomial kernels on the sphere equal exact rational numbers",
    statement=r"\lambda_k = \mathbb{E}\, \kappa(t) P_k(t), \quad"
    r" \kappa(t) = \sum_{n \le 44} b_n t^n",
    source=ours("Definition C.1; Funk-Hecke"),
    cases=(
        *grid(kernel="cubic", dim=(2, 3, 8, 1000), degrees=([1, 3],)),
        *grid(kernel="sparse", dim=(3, 10), degrees=([0, 1, 5, 9, 11],)),
        *grid(
            kernel="full",
            dim=(2, 3, 4, 9, 17, 100),
            degrees=([0, 1, 2, 3, 7, 8, 12, 20, 44],),
        ),
        # t^3, the kernel of a layer of h_3: none of its other eigenvalues is above zero.
        *grid(kernel="of h_3", dim=(2, 3, 20), degrees=([0, 1, 2, 3, 4, 7],)),
    ),
    predict=_predict,
    measure=_measure,
    # The library's promise: 1e-15 times the degree, and rounding of logarithms.
    compare=AgreesTo(relative=1e-12),
    must_refute=mistake("Eigenvalues in a space of one dimension more.", dim=plus(1)),
    uses=("dc/defC.1-spectrum",),
)


def _predict_rank(*, power: int, dim: int) -> float:
    return spectrum.effective_rank(lambda t: 7e-200 * t**power, dim)


def _measure_rank(*, power: int, dim: int) -> Fraction:
    mean = _moment(2 * power, dim)
    return Fraction(int(mean.q), int(mean.p))


RANK = numeric(
    id="dc/thm3.2-rank-powers",
    items=("Thm3.2", "DefC.1"),
    title="Effective ranks of powers of the correlation equal exact rational numbers",
    statement=r"1 / \mathbb{E}\, t^{2n} = \frac{d (d+2) \cdots (d+2n-2)}{(2n-1)!!}",
    source=ours("Theorem 3.2; moments of a uniform unit vector"),
    cases=grid(power=(1, 2, 3, 6), dim=(2, 3, 50, 1000)),
    predict=_predict_rank,
    measure=_measure_rank,
    # The library's promise.
    compare=AgreesTo(relative=1e-14),
    must_refute=mistake("A space of one dimension more.", dim=plus(1)),
    uses=("dc/D.0-spectrum-polynomial",),
)
