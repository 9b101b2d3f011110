"""Experiments and the command line."""

import inspect
import json
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from empirical import conditioning as ec
from empirical.conditioning import __main__ as command
from empirical.conditioning import experiments
from empirical.conditioning.ending import ending
from empirical.conditioning.experiments import recorded
from empirical.networks import FullyConnected
from empirical.randomness import torch_generator
from empirical.testbed import command as testbed_command
from empirical.testbed.records import RunRecord


class TestExperiments:
    @pytest.mark.parametrize("data_kind", experiments.DATA)
    def test_inputs(self, data_kind):
        x = ec.inputs(data_kind, n=6, delta=0.1, seed=7)
        np.testing.assert_allclose((x**2).sum(axis=1), 1, rtol=1e-12)

    def test_top_layer_rates_obey_the_condition_number(self):
        got = ec.EXPERIMENTS["train"](n=8, width=128, depth=2, draws=2, steps=60)
        floors = 2 / np.array(got["conditions"])
        assert (np.array(got["slowest_rates"]) >= floors * (1 - 1e-9)).all()

    def test_a_singular_kernel_has_an_infinite_condition_number(self):
        got = ec.EXPERIMENTS["train"](n=40, width=8, depth=1, draws=3, steps=1)
        assert got["conditions"] == [np.inf] * 3

    def test_digits_are_interpolated_with_the_mean_kernel(self):
        got = ec.EXPERIMENTS["digits"](
            n=12, tests=5, activation="tanh", width=30, depths=(1, 2), draws=2, seed=7
        )
        problem = ec.digit_problem(12, 5)
        every = np.concatenate([problem.inputs, problem.test_inputs])
        network = FullyConnected(widths=(784, 30, 30, 1), activation=ec.named("tanh"))
        # Drawn layer after layer, without a readout.
        g = torch_generator(7, "weights")
        kernels = np.zeros((2, 17, 17))
        for _ in range(2):
            layers = network.stream_features(torch.from_numpy(every), generator=g)
            for depth, h in enumerate(layers):
                kernels[depth] += (h @ h.T).numpy() / 2
        for row, k in zip(got["rows"], kernels, strict=True):
            fit = ec.minimum_norm(k[:12, :12], problem.targets, cross=k[12:, :12])
            gap = fit.predictions - problem.test_targets
            # Rounding times a condition number of at most 1e4.
            assert row["squared_norm"] == pytest.approx(
                fit.squared_norms.sum(), rel=1e-9
            )
            assert row["test_error"] == pytest.approx((gap**2).sum() / 5, rel=1e-9)
            right = fit.predictions.argmax(axis=1) == problem.test_labels
            assert row["test_accuracy"] == pytest.approx(right.mean())

    def test_chains_are_summarised_with_their_errors(self):
        got = ec.EXPERIMENTS["chain"](width=8, depth=2, chains=20, rho=0.5, seed=7)
        runs = ec.pair_chains(
            0.5,
            activation=ec.named("relu"),
            width=8,
            depth=2,
            chains=20,
            generator=torch_generator(7, "units"),
            project=True,
        )
        assert got["correlations"] == runs.means.tolist()
        np.testing.assert_allclose(
            got["correlations_standard_errors"], runs.standard_errors, rtol=1e-14
        )
        mean = (runs.correlations**2).mean(axis=0)
        np.testing.assert_allclose(got["squared_correlations"], mean, rtol=1e-14)

    def test_one_network_says_nothing_of_its_error(self):
        arguments = {"width": 8, "depth": 2, "chains": 1, "activation": "relu"}
        record = recorded("chain", arguments)
        found = record.fact("result")["correlations_standard_errors"]
        assert np.isnan(np.array(found, dtype=float)).all()
        first, second = ending(record, "chain").said
        assert first == "Drew 1 network with relu and 8 units a layer."
        assert "±" not in second

    @pytest.mark.parametrize("steps", [5, 40])
    def test_networks_that_diverged_have_no_loss_left(self, steps):
        arguments = {"activation": "exp", "layers": "all", "data": "a", "n": 2}
        arguments |= {"delta": 0.5, "width": 8, "depth": 2, "draws": 2, "steps": steps}
        record = recorded("train", arguments)
        away = sum(at >= 0 for at in record.fact("result")["diverged_at"])
        said = ending(record, "train").said[1]
        assert f"; {away} of 2 diverged." in said
        assert away > 0
        assert "nan" not in said

    def test_norms_start_from_the_inputs_given(self):
        got = ec.EXPERIMENTS["norms"](
            rho=0.3, squared_norms=(2.0, 0.5), width=8, depth=1, draws=2
        )
        np.testing.assert_allclose(got["squared_norms"][0], [2.0, 0.5], rtol=1e-14)
        assert got["correlations"][0] == pytest.approx(0.3, abs=1e-15)

    def test_refusals(self):
        for kind, arguments, match in (
            ("depth", {"data": "c"}, "`data` must be one of"),
            ("train", {"layers": "both"}, "`layers` must be one of top, all"),
            ("digits", {"width": 2, "draws": 1}, "`width` times `draws` must exceed"),
            ("chain", {"activation": "x"}, "`name` must be one of"),
            (
                "norms",
                {"squared_norms": (-1.0, 2.0)},
                "`squared_norms` must be positive",
            ),
            *(
                ("digits", {"depths": depths}, "`depths` must be increasing, from 1 on")
                for depths in ((), (0, 2), (-1,), (3, 1))
            ),
            ("digits", {"noise": np.nan}, "`noise` must not be negative"),
        ):
            with pytest.raises(ValueError, match=match):
                ec.EXPERIMENTS[kind](**arguments)


class TestCommand:
    def test_one_experiment(self, capsys, tmp_path):
        argv = ["chain", "--width", "8", "--depth", "2", "--chains", "5"]
        assert command.main([*argv, "--device", "cpu", "--output", "-"]) == 0
        shown = RunRecord.of(json.loads(capsys.readouterr().out)).fact("result")
        assert len(shown["correlations"]) == 3
        path = tmp_path / "r.json"
        argv += ["--device", "cpu", "--output", str(path)]
        assert command.main(argv) == 0
        record = RunRecord.read(path)
        assert record.entry("kind") == "chain"
        assert record.fact("result") == shown
        assert record.environment["device"] == "cpu"

    @pytest.mark.parametrize(
        "argv",
        [
            ["depth", "--n", "4", "--depths", "0", "2", "--width", "16", "--tangent"],
            ["width", "--n", "3", "--widths", "8", "16", "--draws", "2"],
            ["width", "--n", "3", "--draws", "2"],
            ["norms", "--width", "16", "--depth", "2", "--squared-norms", "2", "0.5"],
            ["train", "--layers", "all", "--n", "4", "--width", "16", "--steps", "3"],
            ["digits", "--n", "20", "--tests", "5", "--depths", "1", "--width", "32"],
        ],
    )
    def test_every_experiment_ends_with_sentences_and_a_figure(
        self, argv, capsys, tmp_path
    ):
        path = tmp_path / "figure.png"
        assert command.main([*argv, "--device", "cpu", "--figure", str(path)]) == 0
        *said, last = capsys.readouterr().out.splitlines()
        assert len(said) >= 3
        # What it means, in the paper's terms.
        assert "paper" in " ".join(said)
        assert last.endswith("figure.png.")
        assert path.read_bytes().startswith(b"\x89PNG")

    def test_what_depth_did_follows_from_the_numbers(self):
        record = RunRecord(
            configuration={
                "arguments": {"draws": 2, "activation": "relu", "width": 9, "n": 3}
            },
            schema=1,
            device="cpu",
            code="",
            facts={"result": {"depths": [1, 9], "nngp_conditions": [[8, 2], [8, 2]]}},
        )
        fell = " ".join(ending(record, "depth").said)
        assert "Depth conditions it: by the median, a factor 4 less" in fell
        rose = replace(
            record,
            facts={"result": {"depths": [1, 9], "nngp_conditions": [[2, 8], [2, 8]]}},
        )
        assert "Depth has not conditioned it" in " ".join(ending(rose, "depth").said)

    @pytest.mark.parametrize(
        ("lengths", "cosines", "said"),
        [
            # The first and the last layer decide, whatever comes between.
            (
                [2.0, 9.0, 1.5],
                [0.5, 0.9, -0.2],
                "nearer to 1, and the inputs less alike",
            ),
            (
                [2.0, 1.5, 9.0],
                [0.5, 0.2, -0.9],
                "no nearer to 1, and the inputs no less",
            ),
        ],
    )
    def test_what_became_of_lengths_follows_from_the_numbers(
        self, lengths, cosines, said
    ):
        squared = [[1.0, each] for each in lengths]
        result = {"squared_norms": squared, "correlations": cosines}
        result["squared_norms_standard_errors"] = squared
        arguments = {"draws": 2, "activation": "tanh", "width": 9}
        record = RunRecord(
            configuration={"arguments": arguments},
            schema=1,
            device="cpu",
            code="",
            facts={"result": result},
        )
        assert f"have come {said}" in ending(record, "norms").said[-1]

    @pytest.mark.parametrize(
        ("argv", "said"),
        [
            (["depth", "--n", "4", "--depths", "0", "--draws", "1"], "at depth 0."),
            (["width", "--n", "3", "--widths", "8", "--draws", "2"], "at width 8."),
        ],
    )
    def test_of_one_thing_it_says_one(self, argv, said, capsys):
        assert command.main([*argv, "--device", "cpu"]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert said in shown
        assert " 1 networks" not in shown
        assert said.removesuffix(".") + " and" not in shown

    def test_accuracies_are_told_with_their_depths(self, capsys):
        argv = ["digits", "--n", "20", "--tests", "5", "--width", "32", "--output", "-"]
        assert command.main([*argv, "--depths", "1", "8", "--device", "cpu"]) == 0
        out, err = capsys.readouterr()
        rows = RunRecord.of(json.loads(out)).fact("result")["rows"]
        shown = [
            f"{100 * r['test_accuracy']:.3g} % at depth {r['depth']}" for r in rows
        ]
        assert " and ".join(shown) in " ".join(err.split())

    def test_a_deadline_ends_it_at_once_and_says_so(self, capsys, monkeypatch):
        monkeypatch.setattr(testbed_command, "GRACE", 600.0)
        argv = ["chain", "--chains", "1000000", "--device", "cpu", "--minutes", "0"]
        start = time.monotonic()
        assert command.main(argv) == 124
        # Computed to the end it would take minutes.
        assert time.monotonic() - start < 60.0
        assert "interrupted; nothing is kept, a run of this" in capsys.readouterr().err

    @pytest.mark.parametrize("kind", sorted(ec.EXPERIMENTS))
    def test_help_names_every_argument(self, kind, capsys):
        with pytest.raises(SystemExit, match="0"):
            command.main([kind, "--help"])
        shown = capsys.readouterr().out
        assert "--data-folder" in shown
        for name in inspect.signature(ec.EXPERIMENTS[kind]).parameters:
            if name not in command.SKIPPED:
                assert "--" + name.replace("_", "-") in shown
                assert name in command.HELP

    def test_the_environment_names_the_data(self, capsys, monkeypatch, tmp_path):
        argv = ["digits", "--n", "20", "--tests", "5", "--device", "cpu"]
        monkeypatch.setenv("DEEP_LEDGER_DATA", str(tmp_path))
        assert command.main(argv) == 1
        assert f"mnist (train) is in none of: {tmp_path}" in capsys.readouterr().err

    def test_records_say_which_digits(self):
        got = ec.EXPERIMENTS["depth"](data="digits", n=4, width=8, depths=(1,), draws=1)
        source = got["source"]
        assert source["examples"] == 4
        assert len(source["sha256"]) == 64

    def test_misuse(self, capsys):
        assert command.main(["chain", "--rho", "3", "--device", "cpu"]) == 2
        assert "error: `--rho` must lie in" in capsys.readouterr().err
        assert command.main(["chain", "--device", "tpu"]) == 2
        with pytest.raises(SystemExit, match="2"):
            command.main(["chain", "--width"])

    @pytest.mark.parametrize(
        ("argv", "told"),
        [
            (
                ["depth", "--data", "digits", "--n", "99999"],
                "`--n` must lie in 1..4000",
            ),
            (["digits", "--tests", "99999"], "`--tests` must lie in 1..1000"),
            (
                ["digits", "--width", "2", "--draws", "3"],
                "`--width` times `--draws` must exceed `--n` = 200, but it is 6",
            ),
            (["width", "--widths", "8", "8"], "`--widths` must differ from each other"),
            (
                ["train", "--data", "digits", "--delta", "0.1"],
                "`--delta` changes nothing with `--data digits`",
            ),
        ],
    )
    def test_messages_are_about_options(self, argv, told, capsys, monkeypatch):
        # With MNIST there are more examples than at hand everywhere.
        monkeypatch.delenv("DEEP_LEDGER_DATA", raising=False)
        assert command.main([*argv, "--device", "cpu"]) == 2
        assert f"error: {told}" in capsys.readouterr().err

    def test_a_deviation_that_grows_is_not_said_to_fall(self, capsys):
        argv = ["width", "--n", "4", "--widths", "4", "8", "--depth", "2"]
        assert command.main([*argv, "--draws", "2", "--device", "cpu"]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert "It goes like width^2" in shown

    def test_what_both_kernels_do_at_infinite_width_is_said_once(self, capsys):
        argv = ["depth", "--n", "4", "--depths", "0", "2", "--width", "64", "--tangent"]
        assert command.main([*argv, "--draws", "2", "--device", "cpu"]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert shown.count("At infinite width depth brings condition") == 1
        # After two layers the width alone does not decide.
        assert "due to the finite width" not in shown

    def test_help_runs_as_a_module(self):
        done = subprocess.run(
            [sys.executable, "-m", "empirical.conditioning", "--help"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert "chain" in done.stdout
