"""The report, as a reader uses it."""

import re
from pathlib import Path
from typing import Any

import pytest
from looking import DESKTOP, PHONE, Open, Shown, faint, sticking_out

from verify import ledger
from verify.claim import Evidence, Profile
from verify.report import build
from verify.report.html import as_html
from verify.run import run_and_write

MOST = 2_600
"""Bytes of the whole ledger's report for every claim, records current or not."""


@pytest.fixture
def shown(show: Open, report: Path) -> Shown:
    return show(report)


def _counted(shown: Shown) -> tuple[int, int]:
    words = shown.page.locator("#shown").text_content().split()
    return int(words[0]), int(words[2])


def test_the_page_is_small_enough(report: Path) -> None:
    assert report.stat().st_size <= MOST * len(ledger.entries())


def test_nothing_is_complained_of_and_nothing_fetched(shown: Shown) -> None:
    assert shown.complaints == []
    assert shown.foreign == []


def test_a_search_leaves_the_claims_that_have_its_words(shown: Shown) -> None:
    page = shown.page
    shown_first, of = _counted(shown)
    assert shown_first == of == shown.visible("#sections article") > 600
    page.fill("#search", "DC/thm3.2")
    number, _ = _counted(shown)
    assert 0 < number < of / 10
    assert shown.visible("#sections article") == number
    assert shown.visible(".claims tr:not(.group)") == number + 1  # and the heading
    texts = page.locator("#sections article:not([hidden])").all_text_contents()
    assert all("dc/thm3.2" in text.lower() for text in texts)
    page.fill("#search", "")
    assert _counted(shown) == (of, of)


def test_greek_letters_are_found_by_their_names(shown: Shown) -> None:
    page = shown.page
    page.fill("#search", r"\kappa")
    by_latex = _counted(shown)
    page.fill("#search", "κ")
    by_letter = _counted(shown)
    assert by_latex == by_letter
    assert 0 < by_letter[0] < by_letter[1]


@pytest.mark.parametrize("name", ["paper", "evidence", "verdict"])
def test_each_filter_parts_the_claims(shown: Shown, name: str) -> None:
    page = shown.page
    _, of = _counted(shown)
    options = page.locator(f"#{name} option").evaluate_all(
        "all => all.map(e => e.value).filter(Boolean)"
    )
    assert len(options) > 1
    numbers = []
    for option in options:
        page.select_option(f"#{name}", option)
        numbers.append(_counted(shown)[0])
    assert all(numbers)
    assert sum(numbers) == of
    page.select_option(f"#{name}", "")


def test_filters_act_together_and_what_is_empty_goes(shown: Shown) -> None:
    page = shown.page
    page.select_option("#paper", "sl")
    number = _counted(shown)[0]
    page.fill("#search", "dc/thm3.2")
    assert _counted(shown)[0] < number
    page.fill("#search", "qxzv")
    assert _counted(shown)[0] == 0
    assert shown.visible("#sections h3") == 0


def test_a_link_shows_its_claim_whatever_is_filtered_away(shown: Shown) -> None:
    page = shown.page
    page.select_option("#paper", "sl")
    assert shown.visible("#dc-thm3\\.2") == 0
    page.evaluate("location.hash = 'dc-thm3.2'")
    page.wait_for_selector("#dc-thm3\\.2", state="visible")
    assert _counted(shown)[0] == _counted(shown)[1]
    page.wait_for_function(
        """() => Math.abs(document.getElementById("dc-thm3.2")
          .getBoundingClientRect().top) < innerHeight"""
    )


@pytest.mark.parametrize("name", ["sl-exist", "mmd-tab1"])
def test_a_link_leads_to_its_claim_however_far(shown: Shown, name: str) -> None:
    page = shown.page
    page.evaluate(f"document.querySelector('a[href=\"#{name}\"]').click()")
    page.wait_for_timeout(1000)
    box = f"document.getElementById('{name}').getBoundingClientRect()"
    assert abs(page.evaluate(box + ".top")) < 50


def test_a_slash_leads_to_the_search(shown: Shown) -> None:
    shown.page.keyboard.press("/")
    assert shown.page.evaluate("document.activeElement.id") == "search"


FOCUS = """() => {
  const e = document.activeElement, s = getComputedStyle(e);
  const box = e.getBoundingClientRect();
  return { name: e.id || e.getAttribute("href") || e.tagName, style: s.outlineStyle,
    width: parseFloat(s.outlineWidth), top: box.top, bottom: box.bottom,
    bar: document.getElementById("filters").getBoundingClientRect() };
}"""
"""What has the focus, how it is marked, and where it is and the filters are."""


def _pressed(shown: Shown, *keys: str) -> dict[str, Any]:
    for key in keys:
        shown.page.keyboard.press(key)
    return shown.page.evaluate(FOCUS)


def test_the_keyboard_leads_through_search_and_filters_to_a_card(shown: Shown) -> None:
    page = shown.page
    assert "/" in page.locator("#filters label").first.inner_text()
    _pressed(shown, "Control+/")
    assert page.evaluate("document.activeElement.id") != "search"
    reached = [_pressed(shown, "/"), *(_pressed(shown, "Tab") for _ in range(4))]
    names = [each["name"] for each in reached]
    assert names[:4] == ["search", "paper", "evidence", "verdict"]
    first = page.locator(".claims td a").first.get_attribute("href")
    assert names[4] == first
    # Its card, whose own link is the next thing there.
    page.keyboard.press("Enter")
    page.wait_for_timeout(500)
    reached.append(_pressed(shown, "Tab"))
    assert reached[-1]["name"] == first
    assert page.evaluate("document.activeElement.closest('article').id") == first[1:]
    for each in reached:
        assert each["style"] == "solid", each
        assert each["width"] >= 2, each


def test_enter_leads_from_the_search_to_what_it_finds(shown: Shown) -> None:
    _pressed(shown, "/")
    shown.page.keyboard.type("dc/thm3.2-sharp")
    assert _pressed(shown, "Enter")["name"] == "#dc-thm3.2-sharp"
    shown.page.fill("#search", "no claim has these words")
    shown.page.focus("#search")
    assert _pressed(shown, "Enter")["name"] == "search"
    shown.page.fill("#search", "quadratic")
    first = shown.page.locator(".claims tr:not(.group, [hidden]) td a").first
    assert _pressed(shown, "Enter")["name"] == first.get_attribute("href")


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_the_filters_hide_nothing_that_has_the_focus(
    show: Open, report: Path, size: dict[str, int]
) -> None:
    """They stay on top while the list is gone through, upwards as well."""
    shown = show(report, viewport=size)
    shown.page.locator(".claims td a").nth(60).focus()
    for _ in range(40):
        found = _pressed(shown, "Shift+Tab")
        assert found["top"] >= found["bar"]["bottom"], found


def test_every_card_has_a_link_of_its_own(shown: Shown) -> None:
    foreign = shown.page.locator("#sections article").evaluate_all(
        "all => all.filter(e => e.querySelector('a')?.hash !== '#' + e.id).map(e => e.id)"
    )
    assert foreign == []


def test_parts_of_the_page_are_named(shown: Shown) -> None:
    """Of a section without a name, a screen reader makes no landmark."""
    page = shown.page
    assert page.locator("main").count() == 1
    assert page.locator("form[role=search]").count() == 1
    unnamed = page.locator("main > section:not([aria-label])")
    assert unnamed.count() == 0
    assert page.locator("main > section").count() >= 6
    nameless = "all => all.filter(e => !e.labels.length).map(e => e.id)"
    assert page.locator("input, select").evaluate_all(nameless) == []


def test_the_keyboard_names_what_a_reference_leads_to(shown: Shown) -> None:
    link = shown.page.locator(".items a").first
    link.focus()
    assert link.get_attribute("title")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_the_search_is_for_can_be_read(
    show: Open, report: Path, scheme: str
) -> None:
    page = show(report, color_scheme=scheme).page
    hint = "getComputedStyle(document.getElementById('search'), '::placeholder').color"
    soft = "getComputedStyle(document.querySelector('#filters label')).color"
    assert page.evaluate(hint) == page.evaluate(soft)


def test_every_link_leads_to_a_place_of_the_page(shown: Shown) -> None:
    gone = shown.page.evaluate(
        """() => [...document.querySelectorAll('a[href^="#"], use')]
          .map(e => e.getAttribute('href'))
          .filter(h => !document.getElementById(h.slice(1)))"""
    )
    assert gone == []


def test_a_reference_names_its_claim(shown: Shown) -> None:
    link = shown.page.locator(".items a").first
    link.dispatch_event("mouseover")
    assert link.get_attribute("title")
    assert link.get_attribute("class")


def test_it_is_whole_without_scripts(show: Open, report: Path, shown: Shown) -> None:
    plain = show(report, java_script_enabled=False)
    assert plain.visible("#filters") == 0
    assert plain.page.locator("#sections article").count() == _counted(shown)[1]
    assert plain.page.locator("#sections article:visible").count() > 0
    plain.page.goto(report.as_uri() + "#dc-thm3.2")
    assert plain.page.locator("#dc-thm3\\.2").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_scrolling_sideways(
    show: Open, report: Path, scheme: str
) -> None:
    phone = show(report, viewport=PHONE, color_scheme=scheme)
    assert sticking_out(phone) == []


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_the_first_screen_says_what_holds_how_it_is_known_and_what_fails(
    show: Open, report: Path, size: dict[str, int]
) -> None:
    page = show(report, viewport=size).page
    seen = "e => e.getBoundingClientRect().bottom <= innerHeight"
    for part in (".lede", ".known"):
        assert page.locator(part).evaluate(seen), part
    known = " ".join(page.locator(".known").inner_text().split())
    for kind in Evidence:
        assert re.search(rf"\d+ ({kind.value}|{kind.plural})\b", known), kind
    assert page.locator(".known a").get_attribute("href") == "#counts"
    # Under its title a paper is not named again.
    twice = """all => all.filter(e => e.querySelector(".cited").textContent
      .includes(e.querySelector("h3").textContent)).length"""
    assert page.locator(".paper").evaluate_all(twice) == 0


@pytest.fixture(scope="module")
def long(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a report of claims whose two sides are long: formulas and settings."""
    folder = tmp_path_factory.mktemp("long")
    names = (
        "dc/thm3.2-quadratic",
        "sl/fig1-settings",
        "sl/eq9-proof",
        "id/Fig3-published",
    )
    entries = [e for e in ledger.entries() if e.claim.id in names]
    for entry in entries:
        run_and_write(entry, Profile.QUICK, folder)
    path = folder / "report.html"
    page = as_html(build(entries, folder), whole=False)
    path.write_text(page, encoding="utf-8")
    return path


def test_long_values_fit_a_phone(show: Open, long: Path) -> None:
    phone = show(long, viewport=PHONE)
    # Else a card is not laid out before it is scrolled to.
    phone.page.add_style_tag(
        content="article { content-visibility: visible !important }"
    )
    assert phone.page.locator("article dd math").count() > 3
    assert sticking_out(phone) == []
    narrow = """all => all.filter(e => e.getBoundingClientRect().width < 60
      && e.textContent.length > 12).map(e => e.textContent)"""
    assert phone.page.locator(".numbers dd").evaluate_all(narrow) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_can_be_told_from_what_is_behind_them(
    show: Open, report: Path, scheme: str
) -> None:
    shown = show(report, color_scheme=scheme)
    assert faint(shown, "main *:not(svg *, math *)") == []


def test_paper_shows_what_is_folded_and_keeps_the_tables_columns(
    show: Open, report: Path
) -> None:
    page = show(report).page
    page.set_viewport_size({"width": 700, "height": 1000})  # of A4, less its margins
    folded = page.locator("details table").first
    row = page.locator(".claims tr").nth(1)
    kind = "e => getComputedStyle(e).display"
    seen = "e => e.checkVisibility()"
    assert row.evaluate(kind) != "table-row"
    assert not folded.evaluate(seen)
    page.emulate_media(media="print")
    assert row.evaluate(kind) == "table-row"
    assert folded.evaluate(seen)


def test_what_other_scales_say_stands_under_the_verdict(shown: Shown) -> None:
    ends = shown.page.locator(".cards .besides, #sections header .besides")
    off = ends.evaluate_all(
        "all => all.filter(e => e.getBoundingClientRect().right <"
        " e.parentElement.getBoundingClientRect().right - 2"
        " || getComputedStyle(e).textAlign != 'right').map(e => e.textContent)"
    )
    assert ends.count() > 5
    assert off == []
