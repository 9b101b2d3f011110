"""Statements of the text that contradict themselves, each other or arithmetic."""

import itertools
import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical.square_loss.experiments import configurations
from theory import square_loss as sl
from verify.claim import Claim, Evidence, Source, grid
from verify.claims.square_loss._networks import Array
from verify.claims.square_loss._runs import by_scale, draws, last
from verify.claims.square_loss.training import predict_ends, trained
from verify.compare import AgreesTo, Identical, Outcome

KEY = "poggio2021explicit"


# --- captions -------------------------------------------------------------------------


def _ends(*, scale: str, data: str) -> Array:
    """Mean log of the last scale from the largest start, with and without decay."""
    ends: list[float] = []
    for family in ("bn-decay", "bn"):
        found = draws(family, scale, data)
        ends.append(float(np.log(by_scale(found, last(found, "rho"))[-1]).mean()))
    return np.array(ends)


def _one_run(*, scale: str, data: str) -> Array:
    """Let both settings of the caption be of the same run."""
    both = _ends(scale=scale, data=data).mean()
    return np.array([both, both])


def _each_its_own(*, scale: str, data: str) -> Array:
    """Return where theory lets the scales of either setting rest."""
    ends: list[float] = []
    for family in ("bn-decay", "bn"):
        rest = predict_ends(family, scale=scale, data=data)
        levels = by_scale(draws(family, scale, data), rest)
        ends.append(float(np.log(levels[-1]).mean()))
    return np.array(ends)


ERR_8 = trained(
    id="sl/err8",
    items=("Err8",),
    title="A caption that gives weight decay 0.01 and also none describes two runs",
    statement=r"\text{weight decay }0.01\text{ and no weight decay, from scale }5",
    predict=_one_run,
    measure=_ends,
    # Of the log of a scale: the distance of trained networks from their equilibrium.
    compare=AgreesTo(absolute=5e-2),
    must_hold=_each_its_own,
    expected=Outcome.REFUTED,
    where="Caption of Figure 1",
    finding=(
        "From 5 the scale ends at 0.65 with decay and at 4.2 without. The caption names"
        " one start of 5 where figures 2 and 3 show 0.1, 1 and 5, and calls networks of"
        " four fully connected layers convolutional."
    ),
)


def _trained_from(*, scale: float, layers: int, steps: int) -> bool:
    """Whether descent lowers the loss of a normalised network from weights of a scale."""
    generator = torch.Generator().manual_seed(60)
    x = torch.randn(40, 10, generator=generator, dtype=torch.float64)
    y = torch.where(x[:, 0] > 0.0, 1.0, -1.0).to(torch.float64)
    widths = [10, *([8] * (layers - 1)), 1]
    weights: list[Tensor] = []
    for before, after in itertools.pairwise(widths):
        w = torch.randn(after, before, generator=generator, dtype=torch.float64)
        weights.append((scale * w / w.norm()).requires_grad_())
    norms = [
        torch.nn.BatchNorm1d(n, affine=False, dtype=torch.float64) for n in widths[1:-1]
    ]
    sgd = torch.optim.SGD(weights, lr=0.01, momentum=0.9)
    losses: list[float] = []
    for _ in range(steps):
        h = x
        for w, norm in zip(weights[:-1], norms, strict=True):
            h = torch.relu(norm(h @ w.T))
        loss = ((h @ weights[-1].T)[:, 0] - y).square().mean()
        losses.append(float(loss.detach()))
        sgd.zero_grad()
        loss.backward()  # pyright: ignore[reportUnknownMemberType]
        sgd.step()
    return losses[-1] < 0.99 * losses[0]


def _trains(*, scale: float, layers: int, steps: int) -> bool:
    return True


def _unless_zero(*, scale: float, layers: int, steps: int) -> bool:
    return scale > 0.0


ERR_9 = Claim(
    id="sl/err9",
    items=("Err9",),
    title="A network cannot be trained from scales of zero",
    statement=r"\text{initialisation of }\rho_k=0",
    source=Source(KEY, "Caption of Figure 6"),
    evidence=Evidence.NUMERIC,
    cases=grid(scale=(0.0, 0.1, 5.0), layers=(4,), steps=(100,)),
    predict=_trains,
    measure=_trained_from,
    compare=Identical(),
    must_hold=_unless_zero,
    expected=Outcome.REFUTED,
    finding=(
        "All gradients are zero there. The figure shows starts of 0.1 and 5; and a batch"
        " normalisation without affine parameters has no scale that could start at zero."
    ),
)


def _parameters(*, first: str, second: str) -> list[int]:
    """Count the parameters of two experiments' networks."""
    named = {c.name: c for c in configurations("paper")}
    return [named[first].network.parameters, named[second].network.parameters]


def _same(*, first: str, second: str) -> list[int]:
    counts = _parameters(first=first, second=second)
    return [counts[0], counts[0]]


def _counted(*, first: str, second: str) -> list[int]:
    """Count by hand: matrices, or kernels of 3 x 3 with a stride of two."""
    named = {c.name: c.network for c in configurations("paper")}

    def count(network: Any) -> int:
        shape, widths = network.input_shape, network.widths
        if len(shape) == 1:
            return sum(a * b for a, b in itertools.pairwise(widths))
        channels = [shape[0], *widths]
        kernels = sum(9 * a * b for a, b in itertools.pairwise(channels))
        edge = shape[1]
        for _ in widths:
            edge = math.ceil(edge / 2)
        return kernels + widths[-1] * edge**2

    return [count(named[first]), count(named[second])]


ERR_10 = Claim(
    id="sl/err10",
    items=("Err10",),
    title="The three experiments do not train the same networks",
    statement=r"\text{the same networks with both, with one and with neither}",
    source=Source(KEY, "Section 3"),
    evidence=Evidence.NUMERIC,
    cases=grid(first=("bn-decay",), second=("bn-conv", "none")),
    predict=_same,
    measure=_parameters,
    compare=Identical(),
    must_hold=_counted,
    expected=Outcome.REFUTED,
    finding=(
        "A and C are fully connected, B is convolutional, and the rates differ tenfold;"
        " widths are not stated. Here the fully connected network is also trained with"
        " normalisation alone, which makes the comparison that the text asks for."
    ),
)


# --- footnotes ------------------------------------------------------------------------


def _unit_rows(rows: int, columns: int, seed: int) -> Array:
    w = np.random.default_rng([61, seed]).standard_normal((rows, columns))
    return w / np.linalg.norm(w, axis=1, keepdims=True)


def _measure_rows(*, rows: int, columns: int, seed: int) -> list[float]:
    """Frobenius norm of a matrix of unit rows; change of outputs as rows are scaled."""
    w = torch.from_numpy(_unit_rows(rows, columns, seed))
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(50, columns, generator=generator, dtype=torch.float64)
    factors = torch.rand(rows, 1, generator=generator, dtype=torch.float64) + 0.5
    norm = torch.nn.BatchNorm1d(rows, eps=1e-30, affine=False, dtype=torch.float64)
    change = norm(x @ w.T) - norm(x @ (factors * w).T)
    return [float(torch.linalg.matrix_norm(w)), float(change.abs().max())]


def _norm_one(*, rows: int, columns: int, seed: int) -> list[float]:
    return [1.0, 0.0]


def _root_of_rows(*, rows: int, columns: int, seed: int) -> list[float]:
    directions = _unit_rows(rows, columns, seed)
    return [float(sl.norms([directions, np.ones((1, rows))])[0]), 0.0]


ERR_11 = Claim(
    id="sl/err11",
    items=("Err11",),
    title="A matrix of unit rows has norm root n, not one",
    statement=r"\|w_i\|=1\text{ for every row}\;\Rightarrow\;\|V_k\|_F=1",
    source=Source(KEY, "Footnote 2"),
    evidence=Evidence.NUMERIC,
    cases=grid(rows=(1, 4, 30), columns=(5,), seed=(0, 1)),
    predict=_norm_one,
    measure=_measure_rows,
    compare=AgreesTo(absolute=1e-12),
    must_hold=_root_of_rows,
    expected=Outcome.REFUTED,
    finding=(
        "Batch normalisation makes outputs independent of the rows' lengths, as the"
        " second number shows; it does not make the rows have any length."
    ),
)

CLAIMS = (ERR_8, ERR_9, ERR_10, ERR_11)
