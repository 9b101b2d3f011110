"""A paper of another package has a `Study` of its own: its code is known there, too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

STUDY = '''
"""A study that adds."""

from dataclasses import dataclass

from empirical.testbed.records import RunRecord
from empirical.testbed.study import Study
from far_paper.adding import total


@dataclass(frozen=True, kw_only=True)
class Sum:
    name: str
    terms: int = 3


def data_of(configuration, setting):
    return "none"


def run(configuration, setting):
    own = STUDY.identity(configuration, setting)
    found = {"total": total(configuration.terms)}
    return RunRecord(**own, code=STUDY.code, facts=found)


def configurations(scale):
    return (Sum(name="few"), Sum(name="many", terms=9))


STUDY = Study(
    module="far_paper.study",
    configurations=configurations,
    schema=1,
    data=data_of,
    run=run,
)
'''
ADDING = '''
"""What the study needs."""


def total(terms):
    """Add."""
    return sum(range(terms))
'''


@pytest.fixture
def package(tmp_path: Path) -> Path:
    home = tmp_path / "site" / "far_paper"
    home.mkdir(parents=True)
    files = {"study": STUDY, "adding": ADDING, "__init__": '"""Far."""'}
    for name, text in files.items():
        (home / f"{name}.py").write_text(text)
    return home


def _python(package: Path, *arguments: str) -> str:
    env = {**os.environ, "PYTHONPATH": f"{package.parent}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-B", *arguments],
        cwd=package.parent.parent,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def _code(package: Path) -> str:
    return _python(
        package, "-c", "from far_paper.study import STUDY; print(STUDY.code)"
    )


def test_its_code_is_known_and_changes_with_what_it_imports(package: Path) -> None:
    first = _code(package)
    path = package / "adding.py"
    path.write_text(ADDING.replace("Add.", "Add them all."))
    assert _code(package) == first
    path.write_text(ADDING.replace("range(terms)", "range(1, terms)"))
    assert _code(package) != first


def test_it_is_run_and_leaves_a_record_that_is_current(package: Path) -> None:
    run = (
        "from pathlib import Path; from empirical.testbed.study import Setting, run_here;"
        "from empirical.testbed.records import RunRecord;"
        "from far_paper.study import STUDY;"
        "one = STUDY.configurations('small')[1]; folder = Path('runs');"
        "run_here(STUDY, one, folder=folder, setting=Setting(device='cpu'));"
        "record = RunRecord.read(folder / 'many.json');"
        "print(record.fact('total'), record.code == STUDY.code)"
    )
    assert _python(package, "-c", run).split() == ["36", "True"]
