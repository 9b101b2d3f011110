"""Random deep networks as hard functions for statistical queries (section 5).

The quantity behind the lower bound is the inner product rho_l of two inputs' normalised
representations in layer l of a random network. Given rho_l, the m pairs of
pre-activations of the next layer are independent Gaussian pairs of correlation rho_l,
so that (rho_l) is a Markov chain: it is simulated here many times at once, without any
weight matrix. Networks with their weight matrices are drawn too, for the averages over
the hypercube.

What was found: at fixed width m the mean of rho_l does not vanish with depth unless
the second Hermite coefficient is zero; it settles near a_2^2 / (mu^2 (2 - mu) m).
"""

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import torch

from empirical.conditioning import named, pair_chains
from empirical.data import pair_inputs
from empirical.kernels import gram
from empirical.networks import FullyConnected
from empirical.randomness import torch_generator
from theory import activations as act
from theory import conditioning as dc
from theory import kernels
from theory import optimization as rates
from verify.claim import Case, grid, numeric, statistical
from verify.claims._predictors import mapped, mistake, plus
from verify.claims.deep_conditioning._sources import as_read, ours, quoted
from verify.claims.deep_conditioning._subjects import normalised, subject
from verify.claims.deep_conditioning.learning._populations import relu_layer
from verify.claims.deep_conditioning.lengths._definitions import FUNCTIONS, panels
from verify.claims.deep_conditioning.normrelu._definitions import STAR
from verify.compare import Array, AtMost, Estimate, MeanAtMost, MeanEquals, Outcome

# --- the measured side ----------------------------------------------------------------


_ERF_ANGLE = math.asin(2.0 / 3.0)

# Exact E[s(g)s(h)] of the normalised activations and its slope at 0, for the control
# variate.
_MEAN_PRODUCTS: dict[str, tuple[Callable[[Array], Array], float]] = {
    "relu": (lambda rho: 1.0 - relu_layer(1.0 - rho), 0.25 / (0.5 - 0.5 / math.pi)),
    "hermite2": (np.square, 0.0),
    "sign": (lambda rho: 2.0 / math.pi * np.arcsin(rho), 2.0 / math.pi),
    "sin": (lambda rho: np.sinh(rho) / math.sinh(1.0), 1.0 / math.sinh(1.0)),
    "erf": (
        lambda rho: np.arcsin(2.0 * rho / 3.0) / _ERF_ANGLE,
        2.0 / 3.0 / _ERF_ANGLE,
    ),
}


def correlation_chain(
    activation: str,
    *,
    rho: float,
    width: int,
    depth: int,
    chains: int,
    seed: int,
    device: str = "cpu",
) -> Array:
    r"""Return `chains` unbiased replicates of E rho_l for l = 1..depth.

    The fluctuation of one chain, about 1/sqrt(m mu (2 - mu)), is much larger than the
    mean that is looked for, so its martingale part is subtracted:
    M' = k M + mean s(g)s(h) - E(s(g)s(h) | rho) has mean exactly zero for every
    constant k (k = the dual's slope at 0 removes most of the variance), hence
    rho_l - M_l has exactly the mean of rho_l.

    Returns
    -------
    array, shape (chains, depth)
    """
    generator = torch_generator(seed, "units", device=device)
    # As many as a processor's caches hold, where it draws them.
    together = chains if device != "cpu" else max(1, (1 << 17) // width)
    # In float32: rounding 1e-6 of rho, against tolerances above 1e-4.
    runs = [
        pair_chains(
            rho,
            activation=named(activation),
            width=width,
            depth=depth,
            chains=min(together, chains - first),
            generator=generator,
            project=True,
            dtype=torch.float32,
        )
        for first in range(0, chains, together)
    ]
    mean_product, slope = _MEAN_PRODUCTS[activation]
    correlations = np.concatenate([each.correlations for each in runs])
    norms = np.concatenate([each.squared_norms[:, 1:] for each in runs])
    before, after = correlations[:, :-1], correlations[:, 1:]
    # The mean product of a layer's pairs, before it is scaled to a correlation.
    products = after * np.sqrt(norms.prod(axis=2))
    martingale = products - mean_product(before)
    for layer in range(1, depth):
        martingale[:, layer] += slope * martingale[:, layer - 1]
    return after - martingale


@lru_cache(maxsize=8)
def _measure_chain(*, activation: str, width: int, **case: Any) -> Estimate:
    # In units of 1/m: the floor is then one number for all widths.
    return Estimate.of(width * correlation_chain(activation, width=width, **case))


def _measure_entry(
    measure: Callable[..., Estimate], place: int, **case: Any
) -> Estimate:
    """One entry of what is measured: of the last layer, say, or the first query."""
    each = measure(**case)
    return Estimate(float(each.mean[place]), float(each.stderr[place]), each.replicates)


_CHAIN_END = partial(_measure_entry, _measure_chain, -1)


def half_hypercube(dim: int) -> Array:
    """Return one of each antipodal pair of {+-1/sqrt(d)}^d: shape (2^(d-1), d)."""
    signs = np.array(np.meshgrid(*[[1.0, -1.0]] * dim, indexing="ij")).reshape(dim, -1)
    points = signs.T / math.sqrt(dim)
    return points[points[:, 0] > 0.0]


@lru_cache(maxsize=4)
def network_grams(
    activation: str, dim: int, width: int, depth: int, nets: int, seed: int
) -> Array:
    """Return the last layers' Gram matrices of random networks on the half hypercube.

    Each layer is projected onto the unit sphere, input by input.

    Returns
    -------
    array, shape (nets, n, n), n = 2^(dim-1)
    """
    points = torch.from_numpy(half_hypercube(dim)).float()
    network = FullyConnected.uniform(
        inputs=dim, width=width, depth=depth, activation=named(activation)
    )
    generator = torch_generator(seed, "weights")
    grams = np.empty((nets, len(points), len(points)))
    for net in range(nets):
        *_, last = network.stream_features(points, generator=generator, project=True)
        grams[net] = gram(last.double()).numpy()
    return grams


def _queries(dim: int) -> Array:
    # Constant, every coordinate, two parities and the majority vote: all |g| <= 1.
    points = np.sign(half_hypercube(dim))
    rows = [np.ones(len(points)), *points.T]
    rows += [points[:, :2].prod(axis=1), points.prod(axis=1)]
    rows.append(np.where(points.sum(axis=1) > 0.0, 1.0, -1.0))
    return np.array(rows)


def _measure_queries(
    *, activation: str, dim: int, width: int, depth: int, nets: int, seed: int
) -> Estimate:
    # f = v . features with Gaussian v: E_v (E_x f g)^2 = g R g / n^2, R the Gram matrix.
    grams = network_grams(activation, dim, width, depth, nets, seed)
    queries = _queries(dim)
    squares = np.einsum("qi,wij,qj->wq", queries, grams, queries, optimize=True)
    return Estimate.of(squares / queries.shape[1] ** 2)


# --- the predicted side --------------------------------------------------------------


def _floor(activation: str) -> float:
    # In units of 1/m.
    return float(rates.correlation_floor(normalised(activation), 1.0))


def _predict_rise(*, activation: str, depth: int, **_: Any) -> Array:
    r"""E rho_l times m from rho_0 = 0, to leading order in 1/m.

    .. math:: v' = (1-\mu)^2 v + 1, \qquad e' = (1-\mu) e + a_2^2 v
    """
    a = normalised(activation)
    second, keep = float(a.hermite(2)[2]) ** 2, 1.0 - a.mu
    mean, square, means = 0.0, 0.0, np.empty(depth)
    for layer in range(depth):
        mean, square = keep * mean + second * square, keep**2 * square + 1.0
        means[layer] = mean
    return means


def _corrected_floor(*, activation: str, **_: Any) -> float:
    """The floor that finite width leaves."""
    return _floor(activation)


def _predict_odd_decay(
    *, activation: str, rho: float, width: int, depth: int, **_: Any
) -> Array:
    # B(l, delta) of every layer, in units of 1/m.
    layers = np.arange(1, depth + 1)
    mu = normalised(activation).mu
    return width * np.asarray(dc.correlation_bound(layers, 1.0 - abs(rho), mu))


# e^{-Omega(L)}, read as the infinite-width bound B(L, delta) of Theorem 3.2.
_PRINTED_DECAY = mapped(_predict_odd_decay, "The last layer's.", lambda all_: all_[-1])


def _wrong_odd_decay(
    *, activation: str, rho: float, width: int, depth: int, **_: Any
) -> Array:
    """The limit's correlation one layer further on."""
    a = normalised(activation)
    limit = [kernels.nngp_map(abs(rho), a, layer + 2) for layer in range(depth)]
    return width * np.array(limit)


def _sign_kernel(width: int) -> tuple[Array, Array]:
    from scipy import stats

    # For s = sign, a pair of units agrees with probability (1 + dual)/2, independently:
    # the chain lives on the lattice -1 + 2k/m and its law is a product of matrices.
    lattice = -1.0 + 2.0 * np.arange(width + 1) / width
    agree = np.clip((1.0 + np.asarray(act.sign.dual(lattice))) / 2.0, 0.0, 1.0)
    law = stats.binom.pmf(np.arange(width + 1)[None, :], width, agree[:, None])
    return lattice, np.asarray(law, dtype=np.float64)


def _sign_means(*, rho: float, width: int, depth: int, **_: Any) -> Array:
    """E rho_l of the sign network, l = 1..depth, exact at every width."""
    from scipy import stats

    lattice, law = _sign_kernel(width)
    start = (1.0 + float(act.sign.dual(rho))) / 2.0
    state = np.asarray(stats.binom.pmf(np.arange(width + 1), width, start))
    means = np.empty(depth)
    for layer in range(depth):
        means[layer] = state @ lattice
        state = state @ law
    return means


def _measure_sign_network(
    *, rho: float, width: int, depth: int, nets: int, seed: int
) -> Estimate:
    # Whole networks, weight matrices and all; the sign of m units over sqrt(m) lies on
    # the sphere without projection.
    network = FullyConnected.uniform(
        inputs=2, width=width, depth=depth, activation=named("sign")
    )
    params = network.init(
        replicates=nets, generator=torch_generator(seed, "weights"), dtype=torch.float32
    )
    features = network.features(params, torch.from_numpy(pair_inputs(rho)).float())
    history = [(h[:, 0] * h[:, 1]).sum(dim=1).double().numpy() for h in features[1:]]
    return Estimate.of(np.stack(history, axis=1))


def _predict_query_bound(*, dim: int, width: int, depth: int, **_: Any) -> float:
    """The mean absolute correlation of two inputs."""
    gram = half_hypercube(dim) @ half_hypercube(dim).T
    # Correlations of the hypercube are 1 - 2k/d: few values, each solved once.
    overlap = np.rint((1.0 - gram) * dim / 2.0).astype(int)
    values = [1.0] + [
        abs(_sign_means(rho=1.0 - 2.0 * k / dim, width=width, depth=depth)[-1])
        for k in range(1, dim)
    ]
    return float(np.array(values)[overlap].mean())


def _wrong_query_bound(*, dim: int, **case: Any) -> float:
    """The average over distinct inputs, without the diagonal x = x'."""
    return _predict_query_bound(dim=dim, **case) - 1.0 / 2 ** (dim - 1)


def _printed_query_size(*, activation: str, dim: int, depth: int, **_: Any) -> float:
    # The diagonal, plus e^{-Omega(L)} read as B(L, 2/d).
    points, mu = 2 ** (dim - 1), normalised(activation).mu
    return 1.0 / points + float(dc.correlation_bound(depth, 2.0 / dim, mu))


def _corrected_query_size(*, activation: str, dim: int, width: int, **_: Any) -> float:
    """The query's size with the floor that finite width leaves."""
    points = 2 ** (dim - 1)
    return 1.0 / points + (1.0 - 1.0 / points) * _floor(activation) / width


# --- subgaussian activations (Eq. 21) ------------------------------------------------

_TIMES = (-8.0, -2.0, -0.5, -0.1, 0.1, 0.5, 2.0, 8.0)


def _measure_log_mgf(*, activation: str) -> Array:
    """Log E e^{t s(X)} of the centred unit-variance activation, for each of `_TIMES`."""
    # Gauss-Legendre, 20 nodes on panels of 1/2 that end at every kink. The integrand
    # e^{t s - x^2/2} peaks at |x| <= 8 * 1.72 = 14 and is below e^{-300} beyond 40.
    x, w = panels(np.union1d(np.arange(-40.0, 40.5, 0.5), STAR))
    log_w = np.log(w) - x * x / 2.0 - 0.5 * math.log(2 * math.pi)
    value, weight = FUNCTIONS[activation](x), np.exp(log_w)
    mean = float(weight @ value)
    value = (value - mean) / math.sqrt(float(weight @ (value - mean) ** 2))
    exponent = np.array(_TIMES)[:, None] * value + log_w
    top = exponent.max(axis=1)
    return top + np.log(np.exp(exponent - top[:, None]).sum(axis=1))


def _variance_proxy(activation: str) -> float:
    """Alpha^2: squared Lipschitz constant (Gaussian concentration), or half range^2.

    The standard Gaussian makes every function of Lipschitz constant alpha that is
    centred subgaussian with alpha; a centred function of range 2 alpha is too
    (Hoeffding's lemma).
    """
    # Lipschitz constant 1 of the raw functions; NormReLU's is its scale; sign's half
    # range is 1.
    if activation == "normrelu":
        return dc.normrelu_constants(STAR).scale ** 2 / act.normrelu(STAR).variance
    return 1.0 / subject(activation).variance


def _predict_log_mgf(*, activation: str) -> Array:
    return _variance_proxy(activation) * np.array(_TIMES) ** 2 / 2.0


def _wrong_log_mgf(*, activation: str) -> Array:
    """A variance of one, true for a Gaussian, not for a skewed activation."""
    return np.array(_TIMES) ** 2 / 2.0


# --- one query (Theorem 5.1) ---------------------------------------------------------


def _measure_query_success(
    *, dim: int, width: int, depth: int, nets: int, seed: int, tolerance: float
) -> Estimate:
    """Fraction of draws of v whose correlation with a query exceeds the tolerance."""
    grams = network_grams("sign", dim, width, depth, nets, seed)
    queries = _queries(dim) / 2.0 ** (dim - 1)
    spread = np.sqrt(np.einsum("qi,wij,qj->wq", queries, grams, queries, optimize=True))
    normal = np.random.default_rng(seed).standard_normal((64, *spread.shape))
    return Estimate.of((np.abs(normal * spread) > tolerance).mean(axis=0))


def _predict_query_success(*, tolerance: float, **case: Any) -> float:
    """Chebyshev's bound on the probability."""
    return _predict_query_bound(**case) / tolerance**2


def _predict_gaussian_success(*, dim: int, tolerance: float, **_: Any) -> float:
    # f is Gaussian given the features; of its variance g R g / n^2 the diagonal is left.
    return math.erfc(tolerance * math.sqrt(2.0 ** (dim - 1) / 2.0))


def _wrong_query_success(*, tolerance: float, **case: Any) -> float:
    """Chebyshev's bound of distinct inputs alone, without the diagonal x = x'."""
    return _wrong_query_bound(**case) / tolerance**2


# 11,000 chains: a pilot of 4,000 with another seed showed a spread of about 5/m once the
# martingale is subtracted; 6.5 standard errors are then 0.31/m, half of the discrepancy.
def _curve(activation: str, width: int, **given: Any) -> Case:
    usual = {"rho": 0.0, "depth": 40, "chains": 11_000, "seed": 2002_01523}
    return {"activation": activation, "width": width, **usual, **given}


def _cube(depth: int, nets: int, **given: Any) -> Case:
    return {"dim": 8, "width": 128, "depth": depth, "nets": nets, "seed": 51, **given}


EQ21 = numeric(
    id="dc/eq21",
    title="Lipschitz or bounded activations of a Gaussian variable are subgaussian",
    statement=r"\mathbb{E}\, e^{t \sigma(X)} \le e^{\alpha^2 t^2 / 2}",
    assumptions=(
        "X standard Gaussian, E sigma(X) = 0",
        "alpha is the Lipschitz constant, or half of the range",
    ),
    source=ours("Equation 21 (constants ours)"),
    cases=grid(activation=("relu", "tanh", "sin", "sign", "normrelu")),
    predict=_predict_log_mgf,
    measure=_measure_log_mgf,
    # Rounding: logarithms of sums of 3,000 positive terms, |value| <= 110.
    compare=AtMost(rounding=1e-13, relative=1e-13),
    must_refute=_wrong_log_mgf,
    uses=("dc/eq2",),
    finding=(
        "The definition excludes the second Hermite polynomial and the exponential,"
        " whose moment generating functions are infinite for large t."
    ),
)

EQ3 = statistical(
    id="dc/eq3",
    title="Layer correlations of projected sign networks, exact at finite width",
    statement=r"\mathbb{E}_W\, f_W(x) f_W(y) = \mathbb{E}\,\rho_L, \quad"
    r" f_W(x) = v^T \Pi(\sigma(W_L \cdots \Pi(\sigma(W_1 x))))",
    assumptions=("sign activation", "standard Gaussian weights"),
    source=quoted("Equation 3"),
    cases=(
        {"rho": 0.8, "width": 16, "depth": 20, "nets": 4000, "seed": 3},
        {"rho": -0.5, "width": 33, "depth": 8, "nets": 4000, "seed": 3},
    ),
    predict=_sign_means,
    measure=_measure_sign_network,
    # At width 16 and depth 20 the infinite-width limit misses the mean by the weight of
    # absorbed chains; one layer counted too many is an error of 0.15 in layer 1.
    # Sampling: |rho| <= 1 and spread about 1/4, 6.4/sqrt(4000) * 0.4 = 0.04.
    compare=MeanEquals(discrepancy=0.1, rounding=1e-6),
    must_refute=mistake(
        "One layer too many.", depth=plus(1), then=lambda found: found[1:]
    ),
    uses=("dc/defC.1", "dc/asmA-pair"),
    finding=(
        "For the sign activation, pairs of units agree independently, so the chain is"
        " a product of binomial transition matrices. Sampled networks follow it layer"
        " by layer."
    ),
)


THM_F1_PRINTED = statistical(
    id="dc/thmF.1-as-read",
    items=("ThmF.1", "E3"),
    title="Random deep networks of polynomial width decorrelate all inputs (as read)",
    statement=r"|\mathbb{E}_W\, \rho_L| \le e^{-\Omega(L)}",
    assumptions=(
        "width polynomial in the depth",
        "any normalised activation that is subgaussian (equation 21)",
        "correlations are told times m",
    ),
    source=as_read("Theorem F.1"),
    # ReLU is subgaussian (dc/eq21), the second Hermite polynomial is not.
    cases=(_curve("relu", 128, rho=0.9, depth=100), _curve("relu", 256, depth=60)),
    # A width of the square of the depth.
    larger_cases={"full": (_curve("relu", 4096, depth=64),)},
    predict=_PRINTED_DECAY,
    measure=_CHAIN_END,
    must_hold=_corrected_floor,
    # In units of 1/m. Rounding: the floor is the leading term in 1/m; terms of the next
    # order are within 10 % of the largest floor (1.896) from m = 128 on.
    # Discrepancy: a third of that floor; a wrong power of mu or a lost (2 - mu) changes
    # it by at least 1.39.
    compare=MeanEquals(discrepancy=0.6, rounding=0.19),
    expected=Outcome.REFUTED,
    uses=("dc/E3-corrected", "dc/eq21"),
    version=2,
    finding=(
        "A fixed width keeps a fluctuation of variance 1/(m mu (2 - mu)) in every layer,"
        " and a non-zero a_2 turns it into a mean. The statistical-query bound"
        " therefore needs a_2 = 0, as of odd activations, or a width exponential in the"
        " depth. The full"
        " profile has a width that is the square of the depth."
    ),
    figure="correlation_floor",
)

E3_CORRECTED = statistical(
    id="dc/E3-corrected",
    items=("E3", "ThmF.1"),
    title="At finite width, depth creates a mean correlation, up to a floor of order"
    " 1/width",
    statement=r"\mathbb{E}\,\rho_l \to \frac{a_2^2}{\mu^2 (2 - \mu)\, m}"
    r" + O\left(\frac{1}{m^2}\right)",
    assumptions=("orthogonal inputs (rho_0 = 0)", "m >= 128; told times m"),
    source=ours("Theorem F.1 (corrected)"),
    cases=(
        _curve("relu", 128),
        _curve("relu", 256),
        _curve("relu", 512),
        _curve("hermite2", 128),
        _curve("sign", 128),
    ),
    larger_cases={
        "full": tuple(
            _curve(name, width, chains=20_000)
            for name in ("relu", "hermite2", "sign", "sin")
            for width in (128, 512, 2048)
        ),
        "gpu": tuple(
            _curve(name, width, chains=100_000, depth=60, device="cuda")
            for name in ("relu", "hermite2", "sign", "sin", "erf")
            for width in (128, 512, 2048, 8192)
        ),
    },
    predict=_predict_rise,
    measure=_measure_chain,
    # As in dc/thmF.1-as-read: units of 1/m, 10 % of the floor for the next order.
    compare=MeanEquals(discrepancy=0.6, rounding=0.19),
    must_refute=mistake(
        "A mean that starts at zero and stays there.", then=np.zeros_like
    ),
    uses=("dc/E3-floor",),
    finding=(
        "Orthogonal inputs become correlated: the mean rises from 0 to the floor within"
        " a few times 1/mu layers and stays there, for ReLU at 1.896/m and for the"
        " second Hermite polynomial at 1/m; for the sign it stays at 0."
    ),
    figure="correlation_floor",
)

THM_F1_ODD = statistical(
    id="dc/thmF.1-odd",
    items=("ThmF.1", "E3"),
    title="Odd activations decorrelate inputs with depth, at finite width too",
    statement=r"\sigma \text{ odd} \;\Rightarrow\;"
    r" \lim_{L \to \infty} m\, \mathbb{E}\,\rho_L = e^{-\Omega(m)}",
    assumptions=(
        "m >= 128: no network maps the pair to correlation 1 or -1, but for e^{-Omega(m)}",
        "L of the order of log(m)/mu or more",
    ),
    source=ours("Theorem F.1 (corrected, of odd activations)"),
    # Depths at which m (1 - mu)^L < 0.02: below the discrepancy by far.
    cases=(
        _curve("sign", 128, rho=0.9, depth=60),
        _curve("sin", 128, rho=-0.9, depth=80),
    ),
    larger_cases={
        "full": (
            _curve("sign", 512, rho=0.99, depth=60, chains=16_000),
            _curve("sin", 512, rho=0.99, depth=120, chains=16_000),
            _curve("erf", 512, rho=0.9, depth=160, chains=16_000),
        )
    },
    predict=_corrected_floor,
    measure=_CHAIN_END,
    compare=MeanEquals(discrepancy=0.6, rounding=0.19),
    must_refute=mistake("The floor of ReLU, which is not odd.", activation="relu"),
    uses=("dc/E3-corrected", "dc/eq22"),
)

THM_F1_ODD_RATE = statistical(
    id="dc/thmF.1-odd-rate",
    items=("ThmF.1", "E3"),
    title="Odd activations at finite width obey the infinite-width bound, layer by layer",
    statement=r"\sigma \text{ odd} \;\Rightarrow\; \mathbb{E}\,\rho_l"
    r" \le B(l, \delta), \quad l = 1, \dots, L",
    assumptions=("m >= 128; both sides are told times m",),
    source=as_read("Theorem F.1 (odd activations)"),
    cases=tuple(
        _curve(name, 128, rho=rho, depth=20, chains=8000)
        for name, rho in (("sign", 0.9), ("sin", 0.7))
    ),
    predict=_predict_odd_decay,
    measure=_measure_chain,
    # In units of 1/m: half of the resolution of dc/E3-corrected in each layer.
    compare=MeanAtMost(discrepancy=1.0, rounding=1e-3),
    must_refute=_wrong_odd_decay,
    uses=("dc/thm3.2", "dc/eq3"),
)

EQ24 = statistical(
    id="dc/eq24",
    title="No statistical query beats the mean absolute correlation of two random inputs",
    statement=r"\mathbb{E}_W (\mathbb{E}_x f_W g)^2 \le"
    r" \mathbb{E}_{x,x'} |\mathbb{E}_W\, \rho_L(x, x')|, \quad |g| \le 1",
    assumptions=(
        "uniform inputs on half of the hypercube",
        "sign activation: the right side is exact",
        "queries: constant, coordinates, two parities, majority",
    ),
    source=quoted("Equation 24"),
    cases=(_cube(3, 400, activation="sign"), _cube(10, 200, activation="sign")),
    predict=_predict_query_bound,
    measure=_measure_queries,
    # The diagonal alone is 1/128 = 0.0078: an excess of that size would be seen.
    compare=MeanAtMost(discrepancy=0.0078, rounding=1e-7),
    must_refute=_wrong_query_bound,
    uses=("dc/eq3",),
)

THM_51_PRINTED = statistical(
    id="dc/thm5.1-as-read",
    items=("Thm5.1", "ThmF.2", "E3"),
    title="No constant predictor correlates with a deep random ReLU network (as read)",
    statement=r"\mathbb{E}_W (\mathbb{E}_x f_W)^2 \le \frac{1}{2^{d-1}} + e^{-\Omega(L)}",
    assumptions=("half hypercube", "width polynomial in the depth", "normalised ReLU"),
    source=as_read("Equation 24, on which Theorems 5.1 and F.2 rest"),
    cases=(_cube(60, 200, activation="relu"),),
    predict=_printed_query_size,
    measure=partial(_measure_entry, _measure_queries, 0),
    must_hold=_corrected_query_size,
    # Rounding: the floor's next order, 10 % of 1.896/128. Discrepancy: the floor itself
    # is 0.0148; two thirds of it.
    compare=MeanEquals(discrepancy=0.01, rounding=0.0015),
    expected=Outcome.REFUTED,
    uses=("dc/E3-corrected",),
    finding=(
        "The constant query g = 1 alone is correlated with a ReLU network of width m by"
        " about 2/m in mean square at every depth, so a width polynomial in the depth"
        " cannot make the number of queries exponential in it."
    ),
)

THM_51_ODD = statistical(
    id="dc/thm5.1-odd",
    loose=True,
    items=("Thm5.1", "ThmF.2", "Eq24"),
    title="One query of tolerance tau rarely learns anything about an odd deep network",
    statement=r"\Pr_W(|\mathbb{E}_x f_W g| > \tau) \le"
    r" \frac{\mathbb{E}_{x,x'} |\mathbb{E}_W\, \rho_L|}{\tau^2}",
    assumptions=("sign activation", "half hypercube", "Gaussian readout"),
    source=as_read("Theorems 5.1 and F.2"),
    cases=tuple(_cube(20, 200, tolerance=t) for t in (0.15, 0.3)),
    predict=_predict_query_success,
    measure=_measure_query_success,
    # Frequencies near 0.1: an excess of 0.05 over the bound would be seen.
    compare=MeanAtMost(discrepancy=0.05),
    must_refute=_wrong_query_success,
    uses=("dc/eq24", "dc/thmF.1-odd"),
    finding=(
        "The exponent e^{Omega(min(L, d))} and the polynomial factor are not specified;"
        " what is checked is the step that turns small mean correlations into a number"
        " of queries, tau^2 / E of them. With a Gaussian readout Chebyshev's inequality"
        " is too large by 1 / max x^2 Pr(|Z| > x) = 3.02 at least; the probability itself:"
        " dc/thm5.1-gaussian."
    ),
)

THM_51_GAUSSIAN = statistical(
    id="dc/thm5.1-gaussian",
    items=("Thm5.1", "ThmF.2"),
    title="A query exceeds its tolerance as often as a Gaussian of the diagonal's variance",
    statement=r"\Pr_W(|\mathbb{E}_x f_W g| > \tau) \to 2 \Phi(-\tau\, 2^{(d-1)/2}),"
    r" \quad g \in \{-1, 1\}",
    assumptions=THM_51_ODD.assumptions,
    source=ours("Theorems 5.1 and F.2 (sharpened)"),
    cases=tuple(_cube(20, 200, tolerance=t) for t in (0.15, 0.2)),
    predict=_predict_gaussian_success,
    measure=_measure_query_success,
    # The variance of one network's queries varies by sqrt(2/128) of itself: half of the
    # second derivative in it times its square is below 0.003. Sampling: 200 networks.
    compare=MeanEquals(discrepancy=0.05, rounding=0.003),
    must_refute=_predict_query_success,
    uses=("dc/thm5.1-odd",),
)
