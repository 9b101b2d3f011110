r"""Pictures: standardised images with names and origins, resized, placed, coloured.

Pixels are standardised as the networks see them: levels v of 0..255 become
:math:`(v/255 - m)/s`, with the mean m and scale s of their data set (`STANDARDS`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from empirical.checks import check_choice, check_counts, check_finite

STANDARDS: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "mnist": ((0.1307,), (0.3081,)),
    "fashion-mnist": ((0.1307,), (0.3081,)),
    "cifar10": ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
}
"""Mean and scale of each channel, of levels in [0, 1]; Fashion-MNIST takes MNIST's."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pictures:
    """Standardised images of one shape, with names and origins.

    Attributes
    ----------
    pixels : Tensor, shape (n, C, H, W), float64
    names : tuple of str
        One each, all different.
    origins : tuple of mappings
        One each, what a record says about it: for an example of a data set its source,
        split, index, label and the SHA-256 of its bytes before anything was done to it.
    data : str
        A key of `STANDARDS`: how levels became pixels.

    Raises
    ------
    ValueError
        If there are no pixels, some are not finite, or numbers disagree.
    """

    pixels: Tensor
    names: tuple[str, ...]
    origins: tuple[Mapping[str, Any], ...]
    data: str = "mnist"

    def __post_init__(self) -> None:
        checked(self.pixels, who="Pictures", name="pixels")
        _standard("Pictures", self.data)
        n = len(self.pixels)
        if not n == len(self.names) == len(set(self.names)) == len(self.origins):
            raise ValueError(
                f"Pictures: `names` and `origins` must be one for each of {n} images, "
                f"names different, but they are {self.names} and {len(self.origins)}"
            )

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width."""
        _, channels, height, width = self.pixels.shape
        return channels, height, width

    @property
    def black(self) -> Tensor:
        """Standardised value of level 0, the background of digits, shape (C, 1, 1)."""
        return level(0.0, data=self.data, channels=self.shape[0])

    def select(self, names: Sequence[str]) -> "Pictures":
        """Return the pictures of these names, in this order.

        Raises
        ------
        ValueError
            If there is none of that name.
        """
        absent = [name for name in names if name not in self.names]
        if absent:
            raise ValueError(
                f"Pictures: `names` must be among {', '.join(self.names)}, but "
                f"{len(absent)} of {len(names)} are not, e.g. {absent[0]!r}"
            )
        rows = [self.names.index(name) for name in names]
        return replace(
            self,
            pixels=self.pixels[rows],
            names=tuple(names),
            origins=tuple(self.origins[row] for row in rows),
        )

    def coloured(self, channels: int = 3) -> "Pictures":
        """Return grey pictures with their channel repeated."""
        if self.shape[0] != 1:
            raise ValueError(
                "Pictures.coloured: `pixels` must have one channel, but they have "
                f"{self.shape[0]}"
            )
        return replace(self, pixels=self.pixels.repeat(1, channels, 1, 1))

    def fitted(self, shape: tuple[int, int, int]) -> "Pictures":
        """Return the pictures resized, and coloured if grey, to (C, H, W)."""
        channels, height, width = shape
        sized = replace(self, pixels=resize(self.pixels, (height, width)))
        return sized if self.shape[0] == channels else sized.coloured(channels)

    def describe(self) -> list[dict[str, Any]]:
        """Return what a record says about each picture."""
        return [
            {"name": name, "shape": list(self.shape), **origin}
            for name, origin in zip(self.names, self.origins, strict=True)
        ]


def joined(*groups: Pictures) -> Pictures:
    """Return the pictures of several groups of one shape and standard as one."""
    if len({(group.shape, group.data) for group in groups}) != 1:
        raise ValueError(
            "joined: `groups` must share one shape and data set, but they have "
            f"{[(group.shape, group.data) for group in groups]}"
        )
    return Pictures(
        pixels=torch.cat([group.pixels for group in groups]),
        names=tuple(name for group in groups for name in group.names),
        origins=tuple(origin for group in groups for origin in group.origins),
        data=groups[0].data,
    )


def level(value: float, *, data: str = "mnist", channels: int | None = None) -> Tensor:
    """Return the standardised value of a level in [0, 1], shape (C, 1, 1).

    Examples
    --------
    >>> float(level(0.1307))
    0.0
    >>> level(1.0, data="cifar10").shape
    torch.Size([3, 1, 1])
    """
    mean, scale = _standard("level", data)
    count = len(mean) if channels is None else channels
    if count != len(mean) and len(mean) > 1:
        raise ValueError(
            f"level: `channels` must be {len(mean)} for {data}, but it is {count}"
        )
    mean, scale = mean * (count // len(mean)), scale * (count // len(scale))
    values = [(value - m) / s for m, s in zip(mean, scale, strict=True)]
    return torch.tensor(values, dtype=torch.float64).reshape(-1, 1, 1)


def standardised(images: npt.ArrayLike, *, data: str = "mnist") -> Tensor:
    """Turn levels 0..255 into pixels, shape (n, C, H, W), float64.

    Parameters
    ----------
    images : uint8 array, shape (n, H, W) or (n, H, W, C)
        As `empirical.data.load` returns them.
    data : str
        A key of `STANDARDS`.

    Examples
    --------
    >>> x = standardised(np.array([[[0, 255]]], dtype=np.uint8))
    >>> x.shape, [round(v, 4) for v in x.flatten().tolist()]
    (torch.Size([1, 1, 1, 2]), [-0.4242, 2.8215])
    """
    mean, scale = _standard("standardised", data)
    values = np.asarray(images)
    values = values[..., None] if values.ndim == 3 else values
    if values.ndim != 4 or not values.size or values.shape[-1] != len(mean):
        raise ValueError(
            f"standardised: `images` of {data} must have {len(mean)} channels and "
            f"shape (n, H, W[, C]), but they have {np.shape(images)}"
        )
    if values.dtype != np.uint8:
        raise ValueError(
            f"standardised: `images` must be levels, uint8, but they are {values.dtype}"
        )
    pixels = (values / 255.0 - np.asarray(mean)) / np.asarray(scale)
    return torch.from_numpy(np.ascontiguousarray(pixels.transpose(0, 3, 1, 2)))


def resize(images: Tensor, size: int | tuple[int, int]) -> Tensor:
    """Scale images (n, C, H, W) bilinearly, antialiased when they shrink.

    It commutes with affine changes of the levels, so that pixels may be standardised
    before or after. Images that have the size already are returned unchanged.

    Examples
    --------
    >>> resize(torch.ones(1, 1, 28, 28), 14).unique()
    tensor([1.])
    """
    edges = _edges("resize", size)
    checked(images, who="resize")
    if tuple(images.shape[-2:]) == edges:
        return images
    return functional.interpolate(
        images, size=edges, mode="bilinear", align_corners=False, antialias=True
    )


def place(
    images: Tensor, size: int | tuple[int, int], *, fill: float | Tensor
) -> Tensor:
    """Put images (n, C, H, W) in the middle of a canvas, or cut out their middle.

    Each edge for itself; of an odd difference the larger half is at the bottom and
    right.

    Parameters
    ----------
    images : Tensor
    size : int or pair of int
        Edges of the canvas.
    fill : float or Tensor, shape (C, 1, 1)
        The canvas.

    Examples
    --------
    >>> place(torch.ones(1, 1, 1, 1), (2, 3), fill=0.0)
    tensor([[[[0., 1., 0.],
              [0., 0., 0.]]]])
    >>> place(torch.arange(9.0).reshape(1, 1, 3, 3), 1, fill=0.0).item()
    4.0
    """
    height, width = _edges("place", size)
    checked(images, who="place")
    n, channels, rows, columns = images.shape
    canvas = images.new_empty((n, channels, height, width))
    level = torch.as_tensor(fill, dtype=images.dtype, device=images.device)
    check_finite("place", "fill", level)
    canvas[:] = level
    (to_y, from_y), (to_x, from_x) = _slices(rows, height), _slices(columns, width)
    canvas[..., to_y, to_x] = images[..., from_y, from_x]
    return canvas


def checked(images: Tensor, *, who: str, name: str = "images") -> Tensor:
    """Return `images`; refuse what is not (n, C, H, W), or empty or not finite."""
    if images.ndim != 4 or not images.numel() or not images.is_floating_point():
        raise ValueError(
            f"{who}: `{name}` must be floating point of shape (n, C, H, W) with at "
            f"least one pixel, but they are {images.dtype} of {tuple(images.shape)}"
        )
    check_finite(who, name, images)
    return images


def _standard(who: str, data: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    check_choice(who, "data", data, STANDARDS)
    return STANDARDS[data]


def _edges(who: str, size: int | tuple[int, int]) -> tuple[int, int]:
    height, width = size if isinstance(size, Sequence) else (size, size)
    for edge in (height, width):
        check_counts(who, size=edge)
    return height, width


def _slices(source: int, target: int) -> tuple[slice, slice]:
    """Where on an edge of `target` pixels those of `source` go, and which of them."""
    length = min(source, target)
    to, out = (target - length) // 2, (source - length) // 2
    return slice(to, to + length), slice(out, out + length)
