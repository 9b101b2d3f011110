"""Configurations, their records, and the command line."""

import json
import signal
import struct
import time
import zlib
from dataclasses import replace

import matplotlib.image as plt
import numpy as np
import pytest
import torch
from PIL import Image

from empirical.identity_map import __main__ as command
from empirical.identity_map import copier, images, study
from empirical.identity_map.configuration import Configuration
from empirical.identity_map.experiments import configurations
from empirical.identity_map.recipes import Recipe
from empirical.identity_map.shown import panels
from empirical.networks.initial import SCHEMES
from empirical.testbed import stopping, telling
from empirical.testbed.checkpoints import UnreadableCheckpointWarning
from empirical.testbed.engine import Engine
from empirical.testbed.records import RunRecord
from empirical.testbed.runner import run_batch
from empirical.testbed.study import SCALES, Setting

NET = copier(kind="cnn", shape=(1, 7, 7), layers=2, width=3, kernel=3)

TINY = tuple(
    Configuration(name=f"c{i}", network=NET, recipe=Recipe(steps=5 + i), seeds=(0, 1))
    for i in range(3)
)


def batch(folder, chosen):
    """Run configurations in this process; return how each ended."""
    with Engine(workers=1) as engine:
        return run_batch(study.STUDY, chosen, folder=folder, engine=engine)


QUICK = ["--size", "7", "--layers", "2", "--width", "3", "--kernel", "3"]


def stop(number):
    """Be signalled, and wait until training is asked to stop."""
    signal.raise_signal(number)
    while not stopping.requested():
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("changes", "enough"),
    [
        ({"skip": 399}, True),
        ({"skip": 400}, False),
        ({"skip": 398, "labels": ((7, 7), (3, 1))}, True),
        ({"skip": 399, "labels": ((7, 1), (7, 7))}, False),
        ({"examples": 4000, "recipe": Recipe(batch=2)}, True),
        ({"examples": 4001, "recipe": Recipe(batch=2)}, False),
    ],
)
def test_digits_at_hand_are_taken_where_they_are_enough(
    monkeypatch, tmp_path, changes, enough
):
    monkeypatch.setattr(study, "load", lambda name, **given: given)
    setting = Setting(data_folder=tmp_path)
    asked = study._source(replace(TINY[0], **changes), setting)
    assert asked["directory"] == (None if enough else tmp_path)
    assert asked["cached"] is not enough


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
            ({"labels": ()}, "`labels` must be training sets, at least one"),
            ({"seeds": (1, 1)}, "`seeds` must differ from each other"),
            ({"schemes": ()}, "`schemes` must differ from each other, at least"),
            ({"skip": -1}, "`skip` must be at least 0"),
            ({"labels": ((1,), (1, 2))}, "all as large"),
            ({"measurements": ("curves",)}, "Did you mean .curve"),
            ({"schemes": ("xavier",)}, "Did you mean 'xavier"),
            ({"examples": 10}, "must be given with `examples`"),
            ({"examples": 0, "recipe": Recipe(batch=2)}, "`examples` must be at least"),
            ({"data": "channelled", "labels": ((1, 2),)}, "one, or one for each of 1"),
        ):
            given = {"name": "x", "network": NET, "recipe": Recipe()} | changes
            with pytest.raises(ValueError, match=match):
                Configuration(**given)
        with pytest.raises(ValueError, match="`scale` must be one of"):
            configurations("medium")  # pyright: ignore[reportArgumentType]


class TestFaults:
    """Networks trained wrongly, for claims that must not hold of them."""

    def found(self, fault):
        recipe = Recipe(steps=30, release=0.95, limit=60, clip=0.5, rescale=True)
        faulty = replace(TINY[0], recipe=recipe, fault=fault)
        draws = study.train_configuration(faulty)[0]
        pairs = zip(draws.initial, draws.final, strict=True)
        return draws, [not torch.equal(*pair) for pair in pairs]

    def test_what_each_does(self):
        assert set(study.STUDY.faults) == {"slow", "short", "frozen", "untrained"}
        right, _ = self.found("")
        short, moved = self.found("short")
        assert moved == [True, True]
        assert (short.steps < right.steps / 2).all()
        _, moved = self.found("frozen")
        assert moved == [False, True]
        untrained, moved = self.found("untrained")
        assert moved == [False, False]
        assert untrained.final_losses == pytest.approx(untrained.losses[:, 0], rel=1e-6)
        slow, _ = self.found("slow")
        assert (slow.final_losses > right.final_losses).all()

    def test_planting_and_refusing(self):
        planted = study.STUDY.faults["slow"](TINY[0])
        assert planted == replace(TINY[0], fault="slow")
        with pytest.raises(ValueError, match="`fault` must be one of"):
            replace(TINY[0], fault="shuffled")


class TestOwnPicture:
    @pytest.fixture
    def colours(self, tmp_path):
        path = tmp_path / "mine.png"
        levels = np.random.default_rng(7).random((9, 8, 4))
        levels[..., 3] = 1.0
        levels[0, 0] = 0.0
        plt.imsave(path, levels)
        return path

    def test_a_file_is_read_as_pixels(self, colours, tmp_path):
        picture = images.own(colours)
        assert (picture.shape, picture.names) == ((3, 9, 8), ("mine",))
        # What cannot be seen is laid on white.
        white = images.level(1.0, data="cifar10")
        assert torch.equal(picture.pixels[0, :, :1, :1], white)
        grey = tmp_path / "grey.png"
        plt.imsave(grey, np.arange(12.0).reshape(3, 4), cmap="gray")
        one = images.own(grey)
        assert (one.shape, one.data) == ((1, 3, 4), "mnist")
        assert torch.equal(one.pixels[0, 0, -1, -1], images.level(1.0).squeeze())

    @pytest.mark.parametrize("bits", [8, 16])
    def test_words_are_levels_as_bytes_are(self, bits, tmp_path):
        levels = np.array([[0, 51], [102, 255]]) * (257 if bits == 16 else 1)
        path = tmp_path / "grey.tiff"
        Image.fromarray(levels.astype(f"uint{bits}")).save(path)
        wanted = [images.level(v / 255.0).item() for v in (0, 51, 102, 255)]
        assert images.own(path).pixels.flatten().tolist() == wanted

    @pytest.mark.parametrize("bits", [1, 2, 4])
    def test_levels_of_a_few_bits_are_levels_too(self, bits, tmp_path):
        # One row, the highest level first; written here, as Pillow writes no such files.
        header = struct.pack(">IIBBBBB", 2, 1, bits, 0, 0, 0, 0)
        row = bytes([0, (2**bits - 1) << (8 - bits) | 1 << (8 - 2 * bits)])
        path = tmp_path / "few.png"
        with path.open("wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n")
            parts = {b"IHDR": header, b"IDAT": zlib.compress(row), b"IEND": b""}
            for kind, content in parts.items():
                check = struct.pack(">I", zlib.crc32(kind + content))
                file.write(struct.pack(">I", len(content)) + kind + content + check)
        wanted = [images.level(v).item() for v in (1.0, 1.0 / (2**bits - 1))]
        assert images.own(path).pixels.flatten().tolist() == wanted

    @pytest.mark.parametrize("kind", ["tiff", "webp"])
    def test_what_was_taken_sideways_is_set_upright(self, kind, tmp_path):
        path, turned = tmp_path / f"mine.{kind}", Image.Exif()
        turned[0x0112] = 6  # row 0 is the right side, column 0 the top
        levels = np.array([[0, 51, 102], [153, 204, 255]], np.uint8)
        Image.fromarray(levels).save(path, exif=turned, lossless=True)
        wanted = [images.level(v / 255.0).item() for v in (153, 0, 204, 51, 255, 102)]
        assert images.own(path).pixels.flatten().tolist() == wanted

    @pytest.mark.parametrize("kind", [np.float32, np.int32])
    def test_numbers_without_a_white_are_refused(self, kind, tmp_path):
        path = tmp_path / "mine.tiff"
        Image.fromarray(np.array([[0, 1], [1, 0]], kind)).save(path)
        with pytest.raises(ValueError, match="must have levels of 8 or 16 bits"):
            images.own(path)

    def test_what_is_no_picture(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="no file"):
            images.own(tmp_path / "none.png")
        bad = tmp_path / "bad.png"
        bad.write_text("no picture")
        with pytest.raises(ValueError, match="picture: it is of no format that"):
            images.own(bad)

    def test_the_command_trains_on_it_and_draws(self, colours, tmp_path, capsys):
        out, drawn = tmp_path / "out.json", tmp_path / "made.png"
        given = ["--image", str(colours), "--pictures", str(drawn)]
        argv = ["train", *QUICK, *given, "--steps", "3", "--bias", "--output", str(out)]
        assert command.main(argv) == 0
        assert f"is in {drawn}." in " ".join(capsys.readouterr().out.split())
        record = RunRecord.read(out)
        assert record is not None
        assert record.fact("training")[0]["file"] == "mine.png"
        assert record.entry("network/bias")
        assert plt.imread(drawn).ndim == 3
        argv[argv.index(str(colours))] = str(tmp_path / "none.png")
        assert command.main(argv) == 2
        assert "error: `--image` must be a picture" in capsys.readouterr().err


class TestRecords:
    def test_groups_are_trained_side_by_side_and_told_apart(self):
        both = replace(
            TINY[0],
            labels=((7,), (3,)),
            schemes=("framework", "orthogonal"),
            rates=(0.01, 0.02),
        )
        record = study.run_configuration(both)
        groups = study.groups(both)
        assert len(groups) == 8
        for group in groups:
            alone = replace(
                TINY[0],
                labels=(group["labels"],),
                schemes=(group["scheme"],),
                rates=(group["rate"],),
            )
            single = study.run_configuration(alone).draws
            mine = record.where(**group)
            assert mine.key("seed") == single.key("seed")
            # Rounding of float32, a few updates of it.
            np.testing.assert_allclose(
                single.series("losses"), mine.series("losses"), rtol=1e-4
            )
            np.testing.assert_allclose(
                single.series("curve/constant"),
                mine.series("curve/constant"),
                atol=1e-4,
            )

    def test_many_examples_and_colour(self):
        many = replace(TINY[0], examples=30, recipe=Recipe(steps=5, batch=4))
        record = study.run_configuration(many)
        assert record.draws[0].status == "finished"
        net = replace(NET, shape=(3, 7, 7))
        colour = replace(TINY[0], network=net, data="channelled", labels=((7, 3, 1),))
        record = study.run_configuration(colour)
        assert record.fact("training")[0]["shape"] == [3, 7, 7]

    def test_a_divergence_is_on_record(self):
        wild = replace(TINY[0], rates=(1e9,), recipe=Recipe(steps=60, retries=1))
        record = study.run_configuration(wild)
        assert set(record.draws.status) == {"diverged"}
        assert all(len(starts) == 2 for starts in record.draws.fact("starts"))
        json.loads(record.text(), parse_constant=pytest.fail)

    def test_nothing_but_records_is_left(self, tmp_path):
        # Two further starts have states of their own on the way.
        wild = replace(TINY[0], rates=(1e9,), recipe=Recipe(steps=60, retries=2))
        assert batch(tmp_path, [wild]) == {"c0": "done"}
        record = RunRecord.read(tmp_path / "c0.json")
        assert len(record.draws[0].fact("starts")) == 3
        assert [p.name for p in tmp_path.iterdir()] == ["c0.json"]

    @pytest.mark.parametrize("content", [b"", b"noise" * 99], ids=["empty", "noise"])
    def test_a_damaged_checkpoint_is_set_aside_and_stops_nothing(
        self, content, tmp_path, monkeypatch
    ):
        with monkeypatch.context() as patched:
            patched.setattr(RunRecord, "write", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                batch(tmp_path, TINY[:1])
        (left,) = tmp_path.iterdir()
        left.write_bytes(content)
        with pytest.warns(UnreadableCheckpointWarning, match="training starts anew"):
            outcomes = batch(tmp_path, TINY)
        assert set(outcomes.values()) == {"done"}
        aside = left.with_name(f"{left.name}.unreadable")
        assert aside.read_bytes() == content


class TestCommand:
    def test_help_names_every_initialisation(self, capsys):
        with pytest.raises(SystemExit):
            command.main(["train", "--help"])
        # Lines break behind hyphens, too.
        words = "".join(capsys.readouterr().out.split())
        assert '"unit"' in words
        assert all(scheme in words for scheme in SCHEMES)

    def test_one_network(self, capsys, tmp_path):
        argv = ["train", *QUICK, "--steps", "5", "--seeds", "0", "1"]
        more = ["--output", "-", "--weights", str(tmp_path / "w")]
        assert command.main([*argv, *more]) == 0
        printed = capsys.readouterr()
        shown = json.loads(printed.out)
        assert "Trained 2 convolutional networks of" in printed.err
        assert [draw["keys"]["seed"] for draw in shown["draws"]] == [0, 1]
        weights = torch.load(tmp_path / "w", weights_only=True)
        assert weights["final"][0].shape == (2, 3, 1, 3, 3)
        path = tmp_path / "r.json"
        assert command.main([*argv, "--output", str(path)]) == 0
        assert json.loads(path.read_text())["draws"] == shown["draws"]
        said = " ".join(capsys.readouterr().out.split())
        assert "Both networks finished" in said
        assert f"The record is in {path}." in said

    def test_a_figure_and_no_record(self, capsys, tmp_path):
        path = tmp_path / "losses.svg"
        argv = ["train", *QUICK, "--steps", "5", "--figure", str(path)]
        assert command.main(argv) == 0
        drawn = path.read_text()
        assert "</svg>" in drawn
        # Eight pictures, the first of which is trained on, and what comes out.
        assert drawn.count("<image") == 16
        assert "= target" in drawn
        said = " ".join(capsys.readouterr().out.split())
        assert "No record is kept" in said
        assert f"The figure is in {path}." in said

    def test_curves_of_a_figure_name_what_differs(self, capsys, tmp_path):
        path = tmp_path / "losses.svg"
        argv = ["train", *QUICK, "--steps", "5", "--figure", str(path), "--labels", "7"]
        assert command.main([*argv, "1", "--schemes", "framework", "orthogonal"]) == 0
        drawn = path.read_text()
        assert "<!-- framework, seed 0 -->" in drawn
        assert "<!-- orthogonal, seed 0 -->" in drawn
        said = " ".join(capsys.readouterr().out.split())
        assert "to reproduce 2 mnist images of classes 7 and 1." in said
        assert " with the first training image, " in said

    @pytest.mark.parametrize("labels", [["7"], ["7", "1"]])
    def test_what_is_trained_on_is_counted(self, capsys, labels):
        many = "--steps 3 --examples 20 --batch 4 --labels"
        assert command.main(["train", *QUICK, *many.split(), *labels]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "parameters to reproduce 20 mnist images." in said

    def test_panels_are_what_is_given_and_made(self, tmp_path):
        path, out = tmp_path / "x.png", tmp_path / "r.json"
        argv = ["train", *QUICK, "--steps", "5", "--output", str(out)]
        assert command.main([*argv, "--pictures", str(path)]) == 0
        record = RunRecord.read(out)
        assert record is not None
        first = record.draws[0]
        given, made = (
            first.series(f"predictions/{each}") for each in ("inputs", "outputs")
        )
        found = panels(record)
        low, high = given.min(), given.max()
        for panel, x, y in zip(found, given, made, strict=False):
            for shown, image in ((panel.given, x), (panel.made, y)):
                again = np.clip((image - low) / (high - low), 0.0, 1.0)
                np.testing.assert_allclose(shown, again.reshape(shown.shape))

    def test_of_no_network_there_are_no_pictures(self, tmp_path, capsys):
        path = tmp_path / "x.png"
        argv = ["train", *QUICK, "--rate", "1e9", "--clip", "none", "--no-rescale"]
        argv += ["--retries", "0", "--release", "none", "--pictures", str(path)]
        assert command.main(argv) == 1
        assert "No pictures are drawn" in " ".join(capsys.readouterr().out.split())
        assert not path.exists()

    @pytest.mark.parametrize("kind", ["fcn", "residual"])
    def test_kinds_and_two_images(self, kind, capsys):
        argv = ["train", "--kind", kind, "--size", "7", "--layers", "2", "--steps", "5"]
        argv += ["--labels", "7", "3", "--measure", "predictions", "change"]
        assert (
            command.main(
                [
                    *argv,
                    "--optimiser",
                    "adam",
                    "--clip",
                    "none",
                    "--no-rescale",
                    "--output",
                    "-",
                ]
            )
            == 0
        )
        (draw,) = RunRecord.of(json.loads(capsys.readouterr().out)).draws
        assert {"predictions/identity", "change/relative"} <= set(draw.arrays)

    def test_divergence_is_the_exit_status(self, capsys):
        argv = ["train", *QUICK, "--rate", "1e9", "--clip", "none", "--no-rescale"]
        assert command.main([*argv, "--retries", "0", "--release", "none"]) == 1
        assert "The network diverged" in capsys.readouterr().out

    def test_who_stalled_is_not_told_to_go_slower(self, capsys):
        argv = ["train", "--layers", "30", "--width", "4", "--size", "8"]
        assert command.main([*argv, "--steps", "5", "--limit", "20"]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "The network stalled: the loss stayed near the first one; try a" in said
        assert "smaller `--rate`" not in said

    def test_who_came_to_the_floor_has_learnt(self, capsys):
        argv = ["train", *QUICK, "--floor", "1e3", "--patience", "2", "--check", "1"]
        assert command.main([*argv, "--steps", "50"]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "The network came to the floor, after 3 updates, with a loss of" in said
        assert "On images that it has not seen the output correlates" in said

    @pytest.mark.parametrize(
        ("argv", "said"),
        [
            (
                ["train", "--output", "x.png", "--figure", "./x.png"],
                "outputs must be different files",
            ),
            (["train", "--kernel", "4"], "error: `--kernel` must be odd"),
            (["train", "--size", "-3"], "error: `--size` must be"),
            (["train", "--optimiser", "adam2"], "Did you mean 'adam'"),
            (["train", "--schemes", "orthogonl"], "Did you mean 'orthogonal'"),
            (
                ["train", "--device", "tpu"],
                "error: `--device` must be auto, cpu or cuda",
            ),
            (["train", "--figure", "x.gif"], "`--figure` must end in .png, .svg, .pdf"),
            (["train", "--pictures", "x"], "`--pictures` must end in .png, .svg, .pdf"),
            (
                ["train", "--pictures", "x.png", "--figure", "x.png"],
                "outputs must be different files",
            ),
            (["list", "--figures", "44"], "scale small is for the paper's figure 44"),
            (
                ["train", "--optimiser", "adam", "--momentum", "0.5"],
                "changes nothing with",
            ),
            (["train", "--kind", "fcn", "--kernel", "3"], "changes nothing with"),
            (["train", "--image", "x.png", "--labels", "3"], "changes nothing with"),
            (
                ["train", "--data-folder", "absent"],
                "error: `--data-folder`, or else",
            ),
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

    def test_a_stop_leaves_a_checkpoint_that_the_next_call_goes_on_from(
        self, tmp_path, monkeypatch, capsys
    ):
        longer = replace(TINY[0], recipe=Recipe(steps=120, schedule=()))
        few = replace(study.STUDY, configurations=lambda _scale: (longer,))
        monkeypatch.setattr("empirical.identity_map.study.STUDY", few)
        argv = ["batch", "--out", str(tmp_path)]
        for done in (50, 100):
            with monkeypatch.context() as patched:
                # The signal comes with the first pause.
                patched.setattr(telling, "tell", lambda *_: stop(signal.SIGTERM))
                assert command.main(argv) == 143
            assert "interrupted" in capsys.readouterr().err
            (left,) = tmp_path.iterdir()
            assert torch.load(left, weights_only=True)["t"] == done
        assert command.main(argv) == 0
        assert [p.name for p in tmp_path.iterdir()] == ["c0.json"]

    def test_the_checkpoint_of_one_network_goes_when_its_record_is_out(
        self, tmp_path, monkeypatch, capsys
    ):
        argv = ["train", *QUICK, "--rate", "1e9", "--clip", "none", "--no-rescale"]
        argv += ["--steps", "60", "--checkpoint", str(tmp_path / "c")]

        def full(*_, **__):
            raise OSError("No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr("empirical.testbed.command.finish", full)
            assert command.main(argv) == 1
        assert "No space left on device" in capsys.readouterr().err
        assert {"c", "c.1"} <= {p.name for p in tmp_path.iterdir()}
        assert command.main(argv) == 1
        assert "diverged" in capsys.readouterr().out
        assert list(tmp_path.iterdir()) == []
