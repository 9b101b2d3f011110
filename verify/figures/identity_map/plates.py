"""Each figure's arrangement: which runs stand where, in which kind of picture.

Every function takes the runs that a figure selects, smallest networks first.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from verify.figures.identity_map import curves, grids, maps
from verify.figures.identity_map.runs import Group, Run, nearest
from verify.figures.runs import Missing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Runs = Sequence[Run]

_SHALLOW, _MIDDLE, _DEEP = 7, 14, 20
"""Depths that the paper looks into; the closest trained ones stand for them."""


def depths_few(runs: Runs) -> "Figure":
    """Draw a row for each depth, a few images."""
    return grids.predictions(_by_layers(runs), only=grids.FEW)


def depths_all(runs: Runs) -> "Figure":
    """Draw a row for each depth, all images."""
    return grids.predictions(_by_layers(runs))


def many_few(runs: Runs) -> "Figure":
    """Draw a row for each network trained on many examples, a few images."""
    return grids.predictions(_by_kind(runs), only=grids.FEW)


def many_all(runs: Runs) -> "Figure":
    """Draw a row for each network trained on many examples, all images."""
    return grids.predictions(_by_kind(runs))


def _by_layers(runs: Runs) -> list[tuple[str, Group]]:
    return [(_layers(run.layers), run.group) for run in runs]


def _layers(count: int) -> str:
    return "1 layer" if count == 1 else f"{count} layers"


def _by_kind(runs: Runs) -> list[tuple[str, Group]]:
    ordered = sorted(runs, key=lambda run: (run.kind, -run.layers))
    return [
        (f"{run.kind.upper()}, {_layers(run.layers)}", run.group) for run in ordered
    ]


def depth_map(runs: Runs) -> "Figure":
    """Draw correlations by depth and test correlation."""
    return maps.heat_maps([("", _columns(runs))], xlabel="weight layers")


def depth_curve(runs: Runs) -> "Figure":
    """Draw mean correlations by depth."""
    return curves.depth_curve(runs)


def depth_errors(runs: Runs) -> "Figure":
    """Draw mean squared errors by depth and test correlation."""
    return maps.heat_maps([("", _columns(runs))], xlabel="weight layers", errors=True)


def _columns(runs: Runs) -> list[tuple[str, Group]]:
    return [(str(run.layers), run.group) for run in runs]


def connected_map(runs: Runs) -> "Figure":
    """Draw correlations of ReLU and linear networks of one width."""
    width = _common_width(runs)
    blocks: list[maps.Block] = []
    for activation, title in (("relu", "ReLU"), ("linear", "linear")):
        mine = [r for r in _of(runs, activation) if r.layers == 1 or r.width == width]
        blocks.append((title, _columns(mine)))
    return maps.heat_maps(blocks, xlabel="weight layers")


def _of(runs: Runs, activation: str) -> list[Run]:
    found = [run for run in runs if run.network("activation") == activation]
    if not found:
        raise Missing(f"there is no record of networks with activation {activation}")
    return found


def _common_width(runs: Runs) -> int:
    """Return the width that ReLU networks have."""
    return max(run.width for run in _of(runs, "relu") if run.layers > 1)


def connected_errors(runs: Runs) -> "Figure":
    """Draw mean squared errors of fully connected networks of one width."""
    width = _widths(runs)[0]
    mine = [run for run in runs if run.layers == 1 or run.width == width]
    return maps.heat_maps([("", _columns(mine))], xlabel="weight layers", errors=True)


def _widths(runs: Runs) -> list[int]:
    # One layer has none, whatever its record says.
    return sorted({run.width for run in runs if run.layers > 1})


def linear_grid(runs: Runs) -> "Figure":
    """Draw a row for each depth and width of linear networks."""
    rows = [
        (
            "1 layer" if run.layers == 1 else f"{run.layers} × {run.width}",
            run.group,
        )
        for run in runs
    ]
    return grids.predictions(rows, only=grids.FEW)


def two_layers(runs: Runs) -> "Figure":
    """Draw a row for each width, trained at the bottom and whole."""
    words = {"bottom": "bottom only", "all": "both layers"}
    rows = [(run.record.entry("recipe/trained"), run) for run in runs]
    rows.sort(key=lambda row: (row[0] == "all", row[1].width))
    return grids.predictions(
        [(f"{words[part]},\nwidth {run.width}", run.group) for part, run in rows],
        only=grids.FEW,
    )


def errors(runs: Runs) -> "Figure":
    """Draw layer-wise error of the averaging classifier."""
    return curves.layer_errors(_with(runs, "layer-error"))


def _with(runs: Runs, section: str) -> list[Run]:
    found = [run for run in runs if run.group.has(section)]
    if not found:
        raise Missing(
            f"none of {', '.join(run.name for run in runs)} has the section '{section}'"
        )
    return found


def sizes_shallow(runs: Runs) -> "Figure":
    """Draw outputs of a network of five layers at every size."""
    return grids.sizes(nearest(_with(runs, "sizes"), 5), rules=("resized",))


def sizes_more(runs: Runs) -> "Figure":
    """Draw the same for images on black too."""
    return grids.sizes(nearest(_with(runs, "sizes"), 5))


def sizes_deep(runs: Runs) -> "Figure":
    """Draw outputs of the deepest network at every size."""
    return grids.sizes(_with(runs, "sizes")[-1])


def sizes_layers(runs: Runs) -> "Figure":
    """Draw layers of the deepest network at every size."""
    return grids.through(_with(runs, "sizes")[-1])


def training_sizes(runs: Runs) -> "Figure":
    """Draw a row for each depth and size of the training image."""
    return _varied(runs, "size", "{0} × {0}")


def kernels(runs: Runs) -> "Figure":
    """Draw a row for each kernel, networks of the least depth."""
    return _varied(_at(runs, runs[0].layers), "kernel", "{0} × {0}")


def kernels_all(runs: Runs) -> "Figure":
    """Draw a row for each kernel and depth, all images."""
    return _varied(runs, "kernel", "{0} × {0}", only=None)


def kernel_maps(runs: Runs) -> "Figure":
    """Draw heat maps by kernel."""
    return _maps(runs, "kernel", "edge of the kernel")


def channels_grid(runs: Runs) -> "Figure":
    """Draw a row for each depth and number of channels."""
    return _varied(runs, "width", "{0} ch.")


def channels_maps(runs: Runs) -> "Figure":
    """Draw heat maps by number of channels."""
    return _maps(runs, "width", "channels")


def channels_untrained(runs: Runs) -> "Figure":
    """Draw the layers of networks of few and of more channels, as first drawn."""
    return _side_by_side(runs, "untrained")


def channels_trained(runs: Runs) -> "Figure":
    """Draw the same after training."""
    return _side_by_side(runs, "trained")


def _side_by_side(runs: Runs, state: str) -> "Figure":
    mine = _with(runs, "pictures")
    few, more = mine[0], [run for run in mine if run.width > mine[0].width]
    if not more:
        raise Missing(f"there is no record with more channels than {few.name}")
    kinds = ("singular", "correlated", "first")
    return grids.layers([few, more[0]], kinds=kinds, states=(state,), by="width")


def channels_least(runs: Runs) -> "Figure":
    """Draw all images, the least number of channels."""
    width = _widths(runs)[0]
    mine = [run for run in runs if run.width == width]
    return grids.predictions(
        [(f"{run.layers} layers, {width} ch.", run.group) for run in mine]
    )


def _at(runs: Runs, layers: int) -> list[Run]:
    return [run for run in runs if run.layers == layers]


def _varied(
    runs: Runs, key: str, words: str, only: Sequence[str] | None = grids.FEW
) -> "Figure":
    ordered = sorted(runs, key=lambda run: (run.layers, getattr(run, key)))
    rows = [
        (f"{_layers(run.layers)}, {words.format(getattr(run, key))}", run.group)
        for run in ordered
    ]
    return grids.predictions(rows, only=only)


def _maps(runs: Runs, key: str, xlabel: str) -> "Figure":
    blocks: list[maps.Block] = []
    for depth in sorted({run.layers for run in runs}):
        mine = sorted(_at(runs, depth), key=lambda run: getattr(run, key))
        columns = [(str(getattr(run, key)), run.group) for run in mine]
        blocks.append((f"{depth} layers", columns))
    return maps.heat_maps(blocks, xlabel=xlabel)


def layers_all(runs: Runs) -> "Figure":
    """Draw layer by layer, all depths, trained and not."""
    return grids.layers(_with(runs, "pictures"), kinds=("singular",))


def layers_shallow(runs: Runs) -> "Figure":
    """Draw layer by layer, three pictures of each, a shallow network."""
    return _inside(runs, _SHALLOW)


def layers_middle(runs: Runs) -> "Figure":
    """Draw layer by layer, three pictures of each, a network in between."""
    return _inside(runs, _MIDDLE)


def layers_deep(runs: Runs) -> "Figure":
    """Draw layer by layer, three pictures of each, a deep network."""
    return _inside(runs, _DEEP)


def _inside(runs: Runs, layers: int) -> "Figure":
    run = nearest(_with(runs, "pictures"), layers)
    return grids.layers([run], kinds=("singular", "correlated", "first"), unseen=True)


def changes(runs: Runs) -> "Figure":
    """Draw bars of weight changes, two convolutional and two fully connected networks."""
    chosen: list[Run] = []
    for kind, depths in (("cnn", (5, _DEEP)), ("fcn", (4, 11))):
        mine = [run for run in _with(runs, "change") if run.kind == kind]
        chosen += [nearest(mine, d) for d in depths] if mine else []
    return curves.changes(list({run.name: run for run in chosen}.values()))


def upper_one(runs: Runs) -> "Figure":
    """Draw what the last layer makes, by depth."""
    return grids.upper_by_depth(_with(runs, "upper"), 1)


def upper_two(runs: Runs) -> "Figure":
    """Draw what the last two layers make, by depth."""
    return grids.upper_by_depth(_with(runs, "upper"), 2)


def upper_deep(runs: Runs) -> "Figure":
    """Draw upper layers of a deep network."""
    return grids.upper(nearest(_with(runs, "upper"), _DEEP))


def schemes(runs: Runs) -> "Figure":
    """Draw a row for each initialisation."""
    printed = [run for run in runs if run.name.startswith("printed")]
    others = [run for run in runs if run not in printed]
    below = [
        (f"{group.scheme}, {run.layers} layers", _ended(group))
        for run in printed
        for group in run.groups
    ]
    return grids.predictions(grids.variants(others), only=grids.FEW, below=below)


def _ended(group: Group) -> str:
    """Say how training ended, in words."""
    states = sorted(set(group.statuses))
    left = 100.0 * group.remaining
    if bool(group.diverged.all()):
        return "printed recipe: diverged"
    loss = f"{float(np.nanmax(left)):.1f} % of the first"
    return f"printed recipe: {', '.join(states)}, loss at {loss}"


def optimisers(runs: Runs) -> "Figure":
    """Draw a row for each optimiser and rate."""
    order = ("sgd", "adagrad", "rmsprop", "adam", "adamax")
    ordered = sorted(
        runs, key=lambda r: (r.layers, order.index(r.record.entry("recipe/optimiser")))
    )
    rows = [
        (f"{_layers(run.layers)}, {optimiser} {group.rate:g}", group)
        for run in ordered
        for optimiser in (run.record.entry("recipe/optimiser"),)
        for group in run.groups
    ]
    return grids.predictions(rows, only=grids.FEW)


def colour_first(runs: Runs) -> "Figure":
    """Draw both kinds of networks, trained on the first image in colour."""
    return _colour(runs, 0)


def colour_second(runs: Runs) -> "Figure":
    """Draw the same, trained on the second one."""
    return _colour(runs, 1)


def _colour(runs: Runs, index: int) -> "Figure":
    ordered = sorted(runs, key=lambda run: (run.kind, run.layers))
    short = [run.name for run in ordered if len(run.groups) <= index]
    if short:
        raise Missing(f"{', '.join(short)} have no training image {index + 1}")
    rows = [
        (f"{run.kind.upper()}, {_layers(run.layers)}", run.groups[index])
        for run in ordered
    ]
    return grids.predictions(rows, only=grids.FEW)


def seeds(runs: Runs) -> "Figure":
    """Draw depth curves, a line for each seed."""
    return curves.seeds(runs)


def digits(runs: Runs) -> "Figure":
    """Draw a row for each training digit and depth."""
    return grids.training_sets(grids.variants(runs), only=grids.FEW)


def mixtures(runs: Runs) -> "Figure":
    """Draw what several training images teach, and how outputs mix them."""
    return grids.mixtures(_by_layers(runs), only=grids.FEW)


def residual(runs: Runs) -> "Figure":
    """Draw a row for each depth of residual networks."""
    return depths_few(runs)
