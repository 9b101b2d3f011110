"""Files that are written only when their text is another, so that Sphinx reads few."""

from collections.abc import Mapping
from pathlib import Path


def write_all(folder: Path, texts: Mapping[str, str]) -> None:
    """Write texts by file name, and remove every other file of the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
