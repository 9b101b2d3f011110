"""What one configuration makes: an experiment, and its record.

The arguments of the experiments mean the same in all of them.

Parameters
----------
activation : str
    Standardised; a name that `empirical.conditioning.named` knows.
chains : int
    Independent networks.
data : str
    a, b (the paper's assumptions), arc or digits.
delta : float
    Separation of the inputs (a, arc), or their smallest eigenvalue (b).
depth, depths : int
    Hidden layers, increasing.
draws : int
    Independent networks.
every : int
    Record the loss after so many steps.
layers : str
    top or all.
n : int
    Training inputs.
noise : float
    Standard deviation of noise on the targets.
rho : float
    Correlation of the two inputs.
seed : int
    Of all random numbers.
squared_norms : tuple of float
    Of the two inputs.
steps : int
    Of gradient descent.
tangent : bool
    Measure tangent kernels too.
tests : int
    Test inputs.
units : bool
    Draw units instead of weights: wide and deep is cheap.
width, widths : int
    Units of every hidden layer.
"""

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from empirical import devices
from empirical.checks import check_choice
from empirical.conditioning.experiments import EXPERIMENTS
from empirical.testbed.records import RunRecord
from empirical.testbed.study import (
    CPU,
    Scale,
    Setting,
    Study,
    check_scale,
    checked_name,
)


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
        check_choice("Configuration", "kind", self.kind, EXPERIMENTS)
        checked_name(self.name)


def run_configuration(
    configuration: Configuration, setting: Setting = CPU
) -> RunRecord:
    """Run one configuration and return its record, with the fact ``result``.

    Examples
    --------
    >>> tiny = Configuration(
    ...     name="x", kind="chain", arguments={"depth": 1, "chains": 2, "width": 2}
    ... )
    >>> len(run_configuration(tiny).fact("result")["correlations"])
    2
    """
    start, c = time.perf_counter(), configuration
    function = EXPERIMENTS[c.kind]
    options: dict[str, Any] = {"seed": c.seed, "device": setting.device}
    if "directory" in inspect.signature(function).parameters:
        options["directory"] = setting.data_folder
    result = function(**c.arguments, **options)
    devices.synchronise(setting.device)
    return STUDY.record(
        c,
        setting,
        seconds={"all": time.perf_counter() - start},
        facts={"result": result},
    )


def configurations(scale: Scale) -> tuple[Configuration, ...]:
    """Return every experiment at a scale.

    Parameters
    ----------
    scale : {"small", "full", "paper"}
        ``"small"`` to try it on two cores; ``"full"`` takes hours there; ``"paper"`` is
        for a GPU.

    Examples
    --------
    >>> {c.kind for c in configurations("small")} == set(EXPERIMENTS)
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


def cost_of(configuration: Configuration) -> float:
    """Return an estimate of a configuration's work; see `Study`."""
    of = inspect.signature(EXPERIMENTS[configuration.kind]).parameters
    given = {name: parameter.default for name, parameter in of.items()}
    given |= configuration.arguments
    layers = max(given.get("depths", (given.get("depth", 1),)))
    units = sum(m**2 for m in given.get("widths", (given.get("width"),)))
    if configuration.kind == "chain":
        return float(given["chains"] * layers * given["width"])
    passes = given["draws"] * (given.get("n", 2) + given.get("tests", 0))
    if given.get("layers") == "all" or given.get("tangent"):
        passes *= 3
    steps = given.get("steps", 1)
    if given.get("layers") == "top":
        # The readout alone.
        return float(passes * (units * layers + steps * given["width"]))
    return float(passes * units * layers * steps)


STUDY = Study(
    module="empirical.conditioning",
    configurations=configurations,
    schema=2,
    data=lambda *_: "",
    run=run_configuration,
    cost=cost_of,
)
