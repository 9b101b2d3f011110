"""The coupled flow of the norm and the directions overshoots: two counterexamples."""

from typing import Any

import numpy as np

from theory import square_loss as sl
from verify.figures.style import (
    DASHES,
    FAINT,
    INK,
    SERIES,
    Figure,
    axes,
    band,
    legend_above,
    note,
)

EXAMPLES: tuple[dict[str, Any], ...] = (
    {
        "title": "one example, λ = 0.01",
        "directions": [[[np.cos(1.5), np.sin(1.5)]]],
        "x": [[1.0, 0.0]],
        "weight_decay": 0.01,
    },
    {
        "title": "two examples, λ = 0",
        "directions": [[[0.0, 1.0]]],
        "x": [[1.0, 0.0], [0.96, 0.28]],
        "weight_decay": 0.0,
    },
)
"""One linear layer, labels +1, from a norm of 0.01."""

RHO_0, START, END = 0.01, 0.1, 400.0
"""First norm; the times between which flows are drawn, at the end of which they rest."""


def overshoot() -> Figure:
    """Draw the norm and its moving equilibrium along both flows, the peaks marked."""
    figure, panels = axes(2, width=6.8, height=3.4)
    for ax, example in zip(panels, EXAMPLES, strict=True):
        _flow(ax, **example)
    panels[0].set_ylabel("norm")
    legend_above(figure, panels[0])
    return figure


def _flow(ax: Any, title: str, directions: Any, x: Any, weight_decay: float) -> None:
    flow = sl.gradient_flow(directions, RHO_0, x, [1] * len(x), weight_decay, t_end=END)
    times = np.geomspace(START, END, 240)
    rho, rest = flow.rho_at(times), flow.rho_equilibrium(times)
    peak, end = float(flow.crossings[0]), float(flow.rho_at(END))
    top = float(flow.rho_at(peak))
    after = times >= peak
    band(ax, times[after], end, rho[after], SERIES[1], 0.15)
    ax.axhline(end, color=FAINT, linewidth=1.0)
    ax.plot(times, rho, color=SERIES[0], label="ρ(t)")
    ax.plot(
        times, rest, color=SERIES[1], linestyle=DASHES[1], label="equilibrium of V(t)"
    )
    ax.plot([peak], [top], "o", color=INK, markersize=5, label="where they meet")
    ax.set(title=title, xlabel="time t", ylim=(0.0, 1.75), xlim=(START, END))
    ax.set_xscale("log")
    ax.set_xticks([0.1, 1.0, 10.0, 100.0], ["0.1", "1", "10", "100"])
    ax.minorticks_off()
    peaked, ended = f"peak {top:.4f}\nat t = {peak:.3f}", f"end {end:.4f}"
    note(ax, peaked, (peak, top), (6, 20), ha="left", va="bottom", fontsize=8)
    note(ax, ended, (END, end), (-2, -4), ha="right", va="top", fontsize=8)
    ax.annotate(
        "printed: rises monotonically\nto it; refuted: falls here",
        (1.6 * peak, (top + end) / 2.0),
        xytext=(0.97, 0.33),
        textcoords="axes fraction",
        ha="right",
        fontsize=8,
        arrowprops={"arrowstyle": "->", "color": INK, "linewidth": 0.8},
    )
