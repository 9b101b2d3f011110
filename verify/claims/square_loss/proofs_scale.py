"""Identities of the scale and its equilibria, for all outputs and labels at once."""

from typing import Any

import numpy as np
import sympy

from theory import square_loss as sl
from verify.claims._symbolic import Link, proof
from verify.claims.square_loss._sources import ours, quoted
from verify.claims.square_loss._symbols import (
    LABELS,
    OUTPUTS,
    f1,
    f2,
    labelled,
    lam,
    product,
    rho,
    y1,
    y2,
)

t, r0 = sympy.symbols("t rho_0", positive=True)
_S, _B = f1**2 + f2**2, y1 * f1 + y2 * f2
_A = lam + _S

# --- norm and direction of a matrix ---------------------------------------------------


def _moving() -> tuple[Any, Any, Any]:
    w = sympy.Matrix([[sympy.Function(f"w{k}")(t) for k in (0, 1, 2)]])
    size = sympy.sqrt(product(w, w))
    return w, size, w.diff(t)


def _named(expressions: list[Any]) -> list[Any]:
    """Put symbols for the entries, their velocities and the norm."""
    w, _, speed = _moving()
    entries, speeds = sympy.symbols("w_:3"), sympy.symbols("s_:3")
    names = dict(zip(speed, speeds, strict=True))
    plain = dict(zip(w, entries, strict=True))
    square = sum(e**2 for e in entries)
    found = [e.doit().subs(names).subs(plain) for e in expressions]
    return [sympy.simplify(e * sympy.sqrt(square) ** 3) for e in found]


def _proj() -> list[Any]:
    w, size, _ = _moving()
    return _named([sympy.diff(size, t) / size, *(w / size).diff(t)])


def _proj_formula(power: int) -> list[Any]:
    w, size, speed = _moving()
    v = w / size
    along = product(v, speed)
    return _named([along / size, *((speed - v * along) / size**power)])


# --- moments of the frozen problem ----------------------------------------------------

_TRAJECTORY = _B / _A + (r0 - _B / _A) * sympy.exp(-2 * _A * t)


def _frozen_loss() -> Any:
    return (rho * f1 - y1) ** 2 + (rho * f2 - y2) ** 2 + lam * rho**2


def _frozen(function: Any) -> Any:
    """Return a function of (f1, f2, lambda, *rest) of the library's by outputs."""
    return lambda a, b, decay, *rest: function([a, b], list(LABELS), decay, *rest)


_FROZEN = {**OUTPUTS, lam: (0.1, 2.0)}

_h, _m, _z = sympy.symbols("h m z")
_r, _s, _d, _c = sympy.symbols("r s delta c", positive=True)
_n = sympy.Symbol("n", positive=True)


def _hurwitz() -> list[Any]:
    """Coefficients in z of the characteristic polynomial at (1 + z)/(1 - z)."""
    x = (1 + _z) / (1 - _z)
    polynomial = sympy.expand(
        sympy.cancel((x**2 - (1 + _m - _h) * x + _m) * (1 - _z) ** 2)
    )
    return [polynomial.coeff(_z, k) for k in (0, 1, 2)]


def _equal_layers(depth: int) -> Any:
    radii = sympy.symbols(f"r_:{depth}", positive=True)
    whole = sympy.prod(radii)
    loss = whole**2 * _s - 2 * whole * _c + lam * sum(r**2 for r in radii)
    return (sympy.diff(loss, radii[0]) * radii[0] / (2 * whole)).subs(
        dict.fromkeys(radii, _r)
    )


def _layered(depth: int, power: Any) -> Any:
    return _r**depth * _s - _c + lam * _r ** (depth * power)


def _stationary(f: float, decay: float, depth: int) -> float:
    """Residual of the formula at the library's equilibrium, over its size."""
    found = sl.unnormalised_equilibrium([f], [1], decay, depth)
    size = float(np.max(np.atleast_1d(found)))
    return size * f * f - f + decay * size ** (2.0 / depth - 1.0)


def _gram_mean() -> list[Any]:
    # With z standard normal: E z^4 = 3, and squares of different rows are independent.
    diagonal = (3 * _r + _r * (_r - 1)) / _r**2 - 2 + 1
    return [_c * diagonal + _c * (_c - 1) * _r / _r**2]


CLAIMS = (
    proof(
        id="sl/proj-proof",
        items=("Proj", "Err1"),
        title="A motion of the weights, split into norm and direction (symbolic proof)",
        statement=r"\dot\rho = \langle V, \dot W \rangle, \quad"
        r" \dot V = \frac1\rho (I - V V^T) \dot W",
        source=ours("Section 2, corrected"),
        derived=_proj,
        formula=lambda: _proj_formula(1),
        wrong=lambda: _proj_formula(0),
        mistake="The motion of the direction not divided by the norm",
        links=lambda: [
            Link(
                lambda a, b, x, y: sl.direction_from_weight_velocity(
                    [[a, b]], [[x, y]]
                )[1][0, 0],
                (_r - f1 * (f1 * _r + f2 * _s) / (f1**2 + f2**2))
                / sympy.sqrt(f1**2 + f2**2),
                {f1: (0.1, 1.0), f2: (0.1, 1.0), _r: (-1.0, 1.0), _s: (-1.0, 1.0)},
            )
        ],
        assumptions=("three entries",),
        uses=("sl/proj",),
    ),
    proof(
        id="sl/lin-proof",
        title="The exponential relaxation solves the scale's equation (symbolic proof)",
        statement=r"\rho(t) = \frac BA + \Big(\rho_0 - \frac BA\Big) e^{-2At}"
        r"\;\Rightarrow\; \dot\rho = -2(A\rho - B)",
        source=ours("Equation 3, with V frozen"),
        derived=lambda: [sympy.diff(_TRAJECTORY, t), _TRAJECTORY.subs(t, 0)],
        formula=lambda: [-2 * (_A * _TRAJECTORY - _B), r0],
        wrong=lambda: [-(_A * _TRAJECTORY - _B), r0],
        mistake="Half of the speed",
        links=lambda: [
            Link(
                lambda a, b, decay, start, time: sl.rho_trajectory(
                    time, start, [a, b], list(LABELS), decay
                ),
                labelled(_TRAJECTORY),
                {**_FROZEN, r0: (0.0, 2.0), t: (0.0, 2.0)},
            )
        ],
        assumptions=("two examples",),
        uses=("sl/lin",),
    ),
    proof(
        id="sl/eq5-proof",
        items=("Eq5", "Eq7", "Eq3"),
        title="The scale is at rest only at the equilibrium of Equation 5 (symbolic proof)",
        statement=r"\frac{\partial L}{\partial \rho} = 2 A (\rho - \rho_{eq}), \quad"
        r" \rho_{eq} = \frac{\sum y_n f_n}{\lambda + \sum f_n^2}",
        source=quoted("Equations 5 and 7"),
        derived=lambda: [
            sympy.diff(_frozen_loss(), rho),
            sympy.solve(sympy.diff(_frozen_loss(), rho), rho)[0],
        ],
        formula=lambda: [2 * _A * (rho - _B / _A), _B / _A],
        wrong=lambda: [2 * _A * (rho - _B / _A), _B / (2 * lam + _S)],
        mistake="Twice the decay",
        links=lambda: [
            Link(_frozen(sl.rho_equilibrium), labelled(_B / _A), _FROZEN),
            Link(
                _frozen(
                    lambda f, y, decay, size: sl.equilibrium_distance(size, f, y, decay)
                ),
                labelled(sympy.Abs(rho - _B / _A)),
                {**_FROZEN, rho: (0.1, 2.0)},
            ),
        ],
        assumptions=("two examples",),
        uses=("sl/eq5",),
    ),
    proof(
        id="sl/eq5b-proof",
        title=(
            "Without normalisation, the equilibrium scale depends on depth (symbolic proof)"
        ),
        statement=r"\rho S - B = -\lambda \rho^{2/L - 1}, \quad L = 1, 2, 3, 4",
        source=ours("Equation 5, for decay on every layer; ours"),
        derived=lambda: [_equal_layers(depth) for depth in (1, 2, 3, 4)],
        formula=lambda: [
            _layered(depth, sympy.Rational(2, depth) - 1) for depth in (1, 2, 3, 4)
        ],
        wrong=lambda: [_layered(depth, 1) for depth in (1, 2, 3, 4)],
        mistake="A decay linear in the scale at every depth",
        links=lambda: [
            Link(
                lambda f, decay, depth=depth: _stationary(f, decay, depth),
                sympy.Integer(0) * f1 * lam,
                {f1: (0.5, 1.0), lam: (0.001, 0.02)},
                relative=1e-11,
            )
            for depth in (1, 2, 3, 4)
        ],
        assumptions=("equal norms of all layers",),
        uses=("sl/eq5b",),
    ),
    proof(
        id="sl/lin-stability-proof",
        items=("Lin-GD",),
        title=(
            "Gradient steps with momentum mu converge for 0 < h < 2 (1 + mu) alone"
            " (symbolic proof)"
        ),
        statement=r"x^2 - (1 + \mu - h) x + \mu,\ x = \frac{1 + z}{1 - z}:\quad"
        r" h + 2(1 - \mu) z + (2(1 + \mu) - h) z^2",
        source=ours("Equation 3 in discrete time; ours"),
        derived=_hurwitz,
        formula=lambda: [_h, 2 * (1 - _m), 2 * (1 + _m) - _h],
        wrong=lambda: [_h, 2 * (1 - _m), 2 * (1 - _m) - _h],
        mistake="A limit of 2 (1 - mu)",
        links=lambda: [
            Link(
                lambda a, b, decay, m: (
                    2.0 * (decay + a * a + b * b) * sl.stability_limit([a, b], decay, m)
                ),
                2 * (1 + _m) + 0 * (f1 + f2 + lam),
                {**_FROZEN, _m: (0.0, 0.9)},
            )
        ],
        assumptions=(
            "0 <= mu < 1",
            "roots inside the circle: all three coefficients positive",
        ),
        uses=("sl/lin-stability",),
    ),
    proof(
        id="sl/obs2c-peak",
        title=(
            "With equal outputs, the equilibrium scale is largest where S = lambda"
            " (symbolic proof)"
        ),
        statement=r"\tfrac12 \sqrt{N/\lambda} - \frac{N\delta}{\lambda + N\delta^2} ="
        r" \frac{\sqrt N (\sqrt\lambda - \sqrt N \delta)^2}"
        r"{2 \sqrt\lambda (\lambda + N\delta^2)} \ge 0",
        source=ours("Observation 2; ours"),
        # With lambda = s^2 and N = n^2.
        derived=lambda: [_n / (2 * _s) - _n**2 * _d / (_s**2 + _n**2 * _d**2)],
        formula=lambda: [_n * (_s - _n * _d) ** 2 / (2 * _s * (_s**2 + _n**2 * _d**2))],
        wrong=lambda: [_n * (_s - _n * _d) ** 2 / (_s * (_s**2 + _n**2 * _d**2))],
        mistake="Twice the difference",
        links=lambda: [
            Link(
                lambda d, s: sl.rho_equilibrium([d] * 4, [1] * 4, s * s),
                4 * _d / (_s**2 + 4 * _d**2),
                {_d: (0.1, 1.0), _s: (0.1, 1.0)},
            )
        ],
        uses=("sl/eq5",),
    ),
    proof(
        id="sl/randorth-proof",
        title=(
            "The mean squared distance of a random matrix from orthogonality"
            " (symbolic proof)"
        ),
        statement=r"\mathbb{E} \|W^T W - I\|_F^2 = \frac{c (c + 1)}{r}",
        source=ours("Section 2.1, on random initialisation; ours"),
        derived=_gram_mean,
        formula=lambda: [_c * (_c + 1) / _r],
        wrong=lambda: [_c * (_c - 1) / _r],
        mistake="The entries off the diagonal alone",
        links=lambda: [
            Link(
                lambda r, c: sl.gram_deviation_mean(int(r), int(c)),
                _c * (_c + 1) / _r,
                {_r: (1.0, 40.0), _c: (1.0, 40.0)},
                whole=True,
            )
        ],
        assumptions=("entries independent N(0, 1/r)",),
        uses=("sl/randorth",),
    ),
)
