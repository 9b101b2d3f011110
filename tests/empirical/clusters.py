"""A scheduler of its own and its workers, as docs/clusters.md starts them."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def wait_for(condition, seconds=200.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def scheduler_and_workers(folder, count=2, paths=(HERE, ROOT)):
    """Start a scheduler and a process of workers; return its file and both."""
    file = folder / "scheduler.json"
    file.unlink(missing_ok=True)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "null",
    }
    here = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]
    one_each = ["--nworkers", str(count), "--nthreads", "1", "--memory-limit", "0"]
    return file, [
        subprocess.Popen(
            [sys.executable, "-m", "dask", *argv, *here, "--scheduler-file", str(file)],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
        )
        for argv in (["scheduler", "--port", "0"], ["worker", *one_each])
    ]


def wait_for_scheduler(file):
    """Wait for a scheduler's file: it is there before its content is."""

    def written():
        try:
            return bool(json.loads(file.read_text()))
        except (FileNotFoundError, json.JSONDecodeError):
            return False

    wait_for(written)


def kill_tree(process):
    """Kill a process and its descendants, which may have ended meanwhile."""
    try:
        children = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        children = []
    for each in [process, *children]:
        try:
            each.kill()
        except psutil.NoSuchProcess:
            continue
    process.wait()
