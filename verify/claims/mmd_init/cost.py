"""What one evaluation of the pre-training loss costs, in multiplications and additions.

PyTorch counts those of matrix products; the count by formula is of the definition.
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from empirical.mmd_init.losses import losses
from empirical.mmd_init.networks import classifier, start
from empirical.mmd_init.recipes import Recipe
from verify.claim import grid, numeric
from verify.claims._predictors import changed, mistake
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


def _measure_models(*, hidden: list[int]) -> list[int]:
    return [_count(hidden, 2, perturbations=m, xi=0.0) for m in _MODELS]


def _products(hidden: Sequence[int], classes: int) -> int:
    """Return the weights of a network."""
    return sum(a * b for a, b in pairwise((*hidden, classes)))


def _of_models(hidden: list[int], models: Sequence[int]) -> list[int]:
    # Forwards once, backwards once for weights and, behind the first layer, for inputs.
    weights, first = _products(hidden, 2), hidden[0] * hidden[1]
    return [2 * _BATCH * m * (3 * weights - first) for m in models]


_WIDTHS = ([7, 5, 6, 3], [4, 9, 8])

MODELS = numeric(
    id="mmd/cost",
    title="The cost of the uniformity loss is proportional to the perturbed models",
    statement=(
        r"2 B N \Big(3 \sum_{l} n_l n_{l-1} - n_1 n_0\Big)"
        r"\text{ operations for } N \text{ models, } B \text{ inputs}"
    ),
    assumptions=(
        "two classes",
        "weights drawn one model at a time, as printed",
        "matrix products alone: the kernel of all pairs of models is not counted",
    ),
    source=as_read("Appendix E; the counts are ours"),
    cases=grid(hidden=_WIDTHS),
    predict=partial(_of_models, models=_MODELS),
    measure=_measure_models,
    # Whole numbers.
    compare=AgreesTo(absolute=0.5),
    must_refute=changed(
        _of_models,
        "The unperturbed network beside its perturbations.",
        models=[m + 1 for m in _MODELS],
    ),
    uses=("mmd/eq11-steps",),
)


def _measure_classes(*, hidden: list[int]) -> list[float]:
    """Count the Jacobian's loss; what does not depend on the classes is left out."""
    found = [_count(hidden, d, uni=0.0, lam=0.0, xi=1.0) for d in _CLASSES]
    return (np.diff(found) / np.diff(_CLASSES)).tolist()


def _predict_classes(*, hidden: list[int]) -> list[int]:
    # The outputs; products of the masked Jacobian with every weight below, forwards and
    # twice backwards.
    below = _products(hidden[:-1], hidden[-1])
    return [2 * _BATCH * (hidden[-1] + 3 * below)] * (len(_CLASSES) - 1)


CLASSES = numeric(
    id="mmd/cost-classes",
    title="The cost of the detachment loss grows linearly with the classes",
    statement=(
        r"2 B \Big(n_{L-1} + 3 \sum_{l<L} n_l n_{l-1}\Big)"
        r"\text{ operations for each class, } B \text{ inputs}"
    ),
    assumptions=("fully connected, without batch normalisation",),
    source=as_read("Appendix E; the counts are ours"),
    cases=grid(hidden=_WIDTHS),
    predict=_predict_classes,
    measure=_measure_classes,
    compare=AgreesTo(absolute=0.5),
    must_refute=mistake(
        "The outputs alone, as for a loss of these.",
        then=lambda found, *, hidden: [2 * _BATCH * hidden[-1]] * len(found),
    ),
    uses=("mmd/eq11-steps", "mmd/jac"),
)
