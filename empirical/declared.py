"""What a field can be, declared by its type: one way to check it, and to show it.

::

    @dataclass(frozen=True)
    class Recipe:
        rate: Positive = 0.1
        batch: Count | None = None
        data: Annotated[str, OneOf(NAMES)] = "mnist"

        def __post_init__(self) -> None:
            check_fields(self)

A `Literal` is checked as it stands, of a tuple every entry, and None where it is allowed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from empirical.checks import (
    check_choice,
    check_counts,
    check_exploded,
    check_kinds,
    check_positive,
    check_schedule,
    check_share,
    check_weights,
    check_whole,
)


class Rule:
    """Refuses values of a field; called with its owner's name, its own, and a value."""

    def __init__(self, check: Callable[[str, str, Any], object]) -> None:
        self.check = check


class OneOf(Rule):
    """One of the known words, which a command line shows, or of `others`."""

    def __init__(self, known: Iterable[str], *others: str) -> None:
        self.known = tuple(known)
        known = (*self.known, *others)
        super().__init__(lambda who, name, value: check_choice(who, name, value, known))


def _by(check: Callable[..., None], *given: Any) -> Rule:
    return Rule(lambda who, name, value: check(who, *given, **{name: value}))


Whole = Annotated[int, _by(check_whole)]
Count = Annotated[int, _by(check_counts)]
"""From 1 on."""
Number = Annotated[int, _by(check_counts, 0)]
"""From 0 on."""
Several = Annotated[int, _by(check_counts, 2)]
"""From 2 on."""
Positive = Annotated[float, _by(check_positive)]
Weight = Annotated[float, _by(check_weights)]
"""From 0 on."""
Share = Annotated[float, _by(check_share)]
"""In [0, 1)."""
Exploded = Annotated[float, Rule(lambda who, _, value: check_exploded(who, value))]
"""A factor of the first loss."""
Schedule = Annotated[
    tuple[float, ...], Rule(lambda who, _, value: check_schedule(who, value))
]
"""Increasing fractions."""


def check_fields(owner: object) -> None:
    """Refuse a dataclass's value with an entry that its field's type does not allow.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Recipe:
    ...     seeds: tuple[Count, ...]
    >>> check_fields(Recipe(seeds=(1, 0)))
    Traceback (most recent call last):
    ValueError: Recipe: `seeds` must be at least 1, but it is 0
    """
    kind = type(owner)
    given = {name: getattr(owner, name) for name in _hints(kind)}
    check_arguments(kind.__name__, kind, given)


def check_arguments(who: str, of: Any, given: Mapping[str, Any]) -> None:
    """Refuse what a dataclass's or a function's types do not allow, of what is given."""
    for name, hint in _hints(of).items():
        if name in given:
            _check((who, name), given[name], hint)


@cache
def _hints(of: Any) -> dict[str, Any]:
    return get_type_hints(of, include_extras=True)


def _check(of: tuple[str, str], value: Any, hint: Any) -> None:
    origin = get_origin(hint)
    if origin is Annotated and value is None:
        raise ValueError(f"{of[0]}: `{of[1]}` must be given, but it is None")
    if origin is Annotated:
        for rule in hint.__metadata__:
            rule.check(*of, value)
    elif origin is Literal:
        check_choice(*of, value, get_args(hint))
    elif origin in (tuple, Sequence):
        check_kinds(of[0], **{of[1]: (value, Sequence)})
        kind, *more = get_args(hint)
        if origin is tuple and more != [...] and len(value) != 1 + len(more):
            raise ValueError(
                f"{of[0]}: `{of[1]}` must be {1 + len(more)} values, but it is {value}"
            )
        for each in value:
            _check(of, each, kind)
    elif origin in (Union, UnionType) and value is not None:
        _check(of, value, next(h for h in get_args(hint) if h is not NoneType))


def known_of(hint: Any) -> tuple[str, ...]:
    """Return the words of the `OneOf` in a type, if there is one.

    Examples
    --------
    >>> known_of(tuple[Annotated[str, OneOf(("a", "b"))], ...] | None)
    ('a', 'b')
    """
    for rule in getattr(hint, "__metadata__", ()):
        if isinstance(rule, OneOf):
            return rule.known
    return next((found for h in get_args(hint) if (found := known_of(h))), ())
