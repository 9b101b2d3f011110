"""Squared lengths off the unit sphere, layer by layer (appendix D).

The measured side integrates the definitions with its own quadratures; wide networks are
drawn as well.
"""

from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from theory import activations as act
from theory import lengths as closed
from verify.claim import adversarial, grid, numeric, statistical
from verify.claims._predictors import changed, mistake, plus
from verify.claims._searches import searched
from verify.claims.deep_conditioning._sources import as_read, ours, quoted
from verify.claims.deep_conditioning.lengths._definitions import (
    ODD,
    Array,
    function,
    iterate,
    iterated_lengths,
    length,
    predicted_activation,
)
from verify.compare import AgreesTo, AtLeast, AtMost, Estimate, MeanEquals

# --- D.0: the layers by definition ----------------------------------------------------


def _predict_layers(*, name: str, **start: Any) -> Array:
    return np.column_stack(closed.joint_trajectory(predicted_activation(name), **start))


def _wrong_layers(
    *, name: str, gamma_x: float, gamma_y: float, rho: float, depth: int
) -> Array:
    """The dual at unit variances, which gets correlations wrong."""
    a, states = predicted_activation(name), [(gamma_x, gamma_y, rho)]
    for _ in range(depth):
        x, y, r = states[-1]
        states.append((a.length_map(x), a.length_map(y), a.dual(r)))
    return np.array(states, dtype=np.float64)


# --- Lemma D.3, Theorem D.1: lengths --------------------------------------------------

_GAMMAS = np.concatenate([np.linspace(0.01, 1.0, 34), np.linspace(1.25, 8.0, 28)])


def _measure_lengths(*, name: str, scale: float, at: float) -> Array:
    return np.array([length(name, scale, gamma) for gamma in _GAMMAS])


def _predict_tangent(*, name: str, scale: float, at: float) -> Array:
    a = predicted_activation(name, scale)
    slope = float(a.length_map_derivative(at))
    return float(a.length_map(at)) + slope * (_GAMMAS - at)


def _wrong_tangent(*, name: str, scale: float, at: float) -> Array:
    """The chord from the origin in the place of the tangent."""
    a = predicted_activation(name, scale)
    return float(a.length_map(at)) / at * _GAMMAS


def _measure_increase(*, name: str, scale: float) -> Array:
    return np.array([length(name, scale, gamma) for gamma in _GAMMAS[1:]])


def _predict_increase(*, name: str, scale: float, at: Array = _GAMMAS[:-1]) -> Array:
    a = predicted_activation(name, scale)
    return np.array([float(a.length_map(gamma)) for gamma in at])


def deviations(
    *, name: str, scale: float, gamma: float, depth: int, **_case: Any
) -> Array:
    """Return how far squared lengths are from one after 1..depth layers."""
    return np.abs(iterated_lengths(name, scale, gamma, depth)[1:] - 1.0)


def _decay(rate: float, gamma: float, depth: int) -> Array:
    return np.power(rate, np.arange(1.0, depth + 1.0)) * abs(gamma - 1.0)


def decay_from(
    *, name: str, scale: float, gamma: float, depth: int, least: float = 0.5
) -> Array:
    """Bound the same by the rate of the chord from the least squared length."""
    rate = closed.chord_rate(predicted_activation(name, scale), least=least)
    return _decay(rate, gamma, depth)


def _predict_deviation_above(
    *, name: str, scale: float, gamma: float, depth: int, at: float = 1.0
) -> Array:
    slope = float(predicted_activation(name, scale).length_map_derivative(at))
    return _decay(slope, gamma, depth)


# --- wide networks --------------------------------------------------------------------


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
    rng, s = np.random.default_rng(seed), function(name, 1.0)
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


def _predict_networks(*, width: int, draws: int, seed: int, **start: Any) -> Array:
    states = _predict_layers(**start)[1:]
    states[:, 2] *= np.sqrt(states[:, 0] * states[:, 1])
    return states


_TANGENTS = (0.05, 0.25, 0.5, 1.0, 1.5, 2.5, 4.0, 7.0)
_HYPOTHESES = (
    "sigma non-decreasing, sigma(0) = 0",
    "concave on the positive, convex on the negative half line",
    "E sigma(X)^2 = 1",
)
D0 = numeric(
    id="dc/D.0",
    title="One layer's map of two squared lengths and a correlation",
    statement=r"\gamma \leftarrow \hat\sigma_0(\gamma), \quad \rho \leftarrow"
    r" \frac{\hat\sigma(\rho; \gamma_1, \gamma_2)}"
    r"{\sqrt{\hat\sigma_0(\gamma_1) \hat\sigma_0(\gamma_2)}}",
    assumptions=("odd activations", "infinite width"),
    source=quoted("Appendix D"),
    cases=grid(
        name=("tanh", "erf"),
        gamma_x=2.0,
        gamma_y=0.5,
        rho=(-1.0, -0.3, 0.0, 0.9, 1.0),
        depth=2,
    ),
    predict=_predict_layers,
    measure=partial(iterate, scale=1.0),
    # Graded sectors leave 5e-15 of a correlation a layer, and the prediction as much; maps
    # have slopes below 1.1, two layers.
    compare=AgreesTo(absolute=2.1e-14),
    must_refute=_wrong_layers,
    uses=("dc/defC.1-unequal",),
)


def _predict_last(*, gamma: float, share: float = 1.0) -> list[float]:
    found = closed.length_trajectory(act.relu_squared, [gamma, share], 1)
    return (found[1] / [gamma, 1.0]).tolist()


def _measure_last(*, gamma: float) -> list[float]:
    """E max(X, 0)^4 = 3 / 2, times the square of the variance."""
    return [1.5 * gamma, 1.5]


LAST = numeric(
    id="dc/D.0-last",
    items=("D.0",),
    title="The last length may be beyond those whose layers are integrated",
    statement=r"\gamma_1 = \tfrac32 \gamma_0^2 > 10^{150}, \quad"
    r" \sigma(x) = \max(x, 0)^2",
    source=quoted("Appendix D"),
    cases=grid(gamma=(1e100, 1e150)),
    predict=_predict_last,
    measure=_measure_last,
    # A few roundings.
    compare=AgreesTo(relative=1e-15),
    must_refute=mistake("A length of two beside it.", share=2.0),
    uses=("dc/D.0-derivative",),
)


def _predict_on_a_line(*, name: str, rho: float, start: float = 1.0) -> Array:
    # The factor makes lengths whose roots are rounded.
    a, lengths = 0.7 * act.CATALOGUE[name], (np.array([1.0, 0.3, 7.7]), 0.3)
    return closed.joint_trajectory(a, *lengths, start * rho, 6)[2]


def _measure_on_a_line(*, name: str, rho: float) -> list[list[float]]:
    """Multiples of one row have features that are multiples, of the same sign or not."""
    return [[rho] * 3] * 7


ON_A_LINE = numeric(
    id="dc/D.0-line",
    items=("D.0",),
    title="Parallel inputs stay parallel behind jumps, opposite ones opposite",
    statement=r"\sigma(\sqrt{\gamma_1} Z) \propto \sigma(\pm \sqrt{\gamma_2} Z)"
    r"\;\Rightarrow\; \rho_l = \pm 1",
    source=ours("Appendix D"),
    # A correlation that is rounding below one would be a distance, of which jumps take
    # the root.
    cases=(
        *grid(name=("sign", "identity"), rho=(-1.0, 1.0)),
        *grid(name=("step", "relu"), rho=1.0),
    ),
    predict=_predict_on_a_line,
    measure=_measure_on_a_line,
    compare=AgreesTo(absolute=0.0),
    must_refute=mistake("Inputs next to that line.", start=1.0 - 2.0**-53),
    uses=("dc/D.0",),
)
LEM_D3 = adversarial(
    id="dc/lemD.3",
    title="The length map of activations as in Lemma D.3 is concave",
    statement=r"\hat\sigma_0(\gamma) \le \hat\sigma_0(\gamma_0)"
    r" + \hat\sigma_0'(\gamma_0)(\gamma - \gamma_0)",
    assumptions=_HYPOTHESES,
    source=as_read("Lemma D.3"),
    cases=(
        *grid(name=ODD, scale=(1.0, 5.0), at=_TANGENTS),
        # Other scales of SELU have a mean, and centring them breaks s(0) = 0.
        *grid(name="selu", scale=1.0, at=_TANGENTS),
    ),
    predict=_predict_tangent,
    measure=_measure_lengths,
    # Both sides 1e-13 of values below 10; the slope is used over a distance of 8.
    compare=AtMost(rounding=3e-12),
    must_refute=_wrong_tangent,
    examples=searched(
        name=st.sampled_from(ODD), scale=st.floats(0.1, 5.0), at=st.floats(0.05, 8.0)
    ),
    max_examples=60,
    uses=("dc/defC.1-moments",),
    figure="length_maps",
)
LEM_D3_MONOTONE = adversarial(
    id="dc/lemD.3-monotone",
    title="The length map of activations as in Lemma D.3 is non-decreasing",
    statement=r"\gamma \le \gamma' \;\Rightarrow\;"
    r" \hat\sigma_0(\gamma) \le \hat\sigma_0(\gamma')",
    assumptions=_HYPOTHESES,
    source=as_read("Lemma D.3"),
    cases=(*grid(name=ODD, scale=(0.2, 5.0)), {"name": "selu", "scale": 1.0}),
    predict=_predict_increase,
    measure=_measure_increase,
    # Both sides 1e-13 of values below 10.
    compare=AtLeast(rounding=2e-12),
    must_refute=mistake(
        "The length of an input whose square is a tenth larger.", at=1.1 * _GAMMAS[1:]
    ),
    examples=searched(name=st.sampled_from(ODD), scale=st.floats(0.1, 5.0)),
    max_examples=40,
    uses=("dc/defC.1-moments",),
)
THM_D1 = adversarial(
    id="dc/thmD.1",
    items=("ThmD.1", "Eq12", "LemD.3"),
    title="Squared lengths converge to one at the rate of a chord of the length map",
    statement=r"|\gamma_L - 1| \le \alpha_\sigma^L |\gamma_0 - 1|,"
    r" \quad \alpha_\sigma = 2(1 - \hat\sigma_0(1/2))",
    assumptions=(*_HYPOTHESES, "gamma_0 >= 1/2"),
    source=as_read("Theorem D.1 and equation 12"),
    cases=grid(
        name=(*ODD, "selu"), scale=1.0, gamma=(0.5, 0.75, 1.0, 2.0, 8.0), depth=30
    ),
    predict=decay_from,
    measure=deviations,
    # Sums of positive terms, lengths are rounded to 1e-15 of themselves a layer: of 30
    # layers of lengths up to 8, 2.4e-13. The rate has 2e-15, and its powers 30 times that
    # of a distance of 7, 4.2e-13.
    compare=AtMost(rounding=6.6e-13),
    must_refute=changed(
        _predict_deviation_above,
        "The slope at one in the place of the chord's, too fast below one.",
    ),
    examples=searched(
        name=st.sampled_from(ODD),
        scale=st.floats(0.1, 5.0),
        gamma=st.floats(0.5, 8.0),
        depth=st.just(30),
    ),
    max_examples=60,
    uses=("dc/lemD.3", "dc/lemD.3-monotone"),
    finding="The bound is attained in the first layer from gamma_0 = 1/2.",
    figure="length_maps",
)
THM_D1_ABOVE = adversarial(
    id="dc/thmD.1-above-one",
    items=("Eq13", "ThmD.1"),
    title="Squared lengths above one shrink at the rate of the length map's slope at one",
    statement=r"\gamma_0 \ge 1 \;\Rightarrow\; |\gamma_L - 1|"
    r" \le \hat\sigma_0'(1)^L |\gamma_0 - 1|",
    assumptions=_HYPOTHESES,
    source=as_read("Equation 13, layer by layer"),
    cases=grid(name=(*ODD, "selu"), scale=1.0, gamma=(1.0, 1.001, 1.5, 8.0), depth=20),
    predict=_predict_deviation_above,
    measure=deviations,
    # As dc/thmD.1, of 20 layers.
    compare=AtMost(rounding=4.4e-13),
    must_refute=mistake("The slope at squared length two in the place of one.", at=2.0),
    examples=searched(
        name=st.sampled_from(ODD),
        scale=st.floats(0.1, 5.0),
        gamma=st.floats(1.0, 8.0),
        depth=st.just(20),
    ),
    max_examples=60,
    uses=("dc/lemD.3",),
)
_EIGHT_LAYERS = partial(grid, name=("tanh", "normrelu"), gamma_y=0.5, depth=8, seed=311)
WIDE = statistical(
    id="dc/thm3.11-wide-networks",
    items=("Thm3.11", "ThmD.9", "D.0"),
    title="Wide networks with scaled inputs follow the maps of lengths and correlations",
    statement=r"\mathbb{E}\, \frac{|z_l|^2}{m} = \gamma_l + O\left(\frac{1}{m}\right),"
    r" \quad \mathbb{E}\, \frac{z_l \cdot z_l'}{m} = \rho_l"
    r" \sqrt{\gamma_l \gamma_l'} + O\left(\frac{1}{m}\right)",
    assumptions=("standard Gaussian weights", "tanh; NormReLU with SELU's scale"),
    source=ours("Theorem 3.11, at finite width"),
    cases=_EIGHT_LAYERS(gamma_x=2.0, rho=0.9, width=4096, draws=64),
    larger_cases={
        "full": _EIGHT_LAYERS(
            gamma_x=(2.0, 4.0), rho=(0.9, -0.5), width=(1024, 4096, 16_384), draws=256
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
    must_refute=mistake(
        "One hidden layer too many.", depth=plus(1), then=lambda found: found[1:]
    ),
    uses=("dc/D.0",),
)
