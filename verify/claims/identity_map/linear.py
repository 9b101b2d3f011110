"""One linear layer trained on one image, least squares, two layers (section 1)."""

import math
import sys
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

from empirical.identity_map import images
from theory import gaussian
from theory import identity_map as idm
from verify.claim import Case, adversarial, grid, numeric, statistical
from verify.claims._descent import descend
from verify.claims._predictors import always, changed, drawn, mistake, unlike
from verify.claims._searches import SEEDS, searched
from verify.claims.identity_map._framework import squared_error, trained
from verify.claims.identity_map._rational import Integers, nearest_solution
from verify.claims.identity_map._sources import as_read, forced, ours, quoted
from verify.compare import AgreesTo, Array, Estimate, Identical, MeanEquals

_STEPS = (0, 1, 2, 3, 10, 31, 100)


def problem(dim: int, seed: int) -> tuple[Array, Array, Array]:
    """Return a training image of length 3/2, initial weights, five test images."""
    rng = np.random.default_rng([20, seed])
    x = rng.standard_normal(dim)
    w0 = rng.standard_normal((dim, dim)) / np.sqrt(dim)
    return 1.5 * x / np.linalg.norm(x), w0, rng.standard_normal((5, dim))


def _trained(
    x: Array,
    w0: Array,
    *,
    steps: tuple[int, ...],
    rate: float,
    momentum: float = 0.0,
    loss: str = "half_sum",
) -> list[Array]:
    """Weights of one linear layer after `steps`, by the framework."""
    weight, image = torch.tensor(w0), torch.from_numpy(x)
    found = descend(
        [weight],
        lambda: squared_error(image @ weight.T, image, loss),
        steps=steps,
        rate=rate,
        momentum=momentum,
    )
    return [weights[0] for weights in found]


# --- Theorem 1 ------------------------------------------------------------------------


def _measure_limit(*, dim: int, momentum: float, seed: int) -> Array:
    x, w0, tests = problem(dim, seed)
    # a_350 is 1e-118 for m = 0 and at most about sqrt(0.8)^350 = 1e-17 otherwise.
    (weights,) = _trained(x, w0, steps=(350,), rate=0.24, momentum=momentum)
    return tests @ weights.T


def _predict_limit(*, dim: int, momentum: float, seed: int) -> Array:
    x, w0, tests = problem(dim, seed)
    return idm.one_layer_prediction(tests, x, w0)


def _untrained(*, dim: int, momentum: float, seed: int) -> Array:
    """The initial map, as if nothing had been trained."""
    _, w0, tests = problem(dim, seed)
    return tests @ w0.T


THEOREM_1 = adversarial(
    id="id/thm1",
    title="A trained linear layer keeps its initial map except along the training image",
    statement=(
        r"f(x)=\Pi_\parallel x + W^0\,\Pi_\perp x,\qquad"
        r" \Pi_\parallel x=\frac{\hat x^Tx}{\|\hat x\|^2}\,\hat x"
    ),
    source=quoted("Theorem 1"),
    cases=grid(dim=(1, 2, 25, 196), momentum=(0.0, 0.8), seed=0),
    examples=searched(
        dim=st.integers(1, 40), momentum=st.sampled_from((0.0, 0.5, 0.8)), seed=SEEDS
    ),
    max_examples=10,
    predict=_predict_limit,
    measure=_measure_limit,
    # 350 roundings of half an eps of entries of size 1, then sums of up to 196 products
    # whose errors are as random as the products.
    compare=AgreesTo(relative=4e-14, of_largest=True),
    must_refute=_untrained,
    assumptions=("squared error", "full-batch descent, rate below its limit"),
    uses=("id/eq4",),
)


def _measure_path(
    *, dim: int, momentum: float, loss: str, seed: int, rate: float | None = None
) -> Array:
    x, w0, _ = problem(dim, seed)
    w0, rate = (w0, _rate(dim, loss)) if rate is None else (0.0 * w0, rate)
    found = _trained(x, w0, steps=_STEPS, rate=rate, momentum=momentum, loss=loss)
    return _outputs(np.array(found), dim, seed)


def _rate(dim: int, loss: str) -> float:
    return 0.3 if loss == "half_sum" else 0.15 * dim


def _outputs(weights: Array, dim: int, seed: int) -> Array:
    """Apply weights to the image and to a random one, which sees every entry.

    The weights themselves are 10,000 numbers a step.
    """
    x, _, tests = problem(dim, seed)
    return np.stack([x, tests[0]]) @ np.swapaxes(weights, -1, -2)


def _path(
    *,
    dim: int,
    momentum: float,
    loss: Any,
    seed: int,
    rate: float | None = None,
    later: int = 0,
) -> Array:
    x, w0, _ = problem(dim, seed)
    w0, rate = (w0, _rate(dim, loss)) if rate is None else (0.0 * w0, rate)
    given = unlike({"loss": "half_sum", "momentum": 0.0}, loss=loss, momentum=momentum)
    steps = np.array(_STEPS) + later
    weights = idm.one_layer_weights(x, w0, steps=steps, learning_rate=rate, **given)
    return _outputs(weights, dim, seed)


EQ_4 = numeric(
    id="id/eq4",
    title="Every step of training one linear layer moves its weights along one line",
    statement=(
        r"W^t = W^0 + (1-a_t)\,\hat u\,\hat x^T,\quad \hat u=(I-W^0)\hat x/\|\hat x\|^2,"
        r"\quad a_{t+1}=a_t-\eta b_{t+1},\; b_{t+1}=m b_t+g a_t,\; a_0=1,\, b_0=0"
    ),
    assumptions=("rate η, momentum m; g as in id/eq4-curvature",),
    source=ours("Equation 4; the path is ours"),
    cases=(
        *grid(
            dim=(3, 25, 100),
            momentum=(0.0, 0.5, 0.9),
            loss=("half_sum", "mean"),
            seed=1,
        ),
        # From zero, at rates next to nothing: what is learnt is a share of 1e-27, 1e-15.
        *(
            {"dim": 3, "momentum": m, "loss": "half_sum", "seed": 1, "rate": rate}
            for m, rate in ((0.0, 2.0**-90), (0.0, 2.0**-50), (0.9, 2.0**-50))
        ),
    ),
    predict=_path,
    measure=_measure_path,
    # A hundred roundings of half an eps of entries of size 1, and about as much again of
    # the buffer; then sums of up to 100 products, as random as their errors.
    compare=AgreesTo(relative=3e-14, of_largest=True),
    must_refute=mistake("The weights one step later.", later=1),
    version=3,
    finding=(
        "The path holds at every step, for plain gradient descent and for heavy ball;"
        " the paper states the limit only."
    ),
)


def _measure_factors(
    *, shrink: float, momentum: float, steps: list[int], rate: float = 0.25
) -> list[Any]:
    """What is left of the error, by powers of the optimiser's own step, to 60 digits."""
    del rate
    with mpmath.workdps(60):
        return [_left_after(step, mpmath.mpf(shrink), momentum) for step in steps]


def _left_after(steps: int, shrink: Any, momentum: float) -> Any:
    """Return the error after steps of heavy ball, each a matrix of buffer and error."""
    m = mpmath.mpf(momentum)
    return (mpmath.matrix([[m, shrink], [-m, 1 - shrink]]) ** steps)[1, 1]


def _predict_factors(
    *, shrink: float, momentum: float, steps: list[int], rate: float = 0.25
) -> Array:
    return idm.residual_factors(
        np.array(steps),
        learning_rate=rate,
        curvature=shrink / rate,
        **unlike({"momentum": 0.0}, momentum=momentum),
    )


FACTORS = numeric(
    id="id/eq4-factors",
    title="The fraction of the error that is left after t steps, to the last digits",
    statement=(
        r"a_t = U_{t+1}-mU_t,\quad U_{t+1}=(1+m-\eta g)U_t-mU_{t-1},\; U_0=0,\, U_1=1"
    ),
    source=ours("Equation 4; the closed form is ours"),
    cases=(
        *grid(
            shrink=(1e-3, 0.3, 1.9), momentum=(0.0, 0.9), steps=([0, 1, 2, 17, 1000],)
        ),
        *grid(shrink=3.79, momentum=0.9, steps=([1, 50, 3000],)),
        # As many as the paper's, next to the limit.
        *(
            {"shrink": limit * (1.0 - 1e-7), "momentum": m, "steps": [2_000_000]}
            for limit, m in ((2.0, 0.0), (3.8, 0.9))
        ),
        *grid(shrink=0.3, momentum=0.9, steps=([1, 17],), rate=(2.0**400, 2.0**-400)),
    ),
    predict=_predict_factors,
    measure=_measure_factors,
    # The library's promise.
    compare=AgreesTo(relative=1e-15, absolute=1e-300),
    must_refute=mistake(
        "The fraction one step later.", steps=lambda steps: [step + 1 for step in steps]
    ),
    uses=("id/eq4",),
)


_SHOWN = [0.3, -0.7, 1.1]
_SQUARE = sum(v * v for v in _SHOWN)


def _start() -> Array:
    return np.random.default_rng(29).standard_normal((3, 3))


def _predict_far(*, momentum: float, loss: Any, rate: float, steps: int) -> Array:
    more: dict[str, Any] = {"learning_rate": rate, "momentum": momentum, "loss": loss}
    return idm.one_layer_weights(_SHOWN, _start(), steps=steps, **more).ravel()


def _measure_far(*, momentum: float, loss: str, rate: float, steps: int) -> list[Any]:
    """Weights of one layer, from floats as they are, to 60 digits."""
    with mpmath.workdps(60):
        x, w0 = mpmath.matrix(_SHOWN), mpmath.matrix(_start().tolist())
        square = (x.T * x)[0]
        each = square if loss == "half_sum" else 2 * square / 3
        done = 1 - _left_after(steps, mpmath.mpf(rate) * each, momentum)
        return list(w0 + done / square * (x - w0 * x) * x.T)


FAR = numeric(
    id="id/eq4-far",
    title="Weights of one linear layer after two million steps next to the largest rate",
    statement=r"W^t,\quad t = 2\cdot10^6,\quad \eta = (1-10^{-7})\,2(1+m)/g",
    source=ours("Equation 4 and appendix A; the path is ours"),
    assumptions=("the floats of the image and of the rate are taken as they are",),
    cases=tuple(
        {"momentum": m, "loss": loss, "rate": (1.0 - 1e-7) * 2.0 * (1.0 + m) / g}
        | {"steps": 2_000_000}
        for m in (0.0, 0.9)
        for loss, g in (("half_sum", _SQUARE), ("mean", _SQUARE / 1.5))
    ),
    predict=_predict_far,
    measure=_measure_far,
    # Entries of size one, rounded eight times.
    compare=AgreesTo(absolute=9e-16),
    must_refute=mistake(
        "A curvature of the next float.", rate=lambda rate: float(np.nextafter(rate, 9))
    ),
    uses=("id/eq4", "id/eq4-factors"),
)


def _digit() -> Array:
    """Return the first 7 of the digits, standardised as in the paper."""
    return images.chosen((7,)).pixels.double().flatten().numpy()


def _measure_converges(*, loss: str, momentum: float, rate: float) -> list[bool]:
    """Whether 300 steps on a digit, from small weights, lower the loss.

    The error stays on the digit's own line, so that weights of one row tell all.
    """
    x = torch.from_numpy(_digit())
    weight = torch.zeros(x.numel(), dtype=torch.float64)
    # Row i of W has the target x_i: here the largest pixel's.
    row, target = weight[None], x.max()
    scale = 1.0 if loss == "half_sum" else 2.0 / x.numel()

    def error() -> Tensor:
        return 0.5 * scale * (row @ x - target).square().sum()

    rows = descend([row], error, steps=(300,), rate=rate, momentum=momentum)
    left = abs(float(rows[0][0][0] @ x.numpy()) - float(target))
    return [left < float(target)] * 2


def _predict_converges(*, loss: Any, momentum: float, rate: float) -> list[bool]:
    """Whether descent has a limit, and whether weights are given for it."""
    x = _digit()
    given = unlike({"momentum": 0.0}, momentum=momentum)
    limit = idm.learning_rate_limit(idm.curvature(x, loss=loss), **given)
    how: dict[str, Any] = {"learning_rate": rate, "momentum": momentum, "loss": loss}
    try:
        found = idm.one_layer_weights(x, np.zeros((x.size, x.size)), **how)
    except ValueError as error:
        return [rate < limit, f"got {rate}" not in str(error)]
    return [rate < limit, bool(np.isfinite(found).all())]


def _at_limit(loss: Any, momentum: float, share: float) -> Case:
    limit = idm.learning_rate_limit(idm.curvature(_digit(), loss=loss), momentum)
    return {"loss": loss, "momentum": momentum, "rate": share * limit}


def _predict_curvature(*, entries: list[float], loss: Any) -> float:
    return idm.curvature(entries, **unlike({"loss": "half_sum"}, loss=loss))


def _largest_alone(*, entries: list[float], loss: Any) -> float:
    """The square of the largest entry."""
    return _predict_curvature(entries=[max(entries, key=abs)] * 2, loss=loss) / 2.0


def _measure_curvature(*, entries: list[float], loss: str) -> float:
    """Add fractions."""
    total = sum((Fraction(v) ** 2 for v in entries), Fraction(0))
    return float(total if loss == "half_sum" else 2 * total / len(entries))


CURVATURE = numeric(
    id="id/eq4-curvature",
    title="The curvature along an example, of entries up to 300 orders of magnitude apart",
    statement=r"g=\|\hat x\|^2 \text{ or } 2\|\hat x\|^2/d",
    source=ours("Appendices A and C, the recipe and the loss"),
    cases=grid(
        entries=(
            [0.1, -0.7, 0.0],
            [-3e150, 1e-160, 2e140],
            [-1e-160, 3e-161, 0.0, -2e-159],
        ),
        loss=("half_sum", "mean"),
    ),
    predict=_predict_curvature,
    measure=_measure_curvature,
    # Rounded once.
    compare=AgreesTo(relative=1.2e-16, absolute=5e-324),
    must_refute=_largest_alone,
    uses=("id/eq4",),
)

STABILITY = numeric(
    id="id/eq4-stability",
    title=(
        "The paper's rate of 0.01 diverges with the half-sum loss, not with the mean loss"
    ),
    statement=r"0<\eta g<2(1+m),\qquad g=\|\hat x\|^2 \text{ or } 2\|\hat x\|^2/d",
    source=ours("Appendices A and C, the recipe and the loss; the limit is ours"),
    assumptions=("weights of the limit are given for these rates, and no others",),
    cases=(
        *grid(loss=("half_sum", "mean"), momentum=(0.0, 0.9), rate=0.01),
        *(
            _at_limit(loss, momentum, share)
            for loss in ("half_sum", "mean")
            for momentum in (0.0, 0.9)
            for share in (0.999, 1.001)
        ),
    ),
    predict=_predict_converges,
    measure=_measure_converges,
    compare=Identical(),
    must_refute=mistake(
        "The mean loss taken for the half-sum, and the half-sum for the mean.",
        loss=lambda loss: "mean" if loss == "half_sum" else "half_sum",
    ),
    uses=("id/eq4",),
    finding=(
        "Read literally, the loss ½‖·‖² with the printed rate 0.01 diverges on a"
        " standardised digit, whose squared norm is about 760; the mean squared error"
        " does not."
    ),
    version=2,
)


def _predict_shrinks(*, curvature: float, momentum: float, rate: float) -> list[bool]:
    """Whether the rate is below the limit, and whether two examples have weights for it."""
    given = unlike({"momentum": 0.0}, momentum=momentum)
    found = [rate < idm.learning_rate_limit(curvature, **given)]
    x, nought = np.diag([0.5, 1.0]) * math.sqrt(curvature), np.zeros((2, 1))
    try:
        idm.least_squares_weights(x, nought, nought, learning_rate=rate, **given)
    except ValueError:
        return [*found, False]
    return [*found, True]


def _measure_shrinks(*, curvature: float, momentum: float, rate: float) -> list[bool]:
    """Whether both eigenvalues of a step of heavy ball lie inside the unit circle."""
    with mpmath.workdps(40):
        m, shrink = mpmath.mpf(momentum), mpmath.mpf(rate) * mpmath.mpf(curvature)
        half = (1 + m - shrink) / 2
        root = mpmath.sqrt(half * half - m)
        return [bool(max(abs(half + root), abs(half - root)) < 1)] * 2


LIMIT = numeric(
    id="id/eq4-limit",
    title="The learning rate from which on descent diverges, to its last digits",
    statement=r"0<\eta g<2(1+m)",
    source=ours("Theorem 1; the limit is ours"),
    cases=tuple(
        {"curvature": g, "momentum": m, "rate": share * (2.0 * (1.0 + m) / g)}
        for g in (0.3, 784.1, 1e-200)
        for m in (0.0, 0.37, 0.9)
        # Sixteen roundings below the limit, and above it.
        for share in (1.0 - 2.0**-48, 1.0 + 2.0**-48)
    ),
    predict=_predict_shrinks,
    measure=_measure_shrinks,
    compare=Identical(),
    must_refute=mistake("The limit without momentum.", momentum=0.0),
    uses=("id/eq4-stability",),
)


# --- inputs orthogonal to the image ---------------------------------------------------

_QUANTILES = (-1.5, -0.5, 0.0, 0.7, 2.0)


def orthogonal(dim: int, seed: int) -> tuple[Array, Array]:
    """Return a training image and a test image orthogonal to it, of length two."""
    rng = np.random.default_rng([21, seed])
    x, z = rng.standard_normal((2, dim))
    z -= (z @ x) / (x @ x) * x
    return x / np.linalg.norm(x), 2.0 * z / np.linalg.norm(z)


def _measure_orthogonal(*, dim: int, scale: float, draws: int, seed: int) -> Estimate:
    """Share of output pixels below each quantile, over draws of trained layers."""
    x, z = orthogonal(dim, seed)
    rng = np.random.default_rng([22, seed])
    start = scale * rng.standard_normal((draws, dim, dim))
    weight, image = torch.from_numpy(start), torch.from_numpy(x)
    # Rows of the weights are independent, hence the pixels.
    outputs = (trained(weight, image) @ z).ravel()
    return Estimate.of(outputs[:, None] < scale * 2.0 * np.array(_QUANTILES))


def _below(
    *, dim: int, scale: float, draws: int, seed: int, variance: float = 1.0
) -> Array:
    _, z = orthogonal(dim, seed)
    law = idm.orthogonal_law(z, scale)
    deviation = np.sqrt(variance * law.variance)
    return gaussian.cdf((scale * 2.0 * np.array(_QUANTILES) - law.mean) / deviation)


ORTHOGONAL = statistical(
    id="id/thm1-orth",
    items=("Thm1-orth",),
    title="A trained linear layer maps an image orthogonal to the training image to noise",
    statement=r"x\perp\hat x:\quad f(x)_i = (W^0x)_i\sim N(0,\,s^2\|x\|^2)",
    source=as_read("After Theorem 1, and appendix E.2"),
    cases=grid(dim=20, scale=(0.05, 1.0), draws=4000, seed=0),
    predict=_below,
    measure=_measure_orthogonal,
    # 80,000 pixels: standard errors up to 0.0018.
    compare=MeanEquals(discrepancy=0.02),
    must_refute=mistake(
        "The image's length, two, in the place of its square in the variance.",
        variance=0.5,
    ),
    assumptions=("initial weights independent N(0, s²)",),
    uses=("id/thm1",),
)


def _measure_cosines(*, rho: float, scale: float, dim: int, draws: int) -> Estimate:
    """Cosines of trained outputs to the training image and to the test image.

    Further the square of the first, and the squared length of the output.
    """
    x, z = orthogonal(dim, 3)
    test = rho * x + 0.5 * np.sqrt(1.0 - rho * rho) * z
    rng = np.random.default_rng([23, dim])
    weight = torch.from_numpy(scale * rng.standard_normal((draws, dim, dim)))
    image = torch.from_numpy(x)
    outputs = trained(weight, image) @ test
    lengths = np.linalg.norm(outputs, axis=1)
    first, second = outputs @ x / lengths, outputs @ test / lengths
    return Estimate.of(np.column_stack([first, second, first**2, lengths**2]))


def _predict_cosines(*, rho: float, scale: float, dim: int, draws: int) -> list[float]:
    return [
        float(idm.expected_cosine_to_train(rho, scale=scale, dim=dim)),
        float(idm.expected_cosine_to_input(rho, scale=scale, dim=dim)),
        float(idm.expected_squared_cosine_to_train(rho, scale=scale, dim=dim)),
        float(idm.expected_squared_norm(rho, scale=scale, dim=dim)),
    ]


def _always_rho(*, rho: float, scale: float, dim: int, draws: int) -> list[float]:
    """The cosine rho, as if the output were the test image."""
    return [rho, 1.0, rho * rho, 1.0]


COSINES = statistical(
    id="id/thm1-cosines",
    items=("Thm1-orth", "Corr"),
    title=(
        "Expected cosine of a trained layer's output with the training image and its input"
    ),
    statement=(
        r"\mathbb{E}\cos(f(x),\hat x) = \frac{\kappa\,\Gamma(\frac{d+1}2)}"
        r"{\sqrt2\,\Gamma(\frac d2+1)}\,{}_1F_1\big(\tfrac12;\tfrac d2+1;"
        r"-\tfrac{\kappa^2}2\big),\quad \kappa=\frac{\rho}{s\sqrt{1-\rho^2}},\quad"
        r" \mathbb{E}\cos(f(x),x)=\rho\,\mathbb{E}\cos(f(x),\hat x),\quad"
        r" \mathbb{E}\|f(x)\|^2=\rho^2+s^2d\,(1-\rho^2)"
    ),
    source=ours("After Theorem 1; the exact mean is ours"),
    cases=grid(rho=(-0.5, 0.0, 0.3, 0.9), scale=0.2, dim=20, draws=4000),
    predict=_predict_cosines,
    measure=_measure_cosines,
    # Standard errors up to 0.0041.
    compare=MeanEquals(discrepancy=0.04),
    must_refute=_always_rho,
    assumptions=("initial weights independent N(0, s²)", "unit images"),
    uses=("id/thm1",),
)

# --- least squares --------------------------------------------------------------------


def _integers(shape: tuple[int, int], seed: int, *index: int) -> Integers:
    return np.random.default_rng([24, seed, *index]).integers(-4, 5, shape)


def _system(
    rows: int, columns: int, rank: int, outputs: int, seed: int
) -> tuple[Integers, Integers, Integers]:
    """Return X, Y, W0 of whole numbers, X of at most the given rank."""
    x = _integers((rows, rank), seed, 0) @ _integers((rank, columns), seed, 1)
    y, w0 = _integers((rows, outputs), seed, 2), _integers((columns, outputs), seed, 3)
    return x, y, w0


def _sensitivity(x: Integers, y: Integers, w0: Integers) -> float:
    """Return what a relative error of X changes of the weights at most, per its size."""
    values = np.linalg.svd(x, compute_uv=False)
    kept = values[values > 1e-10 * values[0]] if x.any() else np.ones(1)
    condition = kept[0] / kept[-1]
    start, goals = np.linalg.norm(w0, 2), np.linalg.norm(y, 2)
    return float(condition * (condition * start + goals / kept[-1])) or 1.0


@drawn(_system)
def _predict_least_squares(
    x: Integers, y: Integers, w0: Integers, kept: int = 1
) -> Array:
    return idm.least_squares_weights(x, y, kept * w0) / _sensitivity(x, y, w0)


@drawn(_system)
def _measure_least_squares(x: Integers, y: Integers, w0: Integers) -> Array:
    return nearest_solution(x, y, w0) / _sensitivity(x, y, w0)


LEAST_SQUARES = adversarial(
    id="id/lem1-rational",
    items=("Lem1", "Lem2"),
    title="Lemmas 1 and 2 are one formula, for every rank",
    statement=r"W^\infty = W^0 + X^+(Y-XW^0)",
    source=ours("Lemmas 1 and 2; the joint form is ours"),
    cases=(
        *grid(rows=2, columns=6, rank=2, outputs=2, seed=0),
        *grid(rows=6, columns=3, rank=3, outputs=2, seed=0),
        *grid(rows=6, columns=5, rank=2, outputs=3, seed=(0, 1)),
        # Of which all weights are zero.
        *grid(rows=6, columns=1, rank=1, outputs=2, seed=687),
    ),
    examples=searched(
        rows=st.integers(1, 7),
        columns=st.integers(1, 7),
        rank=st.integers(1, 7),
        outputs=st.integers(1, 3),
        seed=SEEDS,
    ),
    predict=_predict_least_squares,
    measure=_measure_least_squares,
    # A decomposition of seven by seven numbers errs by 7^(3/2) = 19 eps of X, and so do
    # products with it: 8.4e-15 of what the weights are sensitive to it.
    compare=AgreesTo(absolute=8.4e-15),
    must_refute=mistake(
        "The solution of least norm, which forgets the initial weights.", kept=0
    ),
    uses=("id/lem1",),
    finding=(
        "Measured in exact rational arithmetic, deficient ranks included, in units of what"
        " rounding the inputs would change."
    ),
)


def _conditioned(rows: int, columns: int, seed: int) -> tuple[Array, Array, Array]:
    """Return X with singular values from 0.6 to 1, Y and W0."""
    rng = np.random.default_rng([25, seed])
    k = min(rows, columns)
    u = np.linalg.qr(rng.standard_normal((rows, k)))[0]
    v = np.linalg.qr(rng.standard_normal((columns, k)))[0]
    x = u * np.linspace(0.6, 1.0, k) @ v.T
    return x, rng.standard_normal((rows, 3)), rng.standard_normal((columns, 3))


def _measure_descent(
    *,
    rows: int,
    columns: int,
    steps: int,
    seed: int,
    momentum: float = 0.0,
    loss: str = "half_sum",
    slow: float = 1.0,
) -> Array:
    x, y, w0 = _conditioned(rows, columns, seed)
    w0 = w0 if slow == 1.0 else 0.0 * w0
    weight, inputs, targets = (torch.from_numpy(a) for a in (w0, x, y))
    ((found,),) = descend(
        [weight],
        lambda: squared_error(inputs @ weight, targets, loss),
        steps=(steps,),
        rate=slow * (0.5 if loss == "half_sum" else 0.25 * y.size),
        momentum=momentum,
    )
    return found / slow


def _predict_descent(
    *,
    rows: int,
    columns: int,
    steps: int,
    seed: int,
    momentum: float = 0.0,
    loss: Any = "half_sum",
    slow: float = 1.0,
) -> Array:
    x, y, w0 = _conditioned(rows, columns, seed)
    w0 = w0 if slow == 1.0 else 0.0 * w0
    if steps < 200:
        given = {"steps": np.array([0, steps]), "momentum": momentum, "loss": loss}
        given = unlike({"momentum": 0.0, "loss": "half_sum"}, **given)
        rate = slow * (0.5 if loss == "half_sum" else 0.25 * y.size)
        found = idm.least_squares_weights(x, y, w0, learning_rate=rate, **given)
        return found[1] / slow
    # A rate that does not diverge changes nothing at the end.
    given: dict[str, Any] = {"learning_rate": 0.5} if rows == columns else {}
    return idm.least_squares_weights(x, y, w0, **given)


def _other_lemma(*, rows: int, columns: int, seed: int, **_case: Any) -> Array:
    """The solution of least norm, Lemma 2 in the place of Lemma 1."""
    x, y, w0 = _conditioned(rows, columns, seed)
    return idm.least_squares_weights(x, y, 0.0 * w0)


DESCENT = numeric(
    id="id/lem1",
    items=("Lem1", "Lem2"),
    title="Gradient descent on least squares ends at the solution closest to its start",
    statement=(
        r"N\le D:\; W^\infty=W^0+X^T(XX^T)^{-1}(Y-XW^0);\qquad"
        r" N\ge D:\; W^\infty=(X^TX)^{-1}X^TY"
    ),
    source=forced("Lemmas 1 and 2"),
    cases=(
        *grid(rows=3, columns=8, steps=(1, 20, 400), seed=0),
        *grid(rows=8, columns=3, steps=(1, 20, 400), seed=0),
        *grid(rows=5, columns=5, steps=400, seed=0),
        *grid(
            rows=(3, 8),
            columns=5,
            steps=20,
            seed=0,
            momentum=(0.0, 0.5),
            loss=("half_sum", "mean"),
        ),
        # From zero, where next to nothing is learnt.
        *grid(rows=3, columns=5, steps=20, seed=0, momentum=0.5, slow=2.0**-50),
    ),
    predict=_predict_descent,
    measure=_measure_descent,
    # What is left after 400 steps is (1 - 0.18)^400 = 1e-34; 400 roundings of half an eps.
    compare=AgreesTo(relative=4e-14, of_largest=True),
    must_refute=_other_lemma,
    assumptions=("full rank", "rate below 2 over the largest squared singular value"),
    finding=(
        "Printed is N ≤ d, the number of outputs; the rank N that the lemma asks for needs"
        " N ≤ D, and its proof inverts XXᵀ."
    ),
)

# --- two layers -----------------------------------------------------------------------


def _two_layers(dim: int, units: int, steps: int, seed: int) -> tuple[Array, Array]:
    """Return the first layer's weights at the start and after `steps` steps."""
    rng = np.random.default_rng([26, seed])
    x, _ = orthogonal(dim, seed)
    w0 = rng.standard_normal((units, dim))
    # The readout has as many outputs as there are pixels, and is not trained.
    readout = torch.from_numpy(rng.standard_normal((dim, units)) / units)
    weight, image = torch.tensor(w0), torch.from_numpy(x)
    ((trained,),) = descend(
        [weight],
        lambda: squared_error(readout @ torch.relu(weight @ image), image, "half_sum"),
        steps=(steps,),
        rate=0.5,
    )
    return w0, trained


def _measure_update(
    *, dim: int, units: int, steps: int, seed: int, decayed: bool = False
) -> list[float]:
    """Second singular value over the first of W^t - W^0; |cos| of its rows to x."""
    w0, trained = _two_layers(dim, units, steps, seed)
    x, _ = orthogonal(dim, seed)
    _, s, v = np.linalg.svd((_kept(steps) * trained if decayed else trained) - w0)
    return [float(s[1] / s[0]), abs(float(v[0] @ x))]


def _kept(steps: int) -> float:
    """Share of a weight that decay of 1e-4 at the rate 0.5 leaves."""
    return (1.0 - 0.5e-4) ** steps


TWO_LAYER = numeric(
    id="id/twolayer",
    items=("TwoLayer", "Eq16"),
    title=(
        "Training the bottom of two layers moves its weights along the training image only"
    ),
    statement=r"f=\alpha^T\mathrm{ReLU}(Wx),\ \alpha \text{ fixed}:\quad"
    r" W^t = W^0 + u_t\,\hat x^T \text{ for all } t",
    source=quoted("Equation 16"),
    cases=grid(dim=(10, 25), units=(50, 400), steps=(1, 30, 200), seed=0),
    predict=always([0.0, 1.0]),
    measure=_measure_update,
    # Roundings of weights of size 1, a matrix of norm 1.1e-16 (20 + 5), over the least
    # movement, which is 0.018; more updates round more, and move more.
    compare=AgreesTo(absolute=1.6e-13),
    must_refute=changed(
        _measure_update,
        "Weights that also shrink, as under weight decay of 1e-4.",
        decayed=True,
    ),
)


def _predict_rounded(*, roundings: float, dim: int, sign: float) -> bool:
    """Whether an input of this cosine, in roundings, is taken for orthogonal."""
    z = np.zeros(dim)
    z[:2] = sign * roundings * math.sqrt(dim) * sys.float_info.epsilon, 1.0
    # Beside an image that is orthogonal.
    both = np.stack([1e200 * z, np.eye(dim)[1]])
    try:
        idm.orthogonal_prediction(both, np.eye(dim)[0], np.eye(1, dim))
    except ValueError:
        return False
    return True


def _measure_rounded(*, roundings: float, dim: int, sign: float) -> bool:
    """Whether a sum of products is that far from zero by rounding, eight times at most."""
    del dim, sign
    return roundings <= 8.0


ROUNDED_ORTHOGONAL = numeric(
    id="id/twolayer-orth-rounding",
    items=("TwoLayer", "Eq16"),
    title="Inputs count as orthogonal to the image up to eight roundings",
    statement=r"|\cos(x, \hat x)| \le 8 \sqrt d\, \epsilon",
    source=ours("Appendix E.2; the limit is ours"),
    cases=grid(roundings=(0.0, 7.9, 8.1, 1e6), dim=(2, 784), sign=(1.0, -1.0)),
    predict=_predict_rounded,
    measure=_measure_rounded,
    compare=Identical(),
    must_refute=mistake("Twice as far.", roundings=lambda roundings: roundings / 2.0),
    uses=("id/twolayer-orth",),
)


def _measure_noise(*, dim: int, units: int, scale: float, draws: int) -> Estimate:
    """Outputs for an orthogonal image, and their squares, over trained networks."""
    rng = np.random.default_rng([27, units])
    x, z = orthogonal(dim, 5)
    weight = torch.from_numpy(scale * rng.standard_normal((draws, units, dim)))
    readout, image = torch.from_numpy(_readout(units)), torch.from_numpy(x)
    ((trained,),) = descend(
        [weight],
        lambda: (torch.relu(weight @ image) @ readout - 1.0).square().sum() / 2.0,
        steps=(30,),
        rate=0.5,
    )
    outputs = np.maximum(trained @ z, 0.0) @ _readout(units)
    return Estimate.of(np.column_stack([outputs, outputs * outputs]))


def _readout(units: int) -> Array:
    return np.linspace(-1.0, 2.0, units) / np.sqrt(units)


def _predict_noise(*, dim: int, units: int, scale: float, draws: int) -> list[float]:
    _, z = orthogonal(dim, 5)
    law = idm.two_layer_orthogonal_law(z, scale, _readout(units))
    return [law.mean, law.mean**2 + law.variance]


def _linear_noise(*, dim: int, units: int, scale: float, draws: int) -> list[float]:
    """The law without the ReLU, of mean zero and variance s² ‖x‖² ‖α‖²."""
    _, z = orthogonal(dim, 5)
    readout = _readout(units)
    return [0.0, float(scale**2 * (z @ z) * (readout @ readout))]


NOISE = statistical(
    id="id/twolayer-law",
    items=("TwoLayer", "Fig12"),
    title="Training the bottom layer alone leaves noise of known size on orthogonal images",
    statement=(
        r"\mathbb{E} f=\tfrac{s\|x\|}{\sqrt{2\pi}}\textstyle\sum_i\alpha_i,\quad"
        r" \mathrm{Var} f=s^2\|x\|^2\big(\tfrac12-\tfrac1{2\pi}\big)\sum_i\alpha_i^2"
    ),
    source=ours("Appendix E.2; the moments are ours"),
    cases=grid(dim=6, units=(10, 40), scale=0.5, draws=20_000),
    predict=_predict_noise,
    measure=_measure_noise,
    # Standard errors up to 0.012.
    compare=MeanEquals(discrepancy=0.15),
    must_refute=_linear_noise,
    uses=("id/twolayer-orth",),
)
