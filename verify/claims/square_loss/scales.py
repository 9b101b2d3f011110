"""The least loss at a scale, its margins, and what becomes of a large one (section 2)."""

import mpmath
import numpy as np
from scipy.optimize import brentq, minimize

from theory import square_loss as sl
from verify.claim import grid, numeric
from verify.claims._predictors import mistake, times
from verify.claims.square_loss._flows import followed
from verify.claims.square_loss._networks import Array, Problem, unit_rows
from verify.claims.square_loss._sources import as_read, ours
from verify.compare import AgreesTo, AtMost, Outcome

# --- the loss at a fixed scale --------------------------------------------------------


def _regression(examples: int, inputs: int) -> tuple[Array, Array]:
    rng = np.random.default_rng([61, examples, inputs])
    x = unit_rows(rng.standard_normal((examples, inputs)))
    return x, np.where(np.arange(examples) % 3 == 1, -1.0, 1.0)


def _measure_least(*, examples: int, inputs: int, part: float) -> float:
    """Least loss that descent over unit directions meets at a part of the least norm."""
    x, y = _regression(examples, inputs)
    rho = part * float(np.linalg.norm(np.linalg.pinv(x) @ y))

    def loss(v: Array) -> float:
        return float(np.sum((rho * (x @ v) / np.linalg.norm(v) - y) ** 2))

    starts = [np.random.default_rng([62, k]).standard_normal(inputs) for k in range(3)]
    found = [minimize(loss, v, method="BFGS", options={"gtol": 1e-8}) for v in starts]
    return min(float(each.fun) for each in found)


def _predict_least(*, examples: int, inputs: int, part: float) -> float:
    """The residual of the ridge solution of this norm."""
    x, y = _regression(examples, inputs)
    rho = part * float(np.linalg.norm(sl.ridge_solution(x, y, 0.0)))

    def excess(log: float) -> float:
        return float(np.linalg.norm(sl.ridge_solution(x, y, np.exp(log)))) - rho

    decay = float(np.exp(brentq(excess, -40.0, 20.0, xtol=1e-13)))
    w = sl.ridge_solution(x, y, decay)
    return float(np.sum((x @ w - y) ** 2))


def _shrunk(*, examples: int, inputs: int, part: float) -> float:
    """The interpolator made smaller, without being turned."""
    return examples * (1.0 - part) ** 2


LANDSCAPE = numeric(
    id="sl/landscape",
    title=(
        "At scales below the least interpolating norm the loss has a known positive minimum"
    ),
    statement=(
        r"\min_{\|v\|=1}\sum_n(\rho v^Tx_n-y_n)^2=\|Xw_\lambda-y\|^2>0,\quad"
        r"\|w_\lambda\|=\rho<\rho_{min}"
    ),
    source=ours("Section 2, on the landscape; the value is ours"),
    cases=grid(examples=(3, 4), inputs=(5, 8), part=(0.2, 0.6, 0.9)),
    predict=_predict_least,
    measure=_measure_least,
    # Differences of 1.5e-8 leave slopes of 1e-7, which the curvature, above 1e-4, squares.
    compare=AgreesTo(absolute=1e-9),
    must_refute=_shrunk,
    assumptions=("one linear layer, more inputs than examples",),
    uses=("sl/obs2c-path",),
)


# --- margins at a scale ---------------------------------------------------------------


def _outputs(kind: str, examples: int, rho: float) -> Array:
    """Margins: all alike but for one scale's miss, or any numbers."""
    if kind == "alike":
        return np.full(examples, 0.9 / rho)
    return np.random.default_rng([63, examples]).uniform(-1.0, 1.0, examples)


def _measure_mean_margin(*, kind: str, examples: int, rho: float) -> float:
    """|rho mean(yf) - 1|, to 40 digits."""
    margins = [mpmath.mpf(f) for f in _outputs(kind, examples, rho).tolist()]
    with mpmath.workdps(40):
        return float(abs(rho * mpmath.fsum(margins) / examples - 1))


def _root_of_loss(*, kind: str, examples: int, rho: float) -> float:
    f = _outputs(kind, examples, rho)
    return float(np.sqrt(np.mean((rho * f - 1.0) ** 2)))


MARGIN_LAW = numeric(
    id="sl/margin-law",
    items=("Fig4", "Obs2a"),
    title="The mean margin is 1/rho, up to the root of the mean loss",
    statement=r"|\rho\,\overline{yf}-1|\le\sqrt{\text{mean loss}}",
    source=ours("Figures 4, 7 and 11; ours"),
    cases=grid(kind=("alike", "any"), examples=(1, 7, 100), rho=(0.5, 3.0, 40.0)),
    predict=_root_of_loss,
    measure=_measure_mean_margin,
    # Sharp where margins are alike: means of a hundred rounded terms of size one.
    compare=AtMost(rounding=1e-13),
    must_refute=mistake("Half of the bound.", then=times(0.5)),
    uses=("sl/obs2a",),
    finding=(
        "This is the Cauchy-Schwarz inequality, for any outputs; it says nothing"
        " about training."
    ),
)


# --- from a large start ---------------------------------------------------------------


def _turned(start: float, wrong: int) -> tuple[Problem, float]:
    """Three examples that the first direction gets wrong, or one that it gets right."""
    if not wrong:
        v = np.array([[0.1, np.sqrt(0.99)]])
        return Problem((v,), np.array([[1.0, 0.0]]), np.ones(1), start), 5.0
    x = np.array([[0.6822, 0.7311], [0.0529, -0.9986], [-0.1729, -0.9849]])
    v = np.array([[-0.9839, 0.1787]])
    return Problem((unit_rows(v),), unit_rows(x), np.ones(3), start), 0.1


_LATE = 60.0


def _measure_dip(*, start: float, wrong: int) -> Array:
    """Least scale on the way, and the last one."""
    p, decay = _turned(start, wrong)
    times = np.append(np.linspace(0.0, 4.0, 2001), _LATE)
    path = followed(p, decay, times.tolist())
    rho = np.array([float(state[0][0]) for state in path])
    return np.array([rho.min(), rho[-1]])


def _predict_dip(*, start: float, wrong: int) -> Array:
    """The scale where it meets its equilibrium, and at the end."""
    p, decay = _turned(start, wrong)
    flow = sl.gradient_flow(p.directions, start, p.x, p.labels, decay, t_end=_LATE)
    # The scale turns where it meets the equilibrium of its directions.
    return np.array([flow.rho_at(flow.crossings[0]), flow.rho_at(_LATE)])


def _falls_to_a_minimum(*, start: float, wrong: int) -> Array:
    return np.full(2, _predict_dip(start=start, wrong=wrong)[1])


FROM_ABOVE = numeric(
    id="sl/obs1-large",
    items=("Obs1large",),
    title="From a large start, the scale decreases until it reaches a minimum",
    statement=r"\rho(0)\gg\rho_{eq}\Rightarrow\rho(t)\text{ decreases to a minimum}",
    source=as_read("Section 2, below Equation 7"),
    cases=grid(start=5.0, wrong=(3, 0)),
    predict=_falls_to_a_minimum,
    measure=_measure_dip,
    # A grid of 0.002 misses the bottom by rho'' dt^2 / 8 < 5e-6; the integrators less.
    compare=AgreesTo(absolute=5e-6),
    must_hold=_predict_dip,
    expected=Outcome.REFUTED,
    uses=("sl/obs1",),
    finding=(
        "From 5, with a direction that misclassifies three examples and decay 0.1, the"
        " scale falls to 0.197, a tenth of its end, and rises again to 2.115. With one"
        " example, classified correctly throughout, and decay 5 it falls to 0.106 and"
        " rises to 1/6. It is true of the way to the equilibrium of the current"
        " directions, as is the rise of Observation 1."
    ),
)
