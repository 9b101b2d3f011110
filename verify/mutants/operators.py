"""The mistakes that are planted: each operator turns a node of a syntax tree into others.

They are those of formulas and of training loops: a sign, a factor lost, the neighbouring
index, the sixth digit of a constant, the other branch, fan in for fan out, a step left
out.
"""

import ast
import builtins
import copy
from collections.abc import Callable, Iterator, Mapping

Operator = Callable[[ast.AST], Iterator[ast.AST]]

NUDGE = 1e-6
"""Relative change of a constant."""

SMALLEST = 1e-3
"""Constants below it are tolerances and guards, and are not nudged."""

NEIGHBOURS = (
    *(("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("amin", "amax")),
    *(("sum", "mean"), ("mean", "median"), ("any", "all"), ("floor", "ceil")),
    *(("sin", "cos"), ("sinh", "cosh"), ("fan_in", "fan_out"), ("rows", "columns")),
    *(("row", "column"), ("lower", "upper"), ("var_x", "var_y"), ("inputs", "outputs")),
    *(("weight_var", "bias_var"), ("width", "depth"), ("left", "right")),
    *(("eval", "train"), ("cumsum", "cumprod"), ("ones", "zeros")),
    *(("ones_like", "zeros_like"), ("tril", "triu"), ("beta1", "beta2")),
)
"""Names that are taken for each other."""

ROOTS = ("sqrt", "abs", "absolute", "exp", "log", "log1p", "expm1", "square", "conj")
"""Functions of one argument that are forgotten."""

ADDITIVE: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
}
_OPPOSITE = (
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq)),
    *((ast.Is, ast.IsNot), (ast.In, ast.NotIn)),
)
COMPARED: Mapping[type[ast.cmpop], type[ast.cmpop]] = dict(
    (*_OPPOSITE, *((other, one) for one, other in _OPPOSITE))
)
SEQUENCES = (ast.List, ast.Tuple, ast.ListComp, ast.JoinedStr)


def mutations(
    node: ast.AST, known: frozenset[str] = frozenset()
) -> Iterator[tuple[str, ast.AST]]:
    """Yield the name of every operator that applies, and what it makes of the node.

    A name is exchanged only for one in `known`, the names that its module uses.

    >>> tree = ast.parse("a - 2.0 * b", mode="eval").body
    >>> [(name, ast.unparse(new)) for name, new in mutations(tree)]
    [('sign', 'a + 2.0 * b')]
    """
    for name, operator in OPERATORS.items():
        for new in operator(node):
            yield name, new
    for new in neighbour(node, known):
        yield "neighbour", new


def sign(node: ast.AST) -> Iterator[ast.AST]:
    """Exchange plus and minus, and lose a minus."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node.operand
    elif isinstance(node, ast.BinOp | ast.AugAssign):
        other = ADDITIVE.get(type(node.op))
        if other is not None and not _joins(node):
            new = copy.copy(node)
            new.op = other()
            yield new


def factor(node: ast.AST) -> Iterator[ast.AST]:
    """Lose a factor, a divisor or an exponent."""
    if not isinstance(node, ast.BinOp) or _joins(node):
        return
    if isinstance(node.op, ast.Mult | ast.Div | ast.Pow | ast.FloorDiv):
        yield node.left
    same = ast.dump(node.left) == ast.dump(node.right)
    if isinstance(node.op, ast.Mult) and not same:
        yield node.right


def lost(node: ast.AST) -> Iterator[ast.AST]:
    """Lose a function: take the square for its root."""
    if (
        isinstance(node, ast.Call)
        and _last(node.func) in ROOTS
        and len(node.args) == 1
        and not node.keywords
    ):
        yield node.args[0]


def off_by_one(node: ast.AST) -> Iterator[ast.AST]:
    """Take the next whole number; end a range one early."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Call) and _last(node.func) in ("range", "arange"):
        at = min(1, len(node.args) - 1)
        if node.args and not isinstance(node.args[at], ast.Starred):
            new = copy.copy(node)
            less = ast.BinOp(node.args[at], ast.Sub(), ast.Constant(1))
            new.args = [less if n == at else arg for n, arg in enumerate(node.args)]
            yield new


def nudge(node: ast.AST) -> Iterator[ast.AST]:
    """Change a constant in its sixth digit, and zero to a millionth."""
    if isinstance(node, ast.Constant) and type(node.value) is float:
        new = node.value * (1.0 + NUDGE) if node.value else NUDGE
        # A tolerance or a guard: its sixth digit says nothing.
        small = 0.0 < abs(node.value) < SMALLEST
        if new != node.value and not small:
            yield ast.Constant(new)


def comparison(node: ast.AST) -> Iterator[ast.AST]:
    """Exchange strict and not strict, equal and unequal."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        new = copy.copy(node)
        new.ops = [COMPARED[type(node.ops[0])]()]
        yield new


def branch(node: ast.AST) -> Iterator[ast.AST]:
    """Take the other branch, `and` for `or`, true for false."""
    if isinstance(node, ast.If | ast.IfExp):
        new = copy.copy(node)
        new.test = ast.UnaryOp(ast.Not(), node.test)
        yield new
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(
            ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values
        )
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield ast.Constant(not node.value)
    elif (
        isinstance(node, ast.Call)
        and _last(node.func) == "where"
        and len(node.args) == 3
    ):
        new = copy.copy(node)
        new.args = [node.args[0], node.args[2], node.args[1]]
        yield new


def left_out(node: ast.AST) -> Iterator[ast.AST]:
    """Leave out a step: what is called for its effect, or updates in place."""
    called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    if called or isinstance(node, ast.AugAssign):
        yield ast.Pass()


def neighbour(node: ast.AST, known: frozenset[str]) -> Iterator[ast.AST]:
    """Take the neighbouring name: the largest for the smallest, fan in for out."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        library = ast.unparse(node.value) in ("np", "math", "torch", "mpmath")
        for other in _others(node.attr):
            if library or other in known or isinstance(node.value, ast.Call):
                new = copy.copy(node)
                new.attr = other
                yield new
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        for other in _others(node.id):
            if other in known or other in dir(builtins):
                yield ast.Name(other, ast.Load())


OPERATORS: Mapping[str, Operator] = {
    "sign": sign,
    "factor": factor,
    "lost": lost,
    "off by one": off_by_one,
    "nudge": nudge,
    "comparison": comparison,
    "branch": branch,
    "left out": left_out,
}


def _others(name: str) -> Iterator[str]:
    for one, other in NEIGHBOURS:
        if name in (one, other):
            yield other if name == one else one


def _last(function: ast.expr) -> str:
    """Return the last part of a dotted name."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _joins(node: ast.BinOp | ast.AugAssign) -> bool:
    """Whether texts, lists or tuples are joined or repeated."""
    updates = isinstance(node, ast.AugAssign)
    sides = [node.value] if updates else [node.left, node.right]
    return any(
        isinstance(side, SEQUENCES)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in sides
    )
