"""What changes the digest of a module's code, and what does not."""

import pytest

from empirical.digest import code_digest, sources, substance

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


IMPORTS = b"""\
import theory.a
def f():
    if x:
        import theory.b
    elif y:
        import theory.c
    else:
        import theory.d
    for _ in z:
        import theory.e
    else:
        import theory.f
try:
    import theory.g
except OSError:
    import theory.h
else:
    import theory.i
finally:
    import theory.j
class C:
    with a, b:
        async def f(self):
            from theory import k
match x:
    case 1:
        from . import l
"""


def test_an_import_is_found_wherever_it_stands(tmp_path):
    (tmp_path / "theory").mkdir()
    (tmp_path / "theory" / "__init__.py").write_bytes(IMPORTS)
    for name in "abcdefghijkl":
        (tmp_path / "theory" / f"{name}.py").write_text("1\n")
    found = sources("theory", (tmp_path,))
    assert sorted(found) == ["theory", *(f"theory.{name}" for name in "abcdefghijkl")]


def test_a_module_that_is_not_there_is_named():
    with pytest.raises(
        ValueError, match=r"code_digest: `module` .* 'empirical\.nowhere'"
    ):
        code_digest("empirical.nowhere")
