"""How figures look: colours that a page can theme, and SVG that is the same every time.

Figures are drawn in a few marker colours. `as_svg` turns these into CSS variables, each
with the colour itself as its fallback, so that one drawing suits a light page, a dark
page and print.
"""

import importlib
import io
import re
import textwrap
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any

INK, FAINT = "#3b3f46", "#b9bdc4"
"""Text and frames; grids and guides."""

SERIES = ("#1f6f9f", "#c2521d", "#2d8659", "#8a4fa3", "#a8790b", "#b3325a")
"""Mid tones told apart without colour vision by lightness, dashes and labels."""

DASHES: tuple[Any, ...] = (
    "-",
    (0, (6, 2)),
    (0, (2, 1.5)),
    (0, (7, 2, 1.5, 2)),
    (0, (4, 1, 1, 1, 1, 1)),
    (0, (1, 1)),
)

_VARIABLES: Mapping[str, str] = {INK: "ink", FAINT: "guide"} | {
    colour: f"series-{k}" for k, colour in enumerate(SERIES, 1)
}

_SETTINGS: Mapping[str, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.0,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "grid.alpha": 0.5,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "lines.linewidth": 1.7,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.handlelength": 2.6,
}


@contextmanager
def styled(salt: str = "") -> Generator[None, None, None]:
    """Draw in the report's style, with ids that depend on `salt` alone."""
    matplotlib: Any = importlib.import_module("matplotlib")
    with matplotlib.rc_context(dict(_SETTINGS) | {"svg.hashsalt": salt}):
        yield


def axes(
    columns: int = 1, *, height: float = 3.3, width: float = 6.0
) -> tuple[Any, list[Any]]:
    """Return an empty figure without background and its axes, side by side.

    Both are typed as Any: matplotlib's own annotations are partial.
    """
    figure = blank(width, height, layout="constrained")
    row = figure.subplots(1, columns, squeeze=False)[0]
    for one in row:
        one.patch.set_alpha(0.0)
    return figure, list(row)


def blank(width: float, height: float, *, layout: Any = "none") -> Any:
    """Return an empty figure without background, of so many inches."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout=layout)
    FigureCanvasSVG(figure)
    figure.patch.set_alpha(0.0)
    return figure


def settled(figure: Any) -> Any:
    """Lay a figure out once and for all.

    The layout engine moves the axes a little each time it runs, so that a figure would
    be drawn differently a second time.
    """
    for _ in range(2):
        figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


_LINE, _HEIGHT = 104, 0.135
"""Characters in a line of remarks, and inches that one takes."""


def with_remarks(figure: Any, said: Sequence[str]) -> Any:
    """Write remarks below a figure, which grows by what they need."""
    if not said:
        return figure
    lines = [
        line
        for one in said
        for line in textwrap.wrap(f"{one}.", _LINE, break_on_hyphens=False)
    ]
    extra = _HEIGHT * len(lines) + 0.15
    engine: Any = figure.get_layout_engine()
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + extra)
    share = extra / (height + extra)
    if engine is not None:
        engine.set(rect=(0.0, share, 1.0, 1.0 - share))
    else:
        for ax in figure.axes:
            box = ax.get_position()
            place = (box.x0, share + box.y0 * (1.0 - share))
            ax.set_position((*place, box.width, box.height * (1.0 - share)))
    bottom = 0.05 / (height + extra)
    figure.text(0.01, bottom, "\n".join(lines), fontsize=7.5, va="bottom")
    return figure


def plain_number(value: float, _: object) -> str:
    """Format a tick of a logarithmic axis without an exponent."""
    return f"{value:g}"


def label_end(ax: Any, x: float, y: float, text: str, colour: str) -> None:
    """Write a series' name beside its last point."""
    ax.annotate(
        text,
        (x, y),
        xytext=(5, 0),
        textcoords="offset points",
        va="center",
        color=colour,
        fontsize=8.5,
        annotation_clip=False,
    )


def as_svg(
    figure: Any, *, name: str, title: str, description: str, themed: bool = True
) -> str:
    """Return a figure as one SVG element, the same text for the same figure.

    Parameters
    ----------
    name : str
        Prefix of every id inside, unique on the page.
    title, description : str
        What a screen reader says.
    themed : bool
        Whether colours are CSS variables (``--ink``, ``--guide``, ``--series-1`` to
        ``--series-6``, with fallbacks), for an SVG inside a page.
    """
    target = io.StringIO()
    with styled(name):
        figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})
    body = target.getvalue()
    head, body = re.split(r"<svg ", body, maxsplit=1)[1].split(">", 1)
    body = re.sub(r"\s*<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = _own_ids(body, name).replace("*{stroke", ".plot *{stroke")
    # The page's own font: the names matplotlib writes may be missing there.
    body = re.sub(r"font-family: [^;\"]*;? ?", "", body)
    if themed:
        for colour, variable in _VARIABLES.items():
            body = body.replace(colour, f"var(--{variable}, {colour})")
    body = _slimmed(body, name)
    found = re.search(r'viewBox="([^"]*)"', head)
    assert found is not None
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg"'
        f' xmlns:xlink="http://www.w3.org/1999/xlink" id="{name}" class="plot"'
        f' viewBox="{found[1]}" role="img"'
        f' aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(description)}</desc>{body.rstrip()}'
    )


def _own_ids(body: str, name: str) -> str:
    """Prefix the ids that are referred to and drop the others."""
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', body))

    def rewrite(found: re.Match[str]) -> str:
        return f' id="{name}-{found[1]}"' if found[1] in used else ""

    body = re.sub(r' id="([^"]+)"', rewrite, body)
    return re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", body)


def _slimmed(body: str, name: str) -> str:
    """Write shorter what looks the same: numbers, paths, styles that come again."""
    place = r'\b(?:(?:d|x|y|width|height)=|transform=(?="(?:rotate|translate)))"[^"]*"'
    body = re.sub(place, lambda found: _shortened(found[0]), body)
    body = re.sub(r' transform="rotate\(-?0 [^"]*"', "", body)
    body = re.sub(r"\s*\n\s*", "\n", body)
    styles = re.findall(r' style="([^"]*)"', body)
    again = [style for style in dict.fromkeys(styles) if styles.count(style) > 1]
    rules = ""
    for k, style in enumerate(again):
        body = body.replace(f' style="{style}"', f' class="c{k}"')
        rules += f"#{name} .c{k}{{{style}}}\n"
    return _without_bare_groups(body.replace("</style>", f"\n{rules}</style>", 1))


def _shortened(attribute: str) -> str:
    """Round to hundredths of a point, and let lines follow without their letter."""
    text = re.sub(r"\d+\.\d+", lambda found: f"{float(found[0]):.2f}", attribute)
    text = re.sub(r"(\.\d*?)0+(?!\d)", r"\1", text).replace(". ", " ")
    text = re.sub(r"\.(?=[\",)\n])", "", text)
    text = re.sub(r"\s+", " ", text)
    if text.startswith("d=") and not re.search("[A-KN-Yabd-y]", text[2:]):
        text = text.replace(" L ", " ")
    return text


def _without_bare_groups(body: str) -> str:
    kept: list[bool] = []
    parts = re.split(r"(<g\b[^>]*>|</g>)", body)
    for k, part in enumerate(parts):
        if part.startswith("<g"):
            kept.append(part != "<g>")
        if part in ("<g>", "</g>"):
            opened = kept[-1] if part == "<g>" else kept.pop()
            parts[k] = part if opened else ""
    return re.sub(r"\n+", "\n", "".join(parts))
