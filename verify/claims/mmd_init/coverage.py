"""Degenerate softmax: Theorem 2, the loss L_sd and its floor."""

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import torch
from hypothesis import strategies as st

from theory import mmd
from verify.claim import Case, Claim, Evidence, Source, grid
from verify.claims.mmd_init._samples import Array, generator, vertex_distances
from verify.compare import AgreesTo, AtLeast, Outcome
from verify.reading import Reading

KEY = "lee2023unsupervised"

_CLASSES = (2, 3, 4, 10)


def _outputs(classes: int, kind: str, spread: float, seed: int) -> Array:
    """Forty predictions: softmax of normal logits, corners, edges or the centroid."""
    if kind == "centroid":
        return np.full((40, classes), 1.0 / classes)
    if kind == "corners":
        return np.eye(classes)[np.arange(40) % classes]
    rng = np.random.default_rng([77, seed, classes])
    if kind == "edges":
        # Just on the wrong side of a tie, sqrt(1/2) from the first vertex.
        out = np.zeros((40, classes))
        out[:, 0], out[:, 1] = 0.5 - 1e-9, 0.5 + 1e-9
        return out
    logits = spread * rng.standard_normal((40, classes))
    out = np.exp(logits - logits.max(axis=1, keepdims=True))
    return out / out.sum(axis=1, keepdims=True)


def _any_outputs() -> st.SearchStrategy[Case]:
    return st.fixed_dictionaries(
        {
            "classes": st.sampled_from((2, 3, 4, 10)),
            "kind": st.just("softmax"),
            "spread": st.floats(0.0, 40.0),
            "seed": st.integers(0, 10_000),
        }
    )


# --- Lemma 4 and Theorem 2 ------------------------------------------------------------


def _measure_norm(*, classes: int, seed: int) -> float:
    """The least of 2,000 squared norms, of the centroid and near it, in fractions."""
    rng = np.random.default_rng([78, seed])
    u = rng.standard_exponential((2000, classes))
    u = u / u.sum(axis=1, keepdims=True)
    found = [float(np.sum(u**2, axis=1).min())]
    centre = [Fraction(1, classes)] * classes
    for shift in (Fraction(0), Fraction(1, 10**6)):
        moved = [centre[0] + shift, centre[1] - shift, *centre[2:]]
        found.append(float(sum(v * v for v in moved)))
    return min(found)


def _predict_norm(*, classes: int, seed: int) -> float:
    return mmd.least_square_norm(classes)


def _a_vertex(*, classes: int, seed: int) -> float:
    return 1.0


LEM_4 = Claim(
    id="mmd/lem4",
    items=("Lem4",),
    title="The least squared norm on the simplex is 1 / d, at the centroid",
    statement=r"\min_{a\in\Delta^{d-1}}\|a\|^2=1/d",
    source=Source(KEY, "Lemma 4"),
    evidence=Evidence.NUMERIC,
    cases=grid(classes=_CLASSES, seed=(0,)),
    predict=_predict_norm,
    measure=_measure_norm,
    # Attained, to the last digit.
    compare=AgreesTo(relative=4e-16),
    must_refute=_a_vertex,
)


def _measure_shares(*, classes: int, kind: str, spread: float, seed: int) -> Array:
    """Share of the predictions in each class, ties counted for all; once a form."""
    f = _outputs(classes, kind, spread, seed)
    shares = np.mean(f >= f.max(axis=1, keepdims=True), axis=0)
    return np.concatenate([shares, shares])


def _distances(classes: int, kind: str, spread: float, seed: int) -> Array:
    f = torch.from_numpy(_outputs(classes, kind, spread, seed))
    return vertex_distances(f).numpy()


def _predict_shares(*, classes: int, kind: str, spread: float, seed: int) -> Array:
    means = _distances(classes, kind, spread, seed)
    printed = mmd.coverage_bound(means, classes)
    return np.concatenate([printed, mmd.coverage_bound(means, classes, form="sharp")])


def _unit_radius(*, classes: int, kind: str, spread: float, seed: int) -> Array:
    means = _distances(classes, kind, spread, seed)
    return np.concatenate([1.0 - means, 1.0 - means])


THM_2 = Claim(
    id="mmd/thm2",
    items=("Thm2",),
    title="Predictions near a vertex on average are often of its class",
    statement=(
        r"P(f\in A_i)\ge1-\sqrt d\,E\|v^{(i)}-f\|;\qquad"
        r"\ge1-\sqrt2\,E\|v^{(i)}-f\|\text{ for every }d"
    ),
    source=Source(KEY, "Theorem 2; the second form is ours", Reading.OURS),
    evidence=Evidence.SEARCH,
    cases=grid(
        classes=_CLASSES,
        kind=("softmax", "corners", "edges", "centroid"),
        spread=(3.0,),
        seed=(0,),
    ),
    examples=_any_outputs,
    max_examples=150,
    predict=_predict_shares,
    measure=_measure_shares,
    compare=AtLeast(rounding=1e-12),
    must_refute=_unit_radius,
    uses=("mmd/lem4",),
    finding=(
        "Two vertices are sqrt(2) apart, so that the mean distances from any two add up to"
        " at least that: either bound is positive for one class at most, and never shows"
        " that a model uses two."
    ),
)


def _measure_reach(*, classes: int, seed: int) -> list[float]:
    """The least distance of points outside A_1 from its vertex, searched and attained."""
    rng = np.random.default_rng([79, seed])
    u = rng.standard_exponential((20_000, classes))
    u = u / u.sum(axis=1, keepdims=True)
    # The nearest ones tie, and have nothing beside the tie.
    ties = np.zeros((classes - 1, classes))
    ties[:, 0] = 0.5
    ties[np.arange(classes - 1), np.arange(1, classes)] = 0.5
    points = np.concatenate([u, ties, 0.99 * ties + 0.01 * u[: classes - 1]])
    outside = points[points[:, 0] <= points[:, 1:].max(axis=1)]
    least = min(math.dist(row, np.eye(classes)[0]) for row in outside)
    return [least, least]


def _predict_reach(*, classes: int, seed: int) -> list[float]:
    return [
        mmd.coverage_radius(classes),
        mmd.coverage_radius(classes, form="sharp"),
    ]


def _to_the_centroid(*, classes: int, seed: int) -> list[float]:
    """Take the distance of the centroid, which is farther than some ties."""
    return [math.sqrt((classes - 1) / classes)] * 2


REACH = Claim(
    id="mmd/thm2-radius",
    items=("Thm2",),
    title="Within the root of a half of a vertex every point is of its class",
    statement=(
        r"\|v^{(i)}-a\|<1/\sqrt d\;\Rightarrow\;a_i>\tfrac12;\qquad"
        r"\|v^{(i)}-a\|<1/\sqrt2\;\Rightarrow\;a\in A_i"
    ),
    source=Source(KEY, "Proof of Theorem 2; the larger radius is ours", Reading.OURS),
    evidence=Evidence.NUMERIC,
    cases=grid(classes=_CLASSES, seed=(0,)),
    predict=_predict_reach,
    measure=_measure_reach,
    compare=AtLeast(relative=4e-16),
    must_refute=_to_the_centroid,
)


# --- the loss -------------------------------------------------------------------------


def _models(classes: int, seed: int) -> Array:
    """Seven perturbed models on eight inputs, more or less certain, one constant."""
    rng = np.random.default_rng([80, seed, classes])
    logits = (
        rng.standard_normal((7, 8, classes)) * np.geomspace(0.1, 9.0, 7)[:, None, None]
    )
    logits[1] = 0.0
    out = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return out / out.sum(axis=-1, keepdims=True)


def _loss(f: Any) -> Any:
    least = f.shape[-1] ** -0.5
    worst = vertex_distances(f).max(dim=-1).values
    return (torch.clamp(worst, min=least) - least).mean()


def _measure_loss(*, classes: int, seed: int) -> float:
    return float(_loss(torch.from_numpy(_models(classes, seed))))


def _predict_loss(*, classes: int, seed: int) -> float:
    return mmd.degeneracy_loss(_models(classes, seed))


def _all_at_once(*, classes: int, seed: int) -> float:
    """Average over perturbations before the largest distance is taken."""
    f = _models(classes, seed)
    return mmd.degeneracy_loss(f.reshape(1, -1, classes))


EQ_14 = Claim(
    id="mmd/eq14",
    items=("Eq14",),
    title="The loss against degenerate softmax",
    statement=(
        r"L_{sd}=E_\epsilon\bigl[\max\{\max_iE_x\|v^{(i)}-f\|,\,d^{-1/2}\}-d^{-1/2}\bigr]"
    ),
    source=Source(KEY, "Equation 14"),
    evidence=Evidence.NUMERIC,
    cases=grid(classes=_CLASSES, seed=(0, 1)),
    predict=_predict_loss,
    measure=_measure_loss,
    compare=AgreesTo(absolute=2e-15),
    must_refute=_all_at_once,
)


def _predict_segment(*, seed: int) -> float:
    return mmd.segment_degeneracy_loss(_models(2, seed)[..., 0])


def _measure_segment(*, seed: int) -> float:
    return _measure_loss(classes=2, seed=seed)


def _without_the_root(*, seed: int) -> float:
    return float(np.mean(np.abs(_models(2, seed)[..., 0].mean(axis=1) - 0.5)))


SEGMENT = Claim(
    id="mmd/eq14-segment",
    items=("Eq14", "SdFloor"),
    title="For two classes the loss is the distance of the mean output from one half",
    statement=r"L_{sd}=\sqrt2\,E_\epsilon\bigl|E_xp-\tfrac12\bigr|",
    source=Source(KEY, "Equation 14; the identity is ours", Reading.OURS),
    evidence=Evidence.NUMERIC,
    cases=grid(seed=(0, 1, 2)),
    predict=_predict_segment,
    measure=_measure_segment,
    compare=AgreesTo(absolute=2e-15),
    must_refute=_without_the_root,
    finding=(
        "Every model with mean 1/2 minimises it, the constant one included: for two"
        " classes the term asks for balance, and not for certainty."
    ),
)


def _measure_any(*, classes: int, kind: str, spread: float, seed: int) -> float:
    return float(_loss(torch.from_numpy(_outputs(classes, kind, spread, seed))[None]))


def _predict_floor(*, classes: int, kind: str, spread: float, seed: int) -> float:
    return mmd.degeneracy_floor(classes)


def _slightly_above(*, classes: int, kind: str, spread: float, seed: int) -> float:
    return mmd.degeneracy_floor(classes) + 1e-6


FLOOR = Claim(
    id="mmd/sdfloor",
    items=("SdFloor", "Eq14"),
    title="No predictor brings the loss below a floor that is positive from three classes",
    statement=r"L_{sd}\ge\frac{\sqrt{d-1}-1}{\sqrt d}",
    source=Source(KEY, "Equation 14; the floor is ours", Reading.OURS),
    evidence=Evidence.SEARCH,
    cases=grid(
        classes=_CLASSES,
        kind=("softmax", "corners", "edges", "centroid"),
        spread=(0.01, 3.0),
        seed=(0,),
    ),
    examples=_any_outputs,
    max_examples=150,
    predict=_predict_floor,
    measure=_measure_any,
    compare=AtLeast(rounding=1e-14),
    must_refute=_slightly_above,
    uses=("mmd/eq14",),
    finding=(
        "E|v - f| >= |v - E f| for every vertex, and some vertex is at least"
        " sqrt((d - 1) / d) away from the mean: E|v - f| < 1 / sqrt(d) for all classes,"
        " the condition that the loss is built on, is never met."
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


def _classifier_first(*, classes: int) -> list[float]:
    return _predict_extremes(classes=classes)[::-1]


EXTREMES = Claim(
    id="mmd/sdfloor-values",
    items=("SdFloor",),
    title="The constant predictor scores better than the balanced classifier",
    statement=(
        r"\text{centroid: }\frac{\sqrt{d-1}-1}{\sqrt d};\qquad"
        r"\text{certain and balanced: }\frac{\sqrt2(d-1)}d-\frac1{\sqrt d}"
    ),
    source=Source(KEY, "Equation 14; the values are ours", Reading.OURS),
    evidence=Evidence.NUMERIC,
    cases=grid(classes=_CLASSES),
    predict=_predict_extremes,
    measure=_measure_extremes,
    # Numbers below one, of three rounded operations.
    compare=AgreesTo(absolute=4e-16),
    must_refute=_classifier_first,
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
        loss = _loss(torch.softmax(logits, dim=-1))
        least = min(least, float(loss.detach()))
        adam.zero_grad()
        loss.backward()  # pyright: ignore[reportUnknownMemberType]
        adam.step()
        schedule.step()
    return least


def _nothing_left(*, classes: int, seed: int) -> float:
    return 0.0


def _predict_least(*, classes: int, seed: int) -> float:
    return mmd.degeneracy_floor(classes)


ERR_1 = Claim(
    id="mmd/err1",
    items=("Err1", "SdFloor"),
    title="From three classes on the loss cannot be brought to zero",
    statement=r"\min L_{sd}=0,\text{ where all classes are predicted}",
    source=Source(KEY, "After Equation 14", Reading.READING),
    evidence=Evidence.SEARCH,
    cases=grid(classes=(2, 3, 4), seed=(0,)),
    predict=_nothing_left,
    measure=_measure_least,
    # The largest of d distances is not smooth: the last steps are 2e-4 long.
    compare=AgreesTo(absolute=2e-3),
    must_hold=_predict_least,
    expected=Outcome.REFUTED,
    uses=("mmd/sdfloor",),
    finding=(
        "From three classes on the only minimiser is the constant centroid, the very"
        " degeneracy that the loss is to prevent. In the paper's experiments d = 2."
    ),
)
