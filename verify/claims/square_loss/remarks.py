"""What the text says in passing: sizes of outputs, steps, other losses, ranks."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import torch

from theory import square_loss as sl
from verify.claim import grid, numeric, statistical
from verify.claims._descent import descend
from verify.claims._predictors import always, mistake
from verify.claims.square_loss._networks import (
    Array,
    Problem,
    flat,
    gradients,
    outputs,
    problem,
    square_error,
    tensors,
    unit_rows,
)
from verify.claims.square_loss._sources import as_read, ours, quoted
from verify.compare import AgreesTo, Estimate, Identical, MeanEquals, Outcome

# --- how large outputs are ------------------------------------------------------------

_NETWORKS = 4000


def _measure_size(*, widths: list[int], seed: int) -> Estimate:
    """Mean square output of random directions at one input, by network."""
    g = torch.Generator().manual_seed(6300 + seed)
    x = torch.randn(_NETWORKS, widths[0], 1, generator=g, dtype=torch.float64)
    hidden = x / torch.linalg.vector_norm(x, dim=1, keepdim=True)
    for k, (before, after) in enumerate(itertools.pairwise([*widths, 1])):
        w = torch.randn(_NETWORKS, after, before, generator=g, dtype=torch.float64)
        unit = w / torch.linalg.matrix_norm(w, keepdim=True)
        hidden = unit @ (torch.relu(hidden) if k else hidden)
    return Estimate.of((math.prod(widths) * hidden[:, 0, 0] ** 2).numpy())


def _predict_size(*, widths: list[int], seed: int) -> float:
    return math.prod(widths) * sl.typical_output(widths) ** 2


SMALL = statistical(
    id="sl/eq7-small",
    items=("SmallOutput",),
    title="Outputs of layers with random directions are much smaller than one",
    statement=r"\mathbb{E} f^2=2^{1-L}\textstyle\prod_{k<L}n_k^{-1}\ll1",
    source=ours("Section 2, above Equation 7; the value is ours"),
    assumptions=(
        "told in units of the mean without ReLU, so that 2^{1-L} is predicted",
    ),
    cases=grid(widths=([5], [6, 3], [7, 4, 4], [3, 8, 5, 2]), seed=0),
    predict=_predict_size,
    measure=_measure_size,
    # In units of the mean without ReLU; an error of a third would be seen.
    compare=MeanEquals(discrepancy=0.35, false_fail=1e-9, false_pass=1e-6),
    must_refute=always(1.0, "ReLUs that keep the whole length."),
    uses=("sl/bound",),
    finding=(
        "|f| is at most one, which aligned layers attain (sl/bound); its root mean square"
        " is 2.4e-4 for 64 inputs and three layers of 32 units."
    ),
)


# --- steps, not a flow ----------------------------------------------------------------


def _stepped(
    widths: Sequence[int], seed: int, rate: float, *, wn: bool, back: bool
) -> Array:
    """Directions after two steps: weight normalisation, or the loss with multiplier.

    The latter put `back` on their spheres after each step, or not.
    """
    p = problem(widths, 6, seed)
    vectors = list(p.directions)
    for _ in range(2):
        leaves = tensors(vectors)
        used = [v / torch.linalg.matrix_norm(v) if wn else v for v in leaves]
        f = outputs(used, p.x)
        loss = square_error(p.rho, f, p.labels)
        if not wn:
            value = f.detach().numpy()
            nu = -p.rho * float((p.rho * value - p.labels) @ value)
            loss = loss + nu * torch.stack([v.square().sum() for v in leaves]).sum()
        slopes = gradients(loss, leaves)
        vectors = [v - rate * s for v, s in zip(vectors, slopes, strict=True)]
        if back and not wn:
            vectors = [v / np.linalg.norm(v) for v in vectors]
    return flat([v / np.linalg.norm(v) for v in vectors])


def _measure_steps(*, widths: list[int], seed: int, rate: float, back: bool) -> Array:
    """What the two differ by after two steps; the scale stays."""
    ends = [_stepped(widths, seed, rate, wn=wn, back=back) for wn in (True, False)]
    return ends[0] - ends[1]


def _equal_steps(*, widths: list[int], seed: int, rate: float, back: bool) -> Array:
    return np.zeros(sum(a * b for a, b in itertools.pairwise(widths)))


def _predict_steps(*, widths: list[int], seed: int, rate: float, back: bool) -> Array:
    """Two steps of each by formula (9): by directions, and off their spheres."""
    p = problem(widths, 6, seed)
    ends: list[Array] = []
    for wn in (True, False):
        vectors = list(p.directions)
        for _ in range(2):
            lengths, unit = sl.normalise(vectors)
            f = sl.outputs(unit if wn else vectors, p.x)
            error = p.rho * f - p.labels
            at = unit if wn else vectors
            slopes = sl.weighted_gradients(at, p.x, 2.0 * p.rho * error)
            nu = float(sl.lagrange_multiplier(p.rho, f, p.labels))
            # d/dv of f(v/|v|) is the projected slope over |v|.
            vectors = [
                v - rate * (s - np.vdot(u, s) * u if wn else s + 2.0 * nu * v) / (c**wn)
                for v, u, s, c in zip(vectors, unit, slopes, lengths, strict=True)
            ]
            if back and not wn:
                vectors = list(sl.normalise(vectors)[1])
        ends.append(flat([v / np.linalg.norm(v) for v in vectors]))
    return ends[0] - ends[1]


STEPS = numeric(
    id="sl/wn-descent",
    title="Gradient descent with the multiplier is weight normalisation, step by step",
    statement=r"v_k^{(t)}/\|v_k^{(t)}\|\text{ of WN}=V_k^{(t)}\text{ of descent on (1)}",
    source=as_read("Section 2, below Equation 1"),
    cases=grid(
        widths=([3, 1], [4, 5, 3, 1]), seed=(0, 1), rate=(0.01, 0.1), back=(False, True)
    ),
    predict=_equal_steps,
    measure=_measure_steps,
    # Two steps of sums of terms below 1e2, times a rate of 0.1: ten roundings of 1e-15.
    compare=AgreesTo(absolute=2e-14),
    must_hold=_predict_steps,
    expected=Outcome.REFUTED,
    uses=("sl/wn",),
    finding=(
        "The first step is the same, but both leave the sphere by it, and the second"
        " step differs, even if descent is put back onto the sphere: the longer vectors"
        " of weight normalisation turn more slowly. The flows are equivalent (sl/wn),"
        " which may be what is meant: section 4.1 restricts the analysis to them."
    ),
)


# --- projections and Stiefel matrices -------------------------------------------------


def _projection(kind: str, rows: int, rank: int) -> Array:
    """A projection on `rank` dimensions, or `rank` orthonormal columns; norm one."""
    g = torch.Generator().manual_seed(6400 + 10 * rows + rank)
    a = torch.randn(rows, rank, generator=g, dtype=torch.float64)
    q = torch.linalg.qr(a).Q.numpy()
    return (q @ q.T if kind == "projection" else q) / np.sqrt(rank)


def _measure_kind(*, kind: str, rows: int, rank: int) -> float:
    """Least residual over its gradient's norm, the rest chosen to fit it best."""
    v = torch.from_numpy(_projection(kind, rows, rank))
    # A power iteration for the layers after and before: the nearest matrix of rank one.
    g = torch.Generator().manual_seed(6500)
    left = torch.randn(v.shape[0], generator=g, dtype=torch.float64)
    right = v.T @ left
    for _ in range(50):
        left = torch.nn.functional.normalize(v @ right, dim=0)
        right = torch.nn.functional.normalize(v.T @ left, dim=0)
    leaf = v.clone().requires_grad_()
    f = left @ leaf @ right
    (slope,) = torch.autograd.grad(f, leaf)
    gap = torch.linalg.matrix_norm(slope - v * f.detach())
    return float(gap / torch.linalg.matrix_norm(slope))


def _by_rank(*, kind: str, rows: int, rank: int) -> float:
    """The gap that is left by the projection's rank."""
    return sl.alignment_gap(_projection(kind, rows, rank))


PROJECTIONS = numeric(
    id="sl/err5",
    items=("Err5", "Orth"),
    title="With projections or orthogonal (Stiefel) layers, gradients are parallel to them",
    statement=r"V_k\propto P\text{ or }V_k^TV_k\propto I\Rightarrow\nabla_{V_k}f=V_kf",
    source=quoted("Section 2.1, below Equation 9"),
    cases=(
        *grid(kind=("projection", "stiefel"), rows=(5, 8), rank=(1, 2, 3)),
        # Orthogonal ones.
        *({"kind": "stiefel", "rows": n, "rank": n} for n in (1, 2, 3, 8, 30)),
    ),
    predict=always(0.0),
    measure=_measure_kind,
    # All singular values that are not zero are the same: products of up to thirty entries,
    # each rounded to 1.1e-16 of one.
    compare=AgreesTo(absolute=1e-14),
    must_hold=_by_rank,
    expected=Outcome.REFUTED,
    uses=("sl/orth",),
    finding=(
        "The gradient of one output has rank one, and these are sqrt(1 - 1/r) off every"
        " matrix of rank one at rank r, which is attained and vanishes at rank one only:"
        " what the paper calls sufficient is not. Its source [5] may have vector outputs"
        " in mind."
    ),
)


# --- without decay, from near zero ----------------------------------------------------


def _few(examples: int, inputs: int) -> tuple[Array, Array]:
    rng = np.random.default_rng([66, examples, inputs])
    x = unit_rows(rng.standard_normal((examples, inputs)))
    return x, np.where(np.arange(examples) % 3 == 0, 1.0, -1.0)


def _start(inputs: int, size: float) -> Array:
    w = np.random.default_rng([67, inputs]).standard_normal(inputs)
    return size * w / np.linalg.norm(w)


def _measure_norm(*, examples: int, inputs: int, size: float) -> float:
    """Norm at the end of descent without decay, one linear layer."""
    x, y = map(torch.from_numpy, _few(examples, inputs))
    w = torch.tensor(_start(inputs, size))
    ((end,),) = descend(
        [w], lambda: (x @ w - y).square().sum(), steps=(1200,), rate=0.2, momentum=0.9
    )
    return float(np.linalg.norm(end))


def _predict_norm(*, examples: int, inputs: int, size: float) -> float:
    x, y = _few(examples, inputs)
    w = _start(inputs, size)
    # What the start has outside the span of the inputs is never touched.
    left = w - sl.ridge_solution(x, x @ w, 0.0)
    return float(
        np.hypot(np.linalg.norm(sl.ridge_solution(x, y, 0.0)), np.linalg.norm(left))
    )


NEAR_ZERO = numeric(
    id="sl/minnorm-zero",
    items=("NearZero", "MinNorm"),
    title=(
        "Without decay, a linear network keeps the part of its start that no example sees"
    ),
    statement=r"\lambda=0:\quad\|w(\infty)\|^2=\|w_{\min}\|^2+\|P_\perp w(0)\|^2",
    source=ours("Section 1.2, near-zero initialisation; ours"),
    cases=grid(examples=(1, 4), inputs=9, size=(0.01, 1.0, 5.0)),
    predict=_predict_norm,
    measure=_measure_norm,
    # The slowest direction contracts by at least 3 % a step: e^-36 after 1,200.
    compare=AgreesTo(relative=1e-14),
    must_refute=mistake("The end from a start at zero.", size=0.0),
    uses=("sl/minnorm",),
)


# --- no descent without errors: footnote 4 --------------------------------------------


def _stopping(kind: str) -> Problem:
    """Return an inconsistent rest, an interpolator, or a network that is off at one x."""
    x = np.array([[1.0, 0.0], [0.6, 0.8], [-0.6, -0.8]])
    if kind == "average":  # two equal inputs of both labels: errors cancel in the sum
        return Problem((np.array([[1.0, 0.0]]),), x[[0, 0]], np.array([1.0, -1.0]), 0.0)
    first = np.array([[0.6, 0.8], [0.0, 0.0]]) if kind == "dead" else np.eye(2) / 2**0.5
    last = np.array([[1.0, 0.0]]) if kind == "dead" else np.array([[1.0, 0.5]])
    last = last / np.linalg.norm(last)
    rows = x[1:] if kind == "dead" else x[:1]
    f = np.maximum(rows @ first.T, 0.0) @ last[0]
    return Problem((first, last), rows, np.ones(len(rows)), 1.0 / float(f[0]))


def _measure_stops(*, kind: str) -> list[bool]:
    """Whether a step on all examples moves anything, steps on each, and zero loss."""
    p = _stopping(kind)
    weights = [*p.directions[:-1], p.rho * p.directions[-1]]
    leaves = tensors(weights)
    whole = gradients(square_error(1.0, outputs(leaves, p.x), p.labels), leaves)
    moved = False
    for x, y in zip(p.x, p.labels, strict=True):
        nets = tensors(weights)
        sgd = torch.optim.SGD(nets, lr=0.1)
        square_error(1.0, outputs(nets, x[None]), np.array([y])).backward()  # pyright: ignore[reportUnknownMemberType]
        sgd.step()
        pairs = zip(nets, weights, strict=True)
        moved |= any(
            bool(np.abs(a.detach().numpy() - w).max() > 1e-12) for a, w in pairs
        )
    error = square_error(1.0, outputs(leaves, p.x), p.labels)
    still = all(float(np.abs(s).max()) < 1e-12 for s in whole)
    return [still, not moved, bool(error < 1e-24)]


def _only_at_zero_loss(*, kind: str) -> list[bool]:
    """GD rests at all of them; SGD where there is no loss."""
    zero = kind == "zero"
    return [True, zero, zero]


def _by_each_gradient(*, kind: str) -> list[bool]:
    """Rest where every single example's gradient vanishes."""
    p = _stopping(kind)
    weights = [*p.directions[:-1], p.rho * p.directions[-1]]
    errors = sl.outputs(weights, p.x) - p.labels
    each = [
        sl.weighted_gradients(weights, p.x[n : n + 1], errors[n : n + 1])
        for n in range(len(errors))
    ]
    largest = max(float(np.abs(g).max()) for layers in each for g in layers)
    summed = [sum(layers) for layers in zip(*each, strict=True)]
    return [
        all(float(np.abs(g).max()) < 1e-12 for g in summed),
        largest < 1e-12,
        bool(errors @ errors < 1e-24),
    ]


SGD_STOPS = numeric(
    id="sl/fn4",
    title="Stochastic gradient descent stops only at zero loss on every example",
    statement=r"\text{SGD stops}\Rightarrow\ell_n=0\text{ for every }n",
    source=quoted("Footnote 4"),
    cases=grid(kind=("average", "zero", "dead")),
    predict=_only_at_zero_loss,
    measure=_measure_stops,
    compare=Identical(),
    must_hold=_by_each_gradient,
    expected=Outcome.REFUTED,
    uses=("sl/unnorm",),
    finding=(
        "It stops where e_n dg_n/dW = 0 for every n, which includes a network that is"
        " switched off on an example, whose loss stays at one. Two equal inputs with"
        " different labels show the footnote's point: gradient descent on the sum is"
        " at rest there, on single examples it is not."
    ),
)


# --- rows and batch normalisation -----------------------------------------------------


def _rows(rows: int, columns: int, seed: int) -> tuple[Array, Array, Array]:
    """Return rows of length one, other lengths for them, and a batch of inputs."""
    rng = np.random.default_rng([61, seed])
    w = rng.standard_normal((rows, columns))
    lengths = rng.uniform(0.5, 1.5, (rows, 1))
    unit = unit_rows(w)
    return unit, lengths, rng.standard_normal((50, columns))


def _measure_batch_norm(*, rows: int, columns: int, seed: int) -> Array:
    """Outputs of the library's layer, of rows that are not of length one."""
    w, lengths, x = (torch.from_numpy(a) for a in _rows(rows, columns, seed))
    norm = torch.nn.BatchNorm1d(rows, eps=1e-30, affine=False, dtype=torch.float64)
    return norm(x @ (lengths * w).T).numpy()


def _of_unit_rows(*, rows: int, columns: int, seed: int) -> Array:
    """Standardised products with rows of length one."""
    w, _, x = _rows(rows, columns, seed)
    z = x @ w.T
    return (z - z.mean(axis=0)) / z.std(axis=0)


def _of_the_whole_matrix(*, rows: int, columns: int, seed: int) -> Array:
    """Lengths of rows that count, once the whole matrix is divided by its norm."""
    _, lengths, _ = _rows(rows, columns, seed)
    outputs_of_rows = _of_unit_rows(rows=rows, columns=columns, seed=seed)
    return outputs_of_rows * lengths[:, 0] / np.linalg.norm(lengths)


FOOTNOTE_2 = numeric(
    id="sl/fn2",
    title="Batch normalisation normalises every row of a matrix by itself",
    statement=(
        r"BN(DWx)=BN(Wx)\text{ for every diagonal }D>0:"
        r"\text{ rows count as if of length one}"
    ),
    source=as_read("Footnote 2"),
    cases=grid(rows=(1, 4, 30), columns=5, seed=(0, 1)),
    predict=_of_unit_rows,
    measure=_measure_batch_norm,
    # Means and variances of fifty products of size one, 1.1e-16 each, below ten
    # standard deviations.
    compare=AgreesTo(absolute=1e-13),
    must_refute=_of_the_whole_matrix,
    finding=(
        "The rows' own lengths do not matter to the outputs; with all of them one, the"
        " matrix has the root of their number as its norm."
    ),
)
