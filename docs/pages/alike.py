"""Tables of A/A trials on published networks; see `verify.calibrate`."""

from collections.abc import Sequence
from pathlib import Path

from verify import ledger, paths
from verify.alike import Trial, alike
from verify.claim import Claim, Profile
from verify.paths import Place
from verify.redraw import trained

Rows = list[list[str]]
TRIALS = 200

ALL = "all"
"""Name of the row that sums the others up."""


def published(profile: str, results: Path) -> Rows:
    """Return a row for each claim on training of a profile, and one of their sum.

    Those without trials stand together by what hinders them.
    """
    entries = trained(ledger.select([]), Profile(profile))
    here = Place(paths.folder_of(profile, results))
    return rows(alike(entries, Profile(profile), here, TRIALS))


def rows(found: Sequence[tuple[Claim, Trial | str]]) -> Rows:
    """Return the rows of what was found."""
    tried = [(c.id, t) for c, t in found if isinstance(t, Trial)]
    decided, trials = (
        sum(getattr(t, what) for _, t in tried) for what in ("decided", "trials")
    )
    share = f"{100.0 * decided / trials:.1f} %" if trials else ""
    made = [[ALL, "yes", f"{decided} of {trials} ({share})", "", ""]]
    made += [
        [
            f"`{name}`",
            "yes",
            f"{t.decided} of {t.trials}",
            str(t.pool),
            f"{100.0 * t.finest:.2g}",
        ]
        for name, t in tried
    ]
    why: dict[str, list[str]] = {}
    for claim, reason in found:
        if isinstance(reason, str):
            why.setdefault(reason, []).append(f"`{claim.id}`")
    made += [
        [", ".join(ids), f"no: {reason}", "", "", ""] for reason, ids in why.items()
    ]
    return made
