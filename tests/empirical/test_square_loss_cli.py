"""Configurations, their records, and the command line of the square loss."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
import torch

from empirical.batch import plain
from empirical.networks import Convolutional
from empirical.square_loss import Recipe, batch, classifier
from empirical.square_loss import __main__ as command
from empirical.square_loss.experiments import SCALES, Configuration, configurations

NET = classifier("bn", shape=(65,), widths=(4, 4))

TINY = tuple(
    Configuration(
        name=f"c{i}",
        network=NET,
        recipe=Recipe(epochs=5 + i),
        per_class=10,
        tests=5,
        scales=(0.5, 2.0),
        seeds=(0, 1),
    )
    for i in range(3)
)

QUICK = ["train", "--side", "8", "--widths", "4", "--per-class", "10", "--tests", "5"]


class TestConfigurations:
    @pytest.mark.parametrize("scale", SCALES)
    def test_every_figure_and_family(self, scale):
        made = configurations(scale)
        assert len({c.name for c in made}) == len(made)
        assert {n for c in made for n in c.figures} == set(range(1, 12))
        assert {None, "matrix", "rows"} == {c.network.weighting for c in made}
        assert any(len(c.labels) > 2 for c in made)

    def test_the_papers_protocol(self):
        made = {c.name: c for c in configurations("paper")}
        first = made["bn-decay"]
        assert (first.recipe.batch, first.recipe.epochs) == (128, 1000)
        assert (first.recipe.weight_decay, first.recipe.rate) == (0.01, 0.1)
        assert first.scales == (0.1, 1.0, 5.0)
        assert first.recipe.penalty(2 * first.per_class) == 50.0
        assert isinstance(made["bn-conv"].network, Convolutional)
        assert made["bn-conv"].recipe.weight_decay == 0.0
        assert made["none"].scales == (5.0, 15.0, 30.0)
        assert all(len(c.seeds) >= 5 and c.network.layers == 4 for c in made.values())

    @pytest.mark.parametrize(
        ("changes", "match"),
        [
            ({"name": "a/b"}, "`name` must be letters"),
            ({"data": "minst"}, "`data` must be one of"),
            ({"dtype": "float16"}, "`dtype` must be one of"),
            ({"scales": ()}, "must not be empty"),
            ({"labels": (1, 2, 3)}, "`labels` must be two"),
            ({"labels": (1,)}, "`labels` must be two"),
        ],
    )
    def test_refusals(self, changes, match):
        with pytest.raises(ValueError, match=match):
            replace(TINY[0], **changes)
        with pytest.raises(ValueError, match="`scale` must be one of"):
            configurations("medium")


class TestRecords:
    def test_the_record(self):
        record = batch.run_configuration(replace(TINY[0], recipe=Recipe(epochs=9)))
        text = json.loads(json.dumps(plain(record), allow_nan=False))
        assert text["penalty"] == 0.0
        assert text["examples"] == 20
        draws = text["draws"]
        assert [(d["scale"], d["seed"]) for d in draws] == list(TINY[0].draws)
        count = len(text["epochs"])
        for draw in draws:
            series = draw["series"]
            assert all(
                len(v) == count for k, v in series.items() if k != "example_residuals"
            )
            assert len(series["example_residuals"]) == len(text["sparse_epochs"])
            assert len(series["norms"][0]) == 3
            assert draw["margins"] == sorted(draw["margins"])
            assert len(draw["test_margins"]) == 10
            assert sum(draw["margins"]) / 20 == pytest.approx(
                series["margin_mean"][-1], rel=1e-12
            )

    def test_a_divergence_is_on_record(self):
        wild = replace(
            TINY[0],
            network=replace(NET, norm=None),
            recipe=Recipe(epochs=40, rate=0.2, check=5),
            scales=(1e4,),
        )
        record = batch.run_configuration(wild)
        lost = [d for d in record["draws"] if d["status"] == "diverged"]
        assert lost
        for draw in lost:
            assert draw["diverged"] < draw["steps"]
            assert draw["series"]["rho"][-1] is None
        json.dumps(plain(record), allow_nan=False)

    def test_batch_runs_keeps_and_tells(self, tmp_path):
        told = []

        def run(made=TINY):
            return batch.run_batch(
                made,
                directory=tmp_path,
                device="cpu",
                report=lambda c, outcome: told.append((c.name, outcome)),
            )

        assert set(run().values()) == {"done"}
        assert told[:2] == [("c0", "running"), ("c0", "done")]
        assert set(run().values()) == {"kept"}
        absent = replace(TINY[1], name="d", per_class=10_000)
        outcomes = run((replace(TINY[0], seeds=(5,)), absent))
        assert outcomes["c0"] == "done"
        assert outcomes["d"].startswith("failed: ")


class TestCommand:
    def test_one_stack(self, capsys, tmp_path):
        argv = [*QUICK, "--epochs", "5", "--seeds", "0", "1", "--scales", "1", "2"]
        assert command.main([*argv, "--weights", str(tmp_path / "w")]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert [d["seed"] for d in shown["draws"]] == [0, 1, 0, 1]
        weights = torch.load(tmp_path / "w", weights_only=True)
        assert weights["final"][0].shape == (4, 4, 65)
        path = tmp_path / "r.json"
        assert command.main([*argv, "--output", str(path)]) == 0
        assert json.loads(path.read_text())["draws"] == shown["draws"]

    @pytest.mark.parametrize(
        "more",
        [
            ["--family", "wn", "--weight-decay", "0.1", "--decayed", "last"],
            ["--conv", "--widths", "3", "3", "--dtype", "float32"],
            ["--labels", "1", "2", "3", "--batch", "8", "--schedule", "0.5"],
        ],
    )
    def test_kinds(self, more, capsys):
        assert command.main([*QUICK, "--epochs", "3", *more]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert {d["status"] for d in shown["draws"]} == {"finished"}

    def test_divergence_is_the_exit_status(self, capsys):
        argv = [*QUICK, "--family", "none", "--rate", "1e6", "--epochs", "30"]
        assert command.main(argv) == 1
        assert '"diverged"' in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("argv", "said"),
        [
            ([*QUICK, "--family", "batch"], "`family` must be one of"),
            ([*QUICK, "--labels", "3"], "`labels` must be two"),
            ([*QUICK, "--weight-decay", "-1"], "`weight_decay` must not be negative"),
            ([*QUICK, "--device", "tpu"], "`device` must be auto, cpu or cuda"),
            (["list", "--figures", "12"], "no configuration of scale small"),
            (["list", "--shard", "3/2"], "1 <= I <= N"),
        ],
    )
    def test_misuse(self, argv, said, capsys):
        assert command.main(argv) == 2
        assert said in capsys.readouterr().err

    def test_list(self, capsys):
        assert command.main(["list", "--figures", "9"]) == 0
        assert capsys.readouterr().out.split() == (
            ["none", "30", "draws", "figures", "9", "10", "11"]
        )

    def test_fewer_examples(self, tmp_path, monkeypatch, capsys):
        monkeypatch.setattr(command, "configurations", lambda _scale: TINY[:1])
        argv = ["batch", "--out", str(tmp_path), "--per-class", "6"]
        assert command.main(argv) == 0
        assert json.loads((tmp_path / "c0.json").read_text())["examples"] == 12
        assert "c0: done" in capsys.readouterr().err

    def test_a_deadline_leaves_a_checkpoint_that_the_next_call_ends(
        self, tmp_path, monkeypatch, capsys
    ):
        monkeypatch.setattr(command, "configurations", lambda _scale: TINY)
        argv = ["batch", "--out", str(tmp_path)]
        assert command.main([*argv, "--minutes", "0"]) == 130
        assert "interrupted" in capsys.readouterr().err
        assert command.main(argv) == 0
        names = sorted(p.name for p in tmp_path.iterdir())
        assert names == ["c0.json", "c1.json", "c2.json"]

    def test_interrupted_by_a_signal(self, tmp_path):
        out = tmp_path / "records"
        argv = [sys.executable, "-m", "empirical.square_loss", "batch"]
        argv += ["--out", str(out), "--only", "classes"]
        # Children of what runs in the background ignore Ctrl-C.
        child = subprocess.Popen(
            argv,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        # The folder is made when the batch begins.
        until = time.monotonic() + 60
        while not out.exists() and time.monotonic() < until:
            time.sleep(0.02)
        os.kill(child.pid, signal.SIGINT)
        _, said = child.communicate(timeout=60)
        assert child.returncode == 130, said
        assert "interrupted" in said
        assert not list(out.glob("*.partial"))
