r"""Minimum-norm interpolation with a given kernel matrix, and digits to try it on."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from empirical.checks import check_symmetric, check_weights, check_whole
from empirical.data import load, unit_rows
from empirical.testbed.writing import Array, Integers


@dataclass(frozen=True, kw_only=True, eq=False)
class Interpolation:
    r"""The interpolant of smallest norm.

    Attributes
    ----------
    coefficients : float array, shape (n, outputs)
        :math:`K^{-1} y`.
    squared_norms : float array, shape (outputs,)
        :math:`y^T K^{-1} y`, the squared norm of each output in feature space.
    residual : float
        Largest error on the training targets: what rounding leaves.
    condition : float
        :math:`\lambda_{\max}/\lambda_{\min}` of the kernel matrix.
    predictions : float array, shape (m, outputs)
        At the other inputs.
    """

    coefficients: Array
    squared_norms: Array
    residual: float
    condition: float
    predictions: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class DigitProblem:
    """Handwritten digits as unit vectors with centred class indicators.

    Attributes
    ----------
    inputs, test_inputs : float array, shapes (n, 784) and (m, 784)
        Rows of unit norm.
    targets, test_targets : float array, shapes (n, 10) and (m, 10)
        0.9 for the class of the digit, -0.1 for the others.
    labels, test_labels : int array
    source : dict
        What the data sets say about themselves.
    """

    inputs: Array
    targets: Array
    labels: Integers
    test_inputs: Array
    test_targets: Array
    test_labels: Integers
    source: dict[str, dict[str, str | int]]


def minimum_norm(
    kernel: npt.ArrayLike, targets: npt.ArrayLike, *, cross: npt.ArrayLike
) -> Interpolation:
    r"""Interpolate `targets` with the smallest norm that the kernel allows.

    .. math:: f(x) = k(x)^T K^{-1} y

    Parameters
    ----------
    kernel : array, shape (n, n)
        K, symmetric positive definite: closed form or measured, the caller's choice.
    targets : array, shape (n, outputs)
    cross : array, shape (m, n)
        Kernel between the inputs to predict at and the n training inputs.

    Raises
    ------
    ValueError
        If shapes do not fit, an entry is not finite, or `kernel` is not symmetric or
        not positive definite above rounding: then no interpolant is computed that its
        residual would contradict.

    References
    ----------
    Agarwal, Awasthi, Kale 2020, section 6.

    Examples
    --------
    >>> fit = minimum_norm([[2.0, 0.0], [0.0, 1.0]], [[2.0], [3.0]], cross=[[1.0, 1.0]])
    >>> fit.predictions.tolist(), fit.squared_norms.tolist(), fit.condition
    ([[4.0]], [11.0], 2.0)
    """
    k, y, other = (np.asarray(a, dtype=np.float64) for a in (kernel, targets, cross))
    _check(k, y, other)
    values, vectors = np.linalg.eigh(k)
    rounding = len(k) * np.finfo(np.float64).eps * values[-1]
    if values[0] <= rounding:
        raise ValueError(
            "minimum_norm: `kernel` must be positive definite above rounding, but its "
            f"eigenvalues run from {values[0]:.3g} to {values[-1]:.3g}. Remove "
            "duplicate inputs, or use a deeper kernel."
        )
    coefficients = vectors @ ((vectors.T @ y) / values[:, None])
    return Interpolation(
        coefficients=coefficients,
        squared_norms=np.sum(y * coefficients, axis=0),
        residual=float(np.abs(k @ coefficients - y).max()),
        condition=float(values[-1] / values[0]),
        predictions=other @ coefficients,
    )


def accuracy(predictions: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Return the share of rows whose largest entry is that of the label.

    Raises
    ------
    ValueError
        If labels are not one a row, there is no row, or an entry is NaN.

    Examples
    --------
    >>> accuracy([[0.2, 0.1], [0.0, 0.3]], [0, 0])
    0.5
    """
    scores, named = np.asarray(predictions), np.asarray(labels)
    if scores.ndim != 2 or named.shape != scores.shape[:1] or not scores.size:
        raise ValueError(
            "accuracy: `labels` must have one entry for each row of predictions, but "
            f"the shapes are {named.shape} and {scores.shape}"
        )
    if np.isnan(scores).any():
        raise ValueError(
            f"accuracy: `predictions` must be numbers, but {np.isnan(scores).sum()} of "
            f"{scores.size} are NaN"
        )
    return float(np.mean(scores.argmax(axis=1) == named))


def digit_problem(
    n: int,
    m: int,
    *,
    directory: Path | str | None = None,
    cached: bool = True,
    centre: bool = False,
) -> DigitProblem:
    """Return `n` training and `m` test digits, classes balanced where the source is.

    Parameters
    ----------
    n, m : int
    directory : str, optional
        Of the full data set; by default as `empirical.data.load` looks.
    cached : bool
        As of `empirical.data.load`: without it everyone gets the same digits.
    centre : bool
        Subtract the mean training image before scaling to unit norm.

    Raises
    ------
    ValueError
        If there are fewer than `n` or `m` digits, or none are asked for.

    Examples
    --------
    >>> digits = digit_problem(20, 10)
    >>> digits.inputs.shape, digits.test_targets.shape
    ((20, 784), (10, 10))
    """
    train, test = (
        load("mnist", split, directory=directory, cached=cached)
        for split in ("train", "test")
    )
    for name, count, known in (("n", n, train), ("m", m, test)):
        check_whole("digit_problem", **{name: count})
        if not 1 <= count <= len(known):
            raise ValueError(
                f"digit_problem: `{name}` must lie in 1..{len(known)}, the examples of"
                f" {known.name} ({known.split}, {known.source}), but it is {count}"
            )
    train, test = train.head(n), test.head(m)
    mean = train.images.reshape(n, -1).mean(axis=0) if centre else None
    eye = np.eye(10) - 0.1
    return DigitProblem(
        inputs=unit_rows(train.images, centre=mean),
        targets=eye[train.labels],
        labels=train.labels.astype(np.int64),
        test_inputs=unit_rows(test.images, centre=mean),
        test_targets=eye[test.labels],
        test_labels=test.labels.astype(np.int64),
        source={"train": train.describe(), "test": test.describe()},
    )


def with_label_noise(
    targets: npt.ArrayLike, *, deviation: float, generator: np.random.Generator
) -> Array:
    """Return `targets` plus independent normal noise of the given deviation.

    Examples
    --------
    >>> y = with_label_noise([[0.0]], deviation=0.0, generator=np.random.default_rng(7))
    >>> y.tolist()
    [[0.0]]
    """
    check_weights("with_label_noise", deviation=deviation)
    y = np.asarray(targets, dtype=np.float64)
    return y + deviation * generator.standard_normal(y.shape)


def _check(kernel: Array, targets: Array, cross: Array) -> None:
    n = kernel.shape[0] if kernel.ndim else 0
    for name, value, fits in (
        ("kernel", kernel, kernel.shape == (n, n) and n > 0),
        ("targets", targets, targets.ndim == 2 and len(targets) == n),
        ("cross", cross, cross.ndim == 2 and cross.shape[-1] == n),
    ):
        if not fits or not np.isfinite(value).all():
            raise ValueError(
                f"minimum_norm: `{name}` must be finite and fit {n} training inputs, but"
                f" it has shape {value.shape}, or an entry is not finite"
            )
    check_symmetric("minimum_norm", "kernel", kernel, 1e-10)
