"""The engine of mutations: what it plants, and that its list cannot fall behind."""

import ast
import functools
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from verify import index
from verify.mutants import __main__ as command
from verify.mutants import lines, sites, survivors, uncovered, verdicts
from verify.mutants.__main__ import SEED, SHARES, kept_in, main
from verify.mutants.cases import Said, numbers
from verify.mutants.children import each
from verify.mutants.verdicts import Fate, Verdict

ROOT = Path(__file__).resolve().parents[2]


# --- what is left alone ---------------------------------------------------------------

SOURCE = '''"""A sum: 1 + 1."""
import numpy as np
from theory import _checks
SHARE = 0.5

def half(x: "1 + 1", *, who: int = 3):
    """Return x / 2 + 0."""
    x = _checks.real("half", "x", 2 * x)
    check_size(x, 1 + 1)
    if x.ndim != 1:
        raise ValueError("x - 1")
    assert x.size > 0
    y = solve(x, rtol=1e-3 + 0.0)
    _checks.result("half", 2 * y)
    return _checks.plain(_checks.result("half", SHARE * y, "x"))
'''


def test_checks_messages_and_tolerances_are_left_alone():
    found = sites.mutants_of(SOURCE, "theory/half.py")
    assert {(m.function, m.operator, m.before) for m in found} == {
        ("", "nudge", "0.5"),
        ("", "off by one", "3"),
        ("half", "factor", "SHARE * y"),
    }
    assert {m.before: m.called for m in found} == {
        "0.5": False,
        "3": False,
        "SHARE * y": True,
    }
    assert [m.lines for m in found if m.called] == [(15,), (15,)]


def test_thresholds_are_moved_by_comparisons_not_by_their_sixth_digit():
    found = sites.mutants_of("def f(x):\n    return x < 0.5\n", "theory/f.py")
    assert [m.operator for m in found] == ["comparison"]


def test_what_is_planted_is_what_the_key_says():
    source = "def f(a, b):\n    return (a - b) * (a - b) if a else -b\n"
    found = sites.mutants_of(source, "theory/f.py")
    assert len({m.key for m in found}) == len(found)
    texts = {m.key: ast.unparse(sites.planted(source, m)) for m in found}
    assert len(set(texts.values())) == len(found)
    assert ast.unparse(ast.parse(source)) not in texts.values()
    second = "theory/f.py:f sign: a - b -> a + b (2)"
    assert texts[second].endswith("return (a - b) * (a + b) if a else -b")


def test_every_mutation_of_the_comparisons_compiles():
    found = list(sites.every(["verify/compare"]))
    assert len(found) > 200
    for mutant in found[::5]:
        mutant.code()


# --- the sample -----------------------------------------------------------------------


def test_the_sample_is_reproducible_and_stable():
    functions = [f"def f{n}(a, b):\n    return a + {n} * b\n" for n in range(200)]
    found = sites.mutants_of("".join(functions), "theory/f.py")
    keys = {m.key for m in sites.sample(found, 0.2, seed=3)}
    assert keys == {m.key for m in sites.sample(found, 0.2, seed=3)}
    assert keys != {m.key for m in sites.sample(found, 0.2, seed=4)}
    # Binomial(800, 0.2): five standard deviations are 57.
    assert abs(len(keys) - 0.2 * len(found)) < 57
    # Without the first function the others stay as they are; a smaller share is a part.
    fewer = sites.mutants_of("".join(functions[1:]), "theory/f.py")
    assert {m.key for m in sites.sample(fewer, 0.2, seed=3)} == {
        key for key in keys if ":f0 " not in key
    }
    assert {m.key for m in sites.sample(found, 0.1, seed=3)} < keys


# --- verdicts -------------------------------------------------------------------------


def executed(claim, seconds=1.0, imports=(), **run):
    run = {f"theory/{name}.py": frozenset(numbers) for name, numbers in run.items()}
    parts = [lines.Part(0, seconds, Said("holds", "refuted"), run)]
    return lines.Executed(claim, "module", f"code of {claim}", [*imports], parts)


def test_claims_that_execute_the_line_are_asked_cheapest_first():
    text = "A = 1.5\ndef f(a):\n    return a + A\n"
    constant, plus = sites.mutants_of(text, "theory/f.py")
    known = {
        e.claim: e
        for e in (
            executed("dc/slow", 2.0, f=[3]),
            executed("dc/quick", 1.0, f=[2, 3]),
            executed("dc/endless", 1e9, f=[3]),
            executed("dc/elsewhere", 0.1, f=[2], imports=["theory/f.py"]),
            executed("dc/importing", 0.1, imports=["theory/f.py"]),
        )
    }
    names = [q.claim.claim for q in verdicts.asked(plus, known)]
    assert names == ["dc/quick", "dc/slow"]
    names = [q.claim.claim for q in verdicts.asked(constant, known)]
    assert names == ["dc/elsewhere", "dc/quick", "dc/slow"]
    found = list(verdicts.judged([plus], {}, workers=1))
    assert [v.fate for v in found] == [Fate.NOT_COVERED]


def one(file: str, function: str, operator: str, before: str) -> sites.Mutant:
    source = (ROOT / file).read_text(encoding="utf-8")
    return next(
        m
        for m in sites.mutants_of(source, file)
        if (m.function, m.operator, m.before) == (function, operator, before)
    )


def judged(
    mutant: sites.Mutant, claim: tuple[str, str], case: int | None = None
) -> Verdict:
    """Return the verdict of a claim, all of whose cases are asked, or of one case."""
    from verify import ledger

    name, module = claim
    asked = numbers(ledger.find(name)[0].claim) if case is None else [case]
    run = {mutant.file: frozenset(mutant.lines)}
    seconds = 1.0 / len(asked)
    parts = [lines.Part(n, seconds, Said("", ""), run) for n in asked]
    known = {name: lines.Executed(name, module, "", [], parts)}
    (found,) = verdicts.judged([mutant], known, workers=1)
    return found


POLYNOMIALS = (
    "dc/defC.1-polynomials",
    "verify.claims.deep_conditioning.activations.own",
)


RECURSION = (
    *("theory/hermite.py", "_raised", "sign"),
    "x * high - math.sqrt(k) * low",
)


def test_a_planted_mistake_is_killed():
    wrong = one(*RECURSION)
    found = judged(wrong, POLYNOMIALS)
    assert (found.mutant, found.fate) == (wrong.key, Fate.KILLED)
    # Constant and linear polynomials have no second term.
    assert (found.claim, found.case, found.asked) == (POLYNOMIALS[0], 2, 3)
    assert judged(wrong, POLYNOMIALS, 1).fate is Fate.SURVIVED


def test_a_planted_survivor_is_reported():
    # Of another topic: the claim on polynomials cannot see it.
    wrong = one(
        "theory/neural_collapse.py",
        "_contrasts",
        "factor",
        "-k / np.sqrt(k * (k + 1.0))",
    )
    found = judged(wrong, POLYNOMIALS)
    assert found.fate is Fate.SURVIVED
    said = list(survivors.complaints({}, {found.mutant: found}, {found.mutant}))
    assert said == [f"survives, and is not listed: {found.mutant}"]


def _tells(job, tell):
    tell(os.getpid())
    if job == "ends":
        return
    if job == "raises":
        raise ArithmeticError("no such number")
    if job == "dies":
        os._exit(3)
    start = time.process_time()
    while True:
        assert time.process_time() - start < 60.0


def test_children_that_raise_die_or_do_not_end_are_told_apart():
    jobs = ["ends", "raises", "dies", "works on"]
    told = dict(each(jobs, _tells, workers=2, seconds=lambda _: 1.0, anew=False))
    assert len({messages[0] for messages in told.values()} | {os.getpid()}) == 5
    assert [len(told[job]) for job in jobs] == [1, 2, 1, 1]
    assert "no such number" in told["raises"][1]


def test_verdicts_are_kept_as_they_are(tmp_path):
    some = [
        Verdict("theory/a.py:f sign: a -> b", Fate.KILLED, "dc/eq1", 2, "code", case=3),
        Verdict("verify/compare/a.py:f sign: a -> b", Fate.SURVIVED, "", 9, "c", "t"),
    ]
    verdicts.write(some, tmp_path / "v.json")
    assert [*verdicts.read(tmp_path / "v.json").values()] == some
    assert [v.package for v in some] == ["theory", "verify/compare"]


def test_a_verdict_is_current_until_its_claim_changes():
    known = {"dc/a": executed("dc/a"), "dc/b": executed("dc/b")}
    killed = Verdict(
        "m", Fate.KILLED, "dc/a", 1, verdicts.code_of(known["dc/a"], known)
    )
    lives = Verdict("m", Fate.SURVIVED, "", 2, verdicts.code_of(None, known))
    assert verdicts.is_current(killed, known)
    assert verdicts.is_current(lives, known)
    other = known | {"dc/b": lines.Executed("dc/b", "module", "new", [], [])}
    assert verdicts.is_current(killed, other)
    assert not verdicts.is_current(lives, other)
    assert not verdicts.is_current(killed, {"dc/b": known["dc/b"]})


# --- the list of survivors ------------------------------------------------------------


def verdict(mutant: str, fate: Fate, claim: str = "") -> Verdict:
    return Verdict(mutant, fate, claim, 1, "code")


def test_the_list_fails_both_ways():
    lives = verdict("theory/a.py:f sign: a -> b", Fate.SURVIVED)
    dies = verdict("theory/a.py:g sign: a -> b", Fate.KILLED, "dc/eq1")
    found = {v.mutant: v for v in (lives, dies)}
    known = set(found)

    def said(*listed, known=known):
        return list(survivors.complaints(listed, found, known))

    assert said(lives.mutant) == []
    assert said() == [f"survives, and is not listed: {lives.mutant}"]
    assert said(lives.mutant, dies.mutant) == [
        f"listed, but killed by dc/eq1: {dies.mutant}"
    ]
    assert said(lives.mutant, "theory/b.py: sign: a -> b") == [
        "listed, but not in the source any more: theory/b.py: sign: a -> b"
    ]
    more = known | {"theory/c.py: x"}
    assert said(lives.mutant, "theory/c.py: x", known=more) == [
        "listed, but not in the sample: theory/c.py: x"
    ]


@pytest.mark.parametrize("reason", ["because", "open: ", "equivalent:"])
def test_a_reason_says_which_kind_it_is(tmp_path, reason):
    path = tmp_path / "s.toml"
    path.write_text(f'[[survivor]]\nmutant = "m"\nreason = "{reason}"\n')
    with pytest.raises(ValueError, match="must begin with"):
        survivors.read(path)


def test_the_score_counts_equivalent_mutations_for_neither_side():
    fates = [Fate.KILLED, Fate.KILLED, Fate.TIMED_OUT, Fate.SURVIVED, Fate.SURVIVED]
    found = [verdict(f"theory/a.py:f{n}", fate) for n, fate in enumerate(fates)]
    found.append(verdict("theory/a.py:f9", Fate.NOT_COVERED))
    (score,) = survivors.scores(found, {"theory/a.py:f3": "equivalent: a guard"})
    assert (score.noticed, score.total, score.tested) == (3, 5, None)
    assert "ledger alone 3 of 5 (60%)" in str(score)


@functools.cache
def planted(file: str) -> tuple[sites.Mutant, ...]:
    """Return all mutations of a file, none of one that has gone or is left alone."""
    if not any(file in sites.files(package) for package in sites.PACKAGES):
        return ()
    return tuple(sites.mutants_of((ROOT / file).read_text(encoding="utf-8"), file))


def in_source(keys: Iterable[str]) -> set[str]:
    """Return the keys of all mutations of the files that these are in."""
    files = {key.partition(":")[0] for key in keys}
    return {mutant.key for file in files for mutant in planted(file)}


def test_what_is_listed_and_kept_agrees_with_the_source():
    # Without running anything; `tox -e mutants` finds each verdict again.
    listed, kept = survivors.read(), verdicts.read()
    known = in_source((*listed, *kept))
    assert list(survivors.complaints(listed, kept, known)) == []


def test_survivors_of_other_seeds_are_in_the_source_and_in_no_list_twice():
    listed, others = survivors.read(), survivors.read(survivors.OTHERS)
    assert others
    assert set(others) <= in_source(others)
    assert not set(others) & set(listed)


def test_other_seeds_leave_the_verdicts_alone(tmp_path):
    assert kept_in(SEED, tmp_path) == verdicts.PLACE
    assert kept_in(SEED + 1, tmp_path).parent == tmp_path / "quick"


def test_what_noticed_a_mutation_is_a_claim():
    """Of one that is gone, and of the others that execute the line, nothing is known."""
    known = {each.id for each in index.listed()}
    killers = {v.claim for v in verdicts.read().values() if v.claim}
    assert killers - known == set()


def test_what_is_kept_is_of_the_sample():
    kept = verdicts.read().values()
    assert {v.package for v in kept} == set(sites.PACKAGES)
    assert all(sites.lot(v.mutant, SEED) < SHARES[v.package] for v in kept)


QUICKLY = 8
"""How many mutations `tox -e test` plants again."""


def test_some_of_the_sample_are_killed_still():
    # Those whose lots are lowest, of those that the first asked kills; others move none of
    # them. A mutation that is no longer in the source is left to `tox -e mutants`.
    from verify import ledger

    homes = {e.claim.id: e.module for e in ledger.entries()}
    killed = [v for v in verdicts.read().values() if v.fate is Fate.KILLED]
    killed = [v for v in killed if v.asked == 1 and v.claim in homes]
    found = (
        (mutant, each_of.claim, each_of.case)
        for each_of in sorted(killed, key=lambda v: sites.lot(v.mutant, SEED))
        for mutant in planted(each_of.mutant.partition(":")[0])
        if mutant.key == each_of.mutant
    )
    chosen = list(itertools.islice(found, QUICKLY))
    assert len(chosen) == QUICKLY
    for mutant, claim, case in chosen:
        verdict_now = judged(mutant, (claim, homes[claim]), case)
        assert verdict_now.fate is Fate.KILLED, mutant.key


# --- functions that no claim executes -------------------------------------------------


def test_public_functions_that_nothing_executes():
    source = (
        "class Base(Protocol):\n    def a(self): ...\n"
        "class Kind:\n"
        '    def b(self):\n        """Say."""\n        return 1\n'
        "    @abstractmethod\n    def c(self): ...\n"
        "    def _d(self):\n        return 1\n"
        "def e():\n    return 1\n"
    )
    found = {f.name: f.lines for f in uncovered.public("theory/a.py", source)}
    assert found == {"Kind.b": {6}, "e": {12}}
    file = "theory/hermite.py"
    text = (ROOT / file).read_text(encoding="utf-8")
    whole = {f.name: f.lines for f in uncovered.public(file, text)}
    some = sorted(whole)[0]
    ran = executed("dc/a", hermite=whole[some])
    missing, counts = uncovered.uncovered({"dc/a": ran})
    assert counts["theory"] > 300
    assert {f.name for f in missing if f.file == file} == set(whole) - {some}


def test_every_public_function_of_theory_has_a_claim():
    """Whether the claims do execute them is asked by `tox -e verify`."""
    named = [key for keys in uncovered.executing().values() for key in keys]
    wanted = [function.key for function in uncovered.of_package("theory")]
    assert sorted(named) == sorted(wanted), (
        "name a claim that executes it in verify/mutants/executing.json"
    )


def test_uncovered_says_which_networks_it_lacks(tmp_path, monkeypatch):
    """Claims on training were given none, and called red without any mutation."""
    monkeypatch.chdir(tmp_path)
    said = "have no record of the present code, e.g. .*; `python -m verify.report`"
    with pytest.raises(FileNotFoundError, match=said):
        command._executed(tmp_path, 1, trained=True)


def test_a_function_that_its_claim_does_not_enter():
    known = {"dc/lemD.3-callable": ["theory/hermite.py:coefficients", "theory/a.py:b"]}
    assert uncovered.unexecuted(known) == sorted(known["dc/lemD.3-callable"])


def test_the_lines_of_a_claim(tmp_path):
    # In a process of its own: coverage.py traces one thing at a time.
    program = (
        "from pathlib import Path\nimport sys\n"
        "from verify.mutants import lines\n"
        "wanted = [w for w in lines.closed() if w.claim == sys.argv[1]]\n"
        "folder = Path(sys.argv[2])\n"
        "assert list(lines.measure(wanted, folder, workers=1)) == [sys.argv[1]]\n"
        "assert list(lines.measure(wanted, folder, workers=1)) == []\n"
    )
    subprocess.run(
        [sys.executable, "-c", program, POLYNOMIALS[0], str(tmp_path)],
        check=True,
        cwd=ROOT,
    )
    kept = json.loads(lines.path_of(POLYNOMIALS[0], tmp_path).read_text())
    found = lines.unpacked(kept)
    # The control agrees where the polynomial is constant.
    controls = ["holds", *["refuted"] * 5]
    assert [p.said for p in found.parts] == [Said("holds", c, None) for c in controls]
    # Only the constant is compared without a difference.
    wrong = one("verify/compare/exact.py", "_share", "factor", "difference / allowed")
    by_case = [set(wrong.lines) <= p.run[wrong.file] for p in found.parts]
    assert by_case == [False, True, True, True, True, True]
    assert lines.packed(found) == kept


def test_without_coverage_it_says_what_is_missing(monkeypatch, capsys) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert main(["--uncovered"]) == 2
    assert "verify.mutants needs coverage" in capsys.readouterr().err


@pytest.mark.parametrize("given", [[], ["--uncovered"]])
def test_output_that_nobody_reads_any_more_is_no_error(given: list[str]) -> None:
    alone = """
import sys
from verify.mutants import __main__ as command

command._executed = lambda folder, workers, trained: {}
command._judge = lambda sample, executed, options: {}
sys.exit(command.main(sys.argv[1:]))
"""
    source, sink = os.pipe()
    os.close(source)
    with os.fdopen(sink, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-c", alone, *given],
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (141, "")
