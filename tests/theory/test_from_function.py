"""Any callable as an activation: what it was made of must not show in the numbers."""

import math
import subprocess
import sys

import mpmath
import numpy as np
import pytest
import scipy.special
import sympy
import torch

from theory import activations as act
from theory import duals, kernels
from theory.activations import _recognition
from theory.activations.piecewise import PiecewisePolynomial

# Quadrature split at the kinks has no truncation error above rounding: 1e-13 as for the
# catalogue; automatic and symbolic derivatives are exact, an interpolant's good to 1e-11.
TOLERANCE = 1e-13
x = sympy.Symbol("x")

EXACT = {
    "numpy tanh": (lambda: act.from_function(np.tanh), act.tanh),
    "lambda": (lambda: act.from_function(lambda v: v**2 + v), None),
    "math.tanh": (lambda: act.from_function(math.tanh), act.tanh),
    "scalar relu": (
        lambda: act.from_function(lambda v: v if v > 0 else 0.0, kinks=[0.0]),
        act.relu,
    ),
    "numpy relu": (
        lambda: act.from_function(lambda v: np.maximum(v, 0.0), kinks=(0.0,)),
        act.relu,
    ),
    "torch function": (lambda: act.from_function(torch.tanh), act.tanh),
    "torch module": (lambda: act.from_function(torch.nn.GELU()), act.gelu),
    "torch relu": (lambda: act.from_function(torch.nn.ReLU(), kinks=[0.0]), act.relu),
    "torch selu": (lambda: act.from_function(torch.selu, kinks=[0.0]), act.selu),
    "sympy tanh": (lambda: act.from_function(sympy.tanh(x)), act.tanh),
    "sympy erf": (lambda: act.from_function(sympy.erf(x)), act.erf),
    "sympy abs": (lambda: act.from_function(sympy.Abs(x)), act.absolute),
    "sympy max": (lambda: act.from_function(sympy.Max(x, 0)), act.relu),
    "sympy piecewise": (
        lambda: act.from_function(sympy.Piecewise((-1, x < -1), (1, x > 1), (x, True))),
        act.hard_tanh,
    ),
}
PAIRS = {name: pair for name, pair in EXACT.items() if pair[1] is not None}


@pytest.fixture(scope="module", params=sorted(PAIRS))
def twin(request):
    make, known = PAIRS[request.param]
    return make(), known


def test_moments(twin):
    a, known = twin
    size = math.sqrt(known.second_moment)
    assert a.mean == pytest.approx(known.mean, abs=TOLERANCE * size)
    assert a.second_moment == pytest.approx(known.second_moment, rel=TOLERANCE)
    assert a.variance == pytest.approx(known.variance, rel=TOLERANCE)
    assert a.mu == pytest.approx(known.mu, rel=TOLERANCE)
    assert a.nu == pytest.approx(known.nu, rel=TOLERANCE)


def test_coefficients(twin):
    a, known = twin
    expected = known.hermite(30)
    assert np.abs(a.hermite(30) - expected).max() < TOLERANCE * np.abs(expected).max()


def test_derivative(twin):
    a, known = twin
    points = np.array([-2.3, -0.4, 0.2, 1.7])
    assert np.allclose(a.derivative(points), known.derivative(points), atol=1e-11)
    d = known.derivative_second_moment
    assert a.derivative_second_moment == pytest.approx(d, rel=1e-11)


def test_duals(twin):
    a, known = twin
    rho = np.array([-1.0, -0.7, -0.1, 0.3, 0.9, 1.0])
    size = known.second_moment
    assert np.abs(a.dual(rho) - known.dual(rho)).max() < 1e-12 * size
    slopes = a.dual_derivative(rho) - known.dual_derivative(rho)
    assert np.abs(slopes).max() < 1e-11 * known.derivative_second_moment
    delta = np.array([1e-15, 1e-6, 0.1, 1.4])
    # An interpolated derivative has a relative error of 1e-11, and the map is its
    # integral.
    assert a.distance_map(delta) == pytest.approx(known.distance_map(delta), rel=1e-11)


def test_lengths_and_scale(twin):
    a, known = twin
    for q in (0.4, 2.5):
        assert a.length_map(q) == pytest.approx(known.length_map(q), rel=TOLERANCE)
        assert a.scaled(q)(0.7) == pytest.approx(a(math.sqrt(q) * 0.7), rel=1e-15)
        slope = known.length_map_derivative(q)
        assert a.length_map_derivative(q) == pytest.approx(slope, rel=1e-11)


def test_normalized(twin):
    a = twin[0].normalized()
    assert (a.mean, a.second_moment) == (0.0, 1.0)
    assert a.dual(1.0) == pytest.approx(1.0, abs=1e-12)


def test_quadrature_error(twin):
    assert 0.0 <= twin[0].quadrature_error < 1e-13


def test_deep_kernels_of_a_callable():
    a = act.from_function(np.tanh, derivative=lambda v: 1 / np.cosh(v) ** 2)
    rho = [-0.9, 0.0, 0.4, 0.99]
    for depth in (1, 10):
        found = kernels.ntk_map(rho, a.normalized(), depth)
        expected = kernels.ntk_map(rho, act.tanh.normalized(), depth)
        # 1e-13 a layer, enlarged by at most D a layer.
        assert found == pytest.approx(expected, rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("depth", [1, 2])
def test_derivatives_next_to_a_zero_of_high_order_keep_their_digits(depth):
    # Panels ended at 2^-50: at 1e-20 kernels of a cube were 1e-6 off, and deeper ones were
    # refused, for a diagonal of e^(10^57).
    a = act.from_function(lambda v: v**3)
    v = 10.0 ** -np.arange(1.0, 91.0)
    assert np.abs(a.derivative(v) / (3.0 * v * v) - 1.0).max() < 1e-11
    length = 1e-20 if depth == 1 else 1e-8
    x = length * np.array([[1.0, 0.0], [0.6, 0.8], [0.99, 0.2]])
    k = x @ x.T
    for _ in range(depth):
        q = np.diag(k)  # and E u^3 v^3:
        k = 9.0 * np.outer(q, q) * k + 6.0 * k**3
    found = kernels.nngp(x, a, depth)
    size = np.sqrt(np.outer(np.diag(k), np.diag(k)))
    assert np.all(np.abs(found - k) < 1e-12 * size)


def test_a_given_derivative_is_used():
    calls = []

    def slope(v):
        calls.append(1)
        return np.cos(v)

    a = act.from_function(np.sin, derivative=slope)
    assert a.derivative(0.3) == math.cos(0.3)
    assert calls
    scalar = act.from_function(math.sin, derivative=math.cos)
    assert scalar.derivative(0.3) == math.cos(0.3)
    symbolic = act.from_function(sympy.sin(x))
    assert symbolic.derivative(0.3) == pytest.approx(math.cos(0.3), rel=1e-15)


def test_polynomials_are_exact():
    a = EXACT["lambda"][0]()
    # x^2 + x = h_0 + h_1 + sqrt(2) h_2.
    assert a.hermite(4) == pytest.approx([1, 1, math.sqrt(2), 0, 0], abs=1e-14)
    assert a.mu == pytest.approx(2 / 3, rel=1e-14)
    assert a.derivative_second_moment == pytest.approx(5.0, rel=1e-11)


SYMBOLIC = [
    (sympy.Abs(x - 1), (1.0,)),
    (sympy.Max(x, 2 - x, 3), (-1.0, 1.0, 3.0)),
    (sympy.Min(x, 1), (1.0,)),
    (sympy.sign(x + 2), (-2.0,)),
    (sympy.Heaviside(2 * x - 1), (0.5,)),
    (sympy.Piecewise((0, x < 1), (x - 1, True)), (1.0,)),
    (sympy.exp(-(x**2)), ()),
]


@pytest.mark.parametrize(("expression", "kinks"), SYMBOLIC)
def test_kinks_of_expressions(expression, kinks):
    a = act.from_function(expression)
    assert set(kinks) <= set(a.kinks)
    points = np.array([-2.5, -0.7, 0.1, 0.8, 1.9, 4.0])
    expected = [float(expression.subs(x, v)) for v in points]
    assert a(points) == pytest.approx(expected, rel=1e-15)


def test_kinks_are_sorted_and_merged():
    a = act.from_function(lambda v: np.abs(v - 1) + np.abs(v), kinks=[1, 0, 1.0])
    assert a.kinks == (0.0, 1.0)


def test_names():
    assert act.from_function(np.tanh).name == "tanh"
    assert act.from_function(lambda v: v * v).name == "f"
    assert act.from_function(np.tanh, name="mine").name == "mine"
    assert act.from_function(torch.nn.GELU()).name == "GELU"
    with pytest.raises(ValueError, match=r"mine\.dual: `rho`"):
        act.from_function(np.tanh, name="mine").dual(2.0)


# --- refusals -------------------------------------------------------------------------


def _bump(v):
    return np.exp(0.5 * v * v)


REFUSED = [
    (
        lambda v: np.maximum(v - 0.3, 0.0) ** 0.25,
        r"smooth between its `kinks`.*near x = 0\.3",
    ),
    (lambda v: np.sign(np.sin(3.0 * v)), r"have its kinks named"),
    (_bump, r"square integrable"),
    (lambda v: np.exp(0.26 * v * v), r"square integrable"),
    (lambda v: np.where(v > 3, np.nan, v), r"finite on the real line, got nan"),
    (lambda v: np.where(np.abs(v) > 5, np.inf, v), r"finite on the real line, got inf"),
    (lambda v: 1e-200 * np.tanh(v), r"of a size from .*, got 5\.94e-201"),
    (lambda v: 1e200 * np.exp(v), r"of a size from .*, got 2\.72e\+200"),
]


@pytest.mark.parametrize(("f", "need"), REFUSED)
def test_refused(f, need):
    with pytest.raises(ValueError, match=rf"^from_function: `f` must .*({need})"):
        act.from_function(f)


@pytest.mark.parametrize("kinks", [(0.123,), ()])
def test_a_step_is_accepted(kinks):
    a = act.from_function(lambda v: (v > 0.123).astype(float), kinks=kinks)
    assert a.kinks == (0.123,)
    assert a.second_moment == pytest.approx(scipy.special.ndtr(-0.123), rel=TOLERANCE)
    assert a.quadrature_error < TOLERANCE


def test_affine_functions_have_no_mu():
    a = act.from_function(lambda v: 3.0 * v - 2.0)
    with pytest.raises(ValueError, match=r"f\.mu: .*must not be affine"):
        _ = a.mu
    with pytest.raises(ValueError, match=r"f\.mu: .*must not be constant"):
        _ = act.from_function(lambda v: 0.0 * v + 2.0).mu


@pytest.mark.parametrize("f", [3.0, "tanh", None, [1.0]])
def test_not_a_function(f):
    with pytest.raises(TypeError, match=r"from_function: `f` must be callable"):
        act.from_function(f)


@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize("name", ["f", "derivative"])
def test_lists_of_values_are_named(kind, name):
    """They were said to take no number."""
    given = {"f": np.tanh, name: lambda v: kind([math.tanh(x) for x in v])}
    match = f"`{name}` must return an array .*, got a {kind.__name__}. .*numpy.array"
    with pytest.raises(ValueError, match=match):
        act.from_function(**given)


@pytest.mark.parametrize("f", [lambda v: np.log(np.abs(v)), lambda v: 1.0 / v])
def test_functions_without_bound_at_a_named_kink_are_told_so(f):
    """They were told to name it."""
    with pytest.raises(
        ValueError, match=r"must be bounded at .* next to that at x = 0"
    ):
        act.from_function(f, kinks=0.0)
    cut = act.from_function(lambda v: np.log(np.maximum(np.abs(v), 1e-9)), kinks=0.0)
    # E log |Z| = -(gamma + log 2) / 2; what is cut off is 1e-9.
    assert cut.mean == pytest.approx(-0.6351814227307391, abs=2e-9)


def test_expressions_in_several_symbols():
    y = sympy.Symbol("y")
    with pytest.raises(TypeError, match=r"from_function: `f` must be .*one symbol"):
        act.from_function(x + y)


def test_a_numpy_callable_loads_neither_torch_nor_sympy():
    code = (
        "import sys, numpy as np\nfrom theory import activations as act\n"
        "a = act.from_function(np.tanh)\na.mu, a.dual(0.3), a.derivative(0.1)\n"
        "assert not {'torch', 'sympy'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


KINKS = {
    "away from zero": (0.3,),
    "far": (2.5,),
    "close": (0.3, 0.35),
    "very close": (-0.2, 0.7, 0.7 + 1e-5),
    "opposite": (-1.0, 0.0, 1.0),
}


@pytest.mark.parametrize(
    ("name", "given"), [*((k, True) for k in KINKS), ("away from zero", False)]
)
def test_kinks_anywhere_leave_thirteen_digits(
    name: str, given: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against the closed form of the same piecewise parabola."""
    monkeypatch.setattr(_recognition, "recognise", lambda *_: None)
    kinks = KINKS[name]
    known = PiecewisePolynomial(
        name, 2, (0.2, 0.5), kinks, (2.0, -1.5, 0.7)[: len(kinks)]
    )
    slope = known.derivative._value if given else None
    a = act.from_function(known._value, kinks=kinks, derivative=slope)
    assert not isinstance(a, PiecewisePolynomial)
    rho = np.array([-1.0, -1.0 + 1e-9, -0.9, -0.3, 0.0, 0.5, 0.99, 1.0 - 1e-9, 1.0])
    # Rounding of a few hundred terms; the rest of the tables is below it.
    size = known.second_moment
    assert np.abs(a.dual(rho) - known.dual(rho)).max() < 1e-13 * size
    top = known.derivative_second_moment
    gap = np.abs(a.dual_derivative(rho) - known.dual_derivative(rho)).max()
    assert gap < 1e-13 * top
    delta = np.array([1e-18, 1e-9, 1e-3, 0.4, 1.0, 1.6, 2.0 - 1e-6, 2.0])
    np.testing.assert_allclose(
        a.distance_map(delta), known.distance_map(delta), rtol=1e-13
    )
    unequal = [v.dual(rho, var_x=0.7, var_y=2.3) for v in (a, known)]
    assert np.abs(unequal[0] - unequal[1]).max() < 1e-13 * known.length_map(2.3)
    for what in ("mu", "nu", "mean", "variance"):
        assert getattr(a, what) == pytest.approx(getattr(known, what), rel=1e-13)
    assert a.fixed_point() == pytest.approx(known.fixed_point(), abs=1e-13)


def test_a_slope_that_nearly_vanishes_next_to_a_kink_is_not_infinite_there() -> None:
    """-x/4 + 2 (x - 1/3000)+, beside exp(-x^2/8), grows threefold towards the kink."""
    a = act.from_function(
        lambda x: np.exp(-x * x / 8.0) + np.maximum(x - 1 / 3000, 0.0) ** 2,
        kinks=1 / 3000,
    )
    with mpmath.workdps(30):
        c = mpmath.mpf(1) / 3000

        def energy(x: mpmath.mpf) -> mpmath.mpf:
            slope = -x / 4 * mpmath.exp(-x * x / 8) + (2 * (x - c) if x > c else 0)
            return slope**2 * mpmath.npdf(x)

        expected = float(mpmath.quad(energy, [-20, -5, 0, c, 5, 20]))
    assert a.derivative_second_moment == pytest.approx(expected, rel=1e-12)


def test_the_distance_of_an_even_function_vanishes_at_both_ends() -> None:
    a = act.from_function(
        lambda v: np.tanh(np.abs(np.abs(v) - 1.0)), kinks=(-1.0, 0.0, 1.0)
    )
    for delta in (2.0**-40, 2.0**-10, 0.5):
        both = a.distance_map(np.array([delta, 2.0 - delta]))
        assert both[1] == pytest.approx(both[0], rel=1e-13)
    assert a.distance_map(2.0) == 0.0


def test_jumps_are_refused_but_for_steps():
    with pytest.raises(ValueError, match="`kinks` must not be jumps of f"):
        act.from_function(lambda x: np.where(x > 0.3, np.tanh(x), 0.0), kinks=(0.3,))
    step = act.from_function(lambda x: np.where(x > 0.3, 2.0, -1.0), kinks=(0.3,))
    assert step.kinks == (0.3,)
    steep = act.from_function(lambda x: np.abs(x) ** 1.5, kinks=(0.0,))
    assert steep.kinks == (0.0,)


# --- every panel is looked at ---------------------------------------------------------


def test_a_narrow_bump_on_a_line_is_seen():
    centre, width = 0.7, 0.08
    a = act.from_function(lambda v: v + np.exp(-(((v - centre) / width) ** 2) / 2.0))
    assert not isinstance(a, PiecewisePolynomial)
    # E exp(-(Z - c)^2 / w^2) and E Z exp(-(Z - c)^2 / 2 w^2), Gaussian integrals.
    wide = 1.0 + width**2
    cross = centre / wide * width / math.sqrt(wide) * math.exp(-(centre**2) / 2 / wide)
    wide = 1.0 + 0.5 * width**2
    square = width / math.sqrt(2.0 * wide) * math.exp(-(centre**2) / 2 / wide)
    assert a.second_moment == pytest.approx(1.0 + 2.0 * cross + square, rel=TOLERANCE)
    assert a.mu > 0.03


@pytest.mark.parametrize("kinks", [(25,), ()])
def test_a_kink_far_out_is_seen(kinks):
    a = act.from_function(lambda v: np.maximum(v - 25.0, 0.0), kinks=kinks)
    assert a == PiecewisePolynomial(a.name, 1, (0.0, 0.0), (25.0,), (1.0,))
    # E (Z - c)_+^k in terms of erfc, evaluated with 40 digits.
    with mpmath.workdps(40):
        tail, density = mpmath.ncdf(-25), mpmath.npdf(25)
        second = 626 * tail - 25 * density
    assert a.mean == 0.0  # 1e-69 of the deviation, which counts as zero
    for found, exact in ((a.second_moment, second), (a.derivative_second_moment, tail)):
        assert found == pytest.approx(float(exact), rel=1e-12, abs=0.0)


def test_a_bent_line_that_is_linear_only_nearby():
    # The kink at 100 is beyond the reach of variance 1 and within that of 1e4.
    a = act.from_function(lambda v: v + np.maximum(v - 100.0, 0.0))
    assert a.kinks == (100.0,)
    b = act.from_function(lambda v: v + np.maximum(v - 100.0, 0.0) ** 2)
    assert b == PiecewisePolynomial(b.name, 2, (0.0, 1.0, 0.0), (100.0,), (2.0,))
    c = act.from_function(lambda v: v + np.maximum(v - 100.0, 0.0) ** 3)
    assert c.scaled(1e4).kinks == (1.0,)
    assert c.scaled(1e4).found == (1.0,)


PARABOLAS = {
    "square": ((0.0, 0.0, 1.0), (), ()),
    "huber": ((-0.5, -1.0, 0.0), (-1.0, 1.0), (1.0, -1.0)),
    "steps of f''": ((0.2, 0.5, -0.1), (-1.0, 0.0, 2.5), (2.0, -1.5, 0.7)),
    "far": ((3.0, -1.0 / 3.0, 0.0), (25.0,), (0.7,)),
}


def test_kinks_found_in_values_that_hardly_vary_are_not_taken_for_exact():
    kink = 0.9313230787818676

    def bend(x):
        return 1e-5 * np.maximum(x - kink, 0.0)

    a = act.from_function(lambda x: 3.0 + bend(x))
    # Its variance would be 4e-10 off.
    assert a.found != (kink,)
    with pytest.raises(ValueError, match="must vary more beside its mean"):
        a.dual(0.5)
    named = act.from_function(lambda x: 3.0 + bend(x), kinks=kink)
    alone = act.from_function(bend, kinks=kink)
    # Slopes of lines are known to 1e-12 of themselves.
    assert isinstance(named, PiecewisePolynomial)
    assert named.variance == pytest.approx(alone.variance, rel=4e-12)


@pytest.mark.parametrize("name", PARABOLAS)
@pytest.mark.parametrize("given", [False, True])
def test_parabolas_that_join_with_their_slopes_are_recognised(name, given):
    poly, kinks, jumps = PARABOLAS[name]
    known = PiecewisePolynomial(name, 2, poly, kinks, jumps)
    slope = known.derivative._value if given else None
    a = act.from_function(known._value, derivative=slope)
    assert isinstance(a, PiecewisePolynomial)
    assert (a.m, a.kinks) == (2, kinks)
    # Second differences lose sixteen roundings or so of values of the size of f.
    assert a.poly == pytest.approx(poly, rel=1e-13, abs=1e-14)
    assert a.jumps == pytest.approx(jumps, rel=1e-13)
    assert a.second_moment == pytest.approx(known.second_moment, rel=1e-13)


@pytest.mark.parametrize(
    "f",
    [
        lambda v: np.maximum(v, v * v),  # the slope jumps as well
        lambda v: v * np.clip(v + 3.0, 0.0, 6.0) / 6.0,
        lambda v: v * v + np.exp(-(((v - 0.7) / 0.08) ** 2)),
        lambda v: v * v + 1e-10 * np.sin(v),
        lambda v: np.maximum(v, 0.0) ** 3,
        # Rounding of values on a piece of 1e-5 hides its second derivative.
        PiecewisePolynomial("narrow", 2, (0.2,), (0.7, 0.7 + 1e-5), (2.0, 1.0))._value,
    ],
)
def test_what_is_no_chain_of_parabolas_keeps_its_values(f):
    assert not isinstance(act.from_function(f), PiecewisePolynomial)


def test_the_slope_of_another_parabola_is_refused():
    with pytest.raises(ValueError, match="`derivative` must be that of f"):
        act.from_function(lambda v: v * v, derivative=lambda v: v)


UNDECLARED = {
    "elu": (torch.nn.ELU(), (0.0,)),
    "selu": (torch.nn.SELU(), (0.0,)),
    "hard-swish": (torch.nn.Hardswish(), (-3.0, 3.0)),
    "hard sigmoid": (torch.nn.Hardsigmoid(), (-3.0, 3.0)),
    "soft shrinkage": (torch.nn.Softshrink(), (-0.5, 0.5)),
    "softsign": (torch.nn.Softsign(), (0.0,)),
    "small": (lambda v: v + 0.1 * np.maximum(v - 0.3, 0.0), (0.3,)),
    "absolute": (np.abs, (0.0,)),
    "relu of a number": (lambda v: v if v > 0 else 0.1 * v, (0.0,)),
    "curved": (lambda v: np.tanh(np.abs(np.abs(v) - 1.0)), (-1.0, 0.0, 1.0)),
    "parabola": (lambda v: np.maximum(v - 0.3, 0.0) ** 2 + 0.5 * v, (0.3,)),
}


@pytest.mark.parametrize("name", UNDECLARED)
def test_undeclared_kinks_give_the_same_object(name):
    f, kinks = UNDECLARED[name]
    found, named = act.from_function(f), act.from_function(f, kinks=kinks)
    assert found.kinks == named.kinks == kinks
    assert type(found) is type(named)
    if isinstance(found, PiecewisePolynomial):
        assert found.jumps == pytest.approx(named.jumps, rel=1e-14)
    else:
        assert (found.found, named.found) == (kinks, ())
    what = ("second_moment", "mean", "mu", "derivative_second_moment")
    for key in what:
        # The same kinks, and the same rule up to the edges of wide panels.
        assert getattr(found, key) == pytest.approx(getattr(named, key), rel=2e-14)
    assert np.abs(found.hermite(20) - named.hermite(20)).max() < TOLERANCE
    assert found.quadrature_error < TOLERANCE


def test_a_known_function_with_undeclared_kinks():
    a = act.from_function(torch.nn.ELU())
    known = act.elu()
    for key in ("second_moment", "mean", "mu", "derivative_second_moment"):
        assert getattr(a, key) == pytest.approx(getattr(known, key), rel=TOLERANCE)


def test_single_precision_constants_of_a_library():
    # torch differentiates its hard sigmoid with 1/6 in single precision.
    a = act.from_function(torch.nn.Hardsigmoid())
    assert a.derivative_second_moment == pytest.approx(
        math.erf(3.0 / math.sqrt(2.0)) / 36.0, rel=1e-14
    )


# --- steep functions ------------------------------------------------------------------


def _absolute_moment(p):
    """E |Z|^p = 2^(p/2) Gamma((p + 1)/2) / sqrt(pi)."""
    return 2.0 ** (p / 2.0) * math.gamma((p + 1.0) / 2.0) / math.sqrt(math.pi)


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("power", [1 / 3, 0.5, 0.75, 1.5])
def test_powers(power, given):
    def slope(v):
        return power * np.sign(v) * np.abs(v) ** (power - 1.0)

    a = act.from_function(
        lambda v: np.abs(v) ** power, kinks=0.0, derivative=slope if given else None
    )
    assert a.second_moment == pytest.approx(_absolute_moment(2 * power), rel=TOLERANCE)
    assert a.mean == pytest.approx(_absolute_moment(power), rel=TOLERANCE)
    if power <= 0.5:
        assert a.derivative_second_moment == math.inf
    else:
        top = power**2 * _absolute_moment(2 * power - 2)
        # Interpolants are differentiated to 1e-12 of the slope's size.
        assert a.derivative_second_moment == pytest.approx(top, rel=1e-12)
    assert a.quadrature_error < 1e-13


def test_the_cube_root_has_an_infinite_slope():
    a = act.from_function(np.cbrt, kinks=(0,))
    assert a.derivative_second_moment == math.inf
    assert a.second_moment == pytest.approx(_absolute_moment(2 / 3), rel=TOLERANCE)
    assert a.dual_derivative([1.0, -1.0]).tolist() == [math.inf, math.inf]
    root = act.from_function(lambda v: np.sqrt(np.abs(v)), kinks=(0,))
    assert root.dual_derivative([1.0, -1.0]).tolist() == [math.inf, -math.inf]
    with pytest.raises(ValueError, match=r"not resolved near x = .*kinks"):
        act.from_function(np.cbrt)


@pytest.mark.parametrize(
    ("f", "kinks"),
    [
        (lambda v: np.cbrt(v - 1.0), (1,)),
        (lambda v: np.sqrt(np.maximum(v - 1.0, 0.0)), (1,)),
        (lambda v: np.sqrt(np.maximum(1.0 - v * v, 0.0)), (-1, 1)),
        (lambda v: np.cbrt(v) + np.maximum(v - 1.0, 0.0), (0, 1)),
    ],
)
def test_infinite_slopes_that_rounding_of_arguments_hides_are_refused(f, kinks):
    calls = []

    def counted(v):
        calls.append(np.size(v))
        return f(v)

    b = act.from_function(counted, kinks=kinks)
    assert b.derivative_second_moment == math.inf
    assert b.hermite(3).shape == (4,)
    before = sum(calls)
    for ratio in (1.0, 2.0):
        with pytest.raises(
            ValueError, match="must have no kink but at 0 where its slo"
        ):
            b.dual(0.5, var_x=ratio)
    # At once: the plane would take millions of values.
    assert sum(calls) - before < 400_000


def test_the_mean_of_a_shifted_cube_root():
    """E cbrt(Z - 1), against an integral of the distance from the kink."""
    b = act.from_function(lambda v: np.cbrt(v - 1.0), kinks=(1,))
    with mpmath.workdps(30):
        one = mpmath.mpf(1)
        above, below = (
            mpmath.quad(
                lambda w, sign=sign: 3 * w**3 * mpmath.npdf(one + sign * w**3),
                [0, 0.5, 1, 1.5, 2, 2.5, 3],
            )
            for sign in (1, -1)
        )
        second = mpmath.quad(
            lambda w: 3 * w**4 * (mpmath.npdf(one + w**3) + mpmath.npdf(one - w**3)),
            [0, 0.5, 1, 1.5, 2, 2.5, 3],
        )
        assert b.mean == pytest.approx(float(above - below), rel=TOLERANCE)
        assert b.second_moment == pytest.approx(float(second), rel=TOLERANCE)


def _even(a, b, rho):
    """E |X|^a |Y|^b by the hypergeometric series of a pair of absolute moments."""
    size = 2 ** ((a + b) / 2) * mpmath.gamma((a + 1) / 2) * mpmath.gamma((b + 1) / 2)
    return size / mpmath.pi * mpmath.hyp2f1(-a / 2, -b / 2, 0.5, rho**2)


def _odd(a, b, rho):
    """E sign(X) |X|^a sign(Y) |Y|^b."""
    size = 2 ** ((a + b) / 2 + 1) * mpmath.gamma(a / 2 + 1) * mpmath.gamma(b / 2 + 1)
    return rho * size / mpmath.pi * mpmath.hyp2f1((1 - a) / 2, (1 - b) / 2, 1.5, rho**2)


def _of_logarithm(moment, power):
    """The same with factors log |X|, log |Y|: the derivative in both powers."""

    def at(_, __, rho):
        return mpmath.diff(lambda a, b: moment(a, b, rho), (power, power), (1, 1))

    return at


def _log(v):
    return np.log(np.abs(np.where(v == 0.0, 1.0, v)))


STEEP = {
    "|x|^1.5": (lambda v: np.abs(v) ** 1.5, _even, 1.5),
    "|x|^2.5": (lambda v: np.abs(v) ** 2.5, _even, 2.5),
    "sign(x) |x|^1.2": (lambda v: np.sign(v) * np.abs(v) ** 1.2, _odd, 1.2),
    "x log |x|": (lambda v: v * _log(v), _of_logarithm(_odd, 1), 1.0),
    "x^2 log |x|": (lambda v: v * v * _log(v), _of_logarithm(_even, 2), 2.0),
    "|x|^0.75": (lambda v: np.abs(v) ** 0.75, _even, 0.75),
    "sqrt |x|": (lambda v: np.abs(v) ** 0.5, _even, 0.5),
    "cbrt": (np.cbrt, _odd, mpmath.mpf(1) / 3),
}


@pytest.mark.parametrize("name", [n for n in STEEP if "log" not in n])
@pytest.mark.parametrize("ratio", [1.5, 1e-2])
def test_powers_at_two_variances(name, ratio):
    f, moment, power = STEEP[name]
    a = act.from_function(f, kinks=0.0)
    for rho in (-0.7, 0.5, 0.999):
        with mpmath.workdps(30):
            # |c x|^p = c^p |x|^p.
            true = moment(power, power, mpmath.mpf(rho)) * mpmath.mpf(ratio) ** power
        size = a.second_moment * ratio ** float(power)
        found = a.dual(rho, var_y=ratio**2)
        assert abs(found - float(true)) <= TOLERANCE * size


@pytest.mark.parametrize("name", STEEP)
def test_duals_of_functions_of_infinite_curvature(name):
    f, moment, power = STEEP[name]
    a = act.from_function(f, kinks=0.0)
    rho = [-1.0, -1.0 + 1e-9, -0.99, -0.5, 0.0, 0.3, 0.9, 1.0 - 1e-9, 1.0]
    delta = [1e-12, 1e-6, 1e-3, 0.3]
    with mpmath.workdps(50):
        p = mpmath.mpf(power)
        whole = moment(p, p, mpmath.mpf(1))
        true = [moment(p, p, mpmath.mpf(r)) / whole for r in rho]
        apart = [1 - moment(p, p, 1 - mpmath.mpf(d)) / whole for d in delta]
        gap = a.dual(np.array(rho)) / float(whole) - np.array(true, dtype=float)
    assert np.abs(gap).max() < TOLERANCE
    # The interpolated slope is known to 1e-12 of its size.
    exact = np.array(apart, dtype=float)
    assert a.distance_map(delta) == pytest.approx(exact, rel=1e-13)


def test_a_function_steep_on_one_side_of_a_kink_that_is_not_zero():
    """Against Gauss rules graded towards the kink, in the values and not the slope."""
    c, power = 0.4, 1.5
    a = act.from_function(
        lambda v: np.maximum(v - c, 0.0) ** power + 0.3 * v, kinks=(c,)
    )
    rho = 0.6
    with mpmath.workdps(20):
        # E a(X) a(Y) = E of the square of E[a(X) | M], M the common part of variance rho.
        root = mpmath.sqrt(1 - mpmath.mpf(rho))

        def smooth(m):
            # E (m + root Z - c)_+^p by the parabolic cylinder function.
            u = (mpmath.mpf(c) - m) / root
            tail = mpmath.exp(-(u**2) / 4) * mpmath.pcfd(-power - 1, u)
            tail *= mpmath.gamma(power + 1) / mpmath.sqrt(2 * mpmath.pi)
            return root**power * tail + mpmath.mpf(3) / 10 * m

        spread = mpmath.sqrt(mpmath.mpf(rho))
        true = mpmath.quad(
            lambda z: smooth(spread * z) ** 2 * mpmath.npdf(z), range(-12, 13, 2)
        )
    assert a.dual(rho) == pytest.approx(float(true), abs=1e-12 * a.second_moment)


@pytest.mark.parametrize(("start", "power"), [(3.0, 0.75), (100.0, 0.55)])
def test_steep_and_too_inaccurate_is_refused(start, power):
    # Values of a function that is not zero at a kink have no digits left for E f'^2.
    def f(v):
        return start + np.abs(v) ** power

    with pytest.raises(ValueError, match=r"not be as steep .*the `derivative`"):
        act.from_function(f, kinks=0.0)
    top = power**2 * _absolute_moment(2.0 * power - 2.0)
    for tolerance in (1e-8, 1e-4):
        a = act.from_function(f, kinks=0.0, tolerance=tolerance)
        assert a.derivative_second_moment == pytest.approx(top, rel=tolerance)


@pytest.mark.parametrize(("kink", "power"), [(0.3, 0.55), (1.0, 0.75)])
def test_duals_that_rounding_next_to_a_steep_kink_hides_are_refused(kink, power):
    def f(v):
        return np.sign(v - kink) * np.abs(v - kink) ** power

    a = act.from_function(f, kinks=kink)
    with pytest.raises(
        ValueError, match=r"less steep near x = .* a larger `tolerance`"
    ):
        a.dual(0.5)
    wide = act.from_function(f, kinks=kink, tolerance=1e-4)
    # Their difference from the first three orders is far less.
    rho = 1e-3
    series = a.hermite(3) ** 2 @ rho ** np.arange(4.0)
    assert wide.dual(rho) == pytest.approx(series, abs=1e-8 * a.second_moment)


def _steep_and_wavy(power, waves, size):
    """s(x) = |x|^p + c sin(w x); its dual and the slope of that, of 40 digits.

    The power is even and the wave odd, so that the duals add up.
    """
    a = act.from_function(
        lambda v: np.abs(v) ** power + size * np.sin(waves * v), kinks=0
    )

    def true(rho):
        p, r, w = mpmath.mpf(power), mpmath.mpf(rho), mpmath.mpf(waves)
        c = 2**p * mpmath.gamma((1 + p) / 2) ** 2 / mpmath.pi
        own = mpmath.mpf(size) ** 2 * mpmath.exp(-w * w)
        dual = c * mpmath.hyp2f1(-p / 2, -p / 2, 0.5, r * r)
        slope = c * p * p * r * mpmath.hyp2f1(1 - p / 2, 1 - p / 2, 1.5, r * r)
        here = w * w * r
        return (
            float(dual + own * mpmath.sinh(here)),
            float(slope + own * w * w * mpmath.cosh(here)),
        )

    return a, true


@pytest.mark.parametrize(
    ("power", "waves", "size"),
    [(0.75, 3.0, 1.0), (0.75, 12.0, 0.01), (1.2, 12.0, 1.0), (0.55, 16.0, 1.0)],
)
def test_a_steep_function_with_waves(power, waves, size):
    """Panels next to the kink are joined no wider than the waves beside it bear."""
    a, true = _steep_and_wavy(power, waves, size)
    rho = np.array([-1.0, -1.0 + 1e-9, -0.9, 0.0, 0.6, 1.0 - 1e-9, 1.0])
    with mpmath.workdps(40):
        dual, slope = np.array([true(r) for r in rho]).T
    assert np.abs(a.dual(rho) - dual).max() < TOLERANCE * a.second_moment
    gap = np.abs(a.dual_derivative(rho) - slope)
    assert gap.max() < TOLERANCE * a.derivative_second_moment
    twice = (2.0 * a + 1.0).dual_derivative(rho)
    assert np.abs(twice - 4.0 * slope).max() < 4e-13 * a.derivative_second_moment


@pytest.mark.parametrize("power", [0.55, 0.7, 0.8])
@pytest.mark.parametrize("kink", [-0.3, 1e-5, 0.01, 0.3, 1.0, 5.0])
def test_a_steep_side_is_as_exact_as_the_tolerance(kink, power):
    """Where a larger tolerance ends the panels early, slopes next to a kink are chords'."""

    def energy(u):  # t = u^10 is the distance
        t = u**10
        return t ** (2 * power - 2) * mpmath.npdf(t + kink) * 10 * u**9

    with mpmath.workdps(20):
        exact = power**2 * mpmath.quad(energy, [0, 0.5, 0.8, 1, 1.1, 1.2, 1.3, 1.4])
    for tolerance in (1e-12, 1e-10, 1e-8, 1e-6, 1e-4):
        a = act.from_function(
            lambda x: np.maximum(x - kink, 0.0) ** power,
            kinks=kink,
            tolerance=tolerance,
        )
        assert a.derivative_second_moment == pytest.approx(float(exact), rel=tolerance)


@pytest.mark.parametrize(("kink", "power"), [(0.3, 0.55), (-0.7, 0.75)])
@pytest.mark.parametrize("var", [0.5, 7.3])
def test_a_steep_kink_at_a_variance_to_which_it_is_rounded(kink, power, var):
    a = act.from_function(
        lambda x: np.sign(x - kink) * np.abs(x - kink) ** power, kinks=kink
    )
    with mpmath.workdps(20):
        root = mpmath.sqrt(var)

        def energy(u):  # u^10 is the distance
            t = u**10
            density = mpmath.npdf((kink + t) / root) + mpmath.npdf((kink - t) / root)
            return t ** (2 * power - 2) * root * density * 10 * u**9

        ends = [0, 0.5, 0.8, 1, 1.1, 1.2, 1.3, 1.4, 1.5]
        exact = power**2 * mpmath.quad(energy, ends)
    found = a.scaled(var).derivative_second_moment
    assert found == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("power", [0.55, 0.6, 0.8])
def test_a_steep_function_beside_a_smooth_one(power):
    # Their product is between the squares, and falls as slowly as they rise.
    a = act.from_function(
        lambda x: np.abs(x) ** power + 0.32 * scipy.special.erf(x), kinks=0
    )
    # The one is even and the other odd: E erf'^2 = 4 / (pi sqrt 5).
    exact = power**2 * _absolute_moment(2.0 * power - 2.0)
    exact += 0.32**2 * 4.0 / (math.pi * math.sqrt(5.0))
    assert a.derivative_second_moment == pytest.approx(exact, rel=1e-12)


def test_slopes_diverge_however_small_the_steep_part_is():
    # s'(x) s'(-x) is positive down to x = 1e-7, and then minus infinity.
    a, _ = _steep_and_wavy(0.4, 5.0, 1000.0)
    assert a.dual_derivative([1.0, -1.0]).tolist() == [math.inf, -math.inf]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_slopes_at_the_ends_of_two_variances(sign):
    # s'(c x) = c^(p - 1) s'(x) for the power alone.
    a = act.from_function(lambda v: np.abs(v) ** 0.6, kinks=0)
    whole = sign * 2.0**0.3 * a.derivative_second_moment
    assert a.dual_derivative(sign, var_y=2.0) == pytest.approx(whole, rel=TOLERANCE)


def test_the_slope_of_lengths_is_right_or_refused():
    # E e^(2 c q Z^2) = (1 - 4 c q)^(-1/2); c = 0.2 leaves q < 1.25.
    a = act.from_function(lambda v: np.exp(0.2 * v * v))
    for q in (1.0, 1.15):
        expected = 0.4 * (1.0 - 0.8 * q) ** -1.5
        assert a.length_map_derivative(q) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="grows too fast"):
        a.length_map_derivative(1.2)


# --- the error that is promised -------------------------------------------------------


def _dual(a, b, rho):
    """The largest difference of two duals over E s^2, from Hermite coefficients."""
    powers = rho[:, None] ** np.arange(201)
    gap = powers @ (a.hermite(200) ** 2 - b.hermite(200) ** 2)
    return float(np.abs(gap).max()) / b.second_moment


def _grain(v):
    return np.modf(np.sin(v * 12989.8) * 43758.5453)[0]


@pytest.mark.parametrize("level", [1e-7, 1e-9, 1e-10])
def test_the_error_of_inaccurate_values_is_stated(level):
    """Noise of a known size on a function of known dual."""
    a = act.from_function(lambda v: np.tanh(v) + level * _grain(v), tolerance=1e-2)
    rho = np.linspace(-0.9, 0.9, 19)
    # By the values, and by the derivative as engines take it: its coefficients b_k are
    # sqrt(k + 1) a_{k+1}.
    slope = a.derivative.hermite(199) ** 2 / np.arange(1, 201)
    by_slope = (rho[:, None] ** np.arange(1, 201)) @ (
        slope - act.tanh.hermite(200)[1:] ** 2
    )
    true = max(
        _dual(a, act.tanh, rho),
        abs(a.second_moment / act.tanh.second_moment - 1.0),
        float(np.abs(by_slope).max()) / act.tanh.second_moment,
    )
    assert true / 3.0 < a.quadrature_error < 10.0 * true
    with pytest.raises(ValueError, match=r"from_function: `(f|derivative)` must"):
        act.from_function(a.f, tolerance=0.05 * true)


def test_single_precision_needs_a_tolerance():
    def f(v):
        return np.tanh(v.astype(np.float32)).astype(float)

    with pytest.raises(ValueError, match=r"do not resolve it.*larger `tolerance`"):
        act.from_function(f)
    a = act.from_function(f, tolerance=1e-5)
    assert 1e-10 < a.quadrature_error < 1e-6
    assert a.second_moment == pytest.approx(act.tanh.second_moment, rel=1e-7)


def test_a_function_close_to_affine_says_what_it_cannot_know():
    for size in (1e-13, 1e-6):
        a = act.from_function(lambda v, e=size: v + e * (v * v - 1.0))
        assert a.second_moment == pytest.approx(1.0 + 2.0 * size**2, rel=TOLERANCE)
        for key in ("mu", "nu"):
            with pytest.raises(ValueError, match=r"further from affine .*`tolerance`"):
                getattr(a, key)
    for size in (1e-4, 1e-2):
        a = act.from_function(lambda v, e=size: v + e * (v * v - 1.0))
        share = 2.0 * size**2
        assert a.mu == pytest.approx(share / (1.0 + share), rel=1e-12)
    rough = act.from_function(lambda v: v + 1e-6 * (v * v - 1.0), tolerance=1e-9)
    assert rough.mu == pytest.approx(2e-12 / (1.0 + 2e-12), rel=1e-9)


def test_a_function_close_to_a_constant_says_what_it_cannot_know():
    a = act.from_function(lambda v: 1.0 + 1e-6 * np.tanh(v))
    with pytest.raises(ValueError, match=r"vary more beside its mean.*`tolerance`"):
        a.dual(0.5)
    flat = act.from_function(np.exp, derivative=np.exp).scaled(1e-300)
    with pytest.raises(ValueError, match=r"vary more beside its mean.*error of inf"):
        flat.dual(0.5)
    rough = act.from_function(lambda v: 1.0 + 1e-6 * np.tanh(v), tolerance=1e-7)
    share = act.tanh.dual(0.5) / act.tanh.variance
    assert rough.normalized().dual(0.5) == pytest.approx(share, rel=1e-7)


def test_a_derivative_of_another_function_is_refused():
    with pytest.raises(ValueError, match="`derivative` must be that of f"):
        act.from_function(np.tanh, derivative=np.cos)
    with pytest.raises(ValueError, match="`derivative` must be that of f"):
        act.from_function(np.abs, kinks=0.0, derivative=lambda v: 2.0 * np.sign(v))


# --- any variance ---------------------------------------------------------------------

VARIANCES = 10.0 ** np.arange(-8.0, 9.0, 2.0)


@pytest.mark.parametrize("var", VARIANCES)
@pytest.mark.parametrize("given", [True, False])
def test_the_error_function_at_any_variance(var, given):
    slope = (lambda v: 2.0 / math.sqrt(math.pi) * np.exp(-v * v)) if given else None
    a = act.from_function(scipy.special.erf, derivative=slope)
    b = a.scaled(var)
    with mpmath.workdps(50):
        v = mpmath.mpf(var)
        kappa = 2 * v / (1 + 2 * v)
        square = float(2 / mpmath.pi * mpmath.asin(kappa))
        top = float(4 * v / mpmath.pi / mpmath.sqrt(1 + 4 * v))
        # d/dv of the first line.
        rate = float(4 / mpmath.pi / mpmath.sqrt(1 - kappa**2) / (1 + 2 * v) ** 2)
    assert a.length_map(var) == pytest.approx(square, rel=TOLERANCE)
    assert b.derivative_second_moment == pytest.approx(top, rel=1e-12)
    assert a.length_map_derivative(var) == pytest.approx(rate, rel=1e-12)
    assert b.mean == 0.0
    known = act.erf.hermite(40, var=var)
    assert np.abs(a.hermite(40, var=var) - known).max() < 1e-13 * np.abs(known).max()
    assert b.quadrature_error < 1e-12


@pytest.mark.parametrize("var", [1e-8, 0.01, 100.0, 1e4, 1e8])
def test_kinked_functions_at_any_variance(var):
    elu = act.from_function(torch.nn.ELU())
    with mpmath.workdps(60):
        v = mpmath.mpf(var)
        s = mpmath.sqrt(v)
        # v/2 above zero, E (e^x - 1)^2 below.
        below = mpmath.exp(2 * v) * mpmath.ncdf(-2 * s) + mpmath.mpf(1) / 2
        below -= 2 * mpmath.exp(v / 2) * mpmath.ncdf(-s)
        expected = float(v / 2 + below)
    assert elu.length_map(var) == pytest.approx(expected, rel=TOLERANCE)
    bent = act.from_function(lambda v: np.maximum(v, 0.0) ** 2)
    assert bent.length_map(var) == pytest.approx(1.5 * var**2, rel=TOLERANCE)
    assert bent.length_map_derivative(var) == pytest.approx(3.0 * var, rel=1e-12)


def test_a_kink_at_zero_next_to_which_f_rounds_more_than_its_values():
    # 1 - |x - 1| of x near zero is as exact as 1 is.
    hat = act.from_function(lambda x: np.maximum(1.0 - np.abs(x - 1.0), 0.0) ** 2)
    assert hat.kinks == (0.0, 1.0, 2.0)
    with mpmath.workdps(30):
        exact = mpmath.quad(
            lambda x: (1 - abs(x - 1)) ** 4 * mpmath.npdf(x, 0, 10), [0, 1, 2]
        )
    x = np.array([[10.0, 0.0], [6.0, 8.0]])
    assert kernels.nngp(x, hat, 1)[0, 0] == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(
    ("var_x", "var_y"),
    [(400.0, 400.0), (1e4, 1e4), (1e4, 1.0), (1e6, 1e6), (1e6, 3e5), (1e8, 1e8)],
)
def test_hundreds_of_oscillations(var_x, var_y):
    """Against E sin X sin Y = exp(-(v + w)/2) sinh c of a covariance c."""
    a = act.from_function(lambda v: np.sin(v) + v * v)
    with mpmath.workdps(40):
        both = mpmath.mpf(var_x) * mpmath.mpf(var_y)
        damped = mpmath.exp(-(mpmath.mpf(var_x) + mpmath.mpf(var_y)) / 2)
        for rho in (-1.0, -0.999, 0.0, 0.3, 1.0 - 1e-5, 1.0):
            c = mpmath.mpf(rho) * mpmath.sqrt(both)
            value = both + 2 * c**2 + damped * mpmath.sinh(c)
            slope = 4 * c + damped * mpmath.cosh(c)
            top = float(3 * both), float(4 * mpmath.sqrt(both))
            got = a.dual(rho, var_x=var_x, var_y=var_y)
            assert abs(got - float(value)) < 1e-12 * top[0]
            got = a.dual_derivative(rho, var_x=var_x, var_y=var_y)
            got /= math.sqrt(var_x * var_y)
            assert abs(got - float(slope)) < 1e-12 * top[1]


def test_frequencies_that_evenly_spaced_values_miss_are_refused():
    """A step of width 1e-7 among hundreds of waves needs 2^20 values of a deviation."""
    a = act.from_function(lambda v: np.sin(500.0 * v) + np.tanh(1e7 * v))
    with pytest.raises(ValueError, match=r"evenly spaced values resolve"):
        a.dual(0.3)


def test_transforms_are_held_to_energies_and_to_values_between():
    def wave(f, width):
        return duals.Broken(
            f, (), lambda reach: np.arange(-reach, reach + width, width)
        )

    def f(x):
        return np.sin(40.0 * x)

    # E sin(40 Z)^2, and a dual of slopes 1600 e^-1600 cosh(1600 rho).
    energy = 0.5 * -math.expm1(-3200.0)
    good = wave(f, 0.05)
    near, far = duals.spectra(good, good, (energy, energy), 1e-12)
    t = np.array([0.0, 1e-3, 0.03, 0.1, 1.0])
    true = 800.0 * np.exp(-3200.0 * np.sin(0.5 * t) ** 2)
    for side in (near, far):
        assert np.abs(side(t) - true).max() < 1e-12 * 800.0
    assert duals.spectra(good, good, (1.001 * energy,) * 2, 1e-12) is None
    # Panels of many waves: more values are taken until those between are right.
    coarse = wave(f, 1.0)
    near, _ = duals.spectra(coarse, coarse, (energy, energy), 1e-12)
    assert np.abs(near(t) - true).max() < 1e-12 * 800.0


def test_a_narrow_step_under_a_wide_gaussian():
    a = act.from_function(np.tanh)
    with mpmath.workdps(25):
        v = mpmath.mpf(10) ** 4
        cuts = [0, 1, 2, 4, 8, 16, 32, *(100 * 2**k for k in range(6))]
        lost = mpmath.quad(
            lambda u: mpmath.sech(u) ** 2 * mpmath.npdf(u, 0, mpmath.sqrt(v)), cuts
        )
    assert a.length_map(1e4) == pytest.approx(float(1 - 2 * lost), rel=TOLERANCE)


def test_variances_that_f_does_not_allow():
    a = act.from_function(lambda v: np.exp(v * v / 8.0))
    # E exp(v Z^2 / 4) = (1 - v/2)^(-1/2).
    assert a.length_map(1.5) == pytest.approx(2.0, rel=TOLERANCE)
    with pytest.raises(ValueError, match=r"square integrable.*at variance 2\.1"):
        a.length_map(2.1)
    softplus = act.from_function(torch.nn.Softplus())
    # It jumps by 2e-9 at 20, where it becomes the identity.
    with pytest.raises(ValueError, match=r"jumps of f at variance 100.*x = 20"):
        softplus.length_map(100.0)


# --- derivatives of interpolants ------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "df"),
    [
        (np.tanh, lambda v: 1.0 / np.cosh(v) ** 2),
        (
            lambda v: np.where(v > 0.3, v - 0.3, np.expm1(np.minimum(v - 0.3, 0.0))),
            lambda v: np.exp(np.minimum(v - 0.3, 0.0)),
        ),
        (
            lambda v: v * np.clip(v + 3.0, 0.0, 6.0) / 6.0,
            lambda v: np.where(v > 3, 1.0, np.where(v < -3, 0.0, v / 3 + 0.5)),
        ),
        (
            lambda v: np.sin(3.0 * v) + np.abs(v - 0.2) * np.exp(v / 4.0),
            lambda v: (
                3.0 * np.cos(3.0 * v)
                + np.exp(v / 4.0) * (np.sign(v - 0.2) + 0.25 * np.abs(v - 0.2))
            ),
        ),
    ],
)
def test_derivatives_are_good_next_to_kinks(f, df):
    a = act.from_function(f)
    near = np.concatenate(
        [
            c + np.array([-1.0, 1.0]) * h
            for c in a.kinks or (0.0,)
            for h in (1e-12, 1e-9, 1e-6, 1e-3, 0.1)
        ]
    )
    x = np.concatenate([near, np.linspace(-6.0, 6.0, 301) + 1e-3])
    size = np.abs(df(np.linspace(-6.0, 6.0, 1001))).max()
    assert np.abs(a.derivative(x) - df(x)).max() < 1e-12 * size
    small = a.scaled(1e-4)
    assert np.abs(small.derivative(x) - 0.01 * df(0.01 * x)).max() < 1e-14 * size


@pytest.mark.parametrize(
    ("f", "df"),
    [
        (lambda v: v**9, lambda v: 9.0 * v**8),
        (lambda v: np.sin(v) ** 2, lambda v: np.sin(2.0 * v)),
        (lambda v: v * np.abs(v) + v**4, lambda v: 2.0 * np.abs(v) + 4.0 * v**3),
    ],
)
def test_derivatives_keep_their_digits_where_the_function_vanishes(f, df):
    x = np.concatenate([10.0 ** -np.arange(12.0), -(0.3 ** np.arange(20.0))])
    found = act.from_function(f).derivative(x)
    # Rounding at the far end of a panel, where v^9 is 2^9 times as large, grows by the
    # square of 20 nodes: 2^9 / 9 * 400 * 2e-16.
    assert np.abs(found / df(x) - 1.0).max() < 5e-12


def test_kernels_of_a_power_are_powers_of_the_lengths():
    # Of degree 9: lengths of 1 and 0.01 multiply both kernels by 1e-18.
    a, x = act.from_function(lambda v: v**9), np.array([[1.0, 0.0], [0.6, 0.8]])
    whole, short = (kernels.nngp_ntk(x * [[1.0], [r]], a, 1) for r in (1.0, 0.01))
    for found, at_one in zip(short, whole, strict=True):
        assert found[0, 1] == pytest.approx(1e-18 * at_one[0, 1], rel=1e-12)


def test_the_second_derivative_of_an_interpolant():
    a = act.from_function(np.sin).derivative.derivative
    x = np.linspace(-4.0, 4.0, 33)
    # Twice the factor of one differentiation, about the square of NODES over a width.
    assert np.abs(a(x) + np.sin(x)).max() < 1e-10


@pytest.mark.parametrize("x", [10.0, 100.0, 1000.0])
def test_the_derivative_of_a_quick_wave_far_out(x):
    # Panels are as many as waves; beyond some deviations they were left unresolved.
    a = act.from_function(lambda x: np.sin(5.0 * x))
    at = np.linspace(0.5 * x, x, 101)
    # 1e-13 over the width of a panel, and the rounding of 5 x.
    error = 1e-12 + 1e-13 * 5.0 * x
    assert np.abs(a.derivative(at) - 5.0 * np.cos(5.0 * at)).max() < error
    assert (2.0 * a + 1.0).derivative(x) == pytest.approx(2.0 * a.derivative(x))


# --- where panels end -----------------------------------------------------------------


@pytest.mark.parametrize("var", [1e-6, 1.0, 300.0])
@pytest.mark.parametrize("slope", [False, True])
def test_edges(var, slope):
    a = act.from_function(lambda v: np.tanh(v) + np.maximum(v - 0.3, 0.0) ** 2)
    b = a.scaled(var) if var != 1.0 else a
    b = b.derivative if slope else b
    for reach in (3.0, 9.0, 40.0):
        edges = b._edges(reach)
        assert np.all(np.diff(edges) > 0.0)
        assert (edges[0], edges[-1]) == (-reach, reach)
        assert {c for c in b.kinks if abs(c) < reach} <= set(edges.tolist())
        # Gauss-Legendre rules of 10 and 20 nodes agree on every panel.
        low, half = edges[:-1, None], 0.5 * np.diff(edges)[:, None]
        both = []
        for n in (10, 20):
            y, w = np.polynomial.legendre.leggauss(n)
            values = b._value((low + half * (1.0 + y)).ravel()).reshape(-1, n)
            both.append(((half * w) * values).sum(axis=1))
        size = np.abs(b._value(np.linspace(-reach, reach, 999))).max() * reach
        assert np.abs(both[0] - both[1]).max() < 1e-13 * size


# --- arguments ------------------------------------------------------------------------


class _Unhashable:
    __hash__ = None

    def __call__(self, v):
        return np.tanh(v)


def test_what_is_accepted():
    for kinks in (0.0, np.float64(0.0), np.array(0.0), [0], {0.0}, (c for c in (0.0,))):
        assert act.from_function(np.abs, kinks=kinks).kinks == (0.0,)
    assert act.from_function(_Unhashable()).dual(0.3) == act.from_function(
        np.tanh
    ).dual(0.3)
    assert act.from_function(lambda v: 2.0).second_moment == 4.0
    overwritten = act.from_function(lambda v: np.tanh(v, out=v))
    assert overwritten.second_moment == act.from_function(np.tanh).second_moment


@pytest.mark.parametrize(
    "kinks",
    [
        *("a", b"1", ["x"], ["0.5"], [1j], [[0.0]], [[0.0], [1.0, 2.0]], None, [None]),
        *([True], object(), math.nan, [math.inf]),
        np.ma.masked_array([0.0, 1.0], [True, False]),
    ],
)
def test_bad_kinks(kinks):
    with pytest.raises(ValueError, match=r"^from_function: `kinks` must be"):
        act.from_function(np.abs, kinks=kinks)


@pytest.mark.parametrize("name", [3, "", " ", b"x", ["a"]])
def test_bad_names(name):
    with pytest.raises(ValueError, match=r"^from_function: `name` must be a string"):
        act.from_function(np.abs, name=name)


@pytest.mark.parametrize("tolerance", [0, -1, 1.0, "x", None, math.nan, [1e-9, 1e-8]])
def test_bad_tolerances(tolerance):
    with pytest.raises(ValueError, match=r"^from_function: `tolerance` must"):
        act.from_function(np.abs, tolerance=tolerance)


@pytest.mark.parametrize(
    "f",
    [
        *(lambda v: v + 1j, lambda v: v[:1], lambda v: np.stack([v, v])),
        *(lambda v: "a", lambda v: None, lambda v: [v], lambda v: 1 / 0),
        *(lambda v, w: v, lambda v: np.full(v.shape, "a"), lambda v: v.astype(object)),
        *(lambda v: np.ma.masked_less(v, 0.0), lambda v: np.log(v)),
        *(torch.nn.Linear(1, 1), sympy.I * x),
    ],
)
def test_bad_values(f):
    with pytest.raises(ValueError, match=r"^from_function: `f` must"):
        act.from_function(f)


@pytest.mark.parametrize("f", [lambda v: v + 1j, lambda v: None])
def test_bad_values_of_a_derivative(f):
    with pytest.raises(ValueError, match=r"^from_function: `derivative` must"):
        act.from_function(np.tanh, derivative=f)
    with pytest.raises(TypeError, match=r"^from_function: `derivative` must"):
        act.from_function(np.tanh, derivative=3)


def test_expressions_with_kinks_that_cannot_be_listed():
    a = act.from_function(sympy.Abs(sympy.sin(x)))
    assert 0.0 in a.kinks
    assert len(a.kinks) == 25
    with pytest.raises(ValueError, match="more than 32 were found"):
        act.from_function(sympy.floor(x))


@pytest.mark.parametrize("kinks", [(0.0, 1e-300), (0.0, 5e-324), (-1e-300,)])
def test_kinks_whose_gap_has_no_square_are_refused(kinks):
    with pytest.raises(ValueError, match=r"`kinks` must be the same or 1e-150 apart"):
        act.from_function(lambda x: np.tanh(x) + np.abs(x), kinks=kinks)


def test_kinks_with_a_gap_below_rounding_are_one(error):
    apart = act.from_function(lambda x: np.tanh(x) + np.abs(x), kinks=(0.0, 1e-30))
    one = act.from_function(lambda x: np.tanh(x) + np.abs(x), kinks=0.0)
    assert error(apart.dual(0.5), one.dual(0.5)) < 1e-14


def test_rounding_that_is_accepted_is_not_halved():
    # sin x - x loses all but a few digits near zero; before, 30 s and 400 panels.
    asked = []

    def slope(x):
        asked.append(x.size)
        return np.cos(x) - 1.0

    f = act.from_function(lambda x: np.sin(x) - x, derivative=slope, tolerance=0.01)
    x, y = 1e-4, 0.7e-4
    cubes = (9 * 0.5 + 6 * 0.5**3) * (x * y) ** 1.5 / 36  # of -x^3 / 6
    assert f.dual(0.5, var_x=x, var_y=y) == pytest.approx(cubes, rel=1e-4)
    assert sum(asked) < 1e7


def test_what_varies_by_rounding_alone_is_refused_before_it_is_resolved(monkeypatch):
    a = act.from_function(lambda x: 1.7e-19 * np.tanh(2.32 * x - 19.9))
    assert a.dual(0.3, var_x=4.0, var_y=9.0) == pytest.approx(1.7e-19**2, rel=0.01)
    # Of -1 up to 2e-17 at the first, and nothing is left that panels could resolve: they
    # were halved for minutes.
    monkeypatch.setattr(duals, "Plane", None)
    with pytest.raises(ValueError, match=r"vary more beside its mean.*error of"):
        a.dual(0.3, var_x=0.1, var_y=0.2)
