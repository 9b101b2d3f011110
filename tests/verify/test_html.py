"""The HTML page: well formed, self-contained, complete, and honest about failures."""

import base64
import hashlib
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from verify import ledger, run
from verify.claim import Profile
from verify.compare import EffectWithin, Outcome
from verify.items import PAPERS
from verify.report import build, html, mathml
from verify.report.html import markup, pictures, templating
from verify.report.rows import Row

Toy = Callable[..., str]
VOID = {"meta", "br", "link", "img", "hr", "input"}
_BLOCKS = {"article", "details", "div", "dl", "figcaption", "figure", "form", "header"}
_BLOCKS |= {"h1", "h2", "h3", "h4", "ol", "p", "pre", "section", "table", "ul"}
CLOSED_BY: dict[str, set[str]] = {
    "td": {"td", "th", "tr", "tbody", "tfoot"},
    "th": {"td", "th", "tr", "tbody", "tfoot"},
    "tr": {"tr", "tbody", "tfoot"},
    "thead": {"tbody", "tfoot"},
    "tbody": {"tbody", "tfoot"},
    "tfoot": set(),
    "li": {"li"},
    "dt": {"dt", "dd"},
    "dd": {"dt", "dd"},
    "p": {*_BLOCKS, "li", "dt", "dd"},
}
"""Elements whose end HTML lets be left out, and those that end them."""

CLAIMS = """
from hypothesis import strategies as st

def draws():
    return st.just({"x": 4})

BARE = {k: COMMON[k] for k in ("title", "statement", "source", "evidence")}
CLAIMS = (
    Claim(id="dc/eq1", finding="Holds for mu >= 1/2 & a_2 < 1, see dc/eq2.",
          assumptions=("x is whole",), examples=draws, max_examples=5, **COMMON),
    Claim(id="dc/eq2", uses=("dc/eq1",), **COMMON | dict(
        items=("Eq2",), predict=off_by_one, expected=Outcome.REFUTED,
        must_hold=square, finding="One too many.", title="A <b>bold</b> claim")),
    Claim(id="dc/eq7", **COMMON | dict(items=("Eq7",), measure=broken)),
    Claim(id="dc/eq14", **COMMON | dict(items=("Eq14",), predict=doubled)),
    Claim(id="dc/eq15", items=("Eq15",), open_reason="later", **BARE),
    Claim(id="dc/eq16", **COMMON | dict(items=("Eq16",), figure="length_maps")),
)
"""


def as_html(rows: Sequence[Row], **options: Any) -> str:
    """Return the page with the quotes of attributes that it leaves out."""
    return re.sub(
        r"<[a-z][^<>]*>|<(script|style)>.*?</\1>",
        lambda tag: (
            tag[0] if tag[1] else re.sub(r' ([a-z-]+)=([^\s">]+)', r' \1="\2"', tag[0])
        ),
        html.as_html(rows, **options),
        flags=re.DOTALL,
    )


@pytest.fixture
def rows(toy: Toy, tmp_path: Path) -> tuple[Row, ...]:
    entries = ledger.entries(toy(one=CLAIMS))
    for entry in entries:
        if not entry.claim.open_reason and entry.claim.id != "dc/eq16":
            run.run_and_write(entry, Profile.QUICK, tmp_path)
    return build(entries, tmp_path)


@pytest.fixture
def page(rows: tuple[Row, ...], quick_pictures: None) -> str:
    return as_html(rows)


class Checker(HTMLParser):
    """Collects ids, references and tags; complains about tags that do not match."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.stack: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        while self.stack and tag in CLOSED_BY.get(self.stack[-1], ()):
            self.stack.pop()
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            if name in ("href", "xlink:href", "src"):
                self.links.append(str(value))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.stack.pop()

    def handle_endtag(self, tag: str) -> None:
        while tag not in CLOSED_BY and self.stack and self.stack[-1] in CLOSED_BY:
            self.stack.pop()
        assert self.stack, f"</{tag}> closes nothing"
        assert self.stack.pop() == tag


def _checked(page: str) -> Checker:
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert checker.stack == []
    return checker


def test_tags_match_ids_are_unique_and_links_lead_somewhere(page: str) -> None:
    found = _checked(page)
    assert len(set(found.ids)) == len(found.ids)
    assert {link for link in found.links if not link.startswith("#")} == set()
    assert {link[1:] for link in found.links} <= set(found.ids)


def test_the_checker_notices_what_it_is_for() -> None:
    with pytest.raises(AssertionError):
        _checked("<p><b>wrong</p></b>")


def test_the_page_is_self_contained_and_whole_without_its_script(page: str) -> None:
    found = _checked(page)
    assert not {"link", "img", "iframe", "object"} & set(found.tags)
    assert '<form id="filters" role="search" aria-label="Claims" hidden>' in page
    assert "url(http" not in page
    assert "@import" not in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_no_script_runs_but_the_one_that_the_policy_names(page: str) -> None:
    (script,) = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert f"script-src &#39;sha256-{digest}&#39;" in policy
    assert policy.startswith("default-src &#39;none&#39;;")


def test_headings_leave_out_no_level(page: str) -> None:
    levels = [int(level) for level in re.findall(r"<h(\d)", page)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))


def test_tables_name_themselves_and_their_columns(page: str) -> None:
    for table in re.findall(r"<table.*?</table>", page, flags=re.DOTALL):
        assert "<caption>" in table or 'class="cases"' in table
        assert all("scope=" in head for head in re.findall(r"<th\b[^>]*>", table))


def test_the_same_records_give_the_same_page(page: str, rows: tuple[Row, ...]) -> None:
    assert as_html(rows) == page


def test_every_formula_is_well_formed_mathml(page: str) -> None:
    formulas = re.findall(r"<math.*?</math>", page, flags=re.DOTALL)
    # One in each section.
    assert len(formulas) == 6
    for text in formulas:
        assert ET.fromstring(text).tag.endswith("math")


def test_figures_are_well_formed_and_described(page: str) -> None:
    drawings = re.findall(r"<svg .*?</svg>", page, flags=re.DOTALL)
    # What drawings share, the drawing, and the claim's reference to it.
    assert len(drawings) == 3
    shared, drawing, reference = map(ET.fromstring, drawings)
    assert shared.get("aria-hidden") == "true"
    assert re.search(r"<figcaption id=\"length_maps-caption\"><strong>A map", page)
    for one in (drawing, reference):
        assert one.get("aria-labelledby") == "length_maps-caption"
    sheet = page.split("<style>")[1].split("</style>")[0]
    classes = {name for e in drawing.iter() for name in e.get("class", "").split()}
    assert classes - {"plot"}
    assert all(f".{name}{{" in sheet for name in classes - {"plot"})
    assert "var(--series-1)" in sheet


def test_a_picture_without_a_record_says_so(page: str) -> None:
    assert "Drawn from a record, and none of the claims shown here has one." in page


def test_a_missing_picture_shows_its_command_as_code() -> None:
    note = pictures._note("no record; `python -m x batch` makes it", "pending")
    assert "`" not in note
    assert "<code>python -m x batch</code> makes it" in note


def test_every_claim_has_a_line_a_section_and_its_command(
    page: str, rows: tuple[Row, ...]
) -> None:
    for row in rows:
        anchor = row.claim.id.replace("/", "-")
        assert f'<article id="{anchor}">' in page
        assert f'<a href="#{anchor}">{row.claim.id}</a> <small>' in page
    assert "python -m verify run dc/eq1</code>" in page


def _section(page: str, name: str) -> str:
    return page.split(f'<article id="{name}">')[1].split("</article>")[0]


def test_a_section_says_what_was_found_and_how_to_refute_it(page: str) -> None:
    section = _section(page, "dc-eq1")
    for words in (
        "Holds for μ ≥ 1/2 &amp; a<sub>2</sub> &lt; 1, see <code>dc/eq2</code>.",
        "x is whole",
        "<dt>Source<dd>Equation 1;",
        "<dt>Evidence<dd>numeric; refuted if the two sides differ",
        "differ by more than 1e−15 of the measured value",
        "<dt>Would have caught<dd><i>off by one</i> (in all 3 cases)",
        "Worst of 3 cases and 1 searched ones",
        '<a href="#dc-eq1">dc/eq1</a> <span>holds</span>',
    ):
        assert words in section
    assert '<dd class="refs"><a href="#dc-eq1"' in _section(page, "dc-eq2")


def test_what_is_false_as_printed_is_shown_on_top(page: str) -> None:
    findings = page.split('<section id="findings"')[1].split("</section>")[0]
    assert findings.count("<h3>") == 1
    assert "One too many." in findings
    assert "A &lt;b&gt;bold&lt;/b&gt; claim" in findings
    assert "false as read" in findings


def test_what_came_of_a_paper_is_not_said_where_its_claims_do_not_show_it(
    rows: tuple[Row, ...], quick_pictures: None
) -> None:
    """As of one claim of many, of none that was run, or against what was found."""
    said = "Depth conditions both kernels as stated"
    good = tuple(row for row in rows if row.settled)
    assert said in as_html(good)
    assert said not in as_html(good, whole=False)
    assert said not in as_html((*good, next(r for r in rows if r.kind == "bad")))
    assert said not in as_html((*good, next(r for r in rows if r.kind == "pending")))


def test_one_false_statement_has_one_counterexample(page: str) -> None:
    assert "<strong>1</strong></a> is false, with a counterexample" in page


def test_what_is_not_settled_is_shown_with_its_reason(page: str) -> None:
    attention = page.split('<section id="attention"')[1].split("</section>")[0]
    assert "ArithmeticError: no such power" in attention
    assert "Traceback" not in attention
    assert "expected 2, observed 1" in attention
    # What waits is counted: of a ledger without records it would be all of it.
    waiting = attention.split('class="waiting"')[-1] if "waiting" in attention else ""
    assert "<a href=#claims>" in waiting or '<a href="#claims">' in waiting
    assert "#dc-" not in waiting
    assert "Traceback" in _section(page, "dc-eq7")


def test_no_path_of_the_machine_is_shown(page: str) -> None:
    assert str(run.ROOT) not in page


def test_coverage_shows_items_without_a_claim(page: str) -> None:
    coverage = page.split('<section id="coverage"')[1].split("</section>")[0]
    assert '<li class="missing"><b>AsmA</b> —<' in coverage
    # Of the first section's items the claims cover two: equations 1 and 2.
    count = len(PAPERS[0].sections[0][1])
    assert f'<td class="n">2/{count}<' in coverage


def test_the_counts_add_up(page: str) -> None:
    matrix = page.split('<table class="matrix">')[1].split("</table>")[0]
    totals = matrix.split("<tfoot>")[1]
    numbers = [int(n) for n in re.findall(r">(\d+)\b", totals)]
    assert sum(numbers[:-1]) == numbers[-1] == 6


def test_a_part_of_the_ledger_shows_its_own_figures_only(
    rows: tuple[Row, ...], quick_pictures: None
) -> None:
    part = as_html(rows[:2], whole=False)
    found = _checked(part)
    assert {link[1:] for link in found.links} <= set(found.ids)
    assert not {"figures", "coverage"} & set(found.ids)
    mapped = [row for row in rows if row.claim.figure]
    assert "figures" in _checked(as_html(mapped, whole=False)).ids


def test_all_green_shows_nothing_unsettled(
    toy_entry: Any, tmp_path: Path, quick_pictures: None
) -> None:
    entry = toy_entry("")
    run.run_and_write(entry, Profile.QUICK, tmp_path)
    (row,) = build((entry,), tmp_path)
    assert pictures.draw((row,)).of(row) == ""
    page = as_html((row,))
    assert 'id="attention"' not in page
    assert 'id="findings"' not in page


@pytest.mark.parametrize(
    ("latex", "reason"),
    [(r"\left( x", "cannot be rendered"), (r"\nosuch x", "unknown command")],
)
def test_a_formula_that_cannot_be_rendered_is_shown(latex: str, reason: str) -> None:
    shown = markup.formula(latex)
    assert reason in shown
    assert latex in shown


def test_a_bar_covers_the_whole_expression_that_it_stands_over() -> None:
    barred = '<mrow class="over"><mi>f</mi><mo>−</mo><mi>x</mi></mrow>'
    assert f"<mi>y</mi><mo>=</mo>{barred}" in markup.formula(r"y = \overline{f - x}")
    assert f"<msqrt>{barred}</msqrt>" in markup.formula(r"\sqrt{\overline{f - x}}")


@pytest.mark.parametrize(
    ("latex", "spaces"),
    [
        (r"b\log m", 2),
        (r"\tfrac12\log(1 - x)", 1),
        (r"|\log^2 x|", 1),
        (r"\log\sqrt{x} + \cos\theta", 2),
        (r"-\log(x) + xyz_{\log}", 0),
    ],
)
def test_names_of_functions_stand_apart(latex: str, spaces: int) -> None:
    assert markup.formula(latex).count('<mspace width="0.167em"/>') == spaces


def test_a_sign_stands_close_to_its_number() -> None:
    signed = markup.formula(r"\exp(-x) = -y - z")
    assert signed.count('<mo form="prefix">−</mo>') == 2
    assert signed.count("<mo>−</mo>") == 1


def test_bars_of_an_absolute_value_stand_close() -> None:
    element = mathml.tree(r"1 - |x|")
    assert [each.tag for each in element] == ["mn", "mo", "mi", "mi", "mi"]


def test_primes_are_one_superscript() -> None:
    second = markup.formula("f_0''(x)")
    assert second.count("<msup>") == 0
    assert "<mrow><mi>′</mi><mi>′</mi></mrow>" in second


@pytest.mark.parametrize(
    "latex",
    [
        r"\text{<script>alert(1)</script>}",
        r"\href{javascript:alert(1)}{x}",
        r"x \text{<img src=a onerror=b>}",
    ],
)
def test_a_formula_cannot_act(latex: str) -> None:
    shown = markup.formula(latex)
    kinds = set(re.findall(r"<\s*([a-zA-Z]+)", shown))
    assert not kinds & {"script", "img", "a"}
    assert not re.search(r"<[^>]*(href|onerror)", shown)


def test_a_page_runs_and_loads_nothing(
    toy_entry: Any, tmp_path: Path, quick_pictures: None
) -> None:
    entry = toy_entry("title='<script>alert(1)</script>'")
    record = run.run_and_write(entry, Profile.QUICK, tmp_path)
    case = replace(record.cases[0], predicted="<script>alert(2)", error="")
    row = Row(claim=entry.claim, record=replace(record, cases=(case,)), outcome="holds")
    page = as_html((row,))
    assert page.count("<script") == 1
    assert "&lt;script&gt;alert(1)" in page
    assert "&lt;script&gt;alert(2)" in page


def test_a_prediction_that_is_none_has_no_unit(toy_entry: Any, tmp_path: Path) -> None:
    entry = toy_entry("")
    claim = replace(entry.claim, compare=EffectWithin(unit="e-folds"))
    record = run.run_and_write(entry, Profile.QUICK, tmp_path)
    shown: list[str] = []
    for error in ("", "not learnt"):
        case = replace(record.cases[0], error=error)
        row = Row(claim=claim, record=replace(record, cases=(case,)), outcome="holds")
        shown.append(templating.templates().filters["predicted"](row))
    assert shown[0].endswith(" e-folds")
    assert shown[1] == ""


def test_claims_link_to_their_records_and_keep_their_other_cases(
    toy_entry: Any, tmp_path: Path, quick_pictures: None
) -> None:
    entry = toy_entry("")
    record = run.run_and_write(entry, Profile.QUICK, tmp_path / "quick")
    (row,) = build((entry,), tmp_path / "quick")
    assert len(record.cases) == 3
    linked = as_html((row,), records=Path("../results"))
    link = f'<a href="../results/quick/{entry.claim.id.replace("/", "-")}.json">3 cases</a>'
    assert link in linked
    assert "<details>" not in linked
    # Without a link, and where cases came out differently, they are listed.
    alone = as_html((row,))
    assert "<summary>The next 2 cases</summary>" in alone
    assert '<th scope="col">outcome' not in alone
    best, *others = record.cases
    cases = (replace(best, outcome=Outcome.UNDECIDED), *others)
    mixed = replace(record, cases=cases, outcome=Outcome.UNDECIDED)
    page = as_html((replace(row, record=mixed),), records=Path("results"))
    assert '<th scope="col">outcome' in page


BYTES_PER_CLAIM = 1700
"""Without figures: 700 claims and the figures, 0.5 MB, are a page of less than 2 MB."""


def test_a_claim_takes_few_bytes(toy_entry: Any, tmp_path: Path) -> None:
    # A statement, an assumption and a finding as long as those of the ledger are.
    words = (
        'statement=r"\\kappa(K) \\le 1 + 2n (1 - \\mu/2)^{L - L_0},'
        ' \\quad K_{ij} = \\pm B, \\; L \\ge L_0(\\delta)",'
        ' finding="Three single-sample steps see three of twenty samples; with a kernel'
        ' near the identity the others keep their loss."'
    )
    entry = toy_entry(words)
    run.run_and_write(entry, Profile.QUICK, tmp_path / "quick")
    (row,) = build((entry,), tmp_path / "quick")
    pages = []
    for count in (1, 21):
        claims = (replace(row.claim, id=f"dc/eq{k}") for k in range(1, count + 1))
        many = tuple(replace(row, claim=claim) for claim in claims)
        pages.append(as_html(many, whole=False, records=Path("results")))
    each = (len(pages[1].encode()) - len(pages[0].encode())) / 20
    assert each < BYTES_PER_CLAIM, f"{each:.0f} bytes a claim"


def test_statements_of_the_ledger_can_be_rendered() -> None:
    failing = [
        claim.id
        for claim in ledger.load()
        if "formula-error" in markup.formula(claim.statement)
    ]
    assert failing == []


def test_a_record_that_a_picture_cannot_draw_is_said(
    toy_entry: Any, tmp_path: Path, quick_pictures: None
) -> None:
    entry = toy_entry("figure='finite_width'")
    run.run_and_write(entry, Profile.QUICK, tmp_path)
    (row,) = build((entry,), tmp_path)
    shown = pictures.draw((row,)).of(row)
    assert (
        "This figure cannot be drawn: <code>dc/eq1</code>: its record has no" in shown
    )
    # The same note stands twice on a page, its id only once.
    assert ' id="' not in shown


def test_brackets_behind_a_size_lose_their_backslash() -> None:
    shown = markup.formula(r"\Big\| x \Big\|, \bigl\{ y \bigr\}")
    assert [bracket in shown for bracket in ("‖", "{", "}", "\\")] == [True] * 3 + [
        False
    ]
