"""Keep the README's table of the ledger current: ``python -m verify.readme``."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from verify import ledger
from verify.claim import Claim, Evidence
from verify.compare import Outcome

_BLOCK = re.compile(r"(<!-- ledger: start -->\n).*?(<!-- ledger: end -->)", re.DOTALL)


def ledger_table(claims: Sequence[Claim]) -> str:
    """Return a Markdown table that counts claims by evidence and expected outcome.

    A claim that is expected to be refuted is a statement that is false as printed; its
    corrected form is counted among those expected to hold.
    """
    checked = [claim for claim in claims if not claim.open_reason]
    held = Counter(c.evidence for c in checked if c.expected is Outcome.HOLDS)
    false = Counter(c.evidence for c in checked if c.expected is Outcome.REFUTED)
    rows = [
        f"| {kind.value} | {held[kind]} | {false[kind]} |"
        for kind in Evidence
        if held[kind] + false[kind]
    ]
    still_open = len(claims) - len(checked)
    return "\n".join(
        [
            f"{len(claims)} claims, {still_open} of them open (the report says why).",
            "",
            "| evidence | expected to hold | false as printed |",
            "| --- | ---: | ---: |",
            *rows,
        ]
    )


def main() -> int:
    """Rewrite the block between the README's two markers."""
    path = Path("README.md")
    text = path.read_text(encoding="utf-8")
    table = ledger_table(ledger.load())
    path.write_text(_BLOCK.sub(rf"\g<1>{table}\n\2", text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
