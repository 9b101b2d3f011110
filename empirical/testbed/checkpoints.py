"""States of interrupted runs: written whole or not at all, and of which arguments."""

import hashlib
import pickle
import time
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical.digest import code_digest, roots_of
from empirical.testbed.batches import Batches
from empirical.testbed.observers import Observer
from empirical.testbed.optimisers import Optimiser
from empirical.testbed.stack import Stack
from empirical.testbed.writing import save_tensors, whole


class UnreadableCheckpointWarning(UserWarning):
    """A checkpoint could not be read; training starts anew."""


class UnwrittenCheckpointWarning(UserWarning):
    """A checkpoint could not be written; training goes on."""


UNREADABLE = (
    RuntimeError,
    ValueError,
    LookupError,
    TypeError,
    EOFError,
    pickle.UnpicklingError,
    zipfile.BadZipFile,
)
"""What reading a file ends with that is no checkpoint."""


def fingerprint(
    described: object,
    tensors: Sequence[Tensor],
    generators: Sequence[torch.Generator] = (),
    *,
    module: str | None = None,
) -> str:
    """Return a digest of everything that a run was started with.

    Parameters
    ----------
    described : object
        Arguments whose ``repr`` tells them apart.
    tensors : sequence of Tensor
    generators : sequence of torch.Generator
    module : str, optional
        Name of a module whose code, with all that it imports, belongs to it.

    Examples
    --------
    >>> one = fingerprint("a", [torch.zeros(2)])
    >>> one == fingerprint("a", [torch.zeros(2)])
    True
    >>> one == fingerprint("a", [torch.ones(2)])
    False
    >>> one == fingerprint("a", [torch.ones(0)])
    False
    """
    digest = hashlib.sha256(repr(described).encode())
    if module is not None:
        digest.update(code_digest(module, roots_of(module)).encode())
    for tensor in tensors:
        digest.update(repr((tensor.dtype, tuple(tensor.shape))).encode())
        # Of bytes: NumPy lacks some of PyTorch's kinds of numbers.
        plain = tensor.detach().cpu().contiguous().flatten()
        if len(plain):
            digest.update(plain.view(torch.uint8).numpy().tobytes())
    for generator in generators:
        digest.update(generator.get_state().numpy().tobytes())
    return digest.hexdigest()


def told_of(
    stack: Stack,
    optimiser: Optimiser,
    batches: Batches,
    observers: Sequence[Observer],
    together: int | None,
) -> dict[str, str]:
    """Return what tells a training's arguments from others, as far as they say it."""
    looks = [_settings(each, each.told) for each in observers]
    # One of a class that does not say its arguments is told by its class.
    rule = repr(optimiser).partition(" object at ")[0]
    return {
        "stack": fingerprint((stack.learnt, len(stack.params)), [stack.rates]),
        "optimiser": fingerprint(rule, []),
        "batches": fingerprint(_settings(batches, ("examples", "batch", "whose")), []),
        "observers": fingerprint(looks, []),
        "together": fingerprint(together, []),
    }


def _settings(each: Batches | Observer, names: Sequence[str]) -> tuple[str, list[Any]]:
    """Return a class, and these settings of a value of it, where it has them."""
    found = [getattr(each, name, None) for name in names]
    return type(each).__name__, [np.asarray(setting).tolist() for setting in found]


def entries_of(state: Mapping[str, Any]) -> list[list[str]]:
    """Return the names in a run's state, and in what its parts have said of theirs."""
    whole = sorted(set(state) - {"fingerprint", "seconds"})
    parts = (state["stack"], state["batches"], state["task"], *state["observers"])
    return [whole, *(sorted(part) for part in parts)]


def spent(path: Path | None) -> float:
    """Return the seconds of training that led to an interrupted run's state.

    A run that goes on from there adds them to its own. Without a path, or where no state
    is, they are none.
    """
    if path is None:
        return 0.0
    try:
        # Mapped, for a state may have gigabytes, of which one number is wanted.
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        return float(state["seconds"])
    except (OSError, *UNREADABLE):
        return 0.0


def _check_sums(path: Path) -> None:
    """Check the sums that PyTorch writes beside what a file holds, and does not look at."""
    with path.open("rb") as stream:
        try:
            with zipfile.ZipFile(stream) as parts:
                damaged = parts.testzip()
        except OSError as error:
            raise ValueError(str(error)) from error
    if damaged is not None:
        raise ValueError(f"{damaged} is damaged")


class Checkpoint:
    """File of a run's state, from which an interrupted run goes on.

    Parameters
    ----------
    path : Path or str
        Not removed at the end of training: that is for whoever has written what came
        of it.
    of : str
        The `fingerprint` of what the run was started with.
    seconds : float
        Least time between two writings on the way; as many times longer as a writing
        takes seconds, so that gigabytes are not written all the time.

    Raises
    ------
    ValueError
        If `path` is a folder.
    """

    def __init__(self, path: Path | str, *, of: str, seconds: float = 30.0) -> None:
        self.path, self.of, self.seconds = Path(path), of, seconds
        if self.path.is_dir():
            raise ValueError(
                f"Checkpoint: `path` must be a file, but {self.path} is a folder"
            )
        self._written, self._took = time.monotonic(), 0.0
        self._begun = self._written
        self._told = False

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        since = time.monotonic() - self._written
        return since >= self.seconds * max(1.0, self._took)

    def write(self, state: Mapping[str, Any]) -> None:
        """Write a state; the first time that it can't be written, warn.

        Training is worth more than its checkpoint: the disk may have room again later.
        """
        begun = time.monotonic()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            own = {"fingerprint": self.of, "seconds": begun - self._begun}
            with whole(self.path) as partial:
                save_tensors({**state, **own}, partial)
        except OSError as error:
            if not self._told:
                self._told = True
                warnings.warn(
                    f"train: {self.path} can't be written ({error}); training goes on,"
                    " and would start anew, or from an earlier state, if interrupted",
                    UnwrittenCheckpointWarning,
                    stacklevel=3,
                )
        self._written = time.monotonic()
        self._took = self._written - begun

    def read(self, device: torch.device) -> dict[str, Any] | None:
        """Return the state, its tensors on a device; None where there is none.

        A file that is no checkpoint is set aside, ``.unreadable`` behind its name, with
        an `UnreadableCheckpointWarning`.

        Raises
        ------
        ValueError
            If it is of a run with another fingerprint.
        """
        try:
            _check_sums(self.path)
            state = torch.load(self.path, map_location=device, weights_only=True)
            found, before = state["fingerprint"], float(state["seconds"])
        except FileNotFoundError:
            return None
        except UNREADABLE as error:
            self.set_aside(error)
            return None
        if found != self.of:
            raise ValueError(
                f"train: `checkpoint` must be of the same arguments and code, but "
                f"{self.path} is of others. Remove it to start anew."
            )
        self._begun -= before
        return state

    def set_aside(self, reason: Exception) -> None:
        """Rename a file that holds no state of this run, and warn."""
        self._begun = time.monotonic()
        aside = self.path.with_name(f"{self.path.name}.unreadable")
        self.path.replace(aside)
        warnings.warn(
            f"train: {self.path} is no readable checkpoint ({reason}); training starts "
            f"anew, and the file is kept as {aside.name}",
            UnreadableCheckpointWarning,
            stacklevel=4,
        )


def checkpoint_of(
    path: Path | None,
    described: object,
    tensors: Sequence[Tensor],
    generators: Sequence[torch.Generator] = (),
    *,
    module: str,
) -> Checkpoint | None:
    """Return the checkpoint of a run with this `fingerprint`; without a path, None."""
    if path is None:
        return None
    return Checkpoint(
        path, of=fingerprint(described, tensors, generators, module=module)
    )
