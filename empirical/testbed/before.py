"""What a command looks at before hours of work: its options, and where its files go."""

import argparse
from collections.abc import Collection, Mapping
from pathlib import Path

from empirical.testbed.ending import STDOUT, check_figure
from empirical.testbed.runner import open_folder


def check_folder(folder: Path | None) -> None:
    """Refuse a folder of data sets that is none: embedded digits might be trained on."""
    if folder is not None and not folder.is_dir():
        raise ValueError(
            "`--data-folder`, or else DEEP_LEDGER_DATA, must be a folder that exists, but"
            f" {folder} is none"
        )


def check_outputs(
    *,
    printed: Collection[str] = ("output",),
    figure: Path | None = None,
    pictures: Path | None = None,
    **files: Path | None,
) -> None:
    """Check before hours of work that files can be written and figures drawn.

    Parameters
    ----------
    printed : collection of str
        Names of those that are text, which ``-`` writes to stdout.
    figure, pictures : Path, optional
    files : Path, optional
        By the option that names it.

    Raises
    ------
    ValueError
        If a file's folder does not exist, or it is a folder itself, or stdout; if two are
        the same; or if no figure can be drawn.
    OSError
        If nothing can be written there.
    """
    check_figure(figure)
    check_figure(pictures, "--pictures")
    given = {
        f"`--{name.replace('_', '-')}`": path
        for name, path in {**files, "figure": figure, "pictures": pictures}.items()
        if path is not None and not (path == STDOUT and name in printed)
    }
    for option, path in given.items():
        if path == STDOUT:
            raise ValueError(f"{option} must be a file, but it is -, which is stdout")
    if len({path.resolve() for path in given.values()}) < len(given):
        told = ", ".join(f"{option} {path}" for option, path in given.items())
        raise ValueError(f"outputs must be different files, but they are {told}")
    for option, path in given.items():
        if not path.absolute().parent.is_dir():
            above = path.absolute().parent
            how = "is a file" if above.is_file() else "does not"
            raise ValueError(
                f"{option} must be a file in a folder that exists, but {above} {how}"
            )
        if path.is_dir():
            raise ValueError(f"{option} must be a file, but {path} is a folder")
        if path.exists() and not path.is_file():
            raise ValueError(
                f"{option} must be a file, but {path} is a device or a pipe"
            )
        open_folder(path.absolute().parent, path.name)


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
    """
    for name, default in unused.items():
        if getattr(options, name) != default:
            option = name.replace("_", "-")
            raise ValueError(f"`--{option}` changes nothing {reason}: leave it out")
