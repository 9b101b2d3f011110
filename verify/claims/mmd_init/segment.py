"""Two classes: the discrepancy from the uniform law itself, in closed form."""

import itertools
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
import numpy as np
import torch
from flint import arb

from theory import mmd
from verify.claim import grid, numeric, statistical
from verify.claims._predictors import always, changed, mistake, times
from verify.claims.mmd_init._samples import Array, generator
from verify.claims.mmd_init._sources import as_read, ours
from verify.compare import AgreesTo, Estimate, MeanEquals

_GAMMAS = (1e-6, 0.02, 0.3, 0.49, 0.5, 1.0, 1.3, 40.0, 1e6)

# 1 - 2 + 1 cancels to gamma^-4: 24 digits of 60 at the widest kernel.
_DIGITS = 60


def _integral(f: Any, low: Any, high: Any, centre: Any, width: Any) -> Any:
    """Integrate a bump of this width, cut where its scale changes."""
    cuts = [centre + s * width * 2**k for s in (-1, 1) for k in range(-1, 6)]
    inner = sorted({c for c in [*cuts, centre] if low < c < high})
    return mpmath.quad(f, [low, *inner, high])


def _embedding(p: Any, gamma: Any) -> Any:
    def bump(u: Any) -> Any:
        return mpmath.exp(-((p - u) ** 2) / gamma**2)

    return _integral(bump, mpmath.mpf(0), mpmath.mpf(1), p, gamma)


def _mean(gamma: Any) -> Any:
    def folded(t: Any) -> Any:
        return 2 * (1 - t) * mpmath.exp(-(t**2) / gamma**2)

    return _integral(folded, mpmath.mpf(0), mpmath.mpf(1), mpmath.mpf(0), gamma)


def _measure_mean(*, gamma: float) -> Any:
    with mpmath.workdps(30):
        return _mean(mpmath.mpf(gamma))


def _whole_line(*, gamma: float) -> float:
    """Distances on the whole line, as if the segment had no ends."""
    return gamma * np.sqrt(np.pi)


MEAN = numeric(
    id="mmd/seg-mean",
    title="The mean kernel of two uniform points of the segment",
    statement=(
        r"\mathbb{E}\,k(u,u')=\gamma\sqrt\pi\operatorname{erf}(1/\gamma)"
        r"-\gamma^2\bigl(1-e^{-1/\gamma^2}\bigr)"
    ),
    source=ours("Equation 9, last term; the closed form is ours"),
    cases=grid(gamma=(*_GAMMAS, 1e-12)),
    predict=mmd.segment_kernel_mean,
    measure=_measure_mean,
    # The library's promise, 8 eps.
    compare=AgreesTo(relative=2e-15),
    must_refute=_whole_line,
    uses=("mmd/seg-embedding",),
)


def _measure_embedding(*, p: float, gamma: float) -> list[Any]:
    """The mean of the kernel, and of its slope, as integrals."""
    with mpmath.workdps(30):
        x, g = mpmath.mpf(p), mpmath.mpf(gamma)

        def slope(u: Any) -> Any:
            return -2 * (x - u) / g**2 * mpmath.exp(-((x - u) ** 2) / g**2)

        low, high = mpmath.mpf(0), mpmath.mpf(1)
        return [_embedding(x, g), _integral(slope, low, high, x, g)]


def _predict_embedding(*, p: float, gamma: float) -> list[float]:
    return [mmd.segment_embedding(p, gamma), mmd.segment_embedding_derivative(p, gamma)]


EMBEDDING = numeric(
    id="mmd/seg-embedding",
    items=("Seg", "Eq9"),
    title="The mean kernel of a prediction and a uniform point, and its derivative",
    statement=(
        r"h_\gamma(p)=\tfrac{\gamma\sqrt\pi}2\bigl[\operatorname{erf}\tfrac p\gamma"
        r"+\operatorname{erf}\tfrac{1-p}\gamma\bigr],\quad"
        r" h'=e^{-p^2/\gamma^2}-e^{-(1-p)^2/\gamma^2}"
    ),
    source=ours("Equation 9, middle term; the closed form is ours"),
    cases=grid(p=(0.0, 1e-3, 0.3, 0.75, 1.0), gamma=(0.02, 0.3, 1.0, 1e6)),
    predict=_predict_embedding,
    measure=_measure_embedding,
    # The absolute part is for slopes whose integral cancels, 0.02 wide: 1e-28 / 0.02.
    compare=AgreesTo(relative=4e-15, absolute=1e-25),
    must_refute=mistake(
        "Distances |p - p'| in the place of sqrt(2) |p - p'|.", gamma=times(2.0**0.5)
    ),
    uses=("mmd/eq3",),
)


def _measure_tail(*, p: float, gamma: float) -> Any:
    """The kernel of both ends, one less the other: what the mean's integrand leaves."""
    with mpmath.workdps(_DIGITS):
        x, g = mpmath.mpf(p), mpmath.mpf(gamma)
        return mpmath.exp(-((x / g) ** 2)) - mpmath.exp(-(((1 - x) / g) ** 2))


def _rounded_exponent(*, p: float, gamma: float) -> float:
    """The exponent rounded before the exponential."""
    return float(np.exp(-((p / gamma) ** 2)) - np.exp(-(((1.0 - p) / gamma) ** 2)))


TAIL = numeric(
    id="mmd/seg-tail",
    items=("Seg", "Eq9"),
    title="Slopes of the mean kernel keep their digits far from both ends",
    statement=r"h'=e^{-p^2/\gamma^2}-e^{-(1-p)^2/\gamma^2},\quad p\gg\gamma",
    source=ours("Equation 9, middle term; the closed form is ours"),
    cases=grid(p=(0.1, 0.3, 0.45, 0.9), gamma=(0.017, 0.02)),
    predict=mmd.segment_embedding_derivative,
    measure=_measure_tail,
    # The library's promise, 8 eps.
    compare=AgreesTo(relative=2e-15),
    must_refute=_rounded_exponent,
    uses=("mmd/seg-embedding",),
)


def _measure_point(*, p: float, gamma: float) -> Any:
    with mpmath.workdps(_DIGITS):
        x, g = mpmath.mpf(p), mpmath.mpf(gamma)
        return 1 - 2 * _embedding(x, g) + _mean(g)


def _subtracted(*, p: float, gamma: float) -> float:
    """The three terms subtracted in float64."""
    return 1.0 - 2.0 * mmd.segment_embedding(p, gamma) + mmd.segment_kernel_mean(gamma)


POINT = numeric(
    id="mmd/seg-point",
    items=("Seg", "Eq7"),
    title="The squared MMD of one constant prediction from the uniform law",
    statement=r"\mathrm{MMD}(\delta_p,U)=1-2h_\gamma(p)+\mathbb{E}\,k(u,u')",
    source=ours("Equation 7; the closed form is ours"),
    cases=grid(p=(0.0, 0.1, 0.5, 0.75), gamma=_GAMMAS),
    predict=mmd.segment_point_mmd,
    measure=_measure_point,
    # The library's promise.
    compare=AgreesTo(relative=1e-14),
    must_refute=_subtracted,
    uses=("mmd/seg-embedding", "mmd/seg-mean"),
    finding=(
        "Wide kernels see the mean first, 2 (p - 1/2)^2 / gamma^2. At p = 1/2 the"
        " discrepancy falls like gamma^-4 / 48, which cancellation would lose."
    ),
)


def _predictions(count: int, seed: int) -> Array:
    """Softmax probabilities of the first of two classes, two equal, some neighbours."""
    rng = np.random.default_rng([75, seed])
    p = 1.0 / (1.0 + np.exp(-rng.standard_normal(count)))
    p[1 : count // 8] = p[0] + np.spacing(p[0]) * np.arange(1, count // 8)
    p[-1] = p[0]
    return p


# Gauss-Legendre points integrate over sixteen deviations of a kernel to rounding.
_RULE = np.array(
    [
        [np.longdouble(v.str(30, radius=False)) / 2 for v in node]
        for node in (arb.legendre_p_root(120, k, weight=True) for k in range(120))
    ]
)
_U, _W = _RULE[:, 0] + 0.5, _RULE[:, 1]


def _measure_law(*, count: int, bandwidths: list[float], seed: int) -> Array:
    """Sums over pairs and quadrature, unbiased and biased."""
    p, found = _predictions(count, seed).astype(np.longdouble), np.zeros(2)
    for gamma in bandwidths:
        # A row at a time: numbers of this precision are large.
        total = sum(np.exp(-np.square((p - v) / gamma)).sum() for v in p)
        low, high = np.maximum(p - 8.0 * gamma, 0.0), np.minimum(p + 8.0 * gamma, 1.0)
        u = low[:, None] + np.outer(high - low, _U)
        near = np.exp(-np.square((p[:, None] - u) / gamma)) @ _W * (high - low)
        rest = np.longdouble(str(_mean(mpmath.mpf(gamma)))) - 2.0 * near.mean()
        found[0] += (total - count) / (count * (count - 1)) + rest
        found[1] += total / count**2 + rest
    return found


def _predict_law(*, count: int, bandwidths: list[float], seed: int) -> list[float]:
    p = _predictions(count, seed)
    return [mmd.segment_mmd(p, bandwidths), mmd.segment_mmd(p, bandwidths, "biased")]


def _midpoints(*, count: int, bandwidths: list[float], seed: int) -> list[float]:
    """A hundred midpoints in the place of the uniform law."""
    p, u = _predictions(count, seed), (np.arange(100) + 0.5) / 100
    x, y = (np.stack([q, 1.0 - q], axis=1) for q in (p, u))
    return [mmd.mmd_squared(x, y, bandwidths, kind) for kind in ("unbiased", "biased")]


LAW = numeric(
    id="mmd/seg",
    items=("Seg", "Eq9", "Est"),
    title=(
        "The squared MMD of perturbed predictions from the uniform law, without sampling it"
    ),
    statement=(
        r"V=\tfrac1{M^2}\textstyle\sum_{i,j}k(p_i,p_j)-\tfrac2M\sum_ih(p_i)+\mathbb{E}\,k(u,u'),"
        r"\quad U:\ \tfrac1{M(M-1)}\sum_{i\ne j}k(p_i,p_j)"
    ),
    source=ours("Equation 9; the closed form is ours"),
    cases=(
        *grid(count=(2, 6), bandwidths=([0.1], [0.3, 0.6], [0.5], [1.0, 1e5]), seed=0),
        # More than are summed pair by pair.
        *grid(count=600, bandwidths=([0.1], [0.7], [1e-18]), seed=0),
        # More groups than are summed together.
        *grid(count=2500, bandwidths=([1e-5],), seed=0),
    ),
    predict=_predict_law,
    measure=_measure_law,
    # A few eps a bandwidth.
    compare=AgreesTo(absolute=3e-15),
    must_refute=_midpoints,
    uses=("mmd/est", "mmd/seg-embedding", "mmd/seg-mean"),
)


_OTHER = {"biased": "unbiased", "unbiased": "biased"}


def _measure_slopes(
    *, count: int, bandwidths: list[float], estimator: str, seed: int
) -> Array:
    """Differentiate the loss by autograd, the uniform law by quadrature."""
    p = torch.from_numpy(_predictions(count, seed)).requires_grad_()
    u, w = (torch.from_numpy(v.astype(np.float64)) for v in (_U, _W))
    loss = torch.zeros((), dtype=torch.float64)
    for gamma in bandwidths:
        pairs = torch.exp(-((p[:, None] - p) ** 2) / gamma**2)
        total = pairs.sum() - (count if estimator == "unbiased" else 0)
        own = total / (count * (count - (estimator == "unbiased")))
        cross = torch.exp(-((p[:, None] - u) ** 2) / gamma**2) @ w
        loss = loss + own - 2.0 * cross.mean()
    (slopes,) = torch.autograd.grad(loss, p)
    return slopes.numpy()


def _predict_slopes(
    *, count: int, bandwidths: list[float], estimator: Any, seed: int
) -> Array:
    return mmd.segment_mmd_gradient(_predictions(count, seed), bandwidths, estimator)


SLOPES = numeric(
    id="mmd/est-gradient",
    items=("Est", "Seg"),
    title="The gradients of the two MMD estimates differ in the weight of one term",
    statement=(
        r"\frac{\partial V}{\partial p_i}=-\frac4{M^2}\sum_j\frac{p_i-p_j}{\gamma^2}"
        r"e^{-(p_i-p_j)^2/\gamma^2}-\frac2Mh'(p_i),\quad M(M-1)\text{ for }M^2\text{ of }U"
    ),
    source=ours("Equation 9 with appendix C.1; the gradient is ours"),
    cases=grid(
        count=(2, 20, 600),
        bandwidths=([0.1], [0.3, 2.0]),
        estimator=("unbiased", "biased"),
        seed=0,
    ),
    predict=_predict_slopes,
    measure=_measure_slopes,
    # 120 terms of the quadrature, of slopes up to 0.9 / gamma = 9: 9 eps sqrt(120), twice
    # over for the differentiated exponentials.
    compare=AgreesTo(absolute=4.5e-14),
    must_refute=mistake("The gradient of the other estimate.", estimator=_OTHER.get),
    uses=("mmd/est", "mmd/seg-embedding"),
)


_STEP = 1e-30


def _start(seed: int) -> tuple[Array, Array, Array]:
    """Parameters (two weights, a bias), one input, and noise held fixed."""
    rng = np.random.default_rng([76, seed])
    return (
        rng.standard_normal(3),
        rng.standard_normal(2),
        0.5 * rng.standard_normal((40, 3)),
    )


def _measure_descent(*, gamma: float, seed: int) -> Array:
    """Imaginary steps of the loss, by sums and quadrature, with the same noise.

    The step is so small that its square is nothing: no difference is taken.
    """
    start, x, noise = _start(seed)
    nodes, weights = np.polynomial.legendre.leggauss(60)

    def loss(theta: Any) -> Any:
        moved = theta + noise
        p = 1.0 / (1.0 + np.exp(-(moved[:, :2] @ x + moved[:, 2])))
        pairs = np.exp(-((p[:, None] - p) ** 2) / gamma**2)
        cross = np.exp(-((p[:, None] - 0.5 - 0.5 * nodes) ** 2) / gamma**2) @ weights
        own = (pairs.sum() - len(p)) / (len(p) * (len(p) - 1))
        return own - cross.mean()

    steps = 1j * _STEP * np.eye(3)
    return np.array([loss(start + h).imag / _STEP for h in steps])


def _descent(gamma: float, seed: int, *, slope: float) -> Array:
    theta, x, noise = _start(seed)
    moved = theta + noise
    p = 1.0 / (1.0 + np.exp(-(moved[:, :2] @ x + moved[:, 2])))
    # dp/dlogit is p (1 - p); the noise is added, so that it is a constant.
    local = mmd.segment_mmd_gradient(p, gamma) * (p * (1.0 - p)) ** slope
    return np.array([*(local.sum() * x), local.sum()])


DESCENT = numeric(
    id="mmd/eq9",
    items=("Eq7", "Eq9", "Eq10"),
    title="Additive noise lets the expected loss be differentiated in the initial weights",
    statement=(
        r"\nabla_{\theta_0}E_\epsilon\,\ell(f_{\theta_0+\epsilon}(x))"
        r"=E_\epsilon\nabla_\theta\ell(f_{\theta_0+\epsilon}(x))"
    ),
    source=as_read("Section 3.1, on reparametrisation; Equations 9 and 10"),
    cases=grid(gamma=(0.1, 0.5), seed=(0, 1)),
    predict=partial(_descent, slope=1.0),
    measure=_measure_descent,
    # Sixty terms of the quadrature, of slopes up to 0.9 / gamma = 9 times dp/dtheta <= 0.6:
    # eps sqrt(60) of them, with two exponentials and the square in each.
    compare=AgreesTo(absolute=3e-14),
    must_refute=changed(
        _descent, "The gradient without the softmax's own slope.", slope=0.0
    ),
    uses=("mmd/est-gradient",),
)

# --- what sampling the uniform law costs ----------------------------------------------


def _unbiased(x: Any, y: Any, gamma: float) -> Any:
    """Unbiased discrepancies of many pairs of samples, one a row."""

    def apart(a: Any) -> Any:
        count = a.shape[1]
        pairs = torch.exp(-((a[:, :, None] - a[:, None]) ** 2) / gamma**2)
        return (pairs.sum(dim=(1, 2)) - count) / (count * (count - 1))

    cross = torch.exp(-((x[:, :, None] - y[:, None]) ** 2) / gamma**2).mean(dim=(1, 2))
    return apart(x) + apart(y) - 2.0 * cross


def _measure_ratio(*, sizes: list[int], gamma: float) -> Estimate:
    """Ratio of mean squares in 40 batches of 1,000 draws; both have mean zero."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    u, w = torch.from_numpy(0.5 + 0.5 * nodes), torch.from_numpy(0.5 * weights)
    own = w @ torch.exp(-((u[:, None] - u) ** 2) / gamma**2) @ w
    found: list[float] = []
    for seed in range(40):
        g = generator(93, seed, *sizes)
        x, y = (torch.rand(1000, n, generator=g, dtype=torch.float64) for n in sizes)
        sampled = _unbiased(x, y, gamma)
        count = sizes[0]
        pairs = torch.exp(-((x[:, :, None] - x[:, None]) ** 2) / gamma**2)
        near = (torch.exp(-((x[:, :, None] - u) ** 2) / gamma**2) @ w).mean(dim=1)
        total = (pairs.sum(dim=(1, 2)) - count) / (count * (count - 1))
        exact = total - 2.0 * near + own
        found.append(float(sampled.square().mean() / exact.square().mean()))
    return Estimate.of(found)


def _predict_ratio(*, sizes: list[int], gamma: float) -> float:
    return mmd.segment_null_variance_ratio(sizes[0], sizes[1])


RATIO = statistical(
    id="mmd/seg-null",
    items=("Seg", "Est"),
    title="Sampling the uniform law doubles the standard deviation of the loss",
    statement=(
        r"\frac{\operatorname{Var}U_{sampled}}{\operatorname{Var}U_{closed}}"
        r"=1+\tfrac{M(M-1)}2\Bigl(\tfrac2{N(N-1)}+\tfrac4{MN}\Bigr)=4-\tfrac2M\;(N=M)"
    ),
    source=ours("Equation 9 with appendix C.1; the ratio is ours"),
    cases=grid(sizes=([12, 12], [8, 20], [3, 2]), gamma=0.3),
    predict=_predict_ratio,
    measure=_measure_ratio,
    # A ratio of means of 1,000 squares is biased by their relative variance, kurtosis
    # / 1,000 <= 0.03, times the ratio, six at most.
    compare=MeanEquals(discrepancy=1.5, false_fail=1e-9, rounding=0.18),
    must_refute=always(1.0, "The same deviation as without sampling."),
    assumptions=("predictions are uniform already", "both estimates are unbiased"),
    uses=("mmd/seg",),
)

_ATOMS = [[3, 1, 0], [1, 2, 2], [0, 2, 5]]
"""A kernel of three points, of which each is drawn as often."""


def _measure_atoms(*, sizes: list[int]) -> Fraction:
    """Every pair of samples of a law on three points, in fractions.

    The ratio is one of counts alone, whatever the kernel and the law.
    """
    zero, near = Fraction(0), [Fraction(sum(row), 3) for row in _ATOMS]
    mean = sum(near, zero) / 3

    def apart(z: tuple[int, ...]) -> Fraction:
        pairs = itertools.permutations(z, 2)
        return Fraction(sum(_ATOMS[a][b] for a, b in pairs), len(z) * (len(z) - 1))

    first, second = ([*itertools.product(range(3), repeat=count)] for count in sizes)
    sampled = exact = zero
    for x in first:
        own = apart(x)
        exact += (own - 2 * sum((near[a] for a in x), zero) / len(x) + mean) ** 2
        for y in second:
            cross = sum(_ATOMS[a][b] for a, b in itertools.product(x, y))
            sampled += (own + apart(y) - Fraction(2 * cross, len(x) * len(y))) ** 2
    return sampled / len(second) / exact


def _predict_atoms(*, sizes: list[int]) -> float:
    return mmd.segment_null_variance_ratio(*sizes)


def _in_the_limit(*, sizes: list[int]) -> float:
    """As many predictions as there are for large samples: M^2 for M (M - 1)."""
    m, n = sizes
    return 1.0 + (m / n) ** 2 + 2.0 * m / n


RATIO_VALUES = numeric(
    id="mmd/seg-null-values",
    items=("Seg", "Est"),
    title="What sampling adds to the variance of the loss, by counting all samples",
    statement=(
        r"\frac{\operatorname{Var}U_{sampled}}{\operatorname{Var}U_{closed}}"
        r"=1+\frac{M(M-1)}{N(N-1)}+\frac{2(M-1)}N"
    ),
    source=ours("Equation 9 with appendix C.1; the ratio is ours"),
    cases=grid(sizes=([2, 2], [2, 3], [3, 2], [3, 3], [4, 2], [2, 4])),
    predict=_predict_atoms,
    measure=_measure_atoms,
    # Two quotients and two sums.
    compare=AgreesTo(relative=5e-16),
    must_refute=_in_the_limit,
    assumptions=("three equally likely points, any symmetric kernel",),
    uses=("mmd/seg-null",),
)
