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
import os
import pkgutil
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import theory
from theory.activations import Activation, Affine, definitions
from verify import ledger, run
from verify.compare import Outcome

ROOT = Path(__file__).resolve().parents[2]

Function = Callable[..., Any]

_ABOVE = (
    *(
        "conditioning.",
        "depth_maps.",
        "grids.",
        "kernels.",
        "kernel_maps.",
        "spectrum.",
        "width.",
        "lengths.",
    ),
    *("matrices.", "optimization.", "identity_map.", "phase.", "regression."),
    *("square_loss.", "neural_collapse.", "mmd."),
)

PRIVATE_CLAIMS = (
    "verify.claims.deep_conditioning._recursions",
    "verify.claims.deep_conditioning._populations",
)


def _modules() -> list[Any]:
    names = [m.name for m in pkgutil.walk_packages(theory.__path__, "theory.")]
    return [
        importlib.import_module(name)
        for name in names
        if not name.rpartition(".")[2].startswith("_")
    ]


@functools.cache
def public() -> dict[str, tuple[Any, str]]:
    """Every public function, method, property and catalogue entry: where it is kept."""
    found: dict[str, tuple[Any, str]] = {}
    for module in _modules():
        # Only the part of the library: its modules may be split.
        short = module.__name__.split(".")[1]
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
    for name, value in vars(definitions).items():
        if isinstance(value, Activation) and not name.startswith("_"):
            found[f"activations.{name}"] = (definitions, name)
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
    """Return the definitions whose closed form is `value`."""
    kept = [getattr(a, "definition", None) for a in definitions.CATALOGUE.values()]
    forms = [d.closed for d in kept if d is not None and d.closed is not None]
    return [(f, "coefficients") for f in forms if f.coefficients is value]


def _set(place: Any, name: str, value: Any) -> None:
    # Formulas are frozen.
    setter = setattr if isinstance(place, (type, type(sys))) else object.__setattr__
    setter(place, name, value)


def _forget(*, instances: bool) -> None:
    """Empty every cache that may hold a number of the closed forms."""
    for key, module in list(sys.modules.items()):
        if key.startswith(("theory", "verify.claims")) and key not in PRIVATE_CLAIMS:
            for held in list(vars(module).values()):
                clear = getattr(held, "cache_clear", None)
                if callable(clear):
                    clear()
    for thing in gc.get_objects() if instances else ():
        # Asking an object for its class may run code of its own.
        if Activation in type(thing).__mro__:
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
        table = definitions.CATALOGUE
        swapped = {k: new if v is kept else v for k, v in table.items()}
        tables = _holders(table)
        with _bound(places, kept, new), _bound(tables, table, swapped):
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
    # Nothing that an activation keeps depends on what is built on activations.
    above = key.startswith(_ABOVE)
    with _bound(places, kept, new, instances=not above):
        yield


@contextmanager
def _bound(
    places: list[tuple[Any, str]], kept: Any, new: Any, *, instances: bool = False
) -> Iterator[None]:
    _forget(instances=instances)
    try:
        for place, attribute in places:
            _set(place, attribute, new)
        yield
    finally:
        for place, attribute in places:
            _set(place, attribute, kept)
        _forget(instances=instances)


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
    """A way to break `key`, and the claims that notice, `first` an activation of theirs."""

    key: str
    what: str
    change: Callable[[Any], Any]
    claims: tuple[str, ...]
    first: str = ""
    slow: bool = False

    @property
    def name(self) -> str:
        return f"{self.key}: {self.what}"


MMD: tuple[Mutation, ...] = (
    Mutation(
        "mmd.simplex_sample",
        "squared",
        result(lambda u: u**2 / np.sum(u**2, axis=1, keepdims=True)),
        ("mmd/eq2",),
    ),
    Mutation(
        "mmd.simplex_mean", "a class more", argument(classes=more), ("mmd/eq2-moments",)
    ),
    Mutation("mmd.simplex_covariance", "twice", times(2.0), ("mmd/eq2-moments",)),
    Mutation("mmd.simplex_cdf", "a class more", argument(classes=more), ("mmd/eq1",)),
    Mutation(
        "mmd.kernel_bandwidths", "eight", result(lambda v: v[1:]), ("mmd/c1-kernel",)
    ),
    Mutation(
        "mmd.mixture_kernel",
        "wider by the root of 2",
        argument(bandwidths=lambda v: np.sqrt(2.0) * np.asarray(v)),
        ("mmd/c1-kernel",),
    ),
    Mutation(
        "mmd.median_bandwidth",
        "the other median",
        argument(rule=lambda v: "lower" if v == "average" else "average"),
        ("mmd/c1",),
    ),
    Mutation("mmd.median_bandwidth", "half", times(0.5), ("mmd/c1", "mmd/err9")),
    Mutation(
        "mmd.mmd_squared",
        "the biased one always",
        argument(estimator=lambda v: "biased"),
        ("mmd/est",),
    ),
    Mutation("mmd.mmd_squared", "a root", result(np.sqrt), ("mmd/eq3",)),
    Mutation("mmd.estimator_gap", "half", times(0.5), ("mmd/est",)),
    Mutation(
        "mmd.segment_kernel_mean",
        "wider by the root of 2",
        argument(gamma=lambda v: np.sqrt(2.0) * v),
        ("mmd/seg-mean",),
    ),
    Mutation(
        "mmd.segment_embedding",
        "wider by the root of 2",
        argument(gamma=lambda v: np.sqrt(2.0) * v),
        ("mmd/seg-embedding",),
    ),
    Mutation(
        "mmd.segment_embedding_derivative",
        "sign",
        times(-1.0),
        ("mmd/seg-embedding", "mmd/est-gradient"),
    ),
    Mutation(
        "mmd.segment_point_mmd",
        "wider by the root of 2",
        argument(gamma=lambda v: np.sqrt(2.0) * v),
        ("mmd/seg-point",),
    ),
    Mutation(
        "mmd.segment_mmd",
        "the biased one always",
        argument(estimator=lambda v: "biased"),
        ("mmd/seg",),
    ),
    Mutation("mmd.segment_mmd_gradient", "sign", times(-1.0), ("mmd/eq9",)),
    Mutation(
        "mmd.segment_mmd_gradient",
        "the biased one always",
        argument(estimator=lambda v: "biased"),
        ("mmd/est-gradient",),
    ),
    Mutation(
        "mmd.segment_null_bias",
        "the uniform law unsampled",
        argument(samples=lambda v: 10**9),
        ("mmd/est-null",),
    ),
    Mutation(
        "mmd.segment_null_variance_ratio",
        "no crossed pairs",
        lambda f: lambda m, n: 1.0 + m * (m - 1) / (n * (n - 1)),
        ("mmd/seg-null",),
    ),
    Mutation(
        "mmd.noise_rule",
        "s for its square",
        argument(scale=np.sqrt),
        ("mmd/sigma",),
    ),
    Mutation("mmd.noise_rule", "energy", field("energy", half), ("mmd/sigma",)),
    Mutation(
        "mmd.noise_rule",
        "squares",
        field("square_energy", half),
        ("mmd/sigma",),
    ),
    Mutation("mmd.noise_rule", "largest", field("largest", half), ("mmd/sigma",)),
    Mutation(
        "mmd.noise_rule",
        "a parameter more",
        field("parameters", more),
        ("mmd/sigma",),
    ),
    Mutation(
        "mmd.noise_rule",
        "variances",
        field("variances", lambda v: (*v[:-1], 2.0 * v[-1])),
        ("mmd/err2",),
    ),
    Mutation(
        "mmd.noise_rule",
        "counts",
        field("counts", lambda v: (*v[:-1], 100 * v[-1])),
        ("mmd/err2-corrected", "mmd/err2"),
    ),
    Mutation(
        "mmd.ball_mean_square",
        "a dimension more",
        argument(dimension=more),
        ("mmd/claim1-ball",),
    ),
    Mutation(
        "mmd.total_loss",
        "lambda halved",
        argument(degeneracy_weight=half),
        ("mmd/eq23",),
    ),
    Mutation(
        "mmd.total_loss",
        "xi halved",
        argument(detachment_weight=half),
        ("mmd/eq23",),
    ),
    Mutation(
        "mmd.binary_task_count",
        "constant tasks too",
        plus(1),
        ("mmd/prelim",),
    ),
    Mutation(
        "mmd.SubExponential.scaled",
        "the factor squared",
        argument(factor=lambda v: v * v),
        ("mmd/lem2", "mmd/lem3"),
    ),
    Mutation("mmd.SubExponential.log_moment_bound", "half", times(0.5), ("mmd/lem1",)),
    Mutation(
        "mmd.SubExponential.tail_bound",
        "the eighth power",
        result(lambda v: v**8),
        ("mmd/prop1",),
    ),
    Mutation(
        "mmd.sub_exponential_sum",
        "the last alone",
        lambda f: lambda parts: f(parts[-1:]),
        ("mmd/lem3",),
    ),
    Mutation(
        "mmd.chi_square_log_moment",
        "sign",
        argument(lam=lambda v: -v),
        ("mmd/lem1-moment",),
    ),
    Mutation(
        "mmd.tail_bound",
        "a half for an eighth",
        result(lambda v: v**4),
        ("mmd/thm1", "mmd/thm1-sharp"),
    ),
    Mutation(
        "mmd.tail_bound",
        "without the eighth",
        result(lambda v: v**8),
        ("mmd/err2-corrected", "mmd/thm1-unequal"),
    ),
    Mutation(
        "mmd.norm_tail", "a degree more", argument(count=more), ("mmd/thm1-exact",)
    ),
    Mutation("mmd.vacuous_radius", "half", times(0.5), ("mmd/err2",)),
    Mutation(
        "mmd.least_square_norm",
        "a class less",
        lambda f: lambda classes: 1.0 / (classes - 1),
        ("mmd/lem4",),
    ),
    Mutation("mmd.coverage_radius", "a tenth more", times(1.1), ("mmd/thm2-radius",)),
    Mutation(
        "mmd.coverage_bound",
        "a radius of one",
        lambda f: lambda distance, classes, **_: 1.0 - np.asarray(distance),
        ("mmd/thm2",),
    ),
    Mutation(
        "mmd.degeneracy_loss",
        "perturbations pooled",
        argument(predictions=lambda f: np.reshape(f, (1, -1, np.shape(f)[-1]))),
        ("mmd/eq14",),
    ),
    Mutation(
        "mmd.degeneracy_floor",
        "a class more",
        argument(classes=more),
        ("mmd/sdfloor", "mmd/sdfloor-values"),
    ),
    Mutation(
        "mmd.segment_degeneracy_loss",
        "without the root",
        times(0.5**0.5),
        ("mmd/eq14-segment",),
    ),
    Mutation(
        "mmd.jacobian_row_moments", "mean", field("mean", half), ("mmd/thm3-moments",)
    ),
    Mutation(
        "mmd.jacobian_row_moments", "variance", field("variance", half), ("mmd/thm3",)
    ),
    Mutation(
        "mmd.jacobian_chain",
        "the input masked",
        result(lambda v: np.concatenate([0.5 * v[:1], v[1:]])),
        ("mmd/thm3-chain",),
    ),
    Mutation("mmd.detachment_limit", "no limit", times(0.0), ("mmd/eq22-limit",)),
    Mutation(
        "mmd.layer_jacobians",
        "inputs turned around",
        argument(x=lambda v: -np.asarray(v)),
        ("mmd/jac", "mmd/eq15"),
    ),
    Mutation(
        "mmd.detachment_loss",
        "the first layer alone",
        argument(jacobians=lambda v: v[:1]),
        ("mmd/eq22",),
    ),
)

SPECTRUM: tuple[Mutation, ...] = (
    Mutation(
        "spectrum.multiplicity",
        "a dimension more",
        argument(dim=more),
        ("dc/defC.1-harmonics", "dc/defC.1-mercer"),
    ),
    Mutation(
        "spectrum.log_multiplicity",
        "twice",
        plus(float(np.log(2.0))),
        ("dc/defC.1-harmonics", "dc/defC.1-trace"),
    ),
    Mutation(
        "spectrum.gegenbauer",
        "a dimension more",
        argument(dim=more),
        ("dc/defC.1-mercer",),
    ),
    Mutation(
        "spectrum.eigenvalues",
        "a dimension more",
        argument(dim=more),
        ("dc/defC.1-quadrature",),
    ),
    Mutation(
        "spectrum.series_eigenvalues",
        "the leading power alone",
        argument(coefficients=lambda b: b[:21]),
        ("dc/defC.1-exponential",),
    ),
    Mutation(
        "spectrum.power_eigenvalues",
        "the power's half",
        argument(power=half),
        ("dc/lemC.14-singularity",),
    ),
    Mutation("spectrum.effective_rank", "root", result(root), ("dc/thm3.2-rank",)),
    Mutation(
        "spectrum.taylor_coefficients",
        "a layer more",
        argument(depth=more),
        ("dc/defC.1-taylor",),
    ),
    Mutation(
        "spectrum.nngp_eigenvalues",
        "a layer more",
        argument(depth=more),
        ("dc/defC.1-spectrum", "dc/eq1-spectrum"),
    ),
    Mutation(
        "spectrum.ntk_eigenvalues",
        "a dimension more",
        argument(dim=more),
        ("dc/eq7-spectrum",),
    ),
    Mutation(
        "spectrum.degree_shares",
        "relative to the constant's",
        times(0.99),
        ("dc/defC.1-trace",),
    ),
    Mutation(
        "width.nngp_mean",
        "no correction",
        argument(width=lambda n: 10**9),
        ("dc/lemC.4-bias",),
    ),
    Mutation(
        "width.nngp_variance", "half", times(0.5), ("dc/lemC.4-variance",), "relu"
    ),
    Mutation(
        "width.nngp_variance",
        "a layer less",
        argument(depth=less),
        ("dc/E13-fluctuations",),
    ),
    Mutation(
        "width.ntk_mean",
        "no correction",
        argument(width=lambda n: 10**9),
        ("dc/eq7-bias",),
    ),
    Mutation("width.ntk_variance", "two thirds", times(2 / 3), ("dc/lemC.4-variance",)),
    Mutation(
        "width.ntk_variance",
        "a layer less",
        argument(depth=less),
        ("dc/eq7-fluctuations",),
    ),
    Mutation(
        "width.length_moment", "a layer more", argument(depth=more), ("dc/E13-length",)
    ),
)


MUTATIONS: tuple[Mutation, ...] = (
    *MMD,
    *SPECTRUM,
    Mutation(
        "activations.GaussianFunction.__call__",
        "twice",
        times(2.0),
        ("dc/eq14",),
        slow=True,
    ),
    Mutation(
        "activations.GaussianFunction.hermite",
        "variance squared",
        argument(var=lambda v: v * v),
        ("dc/lemD.6-mu",),
        slow=True,
    ),
    Mutation(
        "activations.GaussianFunction.hermite",
        "sign",
        times(-1.0),
        ("dc/eq2",),
        slow=True,
    ),
    Mutation(
        "activations.GaussianFunction.hermite",
        "not normalised",
        lambda f: (
            lambda self, order, **k: (
                f(self, order, **k) * np.sqrt(1.0 + np.arange(order + 1))
            )
        ),
        ("dc/E7-corrected",),
        slow=True,
    ),
    Mutation(
        "activations.GaussianFunction.mean",
        "twice",
        times(2.0),
        ("dc/lemC.28-negative",),
        slow=True,
    ),
    Mutation(
        "activations.GaussianFunction.mean",
        "sign",
        times(-1.0),
        ("dc/tab2",),
        slow=True,
    ),
    Mutation(
        "activations.GaussianFunction.second_moment",
        "twice",
        times(2.0),
        ("dc/defC.20",),
        slow=True,
    ),
    Mutation(
        "activations.GaussianFunction.variance",
        "its root",
        result(root),
        ("dc/def3.1",),
        slow=True,
    ),
    Mutation(
        "activations.GaussianFunction.derivative_second_moment",
        "its root",
        result(root),
        ("dc/eq7-diagonal",),
        slow=True,
    ),
    Mutation(
        "activations.GaussianFunction.mu", "half", times(0.5), ("dc/tab1",), slow=True
    ),
    Mutation(
        "activations.GaussianFunction.mu", "root", result(root), ("dc/tab1",), slow=True
    ),
    Mutation(
        "activations.GaussianFunction.nu",
        "half",
        times(0.5),
        ("dc/defC.20",),
        slow=True,
    ),
    Mutation(
        "activations.Activation.normalized",
        "half",
        multiple(0.5),
        ("dc/thmD.1-above-one",),
        slow=True,
    ),
    Mutation(
        "activations.Activation.normalized",
        "not centred",
        lambda f: (
            lambda self: (
                Affine(self, f(self).scale, 0.0)
                if isinstance(f(self), Affine)
                else f(self)
            )
        ),
        ("dc/eq1",),
        slow=True,
    ),
    Mutation(
        "activations.Activation.dual", "twice", times(2.0), ("dc/tab1",), slow=True
    ),
    Mutation(
        "activations.Activation.dual",
        "sign of rho",
        argument(rho=lambda v: -np.asarray(v)),
        ("dc/tab1",),
        slow=True,
    ),
    Mutation(
        "activations.Activation.dual",
        "standard deviations for variances",
        argument(var_x=root, var_y=root),
        ("dc/thm3.11-wide-networks",),
        slow=True,
    ),
    Mutation(
        "activations.Activation.dual_derivative",
        "half",
        times(0.5),
        ("dc/C.4",),
        slow=True,
    ),
    Mutation(
        "activations.Activation.dual_derivative",
        "sign of rho",
        argument(rho=lambda v: -np.asarray(v)),
        ("dc/lemC.28-below",),
        slow=True,
    ),
    Mutation(
        "activations.Activation.distance_map",
        "twice",
        times(2.0),
        ("dc/thmH.1-two-points",),
        slow=True,
    ),
    Mutation(
        "activations.Activation.fixed_point",
        "largest instead of smallest",
        result(lambda v: 1.0),
        ("dc/lemC.28-above",),
        slow=True,
    ),
    Mutation(
        "activations.Activation.fixed_point",
        "root",
        result(root),
        ("dc/lemC.28-above",),
        slow=True,
    ),
    Mutation(
        "activations.Activation.length_map",
        "root of q",
        argument(q=root),
        ("dc/thmD.1",),
        slow=True,
    ),
    Mutation(
        "activations.Activation.length_map",
        "twice",
        times(2.0),
        ("dc/thmD.1",),
        slow=True,
    ),
    Mutation(
        "activations.Activation.length_map_derivative",
        "twice",
        times(2.0),
        ("dc/lemD.3",),
        slow=True,
    ),
    Mutation(
        "activations.Activation.length_map_derivative",
        "sign",
        times(-1.0),
        ("dc/thmD.1-above-one",),
        slow=True,
    ),
    Mutation(
        "activations.pair",
        "first with itself",
        lambda f: lambda a, b: f(a, a),
        ("dc/defC.1-cubic",),
        slow=True,
    ),
    Mutation(
        "activations.Affine.derivative",
        "twice",
        multiple(2.0),
        ("dc/lemD.3",),
        slow=True,
    ),
    Mutation(
        "activations.Affine.derivative_second_moment",
        "scale not squared",
        lambda f: lambda self: f(self) / abs(self.scale),
        ("dc/eq7-diagonal",),
        slow=True,
    ),
    Mutation(
        "activations.relu",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="relu",
    ),
    Mutation(
        "activations.absolute",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="abs",
    ),
    Mutation(
        "activations.step",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="step",
    ),
    Mutation(
        "activations.sign",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/defC.1",),
        first="sign",
        slow=True,
    ),
    Mutation(
        "activations.identity",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/defC.1",),
        first="identity",
    ),
    Mutation(
        "activations.hard_tanh",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="hard_tanh",
    ),
    Mutation(
        "activations.hard_tanh",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("dc/tab2",),
        first="hard_tanh",
    ),
    Mutation(
        "activations.relu_squared",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="relu_squared",
    ),
    Mutation(
        "activations.erf",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="erf",
    ),
    Mutation(
        "activations.erf",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("dc/tab2",),
        first="erf",
    ),
    Mutation(
        "activations.tanh",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="tanh",
    ),
    Mutation(
        "activations.tanh",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("dc/tab2",),
        first="tanh",
    ),
    Mutation(
        "activations.sigmoid",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="sigmoid",
    ),
    Mutation(
        "activations.sigmoid",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("dc/tab2",),
        first="sigmoid",
    ),
    Mutation(
        "activations.gelu",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="gelu",
    ),
    Mutation(
        "activations.gelu",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("dc/tab2",),
        first="gelu",
    ),
    Mutation(
        "activations.silu",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="silu",
    ),
    Mutation(
        "activations.silu",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("dc/tab2",),
        first="silu",
    ),
    Mutation(
        "activations.softplus",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="softplus",
    ),
    Mutation(
        "activations.softplus",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("dc/tab2",),
        first="softplus",
    ),
    Mutation(
        "activations.exp",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="exp",
    ),
    Mutation(
        "activations.exp",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("dc/tab2",),
        first="exp",
    ),
    Mutation(
        "activations.sin",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="sin",
    ),
    Mutation(
        "activations.sin",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("dc/tab2",),
        first="sin",
    ),
    Mutation(
        "activations.cos",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="cos",
    ),
    Mutation(
        "activations.cos",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("dc/tab2",),
        first="cos",
    ),
    Mutation(
        "activations.arctan",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="arctan",
    ),
    Mutation(
        "activations.arctan",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("dc/tab2",),
        first="arctan",
    ),
    Mutation(
        "activations.asinh",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="asinh",
    ),
    Mutation(
        "activations.asinh",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("dc/tab2",),
        first="asinh",
    ),
    Mutation(
        "activations.gaussian_bump",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="gaussian",
    ),
    Mutation(
        "activations.gaussian_bump",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("dc/tab2",),
        first="gaussian",
    ),
    Mutation(
        "activations.mish",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="mish",
    ),
    Mutation(
        "activations.mish",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("dc/tab2",),
        first="mish",
    ),
    Mutation(
        "activations.selu",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="selu",
    ),
    Mutation(
        "activations.selu",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("dc/tab2",),
        first="selu",
    ),
    Mutation(
        "activations.softsign",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="softsign",
        slow=True,
    ),
    Mutation(
        "activations.softsign",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("dc/tab2",),
        first="softsign",
        slow=True,
    ),
    Mutation(
        "activations.relu6",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="relu6",
        slow=True,
    ),
    Mutation(
        "activations.relu6",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("dc/tab2",),
        first="relu6",
        slow=True,
    ),
    Mutation(
        "activations.hard_sigmoid",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="hard_sigmoid",
        slow=True,
    ),
    Mutation(
        "activations.hard_sigmoid",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("dc/tab2",),
        first="hard_sigmoid",
        slow=True,
    ),
    Mutation(
        "activations.hard_swish",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="hard_swish",
        slow=True,
    ),
    Mutation(
        "activations.hard_swish",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("dc/tab2",),
        first="hard_swish",
        slow=True,
    ),
    Mutation(
        "activations.quick_gelu",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="quick_gelu",
        slow=True,
    ),
    Mutation(
        "activations.quick_gelu",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("dc/tab2",),
        first="quick_gelu",
        slow=True,
    ),
    Mutation(
        "activations.log_cosh",
        "half",
        lambda a: Affine(a, 0.5, 0.0),
        ("dc/tab2",),
        first="log_cosh",
        slow=True,
    ),
    Mutation(
        "activations.log_cosh",
        "of half the argument",
        lambda a: a.scaled(0.25),
        ("dc/tab2",),
        first="log_cosh",
        slow=True,
    ),
    Mutation(
        "activations.sample",
        "weights twice",
        field("w", twice),
        ("dc/tab2",),
        first="sigmoid",
        slow=True,
    ),
    Mutation(
        "activations.Samples.mean",
        "twice",
        times(2.0),
        ("dc/tab2",),
        first="sigmoid",
        slow=True,
    ),
    Mutation(
        "activations.Samples.linear",
        "twice",
        times(2.0),
        ("dc/tab2-coefficients",),
        first="tanh",
        slow=True,
    ),
    Mutation(
        "activations.Samples.second_moment",
        "twice",
        times(2.0),
        ("dc/tab2",),
        first="sigmoid",
        slow=True,
    ),
    Mutation(
        "activations.Samples.variance",
        "twice",
        times(2.0),
        ("dc/tab2",),
        first="sigmoid",
        slow=True,
    ),
    Mutation(
        "activations.Samples.rest",
        "twice",
        times(2.0),
        ("dc/tab2",),
        first="sigmoid",
        slow=True,
    ),
    Mutation(
        "activations.length_slope",
        "twice",
        times(2.0),
        ("dc/lemD.3",),
        slow=True,
    ),
    Mutation(
        "duals.ArcCosine.dual",
        "twice",
        times(2.0),
        ("dc/tab1",),
        slow=True,
    ),
    Mutation(
        "duals.ArcCosine.covariance",
        "twice",
        times(2.0),
        ("dc/eq1",),
        slow=True,
    ),
    Mutation(
        "duals.ArcCosine.slope",
        "twice",
        times(2.0),
        ("dc/eq1",),
        slow=True,
    ),
    Mutation(
        "duals.ArcCosine.distance",
        "twice",
        times(2.0),
        ("dc/thmH.1-two-points",),
        slow=True,
    ),
    Mutation(
        "duals.ArcCosine.opposite",
        "twice",
        times(2.0),
        ("dc/eq1-raw",),
        slow=True,
    ),
    Mutation(
        "duals.ArcCosine.build",
        "a jump twice",
        argument(a=lambda row: (row[0], 2.0 * row[1])),
        ("dc/tab1",),
        slow=True,
    ),
    Mutation(
        "activations.leaky_relu",
        "slope squared",
        argument(slope=lambda v: v * v),
        ("dc/tab2",),
        first="leaky_relu(0.1)",
        slow=True,
    ),
    Mutation(
        "activations.leaky_relu",
        "sign of slope",
        argument(slope=lambda v: -v),
        ("dc/tab2",),
        first="leaky_relu(0.1)",
        slow=True,
    ),
    Mutation(
        "activations.hermite",
        "order too high",
        argument(k=more),
        ("dc/defC.1",),
        first="hermite(5)",
        slow=True,
    ),
    Mutation(
        "activations.elu",
        "alpha doubled",
        argument(alpha=twice),
        ("dc/tab2",),
        first="elu",
        slow=True,
    ),
    Mutation(
        "activations.exponential",
        "variance squared",
        argument(q=lambda v: v * v / 4.0),
        ("dc/tab2-coefficients",),
        first="exp",
        slow=True,
    ),
    Mutation(
        "activations.exponential",
        "twice",
        times(2.0),
        ("dc/tab2-coefficients",),
        first="exp",
        slow=True,
    ),
    Mutation(
        "activations.sine",
        "variance squared",
        argument(q=lambda v: v * v / 4.0),
        ("dc/tab2-coefficients",),
        first="sin",
        slow=True,
    ),
    Mutation(
        "activations.sine",
        "twice",
        times(2.0),
        ("dc/tab2-coefficients",),
        first="sin",
        slow=True,
    ),
    Mutation(
        "activations.cosine",
        "variance squared",
        argument(q=lambda v: v * v / 4.0),
        ("dc/tab2-coefficients",),
        first="cos",
        slow=True,
    ),
    Mutation(
        "activations.cosine",
        "twice",
        times(2.0),
        ("dc/tab2-coefficients",),
        first="cos",
        slow=True,
    ),
    Mutation(
        "activations.bump",
        "variance squared",
        argument(q=lambda v: v * v / 4.0),
        ("dc/tab2-coefficients",),
        first="gaussian",
        slow=True,
    ),
    Mutation(
        "activations.bump",
        "twice",
        times(2.0),
        ("dc/tab2-coefficients",),
        first="gaussian",
        slow=True,
    ),
    Mutation(
        "activations.error_function",
        "variance squared",
        argument(q=lambda v: v * v / 4.0),
        ("dc/tab2-coefficients",),
        first="erf",
        slow=True,
    ),
    Mutation(
        "activations.error_function",
        "twice",
        times(2.0),
        ("dc/tab2-coefficients",),
        first="erf",
        slow=True,
    ),
    Mutation(
        "activations.gaussian_linear",
        "variance squared",
        argument(q=lambda v: v * v / 4.0),
        ("dc/tab2-coefficients",),
        first="gelu",
        slow=True,
    ),
    Mutation(
        "activations.gaussian_linear",
        "twice",
        times(2.0),
        ("dc/tab2-coefficients",),
        first="gelu",
        slow=True,
    ),
    Mutation(
        "activations.FromFunction.derivative",
        "twice",
        multiple(2.0),
        ("dc/defC.1-callable",),
        slow=True,
    ),
    Mutation(
        "activations.FromFunction.mean",
        "twice",
        times(2.0),
        ("dc/defC.1-callable",),
        slow=True,
    ),
    Mutation(
        "activations.FromFunction.second_moment",
        "twice",
        times(2.0),
        ("dc/defC.1-callable",),
        slow=True,
    ),
    Mutation(
        "activations.FromFunction.variance",
        "its root",
        result(root),
        ("dc/def3.1",),
        slow=True,
    ),
    Mutation(
        "activations.Differentiated.__call__",
        "sign",
        times(-1.0),
        ("dc/defC.1-callable",),
        slow=True,
    ),
    Mutation(
        "activations.from_function",
        "half",
        multiple(0.5),
        ("dc/defC.1-callable",),
        slow=True,
    ),
    Mutation(
        "activations.ExponentialUnit.derivative",
        "twice",
        multiple(2.0),
        ("dc/lemD.3",),
        slow=True,
    ),
    Mutation(
        "activations.normrelu_constants",
        "scale squared",
        field("scale", lambda v: v * v),
        ("dc/E12-diverges",),
        slow=True,
    ),
    Mutation(
        "activations.normrelu_constants",
        "sign of shift",
        field("shift", lambda v: -v),
        ("dc/fact1-monotone",),
        slow=True,
    ),
    Mutation(
        "activations.normrelu_constants",
        "half of mu",
        field("mu", half),
        ("dc/eq4",),
        slow=True,
    ),
    Mutation(
        "activations.normrelu_constants",
        "root of slope",
        field("slope", root),
        ("dc/eq4",),
        slow=True,
    ),
    Mutation(
        "activations.normrelu",
        "sign of kink",
        argument(c=lambda v: v if v is None else -v),
        ("dc/def3.1",),
        slow=True,
    ),
    Mutation(
        "activations.normrelu",
        "scale",
        argument(scale=lambda v: v if v is None else v * v),
        ("dc/eq4-kink",),
        slow=True,
    ),
    Mutation(
        "activations.PiecewisePolynomial.derivative",
        "twice",
        multiple(2.0),
        ("dc/eq7-diagonal",),
        slow=True,
    ),
    Mutation(
        "activations.PiecewisePolynomial.variance",
        "twice",
        times(2.0),
        ("dc/tab1",),
        slow=True,
    ),
    Mutation(
        "activations.PiecewisePolynomial.second_moment",
        "twice",
        times(2.0),
        ("dc/tab1",),
        slow=True,
    ),
    Mutation(
        "activations.Smooth.derivative",
        "twice",
        multiple(2.0),
        ("dc/lemD.3",),
        slow=True,
    ),
    Mutation(
        "activations.Smooth.second_moment", "twice", times(2.0), ("dc/tab1",), slow=True
    ),
    Mutation(
        "activations.Smooth.variance", "twice", times(2.0), ("dc/tab1",), slow=True
    ),
    Mutation(
        "activations.HermiteMixture.derivative",
        "twice",
        multiple(2.0),
        ("dc/eq7-diagonal",),
        slow=True,
    ),
    Mutation(
        "activations.HermiteMixture.second_moment",
        "twice",
        times(2.0),
        ("dc/tab1",),
        slow=True,
    ),
    Mutation(
        "activations.HermiteMixture.variance",
        "twice",
        times(2.0),
        ("dc/tab1",),
        slow=True,
    ),
    Mutation(
        "activations.Smooth.derivative_second_moment",
        "twice",
        times(2.0),
        ("dc/eq7-diagonal",),
        slow=True,
    ),
    Mutation(
        "conditioning.one_layer_bound",
        "twice the rate",
        argument(mu=lambda v: min(2.0 * v, 1.0)),
        ("dc/lemC.5",),
    ),
    Mutation(
        "conditioning.one_layer_bound",
        "sign of mu",
        lambda f: (
            lambda delta, mu, **k: 2.0 * (1.0 - np.asarray(delta)) - f(delta, mu, **k)
        ),
        ("dc/lemC.5-values",),
    ),
    Mutation("conditioning.burn_in_depth", "one less", plus(-1), ("dc/B",)),
    Mutation(
        "conditioning.burn_in_depth",
        "mu for mu/2",
        argument(mu=lambda v: np.minimum(2.0 * np.asarray(v), 1.0)),
        ("dc/B",),
    ),
    Mutation(
        "conditioning.correlation_bound",
        "a layer more",
        argument(depth=more),
        ("dc/B-values",),
    ),
    Mutation(
        "conditioning.correlation_bound",
        "twice the rate",
        argument(mu=lambda v: np.minimum(2.0 * np.asarray(v), 1.0)),
        ("dc/E4-corrected",),
    ),
    Mutation(
        "conditioning.correlation_envelope",
        "a layer more",
        argument(depth=more),
        ("dc/thm3.2-sharp",),
    ),
    Mutation(
        "conditioning.correlation_envelope",
        "half of mu",
        argument(mu=half),
        ("dc/thm3.2-sharp",),
    ),
    Mutation(
        "conditioning.derivative_bound",
        "half of mu",
        argument(mu=half),
        ("dc/lemC.14-values",),
    ),
    Mutation(
        "conditioning.derivative_bound",
        "twice the rate",
        argument(mu=lambda v: np.minimum(2.0 * np.asarray(v), 1.0)),
        ("dc/lemC.14-sharp",),
    ),
    Mutation(
        "conditioning.ntk_diagonal",
        "a layer less",
        argument(depth=less),
        ("dc/eq7-diagonal",),
    ),
    Mutation(
        "conditioning.ntk_diagonal",
        "root of slope",
        argument(slope=root),
        ("dc/eq7-diagonal",),
    ),
    Mutation(
        "conditioning.ntk_ratio_bound", "half", times(0.5), ("dc/thm3.4-maximum",)
    ),
    Mutation(
        "conditioning.ntk_ratio_bound",
        "5 % more of mu",
        argument(mu=lambda v: np.minimum(1.05 * np.asarray(v), 1.0)),
        ("dc/thm3.4-attained",),
    ),
    Mutation(
        "conditioning.ntk_ratio_bound",
        "sharp squared",
        lambda f: (
            lambda *a, form="printed": f(*a, form=form) ** (1 + (form == "sharp"))
        ),
        ("dc/thm3.4-envelope",),
    ),
    Mutation(
        "conditioning.ntk_ratio_bound",
        "twice the rate",
        argument(mu=lambda v: np.minimum(2.0 * np.asarray(v), 1.0)),
        ("dc/thm3.4-values",),
    ),
    Mutation(
        "conditioning.nngp_min_eigenvalue_bound",
        "a layer more",
        argument(depth=more),
        ("dc/thm3.6",),
    ),
    Mutation(
        "conditioning.nngp_min_eigenvalue_bound",
        "twice the rate",
        argument(mu=lambda v: np.minimum(2.0 * np.asarray(v), 1.0)),
        ("dc/thm3.6",),
    ),
    Mutation(
        "conditioning.ntk_min_eigenvalue_bound",
        "twice",
        times(2.0),
        ("dc/thm3.8",),
    ),
    Mutation(
        "conditioning.ntk_min_eigenvalue_bound",
        "twice the rate",
        argument(mu=lambda v: np.minimum(2.0 * np.asarray(v), 1.0)),
        ("dc/thm3.4-values",),
    ),
    Mutation(
        "conditioning.nngp_condition_bound",
        "factor 2 left out",
        result(lambda v: 1.0 + (v - 1.0) / 2.0),
        ("dc/cor3.7",),
    ),
    Mutation(
        "conditioning.nngp_condition_bound",
        "excess 1 % less",
        result(lambda v: 1.0 + 0.99 * (v - 1.0)),
        ("dc/cor3.7-attained",),
    ),
    Mutation(
        "conditioning.nngp_condition_bound",
        "ten layers more",
        argument(depth=lambda v: v + 10),
        ("dc/cor3.3-worst",),
    ),
    Mutation(
        "conditioning.depth_for_condition_number",
        "one less",
        plus(-1),
        ("dc/cor3.3-depth",),
    ),
    Mutation(
        "conditioning.depth_for_condition_number",
        "one more",
        plus(1),
        ("dc/cor3.3-depth",),
    ),
    Mutation(
        "conditioning.ntk_condition_bound",
        "excess over three",
        result(lambda v: 1.0 + (v - 1.0) / 3.0),
        ("dc/cor3.5-sharp-values", "dc/cor3.5-maximum", "dc/cor3.9-maximum"),
    ),
    Mutation(
        "conditioning.ntk_condition_bound",
        "L for L/2",
        argument(depth=twice),
        ("dc/cor3.5-values",),
    ),
    Mutation(
        "conditioning.ntk_threshold_depth",
        "half",
        result(lambda v: -(-v // 2)),
        ("dc/cor3.5-values",),
    ),
    Mutation(
        "conditioning.ntk_threshold_depth",
        "one less",
        plus(-1),
        ("dc/cor3.5-values",),
    ),
    Mutation(
        "conditioning.eigenvalue_transfer",
        "sign",
        times(-1.0),
        ("dc/lemC.8-attained",),
    ),
    Mutation(
        "conditioning.eigenvalue_transfer",
        "twice",
        times(2.0),
        ("dc/lemC.8",),
    ),
    Mutation(
        "conditioning.eigenvalue_transfer",
        "sum",
        argument(value_at_rest=lambda v: -v),
        ("dc/lemC.8",),
    ),
    Mutation(
        "conditioning.fixed_point_convergence",
        "root of point",
        field("point", root),
        ("dc/thm3.10-constants",),
    ),
    Mutation(
        "conditioning.fixed_point_convergence",
        "half of slope",
        field("slope", half),
        ("dc/thm3.10-constants",),
    ),
    Mutation(
        "conditioning.fixed_point_convergence",
        "rate squared",
        field("rate", lambda v: v * v),
        ("dc/thm3.10",),
        slow=True,
    ),
    Mutation(
        "conditioning.fixed_point_convergence",
        "no wait",
        field("start", lambda v: 0),
        ("dc/thm3.10",),
    ),
    Mutation(
        "conditioning.unit_slope_bound",
        "nu twice",
        argument(nu=lambda v: min(2.0 * v, 1.0)),
        ("dc/lemC.32",),
        slow=True,
    ),
    Mutation(
        "conditioning.unit_slope_bound",
        "square",
        result(lambda v: v * v),
        ("dc/lemC.32",),
    ),
    Mutation(
        "grids.Grid.cells",
        "half",
        result(lambda v: v // 2),
        ("dc/eq1-matrices",),
    ),
    Mutation(
        "grids.Grid.locate",
        "sign of coordinate",
        result(lambda v: (v[0], -v[1])),
        ("dc/eq1-matrices",),
        slow=True,
    ),
    Mutation("grids.Grid.widths", "half", times(0.5), ("dc/eq1-matrices",)),
    Mutation("grids.Grid.nodes", "twice", times(2.0), ("dc/eq1",), slow=True),
    Mutation("grids.Grid.fit", "twice", times(2.0), ("dc/eq1",), slow=True),
    Mutation("grids.Grid.taylor", "twice", times(2.0), ("dc/eq1-matrices",)),
    Mutation(
        "depth_maps.DepthMap.of_layer",
        "parity",
        field("parity", lambda v: 1 if v == 0 else v),
        ("dc/eq1",),
        slow=True,
    ),
    Mutation(
        "depth_maps.DepthMap.of_layer",
        "twice the slopes",
        field("growth", lambda v: v + 0.6931471805599453),
        ("dc/eq1",),
        slow=True,
    ),
    Mutation(
        "depth_maps.DepthMap.power",
        "a layer more",
        argument(count=more),
        ("dc/eq1",),
        slow=True,
    ),
    Mutation(
        "depth_maps.DepthMap.of_layers",
        "last layer lost",
        argument(steps=lambda v: v[:-1] if len(v) > 1 else v),
        ("dc/eq1-raw",),
        slow=True,
    ),
    Mutation(
        "depth_maps.DepthMap.__call__",
        "half the kernel",
        part(0, 0.5),
        ("dc/eq7-no-linear-part",),
        slow=True,
    ),
    Mutation(
        "depth_maps.DepthMap.__call__",
        "half the tangent kernel",
        part(1, 0.5),
        ("dc/eq7-no-linear-part",),
        slow=True,
    ),
    Mutation(
        "depth_maps.DepthMap.tabulated",
        "sign of rho",
        argument(rho=lambda v: -v),
        ("dc/eq1-matrices",),
    ),
    Mutation("grids.clenshaw", "half", times(0.5), ("dc/eq1-matrices",)),
    Mutation("depth_maps.DepthMap.read", "half f", part(0, 0.5), ("dc/eq1-matrices",)),
    Mutation(
        "depth_maps.DepthMap.then",
        "a layer less",
        lambda f: lambda first, later: later,
        ("dc/eq1",),
        slow=True,
    ),
    Mutation(
        "depth_maps.DepthMap.log_diagonal",
        "half",
        times(0.5),
        ("dc/eq7",),
        slow=True,
    ),
    Mutation("depth_maps.DepthMap.close", "half", part(0, 0.5), ("dc/eq1",)),
    Mutation("duals.Series.dual", "twice", times(2.0), ("dc/tab1",), slow=True),
    Mutation("duals.Series.covariance", "twice", times(2.0), ("dc/eq1",), slow=True),
    Mutation("duals.Series.slope", "twice", times(2.0), ("dc/eq1",), slow=True),
    Mutation("duals.Series.distance", "twice", times(2.0), ("dc/eq1",), slow=True),
    Mutation(
        "duals.Series.slope",
        "half the slope at zero",
        lambda f: lambda self, rho, t=None: f(self, rho, t) * (1.0 + rho) / 2.0,
        ("dc/eq1",),
        slow=True,
    ),
    Mutation(
        "duals.Truncated.dual",
        "twice",
        times(2.0),
        ("dc/defC.1",),
        first="hard_tanh",
        slow=True,
    ),
    Mutation(
        "duals.Truncated.covariance",
        "twice",
        times(2.0),
        ("dc/defC.1-distance",),
        first="hard_tanh",
        slow=True,
    ),
    Mutation(
        "duals.Truncated.slope",
        "twice",
        times(2.0),
        ("dc/C.4",),
        first="hard_tanh",
        slow=True,
    ),
    Mutation(
        "duals.Truncated.distance",
        "twice",
        times(2.0),
        ("dc/defC.1-distance",),
        first="hard_tanh",
        slow=True,
    ),
    Mutation(
        "duals.Truncated.slope",
        "half the slope at zero",
        lambda f: lambda self, rho, t=None: f(self, rho, t) * (1.0 + rho) / 2.0,
        ("dc/C.4",),
        first="hard_tanh",
        slow=True,
    ),
    Mutation("duals.Exponential.dual", "twice", times(2.0), ("dc/defC.1",), slow=True),
    Mutation(
        "duals.Exponential.slope",
        "twice",
        times(2.0),
        ("dc/defC.1-derivative",),
        slow=True,
    ),
    Mutation(
        "duals.Exponential.distance",
        "twice",
        times(2.0),
        ("dc/defC.1-distance",),
        slow=True,
    ),
    Mutation(
        "duals.Trigonometric.dual", "twice", times(2.0), ("dc/defC.1",), slow=True
    ),
    Mutation(
        "duals.Trigonometric.slope",
        "twice",
        times(2.0),
        ("dc/defC.1-derivative",),
        slow=True,
    ),
    Mutation(
        "duals.Trigonometric.distance",
        "twice",
        times(2.0),
        ("dc/defC.1-distance",),
        slow=True,
    ),
    Mutation("duals.Bump.dual", "twice", times(2.0), ("dc/defC.1",), slow=True),
    Mutation(
        "duals.Bump.slope", "twice", times(2.0), ("dc/defC.1-derivative",), slow=True
    ),
    Mutation(
        "duals.Bump.distance", "twice", times(2.0), ("dc/defC.1-distance",), slow=True
    ),
    Mutation("duals.Arcsine.dual", "twice", times(2.0), ("dc/C.4",), slow=True),
    Mutation("duals.Arcsine.covariance", "twice", times(2.0), ("dc/eq1",), slow=True),
    Mutation("duals.Arcsine.slope", "twice", times(2.0), ("dc/eq1",), slow=True),
    Mutation("duals.Arcsine.distance", "twice", times(2.0), ("dc/eq1",), slow=True),
    Mutation(
        "duals.Arcsine.slope",
        "half the slope at zero",
        lambda f: lambda self, rho, t=None: f(self, rho, t) * (1.0 + rho) / 2.0,
        ("dc/eq1",),
        slow=True,
    ),
    Mutation("duals.Rescaled.dual", "twice", times(2.0), ("dc/eq1",), slow=True),
    Mutation("duals.Rescaled.covariance", "twice", times(2.0), ("dc/eq1",), slow=True),
    Mutation("duals.Rescaled.slope", "twice", times(2.0), ("dc/eq1",), slow=True),
    Mutation("duals.Rescaled.distance", "twice", times(2.0), ("dc/eq1",), slow=True),
    Mutation(
        "duals.Rescaled.slope",
        "half the slope at zero",
        lambda f: lambda self, rho, t=None: f(self, rho, t) * (1.0 + rho) / 2.0,
        ("dc/eq1",),
        slow=True,
    ),
    Mutation("duals.Tabulated.dual", "twice", times(2.0), ("dc/C.4",), slow=True),
    Mutation("duals.Tabulated.covariance", "twice", times(2.0), ("dc/C.4",), slow=True),
    Mutation("duals.Tabulated.slope", "twice", times(2.0), ("dc/C.4",), slow=True),
    Mutation(
        "duals.Tabulated.distance",
        "twice",
        times(2.0),
        ("dc/defC.1-callable",),
        slow=True,
    ),
    Mutation(
        "duals.Tabulated.slope",
        "half the slope at zero",
        lambda f: lambda self, rho, t=None: f(self, rho, t) * (1.0 + rho) / 2.0,
        ("dc/C.4",),
        slow=True,
    ),
    Mutation(
        "duals.Truncated.remainder", "twice", times(2.0), ("dc/lemC.5",), slow=True
    ),
    Mutation(
        "duals.Tabulated.build",
        "mean twice",
        argument(mean=twice),
        ("dc/defC.1-callable",),
        slow=True,
    ),
    Mutation("matrices.Inputs.panel", "half", times(0.5), ("dc/eq1-matrices",)),
    Mutation("matrices.Inputs.distances", "half", part(1, 0.5), ("dc/asmA",)),
    Mutation("matrices.least_distance", "half", times(0.5), ("dc/asmA",)),
    Mutation("matrices.fill", "half", times(0.5), ("dc/eq1-matrices",), slow=True),
    Mutation(
        "gaussian.pdf",
        "variance twice",
        argument(x=lambda v: np.asarray(v) / 2.0**0.5),
        ("dc/tab1",),
        slow=True,
    ),
    Mutation(
        "gaussian.pdf",
        "2 pi for its root",
        times(0.3989422804014327),
        ("dc/tab1",),
        slow=True,
    ),
    Mutation(
        "gaussian.cdf",
        "sign",
        argument(x=lambda v: -np.asarray(v)),
        ("dc/I.len-slope",),
        slow=True,
    ),
    Mutation(
        "gaussian.legendre",
        "a weight twice",
        part(1, 2.0),
        ("dc/thmH.1-two-points",),
        slow=True,
    ),
    Mutation(
        "gaussian.scaled_tail_moment",
        "order too high",
        argument(k=more),
        ("dc/eq21",),
        slow=True,
    ),
    Mutation(
        "gaussian.scaled_tail_moment",
        "twice",
        times(2.0),
        ("dc/fact1-monotone",),
        slow=True,
    ),
    Mutation(
        "gaussian.tail_moment",
        "sign of kink",
        argument(c=lambda v: -v),
        ("dc/I.len",),
        slow=True,
    ),
    Mutation("gaussian.panels", "weights twice", part(1, 2.0), ("dc/tab1",), slow=True),
    Mutation("gaussian.rule", "weights twice", part(1, 2.0), ("dc/tab1",), slow=True),
    Mutation(
        "gaussian.composite", "weights twice", part(1, 2.0), ("dc/tab1",), slow=True
    ),
    Mutation("gaussian.tail_terms", "twice", times(2.0), ("dc/tab1",), slow=True),
    Mutation("hermite.expansion", "twice", times(2.0), ("dc/C.4",), slow=True),
    Mutation(
        "hermite.hermite",
        "physicists argument",
        argument(x=lambda v: np.asarray(v) * 2.0**0.5),
        ("dc/defC.1-polynomials",),
        slow=True,
    ),
    Mutation(
        "hermite.hermite",
        "order too high",
        argument(k=more),
        ("dc/defC.1-polynomials",),
        slow=True,
    ),
    Mutation(
        "hermite.hermite", "sign", times(-1.0), ("dc/defC.1-polynomials",), slow=True
    ),
    Mutation("hermite.weighted_at", "twice", times(2.0), ("dc/tab1",), slow=True),
    Mutation(
        "hermite.weighted_at",
        "sign of argument",
        argument(points=lambda v: tuple(-x for x in v)),
        ("dc/eq2",),
        slow=True,
    ),
    Mutation(
        "hermite.weighted_basis", "twice", part(1, 2.0), ("dc/eq7-matrix",), slow=True
    ),
    Mutation(
        "hermite.coefficients", "twice", times(2.0), ("dc/lemC.28-negative",), slow=True
    ),
    Mutation(
        "hermite.precise_coefficients", "twice", times(2.0), ("dc/eq15",), slow=True
    ),
    Mutation(
        "hermite.precise_coefficients",
        "sign of odd ones",
        lambda f: (
            lambda g, order, digits: (
                f(g, order, digits) * (-1.0) ** np.arange(order + 1)
            )
        ),
        ("dc/eq15",),
        slow=True,
    ),
    Mutation(
        "kernels.correlation",
        "square",
        result(lambda v: v * v),
        ("dc/eq1-matrices",),
        slow=True,
    ),
    Mutation(
        "kernels.correlation", "half", times(0.5), ("dc/eq1-matrices",), slow=True
    ),
    Mutation(
        "kernels.separation",
        "1 - rho^2",
        result(lambda v: v * (2.0 - v)),
        ("dc/asmA",),
    ),
    Mutation("kernels.separation", "half", times(0.5), ("dc/asmA",)),
    Mutation(
        "kernels.separation",
        "its complement",
        result(lambda v: 1.0 - v),
        ("dc/delta-sample",),
    ),
    Mutation(
        "kernel_maps.nngp_map",
        "a layer more",
        argument(depth=more),
        ("dc/eq7-no-linear-part",),
        slow=True,
    ),
    Mutation(
        "kernel_maps.nngp_map",
        "a layer less",
        argument(depth=less),
        ("dc/eq7-no-linear-part",),
        slow=True,
    ),
    Mutation(
        "kernel_maps.nngp_map",
        "half",
        times(0.5),
        ("dc/eq7-no-linear-part",),
        slow=True,
    ),
    Mutation(
        "kernel_maps.ntk_map",
        "a layer more",
        argument(depth=more),
        ("dc/eq7-no-linear-part",),
        slow=True,
    ),
    Mutation(
        "kernel_maps.ntk_map",
        "a layer less",
        argument(depth=less),
        ("dc/eq7-no-linear-part",),
        slow=True,
    ),
    Mutation(
        "kernel_maps.ntk_map", "half", times(0.5), ("dc/eq7-no-linear-part",), slow=True
    ),
    Mutation(
        "kernels.nngp", "a layer more", argument(depth=more), ("dc/eq1",), slow=True
    ),
    Mutation(
        "kernels.nngp",
        "a layer less",
        argument(depth=less),
        ("dc/eq1-matrices",),
        slow=True,
    ),
    Mutation("kernels.nngp", "half", times(0.5), ("dc/eq1",), slow=True),
    Mutation(
        "kernels.ntk", "a layer more", argument(depth=more), ("dc/eq1",), slow=True
    ),
    Mutation(
        "kernels.ntk",
        "a layer less",
        argument(depth=less),
        ("dc/eq1-matrices",),
        slow=True,
    ),
    Mutation("kernels.ntk", "half", times(0.5), ("dc/eq1",), slow=True),
    Mutation(
        "kernels.nngp_ntk", "a layer more", argument(depth=more), ("dc/eq1",), slow=True
    ),
    Mutation(
        "kernels.nngp_ntk",
        "a layer less",
        argument(depth=less),
        ("dc/eq7-matrix",),
        slow=True,
    ),
    Mutation("kernels.nngp_ntk", "half", times(0.5), ("dc/eq1",), slow=True),
    Mutation("lengths.chord_rate", "half", times(0.5), ("dc/thmD.1",)),
    Mutation(
        "lengths.chord_rate",
        "its complement",
        result(lambda v: 1.0 - v),
        ("dc/thmD.1",),
    ),
    Mutation(
        "lengths.length_trajectory",
        "a layer on",
        lambda f: lambda a, gamma, depth: f(a, gamma, depth + 1)[1:],
        ("dc/D.0", "dc/E12-lengths", "dc/thm3.11-wide-networks"),
    ),
    Mutation(
        "lengths.length_trajectory",
        "root",
        result(root),
        ("dc/thm3.11-wide-networks",),
        slow=True,
    ),
    Mutation(
        "lengths.joint_trajectory",
        "lengths of the other",
        lambda f: (
            lambda a, x, y, rho, depth: (
                *f(a, y, x, rho, depth)[:2],
                f(a, x, y, rho, depth)[2],
            )
        ),
        ("dc/D.0",),
    ),
    Mutation(
        "lengths.joint_trajectory",
        "half the correlation",
        part(2, 0.5),
        ("dc/D.0",),
    ),
    Mutation(
        "lengths.joint_trajectory",
        "a layer on",
        lambda f: (
            lambda a, x, y, rho, depth: tuple(v[1:] for v in f(a, x, y, rho, depth + 1))
        ),
        ("dc/D.0",),
    ),
    Mutation("lengths.generalised_mu", "half", times(0.5), ("dc/lemD.6-mu",)),
    Mutation(
        "lengths.generalised_mu",
        "complement",
        result(lambda v: 1.0 - v),
        ("dc/lemD.6",),
        slow=True,
    ),
    Mutation(
        "lengths.generalised_mu",
        "variance squared",
        argument(gamma=lambda v: v * v),
        ("dc/lemD.6-mu",),
    ),
    Mutation("lengths.rest_share", "twice", times(2.0), ("dc/thmI.1-rest",)),
    Mutation(
        "lengths.rest_share",
        "complement",
        result(lambda v: 1.0 - v),
        ("dc/thmI.1-rest",),
    ),
    Mutation(
        "lengths.odd_correlation_bound",
        "twice the rate",
        argument(mu_x=twice, mu_y=twice),
        ("dc/lemD.6",),
        slow=True,
    ),
    Mutation(
        "lengths.odd_correlation_bound",
        "without the root",
        result(lambda v: v * v),
        ("dc/lemD.6",),
        slow=True,
    ),
    Mutation(
        "lengths.settling_depth",
        "none",
        result(lambda v: 0),
        ("dc/thm3.11-lengths",),
        slow=True,
    ),
    Mutation(
        "lengths.settling_depth",
        "one less",
        result(lambda v: max(v - 1, 0)),
        ("dc/thm3.11-lengths",),
        slow=True,
    ),
    Mutation(
        "lengths.settling_depth",
        "half",
        result(half),
        ("dc/thm3.11-values",),
    ),
    Mutation(
        "lengths.correlation_bound_any_length",
        "rate mu",
        lambda f: lambda a, x, y, delta, depth: f(a, x, y, delta, depth) ** 2,
        ("dc/thm3.11-values",),
        slow=True,
    ),
    Mutation(
        "lengths.correlation_bound_any_length",
        "no settling",
        lambda f: lambda a, x, y, delta, depth: f(a, 1.0, 1.0, delta, depth),
        ("dc/thm3.11-values",),
    ),
    Mutation(
        "lengths.normrelu_length", "twice", times(2.0), ("dc/fact1-beta",), slow=True
    ),
    Mutation(
        "lengths.normrelu_length",
        "sign of kink",
        argument(c=lambda v: -v),
        ("dc/eq28",),
    ),
    Mutation(
        "lengths.normrelu_length_slope",
        "twice",
        times(2.0),
        ("dc/fact1-monotone",),
    ),
    Mutation(
        "lengths.normrelu_length_slope",
        "sign of kink",
        argument(c=lambda v: -v),
        ("dc/fact1-monotone",),
    ),
    Mutation("lengths.normrelu_bias", "root", result(root), ("dc/eq28",), slow=True),
    Mutation(
        "lengths.normrelu_bias", "half", times(0.5), ("dc/fact1-beta",), slow=True
    ),
    Mutation(
        "lengths.NormReLUDecay.bound",
        "a layer more",
        argument(depth=more),
        ("dc/thmI.1-bound",),
    ),
    Mutation(
        "lengths.NormReLUDecay.bound", "half", times(0.5), ("dc/thmI.1",), slow=True
    ),
    Mutation(
        "lengths.normrelu_decay",
        "half of alpha",
        field("alpha", half),
        ("dc/eq28",),
    ),
    Mutation(
        "lengths.normrelu_decay",
        "half of beta",
        field("beta", half),
        ("dc/fact1-beta",),
        slow=True,
    ),
    Mutation(
        "lengths.normrelu_decay",
        "rate squared",
        field("rate", lambda v: v * v),
        ("dc/thmI.1-constants",),
        slow=True,
    ),
    Mutation("lengths.unstable_length", "root", result(root), ("dc/E12-unstable",)),
    Mutation("lengths.unstable_length", "twice", times(2.0), ("dc/E12-unstable",)),
    Mutation(
        "optimization.gradient_descent_bound",
        "rate twice",
        result(lambda v: v * v),
        ("dc/thmE.8",),
    ),
    Mutation(
        "optimization.gradient_descent_bound",
        "rate half",
        result(root),
        ("dc/thmE.8-values",),
    ),
    Mutation(
        "optimization.sgd_steps",
        "half",
        result(lambda v: v // 2),
        ("dc/thmE.9-values",),
    ),
    Mutation("optimization.sgd_steps", "twice", times(2), ("dc/thmE.9-values",)),
    Mutation(
        "optimization.sgd_restarts",
        "natural logarithm",
        result(lambda v: int(0.69 * v)),
        ("dc/thmE.9-values",),
    ),
    Mutation(
        "optimization.sgd_restarts",
        "one less",
        plus(-1),
        ("dc/thmE.9-values",),
    ),
    Mutation(
        "optimization.kernel_descent_factor",
        "root",
        result(root),
        ("dc/thmE.5-factor",),
    ),
    Mutation(
        "optimization.kernel_descent_factor",
        "square",
        result(lambda v: v * v),
        ("dc/thmE.5-factor",),
    ),
    Mutation(
        "optimization.correlation_floor",
        "twice",
        times(2.0),
        ("dc/E3-floor",),
    ),
    Mutation(
        "optimization.correlation_floor",
        "half",
        times(0.5),
        ("dc/E3-floor",),
    ),
    Mutation(
        "optimization.query_lower_bound",
        "factor 2 left out",
        result(lambda v: 2.0 * v + 1.0),
        ("dc/thmF.2-values",),
    ),
    Mutation(
        "optimization.query_lower_bound",
        "sign of one",
        plus(2.0),
        ("dc/thmF.2-values",),
    ),
    Mutation(
        "optimization.covariance_norm_bound",
        "half",
        times(0.5),
        ("dc/lemG.1-values",),
    ),
    Mutation(
        "optimization.covariance_norm_bound",
        "inverse",
        result(lambda v: 1.0 / v),
        ("dc/lemG.1-values",),
    ),
    Mutation(
        "optimization.overfitting_depth",
        "half",
        result(lambda v: v // 2),
        ("dc/lemG.1-values",),
    ),
    Mutation(
        "optimization.overfitting_depth",
        "one less",
        plus(-1),
        ("dc/lemG.1-values",),
    ),
    Mutation("optimization.ExcessRisk.total", "half", times(0.5), ("dc/lemG.3",)),
    Mutation(
        "optimization.ExcessRisk.total",
        "sign of noise",
        lambda f: lambda self: self.bias - self.noise,
        ("dc/lemG.3",),
    ),
    Mutation(
        "optimization.excess_risk_terms",
        "half of bias",
        field("bias", half),
        ("dc/lemG.3",),
    ),
    Mutation(
        "optimization.excess_risk_terms",
        "half of noise",
        field("noise", half),
        ("dc/lemG.3",),
    ),
    Mutation(
        "optimization.excess_risk_bound",
        "over hundred",
        times(0.01),
        ("dc/lemG.1-values",),
    ),
    Mutation(
        "optimization.excess_risk_bound",
        "half",
        times(0.5),
        ("dc/lemG.1-values",),
    ),
    Mutation(
        "optimization.one_layer_min_eigenvalue",
        "n^3",
        lambda f: lambda n, delta, **k: n * f(n, delta, **k),
        ("dc/thmH.1-values",),
    ),
    Mutation(
        "optimization.one_layer_min_eigenvalue",
        "twice",
        times(2.0),
        ("dc/thmH.1-values",),
    ),
    Mutation(
        "optimization.arc_min_eigenvalue",
        "half",
        times(0.5),
        ("dc/thmH.1-arc-law",),
        slow=True,
    ),
    Mutation(
        "optimization.arc_min_eigenvalue",
        "delta for its power",
        argument(delta=root),
        ("dc/thmH.1-arc-law",),
        slow=True,
    ),
    Mutation(
        "optimization.separation_event_bound",
        "10 left out",
        times(10.0),
        ("dc/lemH.3",),
    ),
    Mutation(
        "optimization.separation_event_bound",
        "n^2 for n",
        lambda f: lambda n, delta: f(n, delta) / n,
        ("dc/thmH.1-values",),
    ),
)


PHASES: tuple[Mutation, ...] = (
    Mutation("phase.variance_map", "twice", times(2.0), ("dc/D.0-phase-maps",)),
    Mutation(
        "phase.variance_map",
        "biases left out",
        argument(bias_var=lambda v: 0.0 * v),
        ("dc/D.0-phase-maps",),
    ),
    Mutation(
        "phase.correlation_map",
        "biases left out",
        argument(bias_var=lambda v: 0.0 * v),
        ("dc/D.0-phase-maps",),
    ),
    Mutation("phase.correlation_map", "half", times(0.5), ("dc/D.0-phase-maps",)),
    Mutation(
        "phase.correlation_distance_map",
        "biases left out",
        argument(bias_var=lambda v: 0.0 * v),
        ("dc/D.0-phase-maps",),
    ),
    Mutation(
        "phase.correlation_distance_map", "half", times(0.5), ("dc/D.0-phase-maps",)
    ),
    Mutation(
        "phase.fixed_variances",
        "the root of the slope",
        result(lambda v: tuple(dataclasses.replace(p, slope=p.slope**0.5) for p in v)),
        ("dc/D.0-phase-functions",),
        first="tanh",
    ),
    Mutation(
        "phase.fixed_variance",
        "biases left out",
        argument(bias_var=lambda v: 0.0 * v),
        ("dc/D.0-phase-functions",),
    ),
    Mutation("phase.fixed_variance", "twice", times(2.0), ("dc/D.0-phase-functions",)),
    Mutation("phase.chi_1", "root", result(root), ("dc/D.0-phase-functions",)),
    Mutation(
        "phase.chi_1",
        "biases left out",
        argument(bias_var=lambda v: 0.0 * v),
        ("dc/D.0-phase-functions",),
    ),
    Mutation("phase.fixed_distance", "half", times(0.5), ("dc/D.0-phase-functions",)),
    Mutation(
        "phase.fixed_correlation",
        "biases left out",
        argument(bias_var=lambda v: 0.0 * v),
        ("dc/thm3.10-phase-limit",),
    ),
    Mutation(
        "phase.fixed_correlation", "half", times(0.5), ("dc/thm3.10-phase-limit",)
    ),
    Mutation(
        "phase.classify",
        "biases left out",
        argument(bias_var=lambda v: 0.0 * v),
        ("dc/D.0-phase",),
    ),
    *(
        Mutation("phase.classify", f"half of {name}", field(name, half), (claim,))
        for name, claim in (
            ("variance", "dc/D.0-phase"),
            ("chi_q", "dc/D.0-phase"),
            ("chi_1", "dc/D.0-phase"),
            ("distance", "dc/D.0-phase"),
            ("chi_c", "dc/D.0-phase"),
            ("correlation_depth", "dc/thm3.10-phase-rate"),
        )
    ),
    Mutation("phase.edge_of_chaos", "root", result(root), ("dc/D.0-edge",)),
    Mutation(
        "phase.edge_of_chaos",
        "biases left out",
        argument(bias_var=lambda v: 0.0 * v),
        ("dc/D.0-edge",),
    ),
    Mutation(
        "phase.edge_points",
        "half the variance",
        result(
            lambda v: tuple(dataclasses.replace(p, variance=p.variance / 2) for p in v)
        ),
        ("dc/D.0-edge",),
    ),
    Mutation(
        "phase.edge_curve", "weights", field("weight_var", half), ("dc/D.0-edge-curve",)
    ),
    Mutation(
        "phase.edge_curve", "biases", field("bias_var", half), ("dc/D.0-edge-curve",)
    ),
)

MUTATIONS += PHASES

MUTATIONS += (
    Mutation("regression.predict", "half", field("mean", half), ("dc/eq7-flow",)),
    Mutation(
        "regression.predict",
        "noise as a penalty only",
        lambda f: (
            lambda *args, noise_var=0.0, **rest: f(*args, ridge=noise_var, **rest)
        ),
        ("dc/eq1-posterior",),
    ),
    Mutation(
        "regression.predict_from_kernels",
        "twice the time",
        argument(times=twice),
        ("dc/eq7-flow-kernels",),
    ),
    Mutation(
        "regression.predict_from_kernels",
        "a tenth of the kernel left out",
        argument(ntk=lambda v: 0.9 * v),
        ("dc/eq7-flow-kernels",),
    ),
    Mutation("regression.Prediction.variance", "root", result(root), ("dc/eq7-flow",)),
)

MUTATIONS += (
    Mutation("identity_map.one_layer_prediction", "half", times(0.5), ("id/thm1",)),
    Mutation(
        "identity_map.one_layer_prediction",
        "transposed weights",
        argument(w0=np.transpose),
        ("id/thm1",),
    ),
    Mutation(
        "identity_map.one_layer_weights",
        "a step more",
        argument(steps=lambda v: v if v is None else v + 1),
        ("id/eq4",),
    ),
    Mutation(
        "identity_map.residual_factors",
        "a step more",
        argument(steps=more),
        ("id/eq4-factors",),
    ),
    Mutation("identity_map.curvature", "twice", times(2.0), ("id/eq4-stability",)),
    Mutation(
        "identity_map.learning_rate_limit",
        "no momentum",
        argument(momentum=lambda v: 0.0 * v),
        ("id/eq4-stability",),
    ),
    Mutation(
        "identity_map.orthogonal_prediction", "half", times(0.5), ("id/twolayer-orth",)
    ),
    Mutation(
        "identity_map.orthogonal_law",
        "half the variance",
        field("variance", half),
        ("id/thm1-orth",),
    ),
    Mutation(
        "identity_map.two_layer_orthogonal_law",
        "no mean",
        field("mean", lambda v: 0.0 * v),
        ("id/twolayer-law",),
    ),
    Mutation(
        "identity_map.two_layer_orthogonal_law",
        "half the variance",
        field("variance", half),
        ("id/twolayer-law",),
    ),
    Mutation(
        "identity_map.expected_cosine_to_train",
        "half the scale",
        argument(scale=half),
        ("id/thm1-cosines",),
    ),
    Mutation(
        "identity_map.expected_cosine_to_input",
        "half",
        times(0.5),
        ("id/thm1-cosines",),
    ),
    Mutation(
        "identity_map.expected_squared_cosine_to_train",
        "root",
        result(root),
        ("id/thm1-cosines",),
    ),
    Mutation(
        "identity_map.expected_squared_norm",
        "a pixel fewer",
        argument(dim=less),
        ("id/thm1-cosines",),
    ),
    Mutation(
        "identity_map.least_squares_weights",
        "no start",
        argument(w0=lambda v: 0.0 * np.asarray(v)),
        ("id/lem1", "id/lem1-rational"),
    ),
    Mutation("identity_map.patches", "mirrored", result(np.fliplr), ("id/patch",)),
    Mutation(
        "identity_map.centre_selector", "mirrored", result(np.fliplr), ("id/conv",)
    ),
    Mutation("identity_map.weights_from_framework", "half", times(0.5), ("id/patch",)),
    Mutation("identity_map.weights_to_framework", "half", times(0.5), ("id/conv",)),
    Mutation("identity_map.one_layer_conv_weights", "half", times(0.5), ("id/conv",)),
    Mutation(
        "identity_map.one_layer_conv_weights",
        "a step more",
        argument(steps=lambda v: v if v is None else v + 1),
        ("id/conv-path",),
    ),
    Mutation(
        "identity_map.one_layer_conv_prediction",
        "half",
        times(0.5),
        ("id/conv-prediction",),
    ),
    Mutation(
        "identity_map.one_layer_conv_mse", "twice", times(2.0), ("id/conv-error",)
    ),
    Mutation(
        "identity_map.expected_mse",
        "half the scale",
        argument(scale=half),
        ("id/conv-mse",),
    ),
    Mutation("identity_map.patch_rank", "one less", field("rank", less), ("id/rank",)),
    Mutation("identity_map.decide_rank", "one less", field("rank", less), ("id/rank",)),
    Mutation("identity_map.Rank.nullity", "one more", plus(1), ("id/rank-decision",)),
    Mutation(
        "identity_map.Rank.full",
        "the contrary",
        result(lambda v: not v),
        ("id/rank-decision",),
    ),
    Mutation(
        "identity_map.Rank.gap", "inverse", result(lambda v: 1 / v), ("id/rank-gap",)
    ),
    Mutation(
        "identity_map.Rank.condition",
        "squared",
        result(lambda v: v * v),
        ("id/rank-decision",),
    ),
    Mutation(
        "identity_map.worst_patch_error", "root", result(root), ("id/Err2-value",)
    ),
    Mutation(
        "identity_map.split_patch_bound", "half", times(0.5), ("id/Err2-as-printed",)
    ),
    Mutation(
        "identity_map.patch_norm_bound",
        "one channel",
        argument(channels=lambda _: 1),
        ("id/eq8",),
    ),
    Mutation(
        "identity_map.selector_norm_bound",
        "a tenth",
        times(0.1),
        ("id/eq9", "id/eq9-sharp"),
    ),
    Mutation(
        "identity_map.chi_square_tail",
        "a degree more",
        argument(dof=more),
        ("id/chi2-exact",),
    ),
    Mutation(
        "identity_map.chi_square_tail_bound",
        "no factor 1/2",
        result(lambda v: v * v),
        ("id/eq10",),
    ),
    Mutation(
        "identity_map.least_failure_probability",
        "twice",
        times(2.0),
        ("id/Err4-as-printed",),
    ),
    Mutation("identity_map.least_constant", "twice", times(2.0), ("id/eq12",)),
    Mutation("identity_map.direction_bound", "half", times(0.5), ("id/eq11",)),
    Mutation(
        "identity_map.mse_bound",
        "a direction more",
        argument(nullity=more),
        ("id/eq12",),
    ),
    Mutation(
        "identity_map.ErrorBound.total", "a thousandth", times(1e-3), ("id/thm2",)
    ),
    Mutation(
        "identity_map.mse_order",
        "no channels",
        lambda f: lambda k, c, r: f(k, c, r) / c,
        ("id/Err8-corrected",),
    ),
    Mutation(
        "identity_map.fcn_parameter_count",
        "a layer more",
        argument(layers=more),
        ("id/tab1-formula",),
    ),
    Mutation(
        "identity_map.cnn_parameter_count",
        "a layer more",
        argument(layers=more),
        ("id/tab1-formula",),
    ),
    Mutation(
        "identity_map.initial_variance", "half", times(0.5), ("id/Fig31-variances",)
    ),
    Mutation(
        "identity_map.relu_shrink", "no ReLU", times(2.0**0.5), ("id/Err6-shrink",)
    ),
    Mutation(
        "identity_map.coverage",
        "a kernel two wider",
        argument(kernel_size=lambda v: v + 2),
        ("id/Err7-corrected",),
    ),
    Mutation(
        "identity_map.receptive_field",
        "a layer more",
        argument(layers=more),
        ("id/Err7-field",),
    ),
    Mutation("identity_map.linear_identity", "half", times(0.5), ("id/B1",)),
    Mutation("identity_map.relu_identity", "half", times(0.5), ("id/B2",)),
    Mutation(
        "identity_map.linear_convolution_identity", "half", times(0.5), ("id/B3",)
    ),
    Mutation("identity_map.relu_convolution_identity", "half", times(0.5), ("id/B3",)),
)


MUTATIONS += (
    Mutation("square_loss.critical_residual", "half", times(0.5), ("sl/eq6",)),
    Mutation(
        "square_loss.critical_residual",
        "labels exchanged",
        argument(labels=lambda y: -np.asarray(y)),
        ("sl/eq6",),
    ),
    Mutation(
        "square_loss.per_sample_residual",
        "squared",
        result(lambda v: v * v),
        ("sl/persample",),
    ),
    Mutation("square_loss.projected_kernel", "half", times(0.5), ("sl/eq4-kernel",)),
    Mutation(
        "square_loss.overshoot_curvature", "sign", times(-1.0), ("sl/obs1-curvature",)
    ),
    Mutation(
        "square_loss.overshoot_curvature",
        "half the scale",
        argument(rho=half),
        ("sl/obs1-curvature",),
    ),
    Mutation(
        "square_loss.alignment_gap", "squared", result(lambda v: v * v), ("sl/err5",)
    ),
    Mutation(
        "square_loss.rho_equilibrium",
        "half the decay",
        argument(weight_decay=half),
        ("sl/sec0.1",),
    ),
    Mutation(
        "square_loss.rho_equilibrium",
        "inverse",
        result(lambda v: 1.0 / v),
        ("sl/obs2a",),
    ),
    Mutation("square_loss.rho_velocity", "sign", times(-1.0), ("sl/eq3",)),
    Mutation(
        "square_loss.rho_velocity",
        "half the decay",
        argument(weight_decay=half),
        ("sl/eq3",),
    ),
    Mutation("square_loss.lagrange_multiplier", "sign", times(-1.0), ("sl/eq1",)),
    Mutation(
        "square_loss.lagrange_multiplier",
        "over the scale",
        lambda f: lambda rho, *a: f(rho, *a) / rho,
        ("sl/eq1",),
    ),
    Mutation("square_loss.equilibrium_distance", "twice", times(2.0), ("sl/eq5",)),
    Mutation(
        "square_loss.equilibrium_distance",
        "no decay",
        argument(weight_decay=lambda v: 0.0 * v),
        ("sl/eq5",),
    ),
    Mutation("square_loss.off_sphere_rate", "half", times(0.5), ("sl/norm",)),
    Mutation("square_loss.off_sphere_rate", "sign", times(-1.0), ("sl/norm",)),
    Mutation("square_loss.Flow.rho_at", "half", times(0.5), ("sl/wn-length",)),
    Mutation("square_loss.Flow.parameters", "half", times(0.5), ("sl/wn-length",)),
    Mutation("square_loss.Flow.directions", "sign", times(-1.0), ("sl/wn-length",)),
    Mutation("square_loss.Flow.outputs", "sign", times(-1.0), ("sl/wn",)),
    Mutation("square_loss.Flow.rho_equilibrium", "half", times(0.5), ("sl/wn-length",)),
    Mutation("square_loss.Flow.loss", "half", times(0.5), ("sl/wn-length",)),
    Mutation(
        "square_loss.gradient_flow", "twice the scale", argument(rho0=twice), ("sl/wn",)
    ),
    Mutation(
        "square_loss.gradient_flow",
        "labels exchanged",
        argument(labels=lambda y: -np.asarray(y)),
        ("sl/wn",),
    ),
    Mutation(
        "square_loss.weight_normalised_flow",
        "no decay",
        argument(weight_decay=lambda v: 0.0 * v),
        ("sl/wn-length",),
    ),
    Mutation(
        "square_loss.weight_normalised_flow",
        "vectors of length one",
        argument(vectors=lambda vs: [v / np.linalg.norm(v) for v in vs]),
        ("sl/wn-length",),
    ),
    Mutation(
        "square_loss.unnormalised_flow",
        "half the weights",
        argument(weights=lambda ws: [w / 2 for w in ws]),
        ("sl/unnorm-flow",),
    ),
    Mutation(
        "square_loss.unnormalised_flow",
        "half the decay",
        argument(weight_decay=half),
        ("sl/unnorm-flow",),
        slow=True,
    ),
    Mutation("square_loss.rademacher_linear", "half", times(0.5), ("sl/eq8-linear",)),
    Mutation(
        "square_loss.rademacher_linear_bound", "half", times(0.5), ("sl/eq8-sqrt",)
    ),
    Mutation(
        "square_loss.rademacher_linear_bound",
        "1/N",
        result(lambda v: v * v),
        ("sl/eq8-terms",),
    ),
    Mutation("square_loss.rademacher_bound", "half", times(0.5), ("sl/eq8-terms",)),
    Mutation(
        "square_loss.rademacher_bound",
        "a layer fewer",
        argument(depth=less),
        ("sl/eq8-terms",),
    ),
    Mutation(
        "square_loss.ramp_loss",
        "half the margin",
        argument(gamma=half),
        ("sl/eq8-terms",),
    ),
    Mutation(
        "square_loss.ramp_loss",
        "errors alone",
        lambda _: lambda margins, gamma: 1.0 * (margins <= 0.0 * gamma),
        ("sl/eq8-terms",),
    ),
    Mutation(
        "square_loss.MarginBound.total",
        "no ramp",
        lambda _: lambda self: self.complexity + self.deviation,
        ("sl/eq8-terms",),
    ),
    Mutation(
        "square_loss.MarginBound.vacuous",
        "the contrary",
        result(lambda v: not v),
        ("sl/eq8-vacuous",),
    ),
    Mutation(
        "square_loss.margin_bound",
        "half of the complexity",
        field("complexity", half),
        ("sl/eq8-terms",),
    ),
    Mutation(
        "square_loss.margin_bound",
        "no ramp",
        field("ramp", lambda v: 0.0 * v),
        ("sl/eq8-terms",),
    ),
    Mutation(
        "square_loss.margin_bound",
        "as if fixed before",
        argument(data_dependent=lambda _: False),
        ("sl/eq8-terms",),
    ),
    Mutation(
        "square_loss.margin_bound",
        "confidence for its rest",
        argument(confidence=lambda v: 1.0 - v),
        ("sl/eq8-terms",),
    ),
    Mutation("square_loss.vacuous_below", "half", times(0.5), ("sl/eq8-vacuous",)),
    Mutation(
        "square_loss.vacuous_below",
        "a layer fewer",
        argument(depth=less),
        ("sl/eq8-vacuous",),
    ),
    Mutation("square_loss.ridge_solution", "half", times(0.5), ("sl/err6",)),
    Mutation(
        "square_loss.linear_minimiser", "half the scale", part(0, 0.5), ("sl/minnorm",)
    ),
    Mutation(
        "square_loss.linear_minimiser",
        "half the decay",
        argument(weight_decay=half),
        ("sl/minnorm",),
    ),
    Mutation(
        "square_loss.regularisation_path",
        "half of rho",
        field("rho", half),
        ("sl/obs2c-path",),
    ),
    Mutation(
        "square_loss.regularisation_path",
        "half of alignment",
        field("alignment", half),
        ("sl/obs2c-path",),
    ),
    Mutation(
        "square_loss.regularisation_path",
        "half of energy",
        field("energy", half),
        ("sl/obs2c-path",),
    ),
    Mutation("square_loss.outputs", "half", times(0.5), ("sl/factor",)),
    Mutation("square_loss.norms", "half", times(0.5), ("sl/unnorm",)),
    Mutation("square_loss.normalise", "half the norms", part(0, 0.5), ("sl/factor",)),
    Mutation("square_loss.output_bound", "half", times(0.5), ("sl/bound",)),
    Mutation("square_loss.layer_gradients", "sign", times(-1.0), ("sl/eq9",)),
    Mutation("square_loss.weighted_gradients", "sign", times(-1.0), ("sl/wn-rows",)),
    Mutation("square_loss.aligned_directions", "half", times(0.5), ("sl/orth",)),
    Mutation(
        "square_loss.OptimiserScale.time_per_step",
        "no momentum",
        lambda _: lambda self: self.rate,
        ("sl/lin-gd",),
    ),
    Mutation(
        "square_loss.torch_scale",
        "half the penalty",
        field("penalty", half),
        ("sl/sec0.1",),
    ),
    Mutation(
        "square_loss.torch_scale", "half the rate", field("rate", half), ("sl/lin-gd",)
    ),
    Mutation(
        "square_loss.torch_scale",
        "batches forgotten",
        argument(batch=lambda _: None),
        ("sl/sec0.1-batches",),
    ),
    Mutation(
        "square_loss.gram_deviation_mean",
        "a column fewer",
        argument(columns=less),
        ("sl/randorth-moments",),
    ),
    Mutation("square_loss.gram_deviation_mean", "twice", times(2.0), ("sl/randorth",)),
    Mutation(
        "square_loss.gram_deviation_variance",
        "half",
        times(0.5),
        ("sl/randorth-moments",),
    ),
    Mutation(
        "square_loss.gram_deviation_variance",
        "sides exchanged",
        lambda f: lambda rows, columns: f(columns, rows),
        ("sl/randorth-moments",),
    ),
    Mutation(
        "square_loss.gram_spectrum_edges",
        "half the lower",
        part(0, 0.5),
        ("sl/randorth-spectrum",),
    ),
    Mutation(
        "square_loss.gram_spectrum_edges",
        "half the upper",
        part(1, 0.5),
        ("sl/randorth-spectrum",),
    ),
    Mutation(
        "square_loss.rho_trajectory", "half the time", argument(t=half), ("sl/lin",)
    ),
    Mutation(
        "square_loss.rho_trajectory",
        "half the decay",
        argument(weight_decay=half),
        ("sl/lin",),
    ),
    Mutation("square_loss.settling_time", "half", times(0.5), ("sl/lin-time",)),
    Mutation("square_loss.stability_limit", "twice", times(2.0), ("sl/lin-stability",)),
    Mutation(
        "square_loss.rho_iterates", "a step more", argument(steps=more), ("sl/lin-gd",)
    ),
    Mutation(
        "square_loss.rho_iterates",
        "no momentum",
        argument(momentum=lambda v: 0.0 * v),
        ("sl/lin-gd",),
    ),
    Mutation(
        "square_loss.unnormalised_equilibrium",
        "a layer more",
        argument(depth=more),
        ("sl/eq5b-barrier",),
    ),
    Mutation("square_loss.unnormalised_equilibrium", "half", times(0.5), ("sl/eq5b",)),
    Mutation(
        "square_loss.unnormalised_barrier",
        "a layer more",
        argument(depth=more),
        ("sl/eq5b-barrier",),
    ),
    Mutation(
        "square_loss.unnormalised_barrier", "nothing", times(0.0), ("sl/eq5b-barrier",)
    ),
    Mutation(
        "square_loss.critical_weight_decay",
        "a layer fewer",
        argument(depth=less),
        ("sl/eq5b-barrier",),
    ),
    Mutation(
        "square_loss.critical_weight_decay", "half", times(0.5), ("sl/eq5b-barrier",)
    ),
    Mutation("square_loss.directions_velocity", "sign", times(-1.0), ("sl/eq4",)),
    Mutation(
        "square_loss.directions_velocity",
        "labels exchanged",
        argument(labels=lambda y: -np.asarray(y)),
        ("sl/eq4",),
    ),
    Mutation(
        "square_loss.weights_velocity", "sign", times(-1.0), ("sl/unnorm-velocity",)
    ),
    Mutation(
        "square_loss.weights_velocity",
        "half the decay",
        argument(weight_decay=half),
        ("sl/unnorm-velocity",),
    ),
    Mutation(
        "square_loss.direction_from_weight_velocity",
        "sign of the norm",
        part(0, -1.0),
        ("sl/proj",),
    ),
    Mutation(
        "square_loss.direction_from_weight_velocity",
        "twice the turn",
        part(1, 2.0),
        ("sl/proj",),
    ),
    Mutation("neural_collapse.nc1", "half", times(0.5), ("sl/nc1",)),
    Mutation("neural_collapse.nc1", "root", result(root), ("sl/nc1",)),
    Mutation(
        "neural_collapse.nc2", "half of equinorm", field("equinorm", half), ("sl/nc2",)
    ),
    Mutation(
        "neural_collapse.nc2_classifier",
        "half of equinorm",
        field("equinorm", half),
        ("sl/nc2-classifier",),
    ),
    Mutation(
        "neural_collapse.nc2",
        "half of equiangle",
        field("equiangle", half),
        ("sl/nc2",),
    ),
    Mutation(
        "neural_collapse.nc2_classifier",
        "half of equiangle",
        field("equiangle", half),
        ("sl/nc2-classifier",),
    ),
    Mutation(
        "neural_collapse.nc2",
        "half of maximal_angle",
        field("maximal_angle", half),
        ("sl/nc2",),
    ),
    Mutation(
        "neural_collapse.nc2_classifier",
        "half of maximal_angle",
        field("maximal_angle", half),
        ("sl/nc2-classifier",),
    ),
    Mutation("neural_collapse.nc3", "half", times(0.5), ("sl/nc3",)),
    Mutation(
        "neural_collapse.nc3",
        "sign of the classifier",
        argument(weights=lambda v: -np.asarray(v)),
        ("sl/nc3",),
    ),
    Mutation(
        "neural_collapse.nc4", "the others", result(lambda v: 1.0 - v), ("sl/nc4",)
    ),
    Mutation(
        "neural_collapse.binary_rows",
        "classes exchanged",
        times(-1.0),
        ("sl/nc3-binary",),
    ),
)


EXEMPT = {
    "activations.Affine.name": "a label",
    "activations.Affine.kinks": "handed on from the base",
    "activations.Smooth.name": "a label",
    "activations.Smooth.kinks": "those of the definition",
    "activations.Affine.parity": "handed on from the base",
    "activations.Affine.degree": "handed on from the base",
    "activations.Smooth.parity": "that of the definition",
    "activations.HermiteMixture.parity": "which coefficients there are",
    "activations.HermiteMixture.degree": "how many coefficients there are",
    "activations.PiecewisePolynomial.degree": "given, where there is no kink",
    "activations.split": "names of an affine function's parts; its claims are those of"
    " `activations.Affine`",
    **{
        f"activations.Affine.{name}": "of the base's; `tests/theory/test_moments.py` and"
        " `test_catalogue.py` compare them"
        for name in ("second_moment", "variance")
    },
    **{
        f"depth_maps.Exact.{name}": "of values between tables, which"
        " `tests/theory/test_kernels.py` compares with tables"
        for name in ("of_layer", "then")
    },
    "activations.lengths": "an interpolant; `tests/theory/test_moments.py` compares it",
    "activations.length_slopes": "an interpolant, as `activations.lengths`",
    "activations.Activation.scaled": "checks a variance; `tests/theory` calls it",
    "activations.together": "moments at many lengths, as `activations.lengths`",
    "duals.Truncated.opposite": "`tests/theory/test_duals.py` compares it",
    **{
        f"duals.{name}": "of tables for many values, which `tests/theory/test_duals.py`"
        " compares with single ones"
        for name in (
            *("Series.order", "Series.mirrored", "Tabulated.mirrored"),
            "Tabulated.far",
            *("Truncated.order", "Truncated.mirrored"),
        )
    },
    **{
        f"duals.{name}.covariance": "the dual less the means, as"
        " `tests/theory/test_catalogue.py` has it of normalised ones"
        for name in ("Exponential", "Trigonometric", "Bump")
    },
    "grids.Grid.resampled": "an interpolant of those tables",
    **{
        f"duals.Monomial.{name}": "a power; `tests/theory/test_duals.py` compares it"
        for name in ("dual", "covariance", "slope", "distance")
    },
    "matrices.Inputs.pairs": "correlations, which `tests/theory/test_kernels.py` asks for",
    "matrices.dot": "digits beyond float64, which `tests/theory/test_kernels.py` needs",
    "matrices.each": "calls a function on every item",
    "gaussian.total": "a sum; `tests/theory/test_from_function.py` needs its digits",
    "gaussian.graded": "where panels end: any points that are close enough will do",
    "activations.FromFunction.quadrature_error": "an error estimate, not a formula",
    "activations.FromFunction.length_map_derivative": "no claim asks for it unwrapped;"
    " tested against the closed form of the error function",
    "meshes.resolve": "where quadratures end; too few panels are an error, not a formula",
    "meshes.Mesh.needed": "where quadratures end; too few panels are an error",
    "activations.PiecewisePolynomial.quadrature_error": "always zero",
    "identity_map.Rank.require_decided": "raises what `decided` says",
    "activations.Undefined.derivative": "what has no numbers has no formula",
    "activations.Undefined.second_moment": "always infinite",
}
"""Public names without a formula, each with its reason."""


def is_red(name: str, first: str = "") -> bool:
    """Whether a run of the claim would not be green: its cases one by one, then all."""
    entry = ledger.find(name)[0]
    claim = entry.claim
    cases = sorted(claim.cases, key=lambda case: case.get("activation") != first)
    if claim.expected is Outcome.HOLDS:
        for case in cases:
            if run.judge(claim, case).outcome is not Outcome.HOLDS:
                return True
    return not run.run_claim(claim, module=entry.module).green


# --- the tests ------------------------------------------------------------------------


def test_every_public_function_has_a_mutation() -> None:
    known = {mutation.key for mutation in MUTATIONS} | set(EXEMPT)
    missing = sorted(set(public()) - known)
    assert not missing, f"add a mutation for {', '.join(missing)} to MUTATIONS"
    gone = sorted(known - set(public()))
    assert not gone, f"no longer public: {', '.join(gone)}"
    names = [mutation.name for mutation in MUTATIONS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "mutation",
    [
        pytest.param(m, id=m.name, marks=[pytest.mark.slow] if m.slow else [])
        for m in MUTATIONS
    ],
)
def test_a_broken_formula_turns_a_claim_red(mutation: Mutation) -> None:
    with broken(mutation.key, mutation.change):
        red = [name for name in mutation.claims if is_red(name, mutation.first)]
    assert red, f"{mutation.name} is not noticed by {', '.join(mutation.claims)}"


@pytest.mark.parametrize(
    "key", ["activations.GaussianFunction.mu", "kernel_maps.ntk_map"]
)
def test_a_wrapper_that_changes_nothing_leaves_claims_green(key: str) -> None:
    claims = {name for m in MUTATIONS if m.key == key for name in m.claims}
    assert claims
    with broken(key, lambda original: original):
        assert not any(is_red(name) for name in claims)


@pytest.mark.slow
def test_what_was_broken_is_whole_again() -> None:
    kept = {key: vars(owner)[name] for key, (owner, name) in public().items()}
    for mutation in MUTATIONS:
        with broken(mutation.key, mutation.change):
            owner, name = public().get(mutation.key, (None, ""))
            assert owner is None or vars(owner)[name] is not kept[mutation.key]
    assert {key: vars(o)[n] for key, (o, n) in public().items()} == kept


# --- mutations of the source ----------------------------------------------------------

SOURCES = (
    (
        "activations/smooth.py",
        "replace(self, var=self.var * var)",
        "replace(self, var=self.var * var * var)",
        "dc/D.0",
        "tanh",
    ),
    (
        "activations/exponential.py",
        "ExponentialUnit(self.name, self.alpha, self.scale, self.var * var)",
        "ExponentialUnit(self.name, self.alpha, self.scale, self.var * var * var)",
        "dc/lemD.3",
        "",
    ),
    ("activations/piecewise.py", "r = math.sqrt(var)", "r = var", "dc/I.len-map", ""),
    (
        "activations/mixture.py",
        "_rescaled(n, var)",
        "_rescaled(n, var * var)",
        "dc/defC.1-cubic",
        "",
    ),
    (
        "duals/series.py",
        "return np.sqrt(rest + kappa**2 * product)",
        "return rest + kappa**2 * product",
        "dc/defC.1",
        "erf",
    ),
    (
        "conditioning/correlations.py",
        "1.0 - (1.0 + m / 2.0) * d",
        "1.0 - (1.0 + m) * d",
        "dc/lemC.5-values",
        "",
    ),
    (
        "conditioning/tangent.py",
        "factor = 4.0 if side",
        "factor = 2.0 if side",
        "dc/cor3.5-values",
        "",
    ),
    (
        "conditioning/_envelopes.py",
        "2.0 * m * r) / (1.0 + m)",
        "m * r) / (1.0 + m)",
        "dc/thm3.4-attained",
        "",
    ),
    (
        "conditioning/_envelopes.py",
        "share / (share + 1.0 + m)",
        "share / (share + 1.0 + 2.0 * m)",
        "dc/thm3.4-attained",
        "",
    ),
    (
        "conditioning/_bounds.py",
        "1.0 + n * (value / gap)",
        "1.0 + 0.5 * n * (value / gap)",
        "dc/cor3.7-attained",
        "",
    ),
    (
        "depth_maps.py",
        "if count % 2 else whole",
        "if count > 2 else whole",
        "dc/eq1-matrices",
        "relu",
    ),
    (
        "optimization.py",
        "np.exp(-factor",
        "np.exp(factor",
        "dc/thmE.8-values",
        "",
    ),
    (
        "lengths/trajectories.py",
        "return 2.0 * (1.0 - float(activation.length_map(0.5)))",
        "return 1.0 - float(activation.length_map(0.5))",
        "dc/thm3.11-values",
        "",
    ),
    (
        "hermite.py",
        "- math.sqrt(n) * out[n - 1]",
        "+ math.sqrt(n) * out[n - 1]",
        "dc/defC.1-polynomials",
        "",
    ),
    (
        "activations/definitions.py",
        "(1.0 + np.abs(x)) ** -2.0",
        "(1.0 + np.abs(x)) ** -1.0",
        "dc/tab2",
        "softsign",
    ),
    (
        "lengths/normrelu.py",
        "least * (d - total)",
        "least * (d + total)",
        "dc/thmI.1-constants",
        "",
    ),
    (
        "lengths/normrelu.py",
        "2.0 * rest * one",
        "rest * one",
        "dc/I.len",
        "",
    ),
    (
        "lengths/normrelu.py",
        "(c * c / w - 1.0)",
        "(c * c / w + 1.0)",
        "dc/E12-unstable",
        "",
    ),
    (
        "square_loss/velocities.py",
        "(w * mean - g)",
        "(w * mean + g)",
        "sl/eq4",
        "",
    ),
    (
        "square_loss/unnormalised.py",
        "(1.0 + p) ** (1.0 + p)",
        "(1.0 + p) ** p",
        "sl/eq5b-barrier",
        "",
    ),
    (
        "square_loss/generalisation.py",
        "1 if mantissa == 0.5 else 0",
        "1",
        "sl/eq8-terms",
        "",
    ),
    (
        "neural_collapse.py",
        "= -k / np.sqrt",
        "= k / np.sqrt",
        "sl/nc1",
        "",
    ),
    (
        "optimization.py",
        "tau * tau / (2.0 * c)",
        "tau * tau / c",
        "dc/thmF.2-values",
        "",
    ),
)
"""File, text, broken text, a claim that notices and the activation it looks at first."""

PROGRAM = """
import sys
from verify import ledger, run
from verify.compare import Outcome
import theory
assert theory.__file__.startswith(sys.argv[1]), theory.__file__
entry = ledger.find(sys.argv[2])[0]
cases = sorted(entry.claim.cases, key=lambda c: c.get("activation") != sys.argv[3])
found = (run.judge(entry.claim, case).outcome for case in cases)
sys.exit(0 if all(outcome is Outcome.HOLDS for outcome in found) else 3)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("file", "text", "wrong", "claim", "first"), SOURCES)
def test_a_broken_source_turns_a_claim_red(
    tmp_path: Path, file: str, text: str, wrong: str, claim: str, first: str
) -> None:
    shutil.copytree(ROOT / "theory", tmp_path / "theory")
    path = tmp_path / "theory" / file
    source = path.read_text(encoding="utf-8")
    assert text in source, f"{file} has changed: {text!r} is not in it"
    path.write_text(source.replace(text, wrong), encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), claim, first]
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3, done.stderr
