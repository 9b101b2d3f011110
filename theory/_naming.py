"""Errors that begin with the name of the function that was called."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

SPEAKERS: set[str] = set()
"""Names of the functions whose errors `in_own_name` has begin with them."""


def in_own_name(function: Callable[P, T]) -> Callable[P, T]:
    """Let whatever refuses the arguments of a public function speak in its name.

    What it calls does not know what the user called: tables that several functions share
    say what is wrong with an argument, other public functions give their own name, which
    is replaced, and activations theirs, which is kept.
    """
    who = function.__name__
    SPEAKERS.add(who)

    @functools.wraps(function)
    def speaking(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except ValueError as error:
            text = str(error)
            inner, _, rest = text.partition(": ")
            if inner == who:
                raise
            rest = rest if inner in SPEAKERS else text
            raise ValueError(f"{who}: {rest}") from error

    return speaking
