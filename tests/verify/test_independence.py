"""No measurement calls `theory`: it shares no code with the prediction it is held to.

Read from the functions themselves, without running them: what their code names, what
that names in turn, and what they carry in arguments, defaults and closures. `empirical`
imports no `theory` (`tests/test_architecture.py`), so it is not followed.
"""

import ast
import dis
import functools
import importlib
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from empirical.digest import ROOT
from theory import kernels
from verify import ledger
from verify.claims.deep_conditioning import _subjects

CACHED = type(functools.lru_cache(lambda: None))


def called(function: Any, package: str = "theory") -> dict[str, str]:
    """Return what of a package a function can come to, and by way of which functions."""
    found: dict[str, str] = {}
    waiting: list[tuple[Any, tuple[str, ...]]] = [(function, ())]
    seen: dict[int, Any] = {}
    while waiting:
        value, way = waiting.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        home = _home(value)
        if home.partition(".")[0] == package:
            name = getattr(value, "__qualname__", type(value).__qualname__)
            found.setdefault(f"{home}.{name}", " > ".join(way))
        else:
            name = getattr(value, "__qualname__", "")
            further = (*way, name) if isinstance(value, types.FunctionType) else way
            waiting += [(each, further) for each in _behind(value, home)]
    return found


def _home(value: Any) -> str:
    """Return the module of a function or class, of the class of any other value."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    if not isinstance(value, type | types.FunctionType | CACHED):
        value = type(value)
    return str(value.__module__)


def _behind(value: Any, home: str) -> Iterator[Any]:
    """Yield what a value leads to, where it is of this project or holds what may be."""
    if isinstance(value, functools.partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, types.MethodType):
        yield from (value.__func__, value.__self__)
    elif isinstance(value, staticmethod | classmethod):
        yield value.__func__
    elif isinstance(value, property):
        yield value.fget
    elif isinstance(value, functools.cached_property):
        yield value.func
    elif isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list | tuple | set | frozenset):
        yield from value
    elif home.partition(".")[0] not in ("verify", "tests", __name__.partition(".")[0]):
        return
    elif isinstance(value, CACHED):
        yield value.__wrapped__
    elif isinstance(value, types.FunctionType):
        yield from (value.__defaults__ or (), value.__kwdefaults__ or {})
        yield vars(value).get("__wrapped__")
        yield from (cell.cell_contents for cell in value.__closure__ or ())
        for code in _codes(value.__code__):
            yield from _named(code, value.__globals__)
    elif isinstance(value, type):
        yield from (*vars(value).values(), *value.__bases__)
    elif is_dataclass(value):
        yield from (type(value), *(getattr(value, f.name) for f in fields(value)))
    elif not isinstance(value, types.ModuleType):
        yield from (type(value), getattr(value, "__dict__", {}))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a function's code and that of the functions inside it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _codes(each)


def _named(code: types.CodeType, known: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the globals that code loads and what it imports; of a module, what it takes.

    Where `getattr` takes from a module whatever is named, the module itself.
    """
    module: Any = None
    steps = _steps(code)
    any_name = ("LOAD_GLOBAL", "getattr") in steps
    for operation, argument in steps:
        value: Any = None
        if operation in ("LOAD_GLOBAL", "LOAD_NAME"):
            value = known.get(argument)
        elif operation == "IMPORT_NAME":
            value = importlib.import_module(argument)
        elif operation in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"):
            value = getattr(module, argument, None) if module else None
        if isinstance(value, types.ModuleType):
            module = value
            if any_name and _home(value).partition(".")[0] == "theory":
                yield value
        elif value is not None:
            yield value
            module = module if operation == "IMPORT_FROM" else None
        else:
            module = None


@functools.cache
def _steps(code: types.CodeType) -> tuple[tuple[str, Any], ...]:
    """Return the operations of a code with their arguments."""
    silent = ("PRECALL", "CACHE", "EXTENDED_ARG", "PUSH_NULL")
    steps = dis.get_instructions(code)
    return tuple((s.opname, s.argval) for s in steps if s.opname not in silent)


def test_no_measurement_calls_theory() -> None:
    claims = [claim for claim in ledger.load() if claim.measure is not None]
    assert claims
    shared = {claim.id: found for claim in claims if (found := called(claim.measure))}
    assert shared == {}


INPUTS = (
    # Images, points and generators; settings of trainings, and their records.
    *("empirical.data.", "empirical.identity_map.images.", "empirical.randomness."),
    *(
        "empirical.testbed.records.",
        "empirical.testbed.study.",
        "empirical.normrelu.study.",
    ),
    *("empirical.mmd_init.binary_tasks.", "empirical.mmd_init.recipes."),
    *("empirical.identity_map.recipes.", "empirical.identity_map.experiments."),
    *("empirical.square_loss.recipes.", "empirical.square_loss.experiments."),
    *("empirical.mmd_init.experiments.", "empirical._cached."),
    # Networks, kernels and problems that both sides are told of.
    *("empirical.networks.specs.", "empirical.mmd_init.classifiers.classifier"),
    *("empirical.mmd_init.networks.start", "empirical.mmd_init.networks.pairs"),
    *("empirical.activations.NormReLU", "empirical.conditioning.activations.named"),
    *("empirical.conditioning.chains.gram_chain", "empirical.testbed.slopes.Outer"),
    "empirical.conditioning.interpolation.digit_problem",
    "empirical.square_loss.study.train_configuration",
)
"""What prediction and measurement may both take of `empirical`: what they are about."""


def test_no_prediction_calls_what_its_measurement_does() -> None:
    shared = {
        (claim.id, name)
        for claim in ledger.load()
        if claim.measure is not None and (own := called(claim.predict, "empirical"))
        for name in own.keys() & called(claim.measure, "empirical").keys()
        if not name.startswith(INPUTS)
    }
    assert shared == set()


PEEKING = ("_getframe", "currentframe", "f_locals", "f_back", "get_objects", "settrace")
CHANGING = ("append", "extend", "insert", "add", "update", "setdefault")


def told(source: str) -> list[str]:
    """Return where functions of a source look at their caller, or leave something.

    They change what the module keeps: a list, a dictionary, a global name.
    """
    tree, found = ast.parse(source), list[str]()
    kept = {
        name.id
        for statement in tree.body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for name in ast.walk(statement)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    for node in (n for f in tree.body for n in ast.walk(f)):
        base = getattr(node, "value", None)
        ours = isinstance(base, ast.Name) and base.id in kept
        if isinstance(node, ast.Attribute):
            if node.attr in PEEKING or (ours and node.attr in CHANGING):
                found.append(ast.unparse(node))
        elif isinstance(node, ast.Global) or (
            ours and isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
        ):
            found.append(ast.unparse(node))
    return found


def test_no_claim_is_told_what_was_predicted() -> None:
    """By its caller's frame, or by what the prediction leaves in the module."""
    assert told("K = []\ndef predict(x):\n    K.append(x)") == ["K.append"]
    assert told("K: dict = {}\ndef predict(x):\n    K[0] = x") == ["K[0]"]
    assert told("def predict(x):\n    global K") == ["global K"]
    assert told("def measure(x):\n    sys._getframe(1)") == ["sys._getframe"]
    assert told("K = {}\ndef measure(x):\n    own = []\n    own.append(K[x])") == []
    claims = (ROOT / "verify" / "claims").rglob("*.py")
    assert {
        path.name: found for path in claims if (found := told(path.read_text()))
    } == {}


def test_no_claim_loads_a_module_by_its_name() -> None:
    """This reader would not follow, nor would the digest by which a record is stale."""
    found = [
        path.name
        for path in (ROOT / "verify" / "claims").rglob("*.py")
        if re.search(r"\b(import_module|__import__|sys\.modules)\b", path.read_text())
    ]
    assert found == []


def test_most_predictions_do() -> None:
    """The reader of code finds `theory` where it is: otherwise it would find nothing."""
    claims = [claim for claim in ledger.load() if claim.predict is not None]
    found = sum(bool(called(claim.predict)) for claim in claims)
    assert found > len(claims) / 2


def _within(x: Any) -> Any:
    from theory.kernels import correlation

    return correlation(x)


def _through(x: Any) -> Any:
    return [_by_a_table(value) for value in x]


def _by_a_table(x: Any) -> Any:
    return TABLE["separation"][0](x)


TABLE = {"separation": (kernels.separation,)}


class Held:
    """A measurement that holds what it calls."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def measure(self, x: Any) -> Any:
        return self.function(x)


def _alone(x: Any) -> Any:
    return _subjects.law(x).mu()


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (kernels.separation, "separation"),
        (lambda x: kernels.separation(x), "separation"),
        (functools.partial(max, key=kernels.separation), "separation"),
        (functools.lru_cache(_through), "separation"),
        (Held(kernels.separation).measure, "separation"),
        (_subjects.mu_of, "CATALOGUE"),
        (_within, "correlation"),
        (lambda name: getattr(kernels, name), "module"),
        (_alone, ""),
    ],
)
def test_every_way_to_theory_is_seen(function: Any, name: str) -> None:
    found = called(function)
    if name == "CATALOGUE":
        # Its entries: a dictionary has no name.
        assert "theory.activations.smooth.Smooth" in found
    elif name:
        assert [each.rpartition(".")[2] for each in found] == [name]
    else:
        assert found == {}
