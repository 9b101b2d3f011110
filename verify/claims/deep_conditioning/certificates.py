r"""Lemmas C.5 and C.14 proved for every activation of the catalogue, on all of [-1, 1].

For sigma normalised, ``p_k = a_k^2`` are non-negative and sum to one, so that with
``q_j = sum_{k > j} p_k = 1 - p_1 - ... - p_j``

    (1 - dual(rho)) / (1 - rho) = sum_j q_j rho^j,
    dual(rho) / rho = sum_k p_k rho^(k-1):

the quotients of the lemma's branches, regular where each branch is an equality. The
first energies are enclosed by rigorous integration of the activation itself, what is
left of the sums is bounded by what is left of the energy, and the polynomials are
bounded on covering boxes. The slopes are handled likewise at the end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import flint

from theory import conditioning
from verify.claim import Claim, Evidence, Source, grid
from verify.claims.deep_conditioning._subjects import NORMRELU, subject
from verify.compare import CertifiedAtLeast, Enclosure
from verify.enclose import (
    BITS,
    Function,
    Interval,
    above,
    below,
    minimum,
    partial,
)
from verify.reading import Reading

_KEY = "agarwal2021deep"
_ORDER = 12  # energies enclosed one by one; at rho = 1/2 the others weigh 2^-11
_INTEGRATION_BITS = 100

# --- the catalogue as analytic pieces -------------------------------------------------
#
# `acb.integral` needs functions that say when they are not analytic on a complex ball.


def _unless(fails: Any, value: Callable[[], Any]) -> Any:
    return flint.acb(flint.arb.nan()) if fails else value()


def _strip(z: Any) -> bool:
    """Whether a ball may reach the branch cuts of atan, at +-i and beyond."""
    return not abs(z.imag) < 1


def _softplus(z: Any) -> Any:
    grown = 1 + z.exp()
    return _unless(not grown.real > 0, grown.log)


def _asinh(z: Any) -> Any:
    # Faster on wide balls than Arb's own, which does not signal its cuts either.
    square = 1 + z * z
    if not (abs(z.imag) < 1 and square.real > 0):
        return flint.acb(flint.arb.nan())
    inner = z + square.sqrt()
    return _unless(not inner.real > 0, inner.log)


def _half(z: Any) -> Any:
    return z / flint.arb(2).sqrt()


def _sigmoid(z: Any) -> Any:
    return 1 / (1 + (-z).exp())


def _mish(z: Any) -> Any:
    # tanh(log(1 + e^z)) = (u - 1)/(u + 1), u = (1 + e^z)^2.
    square = (1 + z.exp()) ** 2
    return z * (square - 1) / (square + 1)


def _tanh(z: Any) -> Any:
    return 1 - 2 / ((2 * z).exp() + 1)


def _nought(z: Any) -> Any:
    return 0 * z


def _one(z: Any) -> Any:
    return 0 * z + 1


def _itself(z: Any) -> Any:
    return z


def _elu(z: Any) -> Any:
    return z.exp() - 1


def _selu(z: Any) -> Any:
    return flint.arb(1.6732632423543772) * (z.exp() - 1)


Analytic = Callable[[Any], Any]
_PIECES: dict[str, tuple[tuple[float, ...], tuple[Analytic, ...]]] = {
    "erf": ((), (lambda z: z.erf(),)),
    "tanh": ((), (_tanh,)),
    "sigmoid": ((), (_sigmoid,)),
    "gelu": ((), (lambda z: z * _half(-z).erfc() / 2,)),
    "silu": ((), (lambda z: z * _sigmoid(z),)),
    "softplus": ((), (_softplus,)),
    "exp": ((), (lambda z: z.exp(),)),
    "sin": ((), (lambda z: z.sin(),)),
    "cos": ((), (lambda z: z.cos(),)),
    "arctan": ((), (lambda z: _unless(_strip(z), z.atan),)),
    "asinh": ((), (_asinh,)),
    "gaussian": ((), (lambda z: (-z * z / 2).exp(),)),
    "mish": ((), (_mish,)),
    "softsign": ((0.0,), (lambda z: z / (1 - z), lambda z: z / (1 + z))),
    "relu": ((0.0,), (_nought, _itself)),
    "abs": ((0.0,), (lambda z: -z, _itself)),
    "leaky_relu(0.01)": ((0.0,), (lambda z: flint.arb(0.01) * z, _itself)),
    "leaky_relu(0.2)": ((0.0,), (lambda z: flint.arb(0.2) * z, _itself)),
    "relu_squared": ((0.0,), (_nought, lambda z: z * z)),
    "step": ((0.0,), (_nought, _one)),
    "sign": ((0.0,), (lambda z: 0 * z - 1, _one)),
    "hard_tanh": ((-1.0, 1.0), (lambda z: 0 * z - 1, _itself, _one)),
    "elu": ((0.0,), (_elu, _itself)),
    "selu": ((0.0,), (_selu, _itself)),
    NORMRELU: (
        (-1.5907658564412685,),
        (_nought, lambda z: z - flint.arb(-1.5907658564412685)),
    ),
}
_POLYNOMIALS = {"hermite(2)": 2, "hermite(3)": 3}
CATALOGUE = (*_POLYNOMIALS, *_PIECES)

# --- rigorous energies ----------------------------------------------------------------

_REACH = 16
# Every piece is at most 2 e^|x|, and |h_k(x)| phi(x) <= 0.44 e^{-x^2/4} (Cramer), so
# the tails hold at most 2 e^{R - R^2/4} / (R/2 - 1) < 4.1e-22; those of s^2 phi less.
_TAIL = 4.1e-22


@dataclass(frozen=True)
class Energies:
    """Balls of p_1 .. p_{K-1} and q_0 .. q_{K-1} of the normalised activation."""

    p: tuple[Any, ...]
    q: tuple[Any, ...]


def _integral(name: str, weight: Callable[[Any, Any], Any]) -> Any:
    """Enclose E weight(X, s(X)), tails included."""
    kinks, functions = _PIECES[name]
    cuts = [flint.arb(-_REACH), *map(flint.arb, kinks), flint.arb(_REACH)]
    norm = (2 * flint.arb.pi()).sqrt()
    total = flint.acb(0)
    for (low, high), function in zip(pairwise(cuts), functions, strict=True):
        total += flint.acb.integral(
            lambda z, _, f=function: weight(z, f(z)) * (-z * z / 2).exp() / norm,
            low,
            high,
            abs_tol=flint.arb(2) ** -80,
        )
    return total.real + flint.arb(0, _TAIL)


def _hermite(z: Any, order: int) -> Any:
    low, high = 0 * z, 0 * z + 1
    for n in range(order):
        low, high = (
            high,
            (z * high - flint.arb(n).sqrt() * low) / flint.arb(n + 1).sqrt(),
        )
    return high


@lru_cache(maxsize=64)
def energies(name: str) -> Energies:
    """Return the enclosed energies of an activation of the catalogue, normalised."""
    with flint.ctx.workprec(_INTEGRATION_BITS):
        if name in _POLYNOMIALS:
            degree = _POLYNOMIALS[name]
            p = [flint.arb(int(k == degree)) for k in range(_ORDER)]
        else:
            p = _integrated(name)
        q = [flint.arb(1)]
        for value in p[1:]:
            # Exact zeros past the last energy; otherwise non-negative by definition.
            left = q[-1] - value
            q.append(left if left.is_exact() else left.nonnegative_part())
        return Energies(tuple(p), tuple(q))


def _integrated(name: str) -> list[Any]:
    a = [_integral(name, lambda z, s, k=k: s * _hermite(z, k)) for k in range(_ORDER)]
    square = _integral(name, lambda _, s: s * s)
    variance = square - a[0] * a[0]
    return [flint.arb(0), *(c * c / variance for c in a[1:])]


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


def _powers(coefficients: tuple[Any, ...]) -> Function:
    def value(x: Any) -> Any:
        total = 0 * x
        for c in reversed(coefficients):
            total = total * x + c
        return total

    return value


def _least(functions: tuple[Function, ...], interval: Interval) -> tuple[float, int]:
    """Return a lower bound of all functions on an interval, and the boxes it took."""
    covers = [
        minimum(f, (interval,), gradient=(partial(f, 0),), tolerance=1e-9)
        for f in functions
    ]
    return min(c.lower for c in covers), sum(len(c.leaves) for c in covers)


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
    lower, boxes = _least((_powers(gain), _powers(even), _powers(odd)), (0.5, 1.0))
    # The terms left out are positive: at most q_{K-1} r^j each, at r = 1/2.
    with flint.ctx.workprec(BITS):
        half = flint.arb(1) / 2
        rest = found.q[-1] * half ** (_ORDER - 1)
        upper = above(_powers(gain)(half) + rest)
    return Enclosure(
        lower, upper, "every rho with 1/2 <= |rho| < 1, and |rho| -> 1", boxes
    )


def _far(found: Energies) -> Enclosure:
    same = tuple(-c for c in found.p[1:])
    mixed = tuple(c if k % 2 else -c for k, c in enumerate(same))
    gains = tuple(
        _powers((1 + signs[0], *signs[1:]))
        for signs in (same, mixed, tuple(-c for c in mixed))
    )
    lower, boxes = _least(gains, (0.0, 0.5))
    # The terms left out hold the energy q_{K-1}, of either sign: at most that times
    # (1/2)^{K-1}. At rho = 1/2 they only reduce the gain.
    with flint.ctx.workprec(BITS):
        half = flint.arb(1) / 2
        rest = found.q[-1] * half ** (_ORDER - 1)
        least = below(flint.arb(lower) - rest)
        upper = above(gains[0](half))
    return Enclosure(
        least, upper, "every rho with 0 < |rho| <= 1/2, and rho -> 0", boxes
    )


def _middle(found: Energies) -> Enclosure:
    gain = _powers(found.q[1:])
    lower, boxes = _least((gain,), (0.0, 1.0))
    with flint.ctx.workprec(BITS):
        upper = above(gain(flint.arb(0)))
    return Enclosure(lower, upper, "every rho in [0, 1), and rho -> 1", boxes)


_BRANCHES = {"near": _near, "far": _far, "middle": _middle}


def _measure(*, activation: str, branch: str) -> Enclosure:
    return _BRANCHES[branch](energies(activation))


def _gain(mu: float, branch: str) -> float:
    """Read the gain at |rho| = 1/2 off the library's bound."""
    bound = float(conditioning.one_layer_bound(0.5, mu, middle=branch == "middle"))
    if branch == "near":
        return (1.0 - bound) / 0.5 - 1.0
    if branch == "far":
        return 1.0 - bound / 0.5
    # Attained as rho -> 0 by every activation: less mu's and this line's rounding.
    return (1.0 - bound / 0.5) / 0.5 * (1.0 - 1e-12)


def _predict(*, activation: str, branch: str) -> float:
    return _gain(subject(activation).mu, branch)


def _wrong(*, activation: str, branch: str) -> float:
    # 0.51 in place of one half.
    return 1.02 * subject(activation).mu * (1.0 if branch == "middle" else 0.5)


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
        d = sum((k * p for k, p in enumerate(found.p)), _ORDER * found.q[-1])
        coefficients, so_far = [], flint.arb(0)
        for k in range(1, _ORDER):
            so_far += k * found.p[k]
            coefficients.append(1 - so_far / d)
        lower, boxes = _least((_powers(tuple(coefficients)),), (0.0, 1.0))
        # At r = 0 the quotient is 1 - p_1/D: known where the energies end, else below 1.
        ends = found.q[-1].is_exact() and found.q[-1] == 0
        upper = above(coefficients[0]) if ends else 1.0
    return Enclosure(lower, upper, "every rho with |rho| < 1, and |rho| -> 1", boxes)


def _predict_slope(*, activation: str) -> float:
    # Attained at every r by quadratics: less mu's and this line's rounding.
    bound = float(conditioning.derivative_bound(1.0, subject(activation).mu))
    return (1.0 - bound) * (1.0 - 1e-12)


def _wrong_slope(*, activation: str) -> float:
    return 1.02 * _predict_slope(activation=activation)


CLAIMS = (
    Claim(
        id="dc/lemC.5-certificate",
        items=("LemC.5",),
        title="One layer separates inputs: whole catalogue, every correlation",
        statement=(
            r"\frac{1 - |\hat\sigma(\rho)|}{1 - |\rho|} - 1 \ge \frac{\mu}{2}"
            r"\ \left(\tfrac12 \le |\rho| < 1\right),\quad"
            r" 1 - \frac{|\hat\sigma(\rho)|}{|\rho|} \ge \frac{\mu}{2}"
            r"\ \left(0 < |\rho| \le \tfrac12\right),\quad"
            r" \frac{1}{1 - \rho}\left(1 - \frac{\hat\sigma(\rho)}{\rho}\right)"
            r" \ge \mu\ (0 < \rho < 1)"
        ),
        source=Source(_KEY, "Lemma C.5"),
        evidence=Evidence.CERTIFICATE,
        cases=grid(activation=CATALOGUE, branch=tuple(_BRANCHES)),
        predict=_predict,
        measure=_measure,
        compare=CertifiedAtLeast(),
        must_refute=_wrong,
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
    Claim(
        id="dc/lemC.14-certificate",
        items=("LemC.14",),
        title="The slope of the dual away from one: whole catalogue, every correlation",
        statement=(
            r"\frac{1}{1 - |\rho|}\left(1 - \frac{|\hat\sigma'(\rho)|}{D}\right) \ge"
            r" \frac{2\mu}{1 + \mu} \ge \mu, \quad |\rho| < 1"
        ),
        source=Source(_KEY, "Lemma C.14 (sharpened)", Reading.OURS),
        evidence=Evidence.CERTIFICATE,
        cases=grid(activation=tuple(n for n in CATALOGUE if n not in ("step", "sign"))),
        predict=_predict_slope,
        measure=_measure_slope,
        compare=CertifiedAtLeast(),
        must_refute=_wrong_slope,
        assumptions=(
            "energies are squares and sum to the variance (Parseval)",
            "square-integrable derivative",
            "Ball arithmetic (Arb): integrals at 100 bits, boxes at 160",
        ),
        finding=(
            "The step behind the tangent kernel's bound: with the correlations' own it"
            " makes every term of the sum over layers at most the last. Sharp for the"
            " second Hermite polynomial at every rho."
        ),
    ),
)
