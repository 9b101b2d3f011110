"""The measured side of exact statements on training: PyTorch's own layers and descent.

Nothing here knows a closed form. Everything is float64 and takes one seed.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import unfold

from verify.claims._descent import descend
from verify.compare import Array


def squared_error(outputs: Tensor, targets: Tensor, loss: str) -> Tensor:
    """Half the sum of the squared errors, or their mean: ``half_sum`` or ``mean``."""
    square = (outputs - targets).square()
    return 0.5 * square.sum() if loss == "half_sum" else square.mean()


def trained(layers: Tensor, image: Tensor, *, steps: int = 20) -> Array:
    """Return layers that copy an image of length one: a step leaves 0.1 of the error."""
    ((found,),) = descend(
        [layers],
        lambda: squared_error(layers @ image, image, "half_sum"),
        steps=(steps,),
        rate=0.9,
    )
    return found


def as_batch(image: npt.NDArray[Any]) -> Tensor:
    """Return an image (H, W, C) as the framework takes it, (1, C, H, W)."""
    return torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))[None]


def columns(image: npt.NDArray[Any], kernel: int) -> Tensor:
    """Return the patches of an image (H, W, C), (H W, C K K): channels first."""
    return unfold(as_batch(image).double(), kernel, padding=kernel // 2)[0].T
