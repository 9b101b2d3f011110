"""Tensors as the plain numbers of a record."""

import math
from typing import Any

from torch import Tensor


def plain(values: Tensor) -> Any:
    """Turn a tensor into nested lists; None for what is not a finite number.

    Examples
    --------
    >>> import torch
    >>> plain(torch.tensor([1.5, torch.nan]))
    [1.5, None]
    """
    return _without_nan(values.tolist())


def pixels(image: Tensor) -> list[Any]:
    """Turn an image (C, H, W) or (H, W) into rows of pixels, four digits each.

    Examples
    --------
    >>> import torch
    >>> pixels(torch.tensor([[1.23456789, 1e-36]], dtype=torch.float64))
    [[1.235, 1e-36]]
    """
    rows = image.reshape(-1, image.shape[-1]).tolist()
    return [
        [float(f"{v:.4g}") if math.isfinite(v) else None for v in row] for row in rows
    ]


def _without_nan(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_nan(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
