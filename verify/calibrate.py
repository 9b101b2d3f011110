"""Try what decides claims on training: ``python -m verify.calibrate [CLAIM...]``.

Two things are tried, and a page written with what came out:

- *Planted faults*: networks are trained as they should not be (`FAULTS`) and sent through
  the same measurement. A claim that still holds of them does not say what it seems to,
  unless it says why it withstands the fault.
- *A/A trials*: two arms of the same law, drawn from one pool of networks, must come out
  as different no more often than the comparison's level says.

The networks are kept apart from those of the report, and what is there is not trained
again. With ``--keep`` what came out replaces what ``verify/calibrated.json`` had of these
claims, and the page is of all that is there; ``--page`` writes it and tries nothing.
"""

import argparse
import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from empirical.testbed.ending import counted
from empirical.testbed.faults import FAULTS
from verify import calibrated as keeping
from verify import command, ledger, paths
from verify.alike import Trial, alike, generator_of, trial_of
from verify.claim import Claim, Profile
from verify.compare import Outcome
from verify.ledger import Entry
from verify.paths import Place, placed
from verify.redraw import KEPT, trained
from verify.report import Row, build
from verify.report.rows import NOT_RUN, STALE
from verify.trained import found_for, given

REFUSED = "refused"
"""Of a claim that says nothing of networks that have not learnt."""

BY_CHANCE = 1e-3
"""Probability with which a comparison that keeps its level fails the A/A trials."""


@dataclass(frozen=True)
class Calibration:
    """Results of a claim's trials.

    Attributes
    ----------
    claim : Claim
    faults : mapping
        Names of faults to what was found: an outcome, `REFUSED`, or nothing where its
        networks know no such fault.
    redrawn : tuple of str
        Outcomes on networks of other seeds.
    alike : Trial, optional
        The A/A trials; absent where the comparison has no level, so that there is
        nothing to try.
    made : str
        The day, year first.
    """

    claim: Claim
    faults: Mapping[str, str]
    redrawn: tuple[str, ...] = ()
    alike: Trial | None = None
    made: str = ""

    @classmethod
    def of(cls, claim: Claim, kept: keeping.Kept) -> "Calibration":
        """Return what is kept of a claim."""
        alike = None
        if kept.alike is not None:
            decided, trials = kept.alike
            # What the pool was is not kept: of three draws, it tells any level apart.
            level = getattr(claim.compare, "level", 1.0)
            alike = Trial(decided, trials, level, 0)
        return cls(claim, kept.faults, kept.redrawn, alike, kept.made)

    @property
    def kept(self) -> keeping.Kept:
        """Return what is to be kept."""
        alike = self.alike
        found = None if alike is None else (alike.decided, alike.trials)
        faults = dict(self.faults)
        return keeping.Kept(self.claim.version, self.made, faults, self.redrawn, found)

    @property
    def fooled(self) -> tuple[str, ...]:
        """Faults of which the claim should not hold, but does."""
        return tuple(
            fault
            for fault, found in self.faults.items()
            if found == self.claim.expected == Outcome.HOLDS
            and fault not in self.claim.withstands
        )

    @property
    def broken(self) -> tuple[str, ...]:
        """Faults under which the claim could not be tried."""
        bad = (Outcome.ERROR, NOT_RUN)
        return tuple(f for f, found in self.faults.items() if found in bad)

    @property
    def whole(self) -> bool:
        """Whether it was tried under every fault and on every redraw."""
        return NOT_RUN not in {*self.faults.values(), *self.redrawn}

    @property
    def unlike(self) -> bool:
        """Whether it came out otherwise than expected in some redraw."""
        return bool(set(self.redrawn) - {self.claim.expected.value})

    @property
    def contrary(self) -> bool:
        """Whether some redraw says the opposite: refutes it, or holds if it is false."""
        both = {Outcome.HOLDS, Outcome.REFUTED}
        return bool(both - {self.claim.expected} & set(self.redrawn))

    @property
    def trusted(self) -> bool:
        """Whether no fault fools it and its A/A trials keep the level."""
        alike = self.alike is None or self.alike.chance >= BY_CHANCE
        return alike and not self.fooled and not self.broken


def found_in(row: Row) -> str:
    """Return what a row on faulty networks says: its outcome, or `REFUSED`.

    A record of older code is none: its networks were not tried now.
    """
    if row.outcome == STALE:
        return NOT_RUN
    if row.outcome != Outcome.UNDECIDED or row.record is None:
        return row.outcome
    return REFUSED if any(c.error for c in row.record.cases) else row.outcome


def measured_again(claim: Claim, profile: Profile, here: Place) -> list[object]:
    """Measure every case of a claim on the networks of a place."""
    assert claim.measure is not None
    with placed(here), given(found_for(claim, profile, here)):
        return [claim.measure(**case) for case in claim.cases_for(profile)]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line: 0, 1 if a claim is fooled, 2 on misuse, 130 Ctrl-C."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.alike and options.output is not None:
        parser.error("--alike writes no page: give it no --output")
    options.profile = Profile(options.profile)
    try:
        entries = trained(ledger.select(options.claims), options.profile)
    except ValueError as error:
        return command.refuse(error)
    work = _alike if options.alike else _paged if options.page else _written
    return command.interruptible(lambda: work(entries, options), kept=KEPT)


def _written(entries: Sequence[Entry], options: argparse.Namespace) -> int:
    if options.output is not None:
        command.check_output(options.output)
    done = calibrated(entries, options)
    if options.keep:
        kept = keeping.read() | {c.claim.id: c.kept for c in done if c.whole}
        entries = trained(ledger.select([]), options.profile)
        order = [e.claim.id for e in entries]
        keeping.write({name: kept[name] for name in order if name in kept})
        code = _paged(entries, options)
        if lacking := [each.claim.id for each in done if not each.whole]:
            command.complain(f"not tried, and as it was: {', '.join(lacking)}")
            return command.EXIT_RED
        return code
    return _out(done, (), options)


def _paged(entries: Sequence[Entry], options: argparse.Namespace) -> int:
    """Write the page of what is kept."""
    kept = keeping.read()
    claims = [e.claim for e in entries]
    done = [Calibration.of(c, kept[c.id]) for c in claims if c.id in kept]
    return _out(done, [c.id for c in claims if c.id not in kept], options)


def _out(
    done: Sequence[Calibration], missing: Sequence[str], options: argparse.Namespace
) -> int:
    text = as_markdown(done, missing)
    command.deliver(text, options.output)
    if options.output is not None:
        command.complain(f"written to {options.output}")
    return command.EXIT_GREEN if all(c.trusted for c in done) else command.EXIT_RED


def _alike(entries: Sequence[Entry], options: argparse.Namespace) -> int:
    """Say how often arms alike are told apart, of networks that have records."""
    here = Place(paths.folder_of(options.profile, options.records))
    found = alike(entries, options.profile, here, options.trials)
    for claim, trial in found:
        if isinstance(trial, str):
            command.put(f"{claim.id}: not tried, {trial}\n")
            continue
        command.put(
            f"{claim.id}: {trial.decided} of {trial.trials} A/A trials decide, at the"
            f" level {trial.level:g}; {trial.pool} networks\n"
        )
    tried = [trial for _, trial in found if isinstance(trial, Trial)]
    kept = all(trial.chance >= BY_CHANCE for trial in tried)
    return command.EXIT_GREEN if kept else command.EXIT_RED


def calibrated(
    entries: Sequence[Entry], options: argparse.Namespace
) -> list[Calibration]:
    """Run claims under every fault and on every draw, and the A/A trials of them."""
    root = paths.folder_of(options.profile, options.records)
    found: dict[str, dict[str, str]] = {e.claim.id: {} for e in entries}
    for fault in options.fault or FAULTS:
        able = [e for e in entries if _plants(e.claim, options.profile, fault)]
        for row in _tried(able, options, Place(root / f"fault-{fault}", fault=fault)):
            found[row.claim.id][fault] = found_in(row)
    redrawn: dict[str, list[str]] = {e.claim.id: [] for e in entries}
    pools: dict[str, list[list[object]]] = {e.claim.id: [] for e in entries}
    for draw in range(1, options.draws + 1):
        here = Place(root / f"redraw-{draw}", draw)
        for row in _tried(entries, options, here):
            redrawn[row.claim.id].append(found_in(row))
            if found_in(row) not in (Outcome.ERROR, NOT_RUN, REFUSED):
                measured = measured_again(row.claim, options.profile, here)
                pools[row.claim.id].append(measured)
    return [
        Calibration(
            claim,
            found[claim.id],
            tuple(redrawn[claim.id]),
            trial_of(
                claim.compare, pools[claim.id], options.trials, generator_of(claim)
            ),
            dt.datetime.now(dt.UTC).date().isoformat(),
        )
        for claim in (e.claim for e in entries)
    ]


def _plants(claim: Claim, profile: Profile, fault: str) -> bool:
    return all(fault in r.trainer.study.faults for r in claim.runs_for(profile))


def _tried(
    entries: Sequence[Entry], options: argparse.Namespace, here: Place
) -> tuple[Row, ...]:
    assert here.folder is not None
    claims = counted(len(entries), "claim")
    command.complain(f"{claims}, {here.fault or f'draw {here.redraw}'}")
    # What could not be run has no record, and says so in its row.
    command.run_with_progress(
        entries, here.folder, options, redraw=here.redraw, fault=here.fault
    )
    return build(entries, here.folder, options.profile)


def as_markdown(done: Sequence[Calibration], missing: Sequence[str] = ()) -> str:
    """Return the page: what came out, a table of it, and what claims withstand.

    `missing` are claims of which nothing is kept.
    """
    faults = [f for f in FAULTS if any(f in c.faults for c in done)]
    result = (
        f"**Result.** Of {counted(len(done), 'claim')}, {_count(done, 'fooled')} hold of"
        " networks trained wrongly (faults in brackets aside)."
        f" {_count(done, 'unlike')} come out otherwise in some redraw,"
        f" {_count(done, 'contrary')} of them with the opposite verdict."
        f" {sum(not c.trusted for c in done)} are not to be trusted: they hold"
        " of a fault, cannot be tried under one, or tell groups of one kind apart too"
        " often. Rows are of the day in their last column; `python -m verify.calibrate"
        " CLAIM --keep --output docs/calibration.md` makes those of a claim anew, for all"
        " claims in an hour of two cores."
    )
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        result += f" Not tried yet: {names}."
    lines = [
        *HEAD.format(result=result).splitlines(),
        *(f"- *{name}*: {FAULTS[name]}" for name in faults),
        "",
        f"| claim | expected | {' | '.join(faults)} | redrawn | A/A | made |",
        f"| --- | --- |{' --- |' * len(faults)} --- | --- | --- |",
    ]
    for each in done:
        cells = [_cell(each, fault) for fault in faults]
        alike = "-"
        if each.alike is not None:
            alike = f"{each.alike.decided} of {each.alike.trials}"
        redrawn = ", ".join(each.redrawn)
        expected = each.claim.expected.value
        cells = [f"`{each.claim.id}`", expected, *cells, redrawn, alike, each.made]
        lines.append(f"| {' | '.join(cells)} |")
    why: dict[tuple[str, str], list[str]] = {}
    for claim in (each.claim for each in done):
        for reason in claim.withstands.items():
            why.setdefault(reason, []).append(f"`{claim.id}`")
    if why:
        lines += ["", "Faults in brackets are those that a statement is not about:", ""]
    for (fault, reason), names in why.items():
        lines.append(f"- *{fault}* ({reason}): {', '.join(names)}")
    return "\n".join([*lines, ""])


def _count(done: Sequence[Calibration], what: str) -> int:
    return sum(bool(getattr(each, what)) for each in done)


def _cell(each: Calibration, fault: str) -> str:
    found = each.faults.get(fault, "-")
    if fault in each.fooled or fault in each.broken:
        return f"**{found}**"
    return f"({found})" if fault in each.claim.withstands else found


HEAD = """\
# Calibration of the claims on training

Would a claim on trained networks notice if they were trained wrongly, and does it depend on
the random numbers?

{result}

Each claim is measured again in three ways:

- *Planted faults*: on networks that were trained with one of the faults below. The claim
  must not hold of them; it is printed bold where it does. *Refused* means that the claim
  says nothing, because the networks have not learnt what it presupposes.
- *Redrawn*: on networks of other seeds, trained as they should be. Training amplifies
  rounding: a processor of another kind is one more redraw, and `tox -e verify` lets a
  claim stay undecided that a redraw left undecided.
- *A/A*: on two groups of networks of one kind, which the comparison should tell apart in
  one of a hundred trials, its level.

The faults:

"""


def _parser() -> argparse.ArgumentParser:
    what = "Try claims on networks trained wrongly, drawn anew, and on arms alike."
    parser = argparse.ArgumentParser(
        prog="python -m verify.calibrate", description=what
    )
    parser.add_argument(
        "claims", nargs="*", metavar="CLAIM", help="claims on training; all by default"
    )
    parser.add_argument(
        "--fault",
        action="append",
        choices=tuple(FAULTS),
        help="try this fault alone; can be repeated",
    )
    command.add_count(parser, "--draws", 3, "redraws")
    command.add_count(parser, "--trials", 200, "A/A trials")
    which = {
        "--alike": "A/A trials alone, on the networks of the records that there are",
        "--keep": "keep what comes out, and write the page of all that is kept",
        "--page": "try nothing: write the page of what is kept",
    }
    command.add_switches(parser.add_mutually_exclusive_group(), which)
    parser.add_argument(
        "--output",
        type=command.output,
        metavar="PATH",
        help="file of the page; stdout by default, and for -",
    )
    command.add_common_options(parser)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
