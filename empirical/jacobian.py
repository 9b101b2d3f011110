"""Tangent kernels of any network, from its Jacobian."""

from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.autograd.functional import jacobian

from empirical._contraction import (
    MAX_BYTES,
    Outputs,
    as_rows,
    by_blocks,
    check,
    combined,
    inner,
)
from empirical.checks import check_counts, check_slopes
from empirical.networks import Params
from empirical.testbed.modules import apply, each_of, learnt

_WHO = "ntk_by_jacobian: `network`"


class Applied(Protocol):
    """A network whose weights are stacked tensors, draws in front."""

    def apply(self, params: Params, x: Tensor, /) -> Tensor:
        """Return outputs, shape (draws, n, ...), of inputs of shape (n, ...)."""
        ...


def ntk_by_jacobian(
    network: Applied | nn.Module,
    params: Params,
    x: Tensor,
    y: Tensor | None = None,
    *,
    outputs: Outputs = "mean",
    max_bytes: int = MAX_BYTES,
    buffers: Params = (),
    one_by_one: bool = False,
) -> Tensor:
    """Return tangent kernels of any network from its Jacobian: the slow reference.

    Parameters
    ----------
    network : Applied or nn.Module
        Convolutional, residual, with biases: all that it needs is ``apply``, where the
        outputs of an input depend on that input alone. Or a module whose outputs are a
        tensor: its kernels are sums over the parameters that are trained.
    params : tuple of Tensor
        Draws in front; of a module all, in the order of its own.
    x, y : Tensor, shapes (n, ...) and (n', ...)
        The same inputs for every draw. `y` is `x` when absent.
    outputs : {"mean", "sum", "all"}
        See `empirical.kernels.nngp_ntk`. Outputs of several axes are counted in one.
    max_bytes : int
        Budget for the Jacobians of two blocks of inputs; below outputs times
        parameters numbers, it is one input at a time.
    buffers : tuple of Tensor
        Of a module, draws in front; they stay as they are.
    one_by_one : bool
        Call the network with one input after another, by plain autograd: for what
        `torch.vmap` can't run, as modules with nn.LSTM, nn.GRU or nn.RNN.

    Returns
    -------
    Tensor, shape (draws, n, n') or (draws, n, n', outputs, outputs)

    Raises
    ------
    ValueError
        If `x`, `y` or `params` hold NaN or infinity, `outputs` is unknown, `torch.vmap`
        can't run the network, or inputs see each other, as with batch normalisation: more
        than the root of the rounding unit between the outputs of all inputs and of one at
        a time.
    RuntimeError
        In `torch.inference_mode`, if `one_by_one`.

    Notes
    -----
    Uses `torch.func` and none of the structure. Holds outputs * parameters numbers for
    each input of two blocks, of one draw at a time.

    Examples
    --------
    The kernel of a linear map is its inputs' Gram matrix, and 1 for the bias:

    >>> x = torch.tensor([[1.0, 0.0], [2.0, 1.0]])
    >>> net = nn.Linear(2, 1)
    >>> params = tuple(p.detach()[None] for p in net.parameters())
    >>> ntk_by_jacobian(net, params, x)
    tensor([[[2., 3.],
             [3., 6.]]])
    """
    if one_by_one:
        check_slopes("ntk_by_jacobian")
    check("ntk_by_jacobian", params, x, y, outputs)
    check_counts("ntk_by_jacobian", 0, max_bytes=max_bytes)
    # Slopes of slopes are not kept, nor what they would be made from.
    params, x = tuple(p.detach() for p in params), x.detach()
    y = None if y is None else y.detach()
    if isinstance(network, nn.Module):
        every: list[Tensor] = []
        for draw in range(len(params[0])):
            own, held = (_of(draw, tensors) for tensors in (params, buffers))
            trained = tuple(p for i, p in enumerate(own) if i in learnt(network))
            kernel = ntk_by_jacobian(
                _Draw(network, own, held),
                trained,
                *(x, y),
                outputs=outputs,
                max_bytes=max_bytes,
                one_by_one=one_by_one,
            )
            every.append(kernel)
        return torch.cat(every)
    if buffers:
        raise ValueError(
            "ntk_by_jacobian: `buffers` must be given with an nn.Module only, but "
            f"`network` is a {type(network).__name__}. Its `apply` knows its own."
        )
    _check_alone(network, params, "x", x, one_by_one=one_by_one)
    if y is not None:
        _check_alone(network, params, "y", y, one_by_one=one_by_one)

    def of_one(weights: Params, row: Tensor) -> Tensor:
        return network.apply(weights, row[None])[0, 0].flatten()

    def plain(weights: Params, row: Tensor) -> Any:
        return jacobian(lambda *given: of_one(given, row), weights)

    slopes_of = plain if one_by_one else torch.func.jacrev(of_one)
    jacobians = each_of(_WHO, slopes_of, (None, 0), one_by_one=one_by_one)
    kernels = []
    for draw in range(len(params[0])):
        weights = _of(draw, params)
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


@dataclass(frozen=True, eq=False)
class _Draw:
    """One draw of a module, of its trained parameters."""

    module: nn.Module
    params: Params
    buffers: Params

    def apply(self, trained: Params, x: Tensor, /) -> Tensor:
        given = dict(zip(learnt(self.module), trained, strict=False))
        params = tuple(given.get(index, p) for index, p in enumerate(self.params))
        # Copies: a measurement moves no statistics.
        held = tuple(b.clone() for b in self.buffers)
        outputs = apply(self.module, params, x, buffers=held, one_by_one=True)
        # Modules are not type-checked.
        if not isinstance(outputs, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(
                "ntk_by_jacobian: `network` must return a tensor, but it returns a "
                f"{type(outputs).__name__}. Wrap it in a module that returns one of them."
            )
        return outputs


def _of(draw: int, tensors: Params) -> Params:
    return tuple(t[draw : draw + 1] for t in tensors)


def _check_alone(
    network: Applied, params: Params, name: str, inputs: Tensor, *, one_by_one: bool
) -> None:
    """Refuse networks in which an input's outputs depend on the others."""

    def alone(row: Tensor) -> Tensor:
        # Twice, so that a batch's variance is defined.
        return network.apply(params, torch.stack([row, row]))[:, 0]

    # Batch normalisation in training can't be run by `torch.vmap`, to be refused here.
    plain = one_by_one or isinstance(network, _Draw)
    each = each_of(_WHO, alone, (0,), one_by_one=plain)
    with torch.no_grad():
        together = network.apply(params, inputs)
        gap = (each(inputs).movedim(0, 1) - together).abs().max()
        # Half of the digits: more than rounding, less than another function would differ.
        if not gap <= torch.finfo(together.dtype).eps ** 0.5 * together.abs().max():
            raise ValueError(
                f"ntk_by_jacobian: `network` must map each input by itself, but "
                f"outputs of `{name}` together and one at a time are {float(gap):.2g} "
                "apart. Batch normalisation has no kernel of two inputs."
            )
