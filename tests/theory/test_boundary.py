"""Every public function of `theory` refuses what it can't answer, and says what and where.

One valid call a function; then every argument in turn is replaced by every value of
`NEVER`, `SOMETIMES` and `_own`. The call must raise ValueError or TypeError, with a
message that starts with the function's name, names the argument in backticks and says
what it must be, or, where the value is listed as fine for this argument, return finite
numbers. A `FlowWarning` or a `StabilityWarning` that names the argument counts as
refusal; nothing else warns, and nothing takes long.
"""

import dataclasses
import importlib
import inspect
import itertools
import math
import pkgutil
import signal
import sys
import time
import types
import warnings
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest

import theory
from theory import activations as act
from theory import conditioning as dc
from theory import (
    gaussian,
    hermite,
    kernels,
    lengths,
    matrices,
    mmd,
    phase,
    regression,
    spectrum,
    width,
)
from theory import identity_map as im
from theory import neural_collapse as nc
from theory import optimization as opt
from theory import square_loss as sl
from theory.activations import closed
from theory.identity_map import patch_matrix
from theory.phase import diagram as diagrams

INTERNAL = (
    "theory.activations.moments",
    "theory.depth_maps",
    "theory.duals",
    "theory.grids",
    "theory.meshes",
    "theory.plots",
)
"""Modules whose functions get what others have checked: engines, tables and meshes are
called with flat arrays of checked numbers, thousands of times for one public call.
Pictures take Matplotlib's axes, and have tests of their own."""

INNER = {
    "theory.activations.affine.split",
    "theory.activations.base.pair",
    "theory.hermite.weighted_at",
    "theory.gaussian.composite",
    "theory.gaussian.graded",
    "theory.gaussian.rule",
    "theory.gaussian.tail_terms",
    "theory.gaussian.total",
    "theory.hermite.expansion",
    "theory.matrices.fill",
    "theory.matrices.Inputs.pairs",
    "theory.matrices.Inputs.panel",
    "theory.matrices.Inputs.distances",
    "theory.matrices.dot",
    "theory.matrices.each",
    "theory.identity_map.patch_matrix.Rank.require_decided",
}
"""Called with what was checked before: of a matrix, for every panel."""

LONGEST = 4.0
"""Seconds of processor time a call may take, tables of a first call included."""


def _square(x: Any) -> Any:
    return x * x


NEVER: dict[str, Any] = {
    "text": "0.5",
    "bytes": b"1",
    "byte array": bytearray(b"1"),
    "memory of bytes": memoryview(b"12"),
    "texts": ["0.5", "a"],
    "text array": np.array(["0.5"]),
    "dict": {"a": 1.0},
    "set": {0.5},
    "object": object(),
    "objects": np.array([0.5, None]),
    "function": _square,
    "none": None,
    "nan": math.nan,
    "inf": math.inf,
    "minus inf": -math.inf,
    "nans": [0.5, math.nan],
    "complex": 0.5 + 0.3j,
    "complex array": np.array([0.5 + 0.0j]),
    "date": np.datetime64("2020-01-01"),
    "durations": np.array([1, 2], dtype="m8[s]"),
    "masked": np.ma.array([0.5, 0.5], mask=[False, True]),
    "list of masked": [np.ma.array([0.5, 0.5], mask=[False, True])],
    "structured": np.array([(0.5,)], dtype=[("a", np.float64)]),
    "true": True,
    "trues": np.array([True, False]),
    "mixed": [True, 0.5],
    "ragged": [[0.5], [0.5, 0.5]],
    "hopeless": 10**400,
}
"""Never a number; None, functions and truth values are fine for some arguments."""

SOMETIMES: dict[str, Any] = {
    "minus": -1,
    "zero": 0,
    "tiny": 5e-324,
    "half": 0.5,
    "one and a bit": 1.0 + 1e-9,
    "two, a float": 2.0,
    "three": 3,
    "huge": 1e308,
    "giant": 10**70,
    "empty": [],
    "pair": [0.5, 0.5],
    "axes": np.full((2, 3, 1, 2), 0.5),
}
"""Fine where the range and the shape of an argument allow them."""

try:
    import torch
except ImportError:  # pragma: no cover - `theory` needs no torch
    torch = None
else:
    one = torch.tensor([0.5, 0.5], dtype=torch.float64, requires_grad=True)
    NEVER |= {"gradient": one, "list of gradients": [one.sum()]}


def _own(value: Any) -> dict[str, Any]:
    """Return what else has the shape of a valid value, or nearly."""
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], np.ndarray):
        return {k: [v, *value[1:]] for k, v in _own(value[0]).items()}
    if value is None or isinstance(value, (str, bool, np.random.Generator)):
        return {}
    try:
        x = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return {}
    hole, void = x.copy(), x.astype(object)
    hole.flat[:1], void.flat[:1] = np.nan, None
    out = {
        "own nan": hole,
        "own none": void,
        "own text": x.astype(str),
        "own complex": x.astype(complex),
        "own masked": np.ma.array(x, mask=True),
        "own truth": x.astype(bool),
        "own dates": x.astype("M8[D]"),
        "own huge": x / np.abs(x).max(initial=5e-324) * 1e308,
    }
    if torch is not None:
        out["own gradient"] = torch.from_numpy(x.copy()).requires_grad_()
    if x.ndim:
        out |= {"own shorter": x[..., :-1], "own axis": x[np.newaxis]}
    return out


ARRAYS = frozenset({"empty", "pair", "axes"})
ABOVE = frozenset({"one and a bit", "two, a float"})
ONE = frozenset(SOMETIMES) - ARRAYS
REAL = ONE | ARRAYS
NOT_NEGATIVE = REAL - {"minus"}
POSITIVE = NOT_NEGATIVE - {"zero"}
UNIT = NOT_NEGATIVE - ABOVE - {"three", "huge", "giant"}
COUNT = frozenset({"zero", "three"})
WHOLE = frozenset({"three"})
MANY, SEVERAL = COUNT | {"empty"}, WHOLE | {"empty"}
WEIGHT = POSITIVE - {"tiny", "huge", "giant"}
BIAS = NOT_NEGATIVE - {"huge", "giant"}
HALF = frozenset({"half"})
FLAG = frozenset({"true"})
NONE = frozenset({"none"})
FUNCTION = frozenset({"function"})
HUGE = frozenset({"huge"})
OWN_HUGE = frozenset({"own huge"})
LARGE = frozenset({"huge", "giant"})
OWN = frozenset({"own huge", "own shorter", "own axis"})


class Call(NamedTuple):
    """A valid call, and what else each argument may be."""

    function: Any
    arguments: dict[str, Any]
    fine: dict[str, frozenset[str]]
    infinite: bool = False

    @property
    def who(self) -> str:
        """What messages begin with: of a method of an activation, with its name."""
        owner = getattr(self.function, "__self__", None)
        if isinstance(owner, act.Activation):
            name = self.function.__name__
            return owner.name if name == "__call__" else f"{owner.name}.{name}"
        return self.function.__qualname__

    @property
    def key(self) -> str:
        return f"{self.function.__module__}.{self.function.__qualname__}"


def call(function: Any, fine: dict[str, frozenset[str]], **arguments: Any) -> Call:
    # Documented results: a norm's collapse, and condition numbers beyond float64.
    infinite = (
        sl.unnormalised_barrier,
        dc.nngp_condition_bound,
        dc.ntk_condition_bound,
        # Variances beyond 1e8, slopes of jumps, logs of zero.
        *(phase.fixed_variance, phase.fixed_correlation, phase.fixed_distance),
        *(phase.chi_1, phase.classify),
        act.step.dual_derivative,
        *(spectrum.nngp_eigenvalues, spectrum.ntk_eigenvalues),
        spectrum.series_eigenvalues,
    )
    return Call(function, arguments, fine, function in infinite)


# --- the calls ------------------------------------------------------------------------

RNG = np.random.default_rng
X = np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]])
P = np.array([0.2, 0.5, 0.9])
H, C = (
    np.array([[0.0, 1.0], [0.0, 3.0], [1.0, 0.0], [3.0, 0.0]]),
    np.array([0, 0, 1, 1]),
)
W = np.array([[0.0, 1.0], [1.0, 0.0]])
ROWS_2 = np.array([[0.6, 0.8, 0.1], [1.0, 0.2, 0.5]])
LAYERS = [np.eye(2), np.ones((2, 2))]
V = [np.array([[0.6, 0.8], [0.0, 0.0]]), np.array([[1.0, 0.0]])]
F, Y, ROWS = np.array([0.5, -0.2]), np.array([1.0, -1.0]), np.eye(2)
PART = mmd.SubExponential(4.0, 4.0)
FLOW = sl.gradient_flow(V, 1.0, ROWS, Y, 0.1, t_end=1.0)
RHO: Any = {"outputs": F, "labels": Y}

GAUSSIAN = (
    call(gaussian.pdf, {"x": REAL}, x=0.5),
    call(gaussian.cdf, {"x": REAL}, x=0.5),
    call(gaussian.legendre, {"n": WHOLE}, n=4),
    call(
        gaussian.scaled_tail_moment,
        {"k": COUNT - {"three"}, "c": ONE},
        k=1,
        c=0.5,
    ),
    call(
        gaussian.tail_moment,
        {"k": COUNT - {"three"}, "c": ONE},
        k=1,
        c=0.5,
    ),
    call(
        gaussian.panels,
        {
            "kinks": frozenset({"empty", "pair"}) | OWN - {"own axis"},
            "reach": WHOLE | ABOVE | {"half"},
        },
        kinks=(0.5, 1.0),
        reach=20.0,
    ),
    call(hermite.hermite, {"k": COUNT, "x": REAL - HUGE}, k=2, x=0.5),
    call(
        hermite.weighted_basis,
        {"order": COUNT, "kinks": frozenset({"empty", "pair"}) | OWN - {"own axis"}},
        order=2,
        kinks=(0.5, 1.0),
    ),
    call(
        hermite.coefficients,
        {
            "f": FUNCTION,
            "order": COUNT,
            "kinks": frozenset({"empty", "pair"}) | OWN - {"own axis"},
        },
        f=_square,
        order=2,
        kinks=(0.5, 1.0),
    ),
    call(
        hermite.precise_coefficients,
        {"f": FUNCTION, "order": COUNT, "digits": WHOLE, "steps": WHOLE},
        f=_square,
        order=2,
        digits=20,
        steps=10,
    ),
)

OPTIMIZATION = (
    call(
        opt.gradient_descent_bound,
        {
            "step": NOT_NEGATIVE,
            "condition_number": LARGE | ABOVE | {"three", "empty"},
            "printed": FLAG,
        },
        step=2.0,
        condition_number=9.0,
        printed=False,
    ),
    call(
        opt.sgd_steps,
        {"n": WHOLE, "squared_norm": POSITIVE & ONE, "min_eigenvalue": POSITIVE & ONE},
        n=9,
        squared_norm=2.0,
        min_eigenvalue=0.1,
    ),
    call(
        opt.sgd_restarts,
        {"initial": POSITIVE & ONE, "target": POSITIVE & ONE},
        initial=8.0,
        target=1.0,
    ),
    call(
        opt.kernel_descent_factor,
        {
            "min_eigenvalue": POSITIVE - LARGE,
            "max_eigenvalue": POSITIVE - {"tiny"},
        },
        min_eigenvalue=0.25,
        max_eigenvalue=4.0,
    ),
    call(
        opt.correlation_floor,
        {"width": POSITIVE - {"tiny"}},
        activation=act.relu,
        width=100.0,
    ),
    call(
        opt.query_lower_bound,
        {"tolerance": POSITIVE - HUGE, "squared_correlation": POSITIVE - {"tiny"}},
        tolerance=0.5,
        squared_correlation=0.01,
    ),
    call(opt.covariance_norm_bound, {"s": LARGE | {"empty"}}, s=20.0, form="sharp"),
    call(
        opt.overfitting_depth,
        {
            "delta": UNIT & ONE - {"zero", "tiny"},
            "mu": UNIT & ONE - {"zero", "tiny"},
            "s": WHOLE,
        },
        delta=0.1,
        mu=0.5,
        s=20,
    ),
    call(
        opt.excess_risk_terms,
        {"covariance": OWN_HUGE, "noise": frozenset({"pair"})},
        features=np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.5]]),
        covariance=np.eye(3),
        optimum=np.array([1.0, 2.0, 3.0]),
        noise=np.array([0.1, 0.2]),
    ),
    call(
        opt.excess_risk_bound,
        {"n": LARGE | {"empty"}, "optimum_norm": NOT_NEGATIVE - HUGE},
        n=1000.0,
        optimum_norm=1.0,
    ),
    call(
        opt.one_layer_min_eigenvalue,
        {"n": WHOLE, "delta": UNIT, "constant": POSITIVE & ONE},
        n=9,
        delta=0.1,
        constant=1.0,
    ),
    call(opt.arc_min_eigenvalue, {"delta": UNIT}, delta=0.1),
    call(opt.separation_event_bound, {"n": WHOLE, "delta": UNIT}, n=9, delta=0.1),
)

COLLAPSE = (
    call(nc.nc1, {"features": OWN - {"own axis"}}, features=H, labels=C),
    call(nc.nc2, {"features": OWN - {"own axis"}}, features=H, labels=C),
    call(nc.nc2_classifier, {"weights": OWN_HUGE}, weights=W),
    call(
        nc.nc3,
        {"features": OWN_HUGE, "weights": OWN_HUGE},
        features=H,
        labels=C,
        weights=W,
    ),
    call(
        nc.nc4,
        {
            "features": OWN_HUGE,
            "weights": OWN_HUGE,
            "biases": NONE | OWN_HUGE | {"pair"},
        },
        features=H,
        labels=C,
        weights=W,
        biases=np.zeros(2),
    ),
    call(nc.binary_rows, {"weights": OWN | {"pair"}}, weights=np.array([1.0, -2.0])),
)

WIDTHS: Any = {"widths": (3, 4, 2)}

MMD = (
    call(
        mmd.simplex_sample,
        {"count": COUNT, "classes": WHOLE},
        count=4,
        classes=3,
        generator=RNG(0),
    ),
    call(mmd.simplex_mean, {"classes": WHOLE}, classes=3),
    call(mmd.simplex_covariance, {"classes": WHOLE}, classes=3),
    call(mmd.simplex_cdf, {"t": UNIT, "classes": WHOLE}, t=0.5, classes=3),
    call(
        mmd.kernel_bandwidths,
        {"median": POSITIVE & ONE - {"tiny", "huge"}},
        median=0.5,
    ),
    call(
        mmd.mixture_kernel,
        {"x": OWN_HUGE, "y": OWN_HUGE, "bandwidths": POSITIVE - {"empty", "axes"}},
        x=X,
        y=X,
        bandwidths=0.5,
    ),
    call(
        mmd.median_bandwidth,
        {"x": OWN_HUGE, "y": OWN_HUGE},
        x=X,
        y=X + 0.1,
        rule="lower",
    ),
    call(
        mmd.mmd_squared,
        {"x": OWN_HUGE, "y": OWN_HUGE, "bandwidths": POSITIVE - {"empty", "axes"}},
        x=X,
        y=X,
        bandwidths=0.5,
        estimator="biased",
    ),
    call(
        mmd.estimator_gap,
        {"x": OWN_HUGE, "y": OWN_HUGE, "bandwidths": POSITIVE - {"empty", "axes"}},
        x=X,
        y=X,
        bandwidths=0.5,
    ),
    call(mmd.segment_kernel_mean, {"gamma": POSITIVE}, gamma=0.5),
    call(mmd.segment_embedding, {"p": UNIT, "gamma": POSITIVE}, p=0.2, gamma=0.5),
    call(
        mmd.segment_embedding_derivative,
        {"p": UNIT, "gamma": POSITIVE},
        p=0.2,
        gamma=0.5,
    ),
    call(mmd.segment_point_mmd, {"p": UNIT, "gamma": POSITIVE}, p=0.2, gamma=0.5),
    call(
        mmd.segment_mmd,
        {
            "p": frozenset({"pair", "own shorter"}),
            "bandwidths": POSITIVE - {"empty", "axes"},
        },
        p=P,
        bandwidths=0.5,
        estimator="unbiased",
    ),
    call(
        mmd.segment_mmd_gradient,
        {
            "p": frozenset({"pair", "own shorter"}),
            "bandwidths": POSITIVE - {"empty", "axes"},
        },
        p=P,
        bandwidths=0.5,
        estimator="unbiased",
    ),
    call(
        mmd.segment_null_variance_ratio,
        {"predictions": WHOLE, "samples": WHOLE},
        predictions=4,
        samples=4,
    ),
    call(
        mmd.segment_null_bias,
        {
            "predictions": WHOLE,
            "samples": WHOLE,
            "bandwidths": POSITIVE - {"empty", "axes"},
        },
        predictions=4,
        samples=4,
        bandwidths=0.5,
    ),
    call(
        mmd.noise_rule,
        {"scale": NOT_NEGATIVE & ONE - HUGE},
        **WIDTHS,
        scale=0.7,
    ),
    call(
        mmd.ball_mean_square,
        {"radius": NOT_NEGATIVE & ONE - HUGE, "dimension": WHOLE},
        radius=1.0,
        dimension=4,
    ),
    call(
        mmd.total_loss,
        {
            "uniformity": ONE,
            "degeneracy": NOT_NEGATIVE & ONE,
            "detachment": NOT_NEGATIVE & ONE,
            "degeneracy_weight": NOT_NEGATIVE & ONE,
            "detachment_weight": NOT_NEGATIVE & ONE,
        },
        uniformity=0.1,
        degeneracy=0.1,
        detachment=0.2,
        degeneracy_weight=0.4,
        detachment_weight=1.0,
    ),
    call(
        mmd.binary_task_count,
        {"classes": WHOLE, "ordered": FLAG},
        classes=10,
        ordered=False,
    ),
    call(
        mmd.SubExponential,
        {"nu_squared": POSITIVE & ONE, "alpha": POSITIVE & ONE - {"tiny"}},
        nu_squared=4.0,
        alpha=4.0,
    ),
    call(
        PART.scaled,
        {"factor": POSITIVE & ONE - {"tiny", "huge"}},
        factor=0.5,
    ),
    call(
        PART.log_moment_bound,
        {"lam": frozenset({"zero", "tiny", "empty"})},
        lam=0.1,
    ),
    call(PART.tail_bound, {"t": NOT_NEGATIVE}, t=1.0),
    call(mmd.sub_exponential_sum, {}, parts=[PART, PART]),
    call(
        mmd.chi_square_log_moment,
        {"lam": frozenset({"minus", "zero", "tiny", "empty"})},
        lam=0.1,
    ),
    call(
        mmd.tail_bound,
        {
            "radius": NOT_NEGATIVE,
            "variances": frozenset({"pair", "own huge"}),
            "counts": NONE,
        },
        radius=3.0,
        variances=np.array([1.0, 2.0]),
        counts=np.array([3, 4]),
        form="intermediate",
    ),
    call(
        mmd.norm_tail,
        {"radius": NOT_NEGATIVE, "count": WHOLE, "variance": POSITIVE & ONE},
        radius=3.0,
        count=4,
        variance=1.0,
    ),
    call(
        mmd.vacuous_radius,
        {"variances": frozenset({"pair", "own huge"}), "counts": NONE},
        variances=np.array([1.0, 2.0]),
        counts=np.array([3, 4]),
    ),
    call(mmd.least_square_norm, {"classes": WHOLE}, classes=4),
    call(mmd.coverage_radius, {"classes": WHOLE}, classes=4, form="sharp"),
    call(
        mmd.coverage_bound,
        {"distance": NOT_NEGATIVE, "classes": WHOLE},
        distance=0.25,
        classes=4,
        form="sharp",
    ),
    call(mmd.degeneracy_loss, {}, predictions=X[np.newaxis]),
    call(mmd.degeneracy_floor, {"classes": WHOLE}, classes=4),
    call(mmd.segment_degeneracy_loss, {"p": frozenset({"own shorter"})}, p=X),
    call(
        mmd.jacobian_row_moments,
        {
            "inputs": WHOLE,
            "weight_variance": NONE | POSITIVE & ONE - {"huge"},
            "active": UNIT & ONE,
        },
        inputs=4,
        weight_variance=0.5,
        active=0.5,
    ),
    call(
        mmd.jacobian_chain,
        {"noise": NOT_NEGATIVE & ONE - HUGE},
        **WIDTHS,
        start="xavier",
        noise=0.5,
    ),
    call(mmd.detachment_limit, {}, **WIDTHS, start="xavier"),
    call(
        mmd.layer_jacobians,
        {"weights": OWN_HUGE, "biases": OWN_HUGE, "x": OWN_HUGE},
        weights=LAYERS,
        biases=[np.zeros(2), np.zeros(2)],
        x=ROWS,
    ),
    call(
        mmd.detachment_loss,
        {"jacobians": frozenset({"own shorter"})},
        jacobians=[np.ones((1, 2, 3)), np.ones((1, 2, 2))],
    ),
)

AXIS = frozenset({"own axis"})
LEADING = frozenset({"pair", "axes", "own axis"})
LIKE_RHO = {"outputs": LEADING, "labels": AXIS}
DECAY = {"weight_decay": NOT_NEGATIVE}
ONE_DECAY = {"weight_decay": NOT_NEGATIVE & ONE}
NETWORK = {"weights": AXIS | OWN_HUGE, "x": AXIS | OWN_HUGE | {"axes"}}
TIMES = {"t": frozenset(UNIT)}
TRAINED: Any = {"rho": 1.0, "directions": V, "x": ROWS, "labels": Y}
FLOWS: Any = {
    "x": ROWS,
    "labels": Y,
    "weight_decay": 0.1,
    "t_end": 1.0,
    "rtol": 1e-10,
    "atol": 1e-12,
    "t_eval": np.array([0.0, 1.0]),
    "max_steps": 1000,
}
STEPPED = {
    "weight_decay": ABOVE | {"zero", "tiny", "half", "three"},
    "t_end": ABOVE | {"three"},
    "rtol": frozenset({"half"}),
    "atol": ABOVE | {"half", "three", "giant"},
    "t_eval": NONE | UNIT - {"empty", "axes"} | {"own shorter"},
}

SQUARE_LOSS = (
    call(sl.rho_equilibrium, LIKE_RHO | DECAY, **RHO, weight_decay=0.1),
    call(
        sl.rho_velocity,
        {"rho": POSITIVE, "weight_decay": NOT_NEGATIVE - HUGE} | LIKE_RHO,
        rho=1.0,
        **RHO,
        weight_decay=0.1,
    ),
    call(
        sl.lagrange_multiplier,
        {"rho": POSITIVE - HUGE} | LIKE_RHO,
        rho=1.0,
        **RHO,
    ),
    call(
        sl.equilibrium_distance,
        {"rho": POSITIVE} | LIKE_RHO | DECAY,
        rho=1.0,
        **RHO,
        weight_decay=0.1,
    ),
    call(sl.off_sphere_rate, {"rho": POSITIVE - HUGE} | LIKE_RHO, rho=1.0, **RHO),
    call(
        sl.rho_trajectory,
        {"t": NOT_NEGATIVE, "rho0": POSITIVE} | LIKE_RHO | DECAY,
        t=1.0,
        rho0=1.0,
        **RHO,
        weight_decay=0.1,
    ),
    call(
        sl.settling_time,
        {"fraction": UNIT - {"zero"}, "outputs": LEADING | {"own shorter"}} | DECAY,
        fraction=0.5,
        outputs=F,
        weight_decay=0.1,
    ),
    call(
        sl.stability_limit,
        {"outputs": LEADING | {"own shorter"}, "momentum": UNIT} | DECAY,
        outputs=F,
        weight_decay=0.1,
        momentum=0.5,
    ),
    call(
        sl.rho_iterates,
        {
            "steps": MANY,
            "rho0": POSITIVE - HUGE,
            "rate": POSITIVE - LARGE,
            "momentum": UNIT,
        }
        | LIKE_RHO
        | {"weight_decay": NOT_NEGATIVE - LARGE},
        steps=2,
        rho0=1.0,
        **RHO,
        weight_decay=0.1,
        rate=0.1,
        momentum=0.5,
    ),
    call(
        sl.unnormalised_equilibrium,
        LIKE_RHO | DECAY | {"depth": WHOLE, "outputs": LEADING | OWN_HUGE},
        **RHO,
        weight_decay=0.01,
        depth=4,
    ),
    call(
        sl.unnormalised_barrier,
        LIKE_RHO | DECAY | {"depth": WHOLE, "outputs": LEADING | OWN_HUGE},
        **RHO,
        weight_decay=0.01,
        depth=4,
    ),
    call(
        sl.critical_weight_decay,
        LIKE_RHO | {"depth": WHOLE, "outputs": LEADING | OWN_HUGE},
        **RHO,
        depth=4,
    ),
    call(sl.outputs, NETWORK | {"linear": FLAG}, weights=V, x=ROWS, linear=False),
    call(sl.norms, {"weights": OWN}, weights=V),
    call(sl.normalise, {"weights": OWN}, weights=V),
    call(
        sl.output_bound,
        NETWORK | {"x": AXIS | {"axes"} | OWN_HUGE},
        weights=V,
        x=ROWS,
    ),
    call(
        sl.layer_gradients,
        NETWORK | {"linear": FLAG},
        weights=V,
        x=ROWS,
        linear=False,
    ),
    call(
        sl.weighted_gradients,
        NETWORK
        | {"x": AXIS | OWN_HUGE, "coefficients": LEADING | OWN_HUGE, "linear": FLAG},
        weights=V,
        x=ROWS,
        coefficients=F,
        linear=False,
    ),
    call(
        sl.aligned_directions,
        {"vectors": frozenset({"own huge", "own shorter", "ragged"})},
        vectors=[np.ones(2), np.ones(1)],
    ),
    call(
        sl.directions_velocity,
        {"rho": POSITIVE & ONE - HUGE, "directions": AXIS, "x": AXIS, "labels": AXIS},
        **TRAINED,
    ),
    call(
        sl.weights_velocity,
        {
            "weights": AXIS,
            "x": AXIS,
            "labels": AXIS,
            "weight_decay": NOT_NEGATIVE & ONE - HUGE,
        },
        weights=V,
        x=ROWS,
        labels=Y,
        weight_decay=0.1,
    ),
    call(
        sl.direction_from_weight_velocity,
        {"weight": OWN_HUGE, "weight_velocity": OWN_HUGE},
        weight=W,
        weight_velocity=W + 1.0,
    ),
    call(sl.critical_residual, {"rho": POSITIVE & ONE}, **TRAINED),
    call(sl.per_sample_residual, {"x": OWN_HUGE}, directions=V, x=ROWS[:1]),
    call(sl.projected_kernel, {}, directions=V, x=ROWS),
    call(sl.overshoot_curvature, {"rho": POSITIVE & ONE - HUGE}, **TRAINED),
    call(sl.alignment_gap, {}, direction=V[0]),
    call(
        sl.ridge_solution,
        ONE_DECAY | {"x": OWN - AXIS, "y": OWN_HUGE | {"pair"}},
        x=ROWS,
        y=Y,
        weight_decay=0.1,
    ),
    call(
        sl.linear_minimiser,
        ONE_DECAY | {"x": OWN - AXIS, "widths": frozenset({"empty", "own shorter"})},
        x=ROWS,
        labels=Y,
        weight_decay=0.1,
        widths=(3,),
    ),
    call(
        sl.regularisation_path,
        {
            "x": frozenset({"own shorter"}),
            "weight_decay": OWN - AXIS | NOT_NEGATIVE - {"empty", "axes"},
        },
        x=ROWS,
        labels=Y,
        weight_decay=np.array([0.1, 1.0]),
    ),
    call(
        sl.maximum_margin,
        {"x": OWN_HUGE},
        x=ROWS,
        labels=Y,
    ),
    call(
        sl.cluster_equilibrium,
        {"weight_decay": NOT_NEGATIVE & ONE - LARGE, "overlap": frozenset({"tiny"})},
        sizes=[2, 1],
        overlap=0.2,
        weight_decay=0.1,
    ),
    call(sl.typical_output, {}, widths=[4, 3]),
    call(
        sl.linear_mode,
        {
            "time": NOT_NEGATIVE,
            "start": POSITIVE & ONE,
            "target": POSITIVE & ONE,
        },
        time=0.5,
        start=0.1,
        target=2.0,
    ),
    call(
        sl.exponential_multiplier,
        {"rho": POSITIVE, "outputs": LEADING | OWN_HUGE, "labels": AXIS},
        rho=1.0,
        **RHO,
    ),
    call(sl.gram_offdiagonal_rms, {"rows": WHOLE}, rows=4),
    call(sl.rademacher_linear, {"x": OWN - AXIS}, x=ROWS),
    call(sl.rademacher_linear_bound, {"examples": WHOLE}, examples=4),
    call(
        sl.rademacher_bound,
        {"examples": WHOLE, "depth": WHOLE},
        examples=4,
        depth=2,
    ),
    call(sl.ramp_loss, {"margins": REAL, "gamma": POSITIVE}, margins=0.2, gamma=0.5),
    call(
        sl.margin_bound,
        {
            "outputs": OWN_HUGE | {"pair"},
            "gamma": UNIT & ONE - {"zero", "tiny"},
            "depth": WHOLE,
            "confidence": frozenset({"tiny", "half"}),
            "data_dependent": FLAG,
        },
        **RHO,
        gamma=0.5,
        depth=2,
        confidence=0.95,
        data_dependent=True,
    ),
    call(
        sl.vacuous_below,
        {"rho": POSITIVE & ONE - HUGE, "depth": WHOLE},
        rho=20.0,
        depth=4,
    ),
    call(sl.gram_deviation_mean, {"rows": WHOLE, "columns": WHOLE}, rows=4, columns=5),
    call(
        sl.gram_deviation_variance,
        {"rows": WHOLE, "columns": WHOLE},
        rows=4,
        columns=5,
    ),
    call(sl.gram_spectrum_edges, {"rows": WHOLE, "columns": WHOLE}, rows=4, columns=5),
    call(
        sl.torch_scale,
        {
            "weight_decay": NOT_NEGATIVE & ONE,
            "rate": POSITIVE & ONE,
            "momentum": UNIT & ONE,
            "batch": NONE | WHOLE,
        },
        reduction="sum",
        weight_decay=0.1,
        examples=10,
        rate=0.1,
        momentum=0.5,
        decayed="all",
        batch=5,
    ),
    call(
        sl.largest_stable_width,
        {"rate": POSITIVE - {"tiny"}, "momentum": UNIT},
        rate=0.1,
        momentum=0.5,
    ),
    call(
        sl.gradient_flow,
        STEPPED | {"rho0": ABOVE | {"tiny", "half", "three"}, "linear": FLAG},
        directions=V,
        rho0=1.0,
        linear=False,
        **FLOWS,
    ),
    call(
        sl.weight_normalised_flow,
        STEPPED | {"scale": ABOVE | {"tiny", "half", "three"}},
        scale=1.0,
        vectors=V,
        **FLOWS,
    ),
    call(sl.unnormalised_flow, STEPPED, weights=V, **FLOWS),
    call(FLOW.rho_at, TIMES, t=0.5),
    call(FLOW.parameters, TIMES, t=0.5),
    call(FLOW.directions, TIMES, t=0.5),
    call(FLOW.outputs, TIMES, t=0.5),
    call(FLOW.rho_equilibrium, TIMES, t=0.5),
    call(FLOW.loss, TIMES, t=0.5),
)

MATRICES = (
    call(
        matrices.Inputs,
        {"v": OWN - AXIS, "norms": OWN_HUGE, "share": HALF, "rest": HALF},
        v=X,
        norms=np.ones(3),
        share=0.5,
        rest=0.5,
    ),
    call(matrices.least_distance, {}, inputs=matrices.Inputs(W, np.ones(2))),
)

D: Any = {"delta": 0.1, "mu": 0.3}
BOUND: Any = {"depth": 5, **D}
IMAGE = np.arange(1.0, 50.0).reshape(7, 7) % 8
FILTER = np.ones((9, 1))
STEPS: Any = {
    "steps": 3,
    "learning_rate": 1e-4,
    "momentum": 0.5,
    "loss": "mean",
}
TANH = act.tanh.normalized()
MINE = act.from_function(lambda x: np.tanh(x) + 0.1 * x * x, name="mine")

CONDITIONING = (
    call(
        dc.correlation_bound,
        {"depth": NOT_NEGATIVE, "delta": UNIT - {"zero"}, "mu": ARRAYS | {"half"}},
        **BOUND,
    ),
    call(dc.correlation_envelope, {"depth": MANY, "delta": UNIT, "mu": UNIT}, **BOUND),
    call(
        dc.one_layer_bound,
        {"delta": UNIT, "mu": UNIT, "middle": FLAG},
        **D,
        middle=False,
    ),
    call(
        dc.depth_for_condition_number,
        {
            "delta": UNIT - {"zero"},
            "mu": ARRAYS | {"half"},
            "n": SEVERAL,
            "target": POSITIVE & ONE - {"half", "tiny"} | {"empty", "none"},
        },
        **D,
        n=3,
        target=2.0,
        assumption="A",
    ),
    call(
        dc.eigenvalue_transfer,
        {"value_at_one": REAL, "value_at_rest": REAL},
        value_at_one=1.0,
        value_at_rest=0.25,
    ),
    call(
        dc.nngp_condition_bound,
        {
            "depth": MANY,
            "delta": UNIT - {"zero"},
            "mu": ARRAYS | {"half"},
            "n": SEVERAL,
        },
        **BOUND,
        n=3,
        assumption="B",
        form="attained",
    ),
    call(
        dc.nngp_min_eigenvalue_bound,
        {"depth": MANY, "delta": UNIT - {"zero"}, "mu": ARRAYS | {"half"}},
        **BOUND,
        form="attained",
    ),
    call(
        dc.fixed_point_convergence,
        {"delta": UNIT - {"zero"}},
        activation=act.gelu,
        delta=0.1,
    ),
    call(
        dc.unit_slope_bound,
        {"depth": NOT_NEGATIVE, "nu": UNIT, "wait": MANY},
        depth=5,
        nu=0.3,
        wait=2,
    ),
    call(dc.burn_in_depth, {"delta": UNIT - {"zero"}, "mu": ARRAYS | {"half"}}, **D),
    call(
        dc.derivative_bound, {"delta": UNIT - {"zero"}, "mu": UNIT}, **D, form="sharp"
    ),
    call(
        dc.ntk_condition_bound,
        {
            "depth": SEVERAL,
            "delta": UNIT - {"zero"},
            "mu": ARRAYS | {"half"},
            "n": SEVERAL,
        },
        **BOUND,
        n=3,
        assumption="B",
        form="sharp",
    ),
    call(
        dc.ntk_diagonal,
        {"depth": SEVERAL, "slope": POSITIVE, "log": FLAG},
        depth=5,
        slope=1.5,
        log=True,
    ),
    call(
        dc.ntk_min_eigenvalue_bound,
        {"depth": MANY, "delta": UNIT - {"zero"}, "mu": ARRAYS | {"half"}},
        **BOUND,
        form="attained",
    ),
    call(
        dc.ntk_ratio_bound,
        {"depth": MANY, "delta": UNIT - {"zero"}, "mu": ARRAYS | {"half"}},
        **BOUND,
        form="attained",
    ),
    call(
        dc.ntk_threshold_depth,
        {"delta": UNIT - {"zero"}, "mu": ARRAYS | {"half"}, "n": SEVERAL},
        **D,
        n=3,
        assumption="A",
        form="sharp",
    ),
)

LENGTHS = (
    call(
        lengths.normrelu_bias,
        {"gamma": POSITIVE, "c": REAL - {"giant", "huge"}},
        gamma=0.5,
        c=-1.0,
    ),
    call(
        lengths.normrelu_length,
        {"gamma": POSITIVE, "c": REAL - {"giant", "huge"}},
        gamma=0.5,
        c=-1.0,
    ),
    call(
        lengths.normrelu_length_slope,
        {"gamma": POSITIVE, "c": REAL - {"giant", "huge"}},
        gamma=0.5,
        c=-1.0,
    ),
    call(
        lengths.normrelu_decay,
        {
            "gamma_x": ARRAYS | {"half", "one and a bit"},
            "gamma_y": ARRAYS | {"half", "one and a bit"},
            "delta": ARRAYS | {"half"},
        },
        gamma_x=0.5,
        gamma_y=1.5,
        delta=0.5,
        activation=act.normrelu(),
    ),
    call(
        lengths.NormReLUDecay(0.5, 0.1, 0.2, 0.9).bound,
        {"rho": UNIT | {"minus"}, "depth": MANY},
        rho=0.5,
        depth=3,
    ),
    call(
        lengths.unstable_length,
        {"c": frozenset({"empty"}), "excess": FLAG},
        c=-0.1,
        excess=True,
    ),
    call(
        lengths.odd_correlation_bound,
        {"rho": UNIT | {"minus"}, "mu_x": UNIT, "mu_y": UNIT},
        rho=0.5,
        mu_x=0.2,
        mu_y=0.3,
    ),
    call(
        lengths.correlation_bound_any_length,
        {
            "gamma_x": POSITIVE - {"huge", "tiny"},
            "gamma_y": POSITIVE - {"huge", "tiny"},
            "delta": UNIT - {"zero"},
            "depth": MANY,
        },
        activation=TANH,
        gamma_x=2.0,
        gamma_y=0.5,
        delta=0.1,
        depth=7,
    ),
    call(
        lengths.settling_depth,
        {
            "gamma_x": POSITIVE - {"huge", "tiny"},
            "gamma_y": POSITIVE - {"huge", "tiny"},
        },
        activation=TANH,
        gamma_x=2.0,
        gamma_y=1.0,
    ),
    call(
        lengths.chord_rate, {"least": frozenset({"half"})}, activation=TANH, least=0.3
    ),
    call(
        lengths.generalised_mu,
        {"gamma": POSITIVE - {"tiny", "huge", "giant"}},
        activation=act.tanh,
        gamma=2.0,
    ),
    call(
        lengths.joint_trajectory,
        {
            "gamma_x": ARRAYS | ABOVE | WHOLE | {"half"},
            "gamma_y": ARRAYS | ABOVE | WHOLE | {"half"},
            "rho": UNIT | {"minus"},
            "depth": COUNT,
        },
        activation=TANH,
        gamma_x=2.0,
        gamma_y=0.5,
        rho=0.9,
        depth=2,
    ),
    call(
        lengths.length_trajectory,
        {"gamma": POSITIVE - {"tiny"}, "depth": COUNT},
        activation=act.relu,
        gamma=1.0,
        depth=2,
    ),
    call(
        lengths.rest_share,
        {"gamma": POSITIVE - {"tiny", "huge", "giant"}},
        activation=act.normrelu(),
        gamma=0.5,
    ),
)

COUNTS: Any = {"nullity": 10, "channels": 3}
IDENTITY = (
    call(
        im.fcn_parameter_count,
        {
            "input_dim": WHOLE,
            "width": WHOLE,
            "layers": WHOLE,
            "output_dim": NONE | WHOLE,
        },
        input_dim=7,
        width=8,
        layers=4,
        output_dim=3,
    ),
    call(
        im.cnn_parameter_count,
        {
            "kernel_size": WHOLE,
            "channels": WHOLE,
            "layers": WHOLE,
            "image_channels": WHOLE,
        },
        kernel_size=5,
        channels=8,
        layers=4,
        image_channels=1,
    ),
    call(
        im.coverage,
        {
            "kernel_size": WHOLE,
            "height": WHOLE,
            "width": WHOLE,
            "row": COUNT,
            "column": COUNT,
        },
        kernel_size=5,
        height=7,
        width=7,
        row=0,
        column=0,
    ),
    call(
        im.initial_variance,
        {"fan_in": WHOLE, "fan_out": WHOLE},
        scheme="default",
        fan_in=6,
        fan_out=10,
    ),
    call(
        im.relu_shrink,
        {"fan_in": WHOLE, "fan_out": WHOLE},
        scheme="default",
        fan_in=6,
        fan_out=10,
    ),
    call(
        im.wide_signals,
        {
            "kernel_size": WHOLE,
            "layers": WHOLE,
            "weight_var": NOT_NEGATIVE & ONE - {"huge"},
            "bias_var": NOT_NEGATIVE & ONE | {"pair"},
        },
        image=np.eye(3),
        other=np.ones((3, 3)),
        kernel_size=3,
        layers=2,
        weight_var=0.5,
        bias_var=0.1,
    ),
    call(
        im.promise,
        {
            "image": OWN - {"own huge", "own axis"},
            "kernel_size": WHOLE,
            "scale": POSITIVE & ONE - {"huge"},
            "delta": frozenset({"half", "tiny"}),
            "pixel_bound": NONE | NOT_NEGATIVE & ONE - {"huge"},
            "rank_tolerance": NONE | UNIT & ONE,
        },
        image=IMAGE,
        kernel_size=3,
        scale=0.1,
        delta=0.05,
        pixel_bound=10.0,
        form="sharp",
        rank_tolerance=1e-9,
    ),
    call(
        im.receptive_field,
        {"kernel_size": WHOLE, "layers": WHOLE},
        kernel_size=5,
        layers=4,
    ),
    call(
        im.direction_bound,
        {
            "nullity": COUNT,
            "channels": WHOLE,
            "delta": frozenset({"half"}),
            "constant": NONE | {"giant", "huge"},
        },
        **COUNTS,
        delta=0.05,
        constant=20.0,
        form="printed",
    ),
    call(
        im.mse_bound,
        {
            "nullity": COUNT,
            "channels": WHOLE,
            "kernel_size": WHOLE,
            "pixel_bound": NOT_NEGATIVE & ONE - {"huge"},
            "scale": POSITIVE & ONE - {"huge"},
            "delta": frozenset({"half"}),
            "constant": NONE | {"giant", "huge"},
        },
        **COUNTS,
        kernel_size=3,
        pixel_bound=1.0,
        scale=0.1,
        delta=0.05,
        constant=20.0,
        form="printed",
    ),
    call(
        im.mse_order,
        {"kernel_size": WHOLE, "channels": WHOLE, "rank": COUNT},
        kernel_size=3,
        channels=3,
        rank=12,
    ),
    call(
        im.patch_norm_bound,
        {
            "kernel_size": WHOLE,
            "channels": WHOLE,
            "pixel_bound": NOT_NEGATIVE & ONE - {"huge"},
        },
        kernel_size=3,
        channels=3,
        pixel_bound=0.5,
    ),
    call(
        im.selector_norm_bound,
        {"nullity": COUNT, "channels": WHOLE},
        **COUNTS,
        form="sharp",
    ),
    call(
        im.split_patch_bound,
        {
            "image": frozenset({"own shorter"}),
            "kernel_size": WHOLE,
            "rank_tolerance": NONE | UNIT & ONE,
        },
        image=W,
        kernel_size=3,
        w0=FILTER,
        form="corrected",
        rank_tolerance=1e-9,
    ),
    call(
        im.worst_patch_error,
        {
            "image": frozenset({"own shorter"}),
            "kernel_size": WHOLE,
            "rank_tolerance": NONE | UNIT & ONE,
        },
        image=W,
        kernel_size=3,
        w0=FILTER,
        rank_tolerance=1e-9,
    ),
    call(
        im.chi_square_tail,
        {"zeta": NOT_NEGATIVE, "dof": POSITIVE - {"tiny"}},
        zeta=4.0,
        dof=3,
    ),
    call(
        im.chi_square_tail_bound,
        {
            "zeta": POSITIVE & ONE - {"half", "tiny"} | {"empty"},
            "dof": POSITIVE - {"tiny"},
        },
        zeta=4.0,
        dof=3,
    ),
    call(
        im.least_constant,
        {"nullity": WHOLE, "channels": WHOLE, "delta": UNIT & ONE - {"zero"}},
        **COUNTS,
        delta=0.05,
    ),
    call(
        im.least_failure_probability,
        {"nullity": COUNT, "channels": WHOLE, "constant": WHOLE | ABOVE | LARGE},
        **COUNTS,
        constant=20.0,
        form="sharp",
    ),
    call(
        im.linear_convolution_identity,
        {"kernel_size": WHOLE, "layers": WHOLE, "channels": NONE | WHOLE},
        kernel_size=3,
        image_channels=1,
        layers=2,
        channels=2,
    ),
    call(
        im.relu_convolution_identity,
        {"kernel_size": WHOLE, "layers": WHOLE, "channels": NONE | WHOLE},
        kernel_size=3,
        image_channels=1,
        layers=2,
        channels=2,
    ),
    call(
        im.linear_identity,
        {"dim": WHOLE, "layers": WHOLE, "width": NONE | WHOLE},
        dim=2,
        layers=2,
        width=4,
    ),
    call(im.relu_identity, {"layers": WHOLE, "width": NONE}, dim=2, layers=2, width=4),
    call(
        im.expected_mse,
        {
            "image": frozenset({"own shorter"}),
            "kernel_size": WHOLE,
            "test_image": frozenset({"own shorter"}),
            "scale": POSITIVE & ONE - {"huge"},
            "steps": MANY | NONE,
            "learning_rate": UNIT - {"zero"} | ABOVE | {"three"},
            "momentum": UNIT,
            "rank_tolerance": NONE | UNIT & ONE,
        },
        image=IMAGE,
        kernel_size=3,
        test_image=W,
        scale=0.5,
        **STEPS,
        rank_tolerance=1e-9,
    ),
    call(
        im.one_layer_conv_mse,
        {
            "image": frozenset({"own shorter"}),
            "test_image": frozenset({"own shorter"}),
            "w0": AXIS,
            "steps": MANY | NONE,
            "learning_rate": UNIT - {"zero"} | ABOVE | {"three"},
            "momentum": UNIT,
            "rank_tolerance": NONE | UNIT & ONE,
        },
        image=IMAGE,
        test_image=W,
        w0=FILTER,
        **STEPS,
        rank_tolerance=1e-9,
    ),
    call(
        im.one_layer_conv_prediction,
        {
            "image": frozenset({"own shorter"}),
            "test_image": frozenset({"own shorter"}),
            "w0": AXIS,
            "steps": MANY | NONE,
            "learning_rate": POSITIVE - {"huge"},
            "momentum": UNIT,
            "rank_tolerance": NONE | UNIT & ONE,
        },
        image=IMAGE,
        test_image=W,
        w0=FILTER,
        **STEPS,
        rank_tolerance=1e-9,
    ),
    call(
        im.one_layer_conv_weights,
        {
            "image": frozenset({"own shorter"}),
            "kernel_size": WHOLE,
            "w0": AXIS,
            "steps": MANY | NONE,
            "learning_rate": POSITIVE - {"huge"},
            "momentum": UNIT,
            "rank_tolerance": NONE | UNIT & ONE,
        },
        image=IMAGE,
        kernel_size=3,
        w0=FILTER,
        **STEPS,
        rank_tolerance=1e-9,
    ),
    call(
        im.expected_cosine_to_input,
        {"rho": UNIT | {"minus"}, "scale": POSITIVE & ONE, "dim": WHOLE},
        rho=0.5,
        scale=0.5,
        dim=9,
        form="exact",
    ),
    call(
        im.expected_cosine_to_train,
        {"rho": UNIT | {"minus"}, "scale": POSITIVE & ONE, "dim": WHOLE},
        rho=0.5,
        scale=0.5,
        dim=9,
        form="exact",
    ),
    call(
        im.expected_squared_cosine_to_train,
        {"rho": UNIT | {"minus"}, "scale": POSITIVE & ONE, "dim": WHOLE},
        rho=0.5,
        scale=0.5,
        dim=9,
    ),
    call(
        im.expected_squared_norm,
        {"rho": UNIT | {"minus"}, "scale": POSITIVE & ONE - {"huge"}, "dim": WHOLE},
        rho=0.5,
        scale=0.5,
        dim=9,
    ),
    call(
        im.learning_rate_limit,
        {"curvature": POSITIVE - {"tiny"}, "momentum": UNIT},
        curvature=2.0,
        momentum=0.5,
    ),
    call(
        im.least_squares_weights,
        {
            "y": OWN_HUGE,
            "w0": OWN_HUGE,
            "steps": MANY | NONE,
            "learning_rate": POSITIVE - {"huge"},
            "momentum": UNIT,
            "rank_tolerance": NONE | UNIT & ONE,
        },
        x=X,
        y=X,
        w0=W,
        **{**STEPS, "learning_rate": 0.1},
        rank_tolerance=1e-9,
    ),
    call(
        im.scheduled_factors,
        {
            "learning_rates": frozenset({"empty", "pair", "own shorter"}),
            "curvature": NOT_NEGATIVE & ONE - HUGE,
            "momentum": UNIT & ONE,
        },
        learning_rates=np.array([0.1, 0.2]),
        curvature=1.0,
        momentum=0.5,
    ),
    call(
        im.residual_factors,
        {
            "steps": MANY,
            "learning_rate": POSITIVE - {"huge"},
            "curvature": NOT_NEGATIVE - {"huge"},
            "momentum": UNIT,
        },
        steps=2,
        learning_rate=0.5,
        curvature=1.0,
        momentum=0.5,
    ),
    call(
        im.curvature,
        {"x_train": frozenset({"own shorter", "pair"})},
        x_train=F,
        loss="mean",
    ),
    call(
        im.one_layer_prediction,
        {"x": LEADING | OWN_HUGE, "x_train": OWN_HUGE | {"pair"}, "w0": OWN_HUGE},
        x=X,
        x_train=F,
        w0=W,
    ),
    call(
        im.one_layer_weights,
        {
            "x_train": frozenset({"pair"}),
            "w0": OWN_HUGE,
            "steps": MANY | NONE,
            "learning_rate": POSITIVE - {"huge"},
            "momentum": UNIT,
        },
        x_train=F,
        w0=W,
        **STEPS,
    ),
    call(
        im.orthogonal_law,
        {"x": frozenset({"own shorter", "pair"}), "scale": POSITIVE & ONE - {"huge"}},
        x=F,
        scale=0.5,
    ),
    call(
        im.orthogonal_prediction,
        {"x": AXIS | OWN_HUGE, "x_train": OWN_HUGE},
        x=[0.0, 2.0],
        x_train=[1.0, 0.0],
        w0=W,
    ),
    call(
        im.two_layer_orthogonal_law,
        {
            "x": frozenset({"own shorter", "pair"}),
            "scale": POSITIVE & ONE - {"huge"},
            "readout": frozenset({"own shorter", "pair"}),
        },
        x=F,
        scale=0.5,
        readout=Y,
    ),
    call(
        im.centre_selector,
        {"kernel_size": WHOLE, "channels": WHOLE},
        kernel_size=3,
        channels=2,
    ),
    call(
        im.patch_rank,
        {
            "image": OWN - {"own huge", "own axis"},
            "kernel_size": WHOLE,
            "rank_tolerance": NONE | UNIT & ONE,
        },
        image=IMAGE,
        kernel_size=3,
        rank_tolerance=1e-9,
    ),
    call(
        im.patches,
        {"image": OWN - {"own huge", "own axis"}, "kernel_size": WHOLE},
        image=IMAGE,
        kernel_size=3,
    ),
    call(
        im.weights_from_framework, {"weights": OWN_HUGE}, weights=np.ones((2, 2, 3, 3))
    ),
    call(
        im.weights_to_framework,
        {"weights": OWN_HUGE, "kernel_size": WHOLE},
        weights=FILTER,
        kernel_size=3,
    ),
    call(
        patch_matrix.decide_rank,
        {
            "singular_values": NOT_NEGATIVE & ONE | {"empty", "own shorter"},
            "rank_tolerance": NONE | UNIT & ONE,
        },
        singular_values=F[:1],
        shape=(3, 1),
        rank_tolerance=1e-9,
    ),
)

ACTIVATIONS = (
    call(
        act.from_function,
        {
            "f": FUNCTION,
            "kinks": ONE - {"tiny"} | {"empty", "pair", "set", "own shorter"},
            "name": NONE | {"text"},
            "derivative": NONE,
        },
        f=np.tanh,
        kinks=(0.5,),
        name="mine",
        derivative=None,
        tolerance=1e-10,
    ),
    call(act.elu, {"alpha": ONE - HUGE}, alpha=0.5),
    call(act.leaky_relu, {"slope": ONE - HUGE}, slope=0.1),
    call(
        act.Affine,
        {"scale": ONE - HUGE, "shift": ONE - HUGE, "is_normalized": FLAG},
        base=act.relu,
        scale=0.5,
        shift=0.1,
        is_normalized=False,
    ),
    call(
        act.HermiteMixture,
        {"name": frozenset({"text"}), "is_normalized": FLAG},
        a=(0.0, 0.5),
        name="mine",
        kinks=(),
        is_normalized=False,
    ),
    call(
        act.PiecewisePolynomial,
        {
            "name": frozenset({"text"}),
            "m": frozenset({"zero"}),
            "is_normalized": FLAG,
            "parity": NONE | {"zero"},
        },
        name="mine",
        m=1,
        poly=(0.5,),
        kinks=(0.3,),
        jumps=(0.5,),
        is_normalized=False,
        known=(),
        parity=None,
    ),
    call(act.hermite, {"k": COUNT}, k=2),
    call(act.normrelu_constants, {"c": ONE - LARGE}, c=-1.0),
    call(
        act.normrelu,
        {"c": NONE, "scale": WHOLE | ABOVE | {"giant", "none"}},
        c=None,
        scale=1.5,
    ),
    call(act.normrelu, {"c": NONE | ONE - LARGE, "scale": NONE}, c=-1.0, scale=None),
    call(
        kernels.Layer,
        {
            "weight_var": WEIGHT & ONE,
            "bias_var": BIAS & ONE,
            "skip": BIAS & ONE,
        },
        activation=act.relu,
        weight_var=2.0,
        bias_var=0.1,
        skip=0.5,
    ),
)


def _methods(a: act.Activation) -> tuple[Call, ...]:
    """Every method of an activation; the range of variances is its own."""
    lists = POSITIVE - {"tiny", *LARGE}
    wide = lists | {k for k in LARGE if SOMETIMES[k] <= a._widest}
    one = wide & ONE
    top = {"exp": LARGE, "hermite(3)": HUGE, "mine": HUGE}.get(a.name, frozenset())
    return (
        call(a.__call__, {"x": REAL - top}, x=0.5),
        *(
            call(
                f,
                {"rho": UNIT | {"minus"}, "var_x": wide, "var_y": wide},
                rho=0.5,
                var_x=2.0,
                var_y=0.5,
            )
            for f in (a.dual, a.dual_derivative)
        ),
        call(a.distance_map, {"delta": UNIT | ABOVE}, delta=0.5),
        call(a.hermite, {"order": COUNT, "var": one}, order=2, var=0.5),
        *(call(f, {"q": wide}, q=2.0) for f in (a.length_map, a.length_map_derivative)),
        call(a.scaled, {"var": one}, var=2.0),
    )


for _a in (
    *(act.relu, act.relu6, act.step, act.tanh, TANH, act.gelu, act.selu),
    *(act.sin, act.exp, act.hermite(3), MINE),
):
    ACTIVATIONS += _methods(_a)

ACTIVATIONS += tuple(
    call(
        f,
        {
            "q": (NOT_NEGATIVE - HUGE) & ONE,
            "order": COUNT,
        },
        q=0.5,
        order=3,
    )
    for f in (
        *(closed.sine, closed.cosine, closed.bump),
        *(closed.error_function, closed.gaussian_linear),
    )
)

KERNEL: Any = {"activation": act.erf, "depth": 2}
VARIANCES = {"weight_var": WEIGHT & ONE, "bias_var": BIAS & ONE}
MAPS = {"rho": UNIT | {"minus"}, "depth": WHOLE}
GIVEN: Any = {"weight_var": 1.5, "bias_var": 0.1}
ROWS_OF = {"y": NONE, "depth": WHOLE, "sphere": FLAG}
PARTS = {"trained": NONE, "normalized": FLAG}
PRIOR = np.eye(3) + 0.5
KERNELS = (
    call(kernels.correlation, {"x": frozenset({"own shorter"})}, x=ROWS_2),
    call(kernels.separation, {"x": frozenset({"own shorter"})}, x=X),
    *(
        call(f, ROWS_OF | VARIANCES | more, x=W, y=y, **KERNEL, **GIVEN, **rest)
        for y in (W, None)
        for f, more, rest in (
            (kernels.nngp, {}, {"sphere": False}),
            *(
                (f, PARTS, {"sphere": False, "normalized": False, "trained": [1]})
                for f in (kernels.ntk, kernels.nngp_ntk)
            ),
        )
    ),
    call(kernels.nngp_map, MAPS | VARIANCES, rho=0.5, **KERNEL, **GIVEN),
    call(
        kernels.ntk_map,
        MAPS | VARIANCES | {"normalized": FLAG},
        rho=0.5,
        **KERNEL,
        **GIVEN,
        normalized=False,
    ),
    *(
        call(f, MAPS | {"width": WHOLE}, rho=0.5, **KERNEL, width=9)
        for f in (
            *(width.nngp_mean, width.nngp_variance),
            *(width.ntk_mean, width.ntk_variance),
        )
    ),
    call(
        width.length_moment,
        {"depth": WHOLE, "width": WHOLE},
        activation=act.relu,
        depth=2,
        width=9,
    ),
)

PULL = (NOT_NEGATIVE & ONE) | OWN_HUGE
AFTER = {"times": NOT_NEGATIVE | {"inf"}, "noise_var": PULL, "ridge": PULL}
PULLS: Any = {"times": 2.0, "noise_var": 0.1, "ridge": 0.1}
KERNELS += (
    call(
        regression.predict,
        {"depth": WHOLE, "covariance": FLAG, "targets": OWN_HUGE | {"pair"}}
        | {"trained": NONE}
        | VARIANCES
        | AFTER,
        x_train=W,
        targets=[1.0, -1.0],
        x_test=X,
        **KERNEL,
        **GIVEN,
        **PULLS,
        kernel="ntk",
        covariance=True,
        sphere=False,
        trained=[1],
    ),
    call(
        regression.predict_from_kernels,
        {"targets": OWN | {"pair"}, "ntk": OWN_HUGE | {"own shorter"}}
        | {"nngp": NONE | OWN_HUGE}
        | AFTER,
        targets=[1.0, -1.0],
        ntk=PRIOR,
        nngp=PRIOR,
        **PULLS,
    ),
)

NETWORKS: Any = {"activation": act.erf, "weight_var": 2.0, "bias_var": 0.1}
VARIED = {"weight_var": POSITIVE, "bias_var": NOT_NEGATIVE}
STARTED = VARIED | {"start": POSITIVE & ONE}
RESTING = {"weight_var": POSITIVE - LARGE, "bias_var": NOT_NEGATIVE - LARGE}
RESTING |= {"start": POSITIVE & ONE}
PHASES = (
    call(
        phase.variance_map,
        VARIED | {"q": POSITIVE - {"tiny", "huge"}, "weight_var": POSITIVE},
        q=1.0,
        **NETWORKS,
    ),
    call(phase.fixed_variances, {k: v & ONE for k, v in VARIED.items()}, **NETWORKS),
    *(
        call(f, STARTED, **NETWORKS, start=1.0)
        for f in (
            *(phase.fixed_variance, phase.fixed_correlation),
            *(phase.fixed_distance, phase.classify, phase.chi_1),
        )
    ),
    call(
        phase.correlation_map,
        RESTING | {"rho": UNIT | {"minus"}},
        rho=0.5,
        **NETWORKS,
        start=1.0,
    ),
    call(
        phase.correlation_distance_map,
        RESTING | {"delta": UNIT | ABOVE},
        delta=0.5,
        **NETWORKS,
        start=1.0,
    ),
    call(
        phase.edge_curve, {"q": POSITIVE - LARGE - {"tiny"}}, q=1.0, activation=act.erf
    ),
    call(
        phase.edge_points,
        {"bias_var": NOT_NEGATIVE & ONE},
        activation=act.erf,
        bias_var=0.1,
    ),
    call(
        phase.edge_of_chaos,
        {"bias_var": NOT_NEGATIVE - LARGE},
        activation=act.erf,
        bias_var=0.1,
    ),
    call(
        diagrams.diagram,
        {"points": {"three"}},
        activation=act.erf,
        weight_var=(0.0, 4.0),
        bias_var=(0.0, 0.5),
        points=4,
    ),
    call(diagrams.reach, {}, activation=act.erf, bias_var=(0.0, 0.5)),
)

AT: Any = {"degree": 2, "dim": 4}
DEGREES = {"degree": MANY, "dim": WHOLE}
DEEP = DEGREES | {"depth": WHOLE}
SPECTRUM = (
    call(spectrum.degree_shares, DEEP, **KERNEL, **AT, kernel="ntk"),
    *(
        call(f, DEEP | {"log": FLAG}, **KERNEL, **AT, log=False)
        for f in (spectrum.nngp_eigenvalues, spectrum.ntk_eigenvalues)
    ),
    call(
        spectrum.taylor_coefficients,
        {"depth": WHOLE, "order": COUNT},
        **KERNEL,
        order=3,
        kernel="nngp",
    ),
    call(
        spectrum.effective_rank,
        {"kernel": FUNCTION, "dim": WHOLE},
        kernel=_square,
        dim=4,
    ),
    call(spectrum.eigenvalues, DEGREES | {"kernel": FUNCTION}, kernel=_square, **AT),
    call(
        spectrum.power_eigenvalues,
        DEGREES | {"power": (NOT_NEGATIVE - LARGE) & ONE},
        power=0.5,
        **AT,
    ),
    call(
        spectrum.series_eigenvalues,
        DEGREES
        | {"coefficients": frozenset({"pair", "own shorter", "own huge"}), "log": FLAG},
        coefficients=[1.0, 0.5],
        **AT,
        log=False,
    ),
    call(
        spectrum.gegenbauer,
        {"degree": COUNT, "rho": UNIT | {"minus"}, "dim": WHOLE},
        rho=0.5,
        **AT,
    ),
    call(spectrum.log_multiplicity, DEGREES, **AT),
    call(spectrum.multiplicity, DEGREES, **AT),
)

CALLS = (
    *MATRICES,
    *GAUSSIAN,
    *OPTIMIZATION,
    *COLLAPSE,
    *MMD,
    *SQUARE_LOSS,
    *CONDITIONING,
    *LENGTHS,
    *IDENTITY,
    *ACTIVATIONS,
    *KERNELS,
    *PHASES,
    *SPECTRUM,
)


# --- the walk -------------------------------------------------------------------------


def _public() -> set[str]:
    """Return every public function, method and checked class of the modules walked."""
    found: set[str] = set()
    for info in pkgutil.walk_packages(theory.__path__, "theory."):
        name = info.name
        if "._" in name or any(f"{name}.".startswith(f"{m}.") for m in INTERNAL):
            continue
        for part in vars(importlib.import_module(name)).values():
            own = getattr(part, "__module__", None) == name and callable(part)
            if not own or part.__name__[0] == "_" or "<" in part.__qualname__:
                continue
            key = f"{name}.{part.__qualname__}"
            if not inspect.isclass(part):
                found.add(key)
                continue
            if hasattr(part, "__post_init__"):
                found.add(key)
            methods = [v for v in vars(part).values() if inspect.isfunction(v)]
            found |= {
                f"{name}.{v.__qualname__}"
                for v in methods
                if v.__name__[0] != "_" and len(inspect.signature(v).parameters) > 1
            }
    exposed = (kernels.Layer, act.Activation.__call__)
    found |= {f"{part.__module__}.{part.__qualname__}" for part in exposed}
    return found - INNER


def test_every_public_function_has_a_call():
    assert _public() ^ {c.key for c in CALLS} == set()


def test_every_argument_is_replaced():
    for c in CALLS:
        # What is told of progress is the caller's own function, with errors of its own.
        names = set(inspect.signature(c.function).parameters) - {"progress"}
        assert set(c.arguments) == names, c.key
        assert set(c.fine) <= set(c.arguments) | {"x", "weights"}, c.key


def _late(_signal: int, _frame: types.FrameType | None) -> None:
    raise TimeoutError


def outcome(c: Call, name: str, value: Any) -> str:
    """Return "refused", "answered", or what is wrong with what the call does."""
    who = c.who
    arguments = {**c.arguments, name: value}
    start = time.process_time()
    timed = hasattr(signal, "setitimer")
    if timed:
        old = signal.signal(signal.SIGPROF, _late)
        signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            out = c.function(**arguments)
            finite = c.infinite or _finite(out)
    except TimeoutError:
        return "hang"
    except (ValueError, TypeError, sl.StabilityWarning, sl.FlowWarning) as error:
        text = str(error)
        named = text.startswith((f"{who}: ", f"{who}[")) and f"`{name}" in text
        if not isinstance(error, Warning):
            says = any(f" {word} " in text for word in ("must", "needs", "give"))
            named = named and says and text[-1] in ".?"
        return "refused" if named else f"raw error: {type(error).__name__}: {text:.150}"
    except Exception as error:
        return f"raw error: {type(error).__name__}: {error!s:.150}"
    finally:
        if timed:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            signal.signal(signal.SIGPROF, old)
    if time.process_time() - start > LONGEST:
        return "hang"
    return "answered" if finite else f"not finite: {out!r:.150}"


def _finite(out: Any) -> bool:
    if isinstance(out, act.Activation):
        return True  # finite values at finite arguments: its own business
    if isinstance(out, sl.Flow):
        return all(map(_finite, (out.t, out.rho, out.energy_error)))
    if dataclasses.is_dataclass(out):
        return all(_finite(getattr(out, f.name)) for f in dataclasses.fields(out))
    if isinstance(out, (tuple, list)):
        return all(map(_finite, out))
    if isinstance(out, np.ndarray) and out.dtype.kind == "U":
        return True
    if out is None or isinstance(out, (str, int)):
        return True
    return bool(np.all(np.isfinite(out)))


def trials(c: Call) -> list[tuple[str, str, str, str]]:
    """Return argument, label of the value, what should happen and what does."""
    out: list[tuple[str, str, str, str]] = []
    for name, valid in c.arguments.items():
        fine = c.fine.get(name, frozenset())
        if fine & HUGE:
            fine |= {"own huge"}
        for label, value in (NEVER | SOMETIMES | _own(valid)).items():
            due = "answered" if label in fine else "refused"
            out.append((name, label, due, outcome(c, name, value)))
    return out


@pytest.mark.parametrize("c", CALLS, ids=lambda c: c.key)
def test_boundary(c):
    valid = c.function(**c.arguments)
    assert _finite(valid)
    wrong = [trial for trial in trials(c) if trial[2] != trial[3]]
    assert wrong == []


# --- arrays ---------------------------------------------------------------------------


def takes_arrays(c: Call) -> list[str]:
    """Arguments that take arrays, by their annotation, and have a number here."""
    parameters = inspect.signature(c.function).parameters
    return [
        name
        for name, value in c.arguments.items()
        if parameters[name].annotation is Any and type(value) in (int, float)
    ]


BROADCAST = [
    (c, pair) for c in CALLS for pair in itertools.combinations(takes_arrays(c), 2)
]


@pytest.mark.parametrize(
    ("c", "names"), BROADCAST, ids=lambda v: v.who if isinstance(v, Call) else str(v)
)
def test_two_arrays_broadcast(c, names):
    shapes = {names[0]: (2, 1), names[1]: (1, 3)}
    arrays = {name: np.full(shapes[name], c.arguments[name]) for name in names}
    out, one = c.function(**{**c.arguments, **arrays}), c.function(**c.arguments)
    shapes = [np.shape(v) for v in _fields(out)]
    assert any((2, 3) in itertools.pairwise(shape) for shape in shapes)
    for many, single in zip(_fields(out), _fields(one), strict=True):
        if np.shape(single) == ():
            # The same formula: rounding of vectorised functions, or of a table.
            np.testing.assert_allclose(many, single, rtol=1e-11)


@pytest.mark.parametrize(
    ("c", "names"), BROADCAST, ids=lambda v: v.who if isinstance(v, Call) else str(v)
)
def test_two_arrays_that_do_not_broadcast_are_named(c, names):
    arrays = {
        name: np.full(size, c.arguments[name])
        for name, size in zip(names, (2, 3), strict=True)
    }
    with pytest.raises(ValueError, match=r"must broadcast|have shape") as refused:
        c.function(**{**c.arguments, **arrays})
    text = str(refused.value)
    assert text.startswith(f"{c.who}: ")
    assert all(f"`{name}`" in text for name in names)


def _fields(out: Any) -> list[Any]:
    """Numbers and arrays of numbers in a result."""
    if dataclasses.is_dataclass(out):
        out = tuple(getattr(out, f.name) for f in dataclasses.fields(out))
    every = out if isinstance(out, tuple) else (out,)
    return [v for v in every if np.asarray(v).dtype.kind in "fiu"]


# --- cases that were answered once ----------------------------------------------------


@pytest.mark.parametrize(
    ("function", "arguments", "text"),
    [
        (dc.ntk_ratio_bound, {"depth": 300, **D, "form": "Sharp"}, "'sharp'"),
        (dc.ntk_threshold_depth, {**D, "n": 3, "form": "Sharp"}, "'sharp'"),
        (dc.derivative_bound, {**D, "form": "Printed"}, "'printed'"),
        (dc.one_layer_bound, {**D, "middle": "no"}, "`middle` must be True or False"),
        (act.relu.dual, {"rho": "0.5"}, "`rho` must be real numbers"),
        (act.relu.dual, {"rho": np.array([0.5 + 0.3j])}, "`rho` must be real numbers"),
        (
            act.relu.dual,
            {"rho": [0.5] * 3, "var_x": [1.0, 2.0]},
            "`rho`, `var_x` and `var_y` must broadcast",
        ),
        (kernels.ntk, {"x": X, **KERNEL, "normalized": "no"}, "True or False"),
        (
            sl.stability_limit,
            {"outputs": F, "weight_decay": 0.1, "momentum": "abc"},
            "`momentum` must",
        ),
        (
            sl.rho_iterates,
            {"steps": 2, "rho0": 1.0, **RHO, "weight_decay": 0.1, "rate": math.nan},
            "`rate` must",
        ),
        (
            mmd.simplex_sample,
            {"count": 4, "classes": 3, "generator": "x"},
            "`generator` must",
        ),
        (act.normrelu, {"scale": 1e308}, r"`scale` must lie in"),
    ],
    ids=lambda v: getattr(v, "__name__", None),
)
def test_named_cases_are_refused(function, arguments, text):
    with pytest.raises((ValueError, TypeError), match=text):
        function(**arguments)


@pytest.mark.parametrize("stiff", ["rho0", "weight_decay", "t_end"])
def test_stiff_flows_refuse_or_finish(stiff):
    arguments = {"directions": V, "rho0": 1.0, **FLOWS, stiff: 1e9}
    if stiff == "t_end":
        arguments["t_eval"] = None
    what = outcome(call(sl.gradient_flow, {}, **arguments), stiff, 1e9)
    assert what in ("refused", "answered")  # not a hang


if __name__ == "__main__":
    counts = Counter(what.partition(":")[0] for c in CALLS for *_, what in trials(c))
    sys.stdout.write(f"{sum(counts.values())} calls: {dict(counts)}\n")
