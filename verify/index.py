"""An index of the claims, so that they can be listed without importing any of them.

``verify/claims/index.json`` has a line for every claim, by module, and what the module's
source was. A module whose source is another now is imported instead, so that a list is
never out of date; ``python -m verify.index`` writes the index anew. It refuses where a
claim of the old one has gone, unless ``--drop`` names it: an edit may have cut it off.
"""

import argparse
import hashlib
import importlib
import importlib.util
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from verify import command
from verify.items import papers

CLAIMS_PACKAGE = "verify.claims"


@dataclass(frozen=True)
class Listed:
    """A claim as `python -m verify list` shows it.

    Attributes
    ----------
    id, title : str
    remark : str
        ``"open"``, what is wrong with the statement, or nothing.
    """

    id: str
    title: str
    remark: str

    def __str__(self) -> str:
        remark = f"  ({self.remark})" if self.remark else ""
        return f"{self.id:<32} {self.title}{remark}"


def listed(package: str = CLAIMS_PACKAGE) -> tuple[Listed, ...]:
    """Return every claim of a package, in no order.

    To the ledger's own package those of papers in other packages are added.
    """
    return tuple(each for found in _by_module(package).values() for each in found)


def homes(package: str = CLAIMS_PACKAGE) -> dict[str, str]:
    """Return the module of every claim that `listed` returns, by id.

    Raises
    ------
    ValueError
        If two modules have claims of one id.
    """
    found: dict[str, str] = {}
    for module, claims in _by_module(package).items():
        for each in claims:
            if found.setdefault(each.id, module) != module:
                raise ValueError(
                    f"ledger: ids must be unique, but {each.id} is that of claims in"
                    f" {found[each.id]} and {module}"
                )
    return found


def packages(package: str = CLAIMS_PACKAGE) -> tuple[str, ...]:
    """Return the packages of claims: of the ledger's, with those of other packages."""
    if package != CLAIMS_PACKAGE:
        _spec(package)  # Whoever imports it later need not say what is wrong.
        return (package,)
    return (package, *(paper.claims for paper in papers() if paper.claims))


def _by_module(package: str) -> dict[str, list[Listed]]:
    found: dict[str, list[Listed]] = {}
    for home in packages(package):
        known = _read(home)
        for module, source in _sources(home):
            kept: Any = known.get(module, {})
            if kept.get("source") == source:
                found[module] = [Listed(**each) for each in kept["claims"]]
            else:
                found[module] = _imported(module)
    return found


def written(package: str = CLAIMS_PACKAGE) -> str:
    """Return the index as it should be, by importing every module."""
    content = {
        module: {
            "source": source,
            "claims": [asdict(each) for each in _imported(module)],
        }
        for module, source in _sources(package)
    }
    return json.dumps(content, indent=1) + "\n"


def dropped(text: str, package: str) -> list[str]:
    """Return the ids of claims that the index has and another one has no more."""
    before, after = _ids(_read(package)), _ids(json.loads(text))
    return sorted(before - after)


def _ids(content: dict[str, Any]) -> set[str]:
    return {each["id"] for kept in content.values() for each in kept["claims"]}


def main(argv: Sequence[str] | None = None, package: str = CLAIMS_PACKAGE) -> int:
    """Write the index anew; return 1 where that would drop claims, 0 otherwise."""
    parser = argparse.ArgumentParser(
        prog="python -m verify.index", description="Write the index of claims anew."
    )
    parser.add_argument(
        "--drop",
        nargs="+",
        default=[],
        metavar="ID",
        help="claims that are no longer in the sources, on purpose",
    )
    named: Collection[str] = parser.parse_args(argv).drop
    text = written(package)
    gone = dropped(text, package)
    if lost := [name for name in gone if name not in named]:
        command.complain(
            f"{place(package)} is left as it is: {len(lost)} of its claims are in no"
            f" source any more, e.g. {lost[0]}. If that is meant, say"
            f" --drop {' '.join(lost)}"
        )
        return command.EXIT_RED
    if kept := [name for name in named if name not in gone]:
        parser.error(f"--drop: no claim that has gone is called {kept[0]}")
    return command.written(text, place(package))


def place(package: str = CLAIMS_PACKAGE) -> Path:
    """Return the file of a package's index."""
    return _folder(package) / "index.json"


def _folder(package: str) -> Path:
    """Return a package's folder, of a module that in which it lies."""
    spec = _spec(package)
    inside = spec.submodule_search_locations
    return Path(inside[0]) if inside else Path(str(spec.origin)).parent


def _spec(package: str) -> ModuleSpec:
    try:
        found = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise ValueError(
            f"index: `package` must be one that can be imported, but it is {package!r}"
        )
    return found


def _read(package: str) -> dict[str, Any]:
    try:
        return json.loads(place(package).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}


def _sources(package: str) -> Iterator[tuple[str, str]]:
    """Yield every module with claims, and a digest of its text and what they share."""
    folder = _folder(package)
    if _spec(package).submodule_search_locations is None:
        # A module of its own: no index knows it.
        yield package, ""
        return
    files = sorted(folder.rglob("*.py"))
    # claim.py words some of what an index holds: it counts as shared code.
    shared = hashlib.sha256(Path(__file__).with_name("claim.py").read_bytes())
    for path in files:
        if path.name.startswith("_"):
            shared.update(path.read_bytes())
    for path in files:
        if path.name.startswith("_"):
            continue
        digest = shared.copy()
        digest.update(path.read_bytes())
        parts = path.relative_to(folder).with_suffix("").parts
        yield ".".join((package, *parts)), digest.hexdigest()[:16]


def _imported(module: str) -> list[Listed]:
    from verify.claim import declared
    from verify.compare import Outcome

    found: list[Listed] = []
    for claim in declared(importlib.import_module(module)):
        remark = claim.fault if claim.expected is Outcome.REFUTED else ""
        remark = "open" if claim.open_reason else remark
        found.append(Listed(claim.id, claim.title, remark))
    return found


if __name__ == "__main__":
    raise SystemExit(main())
