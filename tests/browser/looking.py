"""What is asked of any page, in a browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}

WIDER = """() => {
  const wide = document.documentElement.clientWidth;
  const clipped = (e) => {
    for (let p = e.parentElement; p; p = p.parentElement)
      if (getComputedStyle(p).overflowX !== "visible") return true;
    return false;
  };
  return [...document.body.querySelectorAll("*")]
    .filter((e) => e.getBoundingClientRect().right > wide + 1 && e.checkVisibility()
      && !clipped(e))
    .map((e) => `${e.tagName}.${e.className} ${e.textContent.trim().slice(0, 40)}`);
}"""
"""Elements that stick out on the right and can be scrolled to by the page alone."""

FAINT = """(selector) => {
  const context = document.createElement("canvas").getContext("2d", {
    willReadFrequently: true });
  const rgba = (colour) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const colour = rgba(getComputedStyle(e).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const found = new Map();
  for (const e of document.querySelectorAll(selector)) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility()) continue;
    const style = getComputedStyle(e);
    const pair = [light(rgba(style.color)), light(behind(e))].sort((a, b) => b - a);
    const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
    const key = `${e.tagName.toLowerCase()}.${e.className} ${style.color}`;
    if (ratio < 4.5 && !found.has(key)) found.set(key, ratio.toFixed(2));
  }
  return [...found].map(([key, ratio]) => `${key}: ${ratio}`);
}"""
"""Texts of less than the contrast that WCAG's level AA asks for."""


class Shown:
    """A page in a window of its own, with what it complained of and asked for."""

    def __init__(self, browser: Any, path: Path, fragment: str, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.foreign: list[str] = []
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._asked)
        self.page.goto(path.as_uri() + fragment, wait_until="load")

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(("file:", "data:", "blob:")):
            self.foreign.append(request.url)

    def visible(self, selector: str) -> int:
        """Return how many elements of a kind are shown."""
        boxes = "all => all.filter(e => e.getClientRects().length).length"
        return self.page.locator(selector).evaluate_all(boxes)


Open = Callable[..., Shown]


def sticking_out(shown: Shown) -> list[str]:
    """Return what makes a page scroll sideways, nothing if it does not."""
    extra = shown.page.evaluate(
        "document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
    )
    if extra <= 0:
        return []
    return [f"{extra} pixels too wide", *shown.page.evaluate(WIDER)]


def faint(shown: Shown, selector: str) -> list[str]:
    """Return texts that are hard to read before what is behind them."""
    return shown.page.evaluate(FAINT, selector)
