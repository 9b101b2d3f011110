"""A study that trains nothing: it counts, as a run does that goes on from a checkpoint."""

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from empirical.testbed import stopping
from empirical.testbed.records import RunRecord
from empirical.testbed.study import Study
from empirical.testbed.writing import whole


@dataclass(frozen=True, kw_only=True)
class Toy:
    """A run of so many updates; `calls` is a folder where each start leaves a file."""

    name: str
    updates: int = 4
    seed: int = 0
    pause: float = 0.0
    fails: str = ""
    calls: str = ""


def data_of(_toy, setting):
    return str(setting.data_folder)


def run(toy, setting):
    if toy.fails:
        raise ValueError(toy.fails)
    if toy.calls:
        (Path(toy.calls) / f"{toy.name}.{os.getpid()}.{time.time_ns()}").touch()
    kept, state = setting.checkpoint, {"t": 0, "x": toy.seed}
    if kept is not None and kept.exists():
        state = json.loads(kept.read_text())
    first = state["t"]
    while state["t"] < toy.updates:
        time.sleep(toy.pause)
        # Chaos: one update more or less is another number altogether.
        state = {"t": state["t"] + 1, "x": (1103515245 * state["x"] + 12345) % 2**31}
        if kept is not None:
            with whole(kept) as partial:
                partial.write_text(json.dumps(state))
        if setting.progress is not None:
            setting.progress(state["t"], toy.updates, state["x"])
        stopping.check()
    return RunRecord(
        **STUDY.identity(toy, setting),
        code=ToyStudy.code,
        facts={"x": state["x"], "first": first},
    )


class ToyStudy(Study):
    """Its code is no module of the project."""

    code = "toy"


def configurations(_scale):
    return tuple(Toy(name=f"c{i}", seed=i) for i in range(3))


STUDY = ToyStudy(
    module="toy_study", configurations=configurations, schema=1, data=data_of, run=run
)


if __name__ == "__main__":
    import sys

    from toy_study import STUDY, Toy, data_of  # as the workers know it

    from empirical.testbed import command

    def several(_scale):
        given = json.loads(os.environ["TOY"])
        return tuple(Toy(name=f"c{i}", seed=i, **given) for i in range(6))

    made = ToyStudy(
        module="toy_study",
        configurations=several,
        schema=1,
        data=data_of,
        run=STUDY.run,
    )
    sys.exit(command.main(made, [], None, about="Count."))
