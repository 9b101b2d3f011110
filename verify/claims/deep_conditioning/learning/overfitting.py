"""Benign overfitting: minimum-norm interpolation with a deep kernel (section 9).

Populations are finite, so that their covariance, best linear predictor and risks are
sums. Large ones are equally spaced points of a circle: the kernel matrix is circulant,
and its norm follows from one Fourier transform. Theorem 6.1 itself: `interpolation`.
"""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import special

from theory import activations as act
from theory import optimization as rates
from verify.claim import Case, Claim, adversarial, grid, numeric, statistical
from verify.claims._predictors import mistake, scaled, times
from verify.claims.deep_conditioning._sources import ours, quoted
from verify.claims.deep_conditioning.learning import _populations as pop
from verify.compare import AgreesTo, Array, AtMost, Estimate, MeanAtMost, MeanEquals

# --- delta(s, eta) -------------------------------------------------------------------


def _measure_lattice(
    *, s: int, atoms: int, steps: int, draws: int, seed: int
) -> Estimate:
    """Frequency of s points of the circle being `steps` apart, up to sign."""
    rng = np.random.default_rng(seed)
    angle = 2.0 * np.pi * rng.integers(0, atoms, (draws, s)) / atoms
    x = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    rho = np.abs(x @ x.transpose(0, 2, 1))[:, ~np.eye(s, dtype=bool)]
    # Half way between two possible distances: rounding cannot matter.
    return Estimate.of(rho.max(axis=1) < math.cos(np.pi * (steps - 0.5) / atoms))


def _predict_lattice(*, s: int, atoms: int, steps: int, **_: Any) -> float:
    """Pr of s i.i.d. points of a cycle of atoms being at least `steps` apart.

    Sets without steps - 1 neighbours: N/M C(M, s), M = N - (steps-1) s; over N^s / s!.
    """
    free = atoms - (steps - 1) * s
    if free < s:
        return 0.0
    log = math.log(atoms / free) - s * math.log(atoms)
    return math.exp(log + math.lgamma(free + 1) - math.lgamma(free - s + 1))


def _wrong_lattice(*, s: int, atoms: int, steps: int, **_: Any) -> float:
    """Half of the forbidden arc, as if antipodes were far apart."""
    return (1.0 - s * (steps - 1) / (2.0 * atoms)) ** (s - 1)


def _sphere(s: int, dim: int, eta: float) -> Case:
    # Pr(|x.x'| > c) = I_{1 - c^2}((dim-1)/2, 1/2); the union over pairs is eta.
    pairs = s * (s - 1) / 2
    tail = special.betaincinv((dim - 1) / 2, 0.5, eta / pairs)
    delta = -math.expm1(math.log1p(-tail) / 2.0)
    return {"s": s, "dim": dim, "delta": delta, "draws": 20_000, "seed": 4}


def _measure_sphere(
    *, s: int, dim: int, delta: float, draws: int, seed: int
) -> Estimate:
    """Frequency of two of s uniform points being nearer than delta, up to sign."""
    x = np.random.default_rng(seed).standard_normal((draws, s, dim))
    x /= np.linalg.norm(x, axis=2, keepdims=True)
    gram = x @ x.transpose(0, 2, 1)
    near = np.abs(gram)[:, ~np.eye(s, dtype=bool)].max(axis=1) > 1.0 - delta
    return Estimate.of(near)


def _predict_sphere(*, s: int, dim: int, delta: float, **_: Any) -> float:
    tail = special.betainc((dim - 1) / 2, 0.5, delta * (2.0 - delta))
    return float(tail) * s * (s - 1) / 2


# --- the covariance of a deep kernel (Lemma G.1) -------------------------------------


def _distinct(s: int, atoms: int, first: float) -> float:
    """Pr of s draws being distinct, when one atom has probability `first`."""
    rest = atoms - 1

    def others(j: int) -> float:
        return math.exp(sum(math.log1p(-i / rest) for i in range(j)))

    none = (1.0 - first) ** s * others(s)
    return none + s * first * (1.0 - first) ** (s - 1) * others(s - 1)


def circle_case(s: int, atoms: int, first: float) -> Case:
    """Return a case that meets the lemma's hypothesis with eta = 1/2.

    Distinct atoms are at least 1 - cos(pi/N) apart, opposite ones included.
    """
    if _distinct(s, atoms, first) < 0.5:
        raise ValueError(
            f"circle_case: {atoms} atoms are too few for {s} distinct draws"
        )
    delta = 2.0 * math.sin(math.pi / atoms / 2.0) ** 2
    depth = rates.overfitting_depth(delta, act.relu.normalized().mu, s)
    return {"s": s, "atoms": atoms, "first": first, "depth": depth}


def _measure_norm(*, atoms: int, first: float, depth: int, **_: Any) -> float:
    return pop.circle_norm(atoms, depth, first)


def _predict_norm(*, s: int, form: Any = "printed", **_: Any) -> float:
    return rates.covariance_norm_bound(s, form=form)


def _wrong_norm(*, s: int, **_: Any) -> float:
    """The bound on the sample covariance taken for the population's."""
    return 1.5 / s


# --- excess risk of small problems (Lemma G.3, equations 25 and 26) ------------------


def _small(**spec: Any) -> tuple[pop.Problem, Array, Array, float]:
    p = pop.problem(spec)
    theta = p.optimum
    noise = p.y[p.drawn] - p.sample @ theta
    return p, theta, noise, float(np.linalg.eigvalsh(p.covariance)[-1])


def _solved(part: str, **spec: Any) -> Any:
    return getattr(pop.solved(spec), part)


def _predict_identity(**spec: Any) -> float:
    p, theta, _, _ = _small(**spec)
    fitted = np.linalg.lstsq(p.sample, p.y[p.drawn], rcond=1e-10)[0]
    # |Sigma^(1/2) v|^2 as the second moment of v.x.
    return float(p.weights @ (p.x @ (fitted - theta)) ** 2)


def _predict_terms(**spec: Any) -> float:
    p, theta, noise, _ = _small(**spec)
    return rates.excess_risk_terms(p.sample, p.covariance, theta, noise).total


def _predict_bias(**spec: Any) -> float:
    _, theta, _, norm = _small(**spec)
    return norm * float(theta @ theta)


def _wrong_bias(**spec: Any) -> float:
    """The mean eigenvalue in the place of the largest."""
    p, theta, _, _ = _small(**spec)
    return float(np.trace(p.covariance) / len(theta) * (theta @ theta))


def _predict_noise(**spec: Any) -> float:
    p, theta, _, norm = _small(**spec)
    least = float(np.linalg.svd(p.sample, compute_uv=False)[-1]) ** 2
    return norm * len(p.drawn) * (1.0 + float(np.linalg.norm(theta))) ** 2 / least


def _wrong_noise(**spec: Any) -> float:
    """1 + |theta*|^2, as if labels were uncorrelated with theta*.x."""
    _, theta, _, _ = _small(**spec)
    size = float(np.linalg.norm(theta))
    return _predict_noise(**spec) * (1.0 + size**2) / (1.0 + size) ** 2


DELTA = statistical(
    id="dc/delta",
    title="Separation of random points on a circle, in closed form",
    statement=r"\Pr\left[\max_{i \ne j} |x_i \cdot x_j| \le \cos\tfrac{\pi k}{N}\right]"
    r" = \frac{s!}{N^s} \frac{N}{M} \binom{M}{s}, \quad M = N - (k-1)s",
    assumptions=("x uniform on N equally spaced points, N odd",),
    source=ours("Section 6, delta(s, eta) of points on a circle"),
    cases=(
        {"s": 2, "atoms": 9, "steps": 2, "draws": 20_000, "seed": 1},
        {"s": 12, "atoms": 101, "steps": 1, "draws": 20_000, "seed": 2},
        {"s": 12, "atoms": 729, "steps": 4, "draws": 20_000, "seed": 3},
    ),
    predict=_predict_lattice,
    measure=_measure_lattice,
    # 20,000 draws: standard error 0.0035, nine of which resolve 0.032.
    compare=MeanEquals(discrepancy=0.04),
    must_refute=_wrong_lattice,
    uses=("dc/delta-sample",),
    finding=(
        "delta(s, eta) is the largest delta at which this probability is 1 - eta. With"
        " atoms it is zero as soon as two draws coincide with probability above eta:"
        " N equal atoms need s^2 < 2 N log(1/(1-eta)), so Theorem 6.1 at sample size n"
        " needs more than n^4/(2 log 2) distinct inputs. No data set has them for n in"
        " the thousands."
    ),
)

DELTA_SPHERE = statistical(
    id="dc/delta-sphere",
    title="Separation of random points on a sphere, by the union bound",
    statement=r"\Pr\left[\max_{i \ne j} |x_i \cdot x_j| > 1 - \delta\right] \le"
    r" \binom{s}{2} I_{\delta(2 - \delta)}\left(\tfrac{d-1}{2}, \tfrac12\right)",
    assumptions=("x uniform on the sphere of R^d",),
    source=ours("Section 6, delta(s, eta) of points on a sphere"),
    cases=(_sphere(8, 3, 0.1), _sphere(16, 3, 0.1), _sphere(16, 10, 0.1)),
    predict=_predict_sphere,
    measure=_measure_sphere,
    # Near-sharp: pairs are almost independent, so that 0.095 of 0.1 is attained.
    compare=MeanAtMost(discrepancy=0.02),
    must_refute=mistake("Opposite points taken for far apart.", then=times(1.0 / 2.0)),
    uses=("dc/delta-sample",),
    finding="Hence delta(s, eta) is of order (eta/s^2)^{2/(d-1)} in dimension d.",
)

_CIRCLES = (
    *(circle_case(s, n, 0.0) for s, n in ((64, 6561), (128, 19_683), (256, 59_049))),
    *(
        circle_case(s, n, heavy / s)
        for s, n, heavy in ((16, 6561, 1.6), (64, 177_147, 1.64), (128, 177_147, 1.6))
    ),
)


def _of_lemma(**fields: Any) -> Claim:
    return numeric(
        items=("LemG.1",),
        assumptions=(
            "normalised ReLU, eta = 1/2, s >= 10",
            "population: equally spaced points of a circle, one possibly heavier",
            "depth L_0(delta(s, eta)) + log s / -log(1 - mu/2)",
        ),
        cases=_CIRCLES,
        measure=_measure_norm,
        # Largest eigenvalue by FFT or Lanczos: 1e-12.
        compare=AtMost(relative=1e-11, trivial=1.0),
        must_refute=_wrong_norm,
        uses=("dc/delta", "dc/thm3.2", "dc/lemG.1-values"),
        **fields,
    )


LEM_G1 = _of_lemma(
    id="dc/lemG.1",
    loose=True,
    title="The covariance operator of a deep kernel has norm O(log(s)/s)",
    statement=r"\|\Sigma\| \le \frac{28}{3} \frac{\log(8s/3)}{s}",
    source=ours("Lemma G.1 (constant by the matrix Bernstein inequality)"),
    predict=_predict_norm,
    finding=(
        "At the prescribed depth the kernel of the whole population is the identity"
        " up to rounding, so that ||Sigma|| is the probability of the largest atom."
        " For 59,049 equal atoms (s = 256) it is below 3.18/s already at depth 25,"
        " where 197 layers are prescribed. The bound is vacuous (above 1) below s ="
        " 45, where it is 14 times what is possible at all (dc/lemG.1-without-log);"
        " above, it is too large by a factor log s, because Bernstein's inequality for"
        " matrices counts their dimension."
    ),
)

LEM_G1_SHARPER = _of_lemma(
    id="dc/lemG.1-without-log",
    title="Lemma G.1 holds without its logarithm, and that rate is sharp",
    statement=r"\frac{3}{2s} < \sup \|\Sigma\| \le \frac{3.18}{s}",
    source=ours("Lemma G.1 (sharpened)"),
    predict=partial(_predict_norm, form="sharp"),
    finding=(
        "For Sigma's top unit eigenvector u let z_i = (u.Phi(x_i))^2. With probability 1/2"
        " the k largest of s draws sum to at most 1 + (k - 1)/(2s), the largest eigenvalue"
        " of their kernel matrix, so that (1, 1/(2s), ..., 1/(2s)) majorises them and the"
        " product of 1 - t z_i is at least (1 - t)(1 - t/(2s))^(s - 1). Its mean is (1 - t"
        " ||Sigma||)^s; the best t gives s ||Sigma|| <= 1/2 - W_-1(-1/(2e)) = 3.18. An atom"
        " of probability 1.68/s meets the hypothesis as s grows: the rate is sharp."
    ),
)


def _of_small_problems(*, sharp: tuple[Case, ...] = (), **fields: Any) -> Claim:
    return adversarial(
        assumptions=(
            "finite population, unit features, labels in [-1, 1]",
            "K non-singular",
        ),
        cases=(*pop.SHARP, *sharp),
        examples=pop.problems,
        max_examples=60,
        **fields,
    )


# Condition numbers of sample and population below 1e3 and 1e4 in singular values: K is
# solved to 1e6 * 2e-16 * 10 = 2e-9 of its terms.
_FLOAT = 1e-8
_NOT_TWICE = scaled(_predict_terms, 0.5, "Bias and noise added without the factor two.")

IDENTITY = _of_small_problems(
    id="dc/lemG.3-identity",
    title="Excess risk is the squared distance to the optimum in the norm of Sigma",
    statement=r"R(\hat\theta) - R(\theta^*)"
    r" = \|\Sigma^{1/2}(\hat\theta - \theta^*)\|^2",
    source=quoted("Lemma G.3"),
    predict=_predict_identity,
    measure=partial(_solved, "excess"),
    compare=AgreesTo(relative=_FLOAT, absolute=1e-13),
    must_refute=_NOT_TWICE,
)

LEM_G3 = replace(
    IDENTITY,
    id="dc/lemG.3",
    title="Excess risk of interpolation is at most twice the bias plus twice the noise",
    statement=r"R(\hat\theta) - R(\theta^*) \le 2 \theta^{*T} B \theta^*"
    r" + 2 \varepsilon^T C \varepsilon",
    predict=_predict_terms,
    compare=AtMost(relative=_FLOAT),
    uses=("dc/lemG.3-identity",),
    finding=(
        "The factor 2 is sharp. It is attained in the limit in which one rare point"
        " is drawn and all others lie half way between it and a direction it does not"
        " see."
    ),
)

EQ25 = _of_small_problems(
    id="dc/eq25",
    title="The bias of interpolation is at most |Sigma| times the optimum's squared norm",
    statement=r"\theta^{*T} B \theta^* \le \|\Sigma\| \|\theta^*\|^2",
    source=quoted("Equation 25"),
    sharp=grid(kind="missed", rare=(0.1, 0.3)),
    predict=_predict_bias,
    measure=partial(_solved, "bias"),
    compare=AtMost(relative=_FLOAT),
    must_refute=_wrong_bias,
    uses=("dc/lemG.3",),
    finding="Sharp when theta* is Sigma's top direction and the sample misses it.",
)

EQ26 = _of_small_problems(
    id="dc/eq26",
    title="The noise of interpolation is bounded by |Sigma| over the kernel's least"
    " eigenvalue",
    statement=r"\varepsilon^T C \varepsilon \le"
    r" \frac{\|\Sigma\| n (1 + \|\theta^*\|)^2}{\lambda_{\min}(K)}",
    source=quoted("Equation 26"),
    sharp=grid(kind="contrary", norm=(0.25, 0.9)),
    predict=_predict_noise,
    measure=partial(_solved, "noise"),
    compare=AtMost(relative=_FLOAT),
    must_refute=_wrong_noise,
    uses=("dc/lemG.3",),
    finding="Attained for n = 1, by an input whose label contradicts the optimum.",
)
