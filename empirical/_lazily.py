"""Public names of a package that are loaded when they are asked for."""

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def names_of(package: str) -> Callable[[str], Any]:
    """Return a package's ``__getattr__``, and set its ``__all__``.

    Its names are those that its file imports below ``if TYPE_CHECKING``, where only type
    checkers do so: ``python -m`` the package's command line loads no more than it needs.
    """
    module = sys.modules[package]
    tree = ast.parse(Path(str(module.__file__)).read_bytes())
    homes = {
        alias.name: str(node.module)
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    vars(module)["__all__"] = sorted(homes)

    def get(name: str) -> Any:
        if name in homes:
            return getattr(importlib.import_module(homes[name]), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get
