"""What changes the digest of a module's code, and what does not."""

import pytest

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
    assert substance(REMARKED) == substance(PLAIN)
    constant = b'x = 1\n"""Of x."""\n'
    assert substance(constant) == substance(b"x = 1")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('x = """a\n\nb"""', 'x = """a\nb"""'),
        ("f(1)", "f(1.0)"),
        ("f('')", "f(None)"),
        ("f(a, b)", "f((a, b))"),
        ("x = a + b + c", "x = a + (b + c)"),
        ("x = 'a', 'b'", "x = 'a, b'"),
        ("x = b'a'", "x = 'a'"),
        ("if a:\n    b\nc", "if a:\n    b\n    c"),
    ],
)
def test_other_code_is_told_apart(one, other):
    assert substance(one.encode()) != substance(other.encode())


def test_layout_is_no_code():
    joined = b'f("ab", f"{x}\xc3\xa4", [1, 2])'
    assert substance(b'f(\n "a" "b",\n f"{x}" "\xc3\xa4", [1,2,])') == substance(joined)


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
    bare = CLAIM.format(remark="")
    assert substance(CLAIM.format(remark=remark).encode()) == substance(bare.encode())
    # What is computed is.
    other = bare.replace("finding=other", "finding=another")
    assert substance(other.encode()) != substance(bare.encode())


def test_a_module_that_is_not_there_is_named():
    with pytest.raises(
        ValueError, match=r"code_digest: `module` .* 'empirical\.nowhere'"
    ):
        code_digest("empirical.nowhere")
