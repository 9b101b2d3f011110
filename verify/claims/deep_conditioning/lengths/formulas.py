"""Numbers of activations off the unit sphere: each formula at 60 digits, once more."""

from typing import Any

import mpmath

from theory import activations as act
from theory import lengths
from verify import integrals
from verify.claim import grid, numeric
from verify.claims._predictors import mistake
from verify.claims.deep_conditioning._sources import as_read, ours, quoted
from verify.claims.deep_conditioning._subjects import law, normalised
from verify.claims.deep_conditioning.conditioning.correlations import exact_bound
from verify.compare import AgreesTo


def _at_length(activation: str, gamma: Any) -> list[Any]:
    """Coefficients of the normalised smooth activation at squared length gamma."""
    unit, raw = (
        [integrals.mpf(v) for v in integrals.smooth_coefficients(activation, q)]
        for q in ("1", repr(gamma))
    )
    with mpmath.workprec(integrals.BITS):
        spread = mpmath.sqrt(mpmath.fsum(v * v for v in unit[1:]))
        return [(raw[0] - unit[0]) / spread, *(v / spread for v in raw[1:])]


_UNITS = {"elu": 1.0, "elu(0.6)": 0.6}
"""Exponential units, as they are, and their levels far to the left."""


def _predict_shares(*, activation: str, gamma: float) -> list[float]:
    alpha = _UNITS.get(activation)
    a = normalised(activation) if alpha is None else act.elu(alpha)
    return [lengths.generalised_mu(a, gamma), lengths.rest_share(a, gamma)]


def _measure_shares(*, activation: str, gamma: float) -> list[Any]:
    with mpmath.workprec(integrals.BITS):
        if alpha := _UNITS.get(activation):
            at = integrals.Pieces(1, (0, 0), (0.0,), (1,), elu=alpha, variance=gamma)
            mean, linear, whole = at.coefficient(0), at.coefficient(1), at.dual(1)
        else:
            mean, linear, *rest = _at_length(activation, gamma)
            whole = mpmath.fsum(v * v for v in (mean, linear, *rest))
        return [1 - linear**2 / whole, 1 - (mean**2 + linear**2) / whole]


LEM_D6 = numeric(
    id="dc/lemD.6-mu",
    title="The coefficient of non-linearity mu(gamma) at squared lengths from 1/100 to 9",
    statement=r"\mu(\gamma) = 1 - \frac{a_1(\gamma)^2}{\hat\sigma_0(\gamma)}, \quad"
    r" 1 - \frac{a_0(\gamma)^2 + a_1(\gamma)^2}{\hat\sigma_0(\gamma)}",
    source=quoted("Lemma D.6"),
    cases=(
        *grid(activation=("tanh", "erf", "gelu"), gamma=(0.5, 1.0, 1.75)),
        *grid(activation=("sin", "cos", "exp"), gamma=9.0),
        *grid(activation=tuple(_UNITS), gamma=(0.01, 0.3, 4.0)),
    ),
    predict=_predict_shares,
    measure=_measure_shares,
    # A quotient of two energies, sums of positive terms with a dozen roundings each.
    compare=AgreesTo(relative=3e-15),
    must_refute=mistake(
        "The shares at unit length, whatever the input's length.", gamma=1.0
    ),
    uses=("dc/def3.1", "dc/eq15"),
    version=2,
)


def _predict_settled(
    *, activation: str, gamma_x: float, gamma_y: float, **where: Any
) -> list[float]:
    case = normalised(activation), gamma_x, gamma_y
    return [
        lengths.chord_rate(case[0]),
        lengths.settling_depth(*case),
        lengths.correlation_bound_any_length(*case, **where),
    ]


def _measure_settled(
    *, activation: str, gamma_x: float, gamma_y: float, delta: float, depth: int
) -> list[Any]:
    # A sign has one size at every length.
    a = [1] if activation == "sign" else _at_length(activation, 0.5)
    with mpmath.workprec(integrals.BITS):
        rate = 2 * (1 - mpmath.fsum(v * v for v in a))
        mu = law(activation).mu()
        far, late = max(abs(mpmath.mpf(gamma_x) - 1), abs(mpmath.mpf(gamma_y) - 1)), 0
        while far > mu / 2:
            far, late = rate * far, late + 1
        if depth < late:
            return [rate, late, mpmath.mpf(1)]
        return [rate, late, exact_bound(depth=depth - late, delta=delta, mu=mu / 2)]


THM_311 = numeric(
    id="dc/thm3.11-values",
    items=("Thm3.11", "ThmD.9"),
    title="Contraction rate, settling depth and bound of inputs of squared length from 1/2",
    statement=r"\hat L = \left\lceil \frac{\log(2 |\gamma - 1| / \mu)}{-\log \alpha}"
    r" \right\rceil, \quad |\rho_L| \le B_{\mu/2}(L - \hat L, \delta)",
    assumptions=("gamma: the one of both squared lengths that is farther from one",),
    source=as_read("Theorems 3.11 and D.9"),
    cases=(
        *grid(
            activation=("tanh", "erf"),
            gamma_x=(0.5, 9.0),
            gamma_y=1.2,
            delta=0.1,
            depth=(2, 40, 300),
        ),
        # 3e-7 nearer to one than what would take a layer more.
        *grid(activation="tanh", gamma_x=1.662842243, gamma_y=1.0, delta=0.1, depth=40),
        # One layer settles any length; none is needed where both are settled.
        *grid(activation="sign", gamma_x=(1.0, 9.0), gamma_y=1.0, delta=0.1, depth=7),
    ),
    predict=_predict_settled,
    measure=_measure_settled,
    # A power to 4 ulp, 9e-16, whose base has mu to 1e-15 of itself: 300 mu/4 times that,
    # 6.5e-15 for a mu of 0.086.
    compare=AgreesTo(relative=7.4e-15),
    must_refute=mistake(
        "Inputs of unit length, whose lengths need not settle.",
        gamma_x=1.0,
        gamma_y=1.0,
    ),
    uses=("dc/B-values",),
)


def _predict_terms(*, rho: float, depth: int, **terms: float) -> float:
    return lengths.NormReLUDecay(**terms).bound(rho, depth)


def _measure_terms(*, rho: float, depth: int, **terms: float) -> Any:
    """Iterate r <- rate r + beta t, t <- alpha t."""
    with mpmath.workprec(integrals.BITS):
        found, t = (
            abs(mpmath.mpf(rho)),
            {name: mpmath.mpf(v) for name, v in terms.items()},
        )
        for _ in range(depth):
            found = t["rate"] * found + t["beta"] * t["start"]
            t["start"] *= t["alpha"]
        return found


THM_I1 = numeric(
    id="dc/thmI.1-bound",
    title="The bound of Theorem I.1 solves its recursion",
    statement=r"r_{l+1} = q r_l + \beta t_l, \quad t_{l+1} = \alpha t_l, \quad"
    r" r_0 = |\rho_0| \;\Rightarrow\; r_L = q^L r_0 + \beta t_0"
    r" \sum_{i<L} \alpha^i q^{L-1-i}",
    source=ours("Theorem I.1"),
    cases=grid(
        # At 0.0 the sum has one term, or none before the first layer; at 0.6 equal ones.
        alpha=(0.0, 0.2, 0.6, 0.7),
        beta=0.03,
        start=0.5,
        rate=(0.0, 0.6),
        rho=(-0.4, 0.9),
        depth=(0, 1, 12),
    ),
    predict=_predict_terms,
    measure=_measure_terms,
    # Twelve steps of three roundings: 36 ulps.
    compare=AgreesTo(relative=4e-15),
    must_refute=mistake(
        "The bias of the next layer in the place of each.",
        start=lambda start, *, alpha: alpha * start,
    ),
)


def _predict_rate(*, kink: float, gamma: float, delta: float) -> list[float]:
    a = act.normrelu(kink)
    found = lengths.normrelu_decay(gamma, 1.0, delta, a)
    return [found.alpha, found.beta, found.start, found.rate]


def _measure_rate(*, kink: float, gamma: float, delta: float) -> list[Any]:
    with mpmath.workprec(integrals.BITS):
        moments: dict[float, tuple[Any, Any, Any]] = {}
        for g in (1.0, 0.5, 1.5):
            ramp = integrals.Pieces(1, (0, 0), (kink,), (1,), variance=g)
            mean, linear = ramp.coefficient(0), ramp.coefficient(1)
            moments[g] = (mean, linear, ramp.dual(1))
        shift = -moments[1.0][0]
        scale = 1 / (moments[1.0][2] - shift**2)  # lambda^2
        length, bias, rest = {}, {}, []
        for g, (mean, linear, energy) in moments.items():
            length[g] = scale * (energy + 2 * shift * mean + shift**2)
            bias[g] = scale * (mean + shift) ** 2 / length[g]
            rest.append(1 - bias[g] - scale * linear**2 / length[g])
        alpha, far = 2 * (1 - length[0.5]), abs(mpmath.mpf(gamma) - 1)
        beta = 2 * max(bias[0.5], bias[1.5])
        return [
            *(alpha, beta, far),
            1 - min(rest) * (mpmath.mpf(delta) - beta * far / (1 - alpha)),
        ]


THM_I1_RATE = numeric(
    id="dc/thmI.1-constants",
    items=("ThmI.1", "Eq28"),
    title="Values of the constants in NormReLU's decay of correlations",
    statement=r"\alpha_1, \quad \beta_0, \quad t_0, \quad q = 1 - \mu_-"
    r" \left(\delta - \frac{\beta_0 t_0}{1 - \alpha_1}\right)",
    assumptions=("as dc/thmI.1",),
    source=ours("Theorem I.1"),
    cases=grid(kink=(-1.59, -1.0), gamma=(0.5, 1.25), delta=(0.5, 0.9)),
    predict=_predict_rate,
    measure=_measure_rate,
    # Of beta as in dc/eq28; the others are a few operations on numbers of size one.
    compare=AgreesTo(relative=1e-13),
    must_refute=mistake(
        "The rate of inputs that are orthogonal at the start.", delta=1.0
    ),
    uses=("dc/eq28", "dc/thmI.1-rest"),
)
