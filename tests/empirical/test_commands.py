"""What the command lines of all studies have in common."""

import argparse
import importlib
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from empirical.conditioning import EXPERIMENTS
from empirical.conditioning.__main__ import ABOUT
from empirical.identity_map import measures
from empirical.identity_map.scales import MEASURED
from empirical.networks.layers import ACTIVATIONS
from empirical.networks.plan import NAMED
from empirical.normrelu import ARMS
from empirical.normrelu.experiments import NAMES
from empirical.testbed import bar as bar_module
from empirical.testbed import command, ending, stopping, telling
from empirical.testbed.bar import Bar
from empirical.testbed.signals import Ended

ROOT = Path(__file__).parents[2]

BATCHES = ("identity_map", "mmd_init", "normrelu", "square_loss")
STUDIES = ("conditioning", *BATCHES)

FEW = "--depth 2 --width 4 --epochs 1 --per-class 4 --held-out 1 --tests 2 --rates 0.01"
"""The smallest training of a NormReLU network."""

# What takes a second or more to load.
HEAVY = ("torch", "distributed", "matplotlib", "scipy")


@pytest.mark.parametrize(
    ("study", "option"),
    [*((s, "--help") for s in STUDIES), *((s, "list") for s in BATCHES)],
)
def test_help_and_the_list_load_nothing_heavy(study, option):
    program = f"""
import runpy, sys
sys.argv = ["{study}", "{option}"]
try:
    runpy.run_module("empirical.{study}", run_name="__main__", alter_sys=True)
except SystemExit as ended:
    assert ended.code == 0
print(*[name for name in {HEAVY} if name in sys.modules], file=sys.stderr)
"""
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert len(found.stdout.splitlines()) > 8
    assert found.stderr.split() == []


@pytest.mark.parametrize(
    ("study", "given", "meant"),
    [
        ("identity_map", "train --optimizer adam", "--optimiser"),
        ("square_loss", "train --weight_decay=0.1", "--weight-decay"),
        ("conditioning", "depth --activaton relu", "--activation"),
        ("mmd_init", "batch --out x --worker-s 2", "--workers"),
    ],
)
def test_of_an_unknown_option_the_nearest_is_named(study, given, meant, capsys):
    known = importlib.import_module(f"empirical.{study}.__main__")
    with pytest.raises(SystemExit, match="2"):
        known.main(given.split())
    (line,) = capsys.readouterr().err.splitlines()
    command = given.partition(" ")[0]
    assert f"`python -m empirical.{study} {command} --help` lists all" in line
    assert line.endswith(f"Did you mean {meant!r}?")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
@pytest.mark.parametrize("command", ["empirical.square_loss list", "verify list mmd"])
@pytest.mark.parametrize(
    ("redirection", "told"),
    [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")],
)
def test_results_that_cannot_be_printed_are_an_error(command, redirection, told):
    found = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m {command} {redirection}"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert found.returncode == 1
    assert re.fullmatch(rf"error: \[Errno \d+\] {told}\n", found.stderr)


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("verify", "verify"),
        ("verify.report", "verify"),
        ("empirical.data", "empirical"),
    ],
)
def test_without_its_extra_a_command_names_it_in_a_line(module, extra):
    # Without site packages there is the standard library alone.
    argv = [sys.executable, "-S", "-m", module, "--help"]
    found = subprocess.run(
        argv, capture_output=True, text=True, cwd=ROOT, env={}, check=False
    )
    assert (found.returncode, found.stdout) == (1, "")
    (line,) = found.stderr.splitlines()
    assert line.startswith(f"error: {extra} needs torch, distributed, ")
    assert line.endswith(f'python -m pip install "deep-ledger[{extra}]"')


def test_help_says_of_experiments_what_their_docstrings_do():
    said = {kind: f.__doc__.partition("\n")[0] for kind, f in EXPERIMENTS.items()}
    assert said == ABOUT


@pytest.mark.parametrize("study", STUDIES)
def test_every_option_says_what_it_is(study, monkeypatch):
    seen: list[argparse.Action] = []

    def shown(parser: argparse.ArgumentParser) -> str:
        seen.extend(parser._actions)
        return ""

    monkeypatch.setattr(argparse.ArgumentParser, "format_help", shown)
    command = importlib.import_module(f"empirical.{study}.__main__")
    names = ["pretrain" if study == "mmd_init" else "train", "batch", "list"]
    for name in EXPERIMENTS if study == "conditioning" else names:
        with pytest.raises(SystemExit):
            command.main([name, "--help"])
    assert len(seen) > 20
    for action in seen:
        said = str(action.help)
        assert len(said.partition("(default")[0]) > 5, action.option_strings
        # Constants of the code mean nothing to who reads this.
        assert not {"NAMES", "RATES", "FAULTS", "None"} & set(said.split()), said


@pytest.mark.parametrize("study", STUDIES)
def test_packages_have_their_public_names(study):
    package = __import__(f"empirical.{study}", fromlist=["*"])
    assert all(hasattr(package, name) for name in package.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing


def test_what_there_is_has_the_names_that_configurations_know():
    assert set(measures.MEASUREMENTS) == set(MEASURED)
    assert set(ACTIVATIONS) == set(NAMED)


def test_the_arms_of_normrelu_are_named_apart():
    assert tuple(ARMS) == NAMES


def test_a_narrow_terminal_shows_the_loss_and_the_times(monkeypatch, capsys):
    # What rich takes for a terminal of 80 columns.
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    terms = {"loss": 0.5, "uniformity": 0.25, "degeneracy": 0.125}
    with Bar(1) as bar:
        bar.look({"pretrain": telling.Said(100, 200, terms)})
    row = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().err)
    assert "100 of at most 200 updates, loss 5.00e-01 0:00:0" in row
    assert "uniformity" not in row


def test_without_a_terminal_lines_say_how_long_is_left(monkeypatch, capsys):
    clock = {"now": 0.0}
    monkeypatch.setattr(bar_module.time, "monotonic", lambda: clock["now"])
    with Bar(2) as bar:
        for now, done in ((0.0, 100), (10.0, 102), (61.0, 112), (66.0, 112)):
            clock["now"] = now
            bar.look({"long": telling.Said(done, 7312, {"loss": 0.5}), "other": None})
        bar.report("long", "stopped: stopped on request; run again to go on")
    told = capsys.readouterr().err.splitlines()
    # Twelve updates in 61 seconds; 7,200 are left.
    stands = "112 of at most 7312 updates, loss 5.00e-01; 10:10:00 left at this rate"
    assert told == [
        f"long: {stands}",
        "other: running",
        "[1/2] long: stopped: stopped on request; run again to go on",
        f"long: {stands}",
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (None, "nothing is kept; with `--checkpoint FILE` the next call would"),
        ("there", "the same command goes on from {}"),
        ("in-parts", "the same command goes on from {}"),
        ("absent", "nothing is kept"),
    ],
)
def test_an_interrupted_run_says_what_is_left_of_it(name, said, tmp_path, capsys):
    for written in ("there", "in-parts.0-rates"):
        (tmp_path / written).touch()
    path = None if name is None else tmp_path / name
    command.say_interrupted(path)
    assert capsys.readouterr().err.startswith(f"interrupted; {said.format(path)}")


def test_who_waits_for_a_pause_is_told_so(capsys):
    def run() -> None:
        while not stopping.requested():
            time.sleep(0.05)
        # Longer than a second, after which it is said.
        time.sleep(2.0)
        stopping.check()

    with pytest.raises(Ended, match="124"):
        command.alone(run, "run", 0.0)
    assert "stopping at the next pause, or after 20 s" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("study", "given", "said"),
    [
        ("identity_map", "train --width 0", "`--width` must be at least 1"),
        ("identity_map", "train --kind residual --layers 3", "`--layers` must be"),
        (
            "identity_map",
            "train --image README.md",
            "`--image` must be a picture, but R",
        ),
        ("identity_map", "train --measurements x", "`--measurements` must be one of"),
        ("identity_map", "train --examples 9", "`--batch` must be given with"),
        ("identity_map", "train --output /no/x", "`--output` must be a file in a f"),
        (
            "identity_map",
            "train --rate 1e300",
            "`--rate` must be positive and finite i",
        ),
        ("identity_map", "train --skip -1", "`--skip` must be at least 0, but it is"),
        (
            "identity_map",
            "train --kernel 4",
            "`--kernel` must be odd, so that it has a centre, but it is 4",
        ),
        ("identity_map", "train --seeds -1", "`--seeds` must be at least 0, but it is"),
        ("identity_map", "train --schemes unit unit", "`--schemes` must differ from e"),
        (
            "square_loss",
            "train --constant nan",
            "`--constant` must be finite, but it i",
        ),
        ("square_loss", "train --eps 0", "`--eps` must be positive and finite, but it"),
        ("square_loss", "train --scales 1 1", "`--scales` must differ from each other"),
        (
            "normrelu",
            "train --seeds 5 5",
            "`--seeds` must differ from each other, at",
        ),
        (
            "normrelu",
            "train --chosen-by -1",
            "`--chosen-by` must be at least 0, but it",
        ),
        ("normrelu", "train --data x", "`--data` must be one of mnist, fashion-mnist"),
        ("normrelu", "train --per-class 999", "`--data` must have 999 examples each i"),
        ("normrelu", "train --kink 1e300", "`--kink` must have a finite, positive v"),
        ("normrelu", "train --fault x", "`--fault` must be one of slow, short, shuffl"),
        (
            "mmd_init",
            "pretrain --output .",
            "`--output` must be a file, but . is a fol",
        ),
        ("square_loss", "train --side 0", "`--side` must be at least 1, but it is 0"),
        ("square_loss", "train --labels 3", "`--labels` must name two classes or m"),
        ("square_loss", "train --labels", "`--labels` must name two classes or more"),
        ("identity_map", "train --size 1", "`--size` must be at least 2, as one pix"),
        ("square_loss", "train --weights -", "`--weights` must be a file, but it is -"),
        ("mmd_init", "pretrain --output -", "`--output` must be a file, but it is -"),
        ("mmd_init", "pretrain --output x --batch 1", "`--batch` must be at least 2"),
        (
            "mmd_init",
            "pretrain --output x --record -",
            "`--record` must be a file, but it is -",
        ),
        (
            "mmd_init",
            "pretrain --data x --output x",
            "`--data` must be one of mnist, fashion-mnist, cifar10, mnist-sample, but it",
        ),
        ("conditioning", "depth --activation x", "`--activation` must be one of"),
        ("conditioning", "depth --width 0", "`--width` must be at least 1, but it is"),
        # Of 2^60 entries, or a slope beyond float32.
        ("conditioning", "train --n 9999999999", "`--n` must be below 2^30, but it is"),
        ("conditioning", "width --n 1073741824", "`--n` must be below 2^30, but it is"),
        ("normrelu", f"train --decay 1e300 {FEW}", "`--decay` must be at most 3.4e+38"),
        ("conditioning", "norms --squared-norms 1", "`--squared-norms` must be two n"),
    ],
)
def test_messages_are_about_options(study, given, said, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    # With MNIST there are more examples than at hand everywhere.
    monkeypatch.delenv("DEEP_LEDGER_DATA", raising=False)
    known = importlib.import_module(f"empirical.{study}.__main__")
    assert known.main(given.split()) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"error: {said}")
    # What came is in the message, too, whatever was required.
    assert "but " in told


def test_a_warning_is_a_line_about_options(tmp_path):
    """Not followed by a line of our code."""
    kept = tmp_path / "c"
    kept.write_text("no checkpoint")
    argv = ["train", "--epochs", "1", "--widths", "2", "--checkpoint", str(kept)]
    done = subprocess.run(
        [sys.executable, "-m", "empirical.square_loss", *argv],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0
    (told,) = done.stderr.splitlines()
    assert told.startswith(f"warning: {kept} is no readable checkpoint (")
    assert told.endswith("the file is kept as c.unreadable")


@pytest.mark.parametrize(
    ("study", "given", "said"),
    [
        # 6 PB, more than a process can address.
        ("conditioning", "depth --n 10000000", "Unable to allocate"),
        # 8 PB, of a list, of which Python says nothing.
        (
            "conditioning",
            "depth --depths 1000000000000000",
            "not enough memory; ask for less",
        ),
        # 800 TB, of PyTorch, which speaks of its allocator.
        (
            "square_loss",
            "train --conv --widths 10000000 10000000 --kernel 1 --seeds 1",
            "not enough memory for ",
        ),
    ],
)
def test_too_little_memory_is_said_in_a_line(study, given, said, capsys):
    known = importlib.import_module(f"empirical.{study}.__main__")
    assert known.main([*given.split(), "--device", "cpu"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {said}")


@pytest.mark.parametrize(
    ("study", "given"),
    [
        ("square_loss", "train --epochs"),
        ("square_loss", "train --widths"),
        ("identity_map", "train --steps"),
        ("identity_map", "train --size"),
        ("normrelu", "train --epochs"),
        ("normrelu", "train --depth"),
        ("conditioning", "depth --n"),
        ("conditioning", "train --steps"),
        ("conditioning", "chain --width"),
    ],
)
def test_numbers_beyond_a_word_are_refused_by_name(study, given, capsys):
    """They are no size of anything; PyTorch and NumPy speak of their own arguments."""
    known = importlib.import_module(f"empirical.{study}.__main__")
    assert known.main([*given.split(), str(2**63), "--device", "cpu"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: `{given.split()[1]}` must be below 2^53, but it is")


@pytest.mark.parametrize("workers", ["99999", None])
def test_no_more_processes_start_than_there_are_tasks(workers, tmp_path, monkeypatch):
    """Each loads PyTorch, and one without a task for nothing."""
    known = importlib.import_module("empirical.square_loss.__main__")
    asked = []

    def engine(**given):
        asked.append(given["workers"])
        raise ValueError("enough is seen")

    monkeypatch.setattr(command, "Engine", engine)
    monkeypatch.setattr(command, "cores", lambda: 64)
    given = ["batch", "--names", "bn", "wn", "--parts", "3", "--out", str(tmp_path)]
    given += [] if workers is None else ["--workers", workers]
    assert known.main([*given, "--device", "cpu"]) == 2
    assert asked == [6]


def test_why_a_task_of_a_batch_failed_is_said_of_options(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("DEEP_LEDGER_DATA", raising=False)
    known = importlib.import_module("empirical.square_loss.__main__")
    given = ["batch", "--scale", "paper", "--names", "bn-decay", "--device", "cpu"]
    given += ["--out", str(tmp_path / "runs"), "--data-folder", str(tmp_path)]
    assert known.main(given) == 1
    told = capsys.readouterr().err
    assert "bn-decay: failed: cifar10 (train) is in none of" in told
    assert "or name its folder with `--data-folder`" in told
    assert "need `--allow-unverified`" in told


def test_what_timed_out_says_the_command_that_goes_on(tmp_path, monkeypatch, capsys):
    known = importlib.import_module("empirical.square_loss.__main__")
    late = "timed out: it may take 120 s"
    ended = {"bn": late, "wn": late, "none": "failed: no data", "bn-decay": "done"}
    monkeypatch.setattr(command, "run_batch", lambda *_, **__: ended)
    given = ["batch", "--names", *ended, "--most-minutes", "2", "--device", "cpu"]
    given += ["--out", str(tmp_path / "the runs")]
    # Nothing to go on from is nothing to be told.
    assert known.main(given) == 1
    assert "goes on" not in re.sub(r"\s+", " ", capsys.readouterr().err)
    (tmp_path / "the runs").mkdir()
    (tmp_path / "the runs" / "bn.0123456789abcdef.checkpoint").touch()
    assert known.main(given) == 1
    *_, said = capsys.readouterr().err.strip().splitlines()
    start = "python -m empirical.square_loss batch --names bn wn none bn-decay --device"
    assert said.startswith(start)
    assert said.endswith("the runs' --most-minutes 4 --names bn")
    assert shlex.split(said)[-5] == str(tmp_path / "the runs")


def test_more_memory_than_there_can_be_is_no_limit(tmp_path):
    known = importlib.import_module("empirical.square_loss.__main__")
    given = ["batch", "--names", "none-decay", "--out", str(tmp_path), "--minutes", "0"]
    assert known.main([*given, "--device", "cpu", "--most-memory", "1e300"]) == 124


@pytest.fixture
def drawn(monkeypatch):
    """Draw an ending of curves; return the axes of what would be a file."""
    kept = []
    monkeypatch.setattr(ending, "save_figure", lambda figure, _: kept.append(figure))

    def draw(errors=None, **options):
        curves = tuple(
            ending.Curve(n, [1, 2, 3], [0.1, 0.5, 0.9], errors) for n in "abc"
        )
        given = {"curves": curves} | options
        made = ending.Ending(said=(), x="epoch", y="share", **given)
        ending.draw(made, Path("a.svg"))
        return kept[-1].axes[0]

    return draw


def test_curves_of_a_figure_are_told_apart_without_colour(drawn):
    assert len({line.get_linestyle() for line in drawn().lines}) == 3


def test_epochs_of_a_figure_are_whole_numbers(drawn):
    ticks = drawn().get_xticks()
    assert all(tick == round(tick) for tick in ticks)


def test_errors_of_a_figure_are_named(drawn):
    assert drawn().get_ylabel() == "share"
    assert drawn([0.1] * 3).get_ylabel() == "share ± standard error"
    assert drawn([0.1] * 3, error="deviation").get_ylabel() == "share ± deviation"


def test_a_figure_without_curves_says_so(drawn):
    assert [text.get_text() for text in drawn(curves=()).texts] == ["nothing to draw"]
    assert not drawn().texts


def test_a_power_law_is_drawn_as_a_straight_line(drawn):
    ax = drawn(log=True, log_x=True)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "3"]
