"""What changes the digest of a module's code, and what does not."""

import ast

import pytest

from empirical import digest
from empirical.digest import code_digest, substance

PLAIN = b"""\
def f(x):
    a = "# no remark"
    b = ("one"
         "two # 2")
    return f"{x}#" + a + b
"""

REMARKED = b'''\
"""A module.

# Not a remark of Python's, but of the docstring.
"""
# Of the whole.

def f(x):  # of its own: "quoted"
    """Return something."""

    a = "# no remark"  # but this one is
    b = ("one"  # between two texts
         "two # 2")  # after both

    # Before the end.
    return f"{x}#" + a + b#at once
'''


def test_remarks_docstrings_and_blank_lines_are_no_code():
    assert substance(PLAIN) == PLAIN.rstrip()
    assert substance(REMARKED) == PLAIN.rstrip()


def test_columns_are_those_of_the_text():
    assert substance("x = 'äöü#ß'  # ä\n".encode()) == "x = 'äöü#ß'".encode()
    assert substance("x = ('ä'  # ä\n 'ö#'  # ö\n)".encode()) == (
        "x = ('ä'\n 'ö#'\n)".encode()
    )


CLAIM = """\
claim(
    "x",{remark}
    holds=True,
)
text = f(finding=other, uses=(other,), note="a finding")
"""


@pytest.mark.parametrize(
    "remark",
    [
        "",
        '\n    finding="It holds. # 1",',
        '\n    finding=(\n        "It holds,"  # here\n\n        f"{x} times."\n    ),',
        '\n    open_reason="Nobody knows.",',
        '\n    uses=("a", "b"),',
        '\n    uses=(\n        "a",  # first\n        "b",\n    ),',
    ],
)
def test_what_a_claim_remarks_is_no_code(remark):
    bare = CLAIM.format(remark="").rstrip().encode()
    assert substance(CLAIM.format(remark=remark).encode()) == bare
    # What is computed is.
    assert b"finding=other, uses=(other,)" in bare


@pytest.mark.parametrize("package", ["theory", "empirical", "verify"])
def test_what_is_left_is_the_same_program(package):
    for path in sorted((digest.ROOT / package).rglob("*.py"))[::7]:
        whole, left = (
            ast.parse(text)
            for text in (path.read_bytes(), _with_bodies(substance(path.read_bytes())))
        )
        assert _code(whole) == _code(left), path


def _with_bodies(text):
    # A body that is a docstring alone leaves nothing.
    lines = text.decode().splitlines()
    out = []
    for number, line in enumerate(lines):
        out.append(line)
        following = lines[number + 1] if number + 1 < len(lines) else ""
        depth = len(line) - len(line.lstrip())
        opens = line.endswith(":") and line.lstrip().startswith(("def", "class"))
        if opens and len(following) - len(following.lstrip()) <= depth:
            out.append(" " * (depth + 4) + "pass")
    return "\n".join(out)


def _code(tree):
    for node in ast.walk(tree):
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ):
            node.body = [s for s in node.body if not _says_nothing(s)]
        if isinstance(node, ast.Call):
            node.keywords = [k for k in node.keywords if not digest._is_remark(k)]
    return ast.dump(tree)


def _says_nothing(statement):
    # A docstring stands below a constant, too.
    text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Pass) or (
        text and isinstance(statement.value.value, str)
    )


def test_a_module_that_is_not_there_is_named():
    with pytest.raises(
        ValueError, match=r"code_digest: `module` .* 'empirical\.nowhere'"
    ):
        code_digest("empirical.nowhere")
