"""Noise on a layer's parameters, drawn in the space of its outputs.

See `empirical.mmd_init.noise` for the law. A whole network is one autograd function with
a hand-written backward pass; the tensors that it saves, and its gradients, lie in scratch
buffers that the next step reuses.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from empirical.mmd_init.networks import Weights
from empirical.randomness import shared

JITTER, WORST_JITTER = 1e-9, 1e-3
"""First and last multiple of the mean variance that is added to the variances."""

_CACHED = 2**18
"""Numbers in float64 that a core has at hand."""


@dataclass
class Escalations:
    """Number of covariances that needed more than the first jitter, and the largest."""

    count: int = 0
    largest: float = JITTER


def on_device(
    generators: Sequence[torch.Generator], device: torch.device
) -> list[torch.Generator]:
    """Return generators on the device, seeded by those on the CPU, shared as they are."""

    def moved(source: torch.Generator) -> torch.Generator:
        seed = int(torch.randint(2**62, (), generator=source))
        return torch.Generator(device=device).manual_seed(seed)

    return shared(generators, moved)


def normal(out: Tensor, generators: Sequence[torch.Generator]) -> Tensor:
    """Fill a tensor (S, ...) with normal numbers.

    Networks that share a generator share them.
    """
    drawn: dict[torch.Generator, Tensor] = {}
    for row, generator in zip(out, generators, strict=True):
        if generator in drawn:
            row.copy_(drawn[generator])
        else:
            drawn[generator] = row.normal_(generator=generator)
    return out


def noises(
    weight: Tensor, perturbations: int, s: Tensor, generators: Sequence[torch.Generator]
) -> tuple[Tensor, Tensor]:
    """Draw noise on a layer's weights, (S, perturbations, out, in), and biases."""
    stack, out, fan = weight.shape
    scale = s.to(weight)[:, None, None]
    e = normal(weight.new_empty(stack, perturbations, out, fan), generators)
    b = normal(weight.new_empty(stack, perturbations, out), generators)
    return e.mul_(scale[..., None] * fan**-0.5), b.mul_(scale * out**-0.5)


def cholesky(
    c: Tensor, *, escalations: Escalations | None = None, out: Tensor | None = None
) -> Tensor:
    """Return L with L L^T = C + jitter, for a stack of covariances in float64.

    Repeated examples and dead layers make C singular: the jitter starts at 1e-9 of the
    mean variance, and grows tenfold, for those that need it, where it does not do.

    Raises
    ------
    RuntimeError
        If 1e-3 does not do.

    Examples
    --------
    >>> twice = torch.ones(2, 2, dtype=torch.float64)
    >>> made = cholesky(twice)
    >>> bool(torch.allclose(made @ made.T, twice, atol=1e-8))
    True
    """
    made = torch.empty_like(c) if out is None else out
    info = torch.empty(c.shape[:-2], dtype=torch.int32, device=c.device)
    diagonal = c.diagonal(dim1=-2, dim2=-1)
    variances, mean = diagonal.clone(), diagonal.mean(dim=-1)
    # A diverged network's is left as it is, and stops no other.
    sound = torch.isfinite(mean)
    jitter = torch.full_like(mean, JITTER)
    while True:
        diagonal.copy_(variances + (jitter * mean)[..., None])
        torch.linalg.cholesky_ex(c, out=(made, info))
        diagonal.copy_(variances)
        bad = (info > 0) & sound
        if not bool(bad.any()):
            return made
        jitter = torch.where(bad, 10.0 * jitter, jitter)
        worst = float(jitter.max())
        if escalations is not None:
            escalations.count += int(bad.sum())
            escalations.largest = max(escalations.largest, worst)
        if worst > 1.5 * WORST_JITTER:
            raise RuntimeError(
                f"cholesky: `c` must be positive definite within {WORST_JITTER:g} of"
                f" its mean variance, but {int(bad.sum())} of {bad.numel()} are not. "
                "Are there infinite activations?"
            )


class Room:
    """Scratch buffers that every step reuses: new ones would cost a tenth of its time.

    Call ``backward()`` on a loss before the next one is computed, which overwrites its
    buffers: autograd refuses slopes of overwritten tensors.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, torch.dtype, torch.device], Tensor] = {}

    def take(
        self,
        name: str,
        shape: Sequence[int],
        like: Tensor,
        dtype: torch.dtype | None = None,
    ) -> Tensor:
        """Return a tensor of this shape in memory of this name, whatever is in it."""
        size, key = math.prod(shape), (name, dtype or like.dtype, like.device)
        if key not in self._kept or self._kept[key].numel() < size:
            self._kept[key] = torch.empty(size, dtype=key[1], device=like.device)
        return self._kept[key][:size].view(*shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Draw:
    """What a network's layers draw their noise from."""

    perturbations: int
    s: Tensor
    generators: Sequence[torch.Generator]
    few: int
    escalations: Escalations | None
    room: Room
    slopes: bool

    def take(self, what: str, index: int, shape: Sequence[int], like: Tensor) -> Tensor:
        """Return memory for something of a layer: its own only if slopes need it."""
        place = index if self.slopes else index % 2
        return self.room.take(f"{what} {place}", shape, like)

    def root(self, h: Tensor, out: int, index: int) -> Tensor:
        """Return L of a layer's outputs."""
        # In float64: rounding in float32 alone makes it indefinite for repeated rows.
        flat = h.flatten(0, -3)
        shape = (len(flat), h.shape[-2], h.shape[-2])
        c = self.room.take("covariance", shape, h, torch.float64)
        # Parts that stay in a cache; elsewhere one is as good.
        most = len(flat) if h.is_cuda else max(1, _CACHED // flat[0].numel())
        for part, product in zip(flat.split(most), c.split(most), strict=True):
            double = self.room.take("double", part.shape, h, torch.float64).copy_(part)
            torch.bmm(double, double.mT, out=product)
        s2 = self.s.double().square().view(-1, *[1] * (h.ndim - 1))
        c = c.view(*h.shape[:-1], -1).mul_(s2 / h.shape[-1]).add_(s2 / out)
        made = self.take("root", index, c.shape, c)
        return cholesky(c, escalations=self.escalations, out=made)


class _Logits(Function):
    """A network with noise and its mean slope by the parameters.

    Large layers have noise on their outputs, small ones on their weights; the first one
    on outputs, with a covariance and a mean that all perturbations have in common.
    """

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, draw: _Draw, *parameters: Tensor) -> Tensor:
        weights = list(zip(parameters[::2], parameters[1::2], strict=True))
        h, kept = inputs, []
        for index, (weight, bias) in enumerate(weights):
            shape = (len(inputs), draw.perturbations, inputs.shape[1], bias.shape[-1])
            last = index == len(weights) - 1
            x = h.new_empty(shape) if last else draw.take("outputs", index, shape, h)
            if index == 0:
                layer = _first
            else:
                layer = _on_weights if weight[0].numel() <= draw.few else _on_outputs
            kept.append((h, *layer(x, h, weight, bias, draw, index)))
            h = x if last else x.relu_()
        ctx.save_for_backward(*(t for tensors in kept for t in tensors))
        ctx.counts, ctx.draw = [len(tensors) for tensors in kept], draw
        return h

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *slopes: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        slope, saved, found = slopes[0].contiguous(), list(ctx.saved_tensors), []
        for index in range(len(ctx.counts) - 1, -1, -1):
            first = sum(ctx.counts[:index])
            h, *others = saved[first : first + ctx.counts[index]]
            # The first layer's inputs are the same for all perturbations.
            flat = slope.flatten(1, 2) if index else slope.sum(dim=1)
            found = [
                flat.mT @ (h.flatten(1, 2) if index else h),
                flat.sum(dim=1),
                *found,
            ]
            if index:
                by_h = ctx.draw.room.take(f"slopes {index % 2}", h.shape, h)
                through = _through_weights if len(others) == 1 else _through_outputs
                through(by_h, slope, ctx.draw, h, *others)
                slope = torch.ops.aten.threshold_backward.grad_input(
                    by_h, h, 0.0, grad_input=by_h
                )
        return None, None, *found


def _first(
    x: Tensor, h: Tensor, weight: Tensor, bias: Tensor, draw: _Draw, index: int
) -> tuple[Tensor, ...]:
    """Write H W^T + b + L z into x, for inputs H without perturbations."""
    # Slopes come later.
    z = normal(draw.room.take("slopes 0", x.shape, h), draw.generators)
    root = draw.root(h, x.shape[-1], index).to(h).unsqueeze(1)
    x.copy_((h @ weight.mT + bias.unsqueeze(1)).unsqueeze(1))
    root = root.expand(*x.shape[:3], -1).flatten(0, 1)
    x.flatten(0, 1).baddbmm_(root, z.flatten(0, 1))
    return ()


def _on_outputs(
    x: Tensor, h: Tensor, weight: Tensor, bias: Tensor, draw: _Draw, index: int
) -> tuple[Tensor, ...]:
    """Write H W^T + b + L z into x; return what its slope needs."""
    z = normal(draw.take("normal", index, x.shape, h), draw.generators)
    root = draw.root(h, x.shape[-1], index)
    x.copy_(bias[:, None, None])
    x.flatten(1, 2).baddbmm_(h.flatten(1, 2), weight.mT)
    x.flatten(0, 1).baddbmm_(root.to(z).flatten(0, 1), z.flatten(0, 1))
    gain = draw.s.square() / h.shape[-1]
    return weight, z, root, gain


def _through_outputs(
    by_h: Tensor,
    slope: Tensor,
    draw: _Draw,
    h: Tensor,
    weight: Tensor,
    z: Tensor,
    root: Tensor,
    gain: Tensor,
) -> None:
    """Write the slope by H.

    The slope through L would be one of many: any way of drawing the noise has one, and
    all have the same mean. This is the slope of explicit weights, averaged over all
    weights that give these outputs: given n = H E^T + e 1, the mean of E is
    (s^2/n_in) n^T C^{-1} H. It takes one triangular solution.
    """
    # n-bar n^T C^{-1} = n-bar z^T L^{-1}
    single, double, solved = (
        draw.room.take(f"mixing {k}", root.shape, like)
        for k, like in enumerate((h, root, root))
    )
    torch.bmm(slope.flatten(0, 1), z.flatten(0, 1).mT, out=single.flatten(0, 1))
    double.copy_(single)
    torch.linalg.solve_triangular(root, double, upper=False, left=False, out=solved)
    single.copy_(solved.mul_(gain[:, None, None, None]))
    torch.bmm(slope.flatten(1, 2), weight, out=by_h.flatten(1, 2))
    by_h.flatten(0, 1).baddbmm_(single.flatten(0, 1), h.flatten(0, 1))


def _on_weights(
    x: Tensor, h: Tensor, weight: Tensor, bias: Tensor, draw: _Draw, _index: int
) -> tuple[Tensor, ...]:
    """Write H (W + E)^T + b + e into x; return what its slope needs."""
    e, b = noises(weight, draw.perturbations, draw.s, draw.generators)
    noisy = e.add_(weight.unsqueeze(1))
    x.copy_(b.add_(bias.unsqueeze(1)).unsqueeze(2))
    x.flatten(0, 1).baddbmm_(h.flatten(0, 1), noisy.flatten(0, 1).mT)
    return (noisy,)


def _through_weights(
    by_h: Tensor, slope: Tensor, _draw: _Draw, _h: Tensor, noisy: Tensor
) -> None:
    torch.bmm(slope.flatten(0, 1), noisy.flatten(0, 1), out=by_h.flatten(0, 1))


def gram(
    weights: Weights,
    inputs: Tensor,
    perturbations: int,
    s: Tensor,
    generators: Sequence[torch.Generator],
    *,
    escalations: Escalations | None = None,
    room: Room | None = None,
    few: int = 0,
) -> Tensor:
    """Return logits, noise drawn in the space of outputs.

    Exact in the joint law over the batch and in the mean of gradients by the weights,
    which are all there are. The first layer's covariance is the same for every
    perturbation, and so is its mean. Further layers of no more than `few` weights have
    noise on these.
    """
    parameters = [p for pair in weights for p in pair]
    draw = _Draw(
        perturbations=perturbations,
        s=s.to(inputs),
        generators=generators,
        few=few,
        escalations=escalations,
        room=room or Room(),
        slopes=torch.is_grad_enabled() and any(p.requires_grad for p in parameters),
    )
    return _Logits.apply(inputs, draw, *parameters)  # pyright: ignore[reportReturnType]
