"""Finite populations on which risks are sums: small random ones, and a fine circle.

Everything here is the measured side: it imports nothing of the library on trial.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from verify.compare import Array

# mpmath carries no types.
_mp: Any = mpmath

# --- small problems ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Problem:
    """A population of (x, y) pairs with weights, and the rows of it that were drawn.

    Attributes
    ----------
    x : float array, shape (atoms, d)
        Unit feature vectors.
    y : float array, shape (atoms,)
        Labels in [-1, 1]; the same x may occur with several.
    weights : float array, shape (atoms,)
        Probabilities.
    drawn : int array, shape (n,)
        Rows of the training sample.
    """

    x: Array
    y: Array
    weights: Array
    drawn: npt.NDArray[np.int64]

    @property
    def covariance(self) -> Array:
        """Sigma = E x x'."""
        return (self.x * self.weights[:, None]).T @ self.x

    @property
    def optimum(self) -> Array:
        """The linear predictor of least risk, of smallest norm."""
        root = np.sqrt(self.weights)
        rows, labels = self.x * root[:, None], self.y * root
        theta: Array = np.linalg.lstsq(rows, labels, rcond=1e-10)[0].astype(np.float64)
        return theta

    @property
    def sample(self) -> Array:
        """The feature rows that were drawn."""
        return self.x[self.drawn]


def problem(spec: Mapping[str, Any]) -> Problem:
    """Return the problem of a case: a named sharp one, or a random one by its seed."""
    kind = spec["kind"]
    if kind == "opposed":
        # Bias and noise point the same way along the only direction that counts.
        w, half = spec["rare"], math.sqrt(0.5)
        x = np.array([[1.0, 0.0], [1.0, 0.0], [half, half]])
        y = np.array([1.0, -1.0, -half])
        return Problem(x, y, np.array([w / 2, w / 2, 1 - w]), np.array([0]))
    if kind == "missed":
        # The optimum lies along the heaviest direction, which was not drawn.
        w = spec["rare"]
        x = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        y = np.array([1.0, -1.0, 1.0])
        return Problem(x, y, np.array([w / 2, w / 2, 1 - w]), np.array([0]))
    if kind == "contrary":
        # One x; the label drawn is the one that the optimum contradicts.
        t = spec["norm"]
        x, y = np.ones((2, 1)), np.array([1.0, -1.0])
        return Problem(x, y, np.array([1 + t, 1 - t]) / 2, np.array([1]))
    return _random(**{k: spec[k] for k in ("dim", "n", "atoms", "heavy", "seed")})


def _random(*, dim: int, n: int, atoms: int, heavy: float, seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    while True:
        x = rng.standard_normal((atoms, dim))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        drawn = rng.choice(atoms, n, replace=False)
        weights = 0.01 + rng.random(atoms) ** heavy
        spread = np.linalg.cond(x * np.sqrt(weights)[:, None])
        # Rounding of the float64 side grows with both; see the claims' tolerances.
        if np.linalg.cond(x[drawn]) < 1e3 and spread < 1e4:
            break
    y = np.sign(rng.standard_normal(2 * atoms)) * rng.random(2 * atoms) ** 0.25
    # Every x carries two labels; the first of them is the one drawn.
    halves = np.repeat(weights / weights.sum() / 2, 2)
    return Problem(np.repeat(x, 2, axis=0), y, halves, 2 * drawn.astype(np.int64))


SHARP: tuple[dict[str, Any], ...] = (
    {"kind": "opposed", "rare": 1e-4},
    {"kind": "missed", "rare": 1e-3},
    {"kind": "contrary", "norm": 0.0},
    {"kind": "contrary", "norm": 0.5},
    {"kind": "random", "dim": 6, "n": 4, "atoms": 20, "heavy": 4.0, "seed": 1},
)


def problems() -> st.SearchStrategy[dict[str, Any]]:
    """Random problems: up to 8 features, weights from equal to one heavy atom."""

    def build(parts: tuple[int, int, int, float, int]) -> dict[str, Any]:
        dim, less, more, heavy, seed = parts
        n = max(1, dim - less)
        shape = {"dim": dim, "n": n, "atoms": dim + more}
        return {"kind": "random", **shape, "heavy": heavy, "seed": seed}

    return st.tuples(
        st.integers(1, 8),
        st.integers(0, 4),
        st.integers(1, 12),
        st.sampled_from((0.0, 1.0, 8.0, 40.0)),
        st.integers(0, 10_000),
    ).map(build)


@dataclass(frozen=True)
class Exact:
    """A problem solved from the definitions with 50 digits."""

    excess: Any
    distance: Any
    bias: Any
    noise: Any


@lru_cache(maxsize=256)
def _solved(key: tuple[tuple[str, Any], ...]) -> Exact:
    p = problem(dict(key))
    with _mp.workdps(50):
        x, y = _mp.matrix(p.x.tolist()), _mp.matrix(p.y.tolist())
        for i in range(x.rows):
            row = x[i, :]
            x[i, :] = row / _mp.sqrt((row * row.T)[0])
        w = _mp.diag([_mp.mpf(float(v)) for v in p.weights])
        sigma, moment = x.T * w * x, x.T * (w * y)
        best = _mp.lu_solve(sigma, moment)
        sample = _mp.matrix([[x[int(i), j] for j in range(x.cols)] for i in p.drawn])
        labels = _mp.matrix([y[int(i)] for i in p.drawn])
        fitted = _interpolant(sample, labels)
        # The two parts of theta_hat - theta*: what the sample cannot see, and noise.
        missed = best - _interpolant(sample, sample * best)
        spread = _interpolant(sample, labels - sample * best)
        return Exact(
            _risk(x, y, w, fitted) - _risk(x, y, w, best),
            _square(sigma, fitted - best),
            _square(sigma, missed),
            _square(sigma, spread),
        )


def solved(spec: Mapping[str, Any]) -> Exact:
    """Return risks and their parts, from the definitions."""
    return _solved(tuple(sorted(spec.items())))


def _interpolant(sample: Any, labels: Any) -> Any:
    return sample.T * _mp.lu_solve(sample * sample.T, labels)


def _risk(x: Any, y: Any, w: Any, theta: Any) -> Any:
    residual = y - x * theta
    return (residual.T * w * residual)[0]


def _square(sigma: Any, v: Any) -> Any:
    return (v.T * sigma * v)[0]


# --- a circle of many atoms ----------------------------------------------------------


def relu_layer(d: Array) -> Array:
    r"""Return 1 - dual(1 - d) of the normalised ReLU, from the arc-cosine formula.

    .. math:: \frac{\pi (1 - \cos\theta) - \sin\theta + \theta\cos\theta}{\pi - 1}
    """
    theta = 2.0 * np.arcsin(np.sqrt(np.clip(d, 0.0, 2.0) / 2.0))
    direct = np.sin(theta) - theta * (1.0 - d)
    # The difference cancels below 0.05; the next term is theta^11/3991680.
    square = theta * theta
    tail = 1 / 30 - square * (1 / 840 - square / 45360)
    series = theta * square * (1 / 3 - square * tail)
    return (np.pi * d - np.where(theta < 0.05, series, direct)) / (np.pi - 1.0)


@lru_cache(maxsize=8)
def circle_section(atoms: int, depth: int) -> Array:
    """Return the deep kernel of atom 0 with each of `atoms` equally spaced points.

    An odd number of atoms leaves no antipodes. The kernel matrix is circulant.
    """
    half = np.arange(atoms // 2 + 1)
    d = 2.0 * np.sin(np.pi * half / atoms) ** 2
    for _ in range(depth):
        d = relu_layer(d)
    section = np.empty(atoms)
    section[: len(half)] = 1.0 - d
    section[len(half) :] = section[1 : atoms - len(half) + 1][::-1]
    return section


def circle_norm(atoms: int, depth: int, first: float) -> float:
    """Return ||Sigma|| when atom 0 has probability `first`, the others equal ones."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    transform = np.fft.fft(circle_section(atoms, depth)).real
    if first * atoms <= 1.0:
        return float(transform.max()) / atoms
    root = np.full(atoms, math.sqrt((1.0 - first) / (atoms - 1)))
    root[0] = math.sqrt(first)

    def apply(v: Array) -> Array:
        u = root * v.ravel()
        return root * np.fft.ifft(transform * np.fft.fft(u)).real

    # Complex transforms of real data keep the operator symmetric to rounding.
    operator: Any = LinearOperator((atoms, atoms), matvec=apply, dtype=np.float64)
    start = root / np.linalg.norm(root)
    values: Array = eigsh(
        operator, k=1, which="LA", v0=start, return_eigenvectors=False
    )
    return float(values[0])


def circle_signal(atoms: int, depth: int, first: float) -> float:
    """Second moment of k(., atom 0), whose probability is `first`, the others' equal."""
    squares = circle_section(atoms, depth)[1:] ** 2
    return first + (1.0 - first) * float(squares.mean())


@dataclass(frozen=True, eq=False)
class Draw:
    """Minimum-norm interpolation of one sample from the circle.

    `least` is the smallest eigenvalue of its kernel matrix, `norm` that of the optimum,
    `signal` the second moment of the optimal predictor.
    """

    excess: float
    least: float
    norm: float
    signal: float


def circle_draw(*, atoms: int, depth: int, n: int, norm: float, seed: int) -> Draw:
    """Draw n atoms with noisy labels of mean f*, interpolate, and measure the risk.

    f* is a combination of kernel sections at three atoms with ||theta*|| = `norm`; the
    labels are +1 and -1.
    """
    rng, section = np.random.default_rng(seed), circle_section(atoms, depth)
    transform = np.fft.fft(section).real
    # E_x k(x, x_i) k(x, x_j), a circulant again.
    overlap = np.fft.ifft(transform**2).real / atoms
    centres, drawn = rng.choice(atoms, 3, replace=False), rng.integers(0, atoms, n)
    points = np.concatenate([drawn, centres])
    apart = (points[:, None] - points) % atoms
    return _interpolated(section[apart], overlap[apart], norm, rng)


def _interpolated(
    kernel: Array, overlap: Array, norm: float, rng: np.random.Generator
) -> Draw:
    """Interpolate noisy labels at all points but the last three, the centres of f*.

    Of each pair of points x, x' the kernel k(x, x') and `overlap`, E_z k(z, x) k(z, x').
    """
    n = len(kernel) - 3
    c = rng.standard_normal(3)
    c *= norm / math.sqrt(c @ kernel[n:, n:] @ c)
    y = np.where(rng.random(n) < (1.0 + kernel[:n, n:] @ c) / 2.0, 1.0, -1.0)
    sample = kernel[:n, :n]
    least = float(np.linalg.eigvalsh(sample)[0])
    # Two equal draws leave no interpolator, and nothing to measure.
    found = least > 1e-10
    alpha = np.linalg.solve(sample, y) if found else np.zeros(n)
    beta = np.concatenate([alpha, -c])
    excess = float(beta @ overlap @ beta) if found else math.inf
    return Draw(excess, least, norm, float(c @ overlap[n:, n:] @ c))


# --- a cube of very many atoms ---------------------------------------------------------


def cube_draw(*, dim: int, depth: int, n: int, norm: float, seed: int) -> Draw:
    """Draw from {1, -1}^d / sqrt(d) with an even number of -1, d odd; see `circle_draw`.

    2^(d-1) atoms without antipodes, a group under entrywise products: kernels depend on
    the number of signs in which two points differ, and so do overlaps.
    """
    rng, signs = np.random.default_rng(seed), np.arange(0, dim + 1, 2)
    d = 2.0 * signs / dim
    for _ in range(depth):
        d = relu_layer(d)
    section = dict(zip(signs.tolist(), (1.0 - d).tolist(), strict=True))

    def overlap(w: int) -> float:
        # z differs from x in a of the w signs where x and x' do, and in b of the others.
        return math.fsum(
            math.comb(w, a)
            * math.comb(dim - w, b)
            * section[a + b]
            * section[w - a + b]
            for a in range(w + 1)
            for b in range(a % 2, dim - w + 1, 2)
        ) / 2.0 ** (dim - 1)

    words = rng.integers(0, 2, (n + 3, dim))
    words[:, -1] = words[:, :-1].sum(axis=1) % 2
    points = 1.0 - 2.0 * words
    apart = np.rint((dim - points @ points.T) / 4.0).astype(int)
    tables = [[section[w], overlap(w)] for w in signs.tolist()]
    kernel, both = np.array(tables).T
    return _interpolated(kernel[apart], both[apart], norm, rng)
