"""The unseen images that trained networks are shown, pixel by pixel (closed claims)."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from empirical import data
from empirical.identity_map.images import chosen, own
from empirical.identity_map.images.sources import channelled, mixture, patterns, unseen
from verify.claim import grid
from verify.claims._twins import SUMS, Array, closed, sketch

_MEAN, _SCALE = 0.1307, 0.3081
_COLOUR = ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))


def _own() -> torch.Generator:
    return torch.Generator().manual_seed(38)


def _patterns(shape: list[int], *, wrong: bool = False) -> list[Array]:
    """Draw each pattern's levels pixel by pixel."""
    channels, height, width = shape
    short = min(height, width)
    cell = max(1, short // 7)
    noise = torch.rand(channels, height, width, generator=_own(), dtype=torch.float64)
    radius = short / (2.0 if wrong else 4.0)
    made: list[Array] = [np.full(shape, 0.5)]
    for kind in range(4):
        levels = np.zeros((height, width))
        for row in range(height):
            for column in range(width):
                down, along = row - (height - 1) / 2, column - (width - 1) / 2
                levels[row, column] = (
                    row // cell % 2,
                    column // cell % 2,
                    (row // cell + column // cell) % 2,
                    down**2 + along**2 <= radius**2,
                )[kind]
        made.append(np.broadcast_to(levels, shape))
    return [*made, noise.numpy()]


def _grey(levels: Array) -> Array:
    return (levels - _MEAN) / _SCALE


def _digit(label: int) -> Array:
    found = data.load("mnist", "test", cached=False)
    at = next(k for k, own in enumerate(found.labels) if own == label)
    return _grey(found.images[at] / 255.0)


def _plain_unseen(*, shape: list[int], wrong: bool) -> list[float]:
    """Show ten digits, three mixtures of two by halves, and six patterns.

    Wrong: Circles of twice the radius.
    """
    digits = [_digit(label) for label in range(10)]
    mixed = [(digits[a] + digits[b]) / 2.0 for a, b in ((0, 1), (2, 7), (3, 8))]
    x = torch.from_numpy(np.array([*digits, *mixed]))[:, None]
    small = functional.interpolate(
        x, size=(shape[1], shape[2]), mode="bilinear", antialias=True
    ).repeat(1, shape[0], 1, 1)
    drawn = [_grey(levels) for levels in _patterns(shape, wrong=wrong)]
    return sketch(*small, *drawn)


def _found_unseen(*, shape: list[int]) -> list[float]:
    found = unseen((shape[0], shape[1], shape[2]), generator=_own())
    return sketch(*found.pixels)


UNSEEN = closed(
    id="id/Fig6-pictures",
    items=("Fig6", "Probe"),
    title="Test images: digits, half-and-half mixtures and patterns drawn pixel by pixel",
    statement=r"\tfrac12(x_a+x_b),\quad[r\in\text{disc}],\ [\lfloor y/c\rfloor\text{ odd}]",
    where="Appendix A and Figure 2",
    cases=({"shape": [1, 14, 14]}, {"shape": [3, 9, 16]}, {"shape": [1, 5, 4]}),
    compare=SUMS,
    twin=_plain_unseen,
    measure=_found_unseen,
)


def _plain_mixed(*, share: float, file: str = "", wrong: bool) -> list[float]:
    """Mix two digits, put three into channels, and colour patterns; or read a file.

    Wrong: Mixtures with the two shares exchanged.
    """
    if file:
        return sketch(*(_standard(each) for each in _seen(file)))
    a, b, c = (_digit(label) for label in (4, 9, 2))
    part = 1.0 - share if wrong else share
    mixed = part * a + (1.0 - part) * b
    coloured = [
        _standard(np.moveaxis(255.0 * one, 0, -1)) for one in _patterns([3, 8, 7])
    ]
    # Of pictures of clothes as of digits.
    return sketch(mixed, np.array([a, b, c]), *coloured, _grey(_patterns([1, 8, 7])[2]))


def _standard(levels: Array) -> Array:
    """Return the channels of levels (H, W) or (H, W, 3), standardised."""
    if levels.ndim == 2:
        return _grey(levels / 255.0)[None]
    parts = zip(np.moveaxis(levels, -1, 0), *_COLOUR, strict=True)
    return np.array([(part / 255.0 - mean) / scale for part, mean, scale in parts])


def _found_mixed(*, share: float, file: str = "") -> list[float]:
    if file:
        return sketch(*_read(file))
    found = chosen((4, 9, 2), split="test")
    mixed = mixture(found, "4", "9", share).pixels
    drawn = patterns((3, 8, 7), generator=_own(), data="cifar10").pixels
    clothes = patterns((1, 8, 7), generator=_own(), data="fashion-mnist").pixels[2]
    return sketch(mixed, channelled(found).pixels, *drawn, clothes)


def _levels(channels: int) -> npt.NDArray[np.uint8]:
    """Return the levels of a picture of 3 x 4, and how opaque it is where that is asked."""
    drawn = np.random.default_rng(channels).integers(0, 256, (3, 4, channels))
    # A fifth of a level and four of white: no half that could be rounded either way.
    drawn[..., 3:] = np.array([0, 51, 255, 51])[:, None]
    return drawn.astype(np.uint8)


def _seen(file: str) -> list[Array]:
    """Return the levels that are seen: those of transparent parts on white."""
    if file == "ppm":
        return [_levels(3).astype(float), _levels(1)[..., 0].astype(float)]
    if file == "words.png":
        return [np.round(_words() / 257.0)]
    levels = _levels(4).astype(float)
    cover = levels[..., 3:] / 255.0
    return [np.round(cover * levels[..., :3] + (1.0 - cover) * 255.0)]


def _words() -> npt.NDArray[np.uint16]:
    """Return a grey picture of 16 bits; white is 257 times that of eight."""
    return np.random.default_rng(5).integers(0, 65536, (3, 4), dtype=np.uint16)


def _read(file: str) -> list[torch.Tensor]:
    """Write pictures in colour and grey, as bytes, or one with transparent parts."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"own.{file}"
        if file == "words.png":
            from PIL import Image

            Image.fromarray(_words()).save(path)
            return [own(path).pixels[0]]
        if file == "png":
            from matplotlib.image import imsave

            imsave(path, _levels(4))
            return [own(path).pixels[0]]
        found: list[torch.Tensor] = []
        for kind, channels in ((b"P6", 3), (b"P5", 1)):
            path.write_bytes(kind + b" 4 3 255\n" + _levels(channels).tobytes())
            found.append(own(path).pixels[0])
        return found


MIXED = closed(
    id="id/Fig42-pictures",
    items=("Fig42", "ThreeChannels"),
    title="Mixtures, colour digits and coloured patterns are constructed as described",
    statement=r"\lambda x_a+(1-\lambda)x_b",
    where="Appendices A and O",
    cases=(*grid(share=(0.3, 1.0)), *grid(share=1.0, file=("ppm", "png", "words.png"))),
    compare=SUMS,
    twin=_plain_mixed,
    measure=_found_mixed,
    uses=("id/Fig6-pictures",),
)
