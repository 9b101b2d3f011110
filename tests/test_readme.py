"""What the README promises is true: its tour runs and its counts are current."""

import doctest
from pathlib import Path

from verify import ledger
from verify.readme import ledger_table

README = Path(__file__).parents[1] / "README.md"


def test_the_tour_runs_as_printed() -> None:
    result = doctest.testfile(str(README), module_relative=False)
    assert result.attempted >= 10
    assert result.failed == 0


def test_the_counts_are_current() -> None:
    text = README.read_text(encoding="utf-8")
    block = text.split("<!-- ledger: start -->\n")[1].split("<!-- ledger: end -->")[0]
    assert block.strip() == ledger_table(ledger.load()).strip(), (
        "run `python -m verify.readme` to bring the README's table up to date"
    )
