"""Every entry of kernels of many inputs, by formulas of two Gaussians in float64.

Elsewhere a few pairs are followed to the last digit of their distance. Here no pair is
left out: of few lengths and of many, parallel, close, nearly opposite, in all directions.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from scipy import special

from theory import activations as act
from theory import kernels
from verify.claim import numeric
from verify.claims._predictors import mistake
from verify.claims.deep_conditioning._sources import ours, quoted
from verify.claims.deep_conditioning._subjects import subject
from verify.compare import AgreesTo, Array

# --- the measured side ------------------------------------------------------------------


@dataclass(frozen=True)
class _Angle:
    """Of pairs (U, V): the correlation and the sine, which knows small angles."""

    cosine: Array
    sine: Array

    def left(self, b: Array, a: Array) -> Array:
        """Return b less E[V | U = a]: nothing cancels but b and +-a."""
        sign = np.where(self.cosine < 0.0, -1.0, 1.0)
        return (b - sign * a) + sign * a * self.sine**2 / (1.0 + np.abs(self.cosine))


class _Law(Protocol):
    def pair(self, r: Array, o: Array, t: _Angle) -> tuple[Array, Array]:
        """E s(r U) s(o V) and, where s is continuous, E s'(r U) s'(o V)."""
        ...


def _density(x: Array) -> Array:
    return np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


def _both_above(a: Array, b: Array, t: _Angle) -> Array:
    """P(U > a, V > b) by Owen's T, for a and b other than zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        each = ((t.left(b, a), a), (t.left(a, b), b))
        slants = [np.where(x == 0.0, 0.0, x / (y * t.sine)) for x, y in each]
    ends = 0.5 * (special.ndtr(-a) + special.ndtr(-b)) - 0.5 * (a * b < 0.0)
    return ends - special.owens_t(a, slants[0]) - special.owens_t(b, slants[1])


def _beyond(most: int, from_mean: Array, mean: Array, end: Array, t: _Angle) -> Any:
    """E X^k over X > end, k = 0, ..., most, of X of this mean and deviation sin t."""
    with np.errstate(divide="ignore"):
        z = np.divide(
            from_mean, t.sine, out=np.zeros_like(mean), where=from_mean != 0.0
        )
    out, density = [special.ndtr(-z)], t.sine * _density(z)
    for k in range(most):
        before = k * t.sine**2 * out[k - 1] if k else 0.0
        out.append(mean * out[k] + before + end**k * density)
    return out


def _truncated(most: int, other: int, a: Array, b: Array, t: _Angle) -> Any:
    """E U^i V^j over U > a, V > b, by parts: E U g = E g_U + cos t E g_V."""
    rho, nothing = t.cosine, np.zeros_like(a)
    left, right = (
        [_density(c) * m for m in _beyond(n, t.left(e, c), rho * c, e, t)]
        for n, c, e in ((other, a, b), (most, b, a))
    )
    out: dict[tuple[int, int], Array] = {(0, 0): _both_above(a, b, t)}
    for j in range(other):
        edge = b**j * right[0] + rho * left[j]
        out[0, j + 1] = edge + j * out.get((0, j - 1), nothing)
    for i in range(most):
        for j in range(other + 1):
            edge = a**i * left[j] + rho * b**j * right[i]
            inner = i * out.get((i - 1, j), nothing)
            out[i + 1, j] = edge + inner + rho * j * out.get((i, j - 1), nothing)
    return out


class _Pieces:
    """A sum of polynomials, each from a point on: (point, coefficients from x^0 on)."""

    def __init__(self, *parts: tuple[float, list[float]]) -> None:
        self.parts = parts

    def pair(self, r: Array, o: Array, t: _Angle) -> tuple[Array, Array]:
        """By the moments of truncated Gaussians."""
        value, slope = np.zeros_like(r), np.zeros_like(r)
        for c, p in self.parts:
            for e, q in self.parts:
                # No Gaussian lies below -40.
                a, b = np.maximum(c / r, -40.0), np.maximum(e / o, -40.0)
                moments = _truncated(len(p) - 1, len(q) - 1, a, b, t)
                for (i, j), moment in moments.items():
                    value += p[i] * q[j] * r**i * o**j * moment
                    if i and j:
                        size = i * j * p[i] * q[j] * r ** (i - 1) * o ** (j - 1)
                        slope += size * moments[i - 1, j - 1]
        return value, slope


class _Waves:
    """sum_k amplitude_k sin(frequency_k x + phase_k)."""

    def __init__(self, *waves: tuple[float, float, float]) -> None:
        self.waves = waves

    def pair(self, r: Array, o: Array, t: _Angle) -> tuple[Array, Array]:
        """2 sin a sin b = cos(a - b) - cos(a + b), of which E cos is a Gaussian."""
        value, slope = np.zeros_like(r), np.zeros_like(r)
        for size, f, phase in self.waves:
            for other, g, turn in self.waves:
                p, q, both = f * r, g * o, 2.0 * (f * r) * (g * o)
                near = (p - q) ** 2 + both * t.left(np.ones_like(r), np.ones_like(r))
                far = (p - q) ** 2 + both * (1.0 + t.cosine)
                apart = np.exp(-0.5 * near) * math.cos(phase - turn)
                along = np.exp(-0.5 * far) * math.cos(phase + turn)
                value += 0.5 * size * other * (apart - along)
                slope += 0.5 * size * other * f * g * (apart + along)
        return value, slope


class _Erf:
    """The error function."""

    def pair(self, r: Array, o: Array, t: _Angle) -> tuple[Array, Array]:
        """Price's theorem, and its integral."""
        left = 1.0 + 2.0 * (r * r + o * o) + 4.0 * np.square(r * o * t.sine)
        angle = np.arctan2(2.0 * r * o * t.cosine, np.sqrt(left))
        return 2.0 / math.pi * angle, 4.0 / math.pi / np.sqrt(left)


class _Exponential:
    """c e^x + h."""

    def __init__(self, scale: float, shift: float) -> None:
        self.scale, self.shift = scale, shift

    def pair(self, r: Array, o: Array, t: _Angle) -> tuple[Array, Array]:
        """E e^(r U) is e^(r^2/2)."""
        one, other = np.exp(0.5 * r * r), np.exp(0.5 * o * o)
        slope = self.scale**2 * one * other * np.exp(r * o * t.cosine)
        return slope + self.shift * (self.scale * (one + other) + self.shift), slope


class _Bump:
    """c exp(-x^2/2) + h."""

    def __init__(self, scale: float, shift: float) -> None:
        self.scale, self.shift = scale, shift

    def pair(self, r: Array, o: Array, t: _Angle) -> tuple[Array, Array]:
        """By determinants of the identity and the covariance."""
        one, other = 1.0 / np.sqrt(1.0 + r * r), 1.0 / np.sqrt(1.0 + o * o)
        both = 1.0 + r * r + o * o + np.square(r * o * t.sine)
        value = self.scale**2 / np.sqrt(both)
        slope = value * r * o * t.cosine / both
        return value + self.shift * (self.scale * (one + other) + self.shift), slope


_ALL = -math.inf
_LAWS: dict[str, _Law] = {
    "clip": _Pieces((_ALL, [-1.0]), (-1.0, [1.0, 1.0]), (1.0, [1.0, -1.0])),
    "uneven": _Pieces(
        (_ALL, [0.3, -0.2]), (-1.5, [1.5, 1.0]), (0.5, [-0.35, 0.7]), (6.0, [9.0, -1.5])
    ),
    "steps": _Pieces((_ALL, [0.2]), (-0.7, [1.0]), (0.4, [0.5])),
    # Next to zero in the place of zero, where Owen's T is a limit.
    "leaky": _Pieces((_ALL, [0.0, 0.4]), (1e-200, [0.0, 0.6]), (1.0, [0.8, -0.8])),
    "hard swish": _Pieces((-3.0, [0.0, 0.5, 1 / 6]), (3.0, [0.0, 0.5, -1 / 6])),
    "bent": _Pieces((_ALL, [0.0, 1.0]), (0.5, [0.25, -1.0, 1.0])),
    "broken and bent": _Pieces(
        (_ALL, [0.0, 1.0]), (-1.0, [0.3, 0.3]), (0.5, [0.25, -1.0, 1.0])
    ),
    "odd near zero": _Pieces((_ALL, [0.0, 1.0]), (12.0, [-24.0, 2.0])),
    "negative": _Pieces(
        (_ALL, [-1.0, 0.0, -1.0]), (-1.0, [-1.0, 0.0, 1.0]), (1.0, [1.0, 0.0, -1.0])
    ),
    "waves": _Waves((1.0, 1.0, 0.0), (0.5, 0.7, 0.4)),
    "fast waves": _Waves((1.0, 9.0, 0.0), (3.0, 0.0, 0.5 * math.pi)),
    "two waves": _Waves((2.0, 1.0, 0.0), (1.0, 1.0, 0.5 * math.pi)),
    "raised waves": _Waves(
        (2.0, 1.0, 0.0), (1.0, 1.0, 0.5 * math.pi), (5.0, 0.0, 0.5 * math.pi)
    ),
    "erf": _Erf(),
    "closed erf": _Erf(),
    "exp and a constant": _Exponential(1.3, -0.7),
    "bump and a constant": _Bump(-2.0, 0.9),
    "sine and a constant": _Waves((-1.5, 1.0, 0.0), (0.5, 0.0, 0.5 * math.pi)),
}


@lru_cache(maxsize=8)
def _inputs(low: float, high: float, count: int, few: int, cone: float) -> Array:
    """Rows of lengths in a range, of a `few` of them, in both ends of a `cone` or of none.

    The second row is parallel to the first, the third opposite, the fourth its copy.
    """
    rng = np.random.default_rng(43)
    x = rng.standard_normal((count, 3))
    if cone:
        x *= cone
        x[:, 0] += np.where(rng.random(count) < 0.7, 1.0, -1.0)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    x[1:4] = x[0] * np.array([[1.0], [-1.0], [1.0]])
    lengths = np.exp(rng.uniform(math.log(low), math.log(high), count))
    lengths[3] = lengths[0]
    return x * np.resize(lengths[:few] if few else lengths, count)[:, None]


def _pairs(x: Array) -> tuple[Array, Array, _Angle]:
    """Lengths of all pairs of rows, and their angles from what is across."""
    lengths = np.linalg.norm(x, axis=1)
    i, j = np.triu_indices(len(x))
    r, o = lengths[i], lengths[j]
    sine = np.linalg.norm(np.cross(x[i], x[j]), axis=1) / (r * o)
    cosine = np.einsum("md,md->m", x[i], x[j]) / (r * o)
    across = np.minimum(sine, 1.0)
    near = np.copysign(np.sqrt((1.0 - across) * (1.0 + across)), cosine)
    return r, o, _Angle(np.where(sine < 0.5, near, cosine), across)


def _entries(k: Array, count: int) -> Array:
    """Diagonal entries, and the others over the roots of these, from those of `_pairs`."""
    i, j = np.triu_indices(count)
    own = k[i == j]
    return np.where(i == j, k, k / np.sqrt(own[i] * own[j]))


def _both(k: Array, t: Array | None, count: int) -> Array:
    return np.concatenate([_entries(v, count) for v in (k, t) if v is not None])


def _measure(*, name: str, **inputs: Any) -> Array:
    x = _inputs(**inputs)
    r, o, t = _pairs(x)
    value, slope = _LAWS[name].pair(r, o, t)
    tangent = None if name == "steps" else value + r * o * t.cosine * slope
    return _both(value, tangent, len(x))


# --- the predicted side -----------------------------------------------------------------


@lru_cache(maxsize=16)
def _activation(name: str) -> act.Activation:
    """Return the library's: in closed form, or known by values alone."""
    pieces = {
        "clip": act.hard_tanh,
        "uneven": act.PiecewisePolynomial(
            name, 1, (0.3, -0.2), (-1.5, 0.5, 6.0), (1.0, 0.7, -1.5)
        ),
        "steps": act.PiecewisePolynomial(name, 0, (0.2,), (-0.7, 0.4), (1.0, 0.5)),
        "leaky": act.PiecewisePolynomial(name, 1, (0.0, 0.4), (0.0, 1.0), (0.6, -0.8)),
        "hard swish": act.hard_swish,
        "closed erf": act.erf,
        # Its slope is given, too.
        "two waves": subject("2 sin + cos"),
        "exp and a constant": act.Affine(act.exp, 1.3, -0.7),
        "bump and a constant": act.Affine(act.gaussian_bump, -2.0, 0.9),
        "sine and a constant": act.Affine(act.sin, -1.5, 0.5),
    }
    values = {
        "bent": lambda x: x + np.maximum(x - 0.5, 0.0) ** 2,
        "broken and bent": lambda x: (
            x + 0.3 * np.maximum(x + 1.0, 0.0) + np.maximum(x - 0.5, 0.0) ** 2
        ),
        "odd near zero": lambda x: x + 2.0 * np.maximum(x - 12.0, 0.0),
        "negative": lambda x: -1.0 - np.maximum(x * x, 1.0),
        "waves": lambda x: np.sin(x) + 0.5 * np.sin(0.7 * x + 0.4),
        "fast waves": lambda x: np.sin(9.0 * x) + 3.0,
        "raised waves": lambda x: 2.0 * np.sin(x) + np.cos(x) + 5.0,
        "erf": special.erf,
    }
    return pieces.get(name) or act.from_function(values[name], name=name)


def _predict(*, name: str, **inputs: Any) -> Array:
    x, a = _inputs(**inputs), _activation(name)
    upper = np.triu_indices(len(x))
    if name == "steps":  # which have no tangent kernel
        return _both(kernels.nngp(x, a, 1)[upper], None, len(x))
    k, t = kernels.nngp_ntk(x, a, 1)
    return _both(k[upper], t[upper], len(x))


def _before(*, name: str, **inputs: Any) -> Array:
    """Both kernels of the inputs, before the layer."""
    x = _inputs(**inputs)
    k = (x @ x.T)[np.triu_indices(len(x))]
    return _both(k, None if name == "steps" else k, len(x))


def _case(
    name: str, low: float, high: float, count: int, few: int = 0, cone: float = 0.0
) -> dict[str, Any]:
    each = {"low": low, "high": high, "count": count, "few": few, "cone": cone}
    return {"name": name, **each}


WHOLE = numeric(
    id="dc/eq1-whole",
    items=("Eq1", "Eq7", "D.0"),
    title="Kernels of many inputs entry by entry, of functions of waves and of pieces",
    statement=r"K_{ij} = \mathbb{E}[\sigma(u) \sigma(v)], \quad"
    r" T_{ij} = K_{ij} + x_i \cdot x_j\, \mathbb{E}[\sigma'(u) \sigma'(v)]",
    source=quoted("Equations 1 and 7"),
    cases=(
        # One by one, by series, by tables of a few lengths and of an interval of them.
        _case("erf", 0.5, 2.0, 40, cone=0.05),
        _case("erf", 5.0, 14.0, 40, few=4, cone=0.15),
        _case("waves", 0.3, 1.5, 12, few=3, cone=0.1),
        _case("waves", 1.0, 4.0, 150, few=3, cone=0.3),
        _case("fast waves", 0.3, 0.9, 24, cone=0.3),
        # Among others tables in the lengths resolve them.
        _case("two waves", 1.4, 1.8, 64),
        _case("two waves", 1.4, 1.8, 64, cone=0.02),
        # A mean so large that rows far apart are nearly equal behind a layer; of lengths
        # on both sides of one, which tables part at.
        _case("raised waves", 0.9, 1.1, 20),
        _case("clip", 0.5, 2.0, 60, few=3, cone=0.3),
        _case("clip", 5.0, 14.0, 60, cone=1e-6),
        _case("uneven", 0.5, 2.0, 12, few=3, cone=0.1),
        _case("uneven", 5.0, 14.0, 60, cone=0.2),
        _case("steps", 0.5, 2.0, 12, few=3, cone=0.1),
        _case("steps", 5.0, 14.0, 40, few=4, cone=0.15),
        _case("odd near zero", 5.0, 14.0, 40),
        _case("hard swish", 0.5, 2.0, 40, cone=0.05),
        # Kinks of two kinds, which are no mirror images of each other.
        _case("broken and bent", 0.5, 2.0, 12, few=3, cone=0.1),
        _case("bent", 5.0, 14.0, 30, cone=0.02),
        _case("negative", 5.0, 14.0, 12, few=3, cone=0.1),
        _case("closed erf", 0.5, 14.0, 40, cone=0.3),
        *(
            _case(f"{name} and a constant", 0.3, 2.0, 40, cone=cone)
            for name in ("exp", "bump", "sine")
            for cone in (0.0, 0.1)
        ),
        # Rows so short that of three pieces the two beside zero are met.
        _case("leaky", 1e-7, 1e-6, 12, cone=0.3),
    ),
    predict=_predict,
    measure=_measure,
    # The library's promise, 1e-12 of the diagonal; formulas of long rows lose three
    # digits where pieces cancel.
    compare=AgreesTo(relative=1e-12, absolute=1e-12),
    must_refute=_before,
    uses=("dc/eq1-crowd",),
)

# --- networks of several layers -----------------------------------------------------------

_INPUT_VAR, _INPUT_BIAS = 1.3, 0.2
_FULL = [
    ["closed erf", 1.5, 0.1, 0.0],
    ["bent", 0.4, 0.3, 0.7],
    ["clip", 2.0, 0.0, 0.0],
]
"""Layers: a function, variances of the weights and biases behind it, what is skipped."""


def _apart(inputs: dict[str, Any]) -> Array:
    """Rows of which none are parallel: of copies a correlation loses the angle."""
    return _inputs(**inputs)[4:]


def _angles(k: Array) -> tuple[Array, Array, _Angle]:
    """Deviations and angles of all pairs, from a covariance."""
    r = np.sqrt(np.diagonal(k))
    cosine = np.clip(k / np.outer(r, r), -1.0, 1.0)
    np.fill_diagonal(cosine, 1.0)
    sine = np.sqrt((1.0 - cosine) * (1.0 + cosine))
    one, other = np.broadcast_arrays(r[:, None], r)
    return one, other, _Angle(cosine, sine)


def _through(
    layers: list[list[Any]], trained: list[int], inputs: dict[str, Any]
) -> tuple[Array, Array]:
    """K <- w E s s + b + c^2 K, and of T the parts of the weights that are trained."""
    x = _apart(inputs)
    k = _INPUT_VAR * (x @ x.T) + _INPUT_BIAS
    t = k * (1 in trained)
    for number, (name, w, b, skip) in enumerate(layers, start=2):
        value, slope = _LAWS[name].pair(*_angles(k))
        own = w * value + b
        t = t * (w * slope + skip**2) + own * (number in trained)
        k = own + skip**2 * k
    return k, t


def _measure_deep(
    *,
    layers: list[list[Any]],
    trained: list[int],
    normalized: bool,
    across: bool = False,
    **inputs: Any,
) -> Array:
    del across
    k, t = _through(layers, trained, inputs)
    if normalized:
        size = np.sqrt(np.diagonal(t))
        t = t / np.outer(size, size)
    return np.stack([k, t])


def _predict_deep(
    *,
    layers: list[list[Any]],
    trained: list[int],
    normalized: bool,
    across: bool = False,
    **inputs: Any,
) -> Array:
    x = _apart(inputs)
    network = [kernels.Layer(_activation(name), *rest) for name, *rest in layers]
    found = kernels.nngp_ntk(
        x,
        network,
        y=x[::-1] if across else None,
        weight_var=_INPUT_VAR,
        bias_var=_INPUT_BIAS,
        normalized=normalized,
        trained=trained,
    )
    return np.stack([v[:, ::-1] if across else v for v in found])


def _deep(layers: list[list[Any]], *trained: int, **given: Any) -> dict[str, Any]:
    inputs = {"low": 0.5, "high": 2.0, "count": 11, "few": 0, "cone": 0.0}
    case = {"layers": layers, "trained": [*trained], "normalized": False}
    return case | inputs | given


DEEP = numeric(
    id="dc/eq7-trained-layers",
    items=("Eq1", "Eq7", "D.0"),
    title="Kernels of networks of unlike layers, of which some are trained",
    statement=r"K' = w\, \mathbb{E}[\sigma\sigma] + b + c^2 K, \quad T' ="
    r" (w\, \mathbb{E}[\sigma'\sigma'] + c^2)\, T + [l \in S]\,"
    r" (w\, \mathbb{E}[\sigma\sigma] + b)",
    assumptions=("S is the set of weight layers that are trained",),
    source=ours("Equations 1 and 7, with biases and skip connections"),
    cases=(
        _deep(_FULL, 1, 2, 3, 4),
        _deep(_FULL, 3),
        _deep(_FULL, 2, 4, normalized=True),
        _deep(_FULL, 1, few=1),
        _deep(_FULL, 3, 4, across=True),
        _deep([["erf", 1.5, 0.1, 0.0], ["waves", 1.0, 0.0, 0.5]], 2, normalized=True),
        # Close rows, whose lengths lie between those of the layer before.
        _deep([["waves", 0.5, 0.1, 0.0]] * 2, 1, 2, 3, cone=0.02, count=20),
    ),
    predict=_predict_deep,
    measure=_measure_deep,
    # The library's promise, 1e-12 of the diagonal, which is above a tenth; correlations of
    # a layer, rounded to a few eps, are next to no end, or functions of them smooth there.
    compare=AgreesTo(relative=1e-12, absolute=1e-13),
    must_refute=mistake("All layers are trained.", trained=[1, 2, 3]),
    uses=("dc/eq1-whole",),
)
