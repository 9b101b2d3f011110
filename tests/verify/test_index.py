"""The index of claims: never behind the claims, and quick."""

import json
import subprocess
import sys

import pytest

from verify import index, ledger
from verify.selecting import order


def test_the_index_is_current():
    # Each line is that of a claim: no edit has passed it by.
    again = "`python -m verify.index` writes it anew"
    assert index.place().read_text(encoding="utf-8") == index.written(), again
    found = sorted(index.listed(), key=lambda each: order(each.id))
    assert [each.id for each in found] == [c.id for c in ledger.load()]


MODULE = """
from verify.claim import Claim, Evidence, Source
CLAIM = Claim(
    id="dc/toy", title="{title}", items=(), statement="", open_reason="a toy",
    source=Source("key", "where"), evidence=Evidence.NUMERIC,
)
"""


def test_a_module_that_has_changed_is_imported(tmp_path, monkeypatch):
    package = tmp_path / "toyclaims"
    package.mkdir()
    (package / "__init__.py").touch()
    one, other = package / "one.py", package / "_shared.py"
    one.write_text(MODULE.format(title="first"))
    other.touch()
    monkeypatch.syspath_prepend(tmp_path)

    def titles():
        for name in [n for n in sys.modules if n.startswith("toyclaims.")]:
            del sys.modules[name]
        return [each.title for each in index.listed("toyclaims")]

    def imported():
        return "toyclaims.one" in sys.modules

    # Without an index, with one, and with one that is behind.
    assert titles() == ["first"]
    assert imported()
    index.place("toyclaims").write_text(index.written("toyclaims"))
    assert titles() == ["first"]
    assert not imported()
    one.write_text(MODULE.format(title="another"))
    assert titles() == ["another"]
    index.place("toyclaims").write_text(index.written("toyclaims"))
    other.write_text("changed = True\n")
    assert titles() == ["another"]
    assert imported()
    index.place("toyclaims").write_text("{")
    assert titles() == ["another"]


def test_no_claim_is_dropped_unless_it_is_named(tmp_path, monkeypatch, capsys):
    package = tmp_path / "lostclaims"
    package.mkdir()
    (package / "__init__.py").touch()
    one = package / "one.py"
    monkeypatch.syspath_prepend(tmp_path)

    def write(*argv, text):
        one.write_text(text)
        sys.modules.pop("lostclaims.one", None)
        return index.main(argv, "lostclaims")

    def ids():
        content = json.loads(index.place("lostclaims").read_text())
        return [each["id"] for kept in content.values() for each in kept["claims"]]

    first = MODULE.format(title="first")
    second = first.replace("CLAIM", "OTHER").replace("dc/toy", "dc/other")
    assert write(text=first + second) == 0
    # The last lines of a module are cut off.
    assert write(text=first) == 1
    assert "dc/other" in capsys.readouterr().err
    assert sorted(ids()) == ["dc/other", "dc/toy"]
    # A slip in the name drops nothing either.
    with pytest.raises(SystemExit):
        write("--drop", "dc/other", "dc/toy", text=first)
    assert sorted(ids()) == ["dc/other", "dc/toy"]
    assert write("--drop", "dc/other", text=first) == 0
    assert ids() == ["dc/toy"]


def test_listing_imports_nothing_heavy():
    heavy = {"numpy", "scipy", "torch", "sympy", "rich", "hypothesis"}
    for arguments in (["list"], ["--help"]):
        code = (
            "import sys\nfrom verify.__main__ import main\n"
            f"try:\n    main({arguments!r})\nexcept SystemExit:\n    pass\n"
            f"assert not {heavy!r} & set(sys.modules)\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_the_index_is_json_that_names_its_sources():
    content = json.loads(index.place().read_text(encoding="utf-8"))
    assert all(
        len(each["source"]) == 16 and each["claims"] for each in content.values()
    )


def test_claims_that_are_named_are_those_of_the_whole_ledger():
    for named in (["dc/B"], ["dc/thm3.4", "id/Fig3"], ["mmd"]):
        chosen = ledger.select(named)
        ids = {entry.claim.id for entry in chosen}
        assert chosen == tuple(e for e in ledger.entries() if e.claim.id in ids)


def test_a_claim_that_is_named_is_all_that_is_imported():
    program = (
        "import sys; from verify import ledger;"
        "(entry,) = ledger.select(['dc/thm3.4-maximum']);"
        "print(entry.module, *[m for m in sys.modules if m.startswith('verify.claims.')"
        " and not m.rpartition('.')[2].startswith('_')])"
    )
    argv = [sys.executable, "-c", program]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    home, *imported = done.stdout.split()
    # With the packages that it lies in, and what it takes from a neighbour.
    assert home in imported
    assert len(imported) < 10
