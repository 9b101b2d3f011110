"""States of interrupted runs: written whole or not at all, and of which arguments."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from empirical.batch import whole


def fingerprint(
    described: object, tensors: Sequence[Tensor], generator: torch.Generator | None
) -> str:
    """Return a digest of everything that a run was started with.

    Parameters
    ----------
    described : object
        Arguments whose ``repr`` tells them apart.
    tensors : sequence of Tensor
    generator : torch.Generator, optional

    Examples
    --------
    >>> one = fingerprint("a", [torch.zeros(2)], None)
    >>> one == fingerprint("a", [torch.zeros(2)], None)
    True
    >>> one == fingerprint("a", [torch.ones(2)], None)
    False
    """
    digest = hashlib.sha256(repr(described).encode())
    for tensor in tensors:
        digest.update(repr((tensor.dtype, tuple(tensor.shape))).encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    if generator is not None:
        digest.update(generator.get_state().numpy().tobytes())
    return digest.hexdigest()


def write(path: Path, state: Mapping[str, Any], *, of: str) -> None:
    """Write a state and the fingerprint of its run."""
    with whole(path) as partial:
        torch.save({**state, "fingerprint": of}, partial)


def read(path: Path, *, of: str, device: torch.device) -> dict[str, Any]:
    """Return a state, its tensors on a device.

    Raises
    ------
    ValueError
        If it is of a run with another fingerprint.
    """
    state: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
    if state["fingerprint"] != of:
        raise ValueError(
            f"train: `checkpoint` must be of the same arguments, but {path} is of "
            "others. Remove it to start anew."
        )
    return state
