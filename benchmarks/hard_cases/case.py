"""A row of the table: what `theory` is asked, and what its answer is held to."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import reference_laws as laws
import reference_smooth as smooth
from flint import arb, ctx

from theory import activations as act

Judge = Callable[[Any], float | str]


def value(found: Any) -> float | str:
    """Show an answer as it is."""
    return found if isinstance(found, str) else float(found)


@dataclass(frozen=True)
class Case:
    """One row.

    Attributes
    ----------
    what, right, before : str
        The question, what is right or asked for, and what came of it before.
    call : callable
        `theory`'s part, which is timed.
    judge : callable, optional
        From its answer to the number shown; None: the seconds of processor time.
    limit : int
        Seconds of processor time after which it is ended.
    """

    what: str
    right: str
    before: str
    call: Callable[[], Any]
    judge: Judge | None = value
    limit: int = 30

    def run(self) -> tuple[str, str]:
        """Return what is shown, and the seconds that `theory` took."""
        start = time.process_time()
        try:
            found = self.call()
        except Exception as error:
            return said(error), f"{time.process_time() - start:.2g}"
        seconds = time.process_time() - start
        shown = seconds if self.judge is None else self.judge(found)
        text = shown if isinstance(shown, str) else f"{shown:.3g}"
        return text, f"{seconds:.2g}"


def said(error: Exception) -> str:
    """Tell a refusal that names the function and the argument from other errors."""
    text = str(error)
    named = re.match(r"[\w.\[\]() ]+: ", text) and "`" in text
    if isinstance(error, (ValueError, TypeError)) and named:
        return "refused"
    return (
        f"{type(error).__name__}: {text.splitlines()[0]:.40}" if text else repr(error)
    )


# --- what answers are held to ---------------------------------------------------------


def relative(true: Callable[[], Any]) -> Judge:
    """Judge by the relative error."""

    def judge(got: Any) -> float:
        with mpmath.workdps(60):
            t = mpmath.mpf(true())
            return float(abs(mpmath.mpf(float(got)) - t) / abs(t))

    return judge


def law(name: str) -> laws.Law:
    """Return the reference of a member of the catalogue."""
    ctx.prec = 300
    return {**laws.FORMULAS, **laws.half_lines(50), **smooth.smooth(45)}[name]()


def layer(name: str, square: float, cosine: float) -> tuple[Any, Any]:
    """Exact K and E s'(u)s'(v) of one layer, lengths equal."""
    exact = law(name)
    p = arb(square)
    return exact.two(p, p, (p * arb(cosine)).mid())


def dual(name: str, var: float = 1.0, rho: float = 0.3) -> Judge:
    """Judge a dual at equal variances by its error over the second moment."""

    def judge(got: Any) -> float:
        true = layer(name, var, rho)[0]
        return float(abs(arb(float(got)) - true) / law(name).one(arb(var))[0])

    return judge


def known(name: str) -> act.Activation:
    """Return a member of the catalogue."""
    return act.CATALOGUE[name]


def bind(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[[], Any]:
    """Return a call with its arguments."""
    return lambda: function(*args, **kwargs)
