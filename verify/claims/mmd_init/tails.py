"""How far normal perturbations go: Theorem 1 and the lemmas of its proof."""

import itertools
import math
from functools import cache, partial
from typing import Any

import mpmath
from hypothesis import strategies as st

from theory import mmd
from verify.claim import adversarial, grid, numeric
from verify.claims._halving import bisected, lowest
from verify.claims._predictors import always, drawn, mistake, times, unlike
from verify.claims._searches import searched
from verify.claims.mmd_init._sources import ours, quoted
from verify.compare import AgreesTo, AtMost, Outcome

_NETWORK = (784, 392, 392, 392, 2)


# --- Theorem 1 ------------------------------------------------------------------------


def _radius(count: int, eta: float) -> float:
    return math.sqrt(count * (1.0 + eta))


def _measure_tail(*, count: int, eta: float, deviation: float = 1.0) -> Any:
    """The upper incomplete gamma function, by mpmath; the radius is in deviations."""
    del deviation
    with mpmath.workdps(40):
        half = mpmath.mpf(_radius(count, eta)) ** 2 / 2
        return mpmath.gammainc(mpmath.mpf(count) / 2, half, regularized=True)


def _bound(*, count: int, eta: float, form: Any = "printed") -> float:
    return mmd.tail_bound(_radius(count, eta), 1.0, count, form=form)


_sharp = partial(_bound, form="sharp")


def _predict_exact(
    *, count: int, eta: float, deviation: float = 1.0, more: int = 0
) -> float:
    given = unlike({"variance": 1.0}, variance=deviation**2)
    return mmd.norm_tail(deviation * _radius(count, eta), count + more, **given)


_HALF = "1/2 in the place of 1/8 in the exponent."

_GRID = tuple(
    case
    for case in grid(count=(1, 4, 10, 100, 1000), eta=(0.1, 0.5, 1.0, 3.0, 10.0))
    # At the last one the bounds underflow.
    if case["count"] * case["eta"] < 5000.0
)

EXACT = numeric(
    id="mmd/thm1-exact",
    title="With equal variances, the norm of the noise has a chi-square tail",
    statement=r"P(\|\theta-\theta_0\|\ge r)=Q\bigl(\tfrac m2,\tfrac{r^2}{2\sigma^2}\bigr)",
    source=ours("Theorem 1; the exact law is ours"),
    cases=(
        *(c for c in _GRID if c["count"] * c["eta"] <= 300.0),
        *grid(count=10, eta=(0.5, 3.0), deviation=(0.25, 4.0)),
        # As many parameters as networks have, inside the mean radius as well.
        *grid(count=10**6, eta=(-0.001, 0.001, 0.02)),
    ),
    predict=_predict_exact,
    measure=_measure_tail,
    # Half of the squared radius has roundings of 1.7e-16 of it, up to 8.5e-11, of which the
    # tail's logarithm feels eta / (1 + eta), 0.02 there: 1.7e-12. Its own exponent, up to
    # 150, has an eps or so.
    compare=AgreesTo(relative=2e-12),
    must_refute=mistake("One degree of freedom more.", more=1),
    uses=("mmd/thm1",),
)

PRINTED = numeric(
    id="mmd/thm1",
    loose=True,
    title="The printed bound of Theorem 1, against the exact tail",
    statement=(
        r"P(\|\theta-\theta_0\|\ge r)\le e^{-\frac18\min\{\eta^2,m\eta\}},\quad"
        r"\eta=\frac{r^2}{m\alpha_*}-1>0"
    ),
    source=quoted("Theorem 1"),
    cases=_GRID,
    predict=_bound,
    measure=_measure_tail,
    compare=AtMost(),
    must_refute=mistake(
        f"The factor m in both branches, and {_HALF}",
        form="sharp",
        then=lambda bound: bound**4,
    ),
    uses=("mmd/lem1", "mmd/lem2", "mmd/lem3", "mmd/prop1"),
    finding="At m = 100 and eta = 0.5 it is 0.969, where the tail is 0.0009.",
    figure="mmd_vacuous_tail",
)

SHARP = numeric(
    id="mmd/thm1-sharp",
    loose=True,
    items=("Thm1", "Err2"),
    title="Theorem 1 with the factor m that its proof loses",
    statement=r"P(\|\theta-\theta_0\|\ge r)\le e^{-\frac m8\min\{\eta^2,\eta\}}",
    source=ours("Theorem 1; the sharper form is ours, by the same proof"),
    cases=_GRID,
    predict=_sharp,
    measure=_measure_tail,
    compare=AtMost(),
    must_refute=mistake(_HALF, then=lambda bound: bound**4),
    uses=("mmd/thm1",),
    finding=(
        "The sum of squared variances is at most m alpha^2; the printed proof uses the"
        " square of the sum. At m = 100 and eta = 0.5 the bound is 0.0439 instead of"
        " 0.969. It is still loose, because of its constant of 1/8: for many variables"
        " the exponent of the tail is 1.2 to 4 times as large, depending on eta."
    ),
)


def _pairs(variances: list[float], square: Any) -> Any:
    """Tail of a sum of independent exponentials with different means 2 sigma^2."""
    total = mpmath.mpf(0)
    v = [mpmath.mpf(x) for x in variances]
    for i, a in enumerate(v):
        weight = mpmath.mpf(1)
        for j, b in enumerate(v):
            if i != j:
                weight *= a / (a - b)
        total += weight * mpmath.exp(-square / (2 * a))
    return total


def _measure_unequal(*, variances: list[float], share: float) -> list[Any]:
    with mpmath.workdps(60):
        return [_pairs(variances, mpmath.mpf(_reach(variances, share)) ** 2)] * 3


def _reach(variances: list[float], share: float) -> float:
    """A radius whose square is this multiple of its mean."""
    return math.sqrt(share * 2.0 * math.fsum(variances))


def _predict_unequal(*, variances: list[float], share: float) -> list[float]:
    r, twice = _reach(variances, share), [2] * len(variances)
    return [
        mmd.tail_bound(r, variances, twice),
        mmd.tail_bound(r, variances, twice, form="sharp"),
        mmd.tail_bound(r, variances, twice, form="intermediate"),
    ]


_GROUPS = searched(
    variances=st.lists(st.integers(1, 60), min_size=1, max_size=6, unique=True).map(
        lambda values: [v / 20.0 for v in values]
    ),
    share=st.floats(1.001, 20.0),
)


UNEQUAL = adversarial(
    id="mmd/thm1-unequal",
    loose=True,
    title="All three forms of Theorem 1, against exact tails of unequal variances",
    statement=(
        r"P(\|\epsilon\|\ge r)\le e^{-\frac18\min\{(r^2-\sum\sigma_i^2)^2/"
        r"\sum\sigma_i^4,\;(r^2-\sum\sigma_i^2)/\alpha_*\}},\quad"
        r" e^{-\frac m8\min\{\eta^2,\eta\}},\quad e^{-\frac18\min\{\eta^2,m\eta\}}"
    ),
    source=quoted("Theorem 1 and Equation 30; the second form is ours"),
    cases=grid(
        variances=([1.0], [0.1, 1.0], [0.9, 1.0, 1.1], [0.01, 0.02, 0.05, 0.5]),
        share=(1.1, 1.5, 4.0),
    ),
    examples=_GROUPS,
    max_examples=100,
    predict=_predict_unequal,
    measure=_measure_unequal,
    compare=AtMost(),
    must_refute=mistake(
        "The exponents without their factor 1/8.", then=lambda b: [v**8 for v in b]
    ),
    assumptions=(
        "each variance is that of two parameters: the tail is a sum then",
        "the last two forms say 1 where r² ≤ m α",
    ),
    uses=("mmd/thm1", "mmd/thm1-sharp"),
    finding=(
        "Loose: a tenth above the mean of three nearly equal variances, where the tail"
        " is 0.36, the bound is still 0.99."
    ),
)


_FORMS = ("printed", "sharp", "intermediate")


def _predict_values(*, form: Any, radius: float, variances: Any, counts: Any) -> float:
    if not counts:
        return mmd.tail_bound(radius, variances, form=form)
    return mmd.tail_bound(radius, variances, counts, form=form)


def _measure_values(
    *, form: str, radius: float, variances: list[float], counts: list[int]
) -> Any:
    """The formula as it is stated, group by group of parameters."""
    with mpmath.workdps(40):
        # Without counts each variance is that of one parameter.
        numbers = counts or [1] * len(variances)
        groups = [(n, mpmath.mpf(v)) for n, v in zip(numbers, variances, strict=True)]
        m, top, square = sum(numbers), max(variances), mpmath.mpf(radius) ** 2
        # Below the mean there is no bound.
        eta = max(square / (m * mpmath.mpf(top)) - 1, 0)
        excess = max(square - mpmath.fsum(n * v for n, v in groups), 0)
        fourth = mpmath.fsum(n * v**2 for n, v in groups)
        exponents = {
            "printed": min(eta**2, m * eta),
            "sharp": m * min(eta**2, eta),
            "intermediate": min(excess**2 / fourth, excess / top),
        }
        return mpmath.exp(-exponents[form] / 8)


VALUES = numeric(
    id="mmd/thm1-values",
    title="Values of all three forms of Theorem 1, on both sides of their minima",
    statement=(
        r"e^{-\frac18\min\{\eta^2,m\eta\}},\quad e^{-\frac m8\min\{\eta^2,\eta\}},\quad "
        r"e^{-\frac18\min\{(r^2-\sum\sigma_i^2)^2/\sum\sigma_i^4,\;"
        r"(r^2-\sum\sigma_i^2)/\alpha_*\}}"
    ),
    source=ours("Theorem 1 and Equation 30; the sharper form is ours"),
    # eta is 1/8, 1/2, 7/2 and 15: below and above 1, and above and below m; then
    # 5e-6, for so many parameters that r^2 and m alpha agree to five digits. At last a
    # radius below the mean, where the bound is one.
    cases=tuple(
        {"form": form, "radius": radius, "variances": variances, "counts": counts}
        for form in _FORMS
        for radius, variances, counts in (
            (3.0, [0.5, 1.0], [3, 5]),
            (3.0, [0.25, 2.0], [2, 1]),
            (3.0, [1.0], [2]),
            (4.0, [1.0], [1]),
            (3.0, [0.5, 1.0, 1.25], []),
            (836662.1, [0.7], [10**12]),
            (1.5, [0.5, 1.0], [3, 5]),
        )
    ),
    predict=_predict_values,
    measure=_measure_values,
    # The exponent is at most 3.2, after a handful of roundings.
    compare=AgreesTo(relative=1e-14),
    must_refute=mistake(
        "Half of the exponent: 1/16 in the place of 1/8.", then=math.sqrt
    ),
    uses=("mmd/thm1", "mmd/thm1-sharp", "mmd/thm1-unequal"),
)


# --- what it says of the recommended noise --------------------------------------------


def _measure_spoken(*, scale: float, alone: bool = False) -> float:
    """The least radius at which the printed formula is below one, in norms of the noise.

    By bisection; the squared norm is added up parameter by parameter.
    """
    variances: list[float] = []
    counts: list[int] = []
    for before, after in itertools.pairwise(_NETWORK):
        variances += [scale**2 / before, scale**2 / after]
        counts += [before * after, after]
    top, count = max(variances), sum(counts)
    if alone:
        counts, count = [1] * len(variances), len(variances)
    square = math.fsum(n * v for n, v in zip(counts, variances, strict=True))

    def exponent(r: float) -> float:
        eta = r * r / (count * top) - 1.0
        return min(eta**2, count * eta) if eta > 0.0 else 0.0

    _, high = bisected(lambda r: exponent(r) <= 0.0, 0.0, 1e6, halvings=200)
    return high / math.sqrt(square)


def _predict_spoken(*, scale: float, alone: bool = False) -> float:
    noise = mmd.noise_rule(_NETWORK, scale)
    if alone:
        square = math.fsum(noise.variances)
        return mmd.vacuous_radius(noise.variances) / math.sqrt(square)
    radius = mmd.vacuous_radius(noise.variances, noise.counts)
    return radius / math.sqrt(noise.energy)


ERR_2 = numeric(
    id="mmd/err2",
    items=("Err2", "Thm1"),
    title="For the recommended noise, Theorem 1 says nothing below 16 times its norm",
    statement=(
        r"\sqrt{m\alpha_*}=16.15\sqrt{\mathbb{E}\|\theta-\theta_0\|^2}\text{ for }\Sigma"
        r"\text{ of section 3.3, whatever }s"
    ),
    source=ours("Theorem 1 with section 3.3; the comparison is ours"),
    cases=(
        *grid(scale=(0.2**0.5, 0.5**0.5, 2.0**0.5)),
        # One parameter of each variance.
        {"scale": 1.0, "alone": True},
    ),
    predict=_predict_spoken,
    measure=_measure_spoken,
    # A few roundings: bisection ends where r^2 and m alpha are floats next to each other.
    compare=AgreesTo(relative=2e-15),
    must_refute=always(1.0, "A theorem that speaks of radii from the noise's norm on."),
    uses=("mmd/sigma", "mmd/thm1"),
    version=2,
    finding=(
        "At s^2 = 1/2 these are radii above sqrt(m alpha) = 392.6, whereas the noise has"
        " norm 24.3: the biases of the small last layer set the variance that is used for"
        " all 616,618 parameters. Perturbed models stay near the start where alpha is"
        " small, as the paper says: both radii are proportional to s."
    ),
)


def _reach_of_network(share: float) -> tuple[mmd.Noise, float]:
    noise = mmd.noise_rule(_NETWORK)
    return noise, math.sqrt(share * noise.energy)


def _measure_chernoff(*, share: float) -> Any:
    """Chernoff's bound, optimised by mpmath: an upper bound of the tail."""
    groups: list[tuple[int, Any]] = []
    with mpmath.workdps(40):
        half = mpmath.mpf(1) / 2
        for before, after in itertools.pairwise(_NETWORK):
            groups += [(before * after, half / before), (after, half / after)]
        square = share * mpmath.fsum(n * v for n, v in groups)

        def exponent(lam: Any) -> Any:
            moment = mpmath.fsum(
                -n * mpmath.log(1 - 2 * lam * v) / 2 for n, v in groups
            )
            return moment - lam * square

        most = mpmath.mpf("1.999999")
        return mpmath.exp(exponent(lowest(exponent, mpmath.mpf(0), most, cuts=150)))


def _predict_intermediate(*, share: float) -> float:
    noise, r = _reach_of_network(share)
    return mmd.tail_bound(r, noise.variances, noise.counts, form="intermediate")


INTERMEDIATE = numeric(
    id="mmd/err2-corrected",
    items=("Err2", "Thm1"),
    title="The bound before Theorem 1's last steps keeps perturbed models near the start",
    statement=(
        r"P(\|\epsilon\|^2\ge \mathbb{E}\|\epsilon\|^2+t)\le "
        r"e^{-\frac18\min\{t^2/\sum\sigma_i^4,\,t/\alpha_*\}}"
        r"\text{ for }\Sigma\text{ of section 3.3}"
    ),
    source=quoted("Equations 29 and 30 with section 3.3"),
    cases=grid(share=(1.001, 1.005, 1.02, 1.1, 1.5)),
    predict=_predict_intermediate,
    measure=_measure_chernoff,
    compare=AtMost(),
    must_refute=mistake(
        "The exponent without its factor 1/8.", then=lambda bound: bound**8
    ),
    assumptions=("what is measured bounds the tail from above: Chernoff's bound",),
    uses=("mmd/sigma", "mmd/thm1-unequal"),
    finding=(
        "A squared norm a tenth above its mean of 591 has a probability of at most"
        " 1.5e-13 by this bound, where Theorem 1 says nothing."
    ),
)


# --- the lemmas -----------------------------------------------------------------------

_LAMBDAS = (-0.2499, -0.2, -0.1, -1e-6, 0.0, 1e-6, 0.1, 0.2, 0.2499)


@cache
def _log_moment(lam: Any) -> Any:
    """The mean of exp(lambda (z^2 - 1)) over a normal z, by quadrature."""
    if lam == 0:
        return mpmath.mpf(0)

    def density(z: Any) -> Any:
        # exp(x) - 1 - x: what is left of the moment after its mean of 1 and 0.
        x = lam * (z * z - 1)
        return (mpmath.expm1(x) - x) * mpmath.npdf(z)

    return mpmath.log1p(2 * mpmath.quad(density, [0, 1, 2, 4, 8, 16, 40]))


def _measure_moment(*, lam: float) -> Any:
    with mpmath.workdps(40):
        return _log_moment(mpmath.mpf(lam))


MOMENT = numeric(
    id="mmd/lem1-moment",
    title="The exponential moment of a squared normal variable",
    statement=(
        r"\log \mathbb{E}\,e^{\lambda(z^2-1)}=-\lambda-\tfrac12\log(1-2\lambda),\quad"
        r"\lambda<\tfrac12"
    ),
    source=quoted("Equation 24, second line"),
    cases=grid(lam=(-0.45, *_LAMBDAS, 0.45)),
    predict=mmd.chi_square_log_moment,
    measure=_measure_moment,
    # The library's promise.
    compare=AgreesTo(relative=1e-15),
    must_refute=mistake("The moment at -lambda.", lam=times(-1.0)),
)


def _predict_lemma(*, lam: float) -> float:
    """The bound 2 lambda^2 of the lemma itself."""
    return mmd.CHI_SQUARE.log_moment_bound(lam)


LEM_1 = numeric(
    id="mmd/lem1",
    title="A squared normal variable is sub-exponential with parameters (4, 4)",
    statement=r"\log \mathbb{E}\,e^{\lambda(z^2-1)}\le2\lambda^2,\quad|\lambda|<\tfrac14",
    source=quoted("Lemma 1"),
    cases=grid(lam=_LAMBDAS),
    predict=_predict_lemma,
    measure=_measure_moment,
    compare=AtMost(),
    must_refute=mistake("Half of the bound.", then=times(0.5)),
    uses=("mmd/lem1-moment",),
)


def _measure_scaled(*, factor: float, share: float) -> Any:
    with mpmath.workdps(40):
        return _log_moment(mpmath.mpf(factor) * mpmath.mpf(share / (4.0 * factor)))


def _predict_scaled(*, factor: float, share: float) -> float:
    return mmd.CHI_SQUARE.scaled(factor).log_moment_bound(share / (4.0 * factor))


LEM_2 = numeric(
    id="mmd/lem2",
    title="Scaling a sub-exponential variable scales its two parameters",
    statement=(
        r"x\in SE(\nu^2,\alpha)\;\Rightarrow\;\sigma^2x\in SE(\sigma^4\nu^2,\sigma^2\alpha)"
    ),
    source=quoted("Lemma 2"),
    cases=grid(factor=(0.1, 3.0, 10.0), share=(-0.99, -0.3, 0.3, 0.99)),
    predict=_predict_scaled,
    measure=_measure_scaled,
    compare=AtMost(),
    must_refute=mistake(
        "The factor in the place of its square.",
        then=lambda bound, *, factor: bound / factor,
    ),
    assumptions=("tried with squared normal variables",),
)


def _sum_of(variances: list[float]) -> mmd.SubExponential:
    return mmd.sub_exponential_sum([mmd.CHI_SQUARE.scaled(v) for v in variances])


def _measure_sum(*, variances: list[float], share: float) -> Any:
    """Add the exact logarithms of independent terms."""
    with mpmath.workdps(40):
        lam = mpmath.mpf(share) / (4 * mpmath.mpf(max(variances)))
        return mpmath.fsum(_log_moment(lam * mpmath.mpf(v)) for v in variances)


def _predict_sum(*, variances: list[float], share: float) -> float:
    """The bound with lambda squared."""
    found = _sum_of(variances)
    return found.log_moment_bound(share / (4.0 * max(variances)))


def _largest_alone(*, variances: list[float], share: float) -> float:
    """The variable of largest variance alone."""
    top = max(variances)
    return mmd.CHI_SQUARE.scaled(top).log_moment_bound(share / (4.0 * top))


_SUMS = ([1.0] * 3, [1.0] * 10, [0.1, 0.5, 2.0])

LEM_3 = numeric(
    id="mmd/lem3",
    title=(
        "Sums of sub-exponential variables add one parameter and take the"
        " largest of the other"
    ),
    statement=r"\textstyle\sum_ix_i\in SE\bigl(\sum_i\nu_i^2,\max_i\alpha_i\bigr)",
    source=quoted("Lemma 3"),
    cases=grid(variances=_SUMS, share=(-0.9, -0.4, 0.4, 0.9)),
    predict=_predict_sum,
    measure=_measure_sum,
    compare=AtMost(),
    must_refute=_largest_alone,
    assumptions=("independent variables; tried with squared normal ones",),
)


def _printed_display(*, variances: list[float], share: float) -> float:
    """Put lambda in the place of its square, as the lemma's last display does."""
    lam = share / (4.0 * max(variances))
    return 0.5 * lam * _sum_of(variances).nu_squared


ERR_4 = numeric(
    id="mmd/err4",
    items=("Err4", "Lem3"),
    title="The last display of Lemma 3's proof, with lambda in place of its square",
    statement=(
        r"\log \mathbb{E}\,e^{\lambda(\sum x_i-\mathbb{E}\sum"
        r" x_i)}\le\frac{\lambda\sum_i\nu_i^2}2"
    ),
    source=quoted("Proof of Lemma 3"),
    cases=grid(variances=_SUMS, share=(-0.9, -0.4, 0.4, 0.9)),
    predict=_printed_display,
    measure=_measure_sum,
    compare=AtMost(),
    must_hold=_predict_sum,
    expected=Outcome.REFUTED,
    uses=("mmd/lem3",),
    finding=(
        "It fails for every negative lambda. The proof also centres with lambda x - E"
        " x instead of lambda (x - E x), and Lemma 2 cites (24) instead of (25)."
    ),
)


def _printed_step(*, lam: float) -> float:
    return lam * lam / (1.0 - 2.0 * lam)


ERR_3 = numeric(
    id="mmd/err3",
    items=("Err3", "Lem1"),
    title="The last step of Lemma 1's proof holds for every lambda",
    statement=(
        r"-\lambda-\tfrac12\log(1-2\lambda)\le\frac{\lambda^2}{1-2\lambda},\quad"
        r"|\lambda|<\tfrac12"
    ),
    source=quoted("Equation 24, last line"),
    cases=grid(lam=(-0.2, -0.1, 0.1, 0.2)),
    predict=_printed_step,
    measure=_measure_moment,
    compare=AtMost(),
    must_hold=_predict_lemma,
    expected=Outcome.REFUTED,
    uses=("mmd/lem1",),
    finding=(
        "At -0.1 the left side is 0.0088392 and the right side 0.0083333: odd terms"
        " of the series are negative there. Lemma 1 itself holds."
    ),
)


def _two_points(share: float) -> tuple[Any, Any, Any]:
    """Return a point with so small a share, the other of a mean of zero, and nu^2.

    The least nu^2 of such a variable, for every lambda (Kearns and Saul 1998).
    """
    p = mpmath.mpf(share)
    t, other = mpmath.mpf(1), -p / (1 - p)
    nu_squared = (t - other) ** 2 * (1 - 2 * p) / (2 * mpmath.log((1 - p) / p))
    return t, other, nu_squared


def _measure_excess(
    *, variances: list[float] | None = None, t: float = 1.0, share: float = 0.0
) -> Any:
    """The tail of a sum of pairs of squared normals beyond its mean, or of two points."""
    with mpmath.workdps(60):
        if variances is None:
            p, (top, other, nu_squared) = mpmath.mpf(share), _two_points(share)
            for k in range(-400, 401):
                lam = mpmath.mpf(k) / 10
                mean = p * mpmath.exp(lam * top) + (1 - p) * mpmath.exp(lam * other)
                # It is what the proposition asks, with equality at one lambda.
                assert (
                    mpmath.log(mean) <= lam**2 * nu_squared / 2 + mpmath.mpf(10) ** -50
                )
            return p
        mean = 2 * mpmath.fsum(mpmath.mpf(v) for v in variances)
        return _pairs(variances, mean + mpmath.mpf(t))


def _variable(
    variances: list[float] | None = None, share: float = 0.0
) -> mmd.SubExponential:
    if variances is None:
        # Any alpha will do: one from which on both parts of the bound are the same.
        nu_squared = float(_two_points(share)[2])
        return mmd.SubExponential(nu_squared, nu_squared)
    return _sum_of([v for v in variances for _ in range(2)])


@drawn(_variable)
def _predict_excess(found: mmd.SubExponential, t: float = 1.0) -> float:
    return found.tail_bound(t)


@drawn(_variable)
def _squares_alone(found: mmd.SubExponential, t: float = 1.0) -> float:
    """The normal part for large t as well."""
    return math.exp(-0.5 * t * t / found.nu_squared)


PROP_1 = numeric(
    id="mmd/prop1",
    title="The tail of a sub-exponential variable: Gaussian at first, then exponential",
    statement=(
        r"P(x-\mathbb{E}\,x\ge t)\le\exp\bigl(-\tfrac12\min\{t^2/\nu^2,\,t/\alpha\}\bigr)"
    ),
    source=quoted("Proposition 1, after Wainwright 2019"),
    cases=(
        *grid(
            variances=([1.0], [0.5, 1.0], [0.1, 0.2, 0.4, 0.8]),
            t=(0.1, 1.0, 10.0, 60.0),
        ),
        *grid(share=(0.3, 0.1, 0.01, 1e-4)),
    ),
    predict=_predict_excess,
    measure=_measure_excess,
    compare=AtMost(),
    must_refute=_squares_alone,
    finding=(
        "Nearly attained by a variable with two values: 0.0101 for a tail of 0.01."
        " For sums of squared normals, which Theorem 1 is about, it is at least 2.6"
        " times the tail."
    ),
    version=2,
)


def _predict_form(*, nu_squared: float, alpha: float, t: float) -> float:
    return mmd.SubExponential(nu_squared, alpha).tail_bound(t)


def _measure_form(*, nu_squared: float, alpha: float, t: float) -> Any:
    with mpmath.workdps(40):
        at = mpmath.mpf(t)
        return mpmath.exp(-min(at**2 / mpmath.mpf(nu_squared), at / alpha) / 2)


def _larger_part(*, nu_squared: float, alpha: float, t: float) -> float:
    """The larger of the two parts for the smaller."""
    return math.exp(-0.5 * max(t * t / nu_squared, t / alpha))


PROP_1_VALUES = numeric(
    id="mmd/prop1-values",
    title="Values of both parts of the tail bound for sub-exponential variables",
    statement=r"\exp\bigl(-\tfrac12\min\{t^2/\nu^2,\,t/\alpha\}\bigr)",
    source=quoted("Proposition 1, after Wainwright 2019"),
    cases=grid(nu_squared=(0.3, 1.0, 9.0), alpha=(0.6, 4.0), t=(0.0, 0.2, 3.1, 40.3)),
    predict=_predict_form,
    measure=_measure_form,
    # The exponent is at most 34, after four roundings of 1.1e-16.
    compare=AgreesTo(relative=1.6e-14),
    must_refute=_larger_part,
    uses=("mmd/prop1",),
)
