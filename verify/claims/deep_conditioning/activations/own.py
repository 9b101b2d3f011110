"""Functions of one's own, Hermite polynomials, and where the kinks of a function are."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import mpmath
import numpy as np

from theory import activations as act
from theory import hermite
from theory.activations.custom import FromFunction
from verify import integrals
from verify.claim import grid, numeric
from verify.claims._predictors import mistake
from verify.claims.deep_conditioning._sources import ours, quoted
from verify.claims.deep_conditioning.lengths._definitions import gaussian_panels
from verify.compare import AgreesTo, Array

_RHOS = (-0.9, -0.3, 0.0, 0.5, 0.99)


_DELTAS = (1e-6, 0.1, 1.0, 1.7)
_KINK = 0.3
_VAR = 3.0


def _predict_callable(*, what: str, form: str = "arrays", linear: float = 0.5) -> Any:
    a = _given(form, linear)
    if what == "bend":
        twice = a.scaled(_VAR).derivative.derivative
        return [twice.mean, twice.second_moment]
    if what == "energy":
        # No derivative is given: the interpolant's is used.
        a = act.from_function(a, kinks=(_KINK,), name="ramp")
        return [a.derivative_second_moment, a.derivative.mean]
    if what == "dual":
        return a.dual(np.array(_RHOS))
    if what == "slope":
        return a.dual_derivative(np.array(_RHOS))
    return a.distance_map(np.array(_DELTAS))


def _given(form: str, linear: float) -> act.Activation:
    """Return a squared ramp and a line, in one of the forms that are understood."""
    if form in ("abs", "max", "piecewise"):
        import sympy

        # Its derivative and its kink are found.
        x = sympy.Symbol("x")
        over = {
            "abs": (x - _KINK + sympy.Abs(x - _KINK)) / 2,
            "max": sympy.Max(x - _KINK, 0),
            "piecewise": sympy.Piecewise((x - _KINK, x > _KINK), (0, True)),
        }[form]
        return act.from_function(over**2 + linear * x)
    if form == "tensors":
        import torch

        # Differentiated by PyTorch.
        return act.from_function(
            lambda x: torch.relu(x - _KINK) ** 2 + linear * x, kinks=(_KINK,)
        )
    most: Any = max if form == "numbers" else np.maximum
    return act.from_function(
        lambda x: most(x - _KINK, 0.0) ** 2 + linear * x,
        kinks=(_KINK,),
        derivative=lambda x: 2.0 * most(x - _KINK, 0.0) + linear,
        name="ramp",
    )


def _measure_callable(*, what: str, form: str = "arrays") -> Any:
    del form  # of the same function
    if what == "bend":
        # (s(r x))'' is 2 r^2 beyond c / r, and zero before.
        beyond = mpmath.ncdf(-_KINK / mpmath.sqrt(_VAR))
        return [2 * _VAR * beyond, (2 * _VAR) ** 2 * beyond]
    piece = integrals.Pieces(2, (0, "0.5"), (_KINK,), (2,))
    found = integrals.of_pieces(piece)
    if what == "energy":
        # Stein: E s' = a_1.
        return [found.slope(1), found.coefficient(1)]
    if what == "distance":
        return [found.distance(delta) for delta in _DELTAS]
    return [getattr(found, what)(rho) for rho in _RHOS]


CALLABLE = numeric(
    id="dc/defC.1-callable",
    title="Dual and slope of a user-defined function with a kink",
    statement=r"s(x) = (x - c)_+^2 + x/2",
    source=ours("Definition C.1"),
    cases=(
        *grid(what=("energy", "dual", "slope", "distance", "bend")),
        *grid(what=("dual", "slope", "bend"), form="abs"),
        *grid(what="slope", form=("max", "piecewise", "tensors", "numbers")),
    ),
    predict=_predict_callable,
    measure=_measure_callable,
    compare=AgreesTo(relative=1e-13),
    must_refute=mistake("The function without its linear part.", linear=0.0),
    uses=("dc/defC.1-derivative", "dc/defC.1-distance"),
)


_SOME, _NEAR = (-0.9, 0.6), (1e-6, 0.4)
_ORDERS = 3


def _shape(order: int, kink: float, linear: float) -> Callable[[Array], Any]:
    """Return (x - c)_+^m and a line, or for m = 0 a step alone."""
    if order == 0:
        return lambda x: (x > kink) * 1.0
    return lambda x: np.maximum(x - kink, 0.0) ** order + linear * x


@dataclass
class _Bent:
    """(x - c)_+^m and a multiple of tanh, smooth on both sides; it has no hash."""

    order: int
    kink: float
    linear: float

    def __call__(self, x: Array) -> Any:
        ramp = np.maximum(x - self.kink, 0.0) ** self.order
        return ramp + 2.0 * self.linear * np.tanh(x)


def _hooked(kink: float, size: float, linear: float) -> Callable[[Array], Any]:
    """Return a multiple of (x + 1/2)_+ and (x - c)_+^2 / 2, in which slopes jump once."""
    most = np.maximum
    return lambda x: (
        size * (most(x + 0.5, 0.0) + 0.5 * most(x - kink, 0.0) ** 2) + linear * x
    )


def _predict_found(
    *,
    order: int,
    kink: float,
    bent: bool = False,
    size: float = 0.0,
    linear: float = 0.5,
) -> list[float]:
    shape = (_Bent if bent else _shape)(order, kink, linear)
    shape = _hooked(kink, size, linear - 0.5) if size else shape
    a = act.from_function(shape, name="found")
    if bent:
        return [*a.kinks, *a.hermite(_ORDERS), a.second_moment, a.mu, a.nu, a.dual(0.0)]
    values = [*a.kinks, *a.dual(np.array(_SOME)), *a.distance_map(np.array(_NEAR))]
    return values if order == 0 else [*values, *a.dual_derivative(np.array(_SOME))]


def _measure_found(
    *, order: int, kink: float, bent: bool = False, size: float = 0.0
) -> list[Any]:
    if bent:
        return [kink, *_bent_moments(order, kink)]
    line = (0, "0.5" if order else 0)
    pieces = integrals.Pieces(order, line, (kink,), (max(order, 1),))
    if size:
        places = (-0.5, kink)
        pieces = integrals.Pieces(2, (0, 0), places, (size, size), orders=(1, 2))
    found = integrals.of_pieces(pieces)
    distances = [found.distance(delta) for delta in _NEAR]
    values = [*pieces.kinks, *(found.dual(rho) for rho in _SOME), *distances]
    return [*values, *(found.slope(rho) for rho in _SOME if order)]


def _bent_moments(order: int, kink: float) -> list[float]:
    """E s h_k for k to 3, E s^2, mu, nu and (E s)^2, by quadratures."""
    # 20 nodes on half-panels of 1/2 at most, poles of tanh at distance pi/2: 6^-40 of
    # a panel is left.
    z, w = gaussian_panels(np.union1d(np.arange(-13.0, 13.5), kink))
    s = np.tanh(z) + np.where(z > kink, z - kink, 0.0) ** order
    polynomials = (1.0, z, z**2 - 1.0, z**3 - 3.0 * z)
    means = [math.fsum(w * s * h) for h in polynomials]
    sizes = (1.0, 1.0, math.sqrt(2.0), math.sqrt(6.0))
    square = math.fsum(w * s * s)
    rest = square - means[0] ** 2 - means[1] ** 2
    shares = rest / (square - means[0] ** 2), rest / square
    found = [m / size for m, size in zip(means, sizes, strict=True)]
    return [*found, square, *shares, means[0] ** 2]


FOUND = replace(
    CALLABLE,
    id="dc/defC.1-found-kinks",
    title="Kinks and jumps of user-defined functions are found where they are",
    statement=r"s(x) = (x - c)_+^m + x/2 \text{ or } \tanh x,\qquad s(x) = 1\{x > c\}",
    cases=(
        *grid(order=(0, 2), kink=0.3),
        *grid(order=1, kink=-(2.0**-0.5)),
        *grid(order=(1, 2, 3), kink=0.3, bent=True),
        *grid(order=1, kink=-(2.0**-0.5), bent=True),
        # Parabolas and lines that are no chain of either.
        *grid(order=2, kink=0.75, size=(1.0, -1.0)),
    ),
    predict=_predict_found,
    measure=_measure_found,
    # The kink to rounding; the rest is what it is with the kink.
    compare=AgreesTo(relative=1e-12),
    must_refute=mistake("The functions without their linear part.", linear=0.0),
    uses=("dc/defC.1-callable",),
)


def _predict_cubic(*, var_x: float, var_y: float) -> Array:
    return act.hermite(3).dual(np.array(_RHOS), var_x=var_x, var_y=var_y)


def _measure_cubic(*, var_x: float, var_y: float) -> list[Any]:
    # h_3(s x) = s^3 h_3(x) + 3 s (s^2 - 1) h_1(x) / sqrt 6.
    with mpmath.workprec(integrals.BITS):
        v, w = mpmath.mpf(var_x), mpmath.mpf(var_y)
        root = mpmath.sqrt(v * w)
        one, three = 9 * root * (v - 1) * (w - 1) / 6, root**3
        return [one * mpmath.mpf(r) + three * mpmath.mpf(r) ** 3 for r in _RHOS]


def _wrong_cubic(*, var_x: float, var_y: float) -> Array:
    """The dual of a function homogeneous of degree three."""
    return (var_x * var_y) ** 1.5 * np.array(_RHOS) ** 3


CUBIC = numeric(
    id="dc/defC.1-cubic",
    items=("DefC.1", "D.0"),
    title="The dual of a Hermite polynomial at unequal variances",
    statement=r"h_3(sx) = s^3 h_3(x) + \frac{3 s (s^2 - 1)}{\sqrt 6} h_1(x)",
    source=ours("Definition C.1"),
    cases=grid(var_x=(0.5, 2.0), var_y=(1.0, 1.5)),
    predict=_predict_cubic,
    measure=_measure_cubic,
    compare=AgreesTo(relative=1e-13, of_largest=True),
    must_refute=_wrong_cubic,
    uses=("dc/defC.1-unequal", "dc/defC.1-polynomials"),
)


def _predict_parabolas(*, line: float, below: float, more: float) -> list[float]:
    a = act.PiecewisePolynomial("two", 2, (0.0, line, below), (0.0,), (2.0 * more,))
    return [*a.dual(np.array(_RHOS)), *a.distance_map(np.array(_DELTAS))]


def _measure_parabolas(*, line: float, below: float, more: float) -> list[Any]:
    """Products of x, x^2 and x_+^2, of which each has a closed form."""
    with mpmath.workprec(integrals.BITS):
        b, c, j = mpmath.mpf(line), mpmath.mpf(below), mpmath.mpf(more)
        third = mpmath.sqrt(2 / mpmath.pi)  # E Z_+^3

        def dual(rho: Any) -> Any:
            angle = mpmath.acos(rho)
            both = 3 * mpmath.sin(angle) * rho + (mpmath.pi - angle) * (1 + 2 * rho**2)
            squares = (c * c + c * j) * (1 + 2 * rho**2) + j * j * both / (
                2 * mpmath.pi
            )
            return b * rho * (b + 2 * j * third) + squares

        whole = dual(mpmath.mpf(1))
        lost = [(whole - dual(1 - mpmath.mpf(d))) / whole for d in _DELTAS]
        return [*(dual(mpmath.mpf(r)) for r in _RHOS), *lost]


PARABOLAS = numeric(
    id="dc/defC.1-parabolas",
    title="Dual and distances of two parabolas that meet at zero",
    statement=r"s(x) = b x + c x^2 + j x_+^2",
    source=ours("Definition C.1"),
    cases=(
        {"line": 0.3, "below": 0.7, "more": 0.65},
        {"line": 0.0, "below": -0.4, "more": 1.5},
        {"line": -1.1, "below": 0.2, "more": -0.2},
    ),
    predict=_predict_parabolas,
    measure=_measure_parabolas,
    compare=AgreesTo(relative=1e-12),
    must_refute=mistake("A parabola on one side alone.", below=0.0),
    uses=("dc/defC.1",),
)

_POINTS = (-3.0, -0.7, 0.0, 1.3, 4.0)


def _predict_polynomial(*, k: int, scale: float = 1.0) -> list[float]:
    return [float(v) for v in hermite.hermite(k, scale * np.array(_POINTS))]


def _measure_polynomial(*, k: int) -> list[Any]:
    """Rodrigues' sum: He_k(x) = k! sum_m (-1)^m x^(k-2m) / (2^m m! (k-2m)!)."""
    with mpmath.workprec(integrals.BITS):
        root = mpmath.sqrt(mpmath.factorial(k))
        return [
            root
            * mpmath.fsum(
                (-1) ** m
                * mpmath.mpf(x) ** (k - 2 * m)
                / (mpmath.mpf(2) ** m * math.factorial(m) * math.factorial(k - 2 * m))
                for m in range(k // 2 + 1)
            )
            for x in _POINTS
        ]


POLYNOMIAL = numeric(
    id="dc/defC.1-polynomials",
    title="Normalised Hermite polynomials, by Rodrigues' formula",
    statement=r"h_k(x) = \frac{(-1)^k}{\sqrt{k!}} e^{x^2/2} \frac{d^k}{dx^k} e^{-x^2/2}",
    source=quoted("Definition C.1"),
    cases=grid(k=(0, 1, 2, 3, 8, 25)),
    predict=_predict_polynomial,
    measure=_measure_polynomial,
    # k steps of a recurrence, of the largest value.
    compare=AgreesTo(relative=1e-14, of_largest=True),
    must_refute=mistake("The physicists' Hermite polynomials.", scale=math.sqrt(2.0)),
)

# --- pieces that are recognised -----------------------------------------------------------

_Shape = tuple[int, tuple[float, ...], tuple[float, ...], tuple[float, ...]]
_PIECES: dict[str, _Shape] = {
    # Degree, the polynomial on the left, places, and jumps of the last derivative there.
    "line": (1, (0.5, -1.25), (), ()),
    "lines": (1, (0.6, -1.2), (-1.7, -0.3, 2.1), (0.7, -1.9, 1.1)),
    "lines on the left": (1, (0.5, 0.75), (-3.0, -0.5), (1.5, -2.0)),
    "lines on the right": (1, (-0.25, 0.75), (0.5, 30.0), (1.5, -2.0)),
    "stairs": (0, (0.3,), (-0.7, 0.0, 1.6), (1.9, -0.6, 1.1)),
    "parabola": (2, (0.5, 0.25, -0.75), (), ()),
    "parabolas": (2, (0.6, 0.3, -0.7), (-1.9, -0.6, 1.3), (1.6, -2.1, 0.4)),
    "parabolas on the left": (2, (0.5, 0.25, 0.5), (-2.0, -0.5), (1.5, -2.5)),
    "parabolas on the right": (2, (0.0, -0.5, 0.0), (0.5, 6.0), (1.5, -1.5)),
    "a parabola far out": (2, (0.5, 0.25, 0.0), (80.0,), (0.5,)),
}


def _of_pieces(
    shape: str, derivative: int = 0, shift: float = 0.0
) -> Callable[[Array], Array]:
    """Return the function by its polynomial on each piece, or its derivative."""
    m, poly, kinks, jumps = _PIECES[shape]
    each = [np.polynomial.Polynomial(poly)]
    for c, jump in zip(kinks, jumps, strict=True):
        ramp = np.polynomial.Polynomial((-c, 1.0)) ** m
        each.append(each[-1] + jump / math.factorial(m) * ramp)

    def f(x: Array) -> Array:
        values = [piece.deriv(derivative)(x) for piece in each]
        return np.choose(np.searchsorted(kinks, x), values) + shift

    return f


def _predict_recognised(
    *, shape: str, given: str = "", shift: float = 0.0
) -> list[float]:
    slope, less = _of_pieces(shape, 1), 1.0 - 1e-8 * ("single" in given)
    found = act.from_function(
        _of_pieces(shape, shift=shift),
        kinks=_PIECES[shape][2] if "kinks" in given else (),
        derivative=(lambda x: less * slope(x)) if "slope" in given else None,
    )
    assert isinstance(found, act.PiecewisePolynomial)
    return [found.quadrature_error, found.m, *found.poly, *found.kinks, *found.jumps]


def _measure_recognised(*, shape: str, given: str = "") -> list[float]:
    """What the function was made of."""
    del given
    m, poly, kinks, jumps = _PIECES[shape]
    return [0.0, m, *poly, *kinks, *jumps]


RECOGNISED = replace(
    CALLABLE,
    id="dc/defC.1-recognised",
    title="Stairs, lines and parabolas that are given by their values are recognised",
    statement=r"s(x) = p(x) + \sum_j J_j \frac{(x - c_j)_+^m}{m!}, \quad m \le 2",
    cases=(
        *grid(shape=tuple(_PIECES)),
        *grid(shape=("lines", "parabolas"), given=("kinks", "slope", "kinks slope")),
        # Constants in single precision.
        *grid(shape=("lines", "lines on the left"), given="single slope"),
    ),
    predict=_predict_recognised,
    measure=_measure_recognised,
    # Differences of values of a hundred at most over distances of about one.
    compare=AgreesTo(absolute=1e-13),
    must_refute=mistake("The function and a little more.", shift=1e-9),
    uses=("dc/defC.1-callable",),
)


# --- kinks of expressions -----------------------------------------------------------------

_EXPRESSIONS = {
    "abs": ("Abs(3 * x - 1) * tanh(x)", (1 / 3,)),
    "max": ("Max(x, sqrt(2)) * tanh(x)", (math.sqrt(2.0),)),
    "most of three": ("Max(x - 1, -x - 1, 0) * exp(x / 3)", (-1.0, 0.0, 1.0)),
    "min": ("Min(x**2, 2) * tanh(x)", (-math.sqrt(2.0), math.sqrt(2.0))),
    "step": ("(x - pi) * Heaviside(x - pi) * tanh(x)", (math.pi,)),
    "sign": ("x * sign(x - 1) * (x - 1) + tanh(x)", (1.0,)),
    "pieces": ("Piecewise((tanh(x - 1), x < 1), (1 - 1 / x, True))", (1.0,)),
}
"""Expressions, and the points where what is in them may bend."""


def _predict_expression(*, name: str, found: int = 0) -> list[float]:
    import sympy

    a = act.from_function(sympy.sympify(_EXPRESSIONS[name][0]))
    assert isinstance(a, FromFunction)
    return [*a.kinks, len(a.found) + found]


def _measure_expression(*, name: str) -> list[float]:
    """Nothing is left to be found."""
    return [*_EXPRESSIONS[name][1], 0]


EXPRESSIONS = replace(
    FOUND,
    id="dc/defC.1-expressions",
    title="Kinks of SymPy's expressions are read off to the last digit",
    statement=r"|3 x - 1| \tanh x, \quad \max(x, \sqrt 2) \tanh x, \dots",
    cases=grid(name=tuple(_EXPRESSIONS)),
    predict=_predict_expression,
    measure=_measure_expression,
    compare=AgreesTo(relative=2.3e-16),
    must_refute=mistake("One that was not read off.", found=1),
)
