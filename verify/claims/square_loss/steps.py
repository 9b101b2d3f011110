"""Updates with the square loss, against plain PyTorch (closed claims)."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations, parametrize

from empirical.square_loss.classifiers import classifier
from empirical.square_loss.problems import Problem
from empirical.square_loss.recipes import Recipe
from empirical.square_loss.training import Trained, train
from verify.claim import Case
from verify.claims._descent import step
from verify.claims._resumed import resumed
from verify.claims._twins import UPDATES, closed, drawn_into, normal, orders, sketch

_RATES = (0.02, 0.045)
_SHAPES = {"dense": (5,), "images": (2, 5, 4)}

FAMILIES = ("none", "bn", "bn-affine", "wn", "wn-rows")

RECIPES: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "momentum": {"momentum": 0.8, "weight_decay": 0.2, "batch": 3},
    "last": {"momentum": 0.5, "weight_decay": 0.3, "decayed": "last", "batch": 3},
    "drops": {"momentum": 0.5, "schedule": (0.5, 0.75), "drop": 0.3},
    "frozen": {"momentum": 0.5, "weight_decay": 0.3, "decayed": "last", "frozen": True},
    "stable": {"stable": 0.1, "batch": 3},
    "entropy": {"momentum": 0.5, "weight_decay": 0.3, "loss": "entropy"},
    "noise": {"momentum": 0.5, "noise": 0.7, "batch": 3},
}


def _layer(family: str, shape: str, fan: int, out: int, *, last: bool) -> nn.Module:
    """Return a weight layer of PyTorch, normalised where the family says so."""
    dense = last or shape == "dense"
    made: Any = (
        nn.Linear(fan, out, bias=False)
        if dense
        else nn.Conv2d(fan, out, 3, stride=2, padding=1, bias=False)
    )
    made = made.double()
    if family == "wn-rows":
        return parametrizations.weight_norm(made, dim=0)
    if family == "wn":
        whole: Any = None
        return parametrizations.weight_norm(made, dim=whole)
    return made


def plain(family: str, shape: str, widths: tuple[int, ...], outputs: int) -> nn.Module:
    """Return a classifier of PyTorch's own layers, parameters drawn at random."""
    parts: list[nn.Module] = []
    fan = _SHAPES[shape][0]
    for out in widths:
        parts.append(_layer(family, shape, fan, out, last=False))
        if family.startswith("bn"):
            kind = nn.BatchNorm1d if shape == "dense" else nn.BatchNorm2d
            affine = family == "bn-affine"
            norm = kind(out, eps=1e-12, affine=affine, track_running_stats=False)
            parts.append(norm.double())
        parts.append(nn.ReLU())
        fan = out
    if shape == "images":
        parts.append(nn.Flatten())
        # Strides of 2 leave 3 x 2 spots of 5 x 4, then 2 x 1.
        fan *= 6 if len(widths) == 1 else 2
    parts.append(_layer(family, shape, fan, outputs, last=True))
    return nn.Sequential(*parts)


def own(net: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """Return weights, sizes, gains and shifts in the order of a specification."""
    found: list[tuple[str, nn.Parameter]] = []
    for part in net.children():
        names = dict(part.named_parameters())
        size = names.pop("parametrizations.weight.original0", None)
        v = names.pop("parametrizations.weight.original1", None)
        found += [] if v is None or size is None else [("weight", v), ("size", size)]
        found += [
            ("gain" if n == "weight" and "bias" in names else n, p)
            for n, p in names.items()
        ]
    return found


def drawn(net: nn.Module, family: str, seed: int) -> list[nn.Parameter]:
    """Draw parameters; return those that are trained: hidden sizes of "wn" stay one."""
    named = own(net)
    drawn_into([p for _, p in named], [44, seed], size=1.1)
    if family == "wn":
        for _, size in named[1:-1:2]:
            size.requires_grad = False
            size.data.fill_(1.0)
    return [p for _, p in named if p.requires_grad]


def stacked(
    network: Any, family: str, shape: str, widths: tuple[int, ...], outputs: int
) -> tuple[Tensor, ...]:
    """Return the parameters of two networks as one's, shaped as a specification says."""
    each = [
        drawn(plain(family, shape, widths, outputs), family, row) for row in range(2)
    ]
    return tuple(
        torch.stack([p.detach().view(s) for p in same])
        for same, s in zip(zip(*each, strict=True), network.shapes, strict=True)
    )


def _classes(outputs: int) -> Tensor:
    return torch.tensor(
        [0, 1, 1, 0, 1, 1, 0, 1] if outputs == 1 else [0, 2, 1] * 2 + [1, 2]
    )


def targets(classes: Tensor, outputs: int) -> Tensor:
    """Return labels of one output, -1 and 1, or one of three that is one."""
    if outputs == 1:
        return 2.0 * classes[:, None].double() - 1.0
    return torch.eye(3, dtype=torch.float64)[classes]


def _loss(g: Tensor, y: Tensor) -> Tensor:
    return (g - y).square().sum() / len(y)


def _learnt(g: Tensor, y: Tensor, loss: str) -> Tensor:
    """Return the loss that is learnt from."""
    if loss == "square":
        return _loss(g, y)
    return nn.functional.cross_entropy(g, y.argmax(dim=1))


def _orders(
    how: Recipe, steps: int, generator: torch.Generator
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield each step's examples, and by how much their labels are moved."""
    if not how.noise:
        for chosen in orders(8, how.batch, steps, generator):
            yield chosen, torch.zeros(len(chosen))
        return
    for _ in range(how.epochs):
        order = torch.randperm(8, generator=generator)
        down = torch.randint(2, (8,), generator=generator)
        for place in range(0, 8, 3):
            part = slice(place, place + 3)
            yield order[part], how.noise * (1.0 - 2.0 * down[part].double())


def _bounded(net: nn.Module, x: Tensor, rate: float, stable: float | None) -> float:
    """Lower a rate by the gradients of every single example at the start."""
    if stable is None:
        return rate
    total = 0.0
    with parametrize.cached():
        weights: Any = [
            part.weight for part in net.children() if hasattr(part, "weight")
        ]
        for one in x:
            slopes: Any = torch.autograd.grad(net(one[None])[0, 0], weights)
            total += sum(float(s.square().sum()) for s in slopes)
    return min(rate, stable / (2.0 * total / len(x)))


def _right(g: Tensor, y: Tensor) -> bool:
    if y.shape[1] == 1:
        return bool((g * y > 0.0).all())
    return bool((g.argmax(dim=1) == y.argmax(dim=1)).all())


def _groups(params: list[nn.Parameter], family: str, recipe: Recipe) -> list[Any]:
    """Return what decays, and what does not; frozen layers are left out."""
    count = 2 if family.startswith("wn") else 1
    kept = params[-count:] if recipe.frozen else params
    last = params[-2] if family == "wn-rows" else params[-1]
    decayed = [p for p in kept if recipe.decayed == "all" or p is last]
    rest = [p for p in kept if not any(p is d for d in decayed)]
    groups = [{"params": decayed, "weight_decay": recipe.weight_decay}]
    return groups + ([{"params": rest}] if rest else [])


def _plain_steps(
    *,
    family: str,
    shape: str,
    widths: list[int],
    outputs: int,
    recipe: str,
    after: int | None = None,
    wrong: bool,
) -> list[float]:
    """Train each network by itself with PyTorch's own optimiser.

    Wrong: Decay of every parameter, or momentum of 0.31.
    """
    how, found = _recipe(recipe), list[float]()
    if wrong:
        other: dict[str, Any] = (
            {"decayed": "all"} if recipe == "last" else {"momentum": 0.31}
        )
        how = Recipe(**{**vars(how), **other})
    x, y = normal(8, *_SHAPES[shape], seed=[45]), targets(_classes(outputs), outputs)
    per_epoch = 3 if how.batch else 1
    for replicate, rate in enumerate(_RATES):
        net = plain(family, shape, tuple(widths), outputs)
        params = drawn(net, family, replicate)
        rate = _bounded(net, x, rate, how.stable)
        groups = _groups(params, family, how)
        sgd = torch.optim.SGD(groups, lr=rate, momentum=how.momentum)
        drop = torch.optim.lr_scheduler.MultiStepLR(
            sgd, [per_epoch * round(s * how.epochs) for s in how.schedule], how.drop
        )
        generator, losses, first = torch.Generator().manual_seed(70), [], -1
        clean, whole = True, [_learnt(net(x), y, how.loss).item()]
        for t, (chosen, moved) in enumerate(
            _orders(how, how.epochs * per_epoch, generator)
        ):
            clean = True if t % per_epoch == 0 else clean
            g = net(x[chosen])
            clean = clean and _right(g, y[chosen])
            loss = _learnt(g, y[chosen] + moved[:, None], how.loss)
            losses.append(step(sgd, loss))
            drop.step()
            if (t + 1) % per_epoch == 0:
                whole.append(_learnt(net(x), y, how.loss).item())
                first = t // per_epoch if first < 0 and clean else first
        at = [0, 1, 2, 4]
        found += [rate, len(losses), first, *(whole[k] for k in at), *sketch(*params)]
    return found


def _tested_on_itself(x: Tensor, classes: Tensor) -> Problem:
    return Problem(
        inputs=x, classes=classes, test_inputs=x, test_classes=classes, source={}
    )


def _recipe(name: str) -> Recipe:
    common: dict[str, Any] = {"epochs": 4, "momentum": 0.0, "check": 5}
    return Recipe(**{**common, **RECIPES[name]})


def _stacked_steps(
    *,
    family: Any,
    shape: str,
    widths: list[int],
    outputs: int,
    recipe: str,
    after: int | None = None,
) -> list[float]:
    network = classifier(family, shape=_SHAPES[shape], widths=widths, outputs=outputs)
    params = stacked(network, family, shape, tuple(widths), outputs)
    x, classes = normal(8, *_SHAPES[shape], seed=[45]), _classes(outputs)

    def run(**kept: Any) -> Trained:
        return train(
            network,
            network.load(params),
            _tested_on_itself(x, classes),
            _recipe(recipe),
            rates=_RATES,
            generator=torch.Generator().manual_seed(70),
            **kept,
        )

    done, _ = resumed(run, after=after)
    at = [int(np.flatnonzero(done.epochs == epoch)[0]) for epoch in (0, 1, 2, 4)]
    found: list[float] = []
    for row in range(2):
        numbers = [done.rates[row], done.steps[row], done.interpolated[row]]
        losses = done.series["loss"][at, row]
        found += [*numbers, *losses, *sketch(*(p[row] for p in done.final))]
    return [float(number) for number in found]


def _cases() -> tuple[Case, ...]:
    made: list[Case] = []
    for place, family in enumerate(FAMILIES):
        for turn, recipe in enumerate(RECIPES):
            if recipe == "stable" and family.startswith("bn"):
                continue
            shape = ("dense", "images")[(place + turn) % 2]
            outputs = 1 if recipe == "stable" or turn % 3 else 3
            widths = ([4], [3, 4])[(place + turn // 2) % 2]
            made.append(
                {
                    "family": family,
                    "shape": shape,
                    "widths": widths,
                    "outputs": outputs,
                    "recipe": recipe,
                }
            )
    return tuple(made)


def _stopped() -> tuple[Case, ...]:
    """Return cases of minibatches, stopped within an epoch or behind one, and of drops."""
    made: list[Case] = []
    for k, case in enumerate(_cases()):
        batches = "batch" in RECIPES[str(case["recipe"])]
        if batches or case["recipe"] == "drops":
            # Of the twelve updates, or of four, before the last two of which rates drop.
            made.append({**case, "after": 2 + k % 9 if batches else 3})
    return tuple(made)


STEPS = closed(
    id="sl/expA-steps",
    items=("ExpA", "ExpB", "ExpC"),
    title="Updates with the square loss, noisy labels or cross entropy are PyTorch's",
    statement=(
        r"m\leftarrow\mu m+\nabla\tfrac1N\sum_n(g_n-y_n)^2+\lambda W,\qquad"
        r" W\leftarrow W-\eta m,\quad\theta_T\text{ by way of a checkpoint of }\theta_t"
    ),
    where="Captions of Figures 1, 5 and 9",
    cases=(*_cases(), *_stopped()),
    twin=_plain_steps,
    measure=_stacked_steps,
    compare=UPDATES,
    uses=("sl/expA-times", "id/B1-norms"),
    version=2,
)

# --- how networks end -------------------------------------------------------------------

_WAYS = ("finished", "dead", "one-class", "one-class", "diverged")


def _signed() -> tuple[Tensor, Tensor]:
    """Return inputs of one sign a class, and a last coordinate that is one for all."""
    x, classes = (
        normal(8, 3, seed=[46]).abs() + 0.1,
        torch.tensor([0, 1, 1, 0, 1, 1, 0, 1]),
    )
    signs = 2.0 * classes[:, None] - 1.0
    return torch.cat([x * signs, torch.ones_like(signs)], dim=1), classes


def _first_layers() -> list[Tensor]:
    """Return weights of both signs, and of such that no or one class is heard."""
    w, flip = normal(2, 3, seed=[47]).abs(), torch.tensor([[1.0], [-1.0]])
    zero = torch.zeros(2, 1, dtype=torch.float64)
    # Of both signs; off on all; on for the second, and for the first class.
    kinds = [(flip * w, zero), (0.0 * w, zero - 1.0), (w, zero), (-w, zero)]
    return [torch.cat(each, dim=1) for each in [*kinds, kinds[0]]]


def _plain_ends(*, after: int | None = None, wrong: bool) -> list[float]:
    """Say how each network ends by its losses and silent outputs.

    Wrong: One recorded loss too many.
    """
    (x, classes), found, left = _signed(), list[float](), list[float]()
    y = 2.0 * classes[:, None].double() - 1.0
    for rate, first in zip(_END_RATES, _first_layers(), strict=True):
        net = nn.Sequential(
            nn.Linear(4, 2, bias=False), nn.ReLU(), nn.Linear(2, 1, bias=False)
        )
        net = net.double()
        for own, given in zip(net.parameters(), (first, _LAST), strict=True):
            own.data.copy_(given)
        sgd, losses = torch.optim.SGD(net.parameters(), lr=rate), list[float]()
        status = "finished"
        for _ in range(6):
            losses.append(step(sgd, _loss(net(x), y)))
            if not losses[-1] <= 1e3 * losses[0]:
                status = "diverged"
                break
        with torch.no_grad():
            silent = (net(x).abs() <= 2.0**-26 * net(x).abs().max())[:, 0]
        if status == "finished":
            off = [bool(silent[classes == c].double().mean() > 0.5) for c in (0, 1)]
            status = "dead" if all(off) else "one-class" if any(off) else status
        at = len(losses) - 1 if status == "diverged" else -1
        found += [float(_WAYS.index(status)), float(len(losses) + wrong), float(at)]
        left += sketch(*net.parameters())
    return [*found, *left, 1e3]


_END_RATES = (0.02, 0.02, 0.02, 0.02, 60.0)
_LAST = torch.tensor([[0.7, -0.4]], dtype=torch.float64)


def _found_ends(*, after: int | None = None) -> list[float]:
    x, classes = _signed()
    network = classifier("none", shape=(4,), widths=(2,))
    run = partial(
        train,
        network,
        network.load([torch.stack(_first_layers()), torch.stack([_LAST] * 5)]),
        _tested_on_itself(x, classes),
        Recipe(epochs=6, momentum=0.0, check=1),
        rates=_END_RATES,
    )
    done, _ = resumed(run, after=after)
    ends = zip(done.status, done.steps, done.diverged, strict=True)
    told = [n for why, steps, at in ends for n in (_WAYS.index(why), steps, at)]
    told += [n for row in range(5) for n in sketch(*(p[row] for p in done.final))]
    # And by how much losses grow in divergence, where no recipe says.
    return [*map(float, told), Recipe(epochs=1).exploded]


ENDS = closed(
    id="sl/expA-ends",
    items=("ExpA", "ExpC"),
    title=(
        "Runs that diverge and networks silent on one class or on all inputs are told apart"
    ),
    statement=r"f=0\text{ on all},\quad f\approx0\text{ on a class},\quad\ell_t>10^3\ell_0",
    where="Captions of Figures 1, 5 and 9",
    # With a stop once the last network has diverged, too.
    cases=({}, {"after": 4}),
    twin=_plain_ends,
    measure=_found_ends,
    compare=UPDATES,
    uses=("sl/expA-steps",),
)
