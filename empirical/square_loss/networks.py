r"""The paper's classifiers by family, their first weights, and what divides their outputs.

Layers k < L are followed by a ReLU, the last is linear; outputs are g(x). By family:

``"none"``
    :math:`g(x) = W_L\sigma(W_{L-1}\cdots\sigma(W_1 x))`.
``"bn"``, ``"bn-affine"``
    The same with batch normalisation before every ReLU, without or with a gain and a
    shift for each unit; the statistics are always those of the batch.
``"wn"``
    :math:`W_k = v_k/\|v_k\|` for k < L and :math:`W_L = \rho\,v_L/\|v_L\|`: the whole
    matrix has unit Frobenius norm and one scalar carries the size of the network.
``"wn-rows"``
    Weight normalisation as libraries have it: each row (output channel) is
    :math:`g_i v_i/\|v_i\|` with a gain of its own, in every layer.

The normalised outputs are f = g/rho. With batch normalisation g does not depend on the
sizes of the hidden layers, so there rho is the Frobenius norm of the last layer; in the
other families it is the product over all layers.

References
----------
Poggio, Liao 2021, section 2. Theirs keeps the hidden layers' norms at one in
theory and trains ordinary batch normalisation; here both exist.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from empirical.networks import Network, Params
from empirical.square_loss.classifiers import Classifier


def start(
    network: Classifier,
    scales: Sequence[float],
    generators: Sequence[torch.Generator],
    *,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
) -> Params:
    """Draw Gaussian weights, each layer rescaled to a Frobenius norm.

    Parameters
    ----------
    network : FullyConnected or Convolutional
    scales : sequence of float
        One a replicate: the norm of every layer. In the family ``"wn"`` every v starts
        at norm one and rho at the scale: the size of a v does not change the function,
        only how fast its direction moves.
    generators : sequence of torch.Generator
        One a replicate, so that a start does not depend on who is beside it; drawn in
        float64 on the generator's device, whatever `dtype` is.

    Raises
    ------
    ValueError
        If a scale is not positive, or there are not as many as generators.
    """
    if len(scales) != len(generators) or not all(0 < s < torch.inf for s in scales):
        raise ValueError(
            "start: `scales` must be positive, one for each of the "
            f"{len(generators)} generators, but they are {list(scales)}"
        )
    params = network.init("unit", generator=generators)
    for own in network.grouped(params):
        for replicate, scale in enumerate(scales):
            w = own["weight"][replicate]
            w *= (1.0 if network.weighting == "matrix" else scale) / w.norm()
            if "size" in own:
                rows = network.weighting == "rows"
                size = w.flatten(1).norm(dim=1) if rows else w.new_tensor([scale])
                own["size"][replicate] = size
    return tuple(p.to(device=device, dtype=dtype) for p in params)


def norms(network: Classifier, params: Params) -> Tensor:
    """Return the layers' Frobenius norms, (replicates, L); in ``"wn"`` those of v."""
    if network.weighting == "matrix":
        weights = tuple(own["weight"] for own in network.grouped(params))
    else:
        weights = network.weights(params)
    return torch.stack([w.flatten(1).norm(dim=1) for w in weights], dim=1)


def rho(network: Classifier, params: Params) -> Tensor:
    """Return rho, by which g is divided to give f, shape (replicates,)."""
    if network.weighting == "matrix":
        return params[-1][:, 0]
    found = norms(network, params)
    return found.prod(dim=1) if network.norm is None else found[:, -1]


def statistics(network: Network, params: Params, inputs: Tensor) -> Params:
    """Return means and variances over a batch of each hidden layer's units, in turn."""
    found: list[Tensor] = []
    for z in network.run(params, inputs, kept=True).before[:-1]:
        units = z.transpose(1, 2).flatten(2)
        found += [units.mean(dim=2), units.var(dim=2, correction=0)]
    return tuple(found)
