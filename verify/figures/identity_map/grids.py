"""Pictures in rows and columns: one bitmap for each figure, labels around it.

Pixels keep the scale of the inputs: black and white are the least and the largest
pixel that goes in, and outputs beyond are cut off there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from verify.figures.identity_map.runs import Array, Group, Run, mean, variant
from verify.figures.style import SERIES, blank

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Scale = tuple[Array, Array]
"""What is black and what is white, of each channel."""

SHORT = {"constant": "flat", "checkerboard": "checks"}
"""Names of columns: one image is constant, and so is a map."""

HEADERS = ("cos to\nidentity", "cos to\nconstant")
FEW = ("0", "3", "0+1", "2+7", "constant", "rows", "checkerboard", "disc", "random")
"""Unseen images of the small grids: digits, mixtures, patterns."""

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

    A strip that is `apart` leaves a gap below it, a `thin` one holds numbers only.
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
) -> "Figure":
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
    top = max(0.3 if headers else 0.2, 0.12 + 0.72 * _SMALL * longest * tilted)
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
    for k, found in enumerate(strip.cells):
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


def correlations(group: Group) -> tuple[str, str]:
    """Return both mean correlations of a group's depth curve point as text."""
    each = [mean(group.curve(field)) for field in ("identity", "constant")]
    return (_two(each[0]), _two(each[1]))


def _two(value: Any) -> str:
    return f"{float(value):.2f}".replace("-", "−") if np.isfinite(value) else "none"


def outputs(group: Group) -> list[Array | str]:
    """Return what the first draw makes of each image, or that it diverged."""
    names = group.section("predictions")["images"]
    if group.diverged[0]:
        return ["diverged"] * len(names)
    return [group.run.image(p) for p in group.section("predictions")["outputs"][0]]


def inputs(group: Group) -> dict[str, Array]:
    """Return the images that went in by name, training images first."""
    section = group.section("predictions")
    names = [image["name"] for image in section["images"]]
    images = [group.run.image(p) for p in section["inputs"]]
    return dict(zip(names, images, strict=True))


def predictions(
    rows: Sequence[tuple[str, Group]],
    *,
    only: Sequence[str] | None = None,
    below: Sequence[tuple[str, str]] = (),
) -> "Figure":
    """Draw inputs, and below them what each group of networks makes of them.

    Parameters
    ----------
    rows : sequence of (label, Group)
        All shown the same images, possibly at different sizes.
    only : sequence of str, optional
        Names of the unseen images to show; all by default.
    below : sequence of (label, words)
        Lines of words instead of images, below.
    """
    # The largest pictures show the inputs best.
    shown = inputs(max((group for _, group in rows), key=lambda g: g.run.size))
    chosen = [name for name in shown if only is None or name in only or _trained(name)]
    strips = [Strip(label="input", cells=[shown[n] for n in chosen], apart=True)]
    for label, group in rows:
        made = dict(zip(inputs(group), outputs(group), strict=True))
        strips.append(
            Strip(
                label=label + _state(group),
                cells=[made[name] for name in chosen],
                notes=correlations(group),
            )
        )
    middle = len(chosen) // 2
    if below:
        strips[-1] = replace(strips[-1], apart=True)
    for label, words in below:
        line = [words if k == middle else "" for k in range(len(chosen))]
        strips.append(Strip(label=label, cells=line, thin=True))
    return montage(
        strips,
        [SHORT.get(name, name) for name in chosen],
        scale=span(list(shown.values())),
        headers=HEADERS,
    )


def _trained(name: str) -> bool:
    return name.startswith("train ")


def _state(group: Group) -> str:
    return "\n(stalled)" if group.statuses[0] == "stalled" else ""


def mixtures(rows: Sequence[tuple[str, Group]], *, only: Sequence[str]) -> "Figure":
    """Draw what groups trained on several images make of each, and how it is mixed.

    Below outputs stand the coefficients of the least squares mixture of the training
    images, means over draws, and the share of the output's square that it explains.
    """
    shown = inputs(rows[0][1])
    trained = [name for name in shown if _trained(name)]
    chosen = [*trained, *only]
    places = [list(shown).index(name) for name in chosen]
    strips = [Strip(label="input", cells=[shown[n] for n in chosen], apart=True)]
    for label, group in rows:
        made = outputs(group)
        cells = [made[k] for k in places]
        strips.append(Strip(label=label + _state(group), cells=cells))
        found = mean(group.numbers("predictions", "coefficients"))
        lines = {
            f"× {name.removeprefix('train ')}": found[:, k]
            for k, name in enumerate(trained)
        }
        lines["explained"] = mean(group.numbers("predictions", "explained"))
        for name, values in lines.items():
            words = [_two(values[k]) for k in places]
            last = name == "explained"
            strips.append(Strip(label=name, cells=words, thin=True, apart=last))
    columns = [SHORT.get(name, name) for name in chosen]
    return montage(strips, columns, scale=span(list(shown.values())))


def training_sets(
    rows: Sequence[tuple[str, Group]], *, only: Sequence[str]
) -> "Figure":
    """Draw, for groups trained on different images, these and what is made of others.

    Unseen images are written as the first strip; training images stand in the first
    column.
    """
    shown = inputs(rows[0][1])
    given: list[Array | str] = ["", *(shown[n] for n in only)]
    strips = [Strip(label="input", cells=given, apart=True)]
    everything: list[Array] = list(shown.values())
    for label, group in rows:
        images = inputs(group)
        made = dict(zip(images, outputs(group), strict=True))
        own = next(images[name] for name in images if _trained(name))
        everything.append(own)
        strips.append(
            Strip(
                label=label + _state(group),
                cells=[own, *(made[name] for name in only)],
                notes=correlations(group),
            )
        )
    return montage(
        strips,
        ["trained", *(SHORT.get(name, name) for name in only)],
        scale=span(everything),
        headers=HEADERS,
    )


def layers(
    runs: Sequence[Run], *, kinds: Sequence[str], unseen: bool = False
) -> "Figure":
    """Draw a picture for each layer's representation, after and before training.

    Parameters
    ----------
    runs : sequence of Run
    kinds : sequence of {"singular", "correlated", "first"}
        Which pictures of a layer.
    unseen : bool
        Show the first unseen image too, not the training image alone.
    """
    words = {"singular": "singular", "correlated": "best", "first": "first"}
    strips: list[Strip] = []
    deepest = max(run.layers for run in runs)
    for run in runs:
        section = run.group.section("pictures")
        names = section["images"][: 2 if unseen else 1]
        for row, name in enumerate(names):
            for state in ("trained", "untrained"):
                for kind in kinds:
                    found = section[state][0][row]
                    cells: list[Array | str] = [inputs(run.group)[name]]
                    cells += [_seen(p, kind) for p in found]
                    if run.group.diverged[0] and state == "trained":
                        cells[1:] = ["diverged"] * len(found)
                    cells += [""] * (deepest - run.layers)
                    label = words[kind] if len(kinds) > 1 else _count(run.layers)
                    last = kind == kinds[-1] and (unseen or state == "untrained")
                    strips.append(
                        Strip(label=f"{state}, {label}", cells=cells, apart=last)
                    )
    columns = ["in", *map(str, range(1, deepest + 1))]
    return montage(strips, columns, scale=None)


def _count(layers: int) -> str:
    return "1 layer" if layers == 1 else f"{layers} layers"


def _seen(picture: Any, kind: str) -> Array | str:
    return "zero" if picture is None else np.array(picture[kind], dtype=np.float64)


def sizes(run: Run) -> "Figure":
    """Draw what one network makes of images at several sizes, resized and on black."""
    section, group = run.group.section("sizes"), run.group
    edges, known = section["sizes"], inputs(group)
    strips: list[Strip] = []
    columns: list[str] = []
    for rule, words in (("resized", "resized"), ("placed", "on black")):
        kept = section[rule]["outputs"][0]
        shown = [k for k, each in enumerate(kept) if each is not None]
        columns = [f"in, {run.size}", *(f"{edges[k]} × {edges[k]}" for k in shown)]
        found = group.numbers("sizes", rule, "identity")
        for row, name in enumerate(section["shown"]):
            bad = bool(group.diverged[0])
            cells: list[Array | str] = [known[name]]
            cells += ["diverged" if bad else run.image(kept[k][row]) for k in shown]
            strips.append(Strip(label=f"{_named(name)}, {words}", cells=cells))
            place = section["images"].index(name)
            numbers = [_two(mean(found[:, k, place])) for k in shown]
            strips.append(
                Strip(label="cos to input", cells=["", *numbers], thin=True, apart=True)
            )
    return montage(strips, columns, scale=span(list(known.values())))


def _named(name: str) -> str:
    return name.replace("train ", "trained ") if _trained(name) else f"unseen {name}"


def upper(run: Run) -> "Figure":
    """Draw what the last layers of a network make of an image put in before them."""
    section, group = run.group.section("upper"), run.group
    known, counts = inputs(group), section["counts"]
    agreement = group.numbers("upper", "constant")
    strips: list[Strip] = []
    for row, name in enumerate(section["images"]):
        made = [section["outputs"][0][k][row] for k in range(len(counts))]
        bad = bool(group.diverged[0])
        cells: list[Array | str] = [known[name]]
        cells += ["diverged" if bad else run.image(each) for each in made]
        label = f"{_named(name)},\n{_count(run.layers)}"
        strips.append(Strip(label=label, cells=cells))
        numbers = [_two(v) for v in mean(agreement[:, :, row])]
        label = "cos to trained"
        strips.append(Strip(label=label, cells=["", *numbers], thin=True, apart=True))
    columns = [f"last {k}" for k in counts]
    return montage(strips, ["put in", *columns], scale=None)


def variants(runs: Sequence[Run], name: str = "") -> list[tuple[str, Group]]:
    """Return every group of runs with what tells it apart, for the rows of a grid."""
    several = len({run.layers for run in runs}) > 1
    return [
        (
            (f"{run.layers} layers, " if several else "") + (variant(group) or name),
            group,
        )
        for run in runs
        for group in run.groups
    ]
