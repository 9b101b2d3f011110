"""Writing numbers: as JSON, in little room, and whole or not at all."""

import base64
import glob
import hashlib
import json
import math
import os
import threading
import time
import zlib
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

SHORT = 24
"""Numbers of an array that is written as such."""

DIGITS = 7
"""Significant digits of numbers that are read by people."""

ABANDONED = 3600.0
"""Seconds after which a file half written is taken for one that nobody writes on."""

DAMAGED = (
    ValueError,
    LookupError,
    ArithmeticError,
    TypeError,
    AttributeError,
    RecursionError,
)
"""What reading JSON raises that was cut, or is of another type or size."""


def pack(values: Array) -> Any:
    """Return an array as JSON: numbers if they are few, else compressed, exactly.

    Examples
    --------
    >>> pack(np.array([[1.5, np.nan]]))
    [[1.5, 'nan']]
    >>> unpack(pack(np.eye(9))).tolist() == np.eye(9).tolist()
    True
    """
    if values.size <= SHORT and 0 not in values.shape[:-1]:
        return plain(values.tolist())
    kind, content = _content(values)
    packed = base64.b85encode(zlib.compress(content, 9)).decode()
    return {"shape": list(values.shape), "kind": kind, "packed": packed}


def _content(values: Array) -> tuple[str, bytes]:
    """Return an array as bytes of the shortest kind that is exact."""
    words = [f"{value:.{DIGITS}g}" for value in values.ravel().tolist()]
    if np.array_equal(np.array(words, np.float64), values.ravel(), equal_nan=True):
        return "decimal", " ".join(words).encode()
    with np.errstate(over="ignore"):  # infinite, and so not exact
        single = values.astype("<f4")
    exact = np.array_equal(single.astype(np.float64), values, equal_nan=True)
    kept = single if exact else values.astype("<f8")
    # Bytes of a kind side by side: exponents and trailing zeros are alike.
    apart = np.frombuffer(kept.tobytes(), np.uint8).reshape(-1, kept.itemsize).T
    return ("single" if exact else "double"), apart.tobytes()


def unpack(packed: Any) -> Array:
    """Return the array that `pack` was given.

    Raises
    ------
    ValueError, LookupError, TypeError
        If it is none.
    """
    if not isinstance(packed, Mapping):
        return np.asarray(packed, dtype=np.float64)
    try:
        content = zlib.decompress(base64.b85decode(packed["packed"]))
    except zlib.error as error:
        raise ValueError(f"an array is damaged: {error}") from error
    if packed["kind"] == "decimal":
        values = np.array(content.split(), dtype=np.float64)
    else:
        size = {"single": 4, "double": 8}[packed["kind"]]
        apart = np.frombuffer(content, np.uint8).reshape(size, -1).T
        values = np.frombuffer(apart.tobytes(), f"<f{size}").astype(np.float64)
    return values.reshape(packed["shape"])


def rounded(values: npt.ArrayLike, digits: int = DIGITS) -> Array:
    """Return numbers of so many significant digits: a record has less to hold.

    Examples
    --------
    >>> rounded([np.pi, np.nan]).tolist(), float(rounded(1e-7 / 3.0, 4))
    ([3.141593, nan], 3.333e-08)
    """
    given = np.asarray(values, dtype=np.float64)
    words = [f"{value:.{digits}g}" for value in given.ravel().tolist()]
    return np.array(words, dtype=np.float64).reshape(given.shape)


def laid_out(value: Any, depth: int = 0) -> str:
    """Return JSON with a line for each entry, lists of numbers on one.

    Examples
    --------
    >>> laid_out({"b": [1, 2], "a": None})
    '{"a": null, "b": [1, 2]}'
    """
    flat = json.dumps(value, allow_nan=False, sort_keys=True)
    if len(flat) <= 80 or not value or not isinstance(value, Mapping | list):
        return flat
    inner, outer = " " * (depth + 1), " " * depth
    if isinstance(value, Mapping):
        parts = [
            f"{json.dumps(key)}: {laid_out(value[key], depth + 1)}"
            for key in sorted(value)
        ]
        return "{\n" + ",\n".join(inner + part for part in parts) + f"\n{outer}}}"
    if not any(isinstance(part, Mapping) for part in value):
        return flat
    parts = [laid_out(part, depth + 1) for part in value]
    return "[\n" + ",\n".join(inner + part for part in parts) + f"\n{outer}]"


def plain(value: Any) -> Any:
    """Return `value` as JSON can hold it: lists, text for what is not finite.

    Examples
    --------
    >>> plain({7: (np.int64(3), math.nan)})
    {'7': [3, 'nan']}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


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
    write_text(path, text + "\n")


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what JSON can hold with the SHA-256 of it, as `unsealed` compares it.

    Examples
    --------
    >>> unsealed(json.loads(json.dumps(sealed({"x": [1, 2.5]}))))
    {'x': [1, 2.5]}
    """
    return {**content, "digest": sha256(content)}


def unsealed(content: Any) -> dict[str, Any]:
    """Return what `sealed` was given.

    Raises
    ------
    ValueError, TypeError
        If it is no such thing, or was changed since.
    """
    body = dict(content)
    if body.pop("digest", None) != sha256(body):
        raise ValueError("its digest is not that of its content")
    return body


def sha256(content: Any) -> str:
    """Return the SHA-256 of what JSON can hold, in hexadecimal digits."""
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` atomically."""
    with whole(path) as partial, partial.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())


def save_tensors(content: Mapping[str, Any], path: Path) -> None:
    """Write what `torch.load` reads; raise OSError where that can't be done."""
    import torch

    try:
        torch.save(content, path)
    except RuntimeError as error:  # PyTorch's own where a disk is full
        raise OSError(f"{path} can't be written: {error}") from error


@contextmanager
def whole(path: Path) -> Generator[Path]:
    """Give a path to write to, which takes the place of `path` if nothing goes wrong.

    What writers of `path` left that were killed is removed after an hour (`ABANDONED`).

    Raises
    ------
    OSError
        If it can't be written; it names a file.
    """
    # In the same folder, so that the rename stays within one file system.
    writer = f"{os.getpid()}-{threading.get_ident()}"
    partial = path.with_name(f".{path.name}.{writer}.partial")
    _remove_left(path)
    try:
        yield partial
        partial.replace(path)
    except OSError as error:
        # Of a disk that is full it has none.
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise
    finally:
        partial.unlink(missing_ok=True)


def _remove_left(path: Path) -> None:
    """Remove what nobody has written to for long, as writers do that are no more."""
    for each in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        # Gone or in place by now, or somebody else's.
        with suppress(FileNotFoundError, PermissionError):
            if time.time() - each.stat().st_mtime > ABANDONED:
                each.unlink()
