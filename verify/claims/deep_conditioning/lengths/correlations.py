"""Correlations of inputs off the unit sphere (Theorem 3.11 and what leads to it).

The measured side integrates the definitions with its own quadratures.
"""

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from theory import conditioning as dc
from theory import lengths as closed
from verify.claim import Case, adversarial, grid
from verify.claims._predictors import mistake, times
from verify.claims._searches import searched
from verify.claims.deep_conditioning._sources import as_read, quoted
from verify.claims.deep_conditioning.lengths._definitions import (
    ODD,
    Array,
    expectation,
    function,
    gaussian_rule,
    iterate,
    iterated_lengths,
    length,
    predicted_activation,
)
from verify.compare import AtLeast, AtMost


def linear_energy(name: str, scale: float, gamma: float) -> float:
    """a_1(gamma)^2 = (E X s(sqrt(gamma) X))^2."""
    s, x = function(name, scale), gaussian_rule()[0]
    return expectation(x * s(math.sqrt(gamma) * x)) ** 2


# --- one layer, then many -------------------------------------------------------------


def _predict_one_layer(
    *, name: str, scale: float, rho: float, times: float = 1.0, **gammas: float
) -> float:
    a = predicted_activation(name, scale)
    mus = [times * closed.generalised_mu(a, g) for g in gammas.values()]
    return closed.odd_correlation_bound(rho, *mus)


def _measure_one_layer(**case: Any) -> float:
    return abs(float(iterate(**case, depth=1)[1, 2]))


_FRACTIONS = np.linspace(-1.0, 1.0, 9)


def _predict_half_mu(*, name: str, scale: float) -> float:
    return predicted_activation(name, scale).mu / 2.0


def _measure_nonlinearity(*, name: str, scale: float) -> Array:
    mu = 1.0 - linear_energy(name, scale, 1.0)
    gammas = 1.0 + _FRACTIONS * mu / 2.0
    return np.array(
        [1.0 - linear_energy(name, scale, g) / length(name, scale, g) for g in gammas]
    )


def _predict_decay(
    *, name: str, scale: float, rho: float, depth: int, **gammas: float
) -> Array:
    return closed.correlation_bound_any_length(
        predicted_activation(name, scale),
        delta=1.0 - abs(rho),
        depth=range(depth + 1),
        **gammas,
    )


def _wrong_decay(
    *, name: str, scale: float, rho: float, depth: int, **gammas: float
) -> Array:
    """A rate of three mu, steeper than the slope 1 - mu at the origin."""
    a, bounds = predicted_activation(name, scale), np.ones(depth + 1)
    late = closed.settling_depth(a, **gammas)
    layers = np.arange(depth + 1 - late)
    bounds[late:] = dc.correlation_bound(layers, 1.0 - abs(rho), 3.0 * a.mu)
    return bounds


def _measure_decay(**case: Any) -> Array:
    return np.abs(iterate(**case)[:, 2])


_NO_BOUND = 1e6  # nothing is claimed for these layers


def _predict_settled(
    *, name: str, scale: float, depth: int, rho: float, sooner: int = 1, **gammas: float
) -> Array:
    a, allowed = predicted_activation(name, scale), np.full(depth + 1, _NO_BOUND)
    allowed[closed.settling_depth(a, **gammas) // sooner :] = a.mu / 2.0
    return allowed


def _measure_settled(
    *, name: str, scale: float, gamma_x: float, gamma_y: float, depth: int, **_: Any
) -> Array:
    found = [iterated_lengths(name, scale, g, depth) for g in (gamma_x, gamma_y)]
    return np.abs(np.array(found) - 1.0).max(axis=0)


_DECAY_EXAMPLES = searched(
    name=st.sampled_from(ODD),
    scale=st.floats(0.5, 5.0),
    gamma_x=st.floats(0.5, 4.0),
    gamma_y=st.floats(0.5, 4.0),
    rho=st.floats(-0.999, 0.999),
    depth=st.just(40),
)


_DECAY_CASES: tuple[Case, ...] = (
    # As far from one as is settled from the start: mu/2 = 0.034765.
    *grid(name="tanh", scale=1.0, gamma_x=0.96525, gamma_y=1.0, rho=0.5, depth=4),
    *grid(
        name=("tanh", "erf"),
        scale=(1.0, 3.0),
        gamma_x=2.0,
        gamma_y=(0.5, 4.0),
        rho=(0.9, -0.99),
        depth=60,
    ),
    *grid(name="softsign", scale=1.0, gamma_x=1.0, gamma_y=1.0, rho=0.3, depth=60),
)
LEM_D6 = adversarial(
    id="dc/lemD.6",
    title="One layer of an odd activation shrinks the correlation of inputs of any two"
    " lengths",
    statement=r"|\rho'| \le \sqrt{g_{\mu(\gamma_1)}(\delta)\,"
    r" g_{\mu(\gamma_2)}(\delta)}",
    assumptions=(
        "odd activation, delta = 1 - |rho|",
        "g_mu(delta) = 1 - (1 + mu/2) delta up to 1/2, (1 - mu/2)(1 - delta) beyond",
    ),
    source=quoted("Lemma D.6"),
    # Sines are odd, and neither increasing nor concave.
    cases=tuple(
        case
        for name, scale in (*((name, 3.0) for name in ODD), ("sin", 1.0))
        for case in grid(
            name=name,
            scale=scale,
            gamma_x=2.0,
            gamma_y=(0.5, 1.0),
            rho=(-0.5, 0.1, 0.5, 0.9, 1.0),
        )
    ),
    predict=_predict_one_layer,
    measure=_measure_one_layer,
    # Sectors leave 1e-14 of a correlation, that of a sine of scale one 9e-15. Of mu, a
    # difference of one and energies to 2e-15, half counts.
    compare=AtMost(rounding=1.2e-14),
    must_refute=mistake("All of mu in the place of its half.", times=2.0),
    uses=("dc/lemC.5", "dc/eq16", "dc/lemD.6-mu"),
    examples=searched(
        name=st.sampled_from(ODD),
        scale=st.floats(0.1, 5.0),
        gamma_x=st.floats(0.05, 8.0),
        gamma_y=st.floats(0.05, 8.0),
        rho=st.floats(-1.0, 1.0),
    ),
    max_examples=100,
)
EQ20 = adversarial(
    id="dc/eq20",
    title="Within mu/2 of unit squared length, the non-linearity coefficient is at least"
    " mu/2",
    statement=r"|\gamma - 1| \le \mu / 2 \;\Rightarrow\; \mu(\gamma) \ge \mu / 2",
    assumptions=(
        "odd, increasing, concave on the positive half line",
        "E sigma(X)^2 = 1",
    ),
    source=as_read("Equation 20"),
    cases=grid(name=ODD, scale=(0.2, 3.0)),
    predict=_predict_half_mu,
    measure=_measure_nonlinearity,
    # 1 - a_1^2/E s^2 of quadratures with relative rounding 1e-13.
    compare=AtLeast(rounding=1e-12),
    must_refute=mistake("All of mu in the place of its half.", then=times(2.0)),
    examples=searched(name=st.sampled_from(ODD), scale=st.floats(0.1, 5.0)),
    max_examples=60,
    uses=("dc/lemD.6-mu", "dc/thmD.1"),
)
THM_311 = adversarial(
    id="dc/thm3.11",
    items=("Thm3.11", "ThmD.9"),
    title="Under odd activations, correlations also decay for inputs off the unit sphere",
    statement=r"|\rho_L| \le B_{\mu/2}(L - \hat L, \delta), \quad L \ge \hat L",
    assumptions=(
        "odd, increasing, concave on the positive half line, not linear",
        "squared lengths at least 1/2, |cos| <= 1 - delta",
    ),
    source=as_read("Theorems 3.11 and D.9"),
    cases=_DECAY_CASES,
    predict=_predict_decay,
    measure=_measure_decay,
    # Sectors leave 5e-15 of a correlation of these functions in each of 40 layers, which
    # later ones enlarge as distances from one grow: from 1e-3 to one half, 500 times. In
    # the 60 layers of the cases from 0.01 on it is 50 times.
    compare=AtMost(rounding=1e-10),
    must_refute=_wrong_decay,
    examples=_DECAY_EXAMPLES,
    max_examples=40,
    uses=("dc/thmD.1", "dc/lemD.6", "dc/eq20", "dc/thm3.11-values"),
    finding=(
        "The bound decays about four times more slowly than the correlation: near"
        " zero each layer multiplies the correlation by 1 - mu, and the bound by 1 -"
        " mu/4."
    ),
)
THM_311_LENGTHS = adversarial(
    id="dc/thm3.11-lengths",
    items=("Thm3.11", "ThmD.9", "ThmD.1"),
    title="After the settling depth both squared lengths are within mu/2 of one",
    statement=r"|\gamma_L - 1| \le \frac{\mu}{2}, \quad L \ge \hat L = \left\lceil"
    r" \frac{\log(2 t_0 / \mu)}{\log(1 / \alpha_\sigma)} \right\rceil",
    assumptions=("as dc/thm3.11", "t_0 is the larger of |gamma_x - 1|, |gamma_y - 1|"),
    source=as_read("Theorems 3.11 and D.9"),
    cases=_DECAY_CASES,
    predict=_predict_settled,
    measure=_measure_settled,
    # As in dc/thmD.1, of 60 layers of lengths up to 4; mu/2 to 1e-15.
    compare=AtMost(rounding=2.5e-13),
    must_refute=mistake("Lengths settled after a third of the layers.", sooner=3),
    examples=_DECAY_EXAMPLES,
    max_examples=40,
    uses=("dc/thmD.1",),
)
