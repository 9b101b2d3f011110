"""Symbols that the proofs on the square loss share."""

from typing import Any

import sympy

rho, lam = sympy.symbols("rho lambda", positive=True)
f1, f2, y1, y2 = sympy.symbols("f_1 f_2 y_1 y_2", real=True)
LABELS = (1, -1)
OUTPUTS = {f1: (0.1, 1.0), f2: (-1.0, 1.0)}


def labelled(expression: Any) -> Any:
    """Put the labels of two examples of both classes."""
    return expression.subs({y1: LABELS[0], y2: LABELS[1]})


def product(a: Any, b: Any) -> Any:
    """Return the sum of the products of two matrices' entries."""
    return sum(a.multiply_elementwise(b), sympy.Integer(0))
