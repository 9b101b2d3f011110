"""Rows of tables of seconds, from the benchmarks; each takes minutes of a quiet machine."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

Rows = list[list[str]]

ROOT = Path(__file__).resolve().parents[2]
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@cache
def _benchmarked(script: str) -> dict[str, dict[str, Any]]:
    """Run a file of benchmarks in processor time; return what each kept, by its name."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "found.json"
        command = [sys.executable, "-m", "pytest", "-q", "--benchmark-only"]
        command += ["--benchmark-timer=time.process_time"]
        command += [f"--benchmark-json={found}", f"benchmarks/{script}"]
        subprocess.run(
            command,
            check=True,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)} | ONE_THREAD,
            stdout=subprocess.DEVNULL,
        )
        kept = json.loads(found.read_text(encoding="utf-8"))["benchmarks"]
    return {each["name"]: each["extra_info"] for each in kept}


def _script(name: str) -> Any:
    """Load a benchmark as a module."""
    path = ROOT / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kernels() -> Rows:
    """Return seconds for both kernels of 2,000 inputs, over their floor."""
    found = _benchmarked("bench_kernels.py")
    columns = (
        *("over floor, depth 1", "over floor, depth 1000"),
        *("depth 1000 over depth 1", "first call, depth 1000, s"),
    )
    rows: Rows = []
    for name in ("relu", "tanh", "gelu", "selu"):
        kept = found[f"test_both_kernels_at_any_depth[{name}]"]
        rows.append([name, *(f"{kept[column]:.2g}" for column in columns)])
    return rows


def plain_kernels() -> Rows:
    """Return seconds of first calls at depth 1,000 without normalisation."""
    found = _benchmarked("bench_kernels.py")
    start = "test_first_call_without_normalisation["
    return [
        [name.removeprefix(start).rstrip("]"), f"{kept['first call, s']:.2g}"]
        for name, kept in found.items()
        if name.startswith(start)
    ]


def duals() -> Rows:
    """Return seconds for a million values: of duals, slopes and distance maps."""
    found = _benchmarked("bench_duals.py")
    by_name = found["test_a_million[plain]"]["seconds"]
    rows = [
        [name, *(f"{seconds:.2f}" for seconds in by_name[name])]
        for name in ("relu", "hard_tanh", "erf", "tanh", "gelu", "selu", "softsign")
    ]
    for name, test in (
        ("relu, by `np.arccos`", "test_formula[relu]"),
        ("erf, by `np.arcsin`", "test_formula[erf]"),
        ("tanh, by 40 x 40 Gauss-Hermite", "test_quadrature"),
    ):
        rows.append([name, "", f"{found[test]['seconds for a million']:.2g}", "", ""])
    return rows


def identity_map() -> Rows:
    """Return updates a second of copiers: stacked, one by one, and as usual."""
    found = _benchmarked("bench_identity_map.py")
    words = {
        "cnn-5": "convolutional, 5 layers",
        "cnn-20": "convolutional, 20 layers",
        "fcn-5": "fully connected, 5 layers of 512",
        "fcn-20": "fully connected, 20 layers of 512",
    }
    rows: Rows = []
    for name, told in words.items():
        ways = [
            found[f"test_updates[{name}-{way}]"]
            for way in ("stacked", "looped", "usual")
        ]
        rows.append(
            [
                told,
                *(f"{way['updates_per_second']:,.0f}" for way in ways),
                f"{ways[0]['times_the_floor']:.1f}",
            ]
        )
    return rows


def square_loss() -> Rows:
    """Return milliseconds a step of thirty networks and of one, and their ratios."""
    import torch

    torch.set_num_threads(1)
    script = _script("bench_square_loss")
    found: list[Mapping[str, float]] = [
        script.ratios(dtype) for dtype in (torch.float64, torch.float32)
    ]
    words = {
        "stacked": "30 networks stacked, ms",
        "one": "one network, same code, ms",
        "usual": "one network, `torch.nn` and autograd, ms",
        "floor, one core": "floor of the 30, ms",
        "stacked / one": "30 stacked over one",
        "30 usual / stacked": "30 `torch.nn` networks one by one, over stacked",
    }
    return [
        [told, *(f"{each[name]:.2g}" for each in found)] for name, told in words.items()
    ]


def normrelu() -> Rows:
    """Return times of an update over plain ReLU's, by units."""
    import torch

    torch.set_num_threads(1)
    script = _script("bench_normrelu")
    rows: Rows = []
    for width in (128, 1024):
        found = script.seconds(width=width, depth=32, batch=100, rounds=10)
        ratios = (
            found[kind] / found["relu"] for kind in ("normrelu", "layer", "batch")
        )
        rows.append([str(width), *(f"{ratio:.2f}" for ratio in ratios)])
    return rows


def own_modules() -> Rows:
    """Return milliseconds of an update, compiled and not, and what compiling takes."""
    script = _script("bench_own_modules")
    rows: Rows = []
    for name in script.NETWORKS:
        plain, _ = script.milliseconds(name, compile=False)
        compiled, first = script.milliseconds(name, compile=True)
        rows.append([name, f"{plain:.2g}", f"{compiled:.2g}", f"{first:.0f}"])
    return rows


def pretraining() -> Rows:
    """Return a step of pre-training in three ways: seconds and memory."""
    script = _script("bench_mmd_pretraining")
    found = script.measured(script.PAPER, batch=32, steps=10, threads=1)
    words = {
        "gram": "noise on outputs, uniformity in closed form",
        "explicit": "noise on every weight, uniform points sampled",
        "written down": "the same in PyTorch's operations alone",
    }
    return [
        [
            told,
            # The least of the processor's seconds, and the memory.
            f"{found[way][2]:.2g}",
            f"{found[way][3]:,.0f}",
            f"{found[way][2] / found['gram'][2]:.1f}",
        ]
        for way, told in words.items()
    ]


def finetuning() -> Rows:
    """Return how many times as long twenty tasks take that are not stacked."""
    import torch

    torch.set_num_threads(1)
    script = _script("bench_mmd_finetuning")
    rows: Rows = []
    for size in script.SIZES:
        for n in script.NUMBERS:
            found = script.best(script.subject(size, n).rivals(), turns=3)
            ratios = (found[way] / found["stacked"] for way in ("looped", "usual"))
            name = re.sub(r"(\d+)x3", r"\1-\1-\1", size)
            rows.append([name, str(n), *(f"{ratio:.1f}" for ratio in ratios)])
    return rows


def workers() -> Rows:
    """Return seconds of a batch by the number of its processes, and its speed-up."""
    command = [sys.executable, "-m", "empirical.square_loss", "batch"]
    command += ["--device", "cpu", "--only", "n", "--workers"]
    rows: Rows = []
    alone = 0.0
    for count in (1, 2, 4):
        with tempfile.TemporaryDirectory() as folder:
            before, start = _spent(), time.perf_counter()
            subprocess.run(
                [*command, str(count), "--out", folder],
                check=True,
                cwd=folder,
                env=os.environ | {"PYTHONPATH": str(ROOT)} | ONE_THREAD,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            wall, spent = time.perf_counter() - start, _spent() - before
        alone = alone or wall
        rows.append([str(count), f"{wall:.0f}", f"{spent:.0f}", f"{alone / wall:.1f}"])
    return rows


def extras() -> Rows:
    """Install each extra into an environment of its own, on top of the one before."""
    rows: Rows = []
    told = {
        "": "`theory`: the closed forms",
        "plots": "`theory.plots`: pictures at a REPL",
        "empirical": "`empirical`: training, with PyTorch",
        "verify": "`verify`: the ledger, its figures and the report",
    }
    for extra, words in told.items():
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            (home,) = Path(folder).glob("lib/python*/site-packages")
            empty, before = _size(home), _spent()
            wanted = f".[{extra}]" if extra else "."
            command = [f"{folder}/bin/python", "-m", "pip", "install", "-q"]
            command += ["-c", "constraints.txt", wanted]
            subprocess.run(command, check=True, cwd=ROOT)
            spent = _spent() - before
            size = (_size(home) - empty) / 1e6
            rows.append([f"`{wanted}`", words, f"{size:,.0f}", f"{spent:.0f}"])
    return rows


def _spent() -> float:
    """Return the processor's seconds of all programs that were run and have ended."""
    times = os.times()
    return times.children_user + times.children_system


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
