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
their noise): weights (S, out, in), biases (S, out), inputs (S, n, features), s (S,), and
logits (S, perturbations, n, d). What `gram` takes besides is given to each way.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from empirical.mmd_init.gram import gram, noises, normal
from empirical.mmd_init.networks import Weights
from empirical.mmd_init.recipes import Way

_FEW = 10
"""Weights over squared examples up to which noise on the weights is cheaper. Measured on
a CPU with 32 examples: layers of 48 units took two thirds of the time, of 128 as long."""


def auto(
    weights: Weights,
    inputs: Tensor,
    perturbations: int,
    s: Tensor,
    generators: Sequence[torch.Generator],
    **memory: Any,
) -> Tensor:
    """Return logits as `gram` does, with noise on weights where it is cheaper."""
    few = _FEW * inputs.shape[1] ** 2
    return gram(weights, inputs, perturbations, s, generators, few=few, **memory)


def explicit(
    weights: Weights,
    inputs: Tensor,
    perturbations: int,
    s: Tensor,
    generators: Sequence[torch.Generator],
    **_memory: object,
) -> Tensor:
    """Return logits with noise on every weight: the definition, for reference."""
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
        e, b = noises(weight, perturbations, s, generators)
        made.append((weight.unsqueeze(1) + e, bias.unsqueeze(1) + b))
    return made


def local(
    weights: Weights,
    inputs: Tensor,
    perturbations: int,
    s: Tensor,
    generators: Sequence[torch.Generator],
    **_memory: object,
) -> Tensor:
    """Return the same with independent noise for each example: the wrong distribution.

    It has the right law at each example and none of the correlations between them;
    kept to be refuted.
    """
    x, count = inputs.unsqueeze(1), inputs.shape[1]
    scale = s.to(inputs)[:, None, None, None]
    for index, (weight, bias) in enumerate(weights):
        h = x.relu() if index else x
        _, out, fan = weight.shape
        std = (h.square().sum(dim=-1, keepdim=True) / fan + 1.0 / out).sqrt() * scale
        z = normal(inputs.new_empty(len(inputs), perturbations, count, out), generators)
        x = h @ weight.mT.unsqueeze(1) + bias[:, None, None] + std * z
    return x


BY_WAY: dict[Way, Callable[..., Tensor]] = {
    "auto": auto,
    "gram": gram,
    "explicit": explicit,
    "local": local,
}
