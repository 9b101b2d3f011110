"""What is said of a claim's functions: where they stand, and what it would have caught."""

import ast
import functools
import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from empirical.digest import ROOT
from verify import calibrated, judging, records
from verify.claim import Claim
from verify.claims._predictors import always, limits
from verify.compare import EffectWithin, Outcome
from verify.records import Record
from verify.report import numbers

_NAMES = ("predict", "measure", "must_refute", "must_hold", "examples", "runs")
_LISTED = 8
"""Longer lists are told by their ends."""


def control(claim: Claim) -> tuple[str, str]:
    """Return what a claim's control is, and what it predicts, in words.

    The words are the first paragraph of its docstring, or the one that starts with
    ``Wrong:`` where the function also makes the prediction that is right; the function's
    name where there is no docstring.
    """
    holds = claim.expected is Outcome.HOLDS
    kind = "would have caught" if holds else "corrected"
    function = claim.must_refute if holds else claim.must_hold
    return kind, _words(function, unit(claim)) if function is not None else ""


def tried(claim: Claim, record: Record) -> str:
    """Say in how many cases a control did what it must, and whether that is news.

    Limits of an effect that are disjoint from the claim's are refuted wherever it holds:
    what tells then is what it says of networks that were trained wrongly.
    """
    did, cases = judging.tried(claim, record.cases, record.search)
    if claim.expected is not Outcome.HOLDS:
        return (
            f"holds in {_share(did, cases)} that refute{'s' * (cases == 1)} the claim"
        )
    if not any(case.control for case in record.cases):
        return "not tried, as nothing was decided"
    telling = cases == len(record.cases)
    found = f"refuted in {_share(did, cases)}{'' if telling else ' that say something'}"
    if not implied(claim, record):
        return found
    if did == cases:
        found += ", as the verdict implies: its limits and the claim's are disjoint"
    return f"{found}; {_planted(claim)}"


def implied(claim: Claim, record: Record) -> bool:
    """Whether a control is refuted wherever its claim holds: limits that are disjoint."""
    if claim.expected is not Outcome.HOLDS or not isinstance(
        claim.compare, EffectWithin
    ):
        return False
    pairs = ((c.predicted, c.control_predicted) for c in record.cases if c.control)
    return all(_disjoint(mine, other) for mine, other in pairs)


def _disjoint(mine: Sequence[float | None], other: Sequence[float | None]) -> bool:
    least, most = (None if each is None else records.number(each) for each in mine)
    low, high = (None if each is None else records.number(each) for each in other)
    above = most is not None and low is not None and low >= most
    return above or (least is not None and high is not None and high <= least)


def _planted(claim: Claim) -> str:
    """Say what came of networks that were trained wrongly."""
    planted = Counter(calibrated.faults(claim.id).values())
    if not planted:
        return "no training with a planted fault was tried"
    told = ", ".join(f"{outcome} {count}" for outcome, count in sorted(planted.items()))
    return f"of {planted.total()} trainings with a planted fault: {told}"


def _share(part: int, whole: int) -> str:
    if part != whole or whole == 0:
        return f"{part} of {whole} cases"
    return {1: "the only case", 2: "both cases"}.get(whole, f"all {whole} cases")


def again(claim: Claim) -> str:
    """Return the command that runs a claim, in the first profile that has cases of it."""
    larger = "" if claim.cases else next(iter(claim.larger_cases), "")
    return f"python -m verify run {claim.id}{larger and f' --profile {larger}'}"


def places(claim: Claim) -> dict[str, str]:
    """Return the functions of a claim in words, with the file and line of each."""
    found: dict[str, str] = {}
    for name in _NAMES:
        function = getattr(claim, name)
        if function is None:
            continue
        plain = _plain(function)
        file, line = Path(plain.__code__.co_filename), plain.__code__.co_firstlineno
        place = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
        words = in_words(function)
        limited = _limits(function)
        if limited is not None:
            words = f"an effect of {numbers.between(limited)} {unit(claim)}".rstrip()
        if limited is not None or _is_always(plain):
            # Values of the claim itself.
            place, line = _home(claim), 0
        found[name] = f"{words} ({place}{f':{line}' if line else ''})"
    return found


def drawn(claim: Claim) -> str:
    """Return what a claim's search draws: of each argument the range, if that is told.

    Hypothesis shows a strategy as the expression that makes it.
    """
    assert claim.examples is not None
    place = places(claim)["examples"]
    # A lambda that it can't show is unknown to it.
    shown = repr(claim.examples()).replace("<unknown>", "...")
    try:
        made: Any = ast.parse(shown, mode="eval").body
    except SyntaxError:
        return f"from {place}"
    filtered = False
    while _made_by(made) == "filter":
        made, filtered = made.func.value, True
    if _made_by(made) != "fixed_dictionaries" or not isinstance(made.args[0], ast.Dict):
        return f"from {place}"
    parts: list[str] = []
    others: list[str] = []
    for key, value in zip(made.args[0].keys, made.args[0].values, strict=True):
        name, told = ast.literal_eval(key), _range(value)
        if told:
            parts.append(f"{name} {told}")
        else:
            others.append(name)
    if others:
        parts.append(f"{' and '.join(others)} by a rule that is given there")
    if filtered:
        parts.append("those alone that meet a condition")
    unnamed = "<lambda>" in getattr(claim.examples, "__qualname__", "")
    source = f"drawn in {_home(claim)}" if unnamed else f"from {place}"
    return f"{source}: {'; '.join(parts)}"


def _made_by(node: Any) -> str:
    """Return the name of the function or method that an expression calls, if it does."""
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _range(node: Any) -> str:
    """Return what a strategy draws from; nothing where that takes more than a few words."""
    kind = _made_by(node)
    try:
        given = [ast.literal_eval(each) for each in getattr(node, "args", ())]
        ends = {k.arg: ast.literal_eval(k.value) for k in getattr(node, "keywords", ())}
    except ValueError:
        return ""
    if kind in ("integers", "floats") and {"min_value", "max_value"} <= set(ends):
        least, most = (_number(ends[f"{end}_value"]) for end in ("min", "max"))
        return f"from {least} to {most}"
    if kind == "just":
        return _number(given[0])
    if kind == "sampled_from" and len(given[0]) <= _LISTED:
        return " or ".join(map(_number, given[0]))
    return ""


def _number(value: object) -> str:
    shown = in_words(value)
    return shown.replace("-", "−") if isinstance(value, int) else shown


def purpose(function: Callable[..., Any] | None) -> str:
    """Return the first sentence of what a function says of itself, if it says any."""
    if function is None or _settled(function) is limits:
        return ""
    said = inspect.getdoc(_plain(function)) or ""
    first = " ".join(said.partition("\n\n")[0].split()).partition(". ")[0]
    told = first.rstrip(".").replace("`", "")
    return "" if told.startswith(("Wrong: ", "Always ")) else told


def unit(claim: Claim) -> str:
    """Return the unit of the effect that a claim is about, if it has one."""
    return getattr(claim.compare, "unit", "")


def in_words(value: object) -> str:
    """Return an argument or a function as it is said in a sentence, not as Python's text.

    >>> in_words(functools.partial(sorted, key=abs)), in_words((0.5, None, "", "a"))
    ('sorted with key abs', '(0.5, nothing, nothing, a)')
    """
    if isinstance(value, functools.partial):
        given: functools.partial[Any] = value
        bound = [*map(in_words, given.args)]
        bound += [f"{name} {in_words(each)}" for name, each in given.keywords.items()]
        said = ", ".join(each for each in bound if each)
        return f"{in_words(given.func)}{' with ' if said else ''}{said}"
    if callable(value):
        return _called(value)
    if isinstance(value, list | tuple):
        each = [in_words(part) for part in value]
        if len(each) > _LISTED:
            return f"{len(each)} values from {each[0]} to {each[-1]}"
        return f"({', '.join(each)})"
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {in_words(v)}" for k, v in value.items())
    if isinstance(value, float):
        return f"{value:.6g}".replace("-", "−")
    if value is None or value == "":
        return "nothing"
    if isinstance(value, slice):
        return f"entries {value.start or 0} to {value.stop or 'the last'}"
    return str(value) if isinstance(value, str | int) else ""


def _called(function: Callable[..., Any]) -> str:
    """Return the name of a function; of one made by another, that one's too."""
    plain = _plain(function)
    names = getattr(plain, "__qualname__", type(plain).__qualname__).split(".")
    outer, inner = names[0], names[-1]
    if _is_always(plain) and plain.__doc__:
        return plain.__doc__.rstrip(".")
    if inner == "<lambda>":
        inner = f"an unnamed function of {plain.__module__}"
    return f"{inner}, made by {outer}" if "<locals>" in names else inner


def _is_always(plain: Any) -> bool:
    return getattr(plain, "__qualname__", "").startswith(f"{always.__name__}.")


def _limits(function: Callable[..., Any]) -> tuple[Any, ...] | None:
    """Return the limits that a prediction of an effect is made of, if it is one."""
    if isinstance(function, functools.partial) and _settled(function) is limits:
        return function.args
    return None


def _home(claim: Claim) -> str:
    """Return the file that declares a claim."""
    from verify import index

    module = index.homes().get(claim.id, "")
    return f"{module.replace('.', '/')}.py" if module else "limits of the claim"


def _plain(function: Callable[..., Any]) -> Any:
    while (inner := inspect.unwrap(_settled(function))) is not function:
        function = inner
    return function


def _settled(function: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _words(function: Callable[..., Any], of: str) -> str:
    # Not unwrapped: a control made of a prediction has words of its own.
    plain, limited = _settled(function), _limits(function)
    if limited is not None:
        if limited == (None, 0.0):
            return "No effect, or one in the other direction"
        return f"An effect of {numbers.between(limited)} {of}".rstrip()
    said = inspect.getdoc(plain) or plain.__name__.strip("_").replace("_", " ")
    paragraphs = [" ".join(part.split()) for part in said.split("\n\n")]
    wrong = (part for part in paragraphs if part.startswith("Wrong: "))
    return next(wrong, paragraphs[0]).removeprefix("Wrong: ").rstrip(".")
