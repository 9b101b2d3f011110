"""A small ledger of its own for each test, so that none runs the real one."""

import importlib
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from empirical.testbed.records import RunRecord
from verify import figures
from verify.figures import Picture

PREAMBLE = """
from verify.claim import Claim, Evidence, Source, grid
from verify.compare import AgreesTo, AtLeast, AtMost, Enclosed, Estimate, MeanAtMost
from verify.compare import MeanEquals, Outcome

def square(x):
    return x * x

def power(x):
    return x**2

def off_by_one(x):
    return x * x + 1

def broken(x):
    raise ArithmeticError("no such power")

def doubled(x):
    return 2 * x

COMMON = dict(
    items=("Eq1",),
    title="Squares are second powers",
    statement=r"x \\cdot x = x^2",
    source=Source("agarwal2021deep", "Equation 1"),
    evidence=Evidence.NUMERIC,
    cases=grid(x=(1, 2, 3)),
    predict=square,
    measure=power,
    compare=AgreesTo(relative=1e-15),
    must_refute=off_by_one,
)
"""

_numbers = itertools.count()


@pytest.fixture
def toy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., str]]:
    """Write a package of claims; its modules are given as source texts."""
    made: list[str] = []

    def write(**modules: str) -> str:
        name = f"toy{next(_numbers)}"
        folder = tmp_path / name
        folder.mkdir()
        (folder / "__init__.py").write_text('"""Claims."""\n')
        for module, source in modules.items():
            (folder / f"{module}.py").write_text(PREAMBLE + source)
        monkeypatch.syspath_prepend(tmp_path)
        importlib.invalidate_caches()
        made.append(name)
        return name

    yield write
    for name in made:
        for module in [m for m in sys.modules if m.partition(".")[0] == name]:
            del sys.modules[module]


@pytest.fixture
def toy_entry(toy: Callable[..., str]) -> Callable[[str], object]:
    """Return the one entry of a toy ledger whose claim has these arguments."""
    from verify import ledger

    def make(arguments: str, extra: str = "") -> object:
        call = f"Claim(**(COMMON | dict(id='dc/eq1', {arguments})))"
        return ledger.entries(toy(one=f"{extra}\nCLAIMS = ({call},)\n"))[0]

    return make


def _plain() -> object:
    """A drawing that takes no time."""
    figure, (ax,) = figures.style.axes()
    ax.plot([0, 1], [0, 1], color=figures.style.SERIES[0], label="α & β")
    ax.legend()
    return figure


@pytest.fixture
def quick_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pictures instead of eight; the real ones are drawn in their own tests."""
    monkeypatch.setattr(
        figures,
        "PICTURES",
        (
            Picture(
                name="length_maps", title="A map", caption="A < B.", of_theory=_plain
            ),
            Picture(
                name="finite_width",
                title="Widths",
                caption="Falls.",
                of_record=figures.measured.finite_width,
            ),
        ),
    )


@pytest.fixture
def records(made: Mapping[str, RunRecord]) -> dict[str, RunRecord]:
    """Records that a module's `made` trained, free to be exchanged."""
    return dict(made)


@pytest.fixture
def folder(made: Mapping[str, RunRecord], tmp_path: Path) -> Path:
    """Return a folder that holds them."""
    path = tmp_path / "records"
    path.mkdir()
    for name, record in made.items():
        record.write(path / f"{name}.json")
    return path
