"""Spectra on the sphere in closed form: Poisson's kernel, one layer, and steep kernels."""

import math
from typing import Any

import mpmath
import numpy as np

from theory import activations as act
from theory import spectrum
from verify.claim import grid, numeric
from verify.claims._predictors import mistake, plus
from verify.claims.deep_conditioning._sources import ours
from verify.compare import AgreesTo, Array, Identical

_DIGITS = 40

# --- Poisson's kernel -------------------------------------------------------------------


def _predict_poisson(*, r: float, degrees: list[int], dim: int) -> list[float]:
    """Roots of multiplicities times eigenvalues over the kernel's size; its log rank."""

    def kernel(t: Array) -> Array:
        apart = 1.0 - t if r > 0.0 else 1.0 + t
        return (1.0 - r * r) / ((1.0 - abs(r)) ** 2 + 2.0 * abs(r) * apart) ** (dim / 2)

    logs = spectrum.log_multiplicity(degrees, dim)
    found = spectrum.eigenvalues(kernel, degrees, dim) * np.exp(0.5 * logs)
    size = (1.0 - r**4) ** 0.5 / (1.0 - r * r) ** (0.5 * dim)
    rank = spectrum.effective_rank(kernel, dim)
    return [*(found / size).tolist(), math.log(rank)]


def _measure_poisson(*, r: float, degrees: list[int], dim: int) -> list[Any]:
    """Powers of r, by which the kernel is defined; multiplicities from binomials."""
    with mpmath.workdps(_DIGITS):
        p = mpmath.mpf(r)
        square = (1 - p**4) / (1 - p**2) ** dim
        out = []
        for k in degrees:
            below = mpmath.binomial(k + dim - 3, k - 2) if k > 1 else 0
            count = mpmath.binomial(k + dim - 1, k) - below
            out.append(p**k * mpmath.sqrt(count / square))
        at_one = (1 - p**2) / (1 - p) ** dim
        return [*out, mpmath.log(at_one**2 / square)]


POISSON = numeric(
    id="dc/defC.1-poisson",
    items=("DefC.1",),
    title="Eigenvalues of Poisson's kernel are powers, to high degrees and dimensions",
    statement=r"\frac{1-r^2}{(1-2rt+r^2)^{d/2}} = \sum_k N(d, k)\, r^k P_k(t), \qquad"
    r" \mathbb{E}\,\kappa^2 = \frac{1-r^4}{(1-r^2)^d}",
    source=ours("Definition C.1"),
    cases=(
        {"r": 1.0 - 2.0**-10, "degrees": [0, 1, 30, 3000], "dim": 2},
        {"r": 2.0**-9 - 1.0, "degrees": [0, 3, 700, 2999], "dim": 3},
        # Almost all of the kernel is where hardly any of the sphere is.
        {"r": 0.9375, "degrees": [0, 7, 30, 300], "dim": 30},
        {"r": -0.5, "degrees": [1, 30, 101, 300], "dim": 100},
        {"r": 0.375, "degrees": [2, 30, 100], "dim": 200},
        {"r": 2.0**-13, "degrees": [0, 1, 2, 3, 4], "dim": 10**6},
    ),
    predict=_predict_poisson,
    measure=_measure_poisson,
    # A value has the error of its base, 1.1e-16, times dim / 2: 6e-11 at most; next to
    # one, where the base is (1 - r)^2, more: 1.1e-16 / 1e-6. The library's own bound is
    # 2e-14 (1 + k / 2500).
    compare=AgreesTo(absolute=1e-10),
    must_refute=mistake("Eigenvalues in a space of one dimension more.", dim=plus(1)),
    uses=("dc/defC.1-harmonics",),
)

# --- one layer --------------------------------------------------------------------------


def _predict_layer(*, kernel: str, degrees: list[int], dim: int) -> list[float]:
    """Logarithms of eigenvalues, and the two that vanish next to the last."""
    a = act.step if kernel == "step" else act.relu
    name = "ntk_eigenvalues" if kernel == "ntk" else "nngp_eigenvalues"
    find = getattr(spectrum, name)
    none = degrees[-1] + np.array([1, -1])
    logs = find(a, 1, degrees, dim, log=True)
    return [*logs.tolist(), *find(a, 1, none, dim).tolist()]


def _half(power: int, degree: int, dim: int) -> Any:
    """E max(t, 0)^p P_k(t), p = 0 or 1: Rodrigues' formula, by parts p + 1 times."""
    d, j = mpmath.mpf(dim), degree - 1 - power
    front = mpmath.gamma(d / 2) / mpmath.sqrt(mpmath.pi)
    if j < 0:  # t^(p + k), with P_0 = 1 and P_1 = t
        both = power + degree + 1
        return (
            front
            * mpmath.gamma(mpmath.mpf(both) / 2)
            / mpmath.gamma((d + both - 1) / 2)
            / 2
        )
    if j % 2:
        return mpmath.mpf(0)
    # A derivative of (1 - t^2)^(k + (d - 3)/2) at zero.
    slope = mpmath.factorial(j) * mpmath.binomial(degree + (d - 3) / 2, j // 2)
    return front * slope / mpmath.mpf(2) ** degree / mpmath.gamma(degree + (d - 1) / 2)


def _value(kernel: str, degree: int, dim: int) -> Any:
    """E s(g.x) s(g.y) is E |g|^2p times that of a uniform direction: a square."""
    if kernel == "relu":
        return dim * _half(1, degree, dim) ** 2
    if kernel == "step":
        return _half(0, degree, dim) ** 2
    # t P_k lies between its neighbours.
    whole = 2 * degree + dim - 2
    up = mpmath.mpf(degree + dim - 2) / whole if degree else 1
    found = _value("relu", degree, dim) + up * _value("step", degree + 1, dim)
    if degree:
        found += mpmath.mpf(degree) / whole * _value("step", degree - 1, dim)
    return found


def _measure_layer(*, kernel: str, degrees: list[int], dim: int) -> list[Any]:
    with mpmath.workdps(_DIGITS):
        return [
            *(mpmath.log(_value(kernel, k, dim)) for k in degrees),
            *[mpmath.mpf(0)] * 2,
        ]


LAYER = numeric(
    id="dc/defC.1-one-layer-spectrum",
    items=("DefC.1", "Eq7"),
    title="Eigenvalues of one layer with a kink or a jump, up to degree 1000",
    statement=r"\lambda_k = \mathbb{E}|g|^{2p}\,(\mathbb{E}\,\max(t, 0)^p P_k(t))^2, \quad"
    r" p = 0, 1",
    source=ours("Definition C.1; Funk-Hecke"),
    cases=(
        *(
            {"kernel": kernel, "degrees": degrees, "dim": dim}
            for kernel, degrees in (
                ("relu", [0, 1, 2, 10, 100, 500, 1000]),
                ("step", [0, 1, 3, 11, 101, 501, 999]),
                ("ntk", [0, 1, 2, 10, 100, 500, 1000]),
            )
            for dim in (2, 3, 17, 10**6)
        ),
    ),
    predict=_predict_layer,
    measure=_measure_layer,
    # Rounding and continuation as dc/defC.1-spectrum, 2e-12; and of the logarithms, up to
    # 1e4, 2e-16 each.
    compare=AgreesTo(absolute=4e-12),
    must_refute=mistake("Eigenvalues in a space of one dimension more.", dim=plus(1)),
    uses=("dc/defC.1-spectrum",),
)

# --- many layers of a steep one ---------------------------------------------------------


def _predict_steep(*, kernel: str, mu: float, depth: int, degrees: list[int]) -> Any:
    a = act.HermiteMixture((0.0, math.sqrt(1.0 - mu), math.sqrt(mu)))
    find = {"nngp": spectrum.nngp_eigenvalues, "ntk": spectrum.ntk_eigenvalues}[kernel]
    return find(a, depth, degrees, 2)


def _measure_steep(
    *, kernel: str, mu: float, depth: int, degrees: list[int]
) -> list[float]:
    """The trapezoidal rule in the logarithm of the angle: no angle is too small."""
    s = np.arange(-110.0, 45.0, 0.04)
    angle = np.pi / (1.0 + np.exp(-s))
    value, gap = np.cos(angle), 2.0 * np.sin(0.5 * angle) ** 2
    tangent = value
    for _ in range(depth):
        slope = 1.0 - mu + 2.0 * mu * value
        value, gap = value * (1.0 - mu + mu * value), gap * (1.0 + mu * value)
        near = gap < 0.5
        value, gap = np.where(near, 1.0 - gap, value), np.where(near, gap, 1.0 - value)
        tangent = value + slope * tangent
    found = tangent if kernel == "ntk" else value
    weights = angle / (1.0 + np.exp(s))
    weights /= weights.sum()
    return [float(weights @ (found * np.cos(k * angle))) for k in degrees]


STEEP = numeric(
    id="dc/defC.1-steep-spectrum",
    items=("DefC.1", "Eq7"),
    title="Eigenvalues of deep kernels that are steep next to one, on the circle",
    statement=r"\hat\sigma(\rho) = (1-\mu)\rho + \mu\rho^2: \quad \lambda_k ="
    r" \tfrac1\pi\int_0^\pi \kappa(\cos\theta) \cos k\theta\, d\theta",
    assumptions=("slopes at one multiply to up to e^70",),
    source=ours("Definition C.1 and equation 7"),
    cases=tuple(
        {"kernel": kernel, "mu": mu, "depth": depth, "degrees": [0, 1, 5]}
        for kernel in ("nngp", "ntk")
        for mu, depth in ((0.25, 20), (0.75, 60), (0.9375, 103))
    ),
    predict=_predict_steep,
    measure=_measure_steep,
    # Each of up to 103 layers rounds values and distances three times, 1.1e-16 each, on
    # both sides: 7e-14. Values of one sign prevail in every sum.
    compare=AgreesTo(relative=1e-13),
    must_refute=mistake("One layer too many.", depth=plus(1)),
    uses=("dc/defC.1-spectrum",),
)

# --- kernels that floats do not resolve -------------------------------------------------


def _edge(power: float, odd: bool, t: Array) -> Array:  # noqa: FBT001 (in a table)
    """(1 - |t|)^p, or its odd twin: steep next to both poles."""
    return (np.sign(t) if odd else 1.0) * (1.0 - np.abs(t)) ** power


def _predict_unresolved(*, power: float, odd: bool, dim: int) -> bool:
    try:
        spectrum.eigenvalues(lambda t: _edge(power, odd, t), [0, 1], dim)
    except ValueError as error:
        return "must hardly change from a correlation to the next" in str(error)
    return False


def _measure_unresolved(*, power: float, odd: bool, dim: int) -> bool:
    """Whether neighbouring floats differ by 1e-10 of the root mean square, in the mean."""
    s = np.arange(-60.0, 45.0, 0.01)
    angle = 0.5 * np.pi / (1.0 + np.exp(-s))  # the other half is its mirror image
    t, weights = np.cos(angle), np.sin(angle) ** (dim - 2) * angle / (1.0 + np.exp(s))
    weights /= weights.sum()
    values, below = (_edge(power, odd, v) for v in (t, np.nextafter(t, 0.0)))
    return bool(
        weights @ np.abs(values - below) > 1e-10 * math.sqrt(weights @ values**2)
    )


UNRESOLVED = numeric(
    id="dc/defC.1-unresolved",
    items=("DefC.1",),
    title="Kernels that change from one correlation to the next are refused, and no others",
    statement=r"\|\kappa(t^-) - \kappa(t)\|_1 > 10^{-10}\, \|\kappa\|_2",
    source=ours("Definition C.1"),
    cases=grid(power=(0.01, 0.03, 0.3, 1.0), odd=(False, True), dim=(2, 3)),
    predict=_predict_unresolved,
    measure=_measure_unresolved,
    compare=Identical(),
    must_refute=mistake("A space of one dimension more.", dim=plus(1)),
    uses=("dc/defC.1-quadrature",),
)
