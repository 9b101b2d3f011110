"""What is run, at three scales."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from empirical.checks import check_choice
from empirical.testbed.study import Scale, check_scale, checked_name

KINDS = ("depth", "width", "norms", "chain", "train", "digits")
"""Keys of `empirical.conditioning.EXPERIMENTS`."""


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
    seed : int
    """

    name: str
    kind: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 7

    def __post_init__(self) -> None:
        check_choice("Configuration", "kind", self.kind, KINDS)
        checked_name(self.name)


def configurations(scale: Scale) -> tuple[Configuration, ...]:
    """Return every experiment at a scale.

    Parameters
    ----------
    scale : {"small", "full", "paper"}
        ``"small"`` to try it on two cores; ``"full"`` takes hours there; ``"paper"`` is
        for a GPU.

    Examples
    --------
    >>> {c.kind for c in configurations("small")} == set(KINDS)
    True
    """
    check_scale(scale)
    return {"small": _SMALL, "full": _FULL, "paper": _PAPER}[scale]


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
    made: list[Configuration] = []

    def adder(label: str, function: str) -> Callable[..., None]:
        def add(*words: str, **arguments: Any) -> None:
            name = "-".join((words[0], label, *words[1:]))
            given = {"activation": function, **arguments}
            made.append(Configuration(name=name, kind=words[0], arguments=given))

        return add

    for label, function in _SUBJECTS.items():
        add = adder(label, function)
        deepest, few = depths[-1], {"depths": tuple(depths), "draws": draws, "n": n}
        for m in widths:
            add("chain", f"m{m}", width=m, depth=deepest, chains=chains)
        add("norms", width=width, depth=deepest, draws=draws)
        for data in ("a", "b", "digits"):
            add("depth", data, "nngp", data=data, width=width, **few)
            add(
                "depth",
                data,
                "ntk",
                data=data,
                width=tangent_width,
                tangent=True,
                **few,
            )
        add("width", widths=tuple(widths), draws=8 * draws)
        for layers in ("top", "all"):
            for m in widths:
                given = {"width": m, "draws": draws, "steps": steps}
                add("train", layers, f"m{m}", layers=layers, **given)
        few |= {"depths": tuple(d for d in depths if d > 0), "n": 4 * n}
        add("digits", tests=tests, width=width, **few)
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

_FULL = _grid(
    width=2048,
    depths=(0, 1, 2, 4, 8, 16, 32),
    n=64,
    tests=100,
    draws=4,
    chains=4000,
    steps=300,
    widths=(64, 256, 1024),
    tangent_width=256,
)

_PAPER = _grid(
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
