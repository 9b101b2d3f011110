"""Measure published claims again, from the networks that are published beside them.

A record says what was measured; whoever changes it, with its digest, changes what the
report shows. Here each claim is measured again from the committed runs, predicted and
judged, and compared with its record, case by case. Runs of older code will do: what is
asked is whether the record says what they show, not whether today's code would train the
same networks. What says the same again may take the place of its record (`renew`), which is
then of today's code.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from empirical.digest import roots_of
from empirical.testbed.records import RunRecord
from verify import records
from verify.claim import Profile
from verify.ledger import Entry
from verify.paths import Place, folder_of, placed
from verify.records import CaseRecord, Record
from verify.run import run_claim
from verify.trained import Run, found_for

PUBLISHED = (Profile.FULL, Profile.GPU)
"""Profiles whose records are committed, with the networks that claims look at."""

VERDICT = (
    *("version", "expected", "comparison"),
    *("outcome", "green", "control", "control_passed"),
)
"""Fields of a record that must be as they were."""

RELATIVE, ABSOLUTE = 1e-9, 1e-15
"""Rounding of sums of up to a million numbers, in another order on another machine."""


@dataclass(frozen=True)
class Again:
    """A published record, and what its networks say now.

    Attributes
    ----------
    claim : str
    profile : Profile
    now : Record or None
        What was measured; None where networks are missing.
    missing : tuple of str
        Networks that it looks at and that are not published: it can't be measured.
    differences : tuple of str
        What the record says otherwise, in words.
    """

    claim: str
    profile: Profile
    now: Record | None = None
    missing: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Whether it could be measured again, and the record says the same."""
        return not self.missing and not self.differences

    def __str__(self) -> str:
        """Say what came out, in a line."""
        said = "; ".join(self.differences) or "the same"
        if self.missing:
            said = f"its networks are not published: {', '.join(self.missing)}"
        return f"{self.claim} ({folder_of(self.profile).name}): {said}"


def published(
    entries: Sequence[Entry], root: Path
) -> Iterator[tuple[Entry, Profile, Record]]:
    """Yield the published records of claims on trained networks.

    Raises
    ------
    RecordError
        If one cannot be read.
    """
    for entry in entries:
        for profile in PUBLISHED:
            if entry.claim.runs is None or not entry.claim.cases_for(profile):
                continue
            record = records.find(entry.claim, folder_of(profile, root))
            if record is not None:
                yield entry, profile, record


def remeasured(entry: Entry, profile: Profile, record: Record, root: Path) -> Again:
    """Measure a published claim again, and compare it with its record."""
    claim, here = entry.claim, Place(folder_of(profile, root))
    found = found_for(claim, profile, here, _find)
    networks = found.items()
    if missing := tuple(r.name for r, f in networks if not isinstance(f, RunRecord)):
        return Again(claim.id, profile, missing=missing)
    roots = roots_of(entry.module)
    with placed(here):
        now = run_claim(claim, profile, module=entry.module, roots=roots, found=found)
    differences = [
        _said(name, getattr(now, name), getattr(record, name))
        for name in VERDICT
        if getattr(now, name) != getattr(record, name)
    ]
    if [case.case for case in record.cases] != [case.case for case in now.cases]:
        differences.append("it is of other cases")
    else:
        for number, (old, new) in enumerate(zip(record.cases, now.cases, strict=True)):
            differences += (f"case {number}: {each}" for each in _of_case(old, new))
    return Again(claim.id, profile, now, differences=tuple(differences))


def renew(again: Again, record: Record, root: Path) -> None:
    """Put a claim measured again in the place of its record, if both say the same.

    A record of the present code stays as it is.
    """
    if again.same and again.now is not None and again.now.code != record.code:
        records.write(again.now, folder_of(again.profile, root))


# Claims in order look at the same networks.
_find = lru_cache(maxsize=32)(Run.find)


def _of_case(old: CaseRecord, new: CaseRecord) -> Iterator[str]:
    """Yield what was predicted, measured and found otherwise."""
    for name in ("outcome", "control", "predicted", "measured", "control_predicted"):
        before, now = getattr(old, name), getattr(new, name)
        if not _alike(before, now):
            yield _said(name, now, before)


def _said(name: str, now: object, before: object) -> str:
    return f"{name} {now!s:.60}, in the record {before!s:.60}"


def _alike(one: Any, other: Any) -> bool:
    """Whether encoded values are the same but for the rounding of sums."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        these, those = cast("Mapping[str, Any]", one), cast("Mapping[str, Any]", other)
        same = these.keys() == those.keys()
        return same and all(_alike(these[key], those[key]) for key in these)
    if isinstance(one, list) and isinstance(other, list):
        first, second = cast("list[Any]", one), cast("list[Any]", other)
        return len(first) == len(second) and all(map(_alike, first, second))
    if type(one) is float and type(other) is float:
        return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return one == other
