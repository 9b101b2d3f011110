"""Configurations, their records, and the command line of the square loss."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from empirical.square_loss import Network, Recipe, batch
from empirical.square_loss import __main__ as command
from empirical.square_loss.experiments import SCALES, Configuration, configurations
from empirical.testbed.records import RunRecord

NET = Network(family="bn", shape=(65,), widths=(4, 4))

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
        assert {"bn", "none", "wn", "wn-rows"} <= {c.network.family for c in made}
        assert any(len(c.labels) > 2 for c in made)

    def test_the_papers_protocol(self):
        made = {c.name: c for c in configurations("paper")}
        first = made["bn-decay"]
        assert (first.recipe.batch, first.recipe.epochs) == (128, 1000)
        assert (first.recipe.weight_decay, first.recipe.rate) == (0.01, 0.1)
        assert first.scales == (0.1, 1.0, 5.0)
        assert first.recipe.penalty(2 * first.per_class) == 50.0
        assert made["bn-conv"].network.convolutional
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
        record = RunRecord.of(json.loads(record.text()))
        assert record.fact("penalty") == 0.0
        assert record.fact("examples") == 20
        found = [(d.key("scale"), d.seed) for d in record.draws]
        assert found == list(TINY[0].draws)
        few = ("example_residuals", "margins", "test_margins")
        epochs, sparse = (record.series(f"{p}epochs") for p in ("", "sparse_"))
        for draw in record.draws:
            every = [v for name, v in draw.arrays.items() if name not in few]
            assert {len(values) for values in every} == {len(epochs)}
            assert len(draw.series("example_residuals")) == len(sparse)
            assert draw.series("norms").shape == (len(epochs), 3)
            margins = draw.series("margins")
            assert margins.tolist() == sorted(margins)
            assert draw.series("test_margins").shape == (10,)
            last = draw.series("margin_mean")[-1]
            assert margins.mean() == pytest.approx(last, rel=1e-12)

    def test_a_divergence_is_on_record(self):
        wild = replace(
            TINY[0],
            network=replace(NET, family="none"),
            recipe=Recipe(epochs=40, rate=0.2, check=5),
            scales=(1e4,),
        )
        record = batch.run_configuration(wild)
        lost = record.draws.ended("diverged")
        assert lost
        for draw in lost:
            assert draw.fact("diverged") < draw.fact("steps")
            assert np.isnan(draw.series("rho")[-1])
        json.loads(record.text(), parse_constant=pytest.fail)

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
        assert [d["keys"]["seed"] for d in shown["draws"]] == [0, 1, 0, 1]
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
        assert RunRecord.read(tmp_path / "c0.json").fact("examples") == 12
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
