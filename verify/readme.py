"""Keep the README's table of the ledger current: ``python -m verify.readme``."""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from empirical.digest import ROOT
from verify import ledger
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
    """Rewrite the block between the README's two markers."""
    argparse.ArgumentParser(
        prog="python -m verify.readme",
        description="Bring the counts in the README up to date.",
    ).parse_args(argv)
    if not path.is_file():
        sys.stderr.write(f"error: there is no {path}: only a checkout has one\n")
        return 1
    text = path.read_text(encoding="utf-8")
    table = ledger_table(ledger.load())
    path.write_text(_BLOCK.sub(rf"\g<1>{table}\n\2", text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
