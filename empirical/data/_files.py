"""The files of each data set, their digests and mirrors, and how they are read.

Digests are of the decompressed bytes: gzip wrappers differ between mirrors.
"""

import gzip
import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class IdxSet:
    """A data set in four gzipped IDX files."""

    mirrors: tuple[str, ...]
    sha256: dict[str, str]

    def files(self, split: str) -> tuple[str, str]:
        """Names of the image and the label file of a split."""
        stem = "train" if split == "train" else "t10k"
        return f"{stem}-images-idx3-ubyte.gz", f"{stem}-labels-idx1-ubyte.gz"


def _digests(*sha256: str) -> dict[str, str]:
    """Return digests by file: images and labels of the tests, then of the training."""
    kinds = ("images-idx3-ubyte.gz", "labels-idx1-ubyte.gz")
    names = [f"{stem}-{kind}" for stem in ("t10k", "train") for kind in kinds]
    return dict(zip(names, sha256, strict=True))


IDX_SETS = {
    "mnist": IdxSet(
        mirrors=(
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
        ),
        sha256=_digests(
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ),
    ),
    "fashion-mnist": IdxSet(
        mirrors=("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
        sha256=_digests(
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        ),
    ),
}

CIFAR_ARCHIVE = "cifar-10-binary.tar.gz"
# The publisher states an MD5 of the archive as it is served, and no SHA-256.
CIFAR_MD5 = "c32a1d4ab5d03f1284b67883e8d87530"
CIFAR_MIRRORS = ("https://www.cs.toronto.edu/~kriz/",)
CIFAR_FOLDER = "cifar-10-batches-bin"
CIFAR_RECORD = 1 + 3 * 32 * 32

DIGITS_SHA256 = "167bbe5fc3dfbce27f9a4c6c1814964f3367677ee226d9811d79cbd41fd5d053"


def decompressed(path: Path, *, sha256: str) -> bytes:
    """Read a file, undo gzip where it is there, and insist on the digest.

    Raises
    ------
    ValueError
        If the file is truncated or is not what was published.
    """
    raw = path.read_bytes()
    try:
        # The magic number, not the name: an unpacked file may keep its name.
        content = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    except (EOFError, zlib.error, OSError) as error:
        raise ValueError(
            f"{path}: truncated or corrupt gzip data ({error}); its content should "
            f"have SHA-256 {sha256}. Delete the file and fetch it again."
        ) from error
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise ValueError(
            f"{path}: corrupt; its content should have SHA-256 {sha256}, but has "
            f"{found}. Delete the file and fetch it again."
        )
    return content


def read_idx(path: Path, *, sha256: str) -> Bytes:
    """Read an IDX file of unsigned bytes, checking digest and header."""
    content = decompressed(path, sha256=sha256)
    dimensions = content[3]
    start = 4 + 4 * dimensions
    shape = tuple(int(s) for s in np.frombuffer(content[4:start], dtype=">u4"))
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def cifar_records(content: bytes, *, where: str) -> tuple[Bytes, Bytes]:
    """Split CIFAR-10 binary records into images (n, 32, 32, 3) and labels (n,)."""
    if not content or len(content) % CIFAR_RECORD:
        raise ValueError(
            f"{where}: truncated; {len(content)} bytes are no positive multiple of "
            f"{CIFAR_RECORD}, the size of one record. Get the file again."
        )
    records = np.frombuffer(content, dtype=np.uint8).reshape(-1, CIFAR_RECORD)
    if records[:, 0].max() > 9:
        raise ValueError(
            f"{where}: corrupt; labels must lie in 0..9, but one is "
            f"{records[:, 0].max()}. Get the file again."
        )
    images = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), records[:, 0].copy()


def checked_archive(path: Path) -> Path:
    """Return `path` after checking the archive's MD5."""
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "md5").hexdigest()
    if found != CIFAR_MD5:
        raise ValueError(
            f"{path}: corrupt or truncated; its MD5 should be {CIFAR_MD5}, but is "
            f"{found}. Delete the file and fetch it again."
        )
    return path
