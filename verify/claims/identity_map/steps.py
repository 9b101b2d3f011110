"""Updates of networks that copy images, against plain PyTorch (closed claims)."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from empirical.identity_map.networks import copier
from empirical.identity_map.recipes import Recipe
from empirical.identity_map.task import Copy, CopyDense
from empirical.identity_map.training import Trained, train
from empirical.testbed.slopes import dense, scaled, square_norms
from empirical.testbed.stack import Stack
from verify.claim import Case, grid
from verify.claims._twins import closed, drawn_into, normal, sketch

KEY = "zhang2020identity"
_SHAPE = (2, 3, 4)
_PIXELS = 24
_RATES = (0.08, 0.05)


class Block(nn.Module):
    """Two layers whose input is added to their output."""

    def __init__(self, activation: type[nn.Module], *, bias: bool, last: bool) -> None:
        super().__init__()
        self.inner = nn.Linear(_PIXELS, _PIXELS, bias=bias)
        self.outer = nn.Linear(_PIXELS, _PIXELS, bias=bias)
        self.act, self.last = activation(), last

    def forward(self, x: Tensor) -> Tensor:
        """Return h + s(W2 s(W1 h)), the outer s left out in the last block."""
        y = self.outer(self.act(self.inner(x)))
        return x + (y if self.last else self.act(y))


def plain(
    kind: str, layers: int, activation: str, bias: bool, seed: int
) -> nn.Sequential:  # noqa: FBT001
    """Return PyTorch's own network from images to images, drawn at random."""
    act = nn.ReLU if activation == "relu" else nn.Identity
    parts: list[nn.Module] = []
    if kind == "residual":
        parts = [
            Block(act, bias=bias, last=2 * k + 2 == layers) for k in range(layers // 2)
        ]
    for k in range(0 if kind == "residual" else layers):
        fan, out = k == 0, k == layers - 1
        if kind == "fcn":
            ends = (_PIXELS if fan else 5, _PIXELS if out else 5)
            parts.append(nn.Linear(*ends, bias=bias))
        else:
            ends = (2 if fan else 9, 2 if out else 9)
            parts.append(nn.Conv2d(*ends, 3, padding=1, bias=bias))
        parts += [] if out else [act()]
    if kind != "cnn":
        parts = [nn.Flatten(), *parts, nn.Unflatten(1, _SHAPE)]
    net = nn.Sequential(*parts).double()
    drawn_into(net.parameters(), [50, seed], size=0.5 if kind == "residual" else 0.9)
    return net


def _images(examples: int, seed: int) -> Tensor:
    return normal(examples, *_SHAPE, seed=[51, examples, seed])


def _loss(outputs: Tensor, targets: Tensor, loss: str) -> Tensor:
    square = (outputs - targets).square()
    return square.mean() if loss == "mean" else 0.5 * square.sum()


def _recipe(name: str, loss: Any) -> Recipe:
    common: dict[str, Any] = {
        "loss": loss,
        "steps": 10,
        "momentum": 0.6,
        "schedule": (0.3, 0.7),
        "drop": 0.4,
        "check": 4,
        "retries": 0,
    }
    more: dict[str, dict[str, Any]] = {
        "all": {},
        "bottom": {"trained": "bottom"},
        "top": {"trained": "top"},
        "batch": {"batch": 2},
        "adam": {"optimiser": "adam", "schedule": ()},
        "clip": {"clip": 0.05},
    }
    return Recipe(**{**common, **more[name]})


def _learnt(net: nn.Module, trained: str) -> list[nn.Parameter]:
    layers = [m for m in net.modules() if isinstance(m, nn.Linear | nn.Conv2d)]
    if trained == "all":
        return list(net.parameters())
    return list(layers[0 if trained == "bottom" else -1].parameters())


def _rate(kind: str, loss: str, how: str, rate: float) -> float:
    # Half the sum is half of so many times the mean; kernels act on every spot.
    size = 0.2 if how == "adam" else 0.2 if kind == "cnn" else 1.0
    return size * rate * (1.0 if loss == "mean" else 2.0 / (_PIXELS * 3))


def _plain_steps(
    *,
    kind: str,
    layers: int,
    activation: str,
    bias: bool,
    loss: str,
    how: str,
    examples: int,
    wrong: bool,
) -> list[float]:
    """Train one network after the other."""
    recipe, found = _recipe(how, loss), list[float]()
    for row in range(2):
        net = plain(kind, layers, activation, bias, row)
        x = _images(examples, row if how != "batch" else 0)
        learnt = _learnt(net, recipe.trained)
        rate = _rate(kind, loss, how, _RATES[row])
        make: Any = torch.optim.Adam if how == "adam" else torch.optim.SGD
        more = {} if how == "adam" else {"momentum": 0.61 if wrong else 0.6}
        more = {"eps": 1e-6} if how == "adam" and wrong else more
        rule, losses = make(learnt, lr=rate, **more), list[float]()
        drops = torch.optim.lr_scheduler.MultiStepLR(
            rule, [round(s * 10) for s in recipe.schedule], 0.4
        )
        drawn = torch.Generator().manual_seed(52)
        for t in range(10):
            # Examples of four updates are drawn at a time: up to each pause.
            chosen = torch.arange(examples)
            if how == "batch":
                chosen = torch.randint(examples, (2,), generator=drawn)
            value = _loss(net(x[chosen]), x[chosen], loss)
            rule.zero_grad()
            value.backward()  # pyright: ignore[reportUnknownMemberType]
            if recipe.clip is not None:
                size = math.sqrt(sum(float(p.grad.square().sum()) for p in learnt))  # pyright: ignore
                for p in learnt:
                    p.grad *= min(1.0, recipe.clip / size)  # pyright: ignore
            rule.step()
            drops.step()
            losses.append(value.item())
        with torch.no_grad():
            losses.append(float(_loss(net(x), x, loss)))
        found += [*losses, *sketch(*net.parameters())]
    return found


def _stacked(nets: list[nn.Sequential]) -> tuple[Tensor, ...]:
    each = [tuple(net.parameters()) for net in nets]
    return tuple(torch.stack(same).detach() for same in zip(*each, strict=True))


def _network(kind: Any, layers: int, activation: Any, bias: bool) -> Any:  # noqa: FBT001
    width = {"fcn": 5, "cnn": 9, "residual": None}[kind]
    return copier(
        kind,
        shape=_SHAPE,
        layers=layers,
        width=width,
        kernel=3,
        activation=activation,
        bias=bias,
    )


def _found_steps(
    *,
    kind: str,
    layers: int,
    activation: str,
    bias: bool,
    loss: Any,
    how: str,
    examples: int,
) -> list[float]:
    nets = [plain(kind, layers, activation, bias, row) for row in range(2)]
    shared = how == "batch"
    images = (
        _images(examples, 0)
        if shared
        else torch.stack([_images(examples, row) for row in range(2)])
    )
    done = train(
        _network(kind, layers, activation, bias),
        _stacked(nets),
        images,
        _recipe(how, loss),
        rates=[_rate(kind, loss, how, rate) for rate in _RATES],
        generator=torch.Generator().manual_seed(52) if shared else None,
        together=1 if layers == 3 else None,
    )
    found: list[float] = []
    for row in range(2):
        losses = [*done.losses[row, :10], done.final_losses[row]]
        found += [*losses, *sketch(*(p[row] for p in done.final))]
    return [float(number) for number in found]


def _cases() -> tuple[Case, ...]:
    hows = ("all", "bottom", "top", "batch", "adam", "clip")
    made: list[Case] = []
    nets = (
        ("fcn", 1, "relu", False),
        ("fcn", 3, "relu", False),
        ("fcn", 4, "linear", False),
        ("fcn", 3, "relu", True),
        ("residual", 2, "relu", False),
        ("residual", 6, "relu", False),
        ("residual", 4, "relu", True),
        ("cnn", 1, "linear", False),
        ("cnn", 3, "relu", True),
        ("cnn", 4, "relu", False),
    )
    for place, (kind, layers, activation, bias) in enumerate(nets):
        for turn in range(3):
            how = hows[(place + 2 * turn) % len(hows)] if layers > 1 else hows[turn + 3]
            loss = ("mean", "half-sum")[(place + turn) % 2]
            values = (kind, layers, activation, bias, loss, how, (1, 3)[turn % 2])
            names = ("kind", "layers", "activation", "bias", "loss", "how", "examples")
            made.append(dict(zip(names, values, strict=True)))
    return tuple(made)


STEPS = closed(
    id="id/Fig2-steps",
    items=("Fig2", "Fig5", "Fig24"),
    title="Networks that copy images are updated as PyTorch updates each one alone",
    statement=(
        r"\theta\leftarrow\theta-\eta m,\qquad m\leftarrow\mu m"
        r"+\nabla\tfrac1{nd}\textstyle\sum(f(x)-x)^2"
    ),
    key=KEY,
    where="Section 3 and appendix on residual networks",
    cases=_cases(),
    twin=_plain_steps,
    measure=_found_steps,
)

# --- gradients by hand ------------------------------------------------------------------


def _plain_slopes(
    *, kind: str, learnt: list[int], loss: str, wrong: bool
) -> list[float]:
    """Differentiate by autograd, and take norms of what it finds."""
    found: list[float] = []
    for row in range(2):
        net = plain(kind, 4, "relu", False, row)  # noqa: FBT003
        params = [p for k, p in enumerate(net.parameters()) if k in learnt]
        value = _loss(net(_images(3, row)), 0.5 * _images(3, row), loss)
        slopes = torch.autograd.grad(value, params)
        norms = [float(s.norm() if wrong else s.square().sum()) for s in slopes]
        found += [value.item(), *norms, *sketch(*(2.5 * s for s in slopes))]
    return found


def _found_slopes(*, kind: str, learnt: list[int], loss: Any) -> list[float]:
    nets = [plain(kind, 4, "relu", False, row) for row in range(2)]  # noqa: FBT003
    images = torch.stack([_images(3, row) for row in range(2)])
    network = _network(kind, 4, "relu", False)  # noqa: FBT003
    task = CopyDense(network=network, images=images, targets=0.5 * images, loss=loss)
    losses, slopes = task.losses_and_slopes(
        Stack(_stacked(nets), rates=0.1, learnt=learnt), None
    )
    twice = [scaled(s, torch.full((2,), 2.5, dtype=torch.float64)) for s in slopes]
    found: list[float] = []
    for row in range(2):
        norms = [float(square_norms(s)[row]) for s in slopes]
        found += [losses[row].item(), *norms, *sketch(*(dense(s)[row] for s in twice))]
    return found


SLOPES = closed(
    id="id/Fig24-slopes",
    items=("Fig24",),
    title="Slopes of dense layers by hand, and their norms, are autograd's",
    statement=r"\partial L/\partial W_k=\Delta_kH_{k-1}^T",
    key=KEY,
    where="Section on the last layers",
    cases=grid(
        kind=("fcn", "residual"),
        learnt=([0, 1, 2, 3], [3], [1], [2, 3], [1, 3]),
        loss=("mean", "half-sum"),
    ),
    twin=_plain_slopes,
    measure=_found_slopes,
)

# --- budgets and further starts ---------------------------------------------------------


def _slow(name: str) -> Recipe:
    common: dict[str, Any] = {
        "momentum": 0.5,
        "steps": 6,
        "release": 0.7,
        "limit": 12,
        "schedule": (0.5,),
        "drop": 0.25,
        "check": 3,
        "exploded": 50.0,
        "retries": 0,
    }
    more: dict[str, dict[str, Any]] = {
        "released": {},
        "lifted": {"clip": 0.8, "rescale": True},
        "anew": {"release": None, "retries": 2, "retry_rate": 0.1},
        "batch": {"release": None, "retries": 2, "retry_rate": 0.1, "batch": 2},
    }
    return Recipe(**{**common, **more[name]})


_BUDGET_RATES = {
    "released": (1.0, 0.15, 0.002),
    "lifted": (0.5, 0.2, 0.01),
    "anew": (0.5, 9.0, 90.0),
    "batch": (0.5, 9.0, 90.0),
}


def _one_start(
    row: int, recipe: Recipe, rate: float, *, many: bool, wrong: bool
) -> dict[str, Any]:
    """Train one network until its time is over."""
    net, x = plain("fcn", 3, "relu", False, row), _images(3, row)  # noqa: FBT003
    sgd = torch.optim.SGD(net.parameters(), lr=rate, momentum=recipe.momentum)
    drawn, losses = torch.Generator().manual_seed(53), list[float]()
    released, exploded, status, t, below = -1, -1, "finished", 0, False
    while True:
        if recipe.release is None:
            over = recipe.steps
        else:
            over = released + recipe.steps if released >= 0 else recipe.waiting
        late = exploded >= 0 and t % recipe.check == 0
        if late or t >= over:
            status = "stalled" if recipe.release and released < 0 else status
            status = "diverged" if exploded >= 0 else status
            break
        since = t if recipe.release is None else t - released if released >= 0 else -1
        dropped = since > 3 if wrong else since >= 3
        sgd.param_groups[0]["lr"] = rate * (recipe.drop if dropped else 1.0)
        here = x[torch.randint(3, (2,), generator=drawn)] if many else x
        value = _loss(net(here), here, "mean")
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
        last = float(_loss(net(x), x, "mean"))
    if recipe.release and status == "finished" and last >= recipe.release * losses[0]:
        status = "stalled"
    kept = {"status": status, "steps": t, "released": released, "losses": losses}
    return kept | {"start": (rate, exploded), "last": last, "net": net}


_STATUS = {"finished": 0.0, "floor": 1.0, "stalled": 2.0, "diverged": 3.0}


def _plain_budgets(*, how: str, wrong: bool) -> list[float]:
    recipe, found = _slow(how), list[float]()
    for row, rate in enumerate(_BUDGET_RATES[how]):
        seed, starts = 0 if how == "batch" else row, []
        for _ in range(recipe.retries + 1):
            one = _one_start(seed, recipe, rate, many=how == "batch", wrong=wrong)
            starts += one["start"]
            rate *= recipe.retry_rate
            if one["status"] != "diverged":
                break
        found += [_STATUS[one["status"]], one["steps"], one["released"], *starts]
        first = (one["losses"] + [-1.0] * 10)[:10]
        found += [*first, one["last"], *sketch(*one["net"].parameters())]
    return [float(number) for number in found]


def _found_budgets(*, how: str) -> list[float]:
    many = how == "batch"
    seeds = [0, 0, 0] if many else [0, 1, 2]
    images = (
        _images(3, 0) if many else torch.stack([_images(3, seed) for seed in seeds])
    )
    done: Trained = train(
        _network("fcn", 3, "relu", False),  # noqa: FBT003
        _stacked([plain("fcn", 3, "relu", False, seed) for seed in seeds]),  # noqa: FBT003
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
    return [float(number) for number in found]


BUDGETS = closed(
    id="id/release-steps",
    items=("Fig2", "Fig5"),
    title="Budgets count from the release, and an exploded network is trained anew",
    statement=r"t_{end}=t_r+T,\qquad\eta\leftarrow\eta\,r\text{ where }\ell_t>50\,\ell_0",
    key=KEY,
    where="Section 3, on training",
    cases=grid(how=tuple(_BUDGET_RATES)),
    twin=_plain_budgets,
    measure=_found_budgets,
)


def _plain_over_all(*, examples: int, loss: str, wrong: bool) -> list[float]:
    x, found = _images(examples, 0), list[float]()
    for row in range(2):
        net = plain("cnn", 2, "relu", True, row)  # noqa: FBT003
        with torch.no_grad():
            value = float(_loss(net(x), 0.5 * x, loss))
        found.append(value * (1.001 if wrong else 1.0))
    return found


def _found_over_all(*, examples: int, loss: Any) -> list[float]:
    x = _images(examples, 0)[None]
    nets = [plain("cnn", 2, "relu", True, row) for row in range(2)]  # noqa: FBT003
    network = _network("cnn", 2, "relu", True)  # noqa: FBT003
    task = Copy(network=network, images=x, targets=0.5 * x, loss=loss)
    with torch.no_grad():
        return task.over_all(_stacked(nets)).tolist()


OVER_ALL = closed(
    id="id/Fig38-loss",
    items=("Fig38",),
    title="The loss over thousands of images is the mean, or half the sum, over all of them",
    statement=r"\tfrac1{nd}\textstyle\sum(f(x)-y)^2\quad\text{or}\quad\tfrac12\sum(f(x)-y)^2",
    key=KEY,
    where="Section on more than one training image",
    cases=grid(examples=(3, 2300), loss=("mean", "half-sum")),
    twin=_plain_over_all,
    measure=_found_over_all,
)
