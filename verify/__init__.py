"""The ledger: every claim of every paper, how it is checked and what was found."""

import sys
from importlib.util import find_spec

_NEEDED = ("torch", "distributed", "hypothesis", "jinja2", "latex2mathml", "matplotlib")
_MISSING = [name for name in (*_NEEDED, "rich") if find_spec(name) is None]
if _MISSING:
    _TEXT = (
        f"verify needs {', '.join(_MISSING)}: install the extra, "
        'python -m pip install "deep-ledger[verify]"'
    )
    # `python -m verify` is looked up under this name: a message, not a traceback.
    if sys.argv[:1] == ["-m"]:
        sys.exit(f"error: {_TEXT}")
    raise ModuleNotFoundError(_TEXT)
