"""What an initialisation is like: constant models, dead units, norms, densities.

Every function takes a stack of S networks without batch normalisation, finite inputs (n,
features) of their dtype, and a generator for each, or one that some share; noise has a
positive s. Anything else is a ValueError. Shares of networks that are not finite, or put
out what is not, are NaN. Source: Lee and Cho 2023, appendices B.1 to B.3 and C.2.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from empirical.checks import check_counts, check_finite, check_positive
from empirical.mmd_init import noise, regularisers
from empirical.mmd_init.gram import Room, on_device
from empirical.mmd_init.losses import constant_share
from empirical.mmd_init.networks import Weights, check_classifier, entering, pairs
from empirical.networks import FullyConnected, Params
from empirical.randomness import shared

Generators = Sequence[torch.Generator]


def constant_shares(
    network: FullyConnected,
    params: Params,
    inputs: Tensor,
    *,
    s: Sequence[float],
    generators: Generators,
    perturbations: int = 256,
    batch: int = 32,
    batches: int = 128,
) -> Tensor:
    """Return DS: the share of perturbed models that miss a class, (S, batches).

    Each minibatch is drawn without replacement, and so are the perturbations anew. Noise
    is drawn by `noise.auto`, whose joint law over a minibatch is that of noise on the
    weights.

    Raises
    ------
    ValueError
        If there are fewer inputs than a minibatch has.
    """
    counts = {"perturbations": perturbations, "batch": batch, "batches": batches}
    who = "constant_shares"
    weights = _plain(who, network, params, inputs, generators, s, **counts)
    chosen = _minibatches(inputs, generators, batch, batches)
    if len(s) != len(generators):
        raise ValueError(
            f"constant_shares: `s` must be one for each of {len(generators)} networks, "
            f"but there are {len(s)}"
        )
    levels = torch.as_tensor(list(s), dtype=inputs.dtype, device=inputs.device)
    own, room = on_device(generators, inputs.device), Room()
    shares: list[Tensor] = []
    with torch.no_grad():
        for rows in chosen.unbind(dim=1):
            logits = noise.auto(
                weights, inputs[rows], perturbations, levels, own, room=room
            )
            sound = logits.isfinite().flatten(1).all(dim=1)
            shares.append(constant_share(logits).where(sound, torch.nan))
    return torch.stack(shares, dim=1)


def dead_shares(
    network: FullyConnected,
    params: Params,
    inputs: Tensor,
    *,
    generators: Generators,
    batch: int = 32,
    batches: int = 128,
) -> Tensor:
    """Return the share of units off on a whole minibatch, (S, batches, hidden layers).

    At the start itself, without noise. Detachment (IOD) is the largest of their means
    over minibatches.
    """
    counts = {"batch": batch, "batches": batches}
    _plain("dead_shares", network, params, inputs, generators, (), **counts)
    chosen = _minibatches(inputs, generators, batch, batches)
    shares: list[Tensor] = []
    with torch.no_grad():
        for rows in chosen.unbind(dim=1):
            found = entering(network, params, inputs[rows])
            off = [
                (x <= 0.0)
                .all(dim=-2)
                .to(x)
                .mean(dim=-1)
                .where(x.isfinite().flatten(1).all(dim=1), torch.nan)
                for x in found
            ]
            shares.append(torch.stack(off, dim=-1))
    return torch.stack(shares, dim=1)


def jacobian_squares(network: FullyConnected, params: Params, inputs: Tensor) -> Tensor:
    """Return mean squares of the slopes' norms by layer, input first, (S, layers)."""
    norms = _norms(network, params, inputs)
    return norms.square().mean(dim=(-2, -1)).mT


def detachment(network: FullyConnected, params: Params, inputs: Tensor) -> Tensor:
    """Return L_iod on all inputs, (S,)."""
    return regularisers.detachment(_norms(network, params, inputs))


def perturbed_detachment(
    network: FullyConnected,
    params: Params,
    inputs: Tensor,
    *,
    s: float,
    generators: Generators,
    perturbations: int = 8,
) -> Tensor:
    """Return L_iod at perturbed starts, (S, perturbations)."""
    who, count = "perturbed_detachment", len(generators)
    drawn = {"perturbations": perturbations}
    weights = _plain(who, network, params, inputs, generators, [s], **drawn)
    with torch.no_grad():
        levels = inputs.new_full((count,), s)
        own = on_device(generators, inputs.device)
        noisy = noise.perturbed(weights, perturbations, levels, own)
        flat = tuple(tensor.flatten(0, 1) for pair in noisy for tensor in pair)
        return detachment(network, flat, inputs).unflatten(0, (-1, perturbations))


def predictions(
    network: FullyConnected,
    params: Params,
    inputs: Tensor,
    *,
    s: float,
    generators: Generators,
    perturbations: int,
) -> Tensor:
    """Return the first class's probability under noise, (S, perturbations, n).

    Noise is on the weights where there are more inputs than perturbations, and on the
    outputs otherwise: a thousand perturbed networks of the paper's size take 2.5 GB.
    """
    drawn = {"perturbations": perturbations}
    weights = _plain("predictions", network, params, inputs, generators, [s], **drawn)
    few = perturbations <= len(inputs)
    with torch.no_grad():
        replicates = len(generators)
        logits = (noise.explicit if few else noise.gram)(
            weights,
            inputs.expand(replicates, *inputs.shape),
            perturbations,
            inputs.new_full((replicates,), s),
            on_device(generators, inputs.device),
        )
        return logits.softmax(dim=-1)[..., 0]


def distance_to_uniform(p: Tensor) -> Tensor:
    """Return the Kolmogorov-Smirnov distance of each column from U(0, 1).

    Parameters
    ----------
    p : Tensor, shape (..., M, n)

    Examples
    --------
    >>> p = torch.tensor([[0.25, 0.5], [0.75, 0.5]])
    >>> distance_to_uniform(p).tolist()
    [0.25, 0.5]
    """
    # Where the law of U(0, 1) is 0 or 1.
    ordered = p.clamp(0.0, 1.0).sort(dim=-2).values
    count = p.shape[-2]
    steps = torch.arange(count + 1, dtype=p.dtype, device=p.device)[:, None] / count
    above = (steps[1:] - ordered).amax(dim=-2)
    below = (ordered - steps[:-1]).amax(dim=-2)
    return torch.maximum(above, below)


def _plain(
    who: str,
    network: FullyConnected,
    params: Params,
    inputs: Tensor,
    generators: Generators | None = None,
    s: Sequence[float] = (),
    **counts: int,
) -> Weights:
    """Return weights and biases of a network that nothing normalises."""
    check_counts(who, **counts)
    check_classifier(who, network, batch_norm=False)
    network.check(params, inputs)
    if inputs.ndim != 2:
        raise ValueError(
            f"{who}: `inputs` must have shape (n, features), but they have "
            f"{tuple(inputs.shape)}"
        )
    check_finite(who, "inputs", inputs)
    if generators is not None and len(generators) != len(params[0]):
        raise ValueError(
            f"{who}: `generators` must be one for each of {len(params[0])} networks, but "
            f"there are {len(generators)}"
        )
    for level in s:
        check_positive(who, s=level)
    return pairs(network, params)


def _norms(network: FullyConnected, params: Params, inputs: Tensor) -> Tensor:
    weights = _plain("detachment", network, params, inputs)
    with torch.no_grad():
        found = entering(network, params, inputs)
        return regularisers.jacobian_norms(weights, found)


def _minibatches(
    inputs: Tensor, generators: Generators, batch: int, batches: int
) -> Tensor:
    """Return indices (S, batches, batch)."""
    if len(inputs) < batch:
        raise ValueError(
            f"minibatches: `batch` must not be above the {len(inputs)} inputs, but it is "
            f"{batch}"
        )

    def rows(g: torch.Generator) -> Tensor:
        each = (torch.randperm(len(inputs), generator=g) for _ in range(batches))
        return torch.stack([order[:batch] for order in each])

    return torch.stack(shared(generators, rows)).to(inputs.device)
