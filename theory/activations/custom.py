"""Activations from the caller's own function: NumPy, torch, SymPy or plain Python."""

import itertools
import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks, gaussian
from theory import hermite as _hermite
from theory.activations.base import Activation
from theory.activations.piecewise import PiecewisePolynomial

Array = npt.NDArray[np.float64]
Function = Callable[[Array], Array]

REACH = 40.0
"""Half-width of the axis on which a missing derivative is tabulated."""


@dataclass(frozen=True)
class FromFunction(Activation):
    """A function with its kinks; build it with `from_function`."""

    name: str
    f: Function
    df: Function | None
    kinks: tuple[float, ...] = ()
    var: float = 1.0
    is_normalized: bool = False

    def _value(self, x: Array) -> Array:
        return np.asarray(self.f(math.sqrt(self.var) * x), dtype=np.float64)

    def scaled(self, var: float) -> "FromFunction":
        """Return x -> s(sqrt(var) x)."""
        r = math.sqrt(var)
        return FromFunction(
            self.name, self.f, self.df, tuple(k / r for k in self.kinks), self.var * var
        )

    @property
    def derivative(self) -> Activation:
        """s': the given one, or that of a piecewise Chebyshev interpolant."""
        r = math.sqrt(self.var)
        kinks = tuple(k * r for k in self.kinks)
        df = self.df or Differentiated(self.f, kinks)
        return FromFunction(f"{self.name}'", _Composed(df, r), None, self.kinks)

    def _coefficients(self, order: int) -> Array:
        return _hermite.coefficients(self._value, order, self.kinks)

    @cached_property
    def quadrature_error(self) -> float:
        """Difference of two quadrature rules, over E s^2.

        The larger of that of E s^2 and that of E s(Z) (1 + Z), which sees a jump of sign.
        """
        coarse, fine = _moments(self._value, self.kinks)
        if not fine[0]:
            return 0.0
        linear = abs(fine[1] - coarse[1]) / math.sqrt(fine[0])
        return max(abs(fine[0] - coarse[0]) / fine[0], linear)


@dataclass(frozen=True)
class _Composed:
    f: Function
    r: float

    def __call__(self, x: Array) -> Array:
        return self.r * self.f(self.r * x)


@dataclass(frozen=True)
class Differentiated:
    """The derivative of a piecewise Chebyshev interpolant, split at the kinks.

    Accuracy about 1e-12 of the function's size on a panel; zero beyond `REACH`, where
    the Gaussian density is below 1e-300.
    """

    f: Function
    kinks: tuple[float, ...]

    @cached_property
    def _table(self) -> tuple[Array, Array]:
        inside = [c for c in self.kinks if abs(c) < REACH]
        edges = np.array(
            sorted({*np.arange(-REACH, REACH + 0.5, 0.5).tolist(), *inside})
        )
        y = np.cos(np.pi * (np.arange(17) + 0.5) / 17)
        half, middle = 0.5 * np.diff(edges), 0.5 * (edges[1:] + edges[:-1])
        values = self.f((middle[:, None] + half[:, None] * y).ravel()).reshape(-1, 17)
        rows = [
            np.polynomial.chebyshev.chebder(np.polynomial.chebyshev.chebfit(y, v, 16))
            / h
            for v, h in zip(values, half, strict=True)
        ]
        return edges, np.ascontiguousarray(np.transpose(rows))

    def __call__(self, x: Array) -> Array:
        """Return the derivative at x."""
        edges, table = self._table
        x = np.asarray(x, dtype=np.float64)
        cell = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
        y = (2.0 * x - edges[cell] - edges[cell + 1]) / (edges[cell + 1] - edges[cell])
        twice = 2.0 * y
        b1, b2 = np.zeros_like(x), np.zeros_like(x)
        for k in range(len(table) - 1, 0, -1):
            b1, b2 = twice * b1 - b2 + table[k].take(cell, mode="clip"), b1
        out = y * b1 - b2 + table[0][cell]
        return np.where(np.abs(x) < REACH, out, 0.0)


def from_function(
    f: Any,
    *,
    kinks: Iterable[float] = (),
    name: str | None = None,
    derivative: Callable[[Any], Any] | None = None,
) -> Activation:
    """Make an activation of any square-integrable function.

    Parameters
    ----------
    f : callable or SymPy expression
        A function of a NumPy array, of a torch tensor, of a Python float, or a SymPy
        expression in one symbol. Neither torch nor SymPy is imported for the others.
    kinks : iterable of float
        Points where the derivative of f jumps: every quadrature is split there. Those
        of a SymPy expression (Abs, Max, Min, sign, Heaviside, Piecewise of linear
        arguments) are found.
    name : str, optional
        Shown in messages and reports.
    derivative : callable, optional
        f', taking what f takes. Without it: that of the SymPy expression, automatic
        differentiation for torch, otherwise an interpolant's (about 1e-12).

    Returns
    -------
    Activation
        A `FromFunction` with `quadrature_error`, the relative difference of E s^2
        between two rules; piecewise constant and continuous piecewise linear functions
        are recognised and get their closed form, a `PiecewisePolynomial`. Duals of
        other functions that are continuous have a relative error of 1e-13, wherever the
        kinks are, for functions smooth between them at the scale of one.

    Raises
    ------
    ValueError
        If f is not finite somewhere, not square integrable against exp(-x^2/2), so
        rough between the kinks that quadrature has lost six digits, or jumps at a kink
        without being piecewise constant.
    TypeError
        If f is neither callable nor an expression in one symbol.

    Examples
    --------
    >>> import numpy as np
    >>> a = from_function(lambda x: np.sin(x) + x**2, name="sin + square")
    >>> round(a.mean, 12), round(a.second_moment, 9)
    (1.0, 3.432332358)
    """
    known, slope, found = _as_numpy(f, derivative)
    points = tuple(sorted({*map(float, kinks), *found}))
    _checks.reject(
        "from_function", "kinks", "be finite", ~np.isfinite(points), points, ""
    )
    label = name or getattr(f, "__name__", type(f).__name__)
    label = "f" if label in ("<lambda>", "function") else str(label)
    out = FromFunction(label, known, slope, points)
    _check(out)
    exact = _piecewise_linear(out)
    if exact is None:
        _refuse_jumps(out)
    return exact or out


def _refuse_jumps(a: FromFunction) -> None:
    """Raise for a function that jumps: its slope's dual is infinite at +-1.

    Two values on either side of a kink whose difference outlives a hundredth of the
    distance; that of a steep continuous function, even a square root, does not.
    """
    c = np.array(a.kinks)
    h = 1e-9 * (1.0 + np.abs(c))
    with np.errstate(invalid="ignore"):
        wide, narrow = (np.abs(a.f(c + w) - a.f(c - w)) for w in (h, 0.01 * h))
    scale = np.abs(a.f(c - h)) + np.abs(a.f(c + h))
    bad = (narrow > 0.5 * wide) & (narrow > 1e-12 * scale)
    need = "not be jumps of f, unless f is constant between them"
    _checks.reject("from_function", "kinks", need, bad, c, "Make f continuous there.")


def _piecewise_linear(a: FromFunction) -> PiecewisePolynomial | None:
    """Recognise piecewise constant and continuous piecewise linear functions.

    Their duals have a closed form, accurate however close the kinks are.
    """
    ends = [-16.0, *(c for c in a.kinks if abs(c) < 15.0), 16.0]
    if len(ends) != len(a.kinks) + 2:
        return None
    slopes, starts, stops = [], [], []
    for low, high in itertools.pairwise(ends):
        x = low + (high - low) * np.linspace(0.01, 0.99, 23)
        y = a._value(x)
        slope = float(y[-1] - y[0]) / float(x[-1] - x[0])
        line = y[0] + slope * (x - x[0])
        size = float(np.abs(y).max()) + abs(slope) * float(np.abs(x).max())
        if np.abs(y - line).max() > 8.0 * np.finfo(np.float64).eps * size:
            return None
        slopes.append(slope)
        starts.append(float(y[0] + slope * (low - x[0])))
        stops.append(float(y[0] + slope * (high - x[0])))
    jumps = [b - a for a, b in zip(stops[:-1], starts[1:], strict=True)]
    scale = max(map(abs, (*starts, *stops)), default=0.0)
    if all(abs(j) <= 1e-14 * scale for j in jumps):
        bends = tuple(b - a for a, b in itertools.pairwise(slopes))
        line = (starts[0] - slopes[0] * ends[0], slopes[0])
        return PiecewisePolynomial(a.name, 1, line, a.kinks, bends)
    if all(abs(s) * 32.0 <= 1e-14 * scale for s in slopes):
        return PiecewisePolynomial(a.name, 0, (starts[0],), a.kinks, tuple(jumps))
    return None


def _check(a: FromFunction) -> None:
    x, _ = gaussian.panels(a.kinks)
    values = np.asarray(a.f(x))
    if values.shape != x.shape:
        raise ValueError(
            f"from_function: `f` must return an array of its argument's shape, got"
            f" {values.shape} for {x.shape}."
        )
    bad = ~np.isfinite(values)
    if bad.any():
        raise ValueError(
            f"from_function: `f` must be finite on the real line, got"
            f" {values[bad][0]} at x = {x[bad][0]:g}."
        )
    share = np.square(values / np.abs(values).max(initial=1e-300)) * gaussian.pdf(x)
    if share[np.abs(x) > 18.0].max() > 1e-13 * share.max():
        raise ValueError(
            "from_function: `f` must be square integrable, f(x)^2 exp(-x^2/2) -> 0, but"
            f" it is still {share[np.abs(x) > 18.0].max() / share.max():.1g} of its"
            " maximum beyond |x| = 18."
        )
    if a.quadrature_error > 1e-6:
        raise ValueError(
            "from_function: `f` must be smooth between its `kinks`, but two quadrature"
            f" rules differ by {a.quadrature_error:.1g} of E f^2. Give the points where"
            " f or its derivative jumps."
        )


def _moments(
    f: Function, kinks: tuple[float, ...]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """E f^2 and E f(Z) (1 + Z) by unaligned panels and by the rule in use."""
    x, w = gaussian.panels(kinks)
    weight = w * gaussian.pdf(x)
    y = np.asarray(f(x))
    fine = (float(weight @ y**2), float(weight @ (y * (1.0 + x))))
    edges = np.array(sorted({*np.linspace(-20.0, 20.0, 238).tolist(), *kinks}))
    node, w = gaussian.legendre(20)
    half, middle = 0.5 * np.diff(edges), 0.5 * (edges[1:] + edges[:-1])
    x = (middle[:, None] + half[:, None] * node).ravel()
    weight = (half[:, None] * w).ravel() * gaussian.pdf(x)
    y = np.asarray(f(x))
    return (float(weight @ y**2), float(weight @ (y * (1.0 + x)))), fine


def _as_numpy(
    f: Any, derivative: Any
) -> tuple[Function, Function | None, tuple[float, ...]]:
    """Return f and f' as functions of arrays, and the kinks that can be read off."""
    sympy = sys.modules.get("sympy")
    if sympy is not None and isinstance(f, sympy.Basic):
        return _from_sympy(sympy, f, derivative)
    if not callable(f):
        raise TypeError(
            "from_function: `f` must be callable or a SymPy expression, got"
            f" {type(f).__name__}."
        )
    if not _takes(f, np.array([0.25, 0.5])):
        torch = sys.modules.get("torch")
        if torch is not None and _takes(f, torch.tensor([0.25, 0.5]).double()):
            slope = (
                _automatic(f, torch)
                if derivative is None
                else _through(derivative, torch)
            )
            return _through(f, torch), slope, ()
        # A function of one number, like math.tanh.
        f = np.vectorize(f, otypes=[np.float64])
    if derivative is not None and not _takes(derivative, np.array([0.25, 0.5])):
        derivative = np.vectorize(derivative, otypes=[np.float64])
    function: Function = f  # pyright: ignore[reportAssignmentType]
    slope: Function | None = derivative
    return function, slope, ()


def _takes(f: Callable[[Any], Any], probe: Any) -> bool:
    """Whether f maps this kind of array to its like."""
    try:
        out = f(probe)
    except (TypeError, ValueError, AttributeError, RuntimeError):
        return False
    return isinstance(out, type(probe)) and out.shape == probe.shape


def _through(f: Any, torch: Any) -> Function:
    def value(x: Array) -> Array:
        with torch.no_grad():
            return f(torch.tensor(x, dtype=torch.float64)).numpy()

    return value


def _automatic(f: Any, torch: Any) -> Function:
    def slope(x: Array) -> Array:
        t = torch.tensor(x, dtype=torch.float64, requires_grad=True)
        with torch.enable_grad():
            (g,) = torch.autograd.grad(f(t).sum(), t)
        return g.numpy()

    return slope


def _from_sympy(
    sympy: Any, f: Any, derivative: Any
) -> tuple[Function, Function | None, tuple[float, ...]]:
    symbols = sorted(f.free_symbols, key=str)
    if len(symbols) != 1:
        raise TypeError(
            f"from_function: `f` must be an expression in one symbol, got {symbols}."
        )
    # A real symbol, so that Abs and sign differentiate as functions of a real number.
    x = sympy.Symbol("x", real=True)
    f = f.subs(symbols[0], x)
    slope = sympy.diff(f, x) if derivative is None else sympy.sympify(derivative)
    slope = slope.subs(symbols[0], x).replace(
        sympy.DiracDelta, lambda *_: sympy.Integer(0)
    )
    both = [sympy.lambdify(x, g, modules=["scipy", "numpy"]) for g in (f, slope)]
    value, dvalue = (_broadcast(g) for g in both)
    return value, dvalue, _sympy_kinks(sympy, f, x)


def _broadcast(g: Callable[[Array], Any]) -> Function:
    return lambda x: (
        np.broadcast_to(np.asarray(g(x), dtype=np.float64), np.shape(x)) + 0.0
    )


def _sympy_kinks(sympy: Any, f: Any, x: Any) -> tuple[float, ...]:
    zeros: list[Any] = []
    for node in f.atoms(sympy.Abs, sympy.sign, sympy.Heaviside):
        zeros.append(node.args[0])
    for node in f.atoms(sympy.Max, sympy.Min):
        zeros += [a - b for a, b in itertools.combinations(node.args, 2)]
    for node in f.atoms(sympy.Piecewise):
        for _, condition in node.args:
            zeros += [
                r.lhs - r.rhs for r in condition.atoms(sympy.core.relational.Relational)
            ]
    points = [p for zero in zeros for p in sympy.solveset(zero, x, sympy.Reals)]
    return tuple(float(p) for p in points)
