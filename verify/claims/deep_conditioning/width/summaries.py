"""What is said of sampled networks together, by definitions on whole numbers and halves."""

import math
import statistics
from fractions import Fraction

import numpy as np

from empirical.conditioning.chains import PairChains
from empirical.conditioning.spectra import condition_numbers
from verify.claim import grid, numeric
from verify.claims._predictors import mistake
from verify.claims.deep_conditioning._sources import ours
from verify.compare import AgreesTo, Identical

_CHAINS = ((0.5, 0.25, 0.0, 0.75), (0.5, -0.25, 1.0, 0.125), (0.25, 0.5, 0.75, 1.0))
"""Correlations of three networks at their input and behind three layers."""


def _summarised(*, chains: int) -> list[list[float]]:
    """Return means and standard errors of the columns, by the standard library."""
    columns = [*zip(*_CHAINS[:chains], strict=True)]
    means = [statistics.fmean(column) for column in columns]
    return [means, [statistics.stdev(c) / math.sqrt(chains) for c in columns]]


def _of_chains(*, chains: int) -> list[list[float]]:
    values = np.array(_CHAINS[:chains])
    norms = np.ones((*values.shape, 2))
    found = PairChains(correlations=values, squared_norms=norms)
    return [found.means.tolist(), found.standard_errors.tolist()]


CHAINS = numeric(
    id="dc/cor3.3-chains",
    uses=("dc/cor3.3-sampled",),
    title="Sampled correlations are averaged over networks, layer by layer",
    statement=r"\bar\rho_l,\qquad \sqrt{\sum_i(\rho_{il}-\bar\rho_l)^2/(n(n-1))}",
    source=ours("Corollary 3.3, at finite width"),
    cases=grid(chains=(2, 3)),
    predict=_summarised,
    measure=_of_chains,
    # Three numbers are added, and a root is taken.
    compare=AgreesTo(relative=1e-15),
    must_refute=mistake(
        "Spreads of networks, not of their means.",
        then=lambda found: [found[0], [2.0 * s for s in found[1]]],
    ),
)

_SIZES = (3, 32)


def _quotients(*, scale: float, share: Fraction = Fraction(1)) -> list[float]:
    """Divide exactly; zero of a least one below n eps times the largest: rounding."""
    found: list[float] = []
    for n in _SIZES:
        rounding = n * Fraction(2) ** -52
        for least in (rounding / 2, 2 * rounding, Fraction(1, 4)):
            kept = least * Fraction(scale) > share * rounding * Fraction(scale)
            found.append(float(1 / least) if kept else 0.0)
    return found


def _of_eigenvalues(*, scale: float) -> list[float]:
    found: list[float] = []
    for n in _SIZES:
        for least in (n * 2.0**-53, n * 2.0**-51, 0.25):
            values = np.linspace(least, 1.0, n) * scale
            quotient = float(condition_numbers(values))
            found.append(0.0 if quotient == math.inf else quotient)
    return found


SCALED = numeric(
    id="dc/cor3.3-rounding",
    items=("Cor3.3", "Cor3.5"),
    uses=("dc/cor3.3-sampled",),
    title="Whether a sampled matrix is singular to rounding depends on no unit",
    statement=r"\lambda_1\le n\,\varepsilon\,\lambda_n\ \Rightarrow\ \kappa=\infty",
    source=ours("Corollaries 3.3 and 3.5, at finite width"),
    cases=grid(scale=(2.0**-40, 1.0, 2.0**40)),
    predict=_quotients,
    measure=_of_eigenvalues,
    compare=Identical(),
    must_refute=mistake("A fourth of the rounding.", share=Fraction(1, 4)),
)
