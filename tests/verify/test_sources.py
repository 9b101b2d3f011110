"""Where a claim's source says it is printed: sections and appendices that exist."""

import re

import pytest

from verify import ledger
from verify.items import PAPERS
from verify.misprints import MISPRINTS

HEADINGS = {
    "dc": (
        "1 1.1 1.2 2 3 3.1 3.2 3.3 3.4 3.5 4 4.1 4.2 5 6 7 8"
        " A B C C.1 C.2 C.3 C.4 D D.1 D.2 D.3 D.4 E E.1 E.2 E.3 F G H I I.1 I.2 I.3"
    ),
    "id": (
        "1 2 3 3.1 3.2 3.3 3.4 4"
        " A B B.1 B.2 B.3 C D E E.1 E.2 E.3 F G H H.1 H.2 I J K L M N O"
    ),
    "sl": "1 1.1 1.2 2 2.1 3 4 4.1",
    "mmd": (
        "1 2 3 3.1 3.2 3.2.1 3.2.2 3.3 4 5 6"
        " A A.1 A.2 A.3 B B.1 B.2 B.3 B.3.1 B.3.2 C C.1 C.2 C.3 D D.1 D.2 E"
    ),
}
"""Numbers of the headings of each paper's sections and appendices, read off its text."""

NO_NUMBER = "names a section or an appendix without its number"

_NUMBER = r"(?:[A-Z]|\d+)(?:\.\d+)*(?![A-Za-z\d])"
_NAMED = re.compile(
    r"\b(?:sections?|appendi(?:x|ces))\b"
    rf"(?: ((?-i:{_NUMBER}(?:(?:, and |, | and | to ){_NUMBER})*)))?",
    re.IGNORECASE,
)


def _named(where: str) -> list[str]:
    """Return the numbers of the sections that are named, empty for one without."""
    return [
        number
        for found in _NAMED.finditer(where)
        for number in re.split(", and |, | and | to ", found[1] or "")
    ]


def _wrong(prefix: str, where: str) -> str:
    unknown = [n for n in _named(where) if n not in HEADINGS[prefix].split()]
    said = [f"there is no {n}" if n else NO_NUMBER for n in unknown]
    return "; ".join(said)


@pytest.mark.parametrize(
    ("where", "named"),
    [
        ("Theorem 3; the variance is ours", []),
        ("Section 3.3", ["3.3"]),
        ("Sections 2 and 3", ["2", "3"]),
        ("Section 4, on baselines, and appendix D.2", ["4", "D.2"]),
        ("Appendices B.1, B.3.1 and B.3.2", ["B.1", "B.3.1", "B.3.2"]),
        ("Section 3, appendices A and O", ["3", "A", "O"]),
        ("Appendix I, Fact 1 and Eq. 28", ["I"]),
        ("Section 3, equations 3 to 6", ["3"]),
        ("Section 7 and appendix on experiments", ["7", ""]),
    ],
)
def test_sections_are_read_off_a_source(where: str, named: list[str]) -> None:
    assert _named(where) == named


def test_a_section_that_a_paper_lacks_is_wrong() -> None:
    assert _wrong("mmd", "Table 1 and section 5.1") == "there is no 5.1"
    assert _wrong("sl", "Appendix A") == "there is no A"
    assert _wrong("id", "Section on the last layers") == NO_NUMBER


def test_sources_name_sections_that_exist() -> None:
    keys = {paper.prefix: paper.key for paper in PAPERS}
    said = {
        claim.id: _wrong(claim.paper, claim.source.where)
        for claim in ledger.load()
        if claim.source.key == keys[claim.paper]
    }
    wrong = {name: why for name, why in said.items() if why}
    assert wrong == {}


def test_misprints_are_in_sections_that_exist() -> None:
    assert [m for m in MISPRINTS if _wrong(m.paper, m.where)] == []
