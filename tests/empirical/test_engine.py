"""The engine: equal results however work is spread, whatever dies, stops or fails."""

import errno
import gc
import os
import random
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from multiprocessing import resource_tracker

import engine_tasks as jobs
import psutil
import pytest
from clusters import (
    HERE,
    ROOT,
    kill_tree,
    scheduler_and_workers,
    wait_for,
    wait_for_scheduler,
)
from distributed import Client, LocalCluster
from distributed.nanny import WorkerProcess

from empirical.testbed import cluster
from empirical.testbed.engine import Engine
from empirical.testbed.graph import End, Graph, Task
from empirical.testbed.serving import TOPIC
from empirical.testbed.signals import Ended

MIB = 2**20


@pytest.fixture(scope="module")
def pair():
    """Two workers, kept through the module: a start takes seconds."""
    with Engine(workers=2, gpus=1, deaths=2) as engine:
        yield engine


@pytest.fixture(params=["here", "pair"])
def either(request):
    """This process alone, and the workers: one interface."""
    if request.param == "pair":
        yield request.getfixturevalue("pair")
    else:
        with Engine(workers=1) as engine:
            yield engine


def run(engine, *tasks, **more):
    return {task.key: result for task, result in engine.run(tasks, **more)}


def ends(results):
    return {key: result.end for key, result in results.items()}


def graph():
    """Sums of sums, numbers that show how they were rounded, and a chain."""
    leaves = [Task(f"leaf {i}", jobs.product_trace, (i,)) for i in range(6)]
    sums = [
        Task(f"sum {i}", jobs.add, (), needs=(f"term {i}", f"term {i + 1}"))
        for i in range(5)
    ]
    terms = [Task(f"term {i}", jobs.add, (i, 0.1)) for i in range(6)]
    return [*sums, *leaves, *terms, Task("all", max, (), needs=("sum 0", "sum 4"))]


# --- results


@pytest.mark.parametrize("shuffle", [0, 1])
def test_results_do_not_depend_on_workers_or_order(pair, shuffle):
    tasks = graph()
    with Engine(workers=1) as engine:
        alone = run(engine, *tasks)
    random.Random(shuffle).shuffle(tasks)
    spread = run(pair, *tasks)
    assert set(ends(alone).values()) == {End.DONE}
    assert {k: r.value for k, r in spread.items()} == {
        k: r.value for k, r in alone.items()
    }


def test_four_workers_agree_with_one():
    with Engine(workers=1) as engine:
        alone = run(engine, *graph())
    with Engine(workers=4) as engine:
        spread = run(engine, *graph())
    assert {k: r.value for k, r in spread.items()} == {
        k: r.value for k, r in alone.items()
    }


def test_a_single_task_stays_in_this_process():
    with Engine(workers=4) as engine:
        assert run(engine, Task("one", jobs.sleep, (0,)))["one"].value == os.getpid()


def test_every_task_has_one_thread(either):
    results = run(either, Task("a", jobs.threads), Task("b", jobs.threads))
    assert [r.value for r in results.values()] == [({1}, "1")] * 2


def test_tasks_given_first_start_first():
    with Engine(workers=1) as engine:
        tasks = [Task(str(i), jobs.add, (i,)) for i in range(12)]
        assert [task.key for task, _ in engine.run(tasks)] == [t.key for t in tasks]


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        ([Task("a", jobs.add), Task("a", jobs.add)], "two tasks have the key 'a'"),
        ([Task("a", jobs.add, needs=("b",))], "needs 'b', which is no task"),
        (
            [Task("a", jobs.add, needs=("b",)), Task("b", jobs.add, needs=("a",))],
            "a circle, '[ab]' needs '[ab]' needs '[ab]'",
        ),
    ],
)
def test_what_is_no_graph_is_refused(tasks, words):
    with pytest.raises(ValueError, match=words):
        Graph(tasks)


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["seconds", "memory"])
def test_bad_limits_are_refused(name, limit):
    with pytest.raises(ValueError, match=f"`{name}` must be positive and finite"):
        Task("a", jobs.add, **{name: limit})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"workers": 0}, "`workers` must be at least 1"),
        ({"workers": 1.5}, "`workers` must be a whole number"),
        ({"deaths": 0}, "`deaths` must be at least 1"),
        ({"gpus": -1}, "`gpus` must be at least 0"),
        ({"grace": float("nan")}, "`grace` must not be negative"),
        ({"workers": 2, "scheduler": "tcp://x:1"}, "not both"),
        ({"minutes": -1.0}, "`minutes` must not be negative"),
        ({"minutes": float("nan")}, "`minutes` must not be negative"),
    ],
)
def test_bad_engines_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        Engine(**arguments)


# --- failures


def test_a_failure_is_a_result_and_the_others_go_on(either):
    results = run(
        either,
        Task("bad", jobs.fail, ("because",)),
        Task("after", jobs.add, (1,), needs=("bad",)),
        Task("later", jobs.add, (1,), needs=("after",)),
        Task("good", jobs.add, (1, 2)),
    )
    assert ends(results) == {
        "bad": End.FAILED,
        "after": End.FAILED,
        "later": End.FAILED,
        "good": End.DONE,
    }
    assert "ValueError: because" in results["bad"].error
    assert "jobs.py" in results["bad"].error or "engine_tasks" in results["bad"].error
    assert results["after"].error == "needs bad, which is failed"


def test_what_cannot_be_pickled_is_an_error(either):
    results = run(
        either,
        Task("raised", jobs.fail_unsendably),
        Task("returned", jobs.lock),
        Task("given", jobs.add, (jobs.lock(),)),
        Task("exit", jobs.leave),
        Task("good", jobs.add, (1, 2)),
    )
    assert {results.pop("good").end} == {End.DONE}
    assert set(ends(results).values()) == {End.FAILED}
    assert "Unsendable: no arguments" in results["raised"].error
    assert "pickle" in results["returned"].error
    assert "can't be sent" in results["given"].error
    assert "SystemExit: 3" in results["exit"].error


@pytest.mark.parametrize("workers", [1, 2])
def test_prints_go_to_stderr(tmp_path, workers):
    ended = script(tmp_path, SHOUTING.format(here=str(HERE), workers=workers))
    assert ended.stdout == "one\ntwo\n"
    for speaker in ("python", "libc", "stdio"):
        assert f"{speaker} says one" in ended.stderr
        assert f"{speaker} says two" in ended.stderr


def test_a_time_limit_frees_the_worker(either):
    start = time.monotonic()
    tasks = [
        Task(f"hang {i}", jobs.sleep, (900 + i / 10,), seconds=0.5) for i in range(3)
    ]
    results = run(either, *tasks, Task("good", jobs.add, (1, 2)))
    assert results.pop("good").value == 3
    assert set(ends(results).values()) == {End.TIMED_OUT}
    assert all("0.5 s" in result.error for result in results.values())
    assert time.monotonic() - start < 900


def test_a_library_that_keeps_the_interpreter_is_stopped(pair):
    start = time.monotonic()
    results = run(
        pair,
        Task("stuck", jobs.keep_the_interpreter, (900,), seconds=1.0),
        Task("good", jobs.add, (1, 2)),
    )
    assert ends(results) == {"stuck": End.TIMED_OUT, "good": End.DONE}
    assert time.monotonic() - start < 900


def test_a_memory_limit(either):
    results = run(
        either,
        Task("large", jobs.hold, (1500,), memory=1200 * MIB),
        Task("small", jobs.add, (1, 2), memory=1200 * MIB),
    )
    assert ends(results) == {"large": End.OUT_OF_MEMORY, "small": End.DONE}
    assert "1200 MiB allowed" in results["large"].error


def test_a_killed_worker_has_its_task_done_again(pair, tmp_path):
    marker = str(tmp_path / "marker")
    tasks = [Task(f"add {i}", jobs.add, (i, 1)) for i in range(6)]
    results = run(pair, Task("once", jobs.die_once, (marker,)), *tasks)
    assert results["once"].value == "lived"
    assert set(ends(results).values()) == {End.DONE}


def test_a_task_that_kills_every_worker_is_an_error(pair):
    tasks = [Task(f"add {i}", jobs.add, (i, 1)) for i in range(6)]
    results = run(pair, Task("deadly", jobs.die), *tasks)
    deadly = results.pop("deadly")
    assert deadly.end is End.DIED
    assert "2 times" in deadly.error
    assert "SIGKILL" in deadly.error
    assert set(ends(results).values()) == {End.DONE}


def test_a_death_before_the_nanny_knows_its_worker_is_told(monkeypatch):
    """A worker has work from the scheduler before its nanny has heard its address."""
    monkeypatch.setattr(WorkerProcess, "_init_msg_interval", 3.0)
    with Engine(workers=2, deaths=2) as engine:
        tasks = [Task(f"add {i}", jobs.add, (i, 1)) for i in range(3)]
        deadly = run(engine, Task("deadly", jobs.die), *tasks)["deadly"]
    assert deadly.end is End.DIED
    assert "2 times; the last one was killed by SIGKILL" in deadly.error


def test_a_death_before_the_nanny_knows_a_restarted_worker_is_told(monkeypatch):
    """It still knows where the worker was that died before."""
    with Engine(workers=2, deaths=3) as engine:
        run(engine, *(Task(f"a{i}", jobs.sleep, (0.3,)) for i in range(4)))
        monkeypatch.setattr(WorkerProcess, "_init_msg_interval", 3.0)
        tasks = [Task(f"add {i}", jobs.add, (i, 1)) for i in range(3)]
        deadly = run(engine, Task("deadly", jobs.die), *tasks)["deadly"]
    assert deadly.end is End.DIED
    assert "3 times; the last one was killed by SIGKILL" in deadly.error


def test_a_worker_killed_between_tasks_is_replaced(pair):
    before = run(pair, *(Task(f"a{i}", jobs.sleep, (0.3,)) for i in range(4)))
    for pid in {result.value for result in before.values()}:
        os.kill(pid, signal.SIGKILL)
    after = run(pair, *(Task(f"b{i}", jobs.sleep, (0.3,)) for i in range(4)))
    assert set(ends(after).values()) == {End.DONE}
    assert not {r.value for r in after.values()} & {r.value for r in before.values()}


def test_workers_killed_while_starting_are_replaced():
    known = {child.pid for child in psutil.Process().children()}
    killed = list(known)
    with Engine(workers=2) as engine:
        limit = len(killed) + 2

        def kill_two(_progress):
            for child in psutil.Process().children():
                spawned = "spawn_main" in " ".join(child.cmdline())
                if spawned and child.pid not in killed and len(killed) < limit:
                    child.kill()
                    killed.append(child.pid)

        results = run(
            engine,
            *(Task(f"add {i}", jobs.add, (i, 1)) for i in range(4)),
            progress=kill_two,
        )
    assert len(killed) == limit
    assert set(ends(results).values()) == {End.DONE}


def test_why_no_worker_can_be_started_is_told(monkeypatch):
    async def start(_):
        # As without shared memory, or with too many processes.
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(WorkerProcess, "start", start)
    told = pytest.raises(
        RuntimeError, match=r"be started \(\[Errno \d+\] No space left"
    )
    with Engine(workers=2) as engine, told:
        run(engine, Task("a", jobs.add, (1, 2)), Task("b", jobs.add, (1, 2)))


def test_gpu_tasks_run_where_a_gpu_is_one_at_a_time(pair, tmp_path):
    most, gate = [], tmp_path / "gate"

    def look(progress):
        most.append(len(progress.running))
        # Long enough for a second one to start beside it, were it given out.
        if any(seconds > 1.0 for seconds in progress.running.values()):
            gate.touch()

    tasks = [
        Task(f"gpu {i}", jobs.wait_there, (str(gate),), gpu=True) for i in range(3)
    ]
    results = run(pair, *tasks, progress=look)
    assert set(ends(results).values()) == {End.DONE}
    assert max(most) == 1
    assert len({result.value for result in results.values()}) == 1


def test_without_a_gpu_its_tasks_are_errors():
    with Engine(workers=2, gpus=0) as engine:
        results = run(engine, Task("g", jobs.add, (1,), gpu=True), Task("c", jobs.add))
    assert ends(results) == {"g": End.FAILED, "c": End.DONE}
    assert "needs a GPU" in results["g"].error


def _two_added():
    with Engine(workers=2) as engine:
        results = run(engine, Task("a", jobs.add), Task("b", jobs.add))
    assert set(ends(results).values()) == {End.DONE}


def test_garbage_may_be_collected_while_workers_start(monkeypatch):
    # Python's tracker of semaphores then warns that it can't forget those of engines
    # before: see `filterwarnings`.
    tracker = resource_tracker._resource_tracker
    alive = tracker._check_alive
    gc.disable()
    try:
        _two_added()
        gc.collect()
        _two_added()
        monkeypatch.setattr(
            tracker, "_check_alive", lambda: gc.collect() >= 0 and alive()
        )
        _two_added()
    finally:
        gc.enable()


def test_progress_counts_and_clocks(pair, tmp_path):
    seen, gate = [], tmp_path / "gate"
    tasks = [
        Task(f"s{i}", jobs.log_and_wait, (str(tmp_path), f"s{i}", str(gate)))
        for i in range(4)
    ]

    def look(progress):
        seen.append(progress)
        # Both workers have one, and have had it for a while.
        if sum(seconds > 0.2 for seconds in progress.running.values()) == 2:
            gate.touch()

    run(pair, *tasks, progress=look)
    assert all(p.waiting + len(p.running) + p.done == 4 for p in seen)
    assert [p.done for p in seen] == sorted(p.done for p in seen)
    assert (seen[0].done, seen[-1].done) == (0, 4)
    assert max(len(p.running) for p in seen) == 2


# --- stopping


def test_the_deadline_leaves_checkpoints(tmp_path):
    task = Task("t", jobs.train, (str(tmp_path), "t", 10**6))
    results = {}
    with Engine(workers=1, minutes=0.02) as engine, pytest.raises(Ended) as ended:
        results.update((t.key, r) for t, r in engine.run([task]))
    assert ended.value.code == 124
    assert results["t"].end is End.STOPPED
    done = int((tmp_path / "t.checkpoint").read_text())
    assert 0 < done < 10**6
    shorter = Task("t", jobs.train, (str(tmp_path), "t", done + 3))
    with Engine(workers=1) as engine:
        assert run(engine, shorter)["t"].value == done + 3


PROGRAM = """
import sys
sys.path.insert(0, {here!r})
import engine_tasks as jobs
from empirical.testbed.engine import Engine
from empirical.testbed.graph import Task

def main():
    folder, workers, name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    arguments = {{
        "train": (folder, "{{i}}", 100000),
        "ignore_requests": (600,),
        "keep_the_interpreter": (600,),
    }}[name]
    tasks = [
        Task(str(i), getattr(jobs, name),
             tuple(a.format(i=i) if isinstance(a, str) else a for a in arguments))
        for i in range(4)
    ]
    said = set()
    def progress(now):
        for key in now.running:
            if key not in said:
                said.add(key)
                print("running", key, flush=True)
    with Engine(workers=workers, grace=float(sys.argv[4])) as engine:
        for task, result in engine.run(tasks, progress=progress):
            print(task.key, result.end.value, flush=True)

if __name__ == "__main__":
    main()
"""


def unignore():
    """Let SIGHUP end the program even where the tests run under ``nohup``."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def start(tmp_path, workers, name, *, grace=15.0, before=None):
    """Start the program and wait until all workers are busy."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(here=str(HERE)))
    command = [sys.executable, path, tmp_path, workers, name, grace]
    process = subprocess.Popen(
        [*(before or []), *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
        preexec_fn=None if before else unignore,
    )
    assert process.stdout is not None
    for _ in range(workers):
        line = process.stdout.readline()
        assert line.startswith("running"), (line, process.communicate())
    if name == "train":
        # Given out is not begun.
        wait_for(lambda: len(list(tmp_path.glob("*.begun"))) == workers)
    return process


def descendants(process):
    return psutil.Process(process.pid).children(recursive=True)


def gone(processes, seconds):
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    return [p for p in alive if p.is_running() and p.status() != "zombie"] == []


@pytest.mark.skipif(not hasattr(signal, "SIGUSR2"), reason="no such signal")
def test_workers_too_busy_for_messages_are_stopped(tmp_path, monkeypatch):
    # Messages may take longer than the grace: here they never come.
    monkeypatch.setattr(Client, "run", lambda *_, **__: None)
    tasks = [Task(f"t{i}", jobs.train, (str(tmp_path), f"t{i}", 10**6)) for i in (0, 1)]

    asked = []

    def look(_):
        if not asked and len(list(tmp_path.glob("*.begun"))) == 2:
            asked.append(os.kill(os.getpid(), signal.SIGTERM))

    results = {}
    with Engine(workers=2, grace=30.0) as engine, pytest.raises(Ended):  # noqa: PT012
        for task, result in engine.run(tasks, progress=look):
            results[task.key] = result
    assert {r.error for r in results.values()} == {
        "stopped on request; run again to go on"
    }
    assert len(list(tmp_path.glob("*.checkpoint"))) == 2


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_leave_checkpoints_and_the_right_exit_code(tmp_path, name, workers):
    number = signal.Signals[name]
    process = start(tmp_path, workers, "train")
    children = descendants(process)
    # To the group, as from a terminal: workers must survive it to save.
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=200)
    assert process.returncode == 128 + number, err
    assert "Traceback" not in err
    assert out.count("stopped") == 4
    assert len(list(tmp_path.glob("*.checkpoint"))) == workers
    assert gone(children, 60)


def test_ctrl_c_works_in_the_background(tmp_path):
    # As a shell without job control starts it, SIGINT and SIGHUP ignored.
    ignoring = ["nohup", "sh", "-c", 'trap "" INT; exec "$@"', "sh"]
    process = start(tmp_path, 1, "train", before=ignoring)
    process.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=200)
    assert process.returncode == 130


@pytest.mark.parametrize("workers", [1, 2])
def test_what_does_not_stop_is_killed_after_the_grace(tmp_path, workers):
    process = start(tmp_path, workers, "ignore_requests", grace=1.0)
    children = descendants(process)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 143, err
    assert gone(children, 60)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_second_signal_ends_at_once(tmp_path, workers):
    process = start(tmp_path, workers, "ignore_requests", grace=300.0)
    children = descendants(process)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 130, err
    assert gone(children, 60)


@pytest.mark.parametrize("name", ["train", "keep_the_interpreter"])
def test_no_worker_survives_the_program(tmp_path, name):
    process = start(tmp_path, 2, name)
    children = descendants(process)
    assert len(children) >= 2
    process.kill()
    process.communicate(timeout=30)
    assert gone(children, 60)


def script(tmp_path, text, *, stdin=False):
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(text))
    return subprocess.run(
        [sys.executable, "-" if stdin else str(path)],
        input=path.read_text() if stdin else None,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )


SHOUTING = """
import sys
sys.path.insert(0, {here!r})
import engine_tasks as jobs
from empirical.testbed.engine import Engine
from empirical.testbed.graph import Task
if __name__ == "__main__":
    tasks = [Task(name, jobs.shout, (name,)) for name in ("one", "two")]
    with Engine(workers={workers}) as engine:
        for name in sorted(result.value for _, result in engine.run(tasks)):
            print(name)
"""

UNGUARDED = """
import operator
from empirical.testbed.engine import Engine
from empirical.testbed.graph import Task
with Engine(workers=2) as engine:
    for task, result in engine.run([Task(str(i), operator.add, (i, i)) for i in (1, 2)]):
        print(result.value)
"""


@pytest.mark.parametrize("stdin", [False, True])
def test_an_unguarded_program_is_told(tmp_path, stdin):
    ended = script(tmp_path, UNGUARDED, stdin=stdin)
    assert ended.returncode == 1
    assert "if __name__ == '__main__'" in ended.stderr.splitlines()[-1]
    assert ended.stdout == ""


def test_dask_is_loaded_only_for_workers(tmp_path):
    text = UNGUARDED.replace("workers=2", "workers=1") + (
        "import sys\nassert not {'distributed', 'dask', 'torch'} & set(sys.modules)\n"
    )
    assert script(tmp_path, text).returncode == 0


def test_nothing_listens_beyond_loopback(pair):
    run(pair, Task("a", jobs.sleep, (0,)), Task("b", jobs.sleep, (0,)))
    me = psutil.Process()
    sockets = [
        connection.laddr.ip
        for process in [me, *me.children(recursive=True)]
        for connection in process.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert sockets
    assert set(sockets) == {"127.0.0.1"}


# --- a scheduler of its own


@pytest.fixture
def dask_cluster(tmp_path, request):
    """The commands of docs/clusters.md: a scheduler, two workers; its process, file."""
    paths = ROOT, HERE
    if getattr(request, "param", "") == "without the project":
        paths = (tmp_path,)
        (tmp_path / "empirical.py").write_text("raise ImportError('not here')")
    file, processes = scheduler_and_workers(tmp_path, paths=paths)
    yield processes[0], file
    for process in processes:
        kill_tree(process)


def test_two_programs_on_one_scheduler_share_tasks(dask_cluster, tmp_path):
    _, file = dask_cluster
    wait_for_scheduler(file)
    folder, gate = tmp_path / "calls", tmp_path / "go"
    folder.mkdir()
    tasks = [
        Task(f"quick {i}", jobs.log_and_sleep, (str(folder), f"quick {i}", 0))
        for i in range(3)
    ]
    tasks += [
        Task(f"held {i}", jobs.log_and_wait, (str(folder), f"held {i}", str(gate)))
        for i in range(3)
    ]
    found, looks = [{}, {}], [[], []]

    def program(which):
        with Engine(scheduler=file) as engine:
            found[which] = run(engine, *tasks, progress=looks[which].append)

    threads = [threading.Thread(target=program, args=(which,)) for which in (0, 1)]
    threads[0].start()
    # The second one comes when something is done already, and asks for everything
    # (one look after its first, it has) before the first one ends.
    wait_for(lambda: looks[0] and looks[0][-1].done == 3)
    threads[1].start()
    wait_for(lambda: sum(look.workers > 0 for look in looks[1]) > 2)
    gate.touch()
    for thread in threads:
        thread.join()
    for results in found:
        assert {k: r.value for k, r in results.items()} == {t.key: t.key for t in tasks}
    assert len(list(folder.iterdir())) == len(tasks)

    def published():
        with Client(scheduler_file=str(file), set_as_default=False) as client:
            return client.get_metadata([TOPIC], default=None)

    # What both had published goes when the last one has left.
    wait_for(lambda: published() is None)


def test_a_program_that_stops_leaves_shared_tasks_to_the_other(dask_cluster, tmp_path):
    _, file = dask_cluster
    wait_for_scheduler(file)
    tasks = [
        Task(name, jobs.train_until, (str(tmp_path / "go"), str(tmp_path / name)))
        for name in ("shared", "own")
    ]
    found, joined = {}, threading.Event()

    def program():
        def look(progress):
            if progress.workers:
                # One look later, it has submitted its task.
                found.setdefault("looks", []).append(progress)
                if len(found["looks"]) > 2:
                    joined.set()

        with Engine(scheduler=file) as engine:
            found.update(run(engine, tasks[0], progress=look))

    thread = threading.Thread(target=program)
    signals = []

    def look(progress):
        if len(progress.running) == 2 and thread.ident is None:
            thread.start()
        if joined.is_set() and not signals:
            signals.append(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)

    results = {}
    with Engine(scheduler=file) as engine, pytest.raises(Ended) as ended:  # noqa: PT012
        for task, result in engine.run(tasks, progress=look):
            results[task.key] = result
    assert ended.value.code == 143
    assert ends(results) == {"shared": End.STOPPED, "own": End.STOPPED}
    assert "others go on" in results["shared"].error
    (tmp_path / "go").touch()
    thread.join()
    assert found["shared"].value == "trained"
    assert (tmp_path / "own").exists()
    assert not (tmp_path / "shared").exists()


def test_losing_the_scheduler_is_an_error_and_keeps_results(dask_cluster):
    scheduler, file = dask_cluster
    wait_for_scheduler(file)
    results = {}
    tasks = [Task("quick", jobs.add, (1, 2)), Task("long", jobs.sleep, (300,))]
    with Engine(scheduler=file) as engine:
        running = engine.run(tasks)
        task, result = next(running)
        results[task.key] = result
        scheduler.kill()
        with pytest.raises(ConnectionError, match=r"scheduler at .* is gone"):
            next(running)
    assert results["quick"].value == 3


def test_a_scheduler_that_does_not_answer_holds_up_no_deadline(
    dask_cluster, monkeypatch, capsys
):
    scheduler, file = dask_cluster
    wait_for_scheduler(file)
    monkeypatch.setattr(cluster, "PATIENCE", 0.2)
    results = {}
    engine = Engine(scheduler=file, minutes=0.2, grace=0.5)
    with engine, pytest.raises(Ended) as ended:  # noqa: PT012
        for task, result in engine.run(
            [Task("quick", jobs.add, (1, 2)), Task("long", jobs.sleep, (300,))]
        ):
            results[task.key] = result
            if task.key == "quick":
                scheduler.send_signal(signal.SIGSTOP)
    scheduler.send_signal(signal.SIGCONT)
    assert ended.value.code == 124
    assert ends(results) == {"quick": End.DONE, "long": End.STOPPED}
    assert capsys.readouterr().err.count("it does not answer") == 1


def test_workers_that_go_with_their_tasks_are_told(dask_cluster, monkeypatch, capsys):
    scheduler, file = dask_cluster
    wait_for_scheduler(file)
    monkeypatch.setattr(cluster, "PATIENCE", 0.2)
    (worker,) = [
        each
        for each in psutil.Process().children()
        if each.pid != scheduler.pid and "--nworkers" in each.cmdline()
    ]

    def look(now):
        if now.running:
            worker.kill()

    with Engine(scheduler=file, minutes=0.2, grace=0.5) as engine, pytest.raises(Ended):
        run(engine, Task("long", jobs.sleep, (300,)), progress=look)
    assert "waiting for a worker: the Dask scheduler" in capsys.readouterr().err


@pytest.mark.parametrize("dask_cluster", ["without the project"], indirect=True)
def test_workers_without_the_project_are_told(dask_cluster):
    _, file = dask_cluster
    wait_for_scheduler(file)
    with Engine(scheduler=file, minutes=1.0) as engine:
        result = run(engine, Task("a", jobs.add, (1, 2)))["a"]
    assert result.end is End.FAILED
    assert result.error.startswith(
        "a worker lacks this program, or has another version"
    )


def test_limits_hold_on_a_scheduler_too(dask_cluster):
    _, file = dask_cluster
    wait_for_scheduler(file)
    with Engine(scheduler=file) as engine:
        results = run(
            engine,
            *(Task(f"hang {i}", jobs.sleep, (300,), seconds=0.5) for i in range(3)),
            Task("good", jobs.add, (1, 2)),
        )
    assert results.pop("good").value == 3
    assert set(ends(results).values()) == {End.TIMED_OUT}


@pytest.mark.parametrize(("workers", "lacks"), [(0, ""), (1, " that offers a GPU")])
def test_a_scheduler_without_a_worker_is_told(workers, lacks, monkeypatch, capsys):
    monkeypatch.setattr(cluster, "PATIENCE", 0.2)
    with LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=False,
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    ) as scheduler:
        address = scheduler.scheduler_address
        with Engine(scheduler=address, minutes=0.05) as engine, pytest.raises(Ended):
            run(engine, Task("a", jobs.add, (1, 2), gpu=bool(workers)))
    told = f"waiting for a worker{lacks}: the Dask scheduler at {address} has none"
    assert capsys.readouterr().err.count(told) == 1


def test_a_scheduler_that_is_not_there_is_an_error():
    import dask.config

    soon = dask.config.set({"distributed.comm.timeouts.connect": "1s"})
    tasks = [Task("a", jobs.add)]
    absent = pytest.raises(ConnectionError, match="no Dask scheduler answers at tcp")
    with soon, Engine(scheduler="tcp://127.0.0.1:9") as engine, absent:
        run(engine, *tasks)


def test_a_scheduler_that_is_waited_for_holds_up_no_deadline(monkeypatch, capsys):
    monkeypatch.setattr(cluster, "PATIENCE", 0.2)
    start = time.monotonic()
    engine = Engine(scheduler="tcp://127.0.0.1:9", minutes=0.05)
    with engine, pytest.raises(Ended) as ended:
        run(engine, Task("a", jobs.add, (1, 2)))
    # Dask's own time-out, after which it is an error, is 30 s.
    assert time.monotonic() - start < 20.0
    assert ended.value.code == 124
    told = "waiting for a Dask scheduler to answer at tcp://127.0.0.1:9\n"
    assert capsys.readouterr().err.count(told) == 1


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_a_port_of_another_program_is_an_error_in_time(said):
    import dask.config

    soon = dask.config.set({"distributed.comm.timeouts.connect": "1s"})
    absent = pytest.raises(ConnectionError, match=r"answers at .* is something else")
    with socket.create_server(("127.0.0.1", 0)) as other:

        def answer():
            # What is connected stays so until it is collected.
            connections.append(other.accept()[0])
            connections[-1].sendall(said)

        connections: list[socket.socket] = []
        answering = threading.Thread(target=answer)
        answering.start()
        address = f"tcp://127.0.0.1:{other.getsockname()[1]}"
        with soon, Engine(scheduler=address) as engine, absent:
            run(engine, Task("a", jobs.add))
        answering.join()
        connections[0].close()


@pytest.mark.parametrize("content", [None, "no JSON", "[1]", '{"a": 1}'])
def test_what_is_no_address_is_refused_at_once(content, tmp_path):
    scheduler = tmp_path / "scheduler.json"
    if content is not None:
        scheduler.write_text(content)
    refused = pytest.raises(ValueError, match="`scheduler` must be an address, as tcp:")
    with Engine(scheduler=str(scheduler)) as engine, refused:
        run(engine, Task("a", jobs.add))


@pytest.mark.parametrize(
    ("address", "settings", "match"),
    [
        ("tls://127.0.0.1:9", {}, "needs certificates, but Dask's settings"),
        (
            "tls://127.0.0.1:9",
            {"tls.ca-file": "absent.pem", "tls.client.cert": "absent.pem"},
            "name no usable files",
        ),
        ("tcp://127.0.0.1:9", {"require-encryption": True}, "must be encrypted, as Da"),
    ],
)
def test_settings_that_do_not_fit_the_address_are_refused(address, settings, match):
    import dask.config

    given = dask.config.set({f"distributed.comm.{k}": v for k, v in settings.items()})
    refused = pytest.raises(ValueError, match=match)
    with given, Engine(scheduler=address) as engine, refused:
        run(engine, Task("a", jobs.add))


@pytest.mark.slow
def test_twenty_kills_lose_nothing(tmp_path):
    tasks = [
        Task(f"t{i}", jobs.log_and_sleep, (str(tmp_path), f"t{i}", 1.0))
        for i in range(60)
    ]
    moments = random.Random(1)
    over = threading.Event()
    killed = []

    def kill():
        while len(killed) < 20 and not over.wait(moments.uniform(0.1, 2.0)):
            workers = [
                child
                for child in psutil.Process().children()
                if "spawn_main" in " ".join(child.cmdline())
            ]
            if workers:
                killed.append(moments.choice(workers))
                killed[-1].kill()

    killer = threading.Thread(target=kill)
    with Engine(workers=2, deaths=1000) as engine:
        killer.start()
        done = []
        for task, result in engine.run(tasks):
            assert (result.end, result.value) == (End.DONE, task.key)
            done.append(task.key)
        over.set()
        killer.join()
    assert sorted(done) == sorted(task.key for task in tasks)
    assert len(killed) == 20
