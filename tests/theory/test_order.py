"""Answers are the same to the last bit, whatever was asked before, and by which thread."""

import subprocess
import sys

import pytest

CODE = """
import sys
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from theory import activations as act
from theory import kernels, phase, spectrum, width

rng = np.random.default_rng(0)
rows = rng.standard_normal((9, 3)) * rng.uniform(0.3, 3.0, (9, 1))
rows[1] = rows[0] + 1e-7
rho = np.array([-1.0, -0.3, 0.0, 0.7, 1.0 - 1e-9, 1.0])
many = np.linspace(-1.0, 1.0, 5001)
own = act.from_function(lambda x: np.tanh(x) + np.maximum(x - 0.3, 0.0))
calls = {
    (a.name, k): (call, a)
    for a in (act.tanh, 2 * act.softplus - 1, act.hard_swish, own)
    for k, call in enumerate((
        lambda a: a.dual(rho, var_x=0.3, var_y=2.0),
        lambda a: a.dual_derivative(rho),
        lambda a: a.dual(many),
        lambda a: a.hermite(150),
        lambda a: a.hermite(12, var=0.04),
        lambda a: [a.mean, a.variance, a.second_moment, a.mu],
        lambda a: a.length_map(np.geomspace(0.01, 100.0, 99)),
        lambda a: kernels.ntk_map(rho, a, 3),
        lambda a: kernels.nngp_ntk(rows, a, 2),
        lambda a: phase.fixed_variance(a, [0.5, 1.5], 0.1),
        lambda a: phase.chi_1(a, 1.5, 0.1),
        lambda a: [p.weight_var for p in phase.edge_points(a, 0.02)],
        lambda a: spectrum.taylor_coefficients(a, 2, 60),
        lambda a: width.nngp_variance(0.3, a, 2, 100),
    ))
}

def answer(key):
    call, a = calls[key]
    return np.asarray(call(a)).tolist()

keys = list(calls)
if sys.argv[1] != "as listed":
    np.random.default_rng(int(sys.argv[1])).shuffle(keys)
with ThreadPoolExecutor(int(sys.argv[2])) as pool:
    found = dict(zip(map(tuple, keys), pool.map(answer, map(tuple, keys))))
for key in calls:
    print(*key, found[key])
"""


def _answers(order: str, threads: int) -> list[str]:
    command = [sys.executable, "-c", CODE, order, str(threads)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr
    return found.stdout.splitlines()


@pytest.fixture(scope="module")
def as_listed() -> list[str]:
    return _answers("as listed", 1)


@pytest.mark.parametrize(("seed", "threads"), [(0, 1), (1, 4)])
def test_answers_do_not_depend_on_order_or_threads(seed, threads, as_listed):
    assert len(as_listed) == 56
    assert _answers(str(seed), threads) == as_listed
