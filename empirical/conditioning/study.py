"""What one configuration makes: an experiment, and its record.

The arguments of the experiments mean the same in all of them.

Parameters
----------
activation : str
    Activation, standardised; any name that `empirical.conditioning.named` knows.
chains : int
    Independent networks.
data : str
    Inputs: points of the paper's Assumption A or B, on an arc, or handwritten digits.
delta : float
    Separation of the inputs (a, arc), or their smallest eigenvalue (b).
depth : int
    Hidden layers.
depths : int
    Numbers of hidden layers, increasing.
draws : int
    Independent networks.
every : int
    Steps from one recorded loss to the next.
layers : str
    Train the top layer, or all.
n : int
    Training inputs.
noise : float
    Standard deviation of noise on the targets.
rho : float
    Correlation of the two inputs.
seed : int
    Seed of all random numbers.
squared_norms : tuple of float
    Squared norms of the two inputs.
steps : int
    Steps of gradient descent.
tangent : bool
    Measure tangent kernels too.
tests : int
    Test inputs.
units : bool
    Draw the units' values instead of the weights, which makes wide and deep networks
    cheap.
width : int
    Units of every hidden layer.
widths : int
    Numbers of units of every hidden layer.
"""

import inspect
import time
from typing import Any

from empirical import devices
from empirical.conditioning.experiments import EXPERIMENTS
from empirical.conditioning.grid import Configuration, configurations
from empirical.testbed.records import RunRecord
from empirical.testbed.study import (
    CPU,
    Setting,
    Study,
)


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


def data_of(_configuration: Configuration, _setting: Setting) -> str:
    """Return nothing: what is made of data is in the arguments."""
    return ""


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
    data=data_of,
    run=run_configuration,
    cost=cost_of,
)
