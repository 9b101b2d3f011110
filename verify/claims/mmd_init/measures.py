"""What tables 3 to 5 count, against counts by their definitions."""

import numpy as np
import torch

from empirical.mmd_init import measures, networks
from empirical.mmd_init.losses import constant_share
from empirical.mmd_init.networks import classifier
from empirical.networks import FullyConnected, Params
from verify.claim import grid, numeric
from verify.claims._predictors import mistake
from verify.claims.mmd_init._samples import Array, generator
from verify.claims.mmd_init._sources import quoted
from verify.compare import AgreesTo, Identical


def _logits(classes: int, models: int, inputs: int) -> Array:
    """Logits of models that lean to a class each, (models, inputs, classes)."""
    rng = np.random.default_rng([90, classes, models, inputs])
    lean = 1.5 * rng.standard_normal((models, 1, classes))
    return lean + rng.standard_normal((models, inputs, classes))


def _count_constant(
    *, classes: int, models: int, inputs: int, most: int | None = None
) -> float:
    """Share of models that predict at most so many classes, not all by default."""
    most = classes - 1 if most is None else most
    logits = _logits(classes, models, inputs)
    return sum(len({int(np.argmax(r)) for r in m}) <= most for m in logits) / models


def _share_constant(*, classes: int, models: int, inputs: int) -> float:
    return float(constant_share(torch.from_numpy(_logits(classes, models, inputs))))


CONSTANT = numeric(
    id="mmd/ds",
    title=(
        "DS: the share of perturbed models that leave some class of a minibatch unpredicted"
    ),
    statement=r"DS=\operatorname{mean}_i\,1\{|\{\operatorname{argmax}f_i(x):x\}|<d\}",
    source=quoted("Appendices B.3.1 and C.2"),
    cases=(
        *grid(classes=(2, 3, 10), models=256, inputs=32),
        # Fewer inputs than classes, and as many.
        *grid(classes=3, models=(1, 7), inputs=(2, 3)),
        *grid(classes=(2, 4), models=5, inputs=9),
    ),
    predict=_count_constant,
    measure=_share_constant,
    compare=AgreesTo(absolute=1e-12),
    must_refute=mistake(
        "Models that predict a single class, the same for two classes alone.", most=1
    ),
    finding=(
        "For three classes and more it counts models that use two of them as degenerate"
        " too; the paper has two classes."
    ),
)


def _network(seed: int, lowered: float = 0.7) -> tuple[FullyConnected, Params, Array]:
    network = classifier((9, 12, 12, 12, 2))
    state = networks.start(
        network, "xavier", [generator(91, seed)], dtype=torch.float64
    )
    rng = np.random.default_rng([92, seed])
    for _, bias in networks.pairs(network, state):
        bias -= lowered
    for weight, bias in networks.pairs(network, state)[:-1]:
        # One unit of each layer puts in exactly zero: it is off, too.
        weight[:, 0], bias[:, 0] = 0.0, 0.0
    return network, state, rng.standard_normal((32, 9))


def _forward(seed: int, lowered: float = 0.7) -> list[Array]:
    """What enters each ReLU, by the definition."""
    network, state, x = _network(seed, lowered)
    entering: list[Array] = []
    for pair in networks.pairs(network, state)[:-1]:
        weight, bias = (part[0].numpy() for part in pair)
        entering.append(x @ weight.T + bias)
        x = np.maximum(entering[-1], 0.0)
    return entering


def _count_dead(*, seed: int, together: bool = True) -> list[float]:
    entering = _forward(seed)
    most = [x.max(axis=0) if together else x for x in entering]
    shares = [float((x <= 0.0).mean()) for x in most]
    return [*shares, max(shares)]


def _share_dead(*, seed: int) -> list[float]:
    network, state, x = _network(seed)
    found = measures.dead_shares(
        network,
        state,
        torch.from_numpy(x),
        generators=[generator(93)],
        batch=len(x),
        batches=1,
    )
    shares = found[0].mean(dim=0)
    return [*shares.tolist(), float(shares.max())]


_LOWERED = 0.4


def _predict_blocked(*, seed: int, inputs: int = 32) -> list[int]:
    """Units that are off on all inputs, layer by layer."""
    entering = _forward(seed, _LOWERED)
    return [int((x[:inputs] <= 0.0).all(axis=0).sum()) for x in entering]


def _measure_blocked(*, seed: int) -> list[int]:
    """Those of them whose weights and bias have the gradient zero, by autograd."""
    network, state, x = _network(seed, _LOWERED)
    layers = [[part[0].clone() for part in p] for p in networks.pairs(network, state)]
    h, entering = torch.from_numpy(x), list[torch.Tensor]()
    for k, pair in enumerate(layers):
        weight, bias = (part.requires_grad_() for part in pair)
        h = (h.relu() if k else h) @ weight.T + bias
        entering.append(h)
    loss = torch.nn.functional.cross_entropy(h, torch.arange(len(x)) % 2)
    found: list[int] = []
    for pair, met in zip(layers[:-1], entering, strict=False):
        weight, bias = torch.autograd.grad(loss, pair, retain_graph=True)
        still = (weight == 0.0).all(dim=1) & (bias == 0.0)
        found.append(int((still & (met <= 0.0).all(dim=0)).sum()))
    return found


BLOCKED = numeric(
    id="mmd/dead-gradient",
    title="Parameters that lead into a unit that is off on all inputs have no gradient",
    statement=(
        r"x_{l,j}\le0\text{ on all inputs}\Rightarrow"
        r"\nabla_{W^{(l)}_j}L=0,\;\nabla_{b^{(l)}_j}L=0"
    ),
    source=quoted("Appendix B.3.2"),
    cases=grid(seed=(1, 2, 3)),
    predict=_predict_blocked,
    measure=_measure_blocked,
    compare=Identical(),
    must_refute=mistake("Units off on the first input.", inputs=1),
    uses=("mmd/dead",),
    version=2,
)


DEAD = numeric(
    id="mmd/dead",
    items=("Dead", "IOD"),
    title=(
        "The share of hidden units that are off on a whole minibatch, and its worst layer"
    ),
    statement=r"x_{l,j}\le0\text{ on all 32 examples},\quad IOD=\max_l\text{share}_l",
    source=quoted("Appendices B.3.2 and C.2"),
    cases=grid(seed=(1, 2, 3)),
    predict=_count_dead,
    measure=_share_dead,
    compare=AgreesTo(absolute=1e-12),
    must_refute=mistake(
        "Units off for single inputs, not for a minibatch.", together=False
    ),
    version=2,
)
