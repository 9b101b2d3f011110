"""Records: what a run found, one JSON file for each claim.

A record keeps every value that was predicted and measured, so that the report and its
figures compute nothing. It is *stale* when the claim's version or the sources behind it
have changed since.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

import numpy as np

from empirical.digest import code_digest
from empirical.testbed.writing import DAMAGED, sealed, unsealed, write_json
from verify.claim import Claim
from verify.compare import Contrast, Enclosure, Estimate, Outcome

SCHEMA = 2
DIGITS = 30
"""Digits kept of an arbitrary-precision number."""

MOST_BITS = 13_000
"""Of a whole number: JSON is not read beyond 4,300 decimal digits."""

MEASURED = (Estimate, Enclosure, Contrast)
"""Kinds of measurements that are kept field by field."""


class RecordError(ValueError):
    """A record that cannot be read; the message names the file."""


@dataclass(frozen=True, kw_only=True)
class CaseRecord:
    """One evaluation: its arguments, both sides, the verdict and the control's verdict.

    `predicted` and `measured` are JSON values (see `encode`); `control` is the outcome
    of the control on this case, empty where it was not tried, and `control_predicted`
    what it predicted; `error` a traceback, or why networks decide nothing or are
    missing. The others are a `Verdict`'s.
    """

    case: Mapping[str, Any]
    outcome: Outcome
    predicted: Any = None
    measured: Any = None
    gap: float = math.nan
    resolves: float = math.nan
    unit: str = ""
    worst: int = 0
    strain: float = math.nan
    slack: float | None = None
    seconds: float = 0.0
    control: str = ""
    control_predicted: Any = None
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class SearchRecord:
    """Result of a search for counterexamples.

    `examples` counts the cases tried, each once, `closest` is the one nearest to
    refutation (the smallest counterexample when the statement was refuted).
    """

    examples: int
    closest: CaseRecord
    seconds: float

    @property
    def outcome(self) -> Outcome:
        """The worst of all that were tried: what the closest came to."""
        return self.closest.outcome


@dataclass(frozen=True, kw_only=True)
class Record:
    """The result of running one claim.

    Attributes
    ----------
    outcome : Outcome
        The worst over all cases and the search.
    green : bool
        Whether the outcome is the expected one and the control did its work.
    control, control_passed : str, bool
        What the control showed, in words; whether it did what it must.
    code : str
        Digest of the sources the claim depends on, see `empirical.digest`.
    made : str
        The day, year first.
    """

    claim: str
    version: int
    profile: str
    outcome: Outcome
    expected: Outcome
    green: bool
    control: str
    control_passed: bool
    comparison: str
    cases: tuple[CaseRecord, ...]
    search: SearchRecord | None
    seconds: float
    code: str
    device: str
    dtype: str
    machine: str
    made: str = field(compare=False)
    packages: Mapping[str, str]
    schema: int = SCHEMA

    @property
    def worst(self) -> CaseRecord:
        """The case of the worst outcome, the one nearest to refutation among equals."""
        candidates = list(self.cases)
        if self.search is not None:
            candidates.append(self.search.closest)
        return max(candidates, key=badness)

    def is_current(self, claim: Claim, code: str) -> bool:
        """Whether the record was made from this claim and these sources."""
        same = (self.schema, self.version, self.code) == (SCHEMA, claim.version, code)
        return same and self.expected is claim.expected


_RANK = (
    Outcome.VACUOUS,
    Outcome.HOLDS,
    Outcome.UNDECIDED,
    Outcome.REFUTED,
    Outcome.ERROR,
)


def code_of(
    module: str,
    roots: tuple[Path, ...],
    engine: tuple[str, ...] = (),
    reads: tuple[str, ...] = (),
) -> str:
    """Return the digest of all that a claim depends on: its code, and data that it reads.

    Raises
    ------
    ValueError
        If there is no such module, or no such file.
    """
    code = code_digest(module, roots, engine)
    if not reads:
        return code
    digest = hashlib.sha256(code.encode())
    for name in reads:
        path = next((p for root in roots if (p := root / name).is_file()), None)
        if path is None:
            raise ValueError(f"{module}: `reads` must name files, but has {name!r}")
        digest.update(path.read_bytes())
    return digest.hexdigest()[: len(code)]


def worst_outcome(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the worst of some outcomes: error, refuted, undecided, holds, vacuous.

    >>> worst_outcome([Outcome.HOLDS, Outcome.UNDECIDED]).value
    'undecided'
    """
    return max(outcomes, key=_RANK.index)


def badness(case: CaseRecord) -> tuple[int, float]:
    """Order cases by outcome, then by nearness to refutation."""
    strain = case.strain if not math.isnan(case.strain) else -math.inf
    return _RANK.index(case.outcome), strain


def encode(value: Any) -> Any:
    """Return `value` as JSON that keeps what it was.

    Floats stay numbers (NaN and infinities become the strings ``"nan"``, ``"inf"``,
    ``"-inf"``), arrays become lists, an `Estimate` or `Enclosure` a mapping of its
    fields, numbers of arbitrary precision a string of 30 digits, anything else text, in
    which what would steer a terminal, or is no UTF-8, is escaped.

    >>> encode({"a": (1, math.inf), "b": Fraction(1, 3)})
    {'a': [1, 'inf'], 'b': '1/3'}
    """
    # Most are floats.
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if value is None or isinstance(value, int):
        if value and value.bit_length() > MOST_BITS:
            raise ValueError(
                f"encode: a whole number must have at most {MOST_BITS} bits, got one of"
                f" {value.bit_length()}"
            )
        return value
    if isinstance(value, str):
        return _UNFIT.sub(_escaped, value)
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, Set):
        # In an order that is the same on every run.
        value = sorted(value, key=repr)
    if isinstance(value, np.ndarray):
        return encode(value.tolist())
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, (*MEASURED, CaseRecord, SearchRecord, Record)):
        # Not asdict: it would copy arrays only to convert them again.
        return {f.name: encode(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, np.generic) and value.dtype.char not in "gG":
        return encode(value.item())
    return _text(value)


_UNFIT = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"
    r"\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)
"""Characters that no report can show, or that turn the text around them."""


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def _text(value: Any) -> str:
    """Arbitrary-precision numbers to 30 digits, others as they print."""
    library = type(value).__module__.partition(".")[0]
    if library == "mpmath":
        import mpmath

        return str(mpmath.nstr(value, DIGITS))
    if library == "flint" and type(value).__name__ in ("arb", "acb"):
        return str(value.str(DIGITS))
    return str(value)


def number(value: Any) -> float:
    """Return an encoded real number as a float, whichever way it was encoded.

    >>> number("-inf"), number("0.333333333333333333333333333333"), number("1/4")
    (-inf, 0.3333333333333333, 0.25)

    Raises
    ------
    TypeError, ValueError, OverflowError
        If it is none, or beyond float64.
    """
    if isinstance(value, str):
        text = value.strip("[]").partition(" +/-")[0]  # balls: their midpoint
        return float(_fraction(text)) if "/" in text else float(text)
    return float(value)


def _fraction(text: str) -> Fraction:
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ValueError(f"{text} is no number") from None


def decode(value: Any) -> Any:
    """Return the numbers, estimates and enclosures that `encode` has written.

    Text that is no number stays text: two texts are equal when what they stand for
    prints alike.

    >>> decode({"mean": 1.0, "stderr": "inf", "replicates": 3})
    Estimate(mean=1.0, stderr=inf, replicates=3)
    >>> decode(["1/3", "even"])
    [Fraction(1, 3), 'even']
    """
    if isinstance(value, list):
        # Most are floats, and stay what they are.
        entries = cast("list[Any]", value)
        return [item if type(item) is float else decode(item) for item in entries]
    if isinstance(value, Mapping):
        data = {
            key: decode(item) for key, item in cast("Mapping[str, Any]", value).items()
        }
        for kind in MEASURED:
            if set(data) == {f.name for f in fields(kind)}:
                return kind(**data)
        return data
    return _number(value) if isinstance(value, str) else value


def _number(text: str) -> Any:
    if text in ("nan", "inf", "-inf"):
        return float(text)
    try:
        if "/" in text:
            return _fraction(text)
        import mpmath

        return mpmath.mpf(text.strip("[]").partition(" +/-")[0], dps=2 * DIGITS)
    except ValueError:
        return text


def path_of(claim_id: str, folder: Path) -> Path:
    """Return the file of a claim's record.

    >>> path_of("dc/thm3.2", Path("results")).name
    'dc-thm3.2.json'
    """
    return folder / f"{claim_id.replace('/', '-')}.json"


def write(record: Record, folder: Path) -> Path:
    """Write a record by way of a ``.partial`` file, so that it is whole or absent."""
    folder.mkdir(parents=True, exist_ok=True)
    path = path_of(record.claim, folder)
    write_json(path, sealed(_encoded(record)))
    return path


def read(path: Path) -> Record:
    """Read a record.

    What it says of its claim is to be judged again: see `verify.judging.checked`.

    Raises
    ------
    RecordError
        If the file is truncated, is not JSON, has been changed by hand, is of another
        schema, lacks a field, or has one of another type.
    """
    try:
        content = unsealed(json.loads(path.read_text(encoding="utf-8")))
        # As it would have been written here: what can't be shown is escaped.
        return _decoded(encode(content))
    except DAMAGED as error:
        raise RecordError(f"{path}: not a readable record ({error})") from error
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}") from error


def find(claim: Claim, folder: Path) -> Record | None:
    """Return the record of a claim, or None when it has not been run.

    Raises
    ------
    RecordError
        If it cannot be read, see `read`, or is that of another claim.
    """
    path = path_of(claim.id, folder)
    try:
        # A pipe would be waited for, a device have no end; a folder is told.
        record = read(path) if path.is_file() or path.is_dir() else None
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}") from error
    if record is not None and record.claim != claim.id:
        raise RecordError(
            f"{path}: it is the record of another claim, {record.claim!r:.80}"
        )
    return record


def seconds(claim: Claim, folder: Path) -> float | None:
    """Return how long a claim took, or None where no record says."""
    try:
        record = find(claim, folder)
    except RecordError:
        return None
    return None if record is None else record.seconds


def _encoded(record: Record) -> dict[str, Any]:
    data = encode(record)
    if record.search is not None:
        data["search"]["outcome"] = record.search.outcome
    return data


def _decoded(data: dict[str, Any]) -> Record:
    if data["schema"] != SCHEMA:
        raise ValueError(f"schema {data['schema']!r:.80}, this reads {SCHEMA}")
    made = dict(data)
    made["outcome"], made["expected"] = (
        Outcome(data["outcome"]),
        Outcome(data["expected"]),
    )
    made["cases"] = tuple(_case(case) for case in data["cases"])
    if not made["cases"]:
        raise ValueError("no cases")
    if (search := data["search"]) is not None:
        found = search | {"closest": _case(search["closest"])}
        outcome = found.pop("outcome")
        made["search"] = _typed(SearchRecord, found)
        if outcome != made["search"].outcome:
            raise ValueError(f"its search is {outcome}, but its closest case is not")
    return _typed(Record, made)


def _case(data: dict[str, Any]) -> CaseRecord:
    numbers: dict[str, Any] = {
        k: number(data[k]) for k in ("gap", "resolves", "strain")
    }
    if data["slack"] is not None:
        numbers["slack"] = number(data["slack"])
    return _typed(CaseRecord, data | numbers | {"outcome": Outcome(data["outcome"])})


Kind = TypeVar("Kind", CaseRecord, SearchRecord, Record)


def _typed(kind: type[Kind], data: dict[str, Any]) -> Kind:
    """Return a record of these fields, all there, none else, each of its type."""
    types = _types(kind)
    if set(data) != set(types):
        raise ValueError(f"fields {sorted(set(data) ^ set(types))} missing or unknown")
    for name, allowed in types.items():
        value = data[name]
        bad = isinstance(value, bool) and bool not in allowed
        if Any not in allowed and (bad or not isinstance(value, allowed)):
            raise TypeError(f"`{name}` is {value!r:.80}")
        if float in allowed and isinstance(value, int):
            float(value)  # an integer beyond float64 is no number of seconds
    return kind(**data)


@cache
def _types(kind: type[Any]) -> Mapping[str, tuple[Any, ...]]:
    """Return what each field of a record may be."""
    found: dict[str, tuple[Any, ...]] = {}
    for name, hint in get_type_hints(kind).items():
        allowed = tuple(get_origin(each) or each for each in get_args(hint) or (hint,))
        if get_origin(hint) in (tuple, Mapping):
            allowed = (get_origin(hint),)
        found[name] = (*allowed, int) if float in allowed else allowed
    return found
