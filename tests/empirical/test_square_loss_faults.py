"""Planted faults: what each changes in a network's training, and what it leaves."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from empirical.square_loss.experiments import configurations
from empirical.square_loss.faults import FAULTS
from empirical.square_loss.study import (
    problem_of,
    run_configuration,
    train_configuration,
)
from empirical.testbed.faults import FEWER

SOUND = {c.name: c for c in configurations("small")}


def small(name="bn-decay", **recipe):
    """Return a configuration cut down to two networks of a few steps."""
    found = SOUND[name]
    changed = replace(found.recipe, epochs=30, **recipe)
    return replace(found, recipe=changed, seeds=(0,), per_class=20, tests=10)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", SOUND)
def test_a_fault_changes_a_configuration_and_keeps_its_name(name, fault):
    faulty = FAULTS[fault](SOUND[name])
    assert faulty != SOUND[name]
    same = ("name", "network", "data", "labels", "per_class", "scales", "seeds")
    for field in same:
        assert getattr(faulty, field) == getattr(SOUND[name], field)


def test_rates_of_a_hundredth():
    sound, slow = SOUND["none"], FAULTS["slow"](SOUND["none"])
    few = {"seeds": (0, 1), "per_class": 20, "tests": 10}
    rates = [
        train_configuration(replace(c, recipe=replace(c.recipe, epochs=1), **few))[
            0
        ].rates
        for c in (sound, slow)
    ]
    # Those that the curvature lowers, too.
    assert rates[0].min() < sound.recipe.rate
    assert rates[1] == pytest.approx(rates[0] / 100, rel=1e-12)


def test_a_fifteenth_of_the_epochs():
    assert FAULTS["short"](small()).recipe.epochs == 30 // FEWER == 2
    assert FAULTS["short"](FAULTS["short"](small())).recipe.epochs == 1


def test_untrained_networks_stay_as_they_start():
    trained, _ = train_configuration(FAULTS["untrained"](small()))
    for before, after in zip(trained.initial, trained.final, strict=True):
        torch.testing.assert_close(after, before, rtol=1e-25, atol=0)


def test_shuffled_labels_are_as_many_of_each_and_tests_keep_theirs():
    sound, faulty = (problem_of(c) for c in (small(), FAULTS["shuffled"](small())))
    assert torch.equal(sound.inputs, faulty.inputs)
    assert torch.equal(sound.test_classes, faulty.test_classes)
    assert sorted(sound.classes.tolist()) == sorted(faulty.classes.tolist())
    agree = float((sound.classes == faulty.classes).double().mean())
    # Forty labels of two kinds: an eighth from a half is 1.6 standard deviations.
    assert 0.25 < agree < 0.75
    assert sound.digest != faulty.digest
    assert torch.equal(faulty.classes, problem_of(FAULTS["shuffled"](small())).classes)


def test_networks_that_learn_shuffled_labels_learn_nothing_of_the_others():
    record = run_configuration(FAULTS["shuffled"](small("bn", rate=0.05)))
    sound = run_configuration(small("bn", rate=0.05))
    errors = [[d.fact("test_error") for d in r.draws] for r in (sound, record)]
    assert np.mean(errors[0]) + 0.1 < np.mean(errors[1])
    assert record.fact("problem")["shuffled"] is True
