"""Inputs that are not on the unit sphere (appendix D and Theorem 3.11).

The measured side integrates the definitions with its own quadratures: panels of
Gauss-Legendre nodes that end at the kink, and polar coordinates whose sectors end where
either argument vanishes. Wide networks are drawn as well.
"""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from theory import activations as act
from theory import conditioning as dc
from theory import lengths as closed
from verify.claim import Case, Claim, Evidence, Source, grid
from verify.compare import AgreesTo, AtLeast, AtMost, Estimate, MeanEquals

Array = npt.NDArray[np.float64]
_KEY = "agarwal2021deep"
_KINK = -1.59076585644126852  # NormReLU's, for SELU's scale

# --- the measured side ---------------------------------------------------------------

_FUNCTIONS: Mapping[str, Callable[[Array], Array]] = {
    "tanh": np.tanh,
    "erf": special.erf,
    "arctan": np.arctan,
    "asinh": np.arcsinh,
    "softsign": lambda x: x / (1.0 + np.abs(x)),
    "selu": lambda x: np.where(
        x > 0.0,
        1.05070098735548049 * x,
        1.05070098735548049 * 1.67326324235437728 * np.expm1(np.minimum(x, 0.0)),
    ),
    "normrelu": lambda x: np.maximum(x, _KINK),
    "relu": lambda x: np.maximum(x, 0.0),
}


@lru_cache(maxsize=1)
def _line() -> tuple[Array, Array]:
    """Nodes and standard Gaussian weights on the line, split at 0."""
    # 20 nodes on panels of 1/8 to 13: the mass beyond is 1e-38; a pole at distance 0.1
    # (tanh at scale 5 and variance 8) leaves (3.5)^-40 = 1e-22 of a panel.
    nodes, weights = np.polynomial.legendre.leggauss(20)
    edges = np.arange(-13.0, 13.0 + 1 / 16, 1 / 8)
    half = 1 / 16
    x = (edges[:-1, None] + half + half * nodes).ravel()
    density = np.exp(-x * x / 2.0) / math.sqrt(2.0 * math.pi)
    return x, np.tile(half * weights, len(edges) - 1) * density


def _expectation(values: Array) -> float:
    return float(_line()[1] @ values)


@lru_cache(maxsize=64)
def _function(name: str, scale: float) -> Callable[[Array], Array]:
    """Return x -> s(scale x), centred and of unit variance."""
    raw = _FUNCTIONS[name]
    values = raw(scale * _line()[0])
    mean = _expectation(values)
    spread = math.sqrt(_expectation((values - mean) ** 2))
    return lambda x: (raw(scale * x) - mean) / spread


def _kinked_expectation(values: Callable[[Array], Array], kink: float) -> float:
    """Like `_expectation`, with panels that end at `kink` as well."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    edges = np.unique(np.append(np.arange(-13.0, 13.1, 1 / 4), kink))
    half = np.diff(edges)[:, None] / 2.0
    x = (edges[:-1, None] + half + half * nodes).ravel()
    weight = (half * weights).ravel() * np.exp(-x * x / 2.0) / math.sqrt(2.0 * math.pi)
    return float(weight @ values(x))


def length(name: str, scale: float, gamma: float) -> float:
    """E s(sqrt(gamma) X)^2 of the normalised activation, by quadrature."""
    s = _function(name, scale)
    return _expectation(s(math.sqrt(gamma) * _line()[0]) ** 2)


def linear_energy(name: str, scale: float, gamma: float) -> float:
    """a_1(gamma)^2 = (E X s(sqrt(gamma) X))^2."""
    s, x = _function(name, scale), _line()[0]
    return _expectation(x * s(math.sqrt(gamma) * x)) ** 2


@lru_cache(maxsize=1)
def _polar() -> tuple[Array, Array, Array, Array]:
    """Radial and angular rules on [0, 13] and [0, 1], graded towards the ends."""
    # Steep activations turn within 1/(scale sqrt(gamma)) >= 1/15 of the origin and,
    # far out, within that over 13 of a sector's edge.
    nodes, weights = np.polynomial.legendre.leggauss(16)
    radii = np.concatenate([[0.0], 2.0 ** np.arange(-6.0, 0.0), np.arange(1.0, 13.5)])
    inner = 2.0 ** np.arange(-9.0, 0.0)
    angles = np.concatenate([[0.0], inner, 1.0 - inner[-2::-1], [1.0]])

    def rule(edges: Array) -> tuple[Array, Array]:
        half = np.diff(edges)[:, None] / 2.0
        return (edges[:-1, None] + half + half * nodes).ravel(), (
            half * weights
        ).ravel()

    r, wr = rule(radii)
    t, wt = rule(angles)
    return r, wr * r * np.exp(-r * r / 2.0), t, wt


def odd_product(
    name: str, scale: float, gamma_x: float, gamma_y: float, rho: float
) -> float:
    """E s(u) s(v) for an odd s and var u = gamma_x, var v = gamma_y, by polar sectors."""
    s = _function(name, scale)
    r, wr, unit, wt = _polar()
    theta, total = math.acos(rho), 0.0
    # The half plane u > 0; the other half repeats it, the product being even.
    for start, end in (
        (theta - math.pi / 2, math.pi / 2),
        (-math.pi / 2, theta - math.pi / 2),
    ):
        t, width = start + (end - start) * unit, end - start
        u = math.sqrt(gamma_x) * r[:, None] * np.cos(t)
        v = math.sqrt(gamma_y) * r[:, None] * np.cos(t - theta)
        total += width * float(wr @ (s(u) * s(v)) @ wt)
    return total / math.pi


def coefficients(name: str, gamma: float, order: int) -> Array:
    """a_k(gamma) = E s(sqrt(gamma) X) h_k(X) of the normalised activation."""
    kink = (_KINK if name == "normrelu" else 0.0) / math.sqrt(gamma)
    raw = _FUNCTIONS[name]
    unit_kink = _KINK if name == "normrelu" else 0.0
    mean = _kinked_expectation(raw, unit_kink)
    variance = _kinked_expectation(lambda x: (raw(x) - mean) ** 2, unit_kink)
    root = math.sqrt(gamma)

    def values(x: Array, k: int) -> Array:
        low, high = np.zeros_like(x), np.ones_like(x)
        for j in range(k):
            low, high = high, (x * high - math.sqrt(j) * low) / math.sqrt(j + 1)
        return (raw(root * x) - mean) / math.sqrt(variance) * high

    return np.array(
        [
            _kinked_expectation(lambda x, k=k: values(x, k), kink)
            for k in range(order + 1)
        ]
    )


def _layer(
    name: str, scale: float, state: tuple[float, float, float]
) -> tuple[float, float, float]:
    gamma_x, gamma_y, rho = state
    new_x, new_y = length(name, scale, gamma_x), length(name, scale, gamma_y)
    product = odd_product(name, scale, gamma_x, gamma_y, rho)
    return new_x, new_y, max(-1.0, min(1.0, product / math.sqrt(new_x * new_y)))


@lru_cache(maxsize=256)
def iterate(
    name: str, scale: float, gamma_x: float, gamma_y: float, rho: float, depth: int
) -> Array:
    """(gamma_x, gamma_y, rho) after 0..depth layers, shape (depth + 1, 3)."""
    states = [(gamma_x, gamma_y, rho)]
    for _ in range(depth):
        states.append(_layer(name, scale, states[-1]))
    return np.array(states)


# --- the predicted side --------------------------------------------------------------


def _theory(name: str, scale: float = 1.0) -> act.Activation:
    raw = {
        "tanh": act.tanh,
        "erf": act.erf,
        "arctan": act.arctan,
        "asinh": act.asinh,
        "softsign": act.softsign,
        "selu": act.selu,
        "normrelu": act.normrelu(_KINK),
        "relu": act.relu,
    }[name]
    return (raw if scale == 1.0 else raw.scaled(scale**2)).normalized()


def _slope_at_one(name: str, scale: float) -> float:
    return float(_theory(name, scale).length_map_derivative(1.0))


def _settling_depth(name: str, scale: float, gamma_x: float, gamma_y: float) -> int:
    return closed.settling_depth(_theory(name, scale), gamma_x, gamma_y)


# D.0, Eq. 14-16: the definitions


def _predict_layers(
    *, name: str, gamma_x: float, gamma_y: float, rho: float, depth: int
) -> Array:
    states = closed.joint_trajectory(_theory(name), gamma_x, gamma_y, rho, depth)
    return np.column_stack(states)


def _wrong_layers(
    *, name: str, gamma_x: float, gamma_y: float, rho: float, depth: int
) -> Array:
    # The dual at unit variances: right lengths, wrong correlations.
    a, states = _theory(name), [(gamma_x, gamma_y, rho)]
    for _ in range(depth):
        x, y, r = states[-1]
        states.append(
            (float(a.length_map(x)), float(a.length_map(y)), float(a.dual(r)))
        )
    return np.array(states)


def _measure_layers(
    *, name: str, gamma_x: float, gamma_y: float, rho: float, depth: int
) -> Array:
    return iterate(name, 1.0, gamma_x, gamma_y, rho, depth)


_POINTS = (Fraction(-7, 2), Fraction(-1), Fraction(0), Fraction(2, 3), Fraction(5, 2))


def _measure_generating(*, order: int, gamma: str) -> Array:
    """J! times the t^j coefficient of exp(tz - gamma t^2/2), exactly, normalised."""
    g, values = Fraction(gamma), []
    for z in _POINTS:
        total = Fraction(0)
        for i in range(order // 2 + 1):
            ways = Fraction(
                math.factorial(order), math.factorial(order - 2 * i) * math.factorial(i)
            )
            total += ways * z ** (order - 2 * i) * (-g / 2) ** i
        values.append(float(total) / math.sqrt(float(g**order) * math.factorial(order)))
    return np.array(values)


def _predict_generating(*, order: int, gamma: str) -> Array:
    z = np.array([float(point) for point in _POINTS])
    return np.asarray(act.hermite(order)(z / math.sqrt(float(Fraction(gamma)))))


def _wrong_generating(*, order: int, gamma: str) -> Array:
    # gamma as a standard deviation.
    z = np.array([float(point) for point in _POINTS])
    return np.asarray(act.hermite(order)(z / float(Fraction(gamma))))


_DEGREES = 8


def _measure_orthogonality(*, root_x: str, root_y: str, rho: str) -> Array:
    """E h_j(u/sqrt(gamma_x)) h_k(v/sqrt(gamma_y)) by exact Gaussian moments."""
    x, y = Fraction(root_x), Fraction(root_y)
    covariance = Fraction(rho) * x * y

    @cache
    def moment(a: int, b: int) -> Fraction:
        # Wick: pair one factor u with another u or with a v.
        if a == 0:
            if b % 2:
                return Fraction(0)
            return math.prod(range(1, b, 2), start=Fraction(1)) * y**b
        total = (a - 1) * x**2 * moment(a - 2, b) if a > 1 else Fraction(0)
        return total + (b * covariance * moment(a - 1, b - 1) if b else Fraction(0))

    def polynomial(degree: int, root: Fraction) -> list[Fraction]:
        # He_j(u / root), coefficients of powers of u.
        low, high = [Fraction(0)], [Fraction(1)]
        for j in range(degree):
            raised = [Fraction(0), *(c / root for c in high)]
            padded = low + [Fraction(0)] * (len(raised) - len(low))
            low, high = high, [p - j * q for p, q in zip(raised, padded, strict=True)]
        return high

    table = np.empty((_DEGREES, _DEGREES))
    for j in range(_DEGREES):
        for k in range(_DEGREES):
            p, q = polynomial(j, x), polynomial(k, y)
            total = sum(
                (
                    a * b * moment(i, l)
                    for i, a in enumerate(p)
                    for l, b in enumerate(q)
                    if a and b
                ),
                start=Fraction(0),
            )
            size = math.sqrt(math.factorial(j) * math.factorial(k))
            table[j, k] = float(total) / size
    return table


def _predict_orthogonality(*, root_x: str, root_y: str, rho: str) -> Array:
    duals = [act.hermite(j).dual(float(Fraction(rho))) for j in range(1, _DEGREES)]
    return np.diag([1.0, *(float(value) for value in duals)])


def _wrong_orthogonality(*, root_x: str, root_y: str, rho: str) -> Array:
    # The covariance in place of the correlation.
    covariance = float(Fraction(rho) * Fraction(root_x) * Fraction(root_y))
    return np.diag([covariance**j for j in range(_DEGREES)])


_ORDER = 30


def _measure_coefficients(*, name: str, gamma: float) -> Array:
    return coefficients(name, gamma, _ORDER)


def _predict_coefficients(*, name: str, gamma: float) -> Array:
    return np.asarray(_theory(name).scaled(gamma).hermite(_ORDER))


def _wrong_coefficients(*, name: str, gamma: float) -> Array:
    return np.asarray(_theory(name).hermite(_ORDER))


def _measure_series(*, name: str, gamma_x: float, gamma_y: float, rho: float) -> float:
    order = 150
    a, b = coefficients(name, gamma_x, order), coefficients(name, gamma_y, order)
    return float((a * b) @ rho ** np.arange(order + 1))


def _predict_dual(*, name: str, gamma_x: float, gamma_y: float, rho: float) -> float:
    return float(_theory(name).dual(rho, var_x=gamma_x, var_y=gamma_y))


def _wrong_dual(*, name: str, gamma_x: float, gamma_y: float, rho: float) -> float:
    mean = math.sqrt(gamma_x * gamma_y)
    return float(_theory(name).dual(rho, var_x=mean, var_y=mean))


# Lemma D.3, Theorem D.1: lengths

_GAMMAS = np.concatenate([np.linspace(0.01, 1.0, 34), np.linspace(1.25, 8.0, 28)])


def _measure_lengths(*, name: str, scale: float, at: float) -> Array:
    return np.array([length(name, scale, gamma) for gamma in _GAMMAS])


def _tangent(name: str, scale: float, at: float, steeper: float) -> Array:
    a = _theory(name, scale)
    slope = steeper * float(a.length_map_derivative(at))
    return float(a.length_map(at)) + slope * (_GAMMAS - at)


def _predict_tangent(*, name: str, scale: float, at: float) -> Array:
    return _tangent(name, scale, at, 1.0)


def _wrong_tangent(*, name: str, scale: float, at: float) -> Array:
    # A line through the same point, 5 % too steep, crosses the curve.
    return _tangent(name, scale, at, 1.05)


def _measure_increase(*, name: str, scale: float) -> Array:
    return np.array([length(name, scale, gamma) for gamma in _GAMMAS[1:]])


def _predict_increase(*, name: str, scale: float) -> Array:
    a = _theory(name, scale)
    return np.array([float(a.length_map(gamma)) for gamma in _GAMMAS[:-1]])


def _wrong_increase(*, name: str, scale: float) -> Array:
    # "At least as long as one grid point further on."
    a = _theory(name, scale)
    return np.array([float(a.length_map(1.1 * gamma)) for gamma in _GAMMAS[1:]])


def _measure_deviation(*, name: str, scale: float, gamma: float, depth: int) -> Array:
    values = [gamma]
    for _ in range(depth):
        values.append(length(name, scale, values[-1]))
    return np.abs(np.array(values) - 1.0)


def _predict_deviation(*, name: str, scale: float, gamma: float, depth: int) -> Array:
    rate = closed.chord_rate(_theory(name, scale))
    return np.power(rate, np.arange(depth + 1.0)) * abs(gamma - 1.0)


def _wrong_deviation(*, name: str, scale: float, gamma: float, depth: int) -> Array:
    # The slope at 1 instead of the chord's: too fast below 1.
    return np.power(_slope_at_one(name, scale), np.arange(depth + 1.0)) * abs(
        gamma - 1.0
    )


def _predict_deviation_above(
    *, name: str, scale: float, gamma: float, depth: int
) -> Array:
    return np.power(_slope_at_one(name, scale), np.arange(depth + 1.0)) * abs(
        gamma - 1.0
    )


def _wrong_deviation_above(
    *, name: str, scale: float, gamma: float, depth: int
) -> Array:
    slope = 0.95 * _slope_at_one(name, scale)
    return np.power(slope, np.arange(depth + 1.0)) * abs(gamma - 1.0)


# Lemma D.6, Eq. 20, Theorem 3.11: correlations


def _generalised_mu(name: str, scale: float, gamma: float) -> float:
    return closed.generalised_mu(_theory(name, scale), gamma)


def _predict_one_layer(
    *, name: str, scale: float, gamma_x: float, gamma_y: float, rho: float
) -> float:
    mus = [_generalised_mu(name, scale, gamma) for gamma in (gamma_x, gamma_y)]
    return closed.odd_correlation_bound(rho, *mus)


def _wrong_one_layer(
    *, name: str, scale: float, gamma_x: float, gamma_y: float, rho: float
) -> float:
    # mu/2 replaced by mu.
    mus = [_generalised_mu(name, scale, gamma) for gamma in (gamma_x, gamma_y)]
    return closed.odd_correlation_bound(rho, 2.0 * mus[0], 2.0 * mus[1])


def _measure_one_layer(
    *, name: str, scale: float, gamma_x: float, gamma_y: float, rho: float
) -> float:
    return abs(float(iterate(name, scale, gamma_x, gamma_y, rho, 1)[1, 2]))


_FRACTIONS = np.linspace(-1.0, 1.0, 9)


def _predict_half_mu(*, name: str, scale: float) -> float:
    return _theory(name, scale).mu / 2.0


def _wrong_whole_mu(*, name: str, scale: float) -> float:
    return _theory(name, scale).mu


def _measure_nonlinearity(*, name: str, scale: float) -> Array:
    mu = 1.0 - linear_energy(name, scale, 1.0)
    gammas = 1.0 + _FRACTIONS * mu / 2.0
    return np.array(
        [1.0 - linear_energy(name, scale, g) / length(name, scale, g) for g in gammas]
    )


def _decay(case: Mapping[str, Any], strength: float) -> Array:
    name, scale, depth = case["name"], case["scale"], case["depth"]
    late = _settling_depth(name, scale, case["gamma_x"], case["gamma_y"])
    delta, nu = 1.0 - abs(case["rho"]), strength * _theory(name, scale).mu
    bounds = np.ones(depth + 1)
    for layer in range(late, depth + 1):
        bounds[layer] = float(dc.correlation_bound(layer - late, delta, nu))
    return bounds


def _predict_decay(
    *, name: str, scale: float, gamma_x: float, gamma_y: float, rho: float, depth: int
) -> Array:
    a, delta = _theory(name, scale), 1.0 - abs(rho)
    layers = range(depth + 1)
    return np.array(
        [
            closed.correlation_bound_any_length(a, gamma_x, gamma_y, delta, layer)
            for layer in layers
        ]
    )


def _wrong_decay(**case: Any) -> Array:
    # A rate three times mu instead of mu/2: beyond the slope 1 - mu at the origin.
    return _decay(case, 3.0)


def _measure_decay(
    *, name: str, scale: float, gamma_x: float, gamma_y: float, rho: float, depth: int
) -> Array:
    return np.abs(iterate(name, scale, gamma_x, gamma_y, rho, depth)[:, 2])


_NO_BOUND = 1e6  # nothing is claimed for these layers


def _predict_settled(
    *, name: str, scale: float, gamma_x: float, gamma_y: float, rho: float, depth: int
) -> Array:
    late = _settling_depth(name, scale, gamma_x, gamma_y)
    allowed = np.full(depth + 1, _NO_BOUND)
    allowed[late:] = _theory(name, scale).mu / 2.0
    return allowed


def _wrong_settled(
    *, name: str, scale: float, gamma_x: float, gamma_y: float, rho: float, depth: int
) -> Array:
    # Settled after a third of the layers.
    late = _settling_depth(name, scale, gamma_x, gamma_y) // 3
    allowed = np.full(depth + 1, _NO_BOUND)
    allowed[late:] = _theory(name, scale).mu / 2.0
    return allowed


def _measure_settled(
    *, name: str, scale: float, gamma_x: float, gamma_y: float, rho: float, depth: int
) -> Array:
    states = iterate(name, scale, gamma_x, gamma_y, rho, depth)
    return np.abs(states[:, :2] - 1.0).max(axis=1)


# Wide networks


def _measure_networks(
    *,
    name: str,
    gamma_x: float,
    gamma_y: float,
    rho: float,
    depth: int,
    width: int,
    draws: int,
    seed: int,
) -> Estimate:
    """Squared lengths and inner products of networks of one width, layer by layer.

    Given the last layer's two feature vectors, the next m pairs of pre-activations are
    independent with their Gram matrix as covariance, so the law is that of the network
    with its weight matrices.
    """
    rng, s = np.random.default_rng(seed), _function(name, 1.0)
    x, y = np.full(draws, gamma_x), np.full(draws, gamma_y)
    c = rho * np.sqrt(x * y)
    history = np.empty((draws, depth, 3))
    for layer in range(depth):
        u = rng.standard_normal((draws, width))
        v = rng.standard_normal((draws, width))
        v = (c / np.sqrt(x))[:, None] * u + np.sqrt(y - c * c / x)[:, None] * v
        p, q = s(np.sqrt(x)[:, None] * u), s(v)
        x, y, c = (p * p).mean(axis=1), (q * q).mean(axis=1), (p * q).mean(axis=1)
        history[:, layer] = np.column_stack([x, y, c])
    return Estimate.of(history)


def _predict_networks(
    *, name: str, gamma_x: float, gamma_y: float, rho: float, depth: int, **_: Any
) -> Array:
    states = _predict_layers(
        name=name, gamma_x=gamma_x, gamma_y=gamma_y, rho=rho, depth=depth
    )[1:]
    states[:, 2] *= np.sqrt(states[:, 0] * states[:, 1])
    return states


def _wrong_networks(
    *, name: str, gamma_x: float, gamma_y: float, rho: float, depth: int, **_: Any
) -> Array:
    # One layer too many.
    return _predict_networks(
        name=name, gamma_x=gamma_x, gamma_y=gamma_y, rho=rho, depth=depth + 1
    )[1:]


_ODD = ("tanh", "erf", "arctan", "asinh", "softsign")


def _length_examples() -> Any:
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            "name": st.sampled_from(_ODD),
            "scale": st.floats(0.1, 5.0),
            "gamma": st.floats(0.5, 8.0),
            "depth": st.just(30),
        }
    )


def _one_layer_examples() -> Any:
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            "name": st.sampled_from(_ODD),
            "scale": st.floats(0.1, 5.0),
            "gamma_x": st.floats(0.05, 8.0),
            "gamma_y": st.floats(0.05, 8.0),
            "rho": st.floats(-1.0, 1.0),
        }
    )


def _decay_examples() -> Any:
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            "name": st.sampled_from(_ODD),
            "scale": st.floats(0.5, 5.0),
            "gamma_x": st.floats(0.5, 4.0),
            "gamma_y": st.floats(0.5, 4.0),
            "rho": st.floats(-0.999, 0.999),
            "depth": st.just(40),
        }
    )


_HYPOTHESES = (
    "s non-decreasing, s(0) = 0",
    "concave on the positive, convex on the negative half line",
    "E s(X)^2 = 1",
)
_DECAY_CASES: tuple[Case, ...] = (
    *grid(
        name=("tanh", "erf"),
        scale=(1.0, 3.0),
        gamma_x=(2.0,),
        gamma_y=(0.5, 4.0),
        rho=(0.9, -0.99),
        depth=(60,),
    ),
    *grid(
        name=("softsign",),
        scale=(1.0,),
        gamma_x=(1.0,),
        gamma_y=(1.0,),
        rho=(0.3,),
        depth=(60,),
    ),
)


D0 = Claim(
    id="dc/D.0",
    items=("D.0",),
    title="Layers map two lengths and a correlation to the next three",
    statement=r"\gamma \leftarrow \hat\sigma_0(\gamma), \quad \rho \leftarrow"
    r" \frac{\hat\sigma(\rho; \gamma_1, \gamma_2)}"
    r"{\sqrt{\hat\sigma_0(\gamma_1) \hat\sigma_0(\gamma_2)}}",
    assumptions=("odd activations", "infinite width"),
    source=Source(_KEY, "Appendix D"),
    evidence=Evidence.NUMERIC,
    cases=grid(
        name=("tanh", "erf"),
        gamma_x=(2.0,),
        gamma_y=(0.5,),
        rho=(-1.0, -0.3, 0.0, 0.9, 1.0),
        depth=(2,),
    ),
    predict=_predict_layers,
    measure=_measure_layers,
    # Prediction 1e-13 a layer; quadrature: panels leave 1e-13 on the line, graded
    # sectors 1e-12 in the plane; maps have slopes below 1.1, two layers.
    compare=AgreesTo(absolute=2e-11),
    must_refute=_wrong_layers,
)

EQ14 = Claim(
    id="dc/eq14",
    items=("Eq14",),
    title="Generating function of the Hermite polynomials of variance gamma",
    statement=r"e^{t z - \gamma t^2 / 2} = \sum_{j} \frac{t^j}{j!} H_j^{\gamma}(z),"
    r" \quad H_j^{\gamma}(z) = \sqrt{\gamma^j j!}\, h_j(z / \sqrt{\gamma})",
    source=Source(_KEY, "Equation 14"),
    evidence=Evidence.NUMERIC,
    cases=grid(order=(1, 2, 3, 7, 20), gamma=("1/4", "1", "9/4", "4")),
    predict=_predict_generating,
    measure=_measure_generating,
    # Exact rationals against a three-term recurrence: order * a few ulp of the largest
    # term, which exceeds the value near zeros; 1e-13 of the largest of five points.
    compare=AgreesTo(relative=1e-13, of_largest=True),
    must_refute=_wrong_generating,
)

LEM_D5 = Claim(
    id="dc/lemD.5",
    items=("LemD.5",),
    title="Hermite polynomials of two variances stay orthogonal",
    statement=r"\mathbb{E}\, h_j^{\gamma_1}(z_1) h_k^{\gamma_2}(z_2)"
    r" = \rho^j\, 1\{j = k\}",
    assumptions=("exact Gaussian moments in rational arithmetic, degrees below 8",),
    source=Source(_KEY, "Lemma D.5"),
    evidence=Evidence.NUMERIC,
    cases=(
        {"root_x": "2", "root_y": "3/2", "rho": "1/2"},
        {"root_x": "1/3", "root_y": "5", "rho": "-7/8"},
        {"root_x": "1", "root_y": "1", "rho": "1"},
        {"root_x": "4", "root_y": "1/4", "rho": "-1"},
    ),
    predict=_predict_orthogonality,
    measure=_measure_orthogonality,
    # Exact rationals, one square root and one division; the prediction is 1e-13.
    compare=AgreesTo(absolute=2e-13),
    must_refute=_wrong_orthogonality,
)

EQ15 = Claim(
    id="dc/eq15",
    items=("Eq15",),
    title="Hermite coefficients at variance gamma",
    statement=r"a_k(\gamma) = \mathbb{E}\, \sigma(\sqrt{\gamma} X) h_k(X)",
    source=Source(_KEY, "Equation 15"),
    evidence=Evidence.NUMERIC,
    cases=grid(name=("tanh", "relu", "normrelu", "selu"), gamma=(0.5, 1.0, 3.0)),
    predict=_predict_coefficients,
    measure=_measure_coefficients,
    # Prediction 1e-13 of the largest; quadrature: sums of 2,000 weights with
    # |h_k| e^{-x^2/4} <= 1 and |s| e^{-x^2/4} <= 4 round to 2e-13.
    compare=AgreesTo(relative=1e-12, of_largest=True),
    must_refute=_wrong_coefficients,
)

EQ16 = Claim(
    id="dc/eq16",
    items=("Eq16", "D.0"),
    title="The dual at two variances is the series of the coefficients' products",
    statement=r"\hat\sigma(\rho; \gamma_1, \gamma_2)"
    r" = \sum_k a_k(\gamma_1) a_k(\gamma_2) \rho^k",
    source=Source(_KEY, "Equation 16"),
    evidence=Evidence.NUMERIC,
    cases=grid(
        name=("tanh", "relu", "normrelu"),
        gamma_x=(0.5,),
        gamma_y=(0.5, 3.0),
        rho=(-0.8, 0.0, 0.6),
    ),
    predict=_predict_dual,
    measure=_measure_series,
    # Truncation after order 150: 0.8^151 = 2e-15 of sqrt(E s^2 E s^2) <= 3. Rounding
    # as in dc/eq15, both sides.
    compare=AgreesTo(absolute=5e-12),
    must_refute=_wrong_dual,
)

LEM_D3 = Claim(
    id="dc/lemD.3",
    items=("LemD.3",),
    title="The length map is concave",
    statement=r"\hat\sigma_0(\gamma) \le \hat\sigma_0(\gamma_0)"
    r" + \hat\sigma_0'(\gamma_0)(\gamma - \gamma_0)",
    assumptions=_HYPOTHESES,
    source=Source(_KEY, "Lemma D.3"),
    evidence=Evidence.SEARCH,
    cases=(
        *grid(name=_ODD, scale=(1.0, 5.0), at=(0.25, 1.0, 4.0)),
        # Other scales of SELU have a mean, and centring them breaks s(0) = 0.
        *grid(name=("selu",), scale=(1.0,), at=(0.25, 1.0, 4.0)),
    ),
    predict=_predict_tangent,
    measure=_measure_lengths,
    # Both sides 1e-13 of values below 10; the slope is used over a distance of 8.
    compare=AtMost(rounding=1e-11),
    must_refute=_wrong_tangent,
    figure="length_maps",
)

LEM_D3_MONOTONE = Claim(
    id="dc/lemD.3-monotone",
    items=("LemD.3",),
    title="The length map is non-decreasing",
    statement=r"\gamma \le \gamma' \;\Rightarrow\;"
    r" \hat\sigma_0(\gamma) \le \hat\sigma_0(\gamma')",
    assumptions=_HYPOTHESES,
    source=Source(_KEY, "Lemma D.3"),
    evidence=Evidence.SEARCH,
    cases=(*grid(name=_ODD, scale=(0.2, 5.0)), {"name": "selu", "scale": 1.0}),
    predict=_predict_increase,
    measure=_measure_increase,
    compare=AtLeast(rounding=1e-12),
    must_refute=_wrong_increase,
)

THM_D1 = Claim(
    id="dc/thmD.1",
    items=("ThmD.1", "LemD.3"),
    title="Squared lengths converge to one at the chord's rate",
    statement=r"|\gamma_L - 1| \le \alpha_\sigma^L |\gamma_0 - 1|,"
    r" \quad \alpha_\sigma = 2(1 - \hat\sigma_0(1/2))",
    assumptions=(*_HYPOTHESES, "gamma_0 >= 1/2"),
    source=Source(_KEY, "Theorem D.1"),
    evidence=Evidence.SEARCH,
    cases=grid(
        name=(*_ODD, "selu"),
        scale=(1.0,),
        gamma=(0.5, 0.75, 1.0, 2.0, 8.0),
        depth=(30,),
    ),
    predict=_predict_deviation,
    measure=_measure_deviation,
    # Each layer rounds to 1e-13 and contracts: their sum is below 1e-13/(1 - alpha),
    # alpha < 0.99 for the families searched.
    compare=AtMost(rounding=1e-11),
    must_refute=_wrong_deviation,
    examples=_length_examples,
    max_examples=60,
    uses=("dc/lemD.3",),
    finding="The bound is attained in the first layer from gamma_0 = 1/2.",
    figure="length_maps",
)

THM_D1_ABOVE = Claim(
    id="dc/thmD.1-above-one",
    items=("ThmD.1",),
    title="Above one, squared lengths shrink at the rate of the slope at one",
    statement=r"\gamma_0 \ge 1 \;\Rightarrow\; |\gamma_L - 1|"
    r" \le \hat\sigma_0'(1)^L |\gamma_0 - 1|",
    assumptions=_HYPOTHESES,
    source=Source(_KEY, "Theorem D.1 (sharpened)"),
    evidence=Evidence.SEARCH,
    cases=grid(
        name=(*_ODD, "selu"), scale=(1.0,), gamma=(1.0, 1.001, 1.5, 8.0), depth=(20,)
    ),
    predict=_predict_deviation_above,
    measure=_measure_deviation,
    compare=AtMost(rounding=1e-11),
    must_refute=_wrong_deviation_above,
    uses=("dc/lemD.3",),
)

LEM_D6 = Claim(
    id="dc/lemD.6",
    items=("LemD.6",),
    title="One layer of an odd activation shrinks the correlation at any two lengths",
    statement=r"|\rho'| \le \sqrt{g_{\mu(\gamma_1)}(\delta)\,"
    r" g_{\mu(\gamma_2)}(\delta)}",
    assumptions=(
        "odd activation, delta = 1 - |rho|",
        "g_mu(delta) = 1 - (1 + mu/2) delta up to 1/2, (1 - mu/2)(1 - delta) beyond",
    ),
    source=Source(_KEY, "Lemma D.6"),
    evidence=Evidence.SEARCH,
    cases=grid(
        name=_ODD,
        scale=(3.0,),
        gamma_x=(2.0,),
        gamma_y=(0.5, 1.0),
        rho=(-1.0, 0.0, 0.5, 0.9, 1.0),
    ),
    predict=_predict_one_layer,
    measure=_measure_one_layer,
    # Sector quadrature 1e-12, mu to 1e-13.
    compare=AtMost(rounding=1e-11),
    must_refute=_wrong_one_layer,
    examples=_one_layer_examples,
    max_examples=100,
)

EQ20 = Claim(
    id="dc/eq20",
    items=("Eq20",),
    title="Near unit length the activation stays at least half as non-linear",
    statement=r"|\gamma - 1| \le \mu / 2 \;\Rightarrow\; \mu(\gamma) \ge \mu / 2",
    assumptions=("odd, increasing, concave on the positive half line", "E s(X)^2 = 1"),
    source=Source(_KEY, "Equation 20"),
    evidence=Evidence.SEARCH,
    cases=grid(name=_ODD, scale=(0.2, 3.0)),
    predict=_predict_half_mu,
    measure=_measure_nonlinearity,
    # 1 - a_1^2/E s^2 of quadratures with relative rounding 1e-13.
    compare=AtLeast(rounding=1e-12),
    must_refute=_wrong_whole_mu,
)

THM_311 = Claim(
    id="dc/thm3.11",
    items=("Thm3.11", "ThmD.9"),
    title="Correlations decay for inputs that are not on the unit sphere",
    statement=r"|\rho_L| \le B_{\mu/2}(L - \hat L, \delta), \quad L \ge \hat L",
    assumptions=(
        "odd, increasing, concave on the positive half line, not linear",
        "squared lengths at least 1/2, |cos| <= 1 - delta",
    ),
    source=Source(_KEY, "Theorems 3.11 and D.9"),
    evidence=Evidence.SEARCH,
    cases=_DECAY_CASES,
    predict=_predict_decay,
    measure=_measure_decay,
    # As in dc/lemD.6; errors shrink from layer to layer below |rho| = 1 - delta.
    compare=AtMost(rounding=1e-10),
    must_refute=_wrong_decay,
    examples=_decay_examples,
    max_examples=40,
    uses=("dc/thmD.1", "dc/lemD.6", "dc/eq20"),
    finding=(
        "The rate is about four times slower than the true one: near zero each layer"
        " multiplies the correlation by 1 - mu, the bound by 1 - mu/4."
    ),
)

THM_311_LENGTHS = Claim(
    id="dc/thm3.11-lengths",
    items=("Thm3.11", "ThmD.9", "ThmD.1"),
    title="After the settling depth both squared lengths are within mu/2 of one",
    statement=r"|\gamma_L - 1| \le \frac{\mu}{2}, \quad L \ge \hat L = \left\lceil"
    r" \frac{\log(2 t_0 / \mu)}{\log(1 / \alpha_\sigma)} \right\rceil",
    assumptions=("as dc/thm3.11", "t_0 is the larger of |gamma_x - 1|, |gamma_y - 1|"),
    source=Source(_KEY, "Theorems 3.11 and D.9"),
    evidence=Evidence.SEARCH,
    cases=_DECAY_CASES,
    predict=_predict_settled,
    measure=_measure_settled,
    compare=AtMost(rounding=1e-11),
    must_refute=_wrong_settled,
    examples=_decay_examples,
    max_examples=40,
    uses=("dc/thmD.1",),
)

WIDE = Claim(
    id="dc/thm3.11-wide-networks",
    items=("Thm3.11", "ThmD.9", "D.0"),
    title="Wide networks with scaled inputs follow the maps of lengths and correlations",
    statement=r"\mathbb{E}\, \frac{|z_l|^2}{m} = \gamma_l + O\left(\frac{1}{m}\right),"
    r" \quad \mathbb{E}\, \frac{z_l \cdot z_l'}{m} = \rho_l"
    r" \sqrt{\gamma_l \gamma_l'} + O\left(\frac{1}{m}\right)",
    assumptions=("standard Gaussian weights", "tanh; NormReLU with SELU's scale"),
    source=Source(_KEY, "Theorem 3.11, at finite width"),
    evidence=Evidence.STATISTICAL,
    cases=grid(
        name=("tanh", "normrelu"),
        gamma_x=(2.0,),
        gamma_y=(0.5,),
        rho=(0.9,),
        depth=(8,),
        width=(4096,),
        draws=(64,),
        seed=(311,),
    ),
    larger_cases={
        "full": grid(
            name=("tanh", "normrelu"),
            gamma_x=(2.0, 4.0),
            gamma_y=(0.5,),
            rho=(0.9, -0.5),
            depth=(8,),
            width=(1024, 4096, 16_384),
            draws=(256,),
            seed=(311,),
        )
    },
    predict=_predict_networks,
    measure=_measure_networks,
    # Bias: per layer at most half the map's curvature (at most 1) times
    # Var(s^2)/m <= 3/m; layers contract by at most 0.85 on average: 10/m = 0.0025 at
    # m = 4096. Sampling: spread of a squared length sqrt(3 * 7 / 4096) = 0.07 at most,
    # 9 standard errors of 64 draws 0.08. Discrepancy: the first layer moves the lengths
    # by 0.19 or more.
    compare=MeanEquals(discrepancy=0.12, rounding=0.01),
    must_refute=_wrong_networks,
    uses=("dc/D.0",),
)

CLAIMS = (
    D0,
    EQ14,
    LEM_D5,
    EQ15,
    EQ16,
    LEM_D3,
    LEM_D3_MONOTONE,
    THM_D1,
    THM_D1_ABOVE,
    LEM_D6,
    EQ20,
    THM_311,
    THM_311_LENGTHS,
    WIDE,
)
