"""Public names of a package that are loaded when they are asked for."""

import importlib
import sys
from collections.abc import Callable
from typing import Any


def names_of(package: str, *modules: str) -> Callable[[str], Any]:
    """Return a package's ``__getattr__``: its ``__all__``, from these of its modules.

    So ``python -m`` a package's command line loads no more than it needs.
    """

    def get(name: str) -> Any:
        if name in sys.modules[package].__all__:
            for module in modules:
                home = importlib.import_module(f"{package}.{module}")
                if name in vars(home):
                    return vars(home)[name]
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get
