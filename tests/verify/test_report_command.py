"""The two commands, ``verify`` and ``verify.report``: exit codes, what they write."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from verify import __main__ as verify_command
from verify import calibrate, index, published, readme, records, run
from verify.mutants import __main__ as mutants_command
from verify.report import __main__ as report_command
from verify.report.rows import KINDS

Toy = Callable[..., str]
Command = Callable[..., int]
Captured = pytest.CaptureFixture[str]

GOOD = "CLAIMS = (Claim(id='dc/eq1', **COMMON),)\n"
BAD = "CLAIMS = (Claim(id='dc/eq1', **COMMON | dict(predict=doubled)),)\n"
OPEN = (
    "CLAIMS = (Claim(id='dc/eq1', **COMMON), Claim(id='dc/eq2', open_reason='later',"
    " **{k: COMMON[k] for k in ('items', 'title', 'statement', 'source', 'evidence')}))"
)
UNDECIDED = """
def vague(x):
    return Estimate(x * x, 10.0, 5)

TEST = MeanEquals(discrepancy=1e-3)

def far(x):
    return 1e9

CLAIMS = (Claim(id='dc/eq1', **COMMON | dict(
    measure=vague, compare=TEST, must_refute=far)),)
"""


@pytest.fixture
def report(tmp_path: Path) -> Command:
    def call(package: str, *arguments: str) -> int:
        folder = ("--records", str(tmp_path / "results"), "--workers", "1")
        return report_command.main([*arguments, "--package", package, *folder])

    return call


def _run_here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run claims in this process: spawning workers takes a second each time."""
    ran: list[str] = []

    def run_many(entries: Any, *, profile: Any, folder: Path, **options: Any) -> None:
        for entry in entries:
            if not entry.claim.open_reason:
                record = run.run_and_write(entry, profile, folder)
                ran.append(entry.claim.id)
                options["report"](entry.claim.id, record)

    monkeypatch.setattr(run, "run_many", run_many)
    return ran


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return _run_here(monkeypatch)


def test_exit_code_0_when_all_is_as_expected(
    toy: Toy,
    report: Command,
    ran: list[str],
    capsys: Captured,
) -> None:
    assert report(toy(one=GOOD)) == 0
    out, err = capsys.readouterr()
    assert "1 claim: 1 hold" in out
    assert "[1/1] dc/eq1 holds" in err
    assert ran == ["dc/eq1"]


@pytest.mark.usefixtures("quick_pictures")
def test_a_command_says_where_its_report_and_its_records_are(
    toy: Toy, report: Command, ran: list[str], tmp_path: Path, capsys: Captured
) -> None:
    package, page = toy(one=GOOD), tmp_path / "page.html"
    folder = tmp_path / "results" / "quick"
    given = ("--package", package, "--records", str(folder.parent), "--workers", "1")
    assert verify_command.main(["run", *given, "dc/eq1"]) == 0
    assert f"records are in {folder}" in capsys.readouterr().err
    assert report(package, "--format", "html", "--output", str(page)) == 0
    said = f"report written to {page}, claims shown: 1; records are in {folder}"
    assert said in capsys.readouterr().err


def test_exit_code_1_when_a_claim_is_refuted(
    toy: Toy,
    report: Command,
    ran: list[str],
    capsys: Captured,
) -> None:
    assert report(toy(one=BAD)) == 1
    out, err = capsys.readouterr()
    assert "refuted, expected: holds" in out
    assert "<-- not as expected" in err


def test_a_claim_in_error_is_tried_again(
    toy: Toy, report: Command, ran: list[str], tmp_path: Path
) -> None:
    there = tmp_path / "data"
    package = toy(
        one="from pathlib import Path\n"
        f"def read(x):\n    return float(Path({str(there)!r}).read_text())\n"
        "CLAIMS = (Claim(id='dc/eq1', **COMMON"
        " | dict(measure=read, cases=grid(x=(3,)))),)\n"
    )
    assert report(package) == 1
    assert report(package) == 1
    there.write_text("9.0")
    assert report(package) == 0
    assert report(package) == 0
    assert ran == ["dc/eq1"] * 3


def test_exit_code_1_in_strict_mode_only(
    toy: Toy, report: Command, ran: list[str]
) -> None:
    for source in (OPEN, UNDECIDED):
        package = toy(one=source)
        assert report(package, "--rerun") == 0
        assert report(package, "--strict") == 1


def test_exit_code_2_for_an_unknown_claim(
    toy: Toy, report: Command, capsys: Captured
) -> None:
    assert report(toy(one=GOOD), "dc/eq7") == 2
    assert "Did you mean" in capsys.readouterr().err


def test_nothing_in_the_place_of_a_claim_names_none(
    toy: Toy, report: Command, capsys: Captured
) -> None:
    assert report(toy(one=GOOD), "") == 2
    assert "no claim is called ''" in capsys.readouterr().err


def test_a_scheduler_that_is_none_is_a_line(
    toy: Toy, tmp_path: Path, capsys: Captured
) -> None:
    given = ["--package", toy(one=GOOD), "--records", str(tmp_path)]
    assert report_command.main([*given, "--scheduler", "nowhere"]) == 1
    err = capsys.readouterr().err
    assert "error: Engine: `scheduler` must be an address" in err
    assert "Traceback" not in err


def test_what_was_not_run_now_is_not_shown_as_found(
    toy: Toy, tmp_path: Path, capsys: Captured
) -> None:
    given = ["run", "--package", toy(one=GOOD), "--records", str(tmp_path), "dc/eq1"]
    assert verify_command.main([*given, "--workers", "1"]) == 0
    assert "holds" in capsys.readouterr().out
    assert verify_command.main([*given, "--scheduler", "nowhere"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1


def test_what_could_be_run_beside_a_failure_is_shown(
    toy: Toy, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = toy(one=GOOD, two=GOOD.replace("dc/eq1", "dc/eq2"))
    given = ["run", "--package", package, "--records", str(tmp_path), "dc"]
    given += ["--workers", "1"]
    assert verify_command.main(given) == 0
    capsys.readouterr()
    write = records.write

    def full(record: records.Record, folder: Path) -> None:
        if record.claim == "dc/eq2":
            raise OSError("no space left")
        write(record, folder)

    monkeypatch.setattr(records, "write", full)
    assert verify_command.main(given) == 1
    out, err = capsys.readouterr()
    assert "dc/eq1" in out
    assert "dc/eq2" not in out
    assert "dc/eq2: its record can't be written: no space left" in err


def test_a_report_to_a_dash_is_one_to_stdout(
    toy: Toy,
    report: Command,
    ran: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert report(toy(one=GOOD), "--output", "-") == 0
    assert ran == ["dc/eq1"]
    assert "1 claim: 1 hold" in capsys.readouterr().out
    assert not Path("-").exists()


@pytest.mark.parametrize("columns", ["1", "20", "40"])
def test_a_terminal_may_be_too_narrow(
    toy: Toy,
    report: Command,
    ran: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
    columns: str,
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert report(toy(one=GOOD)) == 0
    assert ran == ["dc/eq1"]
    assert "1 claim: 1 hold" in capsys.readouterr().out


def test_what_an_encoding_cannot_say_is_written_as_utf_8(tmp_path: Path) -> None:
    own = ["--no-run", "--records", str(tmp_path), "dc/lemC.8", "--format", "text"]
    done = subprocess.run(
        [sys.executable, "-m", "verify.report", *own],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert "─" in done.stdout.decode("utf-8")


def test_a_terminal_shows_that_the_ledger_is_read_and_drawn(
    toy: Toy,
    report: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
) -> None:
    package = toy(one=GOOD)
    (tmp_path / "results").mkdir()
    assert report(package, "--no-run") == 0
    assert capsys.readouterr().err == ""
    # What rich takes for a terminal.
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert report(package, "--no-run") == 0
    assert "reading the ledger" in capsys.readouterr().err
    assert report(package, "--no-run", "--format", "html") == 0
    assert "drawing the figures" in capsys.readouterr().err


def test_what_cannot_be_written_is_a_line_before_the_work(
    toy: Toy, report: Command, ran: list[str], tmp_path: Path, capsys: Captured
) -> None:
    package, file = toy(one=GOOD), tmp_path / "file"
    file.touch()
    assert report(package, "--output", str(file / "page.html")) == 1
    assert report(package, "--output", str(tmp_path)) == 1
    assert ran == []
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"error: nothing can be written to {file}")
    assert second == f"error: {tmp_path} must be a file, but it is a folder"


@pytest.mark.parametrize("program", ["report", "calibrate"])
def test_a_file_is_replaced_by_a_whole_one(
    program: str, toy: Toy, report: Command, ran: list[str], tmp_path: Path
) -> None:
    target = tmp_path / "out" / "page.txt"
    target.parent.mkdir()
    target.write_text("earlier", encoding="utf-8")
    with target.open(encoding="utf-8") as reader:
        if program == "report":
            assert report(toy(one=GOOD), "--output", str(target)) == 0
        else:
            calibrate.main(["--page", "sl/obs1-trained", "--output", str(target)])
        # Who reads meanwhile has all of the one before.
        assert reader.read() == "earlier"
    assert "earlier" not in target.read_text(encoding="utf-8")
    assert [*target.parent.iterdir()] == [target]


def test_a_report_can_go_through_a_pipe(
    toy: Toy, report: Command, ran: list[str], tmp_path: Path
) -> None:
    package, pipe = toy(one=GOOD), tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        read = pool.submit(pipe.read_text, encoding="utf-8")
        assert report(package, "--output", str(pipe)) == 0
        assert "1 claim: 1 hold" in read.result(timeout=60)
    assert pipe.is_fifo()


def test_a_folder_of_records_that_cannot_be_written_is_a_line(
    toy: Toy, tmp_path: Path, capsys: Captured
) -> None:
    package, file = toy(one=GOOD), tmp_path / "file"
    file.touch()
    argv = ["run", "--package", package, "--records", str(file), "dc/eq1"]
    assert verify_command.main([*argv, "--workers", "1"]) == 1
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert err.startswith(f"error: nothing can be written to {file / 'quick'}")


@pytest.mark.parametrize(
    "argv",
    [
        (report_command.main, ["--rerun", "--no-run"]),
        (verify_command.main, ["list", "--workers", "2"]),
        (verify_command.main, ["show", "dc/eq1", "--workers", "2"]),
        (calibrate.main, ["--alike", "--page"]),
        (calibrate.main, ["--page", "--keep"]),
        (calibrate.main, ["--alike", "--output", "page.md"]),
        (mutants_command.main, ["--share", "nan"]),
        (mutants_command.main, ["--share", "2"]),
        (readme.main, ["--check"]),
    ],
)
def test_exit_code_2_for_options_that_mean_nothing_there(
    argv: tuple[Command, list[str]], capsys: Captured
) -> None:
    command, arguments = argv
    with pytest.raises(SystemExit, match="2"):
        command(arguments)
    assert "usage: python -m verify" in capsys.readouterr().err


def test_exit_code_2_for_an_unknown_option(
    toy: Toy, report: Command, capsys: Captured
) -> None:
    with pytest.raises(SystemExit) as stopped:
        report(toy(one=GOOD), "--format", "pdf")
    assert stopped.value.code == 2
    assert "invalid choice" in capsys.readouterr().err


def test_exit_code_130_when_interrupted_and_the_next_run_resumes(
    toy: Toy,
    report: Command,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: Captured,
) -> None:
    package = toy(
        one="CLAIMS = (Claim(id='dc/eq1', **COMMON), Claim(id='dc/eq2', **COMMON))"
    )

    def interrupted(entries: Any, *, profile: Any, folder: Path, **_: Any) -> None:
        run.run_and_write(entries[0], profile, folder)
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "run_many", interrupted)
    assert report(package) == 130
    assert "run again to resume" in capsys.readouterr().err
    ran = _run_here(monkeypatch)
    assert report(package) == 0
    assert ran == ["dc/eq2"]


def test_current_records_are_not_run_again(
    toy: Toy, report: Command, ran: list[str]
) -> None:
    package = toy(one=GOOD)
    assert report(package) == report(package) == 0
    assert len(ran) == 1
    assert report(package, "--rerun") == 0
    assert len(ran) == 2


def test_no_run_shows_what_there_is(
    toy: Toy,
    report: Command,
    ran: list[str],
    capsys: Captured,
) -> None:
    assert report(toy(one=GOOD), "--no-run") == 0
    assert "1 not run" in capsys.readouterr().out
    assert ran == []


def test_a_damaged_record_is_named_and_made_again(
    toy: Toy,
    report: Command,
    tmp_path: Path,
    capsys: Captured,
    quick_pictures: None,
) -> None:
    path = records.path_of("dc/eq1", tmp_path / "results" / "quick")
    path.parent.mkdir(parents=True)
    path.write_text("{")
    package = toy(one=GOOD)
    assert report(package, "--no-run") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "not a readable record" in shown
    for kind, told in (("markdown", 1), ("json", 1), ("html", 2)):
        assert report(package, "--no-run", "--format", kind) == 0
        assert capsys.readouterr().out.count("not a readable record") == told, kind
    assert report(package) == 0
    assert records.read(path).green


def test_a_folder_in_the_place_of_a_record_is_told(
    toy: Toy, report: Command, tmp_path: Path, capsys: Captured
) -> None:
    records.path_of("dc/eq1", tmp_path / "results" / "quick").mkdir(parents=True)
    assert report(toy(one=GOOD)) == 1
    out, err = capsys.readouterr()
    assert "dc/eq1: its record can't be written: " in err
    assert "1 not run" in out


@pytest.mark.skipif(os.name != "posix", reason="no limits of files")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_list_of_which_a_part_is_written_is_an_error(
    tmp_path: Path, unbuffered: str
) -> None:
    """Without a buffer Python does not tell that the rest is lost."""
    command = f"ulimit -f 8 && exec {sys.executable} -m verify list"
    with (tmp_path / "list").open("wb") as target:
        done = subprocess.run(
            ["bash", "-c", command],
            stdout=target,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )
    assert (done.returncode, done.stderr) == (1, "error: [Errno 27] File too large\n")


def test_a_folder_whose_name_is_too_long_is_wrong_usage(capsys: Captured) -> None:
    with pytest.raises(SystemExit) as ended:
        verify_command.main(["show", "dc/eq1", "--records", 300 * "x"])
    assert ended.value.code == 2
    assert "--records: must be a folder, but [Errno 36]" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
@pytest.mark.parametrize("given", [["list"], ["list", "dc/lemC.8"]])
def test_a_list_that_cannot_be_written_is_a_line(given: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "verify", *given],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "error: [Errno 28] No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
@pytest.mark.usefixtures("ran")
def test_a_full_device_that_a_report_goes_to_is_named(
    toy: Toy, report: Command, capsys: Captured
) -> None:
    given = ("--format", "json", "--output", "/dev/full")
    assert report(toy(one=GOOD), *given) == 1
    assert "No space left on device: '/dev/full'" in capsys.readouterr().err


@pytest.mark.usefixtures("ran")
def test_a_statement_refuted_as_expected_does_not_alarm(
    toy: Toy, report: Command, capsys: Captured
) -> None:
    false = (
        "CLAIMS = (Claim(id='dc/eq1', finding='It doubles.', expected=Outcome.REFUTED,"
        " must_hold=COMMON['predict'], **{k: v for k, v in COMMON.items() if k not in"
        " ('predict', 'must_refute')}, predict=doubled),)\n"
    )
    assert report(toy(one=false)) == 0
    err = capsys.readouterr().err
    assert re.search(r"dc/eq1 refuted \d+\.\d s, as expected$", err, re.MULTILINE)


@pytest.mark.parametrize(
    "given", [["verify", "list"], ["verify", "show", "dc/lemC.8"], ["verify.report"]]
)
def test_output_that_nobody_reads_any_more_is_no_error(
    given: list[str], tmp_path: Path
) -> None:
    source, sink = os.pipe()
    os.close(source)
    own = ["--no-run", "--records", str(tmp_path), "dc/lemC.8"]
    with os.fdopen(sink, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", *given, *(own if len(given) == 1 else ())],
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (141, "")


def test_a_claim_that_cannot_be_run_at_all_is_red(
    toy: Toy, tmp_path: Path, capsys: Captured
) -> None:
    # In workers, as usual: the process that measures ends without a word.
    source = (
        "import os\ndef die(x):\n    os._exit(3)\n"
        "CLAIMS = (Claim(id='dc/eq1', **COMMON | dict(measure=die)),"
        " Claim(id='dc/eq2', **COMMON))\n"
    )
    folder = ("--records", str(tmp_path / "results"), "--workers", "2")
    assert report_command.main(["--package", toy(one=source), *folder]) == 1
    out, err = capsys.readouterr()
    assert "dc/eq1: the process that ran it died" in err
    assert "exit code 3" in err
    assert "1 hold" in out


def test_json_has_the_fields_of_every_claim(
    toy: Toy, report: Command, ran: list[str], tmp_path: Path
) -> None:
    target = tmp_path / "out" / "report.json"
    assert report(toy(one=OPEN), "--format", "json", "--output", str(target)) == 0
    first, second = json.loads(target.read_text())
    assert first["id"] == "dc/eq1"
    assert first["outcome"] == "holds"
    assert first["green"] is True
    assert first["gap"] == 0.0
    assert first["resolves"] == 1e-15
    assert first["unit"] == "relative"
    assert first["command"] == "python -m verify run dc/eq1"
    assert second["outcome"] == "open"
    assert second["open_reason"] == "later"
    # An open claim has every field that does not come from a record.
    assert set(second) <= set(first)


def test_markdown_has_a_line_for_every_claim(
    toy: Toy,
    report: Command,
    ran: list[str],
    capsys: Captured,
) -> None:
    assert report(toy(one=OPEN), "--format", "markdown") == 0
    lines = capsys.readouterr().out.splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 4
    assert {line.count("|") for line in table} == {10}
    assert "- `dc/eq2`: later" in lines


@pytest.fixture
def verify(tmp_path: Path) -> Command:
    def call(package: str, *arguments: str) -> int:
        options = {
            "list": (),
            "show": ("--records", str(tmp_path / "results")),
            "run": ("--records", str(tmp_path / "results"), "--workers", "1"),
        }[arguments[0]]
        return verify_command.main([*arguments, "--package", package, *options])

    return call


def test_verify_lists_runs_and_shows(
    toy: Toy,
    verify: Command,
    ran: list[str],
    capsys: Captured,
) -> None:
    package = toy(one=OPEN)
    assert verify(package, "list") == 0
    assert capsys.readouterr().out.splitlines()[1].endswith("(open)")
    assert verify(package, "run", "dc/eq1") == 0
    assert verify(package, "run", "dc/eq1") == 0
    assert ran == ["dc/eq1", "dc/eq1"]
    capsys.readouterr()
    assert verify(package, "show", "dc/eq") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "holds means: no difference at the listed points" in shown
    assert "open later" in shown
    assert "2 claims: 1 hold, 1 open" in shown
    assert verify(package, "run", "dc/eq9") == 2


def test_filters_say_what_is_run_and_what_is_shown(
    toy: Toy, report: Command, ran: list[str], capsys: Captured
) -> None:
    package = toy(
        one="CLAIMS = (Claim(id='dc/eq1', **COMMON),"
        "Claim(id='dc/eq2', **COMMON | dict(predict=doubled)),"
        "Claim(id='dc/eq7', **COMMON | dict(evidence=Evidence.STATISTICAL)))"
    )
    # What matches nothing is misuse, and is told with what there is.
    assert report(package, "--paper", "sl") == 2
    out, err = capsys.readouterr()
    said = (
        "no claim is left by `--profile quick --paper sl`; there are: 3 dc, 2 numeric"
    )
    assert out == ""
    assert said in err
    options = ("--profile", "certify", "--package", package)
    assert verify_command.main(["show", "dc/eq1", *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "no claim is left by `dc/eq1 --profile certify`" in err
    assert report(package, "--outcome", "undecided", "--no-run") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "no claim is left by `--outcome undecided`; there are: 3 pending" in err
    assert report(package, "--evidence", "statistical") == 0
    assert ran == ["dc/eq7"]
    # What is not shown counts, too.
    assert report(package, "--outcome", "holds") == 1
    out = capsys.readouterr().out
    assert "2 claims: 2 hold" in out


def test_show_says_which_functions_predict_and_measure(
    toy: Toy, capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    package = toy(one=GOOD)
    folder = ("--records", str(tmp_path / "results"))
    verify_command.main(["show", "dc/eq1", "--package", package, *folder])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 72
    # Paths of a temporary folder are longer than a line.
    text = "".join("".join(lines).split())
    for part in (
        r"predicted by square \(\S+one\.py:\d+\)",
        r"measured by power \(\S+one\.py:\d+\)",
        r"caught off by one: off_by_one \(\S+one\.py:\d+\)",
        r"cases, quick 3 cases: x = 1, 2, 3",
        r"refuted if the two sides differ by more than 1e−15 of the measured value",
        r"cost, quick not checked yet",
        r"last record none: not run yet",
        r"run it python -m verify run dc/eq1",
    ):
        assert re.search(part.replace(" ", ""), text), part


def test_help_says_what_each_outcome_means(capsys: Captured) -> None:
    with pytest.raises(SystemExit, match="0"):
        report_command.main(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for kind, meaning in KINDS.items():
        assert f"{kind}, {meaning}" in shown


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("r.html", "html"),
        ("r.HTM", "html"),
        ("r.json", "json"),
        ("r.md", "markdown"),
        ("r.txt", "text"),
        ("r", "text"),
    ],
)
@pytest.mark.usefixtures("ran", "quick_pictures")
def test_the_file_says_how_the_report_is_written(
    toy: Toy, report: Command, tmp_path: Path, name: str, form: str
) -> None:
    package, target = toy(one=OPEN), tmp_path / name
    assert report(package, "--output", str(target)) == 0
    asked = tmp_path / "asked.json"
    assert report(package, "--format", form, "--output", str(asked)) == 0
    assert target.read_text() == asked.read_text()


def test_a_file_of_another_kind_is_refused(
    toy: Toy, report: Command, tmp_path: Path, capsys: Captured
) -> None:
    package, target = toy(one=OPEN), tmp_path / "report.docx"
    assert report(package, "--output", str(target)) == 2
    assert "must end in one of .txt, .md, .html" in capsys.readouterr().err
    assert not target.exists()
    assert report(package, "--format", "text", "--output", str(target)) == 0


def test_a_report_of_certificates_alone_covers_no_paper(
    toy: Toy, report: Command, quick_pictures: None, capsys: Captured
) -> None:
    wider = "COMMON | dict(larger_cases={'certify': grid(x=(4,))})"
    package = toy(one=f"CLAIMS = (Claim(id='dc/eq1', **{wider}),)\n")
    for profile, whole in (("quick", True), ("certify", False)):
        html = ("--format", "html", "--no-run", "--profile", profile)
        assert report(package, *html) == 0
        assert ("Coverage of the papers" in capsys.readouterr().out) is whole


@pytest.mark.parametrize("writes", [published.main, index.main, readme.main])
def test_a_file_of_the_project_that_cannot_be_written_is_a_line(
    writes: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
    toy: Toy,
) -> None:
    path = tmp_path / "written"
    path.write_text("<!-- ledger: start -->\nold\n<!-- ledger: end -->")
    package = toy(one=GOOD)
    really = Path.open

    def full(self: Path, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if "w" in mode:
            raise OSError(28, "No space left on device", str(self))
        return really(self, mode, *args, **kwargs)

    monkeypatch.setattr(Path, "open", full)
    assert writes([], package if writes is index.main else path) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert "No space left on device" in err
    assert path.read_text().splitlines()[1] == "old"


def test_a_readme_without_a_place_for_the_counts_is_a_line(
    tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "README.md").write_text("Words.")
    assert readme.main([], tmp_path / "README.md") == 1
    assert "must have the two markers" in capsys.readouterr().err


def test_a_wrong_folder_of_records_is_told(
    toy: Toy, report: Command, tmp_path: Path, ran: list[str], capsys: Captured
) -> None:
    """It would look like claims that have not been run."""
    package = toy(one=GOOD)
    assert report(package) == 0
    shown = ["show", "dc/eq1", "--package", package, "--records"]
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(SystemExit, match="2"):
        verify_command.main([*shown, str(tmp_path / "results" / "quick")])
    assert f"records, {tmp_path / 'results'}, but" in capsys.readouterr().err
    for absent in (tmp_path / "nowhere", file):
        note = f"note: there is no folder {absent}, and so no record"
        assert verify_command.main([*shown, str(absent)]) == 0
        assert note in capsys.readouterr().err
    given = ["--no-run", "--package", package, "--records", str(file)]
    assert report_command.main(given) == 0
    assert note in capsys.readouterr().err
    assert verify_command.main([*shown, str(tmp_path / "results")]) == 0
    assert "note" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("dc/THM32", "Did you mean dc/thm3.2"),
        ("dc/thm*", "Did you mean dc/thm?"),
        ("sl/*", "Did you mean sl?"),
        ("agarwal2021deep", "Did you mean dc?"),
        ("xx", "a paper (dc, id, sl, mmd)"),
    ],
)
def test_near_misses_are_understood(wrong: str, meant: str, capsys: Captured) -> None:
    assert verify_command.main(["list", wrong]) == 2
    assert meant in capsys.readouterr().err


@pytest.mark.parametrize(
    "given", [["run"], ["show"], ["remeasure"], None], ids=lambda g: g and g[0]
)
def test_help_says_what_exit_codes_and_profiles_mean(
    given: list[str] | None, capsys: Captured
) -> None:
    with pytest.raises(SystemExit, match="0"):
        (report_command.main if given is None else verify_command.main)(
            [*(given or ()), "--help"]
        )
    said = " ".join(capsys.readouterr().out.split())
    assert "Exit codes: 0, every claim is as expected; 1, some are not" in said
    assert ("certify, wider boxes of certificates" in said) is (given != ["remeasure"])


@pytest.mark.parametrize("package", ["nosuch", "nosuch.claims"])
@pytest.mark.parametrize("given", [["list"], ["show", "dc"], ["remeasure"], None])
def test_a_package_of_claims_that_is_none_is_said_in_a_line(
    package: str, given: list[str] | None, tmp_path: Path, capsys: Captured
) -> None:
    called = report_command.main if given is None else verify_command.main
    assert called([*(given or ["--no-run"]), "--package", package]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: index: `package` must be")
    assert package in said
