"""Identities of the flows and equilibria, for all weights, inputs and labels at once.

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
from verify.reading import Reading

_KEY = "poggio2021explicit"
rho, lam, t, r0, eta, mu = sympy.symbols("rho lambda t rho_0 eta mu", positive=True)
f1, f2, y1, y2 = sympy.symbols("f_1 f_2 y_1 y_2", real=True)
_S, _B = f1**2 + f2**2, y1 * f1 + y2 * f2
_A = lam + _S
_LABELS = (1, -1)
_OUT = {f1: (0.1, 1.0), f2: (-1.0, 1.0)}


def _labelled(expression: Any) -> Any:
    return expression.subs({y1: _LABELS[0], y2: _LABELS[1]})


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


def _product(a: Any, b: Any) -> Any:
    return sum(a.multiply_elementwise(b), sympy.Integer(0))


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
    return [_product(v, _slope(_output(0), v)) for v in _weights()]


def _brackets(shift: int) -> list[Any]:
    """Return the product of the layers above, transposed, and of those below.

    A `shift` of one takes the mask below each matrix for the one above.
    """
    x, (d1, d2) = _example(0)
    v1, v2, v3 = _weights()
    above = (v3 * d2 * v2 * (d1, d2)[shift], v3 * (d2, d1)[shift], sympy.eye(1))
    below = (x, d1 * v1 * x, d2 * v2 * d1 * v1 * x)
    return [
        e
        for a, b in zip(above, below, strict=True)
        for e in (a.T * b.T).applyfunc(_one)
    ]


def _one(e: Any) -> Any:
    return e


def _norm_rates() -> list[Any]:
    out: list[Any] = []
    for v in _weights():
        turn = sympy.zeros(*v.shape)
        for n, e in enumerate(_errors()):
            f = _output(n)
            turn += 2 * rho * e * (v * f - _slope(f, v))
        out.append(2 * _product(v, turn))
    return out


def _norm_formula(factor: int) -> list[Any]:
    total = sum(e * _output(n) for n, e in enumerate(_errors()))
    return [factor * rho * (_product(v, v) - 1) * total for v in _weights()]


def _multipliers() -> list[Any]:
    loss = sum(e**2 for e in _errors())
    return [-_product(v, _slope(loss, v)) / 2 for v in _weights()]


def _multiplier() -> list[Any]:
    return [-rho * sum(e * _output(n) for n, e in enumerate(_errors()))] * 3


def _free_rates() -> list[Any]:
    """d|W|^2/dt of the network without normalisation."""
    loss = sum((_output(n) - y) ** 2 for n, y in ((0, y1), (1, y2)))
    decay = lam * sum(_product(w, w) for w in _weights())
    return [-2 * _product(w, _slope(loss + decay, w)) for w in _weights()]


def _free_formula(factor: int) -> list[Any]:
    pull = sum((_output(n) - y) * _output(n) for n, y in ((0, y1), (1, y2)))
    return [-4 * pull - factor * lam * _product(w, w) for w in _weights()]


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
    fall = -(pull**2) + _product(slope, turn)
    return [fall + pull**2 + _product(turn, turn)]


def _energy_formula(power: int) -> list[Any]:
    _, slope, _ = _pulls()
    return [(_product(_V, _V) - 1) * _product(_V, slope) ** power]


def _turn(v: list[float], size: float, x: list[float], index: int) -> float:
    unit = np.array([v]) / np.linalg.norm(v)
    inputs = [x, [0.5, -0.25]]
    return float(
        sl.directions_velocity(size, [unit], inputs, list(_LABELS))[0][0, index]
    )


def _turn_links() -> list[Link]:
    second = dict(
        zip(_X[1], (sympy.Rational(1, 2), -sympy.Rational(1, 4)), strict=True)
    )
    length = sympy.sqrt(_product(_V, _V))
    unit = {v: v / length for v in _V}
    turn = _labelled(_pulls()[2].subs(second).subs(unit, simultaneous=True))
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


# --- norm and direction of a matrix ---------------------------------------------------


def _moving() -> tuple[Any, Any, Any]:
    w = sympy.Matrix([[sympy.Function(f"w{k}")(t) for k in (0, 1, 2)]])
    size = sympy.sqrt(_product(w, w))
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
    along = _product(v, speed)
    return _named([along / size, *((speed - v * along) / size**power)])


# --- moments of the frozen problem ----------------------------------------------------

_TRAJECTORY = _B / _A + (r0 - _B / _A) * sympy.exp(-2 * _A * t)


def _frozen_loss() -> Any:
    return (rho * f1 - y1) ** 2 + (rho * f2 - y2) ** 2 + lam * rho**2


def _frozen(function: Any) -> Any:
    """Return a function of (f1, f2, lambda, *rest) of the library's by outputs."""
    return lambda a, b, decay, *rest: function([a, b], list(_LABELS), decay, *rest)


_FROZEN = {**_OUT, lam: (0.1, 2.0)}

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
        id="sl/hom-proof",
        items=("Hom",),
        title="A ReLU network is homogeneous in each layer: for all weights",
        statement=r"\langle V_k, \partial f / \partial V_k \rangle = f",
        source=(_KEY, "Section 1.1"),
        derived=_homogeneous,
        formula=lambda: [_output(0)] * 3,
        wrong=lambda: [3 * _output(0)] * 3,
        links=lambda: [_all_on(lambda w, x: sl.outputs(w, x)[0], _output(0))],
        assumptions=("three layers of width two", "no unit is at its kink"),
    ),
    proof(
        id="sl/eq9-proof",
        items=("Eq9", "Err4"),
        title="The gradient by a layer is a product of two brackets: for all weights",
        statement=r"\frac{\partial f}{\partial V_k} ="
        r" [V_L D_{L-1} \cdots V_{k+1} D_k]^T [D_{k-1} V_{k-1} \cdots D_1 V_1 x]^T",
        source=(_KEY, "Equation 9, the transpose restored"),
        reading=Reading.OURS,
        derived=lambda: [e for v in _weights() for e in _slope(_output(0), v)],
        formula=lambda: _brackets(0),
        wrong=lambda: _brackets(1),
        links=lambda: [
            _all_on(
                lambda w, x, k=k: np.sum(sl.layer_gradients(w, x)[k][..., 0, 0]),
                _slope(_output(0), v)[0, 0],
            )
            for k, v in enumerate(_weights())
        ],
        assumptions=("three layers of width two", "no unit is at its kink"),
    ),
    proof(
        id="sl/norm-proof",
        items=("Norm",),
        title="How lengths move off the sphere: for all weights",
        statement=r"\frac{d}{dt} \|V_k\|^2 = 4 \rho (\|V_k\|^2 - 1) \sum_n e_n f_n",
        source=(_KEY, "Equation 4; ours"),
        reading=Reading.OURS,
        derived=_norm_rates,
        formula=lambda: _norm_formula(4),
        wrong=lambda: _norm_formula(2),
        links=lambda: [
            Link(
                lambda size, a, b: sl.off_sphere_rate(size, [a, b], list(_LABELS)),
                _labelled(4 * rho * ((rho * f1 - y1) * f1 + (rho * f2 - y2) * f2)),
                {rho: (0.1, 3.0), **_OUT},
            )
        ],
        assumptions=("three layers of width two, two examples",),
    ),
    proof(
        id="sl/nu-proof",
        items=("nu", "Eq1"),
        title="One multiplier keeps all layers on their spheres: for all weights",
        statement=r"-\tfrac12 \langle V_k, \partial L / \partial V_k \rangle ="
        r" -\rho \sum_n e_n f_n",
        source=(_KEY, "Section 2 and Equation 1"),
        derived=_multipliers,
        formula=_multiplier,
        wrong=lambda: [2 * e for e in _multiplier()],
        links=lambda: [
            Link(
                lambda size, a, b: sl.lagrange_multiplier(size, [a, b], list(_LABELS)),
                _labelled(-rho * ((rho * f1 - y1) * f1 + (rho * f2 - y2) * f2)),
                {rho: (0.1, 3.0), **_OUT},
            )
        ],
        assumptions=("three layers of width two, two examples",),
    ),
    proof(
        id="sl/energy-proof",
        items=("Energy", "Eq3", "Eq4"),
        title="On the sphere the loss falls by the squared speeds: all directions",
        statement=r"\frac{dL}{dt} + \dot\rho^2 + \|\dot V\|^2 ="
        r" (\|V\|^2 - 1) \Big\langle V, \frac{\partial L}{\partial V} \Big\rangle^2",
        source=(_KEY, "Equations 3 and 4; ours"),
        reading=Reading.OURS,
        derived=_energy,
        formula=lambda: _energy_formula(2),
        wrong=lambda: _energy_formula(1),
        links=_turn_links,
        assumptions=("one layer, two inputs, two examples",),
    ),
    proof(
        id="sl/unnorm-proof",
        items=("Unnorm",),
        title="Without normalisation all squared lengths are pulled alike: all weights",
        statement=r"\frac{d}{dt} \|W_k\|^2 = -4 \sum_n e_n g_n - 4 \lambda \|W_k\|^2",
        source=(_KEY, "Section 2, without normalisation; ours"),
        reading=Reading.OURS,
        derived=_free_rates,
        formula=lambda: _free_formula(4),
        wrong=lambda: _free_formula(2),
        links=lambda: [
            _all_on(
                lambda w, x: sum(
                    2.0 * np.sum(a * b)
                    for a, b in zip(w, sl.weights_velocity(w, x, [1], 0.5), strict=True)
                ),
                sum(
                    -4 * (_output(0) - 1) * _output(0) - 2 * _product(w, w)
                    for w in _weights()
                ),
            )
        ],
        assumptions=("three layers of width two, two examples",),
    ),
    proof(
        id="sl/proj-proof",
        items=("Proj", "Err1"),
        title="What a motion of the weights is for norm and direction: all matrices",
        statement=r"\dot\rho = \langle V, \dot W \rangle, \quad"
        r" \dot V = \frac1\rho (I - V V^T) \dot W",
        source=(_KEY, "Section 2, corrected"),
        reading=Reading.OURS,
        derived=_proj,
        formula=lambda: _proj_formula(1),
        wrong=lambda: _proj_formula(0),
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
    ),
    proof(
        id="sl/lin-proof",
        items=("Lin",),
        title="The closed form solves the scale's equation: all data",
        statement=r"\rho(t) = \frac BA + \Big(\rho_0 - \frac BA\Big) e^{-2At}"
        r"\;\Rightarrow\; \dot\rho = -2(A\rho - B)",
        source=(_KEY, "Equation 3, with V frozen"),
        reading=Reading.OURS,
        derived=lambda: [sympy.diff(_TRAJECTORY, t), _TRAJECTORY.subs(t, 0)],
        formula=lambda: [-2 * (_A * _TRAJECTORY - _B), r0],
        wrong=lambda: [-(_A * _TRAJECTORY - _B), r0],
        links=lambda: [
            Link(
                lambda a, b, decay, start, time: sl.rho_trajectory(
                    time, start, [a, b], list(_LABELS), decay
                ),
                _labelled(_TRAJECTORY),
                {**_FROZEN, r0: (0.0, 2.0), t: (0.0, 2.0)},
            )
        ],
        assumptions=("two examples",),
    ),
    proof(
        id="sl/eq5-proof",
        items=("Eq5", "Eq7", "Eq3"),
        title="The only scale at rest: all data",
        statement=r"\frac{\partial L}{\partial \rho} = 2 A (\rho - \rho_{eq}), \quad"
        r" \rho_{eq} = \frac{\sum y_n f_n}{\lambda + \sum f_n^2}",
        source=(_KEY, "Equations 5 and 7"),
        derived=lambda: [
            sympy.diff(_frozen_loss(), rho),
            sympy.solve(sympy.diff(_frozen_loss(), rho), rho)[0],
        ],
        formula=lambda: [2 * _A * (rho - _B / _A), _B / _A],
        wrong=lambda: [2 * _A * (rho - _B / _A), _B / (2 * lam + _S)],
        links=lambda: [
            Link(_frozen(sl.rho_equilibrium), _labelled(_B / _A), _FROZEN),
            Link(
                _frozen(
                    lambda f, y, decay, size: sl.equilibrium_distance(size, f, y, decay)
                ),
                _labelled(sympy.Abs(rho - _B / _A)),
                {**_FROZEN, rho: (0.1, 2.0)},
            ),
        ],
        assumptions=("two examples",),
    ),
    proof(
        id="sl/eq5b-proof",
        items=("Eq5b",),
        title="Without normalisation the scale at rest depends on the depth: all data",
        statement=r"\rho S - B = -\lambda \rho^{2/L - 1}, \quad L = 1, 2, 3, 4",
        source=(_KEY, "Equation 5, for decay on every layer; ours"),
        reading=Reading.OURS,
        derived=lambda: [_equal_layers(depth) for depth in (1, 2, 3, 4)],
        formula=lambda: [
            _layered(depth, sympy.Rational(2, depth) - 1) for depth in (1, 2, 3, 4)
        ],
        wrong=lambda: [_layered(depth, 1) for depth in (1, 2, 3, 4)],
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
    ),
    proof(
        id="sl/lin-stability-proof",
        items=("Lin-GD",),
        title="Steps with momentum converge exactly below twice one plus momentum",
        statement=r"x^2 - (1 + \mu - h) x + \mu,\ x = \frac{1 + z}{1 - z}:\quad"
        r" h + 2(1 - \mu) z + (2(1 + \mu) - h) z^2",
        source=(_KEY, "Equation 3 in discrete time; ours"),
        reading=Reading.OURS,
        derived=_hurwitz,
        formula=lambda: [_h, 2 * (1 - _m), 2 * (1 + _m) - _h],
        wrong=lambda: [_h, 2 * (1 - _m), 2 * (1 - _m) - _h],
        links=lambda: [
            Link(
                lambda a, b, decay, m: (
                    2.0 * (decay + a * a + b * b) * sl.stability_limit([a, b], decay, m)
                ),
                2 * (1 + _m) + 0 * (f1 + f2 + lam),
                {**_FROZEN, _m: (0.0, 0.9)},
            )
        ],
        assumptions=("roots inside the circle: all three coefficients positive",),
    ),
    proof(
        id="sl/obs2c-peak",
        items=("Obs2c",),
        title="The scale of equal outputs is largest where S is lambda: all sizes",
        statement=r"\tfrac12 \sqrt{N/\lambda} - \frac{N\delta}{\lambda + N\delta^2} ="
        r" \frac{\sqrt N (\sqrt\lambda - \sqrt N \delta)^2}"
        r"{2 \sqrt\lambda (\lambda + N\delta^2)} \ge 0",
        source=(_KEY, "Observation 2; ours"),
        reading=Reading.OURS,
        # With lambda = s^2 and N = n^2.
        derived=lambda: [_n / (2 * _s) - _n**2 * _d / (_s**2 + _n**2 * _d**2)],
        formula=lambda: [_n * (_s - _n * _d) ** 2 / (2 * _s * (_s**2 + _n**2 * _d**2))],
        wrong=lambda: [_n * (_s - _n * _d) ** 2 / (_s * (_s**2 + _n**2 * _d**2))],
        links=lambda: [
            Link(
                lambda d, s: sl.rho_equilibrium([d] * 4, [1] * 4, s * s),
                4 * _d / (_s**2 + 4 * _d**2),
                {_d: (0.1, 1.0), _s: (0.1, 1.0)},
            )
        ],
    ),
    proof(
        id="sl/randorth-proof",
        items=("RandOrth",),
        title="The mean distance of a random matrix from orthogonal: all sizes",
        statement=r"E \|W^T W - I\|_F^2 = \frac{c (c + 1)}{r}",
        source=(_KEY, "Section 2, on orthogonal solutions of (9)"),
        reading=Reading.OURS,
        derived=_gram_mean,
        formula=lambda: [_c * (_c + 1) / _r],
        wrong=lambda: [_c * (_c - 1) / _r],
        links=lambda: [
            Link(
                lambda r, c: sl.gram_deviation_mean(int(r), int(c)),
                _c * (_c + 1) / _r,
                {_r: (1.0, 40.0), _c: (1.0, 40.0)},
                whole=True,
            )
        ],
        assumptions=("entries independent N(0, 1/r)",),
    ),
)
