r"""Finite-width NNGP and NTK Gram matrices of many networks at once.

With :math:`B_l^{(k)} = \partial f_k / \partial z_l` (n rows) and :math:`H_l` the
features, the tangent kernel of output k is a sum over weight layers of entrywise
products of two Gram matrices,

.. math::
    \Theta^{(k)} = \sum_{l=1}^{L+1} \left(H_{l-1} H_{l-1}^T\right) \circ
        \left(B_l^{(k)} B_l^{(k)T}\right), \qquad B_{L+1}^{(k)} = 1,

so that no parameter Jacobian is formed: memory is that of the activations.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from empirical.networks import FullyConnected, Params, derivative

Outputs = Literal["mean", "sum"]

MAX_BYTES = 1 << 30
"""Default budget for what is held at once, in bytes."""


@dataclass(frozen=True)
class Kernels:
    """Gram matrices of a batch of draws.

    Attributes
    ----------
    nngp : Tensor, shape (draws, n, n)
        Inner products of the last hidden layer's features.
    ntk : Tensor, shape (draws, n, n)
        Tangent kernels, averaged (or summed) over the outputs.
    """

    nngp: Tensor
    ntk: Tensor


def gram(features: Tensor) -> Tensor:
    """Return the Gram matrices of feature rows, (..., n, m) to (..., n, n)."""
    return features @ features.transpose(-1, -2)


def nngp(network: FullyConnected, params: Params, x: Tensor) -> Tensor:
    """Return the last layer's feature Gram matrices, shape (draws, n, n).

    Its expectation tends to the NNGP kernel of the infinitely wide network.

    Examples
    --------
    >>> from empirical.randomness import torch_generator
    >>> network = FullyConnected(widths=(2, 50_000, 1), activation=torch.relu)
    >>> params = network.init(generator=torch_generator(7))
    >>> k = nngp(network, params, torch.eye(2, dtype=torch.float64))
    >>> bool((k.diagonal(dim1=1, dim2=2) - 0.5).abs().max() < 0.05)
    True
    """
    with torch.no_grad():
        return gram(network.features(params, x)[-1])


def nngp_ntk(
    network: FullyConnected, params: Params, x: Tensor, *, outputs: Outputs = "mean"
) -> Kernels:
    """Return NNGP and NTK Gram matrices at `params`, in one pass.

    Parameters
    ----------
    network : FullyConnected
    params : tuple of Tensor
        Weights of shape (draws, fan_out, fan_in); they need not be random.
    x : Tensor, shape (n, d) or (draws, n, d)
    outputs : {"mean", "sum"}
        How the tangent kernels of several outputs are combined. ``"mean"`` estimates
        the infinite-width kernel, which is the same for every output; ``"sum"`` is the
        trace of the matrix-valued kernel. The kernel between different outputs, which
        vanishes at infinite width, is in neither.

    Returns
    -------
    Kernels
        Symmetric up to rounding of the matrix products.

    Notes
    -----
    Costs outputs times one backward pass, and one Gram product for each layer. Agrees
    with the Jacobian's Gram matrix to rounding (tests).

    References
    ----------
    Jacot, Gabriel, Hongler 2018, for the tangent kernel; Agarwal, Awasthi, Kale 2020,
    equation 7, for the sum over layers at infinite width.
    """
    _check_outputs("nngp_ntk", outputs)
    with torch.no_grad():
        kept = network.layers(params, x)
        forward = gram(kept.features[-1])
        count = network.widths[-1]
        tangent = forward * count
        readout = params[-1]
        backward = forward.new_empty(0)
        for layer in range(network.depth, 0, -1):
            slope = derivative(
                network.activations()[layer - 1], kept.preactivations[layer - 1]
            )
            slope = slope / math.sqrt(network.widths[layer])
            if layer == network.depth:
                # The readout's rows, the same for every input: their Gram matrices sum
                # to one weighted product.
                weighted = slope * readout.square().sum(dim=1, keepdim=True)
                summed = weighted @ slope.transpose(-1, -2)
                if layer > 1:
                    backward = readout[:, :, None, :] * slope[:, None]
            else:
                backward = backward * slope[:, None]
                summed = gram(backward).sum(dim=1)
            tangent = tangent + summed * gram(kept.features[layer - 1])
            if layer > 1:
                flat = backward.flatten(1, 2) @ params[layer - 1]
                backward = flat.unflatten(1, (count, -1))
    return Kernels(forward, tangent / count if outputs == "mean" else tangent)


def ntk(
    network: FullyConnected, params: Params, x: Tensor, *, outputs: Outputs = "mean"
) -> Tensor:
    """Return tangent kernels, shape (draws, n, n); see `nngp_ntk`."""
    return nngp_ntk(network, params, x, outputs=outputs).ntk


def ntk_by_jacobian(
    network: FullyConnected, params: Params, x: Tensor, *, outputs: Outputs = "mean"
) -> Tensor:
    """Return tangent kernels from the full Jacobian: the slow reference.

    Uses `torch.func` and nothing of `nngp_ntk`; holds outputs * n * (weights of the
    largest layer) numbers for one draw at a time.
    """
    _check_outputs("ntk_by_jacobian", outputs)
    draws, rows = params[0].shape[0], []
    for draw in range(draws):
        weights = tuple(p[draw : draw + 1] for p in params)
        inputs = x if x.ndim == 2 else x[draw]

        def outputs_of(layer: int, weight: Tensor, fixed: Params, at: Tensor) -> Tensor:
            replaced = (*fixed[:layer], weight, *fixed[layer + 1 :])
            return network.apply(replaced, at)[0]

        total = torch.zeros((len(inputs),) * 2, dtype=x.dtype, device=x.device)
        for layer, weight in enumerate(weights):
            jacobian = torch.func.jacrev(outputs_of, argnums=1)(
                layer, weight, weights, inputs
            )
            flat = jacobian.flatten(2)
            total += torch.einsum("ikp,jkp->ij", flat, flat)
        rows.append(total)
    stacked = torch.stack(rows)
    return stacked / network.widths[-1] if outputs == "mean" else stacked


def draws_per_chunk(
    network: FullyConnected, n: int, *, max_bytes: int = MAX_BYTES, itemsize: int = 8
) -> int:
    """Return how many draws of `nngp_ntk` fit into `max_bytes`, at least one.

    Counts weights, features, preactivations, slopes, backward passes and kernels.
    """
    units = sum(network.widths[1:-1])
    passes = (3 + 2 * network.widths[-1]) * n * units
    each = itemsize * (network.parameters + passes + 4 * n * n)
    return max(1, max_bytes // each)


def sample(
    network: FullyConnected,
    x: Tensor,
    *,
    draws: int,
    generator: torch.Generator,
    tangent: bool = True,
    outputs: Outputs = "mean",
    max_bytes: int = MAX_BYTES,
) -> Iterator[Kernels]:
    """Yield kernels of freshly drawn networks, chunk by chunk.

    The chunk size follows from `max_bytes` and changes no number beyond the rounding of
    batched products, because `FullyConnected.init` draws one network after another.

    Parameters
    ----------
    network : FullyConnected
    x : Tensor, shape (n, d)
        Its dtype and device are those of the computation.
    draws : int
        Networks in all.
    generator : torch.Generator
    tangent : bool
        Without it only the NNGP kernel is computed, and `Kernels.ntk` is empty: a
        single draw then never holds more than one weight matrix.
    outputs : {"mean", "sum"}
    max_bytes : int
        Budget for one chunk.

    Yields
    ------
    Kernels
        On the device of `x`; the first axes add up to `draws`.

    Raises
    ------
    ValueError
        If `draws` is below one, or `outputs` is unknown.
    """
    if draws < 1:
        raise ValueError(f"sample: `draws` must be at least 1, but it is {draws}")
    size = draws_per_chunk(
        network, x.shape[-2], max_bytes=max_bytes, itemsize=x.element_size()
    )
    done = 0
    while done < draws:
        now = min(size, draws - done)
        if not tangent and now == 1:
            with torch.no_grad():
                *_, last = network.stream_features(x, generator=generator)
            # The readout is drawn too, so that the stream stays where `init` leaves it.
            torch.empty(
                (network.widths[-1], network.widths[-2]),
                dtype=x.dtype,
                device=generator.device,
            ).normal_(generator=generator)
            yield Kernels(gram(last)[None], x.new_empty((1, 0, 0)))
        else:
            params = network.init(
                draws=now, generator=generator, dtype=x.dtype, device=x.device
            )
            if tangent:
                yield nngp_ntk(network, params, x, outputs=outputs)
            else:
                yield Kernels(nngp(network, params, x), x.new_empty((now, 0, 0)))
        done += now


def _check_outputs(who: str, outputs: str) -> None:
    if outputs not in ("mean", "sum"):
        raise ValueError(f"{who}: `outputs` must be mean or sum, but it is {outputs!r}")
