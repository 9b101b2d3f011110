"""The ledger: every claim of every paper, how it is checked and what was found."""

from importlib.util import find_spec

_NEEDED = ("torch", "distributed", "hypothesis", "jinja2", "latex2mathml", "matplotlib")
_MISSING = [name for name in (*_NEEDED, "rich") if find_spec(name) is None]
if _MISSING:
    raise ModuleNotFoundError(
        f"verify needs {', '.join(_MISSING)}: pip install 'deep-ledger[verify]'"
    )
