"""Where images come from: data sets, mixtures of two, patterns drawn here.

References
----------
Zhang, Bengio, Hardt, Mozer, Singer 2020, section 3. The paper names its training digit
only as a '7'; `chosen` fixes which one and reports its index and digest.
"""

import hashlib
from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch

from empirical.checks import check_whole
from empirical.data import Dataset, load
from empirical.identity_map.images.pictures import Pictures, joined, level, standardised

MIXED = ((0, 1), (2, 7), (3, 8))
"""Pairs of digits that `unseen` mixes."""


def chosen(
    labels: Sequence[int] = (7,),
    *,
    data: str | Dataset = "mnist",
    split: Literal["train", "test"] = "train",
    skip: int = 0,
) -> Pictures:
    """Return one example of each label, the paper's '7' by default.

    Parameters
    ----------
    labels : sequence of int
        One picture each; a label given twice takes two examples.
    data : str or Dataset
        What to look in. A name is loaded, though not from the user's cache: it means the
        same picture on every machine.
    split : {"train", "test"}
        Of a data set given by name.
    skip : int
        How many examples of each label to pass over, in the order of the data set.

    Raises
    ------
    ValueError
        If there are not so many examples of a label.

    Examples
    --------
    >>> seven = chosen((7,))
    >>> seven.shape, seven.names, seven.origins[0]["index"]
    ((1, 28, 28), ('7',), 7)
    """
    check_whole("chosen", skip=skip)
    if not len(labels):
        raise ValueError("chosen: `labels` must name at least one, but there is none")
    if isinstance(data, str):
        data = load(data, split, cached=False)
    rows: list[int] = []
    for position, label in enumerate(labels):
        found = np.flatnonzero(data.labels == label)
        place_ = skip + list(labels[:position]).count(label)
        if not 0 <= place_ < len(found):
            raise ValueError(
                f"chosen: `labels` must have more than {place_} examples after "
                f"`skip` = {skip}, but label {label} of {data.name} has {len(found)}"
            )
        rows.append(int(found[place_]))
    names = [str(label) for label in labels]
    if len(set(names)) < len(names):
        names = [f"{name} #{row}" for name, row in zip(names, rows, strict=True)]
    return Pictures(
        pixels=standardised(data.images[rows], data=data.name),
        names=tuple(names),
        origins=tuple(
            {
                "data": data.name,
                "source": data.source,
                "split": data.split,
                "index": row,
                "label": int(data.labels[row]),
                "sha256": hashlib.sha256(data.images[row].tobytes()).hexdigest(),
            }
            for row in rows
        ),
        data=data.name,
    )


def mixture(
    pictures: Pictures, first: str, second: str, share: float = 0.5
) -> Pictures:
    """Return ``share * first + (1 - share) * second``, pixel by pixel.

    Examples
    --------
    >>> both = mixture(chosen((1, 7)), "1", "7")
    >>> both.names
    ('1+7',)
    """
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"mixture: `share` must lie in [0, 1], but it is {share}")
    pair = pictures.select([first, second])
    pixels = share * pair.pixels[:1] + (1.0 - share) * pair.pixels[1:]
    origin = {"share": share, "of": [dict(origin) for origin in pair.origins]}
    return Pictures(
        pixels=pixels,
        names=(f"{first}+{second}",),
        origins=(origin,),
        data=pictures.data,
    )


def channelled(pictures: Pictures) -> Pictures:
    """Return one colour picture whose channels are these grey pictures.

    Three different digits make a colour image whose patches are not confined to the
    few dimensions that equal channels span.
    """
    if pictures.shape[0] != 1:
        raise ValueError(
            "channelled: `pictures` must be grey, but they have "
            f"{pictures.shape[0]} channels"
        )
    return Pictures(
        pixels=pictures.pixels[:, 0][None],
        names=("/".join(pictures.names),),
        origins=({"channels": [dict(origin) for origin in pictures.origins]},),
        data=pictures.data,
    )


def patterns(
    shape: tuple[int, int, int],
    *,
    generator: torch.Generator,
    data: str = "mnist",
) -> Pictures:
    """Return generated images: nothing that a data set holds.

    Levels are 0 and 1, cells a seventh of the shorter edge; "constant" is of level 1/2,
    "disc" has a quarter of the shorter edge as radius, "random" independent uniform
    levels in each pixel and channel.

    Parameters
    ----------
    shape : tuple of int
        Channels, height, width.
    generator : torch.Generator
        For "random".
    data : str
        A key of `STANDARDS`: how levels become pixels.

    Examples
    --------
    >>> from empirical.randomness import torch_generator
    >>> drawn = patterns((1, 14, 14), generator=torch_generator(7))
    >>> drawn.pixels.shape
    torch.Size([6, 1, 14, 14])
    """
    if len(shape) != 3 or min(shape) < 1:
        raise ValueError(
            "patterns: `shape` must be channels, height and width, each at least 1, "
            f"but it is {shape}"
        )
    channels, height, width = shape
    y = torch.arange(height, dtype=torch.float64)[:, None]
    x = torch.arange(width, dtype=torch.float64)[None, :]
    cell, radius = max(1, min(height, width) // 7), min(height, width) / 4
    noise = torch.rand(shape, generator=generator, dtype=torch.float64)
    off = (y - (height - 1) / 2) ** 2 + (x - (width - 1) / 2) ** 2
    drawn = {
        "constant": torch.full((height, width), 0.5, dtype=torch.float64),
        "rows": (y // cell + 0 * x) % 2,
        "columns": (0 * y + x // cell) % 2,
        "checkerboard": (y // cell + x // cell) % 2,
        "disc": (off <= radius**2).double(),
        "random": noise,
    }
    black, white = (level(v, data=data, channels=channels) for v in (0.0, 1.0))
    levels = torch.stack([each.expand(shape) for each in drawn.values()])
    return Pictures(
        pixels=black + (white - black) * levels,
        names=tuple(drawn),
        origins=tuple({"pattern": name} for name in drawn),
        data=data,
    )


def unseen(shape: tuple[int, int, int], *, generator: torch.Generator) -> Pictures:
    """Return the images that a trained network is shown: digits, mixtures, patterns.

    One MNIST test digit of each class, the same on every machine, the pairs `MIXED`, and
    `patterns`.

    Parameters
    ----------
    shape : tuple of int
        Channels, height, width; digits are resized, and repeated over channels.
    generator : torch.Generator
        For the random pattern.

    Examples
    --------
    >>> from empirical.randomness import torch_generator
    >>> pictures = unseen((1, 14, 14), generator=torch_generator(7))
    >>> len(pictures), pictures.names[9:12]
    (19, ('9', '0+1', '2+7'))
    """
    digits = chosen(tuple(range(10)), split="test")
    mixed = [mixture(digits, str(a), str(b)) for a, b in MIXED]
    fitted = joined(digits, *mixed).fitted(shape)
    return joined(fitted, patterns(shape, generator=generator, data=fitted.data))
