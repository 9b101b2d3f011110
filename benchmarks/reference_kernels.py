r"""Kernels of pairs of inputs of any lengths, layer by layer, to at least 28 digits.

``python benchmarks/reference_kernels.py`` writes tests/theory/data/kernels.json and
duals.json (six minutes on one core), ``--only relu tanh`` replaces some functions
in them; ``--check tanh`` computes with two precisions and numbers of nodes, 20 digits
apart, and prints the largest relative differences.

Inputs are floats, taken as exact. The recursion is that of `theory.kernels`,

    K^(l) = E s(u)s(v),  T^(l) = K^(l) + T^(l-1) E s'(u)s'(v),

with (u, v) of covariance K^(l-1); the expectations are those of `reference_laws` (130
digits carried; 80 for kinks off zero; exponential units beyond variance 40 as smooth
ones) and `reference_smooth` (28 digits of 1 - correlation). The files hold 15
digits of kernels, 13 of 1 - correlation. `growth` is what a relative change of the
inputs' squared lengths is multiplied by, in the kernels' diagonals, at that depth.
"""

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import flint
import reference_laws as laws
import reference_smooth as smooth
from flint import arb
from reference_laws import Ball, Law

DATA = Path(__file__).parents[1] / "tests" / "theory" / "data"
FILES = DATA / "kernels.json", DATA / "duals.json"
SQUARES = (1e-6, 1e-4, 1.0, 100.0, 784.0, 3072.0, 1e4, 1e6)
HARD = ("parallel", "near", "near, 1e-12", "near, 1.5", "wide, 1.5", "generic")
"""Cases taken at every length; the others at |x|^2 = 1 and 784."""
STABLE = 1e6
"""Kernels of greater growth are left out: float64 inputs do not determine them."""
Pair = tuple[list[float], list[float]]


def _turned(angle: float, r: float, s: float) -> Pair:
    return [r, 0.0], [s * math.cos(angle), s * math.sin(angle)]


def _swapped(angle: float, r: float) -> Pair:
    """Of exactly equal lengths."""
    c, s = (r * f(math.pi / 4 + angle / 2) for f in (math.cos, math.sin))
    return [c, s], [s, c]


CASES: dict[str, Callable[[float], Pair]] = {
    "duplicate": lambda r: ([0.6 * r, 0.8 * r], [0.6 * r, 0.8 * r]),
    "parallel": lambda r: ([r, 0.0], [r * (1 + 1e-12), 0.0]),
    "near": lambda r: _swapped(1e-8, r),
    "near, 1e-12": lambda r: _turned(1e-8, r, r * (1 + 1e-12)),
    "near, 1.5": lambda r: _turned(1e-8, r, 1.5 * r),
    "wide, 1.5": lambda r: _turned(1.0, r, 1.5 * r),
    "antipodes": lambda r: ([0.6 * r, 0.8 * r], [-0.6 * r, -0.8 * r]),
    "orthogonal": lambda r: ([r, 0.0], [0.0, r]),
    "generic": lambda r: (
        [r / 7, 2 * r / 7, 6 * r / 7],
        [6 * r / 7, r / 7, -2 * r / 7],
    ),
    "uneven": lambda r: ([r, 0.0, 0.0], [0.3 * r, -0.5 * r, 0.2 * r]),
}

CLOSED = 430  # bits
SMOOTH = 260
OFF_ZERO = ("hard_tanh", "hard-swish", "elu", "selu")
SLOW = ("softsign",)


def functions(extra: int = 0) -> Iterator[tuple[str, int, Law]]:
    """Name, bits, law; with `extra` digits and nodes, to be checked against."""
    kinds = (
        (CLOSED, {**laws.FORMULAS, **laws.half_lines(62 + extra)}),
        (SMOOTH, smooth.smooth(62 + extra)),
    )
    laws.NODES[0] = 64 + extra
    for bits, group in kinds:
        for name, make in group.items():
            flint.ctx.prec = bits + 4 * extra
            yield name, flint.ctx.prec, make()


class Recursion:
    """Kernels of one law; diagonals are kept."""

    def __init__(self, law: Law) -> None:
        self.law = law
        self._diagonals: dict[str, list[tuple[Ball, Ball, Ball | None]]] = {}

    def diagonal(self, q: Ball, depth: int) -> list[tuple[Ball, Ball, Ball | None]]:
        """(K, T, E s'^2) after 0..depth layers; T is that of s' = 0 without slope."""
        rows = self._diagonals.setdefault(q.str(90), [(q, q, None)])
        while len(rows) <= depth and inside(rows[-1][0]) and inside(rows[-1][1]):
            k, t, _ = rows[-1]
            value, slope = (None if b is None else b.mid() for b in self.law.one(k))
            rows.append((value, value + t * (0 if slope is None else slope), slope))
        return rows

    def growth(self, q: Ball, depth: int) -> float:
        """Relative change of K, T at `depth` over that of the squared length."""
        small = arb("1e-25")
        both = [self.diagonal(v, depth) for v in (q, (q * (1 + small)).mid())]
        if min(map(len, both)) <= depth:
            return math.inf
        one, two = (rows[depth] for rows in both)
        return max(
            abs(float((b / a - 1) / small))
            for a, b in zip(one[:2], two[:2], strict=True)
        )

    def pair(self, x: list[float], y: list[float], depths: tuple[int, ...]) -> Any:
        """Rows (depth, K_ii, K_jj, 1 - corr, K_ij, T_ij, T_ii, T_jj, growth) of balls."""
        dot = [
            sum((arb(a) * arb(b) for a, b in zip(*both, strict=True)), arb(0)).mid()
            for both in ((x, x), (y, y), (x, y))
        ]
        one, two = (self.diagonal(q, max(depths)) for q in dot[:2])
        k, t, out = dot[2], dot[2], []
        for depth in range(1, max(depths) + 1):
            if depth >= min(len(one), len(two)):
                break
            p, q = one[depth - 1][0], two[depth - 1][0]
            try:
                if x == y or (k - p == 0 and k - q == 0):
                    value, slope = self.law.one(p)
                else:
                    value, slope = self.law.two(p, q, _apart(p, q, k))
            except smooth.TooManyNodes:
                break
            k = _snapped(one[depth][0], two[depth][0], value.mid())
            t = (k + t * (0 if slope is None else slope)).mid()
            p, q = one[depth][0], two[depth][0]
            ends = p, q, one[depth][1], two[depth][1]
            if not all(inside(v) for v in ends):
                break
            if depth in depths:
                growth = max(self.growth(v, depth) for v in dot[:2])
                if not growth < STABLE:
                    break
                tangent = [None] * 3 if slope is None else [t, *ends[2:]]
                away = 1 - k / (p * q).sqrt()
                out.append([depth, p, q, away, k, *tangent, growth])
        return out


def written(row: list[Any]) -> list[Any]:
    """A row in 15 digits, and 13 of the distance."""
    depth, p, q, away, k, t, t_i, t_j, growth = row
    out = [depth, digits(p), digits(q), digits(away, 13, 1), digits(k, 15, size(p, q))]
    out += [t if t is None else digits(t, 15, size(t_i, t_j))]
    out += [v if v is None else digits(v) for v in (t_i, t_j)]
    return [*out, float(f"{growth:.1e}")]


def size(p: Ball, q: Ball) -> Ball:
    return (p * q).sqrt()


def _snapped(p: Ball, q: Ball, k: Ball) -> Ball:
    """k, exactly sqrt(pq) or its negative where only rounding is between.

    Depth would grow the rounding of pairs that stay parallel to a distance of one.
    """
    top = p if p - q == 0 else size(p, q).mid()
    if not 1 - abs(k) / top < arb("1e-45"):
        return k
    return top if k > 0 else -top


def _apart(p: Ball, q: Ball, k: Ball) -> Ball:
    """k, at least 1e-100 inside the ends |k| = sqrt(pq)."""
    top = ((p * q).sqrt() * (1 - arb("1e-100"))).mid()
    return top if k > top else -top if k < -top else k


def inside(x: Ball) -> bool:
    return bool(arb("1e-290") < x < arb("1e290"))


def digits(x: Ball, count: int = 15, scale: Any = 0) -> float:
    """A float of some digits; zero where only rounding is left of `scale`."""
    if not x.is_finite():
        raise ArithmeticError(f"reference: {x}")
    if abs(x) <= scale * arb("1e-30"):
        return 0.0
    return float(x.mid().str(count, radius=False))


def depths_of(name: str, bits: int, square: float) -> tuple[int, ...]:
    if name in SLOW:
        return (1, 3) if square in (1.0, 1e4) else (1,)
    if bits < CLOSED:
        return (1, 3, 20) if square == 1.0 else (1, 3)
    if name in ("elu", "selu") and square > 1000.0:
        return (1,)
    deep = (1, 3, 20, 200) if name in OFF_ZERO else (1, 3, 20, 200, 300)
    return deep if square == 1.0 else (1, 20)


def inputs() -> dict[str, dict[str, Pair]]:
    """The inputs of each case at each squared length."""
    return {
        case: {
            f"{square:g}": make(math.sqrt(square))
            for square in SQUARES
            if case in HARD or square in (1.0, 784.0)
        }
        for case, make in CASES.items()
    }


def kernels(name: str, bits: int, law: Law) -> dict[str, Any]:
    """Raw, and normalised where that is another function."""
    out: dict[str, Any] = {}
    forms = {"raw": law, "normalized": laws.normalized(law)}
    if name.startswith("hermite") or name == "identity":
        del forms["normalized"]
    if name == "normrelu":
        forms = {"raw": forms["normalized"]}  # normalised as it is
    for form, function in forms.items():
        recursion = Recursion(function)
        rows = out[name if form == "raw" else f"normalized {name}"] = {}
        for case, lengths in inputs().items():
            for square, (x, y) in lengths.items():
                found = recursion.pair(x, y, depths_of(name, bits, float(square)))
                rows.setdefault(case, {})[square] = found
    return out


# --- duals ----------------------------------------------------------------------------

VARIANCES = (1e-8, 1e-4, 1.0, 100.0, 784.0, 1e4, 1e6, 1e8)
UNEQUAL = (
    (1e-8, 1.0),
    (1e-4, 1e4),
    (1.0, 2.25),
    (1.0, 784.0),
    (100.0, 1e4),
    (1.0, 1e8),
)
RHO = (-1.0, -0.9, 0.0, 0.3, 0.9, 1.0 - 1e-6)


def duals(name: str, law: Law) -> dict[str, Any]:
    """E s^2, E s'^2 by variance; rows (var_x, var_y, rho, E s(u)s(v), E s'(u)s'(v))."""
    if name == "normrelu":
        law = laws.normalized(law)
    moments, rows = {}, []
    for var in sorted({*VARIANCES, *(v for both in UNEQUAL for v in both)}):
        both = law.one(arb(var))
        if all(v is None or v < arb("1e290") for v in both):
            moments[f"{var:g}"] = [v if v is None else digits(v) for v in both]
    for var_x, var_y in (*((v, v) for v in VARIANCES), *UNEQUAL):
        if not {f"{var_x:g}", f"{var_y:g}"} <= set(moments):
            continue
        p, q = arb(var_x), arb(var_y)
        for rho in RHO:
            k = (arb(rho) * (p * q).sqrt()).mid()
            try:
                both = law.two(p, q, _apart(p, q, k))
            except smooth.TooManyNodes:
                continue
            ends = zip(law.one(p), law.one(q), both, strict=True)
            both = (v if v is None else digits(v, 15, size(a, b)) for a, b, v in ends)
            rows.append([var_x, var_y, rho, *both])
    return {"moments": moments, "rows": rows}


# --- files ----------------------------------------------------------------------------


def compact(tree: Any, level: int) -> str:
    """JSON with one line for each value at `level`."""
    if level == 0 or not isinstance(tree, dict):
        return json.dumps(tree, separators=(",", ":"))
    lines = (f"{json.dumps(k)}:{compact(v, level - 1)}" for k, v in tree.items())
    return "{\n" + ",\n".join(lines) + "\n}"


def generate(name: str, bits: int, law: Law) -> tuple[dict[str, Any], dict[str, Any]]:
    """Kernels and duals of one function."""
    start = time.process_time()
    deep = {
        form: {
            case: {
                square: [written(r) for r in rows] for square, rows in lengths.items()
            }
            for case, lengths in found.items()
        }
        for form, found in kernels(name, bits, law).items()
    }
    middle = time.process_time()
    flat = duals(name, law)
    end = time.process_time()
    print(f"{name}: {middle - start:.1f} s, {end - middle:.1f} s", flush=True)
    return deep, {name: flat}


def rounded(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {k: rounded(v) for k, v in tree.items()}
    if isinstance(tree, list):
        return [rounded(v) for v in tree]
    return float(f"{tree:.15g}") if isinstance(tree, float) else tree


def stored() -> tuple[dict[str, Any], dict[str, Any]]:
    """What is in the files."""
    trees = [json.loads(f.read_text()) if f.exists() else {} for f in FILES]
    return trees[0].get("kernels", {}), trees[1]


def store(deep: dict[str, Any], flat: dict[str, Any]) -> None:
    """Put one function into the files."""
    DATA.mkdir(parents=True, exist_ok=True)
    old = stored()
    both = {"inputs": inputs(), "kernels": rounded(old[0] | deep)}
    FILES[0].write_text(compact(both, 3) + "\n", encoding="utf-8")
    FILES[1].write_text(compact(rounded(old[1] | flat), 2) + "\n", encoding="utf-8")


def apart(one: list[Any], two: list[Any]) -> dict[str, float]:
    """Relative differences of two rows: kernels over their diagonals, the distance."""
    k, t = size(one[1], one[2]), None if one[5] is None else size(one[6], one[7])
    out = {"K": (one[4] - two[4]) / k, "K_ii": one[1] / two[1] - 1}
    if one[3] > arb("1e-30"):
        out["1 - correlation"] = one[3] / two[3] - 1
    if t is not None:
        out["T"] = (one[5] - two[5]) / t
    return {what: abs(float(v)) for what, v in out.items()}


def check(name: str) -> None:
    """Print how far apart two precisions and numbers of nodes are."""
    found: list[dict[str, Any]] = []
    for extra in (0, 20):
        for other, bits, law in functions(extra):
            if other == name:
                found.append(kernels(name, bits - 4 * extra, law))
    worst: dict[str, float] = {}
    for form in found[0]:
        for case, lengths in found[0][form].items():
            for square, rows in lengths.items():
                # More digits may take more nodes than are spent on a pair.
                for both in zip(rows, found[1][form][case][square], strict=False):
                    for what, value in apart(*both).items():
                        worst[what] = max(worst.get(what, 0.0), value)
    print(name, {what: f"{value:.0e}" for what, value in worst.items()}, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--check", nargs="+", default=[])
    options = parser.parse_args()
    for name in options.check:
        check(name)
    for name, bits, law in () if options.check else functions():
        if not options.only or name in options.only:
            store(*generate(name, bits, law))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
