"""Build the project, install it where nothing of it is, and try the quick report there.

``tox -e package`` runs this: an sdist, a wheel made from it, and for every supported
Python that is present a fresh environment with the wheel and its extra ``verify``. There,
in an empty folder, the quick report is asked for: of a claim of every paper and every kind
of evidence that the paper has, trained networks included, which takes a minute or two; with
``--whole`` of all claims, which takes as long as the README says. Every one of the former
must hold; of all, none may be otherwise than expected. Records must lie in the user's
cache, and nothing may be written beside the installed modules.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = ("python3.11", "python3.12", "python3.13")
SOME = (
    *("dc/eq7-proof", "dc/E12-threshold", "dc/defC.1-cubic", "dc/thm3.8"),
    *("dc/delta", "dc/lemC.4-rate"),
    *("id/thm1-proof", "id/eq10-certified", "id/upper", "id/patch"),
    *("id/thm1-orth", "id/Fig37"),
    *("sl/eq5b-proof", "sl/err2-certified", "sl/degen", "sl/eq6"),
    *("sl/randorth", "sl/Fig10"),
    *("mmd/thm3-proof", "mmd/lem4", "mmd/eq23", "mmd/thm1-unequal"),
    *("mmd/eq2-uniform", "mmd/Fig2"),
)
"""Claims of each paper, one of each kind of evidence, the cheap ones of their kind."""


def main(argv: Sequence[str] | None = None) -> int:
    """Build, then try every Python that is present; return 0 if all went well."""
    parser = argparse.ArgumentParser(description=__doc__)
    text = "claims to report instead of one of every paper and kind of evidence"
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--claims", nargs="+", metavar="CLAIM", default=SOME, help=text)
    text = "report all claims, as the README's first command does"
    which.add_argument("--whole", action="store_true", help=text)
    options = parser.parse_args(argv)
    claims = () if options.whole else tuple(options.claims)
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
            tried(name, wheel, Path(folder) / name, claims)
    return 0


def runs(python: str) -> bool:
    """Whether a Python is here and starts: a version manager's stand-in may not."""
    if shutil.which(python) is None:
        return False
    return subprocess.run([python, "--version"], capture_output=True).returncode == 0


def tried(python: str, wheel: Path, folder: Path, claims: Sequence[str]) -> None:
    """Install the wheel for one Python and report claims from an empty folder.

    All claims for none; of those named, every one must hold.
    """
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
    strict = ("--strict",) if claims else ()
    report = (inside, "-B", "-m", "verify.report", *claims, *strict)
    begun = time.monotonic()
    # What is not as expected ends with another code than 0, and so here.
    shown = call(*report, cwd=empty, env=env)
    took = time.monotonic() - begun
    counted = " ".join(shown[shown.rindex("\n\n") :].split())
    if claims:
        held = [int(n) for n in re.findall(r"(\d+) hold", counted)]
        assert sum(held) >= len(claims), shown
    page = empty / "report.html"
    more = ("--no-run", "--format", "html", "--output", str(page))
    call(*report, *more, cwd=empty, env=env)
    assert "</html>" in page.read_text(encoding="utf-8")
    assert [path.name for path in empty.iterdir()] == [page.name]
    records = [path.name for path in cache.rglob("*.json")]
    assert records, "no record in the cache"
    assert _written(home) == before, "something was written beside the modules"
    say(
        f"{python}: installed in {installed:.0f} s, reported in {took:.0f} s: {counted}"
    )


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
