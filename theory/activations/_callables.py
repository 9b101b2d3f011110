"""Functions of NumPy arrays from what callers have: torch, SymPy, plain Python."""

import itertools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Function = Callable[[Array], Array]


def as_numpy(
    f: Any, derivative: Any
) -> tuple[Function, Function | None, tuple[float, ...]]:
    """Return f and f' as functions of arrays, and the kinks that can be read off.

    Raises
    ------
    TypeError
        If f is neither callable nor a SymPy expression in one symbol, or `derivative` is
        neither.
    ValueError
        If f cannot be called with a number, or returns none.
    """
    sympy = sys.modules.get("sympy")
    if sympy is not None and isinstance(f, sympy.Basic):
        return _from_sympy(sympy, f, derivative)
    for name, value in (("f", f), ("derivative", derivative)):
        if not callable(value) and (name == "f" or value is not None):
            raise TypeError(
                f"from_function: `{name}` must be callable or a SymPy expression, got"
                f" {type(value).__name__}."
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
        if torch is not None and isinstance(f, torch.nn.Module):
            raise ValueError(
                "from_function: `f` must map a float64 tensor of shape (n,) to its like;"
                f" this {type(f).__name__} does not. Parameters may need `.double()`."
            )
        f = _of_numbers(f, "f")
    if derivative is not None and not _takes(derivative, np.array([0.25, 0.5])):
        derivative = _of_numbers(derivative, "derivative")
    return _hashable(f), None if derivative is None else _hashable(derivative), ()


def _takes(f: Callable[[Any], Any], probe: Any) -> bool:
    """Whether f maps this kind of array to its like."""
    out = _called(f, probe)
    return isinstance(out, type(probe)) and out.shape == probe.shape


def _called(f: Callable[[Any], Any], argument: Any) -> Any:
    """Return the value, or nothing."""
    try:
        return f(argument)
    except Exception:  # whatever a function of another kind of argument raises
        return None


def _of_numbers(f: Any, name: str) -> Function:
    """Return a function of arrays from one of a number, like math.tanh."""
    several = _called(f, np.array([0.25, 0.5]))
    if isinstance(several, (list, tuple)):
        raise ValueError(
            f"from_function: `{name}` must return an array of its argument's shape, got a"
            f" {type(several).__name__}. Return `numpy.array` of its values."
        )
    try:
        value = f(0.25)
    except Exception as error:
        raise ValueError(
            f"from_function: `{name}` must take an array or a number, but"
            f" {type(error).__name__} was raised: {error!s:.120}"
        ) from error
    if not isinstance(value, (bool, int, float, np.number, np.bool_)) or isinstance(
        value, np.complexfloating
    ):
        raise ValueError(
            f"from_function: `{name}` must return an array of its argument's shape, or a"
            f" number for a number, got {value!r:.80} for 0.25."
        )
    out: Function = np.vectorize(f, otypes=[np.float64])
    return out


def _hashable(f: Any) -> Function:
    try:
        hash(f)
    except TypeError:
        return lambda x: f(x)
    return f


def _through(f: Any, torch: Any) -> Function:
    def value(x: Array) -> Array:
        with torch.no_grad():
            out = f(torch.tensor(x, dtype=torch.float64))
        return out.detach().numpy()

    return value


def _automatic(f: Any, torch: Any) -> Function:
    def slope(x: Array) -> Array:
        t = torch.tensor(x, dtype=torch.float64, requires_grad=True)
        with torch.enable_grad():
            y = f(t.clone())  # which f may overwrite
            if not y.requires_grad:  # a constant
                return np.zeros_like(x)
            (g,) = torch.autograd.grad(y.sum(), t, allow_unused=True)
        return np.zeros_like(x) if g is None else g.numpy()

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
    value = _broadcast(sympy.lambdify(x, f, modules=["scipy", "numpy"]))
    try:
        dvalue = _broadcast(sympy.lambdify(x, slope, modules=["scipy", "numpy"]))
    except NotImplementedError:  # a derivative that SymPy leaves as it stands
        dvalue = None
    return value, dvalue, _sympy_kinks(sympy, f, x)


def _broadcast(g: Callable[[Array], Any]) -> Function:
    return lambda x: np.broadcast_to(np.asarray(g(x)), np.shape(x)) + 0.0


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
    points: set[float] = set()
    for zero in zeros:
        roots = sympy.solveset(zero, x, sympy.Reals)
        # Infinitely many, or none in closed form: they are searched for instead.
        if isinstance(roots, sympy.FiniteSet):
            points |= {float(p) for p in roots if p.is_number}
    return tuple(sorted(points))
