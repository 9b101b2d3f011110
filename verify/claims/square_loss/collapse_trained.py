"""Neural collapse in trained networks (section 2.1).

Estimands and smallest effects are those of the protocol in ``docs/trained/square-loss.md``.
"""

import math
from functools import partial
from typing import Any

import numpy as np

from empirical.testbed.records import Draw, Draws
from verify.claim import Claim
from verify.claims._predictors import unmet
from verify.claims.square_loss._networks import Array
from verify.claims.square_loss._runs import (
    DECAYED,
    FITS_SLOWLY,
    FITTED,
    NOISE,
    NORMALISED,
    ON_COLOURS,
    RATES,
    Measure,
    Start,
    alone,
    between,
    effect,
    first,
    fits,
    last,
    learnt,
    looks,
    run,
    trained,
)
from verify.claims.square_loss._sources import as_read, ours
from verify.claims.square_loss.training import ENDS_OF_A
from verify.compare import Contrast

CLASSES = "classes"
ENDS_OF_B: tuple[Start, Start] = ((NORMALISED, -1), (NORMALISED, 0))


def _interpolated(draw: Draw, penalty: float) -> bool:
    return fits(draw, penalty) and draw.fact("interpolated") is not None


def _falls(series: str, *starts: Start, scale: str, data: str) -> list[Array]:
    """Log10 of a series at the first epoch without an error over that at the end."""
    each: list[Array] = []
    found = learnt(*starts, scale=scale, data=data, counts=_interpolated)
    for (family, _), draws in zip(starts, found, strict=True):
        epochs = run(family, scale, data).series("epochs")
        when = [draw.fact("interpolated") for draw in draws]
        at = np.minimum(np.searchsorted(epochs, when), len(epochs) - 1)
        values = draws.series(series)
        each.append(np.log10(values[np.arange(len(at)), at] / values[:, -1]))
    return each


def _collapse(
    series: str, starts: tuple[Start, ...], *, scale: str, data: str
) -> Contrast:
    return Contrast.alone(
        np.mean(_falls(series, *starts, scale=scale, data=data), axis=0)
    )


def _further(*, scale: str, data: str) -> Contrast:
    """That of NC1 with decay and without, from the same starts."""
    falls = _falls("nc1", *ENDS_OF_A, *ENDS_OF_B, scale=scale, data=data)
    return Contrast(np.mean(falls[:2], axis=0), np.mean(falls[2:], axis=0))


def _simplex(index: int, arm: Start) -> Measure:
    @alone(arm)
    def approach(found: Draws) -> Array:
        """Log10 of a distance of the class means from a simplex, start over end."""
        start, end = (f(found, "nc2_means")[:, index] for f in (first, last))
        return np.log10(start / end)

    return approach


@between(*ENDS_OF_B)
def _by_scale(found: Draws) -> Array:
    """Log10 of NC1 at the end, from the largest start and from the smallest."""
    return np.log10(last(found, "nc1"))


def _by_norm(*, scale: str, data: str) -> Contrast:
    """Log10 of NC1 at the end, of the extreme starts: larger and smaller final norm."""
    high, low = learnt(*ENDS_OF_A, scale=scale, data=data)
    first_is_larger = last(high, "rho") >= last(low, "rho")
    a, b = (np.log10(last(found, "nc1")) for found in (high, low))
    return Contrast(np.where(first_is_larger, a, b), np.where(first_is_larger, b, a))


def _claim(name: str, **parts: Any) -> Claim:
    parts.setdefault("source", as_read("Section 2.1"))
    return effect(id=name, **parts)


TRAINED = (
    _claim(
        "sl/nc1-trained",
        title=(
            "With two classes, features go on collapsing after the first epoch without an"
            " error"
        ),
        statement=r"NC1_{\text{no error}}\ge2\,NC1_{end}\text{ (two classes)}",
        measure=partial(_collapse, "nc1", ENDS_OF_A),
        least=math.log10(2.0),
        unit="decades",
        runs=looks(DECAYED),
        larger=ON_COLOURS,
        figure="square_loss_collapse",
        version=2,
    ),
    _claim(
        "sl/nc1-decay",
        title="With decay, features collapse further than with normalisation alone",
        statement=(
            r"\frac{NC1_{\text{no error}}}{NC1_{end}}\text{ with decay}"
            r"\ge2\times\text{without}"
        ),
        measure=_further,
        least=math.log10(2.0),
        unit="decades",
        source=ours("Section 2.1"),
        runs=looks(DECAYED, NORMALISED),
        assumptions=RATES,
        larger=ON_COLOURS,
    ),
    _claim(
        "sl/nc1-classes",
        title=(
            "With four classes, features go on collapsing after the first epoch without an"
            " error"
        ),
        statement=r"NC1_{\text{no error}}\ge2\,NC1_{end}\text{ (four classes)}",
        measure=partial(_collapse, "nc1", ((CLASSES, 0),)),
        least=math.log10(2.0),
        unit="decades",
        runs=looks(CLASSES),
        version=2,
    ),
    *(
        _claim(
            f"sl/nc2-{name}",
            title=title,
            statement=statement,
            measure=_simplex(index, (CLASSES, 0)),
            least=math.log10(2.0),
            unit="decades",
            runs=looks(CLASSES),
            withstands={**NOISE, **FITS_SLOWLY},
            version=2,
        )
        for index, name, title, statement in (
            (
                1,
                "angles",
                (
                    "During training, the angles between four class means become more equal"
                ),
                r"\operatorname{sd}\cos_{cc'}\text{ halves}",
            ),
            (
                2,
                "simplex",
                (
                    "During training, the angles between four class means approach those of"
                    " a simplex"
                ),
                r"\overline{|\cos_{cc'}+\tfrac13|}\text{ halves}",
            ),
        )
    ),
    _claim(
        "sl/nc3-trained",
        title=(
            "After the first epoch without an error, the classifier approaches the class"
            " means"
        ),
        statement=r"NC3_{\text{no error}}\ge1.5\,NC3_{end}",
        measure=partial(_collapse, "nc3", ENDS_OF_A),
        least=math.log10(1.5),
        unit="decades",
        runs=looks(DECAYED),
        larger=ON_COLOURS,
        finding=(
            "Networks that learn digits do so at either scale. With colours the distance"
            " falls by less than a third."
        ),
        version=2,
    ),
)


def _parted(found: Draws) -> Array:
    """Share of examples on which the classifier and the nearest mean part, at the end."""
    return last(found, "nc4")


NEAREST = _claim(
    "sl/nc4-trained",
    title="After training, the classifier chooses the nearest class mean",
    statement=r"NC4_{end}\le0.01",
    measure=alone(*ENDS_OF_A)(_parted),
    least=None,
    most=0.01,
    wrong=(0.1, None),
    runs=looks(DECAYED),
    larger=ON_COLOURS,
    small=False,
    finding=(
        "In most networks the two agree on every example; with digits single ones, in"
        " which they part on some, leave the mean undecided."
    ),
    version=2,
)

BY_NORM = trained(
    id="sl/nc-norm-decay",
    runs=looks(DECAYED),
    larger=ON_COLOURS,
    items=("NCscale",),
    title=(
        "With decay, features are as collapsed at the larger of two final norms as at the"
        " smaller"
    ),
    statement=(
        r"\tfrac12\le NC1_{end}(\rho_{eq})/NC1_{end}(\rho_{eq}')\le2,"
        r"\quad\rho_{eq}>\rho_{eq}'\text{ of one seed}"
    ),
    source=as_read("Section 2.1"),
    measure=_by_norm,
    unit="decades",
    **unmet((-math.log10(2.0), math.log10(2.0)), (math.log10(2.0), None)),
    finding=(
        "Where two starts of a seed end at unlike norms, as at the small scale, the larger"
        " norm is the less collapsed one. At the full scale they end near each other:"
        " with colours both are as collapsed, with digits nothing is decided."
    ),
)

FREE = _claim(
    "sl/nc-norm-free",
    items=("NCscale",),
    title="Without decay, features end less collapsed where the norm starts larger",
    statement=r"NC1_{end}(\rho_0=5)\ge2\,NC1_{end}(\rho_0=0.1)\text{ (BN alone)}",
    measure=_by_scale,
    least=math.log10(2.0),
    unit="decades",
    source=ours("Section 2.1"),
    withstands={**NOISE, **FITTED},
    runs=looks(NORMALISED),
    larger=ON_COLOURS,
)

ENTROPY: tuple[Start, ...] = (("classes-entropy", 0),)


def _with_entropy(name: str, what: str, measure: Any, **parts: Any) -> Claim:
    return effect(
        id=f"sl/nc-entropy{name}",
        items=("NCscale",),
        title=f"With cross entropy, too, {what}",
        measure=measure,
        runs=looks(ENTROPY[0][0]),
        source=as_read("Section 2.1"),
        **parts,
    )


WITH_ENTROPY = (
    _with_entropy(
        "",
        "features go on collapsing after the first epoch without an error",
        partial(_collapse, "nc1", ENTROPY),
        statement=r"NC1_{\text{no error}}\ge2\,NC1_{end}\text{ (cross entropy)}",
        least=math.log10(2.0),
        unit="decades",
        uses=("sl/nc1", "sl/nc1-classes"),
        version=2,
    ),
    _with_entropy(
        "-angles",
        "the angles between class means become more equal",
        _simplex(1, ENTROPY[0]),
        statement=r"\operatorname{sd}\cos_{cc'}\text{ halves (cross entropy)}",
        least=math.log10(2.0),
        unit="decades",
        uses=("sl/nc2", "sl/nc2-angles"),
    ),
    _with_entropy(
        "-simplex",
        "the angles between class means approach those of a simplex",
        _simplex(2, ENTROPY[0]),
        statement=r"\overline{|\cos_{cc'}+\tfrac1{C-1}|}\text{ halves (cross entropy)}",
        least=math.log10(2.0),
        unit="decades",
        uses=("sl/nc2", "sl/nc2-simplex"),
    ),
    _with_entropy(
        "-dual",
        "the classifier nears the class means after an epoch without error",
        partial(_collapse, "nc3", ENTROPY),
        statement=r"NC3_{\text{no error}}\ge1.5\,NC3_{end}\text{ (cross entropy)}",
        least=math.log10(1.5),
        unit="decades",
        uses=("sl/nc3", "sl/nc3-trained"),
    ),
    _with_entropy(
        "-nearest",
        "the classifier chooses the nearest class mean",
        alone(*ENTROPY)(_parted),
        statement=r"NC4_{end}\le0.01\text{ (cross entropy)}",
        least=None,
        most=0.01,
        wrong=(0.1, None),
        small=False,
        uses=("sl/nc4", "sl/nc4-trained"),
    ),
)
