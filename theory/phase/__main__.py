"""Draw the phase diagram of deep random networks: ``python -m theory.phase --help``."""

import argparse
import difflib
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from theory.activations import CATALOGUE, Activation
from theory.phase._correlations import coarse
from theory.phase._curves import moments
from theory.phase._picture import Diagram, svg
from theory.phase._settling import settle
from theory.phase._state import State, first_slope
from theory.phase._state import depth as depths
from theory.phase.edges import edge_curve, edge_points
from theory.phase.regimes import classify

Array = npt.NDArray[np.float64]

BLOCK = 20_000
"""Networks that are classified together."""

START = 1.0
"""Variance of the first layer's pre-activations."""

DESCRIPTION = """\
Phase diagram of wide random networks: for every variance of the weights (times the
width) and of the biases, whether inputs become parallel with depth (ordered) or part
(chaotic), and over how many layers. Between them lies the edge of chaos, where the depth
scale is infinite. Prints the edge and a few networks; draws the diagram with --output.
Grey: variances grow without bound there, and no correlation settles."""

EPILOG = """\
columns:
  q*        variance of pre-activations at great depth
  c*        correlation of any two inputs at great depth
  chi_1     what a squared gradient is multiplied by from layer to layer
  xi_q      layers in which a deviation from q* falls by the factor e
  xi_c      the same for c*: how deep a network can be and still tell inputs apart

examples:
  python -m theory.phase --activation tanh --output tanh.svg
  python -m theory.phase --activation selu --weight-var 0.2 2 --bias-var 0 0.5
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0 when done, 2 for wrong usage."""
    parser = _parser()
    options = parser.parse_args(argv)
    activation = _activation(parser, options.activation)
    biases = _range(parser, "--bias-var", options.bias_var)
    chosen = options.weight_var or (0.0, _reach(activation, biases))
    weights = _range(parser, "--weight-var", chosen)
    if not 2 <= options.points <= 1000:
        parser.error(f"--points must be from 2 to 1000, got {options.points}")
    output: Path | None = options.output
    if output is not None and output.suffix.lower() != ".svg":
        parser.error(f"--output must end in .svg, got {output}")
    if output is not None and not output.parent.is_dir():
        parser.error(f"--output: there is no folder {output.parent}")
    sys.stdout.write(_edge_table(activation, biases))
    sys.stdout.write(_network_table(activation, weights, biases))
    if output is not None:
        picture = svg(diagram(activation, weights, biases, options.points))
        output.write_text(picture, encoding="utf-8")
        sys.stdout.write(f"\nDiagram written to {output}\n")
    return 0


def diagram(
    activation: Activation,
    weights: tuple[float, float],
    biases: tuple[float, float],
    points: int,
) -> Diagram:
    """Classify the centres of points x points cells and find the edge among them.

    Depth scales are as accurate as a picture needs: 1e-4 except next to the edge.
    """
    w, b = (low + (high - low) * _centres(points) for low, high in (weights, biases))
    w, b = (v.ravel() for v in np.broadcast_arrays(w, b[:, None]))
    m = moments(activation)
    q = settle(m, w, b, START)
    panels = coarse(q[first_slope(m, q, w) > 1.0])
    depth, phase = np.empty(w.size), np.empty(w.size, dtype="U9")
    start, shown = time.monotonic(), False
    for block in np.array_split(np.arange(w.size), -(-w.size // BLOCK)):
        s = State(m, w[block], b[block], START, panels)
        # A slope of nothing may be interpolated to less.
        depth[block], phase[block] = depths(np.maximum(s.chi_c, 0.0)), s.phase
        if shown or time.monotonic() - start > 2.0:
            shown = True
            done = 100 * (int(block[-1]) + 1) // w.size
            sys.stderr.write(f"\rnetworks classified: {done:3d} %")
            sys.stderr.flush()
    if shown:
        sys.stderr.write("\n")
    title = f"Phases of deep random networks: {activation.name}"
    curves = _edges(activation, weights, biases)
    shape = (points, points)
    return Diagram(
        title, weights, biases, depth.reshape(shape), phase.reshape(shape), curves
    )


def _centres(points: int) -> Array:
    return (np.arange(points) + 0.5) / points


def _edges(
    activation: Activation, weights: tuple[float, float], biases: tuple[float, float]
) -> tuple[tuple[Array, Array], ...]:
    """Return the parts of the edge with stable variances that cross the window."""
    if not np.isfinite(activation.derivative_second_moment):
        return ()
    single = [p for p in edge_points(activation) if p.stable and biases[0] == 0.0]
    if single and np.isnan(single[0].variance):
        w = single[0].weight_var
        inside = weights[0] <= w <= weights[1]
        return ((np.array([w]), np.array([0.0])),) if inside else ()
    # As far as 1e4 times the largest bias in variance; a curve of no return beyond.
    top = min(1e7, 1e4 * biases[1])
    q = np.geomspace(1e-7, top, 3000)
    edge = edge_curve(q, activation)
    w, b = np.asarray(edge.weight_var), np.asarray(edge.bias_var)
    keep = np.asarray(edge.stable) & (b >= 0.0) & (b <= 1.5 * biases[1])
    keep &= (w >= 0.0) & (w <= 3.0 * weights[1])
    pieces = np.split(np.arange(q.size), np.flatnonzero(np.diff(keep)) + 1)
    return tuple((w[p], b[p]) for p in pieces if keep[p[0]] and p.size > 1)


def _reach(activation: Activation, biases: tuple[float, float]) -> float:
    """Return an end of the axis of weights that shows both phases."""
    if not np.isfinite(activation.derivative_second_moment):
        return 4.0
    points = [p for b in biases for p in edge_points(activation, b)]
    largest = max((p.weight_var for p in points if p.stable), default=2.5)
    return float(f"{1.6 * largest:.1g}")


def _edge_table(activation: Activation, biases: tuple[float, float]) -> str:
    lines = [f"Edge of chaos of {activation.name}", ""]
    if not np.isfinite(activation.derivative_second_moment):
        lines += ["none: chi_1 is infinite for a function with jumps", ""]
        return "\n".join(lines)
    lines.append(f"{'bias_var':>10} {'weight_var':>12} {'q*':>12} {'chi_q':>9}")
    for bias in np.linspace(*biases, 6):
        points = edge_points(activation, float(bias))
        for p in points:
            q = "any" if np.isnan(p.variance) else f"{p.variance:.6g}"
            note = "" if p.stable else "  (q* is not stable)"
            lines.append(
                f"{bias:10.4g} {p.weight_var:12.6f} {q:>12} {p.chi_q:9.4f}{note}"
            )
        if not points:
            lines.append(f"{bias:10.4g} {'none':>12}")
    return "\n".join([*lines, ""])


def _network_table(
    activation: Activation, weights: tuple[float, float], biases: tuple[float, float]
) -> str:
    head = (
        f"{'weight_var':>10} {'bias_var':>9}  {'phase':9} {'q*':>10} {'c*':>9}"
        f" {'chi_1':>9} {'xi_q':>8} {'xi_c':>8}"
    )
    lines = ["", "Networks", "", head]
    low, high = weights
    for share in (0.25, 0.5, 0.75, 1.0):
        for bias in (biases[0], 0.5 * (biases[0] + biases[1])):
            p = classify(activation, low + share * (high - low), bias)
            lines.append(
                f"{p.weight_var:10.4g} {p.bias_var:9.4g}  {p.phase:9}"
                f" {p.variance:10.5g} {p.correlation:9.5f} {p.chi_1:9.5f}"
                f" {p.variance_depth:8.4g} {p.correlation_depth:8.4g}"
            )
    return "\n".join([*lines, ""])


def _activation(parser: argparse.ArgumentParser, name: str) -> Activation:
    if name not in CATALOGUE:
        _unknown(parser, name)
    return CATALOGUE[name]


def _unknown(parser: argparse.ArgumentParser, name: str) -> NoReturn:
    near = difflib.get_close_matches(name, list(CATALOGUE), n=3, cutoff=0.4)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    parser.error(
        f"--activation: {name!r} is not known{hint} (all: {', '.join(CATALOGUE)})"
    )


def _range(
    parser: argparse.ArgumentParser, option: str, ends: Sequence[float]
) -> tuple[float, float]:
    low, high = (float(v) for v in ends)
    if not (np.isfinite([low, high]).all() and 0.0 <= low < high):
        parser.error(f"{option} must be two numbers, 0 <= A < B, got {low:g} {high:g}")
    return low, high


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m theory.phase",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--activation",
        required=True,
        metavar="NAME",
        help=f"one of {', '.join(CATALOGUE)}".replace("%", "%%"),
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE.svg", help="draw the diagram to this file"
    )
    parser.add_argument(
        "--weight-var",
        nargs=2,
        type=float,
        metavar=("A", "B"),
        help="the diagram's range of weight variances (default: both phases are seen)",
    )
    parser.add_argument(
        "--bias-var",
        nargs=2,
        type=float,
        default=(0.0, 0.5),
        metavar=("A", "B"),
        help="its range of bias variances (default: 0 0.5)",
    )
    parser.add_argument(
        "--points",
        type=int,
        default=100,
        metavar="N",
        help="cells a side (default: 100)",
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
