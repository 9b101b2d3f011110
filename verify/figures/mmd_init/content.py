"""The paper's tables beside what the records hold: each number's mean and deviation."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from verify.claims.mmd_init import _printed as reference
from verify.claims.mmd_init._printed import ByRow, Number, Row
from verify.figures.mmd_init.runs import Run, Stack, Stacks, runs_of
from verify.figures.runs import Array
from verify.figures.tables import DASH, Cell, Table

_NAMES = {reference.OURS: "mmd", reference.SCRATCH: "none", reference.LABELS: "labels"}

_PAIR = ("paper", "here")

Notes = tuple[str, ...]


def configuration(row: Row) -> str:
    """Return the configuration of a row of tables 1 and 2.

    Examples
    --------
    >>> configuration(("FCN+BN", "He", "R.label"))
    'labels-bn-he'
    """
    model, start, pretrained = row
    norm = "-bn" if model.endswith("BN") else ""
    return f"{_NAMES[pretrained]}{norm}-{start.lower()}"


BY_TASK = tuple(configuration(row) for row in reference.ROWS if row[0] == "FCN")
"""Configurations of tables 1 and 2."""

NORMALISED = tuple(configuration(row) for row in reference.ROWS if row[0] != "FCN")
"""Further ones, with batch normalisation, which no claim looks at."""


def accuracy(stacks: Stacks, notes: Notes) -> Table:
    """Return table 1: means over tasks."""
    return _by_task(
        stacks, notes, reference.ACCURACY, lambda v: v.mean(axis=1), best=max
    )


def spread(stacks: Stacks, notes: Notes) -> Table:
    """Return table 2: standard deviations over tasks."""
    return _by_task(
        stacks, notes, reference.SPREAD, lambda v: v.std(axis=1, ddof=1), best=min
    )


def _by_task(
    stacks: Stacks,
    notes: Notes,
    printed: ByRow,
    over_tasks: Callable[[Array], Array],
    *,
    best: Callable[[Iterable[float]], float],
) -> Table:
    """Return a row for each model, start and pre-training; bold: the best of a start."""
    shots = reference.SHOTS
    found = {row: _found(stacks.get(configuration(row)), over_tasks) for row in printed}
    rows: list[tuple[Row, tuple[Cell, ...]]] = []
    for row in printed:
        rivals = [other for other in printed if other[1] == row[1]]
        cells: list[Cell] = []
        for column in range(len(shots)):
            for numbers in (printed, found):
                pair = numbers[row][column]
                means = [n[0] for r in rivals if (n := numbers[r][column]) is not None]
                cells.append(_cell(pair, strong=pair and pair[0] == best(means)))
        rows.append((row, tuple(cells)))
    groups = tuple((f"N = {n}", _PAIR) for n in shots)
    absent = [
        n for k, n in enumerate(shots) if all(f[k] is None for f in found.values())
    ]
    if absent:
        listed = ", ".join(map(str, absent))
        notes = (*notes, f"{DASH}: no record has N = {listed}")
    heads = ("model", "start", "pre-trained")
    return Table(heads=heads, groups=groups, rows=tuple(rows), notes=notes)


def _found(
    stack: Stack | None, over_tasks: Callable[[Array], Array]
) -> tuple[Number | None, ...]:
    """Return mean and deviation over runs for each N, of the paper's variant."""
    if stack is None:
        return (None,) * len(reference.SHOTS)
    # Others than the table's "Ours" are trained for tables 3 and 4 beside it.
    chosen = {"lam": 0.4, "xi": 1.0, "s2": 0.5} if stack.learnt else {}
    runs = stack.of(**chosen)
    return tuple(_over_runs(runs, n, over_tasks) for n in reference.SHOTS)


def _over_runs(
    runs: Sequence[Run], shots: int, over_tasks: Callable[[Array], Array]
) -> Number | None:
    name = f"finetuned/{shots}"
    found = [run.numbers(name) for run in runs if run.has(name)]
    whole = [values for values in found if np.isfinite(values).all()]
    return summary(100.0 * over_tasks(np.array(whole))) if whole else None


def summary(values: Array) -> Number:
    """Return the mean and the standard deviation over runs, nan of one run.

    Examples
    --------
    >>> summary(np.array([1.0, 3.0]))
    (2.0, 1.4142135623730951)
    """
    std = float(values.std(ddof=1)) if values.size > 1 else float("nan")
    return float(values.mean()), std


def _cell(number: Number | None, *, strong: object = False) -> Cell:
    """Return a mean and its deviation, the mean alone where that is of one run."""
    if number is None:
        return Cell()
    mean, std = number
    return Cell(f"{mean:.2f}" + (f" ± {std:.2f}" if std == std else ""), bool(strong))


def constant(stacks: Stacks, notes: Notes) -> Table:
    """Return table 3: models that miss a class, by lambda and xi."""
    rows: list[_Pairs] = []
    for (lam, xi), printed in reference.CONSTANT.items():
        found = _over_minibatches(runs_of(stacks, lam=lam, xi=xi), "constant")
        rows.append(((lam, xi), [printed], found or [None]))
    return _paired(("λ", "ξ"), ("DS, %",), rows, notes)


def dead(stacks: Stacks, notes: Notes) -> Table:
    """Return table 4: dead units of each hidden layer, by lambda and xi."""
    rows: list[_Pairs] = []
    for (lam, xi), printed in reference.DEAD.items():
        found = _over_minibatches(runs_of(stacks, lam=lam, xi=xi), "dead")
        rows.append(((lam, xi), printed, found or [None] * len(printed)))
    return _paired(("λ", "ξ"), [f"hidden {k}, %" for k in (1, 2, 3)], rows, notes)


_Pairs = tuple[tuple[float, ...], Sequence[Number | None], Sequence[Number | None]]
"""What a row is of, what is printed, and what is found."""


def _paired(
    heads: tuple[str, ...], titles: Iterable[str], rows: Iterable[_Pairs], notes: Notes
) -> Table:
    """Return a table of what is printed beside what is found."""
    made = tuple(
        (
            tuple(f"{value:g}" for value in values),
            tuple(_cell(n) for pair in zip(printed, found, strict=True) for n in pair),
        )
        for values, printed, found in rows
    )
    groups = tuple((title, _PAIR) for title in titles)
    return Table(heads=heads, groups=groups, rows=made, notes=notes)


def _over_minibatches(runs: Sequence[Run], name: str) -> list[Number]:
    """Return percentages' means and deviations over minibatches, pooled over runs.

    The deviation is the root of the mean of the runs' variances: minibatches alone.
    """
    if not runs:
        return []
    means = np.array([np.atleast_1d(run.numbers(f"{name}/mean")) for run in runs])
    stds = np.array([np.atleast_1d(run.numbers(f"{name}/std")) for run in runs])
    pooled = np.sqrt(np.mean(stds**2, axis=0))
    pairs = zip(means.mean(axis=0), pooled, strict=True)
    return [(100.0 * float(mean), 100.0 * float(std)) for mean, std in pairs]


def sweep(stacks: Stacks, notes: Notes) -> Table:
    """Return table 5: constant models and detachment, by noise and lambda."""
    rows: list[_Pairs] = []
    for s2, line in reference.SWEEP.items():
        for lam, printed in zip(reference.LAMBDAS, line, strict=True):
            runs = runs_of(stacks, s2=s2, lam=lam)
            found = _constant_and_detached(runs) if runs else (None, None)
            rows.append(((s2, lam), printed, found))
    return _paired(("s²", "λ"), ("DS, %", "IOD, %"), rows, notes)


def _constant_and_detached(runs: Sequence[Run]) -> tuple[Number, Number]:
    """Return DS and IOD, the largest of the layers' mean dead shares, over runs."""
    shares = np.array([float(run.numbers("constant/mean")) for run in runs])
    worst = np.array([run.numbers("dead/mean").max() for run in runs])
    return summary(100.0 * shares), summary(100.0 * worst)
