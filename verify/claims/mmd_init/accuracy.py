"""What a learnt start is worth in fine-tuning: tables 1 and 2, and what each loss adds."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from empirical.mmd_init.experiments import SHOTS
from verify.claims._predictors import stated
from verify.claims.mmd_init._runs import (
    NETWORKS,
    OURS,
    Array,
    accuracy,
    apart,
    by_task,
    effect,
    reached,
    trained,
)
from verify.claims.mmd_init._sources import as_read, ours, quoted
from verify.compare import Contrast
from verify.trained import NotLearnt

STARTS = ("xavier", "he")
RIVALS = ("labels", "none-bn", "labels-bn")
"""Random labels, batch normalisation, both."""

CELLS = {"start": STARTS, "shots": SHOTS}
_effect, _trained = (partial(f, unit="points") for f in (effect, trained))
"""Claims on accuracies in per cent, whose differences are percentage points."""

FEW = {"start": ("he",), "shots": (5,)}
BY_START: dict[str, tuple[Any, ...]] = {"start": STARTS}
HE: dict[str, tuple[Any, ...]] = {"start": ("he",)}

PLAIN = NETWORKS.looks(r"(mmd|none)-(xavier|he)")
EVERY = NETWORKS.looks(r"(mmd|none|labels)(-bn)?-(xavier|he)")


def _looks(*, start: str, **_case: Any) -> tuple[Any, ...]:
    """Look at what is learnt from a start, and at that start."""
    return NETWORKS.looks(f"(mmd|none)-{start}")(**_case)


def _variant(method: str) -> Mapping[str, float]:
    """Of a method's starts those of the whole loss, where there are several."""
    return OURS if method == "mmd" else {}


def by_method(method: str, scale: str, start: str, shots: int) -> Array:
    """Return the accuracy of a method's networks in per cent, by start."""
    return accuracy(f"{method}-{start}", scale, shots, **_variant(method))


def _against(rival: str, own: str, *, scale: str, start: str, shots: int) -> Contrast:
    """Accuracy of one method's networks, and of another's from the same starts."""
    return Contrast(*(by_method(m, scale, start, shots) for m in (own, rival)))


def _gain(scale: str, start: str, shots: int, updates: int | None = None) -> Array:
    """Accuracy that pre-training adds, by start; after so many updates, if given."""
    ours, none = (f"{method}-{start}" for method in ("mmd", "none"))
    if updates is None:
        return accuracy(ours, scale, shots, **OURS) - accuracy(none, scale, shots)
    with_it = reached(ours, scale, shots, updates, **OURS)
    return with_it - reached(none, scale, shots, updates)


# --- table 1 --------------------------------------------------------------------------

GAIN = _effect(
    partial(_against, "none", "mmd"),
    0.5,
    id="mmd/tab1",
    quick=True,
    runs=_looks,
    title=(
        "Networks trained from a learned start are more accurate, at each number of labels"
    ),
    statement=r"\text{accuracy(Ours)}-\text{accuracy(scratch)}\ge0.5\text{ points}",
    source=as_read("Table 1"),
    figure="mmd_table_1",
    axes=CELLS,
    small=FEW,
    version=2,
    finding=(
        "The paper's network gains one to three points from either law, in seven of eight"
        " cells half a point or more beyond doubt; its accuracies are the printed ones"
        " (mmd/tab1-ours-values). Narrow networks gain so much from He's starts; from"
        " Xavier's less, and with few labels eight starts do not decide."
    ),
)


def _tasks_gained(*, scale: str, start: str, shots: int) -> Contrast:
    """Share of a start's tasks on which learning it helps, in per cent, and one half."""
    ours = by_task(f"mmd-{start}", scale, shots, **OURS)
    gained = ours > by_task(f"none-{start}", scale, shots)
    share = 100.0 * gained.mean(axis=1)
    return Contrast(share, np.full_like(share, 50.0))


MOST = _effect(
    _tasks_gained,
    0.0,
    id="mmd/abs-most",
    runs=_looks,
    items=("Tab1",),
    title="On most binary tasks, networks trained from a learned start are more accurate",
    statement=(
        r"\#\{\text{tasks}:\text{accuracy(Ours)}>\text{accuracy(scratch)}\}>"
        r"\tfrac12\#\{\text{tasks}\}"
    ),
    source=as_read("Abstract"),
    axes=CELLS,
    uses=("mmd/tab1",),
    finding=(
        "In the paper's network they are in every cell. In narrow networks, with the fewest"
        " labels from Xavier's starts, eight do not decide."
    ),
)


MORE = _effect(
    apart(_gain, {"shots": 5}, {"shots": 40}),
    0.5,
    id="mmd/tab1-few",
    quick=True,
    runs=_looks,
    title="After ten epochs, a learned start gains more with few labels than with many",
    statement=r"82.42-79.63>92.48-90.91\text{ (Xavier)},\;"
    r"82.27-79.17>92.61-91.34\text{ (He)}",
    source=quoted("Table 1"),
    axes=BY_START,
    small=HE,
    uses=("mmd/tab1-updates",),
    version=2,
    finding=(
        "Ten epochs are 10 updates at N = 5 and 80 at N = 40. After equally many"
        " updates nothing is left of the difference, or it is turned round"
        " (mmd/tab1-updates): what decides is how long networks are trained. The paper's"
        " network from Xavier's starts, and narrow ones from either law's, gain so little"
        " more with few labels that eight do not decide."
    ),
)


def _at_equal_updates(*, scale: str, start: str, updates: int) -> Contrast:
    """Gains after so many updates, with few labels and with many.

    Raises
    ------
    NotLearnt
        If there is no gain to compare.
    """
    few, many = (_gain(scale, start, shots, updates) for shots in (5, 40))
    if min(few.mean(), many.mean()) < 0.5:
        raise NotLearnt(
            f"{start} ({scale}): the comparison presupposes gains of 0.5 points, but they"
            f" are {few.mean():.2f} and {many.mean():.2f}"
        )
    return Contrast(few, many)


UPDATES = _effect(
    _at_equal_updates,
    -2.0,
    2.0,
    wrong=(2.0, None),
    id="mmd/tab1-updates",
    quick=True,
    runs=_looks,
    title=(
        "After equally many updates, a learned start gains as much with many labels as"
        " with few"
    ),
    statement=r"|\text{gain}(N=5)-\text{gain}(N=40)|\le2\text{ points after 10 updates}",
    source=ours("Table 1; the comparison is ours"),
    axes={**BY_START, "updates": (10,)},
    small={**HE, "updates": (10,)},
    finding=(
        "Narrow networks gain as much. The paper's network gains more with many labels, on"
        " the mean by more than is allowed, but eight starts do not decide."
    ),
)


STEPS = _effect(
    apart(_gain, {"shots": 40, "updates": 10}, {"shots": 40, "updates": 80}),
    0.5,
    id="mmd/tab1-steps",
    runs=_looks,
    title="With many labels, too, the gain of a learned start fades during training",
    statement=r"\text{gain}(N=40,\,10\text{ updates})-\text{gain}(N=40,\,80)\ge0.5",
    source=ours("Table 1; the comparison is ours"),
    axes=BY_START,
    finding=(
        "In the paper's network it fades by several points. Narrow ones differ in how much"
        " of the gain is left by more than it fades on the mean, from He's starts not at"
        " all: eight of either law do not decide, nor did they at the small scale."
    ),
)

LABELS = _effect(
    partial(_against, "labels", "none"),
    0.5,
    id="mmd/tab1-labels",
    runs=NETWORKS.looks(r"(none|labels)-(xavier|he)"),
    items=("Tab1", "Err14"),
    title="Random labels hurt plain networks when there are few true labels",
    statement=r"\text{N=5: }76.81<79.63\text{ (Xavier)},\;77.41<79.17\text{ (He)}",
    source=quoted("Table 1 and section 5"),
    axes={**BY_START, "shots": (5,)},
    version=3,
)

NORMED_FEW = _effect(
    partial(_against, "none-bn", "none"),
    0.5,
    id="mmd/tab1-bn",
    runs=NETWORKS.looks(r"none(-bn)?-(xavier|he)"),
    items=("Tab1", "BatchNorm"),
    title="Batch normalisation hurts with few labels",
    statement=r"\text{N=5: }77.09<79.63\text{ (Xavier)},\;76.89<79.17\text{ (He)}",
    source=quoted("Table 1 and section 5"),
    axes={**BY_START, "shots": (5,)},
    version=2,
)

NORMED_MANY = _trained(
    measure=partial(_against, "none", "none-bn"),
    **stated(0.2, wrong=(None, 0.0)),
    id="mmd/tab1-bn-many",
    runs=NETWORKS.looks(r"none(-bn)?-(xavier|he)"),
    items=("Tab1", "BatchNorm"),
    title="Batch normalisation helps with many labels",
    statement=r"\text{N=40: }91.48>90.91\text{ (Xavier)},\;91.55>91.34\text{ (He)}",
    source=quoted("Table 1 and section 5"),
    axes={**BY_START, "shots": (40,)},
    finding=(
        "In narrow networks it hurts with many labels, too. In the paper's own it helps:"
        " from He's starts by half a point, from Xavier's eight do not decide."
    ),
)


def _ahead(*, scale: str, start: str, shots: int, rival: str) -> Contrast:
    return _against(rival, "mmd", scale=scale, start=start, shots=shots)


BEST = _effect(
    _ahead,
    0.0,
    id="mmd/tab1-best",
    runs=EVERY,
    items=("Tab1", "Best"),
    title="The learned start is the most accurate method at every number of labels",
    statement=r"\text{accuracy(Ours)}>\text{accuracy(R.label), (BN), (BN, R.label)}",
    source=quoted("Abstract and Table 1"),
    axes={"rival": RIVALS, **CELLS},
    finding=(
        "It is ahead of either rival alone at each number of labels (mmd/tab1-either), and"
        " of both together with few. With twenty labels and more from He's starts the"
        " paper's network is no better than batch normalisation with random labels, as far"
        " as eight starts tell; in narrow networks it is from Xavier's, with the fewest"
        " and the most labels, that they do not decide."
    ),
    version=2,
)

EITHER = _effect(
    _ahead,
    0.0,
    id="mmd/tab1-either",
    runs=NETWORKS.looks(r"mmd-(xavier|he)", r"(labels|none-bn)-(xavier|he)"),
    items=("Tab1", "Best"),
    title="The learned start is ahead of random labels, and of batch normalisation",
    statement=r"\text{accuracy(Ours)}>\text{accuracy(R.label), (BN)}",
    source=quoted("Abstract and Table 1"),
    axes={"rival": RIVALS[:2], **CELLS},
)

# --- table 2 --------------------------------------------------------------------------


def spread(method: str, scale: str, start: str, shots: int) -> Array:
    """Standard deviation of the accuracy over tasks, by start."""
    found = by_task(f"{method}-{start}", scale, shots, **_variant(method))
    return found.std(axis=1, ddof=1)


def _mean_spread(*, scale: str, rival: str) -> Contrast:
    """Mean of that over laws of starts and N: a rival's, and ours."""
    return Contrast(
        *(
            np.mean([spread(m, scale, s, n) for s in STARTS for n in SHOTS], axis=0)
            for m in (rival, "mmd")
        )
    )


SPREAD = _effect(
    _mean_spread,
    0.25,
    id="mmd/tab2",
    runs=EVERY,
    title=(
        "Averaged over all cells of Table 2, a learned start narrows the spread over tasks"
    ),
    statement=r"\operatorname{mean}_{cells}\operatorname{sd}_{tasks}(\text{rival})-"
    r"\operatorname{mean}_{cells}\operatorname{sd}_{tasks}(\text{Ours})\ge0.25",
    source=as_read("Table 2"),
    figure="mmd_table_2",
    axes={"rival": ("none", *RIVALS)},
    version=3,
)

SPREAD_BY_CELL = _effect(
    apart(spread, {"method": "none"}, {"method": "mmd"}),
    0.0,
    id="mmd/tab2-cells",
    runs=_looks,
    title="In each cell of Table 2, a learned start narrows the spread over tasks",
    statement=r"\operatorname{sd}_{tasks}(\text{Ours})<\operatorname{sd}_{tasks}"
    r"(\text{scratch}):\;4.76<6.62,\;5.26<5.74\;(N=5)",
    source=quoted("Table 2"),
    axes=CELLS,
    finding=(
        "The spread over tasks differs between starts by as much as between methods,"
        " most of all with few labels. In narrow networks eight starts of either law"
        " decide with the most labels, and eight of He's with half as many; in the"
        " paper's, whose means all have the printed sign, no cell is decided."
    ),
    version=2,
)


def _narrowed(scale: str, start: str, shots: int) -> Array:
    """By how much a learned start narrows the spread, by start."""
    return spread("none", scale, start, shots) - spread("mmd", scale, start, shots)


SPREAD_FEW = _effect(
    apart(_narrowed, {"shots": 5}, {"shots": 40}),
    0.0,
    id="mmd/tab2-few",
    runs=_looks,
    title="A learned start narrows the spread over tasks more with few labels than many",
    statement=r"6.62-4.76>2.65-2.26\text{ (Xavier)},\;5.74-5.26>2.47-2.16\text{ (He)}",
    source=quoted("Section 5 and Table 2"),
    axes=BY_START,
    uses=("mmd/tab2-cells",),
    finding="Eight starts do not decide, of narrow networks or of the paper's.",
)


# --- what each loss adds --------------------------------------------------------------

LOST = {"uni": {"uni": 0.0, "lam": 0.4}, "lam": {"uni": 1.0, "lam": 0.0}}
"""Variants of the ablation without one of the losses, by its weight."""

ABLATED = NETWORKS.looks("(mmd|none|ablation)-he")


def _with_and_without(lost: str, *, scale: str) -> Contrast:
    return Contrast(
        accuracy("mmd-he", scale, 5, **OURS),
        accuracy("ablation-he", scale, 5, **LOST[lost]),
    )


def _with_and_without_detachment(*, scale: str) -> Contrast:
    """From Xavier's starts, where both weights of the detachment loss are trained."""
    return Contrast(
        *(accuracy("mmd-xavier", scale, 5, **OURS | {"xi": xi}) for xi in (1.0, 0.0))
    )


_necessary = partial(_effect, source=as_read("Section 3.3"))
"""All three losses are, the text says, each of them in a claim of its own."""

ABLATION = _necessary(
    partial(_with_and_without, "uni"),
    2.0,
    id="mmd/ablation",
    quick=True,
    runs=ABLATED,
    title="The uniformity loss is necessary for a good initialisation",
    statement=r"\text{N=5: accuracy(Ours)}-\text{accuracy without }L_{uni}\ge2",
    version=3,
)

ABLATION_SD = _necessary(
    partial(_with_and_without, "lam"),
    0.5,
    id="mmd/ablation-sd",
    runs=ABLATED,
    title="The degeneracy loss is necessary for a good initialisation",
    statement=r"\text{N=5: accuracy(Ours)}-\text{accuracy without }L_{sd}\ge0.5",
)

ABLATION_IOD = _necessary(
    _with_and_without_detachment,
    0.5,
    id="mmd/ablation-iod",
    runs=NETWORKS.looks("mmd-xavier"),
    title="The detachment loss is necessary for a good initialisation",
    statement=r"\text{N=5: accuracy(Ours)}-\text{accuracy without }L_{iod}\ge0.5",
    finding=(
        "The text shows what it does by dead units (mmd/tab4-iod). Of accuracies eight of"
        " Xavier's starts do not decide: they differ by more."
    ),
)


def _harm(*, scale: str) -> Contrast:
    return Contrast(
        accuracy("none-he", scale, 5), accuracy("ablation-he", scale, 5, **LOST["uni"])
    )


REGULARISED = _effect(
    _harm,
    0.5,
    id="mmd/ablation-alone",
    quick=True,
    runs=ABLATED,
    title=(
        "Initialisations learned without the uniformity loss are worse than standard ones"
    ),
    statement=r"\text{N=5: accuracy(scratch)}-\text{accuracy}(0.4L_{sd}+L_{iod})\ge0.5",
    source=ours("Section 3.3; the comparison is ours"),
)
