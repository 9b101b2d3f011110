"""What a prompt says to someone who does not know the names yet."""

import importlib
import inspect
import pydoc
import re
from types import ModuleType

import numpy as np
import pytest

import theory
from theory import activations as act
from theory import kernels, plots
from theory._naming import in_own_name

LISTED = re.findall(r"^(\w+)  ", str(theory.__doc__), flags=re.MULTILINE)
TOPICS = LISTED[: LISTED.index("duals")]


def test_every_module_that_a_prompt_completes_is_in_the_list_of_topics():
    assert sorted(dir(theory)) == sorted(LISTED)


@pytest.mark.parametrize("topic", TOPICS)
def test_completion_and_help_show_what_a_topic_has_and_nothing_it_uses(topic):
    module = importlib.import_module(f"theory.{topic}")
    shown = dir(module)
    assert shown
    for name in shown:
        value = getattr(module, name)
        assert not isinstance(value, ModuleType), name
        home = str(getattr(value, "__module__", "theory"))
        assert home.startswith("theory"), name
    text = pydoc.plain(pydoc.render_doc(module))
    functions = [n for n in shown if callable(getattr(module, n))]
    absent = [n for n in functions if not re.search(rf"\b{n}\b *[(=]", text)]
    assert absent == []


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("relu", "theory.activations.relu"),
        ("ntk", "theory.kernels.ntk"),
        ("rho_equilibrium", "theory.square_loss.rho_equilibrium"),
        ("activation", "did you mean theory.activations?"),
        ("burnin_depth", "theory.conditioning.burn_in_depth"),
    ],
)
def test_a_name_that_theory_has_elsewhere_is_pointed_to(name, hint):
    with pytest.raises(AttributeError, match=re.escape(hint)):
        getattr(theory, name)


def test_an_attribute_that_is_nowhere_gets_no_hint():
    with pytest.raises(AttributeError, match=r"has no attribute 'zzzzzz'$"):
        _ = theory.zzzzzz


def test_a_misspelt_argument_is_answered_with_the_nearest():
    with pytest.raises(TypeError, match="'normalised': did you mean 'normalized'"):
        kernels.ntk(np.eye(2), act.relu, 3, normalised=True)
    with pytest.raises(TypeError, match="'layers': it has x, activation, depth"):
        kernels.ntk(np.eye(2), act.relu, layers=3)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        kernels.ntk(np.eye(2))


def test_the_nearest_argument_is_named_once():
    """Python itself names it from 3.13 on."""

    @in_own_name
    def cut(depth=0, **others):
        raise TypeError("cut() got 'depht'. Did you mean 'depth'?")

    with pytest.raises(
        TypeError, match=r"^cut\(\) got 'depht': did you mean 'depth'\?$"
    ):
        cut(depht=3)


def test_no_rows_and_no_columns_are_told_from_a_wrong_number_of_axes():
    for empty in (np.empty((0, 2)), np.empty((3, 0))):
        with pytest.raises(ValueError, match=r"shape \(n, d\), n and d at least 1"):
            kernels.ntk(empty, act.relu, 3)


def test_an_activation_of_ones_own_shows_its_name_and_no_addresses():
    mine = act.from_function(lambda x: np.log1p(np.exp(x)), name="softplus")
    assert repr(mine) == "FromFunction(name='softplus')"


def test_an_activation_passed_as_a_function_keeps_its_name():
    assert act.from_function(act.relu).name == "relu"


def test_an_activation_can_be_divided_by_a_number():
    half = act.relu / 2
    assert half(3.0) == 1.5
    assert half.second_moment == 0.125
    with pytest.raises(ValueError, match="`scale` must be finite, got inf"):
        _ = act.relu / 0
    with pytest.raises(TypeError, match="`/` takes an activation and a number"):
        _ = act.relu / act.tanh


def test_axes_that_are_none_are_refused():
    with pytest.raises(ValueError, match="`ax` must be Matplotlib axes, got 3"):
        plots.dual(act.relu, ax=3)  # type: ignore[arg-type]


def test_help_on_every_function_of_a_topic_ends_in_an_example():
    bare = [
        f"{topic}.{name}"
        for topic in LISTED[: LISTED.index("hermite")]
        for name in getattr(theory, topic).__all__
        if inspect.isfunction(value := getattr(getattr(theory, topic), name))
        and ">>>" not in str(value.__doc__)
    ]
    assert bare == []
