"""Input that is refused: which function says so, of which argument, and what came.

The predicted side calls the library and reads its error; the measured side is what was
called and given.
"""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
import numpy as np

from theory import activations as act
from theory import conditioning as dc
from theory import identity_map as idm
from theory import kernels, lengths, phase, spectrum
from theory import neural_collapse as nc
from theory import square_loss as sl
from verify.claim import numeric
from verify.claims._predictors import mistake
from verify.claims.deep_conditioning._sources import ours
from verify.compare import AgreesTo, Array, Identical

_ROWS = [[1.0, 0.0], [0.6, 0.8]]
_MASKED = np.ma.masked_array([0.1, 0.2], [False, True])

Call = tuple[Callable[[], Any], str, str, str, str]
"""What is called; its function, the arguments, what came, and a word of the advice."""


def _call(function: Any, *given: Any, **named: Any) -> Callable[[], Any]:
    return partial(function, *given, **named)


def _dual(given: Any, came: str) -> Call:
    # Where a correlation beyond [-1, 1] is sent.
    hint = "`theory.kernels.correlation`" if "1.5" in came else ""
    return _call(act.relu.dual, given), "relu.dual", "`rho`", came, hint


_NUMBERS = (
    _dual(float("nan"), "nan"),
    _dual([0.5, np.inf], "1 of 2 entries are not, e.g. inf"),
    _dual([0.1, 1.5, -3.0], "2 of 3 entries do not, e.g. 1.5"),
    _dual(-1.5, "-1.5"),
    _dual("0.5", "'0.5'"),
    _dual(b"12", "b'12'"),
    _dual(0.5j, "0.5j"),
    _dual([0.5, False], "the truth value False"),
    _dual(np.array([True]), "an array of truth values"),
    _dual(_MASKED, "a masked array"),
    _dual(np.array(["a"]), "an array of <U1"),
    _dual(np.array([1j, 2]), "an array of complex128"),
    _dual(np.array(0.5j), "array(0.+0.5j)"),
    _dual([[0.1], [0.1, 0.2]], "[[0.1], [0.1, 0.2]]"),
    _dual({"a": 1}, "{'a': 1}"),
    _dual(10**400, "1000"),
)


def _depth(given: Any) -> Call:
    return (
        _call(kernels.nngp, _ROWS, act.relu, given),
        "nngp",
        "`depth`",
        f"{given}",
        "",
    )


_BURNT = _call(dc.burn_in_depth, 1e-3, [0.5, 1e-20])
_WHOLE = (
    _depth(2.0),
    _depth(0),
    _depth(True),  # noqa: FBT003
    (_call(act.relu.hermite, 2**63), "relu.hermite", "`order`", str(2**63), ""),
    (_BURNT, "burn_in_depth", "`mu`", "1.24e+21 layers", "one number at a time"),
)


_VARIANCES = "`rho`, `var_x` and `var_y`", "shapes (3,), (2,) and ()", ""
_HUGE = _call(idm.expected_squared_norm, 0.5, scale=1e300, dim=3)
_SHAPES = (
    (_call(kernels.nngp, [1.0, 0.0], act.relu, 2), "nngp", "`x`", "shape (2,)", ""),
    (
        _call(dc.burn_in_depth, [0.1, 0.2, 0.3], [0.1, 0.2]),
        *("burn_in_depth", "`delta` and `mu`", "shapes (3,) and (2,)", ""),
    ),
    (_call(act.relu.dual, [0.5] * 3, var_x=[1.0, 2.0]), "relu.dual", *_VARIANCES),
    (
        _call(phase.classify, act.tanh, [[1.0], [0.0]]),
        *("classify", "`weight_var`", "1 of 2 entries are not, e.g. 0.0", ""),
    ),
    (_HUGE, "expected_squared_norm", "`scale`", "it is not finite", "nearer to 1"),
)


def _reduction(given: Any, near: str = "") -> Call:
    call = _call(sl.torch_scale, given, weight_decay=0.1, examples=10, rate=0.1)
    return call, "torch_scale", "`reduction`", repr(given), near


_NAMES = (
    _reduction("men", "'mean'?"),
    _reduction("HALF-SUMS", "'half-sum'?"),
    _reduction("zzz"),
    _reduction(3),
)


def _layers(given: Any, came: str, advice: str = "") -> Call:
    call = _call(kernels.nngp, _ROWS, given, 2)
    return call, "nngp", "`activation`", came, advice


_BY_NAME = "`activations.relu`"
_ACTIVATIONS = (
    _layers("relu", "'relu'", _BY_NAME),
    _layers([act.relu, "relu"], "[", _BY_NAME),
    _layers(act.hermite, "<function hermite", "`hermite()`"),
    _layers(act.HermiteMixture, "<class ", "`HermiteMixture()`"),
    _layers(abs, "<built-in function abs>", "`from_function`"),
    _layers(None, "None"),
    _layers([], "[]"),
    (_call(phase.chi_1, "tanh", 1.0), "chi_1", "`activation`", "'tanh'", _BY_NAME),
)

_SHARES = _call(spectrum.degree_shares, act.sign, 2, 2, 4, kernel="ntk")
_SPEAKERS = (
    # Refused by a function that this one calls, and by the activation itself.
    (_SHARES, "degree_shares", "`activation`", "sign", ""),
    (
        _call(lengths.generalised_mu, act.exp, 1e9),
        "generalised_mu",
        "exp: `var`",
        "",
        "",
    ),
)


def _labels(given: list[int], came: str, advice: str = "") -> Call:
    features = [[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, 3.0]]
    return _call(nc.nc1, features, given), "nc1", "`labels`", came, advice


_CLASSES = (
    _labels([0, 0, 2, 2], "class 1 has none", "from 0"),
    _labels([1, 1, 2, 2], "class 0 has none", "from 0"),
    _labels([0, 0, 0, 9], "class 1 has none", "from 0"),
    _labels([1, 1, 1, 1], "1 only"),
    _labels([-1, -1, -1, -1], "-1 only"),
    _labels([0, 0, 1], "(3,)", "`features` has shape (4, 2)"),
)


def _times(given: Any, came: str) -> Call:
    flow = [[[0.6, 0.8]]], 1.0, [[1.0, 0.0], [0.0, 1.0]], [1, -1], 0.1
    call = _call(sl.gradient_flow, *flow, t_end=1.0, t_eval=given)
    return call, "gradient_flow", "`t_eval`", came, ""


_TIMES = (
    _times([0.0, 0.5, 1.5], "1 of 3 entries do not, e.g. 1.5"),
    _times([0.5, -0.1], "1 of 2 entries do not, e.g. -0.1"),
    _times([[0.5]], "shape (1, 1)"),
    _times([], "shape (0,)"),
)


_TABLES: dict[str, tuple[Call, ...]] = {
    "speakers": _SPEAKERS,
    "classes": _CLASSES,
    "times": _TIMES,
    "numbers": _NUMBERS,
    "whole numbers": _WHOLE,
    "shapes": _SHAPES,
    "names": _NAMES,
    "activations": _ACTIVATIONS,
}


_SAID = {
    what: "\n".join(" / ".join(said) for _, *said in table)
    for what, table in _TABLES.items()
}
"""What the errors have to say: function, arguments, what came, a word of the advice."""


def _predict_refused(*, what: str) -> str:
    """The same of each error, as far as it is asked for."""
    out: list[str] = []
    for call, _, _, came, advice in _TABLES[what]:
        try:
            found = str(call())
        except ValueError as error:
            found = str(error)
        who, _, rest = found.partition(": ")
        said, given = rest, ""
        for mark in (", got ", ", but "):
            head, found_mark, tail = rest.partition(mark)
            if found_mark:
                said, given = head, tail
        hint = given[len(came) :].partition(". ")[2]
        hint = advice if advice and advice in hint else hint
        out.append(
            " / ".join([who, said.partition(" must ")[0], given[: len(came)], hint])
        )
    return "\n".join(out)


def _measure_refused(*, what: str) -> str:
    return _SAID[what]


REFUSED = numeric(
    id="dc/defC.1-refused",
    items=("DefC.1", "Eq1", "D.0"),
    title="Input that is none is refused by the function that was called, and named",
    statement=r"\text{function: } \text{argument must} \ldots, \text{ got what came}",
    source=ours("Definition C.1"),
    cases=tuple({"what": what} for what in _TABLES),
    predict=_predict_refused,
    measure=_measure_refused,
    compare=Identical(),
    must_refute=mistake(
        "The errors of other calls.",
        then=lambda said: "\n".join(reversed(said.splitlines())),
    ),
    uses=("dc/defC.1",),
)

# --- numbers of other kinds ---------------------------------------------------------------

_KINDS: dict[str, Callable[[str], Any]] = {
    "decimals": Decimal,
    "fractions": Fraction,
    "long doubles": np.longdouble,
    "half floats": np.float16,
}
_RHOS = ("-0.5", "0.25", "1")


def _predict_kinds(*, kind: str) -> Array:
    make = _KINDS[kind]
    square = np.array([[make(rho)] for rho in _RHOS])
    return np.asarray(act.relu.dual(square))[:, 0]


def _measure_kinds(*, kind: str) -> list[Any]:
    """The formula of the arc-cosine kernel."""
    del kind
    with mpmath.workdps(30):
        rhos = [mpmath.mpf(rho) for rho in _RHOS]
        return [
            (mpmath.sqrt(1 - r * r) + r * (mpmath.pi - mpmath.acos(r)))
            / (2 * mpmath.pi)
            for r in rhos
        ]


KINDS = numeric(
    id="dc/defC.1-kinds",
    items=("DefC.1",),
    title="Decimals, fractions and floats of other lengths are taken for what they are",
    statement=r"\hat\sigma(\rho) = \frac{\sqrt{1-\rho^2} + \rho (\pi - \arccos \rho)}"
    r"{2 \pi}",
    source=ours("Definition C.1"),
    cases=tuple({"kind": kind} for kind in _KINDS),
    predict=_predict_kinds,
    measure=_measure_kinds,
    # The three correlations are dyadic; both terms are below one, and cancel to 0.05.
    compare=AgreesTo(relative=1e-14),
    must_refute=mistake("In the order of others.", then=lambda found: found[::-1]),
    uses=("dc/defC.1",),
)
