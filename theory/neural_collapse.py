r"""Neural collapse: four measures of how last-layer features gather at class means.

With class means ``mu_c``, their mean ``mu_G``, ``M = [mu_c - mu_G]`` of shape (p, C), the
scatter within classes ``Sigma_W`` (a mean over all examples) and between them ``Sigma_B =
M M^T / C``. Source: Papyan, Han and Donoho 2020, section 2; Poggio and Liao 2021,
section on neural collapse. Labels are 0 .. C-1, or -1 and +1 in this order.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._arrays import size_power, unscaled
from theory._naming import publish

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Simplex:
    """How far C vectors are from an equiangular tight frame; all 0 for a simplex.

    Attributes
    ----------
    equinorm : float
        Standard deviation of the norms over their mean.
    equiangle : float
        Standard deviation of the cosines of different vectors.
    maximal_angle : float
        Mean distance of these cosines from ``-1 / (C - 1)``, the least that C vectors
        can have in common.
    """

    equinorm: float
    equiangle: float
    maximal_angle: float


def nc1(features: Any, labels: Any) -> float:
    r"""Return the variability within classes, in units of that between them.

    .. math:: \frac{1}{C}\,\mathrm{Tr}\big(\Sigma_W \Sigma_B^\dagger\big)
        = \frac{1}{n} \sum_i \big\| (MQ)^\dagger (h_i - \mu_{c(i)}) \big\|^2

    The columns of Q are an orthonormal basis of the vectors of C entries with sum 0. The
    rank of ``Sigma_B``, C - 1 at most, is built in: no cutoff decides it, and no matrix of
    p rows and columns is formed.

    Parameters
    ----------
    features : array, shape (n, p)
        ``h_i``, one a row.
    labels : array of int, shape (n,)
        0 .. C-1, or -1 and +1.

    Returns
    -------
    float
        At least 0; unchanged by rotation, scaling and shifts of the features.

    Raises
    ------
    ValueError
        If lengths differ, an entry is not finite, there are fewer than two classes, a
        class has no examples, or all class means agree.

    Notes
    -----
    Relative error a few ``(p + n) eps`` times the condition number of MQ, however tight
    the classes are. Where class means span less than C - 1 dimensions (as they must if
    p < C - 1), singular values below ``max(p, C) eps`` of the largest count as zero.

    Examples
    --------
    Two classes on a line: half the variance over the squared half distance.

    >>> round(nc1([[0.0], [2.0], [10.0], [12.0]], [0, 0, 1, 1]), 15)
    0.02
    """
    h, c = _given("nc1", features, labels)
    means, within = _centres("nc1", h, c)
    _, s, v = np.linalg.svd(_contrasts(len(means)).T @ means, full_matrices=False)
    kept = s > max(means.shape) * EPS * s[0]
    scaled = (within @ v[kept].T) / s[kept]
    return float(np.sum(scaled * scaled) / len(h))


def nc2(features: Any, labels: Any) -> Simplex:
    r"""Return how far the centred class means are from a simplex.

    The vectors are ``mu_c - mu_G``. For two classes all three numbers are 0 by
    construction, since the centred means are opposite: only C >= 3 tests anything.

    Parameters
    ----------
    features, labels
        As for `nc1`.

    Returns
    -------
    Simplex

    Raises
    ------
    ValueError
        As `nc1`, and if a class mean equals the mean of all.

    Notes
    -----
    Absolute error a few eps times ``|mu_G| / |mu_c - mu_G|``, at least a few eps.

    Examples
    --------
    >>> nc2(np.eye(3), [0, 1, 2]).maximal_angle < 1e-15
    True
    >>> round(nc2([[0.0], [1.0], [5.0]], [0, 1, 2]).equiangle, 6)
    0.942809
    """
    h, c = _given("nc2", features, labels)
    means, _ = _centres("nc2", h, c)
    return _simplex("nc2", "features", means, 8.0 * EPS * float(np.abs(means).max()))


def nc2_classifier(weights: Any) -> Simplex:
    r"""Return how far the classifier's rows are from a simplex.

    Parameters
    ----------
    weights : array, shape (C, p)
        ``w_c``, one row a class.

    Returns
    -------
    Simplex

    Raises
    ------
    ValueError
        If there are fewer than two rows, one is zero, or an entry is not finite.

    Examples
    --------
    >>> nc2_classifier([[1.0, 0.0], [0.0, 1.0]])
    Simplex(equinorm=0.0, equiangle=0.0, maximal_angle=1.0)
    """
    return _simplex("nc2_classifier", "weights", _rows("nc2_classifier", weights))


def nc3(features: Any, labels: Any, weights: Any) -> float:
    r"""Return how far the classifier is from the centred class means.

    .. math:: \Big\| \frac{W}{\|W\|_F} - \frac{M^T}{\|M\|_F} \Big\|_F^2

    Parameters
    ----------
    features, labels
        As for `nc1`.
    weights : array, shape (C, p)
        `binary_rows` for a network with one output.

    Returns
    -------
    float
        In [0, 4].

    Raises
    ------
    ValueError
        As `nc1`, and if `weights` do not have one row a class or are all zero.

    Notes
    -----
    Absolute error a few eps.

    Examples
    --------
    >>> round(nc3(np.eye(3), [0, 1, 2], 3.0 * np.eye(3) - 1.0), 15)
    0.0
    """
    h, c = _given("nc3", features, labels)
    means, _ = _centres("nc3", h, c)
    w = _matching("nc3", weights, means)
    size = np.linalg.norm(w)
    zero = np.asarray(size == 0.0)
    _checks.reject("nc3", "weights", "have a non-zero entry", zero, "zeros only", "")
    gap = w / size - means / np.linalg.norm(means)
    return float(np.sum(gap * gap))


def nc4(features: Any, labels: Any, weights: Any, biases: Any = None) -> float:
    r"""Return the share of examples on which classifier and nearest mean disagree.

    .. math:: \frac1n \#\big\{ i : \arg\max_c \langle w_c, h_i\rangle + b_c
        \ne \arg\min_c \|h_i - \mu_c\| \big\}

    Parameters
    ----------
    features, labels, weights
        As for `nc3`.
    biases : array, shape (C,), optional

    Returns
    -------
    float
        In [0, 1]; ties go to the first class, in both rules.

    Raises
    ------
    ValueError
        As `nc3`, and if `biases` do not have one entry a class.

    Examples
    --------
    >>> h = [[0.0, 1.0], [0.0, 3.0], [1.0, 0.0], [3.0, 0.0]]
    >>> nc4(h, [0, 0, 1, 1], [[0.0, 1.0], [1.0, 0.0]])
    0.0
    >>> nc4(h, [0, 0, 1, 1], [[1.0, 0.0], [0.0, 1.0]])
    1.0
    """
    who = "nc4"
    h, c = _given(who, features, labels)
    w = _matching(who, weights, _centres(who, h, c)[0])
    b = np.zeros(len(w))
    if biases is not None:
        b = _checks.shaped(who, "biases", biases, b.shape)
    # The larger exponent of the two parts is taken off: neither over- or underflows.
    power = _power(features) + _power(weights)
    top = max(power, _power(b)) if b.any() else power
    logits = np.ldexp(h @ w.T, power - top) + np.ldexp(b, -top)
    chosen = np.argmax(logits, axis=1)
    # By differences: a class far away would drown those of near ones.
    anchors, steps, within = _parts(h, c)
    squares: list[Array] = []
    for a, step in zip(anchors, steps, strict=True):
        gap = within + ((anchors - a) + (steps - step))[c]
        squares.append(np.sum(gap * gap, axis=1))
    nearest = np.argmin(squares, axis=0)
    return float(np.mean(chosen != nearest))


def binary_rows(weights: Any) -> Array:
    r"""Return the two classifier rows of a network with one output.

    ``(-w, w)``, for the classes -1 and +1 (or 0 and 1): the sign of the output picks the
    class of the larger row. Scaling both changes no measure.

    Parameters
    ----------
    weights : array, shape (p,) or (1, p)
        The last layer.

    Returns
    -------
    array, shape (2, p)

    Raises
    ------
    ValueError
        If `weights` have another shape or an entry is not finite.

    Examples
    --------
    >>> binary_rows([[1.0, -2.0]])
    array([[-1.,  2.],
           [ 1., -2.]])
    """
    w = _checks.real("binary_rows", "weights", weights)
    if w.ndim not in (1, 2) or w.size != w.shape[-1] or w.size == 0:
        need = "have shape (p,) or (1, p)"
        raise _checks.misshapen("binary_rows", "weights", need, w)
    return np.stack((-w.ravel(), w.ravel()))


def _given(who: str, features: Any, labels: Any) -> tuple[Array, Labels]:
    """Return features and classes 0 .. C-1, each with examples."""
    h = _checks.real(who, "features", features)
    if h.ndim != 2 or h.size == 0:
        raise _checks.misshapen(who, "features", "have shape (n, p)", h)
    hint = f"`features` has shape {h.shape}."
    raw = _checks.shaped(who, "labels", labels, (len(h),), hint)
    signs = bool(np.any(raw == -1.0))
    known = np.abs(raw) == 1.0 if signs else (raw >= 0.0) & (raw == np.round(raw))
    need = "be whole numbers from 0, or -1 and +1"
    _checks.reject(who, "labels", need, ~known, raw, "")
    if not signs and raw.max() >= len(h):
        _refuse_empty(who, int(np.setdiff1d(np.arange(len(h) + 1), raw)[0]))
    classes = ((raw + 1.0) / 2.0 if signs else raw).astype(np.int64)
    counts = np.bincount(classes)
    if np.any(counts == 0):
        index = int(np.flatnonzero(counts == 0)[0])
        if len(counts) > 2 or np.count_nonzero(counts) > 1:
            _refuse_empty(who, index)
    if np.count_nonzero(counts) < 2:
        raise ValueError(
            f"{who}: `labels` must name at least two classes, got {raw[0]:g} only."
        )
    return unscaled(h)[0], classes


def _power(x: Any) -> int:
    """Return the power of two of the largest entry: measures do not see the scale."""
    return size_power(np.asarray(x, dtype=np.float64)).item()


def _refuse_empty(who: str, index: int) -> None:
    raise ValueError(
        f"{who}: `labels` must give every class an example, but class {index} has none."
        " Number the classes from 0 without gaps."
    )


def _centres(who: str, h: Array, c: Labels) -> tuple[Array, Array]:
    """Return class means less their mean, and features less their class mean."""
    anchors, steps, within = _parts(h, c)
    means = anchors - anchors.mean(axis=0) + steps
    means -= means.mean(axis=0)
    same = not np.any(np.abs(means) > 8.0 * EPS * np.abs(h).max())
    _checks.reject(who, "features", "have class means that differ", same, "one", "")
    return means, within


def _parts(h: Array, c: Labels) -> tuple[Array, Array, Array]:
    """Return an example of each class, its mean less that, and features less the mean."""
    # From one example of each class: its distance from the others takes no digits.
    anchors = h[np.unique(c, return_index=True)[1]]
    within = h - anchors[c]
    counts = np.bincount(c).astype(np.float64)
    steps = np.zeros_like(anchors)
    for _ in range(2):
        # A second pass takes the rounding of the first off again.
        sums = np.stack([within[c == k].sum(axis=0) for k in range(len(counts))])
        step = sums / counts[:, np.newaxis]
        steps, within = steps + step, within - step[c]
    return anchors, steps, within


def _contrasts(classes: int) -> Array:
    """Return an orthonormal basis of the vectors with sum 0, (C, C - 1), Helmert's."""
    out = np.zeros((classes, classes - 1))
    for k in range(1, classes):
        out[:k, k - 1] = 1.0 / np.sqrt(k * (k + 1.0))
        out[k, k - 1] = -k / np.sqrt(k * (k + 1.0))
    return out


def _simplex(who: str, name: str, rows: Array, least: float = 0.0) -> Simplex:
    """Measure vectors; those whose entries are all at most `least` count as zero."""
    largest = np.abs(rows).max(axis=1)
    need = "give every class a vector that is not zero"
    _checks.reject(who, name, need, largest <= least, largest, "")
    power = np.frexp(largest)[1]
    parts = np.ldexp(rows, -power[:, np.newaxis])
    lengths = np.linalg.norm(parts, axis=1)
    units = parts / lengths[:, np.newaxis]
    norms = np.ldexp(lengths, power)
    cosines = (units @ units.T)[~np.eye(len(rows), dtype=bool)]
    gap = np.abs(cosines + 1.0 / (len(rows) - 1.0))
    return Simplex(
        float(norms.std() / norms.mean()), float(cosines.std()), float(gap.mean())
    )


def _rows(who: str, weights: Any) -> Array:
    w = _checks.real(who, "weights", weights)
    if w.ndim != 2 or len(w) < 2 or w.size == 0:
        raise _checks.misshapen(who, "weights", "have one row a class, at least two", w)
    return unscaled(w)[0]


def _matching(who: str, weights: Any, means: Array) -> Array:
    w = _rows(who, weights)
    if w.shape != means.shape:
        need = f"have shape {means.shape}, one row a class"
        hint = (
            "As the class means of `features`; `binary_rows` makes them of one output."
        )
        raise _checks.misshapen(who, "weights", need, w, hint)
    return w


publish(globals())
