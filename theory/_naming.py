"""Names: of functions in their errors, and of packages at a prompt and in `help`."""

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

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
        except TypeError as error:
            known = inspect.signature(function).parameters
            unknown = [name for name in kwargs if name not in known]
            if not unknown or unknown[0] not in str(error):
                raise
            near = nearest(unknown[0], known)
            hint = f"did you mean {near!r}?" if near else f"it has {', '.join(known)}"
            # From Python 3.13 on there may be a hint already.
            said = str(error).partition(". Did you mean")[0]
            raise TypeError(f"{said}: {hint}") from None

    return speaking


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that one that is none was most likely meant for, or nothing.

    Examples
    --------
    >>> nearest("depht", ("x", "depth")), nearest("a", ("x",))
    ('depth', '')
    """
    near = difflib.get_close_matches(name.lower()[:80], list(known), 1)
    return near[0] if near else ""


def publish(module: dict[str, Any], *taken: str) -> None:
    """Let `help` and completion show what a module has, not what it uses.

    Of a package that is all it takes from modules below it; of a module what is defined
    there, and what it is said to have taken from others.
    """
    home, package = module["__name__"], "__path__" in module
    names = sorted(
        name
        for name, value in module.items()
        if name in taken
        or (
            not (name.startswith("_") or isinstance(value, ModuleType))
            and (package or getattr(value, "__module__", None) == home)
        )
    )
    module.update(__all__=names, __dir__=names.copy)
