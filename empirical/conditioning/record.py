"""What an experiment found, as a record."""

import inspect
import time
from collections.abc import Mapping
from typing import Any

from empirical import devices
from empirical.conditioning.experiments import EXPERIMENTS
from empirical.digest import code_digest
from empirical.testbed.records import RunRecord, identity
from empirical.testbed.study import CPU, Setting


def recorded(
    kind: str, arguments: Mapping[str, Any], setting: Setting = CPU
) -> RunRecord:
    """Run one of `EXPERIMENTS` and return its record, with the fact ``result``.

    Examples
    --------
    >>> found = recorded("chain", {"depth": 1, "chains": 2, "width": 2, "seed": 7})
    >>> len(found.fact("result")["correlations"])
    2
    """
    start, function = time.perf_counter(), EXPERIMENTS[kind]
    where: dict[str, Any] = {"device": setting.device}
    if "directory" in inspect.signature(function).parameters:
        where["directory"] = setting.data_folder
    result = function(**arguments, **where)
    devices.synchronise(setting.device)
    made = {"name": kind, "kind": kind, "arguments": dict(arguments)}
    return RunRecord(
        **identity(made, device=setting.device, schema=2),
        code=code_digest(__name__),
        environment=devices.describe(setting.device),
        seconds={"all": time.perf_counter() - start},
        facts={"result": result},
    )
