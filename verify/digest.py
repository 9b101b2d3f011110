"""A digest of the sources behind a claim: when it changes, older records are stale.

The sources are those of the claim's module and, transitively, of every module of this
project it imports, wherever in the file the import stands.
"""

import ast
import hashlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("theory", "empirical", "verify")


def code_digest(module: str, roots: tuple[Path, ...] = (ROOT,)) -> str:
    """Return 16 hexadecimal digits that change with any source `module` depends on.

    Parameters
    ----------
    module : str
        Dotted name, e.g. ``verify.claims.deep_conditioning.lengths``.
    roots : tuple of Path
        Folders in which packages are looked up, in order.
    """
    digest = hashlib.sha256()
    for name, path in sorted(sources(module, roots).items()):
        digest.update(f"{name}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def sources(module: str, roots: tuple[Path, ...] = (ROOT,)) -> dict[str, Path]:
    """Return the file of every module that `module` depends on, itself included."""
    found: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = _locate(name, roots)
        if path is None or name in found:
            continue
        found[name] = path
        parent = name.rpartition(".")[0]
        waiting += [parent] if parent else []
        stat = path.stat()
        waiting += _imports(name, path, stat.st_mtime_ns, stat.st_size)
    return found


def _locate(module: str, roots: tuple[Path, ...]) -> Path | None:
    for root in roots:
        base = root.joinpath(*module.split("."))
        for path in (base / "__init__.py", base.with_name(base.name + ".py")):
            if path.is_file():
                return path
    return None


# The key holds the file's time and size: an edited file is parsed again.
@lru_cache(maxsize=1024)
def _imports(name: str, path: Path, _time: int, _size: int) -> tuple[str, ...]:
    """Names that a module may import, `from a import b` as both ``a`` and ``a.b``."""
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    top = (*PACKAGES, name.partition(".")[0])
    found = dict.fromkeys(_imported(tree, package))
    return tuple(n for n in found if n.partition(".")[0] in top)


def _imported(tree: ast.Module, package: str) -> Iterator[str]:
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
