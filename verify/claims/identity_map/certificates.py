"""Chi-square tails behind Theorem 2, at every level."""

import math
from typing import Any

import flint

from theory import identity_map as idm
from verify.claim import certified, grid
from verify.claims._certified import agree, common, points
from verify.claims._predictors import mistake, times
from verify.claims.identity_map._sources import ours
from verify.compare import CertifiedAtMost, Enclosure
from verify.enclose import maximum

_BALLS = "Ball arithmetic (Arb), 160 bits"


def _tail(zeta: Any, half: Any) -> Any:
    return (half * zeta).gamma_upper(half, regularized=True)


def _chernoff(zeta: Any, half: Any) -> Any:
    return (-half * (zeta - 1 - zeta.log())).exp()


def _measure_ratio(*, dof: int, most: float) -> Enclosure:
    half = flint.arb(dof) / 2

    def share(zeta: Any) -> Any:
        """Tail and bound fall: the quotient's ends on a box from those of both."""
        low, high = zeta.lower(), zeta.upper()
        least = _tail(high, half) / _chernoff(low, half)
        return least.union(_tail(low, half) / _chernoff(high, half))

    cover = maximum(share, ((1.0, most),), tolerance=1e-3)
    return cover.enclosure(f"every zeta in [1, {most:g}]")


def _predict_ratio(*, dof: int, most: float) -> float:
    agree(
        lambda z: idm.chi_square_tail_bound(z, dof),
        lambda z: _chernoff(z, flint.arb(dof) / 2),
        points((1.0, most)),
    )
    agree(
        lambda z: idm.chi_square_tail(z, dof),
        lambda z: _tail(z, flint.arb(dof) / 2),
        points((1.0, most)),
    )
    # At zeta = 1 the bound is one, and the tail of the mean below its median's.
    return 0.5 * float(idm.chi_square_tail_bound(1.0, dof))


def _wrong_ratio(*, dof: int, most: float) -> float:
    """The tail at one degree of freedom, for all."""
    return float(idm.chi_square_tail(1.0, 1))


def _measure_printed() -> Enclosure:
    def share(x: Any) -> Any:
        return x * (-x).exp()

    # It falls from one on, where it is largest.
    cover = maximum(
        share,
        ((0.0, 2.0),),
        gradient=(lambda x: (1 - x) * (-x).exp(),),
        tolerance=1e-15,
    )
    return cover.enclosure("every nullity, channels and M > 1")


def _predict_printed() -> float:
    found: list[float] = []
    for m, share in points((1.5, 12.0), (0.0, 1.0)):
        n, channels = 1 + int(99 * share), 1 + int(7 * share)
        exact, printed = (
            idm.least_failure_probability(n, channels, m, form=form)
            for form in ("sharp", "printed")
        )
        x = 0.5 * channels * (m - 1.0 - math.log(m))
        found += [exact / (n * math.exp(-x)), n / x / printed]
    # Both are as in the statement: the quotient is x e^{-x} at most.
    return common(found, relative=1e-11) * math.exp(-1.0) * (1.0 + 2e-11)


CLAIMS = (
    certified(
        id="id/eq10-certified",
        items=("Eq10", "Chi2"),
        title="The chi-square tail is at most half of Chernoff's bound (certified)",
        statement=r"\frac{P(\chi^2_C \ge \zeta C)}"
        r"{\exp(-\frac C2 (\zeta - 1 - \log\zeta))} \le \tfrac12,"
        r" \quad 1 \le \zeta \le \zeta_{\max}",
        source=ours("Before equation 10; half of its bound is ours"),
        cases=grid(dof=(1, 2, 3, 16, 128), most=40.0),
        larger_cases={
            "certify": (
                *grid(dof=range(1, 129), most=40.0),
                *grid(dof=(1, 2, 3), most=400.0),
                {"dof": 1024, "most": 5.0},
            )
        },
        predict=_predict_ratio,
        measure=_measure_ratio,
        compare=CertifiedAtMost(),
        must_refute=_wrong_ratio,
        assumptions=(_BALLS, "the numbers of channels C of the cases"),
        uses=("id/eq10",),
        finding="Nearly attained at zeta = 1 for many channels: 0.483 at C = 128.",
    ),
    certified(
        id="id/Err4-bound",
        title="Theorem 2's printed failure probability is at least e times too large",
        statement=r"n\, e^{-x} \le \frac1e \cdot \frac nx, \quad"
        r" x = \tfrac C2 (M - 1 - \log M) > 0",
        source=ours("After equation 11; ours"),
        cases=({},),
        predict=_predict_printed,
        measure=_measure_printed,
        compare=CertifiedAtMost(),
        must_refute=mistake("1/C in the place of 2/C.", then=times(0.5)),
        assumptions=(_BALLS,),
        uses=("id/Err4-exact",),
        finding=(
            "The printed value is valid, since it is the larger one, but sometimes above"
            " one and then vacuous."
        ),
    ),
)
