r"""Logits of a network under noise on its parameters.

Noise :math:`E_{ij} \sim N(0, s^2/n_{in})` on a layer's weights and
:math:`e_i \sim N(0, s^2/n_{out})` on its biases adds to its outputs on the inputs
:math:`H` (one a row), for each unit alone,

.. math:: H E_i + e_i 1 \sim N(0, C), \qquad
    C = \frac{s^2}{n_{in}} H H^T + \frac{s^2}{n_{out}} 1 1^T.

So `gram` draws it as :math:`L z` with :math:`L L^T = C`: as many normal numbers as there
are examples in the batch, in the place of as many as there are weights. The law over the
whole batch is the same.

Networks come stacked, each with a batch and a generator (or one that some share, and then
their noise): weights (S, out, in),
biases (S, out), inputs (S, n, features), s (S,), and logits (S, perturbations, n, d).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from empirical.mmd_init.networks import Weights

Way = Literal["auto", "gram", "explicit", "local"]
WAYS = ("auto", "gram", "explicit", "local")

JITTER, WORST_JITTER = 1e-9, 1e-3
"""First and last multiple of the mean variance that is added to the variances."""

_FEW = 10
"""Weights over squared examples up to which noise on the weights is cheaper. Measured on
a CPU with 32 examples: layers of 48 units took two thirds of the time, of 128 as long."""


@dataclass
class Escalations:
    """How often a covariance needed more than the first jitter, and the most it took.

    Attributes
    ----------
    count : int
    largest : float
    """

    count: int = 0
    largest: float = field(default=JITTER)


def cholesky(
    c: Tensor, *, escalations: Escalations | None = None, what: str = "covariance"
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
    mean = c.diagonal(dim1=-2, dim2=-1).mean(dim=-1)
    # A diverged network's is left as it is, and stops no other.
    sound = torch.isfinite(mean)
    eye = torch.eye(c.shape[-1], dtype=c.dtype, device=c.device)
    jitter = torch.full_like(mean, JITTER)
    while True:
        found, info = torch.linalg.cholesky_ex(
            c + (jitter * mean)[..., None, None] * eye
        )
        bad = (info > 0) & sound
        if not bool(bad.any()):
            return found
        jitter = torch.where(bad, 10.0 * jitter, jitter)
        worst = float(jitter.max())
        if escalations is not None:
            escalations.count += int(bad.sum())
            escalations.largest = max(escalations.largest, worst)
        if worst > 1.5 * WORST_JITTER:
            raise RuntimeError(
                f"cholesky: `{what}` must be positive definite within {WORST_JITTER:g} of"
                f" its mean variance, but {int(bad.sum())} of {bad.numel()} are not. "
                "Are there infinite activations?"
            )


class _Noisy(Function):
    """A layer with Gram noise: H W^T + b + L z, and its mean slope.

    The slope by H through L would be one of many: any way of drawing the noise has
    one, and all have the same mean. This is the slope of explicit weights, averaged
    over all weights that give these outputs: given n = H E^T + e 1, the mean of E is
    (s^2/n_in) n^T C^{-1} H. It takes one triangular solution.
    """

    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        weight: Tensor,
        bias: Tensor,
        z: Tensor,
        s2: Tensor,
        log: Any,
    ) -> Tensor:
        root = cholesky(_covariance(h, bias.shape[-1], s2), escalations=log)
        ctx.save_for_backward(h, weight, z, root, s2 / h.shape[-1])
        out = (h.flatten(1, 2) @ weight.mT).unflatten(1, h.shape[1:3])
        out += bias[:, None, None]
        out.flatten(0, 1).baddbmm_(root.to(z).flatten(0, 1), z.flatten(0, 1))
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *slopes: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        slope = slopes[0].contiguous()
        h, weight, z, root, gain = ctx.saved_tensors
        # n-bar n^T C^{-1} = n-bar z^T L^{-1}
        mixing = torch.linalg.solve_triangular(
            root, (slope @ z.mT).to(root), upper=False, left=False
        )
        mixing = mixing.mul_(gain[:, None, None, None]).to(h)
        flat = slope.flatten(1, 2)
        by_h = (flat @ weight).unflatten(1, h.shape[1:3])
        by_h.flatten(0, 1).baddbmm_(mixing.flatten(0, 1), h.flatten(0, 1))
        by_weight = flat.mT @ h.flatten(1, 2)
        return by_h, by_weight, flat.sum(dim=1), None, None, None


class _OnWeights(Function):
    """A layer with noise on its weights; one product sums the slopes over them."""

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, weight: Tensor, bias: Tensor, e: Tensor, b: Tensor
    ) -> Tensor:
        noisy = e + weight.unsqueeze(1)
        ctx.save_for_backward(h, noisy)
        shift = (b + bias.unsqueeze(1)).flatten(0, 1).unsqueeze(1)
        out = torch.baddbmm(shift, h.flatten(0, 1), noisy.flatten(0, 1).mT)
        return out.unflatten(0, h.shape[:2])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *slopes: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        slope = slopes[0].contiguous()
        h, noisy = ctx.saved_tensors
        flat = slope.flatten(1, 2)
        by_weight = flat.mT @ h.flatten(1, 2)
        return slope @ noisy, by_weight, flat.sum(dim=1), None, None


def _covariance(h: Tensor, out: int, s2: Tensor) -> Tensor:
    # In float64: rounding in float32 alone makes it indefinite for repeated rows.
    h = h.double()
    s2 = s2.double().view(-1, *[1] * (h.ndim - 1))
    return (h @ h.mT).mul_(s2 / h.shape[-1]).add_(s2 / out)


def gram(
    weights: Weights,
    inputs: Tensor,
    perturbations: int,
    s: Tensor,
    generators: Sequence[torch.Generator],
    *,
    escalations: Escalations | None = None,
    few: int = 0,
) -> Tensor:
    """Return logits, noise drawn in the space of outputs.

    Exact in the joint law over the batch and in the mean of gradients by the weights.
    The first layer's covariance is the same for every perturbation, and so is its mean.
    Further layers of no more than `few` weights have noise on these.
    """
    (weight, bias), *others = weights
    count, s2 = inputs.shape[1], s.to(inputs).square()

    def normal(width: int) -> Tensor:
        return _normal((perturbations, count, width), generators, inputs)

    root = cholesky(_covariance(inputs, bias.shape[-1], s2), escalations=escalations)
    mean = inputs @ weight.mT + bias.unsqueeze(1)
    x = mean.unsqueeze(1) + root.to(inputs).unsqueeze(1) @ normal(bias.shape[-1])
    for weight, bias in others:
        if weight[0].numel() <= few:
            noise = _noises(weight, perturbations, s, generators)
            x = _apply(_OnWeights, x.relu(), weight, bias, *noise)
        else:
            z = normal(bias.shape[-1])
            x = _apply(_Noisy, x.relu(), weight, bias, z, s2, escalations)
    return x


def auto(
    weights: Weights,
    inputs: Tensor,
    perturbations: int,
    s: Tensor,
    generators: Sequence[torch.Generator],
    *,
    escalations: Escalations | None = None,
) -> Tensor:
    """Return the same, noise drawn on the weights of layers where that is cheaper."""
    return gram(
        weights,
        inputs,
        perturbations,
        s,
        generators,
        escalations=escalations,
        few=_FEW * inputs.shape[1] ** 2,
    )


def _apply(function: type[Function], *arguments: Any) -> Tensor:
    return function.apply(*arguments)  # pyright: ignore[reportReturnType]


def explicit(
    weights: Weights,
    inputs: Tensor,
    perturbations: int,
    s: Tensor,
    generators: Sequence[torch.Generator],
    *,
    escalations: Escalations | None = None,
) -> Tensor:
    """Return the same with noise on every weight: the definition, for reference."""
    del escalations
    x = inputs.unsqueeze(1)
    noisy = perturbed(weights, perturbations, s, generators)
    for index, (weight, bias) in enumerate(noisy):
        x = (x.relu() if index else x) @ weight.mT + bias.unsqueeze(2)
    return x


def perturbed(
    weights: Weights,
    perturbations: int,
    s: Tensor,
    generators: Sequence[torch.Generator],
) -> Weights:
    """Return weights (S, perturbations, out, in) and biases with noise."""
    made: Weights = []
    for weight, bias in weights:
        e, b = _noises(weight, perturbations, s, generators)
        made.append((weight.unsqueeze(1) + e, bias.unsqueeze(1) + b))
    return made


def _noises(
    weight: Tensor,
    perturbations: int,
    s: Tensor,
    generators: Sequence[torch.Generator],
) -> tuple[Tensor, Tensor]:
    """Return noise on a layer's weights and biases."""
    _, out, fan = weight.shape
    scale = s.to(weight)[:, None, None]
    e = _normal((perturbations, out, fan), generators, weight)
    b = _normal((perturbations, out), generators, weight)
    return e.mul_(scale[..., None] * fan**-0.5), b.mul_(scale * out**-0.5)


def local(
    weights: Weights,
    inputs: Tensor,
    perturbations: int,
    s: Tensor,
    generators: Sequence[torch.Generator],
    *,
    escalations: Escalations | None = None,
) -> Tensor:
    """Return the same with noise drawn for each example alone: a wrong law.

    It has the right law at each example and none of the correlations between them;
    kept to be refuted.
    """
    del escalations
    x, count = inputs.unsqueeze(1), inputs.shape[1]
    scale = s.to(inputs)[:, None, None, None]
    for index, (weight, bias) in enumerate(weights):
        h = x.relu() if index else x
        _, out, fan = weight.shape
        std = (h.square().sum(dim=-1, keepdim=True) / fan + 1.0 / out).sqrt() * scale
        z = _normal((perturbations, count, out), generators, inputs)
        x = h @ weight.mT.unsqueeze(1) + bias[:, None, None] + std * z
    return x


def on_device(
    generators: Sequence[torch.Generator], device: torch.device
) -> list[torch.Generator]:
    """Return generators on the device, seeded by those on the CPU, shared as they are."""
    own = {
        g: torch.Generator(device=device).manual_seed(
            int(torch.randint(2**62, (), generator=g))
        )
        for g in dict.fromkeys(generators)
    }
    return [own[g] for g in generators]


def _normal(
    shape: tuple[int, ...], generators: Sequence[torch.Generator], like: Tensor
) -> Tensor:
    """Draw normal numbers, (S, *shape); networks that share a generator share them."""
    own = list(dict.fromkeys(generators))
    made = torch.empty(len(own), *shape, dtype=like.dtype, device=like.device)
    for row, generator in zip(made, own, strict=True):
        row.normal_(generator=generator)
    if len(own) == len(generators):
        return made
    return made[[own.index(generator) for generator in generators]]


BY_WAY: dict[Way, Callable[..., Tensor]] = {
    "auto": auto,
    "gram": gram,
    "explicit": explicit,
    "local": local,
}
