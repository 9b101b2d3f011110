"""Networks with biases at great depth: fixed points, the edge of chaos, depth scales.

The measured side takes its integrals from `verify.integrals` and its roots from secants,
and draws wide networks layer by layer.
"""

import math
from dataclasses import replace
from typing import Any

import mpmath as mp
import numpy as np

from theory import activations as act
from theory import phase
from verify import integrals
from verify.claim import Source, grid, numeric, statistical
from verify.claims._predictors import mistake, times, unlike
from verify.claims.deep_conditioning.kernels import _pairs as pairs
from verify.claims.deep_conditioning.lengths._definitions import FUNCTIONS
from verify.compare import AgreesTo, Array, Estimate, MeanEquals

_POOLE, _SCHOENHOLZ = "poole2016exponential", "schoenholz2017deep"

# --- the measured side: integrals -------------------------------------------------------

_DIGITS = 60


def _at(name: str, q: Any) -> Any:
    return integrals.at_variance(name, mp.nstr(q, _DIGITS))


def _fixed(name: str, w: Any, b: Any, start: float) -> Any:
    """Return q* by secants."""
    return mp.findroot(
        lambda q: w * _at(name, q).dual(1) + b - q,
        (0.9 * start, 1.1 * start),
        tol=1e-38,
    )


def _slope(name: str, q: Any) -> Any:
    """Return the derivative of E s^2 in q, by differences over four points."""
    # Truncation h^4/30 = 3e-18; the series' 1e-22 over h is 1e-18.
    h = mp.mpf(10) ** -4
    one, two = (
        _at(name, q * (1 + k * h)).dual(1) - _at(name, q * (1 - k * h)).dual(1)
        for k in (1, 2)
    )
    return (8 * one - two) / (12 * q * h)


def _measure_state(
    *, name: str, weight_var: float, bias_var: float, start: float, apart: float = 0.0
) -> list[Any]:
    """q*, chi_q, chi_1, 1 - c* (found near `apart`), the slope there; again, with c*."""
    with mp.workdps(_DIGITS):
        w, b = mp.mpf(weight_var), mp.mpf(bias_var)
        q = _fixed(name, w, b, start)
        law = _at(name, q)
        first = w * law.slope(1) / q
        delta, slope = mp.mpf(0), first
        if first > 1:

            def excess(d: Any) -> Any:
                return (w * law.dual(1 - d) + b) / q - 1 + d

            delta = mp.findroot(excess, (0.9 * apart, 1.1 * apart), tol=1e-38)
            slope = w * law.slope(1 - delta) / q
        change, found = w * _slope(name, q), [first, delta, slope]
        return [q, change, *found, *[q, *found, 1 - delta] * 3, change]


def _measure_edge(*, name: str, bias_var: float, start: float) -> list[Any]:
    """weight_var, twice, q* and chi_q where chi_1 = 1, and whether q* is stable; twice."""
    with mp.workdps(_DIGITS):
        b = mp.mpf(bias_var)

        def parts(q: Any) -> tuple[Any, Any]:
            law = _at(name, q)
            return q / law.slope(1), law.dual(1)

        def excess(q: Any) -> Any:
            w, v = parts(q)
            return q - w * v - b

        q = mp.findroot(excess, (0.9 * start, 1.1 * start), tol=1e-38)
        w = parts(q)[0]
        change = w * _slope(name, q)
        return [w, w, q, change, float(abs(change) < 1)] * 2


def _measure_layer(
    *, name: str, weight_var: float, bias_var: float, start: float, **pair: float
) -> list[Any]:
    """One layer's variance from `start`, correlation and distance."""
    with mp.workdps(_DIGITS):
        w, b = mp.mpf(weight_var), mp.mpf(bias_var)
        q = _fixed(name, w, b, start)
        law, d = _at(name, q), mp.mpf(pair["delta"])
        return 2 * [
            w * _at(name, mp.mpf(start)).dual(1) + b,
            (w * law.dual(mp.mpf(pair["rho"])) + b) / q,
            w * (law.dual(1) - law.dual(1 - d)) / q,
        ]


# --- the measured side: networks --------------------------------------------------------


def _chains(
    *,
    name: str,
    weight_var: float,
    bias_var: float,
    start: float,
    deltas: list[float],
    width: int,
    depth: int,
    draws: int,
    seed: int,
) -> tuple[Array, Array]:
    """Variances and 1 - correlation of two inputs, (depth + 1, draws, starts).

    Given the features of a layer, the next pre-activations W h + beta of two inputs are
    independent Gaussian pairs with the covariance weight_var h.h' / width + bias_var, so
    the law is that of networks with their matrices and bias vectors. All starts see the
    same random numbers: their laws are untouched, their differences vary less.
    """
    rng, s = np.random.default_rng(seed), FUNCTIONS[name]
    shape = (draws, len(deltas))
    x, y = np.full(shape, start), np.full(shape, start)
    d = np.broadcast_to(np.asarray(deltas), shape)
    variances, distances = [x], [d]
    for _ in range(depth):
        g, h = rng.standard_normal((2, draws, width))
        new = [np.empty(shape) for _ in range(3)]
        for k in range(len(deltas)):
            one, two, gap = x[:, k, None], y[:, k, None], d[:, k, None]
            u = s(np.sqrt(one) * g)
            v = s(np.sqrt(two) * ((1.0 - gap) * g + np.sqrt(gap * (2.0 - gap)) * h))
            new[0][:, k] = weight_var * np.mean(u * u, axis=1) + bias_var
            new[1][:, k] = weight_var * np.mean(v * v, axis=1) + bias_var
            # |u - v|^2 keeps the digits of a small distance.
            new[2][:, k] = 0.5 * weight_var * np.mean((u - v) ** 2, axis=1)
        x, y, half = new
        d = (half - 0.5 * (np.sqrt(x) - np.sqrt(y)) ** 2) / np.sqrt(x * y)
        variances.append(x)
        distances.append(d)
    return np.array(variances), np.array(distances)


def _measure_limit(*, far: list[float], **case: Any) -> Estimate:
    variances, distances = _chains(deltas=far, **case)
    return Estimate.of(np.stack([variances[-1], 1.0 - distances[-1]], axis=1))


def _measure_rate(*, depth: int, near: list[float], **case: Any) -> Estimate:
    """Layers' mean of -log of the factor by which two starts come closer."""
    _, distances = _chains(deltas=near, depth=depth, **case)
    gaps = distances[:, :, 0] - distances[:, :, 1]
    return Estimate.of(-np.log(gaps[-1] / gaps[0]) / depth)


# --- the predicted side -----------------------------------------------------------------


def _biases(var: float) -> dict[str, Any]:
    """Return their variance, or nothing of none."""
    return unlike({"bias_var": 0.0}, bias_var=var)


def _network(
    *, name: str, weight_var: float, bias_var: float, start: float, **_: Any
) -> tuple[tuple[Any, float], dict[str, Any], float]:
    """Return the arguments of `phase`: activation and weights, biases, the start."""
    return (act.CATALOGUE[name], weight_var), _biases(bias_var), start


def _predict_state(**case: Any) -> Array:
    """All at once, and by the separate functions for each."""
    where, biases, start = _network(**case)
    p = phase.classify(*where, start=start, **biases)
    point = min(
        phase.fixed_variances(*where, **biases),
        key=lambda p: abs(math.log(p.variance / start)),
    )

    def found(weights: Any, **biases: Any) -> list[Any]:
        network = where[0], weights
        functions = phase.fixed_variance, phase.chi_1, phase.fixed_distance
        return [
            *(of(*network, start=start, **biases) for of in functions),
            phase.classify(*network, start=start, **biases).chi_c,
            phase.fixed_correlation(*network, start=start, **biases),
        ]

    # As numbers, and as the second of two weight variances or of two of the biases.
    bias = case["bias_var"]
    several = found([1.0, where[1]], **biases), found(where[1], bias_var=[1.0, bias])
    more = [values[1] for each in several for values in each]
    whole = p.variance, p.chi_q, p.chi_1, p.distance, p.chi_c
    return np.array([*whole, *found(where[1], **biases), *more, point.slope])


def _wrong_state(**case: Any) -> Array:
    """The variance after ten layers in the place of the fixed one."""
    (where, biases, q), out = _network(**case), _predict_state(**case)
    for _ in range(10):
        q = phase.variance_map(q, *where, **biases)
    out[0] = q
    return out


def _predict_edge(*, name: str, bias_var: float, start: float) -> Array:
    """For a bias variance, and on the curve of all."""
    a = act.CATALOGUE[name]
    (point,) = phase.edge_points(a, bias_var)
    edge = phase.edge_curve(point.variance, a)
    return np.array(
        [
            # As a number, and as the second of two.
            phase.edge_of_chaos(a, bias_var),
            phase.edge_of_chaos(a, [0.3, bias_var])[1],
            *(point.variance, point.chi_q, float(point.stable)),
            edge.weight_var,
            phase.edge_curve([1.0, point.variance], a).weight_var[1],
            # Where the curve has the bias variance asked for, compared through q*.
            point.variance * edge.bias_var / bias_var,
            *(edge.chi_q, float(edge.stable)),
        ]
    )


def _wrong_edge(*, name: str, bias_var: float, start: float) -> Array:
    """The weights alone, chi_1 = 1 at the variance without biases."""
    right = _predict_edge(name=name, bias_var=bias_var, start=start)
    return np.array([phase.edge_of_chaos(act.CATALOGUE[name], 0.0), *right[1:]])


def _predict_layer(*, rho: float, delta: float, **case: Any) -> Array:
    where, biases, start = _network(**case)
    out = [
        phase.variance_map(start, *where, **biases),
        phase.correlation_map(rho, *where, start=start, **biases),
        phase.correlation_distance_map(delta, *where, start=start, **biases),
    ]
    # The second of two weight variances.
    several = where[0], [1.0, where[1]]
    more = (
        phase.variance_map(start, *several, **biases),
        phase.correlation_map(rho, *several, start=start, **biases),
        phase.correlation_distance_map(delta, *several, start=start, **biases),
    )
    return np.array([*out, *(values[1] for values in more)])


def _wrong_layer(**case: Any) -> Array:
    """The dual at unit variance in the place of q*."""
    a = act.CATALOGUE[case["name"]]
    out = _predict_layer(**case)
    q = phase.fixed_variance(a, case["weight_var"], case["bias_var"])
    out[1] = (case["weight_var"] * a.dual(case["rho"]) + case["bias_var"]) / q
    return out


def _predict_limit(
    *, name: str, weight_var: float, bias_var: float, far: list[float], **_: Any
) -> Array:
    case = act.CATALOGUE[name], weight_var, bias_var
    pair = [phase.fixed_variance(*case), phase.fixed_correlation(*case)]
    return np.array([[v] * len(far) for v in pair])


def _predict_rate(*, name: str, weight_var: float, bias_var: float, **_: Any) -> float:
    a = act.CATALOGUE[name]
    return 1.0 / phase.classify(a, weight_var, bias_var).correlation_depth


def _wrong_rate(*, name: str, weight_var: float, bias_var: float, **_: Any) -> float:
    """The slope chi_1 at equal inputs in the place of that at c*."""
    p = phase.classify(act.CATALOGUE[name], weight_var, bias_var)
    return -math.log(p.chi_1)


# --- the claims -------------------------------------------------------------------------


def _net(
    name: str, weight_var: float, bias_var: float, start: float, **more: Any
) -> dict[str, Any]:
    variances = {"weight_var": weight_var, "bias_var": bias_var}
    return {"name": name, **variances, "start": start, **more}


_STATES = (
    _net("tanh", 2.5, 0.05, 1.06, apart=0.55),
    _net("tanh", 0.8, 0.1, 0.3),
    _net("erf", 2.0, 0.1, 1.0, apart=0.35),
    _net("gelu", 1.7, 0.1, 0.5),
    _net("softplus", 1.0, 0.0, 1.0),
    _net("sin", 2.5, 0.2, 1.3, apart=0.5),
    _net("relu", 1.6, 0.3, 1.3),
    _net("hard_tanh", 2.0, 0.1, 1.2, apart=0.5),
    _net("selu", 0.5, 0.05, 0.17),
    # A variance so small that the layer is linear.
    _net("erf", 0.5, 1e-20, 2.75e-20),
    # Longer inputs leave a layer shorter: variances swing about the fixed one.
    _net("cos", 1.5, 0.1, 0.96),
    # Another fixed point, from which lengths grow, is only a tenth longer.
    _net("gelu", 3.0, 0.01284, 0.1),
)

_MAP = r"q^* = \sigma_w^2\, \mathbb{E}\, \sigma(\sqrt{q^*} Z)^2 + \sigma_b^2"

STATE = numeric(
    id="dc/D.0-phase",
    items=("D.0", "Thm3.10"),
    title="Networks with biases: fixed-point variance q*, slope chi_1 and correlation c*",
    statement=_MAP + r", \quad \chi_q, \quad \chi_1 = \sigma_w^2\, \mathbb{E}\,"
    r" \sigma'(\sqrt{q^*} Z)^2, \quad c^* = \frac{\sigma_w^2\, \mathbb{E}\,"
    r" \sigma(u) \sigma(v) + \sigma_b^2}{q^*}, \quad \chi_{c^*}",
    assumptions=("infinite width", "independent Gaussian weights and biases"),
    source=Source(_POOLE, "Equations 3 to 6"),
    cases=_STATES,
    predict=_predict_state,
    measure=_measure_state,
    # Rounding of one layer, 1e-14, over 1 - chi_q > 0.05 and chi_1 - 1 > 0.05.
    compare=AgreesTo(relative=1e-12),
    must_refute=_wrong_state,
    uses=("dc/D.0", "dc/defC.1-derivative"),
    version=2,
)


def _predict_points(*, name: str, weight_var: float, bias_var: float) -> list[float]:
    points = phase.fixed_variances(act.CATALOGUE[name], weight_var, **_biases(bias_var))
    each = [(p.variance, p.slope, float(p.stable)) for p in points]
    return _listed(each)


def _listed(points: list[Any]) -> list[Any]:
    """Return their number, and those of two at most; -1 for what there is not."""
    numbers = [number for point in points for number in point]
    return [float(len(points)), *numbers, *[-1.0] * (6 - len(numbers))]


def _measure_points(*, name: str, weight_var: float, bias_var: float) -> list[Any]:
    """A line for ReLU, a concave map for erf, and a convex one for GELU.

    The second has one root beyond zero at most; the third one on either side of where
    its slope is one.
    """
    with mp.workdps(_DIGITS):
        w, b = mp.mpf(weight_var), mp.mpf(bias_var)

        def layer(q: Any) -> Any:
            return w * (q / 2 if name == "relu" else pairs.LAWS[name].one(q)[0]) + b

        def slope(q: Any) -> Any:
            return mp.diff(layer, q, direction=1 if q == 0 else 0)

        rises = slope(mp.mpf(0)) > 1
        roots = [mp.mpf(0)] if b == 0 else []
        if name == "gelu":
            middle = mp.findroot(lambda q: slope(q) - 1, b)
            for end in (b, 3 * middle):
                ends = (middle, end)
                roots.append(
                    mp.findroot(lambda q: layer(q) - q, ends, solver="anderson")
                )
        if name == "erf" and (b > 0 or rises):
            roots.append(mp.findroot(lambda q: layer(q) - q, w))
        if name == "relu" and b > 0 and slope(mp.mpf(0)) < 1:
            roots.append(b / (1 - w / 2))
        each = [(q, slope(q), float(slope(q) < 1)) for q in roots if q <= 1e8]
        return _listed(each)


POINTS = replace(
    STATE,
    id="dc/D.0-phase-points",
    title="Fixed points of the variance map, none and zero among them, and which attract",
    statement=_MAP + r", \quad \chi_q = \partial_q (\sigma_w^2\, \mathbb{E}\,"
    r" \sigma(\sqrt q Z)^2)",
    cases=(
        *grid(name="relu", weight_var=(1.6, 2.5), bias_var=(0.0, 0.3)),
        *grid(name="erf", weight_var=(0.5, 2.0), bias_var=(0.0, 0.3)),
        # Beyond the range of variances.
        {"name": "erf", "weight_var": 3e8, "bias_var": 0.0},
        # So close that they are next to each other, and nearly none.
        {"name": "gelu", "weight_var": 3.0, "bias_var": 0.0128672},
        # A line beside the diagonal meets it nowhere.
        {"name": "relu", "weight_var": 2.0, "bias_var": 0.3},
    ),
    predict=_predict_points,
    measure=_measure_points,
    must_refute=mistake("Weights of half their variance.", weight_var=times(0.5)),
    uses=("dc/D.0-phase",),
)


def _predict_lines(*, slope: float, start: float, scale: float = 1.0) -> list[float]:
    a = act.leaky_relu(slope)
    a = a if scale == 1.0 else scale * a
    edge = phase.edge_curve(start, a)
    (point,) = phase.edge_points(a, 0.0)
    return [
        *(edge.weight_var, edge.bias_var, edge.chi_q),
        *(point.weight_var, point.bias_var, point.chi_q, phase.edge_of_chaos(a)),
        float(len(phase.edge_points(a, 0.3))),
        # There every variance stays: that of the first layer, which is one unless said.
        phase.fixed_variance(a, point.weight_var),
        phase.classify(a, point.weight_var).variance,
        float(point.stable),
    ]


def _measure_lines(*, slope: float, start: float, scale: float = 1.0) -> list[Any]:
    """Layers are lines, of slope w (1 + a^2)/2: with biases none of slope one ends."""
    del start
    weights = 2 / (1 + mp.mpf(slope) ** 2) / mp.mpf(scale) ** 2
    return [*(weights, 0.0, 1.0) * 2, weights, 0.0, 1.0, 1.0, 1.0]


def _wrong_lines(**_: float) -> list[float]:
    """The edge of ReLU."""
    return [*(2.0, 0.0, 1.0) * 2, 2.0, 0.0, 1.0, 1.0, 1.0]


LINES = replace(
    STATE,
    id="dc/D.0-edge-lines",
    title="The edge of chaos of leaky ReLU is a single point, without biases",
    statement=r"\sigma_w^2 \tfrac12 (1 + a^2) = 1, \quad \sigma_b^2 = 0",
    source=Source(_SCHOENHOLZ, "Section 2"),
    cases=(
        *grid(slope=(-0.5, 0.1), start=(0.1, 3.0)),
        {"slope": 0.1, "start": 3.0, "scale": -3.0},
    ),
    predict=_predict_lines,
    measure=_measure_lines,
    # A square, a quotient, and no root that is looked for.
    compare=AgreesTo(relative=1e-15),
    must_refute=_wrong_lines,
    uses=("dc/D.0-phase",),
)

_EDGES = (
    {"name": "tanh", "bias_var": 0.05, "start": 0.6},
    {"name": "erf", "bias_var": 0.5, "start": 1.8},
    {"name": "hard_tanh", "bias_var": 0.1, "start": 0.6},
    # Zero at one of its kinks.
    {"name": "relu6", "bias_var": 0.1, "start": 6.5},
)

EDGE = replace(
    STATE,
    id="dc/D.0-edge",
    title="The edge of chaos: weights with chi_1 = 1 for a bias variance, and as a curve",
    statement=r"\sigma_w^2\, \mathbb{E}\, \sigma'(\sqrt{q^*} Z)^2 = 1, \quad " + _MAP,
    source=Source(_SCHOENHOLZ, "Section 2"),
    cases=_EDGES,
    predict=_predict_edge,
    # Rounding 1e-14 of one layer; db/dq > 0.05 along these curves.
    measure=_measure_edge,
    must_refute=_wrong_edge,
    uses=("dc/D.0-phase",),
)

LAYER = replace(
    STATE,
    id="dc/D.0-phase-maps",
    items=("D.0",),
    title="Networks with biases: one layer's maps of variance, correlation and small"
    " distances",
    statement=r"q \mapsto \sigma_w^2\, \mathbb{E}\, \sigma(\sqrt{q} Z)^2 + \sigma_b^2,"
    r" \quad c \mapsto \frac{\sigma_w^2\, \mathbb{E}\, \sigma(u) \sigma(v)"
    r" + \sigma_b^2}{q^*}, \quad 1 - c \mapsto \frac{\sigma_w^2}{q^*} \left("
    r"\mathbb{E}\, \sigma(u)^2 - \mathbb{E}\, \sigma(u) \sigma(v)\right)",
    source=Source(_POOLE, "Equations 3 and 5"),
    cases=(
        _net("tanh", 2.5, 0.05, 1.06, rho=-0.4, delta=1e-15),
        _net("gelu", 1.7, 0.1, 0.5, rho=0.7, delta=1e-6),
        _net("erf", 2.0, 0.0, 0.8, rho=0.6, delta=0.1),
        _net("hard_tanh", 2.0, 0.1, 1.2, rho=0.2, delta=1e-9),
        _net("selu", 0.5, 0.05, 0.17, rho=0.95, delta=1.3),
    ),
    predict=_predict_layer,
    measure=_measure_layer,
    # The maps' 1e-13, with q*'s error of 1e-13.
    compare=AgreesTo(relative=2e-13),
    must_refute=_wrong_layer,
    uses=("dc/D.0-phase",),
)

LIMIT = statistical(
    id="dc/thm3.10-phase-limit",
    items=("Thm3.10", "D.0"),
    title="Wide networks with biases forget their inputs: variance q*, correlation c*",
    statement=r"q_L \to q^*, \quad c_L \to c^*, \quad c_0 \in \{0.98, -0.5\}",
    assumptions=("width 1000", "Gaussian weights and biases"),
    source=Source(_SCHOENHOLZ, "Section 3"),
    cases=tuple(
        {**net, "far": [0.02, 1.5], "width": 1000, "draws": 120, "seed": 41}
        for net in (
            _net("sin", 2.5, 0.2, 1.0, depth=25),
            _net("tanh", 1.0, 0.2, 3.0, depth=20),
            _net("relu", 1.2, 0.3, 0.5, depth=20),
        )
    ),
    predict=_predict_limit,
    measure=_measure_limit,
    # A layer's statistics vary by 2/sqrt(1000), a chain's by twice that: 0.13 over
    # sqrt(120) draws, times t quantiles of 10: 0.12. Width's bias: a few thousandths.
    # Discrepancy: without biases c* is 0 for sin, and q* is 0 for tanh and ReLU.
    compare=MeanEquals(discrepancy=0.15, rounding=0.02),
    must_refute=mistake("Networks without biases.", bias_var=0.0),
    uses=("dc/D.0-phase",),
)

RATE = statistical(
    id="dc/thm3.10-phase-rate",
    items=("Thm3.10", "LemC.30"),
    title="Wide networks with biases: correlations converge like exp(-layers / xi_c)",
    statement=r"c_L - c^* \propto e^{-L/\xi_c}, \quad \xi_c = -1/\log \chi_{c^*}",
    assumptions=("width 4000", "starts close to the fixed point", "Gaussian weights"),
    source=Source(_SCHOENHOLZ, "Section 3, depth scale of correlations"),
    # Starts at the fixed point but for its fourth digit, and on both sides of it.
    cases=tuple(
        {**net, "width": 4000, "depth": 5, "draws": 160, "seed": 43}
        for net in (
            _net("sin", 2.5, 0.2, 1.3692, near=[0.557, 0.537]),
            _net("erf", 6.0, 0.5, 4.8327, near=[0.624, 0.604]),
            _net("relu", 1.2, 0.3, 0.75, near=[2e-8, 1e-8]),
        )
    ),
    predict=_predict_rate,
    measure=_measure_rate,
    # A layer's factor varies by 2/sqrt(4000), the mean over 5 layers and 160 draws
    # by 0.0011, times t quantiles of 10: 0.011. The factor at a correlation that fluctuates
    # by sqrt(xi_c / 4000), and the mean of its logarithm: below 0.003.
    compare=MeanEquals(discrepancy=0.02, rounding=0.003),
    must_refute=_wrong_rate,
    uses=("dc/thm3.10-phase-limit",),
)
