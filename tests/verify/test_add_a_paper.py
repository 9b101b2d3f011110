"""The tutorial on adding a paper is followed as it stands, from a temporary folder."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "add-a-paper.md"
_FILE = re.compile(r"```\{code-block\} \w+\n:caption: (\S+)\n\n(.*?)```", re.DOTALL)


def _files() -> dict[str, str]:
    return dict(_FILE.findall(PAGE.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds the package as an installer leaves it."""
    folder = tmp_path_factory.mktemp("packages")
    files = _files()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    project = tomllib.loads(files["pyproject.toml"])["project"]
    info = folder / f"two_factors-{project['version']}.dist-info"
    info.mkdir()
    head = f"Metadata-Version: 2.1\nName: {project['name']}\n"
    (info / "METADATA").write_text(f"{head}Version: {project['version']}\n")
    lines: list[str] = []
    for group, points in project["entry-points"].items():
        lines += [
            f"[{group}]",
            *(f"{name} = {value}" for name, value in points.items()),
        ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder


# One after the other in one process, which loads PyTorch once.
_EACH = """
import json, runpy, sys
for argv in json.loads(sys.argv[1]):
    sys.argv = argv
    try:
        runpy.run_module(argv[0], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        assert not end.code, argv
    print("<end>")
"""


def _run(installed: Path, folder: Path, *commands: str) -> list[str]:
    """Run ``python -m`` with each of these arguments, and return what it prints."""
    env = {**os.environ, "PYTHONPATH": f"{installed}{os.pathsep}{ROOT}"}
    each = json.dumps([command.split() for command in commands])
    python = [sys.executable, "-c", _EACH, each]
    done = subprocess.run(python, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout.split("<end>\n")[:-1]


def test_a_fifth_paper_takes_four_files() -> None:
    assert len(_files()) == 4


def test_it_is_listed_run_reported_and_drawn(installed: Path, tmp_path: Path) -> None:
    listed, ran, page, drawn = _run(
        installed,
        tmp_path,
        "verify list two",
        "verify run two",
        "verify.report two --no-run --format html",
        "verify.figures two_factors_growth --out figures",
    )
    assert listed.split()[:4] == ["two/eq1", "The", "product", "of"]
    assert "1 claim: 1 hold" in ran
    assert "A Toy Theorem on Two Factors" in page
    assert "One factor alone learns" in page
    assert "Trained networks (dots) lie on the flow" in page
    assert "two_factors_growth.svg" in drawn
    assert (tmp_path / "figures" / "two_factors_growth.svg").is_file()
