"""Expressions of symbolic proofs as LaTeX: read as text, never evaluated.

A record keeps SymPy's text of a normal form. Its grammar is that of Python's arithmetic;
only the nodes, names and functions below are known, and any other text is none.
"""

import ast
import re
from collections.abc import Sequence
from functools import cache
from itertools import accumulate

_GREEK = "alpha beta gamma delta epsilon eta theta kappa lambda mu nu pi rho sigma tau"
_NAME = re.compile(rf"({'|'.join(_GREEK.split())}|[A-Za-z])(\d*)(?:_(\d+))?")
_KEYWORD = re.compile(r"\blambda\b")
_CALLED = {"erf": r"\operatorname{erf}", "log": r"\log", "cos": r"\cos"}
_LONG = 80
"""Letters and signs of a sum: of a longer one its first terms are shown, and how many."""
_SHOWN = 3
_UNSEEN = re.compile(r"\\operatorname|\\frac|\\(?=[a-z])|[{}_^ ]")


@cache
def latex(text: str) -> str:
    r"""Return an expression as LaTeX, long sums shortened; nothing where it is none.

    >>> print(latex("-sqrt(2)*rho_0*exp(c**2/2)/(s + 1)"))
    -\frac{\sqrt{2}\rho_{0}e^{c^{2}/2}}{s+1}
    >>> latex("__import__('os')"), latex("tanh.normalized()"), latex("4 networks")
    ('', '', '')
    """
    try:
        # The name of a variable here, a keyword there.
        read = ast.parse(_KEYWORD.sub("lambda_", text), mode="eval")
        return _sum(read.body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def several(texts: Sequence[str]) -> tuple[str, ...]:
    r"""Return different expressions as LaTeX, at most three and then their number.

    >>> print(*several(["0", "0", "x", "x_1 + 1"]))
    0 x x_{1}+1
    >>> several(["0", "1"]), several(["x", "words"])
    ((), ())
    """
    found = [latex(text) for text in dict.fromkeys(texts)]
    if not all(found) or not any(re.search("[A-Za-z]", each) for each in found):
        return ()
    if len(found) <= _SHOWN:
        return tuple(found)
    # What says something first: a proof's zeros and ones are many.
    shown = sorted(found, key=str.isdigit)[:_SHOWN]
    return (*shown, rf"\ldots\ ({len(found)}\text{{ expressions}})")


def _sum(node: ast.expr) -> str:
    terms = _terms(node)
    parts = [sign + _product(term) for sign, term in terms]
    sizes = [len(_UNSEEN.sub("", part)) for part in parts]
    if sum(sizes) > _LONG and len(parts) > 1:
        fit = sum(size <= _LONG // 2 for size in accumulate(sizes))
        parts = [*parts[: max(1, fit)], rf"+\cdots\ ({len(terms)}\text{{ terms}})"]
    return "".join(parts).removeprefix("+")


def _terms(node: ast.expr, sign: str = "+") -> list[tuple[str, ast.expr]]:
    """Return the terms of a sum with their signs: a loop, for there are thousands."""
    found: list[tuple[str, ast.expr]] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        found.append(("+" if isinstance(node.op, ast.Add) else "-", node.right))
        node = node.left
    found.append((sign, node))
    return found[::-1]


def _product(node: ast.expr) -> str:
    """Return a product or a quotient; a minus in front is in front of all of it."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return "-" + _product(node.operand)
    if not isinstance(node, ast.BinOp):
        return _atom(node)
    if isinstance(node.op, ast.Mult):
        # Two numbers side by side would be one.
        left, right = _factor(node.left), _factor(node.right)
        right = f"({right})" if right.startswith("-") else right
        between = r"\cdot " if left[-1:].isdigit() and right[:1].isdigit() else ""
        return left + between + right
    if isinstance(node.op, ast.Div):
        above, below = _sum(node.left), _sum(node.right)
        # A sign stands in front of the line.
        sign = "-" if above.startswith("-") and len(_terms(node.left)) == 1 else ""
        return rf"{sign}\frac{{{above.removeprefix(sign)}}}{{{below}}}"
    return _atom(node)


def _factor(node: ast.expr) -> str:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return f"({_sum(node)})"
    return _product(node)


def _atom(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return str(number)
        case ast.Name(id=name):
            return _name(name.removesuffix("_"))
        case ast.BinOp(left=base, op=ast.Pow(), right=power):
            shown = _atom(base) if isinstance(base, ast.Name | ast.Constant) else ""
            return f"{shown or f'({_sum(base)})'}^{{{_raised(power)}}}"
        case ast.Call(func=ast.Name(id="exp"), args=[argument], keywords=[]):
            return f"e^{{{_raised(argument)}}}"
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]):
            return _call(name, _sum(argument))
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return f"({_sum(node)})"
        case _:
            raise ValueError(f"{ast.dump(node)[:40]} is no part of an expression")


def _raised(node: ast.expr) -> str:
    """Return an exponent: a quotient on one line."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return "-" + _raised(node.operand)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        above, below = _factor(node.left), _factor(node.right)
        match node.right:
            case ast.BinOp(op=ast.Mult() | ast.Div()):
                below = f"({below})"
            case _:
                pass
        return f"{above}/{below}"
    return _sum(node)


def _name(name: str) -> str:
    found = _NAME.fullmatch(name)
    if found is None:
        raise ValueError(f"{name} is no symbol of an expression")
    letter = found[1] if len(found[1]) == 1 else rf"\{found[1]} "
    below = ",".join(filter(None, (found[2], found[3])))
    return f"{letter.strip()}_{{{below}}}" if below else letter


def _call(name: str, argument: str) -> str:
    if name == "sqrt":
        return rf"\sqrt{{{argument}}}"
    if name not in _CALLED:
        raise ValueError(f"{name} is no function of an expression")
    return f"{_CALLED[name]}({argument})"
