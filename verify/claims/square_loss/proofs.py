"""Identities of the flows of networks, for all weights, inputs and labels at once.

Networks are matrices of symbols, and the units that are on a mask of symbols: what holds
for every mask holds wherever the network is differentiable.
"""

from functools import cache
from itertools import pairwise
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

# --- a network of three layers and two examples ---------------------------------------

_WIDTHS = (2, 2, 2, 1)


@cache
def _weights() -> tuple[Any, ...]:
    return tuple(
        sympy.Matrix(rows, columns, sympy.symbols(f"v{k}_:{rows * columns}"))
        for k, (columns, rows) in enumerate(pairwise(_WIDTHS), 1)
    )


@cache
def _example(n: int) -> tuple[Any, tuple[Any, ...]]:
    x = sympy.Matrix(_WIDTHS[0], 1, sympy.symbols(f"x{n}_:{_WIDTHS[0]}"))
    masks = tuple(
        sympy.diag(*sympy.symbols(f"d{n}{k}_:{width}"))
        for k, width in enumerate(_WIDTHS[1:-1], 1)
    )
    return x, masks


@cache
def _output(n: int) -> Any:
    x, masks = _example(n)
    v = _weights()
    return (v[2] * masks[1] * v[1] * masks[0] * v[0] * x)[0, 0]


def _slope(expression: Any, matrix: Any) -> Any:
    return matrix.applyfunc(lambda entry: sympy.diff(expression, entry))


def _errors() -> list[Any]:
    return [rho * _output(n) - y for n, y in ((0, y1), (1, y2))]


def _on(expression: Any) -> Any:
    """Return the expression where all units are on."""
    masks = [e for n in (0, 1) for d in _example(n)[1] for e in d.diagonal()]
    return expression.subs(dict.fromkeys(masks, 1))


def _all_on(read: Any, expression: Any) -> Link:
    """Compare with a function of (weights, inputs) at positive numbers."""
    entries = [e for v in _weights() for e in v] + list(_example(0)[0])

    def library(*values: float) -> float:
        parts, at = [], 0
        for v in _weights():
            size = v.rows * v.cols
            parts.append(np.reshape(values[at : at + size], v.shape))
            at += size
        return float(read(parts, np.array([values[at:]])))

    return Link(library, _on(expression), dict.fromkeys(entries, (0.1, 1.0)))


def _homogeneous() -> list[Any]:
    return [product(v, _slope(_output(0), v)) for v in _weights()]


def _brackets(shift: int) -> list[Any]:
    """Return the product of the layers above, transposed, and of those below.

    A `shift` of one takes the mask below each matrix for the one above.
    """
    x, (d1, d2) = _example(0)
    v1, v2, v3 = _weights()
    above = (v3 * d2 * v2 * (d1, d2)[shift], v3 * (d2, d1)[shift], sympy.eye(1))
    below = (x, d1 * v1 * x, d2 * v2 * d1 * v1 * x)
    return [e for a, b in zip(above, below, strict=True) for e in a.T * b.T]


def _norm_rates() -> list[Any]:
    out: list[Any] = []
    for v in _weights():
        turn = sympy.zeros(*v.shape)
        for n, e in enumerate(_errors()):
            f = _output(n)
            turn += 2 * rho * e * (v * f - _slope(f, v))
        out.append(2 * product(v, turn))
    return out


def _norm_formula(factor: int) -> list[Any]:
    total = sum(e * _output(n) for n, e in enumerate(_errors()))
    return [factor * rho * (product(v, v) - 1) * total for v in _weights()]


def _multipliers() -> list[Any]:
    loss = sum(e**2 for e in _errors())
    return [-product(v, _slope(loss, v)) / 2 for v in _weights()]


def _multiplier() -> list[Any]:
    return [-rho * sum(e * _output(n) for n, e in enumerate(_errors()))] * 3


def _free_rates() -> list[Any]:
    """d|W|^2/dt of the network without normalisation."""
    loss = sum((_output(n) - y) ** 2 for n, y in ((0, y1), (1, y2)))
    decay = lam * sum(product(w, w) for w in _weights())
    return [-2 * product(w, _slope(loss + decay, w)) for w in _weights()]


def _free_formula(factor: int) -> list[Any]:
    pull = sum((_output(n) - y) * _output(n) for n, y in ((0, y1), (1, y2)))
    return [-4 * pull - factor * lam * product(w, w) for w in _weights()]


# --- one direction, on its sphere or off it -------------------------------------------

_V: Any = sympy.Matrix([sympy.symbols("v_:2")])
_X: Any = [sympy.Matrix(2, 1, sympy.symbols(f"x{n}_:2")) for n in (0, 1)]


def _pulls() -> tuple[Any, Any, Any]:
    """Return the loss's slopes in rho and V, and the projected velocity."""
    loss = lam * rho**2 + sum(
        (rho * (_V * x)[0, 0] - y) ** 2 for x, y in zip(_X, (y1, y2), strict=True)
    )
    slope = _slope(loss, _V)
    return sympy.diff(loss, rho), slope, -(slope - _V * (slope * _V.T)[0, 0])


def _energy() -> list[Any]:
    """What the loss falls by, beyond the squared speeds."""
    pull, slope, turn = _pulls()
    fall = -(pull**2) + product(slope, turn)
    return [fall + pull**2 + product(turn, turn)]


def _energy_formula(power: int) -> list[Any]:
    _, slope, _ = _pulls()
    return [(product(_V, _V) - 1) * product(_V, slope) ** power]


def _turn(v: list[float], size: float, x: list[float], index: int) -> float:
    unit = np.array([v]) / np.linalg.norm(v)
    inputs = [x, [0.5, -0.25]]
    return float(
        sl.directions_velocity(size, [unit], inputs, list(LABELS))[0][0, index]
    )


def _turn_links() -> list[Link]:
    second = dict(
        zip(_X[1], (sympy.Rational(1, 2), -sympy.Rational(1, 4)), strict=True)
    )
    length = sympy.sqrt(product(_V, _V))
    unit = {v: v / length for v in _V}
    turn = labelled(_pulls()[2].subs(second).subs(unit, simultaneous=True))
    box = {
        **dict.fromkeys(_V, (0.1, 1.0)),
        rho: (0.1, 2.0),
        **dict.fromkeys(_X[0], (-1.0, 1.0)),
    }
    return [
        Link(
            lambda a, b, size, *x, k=k: _turn([a, b], size, list(x), k),
            turn[0, k],
            box,
            relative=1e-11,
        )
        for k in (0, 1)
    ]


CLAIMS = (
    proof(
        id="sl/hom-proof",
        title="A ReLU network is homogeneous in each of its layers (symbolic proof)",
        statement=r"\langle V_k, \partial f / \partial V_k \rangle = f",
        source=ours("Section 1.1; the formula is ours"),
        derived=_homogeneous,
        formula=lambda: [_output(0)] * 3,
        wrong=lambda: [3 * _output(0)] * 3,
        mistake="Three times the output, the whole network's degree",
        links=lambda: [_all_on(lambda w, x: sl.outputs(w, x)[0], _output(0))],
        assumptions=("three layers of width two", "no unit is at its kink"),
        uses=("sl/hom",),
    ),
    proof(
        id="sl/eq9-proof",
        items=("Eq9", "Err4"),
        title="The gradient of each layer is a product of two brackets (symbolic proof)",
        statement=r"\frac{\partial f}{\partial V_k} ="
        r" [V_L D_{L-1} \cdots V_{k+1} D_k]^T [D_{k-1} V_{k-1} \cdots D_1 V_1 x]^T",
        source=ours("Equation 9, the transpose restored"),
        derived=lambda: [e for v in _weights() for e in _slope(_output(0), v)],
        formula=lambda: _brackets(0),
        wrong=lambda: _brackets(1),
        mistake="The mask of the other hidden layer above each matrix",
        links=lambda: [
            _all_on(
                lambda w, x, k=k: np.sum(sl.layer_gradients(w, x)[k][..., 0, 0]),
                _slope(_output(0), v)[0, 0],
            )
            for k, v in enumerate(_weights())
        ],
        assumptions=("three layers of width two", "no unit is at its kink"),
        uses=("sl/eq9",),
    ),
    proof(
        id="sl/norm-proof",
        title="The rate at which layer norms leave the unit sphere (symbolic proof)",
        statement=r"\frac{d}{dt} \|V_k\|^2 = 4 \rho (\|V_k\|^2 - 1) \sum_n e_n f_n",
        source=ours("Equation 4; ours"),
        derived=_norm_rates,
        formula=lambda: _norm_formula(4),
        wrong=lambda: _norm_formula(2),
        mistake="Half of the rate",
        links=lambda: [
            Link(
                lambda size, a, b: sl.off_sphere_rate(size, [a, b], list(LABELS)),
                labelled(4 * rho * ((rho * f1 - y1) * f1 + (rho * f2 - y2) * f2)),
                {rho: (0.1, 3.0), **OUTPUTS},
            )
        ],
        assumptions=("three layers of width two, two examples",),
        uses=("sl/norm",),
    ),
    proof(
        id="sl/nu-proof",
        items=("nu", "Eq1"),
        title="One Lagrange multiplier keeps all layers on their spheres (symbolic proof)",
        statement=r"-\tfrac12 \langle V_k, \partial L / \partial V_k \rangle ="
        r" -\rho \sum_n e_n f_n",
        source=quoted("Section 2 and Equation 1"),
        derived=_multipliers,
        formula=_multiplier,
        wrong=lambda: [2 * e for e in _multiplier()],
        mistake="Twice the multiplier",
        links=lambda: [
            Link(
                lambda size, a, b: sl.lagrange_multiplier(size, [a, b], list(LABELS)),
                labelled(-rho * ((rho * f1 - y1) * f1 + (rho * f2 - y2) * f2)),
                {rho: (0.1, 3.0), **OUTPUTS},
            )
        ],
        assumptions=("three layers of width two, two examples",),
        uses=("sl/eq1",),
    ),
    proof(
        id="sl/energy-proof",
        items=("Energy", "Eq3", "Eq4"),
        title="On the unit spheres the loss falls at the squared speed (symbolic proof)",
        statement=r"\frac{dL}{dt} + \dot\rho^2 + \|\dot V\|^2 ="
        r" (\|V\|^2 - 1) \langle V, \partial L / \partial V \rangle^2",
        source=ours("Equations 3 and 4; ours"),
        derived=_energy,
        formula=lambda: _energy_formula(2),
        wrong=lambda: _energy_formula(1),
        mistake="The slope along the direction in the place of its square",
        links=_turn_links,
        assumptions=("one layer, two inputs, two examples",),
        uses=("sl/energy",),
    ),
    proof(
        id="sl/unnorm-proof",
        title=(
            "Without normalisation, the data change squared norms equally (symbolic proof)"
        ),
        statement=r"\frac{d}{dt} \|W_k\|^2 = -4 \sum_n e_n g_n - 4 \lambda \|W_k\|^2",
        source=ours("Section 1, without normalisation; ours"),
        derived=_free_rates,
        formula=lambda: _free_formula(4),
        wrong=lambda: _free_formula(2),
        mistake="A decay half as fast",
        links=lambda: [
            _all_on(
                lambda w, x: sum(
                    2.0 * np.sum(a * b)
                    for a, b in zip(w, sl.weights_velocity(w, x, [1], 0.5), strict=True)
                ),
                sum(
                    -4 * (_output(0) - 1) * _output(0) - 2 * product(w, w)
                    for w in _weights()
                ),
            )
        ],
        assumptions=("three layers of width two, two examples",),
        uses=("sl/unnorm",),
    ),
)
