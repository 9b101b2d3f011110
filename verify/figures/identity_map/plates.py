"""Each figure's arrangement: which runs stand where, in which kind of picture.

Every function takes the runs that a figure selects, smallest networks first.
"""

from collections.abc import Sequence

import numpy as np

from verify.figures.identity_map import curves, grids, maps
from verify.figures.identity_map.curves import seeds as seeds
from verify.figures.identity_map.grids import count_of
from verify.figures.identity_map.runs import Group, Run, nearest
from verify.figures.runs import Missing
from verify.figures.style import Figure

Runs = Sequence[Run]
Rows = list[tuple[str, Group]]
"""Groups, each with its label."""

DEEP = 20
"""A depth that the paper looks into; the closest trained one stands for it."""


def few(rows: Rows) -> Figure:
    """Draw a row for each group, a few images."""
    return grids.predictions(rows, only=grids.FEW)


def _by_layers(runs: Runs) -> Rows:
    return [(count_of(run.layers), run.group) for run in runs]


def _by_kind(runs: Runs, index: int = 0) -> Rows:
    return [
        (f"{run.kind.upper()}, {count_of(run.layers)}", run.groups[index])
        for run in runs
    ]


def depths(runs: Runs, only: Sequence[str] = grids.FEW) -> Figure:
    """Draw a row for each depth."""
    return grids.predictions(_by_layers(runs), only=only)


def many(runs: Runs, only: Sequence[str] = grids.FEW) -> Figure:
    """Draw a row for each network trained on many examples."""
    ordered = sorted(runs, key=lambda run: (run.kind, -run.layers))
    return grids.predictions(_by_kind(ordered), only=only)


def depth_map(runs: Runs, *, errors: bool = False) -> Figure:
    """Draw correlations, or mean squared errors, by depth and test correlation."""
    blocks = [("", _columns(runs))]
    return maps.heat_maps(blocks, xlabel="weight layers", errors=errors)


def _columns(runs: Runs) -> Rows:
    return [(str(run.layers), run.group) for run in runs]


def connected_map(runs: Runs) -> Figure:
    """Draw correlations of ReLU and linear networks of one width."""
    width = max(run.width for run in _of(runs, "relu") if run.layers > 1)
    blocks: list[maps.Block] = []
    for activation, title in (("relu", "ReLU"), ("linear", "linear")):
        mine = _of_width(_of(runs, activation), width)
        blocks.append((title, _columns(mine)))
    return maps.heat_maps(blocks, xlabel="weight layers")


def _of(runs: Runs, activation: str) -> list[Run]:
    found = [run for run in runs if run.network("activation") == activation]
    if not found:
        raise Missing(f"there is no record of networks with activation {activation}")
    return found


def _of_width(runs: Runs, width: int) -> list[Run]:
    # One layer has none, whatever its record says.
    return [run for run in runs if run.layers == 1 or run.width == width]


def _least_width(runs: Runs) -> int:
    return min(run.width for run in runs if run.layers > 1)


def connected_errors(runs: Runs) -> Figure:
    """Draw mean squared errors of fully connected networks of one width."""
    return depth_map(_of_width(runs, _least_width(runs)), errors=True)


def linear_grid(runs: Runs) -> Figure:
    """Draw a row for each depth and width of linear networks."""
    labels = (
        "1 layer" if run.layers == 1 else f"{run.layers} × {run.width}" for run in runs
    )
    return few([(label, run.group) for label, run in zip(labels, runs, strict=True)])


def two_layers(runs: Runs) -> Figure:
    """Draw a row for each width, trained at the bottom and whole."""
    words = {"bottom": "bottom only", "all": "both layers"}
    rows = [(run.record.entry("recipe/trained"), run) for run in runs]
    rows.sort(key=lambda row: (row[0] == "all", row[1].width))
    return few(
        [(f"{words[part]},\nwidth {run.width}", run.group) for part, run in rows]
    )


def errors(runs: Runs) -> Figure:
    """Draw layer-wise error of the averaging classifier."""
    return curves.layer_errors(_with(runs, "layer-error"))


def _with(runs: Runs, section: str) -> list[Run]:
    found = [run for run in runs if run.group.has(section)]
    if not found:
        raise Missing(
            f"none of {', '.join(run.name for run in runs)} has the section '{section}'"
        )
    return found


def sizes(runs: Runs, rules: Sequence[str] = tuple(grids.RULES)) -> Figure:
    """Draw outputs of a network of five layers at every size."""
    return grids.sizes(nearest(_with(runs, "sizes"), 5), rules)


def sizes_deepest(runs: Runs) -> Figure:
    """Draw outputs of the deepest network at every size."""
    return grids.sizes(_with(runs, "sizes")[-1])


def sizes_layers(runs: Runs) -> Figure:
    """Draw layers of the deepest network at every size."""
    return grids.through(_with(runs, "sizes")[-1])


def varied(runs: Runs, key: str, words: str, only: Sequence[str] = grids.FEW) -> Figure:
    """Draw a row for each depth and value of a property, which `words` say."""
    ordered = sorted(runs, key=lambda run: (run.layers, getattr(run, key)))
    rows = [
        (f"{count_of(run.layers)}, {words.format(getattr(run, key))}", run.group)
        for run in ordered
    ]
    return grids.predictions(rows, only=only)


def least_deep(runs: Runs, key: str, words: str) -> Figure:
    """Draw a row for each value of a property, networks of the least depth."""
    return varied([run for run in runs if run.layers == runs[0].layers], key, words)


def property_maps(runs: Runs, key: str, xlabel: str) -> Figure:
    """Draw heat maps by a property, a block for each depth."""
    blocks: list[maps.Block] = []
    for depth in sorted({run.layers for run in runs}):
        mine = [run for run in runs if run.layers == depth]
        mine.sort(key=lambda run: getattr(run, key))
        columns = [(str(getattr(run, key)), run.group) for run in mine]
        blocks.append((f"{depth} layers", columns))
    return maps.heat_maps(blocks, xlabel=xlabel)


def side_by_side(runs: Runs, state: str) -> Figure:
    """Draw the layers of networks of few and of more channels, trained or not."""
    mine = _with(runs, "pictures")
    few, more = mine[0], [run for run in mine if run.width > mine[0].width]
    if not more:
        raise Missing(f"there is no record with more channels than {few.name}")
    return grids.layers([few, more[0]], states=(state,), by="width")


def channels_least(runs: Runs) -> Figure:
    """Draw all images, the least number of channels."""
    width = _least_width(runs)
    mine = [run for run in runs if run.width == width]
    return grids.predictions(
        [(f"{run.layers} layers, {width} ch.", run.group) for run in mine]
    )


def layers(runs: Runs) -> Figure:
    """Draw layer by layer, all depths, trained and not."""
    return grids.layers(_with(runs, "pictures"), kinds=("singular",))


def inside(runs: Runs, layers: int) -> Figure:
    """Draw layer by layer, three pictures of each, a network of so many."""
    run = nearest(_with(runs, "pictures"), layers)
    return grids.layers([run], unseen=True)


def changes(runs: Runs) -> Figure:
    """Draw bars of weight changes, two convolutional and two fully connected networks."""
    chosen: list[Run] = []
    for kind, depths in (("cnn", (5, DEEP)), ("fcn", (4, 11))):
        mine = [run for run in _with(runs, "change") if run.kind == kind]
        chosen += [nearest(mine, d) for d in depths] if mine else []
    return curves.changes(list({run.name: run for run in chosen}.values()))


def upper_by_depth(runs: Runs, count: int) -> Figure:
    """Draw what so many last layers make, by depth."""
    return grids.upper_by_depth(_with(runs, "upper"), count)


def upper_deep(runs: Runs) -> Figure:
    """Draw upper layers of a deep network."""
    return grids.upper(nearest(_with(runs, "upper"), DEEP))


def schemes(runs: Runs) -> Figure:
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


def optimisers(runs: Runs) -> Figure:
    """Draw a row for each optimiser and rate."""
    order = ("sgd", "adagrad", "rmsprop", "adam", "adamax")
    each = [(run.record.entry("recipe/optimiser"), run) for run in runs]
    each.sort(key=lambda pair: (pair[1].layers, order.index(pair[0])))
    return few(
        [
            (f"{count_of(run.layers)}, {optimiser} {group.rate:g}", group)
            for optimiser, run in each
            for group in run.groups
        ]
    )


def colour(runs: Runs, index: int) -> Figure:
    """Draw both kinds of networks, trained on one of the images in colour."""
    ordered = sorted(runs, key=lambda run: (run.kind, run.layers))
    short = [run.name for run in ordered if len(run.groups) <= index]
    if short:
        raise Missing(f"{', '.join(short)} have no training image {index + 1}")
    return few(_by_kind(ordered, index))


def digits(runs: Runs) -> Figure:
    """Draw a row for each training digit and depth."""
    return grids.training_sets(grids.variants(runs), only=grids.FEW)


def mixtures(runs: Runs) -> Figure:
    """Draw what several training images teach, and how outputs mix them."""
    return grids.mixtures(_by_layers(runs), only=grids.FEW)
