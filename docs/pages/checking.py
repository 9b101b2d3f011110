"""What every built page must be: whole without a network, and without a dead link.

``python docs/pages/checking.py docs/_build/html`` says what is wrong, and ends with 1 if
anything is.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {
    "img": ("src", "srcset"),
    "script": ("src",),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "object": ("data",),
    "embed": ("src",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
}
"""What a browser loads by itself, by element; of `link` it depends on what it is."""

NOT_LOADED = {"canonical", "next", "prev", "index", "search", "author", "help", "up"}
"""Kinds of `link` that only name a place."""

QUIET = ("code", "pre", "script", "style", "math", "title", "annotation")
"""Elements whose text may hold a backslash."""

LATEX = re.compile(r"\\[(\[{}|]|\\(?:frac|sigma|rho|mathrm|hat|le|ge|sum|sqrt)\b|\$\$")
_TOKEN = re.compile(r"<m(?:i|n|o|text)\b[^>]*>([^<]*\\[^<]*)<")
"""A symbol of a formula that kept its backslash."""
_ELSEWHERE = re.compile(r"(?:@import\s+|url\()\s*['\"]?(?:https?:)?//", re.IGNORECASE)


@dataclass
class _Page(HTMLParser):
    """What a page refers to, its anchors, and the text that a reader sees."""

    loaded: list[str] = field(default_factory=list[str])
    links: list[str] = field(default_factory=list[str])
    anchors: set[str] = field(default_factory=set[str])
    shown: list[str] = field(default_factory=list[str])
    styles: list[str] = field(default_factory=list[str])
    inside: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        self.loaded += [given[n] for n in LOADED.get(tag, ()) if given.get(n)]
        if tag == "link" and not set(given.get("rel", "").split()) & NOT_LOADED:
            self.loaded.append(given.get("href", ""))
        elif tag in ("a", "link") and given.get("href"):
            self.links.append(given["href"])
        self.styles.append(given.get("style", ""))
        if tag in QUIET:
            self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()

    def handle_data(self, data: str) -> None:
        if not self.inside:
            self.shown.append(data)
        elif self.inside[-1] == "style":
            self.styles.append(data)


@cache
def _page(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def problems(folder: Path) -> Iterator[str]:
    """Yield what is wrong with the pages and style sheets of a folder.

    Requests to another host, formulas that were left as LaTeX, links and anchors that
    lead nowhere.
    """
    for path in sorted(folder.rglob("*.html")):
        if "_static" in path.relative_to(folder).parts:
            continue
        yield from _of_page(path, folder)
    for path in sorted(folder.rglob("*.css")):
        if _ELSEWHERE.search(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(folder)}: loads from another host"


def _of_page(path: Path, folder: Path) -> Iterator[str]:
    page, name = _page(path), path.relative_to(folder)
    for target in page.loaded:
        parts = urlsplit(target)
        if (parts.scheme and parts.scheme != "data") or parts.netloc:
            yield f"{name}: loads {target} from another host"
    if any(_ELSEWHERE.search(style) for style in page.styles):
        yield f"{name}: a style loads from another host"
    if "_modules" not in name.parts:
        for text in page.shown:
            if found := LATEX.search(text):
                yield f"{name}: LaTeX is left as it is: {text.strip()[:60]!r} ({found[0]})"
    for found in _TOKEN.finditer(path.read_text(encoding="utf-8")):
        yield f"{name}: a formula shows {found[1]!r}"
    for target in [*page.links, *page.loaded]:
        yield from _of_link(path, target, name)


def _of_link(path: Path, target: str, name: Path) -> Iterator[str]:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return
    there = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
    if not there.is_file():
        yield f"{name}: {target} leads nowhere"
        return
    of_page = parts.fragment and there.suffix == ".html"
    if of_page and unquote(parts.fragment) not in _page(there).anchors:
        yield f"{name}: {target} names no place of its page"


def main(argv: Sequence[str] | None = None) -> int:
    """Print what is wrong with a folder of pages; return 1 if anything is, else 0."""
    (folder,) = map(Path, sys.argv[1:] if argv is None else argv)
    found = list(problems(folder.resolve()))
    pages = sum(1 for _ in folder.rglob("*.html"))
    sys.stdout.write("".join(f"{problem}\n" for problem in found))
    sys.stdout.write(f"{pages} pages: {len(found)} problems\n")
    return 1 if found or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
