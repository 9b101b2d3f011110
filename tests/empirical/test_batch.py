"""One batch for all studies: what is kept, what fails, what stops, who writes."""

import errno
import fcntl
import json
import os
import pickle
import random
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from clusters import (
    HERE,
    kill_tree,
    scheduler_and_workers,
    wait_for,
    wait_for_scheduler,
)
from toy_study import STUDY, Toy, ToyStudy, configurations

from empirical import identity_map, mmd_init, square_loss
from empirical.identity_map import experiments as one_image
from empirical.identity_map.study import STUDY as ONE_IMAGE
from empirical.mmd_init import experiments as starts
from empirical.mmd_init import networks
from empirical.mmd_init.recipes import FinetuneRecipe
from empirical.mmd_init.study import STUDY as STARTS
from empirical.normrelu import experiments as normrelu
from empirical.normrelu.study import STUDY as NORMRELU
from empirical.square_loss import experiments
from empirical.square_loss.study import STUDY as SQUARE_LOSS
from empirical.testbed import command, stopping
from empirical.testbed.checkpoints import spent
from empirical.testbed.engine import Engine
from empirical.testbed.records import RunRecord, digest
from empirical.testbed.runner import joined, open_folder, run_batch
from empirical.testbed.signals import Ended
from empirical.testbed.study import (
    CPU,
    Setting,
    checkpoint_at,
    checkpoints_of,
    remove_checkpoints,
)

TOYS = configurations("small")


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch):
    """Children take theirs from the environment, which their records would name."""
    monkeypatch.delenv("DEEP_LEDGER_DATA", raising=False)


def run(folder, toys=TOYS, *, workers=1, study=STUDY, **more):
    with Engine(workers=workers) as engine:
        return run_batch(study, toys, folder=folder, engine=engine, **more)


def records(folder):
    """Return the records, but for where each started from."""
    found = {p.stem: json.loads(p.read_text()) for p in folder.glob("*.json")}
    for record in found.values():
        del record["facts"]["first"], record["digest"]
    return found


def first(path):
    """Return the update that a record's run went on from."""
    return RunRecord.read(path).fact("first")


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def test_runs_keeps_and_tells(tmp_path):
    told, out = [], tmp_path / "a" / "records"
    assert set(run(out, report=lambda *said: told.append(said)).values()) == {"done"}
    assert ("c0", "done") in told
    assert names(out) == ["c0.json", "c1.json", "c2.json"]
    first = {p.name: p.stat().st_mtime_ns for p in out.iterdir()}
    told.clear()
    assert set(run(out, report=lambda *said: told.append(said)).values()) == {"kept"}
    assert told == [(f"c{i}", "kept") for i in range(3)]
    assert {p.name: p.stat().st_mtime_ns for p in out.iterdir()} == first
    # What is asked for, what has changed, and what can't be read is run again.
    assert run(out, TOYS[:1], rerun=True) == {"c0": "done"}
    assert run(out, [Toy(name="c0", seed=9), TOYS[1]]) == {"c0": "done", "c1": "kept"}
    (out / "c1.json").write_text('{"name": "c1"')
    (out / "c2.json").write_text("[]")
    assert run(out, TOYS[1:]) == {"c1": "done", "c2": "done"}


def test_a_folder_in_the_place_of_a_record_costs_the_others_nothing(tmp_path):
    (tmp_path / "c1.json").mkdir()
    outcomes = run(tmp_path)
    assert outcomes.pop("c1").startswith("failed: its record can't be written: ")
    assert set(outcomes.values()) == {"done"}


def test_there_is_at_least_one_part(tmp_path):
    with pytest.raises(ValueError, match="`parts` must be at least 1, but it is 0"):
        run(tmp_path, parts=0)


def test_the_command_ends_with_what_came_out_and_where_it_lies(tmp_path, capsys):
    given = ["batch", "--device", "cpu", "--workers", "1", "--out", str(tmp_path)]
    for kind in ("done", "kept"):
        assert command.main(STUDY, [], given, about="Count.") == 0
        said = f"3 configurations: 3 {kind}; records are in {tmp_path}"
        assert said in capsys.readouterr().err.splitlines()


def test_a_record_of_another_configuration_of_the_name_is_not_lost(tmp_path):
    """Scales share names, and the other may have taken days of a GPU."""
    run(tmp_path, TOYS[:1])
    for updates in (6, 7):
        before, told = (tmp_path / "c0.json").read_bytes(), []
        toys = [replace(TOYS[0], updates=updates)]
        run(tmp_path, toys, report=lambda *said, told=told: told.append(said[1]))
        head, _, aside = told[-1].rpartition(" ")
        assert head == "done; the record of other settings that was there is now"
        assert (tmp_path / aside).read_bytes() == before
    assert len(names(tmp_path)) == 3
    # Of the same, made again, there is one.
    run(tmp_path, toys, rerun=True)
    assert len(names(tmp_path)) == 3


def test_a_file_that_is_no_record_of_this_version_is_not_lost(tmp_path):
    for content in ('{"record": "run-1"}', "mine"):
        (tmp_path / "c0.json").write_text(content)
        told = []
        run(tmp_path, TOYS[:1], report=lambda *said, told=told: told.append(said[1]))
        said = "done; the unreadable file that was there is now c0.json.unreadable"
        assert told[-1] == said
        assert (tmp_path / "c0.json.unreadable").read_text() == content


def test_of_other_code(tmp_path):
    class Other(ToyStudy):
        code = "other"

    run(tmp_path)
    other = Other(**vars(STUDY))
    assert set(run(tmp_path, study=other).values()) == {"kept, of other code"}


def test_a_failure_does_not_stop_the_others(tmp_path):
    bad = Toy(name="bad", fails="run: `x` must be y")
    assert run(tmp_path, [bad, *TOYS])["bad"] == "failed: run: `x` must be y"
    assert names(tmp_path) == ["c0.json", "c1.json", "c2.json"]


@pytest.mark.parametrize("workers", [2, 4])
def test_records_do_not_depend_on_workers_or_order(tmp_path, workers):
    toys = [Toy(name=f"c{i}", seed=i, updates=3 + i % 4) for i in range(12)]
    run(tmp_path / "one", toys)
    shuffled = random.Random(workers).sample(toys, len(toys))
    run(tmp_path / "many", shuffled, workers=workers)
    assert records(tmp_path / "one") == records(tmp_path / "many")
    one = {p.name: p.read_bytes() for p in (tmp_path / "one").iterdir()}
    assert one == {p.name: p.read_bytes() for p in (tmp_path / "many").iterdir()}


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_comes_to_the_client(tmp_path, workers):
    seen = {}
    toys = [Toy(name=f"c{i}", updates=40, pause=0.1) for i in range(2)]
    run(
        tmp_path,
        toys,
        workers=workers,
        look=lambda running: seen.update({k: v for k, v in running.items() if v}),
    )
    assert set(seen) == {"c0", "c1"}
    assert all(0 < said.done <= said.last == 40 for said in seen.values())


def test_keys_are_configuration_and_code(tmp_path, monkeypatch):
    keys = []

    class Recorder:
        def run(self, tasks, *, progress):
            keys.append([task.key for task in tasks])
            return iter(())

    def key(toy=TOYS[0], folder="a", study=STUDY, **setting):
        given = {"folder": tmp_path / folder, "setting": Setting(**setting)}
        run_batch(study, [toy], engine=Recorder(), **given)
        return keys.pop()[0]

    class Other(ToyStudy):
        code = "other"

    same = key()
    assert key(folder="b") == same
    others = [
        key(Toy(name="c0", seed=1)),
        key(study=Other(**vars(STUDY))),
        key(device="cuda"),
        key(data_folder=Path("x")),
    ]
    assert len({same, *others}) == 5


def test_runs_on_a_gpu_ask_for_one(tmp_path):
    asked = []

    class Recorder:
        def run(self, tasks, *, progress):
            asked.extend(task.gpu for task in tasks)
            return iter(())

    for device in ("cpu", "cuda", "cuda:1"):
        given = {"folder": tmp_path, "setting": Setting(device=device)}
        run_batch(STUDY, TOYS[:1], engine=Recorder(), **given)
    assert asked == [False, True, True]


def test_tasks_have_the_limits_that_are_asked_for(tmp_path):
    # Before, no command gave its tasks the limits that they may have.
    asked = []

    class Recorder:
        def run(self, tasks, *, progress):
            asked.extend((task.seconds, task.memory) for task in tasks)
            return iter(())

    given = {"folder": tmp_path, "engine": Recorder()}
    run_batch(STUDY, TOYS[:1], **given)
    run_batch(STUDY, TOYS[:1], most_minutes=2.0, most_memory=1.5, **given)
    assert asked == [(None, None), (120.0, 3 * 2**29)]


def test_a_task_that_takes_too_much_ends_alone(tmp_path, capsys):
    given = ["batch", "--device", "cpu", "--workers", "1", "--out", str(tmp_path)]
    for option in ("--most-minutes", "--most-memory"):
        assert command.main(STUDY, [], [*given, option, "-1"], about="") == 2
        assert f"`{option}` must be positive and finite" in capsys.readouterr().err
    with Engine(workers=1) as engine:
        limit = {"engine": engine, "most_minutes": 1e-4}
        told = run_batch(STUDY, [Toy(name="long", pause=5.0)], folder=tmp_path, **limit)
    assert told == {"long": "timed out: it may take 0.006 s"}


# --- stopping


def test_what_was_stopped_goes_on(tmp_path):
    whole = tmp_path / "whole"
    run(whole)

    def stop(running):
        said = running.get("c1")
        if said is not None and said.done >= 2:
            stopping.request()

    toys = [Toy(name=f"c{i}", seed=i) for i in range(3)]
    slow = [toys[0], Toy(name="c1", seed=1, updates=30, pause=0.1), toys[2]]
    run(whole, slow)
    outcomes = run(tmp_path / "parts", slow, look=stop)
    assert outcomes["c1"].startswith("stopped: ")
    assert len(list((tmp_path / "parts").glob("c1.*.checkpoint"))) == 1
    assert set(run(tmp_path / "parts", slow).values()) == {"done", "kept"}
    assert records(tmp_path / "parts") == records(whole)
    assert first(tmp_path / "parts" / "c1.json") >= 2
    assert {p.suffix for p in (tmp_path / "parts").iterdir()} == {".json"}


def test_two_configurations_of_a_name_are_refused_before_they_are_run(tmp_path):
    """They would write the same record."""
    twins = [Toy(name="c1", seed=1), Toy(name="c1", seed=2), Toy(name="c2", seed=1)]
    with pytest.raises(ValueError, match=r"different names.*but c1 is there more than"):
        run(tmp_path, twins)
    assert names(tmp_path) == []


def test_a_folder_may_be_named_by_text(tmp_path):
    assert set(run(str(tmp_path)).values()) == {"done"}


def test_a_deadline(tmp_path):
    with Engine(workers=1, minutes=0) as engine, pytest.raises(Ended) as ended:
        run_batch(STUDY, TOYS, folder=tmp_path, engine=engine)
    assert ended.value.exit_code == 124
    assert names(tmp_path) == []
    with Engine(workers=1, minutes=1) as engine:
        run_batch(STUDY, TOYS, folder=tmp_path, engine=engine)
    assert len(names(tmp_path)) == 3


def test_no_checkpoint_of_another_configuration_or_code_is_gone_on_from(tmp_path):
    toy = TOYS[0]
    own = STUDY.identity(toy, CPU)
    other = STUDY.identity(Toy(name="c0", seed=5), CPU)
    path = tmp_path / "c0.json"
    for identity, code in ((other, "toy"), (own, "other")):
        kept = checkpoint_at(path, digest([identity, code]))
        kept.write_text('{"t": 3, "x": 1}')
    assert run(tmp_path, [toy]) == {"c0": "done"}
    assert first(path) == 0
    # They are of no use any more.
    assert names(tmp_path) == ["c0.json"]


# --- clients, disks


def start(folder, *argv, environment=None, **toy):
    """Start a program that counts six runs into a folder."""
    command = [sys.executable, str(HERE / "toy_study.py"), "batch", "--device", "cpu"]
    return subprocess.Popen(
        [*command, "--out", str(folder), *argv],
        env={**os.environ, "TOY": json.dumps(toy), **(environment or {})},
        stderr=subprocess.PIPE,
        text=True,
        # Children of what runs in the background ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def count(folder, redirections, *argv):
    """Run the program to its end, its streams redirected as a shell has it."""
    command = ["sh", "-c", f'exec "$@" {redirections}', "sh", sys.executable]
    script = [str(HERE / "toy_study.py"), "batch", "--device", "cpu", "--out"]
    return subprocess.run(
        [*command, *script, str(folder), *argv],
        env={**os.environ, "TOY": "{}"},
        timeout=100,
        check=False,
    ).returncode


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_cost_nothing(tmp_path, closed, workers):
    assert count(tmp_path, closed, "--workers", workers) == 0
    assert names(tmp_path) == [f"c{i}.json" for i in range(6)]


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_line_is_told_when_it_is_written(unbuffered):
    code = (
        "import sys; from empirical.testbed import streams; streams.keep_going('stderr');"
        " sys.stderr.write('one line\\n'); sys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    told = select.select([child.stderr], [], [], 30.0)[0]
    assert child.poll() is None
    _, said = child.communicate(timeout=30)
    assert told
    assert said == b"one line\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_log_on_a_full_disk_costs_nothing(tmp_path, workers):
    assert count(tmp_path, "2>/dev/full", "--workers", workers) == 0
    assert names(tmp_path) == [f"c{i}.json" for i in range(6)]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_terminal_that_goes_away_leaves_checkpoints(tmp_path, workers):
    def lead():
        # Who leads the terminal's session gets SIGHUP with its end.
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    terminal, end = os.openpty()
    toy = json.dumps({"updates": 10**6, "pause": 0.05})
    script = [str(HERE / "toy_study.py"), "batch", "--device", "cpu", "--out"]
    child = subprocess.Popen(
        [sys.executable, *script, str(tmp_path), "--workers", str(workers)],
        **dict.fromkeys(("stdin", "stdout", "stderr"), end),
        env={**os.environ, "TOY": toy},
        start_new_session=True,
        preexec_fn=lead,
    )
    os.close(end)

    def begun():
        if select.select([terminal], [], [], 0.05)[0]:
            os.read(terminal, 2**16)
        return len(list(tmp_path.glob("*.checkpoint"))) == workers

    wait_for(begun)
    os.close(terminal)
    assert child.wait(timeout=100) == 129
    assert len(list(tmp_path.glob("*.checkpoint"))) == workers


# All signals with either number of workers: test_engine.py.
@pytest.mark.parametrize(
    ("workers", "name", "code"), [("1", "SIGTERM", 143), ("2", "SIGINT", 130)]
)
def test_signals(tmp_path, workers, name, code):
    child = start(tmp_path, "--workers", workers, updates=50, pause=0.05)
    wait_for(lambda: list(tmp_path.glob("c2.*.checkpoint")))
    child.send_signal(signal.Signals[name])
    _, said = child.communicate(timeout=100)
    assert child.returncode == code, said
    assert f"interrupted; what is done stays in {tmp_path}" in said
    assert "Traceback" not in said
    assert not [n for n in names(tmp_path) if "partial" in n or "probe" in n]


def test_a_deadline_is_124(tmp_path):
    argv = ["--workers", "1", "--minutes", "0.1"]
    child = start(tmp_path, *argv, updates=10**6, pause=0.05)
    _, said = child.communicate(timeout=100)
    assert child.returncode == 124, said
    assert len(list(tmp_path.glob("c0.*.checkpoint"))) == 1


def test_two_clients_on_one_folder(tmp_path):
    toys = [Toy(name=f"c{i}", seed=i, updates=5, pause=0.01) for i in range(6)]
    run(tmp_path / "alone", toys)
    both = tmp_path / "both"
    given = {"updates": 5, "pause": 0.01}
    children = [start(both, "--workers", "1", **given) for _ in range(2)]
    said = [child.communicate(timeout=100)[1] for child in children]
    assert [child.returncode for child in children] == [0, 0], said
    assert records(both) == records(tmp_path / "alone")
    assert {p.suffix for p in both.iterdir()} == {".json"}


def test_a_read_only_folder_is_told_before_anything_runs(tmp_path, monkeypatch):
    out, calls = tmp_path / "out", tmp_path / "calls"
    calls.mkdir()
    out.mkdir()
    out.chmod(0o500)
    if os.access(out, os.W_OK):
        # Permissions hold no superuser back: a file system would.
        def refuse(self, *_, **__):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(self))

        monkeypatch.setattr(Path, "open", refuse)
    toys = [Toy(name="c0", calls=str(calls))]
    with pytest.raises(OSError, match=f"nothing can be written to {out}: .*"):
        run(out, toys)
    monkeypatch.undo()
    out.chmod(0o700)
    assert names(calls) == []


def test_a_file_where_the_folder_should_be_is_told(tmp_path):
    (tmp_path / "out").touch()
    child = start(tmp_path / "out")
    _, said = child.communicate(timeout=100)
    assert child.returncode == 1
    assert said.startswith(f"error: nothing can be written to {tmp_path / 'out'}: ")
    assert "is a file" in said
    assert len(said.splitlines()) == 1
    child = start(tmp_path / "out" / "in it")
    _, said = child.communicate(timeout=100)
    assert "what it lies in, is a file" in said


LIMITED = """
import resource, runpy, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), -1))
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def limited(folder, size):
    """Run the program with a limit on files' sizes: beyond it they can't be written."""
    script = str(HERE / "toy_study.py")
    command = [sys.executable, "-c", LIMITED, str(size), script, "batch"]
    return subprocess.run(
        [*command, "--device", "cpu", "--workers", "1", "--out", str(folder)],
        env={**os.environ, "TOY": "{}", "PYTHONPATH": f"{HERE}:{HERE.parents[1]}"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_a_full_disk_is_told_before_anything_runs(tmp_path):
    ended = limited(tmp_path, 0)
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"error: nothing can be written to {tmp_path}: ")
    assert "done" not in ended.stderr
    assert names(tmp_path) == []


def test_a_disk_that_fills_up_leaves_the_checkpoint(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(RunRecord, "write", full)
        outcomes = run(tmp_path, TOYS[:1])
    assert outcomes["c0"].startswith("failed: its record can't be written: [Errno 28]")
    (left,) = tmp_path.iterdir()
    assert left.suffix == ".checkpoint"
    assert run(tmp_path, TOYS[:1]) == {"c0": "done"}
    # No update was made again.
    assert first(tmp_path / "c0.json") == 4
    assert names(tmp_path) == ["c0.json"]


def test_the_probe_is_removed(tmp_path):
    open_folder(tmp_path / "x" / "y")
    assert names(tmp_path / "x" / "y") == []


# --- kill -9


def workers_of(process):
    return [
        child
        for child in psutil.Process(process.pid).children(recursive=True)
        if "spawn_main" in " ".join(child.cmdline())
    ]


def sweep_under_fire(out, kills, seed, **toy):
    """Kill workers, schedulers and clients of a sweep in turn, at random moments.

    After every death of a scheduler or client the program is started again, as a person
    would. Return the number of processes of each kind that were killed.
    """
    moments, finished, killed = random.Random(seed), {}, []

    def check():
        for path in out.glob("*.json"):
            content = path.read_bytes()
            json.loads(content)  # whole
            assert finished.setdefault(path.name, content) == content

    def traces():
        # Checkpoints come with every update.
        return {p.name: p.stat().st_mtime_ns for p in out.glob("c*")}

    while True:
        due = [KINDS[i % 3] for i in range(len(killed), kills)]
        own = "scheduler" in due[:2]
        file, servers = scheduler_and_workers(out.parent) if own else (None, [])
        if own:
            wait_for_scheduler(file)
        before = traces()
        child = start(
            out, *(["--scheduler", str(file)] if own else ["--workers", "2"]), **toy
        )
        try:
            wait_for(lambda: child.poll() is not None or traces() != before)  # noqa: B023
            while due and child.poll() is None:
                time.sleep(moments.uniform(0.0, 1.5))
                check()
                kind = due.pop(0)
                found = workers_of(servers[1] if own else child)
                victims = {"client": [child], "scheduler": servers[:1], "worker": found}
                if not victims[kind]:
                    break
                moments.choice(victims[kind]).kill()
                killed.append(kind)
                if kind != "worker":
                    break
            _, said = child.communicate(timeout=400)
        finally:
            for process in (*servers, child):
                kill_tree(process)
        check()
        assert "Traceback" not in said, said
        if child.returncode == 0:
            return killed


KINDS = ("worker", "client", "scheduler")


def check_under_fire(tmp_path, kills, seed, updates):
    toys = [Toy(name=f"c{i}", seed=i, updates=updates) for i in range(6)]
    run(tmp_path / "whole", toys)
    given = {"updates": updates, "pause": 0.02}
    assert len(sweep_under_fire(tmp_path / "out", kills, seed, **given)) == kills
    expected, found = records(tmp_path / "whole"), records(tmp_path / "out")
    for record in (*expected.values(), *found.values()):
        del record["configuration"]["pause"]
    assert found == expected
    assert {p.suffix for p in (tmp_path / "out").iterdir()} <= {".json", ".partial"}


def test_three_kills_lose_nothing(tmp_path):
    check_under_fire(tmp_path, 3, seed=1, updates=300)


@pytest.mark.slow
def test_twenty_kills_lose_nothing(tmp_path):
    check_under_fire(tmp_path, 20, seed=2, updates=1500)


def test_one_scheduler_is_shared_by_two_clients(tmp_path):
    calls = tmp_path / "calls"
    calls.mkdir()
    file, servers = scheduler_and_workers(tmp_path)
    toys = [Toy(name=f"c{i}", updates=4, pause=0.1, calls=str(calls)) for i in range(6)]
    found = {}

    def client(which):
        with Engine(scheduler=file) as engine:
            found[which] = run_batch(
                STUDY, toys, folder=tmp_path / which, engine=engine
            )

    try:
        wait_for_scheduler(file)
        threads = [threading.Thread(target=client, args=(w,)) for w in ("a", "b")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for server in servers:
            kill_tree(server)
    assert set(found["a"].values()) == set(found["b"].values()) == {"done"}
    assert records(tmp_path / "a") == records(tmp_path / "b")
    assert len(names(calls)) == len(toys)


SPREAD = {
    "square loss": (
        SQUARE_LOSS,
        experiments.Configuration(
            name="c0",
            network=square_loss.classifier("wn", shape=(65,), widths=(6,)),
            recipe=square_loss.Recipe(epochs=5, batch=4),
            per_class=5,
            tests=5,
            scales=(0.5, 1.0),
            seeds=(0, 1, 2),
        ),
    ),
    "one image": (
        ONE_IMAGE,
        one_image.Configuration(
            name="c0",
            network=identity_map.copier("cnn", shape=(1, 7, 7), layers=2, width=2),
            recipe=identity_map.Recipe(steps=12, floor=0.5, patience=2, check=1),
            labels=((7,), (1,)),
            rates=(0.01, 0.05),
            measurements=("curve", "change", "pictures", "sizes", "predictions"),
            settings={"sizes": (7, 9)},
            seeds=(0, 1, 2),
        ),
    ),
    "many images": (
        ONE_IMAGE,
        one_image.Configuration(
            name="c0",
            network=identity_map.copier("fcn", shape=(1, 7, 7), layers=2, width=9),
            recipe=identity_map.Recipe(optimiser="adam", rate=1e-3, steps=6, batch=4),
            examples=20,
            seeds=(3, 4, 5),
        ),
    ),
    "learnt starts": (
        STARTS,
        starts.Configuration(
            name="c0",
            network=networks.classifier((16, 8, 6, 2)),
            recipe=mmd_init.Recipe(
                steps=6, window=3, batch=8, perturbations=8, reference=8
            ),
            variants=(starts.Variant(), starts.Variant(s2=2.0, lam=0.0, xi=0.0)),
            seeds=(0, 1, 2),
            shots=(1,),
            tasks=2,
            finetune=FinetuneRecipe(epochs=1, batch=8),
            minibatches=2,
            densities=8,
            embedded=True,
            side=4,
        ),
    ),
}


@pytest.mark.parametrize("name", SPREAD)
def test_parts_agree_with_the_whole(tmp_path, name):
    study, tiny = SPREAD[name]
    whole = tmp_path / "whole"
    assert run(whole, [tiny], study=study) == {"c0": "done"}
    close = {"rtol": 1e-9, "atol": 1e-12}
    if study is not SQUARE_LOSS:
        # Of single precision.
        close = {"rtol": 1e-4, "atol": 1e-5}
    # Of one study two at once are enough.
    for parts, workers in ((2, 1), (99, 2 if study is SQUARE_LOSS else 1)):
        folder = tmp_path / str(parts)
        told = []
        done = run(
            folder,
            [tiny],
            study=study,
            parts=parts,
            workers=workers,
            report=lambda *said, told=told: told.append(said),
        )
        assert done == {"c0": "done"}
        assert told.count(("c0", "done")) == 1
        assert names(folder) == ["c0.json"]
        one, other = (RunRecord.read(f / "c0.json") for f in (whole, folder))
        assert one.facts == other.facts
        assert [d.keys for d in one.draws] == [d.keys for d in other.draws]
        for mine, theirs in zip(one.draws, other.draws, strict=True):
            assert mine.status == theirs.status
            assert mine.arrays.keys() == theirs.arrays.keys()
            for name in mine.arrays:
                # Rounding of batched products, 1e-16, after 15 steps that stay small: batch
                # normalisation of four examples would make a millionfold of it.
                np.testing.assert_allclose(
                    mine.series(name), theirs.series(name), **close
                )
    # The whole is kept, whoever asks for it in parts.
    assert run(whole, [tiny], study=study, parts=2) == {"c0": "kept"}


RESUMED = SPREAD | {
    "normrelu": (
        NORMRELU,
        normrelu.Configuration(
            name="c0",
            arm="selu",
            depth=2,
            width=8,
            rates=(0.01,),
            epochs=2,
            per_class=10,
            tests=2,
            held_out=2,
            seeds=(5, 6),
        ),
    )
}


@pytest.mark.parametrize("name", RESUMED)
def test_seconds_are_those_of_all_pieces(tmp_path, name):
    study, tiny = RESUMED[name]
    kept = Setting(checkpoint=tmp_path / "c")
    try:
        with pytest.raises(stopping.Stopped):
            study.run(tiny, replace(kept, progress=lambda *_: stopping.request()))
    finally:
        stopping.withdraw()
    (path,) = checkpoints_of(tmp_path / "c")
    state = torch.load(path, weights_only=True)
    assert 0.0 < state["seconds"] == spent(path) < 60.0
    torch.save({**state, "seconds": 1e4}, path)
    seconds = study.run(tiny, kept).seconds
    # The first piece of networks with NormReLU ended in the choice of rates.
    first = {"normrelu": "choice", "learnt starts": "pretraining"}.get(name, "training")
    assert 1e4 < seconds[first] < 1e4 + 60.0
    if "all" in seconds:
        assert 1e4 < seconds["all"] < 1e4 + 60.0
    assert sum(spent(each) for each in checkpoints_of(tmp_path / "c")) > 1e4


@pytest.mark.parametrize("content", [None, b"", b"noise"])
def test_what_is_no_state_took_no_seconds(tmp_path, content):
    if content is not None:
        (tmp_path / "c").write_bytes(content)
    assert spent(tmp_path / "c") == spent(None) == 0.0
    assert checkpoints_of(None) == []


def test_a_checkpoint_with_brackets_in_its_name_is_that_file(tmp_path):
    kept, others = tmp_path / "run[1]", (tmp_path / "run1", tmp_path / "run[1].x")
    parts = (kept, tmp_path / "run[1].1")
    for path in (*parts, *others):
        path.touch()
    assert sorted(checkpoints_of(kept)) == sorted(parts)
    remove_checkpoints(kept)
    assert [path.exists() for path in (*parts, *others)] == [False, False, True, True]


def test_parts_of_a_whole_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"`parts` must be 1 for .*, but it is 2"):
        run(tmp_path, TOYS[:1], parts=2)


def test_parts_of_several_runs_are_refused():
    one = RunRecord(configuration={"name": "a"}, schema=1, device="cpu", code="0")
    other = replace(one, facts={"x": 1})
    with pytest.raises(ValueError, match="`parts` must be of one run, but of a they"):
        joined([one, other])


def test_the_longest_are_run_first(tmp_path):
    begun = []
    costly = replace(STUDY, cost=lambda toy: toy.seed)
    run(
        tmp_path,
        study=costly,
        report=lambda name, said: begun.append(name) if said == "done" else None,
    )
    assert begun == ["c2", "c1", "c0"]


@pytest.mark.parametrize(
    "study", ["identity_map", "mmd_init", "normrelu", "square_loss"]
)
def test_studies_estimate_their_work(study):
    made = import_module(f"empirical.{study}.study").STUDY
    # Runs that claims look at travel to workers, studies and all.
    assert pickle.loads(pickle.dumps(made)) == made
    costs = {
        scale: [made.cost(c) for c in made.configurations(scale)]
        for scale in ("small", "paper")
    }
    assert min(costs["small"] + costs["paper"]) > 0.0
    assert max(costs["paper"]) > 100.0 * max(costs["small"])
