"""A broken formula turns the ledger red: one mutation or more for every public function.

A mutation replaces one attribute of `theory` by a version that is wrong in a way natural
to it (a factor, a sign, a layer more), wherever the closed forms and the claims hold it,
and runs the claims that have to notice. Measurements share no code with `theory`
(`tests/test_architecture.py`), so they stay as they are.
"""

import dataclasses
import functools
import gc
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import theory
from theory.activations import Activation, Affine, catalogue
from verify import ledger, run
from verify.claim import Claim
from verify.compare import Outcome

Function = Callable[..., Any]

PRIVATE_CLAIMS = ("verify.claims._recursions", "verify.claims._populations")


def _modules() -> list[Any]:
    names = [m.name for m in pkgutil.walk_packages(theory.__path__, "theory.")]
    return [
        importlib.import_module(name)
        for name in names
        if not name.rpartition(".")[2].startswith("_")
    ]


def public() -> dict[str, tuple[Any, str]]:
    """Every public function, method, property and catalogue entry: where it is kept."""
    found: dict[str, tuple[Any, str]] = {}
    for module in _modules():
        short = module.__name__.removeprefix("theory.")
        for name, value in vars(module).items():
            if name.startswith("_") or getattr(value, "__module__", "") != (
                module.__name__
            ):
                continue
            if inspect.isclass(value):
                if getattr(value, "_is_protocol", False):
                    continue
                for member, part in vars(value).items():
                    if _is_method(member, part):
                        found[f"{short}.{name}.{member}"] = (value, member)
            elif inspect.isroutine(inspect.unwrap(value)):
                found[f"{short}.{name}"] = (module, name)
    for name, value in vars(catalogue).items():
        if isinstance(value, Activation) and not name.startswith("_"):
            found[f"activations.catalogue.{name}"] = (catalogue, name)
    return found


def _is_method(name: str, part: Any) -> bool:
    if name.startswith("_") and name != "__call__":
        return False
    if getattr(part, "__isabstractmethod__", False):
        return False
    kinds = (property, functools.cached_property, staticmethod, classmethod)
    return isinstance(part, kinds) or inspect.isroutine(inspect.unwrap(part))


# --- breaking -------------------------------------------------------------------------


def _holders(value: Any) -> list[tuple[Any, str]]:
    """Return every name in `theory` and in the claims that is bound to `value`."""
    return [
        (module, name)
        for key, module in sys.modules.items()
        if key.startswith(("theory", "verify.claims"))
        for name, held in vars(module).items()
        if held is value
    ]


def _formulas(value: Any) -> list[tuple[Any, str]]:
    """Return the formulas of the catalogue that hold `value`."""
    kept = [getattr(a, "formula", None) for a in catalogue.CATALOGUE.values()]
    return [(f, "exact") for f in kept if f is not None and f.exact is value]


def _set(place: Any, name: str, value: Any) -> None:
    # Formulas are frozen.
    setter = setattr if isinstance(place, (type, type(sys))) else object.__setattr__
    setter(place, name, value)


def _forget() -> None:
    """Empty every cache that may hold a number of the closed forms."""
    for key, module in list(sys.modules.items()):
        if key.startswith(("theory", "verify.claims")) and key not in PRIVATE_CLAIMS:
            for held in list(vars(module).values()):
                clear = getattr(held, "cache_clear", None)
                if callable(clear):
                    clear()
    for thing in gc.get_objects():
        if isinstance(thing, Activation):
            for kind in type(thing).__mro__:
                for name, part in vars(kind).items():
                    if isinstance(part, functools.cached_property):
                        vars(thing).pop(name, None)


def _outermost(original: Function, change: Callable[[Function], Function]) -> Function:
    """Break the outermost of nested calls only, so that two signs do not cancel."""
    broken, inside = change(original), False

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        nonlocal inside
        if inside:
            return original(*args, **kwargs)
        inside = True
        try:
            return broken(*args, **kwargs)
        finally:
            inside = False

    return wrapper


@contextmanager
def broken(key: str, change: Callable[[Any], Any]) -> Iterator[None]:
    """Replace a function, method, property or activation by a broken one for a while."""
    owner, name = public()[key]
    kept = vars(owner)[name]
    places = _holders(kept) + _formulas(kept)
    if isinstance(kept, Activation):
        new: Any = change(kept)
        table = catalogue.CATALOGUE
        swapped = {k: new if v is kept else v for k, v in table.items()}
        with _bound(places, kept, new), _bound(_holders(table), table, swapped):
            yield
        return
    if inspect.isclass(owner):
        places = [(owner, name)]
        if isinstance(kept, property):
            new = property(_outermost(kept.fget, change))  # type: ignore[arg-type]
        elif isinstance(kept, functools.cached_property):
            # A data descriptor: numbers that instances keep are not looked at.
            new = property(_outermost(kept.func, change))
        elif isinstance(kept, (staticmethod, classmethod)):
            new = type(kept)(_outermost(kept.__func__, change))
        else:
            new = _outermost(kept, change)
    else:
        new = _outermost(kept, change)
    with _bound(places, kept, new):
        yield


@contextmanager
def _bound(places: list[tuple[Any, str]], kept: Any, new: Any) -> Iterator[None]:
    _forget()
    try:
        for place, attribute in places:
            _set(place, attribute, new)
        yield
    finally:
        for place, attribute in places:
            _set(place, attribute, kept)
        _forget()


# --- ways to break --------------------------------------------------------------------


def result(change: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """Change what a function returns."""
    return lambda f: lambda *args, **kwargs: change(f(*args, **kwargs))


def argument(**changes: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """Change what a function is given."""

    def change(f: Function) -> Function:
        signature = inspect.signature(f)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            for name, other in changes.items():
                bound.arguments[name] = other(bound.arguments[name])
            return f(*bound.args, **bound.kwargs)

        return wrapper

    return change


def times(factor: float) -> Callable[[Function], Function]:
    """Multiply a number, an array, or every part of a tuple or list."""

    def scaled(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return type(value)(scaled(v) for v in value)
        return value if value is None else factor * value

    return result(scaled)


def field(name: str, change: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """Change one field of the dataclass that a function returns."""
    return result(lambda v: dataclasses.replace(v, **{name: change(getattr(v, name))}))


def part(index: int, factor: float) -> Callable[[Function], Function]:
    """Multiply one member of the tuple that a function returns."""
    return result(
        lambda v: tuple(factor * w if i == index else w for i, w in enumerate(v))
    )


def plus(term: float) -> Callable[[Function], Function]:
    return result(lambda value: value + term)


def multiple(factor: float) -> Callable[[Function], Function]:
    """Multiply the activation that a function returns."""
    return result(lambda a: Affine(a, factor, 0.0))


def more(value: Any) -> Any:
    return value + 1


def less(value: Any) -> Any:
    return max(value - 1, 1)


def half(value: Any) -> Any:
    return value / 2


def twice(value: Any) -> Any:
    return 2 * value


def root(value: Any) -> Any:
    return np.sqrt(value)


@dataclasses.dataclass(frozen=True)
class Mutation:
    key: str
    what: str
    change: Callable[[Any], Any]
    claims: tuple[str, ...]
    slow: bool = False


MUTATIONS: tuple[Mutation, ...] = (
    Mutation("activations.base.Activation.__call__", "twice", times(2.0), ("?",)),
    Mutation(
        "activations.base.Activation.hermite",
        "variance squared",
        argument(var=lambda v: v * v),
        ("?",),
    ),
    Mutation("activations.base.Activation.hermite", "sign", times(-1.0), ("?",)),
    Mutation(
        "activations.base.Activation.hermite",
        "not normalised",
        lambda f: (
            lambda self, order, **k: (
                f(self, order, **k) * np.sqrt(1.0 + np.arange(order + 1))
            )
        ),
        ("?",),
    ),
    Mutation("activations.base.Activation.mean", "twice", times(2.0), ("?",)),
    Mutation("activations.base.Activation.mean", "sign", times(-1.0), ("?",)),
    Mutation("activations.base.Activation.second_moment", "twice", times(2.0), ("?",)),
    Mutation("activations.base.Activation.variance", "its root", result(root), ("?",)),
    Mutation(
        "activations.base.Activation.derivative_second_moment",
        "its root",
        result(root),
        ("?",),
    ),
    Mutation("activations.base.Activation.mu", "half", times(0.5), ("?",)),
    Mutation("activations.base.Activation.mu", "root", result(root), ("?",)),
    Mutation("activations.base.Activation.nu", "half", times(0.5), ("?",)),
    Mutation("activations.base.Activation.normalized", "half", multiple(0.5), ("?",)),
    Mutation(
        "activations.base.Activation.normalized",
        "not centred",
        lambda f: (
            lambda self: (
                Affine(self, f(self).scale, 0.0)
                if isinstance(f(self), Affine)
                else f(self)
            )
        ),
        ("?",),
    ),
    Mutation("activations.base.Activation.dual", "twice", times(2.0), ("?",)),
    Mutation(
        "activations.base.Activation.dual",
        "sign of rho",
        argument(rho=lambda v: -np.asarray(v)),
        ("?",),
    ),
    Mutation(
        "activations.base.Activation.dual",
        "standard deviations for variances",
        argument(var_x=root, var_y=root),
        ("?",),
    ),
    Mutation("activations.base.Activation.dual_derivative", "half", times(0.5), ("?",)),
    Mutation(
        "activations.base.Activation.dual_derivative",
        "sign of rho",
        argument(rho=lambda v: -np.asarray(v)),
        ("?",),
    ),
    Mutation("activations.base.Activation.distance_map", "twice", times(2.0), ("?",)),
    Mutation(
        "activations.base.Activation.fixed_point",
        "largest instead of smallest",
        result(lambda v: 1.0),
        ("?",),
    ),
    Mutation("activations.base.Activation.fixed_point", "root", result(root), ("?",)),
    Mutation(
        "activations.base.Activation.length_map", "root of q", argument(q=root), ("?",)
    ),
    Mutation("activations.base.Activation.length_map", "twice", times(2.0), ("?",)),
    Mutation(
        "activations.base.Activation.length_map_derivative", "twice", times(2.0), ("?",)
    ),
    Mutation(
        "activations.base.Activation.length_map_derivative", "sign", times(-1.0), ("?",)
    ),
    Mutation(
        "activations.base.pair",
        "first with itself",
        lambda f: lambda a, b: f(a, a),
        ("?",),
    ),
    Mutation(
        "activations.pairs.engine",
        "first with itself",
        lambda f: lambda a, b: f(a, a),
        ("?",),
    ),
    Mutation(
        "activations.affine.Affine.scaled",
        "variance squared",
        argument(var=lambda v: v * v),
        ("?",),
    ),
    Mutation("activations.affine.Affine.derivative", "twice", multiple(2.0), ("?",)),
    Mutation(
        "activations.affine.Affine.derivative_second_moment",
        "scale not squared",
        lambda f: lambda self: f(self) / abs(self.scale),
        ("?",),
    ),
    Mutation(
        "activations.catalogue.relu", "half", lambda a: Affine(a, 0.5, 0.0), ("?",)
    ),
    Mutation(
        "activations.catalogue.absolute", "half", lambda a: Affine(a, 0.5, 0.0), ("?",)
    ),
    Mutation(
        "activations.catalogue.step", "half", lambda a: Affine(a, 0.5, 0.0), ("?",)
    ),
    Mutation(
        "activations.catalogue.sign", "half", lambda a: Affine(a, 0.5, 0.0), ("?",)
    ),
    Mutation(
        "activations.catalogue.identity", "half", lambda a: Affine(a, 0.5, 0.0), ("?",)
    ),
    Mutation(
        "activations.catalogue.hard_tanh", "half", lambda a: Affine(a, 0.5, 0.0), ("?",)
    ),
    Mutation(
        "activations.catalogue.hard_tanh",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("?",),
    ),
    Mutation(
        "activations.catalogue.relu_squared",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("?",),
    ),
    Mutation(
        "activations.catalogue.erf", "half", lambda a: Affine(a, 0.5, 0.0), ("?",)
    ),
    Mutation(
        "activations.catalogue.erf",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("?",),
    ),
    Mutation(
        "activations.catalogue.tanh", "half", lambda a: Affine(a, 0.5, 0.0), ("?",)
    ),
    Mutation(
        "activations.catalogue.tanh",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("?",),
    ),
    Mutation(
        "activations.catalogue.sigmoid", "half", lambda a: Affine(a, 0.5, 0.0), ("?",)
    ),
    Mutation(
        "activations.catalogue.sigmoid",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("?",),
    ),
    Mutation(
        "activations.catalogue.gelu", "half", lambda a: Affine(a, 0.5, 0.0), ("?",)
    ),
    Mutation(
        "activations.catalogue.gelu",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("?",),
    ),
    Mutation(
        "activations.catalogue.silu", "half", lambda a: Affine(a, 0.5, 0.0), ("?",)
    ),
    Mutation(
        "activations.catalogue.silu",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("?",),
    ),
    Mutation(
        "activations.catalogue.softplus", "half", lambda a: Affine(a, 0.5, 0.0), ("?",)
    ),
    Mutation(
        "activations.catalogue.softplus",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("?",),
    ),
    Mutation(
        "activations.catalogue.exp", "half", lambda a: Affine(a, 0.5, 0.0), ("?",)
    ),
    Mutation(
        "activations.catalogue.exp",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("?",),
    ),
    Mutation(
        "activations.catalogue.sin", "half", lambda a: Affine(a, 0.5, 0.0), ("?",)
    ),
    Mutation(
        "activations.catalogue.sin",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("?",),
    ),
    Mutation(
        "activations.catalogue.cos", "half", lambda a: Affine(a, 0.5, 0.0), ("?",)
    ),
    Mutation(
        "activations.catalogue.cos",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("?",),
    ),
    Mutation(
        "activations.catalogue.arctan", "half", lambda a: Affine(a, 0.5, 0.0), ("?",)
    ),
    Mutation(
        "activations.catalogue.arctan",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("?",),
    ),
    Mutation(
        "activations.catalogue.asinh", "half", lambda a: Affine(a, 0.5, 0.0), ("?",)
    ),
    Mutation(
        "activations.catalogue.asinh",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("?",),
    ),
    Mutation(
        "activations.catalogue.gaussian_bump",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("?",),
    ),
    Mutation(
        "activations.catalogue.gaussian_bump",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("?",),
    ),
    Mutation(
        "activations.catalogue.mish", "half", lambda a: Affine(a, 0.5, 0.0), ("?",)
    ),
    Mutation(
        "activations.catalogue.mish",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("?",),
    ),
    Mutation(
        "activations.catalogue.selu", "half", lambda a: Affine(a, 0.5, 0.0), ("?",)
    ),
    Mutation(
        "activations.catalogue.selu",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("?",),
    ),
    Mutation(
        "activations.catalogue.softsign", "half", lambda a: Affine(a, 0.5, 0.0), ("?",)
    ),
    Mutation(
        "activations.catalogue.softsign",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("?",),
    ),
    Mutation(
        "activations.catalogue.leaky_relu",
        "slope squared",
        argument(slope=lambda v: v * v),
        ("?",),
    ),
    Mutation(
        "activations.catalogue.leaky_relu",
        "sign of slope",
        argument(slope=lambda v: -v),
        ("?",),
    ),
    Mutation(
        "activations.catalogue.hermite", "order too high", argument(k=more), ("?",)
    ),
    Mutation(
        "activations.catalogue.elu", "alpha doubled", argument(alpha=twice), ("?",)
    ),
    Mutation(
        "activations.closed.exponential",
        "variance squared",
        argument(q=lambda v: v * v / 4.0),
        ("?",),
    ),
    Mutation("activations.closed.exponential", "twice", times(2.0), ("?",)),
    Mutation(
        "activations.closed.sine",
        "variance squared",
        argument(q=lambda v: v * v / 4.0),
        ("?",),
    ),
    Mutation("activations.closed.sine", "twice", times(2.0), ("?",)),
    Mutation(
        "activations.closed.cosine",
        "variance squared",
        argument(q=lambda v: v * v / 4.0),
        ("?",),
    ),
    Mutation("activations.closed.cosine", "twice", times(2.0), ("?",)),
    Mutation(
        "activations.closed.bump",
        "variance squared",
        argument(q=lambda v: v * v / 4.0),
        ("?",),
    ),
    Mutation("activations.closed.bump", "twice", times(2.0), ("?",)),
    Mutation(
        "activations.closed.error_function",
        "variance squared",
        argument(q=lambda v: v * v / 4.0),
        ("?",),
    ),
    Mutation("activations.closed.error_function", "twice", times(2.0), ("?",)),
    Mutation(
        "activations.closed.gaussian_linear",
        "variance squared",
        argument(q=lambda v: v * v / 4.0),
        ("?",),
    ),
    Mutation("activations.closed.gaussian_linear", "twice", times(2.0), ("?",)),
    Mutation(
        "activations.custom.FromFunction.scaled",
        "variance squared",
        argument(var=lambda v: v * v),
        ("?",),
    ),
    Mutation(
        "activations.custom.FromFunction.derivative", "twice", multiple(2.0), ("?",)
    ),
    Mutation("activations.custom.Differentiated.__call__", "sign", times(-1.0), ("?",)),
    Mutation("activations.custom.from_function", "half", multiple(0.5), ("?",)),
    Mutation(
        "activations.exponential.ExponentialUnit.scaled",
        "variance squared",
        argument(var=lambda v: v * v),
        ("?",),
    ),
    Mutation(
        "activations.exponential.ExponentialUnit.derivative",
        "twice",
        multiple(2.0),
        ("?",),
    ),
    Mutation(
        "activations.normrelu.normrelu_constants",
        "scale squared",
        field("scale", lambda v: v * v),
        ("?",),
    ),
    Mutation(
        "activations.normrelu.normrelu_constants",
        "sign of shift",
        field("shift", lambda v: -v),
        ("?",),
    ),
    Mutation(
        "activations.normrelu.normrelu_constants",
        "half of mu",
        field("mu", half),
        ("?",),
    ),
    Mutation(
        "activations.normrelu.normrelu_constants",
        "root of slope",
        field("slope", root),
        ("?",),
    ),
    Mutation(
        "activations.normrelu.normrelu",
        "sign of kink",
        argument(c=lambda v: v if v is None else -v),
        ("?",),
    ),
    Mutation(
        "activations.normrelu.normrelu",
        "scale",
        argument(scale=lambda v: v if v is None else v * v),
        ("?",),
    ),
    Mutation(
        "activations.piecewise.PiecewisePolynomial.scaled",
        "variance squared",
        argument(var=lambda v: v * v),
        ("?",),
    ),
    Mutation(
        "activations.piecewise.PiecewisePolynomial.derivative",
        "twice",
        multiple(2.0),
        ("?",),
    ),
    Mutation(
        "activations.piecewise.PiecewisePolynomial.variance",
        "twice",
        times(2.0),
        ("?",),
    ),
    Mutation(
        "activations.piecewise.PiecewisePolynomial.second_moment",
        "twice",
        times(2.0),
        ("?",),
    ),
    Mutation(
        "activations.smooth.Smooth.scaled",
        "variance squared",
        argument(var=lambda v: v * v),
        ("?",),
    ),
    Mutation("activations.smooth.Smooth.derivative", "twice", multiple(2.0), ("?",)),
    Mutation("activations.smooth.Smooth.second_moment", "twice", times(2.0), ("?",)),
    Mutation("activations.smooth.Smooth.variance", "twice", times(2.0), ("?",)),
    Mutation(
        "activations.smooth.HermiteMixture.scaled",
        "variance squared",
        argument(var=lambda v: v * v),
        ("?",),
    ),
    Mutation(
        "activations.smooth.HermiteMixture.derivative", "twice", multiple(2.0), ("?",)
    ),
    Mutation(
        "activations.smooth.HermiteMixture.second_moment", "twice", times(2.0), ("?",)
    ),
    Mutation("activations.smooth.HermiteMixture.variance", "twice", times(2.0), ("?",)),
    Mutation(
        "activations.smooth.Smooth.derivative_second_moment",
        "twice",
        times(2.0),
        ("?",),
    ),
    Mutation(
        "conditioning.one_layer_bound",
        "twice the rate",
        argument(mu=lambda v: min(2.0 * v, 1.0)),
        ("?",),
    ),
    Mutation(
        "conditioning.one_layer_bound",
        "sign of mu",
        lambda f: (
            lambda delta, mu, **k: 2.0 * (1.0 - np.asarray(delta)) - f(delta, mu, **k)
        ),
        ("?",),
    ),
    Mutation("conditioning.burn_in_depth", "one less", plus(-1), ("?",)),
    Mutation(
        "conditioning.burn_in_depth",
        "mu for mu/2",
        argument(mu=lambda v: np.minimum(2.0 * np.asarray(v), 1.0)),
        ("?",),
    ),
    Mutation(
        "conditioning.correlation_bound", "a layer more", argument(depth=more), ("?",)
    ),
    Mutation(
        "conditioning.correlation_bound",
        "twice the rate",
        argument(mu=lambda v: np.minimum(2.0 * np.asarray(v), 1.0)),
        ("?",),
    ),
    Mutation(
        "conditioning.correlation_envelope",
        "a layer more",
        argument(depth=more),
        ("?",),
    ),
    Mutation(
        "conditioning.correlation_envelope", "half of mu", argument(mu=half), ("?",)
    ),
    Mutation("conditioning.derivative_bound", "half of mu", argument(mu=half), ("?",)),
    Mutation(
        "conditioning.derivative_bound",
        "twice the rate",
        argument(mu=lambda v: np.minimum(2.0 * np.asarray(v), 1.0)),
        ("?",),
    ),
    Mutation("conditioning.ntk_diagonal", "a layer less", argument(depth=less), ("?",)),
    Mutation(
        "conditioning.ntk_diagonal", "root of slope", argument(slope=root), ("?",)
    ),
    Mutation("conditioning.ntk_ratio_bound", "half", times(0.5), ("?",)),
    Mutation(
        "conditioning.ntk_ratio_bound",
        "twice the rate",
        argument(mu=lambda v: np.minimum(2.0 * np.asarray(v), 1.0)),
        ("?",),
    ),
    Mutation(
        "conditioning.nngp_min_eigenvalue_bound",
        "a layer more",
        argument(depth=more),
        ("?",),
    ),
    Mutation(
        "conditioning.nngp_min_eigenvalue_bound",
        "twice the rate",
        argument(mu=lambda v: np.minimum(2.0 * np.asarray(v), 1.0)),
        ("?",),
    ),
    Mutation("conditioning.ntk_min_eigenvalue_bound", "twice", times(2.0), ("?",)),
    Mutation(
        "conditioning.ntk_min_eigenvalue_bound",
        "twice the rate",
        argument(mu=lambda v: np.minimum(2.0 * np.asarray(v), 1.0)),
        ("?",),
    ),
    Mutation(
        "conditioning.nngp_condition_bound",
        "factor 2 left out",
        result(lambda v: 1.0 + (v - 1.0) / 2.0),
        ("?",),
    ),
    Mutation(
        "conditioning.nngp_condition_bound",
        "ten layers more",
        argument(depth=lambda v: v + 10),
        ("?",),
    ),
    Mutation("conditioning.depth_for_condition_number", "one less", plus(-1), ("?",)),
    Mutation("conditioning.depth_for_condition_number", "one more", plus(1), ("?",)),
    Mutation(
        "conditioning.ntk_condition_bound",
        "excess over hundred",
        result(lambda v: 1.0 + (v - 1.0) / 100.0),
        ("?",),
    ),
    Mutation(
        "conditioning.ntk_condition_bound", "L for L/2", argument(depth=twice), ("?",)
    ),
    Mutation(
        "conditioning.ntk_threshold_depth", "half", result(lambda v: -(-v // 2)), ("?",)
    ),
    Mutation("conditioning.ntk_threshold_depth", "one less", plus(-1), ("?",)),
    Mutation("conditioning.eigenvalue_transfer", "sign", times(-1.0), ("?",)),
    Mutation("conditioning.eigenvalue_transfer", "twice", times(2.0), ("?",)),
    Mutation(
        "conditioning.eigenvalue_transfer",
        "sum",
        argument(value_at_rest=lambda v: -v),
        ("?",),
    ),
    Mutation(
        "conditioning.fixed_point_convergence",
        "root of point",
        field("point", root),
        ("?",),
    ),
    Mutation(
        "conditioning.fixed_point_convergence",
        "half of slope",
        field("slope", half),
        ("?",),
    ),
    Mutation(
        "conditioning.fixed_point_convergence",
        "rate squared",
        field("rate", lambda v: v * v),
        ("?",),
    ),
    Mutation(
        "conditioning.fixed_point_convergence",
        "no wait",
        field("start", lambda v: 0),
        ("?",),
    ),
    Mutation(
        "conditioning.unit_slope_bound",
        "nu twice",
        argument(nu=lambda v: min(2.0 * v, 1.0)),
        ("?",),
    ),
    Mutation(
        "conditioning.unit_slope_bound", "square", result(lambda v: v * v), ("?",)
    ),
    Mutation("depth_maps.Grid.cells", "one less", plus(-1), ("?",)),
    Mutation(
        "depth_maps.Grid.locate",
        "sign of coordinate",
        result(lambda v: (v[0], -v[1])),
        ("?",),
    ),
    Mutation("depth_maps.Grid.nodes", "twice", times(2.0), ("?",)),
    Mutation("depth_maps.Grid.fit", "twice", times(2.0), ("?",)),
    Mutation("depth_maps.Grid.monomials", "twice", times(2.0), ("?",)),
    Mutation(
        "depth_maps.one_layer",
        "parity",
        field("parity", lambda v: 1 if v == 0 else v),
        ("?",),
    ),
    Mutation(
        "depth_maps.one_layer",
        "twice the slopes",
        field("growth", lambda v: v + 0.6931471805599453),
        ("?",),
    ),
    Mutation("depth_maps.repeated", "a layer more", argument(depth=more), ("?",)),
    Mutation(
        "depth_maps.stack",
        "last layer lost",
        argument(steps=lambda v: v[:-1] if len(v) > 1 else v),
        ("?",),
    ),
    Mutation("depth_maps.DepthMap.__call__", "half the kernel", part(0, 0.5), ("?",)),
    Mutation(
        "depth_maps.DepthMap.__call__", "half the tangent kernel", part(1, 0.5), ("?",)
    ),
    Mutation(
        "depth_maps.depth_map",
        "a layer more",
        argument(steps=lambda v: (*v[:-1], (v[-1][0], v[-1][1] + 1))),
        ("?",),
    ),
    Mutation("duals.Series.dual", "twice", times(2.0), ("?",)),
    Mutation("duals.Series.covariance", "twice", times(2.0), ("?",)),
    Mutation("duals.Series.slope", "twice", times(2.0), ("?",)),
    Mutation("duals.Series.distance", "twice", times(2.0), ("?",)),
    Mutation(
        "duals.Series.slope",
        "half the slope at zero",
        lambda f: lambda self, rho, t=None: f(self, rho, t) * (1.0 + rho) / 2.0,
        ("?",),
    ),
    Mutation("duals.Truncated.dual", "twice", times(2.0), ("?",)),
    Mutation("duals.Truncated.covariance", "twice", times(2.0), ("?",)),
    Mutation("duals.Truncated.slope", "twice", times(2.0), ("?",)),
    Mutation("duals.Truncated.distance", "twice", times(2.0), ("?",)),
    Mutation(
        "duals.Truncated.slope",
        "half the slope at zero",
        lambda f: lambda self, rho, t=None: f(self, rho, t) * (1.0 + rho) / 2.0,
        ("?",),
    ),
    Mutation("duals.Arcsine.dual", "twice", times(2.0), ("?",)),
    Mutation("duals.Arcsine.covariance", "twice", times(2.0), ("?",)),
    Mutation("duals.Arcsine.slope", "twice", times(2.0), ("?",)),
    Mutation("duals.Arcsine.distance", "twice", times(2.0), ("?",)),
    Mutation(
        "duals.Arcsine.slope",
        "half the slope at zero",
        lambda f: lambda self, rho, t=None: f(self, rho, t) * (1.0 + rho) / 2.0,
        ("?",),
    ),
    Mutation("duals.Rescaled.dual", "twice", times(2.0), ("?",)),
    Mutation("duals.Rescaled.covariance", "twice", times(2.0), ("?",)),
    Mutation("duals.Rescaled.slope", "twice", times(2.0), ("?",)),
    Mutation("duals.Rescaled.distance", "twice", times(2.0), ("?",)),
    Mutation(
        "duals.Rescaled.slope",
        "half the slope at zero",
        lambda f: lambda self, rho, t=None: f(self, rho, t) * (1.0 + rho) / 2.0,
        ("?",),
    ),
    Mutation("duals.Tabulated.dual", "twice", times(2.0), ("?",)),
    Mutation("duals.Tabulated.covariance", "twice", times(2.0), ("?",)),
    Mutation("duals.Tabulated.slope", "twice", times(2.0), ("?",)),
    Mutation("duals.Tabulated.distance", "twice", times(2.0), ("?",)),
    Mutation(
        "duals.Tabulated.slope",
        "half the slope at zero",
        lambda f: lambda self, rho, t=None: f(self, rho, t) * (1.0 + rho) / 2.0,
        ("?",),
    ),
    Mutation("duals.Truncated.remainder", "twice", times(2.0), ("?",)),
    Mutation("duals.Tabulated.build", "mean twice", argument(mean=twice), ("?",)),
    Mutation(
        "duals.Tabulated.build",
        "slope twice",
        argument(f=lambda g: lambda t: 2.0 * g(t)),
        ("?",),
    ),
    Mutation("duals.polar_expectation", "twice", times(2.0), ("?",)),
    Mutation(
        "duals.polar_expectation",
        "sign of rho",
        argument(t=lambda v: np.pi - np.asarray(v)),
        ("?",),
    ),
    Mutation(
        "duals.strip_expectation",
        "sign of rho",
        lambda f: lambda ka, kb: lambda g, h, t: f(ka, kb)(g, h, np.pi - np.asarray(t)),
        ("?",),
    ),
    Mutation(
        "duals.strip_expectation",
        "half",
        lambda f: lambda ka, kb: lambda g, h, t: 0.5 * f(ka, kb)(g, h, t),
        ("?",),
    ),
    Mutation(
        "gaussian.pdf",
        "variance twice",
        argument(x=lambda v: np.asarray(v) / 2.0**0.5),
        ("?",),
    ),
    Mutation("gaussian.pdf", "2 pi for its root", times(0.3989422804014327), ("?",)),
    Mutation("gaussian.cdf", "sign", argument(x=lambda v: -np.asarray(v)), ("?",)),
    Mutation("gaussian.legendre", "a weight twice", part(1, 2.0), ("?",)),
    Mutation("gaussian.scaled_tail_moment", "order too high", argument(k=more), ("?",)),
    Mutation("gaussian.scaled_tail_moment", "twice", times(2.0), ("?",)),
    Mutation("gaussian.tail_moment", "sign of kink", argument(c=lambda v: -v), ("?",)),
    Mutation("gaussian.panels", "weights twice", part(1, 2.0), ("?",)),
    Mutation("gaussian.expectation", "twice", times(2.0), ("?",)),
    Mutation(
        "hermite.hermite",
        "physicists argument",
        argument(x=lambda v: np.asarray(v) * 2.0**0.5),
        ("?",),
    ),
    Mutation("hermite.hermite", "order too high", argument(k=more), ("?",)),
    Mutation("hermite.hermite", "sign", times(-1.0), ("?",)),
    Mutation("hermite.weighted_at", "twice", times(2.0), ("?",)),
    Mutation(
        "hermite.weighted_at", "sign of argument", argument(x=lambda v: -v), ("?",)
    ),
    Mutation("hermite.weighted_basis", "twice", part(1, 2.0), ("?",)),
    Mutation("hermite.coefficients", "twice", times(2.0), ("?",)),
    Mutation("hermite.precise_coefficients", "twice", times(2.0), ("?",)),
    Mutation(
        "hermite.precise_coefficients",
        "sign of odd ones",
        lambda f: (
            lambda g, order, digits: (
                f(g, order, digits) * (-1.0) ** np.arange(order + 1)
            )
        ),
        ("?",),
    ),
    Mutation("kernels.correlation", "square", result(lambda v: v * v), ("?",)),
    Mutation("kernels.correlation", "half", times(0.5), ("?",)),
    Mutation(
        "kernels.separation", "1 - rho^2", result(lambda v: v * (2.0 - v)), ("?",)
    ),
    Mutation("kernels.separation", "half", times(0.5), ("?",)),
    Mutation("kernels.nngp_map", "a layer more", argument(depth=more), ("?",)),
    Mutation("kernels.nngp_map", "a layer less", argument(depth=less), ("?",)),
    Mutation("kernels.nngp_map", "half", times(0.5), ("?",)),
    Mutation("kernels.ntk_map", "a layer more", argument(depth=more), ("?",)),
    Mutation("kernels.ntk_map", "a layer less", argument(depth=less), ("?",)),
    Mutation("kernels.ntk_map", "half", times(0.5), ("?",)),
    Mutation("kernels.nngp", "a layer more", argument(depth=more), ("?",)),
    Mutation("kernels.nngp", "a layer less", argument(depth=less), ("?",)),
    Mutation("kernels.nngp", "half", times(0.5), ("?",)),
    Mutation("kernels.ntk", "a layer more", argument(depth=more), ("?",)),
    Mutation("kernels.ntk", "a layer less", argument(depth=less), ("?",)),
    Mutation("kernels.ntk", "half", times(0.5), ("?",)),
    Mutation("kernels.nngp_ntk", "a layer more", argument(depth=more), ("?",)),
    Mutation("kernels.nngp_ntk", "a layer less", argument(depth=less), ("?",)),
    Mutation("kernels.nngp_ntk", "half", times(0.5), ("?",)),
    Mutation(
        "kernels.homogeneity",
        "one more",
        result(lambda v: v if v is None else v + 1),
        ("?",),
    ),
    Mutation("layer_recursion.kernels", "a layer more", argument(depth=more), ("?",)),
    Mutation("layer_recursion.kernels", "half", times(0.5), ("?",)),
    Mutation("lengths.chord_rate", "half", times(0.5), ("?",)),
    Mutation("lengths.chord_rate", "its complement", result(lambda v: 1.0 - v), ("?",)),
    Mutation(
        "lengths.length_trajectory",
        "a layer on",
        lambda f: lambda a, gamma, depth: f(a, gamma, depth + 1)[1:],
        ("?",),
    ),
    Mutation("lengths.length_trajectory", "root", result(root), ("?",)),
    Mutation(
        "lengths.joint_trajectory",
        "lengths of the other",
        lambda f: (
            lambda a, x, y, rho, depth: (
                *f(a, y, x, rho, depth)[:2],
                f(a, x, y, rho, depth)[2],
            )
        ),
        ("?",),
    ),
    Mutation("lengths.joint_trajectory", "half the correlation", part(2, 0.5), ("?",)),
    Mutation(
        "lengths.joint_trajectory",
        "a layer on",
        lambda f: (
            lambda a, x, y, rho, depth: tuple(v[1:] for v in f(a, x, y, rho, depth + 1))
        ),
        ("?",),
    ),
    Mutation("lengths.generalised_mu", "half", times(0.5), ("?",)),
    Mutation("lengths.generalised_mu", "complement", result(lambda v: 1.0 - v), ("?",)),
    Mutation(
        "lengths.generalised_mu",
        "variance squared",
        argument(gamma=lambda v: v * v),
        ("?",),
    ),
    Mutation("lengths.rest_share", "twice", times(2.0), ("?",)),
    Mutation("lengths.rest_share", "complement", result(lambda v: 1.0 - v), ("?",)),
    Mutation(
        "lengths.odd_correlation_bound",
        "twice the rate",
        argument(mu_x=twice, mu_y=twice),
        ("?",),
    ),
    Mutation(
        "lengths.odd_correlation_bound",
        "without the root",
        result(lambda v: v * v),
        ("?",),
    ),
    Mutation("lengths.settling_depth", "none", result(lambda v: 0), ("?",)),
    Mutation(
        "lengths.settling_depth", "one less", result(lambda v: max(v - 1, 0)), ("?",)
    ),
    Mutation("lengths.settling_depth", "half", result(half), ("?",)),
    Mutation(
        "lengths.correlation_bound_any_length",
        "rate mu",
        lambda f: lambda a, x, y, delta, depth: f(a, x, y, delta, depth) ** 2,
        ("?",),
    ),
    Mutation(
        "lengths.correlation_bound_any_length",
        "no settling",
        lambda f: lambda a, x, y, delta, depth: f(a, 1.0, 1.0, delta, depth),
        ("?",),
    ),
    Mutation("lengths.normrelu_length", "twice", times(2.0), ("?",)),
    Mutation(
        "lengths.normrelu_length", "sign of kink", argument(c=lambda v: -v), ("?",)
    ),
    Mutation("lengths.normrelu_length_slope", "twice", times(2.0), ("?",)),
    Mutation(
        "lengths.normrelu_length_slope",
        "sign of kink",
        argument(c=lambda v: -v),
        ("?",),
    ),
    Mutation("lengths.normrelu_bias", "root", result(root), ("?",)),
    Mutation("lengths.normrelu_bias", "half", times(0.5), ("?",)),
    Mutation(
        "lengths.NormReLUDecay.bound", "a layer more", argument(depth=more), ("?",)
    ),
    Mutation("lengths.NormReLUDecay.bound", "half", times(0.5), ("?",)),
    Mutation("lengths.normrelu_decay", "half of alpha", field("alpha", half), ("?",)),
    Mutation("lengths.normrelu_decay", "half of beta", field("beta", half), ("?",)),
    Mutation(
        "lengths.normrelu_decay", "rate squared", field("rate", lambda v: v * v), ("?",)
    ),
    Mutation("lengths.unstable_length", "root", result(root), ("?",)),
    Mutation("lengths.unstable_length", "twice", times(2.0), ("?",)),
    Mutation(
        "optimization.gradient_descent_bound",
        "rate twice",
        result(lambda v: v * v),
        ("?",),
    ),
    Mutation("optimization.gradient_descent_bound", "rate half", result(root), ("?",)),
    Mutation("optimization.sgd_steps", "half", result(lambda v: v // 2), ("?",)),
    Mutation("optimization.sgd_steps", "twice", times(2), ("?",)),
    Mutation(
        "optimization.sgd_restarts",
        "natural logarithm",
        result(lambda v: int(0.69 * v)),
        ("?",),
    ),
    Mutation("optimization.sgd_restarts", "one less", plus(-1), ("?",)),
    Mutation("optimization.kernel_descent_factor", "root", result(root), ("?",)),
    Mutation(
        "optimization.kernel_descent_factor", "square", result(lambda v: v * v), ("?",)
    ),
    Mutation("optimization.correlation_floor", "twice", times(2.0), ("?",)),
    Mutation("optimization.correlation_floor", "half", times(0.5), ("?",)),
    Mutation(
        "optimization.query_lower_bound",
        "factor 2 left out",
        result(lambda v: 2.0 * v + 1.0),
        ("?",),
    ),
    Mutation("optimization.query_lower_bound", "sign of one", plus(2.0), ("?",)),
    Mutation("optimization.covariance_norm_bound", "half", times(0.5), ("?",)),
    Mutation(
        "optimization.covariance_norm_bound",
        "inverse",
        result(lambda v: 1.0 / v),
        ("?",),
    ),
    Mutation(
        "optimization.overfitting_depth", "half", result(lambda v: v // 2), ("?",)
    ),
    Mutation("optimization.overfitting_depth", "one less", plus(-1), ("?",)),
    Mutation("optimization.ExcessRisk.total", "half", times(0.5), ("?",)),
    Mutation(
        "optimization.ExcessRisk.total",
        "sign of noise",
        lambda f: lambda self: self.bias - self.noise,
        ("?",),
    ),
    Mutation(
        "optimization.excess_risk_terms", "half of bias", field("bias", half), ("?",)
    ),
    Mutation(
        "optimization.excess_risk_terms", "half of noise", field("noise", half), ("?",)
    ),
    Mutation("optimization.excess_risk_bound", "over hundred", times(0.01), ("?",)),
    Mutation("optimization.excess_risk_bound", "half", times(0.5), ("?",)),
    Mutation(
        "optimization.typical_separation",
        "1 - rho^2",
        result(lambda v: v * (2.0 - v)),
        ("?",),
    ),
    Mutation(
        "optimization.typical_separation",
        "its complement",
        result(lambda v: 1.0 - v),
        ("?",),
    ),
    Mutation(
        "optimization.one_layer_min_eigenvalue",
        "n^3",
        lambda f: lambda n, delta, **k: n * f(n, delta, **k),
        ("?",),
    ),
    Mutation("optimization.one_layer_min_eigenvalue", "twice", times(2.0), ("?",)),
    Mutation("optimization.arc_min_eigenvalue", "half", times(0.5), ("?",)),
    Mutation(
        "optimization.arc_min_eigenvalue",
        "delta for its power",
        argument(delta=root),
        ("?",),
    ),
    Mutation("optimization.separation_event_bound", "10 left out", times(10.0), ("?",)),
    Mutation(
        "optimization.separation_event_bound",
        "n^2 for n",
        lambda f: lambda n, delta: f(n, delta) / n,
        ("?",),
    ),
)


def is_red(claim: Claim, first: str = "") -> bool:
    """Whether a run of the claim would not be green: its cases one by one, then all."""
    cases = sorted(claim.cases, key=lambda case: case.get("activation") != first)
    if claim.expected is Outcome.HOLDS:
        for case in cases:
            if run.judge(claim, case).outcome is not Outcome.HOLDS:
                return True
    entry = ledger.find(claim.id)[0]
    return not run.run_claim(claim, module=entry.module).green
