"""Pictures of `theory.plots`: the numbers behind their curves and heat maps."""

from dataclasses import replace
from functools import partial
from typing import Any

import mpmath
import numpy as np

from theory import activations as act
from theory import plots
from theory.phase.diagram import Diagram
from verify.claim import grid, numeric
from verify.claims._predictors import changed, mistake
from verify.claims.deep_conditioning._sources import ours
from verify.claims.deep_conditioning.kernels import _pairs as pairs
from verify.compare import AgreesTo, Identical

_POINTS = 9
_DEPTHS = (1, 3, 8)
_DIGITS = 50

# --- curves -----------------------------------------------------------------------------


def _axes() -> Any:
    # Loaded here: the other claims do without.
    from matplotlib.figure import Figure

    return Figure().subplots()


def _drawn(activation: str, depths: tuple[int, ...]) -> list[Any]:
    """Return the ordinates of every curve, of the dual's picture and of the depths'."""
    a = act.CATALOGUE[activation].normalized()
    lines = [
        *plots.dual(a, ax=_axes(), points=_POINTS).lines,
        *plots.depth_map(a, depths, ax=_axes(), points=_POINTS).lines,
    ]
    return [float(y) for line in lines for y in np.asarray(line.get_ydata())]


def _measure_curves(*, activation: str) -> list[Any]:
    """The normalised dual, the diagonal, and the dual's iterates, at nine correlations."""
    law = pairs.LAWS[activation]
    with mpmath.workdps(_DIGITS):
        rho = (mpmath.mpf(k) / 4 - 1 for k in range(_POINTS))
        courses = [pairs.correlations(law, r, _DEPTHS[-1]) for r in rho]
        return [each[depth] for depth in (1, 0, *_DEPTHS) for each in courses]


CURVES = numeric(
    id="dc/defC.1-drawn",
    items=("DefC.1", "D.0"),
    title="Plots of duals and depth maps: each curve is what its label names",
    statement=r"\hat\sigma(\rho),\quad"
    r" \hat\sigma^{(L)}(\rho) = \hat\sigma(\hat\sigma(\cdots\hat\sigma(\rho)))",
    assumptions=("normalised activation",),
    source=ours("Definition C.1"),
    cases=grid(activation=("relu", "erf", "gelu")),
    predict=partial(_drawn, depths=_DEPTHS),
    measure=_measure_curves,
    # The functions' 1e-12 relative to one, which a correlation is at most.
    compare=AgreesTo(absolute=1e-12),
    must_refute=mistake(
        "Curves of one layer more than their labels say.",
        depths=tuple(depth + 1 for depth in _DEPTHS),
    ),
    uses=("dc/defC.1",),
)

# --- heat maps --------------------------------------------------------------------------

_MATRICES = ((1.0, -0.25, 0.5), (0.0, 2.0, -3.0)), ((0.5, 0.25),)


def _predict_heat() -> list[float]:
    """What each heat map holds at every cell, where its colours end, and ticks between."""
    found = list[float]()
    for matrix in _MATRICES:
        ax = plots.kernel(matrix, ax=_axes())
        image = ax.images[0]
        found += [*np.asarray(image.get_array()).ravel().tolist(), *image.get_clim()]
        ticks = np.concatenate([ax.get_xticks(), ax.get_yticks()])
        found.append(float(np.abs(ticks - np.round(ticks)).max()))
    return found


def _measure_heat(*, symmetric: bool = True) -> list[float]:
    found = list[float]()
    for matrix in _MATRICES:
        entries = [entry for row in matrix for entry in row]
        both = [*entries, *(-entry for entry in entries)] if symmetric else entries
        # No input lies between two.
        found += [*entries, min(both), max(both), 0.0]
    return found


HEAT = numeric(
    id="dc/eq1-drawn",
    title="Plots of kernels: every cell shows one entry, and white is zero",
    statement=r"K_{ij} \in [-\max_{kl} |K_{kl}|,\ \max_{kl} |K_{kl}|]",
    assumptions=("a finite real matrix",),
    source=ours("Equation 1"),
    cases=({},),
    predict=_predict_heat,
    measure=_measure_heat,
    compare=AgreesTo(absolute=0.0),
    must_refute=changed(
        _measure_heat,
        "Colours that end at the smallest and the largest entry.",
        symmetric=False,
    ),
)

# --- labels -----------------------------------------------------------------------------


def _predict_labels() -> dict[str, list[str]]:
    """What the pictures say of their curves when nothing is asked for."""
    layers = plots.depth_map(act.relu, ax=_axes())
    edge = np.array([0.5, 1.0])
    made = Diagram(
        name="two edges",
        weights=(0.0, 2.0),
        biases=(0.0, 1.0),
        depth=np.full((2, 2), 5.0),
        phase=np.full((2, 2), "critical"),
        edges=((edge, edge), (edge + 0.5, edge)),
    )
    drawn = plots.draw_diagram(made, ax=_axes())
    phase = np.full((_ROWS, _COLUMNS), "", dtype="U9")
    for name, (first, last) in _REGIONS.items():
        phase[:_UP_TO, first:last] = name
    phase[-1] = (
        "chaotic"  # from one end to the other, but a cell high: no place for words
    )
    regions = plots.draw_diagram(
        replace(made, depth=np.full(phase.shape, 5.0), phase=phase, edges=()),
        ax=_axes(),
    )
    dual = plots.dual(act.relu, act.erf, ax=_axes())
    heat = plots.kernel(np.eye(2), ax=_axes())
    *curves, diagonal = dual.lines
    return {
        "axes": [_around(ax) for ax in (dual, layers, heat, drawn)],
        # A bar of colours is the last of its picture's axes.
        "bars": [str(ax.figure.axes[-1].get_ylabel()) for ax in (heat, drawn)],
        "curves": [
            *map(str, dual.get_legend_handles_labels()[1]),
            *(str(line.get_linestyle()) for line in dual.lines),
            *(
                f"{len(np.asarray(line.get_xdata()))} points"
                for line in (*dual.lines, layers.lines[0])
            ),
            # The diagonal is no curve: it is thin, and beneath them.
            *(str(diagonal.get_zorder() < line.get_zorder()) for line in curves),
            *(str(diagonal.get_linewidth() < line.get_linewidth()) for line in curves),
        ],
        "layers": layers.get_legend_handles_labels()[1],
        "edges": drawn.get_legend_handles_labels()[1],
        "regions": [
            _written(
                *(text.get_text(), *text.get_position(), text.get_rotation()),
                str(text.get_color()),
            )
            for text in regions.texts
        ],
    }


def _around(ax: Any) -> str:
    """What is written around a picture, and where it ends."""
    words = ax.get_title(), ax.get_xlabel(), ax.get_ylabel()
    return " | ".join((*words, f"{ax.get_xlim()[0]:g} to {ax.get_xlim()[1]:g}"))


_ROWS, _COLUMNS, _UP_TO = 16, 25, 11
_REGIONS = {"ordered": (0, 3), "chaotic": (3, 18), "divergent": (18, 25)}
"""Columns of the phases of a picture, in the rows up to `_UP_TO`."""


def _written(name: str, x: float, y: float, turned: float, color: str) -> str:
    return f"{name} at {x:.9f}, {y:.9f}, turned by {turned:g}, {color}"


_OF_PHASES = (
    "Phases of deep random networks: two edges",
    "weight variance $\\sigma_w^2$",
    "bias variance $\\sigma_b^2$",
    "0 to 2",
)


def _labels(depths: list[int]) -> dict[str, list[str]]:
    names = [f"{n} layers" if n > 1 else "1 layer" for n in depths]
    regions = [
        # In the middle of each, upwards where that is an eighth of the picture wide.
        _written(
            name,
            0.5 * (first + last) / _COLUMNS,
            0.5 * _UP_TO / _ROWS,
            90.0 if last - first == 3 else 0.0,
            # On grey, and on colours.
            "0.13" if name == "divergent" else "white",
        )
        for name, (first, last) in _REGIONS.items()
    ]
    rho = "correlation ρ of two inputs"
    return {
        "axes": [
            f" | {rho} | dual σ̂(ρ) | -1 to 1",
            f"relu | {rho} | product after L layers | -1 to 1",
            " | input | input | -0.5 to 1.5",
            " | ".join(_OF_PHASES),
        ],
        "bars": ["entry of the kernel", "depth scale of correlations ξ (layers)"],
        "curves": ["relu", "erf", "-", "--", "-", *["201 points"] * 4, *["True"] * 4],
        "layers": names,
        "edges": ["edge of chaos, χ = 1"],
        "regions": regions,
    }


def _measure_labels() -> dict[str, list[str]]:
    """Depths that double, one name for all parts of an edge, and one for each phase."""
    return _labels([2**k for k in range(6)])


def _wrong_labels() -> dict[str, list[str]]:
    """Depths one after another."""
    return _labels(list(range(1, 7)))


LABELS = numeric(
    id="dc/defC.1-labels",
    items=("DefC.1", "D.0"),
    uses=("dc/defC.1-drawn", "dc/D.0-edge"),
    title="Plots: depth maps at doubling depths, one label of the edge, phases named"
    " inside",
    statement=r"L = 1, 2, 4, \ldots, 32",
    source=ours("Definition C.1"),
    cases=({},),
    predict=_predict_labels,
    measure=_measure_labels,
    compare=Identical(),
    must_refute=_wrong_labels,
)
