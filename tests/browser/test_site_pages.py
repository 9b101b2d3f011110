"""The built site, as a reader sees it."""

import re
from pathlib import Path

import pytest
from looking import DESKTOP, PHONE, Open, faint, sticking_out

PAGES = (
    "index.html",
    "learn.html",
    "normrelu.html",
    "trained/mmd-init.html",
    "explore.html",
    "tutorial.html",
    "gallery.html",
    "papers/dc.html",
    "papers/sl.html",
    "claims/dc-thm3.2.html",
    "claims/sl-eq5.html",
    "figures/dual_activations.html",
    "findings/at-full-size.html",
    "reference/theory.kernels.html",
)


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_complained_of_and_nothing_fetched(
    show: Open, site: Path, name: str
) -> None:
    shown = show(site / name)
    assert shown.complaints == []
    assert shown.foreign == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_phone_shows_it_and_it_can_be_read(
    show: Open, site: Path, name: str, scheme: str
) -> None:
    phone = show(site / name, viewport=PHONE, color_scheme=scheme)
    assert sticking_out(phone) == []
    # What the pages write themselves; code is coloured by the theme.
    assert (
        faint(
            phone,
            "article :is(p, li, dt, dd, td, th, h1, h2, h3, a, small, span)"
            ":not(pre *, svg *, math *, .headerlink)",
        )
        == []
    )


@pytest.mark.parametrize("name", PAGES)
def test_it_is_whole_without_scripts(show: Open, site: Path, name: str) -> None:
    plain = show(site / name, java_script_enabled=False)
    assert plain.page.locator("h1").first.is_visible()
    assert plain.page.locator("article").first.inner_text().strip()


def test_formulas_are_drawn_by_the_browser(show: Open, site: Path) -> None:
    shown = show(site / "claims" / "dc-thm3.2.html")
    boxes = shown.page.locator("math").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect()).map(b => [b.width, b.height])"
    )
    assert boxes
    assert all(width > 0 and height > 0 for width, height in boxes)


def test_the_search_finds_pages(show: Open, site: Path) -> None:
    shown = show(site / "search.html", "?q=conditioning")
    shown.page.wait_for_selector("#search-results li a")
    assert shown.page.locator("#search-results li a").count() > 3


@pytest.mark.parametrize("mark", [".overview a circle", ".graph a rect"])
def test_a_claim_in_a_graph_leads_to_its_page(
    show: Open, site: Path, mark: str
) -> None:
    shown = show(site / "papers" / "dc.html")
    box = shown.page.locator(mark).first
    target = box.locator("..").get_attribute("href")
    box.click()
    shown.page.wait_for_url(lambda url: url.endswith(target.removeprefix("..")))
    assert shown.page.locator("h1").is_visible()


def test_a_claim_named_in_a_document_leads_to_its_page(show: Open, site: Path) -> None:
    shown = show(site / "trained" / "mmd-init.html")
    shown.page.locator("article a:has(code)", has_text="mmd/tab1").first.click()
    shown.page.wait_for_url(lambda url: "/claims/mmd-tab1" in url)
    assert shown.page.locator("h1").is_visible()


@pytest.mark.parametrize("name", ["explore.html", "tutorial.html", "phases.html"])
def test_an_example_that_draws_is_followed_by_what_it_draws(
    show: Open, site: Path, name: str
) -> None:
    page = show(site / name).page
    lines = page.locator("pre", has_text="plots.").all_inner_texts()
    calls = sum(len(re.findall(r"\bplots\.\w+\(", text)) for text in lines)
    joined = sum("ax=" in line for text in lines for line in text.splitlines())
    pictures = page.locator(".drawn svg.plot")
    # Two calls that are given axes of theirs share a picture.
    assert pictures.count() == calls - joined // 2 > 0
    assert all(box is not None for box in (p.bounding_box() for p in pictures.all()))


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_the_first_screen_says_what_holds_how_it_is_known_and_what_fails(
    show: Open, site: Path, size: dict[str, int]
) -> None:
    page = show(site / "index.html", viewport=size).page
    for words in ("claims hold", "symbolic proofs", "planted mistake"):
        place = page.locator("article p", has_text=words).first
        assert place.evaluate("e => e.getBoundingClientRect().bottom <= innerHeight")
    leads = "all => all.map(e => e.getAttribute('href'))"
    found = page.locator("article p a:has(strong)").evaluate_all(leads)
    assert set(found) <= {"findings/index.html", "papers.html"}
