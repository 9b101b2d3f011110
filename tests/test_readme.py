"""What the documents promise is true: examples run, counts are current."""

import doctest
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from verify import ledger
from verify.claim import Claim
from verify.compare import Outcome
from verify.readme import ledger_table, main
from verify.run import judge

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


@pytest.mark.parametrize(
    ("page", "least"),
    [
        ("README.md", 12),
        ("docs/index.md", 5),
        ("docs/explore.md", 30),
        ("docs/tutorial.md", 20),
        ("docs/spectrum.md", 20),
        ("docs/one-image.md", 20),
        ("docs/square-loss.md", 30),
        ("docs/mmd-init.md", 30),
        ("docs/phases.md", 25),
        ("docs/normrelu.md", 12),
        ("docs/trained/mmd-init.md", 4),
        ("docs/own-module.md", 25),
        ("docs/findings/depth-not-half-of-it.md", 4),
        ("docs/findings/kinks.md", 9),
        ("docs/findings/the-constant-on-the-floor.md", 8),
        ("docs/findings/a-frame-of-zeros.md", 4),
        ("docs/findings/lengths-that-diverge.md", 4),
        ("docs/findings/random-networks-keep-a-floor.md", 4),
        ("docs/findings/rates-that-bound-widths.md", 2),
    ],
)
def test_the_tours_run_as_printed(page: str, least: int) -> None:
    result = doctest.testfile(str(ROOT / page), module_relative=False)
    plt.close("all")
    assert result.attempted >= least
    assert result.failed == 0


def test_the_counts_are_current() -> None:
    text = README.read_text(encoding="utf-8")
    block = text.split("<!-- ledger: start -->\n")[1].split("<!-- ledger: end -->")[0]
    assert block.strip() == ledger_table(ledger.load()).strip(), (
        "run `python -m verify.readme` to bring the README's table up to date"
    )


def test_where_there_is_no_readme_its_counts_cannot_be_current(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([], tmp_path / "README.md") == 1
    assert "README.md: only a checkout has one" in capsys.readouterr().err


@pytest.fixture
def example() -> Claim:
    """The claim that CONTRIBUTING prints, from the text as it stands."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    code = text.split("```python\n")[1].split("```")[0]
    names: dict[str, object] = {}
    exec(compile(code, "CONTRIBUTING.md", "exec"), names)
    (claim,) = (value for value in names.values() if isinstance(value, Claim))
    return claim


def test_the_example_of_a_claim_holds_and_its_control_is_refuted(
    example: Claim,
) -> None:
    ledger.check([example])
    found = [judge(example, case) for case in example.cases]
    assert {case.outcome for case in found} == {Outcome.HOLDS}
    assert Outcome.REFUTED.value in {case.control for case in found}
