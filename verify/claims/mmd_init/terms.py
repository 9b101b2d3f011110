"""The terms of the loss on a start and their slopes, from their definitions (closed)."""

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical.mmd_init import regularisers, uniformity
from verify.claim import grid
from verify.claims._twins import SUMS, closed, normal, sketch

BANDWIDTHS = tuple(2.0**i for i in range(-4, 5))

# --- how far from uniform ---------------------------------------------------------------


def _kernel(a: Tensor, b: Tensor, gamma: float, scales: Any = BANDWIDTHS) -> Tensor:
    """Sum the nine Gaussian kernels of all pairs of rows."""
    square = (a[:, None] - b).square().sum(dim=2)
    return sum(
        (torch.exp(-square / (2.0 * (g * gamma) ** 2)) for g in scales), square * 0
    )


def _among(k: Tensor, estimator: str) -> Tensor:
    """Return the mean of a kernel over pairs: of others alone, or with i = j."""
    n = len(k)
    if estimator == "biased":
        return k.mean()
    return (k.sum() - k.diagonal().sum()) / (n * (n - 1))


def discrepancy(
    f: Tensor, u: Tensor | None, gamma: float, estimator: str, scales: Any = BANDWIDTHS
) -> Tensor:
    """Return the squared discrepancy of predictions (M, d) from the uniform law.

    Against a sample, or for two classes, without one, by Gauss and Legendre's rule.
    """
    own = _among(_kernel(f, f, gamma, scales), estimator)
    if u is not None:
        cross = _kernel(f, u, gamma, scales).mean()
        return own - 2.0 * cross + _among(_kernel(u, u, gamma, scales), estimator)
    x, w = (torch.from_numpy(a) for a in np.polynomial.legendre.leggauss(12))
    # Panels of at most two deviations of the narrowest kernel here: 12 nodes are exact.
    panels = (torch.arange(48, dtype=torch.float64)[:, None] + 0.5 * (x + 1.0)) / 48.0
    p, weights = panels.flatten(), (w / 96.0).repeat(48)
    line = torch.stack([p, 1.0 - p], dim=1)
    cross = (_kernel(f, line, gamma, scales) @ weights).mean()
    # Two uniform numbers are p apart with density 2 (1 - p).
    apart = _kernel(line, line.new_tensor([[0.0, 1.0]]), gamma, scales)[:, 0]
    return own - 2.0 * cross + 2.0 * ((1.0 - p) * weights) @ apart


def median(f: Tensor, others: Tensor) -> float:
    """Return the median distance of all pairs of both, each pair listed."""
    pool = torch.cat([f, others]).detach().numpy()
    return float(np.median([np.linalg.norm(a - b) for a, b in combinations(pool, 2)]))


def _line(count: int) -> Tensor:
    p = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    return torch.stack([p, 1.0 - p], dim=1)


def _predictions(count: int, inputs: int, classes: int) -> Tensor:
    logits = normal(count, inputs, classes, seed=[80, count, classes], size=1.4)
    if count > 5:
        logits[1] = logits[0]
    return logits.softmax(dim=2)


def _points(classes: int, count: int) -> Tensor:
    return normal(count, classes, seed=[81, classes, count]).softmax(dim=1)


def _given(inputs: int) -> Tensor:
    return 0.4 + 0.1 * torch.arange(inputs, dtype=torch.float64)


def _plain_uniformity(
    *, classes: int, sizes: list[int], estimator: str, own: bool, wrong: bool
) -> list[float]:
    """Sum over all pairs of predictions, kernel by kernel.

    Wrong: Eight bandwidths in the place of nine.
    """
    count, inputs, others = sizes
    f = _predictions(count, inputs, classes).requires_grad_()
    u = None if classes == 2 else _points(classes, others)
    # Eight bandwidths for nine.
    scales = BANDWIDTHS[:-1] if wrong else BANDWIDTHS
    values: list[Tensor] = []
    for k in range(inputs):
        pool = _line(others) if u is None else u
        gamma = median(f[:, k], pool) if own else float(_given(inputs)[k])
        values.append(discrepancy(f[:, k], u, gamma, estimator, scales))
    total = torch.stack(values)
    (total * torch.arange(1.0, inputs + 1.0)).sum().backward()  # pyright: ignore[reportUnknownMemberType]
    assert f.grad is not None
    slope = f.grad[..., 0] - f.grad[..., 1] if classes == 2 else f.grad
    return [*total.tolist(), *sketch(slope, *slope.unbind(dim=1))]


def _found_uniformity(
    *, classes: int, sizes: list[int], estimator: Any, own: bool
) -> list[float]:
    count, inputs, others = sizes
    f = _predictions(count, inputs, classes)
    more: dict[str, Any] = {"bandwidths": None if own else _given(inputs)}
    if classes == 2:
        leaf = f[..., 0].clone().requires_grad_()
        more |= {} if others == 256 else {"reference": others}
        found = uniformity.closed(leaf, estimator=estimator, **more)
    else:
        leaf = f.clone().requires_grad_()
        u = _points(classes, others)
        found = uniformity.sampled(leaf, u, estimator=estimator, **more)
    (found * torch.arange(1.0, inputs + 1.0)).sum().backward()  # pyright: ignore[reportUnknownMemberType]
    assert leaf.grad is not None
    slope = leaf.grad
    return [*found.tolist(), *sketch(slope, *slope.unbind(dim=1))]


UNIFORMITY = closed(
    id="mmd/eq7-loss",
    items=("Eq7", "Eq9", "C1"),
    title="The uniformity loss and its gradient are sums over all pairs of predictions",
    statement=(
        r"L_{uni}=\frac{\sum_{i\ne j}k(f_i,f_j)}{M(M-1)}-\frac2M\sum_i E_uk(f_i,u)"
        r"+E_{u,u'}k(u,u')"
    ),
    where="Equations (3), (7), (9) and appendix C.1",
    cases=(
        *grid(
            classes=(2, 3, 4),
            sizes=([6, 3, 8], [7, 2, 9]),
            estimator=("unbiased", "biased"),
            own=True,
        ),
        *grid(
            classes=(2, 3), sizes=([2, 1, 5],), estimator="unbiased", own=(True, False)
        ),
        # As many points as are spread evenly where none are asked for.
        *grid(classes=2, sizes=([2, 1, 256],), estimator="unbiased", own=True),
        # More than one block, and predictions that outnumber the reference.
        *grid(classes=(2, 3), sizes=([61, 20, 30],), estimator="unbiased", own=False),
    ),
    compare=SUMS,
    twin=_plain_uniformity,
    measure=_found_uniformity,
    uses=("mmd/c1-kernel", "mmd/est", "mmd/seg"),
)

# --- constant, and cut off --------------------------------------------------------------


def _logits(classes: int) -> Tensor:
    """Predictions (models, perturbations, inputs, classes) that lean more and less."""
    lean = normal(2, 3, 1, classes, seed=[82, classes], size=2.0)
    return lean + normal(2, 3, 5, classes, seed=[83, classes])


def degenerate(f: Tensor, *, squared: bool = False) -> Tensor:
    """Return how near predictions (n, d) are to one vertex, by their distances."""
    d = f.shape[1]
    far = [(f - v).norm(dim=1) for v in torch.eye(d, dtype=f.dtype)]
    means = [(r.square() if squared else r).mean() for r in far]
    floor = torch.tensor(d**-0.5, dtype=f.dtype)
    return torch.maximum(torch.stack(means).max(), floor) - floor


def _plain_degeneracy(*, classes: int, wrong: bool) -> list[float]:
    """Average distances from each vertex, perturbation by perturbation.

    Wrong: Squared distances from each vertex.
    """
    logits = _logits(classes).requires_grad_()
    f = logits.softmax(dim=-1)
    each = torch.stack([degenerate(part, squared=wrong) for part in f.flatten(0, 1)])
    return _with_slope(each, logits)


def _with_slope(values: Tensor, leaf: Tensor) -> list[float]:
    flat = values.flatten()
    weights = torch.cos(torch.arange(len(flat), dtype=flat.dtype))
    (slope,) = torch.autograd.grad((flat * weights).sum(), leaf)
    return [*flat.tolist(), *sketch(slope)]


def _found_degeneracy(*, classes: int) -> list[float]:
    logits = _logits(classes).requires_grad_()
    return _with_slope(regularisers.degeneracy(logits.softmax(dim=-1)), logits)


DEGENERACY = closed(
    id="mmd/eq14-loss",
    title="The degeneracy loss is the largest mean distance from a vertex, less its floor",
    statement=r"\max\{\max_iE_x\|v^{(i)}-f(x)\|,d^{-1/2}\}-d^{-1/2}",
    where="Equation (14)",
    cases=grid(classes=(2, 3, 5)),
    compare=SUMS,
    twin=_plain_degeneracy,
    measure=_found_degeneracy,
    uses=("mmd/eq14",),
)

_WIDTHS = {"one": (4, 5, 2), "three": (5, 6, 4, 3, 3)}


def layers(net: str) -> list[tuple[Tensor, Tensor]]:
    """Return weights and biases of a network, normal."""
    sizes = _WIDTHS[net]
    return [
        (
            normal(b, a, seed=[84, a, b, k], size=(2.0 / a) ** 0.5),
            normal(b, seed=[85, b, k], size=0.3),
        )
        for k, (a, b) in enumerate(pairwise(sizes))
    ]


def detached(
    weights: list[tuple[Tensor, Tensor]], x: Tensor, *, mean: bool = False
) -> Tensor:
    """Return the loss of detachment by autograd, one input and class after the other."""
    total = x.new_zeros(())
    for one in x:
        met = [one.clone().requires_grad_()]
        for k, (w, b) in enumerate(weights):
            met.append(w @ (met[-1].relu() if k else met[-1]) + b)
        worst: list[Tensor] = []
        for logit in met[-1]:
            slopes = torch.autograd.grad(logit, met[:-1], create_graph=True)
            gaps = torch.stack([(1.0 - s.norm()) ** 2 for s in slopes])
            worst.append(gaps.mean() if mean else gaps.max())
        total = total + torch.stack(worst).mean()
    return total / len(x)


def _met(net: str) -> tuple[list[tuple[Tensor, Tensor]], Tensor]:
    """Return weights, biases and inputs, one of which leaves a unit at exactly zero."""
    weights = [(w.requires_grad_(), b.clone()) for w, b in layers(net)]
    x = normal(4, _WIDTHS[net][0], seed=[86])
    x[0], weights[0][1][0] = 0.0, 0.0
    return weights, x


def _plain_detachment(*, net: str, wrong: bool) -> list[float]:
    """Differentiate each logit by itself.

    Wrong: The mean over layers in the place of the largest.
    """
    weights, x = _met(net)
    found = detached(weights, x, mean=wrong)
    slopes = torch.autograd.grad(found, [w for w, _ in weights])
    return [found.item(), *sketch(*slopes)]


def _found_detachment(*, net: str) -> list[float]:
    (weights, h), met = _met(net), list[Tensor]()
    for w, b in weights[:-1]:
        met.append(h @ w.T + b)
        h = met[-1].relu()
    found = regularisers.detachment(regularisers.jacobian_norms(weights, met))
    slopes = torch.autograd.grad(found, [w for w, _ in weights])
    return [found.item(), *sketch(*slopes)]


DETACHMENT = closed(
    id="mmd/eq22-slopes",
    items=("Eq20", "Eq22", "Jac"),
    title="The detachment loss and its gradient are autograd's, one logit at a time",
    statement=r"E_x\tfrac1d\sum_i\max_l(1-\|\partial f_i/\partial x_l\|)^2",
    where="Equations (20) and (22)",
    cases=grid(net=tuple(_WIDTHS)),
    compare=SUMS,
    twin=_plain_detachment,
    measure=_found_detachment,
    uses=("mmd/eq22",),
)
