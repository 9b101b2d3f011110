"""What published networks were trained with: their settings, and on which images.

The records lie under ``results``, which no wheel has. A digest of what each of them says
lies here, in ``published.json``, and claims compare today's configurations with it.
``python -m verify.published`` writes it anew when records are added.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from empirical.digest import ROOT
from empirical.identity_map.measures import Settings
from empirical.testbed.records import RunRecord, digest, identity
from empirical.testbed.study import CPU, Study
from empirical.testbed.writing import write_text
from verify.paths import RUNS

PLACE = Path(__file__).with_suffix(".json")
SCALES = ("full", "paper")
STUDIES = ("identity_map", "mmd_init", "normrelu", "square_loss")
"""Packages of `empirical` that train networks."""


def said(study: Study[Any], *, scale: str, of: str) -> Mapping[str, str]:
    """Return digests of what the records of a study say, by name of the configuration.

    Parameters
    ----------
    study : Study
    scale : {"full", "paper"}
    of : {"settings", "images", "measures"}
        Images of digits alone, where 4,000 are enough: those are at hand everywhere.
        Settings of measures are those of networks that copy images.
    """
    topic = study.module.rpartition(".")[2]
    return _kept()[scale][topic][of]


def today(study: Study[Any], *, scale: str, of: str) -> Mapping[str, str]:
    """Return the same of the configurations of those names, as they are now."""
    names = said(study, scale=scale, of=of)
    every = [c for c in study.configurations(scale) if c.name in names]
    if of == "images":
        return {c.name: study.data(c, CPU) for c in every}
    if of == "measures":
        return {c.name: digest(asdict(Settings(**c.settings))) for c in every}
    own = [identity(c, device="cpu", schema=study.schema) for c in every]
    return {c.name: digest(o["configuration"]) for c, o in zip(every, own, strict=True)}


def written(root: Path = ROOT / "results") -> str:
    """Return the file as it should be, by the records in a folder.

    Raises
    ------
    ValueError
        If there is no record, as in a wheel, one cannot be read, or has the settings of
        none of the `STUDIES`.
    """
    content: dict[str, Any] = {}
    for scale in SCALES:
        found = content[scale] = {}
        for path in sorted((root / scale / RUNS).glob("*.json")):
            record = RunRecord.read(path)
            if record is None:
                raise ValueError(f"published: {path} must be a record, and is none")
            topic = _study_of(record, scale)
            digests = found.setdefault(topic, {})
            settings = record.configuration
            digests.setdefault("settings", {})[record.name] = digest(settings)
            measured = record.facts.get("settings", {})
            # Some of the oldest lack what is measured today.
            if set(measured) == {each.name for each in fields(Settings)}:
                digests.setdefault("measures", {})[record.name] = digest(measured)
            # Fine-tuning takes more digits; a count of examples is of many.
            at_hand = topic != "mmd_init" and settings["data"] != "cifar10"
            if at_hand and settings.get("examples") is None:
                digests.setdefault("images", {})[record.name] = record.data
    if not any(content.values()):
        raise ValueError(
            f"published: {root} must hold records of networks, but has none"
        )
    return json.dumps(content, indent=1, sort_keys=True) + "\n"


def _study_of(record: RunRecord, scale: str) -> str:
    """Return the study whose configurations have a record's entries."""
    for topic, entries in _entries(scale).items():
        if set(record.configuration) == entries:
            return topic
    raise ValueError(f"published: {record.name} has the settings of no study")


@cache
def _entries(scale: str) -> dict[str, set[str]]:
    studies = {t: import_module(f"empirical.{t}.study").STUDY for t in STUDIES}
    first = {topic: study.configurations(scale)[0] for topic, study in studies.items()}
    return {topic: {each.name for each in fields(c)} for topic, c in first.items()}


@cache
def _kept() -> dict[str, dict[str, dict[str, dict[str, str]]]]:
    return json.loads(PLACE.read_text(encoding="utf-8"))


def main(argv: Sequence[str] | None = None, path: Path = PLACE) -> int:
    """Write the file anew; return 1 where that can't be done, 0 otherwise."""
    argparse.ArgumentParser(
        prog="python -m verify.published",
        description="Write down anew what published networks were trained with.",
    ).parse_args(argv)
    try:
        write_text(path, written())
    except (OSError, ValueError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stderr.write(f"{path} is written\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
