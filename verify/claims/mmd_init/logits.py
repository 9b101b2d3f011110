"""Logits under noise and their slopes, from the definitions (closed claims)."""

import itertools
from typing import Any

import torch
from torch import Tensor

from empirical.mmd_init import noise
from empirical.mmd_init.gram import Escalations, cholesky
from verify.claim import grid
from verify.claims._twins import SUMS, closed, normal, sketch
from verify.compare import AgreesTo

Weights = list[tuple[Tensor, Tensor]]

# --- logits under noise, and their slopes -----------------------------------------------

_WIDTHS = (5, 9, 8, 7, 3)
_S = (0.6, 1.1)


def _layers(seed: int) -> Weights:
    return [
        (
            normal(b, a, seed=[90, seed, k], size=(2.0 / a) ** 0.5),
            normal(b, seed=[91, seed, k], size=0.3),
        )
        for k, (a, b) in enumerate(itertools.pairwise(_WIDTHS))
    ]


def seeded(seed: int) -> torch.Generator:
    """Return the generator of a start."""
    return torch.Generator().manual_seed(90 + seed)


def normals(shape: tuple[int, ...], g: torch.Generator) -> Tensor:
    """Return normal numbers of a generator."""
    return torch.empty(shape, dtype=torch.float64).normal_(generator=g)


def root(c: Tensor) -> Tensor:
    """Return Cholesky's root of a covariance, with 1e-9 of its mean variance more."""
    return torch.linalg.cholesky(c + 1e-9 * c.diagonal().mean() * torch.eye(len(c)))


def on_outputs(
    h: Tensor,
    w: Tensor,
    b: Tensor,
    s: float,
    g: torch.Generator,
    *,
    biases: float = 1.0,
) -> Tensor:
    """Return a layer's outputs (P, n, out) with noise of the law that weights' noise has.

    Its slope by the inputs is that of the weights' mean, given this noise.
    """
    (perturbations, n, fan), out = h.shape, len(w)
    z = normals((perturbations, n, out), g)
    made: list[Tensor] = []
    for one, numbers in zip(h, z, strict=True):
        known = one.detach()
        c = s**2 / fan * known @ known.T + biases * s**2 / out
        noisy = root(c) @ numbers
        jittered = c + 1e-9 * c.diagonal().mean() * torch.eye(n)
        mean = s**2 / fan * noisy.T @ torch.linalg.solve(jittered, known)
        made.append(one @ (w + mean).T + b + noisy - known @ mean.T)
    return torch.stack(made)


def on_weights(h: Tensor, w: Tensor, b: Tensor, s: float, g: torch.Generator) -> Tensor:
    """Return a layer's outputs with noise on each weight and bias."""
    e = normals((len(h), *w.shape), g) * (s / w.shape[1] ** 0.5)
    d = normals((len(h), len(b)), g) * (s / len(b) ** 0.5)
    pairs = zip(h, w + e, b + d, strict=True)
    return torch.stack([one @ each.T + bias for one, each, bias in pairs])


def noisy(
    weights: Weights,
    x: Tensor,
    perturbations: int,
    s: float,
    g: torch.Generator,
    *,
    way: str,
    few: int = 0,
    biases: float = 1.0,
) -> Tensor:
    """Return logits (P, n, d) under noise, drawn as the way says."""
    h = x.expand(perturbations, *x.shape)
    for k, (w, b) in enumerate(weights):
        h = h.relu() if k else h
        if way == "local":
            spread = (
                h.square().sum(dim=2, keepdim=True) / h.shape[2] + biases / len(b)
            ).sqrt()
            h = h @ w.T + b + s * spread * normals((*h.shape[:2], len(b)), g)
        elif way == "explicit" or (k and w.numel() <= few):
            h = on_weights(h, w, b, s, g)
        else:
            h = on_outputs(h, w, b, s, g, biases=biases)
    return h


def _plain_logits(*, way: str, batch: int, wrong: bool) -> list[float]:
    """Return logits under noise, layer by layer, with their gradients.

    Wrong: The variance s^2 in the place of the deviation s.
    """
    few = 10 * batch**2 if way == "auto" else 0
    found: list[float] = []
    for row, s in enumerate(_S):
        weights = [(w.requires_grad_(), b.requires_grad_()) for w, b in _layers(row)]
        x = normal(batch, _WIDTHS[0], seed=[92, row])
        size = s**2 if wrong else s
        logits = noisy(weights, x, 3, size, seeded(row), way=way, few=few)
        found += _with_slopes(logits, [p for pair in weights for p in pair])
    return found


def _with_slopes(logits: Tensor, leaves: list[Tensor]) -> list[float]:
    up = torch.cos(torch.arange(logits.numel(), dtype=torch.float64)).view(logits.shape)
    slopes = torch.autograd.grad((logits * up).sum(), leaves)
    return sketch(logits, *slopes)


def _found_logits(*, way: Any, batch: int) -> list[float]:
    each = [_layers(row) for row in range(2)]
    weights = [
        tuple(torch.stack(same).requires_grad_() for same in zip(*pairs, strict=True))
        for pairs in zip(*each, strict=True)
    ]
    x = torch.stack([normal(batch, _WIDTHS[0], seed=[92, row]) for row in range(2)])
    s = torch.tensor(_S, dtype=torch.float64)
    logits = noise.BY_WAY[way](weights, x, 3, s, [seeded(0), seeded(1)])
    up = torch.cos(torch.arange(logits[0].numel(), dtype=torch.float64))
    leaves = [p for pair in weights for p in pair]
    total = (logits * up.view(logits[0].shape)).sum()
    slopes = torch.autograd.grad(total, leaves)
    found: list[float] = []
    for row in range(2):
        found += sketch(logits[row], *(slope[row] for slope in slopes))
    return found


LOGITS = closed(
    id="mmd/gram-logits",
    title="Logits under noise, and their gradients, follow the definition layer by layer",
    statement=r"HW^T+b+Lz,\quad LL^T=\tfrac{s^2}{n_{in}}HH^T+\tfrac{s^2}{n_{out}}11^T",
    where="Section 3.3, on the noise",
    # Of two inputs "auto" has noise on the last layer's weights, of five on most.
    cases=grid(way=("auto", "gram", "explicit", "local"), batch=(1, 2, 5)),
    # Covariances of five examples have conditions up to 1.5e5, by which solving with them
    # enlarges a rounding of 1.1e-16.
    compare=AgreesTo(absolute=2e-11),
    twin=_plain_logits,
    measure=_found_logits,
    uses=("mmd/gram-covariance", "mmd/gram-root"),
)


def _covariances(kind: str) -> Tensor:
    h = normal(3, 4, 2, seed=[93])
    c = h @ h.mT
    if kind == "singular":
        # Negative by so many ninths of its mean variance.
        c[1] -= 3e-8 * c[1].diagonal().mean() * torch.eye(4)
    return c


def _plain_root(*, kind: str, wrong: bool) -> list[float]:
    """Add the least power of ten that makes the covariance regular.

    Wrong: Powers that start at 1e-8 in the place of 1e-9.
    """
    found: list[float] = []
    tries, most = 0, 0.0
    for c in _covariances(kind):
        jitter, own = 1e-8 if wrong else 1e-9, 0
        while True:
            shifted = c + jitter * c.diagonal().mean() * torch.eye(4)
            made, bad = torch.linalg.cholesky_ex(shifted)
            if not int(bad):
                break
            jitter *= 10.0
            own += 1
        tries, most = tries + own, max(most, jitter)
        found += (made @ made.T - c).diagonal().tolist()
    return [*found, float(tries), most]


def _found_root(*, kind: str) -> list[float]:
    c, seen = _covariances(kind), Escalations()
    made = cholesky(c, escalations=seen)
    lifted = (made @ made.mT - c).diagonal(dim1=1, dim2=2).flatten().tolist()
    return [*lifted, float(seen.count), seen.largest]


ROOT = closed(
    id="mmd/gram-root",
    title="Singular covariances are regularised by the smallest sufficient power of ten",
    statement=r"LL^T=C+10^{k}\cdot10^{-9}\,\tfrac{\operatorname{tr}C}{n}I",
    where="Section 3.3, on the noise",
    cases=grid(kind=("definite", "singular")),
    compare=SUMS,
    twin=_plain_root,
    measure=_found_root,
)
