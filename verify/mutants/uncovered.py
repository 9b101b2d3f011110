"""The public functions of theory and empirical that no claim executes."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from verify.mutants.lines import Executed
from verify.mutants.sites import ROOT, files

PACKAGES: tuple[str, ...] = ("theory", "empirical")
BARE = ("abstractmethod", "abc.abstractmethod", "overload")


@dataclass(frozen=True)
class Function:
    """A public function, method or property: where it is, and the lines of its body."""

    file: str
    name: str
    lines: frozenset[int]


def public(file: str, source: str) -> Iterator[Function]:
    """Yield the public functions of a source; those without a body are left out."""
    yield from _inside(ast.parse(source).body, file, "")


def _inside(body: Iterable[ast.stmt], file: str, prefix: str) -> Iterator[Function]:
    for node in body:
        name = getattr(node, "name", "")
        if isinstance(node, ast.ClassDef) and not name.startswith("_"):
            if "Protocol" not in map(ast.unparse, node.bases):
                yield from _inside(node.body, file, f"{prefix}{name}.")
        elif isinstance(node, ast.FunctionDef):
            if name.startswith("_") and name != "__call__":
                continue
            if not {ast.unparse(d) for d in node.decorator_list} & set(BARE):
                lines = {
                    n.lineno
                    for stmt in node.body
                    for n in ast.walk(stmt)
                    if isinstance(n, ast.stmt) and not _is_text(n)
                }
                yield Function(file, f"{prefix}{name}", frozenset(lines))


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def uncovered(
    executed: Mapping[str, Executed],
) -> tuple[list[Function], dict[str, int]]:
    """Return the public functions no line of which a claim executes, and all counted.

    Modules of argument checks, files, processes and command lines are left out, as are
    modules whose name begins with an underscore.
    """
    ran: dict[str, set[int]] = {}
    for claim in executed.values():
        for file, numbers in claim.run.items():
            ran.setdefault(file, set()).update(numbers)
    missing: list[Function] = []
    counts = dict.fromkeys(PACKAGES, 0)
    for package in PACKAGES:
        for file in files(package):
            if any(part.startswith("_") for part in Path(file).parts):
                continue
            for function in public(file, (ROOT / file).read_text(encoding="utf-8")):
                counts[package] += 1
                if not function.lines & ran.get(file, set()):
                    missing.append(function)
    return missing, counts
