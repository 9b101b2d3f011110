"""What a command looks at before hours of work: its options, and where its files go."""

import argparse
from collections.abc import Mapping
from pathlib import Path

from empirical.testbed.batch import open_folder
from empirical.testbed.ending import STDOUT, check_figure


def check_folder(folder: Path | None) -> None:
    """Check a folder of data sets: without it small embedded digits might be trained on.

    Raises
    ------
    ValueError
        If it does not exist.
    """
    if folder is not None and not folder.is_dir():
        raise ValueError(
            f"the folder of the data sets must exist, but {folder} does not (it is that of"
            " `--data-folder`, or of DEEP_LEDGER_DATA)"
        )


def check_outputs(*paths: Path | None, figure: Path | None = None) -> None:
    """Check before hours of work that files can be written and a figure drawn.

    Raises
    ------
    ValueError
        If a file's folder does not exist, or it is a folder itself; if two are the same;
        or if no figure can be drawn.
    OSError
        If nothing can be written there.
    """
    check_figure(figure)
    files = [path.resolve() for path in (*paths, figure) if path not in (None, STDOUT)]
    if len(set(files)) < len(files):
        raise ValueError(
            "outputs must be different files, but they are"
            f" {', '.join(str(path) for path in (*paths, figure) if path is not None)}"
        )
    for path in (*paths, figure):
        if path in (None, STDOUT):
            continue
        if not path.absolute().parent.is_dir():
            raise ValueError(f"the folder of {path} must exist, but it does not")
        if path.is_dir():
            raise ValueError(f"{path} must be a file, but it is a folder")
        if path.exists() and not path.is_file():
            raise ValueError(f"{path} must be a file, but it is a device or a pipe")
        open_folder(path.absolute().parent)


def check_used(
    options: argparse.Namespace, unused: Mapping[str, object], reason: str
) -> None:
    """Refuse options that would change nothing.

    Parameters
    ----------
    options : argparse.Namespace
    unused : mapping
        Names, as attributes of `options`, to the defaults at which they may stand.
    reason : str
        What makes them useless.

    Raises
    ------
    ValueError
        If one of them is not at its default.
    """
    for name, default in unused.items():
        if getattr(options, name) != default:
            option = name.replace("_", "-")
            raise ValueError(f"`--{option}` changes nothing {reason}: leave it out")
