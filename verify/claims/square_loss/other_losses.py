"""Other losses and rules, margins, and ranks (sections 3 and 4)."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np
import torch
from scipy.integrate import solve_ivp

from theory import square_loss as sl
from verify.claim import grid, numeric
from verify.claims._predictors import mapped, mistake, times
from verify.claims.square_loss._flows import down, integrate
from verify.claims.square_loss._networks import (
    Array,
    gradients,
    largest_margin,
    outputs,
    problem,
    tensors,
    unit_rows,
)
from verify.claims.square_loss._sources import as_read, ours
from verify.compare import AgreesTo

# --- the exponential loss -------------------------------------------------------------


def _separable(examples: int, inputs: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng([68, examples, inputs, seed])
    x = unit_rows(rng.standard_normal((examples, inputs)))
    y = np.where(x[:, 0] > 0.0, 1.0, -1.0)
    x[:, 0] += 0.3 * y
    return unit_rows(x), y


_CLOCK, _STARTS = 3e4, (0.0, 1.0, 5.0)


def _measure_direction(*, examples: int, inputs: int, seed: int) -> Array:
    """Margin at the end of the flow of the exponential loss, from three starts.

    Time is counted in the loss's logarithm, which changes when, not where.
    """
    x, y = _separable(examples, inputs, seed)
    signed = y[:, None] * x

    def velocity(_: float, w: Array) -> Array:
        m = signed @ w
        share = np.exp(m.min() - m)
        return share @ signed / share.sum()

    ends: list[float] = []
    for size in _STARTS:
        w0 = np.full(inputs, -size / np.sqrt(inputs))
        found = solve_ivp(velocity, (0.0, _CLOCK), w0, method="LSODA", rtol=1e-8)
        w = found.y[:, -1]
        ends.append(float((signed @ w).min() / np.linalg.norm(w)))
    return np.array(ends)


def _predict_direction(*, examples: int, inputs: int, seed: int) -> Array:
    x, y = _separable(examples, inputs, seed)
    return np.full(len(_STARTS), sl.maximum_margin(x, y)[0])


def _of_the_square_loss(*, examples: int, inputs: int, seed: int) -> Array:
    """The margin of the ridge solution without decay."""
    x, y = _separable(examples, inputs, seed)
    w = sl.ridge_solution(x, y, 0.0)
    return np.full(len(_STARTS), (y * (x @ w)).min() / np.linalg.norm(w))


EXPONENTIAL = numeric(
    id="sl/exp-margin",
    items=("Sec3exp",),
    title=(
        "With the exponential loss, a linear layer tends to the largest margin"
        " from any start"
    ),
    statement=(
        r"\min_ny_nx_n^Tw(t)/\|w(t)\|\to\max_{\|v\|=1}\min_ny_nx_n^Tv,\quad"
        r"\dot w=-\nabla\log\textstyle\sum_ne^{-y_nx_n^Tw}"
    ),
    source=as_read("Section 3, for one layer"),
    cases=grid(examples=(3, 9), inputs=(2, 5), seed=(0, 1)),
    predict=_predict_direction,
    measure=_measure_direction,
    # Along the flow log-loss falls by the squared speed, which is at least the margin:
    # off by (margin |w0| + R(0)) / |w|, R(0) <= |w0| + log N < 8, |w| >= margin t > 3000.
    compare=AgreesTo(absolute=3e-3),
    must_refute=_of_the_square_loss,
    assumptions=("separable through zero", "one linear layer"),
    uses=("sl/obs2b-largest",),
)


def _measure_slow(*, away: float, time: float) -> float:
    """Margin over the largest one, along the flow of one example's exponential loss."""

    def loss(state: Sequence[torch.Tensor]) -> torch.Tensor:
        return torch.exp(-state[0][0])

    # The example is the first axis; the start is `away` from it along the second.
    ((w,),) = integrate(down(loss), [np.array([0.0, away])], [time], tolerance=1e-11)
    return float(w[0] / np.linalg.norm(w))


def _predict_slow(*, away: float, time: float) -> float:
    along = math.log1p(time)
    return along / math.hypot(along, away)


def _as_a_power(*, away: float, time: float) -> float:
    """A distance that falls as a power of time."""
    return time / math.hypot(time, away)


SLOW = numeric(
    id="sl/exp-slow",
    items=("Sec3exp",),
    title="With the exponential loss, margins approach the largest at the pace of ln t",
    statement=(
        r"w(0)\perp x,\;\|w(0)\|=c,\;s=\ln(1+t):\qquad\frac{w\cdot x}{\|w\|}"
        r"=\frac s{\sqrt{s^2+c^2}}"
    ),
    source=ours("Section 3; the law is ours"),
    cases=grid(away=(0.1, 1.0, 5.0), time=(1.0, 1e3, 1e9, 1e15)),
    predict=_predict_slow,
    measure=_measure_slow,
    # The integrator's 1e-11 of s a step. The flow takes off errors at the rate 1/(1 + t):
    # the last steps' alone are left, of which margins have at most 2/sqrt(27).
    compare=AgreesTo(absolute=1e-11),
    must_refute=_as_a_power,
    assumptions=("one example of length one and label one, one linear layer",),
    uses=("sl/exp-margin",),
    finding=(
        "From 5 beside it, the margin comes within a hundredth of the largest at the"
        " time 1.7e15, when the loss is 5.8e-16: very long, and near the rounding of"
        " double precision, as the paper remarks."
    ),
)


def _margins(kind: str, widths: Sequence[int], seed: int = 3) -> Any:
    """A problem whose labels agree with its outputs, or with all but one; none is zero."""
    draws = (problem(widths, 5, seed + 1000 * draw) for draw in itertools.count())
    each = ((p, outputs(tensors(p.directions), p.x).detach().numpy()) for p in draws)
    p, f = next((p, f) for p, f in each if np.all(f != 0.0))
    labels = np.where(f > 0.0, 1.0, -1.0)
    if kind == "one wrong":
        labels[int(np.argmax(np.abs(f)))] *= -1.0
    return p, f, labels


def _measure_exponential(
    *, kind: str, widths: list[int], rho: float, seed: int = 3
) -> list[float]:
    """The multiplier of each layer's length, and its sign."""
    p, _, labels = _margins(kind, widths, seed)
    leaves = tensors(p.directions)
    f = outputs(leaves, p.x)
    loss = torch.exp(-rho * torch.from_numpy(labels) * f).sum()
    slopes = gradients(loss, leaves)
    pairs = zip(p.directions, slopes, strict=True)
    found = [-0.5 * float(np.vdot(v, s)) for v, s in pairs]
    return [*found, *np.sign(found).tolist()]


def _predict_exponential(*, kind: str, widths: list[int], rho: float) -> list[float]:
    """The formula, and the sign that separability gives it."""
    _, f, labels = _margins(kind, widths)
    layers = len(widths) - 1
    value = float(sl.exponential_multiplier(rho, f, labels))
    return [value] * layers + [1.0 if kind == "separable" else -1.0] * layers


def _of_squares(*, kind: str, widths: list[int], rho: float) -> list[float]:
    """The multiplier of the square loss."""
    _, f, labels = _margins(kind, widths)
    value = float(sl.lagrange_multiplier(rho, f, labels))
    return [value] * (len(widths) - 1) + [float(np.sign(value))] * (len(widths) - 1)


NU_EXPONENTIAL = numeric(
    id="sl/nu-exp",
    items=("Sec4.1nu",),
    title=(
        "With the exponential loss and separated data, the multiplier is positive and"
        " tends to zero"
    ),
    statement=(
        r"\nu=\tfrac\rho2\textstyle\sum_ny_nf_ne^{-\rho y_nf_n}>0\text{ if separable},"
        r"\quad\to0\text{ as }\rho\to\infty"
    ),
    source=ours("Section 4.1; the formula is ours"),
    cases=grid(
        kind=("separable", "one wrong"),
        widths=([3, 1], [4, 6, 3, 1]),
        rho=(1.0, 30.0, 500.0),
    ),
    predict=_predict_exponential,
    measure=_measure_exponential,
    # Exponents up to 500 carry 500 of their roundings, some 2e-16 for a sum of products,
    # into the largest of five terms, 1e-13, and that into a sum over a layer's entries.
    compare=AgreesTo(relative=2e-13),
    must_refute=_of_squares,
    uses=("sl/eq1",),
    finding=(
        "Positive if every example is classified correctly. With one misclassified it"
        " is negative and grows: the sentence needs separability, which it does not"
        " state."
    ),
    version=2,
)


def _late(widths: Sequence[int], seed: int) -> tuple[float, Array]:
    """Return a scale at which the second margin counts e^-40 of the least, and margins."""
    _, f, labels = _margins("separable", widths, seed)
    margins = np.sort(f * labels)
    return 40.0 / float(margins[1] - margins[0]), margins


def _measure_late(*, widths: list[int], seed: int) -> list[float]:
    rho, _ = _late(widths, seed)
    return _measure_exponential(kind="separable", widths=widths, rho=rho, seed=seed)


def _predict_late(*, widths: list[int], seed: int, which: int = 0) -> list[float]:
    rho, margins = _late(widths, seed)
    value = float(sl.exponential_multiplier(rho, margins[which : which + 1], [1]))
    layers = len(widths) - 1
    return [value] * layers + [1.0] * layers


NU_LATE = numeric(
    id="sl/nu-exp-limit",
    items=("Sec4.1nu",),
    title="With the exponential loss, the multiplier falls as the least margin's part does",
    statement=(
        r"\nu\sim\tfrac\rho2\,m\,e^{-\rho m}\to0,\quad m=\min_ny_nf_n>0,\quad"
        r"\rho\to\infty"
    ),
    source=ours("Section 4.1; the limit's rate is ours"),
    cases=grid(widths=([3, 1], [4, 6, 1], [4, 6, 3, 1]), seed=(3, 4)),
    predict=_predict_late,
    measure=_measure_late,
    # As sl/nu-exp, of exponents up to 661; all other margins count 4 e^-40 of it, times
    # their share of the least.
    compare=AgreesTo(relative=2e-13),
    must_refute=mistake("The part of the second margin.", which=1),
    uses=("sl/nu-exp",),
)


# --- Oja's rule -----------------------------------------------------------------------


def _neuron(inputs: int, seed: int) -> tuple[Array, Array]:
    """Weights of length one, and an input of any length."""
    rng = np.random.default_rng([70, inputs, seed])
    w = rng.standard_normal((1, inputs))
    return w / np.linalg.norm(w), rng.standard_normal(inputs)


def _measure_oja(*, inputs: int, seed: int) -> list[Any]:
    """Oja's rule, y (x - y w) with y = w.x, to 30 digits."""
    w, x = (each.ravel().tolist() for each in _neuron(inputs, seed))
    with mpmath.workdps(30):
        y = mpmath.fdot(w, x)
        return [y * (b - y * a) for a, b in zip(w, x, strict=True)]


def _predict_oja(*, inputs: int, seed: int) -> Array:
    """The direction's motion under Hebb's rule y x, whatever the multiplier takes off."""
    w, x = _neuron(inputs, seed)
    return sl.direction_from_weight_velocity(w, (w @ x) * x[None])[1].ravel()


def _sum_kept(*, inputs: int, seed: int) -> Array:
    """Normalisation by subtraction, which keeps the sum of the weights."""
    w, x = _neuron(inputs, seed)
    return float((w @ x)[0]) * (x - x.mean())


OJA = numeric(
    id="sl/oja",
    items=("Sec4.1oja",),
    title="Oja's rule is Hebb's with a Lagrange multiplier that keeps the norm at one",
    statement=(
        r"\|w\|=1,\;y=w^Tx:\qquad y\,(x-yw)=y\,x-\nu w,\quad"
        r" \nu\text{ from }\tfrac{d}{dt}\|w\|^2=0"
    ),
    source=as_read("Section 4.1"),
    cases=grid(inputs=(1, 2, 7, 50), seed=(0, 1)),
    predict=_predict_oja,
    measure=_measure_oja,
    # Sums of fifty products of size one, of which a part is taken off.
    compare=AgreesTo(absolute=1e-13),
    must_refute=_sum_kept,
    uses=("sl/proj",),
)


# --- the largest margin ---------------------------------------------------------------


def _measure_largest(*, examples: int, inputs: int, seed: int) -> Any:
    """Largest margin over all sets of support vectors, by their equations, 30 digits."""
    x, y = _separable(examples, inputs, seed)
    with mpmath.workdps(30):
        return largest_margin(mpmath.matrix((y[:, None] * x).tolist()))


def _predict_largest(*, examples: int, inputs: int, seed: int) -> float:
    return sl.maximum_margin(*_separable(examples, inputs, seed))[0]


LARGEST = numeric(
    id="sl/obs2b-largest",
    title="The largest margin of linear functions, by convex duality",
    statement=(
        r"\max_{\|w\|=1}\min_ny_nw^Tx_n=\min_{\alpha\in\Delta}\|\textstyle\sum_n"
        r"\alpha_ny_nx_n\|"
    ),
    source=ours("Observation 2; ours"),
    cases=grid(examples=(1, 4, 7), inputs=(2, 3), seed=(0, 1)),
    predict=_predict_largest,
    measure=_measure_largest,
    # An active set of at most three equations, margins above 0.1.
    compare=AgreesTo(relative=1e-13),
    must_refute=mapped(
        _of_the_square_loss,
        "The margin of the solution that interpolates all labels.",
        lambda found: float(found[0]),
    ),
)


# --- deep linear networks -------------------------------------------------------------

_TARGETS = (3.0, 1.0, 0.3)


def _measure_modes(*, start: float, time: float) -> list[float]:
    """Singular values of the product of two layers along the flow of the square loss."""
    g = torch.Generator().manual_seed(6900)
    u, v = (torch.linalg.qr(torch.randn(4, 3, generator=g, dtype=torch.float64)).Q
            for _ in range(2))  # fmt: skip
    wanted = u @ torch.diag(torch.tensor(_TARGETS, dtype=torch.float64)) @ v.T
    root = np.sqrt(start)

    def loss(state: Sequence[torch.Tensor]) -> torch.Tensor:
        first, second = state
        return (second @ first - wanted).square().sum()

    layers = [root * v.T.numpy(), root * u.numpy()]
    first, second = integrate(down(loss), layers, [time])[-1]
    return np.linalg.svd(second @ first, compute_uv=False)[:3].tolist()


def _predict_modes(*, start: float, time: float) -> list[float]:
    return [float(sl.linear_mode(time, start, s)) for s in _TARGETS]


MODES = numeric(
    id="sl/rank",
    items=("Sec3rank",),
    title="Deep linear networks learn large singular values first",
    statement=r"s(t)=\sigma/(1+(\sigma/s_0-1)e^{-4\sigma t})\text{ mode by mode}",
    source=ours("Section 3; the law is ours"),
    # From 2 the smaller two of the three have to shrink.
    cases=grid(start=(1e-4, 0.05, 2.0), time=(0.6, 1.5, 4.0)),
    predict=_predict_modes,
    measure=_measure_modes,
    # The integrator's 1e-10 a step, a hundred steps early on, is of a layer's entries, and
    # twice that of their products; a part of s_0 moves s by s (1 - s / sigma) of it, 3/4 at
    # most.
    compare=AgreesTo(absolute=2e-8),
    must_refute=mistake(
        "The rate for half of the squared error, half as fast.", time=times(0.5)
    ),
    assumptions=("two balanced layers along the singular vectors of the target",),
    uses=("sl/unnorm",),
    finding=(
        "At time 1.5 from 1e-4, the singular values are 3.0 of 3, 0.039 of 1 and"
        " 0.0006 of 0.3."
    ),
)


def _measure_mode(*, time: float, start: float, target: float) -> Any:
    """The law, solved for 1/s, which moves linearly towards 1/sigma."""
    with mpmath.workdps(700):
        t, first, last = (mpmath.mpf(v) for v in (time, start, target))
        left = (1 / first - 1 / last) * mpmath.exp(-4 * last * t)
        return 1 / (1 / last + left)


def _as_it_stands(*, time: float, start: float, target: float) -> float:
    """The law of 1/s in float64, in which 1 - exp(-4 sigma t) is lost where small."""
    kept = math.exp(-4.0 * target * time)
    return 1.0 / (kept / start + (1.0 - kept) / target)


MODE_VALUES = numeric(
    id="sl/rank-values",
    items=("Sec3rank",),
    title="The law of a learnt singular value keeps its digits, however small or late",
    statement=r"s(t)=\sigma/(1+(\sigma/s_0-1)e^{-4\sigma t})",
    source=ours("Section 3; the law is ours"),
    cases=(
        *grid(time=(1e-9, 0.5), start=(1e-5, 1.0, 4.0), target=(1e-8, 0.5, 2.0)),
        # Where the exponent, the start over the target or its inverse leave float64.
        {"time": 1e-200, "start": 1e201, "target": 1e-150},
        {"time": 2.0, "start": 5.0, "target": 1e-20},
        {"time": 1e-3, "start": 1e-200, "target": 1e5},
        {"time": 0.7, "start": 1e-300, "target": 300.0},
        {"time": 1.9e-18, "start": 1e-300, "target": 1e20},
        {"time": 1e10, "start": 1e300, "target": 1e-20},
    ),
    predict=sl.linear_mode,
    measure=_measure_mode,
    # A few eps times 1 + 4 sigma t, at most 840.
    compare=AgreesTo(relative=2e-13),
    must_refute=_as_it_stands,
    uses=("sl/rank",),
)
