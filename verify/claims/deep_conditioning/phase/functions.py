"""Networks with biases, of functions that grow without bound, and of shifted ones.

The measured side takes moments from formulas, or from
`verify.claims.deep_conditioning.kernels._pairs`, and the fixed variance by secants.
"""

import re
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

from theory import activations as act
from theory import phase
from verify.claim import Source, grid, numeric
from verify.claims._predictors import mistake, times
from verify.claims.deep_conditioning.kernels import _pairs as pairs
from verify.claims.deep_conditioning.phase.grid import settled
from verify.compare import AgreesTo, Identical

_SHIFTS = {"a constant": 0.3, "next to nothing": 1e-10}
_SOURCE = Source("schoenholz2017deep", "Sections 2 and 3")


def _subject(name: str) -> act.Activation:
    if name == "exp of a square":
        return act.from_function(lambda x: np.exp(0.2 * x * x), name="growing")
    if name == "exp by values":
        return act.from_function(np.exp, name="own exp")
    if name == "bump":
        return act.from_function(lambda x: x**3 * np.exp(-x * x), name="bump")
    base, _, shifted = name.partition(" and ")
    scale = 0.2 if base == "exp" else 1.0
    found = act.CATALOGUE[base]
    return act.Affine(found, scale, _SHIFTS[shifted]) if shifted else found


def _square(q: Any) -> pairs.Moments:
    """From E exp(c Y^2) = (1 - 2 c q)^(-1/2) and its derivative in c."""
    left = 1 - mpmath.mpf("0.8") * q
    return 1 / mpmath.sqrt(left), mpmath.mpf("0.16") * q / left ** mpmath.mpf("1.5")


def _bump(q: Any) -> pairs.Moments:
    """From E Y^2k exp(-2 Y^2) = (2k - 1)!! q^k (1 + 4 q)^-(k + 1/2)."""
    r = q / (1 + 4 * q)
    size = 1 / mpmath.sqrt(1 + 4 * q)
    return 15 * r**3 * size, (27 * r**2 - 180 * r**3 + 420 * r**4) * size


def _known(name: str) -> Callable[[Any], pairs.Moments]:
    """Return E s^2 and E s'^2 of a variance."""
    if name in ("exp of a square", "bump"):
        return _bump if name == "bump" else _square
    base, _, shifted = name.removesuffix(" by values").partition(" and ")
    shift = mpmath.mpf(_SHIFTS.get(shifted, 0))
    scale = mpmath.mpf(0.2 if shifted and base == "exp" else 1)
    law = pairs.LAWS[base]

    def moments(q: Any) -> pairs.Moments:
        value, slope = (scale**2 * each for each in law.one(q))
        return value + 2 * scale * shift * law.mean(q) + shift**2, slope

    return moments


def _measure_state(
    *, name: str, weight_var: float, bias_var: float, start: float | None = None
) -> list[Any]:
    """q*, chi_q and chi_1 of networks whose inputs become parallel: the first of all."""
    with mpmath.workdps(40):
        w, b, moments = mpmath.mpf(weight_var), mpmath.mpf(bias_var), _known(name)

        def layer(q: Any) -> Any:
            return w * moments(q)[0] + b

        q = settled(layer, b if start is None else start)
        change = mpmath.diff(layer, q, h=q * mpmath.mpf("1e-15"))
        return [q, change, w * moments(q)[1], q, change]


def _predict_state(
    *, name: str, weight_var: float, bias_var: float, start: float = 1.0
) -> list[float]:
    network = _subject(name), weight_var, bias_var
    p, first = phase.classify(*network, start=start), phase.fixed_variances(*network)[0]
    return [p.variance, p.chi_q, p.chi_1, first.variance, first.slope]


_CASES = tuple(
    {"name": name, "weight_var": w, "bias_var": b}
    for name, w, b in (
        ("exp", 0.05, 0.1),
        ("exp by values", 0.05, 0.1),
        ("exp of a square", 0.1, 0.01),
        ("exp and a constant", 0.5, 0.1),
        ("sin and a constant", 1.5, 0.1),
        ("gelu and a constant", 0.5, 0.1),
        ("relu6 and a constant", 1.5, 0.1),
        # A variance below all tables.
        ("erf and next to nothing", 0.5, 1e-21),
    )
)

STATE = numeric(
    id="dc/D.0-phase-growing",
    title="Fixed variances of functions that grow without bound, and of shifted ones",
    statement=r"q^* = \sigma_w^2\, \mathbb{E}\, \sigma(\sqrt{q^*} Z)^2 + \sigma_b^2",
    assumptions=("infinite width", "independent Gaussian weights and biases"),
    source=_SOURCE,
    # A wide first layer overtakes the upper of two variances that attract.
    cases=(
        *_CASES,
        {"name": "bump", "weight_var": 20.0, "bias_var": 1e-3, "start": 1e3},
    ),
    predict=_predict_state,
    measure=_measure_state,
    # The library's promise away from the edge.
    compare=AgreesTo(relative=1e-11),
    must_refute=mistake("Weights of a tenth less.", weight_var=times(0.9)),
    uses=("dc/D.0-phase",),
)


def _predict_shown(*, name: str, weight_var: float, bias_var: float) -> list[float]:
    """The numbers of what is printed, in its order."""
    shown = str(phase.classify(_subject(name), weight_var, bias_var))
    found = re.findall(r"(?:= *|_var )(-?[\d.]+(?:e[-+]\d+)?)", shown)
    return [float(shown.startswith("ordered:")), *map(float, found)]


def _measure_shown(*, name: str, weight_var: float, bias_var: float) -> list[Any]:
    """Correlations come to one, with the slope chi_1."""
    given = {"weight_var": weight_var, "bias_var": bias_var}
    q, own, slope, *_ = _measure_state(name=name, **given)
    depths = [-1 / mpmath.log(v) for v in (own, slope)]
    rest = [q, own, depths[0], 1, slope, depths[1], slope, depths[1]]
    return [1, weight_var, bias_var, *rest]


SHOWN = numeric(
    id="dc/D.0-phase-shown",
    title="The text of a network says its fixed points, slopes and depth scales",
    statement=r"q^*, \chi_q, \xi_q; \quad c^*, \chi_c, \xi_c; \quad \chi_1, \xi_g",
    source=_SOURCE,
    cases=(_CASES[0], _CASES[4]),
    predict=_predict_shown,
    measure=_measure_shown,
    # Six digits are printed.
    compare=AgreesTo(relative=6e-6),
    must_refute=mistake("Weights of a tenth less.", weight_var=times(0.9)),
    uses=("dc/D.0-phase-growing",),
)


def _predict_counts(*, weights: list[float]) -> str:
    return str(phase.classify(act.relu, weights, 0.0))


def _measure_counts(*, weights: list[float]) -> str:
    """ReLU: ordered below a weight variance of two, divergent above it."""
    names = {"critical": [w == 2.0 for w in weights]}
    names["divergent"] = [w > 2.0 for w in weights]
    names["ordered"] = [w < 2.0 for w in weights]
    found = ", ".join(f"{sum(n)} {name}" for name, n in names.items() if any(n))
    return f"{len(weights)} networks: {found}"


COUNTS = numeric(
    id="dc/D.0-phase-counts",
    title="The text of several networks says how many there are of each phase",
    statement=r"\sigma_w^2 < 2, \ = 2, \ > 2",
    source=_SOURCE,
    cases=grid(weights=([1.0, 2.0, 3.0, 1.5], [3.0, 4.0])),
    predict=_predict_counts,
    measure=_measure_counts,
    compare=Identical(),
    must_refute=mistake("One network less.", weights=lambda found: found[:-1]),
    uses=("dc/D.0-phase-shown",),
)
