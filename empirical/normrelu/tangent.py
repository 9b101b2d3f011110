r"""Tangent kernels of trained networks, and how well they are conditioned.

Of one output f and all weight matrices, with z_l the products of layer l and h_{l-1} what
enters it,

.. math::
    \Theta(x, x') = \sum_l (h_{l-1} \cdot h_{l-1}')
        \left(\frac{\partial f}{\partial z_l} \cdot \frac{\partial f'}{\partial z_l}\right).

Every network whose inputs do not see each other has it, with any normalisation that uses
running statistics; `empirical.kernels` has that of the plain NTK parametrisation, faster.
"""

import math

import torch
from torch import Tensor

from empirical.checks import check_slopes
from empirical.kernels import gram
from empirical.networks import Network, Params


def tangent_kernels(
    network: Network, params: Params, inputs: Tensor, *, buffers: Params = ()
) -> Tensor:
    """Return the first output's tangent kernels, shape (replicates, n, n), float64.

    Parameters
    ----------
    network : Network
        Of fully connected layers, standard parametrisation.
    params : tuple of Tensor
    inputs : Tensor, shape (n, d)
    buffers : tuple of Tensor
        Running statistics, where the network has them.

    Raises
    ------
    ValueError
        If `inputs` are not vectors, or would be normalised with each other.
    RuntimeError
        In `torch.inference_mode`.

    Examples
    --------
    >>> from empirical.networks import FullyConnected
    >>> from empirical.randomness import torch_generator
    >>> net = FullyConnected(
    ...     widths=(3, 5, 2), activation="relu", parametrisation="standard"
    ... )
    >>> params = net.init(replicates=4, generator=torch_generator(1))
    >>> tangent_kernels(net, params, torch.eye(3)).shape
    torch.Size([4, 3, 3])
    """
    check_slopes("tangent_kernels")
    if inputs.ndim != 2:
        raise ValueError(
            "tangent_kernels: `inputs` must be vectors, shape (n, d), but they have shape"
            f" {tuple(inputs.shape)}"
        )
    batched = sum(layer.by_columns for layer in network.plan)
    if len(buffers) != 2 * batched:
        raise ValueError(
            "tangent_kernels: `buffers` must hold the running statistics of every"
            f" normalisation over batches, {2 * batched}, but there are {len(buffers)}"
        )
    own = tuple(p.detach().double().requires_grad_() for p in params)
    x = inputs.detach().double()
    running = tuple(b.double() for b in buffers)
    with torch.enable_grad():
        signals = network.run(own, x, buffers=running, training=False, kept=True)
        down = torch.autograd.grad(signals.outputs[..., 0].sum(), signals.before)
    entering = (x.expand(len(own[0]), -1, -1), *(h.detach() for h in signals.hidden))
    kernel = torch.zeros_like(gram(entering[0]))
    for h, slope in zip(entering, down, strict=True):
        kernel.addcmul_(gram(h), gram(slope))
    return kernel


def conditions(kernels: Tensor) -> Tensor:
    r"""Return :math:`\log_{10} \lambda_1 / \lambda_n` of symmetric matrices, shape (k,).

    At most what float64 resolves, :math:`-\log_{10} n \epsilon`; NaN of matrices that are
    not finite.

    Examples
    --------
    >>> conditions(torch.diag(torch.tensor([100.0, 1.0]).double())[None])
    tensor([2.], dtype=torch.float64)
    """
    n = kernels.shape[-1]
    finite = torch.isfinite(kernels).all(dim=(1, 2))
    safe = torch.where(finite[:, None, None], kernels, torch.eye(n).to(kernels))
    values = torch.linalg.eigvalsh(safe)
    least = torch.finfo(kernels.dtype).eps * n * values[:, -1]
    found = torch.log10(values[:, -1] / torch.maximum(values[:, 0], least))
    return torch.where(finite, found, math.nan)
