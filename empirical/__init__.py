"""Finite-width networks, data and measurements in PyTorch.

Nothing here knows a closed form: `empirical` never imports `theory` or `verify`, so a
measurement cannot agree with a prediction by sharing its code. Conventions: NTK
parametrisation without biases, ``depth`` counts hidden layers, float64 unless told
otherwise, and every source of randomness is a generator passed as an argument.

Submodules are imported by name: ``from empirical import kernels, networks``.
"""

import sys
from importlib.util import find_spec

_NEEDED = ("torch", "distributed", "mlxtend", "platformdirs", "psutil", "rich")
_MISSING = [name for name in _NEEDED if find_spec(name) is None]
if _MISSING:
    _TEXT = (
        f"empirical needs {', '.join(_MISSING)}: install the extra, "
        'python -m pip install "deep-ledger[empirical]"'
    )
    # `python -m empirical` is looked up under this name: a message, not a traceback.
    if sys.argv[:1] == ["-m"]:
        sys.exit(f"error: {_TEXT}")
    raise ModuleNotFoundError(_TEXT)
