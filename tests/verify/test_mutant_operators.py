"""Each operator of mutations on a small source."""

import ast

import pytest

from verify.mutants.operators import NUDGE, OPERATORS, mutations


def made(source: str, known: str = "") -> set[tuple[str, str]]:
    node = ast.parse(source).body[0]
    inner = node.value if isinstance(node, ast.Expr) else node
    names = frozenset(known.split())
    of = [
        *mutations(node, names),
        *(mutations(inner, names) if inner is not node else ()),
    ]
    return {(name, ast.unparse(ast.fix_missing_locations(new))) for name, new in of}


@pytest.mark.parametrize(
    ("source", "operator", "results"),
    [
        ("a + b", "sign", {"a - b"}),
        ("a - b", "sign", {"a + b"}),
        ("-a", "sign", {"a"}),
        ("total += a", "sign", {"total -= a"}),
        ("a * b", "factor", {"a", "b"}),
        ("a / b", "factor", {"a"}),
        ("a**2", "factor", {"a"}),
        ("np.sqrt(a)", "lost", {"a"}),
        ("7", "off by one", {"8"}),
        ("range(n)", "off by one", {"range(n - 1)"}),
        ("range(a, b)", "off by one", {"range(a, b - 1)"}),
        ("0.5", "nudge", {repr(0.5 * (1.0 + NUDGE))}),
        ("0.0", "nudge", {repr(NUDGE)}),
        ("a < b", "comparison", {"a <= b"}),
        ("a >= b", "comparison", {"a > b"}),
        ("a == b", "comparison", {"a != b"}),
        ("a if b else c", "branch", {"a if not b else c"}),
        ("a and b", "branch", {"a or b"}),
        ("True", "branch", {"False"}),
        ("np.where(a, b, c)", "branch", {"np.where(a, c, b)"}),
        ("total += a", "left out", {"pass"}),
        ("parts.append(a)", "left out", {"pass"}),
        ("np.maximum(a, b)", "neighbour", set()),
        ("x.mean()", "neighbour", set()),
    ],
)
def test_each_operator(source, operator, results):
    assert {new for name, new in made(source) if name == operator} == results


def test_neighbours_are_names_that_exist():
    assert made("max") == {("neighbour", "min")}
    assert made("np.sin") == {("neighbour", "np.cos")}
    assert made("fan_in") == set()
    assert made("fan_in", "fan_out") == {("neighbour", "fan_out")}
    assert made("inputs.rows", "columns") == {("neighbour", "inputs.columns")}


@pytest.mark.parametrize(
    "source", ["'a' + b", "[a] + b", "[0] * n", "f'{a}' + b", "a[b]", "1e-9"]
)
def test_texts_lists_and_tolerances_keep_their_operators(source):
    assert not {name for name, _ in made(source)} & {"sign", "factor", "nudge"}


def test_every_operator_is_tried_above():
    marks = test_each_operator.pytestmark[0].args[1]
    assert {operator for _, operator, _ in marks} == {*OPERATORS, "neighbour"}
