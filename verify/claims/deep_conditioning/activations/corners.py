"""Activations where their formulas end: fixed points next to one, slopes, copies.

The measured side is a closed form or the definition in mpmath.
"""

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import mpmath
import numpy as np

from theory import activations as act
from verify.claim import grid, numeric
from verify.claims._predictors import mistake
from verify.claims.deep_conditioning._sources import ours
from verify.compare import AgreesTo, Array, Identical

# --- fixed points -----------------------------------------------------------------------


def _predict_rest(*, gap: float, linear: float, mean: float = 1.0) -> list[float]:
    square = (1.0 - linear) / (2.0 - gap)
    a0, a1, a2 = mean * np.sqrt((1.0 - gap) * square), np.sqrt(linear), np.sqrt(square)
    found = act.HermiteMixture((a0, a1, a2)).fixed_point()
    return [1.0 - found, np.log(found)]


def _measure_rest(*, gap: float, linear: float) -> list[float]:
    """a_0^2 + a_1^2 c + a_2^2 c^2 = c at c = 1 and c = a_0^2 / a_2^2 = 1 - gap."""
    del linear
    return [gap, np.log(1.0 - gap)]


REST = numeric(
    id="dc/defC.1-rest-close",
    title="The correlation that inputs settle at, next to one and far from it",
    statement=r"a_0^2 + a_1^2 c + a_2^2 c^2 = c, \quad c = a_0^2 / a_2^2 < 1",
    assumptions=("energies whose sum is one, a_0^2 + a_1^2 + a_2^2 = 1",),
    source=ours("Definition C.1"),
    cases=grid(gap=(1.0 - 2.0**-30, 0.7, 0.4, 1e-3, 1e-7), linear=(0.25, 0.998)),
    predict=_predict_rest,
    measure=_measure_rest,
    # Energies are rounded a few times each, and the gap is their difference.
    compare=AgreesTo(absolute=2e-15),
    must_refute=mistake("A mean a tenth less.", mean=0.9),
    uses=("dc/defC.1",),
)


def _predict_centred(*, activation: str) -> list[float]:
    if activation == "waves":
        # An odd function that takes tens of thousands of nodes.
        return [act.from_function(np.sin).scaled(1e4).fixed_point()]
    return [act.CATALOGUE[activation].normalized().fixed_point()]


def _measure_centred(*, activation: str) -> list[float]:
    """E s = 0: the dual has no constant part."""
    del activation
    return [0.0]


CENTRED = replace(
    REST,
    id="dc/defC.1-rest-centred",
    title="Inputs settle at correlation zero under functions of mean zero",
    statement=r"\mathbb{E}\, \sigma = 0: \quad c = \hat\sigma(c) \text{ at } c = 0",
    assumptions=(),
    cases=grid(activation=("erf", "relu", "gelu", "waves")),
    predict=_predict_centred,
    measure=_measure_centred,
    compare=AgreesTo(absolute=0.0),
    must_refute=mistake("At equal inputs.", then=lambda found: [1.0 - found[0]]),
    uses=("dc/defC.1-rest-close",),
)

# --- the variance of slopes ---------------------------------------------------------------

_SPREADS: dict[str, Callable[[Any], Any]] = {
    "exp": lambda v: mpmath.exp(v) * mpmath.expm1(v),
    "sin": lambda v: mpmath.expm1(-v) ** 2 / 2,
}
"""Of e^Y and cos Y, from E e^Y = e^{v/2} and E cos Y = e^{-v/2}."""


def _predict_spread(*, activation: str, var: float) -> float:
    return act.CATALOGUE[activation].derivative.scaled(var).variance


def _measure_spread(*, activation: str, var: float) -> Any:
    """E s'(Y)^2 - (E s'(Y))^2 for Y of this variance."""
    with mpmath.workdps(40):
        return _SPREADS[activation](mpmath.mpf(var))


SPREAD = numeric(
    id="dc/tab2-slope-variance",
    title="The variance of slopes, at variances on both sides of four",
    statement=r"\mathrm{Var}\, \sigma'(\sqrt v Z)",
    source=ours("Appendix C.4, beyond its table"),
    cases=grid(activation=tuple(_SPREADS), var=(1e-4, 2.0, 6.0)),
    predict=_predict_spread,
    measure=_measure_spread,
    # The library's promise; beyond a variance of four a difference that keeps its digits.
    compare=AgreesTo(relative=1e-12),
    must_refute=mistake("Variances a hundredth larger.", var=lambda v: 1.01 * v),
    uses=("dc/tab2",),
)

# --- values far out ---------------------------------------------------------------------

_FAR = (-1e17, -7e7, -6.5, 6.5, 123456.7, 9.7e15, 3.7e16)


_RAMPS = {"hard_tanh": (-1, 1), "relu6": (0, 6), "hard_sigmoid": (-3, 3)}
"""The kinks between which each of them rises."""

_LEVELS = {"hard_tanh": (-1, 1), "relu6": (0, 6), "hard_sigmoid": (0, 1)}
"""What each of them is before and behind these."""


def _predict_far(*, activation: str) -> Array:
    return cast(Array, act.CATALOGUE[activation](np.array(_FAR)))


def _measure_far(*, activation: str) -> list[float]:
    """Beyond its kinks it is constant."""
    before, behind = _LEVELS[activation]
    return [float(before if x < 0 else behind) for x in _FAR]


def _wrong_far(*, activation: str) -> list[float]:
    """The ramp that goes up less the one that takes it back, each rounded."""
    (first, last), (before, behind) = _RAMPS[activation], _LEVELS[activation]
    slope, x = (behind - before) / (last - first), np.array(_FAR)
    up, down = slope * np.maximum(x - first, 0.0), slope * np.maximum(x - last, 0.0)
    return [float(v) for v in before + up - down]


FAR = numeric(
    id="dc/eq2-far-out",
    title="Piecewise linear activations are constant however far beyond their kinks",
    statement=r"\sigma(x) = \sigma(\infty) \text{ for } x > c, \quad"
    r" \sigma(x) = \sigma(-\infty) \text{ for } x < b",
    assumptions=("b and c are the first and the last kink",),
    source=ours("Equation 2"),
    cases=grid(activation=("hard_tanh", "relu6", "hard_sigmoid")),
    predict=_predict_far,
    measure=_measure_far,
    # Rounded at the last kink.
    compare=AgreesTo(absolute=2e-15),
    must_refute=_wrong_far,
    uses=("dc/defC.1",),
)

# --- copies -----------------------------------------------------------------------------


def _bent(x: Array) -> Array:
    return np.tanh(x) + np.maximum(x - 0.25, 0.0)


def _third(_: Any, x: Any) -> Any:
    return x / 3


def _predict_copies(*, name: str) -> list[Any]:
    """What pickles bring back, of the library's function and of one of the same name.

    And what is shown of the function, of its normalisation and of others made of it.
    """
    a = cast(act.Smooth, act.CATALOGUE[name])
    known = a.definition
    own = replace(known, f=np.sinc, df=np.sinc, precise=_third, closed=None, bend=None)
    first, second = (pickle.loads(pickle.dumps(d)) for d in (known, own))
    shown = repr(own)
    same, other = (act.from_function(f) for f in (np.sinc, np.tanh))
    return [
        *(act.from_function(np.sinc) == same, other == same),
        act.from_function(_bent) == act.from_function(_bent, kinks=0.25),
        *(list(map(by, (True,))) == [NotImplemented] for by in (a.__mul__, a.__add__)),
        hash(act.from_function(np.sinc).scaled(2.0)) == hash(same.scaled(2.0)),
        *(first is known, second is own, second == own, second.f is np.sinc),
        *(repr(known), shown.startswith("Definition("), f"name={name!r}" in shown),
        *map(repr, (a, a.normalized(), 2.0 * (a + 0.5), -a - 3.0, a.scaled(2.0))),
    ]


def _measure_copies(*, name: str) -> list[Any]:
    """The library's own by its name, the other one by what it is made of."""
    known, called = f"CATALOGUE[{name!r}].definition", f"activations.{name}"
    return [
        *(True, False, True, True, True, True),
        *(True, False, True, True, known, True, True),
        *(called, f"{called}.normalized()"),
        *(
            *(f"2.0 * {called} + 1.0", f"-1.0 * {called} - 3.0"),
            f"Smooth(definition={known}, var=2.0)",
        ),
    ]


COPIES = numeric(
    id="dc/defC.1-copies",
    title="Pickles of definitions bring back the library's own, and one's own",
    statement=r"\text{the same function}",
    source=ours("Definition C.1"),
    cases=grid(name=("tanh", "gelu")),
    predict=_predict_copies,
    measure=_measure_copies,
    compare=Identical(),
    must_refute=mistake(
        "The library's function for any of its name.",
        then=lambda found: [*found[:7], found[6], *found[8:]],
    ),
    uses=("dc/defC.1",),
)

# --- means far below the rest -------------------------------------------------------------

_TRACE = 1e-20


def _predict_trace(*, trace: float = _TRACE) -> list[float]:
    mixture = act.HermiteMixture((trace, 0.6, 0.8))
    waves = act.cos.scaled(80.0)
    # Of a function beside its own slope: one is odd, the other even.
    beside = [
        float(act.pair(*both).dual(np.array(0.5)))
        for a in (act.erf, act.tanh)
        for both in ((a, a.derivative), (a.derivative, a))
    ]
    means = [mixture.mean, mixture.normalized().hermite(0)[0], waves.mean]
    return [*means, act.selu.mean, *beside]


def _measure_trace() -> list[Any]:
    """What is given, and E cos = e^(-v/2); SELU has rounded constants for its zero."""
    return [_TRACE, 0, mpmath.exp(-40), *[0] * 5]


TRACE = numeric(
    id="dc/tab2-trace",
    items=("Tab2",),
    title="Means far below the root mean square, known or rounding",
    statement=r"a_0 = \mathbb{E}\, \sigma(\sqrt v Z), \quad"
    r" \mathbb{E}\, \sigma(X) \sigma'(Y) = 0 \text{ for odd } \sigma",
    source=ours("Appendix C.4"),
    cases=({},),
    predict=_predict_trace,
    measure=_measure_trace,
    compare=AgreesTo(relative=1e-13),
    must_refute=mistake("A tenth more.", trace=1.1 * _TRACE),
    uses=("dc/tab2",),
)

# --- definitions of one's own -------------------------------------------------------------

_WIDEST = 150.0
_COSH = act.Smooth(
    act.Definition(
        name="cosh",
        f=np.cosh,
        df=np.sinh,
        precise=lambda mp, x: mp.cosh(x),
        parity=0,
        widest=_WIDEST,
    )
)
_LENGTHS = np.geomspace(0.5, 2.0, 65)
"""Shares of a variance, more than are integrated one by one."""


def _predict_definition(*, var: float, derivative: bool = False) -> list[float]:
    a = _COSH.derivative.scaled(var) if derivative else _COSH.scaled(var)
    lengths = [_COSH.length_map(var * _LENGTHS)[0], _COSH.length_map(2.0 * var)]
    rises = [
        _COSH.length_map_derivative(var * _LENGTHS)[0],
        _COSH.length_map_derivative(2.0 * var),
    ]
    first = [a.mean, a.second_moment, a.variance, a.mu]
    # The last length that is known, and whether one beyond it is refused.
    last = [a.length_map(_WIDEST / var), _is_refused(a, 1.001 * _WIDEST / var)]
    return np.log1p([*first, *lengths, *rises, *last]).tolist()


def _is_refused(a: act.Activation, q: float) -> bool:
    try:
        a.length_map(q)
    except ValueError:
        return True
    return False


def _measure_definition(*, var: float, derivative: bool = False) -> list[Any]:
    """E e^(2 r Z) = e^(2 q): E cosh^2 = (e^(2q) + 1) / 2, and E sinh^2 is one less."""
    with mpmath.workdps(50):
        v = mpmath.mpf(var)

        def square(q: Any) -> Any:
            return (mpmath.exp(2 * q) + 1) / 2

        mean = 0 if derivative else mpmath.exp(v / 2)
        second = square(v) - 1 if derivative else square(v)
        ends = v * mpmath.mpf(float(_LENGTHS[0])), 2 * v
        mu = 1 - v / mpmath.sinh(v) if derivative else 1
        found = [mean, second, second - mean**2, mu, *map(square, ends)]
        return [
            *map(mpmath.log1p, found),
            *(mpmath.log1p(mpmath.exp(2 * q)) for q in ends),
            mpmath.log1p(square(mpmath.mpf(_WIDEST)) - bool(derivative)),
            mpmath.log(2),
        ]


DEFINITION = numeric(
    id="dc/tab2-own-definition",
    items=("Tab2",),
    title="Moments and lengths of a definition of one's own that grows exponentially",
    statement=r"\log(1 + \mathbb{E}\, \cosh^2(\sqrt q Z)), \quad"
    r" \mathbb{E}\, \cosh^2(\sqrt q Z) = (e^{2q} + 1) / 2, \quad q \le 150",
    source=ours("Appendix C.4"),
    cases=grid(var=(1e-6, 2.0, 70.0), derivative=(False, True)),
    predict=_predict_definition,
    measure=_measure_definition,
    # The library's promise for moments, and a rounding of their logarithm.
    compare=AgreesTo(relative=1e-12),
    must_refute=mistake("Variances a hundredth larger.", var=lambda v: 1.01 * v),
    uses=("dc/tab2",),
)
