"""What is said of a claim's functions: where they stand, and what a control gets wrong."""

import functools
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from empirical.digest import ROOT
from verify.claim import Claim
from verify.compare import Outcome

_NAMES = ("predict", "measure", "must_refute", "must_hold", "examples", "runs")


def control(claim: Claim) -> tuple[str, str]:
    """Return what kind of prediction a claim's control is, and its own words.

    Those are the first line of its docstring, else its first comment, else its name.
    """
    holds = claim.expected is Outcome.HOLDS
    kind = "a prediction known to be wrong" if holds else "the corrected prediction"
    function = claim.must_refute if holds else claim.must_hold
    return kind, _words(_plain(function)) if function is not None else ""


def places(claim: Claim) -> dict[str, str]:
    """Return the functions of a claim with the file and line of each."""
    found: dict[str, str] = {}
    for name in _NAMES:
        function = getattr(claim, name)
        if function is None:
            continue
        bound = ""
        if isinstance(function, functools.partial):
            settled = [*function.args, *function.keywords.values()]
            bound = f", of {', '.join(map(_shown, settled))}"
        plain = _plain(function)
        file, line = Path(plain.__code__.co_filename), plain.__code__.co_firstlineno
        place = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
        found[name] = f"{plain.__qualname__}{bound} ({place}:{line})"
    return found


def _plain(function: Callable[..., Any]) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.unwrap(function)


def _words(function: Any) -> str:
    said = inspect.getdoc(function)
    if said:
        return said.partition("\n")[0].rstrip(".")
    comment = re.search(r"((?:^\s*#.*\n)+)", inspect.getsource(function), re.MULTILINE)
    if comment:
        lines = (line.strip().lstrip("# ") for line in comment[1].splitlines())
        return " ".join(filter(None, lines)).partition(". ")[0].rstrip(".")
    return function.__name__.strip("_").replace("_", " ")


def _shown(value: object) -> str:
    name = getattr(value, "__qualname__", repr(value))
    return name if len(name) < 60 else f"{name[:57]}..."
