"""A digest of the code behind a result: when it changes, older records are stale.

The code is that of a module and, transitively, of every module of this project it
imports, wherever in a file the import stands, without comments, docstrings, blank lines
and the remarks of claims: what cannot change a number changes no digest.
"""

import ast
import hashlib
import io
import sys
import tokenize
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("theory", "empirical", "verify")
REMARKS = ("finding", "open_reason", "uses")
"""Arguments that say what came out, or what a claim rests on."""
TEXTS = ("STRING", "FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END")


def code_digest(module: str, roots: tuple[Path, ...] = (ROOT,)) -> str:
    """Return 16 hexadecimal digits that change with any code `module` depends on.

    Parameters
    ----------
    module : str
        Dotted name, e.g. ``verify.claims.deep_conditioning.lengths``.
    roots : tuple of Path
        Folders in which packages are looked up, in order.

    Raises
    ------
    ValueError
        If there is no such module.
    """
    found = _followed(module, roots)
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
    return {name: path for name, (path, _) in _followed(module, roots).items()}


def _followed(module: str, roots: tuple[Path, ...]) -> dict[str, tuple[Path, str]]:
    """Return files, and the digests of their own code."""
    found: dict[str, tuple[Path, str]] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = _locate(name, roots)
        if path is None or name in found:
            continue
        code, names = _read(name, path)
        found[name] = path, code
        parent = name.rpartition(".")[0]
        waiting += [*([parent] if parent else []), *names]
    return found


def substance(source: bytes) -> bytes:
    r"""Return a module's source without comments, docstrings, remarks and blank lines.

    The text of what is left stays as it is, so that every version of Python gives the
    same.

    Examples
    --------
    >>> substance(b'"Doc."\n\nx = "#"  # a remark\n')
    b'x = "#"'
    >>> substance(b'Claim(\n    "x",\n    finding="It holds.",\n)')
    b'Claim(\n    "x",\n)'
    """
    lines = source.splitlines()
    kept = [bytearray(line) for line in lines]
    inside: dict[int, list[range]] = {}
    tree = ast.parse(source)
    for remark in filter(_is_remark, ast.walk(tree)):
        assert isinstance(remark, ast.keyword)
        for number, columns in _whole(remark, lines):
            kept[number][columns.start : columns.stop] = b" " * len(columns)
    for node in _strings(tree):
        docstring = isinstance(node, ast.Expr)
        for number, columns in _spans(node, lines):
            if docstring:
                kept[number][columns.start : columns.stop] = b" " * len(columns)
            else:
                inside.setdefault(number, []).append(columns)
    for number, line in enumerate(kept):
        at = line.find(b"#")
        while at >= 0 and any(at in columns for columns in inside.get(number, ())):
            at = line.find(b"#", at + 1)
        if at >= 0:
            del line[at:]
    shown = [bytes(line.rstrip()) for line in kept]
    # A blank line of a text is part of it.
    return b"\n".join(line for n, line in enumerate(shown) if line or n in inside)


def _is_remark(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.keyword)
        and node.arg in REMARKS
        and (
            isinstance(node.value, ast.Constant | ast.JoinedStr)
            or (
                isinstance(node.value, ast.Tuple)
                and all(isinstance(each, ast.Constant) for each in node.value.elts)
            )
        )
    )


def _whole(node: ast.keyword, lines: list[bytes]) -> Iterator[tuple[int, range]]:
    """Return the columns of each line that an argument and its comma take up."""
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    for number in range(first, last + 1):
        start = node.col_offset if number == first else 0
        stop = len(lines[number])
        if number == last:
            stop = node.end_col_offset or 0
            rest = lines[number][stop:]
            stop += rest.startswith(b",")
        yield number, range(start, stop)


def _strings(tree: ast.Module) -> Iterator[ast.Expr | ast.expr]:
    """Go through docstrings, as statements, and all other texts."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if _is_remark(node):
            continue
        if isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        ):
            yield node
            continue
        children = list(ast.iter_child_nodes(node))
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            first = node.body[0]
            assert isinstance(first, ast.Expr)
            yield first
            children.remove(first)
        waiting += children


def _spans(
    node: ast.Expr | ast.expr, lines: list[bytes]
) -> Iterator[tuple[int, range]]:
    """Return the columns, in bytes, of each line that a text takes up."""
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    stop = node.end_col_offset or 0
    if first == last:
        yield first, range(node.col_offset, stop)
        return
    part = [b"(" + lines[first][node.col_offset :], *lines[first + 1 : last]]
    part.append(lines[last][:stop] + b")")
    # Texts side by side are one node: what stands between them may be a comment.
    for token in tokenize.tokenize(io.BytesIO(b"\n".join(part)).readline):
        if tokenize.tok_name[token.type] not in TEXTS:
            continue
        (top, left), (bottom, right) = token.start, token.end
        for row in range(top, bottom + 1):
            text = part[row - 1].decode()
            begin = text[:left] if row == top else ""
            upto = text[:right] if row == bottom else text
            shift = node.col_offset - 1 if row == 1 else 0
            columns = (len(t.encode()) + shift for t in (begin, upto))
            yield first + row - 1, range(*columns)


def _locate(module: str, roots: tuple[Path, ...]) -> Path | None:
    for root in roots:
        base = root.joinpath(*module.split("."))
        for path in (base / "__init__.py", base.with_name(base.name + ".py")):
            if path.is_file():
                return path
    return None


def _read(name: str, path: Path) -> tuple[str, tuple[str, ...]]:
    """Return the digest of a module's own code, and the names that it may import."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    return _parsed(path.read_bytes(), package, name.partition(".")[0])


# By content: an edit is seen whatever the clock says.
@lru_cache(maxsize=1024)
def _parsed(source: bytes, package: str, top: str) -> tuple[str, tuple[str, ...]]:
    found = dict.fromkeys(_imported(ast.parse(source), package))
    names = tuple(n for n in found if n.partition(".")[0] in (*PACKAGES, top))
    return hashlib.sha256(substance(source)).hexdigest(), names


def _imported(tree: ast.Module, package: str) -> Iterator[str]:
    """Names of every import, `from a import b` as both ``a`` and ``a.b``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")[: len(package.split(".")) + 1 - node.level]
                base = ".".join([*parts, base]) if base else ".".join(parts)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
