"""The public functions of theory and empirical that no claim executes.

``executing.json`` names for each of `theory` a claim whose prediction executes it, so
that a test can tell in seconds that there is one; ``python -m verify.mutants
--uncovered`` finds out from the lines that all claims execute.
"""

import ast
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType

from verify.mutants.lines import Executed
from verify.mutants.sites import ROOT, files

PACKAGES: tuple[str, ...] = ("theory", "empirical")
EXECUTING = Path(__file__).with_name("executing.json")
BARE = ("abstractmethod", "abc.abstractmethod", "overload")


@dataclass(frozen=True)
class Function:
    """A public function, method or property: where it is, and the lines of its body."""

    file: str
    name: str
    lines: frozenset[int]

    @property
    def key(self) -> str:
        """Its file and its name in it."""
        return f"{self.file}:{self.name}"

    def is_of(self, code: CodeType) -> bool:
        """Whether code that was entered is this function's."""
        last = self.name.rpartition(".")[2]
        if code.co_name != last or code.co_filename != str(ROOT / self.file):
            return False
        return not self.lines.isdisjoint(line for *_, line in code.co_lines() if line)


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


def of_package(package: str) -> Iterator[Function]:
    """Yield the public functions of a package that a claim is to execute.

    Modules of argument checks, files, processes and command lines are left out, as are
    modules whose name begins with an underscore.
    """
    for file in files(package):
        if not any(part.startswith("_") for part in Path(file).parts):
            yield from public(file, (ROOT / file).read_text(encoding="utf-8"))


def executing() -> dict[str, list[str]]:
    """Return, by claim, the functions of `theory` that it is known to execute."""
    return json.loads(EXECUTING.read_text(encoding="utf-8"))


def unexecuted(known: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the functions that the predictions of the claims named with them don't enter.

    Cases, with their controls, run until all of a claim's functions were. In a process
    of its own: what is cached is not entered again.
    """
    from verify import ledger

    functions = {f.key: f for f in of_package("theory")}
    codes: dict[str, set[CodeType]] = {}

    def enter(frame: FrameType, _event: str, _argument: object) -> None:
        # Nothing is returned: no line of what was entered is traced.
        codes.setdefault(frame.f_code.co_name, set()).add(frame.f_code)

    def entered(function: Function) -> bool:
        last = function.name.rpartition(".")[2]
        return any(map(function.is_of, codes.get(last, ())))

    claims = {claim.id: claim for claim in ledger.load()}
    missing: list[str] = []
    for name, wanted in known.items():
        claim = claims[name]
        left = set(wanted)
        for case in claim.cases:
            for predict in (claim.predict, claim.must_refute, claim.must_hold):
                if predict is not None and left:
                    sys.settrace(enter)
                    try:
                        predict(**case)
                    finally:
                        sys.settrace(None)
                    left = {
                        key
                        for key in left
                        if key not in functions or not entered(functions[key])
                    }
        missing += sorted(left)
    return missing


def uncovered(
    executed: Mapping[str, Executed],
) -> tuple[list[Function], dict[str, int]]:
    """Return the public functions no line of which a claim executes, and all counted."""
    ran: dict[str, set[int]] = {}
    for part in (part for claim in executed.values() for part in claim.parts):
        for file, numbers in part.run.items():
            ran.setdefault(file, set()).update(numbers)
    missing: list[Function] = []
    counts = dict.fromkeys(PACKAGES, 0)
    for package in PACKAGES:
        for function in of_package(package):
            counts[package] += 1
            if not function.lines & ran.get(function.file, set()):
                missing.append(function)
    return missing, counts
