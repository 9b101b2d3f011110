"""The measured side: samples, kernels and networks in PyTorch. No closed form is here."""

import itertools
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from verify.compare import Array as Array


def generator(*seed: int) -> torch.Generator:
    """A generator of its own for each list of whole numbers."""
    state = np.random.SeedSequence(seed).generate_state(1)
    return torch.Generator().manual_seed(int(state[0]))


def simplex(count: int, classes: int, seed: int | Sequence[int]) -> Array:
    """Uniform points of the simplex: spacings of sorted uniform numbers."""
    own = [seed] if isinstance(seed, int) else list(seed)
    u = torch.rand(
        count, classes - 1, generator=generator(72, *own), dtype=torch.float64
    )
    ends = torch.cat(
        [torch.zeros(count, 1), u.sort(dim=1).values, torch.ones(count, 1)], 1
    )
    return ends.diff(dim=1).numpy()


def laws(classes: int, sizes: Sequence[int], seed: int) -> tuple[Array, Array]:
    """Softmax outputs, two of them equal, and points of the simplex."""
    rng = np.random.default_rng([73, seed, classes, *sizes])
    logits = rng.standard_normal((sizes[0], classes))
    x = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    if sizes[0] > 4:
        x[1] = x[0]
    e = rng.standard_exponential((sizes[1], classes))
    return x, e / e.sum(axis=1, keepdims=True)


def kernel(a: Tensor, b: Tensor, gamma: float) -> Tensor:
    """One Gaussian kernel, from its definition."""
    # Class by class: differences of all at once leave the processor's cache.
    square = torch.zeros(len(a), len(b), dtype=a.dtype)
    for p, q in zip(a.T.contiguous(), b.T.contiguous(), strict=True):
        square += (p[:, None] - q).square_()
    return torch.exp(-square / (2.0 * gamma**2))


def vertex_distances(f: Tensor) -> Tensor:
    """Mean distance of predictions (..., inputs, classes) from each vertex."""
    gaps = torch.eye(f.shape[-1], dtype=f.dtype) - f[..., None, :]
    return gaps.square().sum(dim=-1).sqrt().mean(dim=-2)


def normal(*shape: int, generator: torch.Generator) -> Tensor:
    """Return normal numbers of 24 bits: drawn in a fifth of the time of 53."""
    return torch.randn(*shape, generator=generator).double()


def network(
    widths: Sequence[int], *seed: int, bias: float = 0.3, start: str = "he"
) -> tuple[list[Tensor], list[Tensor]]:
    """Normal weights of He's or Xavier's variance, and normal biases."""
    g = generator(74, *seed)
    weights: list[Tensor] = []
    biases: list[Tensor] = []
    for before, after in itertools.pairwise(widths):
        variance = 2.0 / (before if start == "he" else before + after)
        weights.append(normal(after, before, generator=g) * variance**0.5)
        biases.append(bias * normal(after, generator=g))
    return weights, biases


def layers(weights: list[Tensor], biases: list[Tensor], x: Tensor) -> list[Tensor]:
    """Input, pre-activations and logits, one a layer."""
    found = [x]
    for k, (w, b) in enumerate(zip(weights, biases, strict=True)):
        h = found[-1] if k == 0 else torch.relu(found[-1])
        found.append(h @ w.T + b)
    return found


def jacobians(
    weights: list[Tensor], biases: list[Tensor], x: Array | Tensor
) -> list[Tensor]:
    """Jacobians of the logits at the input and each hidden layer, by autograd."""
    start = torch.as_tensor(x, dtype=torch.float64).clone().requires_grad_()
    found = layers(weights, biases, start)
    rows: list[list[Tensor]] = []
    for logit in found[-1].T:
        # Inputs do not mix: the gradient of the sum holds every input's own.
        rows.append(
            list(torch.autograd.grad(logit.sum(), found[:-1], retain_graph=True))
        )
    return [torch.stack(parts, dim=1) for parts in zip(*rows, strict=True)]


def noise_energy(widths: Sequence[int], scale: float) -> list[float]:
    """Count, sum, sum of squares and largest of the variances, parameter by parameter."""
    total: list[Tensor] = []
    for before, after in itertools.pairwise(widths):
        layer = torch.nn.Linear(before, after, dtype=torch.float64)
        fan_out, fan_in = layer.weight.shape
        total.append(
            torch.full((layer.weight.numel(),), scale**2 / fan_in, dtype=torch.float64)
        )
        total.append(
            torch.full((layer.bias.numel(),), scale**2 / fan_out, dtype=torch.float64)
        )
    v = torch.cat(total)
    return [float(v.numel()), float(v.sum()), float(v.square().sum()), float(v.max())]
