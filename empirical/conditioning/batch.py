"""Configurations run one after another, one JSON file each, resumable."""

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from empirical import batch, devices
from empirical.batch import checked_name
from empirical.conditioning.experiments import EXPERIMENTS
from empirical.digest import code_digest

Scale = Literal["small", "large"]
SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """One experiment with its arguments; `name` is also that of its file.

    Attributes
    ----------
    name : str
        Letters, digits, ``-``, ``_`` and ``.``.
    kind : str
        A key of `empirical.conditioning.EXPERIMENTS`.
    arguments : mapping
        Keyword arguments beside seed and device.
    """

    name: str
    kind: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in EXPERIMENTS:
            raise ValueError(
                f"Configuration: `kind` must be one of {', '.join(EXPERIMENTS)}, but "
                f"it is {self.kind!r}"
            )
        checked_name(self.name)


def run_configuration(
    configuration: Configuration,
    *,
    seed: int,
    device: str,
    directory: str | None = None,
) -> dict[str, Any]:
    """Run one configuration and return its record.

    Parameters
    ----------
    configuration : Configuration
    seed : int
    device : str
    directory : str, optional
        Of the full data sets. Not part of the record, which holds their digests.

    Examples
    --------
    >>> tiny = Configuration(
    ...     name="x", kind="chain", arguments={"depth": 1, "chains": 2, "width": 2}
    ... )
    >>> sorted(run_configuration(tiny, seed=7, device="cpu"))[:4]
    ['arguments', 'code', 'device', 'environment']
    """
    start = time.perf_counter()
    function = EXPERIMENTS[configuration.kind]
    options: dict[str, Any] = {"seed": seed, "device": device}
    if "directory" in inspect.signature(function).parameters:
        options["directory"] = directory
    result = function(**configuration.arguments, **options)
    devices.synchronise(device)
    return {
        **_identity(configuration, seed=seed, device=device),
        "schema": SCHEMA,
        "code": code_digest(__name__),
        "environment": devices.describe(device),
        "seconds": time.perf_counter() - start,
        "result": result,
    }


def run_batch(
    configurations: Sequence[Configuration],
    *,
    directory: Path,
    seed: int,
    device: str,
    rerun: bool = False,
    data: str | None = None,
    report: Callable[[Configuration, str], None] | None = None,
) -> dict[str, str]:
    """Run what has no record yet; each record is written whole or not at all.

    Parameters
    ----------
    configurations : sequence of Configuration
    directory : Path
        Made if absent; one ``<name>.json`` each.
    seed : int
    device : str
    rerun : bool
        Run those with a record too.
    data : str, optional
        Folder of the full data sets.
    report : callable, optional
        Called with a configuration and ``"running"`` before it starts, or how it ended.

    Returns
    -------
    dict
        Name to ``"done"``, ``"kept"``, ``"kept, of other code"`` or ``"failed: why"``;
        a failure (memory, say) does not stop the others.

    Raises
    ------
    KeyboardInterrupt
        Passed on; the records written so far stay, nothing half-written does.
    """
    return batch.run_batch(
        configurations,
        directory=directory,
        identity=lambda configuration: {
            **_identity(configuration, seed=seed, device=device),
            "schema": SCHEMA,
        },
        run=lambda configuration, _: run_configuration(
            configuration, seed=seed, device=device, directory=data
        ),
        code=code_digest(__name__),
        rerun=rerun,
        report=report,
    )


def configurations(scale: Scale) -> tuple[Configuration, ...]:
    """Return the batch: ``"large"`` for a GPU, ``"small"`` to try it on two cores.

    Examples
    --------
    >>> {c.kind for c in configurations("small")} == set(EXPERIMENTS)
    True
    """
    if scale not in ("small", "large"):
        raise ValueError(
            f"configurations: `scale` must be small or large, but it is {scale!r}"
        )
    return _LARGE if scale == "large" else _SMALL


def _identity(
    configuration: Configuration, *, seed: int, device: str
) -> dict[str, Any]:
    return {
        "name": configuration.name,
        "kind": configuration.kind,
        "arguments": dict(configuration.arguments),
        "seed": seed,
        # Random numbers differ between kinds of device only.
        "device": device.split(":")[0],
    }


def _grid(
    *,
    width: int,
    depths: Sequence[int],
    n: int,
    tests: int,
    draws: int,
    chains: int,
    steps: int,
    widths: Sequence[int],
    tangent_width: int,
) -> tuple[Configuration, ...]:
    """Every experiment for the activations the theory singles out."""
    deepest = depths[-1]
    made: list[Configuration] = []

    def add(kind: str, *words: str, **arguments: Any) -> None:
        name = "-".join((kind, *words))
        made.append(Configuration(name=name, kind=kind, arguments=arguments))

    for label, function in _SUBJECTS.items():
        for m in widths:
            add(
                "chain",
                label,
                f"m{m}",
                activation=function,
                width=m,
                depth=deepest,
                chains=chains,
            )
        add(
            "norms",
            label,
            activation=function,
            width=width,
            depth=deepest,
            draws=draws,
        )
        for data in ("a", "b", "digits"):
            common = {
                "activation": function,
                "data": data,
                "n": n,
                "depths": tuple(depths),
                "draws": draws,
            }
            add("depth", label, data, "nngp", width=width, **common)
            add(
                "depth",
                label,
                data,
                "ntk",
                width=tangent_width,
                tangent=True,
                **common,
            )
        add(
            "width",
            label,
            activation=function,
            widths=tuple(widths),
            draws=8 * draws,
        )
        for layers in ("top", "all"):
            for m in widths:
                add(
                    "train",
                    label,
                    layers,
                    f"m{m}",
                    layers=layers,
                    activation=function,
                    width=m,
                    draws=draws,
                    steps=steps,
                )
        add(
            "digits",
            label,
            activation=function,
            n=4 * n,
            tests=tests,
            width=width,
            depths=tuple(d for d in depths if d > 0),
            draws=draws,
        )
    return tuple(made)


_SUBJECTS = {
    "relu": "relu",
    "tanh": "tanh",
    "tanh3": "tanh3",
    "normrelu": "relu-1.59076585644126852",
}

_SMALL = _grid(
    width=128,
    depths=(0, 1, 4),
    n=8,
    tests=10,
    draws=2,
    chains=50,
    steps=10,
    widths=(16, 64),
    tangent_width=64,
)

_LARGE = _grid(
    width=16_384,
    depths=(0, 1, 2, 4, 8, 16, 32, 64),
    n=256,
    tests=1000,
    draws=4,
    chains=40_000,
    steps=1000,
    widths=(64, 256, 1024, 4096),
    tangent_width=2048,
)
