"""Neural collapse: its measures by definition (section 2.1)."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from operator import mul
from typing import Any

import mpmath
import numpy as np

from theory import neural_collapse as nc
from verify.claim import grid, numeric
from verify.claims._predictors import always, drawn, mistake
from verify.claims.square_loss._networks import Array
from verify.claims.square_loss._sources import as_read, ours
from verify.compare import AgreesTo, Identical

_PAPYAN = "Section 2.1; defined by Papyan, Han, Donoho 2020"

_MEASURES = grid(classes=(2, 3, 5), features=6, seed=(0, 1))
_FAR = grid(classes=3, features=6, seed=0, offset=1e6)
"""Features of which most is the same for all."""
_TIGHT = grid(classes=(2, 3), features=6, seed=0, spread=1e-9)
"""Features that have nearly collapsed."""
_UNLIKE = (
    *grid(classes=(2, 3), features=6, seed=0, more=2),
    *grid(classes=5, features=(2, 3), seed=0),
)
"""Classes that differ in size, so that the mean of their means is not that of all
features; and more classes than features."""
_LINE = grid(classes=(3, 4), features=6, seed=0, line=True)
"""Class means on a line: they span one dimension, not C - 1."""


def _features(
    classes: int,
    features: int,
    seed: int,
    offset: float = 0.0,
    spread: float = 1.0,
    more: int = 0,
    line: bool = False,  # noqa: FBT001, FBT002 (in the order of cases)
) -> tuple[Array, Any, Array]:
    """Random last hidden features, four of each class or `more` by class; a classifier."""
    rng = np.random.default_rng([58, seed])
    labels = np.repeat(np.arange(classes), 4 + more * np.arange(classes))
    h = np.maximum(rng.standard_normal((len(labels), features)) + 0.5, 0.0)
    if line:
        # In eighths, and opposite in pairs, so that means are exact.
        away = np.repeat(np.round(8.0 * h[::2]) / 8.0, 2, axis=0)
        away[1::2] *= -1.0
        h = labels[:, None] * np.arange(1.0, features + 1.0) + away
    if spread < 1.0:
        first = h[np.searchsorted(labels, labels)]
        h = first + spread * (h - first)
    return h + offset, labels, rng.standard_normal((classes, features))


def _means(h: Array, labels: Any) -> Array:
    """Class means, as rows."""
    return np.array([h[labels == c].mean(axis=0) for c in range(max(labels) + 1)])


def _exact_means(h: Array, labels: Any) -> tuple[list[Any], Any]:
    """Class means and their mean, as rows of 40 digits."""
    groups = [h[labels == c] for c in sorted(set(labels.tolist()))]
    means = [
        mpmath.matrix([[mpmath.fsum(col) / len(g) for col in zip(*g.tolist())]])  # noqa: B905
        for g in groups
    ]
    centre = means[0] * 0
    for mean in means:
        centre += mean / len(means)
    return means, centre


# --- the measures ---------------------------------------------------------------------


@drawn(_features)
def _measure_nc1(h: Array, labels: Any, _: Array) -> Any:
    """Tr(Sigma_W Sigma_B^+)/C, through eigenvectors of Sigma_B to 40 digits."""
    with mpmath.workdps(40):
        means, centre = _exact_means(h, labels)
        classes, features = len(means), h.shape[1]
        between, within = mpmath.zeros(features), mpmath.zeros(features)
        for mean in means:
            d = mean - centre
            between += d.T * d / classes
        for row, label in zip(h.tolist(), labels.tolist(), strict=True):
            d = mpmath.matrix([row]) - means[label]
            within += d.T * d / len(h)
        values, vectors = mpmath.eigsy(between)
        total = mpmath.mpf(0)
        for k in range(features):
            if values[k] > mpmath.mpf(10) ** -25:
                v = vectors[:, k]
                total += (v.T * within * v)[0] / values[k]
        return total / classes


@drawn(_features)
def _predict_nc1(h: Array, labels: Any, _: Array) -> float:
    return nc.nc1(h, labels)


@drawn(_features)
def _traces_apart(h: Array, labels: Any, _: Array) -> float:
    """The quotient of the traces, the same for round clouds only."""
    means = _means(h, labels)
    within = np.sum((h - means[labels]) ** 2) / len(h)
    between = np.sum((means - means.mean(axis=0)) ** 2) / len(means)
    return float(within / between / len(means))


NC_1 = numeric(
    id="sl/nc1",
    title=(
        "NC1: the variability of features within classes relative to that between classes"
    ),
    statement=r"\operatorname{Tr}(\Sigma_W\Sigma_B^\dagger)/C",
    source=as_read(_PAPYAN),
    cases=(*_MEASURES, *_UNLIKE, *_LINE, *_FAR, *_TIGHT),
    predict=_predict_nc1,
    measure=_measure_nc1,
    # The pseudo-inverse carries the condition of the means, below 1e3.
    compare=AgreesTo(relative=1e-12),
    must_refute=_traces_apart,
)


@drawn(_features)
def _measure_simplex(
    h: Array, labels: Any, weights: Array, *, faint: float = 1.0
) -> list[Any]:
    """Equal norms, equal angles, largest angles, pair by pair, to 40 digits.

    Of centred means and of rows, the first of which may be `faint`.
    """
    with mpmath.workdps(40):
        means, centre = _exact_means(h, labels)
        rows = [mpmath.matrix([row]) for row in weights.tolist()]
        rows[0] *= mpmath.mpf(faint)
        return [*_simplex([mean - centre for mean in means]), *_simplex(rows)]


def _simplex(rows: list[Any]) -> list[Any]:
    classes = len(rows)
    norms = [mpmath.norm(row) for row in rows]
    average = mpmath.fsum(norms) / classes
    spread = mpmath.sqrt(mpmath.fsum((n - average) ** 2 for n in norms) / classes)
    cosines = [
        (rows[i] * rows[j].T)[0] / norms[i] / norms[j]
        for i in range(classes)
        for j in range(classes)
        if i != j
    ]
    middle = mpmath.fsum(cosines) / len(cosines)
    angles = mpmath.fsum((c - middle) ** 2 for c in cosines) / len(cosines)
    off = [abs(c + mpmath.mpf(1) / (classes - 1)) for c in cosines]
    return [spread / average, mpmath.sqrt(angles), mpmath.fsum(off) / len(off)]


@drawn(_features)
def _predict_simplex(
    h: Array, labels: Any, weights: Array, *, centred: bool = False, faint: float = 1.0
) -> list[float]:
    rows = np.vstack([faint * weights[:1], weights[1:]])
    off = rows.mean(axis=0) if centred else 0.0
    return [*_numbers(nc.nc2(h, labels)), *_numbers(nc.nc2_classifier(rows - off))]


def _numbers(found: nc.Simplex) -> list[float]:
    return [found.equinorm, found.equiangle, found.maximal_angle]


NC_2 = numeric(
    id="sl/nc2",
    title="NC2: how far class means, and the classifier's rows, are from a simplex",
    statement=(
        r"\operatorname{sd}\|v_c\|/\overline{\|v_c\|},\quad"
        r"\operatorname{sd}\cos_{cc'},\quad\overline{|\cos_{cc'}+1/(C-1)|},\qquad"
        r" v_c=\mu_c-\mu_G\text{ or }w_c"
    ),
    source=as_read(_PAPYAN),
    # One row may be next to nothing, beside the others.
    cases=(*_MEASURES, *_UNLIKE, *_FAR, {**_MEASURES[-1], "faint": 1e-9}),
    predict=_predict_simplex,
    measure=_measure_simplex,
    # Sums of six products, rounded to 1.1e-16 each. Two means are a simplex: all three
    # are zero. Two rows have one angle, which does not vary.
    compare=AgreesTo(relative=1e-14, absolute=1e-14),
    must_refute=mistake("Rows centred first, as class means are.", centred=True),
    finding="Of means only three classes or more test it: with two it is zero identically.",
)


@drawn(_features)
def _measure_duality(h: Array, labels: Any, weights: Array) -> Any:
    with mpmath.workdps(40):
        means, centre = _exact_means(h, labels)
        rows = [list(mean - centre) for mean in means]
        own = mpmath.sqrt(mpmath.fsum(v * v for row in rows for v in row))
        given = [[mpmath.mpf(v) for v in row] for row in weights.tolist()]
        theirs = mpmath.sqrt(mpmath.fsum(v * v for row in given for v in row))
        return mpmath.fsum(
            (a / theirs - b / own) ** 2
            for left, right in zip(given, rows, strict=True)
            for a, b in zip(left, right, strict=True)
        )


@drawn(_features)
def _predict_duality(h: Array, labels: Any, weights: Array) -> float:
    return nc.nc3(h, labels, weights)


@drawn(_features)
def _of_raw_means(h: Array, labels: Any, weights: Array) -> float:
    """Class means that are not centred."""
    means = _means(h, labels)
    gap = weights / np.linalg.norm(weights) - means / np.linalg.norm(means)
    return float(np.sum(gap**2))


NC_3 = numeric(
    id="sl/nc3",
    title="NC3: how far the classifier is from the class means",
    statement=r"\|W/\|W\|_F-M^T/\|M\|_F\|_F^2",
    source=as_read(_PAPYAN),
    cases=(*_MEASURES, *_UNLIKE),
    predict=_predict_duality,
    measure=_measure_duality,
    # Sums of thirty products, and of six in each: as many roundings of 1.1e-16 at most.
    compare=AgreesTo(relative=1e-14),
    must_refute=_of_raw_means,
)


def _with_biases(
    classes: int,
    features: int,
    seed: int,
    scale: float | None = None,
    away: float = 0.0,
    size: float | None = None,
) -> tuple[Array, Any, Array, Array | None]:
    """Features and weights at a scale, with biases of a size, that of their products.

    The last class is moved `away` from all others.
    """
    h, labels, weights = _features(classes, features, seed)
    h[labels == classes - 1] += away
    if scale is None:
        return h, labels, weights, None
    biases = np.random.default_rng([59, seed]).standard_normal(classes)
    size = scale**2 if size is None else size
    return scale * h, labels, scale * weights, size * biases


@drawn(_with_biases)
def _measure_disagreement(
    h: Array, labels: Any, weights: Array, biases: Array | None
) -> float:
    """Count, example by example, where the classifier and the nearest mean part."""
    shifts = [0.0] * len(weights) if biases is None else biases.tolist()
    means = _means(h, labels)
    parted = 0
    for row in h:
        x = [*map(Fraction, row.tolist()), 1]
        scores = [
            sum(map(mul, map(Fraction, [*w.tolist(), b]), x))
            for w, b in zip(weights, shifts, strict=True)
        ]
        distances = [math.hypot(*(row - mean)) for mean in means]
        parted += scores.index(max(scores)) != distances.index(min(distances))
    return parted / len(h)


@drawn(_with_biases)
def _predict_disagreement(
    h: Array, labels: Any, weights: Array, biases: Array | None
) -> float:
    return nc.nc4(h, labels, weights, biases)


@drawn(_with_biases)
def _errors_instead(
    h: Array, labels: Any, weights: Array, biases: Array | None
) -> float:
    """The classifier's errors on the labels."""
    scores = h @ weights.T + (0.0 if biases is None else biases)
    return float(np.mean(np.argmax(scores, axis=1) != labels))


NC_4 = numeric(
    id="sl/nc4",
    title="NC4: how often the classifier does not choose the nearest class mean",
    statement=(
        r"\tfrac1n\sum_i\mathbf 1[\operatorname{argmax}_c\langle w_c,h_i\rangle+b_c"
        r"\ne\operatorname{argmin}_c\|h_i-\mu_c\|]"
    ),
    source=as_read(_PAPYAN),
    # With biases, both where products are larger than one and where they are smaller,
    # and with one class so far that its square exceeds what sets the others apart.
    cases=(
        *_MEASURES,
        *grid(classes=(3, 5), features=6, seed=0, away=1e9),
        *grid(classes=(3, 5), features=6, seed=(0, 1), scale=(0.1, 3.0)),
        *grid(classes=5, features=6, seed=0, scale=(1e-170, 1e150), size=(0.0, 1.0)),
    ),
    predict=_predict_disagreement,
    measure=_measure_disagreement,
    compare=AgreesTo(absolute=1e-15),
    must_refute=_errors_instead,
)


def _binary(features: int, seed: int) -> tuple[Array, Array, Array]:
    """Features of two classes, labels -1 and +1, and a last layer of one output."""
    h, labels, weights = _features(2, features, seed)
    return h, 2.0 * labels - 1.0, weights[0]


def _measure_binary(*, features: int, seed: int) -> list[Any]:
    """Angle between last layer and means; share where sign and nearest mean part."""
    h, y, w = _binary(features, seed)
    low, high = h[y < 0.0].mean(axis=0), h[y > 0.0].mean(axis=0)
    with mpmath.workdps(30):
        along, across = (mpmath.matrix(v.tolist()) for v in (high - low, w))
        cosine = (along.T * across)[0] / mpmath.norm(along) / mpmath.norm(across)
        parted = sum(
            (float(np.dot(w, row)) > 0.0)
            != (np.linalg.norm(row - high) < np.linalg.norm(row - low))
            for row in h
        )
        return [2 * (1 - cosine), parted / len(h)]


def _predict_binary(*, features: int, seed: int, sign: float = 1.0) -> list[float]:
    h, y, w = _binary(features, seed)
    rows = nc.binary_rows(sign * w)
    return [nc.nc3(h, y, rows), nc.nc4(h, y, rows)]


NC_BINARY = numeric(
    id="sl/nc3-binary",
    items=("NC3", "NC4"),
    title=("For two classes and one output, NC3 is a function of one angle"),
    statement=(
        r"W=(-w,w):\quad NC3=2\,(1-\cos\angle(w,\mu_+-\mu_-)),\qquad"
        r" \operatorname{argmax}_c\langle w_c,h\rangle=+\iff w\cdot h>0"
    ),
    source=ours("Section 2.1; the formula is ours"),
    cases=grid(features=(2, 6), seed=(0, 1, 2)),
    predict=_predict_binary,
    measure=_measure_binary,
    # Class means of four numbers of size one are rounded once.
    compare=AgreesTo(relative=1e-14, absolute=1e-14),
    must_refute=mistake("The two rows exchanged.", sign=-1.0),
    uses=("sl/nc3", "sl/nc4"),
)


def _collapsed(classes: int, seed: int) -> tuple[Array, Any, Array]:
    """Features at the vertices of a simplex, turned, scaled and moved."""
    rng = np.random.default_rng([59, seed])
    turn = np.linalg.qr(rng.standard_normal((classes + 2, classes + 2)))[0]
    vertices = np.eye(classes, classes + 2) - np.pad(
        np.full((classes, classes), 1.0 / classes), ((0, 0), (0, 2))
    )
    rows = 3.0 * vertices @ turn
    labels = np.repeat(np.arange(classes), 3)
    return rows[labels] + rng.standard_normal(classes + 2), labels, 0.2 * rows


def _measure_collapsed(*, classes: int, seed: int) -> list[float]:
    """Return the definitions, in plain double precision."""
    h, labels, weights = _collapsed(classes, seed)
    means = _means(h, labels)
    m = means - means.mean(axis=0)
    within = (h - means[labels]).T @ (h - means[labels]) / len(h)
    nc1 = np.trace(within @ np.linalg.pinv(m.T @ m / classes, rcond=1e-9)) / classes
    norms = np.linalg.norm(m, axis=1)
    off = ~np.eye(classes, dtype=bool)
    cosines = (m @ m.T / np.outer(norms, norms))[off]
    gap = weights / np.linalg.norm(weights) - m / np.linalg.norm(m)
    return [
        float(nc1),
        float(norms.std() / norms.mean()),
        float(cosines.std()),
        float(np.abs(cosines + 1.0 / (classes - 1)).mean()),
        float(np.sum(gap**2)),
    ]


def _predict_collapsed(*, classes: int, seed: int) -> list[float]:
    h, labels, weights = _collapsed(classes, seed)
    simplex = _numbers(nc.nc2(h, labels))
    return [nc.nc1(h, labels), *simplex, nc.nc3(h, labels, weights)]


def _orthogonal_means(*, classes: int, seed: int) -> list[float]:
    """Orthogonal class means, 1/(C - 1) off a simplex."""
    return [0.0, 0.0, 0.0, 1.0 / (classes - 1), 0.0]


COLLAPSED = numeric(
    id="sl/nc-simplex",
    items=("NC1", "NC2", "NC3"),
    title="NC1 to NC3 vanish for collapsed features, however rotated, scaled and moved",
    statement=r"h_{i,c}=\mu_c\text{ at a simplex, }W\propto M^T:\;NC1=NC2=NC3=0",
    source=ours("Section 2.1"),
    cases=grid(classes=(2, 3, 10), seed=(0, 1)),
    predict=_predict_collapsed,
    measure=_measure_collapsed,
    # Features below ten round to 9e-16 and are three from their mean; a cosine of them is
    # a few such roundings off.
    compare=AgreesTo(absolute=5e-15),
    must_refute=_orthogonal_means,
    uses=("sl/nc1", "sl/nc2", "sl/nc3"),
)


def _is_refused(measure: Callable[[Any, Any], Any], at: list[float]) -> bool:
    """Whether classes of one example each, below zero and beside zeros, are refused."""
    try:
        measure(-np.column_stack([at, np.zeros(len(at))]), range(len(at)))
    except ValueError:
        return True
    return False


def _predict_agree(*, off: float) -> list[bool]:
    return [
        _is_refused(nc.nc1, [0.3, 0.1 + 0.2 + off]),
        _is_refused(nc.nc2, [0.1, 0.3, 0.2 + off]),
    ]


def _measure_agree(*, off: float) -> list[bool]:
    """Compare the decimals, which are no floats: 0.1 + 0.2 is above 0.3 as such."""
    low, middle, high = (Fraction(n, 10) for n in (1, 2, 3))
    last = Fraction(off)
    mean = (low + high + middle + last) / 3
    return [high == low + middle + last, middle + last == mean]


AGREE = replace(
    COLLAPSED,
    id="sl/nc-agree",
    title="Class means that agree but for rounding are refused",
    statement=r"\mu_1=\mu_2,\quad \mu_c=\mu_G",
    cases=grid(off=(0.0, 1e-12)),
    predict=_predict_agree,
    measure=_measure_agree,
    compare=Identical(),
    must_refute=always(value=[False, False]),
    uses=("sl/nc1", "sl/nc2"),
)
