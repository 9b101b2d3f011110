"""Numbers of things are whole, and enough, wherever a measure is asked for so many."""

import math
import re

import numpy as np
import pytest
import torch

from empirical import jacobian
from empirical.conditioning import widths
from empirical.identity_map import copier, measures
from empirical.mmd_init import binary_tasks, classifier, start, uniformity
from empirical.mmd_init import measures as starts
from empirical.networks import FullyConnected
from empirical.randomness import numpy_generator, torch_generator

NET = FullyConnected(widths=(3, 4, 2))
PARAMS = NET.init(generator=torch_generator(7))
X = torch.eye(3, dtype=torch.float64)
CLASSES = classifier((3, 4, 2))
STREAMS = [torch_generator(7)]
DRAWN = {
    "network": CLASSES,
    "params": start(CLASSES, "he", STREAMS, dtype=torch.float64),
    "inputs": X,
    "generators": STREAMS,
}
PAIR = X[:, None, None], torch.arange(3)

CALLS = [
    (widths.kernels_by_width, "depth"),
    (measures.layer_errors, "chunk"),
    (copier, "layers"),
    (starts.constant_shares, "perturbations"),
    (starts.constant_shares, "batches"),
    (starts.dead_shares, "batch"),
    (starts.perturbed_detachment, "perturbations"),
    (starts.predictions, "perturbations"),
    (uniformity.simplex_sample, "count"),
    (uniformity.simplex_sample, "classes"),
    (binary_tasks.random_tasks, "count"),
    (binary_tasks.draw_splits, "classes"),
    (NET.upper, "count"),
]
GIVEN = {
    "kernels_by_width": {
        "x": X,
        "activation": torch.relu,
        "widths": (2,),
        "draws": 2,
        "generator": torch_generator(7),
    },
    "layer_errors": {"layers": lambda x: [x[None]], "training": PAIR, "tests": PAIR},
    "copier": {"kind": "fcn", "shape": (1, 2, 2), "width": 2},
    "constant_shares": DRAWN | {"s": [1.0], "batch": 2, "batches": 2},
    "dead_shares": DRAWN | {"batches": 2},
    "perturbed_detachment": DRAWN | {"s": 1.0},
    "predictions": DRAWN | {"s": 1.0},
    "simplex_sample": {"count": 2, "classes": 2, "generator": torch_generator(7)},
    "random_tasks": {"generator": numpy_generator(7)},
    "draw_splits": {
        "labels": np.arange(60) % 10,
        "tasks": 1,
        "per_class": 5,
        "generator": numpy_generator(7),
    },
    "upper": {"params": PARAMS, "representation": X[:, :2]},
}


@pytest.mark.parametrize(("function", "name"), CALLS)
@pytest.mark.parametrize("count", [0, -1, 2.5, math.nan])
def test_counts_that_are_none_are_refused_by_name(function, name, count):
    given = GIVEN[function.__name__] | {name: count}
    with pytest.raises(ValueError, match=rf"`{name}` must .*{re.escape(str(count))}"):
        function(**given)


@pytest.mark.parametrize("budget", [-1, 2.5, math.nan])
def test_budgets_of_jacobians_are_whole_numbers(budget):
    with pytest.raises(ValueError, match="ntk_by_jacobian: `max_bytes` must be"):
        jacobian.ntk_by_jacobian(NET, PARAMS, X, max_bytes=budget)


@pytest.mark.parametrize("depth", [-1, 0.5])
def test_depths_are_whole_numbers(depth):
    with pytest.raises(ValueError, match=r"uniform: `depth` must be"):
        FullyConnected.uniform(inputs=2, width=3, depth=depth)
