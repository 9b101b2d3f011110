"""States of interrupted runs: written whole or not at all, and of which arguments."""

import hashlib
import pickle
import time
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from empirical import devices
from empirical.digest import PACKAGES, code_digest
from empirical.randomness import Drawing
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


_PLAIN = (int, float, complex, str, bytes, torch.dtype, torch.device)
"""Told apart by ``repr``."""


def fingerprint(described: object, tensors: Sequence[Tensor] = ()) -> str:
    """Return a digest of what a run was started with.

    Parameters
    ----------
    described : object
        Numbers, texts, tensors, modules, dataclasses, and lists and mappings of them, by
        value; functions and other objects by their names and classes.
    tensors : sequence of Tensor

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
    digest = hashlib.sha256()
    for part in _spelt((described, tensors)):
        digest.update(part)
    return digest.hexdigest()


def told_of(
    task: Drawing,
    stack: Stack,
    optimiser: Optimiser,
    batches: Batches,
    observers: Sequence[Observer],
    together: int | None,
) -> dict[str, str]:
    """Return what tells a training from others, by what can differ.

    The start is told by its values, the others by their `told`, and by the code of this
    project that they run.
    """
    start = [*stack.params, *stack.buffers, stack.rates]
    given: dict[str, object] = {
        "task": task,
        "stack": (stack.learnt, stack.rates.device.type, start),
        "optimiser": optimiser,
        "batches": batches,
        "observers": observers,
        "together": together,
    }
    parts = (task, optimiser, batches, *observers)
    held = [
        value
        for each in parts
        for value in (type(each), *getattr(each, "__dict__", {}).values())
    ]
    modules = {str(getattr(each, "__module__", None)) for each in held}
    own = sorted(name for name in modules if name.partition(".")[0] in PACKAGES)
    told = {name: fingerprint(each) for name, each in given.items()}
    return told | {"code": code_digest("empirical.testbed.loop", others=tuple(own))}


def _spelt(value: object) -> Iterator[bytes]:
    """Yield what tells a value from others, the same in every process; see `fingerprint`.

    No addresses, as ``repr`` has them, and nothing that training changes.
    """
    yield f"\0{type(value).__qualname__}\0".encode()
    if isinstance(value, Tensor):
        # Of bytes: NumPy lacks some of PyTorch's kinds of numbers.
        plain = value.detach().cpu().contiguous().flatten()
        yield repr((value.dtype, tuple(value.shape))).encode()
        yield plain.view(torch.uint8).numpy().tobytes() if len(plain) else b""
        return
    parts: list[object] = []
    if isinstance(value, Drawing | Observer):
        parts = [getattr(value, name, None) for name in value.told]
        parts += [g.initial_seed() for g in getattr(value, "generators", ())]
    elif isinstance(value, nn.Module):
        for name, part in value.named_modules():
            public = {k: v for k, v in vars(part).items() if not k.startswith("_")}
            parts += [name, type(part), public]
        # Those of a loss: its weights.
        parts += [*value.buffers()]
    elif isinstance(value, np.ndarray | np.generic):
        yield repr((value.dtype, value.shape)).encode()
        yield value.tobytes()
    elif isinstance(value, partial):
        parts = [value.func, value.args, value.keywords]
    elif is_dataclass(value) and not isinstance(value, type):
        parts = [getattr(value, each.name) for each in fields(value)]
    elif isinstance(value, Mapping):
        parts = [*cast("Mapping[object, object]", value).items()]
    elif isinstance(value, list | tuple):
        parts = [*cast("Sequence[object]", value)]
    elif isinstance(value, frozenset):
        parts = [*sorted(map(repr, cast("frozenset[object]", value)))]
    elif value is None or isinstance(value, _PLAIN):
        yield repr(value).encode()
    else:
        # A function or class.
        yield str(getattr(value, "__qualname__", "")).encode()
    yield str(len(parts)).encode()
    for part in parts:
        yield from _spelt(part)


def entries_of(state: Mapping[str, Any]) -> list[list[str]]:
    """Return the names in a run's state, and in what its parts have said of theirs."""
    whole = sorted(set(state) - {"seconds"})
    parts = (state["stack"], state["batches"], state["task"], *state["observers"])
    return [whole, *(sorted(part) for part in parts)]


def spent(path: Path | None) -> float:
    """Return the seconds of training that led to an interrupted run's state.

    A run that goes on from there adds them to its own, see `Stopwatch`. Without a path,
    or where no state is, they are none.
    """
    if path is None:
        return 0.0
    try:
        # Mapped, for a state may have gigabytes, of which one number is wanted.
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        return float(state["seconds"])
    except (OSError, *UNREADABLE):
        return 0.0


class Stopwatch:
    """Seconds of a run, those included of calls before that its states tell of.

    Parameters
    ----------
    device : str
        Waited for before a time is taken.
    states : Path, optional
        Where states of the run may lie, see `spent`.
    """

    def __init__(self, device: str, *states: Path | None) -> None:
        self._device = device
        self._since = time.perf_counter() - sum(map(spent, states))

    def lap(self) -> float:
        """Return the seconds since the last lap, or since the start."""
        devices.synchronise(self._device)
        before, self._since = self._since, time.perf_counter()
        return self._since - before


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
        By what else it is compared than by what `loop.train` is given, a `fingerprint`.
    seconds : float
        Least time between two writings on the way; as many times longer as a writing
        takes seconds, so that gigabytes are not written all the time.

    Raises
    ------
    ValueError
        If `path` is a folder.
    """

    def __init__(
        self, path: Path | str, *, of: str = "", seconds: float = 30.0
    ) -> None:
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
            taken = {"seconds": begun - self._begun}
            with whole(self.path) as place:
                save_tensors({**state, **taken}, place)
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
        """
        try:
            _check_sums(self.path)
            state = torch.load(self.path, map_location=device, weights_only=True)
            before = float(state["seconds"])
        except FileNotFoundError:
            return None
        except UNREADABLE as error:
            self.set_aside(error)
            return None
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
