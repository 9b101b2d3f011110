"""The noise rule, the ball it stands for, the weights of the losses, the tasks."""

import itertools
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import torch

from theory import gaussian, mmd
from verify.claim import grid, numeric, statistical
from verify.claims._predictors import mistake, unlike
from verify.claims.mmd_init._samples import Array, noise_energy
from verify.claims.mmd_init._sources import ours, quoted
from verify.compare import AgreesTo, Estimate, Identical, MeanEquals

_WIDTHS = ([2, 2], [3, 5, 4], [784, 392, 392, 392, 2])


def _predict_noise(
    *, widths: list[int], scale: float, biases: bool = True
) -> list[float]:
    noise = mmd.noise_rule(widths, scale)
    energy = noise.energy - (0.0 if biases else scale**2 * (len(widths) - 1))
    return [float(noise.parameters), energy, noise.square_energy, noise.largest]


SIGMA = numeric(
    id="mmd/sigma",
    title="The variance of the noise on every parameter, and its squared norm",
    statement=(
        r"\operatorname{Var}W_{ij}=s^2/n_{in},\;\operatorname{Var}b_i=s^2/n_{out}"
        r"\;\Rightarrow\;\mathbb{E}\|\epsilon\|^2=s^2\textstyle\sum_k(n_k+1)"
    ),
    source=ours("Section 3.3; the sums are ours"),
    cases=grid(widths=_WIDTHS, scale=(0.5**0.5, 2.0)),
    predict=_predict_noise,
    measure=noise_energy,
    # Sums of 600,000 rounded numbers, added pairwise: twenty roundings of 1.1e-16, three
    # of a squared variance, and four of the sums by layer.
    compare=AgreesTo(relative=3e-15),
    must_refute=mistake("Noise on the weights alone, not on biases.", biases=False),
    finding=(
        "For 784-392-392-392-2 and s² = 1/2 the noise has norm 24.3. The largest"
        " variance, 0.25, is that of the last biases, which alone add N(0, 0.5) to the"
        " difference of the logits of every perturbed model, whatever the input."
    ),
)


def _measure_ball(*, radius: float, dimension: int) -> Any:
    """Integrate over shells: the radius has density m t^(m-1) / r^m."""
    with mpmath.workdps(30):
        m, r = dimension, mpmath.mpf(radius)
        # t = r v^(1/m): the share v of the volume is uniform.
        power = mpmath.mpf(2) / m
        return r**2 * mpmath.quad(lambda v: v**power, [0, mpmath.mpf("1e-6"), 1])


def _on_the_sphere(*, radius: float, dimension: int) -> float:
    """The squared radius, as for a point on the sphere."""
    return radius**2


BALL = numeric(
    id="mmd/claim1-ball",
    title="The mean squared norm of a uniform point in a ball",
    statement=(
        r"\mathbb{E}\|\theta-\theta_0\|^2=\frac{r^2m}{m+2},"
        r"\quad\theta\sim U(B_r(\theta_0))"
    ),
    source=ours("Claim 1; the moment is ours"),
    cases=grid(radius=(0.5, 24.0), dimension=(1, 2, 10, 616_618)),
    predict=mmd.ball_mean_square,
    measure=_measure_ball,
    # Two products and a quotient.
    compare=AgreesTo(relative=1e-15),
    must_refute=_on_the_sphere,
    finding=(
        "At the network's 616,618 parameters a uniform point in the ball lies almost"
        " on its surface, and so does a normal vector with the same mean square."
    ),
)


_LEVELS = np.array([-1.5, -0.7, 0.0, 0.7, 1.5])


def _measure_projection(*, dimension: int) -> Estimate:
    """Share of 100,000 points of a ball below five levels, along one direction."""
    rng = np.random.default_rng([94, dimension])
    first = rng.standard_normal(100_000)
    others = rng.chisquare(dimension - 1, size=first.size)
    radius = rng.random(first.size) ** (1.0 / dimension)
    # In units of the root mean square of one coordinate.
    size = 1.0 / np.sqrt(dimension + 2.0)
    return Estimate.of(
        (radius * first / np.sqrt(first**2 + others) / size)[:, None] <= _LEVELS
    )


def _predict_projection(*, dimension: int) -> Array:
    return np.asarray(gaussian.cdf(_LEVELS))


def _flat(*, dimension: int) -> Array:
    """A uniform number of the same variance, the ball of one dimension."""
    return np.clip(0.5 + _LEVELS / np.sqrt(12.0), 0.0, 1.0)


PROJECTION = statistical(
    id="mmd/claim1-projection",
    items=("Claim1", "Eq9"),
    title="In high dimension, a coordinate of a uniform point in a ball is nearly Gaussian",
    statement=(
        r"\langle\theta-\theta_0,e\rangle\sqrt{m+2}/r\to N(0,1),\quad"
        r"\theta\sim U(B_r(\theta_0))"
    ),
    source=ours(
        "After Equation 7, on relaxing the ball to a normal law; the limit is ours"
    ),
    cases=grid(dimension=(10_000, 616_618)),
    predict=_predict_projection,
    measure=_measure_projection,
    # Its kurtosis of -6 / (m + 4) moves the normal law by 0.55 / 24 of that, 1.4e-5.
    compare=MeanEquals(discrepancy=0.02, false_fail=1e-9, rounding=2e-5),
    must_refute=_flat,
    uses=("mmd/claim1-ball",),
)


def _linear(inputs: int, seed: int) -> tuple[Array, Array]:
    """Return weights and biases of a layer with two classes, flat, and an input."""
    rng = np.random.default_rng([96, inputs, seed])
    return rng.standard_normal(2 * inputs + 2), rng.standard_normal(inputs)


def _measure_farthest(*, inputs: int, radius: float, seed: int) -> float:
    """Ascend the first class's probability on the closed ball, back onto it each time."""
    start, x = (torch.from_numpy(part) for part in _linear(inputs, seed))
    theta = start.clone()
    for _ in range(50):
        theta.requires_grad_()
        weights, biases = theta[:-2].view(2, inputs), theta[-2:]
        p = (weights @ x + biases).softmax(dim=0)[0]
        (slope,) = torch.autograd.grad(p.log(), theta)
        moved = theta.detach() + 1e6 * slope - start
        theta = start + moved * min(1.0, radius / float(moved.norm()))
    weights, biases = theta[:-2].view(2, inputs), theta[-2:]
    return float((weights @ x + biases).softmax(dim=0)[1])


def _predict_farthest(
    *, inputs: int, radius: float, seed: int, classes: int = 2
) -> float:
    """What is left to the other class: logits part by so much along their gradient."""
    start, x = _linear(inputs, seed)
    logits = start[:-2].reshape(2, inputs) @ x + start[-2:]
    reach = radius * np.sqrt(classes * (1.0 + x @ x))
    return float(1.0 / (1.0 + np.exp(logits[0] - logits[1] + reach)))


SUPPORT = numeric(
    id="mmd/claim1-support",
    title="On a ball of parameters, softmax predictions stay away from the vertices",
    statement=(
        r"\min_{\|\theta-\theta_0\|\le r}f_\theta(x)_2"
        r"=\frac1{1+e^{z_1-z_2+ra}}>0,\quad a^2=2(1+\|x\|^2)"
    ),
    source=ours("Claim 1; the minimum is ours"),
    cases=grid(inputs=(1, 5), radius=(0.1, 1.0, 3.0), seed=(0, 1)),
    predict=_predict_farthest,
    measure=_measure_farthest,
    # The difference of logits, of products up to 25 altogether on either side, is in error
    # by two roundings of 1.1e-16 of each.
    compare=AgreesTo(relative=1.1e-14),
    must_refute=mistake("One class's logit alone.", classes=1),
    assumptions=("one layer of weights and biases, two classes",),
    finding=(
        "Claim 1 calls a start good if predictions on a ball have all of the simplex as"
        " their support. No softmax network has: its predictions are continuous and"
        " positive on the closed ball, so that they keep a distance from every vertex."
        " Normal noise, by which the paper replaces the ball, has no such bound."
    ),
)


def _predict_total(*, parts: list[float], weights: list[float]) -> float:
    lam, xi = weights
    # The paper's weights are those that are assumed.
    assumed = {"degeneracy_weight": 0.4, "detachment_weight": 1.0}
    given = unlike(assumed, degeneracy_weight=lam, detachment_weight=xi)
    return mmd.total_loss(*parts, **given)


def _measure_total(*, parts: list[float], weights: list[float]) -> float:
    first, *others = (Fraction(v) for v in parts)
    terms = (a * Fraction(w) for a, w in zip(others, weights, strict=True))
    return float(first + sum(terms))


EQ_23 = numeric(
    id="mmd/eq23",
    title="The total loss adds three losses, two of them with weights 0.4 and 1",
    statement=r"L=L_{uni}+\lambda L_{sd}+\xi L_{iod},\quad\lambda=0.4,\;\xi=1",
    source=quoted("Equation 23 and section 3.3"),
    cases=grid(
        parts=([-0.002, 0.1, 0.3], [0.8, 0.0, 0.2]), weights=([0.4, 1.0], [0.0, 2.0])
    ),
    predict=_predict_total,
    measure=_measure_total,
    # Two products and two sums.
    compare=AgreesTo(relative=1e-15, absolute=1e-16),
    must_refute=mistake("The two weights exchanged.", weights=lambda two: two[::-1]),
    uses=("mmd/eq14", "mmd/eq22", "mmd/eq7-loss"),
)


def _predict_tasks(*, classes: int) -> list[int]:
    return [
        mmd.binary_task_count(classes),
        mmd.binary_task_count(classes, ordered=False),
    ]


def _measure_tasks(*, classes: int) -> list[int]:
    """List every map of the labels to two that uses both, with and without swaps."""
    maps = [m for m in itertools.product((0, 1), repeat=classes) if len(set(m)) == 2]
    swapped = {min(m, tuple(1 - b for b in m)) for m in maps}
    return [len(maps), len(swapped)]


def _constant_ones_too(*, classes: int) -> list[int]:
    """Constant labellings counted, too."""
    return [2**classes, 2 ** (classes - 1)]


PRELIM = numeric(
    id="mmd/prelim",
    title="Ten digits give 1,022 binary tasks, 511 up to swapping the labels",
    statement=r"2^{10}-2=1022",
    source=quoted("Section 4"),
    cases=grid(classes=(2, 3, 10)),
    predict=_predict_tasks,
    measure=_measure_tasks,
    compare=Identical(),
    must_refute=_constant_ones_too,
)
