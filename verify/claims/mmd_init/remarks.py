"""What the text says beside its equations: noise on Jacobians, unit steps; what is open."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor

from theory import mmd
from verify.claim import grid, numeric, statistical
from verify.claims._predictors import mistake
from verify.claims.mmd_init._runs import (
    ALONE,
    NETWORKS,
    UNLABELLED,
    constant,
    effect,
    series,
)
from verify.claims.mmd_init._samples import (
    Array,
    generator,
    jacobians,
    kernel,
    layers,
    network,
)
from verify.claims.mmd_init._sources import as_read, ours, quoted
from verify.compare import (
    AgreesTo,
    AtMost,
    Contrast,
    Estimate,
    Identical,
    MeanEquals,
    Outcome,
)

# --- why the curves of Figure 2 rise --------------------------------------------------

_WIDTHS = [9, 40, 30, 3]


def _measure_perturbed(*, start: str, s2: float) -> Estimate:
    """Squared row norms of 1,500 networks with noise on every parameter, by autograd."""
    count, g = 1500, generator(90, round(10 * s2))

    def normal(*shape: int) -> Tensor:
        return torch.randn(count, *shape, generator=g, dtype=torch.float64)

    levels = [normal(1, _WIDTHS[0]).requires_grad_()]
    for k, (before, after) in enumerate(itertools.pairwise(_WIDTHS)):
        variance = 2.0 / (before + after if start == "xavier" else before)
        if start == "minimum" and k == 0:
            variance /= 2.0  # He's rows have mean square one, but two at the input
        # The start and the noise apart, as they are in training.
        w = variance**0.5 * normal(after, before) + (s2 / before) ** 0.5 * normal(
            after, before
        )
        shift = (s2 / after) ** 0.5 * normal(1, after)
        below = levels[-1] if k == 0 else torch.relu(levels[-1])
        levels.append(below @ w.mT + shift)
    squares = [
        torch.stack(
            [
                slope.square().sum(dim=(1, 2))
                for slope in torch.autograd.grad(
                    levels[-1][..., i].sum(), levels[:-1], retain_graph=True
                )
            ],
            dim=1,
        )
        for i in range(_WIDTHS[-1])
    ]
    return Estimate.of(torch.stack(squares).mean(dim=0).numpy())


def _predict_perturbed(*, start: Any, s2: float) -> Array:
    return mmd.jacobian_chain(_WIDTHS, start, noise=s2)


NOISE_CHAIN = statistical(
    id="mmd/Fig2-chain",
    items=("Fig2chain",),
    title="Noise lengthens the Jacobian rows of an initialisation that has them right",
    statement=(
        r"\mathbb{E}\|J_l^{(i)}(\theta_0+\epsilon)\|^2=\textstyle\prod_{k>l}q_{k-1}"
        r"(n_{k-1}\sigma_k^2+s^2)"
    ),
    source=ours("Figure 2 and appendix B.2; the law is ours"),
    cases=grid(start=("xavier", "he", "minimum"), s2=(0.2, 0.5, 2.0)),
    predict=_predict_perturbed,
    measure=_measure_perturbed,
    # Sums of heavy products; at s^2 = 2 means reach 12.
    compare=MeanEquals(discrepancy=2.5, false_fail=1e-9),
    must_refute=mistake("The rows of the start itself, without noise.", s2=0.0),
    uses=("mmd/thm3-chain",),
    assumptions=(
        "zero biases before noise",
        "normal weights of variance σ_k², n_{k-1} to a unit; q_0 = 1, all other q = 1/2",
    ),
    finding=(
        "At Xavier's initialisation rows are too short, and noise of s^2 = 0.5"
        " lengthens them. Once they are right, noise makes them too long: for"
        " 784-392-392-392-2 the mean squares of their norms are 0.25 to 1.0 at Xavier's"
        " initialisation, 0.7 to 1.3 with the noise, and 1.25 to 2.9 at the minimum. So"
        " L_iod around the start rises while L_iod at the start falls, see"
        " mmd/Fig2-chosen."
    ),
)


def _predict_perturbed_values(*, start: Any, widths: list[int], s2: float) -> Array:
    return mmd.jacobian_chain(widths, start, noise=s2)


def _measure_perturbed_values(
    *, start: str, widths: list[int], s2: float
) -> list[float]:
    """Add n variances for each layer of n inputs, half of them behind a ReLU."""
    noise, found = Fraction(s2), [Fraction(1)]
    for layer, (before, after) in reversed([*enumerate(itertools.pairwise(widths))]):
        kept = Fraction(1, 2 if layer else 1)
        variance = Fraction(2, before + after if start == "xavier" else before)
        if start == "minimum":
            variance = 1 / (kept * before)
        found.insert(0, found[0] * before * kept * (variance + noise / before))
    return [*map(float, found[:-1])]


NOISE_VALUES = numeric(
    id="mmd/Fig2-chain-values",
    items=("Fig2chain",),
    title="Values of the mean squared norms of Jacobian rows under noise",
    statement=(
        r"\textstyle\prod_{k>l}q_{k-1}(n_{k-1}\sigma_k^2+s^2),\quad"
        r" n_{k-1}q_{k-1}\sigma_k^2=1\text{ at the minimum}"
    ),
    source=ours("Figure 2 and appendix B.2; the law is ours"),
    cases=grid(
        start=("xavier", "he", "minimum"),
        widths=([3, 2], [9, 40, 30, 3], [784, 392, 392, 392, 2]),
        s2=(0.2, 0.5, 2.0),
    ),
    predict=_predict_perturbed_values,
    measure=_measure_perturbed_values,
    # Three roundings a layer of four.
    compare=AgreesTo(relative=1.4e-15),
    must_refute=mistake("The deviation s in the place of s^2.", s2=math.sqrt),
    uses=("mmd/Fig2-chain",),
)


# --- equations 17 to 19 at length one -------------------------------------------------


def _example(widths: list[int], seed: int) -> Any:
    weights, biases = network(widths, 92, seed)
    x = np.random.default_rng([93, seed]).standard_normal((3, widths[0]))
    return weights, biases, x


def _measure_unit(*, widths: list[int], seed: int) -> Array:
    """Largest change of each logit over 4,000 unit steps from three inputs."""
    weights, biases, x = _example(widths, seed)
    g = generator(94, seed)
    steps = torch.randn(4000, widths[0], generator=g, dtype=torch.float64)
    steps = steps / steps.norm(dim=1, keepdim=True)
    found: list[Array] = []
    for row in torch.from_numpy(x):
        at = layers(weights, biases, row[None])[-1]
        moved = layers(weights, biases, row + steps)[-1]
        found.append((moved - at).abs().max(dim=0).values.numpy())
    return np.concatenate(found)


def _by_rows(*, widths: list[int], seed: int) -> Array:
    weights, biases, x = _example(widths, seed)
    w, b = [p.numpy() for p in weights], [p.numpy() for p in biases]
    return np.linalg.norm(mmd.layer_jacobians(w, b, x)[0], axis=-1).ravel()


def _by_layers(*, widths: list[int], seed: int) -> Array:
    """The product of the layers' norms, since ReLU makes nothing longer."""
    weights, _, x = _example(widths, seed)
    below = math.prod(float(torch.linalg.matrix_norm(w, 2)) for w in weights[:-1])
    return np.tile((below * weights[-1].norm(dim=1)).numpy(), len(x))


UNIT = numeric(
    id="mmd/eq19-unit",
    items=("Eq17", "Eq18", "Eq19"),
    title=(
        "A Jacobian row's norm bounds the change of a logit for perturbations of length one"
    ),
    statement=r"\|\xi\|=1\Rightarrow|f^{(i)}(x+\xi)-f^{(i)}(x)|\le\|J^{(i)}(x)\|",
    source=as_read("Equations 17 to 19"),
    cases=grid(widths=([5, 3], [4, 6, 3], [5, 7, 6, 2]), seed=(0, 1)),
    predict=_by_rows,
    measure=_measure_unit,
    # Logits below 30, of two rounded passes.
    compare=AtMost(rounding=1e-13),
    must_hold=_by_layers,
    expected=Outcome.REFUTED,
    uses=("mmd/eq15",),
    finding=(
        "It is true to first order (mmd/eq15) and for one layer. At length one, ReLUs"
        " flip and logits move farther than the row's norm: with two or three layers up"
        " to three times as far here."
    ),
)


# --- appendix B.2: norms nearby, as long as no ReLU flips -----------------------------


def _moves(widths: list[int], seed: int) -> tuple[list[Tensor], list[Tensor]]:
    """Normal directions in which the parameters of the example move."""
    return network(widths, 97, seed)


def _measure_nearby(*, widths: list[int], step: float, seed: int) -> Array:
    """Largest change of a row's norm over three inputs, layer by layer, by autograd."""
    weights, biases, x = _example(widths, seed)
    parts = zip((weights, biases), _moves(widths, seed), strict=True)
    near = [[p + step * e for p, e in zip(*part, strict=True)] for part in parts]
    both = (jacobians(weights, biases, x), jacobians(near[0], near[1], x))
    pairs = [[j.norm(dim=2) for j in level] for level in zip(*both, strict=True)]
    return np.array([float((b - a).abs().max()) for a, b in pairs])


def _by_moves(*, widths: list[int], step: float, seed: int) -> Array:
    """One factor of the product of weights moved after the other."""
    norms, moved = (
        [float(np.linalg.norm(w.numpy(), 2)) for w in each]
        for each in (network(widths, 92, seed)[0], _moves(widths, seed)[0])
    )
    far = [
        math.prod(a + step * e for a, e in zip(norms[k:], moved[k:], strict=True))
        - math.prod(norms[k:])
        for k in range(len(norms))
    ]
    return np.array(far)


NEARBY = numeric(
    id="mmd/eq20-nearby",
    items=("Eq20", "Fig2"),
    title="While no ReLU flips, norms of Jacobian rows are continuous in the parameters",
    statement=(
        r"\bigl|\|J_l^{(i)}(\theta_0+h\epsilon)\|-\|J_l^{(i)}(\theta_0)\|\bigr|\le"
        r"\prod_{k>l}(\|W^{(k)}\|+h\|E^{(k)}\|)-\prod_{k>l}\|W^{(k)}\|"
    ),
    source=as_read("Appendix B.2; the bound is ours"),
    cases=grid(widths=([5, 3], [4, 6, 3], [5, 7, 6, 2]), step=(1e-3, 1e-6), seed=0),
    predict=_by_moves,
    measure=_measure_nearby,
    # Norms below 30, of a few rounded products.
    compare=AtMost(rounding=1e-13),
    must_refute=mistake("A change of second order.", step=lambda h: h**2),
    assumptions=("steps too small for a ReLU of these networks to flip",),
    uses=("mmd/jac",),
    finding=(
        "Where a ReLU flips, a norm jumps. The paper's noise is not so small: around a"
        " start with rows of length one it makes them longer (mmd/Fig2-chain)."
    ),
)


# --- equation 3: zero for equal laws alone --------------------------------------------


def _laws(kind: str, seed: int) -> tuple[Array, Array]:
    """Six points of the simplex of three classes, and six more or the same ones."""
    rng = np.random.default_rng([95, seed])
    e = rng.standard_exponential((6, 3))
    x = e / e.sum(axis=1, keepdims=True)
    y = x[::-1].copy()
    if kind == "one moved":
        y[0] = np.roll(y[0], 1)
    if kind == "same mean":
        # On the other side of the mean, a fifth as far: in the simplex still.
        y = x.mean(axis=0) + 0.2 * (x.mean(axis=0) - x)
    return x, y


def _measure_zero(*, kind: str, seed: int, gamma: float) -> list[bool]:
    """Whether the squared discrepancy of two laws on points is zero, or negative."""
    x, y = map(torch.from_numpy, _laws(kind, seed))
    value = float(
        kernel(x, x, gamma).mean()
        - 2.0 * kernel(x, y, gamma).mean()
        + kernel(y, y, gamma).mean()
    )
    # 36 kernels of size one a term.
    return [abs(value) < 1e-15 * 36, value < -1e-15 * 36]


def _predict_zero(*, kind: str, seed: int, gamma: float) -> list[bool]:
    """Zero where the laws have the same points, and negative nowhere."""
    x, y = (z[np.lexsort(z.T)] for z in _laws(kind, seed))
    return [np.array_equal(x, y), False]


def _equal_means(*, kind: str, seed: int, gamma: float) -> list[bool]:
    """Equal means alone, as a linear kernel sees them."""
    x, y = _laws(kind, seed)
    return [bool(np.allclose(x.mean(axis=0), y.mean(axis=0))), False]


ZERO = numeric(
    id="mmd/eq3-zero",
    title="The squared MMD is never negative, and zero only for equal laws",
    statement=r"MMD(p,q)\ge0,\quad=0\iff p=q",
    source=quoted("Equation 3, after Gretton et al. 2012"),
    cases=grid(
        kind=("permuted", "one moved", "same mean"), seed=(0, 1), gamma=(0.1, 1.0)
    ),
    predict=_predict_zero,
    measure=_measure_zero,
    compare=Identical(),
    must_refute=_equal_means,
    uses=("mmd/eq3",),
)


# --- models that answer for one class: the third plot of figure 1 (b) -----------------


def _of_one_class(*, scale: str) -> Contrast:
    """Share of perturbed models that miss a class of a minibatch, in per cent."""
    return Contrast.alone(constant("uniform-xavier", scale, **ALONE))


def _since_the_start(*, scale: str) -> Contrast:
    """That share after training, and in its first minibatch, before the update."""
    before = series("uniform-xavier", scale, "first/constant", **ALONE)[:, 0]
    after = constant("uniform-xavier", scale, **ALONE)
    return Contrast(after, 100.0 * before)


ONE_CLASS = tuple(
    effect(
        measure,
        least,
        wrong=(None, wrong),
        id=name,
        runs=NETWORKS.looks("uniform-xavier"),
        items=("Fig1", "Degenerate"),
        title=title,
        statement=statement,
        source=as_read("Figure 1 (b) and appendix B.1"),
        unit="points",
        withstands=UNLABELLED,
        uses=("mmd/ds", *uses),
        version=version,
        finding=finding,
    )
    for name, measure, least, wrong, title, statement, uses, version, finding in (
        (
            "mmd/Fig1-degenerate",
            _of_one_class,
            25.0,
            10.0,
            "With the uniformity loss alone, a quarter of models predict one class",
            r"DS(\lambda=\xi=0)\ge25\,\%",
            ("mmd/Fig1b",),
            2,
            (
                "The figure shows one model, which puts all images in one class: this is"
                " how many do. At which value it does so is chance: of constant models that"
                " are uniform, one in five lies as near to that value or to its opposite."
                " Many predict one class before pre-training, too (mmd/Fig1-untreated)."
            ),
        ),
        (
            "mmd/Fig1-untreated",
            _since_the_start,
            10.0,
            0.0,
            "The uniformity loss alone produces models that predict one class",
            r"DS(\lambda=\xi=0)-DS\text{ before pre-training}\ge10\text{ points}",
            ("mmd/Fig1-degenerate",),
            1,
            "A part of them answers for one class already before it.",
        ),
    )
)
