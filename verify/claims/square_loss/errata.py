"""Statements of the text that contradict themselves, each other or arithmetic."""

import itertools
import math
from typing import Any

import numpy as np
import torch

from empirical.square_loss.experiments import configurations
from theory import square_loss as sl
from verify.claim import Claim, Evidence, Source, grid
from verify.claims.square_loss._networks import Array
from verify.compare import AgreesTo, Identical, Outcome

KEY = "poggio2021explicit"


# --- networks -------------------------------------------------------------------------


def _parameters(*, first: str, second: str) -> list[int]:
    """Count the parameters of two experiments' networks."""
    named = {c.name: c for c in configurations("paper")}
    return [named[first].network.parameters, named[second].network.parameters]


def _same(*, first: str, second: str) -> list[int]:
    counts = _parameters(first=first, second=second)
    return [counts[0], counts[0]]


def _counted(*, first: str, second: str) -> list[int]:
    """Weights counted by hand, of kernels of 3 x 3 with a stride of two."""
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
    title="The three experiments train the same networks",
    statement=r"\text{the same networks with both, with one and with neither}",
    source=Source(KEY, "Section 3"),
    evidence=Evidence.NUMERIC,
    cases=grid(first=("bn-decay",), second=("bn-conv", "none")),
    predict=_same,
    measure=_parameters,
    compare=Identical(),
    must_hold=_counted,
    expected=Outcome.REFUTED,
    uses=("id/tab1-counts",),
    finding=(
        "Experiments A and C are fully connected, B is convolutional, their rates"
        " differ tenfold, and widths are not stated. Here the fully connected network"
        " is also trained with normalisation alone, which makes the comparison that"
        " the text asks for."
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
    """The root of the number of rows."""
    directions = _unit_rows(rows, columns, seed)
    return [float(sl.norms([directions, np.ones((1, rows))])[0]), 0.0]


ERR_11 = Claim(
    id="sl/err11",
    items=("Err11",),
    title="A matrix with rows of unit norm has Frobenius norm one",
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
        " second number shows; it does not give the rows any particular length."
    ),
)
