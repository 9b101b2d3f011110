r"""The sums that everything depends on, with twice the digits of a float.

``S = sum f_n^2``, ``B = sum y_n f_n`` and ``A = weight_decay + S``. Margins of both signs
cancel in B, and ``A rho - B`` cancels at the equilibrium: half of the digits are spare.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory import _twofold as two
from theory._arrays import size_power
from theory.square_loss import _inputs

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Moments:
    """The sums divided by a power of two, ``2**exponent``, that no square underflows."""

    exponent: npt.NDArray[np.int64]
    a: two.Pair
    b: two.Pair
    s: two.Pair

    def vanish(self) -> npt.NDArray[np.bool_]:
        """Return the entries with A = 0, where the norm neither moves nor is held."""
        return self.a[0] == 0.0

    def rho(self) -> two.Pair:
        """Return B / A, and 0 where both vanish."""
        dead = self.vanish()
        a = (np.where(dead, 1.0, self.a[0]), self.a[1])
        return divide(self.b, a)


def gather(
    who: str, outputs: Any, labels: Any, weight_decay: Any = 0.0, **others: Array
) -> Moments:
    """Check and sum up; the examples are on the last axis, the others broadcast.

    `others` are checked arguments that must broadcast against the leading axes.
    """
    f, y = _inputs.outputs_and_labels(who, outputs, labels)
    penalty = _checks.not_negative(who, "weight_decay", weight_decay)
    shapes = {"outputs": f.shape[:-1], "labels": y.shape[:-1]}
    shapes |= {"weight_decay": penalty.shape}
    given = {name: array.shape for name, array in others.items()}
    _checks.common(who, shapes | given, _inputs.LEADING)
    lead = np.broadcast_shapes(*shapes.values())
    power = size_power(f, -1)[..., 0]
    # The penalty is divided by the scale too, and must not overflow.
    least = np.where(penalty > 0.0, np.frexp(penalty)[1] - 900, -1100)
    power = np.broadcast_to(np.maximum(power, least), lead).astype(np.int64)
    part = np.ldexp(f, -power[..., np.newaxis])
    b = total(pair(part * y))
    with np.errstate(over="ignore", invalid="ignore"):
        s = two.scale(total(two.multiply_exactly(part, part)), power)
        decay = np.ldexp(penalty, -power)
        a = two.add(pair(decay), s)
    _checks.result(who, a[0], "outputs")
    return Moments(power, a, b, s)


def total(terms: two.Pair) -> two.Pair:
    """Sum over the last axis by halving it."""
    high, low = terms
    while (count := high.shape[-1]) > 1:
        half = count // 2
        left = (high[..., :half], low[..., :half])
        right = (high[..., half : 2 * half], low[..., half : 2 * half])
        rest = high[..., 2 * half :], low[..., 2 * half :]
        high, low = two.add(left, right)
        high = np.concatenate((high, rest[0]), axis=-1)
        low = np.concatenate((low, rest[1]), axis=-1)
    return high[..., 0], low[..., 0]


def divide(x: two.Pair, y: two.Pair) -> two.Pair:
    """Return x / y to twice the digits, not finite if it leaves float64."""
    with np.errstate(over="ignore", invalid="ignore"):
        first = x[0] / y[0]
        back = two.multiply(pair(first), y)
        rest = two.add(x, (-back[0], -back[1]))
        return two.add_exactly(first, np.asarray(rest[0] / y[0]))


def pair(value: Array) -> two.Pair:
    """Return a float as a pair."""
    return value, np.zeros_like(value)


def excess(
    rho: Array, moments: Moments, *, penalty: bool = True
) -> tuple[two.Pair, npt.NDArray[np.int64]]:
    """Return ``rho A - B`` (or ``rho S - B``), scaled as the moments are, and a power.

    That power of two is divided out as well, where products would overflow.
    """
    weight = moments.a if penalty else moments.s
    size = np.frexp(rho)[1]
    over = np.maximum(size, size + np.frexp(weight[0])[1]) - 900
    power = np.maximum(over, 0).astype(np.int64)
    less = two.scale(moments.b, -power)
    with np.errstate(over="ignore", invalid="ignore"):
        heavy = two.multiply(pair(np.ldexp(rho, -power)), weight)
        return two.add(heavy, (-less[0], -less[1])), power


def whole_of(moments: Moments, part: two.Pair, power: Any = 0) -> Array:
    """Return the value of a scaled sum; infinite where float64 overflows."""
    with np.errstate(over="ignore"):
        return np.asarray(np.ldexp(part[0], moments.exponent + power))


def refuse_idle(who: str, moments: Moments) -> None:
    """Refuse A = 0."""
    need = "have a non-zero entry where `weight_decay` is 0"
    hint = "With A = 0 nothing moves the norm, and every norm is an equilibrium."
    _checks.reject(who, "outputs", need, moments.vanish(), "zeros only", hint)
