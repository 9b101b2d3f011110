"""Predictions and controls made of other predictions, or the same in every case."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any

from verify.claim import Mistake
from verify.compare import Outcome

Prediction = Callable[..., Any]


def always(value: Any, words: str = "") -> Prediction:
    """Return the prediction of one value for every case, and what it means as a control."""

    def predict(**_case: Any) -> Any:
        return value

    predict.__doc__ = words or f"Always {value}."
    return predict


def mistake(
    words: str, /, *, then: Callable[..., Any] | None = None, **changes: Any
) -> Any:
    """Return a control: the claim's own prediction of a case with other arguments.

    A change is the argument's value, or a function of the one that the case has; `then`
    changes what is predicted. Functions are given what they take of the case by keyword
    alone. The mistake is said in words; the claim that it is given to makes it of its
    `predict`, and `of` of any other prediction.

    >>> mistake("A layer more.", depth=plus(1)).of(lambda depth: 10 * depth)(depth=2)
    30
    >>> over = mistake("Over the depth.", then=lambda found, *, depth: found / depth)
    >>> over.of(lambda depth: 10 * depth)(depth=2)
    10.0
    """

    def make(predict: Prediction) -> Prediction:
        @wraps(predict, updated=())
        def control(**case: Any) -> Any:
            other = {
                k: _asking(v, case)(case[k]) if callable(v) else v
                for k, v in changes.items()
            }
            found = predict(**{**case, **other})
            return found if then is None else _asking(then, case)(found)

        control.__doc__ = words
        return control

    return Mistake(make)


def _asking(function: Callable[..., Any], case: Mapping[str, Any]) -> Prediction:
    """Give a function what it takes of a case by keyword alone."""
    every = inspect.signature(function).parameters.values()
    asked = {each.name for each in every if each.kind is each.KEYWORD_ONLY}
    return partial(function, **{k: v for k, v in case.items() if k in asked})


def changed(predict: Prediction, words: str, /, **changes: Any) -> Prediction:
    """Return what a `mistake` in the arguments makes of this prediction.

    >>> changed(lambda depth: 10 * depth, "A layer more.", depth=plus(1))(depth=2)
    30
    """
    return mistake(words, **changes).of(predict)


def mapped(predict: Prediction, words: str, change: Callable[[Any], Any]) -> Prediction:
    """Return a control: what `predict` says, changed afterwards.

    >>> mapped(lambda depth: 10 * depth, "Its square.", lambda v: v**2)(depth=2)
    400
    """
    return mistake(words, then=change).of(predict)


def scaled(predict: Prediction, factor: float, words: str) -> Prediction:
    """Return a control: a factor times what `predict` says."""
    return mapped(predict, words, times(factor))


def drawn(draw: Callable[..., Any]) -> Callable[[Callable[..., Any]], Prediction]:
    """Let a function take what is drawn in the place of a case's arguments for it.

    >>> @drawn(lambda count: (list(range(count)), count % 2))
    ... def largest(numbers, odd, scale):
    ...     return scale * max(numbers) + odd
    >>> largest(count=5, scale=10)
    41
    """
    names = inspect.signature(draw).parameters

    def decorate(function: Callable[..., Any]) -> Prediction:
        @wraps(function)
        def of_case(**case: Any) -> Any:
            made = draw(**{name: case.pop(name) for name in names if name in case})
            return function(*made if isinstance(made, tuple) else (made,), **case)

        return of_case

    return decorate


def unlike(assumed: Mapping[str, Any], **arguments: Any) -> dict[str, Any]:
    """Return the arguments that are not what a function is to assume without them.

    >>> unlike({"momentum": 0.0}, momentum=0.0, curvature=1.0)
    {'curvature': 1.0}
    """
    return {
        name: value
        for name, value in arguments.items()
        if name not in assumed or value != assumed[name]
    }


def plus(more: float) -> Callable[[Any], Any]:
    """Return the change of a number by so much."""
    return lambda value: value + more


def times(factor: float) -> Callable[[Any], Any]:
    """Return the change of a number by a factor."""
    return lambda value: factor * value


Limits = tuple[float | None, float | None]
"""The least and the most of an effect, either absent."""


def limits(least: float | None, most: float | None, **_case: Any) -> Limits:
    """Predict that an effect lies between two limits."""
    return least, most


def stated(
    least: float | None, most: float | None = None, wrong: Limits = (None, 0.0)
) -> dict[str, Any]:
    """Return the parts of a claim that an effect lies between two limits.

    `wrong` are limits that have to be refuted: of no effect, by default.
    """
    return {
        "predict": partial(limits, least, most),
        "must_refute": partial(limits, *wrong),
    }


def unmet(printed: Limits, found: Limits) -> dict[str, Any]:
    """Return the parts of a claim that an effect is not as printed, but as found."""
    return {
        "predict": partial(limits, *printed),
        "must_hold": partial(limits, *found),
        "expected": Outcome.REFUTED,
    }
