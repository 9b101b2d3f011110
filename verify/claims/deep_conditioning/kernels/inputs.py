"""Digits, rates and pairs of inputs, from the definitions (closed claims)."""

import math
from typing import Any

import numpy as np

from empirical import data
from empirical.conditioning import (
    accuracy,
    digit_problem,
    minimum_norm,
    with_label_noise,
)
from empirical.conditioning.rates import fitted_rates, slowest_rates
from empirical.conditioning.widths import error_slope
from empirical.data.inputs import pair_inputs, unit_rows
from empirical.randomness import numpy_generator
from verify.claim import grid
from verify.claims._twins import SUMS, Array, closed, sketch
from verify.compare import AgreesTo

_SEED = 7
# Of sums of a few hundred products, each rounded once or twice.
_SUMS = AgreesTo(relative=1e-12, absolute=1e-13)

# --- interpolation ----------------------------------------------------------------------


def _splits(n: int, tests: int) -> tuple[tuple[Any, int], ...]:
    return ("train", n), ("test", tests)


def _plain_digits(
    *, n: int, tests: int, noise: float, centre: bool, wrong: bool
) -> list[float]:
    """Solve the kernel's linear system on digits.

    Wrong: Tests centred by their own mean, the coefficients' norm for the function's.
    """
    train, held = (
        data.load("mnist", s, cached=False).head(k) for s, k in _splits(n, tests)
    )
    x, z = (d.images.reshape(len(d.images), -1) / 1.0 for d in (train, held))
    mean = x.mean(axis=0) if centre else 0.0
    x, z = (a - (a.mean(axis=0) if wrong and centre else mean) for a in (x, z))
    x, z = (a / np.sqrt((a**2).sum(axis=1))[:, None] for a in (x, z))
    y, wanted = (np.eye(10)[d.labels] - 0.1 for d in (train, held))
    y = y + noise * numpy_generator(_SEED, "noise").standard_normal(y.shape)
    k, cross = (1.0 + x @ x.T) ** 3, (1.0 + z @ x.T) ** 3
    a = np.linalg.solve(k, y)
    f, values = cross @ a, np.linalg.eigvalsh(k)
    right = float(np.mean(f.argmax(axis=1) == held.labels))
    size = float(((a if wrong else y) * a).sum())
    return [values[-1] / values[0], size, right, *sketch(x, z, f, wanted)]


def _found_digits(*, n: int, tests: int, noise: float, centre: bool) -> list[float]:
    found = digit_problem(n, tests, cached=False, centre=centre)
    y = with_label_noise(
        found.targets, deviation=noise, generator=numpy_generator(_SEED, "noise")
    )
    x, z = found.inputs, found.test_inputs
    fit = minimum_norm((1.0 + x @ x.T) ** 3, y, cross=(1.0 + z @ x.T) ** 3)
    assert fit.residual < 1e-9
    right = accuracy(fit.predictions, found.test_labels)
    told = sketch(x, z, fit.predictions, found.test_targets)
    return [fit.condition, float(fit.squared_norms.sum()), right, *told]


DIGITS = closed(
    id="dc/thm6.1-interpolant",
    title="Minimum-norm interpolants of digits are solutions of the kernel's linear system",
    statement=r"f(x)=k(x)^TK^{-1}y,\qquad\|f\|^2=y^TK^{-1}y",
    where="Section 6 and Appendix G, the minimum-norm interpolant",
    cases=(
        {"n": 12, "tests": 7, "noise": 0.0, "centre": False},
        {"n": 9, "tests": 11, "noise": 0.3, "centre": True},
    ),
    twin=_plain_digits,
    measure=_found_digits,
    compare=SUMS,
    uses=("dc/asmA-rows",),
)


# --- rates and pairs --------------------------------------------------------------------


class _Curves:
    """Loss curves as `fitted_rates` reads them."""

    steps = np.arange(0, 60, 3)
    diverged = np.zeros(4, dtype=bool)
    losses = np.stack(
        [
            2.0 * np.exp(-0.3 * steps) + 0.5 * np.exp(-0.9 * steps),
            np.exp(-0.01 * steps),
            np.zeros(len(steps)),
            np.where(steps == 0, 1.0, 0.0),
        ]
    )


def _plain_rates(*, above: float, below: float, wrong: bool) -> list[float]:
    """Fit a line by sums; nothing where fewer than three losses lie in the range.

    Wrong: Slopes of lines through the origin of time.
    """
    found: list[float] = []
    for curve in _Curves.losses:
        points = [
            (float(t), math.log(v / curve[0]))
            for t, v in zip(_Curves.steps, curve, strict=True)
            if curve[0] and above <= v / curve[0] <= below
        ]
        if len(points) < 3:
            found.append(-9.0)
            continue
        t, v = (np.array(part) for part in zip(*points, strict=True))
        mean = 0.0 if wrong else t.mean()
        found.append(-float((t - mean) @ v / ((t - mean) @ (t - mean))))
    return found + [_slowest(curve) for curve in _Curves.losses]


def _slowest(curve: Array) -> float:
    """Return the rate of a bound for all times; none from zero, beyond all at once."""
    pairs = list(zip(_Curves.steps.tolist(), curve.tolist(), strict=True))[1:]
    rates = [-math.log(v / curve[0]) / t for t, v in pairs if v > 1e-24 * curve[0]]
    return -9.0 if curve[0] == 0.0 else min(rates, default=-8.0)


def _found_rates(*, above: float, below: float) -> list[float]:
    curves: Any = _Curves
    fitted = fitted_rates(curves, above=above, below=below)
    every = np.concatenate([fitted, slowest_rates(curves)])
    return np.nan_to_num(every, nan=-9.0, posinf=-8.0).tolist()


RATES = closed(
    id="dc/thmE.8-fitted",
    items=("ThmE.8", "ThmE.5"),
    title="Rates of decay are least-squares slopes through the late losses alone",
    statement=r"r=-\frac{\sum(t-\bar t)\log\mathcal L_t}{\sum(t-\bar t)^2}",
    where="Theorems E.5 and E.8, as measured",
    cases=grid(above=(1e-20, 1e-6), below=(1e-2, 0.6, 0.61)),
    twin=_plain_rates,
    measure=_found_rates,
    compare=_SUMS,
)


def _plain_pair(*, rho: float, dim: int, turned: bool, wrong: bool) -> list[float]:
    """State lengths and the product of a pair, and its first vector.

    Wrong: The absolute correlation.
    """
    lengths = [1.0, 1.0, abs(rho) if wrong else rho]
    if turned:
        return lengths
    return [*lengths, *sketch(np.array([[1.0, *[0.0] * (dim - 1)]]))]


def _found_pair(*, rho: float, dim: int, turned: bool) -> list[float]:
    rng = np.random.default_rng(9) if turned else None
    x, y = pair_inputs(rho, dim, generator=rng)
    found = [float(x @ x), float(y @ y), float(x @ y)]
    return found if turned else [*found, *sketch(x)]


PAIR = closed(
    id="dc/asmA-pair",
    title="Generated pairs of inputs have unit length and exactly the requested"
    " correlation",
    statement=r"\|x\|=\|y\|=1,\qquad x\cdot y=\rho",
    where="Assumption A, of two inputs",
    cases=grid(rho=(-1.0, -0.4, 0.0, 0.999999, 1.0), dim=(2, 5), turned=(False, True)),
    twin=_plain_pair,
    measure=_found_pair,
    compare=_SUMS,
)


def _plain_rows(*, powers: list[int], wrong: bool) -> list[float]:
    """Divide rows of whole numbers by their lengths, whatever their powers of two.

    Wrong: The largest entry for the length.
    """
    rows = [_WHOLE[k % len(_WHOLE)] for k in range(len(powers))]
    sizes = [max(map(abs, row)) if wrong else math.hypot(*row) for row in rows]
    return [v / size for row, size in zip(rows, sizes, strict=True) for v in row]


def _found_rows(*, powers: list[int]) -> list[float]:
    rows = [_WHOLE[k % len(_WHOLE)] for k in range(len(powers))]
    given = [[math.ldexp(v, k) for v in r] for r, k in zip(rows, powers, strict=True)]
    return unit_rows(given).flatten().tolist()


_WHOLE = ((3, 4, 0), (-2, 3, 6), (1, -1, 1))

ROWS = closed(
    id="dc/asmA-rows",
    title="Inputs have unit length, though squares of their entries over- or underflow",
    statement=r"x\mapsto x/\|x\|,\qquad 2^kx\mapsto x/\|x\|",
    where="Assumption A, inputs of unit norm",
    cases=({"powers": [0, 1, -1]}, {"powers": [1020, -1074, 0, -600, 900]}),
    twin=_plain_rows,
    measure=_found_rows,
    compare=_SUMS,
)


# --- errors by width --------------------------------------------------------------------


def _errors() -> tuple[list[int], Array]:
    rng = np.random.default_rng(10)
    widths = [16, 40, 256]
    noise = 1.0 + 0.2 * rng.standard_normal((3, 5))
    return widths, np.array(widths)[:, None] ** -0.5 * noise


def _plain_slope(*, first: int, wrong: bool) -> list[float]:
    """Fit a line by sums, and carry the spread of the squares along.

    Wrong: Variances that divide by the number of draws, not one less.
    """
    widths, errors = _errors()
    x = [math.log(w) for w in widths[first:]]
    squares = errors[first:] ** 2
    y = [0.5 * math.log(row.mean()) for row in squares]
    mean = sum(x) / len(x)
    weights = [(v - mean) / sum((u - mean) ** 2 for u in x) for v in x]
    variances = [
        row.var(ddof=0 if wrong else 1) / len(row) / (4.0 * row.mean() ** 2)
        for row in squares
    ]
    slope = sum(w * v for w, v in zip(weights, y, strict=True))
    spread = sum(w * w * v for w, v in zip(weights, variances, strict=True))
    return [slope, math.sqrt(spread)]


def _found_slope(*, first: int) -> list[float]:
    widths, errors = _errors()
    return list(error_slope(widths[first:], errors[first:]))


SLOPE = closed(
    id="dc/lemE.1-slope",
    title="Rates of error against width are least-squares slopes of logarithms",
    statement=r"\log\sqrt{\overline{e^2}}=a+b\log m",
    where="Lemma E.1",
    cases=({"first": 0}, {"first": 1}),
    twin=_plain_slope,
    measure=_found_slope,
    compare=_SUMS,
)
