"""Which record a picture of records is drawn from."""

from pathlib import Path

from verify import ledger
from verify.compare import Outcome
from verify.paths import SCALES, folder_of
from verify.records import Record, find


def fullest(name: str, folder: Path) -> Record:
    """Return the record with the most cases, of the claims that name a picture.

    Raises
    ------
    ValueError
        If none of them has a record in `folder`; the message says what makes one.
    """
    mine = [claim for claim in ledger.load() if claim.figure == name]
    found = [record for claim in mine if (record := find(claim, folder)) is not None]
    drawable = [record for record in found if record.outcome is not Outcome.ERROR]
    if not drawable:
        ids = " ".join(claim.id for claim in mine)
        named = {folder_of(each).name: f" --profile {each}" for each in SCALES}
        profile = "" if folder.name == "quick" else named.get(folder.name, "")
        raise ValueError(
            f"{name}: drawn from a record, and there is none in {folder};"
            f" `python -m verify run {ids}{profile}` makes it"
        )
    return max(drawable, key=lambda record: len(record.cases))
