"""Configurations, their records, and the command line."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
import torch

from empirical.identity_map import __main__ as command
from empirical.identity_map import batch, copier
from empirical.identity_map.experiments import Configuration, configurations
from empirical.identity_map.recipes import Recipe
from empirical.identity_map.scales import SCALES
from empirical.identity_map.task import Copy
from empirical.testbed.checkpoints import UnreadableCheckpointWarning

NET = copier(kind="cnn", shape=(1, 7, 7), layers=2, width=3, kernel=3)

TINY = tuple(
    Configuration(name=f"c{i}", network=NET, recipe=Recipe(steps=5 + i), seeds=(0, 1))
    for i in range(3)
)

QUICK = ["--size", "7", "--layers", "2", "--width", "3", "--kernel", "3"]


class TestConfigurations:
    @pytest.mark.parametrize("scale", SCALES)
    def test_every_figure_is_covered_once_by_name(self, scale):
        made = configurations(scale)
        assert len({c.name for c in made}) == len(made)
        assert {n for c in made for n in c.figures} == set(range(1, 44))

    def test_the_papers_scale_has_its_architectures(self):
        made = configurations("paper")
        layers = {c.network.layers for c in made if c.name.startswith("cnn-depth")}
        assert {1, 5, 20, 24} <= layers
        widths = {c.network.widths[0] for c in made if c.name.startswith("channels")}
        assert 1024 in widths
        assert {c.recipe.steps for c in made if 3 in c.figures} == {2_000_000}

    def test_refusals(self):
        for changes, match in (
            ({"name": "a/b"}, "`name` must be letters"),
            ({"data": "minst"}, "`data` must be one of"),
            ({"labels": ()}, "must not be empty"),
            ({"labels": ((1,), (1, 2))}, "all training sets as large"),
            ({"measurements": ("curves",)}, "Did you mean curve"),
            ({"schemes": ("xavier",)}, "Did you mean 'xavier"),
            ({"examples": 10}, "must have a batch"),
        ):
            given = {"name": "x", "network": NET, "recipe": Recipe()} | changes
            with pytest.raises(ValueError, match=match):
                Configuration(**given)
        with pytest.raises(ValueError, match="`scale` must be one of"):
            configurations("medium")  # pyright: ignore[reportArgumentType]


class TestRecords:
    def test_groups_are_trained_side_by_side_and_told_apart(self):
        both = replace(
            TINY[0],
            labels=((7,), (3,)),
            schemes=("framework", "orthogonal"),
            rates=(0.01, 0.02),
        )
        record = batch.run_configuration(both, device="cpu")
        assert len(record["groups"]) == 8
        for group in record["groups"]:
            alone = replace(
                TINY[0],
                labels=(tuple(group["labels"]),),
                schemes=(group["scheme"],),
                rates=(group["rate"],),
            )
            (single,) = batch.run_configuration(alone, device="cpu")["groups"]
            for mine, theirs in zip(single["draws"], group["draws"], strict=True):
                # Rounding of float32, a few updates of it.
                assert mine["losses"] == pytest.approx(theirs["losses"], rel=1e-4)
            assert single["measured"]["curve"]["constant"][1] == pytest.approx(
                group["measured"]["curve"]["constant"][1], abs=1e-4
            )

    def test_many_examples_and_colour(self):
        many = replace(TINY[0], examples=30, recipe=Recipe(steps=5, batch=4))
        record = batch.run_configuration(many, device="cpu")
        assert record["groups"][0]["draws"][0]["status"] == "finished"
        net = replace(NET, shape=(3, 7, 7))
        colour = replace(TINY[0], network=net, data="channelled", labels=((7, 3, 1),))
        record = batch.run_configuration(colour, device="cpu")
        assert record["groups"][0]["measured"]["training"][0]["shape"] == [3, 7, 7]

    def test_a_divergence_is_on_record(self):
        wild = replace(TINY[0], rates=(1e9,), recipe=Recipe(steps=60, retries=1))
        record = batch.run_configuration(wild, device="cpu")
        draws = record["groups"][0]["draws"]
        assert {draw["status"] for draw in draws} == {"diverged"}
        assert all(len(draw["starts"]) == 2 for draw in draws)
        json.dumps(record, allow_nan=False)

    def test_batch_runs_keeps_and_tells(self, tmp_path):
        told = []

        def run(chosen=TINY):
            return batch.run_batch(
                chosen,
                directory=tmp_path,
                device="cpu",
                report=lambda c, outcome: told.append((c.name, outcome)),
            )

        assert set(run().values()) == {"done"}
        assert told[:2] == [("c0", "running"), ("c0", "done")]
        assert set(run().values()) == {"kept"}
        changed = replace(TINY[0], seeds=(5,))
        absent = replace(TINY[1], name="d", labels=((11,),))
        outcomes = run((changed, absent))
        assert outcomes["c0"] == "done"
        assert outcomes["d"].startswith("failed: chosen: `labels`")
        assert sorted(p.name for p in tmp_path.iterdir()) == [
            f"c{i}.json" for i in range(3)
        ]

    def test_nothing_but_records_is_left(self, tmp_path):
        # Two further starts have states of their own on the way.
        wild = replace(TINY[0], rates=(1e9,), recipe=Recipe(steps=60, retries=2))
        assert batch.run_batch([wild], directory=tmp_path, device="cpu") == {
            "c0": "done"
        }
        record = json.loads((tmp_path / "c0.json").read_text())
        assert len(record["groups"][0]["draws"][0]["starts"]) == 3
        assert [p.name for p in tmp_path.iterdir()] == ["c0.json"]

    def test_a_checkpoint_outlives_the_writing_of_its_record(
        self, tmp_path, monkeypatch
    ):
        def full(*_):
            raise OSError("No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr("empirical.batch.write_json", full)
            outcomes = batch.run_batch(TINY[:1], directory=tmp_path, device="cpu")
        assert outcomes == {"c0": "failed: No space left on device"}
        (left,) = tmp_path.iterdir()
        assert left.suffix == ".checkpoint"

        def never(*_):
            raise AssertionError("an update was made")

        monkeypatch.setattr(Copy, "losses_and_slopes", never)
        outcomes = batch.run_batch(TINY[:1], directory=tmp_path, device="cpu")
        assert outcomes == {"c0": "done"}
        assert [p.name for p in tmp_path.iterdir()] == ["c0.json"]

    @pytest.mark.parametrize("content", [b"", b"noise" * 99], ids=["empty", "noise"])
    def test_a_damaged_checkpoint_is_set_aside_and_stops_nothing(
        self, content, tmp_path, monkeypatch
    ):
        with monkeypatch.context() as patched:
            patched.setattr("empirical.batch.write_json", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                batch.run_batch(TINY[:1], directory=tmp_path, device="cpu")
        (left,) = tmp_path.iterdir()
        left.write_bytes(content)
        with pytest.warns(UnreadableCheckpointWarning, match="training starts anew"):
            outcomes = batch.run_batch(TINY, directory=tmp_path, device="cpu")
        assert set(outcomes.values()) == {"done"}
        aside = left.with_name(f"{left.name}.unreadable")
        assert aside.read_bytes() == content


class TestCommand:
    def test_one_network(self, capsys, tmp_path):
        argv = ["train", *QUICK, "--steps", "5", "--seeds", "0", "1"]
        assert command.main([*argv, "--weights", str(tmp_path / "w")]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert [d["seed"] for d in shown["groups"][0]["draws"]] == [0, 1]
        weights = torch.load(tmp_path / "w", weights_only=True)
        assert weights["final"][0].shape == (2, 3, 1, 3, 3)
        path = tmp_path / "r.json"
        assert command.main([*argv, "--output", str(path)]) == 0
        assert json.loads(path.read_text())["groups"] == shown["groups"]

    @pytest.mark.parametrize("kind", ["fcn", "residual"])
    def test_kinds_and_two_images(self, kind, capsys):
        argv = ["train", "--kind", kind, "--size", "7", "--layers", "2", "--steps", "5"]
        argv += ["--labels", "7", "3", "--measure", "predictions", "change"]
        assert (
            command.main(
                [*argv, "--optimiser", "adam", "--clip", "none", "--no-rescale"]
            )
            == 0
        )
        measured = json.loads(capsys.readouterr().out)["groups"][0]["measured"]
        assert {"predictions", "change"} <= set(measured)

    def test_divergence_is_the_exit_status(self, capsys):
        argv = ["train", *QUICK, "--rate", "1e9", "--clip", "none", "--no-rescale"]
        assert command.main([*argv, "--retries", "0", "--release", "none"]) == 1
        assert '"diverged"' in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("argv", "said"),
        [
            (["train", "--kernel", "4"], "`kernel` must be odd"),
            (["train", "--size", "-3"], "`shape` must be"),
            (["train", "--optimiser", "adam2"], "Did you mean 'adam'"),
            (["train", "--schemes", "orthogonl"], "Did you mean 'orthogonal'"),
            (["train", "--device", "tpu"], "`device` must be auto, cpu or cuda"),
            (["list", "--figures", "44"], "no configuration of scale small"),
        ],
    )
    def test_misuse(self, argv, said, capsys):
        assert command.main(argv) == 2
        assert said in capsys.readouterr().err

    def test_list(self, capsys):
        assert command.main(["list", "--figures", "9"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines
        assert all(line.startswith("kernel-") for line in lines)

    def test_shards_share_the_work(self, capsys):
        lines = []
        for shard in ("1/1", "1/2", "2/2"):
            assert command.main(["list", "--shard", shard]) == 0
            lines.append(capsys.readouterr().out.splitlines())
        whole, first, second = lines
        assert first
        assert second
        assert sorted(first + second) == sorted(whole)
        assert command.main(["list", "--shard", "3/2"]) == 2
        assert "1 <= I <= N" in capsys.readouterr().err

    def test_a_deadline_leaves_a_checkpoint_that_the_next_call_goes_on_from(
        self, tmp_path, monkeypatch, capsys
    ):
        longer = replace(TINY[0], recipe=Recipe(steps=120, schedule=()))
        monkeypatch.setattr(command, "configurations", lambda _scale: (longer,))
        argv = ["batch", "--out", str(tmp_path)]
        # The start of a configuration is a place to stop at, too.
        monkeypatch.setattr(command.command.Bar, "report", lambda *_: None)
        for done in (50, 100):
            assert command.main([*argv, "--minutes", "0"]) == 130
            assert "interrupted" in capsys.readouterr().err
            (left,) = tmp_path.iterdir()
            assert torch.load(left, weights_only=True)["t"] == done
        assert command.main(argv) == 0
        assert [p.name for p in tmp_path.iterdir()] == ["c0.json"]

    def test_the_checkpoint_of_one_network_goes_when_its_record_is_out(
        self, tmp_path, capsys
    ):
        argv = ["train", *QUICK, "--rate", "1e9", "--clip", "none", "--no-rescale"]
        argv += ["--steps", "60", "--checkpoint", str(tmp_path / "c")]
        absent = tmp_path / "absent" / "r.json"
        assert command.main([*argv, "--output", str(absent)]) == 1
        assert {"c", "c.1"} <= {p.name for p in tmp_path.iterdir()}
        assert command.main(argv) == 1
        assert "diverged" in capsys.readouterr().out
        assert list(tmp_path.iterdir()) == []

    def test_interrupted_by_a_signal(self, tmp_path):
        argv = [sys.executable, "-m", "empirical.identity_map", "batch"]
        argv += ["--out", str(tmp_path), "--only", "cnn-depth"]
        # Children of what runs in the background ignore Ctrl-C.
        child = subprocess.Popen(
            argv,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        until = time.monotonic() + 60
        while not list(tmp_path.glob("*.json")) and time.monotonic() < until:
            time.sleep(0.05)
        os.kill(child.pid, signal.SIGINT)
        _, said = child.communicate(timeout=60)
        assert child.returncode == 130
        assert "interrupted" in said
        assert (tmp_path / "cnn-depth-1.json").exists()
        assert not list(tmp_path.glob("*.partial"))
