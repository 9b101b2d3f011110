"""Draw the phase diagram of deep random networks: ``python -m theory.phase --help``."""

import argparse
import difflib
import os
import sys
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from theory import plots
from theory.activations import CATALOGUE, Activation
from theory.phase.diagram import reach
from theory.phase.edges import Edge, edge_points
from theory.phase.regimes import classify

FORMATS = (".svg", ".png", ".pdf")

DESCRIPTION = """\
Phase diagram of wide random networks: for every variance of the weights (times the
width) and of the biases, whether inputs become parallel with depth (ordered) or part
(chaotic), and over how many layers. Between them lies the edge of chaos, where the depth
scale is infinite. Prints the edge and a few networks; draws the diagram with --output
(or --figure).
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
    """Run the command; 0 when done, 1 without Matplotlib to draw, 2 for wrong usage."""
    parser = _parser()
    options = parser.parse_args(argv)
    activation = _activation(parser, options.activation)
    biases = _range(parser, "--bias-var", options.bias_var)
    chosen = options.weight_var or (0.0, reach(activation, biases))
    weights = _range(parser, "--weight-var", chosen)
    if not 2 <= options.points <= 1000:
        parser.error(f"--points must be from 2 to 1000, got {options.points}")
    output: Path | None = options.output
    if output is not None and output.suffix.lower() not in FORMATS:
        known = " or ".join(FORMATS)
        parser.error(f"--output must end in {known}, got {output}")
    if output is not None and not output.parent.is_dir():
        parser.error(f"--output: there is no folder {output.parent}")
    edges = _edges(activation, biases)
    sys.stdout.write(_edge_table(activation, edges))
    sys.stdout.write(_network_table(activation, weights, biases))
    sys.stdout.write(
        "\n" + textwrap.fill(_meaning(activation, biases[0], edges), 88) + "\n"
    )
    if output is not None:
        try:
            ax: Any = plots.phase_diagram(
                activation, weights, biases, points=options.points, progress=_told()
            )
        except ModuleNotFoundError as error:
            sys.stderr.write(f"error: {error}\n")
            return 1
        ax.figure.savefig(output)
        sys.stdout.write(f"\nDiagram written to {output}\n")
    return 0


def _told() -> Callable[[int, int], None]:
    """Return a reporter on stderr, silent unless there is more than two seconds of work."""
    start = time.monotonic()

    def tell(done: int, total: int) -> None:
        if time.monotonic() - start > 2.0:
            end = "\n" if done == total else ""
            share = 100 * done // total
            sys.stderr.write(f"\rnetworks classified: {share:3d} %{end}")
            sys.stderr.flush()

    return tell


def _edges(
    activation: Activation, biases: tuple[float, float]
) -> dict[float, tuple[Edge, ...]]:
    """Return the edge of chaos at six variances of the biases, none where chi_1 is not."""
    if not np.isfinite(activation.derivative_second_moment):
        return {}
    return {
        float(b): edge_points(activation, float(b)) for b in np.linspace(*biases, 6)
    }


def _edge_table(activation: Activation, edges: Mapping[float, Sequence[Edge]]) -> str:
    lines = [f"Edge of chaos of {activation.name}", ""]
    if not edges:
        lines += ["none: chi_1 is infinite for a function with jumps", ""]
        return "\n".join(lines)
    lines.append(f"{'bias_var':>10} {'weight_var':>12} {'q*':>12} {'chi_q':>9}")
    for bias, points in edges.items():
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


def _meaning(
    activation: Activation, bias: float, points: Mapping[float, Sequence[Edge]]
) -> str:
    """Say what the edge of chaos means for networks that are to be trained."""
    name = activation.name
    edges = [p.weight_var for p in points.get(bias, ()) if p.stable]
    if not edges:
        return (
            f"Meaning: {name} has no edge of chaos with bias variance {bias:g}; xi_c says"
            " for how many layers each network above still tells inputs apart."
        )
    at = " and ".join(f"{edge:.6g}" for edge in edges)
    return (
        f"Meaning: with bias variance {bias:g}, networks of {name} are at the edge of chaos"
        f" at weight variance {at}. On one side all inputs become parallel with depth"
        " (ordered), over xi_c layers; on the other close ones part (chaotic), or variances"
        " grow without bound (divergent). The nearer the edge, the more layers a signal and"
        " its gradient survive, and the deeper a network can be and still be trained."
    )


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
        "--output",
        "--figure",
        type=Path,
        metavar="FILE",
        help="draw the diagram to a .svg, .png or .pdf file",
    )
    parser.add_argument(
        "--weight-var",
        nargs=2,
        type=float,
        metavar=("A", "B"),
        help="range of weight variances (default: chosen to show both phases)",
    )
    parser.add_argument(
        "--bias-var",
        nargs=2,
        type=float,
        default=(0.0, 0.5),
        metavar=("A", "B"),
        help="range of bias variances (default: 0 0.5)",
    )
    parser.add_argument(
        "--points",
        type=int,
        default=100,
        metavar="N",
        help="cells per side (default: 100)",
    )
    return parser


if __name__ == "__main__":
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has had enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 141
    raise SystemExit(code)
