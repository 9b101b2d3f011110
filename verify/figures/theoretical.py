"""Pictures of closed forms: what the theory says, before anything is measured."""

import numpy as np

from theory import activations as act
from theory import conditioning as dc
from theory import kernels, lengths
from verify.figures.style import (
    DASHES,
    FAINT,
    INK,
    SERIES,
    Figure,
    axes,
    label_end,
    legend_above,
    line,
    note,
)

SHOWN = (act.relu, act.tanh, act.gelu, act.silu, act.sin, act.exp)
"""Activations of the picture of duals: kinked, odd, smooth, and nearly affine ones."""


def dual_activations() -> Figure:
    """Draw duals of normalised activations, and how far below the diagonal they lie."""
    figure, (left, right) = axes(2, width=6.6, height=3.7)
    whole, half = np.linspace(-1.0, 1.0, 61), np.linspace(0.0, 1.0, 61)
    left.plot(whole, whole, color=FAINT, linewidth=1.0)
    for k, plain in enumerate(SHOWN):
        activation = plain.normalized()
        name = f"{plain.name}, μ = {activation.mu:.2f}"
        left.plot(whole, activation.dual(whole), label=name, **line(k))
        right.plot(half, half - activation.dual(half), label=name, **line(k))
    left.set(title="correlation after one layer", xlabel="correlation ρ", xlim=(-1, 1))
    right.set(title="taken off by it", xlabel="correlation ρ", xlim=(0, 1))
    right.set_ylim(0.0, None)
    left.set_xticks([-1.0, -0.5, 0.0, 0.5, 1.0])
    # One legend for both: names stand beside what tells them apart.
    legend_above(figure, left, ncols=3)
    return figure


def length_maps() -> Figure:
    """Draw length maps of tanh and of NormReLU at three kinks."""
    figure, (ax,) = axes(height=3.5)
    gamma = np.linspace(0.02, 3.0, 90)
    ax.plot(gamma, gamma, color=FAINT, linewidth=1.0)
    maps = [("tanh, normalised", act.tanh.normalized())]
    maps += [(f"NormReLU, c = {c:g}".replace("-", "−"), act.normrelu(c)) for c in KINKS]
    for k, (name, activation) in enumerate(maps):
        ax.plot(gamma, activation.length_map(gamma), label=name, **line(k))
    ax.plot([1.0], [1.0], "o", color=INK, markersize=4)
    ax.set(
        xlabel="squared length γ", ylabel="after one layer", xlim=(0, 3), ylim=(0, None)
    )
    ax.legend(loc="upper left")
    return figure


KINKS = (-0.8, -0.2, 0.5)
"""Kinks whose map contracts everywhere, only near one, and nowhere near one."""


def normrelu_selu() -> Figure:
    """Draw NormReLU and SELU: the functions, and what a layer takes off."""
    figure, (left, right) = axes(2, width=6.6, height=3.2)
    normrelu, selu = act.normrelu(), act.selu
    x, rho = np.linspace(-3.0, 3.0, 121), np.linspace(0.0, 1.0, 81)
    for k, (name, one) in enumerate((("NormReLU", normrelu), ("SELU", selu))):
        left.plot(x, one(x), label=name, **line(k))
        right.plot(rho, rho - one.dual(rho), label=name, **line(k))
    left.set(title="the functions", xlabel="x", xlim=(-3, 3))
    right.set(title="correlation that one layer takes off", xlabel="correlation ρ")
    right.set(xlim=(0, 1), ylim=(0, None))
    left.legend(loc="upper left")
    return figure


def ntk_ratio() -> Figure:
    """Draw the tangent kernel's off-diagonal share beside the three bounds."""
    figure, (ax,) = axes(height=3.5)
    delta, activation = 0.1, act.relu.normalized()
    mu = activation.mu
    depths = np.arange(1, 122)
    exact = [
        kernels.ntk_map(1.0 - delta, activation, int(depth), normalized=True)
        for depth in depths[::5]
    ]
    bounds = {
        "attained": "largest possible",
        "sharp": "sharp bound",
        "printed": "printed bound",
    }
    for k, (form, name) in enumerate(bounds.items(), 1):
        bound = dc.ntk_ratio_bound(depths, delta, mu, form=form)  # type: ignore[arg-type]
        ax.plot(depths, bound, **line(k))
        last = int(np.searchsorted(-bound, -1e-7, side="right")) - 1
        label_end(ax, depths[last], max(bound[last], 1e-7), name, SERIES[k])
    ax.plot(depths[::5], exact, "o-", color=SERIES[0], markersize=3)
    ax.text(24.0, 1e-6, "ReLU", color=SERIES[0], fontsize=8.5, ha="right")
    ax.set(
        title="normalised ReLU, inputs at correlation 0.9",
        xlabel="hidden layers L",
        ylabel="T₁₂ / T₁₁",
        yscale="log",
        xlim=(1, 121),
        ylim=(1e-8, 3.0),
    )
    return figure


def diverging_lengths() -> Figure:
    """Draw squared lengths layer by layer under NormReLU of two kinks."""
    figure, panels = axes(2, width=6.6, height=3.2)
    for ax, kink, depth in zip(panels, (-0.8, -0.2), (40, 40), strict=True):
        activation = act.normrelu(kink)
        starts = _starts(kink)
        for k, start in enumerate(starts):
            path = lengths.length_trajectory(activation, start, depth)
            ax.plot(path, **line(k))
        ax.axhline(1.0, color=INK, linewidth=0.8)
        if kink > lengths.CRITICAL_KINK:
            unstable = lengths.unstable_length(kink)
            ax.axhline(unstable, color=INK, linewidth=0.8, linestyle=DASHES[2])
            words, look = f"unstable, γ = {unstable:.2g}", {"ha": "right", "va": "top"}
            note(ax, words, (depth, unstable), (-2, -3), fontsize=8.5, **look)
        ax.set(
            title=f"kink c = {kink:g}".replace("-", "−"),
            xlabel="layer",
            ylabel="squared length γ" if ax is panels[0] else "",
            yscale="log",
            xlim=(0, depth),
        )
    return figure


def _starts(kink: float) -> tuple[float, ...]:
    """Squared lengths on both sides of one, and beyond the unstable length if any."""
    if kink <= lengths.CRITICAL_KINK:
        return (0.1, 0.5, 4.0, 16.0)
    unstable = lengths.unstable_length(kink)
    return (0.1, 0.5 * unstable, 1.1 * unstable, 2.0 * unstable)
