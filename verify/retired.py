"""Ids of claims that are gone, and why: what an id means never changes."""

from collections.abc import Mapping

from verify.paths import toml_beside


def _read() -> dict[str, str]:
    lists: dict[str, dict[str, str]] = toml_beside(__file__)
    cases = {
        old: f"a case of another claim: now {new}"
        for new, ids in lists["cases"].items()
        for old in ids.split()
    }
    return cases | lists["reasons"]


RETIRED: Mapping[str, str] = _read()
