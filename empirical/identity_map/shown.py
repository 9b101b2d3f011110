"""What a trained network makes of pictures, drawn from its record."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from empirical.testbed.records import RunRecord

MOST = 12
"""Pictures side by side."""


def draw(record: RunRecord, path: Path) -> None:
    """Draw the first network's outputs below their inputs, the training image first.

    Parameters
    ----------
    record : RunRecord
        With the section ``predictions``.
    path : Path
        Of a format that Matplotlib writes, by its ending.

    Raises
    ------
    ImportError
        If Matplotlib is not installed.
    ValueError
        If the format is unknown.
    """
    from matplotlib.figure import Figure

    draws = record.draws.having("predictions/outputs")
    inputs, outputs = (
        draws[0].series(f"predictions/{each}") for each in ("inputs", "outputs")
    )
    names = [str(image["name"]) for image in record.fact("predictions/images")]
    chosen = range(min(MOST, len(names)))
    shape = record.fact("training")[0]["shape"]
    low, high = float(inputs.min()), float(inputs.max())
    figure = Figure(figsize=(1.1 * len(chosen), 2.6), layout="constrained")
    panels = figure.subplots(2, len(chosen), squeeze=False)
    for column in chosen:
        for row, images in enumerate((inputs, outputs)):
            ax = panels[row, column]
            ax.imshow(
                _image((images[column] - low) / (high - low or 1.0), shape[0]),
                cmap="gray",
                vmin=0.0,
                vmax=1.0,
            )
            ax.set(xticks=[], yticks=[])
        panels[0, column].set_title(names[column], fontsize=8)
    panels[0, 0].set_ylabel("in")
    panels[1, 0].set_ylabel("out")
    figure.savefig(path, dpi=150)


def _image(rows: npt.NDArray[np.float64], channels: int) -> npt.NDArray[np.float64]:
    """Pixels of a record, rows of all channels below each other, as (H, W[, C])."""
    parts = np.clip(rows.reshape(channels, -1, rows.shape[-1]), 0.0, 1.0)
    return parts[0] if channels == 1 else np.moveaxis(parts, 0, -1)
