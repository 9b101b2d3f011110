"""The mutations that no claim notices, each with the reason, and the score.

``survivors.toml`` is written by hand. A reason begins with ``equivalent:``, where the
mutation changes nothing that a claim could see, or with ``open:``, a gap.
"""

import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from verify.mutants.sites import PACKAGES
from verify.mutants.verdicts import Fate, Verdict

PLACE = Path(__file__).with_name("survivors.toml")
OTHERS = Path(__file__).with_name("other_seeds.toml")
"""Of samples that other seeds drew, where no one looked before."""

KINDS = ("equivalent: ", "open: ")


def read(path: Path = PLACE) -> dict[str, str]:
    """Return the reason of every survivor, by mutation.

    Raises
    ------
    ValueError
        If one is listed twice, or its reason is of no known kind.
    """
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    found: dict[str, str] = {}
    for entry in data.get("survivor", []):
        mutant, reason = entry["mutant"], entry["reason"]
        if mutant in found:
            raise ValueError(f"{path.name}: {mutant} is listed twice")
        if not reason.startswith(KINDS) or reason.strip() in map(str.strip, KINDS):
            raise ValueError(
                f"{path.name}: the reason of {mutant} must begin with"
                f" {' or '.join(map(repr, KINDS))}, got {reason!r}"
            )
        found[mutant] = reason
    return found


def complaints(
    listed: Collection[str], verdicts: Mapping[str, Verdict], known: Collection[str]
) -> Iterator[str]:
    """Return where the list is out of date; `known` are the mutations that exist."""
    for mutant in listed:
        verdict = verdicts.get(mutant)
        if mutant not in known:
            yield f"listed, but not in the source any more: {mutant}"
        elif verdict is None:
            yield f"listed, but not in the sample: {mutant}"
        elif verdict.fate is not Fate.SURVIVED:
            by = f" by {verdict.claim}" if verdict.claim else ""
            yield f"listed, but {verdict.fate}{by}: {mutant}"
    for mutant, verdict in verdicts.items():
        if verdict.fate is Fate.SURVIVED and mutant in known and mutant not in listed:
            yield f"survives, and is not listed: {mutant}"


@dataclass(frozen=True)
class Score:
    """Number of mutations of a package that were noticed.

    Attributes
    ----------
    package : str
    fates : mapping of Fate to int
    equivalent : int
        Of the survivors, those that nothing could notice; they count for neither side.
    tested : int or None
        Of what claims leave, those that tests notice; None where none were run.
    """

    package: str
    fates: Mapping[Fate, int]
    equivalent: int
    tested: int | None

    @property
    def total(self) -> int:
        """The mutations that could be noticed."""
        return sum(self.fates.values()) - self.equivalent

    @property
    def noticed(self) -> int:
        """Those that a claim notices: it turns red, or does not end."""
        return self.fates[Fate.KILLED] + self.fates[Fate.TIMED_OUT]

    def __str__(self) -> str:
        rest = ", ".join(f"{n} {fate}" for fate, n in self.fates.items())
        share = f"{self.noticed / self.total:.0%}" if self.total else "none"
        line = (
            f"{self.package:<15} ledger alone {self.noticed} of {self.total} ({share}):"
            f" {rest}, {self.equivalent} of them equivalent"
        )
        if self.tested is None:
            return line
        both = self.noticed + self.tested
        return f"{line}; with tests {both} of {self.total} ({both / self.total:.0%})"


def scores(verdicts: Iterable[Verdict], reasons: Mapping[str, str]) -> list[Score]:
    """Return the score of every package that has verdicts."""
    verdicts = tuple(verdicts)
    found: list[Score] = []
    for package in PACKAGES:
        here = [v for v in verdicts if v.package == package]
        if not here:
            continue
        same = {
            v.mutant
            for v in here
            if v.fate is Fate.SURVIVED
            and reasons.get(v.mutant, "").startswith(KINDS[0])
        }
        left = [v for v in here if v.fate in (Fate.SURVIVED, Fate.NOT_COVERED)]
        left = [v for v in left if v.mutant not in same]
        tried = all(v.test is not None for v in left)
        found.append(
            Score(
                package=package,
                fates={fate: sum(v.fate is fate for v in here) for fate in Fate},
                equivalent=len(same),
                tested=sum(bool(v.test) for v in left) if tried else None,
            )
        )
    return found
