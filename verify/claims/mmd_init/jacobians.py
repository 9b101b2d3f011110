"""Detachment from the input: Jacobians, their loss, and what random weights give."""

import itertools
import math
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import torch

from theory import mmd
from verify.claim import grid, numeric, statistical
from verify.claims._predictors import always, mistake
from verify.claims.mmd_init._samples import (
    Array,
    generator,
    jacobians,
    kernel,
    layers,
    network,
)
from verify.claims.mmd_init._sources import as_read, ours, quoted
from verify.compare import AgreesTo, Estimate, MeanEquals, Outcome

_SHAPES = ([3, 2], [4, 6, 3], [5, 7, 6, 4, 2])


def _inputs(widths: list[int], seed: int) -> Array:
    return np.random.default_rng([82, seed]).standard_normal((4, widths[0]))


def _parameters(widths: list[int], seed: int, *, whole: bool) -> tuple[Any, Any, Array]:
    """Return weights, biases and inputs: of whole numbers many units are exactly zero."""
    weights, biases = network(widths, seed)
    x = _inputs(widths, seed)
    if whole:
        weights, biases = ([p.round() for p in part] for part in (weights, biases))
        x = np.round(x)
    return weights, biases, x


def _found(widths: list[int], seed: int, *, whole: bool = False) -> tuple[Array, ...]:
    """Jacobians by the recursion of `theory`."""
    weights, biases, x = _parameters(widths, seed, whole=whole)
    w, b = [p.numpy() for p in weights], [p.numpy() for p in biases]
    return mmd.layer_jacobians(w, b, x)


# --- the recursion --------------------------------------------------------------------


def _flat(parts: Any) -> Array:
    return np.concatenate([np.asarray(p).ravel() for p in parts])


def _measure_recursion(*, widths: list[int], seed: int, whole: bool) -> Array:
    return _flat(j.numpy() for j in jacobians(*_parameters(widths, seed, whole=whole)))


def _predict_recursion(*, widths: list[int], seed: int, whole: bool) -> Array:
    return _flat(_found(widths, seed, whole=whole))


def _without_masks(*, widths: list[int], seed: int, whole: bool) -> Array:
    """The product of the weights alone, every unit on."""
    weights = [w.numpy() for w in _parameters(widths, seed, whole=whole)[0]]
    found = [weights[-1]]
    for w in weights[-2::-1]:
        found.append(found[-1] @ w)
    return _flat(np.broadcast_to(j, (4, *j.shape)) for j in found[::-1])


JAC = numeric(
    id="mmd/jac",
    title="The Jacobians at all layers by one matrix product per layer, without autograd",
    statement=(r"J_{L-1}=W^{(L)}D_{L-1},\quad J_{l-1}=(J_lW^{(l)})D_{l-1},\quad D_0=I"),
    source=ours("Equations 15 to 22; the recursion is ours"),
    cases=(
        *grid(widths=_SHAPES, seed=(0, 1), whole=False),
        *grid(widths=_SHAPES[1:], seed=0, whole=True),
    ),
    predict=_predict_recursion,
    measure=_measure_recursion,
    # Sums of up to seven products for each of four matrices, eight roundings of 1.1e-16,
    # of paths through the network whose sizes add up to 17.
    compare=AgreesTo(absolute=6e-14),
    must_refute=_without_masks,
    finding=(
        "A dead layer has Jacobian zero: what is masked stays masked in the layers below."
    ),
)


def _measure_reach(*, widths: list[int], seed: int) -> Array:
    """Largest change of each logit along the gradient and 300 other unit directions."""
    weights, biases = network(widths, seed)
    x = torch.from_numpy(_inputs(widths, seed))
    rows = jacobians(weights, biases, x)
    found: list[Array] = []
    step = 1e-5
    for level, j in enumerate(rows):
        at = layers(weights, biases, x)[level]

        def logits(h: Any, level: int = level) -> Any:
            w, b = weights[level:], biases[level:]
            # Above the input a layer's ReLU comes first.
            return layers(w, b, h if level == 0 else torch.relu(h))[-1]

        g = generator(83, seed, level)
        others = torch.randn(300, at.shape[1], generator=g, dtype=torch.float64)
        for k in range(j.shape[1]):
            # A row of zeros has no direction of its own, and moves for none.
            ascent = j[:, k] / j[:, k].norm(dim=1, keepdim=True).clamp(min=1e-300)
            directions = torch.cat([ascent, others / others.norm(dim=1, keepdim=True)])
            changes = [
                (logits(at + step * xi) - logits(at))[:, k].abs() / step
                for xi in directions
            ]
            found.append(torch.stack(changes).max(dim=0).values.numpy())
    return np.concatenate(found)


def _predict_reach(*, widths: list[int], seed: int) -> Array:
    return np.concatenate(
        [np.linalg.norm(j, axis=-1).T.ravel() for j in _found(widths, seed)]
    )


def _whole_matrix(*, widths: list[int], seed: int) -> Array:
    """The norm of the whole Jacobian in the place of a row's."""
    found: list[Array] = []
    for j in _found(widths, seed):
        whole = np.linalg.norm(j, ord=2, axis=(1, 2))
        found.append(np.tile(whole, j.shape[1]))
    return np.concatenate(found)


SENSITIVITY = numeric(
    id="mmd/eq15",
    items=("Eq15", "Eq16", "Eq17", "Eq18", "Eq19"),
    title=(
        "The norm of a Jacobian's row is the largest change of a logit per unit"
        " of its input"
    ),
    statement=(
        r"\sup_{\|\xi\|=1}\tfrac1h\bigl|f^{(i)}(x_l+h\xi)-f^{(i)}(x_l)\bigr|"
        r"=\|J_l^{(i)}\|\text{ while no ReLU flips}"
    ),
    source=as_read("Equations 15 to 19"),
    cases=grid(widths=_SHAPES, seed=(0, 1)),
    predict=_predict_reach,
    measure=_measure_reach,
    # Between kinks the network is linear: rounding of the logits over the step.
    compare=AgreesTo(absolute=1e-9),
    must_refute=_whole_matrix,
    uses=("mmd/jac",),
)


def _measure_loss(*, widths: list[int], seed: int) -> float:
    weights, biases = network(widths, seed)
    rows = jacobians(weights, biases, _inputs(widths, seed))
    gaps = torch.stack([(1.0 - j.square().sum(dim=2).sqrt()) ** 2 for j in rows])
    return float(gaps.max(dim=0).values.mean())


def _predict_loss(*, widths: list[int], seed: int) -> float:
    return mmd.detachment_loss(_found(widths, seed))


def _largest_mean(*, widths: list[int], seed: int) -> float:
    """The mean over classes and inputs before the layer is chosen."""
    return max(mmd.detachment_loss([j]) for j in _found(widths, seed))


EQ_22 = numeric(
    id="mmd/eq22",
    items=("Eq20", "Eq22"),
    title="The detachment loss: the worst layer, class by class",
    statement=(
        r"L_{iod}=E_x\tfrac1d\textstyle\sum_i\max_{0\le l<L}\bigl(1-\|J_l^{(i)}\|\bigr)^2"
    ),
    source=quoted("Equations 20 and 22"),
    cases=grid(widths=_SHAPES, seed=(0, 1)),
    predict=_predict_loss,
    measure=_measure_loss,
    # Norms of products of four small matrices, at most a few 1e-16 of a number near one
    # from it.
    compare=AgreesTo(relative=1e-14),
    must_refute=_largest_mean,
    uses=("mmd/jac",),
)


# --- Theorem 3 ------------------------------------------------------------------------

_ROWS = 10_000


def _masked_rows(inputs: int, seed: int) -> tuple[Array, Array]:
    g = generator(84, inputs, seed)
    w = torch.randn(_ROWS, inputs, generator=g, dtype=torch.float64)
    x = torch.randn(_ROWS, inputs, generator=g, dtype=torch.float64)
    return (w * (2.0 / inputs) ** 0.5).numpy(), (x > 0.0).numpy()


def _measure_rows(*, inputs: int, seed: int) -> Estimate:
    """Squared norms, and n times their squared distances from 1, of 10,000 rows."""
    w, on = _masked_rows(inputs, seed)
    squares = np.sum((w * on) ** 2, axis=1)
    return Estimate.of(np.stack([squares, inputs * (squares - 1.0) ** 2], axis=1))


def _predict_rows(*, inputs: int, seed: int) -> list[float]:
    found = mmd.jacobian_row_moments(inputs)
    return [found.mean, inputs * found.variance]


def _half_the_variance(*, inputs: int, seed: int) -> list[float]:
    """Weights of variance 1/n."""
    found = mmd.jacobian_row_moments(inputs, 1.0 / inputs)
    return [found.mean, inputs * found.variance]


THM_3 = statistical(
    id="mmd/thm3",
    items=("Thm3", "Err5"),
    title="A row of one layer's Jacobian has squared norm of mean 1 and variance 5/n",
    statement=(
        r"\mathbb{E}\|W_k\odot1(x>0)\|^2=1,\quad\operatorname{Var}"
        r"=5/n,\qquad W_{kj}\sim N(0,2/n)"
    ),
    source=ours("Theorem 3; the variance is ours"),
    cases=grid(inputs=(20, 392), seed=0),
    predict=_predict_rows,
    measure=_measure_rows,
    compare=MeanEquals(discrepancy=1.5, false_fail=1e-9),
    must_refute=_half_the_variance,
    assumptions=(
        "independent entries of x, symmetric about 0 and without mass there",
        "no biases",
    ),
    uses=("mmd/thm3-moments",),
)


def _measure_law(*, inputs: int, active: list[int]) -> list[Any]:
    """Condition on how many units are on: a chi-square of as many degrees, in fractions."""
    q = Fraction(*active)
    weight = Fraction(3, 7)
    means = [Fraction(0), Fraction(0)]
    for k in range(inputs + 1):
        chance = comb(inputs, k) * q**k * (1 - q) ** (inputs - k)
        means[0] += chance * k * weight
        means[1] += chance * (k * k + 2 * k) * weight**2
    return [means[0], means[1] - means[0] ** 2]


def _predict_law(*, inputs: int, active: list[int]) -> list[float]:
    share = active[0] / active[1]
    found = mmd.jacobian_row_moments(inputs, 3.0 / 7.0, active=share)
    return [found.mean, found.variance]


def _fixed_mask(*, inputs: int, active: list[int]) -> list[float]:
    """A fixed number of units that are on."""
    q = active[0] / active[1]
    mean = _predict_law(inputs=inputs, active=active)[0]
    return [mean, 2.0 * inputs * q * (3.0 / 7.0) ** 2]


ROWS = numeric(
    id="mmd/thm3-moments",
    title=(
        "Mean and variance of a masked normal row's squared norm, for any share of units on"
    ),
    statement=r"\mathbb{E}=nq\sigma^2,\quad\operatorname{Var}=n\sigma^4(3q-q^2)",
    source=ours("Proof of Theorem 3; the variance is ours"),
    cases=grid(inputs=(1, 2, 17), active=([1, 2], [1, 1], [1, 8])),
    predict=_predict_law,
    measure=_measure_law,
    compare=AgreesTo(relative=2e-15),
    must_refute=_fixed_mask,
)

_NARROW = (30, 20, 24, 20, 3)


def _measure_chain(*, start: str) -> Estimate:
    """Squared row norms of 1,500 networks without biases, by autograd."""
    found: list[Array] = []
    g = generator(85)
    for seed in range(1500):
        weights, biases = network(_NARROW, 86, seed, bias=0.0, start=start)
        x = torch.randn(1, _NARROW[0], generator=g, dtype=torch.float64)
        rows = jacobians(weights, biases, x)
        found.append(np.array([float(j.square().sum(dim=2).mean()) for j in rows]))
    return Estimate.of(found)


def _predict_chain(*, start: Any) -> Array:
    """The mean squared norms of rows, layer by layer."""
    return mmd.jacobian_chain(_NARROW, start)


CHAIN = statistical(
    id="mmd/thm3-chain",
    items=("Thm3", "Err6"),
    title="Mean squared norms of Jacobian rows at every layer, from He and from Xavier",
    statement=(
        r"\mathbb{E}\|J_l^{(i)}\|^2=\textstyle\prod_{k>l}n_{k-1}q_{k-1}\sigma_k^2,\quad"
        r" q_0=1,\;q_k=\tfrac12"
    ),
    source=ours("Equation 20 and Theorem 3; the chain is ours"),
    cases=grid(start=("he", "xavier")),
    predict=_predict_chain,
    measure=_measure_chain,
    compare=MeanEquals(discrepancy=0.5, false_fail=1e-9),
    must_refute=mistake(
        "A masked input, as if it had passed a ReLU.",
        then=lambda found: np.append(0.5 * found[0], found[1:]),
    ),
    assumptions=("zero biases", "normal weights"),
    uses=("mmd/thm3",),
    finding=(
        "784-392-392-392-2 gives 2, 1, 1, 1 from He and 0.332, 0.249, 0.497, 0.995 from"
        " Xavier, input first."
    ),
)


ERR_6 = statistical(
    id="mmd/err6",
    items=("Err6", "Eq20"),
    title="He's initialisation gives every Jacobian norm one, that of the input included",
    statement=r"\text{He's start makes }\|J_l^{(i)}\|=1\text{ for }l=0,\dots,L-1",
    source=as_read("After Equation 20"),
    cases=grid(start="he"),
    predict=always(np.ones(len(_NARROW) - 1)),
    measure=_measure_chain,
    compare=MeanEquals(discrepancy=0.5, false_fail=1e-9),
    must_hold=_predict_chain,
    expected=Outcome.REFUTED,
    uses=("mmd/thm3-chain",),
    finding=(
        "No ReLU masks the input: Theorem 3 excludes l = 0, but the text before it"
        " does not."
    ),
)


def _measure_limit(*, start: str, widths: list[int], networks: int) -> Estimate:
    """The loss of random networks, at four inputs each."""
    found: list[float] = []
    for seed in range(networks):
        weights, biases = network(widths, 87, seed, bias=0.0, start=start)
        g = generator(88, seed)
        x = torch.randn(4, widths[0], generator=g, dtype=torch.float64)
        norms = [j.square().sum(dim=2).sqrt() for j in jacobians(weights, biases, x)]
        worst = torch.stack([(1.0 - n) ** 2 for n in norms]).max(dim=0).values
        found.append(float(worst.mean()))
    return Estimate.of(found)


def _predict_limit(*, start: Any, widths: list[int], networks: int) -> float:
    return mmd.detachment_limit(widths, start)


LIMIT = statistical(
    id="mmd/eq22-limit",
    items=("Eq22", "Thm3"),
    title="The value of the detachment loss at He's and at Xavier's initialisation",
    statement=(
        r"L_{iod}\to\max_l\bigl(1-\sqrt{\mathbb{E}\|J_l\|^2}\bigr)^2:\;0.1716\text{"
        r" (He)},\;"
        r"0.2513\text{ (Xavier, 784-392-392-392-2)}"
    ),
    source=ours("Equation 22 and Theorem 3; the limits are ours"),
    # He's value is the same at every depth, and settles sooner with fewer layers.
    cases=(
        {"start": "he", "widths": [784, 392, 2], "networks": 200},
        {"start": "xavier", "widths": [784, 392, 2], "networks": 50},
        {"start": "xavier", "widths": [784, 392, 392, 392, 2], "networks": 100},
    ),
    predict=_predict_limit,
    measure=_measure_limit,
    # Less than half of what is between 0.1716 and 0.2513. A squared norm of mean J^2 has
    # relative variance v <= 2 / 784 + 5 / 392 with one hidden layer, 15 / 392 below three:
    # the concave root adds J v / 4 <= 0.006 to the square, the largest of layers the rest.
    compare=MeanEquals(discrepancy=0.038, false_fail=1e-9, rounding=0.008),
    must_refute=mistake(
        "The value at the other of the two initialisations.",
        start=lambda start: "xavier" if start == "he" else "he",
    ),
    version=2,
    uses=("mmd/thm3-chain", "mmd/eq22"),
)


def _predict_values(*, start: Any, widths: list[int]) -> list[float]:
    chain = mmd.jacobian_chain(widths, start)
    return [*chain.tolist(), mmd.detachment_limit(widths, start)]


def _measure_values(*, start: str, widths: list[int]) -> list[float]:
    """A layer of n inputs adds n variances, a ReLU at hidden units keeps half."""
    squares: list[Fraction] = []
    for layer, (before, after) in reversed([*enumerate(itertools.pairwise(widths))]):
        variance = Fraction(2, before if start == "he" else before + after)
        kept = Fraction(1, 2) if layer else Fraction(1)
        above = squares[0] if squares else Fraction(1)
        squares.insert(0, above * before * variance * kept)
    worst = max((1.0 - math.sqrt(square)) ** 2 for square in squares)
    return [*map(float, squares), worst]


LIMIT_VALUES = numeric(
    id="mmd/eq22-limit-values",
    items=("Eq22", "Thm3"),
    title="Squared norms of Jacobians layer by layer, and the loss that they leave",
    statement=(
        r"\mathbb{E}\|J_l\|^2=\prod_{k\ge l}n_kv_k\,2^{-[k>0]},\qquad"
        r"\max_l\bigl(1-\sqrt{\mathbb{E}\|J_l\|^2}\bigr)^2"
    ),
    source=ours("Equation 22 and Theorem 3; the limits are ours"),
    cases=grid(start=("he", "xavier"), widths=([784, 392, 392, 392, 2], [5, 7, 3])),
    predict=_predict_values,
    measure=_measure_values,
    # A product of four factors, and a root whose distance from one is some tenths.
    compare=AgreesTo(relative=5e-15, absolute=1e-15),
    must_refute=mistake(
        "A ReLU at the inputs, too, which halves their squared norm alone.",
        then=lambda found: [0.5 * found[0], *found[1:]],
    ),
    uses=("mmd/thm3-chain", "mmd/eq22-limit"),
)


def _measure_matrix(*, outputs: int, inputs: int) -> Estimate:
    """Squared norms of W times the mask, 2,500 draws."""
    found: list[float] = []
    g = generator(89, outputs, inputs)
    for _ in range(2500):
        w = torch.randn(outputs, inputs, generator=g, dtype=torch.float64)
        on = torch.randn(inputs, generator=g, dtype=torch.float64) > 0.0
        v = w @ on.to(torch.float64)
        found.append(float(v @ v) * 2.0 / inputs)
    return Estimate.of(found)


def _rows_added(*, outputs: int, inputs: int) -> float:
    """The squared norm of the whole matrix."""
    return outputs * mmd.jacobian_row_moments(inputs).mean


ERR_5 = statistical(
    id="mmd/err5",
    items=("Err5", "Thm3"),
    title="The norm printed in Theorem 3 is that of a row of the Jacobian",
    statement=r"1\approx\|W^{(l+1)}1(x_l>0)\|_F",
    source=quoted("Equation 21"),
    cases=grid(outputs=(10, 40), inputs=30),
    predict=always(1.0),
    measure=_measure_matrix,
    compare=MeanEquals(discrepancy=8.0, false_fail=1e-9),
    must_hold=_rows_added,
    expected=Outcome.REFUTED,
    uses=("mmd/thm3",),
    finding=(
        "A matrix times a mask is a vector, of norm 19.8 at 392 outputs; row k of the"
        " Jacobian is row k of W without the masked entries. The proof mixes i and k."
    ),
)


# --- equation 11 ----------------------------------------------------------------------


def _measure_detached(*, draws: int) -> Estimate:
    """Unbiased discrepancy at two inputs, and the Jacobian, of 300 sets of models.

    The first weights are zero, and the gap of the last biases is logistic, so that the
    softmax of each model is a uniform number whatever the input.
    """
    found: list[list[float]] = []
    for seed in range(300):
        g = generator(90, seed)
        u = torch.rand(draws, generator=g, dtype=torch.float64)
        weights, biases = network([3, 4, 2], 91, seed)
        weights[0].zero_()
        x = torch.randn(2, 3, generator=g, dtype=torch.float64)
        rows = jacobians(weights, biases, x)
        base = layers(weights, biases, x)[-1]
        gaps = torch.stack([torch.zeros_like(u), torch.logit(u)], dim=1)
        # The bias of each model undoes the constant that the start gives.
        outputs = torch.softmax(base[:, None] - base[:1, None] + gaps, dim=2)
        y = torch.rand(draws, generator=g, dtype=torch.float64)
        sample = torch.stack([y, 1.0 - y], dim=1)
        values = [float(rows[0].abs().max())]
        for f in outputs:
            own = [kernel(a, a, 0.5).sum() - draws for a in (f, sample)]
            cross = kernel(f, sample, 0.5).mean()
            total = sum(own) / (draws * (draws - 1)) - 2.0 * cross
            values.append(float(total))
        found.append(values)
    return Estimate.of(found)


def _one_constant(*, draws: int) -> list[float]:
    """One answer alone for a detached network, that of no preference."""
    # |x - y|^2 / (2 gamma^2) is (p - p')^2 / gamma^2: the bandwidths are the same.
    loss = mmd.segment_point_mmd(0.5, 0.5)
    return [0.0, loss, loss]


EQ_11 = statistical(
    id="mmd/eq11",
    title="Models that ignore their input can have the least uniformity loss",
    statement=(
        r"f_{\theta_0+\epsilon_j}(x_i)=c_j\text{ for all }i,\;c_j\sim U(\Delta^{d-1})"
        r"\;\Rightarrow\;L_{uni}=0"
    ),
    source=quoted("Equation 11"),
    cases=grid(draws=40),
    predict=always([0.0, 0.0, 0.0]),
    measure=_measure_detached,
    compare=MeanEquals(discrepancy=0.02, false_fail=1e-9, rounding=1e-15),
    must_refute=_one_constant,
    uses=("mmd/eq3-zero",),
    finding="Uniformity at each single input does not constrain two inputs jointly.",
)
