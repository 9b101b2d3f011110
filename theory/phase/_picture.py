"""A phase diagram as one self-contained SVG: a heat map, curves, axes and a colour bar."""

import base64
import math
import struct
import zlib
from dataclasses import dataclass
from xml.sax.saxutils import escape

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

WIDTH, HEIGHT = 760, 560
LEFT, TOP, SIDE_X, SIDE_Y = 84, 64, 520, 400
"""The plot's corner and sides, in pixels."""

COLOURS = np.array(
    [(68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37)]
)
"""Evenly spaced anchors of the colour scale: dark blue to yellow, readable in grey."""

NOTHING = (222, 222, 222)

LETTER = 10.0
"""Width of a letter of a phase's name, in pixels."""


@dataclass(frozen=True, eq=False)
class Diagram:
    """What is drawn: depth scales on cells of equal size, and curves over them."""

    title: str
    weights: tuple[float, float]  # the ends of the axis of weight_var
    biases: tuple[float, float]
    depth: Array  # (biases, weights): nan where there is none to show
    phase: npt.NDArray[np.str_]  # likewise
    curves: tuple[tuple[Array, Array], ...]  # weight_var, bias_var along each


def svg(diagram: Diagram, *, low: float = 1.0, high: float = 100.0) -> str:
    """Return the picture; colours are the logarithm of the depth from `low` to `high`."""
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}"'
            f' viewBox="0 0 {WIDTH} {HEIGHT}" font-family="Helvetica, Arial, sans-serif"'
            ' font-size="14" fill="#222">'
        ),
        f"<title>{escape(diagram.title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="36" font-size="19">{escape(diagram.title)}</text>',
        _heat(diagram, low, high),
        *_curves(diagram),
        *_labels(diagram),
        *_axes(diagram),
        *_bar(low, high),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def ticks(low: float, high: float) -> list[float]:
    """Return four to nine round numbers from `low` to `high`.

    >>> ticks(0.0, 4.0)
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    step = 10.0 ** math.floor(math.log10(high - low))
    while (high - low) / step < 4.0:
        step /= 2.0
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(k * step, 12) for k in range(first, last + 1)]


def _at(diagram: Diagram, w: Array | float, b: Array | float) -> tuple[Array, Array]:
    x0, x1 = diagram.weights
    y0, y1 = diagram.biases
    x = LEFT + SIDE_X * (np.asarray(w) - x0) / (x1 - x0)
    y = TOP + SIDE_Y * (1.0 - (np.asarray(b) - y0) / (y1 - y0))
    return x, y


def _colours(share: Array) -> npt.NDArray[np.uint8]:
    at = np.linspace(0.0, 1.0, len(COLOURS))
    columns = [np.interp(share, at, channel) for channel in COLOURS.T]
    return np.stack(columns, axis=-1).round().astype(np.uint8)


def _heat(diagram: Diagram, low: float, high: float) -> str:
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.log(diagram.depth / low) / math.log(high / low)
    known = ~np.isnan(share)
    pixels = _colours(np.clip(np.where(known, share, 0.0), 0.0, 1.0))
    pixels[~known] = NOTHING
    data = base64.b64encode(_png(pixels[::-1])).decode()
    return (
        f'<image x="{LEFT}" y="{TOP}" width="{SIDE_X}" height="{SIDE_Y}"'
        ' preserveAspectRatio="none" image-rendering="optimizeSpeed"'
        f' href="data:image/png;base64,{data}"/>'
    )


def _png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """Encode (rows, columns, 3) as a PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    rows, columns, _ = pixels.shape
    header = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    # Each row begins with its filter, 0: none.
    raw = b"".join(b"\0" + row.tobytes() for row in pixels)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(raw, 9))
        + chunk(b"IEND", b"")
    )


def _curves(diagram: Diagram) -> list[str]:
    out = [
        (
            f'<clipPath id="plot"><rect x="{LEFT}" y="{TOP}" width="{SIDE_X}"'
            f' height="{SIDE_Y}"/></clipPath>'
        )
    ]
    for w, b in diagram.curves:
        x, y = _at(diagram, w, b)
        if len(w) == 1:
            out.append(
                f'<circle cx="{x[0]:.1f}" cy="{y[0]:.1f}" r="6" fill="white"'
                ' stroke="#222" stroke-width="2"/>'
            )
            continue
        points = " ".join(f"{p:.1f},{q:.1f}" for p, q in zip(x, y, strict=True))
        style = 'fill="none" stroke-linejoin="round" clip-path="url(#plot)"'
        # A dark line within a white one is seen on every colour.
        for colour, width in (("white", 5), ("#222", 2)):
            out.append(
                f'<polyline points="{points}" {style} stroke="{colour}"'
                f' stroke-width="{width}"/>'
            )
    return out


def _depths(inside: npt.NDArray[np.bool_]) -> npt.NDArray[np.int_]:
    """Return how many cells each cell of a region is away from what is outside."""
    left, depths = np.pad(inside, 1), np.zeros(inside.shape, dtype=int)
    while left.any():
        depths += left[1:-1, 1:-1]
        for axis in (0, 1):
            left = left & np.roll(left, 1, axis) & np.roll(left, -1, axis)
    return depths


def _labels(diagram: Diagram) -> list[str]:
    """Name every phase where its region is widest, upwards where it is narrow."""
    out: list[str] = []
    sides = np.array([SIDE_Y, SIDE_X])
    for name in ("ordered", "chaotic", "divergent"):
        inside = diagram.phase == name
        wide = _depths(inside)
        if wide.max() < 0.04 * max(inside.shape):
            continue
        widest = np.argwhere(wide == wide.max())
        off = np.abs(widest - widest.mean(axis=0)).sum(axis=1)
        i, j = widest[np.argmin(off)].tolist()
        columns, rows = _stretch(inside[i], j), _stretch(inside[:, j], i)
        upright = bool(columns[1] - columns[0] < len(name) * LETTER / SIDE_X)
        turn = " rotate(-90)" if upright else ""
        at = (np.array([i, j]) + 0.5) / inside.shape
        at[0 if upright else 1] = 0.5 * sum(rows if upright else columns)
        y, x = np.array([TOP, LEFT]) + sides * ([1.0, 0.0] + [-1.0, 1.0] * at)
        # Dark on grey; white with a dark rim on every colour.
        rim = ' fill="white" stroke="#222" stroke-width="3" paint-order="stroke"'
        out.append(
            f'<text transform="translate({x:.1f} {y:.1f}){turn}"'
            ' dy="6" text-anchor="middle" font-size="18"'
            f"{'' if name == 'divergent' else rim}>{name}</text>"
        )
    return out


def _stretch(line: npt.NDArray[np.bool_], at: int) -> tuple[float, float]:
    """Return the ends, as shares of the line, of what is true around a place."""
    outside = np.flatnonzero(~np.pad(line, 1)) - 1
    k = int(np.searchsorted(outside, at))
    return (outside[k - 1] + 1) / line.size, outside[k] / line.size


def _axes(diagram: Diagram) -> list[str]:
    bottom = TOP + SIDE_Y
    out = [
        (
            f'<rect x="{LEFT}" y="{TOP}" width="{SIDE_X}" height="{SIDE_Y}" fill="none"'
            ' stroke="#222"/>'
        )
    ]
    for value in ticks(*diagram.weights):
        x = float(_at(diagram, value, 0.0)[0])
        out.append(f'<path d="M{x:.1f} {bottom}v6" stroke="#222"/>')
        out.append(
            f'<text x="{x:.1f}" y="{bottom + 22}" text-anchor="middle">{value:g}</text>'
        )
    for value in ticks(*diagram.biases):
        y = float(_at(diagram, 0.0, value)[1])
        out.append(f'<path d="M{LEFT} {y:.1f}h-6" stroke="#222"/>')
        out.append(
            f'<text x="{LEFT - 10}" y="{y + 5:.1f}" text-anchor="end">{value:g}</text>'
        )
    middle = TOP + SIDE_Y / 2
    out.append(
        f'<text x="{LEFT + SIDE_X / 2}" y="{bottom + 48}" text-anchor="middle"'
        ' font-size="16">weight variance σ<tspan dy="4" font-size="11">w</tspan>'
        '<tspan dy="-4">²</tspan></text>'
    )
    out.append(
        f'<text transform="translate(26 {middle}) rotate(-90)" text-anchor="middle"'
        ' font-size="16">bias variance σ<tspan dy="4" font-size="11">b</tspan>'
        '<tspan dy="-4">²</tspan></text>'
    )
    if diagram.curves:
        y = HEIGHT - 12
        out.append(
            f'<circle cx="{LEFT + 17}" cy="{y - 5}" r="6" fill="white" stroke="#222"'
            ' stroke-width="2"/>'
            if all(len(w) == 1 for w, _ in diagram.curves)
            else f'<path d="M{LEFT} {y - 5}h34" stroke="#222" stroke-width="2"/>'
        )
        out.append(
            f'<text x="{LEFT + 42}" y="{y}">edge of chaos, χ'
            '<tspan dy="4" font-size="11">1</tspan><tspan dy="-4" dx="5">= 1</tspan></text>'
        )
    return out


def _bar(low: float, high: float) -> list[str]:
    x, steps = LEFT + SIDE_X + 36, 100
    column = _colours(np.linspace(1.0, 0.0, steps))[:, None, :]
    data = base64.b64encode(_png(column)).decode()
    out = [
        (
            f'<image x="{x}" y="{TOP}" width="20" height="{SIDE_Y}"'
            f' preserveAspectRatio="none" href="data:image/png;base64,{data}"/>'
        ),
        (
            f'<rect x="{x}" y="{TOP}" width="20" height="{SIDE_Y}" fill="none"'
            ' stroke="#222"/>'
        ),
        (
            f'<text transform="translate({x + 84} {TOP + SIDE_Y / 2}) rotate(-90)"'
            ' text-anchor="middle" font-size="16">depth scale of correlations'
            ' ξ<tspan dy="4" font-size="11">c</tspan>'
            '<tspan dy="-4" dx="5">(layers)</tspan></text>'
        ),
    ]
    values = [v for k in range(-3, 6) for v in (10.0**k, 3.0 * 10.0**k)]
    for value in (v for v in values if low <= v <= high):
        y = TOP + SIDE_Y * (1.0 - math.log(value / low) / math.log(high / low))
        sign = {low: "≤ ", high: "≥ "}.get(value, "")
        out.append(f'<path d="M{x + 20} {y:.1f}h5" stroke="#222"/>')
        out.append(f'<text x="{x + 29}" y="{y + 5:.1f}">{sign}{value:g}</text>')
    return out
