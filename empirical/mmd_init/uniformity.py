r"""How far predictions under noise are from uniform, and how to come closer.

For each input, predictions :math:`f_1, \dots, f_M` under as many perturbations are
compared with the uniform law U on the simplex by the squared maximum mean discrepancy,
with the kernel :math:`k = \sum_{i=-4}^4 k_{2^i\gamma}` about the median distance
:math:`\gamma`:

.. math:: L_{uni} = \frac1B \sum_x \Big[\frac{\sum_{i\ne j} k(f_i, f_j)}{M(M-1)}
    - \frac2M \sum_i E_u k(f_i, u) + E_{u,u'} k(u, u')\Big]

Two classes have the means over u in closed form (`closed`); more are compared with a
sample (`sampled`). Slopes come with the values, the bandwidths held fixed. Source: Lee
and Cho 2023, eqs. (3), (7), (9) and appendix C.1; the closed forms are ours.
"""

import math
from typing import Any, get_args

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from empirical.checks import check_choice, check_counts
from empirical.mmd_init.recipes import Estimator

_SCALES = tuple(4.0**-i for i in range(-4, 5))
"""Squares of gamma over each bandwidth, from the narrowest to the widest."""

_BLOCK = 2**15
"""Pairs at a time on a CPU: what a core keeps in its cache."""


def simplex_sample(
    count: int,
    classes: int,
    generator: torch.Generator,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> Tensor:
    """Draw points of the simplex, uniformly: exponentials over their sum.

    Examples
    --------
    >>> u = simplex_sample(3, 4, torch.Generator().manual_seed(7))
    >>> u.shape, bool(torch.allclose(u.sum(dim=1), torch.ones(3)))
    (torch.Size([3, 4]), True)
    """
    check_counts("simplex_sample", count=count, classes=classes)
    e = torch.empty(count, classes, dtype=dtype, device=generator.device)
    e.exponential_(generator=generator)
    return (e / e.sum(dim=1, keepdim=True)).to(device)


def closed(
    p: Tensor,
    *,
    bandwidths: Tensor | None = None,
    reference: int = 256,
    estimator: Estimator = "unbiased",
) -> Tensor:
    """Return L_uni of two classes at each input, shape (n,).

    Parameters
    ----------
    p : Tensor, shape (M, n)
        Probabilities of one class, M perturbations of n inputs.
    bandwidths : Tensor, shape (n,), optional
        Medians gamma; by default those of the predictions and of `reference` points
        spread evenly. No gradient flows through them.
    reference : int
    estimator : {"unbiased", "biased"}
        Biased: with i = j, over M^2.

    Raises
    ------
    ValueError
        If there are fewer than two perturbations, `reference` is negative, a median is
        zero, or `bandwidths` are not positive numbers, one an input.

    Examples
    --------
    Predictions spread evenly, and all the same:

    >>> even = (torch.arange(64, dtype=torch.float64) + 0.5) / 64
    >>> p = torch.stack([even, torch.full_like(even, 0.9)], dim=1)
    >>> closed(p, estimator="biased").round(decimals=2).tolist()
    [0.0, 4.52]
    """
    _check("closed", p, 2, estimator)
    if bandwidths is None:
        bandwidths = segment_median(p.detach(), reference)
    else:
        _check_given("closed", bandwidths, p.shape[1])
    return _value(_Closed, p, bandwidths, estimator == "unbiased")


def sampled(
    f: Tensor,
    u: Tensor,
    *,
    bandwidths: Tensor | None = None,
    estimator: Estimator = "unbiased",
) -> Tensor:
    """Return L_uni of any number of classes at each input, (n,), against a sample of U.

    Parameters
    ----------
    f : Tensor, shape (M, n, d)
        Class probabilities.
    u : Tensor, shape (N, d)
    bandwidths : Tensor, shape (n,), optional
        As in `closed`; by default of predictions and sample.
    estimator : {"unbiased", "biased"}

    Raises
    ------
    ValueError
        If there are fewer than two perturbations or points, a median is zero, or
        `bandwidths` are not positive numbers, one an input.
    """
    _check("sampled", f, 3, estimator)
    if len(u) < 2 or u.shape[1:] != f.shape[2:]:
        raise ValueError(
            f"sampled: `u` must be at least 2 points of {f.shape[2]} classes, but its "
            f"shape is {tuple(u.shape)}"
        )
    if bandwidths is None:
        bandwidths = simplex_median(f.detach(), u)
    else:
        _check_given("sampled", bandwidths, f.shape[1])
    return _value(_Sampled, f, u, bandwidths, estimator == "unbiased")


def segment_median(p: Tensor, reference: int) -> Tensor:
    """Return the median distance within the predictions and an even reference, (n,).

    Of two classes: points (p, 1 - p), whose distance is sqrt(2) times that of their p.
    Distances are counted, not listed: halvings of an interval, then steps to the next
    one. An even number of them has the mean of the two in the middle.

    Examples
    --------
    >>> p = torch.tensor([[0.0], [1.0]])
    >>> (segment_median(p, 2) / 2**0.5).tolist()
    [0.625]
    """
    check_counts("segment_median", 0, reference=reference)
    n = p.shape[1]
    even = torch.arange(reference, dtype=torch.float64, device=p.device)
    even = (even + 0.5) / max(reference, 1)
    pool = torch.cat([p.mT.double(), even.expand(n, -1)], dim=1).sort(dim=1).values
    size = pool.shape[1]
    pairs = size * (size - 1) // 2
    rank = (pairs + 1) // 2
    low = torch.zeros(n, 1, dtype=torch.float64, device=p.device)
    high = pool[:, -1:] - pool[:, :1]
    # Halvings enough to isolate about one pair.
    for _ in range(pairs.bit_length() + 2):
        middle = 0.5 * (low + high)
        enough = _within(pool, middle)[1] >= rank
        high = torch.where(enough, middle, high)
        low = torch.where(enough, low, middle)
    found = _of_rank(pool, low, rank)
    if pairs % 2 == 0:
        found = 0.5 * (found + _of_rank(pool, found, rank + 1))
    # NaN breaks the sort: the median of a diverged network is NaN.
    found = torch.where(p.isfinite().all(dim=0), found[:, 0], math.nan)
    return _positive("segment_median", math.sqrt(2.0) * found)


def _within(pool: Tensor, distance: Tensor) -> tuple[Tensor, Tensor]:
    """Return where each point's neighbours above it end, and how many pairs that is."""
    # The slack is rounding's: a difference added back may fall short of the point.
    place = torch.searchsorted(pool, pool + (distance + 1e-15), right=True)
    size = pool.shape[1]
    return place, place.sum(dim=1, keepdim=True) - size * (size + 1) // 2


def _of_rank(pool: Tensor, at: Tensor, rank: int) -> Tensor:
    """Return the distance of this rank, going up from `at`, which is none above it."""
    padded = torch.nn.functional.pad(pool, (0, 1), value=math.inf)
    while True:
        place, count = _within(pool, at)
        short = count < rank
        if not bool(short.any()):
            return at
        above = (padded.gather(1, place) - pool).amin(dim=1, keepdim=True)
        at = torch.where(short, above, at)


def simplex_median(f: Tensor, u: Tensor) -> Tensor:
    """Return the median distance within predictions and a sample, at each input (n,).

    Examples
    --------
    >>> corners = torch.eye(2, dtype=torch.float64)
    >>> simplex_median(corners[:, None], corners).round(decimals=4).tolist()
    [1.4142]
    """
    found: list[Tensor] = []
    for at in f.unbind(dim=1):
        distances = torch.nn.functional.pdist(torch.cat([at, u]))
        middle = len(distances) // 2
        high = distances.kthvalue(middle + 1).values
        if len(distances) % 2 == 0:
            high = 0.5 * (high + distances.kthvalue(middle).values)
        found.append(high)
    return _positive("simplex_median", torch.stack(found))


def _positive(who: str, medians: Tensor) -> Tensor:
    zero = medians <= 0.0
    if bool(zero.any()):
        raise ValueError(
            f"{who}: the median distance must be positive, but {int(zero.sum())} of "
            f"{len(medians)} are 0: more than half of all pairs coincide. Give more "
            "reference points than predictions, or `bandwidths`."
        )
    return medians


def _check(who: str, f: Tensor, dimensions: int, estimator: str) -> None:
    check_choice(who, "estimator", estimator, get_args(Estimator))
    if f.ndim != dimensions or len(f) < 2 or f.shape[1] < 1:
        raise ValueError(
            f"{who}: predictions must have {dimensions} axes, at least 2 perturbations "
            f"first and then inputs, but their shape is {tuple(f.shape)}"
        )


def _check_given(who: str, bandwidths: Tensor, inputs: int) -> None:
    fits = bandwidths.shape == (inputs,)
    if not fits or not bool((bandwidths.isfinite() & (bandwidths > 0.0)).all()):
        raise ValueError(
            f"{who}: `bandwidths` must be {inputs} positive numbers, one an input, but "
            f"their shape is {tuple(bandwidths.shape)}, or one is not"
        )


def _value(function: type[Function], *arguments: Any) -> Tensor:
    return function.apply(*arguments)  # pyright: ignore[reportReturnType]


def _mixture(q: Tensor) -> tuple[Tensor, Tensor]:
    """Return nine kernels' sum and that of their slopes.

    From squares over 2 gamma^2 ln 2: powers of 2 are three times as fast as those of e,
    sixteen times where they underflow. Neighbours differ by a fourth power, which costs
    less still: three are powers of 2, so that rounding grows no more than 64 times.
    """
    total, slopes = torch.zeros_like(q), torch.zeros_like(q)
    for first in (8, 4, 0):
        k = torch.exp2(q * -_SCALES[first])
        for index in range(first, max(first - 4, -1), -1):
            if index < first:
                k = k.square_().square_()
            total += k
            slopes.add_(k, alpha=_SCALES[index])
    return total, slopes


def _blocks(n: int, pairs: int, like: Tensor) -> list[slice]:
    # Threads share an operation only from some size on.
    block = _BLOCK if torch.get_num_threads() == 1 else 4 * _BLOCK
    size = n if like.is_cuda else max(1, block // pairs)
    return [slice(k, k + size) for k in range(0, n, size)]


class _Closed(Function):
    @staticmethod
    def forward(ctx: Any, p: Tensor, bandwidths: Tensor, unbiased: bool) -> Tensor:  # noqa: FBT001
        count = len(p)
        x, gammas = p.mT.contiguous(), bandwidths.to(p)
        over = count * (count - 1 if unbiased else count)
        value, slope = _against_uniform(x, bandwidths)
        inverse = gammas[:, None, None].square().reciprocal()
        halvings = inverse / math.log(2.0)
        for rows in _blocks(len(x), count * count // 2, p):
            apart = _each_pair(x[rows])
            total, slopes = _mixture(apart.square().mul_(halvings[rows]))
            if count % 2 == 0:
                # At the shift M/2 every pair is counted twice.
                total[:, -1] *= 0.5
                slopes[:, -1] *= 0.5
            sums = 2.0 * total.sum(dim=2).double().sum(dim=1)
            value[rows] += (sums + (0.0 if unbiased else 9.0 * count)) / over
            pull = _on_each(slopes.mul_(apart))
            slope[rows] -= pull * (inverse[rows, 0] * 4.0 / over)
        ctx.save_for_backward(slope.mT)
        return value.to(p)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *slopes: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        (slope,) = ctx.saved_tensors
        return slope * slopes[0], None, None


def _each_pair(x: Tensor) -> Tensor:
    """Return x_i - x_{i+k}, k = 1 .. M/2, indices going round: (n, M // 2, M)."""
    count = x.shape[1]
    twice = torch.cat([x, x], dim=1)
    ahead = twice.as_strided((len(x), count // 2, count), (2 * count, 1, 1), 1)
    return x[:, None, :] - ahead


def _on_each(pull: Tensor) -> Tensor:
    """Return each point's sum over its pairs, of an odd quantity at `_each_pair`."""
    n, shifts, count = pull.shape
    twice = torch.cat([pull, pull], dim=2)
    # Point i is also the partner of i - k, for every shift k.
    behind = twice.as_strided(
        (n, shifts, count), (2 * shifts * count, 2 * count - 1, 1), count - 1
    )
    return pull.sum(dim=1) - behind.sum(dim=1)


def _against_uniform(x: Tensor, bandwidths: Tensor) -> tuple[Tensor, Tensor]:
    """Return E k(u, u') - 2 E k(p, u), averaged over p, and its slope by each p."""
    count = x.shape[1]
    scales = torch.tensor(_SCALES, dtype=torch.float64, device=x.device)[:, None]
    wide = bandwidths.double() / scales.sqrt()
    g = wide.to(x)[..., None]
    left, right = x / g, (1.0 - x) / g
    h = (torch.erf(left) + torch.erf(right)).mul_(g)
    value = _uniform_pairs(wide) - math.sqrt(math.pi) * h.sum(dim=2).double() / count
    slope = left.square_().neg_().exp_() - right.square_().neg_().exp_()
    return value.sum(dim=0), slope.sum(dim=0) * (-2.0 / count)


def _uniform_pairs(g: Tensor) -> Tensor:
    """Return E exp(-(u - u')^2 / g^2); a series where the closed form cancels."""
    inverse = g.reciprocal()
    form = math.sqrt(math.pi) * g * torch.erf(inverse) + g.square() * torch.expm1(
        -inverse.square()
    )
    series, term = torch.ones_like(g), torch.ones_like(g)
    for k in range(1, 12):
        term = term * -inverse.square() / k
        series = series + term / ((k + 1) * (2 * k + 1))
    return torch.where(g > 2.0, series, form)


class _Sampled(Function):
    @staticmethod
    def forward(
        ctx: Any,
        f: Tensor,
        u: Tensor,
        bandwidths: Tensor,
        unbiased: bool,  # noqa: FBT001
    ) -> Tensor:
        count, others = len(f), len(u)
        x, gammas = f.transpose(0, 1).contiguous(), bandwidths.to(f)
        value = torch.zeros(len(x), dtype=torch.float64, device=f.device)
        slope = torch.zeros_like(x)
        over = count * (count - 1 if unbiased else count)
        over_u = others * (others - 1 if unbiased else others)
        among = _squares(u[None], u[None])
        diagonal = 9.0 if unbiased else 0.0
        for rows in _blocks(len(x), max(count, others) ** 2, f):
            here = x[rows]
            halved = 0.5 * gammas[rows, None, None].square().reciprocal()
            halvings = halved / math.log(2.0)
            total, slopes = _mixture(_squares(here, here).mul_(halvings))
            value[rows] += (_sum(total) - diagonal * count) / over
            slope[rows] += _pull(slopes, here, here, halved) * (-2.0 / over)
            total, slopes = _mixture(_squares(here, u[None]).mul_(halvings))
            value[rows] -= 2.0 * _sum(total) / (count * others)
            slope[rows] += _pull(slopes, here, u, halved) * (2.0 / (count * others))
            total, _ = _mixture(among * halvings)
            value[rows] += (_sum(total) - diagonal * others) / over_u
        ctx.save_for_backward(slope.transpose(0, 1))
        return value.to(f)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *slopes: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        (slope,) = ctx.saved_tensors
        return slope * slopes[0][:, None], None, None, None


def _squares(a: Tensor, b: Tensor) -> Tensor:
    """Return squared distances (n, M, N), by differences: near points keep digits."""
    total = (a[:, :, None, 0] - b[:, None, :, 0]).square_()
    for k in range(1, a.shape[2]):
        total += (a[:, :, None, k] - b[:, None, :, k]).square_()
    return total


def _sum(total: Tensor) -> Tensor:
    return total.sum(dim=2).double().sum(dim=1)


def _pull(slopes: Tensor, here: Tensor, there: Tensor, halved: Tensor) -> Tensor:
    """Return sum_j (here_i - there_j) T_ij, T the slopes in units of gamma^2."""
    weighed = here * slopes.sum(dim=2, keepdim=True) - slopes @ there
    return weighed * (2.0 * halved)
