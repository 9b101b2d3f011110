"""Examples and times of records, from the definitions (closed claims)."""

import math
from typing import Any

import numpy as np

from empirical import data
from empirical.square_loss.problems import problem
from empirical.square_loss.recipes import recorded_epochs
from verify.claim import grid
from verify.claims._twins import SUMS, Array, closed, sketch
from verify.compare import Identical

# --- examples and times -----------------------------------------------------------------


def _plain_problem(
    *, labels: list[int], side: Any, constant: Any, said: bool = True, wrong: bool
) -> list[float]:
    """Choose and scale images one after the other.

    Wrong: Images scaled by their largest pixel.
    """
    told: list[float] = []
    for split, wanted in (("train", 4 if said else 150), ("test", 3 if said else 50)):
        found = data.load(
            "mnist", "train" if split == "train" else "test", cached=False
        )
        rows: list[Array] = []
        classes: list[float] = []
        for turn in range(wanted):
            for place, label in enumerate(labels):
                at = [k for k, own in enumerate(found.labels) if own == label][turn]
                x = found.images[at] / 255.0
                if side is not None:
                    edge = 28 // side
                    x = x.reshape(side, edge, side, edge).mean(axis=(1, 3))
                if constant is not None:
                    x = np.append(x.ravel(), constant)
                rows.append(x / (np.abs(x).max() if wrong else np.linalg.norm(x)))
                classes.append(place)
        y = np.array(classes)
        targets = (
            2.0 * y - 1.0 if len(labels) == 2 else np.eye(len(labels))[y.astype(int)]
        )
        told += [*sketch(np.array(rows)), *classes, *targets.ravel().tolist()]
    return told


def _found_problem(
    *, labels: list[int], side: Any, constant: Any, said: bool = True
) -> list[float]:
    sizes: Any = {"per_class": 4, "tests": 3} if said else {}
    found = problem(labels=labels, side=side, constant=constant, cached=False, **sizes)
    told: list[float] = []
    for x, y in (
        (found.inputs, found.classes),
        (found.test_inputs, found.test_classes),
    ):
        told += [*sketch(x), *y.tolist(), *found.targets(y).flatten().tolist()]
    return [float(number) for number in told]


PROBLEM = closed(
    id="sl/expA-examples",
    title="Training examples are the first of each class in turn, scaled to unit norm",
    statement=r"\|x_n\|=1,\qquad y_n=\pm1\text{ or one-hot}",
    where="Captions of Figures 1, 5 and 9",
    cases=(
        {"labels": [3, 8], "side": None, "constant": None},
        {"labels": [8, 1], "side": 7, "constant": 0.5},
        {"labels": [5, 0, 9], "side": 14, "constant": None},
        # As many as there are unless said.
        {"labels": [3, 8], "side": 7, "constant": None, "said": False},
    ),
    twin=_plain_problem,
    measure=_found_problem,
    compare=SUMS,
)


def _plain_times(*, epochs: int, wrong: bool) -> list[int]:
    """Take as many a decade as do not exceed one in forty, or eight.

    Wrong: Times that end a decade early.
    """
    for per_decade in (20, 16, 12, 8, 6, 4, 3, 2, 1):
        decades = math.log10(epochs)
        times = {0, epochs}
        k = 0
        while k / per_decade < decades - (1e-12 if not wrong else 1.0):
            times.add(round(10.0 ** (k / per_decade)))
            k += 1
        if len(times) <= max(8, epochs // 40) or per_decade == 1:
            return sorted(times)
    raise AssertionError


def _found_times(*, epochs: int) -> list[int]:
    return recorded_epochs(epochs).tolist()


TIMES = closed(
    id="sl/expA-times",
    title="Recording times are evenly spaced in the logarithm of time, and few",
    statement=r"t_k=[10^{k/m}],\qquad\#\le\max(8,T/40)",
    where="Captions of Figures 1, 5 and 9",
    cases=grid(epochs=(7, 100, 330, 400, 999, 6000)),
    compare=Identical(),
    twin=_plain_times,
    measure=_found_times,
)
