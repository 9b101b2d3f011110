r"""Lemmas C.5 and C.14 proved for 33 activations of the catalogue, on all of [-1, 1].

For sigma normalised, ``p_k = a_k^2`` are non-negative and sum to one, so that with
``q_j = sum_{k > j} p_k = 1 - p_1 - ... - p_j``

    (1 - dual(rho)) / (1 - rho) = sum_j q_j rho^j,
    dual(rho) / rho = sum_k p_k rho^(k-1):

the quotients of the lemma's branches, regular where each branch is an equality. The
first energies are enclosed by rigorous integration of the activation itself, what is
left of the sums is bounded by what is left of the energy, and the polynomials are
bounded on covering boxes. The slopes are handled likewise at the end.
"""

import flint

from theory import conditioning
from verify.claim import certified, grid
from verify.claims._predictors import mistake, scaled, times
from verify.claims.deep_conditioning._sources import ours, quoted
from verify.claims.deep_conditioning._subjects import mu_of, subject
from verify.claims.deep_conditioning.proved._energies import (
    CATALOGUE,
    ORDER,
    Energies,
    energies,
    least,
    powers,
)
from verify.compare import CertifiedAtLeast, Enclosure
from verify.enclose import BITS, above, below

# --- the branches ---------------------------------------------------------------------
#
# Each branch says that a gain is large enough, with the factor that vanishes at its end
# divided out:
#
#   near    (1 - |dual|)/(1 - |rho|) - 1 = sum_{j>=1} q_j r^j + ... >= mu/2, r >= 1/2
#   far     1 - |dual|/|rho| = 1 - sum_k p_k (+-1)^k r^(k-1)        >= mu/2, r <= 1/2
#   middle  the near gain over r = sum_{j>=1} q_j r^(j-1)            >= mu,   0 <= r < 1
#
# with r = |rho|; the last is dual(r) <= r (1 - mu (1 - r)).


def _near(found: Energies) -> Enclosure:
    gain = (0 * found.q[0], *found.q[1:])
    # At rho = -r the gain is larger by 2 min(even, odd)/(1 - r), where 1/(1 - r) >= 2.
    even, odd = (
        tuple(
            g + 4 * c * (k % 2 == parity)
            for k, (g, c) in enumerate(zip(gain, found.p, strict=True))
        )
        for parity in (0, 1)
    )
    lower, boxes = least((powers(gain), powers(even), powers(odd)), (0.5, 1.0))
    # The terms left out are positive: at most q_{K-1} r^j each, at r = 1/2.
    with flint.ctx.workprec(BITS):
        half = flint.arb(1) / 2
        rest = found.q[-1] * half ** (ORDER - 1)
        upper = above(powers(gain)(half) + rest)
    return Enclosure(
        lower, upper, "every rho with 1/2 <= |rho| < 1, and |rho| -> 1", boxes
    )


def _far(found: Energies) -> Enclosure:
    same = tuple(-c for c in found.p[1:])
    mixed = tuple(c if k % 2 else -c for k, c in enumerate(same))
    gains = tuple(
        powers((1 + signs[0], *signs[1:]))
        for signs in (same, mixed, tuple(-c for c in mixed))
    )
    lower, boxes = least(gains, (0.0, 0.5))
    # The terms left out hold the energy q_{K-1}, of either sign: at most that times
    # (1/2)^{K-1}. At rho = 1/2 they only reduce the gain.
    with flint.ctx.workprec(BITS):
        half = flint.arb(1) / 2
        rest = found.q[-1] * half ** (ORDER - 1)
        worst = below(flint.arb(lower) - rest)
        upper = above(gains[0](half))
    return Enclosure(
        worst, upper, "every rho with 0 < |rho| <= 1/2, and rho -> 0", boxes
    )


def _middle(found: Energies) -> Enclosure:
    gain = powers(found.q[1:])
    lower, boxes = least((gain,), (0.0, 1.0))
    with flint.ctx.workprec(BITS):
        upper = above(gain(flint.arb(0)))
    return Enclosure(lower, upper, "every rho in [0, 1), and rho -> 1", boxes)


_BRANCHES = {"near": _near, "far": _far, "middle": _middle}


def _measure(*, activation: str, branch: str) -> Enclosure:
    return _BRANCHES[branch](energies(activation))


def _predict(*, activation: str, branch: str) -> float:
    """Read the gain at |rho| = 1/2 off the library's bound."""
    mu = subject(activation).mu
    bound = float(conditioning.one_layer_bound(0.5, mu, middle=branch == "middle"))
    if branch == "near":
        return (1.0 - bound) / 0.5 - 1.0
    if branch == "far":
        return 1.0 - bound / 0.5
    # Attained as rho -> 0 by every activation: less mu's and this line's rounding.
    return (1.0 - bound / 0.5) / 0.5 * (1.0 - 1e-12)


# --- slopes ---------------------------------------------------------------------------
#
# With D >= sum_{k<K} k p_k + K q_{K-1}, the least that the rest of the energy allows, and
# r^(k-1) <= r^(K-1) for what is left out,
#
#   (1 - dual'(r)/D)/(1 - r) >= sum_{j<K-1} b_j r^j,  b_j = 1 - sum_{k<=j+1} k p_k / D,
#
# where a larger D makes every coefficient larger. At -r the dual's slope is at most as
# large. The sum is to be at least 2 mu/(1 + mu).


def _measure_slope(*, activation: str) -> Enclosure:
    found = energies(activation)
    with flint.ctx.workprec(BITS):
        d = sum((k * p for k, p in enumerate(found.p)), ORDER * found.q[-1])
        coefficients, so_far = [], flint.arb(0)
        for k in range(1, ORDER):
            so_far += k * found.p[k]
            coefficients.append(1 - so_far / d)
        lower, boxes = least((powers(tuple(coefficients)),), (0.0, 1.0))
        # At r = 0 the quotient is 1 - p_1/D: known where the energies end, else below 1.
        ends = found.q[-1].is_exact() and found.q[-1] == 0
        upper = above(coefficients[0]) if ends else 1.0
    return Enclosure(lower, upper, "every rho with |rho| < 1, and |rho| -> 1", boxes)


def _predict_slope(*, activation: str) -> float:
    # Attained at every r by quadratics: less mu's and this line's rounding.
    bound = float(conditioning.derivative_bound(1.0, subject(activation).mu))
    return (1.0 - bound) * (1.0 - 1e-12)


CLAIMS = (
    certified(
        id="dc/lemC.5-certificate",
        title="One layer separates inputs at every correlation: 33 activations (certified)",
        statement=r"\frac{1 - |\hat\sigma(\rho)|}{1 - |\rho|} - 1 \ge \frac{\mu}{2}"
        r"\ \left(\tfrac12 \le |\rho| < 1\right),\quad"
        r" 1 - \frac{|\hat\sigma(\rho)|}{|\rho|} \ge \frac{\mu}{2}"
        r"\ \left(0 < |\rho| \le \tfrac12\right),\quad"
        r" \frac{1}{1 - \rho}\left(1 - \frac{\hat\sigma(\rho)}{\rho}\right)"
        r" \ge \mu\ (0 < \rho < 1)",
        source=quoted("Lemma C.5"),
        cases=grid(activation=CATALOGUE, branch=tuple(_BRANCHES)),
        predict=_predict,
        measure=_measure,
        compare=CertifiedAtLeast(),
        must_refute=mistake(
            "The gains without their halves: mu for mu/2, and 2 mu for mu.",
            then=times(2.0),
        ),
        uses=("dc/lemC.5", "dc/def3.1-enclosed"),
        assumptions=(
            "energies are squares and sum to the variance (Parseval)",
            "Ball arithmetic (Arb): integrals at 100 bits, boxes at 160",
        ),
        finding=(
            "The first two are sharp for the second Hermite polynomial at |rho| = 1/2,"
            " for which 0.51 in place of 1/2 is refuted; the last is sharp for every"
            " activation as rho tends to 0. At rho = 0 and |rho| = 1 the lemma's sides"
            " may be equal; the quotients are bounded up to there."
        ),
    ),
    certified(
        id="dc/lemC.14-certificate",
        title="The slope of the dual relative to its slope at one: 31 activations"
        " (certified)",
        statement=r"\frac{1}{1 - |\rho|}\left(1 - \frac{|\hat\sigma'(\rho)|}{D}\right) \ge"
        r" \frac{2\mu}{1 + \mu} \ge \mu, \quad |\rho| < 1",
        source=ours("Lemma C.14 (sharpened)"),
        cases=grid(activation=tuple(n for n in CATALOGUE if n not in ("step", "sign"))),
        predict=_predict_slope,
        measure=_measure_slope,
        compare=CertifiedAtLeast(),
        must_refute=scaled(mu_of, 2.0, "2 mu, not divided by 1 + mu."),
        uses=("dc/lemC.14-sharp", "dc/tab2-slopes-enclosed"),
        assumptions=(
            "energies are squares and sum to the variance (Parseval)",
            "square-integrable derivative",
            "Ball arithmetic (Arb): integrals at 100 bits, boxes at 160",
        ),
        finding=(
            "This is the step behind the bound on the tangent kernel: together with"
            " the bound on correlations, it makes every term of the sum over layers"
            " at most the last one. It is sharp for the second Hermite polynomial at"
            " every rho."
        ),
    ),
)
