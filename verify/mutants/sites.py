"""Where mutations are planted: every node of a source that computes something.

What a claim cannot be expected to see is left alone, and how that is decided stands
here: by kind of node (`_is_passed_over`), by what is called (`CHECKS`), by keyword
(`TOLERANCES`) and by module (`APART`).
"""

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from verify.mutants.operators import mutations

ROOT = Path(__file__).parents[2]

PACKAGES = ("theory", "empirical", "verify/compare")

APART = {
    "argument checks": (
        *("_checks.py", "_inputs.py", "_naming.py", "_requirements.py", "_recipes.py"),
        *("checks.py", "declared.py"),
    ),
    "command lines": (
        *("__main__.py", "testbed/before.py", "testbed/command.py"),
        *("testbed/options.py", "_lazily.py"),
        # What a command says and draws once it has ended, or meanwhile.
        *("ending.py", "shown.py", "testbed/bar.py"),
    ),
    "files": (
        *("records.py", "testbed/writing.py", "testbed/checkpoints.py", "digest.py"),
        *("data/_files.py", "data/fetch.py", "data/sources.py", "study.py"),
    ),
    "processes": (
        *("testbed/cluster.py", "testbed/crew.py", "testbed/engine.py", "devices.py"),
        *("testbed/serving.py", "testbed/addresses.py", "testbed/streams.py"),
        # Of a GPU alone.
        "testbed/capture.py",
        *("testbed/signals.py", "testbed/graph.py", "testbed/runner.py"),
        *("testbed/budgets.py", "testbed/stopping.py", "testbed/telling.py"),
        "_threads.py",
    ),
    "pictures": ("_picture.py",),
}
"""Modules that compute nothing a claim states, by what they do; tests look at them."""

CHECKS = ("check", "reject", "refuse", "require", "warn")
"""How the names of functions begin that look at arguments only."""

HANDING_ON = ("like", "plain", "result")
"""Functions among argument checks through which formulas are returned."""

TOLERANCES = (
    *("tolerance", "rtol", "atol", "tol", "epsabs", "epsrel", "xtol", "maxiter"),
    *("strict", "copy", "error", "stacklevel", "limit", "max_step", "method"),
    "maxsize",
)
"""Keywords whose value changes cost and the last digits, or nothing."""

UNCHANGED = ("decorator_list", "annotation", "returns", "bases", "ctx", "op", "ops")
"""Parts of nodes that are no expressions of a formula."""

WORDS = ("__repr__", "__str__", "criterion", "small", "_chance", "_allowance")
"""Functions that only say something."""


@dataclass(frozen=True)
class Mutant:
    """One mutation: where it is, and what it changes.

    Attributes
    ----------
    file : str
        Relative to the project.
    function : str
        Dotted name inside the module, empty at its top level.
    operator, before, after : str
        Its name, and the source text of the expression without and with it.
    nth : int
        Which one of those alike in the function.
    lines : tuple of int
        Of the statement: a claim that executes any of them is asked.
    called : bool
        Whether it is in the body of a function, not executed on import.
    node, variant : int
        Which of the nodes of the tree it is, as `ast.walk` goes, and which of the
        mutations of that node.
    """

    file: str
    function: str
    operator: str
    before: str
    after: str
    nth: int
    lines: tuple[int, ...] = field(compare=False)
    called: bool = field(compare=False)
    node: int = field(compare=False)
    variant: int = field(compare=False)

    @property
    def key(self) -> str:
        """Name that stays as long as its function contains this expression."""
        nth = f" ({self.nth + 1})" if self.nth else ""
        where = f"{self.file}:{self.function}"
        return f"{where} {self.operator}: {self.before} -> {self.after}{nth}"

    @property
    def package(self) -> str:
        """The one of `PACKAGES` that contains it."""
        return package_of(self.file)

    @property
    def module(self) -> str:
        """The dotted name of its module."""
        parts = Path(self.file).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def code(self) -> CodeType:
        """Return the code of the module with the mutation."""
        path = ROOT / self.file
        tree = planted(path.read_text(encoding="utf-8"), self)
        return compile(tree, str(path), "exec")


def package_of(mutant: str) -> str:
    """Return the one of `PACKAGES` that a mutation is in, by its key or its file."""
    return next(p for p in PACKAGES if mutant.startswith(f"{p}/"))


def planted(source: str, mutant: Mutant) -> ast.Module:
    """Return the tree of a source with a mutation planted in it."""
    tree = ast.parse(source)
    node = list(ast.walk(tree))[mutant.node]
    found = [new for _, new in mutations(node, _names(source))]
    new = ast.copy_location(copy.copy(found[mutant.variant]), node)
    return ast.fix_missing_locations(_Exchange(node, new).visit(tree))


class _Exchange(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        """Return what stands in the place of a node."""
        return self.new if node is self.old else self.generic_visit(node)


@cache
def _names(source: str) -> frozenset[str]:
    """Return the names that a source binds or reads."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    return frozenset(found)


def mutants_of(source: str, file: str) -> list[Mutant]:
    """Return every mutation of a source, in the order of its text."""
    found: list[Mutant] = []
    seen: Counter[tuple[str, ...]] = Counter()
    tree, known = ast.parse(source), _names(source)
    checks = frozenset(_checks_of(tree))
    order = {node: number for number, node in enumerate(ast.walk(tree))}
    for node, place in _walk(tree, _Place("", ()), checks):
        before = _text(node)
        for variant, (operator, new) in enumerate(mutations(node, known)):
            if operator == "nudge" and place.compared:
                continue
            what = (place.function, operator, before, _text(new))
            found.append(
                Mutant(
                    file=file,
                    function=place.function,
                    operator=operator,
                    before=before,
                    after=_text(new),
                    nth=seen[what],
                    lines=place.lines,
                    called=place.called,
                    node=order[node],
                    variant=variant,
                )
            )
            seen[what] += 1
    return found


@dataclass(frozen=True)
class _Place:
    function: str
    lines: tuple[int, ...]
    called: bool = False
    compared: bool = False


def _text(node: ast.AST) -> str:
    """Return the source text of a node; of a compound statement, its head."""
    if isinstance(node, ast.If):
        return f"if {ast.unparse(node.test)}"
    return ast.unparse(node)


def _walk(
    node: ast.AST, place: _Place, checks: frozenset[str]
) -> Iterator[tuple[ast.AST, _Place]]:
    """Yield every node that may be mutated, and its place, parents first."""
    if _is_passed_over(node, checks):
        return
    if isinstance(node, ast.stmt):
        place = replace(place, lines=_lines(node), compared=False)
    yield node, place
    inside = place.function
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        inside = f"{inside}.{node.name}" if inside else node.name
    calls = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for name, value in ast.iter_fields(node):
        if name in UNCHANGED:
            continue
        body = name == "body"
        here = replace(
            place,
            # Default values are evaluated outside the function.
            function=inside if body else place.function,
            called=place.called or (calls and body),
            compared=isinstance(node, ast.Compare)
            or (place.compared and isinstance(node, ast.UnaryOp)),
        )
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child, here, checks)


def _is_passed_over(node: ast.AST, checks: frozenset[str]) -> bool:
    if isinstance(
        node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom
    ):
        return True
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.If):
        # The guard of an error, and what type checkers alone read.
        typing = "TYPE_CHECKING" in ast.unparse(node.test)
        return typing or isinstance(node.body[-1], ast.Raise)
    if isinstance(node, ast.FunctionDef):
        return node.name in WORDS or _is_check(node.name)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return _is_call_of_check(node.value, checks)
    if isinstance(node, ast.Call):
        handed_on = _parts(node)[-1] in HANDING_ON
        return not handed_on and _is_call_of_check(node, checks)
    if isinstance(node, ast.keyword):
        return node.arg in TOLERANCES
    if isinstance(node, ast.AnnAssign):
        return node.value is None
    return False


def _parts(call: ast.Call) -> list[str]:
    return ast.unparse(call.func).split(".")


def _is_call_of_check(call: ast.Call, checks: frozenset[str]) -> bool:
    parts = _parts(call)
    return parts[0] in checks or _is_check(parts[-1])


def _is_check(name: str) -> bool:
    return name.lstrip("_").startswith(CHECKS)


def _checks_of(tree: ast.Module) -> Iterator[str]:
    """Yield the names by which a module knows argument checks."""
    homes = tuple(Path(name).stem for name in APART["argument checks"])
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}".split(".")
                if whole[-1] in homes or (len(whole) > 1 and whole[-2] in homes):
                    yield alias.asname or alias.name


def _lines(node: ast.stmt) -> tuple[int, ...]:
    """Return the lines of a statement; of a compound one, of its head."""
    body = getattr(node, "body", None)
    end = node.end_lineno or node.lineno
    if isinstance(body, list) and body:
        end = max(node.lineno, body[0].lineno - 1)
    return tuple(range(node.lineno, end + 1))


def files(package: str, root: Path = ROOT) -> list[str]:
    """Return the files of a package that are mutated, relative to the project."""
    apart = tuple(f"/{name}" for names in APART.values() for name in names)
    return [
        path.relative_to(root).as_posix()
        for path in sorted((root / package).rglob("*.py"))
        if not path.as_posix().endswith(apart)
    ]


def every(packages: Iterable[str] = PACKAGES) -> Iterator[Mutant]:
    """Yield every mutation of some packages."""
    for package in packages:
        for file in files(package):
            yield from mutants_of((ROOT / file).read_text(encoding="utf-8"), file)


def lot(key: str, seed: int) -> float:
    """Return a number in [0, 1) that a mutation's key and a seed alone decide."""
    digest = hashlib.sha256(key.encode()).digest()
    words = np.frombuffer(digest, dtype=np.uint32).tolist()
    return float(np.random.default_rng([seed, *words]).random())


def sample(mutants: Iterable[Mutant], share: float, seed: int) -> list[Mutant]:
    """Return those whose lot is below a share.

    Each is drawn by itself: a file that changes moves no mutation of another.
    """
    return [each for each in mutants if lot(each.key, seed) < share]
