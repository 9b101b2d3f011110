"""Tables of what trained networks showed, read from the records of their runs.

A line of a table names a run and one variant of it; a column turns the networks of that
run into a text: a mean with its 95 % interval, or with the least and the largest network.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from empirical.mmd_init.experiments import REACHED
from empirical.normrelu.ending import FITTED, epochs_to
from empirical.normrelu.experiments import DENSE, RESIDUAL
from empirical.testbed.records import Draws, RunRecord
from verify.claims.mmd_init import _printed as reference
from verify.claims.square_loss._runs import ERRS
from verify.figures.normrelu import LABELS

Array = npt.NDArray[np.float64]
Rows = list[list[str]]
Column = Callable[[RunRecord, Draws], str]
"""A run and its networks to what the table says of them."""

Number = Callable[[RunRecord, Draws], Array]
"""A run and its networks to a number of each."""


@dataclass(frozen=True)
class Line:
    """A line of a table.

    Attributes
    ----------
    words : tuple of str
        What names it in the leading columns.
    run : str
        Name of the run.
    where : mapping
        Entries of the networks' keys that make up the variant.
    paper : tuple of float
        What the paper has in the columns, shown in brackets; NaN where it has nothing.
    """

    words: tuple[str, ...]
    run: str
    where: Mapping[str, Any] = field(default_factory=dict[str, Any])
    paper: tuple[float, ...] = ()


def rows(lines: Sequence[Line], columns: Sequence[Column], folder: Path) -> Rows:
    """Return the lines of a table from the records in a folder.

    Raises
    ------
    SystemExit
        If a run has no record; the message says which, and what trains it.
    """
    return [_row(line, columns, folder / f"{line.run}.json") for line in lines]


def _row(line: Line, columns: Sequence[Column], path: Path) -> list[str]:
    record = RunRecord.read(path)
    if record is None:
        raise SystemExit(
            f"there is no record {path}: `python -m verify run` or a study's `batch`"
            " trains it"
        )
    draws = record.where(**line.where)
    cells = [column(record, draws) for column in columns]
    for place, value in enumerate(line.paper):
        if np.isfinite(value):
            cells[place] += f" ({value:.{0 if value == 0.0 else _places(value)}f})"
    return [*line.words, *cells]


def _places(value: float) -> int:
    return 2 if value < 0.1 else 1


# --- what a column says ---------------------------------------------------------------


def mean(number: Number, digits: int = 2) -> Column:
    """Show the mean of the networks."""
    return lambda record, draws: f"{number(record, draws).mean():.{digits}f}"


def interval(name: str, number: Number) -> Column:
    """Show the mean and half the 95 % interval of Student's t, if there is that series."""

    def shown(record: RunRecord, draws: Draws) -> str:
        if len(draws.having(name)) < len(draws):
            return ""
        values = number(record, draws)
        half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
        return f"{values.mean():.1f} ± {half:.1f}"

    return shown


def extent(
    number: Number,
    *,
    centre: bool = False,
    digits: int = 2,
    written: Callable[[float], str] | None = None,
) -> Column:
    """Show the least and the largest network, behind their mean where it is asked for.

    To so many digits behind the point, or `written` so.
    """

    def fixed(value: float) -> str:
        # Adding zero turns -0.00 into 0.00.
        return f"{round(value, digits) + 0.0:.{digits}f}"

    def shown(record: RunRecord, draws: Draws) -> str:
        values = number(record, draws)
        told = map(written or fixed, (values.min(), values.max(), values.mean()))
        least, most, middle = told
        text = " to ".join((least, most) if centre else dict.fromkeys((least, most)))
        return f"{middle} ({text})" if centre else text

    return shown


def networks(_record: RunRecord, draws: Draws) -> str:
    """Show how many networks there are."""
    return str(len(draws))


def fact(name: str) -> Column:
    """Show a fact of the run."""
    return lambda record, _draws: f"{record.fact(name):g}"


def start_and_end(name: str, *place: int, digits: int) -> Column:
    """Show the means of a series of networks before training and after it."""

    def shown(_record: RunRecord, draws: Draws) -> str:
        means = draws.series(name)[:, [0, -1], *place].mean(axis=0)
        return " / ".join(f"{value:.{digits}f}" for value in means)

    return shown


# --- the square loss --------------------------------------------------------------------


def _at_the_end(name: str, factor: float = 1.0) -> Number:
    return lambda _, draws: factor * draws.series(name)[:, -1]


def _test_error(_record: RunRecord, draws: Draws) -> Array:
    return np.array([100.0 * draw.fact("test_error") for draw in draws])


def _few_wrong(_record: RunRecord, draws: Draws) -> str:
    """Show how many networks err on as few examples as claims ask for."""
    return str(int((draws.series("error")[:, -1] <= ERRS).sum()))


def _two_digits(value: float) -> str:
    return f"{float(f'{value:.2g}'):,g}"


def norms(folder: Path) -> Rows:
    """Return where the paper's three experiments end, by the scale of the start."""
    lines = [
        Line((name, f"{scale:g}"), run, {"scale": scale})
        for name, run, scales in (
            ("A", "bn-decay", (0.1, 1.0, 5.0)),
            ("B", "bn-conv", (0.1, 5.0)),
            ("C", "none", (5.0, 15.0, 30.0)),
        )
        for scale in scales
    ]
    columns = [
        networks,
        _few_wrong,
        extent(_at_the_end("error", 100.0), digits=1),
        extent(_test_error, digits=1),
        extent(_at_the_end("rho"), written=_two_digits),
        extent(_at_the_end("rho_eq"), written=_two_digits),
    ]
    return rows(lines, columns, folder)


# --- learned initialisations ----------------------------------------------------------

_SHOTS = reference.SHOTS
_OURS = {"lam": 0.4, "xi": 1.0, "uni": 1.0}


def _by_task(over_tasks: Callable[[Array], Array], shots: int) -> Column:
    name = f"finetuned/{shots}"
    return interval(name, lambda _, draws: 100.0 * over_tasks(draws.series(name)))


def _after(updates: int, shots: int) -> Column:
    name, place = f"reached/{shots}", REACHED.index(updates)
    return interval(
        name, lambda _, draws: 100.0 * draws.series(name)[..., place].mean(axis=1)
    )


def _share(name: str, *layer: int) -> Column:
    return interval(
        name,
        lambda _, draws: 100.0 * draws.series(name)[:, *layer],
    )


def learned_small(folder: Path) -> Rows:
    """Return accuracies from He's initialisations, small scale."""
    lines = (
        Line(("none",), "none-he"),
        Line(("all three losses",), "mmd-he", _OURS),
        Line(("without L_uni",), "ablation-he", {"uni": 0.0, "lam": 0.4}),
    )
    of_tasks = [_by_task(partial(np.mean, axis=1), shots) for shots in (5, 40)]
    early = [_after(10, shots) for shots in (5, 40)]
    return rows(lines, of_tasks + early, folder)


METHODS = {
    "learned": ("mmd", "FCN", reference.OURS),
    "none": ("none", "FCN", reference.SCRATCH),
    "random labels": ("labels", "FCN", reference.LABELS),
    "batch norm, none": ("none-bn", "FCN+BN", reference.SCRATCH),
    "batch norm, random labels": ("labels-bn", "FCN+BN", reference.LABELS),
}
"""Start of a run's name, and its row in the paper's tables."""


def learned_tasks(table: int, folder: Path) -> Rows:
    """Return table 1 or 2 beside the paper's: accuracies, or their spread over tasks."""
    printed = (reference.ACCURACY, reference.SPREAD)[table - 1]
    over = (partial(np.mean, axis=1), partial(np.std, axis=1, ddof=1))[table - 1]
    lines = [
        Line(
            *((start, words), f"{arm}-{start.lower()}", _OURS if arm == "mmd" else {}),
            tuple(m for m, _ in printed[model, start, pretrained]),
        )
        for start in ("Xavier", "He")
        for words, (arm, model, pretrained) in METHODS.items()
    ]
    return rows(lines, [_by_task(over, shots) for shots in _SHOTS], folder)


def learned_units(folder: Path) -> Rows:
    """Return tables 3 and 4 beside the paper's: constant models and dead units."""
    lines = [
        Line(
            (f"{lam:g}, {xi:g}",),
            "mmd-xavier" if lam else "uniform-xavier",
            {"lam": lam, "xi": xi, "uni": 1.0},
            (
                reference.CONSTANT[lam, xi][0],
                *(m for m, _ in reference.DEAD.get((lam, xi), ())),
            ),
        )
        for lam, xi in ((0.0, 0.0), (0.0, 1.0), (0.4, 0.0), (0.4, 1.0))
    ]
    dead = [_share("dead/mean", layer) for layer in range(3)]
    columns = [_share("constant/mean"), *dead]
    return rows([*lines, Line(("none",), "none-xavier")], columns, folder)


def learned_sweep(folder: Path) -> Rows:
    """Return table 5 beside the paper's: constant models, dead units of the worst layer."""
    lines = [
        Line(
            (f"{s2:g}", f"{lam:g}"),
            "sweep",
            {"s2": s2, "lam": lam},
            tuple(m for m, _ in pair),
        )
        for s2, cells in reference.SWEEP.items()
        for lam, pair in zip(reference.LAMBDAS, cells, strict=True)
    ]
    worst = interval(
        "dead/mean", lambda _, draws: 100.0 * draws.series("dead/mean").max(axis=1)
    )
    return rows(lines, [_share("constant/mean"), worst], folder)


# --- identity or constant -------------------------------------------------------------


def _probe(kind: str, what: str) -> Number:
    """Return the cosine of each network's outputs with the input or the image, by probe."""

    def number(record: RunRecord, draws: Draws) -> Array:
        return draws.series(f"probes/{what}")[
            :, record.fact("probes/kinds").index(kind)
        ]

    return number


_BY_DEPTH = tuple(
    Line((str(depth), biases), f"{arm}-depth-{depth}")
    for depth in (1, 3, 5, 7, 10, 13, 20)
    for biases, arm in (("without", "cnn"), ("with", "biased"))
)

CONSTANT = ("orthogonal", "gaussian", "uniform", "digits")
IDENTITY = CONSTANT[1:]


def by_depth(folder: Path) -> Rows:
    """Return both cosines on each kind of probes, by depth and biases."""
    constant = [extent(_probe(kind, "constant"), centre=True) for kind in CONSTANT]
    identity = [mean(_probe(kind, "identity")) for kind in IDENTITY]
    return rows(_BY_DEPTH, [networks, *constant, *identity], folder)


def extents_by_depth(folder: Path) -> Rows:
    """Return the extents of four of these columns."""
    constant = [extent(_probe(k, "constant")) for k in CONSTANT if k != "uniform"]
    identity = mean(_probe("digits", "identity"))
    return rows(_BY_DEPTH, [networks, *constant, identity], folder)


# --- NormReLU and its rivals ----------------------------------------------------------


def _lines(network: str, depths: Sequence[int], arms: Sequence[str]) -> list[Line]:
    return [
        Line((LABELS[arm], str(depth)), f"{arm}-{network}-{depth}")
        for depth, arm in product(depths, arms)
    ]


def _percent(split: str, epoch: int) -> Number:
    """Return accuracies after an epoch; of networks that diverged, nothing is right."""
    return lambda _, draws: 100.0 * np.nan_to_num(draws.series(split)[:, epoch])


def _accuracy(split: str, epoch: int) -> Column:
    return mean(_percent(split, epoch), digits=0)


def _fitted(_record: RunRecord, draws: Draws) -> str:
    """Show the median of the epochs until training examples are fitted, if half are."""
    middle = np.median(epochs_to(draws.series("train_accuracy"), FITTED))
    return f"{middle:g}" if np.isfinite(middle) else "never"


def normrelu(depths: Sequence[int], folder: Path) -> Rows:
    """Return rates, accuracies and conditioning by arm and depth."""
    lines = _lines("depth", depths, DENSE)
    columns = (
        *(fact("rate"), fact("stable")),
        *(_accuracy("train_accuracy", 1), _accuracy("train_accuracy", -1)),
        *(_accuracy("test_accuracy", -1), _fitted),
        # Below the readout: the last hidden layer's.
        start_and_end("cosines", -1, digits=2),
        *(start_and_end(of, digits=1) for of in ("condition", "top_condition")),
    )
    return rows(lines, columns, folder)


def residual(folder: Path) -> Rows:
    """Return rates and accuracies of residual networks by arm and depth."""
    lines = _lines("residual", (20, 32), RESIDUAL)
    lines += _lines("residual", (110,), ("normrelu", "batch"))
    found = (
        extent(_percent(split, -1), centre=True, digits=0)
        for split in ("train_accuracy", "test_accuracy")
    )
    return rows(lines, [fact("rate"), fact("stable"), *found], folder)
