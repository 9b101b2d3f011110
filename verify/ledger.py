"""The ledger: every claim of every module under ``verify/claims``, looked up by id."""

import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter

from verify import references
from verify.claim import Claim, Evidence, Profile, declared
from verify.index import CLAIMS_PACKAGE, homes, packages
from verify.items import paper
from verify.retired import RETIRED
from verify.selecting import named, order


@dataclass(frozen=True)
class Entry:
    """A claim and the module that defines it (a worker imports only that one)."""

    claim: Claim
    module: str


@cache
def entries(package: str = CLAIMS_PACKAGE) -> tuple[Entry, ...]:
    """Collect the claims of every module of `package`: by paper, then natural order.

    To the ledger's own package those of papers in other packages are added.

    Raises
    ------
    ValueError
        If a law of the ledger is broken (see `check`) or a module declares no claim.
    """
    found: list[Entry] = []
    for home in packages(package):
        for name in _modules(home):
            claims = declared(importlib.import_module(name))
            found += [Entry(claim, name) for claim in claims]
    check([entry.claim for entry in found])
    return tuple(sorted(found, key=lambda entry: order(entry.claim.id)))


def _modules(home: str) -> list[str]:
    """Return the modules with claims of a package, or a module that is one itself."""
    folder = getattr(importlib.import_module(home), "__path__", None)
    if folder is None:
        return [home]
    below = pkgutil.walk_packages(folder, f"{home}.")
    names = sorted(each.name for each in below if not each.ispkg)
    return [name for name in names if not name.rpartition(".")[2].startswith("_")]


def load(package: str = CLAIMS_PACKAGE) -> tuple[Claim, ...]:
    """Return every claim of `package` in the order of `entries`."""
    return tuple(entry.claim for entry in entries(package))


def find(selector: str, package: str = CLAIMS_PACKAGE) -> tuple[Entry, ...]:
    """Return the entries that `selector` names: an id, a paper, or the start of an id.

    A start never ends inside a number: ``dc/thm3`` finds ``dc/thm3.2``, but ``dc/eq1``
    not ``dc/eq14``. Upper and lower case are the same.

    Raises
    ------
    ValueError
        If nothing matches; near ids are suggested.
    """
    return select([selector], package)


def select(
    selectors: Sequence[str], package: str = CLAIMS_PACKAGE
) -> tuple[Entry, ...]:
    """Return the entries that any of `selectors` names, in order; all for none.

    Where the index knows the modules of those that are named, it imports no others.
    """
    if not selectors:
        return entries(package)
    known = homes(package)
    wanted = {name for s in selectors for name in named(s, [*known])}
    found = [
        Entry(claim, module)
        for module in sorted({known[name] for name in wanted})
        for claim in declared(importlib.import_module(module))
        if claim.id in wanted
    ]
    check([entry.claim for entry in found], known)
    return tuple(sorted(found, key=lambda entry: order(entry.claim.id)))


def in_profile(entries: Sequence[Entry], profile: Profile) -> tuple[Entry, ...]:
    """Return the entries that a profile runs.

    All, but in `certify` those alone that have cases of their own there.
    """
    own = profile is Profile.CERTIFY
    return tuple(e for e in entries if not own or profile in e.claim.larger_cases)


def check(claims: Iterable[Claim], others: Iterable[str] = ()) -> None:
    """Raise ValueError unless ids are unique, sources known, `uses` exist and end.

    They may use what is among `others`, too, the ids of claims that are not looked at.
    """
    claims = tuple(claims)
    twice = [name for name, n in Counter(c.id for c in claims).items() if n > 1]
    back = sorted(claim.id for claim in claims if claim.id in RETIRED)
    if back:
        raise ValueError(f"ledger: ids are never taken again, but {back} are retired")
    if twice:
        raise ValueError(f"ledger: ids must be unique, but {sorted(twice)} are not")
    known = {*others, *(claim.id for claim in claims)}
    bibliography = references.load()
    for claim in claims:
        if claim.source.key not in bibliography:
            raise ValueError(
                f"{claim.id}: source {claim.source.key!r} is not in references.bib"
            )
        missing = [name for name in claim.uses if name not in known]
        if missing:
            raise ValueError(f"{claim.id}: `uses` names no claim: {missing}")
        foreign = [i for i in claim.items if i not in paper(claim.paper).items]
        if foreign or not claim.items:
            raise ValueError(
                f"{claim.id}: `items` must name items of {claim.paper} (see"
                f" verify/items.toml), got {claim.items}"
            )
    try:
        TopologicalSorter({c.id: c.uses for c in claims}).prepare()
    except CycleError as error:
        raise ValueError(f"ledger: `uses` must not go round: {error.args[1]}") from None


def coverage(prefix: str, claims: Iterable[Claim]) -> Mapping[str, tuple[str, ...]]:
    """Return, for every item of a paper, the ids of the claims that cover it."""
    claims = tuple(claims)
    return {
        item: tuple(c.id for c in claims if c.paper == prefix and item in c.items)
        for item in paper(prefix).items
    }


def false_alarm_probability(claims: Iterable[Claim]) -> float:
    """Bound the probability that a true statistical claim fails in one quick run.

    The union bound over claims, cases and drawn examples of ``compare.false_fail``. Trends
    of training have levels of their own, for the few networks that can be trained.
    """
    total = 0.0
    for claim in claims:
        if claim.evidence is Evidence.TREND:
            continue
        trials = len(claim.cases) + (claim.max_examples if claim.examples else 0)
        total += trials * float(getattr(claim.compare, "false_fail", 0.0))
    return total
