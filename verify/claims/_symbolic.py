"""Symbolic proofs: what the definitions give and a formula, both in one normal form.

Each side is a list of SymPy expressions brought to the form ``p/q`` with expanded, coprime
p and q over their generators: where two of them have the same form they are equal for all
values of the symbols. The library's function is compared with the formula at random
rational points.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy.polys.rings import PolyRing

from verify.claim import Claim, grid, symbolic
from verify.claims._certified import agree, points
from verify.compare import Identical


def normal(expression: Any) -> str:
    """Return the normal form of a rational function of its generators, as text.

    >>> x = sympy.Symbol("x")
    >>> normal((x**2 - 1) / (x - 1))
    'x + 1'
    """
    symbols = sorted(sympy.sympify(expression).free_symbols, key=str)
    try:
        # Multiplied out as polynomials: many times as fast as as expressions.
        return str(PolyRing(symbols, sympy.QQ).from_expr(expression).as_expr())
    except ValueError:
        pass  # with roots, functions or a division
    expanded = sympy.expand(expression)
    if expanded.is_polynomial(*expanded.free_symbols):
        return str(expanded)
    return str(sympy.cancel(sympy.together(expanded)))


@dataclass(frozen=True)
class Link:
    """A function of the library and the expression that it is to be.

    Attributes
    ----------
    library : callable
        Of floats, one a symbol.
    expression : SymPy expression
    box : mapping of symbol to interval
        Where they are compared.
    whole : bool
        Compare at whole numbers alone.
    relative : float
        What the library's rounding may make of the larger of one and the value.
    """

    library: Callable[..., Any]
    expression: Any
    box: dict[Any, tuple[float, float]]
    whole: bool = False
    relative: float = 1e-12

    def check(self) -> None:
        """Raise ArithmeticError where the two differ."""
        where = points(*self.box.values())
        if self.whole:
            where = [[float(round(v)) for v in point] for point in where]

        def value(*point: Any) -> Any:
            # A float is a fraction with a power of two below the line.
            exact = (sympy.Rational(float(v)) for v in point)
            return self.expression.subs(dict(zip(self.box, exact, strict=True)))

        agree(self.library, value, where, relative=self.relative)


Expressions = Callable[[], Sequence[Any]]


def proof(
    *,
    id: str,
    derived: Expressions,
    formula: Expressions,
    wrong: Expressions,
    mistake: str,
    links: Callable[[], Sequence[Link]],
    **fields: Any,
) -> Claim:
    """Return the claim that `derived` is `formula`, which the library computes.

    The prediction is the formula's normal form, once the library is found to agree with
    it; `wrong` is a formula with a realistic mistake, which `mistake` says in words.
    """

    def predict() -> list[str]:
        for link in links():
            link.check()
        return [normal(e) for e in formula()]

    def measure() -> list[str]:
        return [normal(e) for e in derived()]

    def must_refute() -> list[str]:
        return [normal(e) for e in wrong()]

    must_refute.__doc__ = mistake

    return symbolic(
        id=id,
        cases=grid(),
        predict=predict,
        measure=measure,
        compare=Identical(),
        must_refute=must_refute,
        **fields,
    )
