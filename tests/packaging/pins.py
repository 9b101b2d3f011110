"""Bring ``constraints.txt`` up to date: ``tox -e pins -- --upgrade NAME ...`` or ``all``.

Every direct dependency, of the extras and the dependency groups too, gets the version
that pip finds for all of them together. A pin stays as it is unless it is to be upgraded;
what has none gets one. Nothing is installed.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "constraints.txt"
HEAD = (
    "# Exact versions for reproducible runs; pyproject.toml gives the ranges that work."
    "\n"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the file anew and say what has changed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upgrade", nargs="+", default=[], metavar="NAME")
    options = parser.parse_args(argv)
    wanted, old = requirements(ROOT / "pyproject.toml"), pins(FILE.read_text())
    kept = {} if "all" in options.upgrade else dict(old)
    for name in options.upgrade:
        kept.pop(name, None)
    found = resolved(wanted, kept)
    names = list(dict.fromkeys([*old, *map(name_of, wanted), "tox"]))
    new = {name: found.get(name, old.get(name)) for name in names}
    lines = (f"{name}=={version}\n" for name, version in new.items() if version)
    FILE.write_text(HEAD + "".join(lines))
    for name, version in new.items():
        if version != old.get(name):
            sys.stdout.write(f"{name}: {old.get(name, 'no pin')} -> {version}\n")
    return 0


def requirements(path: Path) -> list[str]:
    """Return all direct requirements of a project but those on itself."""
    content = tomllib.loads(path.read_text())
    project = content["project"]
    lists = (
        project["dependencies"],
        *project["optional-dependencies"].values(),
        *content["dependency-groups"].values(),
    )
    every = dict.fromkeys(each for some in lists for each in some)
    return [each for each in every if name_of(each) != project["name"]]


def name_of(requirement: str) -> str:
    """Return the normalised name of a requirement.

    >>> name_of("Some_Thing[extra]>=2,<3")
    'some-thing'
    """
    found = re.match(r"[\w.-]+", requirement)
    assert found is not None
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def pins(text: str) -> dict[str, str]:
    """Return the versions that a file of constraints gives.

    >>> pins("# exact\\nnumpy==2.4.6\\n")
    {'numpy': '2.4.6'}
    """
    lines = (line.partition("==") for line in text.splitlines() if "==" in line)
    return {name_of(name): version.strip() for name, _, version in lines}


def resolved(wanted: Iterable[str], kept: Mapping[str, str]) -> dict[str, str]:
    """Return the versions that pip would install, pins kept."""
    with tempfile.TemporaryDirectory() as folder:
        held, report = Path(folder) / "held.txt", Path(folder) / "report.json"
        held.write_text("".join(f"{n}=={v}\n" for n, v in kept.items()))
        command = [sys.executable, "-m", "pip", "install", "-q", "--dry-run"]
        command += ["--ignore-installed", "-c", str(held), "--report", str(report)]
        subprocess.run([*command, *wanted, "tox"], check=True)
        items = json.loads(report.read_text())["install"]
    metadata = (item["metadata"] for item in items)
    return {name_of(m["name"]): str(m["version"]).partition("+")[0] for m in metadata}


if __name__ == "__main__":
    sys.exit(main())
