"""Degenerate softmax: Theorem 2, the loss L_sd and its floor."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import flint
import mpmath
import numpy as np
import torch

from theory import mmd
from verify.claim import certified, grid, numeric
from verify.claims._certified import common
from verify.claims._descent import step
from verify.claims._predictors import always, mistake
from verify.claims.mmd_init._samples import Array, generator, vertex_distances
from verify.claims.mmd_init._sources import ours, quoted
from verify.compare import AgreesTo, CertifiedAtLeast, Enclosed, Enclosure, Outcome
from verify.enclose import BITS, Cover, above, below, minimum, partial

_CLASSES = (2, 3, 4, 10)


# --- Lemma 4 and Theorem 2 ------------------------------------------------------------


def _measure_norm(*, classes: int) -> Enclosure:
    # With one entry s, the others add at least (1 - s)^2/(d - 1): Cauchy-Schwarz.
    def square(s: Any) -> Any:
        return s * s + (1 - s) ** 2 / (classes - 1)

    slope = partial(square, 0)
    cover = minimum(square, ((0.0, 1.0),), gradient=(slope,), tolerance=1e-15)
    return cover.enclosure("every point of the simplex")


def _one_less(*, classes: int) -> float:
    """The simplex's dimension d - 1 in the place of d."""
    return 1.0 / (classes - 1.0)


LEM_4 = certified(
    id="mmd/lem4",
    title="The least squared norm on the simplex is 1/d, at its centre",
    statement=r"\min_{a\in\Delta^{d-1}}\|a\|^2=1/d",
    source=quoted("Lemma 4"),
    cases=grid(classes=_CLASSES),
    predict=mmd.least_square_norm,
    measure=_measure_norm,
    compare=Enclosed(radius=1e-14, rounding=4e-16),
    must_refute=_one_less,
    version=2,
)


def _measure_reach(*, classes: int, form: str) -> Enclosure:
    """Enclose the least distance of points outside from the vertex, s their entry."""
    words = "every point of the simplex outside"
    if form == "sharp":
        # Some other entry is at least s: (1 - s)^2 + s^2, least at a tie.
        cover = minimum(
            lambda s: (1 - s) ** 2 + s * s,
            ((0.0, 1.0),),
            gradient=(lambda s: 4 * s - 2,),
            tolerance=1e-17,
        )
        return _root(cover, words)
    # s <= 1/2, and the others add at least (1 - s)^2/(d - 1).
    with flint.ctx.workprec(BITS):
        share = flint.arb(classes) / (classes - 1)
    cover = minimum(
        lambda s: share * (1 - s) ** 2,
        ((0.0, 0.5),),
        gradient=(lambda s: 2 * share * (s - 1),),
        tolerance=1e-17,
    )
    return _root(cover, words)


def _root(cover: Cover, covers: str) -> Enclosure:
    ends = (flint.arb(v).nonnegative_part().sqrt() for v in (cover.lower, cover.upper))
    low, high = ends
    return Enclosure(below(low), above(high), covers, len(cover.leaves))


def _predict_reach(*, classes: int, form: Any) -> float:
    # Attained: less the last digit.
    return mmd.coverage_radius(classes, form=form) * (1.0 - 4e-16)


def _to_the_centroid(*, classes: int, form: str) -> float:
    """The distance of the centroid, which is farther than some ties."""
    return math.sqrt((classes - 1) / classes)


def _measure_outside(*, classes: int, form: str) -> Enclosure:
    return _measure_reach(classes=classes, form="sharp")


def _predict_outside(*, classes: int, form: Any) -> float:
    # 1 - slope E|v - f|: by Markov, where nothing outside is nearer than 1/slope.
    slopes = [
        (1.0 - mmd.coverage_bound(x, classes, form=form)) / x for x in (0.125, 0.5, 1.0)
    ]
    return (1.0 - 4e-15) / common(slopes, relative=1e-15)


_near = functools.partial(
    certified,
    predict=_predict_outside,
    measure=_measure_outside,
    compare=CertifiedAtLeast(),
    must_refute=always(1.0, "1 - E|v - f|, without the root."),
    assumptions=("Markov's inequality, for every law of the predictions",),
)

THM_2 = _near(
    id="mmd/thm2",
    title="Predictions that are near a vertex on average are often of its class",
    statement=(
        r"P(f\in A_i)\ge1-\sqrt d\,\mathbb{E}\|v^{(i)}-f\|:\quad"
        r" a\notin A_i\Rightarrow\|v^{(i)}-a\|\ge1/\sqrt d"
    ),
    source=quoted("Theorem 2"),
    cases=grid(classes=_CLASSES, form="printed"),
    version=3,
    uses=("mmd/lem4", "mmd/thm2-radius"),
    finding=(
        "Two vertices are sqrt(2) apart, so the mean distances from any two add up to"
        " at least that. Hence the bound, and the sharper one, is positive for at most"
        " one class, and never shows that a model uses two."
    ),
)

THM_2_SHARP = _near(
    id="mmd/thm2-sharp",
    title="Theorem 2 with the root of two, whatever the number of classes",
    statement=(
        r"P(f\in A_i)\ge1-\sqrt2\,\mathbb{E}\|v^{(i)}-f\|:\quad"
        r" a\notin A_i\Rightarrow\|v^{(i)}-a\|\ge1/\sqrt2"
    ),
    source=ours("Theorem 2; the sharper form is ours"),
    cases=grid(classes=_CLASSES, form="sharp"),
    uses=("mmd/thm2",),
)


REACH = certified(
    id="mmd/thm2-radius",
    title=(
        "Within 1/sqrt(d) of a vertex over half of the mass is there; within 1/sqrt(2),"
        " the most"
    ),
    statement=(
        r"\|v^{(i)}-a\|<1/\sqrt d\;\Rightarrow\;a_i>\tfrac12;\qquad"
        r"\|v^{(i)}-a\|<1/\sqrt2\;\Rightarrow\;a\in A_i"
    ),
    source=ours("Proof of Theorem 2; the larger radius is ours"),
    cases=grid(classes=_CLASSES, form=("printed", "sharp")),
    predict=_predict_reach,
    measure=_measure_reach,
    compare=CertifiedAtLeast(),
    must_refute=_to_the_centroid,
    version=2,
    finding=(
        "The printed radius 1/sqrt(d) is loose from three classes on: there half of the"
        " mass is reached at 0.612, not at 0.577."
    ),
)


_DISTANCES = (0.125, 0.5, 1.25)


def _predict_values(*, classes: int, form: Any) -> list[float]:
    """The radius, and the bound at some mean distances."""
    bounds = (mmd.coverage_bound(x, classes, form=form) for x in _DISTANCES)
    return [mmd.coverage_radius(classes, form=form), *bounds]


def _measure_values(*, classes: int, form: str) -> list[Any]:
    """Markov's inequality on the radius.

    The printed one is the norm of the centroid: 2 a_i > 1 + |a|^2 - r^2 is at least one
    for every a just while r^2 is at most the least |a|^2. The sharp one is half of the
    distance of two vertices.
    """
    with mpmath.workdps(30):
        centroid = mpmath.matrix([mpmath.mpf(1) / classes] * classes)
        edge = mpmath.matrix([1, -1, *[0] * (classes - 2)])
        radius = mpmath.norm(centroid) if form == "printed" else mpmath.norm(edge) / 2
        return [radius, *(1 - x / radius for x in _DISTANCES)]


def _root_lost(*, classes: int, form: Any) -> list[float]:
    """The radius squared, as if no root had been taken."""
    radius = mmd.coverage_radius(classes, form=form) ** 2
    return [radius, *(1.0 - x / radius for x in _DISTANCES)]


VALUES = numeric(
    id="mmd/thm2-values",
    title="Values of Theorem 2's radius and bound, as printed and sharp",
    statement=(
        r"\tfrac1{\sqrt d},\;1-\sqrt d\,\mathbb{E}\|v^{(i)}-f\|;\qquad"
        r"\tfrac1{\sqrt2},\;1-\sqrt2\,\mathbb{E}\|v^{(i)}-f\|"
    ),
    source=ours("Theorem 2; the second form is ours"),
    cases=grid(classes=_CLASSES, form=("printed", "sharp")),
    predict=_predict_values,
    measure=_measure_values,
    # Numbers of size 3 at most, of three rounded operations.
    compare=AgreesTo(absolute=2e-15),
    must_refute=_root_lost,
    uses=("mmd/thm2", "mmd/thm2-radius"),
    finding=(
        "For two classes the forms are the same. A bound with d in the place of its root"
        " is true as well, only weaker: it takes values to tell them apart."
    ),
)


# --- the loss -------------------------------------------------------------------------


def _models(classes: int, seed: int, sizes: Sequence[int] = (7, 8)) -> Array:
    """Perturbed models on some inputs, more or less certain, the second constant."""
    rng = np.random.default_rng([80, seed, classes])
    certain = np.geomspace(0.1, 9.0, sizes[0])[::-1, None, None]
    logits = rng.standard_normal((*sizes, classes)) * certain
    logits[1:2] = 0.0
    out = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return out / out.sum(axis=-1, keepdims=True)


def _loss(f: Any) -> Any:
    least = f.shape[-1] ** -0.5
    worst = vertex_distances(f).max(dim=-1).values
    return (torch.clamp(worst, min=least) - least).mean()


def _measure_loss(*, classes: int, seed: int, sizes: Sequence[int] = (7, 8)) -> float:
    return float(_loss(torch.from_numpy(_models(classes, seed, sizes))))


def _predict_loss(*, classes: int, seed: int, sizes: Sequence[int]) -> float:
    return mmd.degeneracy_loss(_models(classes, seed, sizes))


def _all_at_once(*, classes: int, seed: int, sizes: Sequence[int]) -> float:
    """The mean over perturbations before the largest distance is taken."""
    f = _models(classes, seed, sizes)
    return mmd.degeneracy_loss(f.reshape(1, -1, classes))


EQ_14 = numeric(
    id="mmd/eq14",
    title="The degeneracy loss, which penalises degenerate softmax outputs",
    statement=(
        r"L_{sd}=E_\epsilon\bigl[\max\{\max_iE_x\|v^{(i)}-f\|,\,d^{-1/2}\}-d^{-1/2}\bigr]"
    ),
    source=quoted("Equation 14"),
    cases=grid(classes=_CLASSES, seed=(0, 1), sizes=([7, 8], [3, 1], [1, 5])),
    predict=_predict_loss,
    measure=_measure_loss,
    compare=AgreesTo(absolute=2e-15),
    must_refute=_all_at_once,
)


def _predict_segment(*, seed: int) -> float:
    return mmd.segment_degeneracy_loss(_models(2, seed)[..., 0])


def _without_the_root(*, seed: int) -> float:
    """The distance without the root of two."""
    return float(np.mean(np.abs(_models(2, seed)[..., 0].mean(axis=1) - 0.5)))


SEGMENT = numeric(
    id="mmd/eq14-segment",
    items=("Eq14", "SdFloor"),
    title=(
        "For two classes, the degeneracy loss is the distance of the mean output from 1/2"
    ),
    statement=r"L_{sd}=\sqrt2\,E_\epsilon\bigl|E_xp-\tfrac12\bigr|",
    source=ours("Equation 14; the identity is ours"),
    cases=grid(seed=(0, 1, 2)),
    predict=_predict_segment,
    measure=functools.partial(_measure_loss, classes=2),
    compare=AgreesTo(absolute=2e-15),
    must_refute=_without_the_root,
    uses=("mmd/eq14",),
    finding=(
        "Every model with mean prediction 1/2 attains the minimum, the constant one"
        " included: for two classes the loss asks for balance, not for certainty."
    ),
)


def _measure_any(*, classes: int) -> Enclosure:
    # The mean distance from a vertex is at least that of the mean (Jensen), whose least
    # entry is s <= 1/d: its vertex is at (1 - s) sqrt(d/(d - 1)) or farther.
    with flint.ctx.workprec(BITS):
        share = (flint.arb(classes) / (classes - 1)).sqrt()
        least = 1 / flint.arb(classes).sqrt()

    def loss(u: Any) -> Any:
        return (1 - u / classes) * share - least

    cover = minimum(loss, ((0.0, 1.0),), gradient=(partial(loss, 0),), tolerance=1e-15)
    return cover.enclosure("every predictor, by its mean output")


def _predict_floor(*, classes: int) -> float:
    # Attained: less the rounding of numbers below one.
    return mmd.degeneracy_floor(classes) - 4e-16


def _centroid_misplaced(*, classes: int) -> float:
    """The centroid's distance from a vertex with d in the place of d - 1."""
    return 1.0 - classes**-0.5


FLOOR = certified(
    id="mmd/sdfloor",
    items=("SdFloor", "Eq14"),
    title=(
        "No predictor brings the degeneracy loss below a floor, positive from"
        " three classes on"
    ),
    statement=r"L_{sd}\ge\frac{\sqrt{d-1}-1}{\sqrt d}",
    source=ours("Equation 14; the floor is ours"),
    cases=grid(classes=_CLASSES),
    predict=_predict_floor,
    measure=_measure_any,
    compare=CertifiedAtLeast(),
    must_refute=_centroid_misplaced,
    version=2,
    uses=("mmd/eq14",),
    finding=(
        "E|v - f| >= |v - E f| for every vertex, and some vertex has distance sqrt((d"
        " - 1) / d) or more from the mean: the condition behind the loss, E|v - f| <"
        " 1 / sqrt(d) for all classes, is never met."
    ),
    figure="mmd_degeneracy_floor",
)


def _predict_extremes(*, classes: int) -> list[float]:
    """The constant centroid, the balanced classifier, and the latter's own loss."""
    return [mmd.degeneracy_floor(classes), mmd.degeneracy_loss([np.eye(classes)])]


def _measure_extremes(*, classes: int) -> list[Any]:
    with mpmath.workdps(30):
        d = mpmath.mpf(classes)
        centre = mpmath.sqrt((1 - 1 / d) ** 2 + (d - 1) / d**2)
        sure = mpmath.sqrt(2) * (d - 1) / d
        return [centre - 1 / mpmath.sqrt(d), sure - 1 / mpmath.sqrt(d)]


EXTREMES = numeric(
    id="mmd/sdfloor-values",
    title=(
        "From three classes on, the degeneracy loss prefers a constant predictor to a"
        " certain one"
    ),
    statement=(
        r"\text{centroid: }\frac{\sqrt{d-1}-1}{\sqrt d};\qquad"
        r"\text{certain and balanced: }\frac{\sqrt2(d-1)}d-\frac1{\sqrt d}"
    ),
    source=ours("Equation 14; the values are ours"),
    cases=grid(classes=_CLASSES),
    predict=_predict_extremes,
    measure=_measure_extremes,
    # Numbers below one, of three rounded operations.
    compare=AgreesTo(absolute=4e-16),
    must_refute=mistake("The two values exchanged.", then=lambda both: both[::-1]),
    uses=("mmd/sdfloor",),
    finding="At d = 3: 0.23915 for the constant, 0.36546 for the classifier.",
)


def _measure_least(*, classes: int, seed: int) -> float:
    """Descend from random logits on six inputs; return the least loss met."""
    g = generator(81, classes, seed)
    logits = torch.randn(1, 6, classes, generator=g, dtype=torch.float64)
    logits.requires_grad_()
    adam = torch.optim.Adam([logits], lr=0.1)
    schedule = torch.optim.lr_scheduler.ExponentialLR(adam, 0.98)
    least = math.inf
    for _ in range(300):
        least = min(least, step(adam, _loss(torch.softmax(logits, dim=-1))))
        schedule.step()
    return least


def _predict_least(*, classes: int, seed: int) -> float:
    """The floor, which is positive from three classes on."""
    return mmd.degeneracy_floor(classes)


ERR_1 = numeric(
    id="mmd/err1",
    items=("Err1", "SdFloor"),
    title="The degeneracy loss can be brought to zero, whatever the number of classes",
    statement=r"\min L_{sd}=0",
    source=ours("After Equation 14; the zero is ours"),
    cases=grid(classes=(2, 3, 4), seed=0),
    predict=always(0.0),
    measure=_measure_least,
    # The largest of d distances is not smooth: the last steps are 2e-4 long.
    compare=AgreesTo(absolute=2e-3),
    must_hold=_predict_least,
    expected=Outcome.REFUTED,
    uses=("mmd/sdfloor",),
    finding=(
        "The paper speaks of minimising the loss, not of zero, and its experiments have"
        " d = 2, where zero is met. From three classes on, the only minimiser is the"
        " constant predictor at the centre of the simplex, which prefers no class for"
        " any input; the loss is to have each class preferred for some."
    ),
)
