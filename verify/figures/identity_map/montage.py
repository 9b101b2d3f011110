"""Pictures in rows and columns, with labels around them.

Each cell is a bitmap of whole pixels, which nothing resamples.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from verify.figures.runs import Array
from verify.figures.style import FAINT, SERIES, Figure, blank

Scale = tuple[Array, Array]
"""What is black and what is white, of each channel."""

WIDTH = 6.6
_CELL = 0.8
_THIN = 0.17
_TALLEST = 6.0
_NOTE = 0.56
_LETTER, _SMALL = 0.067, 0.058
_APART = 0.16
_GAP = 0.07
_BOTTOM = 0.06


@dataclass(frozen=True, kw_only=True)
class Strip:
    """A row of a grid: images, or words where there is none, and numbers beside it.

    A strip that is `apart` leaves a gap below it, a `thin` one holds numbers only, or
    one line of words.
    """

    label: str
    cells: Sequence[Array | str]
    notes: tuple[str, ...] = ()
    apart: bool = False
    thin: bool = False

    def height(self, cell: float) -> float:
        """Return the height in inches, for cells of so many."""
        return _THIN if self.thin else cell


def montage(
    strips: Sequence[Strip],
    columns: Sequence[str],
    *,
    scale: Scale | None,
    headers: tuple[str, ...] = (),
) -> Figure:
    """Draw strips below each other.

    Parameters
    ----------
    strips : sequence of Strip
    columns : sequence of str
        Names of the columns, written above.
    scale : pair or None
        Pixels that are black and white; each picture's own when None.
    headers : tuple of str
        Names of the notes.
    """
    lines = [line for s in strips for line in s.label.split("\n")]
    left = 0.12 + _LETTER * max(map(len, lines))
    right = 0.08 + _NOTE * len(headers)
    rows = sum(not strip.thin for strip in strips)
    cell = min(_CELL, (WIDTH - left - right) / len(columns), _TALLEST / rows)
    longest = max(map(len, columns))
    tilted = longest * _SMALL > cell
    top = max(0.34 if headers else 0.2, 0.12 + 0.72 * _SMALL * longest * tilted)
    gaps = [_APART if s.apart else 0.0 for s in strips[:-1]] + [0.0]
    steps = [s.height(cell) + gap for s, gap in zip(strips, gaps, strict=True)]
    offsets = np.concatenate([[0.0], np.cumsum(steps)])
    height = float(offsets[-1])
    # All figures are as wide, so that letters are of one size on a page.
    left += 0.5 * (WIDTH - left - right - cell * len(columns))
    whole = top + height + _BOTTOM
    figure = blank(WIDTH, whole)
    place = (left / WIDTH, _BOTTOM / whole, cell * len(columns) / WIDTH, height / whole)
    ax: Any = figure.add_axes(place)
    ax.patch.set_alpha(0.0)
    ax.axis("off")
    ax.set(xlim=(0.0, len(columns) * cell), ylim=(height, 0.0))
    for strip, offset in zip(strips, offsets[:-1], strict=True):
        _strip(ax, strip, float(offset), cell, scale)
        middle = offset + 0.5 * strip.height(cell)
        for k, note in enumerate(strip.notes):
            x = len(columns) * cell + _NOTE * (k + 0.55)
            ax.text(x, middle, note, ha="center", va="center", fontsize=8)
    _names(ax, columns, cell, tilted=tilted)
    for k, name in enumerate(headers):
        x = len(columns) * cell + _NOTE * (k + 0.55)
        ax.text(x, -0.05, name, ha="center", va="bottom", fontsize=7.5)
    return figure


def _names(ax: Any, columns: Sequence[str], cell: float, *, tilted: bool) -> None:
    look: dict[str, Any] = {"ha": "center"}
    if tilted:
        look = {"rotation": 45, "ha": "left", "rotation_mode": "anchor"}
    for k, name in enumerate(columns):
        x = (k + 0.5) * cell - (0.04 if tilted else 0.0)
        ax.text(x, -0.05, name, va="bottom", fontsize=7.5, **look)


def _strip(
    ax: Any, strip: Strip, offset: float, cell: float, scale: Scale | None
) -> None:
    margin = 0.5 * _GAP * cell
    bottom = offset + strip.height(cell)
    if strip.thin and len(strip.cells) == 1:
        y = 0.5 * (offset + bottom)
        ax.text(margin, y, strip.cells[0], ha="left", va="center", fontsize=7.5)
    for k, found in enumerate(strip.cells if len(strip.cells) > 1 else ()):
        sides = (k * cell + margin, (k + 1) * cell - margin)
        if strip.thin:
            x, y = 0.5 * sum(sides), 0.5 * (offset + bottom)
            ax.text(x, y, found, ha="center", va="center", fontsize=7.5)
        else:
            _cell(ax, found, (*sides, bottom - margin, offset + margin), scale)
    middle = 0.5 * (offset + bottom)
    ax.text(-0.06, middle, strip.label, ha="right", va="center", fontsize=8)


def _cell(
    ax: Any,
    found: Array | str,
    place: tuple[float, float, float, float],
    scale: Scale | None,
) -> None:
    if isinstance(found, str):
        x, y = 0.5 * (place[0] + place[1]), 0.5 * (place[2] + place[3])
        ax.text(x, y, found, ha="center", va="center", fontsize=6.5, color=SERIES[1])
        return
    # Whole pixels in vector output, and no resampling: each pixel stays a square.
    ax.imshow(shade(found, scale), extent=place, interpolation="none", aspect="auto")
    # Black pictures on a dark page need an edge.
    left, right, bottom, top = place
    x, y = (left, right, right, left, left), (bottom, bottom, top, top, bottom)
    ax.plot(x, y, color=FAINT, linewidth=0.4, clip_on=False)


def shade(image: Array, scale: Scale | None) -> Any:
    """Return an image as opaque colours; pixels that are not finite are reddish."""
    fine = np.isfinite(image)
    low, high = scale or span([image])
    spread = np.where(high > low, high - low, 1.0)
    grey = np.clip((np.where(fine, image, low) - low) / spread, 0.0, 1.0)
    colours = np.repeat(grey[..., None], 3, axis=-1) if image.ndim == 2 else grey
    bad = ~fine if image.ndim == 2 else ~fine.all(axis=-1)
    levels = np.round(255.0 * colours).astype(np.uint8)
    levels[bad] = (179, 50, 90)
    return levels


def span(images: Sequence[Array]) -> Scale:
    """Return the least and the largest pixel of images, of each channel its own."""
    channels = 1 if images[0].ndim == 2 else images[0].shape[-1]
    pixels = np.concatenate([image.reshape(-1, channels) for image in images])
    fine = np.isfinite(pixels)
    low = np.where(fine, pixels, np.inf).min(axis=0)
    high = np.where(fine, pixels, -np.inf).max(axis=0)
    some = fine.any(axis=0)
    return np.where(some, low, 0.0), np.where(some, high, 1.0)
