"""Tangent kernels of any network, from its Jacobian."""

from functools import reduce
from typing import Protocol

import torch
from torch import Tensor

from empirical._contraction import (
    MAX_BYTES,
    Outputs,
    as_rows,
    by_blocks,
    check,
    combined,
    inner,
)
from empirical.networks import Params


class Applied(Protocol):
    """A network whose weights are stacked tensors, draws in front."""

    def apply(self, params: Params, x: Tensor, /) -> Tensor:
        """Return outputs, shape (draws, n, ...), of inputs of shape (n, ...)."""
        ...


def ntk_by_jacobian(
    network: Applied,
    params: Params,
    x: Tensor,
    y: Tensor | None = None,
    *,
    outputs: Outputs = "mean",
    max_bytes: int = MAX_BYTES,
) -> Tensor:
    """Return tangent kernels of any network from its Jacobian: the slow reference.

    Parameters
    ----------
    network : Applied
        Convolutional, residual, with biases: all that it needs is ``apply``, where the
        outputs of an input depend on that input alone.
    params : tuple of Tensor
        Draws in front.
    x, y : Tensor, shapes (n, ...) and (n', ...)
        The same inputs for every draw. `y` is `x` when absent.
    outputs : {"mean", "sum", "all"}
        See `empirical.kernels.nngp_ntk`. Outputs of several axes are counted in one.
    max_bytes : int
        Budget for the Jacobians of two blocks of inputs; below outputs times
        parameters numbers, it is one input at a time.

    Returns
    -------
    Tensor, shape (draws, n, n') or (draws, n, n', outputs, outputs)

    Raises
    ------
    ValueError
        If `x`, `y` or `params` hold NaN or infinity, `outputs` is unknown, or inputs
        see each other, as with batch normalisation: more than the root of the rounding
        unit between the outputs of all inputs and of one at a time.

    Notes
    -----
    Uses `torch.func` and none of the structure. Holds outputs * parameters numbers for
    each input of two blocks, of one draw at a time.
    """
    check("ntk_by_jacobian", params, x, y, outputs)
    # Slopes of slopes are not kept, nor what they would be made from.
    params, x = tuple(p.detach() for p in params), x.detach()
    y = None if y is None else y.detach()
    _check_alone(network, params, "x", x)
    if y is not None:
        _check_alone(network, params, "y", y)

    def of_one(weights: Params, row: Tensor) -> Tensor:
        return network.apply(weights, row[None])[0, 0].flatten()

    jacobians = torch.vmap(torch.func.jacrev(of_one), (None, 0))
    kernels = []
    for draw in range(len(params[0])):
        weights = tuple(p[draw : draw + 1] for p in params)
        count = len(of_one(weights, x[0]))
        each = count * sum(p.numel() for p in weights) * x.element_size()
        # Two blocks, each with what its Jacobians are made from.
        size = max(1, max_bytes // (4 * each))
        (total,) = by_blocks(
            lambda rows, at=weights: [
                as_rows(slope.flatten(2)[None], outputs)
                for slope in jacobians(at, rows)
            ],
            lambda left, right: (reduce(torch.add, map(inner, left, right)),),
            x,
            y,
            dim=0,
            size=size,
        )
        kernels.append(combined(total, count, outputs))
    return torch.cat(kernels)


def _check_alone(network: Applied, params: Params, name: str, inputs: Tensor) -> None:
    """Refuse networks in which an input's outputs depend on the others."""

    def alone(row: Tensor) -> Tensor:
        # Twice, so that a batch's variance is defined.
        return network.apply(params, torch.stack([row, row]))[:, 0]

    with torch.no_grad():
        together = network.apply(params, inputs)
        gap = (torch.vmap(alone, out_dims=1)(inputs) - together).abs().max()
        # Half of the digits: more than rounding, less than another function would differ.
        if not gap <= torch.finfo(inputs.dtype).eps ** 0.5 * together.abs().max():
            raise ValueError(
                f"ntk_by_jacobian: `network` must map each input by itself, but "
                f"outputs of `{name}` together and one at a time are {float(gap):.2g} "
                "apart. Batch normalisation has no kernel of two inputs."
            )
