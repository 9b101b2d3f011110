"""The command ``python -m theory.phase``: what it prints, and what it refuses.

The measured side takes fixed points and edges from the formulas of
`verify.claims.deep_conditioning._pairs` and writes each number with the digits of its
column.
"""

import io
import itertools
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import mpmath

from theory.phase.__main__ import main
from verify.claim import Source, numeric
from verify.claims._predictors import mistake
from verify.claims.deep_conditioning import _pairs as pairs
from verify.compare import Identical

_SOURCE = Source("schoenholz2017deep", "Sections 2 and 3")
_DIGITS = 40
_ZERO = mpmath.mpf(10) ** -40
_LARGEST = mpmath.mpf(10) ** 8
Range = list[float]

# --- the tables -------------------------------------------------------------------------


def _options(**ranges: Range) -> list[str]:
    """Return the options for what is given; what is empty is left to the command."""
    return [
        text
        for name, ends in ranges.items()
        if ends
        for text in (f"--{name}-var", *map(str, ends))
    ]


def _predict_tables(*, activation: str, weight: Range, bias: Range) -> str:
    """Words of the rows of both tables, and the numbers of the sentence below them."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        main(["--activation", activation, *_options(weight=weight, bias=bias)])
    tables, _, meaning = printed.getvalue().partition("Meaning: ")
    rows = [line.split() for line in tables.splitlines()]
    numbers = [word for row in rows if row and row[0][0].isdigit() for word in row]
    heads = [row for row in rows if {"bias_var", "none:"} & set(row)]
    names = {name for row in heads for name in row}
    edges = re.findall(r"at weight variance (.*?)\.(?=\s)", " ".join(meaning.split()))
    found = [*sorted(names & {"q*", "c*", "xi_c", "none:"}), *numbers, *edges]
    return " ".join(found)


def _settled(step: Callable[[Any], Any], start: Any) -> Any:
    """Iterate a map until it hardly moves, and sharpen that; None where it grows."""
    x = mpmath.mpf(start)
    for _ in range(400):
        x, before = step(x), x
        if x > _LARGEST:
            return None
        if abs(x - before) < mpmath.mpf(10) ** -9 * abs(x):
            break
    ends = (x, x * (1 + mpmath.mpf(10) ** -9))
    return mpmath.findroot(lambda y: step(y) - y, ends, tol=1e-60)


def _layers(slope: Any) -> Any:
    return -1 / mpmath.log(abs(slope))


def _edges(law: pairs.Law, b: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield weights, q* and chi_q of each network with this bias and slope one.

    Along the curve of such networks q* is the parameter: w = 1 / E s'(sqrt(q) Z)^2.
    """

    def missing(q: Any) -> Any:
        energy, slope = law.one(q)
        return q - energy / slope - b

    def of(q: Any) -> tuple[Any, Any, Any]:
        weight = 1 / law.one(q)[1]
        return weight, q, weight * mpmath.diff(lambda v: law.one(v)[0], q)

    if b == 0:
        yield 1 / law.one(_ZERO)[1], mpmath.mpf(0), mpmath.mpf(1)
        return
    places = [mpmath.mpf(10) ** (mpmath.mpf(k) / 8) for k in range(-24, 17)]
    for low, high in itertools.pairwise(places):
        if missing(low) * missing(high) < 0:
            yield of(mpmath.findroot(missing, (low, high), solver="anderson"))


def _edge_rows(name: str, biases: list[Any]) -> Iterator[list[str]]:
    for b in biases:
        start = f"{float(b):.4g}"
        if name == "relu":
            # A line of slope w/2: at one every variance stays without biases.
            yield [start, *(["2.000000", "any", "1.0000"] if b == 0 else ["none"])]
            continue
        for weight, q, slope in _edges(pairs.LAWS[name], b):
            row = [f"{float(weight):.6f}", f"{float(q):.6g}", f"{float(slope):.4f}"]
            note = "" if slope <= 1 else "(q* is not stable)"
            yield [start, *row, *note.split()]


def _network(name: str, w: Any, b: Any) -> list[Any]:
    """Return the phase, q*, c*, chi_1 and both depths of a network."""
    if name == "step":
        return _step(w, b)
    law, nan = pairs.LAWS[name], mpmath.nan
    least = w * law.one(_ZERO)[1]
    rests = b == 0 and least < 1
    q = 0 if rests else _settled(lambda v: w * law.one(v)[0] + b, 1)
    if q is None:
        slope, depth = (least, _layers(least)) if name == "relu" else (nan, nan)
        return ["divergent", mpmath.inf, nan, slope, depth, nan]
    at = q or _ZERO
    slope = w * law.one(at)[1]
    own = slope if rests else w * mpmath.diff(lambda v: law.one(v)[0], at)
    if slope < 1:
        return ["ordered", q, 1, slope, _layers(own), _layers(slope)]
    apart = _settled(lambda d: 1 - (w * law.two(q, q, q * (1 - d))[0] + b) / q, 0.5)
    inner = w * law.two(q, q, q * (1 - apart))[1]
    return ["chaotic", q, 1 - apart, slope, _layers(own), _layers(inner)]


def _step(w: Any, b: Any) -> list[Any]:
    """Units of 0 and 1, of which half are 1 at every variance."""
    q = w / 2 + b
    near = (mpmath.mpf("0.5"), mpmath.mpf("0.9"))
    c = mpmath.findroot(
        lambda c: (w * (mpmath.pi - mpmath.acos(c)) / (2 * mpmath.pi) + b) / q - c,
        near,
    )
    inner = w / (2 * mpmath.pi * q * mpmath.sqrt(1 - c * c))
    return ["chaotic", q, c, mpmath.inf, 0, _layers(inner)]


def _farthest(name: str, biases: list[Any]) -> Any:
    """Return the default end of the weights: 1.6 times the largest edge, one digit."""
    if name == "step":
        return mpmath.mpf(4)
    weights = [2] if name == "relu" else []
    if name != "relu":
        weights = [edge[0] for b in biases for edge in _edges(pairs.LAWS[name], b)]
    return mpmath.mpf(f"{float(1.6 * max(weights)):.1g}")


def _measure_tables(*, activation: str, weight: Range, bias: Range) -> str:
    with mpmath.workdps(_DIGITS):
        low, high = (mpmath.mpf(str(v)) for v in (bias or (0.0, 0.5)))
        biases = [low + (high - low) * k / 5 for k in range(6)]
        first, last = weight or (0, _farthest(activation, [low, high]))
        jumps = activation == "step"
        out = ["c*", *(["none:"] if jumps else []), "q*", "xi_c"]
        edges = [] if jumps else list(_edge_rows(activation, biases))
        out += [word for row in edges for word in row]
        for k in range(1, 5):
            for b in (low, (low + high) / 2):
                w = mpmath.mpf(first) + mpmath.mpf(k) / 4 * (last - mpmath.mpf(first))
                phase, *found = _network(activation, w, b)
                q, c, slope, own, depth = (float(v) for v in found)
                out += [f"{float(w):.4g}", f"{float(b):.4g}", phase, f"{q:.5g}"]
                out += [f"{round(c, 5) + 0.0:.5f}", f"{slope:.5f}"]
                out += [f"{own:.4g}", f"{depth:.4g}"]
        stable = [row for row in edges if row[0] == f"{float(low):.4g}"]
        stable = [row for row in stable if "none" not in row and "not" not in row]
        return " ".join([*out, *(f"{float(row[1]):.6g}" for row in stable)])


TABLES = numeric(
    id="dc/D.0-phase-command",
    items=("D.0", "Thm3.10"),
    title="The tables that python -m theory.phase prints: edges and networks with biases",
    statement=r"\chi_1 = 1; \quad q^*, \ c^*, \ \chi_1, \ \xi_q = -1/\log|\chi_q|,"
    r" \ \xi_c = -1/\log \chi_c",
    assumptions=("infinite width", "independent Gaussian weights and biases"),
    source=_SOURCE,
    cases=(
        # Ranges of the command's own.
        *({"activation": a, "weight": [], "bias": []} for a in ("erf", "relu", "step")),
        {"activation": "sin", "weight": [0.5, 3.0], "bias": [0.1, 0.4]},
        # Edges at variances that grow, or fall, from layer to layer.
        {"activation": "gelu", "weight": [1.0, 3.0], "bias": [0.001, 0.02]},
    ),
    predict=_predict_tables,
    measure=_measure_tables,
    compare=Identical(),
    must_refute=mistake("Networks of other weights.", weight=[0.5, 2.0]),
    uses=("dc/D.0-phase", "dc/D.0-edge"),
)

# --- wrong usage, and the drawing ---------------------------------------------------------

_REFUSED: dict[str, tuple[list[str], str, str]] = {
    "name": (["--activation", "tanhh"], "'tanhh'", "did you mean tanh or"),
    "far name": (["--activation", "qqqqqq"], "'qqqqqq'", "is not known (all:"),
    "no cells": (["--points", "1"], "--points", "got 1"),
    "cells": (["--points", "1001"], "--points", "got 1001"),
    "format": (["--output", "here.jpg"], "--output", "here.jpg"),
    "folder": (["--output", "missing-folder/a.svg"], "--output", "missing-folder"),
    "order": (["--weight-var", "2", "1"], "--weight-var", "got 2 1"),
    "empty": (["--bias-var", "1", "1"], "--bias-var", "got 1 1"),
    "sign": (["--bias-var", "-1", "1"], "--bias-var", "got -1 1"),
    "infinite": (["--weight-var", "1", "inf"], "--weight-var", "got 1 inf"),
}
"""Options, and what of them has to be said of what came."""


def _predict_usage(*, what: str) -> list[Any]:
    """Exit code, whether anything was printed first, and what the error says."""
    given, *said = _REFUSED[what]
    argv = given if "--activation" in given else ["--activation", "erf", *given]
    printed, error = io.StringIO(), io.StringIO()
    code: Any = None
    with redirect_stdout(printed), redirect_stderr(error):
        try:
            code = main(argv)
        except SystemExit as end:
            code = end.code
    text = " ".join(error.getvalue().partition("error: ")[2].split())
    return [code, bool(printed.getvalue()), *(words in text for words in said)]


def _measure_usage(*, what: str) -> list[Any]:
    """Usage ends with 2, before any work, and names the option and what came."""
    return [2, False, *(True for _ in _REFUSED[what][1:])]


USAGE = numeric(
    id="dc/D.0-phase-command-usage",
    items=("D.0",),
    title="Wrong usage of python -m theory.phase is refused before any work",
    statement=r"\text{exit code } 2, \text{ the option, and what came}",
    source=_SOURCE,
    cases=tuple({"what": what} for what in _REFUSED),
    predict=_predict_usage,
    measure=_measure_usage,
    compare=Identical(),
    must_refute=mistake(
        "Work that is done, with an error at its end.",
        then=lambda found: [1, True, *found[2:]],
    ),
    uses=("dc/D.0-phase-command",),
)

_HEADS = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}


def _predict_file(*, suffix: str) -> list[Any]:
    """Exit code, the file that is named at the end, and how it begins."""
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(printed):
        path = Path(folder) / f"diagram.{suffix}"
        options = ["--weight-var", "1", "2", "--points", "2", "--output", str(path)]
        code = main(["--activation", "relu", *options])
        last = printed.getvalue().split()[-1]
        head = path.read_bytes()[: len(_HEADS[suffix.lower()])]
        return [code, last == str(path), head.hex()]


def _measure_file(*, suffix: str) -> list[Any]:
    return [0, True, _HEADS[suffix.lower()].hex()]


FILE = numeric(
    id="dc/D.0-phase-command-file",
    items=("D.0",),
    title="python -m theory.phase draws its diagram in the format of the file's name",
    statement=r"\text{exit code } 0, \text{ and a file that begins as its format does}",
    source=_SOURCE,
    cases=({"suffix": "svg"}, {"suffix": "PNG"}),
    predict=_predict_file,
    measure=_measure_file,
    compare=Identical(),
    must_refute=mistake(
        "Drawings in another format.", then=lambda found: [*found[:2], b"BM".hex()]
    ),
    uses=("dc/D.0-phase-command", "dc/D.0-drawn"),
)
