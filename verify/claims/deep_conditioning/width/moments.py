"""Kernels of narrow networks: means and variances to order 1/width (sections 0, 1, E13).

Measured on drawn networks, weight matrices and all, or, where many draws are needed, on
the Markov chain of the Gram matrices of successive layers.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from empirical.conditioning import named, pair_chains
from empirical.data import pair_inputs
from empirical.randomness import torch_generator
from theory import activations as act
from theory import kernels
from theory import width as finite
from verify.claim import grid, statistical
from verify.claims._predictors import changed
from verify.claims.deep_conditioning._sources import ours
from verify.claims.deep_conditioning._subjects import normalised
from verify.claims.deep_conditioning.width.networks import drawn_kernels
from verify.compare import Array, Estimate, MeanEquals

# --- the measured side ---------------------------------------------------------------


def _drawn(*, rho: float, **case: Any) -> Array:
    """Return four entries a draw, (draws, 4): NNGP and NTK, diagonal and off it."""
    each = drawn_kernels(pair_inputs(rho), **case)
    return np.concatenate([kernel[:, 0] for kernel in each], axis=1)


def _spread(values: Array, groups: int) -> Array:
    """Return unbiased variances of groups of draws, (groups, ...)."""
    return values.reshape(groups, -1, *values.shape[1:]).var(axis=1, ddof=1)


def _measure_variance(*, width: int, groups: int, **case: Any) -> Estimate:
    return Estimate.of(width * _spread(_drawn(width=width, **case), groups))


def _measure_extrapolated(
    drawn: Callable[..., Array], *, width: int, groups: int, seed: int, **case: Any
) -> Estimate:
    """Twice the width's variance less the narrow one's: the order 1/width^2 cancels."""
    narrow, wide = (
        size * _spread(drawn(width=size, seed=seed + size, **case), groups)
        for size in (width, 2 * width)
    )
    return Estimate.of(2.0 * wide - narrow)


def _tangents(**case: Any) -> Array:
    return _drawn(**case)[:, 2:]


def _measure_mean(drawn: Callable[..., Array], **case: Any) -> Estimate:
    return Estimate.of(drawn(**case))


def _chain(
    activation: Callable[[Any], Any], *, rho: float, draws: int, seed: int, **sizes: Any
) -> tuple[Array, Array]:
    """Return squared lengths and correlations of a pair behind the last layer."""
    runs = pair_chains(
        rho,
        activation=activation,
        chains=draws,
        generator=torch_generator(seed, "units"),
        dtype=torch.float32,
        **sizes,
    )
    return runs.squared_norms[:, -1], runs.correlations[:, -1]


def _products(*, activation: str, **case: Any) -> Array:
    """Squared length of one input and product of two, (draws, 2), from the chain."""
    lengths, correlations = _chain(named(activation), **case)
    product = correlations * np.sqrt(lengths.prod(axis=1))
    return np.column_stack([lengths[:, 0], product])


def _measure_length(**case: int) -> Estimate:
    """Fourth power of a ReLU network's length; its square has mean one."""
    lengths, _ = _chain(lambda x: math.sqrt(2.0) * torch.relu(x), rho=0.0, **case)
    return Estimate.of(lengths[:, 0] ** 2)


# --- the predicted side --------------------------------------------------------------


_EVERY, _TOP, _TANGENT = slice(None), slice(2), slice(2, None)
"""Of both kernels, in the order measured: all entries, those of one, of the other."""


def _predict_variance(
    which: slice, *, activation: str, rho: float, depth: int, width: int, **_: Any
) -> Array:
    return width * _variances(rho, normalised(activation), depth, width)[which]


def _variances(rho: float, s: act.Activation, depth: int, size: int) -> Array:
    """Return both kernels' on the diagonal and at `rho`."""
    pair = np.array([1.0, rho])
    nngp = finite.nngp_variance(pair, s, depth, size)
    return np.concatenate([nngp, finite.ntk_variance(pair, s, depth, size)])


def _gaussian_variance(*, activation: str, rho: float, **_: Any) -> Array:
    """Wick's rule as if sigma(u) were Gaussian, without the fourth cumulant."""
    s = normalised(activation)
    out = _variances(rho, s, 1, 1)
    product = float(s.dual(rho))
    out[:2] = 2.0, 1.0 + product**2
    return out


def _last_layer(
    which: slice, *, activation: str, rho: float, depth: int, **_: Any
) -> Array:
    """The last layer's own fluctuation alone."""
    # That of a single layer whose inputs have the correlation of the layer before.
    s = normalised(activation)
    before = float(kernels.nngp_map(rho, s, depth - 1))
    return _variances(before, s, 1, 1)[which]


def _predict_mean(mean: Callable[..., Array], *, width: int, **case: Any) -> Array:
    return _infinite_mean(partial(mean, width=width), **case)


def _infinite_mean(
    mean: Callable[..., Array], *, activation: str, rho: float, depth: int, **_: Any
) -> Array:
    """The kernel of infinite width, without its correction."""
    return np.asarray(mean([1.0, rho], normalised(activation), depth=depth))


def _predict_length(*, depth: int, width: int, **_: Any) -> float:
    return finite.length_moment(act.relu, depth, width)


def _exponential_length(*, depth: int, width: int, **_: Any) -> float:
    """The exponential that the power tends to at large width."""
    return math.exp(5.0 * depth / width)


_SHALLOW = partial(
    grid, activation=("relu", "erf", "tanh"), depth=1, groups=100, seed=21
)

ONE_LAYER = statistical(
    id="dc/lemC.4-variance",
    items=("LemC.4", "Eq1", "Eq7"),
    title="One hidden layer: variances of both kernels from fourth moments, at every width",
    statement=r"m\,\mathrm{Var}\,K^{(m)} = \mathbb{E}\,\sigma(u)^2\sigma(v)^2 -"
    r" \hat\sigma(\rho)^2, \quad m\,\mathrm{Var}\,\Theta^{(m)} = m\,\mathrm{Var}\,K^{(m)}"
    r" + 2\rho\,\mathrm{Cov}(\sigma\sigma, \sigma'\sigma') +"
    r" \rho^2 (3\,\mathbb{E}\,\sigma'(u)^2\sigma'(v)^2 - \hat\sigma'(\rho)^2)",
    assumptions=("one hidden layer, one output", "standard Gaussian weights"),
    source=ours("Lemma C.4 and equation 7, at finite width"),
    cases=_SHALLOW(rho=0.5, width=16, draws=40_000),
    larger_cases={"full": _SHALLOW(rho=(-0.5, 0.0, 0.9), width=(4, 64), draws=100_000)},
    predict=partial(_predict_variance, _EVERY),
    measure=_measure_variance,
    # Sampling: a variance from 40,000 draws is known to sqrt((k - 1)/40,000) = 1 % for
    # a kurtosis k of 5; 10 standard errors of the largest, the NTK's 17, are 1.7. The
    # Gaussian rule is off by 2.4 for ReLU and by 1.4 for erf on the NNGP's diagonal,
    # where ten standard errors are 0.4 and 0.06.
    compare=MeanEquals(discrepancy=2.5, rounding=1e-4),
    must_refute=_gaussian_variance,
    uses=("dc/eq1",),
    finding="Exact at width 16: a layer's units are independent, and only the fourth"
    " moments of one unit enter.",
)

_WIDE = partial(grid, activation=("erf", "tanh"), rho=(0.0, 0.9), width=64)

DEEP = statistical(
    id="dc/E13-fluctuations",
    items=("E13", "E3"),
    title="Finite-width fluctuations of the deep kernel accumulate layer by layer",
    statement=r"V^{(l+1)} = \mathrm{Cov}(\sigma\sigma, \sigma\sigma) + \partial F\,"
    r" V^{(l)}\, \partial F^T, \quad m\,\mathrm{Var}\,K^{(m)} = V^{(L)} + O(1/m)",
    assumptions=(
        "F_ab(K) = E sigma(u_a) sigma(u_b), the next layer's kernel as a function of K",
        "three hidden layers",
        "extrapolated from widths m and 2 m",
    ),
    source=ours("Equation 1, at finite width"),
    cases=grid(
        activation="tanh", rho=0.5, depth=3, width=32, draws=60_000, groups=100, seed=28
    ),
    larger_cases={"full": _WIDE(depth=3, draws=100_000, groups=100, seed=28)},
    predict=partial(_predict_variance, _TOP),
    measure=partial(_measure_extrapolated, _products),
    # 0.8 and 2.2. Sampling: each of the two variances to sqrt((k - 1)/60,000) = 0.7 % at
    # a kurtosis k of 4, combined with weights 2 and 1 to 1.6 %; 10 times that of 2.2 is
    # 0.35. Second order in L/m: (3/32)^2 = 0.9 %, some three times over: 0.06. The last
    # layer alone is off by 1.2.
    compare=MeanEquals(discrepancy=0.5, rounding=0.06),
    must_refute=partial(_last_layer, _TOP),
    uses=("dc/lemC.4-variance",),
)

TANGENT = statistical(
    id="dc/eq7-fluctuations",
    items=("Eq7", "E13"),
    title="Finite-width fluctuations of the deep tangent kernel accumulate layer by layer",
    statement=r"m\,\mathrm{Var}\,\Theta^{(m)}_{ab} = A_{ab,ab} + B_{ab,ab} + B_{ab,ba}"
    r" + O(1/m)",
    assumptions=(
        "A and B: covariances of tangent kernels of two units, derived in theory.width",
        "three hidden layers, one output",
        "extrapolated from widths m and 2 m",
    ),
    source=ours("Equation 7, at finite width"),
    cases=grid(
        activation="tanh", rho=0.5, depth=3, width=32, draws=24_000, groups=80, seed=25
    ),
    larger_cases={"full": _WIDE(depth=2, draws=40_000, groups=80, seed=25)},
    predict=partial(_predict_variance, _TANGENT),
    measure=partial(_measure_extrapolated, _tangents),
    # 106 and 20. Sampling: each of the two variances to sqrt((k - 1)/24,000) = 1.4 % at
    # a kurtosis k of 6, combined with weights 2 and 1 to 3.2 %; 11 times that of 106 is
    # 38 (Student's t with 79 degrees of freedom). Second order in L/m: (3/32)^2 = 0.9 %,
    # some three times over: 2.8. The last layer alone is off by 100.
    compare=MeanEquals(discrepancy=45.0, rounding=2.8),
    must_refute=partial(_last_layer, _TANGENT),
    uses=("dc/E13-fluctuations",),
)

CHAIN = statistical(
    id="dc/E13-length",
    items=("E13", "Eq1"),
    title="Fourth moment of the output length of deep ReLU networks, exact at every width",
    statement=r"\mathbb{E}|\Phi(x)|^4 = (1 + 5/m)^L \,(\mathbb{E}|\Phi(x)|^2)^2",
    assumptions=("ReLU, uncentred, scaled to keep the mean squared length",),
    source=ours("Equation 1, at finite width; Hanin and Nica (2020)"),
    cases=grid(width=16, depth=4, draws=120_000, seed=23),
    predict=_predict_length,
    measure=_measure_length,
    # (1 + 5/16)^4 = 2.97, and e^{5/4} = 3.49. The eighth moment of the length is
    # (1 + 52.5/16)^4 at most, a spread of 18 = sqrt(337): 10 * 18 / sqrt(120,000) = 0.5.
    compare=MeanEquals(discrepancy=0.51, rounding=1e-4),
    must_refute=_exponential_length,
    uses=("dc/lemC.4-variance",),
    finding="Layers multiply the squared length by independent factors; the exponential"
    " of 5 L/m is the limit of wide networks only.",
)

_NARROW = partial(
    grid, activation=("relu", "erf"), rho=(0.0, 0.5), depth=(2, 3), width=24
)

BIAS = statistical(
    id="dc/lemC.4-bias",
    items=("LemC.4", "E3"),
    title="Deep narrow networks: the mean top-layer kernel to order 1/width",
    statement=r"\mathbb{E}\,K^{(m)} = K + \frac{k^{(L)}}{m} + O\left(\frac{1}{m^2}\right),"
    r" \quad k^{(l+1)} = \partial F\, k^{(l)} + \tfrac12\, \partial^2 F : V^{(l)}",
    assumptions=("F and V as dc/E13-fluctuations", "three hidden layers"),
    source=ours("Lemma C.4, at finite width"),
    cases=grid(activation="relu", rho=0.5, depth=3, width=24, draws=60_000, seed=27),
    larger_cases={"full": _NARROW(draws=400_000, seed=27)},
    predict=partial(_predict_mean, finite.nngp_mean),
    measure=partial(_measure_mean, _products),
    # The corrections are 0.064 and 0.052. Second order: a factor 3 L/m = 0.38 of the
    # first, 0.024. Sampling: spreads 0.85 and 0.5 over 245, 10 standard errors of the
    # first are 0.035; 6.5 of the second 0.013, so that a mean without correction is
    # refuted by the product.
    compare=MeanEquals(discrepancy=0.06, rounding=0.024),
    must_refute=partial(_infinite_mean, kernels.nngp_map),
    uses=("dc/E13-fluctuations",),
)

TANGENT_BIAS = statistical(
    id="dc/eq7-bias",
    items=("Eq7", "LemC.4"),
    title="Deep narrow networks: the mean tangent kernel to order 1/width",
    statement=r"\mathbb{E}\,\Theta^{(m)} = \Theta + \frac1m \theta"
    r" + O\left(\frac{1}{m^2}\right)",
    assumptions=(
        "the correction theta as theory.width derives it",
        "three hidden layers, one output",
    ),
    source=ours("Equation 7, at finite width"),
    cases=grid(activation="relu", rho=0.5, depth=3, width=24, draws=16_000, seed=24),
    larger_cases={"full": _NARROW(draws=100_000, seed=24)},
    predict=partial(_predict_mean, finite.ntk_mean),
    measure=partial(_measure_mean, _tangents),
    # Corrections: 0.1 on the diagonal and 0.22 off it. Second order: a factor 3 L/m =
    # 0.38 of them, 0.08. Sampling: spreads 5.1 and 1.7 over 126: 10 standard errors of
    # the diagonal are 0.4; 6.5 of the other entry 0.09, so that a mean without the
    # correction is refuted by it.
    compare=MeanEquals(discrepancy=0.5, rounding=0.08),
    must_refute=changed(
        partial(_infinite_mean, kernels.ntk_map),
        "The tangent kernel of infinite width, without its correction.",
    ),
    uses=("dc/eq7-fluctuations",),
)
