"""Spectra of deep kernels on the sphere: eigenvalues, Taylor coefficients, ranks.

Measured by integrals over the angle with the kernels' closed forms and by power series,
both in ball arithmetic, and on drawn networks with random points of the sphere.
"""

import math
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache, wraps
from itertools import pairwise
from typing import Any

import flint
import mpmath
import numpy as np
import torch

from empirical.conditioning import named
from empirical.kernels import nngp
from empirical.networks import FullyConnected
from empirical.randomness import torch_generator
from theory import activations as act
from theory import kernels, spectrum
from verify import integrals
from verify.claim import grid, numeric, statistical
from verify.claims._predictors import mistake, plus
from verify.claims.deep_conditioning._sources import ours, quoted
from verify.claims.deep_conditioning._subjects import normalised
from verify.compare import AgreesTo, Array, Estimate, MeanEquals

_DIGITS = 250
"""Next to one a ball of a deep kernel loses up to six of them a layer."""

# --- the measured side ---------------------------------------------------------------


def _layer(activation: str, rho: Any) -> tuple[Any, Any]:
    """Normalised dual and derivative, of a ball or a power series without constant term."""
    if activation == "erf":
        top = (flint.arb(2) / 3).asin()
        slope = (1 - rho * rho * 4 / 9).rsqrt() * 2 / 3
        return (rho * 2 / 3).asin() / top, slope / top
    pi = flint.arb.pi()
    turned = rho.asin() + pi / 2  # pi less the angle
    raw = ((1 - rho * rho).sqrt() + rho * turned) / (2 * pi)
    scale = flint.arb(1) / 2 - 1 / (2 * pi)
    centred = raw - 1 / (2 * pi)
    return centred / scale, turned / (2 * pi) / scale


def _kernel(name: str, activation: str, depth: int, rho: Any) -> Any:
    """Layer by layer from one correlation, a ball or a power series."""
    value, tangent = rho, rho
    for _ in range(depth):
        value, slope = _layer(activation, value)
        tangent = value + tangent * slope
    return tangent if name == "ntk" else value


@lru_cache(maxsize=64)
def zonal(degree: int, dim: int) -> flint.fmpq_poly:
    """Return the polynomial P_k, one at one.

    Coefficients (-1)^j (d/2 - 1)_{k-j} 2^{k-2j} / (j! (k - 2j)!), and Chebyshev's limit
    for d = 2.
    """
    out = [flint.fmpq(0)] * (degree + 1)
    for j in range(degree // 2 + 1):
        n = degree - 2 * j
        if dim == 2:
            term = flint.fmpq(math.factorial(max(degree - j - 1, 0)))
        else:
            rising = (flint.fmpq(dim - 2 + 2 * i, 2) for i in range(degree - j))
            term = math.prod(rising, start=flint.fmpq(1))
        term *= (-1) ** j * 2**n
        out[n] = term / math.factorial(j) / math.factorial(n)
    return flint.fmpq_poly(out) / sum(out)


@lru_cache(maxsize=8)
def _nodes(dim: int, halvings: int = 0) -> tuple[tuple[Any, Any], ...]:
    """Cosines and weights of sin^{d-2} on [0, pi]: Gauss-Legendre in ten panels.

    Exact for 120 orders of a function that is analytic around a tenth of the range; the
    panel next to 0, where depth makes kernels steep, is halved towards it.
    """
    rule = [flint.arb.legendre_p_root(60, j, weight=True) for j in range(60)]
    ends = [0.0, *(2.0**-j for j in range(halvings, -1, -1)), *range(2, 11)]
    out: list[tuple[Any, Any]] = []
    for low, high in pairwise(map(flint.arb, ends)):
        for x, w in rule:
            angle = flint.arb.pi() * (low + (high - low) * (x + 1) / 2) / 10
            weight = (high - low) * w * angle.sin() ** (dim - 2)
            out.append((angle.cos(), weight))
    total = sum(w for _, w in out)
    return tuple((t, w / total) for t, w in out)


def _precise(measure: Any) -> Any:
    """Run a measurement with the module's digits, in mpmath and in ball arithmetic."""

    @wraps(measure)
    def run(**case: Any) -> Any:
        with flint.ctx.workdps(_DIGITS), mpmath.workdps(_DIGITS):
            return measure(**case)

    return run


def _projections(
    function: Any, degrees: list[int], dim: int, halvings: int = 0
) -> list[Any]:
    """E[function(t) P_k(t)] for t the cosine of two uniform points."""
    weighted = [(t, w * function(t)) for t, w in _nodes(dim, halvings)]
    rows = [flint.arb_poly(zonal(k, dim)) for k in degrees]
    return [integrals.mpf(sum(v * row(t) for t, v in weighted)) for row in rows]


@_precise
def _measure_eigenvalues(
    *, kernel: str, activation: str, depth: int, degrees: list[int], dim: int
) -> list[Any]:
    # A layer of ReLU turns angles apart by a factor of 1.2.
    halvings = max(0, depth - 5) // 2
    return _projections(
        lambda t: _kernel(kernel, activation, depth, t), degrees, dim, halvings
    )


@_precise
def _measure_rank(*, activation: str, depth: int, dim: int) -> Any:
    """One over the mean square of a kernel that is one at one."""
    (mean,) = _projections(
        lambda t: _kernel("nngp", activation, depth, t) ** 2, [0], dim
    )
    return 1 / mean


@_precise
def _measure_powers(*, power: float, degrees: list[int], dim: int) -> list[Any]:
    """The angle's own integral: (1 - cos)^p is smooth in it for half-integer p."""
    return _projections(lambda t: (1 - t) ** flint.arb(power), degrees, dim)


@_precise
def _measure_bessel(*, degrees: list[int], dim: int) -> list[Any]:
    r"""e^t: :math:`\Gamma(d/2)\, 2^{d/2-1} I_{k+d/2-1}(1)`, by Bessel functions."""
    half = mpmath.mpf(dim) / 2
    front = mpmath.gamma(half) * 2 ** (half - 1)
    return [front * mpmath.besseli(k + half - 1, 1) for k in degrees]


@_precise
def _measure_kernel(*, kernel: str, activation: str, depth: int, dim: int) -> list[Any]:
    values = [_kernel(kernel, activation, depth, flint.arb(r)) for r in _MERCER]
    return [integrals.mpf(value / values[-1]) for value in values]


def _measure_harmonics(*, degrees: list[int], dim: int) -> list[Any]:
    """Homogeneous polynomials of degree k, less those that |x|^2 divides."""

    def homogeneous(k: int) -> int:
        return math.comb(k + dim - 1, k) if k >= 0 else 0

    counts = [homogeneous(k) - homogeneous(k - 2) for k in degrees]
    return [*map(mpmath.mpf, counts), *(mpmath.log(n) for n in counts)]


@_precise
def _series(kernel: str, activation: str, depth: int, order: int) -> list[Any]:
    """Power series in ball arithmetic, layer by layer."""
    with _capped(order + 1):
        found = _kernel(kernel, activation, depth, flint.arb_series([0, 1]))
        return [integrals.mpf(found[n]) for n in range(order + 1)]


def _measure_taylor(**case: Any) -> list[Any]:
    """Coefficients, and the least of them and zero."""
    found = _series(**case)
    return [*found, min(0, *found)]


def _raw_layer(activation: str, value: Any, variance: Any) -> tuple[Any, Any, Any]:
    """E s(u) s(v) and E s'(u) s'(v), in power series, and E s(u)^2."""
    half_pi = flint.arb.pi() / 2
    if activation == "small":  # (erf + 1/2) / 1024
        value, slope, variance = _raw_layer("erf", value, variance)
        return (value + 0.25) / 2**20, slope / 2**20, (variance + 0.25) / 2**20
    if activation == "erf":
        share = value * 2 / (1 + 2 * variance)
        slope = (1 - share * share).rsqrt() * 2 / (1 + 2 * variance) / half_pi
        return (
            share.asin() / half_pi,
            slope,
            (2 * variance / (1 + 2 * variance)).asin() / half_pi,
        )
    share = value / variance
    if activation == "2 sign":
        return 4 * share.asin() / half_pi, None, flint.arb(4)
    both = (share.asin() / half_pi + 1) / 4  # P(u > 0, v > 0)
    if activation == "step":
        return both, None, flint.arb("0.5")
    sine = (1 - share * share).sqrt() / (4 * half_pi)
    return variance * (sine + share * both), both, variance / 2


@_precise
def _measure_raw(
    *, kernel: str, depth: int, order: int, activation: str = "erf"
) -> list[Any]:
    """The formula of a layer at each layer's variance, in power series."""
    variance = flint.arb(1)
    with _capped(order + 1):
        value = tangent = flint.arb_series([0, 1])
        for _ in range(depth):
            value, slope, variance = _raw_layer(activation, value, variance)
            tangent = value if slope is None else value + tangent * slope
        found = tangent if kernel == "ntk" else value
        return [integrals.mpf(found[n]) for n in range(order + 1)]


@contextmanager
def _capped(terms: int) -> Generator[None]:
    kept, flint.ctx.cap = flint.ctx.cap, terms
    try:
        yield
    finally:
        flint.ctx.cap = kept


def _measure_projections(
    *, dim: int, points: int, width: int, degrees: list[int], draws: int, seed: int
) -> Estimate:
    """Drawn networks at random points of the sphere: off-diagonal means of K P_k."""
    generator = torch_generator(seed, "weights")
    network = FullyConnected.uniform(
        inputs=dim, width=width, depth=1, activation=named("relu")
    )
    params = network.init(generator=generator, replicates=draws)
    x = torch.empty((draws, points, dim), dtype=torch.float64)
    x = x.normal_(generator=torch_generator(seed, "points"))
    x = x / x.norm(dim=2, keepdim=True)
    k, rho = nngp(network, params, x).numpy(), (x @ x.transpose(1, 2)).numpy()
    upper = np.triu_indices(points, 1)
    values, cosines = k[:, upper[0], upper[1]], rho[:, upper[0], upper[1]]
    # Legendre polynomials: dimension three.
    rows = [np.polynomial.legendre.Legendre.basis(n)(cosines) for n in degrees]
    return Estimate.of(np.column_stack([(values * row).mean(axis=1) for row in rows]))


# --- the predicted side --------------------------------------------------------------

_MERCER = (-1.0, -0.6, 0.0, 0.3, 0.9, 1.0)
"""Correlations at which a kernel is put together from its spectrum; the last: trace."""


def _predict_eigenvalues(
    *, kernel: str, activation: str, depth: int, degrees: list[int], dim: int
) -> Any:
    find = {"nngp": spectrum.nngp_eigenvalues, "ntk": spectrum.ntk_eigenvalues}[kernel]
    return find(normalised(activation), depth, degrees, dim)


def _cut_eigenvalues(
    *, kernel: str, activation: str, depth: int, degrees: list[int], dim: int
) -> Any:
    """2,049 Taylor coefficients, and nothing beyond."""
    s = normalised(activation)
    b = spectrum.taylor_coefficients(s, depth, 2048, kernel=kernel)
    return spectrum.series_eigenvalues(b, degrees, dim)


def _predict_values(
    *, kernel: str, activation: str, depth: int, degrees: list[int], dim: int
) -> Any:
    s = normalised(activation)
    which = kernels.ntk_map if kernel == "ntk" else kernels.nngp_map
    size = 2.0**80  # which no share depends on
    found = spectrum.eigenvalues(lambda t: size * which(t, s, depth), degrees, dim)
    return found / size


def _predict_rank(*, activation: str, depth: int, dim: int) -> float:
    s = normalised(activation)
    return spectrum.effective_rank(lambda t: kernels.nngp_map(t, s, depth), dim)


def _predict_powers(
    *, power: float, degrees: list[int], dim: int, later: int = 0
) -> Any:
    return spectrum.power_eigenvalues(power, np.array(degrees) + later, dim)


def _predict_bessel(*, degrees: list[int], dim: int) -> Any:
    b = [1.0 / math.factorial(n) for n in range(170)]
    return spectrum.series_eigenvalues(b, degrees, dim)


def _wrong_bessel(*, degrees: list[int], dim: int) -> Any:
    """The leading power of each degree alone."""
    return [
        spectrum.series_eigenvalues([0.0] * k + [1.0 / math.factorial(k)], k, dim)
        for k in degrees
    ]


def _predict_kernel(
    *, kernel: str, activation: str, depth: int, dim: int, degrees: range = range(80)
) -> Array:
    k = np.array(degrees)
    shares = spectrum.degree_shares(
        normalised(activation), depth, k, dim, kernel=kernel
    )
    zonal = np.array([spectrum.gegenbauer(int(n), np.array(_MERCER), dim) for n in k])
    return shares @ zonal


def _predict_harmonics(*, degrees: list[int], dim: int) -> Array:
    counts = spectrum.multiplicity(degrees, dim)
    return np.concatenate([counts, spectrum.log_multiplicity(degrees, dim)])


def _predict_taylor(*, kernel: str, activation: str, depth: int, order: int) -> Array:
    """Coefficients, and that none is negative."""
    found = spectrum.taylor_coefficients(
        normalised(activation), depth, order, kernel=kernel
    )
    return np.append(found, 0.0)


_OWN = {
    "2 sign": act.Affine(act.sign, 2.0, 0.0),
    "small": act.Affine(act.erf, 2.0**-10, 2.0**-11),
}


def _predict_raw(
    *, kernel: str, depth: int, order: int, activation: str = "erf"
) -> Array:
    a = _OWN.get(activation) or act.CATALOGUE[activation]
    # Of an order above 200 those that rounding hides are left out, of the end of these.
    found = spectrum.taylor_coefficients(a, depth, max(order, 240), kernel=kernel)
    return found[: order + 1]


def _predict_projections(*, dim: int, degrees: list[int], **_: Any) -> Any:
    return spectrum.nngp_eigenvalues(normalised("relu"), 1, degrees, dim)


_DEEP_CASES = (
    {"activation": "relu", "depth": 1, "degrees": [0, 1, 2, 4, 10, 40], "dim": 2},
    {"activation": "relu", "depth": 1, "degrees": [0, 1, 2, 4, 10], "dim": 1000},
    {"activation": "relu", "depth": 3, "degrees": [0, 1, 2, 3, 10, 31], "dim": 3},
    {"activation": "erf", "depth": 3, "degrees": [1, 3, 11, 31], "dim": 10},
)

_DEEPEST = {"activation": "relu", "depth": 20, "degrees": [0, 1, 2, 9], "dim": 2}
"""So many layers that the coefficients of the series have not begun to fall."""

SPECTRUM = numeric(
    id="dc/defC.1-spectrum",
    items=("DefC.1", "Eq1"),
    title="Eigenvalues of the deep top-layer kernel on the sphere, to the last digits",
    statement=r"\lambda_k = \mathbb{E}\,\hat\sigma^{(L)}(t) P_k(t) ="
    r" \sum_{j \ge 0} b_{k+2j} \frac{(k+2j)!\,\Gamma(d/2)}{2^{k+2j}\, j!\,"
    r" \Gamma(d/2+k+j)}",
    assumptions=(
        "uniform measure on the sphere in d dimensions",
        "b_n: Taylor of the dual",
    ),
    source=ours("Definition C.1 and equation 1"),
    cases=tuple({"kernel": "nngp", **case} for case in (*_DEEP_CASES, _DEEPEST)),
    predict=_predict_eigenvalues,
    measure=_measure_eigenvalues,
    # Rounding: 2,049 products a layer and a step, sqrt(2049) 64 ulps at worst: 6e-13.
    # Continuation: eight terms in 1/n where coefficients are known to 1e-13, carried 100
    # times further out than they were fitted, for at most a tenth of an eigenvalue: 1e-12.
    compare=AgreesTo(relative=2e-12),
    must_refute=_cut_eigenvalues,
    uses=("dc/defC.1-taylor",),
    finding=(
        "All terms are positive, so that even an eigenvalue of 5e-27 keeps twelve digits."
    ),
)

NTK_SPECTRUM = numeric(
    id="dc/eq7-spectrum",
    title="Eigenvalues of the deep tangent kernel on the sphere, to the last digits",
    statement=r"\lambda_k = \mathbb{E}\,\Theta^{(L)}(t) P_k(t)",
    assumptions=("uniform measure on the sphere in d dimensions",),
    source=ours("Equation 7"),
    cases=tuple({"kernel": "ntk", **case} for case in _DEEP_CASES),
    predict=_predict_eigenvalues,
    measure=_measure_eigenvalues,
    # As dc/defC.1-spectrum; on the circle half of an eigenvalue is beyond the series.
    compare=AgreesTo(relative=1e-11),
    must_refute=_cut_eigenvalues,
    uses=("dc/defC.1-spectrum",),
)

VALUES = numeric(
    id="dc/defC.1-quadrature",
    items=("DefC.1", "Eq7"),
    title="Eigenvalues of a kernel on the sphere, by quadrature of its values",
    statement=r"\lambda_k = \frac{\int_0^\pi \kappa(\cos\theta) P_k(\cos\theta)"
    r" \sin^{d-2}\theta\, d\theta}{\int_0^\pi \sin^{d-2}\theta\, d\theta}",
    assumptions=("absolute accuracy, relative to one harmonic",),
    source=ours("Definition C.1"),
    cases=({"kernel": "nngp", **_DEEP_CASES[2]}, {"kernel": "ntk", **_DEEP_CASES[0]}),
    predict=_predict_values,
    measure=_measure_eigenvalues,
    # A value of at most 2.5 is rounded a dozen times a layer, 2e-16 each, which the next
    # layers' slopes make at most twice as large: 2e-14. Weights add up to one.
    compare=AgreesTo(absolute=2e-14),
    must_refute=mistake("Eigenvalues in a space of one dimension more.", dim=plus(1)),
    uses=("dc/eq7",),
)

BESSEL = numeric(
    id="dc/defC.1-exponential",
    items=("DefC.1", "LemC.8"),
    title="Eigenvalues of the exponential kernel on the sphere are Bessel functions",
    statement=r"\mathbb{E}\, e^t P_k(t) = \Gamma(d/2)\, 2^{d/2-1} I_{k+d/2-1}(1)",
    source=ours("Definition C.1"),
    cases=grid(degrees=([0, 1, 2, 5, 20, 100],), dim=(2, 3, 50, 2000)),
    predict=_predict_bessel,
    measure=_measure_bessel,
    # 1e-15 (k + 10) at k = 100, and 2e-16 of a logarithm of up to 700; float64 ends at
    # 5e-324.
    compare=AgreesTo(relative=3e-13, absolute=5e-324),
    must_refute=_wrong_bessel,
    uses=("dc/defC.1-spectrum",),
)

POWERS = numeric(
    id="dc/lemC.14-singularity",
    items=("LemC.14", "DefC.1"),
    title="Eigenvalues of (1 - t)^p, the singularity that a kink leaves, in closed form",
    statement=r"\mathbb{E}\,(1-t)^p P_k(t) = \frac{2^{p+d-2}\,\Gamma(d/2)\,"
    r" \Gamma(p+\frac{d-1}{2})}{\sqrt\pi}\, \frac{(-p)_k}{\Gamma(p+k+d-1)}",
    source=ours("Lemma C.14 and Definition C.1"),
    cases=(
        *grid(power=(0.5, 1.5), degrees=([0, 1, 2, 3, 11, 40],), dim=(2, 20)),
        # Of several whole steps.
        *grid(power=(3.75, 21.25), degrees=([0, 1, 2, 3, 40],), dim=(2, 3)),
    ),
    predict=_predict_powers,
    measure=_measure_powers,
    # 40 quotients of half an ulp each, and gamma functions of 40 and less.
    compare=AgreesTo(relative=3e-14),
    must_refute=mistake(
        "The eigenvalue of the next degree in the place of each.", later=1
    ),
    uses=("dc/defC.1-quadrature",),
)

MERCER = numeric(
    id="dc/defC.1-mercer",
    items=("DefC.1", "Eq7", "AsmA"),
    title="A deep kernel and its trace are recovered from eigenvalues by Mercer's sum",
    statement=r"\sum_k N(d, k)\, \lambda_k\, P_k(\rho) = \kappa(\rho), \quad"
    r" \sum_k N(d, k)\, \lambda_k = \kappa(1)",
    assumptions=("both sides are told over the trace, kappa(1)",),
    source=ours("Definition C.1"),
    cases=grid(
        kernel=("nngp", "ntk"), activation="erf", depth=(1, 2), dim=(2, 3, 12, 100)
    ),
    predict=_predict_kernel,
    measure=_measure_kernel,
    # Shares add up to one: two layers' rounding as in dc/defC.1-taylor, 4.6e-13. Degrees
    # beyond 79 hold 1e-15 at most, of the tangent kernel in 100 dimensions.
    compare=AgreesTo(absolute=5e-13),
    must_refute=mistake("The sum without degrees above six.", degrees=range(7)),
    uses=("dc/defC.1-spectrum", "dc/defC.1-harmonics"),
)

HARMONICS = numeric(
    id="dc/defC.1-harmonics",
    title="The number of spherical harmonics of each degree",
    statement=r"N(d, k) = \binom{k+d-1}{k} - \binom{k+d-3}{k-2}",
    source=ours("Definition C.1"),
    cases=grid(degrees=([0, 1, 2, 3, 17, 60],), dim=(2, 3, 4, 1000)),
    predict=_predict_harmonics,
    measure=_measure_harmonics,
    # Whole numbers rounded once, and their logarithms.
    compare=AgreesTo(relative=3e-16, absolute=1e-300),
    must_refute=mistake("Harmonics in a space of one dimension more.", dim=plus(1)),
)

TAYLOR = numeric(
    id="dc/defC.1-taylor",
    items=("DefC.1", "Eq7"),
    title="Taylor coefficients of the deep top-layer and tangent kernels",
    statement=r"\hat\sigma^{(L)}(\rho),\; \Theta^{(L)}(\rho) = \sum_n b_n \rho^n,"
    r" \quad b_n \ge 0",
    source=quoted("Proofs C.11 and C.17, by Schoenberg's theorem"),
    cases=(
        *grid(
            kernel=("nngp", "ntk"),
            activation=("relu", "erf"),
            depth=(1, 2, 6),
            order=60,
        ),
        # Higher terms than those of the function itself, through many equal layers.
        *grid(kernel=("nngp", "ntk"), activation="erf", depth=40, order=240),
    ),
    predict=_predict_taylor,
    measure=_measure_taylor,
    # 16 products of 129 terms a layer, half an ulp a term: 16 * 129 * 6 / 2 ulps at worst.
    # Of forty layers there are six squares, and rounding of either sign: 4e-13.
    # Absolute: coefficients that vanish, in balls of 50 digits less what cancels.
    compare=AgreesTo(relative=1.4e-12, absolute=1e-40),
    must_refute=mistake("One layer too many.", depth=plus(1)),
    uses=("dc/eq7",),
)

TAYLOR_RAW = numeric(
    id="dc/eq1-taylor-raw",
    items=("Eq1", "Eq7"),
    title="Taylor coefficients of kernels whose lengths settle over many layers",
    statement=r"K^{(l+1)}(\rho) = \tfrac2\pi \arcsin\frac{2 K^{(l)}(\rho)}{1 + 2 q_l},"
    r" \quad q_{l+1} = \tfrac2\pi \arcsin\frac{2 q_l}{1 + 2 q_l}",
    assumptions=(
        "the error function, not normalised",
        "ReLU, a step and twice the sign by their own formulas",
    ),
    source=ours("Equations 1 and 7"),
    cases=(
        *grid(kernel=("nngp", "ntk"), depth=(3, 30), order=40),
        *grid(kernel=("nngp", "ntk"), depth=(2, 3), order=20, activation="relu"),
        *grid(kernel="nngp", depth=(1, 2), order=20, activation="step"),
        # With a mean, and so small that the last are 1e-38: 1e-31 of the diagonal.
        *grid(kernel=("nngp", "ntk"), depth=(1, 2), order=120, activation="small"),
        # Of length four from the first layer on.
        {"kernel": "nngp", "depth": 12, "order": 40, "activation": "2 sign"},
    ),
    predict=_predict_raw,
    measure=_measure_raw,
    # As dc/defC.1-taylor, with 30 layers.
    compare=AgreesTo(relative=7e-12, absolute=1e-40),
    must_refute=mistake("One layer too many.", depth=plus(1)),
    uses=("dc/defC.1-taylor",),
)

_WIDE = 2 * 10**10
"""A dimension in which quadrature is not asked; degree k is t^k but for k^2 / dim."""


def _predict_wide(*, activation: str, depth: int, order: int) -> Array:
    return np.asarray(
        spectrum.degree_shares(
            normalised(activation), depth, np.arange(order + 1), _WIDE
        )
    )


def _measure_wide(**case: Any) -> list[Any]:
    """Taylor coefficients: those of a normalised kernel add up to one."""
    return _series(kernel="nngp", **case)


WIDE = numeric(
    id="dc/defC.1-wide",
    title="In very many dimensions a deep kernel's spectrum is its Taylor series",
    statement=r"N(d, k)\, \lambda_k \to b_k, \quad d \to \infty",
    source=ours("Definition C.1"),
    cases=grid(activation=("erf", "relu"), depth=(2, 6), order=8),
    predict=_predict_wide,
    measure=_measure_wide,
    # A power t^n leaves at most n^2 / dim of itself to the degree n - 2: of the powers up
    # to 10, 100 / dim of a diagonal of one. The next step down is smaller by dim again.
    compare=AgreesTo(absolute=100 / _WIDE),
    must_refute=mistake("One layer too many.", depth=plus(1)),
    uses=("dc/defC.1-taylor",),
)

RANK = numeric(
    id="dc/thm3.2-rank",
    items=("Thm3.2", "Cor3.3"),
    title="Effective rank of the deep kernel on the sphere",
    statement=r"\frac{(\mathrm{tr}\,K)^2}{\mathrm{tr}\,K^2} ="
    r" \frac{1}{\mathbb{E}\,\hat\sigma^{(L)}(t)^2}",
    assumptions=("normalised activation",),
    source=ours("Theorem 3.2"),
    cases=grid(activation="relu", depth=(1, 5), dim=(3, 50)),
    predict=_predict_rank,
    measure=_measure_rank,
    # Values of the map to a relative 1e-12 each, squared; those of one sign prevail.
    compare=AgreesTo(relative=2e-12),
    must_refute=mistake("One layer too many.", depth=plus(1)),
    uses=("dc/defC.1-quadrature",),
    finding=(
        "With depth the effective rank grows without bound: more and more harmonics"
        " weigh alike."
    ),
)

NETWORKS = statistical(
    id="dc/eq1-spectrum",
    items=("Eq1", "LemC.4"),
    title="Kernels of sampled networks at random points have the predicted eigenvalues",
    statement=r"\mathbb{E}\, K_{ij} P_k(x_i \cdot x_j) = \lambda_k",
    assumptions=("one hidden layer of ReLU", "independent uniform points, d = 3"),
    source=ours("Equation 1"),
    cases=grid(
        dim=3, points=24, width=32, degrees=([0, 1, 2, 4],), draws=4000, seed=26
    ),
    predict=_predict_projections,
    measure=_measure_projections,
    # A network's own constant and linear part, 1/sqrt(32) of one each, spread degrees
    # 0 and 1 by 0.3: 10 * 0.3 / sqrt(4000) = 0.05. Multiplicities, 3 for degree 1, would
    # be off by 0.5.
    compare=MeanEquals(discrepancy=0.06, rounding=1e-12),
    must_refute=mistake(
        "Eigenvalues times their multiplicities.",
        then=lambda found, *, degrees, dim: found * spectrum.multiplicity(degrees, dim),
    ),
    uses=("dc/defC.1-spectrum", "dc/eq1"),
)
