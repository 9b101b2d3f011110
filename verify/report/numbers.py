"""Predictions, measurements and gaps as text: their digits follow their errors.

What is told `of` is a case, or the worst one of a row.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from empirical.testbed.writing import DAMAGED
from verify import records
from verify.compare import Outcome, flatten, small
from verify.records import CaseRecord, Record, RecordError
from verify.report import expressions, plain

if TYPE_CHECKING:
    from verify.claim import Claim
    from verify.report.rows import Row


LIMITS = 3
"""Digits of an effect's limits, which are sizes that were chosen."""
_LISTED = 120
"""Characters of settings that are shown; their record has the others."""
_DIGEST = re.compile("[0-9a-f]{16}")


def _case(of: "Row | CaseRecord | None") -> CaseRecord | None:
    return of if of is None or isinstance(of, CaseRecord) else of.worst


def predicted_of(of: "Row | CaseRecord | None", digits: int = 6) -> str:
    """Return a case's predicted value, that of its worst entry, shortened.

    Of a row whose prediction is a bound it says of which side.
    """
    case = _case(of)
    sign = "" if of is None or isinstance(of, CaseRecord) else side_of(of.claim)
    if case is None or case.error:
        return ""
    if "treated" in as_fields(case.measured):
        return between(case.predicted, min(digits, LIMITS), ("≤", "≥"))
    value, stderr = worst_entry(case.predicted, case), _stderr(case)
    if stderr is not None:
        return sign + _to_error(value, stderr)
    return _in_words(case.predicted, case) or sign + _short(_kept(value, case), digits)


def side_of(claim: "Claim") -> str:
    """Return the sign that stands before a bound; nothing where it is a value."""
    sign = getattr(claim.compare, "sign", "")
    return f"{sign} " if sign else ""


def _kept(value: Any, case: CaseRecord) -> Any:
    """Return a value, or zero below what would be noticed, where its digits are noise."""
    bound = case.slack is not None or "lower" in as_fields(case.measured)
    if bound or case.unit != "absolute" or isinstance(value, bool):
        return value
    try:
        size = abs(records.number(value))
    except (TypeError, ValueError, OverflowError):
        return value
    return 0.0 if size < case.resolves else value


def effect_of(of: "Row | CaseRecord | None", unit: str = "") -> str:
    """Return a difference of two arms' means with its interval and unit.

    Empty for a measurement that is no effect of training.
    """
    case = _case(of)
    arms = as_fields(case.measured) if case is not None else {}
    if case is None or "treated" not in arms:
        return ""
    treated, baseline = (
        [records.number(value) for value in flatten(arms[arm])]
        for arm in ("treated", "baseline")
    )
    effect = sum(treated) / len(treated) - sum(baseline) / len(baseline)
    half = case.resolves
    # Two digits of the half-width are enough to see on which side of a limit it ends.
    places = 1 - math.floor(math.log10(half)) if half > 0.0 else 3
    shown = [f"{effect + side * half:.{max(0, places)}f}" for side in (0.0, -1.0, 1.0)]
    mean, least, most = (text.replace("-", "−") for text in shown)
    interval = f" [{least}, {most}]" if half > 0.0 else ""
    return f"{mean}{interval} {unit}".rstrip()


def is_alone(of: "Row | CaseRecord | None") -> bool:
    """Whether an arm of networks is compared with zeros, which no network has given."""
    case = _case(of)
    arms = as_fields(case.measured) if case is not None else {}
    return "baseline" in arms and not any(flatten(arms["baseline"]))


def between(
    limits: Sequence[float | None],
    digits: int = 3,
    ends: tuple[str, str] = ("at most", "at least"),
) -> str:
    """Return limits of an effect in words; `ends` are said of one alone.

    >>> between((0.5, None)), between((-1.0, 2.0))
    ('at least 0.5', '−1 to 2')
    """
    least, most = (None if v is None else _short(v, digits) for v in limits)
    if least is None:
        return f"{ends[0]} {most}"
    return f"{ends[1]} {least}" if most is None else f"{least} to {most}"


def measured_of(of: "Row | CaseRecord | None", digits: int = 6) -> str:
    """Return a case's measured value, that of its worst entry, shortened."""
    case = _case(of)
    if case is None:
        return ""
    if case.error:
        return "not learnt" if case.outcome is Outcome.UNDECIDED else ""
    measured = as_fields(case.measured)
    if "stderr" in measured:
        mean, stderr = worst_entry(measured["mean"], case), _stderr(case)
        assert stderr is not None
        return f"{_to_error(mean, stderr)} ± {_rounded(stderr)}"
    if "treated" in measured:
        arms = (flatten(measured[name]) for name in ("treated", "baseline"))
        each = [sum(map(records.number, arm)) / len(arm) for arm in arms]
        return " against ".join(_short(m, 3) for m in each[: 1 if is_alone(of) else 2])
    if "lower" in measured:
        low, high = _short(measured["lower"], digits), _short(measured["upper"], digits)
        return low if low == high else f"[{low}, {high}]"
    value = _kept(worst_entry(case.measured, case), case)
    return _in_words(case.measured, case) or _short(value, digits)


def expressions_of(value: Any, of: "Row | CaseRecord | None") -> tuple[str, ...]:
    """Return what a proof compares as LaTeX, where it differs; nothing of other values."""
    case = _case(of)
    if case is None or case.error or case.unit != "exact":
        return ()
    differs = case.gap != 0.0
    texts = [worst_entry(value, case)] if differs else flatten(value)
    if not all(isinstance(text, str) for text in texts):
        return ()
    return expressions.several(cast("list[str]", texts))


def _in_words(value: Any, case: CaseRecord) -> str:
    """Return expressions as plain text, settings with their names; else nothing."""
    proved = expressions_of(value, case)
    if proved:
        return "; ".join(map(plain.formula, proved))
    found, sides = as_fields(value), (case.predicted, case.measured)
    one, other = map(as_fields, sides)
    if case.unit != "exact" or not found:
        return ""
    if one != other:
        found = {k: v for k, v in found.items() if one.get(k) != other.get(k)}
    elif all(_DIGEST.fullmatch(str(each)) for each in found.values()):
        return f"{len(found)} digests"
    told = json.dumps(found, ensure_ascii=False)[1:-1]
    told = told.replace('"', "").replace("null", "none")
    return told if len(told) <= _LISTED else told[: _LISTED - 1] + "…"


def gap_of(of: "Row | CaseRecord | None") -> str:
    """Return a case's gap with its unit where that is not absolute."""
    case = _case(of)
    if case is None or case.error:
        return ""
    if case.unit == "exact":
        return "none" if case.gap == 0.0 else "differs"
    return _with_unit(case.gap, case)


def resolves_of(of: "Row | CaseRecord | None") -> str:
    """Return the smallest error that would have been caught, with its unit as a gap's.

    Of a bound it is a factor, of a claim's bound the least of all cases.
    """
    if of is not None and of.slack is not None:
        return _factor(of.slack)
    case = _case(of)
    if case is None or case.error:
        return ""
    return "exact" if case.unit == "exact" else _with_unit(case.resolves, case)


def check(record: Record) -> None:
    """Check that the numbers of a record, which need not be judged again, can be told.

    Raises
    ------
    RecordError
        If a case has none of the kinds that measurements are of.
    """
    found = [*record.cases, *([record.search.closest] if record.search else ())]
    for case in found:
        try:
            for told in (predicted_of, measured_of, effect_of, gap_of, resolves_of):
                told(case)
            predicted_of(replace(case, predicted=case.control_predicted))
        except DAMAGED as error:
            raise RecordError(
                f"{record.claim}: the record's numbers can't be told ({error!r:.80});"
                " run the claim again"
            ) from error


def _with_unit(error: float, case: CaseRecord) -> str:
    if case.unit == "share of trials":
        return f"{small(100.0 * error)} % of the trials"
    return small(error) + (" rel" if case.unit == "relative" else "")


def _factor(slack: float) -> str:
    """Return a factor, with all the digits by which it differs from 1.

    >>> _factor(1.0), _factor(1.00023), _factor(60000.0)
    ('×1', '×1.0002', '×6e+04')
    """
    if not 1.0 < slack < 1.995:
        return f"×{slack:.2g}" if math.isfinite(slack) else "×∞"
    places = max(1, -math.floor(math.log10(slack - 1.0)))
    return f"×{slack:.{places}f}" if places < 9 else "×1"


def worst_entry(value: Any, case: CaseRecord) -> Any:
    """Pick the worst entry of an encoded array."""
    if not isinstance(value, list):
        return value
    flat = flatten(cast("list[Any]", value))
    if not flat:
        return flat
    return flat[case.worst] if case.worst < len(flat) else flat[0]


def _stderr(case: CaseRecord) -> float | None:
    measured = as_fields(case.measured)
    if "stderr" not in measured:
        return None
    return records.number(worst_entry(measured["stderr"], case))


def as_fields(value: Any) -> Mapping[str, Any]:
    """Return an encoded estimate or enclosure as its fields, empty for other values.

    >>> as_fields(0.5)
    {}
    """
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _short(value: Any, digits: int) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    try:
        number = records.number(value)
    except (TypeError, ValueError, OverflowError):
        text = value if isinstance(value, str) else json.dumps(value)
        most = 24 if digits < 6 else 60
        return text if len(text) <= most else text[: most - 1] + "…"
    if isinstance(value, int) and abs(value) < 10**digits:
        return str(value).replace("-", "−")
    return f"{number:.{digits}g}".replace("-", "−")


def _rounded(stderr: float) -> str:
    """One significant digit of a standard error, two when it starts with a 1."""
    if not math.isfinite(stderr) or stderr <= 0.0:
        return small(stderr)
    places = _places(stderr)
    if -1 < places < 7:
        return f"{stderr:.{places}f}"
    return f"{stderr:.1e}".replace("-", "−")


def _places(stderr: float) -> int:
    exponent = math.floor(math.log10(stderr))
    leading = stderr / 10.0**exponent
    return -exponent + (1 if leading < 1.95 else 0)


def _to_error(value: Any, stderr: float) -> str:
    """Round a value to the digits its standard error supports."""
    number = records.number(value)
    if not (math.isfinite(number) and math.isfinite(stderr)) or stderr <= 0.0:
        return _short(value, 6)
    places = _places(stderr)
    if -1 < places < 7:
        return f"{number:.{places}f}".replace("-", "−")
    if number == 0.0:
        return "0"
    digits = max(1, math.floor(math.log10(abs(number))) + places + 1)
    return f"{number:.{min(digits, 12)}g}".replace("-", "−")
