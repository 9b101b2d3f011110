"""Identities of least squares behind Theorems 1 and 2, for all weights and inputs."""

from functools import cache
from typing import Any

import numpy as np
import sympy

from theory import identity_map as idm
from verify.claims._symbolic import Link, proof
from verify.claims.identity_map._sources import forced, ours, quoted

eta, m, a, b, s, M, C, k, r = sympy.symbols("eta m a b s M C k r", positive=True)

# --- one linear layer -----------------------------------------------------------------

_W: Any = sympy.Matrix(2, 2, sympy.symbols("w_:4"))
_X: Any = sympy.Matrix(2, 1, sympy.symbols("x_:2"))
_Z: Any = sympy.Matrix(2, 1, sympy.symbols("z_:2"))
_G = (_X.T * _X)[0, 0]
_ERROR = (_W - sympy.eye(2)) * _X
_BOX = {**dict.fromkeys(_W, (-1.0, 1.0)), **dict.fromkeys(_X, (0.2, 1.0))}


def _weights(left: Any) -> Any:
    """Return W0 + (1 - a) u x^T with u = (I - W0) x/|x|^2."""
    return _W - (1 - left) * _ERROR * _X.T / _G


def _stepped() -> list[Any]:
    """One step of heavy ball on |Wx - x|^2/2, from W^t and a buffer along the line."""
    start = _weights(a)
    slope = (start * _X - _X) * _X.T
    buffer = m * b * _ERROR * _X.T / _G + slope
    return list(start - eta * buffer)


def _step_formula(following: Any) -> list[Any]:
    return list(_weights(a - eta * following))


def _two_steps() -> Any:
    g, left = _G, 1 - eta * _G
    return left - eta * (m * g + g * left)


def _entry(w: tuple[float, ...], index: int, **options: Any) -> float:
    found = idm.one_layer_weights(w[4:6], np.reshape(w[:4], (2, 2)), **options)
    return float(found.ravel()[index])


def _step_links() -> list[Link]:
    rates = {eta: (0.01, 0.5), m: (0.0, 0.9)}
    return [
        Link(
            lambda *p: idm.residual_factors(
                2, learning_rate=p[6], curvature=p[4] ** 2 + p[5] ** 2, momentum=p[7]
            ),
            _two_steps() + 0 * sum(_W),
            {**_BOX, **rates},
        ),
        Link(lambda *p: _entry(p, 1), _weights(0)[1], _BOX),
    ]


def _prediction() -> list[Any]:
    return list(_weights(0) * _Z)


def _along() -> Any:
    return _X * (_X.T * _Z)[0, 0] / _G


def _turned() -> list[Any]:
    """First layer of alpha^T D W x after a step, on inputs orthogonal to the image."""
    masks, readout = (
        sympy.diag(*sympy.symbols("d_:2")),
        sympy.Matrix(sympy.symbols("r_:2")),
    )
    out = readout.T * masks * _W * _X
    loss = (out[0, 0] - s) ** 2 / 2
    slope = _W.applyfunc(lambda w: sympy.diff(loss, w))
    return list((_W - eta * slope) * _orthogonal())


def _orthogonal() -> Any:
    return sympy.Matrix([-_X[1], _X[0]])


# --- least squares --------------------------------------------------------------------


@cache
def _problem(rows: int, columns: int) -> tuple[Any, Any, Any]:
    """Return inputs, targets and initial weights."""
    return (
        sympy.Matrix(rows, columns, sympy.symbols(f"x_:{rows * columns}")),
        sympy.Matrix(rows, 1, sympy.symbols(f"y_:{rows}")),
        sympy.Matrix(columns, 1, sympy.symbols(f"w_:{columns}")),
    )


def _wide() -> tuple[Any, Any]:
    """Return the minimiser of Lemma 1 and what is orthogonal to both inputs."""
    x, y, w = _problem(2, 3)
    found = w + x.T * (x * x.T).inv() * (y - x * w)
    return found, x.row(0).cross(x.row(1))


def _wide_conditions(found: Any) -> list[Any]:
    x, _, w = _problem(2, 3)
    across = _wide()[1]
    return [*(x * found), (across * (found - w))[0, 0]]


def _tall(ridge: int) -> list[Any]:
    x, y, _ = _problem(3, 2)
    found = (x.T * x + ridge * sympy.eye(2)).inv() * x.T * y
    return list(x.T * x * found)


def _solved(rows: int, columns: int, values: tuple[float, ...]) -> float:
    size = rows * columns
    x = np.reshape(values[:size], (rows, columns))
    y = np.reshape(values[size : size + rows], (rows, 1))
    w = np.reshape(values[size + rows :], (columns, 1))
    return float(idm.least_squares_weights(x, y, w)[0, 0])


def _box(rows: int, columns: int) -> dict[Any, tuple[float, float]]:
    x, y, w = _problem(rows, columns)
    spread = {e: (0.1 + i % 3, 1.0 + 2 * i % 5) for i, e in enumerate(x)}
    return {**spread, **dict.fromkeys(y, (-1.0, 1.0)), **dict.fromkeys(w, (-1.0, 1.0))}


# --- one convolution ------------------------------------------------------------------

_PATCH: Any = sympy.Matrix(1, 3, sympy.symbols("p_:3"))
_TEST: Any = sympy.Matrix(1, 3, sympy.symbols("q_:3"))
_START: Any = sympy.Matrix(3, 1, sympy.symbols("w_:3"))
_LAMBDA: Any = sympy.Matrix(3, 1, sympy.symbols("c_:3"))


def _projector() -> Any:
    return _PATCH.T * _PATCH / (_PATCH * _PATCH.T)[0, 0]


def _conv_weights() -> Any:
    inside = _projector()
    return inside * _LAMBDA + (sympy.eye(3) - inside) * _START


def _conv_error(projector: Any) -> list[Any]:
    return [(_TEST * projector * (_START - _LAMBDA))[0, 0]]


def _conv_links() -> list[Link]:
    box = {
        **dict.fromkeys(_PATCH, (0.2, 1.0)),
        **dict.fromkeys(_START, (-1.0, 1.0)),
    }

    def first(*v: float) -> float:
        """One pixel of three channels, a kernel of one tap: a patch of three."""
        x, w = np.array(v[:3]), np.outer(v[3:], [1.0, -2.0, 0.5])
        return float(idm.one_layer_conv_weights(x[None, None], 1, w)[0, 0])

    centre = dict(zip(_LAMBDA, (1, 0, 0), strict=True))
    return [Link(first, _conv_weights().subs(centre)[0], box)]


# --- levels and laws ------------------------------------------------------------------


def _level(times: int) -> list[Any]:
    # M - 1 - log M = (2/C) log(n/delta).
    log = C / 2 * (M - 1 - sympy.log(M))
    return [times * log + C * (1 + sympy.log(M))]


def _level_link() -> Link:
    def level(constant: float) -> float:
        delta = 5.0 * np.exp(-1.5 * (constant - 1.0 - np.log(constant)))
        return idm.direction_bound(5, 3, float(delta))

    return Link(level, 3 * M, {M: (6.0, 20.0)}, relative=1e-10)


def _order(parameters: Any) -> list[Any]:
    return [sympy.expand(parameters * (parameters / C - r) / C)]


def _order_link() -> Link:
    # K = 2 k + 1 is odd, and no rank is above K^2 C.
    return Link(
        lambda half, channels, rank: idm.mse_order(
            2 * int(half) + 1, int(channels), int(rank)
        ),
        (2 * k + 1) ** 2 * C * ((2 * k + 1) ** 2 * C - r),
        {k: (1.0, 5.0), C: (1.0, 130.0), r: (0.0, 9.0)},
        whole=True,
    )


def _law() -> list[Any]:
    """Mean and variance of two ReLU units of a normal pre-activation of deviation s."""
    z = sympy.Symbol("z", real=True)
    density = sympy.exp(-(z**2) / 2) / sympy.sqrt(2 * sympy.pi)
    first, second = (
        sympy.integrate((s * z) ** k * density, (z, 0, sympy.oo)) for k in (1, 2)
    )
    return [first * (a + b), (second - first**2) * (a**2 + b**2)]


def _law_formula(share: Any) -> list[Any]:
    mean = s * (a + b) / sympy.sqrt(2 * sympy.pi)
    return [mean, s**2 / 2 * (1 - share) * (a**2 + b**2)]


def _law_links() -> list[Link]:
    box = {a: (0.1, 1.0), b: (0.1, 1.0), s: (0.1, 1.0)}

    def law(x: float, y: float, scale: float) -> Any:
        return idm.two_layer_orthogonal_law([0.6, 0.8], scale, [x, y])

    mean, variance = _law_formula(1 / sympy.pi)
    return [
        Link(lambda *p: law(*p).mean, mean, box),
        Link(lambda *p: law(*p).variance, variance, box),
    ]


CLAIMS = (
    proof(
        id="id/eq4-proof",
        items=("Eq4", "Thm1"),
        title="Every gradient step of one linear layer stays on one line (symbolic proof)",
        statement=r"W^t = W^0 + (1 - a_t) \hat u \hat x^T,\quad"
        r" b_{t+1} = m b_t + g a_t,\ a_{t+1} = a_t - \eta b_{t+1}",
        source=ours("Theorem 1 and equation 4; the path is ours"),
        derived=_stepped,
        formula=lambda: _step_formula(m * b + _G * a),
        wrong=lambda: _step_formula(m * b + 2 * _G * a),
        mistake="A gradient twice as large",
        links=_step_links,
        assumptions=("two pixels", "half of the squared error"),
        uses=("id/eq4",),
    ),
    proof(
        id="id/thm1-proof",
        title="Theorem 1: the prediction of a trained linear layer (symbolic proof)",
        statement=r"(W^0 + \hat u \hat x^T) x = \Pi_\parallel x + W^0 \Pi_\perp x",
        source=quoted("Theorem 1"),
        derived=_prediction,
        formula=lambda: list(_along() + _W * (_Z - _along())),
        wrong=lambda: list(_along() + _W * _Z),
        mistake="Initial weights that act along the training image, too",
        links=lambda: [
            Link(
                lambda *p: idm.one_layer_prediction(
                    p[6:], p[4:6], np.reshape(p[:4], (2, 2))
                )[0],
                _prediction()[0],
                {**_BOX, **dict.fromkeys(_Z, (-1.0, 1.0))},
            )
        ],
        assumptions=("two pixels",),
        uses=("id/thm1",),
    ),
    proof(
        id="id/lem1-proof",
        title=(
            "Few examples: gradient descent ends at the closest interpolator"
            " (symbolic proof)"
        ),
        statement=r"X \hat W = Y, \quad \hat W - W^0 \perp \ker X",
        source=quoted("Lemma 1"),
        derived=lambda: _wide_conditions(_wide()[0]),
        formula=lambda: [*_problem(2, 3)[1], sympy.Integer(0)],
        wrong=lambda: [
            *(_problem(2, 3)[1] + _problem(2, 3)[0] * _problem(2, 3)[2]),
            sympy.Integer(0),
        ],
        mistake="Targets with the initial prediction added",
        links=lambda: [
            Link(
                lambda *p: _solved(2, 3, p),
                _wide()[0][0],
                _box(2, 3),
                relative=1e-10,
            )
        ],
        assumptions=("two examples in three dimensions, independent",),
        uses=("id/lem1",),
    ),
    proof(
        id="id/lem2-proof",
        title=(
            "Many examples: gradient descent solves the normal equations (symbolic proof)"
        ),
        statement=r"X^T X \hat W = X^T Y, \quad \hat W = (X^T X)^{-1} X^T Y",
        source=quoted("Lemma 2"),
        derived=lambda: _tall(0),
        formula=lambda: list(_problem(3, 2)[0].T * _problem(3, 2)[1]),
        wrong=lambda: _tall(1),
        mistake="Normal equations with a ridge of one",
        links=lambda: [
            Link(
                lambda *p: _solved(3, 2, p),
                (
                    (_problem(3, 2)[0].T * _problem(3, 2)[0]).inv()
                    * _problem(3, 2)[0].T
                    * _problem(3, 2)[1]
                )[0],
                _box(3, 2),
                relative=1e-10,
            )
        ],
        assumptions=("three examples in two dimensions",),
        uses=("id/lem1",),
    ),
    proof(
        id="id/conv-proof",
        items=("Conv", "Err2"),
        title="The error of a trained convolution on any patch (symbolic proof)",
        statement=r"(\hat W - \Lambda)^T P = (W^0 - \Lambda)^T \Pi_\perp P",
        source=quoted("Appendix D, proof of Theorem 2"),
        derived=lambda: [(_TEST * (_conv_weights() - _LAMBDA))[0, 0]],
        formula=lambda: _conv_error(sympy.eye(3) - _projector()),
        wrong=lambda: _conv_error(_projector()),
        mistake="The projection on the patches, not off them",
        links=_conv_links,
        assumptions=("one patch of three taps",),
        uses=("id/conv-prediction",),
    ),
    proof(
        id="id/eq11-proof",
        title="With the least constant M, the level in Equation 11 is C M (symbolic proof)",
        statement=r"2 \log\tfrac n\delta + C (1 + \log M) = C M, \quad"
        r" M - 1 - \log M = \tfrac2C \log\tfrac n\delta",
        source=ours("Equation 11; ours"),
        derived=lambda: _level(2),
        formula=lambda: [C * M],
        wrong=lambda: _level(1),
        mistake="Half of the logarithm",
        links=lambda: [_level_link()],
        uses=("id/eq11",),
        finding=(
            "Hence the union bound is Chernoff's bound at zeta = M, and nothing is lost."
        ),
    ),
    proof(
        id="id/Err8-corrected",
        items=("Err8", "Thm2"),
        title="The order of Theorem 2's bound in the number of parameters (symbolic proof)",
        statement=r"\tilde O\big(m(m/C-r)/C\big)=\tilde O\big(K^2C\,(K^2C-r)\big),"
        r"\quad m=K^2C^2",
        source=quoted("Theorem 2"),
        derived=lambda: _order((2 * k + 1) ** 2 * C**2),
        formula=lambda: [(2 * k + 1) ** 2 * C * ((2 * k + 1) ** 2 * C - r)],
        wrong=lambda: _order((2 * k + 1) ** 2 * C),
        mistake="The parameters of one output channel, K^2 C, taken for all",
        links=lambda: [_order_link()],
        assumptions=("K = 2k + 1",),
        uses=("id/thm2",),
    ),
    proof(
        id="id/twolayer-proof",
        items=("TwoLayer", "Eq16"),
        title=(
            "No gradient step changes the first layer's response to orthogonal"
            " images (proof)"
        ),
        statement=r"\hat x^T x = 0 \;\Rightarrow\; W^{t+1} x = W^t x",
        source=forced("Appendix E.2, below equation 18"),
        derived=_turned,
        formula=lambda: list(_W * _orthogonal()),
        wrong=lambda: list((1 - eta) * _W * _orthogonal()),
        mistake="A response that shrinks with every step, as under weight decay",
        links=lambda: [
            Link(
                lambda *p: idm.orthogonal_prediction(
                    [-p[5], p[4]], p[4:6], np.reshape(p[:4], (2, 2))
                )[0],
                (_W * _orthogonal())[0],
                _BOX,
            )
        ],
        assumptions=("two units, two pixels", "no unit is at its kink"),
        uses=("id/twolayer-orth",),
    ),
    proof(
        id="id/twolayer-law-proof",
        items=("TwoLayer", "Thm1-orth"),
        title=(
            "Mean and variance of two-layer outputs on orthogonal images (symbolic proof)"
        ),
        statement=r"\mathbb{E} f = \frac{s \|x\|}{\sqrt{2\pi}} \sum_i \alpha_i, \quad"
        r" \operatorname{Var} f = \frac{s^2 \|x\|^2}2 \Big(1 - \frac1\pi\Big)"
        r" \sum_i \alpha_i^2",
        source=ours("Equation 16; the law is ours"),
        derived=_law,
        formula=lambda: _law_formula(1 / sympy.pi),
        wrong=lambda: _law_formula(0),
        mistake="The variance without the squared mean taken off",
        links=_law_links,
        assumptions=("two units", "initial weights independent normal"),
        uses=("id/twolayer-law",),
    ),
)
