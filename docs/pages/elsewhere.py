"""Names of other projects to which the reference links, without asking those projects.

A build touches no network: what is needed of their inventories is listed here, and written
in the format that ``sphinx.ext.intersphinx`` reads. Only a reader who follows a link leaves
the site.
"""

import zlib
from pathlib import Path

PROJECTS = {
    "python": "https://docs.python.org/3",
    "numpy": "https://numpy.org/doc/stable",
    "scipy": "https://docs.scipy.org/doc/scipy",
    "torch": "https://docs.pytorch.org/docs/stable",
}

_FUNCTIONS = "library/functions.html#$"
_TYPES = "library/stdtypes.html#$"
_ERRORS = "library/exceptions.html#$"
_ABSTRACT = "library/collections.abc.html#$"

NAMES: dict[str, dict[str, str]] = {
    "python": {
        **dict.fromkeys(("bool", "float", "int", "object"), f"class {_FUNCTIONS}"),
        **dict.fromkeys(
            ("bytes", "dict", "frozenset", "list", "set", "str", "tuple"),
            f"class {_TYPES}",
        ),
        **dict.fromkeys(
            (
                *(
                    "ArithmeticError",
                    "FileNotFoundError",
                    "KeyError",
                    "NotImplementedError",
                ),
                *("OSError", "RuntimeError", "TypeError", "ValueError"),
            ),
            f"exception {_ERRORS}",
        ),
        **dict.fromkeys(
            (
                f"collections.abc.{name}"
                for name in ("Callable", "Iterable", "Iterator", "Mapping", "Sequence")
            ),
            f"class {_ABSTRACT}",
        ),
        "None": "data library/constants.html#$",
        "bltin-boolean-values": "std:label library/stdtypes.html#boolean-type-bool",
        "fractions.Fraction": "class library/fractions.html#$",
        "pathlib.Path": "class library/pathlib.html#$",
    },
    "numpy": {
        "array_like": "std:term glossary.html#term-$",
        "arrays.scalars": "std:label reference/arrays.scalars.html#arrays-scalars",
        "numpy.dtype": "class reference/generated/$.html#$",
        "numpy.ndarray": "class reference/generated/$.html#$",
        "numpy.random.Generator": "class reference/random/generator.html#$",
    },
    "scipy": {
        "scipy.integrate.solve_ivp": "function reference/generated/$.html#$",
        "scipy.integrate.quad": "function reference/generated/$.html#$",
        "scipy.optimize.brentq": "function reference/generated/$.html#$",
    },
    "torch": {
        "torch.Generator": "class generated/$.html#$",
        "torch.Tensor": "class tensors.html#$",
        "torch.device": "class tensor_attributes.html#$",
        "torch.nn.Module": "class generated/$.html#$",
    },
}
"""Kind and page of each name; ``$`` stands for the name."""

ALIASES = {
    "array": "numpy.ndarray",
    "arrays": "numpy.ndarray",
    "ndarray": "numpy.ndarray",
    "np.ndarray": "numpy.ndarray",
    "Generator": "numpy.random.Generator",
    "np.random.Generator": "numpy.random.Generator",
    "Tensor": "torch.Tensor",
    "tensor": "torch.Tensor",
    "Path": "pathlib.Path",
    "Fraction": "fractions.Fraction",
    "bool": "bool",
    "boolean": "bool",
    "dtype": "numpy.dtype",
    "False": "bool",
    "True": "bool",
    "string": "str",
    "path-like": "pathlib.Path",
    "callable": "collections.abc.Callable",
    "generator": "collections.abc.Iterator",
    "iterator": "collections.abc.Iterator",
    "iterable": "collections.abc.Iterable",
    "mapping": "collections.abc.Mapping",
    "sequence": "collections.abc.Sequence",
}
"""Words of docstrings that mean one of these names."""


def write_inventories(folder: Path) -> dict[str, tuple[str, str]]:
    """Write an inventory for each project; return Sphinx's ``intersphinx_mapping``."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping: dict[str, tuple[str, str]] = {}
    for project, home in PROJECTS.items():
        path = folder / f"{project}.inv"
        made = _inventory(project, NAMES[project])
        if not path.exists() or path.read_bytes() != made:
            path.write_bytes(made)
        mapping[project] = (home, str(path))
    return mapping


def _inventory(project: str, names: dict[str, str]) -> bytes:
    """Return an inventory of the second version of Sphinx's format."""
    head = (
        "# Sphinx inventory version 2\n"
        f"# Project: {project}\n"
        "# Version: \n"
        "# The remainder of this file is compressed using zlib.\n"
    )
    lines: list[str] = []
    for name, place in names.items():
        kind, _, page = place.partition(" ")
        # A dollar sign at the end alone stands for the name there.
        path, _, anchor = page.partition("#")
        role = kind if ":" in kind else f"py:{kind}"
        priority = -1 if role.startswith("std:") else 1
        uri = f"{path.replace('$', name)}#{anchor.replace('term-$', f'term-{name}')}"
        lines.append(f"{name} {role} {priority} {uri} -\n")
    return head.encode() + zlib.compress("".join(lines).encode(), 9)
