"""What identity-map forms refuse beside what `test_boundary.py` puts everywhere."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from theory import identity_map as idm

EPS = float(np.finfo(float).eps)
NAN, INF = math.nan, math.inf
WHOLE = (0, -3, 1.5, 2.0, True, NAN, "x", None)
IMAGE = np.arange(9.0).reshape(3, 3) % 4
W0 = np.zeros((25, 1))
EYE = np.eye(3)
CASE = {"pixel_bound": 1.0, "scale": 0.1, "delta": 0.05}

EVEN = (2, 4)
IMAGES = (
    np.zeros(5),
    np.zeros((0, 3)),
    np.zeros((3, 0, 1)),
    np.zeros((3, 3, 0)),
    np.zeros((2, 2, 2, 2)),
    [[NAN, 1.0]],
    [[INF, 1.0]],
    [["a"]],
    None,
)
TRAINING = (*IMAGES, np.zeros((3, 3)))
STEPS = ([3, -1], 2**60, [[1], [2, 3]])
MOMENTUM = (NAN, -1.0, 1.0, [0.5, 1.0])
TOLERANCE = (1.0, 1.5, [0.1, 0.2])
DESCENTS = [
    ("one_layer_weights", lambda **k: idm.one_layer_weights([1.0, 0, 0], EYE, **k)),
    (
        "least_squares_weights",
        lambda **k: idm.least_squares_weights(EYE, EYE, EYE, **k),
    ),
    (
        "one_layer_conv_weights",
        lambda **k: idm.one_layer_conv_weights(IMAGE, 5, W0, **k),
    ),
    (
        "one_layer_conv_prediction",
        lambda **k: idm.one_layer_conv_prediction(IMAGE, IMAGE, W0, **k),
    ),
    (
        "one_layer_conv_mse",
        lambda **k: idm.one_layer_conv_mse(IMAGE, IMAGE, W0, **k),
    ),
    (
        "expected_mse",
        lambda **k: idm.expected_mse(IMAGE, 3, IMAGE, scale=1.0, **k),
    ),
]
"""Every function that follows descent, in the limit or to some step."""

CASES = [
    ("residual_factors", "steps", lambda v: _factor(steps=v), STEPS),
    ("residual_factors", "learning_rate", lambda v: _factor(rate=v), (1e101,)),
    ("residual_factors", "curvature", lambda v: _factor(curvature=v), (-1.0,)),
    (
        "residual_factors",
        "momentum",
        lambda v: _factor(m=v),
        (-0.1, 1.0),
    ),
    (
        "scheduled_factors",
        "learning_rates",
        lambda v: idm.scheduled_factors(v, curvature=1.0),
        (NAN, "x", None, [0.1, -0.1], [0.1, NAN], [[0.1], [0.2]], 0.1),
    ),
    (
        "scheduled_factors",
        "momentum",
        lambda v: idm.scheduled_factors([0.1], curvature=1.0, momentum=v),
        (-0.1, 1.0),
    ),
    (
        "learning_rate_limit",
        "momentum",
        lambda v: idm.learning_rate_limit(1.0, v),
        (-0.1, 1.0),
    ),
    (
        "curvature",
        "x_train",
        idm.curvature,
        ([], [0.0, 0.0], EYE, [1e200]),
    ),
    ("curvature", "loss", lambda v: idm.curvature([1.0], loss=v), ("sum", None)),
    (
        "one_layer_prediction",
        "x_train",
        lambda v: idm.one_layer_prediction([1.0, 0, 0], v, EYE),
        ([0.0, 0.0, 0.0], EYE, []),
    ),
    (
        "one_layer_prediction",
        "x",
        lambda v: idm.one_layer_prediction(v, [1.0, 0, 0], EYE),
        (1.0, [1.0, 2.0], [NAN, 0, 0]),
    ),
    (
        "one_layer_prediction",
        "w0",
        lambda v: idm.one_layer_prediction([1.0, 0, 0], [1.0, 0, 0], v),
        (np.eye(2), np.ones((2, 3)), np.ones((3, 2)), EYE * NAN),
    ),
    *[
        (who, name, call, bad)
        for who, function in DESCENTS
        for name, call, bad in (
            ("momentum", lambda v, f=function: f(momentum=v), MOMENTUM),
            (
                "momentum",
                lambda v, f=function: f(momentum=v, steps=2, learning_rate=1e-3),
                MOMENTUM,
            ),
            (
                "learning_rate",
                lambda v, f=function: f(learning_rate=v),
                (100.0, 0.0, -1.0, NAN, "x", [1e-3, 100.0]),
            ),
            (
                "steps",
                lambda v, f=function: f(steps=v, learning_rate=1e-3),
                STEPS,
            ),
            ("loss", lambda v, f=function: f(loss=v), ("sum", None, ["mean"])),
        )
    ],
    *[
        (who, "rank_tolerance", lambda v, f=f: f(rank_tolerance=v), TOLERANCE)
        for who, f in DESCENTS[1:]
    ],
    (
        "orthogonal_prediction",
        "x",
        lambda v: idm.orthogonal_prediction(v, [1.0, 0, 0], EYE),
        # Squares of the last two leave the floats.
        ([1.0, 0, 0], [1e-12, 1.0, 0], [0.0, 1.0], [1e200, 0, 0], [1e-200, 0, 0]),
    ),
    (
        "orthogonal_prediction",
        "w0",
        lambda v: idm.orthogonal_prediction([0.0, 1.0, 0], [1.0, 0, 0], v),
        (np.ones(3), np.ones((3, 2)), NAN),
    ),
    (
        "orthogonal_law",
        "x",
        lambda v: idm.orthogonal_law(v, 1.0),
        (EYE, [NAN], [], [1e200], [1.7e308, 1.7e308]),
    ),
    (
        "two_layer_orthogonal_law",
        "x",
        lambda v: idm.two_layer_orthogonal_law(v, 1.0, [1.0]),
        (EYE, [NAN], [], [1e200]),
    ),
    (
        "two_layer_orthogonal_law",
        "readout",
        lambda v: idm.two_layer_orthogonal_law([1.0], 1.0, v),
        (EYE, [NAN], [], [1e200], [1.7e308, 1.7e308]),
    ),
    *[
        (name, argument, call, bad)
        for name, function in (
            ("expected_squared_norm", idm.expected_squared_norm),
            ("expected_cosine_to_train", idm.expected_cosine_to_train),
            ("expected_cosine_to_input", idm.expected_cosine_to_input),
            ("expected_squared_cosine_to_train", idm.expected_squared_cosine_to_train),
        )
        for argument, call, bad in (
            (
                "rho",
                lambda v, f=function: f(v, scale=1.0, dim=3),
                (1.1, [0.0, -2.0]),
            ),
            (
                "scale",
                lambda v, f=function: f(0.5, scale=v, dim=3),
                ([1.0, 2.0],),
            ),
            (
                "dim",
                lambda v, f=function: f(0.5, scale=1.0, dim=v),
                (1,),
            ),
        )
    ],
    (
        "expected_cosine_to_train",
        "form",
        lambda v: idm.expected_cosine_to_train(0.5, scale=1.0, dim=3, form=v),
        ("approximate", None),
    ),
    (
        "least_squares_weights",
        "x",
        lambda v: idm.least_squares_weights(v, EYE, EYE),
        (np.ones(3), np.ones((0, 3)), EYE * NAN),
    ),
    (
        "least_squares_weights",
        "y",
        lambda v: idm.least_squares_weights(EYE, v, EYE),
        (np.ones((2, 3)), np.ones(3), EYE * NAN),
    ),
    (
        "least_squares_weights",
        "w0",
        lambda v: idm.least_squares_weights(EYE, EYE, v),
        (np.ones((2, 3)), np.ones((3, 2)), EYE * NAN),
    ),
    (
        "decide_rank",
        "rank_tolerance",
        lambda v: idm.decide_rank([1.0], (3, 3), rank_tolerance=v),
        TOLERANCE,
    ),
    (
        "decide_rank",
        "singular_values",
        lambda v: idm.decide_rank(v, (3, 3)),
        ([-1.0], [NAN], "x", EYE, [1.0, 1.0, 1.0, 1.0]),
    ),
    (
        "decide_rank",
        "shape",
        lambda v: idm.decide_rank([1.0], v),
        ((3,), (3, 3, 3), 5, None),
    ),
    ("decide_rank", "shape", lambda v: idm.decide_rank([1.0], (v, 3)), WHOLE),
    ("decide_rank", "shape", lambda v: idm.decide_rank([1.0], (3, v)), WHOLE),
    ("patches", "image", lambda v: idm.patches(v, 3), IMAGES),
    ("patches", "kernel_size", lambda v: idm.patches(IMAGE, v), EVEN),
    (
        "patch_rank",
        "rank_tolerance",
        lambda v: idm.patch_rank(IMAGE, 3, rank_tolerance=v),
        TOLERANCE,
    ),
    *[
        (
            f.__name__,
            "rank_tolerance",
            lambda v, f=f: f(IMAGE, 5, W0, rank_tolerance=v),
            TOLERANCE,
        )
        for f in (idm.worst_patch_error, idm.split_patch_bound)
    ],
    ("patch_rank", "image", lambda v: idm.patch_rank(v, 3), IMAGES),
    ("patch_rank", "kernel_size", lambda v: idm.patch_rank(IMAGE, v), EVEN),
    ("centre_selector", "kernel_size", lambda v: idm.centre_selector(v, 1), EVEN),
    ("centre_selector", "channels", lambda v: idm.centre_selector(3, v), WHOLE),
    (
        "one_layer_conv_weights",
        "image",
        lambda v: idm.one_layer_conv_weights(v, 5, W0),
        TRAINING,
    ),
    (
        "one_layer_conv_weights",
        "kernel_size",
        lambda v: idm.one_layer_conv_weights(IMAGE, v, W0),
        EVEN,
    ),
    (
        "one_layer_conv_weights",
        "w0",
        lambda v: idm.one_layer_conv_weights(IMAGE, 5, v),
        (np.zeros(25), np.zeros((9, 1)), np.zeros((25, 2)), W0 * NAN),
    ),
    *[
        (name, argument, call, bad)
        for name, function in (
            ("one_layer_conv_prediction", idm.one_layer_conv_prediction),
            ("one_layer_conv_mse", idm.one_layer_conv_mse),
        )
        for argument, call, bad in (
            ("image", lambda v, f=function: f(v, IMAGE, W0), TRAINING),
            (
                "test_image",
                lambda v, f=function: f(IMAGE, v, W0),
                (*IMAGES, np.zeros((3, 3, 2))),
            ),
            (
                "w0",
                lambda v, f=function: f(IMAGE, IMAGE, v),
                (np.zeros(25), np.zeros((24, 1)), np.zeros((16, 1))),
            ),
        )
    ],
    (
        "expected_mse",
        "image",
        lambda v: idm.expected_mse(v, 3, IMAGE, scale=1.0),
        TRAINING,
    ),
    (
        "expected_mse",
        "kernel_size",
        lambda v: idm.expected_mse(IMAGE, v, IMAGE, scale=1.0),
        EVEN,
    ),
    (
        "expected_mse",
        "test_image",
        lambda v: idm.expected_mse(IMAGE, 3, v, scale=1.0),
        (*IMAGES, np.zeros((3, 3, 2))),
    ),
    (
        "weights_to_framework",
        "weights",
        lambda v: idm.weights_to_framework(v, 3),
        (np.zeros(9), np.zeros((8, 1)), np.zeros((0, 1))),
    ),
    (
        "weights_to_framework",
        "kernel_size",
        lambda v: idm.weights_to_framework(W0, v),
        EVEN,
    ),
    (
        "weights_from_framework",
        "weights",
        idm.weights_from_framework,
        (W0, *map(np.zeros, ((1, 1, 3, 5), (0, 1, 3, 3), (1, 1, 4, 4)))),
    ),
    (
        "worst_patch_error",
        "image",
        lambda v: idm.worst_patch_error(v, 5, W0),
        TRAINING,
    ),
    (
        "worst_patch_error",
        "w0",
        lambda v: idm.worst_patch_error(IMAGE, 5, v),
        (np.zeros((9, 1)), np.zeros((2, 25, 1))),
    ),
    (
        "split_patch_bound",
        "form",
        lambda v: idm.split_patch_bound(IMAGE, 5, W0, form=v),
        ("sharp", None),
    ),
    (
        "split_patch_bound",
        "kernel_size",
        lambda v: idm.split_patch_bound(IMAGE, v, W0),
        EVEN,
    ),
    (
        "patch_norm_bound",
        "kernel_size",
        lambda v: idm.patch_norm_bound(v, 1, 1.0),
        EVEN,
    ),
    (
        "patch_norm_bound",
        "pixel_bound",
        lambda v: idm.patch_norm_bound(3, 1, v),
        (-1.0, [1.0, 2.0]),
    ),
    (
        "selector_norm_bound",
        "form",
        lambda v: idm.selector_norm_bound(1, 1, form=v),
        ("best", None),
    ),
    (
        "chi_square_tail_bound",
        "zeta",
        lambda v: idm.chi_square_tail_bound(v, 3),
        (0.9,),
    ),
    ("chi_square_tail", "zeta", lambda v: idm.chi_square_tail(v, 3), (-0.1,)),
    (
        "least_failure_probability",
        "constant",
        lambda v: idm.least_failure_probability(1, 1, v),
        (1.0, 0.5),
    ),
    (
        "least_constant",
        "delta",
        lambda v: idm.least_constant(3, 1, v),
        (1.5,),
    ),
    (
        "direction_bound",
        "delta",
        lambda v: idm.direction_bound(3, 1, v),
        (1.5,),
    ),
    (
        "direction_bound",
        "form",
        lambda v: idm.direction_bound(3, 1, 0.1, form=v),
        ("best",),
    ),
    (
        "direction_bound",
        "form",
        lambda v: idm.direction_bound(0, 1, 0.1, form=v),
        ("best",),
    ),
    *[
        (
            "direction_bound",
            "constant",
            lambda v, n=n, form=form: idm.direction_bound(
                n, 1, 0.1, constant=v, form=form
            ),
            (1.0, 0.0, NAN, "x", [2.0, 3.0]),
        )
        for n in (0, 3)
        for form in ("printed", "sharp")
    ],
    *[
        (
            "mse_bound",
            "constant",
            lambda v, n=n, form=form: idm.mse_bound(
                n, 3, 1, constant=v, form=form, **CASE
            ),
            (1.0, 0.0, NAN, "x", [2.0, 3.0]),
        )
        for n in (0, 3)
        for form in ("printed", "sharp")
    ],
    (
        "direction_bound",
        "delta",
        lambda v: idm.direction_bound(3, 1, 0.1, constant=v),
        (1.5,),
    ),
    ("mse_bound", "nullity", lambda v: idm.mse_bound(v, 3, 1, **CASE), (10,)),
    ("mse_bound", "kernel_size", lambda v: idm.mse_bound(1, v, 1, **CASE), EVEN),
    (
        "mse_bound",
        "delta",
        lambda v: idm.mse_bound(1, 3, 1, **{**CASE, "delta": v}),
        (1.5,),
    ),
    (
        "mse_bound",
        "form",
        lambda v: idm.mse_bound(1, 3, 1, form=v, **CASE),
        ("best", None),
    ),
    ("mse_order", "rank", lambda v: idm.mse_order(3, 1, v), (10,)),
    ("mse_order", "kernel_size", lambda v: idm.mse_order(v, 1, 0), EVEN),
    ("linear_identity", "width", lambda v: idm.linear_identity(2, 2, width=v), (1, 0)),
    ("relu_identity", "width", lambda v: idm.relu_identity(2, 2, width=v), (3, 2.5)),
    (
        "linear_convolution_identity",
        "kernel_size",
        lambda v: idm.linear_convolution_identity(v, 1, 1),
        EVEN,
    ),
    (
        "relu_convolution_identity",
        "kernel_size",
        lambda v: idm.relu_convolution_identity(v, 1, 1),
        EVEN,
    ),
    (
        "relu_convolution_identity",
        "channels",
        lambda v: idm.relu_convolution_identity(3, 2, 2, channels=v),
        (3, 0),
    ),
    (
        "fcn_parameter_count",
        "output_dim",
        lambda v: idm.fcn_parameter_count(4, 4, 2, v),
        (0, 1.5),
    ),
    (
        "cnn_parameter_count",
        "kernel_size",
        lambda v: idm.cnn_parameter_count(v, 3, 2),
        EVEN,
    ),
    (
        "initial_variance",
        "scheme",
        lambda v: idm.initial_variance(v, 3, 1),
        ("he", None, 3, ["default"], Path("default")),
    ),
    ("coverage", "kernel_size", lambda v: idm.coverage(v, 5, 5, 0, 0), EVEN),
    ("coverage", "row", lambda v: idm.coverage(3, 5, 6, v, 0), (5,)),
    ("coverage", "column", lambda v: idm.coverage(3, 5, 6, 0, v), (6,)),
    ("promise", "image", lambda v: idm.promise(v, 3, scale=0.1), TRAINING),
    ("promise", "kernel_size", lambda v: idm.promise(IMAGE, v, scale=0.1), EVEN),
    (
        "promise",
        "pixel_bound",
        lambda v: idm.promise(IMAGE, 3, scale=0.1, pixel_bound=v),
        (-1.0, NAN, "x"),
    ),
    ("wide_signals", "image", lambda v: idm.wide_signals(v, IMAGE, 3, 2), IMAGES),
    ("wide_signals", "other", lambda v: idm.wide_signals(IMAGE, v, 3, 2), IMAGES),
    ("wide_signals", "other", lambda v: idm.wide_signals(IMAGE, v, 3, 2), (EYE[:2],)),
    ("wide_signals", "kernel_size", lambda v: idm.wide_signals(EYE, EYE, v, 2), EVEN),
    (
        "wide_signals",
        "weight_var",
        lambda v: idm.wide_signals(EYE, EYE, 3, 2, weight_var=v),
        (-1.0,),
    ),
    (
        "wide_signals",
        "bias_var",
        lambda v: idm.wide_signals(EYE, EYE, 3, 2, bias_var=v),
        (-1.0, [0.1, 0.1, 0.1]),
    ),
    ("receptive_field", "layers", lambda v: idm.receptive_field(3, v), WHOLE),
    ("receptive_field", "kernel_size", lambda v: idm.receptive_field(v, 3), EVEN),
]


def _factor(steps=3, rate=0.1, curvature=1.0, m=0.0):
    return idm.residual_factors(
        steps, learning_rate=rate, curvature=curvature, momentum=m
    )


@pytest.mark.parametrize(
    ("who", "name", "call", "bad"),
    [
        pytest.param(who, name, call, value, id=f"{who}-{name}-{i}-{j}")
        for i, (who, name, call, values) in enumerate(CASES)
        for j, value in enumerate(values)
    ],
)
def test_refuses(who, name, call, bad):
    with pytest.raises(ValueError, match=rf"^{who}: `{name}` must"):
        call(bad)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("layers", lambda v: idm.linear_identity(1, v)),
        ("width", lambda v: idm.linear_identity(2, 2, width=v)),
        ("layers", lambda v: idm.relu_identity(1, v)),
        ("image_channels", lambda v: idm.linear_convolution_identity(3, v, 1)),
        ("kernel_size", lambda v: idm.relu_convolution_identity(v - 1, 1, 2)),
        ("channels", lambda v: idm.centre_selector(3, v)),
        ("layers", lambda v: idm.wide_signals(IMAGE, IMAGE, 3, v)),
    ],
)
@pytest.mark.parametrize("many", [2**40, 2**200])
def test_refuses_to_write_down_what_no_memory_holds(name, call, many):
    with pytest.raises(ValueError, match=f"`{name}`.* must leave at most"):
        call(many)


TWO, THREE = [0.5, 0.25], [0.1, 0.2, 0.3]


@pytest.mark.parametrize(
    ("who", "names", "shapes", "call"),
    [
        (
            "residual_factors",
            "`steps`, `learning_rate`",
            "(2,), (3,)",
            lambda: _factor(steps=[1, 2], rate=THREE),
        ),
        (
            "residual_factors",
            "`curvature`, `momentum`",
            "(2,), (3,)",
            lambda: _factor(curvature=TWO, m=THREE),
        ),
        (
            "learning_rate_limit",
            "`curvature`, `momentum`",
            "(2,), (3,)",
            lambda: idm.learning_rate_limit(TWO, THREE),
        ),
        *[
            (
                f.__name__,
                "`zeta`, `dof`",
                "(3,), (2,)",
                lambda f=f: f([1.0, 2.0, 3.0], TWO),
            )
            for f in (idm.chi_square_tail, idm.chi_square_tail_bound)
        ],
        *[
            (
                who,
                "`steps`, `learning_rate`",
                "(3,), (2,)",
                lambda f=f: f(steps=[1, 2, 3], learning_rate=[1e-3, 1e-4]),
            )
            for who, f in DESCENTS
        ],
        *[
            (
                who,
                "`learning_rate`, `momentum`",
                "(2,), (3,)",
                lambda f=f: f(learning_rate=[1e-3, 1e-4], momentum=THREE),
            )
            for who, f in DESCENTS
        ],
    ],
)
def test_shapes_that_do_not_broadcast_are_named(who, names, shapes, call):
    with pytest.raises(ValueError, match=f"^{who}: .* must broadcast, got ") as caught:
        call()
    named, _, got = str(caught.value).partition(" must broadcast")
    assert all(name in named for name in names.split(", "))
    assert all(f"({shape})" in got for shape in re.findall(r"\((.*?)\)", shapes))


@pytest.mark.parametrize(("who", "function"), DESCENTS)
def test_steps_rates_and_momenta_broadcast(who, function):
    steps, rates, momenta = [[1], [4]], [1e-3, 2e-3, 3e-3], [[0.5], [0.0]]
    found = np.asarray(function(steps=steps, learning_rate=rates, momentum=momenta))
    alone = [
        [function(steps=t, learning_rate=r, momentum=m) for r in rates]
        for (t,), (m,) in zip(steps, momenta, strict=True)
    ]
    # Sums of at most 25 products, in whatever order the library takes them.
    most = 2 * 25 * EPS * float(np.max(np.abs(alone)))
    np.testing.assert_allclose(found, alone, rtol=0, atol=most)


@pytest.mark.parametrize(("who", "function"), DESCENTS)
def test_as_many_rates_as_directions_are_one_rate_each(who, function):
    # Not one rate a direction: 9 directions for the convolution, 3 for the others.
    for many in (3, 9):
        found = np.asarray(function(steps=1, learning_rate=[1e-3] * many))
        one = np.asarray(function(steps=1, learning_rate=1e-3))
        assert found.shape == (many, *one.shape)


def test_small_integers_do_not_wrap():
    # 13^2 is more than an int8 holds.
    kernel = np.int8(13)
    assert idm.mse_bound(150, kernel, 1, **CASE) == idm.mse_bound(150, 13, 1, **CASE)


@pytest.mark.parametrize(
    ("typo", "near"),
    [
        ("kaiming_norm", "kaiming-normal"),
        ("xavier_uniform", "xavier-uniform"),
        ("Orthogonal", "orthogonal"),
        ("defualt", "default"),
    ],
)
def test_near_names_are_suggested(typo, near):
    with pytest.raises(ValueError, match=rf"Did you mean .*'{near}'"):
        idm.initial_variance(typo, 3, 3)


def test_far_names_get_no_suggestion():
    with pytest.raises(ValueError, match=r"got 'zzz'\.$"):
        idm.initial_variance("zzz", 3, 3)


def test_messages_say_what_to_do():
    with pytest.raises(ValueError, match="An even kernel has no centre pixel"):
        idm.patches(IMAGE, 4)
    with pytest.raises(ValueError, match="A zero training image teaches nothing"):
        idm.one_layer_conv_weights(np.zeros((3, 3)), 5, W0)
    with pytest.raises(ValueError, match="must have the 1 channels of `image`, got 2"):
        idm.one_layer_conv_mse(IMAGE, np.zeros((3, 3, 2)), W0)
    with pytest.raises(ValueError, match="Descent diverges there and has no limit"):
        idm.one_layer_weights([1.0], [[0.0]], learning_rate=2.0)
