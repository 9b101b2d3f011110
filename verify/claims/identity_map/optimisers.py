"""Optimisers, batches and what looks at training, against plain PyTorch (closed claims)."""

import math
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from empirical.testbed import optimisers
from empirical.testbed.batches import Afresh, Batches, Epochs, Whole
from empirical.testbed.budgets import Floor, Released
from empirical.testbed.loop import Task, train
from empirical.testbed.modules import Params
from empirical.testbed.observers import (
    BestWindow,
    Curve,
    Diverged,
    Drops,
    Series,
    Snapshots,
)
from empirical.testbed.slopes import Outer, norms
from empirical.testbed.stack import Stack
from empirical.testbed.supervised import Supervised, loaded
from verify.claim import grid
from verify.claims._descent import step
from verify.claims._twins import (
    UPDATES,
    closed,
    drawn_into,
    normal,
    orders,
    sketch,
    stacked,
)
from verify.compare import AgreesTo

_EXAMPLES, _STEPS = 7, 12
_RATES = (0.05, 0.03, 0.02)

_DECAYING = {"momentum": 0.7, "weight_decay": 0.3}
_MOMENTS: dict[str, Any] = {"betas": (0.6, 0.8), "eps": 1e-3}

OPTIMISERS: Mapping[str, tuple[str, Mapping[str, Any], str, Mapping[str, Any]]] = {
    "descent": ("SGD", {}, "SGD", {"momentum": 0.1}),
    "momentum": ("SGD", _DECAYING, "SGD", _DECAYING | {"dampening": 0.7}),
    "decay of the last": ("SGD", _DECAYING | {"decayed": (2,)}, "SGD", _DECAYING),
    "adam": ("Adam", {}, "NAdam", {}),
    "adam, other moments": ("Adam", _MOMENTS, "Adam", {"betas": (0.6, 0.8)}),
    "adamax": ("Adamax", {}, "Adam", {}),
    "adamax, other moments": ("Adamax", _MOMENTS, "Adamax", {}),
    "adagrad": ("Adagrad", {}, "RMSprop", {}),
    "adagrad, other guard": ("Adagrad", {"eps": 1e-2}, "Adagrad", {}),
    "rmsprop": ("RMSprop", {}, "RMSprop", {"centered": True}),
    "rmsprop, other moments": ("RMSprop", {"alpha": 0.7, "eps": 1e-2}, "RMSprop", {}),
}
"""Rules of both libraries with their settings, and a neighbouring one of PyTorch's."""


def _theirs(name: str, parameters: list[Tensor], rate: float, *, wrong: bool) -> Any:
    """Return PyTorch's optimiser, which decays groups of parameters."""
    rule, settings = OPTIMISERS[name][2:] if wrong else OPTIMISERS[name][:2]
    groups: list[dict[str, Any]] = [{"params": parameters}]
    for last in settings.get("decayed", ()):
        rest = [p for k, p in enumerate(parameters) if k != last]
        groups = [{"params": [parameters[last]]}, {"params": rest, "weight_decay": 0.0}]
    plain = {key: value for key, value in settings.items() if key != "decayed"}
    return getattr(torch.optim, rule)(groups, lr=rate, **plain)


def _net(replicate: int) -> nn.Sequential:
    net = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3)).double()
    drawn_into(net.parameters(), [40, replicate])
    return net


def _examples() -> tuple[Tensor, Tensor]:
    return normal(_EXAMPLES, 5, seed=[41]), torch.arange(_EXAMPLES) % 3


def _stack(*rates: float) -> Stack:
    return Stack(stacked(_net(r).parameters() for r in range(len(rates))), rates=rates)


def _own_order(replicate: int) -> torch.Generator:
    return torch.Generator().manual_seed(50 + replicate)


# --- steps of every optimiser -----------------------------------------------------------


def _plain_steps(
    *, name: str, clip: float | None, common: bool, examples: str, wrong: bool
) -> list[float]:
    """Train each network by itself.

    Wrong: A neighbouring rule, as NAdam for Adam, or the same with other settings.
    """
    x, y = _examples()
    found: list[float] = []
    for replicate, rate in enumerate(_RATES):
        net = _net(replicate)
        rate = _RATES[0] if common else rate
        optimiser = _theirs(name, [*net.parameters()], rate, wrong=wrong)
        losses: list[float] = []
        order = _own_order(replicate if examples == "own" else 0)
        batch = None if examples == "all" else 3
        for chosen in orders(_EXAMPLES, batch, _STEPS, order):
            loss = nn.functional.cross_entropy(net(x[chosen]), y[chosen])
            losses.append(step(optimiser, loss, clip=clip))
        found += [*losses, *sketch(*net.parameters())]
    return found


def _stacked_steps(
    *, name: str, clip: float | None, common: bool, examples: str
) -> list[float]:
    x, y = _examples()
    kind, settings, *_ = OPTIMISERS[name]
    rule: optimisers.Optimiser = getattr(optimisers, kind)(**settings)
    if clip is not None:
        rule = optimisers.Clipped(base=rule, largest=clip)
    curve, net = Curve(np.arange(_STEPS)), _net(0)
    done = train(
        Supervised(net, x, y),
        _stack(*[_RATES[0]] * 3 if common else _RATES),
        rule,
        steps=_STEPS,
        check=5,
        batches=_BATCHES[examples](),
        observers=[curve],
        # Two together and one alone.
        together=2,
    )
    found: list[float] = []
    for replicate in range(3):
        made = loaded(net, done, replicate=replicate)
        found += [*curve.values[replicate].tolist(), *sketch(*made.parameters())]
    return found


_BATCHES: Mapping[str, Callable[[], Batches]] = {
    "own": lambda: Epochs(_EXAMPLES, 3, [_own_order(r) for r in range(3)]),
    "shared": lambda: Epochs(_EXAMPLES, 3, [_own_order(0)]),
    "all": Whole,
}
"""Of each network's own order, of one for all, or all examples."""

STEPS = closed(
    id="id/Fig32-steps",
    title="Every optimiser's steps on stacked networks are PyTorch's on each network",
    statement=r"\theta_{12}\text{ of three stacked networks}=\theta_{12}\text{ of each}",
    where="Appendix I, on optimisers",
    cases=(
        *grid(name=tuple(OPTIMISERS), clip=None, common=False, examples="own"),
        *grid(
            name=("adam", "adam, other moments"), clip=None, common=True, examples="own"
        ),
        *grid(name=("momentum", "adamax"), clip=0.4, common=False, examples="own"),
        *grid(name="momentum", clip=None, common=False, examples=("shared", "all")),
    ),
    compare=UPDATES,
    twin=_plain_steps,
    measure=_stacked_steps,
    uses=("id/Fig32-norms",),
)

# --- norms of gradients of every size ---------------------------------------------------


def _slopes(power: int) -> tuple[Tensor, Outer]:
    """Return gradients of four replicates: large alike, in one part, in none, and zero."""
    sizes = torch.tensor([[1, 1, 0, 0], [1, 0, 1, 0]])[..., None, None] * power
    whole, delta, h = (normal(4, *n, seed=[44]) for n in ((2, 4), (4, 2), (5, 2)))
    whole[3], delta[3] = 0.0, 0.0
    return torch.ldexp(whole, sizes[0]), Outer(torch.ldexp(delta, sizes[1]), h)


def _plain_norms(*, power: int, wrong: bool) -> list[float]:
    """Take roots of sums of squares, of which no square is formed.

    Wrong: The sum of both gradients' norms.
    """
    whole, outer = _slopes(power)
    found: list[float] = []
    for row in range(4):
        product = outer.delta[row].numpy() @ outer.h[row].numpy().T
        parts = (whole[row].flatten().tolist(), product.ravel().tolist())
        apart = sum(math.hypot(*part) for part in parts)
        found.append(apart if wrong else math.hypot(*chain(*parts)))
    return found


def _found_norms(*, power: int) -> list[float]:
    return norms(_slopes(power)).tolist()


NORMS = closed(
    id="id/Fig32-norms",
    title="Norms of gradients are right where squares over- or underflow",
    statement=r"\|(G_1,\Delta H^T)\|=\sqrt{\textstyle\sum_{ij}G_{ij}^2}",
    where="Appendix I, on clipping",
    cases=grid(power=(0, 900, -900)),
    twin=_plain_norms,
    measure=_found_norms,
    # Sums of some thirty squares, of roundings at random.
    compare=AgreesTo(relative=2e-15),
)

# --- batches, drops of the rate, clipping that lifts ------------------------------------


class _Parabola(Task):
    """Half the mean square of what is left of each example, for a vector a replicate."""

    def __init__(self, goals: Tensor) -> None:
        self.goals = goals

    def losses(self, params: Params, stack: Stack, examples: Tensor | None) -> Tensor:
        goals = self.goals[None].expand(len(stack), -1, -1)
        if examples is not None:
            mine = stack.examples(examples)
            goals = goals.gather(1, mine[..., None].expand(-1, -1, goals.shape[2]))
        return 0.5 * (params[0][:, None] - goals).square().mean(dim=(1, 2))


def _goals(way: str) -> Tensor:
    return (
        torch.zeros(1, 2, dtype=torch.float64)
        if way == "lifted"
        else normal(5, 2, seed=[42])
    )


def _starts() -> Tensor:
    return normal(3, 2, seed=[43], size=2.0)


def _plain_ways(*, way: str, wrong: bool) -> list[float]:
    """Descend on the parabola, by its formulas.

    Wrong: A drop one update late, gradients never lifted, epochs for fresh draws.
    """
    goals, found = _goals(way), list[float]()
    shared = torch.Generator().manual_seed(60)
    drawn = (
        [torch.randint(5, (4,), generator=shared) for _ in range(9)]
        if way == "afresh" and not wrong
        else list(orders(5, 4 if way == "afresh" else 2, 9, shared))
    )
    for replicate, start in enumerate(_starts()):
        w, rate, first, below = start.clone(), (0.3, 0.9, 0.5)[replicate], 0.0, False
        for t in range(9):
            here = goals if way == "lifted" else goals[drawn[t]]
            loss = float(0.5 * (w - here).square().mean())
            slope = (w - here).mean(dim=0) / len(w)
            now = rate
            if way == "drops":
                # The drops are before updates 3 and 7.
                now *= 0.5 ** ((t > 3 if wrong else t >= 3) + (t >= 7))
            if way == "lifted":
                first = loss if t == 0 else first
                below = below or loss < 0.25 * first
                share = 0.6 / float(slope.norm())
                slope = slope * (min(1.0, share) if below or wrong else share)
            w = w - now * slope
            found.append(loss)
        found += w.tolist()
    return found


def _stacked_ways(*, way: str) -> list[float]:
    shared = torch.Generator().manual_seed(60)
    curve = Curve(np.arange(9))
    rule: optimisers.Optimiser = optimisers.SGD()
    if way == "lifted":
        rule = optimisers.Clipped(base=rule, largest=0.6, rescale_above=0.25)
    batches = {
        "afresh": Afresh(5, 4, shared),
        "drops": Epochs(5, 2, [shared]),
        "lifted": None,
    }
    done = train(
        _Parabola(_goals(way)),
        Stack([_starts()], rates=(0.3, 0.9, 0.5)),
        rule,
        steps=9,
        check=4,
        batches=batches[way],
        observers=[curve, *([Drops([3, 7], 0.5)] if way == "drops" else [])],
    )
    return [
        number
        for losses, w in zip(curve.values, done.final[0], strict=True)
        for number in (*losses.tolist(), *w.tolist())
    ]


WAYS = closed(
    id="id/Fig32-schedules",
    title=(
        "Learning-rate drops, fresh batches and gradient rescaling follow their definitions"
    ),
    statement=r"w\leftarrow w-\eta\,0.5^{[t\ge3]+[t\ge7]}g,\qquad g\leftarrow g\,c/\|g\|",
    where="Appendix A, on the schedule",
    cases=grid(way=("afresh", "drops", "lifted")),
    compare=UPDATES,
    twin=_plain_ways,
    measure=_stacked_ways,
)

# --- what looks at training -------------------------------------------------------------

_LAST = 20


def _course() -> Tensor:
    """Losses of five networks before each of 20 updates: falling, back, flat, wild."""
    t = torch.arange(_LAST, dtype=torch.float64)
    wild = torch.where(t == 6, 41.0, 1.5 - 0.05 * t)
    lost = torch.where(t == 11, torch.nan, 2.0 - 0.05 * t)
    back = torch.where(t >= 9, 0.9, 0.55 - 0.1 * (t == 4) + 0.3 * (t < 2))
    # As large as a loss may be, and no larger.
    high = torch.where(t == 2, 40.0, 2.0 * 0.7**t)
    return torch.stack([high, 1.0 - 0.03 * t, wild, lost, back])


class _Told(Task):
    """Losses that are known beforehand; each parameter counts the updates."""

    def losses(self, params: Params, stack: Stack, examples: Tensor | None) -> Tensor:
        del examples
        now = int(stack.clock[0])
        slope = params[0][:, 0] - params[0][:, 0].detach()
        return _course()[stack.rows, now] + slope


def _plain_looks(*, check: int, wrong: bool) -> list[float]:
    """Say when each network ends, and what is seen of it, from its losses alone.

    Wrong: Divergence at 50 times the first loss in the place of 20.
    """
    course, found = _course().numpy(), list[float]()
    for losses in course:
        first = losses[0]
        bad = [
            t for t in range(_LAST) if not losses[t] <= (50 if wrong else 20) * first
        ]
        released = next((t for t in range(15) if losses[t] < 0.5 * first), -1)
        over = released + 6 if released >= 0 else 15
        ends = {over: 1.0 if released >= 0 else 2.0}
        for t in range(1, _LAST + 1):
            since = next((s for s in range(t - 1, -1, -1) if losses[s] > 0.3), 0)
            if t % check == 0 and t - since > 4:
                ends.setdefault(t, 3.0)
                break
        if bad:
            late = -(-(bad[0] + 1) // check) * check
            # Whoever leaves for another reason has exploded if it had by then.
            ends = {t: 4.0 if bad[0] < t else why for t, why in ends.items()}
            if late <= min(ends):
                ends[late] = 4.0
        end = min([*ends, _LAST])
        exploded = bad[0] if bad and bad[0] < end else -1
        released = released if released < end else -1
        whole = [losses[k : k + 4].mean() for k in range(0, end - end % 4, 4)]
        best, at = np.inf, 0
        for k, mean in enumerate(whole):
            if mean < best:
                best, at = mean, 4 * (k + 1)
        kept = [losses[t] if t < end else -1.0 for t in (0, 3, 8)]
        found += [ends.get(end, 0.0), end, exploded, released, at, *kept]
        # Updates counted by the parameter, where it is looked at before its end.
        found += [-float(t) if t < end else -1e3 for t in (0, 5, 9, 2, 10)]
    return [float(number) for number in found]


_WHY = {"finished": 1.0, "stalled": 2.0, "floor": 3.0, "diverged": 4.0}


def _stacked_looks(*, check: int) -> list[float]:
    diverged = Diverged(20.0, every=check)
    released = Released(0.5, limit=15, steps=6)
    floor = Floor(0.3, patience=4, every=check)
    window, curve = BestWindow(4), Curve([0, 3, 8])
    series = Series([0, 5, 9], lambda stack: {"count": stack.params[0][:, 0]})
    taken = Snapshots([10, 2])
    done = train(
        _Told(),
        Stack([torch.zeros(5, 1, dtype=torch.float64)], rates=1.0),
        optimisers.SGD(),
        steps=_LAST,
        check=check,
        observers=[diverged, released, floor, window, curve, series, taken],
    )
    found: list[float] = []
    for row in range(5):
        why = _WHY[done.status[row]]
        ends = [why, done.steps[row], diverged.at[row], released.at[row]]
        kept = np.nan_to_num(curve.values[row], nan=-1.0).tolist()
        counts = np.nan_to_num(series.values["count"][:, row], nan=-1e3).tolist()
        pictures = [
            float(taken.taken[t][0][row, 0].nan_to_num(nan=-1e3)) for t in (2, 10)
        ]
        found += [*ends, window.at[row], *kept, *counts, *pictures]
    return [float(number) for number in found]


LOOKS = closed(
    id="id/release-looks",
    items=("Fig2",),
    title=(
        "The loss alone decides when a network leaves the plateau, ends, stalls or diverges"
    ),
    statement=r"t_r=\min\{t:\ell_t<\tfrac12\ell_0\},\qquad t_{end}=t_r+6",
    where="Appendix A, on training",
    cases=grid(check=(1, 3, 7)),
    compare=UPDATES,
    twin=_plain_looks,
    measure=_stacked_looks,
)
