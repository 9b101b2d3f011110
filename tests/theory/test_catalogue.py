"""Every activation of the catalogue: it has its twins, and every method answers.

The twins are written by hand elsewhere, because a prediction shares no code with what it
is compared with; here the names are compared both ways.
"""

import copy
import inspect
import math
import pickle
import re

import mpmath
import numpy as np
import pytest
import torch

from empirical.conditioning import activations as measured
from theory import activations as act
from verify import integrals

NAMES = sorted(act.CATALOGUE)
JUMPS = {"step", "sign"}

# --- twins ----------------------------------------------------------------------------

BY_RULE = {"normrelu", "hermite(2)", "hermite(3)", "hermite(4)"}
"""Families that `integrals.law` reads from the name."""

FAMILIES = {"leaky_relu(0.1)", "leaky_relu(0.2)"}
"""Further members of a factory of the catalogue."""


def test_the_definitions_of_the_ledger_are_those_of_the_catalogue():
    tables = {*integrals.SMOOTH, *integrals.PIECES, *integrals.ODD}
    assert tables - FAMILIES == set(NAMES) - BY_RULE
    with pytest.raises(ValueError, match="no function is called 'swish'"):
        integrals.law("swish")


def _measured_name(name):
    if name == "normrelu":
        return f"relu{act.CATALOGUE[name].kinks[0]!r}"
    return name.replace("(", "").replace(")", "") if name in BY_RULE else name


def test_the_networks_know_the_names_of_the_catalogue():
    # Besides: a steeper tanh, and NormReLU by its kink.
    known = set(measured.NAMES) - {"tanh3", "relu<kink>"}
    assert known == {_measured_name(name) for name in NAMES if name != "normrelu"}


@pytest.mark.parametrize("name", NAMES)
def test_networks_compute_the_same_function(name):
    # Away from the kink of step, where torch has its own value; each formula rounds a
    # few times: 4 ulp of the largest term, up to 65 for h_4.
    x = np.array([-5.5, -2.9, -1.0, -0.3, 1e-3, 0.7, 1.0, 3.1, 7.5])
    twin = measured.named(_measured_name(name))
    found = twin(torch.from_numpy(x)).numpy()
    if not name.startswith("hermite"):  # of mean zero and energy one
        found = found * twin.deviation + twin.mean
    expected = act.CATALOGUE[name](x)
    if name == "normrelu":
        mean, deviation = act.CATALOGUE[name](0.0), act.CATALOGUE[name].jumps[0]
        expected, found = expected - mean, deviation * (found - found[0])
        found += expected[0]
    slack = 1e-15 * (np.abs(expected) + 70.0 * name.startswith("hermite") + 1.0) * 4
    # SELU's constants have one more digit in torch.
    assert np.all(np.abs(found - expected) <= slack)


# --- names ----------------------------------------------------------------------------


def test_names_are_attributes():
    assert set(act.NAMES) <= set(dir(act))
    assert all(getattr(act, name) in act.CATALOGUE.values() for name in act.NAMES)
    assert act.gaussian_bump is act.CATALOGUE["gaussian"]
    with pytest.raises(AttributeError, match="no attribute 'swishy'"):
        _ = act.swishy


def test_one_definition_is_all_that_is_needed():
    a = act.Smooth(
        act.Definition(
            name="bent_identity",
            f=lambda x: x + 0.5 * (np.sqrt(x * x + 1.0) - 1.0),
            df=lambda x: 1.0 + 0.5 * x / np.sqrt(x * x + 1.0),
            precise=lambda mp, x: x + (mp.sqrt(x * x + 1) - 1) / 2,
            strip=1.0,
        )
    )
    _answers(a)
    with mpmath.workdps(40):
        # E (x + g)^2 = 1 + E g^2 for an even g.
        g = mpmath.quad(
            lambda x: (mpmath.sqrt(x * x + 1) - 1) ** 2 * mpmath.npdf(x) / 2,
            mpmath.linspace(0, 18, 37),
        )
        assert a.second_moment == pytest.approx(float(1 + g), rel=1e-14, abs=0.0)
        exact = mpmath.quad(
            lambda x: (
                (mpmath.sqrt(x * x + 1) - 1)
                * mpmath.hermite(20, x / mpmath.sqrt(2))
                * mpmath.npdf(x)
            ),
            mpmath.linspace(0, 18, 37),
        )
        exact /= 2**10 * mpmath.sqrt(mpmath.factorial(20))
    assert a.hermite(20)[20] == pytest.approx(float(exact), abs=1e-16)


# --- every method ---------------------------------------------------------------------

PROPERTIES = {"mean", "second_moment", "variance", "derivative_second_moment"}
SHARES = {"mu", "nu"}
CALLS = {
    "hermite": (200,),
    "scaled": (2.0,),
    "normalized": (),
    "dual": ([-1.0, 0.3, 1.0],),
    "dual_derivative": ([-0.9, 0.3],),
    "distance_map": ([0.0, 1e-9, 2.0],),
    "fixed_point": (),
    "length_map": ([0.5, 2.0],),
    "length_map_derivative": ([0.5, 2.0],),
}
ATTRIBUTES = {
    "name",
    "kinks",
    "is_normalized",
    "parity",
    "degree",
    "rounded",
    "tolerance",
}


def test_the_list_of_methods_is_whole():
    public = {n for n, _ in inspect.getmembers(act.Activation) if not n.startswith("_")}
    known = {*PROPERTIES, *SHARES, *CALLS, *ATTRIBUTES, "derivative"}
    assert public | ATTRIBUTES == known


def _numbers(value):
    if isinstance(value, act.Activation):
        value = value(np.array([-0.7, 0.2]))
    return np.asarray(value, dtype=np.float64)


def _ask(a, what, arguments=None):
    """Answer of a property or a method, or the message of a ValueError."""
    try:
        found = getattr(a, what)
        return _numbers(found if arguments is None else found(*arguments))
    except ValueError as error:
        return str(error)


def _answers(a):
    """Assert that everything of an activation answers; return what refused."""
    refused = {}
    assert isinstance(a.name, str)
    assert repr(a)
    assert hash(a) == hash(a)
    for what in PROPERTIES | SHARES:
        refused[what] = _ask(a, what)
    for what, arguments in CALLS.items():
        refused[what] = _ask(a, what, arguments)
    label = a.name.removeprefix("normalized ").partition("[")[0].partition("'")[0]
    for what, value in refused.items():
        if isinstance(value, str):
            assert label in value, what
        else:
            infinite = what == "derivative_second_moment"
            assert np.all(np.isfinite(value) | (infinite & (value > 0.0))), what
    return {k: v for k, v in refused.items() if isinstance(v, str)}


@pytest.mark.parametrize("name", NAMES)
def test_every_method_answers(name):
    refused = _answers(act.CATALOGUE[name])
    allowed = {"mu"} if name == "identity" else set()
    assert set(refused) == allowed


@pytest.mark.parametrize("name", NAMES)
def test_every_method_answers_after_another(name):
    # The slope of a step is none, of the exponential units it jumps, and smooth slopes
    # have no further one: messages then, never a KeyError.
    a = act.CATALOGUE[name]
    scaled, normal = a.scaled(3.0), a.normalized()
    for other in (scaled, normal, normal.scaled(0.5), scaled.normalized()):
        assert set(_answers(other)) <= {"mu"}
    if name in JUMPS:
        with pytest.raises(ValueError, match="a function with a jump"):
            a.derivative(0.5)
        return
    slope = a.derivative
    for other in (slope, slope.scaled(2.0)):
        _answers(other)
    refused = _answers(slope)
    assert not set(refused) & {"mean", "second_moment", "variance", "hermite", "scaled"}
    if isinstance(slope, act.Smooth):
        with pytest.raises(ValueError, match=r"'\.derivative: not available"):
            _ = slope.derivative


@pytest.mark.parametrize("name", sorted(set(NAMES) - JUMPS))
def test_coefficients_of_the_slope_are_those_of_the_function(name):
    # E s'(Z) h_k(Z) = sqrt(k + 1) a_{k+1}, by parts; the slope's quadrature has 1e-16 of
    # its energy.
    a = act.CATALOGUE[name]
    k = np.arange(61)
    expected = np.sqrt(k + 1.0) * a.hermite(61)[1:]
    slack = 1e-14 * math.sqrt(a.derivative_second_moment)
    assert np.abs(a.derivative.hermite(60) - expected).max() <= slack


@pytest.mark.parametrize("name", act.CATALOGUE)
def test_pickles_and_copies_are_the_same_activation(name):
    # Other processes take them; before, those of functions without a name did not.
    a = act.CATALOGUE[name]
    for each in (a, a.scaled(2.0), a.normalized()):
        for other in (pickle.loads(pickle.dumps(each)), copy.deepcopy(each)):
            assert other == each
            assert hash(other) == hash(each)


@pytest.mark.parametrize("name", act.CATALOGUE)
def test_the_representation_makes_it_again(name):
    # Before, functions at addresses: <function <lambda> at 0x7f...>, and every default.
    names = {n: getattr(act, n) for n in ("Affine", "CATALOGUE", "HermiteMixture")}
    names |= {n: getattr(act, n) for n in ("PiecewisePolynomial", "Smooth")}
    names |= {"ExponentialUnit": type(act.selu), "activations": act}
    a = act.CATALOGUE[name]
    for each in (a, a.scaled(2.0), a.normalized(), 2 * a + 1, np.float64(0.3) + -a):
        assert eval(repr(each), names) == each


@pytest.mark.parametrize("name", act.NAMES)
def test_a_named_activation_is_shown_by_its_name(name):
    assert repr(getattr(act, name)) == f"activations.{name}"
    normalized = getattr(act, name).normalized()
    if isinstance(normalized, act.Affine):
        assert repr(normalized) == f"activations.{name}.normalized()"


def test_numbers_scale_and_shift_activations():
    x = np.linspace(-2.0, 2.0, 5)
    a = np.float64(3.0) * (act.gelu - 0.25) + 1
    np.testing.assert_allclose(a(x), 3.0 * act.gelu(x) + 0.25, rtol=1e-15)
    assert a == act.Affine(act.gelu, 3.0, 0.25)
    assert (-act.relu.normalized()).mean == -act.relu.normalized().mean
    assert 1 - act.tanh == act.Affine(act.tanh, -1.0, 1.0)
    for wrong in ([1.0], "2", 1j, True, np.ones(2)):
        with pytest.raises(TypeError, match=r"operand|sequence"):
            act.gelu * wrong
    with pytest.raises(ValueError, match="Affine: `scale` must"):
        act.gelu * math.nan


@pytest.mark.parametrize("sign", ["+", "-", "*"])
def test_two_activations_are_told_how_to_be_one(sign):
    names = {"a": act.gelu, "b": 2 * act.relu, **vars(act)}
    with pytest.raises(TypeError, match=re.escape(f"Activation: `{sign}` takes")) as e:
        eval(f"a {sign} b", names)
    both = eval(str(e.value).rpartition(" is `")[2].removesuffix("`."), names)
    assert both(0.7) == eval(f"a(0.7) {sign} b(0.7)", names)


def test_long_coefficients_are_cut_short():
    assert len(repr(act.hermite(1000))) < 200


def test_a_pickle_of_a_definition_of_ones_own():
    ours = act.Definition(name="tanh", f=np.sinh, df=np.cosh, precise=_precise_sinh)
    assert pickle.loads(pickle.dumps(act.Smooth(ours))) == act.Smooth(ours)


def _precise_sinh(mp, x):
    return mp.sinh(x)
