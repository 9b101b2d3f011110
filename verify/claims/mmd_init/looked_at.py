"""What is measured of starts, and which of them leave, from definitions (closed claims)."""

import itertools
import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical.mmd_init import measures
from empirical.mmd_init.classifiers import classifier
from empirical.mmd_init.networks import as_module, start
from empirical.mmd_init.pretraining import DegenerateStartWarning, pretrain_stack
from empirical.mmd_init.recipes import Recipe
from empirical.mmd_init.task import Degenerate
from empirical.networks import Params
from empirical.testbed.loop import Task, train
from empirical.testbed.optimisers import SGD
from empirical.testbed.stack import Stack
from verify.claim import grid
from verify.claims._twins import SUMS, Array, closed, normal, sketch, stacked
from verify.claims.mmd_init.logits import noisy
from verify.claims.mmd_init.terms import detached
from verify.claims.mmd_init.tuning import plain

_WIDTHS = [5, 7, 6, 3]
_S = (0.6, 1.1)


def _own(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(110 + seed)


def _pairs(row: int) -> list[tuple[Tensor, Tensor]]:
    params = [p.detach() for p in plain(_WIDTHS, row, norm=False).parameters()]
    return list(zip(params[::2], params[1::2], strict=True))


def _stacked() -> Params:
    return stacked([p for pair in _pairs(row) for p in pair] for row in range(2))


def _inputs() -> Tensor:
    return normal(11, 5, seed=[111])


def _seeded(g: torch.Generator) -> torch.Generator:
    """Return a generator that another one seeds, as noise has it."""
    return torch.Generator().manual_seed(int(torch.randint(2**62, (), generator=g)))


def _ks(p: Array) -> float:
    from scipy import stats

    return float(stats.kstest(p, "uniform").statistic)


def _plain_measured(*, what: str, s: float = 0.8, wrong: bool) -> list[float]:
    """Count shares and differentiate network by network.

    Wrong: Models of one class alone, units off on single inputs, sums over classes, larger
    noise, another class.
    """
    if what == "diverged":
        # The first network's are as they were, and those of the other are none.
        each = [
            _plain_measured(what=one, s=s, wrong=wrong)
            for one in ("constant", "dead", "many")
        ]
        halves = [found[: len(found) // 2] for found in each]
        return [v for half in halves for v in (*half, *[-1.0] * len(half))]
    x, found = _inputs(), list[float]()
    for row, its in enumerate(_S):
        weights, g = _pairs(row), _own(row)
        if what == "constant":
            chosen = [torch.randperm(11, generator=g)[:4] for _ in range(3)]
            own = _seeded(g)
            for rows in chosen:
                logits = noisy(weights, x[rows], 9, its, own, way="auto", few=10 * 16)
                most = 1 if wrong else 2
                counted = [len(set(p.argmax(dim=1).tolist())) <= most for p in logits]
                found.append(sum(counted) / 9)
        elif what == "dead":
            for rows in [torch.randperm(11, generator=g)[:2] for _ in range(3)]:
                h = x[rows]
                for w, b in weights[:-1]:
                    met = h @ w.T + b
                    most = met if wrong else met.amax(dim=0)
                    found.append(float((most <= 0.0).double().mean()))
                    h = met.relu()
        elif what == "slopes":
            squares = np.zeros(3)
            for one in x:
                met = [one.clone().requires_grad_()]
                for k, (w, b) in enumerate(weights):
                    met.append(w @ (met[-1].relu() if k else met[-1]) + b)
                for logit in met[-1]:
                    slopes = torch.autograd.grad(logit, met[:-1], retain_graph=True)
                    squares += [float(d.square().sum()) for d in slopes]
            found += (squares / (len(x) if wrong else 3 * len(x))).tolist()
            found.append(detached(weights, x).item())
        elif what == "perturbed":
            own, size = _seeded(g), 1.5 * s if wrong else s
            drawn = [
                (
                    w
                    + size
                    * torch.empty(4, *w.shape).double().normal_(generator=own)
                    / w.shape[1] ** 0.5,
                    b
                    + size
                    * torch.empty(4, len(b)).double().normal_(generator=own)
                    / len(b) ** 0.5,
                )
                for w, b in weights
            ]
            each = [[(w[k], b[k]) for w, b in drawn] for k in range(4)]
            found += [detached(one, x).item() for one in each]
        else:
            # Of more inputs than networks noise is on weights, otherwise on outputs.
            way = "explicit" if what == "predicted" else "gram"
            here = x if what == "predicted" else x[:4]
            logits = noisy(weights, here, 6, s, _seeded(g), way=way)
            found += sketch(*logits.softmax(dim=2)[..., 1 if wrong else 0])
    return found


def _found_measured(
    *, what: str, s: float = 0.8, diverged: bool = False
) -> list[float]:
    if what == "diverged":
        found = [
            _found_measured(what=one, s=s, diverged=True)
            for one in ("constant", "dead", "many")
        ]
        return np.nan_to_num(np.concatenate(found), nan=-1.0).tolist()
    network, params, x = classifier(_WIDTHS), _stacked(), _inputs()
    if diverged:
        params[0][1, 0, 0] = torch.nan
    own: list[torch.Generator] = [_own(0), _own(1)]
    if what == "constant":
        shares = measures.constant_shares(
            network,
            params,
            x,
            s=_S,
            generators=own,
            perturbations=9,
            batch=4,
            batches=3,
        )
        return shares.flatten().tolist()
    if what == "dead":
        dead = measures.dead_shares(
            network, params, x, generators=own, batch=2, batches=3
        )
        return dead.flatten().tolist()
    if what == "slopes":
        squares = measures.jacobian_squares(network, params, x)
        losses = measures.detachment(network, params, x)
        return torch.cat([squares, losses[:, None]], dim=1).flatten().tolist()
    if what == "perturbed":
        return (
            measures.perturbed_detachment(
                network, params, x, s=s, generators=own, perturbations=4
            )
            .flatten()
            .tolist()
        )
    here = x if what == "predicted" else x[:4]
    p = measures.predictions(
        network, params, here, s=s, generators=own, perturbations=6
    )
    return [n for row in p for n in sketch(*row)]


MEASURED = closed(
    id="mmd/ds-records",
    items=("DS", "Dead", "Jac", "IOD", "Fig1"),
    title=(
        "Recorded shares, Jacobians and noisy predictions match counts network by network"
    ),
    statement=(
        r"DS,\ \max_x x_{l,j}\le0,\ \overline{\|J_l\|^2},\ L_{iod}(\theta+\epsilon),"
        r"\ f_1(x)"
    ),
    where="Section 3.2.2 and appendices B.1, B.3.1 and B.3.2",
    cases=(
        *grid(what=("constant", "dead", "slopes", "diverged")),
        *grid(what=("perturbed", "predicted", "many"), s=(0.3, 0.8)),
    ),
    compare=SUMS,
    twin=_plain_measured,
    measure=_found_measured,
    uses=("mmd/ds", "mmd/dead", "mmd/eq22"),
)


def _columns(count: int) -> Tensor:
    p = torch.sigmoid(normal(2, count, 3, seed=[112, count], size=1.5))
    p[0, :, 0] = (torch.arange(count) + 0.5) / count
    return p


def _plain_distance(*, count: int, wrong: bool) -> list[float]:
    """Return the largest gap between two distribution functions.

    Wrong: Steps taken at their middle.
    """
    p = _columns(count).numpy()
    found = [_ks(p[i, :, j]) for i in range(2) for j in range(3)]
    return [d - (0.5 / count if wrong else 0.0) for d in found]


def _found_distance(*, count: int) -> list[float]:
    return measures.distance_to_uniform(_columns(count)).flatten().tolist()


DISTANCE = closed(
    id="mmd/fig1-distance",
    title="Distances from uniformity are Kolmogorov-Smirnov distances",
    statement=r"\sup_t|\hat F(t)-t|",
    where="Figure 1",
    cases=grid(count=(1, 4, 25)),
    compare=SUMS,
    twin=_plain_distance,
    measure=_found_distance,
)


def _plain_start(*, kind: str, uniform: bool, wrong: bool) -> list[float]:
    """Draw weights by PyTorch's functions, in single precision; biases are zero.

    Wrong: He's draw in the place of Xavier's, and the reverse.
    """
    found: list[float] = []
    for row in range(2):
        g = _own(row)
        for a, b in itertools.pairwise(_WIDTHS):
            w = torch.empty(b, a)
            he = (
                torch.nn.init.kaiming_uniform_
                if uniform
                else torch.nn.init.kaiming_normal_
            )
            glorot = (
                torch.nn.init.xavier_uniform_
                if uniform
                else torch.nn.init.xavier_normal_
            )
            if (kind == "he") is not wrong:
                he(w, nonlinearity="relu", generator=g)
            else:
                glorot(w, generator=g)
            found += sketch(w, torch.zeros(b))
    return found


def _found_start(*, kind: Any, uniform: bool) -> list[float]:
    made = start(
        classifier(_WIDTHS),
        kind,
        [_own(0), _own(1)],
        uniform=uniform,
        dtype=torch.float64,
    )
    return [n for row in range(2) for n in sketch(*(p[row] for p in made))]


STARTS = closed(
    id="mmd/prelim-starts",
    title="He's and Xavier's initialisations are PyTorch's, normal or uniform, biases zero",
    statement=r"\operatorname{Var}W=\tfrac2{n_{in}}\text{ or }\tfrac2{n_{in}+n_{out}}",
    where="Section 4, on baselines",
    cases=grid(kind=("he", "xavier"), uniform=(False, True)),
    twin=_plain_start,
    measure=_found_start,
    compare=SUMS,
)


def _plain_module(*, norm: bool, wrong: bool) -> list[float]:
    """Return the module's own outputs.

    Wrong: Outputs in training mode.
    """
    net = plain(_WIDTHS, 1, norm=norm).train(wrong)
    return sketch(net(normal(4, 5, seed=[113])))


def _found_module(*, norm: bool) -> list[float]:
    network = classifier(_WIDTHS, batch_norm=norm)
    params = stacked(plain(_WIDTHS, row, norm=norm).parameters() for row in range(2))
    module = as_module(network, params, replicate=1).eval()
    return sketch(module(normal(4, 5, seed=[113])))


MODULE = closed(
    id="mmd/prelim-given",
    title="A learned start is returned as a PyTorch module, with or without normalisation",
    statement=r"f(x)=W_3\sigma(\nu(W_2\sigma(\nu(W_1x+b_1))+b_2))+b_3",
    where="Section 4, on baselines",
    cases=grid(norm=(False, True)),
    compare=SUMS,
    twin=_plain_module,
    measure=_found_module,
    uses=("id/B1-norms",),
)

# --- who is found degenerate ------------------------------------------------------------

_SHARES = np.array(
    [
        [0.9, 0.9, 0.8, 0.7, 0.9, 0.6, 0.7, 0.9, 0.9, 0.8, 0.9],
        [0.1, 0.2, 0.9, 0.9, 0.1, 0.2, 0.3, 0.1, 0.9, 0.6, 0.9],
        [0.1, 0.1, 0.9, 0.4, 0.7, 0.9, 0.2, 0.9, 0.1, 0.2, 0.1],
    ]
)


class _Told(Task):
    """Shares of constant networks that are known beforehand."""

    def losses(self, params: Params, stack: Stack, examples: Tensor | None) -> Tensor:
        del examples
        shares = torch.from_numpy(_SHARES)[stack.rows, int(stack.clock[0])]
        zero = params[0][:, 0] - params[0][:, 0].detach()
        return torch.stack([zero, *[torch.zeros_like(shares)] * 3, shares])


def _plain_found(*, leave: bool, grace: int, wrong: bool) -> list[float]:
    """Judge each window of two updates, the last of one: two on end above one half.

    Wrong: A threshold of 0.8 in the place of one half.
    """
    found: list[float] = []
    for shares in _SHARES:
        at, before, end = -1, False, 11
        for stop in (2, 4, 6, 8, 10, 11):
            start = stop - (2 if stop % 2 == 0 else 1)
            high = shares[start:stop].mean() >= (0.8 if wrong else 0.5)
            late = stop > 2 * (grace + 1)
            if high and before and late and at < 0:
                at = stop
                end = stop if leave else end
            before = high
        found += [float(at), float(min(end, 11))]
    return found


def _found_found(*, leave: bool, grace: int) -> list[float]:
    recipe = Recipe(window=2, degenerate=0.5, grace=grace)
    looks = Degenerate(recipe, 11, lambda _t, _share: leave)
    stack = Stack([torch.zeros(3, 1, dtype=torch.float64)], rates=1.0)
    done = train(_Told(), stack, SGD(), steps=11, check=2, observers=[looks])
    pairs = zip(looks.at, done.steps, strict=True)
    return [float(number) for pair in pairs for number in pair]


FOUND = closed(
    id="mmd/degenerate-found",
    title="A degenerate start is detected at its second degenerate window in a row",
    statement=r"\bar c_{w-1},\bar c_w\ge\tfrac12,\quad w>\text{grace}",
    where="Appendix B.3.1; leaving such starts is ours",
    cases=grid(leave=(False, True), grace=(0, 1, 3)),
    twin=_plain_found,
    measure=_found_found,
    compare=SUMS,
    uses=("mmd/ds",),
)


def _plain_told(*, on_degenerate: str, grace: int, wrong: bool) -> list[float]:
    """Tell of a start that is constant throughout once two windows are over after grace.

    Wrong: It is told of wherever it does not leave.
    """
    at = 3 * (grace + 2)
    told = on_degenerate != "stop" if wrong else on_degenerate == "warn"
    return [float(told), float(at), at if on_degenerate == "stop" else 12.0, -1.0, 12.0]


def _found_told(*, on_degenerate: Any, grace: int) -> list[float]:
    network = classifier([5, 7, 2])
    params = start(network, "he", [_own(k) for k in range(2)], dtype=torch.float64)
    # Logits of the first network are twenty apart, so that all its neighbours agree.
    params[-1][0] += torch.tensor([10.0, -10.0])
    size: dict[str, Any] = {"batch": 20, "perturbations": 8, "reference": 8}
    recipe = Recipe(steps=12, window=3, rate=1e-9, grace=grace, **size)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", DegenerateStartWarning)
        results = pretrain_stack(
            network,
            normal(40, 5, seed=[114]),
            [recipe] * 2,
            params=params,
            generators=[_own(k) for k in range(2)],
            on_degenerate=on_degenerate,
        )
    heard = sum(issubclass(w.category, DegenerateStartWarning) for w in told)
    found = [float(heard)]
    for result in results:
        at = -1 if result.degenerate is None else result.degenerate
        made = int(np.isfinite(result.history["loss"]).sum())
        found += [float(at), float(made)]
    return found


TOLD = closed(
    id="mmd/degenerate-told",
    title="Of a degenerate start is warned once, or it leaves, or it is noted; as asked",
    statement=r"\bar c_{w-1}=\bar c_w=1,\quad w>\text{grace}",
    where="Appendix B.3.1; what becomes of such starts is ours",
    cases=grid(on_degenerate=("warn", "stop", "record"), grace=(0, 1)),
    twin=_plain_told,
    measure=_found_told,
    compare=SUMS,
    uses=("mmd/degenerate-found",),
)
