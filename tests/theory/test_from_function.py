"""Any callable as an activation: what it was made of must not show in the numbers."""

import math
import subprocess
import sys

import numpy as np
import pytest
import scipy.special
import sympy
import torch

from theory import activations as act
from theory import kernels
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
    (lambda v: np.maximum(v - 0.3, 0.0) ** 0.25, r"smooth between its `kinks`"),
    (lambda v: (v > 0.123).astype(float), r"smooth between its `kinks`"),
    (_bump, r"square integrable|finite on the real line"),
    (lambda v: np.exp(0.26 * v * v), r"square integrable"),
    (lambda v: np.where(v > 3, np.nan, v), r"finite on the real line, got nan"),
    (lambda v: np.where(np.abs(v) > 5, np.inf, v), r"finite on the real line, got inf"),
]


@pytest.mark.parametrize(("f", "need"), REFUSED)
def test_refused(f, need):
    with pytest.raises(
        ValueError, match=rf"from_function: `f` must be .*({need})|{need}"
    ):
        act.from_function(f)


def test_a_jump_is_accepted_with_its_kink():
    a = act.from_function(lambda v: (v > 0.123).astype(float), kinks=[0.123])
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
def test_kinks_anywhere_leave_thirteen_digits(name: str, given: bool) -> None:
    """Against the closed form of the same piecewise parabola."""
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
