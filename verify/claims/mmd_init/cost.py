"""What one evaluation of the pre-training loss costs, in multiplications and additions.

PyTorch counts those of matrix products; the count by formula is of the definition.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from empirical.mmd_init.losses import losses
from empirical.mmd_init.networks import classifier, start
from empirical.mmd_init.recipes import Recipe
from verify.claim import grid, numeric
from verify.claims._predictors import mistake
from verify.claims.mmd_init._sources import as_read
from verify.compare import AgreesTo

_BATCH = 4
_MODELS, _CLASSES = (8, 16, 64), (2, 3, 6)


def _count(hidden: Sequence[int], classes: int, **recipe: Any) -> int:
    """Return the operations of one loss, and of its gradient."""
    network = classifier((*hidden, classes))
    generator = torch.Generator().manual_seed(0)
    params = start(network, "xavier", [generator])
    for each in params:
        each.requires_grad_()
    batch = torch.randn(1, _BATCH, hidden[0], generator=generator)
    with FlopCounterMode(display=False) as counter:
        made = Recipe(reference=16, noise="explicit", **recipe)
        losses(network, params, batch, [made], [generator]).loss.sum().backward()
    return counter.get_total_flops()


def _measure(*, hidden: list[int]) -> list[float]:
    """Count L_uni's by models, and L_iod's by classes, without what is of none."""
    models = [_count(hidden, 2, perturbations=m, xi=0.0) for m in _MODELS]
    classes = [_count(hidden, d, uni=0.0, lam=0.0, xi=1.0) for d in _CLASSES]
    return [*models, *(np.diff(classes) / np.diff(_CLASSES))]


def _products(widths: Sequence[int]) -> int:
    """Return the weights of a network."""
    return sum(a * b for a, b in pairwise(widths))


def _predict(*, hidden: list[int], more: int = 0) -> list[int]:
    # Forwards once, backwards once for weights and, behind the first layer, for inputs.
    weights, first = _products([*hidden, 2]), hidden[0] * hidden[1]
    models = [2 * _BATCH * (m + more) * (3 * weights - first) for m in _MODELS]
    # The outputs; products of the masked Jacobian with every weight below, forwards and
    # twice backwards.
    each = 2 * _BATCH * (hidden[-1] + 3 * _products(hidden))
    return [*models, *[each] * (len(_CLASSES) - 1)]


COST = numeric(
    id="mmd/cost",
    title="Costs are proportional to the perturbed models, and grow linearly with classes",
    statement=(
        r"2 B N \Big(3 \sum_{l\le L} n_l n_{l-1} - n_1 n_0\Big)\text{ operations of }"
        r"L_{uni}\text{ for } N \text{ models, } 2 B \Big(n_{L-1} + 3 \sum_{l<L} n_l"
        r" n_{l-1}\Big)\text{ of }L_{iod}\text{ for each class, } B \text{ inputs}"
    ),
    assumptions=(
        "for L_uni two classes, and weights drawn one model at a time, as printed",
        "matrix products alone: the kernel of all pairs of models is not counted",
        "fully connected, without batch normalisation",
    ),
    source=as_read("Appendix E; the counts are ours"),
    cases=grid(hidden=([7, 5, 6, 3], [4, 9, 8])),
    predict=_predict,
    measure=_measure,
    # Whole numbers.
    compare=AgreesTo(absolute=0.5),
    must_refute=mistake("The unperturbed network beside its perturbations.", more=1),
    uses=("mmd/eq11-steps", "mmd/jac"),
)
