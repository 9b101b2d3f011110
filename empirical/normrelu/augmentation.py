"""Images moved and mirrored at random, each network by a stream of its own."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from empirical.testbed.stack import Stack


class Augmentation:
    """Moves and mirrors the images of an update.

    What one network sees does not depend on the others, nor on how many have left.

    Parameters
    ----------
    kinds : collection of str
        Of `recipes.AUGMENTATIONS`.
    generators : sequence of torch.Generator
        On the CPU, one a replicate; those that are given the same one see the same.
    """

    def __init__(
        self, kinds: Sequence[str], generators: Sequence[torch.Generator]
    ) -> None:
        self.kinds = frozenset(kinds)
        self.generators = list(dict.fromkeys(generators))
        self.whose = [self.generators.index(g) for g in generators]

    def __call__(self, images: Tensor, stack: Stack) -> Tensor:
        """Return images, shape (replicates, batch, channels, height, width), as shown."""
        batch, sides = images.shape[1], images.shape[-2:]
        border = min(sides) // 8 if "crop" in self.kinds else 0
        drawn = torch.stack([self._draw(g, batch, border) for g in self.generators])
        mine = drawn[self.whose].to(images.device)[stack.rows]
        down, across = (
            torch.arange(side, device=images.device) + mine[..., i, None]
            for i, side in enumerate(sides)
        )
        across = torch.where(mine[..., 2, None] > 0, across.flip(-1), across)
        wide = functional.pad(images, [border] * 4).movedim(2, -1)
        row = torch.arange(len(images), device=images.device)[:, None, None, None]
        image = torch.arange(batch, device=images.device)[:, None, None]
        seen = wide[row, image, down[..., :, None], across[..., None, :]]
        return seen.movedim(-1, 2)

    def _draw(self, generator: torch.Generator, batch: int, border: int) -> Tensor:
        """Return shifts down and across, and whether to mirror: int64, (batch, 3)."""
        shifts = torch.randint(2 * border + 1, (batch, 2), generator=generator)
        mirrored = torch.randint(2, (batch, 1), generator=generator)
        return torch.cat([shifts, mirrored * ("flip" in self.kinds)], dim=1)
