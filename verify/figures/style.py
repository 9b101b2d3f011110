"""How figures look: colours that a page can theme, and SVG that is the same every time.

Figures are drawn in a few marker colours. `as_svg` turns these into CSS variables, each
with the colour itself as its fallback, so that one drawing suits a light page, a dark
page and print.
"""

import importlib
import io
import math
import re
import textwrap
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from verify.figures.compact import Common, compacted
from verify.figures.paths import rounded

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Figure
else:
    # Matplotlib is loaded where something is drawn.
    Figure = Any

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

_FONTS = "'DejaVu Sans',Verdana,sans-serif"

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


def line(index: int) -> dict[str, Any]:
    """Return colour and dashes of the series at a place in a list."""
    return {
        "color": SERIES[index % len(SERIES)],
        "linestyle": DASHES[index % len(DASHES)],
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
    figure, grid = panels(1, columns, width, height)
    return figure, list(grid[0])


def panels(
    rows: int, columns: int, width: float, height: float, **options: Any
) -> tuple[Any, Any]:
    """Return an empty figure without background and its axes, an array of rows.

    `options` are those of matplotlib's ``subplots``.
    """
    figure = blank(width, height, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, **options)
    for one in grid.flat:
        one.patch.set_alpha(0.0)
    return figure, grid


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

    The layout engine moves the axes a little each time it runs, and it runs whenever a
    figure is drawn: a figure would be drawn differently a second time.
    """
    engine: Any = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
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


def log_axis(ax: Any) -> None:
    """Make the other axis logarithmic; what is not positive leaves a gap.

    Its limits must not change any more: ticks are 1, 2, 5 where there are few decades.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    ax.set_yscale("log", nonpositive="mask")
    low, high = ax.get_ylim()
    ticks = _log_ticks(low, high)
    ax.set_ylim(low, high)
    ax.yaxis.set_major_locator(FixedLocator(ticks))
    ax.yaxis.set_major_formatter(FuncFormatter(_log_label))
    ax.yaxis.set_minor_locator(NullLocator())


def _log_ticks(low: float, high: float) -> list[float]:
    """Return two to seven ticks: of decades, of 1, 2, 5, or evenly spaced.

    Examples
    --------
    >>> _log_ticks(0.09, 11.0), _log_ticks(0.3, 3.0)
    ([0.1, 1.0, 10.0], [0.5, 1.0, 2.0])
    >>> _log_ticks(1.52, 1.93)
    [1.6, 1.7, 1.8, 1.9]
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    powers = range(first, last + 1)
    decades = [float(f"1e{k}") for k in powers]
    finer = [float(f"{m}e{k}") for k in powers for m in (1, 2, 5)]
    inside = [[t for t in ts if low <= t <= high] for ts in (decades, finer)]
    if len(inside[0]) > 2 or (len(inside[0]) == 2 and len(inside[1]) > 6):
        return inside[0][:: math.ceil(len(inside[0]) / 5)]
    if len(inside[1]) > 1:
        return inside[1]
    step = 10.0 ** math.floor(math.log10(high - low))
    step = next(step / part for part in (1, 2, 5, 10) if high - low > 2 * step / part)
    start, end = math.ceil(low / step), math.floor(high / step)
    return [float(f"{k * step:.12g}") for k in range(start, end + 1)]


def _log_label(value: float, _: object = None) -> str:
    """Write a tick plainly where that is short, else as a power of ten."""
    if 1e-3 < value < 1e4:
        return f"{value:g}"
    digits, power = f"{value:e}".split("e")
    factor = "" if float(digits) == 1.0 else f"{float(digits):g}·"
    return f"{factor}10$^{{{int(power)}}}$"


def band(
    ax: Any,
    x: Any,
    low: Any,
    high: Any,
    colour: str,
    alpha: float = 0.2,
    **options: Any,
) -> None:
    """Fill the range between two curves."""
    look = {"color": colour, "alpha": alpha, "linewidth": 0.0}
    ax.fill_between(x, low, high, **look, **options)


def note(
    ax: Any,
    text: str,
    place: tuple[float, float],
    offset: tuple[float, float],
    **look: Any,
) -> None:
    """Write a text so many points from a place."""
    ax.annotate(text, place, xytext=offset, textcoords="offset points", **look)


def label_end(ax: Any, x: float, y: float, text: str, colour: str) -> None:
    """Write a series' name beside its last point."""
    look = {"va": "center", "color": colour, "fontsize": 8.5, "annotation_clip": False}
    note(ax, text, (x, y), (5, 0), **look)


def legend_above(
    figure: Any, ax: Any, *, first: Mapping[str, Any] | None = None, **look: Any
) -> None:
    """Write one legend above all panels, in one line, of what one of them shows.

    `first` are samples, by what they are called, that stand before it.
    """
    handles, labels = ax.get_legend_handles_labels()
    shown = [*(first or {}).items(), *zip(labels, handles, strict=True)]
    if shown:
        labels, handles = zip(*shown, strict=True)
        look = {"loc": "outside upper right", "ncols": len(labels)} | look
        figure.legend(handles, labels, **look)


def from_zero(ax: Any, last: float, *, every: int = 1) -> None:
    """Make the axis along logarithmic from 1 to the last, with 0 at its left end.

    In a narrow panel not `every` decade has a tick: every second, say.
    """
    ax.set_xscale("symlog", linthresh=1.0, linscale=0.4)
    powers = decades(last)[::-every][::-1]
    ax.set_xticks([0.0, *powers], ["0", *map(short, powers)])
    ax.minorticks_off()
    ax.set_xlim(0.0, last)


def decades(last: float) -> list[float]:
    """Return the powers of ten from 1 up to a number of steps."""
    return [10.0**k for k in range(6) if 10.0**k <= last]


def short(power: float) -> str:
    """Write a power of ten as a tick.

    >>> short(100.0), short(1e5)
    ('100', '10$^5$')
    """
    return f"{power:g}" if power < 1e4 else f"10$^{math.log10(power):.0f}$"


def as_svg(
    figure: Any,
    *,
    name: str,
    title: str,
    description: str,
    themed: bool = True,
    common: Common | None = None,
) -> str:
    """Return a figure as one SVG element, the same text for the same figure.

    Parameters
    ----------
    name : str
        Its id and the start of every id inside, unique on the page.
    title, description : str
        What a screen reader says.
    themed : bool
        Whether colours are CSS variables (``--ink``, ``--guide``, ``--series-1`` to
        ``--series-6``, with fallbacks), for an SVG inside a page.
    common : Common, optional
        Styles and symbols of a page with many drawings, which it then has to hold. A
        drawing without them is whole by itself. With them it is described by the element
        ``{name}-caption`` of the page.
    """
    target = io.StringIO()
    with styled(name):
        figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})
    drawn = target.getvalue()
    if themed:
        for colour, variable in _VARIABLES.items():
            drawn = drawn.replace(colour, f"var(--{variable}, {colour})")
    used = Common(prefix=f"{name}-") if common is None else common
    body = compacted(drawn, used)
    found = re.search(r'viewBox="([^"]*)"', drawn)
    assert found is not None
    box = " ".join(rounded(float(number)) for number in found[1].split())
    head = f'id="{name}" class="plot" viewBox="{box}" role="img"'
    if common is not None:
        return f'<svg {head} aria-labelledby="{name}-caption">{body}</svg>'
    # A page has a font; a file alone needs the one that places were reckoned with.
    font = "" if themed else f"#{name}{{font-family:{_FONTS}}}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {head}'
        f' aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(description)}</desc>'
        f"<style>{font}{used.sheet(f'#{name}')}</style><defs>{used.definitions()}</defs>"
        f"{body}</svg>"
    )
