"""Activations by name, against their formulas (closed claims)."""

import math
from collections.abc import Callable, Mapping
from itertools import pairwise

import torch
from scipy import integrate, special

from empirical.conditioning.activations import named, standardised
from theory import activations as act
from verify.claim import grid, numeric
from verify.claims._predictors import mistake
from verify.claims._twins import closed
from verify.claims.deep_conditioning._sources import ours
from verify.compare import AgreesTo, Identical

# --- activations ------------------------------------------------------------------------


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def _cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


_SELU = (1.0507009873554804934193349852946, 1.6732632423543772848170429916717)

FUNCTIONS: Mapping[str, tuple[Callable[[float], float], tuple[float, ...]]] = {
    "relu": (lambda x: max(x, 0.0), (0.0,)),
    "identity": (lambda x: x, ()),
    "relu6": (lambda x: min(max(x, 0.0), 6.0), (0.0, 6.0)),
    "relu_squared": (lambda x: max(x, 0.0) ** 2, (0.0,)),
    "leaky_relu(0.01)": (lambda x: max(x, 0.01 * x), (0.0,)),
    "abs": (abs, (0.0,)),
    "step": (lambda x: float(x > 0.0), (0.0,)),
    "sign": (lambda x: float(x > 0.0) - float(x < 0.0), (0.0,)),
    "hard_tanh": (lambda x: min(max(x, -1.0), 1.0), (-1.0, 1.0)),
    "hard_sigmoid": (lambda x: min(max(x / 6.0 + 0.5, 0.0), 1.0), (-3.0, 3.0)),
    "hard_swish": (lambda x: x * min(max(x / 6.0 + 0.5, 0.0), 1.0), (-3.0, 3.0)),
    "tanh": (math.tanh, ()),
    "tanh3": (lambda x: math.tanh(3.0 * x), ()),
    "erf": (math.erf, ()),
    "sin": (math.sin, ()),
    "cos": (math.cos, ()),
    "exp": (math.exp, ()),
    "arctan": (math.atan, ()),
    "asinh": (math.asinh, ()),
    "gaussian": (lambda x: math.exp(-x * x / 2.0), ()),
    "sigmoid": (_sigmoid, ()),
    "softplus": (lambda x: math.log1p(math.exp(-abs(x))) + max(x, 0.0), ()),
    "softsign": (lambda x: x / (1.0 + abs(x)), (0.0,)),
    "log_cosh": (lambda x: math.log(math.cosh(x)), ()),
    "gelu": (lambda x: x * _cdf(x), ()),
    "quick_gelu": (lambda x: x * _sigmoid(1.702 * x), ()),
    "silu": (lambda x: x * _sigmoid(x), ()),
    "mish": (lambda x: x * math.tanh(math.log1p(math.exp(x))), ()),
    "elu": (lambda x: x if x > 0.0 else math.expm1(x), (0.0,)),
    "selu": (lambda x: _SELU[0] * (x if x > 0.0 else _SELU[1] * math.expm1(x)), (0.0,)),
    "hermite2": (lambda x: special.eval_hermitenorm(2, x) / math.sqrt(2.0), ()),
    "hermite3": (lambda x: special.eval_hermitenorm(3, x) / math.sqrt(6.0), ()),
    "hermite4": (lambda x: special.eval_hermitenorm(4, x) / math.sqrt(24.0), ()),
    "relu-0.7": (lambda x: max(x, -0.7), (-0.7,)),
}


def moments(
    f: Callable[[float], float], kinks: tuple[float, ...]
) -> tuple[float, float]:
    """Return mean and deviation under the standard normal, piece by piece."""

    def mean(g: Callable[[float], float]) -> float:
        cuts = (-14.0, *kinks, 14.0)
        return sum(
            integrate.quad(
                lambda x: g(x) * math.exp(-x * x / 2.0) / math.sqrt(2.0 * math.pi),
                *ends,
                epsabs=1e-14,
                epsrel=1e-13,
                limit=200,
            )[0]
            for ends in pairwise(cuts)
        )

    first = mean(f)
    return first, math.sqrt(mean(lambda x: (f(x) - first) ** 2))


_POINTS = (-3.3, -1.2, -0.4, 0.0, 0.3, 1.7, 3.6, 6.4)


def _plain_named(*, name: str, wrong: bool) -> list[float]:
    """Normalise by the mean and deviation over the Gaussian.

    Wrong: The root mean square in the place of the deviation.
    """
    f, kinks = FUNCTIONS[name]
    mean, deviation = moments(f, kinks)
    size = math.hypot(mean, deviation) if wrong else deviation
    return [(f(x) - mean) / size for x in _POINTS]


def _found_named(*, name: str) -> list[float]:
    return named(name)(torch.tensor(_POINTS, dtype=torch.float64)).tolist()


NAMED = closed(
    id="dc/eq2-named",
    title="Every activation used in training is the normalised function of its name",
    statement=r"x\mapsto(\sigma(x)-\mathbb{E}\sigma(Z))/\sqrt{\operatorname{Var}\sigma(Z)}",
    where="Equation 2",
    cases=grid(name=tuple(FUNCTIONS)),
    twin=_plain_named,
    measure=_found_named,
    # Quadratures to 1e-14, or 1e-13 of a moment, by their own estimates.
    compare=AgreesTo(relative=1e-13, absolute=1e-13),
    uses=("dc/eq2",),
)

# --- those of the catalogue ---------------------------------------------------------------

_AWAY = tuple(x for x in _POINTS if x)
"""Points at which nothing has a kink."""


def _predict_catalogued(*, names: tuple[str, ...], further: float = 0.0) -> list[float]:
    found: list[float] = []
    for a in map(act.CATALOGUE.__getitem__, names):
        found += [*a.kinks, *(a(x + further) for x in _AWAY)]
        if a.name not in _STEPS:
            found += [a.derivative(x + further) for x in _AWAY]
    return found


_STEPS = ("step", "sign")
_GAP = 1e-3


def _measure_catalogued(*, names: tuple[str, ...]) -> list[float]:
    """The formula, and differences of fourth order."""
    found: list[float] = []
    for name in names:
        f, kinks = FUNCTIONS[name]
        found += [*kinks, *map(f, _AWAY)]
        if name not in _STEPS:
            found += [_slope(f, x) for x in _AWAY]
    return found


def _slope(f: Callable[[float], float], x: float) -> float:
    near, far = (f(x + k * _GAP) - f(x - k * _GAP) for k in (1, 2))
    return (8.0 * near - far) / (12.0 * _GAP)


_CATALOGUED = tuple(name for name in FUNCTIONS if name in act.CATALOGUE)

CATALOGUED = numeric(
    id="dc/eq2-catalogue",
    items=("Eq2",),
    title="Kinks, values and slopes of every catalogued activation, by its formula",
    statement=r"\sigma(x), \quad \sigma'(x)",
    source=ours("Equation 2"),
    # Of each kind in every case: a definition is asked for by those that run its module.
    cases=grid(names=tuple(_CATALOGUED[k::4] for k in range(4))),
    predict=_predict_catalogued,
    measure=_measure_catalogued,
    # A fifth derivative below 1e3 times 1e-12 / 30, and values rounded at 1e-3.
    compare=AgreesTo(absolute=1e-10, relative=1e-11),
    must_refute=mistake("A millionth further.", further=1e-6),
    uses=("dc/eq2",),
)


def _plain_grown(*, rate: float, below: bool, above: bool, wrong: bool) -> list[float]:
    """Say whether exp(rate x^2) is refused: its square has no mean from 1/4 on.

    Wrong: What it does above the mean decides.
    """
    del below
    return [float(rate > 0.25 and (above or not wrong))]


def _found_grown(*, rate: float, below: bool, above: bool) -> list[float]:
    def f(z: torch.Tensor) -> torch.Tensor:
        kept = (below & (z < 0.0)) | (above & (z > 0.0))
        return torch.where(kept, torch.exp(rate * z.square()), 0.0)

    try:
        standardised(f, kinks=(0.0,))
    except ValueError:
        return [1.0]
    return [0.0]


GROWN = closed(
    id="dc/eq2-grown",
    title="Functions without variance are not normalised, on whichever side they grow",
    statement=r"\operatorname{Var}e^{aZ^2}1(\pm Z>0)<\infty\iff a<\tfrac14",
    where="Equation 2",
    cases=(
        *grid(rate=(0.1, 0.3), below=True, above=(False, True)),
        *grid(rate=(0.1, 0.3), below=False, above=True),
    ),
    twin=_plain_grown,
    measure=_found_grown,
    compare=Identical(),
    uses=("dc/eq2-named",),
)
