r"""What infinitely wide networks predict: Gaussian process regression, gradient flow.

A wide network is linear in its parameters while it trains. From random parameters, by
gradient flow on :math:`\tfrac12 \sum_i (f(x_i) - y_i)^2 + \tfrac{\lambda}{2}
|\theta - \theta_0|^2`, its outputs at other inputs * and at time t are Gaussian, with

.. math::

   \mu_t = A_t\, y, \qquad
   C_t = \Sigma_{**} - A_t \Sigma_{x*} - \Sigma_{*x} A_t^T + A_t \Sigma_{xx} A_t^T,
   \qquad A_t = T_{*x}\, \frac{1 - e^{-t (T_{xx} + \lambda)}}{T_{xx} + \lambda},

:math:`\Sigma` the NNGP kernel and T the tangent kernel of what is trained. Trained in its
readout alone (:math:`T = \Sigma`), for all times, a network is a draw from the posterior
of the Gaussian process: regression with the NNGP kernel.

Sources: Jacot, Gabriel, Hongler (2018); Lee et al. (2018) for the posterior; Lee et al.
(2019), equations 14 to 16, for the flow.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._naming import in_own_name, publish
from theory._recursion.kernel_matrices import Rows, chosen, kernels, normed
from theory._recursion.layers import Layers, Network

Array = npt.NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)

DIGITS = 1e3
"""What lies above the rounding of a kernel by less than this factor is undecided."""


@dataclass(frozen=True, eq=False)
class Prediction:
    r"""Outputs of infinitely wide networks, a Gaussian process at every time.

    Attributes
    ----------
    mean : array, (..., m) or (..., m, k)
        In the units of the targets; leading axes are those of the times, the rest as
        the targets'.
    covariance : array, (..., m, m), or None if it was not asked for
        Over random networks, of each output; outputs are independent. Symmetric, with
        variances that are at least 0.
    rank : int
        How many directions of the targets are learnt, sooner or later. Below the number
        of training rows where rows coincide or the network is too simple to fit them;
        the rest of the targets stays unlearnt at all times.
    """

    mean: Array
    covariance: Array | None
    rank: int

    @property
    def variance(self) -> Array:
        """Variances of the outputs, (..., m), in squared units of the targets."""
        if self.covariance is None:
            raise ValueError("Prediction: `variance` needs `covariance=True`.")
        return np.einsum("...ii->...i", self.covariance)


@in_own_name
def predict(
    x_train: Any,
    targets: Any,
    x_test: Any,
    activation: Network,
    depth: int | None = None,
    *,
    times: Any = np.inf,
    kernel: str = "ntk",
    noise_var: float = 0.0,
    ridge: float = 0.0,
    covariance: bool = True,
    weight_var: float = 1.0,
    bias_var: float = 0.0,
    sphere: bool = False,
    trained: Iterable[int] | None = None,
) -> Prediction:
    r"""Predict at `x_test` with infinitely wide networks trained on `targets`.

    Parameters
    ----------
    x_train : array_like, (n, d)
        Training inputs of any lengths; rows may repeat.
    targets : array_like, (n,) or (n, k)
        One number a row, or k outputs.
    x_test : array_like, (m, d)
        Where to predict.
    activation, depth, weight_var, bias_var, sphere
        The network, as for `theory.kernels.nngp`.
    times : array_like, at least 0
        Of gradient flow on half the sum of the squared errors: after s steps of
        gradient descent with a small rate eta, t = eta s, and eta s / n if the errors
        are averaged. By default, at infinity, networks trained to the end.
    kernel : {"ntk", "nngp"}
        All layers are trained, or those of `trained`; or the readout alone, which by
        infinity is exact Bayesian inference with the NNGP kernel as prior.
    noise_var : float
        Variance of Gaussian noise in the targets. Every network is fitted to targets
        with noise of its own, as it is regularised: at infinity, with "nngp", outputs
        are draws from the posterior.
    ridge : float
        The penalty lambda on the squared distance from the first parameters.
    covariance : bool
        False saves the kernel of the m test inputs.
    trained : iterable of int
        As for `theory.kernels.ntk`; only with ``kernel="ntk"``.

    Returns
    -------
    Prediction

    Raises
    ------
    ValueError
        For shapes that do not fit, negative numbers, or results beyond float64; or where
        a time is so long that eigenvalues next to rounding would decide: give
        `noise_var`, `ridge` or an earlier time.

    Notes
    -----
    Rows that coincide are merged exactly. Other eigenvalues of the training kernel below
    n ulps of the largest, apart from the rest, are the zeros of a kernel of lower rank.
    The relative error, in units of what the kernel allows targets of their size to
    reach, is n ulps times ``lambda_max min(t, 1/lambda_min)``.

    Examples
    --------
    >>> from theory import activations as act
    >>> x, y = [[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0]
    >>> found = predict(x, y, x, act.relu, 3, times=[0.0, 0.2, np.inf], weight_var=2.0)
    >>> found.mean.round(4).tolist()
    [[0.0, 0.0], [0.6914, -0.6914], [1.0, -1.0]]
    >>> found.variance.round(4).tolist()
    [[2.0, 2.0], [0.0656, 0.0656], [0.0, 0.0]]
    """
    who = "predict"
    rows, y, counts, test = _given(who, x_train, targets, x_test)
    times = _checks.times(who, "times", times)
    tangent = _checks.choice(who, "kernel", kernel, ("ntk", "nngp")) == "ntk"
    if trained is not None and not tangent:
        raise ValueError(
            f"{who}: `trained` must be left out with kernel='nngp', where the readout"
            f" is trained, got {trained!r:.80}."
        )
    every = np.concatenate([rows, test])
    other = None if _checks.flag(who, "covariance", covariance) else rows
    network = Layers.read(who, activation, depth, weight_var, bias_var, tangent=tangent)
    which = chosen(who, trained, network.depth) if tangent else frozenset[int]()
    k, t = kernels(who, network, Rows.read(who, every, other, sphere=sphere), which)
    model = _Model(who, y, counts, k if t is None else t, k if covariance else None)
    penalty = _checks.scalar(who, "ridge", ridge)
    return model.at(times, penalty, _checks.scalar(who, "noise_var", noise_var))


def predict_from_kernels(
    targets: Any,
    ntk: Any,
    nngp: Any = None,
    *,
    times: Any = np.inf,
    noise_var: float = 0.0,
    ridge: float = 0.0,
) -> Prediction:
    r"""Predict as `predict` from kernels: measured ones, or another architecture's.

    Parameters
    ----------
    targets : array_like, (n,) or (n, k)
    ntk : array_like, (n + m, n) or (n + m, n + m)
        T between the n training inputs, then the m others, and the training inputs;
        further columns are not looked at. Symmetric positive semidefinite up to
        rounding. The NNGP kernel here stands for training the readout alone.
    nngp : array_like, (n + m, n + m), optional
        Sigma, of all inputs; without it there is no covariance.
    times, noise_var, ridge
        As for `predict`.

    Returns
    -------
    Prediction

    Examples
    --------
    Regression with a noisy observation of a standard normal number:

    >>> found = predict_from_kernels([3.0], np.ones((2, 2)), np.ones((2, 2)), noise_var=0.5)
    >>> found.mean.round(12).tolist(), found.covariance.round(12).tolist()
    ([2.0], [[0.333333333333]])
    """
    who = "predict_from_kernels"
    y = _targets(who, targets)
    n = len(y)
    t = _checks.real(who, "ntk", ntk)
    if t.ndim != 2 or t.shape[1] not in (n, len(t)) or len(t) <= n:
        need = f"have shape (n + m, n) or (n + m, n + m), m > 0, for {n} targets"
        raise _checks.misshapen(who, "ntk", need, t)
    _symmetric(who, "ntk", t[:n, :n])
    k = None
    if nngp is not None:
        k = _checks.shaped(who, "nngp", nngp, (len(t), len(t)))
        _symmetric(who, "nngp", k)
    model = _Model(who, y, np.ones(n), t[:, :n], k)
    times = _checks.times(who, "times", times)
    penalty = _checks.scalar(who, "ridge", ridge)
    return model.at(times, penalty, _checks.scalar(who, "noise_var", noise_var))


# --- what is given --------------------------------------------------------------------


def _targets(who: str, targets: Any) -> Array:
    y = _checks.real(who, "targets", targets)
    if y.ndim not in (1, 2) or y.size == 0:
        raise _checks.misshapen(who, "targets", "have shape (n,) or (n, k)", y)
    return y


def _given(
    who: str, x_train: Any, targets: Any, x_test: Any
) -> tuple[Array, Array, Array, Array]:
    """Return training rows that differ, mean targets and counts of each, test rows."""
    x = normed(who, "x_train", x_train)[0]
    test = normed(who, "x_test", x_test)[0]
    if x.shape[1] != test.shape[1]:
        need = f"have the columns of `x_train`, {x.shape[1]}"
        raise _checks.misshapen(who, "x_test", need, test)
    y = _targets(who, targets)
    if len(y) != len(x):
        need = f"have one row for each of `x_train`, {len(x)}"
        raise _checks.misshapen(who, "targets", need, y)
    rows, group, counts = np.unique(x, axis=0, return_inverse=True, return_counts=True)
    if len(rows) == len(x):
        return x, y, np.ones(len(x)), test
    means = np.zeros((len(rows), *y.shape[1:]))
    np.add.at(means, group.reshape(-1), (y.T / counts[group.reshape(-1)]).T)
    return rows, means, counts.astype(np.float64), test


def _symmetric(who: str, name: str, k: Array) -> None:
    # Kernels measured in single precision are good to 1e-7.
    size = float(np.abs(k).max())
    gap = float(np.abs(k - k.T).max())
    if gap > 1e-6 * size:
        raise ValueError(
            f"{who}: `{name}` must be symmetric, got entries that differ by {gap:.3g}"
            f" from their transposes."
        )


# --- the flow -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Model:
    """Distinct training rows with their counts and mean targets, and kernels.

    The flow of rows that coincide depends on their mean target alone. In coordinates
    scaled by the roots of the counts it is the flow of distinct rows.
    """

    who: str
    y: Array
    counts: Array
    t: Array
    k: Array | None

    def at(self, times: Array, ridge: float, noise_var: float) -> Prediction:
        """Return the prediction at the times."""
        n, root = len(self.y), np.sqrt(self.counts)
        values, vectors = np.linalg.eigh(root[:, None] * self.t[:n, :n] * root)
        cross = (self.t[n:, :n] * root) @ vectors
        y = vectors.T @ (root[:, None] * self.y.reshape(n, -1))
        spectrum = _Spectrum.of(self.who, values, ridge + noise_var)
        # A direction in which all features vanish is seen by no other input: what is
        # left of it is rounding, which would grow with time.
        seen = np.abs(cross).max(axis=0) > n * EPS * float(np.abs(self.t).max())
        cross[:, (values <= spectrum.rounding) & ~seen] = 0.0
        responses = spectrum.responses(self.who, times.ravel())
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.array([(cross * r) @ y for r in responses])
        shape = (*times.shape, len(cross), *self.y.shape[1:])
        mean = _checks.result(self.who, mean.reshape(shape), "targets")
        if self.k is None:
            return Prediction(mean, None, spectrum.rank)
        factor = _factor(self.who, self.k)
        train, test = vectors.T @ (root[:, None] * factor[:n]), factor[n:]
        with np.errstate(over="ignore", invalid="ignore"):
            found = [_covariance(test, cross * r, train, noise_var) for r in responses]
        square = np.array(found).reshape(*times.shape, len(cross), len(cross))
        kernels = ("ntk", "nngp") if self.who == "predict_from_kernels" else ()
        _checks.result(self.who, square, *kernels, "noise_var")
        return Prediction(mean, square, spectrum.rank)


def _covariance(test: Array, response: Array, train: Array, noise_var: float) -> Array:
    """Return the covariance of f_* - A f_x as the square of its factor."""
    part = test - response @ train
    out = part @ part.T
    if noise_var:
        out += noise_var * (response @ response.T)
    return out


@dataclass(frozen=True, eq=False)
class _Spectrum:
    """Eigenvalues of the training kernel, ascending, with what rounding leaves of them.

    They are known to `rounding`, n ulps of the largest.
    """

    values: Array
    penalty: float
    rounding: float

    @staticmethod
    def of(who: str, values: Array, penalty: float) -> "_Spectrum":
        rounding = len(values) * EPS * float(np.abs(values).max())
        least = float(values[0])
        if least + penalty < -DIGITS * rounding:
            raise ValueError(
                f"{who}: `ntk` must be positive semidefinite, got the eigenvalue"
                f" {least:.3g}; the largest is {values[-1]:.3g}."
            )
        return _Spectrum(np.maximum(values, 0.0), penalty, rounding)

    @property
    def rank(self) -> int:
        return int(np.count_nonzero(self.values > self.rounding))

    def responses(self, who: str, times: Array) -> Array:
        """Return (1 - e^(-t s)) / s for every time and s, eigenvalue plus penalty."""
        from scipy.special import exprel

        s = self.values + self.penalty
        limit = DIGITS * self.rounding
        with np.errstate(all="ignore"):  # an overflow the mean shows
            late = np.isinf(times) | (times * limit > 1.0)
            x = times[:, None] * s
            early = times[:, None] * exprel(-x)
            out = np.where(x <= 1.0, early, -np.expm1(-x) / s)
        # At a time t eigenvalues far below 1/t need not be known.
        open_ = s <= limit
        null = open_ & (self.values <= self.rounding)
        self._require_decided(who, times[late], s[open_ & ~null])
        out[np.ix_(late, null)] = 0.0
        return out

    def _require_decided(self, who: str, late: Array, near: Array) -> None:
        if not len(late) or not len(near):
            return
        limit = DIGITS * self.rounding
        raise ValueError(
            f"{who}: `times` must be at most {1.0 / limit:.3g} for these training inputs,"
            f" or `ridge` or `noise_var` at least {limit:.3g}, got the time"
            f" {late.max():g}. Some rows, or combinations of rows, nearly coincide:"
            f" their eigenvalues, {near.min():.3g} at least, are too close to the"
            f" rounding of the largest, {self.values[-1]:.3g}, to say what is learnt."
        )


def _factor(who: str, k: Array) -> Array:
    """Return L with L L^T = K up to rounding, also for a singular K, (n, rank).

    Rounding of an entry is that of its row and column: inputs may be far away.
    """
    from scipy.linalg import lapack

    size, tolerance = float(k.diagonal().max()), len(k) * EPS
    root = _sizes(k)
    part = k / root[:, None] / root
    raw, pivots, rank, _ = lapack.dpstrf(part, tol=tolerance, lower=1)
    order = np.asarray(pivots) - 1
    lower = np.tril(np.asarray(raw))[:, :rank] * root[order, None]
    rest = order[rank:]
    if len(rest):
        # What is left has no pivot above rounding: of a kernel, it is rounding.
        left = k[np.ix_(rest, rest)] - lower[rank:] @ lower[rank:].T
        if float(np.abs(left).max()) > DIGITS * tolerance * size:
            raise ValueError(
                f"{who}: `nngp` must be positive semidefinite, got a matrix with a"
                f" remainder of {np.abs(left).max():.3g} after {rank} pivots; its"
                f" largest entry is {size:.3g}."
            )
    out = np.empty_like(lower)
    out[order] = lower
    return out


def _sizes(k: Array) -> Array:
    """Return the roots of the diagonal, larger where entries beside it are."""
    root = np.sqrt(np.maximum(k.diagonal(), 0.0))
    seen = np.where(root > 0.0, root, 1.0)
    larger = (root >= root[:, None]) & (root > 0.0)
    root = np.maximum(root, np.where(larger, np.abs(k) / seen, 0.0).max(axis=1))
    return np.where(root > 0.0, root, 1.0)


publish(globals())
