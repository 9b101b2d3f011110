"""A picture of one's own, from a file, to train on."""

import hashlib
import io
from pathlib import Path

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
        If Pillow, which comes with Matplotlib, is not installed.
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
    """Levels of 0..255, (H, W, 3), or (H, W, 1) of words."""
    # Loaded here: only who has a picture needs it.
    from PIL import Image, UnidentifiedImageError
    from PIL.ImageOps import exif_transpose

    try:
        # From memory: of a sideways TIFF that it maps Pillow mixes up the pixels.
        with Image.open(io.BytesIO(path.read_bytes())) as opened:
            words = opened.mode.startswith("I")
            boundless = opened.format != "PNG" and opened.mode in ("F", "I")
            # Cameras write a picture as they were held, and how beside it.
            upright = exif_transpose(opened)
            values = np.asarray(upright if words else upright.convert("RGBA"))
    except (OSError, SyntaxError, ValueError) as error:
        # Pillow's own words for that are the address of a buffer.
        unknown = isinstance(error, UnidentifiedImageError)
        why = "it is of no format that Pillow knows" if unknown else error
        raise ValueError(f"own: {path} cannot be read as a picture: {why}") from error
    if boundless:
        raise ValueError(
            f"own: {path} must have levels of 8 or 16 bits, but it has numbers of 32, of"
            " which none is known to be white. Save it as PNG."
        )
    if words:
        return np.round(values[..., None] / 257.0).astype(np.uint8)
    cover = values[..., 3:] / 255.0
    return np.round(cover * values[..., :3] + 255.0 * (1.0 - cover)).astype(np.uint8)
