"""Edges, bottom layers and lower layers: remarks of the text on trained networks.

What is tried, by how much at least and on how many networks stands in
``docs/trained/identity-map.md``.
"""

import math
from functools import partial
from typing import Any

import numpy as np

from verify.claim import grid
from verify.claims._predictors import stated, unmet
from verify.claims.identity_map._runs import Array, effect, fitted, looks, named, within
from verify.claims.identity_map._sources import as_read
from verify.compare import Contrast
from verify.trained import NotLearnt, Run

FULL = grid(scale="full")
LOWER = 5
"""Layers that the text calls the lower or bottom ones."""

ASSUMPTIONS = (
    "28 x 28, 32 channels, biases, 2,000 updates (13 layers: 5,000), clipped at 0.5",
    "the paper: 128 channels, two million updates, not clipped",
)

_full: Any = partial(effect, cases=(), assumptions=ASSUMPTIONS)

# --- edges ------------------------------------------------------------------------------


def _edges(layers: int) -> Any:
    return named(f"edges-depth-{layers}")


def _shown(name: str, scale: str) -> Array:
    """Share of its output that a digit's edges add, less that of another digit's."""
    draws = fitted(name, scale)
    return draws.series("edges/own") - draws.series("edges/other")


def _more_edges(*, scale: str, layers: int) -> Contrast:
    return Contrast(*(_shown(_edges(n)(scale), scale) for n in (layers, 3)))


def _edge_runs(*, scale: str, layers: int) -> tuple[Run, ...]:
    return looks(_edges(layers), _edges(3))(scale=scale)


EDGES = _full(
    id="id/edges",
    title="CNNs of intermediate depth act as edge detectors, shallow ones do not",
    statement=(
        r"\frac{\|\Pi_{g_\perp}f(x)\|^2}{\|f(x)-\bar f(x)\|^2}:\ 7,10,13\text{ layers}-3"
        r"\text{ layers}\ge0.05,\quad g=|\nabla x|\text{ (Sobel)},\ "
        r"g_\perp\perp1,x,\hat x"
    ),
    source=as_read("Section 3.2"),
    larger_cases={"full": grid(scale="full", layers=(7, 10, 13))},
    runs=_edge_runs,
    measure=_more_edges,
    **unmet((0.05, None), (None, 0.05)),
    version=2,
    finding=(
        "Of each intermediate depth outputs show more of their inputs' edges than of"
        " another digit's, which shallow networks do not; but these are a small share of"
        " the output, several times less than the smallest effect of interest. Edges are"
        " the gradient's magnitude here: signed ones are not looked for."
    ),
    uses=("id/Fig3-neither",),
)

# --- boundaries -------------------------------------------------------------------------

MARGIN = 2
"""Pixels of the boundary: of a 5 x 5 kernel there, some see zeros that are no image."""
PATTERNS = ("constant", "rows", "columns", "checkerboard", "disc", "random")


def _at_the_boundary(name: str, scale: str) -> Contrast:
    """Logarithms of the mean squared error at the boundary and inside, on patterns."""
    draws = fitted(name, scale)
    # They differ in the training image, which comes first.
    shown = [image["name"] for image in draws[0].fact("predictions/images")]
    rows = [k for k, name in enumerate(shown) if name in PATTERNS]
    gaps = draws.series("predictions/outputs") - draws.series("predictions/inputs")
    errors = np.square(gaps[:, rows])
    inside = errors[..., MARGIN:-MARGIN, MARGIN:-MARGIN]
    outside = errors.sum(axis=(1, 2, 3)) - inside.sum(axis=(1, 2, 3))
    count = errors[0].size - inside[0].size
    return Contrast(np.log(outside / count), np.log(inside.mean(axis=(1, 2, 3))))


BOUNDARY = _full(
    id="id/Fig3-boundary",
    items=("Fig3", "Identity5"),
    unit="e-folds",
    title="CNNs of five layers err at the boundary of an image more than inside",
    statement=(
        r"\log\overline{(f(x)-x)^2}:\ \text{two outermost pixels}-\text{inside}"
        r"\ge\log2\text{ on patterns}"
    ),
    source=as_read("Section 3.2, Figure 3"),
    larger_cases={"full": FULL},
    **within(named("digits-depth-5"), _at_the_boundary),
    **stated(math.log(2.0)),
    assumptions=(
        "28 x 28, 32 channels, no biases, one network for each of ten digits",
        "one start for all ten digits: the interval is over digits, not over starts",
    ),
)

# --- bottom layers ----------------------------------------------------------------------


def _improved(name: str, scale: str) -> Contrast:
    """Errors on the lower layers before training, and after it."""
    draws = fitted(name, scale)
    before, after = (
        draws.series(f"layer-error/{state}")[:, 1 : LOWER + 1].mean(axis=1)
        for state in ("untrained", "trained")
    )
    return Contrast(before, after)


BOTTOM = _full(
    id="id/Fig5-bottom",
    items=("Fig5Bottom",),
    title=(
        "Bottom layers of a trained deep network classify a little better than random ones"
    ),
    statement=(
        r"\overline{\mathrm{err}}_{l\le5}:\ \text{untrained}-\text{trained}\ge0.02,"
        r"\ 20\text{ layers}"
    ),
    source=as_read("Section 3.2, Figure 5"),
    larger_cases={"full": FULL},
    **within(named("bottom-depth-20"), _improved),
    # Worse by as much.
    **stated(0.02, wrong=(None, -0.02)),
    version=2,
    uses=("id/Fig5-untrained",),
    finding=(
        "Undecided: on the mean of ten networks training changes the error of the lower"
        " five layers by nothing, and networks differ by more than the smallest effect."
    ),
)

# --- lower layers of fully connected networks -------------------------------------------

UNCLIPPED = ("framework", "default-sqrt")
"""Starts of networks that are trained without clipping, in the order of preference."""


def _changes(scale: str) -> Array:
    """Relative changes, (networks, layers), of the first start that trains."""
    missing: list[str] = []
    for scheme in UNCLIPPED:
        try:
            draws = fitted(f"unclipped-fcn-{scheme}", scale)
        except NotLearnt as error:
            missing.append(str(error))
            continue
        return draws.series("change/relative")
    raise NotLearnt("; ".join(missing))


def _lower(*, scale: str) -> Contrast:
    """Change of the lower layers."""
    return Contrast.alone(_changes(scale)[:, :LOWER].mean(axis=1))


def _relative(*, scale: str) -> Contrast:
    """Change of the lower layers over the largest."""
    changes = _changes(scale)
    return Contrast.alone(changes[:, :LOWER].mean(axis=1) / changes.max(axis=1))


_fcn: Any = partial(
    _full,
    items=("Fig19Lower",),
    source=as_read("Appendix G"),
    larger_cases={"full": FULL},
    runs=looks(*(named(f"unclipped-fcn-{scheme}") for scheme in UNCLIPPED)),
    paired=True,
    assumptions=(
        "28 x 28, 784 units, no biases, 2,000 updates behind the plateau, not clipped",
        "the framework's start where it trains, else the printed variance's square root",
    ),
)

NEAR_ZERO = _fcn(
    id="id/Fig19-zero",
    title="Training hardly changes the lower five layers of FCNs of 11 hidden ReLU layers",
    statement=r"\overline{\delta}_{l\le5}\le0.02,\quad \delta_l=\|W_l^0-W_l^*\|/\|W_l^0\|",
    measure=_lower,
    # As much as the last layer.
    **stated(None, 0.02, wrong=(0.04, None)),
    finding="Entered after its networks were seen, for id/Fig19-fcn.",
)

LOWER_FCN = _fcn(
    id="id/Fig19-fcn",
    title="The lower five of 12 dense layers change by under a tenth of the most changed",
    statement=(
        r"\overline{\delta}_{l\le5}/\max_l\delta_l\le0.1,\quad "
        r"\delta_l=\|W_l^0-W_l^*\|/\|W_l^0\|"
    ),
    measure=_relative,
    **unmet((None, 0.1), (0.1, None)),
    version=2,
    finding=(
        "In itself their change is near zero (id/Fig19-zero). But so it is in the middle:"
        " all but the last few layers change alike, and by more than a tenth of what the"
        " last one does. From the framework's start none leaves the plateau unclipped."
    ),
    uses=("id/Fig19-zero",),
)
