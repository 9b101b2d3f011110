"""The loss of an initialisation on a batch, and its terms."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from empirical.mmd_init import noise, regularisers, uniformity
from empirical.mmd_init.gram import Escalations, Room
from empirical.mmd_init.modules import Explicit
from empirical.mmd_init.networks import entering, pairs
from empirical.mmd_init.recipes import Recipe
from empirical.networks import FullyConnected, Params
from empirical.randomness import shared


@dataclass(frozen=True, eq=False)
class Terms:
    """The losses of a stack's batches, (S,); None where no weight asks for them.

    Attributes
    ----------
    loss, uniformity, degeneracy, detachment : Tensor
    constant : Tensor
        Share of perturbed networks that predict one class for the whole batch.
    """

    loss: Tensor
    uniformity: Tensor | None
    degeneracy: Tensor | None
    detachment: Tensor | None
    constant: Tensor | None


def losses(
    network: FullyConnected | Explicit,
    params: Params,
    batches: Tensor,
    recipes: Sequence[Recipe],
    generators: Sequence[torch.Generator],
    *,
    bandwidths: Tensor | None = None,
    escalations: Escalations | None = None,
    room: Room | None = None,
) -> Terms:
    """Return the loss of each network on its batch, and its terms.

    Parameters
    ----------
    network : FullyConnected or Explicit
        Without batch normalisation.
    params : tuple of Tensor
        Of a stack of S.
    batches : Tensor, shape (S, n, features)
    recipes : sequence of Recipe
        One each; alike but for s and the weights of the terms.
    generators : sequence of torch.Generator
        One each, of the noise, and of the uniform points where they are sampled.
    bandwidths : Tensor, shape (S * n,), optional
        In the place of the medians.
    escalations : Escalations, optional
        Where they are counted.
    room : Room, optional
        Memory for the perturbed networks, to be taken again by the next step.
    """
    uni_of, lam_of, xi_of = (
        batches.new_tensor([getattr(r, name) for r in recipes])
        for name in ("uni", "lam", "xi")
    )
    total = torch.zeros(len(recipes), dtype=batches.dtype, device=batches.device)
    uni = sd = iod = constant = None
    if any(r.uni > 0.0 or r.lam > 0.0 for r in recipes):
        given = (
            batches,
            recipes[0].perturbations,
            batches.new_tensor([r.s for r in recipes]),
            generators,
        )
        if isinstance(network, Explicit):
            logits = network.logits(params, *given)
        else:
            logits = noise.BY_WAY[recipes[0].noise](
                pairs(network, params), *given, escalations=escalations, room=room
            )
        f = logits.softmax(dim=-1)
        constant = single_share(f.detach())
        # Drawn even if unused: a run takes the same random numbers alone and in a stack.
        points = _points(f, recipes[0], generators)
        if any(r.uni > 0.0 for r in recipes):
            uni = _uniformity(f, recipes[0], points, bandwidths)
            total = total + uni_of * uni
        sd = regularisers.degeneracy(f).mean(dim=-1)
        total = total + lam_of * sd
    if any(r.xi > 0.0 for r in recipes):
        if isinstance(network, Explicit):
            norms = network.norms(params, batches)
        else:
            weights, met = pairs(network, params), entering(network, params, batches)
            norms = regularisers.jacobian_norms(weights, met)
        iod = regularisers.detachment(norms)
        total = total + xi_of * iod
    return Terms(total, uni, sd, iod, constant)


def constant_share(f: Tensor) -> Tensor:
    """Return the share of perturbations whose n predictions miss a class, (...).

    Parameters
    ----------
    f : Tensor, shape (..., M, n, d)
        Probabilities, or logits.

    Examples
    --------
    >>> f = torch.tensor([[[0.9, 0.1], [0.6, 0.4]], [[0.9, 0.1], [0.2, 0.8]]])
    >>> float(constant_share(f))
    0.5
    """
    chosen = f.argmax(dim=-1)
    seen = torch.zeros_like(f[..., 0, :]).scatter_(-1, chosen, 1.0)
    return (seen.sum(dim=-1) < f.shape[-1]).to(f).mean(dim=-1)


def single_share(f: Tensor) -> Tensor:
    """Return the share of perturbations that predict one class for all n inputs, (...).

    For two classes it is `constant_share`, for more a part of it.

    Examples
    --------
    >>> f = torch.eye(3)[torch.tensor([[0, 0], [0, 2]])]
    >>> float(single_share(f)), float(constant_share(f))
    (0.5, 1.0)
    """
    chosen = f.argmax(dim=-1)
    return (chosen == chosen[..., :1]).all(dim=-1).to(f).mean(dim=-1)


def _points(
    f: Tensor, recipe: Recipe, generators: Sequence[torch.Generator]
) -> list[Tensor] | None:
    """Draw uniform points for each network; None where the closed form needs none."""
    classes = f.shape[-1]
    if classes == 2 and recipe.closed:
        return None
    like: dict[str, Any] = {"dtype": f.dtype, "device": f.device}
    sample = partial(uniformity.simplex_sample, recipe.reference, classes, **like)
    return shared(generators, sample)


def _uniformity(
    f: Tensor, recipe: Recipe, points: list[Tensor] | None, bandwidths: Tensor | None
) -> Tensor:
    """Return the mean over each network's batch, (S,)."""
    replicates, _, count, _ = f.shape
    if points is None:
        rows = f.transpose(0, 1).flatten(1, 2)
        found = uniformity.closed(
            rows[..., 0],
            bandwidths=bandwidths,
            reference=recipe.reference,
            estimator=recipe.estimator,
        )
        return found.view(replicates, count).mean(dim=1)
    made: list[Tensor] = []
    for index, u in enumerate(points):
        part = slice(index * count, (index + 1) * count)
        given = None if bandwidths is None else bandwidths[part]
        values = uniformity.sampled(
            f[index], u, bandwidths=given, estimator=recipe.estimator
        )
        made.append(values.mean())
    return torch.stack(made)
