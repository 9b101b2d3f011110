r"""What keeps a start from the two ways of being useless: constant, and cut off.

`degeneracy` (L_sd) asks that a perturbed network should not predict one class for
everything, `detachment` (L_iod) that each layer should pass on what enters it. Source:
Lee and Cho 2023, eqs. (14), (20) and (22).
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from empirical.mmd_init.networks import Weights


def degeneracy(f: Tensor) -> Tensor:
    r"""Return L_sd at each perturbation, (..., M).

    .. math:: \max\Big\{\max_i E_x\|v^{(i)} - f(x)\|, \frac1{\sqrt d}\Big\}
        - \frac1{\sqrt d}

    with v^(i) the vertices of the simplex. For two classes it is
    ``sqrt(2) |E_x p - 1/2|``.

    Parameters
    ----------
    f : Tensor, shape (..., M, n, d)
        Class probabilities, M perturbations of n inputs.

    Examples
    --------
    A one-sided network and a balanced one, two inputs each:

    >>> p = torch.tensor([[0.9, 0.9], [0.9, 0.1]], dtype=torch.float64)
    >>> degeneracy(torch.stack([p, 1.0 - p], dim=2)).round(decimals=4).tolist()
    [0.5657, 0.0]
    """
    classes = f.shape[-1]
    if classes == 2:
        return math.sqrt(2.0) * (f[..., 0].mean(dim=-1) - 0.5).abs()
    # |v_i - f|^2 = |f|^2 - 2 f_i + 1, which is 0 at the vertex itself.
    squares = f.square().sum(dim=-1, keepdim=True) - 2.0 * f + 1.0
    tiny = torch.finfo(f.dtype).tiny
    distances = squares.clamp(min=tiny).sqrt().mean(dim=-2)
    return (distances.amax(dim=-1) - classes**-0.5).clamp(min=0.0)


def jacobian_norms(weights: Weights, entering: Sequence[Tensor]) -> Tensor:
    r"""Return norms of the logits' slopes by each layer's pre-activations.

    .. math:: J_{L-1} = W^{(L)} D_{L-1}, \qquad J_{l-1} = (J_l W^{(l)}) D_{l-1}, \qquad
        D_0 = I

    with D_l the ReLUs that are on, so that ``J_l`` is the slope by what enters the ReLU
    of layer l, and J_0 that by the input.

    Parameters
    ----------
    weights : list of (weight, bias)
        With any axes in front, shared by `entering`.
    entering : sequence of Tensor, shapes (..., n, n_l)
        What enters each ReLU.

    Returns
    -------
    Tensor, shape (L, ..., n, d)
        Norm of each class's row, input first.

    Examples
    --------
    >>> first, last = torch.tensor([[3.0], [-1.0]]), torch.tensor([[1.0, 5.0], [0.0, 2.0]])
    >>> x = torch.tensor([[2.0]])
    >>> weights = [(first, torch.zeros(2)), (last, torch.zeros(2))]
    >>> jacobian_norms(weights, [x @ first.T]).tolist()
    [[[3.0, 0.0]], [[1.0, 0.0]]]
    """
    *hidden, (last, _) = weights
    if not hidden:
        raise ValueError("jacobian_norms: `weights` must have a hidden layer")
    norms: list[Tensor] = []
    j = last.unsqueeze(-3)
    for (weight, _), x in zip(reversed(hidden), reversed(entering), strict=True):
        j = j * (x > 0.0).unsqueeze(-2)
        norms.append(norm(j))
        # One product for all examples and classes of a network.
        j = (j.flatten(-3, -2) @ weight).unflatten(-2, j.shape[-3:-1])
    norms.append(norm(j))
    return torch.stack(norms[::-1])


def detachment(norms: Tensor) -> Tensor:
    r"""Return L_iod from the norms of `jacobian_norms`, averaged over inputs and classes.

    .. math:: E_x \frac1d \sum_i \max_l \big(1 - \|J_l^{(i)}\|\big)^2

    Examples
    --------
    >>> detachment(torch.tensor([[[1.0, 0.5]], [[1.0, 2.0]]])).tolist()
    0.5
    """
    return (1.0 - norms).square().amax(dim=0).mean(dim=(-2, -1))


def norm(j: Tensor) -> Tensor:
    """Return the norm of each row, its slope at 0 taken for 0."""
    # The slope of a norm at 0 does not exist; 0 is as good as any.
    square = j.square().sum(dim=-1)
    zero = square == 0.0
    return torch.where(zero, 1.0, square).sqrt().masked_fill(zero, 0.0)
