"""What all tests share: tolerances, examples and how they are collected."""

import gc
import importlib
import pkgutil
from collections.abc import Generator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

# An example takes as long as the machine needs.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")

PACKAGES = ("theory", "empirical", "verify")
"""Whose doctests are run."""

_approx = pytest.approx


def approx(expected: Any, rel: Any = None, abs: Any = None, **options: Any) -> Any:
    """Return what pytest does, with no absolute tolerance beside a relative one.

    To ``rel`` pytest adds 1e-12: smaller numbers would be compared with nothing.
    """
    if rel is not None and abs is None:
        abs = 0.0
    return _approx(expected, rel=rel, abs=abs, **options)


pytest.approx = approx


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write checkpoints at every pause, as if each were late."""
    # Loaded here: most tests do without PyTorch.
    from empirical.testbed.checkpoints import Checkpoint

    monkeypatch.setattr(Checkpoint, "due", True)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without looking for garbage, nor look at what was collected again.

    Thousands of tests and all modules stay to the end; a third of the time went on them.

    Modules whose doctests are asked for are loaded before: pytest would load a second copy
    of one that is part of its package by then, and tests patch either.
    """
    if session.config.option.doctestmodules:
        given = [Path(arg.partition("::")[0]).resolve() for arg in session.config.args]
        for name in PACKAGES:
            home = session.config.rootpath / name
            if any(path.is_relative_to(home) for path in given):
                for found in pkgutil.walk_packages([str(home)], f"{name}."):
                    if not found.name.endswith((".__main__", ".test_claims")):
                        importlib.import_module(found.name)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
