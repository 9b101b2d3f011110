"""Records as files: names, JSON written whole or not at all."""

import dataclasses
import json
import math
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


def checked_name(name: str) -> str:
    """Return `name` if it can be a file's.

    Raises
    ------
    ValueError
        If it holds anything but letters, digits, ``-``, ``_`` and ``.``.

    Examples
    --------
    >>> checked_name("depth-5_a.1")
    'depth-5_a.1'
    """
    bare = name.replace("-", "").replace("_", "").replace(".", "")
    if not (bare.isascii() and bare.isalnum()) or name.startswith("."):
        raise ValueError(
            "Configuration: `name` must be letters, digits, '-', '_' and '.', but "
            f"it is {name!r}"
        )
    return name


def write_json(path: Path, content: object) -> None:
    """Write `content` to `path` atomically; what is not finite becomes text.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_json(Path(folder) / "a.json", {"x": [1.5, math.inf]})
    ...     json.loads((Path(folder) / "a.json").read_text())
    {'x': [1.5, 'inf']}
    """
    text = json.dumps(plain(content), allow_nan=False, indent=1, sort_keys=True)
    with whole(path) as partial, partial.open("w", encoding="utf-8") as stream:
        stream.write(text + "\n")
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def whole(path: Path) -> Generator[Path]:
    """Give a path to write to, which takes the place of `path` if nothing goes wrong."""
    # In the same folder, so that the rename stays within one file system.
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def identity(configuration: Any, *, device: str, **more: Any) -> dict[str, Any]:
    """Return what makes two runs the same: a data class's entries, and `more`."""
    # Random numbers differ between kinds of device only.
    kind = device.split(":")[0]
    return plain({**dataclasses.asdict(configuration), **more, "device": kind})


def numbers(values: npt.ArrayLike, *, rounded: bool = False) -> Any:
    """Return nested lists, None for what is not finite; rounded: of seven digits.

    Examples
    --------
    >>> numbers([[1.0, np.nan]]), numbers(np.pi, rounded=True)
    ([[1.0, None]], 3.141593)
    """

    def kept(value: Any) -> Any:
        if isinstance(value, list):
            return [kept(part) for part in value]
        if not math.isfinite(value):
            return None
        return float(f"{value:.7g}") if rounded else value

    return kept(np.asarray(values, dtype=np.float64).tolist())


def plain(value: Any) -> Any:
    """Return `value` as JSON can hold it: lists, text for what is not finite."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
