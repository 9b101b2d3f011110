"""``python -m theory.phase``: tables, the diagram, and wrong usage."""

import math
import subprocess
import sys

import numpy as np
import pytest

from theory import activations as act
from theory import phase
from theory.phase.__main__ import main
from theory.phase.diagram import diagram, reach


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_diagram_of_erf_is_drawn(kind, tmp_path, capsys):
    output = tmp_path / f"erf.{kind}"
    assert main(["--activation", "erf", "--figure", str(output), "--points", "8"]) == 0
    start = output.read_bytes()[:100]
    assert start.startswith(b"\x89PNG" if kind == "png" else b"<?xml")
    out = capsys.readouterr().out
    assert f"{np.pi / 4:.6f}" in out
    assert str(output) in out
    said = " ".join(out.split())
    assert (
        f"networks of erf are at the edge of chaos at weight variance {np.pi / 4:.6g}"
        in said
    )


def test_a_reader_who_has_had_enough_is_no_error():
    argv = [sys.executable, "-m", "theory.phase", "--activation", "erf"]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.close()
        assert run.stderr.read() == ""
    assert run.returncode == 141


def test_without_an_edge_it_says_so(capsys):
    assert main(["--activation", "sign"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "sign has no edge of chaos with bias variance 0" in said


def test_a_diagram_without_matplotlib_names_the_extra(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    output = tmp_path / "erf.svg"
    assert main(["--activation", "erf", "--output", str(output), "--points", "8"]) == 1
    assert "deep-ledger[plots]" in capsys.readouterr().err
    assert not output.exists()


def test_the_edge_lies_between_the_phases_of_a_diagram():
    d = diagram(act.erf, (0.0, 4.0), (0.0, 0.5), 20)
    assert d.phase[0, 0] == "ordered"
    assert d.phase[0, -1] == "chaotic"
    ((w, b),) = d.edges
    for i in range(20):
        bias = (i + 0.5) / 40
        edge = float(np.interp(bias, b, w))
        cells = (np.arange(20) + 0.5) / 5
        assert ((cells > edge) == (d.phase[i] == "chaotic")).all()
        alone = phase.classify(act.erf, 3.1, bias)
        # A picture's panels leave 2.5^-12 = 2e-5 of the map's slope, over 1 - chi_c > 0.3.
        assert d.depth[i, 15] == pytest.approx(alone.correlation_depth, rel=1e-4)


def test_relu_has_one_critical_point_and_diverges_beyond():
    d = diagram(act.relu, (0.0, 4.0), (0.0, 1.0), 8)
    ((w, b),) = d.edges
    assert (w.tolist(), b.tolist()) == ([2.0], [0.0])
    assert set(d.phase[:, :4].ravel()) == {"ordered"}
    assert set(d.phase[:, 4:].ravel()) == {"divergent"}


@pytest.mark.parametrize("name", ["relu6", "sigmoid", "selu", "sin", "sign"])
def test_grey_means_that_variances_diverge(name):
    a = act.CATALOGUE[name]
    # As far as chaotic networks of variance 100.
    d = diagram(a, (0.0, 200.0 if name in ("sigmoid", "sin") else 3.0), (0.0, 0.5), 12)
    assert (np.isnan(d.depth) == (d.phase == "divergent")).all()
    i, j = np.argwhere(d.phase == "chaotic")[-1]
    step = (d.weights[1] - d.weights[0]) / 12
    alone = phase.classify(a, (j + 0.5) * step, (i + 0.5) * 0.5 / 12)
    assert alone.phase == "chaotic"
    # 2e-5 of the largest slope, and of c* by 1/(1 - chi_c) of it.
    slope = math.exp(-1.0 / d.depth[i, j]) if d.depth[i, j] else 0.0
    largest = min(alone.chi_1, 1e3)
    assert abs(slope - alone.chi_c) < 2e-5 * largest / (1.0 - alone.chi_c)


@pytest.mark.parametrize(
    ("name", "end"), [("exp", math.exp(-2.0)), ("relu_squared", 2.0 / 3.0)]
)
def test_where_no_edge_is_stable_the_window_shows_where_variances_diverge(name, end):
    a = act.CATALOGUE[name]
    d = diagram(a, (0.0, reach(a, (0.0, 0.5))), (0.0, 0.5), 20)
    grey = d.phase[0] == "divergent"
    assert 5 < grey.sum() < 15
    # Where, without biases, variance one grows: w exp(2) or 3 w / 2 above one.
    assert abs(d.weights[1] * (1.0 - grey.mean()) - end) < 0.1 * end


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--activation", "tahn"], "did you mean tanh"),
        ([], "--activation"),
        (["--activation", "erf", "--weight-var", "2", "1"], "0 <= A < B"),
        (["--activation", "erf", "--bias-var", "-1", "1"], "--bias-var"),
        (["--activation", "erf", "--points", "1"], "--points must be"),
        (["--activation", "erf", "--output", "x.gif"], "must end in .svg"),
        (["--activation", "erf", "--output", "/no/such/x.svg"], "no folder"),
    ],
)
def test_wrong_usage_exits_with_two(arguments, text, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert text in capsys.readouterr().err


def test_jumps_have_no_edge(capsys):
    assert main(["--activation", "sign"]) == 0
    assert "chi_1 is infinite" in capsys.readouterr().out
