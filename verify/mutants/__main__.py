"""``python -m verify.mutants``: plant mistakes in the source, and see who notices."""

import argparse
import importlib.util
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from verify.command import (
    EXIT_GREEN,
    EXIT_RED,
    add_count,
    add_switches,
    complain,
    interruptible,
    put,
    refuse,
)
from verify.mutants import children, lines, sites, suites, survivors, uncovered
from verify.mutants.sites import Mutant
from verify.mutants.verdicts import (
    PLACE,
    Fate,
    Verdict,
    is_current,
    judged,
    read,
    write,
)

SEED = 14
SHARES = {"theory": 0.009, "empirical": 0.02, "verify/compare": 0.2}
"""Which share of a package's mutations is the sample."""

OFTEN = 10.0
"""Seconds between two writings of the verdicts."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 when the list of survivors is up to date."""
    parser = _parser()
    options = parser.parse_args(argv)
    if unknown := set(options.packages) - set(sites.PACKAGES):
        parser.error(
            f"PACKAGE must be one of {', '.join(sites.PACKAGES)}, but it is"
            f" {', '.join(sorted(unknown))}"
        )
    if importlib.util.find_spec("coverage") is None:
        return refuse("verify.mutants needs coverage: run it by `tox -e mutants`")
    for number in (signal.SIGINT, signal.SIGTERM):
        # In the background the first of them would be ignored.
        signal.signal(number, signal.default_int_handler)
    children.prepare()
    options.verdicts = options.verdicts or kept_in(options.seed, options.records)
    return interruptible(lambda: _tried(options), kept="what was found is kept")


def _tried(options: argparse.Namespace) -> int:
    """Find and list what is asked for; return the exit code."""
    folder = options.records / "quick" / "lines"
    executed = _executed(folder, options.workers, trained=options.uncovered)
    if options.uncovered:
        return EXIT_RED if _tell_uncovered(executed) else EXIT_GREEN
    sample = chosen(options.packages, options.share, options.seed)
    found = _judge(sample, executed, options)
    reasons = survivors.read()
    if options.seed != SEED:
        reasons |= survivors.read(survivors.OTHERS)
    scores = survivors.scores(found.values(), reasons)
    known = {mutant.key for mutant in sample}
    # Lists are of the sample that is kept, and of those of other seeds once tried.
    kept = [m for m in reasons if sites.package_of(m) in options.packages]
    listed = kept if options.seed == SEED else [m for m in kept if m in found]
    wrong = list(survivors.complaints(listed, found, known))
    put("".join(f"{each}\n" for each in (*scores, *wrong)))
    return EXIT_RED if wrong else EXIT_GREEN


def kept_in(seed: int, records: Path) -> Path:
    """Return where the verdicts on a sample are kept: its own file for another seed."""
    return PLACE if seed == SEED else records / "quick" / f"mutants-{seed}.json"


def chosen(
    packages: Iterable[str] = sites.PACKAGES, share: float = 1.0, seed: int = SEED
) -> list[Mutant]:
    """Return the sample of some packages, or a share of it."""
    return [
        mutant
        for package in packages
        for mutant in sites.sample(
            sites.every([package]), share * SHARES[package], seed
        )
    ]


def _executed(
    folder: Path, workers: int, *, trained: bool
) -> dict[str, lines.Executed]:
    """Return which lines every claim executes, found now where not yet known.

    Raises
    ------
    FileNotFoundError
        If networks are looked at that have no current record.
    """
    if trained and (names := lines.untrained()):
        raise FileNotFoundError(
            f"{len(names)} networks that claims look at have no record of the present"
            f" code, e.g. {names[0]}; `python -m verify.report` trains them"
        )
    wanted = lines.closed()
    if trained:
        wanted += lines.closed(trained=True)
    missing = sum(lines.read(each, folder) is None for each in wanted)
    measuring = lines.measure(wanted, folder, workers=workers)
    for number, name in enumerate(measuring, start=1):
        complain(f"[{number}/{missing}] lines of {name}")
    return lines.load(folder, wanted)


def _judge(
    sample: Sequence[Mutant],
    executed: Mapping[str, lines.Executed],
    options: argparse.Namespace,
) -> dict[str, Verdict]:
    """Return the verdict on every mutation of a sample; keep each as it is found."""
    kept = read(options.verdicts)
    whole = {mutant.key for mutant in sample}
    found = {
        key: verdict
        for key, verdict in kept.items()
        if key in whole and not options.rerun and is_current(verdict, executed)
    }
    todo = [mutant for mutant in sample if mutant.key not in found]
    if set(options.packages) == set(sites.PACKAGES) and options.share == 1.0:
        # What is no longer in the sample goes.
        kept = {key: v for key, v in kept.items() if key in whole}
    last = time.monotonic()
    try:
        finding = judged(todo, executed, workers=options.workers, before=kept)
        for number, verdict in enumerate(finding, start=1):
            found[verdict.mutant] = verdict
            complain(f"[{number}/{len(todo)}] {_line(verdict)}")
            if time.monotonic() - last > OFTEN:
                write((kept | found).values(), options.verdicts)
                last = time.monotonic()
        if options.tests:
            left = [
                (mutant, verdict)
                for mutant in sample
                if (verdict := found[mutant.key]).fate
                in (Fate.SURVIVED, Fate.NOT_COVERED)
                and verdict.test is None
            ]
            for verdict in suites.tested(left, workers=options.workers):
                found[verdict.mutant] = verdict
                complain(f"{verdict.test or 'no test'} notices {verdict.mutant}")
    finally:
        write((kept | found).values(), options.verdicts)
    return found


def _line(verdict: Verdict) -> str:
    by = f" by {verdict.claim}" if verdict.claim else ""
    return f"{verdict.fate}{by}: {verdict.mutant}"


def _tell_uncovered(executed: Mapping[str, lines.Executed]) -> bool:
    """Print the public functions that no claim executes; return whether of `theory`."""
    missing, counts = uncovered.uncovered(executed)
    told = [
        f"{file}: {', '.join(function.name for function in functions)}\n"
        for file, functions in groupby(missing, key=lambda f: f.file)
    ]
    for package, count in counts.items():
        here = sum(f.file.startswith(f"{package}/") for f in missing)
        told.append(f"{package}: {here} of {count} public functions\n")
    put("".join(told))
    return any(function.file.startswith("theory/") for function in missing)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0.0 < share <= 1.0:
        raise argparse.ArgumentTypeError(f"must be above 0 and at most 1, not {text}")
    return share


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m verify.mutants",
        description="Plant mistakes in the source, and see who notices.",
    )
    parser.add_argument(
        "packages",
        nargs="*",
        metavar="PACKAGE",
        default=list(sites.PACKAGES),
        help=f"{', '.join(sites.PACKAGES)} (default: all)",
    )
    parser.add_argument(
        "--share",
        type=_share,
        default=1.0,
        metavar="SHARE",
        help="fraction of the sample of mutations to try (default: 1)",
    )
    parser.add_argument(
        "--seed", type=int, default=SEED, help=f"seed of the sample (default: {SEED})"
    )
    add_count(parser, "--workers", 2, "processes")
    switches = {
        "--tests": "run the tests, too, against mutations that no claim notices",
        "--rerun": "try mutations again that have a current verdict",
        "--uncovered": "print the public functions that no claim executes, and stop",
    }
    add_switches(parser, switches)
    parser.add_argument(
        "--records",
        type=Path,
        default=Path("results"),
        metavar="FOLDER",
        help="where the lines of claims are kept (default: results)",
    )
    parser.add_argument(
        "--verdicts",
        type=Path,
        metavar="FILE",
        help="where verdicts are kept (default: beside this program, and for another"
        " seed with the records)",
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
