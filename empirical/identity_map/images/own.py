"""A picture of one's own, from a file, to train on."""

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from empirical.identity_map.images.pictures import Pictures, standardised


def own(path: Path | str) -> Pictures:
    """Read a picture: grey as one channel, colour as three, standardised like digits.

    Transparent parts are laid on white, what was taken sideways is set upright. Grey
    pictures are standardised as MNIST's, those in colour as CIFAR-10's.

    Parameters
    ----------
    path : path
        PNG, or any other format that Pillow reads.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ImportError
        If Matplotlib, which reads it, is not installed.
    ValueError
        If it cannot be read as a picture, or its numbers have no range that is known, as
        in a TIFF of floats.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"own: there is no file {path}")
    levels = _levels(path)
    grey = bool((levels == levels[..., :1]).all())
    data = "mnist" if grey else "cifar10"
    image = levels[..., 0] if grey else levels
    return Pictures(
        pixels=standardised(image[None], data=data),
        names=(path.stem,),
        origins=(
            {
                "data": "own",
                "file": path.name,
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            },
        ),
        data=data,
    )


def _levels(path: Path) -> npt.NDArray[np.uint8]:
    """Levels of 0..255, (H, W, 3)."""
    # Loaded here: only who has a picture needs it.
    from matplotlib.image import imread, pil_to_array
    from PIL import Image
    from PIL.ImageOps import exif_transpose

    try:
        # From memory: of a sideways TIFF that it maps Pillow mixes up the pixels.
        with Image.open(io.BytesIO(path.read_bytes())) as opened:
            # Cameras write a picture as they were held, and how beside it.
            whole = opened.format == "PNG"
            read = imread(path) if whole else pil_to_array(exif_transpose(opened))
            found: npt.NDArray[Any] = np.asarray(read)
            boundless = not whole and opened.mode in ("F", "I")
    except (OSError, SyntaxError, ValueError) as error:
        raise ValueError(f"own: {path} cannot be read as a picture: {error}") from error
    if boundless:
        raise ValueError(
            f"own: {path} must have levels of 8 or 16 bits, but it has numbers of 32, of"
            " which none is known to be white. Save it as PNG."
        )
    # Portable network graphics are read as levels of 0..1, others as bytes or words.
    whole = np.issubdtype(found.dtype, np.integer)
    values = found.astype(np.float64) / (np.iinfo(found.dtype).max if whole else 1.0)
    if values.ndim == 2:
        values = values[..., None]
    if values.ndim != 3 or values.shape[2] not in (1, 2, 3, 4):
        raise ValueError(
            f"own: {path} must hold one picture, grey or in colour, but its pixels have"
            f" shape {found.shape}"
        )
    if values.shape[2] in (2, 4):
        cover = values[..., -1:]
        values = cover * values[..., :-1] + (1.0 - cover)
    rows = np.broadcast_to(values, (*values.shape[:2], 3))
    return np.round(255.0 * np.clip(rows, 0.0, 1.0)).astype(np.uint8)
