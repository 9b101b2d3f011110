"""Numbers that sentences quote and no table shows, read from the records of claims."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from verify import paths, records
from verify.claims.deep_conditioning.training.kernels import RATES
from verify.compare import flatten
from verify.records import CaseRecord
from verify.report.numbers import as_fields

Rows = list[list[str]]


@dataclass(frozen=True)
class Observed:
    """A number that a sentence quotes from a claim's record.

    Attributes
    ----------
    claim : str
    what : str
        What the number is, the name of its row.
    read : callable
        From the record's cases to the text.
    """

    claim: str
    what: str
    read: Callable[[Sequence[CaseRecord]], str]


def rows(observed: Sequence[Observed], folder: Path) -> Rows:
    """Return the rows of a table that no document shows, from the records in a folder.

    Raises
    ------
    SystemExit
        If a claim has no record there.
    """
    found: Rows = []
    for each in observed:
        path = records.path_of(each.claim, folder)
        if not path.exists():
            raise SystemExit(
                f"there is no record {path}: `python -m verify run {each.claim}`"
            )
        found.append([each.what, each.claim, each.read(records.read(path).cases)])
    return found


def small(results: Path) -> Rows:
    """Return what sentences quote from the quick profile."""
    return rows(SMALL, paths.folder_of("quick", results))


def full(results: Path) -> Rows:
    """Return what sentences quote from the published records."""
    return rows(FULL, paths.folder_of("full", results))


def _arm(case: CaseRecord, name: str) -> Any:
    return np.array(flatten(as_fields(case.measured)[name]), dtype=float)


def _estimate(place: int, entry: int, digits: int) -> Callable[..., str]:
    """Show an entry of an estimate with its standard error."""

    def read(cases: Sequence[CaseRecord]) -> str:
        of = as_fields(cases[place].measured)
        value, error = (flatten(of[name])[entry] for name in ("mean", "stderr"))
        return f"{value:.{digits}f} ± {error:.{digits}f}"

    return read


def _predicted(place: int, entry: int, digits: int) -> Callable[..., str]:
    return lambda cases: f"{flatten(cases[place].predicted)[entry]:.{digits}f}"


def _differences(cases: Sequence[CaseRecord]) -> list[float]:
    return [
        float(_arm(case, "treated").mean() - _arm(case, "baseline").mean())
        for case in cases
    ]


def _between(
    turn: Callable[[float], float], form: str = ".2g", where: slice = slice(None)
) -> Callable[[Sequence[CaseRecord]], str]:
    """Show the least and the largest effect of the cases, turned and rounded."""

    def read(cases: Sequence[CaseRecord]) -> str:
        return _range(list(map(turn, _differences(cases)[where])), form)

    return read


def _range(found: Sequence[float], form: str) -> str:
    ends = (f"{float(format(value, form)):,g}" for value in (min(found), max(found)))
    return " to ".join(dict.fromkeys(ends))


def _power_over_predicted(cases: Sequence[CaseRecord]) -> str:
    """Show the least and the largest of 10 to the effect over 10 to the one predicted."""
    middles = [sum(map(records.number, case.predicted)) / 2.0 for case in cases]
    pairs = zip(_differences(cases), middles, strict=True)
    return _range([10.0 ** (effect - middle) for effect, middle in pairs], ".2g")


def _effect(place: int, factor: float, digits: int) -> Callable[..., str]:
    """Show an effect with half of the interval that decides on it."""

    def read(cases: Sequence[CaseRecord]) -> str:
        effect, half = _differences(cases)[place], records.number(cases[place].resolves)
        return f"{factor * effect:.{digits}f} ± {factor * half:.{digits}f}"

    return read


def _mean(place: int, arm: str, factor: float, digits: int) -> Callable[..., str]:
    return lambda cases: f"{factor * _arm(cases[place], arm).mean():.{digits}f}"


def _rounding(cases: Sequence[CaseRecord]) -> str:
    """Show the least and the largest of what was measured, as powers of ten."""
    values = [abs(value) for case in cases for value in flatten(case.measured)]
    return " to ".join(f"{value:.0e}".replace("e-0", "e−") for value in _ends(values))


def _ends(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _errors(arm: str) -> Callable[[Sequence[CaseRecord]], str]:
    """Show the least and the largest test error of an arm in %."""

    def read(cases: Sequence[CaseRecord]) -> str:
        least, most = _ends(100.0 * _arm(cases[0], arm))
        return f"{least:g} to {most:g}"

    return read


def _off(cases: Sequence[CaseRecord]) -> str:
    """Show by how many % a measured value differs from the predicted one at most."""
    sides = (cases[0].measured, cases[0].predicted)
    measured, predicted = (np.array(flatten(side), dtype=float) for side in sides)
    return f"{100.0 * np.abs(measured / predicted - 1.0).max():.1f}"


def _deviation(cases: Sequence[CaseRecord]) -> str:
    """Show the standard deviation of a paired difference."""
    gains = _arm(cases[0], "treated") - _arm(cases[0], "baseline")
    return f"{gains.std(ddof=1):.1f}"


def _rate(place: int, side: str) -> Callable[[Sequence[CaseRecord]], str]:
    return lambda cases: f"{RATES[getattr(cases[place], side)]:.2g}"


_START = "dc/fig1-start"
_RATES = "dc/sec7-rates-kernel"

SMALL = (
    Observed(_START, "NormReLU's products", _estimate(3, 0, 3)),
    Observed(_START, "NormReLU's products, predicted", _predicted(3, 0, 3)),
    Observed(_START, "ReLU's products", _estimate(11, 0, 2)),
    Observed(_START, "ReLU's products, predicted", _predicted(11, 0, 2)),
    Observed("dc/sec7-batch-gradients", "gradients' growth", _estimate(0, 0, 3)),
    Observed("dc/sec11-condition-start", "tangent condition", _power_over_predicted),
    Observed(
        "dc/sec11-top-start",
        "top condition, 16",
        _between(lambda value: 10.0**value, where=slice(0, 2)),
    ),
    Observed(
        "dc/sec11-top-start",
        "top condition, 32",
        _between(lambda value: 10.0**value, where=slice(2, 4)),
    ),
    Observed(
        "dc/sec11-top-end",
        "top condition, end",
        _between(lambda value: 10.0**value),
    ),
    Observed(_RATES, "rate, 4", _rate(0, "measured")),
    Observed(_RATES, "rate, 4, predicted", _rate(0, "predicted")),
    Observed(_RATES, "rate, 16", _rate(1, "measured")),
    Observed(_RATES, "rate, 16, predicted", _rate(1, "predicted")),
    Observed("mmd/tab1", "deviation of the gain", _deviation),
    Observed("id/bias-forgets", "image's share", _rounding),
)

FULL = (
    Observed(
        "dc/fig3-first",
        "gain, one epoch",
        _between(lambda value: 100.0 * value, ".0f"),
    ),
    Observed("dc/fig3-test", "gain on BatchNorm", _effect(0, 100.0, 0)),
    Observed("dc/fig3-test", "gain on LayerNorm", _effect(1, 100.0, 0)),
    Observed("dc/fig4", "NormReLU, 20 layers", _mean(0, "treated", 100.0, 1)),
    Observed("dc/fig4", "BatchNorm, 20 layers", _mean(0, "baseline", 100.0, 1)),
    Observed("dc/fig4", "NormReLU, 32 layers", _mean(1, "treated", 100.0, 1)),
    Observed("dc/fig4", "BatchNorm, 32 layers", _mean(1, "baseline", 100.0, 1)),
    Observed("dc/fig4-deep", "NormReLU, 110 layers", _mean(0, "treated", 100.0, 1)),
    Observed("dc/fig4-deep", "BatchNorm, 110 layers", _mean(0, "baseline", 100.0, 1)),
    Observed("dc/fig4-deep", "gain, 110 layers", _effect(0, 100.0, 1)),
    Observed("sl/obs3-trained", "errors from 0.1", _errors("baseline")),
    Observed("sl/obs3-trained", "errors from 5", _errors("treated")),
    Observed("sl/eq5-bn", "off equilibrium", _off),
)
