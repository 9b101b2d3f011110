"""Downloading a data set, checked and atomic."""

import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

from empirical.checks import check_choice
from empirical.data import _files
from empirical.data.sources import NAMES, cache_directory

Progress = Callable[[str], None]

SECONDS = 60.0
"""Of silence, after which a mirror is given up."""


def fetch(
    name: str,
    *,
    directory: Path | str | None = None,
    progress: Progress = lambda _: None,
) -> list[Path]:
    """Download a data set into the cache, checking every file before it is kept.

    Parameters
    ----------
    name : {"mnist", "fashion-mnist", "cifar10"}
    directory : path, optional
        Instead of the user's cache; files go into a folder named after the data set.
    progress : callable
        Called with one line of text for each step.

    Returns
    -------
    list of Path
        The files, those included that were there before and passed their check.

    Raises
    ------
    ValueError
        If `name` is unknown, or a download is not what was published.
    ConnectionError
        If no mirror answered.

    Notes
    -----
    Each file is written under a ``.partial`` name and renamed after its check, so an
    interrupted download leaves nothing that could be mistaken for data.
    """
    check_choice("fetch", "name", name, NAMES)
    folder = (cache_directory() if directory is None else Path(directory)) / name
    if name == "cifar10":
        mirrors, files = _files.CIFAR_MIRRORS, [_files.CIFAR_ARCHIVE]
    else:
        mirrors = _files.IDX_SETS[name].mirrors
        files = sorted(_files.IDX_SETS[name].sha256)
    return [_fetch_file(name, folder / f, mirrors, progress) for f in files]


def _check(name: str, path: Path, digest_of: str) -> None:
    if name == "cifar10":
        _files.checked_archive(path)
    else:
        _files.decompressed(path, sha256=_files.IDX_SETS[name].sha256[digest_of])


def _fetch_file(
    name: str, path: Path, mirrors: Sequence[str], progress: Progress
) -> Path:
    if path.exists():
        _check(name, path, path.name)
        progress(f"{path.name}: present and verified")
        return path
    partial = path.with_name(path.name + ".partial")
    failures = []
    for mirror in mirrors:
        progress(f"{path.name}: from {mirror}")
        try:
            with urllib.request.urlopen(
                mirror + path.name, timeout=SECONDS
            ) as response:
                # Not before there is something to put into it.
                path.parent.mkdir(parents=True, exist_ok=True)
                with partial.open("wb") as target:
                    while block := response.read(1 << 20):
                        target.write(block)
            _check(name, partial, path.name)
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            failures.append(f"{mirror} ({error})")
        except BaseException:
            # A wrong file or Ctrl-C: say so, and leave nothing behind.
            partial.unlink(missing_ok=True)
            raise
        else:
            partial.replace(path)
            progress(f"{path.name}: verified")
            return path
    partial.unlink(missing_ok=True)
    raise ConnectionError(
        f"fetch: {path.name} could not be downloaded from any mirror: "
        f"{'; '.join(failures)}. Put the file into {path.parent} by hand, or retry."
    )
