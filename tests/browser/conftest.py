"""A browser of the system's, and pages that say what went wrong while they were shown."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from looking import DESKTOP, Open, Shown

from verify import ledger
from verify.claim import Profile
from verify.figures.runs import beside, published
from verify.report import build
from verify.report.html import as_html

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
REQUIRED = "DEEP_LEDGER_BROWSER_REQUIRED"
"""Where this is set, as `tox -e browser` does, what is missing is a failure."""


def _missing(reason: str) -> Any:
    if os.environ.get(REQUIRED):
        pytest.fail(reason)
    pytest.skip(f"{reason}; `tox -e browser` has all that it takes")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Start the system's browser; nothing is downloaded."""
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        _missing("Playwright is not installed")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        _missing(f"none of {', '.join(NAMES)} is here")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-gpu"]
        )
        yield started
        started.close()


@pytest.fixture
def show(browser: Any) -> Iterator[Open]:
    """Return a function that opens a page, at a desktop's size unless it is told."""
    opened: list[Shown] = []

    def make(path: Path, fragment: str = "", **options: Any) -> Shown:
        shown = Shown(browser, path, fragment, **({"viewport": DESKTOP} | options))
        opened.append(shown)
        return shown

    yield make
    for shown in opened:
        shown.context.close()


@pytest.fixture(scope="session")
def report(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of the whole ledger, from the records that there are."""
    folder = ROOT / "results" / "quick"
    rows = build(ledger.entries(), folder)
    path = tmp_path_factory.mktemp("report") / "report.html"
    page = as_html(
        rows,
        profile=Profile.QUICK,
        runs=beside(folder, "quick"),
        published=published(folder, "quick"),
        records=Path("results"),
    )
    path.write_text(page, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def site(browser: Any) -> Path:
    """Return the folder of the built site."""
    folder = ROOT / "docs" / "_build" / "html"
    if not (folder / "index.html").is_file():
        _missing(f"{folder.relative_to(ROOT)} has no site")
    return folder
