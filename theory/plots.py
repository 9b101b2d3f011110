"""Pictures at a REPL: one line each, returning the Matplotlib axes that it drew on.

Matplotlib is an extra (``pip install "deep-ledger[plots]"``), loaded at the first call.
Every function takes ``ax=`` to draw on axes of yours, and leaves labels and limits to
change. A notebook shows what is drawn; at a prompt call ``matplotlib.pyplot.show()``, or
write ``ax.figure.savefig("picture.svg")``.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from theory import _checks, kernels
from theory._naming import in_own_name, publish
from theory.activations import Activation
from theory.phase import diagram as diagrams

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = npt.NDArray[np.float64]

MOST = 10**6
"""Points of a curve, at most."""


def dual(
    *activations: Activation, ax: "Axes | None" = None, points: int = 201
) -> "Axes":
    r"""Draw dual activations, beside the diagonal that no layer at all would be.

    .. math:: \hat\sigma(\rho) = E[\sigma(X)\,\sigma(Y)], \operatorname{corr}(X, Y) = \rho

    Parameters
    ----------
    *activations : Activation
        Drawn as they are; pass ``.normalized()`` ones to compare them.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; new ones if absent.
    points : int
        On each curve, 2 to 1,000,000.

    Returns
    -------
    matplotlib.axes.Axes
        Its lines are the curves, in order, then the diagonal.

    Raises
    ------
    ValueError
        If there is no activation, or the number of points is not as said.
    ModuleNotFoundError
        If Matplotlib is not installed; the message names the extra.

    Examples
    --------
    >>> from theory import activations as act
    >>> ax = dual(act.relu.normalized(), act.tanh.normalized())
    >>> [line.get_label() for line in ax.lines[:2]]
    ['normalized relu', 'normalized tanh']
    """
    points = _check("dual", "activations", activations, points)
    for activation in activations:
        _checks.instance("plots.dual", "activations", activation, Activation)
    axes: Any = _axes(ax)
    rho = np.linspace(-1.0, 1.0, points)
    for k, activation in enumerate(activations):
        # Duals are close to one another: dashes tell them apart where colours do not.
        style = ("-", "--", ":", "-.")[k % 4]
        axes.plot(rho, activation.dual(rho), style, label=activation.name)
    axes.plot(rho, rho, color="0.7", linewidth=1.0, zorder=0)
    axes.set(xlabel="correlation ρ of two inputs", ylabel="dual σ̂(ρ)", xlim=(-1.0, 1.0))
    axes.legend(frameon=False)
    return axes


def depth_map(
    activation: Activation,
    depths: Sequence[int] = (1, 2, 4, 8, 16, 32),
    *,
    ax: "Axes | None" = None,
    points: int = 201,
) -> "Axes":
    r"""Draw the correlation after some layers against that of the inputs.

    .. math:: \hat\sigma^{(L)}(\rho) = \hat\sigma(\hat\sigma(\cdots\hat\sigma(\rho)))

    Parameters
    ----------
    activation : Activation
        As it is; the theorems are about ``.normalized()`` ones.
    depths : sequence of int
        Numbers of hidden layers, darker the more.
    ax : matplotlib.axes.Axes, optional
    points : int
        On each curve, 2 to 1,000,000.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If there is no depth, one is no positive whole number, or the number of points
        is not as said; as `theory.kernels.nngp_map`.
    ModuleNotFoundError
        If Matplotlib is not installed; the message names the extra.

    Examples
    --------
    >>> from theory import activations as act
    >>> ax = depth_map(act.relu.normalized(), depths=(1, 100))
    >>> inner = ax.lines[1].get_ydata()[20:-20]  # of 100 layers
    >>> bool(abs(inner).max() < 1e-8)
    True
    """
    _checks.instance("plots.depth_map", "activation", activation, Activation)
    depths = [
        _checks.integer("plots.depth_map", "depths", depth, 1)
        for depth in _checks.listed("plots.depth_map", "depths", depths, "depths")
    ]
    points = _check("depth_map", "depths", depths, points)
    axes: Any = _axes(ax)
    rho = np.linspace(-1.0, 1.0, points)
    shades = _shades(len(depths))
    for depth, shade in zip(depths, shades, strict=True):
        label = "1 layer" if depth == 1 else f"{depth} layers"
        try:
            values = kernels.nngp_map(rho, activation, depth)
        except ValueError as error:
            _, _, what = str(error).partition(": ")
            raise ValueError(f"plots.depth_map: at depth {depth}, {what}") from error
        axes.plot(rho, values, color=shade, label=label)
    axes.set(
        title=activation.name,
        xlabel="correlation ρ of two inputs",
        ylabel="product after L layers",
        xlim=(-1.0, 1.0),
    )
    axes.legend(frameon=False)
    return axes


def kernel(matrix: npt.ArrayLike, *, ax: "Axes | None" = None) -> "Axes":
    """Draw a kernel matrix as a heat map, zero white, signs by colour.

    Parameters
    ----------
    matrix : array, shape (n, m)
        Real and finite.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        With a colour bar, whose ends are plus and minus the largest entry.

    Raises
    ------
    ValueError
        If it is no matrix, or an entry is not finite.
    ModuleNotFoundError
        If Matplotlib is not installed; the message names the extra.

    Examples
    --------
    >>> import numpy as np
    >>> from theory import activations as act, kernels
    >>> x = np.random.default_rng(0).standard_normal((20, 5))
    >>> x /= np.linalg.norm(x, axis=1, keepdims=True)
    >>> ax = kernel(kernels.ntk(x, act.relu.normalized(), 3))
    >>> ax.images[0].get_array().shape
    (20, 20)
    """
    values = _checks.real("plots.kernel", "matrix", matrix)
    if values.ndim != 2 or not values.size:
        raise ValueError(
            f"plots.kernel: `matrix` must have two axes, got shape {values.shape}."
        )
    axes: Any = _axes(ax)
    largest = float(np.abs(values).max()) or 1.0
    image = axes.imshow(values, cmap="RdBu_r", vmin=-largest, vmax=largest)
    axes.figure.colorbar(image, ax=axes, label="entry of the kernel")
    axes.set(xlabel="input", ylabel="input")
    # Inputs are numbered: there is none between two of them.
    for axis in (axes.xaxis, axes.yaxis):
        axis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    return axes


@in_own_name
def phase_diagram(
    activation: Activation,
    weight_var: tuple[float, float] | None = None,
    bias_var: tuple[float, float] = (0.0, 0.5),
    *,
    points: int = 100,
    ax: "Axes | None" = None,
    progress: Callable[[int, int], None] | None = None,
) -> "Axes":
    r"""Draw the phases of deep random networks: depth scales, and the edge of chaos.

    .. math:: \chi_1 = \sigma_w^2\, E\,\sigma'(\sqrt{q^*} Z)^2 = 1

    Parameters
    ----------
    activation : Activation
    weight_var, bias_var : tuple of float
        Ends of the axes: variances of the weights, times the width, and of the biases,
        0 <= low < high. By default the weights reach as far as shows both phases.
    points : int
        Cells a side, 2 to 1000.
    ax : matplotlib.axes.Axes, optional
    progress : callable, optional
        Takes the number of networks that are classified, and of all.

    Returns
    -------
    matplotlib.axes.Axes
        The image is the depth scale in layers, on a logarithmic scale from 1 to 100; grey
        where variances grow without bound.

    Raises
    ------
    ValueError
        If a range or the number of cells is not as said.
    ModuleNotFoundError
        If Matplotlib is not installed; the message names the extra.

    References
    ----------
    .. [1] Schoenholz, Gilmer, Ganguli, Sohl-Dickstein, *Deep information propagation*
       (2017), figure 1; ours shows the depth scale of correlations by colour.

    Examples
    --------
    >>> from theory import activations as act
    >>> ax = phase_diagram(act.erf, (0.0, 4.0), points=16)
    >>> sorted(text.get_text() for text in ax.texts)
    ['chaotic', 'ordered']
    """
    if ax is None:
        _pyplot()  # whatever is missing is said before the work
    if weight_var is None:
        weight_var = 0.0, diagrams.reach(activation, bias_var)
    made = diagrams.diagram(activation, weight_var, bias_var, points, progress=progress)
    return draw_diagram(made, ax=ax)


def draw_diagram(made: diagrams.Diagram, *, ax: "Axes | None" = None) -> "Axes":
    """Draw a phase diagram that has been computed; see `phase_diagram`.

    Examples
    --------
    >>> from theory import activations as act
    >>> made = diagrams.diagram(act.erf, (0.0, 4.0), (0.0, 0.5), 8)
    >>> draw_diagram(made).get_title()
    'Phases of deep random networks: erf'
    """
    from matplotlib.colors import LogNorm

    axes: Any = _axes(ax)
    axes.set_facecolor("0.87")
    cells = np.ma.masked_invalid(made.depth)
    image = axes.imshow(
        np.clip(cells, 1.0, 100.0),
        origin="lower",
        aspect="auto",
        extent=(*made.weights, *made.biases),
        norm=LogNorm(1.0, 100.0),
        cmap="viridis",
    )
    bar = axes.figure.colorbar(image, ax=axes, extend="both")
    bar.set_label("depth scale of correlations ξ (layers)")
    for w, b in made.edges:
        label = (
            "edge of chaos, χ = 1" if not axes.get_legend_handles_labels()[1] else None
        )
        if len(w) == 1:
            style = {"marker": "o", "markerfacecolor": "white", "linestyle": "none"}
            axes.plot(w, b, color="0.13", clip_on=False, label=label, **style)
            continue
        # A dark line within a white one is seen on every colour.
        axes.plot(w, b, color="white", linewidth=4.0)
        axes.plot(w, b, color="0.13", linewidth=1.6, label=label)
    for name in ("ordered", "chaotic", "divergent"):
        _name_region(axes, made, name)
    axes.set(
        title=f"Phases of deep random networks: {made.name}",
        xlabel="weight variance $\\sigma_w^2$",
        ylabel="bias variance $\\sigma_b^2$",
        xlim=made.weights,
        ylim=made.biases,
    )
    if made.edges:
        # Where it hides neither an edge nor a phase's name.
        axes.legend(loc="best", framealpha=0.85)
    return axes


NARROW = 0.22
"""Share of the width below which a region is named upwards."""


def _name_region(ax: Any, made: diagrams.Diagram, name: str) -> None:
    """Write a phase's name where its region is widest, upwards where it is narrow."""
    inside = made.phase == name
    wide = _distances(inside)
    if wide.max() < 0.04 * max(inside.shape):
        return
    widest = np.argwhere(wide == wide.max())
    off = np.abs(widest - widest.mean(axis=0)).sum(axis=1)
    row, column = widest[np.argmin(off)].tolist()
    across, along = _stretch(inside[row], column), _stretch(inside[:, column], row)
    upright = across[1] - across[0] < NARROW
    x = 0.5 * sum(across) if not upright else (column + 0.5) / inside.shape[1]
    y = 0.5 * sum(along) if upright else (row + 0.5) / inside.shape[0]
    from matplotlib.patheffects import withStroke

    on_grey = name == "divergent"
    ax.text(
        x,
        y,
        name,
        transform=ax.transAxes,
        ha="center",
        va="center",
        rotation=90 if upright else 0,
        fontsize="large",
        color="0.13" if on_grey else "white",
        # Dark on grey; white with a dark rim on every colour.
        path_effects=[] if on_grey else [withStroke(linewidth=2.5, foreground="0.13")],
    )


def _distances(inside: npt.NDArray[np.bool_]) -> npt.NDArray[np.int_]:
    """Return how many cells each cell of a region is away from what is outside."""
    left, away = np.pad(inside, 1), np.zeros(inside.shape, dtype=int)
    while left.any():
        away += left[1:-1, 1:-1]
        for axis in (0, 1):
            left = left & np.roll(left, 1, axis) & np.roll(left, -1, axis)
    return away


def _stretch(line: npt.NDArray[np.bool_], at: int) -> tuple[float, float]:
    """Return the ends, as shares of the line, of what is true around a place."""
    outside = np.flatnonzero(~np.pad(line, 1)) - 1
    k = int(np.searchsorted(outside, at))
    return (outside[k - 1] + 1) / line.size, outside[k] / line.size


def _check(name: str, what: str, given: Sequence[Any], points: Any) -> int:
    """Return how many points a curve has."""
    if not given:
        raise ValueError(f"plots.{name}: `{what}` must be at least one, got none.")
    return _checks.integer(f"plots.{name}", "points", points, 2, MOST)


def _axes(ax: Any) -> Any:
    """Return `ax`, or axes of a new figure."""
    if ax is not None:
        if not hasattr(ax, "plot"):
            raise ValueError(
                f"theory.plots: `ax` must be Matplotlib axes, got {ax!r:.80}."
            )
        return ax
    return _pyplot().subplots(figsize=(6.0, 4.2), layout="constrained")[1]


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "theory.plots needs Matplotlib: install the extra, "
            'python -m pip install "deep-ledger[plots]"'
        ) from error
    return plt


def _shades(count: int) -> list[Any]:
    """Return colours from light to dark, one for each of so many curves."""
    from matplotlib import colormaps

    return list(colormaps["viridis_r"](np.linspace(0.15, 1.0, count)))


publish(globals())
