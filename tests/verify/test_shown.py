"""What ``python -m verify show`` says of each claim: words, not Python's own text."""

import re
from pathlib import Path

import pytest

from verify import ledger
from verify.claim import Claim
from verify.report.rows import NOT_RUN, Row
from verify.report.shown import describe

PYTHON = re.compile(r"0x[0-9a-f]{6}|<function|<locals>|<lambda>|functools|partial\(")
CLAIMS = {claim.id: claim for claim in ledger.load()}


def _shown(claim: Claim, folder: Path, width: int = 80) -> str:
    return describe(Row(claim=claim, record=None, outcome=NOT_RUN), folder, width=width)


def _flat(text: str) -> str:
    return " ".join(text.split())


def test_no_claim_is_described_in_pythons_own_words(tmp_path: Path) -> None:
    shown = {name: _shown(claim, tmp_path) for name, claim in CLAIMS.items()}
    assert [name for name, text in shown.items() if PYTHON.search(text)] == []
    # Formulas and paths may be longer than a line; what is said in words is not.
    words = (line for text in shown.values() for line in text.splitlines())
    assert [line for line in words if len(line) > 80 and line.count(" ") > 30] == []


@pytest.mark.parametrize("width", [60, 100])
def test_a_claim_on_training_says_at_which_networks_it_looks(
    width: int, tmp_path: Path
) -> None:
    lines = _shown(CLAIMS["mmd/tab1"], tmp_path, width).splitlines()
    assert max(map(len, lines)) <= width
    text = _flat("\n".join(lines))
    for part in (
        "predicted by an effect of at least 0.5 points",
        "measured by _against with none, mmd (verify/claims/mmd_init/accuracy.py:",
        "cases, quick 1 case: scale = small; start = he; shots = 5",
        "2 trained runs: none-he (seeds 8 to 23), mmd-he (seeds 8 to 23)",
        "caught No effect, or one in the other direction",
        "cost, quick 2 runs to be trained, none has a record; not checked yet",
    ):
        assert part in text


def test_no_label_runs_into_its_paragraph(tmp_path: Path) -> None:
    lines = _shown(CLAIMS["dc/E10-kink"], tmp_path).splitlines()
    (cases,) = (line for line in lines if line.startswith("  cases, certify"))
    assert cases.startswith("  cases, certify ")


def test_nothing_is_said_twice_of_a_function(tmp_path: Path) -> None:
    text = _flat(_shown(CLAIMS["dc/E7-as-read"], tmp_path))
    assert text.count("A sum over coefficients that has converged") == 1
    # Where the value stands, not where it is wrapped.
    assert "A sum over coefficients that has converged (verify/claims/deep_cond" in text


def test_a_source_ends_in_one_full_stop(tmp_path: Path) -> None:
    shown = (_flat(_shown(claim, tmp_path)) for claim in CLAIMS.values())
    assert [text.split()[0] for text in shown if "al.. " in text] == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "id/thm1",
            "map/linear.py: dim from 1 to 40; momentum 0 or 0.5 or 0.8; seed from 0 to",
        ),
        (
            "dc/thm3.2",
            "sign 1 or −1; depth from 1 to 40; activation and delta by a rule that is",
        ),
        # Of a lambda in it Hypothesis says that it is unknown.
        ("dc/lemC.2", "activation by a rule that is given there"),
        ("dc/E4-corrected", "mu from 0.02 to 1; those alone that meet a condition"),
        ("dc/eq25", "from problems (verify/claims/deep_conditioning/learning/_pop"),
        (
            "sl/sing-error",
            "from an unnamed function of verify.claims.square_loss.criti",
        ),
    ],
)
def test_a_search_is_told_by_what_it_draws(
    name: str, said: str, tmp_path: Path
) -> None:
    text = _flat(_shown(CLAIMS[name], tmp_path))
    assert "unnamed function of verify.claims._searches" not in text
    assert said in text
