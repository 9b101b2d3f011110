"""Phase diagrams: a thousand networks at once, and where the edge of chaos begins.

The measured side takes one network after another, by the formulas of
`verify.claims.deep_conditioning.kernels._pairs`, from iterates that secants sharpen.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np

from theory import activations as act
from theory import phase, plots
from theory.phase.diagram import diagram, reach
from verify.claim import Source, grid, numeric
from verify.claims._predictors import mistake, unlike
from verify.claims.deep_conditioning.kernels import _pairs as pairs
from verify.compare import AgreesTo, Array

_SOURCE = Source("schoenholz2017deep", "Sections 2 and 3")
_ASSUMPTIONS = ("infinite width", "independent Gaussian weights and biases")
_DIGITS = 50
_WEIGHTS, _BIASES = np.linspace(0.5, 6.0, 45), np.linspace(0.05, 1.0, 25)
_TRIED = ((0, 0), (7, 20), (20, 3), (30, 10), (44, 0), (44, 24))
"""Networks of the grid that are measured: indices of weight and bias variances."""
_NEAR, _FAR = 1e-5, 0.3
_LAYERS = 400

# --- a grid of networks -----------------------------------------------------------------


@lru_cache(maxsize=8)
def _diagram(name: str) -> tuple[Array, ...]:
    """Return q*, 1 - c* and two values of the correlation map for the whole grid."""
    a, w, b = act.CATALOGUE[name], _WEIGHTS[:, None], _BIASES
    return (
        phase.fixed_variance(a, w, b),
        phase.fixed_distance(a, w, b),
        phase.correlation_map(_FAR, a, w, b),
        phase.correlation_distance_map(_NEAR, a, w, b),
    )


def _predict_grid(*, activation: str) -> list[Any]:
    found = _diagram(activation)
    return [float(values[at]) for at in _TRIED for values in found]


def settled(step: Any, start: Any) -> Any:
    """Iterate a map until it moves by less than 1e-9, and sharpen what it has come to."""
    x = mpmath.mpf(start)
    for _ in range(_LAYERS):
        x, before = step(x), x
        if abs(x - before) < mpmath.mpf(10) ** -9 * abs(x):
            break
    ends = (x, x * (1 + mpmath.mpf(10) ** -9))
    return mpmath.findroot(lambda y: step(y) - y, ends, tol=1e-60)


def _network(law: pairs.Law, w: Any, b: Any) -> tuple[Any, Any, Callable[[Any], Any]]:
    """Return q*, chi_1 and one layer's map of 1 - correlation."""
    q = settled(lambda q: w * law.one(q)[0] + b, 1)

    def distance(d: Any) -> Any:
        return 1 - (w * law.two(q, q, q * (1 - d))[0] + b) / q

    return q, w * law.one(q)[1], distance


def _measure_grid(*, activation: str) -> list[Any]:
    law, out = pairs.LAWS[activation], list[Any]()
    with mpmath.workdps(_DIGITS):
        for i, j in _TRIED:
            w, b = mpmath.mpf(float(_WEIGHTS[i])), mpmath.mpf(float(_BIASES[j]))
            q, slope, distance = _network(law, w, b)
            apart = settled(distance, 0.5) if slope > 1 else mpmath.mpf(0)
            far = 1 - distance(1 - mpmath.mpf(_FAR))
            out += [q, apart, far, distance(mpmath.mpf(_NEAR))]
    return out


def _wrong_grid(*, activation: str) -> list[Any]:
    """The neighbouring network of the grid."""
    found = _diagram(activation)
    return [float(values[i - 1, j]) for i, j in _TRIED for values in found]


GRID = numeric(
    id="dc/D.0-phase-grid",
    items=("D.0", "Thm3.10"),
    title="A phase diagram of a thousand networks agrees with six of them, each alone",
    statement=r"q^*, \quad 1 - c^*, \quad c \mapsto \frac{\sigma_w^2\, \mathbb{E}\,"
    r" \sigma(u) \sigma(v) + \sigma_b^2}{q^*}",
    assumptions=_ASSUMPTIONS,
    source=_SOURCE,
    cases=grid(activation=("erf", "sin")),
    predict=_predict_grid,
    measure=_measure_grid,
    # The functions' 1e-13, and 1 - chi > 0.05 at the networks that are measured.
    compare=AgreesTo(relative=1e-12),
    must_refute=_wrong_grid,
    uses=("dc/D.0-phase",),
)

# --- the edge at zero variance ----------------------------------------------------------


def _predict_zero(*, activation: str) -> list[float]:
    edge = phase.edge_points(act.CATALOGUE[activation])[0]
    curve = phase.edge_curve([1e-12, 1e-9], act.CATALOGUE[activation])
    return [edge.weight_var, float(edge.stable), *np.asarray(curve.weight_var)]


def _measure_zero(*, activation: str) -> list[Any]:
    """1 / s'(0)^2, and whether E s^2 / q falls from there."""
    law = pairs.LAWS[activation]
    with mpmath.workdps(_DIGITS):
        slope = law.one(mpmath.mpf(10) ** -40)[1]
        q = mpmath.mpf(10) ** -6
        falls = law.one(q)[0] / q < slope
        curve = [1 / law.one(mpmath.mpf(at))[1] for at in ("1e-12", "1e-9")]
        return [1 / slope, mpmath.mpf(bool(falls)), *curve]


ZERO = numeric(
    id="dc/D.0-edge-zero",
    title="The edge of chaos at zero variance, and on which side of it networks settle",
    statement=r"\sigma_w^2 \to \frac{1}{\sigma'(0)^2} \text{ as } q \to 0,"
    r"\quad\text{stable where } \mathbb{E}\,\sigma(\sqrt q Z)^2 / q \text{ falls}",
    assumptions=(
        *(*_ASSUMPTIONS, "sigma(0) = 0"),
        "smooth at zero, or on both sides: the mean of both squared slopes",
    ),
    source=_SOURCE,
    cases=grid(activation=("erf", "sin", "gelu", "selu")),
    predict=_predict_zero,
    measure=_measure_zero,
    # One function each, to 1e-13: no root is looked for.
    compare=AgreesTo(relative=1e-13),
    must_refute=mistake(
        "Every edge at zero stable, as tanh's is.",
        then=lambda found: [found[0], 1.0, *found[2:]],
    ),
    uses=("dc/D.0-edge",),
)


# --- the picture ------------------------------------------------------------------------

_WINDOWS = {
    "erf": ((0.0, 4.0), (0.0, 0.5)),
    "relu": ((0.5, 3.0), (0.0, 0.4)),
    "sin": ((0.2, 3.0), (0.0, 0.5)),
}
_BY_ITSELF = "erf"
"""The diagram whose weights reach as far as the library finds: 1.6 times the edge."""
_CELLS = 24
_SHOWN = ((2, 2), (20, 3), (3, 21), (12, 4), (7, 19), (23, 23))
"""Cells that are measured, the last of all too: indices of bias and weight variances."""
_PHASES = ("ordered", "chaotic", "divergent")
_PLACES = {
    "erf": ((1.0, 0.34), (2.8, 0.14)),
    "relu": ((1.2, 0.19), (2.5, 0.19)),
    "sin": ((1.0, 0.30), (2.3, 0.11)),
}
"""Variances of weights and biases at which a phase is looked up, by what is drawn there."""
_ACROSS = {
    "erf": ((1e-6, 0.8), (0.01, 1.1), (0.3, 2.0)),
    "relu": ((0.0, 2.0),),
    "sin": ((1e-6, 1.0), (0.01, 1.3), (0.3, 1.8)),
}
"""Bias variances at which the edge is, and about which weight variance to look for it."""


@lru_cache(maxsize=8)
def _picture(name: str) -> Any:
    # Loaded here: the other claims do without.
    from matplotlib.figure import Figure

    axes, (weights, biases) = Figure().subplots(), _WINDOWS[name]
    return plots.phase_diagram(
        act.CATALOGUE[name],
        None if name == _BY_ITSELF else weights,
        **unlike({"bias_var": (0.0, 0.5)}, bias_var=biases),
        points=_CELLS,
        ax=axes,
    )


def _drawn_edge(name: str) -> list[float]:
    """Return the weight variances at which the drawn edge has given bias variances."""
    line = _picture(name).lines[-1]
    w, b = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    return [float(np.interp(at, b, w)) for at, _ in _ACROSS[name]]


def _named(name: str) -> list[float]:
    """Return the phases that are written nearest to some places."""
    (left, right), (low, high) = _WINDOWS[name]

    def nearest(w: float, b: float) -> Any:
        place = np.array([(w - left) / (right - left), (b - low) / (high - low)])
        return min(
            _picture(name).texts,
            key=lambda text: float(np.linalg.norm(text.get_position() - place)),
        )

    found = (nearest(w, b).get_text() for w, b in _PLACES[name])
    return [float(_PHASES.index(phase)) for phase in found]


def _predict_picture(*, activation: str) -> list[float]:
    """Layers of depth scale in some cells, the edge's weights, and the phases' names."""
    image = _picture(activation).images[0]
    cells = np.ma.filled(image.get_array(), -1.0)
    return [
        *(float(cells[cell]) for cell in _SHOWN),
        *image.get_extent(),
        float(len(image.axes.get_legend().get_texts())),
        *_drawn_edge(activation),
        *_named(activation),
    ]


def _state(law: pairs.Law, w: Any, b: Any) -> tuple[float, Any]:
    """Return the phase of a network, as its place in `_PHASES`, and its depth scale."""
    # Whether variances settle: a map below the diagonal at some large variance.
    if w * law.one(mpmath.mpf(10) ** 8)[0] + b >= mpmath.mpf(10) ** 8:
        return 2.0, mpmath.mpf(-1)
    q, slope, distance = _network(law, w, b)
    chaotic = slope > 1
    if chaotic:
        slope = w * law.two(q, q, q * (1 - settled(distance, 0.5)))[1]
    layers = -1 / mpmath.log(abs(slope)) if slope else mpmath.mpf(0)
    return float(chaotic), min(max(layers, mpmath.mpf(1)), mpmath.mpf(100))


def _edge_weight(law: pairs.Law, b: Any, near: Any) -> Any:
    """Return the weight variance with slope one for a bias variance, near a given one."""
    if b == 0:
        return 1 / law.one(mpmath.mpf(10) ** -40)[1]

    def excess(w: Any) -> Any:
        return _network(law, w, b)[1] - 1

    return mpmath.findroot(excess, (near, near * mpmath.mpf("1.001")), tol=1e-30)


def _measure_picture(*, activation: str) -> list[Any]:
    law, out = pairs.LAWS[activation], list[Any]()
    (left, right), (low, high) = _WINDOWS[activation]
    with mpmath.workdps(_DIGITS):
        for i, j in _SHOWN:
            w = left + (right - left) * (j + mpmath.mpf(1) / 2) / _CELLS
            b = low + (high - low) * (i + mpmath.mpf(1) / 2) / _CELLS
            out.append(_state(law, w, b)[1])
        if activation == _BY_ITSELF:
            farthest = 1.6 * _edge_weight(law, mpmath.mpf(high), mpmath.mpf(2))
            right = float(f"{float(farthest):.1g}")
        # And a legend of one line.
        out += [left, right, low, high, 1.0]
        for b, near in _ACROSS[activation]:
            out.append(_edge_weight(law, mpmath.mpf(b), mpmath.mpf(near)))
        for w, b in _PLACES[activation]:
            out.append(_state(law, mpmath.mpf(w), mpmath.mpf(b))[0])
    return out


def _wrong_picture(*, activation: str) -> list[float]:
    """Weight variances along the rows, and bias variances along the columns."""
    cells = np.ma.filled(_picture(activation).images[0].get_array(), -1.0).T
    right = _predict_picture(activation=activation)
    return [*(float(cells[cell]) for cell in _SHOWN), *right[len(_SHOWN) :]]


PICTURE = numeric(
    id="dc/D.0-drawn",
    items=("D.0", "Thm3.10"),
    title="Plot of the phase diagram: depth scales, the edge and names of phases",
    statement=r"\xi_c = -1 / \log \chi_c, \quad \chi_1 = 1",
    assumptions=_ASSUMPTIONS,
    source=_SOURCE,
    cases=grid(activation=tuple(_WINDOWS)),
    predict=_predict_picture,
    measure=_measure_picture,
    # What a diagram promises for its cells; straight lines between points of the edge,
    # half a hundredth of the window apart, are nearer.
    compare=AgreesTo(relative=1e-4, absolute=1e-12),
    must_refute=_wrong_picture,
    uses=("dc/D.0-phase-grid", "dc/D.0-edge"),
)


_STABLE = (0.5, 1.0, 1.8)
"""Weight variances below that of the edge of ReLU, and one beyond it."""
_BEYOND = 3.5
_SCALES = (0.9, 5.0, 60.0)


def _predict_homogeneous(*, bias: float, most: float = _BEYOND) -> list[float]:
    told = list[tuple[int, ...]]()

    def tell(*numbers: int) -> None:
        told.append(numbers)

    found = diagram(act.relu, (0.0, most), (0.0, 2.0 * bias), 70, progress=tell)
    cells = [int(w / most * 70) for w in (*_STABLE, 2.5)]
    middles = [(k + 0.5) * most / 70 for k in cells]
    depths = np.nan_to_num(found.depth[35, cells], nan=-1.0)
    ((w, b),) = found.edges
    ends = [reach(scale * act.relu, (bias, 2.0 * bias)) for scale in _SCALES]
    later = act.from_function(lambda x: np.maximum(x - 0.5, 0.0), kinks=(0.5,))
    ends.append(len(diagram(later, (0.0, 4.0), (0.0, 2.0 * bias), 10).edges))
    return [*middles, *depths.tolist(), *map(float, (*w, *b, *told[-1])), *ends]


def _measure_homogeneous(*, bias: float) -> list[Any]:
    """-1 / log(w / 2) for w below 2, where the edge is, without biases.

    Of all cells the last is told of; and 1.6 times where variances have no limit any more.
    Of a later ramp the edge only touches the diagonal, and is not drawn.
    """
    cells = [mpmath.floor(w / _BEYOND * 70) for w in (*_STABLE, 2.5)]
    w = [(k + mpmath.mpf("0.5")) * _BEYOND / 70 for k in cells]
    depths = [-1 / mpmath.log(v / 2) for v in w[:-1]]
    ends = [float(f"{1.6 * 2 / scale**2:.1g}") for scale in _SCALES]
    return [*w, *depths, -1, 2, 0, 70**2, 70**2, *ends, 0]


HOMOGENEOUS = numeric(
    id="dc/D.0-diagram-relu",
    title="The phase diagram of ReLU: lengths settle below a weight variance of 2",
    statement=r"\xi_c = -1 / \log(\sigma_w^2 / 2), \quad \sigma_w^2 < 2",
    assumptions=_ASSUMPTIONS,
    source=_SOURCE,
    cases=grid(bias=(0.1, 0.5)),
    predict=_predict_homogeneous,
    measure=_measure_homogeneous,
    # Lengths of ReLU are lines: roundings, over 1 - w/2 > 0.05.
    compare=AgreesTo(relative=1e-13),
    must_refute=mistake("Cells of another window.", most=3.0),
    uses=("dc/D.0-phase-grid",),
)
