"""Options of a command line from dataclasses and functions: names, types, defaults, help.

A field ``weight_decay: float = 0.0`` becomes the option ``--weight-decay X``. Its default
is the example's value, its help what the docstring says of it under Attributes or
Parameters.
"""

import argparse
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from empirical.checks import nearest
from empirical.declared import known_of

Value = TypeVar("Value")

_CONVERTED = {int: "N", float: "X", str: "NAME", Path: "PATH"}
"""Types of one word on a command line, and what a help text calls such a word."""

FEW = 5
"""Choices that are shown in the place of such a word; more of them are in the help."""


class Chosen(argparse.ArgumentParser):
    """A subcommand's parser; its options, which load PyTorch, come when it is chosen.

    Of an option that it does not know it names the nearest that it does.
    """

    fill: Callable[[argparse.ArgumentParser], None] | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Parse arguments; exit with 2 where any are left over."""
        fill, self.fill = self.fill, None
        if fill is not None:
            fill(self)
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            # Whoever called this parser knows none of its options.
            words = [word.partition("=")[0] for word in rest if word.startswith("--")]
            near = nearest(words, list(self._option_string_actions))
            said = f"unrecognized arguments: {' '.join(rest)}"
            self.exit(2, f"error: {said}; `{self.prog} --help` lists all{near}\n")
        return found, rest


def explained(documented: object) -> dict[str, str]:
    """Return the text of a docstring on each attribute or parameter.

    Examples
    --------
    >>> explained(explained.__doc__)
    {}
    >>> def scaled(x):
    ...     '''Scale.
    ...
    ...     Parameters
    ...     ----------
    ...     x, y : float
    ...         Factors, at
    ...         least 1.
    ...     '''
    >>> explained(scaled)["y"]
    'Factors, at least 1.'
    """
    text = documented if isinstance(documented, str) else documented.__doc__
    found: dict[str, str] = {}
    sections = re.split(r"^(\w+)\n-+\n", inspect.cleandoc(text or ""), flags=re.M)
    for title, body in zip(sections[1::2], sections[2::2], strict=True):
        if title not in ("Attributes", "Parameters"):
            continue
        entries = re.findall(r"^(\S[^\n]*)\n?((?:[ ]+[^\n]*\n?|\n)*)", body, flags=re.M)
        for head, said in entries:
            words = " ".join(said.split()).replace("`", "")
            for name in head.partition(" : ")[0].split(", "):
                found[name] = words
    return found


def add_options(
    parser: Any,
    example: object,
    *,
    skip: Iterable[str] = (),
    said: Mapping[str, str] | None = None,
) -> None:
    """Add an option for every field of a dataclass's value, or parameter of a function.

    Parameters
    ----------
    parser : argparse.ArgumentParser or group of one
    example : dataclass or function
        Its values are the defaults, a `functools.partial` function's those it is given.
        What is a dataclass inside it makes a group. What is declared as `OneOf` is shown
        with its words; the dataclass itself refuses others, and names the nearest.
    skip : iterable of str
        Fields without an option.
    said : mapping, optional
        Help, where the docstring of `example` has none.
    """
    texts = {**(said or {}), **explained(_home(example))}
    declared = get_type_hints(_home(example), include_extras=True)
    hints = get_type_hints(_home(example))
    for name, default in _defaults(example).items():
        if name in skip:
            continue
        if is_dataclass(default):
            group = parser.add_argument_group(name)
            add_options(group, default, skip=skip, said=said)
            continue
        given = _arguments(hints[name], default)
        text, known = texts.get(name, ""), known_of(declared[name])
        if len(known) > FEW:
            text = f"{text.rstrip(' .')}. One of {', '.join(known)}"
        elif known:
            given["metavar"] = among(known)
        text = helping(text, default, absent=NoneType in get_args(hints[name]))
        option = "--" + name.replace("_", "-")
        parser.add_argument(option, default=default, help=text, **given)


def among(choices: Iterable[str]) -> str:
    """Return choices as argparse shows them, for an option that takes others too.

    Examples
    --------
    >>> among(("a", "b"))
    '{a,b}'
    """
    return f"{{{','.join(choices)}}}"


def helping(text: str, default: object, *, absent: bool = False) -> str:
    """Return what a docstring says of a field as an option's help, with its default.

    A field that may be `absent` can be set to ``none`` on the command line.

    Examples
    --------
    >>> helping("Fraction of the loss, in %.", 0.1)
    'fraction of the loss, in %% (default: 0.1)'
    >>> helping("SGD's momentum. Adam has none.", None)
    "SGD's momentum. Adam has none"
    """
    text = text.rstrip(" .").replace("%", "%%")
    if re.match(r"(A|[A-Z][a-z]+)\b", text):
        text = text[0].lower() + text[1:]
    if default is None or default is False or default in ("", ()):
        return text
    every: Any = default if isinstance(default, tuple) else [default]
    shown = " ".join(f"{x:g}" if isinstance(x, float) else str(x) for x in every)
    without = ", or none" if absent else ""
    return f"{text} (default: {shown}{without})"


def made(example: Value, options: argparse.Namespace, **others: Any) -> Value:
    """Return a dataclass's value with what the options say, and others, changed.

    Examples
    --------
    >>> from empirical.square_loss.recipes import Recipe
    >>> parser = argparse.ArgumentParser()
    >>> add_options(parser, Recipe(epochs=10))
    >>> options = parser.parse_args(["--weight-decay", "0.5", "--schedule", "0.5"])
    >>> made(Recipe(epochs=10), options) == Recipe(
    ...     epochs=10, weight_decay=0.5, schedule=(0.5,)
    ... )
    True
    """
    given: dict[str, Any] = {}
    for name, default in _defaults(example).items():
        if is_dataclass(default) and name not in others:
            given[name] = made(default, options)
        elif hasattr(options, name):
            value = getattr(options, name)
            given[name] = tuple(value) if isinstance(value, list) else value
    return replace(cast("Any", example), **{**given, **others})


def called(function: Callable[..., Value], options: Any, **others: Any) -> Value:
    """Return what a function makes of the options that it has parameters for, and others.

    Examples
    --------
    >>> options = argparse.Namespace(base=16, name="x")
    >>> def whole(text, base=10):
    ...     return int(text, base)
    >>> called(whole, options, text="ff")
    255
    """
    names = inspect.signature(function).parameters.keys() & vars(options).keys()
    return function(**{**{name: getattr(options, name) for name in names}, **others})


PHRASES = {
    "give a directory": "name its folder with `--data-folder`",
    "give the directory of": "name with `--data-folder` the folder of",
    "need allow_unverified=True": "need `--allow-unverified`",
}
"""What functions advise, and what a command offers instead."""


def spoken(
    message: str, options: argparse.Namespace, named: Mapping[str, str] | None = None
) -> str:
    """Return a function's complaint as a command's: of options, not of parameters.

    Parameters
    ----------
    message : str
        ``who: `parameter` must ...``, as all functions here word it.
    options : argparse.Namespace
        Whose names are parameters' too.
    named : mapping, optional
        Options of parameters that are called otherwise.

    Examples
    --------
    >>> told = "copier: `width` must be at least 1, but it is 0"
    >>> spoken(told, argparse.Namespace(width=0))
    '`--width` must be at least 1, but it is 0'
    """
    known = {name: "--" + name.replace("_", "-") for name in vars(options)}
    known |= named or {}
    # The function's name, which no one has typed.
    message = re.sub(r"^(?:error: )?[A-Za-z_][\w.]*: ", "", message)
    message = re.sub(
        r"`(\w+)`", lambda found: f"`{known.get(found[1], found[1])}`", message
    )
    for words, others in PHRASES.items():
        message = message.replace(words, others)
    return message


def spoken_end(outcome: str, options: argparse.Namespace) -> str:
    """Return how a task of a batch ended, with its complaint as `spoken`.

    Examples
    --------
    >>> spoken_end("failed: load: `width` must be 2", argparse.Namespace(width=0))
    'failed: `--width` must be 2'
    """
    end, _, why = outcome.partition(": ")
    return f"{end}: {spoken(why, options)}" if end == "failed" else outcome


def _home(example: object) -> Any:
    """Return what has the annotations and the docstring."""
    if isinstance(example, partial):
        example = cast("partial[Any]", example).func
    return example if inspect.isfunction(example) else type(example)


def _defaults(example: object) -> dict[str, Any]:
    if inspect.isfunction(example) or isinstance(example, partial):
        parameters = inspect.signature(example).parameters
        return {name: each.default for name, each in parameters.items()}
    assert is_dataclass(example)
    return {f.name: getattr(example, f.name) for f in fields(example)}


def _arguments(hint: Any, default: Any) -> dict[str, Any]:
    """Return what argparse wants to know of a type."""
    absent = False
    if get_origin(hint) in (Union, UnionType):
        kinds = [kind for kind in get_args(hint) if kind is not NoneType]
        absent, hint = len(kinds) < len(get_args(hint)), kinds[0]
    if hint is bool:
        if default is False:
            return {"action": "store_true"}
        return {"action": argparse.BooleanOptionalAction}
    if get_origin(hint) is Literal:
        return {"choices": get_args(hint)}
    given: dict[str, Any] = {}
    if isinstance(default, tuple):
        hint = get_args(hint)[0]
        given["nargs"] = "*"
    kind = hint if hint in _CONVERTED else str
    given["metavar"] = _CONVERTED[kind]
    return {**given, "type": _or_none(kind) if absent else kind}


def _or_none(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a converter that takes ``none`` too."""

    def convert(text: str) -> Any:
        return None if text.lower() == "none" else kind(text)

    convert.__name__ = kind.__name__
    return convert
