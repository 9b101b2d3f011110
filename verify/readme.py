"""Keep the README's table of the ledger current: ``python -m verify.readme``."""

import argparse
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from empirical.digest import ROOT
from verify import command, ledger
from verify.claim import FAULTS, Claim, Evidence
from verify.compare import Outcome
from verify.reading import Reading

_BLOCK = re.compile(r"(<!-- ledger: start -->\n).*?(<!-- ledger: end -->)", re.DOTALL)


def ledger_table(claims: Sequence[Claim]) -> str:
    """Return a Markdown table that counts claims by evidence and expected outcome.

    The corrected form of a statement that is false is counted among those that hold.
    """
    checked = [claim for claim in claims if not claim.open_reason]
    held = Counter(c.evidence for c in checked if c.expected is Outcome.HOLDS)
    false = Counter(
        (c.evidence, c.fault) for c in checked if c.expected is Outcome.REFUTED
    )
    rows = [
        f"| {kind.value} | {held[kind]} | "
        + " | ".join(str(false[kind, fault]) for fault in FAULTS)
        + " |"
        for kind in Evidence
        if held[kind] + sum(false[kind, fault] for fault in FAULTS)
    ]
    words = Counter(claim.reading for claim in claims)
    known = ", ".join(f"{words[r]} {r.value}" for r in Reading)
    still_open = len(claims) - len(checked)
    loose = sum(claim.loose for claim in claims)
    return "\n".join(
        [
            (
                f"{len(claims)} claims, {still_open} of them open (the report says why);"
                f" statements: {known}; {loose} of the bounds are loose, nowhere within"
                " a factor 2 of what they bound."
            ),
            "",
            f"| evidence | expected to hold | {' | '.join(FAULTS)} |",
            f"| --- | ---: |{' ---: |' * len(FAULTS)}",
            *rows,
        ]
    )


def main(argv: Sequence[str] | None = None, path: Path = ROOT / "README.md") -> int:
    """Rewrite the block between the README's two markers; return 1 if it can't be done."""
    argparse.ArgumentParser(
        prog="python -m verify.readme",
        description="Bring the counts in the README up to date.",
    ).parse_args(argv)
    if not path.is_file():
        command.complain(f"error: there is no {path}: only a checkout has one")
        return command.EXIT_RED
    table = ledger_table(ledger.load())
    text, blocks = _BLOCK.subn(rf"\g<1>{table}\n\2", path.read_text(encoding="utf-8"))
    if not blocks:
        command.complain(
            f"error: {path} must have the two markers of the ledger's table"
        )
        return command.EXIT_RED
    return command.written(text, path)


if __name__ == "__main__":
    raise SystemExit(main())
