"""Whoever trains computes with one thread, and has the threads back afterwards."""

import importlib

import pytest
import torch

from empirical.testbed.loop import Task, train
from empirical.testbed.optimisers import SGD
from empirical.testbed.stack import Stack
from empirical.testbed.threads import one_thread


@pytest.fixture(autouse=True)
def two_threads(monkeypatch: pytest.MonkeyPatch):
    before = torch.get_num_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


class Counting(Task):
    def __init__(self) -> None:
        self.seen: set[int] = set()

    def losses(self, params, stack, examples):
        self.seen.add(torch.get_num_threads())
        return params[0].square()


def test_training_has_one_thread_and_gives_the_others_back() -> None:
    task = Counting()
    train(task, Stack([torch.ones(2)], rates=[0.1, 0.1]), SGD(), steps=2)
    assert task.seen == {1}
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(
    "topic", ["conditioning", "identity_map", "mmd_init", "normrelu", "square_loss"]
)
def test_a_configuration_at_a_prompt_is_run_as_workers_run_it(topic: str) -> None:
    study = importlib.import_module(f"empirical.{topic}.study")
    seen: list[int] = []

    class Configuration:
        """Tells how many threads there are when it is first looked at."""

        def __getattr__(self, name: str) -> None:
            seen.append(torch.get_num_threads())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        study.run_configuration(Configuration())
    assert seen[0] == 1
    assert torch.get_num_threads() == 2


def test_a_thread_is_one_also_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="enough"), one_thread():
        raise ValueError("enough")
    assert torch.get_num_threads() == 2
