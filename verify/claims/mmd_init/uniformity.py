"""The simplex, the squared discrepancy, its estimators and its bandwidth."""

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import torch

from theory import mmd
from verify.claim import grid, numeric, statistical
from verify.claims._predictors import always, drawn, mistake, times
from verify.claims.mmd_init._samples import Array, generator, kernel, laws, simplex
from verify.claims.mmd_init._sources import as_read, ours, quoted
from verify.compare import AgreesTo, Estimate, MeanEquals

# --- the simplex ----------------------------------------------------------------------

_DRAWS = 100_000


def _measure_points(*, classes: int, seed: int) -> list[Any]:
    """Divide the same exponential numbers by their sum, exactly."""
    e = np.random.default_rng([70, seed]).standard_exponential((4, classes))
    with mpmath.workdps(30):
        exact = [[mpmath.mpf(v) for v in row] for row in e.tolist()]
        return [v / mpmath.fsum(row) for row in exact for v in row]


def _predict_points(*, classes: int, seed: int) -> Array:
    rng = np.random.default_rng([70, seed])
    return mmd.simplex_sample(4, classes, generator=rng).ravel()


def _folded_normal(*, classes: int, seed: int) -> Array:
    """Absolute normal variables divided by their sum."""
    e = np.abs(np.random.default_rng([70, seed]).standard_normal((4, classes)))
    return (e / e.sum(axis=1, keepdims=True)).ravel()


SAMPLER = numeric(
    id="mmd/eq2",
    title="Points of the simplex are exponential variables divided by their sum",
    statement=r"u=e/\textstyle\sum_ie_i,\quad e_i\sim\mathrm{Exp}(1)",
    source=quoted("Equation 2"),
    cases=grid(classes=(2, 3, 10), seed=0),
    predict=_predict_points,
    measure=_measure_points,
    # A sum of ten numbers and a division.
    compare=AgreesTo(relative=5e-15),
    must_refute=_folded_normal,
)

_CORNERS = (0.1, 0.3, 0.6)


def _measure_corner(*, classes: int, drawn: str) -> Estimate:
    """Share of draws in a corner that leaves so much to one, two or all coordinates."""
    if drawn == "spacings":
        u = simplex(_DRAWS, classes, 0)
    else:
        e = torch.empty(_DRAWS, classes, dtype=torch.float64)
        e.exponential_(generator=generator(95, classes, 0))
        u = (e / e.sum(dim=1, keepdim=True)).numpy()
    inside = [
        (u[:, -k:] > t / k).all(axis=1) for k in (1, 2, classes) for t in _CORNERS
    ]
    return Estimate.of(np.stack(inside, axis=1))


def _predict_corner(*, classes: int, drawn: str) -> Array:
    """The share of the volume, which depends on the sum of the thresholds alone."""
    return np.tile(1.0 - mmd.simplex_cdf(np.array(_CORNERS), classes), 3)


def _one_by_one(*, classes: int, drawn: str) -> Array:
    """Coordinates of the right law, but independent of each other."""
    t = np.array(_CORNERS)
    each = [(1.0 - mmd.simplex_cdf(t / k, classes)) ** k for k in (1, 2, classes)]
    return np.concatenate(each)


UNIFORM = statistical(
    id="mmd/eq2-uniform",
    items=("Eq1", "Eq2"),
    title="Exponential variables divided by their sum are uniform on the simplex",
    statement=(
        r"P(u_1>a_1,\dots,u_k>a_k)=(1-\textstyle\sum_ia_i)^{d-1},\quad "
        r"u=e/\sum_ie_i,\;e_i\sim\mathrm{Exp}(1);\quad u_i\sim\mathrm{Beta}(1,d-1)"
    ),
    source=quoted("Equation 2, tried by corners, which fix a law"),
    cases=grid(classes=(2, 3, 10), drawn=("exponential", "spacings")),
    predict=_predict_corner,
    measure=_measure_corner,
    # 100,000 draws: standard errors up to 0.0016.
    compare=MeanEquals(discrepancy=0.02, false_fail=1e-9),
    must_refute=_one_by_one,
    assumptions=(
        "corners of three sizes that touch one, two or all sides",
        "spacings of sorted uniform numbers have the same law",
    ),
    uses=("mmd/eq2",),
    version=2,
)


# --- the discrepancy ------------------------------------------------------------------


def _measure_moved(
    *, classes: int, sizes: list[int], bandwidths: list[float], seed: int
) -> list[float]:
    """The definition on both laws in turn, after a rotation and a shift, by PyTorch."""
    x, y = laws(classes, sizes, seed)
    rng = np.random.default_rng([71, seed])
    turn = np.linalg.qr(rng.standard_normal((classes, classes)))[0]
    shift = rng.standard_normal(classes)
    moved = [torch.from_numpy(z @ turn + shift) for z in (x, y)]
    found: list[float] = []
    for a, b in (moved, moved[::-1]):
        value = torch.zeros((), dtype=torch.float64)
        for gamma in bandwidths:
            terms = [kernel(p, q, gamma).mean() for p, q in ((a, a), (a, b), (b, b))]
            value = value + terms[0] - 2.0 * terms[1] + terms[2]
        found.append(float(value))
    return found


@drawn(laws)
def _predict_discrepancy(x: Array, y: Array, bandwidths: list[float]) -> list[float]:
    return [mmd.mmd_squared(x, y, bandwidths, "biased")] * 2


EQ_3 = numeric(
    id="mmd/eq3",
    title="The squared MMD of two laws is symmetric and invariant under rotation and shift",
    statement=(
        r"\mathrm{MMD}=\mathbb{E}\,k(x,x')-2\mathbb{E}\,k(x,y)+\mathbb{E}\,k(y,y'),\quad "
        r"k_\gamma(x,y)=e^{-\|x-y\|^2/(2\gamma^2)}"
    ),
    source=quoted("Equation 3"),
    cases=(
        *grid(
            classes=(2, 5),
            sizes=([1, 1], [30, 20]),
            bandwidths=([0.3], [0.05, 0.5, 4.0]),
            seed=0,
        ),
        # Coordinates that are added by halves, and pairs of more than one block.
        *grid(classes=(64, 131), sizes=([5, 3],), bandwidths=([0.05],), seed=0),
        *grid(classes=2, sizes=([1100, 3],), bandwidths=([0.5],), seed=0),
    ),
    predict=_predict_discrepancy,
    measure=_measure_moved,
    # Moved points have coordinates up to 4, in error by 4.4e-16 twice over. Along the line
    # between two such errors of either sign are 1.3e-15, however many coordinates there
    # are; kernels fall by up to 0.61 over the bandwidth, of 0.05.
    compare=AgreesTo(absolute=1.6e-14),
    must_refute=mistake("The distance in the place of its square.", then=np.sqrt),
)


def _by_pairs(x: Array, y: Array, bandwidths: list[float]) -> tuple[Any, ...]:
    """Sums of the kernel over different, equal and crossed pairs, in 30 digits."""

    def k(a: Any, b: Any) -> Any:
        pairs = zip(a, b, strict=True)
        square = mpmath.fsum((mpmath.mpf(s) - mpmath.mpf(t)) ** 2 for s, t in pairs)
        return mpmath.fsum(mpmath.exp(-square / (2 * g * g)) for g in gammas)

    gammas = [mpmath.mpf(g) for g in bandwidths]
    rows, columns = x.tolist(), y.tolist()
    xx = mpmath.fsum(k(a, b) for a, b in itertools.permutations(rows, 2))
    yy = mpmath.fsum(k(a, b) for a, b in itertools.permutations(columns, 2))
    xy = mpmath.fsum(k(a, b) for a, b in itertools.product(rows, columns))
    return xx, yy, xy, len(gammas)


@drawn(laws)
def _measure_estimates(x: Array, y: Array, bandwidths: list[float]) -> list[Any]:
    m, n = len(x), len(y)
    with mpmath.workdps(30):
        xx, yy, xy, top = _by_pairs(x, y, bandwidths)
        u = xx / (m * (m - 1)) + yy / (n * (n - 1)) - 2 * xy / (m * n)
        v = (xx + m * top) / m**2 + (yy + n * top) / n**2 - 2 * xy / (m * n)
        return [u, v, v - u]


@drawn(laws)
def _predict_estimates(x: Array, y: Array, bandwidths: list[float]) -> list[float]:
    return [
        mmd.mmd_squared(x, y, bandwidths),
        mmd.mmd_squared(x, y, bandwidths, "biased"),
        mmd.estimator_gap(x, y, bandwidths),
    ]


ESTIMATES = numeric(
    id="mmd/est",
    title="The difference between the biased and the unbiased estimate of the squared MMD",
    statement=(
        r"V=U+\tfrac1M\bigl(k(0)-\overline{k}_{xx}\bigr)"
        r"+\tfrac1N\bigl(k(0)-\overline{k}_{yy}\bigr)"
    ),
    source=ours("Appendix C.1, on the pairs; the relation is ours"),
    cases=grid(
        classes=(2, 4),
        sizes=([2, 2], [7, 4]),
        bandwidths=([0.2], [0.1, 1.0], [1e4]),
        seed=(0, 1),
    ),
    predict=_predict_estimates,
    measure=_measure_estimates,
    # A few kernels of size one, some eps each; wide ones lose nothing.
    compare=AgreesTo(absolute=4e-15),
    must_refute=mistake(
        "The biased estimate for both.", then=lambda found: [found[1], found[1], 0.0]
    ),
    uses=("mmd/eq3",),
    finding=(
        "The paper names no estimate. It lists pairs i < j and independent perturbations,"
        " as the unbiased one has them. That one may be negative, the biased one may not."
    ),
)


def _measure_null(*, sizes: list[int], median: float) -> Estimate:
    """Biased and unbiased estimates of 400 pairs of uniform samples, nine kernels."""
    found: list[list[float]] = []
    for seed in range(400):
        x, y = (torch.from_numpy(simplex(n, 2, [seed, k])) for k, n in enumerate(sizes))
        pairs = ((x, x), (y, y), (x, y))
        parts = [
            sum(kernel(a, b, 2.0**i * median) for i in range(-4, 5)) for a, b in pairs
        ]
        m, n = sizes
        own, other = (float(torch.as_tensor(p).sum()) for p in parts[:2])
        cross = float(torch.as_tensor(parts[2]).mean())
        apart = (own - 9 * m) / (m * (m - 1)) + (other - 9 * n) / (n * (n - 1))
        values = [own / m**2 + other / n**2 - 2.0 * cross, apart - 2.0 * cross]
        found.append(values)
    return Estimate.of(found)


def _predict_null(*, sizes: list[int], median: float) -> list[float]:
    bias = mmd.segment_null_bias(sizes[0], sizes[1], mmd.kernel_bandwidths(median))
    return [bias, 0.0]


NULL = statistical(
    id="mmd/est-null",
    items=("Est", "Seg"),
    title=(
        "For uniform outputs, the biased estimate of the squared MMD is positive on average"
    ),
    statement=(
        r"\mathbb{E}\,V=\Bigl(\tfrac1M+\tfrac1N\Bigr)\bigl(9-\mathbb{E}\,k(u,u')\bigr),"
        r"\quad \mathbb{E}\,U=0"
    ),
    source=ours("Appendix C.1; the means are ours"),
    cases=grid(sizes=([64, 64], [32, 96]), median=0.5),
    predict=_predict_null,
    measure=_measure_null,
    # Standard errors up to 0.004.
    compare=MeanEquals(discrepancy=0.05, false_fail=1e-9),
    must_refute=always([0.0, 0.0], "Both estimates with mean zero."),
    uses=("mmd/est", "mmd/seg-mean"),
    finding=(
        "At the paper's 256 and 256 samples and a median of 0.5, the floor of the"
        " biased estimate is 0.02974; a training curve that ends there would reveal"
        " it."
    ),
)


def _predict_bias(*, sizes: list[int], bandwidth: float) -> float:
    return mmd.segment_null_bias(sizes[0], sizes[1], bandwidth)


def _measure_bias(*, sizes: list[int], bandwidth: float) -> Any:
    """Over |u - u'| = t of density 2 (1 - t), sqrt(2) t apart in the plane."""
    with mpmath.workdps(40):
        gamma = mpmath.mpf(bandwidth)

        def integrand(t: Any) -> Any:
            apart = mpmath.sqrt(2) * t / gamma
            return -2 * (1 - t) * mpmath.expm1(-apart * apart / 2)

        gap = mpmath.quad(integrand, [0, min(gamma, 1), min(8 * gamma, 1), 1])
        return gap * sum(mpmath.mpf(1) / n for n in sizes)


NULL_VALUES = numeric(
    id="mmd/est-null-values",
    items=("Est", "Seg"),
    title="Values of the biased estimate's mean for uniform outputs",
    statement=r"\mathbb{E}\,V=\Bigl(\tfrac1M+\tfrac1N\Bigr)\bigl(1-\mathbb{E}\,k_\gamma(u,u')\bigr)",
    source=ours("Appendix C.1; the means are ours"),
    # Wide kernels leave nothing but the difference from one.
    cases=grid(sizes=([5, 9],), bandwidth=(0.1, 0.9, 1.0, 2.5, 1e6)),
    predict=_predict_bias,
    measure=_measure_bias,
    # The library's promise.
    compare=AgreesTo(relative=1e-14),
    must_refute=mistake(
        "Distances |u - u'| in the place of sqrt(2) |u - u'|.",
        bandwidth=times(math.sqrt(2.0)),
    ),
    uses=("mmd/est-null",),
)

# --- bandwidths -----------------------------------------------------------------------


def _measure_median(*, classes: int, sizes: list[int], seed: int) -> list[float]:
    """NumPy's median and PyTorch's, of distances listed pair by pair."""
    x, y = (torch.from_numpy(z) for z in laws(classes, sizes, seed))
    pool = torch.cat([x, y])
    first, second = torch.triu_indices(len(pool), len(pool), offset=1)
    distances = (pool[first] - pool[second]).square().sum(dim=1).sqrt()
    return [float(np.median(distances.numpy())), float(distances.median())]


@drawn(laws)
def _predict_median(x: Array, y: Array) -> list[float]:
    return [mmd.median_bandwidth(x, y), mmd.median_bandwidth(x, y, rule="lower")]


@drawn(laws)
def _cross_alone(x: Array, y: Array) -> list[float]:
    """Distances between the two samples alone."""
    cross = [float(np.linalg.norm(a - b)) for a, b in itertools.product(x, y)]
    return [float(np.median(cross))] * 2


MEDIAN = numeric(
    id="mmd/c1",
    title="The bandwidth is the median of all pairwise distances in the pool",
    statement=(
        r"\gamma_{med}=\operatorname{median}\text{ of }\tbinom M2+MN+\tbinom N2"
        r"\text{ distances}"
    ),
    source=as_read("Appendix C.1; which median is not said"),
    # Pools of 2, 3, 6 and 7 points have 1, 3, 15 and 21 distances; 4, 5 and 512 even ones.
    cases=(
        *grid(
            classes=(2, 5),
            sizes=([1, 1], [2, 1], [2, 2], [1, 4], [3, 3], [4, 3], [256, 256]),
            seed=0,
        ),
        # Coordinates that are added by halves.
        *grid(classes=(64, 131), sizes=([4, 3],), seed=0),
    ),
    predict=_predict_median,
    measure=_measure_median,
    # A sum of squares, its root and a mean.
    compare=AgreesTo(relative=2e-15),
    must_refute=_cross_alone,
    finding=(
        "With 256 perturbations and 256 points there are 130,816 distances, an even"
        " number. PyTorch's median is the lower of the two middle ones, NumPy's their"
        " mean."
    ),
)

_SPREAD = (0.0, 1e-9, 0.01, 0.3, 1.0, 1.4142135623730951)


def _measure_kernel(*, median: float) -> list[Any]:
    with mpmath.workdps(30):
        return [
            mpmath.fsum(
                mpmath.exp(
                    -(mpmath.mpf(t) ** 2) / (2 * (mpmath.mpf(2) ** i * median) ** 2)
                )
                for i in range(-4, 5)
            )
            for t in _SPREAD
        ]


def _on_a_line() -> Array:
    return np.stack([np.array(_SPREAD), np.zeros(len(_SPREAD))], axis=1)


def _predict_kernel(*, median: float, first: int = 0) -> Array:
    gammas = mmd.kernel_bandwidths(median)[first:]
    return mmd.mixture_kernel(_on_a_line(), np.zeros((1, 2)), gammas)[:, 0]


KERNEL = numeric(
    id="mmd/c1-kernel",
    title="The kernel is a sum of nine Gaussians, at 1/16 to 16 times the median bandwidth",
    statement=r"k=\textstyle\sum_{i=-4}^4k_{2^i\gamma_{med}},\quad k(0)=9",
    source=quoted("Appendix C.1"),
    cases=grid(median=(1e-3, 0.5, 3.0)),
    predict=_predict_kernel,
    measure=_measure_kernel,
    # Nine kernels of size at most one.
    compare=AgreesTo(absolute=1e-14),
    must_refute=mistake("The first of the nine bandwidths left out.", first=1),
    uses=("mmd/c1",),
)

_SCALES = grid(
    x=([[1e-200, 0.0], [0.0, 3e-200]], [[-3e200, 1e180], [2e199, 0.0]]),
    y=([[-2e200, 1e200], [0.0, 4e-200]], [[0.0, 1e-220], [5e-201, 2e-200]]),
    share=(0.3, 2.0),
)


def _distance(a: Any, b: Any) -> Any:
    return mpmath.hypot(
        *(mpmath.mpf(v) - mpmath.mpf(w) for v, w in zip(a, b, strict=True))
    )


def _predict_scales(*, x: Any, y: Any, share: float) -> Array:
    median = mmd.median_bandwidth(x, y)
    kernel = mmd.mixture_kernel(x, y, share * median)
    return np.append(kernel.ravel(), math.log(median))


def _measure_scales(*, x: Any, y: Any, share: float) -> list[Any]:
    """Six distances of four points, and Gaussians of four of them, in 40 digits."""
    with mpmath.workdps(40):
        every = sorted(_distance(a, b) for a, b in itertools.combinations([*x, *y], 2))
        median = (every[2] + every[3]) / 2
        width = mpmath.mpf(share) * median
        pairs = itertools.product(x, y)
        kernel = [mpmath.exp(-((_distance(a, b) / width) ** 2) / 2) for a, b in pairs]
        return [*kernel, mpmath.log(median)]


SCALES = numeric(
    id="mmd/c1-scales",
    title="Medians and kernels of points hundreds of orders of magnitude apart",
    statement=r"\exp\Big(-\frac{|x - y|^2}{2 \gamma^2}\Big), \quad \gamma = c\,"
    r" \gamma_{med}",
    source=as_read("Appendix C.1; which median is not said"),
    cases=_SCALES,
    predict=_predict_scales,
    measure=_measure_scales,
    # Kernels are one less what is lost, a few roundings of one; so is a median's logarithm
    # of its 460.
    compare=AgreesTo(relative=1e-14, absolute=1e-15),
    must_refute=mistake("A bandwidth that is larger by a tenth.", share=times(1.1)),
    uses=("mmd/c1", "mmd/c1-kernel"),
)
