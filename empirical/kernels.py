r"""Finite-width NNGP and NTK Gram matrices of many networks at once.

With :math:`B_l = \partial f / \partial z_l` (outputs by units, for each input) and
:math:`H_l` the features, the tangent kernel of outputs k and k' is a sum over weight
layers of entrywise products of two Gram matrices,

.. math::
    \Theta_{kk'} = \sum_{l=1}^{L+1} \left(H_{l-1} H_{l-1}^T\right) \circ
        \left(B_l^{(k)} B_l^{(k')T}\right), \qquad B_{L+1} = I,

so that no parameter Jacobian is formed: memory is that of the activations, and of
`max_bytes` where these are more.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from empirical._contraction import MAX_BYTES as MAX_BYTES
from empirical._contraction import Outputs as Outputs
from empirical._contraction import as_rows, by_blocks, check, combined, inner
from empirical._contraction import gram as gram
from empirical.checks import check_counts
from empirical.networks import FullyConnected, Params, derivative


@dataclass(frozen=True)
class Kernels:
    """Gram matrices of a batch of draws.

    Attributes
    ----------
    nngp : Tensor, shape (draws, n, n')
        Inner products of the last hidden layer's features.
    ntk : Tensor, shape (draws, n, n') or (draws, n, n', outputs, outputs)
        Tangent kernels, averaged or summed over the outputs, or of all their pairs.
    """

    nngp: Tensor
    ntk: Tensor


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
    check("nngp", params, x, None, "mean")
    _check_hidden("nngp", network)
    with torch.no_grad():
        return gram(network.features(params, x)[-1])


def nngp_ntk(
    network: FullyConnected,
    params: Params,
    x: Tensor,
    y: Tensor | None = None,
    *,
    outputs: Outputs = "mean",
    max_bytes: int = MAX_BYTES,
) -> Kernels:
    """Return NNGP and NTK matrices at `params`, in one pass.

    Parameters
    ----------
    network : FullyConnected
    params : tuple of Tensor
        Weights of shape (draws, fan_out, fan_in); they need not be random.
    x : Tensor, shape (n, d) or (draws, n, d)
    y : Tensor, shape (n', d) or (draws, n', d), optional
        The other side of the kernels; `x` when absent.
    outputs : {"mean", "sum", "all"}
        How the tangent kernels of several outputs are combined. ``"mean"`` estimates
        the infinite-width kernel, which is the same for every output; ``"sum"`` is the
        trace of the matrix-valued kernel; ``"all"`` is that kernel, with the blocks
        between different outputs, which vanish at infinite width.
    max_bytes : int
        Budget for what is held beside weights and result. Inputs that need more go
        through the network block by block, and once more for each pair of blocks.

    Returns
    -------
    Kernels
        Symmetric up to rounding of the matrix products where `y` is absent.

    Raises
    ------
    ValueError
        If `x`, `y` or `params` do not fit the network or hold NaN or infinity, the
        network has biases, a normalisation or no hidden layer (`ntk_by_jacobian` takes
        those), or `outputs` is unknown.

    Notes
    -----
    Costs outputs times one backward pass, and two Gram products for each layer. Agrees
    with the Jacobian's Gram matrix to rounding (tests).

    References
    ----------
    Jacot, Gabriel, Hongler 2018, for the tangent kernel; Agarwal, Awasthi, Kale 2020,
    equation 7, for the sum over layers at infinite width; Novak, Sohl-Dickstein,
    Schoenholz 2022, section 3.3, for the same structure in other layers.

    Examples
    --------
    >>> from empirical.randomness import torch_generator
    >>> network = FullyConnected(widths=(3, 8, 2), activation=torch.tanh)
    >>> params = network.init(replicates=5, generator=torch_generator(7))
    >>> x = torch.eye(3, dtype=torch.float64)
    >>> nngp_ntk(network, params, x, x[:2], outputs="all").ntk.shape
    torch.Size([5, 3, 2, 2, 2])
    """
    check("nngp_ntk", params, x, y, outputs)
    check_counts("nngp_ntk", 0, max_bytes=max_bytes)
    _check_hidden("nngp_ntk", network)

    count = network.widths[-1]
    size, held = _blocks(
        network,
        x.shape[-2],
        0 if y is None else y.shape[-2],
        pairs=count if outputs == "all" else 1,
        budget=max_bytes // (len(params[0]) * x.element_size()),
    )
    with torch.no_grad():
        forward, tangent = by_blocks(
            lambda rows: _layer_by_layer(network, params, rows, outputs),
            _sum_over_layers,
            x,
            y,
            dim=-2,
            size=size,
            held=held,
        )
    return Kernels(forward[:, :, 0, :, 0], combined(tangent, count, outputs))


def ntk(
    network: FullyConnected,
    params: Params,
    x: Tensor,
    y: Tensor | None = None,
    *,
    outputs: Outputs = "mean",
    max_bytes: int = MAX_BYTES,
) -> Tensor:
    """Return tangent kernels only; see `nngp_ntk`."""
    both = nngp_ntk(network, params, x, y, outputs=outputs, max_bytes=max_bytes)
    return both.ntk


def draws_per_chunk(
    network: FullyConnected, n: int, *, max_bytes: int = MAX_BYTES, itemsize: int = 8
) -> int:
    """Return how many draws of `nngp_ntk` fit into `max_bytes`, at least one.

    Counts weights, features, preactivations, slopes, backward passes and kernels.
    """
    each = itemsize * (network.parameters + n * _numbers(network) + 4 * n * n)
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
    outputs : {"mean", "sum", "all"}
    max_bytes : int
        Budget for one chunk.

    Yields
    ------
    Kernels
        On the device of `x`; the first axes add up to `draws`.

    Raises
    ------
    ValueError
        If `draws` is below one, `x` does not fit the network or is not finite, the
        network is none that `nngp_ntk` takes, or `outputs` is unknown.
    """
    check("sample", (), x, None, outputs)
    _check_hidden("sample", network)
    if x.ndim != 2 or not x.is_floating_point():
        raise ValueError(
            "sample: `x` must be floating point of shape (n, d), but it is "
            f"{x.dtype} of {tuple(x.shape)}"
        )
    check_counts("sample", draws=draws)
    check_counts("sample", 0, max_bytes=max_bytes)
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
                replicates=now, generator=generator, dtype=x.dtype, device=x.device
            )
            if tangent:
                yield nngp_ntk(network, params, x, outputs=outputs, max_bytes=max_bytes)
            else:
                yield Kernels(nngp(network, params, x), x.new_empty((now, 0, 0)))
        done += now


def _check_hidden(who: str, network: FullyConnected) -> None:
    network.check_plain(who)
    if network.depth == 0:
        raise ValueError(
            f"{who}: `network` must have a hidden layer, but its widths are "
            f"{network.widths}"
        )


TILE = 256
"""Rows of a matrix product large enough to run at full speed."""

_Layer = tuple[Tensor, Tensor]
"""Features (..., n, m) that enter a layer, signals (draws, n, outputs, units)."""


def _layer_by_layer(
    network: FullyConnected, params: Params, x: Tensor, outputs: Outputs
) -> list[_Layer]:
    """Return what the tangent kernel is made of, from the readout down."""
    network.check(params, x)
    kept, readout = network.run(params, x, kept=True), params[-1]
    features = (x, *kept.hidden)
    identity = torch.eye(readout.shape[1], dtype=x.dtype, device=x.device)
    found = [(features[-1], as_rows(identity[None, None], outputs))]
    backward = readout[:, None]
    for layer in range(network.depth, 0, -1):
        slope = derivative(network.activations()[layer - 1], kept.before[layer - 1])
        slope = slope[:, :, None] / math.sqrt(network.widths[layer])
        backward = backward * slope
        if layer == network.depth and outputs != "all":
            # The readout's rows, the same for every input: their Gram matrices sum to
            # one weighted product.
            signals = slope * readout.norm(dim=1)[:, None, None]
        else:
            signals = as_rows(backward, outputs)
        found.append((features[layer - 1], signals))
        if layer > 1:
            flat = backward.flatten(1, 2) @ params[layer - 1]
            backward = flat.unflatten(1, backward.shape[1:3])
    return found


def _sum_over_layers(left: list[_Layer], right: list[_Layer]) -> tuple[Tensor, Tensor]:
    """Return NNGP and tangent kernels, shapes (draws, n, outputs, n', outputs)."""
    grams = [
        gram(h, g)[..., :, None, :, None]
        for (h, _), (g, _) in zip(left, right, strict=True)
    ]
    tangent = grams[0] * inner(left[0][1], right[0][1])
    for among, (_, b), (_, c) in zip(grams[1:], left[1:], right[1:], strict=True):
        tangent.addcmul_(among, inner(b, c))
    return grams[0], tangent


def _numbers(network: FullyConnected) -> int:
    """Count what `_layer_by_layer` holds for one input, in numbers."""
    return (3 + 2 * network.widths[-1]) * sum(network.widths[1:-1])


def _blocks(
    network: FullyConnected, n: int, others: int, *, pairs: int, budget: int
) -> tuple[int, bool]:
    """Return how many inputs make a block, and whether all blocks' sides are held.

    All sides are held if the budget, in numbers, allows it. `others` are the inputs of
    ``y``, 0 if ``x`` is compared with itself, when half of the blocks are transposes.
    Beside the sides there are four matrices of all pairs of a block's inputs.
    """
    each = _numbers(network)
    size = max(n, others) if others else max(1, TILE // pairs)
    if (n + others) * each + 4 * (size * pairs) ** 2 <= budget:
        return size, True
    return max(1, min(budget // (4 * each), math.isqrt(budget // 8) // pairs)), False
