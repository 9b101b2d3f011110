"""The reference: a page for every public module, and a list of them for each package."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import get_origin

from pages.writing import write_all

PACKAGES = {
    "theory": "Closed forms. Functions take scalars or arrays and say how exact they are.",
    "empirical": "Networks of finite width: trained, measured and recorded.",
    "verify": "The ledger: claims, comparisons, records, figures and the report.",
}
_APART = (
    "verify.claims",
    "verify.conftest",
    "verify.test_claims",
    "verify.mutants.",
    "verify.report.html.",
)


def write_reference(folder: Path) -> None:
    """Write ``folder/index.rst``, a page for each package and for each module."""
    texts = {"index.rst": _index()}
    for package in PACKAGES:
        names = list(public_modules(package))
        texts |= {f"{name}.rst": _page(name, names) for name in names}
    write_all(folder, texts)


def public_modules(package: str) -> Iterator[str]:
    """Yield a package's name and those of its public modules, figures' innards left out."""
    yield package
    home = importlib.import_module(package)
    for found in pkgutil.walk_packages(home.__path__, f"{package}."):
        name = found.name
        inner = name.startswith("verify.figures.") and name.count(".") > 2
        private = any(part.startswith("_") for part in name.split("."))
        if not (inner or private or name.startswith(_APART)):
            yield name


def _index() -> str:
    lines = [
        *_title("Reference"),
        "A page for every public module, written from its docstrings: formulas, shapes,",
        "ranges, errors, and tested examples. The :ref:`genindex` has every name.",
        "",
    ]
    for package, words in PACKAGES.items():
        lines += [f":doc:`{package} <{package}>`", f"    {words}", ""]
    lines += [".. toctree::", "   :hidden:", ""]
    return "\n".join([*lines, *(f"   {package}" for package in PACKAGES), ""])


def _page(name: str, names: list[str]) -> str:
    """Return a module's page: what it says of itself, what is in it, what is below it."""
    module = importlib.import_module(name)
    top = name in PACKAGES
    lines = [] if top else [":orphan:", "", *_above(name)]
    lines += _title(name)
    below = [n for n in names if n.startswith(f"{name}.")]
    if top:
        lines += [PACKAGES[name], ""]
    else:
        lines += [f".. automodule:: {name}", "   :members:", "   :ignore-module-all:"]
        # Sphinx takes a parametrised type for a class without a signature.
        aliases = [key for key, value in vars(module).items() if get_origin(value)]
        lines += [f"   :exclude-members: {', '.join(aliases)}"] if aliases else []
        lines += [""]
        lines += _elsewhere(module, set(names))
    if below:
        lines += [*_title("Modules", "-")]
        for each in below:
            first = _first(importlib.import_module(each))
            lines += [f":doc:`{each} <{each}>`", f"    {first}", ""]
    return "\n".join(lines)


def _above(name: str) -> list[str]:
    """Return the way to a module's page, as links."""
    parts = name.split(".")[:-1]
    above = [".".join(parts[: k + 1]) for k in range(len(parts))]
    links = [":doc:`Reference <index>`", *(f":doc:`{each} <{each}>`" for each in above)]
    return [".. rst-class:: trail", "", " › ".join(links), ""]


def _elsewhere(module: ModuleType, pages: set[str]) -> list[str]:
    """Document the names that a package takes from modules below it."""
    name, listed, here = module.__name__, [], []
    for key in sorted(getattr(module, "__all__", None) or vars(module)):
        value = getattr(module, key)
        home = str(getattr(value, "__module__", ""))
        if key.startswith("_") or not (
            inspect.isclass(value) or inspect.isroutine(value)
        ):
            continue
        if home in pages and home != name and home.startswith(f"{name}."):
            role = "class" if inspect.isclass(value) else "func"
            link = f":py:{role}:`{key} <{home}.{value.__name__}>`"
            listed += [link, f"    {_first(value)}", ""]
        elif home != name and home.startswith(name):
            kind = "autoclass" if inspect.isclass(value) else "autofunction"
            here += [f".. {kind}:: {name}.{key}", ""]
    if listed:
        listed = [
            *_title("Names", "-"),
            f"All of these are names of ``{name}``.",
            "",
            *listed,
        ]
    return [*here, *listed]


def _first(documented: object) -> str:
    return (inspect.getdoc(documented) or "").partition("\n")[0].strip()


def _title(text: str, line: str = "=") -> list[str]:
    return [text, line * len(text), ""]
