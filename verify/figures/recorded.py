"""Which record a picture of records is drawn from."""

from collections.abc import Iterable
from pathlib import Path

from verify import ledger
from verify.compare import Outcome
from verify.figures.runs import Missing
from verify.paths import SCALES, folder_of
from verify.records import Record, find


class Unrecorded(Missing):
    """A picture of records has none: no claim that it shows was run at a profile.

    Parameters
    ----------
    name : str
        The picture's.
    claims : tuple of str
        Ids of the claims any of whose records it can be drawn from.
    folder : Path
        Of the profile's records.
    """

    def __init__(self, name: str, claims: tuple[str, ...], folder: Path) -> None:
        self.claims = claims
        reason = f"{name}: drawn from a record, and there is none in {folder}"
        super().__init__(reason, run_command(claims, folder))


def run_command(claims: Iterable[str], folder: Path) -> str:
    """Return the command line that runs claims at the profile of a folder."""
    named = {folder_of(each).name: f" --profile {each}" for each in SCALES}
    profile = "" if folder.name == "quick" else named.get(folder.name, "")
    return f"python -m verify run {' '.join(claims)}{profile}"


def fullest(name: str, folder: Path) -> Record:
    """Return the record with the most cases, of the claims that name a picture.

    Raises
    ------
    Unrecorded
        If none of them has a record in `folder`.
    """
    mine = [claim for claim in ledger.load() if claim.figure == name]
    found = [record for claim in mine if (record := find(claim, folder)) is not None]
    drawable = [record for record in found if record.outcome is not Outcome.ERROR]
    if not drawable:
        raise Unrecorded(name, tuple(claim.id for claim in mine), folder)
    return max(drawable, key=lambda record: len(record.cases))
