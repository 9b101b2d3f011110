"""Tables 1 and 2 of learnt starts number by number, by networks of the paper's size."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from empirical.mmd_init.experiments import SHOTS
from verify.claim import Claim, grid
from verify.claims._predictors import Limits
from verify.claims.mmd_init import _printed
from verify.claims.mmd_init._runs import NETWORKS, Array, trained
from verify.claims.mmd_init._sources import quoted
from verify.claims.mmd_init.accuracy import BY_START, RIVALS, STARTS, by_method, spread
from verify.compare import Contrast

_trained = partial(trained, unit="points")

_NAMES = {"xavier": "Xavier", "he": "He"}
"""Starts as the paper's tables name them."""
_ROWS = {
    "none": ("FCN", _printed.SCRATCH),
    "labels": ("FCN", _printed.LABELS),
    "mmd": ("FCN", _printed.OURS),
    "none-bn": ("FCN+BN", _printed.SCRATCH),
    "labels-bn": ("FCN+BN", _printed.LABELS),
}
"""Model and pre-training of a method, as there."""


def _of_table(
    table: _printed.ByRow, method: str, start: str, shots: int
) -> _printed.Number:
    """Return a cell of table 1 or 2: its mean, and the deviation over runs."""
    model, column = _ROWS[method]
    return table[model, _NAMES[start], column][SHOTS.index(shots)]


def _accuracy_cell(
    method: str, start: str, shots: int, **_case: Any
) -> tuple[float, float]:
    """Return the paper's accuracy, and how far chance may take ours from it.

    Twice the deviation of what differs: twenty tasks there and twenty others here, and
    their four runs.
    """
    mean, over_runs = _of_table(_printed.ACCURACY, method, start, shots)
    over_tasks, _ = _of_table(_printed.SPREAD, method, start, shots)
    variance = 2.0 * over_tasks**2 / _printed.TASKS + over_runs**2 / _printed.RUNS
    return mean, 2.0 * math.sqrt(variance)


def _spread_cell(
    method: str, start: str, shots: int, **_case: Any
) -> tuple[float, float]:
    """Return the paper's deviation over tasks, and how far chance may take ours from it.

    As above; a deviation of n normal numbers has itself one of 1/sqrt(2 (n - 1)) of it.
    """
    mean, over_runs = _of_table(_printed.SPREAD, method, start, shots)
    variance = mean**2 / (_printed.TASKS - 1) + over_runs**2 / _printed.RUNS
    return mean, 2.0 * math.sqrt(variance)


Cell = Callable[..., tuple[float, float]]
"""Of a case, the paper's number and how far chance may take ours."""
Measured = Callable[..., Array]
"""Of a case, the numbers of networks, by start."""


def _as_printed(cell: Cell, **case: Any) -> Limits:
    """Allow what chance does, around the printed number."""
    _, allowed = cell(**case)
    return -allowed, allowed


def _of_other_labels(cell: Cell, *, shots: int, **case: Any) -> Limits:
    """The number with four times the labels, or a quarter."""
    other = 4 * shots if 4 * shots in SHOTS else shots // 4
    mean, allowed = cell(shots=other, **case)
    apart = mean - cell(shots=shots, **case)[0]
    return apart - allowed, apart + allowed


def _beside_printed(measured: Measured, cell: Cell, **case: Any) -> Contrast:
    """The number of a method's networks, and the paper's."""
    found = measured(**case)
    return Contrast(found, np.full_like(found, cell(**case)[0]))


def _look(*, method: str, start: str, **case: Any) -> tuple[Any, ...]:
    return NETWORKS.looks(f"{method}-{start}")(**case)


def _values(
    measured: Measured, cell: Cell, methods: Sequence[str], table: int, **parts: Any
) -> Claim:
    """Return the claim that networks of the paper's size have the numbers of a table."""
    return _trained(
        measure=partial(_beside_printed, measured, cell),
        predict=partial(_as_printed, cell),
        must_refute=partial(_of_other_labels, cell),
        runs=_look,
        items=(f"Tab{table}", "Values"),
        assumptions=("within twice the deviation that other tasks and four runs make",),
        source=quoted(f"Table {table}"),
        larger_cases={
            "gpu": grid(scale="paper", method=methods, **BY_START, shots=SHOTS)
        },
        **parts,
    )


def _row(method: str) -> str:
    """Return a method's accuracies as a statement."""
    cells = {
        start: r",\,".join(f"{_accuracy_cell(method, start, n)[0]:.2f}" for n in SHOTS)
        for start in STARTS
    }
    return rf"\text{{Xavier: }}{cells['xavier']};\;\text{{He: }}{cells['he']}\;\%"


_NOT_METHODS = (
    "It tells few labels from many, not methods apart: what other tasks leave open is"
    " more than most methods differ by, and nearly every cell would agree with another"
    " method's row as well. Tasks are shared by methods: their differences tell more"
    " (mmd/tab1-differences)."
)

VALUES = tuple(
    _values(
        by_method,
        _accuracy_cell,
        (method,),
        1,
        id=f"mmd/tab1-{name}",
        title=f"{words} are as accurate as Table 1 says",
        statement=_row(method),
        version=version,
        finding=_NOT_METHODS,
    )
    for method, name, words, version in (
        ("mmd", "ours-values", "Networks from a learned start", 1),
        ("none", "plain", "Networks that are not pre-trained", 2),
        ("labels", "labels-values", "Networks pre-trained with random labels", 1),
        ("none-bn", "bn-values", "Batch-normalised networks", 1),
        (
            "labels-bn",
            "labels-bn-values",
            "Batch-normalised networks with random labels",
            1,
        ),
    )
)

SPREADS = _values(
    spread,
    _spread_cell,
    tuple(_ROWS),
    2,
    id="mmd/tab2-values",
    title="Accuracies spread over tasks as Table 2 says",
    statement=(
        r"\operatorname{sd}_{tasks}(\text{accuracy})"
        r"\text{ as printed, by method, start and N}"
    ),
)


# --- differences between the methods of table 1 ---------------------------------------

PAIRS = {"labels": "labels-bn", "none-bn": "labels-bn", "labels-bn": "labels"}
"""Of each method another, from whose difference its own is to be told."""


def _cells(start: str | None, shots: int | None) -> list[tuple[str, int]]:
    """Return a cell, or all of a row where none is named."""
    if start is None or shots is None:
        return [(start, shots) for start in STARTS for shots in SHOTS]
    return [(start, shots)]


def _printed_difference(
    rival: str, start: str | None = None, shots: int | None = None, **_case: Any
) -> tuple[float, float]:
    """Return the paper's mean of cells, a method's less the plain start's.

    Behind it stands twice the error that four runs of each leave.
    """
    differences, variances = [], []
    cells = _cells(start, shots)
    for cell in cells:
        (own, its), (plain, plains) = (
            _of_table(_printed.ACCURACY, method, *cell) for method in (rival, "none")
        )
        differences.append(own - plain)
        variances.append((its**2 + plains**2) / _printed.RUNS)
    error = math.sqrt(sum(variances)) / len(cells)
    return sum(differences) / len(cells), 2.0 * error


def _as_printed_apart(**case: Any) -> Limits:
    """Allow what four runs of each method do."""
    _, allowed = _printed_difference(**case)
    return -allowed, allowed


def _of_other_methods(*, rival: str, **case: Any) -> Limits:
    """The printed difference of another method: alone for both, both for alone."""
    other, allowed = _printed_difference(PAIRS[rival], **case)
    apart = other - _printed_difference(rival, **case)[0]
    return apart - allowed, apart + allowed


def _apart(*, scale: str, rival: str, **cell: Any) -> Contrast:
    """A method's accuracy less the plain start's, and that difference as printed."""
    each = [
        by_method(rival, scale, *one) - by_method("none", scale, *one)
        for one in _cells(cell.get("start"), cell.get("shots"))
    ]
    found = np.mean(each, axis=0)
    return Contrast(found, np.full_like(found, _printed_difference(rival, **cell)[0]))


_differing = partial(
    _trained,
    measure=_apart,
    predict=_as_printed_apart,
    must_refute=_of_other_methods,
    runs=NETWORKS.looks(r"(none|labels)(-bn)?-(xavier|he)"),
    items=("Tab1", "Values"),
    assumptions=(
        (
            "within twice the error that four runs of each method leave; other tasks add"
            " to it, which is not allowed for"
        ),
    ),
    source=quoted("Table 1"),
    uses=tuple(claim.id for claim in VALUES),
)

DIFFERENCES = (
    _differing(
        id="mmd/tab1-differences",
        title="On the mean of cells, methods differ from the plain start as in Table 1",
        statement=(
            r"\operatorname{mean}_{cells}(\text{method}-\text{scratch})="
            + r",\,".join(f"{_printed_difference(r)[0]:.2f}" for r in RIVALS)
            + r"\text{ (R.label; BN; BN, R.label)}"
        ),
        larger_cases={"gpu": grid(scale="paper", rival=RIVALS)},
        finding=(
            "No difference is refuted, and none is decided: eight starts and the paper's"
            " four runs leave open about as much as is allowed. Those of one method alone"
            " and of both together are told apart, which accuracies are not."
        ),
    ),
    _differing(
        id="mmd/tab1-differences-cells",
        title="In each cell, methods differ from the plain start as in Table 1",
        statement=(
            r"\text{accuracy(method)}-\text{accuracy(scratch)}"
            r"\text{ as printed, by start and N}"
        ),
        larger_cases={
            "gpu": grid(scale="paper", rival=RIVALS, **BY_START, shots=SHOTS)
        },
        finding=(
            "No cell is refuted, and half of them hold, most of them with many labels:"
            " with few, starts differ by more than the paper's runs leave open."
        ),
    ),
)
