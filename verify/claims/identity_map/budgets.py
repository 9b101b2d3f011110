"""Budgets, further starts and losses over many images (closed claims)."""

import itertools
import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from empirical import data
from empirical.identity_map.configuration import Configuration
from empirical.identity_map.networks import copier
from empirical.identity_map.recipes import Recipe
from empirical.identity_map.study import run_configuration
from empirical.identity_map.task import Copy
from empirical.identity_map.training import Trained, train
from empirical.randomness import torch_generator
from verify.claim import grid
from verify.claims._descent import step
from verify.claims._twins import SUMS, UPDATES, closed, sketch, stacked
from verify.claims.identity_map.starts import first_weight
from verify.claims.identity_map.steps import plain, shown, specified, squared
from verify.compare import AgreesTo

# --- budgets and further starts ---------------------------------------------------------


def _slow(name: str) -> Recipe:
    common: dict[str, Any] = {
        "momentum": 0.5,
        "steps": 6,
        "release": 0.7,
        "limit": 12,
        # Of 6 updates 2.7, to the nearest.
        "schedule": (0.45,),
        "drop": 0.25,
        "check": 3,
        "exploded": 50.0,
        "retries": 0,
    }
    more: dict[str, dict[str, Any]] = {
        "released": {},
        "lifted": {"clip": 0.8, "rescale": True},
        "anew": {"release": None, "retries": 2, "retry_rate": 0.1},
        "anew, released": {"retries": 1, "retry_rate": 0.005},
        "batch": {"release": None, "retries": 2, "retry_rate": 0.1, "batch": 2},
        "overflown": {"release": None},
        "at the end": {"release": None, "steps": 1, "schedule": ()},
        "floor": {"release": None, "steps": 20, "schedule": (0.15,)}
        | {"floor": 1.06, "patience": 4},
        "back": {"steps": 5, "schedule": (0.6,)},
    }
    return Recipe(**{**common, **more[name]})


_BUDGET_RATES = {
    "released": (1.0, 0.15, 0.002),
    "lifted": (0.5, 0.2, 0.01),
    "anew": (0.5, 9.0, 90.0),
    "anew, released": (1.0, 200.0, 90.0),
    "batch": (0.5, 9.0, 90.0),
    # Two layers' slopes by the third overflow, in the first update.
    "overflown": (0.5, 9.0, 1e200),
    "at the end": (0.5, 9.0, 1e200),
    # Never at the floor, from the start, and from the third update on.
    "floor": (0.5, 0.2, 0.5),
    # The second leaves the plateau for three updates.
    "back": (1.0, 2.0, 0.5),
}


def _one_start(
    row: int, recipe: Recipe, rate: float, *, many: bool, wrong: bool
) -> dict[str, Any]:
    """Train one network until its time is over."""
    net, x = plain("fcn", 3, "relu", False, row), shown(3, row)  # noqa: FBT003
    sgd = torch.optim.SGD(net.parameters(), lr=rate, momentum=recipe.momentum)
    drawn, losses = torch.Generator().manual_seed(53), list[float]()
    released, exploded, status, t, below = -1, -1, "finished", 0, False
    while True:
        if recipe.release is None:
            over = recipe.steps
        else:
            over = released + recipe.steps if released >= 0 else recipe.waiting
        late = exploded >= 0 and t % recipe.check == 0
        if _rests(losses, recipe):
            status = "floor"
            break
        if late or t >= over:
            status = "stalled" if recipe.release and released < 0 else status
            status = "diverged" if exploded >= 0 else status
            break
        since = t if recipe.release is None else t - released if released >= 0 else -1
        dropped = since > 3 if wrong else since >= 3
        sgd.param_groups[0]["lr"] = rate * (recipe.drop if dropped else 1.0)
        here = x[torch.randint(3, (2,), generator=drawn)] if many else x
        value = squared(net(here), here, "mean")
        losses.append(value.item())
        sgd.zero_grad()
        value.backward()  # pyright: ignore[reportUnknownMemberType]
        if recipe.release is not None:
            low = losses[-1] < recipe.release * losses[0]
            released = t if released < 0 and low else released
            below = below or low
        if recipe.clip is not None:
            every = [p.grad for p in net.parameters() if p.grad is not None]
            share = recipe.clip / math.sqrt(sum(float(g.square().sum()) for g in every))
            for g in every:
                g *= min(1.0, share) if below else share
        bad = not losses[-1] <= recipe.exploded * losses[0]
        exploded = t if bad and exploded < 0 else exploded
        sgd.step()
        t += 1
    with torch.no_grad():
        last = float(squared(net(x), x, "mean"))
    if exploded < 0 and not math.isfinite(last):
        status, exploded = "diverged", t
    if recipe.release and status == "finished" and last >= recipe.release * losses[0]:
        status = "stalled"
    kept = {"status": status, "steps": t, "released": released, "losses": losses}
    return kept | {"start": (rate, exploded), "last": last, "net": net}


def _rests(losses: list[float], recipe: Recipe) -> bool:
    """Whether the losses of more than `patience` updates are at the floor, at a look."""
    if recipe.floor is None or len(losses) % recipe.check or not losses:
        return False
    above = [at for at, loss in enumerate(losses) if loss > recipe.floor]
    return len(losses) - max(above, default=0) > recipe.patience


_STATUS = {"finished": 0.0, "floor": 1.0, "stalled": 2.0, "diverged": 3.0}


def _plain_budgets(*, how: str, wrong: bool) -> list[float]:
    """Train each network by itself, and again where it diverged.

    Wrong: The rate dropped one update late.
    """
    recipe, found = _slow(how), list[float]()
    for row, rate in enumerate(_BUDGET_RATES[how]):
        seed, starts = 0 if how == "batch" else row, []
        one: dict[str, Any] = {"status": "diverged"}
        for _ in range(recipe.retries + 1):
            if one["status"] == "diverged":
                many = how == "batch"
                one = _one_start(seed, recipe, rate, many=many, wrong=wrong)
                starts += one["start"]
                rate *= recipe.retry_rate
        found += [_STATUS[one["status"]], one["steps"], one["released"], *starts]
        first = (one["losses"] + [-1.0] * 10)[:10]
        found += [*first, one["last"], *sketch(*one["net"].parameters())]
    return _finite(found)


def _finite(numbers: Iterable[float]) -> list[float]:
    return [float(n) if math.isfinite(n) else -9.0 for n in numbers]


def _found_budgets(*, how: str) -> list[float]:
    many = how == "batch"
    seeds = [0, 0, 0] if many else [0, 1, 2]
    images = shown(3, 0) if many else torch.stack([shown(3, seed) for seed in seeds])
    done: Trained = train(
        specified("fcn", 3, "relu", False),  # noqa: FBT003
        stacked(
            plain("fcn", 3, "relu", False, seed).parameters()  # noqa: FBT003
            for seed in seeds
        ),
        images,
        _slow(how),
        rates=_BUDGET_RATES[how],
        generator=torch.Generator().manual_seed(53) if many else None,
    )
    found: list[float] = []
    for row in range(3):
        starts = [float(number) for start in done.starts[row] for number in start]
        found += [_STATUS[done.status[row]], done.steps[row], done.released[row]]
        losses = [*done.losses[row, : done.steps[row]], *[-1.0] * 10][:10]
        found += [*starts, *losses, done.final_losses[row]]
        found += sketch(*(p[row] for p in done.final))
    return _finite(found)


BUDGETS = closed(
    id="id/release-steps",
    items=("Fig2", "Fig5"),
    title="Step budgets count from the end of the plateau; a diverged network is retrained",
    statement=r"t_{end}=t_r+T,\qquad\eta\leftarrow\eta\,r\text{ where }\ell_t>50\,\ell_0",
    where="Appendix A, on training",
    cases=grid(how=tuple(_BUDGET_RATES)),
    compare=UPDATES,
    twin=_plain_budgets,
    measure=_found_budgets,
    uses=("id/Fig32-schedules",),
)


# --- the networks of one configuration --------------------------------------------------

_LABELS, _SCHEMES = (3, 5), ("framework", "kaiming-normal")
_TOGETHER, _SEEDS, _UPDATES = (0.5, 0.2), (1, 2), 6


def _digit(label: int) -> torch.Tensor:
    """Return the second example of a digit, of 5 x 4 pixels."""
    found = data.load("mnist", "train", cached=False)
    row = [k for k, own in enumerate(found.labels) if own == label][1]
    pixels = torch.from_numpy((found.images[row] / 255.0 - 0.1307) / 0.3081)[None, None]
    small = functional.interpolate(pixels, size=(5, 4), mode="bilinear", antialias=True)
    return small.float().flatten(1)


def _plain_networks(*, bias: bool, wrong: bool) -> list[float]:
    """Train a network of every label, scheme, rate and seed by itself.

    Wrong: The two rates exchanged.
    """
    found: list[float] = []
    every = itertools.product(_LABELS, enumerate(_SCHEMES), _TOGETHER, _SEEDS)
    for label, (place, scheme), rate, seed in every:
        x, g = _digit(label), torch_generator(seed, "identity-map", "weights")
        lower, upper = nn.Linear(20, 3, bias=bias), nn.Linear(3, 20, bias=bias)
        net = nn.Sequential(lower, nn.ReLU(), upper)
        for layer in (lower, upper):
            weight = first_weight(scheme, layer.weight.shape, g, dtype=torch.float32)
            with torch.no_grad():
                layer.weight.copy_(weight)
                if bias and scheme == "framework":
                    half = weight.shape[1] ** -0.5
                    layer.bias.uniform_(-half, half, generator=g)
                elif bias:
                    layer.bias.zero_()
        rates = {_TOGETHER[0]: _TOGETHER[1], _TOGETHER[1]: _TOGETHER[0]}
        sgd = torch.optim.SGD(
            net.parameters(), lr=rates[rate] if wrong else rate, momentum=0.9
        )
        losses = [step(sgd, squared(net(x), x, "mean")) for _ in range(_UPDATES)]
        with torch.no_grad():
            losses.append(squared(net(x), x, "mean").item())
        found += [label, place, rate, seed, *losses]
    return found


def _found_networks(*, bias: bool) -> list[float]:
    made = Configuration(
        name="x",
        network=copier("fcn", shape=(1, 5, 4), layers=2, width=3, bias=bias),
        recipe=Recipe(steps=_UPDATES, schedule=()),
        labels=tuple((label,) for label in _LABELS),
        skip=1,
        schemes=_SCHEMES,
        rates=_TOGETHER,
        seeds=_SEEDS,
        measurements=(),
    )
    found: list[float] = []
    for draw in run_configuration(made).draws:
        (label,), place = draw.keys["labels"], _SCHEMES.index(draw.keys["scheme"])
        found += [label, place, draw.keys["rate"], draw.seed]
        found += [*draw.series("losses").tolist(), float(draw.fact("final_loss"))]
    return found


NETWORKS = closed(
    id="id/Fig36-networks",
    items=("Fig31", "Fig32", "Fig36", "Fig37"),
    title="Networks of one record have the image, start, rate and seed that it names",
    statement=r"\ell_t(x_y,\theta_{s,r},\eta)\text{ of every }(y,s,\eta,r)",
    where="Appendices I and K",
    cases=grid(bias=(False, True)),
    twin=_plain_networks,
    measure=_found_networks,
    # Six updates in single precision, each of sums of 20 products: four roundings of 6e-8
    # at random, and losses of their squares.
    compare=AgreesTo(relative=3e-6),
    uses=("id/Fig2-steps", "id/Fig31-starts", "id/probe-pictures"),
)


def _plain_over_all(*, examples: int, loss: str, wrong: bool) -> list[float]:
    """Return the loss of each network over all images at once.

    Wrong: The mean in the place of half a sum, and the reverse.
    """
    x, found = shown(examples, 0), list[float]()
    other = "half-sum" if loss == "mean" else "mean"
    for row in range(2):
        net = plain("cnn", 2, "relu", True, row)  # noqa: FBT003
        with torch.no_grad():
            found.append(float(squared(net(x), 0.5 * x, other if wrong else loss)))
    return found


def _found_over_all(*, examples: int, loss: Any) -> list[float]:
    x = shown(examples, 0)[None]
    nets = [plain("cnn", 2, "relu", True, row) for row in range(2)]  # noqa: FBT003
    network = specified("cnn", 2, "relu", True)  # noqa: FBT003
    task = Copy(network=network, images=x, targets=0.5 * x, loss=loss)
    with torch.no_grad():
        return task.over_all(stacked(n.parameters() for n in nets)).tolist()


OVER_ALL = closed(
    id="id/Fig38-loss",
    title="The loss over thousands of images is a mean, or half a sum, over all of them",
    statement=r"\tfrac1{nd}\textstyle\sum(f(x)-y)^2\quad\text{or}\quad\tfrac12\sum(f(x)-y)^2",
    where="Appendix L",
    cases=grid(examples=(3, 2300), loss=("mean", "half-sum")),
    compare=SUMS,
    twin=_plain_over_all,
    measure=_found_over_all,
)
