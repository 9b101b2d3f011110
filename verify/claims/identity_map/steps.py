"""Updates of networks that copy images, against plain PyTorch (closed claims)."""

from typing import Any

import torch
from torch import Tensor, nn

from empirical.identity_map.networks import copier
from empirical.identity_map.recipes import Recipe
from empirical.identity_map.task import CopyDense
from empirical.identity_map.training import Trained, train
from empirical.testbed.slopes import dense, scaled, square_norms
from empirical.testbed.stack import Stack
from verify.claim import Case, grid
from verify.claims._descent import step
from verify.claims._resumed import resumed
from verify.claims._twins import (
    SUMS,
    UPDATES,
    closed,
    drawn_into,
    normal,
    sketch,
    stacked,
)

_SHAPE = (2, 3, 4)
PIXELS = 24
_RATES = (0.08, 0.05)


class Block(nn.Module):
    """Two layers whose input is added to their output."""

    def __init__(self, activation: type[nn.Module], *, bias: bool, last: bool) -> None:
        super().__init__()
        self.inner = nn.Linear(PIXELS, PIXELS, bias=bias)
        self.outer = nn.Linear(PIXELS, PIXELS, bias=bias)
        self.act, self.last = activation(), last

    def forward(self, x: Tensor) -> Tensor:
        """Return h + s(W2 s(W1 h)), the outer s left out in the last block."""
        y = self.outer(self.act(self.inner(x)))
        return x + (y if self.last else self.act(y))


def plain(
    kind: str,
    layers: int,
    activation: str,
    bias: bool,  # noqa: FBT001 (in the order of cases)
    seed: int,
) -> nn.Sequential:
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
            ends = (PIXELS if fan else 5, PIXELS if out else 5)
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


def shown(examples: int, seed: int) -> Tensor:
    """Return training images of a replicate."""
    return normal(examples, *_SHAPE, seed=[51, examples, seed])


def squared(outputs: Tensor, targets: Tensor, loss: str) -> Tensor:
    """Return the mean of squares, or half their sum."""
    square = (outputs - targets).square()
    return square.mean() if loss == "mean" else 0.5 * square.sum()


_ENTRYWISE = {
    "adam": "Adam",
    "adamax": "Adamax",
    "adagrad": "Adagrad",
    "rmsprop": "RMSprop",
}
"""PyTorch's names of optimisers that scale each entry."""


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
        **{rule: {"optimiser": rule, "schedule": ()} for rule in _ENTRYWISE},
        "adam, drops": {"optimiser": "adam"},
        "clip": {"clip": 0.05},
    }
    return Recipe(**{**common, **more[name]})


def _learnt(net: nn.Module, trained: str) -> list[nn.Parameter]:
    layers = [m for m in net.modules() if isinstance(m, nn.Linear | nn.Conv2d)]
    if trained == "all":
        return list(net.parameters())
    return list(layers[0 if trained == "bottom" else -1].parameters())


def _rate(kind: str, loss: str, how: str, rate: float) -> float:
    rate = _RATES[0] if how == "adam, drops" else rate
    # Half the sum is half of so many times the mean; kernels act on every spot.
    small = kind == "cnn" or how.split(",")[0] in _ENTRYWISE
    size = 0.2 if small else 1.0
    return size * rate * (1.0 if loss == "mean" else 2.0 / (PIXELS * 3))


def _plain_steps(
    *,
    loss: str,
    how: str,
    examples: int,
    after: int | None = None,
    wrong: bool,
    **shape: Any,
) -> list[float]:
    """Train one network after the other.

    Wrong: Nesterov's momentum in the place of heavy-ball momentum, guards of 1e-6.
    """
    recipe, found = _recipe(how, loss), list[float]()
    for row in range(2):
        net = plain(**shape, seed=row)
        x = shown(examples, row if how != "batch" else 0)
        learnt = _learnt(net, recipe.trained)
        rate = _rate(shape["kind"], loss, how, _RATES[row])
        make: Any = torch.optim.SGD
        more: Any = {"momentum": 0.6, "nesterov": wrong}
        if recipe.optimiser in _ENTRYWISE:
            make = getattr(torch.optim, _ENTRYWISE[recipe.optimiser])
            more = {"eps": 1e-6} if wrong else {}
        rule, losses = make(learnt, lr=rate, **more), list[float]()
        drops = torch.optim.lr_scheduler.MultiStepLR(
            rule, [round(s * 10) for s in recipe.schedule], 0.4
        )
        drawn = torch.Generator().manual_seed(52)
        for _ in range(10):
            chosen = torch.arange(examples)
            if how == "batch":
                chosen = torch.randint(examples, (2,), generator=drawn)
            value = squared(net(x[chosen]), x[chosen], loss)
            losses.append(step(rule, value, clip=recipe.clip))
            drops.step()
        with torch.no_grad():
            losses.append(float(squared(net(x), x, loss)))
        found += [*losses, *sketch(*net.parameters())]
    return found


def specified(kind: Any, layers: int, activation: Any, bias: bool) -> Any:  # noqa: FBT001
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
    *, loss: Any, how: str, examples: int, after: int | None = None, **shape: Any
) -> list[float]:
    nets = [plain(**shape, seed=row) for row in range(2)]
    shared = how == "batch"
    images = (
        shown(examples, 0)
        if shared
        else torch.stack([shown(examples, row) for row in range(2)])
    )

    def run(**kept: Any) -> Trained:
        return train(
            specified(**shape),
            stacked(n.parameters() for n in nets),
            images,
            _recipe(how, loss),
            rates=[_rate(shape["kind"], loss, how, rate) for rate in _RATES],
            generator=torch.Generator().manual_seed(52) if shared else None,
            together=1 if shape["layers"] == 3 else None,
            **kept,
        )

    done, _ = resumed(run, after=after)
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
        ("residual", 2, "linear", False),
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


def _stopped() -> tuple[Case, ...]:
    """Return a case of each way of learning, stopped at pauses of four or between them.

    And one of a rate that is common and falls, before the stop and behind it.
    """
    each = {str(case["how"]): case for case in _cases()}
    made = [{**case, "after": 2 + k % 7} for k, case in enumerate(each.values())]
    others = tuple({**each["adam"], "how": how} for how in _ENTRYWISE if how != "adam")
    return (*made, {**each["adam"], "how": "adam, drops", "after": 5}, *others)


STEPS = closed(
    id="id/Fig2-steps",
    items=("Fig2", "Fig5", "Fig24"),
    title=(
        "Networks trained as a stack, stopped or not, get PyTorch's updates of each alone"
    ),
    statement=(
        r"\theta\leftarrow\theta-\eta m,\qquad m\leftarrow\mu m"
        r"+\nabla\tfrac1{nd}\textstyle\sum(f(x)-x)^2,\qquad"
        r"\theta_T\text{ by way of a checkpoint of }\theta_t"
    ),
    where="Appendices A and N",
    cases=(*_cases(), *_stopped()),
    compare=UPDATES,
    twin=_plain_steps,
    measure=_found_steps,
    uses=("id/Fig2-times", "id/Fig24-slopes"),
    version=2,
)

# --- gradients by hand ------------------------------------------------------------------


def _plain_slopes(
    *, kind: str, learnt: list[int], loss: str, wrong: bool
) -> list[float]:
    """Differentiate by autograd, and take norms of what it finds.

    Wrong: Norms in the place of their squares.
    """
    found: list[float] = []
    for row in range(2):
        net = plain(kind, 4, "relu", False, row)  # noqa: FBT003
        params = [p for k, p in enumerate(net.parameters()) if k in learnt]
        value = squared(net(shown(3, row)), 0.5 * shown(3, row), loss)
        slopes = torch.autograd.grad(value, params)
        norms = [float(s.norm() if wrong else s.square().sum()) for s in slopes]
        found += [value.item(), *norms, *sketch(*(2.5 * s for s in slopes))]
    return found


def _found_slopes(*, kind: str, learnt: list[int], loss: Any) -> list[float]:
    nets = [plain(kind, 4, "relu", False, row) for row in range(2)]  # noqa: FBT003
    images = torch.stack([shown(3, row) for row in range(2)])
    network = specified(kind, 4, "relu", False)  # noqa: FBT003
    task = CopyDense(network=network, images=images, targets=0.5 * images, loss=loss)
    losses, slopes = task.losses_and_slopes(
        Stack(stacked(n.parameters() for n in nets), rates=0.1, learnt=learnt), None
    )
    twice = [scaled(s, torch.full((2,), 2.5, dtype=torch.float64)) for s in slopes]
    found: list[float] = []
    for row in range(2):
        norms = [float(square_norms(s)[row]) for s in slopes]
        found += [losses[row].item(), *norms, *sketch(*(dense(s)[row] for s in twice))]
    return found


SLOPES = closed(
    id="id/Fig24-slopes",
    title="Hand-written gradients of dense layers, and their norms, match autograd",
    statement=r"\partial L/\partial W_k=\Delta_kH_{k-1}^T",
    where="Appendix A, on training",
    cases=grid(
        kind=("fcn", "residual"),
        learnt=([0, 1, 2, 3], [3], [1], [2, 3], [1, 3]),
        loss=("mean", "half-sum"),
    ),
    compare=SUMS,
    twin=_plain_slopes,
    measure=_found_slopes,
)
