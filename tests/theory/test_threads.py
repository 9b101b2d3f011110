"""Linear algebra is held to one thread, and let go again."""

import functools
import subprocess
import sys
import threading

import mpmath
import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from theory import _threads, hermite, kernels
from theory import activations as act
from theory._cached import cached_property


def threads() -> list[int]:
    blas = ThreadpoolController().select(user_api="blas")
    return [library["num_threads"] for library in blas.info()]


@pytest.fixture
def two():
    """Allow two threads, whatever the environment says."""
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        yield


def test_a_library_that_is_loaded_later_is_held_too() -> None:
    code = (
        "from threadpoolctl import ThreadpoolController, threadpool_limits\n"
        "from theory import _threads\n"
        "with _threads.one_thread(): pass\n"
        "import scipy.linalg\n"
        "threadpool_limits(2, user_api='blas')\n"
        "with _threads.one_thread():\n"
        "    found = ThreadpoolController().select(user_api='blas').info()\n"
        "assert {each['num_threads'] for each in found} == {1}, found\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_attributes_that_need_each_other_do_not_stop_two_threads() -> None:
    """On Python 3.11 each held what the other waited for: second moment and mean."""
    code = (
        "import dataclasses, threading, numpy as np\n"
        "from theory import activations as act\n"
        "met, seen = threading.Barrier(2, timeout=5.0), threading.local()\n"
        "def slow(x):\n"
        "    if not hasattr(seen, 'met'):\n"
        "        seen.met = met.wait()\n"
        "    return np.log1p(np.exp(x))\n"
        "known = act.softplus\n"
        "its = dataclasses.replace(known.definition, name='slow', f=slow)\n"
        "a = act.Smooth(its)\n"
        "asked = [lambda: (2 * a - 1).second_moment, lambda: (3 * a - 1).mean]\n"
        "found = {}\n"
        "def ask(i):\n"
        "    found[i] = asked[i]()\n"
        "for i in (0, 1):\n"
        "    thread = threading.Thread(target=ask, args=(i,), daemon=True)\n"
        "    thread.start()\n"
        "    asked[i].thread = thread\n"
        "for each in asked:\n"
        "    each.thread.join(20.0)\n"
        "assert found == {0: (2 * known - 1).second_moment, 1: (3 * known - 1).mean}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)


def test_what_super_asks_for_is_not_kept() -> None:
    """Another thread would have read a part for the whole."""

    class Whole:
        @cached_property
        def value(self) -> int:
            return 1

    class More(Whole):
        @cached_property
        def value(self) -> int:
            part = super().value
            assert "value" not in vars(self)
            return part + 1

    more = More()
    assert more.value == 2
    assert vars(more) == {"value": 2}
    assert isinstance(More.value, functools.cached_property)


def test_a_thread_that_takes_its_digits_back_leaves_the_others_theirs():
    """mpmath's are the process's: coefficients of 60 digits came with fifteen."""
    first, second = threading.Event(), threading.Event()

    def few(x):
        first.set()
        second.wait(0.5)
        return x

    def bump(x):
        second.set()
        other.join(0.5)
        return 1 / (1 + x * x)

    known = hermite.precise_coefficients(lambda x: 1 / (1 + x * x), 40, 60)
    with mpmath.workdps(15):
        other = threading.Thread(
            target=hermite.precise_coefficients, args=(few, 2, 5, 1)
        )
        other.start()
        first.wait(10.0)
        found = hermite.precise_coefficients(bump, 40, 60)
        other.join()
    np.testing.assert_array_equal(found, known)


@pytest.mark.usefixtures("two")
class TestOneThread:
    def test_is_held_and_let_go(self):
        with _threads.one_thread() as count:
            assert count == 2
            assert set(threads()) == {1}
            with _threads.one_thread() as again:
                assert again == 2
            assert set(threads()) == {1}
        assert set(threads()) == {2}

    def test_is_let_go_after_an_error(self):
        with pytest.raises(RuntimeError), _threads.one_thread():
            raise RuntimeError
        assert set(threads()) == {2}

    def test_another_thread_sets_nothing_that_stays(self):
        inside, leave = threading.Event(), threading.Event()

        def hold() -> None:
            with _threads.one_thread():
                inside.set()
                leave.wait(10.0)

        other = threading.Thread(target=hold)
        with _threads.one_thread():
            other.start()
            assert inside.wait(10.0)
            assert set(threads()) == {1}
        # What the other found when it came, one, is not what it leaves behind.
        leave.set()
        other.join()
        assert set(threads()) == {2}

    def test_kernels_of_few_rows_use_one(self):
        seen: list[set[int]] = []

        def watched(x: np.ndarray) -> np.ndarray:
            seen.append(set(threads()))
            return np.tanh(x)

        custom = act.from_function(watched)
        x = np.random.default_rng(0).standard_normal((5, 2))
        seen.clear()
        kernels.nngp_ntk(x, custom, depth=2)
        assert {1} in seen
        assert {2} not in seen
        assert set(threads()) == {2}
