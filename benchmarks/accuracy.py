"""Measured accuracy of `theory`: the catalogue against its definitions to 40 digits.

``python benchmarks/accuracy.py`` prints the tables of docs/accuracy.md (about two
minutes, each row announced as it is done); ``--write docs/accuracy.md`` puts them there;
``--hard`` does the tables of hard cases instead (see `hard_cases`), and ``--only kernels``
those with this in their heading. Every number of the first is the largest relative error
over the points below, ends and near-duplicates included. The definitions come from
`verify.integrals` and `soft_sign`, which share no code with `theory`.
"""

import argparse
import datetime as dt
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import flint
import mpmath
import numpy as np
import soft_sign
from hard_cases.table import table as hard_table

from theory import activations as act
from theory import conditioning, kernels
from verify import integrals
from verify.integrals import Law

DIGITS = 60
ORDER = 200
RHO = np.array(
    [
        *(-1.0, -1.0 + 1e-12, -0.99, -0.7, -0.3, -0.01, -1e-6),
        *(1e-9, 0.001, 0.1, 0.5, 0.8, 0.95, 0.999, 1.0 - 1e-6, 1.0 - 1e-12, 1.0),
    ]
)
DELTA = np.array(
    [
        *(1e-18, 1e-15, 1e-12, 1e-9, 1e-6, 1e-4, 0.01, 0.1, 0.3, 0.7, 1.0, 1.3, 1.8),
        *(1.99, 2.0 - 1e-6, 2.0 - 1e-12, 2.0),
    ]
)
_BLOCK = r"(<!-- {0}: start -->\n).*?(<!-- {0}: end -->)"


def relative(got: Any, true: Any, size: Any = None) -> float:
    """Return |got - true| over |true|, or over `size` where that is larger."""
    with mpmath.workdps(DIGITS):
        gap = abs(mpmath.mpf(float(got)) - true)
        scale = max(abs(true), size or 0)
        return float(gap / scale) if scale else float(gap)


def worst(got: Iterable[Any], true: Iterable[Any], size: Any = None) -> float:
    return max(relative(g, t, size) for g, t in zip(got, true, strict=True))


def reference(name: str, activation: act.Activation) -> Law | None:
    """Return the definition of a member of the catalogue, None where there is none."""
    if name == "softsign":
        return soft_sign.law()
    if name.startswith("normrelu"):
        return integrals.law(f"normrelu({activation.kinks[0]!r})")
    try:
        return integrals.law(name)
    except KeyError:
        return None


# --- activations ----------------------------------------------------------------------


def hermite_error(activation: act.Activation, law: Law, scale: Any) -> float:
    """Coefficients to order 200; one that vanishes is measured on those after it."""
    with mpmath.workdps(DIGITS):
        true = [law.coefficient(k) / scale for k in range(ORDER + 3)]
        if activation.mean == 0.0:
            true[0] = mpmath.mpf(0)  # centred
        if activation.name == "exp":  # below the reference's noise of 1e-46
            true = [
                mpmath.sqrt(mpmath.e / mpmath.factorial(k)) for k in range(ORDER + 3)
            ]
        errors: list[float] = []
        for k, got in enumerate(activation.hermite(ORDER)):
            tail = max(abs(a) for a in true[k:])
            if tail < mpmath.mpf(10) ** -45:  # none left: a polynomial
                tail = max(abs(a) for a in true)
            vanishes = abs(true[k]) < 1e-14 * tail
            gap = abs(mpmath.mpf(float(got)) - true[k])
            errors.append(float(gap / (tail if vanishes else abs(true[k]))))
    return max(errors)


def activation_errors(name: str, activation: act.Activation) -> list[float] | None:
    """Return the errors of one row, None where no definition is at hand."""
    law = reference(name, activation)
    if law is None:
        return None
    normalised = name.startswith("normrelu")  # others are raw
    scale = mpmath.sqrt(law.variance()) if normalised else mpmath.mpf(1)
    dual = law.normalised_dual if normalised else law.dual
    slope = law.normalised_slope if normalised else law.slope
    distance = law.normalised_distance if normalised else law.distance
    out = [hermite_error(activation, law, scale)]
    # Duals cross zero: their errors are measured on the value at rho = 1.
    out.append(worst(activation.dual(RHO), map(dual, RHO), dual(1)))
    if np.isfinite(activation.derivative_second_moment):
        true = map(slope, RHO)
        got = activation.dual_derivative(RHO)
        out.append(worst(got, true, slope(1)))
    else:
        out.append(np.nan)
    # Where it is zero, of even functions at two, the definition has rounding alone.
    out.append(worst(activation.distance_map(DELTA), map(distance, DELTA), 1e-40))
    affine = name == "identity"
    out.append(np.nan if affine else relative(activation.mu, law.mu()))
    nu = law.mu() if normalised else law.nu()
    out.append(np.nan if affine else relative(activation.nu, nu))
    centred = activation.mean == 0.0
    point = mpmath.mpf(0) if centred else fixed_point(law)
    # Absolute: SELU's fixed point is the square of a mean that was meant to vanish.
    out.append(relative(activation.fixed_point(), point, 1))
    out.append(variance_error(name, activation))
    return out


def fixed_point(law: Law) -> Any:
    """Smallest fixed point in [0, 1], by Newton's method from the left of it."""
    with mpmath.workdps(DIGITS):
        size, rho = law.moment(), mpmath.mpf(0)
        try:
            if law.slope(1) <= size * (1 + mpmath.mpf(10) ** -40):
                return mpmath.mpf(1)
        except ValueError:  # a jump: the slope at one is infinite
            pass
        # The dual is convex: from the left every step stays on the left. Where its
        # slope at one is hardly more than one, a step leaves a third of the distance.
        step = mpmath.mpf(1)
        while step > 1e-18:
            slope = mpmath.diff(law.dual, rho, h=1e-20) / size
            step = (law.dual(rho) / size - rho) / (1 - slope)
            rho += step
        return rho


VARIANCES = (0.25, 2.0)


def variance_error(name: str, activation: act.Activation) -> float:
    """Error of the dual at unequal variances, on the geometric mean of its ends."""
    p, q = VARIANCES
    if name in integrals.PIECES:
        one, two = (replace(integrals.PIECES[name], variance=v) for v in VARIANCES)
        size = mpmath.sqrt(one.dual(1) * two.dual(1))
        rhos = (-0.9, 0.0, 0.5, 0.999)
        true = [one.dual(r, two) for r in rhos]
    elif name in integrals.SMOOTH:
        a, b = (integrals.smooth_coefficients(name, str(v)) for v in VARIANCES)
        with flint.ctx.workprec(integrals.BITS):
            both, one, two = (
                integrals.Series(tuple(x * y for x, y in zip(u, v, strict=True)))
                for u, v in ((a, b), (a, a), (b, b))
            )
        size = mpmath.sqrt(one.dual(1) * two.dual(1))
        rhos = (-1.0, -0.9, 0.0, 0.5, 0.999, 1.0)
        true = [both.dual(r) for r in rhos]
    else:
        return np.nan
    return worst(activation.dual(np.array(rhos), var_x=p, var_y=q), true, size)


# --- NormReLU -------------------------------------------------------------------------


def normrelu_errors() -> list[float]:
    """Errors of scale, shift, mu and slope for kinks from -30 to 30."""
    out = [0.0] * 4
    for kink in (
        -30.0,
        -12.0,
        -5.0,
        -1.5907658564412685,
        -0.5,
        0.0,
        1.0,
        6.0,
        15.0,
        30.0,
    ):
        with mpmath.workdps(500):
            c = mpmath.mpf(kink)
            zero, density = mpmath.erfc(c / mpmath.sqrt(2)) / 2, mpmath.npdf(c)
            one = density - c * zero
            variance = (1 + c * c) * zero - c * density - one * one
            true = [
                1 / mpmath.sqrt(variance),
                -one,
                1 - zero * zero / variance,
                zero / variance,
            ]
        got = conditioning.normrelu_constants(kink)
        values = (got.scale, got.shift, got.mu, got.slope)
        errors = map(relative, values, true)
        out = [max(a, b) for a, b in zip(out, errors, strict=True)]
    return out


# --- kernels --------------------------------------------------------------------------

DEPTHS = (1, 20, 1000)
CORRELATIONS = (-1.0, -0.7, 0.001, 0.5, 0.9, 1.0 - 1e-6, 1.0 - 1e-12)


def arc_cosine() -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Dual and slope of the normalised ReLU, from the arc-cosine kernel."""
    variance = (1 - 1 / mpmath.pi) / 2

    def slope(r: Any) -> Any:
        return (mpmath.pi - mpmath.acos(r)) / (2 * mpmath.pi * variance)

    def dual(r: Any) -> Any:
        root = (mpmath.sqrt((1 - r) * (1 + r)) - 1) / (2 * mpmath.pi * variance)
        return root + r * slope(r)

    return dual, slope


def power_series(name: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Dual and slope of a normalised smooth function; no mean to cancel."""
    law, a = integrals.law(name), integrals.smooth_coefficients(name)
    with flint.ctx.workprec(integrals.BITS):
        scale = integrals.arb(law.variance())
        series = integrals.Series((flint.arb(0), *(v * v / scale for v in a[1:])))
    return series.dual, series.slope


def pieces(name: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Dual and slope by integrals, and by 80 coefficients up to 0.3."""
    law = integrals.law(name)
    energies = [law.coefficient(k) ** 2 / law.variance() for k in range(81)]

    def dual(r: Any) -> Any:
        if abs(r) > 0.3:
            return law.normalised_dual(r)
        return sum(e * r**k for k, e in enumerate(energies) if k)

    def slope(r: Any) -> Any:
        if abs(r) > 0.3:
            return law.normalised_slope(r)
        return sum(k * e * r ** (k - 1) for k, e in enumerate(energies) if k)

    return dual, slope


def recursion(
    rho: float, dual: Callable[[Any], Any], slope: Callable[[Any], Any]
) -> dict[int, tuple[Any, Any]]:
    """Layer by layer: the kernel and the tangent kernel over its diagonal."""
    k = t = mpmath.mpf(rho)
    grown, diagonal, out = slope(mpmath.mpf(1)), mpmath.mpf(1), {}
    for depth in range(1, max(DEPTHS) + 1):
        here, carried = dual(k), t * slope(k)
        if abs(here - k) < mpmath.mpf(10) ** -60 * abs(k):
            # A fixed point, -1 of an odd function, from which rounding would grow.
            here = k
        k, t = here, here + carried
        diagonal = 1 + diagonal * grown
        if depth in DEPTHS:
            out[depth] = (k, t / diagonal)
    return out


def kernel_errors(name: str) -> dict[int, tuple[float, float]]:
    """Worst relative errors of both kernels at each depth, normalised activation."""
    activation = act.CATALOGUE[name].normalized()
    errors: dict[int, tuple[float, float]] = dict.fromkeys(DEPTHS, (0.0, 0.0))
    # A centred dual near zero cancels in the arc-cosine form: (1 - mu)^1000 is 1e-135.
    with mpmath.workdps(400 if name == "relu" else 70):
        if name == "relu":
            dual, slope = arc_cosine()
        else:
            dual, slope = (pieces if name in integrals.PIECES else power_series)(name)
        # Integrals for each layer: leave out those that take hundreds to separate.
        near = 0.99 if name in integrals.PIECES and name != "relu" else 1.0
        for rho in (r for r in CORRELATIONS if r < near):
            for depth, (k, t) in recursion(rho, dual, slope).items():
                one = relative(kernels.nngp_map(rho, activation, depth), k)
                two = relative(
                    kernels.ntk_map(rho, activation, depth, normalized=True), t
                )
                a, b = errors[depth]
                errors[depth] = (max(a, one), max(b, two))
    return errors


# --- tables ---------------------------------------------------------------------------


def cell(value: float) -> str:
    return "" if np.isnan(value) else "exact" if value < 1e-20 else f"{value:.1e}"


def timed(what: str, run: Callable[[], Any]) -> Any:
    """Return what a part finds, and say on standard error how long it took."""
    start = time.process_time()
    found = run()
    print(f"{what}: {time.process_time() - start:.1f} s", file=sys.stderr, flush=True)
    return found


def line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def tables() -> str:
    head = "activation|hermite|dual|slope|distance|mu|nu|fixed point|unequal variances"
    out = [line(*head.split("|")), line("---", *["---:"] * 8)]
    for name, activation in act.CATALOGUE.items():
        found = timed(name, lambda a=activation, n=name: activation_errors(n, a))
        if found is not None:
            out.append(line(name, *map(cell, found)))
    out += ["", line("NormReLU, c from -30 to 30", "scale", "shift", "mu", "slope")]
    out += [line("---", *["---:"] * 4), line("", *map(cell, normrelu_errors()))]
    names = [f"{kind}, {depth}" for depth in DEPTHS for kind in ("NNGP", "NTK")]
    out += ["", line("kernels, depth", *names), line("---", *["---:"] * len(names))]
    for name in ("relu", "tanh", "gelu", "selu"):
        errors = timed(f"kernels of {name}", lambda n=name: kernel_errors(n))
        out.append(line(name, *(cell(e) for depth in DEPTHS for e in errors[depth])))
    return "\n".join(out)


def stamp() -> str:
    """Return a sentence that says when, and of which state of `theory`, this is."""
    command = ["git", "log", "-1", "--format=%h", "--", "theory"]
    root = Path(__file__).parents[1]
    found = subprocess.run(
        command, cwd=root, check=True, capture_output=True, text=True
    )
    today = dt.date.today()
    return (
        f"Measured on {today.day} {today:%B %Y}, with `theory` as of commit"
        f" {found.stdout.strip()}."
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="a page with the two markers")
    parser.add_argument("--hard", action="store_true", help="the tables of hard cases")
    parser.add_argument("--only", default="", help="hard cases with this heading")
    options = parser.parse_args()
    if options.only and options.write:
        parser.error("--only shows a part, which --write would take for all")
    page: Path | None = options.write
    name = "hard cases" if options.hard else "accuracy"
    text = hard_table(options.only) if options.hard else tables()
    text = f"{stamp()}\n\n{text}"
    print(text)
    if page is not None:
        old = page.read_text(encoding="utf-8")
        block = re.compile(_BLOCK.format(name), re.S)
        new = block.sub(lambda m: f"{m[1]}{text}\n{m[2]}", old)
        page.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
