"""The command line of the learnt initialisations."""

import json
import os
import signal
import time
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
import torch

from empirical.mmd_init import __main__ as command
from empirical.mmd_init import binary_tasks, networks, pretraining, study
from empirical.mmd_init.experiments import Configuration, configurations
from empirical.mmd_init.networks import classifier
from empirical.mmd_init.recipes import Recipe
from empirical.randomness import numpy_generator, torch_generator
from empirical.testbed import stopping, telling
from empirical.testbed.study import SCALES

NET = classifier((16, 6, 5, 2))
QUICK = "--hidden 6 5 --steps 7 --window 3 --batch 8 --perturbations 8 --reference 8"
TERMS = {"loss", "uniformity", "degeneracy", "detachment", "constant"}
IMAGES = cache(binary_tasks.images)


def as_module(net):
    params = networks.start(net, "he", [torch_generator(7)])
    return networks.as_module(net, params)


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    """Digits are read once, from those at hand."""
    monkeypatch.delenv("DEEP_LEDGER_DATA", raising=False)

    def at_hand(*name, **given):
        return IMAGES(*name, **(given | {"cached": False}))

    monkeypatch.setattr("empirical.mmd_init.binary_tasks.images", at_hand)
    monkeypatch.setattr(study, "images", IMAGES)


@pytest.fixture
def pretrain(tmp_path):
    """Run `pretrain`; return its exit code, and the state if there is one."""

    def run(*more, name="init.pt"):
        path, given = tmp_path / name, list(map(str, more))
        argv = ["pretrain", "--device", "cpu", *QUICK.split(), "--output", str(path)]
        if not {"--data", "--inputs"} & set(given):
            given += ["--data", "mnist-sample"]
        code = command.main([*argv, *given])
        return code, saved(path)["state"] if path.exists() else None

    return run


def saved(path):
    return torch.load(path, weights_only=True)


def table(rows=40):
    return numpy_generator(7, "inputs").normal(3.0, 2.0, (rows, 16))


def same(one, other):
    assert list(one) == list(other)
    assert all(torch.equal(one[k], other[k]) for k in one)


class TestList:
    @pytest.mark.parametrize("scale", SCALES)
    def test_names_runs_tables_and_figures(self, scale, capsys):
        assert command.main(["list", "--scale", scale]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines] == [
            c.name for c in configurations(scale)
        ]
        assert "mmd-xavier  tables 1 2 3 4" in lines

    def test_chooses(self, capsys):
        assert command.main(["list", "--figures", "2", "3"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines == [
            "sweep  tables 5  figures 3",
            "detachment  figures 2",
        ]
        assert command.main(["list", "--only", "labels", "bn", "he"]) == 0
        assert capsys.readouterr().out.startswith("labels-bn-he")
        assert command.main(["list", "--names", "none-he", "mmd-he"]) == 0
        names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
        assert sorted(names) == ["mmd-he", "none-he"]


class TestPretrain:
    def test_from_a_data_set(self, pretrain, tmp_path, capsys):
        record = tmp_path / "record.json"
        figure = tmp_path / "losses.png"
        code, state = pretrain("--side", 4, "--record", record, "--figure", figure)
        assert code == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "for networks 16-6-5-2 in" in said
        assert "finished; the one kept is that after update" in said
        assert "% predict one class for all inputs of a batch." in said
        losses = json.loads(record.read_text())["history"]["uniformity"]
        first, last = np.mean(losses[:3]), np.mean(losses[-3:])
        assert first != last
        assert (
            f"The uniformity loss went from {first:.3g}, the mean of the first 3 updates,"
            f" to {last:.3g}, that of the last: "
        ) in said
        assert said.endswith(f"The figure is in {figure}.")
        assert figure.read_bytes().startswith(b"\x89PNG")
        module = as_module(NET)
        module.load_state_dict(state)
        assert module(torch.ones(3, 16)).shape == (3, 2)
        found = json.loads(record.read_text())
        assert set(found) == {"status", "inputs", "best", "degenerate", "history"}
        assert (found["status"], found["degenerate"]) == ("finished", None)
        assert found["best"] in (3, 6)
        assert set(found["history"]) == TERMS
        for values in found["history"].values():
            assert np.isfinite(values).all()
            assert len(values) == 7
        # The same again, and another with another seed.
        same(state, pretrain("--side", 4)[1])
        _, other = pretrain("--side", 4, "--seed", 1)
        assert not torch.equal(state["0.weight"], other["0.weight"])

    def test_options_reach_the_recipe(self, pretrain, monkeypatch):
        seen = []

        def stop(network, x, recipe, **given):
            seen.append((network, recipe, given["on_degenerate"]))
            raise KeyboardInterrupt

        monkeypatch.setattr(pretraining, "pretrain", stop)
        assert pretrain("--side", 4)[0] == 130
        expected = Recipe(steps=7, window=3, batch=8, perturbations=8, reference=8)
        assert seen.pop() == (NET, expected, "record")
        more = "--s 2 --lam 0.1 --xi 0 --uni 2 --rate 0.01 --epochs 3 --grace 1"
        more += " --noise gram --estimator biased --degenerate 0.25 --no-closed"
        more += " --stop-degenerate --classes 4 --hidden 9"
        assert pretrain("--side", 4, *more.split())[0] == 130
        expected = replace(
            expected,
            s=2.0,
            lam=0.1,
            xi=0.0,
            uni=2.0,
            rate=0.01,
            epochs=3,
            grace=1,
            noise="gram",
            estimator="biased",
            degenerate=0.25,
            closed=False,
        )
        assert seen.pop() == (classifier((16, 9, 4)), expected, "stop")

    def test_the_defaults_are_the_papers(self, tmp_path, monkeypatch):
        seen = []

        def stop(network, x, recipe, **given):
            seen.append((network.widths[1:], recipe))
            raise KeyboardInterrupt

        monkeypatch.setattr(pretraining, "pretrain", stop)
        argv = ["pretrain", "--side", "4", "--output", str(tmp_path / "x")]
        argv += ["--data", "mnist-sample"]
        assert command.main(argv) == 130
        assert seen == [((392, 392, 392, 2), Recipe())]

    def test_from_files(self, pretrain, tmp_path):
        x = table()
        np.save(tmp_path / "x.npy", x)
        code, state = pretrain("--inputs", tmp_path / "x.npy")
        assert code == 0
        assert state["0.weight"].shape == (6, 16)
        as_module(NET).load_state_dict(state)
        torch.save(torch.from_numpy(x), tmp_path / "x.pt")
        same(state, pretrain("--inputs", tmp_path / "x.pt")[1])
        # In another machine's order of bytes.
        np.save(tmp_path / "swapped.npy", x.astype(x.dtype.newbyteorder()))
        code, swapped = pretrain("--inputs", tmp_path / "swapped.npy")
        assert code == 0
        same(state, swapped)
        # Images are flattened.
        np.save(tmp_path / "images.npy", x.reshape(-1, 4, 4))
        same(state, pretrain("--inputs", tmp_path / "images.npy")[1])
        # Standardised: shift and scale are no matter but for rounding of float32, 1e-7,
        # which a few steps let grow.
        np.save(tmp_path / "moved.npy", 4.0 * x - 1.0)
        # Far from zero, where float32 has a number in two; of another machine's order.
        np.save(tmp_path / "far.npy", x + 2.0**25)
        np.save(tmp_path / "swapped.npy", x.astype(">f8"))
        losses = []
        for name in ("x", "moved", "far", "swapped"):
            record = tmp_path / f"{name}.json"
            pretrain("--inputs", tmp_path / f"{name}.npy", "--record", record)
            losses.append(json.loads(record.read_text())["history"]["loss"])
        for others in losses[1:]:
            assert others == pytest.approx(losses[0], rel=1e-3)
        # Pixels.
        np.save(tmp_path / "bytes.npy", (20 * (x - x.min())).astype(np.uint8))
        assert pretrain("--inputs", tmp_path / "bytes.npy")[0] == 0

    @pytest.mark.usefixtures("eager")
    def test_goes_on_from_a_checkpoint(self, pretrain, tmp_path, monkeypatch):
        whole, recorded = pretrain("--side", 4, "--record", tmp_path / "a.json"), []

        def tell(done, last, **means):
            recorded.append(done)
            if recorded == [3, 6]:
                signal.raise_signal(signal.SIGINT)
                while not stopping.requested():
                    time.sleep(0.01)

        monkeypatch.setattr(telling, "tell", tell)
        kept = ("--side", 4, "--checkpoint", tmp_path / "kept")
        code, state = pretrain(*kept, name="b.pt")
        assert (code, state) == (130, None)
        assert (tmp_path / "kept").exists()
        # Of other options it is not taken.
        assert pretrain(*kept, "--lam", 0.3, name="b.pt") == (2, None)
        code, state = pretrain(*kept, "--record", tmp_path / "b.json", name="b.pt")
        assert code == whole[0] == 0
        assert recorded == [3, 6, 7]
        same(whole[1], state)
        assert (tmp_path / "a.json").read_text() == (tmp_path / "b.json").read_text()
        # What it led to is written.
        assert not (tmp_path / "kept").exists()

    def test_a_degenerate_run(self, pretrain, tmp_path, capsys):
        # Inputs that hardly differ: what a network predicts for one, it does for all.
        x = np.repeat([[5.0, -5.0] * 8], 40, axis=0) + 1e-4 * table()
        np.save(tmp_path / "x.npy", x)
        given = ("--inputs", tmp_path / "x.npy", "--window", 1, "--grace", 0)
        record = tmp_path / "record.json"
        code, state = pretrain(*given, "--stop-degenerate", "--record", record)
        assert code == 1
        # Two windows in a row, after that of grace.
        said = " ".join(capsys.readouterr().out.split())
        assert "degenerate; the one kept is that after update" in said
        assert (
            "degenerate from step 2: most perturbed networks predict one class" in said
        )
        assert "Raise --lam or lower --s" in said
        found = json.loads(record.read_text())
        assert (found["status"], found["degenerate"]) == ("degenerate", 2)
        assert len(found["history"]["loss"]) == 2
        as_module(NET).load_state_dict(state)
        # It is only said, if the run is not to be stopped.
        assert pretrain(*given, "--record", record)[0] == 0
        found = json.loads(record.read_text())
        assert (found["status"], found["degenerate"]) == ("finished", 2)
        said = " ".join(capsys.readouterr().out.split())
        assert "degenerate from step 2" in said

    def test_divergence_is_the_exit_status(self, pretrain, tmp_path, capsys):
        record = tmp_path / "record.json"
        # The start is not handed back for learnt.
        diverging = ("--side", 4, "--rate", 1e30, "--record", record)
        assert pretrain(*diverging) == (1, None)
        told = capsys.readouterr()
        said = " ".join(told.out.split())
        assert "16-6-5-2 in" in said
        assert "in 3 updates: diverged. Of" in said
        assert "error: nothing is learnt, and nothing written" in told.err
        assert json.loads(record.read_text())["status"] == "diverged"
        assert not list(tmp_path.glob(".*"))
        # What was there stays.
        _, before = pretrain("--side", 4)
        code, after = pretrain(*diverging)
        assert code == 1
        same(before, after)

    def test_three_classes_and_a_sample(self, pretrain):
        code, state = pretrain("--side", 4, "--classes", 3, "--no-closed")
        assert code == 0
        as_module(classifier((16, 6, 5, 3))).load_state_dict(state)
        # With two classes there is a choice.
        sampled, closed = pretrain("--side", 4, "--no-closed"), pretrain("--side", 4)
        assert not torch.equal(sampled[1]["0.weight"], closed[1]["0.weight"])

    def test_says_what_it_learns_from_and_keeps_it_with_the_weights(
        self, pretrain, tmp_path, capsys
    ):
        pretrain("--side", 4, "--record", tmp_path / "r.json")
        digits = IMAGES(side=4, cached=False)
        kept = saved(tmp_path / "init.pt")
        assert set(kept) == {"state", "inputs", "best"}
        assert kept["inputs"] == json.loads((tmp_path / "r.json").read_text())["inputs"]
        assert kept["inputs"] == {
            "source": digits.source["source"],
            "rows": 4000,
            "mean": digits.mean,
            "deviation": digits.std,
            "steps": 7,
        }
        said = capsys.readouterr().err
        assert "4000 inputs of mnist digits embedded" in said
        assert "; 7 steps" in said
        x = table()
        np.save(tmp_path / "x.npy", x)
        pretrain("--inputs", tmp_path / "x.npy")
        found = saved(tmp_path / "init.pt")["inputs"]
        # Of 640 numbers in float64, whose sum has 640 roundings of 1e-16 at most.
        assert found["mean"] == pytest.approx(x.mean(), rel=1e-13)
        assert found["deviation"] == pytest.approx(x.std(), rel=1e-13)
        assert found["rows"] == 40

    def test_takes_no_sample_for_the_data_set(self, pretrain, capsys):
        assert pretrain("--side", 4, "--data", "mnist") == (2, None)
        said = capsys.readouterr().err
        assert "`--data mnist` must be at hand, but there are only 4000" in said
        assert "say `--data mnist-sample`" in said

    def test_hands_back_no_start(self, pretrain, tmp_path, capsys):
        np.save(tmp_path / "toy.npy", table(600))
        few = ("--inputs", tmp_path / "toy.npy", "--window", 100, "--steps", 90)
        assert pretrain(*few) == (2, None)
        assert "`--steps` must be at least a window of 100" in capsys.readouterr().err

    @pytest.mark.parametrize(
        "more",
        [
            "--record {0}",
            "--checkpoint {0}",
            "--record a --checkpoint a",
            "--inputs {0}",
        ],
    )
    def test_files_are_kept_apart(self, more, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        np.save(tmp_path / "x.npy", table())
        given = more.format(tmp_path / "x.npy").split()
        assert command.main(["pretrain", "--output", "x.npy", *given]) == 2
        assert "must be different files" in capsys.readouterr().err
        np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), table())

    def test_goes_on_without_being_told_to(
        self, pretrain, tmp_path, monkeypatch, capsys
    ):
        whole, recorded = pretrain("--side", 4)[1], []
        (tmp_path / "init.pt").unlink()

        def tell(done, last, **means):
            recorded.append(done)
            if recorded == [3]:
                signal.raise_signal(signal.SIGINT)
                while not stopping.requested():
                    time.sleep(0.01)

        monkeypatch.setattr(telling, "tell", tell)
        assert pretrain("--side", 4) == (130, None)
        assert "goes on from" in capsys.readouterr().err
        assert [p.name for p in tmp_path.iterdir()] == ["init.pt.checkpoint"]
        code, state = pretrain("--side", 4)
        assert code == 0
        assert recorded == [3, 6, 7]
        same(whole, state)
        assert [p.name for p in tmp_path.iterdir()] == ["init.pt"]

    def test_is_found_out_before_the_work(self, pretrain, tmp_path, monkeypatch):
        monkeypatch.setattr(
            pretraining, "pretrain", lambda *_, **__: pytest.fail("ran")
        )
        (tmp_path / "folder").mkdir()
        os.mkfifo(tmp_path / "pipe")
        argv = ["pretrain", "--side", "4", "--data", "mnist-sample", "--output"]
        for name in ("folder", "pipe", "absent/x.pt"):
            assert command.main([*argv, str(tmp_path / name)]) == 2


class TestMisuse:
    @pytest.mark.parametrize(
        ("name", "array", "said"),
        [
            ("x.npy", np.full((5, 16), 3.0), "finite and not constant"),
            (
                "x.npy",
                np.where(np.eye(5, 16) > 0, np.nan, 1.0),
                "finite and not constant",
            ),
            (
                "x.npy",
                np.where(np.eye(5, 16) > 0, np.inf, 1.0),
                "finite and not constant",
            ),
            ("x.npy", np.repeat(table(1), 9, axis=0), "must hold different inputs"),
            ("x.npy", table(5), "at least a batch of 8, but there are 5 rows"),
            ("x.npy", np.arange(5.0), "an array of inputs, one a row"),
            (
                "x.npy",
                np.arange(40)[:, None],
                "they look like labels: one number a row",
            ),
            ("x.npy", np.eye(10)[np.arange(40) % 10], "they look like labels: one 1 a"),
            ("x.npy", np.zeros((0, 16)), "an array of inputs, one a row"),
            ("x.npy", np.eye(5, 16) * 1j, "`--inputs` must be real"),
            ("x.npy", np.array([["a", "b"]]), "must be a .npy file of numbers"),
            ("x.npy", np.array([[None, 1]]), "must be a .npy file of numbers"),
            ("x.npy", b"", "must be a .npy file of numbers"),
            ("x.pt", {"inputs": torch.eye(5)}, "an array of inputs, one a row"),
            ("x.pt", torch.eye(5).to_sparse(), "an array of inputs, one a row"),
            ("x.pt", torch.eye(5, device="meta"), "an array of inputs, one a row"),
            ("x.pt", b"", "must be a .pt file of numbers"),
            ("x.pt", b"junk", "must be a .pt file of numbers"),
            ("x", b"junk", "must be a .npy or .pt file"),
            ("x.csv", b"1,2", "must be a .npy or .pt file"),
        ],
    )
    def test_inputs(self, name, array, said, pretrain, tmp_path, capsys):
        path = tmp_path / name
        if isinstance(array, bytes):
            path.write_bytes(array)
        elif path.suffix == ".npy":
            np.save(path, array)
        else:
            torch.save(array, path)
        assert pretrain("--inputs", path) == (2, None)
        told = capsys.readouterr().err
        assert said in told
        # Behind what was to be learnt from.
        assert told.splitlines()[-1].startswith("error: `--inputs`")
        assert len(told.splitlines()) <= 2

    def test_of_ones_own_inputs_no_option_is_passed_over(
        self, pretrain, tmp_path, capsys
    ):
        np.save(tmp_path / "x.npy", np.eye(5))
        assert pretrain("--inputs", tmp_path / "x.npy", "--side", 4) == (2, None)
        assert "`--side` changes nothing with `--inputs`" in capsys.readouterr().err

    def test_a_file_that_is_not_there(self, pretrain, tmp_path, capsys):
        assert pretrain("--inputs", tmp_path / "absent.npy") == (2, None)
        assert (
            "error: `--inputs` must be a file, but there is no"
            in capsys.readouterr().err
        )

    @pytest.mark.parametrize(
        ("more", "said"),
        [
            ("--s 0", "`--s` must be positive and finite, but it is 0.0"),
            ("--s -1", "`--s` must be positive and finite, but it is -1.0"),
            ("--s nan", "`--s` must be positive and finite, but it is nan"),
            ("--s inf", "`--s` must be positive and finite, but it is inf"),
            ("--lam -1", "`--lam` must not be negative, but it is -1.0"),
            (
                "--uni 0 --lam 0 --xi 0",
                "one of `--uni`, `--lam` and `--xi` must be",
            ),
            ("--steps 0", "`--steps` must be at least 1"),
            ("--perturbations 1", "`--perturbations` must be at least 2"),
            ("--rate inf", "`--rate` must be"),
            ("--classes 1", "must end in at least 2 classes"),
            ("--hidden 6 0", "`--hidden` and `--classes` must be"),
            ("--data minst", "must be one of mnist"),
            ("--window 8", "`--steps` must be at least a window of 8"),
            ("--side 0", "`--side` must be at least 1"),
            ("--seed -1", "`--seed` must be non-negative"),
            ("--device tpu", "`--device` must be auto, cpu or cuda"),
            ("--record absent/r.json", "`--record` must be a file in a folder"),
            ("--checkpoint absent/c", "`--checkpoint` must be a file in a folder"),
        ],
    )
    def test_options(self, more, said, pretrain, capsys):
        assert pretrain("--side", 4, *more.split()) == (2, None)
        assert said in capsys.readouterr().err

    def test_a_folder_that_is_not_there(self, pretrain, capsys):
        assert pretrain("--side", 4, name="absent/init.pt") == (2, None)
        assert (
            "`--output` must be a file in a folder that exists"
            in capsys.readouterr().err
        )

    def test_a_file_is_no_folder(self, pretrain, tmp_path, capsys):
        (tmp_path / "file").touch()
        assert pretrain("--side", 4, name="file/init.pt") == (2, None)
        assert f"{tmp_path / 'file'} is a file" in capsys.readouterr().err

    @pytest.mark.parametrize(
        "argv",
        [
            [],
            ["pretrain"],
            ["batch"],
            ["pretrain", "--output", "x", "--noise", "gramm"],
            ["pretrain", "--output", "x", "--start", "lecun"],
            ["list", "--scale", "medium"],
        ],
    )
    def test_usage(self, argv, capsys):
        with pytest.raises(SystemExit, match="2"):
            command.main(argv)
        assert "usage: python -m empirical.mmd_init" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("argv", "said"),
        [
            (["--figures", "4"], "no configuration of scale small"),
            (["--only", "bert"], "of scale small has bert in its name; `list` names"),
            (["--names", "mmd-he", "mmd"], "of scale small has the name mmd; `list`"),
            (["--names", "mmd-hee"], "names them all. Did you mean 'mmd-he'?"),
            (
                ["--names", "mmd-he", "--only", "none"],
                "has none in its name and is named mmd-he",
            ),
        ],
    )
    def test_choice(self, argv, said, tmp_path, capsys):
        for start in (["list"], ["batch", "--out", str(tmp_path)]):
            assert command.main([*start, *argv]) == 2
            assert said in capsys.readouterr().err


TINY = tuple(
    Configuration(
        name=f"c{i}-{method}",
        network=NET,
        method=method,
        recipe=Recipe(steps=7, window=3, batch=8, perturbations=8, reference=8),
        minibatches=2,
        embedded=True,
        side=4,
    )
    for i, method in enumerate(("mmd", "none", "mmd"))
)


class TestBatch:
    def run(self, folder, *more, chosen=TINY, monkeypatch):
        few = replace(study.STUDY, configurations=lambda _scale: chosen)
        monkeypatch.setattr("empirical.mmd_init.study.STUDY", few)
        argv = ["batch", "--device", "cpu", "--workers", "1", "--out", str(folder)]
        return command.main([*argv, *more])

    def test_runs_and_keeps(self, tmp_path, monkeypatch, capsys):
        run = partial(self.run, tmp_path, monkeypatch=monkeypatch)
        assert run("--only", "mmd") == 0
        said = capsys.readouterr().err
        assert "c0-mmd: done" in said
        assert "c2-mmd: done" in said
        times = {p: p.stat().st_mtime_ns for p in tmp_path.iterdir()}
        assert sorted(p.name for p in times) == ["c0-mmd.json", "c2-mmd.json"]
        assert run() == 0
        said = capsys.readouterr().err
        assert "c1-none: done" in said
        assert "c0-mmd: done" not in said
        assert all(p.stat().st_mtime_ns == t for p, t in times.items())
        assert run("--only", "c0", "--rerun") == 0
        assert "c0-mmd: done" in capsys.readouterr().err

    def test_a_failure_is_the_exit_status(self, tmp_path, monkeypatch, capsys):
        bad = (replace(TINY[0], side=5), *TINY[1:])
        assert self.run(tmp_path, chosen=bad, monkeypatch=monkeypatch) == 1
        said = capsys.readouterr().err
        assert "c0-mmd: failed: `data` must have" in said
        assert "c2-mmd: done" in said

    def test_a_deadline(self, tmp_path, monkeypatch, capsys):
        run = partial(self.run, tmp_path, monkeypatch=monkeypatch)
        assert run("--minutes", "0") == 124
        assert "interrupted; what is done stays in" in capsys.readouterr().err
        assert not list(tmp_path.glob("*.json"))
        assert run("--minutes", "60") == 0
        # What has its record is no matter of time.
        assert run("--minutes", "0") == 0
        assert {p.suffix for p in tmp_path.iterdir()} == {".json"}
