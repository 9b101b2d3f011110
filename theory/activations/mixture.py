"""Finite sums of Hermite polynomials."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory import hermite as _hermite
from theory._cached import cached_property
from theory.activations.base import Activation

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class HermiteMixture(Activation):
    """sum_k a_k h_k with finitely many terms, `a` a tuple of one or more numbers."""

    a: tuple[float, ...]
    name: str = "hermite mixture"
    kinks: tuple[float, ...] = ()
    is_normalized: bool = False

    rounded = False

    def __post_init__(self) -> None:
        who = "HermiteMixture"
        object.__setattr__(self, "a", _checks.numbers(who, "a", self.a, 1))
        _checks.text(who, "name", self.name)
        kinks = _checks.numbers(who, "kinks", self.kinks)
        object.__setattr__(self, "kinks", kinks)
        _checks.flag(who, "is_normalized", self.is_normalized)

    @property
    def degree(self) -> int:  # type: ignore[override]
        """Degree of the polynomial."""
        return len(self.a) - 1

    @property
    def parity(self) -> int | None:  # type: ignore[override]
        """That of its terms, where they share one."""
        found = {k % 2 for k, v in enumerate(self.a) if v}
        return found.pop() if len(found) == 1 else None

    def _value(self, x: Array) -> Array:
        rows = _hermite._rows(len(self.a) - 1, np.asarray(x), np.ones_like(x))
        return np.tensordot(np.array(self.a), rows, 1)

    def _scaled(self, var: float) -> "HermiteMixture":
        # Again with finitely many terms.
        a = np.zeros(len(self.a))
        for n, value in enumerate(self.a):
            if value:
                a[n::-2] += value * _rescaled(n, var)
        return HermiteMixture(tuple(a.tolist()), f"{self.name}[var={var:g}]")

    @property
    def _widest(self) -> float:
        # E s^2 has the degree's power of the variance.
        return 10.0 ** (280.0 / max(self.degree, 1))

    @property
    def derivative(self) -> Activation:
        """The derivative s' as an activation."""
        b = [math.sqrt(k) * v for k, v in enumerate(self.a)][1:] or [0.0]
        return HermiteMixture(tuple(b), f"{self.name}'")

    def _coefficients(self, order: int) -> Array:
        out = np.zeros(order + 1)
        n = min(order + 1, len(self.a))
        out[:n] = self.a[:n]
        return out

    @cached_property
    def second_moment(self) -> float:
        """E s(Z)^2."""
        return float(np.sum(np.square(self.a)))

    @cached_property
    def variance(self) -> float:
        """E s(Z)^2 - (E s(Z))^2."""
        return float(np.sum(np.square(self.a[1:])))

    @cached_property
    def _rest(self) -> float:
        return float(np.sum(np.square(self.a[2:])))

    @property
    def _linear(self) -> float:
        # The coefficients are given.
        return 0.0

    def _lengths(self, q: Array) -> Array:
        return np.array([self._one(v).second_moment for v in q.tolist()])

    def _length_slopes(self, q: Array) -> Array:
        # By parts E s s'(Z) Z = E s'^2 + E s s'', in the coefficients of s at each q.
        k = np.arange(len(self.a))
        lowered = np.sqrt(k * (k - 1.0))
        out = np.empty_like(q)
        for i, v in enumerate(q):
            a = self._one(v)._coefficients(self.degree)
            out[i] = (k @ a**2 + a[:-2] @ (lowered * a)[2:]) / v
        return out


def _rescaled(n: int, var: float) -> Array:
    r"""Coefficients of h_n(sqrt(var) x) at h_n, h_{n-2}, ...

    .. math:: \frac{var^{n/2 - i} (var - 1)^i}{2^i i!} \sqrt{\frac{n!}{(n - 2i)!}}
    """
    i = np.arange(n // 2 + 1)
    k = (n - 2.0 * i[:-1]) * (n - 2.0 * i[:-1] - 1.0)
    ratio = np.sqrt(k) / (2.0 * (i[:-1] + 1.0))
    count = np.concatenate([[1.0], np.cumprod(ratio)])
    return math.sqrt(var) ** (n - 2.0 * i) * (var - 1.0) ** i * count
