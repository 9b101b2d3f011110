"""The record of a run: what was trained, with what, and what came out; nothing else.

A `RunRecord` holds a `Draw` for each replicate. It is written and read here alone: what
a record is worth is decided by what it says, and what cannot be read is absent.

::

    record = RunRecord.read(Path("results/quick/runs/bn-decay.json"))
    record.where(scale=1.0).series("rho")        # (draws, epochs)
    record.draws[0].status

On disk it is JSON of at most a megabyte, longer arrays compressed, exactly, with a
digest of all of it: a record that was changed since it was written is none.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from empirical.testbed.writing import (
    DAMAGED,
    Array,
    laid_out,
    pack,
    plain,
    sealed,
    sha256,
    unpack,
    unsealed,
    write_text,
)

LIMIT = 1_000_000
"""Bytes of a record at most."""

IDENTITY = ("configuration", "device", "schema", "data")
"""Entries in which records of equal runs agree."""

RECORD = "run-2"
"""Type of record, and version of its layout."""


class Missing(ValueError):
    """A record lacks what it was asked for, or is not there.

    Parameters
    ----------
    reason : str
        What is missing, and what there is.
    command : str, optional
        The command line that makes it, with which the message ends.
    """

    def __init__(self, reason: str, command: str = "") -> None:
        self.reason, self.command = reason, command
        made = f"; `{command}` makes what is missing" if command else ""
        super().__init__(reason + made)


@dataclass(frozen=True, eq=False, kw_only=True)
class Draw:
    """Results of one replicate.

    Parameters
    ----------
    keys : mapping
        What tells replicates of a run apart, its seed among them: numbers, text, lists.
    status : str
        How its training ended, in the words of its paper.
    facts : mapping
        Other results that JSON can hold.
    arrays : mapping
        Numbers by name; NaN where one is undefined. Parts of a name are separated by
        ``/``.

    Examples
    --------
    >>> draw = Draw(keys={"seed": 7}, arrays={"loss": [1.0, 0.5]})
    >>> draw.seed, draw.series("loss").tolist(), draw.status
    (7, [1.0, 0.5], 'finished')
    """

    keys: Mapping[str, Any]
    status: str = "finished"
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict[str, Array])

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", plain(self.keys))
        object.__setattr__(self, "facts", plain(self.facts))
        floats = {k: np.asarray(v, dtype=np.float64) for k, v in self.arrays.items()}
        object.__setattr__(self, "arrays", floats)

    @property
    def seed(self) -> int:
        """Number that its random numbers come from."""
        return int(self.key("seed"))

    def key(self, name: str) -> Any:
        """Return an entry of the key.

        Raises
        ------
        Missing
            If there is none of that name; the message says which there are.
        """
        return _entry("key", self.keys, name)

    def fact(self, name: str) -> Any:
        """Return a fact, or a part of one, as ``best/step``; raises as `key`."""
        return _entry("fact", self.facts, name)

    def series(self, name: str) -> Array:
        """Return an array; raises as `key`."""
        return _array(self.arrays, name)


class Draws(tuple[Draw, ...]):
    """Draws in order, and what they say together."""

    __slots__ = ()

    def where(self, **key: Any) -> "Draws":
        """Return the draws whose key has these entries.

        Raises
        ------
        Missing
            If a draw's key has no such entry.
        """
        wanted = plain(key)
        return Draws(d for d in self if all(d.key(k) == wanted[k] for k in wanted))

    def ended(self, *status: str) -> "Draws":
        """Return the draws whose training ended in one of these ways."""
        return Draws(draw for draw in self if draw.status in status)

    def having(self, series: str) -> "Draws":
        """Return the draws that have such a series."""
        return Draws(draw for draw in self if series in draw.arrays)

    def series(self, name: str) -> Array:
        """Return an array of every draw, draws along the first axis.

        Raises
        ------
        Missing
            If a draw has none of that name, or they differ in shape.
        """
        each = [draw.series(name) for draw in self]
        shapes = {one.shape for one in each}
        if len(shapes) > 1:
            raise Missing(f"the series {name!r} differs in shape: {sorted(shapes)}")
        return np.stack(each) if each else np.zeros(0)

    def fact(self, name: str) -> list[Any]:
        """Return a fact of every draw; raises as `series`."""
        return [draw.fact(name) for draw in self]

    def key(self, name: str) -> list[Any]:
        """Return an entry of the key of every draw; raises as `series`."""
        return [draw.key(name) for draw in self]

    @property
    def status(self) -> list[str]:
        """How each ended."""
        return [draw.status for draw in self]


@dataclass(frozen=True, eq=False, kw_only=True)
class RunRecord:
    """Results of a run, and the configuration, code and data behind them.

    Parameters
    ----------
    configuration : mapping
        Every entry of the configuration, its ``name`` among them.
    schema : int
        Version of what the paper records.
    device : str
        Kind, ``cpu`` or ``cuda``: random numbers differ between kinds only.
    code : str
        Digest of the code that made it, see `empirical.digest`.
    data : str, optional
        Digest of what was trained on, see `digest`.
    environment : mapping
        Machine and versions.
    seconds : mapping
        By part of the work.
    facts : mapping
        Results that belong to no replicate, JSON.
    arrays : mapping
        Numbers that belong to no replicate, as `Draw.arrays`.
    draws : Draws

    Examples
    --------
    >>> own = identity({"name": "a", "depth": 2}, device="cpu", schema=1)
    >>> record = RunRecord(
    ...     **own,
    ...     code="0123",
    ...     draws=Draws(Draw(keys={"seed": s}) for s in (0, 1)),
    ... )
    >>> record.stands_for(own, code="0123"), record.entry("depth")
    (True, 2)
    >>> [draw.seed for draw in record.where(seed=1)]
    [1]
    """

    configuration: Mapping[str, Any]
    schema: int
    device: str
    code: str
    data: str | None = None
    environment: Mapping[str, Any] = field(default_factory=dict[str, Any])
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict[str, Array])
    draws: Draws = field(default_factory=Draws)

    def __post_init__(self) -> None:
        for name in ("configuration", "environment", "seconds", "facts"):
            object.__setattr__(self, name, plain(getattr(self, name)))
        floats = {k: np.asarray(v, dtype=np.float64) for k, v in self.arrays.items()}
        object.__setattr__(self, "arrays", floats)
        object.__setattr__(self, "draws", Draws(self.draws))
        object.__setattr__(self, "device", kind_of(self.device))

    @property
    def name(self) -> str:
        """Name of the configuration, and of the file without its ending."""
        return str(self.configuration["name"])

    def stands_for(
        self, identity: Mapping[str, Any], *, code: str | None = None
    ) -> bool:
        """Whether this is a record of that, with every network of its seeds, each once.

        Parameters
        ----------
        identity : mapping
            What `identity` returns; data that are not known are not compared.
        code : str, optional
            Not compared where absent.
        """
        known = {name: entry for name, entry in identity.items() if entry is not None}
        same = all(getattr(self, name) == entry for name, entry in known.items())
        return same and code in (None, self.code) and self._is_whole()

    def _is_whole(self) -> bool:
        keys = [json.dumps(draw.keys, sort_keys=True) for draw in self.draws]
        seeds = self.configuration.get("seeds")
        all_there = seeds is None or {*seeds} == {
            draw.keys.get("seed") for draw in self.draws
        }
        return all_there and len(set(keys)) == len(keys)

    def entry(self, name: str) -> Any:
        """Return an entry of the configuration, as ``network/depth``; raises as `fact`."""
        return _entry("entry", self.configuration, name)

    def where(self, **key: Any) -> Draws:
        """Return the draws whose key has these entries; see `Draws.where`."""
        return self.draws.where(**key)

    def fact(self, name: str) -> Any:
        """Return a fact; raises as `Draw.fact`."""
        return _entry("fact", self.facts, name)

    def series(self, name: str) -> Array:
        """Return an array that belongs to no replicate; raises as `Draw.series`."""
        return _array(self.arrays, name)

    def text(self) -> str:
        """Return the record as it is written."""
        parts = {each.name: getattr(self, each.name) for each in fields(self)}
        parts["arrays"] = _packed(self.arrays)
        parts["draws"] = [
            {**vars(draw), "arrays": _packed(draw.arrays)} for draw in self.draws
        ]
        return laid_out(sealed({"record": RECORD, **parts})) + "\n"

    def write(self, path: Path) -> None:
        """Write the record, whole or not at all.

        Raises
        ------
        ValueError
            If it would be larger than `LIMIT`; the message names what takes most.
        OSError
            If it can't be written.
        """
        text = self.text()
        if len(text) > LIMIT:
            raise ValueError(
                f"RunRecord.write: {path.name} would have {len(text):,} bytes, more than"
                f" {LIMIT:,}; {self._largest()}. Record less, or fewer replicates."
            )
        write_text(path, text)

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Read a record; None where there is none, or none that can be read."""
        try:
            if not path.is_file():
                return None  # a pipe would be waited for
            content = json.loads(path.read_text(encoding="utf-8"))
            return cls.of(content)
        except (OSError, *DAMAGED):
            return None

    @classmethod
    def of(cls, content: Any) -> Self:
        """Return the record that `text` has written, as JSON reads it.

        Raises
        ------
        ValueError, KeyError, TypeError
            If it is none, or was changed since.
        """
        content = unsealed(content)
        if content["record"] != RECORD:
            raise ValueError(f"a record of type {content['record']!r}, not {RECORD!r}")
        parts: dict[str, Any] = {each.name: content[each.name] for each in fields(cls)}
        for name in ("configuration", "environment", "seconds", "facts"):
            if not isinstance(parts[name], Mapping):
                raise TypeError(f"`{name}` must be an object, not {parts[name]!r}")
        parts["arrays"] = _unpacked(parts["arrays"])
        parts["draws"] = Draws(
            Draw(**dict(each, arrays=_unpacked(each["arrays"])))
            for each in parts["draws"]
        )
        return cls(**parts)

    def _largest(self) -> str:
        sizes: dict[str, int] = {}
        for arrays in (self.arrays, *(draw.arrays for draw in self.draws)):
            for name, packed in _packed(arrays).items():
                sizes[name] = sizes.get(name, 0) + len(json.dumps(packed))
        name = max(sizes, key=lambda each: sizes[each], default="")
        return f"the arrays {name!r} take {sizes.get(name, 0):,}"


def identity(
    configuration: Any, *, device: str, schema: int, data: str | None = None
) -> dict[str, Any]:
    """Return the entries of a `RunRecord` in which two equal runs agree.

    Parameters
    ----------
    configuration : data class or mapping
        A data class among its entries that has a method `describe` speaks for itself.
    device : str
        Its kind is kept.
    schema : int
    data : str, optional
        Digest of what is trained on, absent where the data set is not at hand.
    """
    if not isinstance(configuration, Mapping):
        configuration = {
            each.name: _entries(getattr(configuration, each.name))
            for each in fields(configuration)
        }
    return {
        "configuration": plain(configuration),
        "device": kind_of(device),
        "schema": schema,
        "data": data,
    }


def _entries(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_entries(part) for part in value]
    if not is_dataclass(value) or isinstance(value, type):
        return value
    describe = getattr(value, "describe", None)
    return asdict(value) if describe is None else describe()


def digest(content: Any) -> str:
    """Return 16 hexadecimal digits that tell what JSON can hold apart.

    Examples
    --------
    >>> digest({"a": (1, 2), "b": None}) == digest({"b": None, "a": [1, 2]})
    True
    """
    return sha256(plain(content))[:16]


def kind_of(device: str) -> str:
    """Return the kind of a device, such as ``cuda`` for ``cuda:1``."""
    return device.partition(":")[0]


def _entry(what: str, entries: Mapping[str, Any], name: str) -> Any:
    found: Any = entries
    for part in name.split("/"):
        if not isinstance(found, Mapping) or part not in found:
            known = list(found) if isinstance(found, Mapping) else ()
            raise _lacking(what, name, known)
        found = found[part]
    return found


def _array(arrays: Mapping[str, Array], name: str) -> Array:
    if name not in arrays:
        raise _lacking("series", name, arrays)
    return arrays[name]


def _lacking(what: str, name: str, known: Iterable[str]) -> Missing:
    return Missing(f"no {what} {name!r}; there are: {', '.join(known) or 'none'}")


def _packed(arrays: Mapping[str, Array]) -> dict[str, Any]:
    return {name: pack(values) for name, values in sorted(arrays.items())}


def _unpacked(arrays: Mapping[str, Any]) -> dict[str, Array]:
    return {name: unpack(packed) for name, packed in arrays.items()}
