"""Heat maps: test correlation upwards, networks sideways, agreement as colour."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from verify.figures.identity_map.runs import Group, mean
from verify.figures.runs import Array
from verify.figures.style import INK, Figure, panels

WIDTH = 6.6
_COLOURS = "viridis"
_EXTEND = {
    (False, False): "neither",
    (False, True): "max",
    (True, False): "min",
    (True, True): "both",
}
"""Pointed ends of the colour bar, by whether numbers lie below and above it."""
Block = tuple[str, Sequence[tuple[str, Group]]]
"""A title, and what its columns are called and show."""


def heat_maps(blocks: Sequence[Block], *, xlabel: str, errors: bool = False) -> Figure:
    """Draw, for each block a row, heat maps for the constant and the identity.

    Parameters
    ----------
    blocks : sequence of (title, columns)
    xlabel : str
    errors : bool
        Mean squared errors of standardised pixels instead of correlations.
    """
    fields = ("constant_mse", "identity_mse") if errors else ("constant", "identity")
    height = 0.5 + 2.35 * len(blocks)
    figure, grid = panels(len(blocks), 2, WIDTH, height, sharey=True)
    found = {
        (row, field): _columns(columns, field)
        for row, (_, columns) in enumerate(blocks)
        for field in fields
    }
    limits = _limits(list(found.values()), errors=errors)
    shown: Any = None
    for row, (title, columns) in enumerate(blocks):
        rhos = columns[0][1].fact("heatmap/rhos")
        for ax, field in zip(grid[row], fields, strict=True):
            values = found[row, field]
            shown = ax.imshow(
                values,
                origin="lower",
                aspect="auto",
                cmap=_COLOURS,
                vmin=limits[0],
                vmax=limits[1],
                interpolation="none",
            )
            _axes(ax, [name for name, _ in columns], rhos)
            _lost(ax, values, columns)
            name = f"to the {field.removesuffix('_mse')}"
            ax.set_title(f"{title}, {name}" if title else name)
            if row == len(blocks) - 1:
                ax.set_xlabel(xlabel)
        grid[row][0].set_ylabel("correlation ρ of the test image")
    words = "mean squared error" if errors else "correlation"
    below = any(bool((v < limits[0]).any()) for v in found.values())
    # A correlation of one may be rounded to a little more.
    above = errors and any(bool((v > limits[1]).any()) for v in found.values())
    figure.colorbar(
        shown,
        ax=grid,
        label=words,
        shrink=0.9,
        pad=0.02,
        aspect=30,
        extend=_EXTEND[below, above],
    )
    return figure


def _columns(columns: Sequence[tuple[str, Group]], field: str) -> Array:
    """Return means over draws, test correlations by columns."""
    each = [mean(group.numbers(f"heatmap/{field}")[:, 0]) for _, group in columns]
    return np.stack(each, axis=1)


def _limits(values: Sequence[Array], *, errors: bool) -> tuple[float, float]:
    if not errors:
        return 0.0, 1.0
    fine = np.concatenate([v[np.isfinite(v)] for v in values])
    # One network that is far off must not take all colours.
    return 0.0, float(np.quantile(fine, 0.95)) if fine.size else 1.0


def _axes(ax: Any, names: Sequence[str], rhos: Sequence[float]) -> None:
    long = max(map(len, names)) > 4
    look: dict[str, Any] = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
    if not long:
        look = {"fontsize": 9.0 if len(names) <= 12 else 6.5}
    ax.set_xticks(range(len(names)), names, **look)
    step = max(1, (len(rhos) - 1) // 5)
    ax.set_yticks(range(0, len(rhos), step), [f"{r:g}" for r in rhos[::step]])
    ax.grid(visible=False)


def _lost(ax: Any, values: Array, columns: Sequence[tuple[str, Group]]) -> None:
    """Mark columns without a number, and those that lack some draws."""
    for k, (_, group) in enumerate(columns):
        if not np.isfinite(values[:, k]).any():
            middle = 0.5 * (len(values) - 1)
            ax.text(
                k,
                middle,
                "none finite",
                rotation=90,
                ha="center",
                va="center",
                fontsize=7,
            )
        elif bool(group.diverged.any()):
            ax.plot([k], [0], "x", color=INK, markersize=5)
