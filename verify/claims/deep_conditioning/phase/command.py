"""What `python -m theory.phase` prints of networks with biases, and what it refuses.

The measured side sums averages over Gaussians by the trapezoidal rule, which converges
exponentially for what is analytic, and takes roots between changes of sign; for ReLU and
the step, whose layers are a line and an arcsine, it has them in closed form.
"""

import io
import math
import re
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from theory.phase.__main__ import main
from verify.claim import Source, numeric
from verify.claims._predictors import always, mistake
from verify.compare import AgreesTo, Array, Identical

_WORDS = {
    "ordered": 1.0,
    "chaotic": 2.0,
    "critical": 3.0,
    "divergent": 4.0,
    "any": -1.0,
    "nan": -2.0,
    "inf": -3.0,
}
_COLUMNS = ("weight_var", "bias_var", "phase", "q*", "c*", "chi_1", "xi_q", "xi_c")
_ACROSS = ("bias_var", "weight_var", "q*", "chi_q")
_UNSTABLE = "  (q* is not stable)"

# --- the measured side ------------------------------------------------------------------

_H = 0.05
_Z = np.arange(-240, 241) * _H
_WEIGHTS = _H * np.exp(-0.5 * _Z * _Z) / math.sqrt(2.0 * math.pi)


def _gelu_slope(x: Array) -> Array:
    return ndtr(x) + x * np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


_SMOOTH: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "tanh": (np.tanh, lambda x: 1.0 - np.tanh(x) ** 2),
    "gelu": (lambda x: x * ndtr(x), _gelu_slope),
}
_Q = np.geomspace(1e-4, 100.0, 300)
"""Variances, among which fixed points and edges are looked for."""


def averages(name: str, q: float) -> tuple[float, float, float]:
    """E s^2, E s'^2 and the derivative of E s^2 in q."""
    f, slope = _SMOOTH[name]
    x = math.sqrt(q) * _Z
    s, d = f(x), slope(x)
    found = (s * s, d * d, s * d * _Z / math.sqrt(q))
    return tuple(float(_WEIGHTS @ v) for v in found)  # type: ignore[return-value]


def _products(name: str, q: float, c: float) -> tuple[float, float]:
    """E s(u) s(v) and E s'(u) s'(v) at the correlation c."""
    u = math.sqrt(q) * _Z[:, None]
    v = c * u + math.sqrt(q * (1.0 - c * c)) * _Z
    f, d = (_WEIGHTS @ (s(u) * s(v)) @ _WEIGHTS for s in _SMOOTH[name])
    return float(f), float(d)


@lru_cache(maxsize=4)
def _listed(name: str) -> tuple[Array, Array]:
    return tuple(np.array([averages(name, q)[:2] for q in _Q]).T)  # type: ignore[return-value]


def _roots(gap: Callable[[float], float], values: Array) -> list[float]:
    turns = np.flatnonzero(np.sign(values[:-1]) != np.sign(values[1:]))
    return [float(brentq(gap, _Q[i], _Q[i + 1], xtol=1e-14)) for i in turns]


def _edge(name: str, b: float) -> list[list[float]]:
    """Weight variance, q* and its slope, and whether it is unstable, of all edges."""
    if name == "step":
        return []
    if name == "relu":
        return [] if b else [[2.0, _WORDS["any"], 1.0, 0.0]]
    second, slope = _listed(name)

    def gap(q: float) -> float:
        value, rise, _ = averages(name, q)
        return q - value / rise - b

    out: list[list[float]] = []
    first = float(_SMOOTH[name][1](0.0)) ** 2
    if b == 0.0:
        # Variances fall to zero where a layer's factor is largest there.
        out.append([1.0 / first, 0.0, 1.0, float(second[0] / _Q[0] > first)])
    for q in _roots(gap, _Q - second / slope - b):
        _, rise, change = averages(name, q)
        out.append([1.0 / rise, q, change / rise, float(change > rise)])
    return out


def _depth(factor: float) -> float:
    return 0.0 if factor == 0.0 else -1.0 / math.log(factor)


def _network(name: str, w: float, b: float) -> list[float]:
    """Return what is printed of one network, behind its two variances."""
    if name == "relu":
        return _lines(w, b)
    if name == "step":
        q = 0.5 * w + b

        def layer(c: float) -> float:
            return (w * (0.25 + math.asin(c) / (2.0 * math.pi)) + b) / q

        c = float(brentq(lambda c: layer(c) - c, 0.0, 1.0 - 1e-9, xtol=1e-14))
        slope = w / (2.0 * math.pi * q * math.sqrt(1.0 - c * c))
        return [_WORDS["chaotic"], q, c, _WORDS["inf"], 0.0, _depth(slope)]
    excess = w * _listed(name)[0] + b - _Q
    rises = w * averages(name, 1.0)[0] + b > 1.0
    points = _roots(lambda q: w * averages(name, q)[0] + b - q, excess)
    ahead = [q for q in points if (q > 1.0) == rises]
    if not ahead and rises:
        return [_WORDS["divergent"], _WORDS["inf"], *[_WORDS["nan"]] * 4]
    if not ahead:
        first = w * float(_SMOOTH[name][1](0.0)) ** 2
        return [_WORDS["ordered"], 0.0, 1.0, first, _depth(first), _depth(first)]
    # Layers' variances rise or fall to the nearest.
    q = min(ahead) if rises else max(ahead)
    _, rise, change = averages(name, q)
    chi, phase, c = w * rise, "ordered", 1.0
    slope = chi
    if chi > 1.0:
        phase = "chaotic"
        c = float(
            brentq(
                lambda c: (w * _products(name, q, c)[0] + b) / q - c, -0.5, 1.0 - 1e-6
            )
        )
        slope = w * _products(name, q, c)[1]
    return [_WORDS[phase], q, c, chi, _depth(w * change), _depth(slope)]


def _lines(w: float, b: float) -> list[float]:
    """Return the same of ReLU: variances are multiplied by w/2."""
    chi, nan = 0.5 * w, _WORDS["nan"]
    deep = _WORDS["inf"] if chi == 1.0 else _depth(chi)
    if chi < 1.0:
        return [_WORDS["ordered"], b / (1.0 - chi), 1.0, chi, deep, deep]
    if chi == 1.0 and b == 0.0:
        # Every variance is fixed, that of the inputs among them.
        return [_WORDS["critical"], 1.0, 1.0, chi, deep, deep]
    return [_WORDS["divergent"], _WORDS["inf"], nan, chi, deep, nan]


def _measure(
    *,
    name: str,
    weights: Sequence[float] = (),
    biases: Sequence[float] = (),
    **_more: Any,
) -> list[float]:
    low, high = biases or (0.0, 0.5)
    edges = {b: _edge(name, b) for b in np.linspace(low, high, 6).tolist()}
    if not weights:
        stable = [p[0] for b in (low, high) for p in edges[b] if not p[3]]
        # 8/5 of the farthest edge to one digit; a function that jumps has none.
        most = 4.0 if name == "step" else float(f"{1.6 * max(stable):.1g}")
        weights = (0.0, most)
    left, right = weights
    out = [] if name == "step" else [[b, *p] for b in edges for p in edges[b] or [[]]]
    for k in range(1, 5):
        for b in (low, 0.5 * (low + high)):
            w = left + 0.25 * k * (right - left)
            out.append([w, b, *_network(name, w, b)])
    meant = [p[0] for p in edges[low] if not p[3]]
    return [*(v for row in out for v in row), *meant, low, 0.0]


# --- the predicted side -----------------------------------------------------------------


def _number(text: str) -> float:
    return _WORDS[text] if text in _WORDS else float(text)


def _run(options: Sequence[str]) -> tuple[int, str, str]:
    """Return the exit code, and what is written to both streams."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main(options)
        except SystemExit as error:
            code = int(error.code or 0)
    return code, out.getvalue(), err.getvalue()


def _read(text: str, name: str) -> list[float]:
    """Return the numbers of the tables, in the order of their columns' names."""
    first, nets, meaning = re.split(r"\nNetworks\n\n|\n\nMeaning: ", text)
    title, _, *edges = first.rstrip().split("\n")
    if title != f"Edge of chaos of {name}":
        raise ValueError(f"_read: the table is of another function: {title!r}")
    out: list[float] = []
    if edges[0].split() == list(_ACROSS):
        for line in edges[1:]:
            fields = line.removesuffix(_UNSTABLE).split()
            if fields[1:] == ["none"]:
                out.append(float(fields[0]))
            else:
                out += [*map(_number, fields), float(line.endswith(_UNSTABLE))]
    elif not edges[0].startswith("none"):
        raise ValueError(f"_read: other columns: {edges[0]!r}")
    head, *rows = nets.rstrip().split("\n")
    for line in rows:
        fields = dict(zip(head.split(), line.split(), strict=True))
        out += [_number(fields[column]) for column in _COLUMNS]
    meaning = " ".join(meaning.split("\n\nDiagram")[0].split())
    found = re.search(r"with bias variance (\S+?)[,;]", meaning)
    at = re.search(r"at weight variance ([\d.e+-]+(?: and [\d.e+-]+)*)\.", meaning)
    if not found or (at is None) != ("has no edge" in meaning) or name not in meaning:
        raise ValueError(f"_read: unknown words: {meaning!r}")
    return [*out, *map(float, at[1].split(" and ") if at else ()), float(found[1])]


def _predict(
    *,
    name: str,
    weights: Sequence[float] = (),
    biases: Sequence[float] = (),
    picture: str = "",
) -> list[float]:
    """Return what is printed, and the exit code; 9 if the picture is not there."""
    options = ["--activation", name]
    options += ["--weight-var", *map(str, weights)] if weights else []
    options += ["--bias-var", *map(str, biases)] if biases else []
    with TemporaryDirectory() as folder:
        path = Path(folder, picture)
        if picture:
            options += ["--output", str(path), "--points", "2"]
        code, text, errors = _run(options)
        told = text.endswith(f"\nDiagram written to {path}\n") and path.is_file()
    # On a busy machine it says how far it has come.
    others = re.sub(r"\rnetworks classified: [ \d]+ %\n?", "", errors)
    fine = not others and told == bool(picture)
    return [*_read(text, name), float(code) if fine else 9.0]


PRINTED = numeric(
    id="dc/D.0-command",
    items=("D.0", "Thm3.10"),
    title="python -m theory.phase prints the edge of chaos and what eight networks do",
    statement=r"\chi_1 = 1, \quad q^*, c^*, \chi_1, \xi_q, \xi_c",
    assumptions=("infinite width", "independent Gaussian weights and biases"),
    source=Source("schoenholz2017deep", "Sections 2 and 3"),
    cases=(
        {"name": "tanh"},
        {"name": "tanh", "weights": [0.5, 3.0], "biases": [0.05, 0.3]},
        # Of its edges only those of long inputs are stable.
        {"name": "gelu"},
        {"name": "gelu", "weights": [1.5, 2.1], "biases": [0.1, 0.4]},
        {"name": "relu", "weights": [1.0, 3.0], "biases": [0.0, 1.0]},
        {"name": "relu", "picture": "phases.svg"},
        # It jumps: chi_1 is infinite.
        {"name": "step"},
    ),
    predict=_predict,
    measure=_measure,
    # Depths are printed with four digits, slopes with four behind the point.
    compare=AgreesTo(relative=5.1e-4, absolute=5.1e-5),
    must_refute=mistake(
        "Standard deviations in the place of variances.",
        then=lambda out: [v * abs(v) for v in out],
    ),
    uses=("dc/D.0-phase", "dc/D.0-edge"),
)


# --- what it refuses --------------------------------------------------------------------

_TANH = ["--activation", "tanh"]
_REFUSED: dict[str, tuple[list[str], list[str]]] = {
    "no activation": ([], ["--activation"]),
    "another name": (
        ["--activation", "tanhh"],
        ["--activation", "'tanhh'", "did you mean tanh"],
    ),
    "no name": (["--activation", "17"], ["--activation", "'17'"]),
    "one point": ([*_TANH, "--points", "1"], ["--points", "2", "1000", "got 1"]),
    "many points": (
        [*_TANH, "--points", "1001"],
        ["--points", "2", "1000", "got 1001"],
    ),
    "half a point": ([*_TANH, "--points", "2.5"], ["--points", "'2.5'"]),
    "no folder": (
        [*_TANH, "--output", "no such folder/a.svg"],
        ["--output", "no such folder"],
    ),
    "another format": (
        [*_TANH, "--output", "a.txt"],
        ["--output", ".svg", "got a.txt"],
    ),
    "an empty range": (
        [*_TANH, "--weight-var", "2", "2"],
        ["--weight-var", "got 2 2"],
    ),
    "infinity": ([*_TANH, "--bias-var", "0", "inf"], ["--bias-var", "got 0 inf"]),
    "below zero": ([*_TANH, "--bias-var", "-1", "1"], ["--bias-var", "got -1 1"]),
}
"""Options, and words that are said of them."""


def _predict_refusal(*, what: str) -> list[Any]:
    options, words = _REFUSED[what]
    code, text, errors = _run(options)
    _, _, said = errors.partition("error: ")
    guess = "did you mean" in said
    return [code, text, [word for word in words if word in said], guess]


def _measure_refusal(*, what: str) -> list[Any]:
    """Wrong usage is 2; the option, what it needs and what came are said; no tables."""
    return [2, "", _REFUSED[what][1], what == "another name"]


REFUSED = replace(
    PRINTED,
    id="dc/D.0-command-refused",
    items=("D.0",),
    title="python -m theory.phase refuses options, naming them and what came",
    statement=r"2 \le n \le 1000, \quad 0 \le a < b < \infty",
    assumptions=(),
    cases=tuple({"what": what} for what in _REFUSED),
    predict=_predict_refusal,
    measure=_measure_refusal,
    compare=Identical(),
    must_refute=always([0, "", [], False], "Nothing is refused."),
    uses=("dc/D.0-command",),
)
