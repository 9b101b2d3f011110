"""Build the project, install it where nothing of it is, and try a claim there.

``tox -e package`` runs this: an sdist, a wheel made from it, and for every supported
Python that is present a fresh environment with the wheel and its extra ``verify``. There
the quick report of one claim is asked for in an empty folder. The record must lie in the
user's cache, and nothing may be written beside the installed modules.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = ("python3.11", "python3.12", "python3.13")
CLAIM = "dc/thm3.4-maximum"


def main(argv: Sequence[str] | None = None) -> int:
    """Build, then try every Python that is present; return 0 if all went well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claim", default=CLAIM, help=f"default: {CLAIM}")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        dist = Path(folder) / "dist"
        # The wheel is made from the sdist, which so has all that it takes.
        call(sys.executable, "-m", "build", "--outdir", str(dist), str(ROOT))
        (wheel,) = dist.glob("*.whl")
        (sdist,) = dist.glob("*.tar.gz")
        for made in (sdist, wheel):
            say(f"{made.name}: {made.stat().st_size / 1e6:.1f} MB")
        present = [name for name in PYTHONS if runs(name)]
        if not present:
            say(f"none of {', '.join(PYTHONS)} is here")
            return 1
        for name in present:
            tried(name, wheel, Path(folder) / name, options.claim)
    return 0


def runs(python: str) -> bool:
    """Whether a Python is here and starts: a version manager's stand-in may not."""
    if shutil.which(python) is None:
        return False
    return subprocess.run([python, "--version"], capture_output=True).returncode == 0


def tried(python: str, wheel: Path, folder: Path, claim: str) -> None:
    """Install the wheel for one Python and report a claim from an empty folder."""
    start = time.monotonic()
    call(python, "-m", "venv", str(folder / "env"))
    inside = str(folder / "env" / "bin" / "python")
    constraints = ("-c", str(ROOT / "constraints.txt"))
    call(inside, "-m", "pip", "install", "-q", *constraints, f"{wheel}[verify]")
    installed = time.monotonic() - start
    empty, cache = folder / "empty", folder / "cache"
    empty.mkdir()
    env = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    for name in ("PYTHONPATH", "DEEP_LEDGER_DATA"):
        env.pop(name, None)
    home = next((folder / "env" / "lib").glob("python*/site-packages"))
    before = _written(home)
    shown = call(inside, "-B", "-m", "verify.report", claim, cwd=empty, env=env)
    assert "1 claim: 1 hold" in shown, shown
    page = empty / "report.html"
    more = ("--format", "html", "--output", str(page))
    call(inside, "-B", "-m", "verify.report", claim, *more, cwd=empty, env=env)
    assert "</html>" in page.read_text(encoding="utf-8")
    assert [path.name for path in empty.iterdir()] == [page.name]
    records = [path.name for path in cache.rglob("*.json")]
    assert records, "no record in the cache"
    assert _written(home) == before, "something was written beside the modules"
    say(f"{python}: installed in {installed:.0f} s, {claim} holds")


def _written(home: Path) -> set[str]:
    """Return the project's files of an installation."""
    found = (
        p
        for name in ("theory", "empirical", "verify")
        for p in (home / name).rglob("*")
    )
    return {str(p) for p in found if "__pycache__" not in p.parts}


def call(
    *command: str, cwd: Path | None = None, env: dict[str, str] | None = None
) -> str:
    """Run a command; return its stdout, or end with what it said."""
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def say(line: str) -> None:
    """Write a line to stdout."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
