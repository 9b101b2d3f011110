"""The unseen images that trained networks are shown, pixel by pixel (closed claims)."""

import numpy as np
import torch
from torch.nn import functional

from empirical import data
from empirical.identity_map.images import chosen
from empirical.identity_map.images.sources import channelled, mixture, patterns, unseen
from verify.claims._twins import Array, closed, sketch

KEY = "zhang2020identity"
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
    title=(
        "Test images: digits, half-and-half mixtures and patterns drawn pixel by pixel"
    ),
    statement=r"\tfrac12(x_a+x_b),\quad[r\in\text{disc}],\ [\lfloor y/c\rfloor\text{ odd}]",
    key=KEY,
    where="Section 3",
    cases=({"shape": [1, 14, 14]}, {"shape": [3, 9, 16]}, {"shape": [1, 5, 4]}),
    twin=_plain_unseen,
    measure=_found_unseen,
)


def _plain_mixed(*, share: float, wrong: bool) -> list[float]:
    """Mix two digits, put three into channels, and colour patterns.

    Wrong: Mixtures with the two shares exchanged.
    """
    a, b, c = (_digit(label) for label in (4, 9, 2))
    part = 1.0 - share if wrong else share
    mixed = part * a + (1.0 - part) * b
    coloured = [
        [(one[k] - _COLOUR[0][k]) / _COLOUR[1][k] for k in range(3)]
        for one in _patterns([3, 8, 7])
    ]
    return sketch(mixed, np.array([a, b, c]), *(np.array(one) for one in coloured))


def _found_mixed(*, share: float) -> list[float]:
    found = chosen((4, 9, 2), split="test")
    mixed = mixture(found, "4", "9", share).pixels
    drawn = patterns((3, 8, 7), generator=_own(), data="cifar10").pixels
    return sketch(mixed, channelled(found).pixels, *drawn)


MIXED = closed(
    id="id/Fig42-pictures",
    items=("Fig42", "ThreeChannels"),
    title="Mixtures, colour digits and coloured patterns are constructed as described",
    statement=r"\lambda x_a+(1-\lambda)x_b",
    key=KEY,
    where="Section 3 and Appendix O",
    cases=({"share": 0.3}, {"share": 1.0}),
    twin=_plain_mixed,
    measure=_found_mixed,
    uses=("id/Fig6-pictures",),
)
