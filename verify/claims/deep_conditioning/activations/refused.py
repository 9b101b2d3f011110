"""Arguments that are no numbers, shapes or names: which are refused, and in what words.

The measured side knows what was given: its function, the argument and the value as it is
written. Of whole sentences it knows nothing.
"""

import operator
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np

from theory import (
    activations,
    conditioning,
    identity_map,
    kernels,
    lengths,
    neural_collapse,
    optimization,
    phase,
    regression,
    square_loss,
    width,
)
from theory.phase import diagram
from verify.claim import numeric
from verify.claims._predictors import always
from verify.claims.deep_conditioning._sources import ours
from verify.compare import AgreesTo, Identical

_NAN, _INF = float("nan"), float("inf")
_ROWS = [[1.0, 0.0], [0.0, 1.0]]
_RELU = "@relu"
"""An activation of `theory.activations`, by its name: it is looked up to predict alone.

Or what a function of it makes of a number, as ``"@relu.scaled(2)"``.
"""
_OWN: dict[str, Callable[[Any], Any]] = {
    "@exp(x^2 / 10)": lambda x: np.exp(0.1 * x * x),
    "@x^9": lambda x: x**9,
    "@a lower ramp": lambda x: 0.5 * np.maximum(x + 1.5, 0.0) - 2.0,
    "@tanh(x)^3 / 1e9": lambda x: 1e-9 * np.tanh(x) ** 3,
    # Which evenly spaced values miss, and their panels do not.
    "@a spike among waves": lambda x: (
        np.sin(100.0 * x) + np.exp(-0.5 * np.square(1e5 * (x - 0.306)))
    ),
}
"""So are these, as functions of one's own."""

_KERNEL = {"x": _ROWS, "activation": _RELU, "depth": 2}
_LEARNT = {**_KERNEL, "x_train": _ROWS, "targets": [1.0, 2.0], "x_test": _ROWS}
_LEARNT.pop("x")
_LENGTHS = {"activation": "@tanh", "gamma_x": 1.5, "gamma_y": 0.5}
_USUAL: dict[str, dict[str, Any]] = {
    "kernels:nngp": _KERNEL,
    "kernels:nngp_ntk": {
        "x": [[1.0, 0.0], [0.5, 2.0], [3.0, 1.0]],
        "activation": "@gelu",
        "depth": 4,
    },
    "kernels:ntk": {
        "x": [[1e-3, 0.0], [1.0, 0.0]],
        "activation": "@relu_squared",
        "depth": 2,
    },
    "regression:predict": _LEARNT,
    "conditioning:burn_in_depth": {"delta": [0.5, 1e-3], "mu": 0.5},
    "kernels:nngp_map": {"rho": 0.5, "activation": [_RELU, _RELU]},
    "kernels:ntk_map": {
        "rho": 0.5,
        "activation": "@tanh.scaled(64)",
        "depth": 2000,
        "normalized": True,
    },
    "kernels:separation": {"x": _ROWS},
    "lengths:unstable_length": {"c": -0.1},
    "lengths:length_trajectory": {
        "activation": "@relu_squared",
        "gamma": 1e140,
        "depth": 1,
    },
    "lengths:settling_depth": _LENGTHS,
    "lengths:correlation_bound_any_length": {**_LENGTHS, "delta": 0.5, "depth": 3},
    "lengths:normrelu_decay": {
        **_LENGTHS,
        "delta": 0.5,
        "activation": "@normrelu(-1.59)",
    },
    "phase:edge_of_chaos": {"activation": _RELU, "bias_var": 0.1},
    "width:length_moment": {"activation": _RELU, "depth": 2, "width": 3},
    "phase:classify": {"activation": _RELU, "weight_var": [1.0, 2.0]},
    "diagram:reach": {"activation": _RELU, "bias_var": (0.0, 1.0)},
    "phase:edge_curve": {"q": 2.7, "activation": _RELU},
    "phase:edge_points": {"activation": _RELU},
    "phase:correlation_map": {"rho": 0.5, "activation": _RELU, "weight_var": 2.0},
    "activations:from_function": {"f": np.tanh},
    "identity_map:least_squares_weights": {
        "x": [[1.0]],
        "y": [[-1e308, 1.0, -1e308]],
        "w0": [[0.0, 0.0, 0.0]],
    },
    "neural_collapse:nc1": {
        "features": [[1.0], [2.0], [3.0], [4.0]],
        "labels": [0, 0, 1, 1],
    },
    "square_loss:gradient_flow": {
        "directions": [[[0.6, 0.8]]],
        "rho0": 0.5,
        "x": _ROWS,
        "labels": [1, -1],
        "weight_decay": 0.1,
        "t_end": 3.0,
    },
    "square_loss:rho_iterates": {
        "steps": 1,
        "rho0": 1.0,
        "outputs": [1e10],
        "labels": [1],
        "weight_decay": 0.0,
        "rate": 1e-30,
    },
    "square_loss:directions_velocity": {
        "rho": 1.0,
        "directions": [[[[0.6, 0.8]]] * 2],
        "x": _ROWS,
        "labels": [1, -1],
    },
    "square_loss:regularisation_path": {
        "x": [[1.0, 2.0], [1.0, 2.0]],
        "labels": [1, 1],
        "weight_decay": 0.1,
    },
    "width:nngp_variance": {"rho": 0.5, "activation": _RELU, "depth": 20, "width": 100},
    "optimization:excess_risk_bound": {"n": 4, "optimum_norm": 1.0},
}
"""Arguments that are accepted; a case has another one of them."""


class _Unsaid:
    """Says nothing of itself, and that with an error."""

    def __repr__(self) -> str:
        raise RuntimeError


def _objects(*entries: Any) -> Any:
    return np.array([entries], dtype=object)


_REFUSED: dict[str, tuple[str, str, Any, list[str]]] = {
    what: (where, name, value, said)
    for (where, name), cases in {
        ("kernels:nngp", "x"): (
            # What came: of an array how many entries, of how many, and the first of them.
            (
                "nan and infinity",
                [[1.0, _NAN], [_INF, 1.0]],
                "2 of 4 entries are not",
                "nan.",
            ),
            # What a cast would take for a number.
            ("text", [["a", "b"]], "got [['a', 'b']]."),
            ("complex", [[1j, 1.0]], "got [[1j, 1.0]]."),
            ("truth", [[1.0, True]], "the truth value True."),
            ("truths", np.array([[True, False]]), "an array of truth values"),
            (
                "dates",
                np.array([["2020-01-01"]], dtype="M8[D]"),
                "an array of datetime64[D].",
            ),
            (
                "masked",
                np.ma.masked_array(_ROWS, np.eye(2, dtype=bool)),
                "a masked array",
                "fill or drop",
            ),
            ("text among objects", _objects(Decimal(1), "x"), "an array of object."),
            ("a decimal beyond", _objects(Decimal("1e400"), 1), "1 of 2", "inf."),
            ("a whole number beyond", [[10**400, 1]], "got [[1000"),
            ("what says nothing", _Unsaid(), "of type _Unsaid."),
            # Shapes.
            ("three axes", np.zeros((2, 3, 4)), "got (2, 3, 4)."),
            ("no rows", [], "got (0,)."),
        ),
        ("lengths:unstable_length", "c"): (
            ("infinity alone", _INF, "got inf."),
            ("out of range", [-0.1, 0.5, 0.75], "2 of 3 entries do not", "0.5."),
            ("one out of range", 0.5, "got 0.5."),
        ),
        ("lengths:length_trajectory", "depth"): (
            ("squares of squares", 2, "Layer 1, from `gamma`."),
        ),
        ("kernels:separation", "x"): (("one row", [[1.0, 0.0]], "two rows, got 1."),),
        ("kernels:nngp", "y"): (("fewer columns", [[1.0]], "`x`, 2, got 1."),),
        ("kernels:nngp_map", "depth"): (("a depth of its own", 3, "2, got 3."),),
        ("kernels:ntk_map", "activation"): (
            (
                "a tangent of jumps",
                "@step",
                "square-integrable derivative",
                "got step.",
            ),
        ),
        ("kernels:ntk_map", "normalized"): (
            # The slope at one is above ten, to the power of 2,000.
            ("a kernel of thousands of digits", False, "a diagonal of 10^"),
        ),
        ("kernels:ntk", "trained"): (
            ("a layer beyond", [5, 1], "from 1 to 3, got [1, 5]."),
        ),
        ("lengths:settling_depth", "activation"): (
            ("half the energy", _RELU, "got 0.5."),
            ("no contraction", "@relu.scaled(2)", "got rate 1."),
        ),
        ("lengths:correlation_bound_any_length", "activation"): (
            ("an even function", "@cos", "odd, got cos."),
            ("one that falls", "@sin", "non-decreasing and concave", "got sin."),
            ("one that bends up", "@x^9", "non-decreasing and concave", "got f."),
        ),
        ("lengths:normrelu_decay", "activation"): (
            ("no kink", "@tanh", "a NormReLU, got tanh."),
            ("another ramp", _RELU, "a NormReLU, got relu."),
            ("a ramp below it", "@a lower ramp", "a NormReLU, got f."),
            (
                "a kink next to zero",
                "@normrelu(-0.1)",
                "[1/2, 3/2], got the kink -0.1.",
            ),
        ),
        ("lengths:normrelu_decay", "delta"): (
            ("less than biases", 0.001, "be greater than 0.01", "got 0.001."),
        ),
        ("width:length_moment", "activation"): (
            ("lengths of no power", "@tanh", "got tanh."),
            ("squares of lengths", "@relu_squared", "got relu_squared."),
        ),
        ("phase:edge_of_chaos", "activation"): (
            ("no stable edge", "@gelu", "gelu has 0 at 0.1 (of edges in all: 1;"),
        ),
        ("phase:classify", "weight_var"): (
            ("below zero", [-1.0, 1.0], "1 of 2", "-1.0."),
            ("digits", "12", "got '12'."),
            ("bytes", b"12", "got b'12'."),
        ),
        ("phase:correlation_map", "rho"): (("a correlation of 3/2", 1.5, "got 1.5."),),
        ("phase:edge_points", "bias_var"): (
            ("a list for a number", [1.0, 2.0], "got shape (2,)."),
        ),
        ("regression:predict", "targets"): (
            ("too many targets", [1.0, 2.0, 3.0], "`x_train`, 2,", "got shape (3,)."),
        ),
        ("regression:predict", "x_test"): (
            ("wider inputs", [[1.0, 2.0, 3.0]], "`x_train`, 2,", "got shape (1, 3)."),
        ),
        ("phase:classify", "bias_var"): (
            (
                "both shapes",
                [1.0, 2.0, 3.0],
                "`weight_var` and `bias_var`",
                "(2,) and (3,).",
            ),
        ),
        ("kernels:nngp", "depth"): (
            # Whole numbers.
            ("half a layer", 2.5, "whole number", "got 2.5."),
            ("a float of layers", 2.0, "whole number", "got 2.0."),
            ("a true layer", True, "whole number", "got True."),
            ("no layer", 0, "at least 1", "got 0."),
            ("layers beyond", 2**201, "at most", f"got {2**201}"),
        ),
        # Lengths are raised to a power: of one row the first, of the other none is left.
        ("kernels:ntk", "depth"): (("a short row's square", 8, "got 0 on"),),
        ("conditioning:burn_in_depth", "mu"): (
            # (2 / mu) log(...) of them, beyond 2^63 in an array.
            ("depths beyond", 1e-300, "2^63", "e+30"),
        ),
        ("lengths:unstable_length", "excess"): (("a flag of one", 1, "got 1."),),
        ("regression:predict", "kernel"): (
            # Names, with what is near.
            (
                "a name",
                "NNGPP",
                "'ntk', 'nngp'",
                "got 'NNGPP'.",
                "Did you mean 'nngp'?",
            ),
            ("no such name", "zzz", "got 'zzz'."),
            ("a number for a name", 7, "got 7."),
        ),
        ("kernels:nngp", "activation"): (
            # Activations.
            ("an activation's name", "relu", "got 'relu'.", "`activations.relu`"),
            ("one among others", [_RELU, "relu"], "got [", "`activations.relu`"),
            (
                "uncalled",
                "@leaky_relu",
                "got <function leaky_relu",
                "Call it: `leaky_relu()`.",
            ),
            ("a callable", np.tanh, "got <ufunc 'tanh'>.", "`from_function`"),
            ("a number for one", 3, "got 3."),
            ("no layers", [], "got []."),
        ),
        ("phase:classify", "activation"): (
            ("its name elsewhere", "relu", "got 'relu'.", "`activations.relu`"),
        ),
        ("phase:edge_curve", "activation"): (
            # Whose moments are infinite from a variance of 2.5 on.
            ("a steep function", "@exp(x^2 / 10)", "of f within float64", "got 2.7."),
            ("a jump", "@step", "square-integrable", "got step: chi_1 is infinite"),
        ),
        # Lengths that grow or shrink with depth: 2 e^20 is the third layer's logarithm.
        ("kernels:nngp_ntk", "activation"): (
            ("an exponential's depth", "@exp", "e^9.7e+08 on the diagonal"),
            ("a power's depth", "@x^9", "within float64", "those of f leave it"),
            (
                "a small cube's depth",
                "@tanh(x)^3 / 1e9",
                "values of f at length",
                "are zero in double",
            ),
        ),
        ("activations:from_function", "f"): (
            ("complex values", np.emath.sqrt, "complex"),
            ("noise", lambda x: np.sin(1e7 * x), "not resolve it", "|x| < 40"),
            ("forty kinks", lambda x: np.abs(np.mod(x, 2.0) - 1.0), "more than 32"),
            (
                "a root beside zero",
                lambda x: -np.sqrt(np.abs(x + 0.3)),
                "near x = -0.3,",
                "(1 such places)",
            ),
            ("a bent jump", lambda x: (x > 0.7) - np.tanh(x), "f jumps at x = 0.7."),
            ("growth", lambda x: -np.exp(0.25 * x * x), "1 of its maximum", "= 38 d"),
            (
                "a trace of it",
                lambda x: 1e-15 * np.exp(0.25 * x * x),
                "1 of its maximum",
            ),
            ("less growth", lambda x: -np.exp(0.2499 * x * x), "|x| = 18 deviations"),
        ),
        ("activations:from_function", "derivative"): (
            (
                "a slope of another",
                lambda x: 1.001 / np.cosh(x) ** 2,
                "must be that of f",
            ),
        ),
        ("kernels:nngp_map", "activation"): (
            ("a spike", ["@a spike among waves"], "512 panels"),
        ),
        ("identity_map:least_squares_weights", "w0"): (
            # A result beyond float64: all arguments that it depends on.
            (
                "entries beyond",
                [[1.5e308, 1.0, 1.5e308]],
                "`y`, `w0`, `steps` and `learning_rate`",
                "2 of 3 entries are not finite",
            ),
        ),
        ("optimization:excess_risk_bound", "optimum_norm"): (
            ("a number beyond", 1e300, "`n` and `optimum_norm`", "it is not finite"),
        ),
        ("neural_collapse:nc1", "labels"): (
            # Values that make no sense with the others.
            ("a class without examples", [0, 0, 3, 3], "class 1 has none"),
            ("no first class", [1, 1, 2, 2], "class 0"),
            ("more classes than rows", [0, 0, 1, 9], "class 2"),
            ("the third class alone", [2, 2, 2, 2], "class 0 has none"),
            ("one class", [1, 1, 1, 1], "got 1 only."),
            ("one sign", [-1, -1, -1, -1], "got -1 only."),
        ),
        ("square_loss:gradient_flow", "t_eval"): (
            ("times beyond", [1.0, 4.0], "[0, 3]", "1 of 2", "4.0."),
            ("times before", -0.5, "[0, 3]", "got -0.5."),
            ("a table of times", [[1.0]], "got shape (1, 1)."),
        ),
        ("identity_map:least_squares_weights", "learning_rate"): (
            # Descent has no limit from 2 over the curvature on, which is x^2 = 1.
            ("rates beyond", [1.9, 2.0, 2.5], "be below 2,", "2 of 3", "2.0."),
            ("a rate beyond", 2.5, "be below 2,", "got 2.5."),
        ),
        ("square_loss:regularisation_path", "labels"): (
            ("no correlation", [1, -1], "`x`", "`weight_decay`", "X^T y = 0."),
        ),
        ("square_loss:rho_iterates", "steps"): (
            # One float more than are whole numbers of their own.
            (
                "more steps than floats",
                [2**52, 2**52 + 1],
                "4503599627370496]",
                "1 of 2",
            ),
            ("steps before", -1, "[0, 4503599627370496]", "got -1."),
        ),
        ("square_loss:rho_iterates", "rate"): (
            ("a rate of many lengths", 1e80, "at most 1e99", "got 1e+100."),
        ),
        ("square_loss:directions_velocity", "labels"): (
            ("labels of three networks", [[1, -1]] * 3, "(2,)", "(3,)"),
        ),
        ("width:nngp_variance", "rho"): (
            ("inputs next to each other", 0.999999, "after 1 layers"),
        ),
        ("diagram:reach", "bias_var"): (
            # Of another function, in the name of the one that was called.
            ("ends turned", (1.0, 0.0), "got (1.0, 0.0)."),
        ),
        ("kernels:nngp_ntk", "depth"): (
            # Rows of several lengths take all layers one by one.
            ("a layer too many", 10**5 + 1, "at most 100000 where", "got 100001."),
        ),
    }.items()
    for what, value, *said in cases
}
_OTHERWISE = {
    "a steep function": ("edge_curve", "q"),
    "a kernel of thousands of digits": ("ntk_map", "depth"),
    "inputs next to each other": ("nngp_variance", "depth"),
    "a spike": ("nngp_map: f.dual", "var_x"),
    "a bent jump": ("from_function", "kinks"),
    **{
        f"{what}'s depth": ("nngp_ntk", "depth")
        for what in ("an exponential", "a power", "a small cube")
    },
}
"""Who speaks of what, where it is not the function that was called of its argument."""
_HINTS = ("Did you mean", "Call it", "from_function", "activations.relu")


_TOPICS = SimpleNamespace(
    activations=activations,
    conditioning=conditioning,
    diagram=diagram,
    identity_map=identity_map,
    kernels=kernels,
    lengths=lengths,
    neural_collapse=neural_collapse,
    optimization=optimization,
    phase=phase,
    regression=regression,
    square_loss=square_loss,
    width=width,
)


def _called(where: str, arguments: dict[str, Any]) -> Any:
    """Call a function of `theory`, activations by their names."""
    known: Any = activations

    def given(value: Any) -> Any:
        if isinstance(value, list):
            return [given(v) for v in value]
        if isinstance(value, str) and value in _OWN:
            return known.from_function(_OWN[value])
        if isinstance(value, str) and value.startswith("@"):
            name, call, numbers = value[1:].partition("(")
            found = operator.attrgetter(name)(known)
            return found(float(numbers[:-1])) if call else found
        return value

    function = operator.attrgetter(where.replace(":", "."))(_TOPICS)
    return function(**{key: given(value) for key, value in arguments.items()})


def _predict(*, what: str) -> list[Any]:
    """Return who speaks of which arguments, what of the value is said, and all hints."""
    where, name, value, words = _REFUSED[what]
    try:
        _called(where, {**_USUAL[where], name: value})
    except ValueError as error:
        # Nobody else speaks before the arguments are named.
        axes = str(error).replace(": the leading axes of `", ": `")
        who, _, said = axes.partition(": `")
        named = re.findall(r"\w+", said.split(" must ")[0])
        hints = [hint for hint in _HINTS if hint in said]
        said = f"`{said}"
        argument = _OTHERWISE[what][1] if what in _OTHERWISE else name
        return [who, argument in named, [w for w in words if w in said], hints]
    return ["", False, [], []]


def _measure(*, what: str) -> list[Any]:
    where, _, _, words = _REFUSED[what]
    hints = [hint for hint in _HINTS if any(hint in word for word in words)]
    who = _OTHERWISE[what][0] if what in _OTHERWISE else where.split(":")[1]
    return [who, True, words, hints]


REFUSED = numeric(
    id="dc/eq1-refused",
    title="What is no number, shape, name or activation is refused, saying what came",
    statement=r"x \notin \mathbb{R}^{n \times d}",
    source=ours("Equation 1, as calls of functions"),
    cases=tuple({"what": what} for what in _REFUSED),
    predict=_predict,
    measure=_measure,
    compare=Identical(),
    must_refute=always(["", False, [], []], "Nothing is refused."),
    uses=("dc/eq1",),
)


_TAKEN: dict[str, Any] = {
    "decimals": _objects(Decimal(3), Decimal(4)),
    "a list of decimals": [[Decimal(3), Decimal(4)]],
    "fractions": [[Fraction(6, 2), Fraction(4)]],
    "whole numbers": [[3, 4]],
    "bytes of whole numbers": np.array([[3, 4]], dtype=np.uint8),
    "halves": np.array([[3.0, 4.0]], dtype=np.float16),
    "a generator's list": list(map(list, zip((3,), (4,), strict=True))),
}


def _predict_taken(*, numbers: str, layers: int = 1) -> float:
    where = "kernels:nngp"
    given = {"x": _TAKEN[numbers], "depth": layers}
    return float(_called(where, {**_USUAL[where], **given})[0, 0])


def _measure_taken(*, numbers: str) -> float:
    """ReLU halves the squared length of (3, 4)."""
    del numbers
    return 12.5


TAKEN = numeric(
    id="dc/eq1-taken",
    title="Decimals, fractions and whole numbers of any width are numbers",
    statement=r"K(x, x) = \tfrac12 \|x\|^2",
    source=ours("Equation 1, as calls of functions"),
    cases=tuple({"numbers": numbers} for numbers in _TAKEN),
    predict=_predict_taken,
    measure=_measure_taken,
    # Five, its square and the half of it, each rounded.
    compare=AgreesTo(relative=1e-15),
    must_refute=always(25.0, "The squared length itself."),
    uses=("dc/eq1",),
)
