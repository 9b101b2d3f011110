"""The site's pages: written from rows and figures, and checked once they are built."""

import doctest
import re
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pages import checking, elsewhere, graph, reference, writing
from pages import figures as drawing
from pages.figures import Shown
from pages.graph import Node
from pages.papers import Site

from verify import figures, ledger
from verify.compare import Outcome
from verify.report.rows import NOT_RUN, Row

CLAIMS = (
    *("dc/thm3.2", "dc/cor3.3", "dc/thm3.4-maximum", "dc/thm3.4-envelope"),
    "id/Err3-as-printed",
)


def _row(name: str) -> Row:
    claim = next(claim for claim in ledger.load() if claim.id == name)
    return Row(claim=claim, record=None, outcome=NOT_RUN)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of pages of five claims without a record, and two figures."""
    docs = tmp_path_factory.mktemp("docs")
    made = Site(docs=docs, records=docs / "results")
    svg = '<svg class="plot" viewBox="0 0 4 3"><text>drawn</text></svg>'
    first, second = figures.named("dual_activations"), figures.named("mmd_table_1")
    given: dict[str, Any] = {
        "rows": {name: _row(name) for name in CLAIMS},
        "figures": {
            first.name: Shown(first, svg),
            second.name: Shown(second, missing="No network has a record."),
        },
    }
    made.__dict__.update(given)
    made.write()
    return docs


def _text(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


def test_a_claim_without_a_record_says_so_and_links_back(site: Path) -> None:
    page = _text(site, "claims/dc-thm3.4-maximum.md")
    assert "# Of all activations with the same mu" in page
    assert 'class="verdict pending">not run<' in page
    assert "<math" in page
    assert (
        'href="../papers/dc.html#dc-conditioning-of-the-neural-tangent-kernel"' in page
    )


def test_a_paper_says_what_its_verdicts_mean_and_its_claims_lead_there(
    site: Path,
) -> None:
    paper = _text(site, "papers/dc.md")
    meanings = paper.split('id="verdicts"')[1].split("</dl>")[0]
    assert "no record of the present sources." in meanings
    assert "holds, loosely" not in meanings  # none is
    assert "the proof leaves only this one." in paper
    assert 'href="../papers/dc.html#verdicts"' in _text(
        site, "claims/dc-thm3.4-maximum.md"
    )


def test_a_paper_lists_its_claims_by_chapter_with_prose_and_figures(site: Path) -> None:
    page = _text(site, "papers/dc.md")
    assert "## What the paper says" in page
    chapter = page.index("### Conditioning of the neural tangent kernel")
    assert page.index("../claims/dc-thm3.4-maximum.html", chapter) > chapter
    assert "_static/figures/dual_activations.svg" in page
    assert "(dc-conditioning-of-the-neural-tangent-kernel)=" in page
    mmd = _text(site, "papers/mmd.md")
    assert "Not run here. No network has a record." in mmd


def test_a_paper_shows_all_its_claims_and_what_they_rest_on(site: Path) -> None:
    page = _text(site, "papers/dc.md")
    drawn = page[page.index('<svg class="graph overview"') :].partition("</svg>")[0]
    assert drawn.count("<circle") == 4
    assert "Conditioning of the neural tangent kernel</text>" in drawn
    used = sum(
        len(set(_row(name).claim.uses) & set(CLAIMS))
        for name in CLAIMS
        if name[0] == "d"
    )
    assert drawn.count('class="edge"') == used > 1


def test_a_chapter_shows_what_its_claims_rest_on(site: Path) -> None:
    page = _text(site, "papers/dc.md")
    chapter = page.index("### Conditioning of the neural tangent kernel")
    graph = page[page.index('<svg class="graph"', chapter) :].partition("</svg>")[0]
    found = re.findall(r'<a href="../claims/([\w.-]+).html" class="([\w ]+)"', graph)
    assert sorted(found) == [
        # Of another chapter.
        ("dc-thm3.2", "pending elsewhere"),
        ("dc-thm3.4-envelope", "pending"),
        ("dc-thm3.4-maximum", "pending"),
    ]


def test_the_front_page_has_a_card_for_each_paper(site: Path) -> None:
    cards = _text(site, "generated/cards.html")
    assert re.findall(r'href="papers/(\w+)\.html"', cards) == ["dc", "id", "sl", "mmd"]


def test_the_gallery_names_the_command_of_every_figure(site: Path) -> None:
    gallery = _text(site, "generated/gallery.html")
    for name in ("dual_activations", "mmd_table_1"):
        assert f"python -m verify.figures {name} --out figures" in gallery
    svg = _text(site, "_build/static/figures/dual_activations.svg")
    assert "DejaVu Sans" in svg


def test_a_figure_that_stands_alone_needs_no_style_sheet() -> None:
    picture = figures.named("dual_activations")
    body = '<svg><path stroke="var(--series-1, #1f6f9f)"/></svg>'
    assert 'stroke="#1f6f9f"' in Shown(picture, body).file()


def test_files_are_written_only_when_they_change(tmp_path: Path) -> None:
    writing.write_all(tmp_path, {"a.md": "one", "b.md": "two"})
    times = {p.name: p.stat().st_mtime_ns for p in tmp_path.iterdir()}
    writing.write_all(tmp_path, {"a.md": "one", "c.md": "three"})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.md", "c.md"]
    assert (tmp_path / "a.md").stat().st_mtime_ns == times["a.md"]


def test_the_reference_has_public_modules_alone() -> None:
    names = list(reference.public_modules("theory"))
    assert {"theory.kernels", "theory.plots", "theory.phase.diagram"} <= set(names)
    assert not [name for name in names if "._" in name]
    # Those of pytest are no part of the interface, and pytest is not there.
    of_verify = set(reference.public_modules("verify"))
    assert not {"verify.conftest", "verify.test_claims"} & of_verify
    assert "verify.report.closing" in of_verify


def test_names_of_other_projects_are_found_without_a_network(tmp_path: Path) -> None:
    mapping = elsewhere.write_inventories(tmp_path)
    found: dict[str, str] = {}
    for home, path in mapping.values():
        head, _, packed = Path(path).read_bytes().partition(b"using zlib.\n")
        assert head.startswith(b"# Sphinx inventory version 2\n")
        for line in zlib.decompress(packed).decode().splitlines():
            name, role, _, uri, _ = line.split()
            assert role.split(":")[0] in ("py", "std")
            found[name] = f"{home}/{uri[:-1] + name if uri.endswith('$') else uri}"
    assert found["numpy.ndarray"].endswith("generated/numpy.ndarray.html#numpy.ndarray")
    assert found["torch.Tensor"].startswith("https://docs.pytorch.org/")
    assert found["ValueError"].endswith("exceptions.html#ValueError")
    assert set(elsewhere.ALIASES.values()) <= set(found)


def test_the_front_page_says_what_has_no_record(site: Path) -> None:
    assert "5 of 5 claims have no record" in _text(site, "generated/notice.html")
    assert "4 of 4 claims have no record here" in _text(site, "papers/dc.md")


def test_a_picture_that_cannot_be_drawn_is_not_tried_again(tmp_path: Path) -> None:
    picture = figures.named("mmd_table_1")
    tried: list[str] = []

    def markup(*_: object, **__: object) -> str:
        tried.append(picture.name)
        raise ValueError(f"there is no record in {tmp_path}/results")

    none: Any = SimpleNamespace(
        **{n: getattr(picture, n) for n in ("name", "title", "caption", "of_theory")},
        of_record=None,
        of_runs=picture.of_runs,
        markup=markup,
    )
    (tmp_path / "kept").mkdir()
    for _ in range(2):
        found = drawing._drawn(
            none, "full", "full", tmp_path / "results", tmp_path / "kept"
        )
        assert (found.body, found.missing) == ("", "there is no record in results.")
    assert tried == ["mmd_table_1"]


# --- the graph -----------------------------------------------------------------------


def _node(name: str, *uses: str) -> Node:
    return Node(name, name, f"title of {name}", f"{name}.html", "holds", uses)


NODES = (
    _node("a"),
    _node("b", "a"),
    _node("c", "a", "b"),
    _node("d", "c"),
    _node("alone"),
)


def test_a_claim_stands_right_of_what_it_rests_on() -> None:
    by_name = {node.name: node for node in NODES}
    assert graph.columns(by_name, "abcd") == [["a"], ["b"], ["c"], ["d"]]


def test_what_rests_on_nothing_stands_beside_what_rests_on_it() -> None:
    nodes = [*NODES[:3], _node("d", "c", "e"), _node("e")]
    by_name = {node.name: node for node in nodes}
    *_, third, fourth = graph.columns(by_name, "abcde")
    assert (sorted(third), fourth) == (["c", "e"], ["d"])


def test_boxes_do_not_overlap_and_lead_to_their_claims() -> None:
    many = [*NODES, *(_node(f"e{k}", "a") for k in range(9)), _node("f", "e1", "alone")]
    svg = graph.picture(many, title="t", width=300.0)
    found = re.findall(r'<rect x="(\d+)" y="([\d.]+)" width="(\d+)"', svg)
    boxes = [tuple(map(float, box)) for box in found]
    assert len(boxes) == len(many)
    for k, (x, y, w) in enumerate(boxes):
        for u, v, s in boxes[k + 1 :]:
            assert abs(y - v) >= graph.HEIGHT or x + w <= u or u + s <= x
    assert svg.count('<a href="') == len(many)
    assert '<a href="c.html" class="holds"><title>title of c</title>' in svg


def test_claims_that_rest_on_nothing_have_no_graph() -> None:
    assert graph.picture([_node("alone")], title="t") == ""


def test_examples_of_the_pages() -> None:
    for module in (graph,):
        result = doctest.testmod(module)
        assert result.attempted
        assert not result.failed


# --- what is checked of built pages --------------------------------------------------


GOOD = """<html><head><link rel="stylesheet" href="_static/s.css">
<link rel="canonical" href="https://example.org/"></head>
<body><h1 id="top">x</h1><a href="#top">up</a> <a href="b.html#there">b</a>
<a href="https://example.org/paper">a link that nobody follows by himself</a>
<code>\\frac</code><img src="data:image/png;base64,AAAA"></body></html>"""


@pytest.fixture
def built(tmp_path: Path) -> Path:
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "s.css").write_text("p { color: red }")
    (tmp_path / "index.html").write_text(GOOD)
    (tmp_path / "b.html").write_text('<p id="there">b</p>')
    checking._page.cache_clear()
    return tmp_path


def test_good_pages_pass(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checking.main([str(built)]) == 0
    assert capsys.readouterr().out == "2 pages: 0 problems\n"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('<img src="https://example.org/x.png">', "from another host"),
        ('<script src="//example.org/x.js"></script>', "from another host"),
        (
            '<link rel="stylesheet" href="https://example.org/x.css">',
            "from another host",
        ),
        ("<style>@import url(https://example.org/x.css)</style>", "from another host"),
        ('<p style="background: url(//example.org/x.png)">', "from another host"),
        (r"<p>the dual \(\hat\sigma\)</p>", "LaTeX is left"),
        ("<p>$$x$$</p>", "LaTeX is left"),
        (r"<math><mo>\|</mo></math>", "a formula shows"),
        ('<a href="gone.html">x</a>', "leads nowhere"),
        ('<img src="gone.svg">', "leads nowhere"),
        ('<a href="b.html#gone">x</a>', "names no place"),
        ('<a href="#gone">x</a>', "names no place"),
    ],
)
def test_what_is_wrong_with_a_page_is_said(
    built: Path, body: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (built / "bad.html").write_text(f"<html><body>{body}</body></html>")
    assert checking.main([str(built)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("bad.html: ")
    assert said in out


def test_a_style_sheet_that_loads_is_said(built: Path) -> None:
    sheet = built / "_static" / "s.css"
    sheet.write_text("@font-face { src: url('https://example.org/f.woff2') }")
    assert list(checking.problems(built)) == ["_static/s.css: loads from another host"]


def test_no_pages_are_a_failure(tmp_path: Path) -> None:
    assert checking.main([str(tmp_path)]) == 1


def test_expected_outcomes_are_known() -> None:
    # The row of a claim that is false as printed has no verdict before it is run.
    row = _row("id/Err3-as-printed")
    assert row.claim.expected is Outcome.REFUTED
    assert row.kind == "pending"
