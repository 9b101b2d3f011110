"""Small bitmaps of a drawing as one sheet of sixteen levels, in the shortest PNG."""

import base64
import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image

_HEAD = "data:image/png;base64,"
_LEVELS = 15
"""Steps of each colour from dark to full: shades are seen, pages are half as long."""


def sheet(urls: Sequence[str]) -> tuple[str, int]:
    """Return images of one size as one image, row after row, and how many are in a row.

    Parameters
    ----------
    urls : sequence of str
        Images as ``data:`` URLs.
    """
    from PIL import Image

    tiles = [_read(url) for url in urls]
    width, height = tiles[0].size
    columns = math.ceil(math.sqrt(len(tiles)))
    rows = -(-len(tiles) // columns)
    whole = Image.new("RGBA", (columns * width, rows * height), (255, 255, 255, 255))
    for k, tile in enumerate(tiles):
        whole.paste(tile, (k % columns * width, k // columns * height))
    step = 255 // _LEVELS
    whole = whole.point([round(value / step) * step for value in range(256)] * 4)
    return _HEAD + base64.b64encode(_shortest(whole)).decode(), columns


def _read(url: str) -> "Image.Image":
    from PIL import Image

    data = base64.b64decode(url.partition(",")[2])
    return Image.open(io.BytesIO(data)).convert("RGBA")


def _shortest(image: "Image.Image") -> bytes:
    """Return the shortest PNG of the same pixels: grey, of a palette, or in colour."""
    from PIL import Image

    kinds = [image]
    if image.getchannel("A").getextrema() == (255, 255):
        solid = image.convert("RGB")
        red, green, blue = (band.tobytes() for band in solid.split())
        kinds = [solid, solid.convert("P", palette=Image.Palette.ADAPTIVE, colors=256)]
        if red == green == blue:
            kinds.append(solid.split()[0])
        kinds = [
            kind for kind in kinds if kind.convert("RGB").tobytes() == solid.tobytes()
        ]
    written: list[bytes] = []
    for kind in kinds:
        target = io.BytesIO()
        kind.save(target, format="png", optimize=True)
        written.append(target.getvalue())
    return min(written, key=len)
