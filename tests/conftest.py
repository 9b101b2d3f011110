"""A relative tolerance is relative alone: to ``rel`` pytest adds an absolute 1e-12.

Numbers below it would be compared with nothing.
"""

from typing import Any

import pytest

_approx = pytest.approx


def approx(expected: Any, rel: Any = None, abs: Any = None, **options: Any) -> Any:
    """Return what pytest does, with no absolute tolerance beside a relative one."""
    if rel is not None and abs is None:
        abs = 0.0
    return _approx(expected, rel=rel, abs=abs, **options)


pytest.approx = approx
