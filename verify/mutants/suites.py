"""What the tests notice of the mutations that claims leave."""

import ast
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from verify.mutants.children import Replaced, Tell, allow, each
from verify.mutants.sites import ROOT, Mutant
from verify.mutants.verdicts import Verdict

LONGEST = 120.0
"""Seconds of the processor that one file of tests may take."""

FILES = 6
"""How many files of tests are tried, those nearest to the module first."""

PASSED, NOTHING = 0, 5
"""What pytest returns where no test fails, or none is chosen."""


@cache
def imports(path: Path) -> frozenset[str]:
    """Return the dotted names that a file imports, and what it imports them from."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{a.name}" for a in node.names}
    return frozenset(found)


def near(module: str) -> list[Path]:
    """Return the files of tests that import a module, or what imports it, near first.

    Nearest are those named after a part of the module, then those that import it, its
    package, or a module that imports it; of equals the shorter file.
    """
    package = module.rpartition(".")[0]
    above = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for part in ("theory", "empirical", "verify")
        for path in (ROOT / part).rglob("*.py")
        if any(n == module or n.startswith(f"{module}.") for n in imports(path))
    }
    packages = {package} - {"theory", "empirical", "verify"}
    parts = [part.strip("_") for part in module.split(".")[1:]]
    ranked: list[tuple[bool, int, int, Path]] = []
    for path in (ROOT / "tests").rglob("test_*.py"):
        names = imports(path)
        for rank, wanted in enumerate(({module}, packages, above)):
            if names & wanted:
                unnamed = not any(part in path.stem for part in parts)
                ranked.append((unnamed, rank, path.stat().st_size, path))
                break
    return [path for *_, path in sorted(ranked)][:FILES]


@dataclass(frozen=True)
class Trial:
    """A mutation, or none, and the files of tests to be run against it."""

    mutant: Mutant | None
    suites: tuple[Path, ...]


@dataclass(frozen=True)
class Begun:
    """A child begins to run a file of tests."""

    suite: str


@dataclass(frozen=True)
class Failed(Begun):
    """Tests of a file fail."""


def try_suites(trial: Trial, tell: Tell) -> None:
    """Run files of tests, with a mutation in place; tell of those that fail."""
    import pytest

    mutant = trial.mutant
    if mutant is not None:
        codes = {mutant.module: (ROOT / mutant.file, mutant.code())}
        sys.meta_path.insert(0, Replaced(codes))
    os.chdir(ROOT)
    for suite in trial.suites:
        allow(LONGEST)
        name = suite.relative_to(ROOT).as_posix()
        # Assertions as they are: libraries were imported before pytest could rewrite them.
        options = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider"]
        options += ["-m", "not slow and not gpu"]
        tell(Begun(name))
        found = pytest.main([*options, str(suite)])
        if found not in (PASSED, NOTHING):
            tell(Failed(name))
            if mutant is not None:
                return
    tell(None)


def tested(
    mutants: Iterable[tuple[Mutant, Verdict]], *, workers: int
) -> Iterator[Verdict]:
    """Run tests against mutations that no claim notices; yield what becomes of them.

    A file that fails without any mutation, or does not end, notices nothing.
    """
    pairs = dict(mutants)
    suites = {mutant: near(mutant.module) for mutant in pairs}
    every = sorted({path for paths in suites.values() for path in paths})
    sound: set[Path] = set()
    alone = [Trial(None, (path,)) for path in every]
    for trial, told in each(alone, try_suites, workers=workers, seconds=_seconds):
        if told and told[-1] is None and not any(isinstance(w, Failed) for w in told):
            sound |= set(trial.suites)
    trials = [
        Trial(mutant, tuple(path for path in paths if path in sound))
        for mutant, paths in suites.items()
    ]
    for trial, told in each(trials, try_suites, workers=workers, seconds=_seconds):
        assert trial.mutant is not None
        last = told[-1] if told else Begun("")
        if isinstance(last, str):
            raise RuntimeError(f"{trial.mutant.key} cannot be tried:\n{last}")
        # Where the child died or ran out of time, the file that it had begun.
        yield replace(pairs[trial.mutant], test=last.suite if last else "")


def _seconds(trial: Trial) -> float:
    return LONGEST * max(1, len(trial.suites))
