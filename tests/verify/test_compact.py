"""Drawings are written in few bytes and look as they did."""

import base64
import io
import re
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from PIL import Image

from verify.figures.compact import Common, compacted
from verify.figures.paths import shortened
from verify.figures.pixels import sheet
from verify.figures.style import SERIES, as_svg, axes, settled, styled

NUMBER = re.compile(r"[a-z]|-?(?:\d+\.?\d*|\.\d+)")


def _points(d: str) -> list[tuple[float, float]]:
    """Follow a relative path of lines."""
    tokens, at, here, letter = NUMBER.findall(d), 0, np.zeros(2), ""
    found: list[tuple[float, float]] = []
    while at < len(tokens):
        if tokens[at].isalpha():
            letter, at = tokens[at], at + 1
            continue
        if letter in "hv":
            step = [0.0, 0.0]
            step["hv".index(letter)] = float(tokens[at])
            at += 1
        else:
            step = [float(tokens[at]), float(tokens[at + 1])]
            at += 2
        here = here + step
        found.append((float(here[0]), float(here[1])))
    return found


def _distance(point: np.ndarray, line: np.ndarray) -> float:
    """Return the distance of a point from a polygonal line."""
    a, b = line[:-1], line[1:]
    along = np.einsum("ij,ij->i", point - a, b - a) / np.einsum(
        "ij,ij->i", b - a, b - a
    )
    nearest = a + np.clip(along, 0.0, 1.0)[:, None] * (b - a)
    return float(np.min(np.linalg.norm(point - nearest, axis=1)))


def test_a_curve_loses_points_but_not_its_place() -> None:
    x = np.linspace(0.0, 400.0, 1000)
    curve = np.stack([x, 100.0 + 80.0 * np.sin(x / 30.0)], axis=1)
    d = "M " + " L ".join(f"{u:.6f} {v:.6f}" for u, v in curve)
    short = shortened(d)
    assert len(short) < len(d) / 15
    line = np.array(_points(short))
    # A point left out is within 0.4, each that is kept within 0.05 * sqrt(2) of its place.
    assert max(_distance(point, line) for point in curve) <= 0.4 + 0.0708


def test_steps_do_not_add_up_their_rounding() -> None:
    d = "M 0.04 0.04 " + " ".join(f"L {0.04 + 0.34 * k} {k % 2}" for k in range(1, 200))
    assert _points(shortened(d))[-1] == pytest.approx((67.7, 1.0))


def test_an_unknown_command_is_refused() -> None:
    with pytest.raises(ValueError, match="must be of M, L, Q, C and z, got 'A'"):
        shortened("M 0 0 A 1 1 0 0 0 2 2")


def _url(pixels: np.ndarray) -> str:
    target = io.BytesIO()
    Image.fromarray(pixels).save(target, format="png")
    return f"data:image/png;base64,{base64.b64encode(target.getvalue()).decode()}"


def _pixels(url: str) -> Any:
    data = base64.b64decode(url.partition(",")[2])
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGBA"))


@pytest.mark.parametrize("grey", [True, False])
def test_a_sheet_keeps_every_pixel_to_sixteen_levels(grey: bool) -> None:
    generator = np.random.default_rng(3)
    # Steps of 17 from 0 to 255, and what is rounded to them.
    levels = 17 * generator.integers(0, 16, (5, 4, 6, 4))
    tiles = np.clip(levels + generator.integers(-8, 9, levels.shape), 0, 255)
    tiles = tiles.astype(np.uint8)
    tiles[..., 3] = 255
    if grey:
        tiles[..., 1] = tiles[..., 2] = tiles[..., 0]
        levels[..., 1] = levels[..., 2] = levels[..., 0]
    levels[..., 3] = 255
    url, columns = sheet([_url(tile) for tile in tiles])
    whole = _pixels(url)
    for k, tile in enumerate(levels):
        row, column = divmod(k, columns)
        part = whole[4 * row : 4 * row + 4, 6 * column : 6 * column + 6]
        np.testing.assert_array_equal(part, tile)
    assert (
        Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).mode == "L"
    ) == grey


def test_what_lets_light_through_does_so_still() -> None:
    tile = np.full((2, 2, 4), 51, dtype=np.uint8)
    np.testing.assert_array_equal(_pixels(sheet([_url(tile)])[0]), tile)


def _figure(seed: int) -> Any:
    """A figure of each kind of thing: curves, markers, ticks, images."""
    generator = np.random.default_rng(seed)
    with styled():
        figure, (left, right) = axes(2)
        for colour in SERIES[:3]:
            left.plot(
                np.linspace(0, 1, 200), generator.random(200).cumsum(), color=colour
            )
        left.plot([0.2, 0.8], [20.0, 60.0], "o", color=SERIES[0])
        for k in range(4):
            right.imshow(
                generator.random((8, 8)),
                extent=(k, k + 0.9, 0.0, 0.9),
                cmap="gray",
                interpolation="none",
                aspect="auto",
            )
        right.set_xlim(0.0, 4.0)
        right.set_ylim(0.0, 1.0)
        return settled(figure)


def test_a_drawing_alone_is_whole_and_short() -> None:
    figure = _figure(1)
    plain = io.StringIO()
    figure.savefig(plain, format="svg")
    text = as_svg(figure, name="f", title="T", description="D")
    assert len(text) < len(plain.getvalue()) / 3
    root = ET.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    ids = {e.get("id") for e in root.iter() if e.get("id")}
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', text))
    assert used
    assert used <= ids
    sheets = list(root.iter(f"{space}image"))
    assert len(sheets) == 1
    tiles = [
        e for e in root.iter(f"{space}svg") if e.get("viewBox") != root.get("viewBox")
    ]
    assert sorted(tile.get("viewBox", "") for tile in tiles) == [
        "0 0 8 8",
        "0 8 8 8",
        "8 0 8 8",
        "8 8 8 8",
    ]
    # Of a part browsers take no size from a style.
    assert all(
        float(tile.attrib[key]) > 0 for tile in tiles for key in ("width", "height")
    )
    words = {e.text for e in root.iter() if e.tag in (f"{space}text", f"{space}tspan")}
    assert {"0", "20"} & words


def test_drawings_of_a_page_share_styles_and_markers() -> None:
    common = Common(prefix="s")
    texts = [
        as_svg(_figure(k), name=f"f{k}", title="T", description="D", common=common)
        for k in (1, 2)
    ]
    count = len(common.styles)
    as_svg(_figure(2), name="g", title="T", description="D", common=common)
    assert len(common.styles) == count
    assert not [text for text in texts if "<style" in text or "<defs" in text]
    assert 'aria-labelledby="f2-caption"' in texts[1]
    shown = common.definitions()
    ids = re.findall(r' id="([^"]+)"', shown)
    assert len(set(ids)) == len(ids)
    assert set(re.findall(r'href="#([^"]+)"', "".join(texts))) <= set(ids)
    named = set(re.findall(r"\.(c\d+)\{", common.sheet("svg")))
    classes = re.findall(r'class="(c[^"]*)"', "".join(texts))
    assert {name for each in classes for name in each.split()} <= named


@pytest.mark.parametrize("opacity", [1.0, 0.5])
def test_lines_of_one_look_are_a_group(opacity: float) -> None:
    generator = np.random.default_rng(3)
    with styled():
        figure, (ax,) = axes(1)
        for _ in range(5):
            line = generator.random(9).cumsum()
            ax.plot(line, color=SERIES[0], alpha=opacity, linewidth=0.7)
        text = as_svg(settled(figure), name="f", title="T", description="D")
    groups = re.findall(r'<g class="c[^"]*">((?:<path d="[^"]*"/>)*)</g>', text)
    assert [group.count("<path") for group in groups] == [5]


def test_what_is_seen_through_as_a_whole_is_no_group() -> None:
    """The opacity of a group shows each path once, where they overlap, too."""
    paths = '<path d="M 0 0 L 9 9" style="fill: #123456; opacity: 0.5"/>' * 5
    made = compacted(f"<svg>{paths}</svg>", Common())
    assert made.count("class=") == 5
    assert "<g" not in made
