"""A digest of the code behind a result: when it changes, older records are stale.

The code is that of a module and, transitively, of every module of this project it
imports, wherever in a file the import stands, without comments, docstrings, layout and
the remarks of claims: what cannot change a number changes no digest.
"""

import ast
import hashlib
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).parents[1]
PACKAGES = ("theory", "empirical", "verify")
REMARKS = ("finding", "open_reason", "uses")
"""Arguments that say what came out, or what a claim rests on."""


def code_digest(
    module: str, roots: tuple[Path, ...] = (ROOT,), others: tuple[str, ...] = ()
) -> str:
    """Return 16 hexadecimal digits that change with any code `module` depends on.

    Parameters
    ----------
    module : str
        Dotted name, e.g. ``verify.claims.deep_conditioning.lengths.layers``.
    roots : tuple of Path
        Folders in which packages are looked up, in order.
    others : tuple of str
        Modules whose code counts, too.

    Raises
    ------
    ValueError
        If there is no such module.
    """
    found = _followed((module, *others), roots)
    if module not in found:
        raise ValueError(
            f"code_digest: `module` must be of this project, got {module!r}"
        )
    digest = hashlib.sha256()
    for name, (_, code) in sorted(found.items()):
        digest.update(f"{name}\0{code}\0".encode())
    return digest.hexdigest()[:16]


def roots_of(module: str) -> tuple[Path, ...]:
    """Return where the sources of an imported module and of this project are found.

    A module of another package stands below a folder of its own.
    """
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return (ROOT,)
    path = Path(file)
    depth = module.count(".") + (path.name == "__init__.py")
    return tuple(dict.fromkeys((path.parents[depth], ROOT)))


def sources(module: str, roots: tuple[Path, ...] = (ROOT,)) -> dict[str, Path]:
    """Return the file of every module that `module` depends on, itself included."""
    return {name: path for name, (path, _) in _followed((module,), roots).items()}


def _followed(
    modules: tuple[str, ...], roots: tuple[Path, ...]
) -> dict[str, tuple[Path, str]]:
    """Return files, and the digests of their own code."""
    found: dict[str, tuple[Path, str]] = {}
    # Most names are met many times over, and most of what is imported is no module.
    seen, waiting = set[str](), deque(modules)
    while waiting:
        name = waiting.popleft()
        parent = name.rpartition(".")[0]
        # In turn: where a module's attribute is imported, the module has been found.
        inside = parent not in found or found[parent][0].name == "__init__.py"
        path = _locate(name, roots) if inside and name not in seen else None
        seen.add(name)
        if path is None:
            continue
        package = name if path.name == "__init__.py" else parent
        code, names = _parsed(path.read_bytes(), package, name.partition(".")[0])
        found[name] = path, code
        waiting += [*([parent] if parent else []), *names]
    return found


def substance(source: bytes) -> str:
    r"""Return what a module says, without comments, texts as statements and remarks.

    Its syntax tree as a text that every version of Python gives alike: what a version
    adds to a node is empty where it is not used, and left out.

    Examples
    --------
    >>> substance(b'"Doc."\n\nx = "#"  # a remark')
    "Module(body=Assign(targets=Name(id='x');value=Constant(value='#')))"
    >>> with_remark = b'claim(\n    "x",\n    finding="It holds.",\n)'
    >>> substance(with_remark) == substance(b'claim("x")')
    True
    >>> substance(b"bound(x, uses=3)") == substance(b"bound(x)")
    False
    """
    return _shown(ast.parse(source))


def _shown(node: Any) -> str:
    if isinstance(node, list):
        entries = cast("list[Any]", node)
        return ",".join([_shown(each) for each in entries if not _is_remark(each)])
    # Looked up once a class: a run reads hundreds of thousands of nodes.
    fields = _fields(type(node))
    if fields is None:
        return ascii(node)
    parts: list[str] = []
    for name in fields:
        value = getattr(node, name, None)
        if value is not None and (text := _shown(value)):
            parts.append(f"{name}={text}")
    return f"{type(node).__name__}({';'.join(parts)})"


@cache
def _fields(kind: type) -> tuple[str, ...] | None:
    """Return what is shown of a class of nodes; None of what is no node."""
    if not issubclass(kind, ast.AST):
        return None
    return tuple(name for name in kind._fields if name not in ("ctx", "kind"))


def _is_remark(node: object) -> bool:
    """Return whether a statement is a text, as docstrings are, or an argument a remark."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) and isinstance(
            node.value.value, str
        )
    if not isinstance(node, ast.keyword) or node.arg not in REMARKS:
        return False
    texts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
    return all(
        isinstance(text, ast.JoinedStr) or isinstance(getattr(text, "value", 0), str)
        for text in texts
    )


def _locate(module: str, roots: tuple[Path, ...]) -> Path | None:
    below = module.replace(".", "/")
    for root in roots:
        for path in (root / f"{below}/__init__.py", root / f"{below}.py"):
            if path.is_file():
                return path
    return None


# By content: an edit is seen whatever the clock says.
@lru_cache(maxsize=1024)
def _parsed(source: bytes, package: str, top: str) -> tuple[str, tuple[str, ...]]:
    """Return the digest of a module's own code, and the names that it may import."""
    tree = ast.parse(source)
    found = dict.fromkeys(_imported(tree, package))
    names = tuple(n for n in found if n.partition(".")[0] in (*PACKAGES, top))
    return hashlib.sha256(_shown(tree).encode()).hexdigest(), names


def _imported(tree: ast.Module, package: str) -> Iterator[str]:
    """Names of every import, `from a import b` as both ``a`` and ``a.b``."""
    for node in _statements(tree.body):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
                if alias.name in PACKAGES:
                    yield from _taken(tree, alias.name, alias.asname or alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")[: len(package.split(".")) + 1 - node.level]
                base = ".".join([*parts, base]) if base else ".".join(parts)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _taken(tree: ast.Module, package: str, name: str) -> Iterator[str]:
    """Names of what is taken of a package where it is imported whole."""
    for node in ast.walk(tree):
        of = node.value if isinstance(node, ast.Attribute) else None
        if isinstance(of, ast.Name) and of.id == name:
            yield f"{package}.{cast('ast.Attribute', node).attr}"


def _statements(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Walk through statements and those inside them, not through expressions."""
    for each in body:
        yield each
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            inside = getattr(each, name, None)
            if isinstance(inside, list):
                yield from _statements(cast("list[ast.AST]", inside))
