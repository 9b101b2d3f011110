"""Arguments that are no numbers, misspelt or out of range, and how they are met."""

import math
import warnings
from collections import Counter
from collections.abc import Callable
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np

from hard_cases.case import Case, bind
from theory import activations as act
from theory import conditioning as dc
from theory import gaussian, hermite, kernels, lengths, mmd
from theory import identity_map as im
from theory import optimization as opt
from theory import square_loss as sl

BOUNDARY = Path(__file__).parents[2] / "tests" / "theory" / "test_boundary.py"


def _tensor() -> Any:
    import torch

    rows = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    return kernels.nngp(rows, act.relu, 1)


def _shown(found: Any) -> str:
    """Show what came back where a refusal was due."""
    if isinstance(found, float):
        return f"{found:.3g}"
    return " ".join(str(found).split())[:40].replace("|", "/")


def _counts() -> str:
    """Replace each argument of every public function by what it must refuse."""
    spec = util.spec_from_file_location("boundary", BOUNDARY)
    assert spec is not None
    assert spec.loader is not None
    boundary = util.module_from_spec(spec)
    spec.loader.exec_module(boundary)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tried = [t for c in boundary.CALLS for t in boundary.trials(c)]
    wrong = Counter(
        found.partition(":")[0] for *_, due, found in tried if due == "refused" != found
    )
    return (
        f"{wrong['answered']} answered, {wrong['raw error']} raw errors,"
        f" {wrong['hang']} hang, of {len(tried):,}"
    )


def bad_calls() -> list[Case]:
    """All of them, counted."""
    before = "856 answered, 81 raw errors, 8 hang, of 8,786"
    # Each of thousands of calls has two seconds.
    return [Case("of public functions", "0, 0, 0", before, _counts, limit=120)]


def silent() -> list[Case]:
    """Calls that used to get an answer."""
    relu, tanh = act.relu, act.tanh.normalized()
    rows: list[tuple[str, str, Callable[[], Any]]] = [
        ('relu.dual("0.5")', "0.4264", bind(relu.dual, "0.5")),
        ('relu.dual(b"1")', "1.0", bind(relu.dual, b"1")),
        ('relu.dual(array(["0.5"]))', "0.426", bind(relu.dual, np.array(["0.5"]))),
        (
            "relu.dual of a complex array",
            "0.426",
            bind(relu.dual, np.array([0.5 + 3j])),
        ),
        (
            *("relu.dual of a masked array", "mask lost"),
            bind(relu.dual, np.ma.masked_array([0.5, 9.0], [False, True])),
        ),
        (
            *("relu.dual of a structured array", "its field"),
            bind(relu.dual, np.array([(0.5,)], dtype=[("a", float)])),
        ),
        (
            *("relu.length_map of a date", "26663.6"),
            bind(relu.length_map, np.datetime64("2020-01-01")),
        ),
        (
            *('derivative_bound(form="Printed")', "the sharp one"),
            bind(dc.derivative_bound, 0.1, 0.2, form="Printed"),
        ),
        (
            *('ntk_ratio_bound(form="Sharp")', "the printed one"),
            bind(dc.ntk_ratio_bound, 300, 0.1, 0.2, form="Sharp"),
        ),
        (
            *('ntk_threshold_depth(form="Sharp")', "185, not 93"),
            bind(dc.ntk_threshold_depth, 0.1, 0.2, 3, form="Sharp"),
        ),
        (
            *('ntk(normalized="no")', "normalised"),
            bind(kernels.ntk, np.eye(2), tanh, 2, normalized="no"),
        ),
        (
            *("normrelu_decay of hard tanh", "constants"),
            bind(lengths.normrelu_decay, 1.1, 1.1, 0.1, act.hard_tanh.normalized()),
        ),
        (
            *("normrelu_decay of ReLU, lengths diverge", "constants"),
            bind(lengths.normrelu_decay, 1.1, 1.1, 0.1, relu),
        ),
        (
            *("correlation_bound_any_length of a function not odd", "a bound"),
            bind(
                *(lengths.correlation_bound_any_length, act.gelu.normalized()),
                *(1.1, 1.1, 0.1, 5),
            ),
        ),
        (
            "kernel_descent_factor(2, 1)",
            "a number",
            bind(opt.kernel_descent_factor, 2, 1),
        ),
        ("tail_moment(1, nan)", "nan", bind(gaussian.tail_moment, 1, math.nan)),
        (
            *("lagrange_multiplier at rho = 1e308", "nan"),
            bind(sl.lagrange_multiplier, 1e308, [0.5], [1.0]),
        ),
        (
            *("least_squares_weights(momentum=nan), no steps", "weights"),
            bind(
                *(im.least_squares_weights, np.eye(2), np.eye(2), np.zeros((2, 2))),
                momentum=math.nan,
            ),
        ),
        (
            *('least_squares_weights(momentum="abc"), no steps', "weights"),
            bind(
                *(im.least_squares_weights, np.eye(2), np.eye(2), np.zeros((2, 2))),
                momentum="abc",
            ),
        ),
        (
            *("least_squares_weights(momentum=-1), no steps", "weights"),
            bind(
                *(im.least_squares_weights, np.eye(2), np.eye(2), np.zeros((2, 2))),
                momentum=-1.0,
            ),
        ),
    ]
    return [Case(what, "refused", old, call, _shown) for what, old, call in rows]


def raw() -> list[Case]:
    """Calls that used to raise an error of NumPy, SciPy or Python, or are refused."""
    x = np.array([[1.0, 0.2], [0.3, 0.9]])
    either, quick = "number or refused", "refused or less than 4 s"
    square = act.relu_squared.normalized()
    rows: list[tuple[str, str, str, Callable[[], Any]]] = [
        (
            *("rho_velocity at rho = 1e308", "finite or refused", "nan"),
            bind(sl.rho_velocity, 1e308, [0.5], [1.0], 0.1),
        ),
        (
            *("equilibrium_distance at rho = 1e308", "finite or refused", "nan"),
            bind(sl.equilibrium_distance, 1e308, [0.5], [1.0], 0.1),
        ),
        (
            *("kernels.nngp of a tensor with gradients", "refused"),
            *("RuntimeError", _tensor),
        ),
        (
            *('nngp(x, "relu", 3)', "refused", "AttributeError"),
            bind(kernels.nngp, x, "relu", 3),
        ),
        (
            *("nngp(x, np.tanh, 3)", "refused", "AttributeError"),
            bind(kernels.nngp, x, np.tanh, 3),
        ),
        (
            *("from_function(np.abs, kinks=0.0)", "refused or one kink", "TypeError"),
            bind(act.from_function, np.abs, kinks=0.0),
        ),
        (
            *("squared ReLU, unequal lengths, depth 20", either, "blames `x`"),
            bind(kernels.nngp, x, square, 20),
        ),
        (
            *("ReLU, depth 1,000 on the sphere", either, "refused from depth 996"),
            bind(kernels.nngp, np.eye(2), act.relu, 1000),
        ),
        (
            *("burn_in_depth(1e-6, 1e-20)", either, "OverflowError, 7.5 s"),
            bind(dc.burn_in_depth, 1e-6, 1e-20),
        ),
        (
            *("ntk_diagonal(2000, 1.5)", either, "OverflowError"),
            bind(dc.ntk_diagonal, 2000, 1.5),
        ),
        (
            *("relu.dual(0.5, var_x=[1, 2])", "array or refused", "TypeError"),
            bind(act.relu.dual, 0.5, var_x=[1.0, 2.0]),
        ),
        (
            *("nngp_condition_bound of two delta", "array or refused", "TypeError"),
            bind(dc.nngp_condition_bound, 50, [0.1, 0.2], 0.2, 3),
        ),
        (
            *(
                "depth_for_condition_number of two delta",
                "array or refused",
                "TypeError",
            ),
            bind(dc.depth_for_condition_number, [0.1, 0.2], 0.2, 3),
        ),
        (
            *("fixed_point_convergence of two delta", "array or refused", "TypeError"),
            bind(dc.fixed_point_convergence, act.gelu, [0.1, 0.2]),
        ),
        (
            *("normrelu_decay of tanh", "refused", "IndexError"),
            bind(lengths.normrelu_decay, 1.1, 1.1, 0.1, act.tanh.normalized()),
        ),
        (
            *("excess_risk_terms, singular covariance", either, "LinAlgError"),
            bind(
                *(opt.excess_risk_terms, np.ones((2, 3)), np.zeros((3, 3))),
                *(np.ones(3), np.ones(2)),
            ),
        ),
        (
            *("excess_risk_terms, wrong shapes", "refused", "ValueError of NumPy"),
            bind(
                *(opt.excess_risk_terms, np.ones((2, 3)), np.eye(4)),
                *(np.ones(3), np.ones(2)),
            ),
        ),
        (
            *("rest_share(-1)", "refused", "ValueError of `math`"),
            bind(lengths.rest_share, act.tanh.normalized(), -1.0),
        ),
        (
            *("hermite.coefficients(tanh, -1)", "refused", "IndexError"),
            bind(hermite.coefficients, np.tanh, -1),
        ),
        (
            *('simplex_sample(generator="x")', "refused", "AttributeError"),
            lambda: mmd.simplex_sample(2, 3, generator="x"),  # type: ignore[arg-type]
        ),
        (
            *("residual_factors, other lengths", "refused", "names another argument"),
            bind(
                im.residual_factors,
                [1, 2],
                learning_rate=[0.1, 0.1, 0.1],
                curvature=[1.0, 1.0],
            ),
        ),
        (
            *("rho_iterates, other lengths", "refused", "names another argument"),
            bind(
                *(sl.rho_iterates, [1, 2], [1.0, 1.0, 1.0], [1.0], [1.0], 0.1),
                rate=0.1,
            ),
        ),
        (
            *("gradient_flow(t_eval=[])", "refused", "ValueError of NumPy"),
            bind(
                *(sl.gradient_flow, [[[1.0, 0.0]]], 1.0, x, [1.0, -1.0], 0.1),
                t_end=1.0,
                t_eval=[],
            ),
        ),
        (
            *("normrelu(scale=1e308)", "refused", "ValueError of SciPy"),
            bind(act.normrelu, scale=1e308),
        ),
        (
            *("gradient_flow from rho = 1e9 to t = 1e9", quick, "> 4 s"),
            bind(
                *(sl.gradient_flow, [[[1.0, 0.0]]], 1e9, x, [1.0, -1.0], 0.1),
                t_end=1e9,
            ),
        ),
        *(
            (
                *(f"gradient_flow, {what} = 1e9", quick, "> 4 s"),
                bind(
                    *(sl.gradient_flow, [[[1.0, 0.0]]], start, x, [1.0, -1.0], decay),
                    t_end=end,
                ),
            )
            for what, start, decay, end in (
                ("rho0", 1e9, 0.1, 1.0),
                ("weight_decay", 1.0, 1e9, 1.0),
                ("t_end", 1.0, 0.1, 1e9),
            )
        ),
        (
            *("unnormalised_flow to t = 1e9", quick, "> 4 s"),
            bind(
                *(sl.unnormalised_flow, [[[1.0, 0.0]]], x, [1.0, -1.0], 0.1),
                t_end=1e9,
            ),
        ),
        (
            *("weight_normalised_flow, scale = 1e9", quick, "> 4 s"),
            bind(
                *(sl.weight_normalised_flow, 1e9, [[[1.0, 0.0]]], x, [1.0, -1.0], 0.1),
                t_end=1.0,
            ),
        ),
        (
            *("correlation_envelope(depth=1e9)", quick, "> 4 s"),
            bind(dc.correlation_envelope, 10**9, 0.1, 1e-9),
        ),
    ]
    return [Case(what, right, old, call, _shown) for what, right, old, call in rows]


# --- the sharp bound of the tangent kernel --------------------------------------------


def _ratios() -> float:
    """Largest |T_ij| / T_11 over its sharp bound, of mixtures of Hermite polynomials."""
    rng, worst = np.random.default_rng(0), 0.0
    delta = np.geomspace(1e-4, 1.0, 50)
    rho = np.concatenate([1.0 - delta, delta - 1.0])
    for depth in (1, 2, 3, 5, 10, 40):
        for _ in range(3):
            energies = rng.dirichlet(np.full(6, 0.3)) * (np.arange(6) > 0)
            a = act.HermiteMixture(tuple(np.sqrt(energies / energies.sum())))
            got = np.abs(kernels.ntk_map(rho, a, depth, normalized=True))
            bound = dc.ntk_ratio_bound(depth, delta, a.mu, form="sharp")
            # At delta = 1 the bound is 0, and so is an odd function's kernel.
            over = (got.reshape(2, -1) / np.maximum(bound, 1e-300))[:, bound > 0.0]
            worst = max(worst, float(over.max()))
    return worst


def tangent_bound() -> list[Case]:
    """The sharp bound, that which is attained, and what 18 mixtures do."""

    def bound(depth: int, form: Any) -> Callable[[], Any]:
        return bind(dc.ntk_ratio_bound, depth, 0.1, 0.2, form=form)

    return [
        Case("depth 300, sharp", "half", "1.1e-13", bound(300, "sharp")),
        Case("depth 300, attained", "below sharp", "none", bound(300, "attained")),
        Case("depth 20, sharp", "below 1", "1", bound(20, "sharp")),
        Case("depth 20, attained", "below sharp", "none", bound(20, "attained")),
        Case(
            "largest ratio over the sharp bound, 18 random Hermite mixtures",
            *("1 or less", "0.5"),
            _ratios,
        ),
    ]
