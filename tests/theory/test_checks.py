"""What counts as a number, a whole number, a truth value or a name, and how it is said."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from theory import _checks
from theory import square_loss as sl


@pytest.mark.parametrize(
    "value",
    [
        0.5,
        np.float32(0.5),
        np.array([0.5], dtype=np.float16),
        np.array([0.5], dtype=np.longdouble),
        [0.5],
        ((0.5,),),
        Fraction(1, 2),
        Decimal("0.5"),
        np.array([Fraction(1, 2), 0.5], dtype=object),
        np.array([], dtype=np.int8),
    ],
)
def test_numbers_of_every_kind_are_taken(value):
    out = _checks.real("f", "x", value)
    assert out.dtype == np.float64
    assert np.all(out == 0.5)


def test_tensors_are_taken_unless_they_need_gradients():
    torch = pytest.importorskip("torch")
    half = torch.tensor([0.5], dtype=torch.float32)
    assert _checks.real("f", "x", half) == 0.5
    with pytest.raises(ValueError, match=r"f: `x` must be real.*`\.detach\(\)` first"):
        _checks.real("f", "x", half.requires_grad_())
    with pytest.raises(ValueError, match=r"`\.detach\(\)\.cpu\(\)\.double\(\)`"):
        _checks.real("f", "x", half.detach().to(torch.bfloat16))
    with pytest.raises(ValueError, match="must be a whole number"):
        _checks.integer("f", "n", torch.tensor(True), 0)


@pytest.mark.parametrize(
    ("value", "came"),
    [
        (np.array([1.0 + 0.0j]), "an array of complex128"),
        (np.ma.array([1.0], mask=[True]), "a masked array: fill or drop"),
        ([1.0, True], "the truth value True"),
        (np.array([True]), "an array of truth values"),
        (b"1", "b'1'"),
        (np.datetime64("2020-01-01"), "np.datetime64"),
        ([1.0, "2"], r"\[1.0, '2'\]"),
    ],
)
def test_what_came_is_said(value, came):
    with pytest.raises(ValueError, match=f"f: `x` must be real numbers, got {came}"):
        _checks.real("f", "x", value)


def test_numbers_beyond_float64_are_not_finite():
    with pytest.raises(ValueError, match="f: `x` must lie within float64"):
        _checks.real("f", "x", 10**400)
    with pytest.raises(ValueError, match="f: `x` must be finite"):
        _checks.real("f", "x", np.array([np.finfo(np.longdouble).max]))
    with pytest.raises(ValueError, match="f: `n` must be at most 9, got an object"):
        _checks.integer("f", "n", 10**5000, 0, 9)


def test_fractions_are_no_counts():
    for value in (Fraction(2), [Fraction(2), 3]):
        with pytest.raises(ValueError, match="f: `n` must be whole numbers, got"):
            _checks.counts("f", "n", value, 0, 9)
    with pytest.raises(ValueError, match=r"f: `n` must lie in \[0, 9\]"):
        _checks.counts("f", "n", [10**70], 0, 9)


def test_near_names_are_suggested():
    with pytest.raises(ValueError, match=r"got 'SHARP'\. Did you mean 'sharp'\?"):
        _checks.choice("f", "form", "SHARP", ("printed", "sharp"))
    with pytest.raises(ValueError, match=r"got 'x'\.$"):
        _checks.choice("f", "form", "x", ("printed", "sharp"))
    with pytest.raises(ValueError, match="one of 'a'"):
        _checks.choice("f", "form", np.array(["a", "b"]), ("a",))


def test_only_truth_values_are_flags():
    assert _checks.flag("f", "on", np.True_) is True
    for value in (1, "no", None, [True]):
        with pytest.raises(ValueError, match="f: `on` must be True or False, got"):
            _checks.flag("f", "on", value)


def test_shapes_that_do_not_fit_are_named():
    shapes = r"`a`, `b` and `c` must broadcast, got shapes \(2,\), \(3,\) and \(\)"
    with pytest.raises(ValueError, match=shapes):
        _checks.broadcast("f", a=np.ones(2), b=np.ones(3), c=np.array(1.0))
    with pytest.raises(ValueError, match=r"`rho` must broadcast"):
        sl.rho_velocity([1.0, 2.0], np.ones((3, 2)), [1, -1], 0.0)


def test_results_at_the_end_of_float64():
    """The norm 1e308 is 1e308 from an equilibrium at 2, and its multiplier is too large."""
    assert sl.equilibrium_distance(1e308, [0.5, -0.5], [1, -1], 0.0) == 1e308
    assert sl.rho_velocity(1e308, [0.5, -0.5], [1, -1], 0.0) == -1e308
    with pytest.raises(ValueError, match="`rho` and `outputs` must keep the result"):
        sl.lagrange_multiplier(1e308, [0.5, -0.5], [1, -1])
