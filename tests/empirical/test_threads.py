"""Whoever trains computes with one thread, and has the threads back afterwards."""

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


def test_the_others_are_given_back_after_an_error_too() -> None:
    with pytest.raises(ValueError, match="enough"), one_thread():
        raise ValueError("enough")
    assert torch.get_num_threads() == 2
