"""Ids of claims that are gone, and why: what an id means never changes."""

import tomllib
from collections.abc import Mapping
from pathlib import Path


def _read() -> dict[str, str]:
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    lists: dict[str, dict[str, str]] = tomllib.loads(text)
    cases = {
        old: f"a case of another claim: now {new}"
        for new, ids in lists["cases"].items()
        for old in ids.split()
    }
    return cases | lists["reasons"]


RETIRED: Mapping[str, str] = _read()
