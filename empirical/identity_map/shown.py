"""What a trained network makes of pictures, drawn from its record."""

from pathlib import Path

import numpy as np

from empirical.testbed.ending import Panel, draw_panels, save_figure
from empirical.testbed.records import RunRecord
from empirical.testbed.writing import Array

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
    OSError
        If it can't be written.
    """
    from matplotlib.figure import Figure

    shown = panels(record)
    figure = Figure(figsize=(1.1 * len(shown), 2.6), layout="constrained")
    draw_panels(figure, shown)
    save_figure(figure, path)


def panels(record: RunRecord, most: int = MOST) -> tuple[Panel, ...]:
    """Return the first network's inputs and outputs, the training image first.

    None where no network has the section ``predictions``, or all of them diverged.
    """
    every = record.draws.having("predictions/outputs")
    draws = [draw for draw in every if draw.status != "diverged"]
    if not draws:
        return ()
    inputs, outputs = (
        draws[0].series(f"predictions/{each}") for each in ("inputs", "outputs")
    )
    names = [str(image["name"]) for image in record.fact("predictions/images")]
    channels = record.fact("training")[0]["shape"][0]
    low, high = float(inputs.min()), float(inputs.max())

    def shown(rows: Array) -> Array:
        """Return rows of all channels, below each other in a record, as (H, W[, C])."""
        levels = np.clip((rows - low) / (high - low or 1.0), 0.0, 1.0)
        parts = levels.reshape(channels, -1, rows.shape[-1])
        return parts[0] if channels == 1 else np.moveaxis(parts, 0, -1)

    return tuple(
        Panel(name, shown(given), shown(made))
        for name, given, made in zip(names[:most], inputs, outputs, strict=False)
    )
