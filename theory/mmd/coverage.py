r"""When are all classes predicted: Theorem 2, the loss L_sd and how low it can get.

``v^(i)`` is the i-th vertex of the simplex and ``A_i`` the points whose i-th coordinate is
largest (ties count for every class). Source: Lee and Cho 2023, Lemma 4, Theorem 2 and eq.
(14); "sharp", the floor and its minimisers are ours.
"""

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory.mmd import _inputs

Array = npt.NDArray[np.float64]

Form = Literal["printed", "sharp"]

FORMS = ("printed", "sharp")


def least_square_norm(classes: int) -> float:
    r"""Return the least ``|a|^2`` on the simplex, ``1 / d`` at the centroid (Lemma 4).

    Raises
    ------
    ValueError
        If `classes` is below 2.

    Examples
    --------
    >>> least_square_norm(2)
    0.5
    """
    return 1.0 / _inputs.classes("least_square_norm", classes)


def coverage_radius(classes: int, *, form: Form = "printed") -> float:
    r"""Return a radius within which ``|v^(i) - a|`` puts a into class i.

    .. math:: \frac1{\sqrt d} \quad\text{(printed)}, \qquad
        \frac1{\sqrt2} \quad\text{(sharp)}

    The sharp one is the distance of a vertex from the nearest tie, the middle of an edge,
    and the largest possible.

    Raises
    ------
    ValueError
        If `classes` is below 2 or the form unknown.

    Examples
    --------
    >>> coverage_radius(4), round(coverage_radius(4, form="sharp"), 6)
    (0.5, 0.707107)
    """
    who = "coverage_radius"
    d = _inputs.classes(who, classes)
    sharp = _checks.choice(who, "form", form, FORMS) == "sharp"
    return math.sqrt(0.5) if sharp else 1.0 / math.sqrt(d)


def coverage_bound(distance: Any, classes: int, *, form: Form = "printed") -> Any:
    r"""Bound the share of inputs that a model puts into a class from below (Theorem 2).

    .. math:: P(f \in A_i) \ge 1 - \sqrt d\; E\|v^{(i)} - f\| \quad\text{(printed)},
        \qquad 1 - \sqrt2\; E\|v^{(i)} - f\| \quad\text{(sharp)}

    Parameters
    ----------
    distance : float or array
        ``E|v^(i) - f|``, the mean distance of the predictions from the vertex, at least 0.
    classes : int
        d >= 2.
    form : {"printed", "sharp"}

    Returns
    -------
    float or array
        At most 1; 0 or less where it says nothing, as for all but one class it must: the
        distances of two classes add up to at least sqrt(2).

    Raises
    ------
    ValueError
        If `distance` is negative, `classes` below 2 or the form unknown.

    Notes
    -----
    Markov's inequality on `coverage_radius`, which is the sharp one for every d: in A_i
    as soon as ``|v^(i) - a|^2 = 1 - 2 a_i + |a|^2 < 1/2``, for otherwise some ``a_j >=
    a_i``, and ``|v^(i) - a|^2 >= (1 - a_i)^2 + a_i^2 >= 1/2``.

    Examples
    --------
    >>> coverage_bound(0.25, 4), round(coverage_bound(0.25, 4, form="sharp"), 6)
    (0.5, 0.646447)
    """
    who = "coverage_bound"
    mean = _checks.not_negative(who, "distance", distance)
    d = _inputs.classes(who, classes)
    sharp = _checks.choice(who, "form", form, FORMS) == "sharp"
    with np.errstate(over="ignore"):
        out = 1.0 - math.sqrt(2 if sharp else d) * mean
    return _checks.plain(_checks.result(who, out, "distance"))


def degeneracy_loss(predictions: Any) -> float:
    r"""Return L_sd, the loss meant to keep all classes in use (eq. 14).

    .. math:: E_\epsilon\Big[\max\Big\{\max_i E_x\|v^{(i)} - f_\epsilon(x)\|,
        \frac1{\sqrt d}\Big\} - \frac1{\sqrt d}\Big]

    Parameters
    ----------
    predictions : array, shape (perturbations, inputs, classes)
        Points of the simplex.

    Returns
    -------
    float
        At least `degeneracy_floor`; absolute error a few eps.

    Raises
    ------
    ValueError
        If an axis is empty, there are fewer than 2 classes, or a point is not on the
        simplex to 1e-6.

    Examples
    --------
    Three classes, each the answer to a third of the inputs; and no answer at all:

    >>> round(degeneracy_loss([np.eye(3)]), 5)
    0.36546
    >>> round(degeneracy_loss(np.full((1, 3, 3), 1 / 3)), 5)
    0.23915
    """
    who = "degeneracy_loss"
    f = _inputs.probabilities(
        who, "predictions", predictions, "perturbations, inputs, classes"
    )
    worst = np.max(_vertex_distances(f).mean(axis=1), axis=-1)
    return float(np.mean(np.maximum(worst - 1.0 / math.sqrt(f.shape[-1]), 0.0)))


def _vertex_distances(f: Array) -> Array:
    """Return ``|v^(i) - f|`` for every i on the last axis, in linear time."""
    squares = f * f
    others = squares.sum(axis=-1, keepdims=True) - squares
    # Where the largest coordinate is left out, the others are summed: it would cancel.
    largest = np.argmax(squares, axis=-1)[..., np.newaxis]
    np.put_along_axis(squares, largest, 0.0, axis=-1)
    rest = squares.sum(axis=-1, keepdims=True)
    np.put_along_axis(others, largest, rest, axis=-1)
    return np.sqrt((1.0 - f) ** 2 + others)


def degeneracy_floor(classes: int) -> float:
    r"""Return the least value of L_sd, which every predictor exceeds or attains.

    .. math:: \frac{\sqrt{d-1} - 1}{\sqrt d} = \frac{d-2}{\sqrt d\,(\sqrt{d-1} + 1)}

    Parameters
    ----------
    classes : int
        d >= 2.

    Returns
    -------
    float
        0 for two classes, positive for more; relative error below 3 eps.

    Raises
    ------
    ValueError
        If `classes` is below 2.

    Notes
    -----
    By Jensen's inequality ``E|v^(i) - f| >= |v^(i) - E f|``, and for some i this is at
    least the centroid's ``sqrt((d - 1) / d)``, which is at least ``1 / sqrt(d)``: the
    condition ``E|v^(i) - f| < 1 / sqrt(d)`` for all i is never met. From d = 3 the only
    predictor on the floor is the constant centroid, whose classes tie everywhere; a
    balanced and certain classifier has ``sqrt(2) (d - 1) / d - 1 / sqrt(d)``.

    Examples
    --------
    >>> [round(degeneracy_floor(d), 5) for d in (2, 3, 4, 10)]
    [0.0, 0.23915, 0.36603, 0.63246]
    """
    d = _inputs.classes("degeneracy_floor", classes)
    return (d - 2) / (math.sqrt(d) * (math.sqrt(d - 1) + 1.0))


def segment_degeneracy_loss(p: Any) -> float:
    r"""Return L_sd of two classes from the probabilities of the first.

    .. math:: L_{sd} = \sqrt2\; E_\epsilon \big|E_x\,p - \tfrac12\big|

    Parameters
    ----------
    p : array, shape (perturbations, inputs)
        In [0, 1].

    Returns
    -------
    float
        In [0, sqrt(1/2)]; 0 for every model with mean 1/2, constant ones included.

    Raises
    ------
    ValueError
        If an axis is empty or an entry outside [0, 1].

    Examples
    --------
    >>> segment_degeneracy_loss([[0.0, 1.0], [0.5, 0.5]])
    0.0
    """
    who = "segment_degeneracy_loss"
    x = _checks.interval(who, "p", p, 0.0, 1.0)
    if x.ndim != 2 or x.size == 0:
        need = "have shape (perturbations, inputs), none of them 0"
        raise _checks.misshapen(who, "p", need, x)
    return math.sqrt(2.0) * float(np.abs((x - 0.5).mean(axis=1)).mean())
