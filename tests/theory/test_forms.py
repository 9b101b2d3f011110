"""Every public function of `theory` takes numbers in every form alike.

The calls are those of `test_boundary`. All of a call's numbers are given at once as
arrays of another type, order or class, once as they stand and once, where an argument
takes arrays, as three of them: the digits are those of contiguous float64, no argument is
changed, and what is returned is the caller's own: no argument or cache is behind it.
"""

import copy
import dataclasses
import itertools
import math
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from test_boundary import CALLS, Call, takes_arrays

from theory import activations as act


class Own(np.ndarray):
    """A subclass of arrays."""


def _backwards(x: np.ndarray) -> np.ndarray:
    return np.flip(np.flip(x).copy()) if x.ndim else x


def _spread(x: np.ndarray) -> np.ndarray:
    wide = np.full([2 * n for n in x.shape], 7.0)
    out = wide[(..., *(slice(None, None, 2) for _ in x.shape))]
    out[...] = x
    return out


def _locked(x: np.ndarray) -> np.ndarray:
    out = x.copy()
    out.flags.writeable = False
    return out


def _fractions(x: np.ndarray) -> np.ndarray:
    out = np.empty(x.shape, dtype=object)
    for i in np.ndindex(x.shape):
        out[i] = Fraction(float(x[i]))
    return out


FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "fortran": lambda x: x.copy(order="F"),
    "backwards": _backwards,
    "spread": _spread,
    "locked": _locked,
    "big-endian": lambda x: x.astype(">f8"),
    "long": lambda x: x.astype(np.longdouble),
    "subclass": lambda x: x.copy().view(Own),
    "lists": lambda x: x.tolist(),
    "fractions": _fractions,
    "list of fractions": lambda x: _fractions(x).tolist(),
}

NARROW = (np.float32, np.float16, np.int8)

TUPLES = {"HermiteMixture", "PiecewisePolynomial"}
"""They are hashed, and take tuples alone, of numbers in any form."""

# Cached rules that are shared, and refuse to be written.
SHARED = {"legendre", "panels", "weighted_basis"}

HOLDS = {"Inputs"}
"""It stands for the rows it is given, and does not copy them."""


def _given(c: Call, form: Callable[[np.ndarray], Any], *, many: bool) -> dict[str, Any]:
    """Return the call's arguments in a form; `many`: numbers as three where they may."""
    out = copy.deepcopy(c.arguments)
    for name, value in c.arguments.items():
        several = many and name in takes_arrays(c)
        if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
            out[name] = [form(v) if v.dtype.kind == "f" else v for v in value]
        elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
            out[name] = form(value)
        elif type(value) is float:
            x = np.asarray(value)
            falling = x * np.array([1.0, 1.0 - 2.0**-6, 1.0 - 2.0**-5])
            out[name] = form(falling if several else x)
        elif isinstance(value, tuple) and c.function.__name__ in TUPLES:
            out[name] = tuple(np.asarray(form(np.array(v)))[()] for v in value)
        elif isinstance(value, (list, tuple)) and value and type(value[0]) is float:
            out[name] = form(np.array(value))
    return out


def _answer(c: Call, arguments: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return c.function(**arguments)
        except (ValueError, TypeError, Warning) as error:
            return error


def _parts(out: Any) -> Iterator[Any]:
    """Numbers and arrays in a result, and refusals."""
    if isinstance(out, act.Activation):
        yield from (out(0.7), out.dual(0.3), out.second_moment, *out.kinks)
    elif dataclasses.is_dataclass(out):
        for f in dataclasses.fields(out):
            if f.name[0] != "_":
                yield from _parts(getattr(out, f.name))
    elif isinstance(out, (tuple, list)):
        for v in out:
            yield from _parts(v)
    elif isinstance(out, Exception):
        # What came is told in the form it came in.
        yield str(out).partition("got ")[0].partition("but ")[0]
    else:
        yield out


def _arrays(value: Any) -> list[np.ndarray]:
    values = value if isinstance(value, (list, tuple)) else (value,)
    return [v for v in values if isinstance(v, np.ndarray) and v.size]


def _differences(found: Any, due: Any) -> list[str]:
    out = []
    for a, b in itertools.zip_longest(_parts(found), _parts(due)):
        kind = type(b) if type(b) is not np.float64 else (float, np.float64)
        if not isinstance(a, kind) or type(a) is Own:
            out.append(f"{a!r:.80} for {b!r:.80}")
        elif not isinstance(b, (np.ndarray, float)) or np.asarray(b).dtype.kind != "f":
            out += [] if np.array_equal(a, b) else [f"{a!r:.80} is not {b!r:.80}"]
        elif np.shape(a) != np.shape(b) or np.asarray(a).dtype != np.float64:
            out.append(f"{a!r:.80} for {b!r:.80}")
        elif not np.allclose(a, b, rtol=1e-14, atol=1e-15, equal_nan=True):
            # Sums of products are added up in another order: a few last digits.
            out.append(f"{a!r:.80} is not {b!r:.80}")
    return out


@pytest.mark.parametrize(
    ("c", "many"),
    [(c, many) for c in CALLS for many in (False, True) if takes_arrays(c) or not many],
    ids=lambda v: v.key if isinstance(v, Call) else ("three" if v else "one"),
)
def test_forms(c, many):
    due = _answer(c, _given(c, np.copy, many=many))
    assert many or not isinstance(due, Exception)
    wrong = {}
    for label, form in FORMS.items():
        given = _given(c, form, many=many)
        before = copy.deepcopy(given)
        found = _answer(c, given)
        wrong[label] = _differences(found, due)
        for name, value in given.items():
            own = _arrays(value)
            if not all(map(np.array_equal, own, _arrays(before[name]))):
                wrong[label].append(f"{name} changed")
            results = [v for v in _parts(found) if isinstance(v, np.ndarray)]
            held = c.function.__name__ in HOLDS
            if not held and any(np.shares_memory(a, v) for a in own for v in results):
                wrong[label].append(f"{name} is behind a result")
    assert {k: v for k, v in wrong.items() if v} == {}


@pytest.mark.parametrize("kind", NARROW)
@pytest.mark.parametrize("c", CALLS, ids=lambda c: c.key)
def test_narrow_numbers_are_computed_with_in_full(c, kind):
    found = _answer(c, _given(c, lambda x: x.astype(kind), many=True))
    wide = _given(c, lambda x: x.astype(kind).astype(np.float64), many=True)
    due = _answer(c, wide)
    assert _differences(found, due) == []


@pytest.mark.parametrize("c", CALLS, ids=lambda c: c.key)
def test_results_are_the_callers_own(c):
    def answers() -> list[Any]:
        return list(_parts(_answer(c, _given(c, np.copy, many=bool(takes_arrays(c))))))

    due = copy.deepcopy(answers())
    for part in answers():
        if isinstance(part, np.ndarray) and part.flags.writeable:
            part[...] = np.zeros((), part.dtype)
        elif isinstance(part, np.ndarray):
            assert c.function.__name__ in SHARED
    assert _differences(answers(), due) == []


def test_one_half_is_a_half_in_every_form():
    assert all(
        float(np.asarray(f(np.array(0.5))).item()) == 0.5 for f in FORMS.values()
    )
    assert math.prod(np.shape(_spread(np.ones((2, 3))))) == 6
