"""NormReLU and its rivals in training, against plain PyTorch (closed claims)."""

import copy
import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from empirical.networks import Network
from empirical.normrelu.networks import ARMS, KINK
from empirical.normrelu.recipes import PLAIN, Recipe
from empirical.normrelu.training import Examples, conditioned, measured, trained
from empirical.randomness import torch_generator
from empirical.testbed.batches import Epochs
from empirical.testbed.faults import FAULTS
from empirical.testbed.loop import train
from empirical.testbed.observers import Curve
from empirical.testbed.optimisers import SGD
from empirical.testbed.stack import Stack
from empirical.testbed.supervised import Classify
from verify.claim import Case, grid
from verify.claims._descent import step
from verify.claims._resumed import resumed
from verify.claims._twins import UPDATES, closed, drawn_into, normal, orders, sketch
from verify.compare import AgreesTo

_RATES = (0.02, 0.01)
_N, _TESTS, _BATCH, _STEPS = 8, 9, 3, 6
_SHAPE = (2, 6, 5)
_MOVED = (2, 16, 24)
_DEPTH = {"dense": 3, "residual": 14}
_WIDTH = {"dense": 11, "residual": 2}


class NormReLU(nn.Module):
    """The paper's activation, constants from the density and distribution function."""

    def __init__(self) -> None:
        super().__init__()
        c = KINK
        phi = math.exp(-c * c / 2.0) / math.sqrt(2.0 * math.pi)
        below = 0.5 * math.erfc(-c / math.sqrt(2.0))
        self.mean = c * below + phi
        second = c * c * below + (1.0 - below) + c * phi
        self.size = (second - self.mean**2) ** -0.5

    def forward(self, x: Tensor) -> Tensor:
        """Return (max(x, c) - its Gaussian mean) over its deviation."""
        return self.size * (x.clamp(min=KINK) - self.mean)


ACTIVATIONS: Mapping[str, type[nn.Module]] = {"normrelu": NormReLU, "selu": nn.SELU}


class Number(nn.Module):
    """A number that is learnt, and multiplies or is added."""

    def __init__(self, value: float, *, factor: bool) -> None:
        super().__init__()
        self.value, self.factor = nn.Parameter(torch.tensor([value])), factor

    def forward(self, x: Tensor) -> Tensor:
        """Return the input times it, or with it added."""
        return x * self.value if self.factor else x + self.value


def _norm(arm: str, units: int, *, images: bool) -> list[nn.Module]:
    if arm == "batch":
        return [(nn.BatchNorm2d if images else nn.BatchNorm1d)(units)]
    if arm != "layer":
        return []
    return [Layered(units) if images else nn.LayerNorm(units)]


class Layered(nn.Module):
    """Layer normalisation of images: over channels and spots, gains by channel."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.weight, self.bias = (
            nn.Parameter(torch.ones(units)),
            nn.Parameter(torch.zeros(units)),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return what is normalised, times gains, plus shifts."""
        out = functional.layer_norm(x, x.shape[1:], eps=1e-5)
        return out * self.weight[:, None, None] + self.bias[:, None, None]


class Block(nn.Module):
    """A residual block of two convolutions."""

    def __init__(self, arm: str, below: int, width: int, stride: int) -> None:
        super().__init__()
        fix, act = arm == "fixup", ACTIVATIONS.get(arm, nn.ReLU)
        inner = nn.Conv2d(below, width, 3, stride, 1, bias=False)
        outer = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        bias = lambda: [Number(0.0, factor=False)] if fix else []  # noqa: E731
        factor = [Number(1.0, factor=True)] if fix else []
        self.through = nn.Sequential(
            *(*bias(), inner, *bias(), *_norm(arm, width, images=True), act()),
            *(*bias(), outer, *factor, *bias(), *_norm(arm, width, images=True)),
        )
        self.act, self.stride, self.more = act(), stride, width - below

    def forward(self, x: Tensor) -> Tensor:
        """Return s(x + F(x)), x thinned out and filled up with zeros."""
        short = functional.pad(
            x[..., :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.more)
        )
        return self.act(short + self.through(x))


def plain(arm: str, kind: str, seed: int) -> nn.Sequential:
    """Return a classifier of ten classes of PyTorch's own layers, drawn at random."""
    act, parts = ACTIVATIONS.get(arm, nn.ReLU), list[nn.Module]()
    width, fix = _WIDTH[kind], arm == "fixup"
    if kind == "dense":
        below = math.prod(_SHAPE)
        for _ in range(_DEPTH[kind]):
            parts += [nn.Linear(below, width, bias=False)]
            parts += [*_norm(arm, width, images=False), act()]
            below = width
        parts.append(nn.Linear(below, 10, bias=False))
    else:
        parts = [nn.Conv2d(2, width, 3, 1, 1, bias=False)]
        parts += [Number(0.0, factor=False)] if fix else []
        parts += [*_norm(arm, width, images=True), act()]
        below = width
        for stage in range(3):
            for block in range(2):
                stride = 2 if stage and not block else 1
                parts.append(Block(arm, below, width * 2**stage, stride))
                below = width * 2**stage
        parts += [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        parts += [Number(0.0, factor=False)] if fix else []
        parts.append(nn.Linear(below, 10, bias=fix))
    net = nn.Sequential(*parts).double()
    drawn_into(net.parameters(), [20, seed, len(arm)])
    return net


def _layers(net: nn.Module) -> list[list[nn.Parameter]]:
    """Return the parameters of each weight layer: weight, bias, gain, shift, numbers."""
    found: list[list[nn.Parameter]] = []
    ahead: list[nn.Parameter] = []
    leaves = [m for m in net.modules() if not list(m.children())]
    for place, part in enumerate(leaves):
        own = list(part.parameters(recurse=False))
        if isinstance(part, Number):
            weights = (nn.Conv2d, nn.Linear)
            following = leaves[place + 1] if place + 1 < len(leaves) else part
            is_ahead = not part.factor and isinstance(following, weights)
            (ahead if is_ahead else found[-1]).extend(own)
        elif isinstance(part, nn.Conv2d | nn.Linear):
            found.append([*own, *ahead])
            ahead = []
        elif own:
            found[-1][1:1] = own
    return found


def _stacked(nets: list[nn.Sequential]) -> tuple[Tensor, ...]:
    each = [[p for layer in _layers(net) for p in layer] for net in nets]
    return tuple(torch.stack(same).detach() for same in zip(*each, strict=True))


def network(arm: str, kind: str, shape: tuple[int, int, int] = _SHAPE) -> Network:
    """Return the specification of an arm."""
    if kind == "dense":
        size = math.prod(_SHAPE)
        return ARMS[arm].network(inputs=size, width=_WIDTH[kind], depth=_DEPTH[kind])
    return ARMS[arm].residual(shape=shape, width=_WIDTH[kind], depth=_DEPTH[kind])


def _inputs(
    kind: str, count: int, seed: int, shape: tuple[int, int, int] = _SHAPE
) -> Tensor:
    x = normal(count, *shape, seed=[21, seed])
    return x.flatten(1) if kind == "dense" else x


def _classes(count: int) -> Tensor:
    return torch.arange(count) * 3 % 10


def _own(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(20 + seed)


def _accuracy(net: nn.Module, x: Tensor, y: Tensor) -> float:
    return float((net(x).argmax(dim=1) == y).double().mean())


@torch.no_grad()
def looked_at(net: nn.Sequential, kind: str) -> list[float]:
    """Return accuracies, the loss, cosines of neighbours and lengths, layer by layer."""
    net.eval()
    (x, y), (z, wanted) = ((_inputs(kind, n, n), _classes(n)) for n in (_N, _TESTS))
    found = [_accuracy(net, x, y), float(functional.cross_entropy(net(x), y))]
    found.append(_accuracy(net, z, wanted))
    cosines: list[float] = []
    lengths: list[float] = []
    # A norm over batches takes the tests as its batch.
    net.train()
    for h in _hidden(net, z):
        rows = h.flatten(1)
        pairs = [(rows[k], rows[k + 1]) for k in range(0, _TESTS - 1, 2)]
        each = [abs(float(a @ b / a.norm() / b.norm())) for a, b in pairs]
        cosines.append(float(np.mean(each)))
        lengths.append(float(rows.square().mean()))
    return [*found, *cosines, *lengths]


def _hidden(net: nn.Sequential, x: Tensor) -> list[Tensor]:
    """Return what every activation puts out."""
    found: list[Tensor] = []
    kinds = (NormReLU, nn.SELU, nn.ReLU)
    hooks = [
        part.register_forward_hook(lambda _m, _x, made: found.append(made.clone()))
        for part in net.modules()
        if isinstance(part, kinds)
    ]
    net(x)
    for hook in hooks:
        hook.remove()
    return found


def _plain_steps(*, arm: str, kind: str, wrong: bool) -> list[float]:
    """Train each network by PyTorch's layers and SGD.

    Wrong: Nesterov's momentum in the place of heavy-ball momentum.
    """
    found: list[float] = []
    for row, rate in enumerate(_RATES):
        net = plain(arm, kind, row)
        x, y = _inputs(kind, _N, _N), _classes(_N)
        sgd = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9, nesterov=wrong)
        for chosen in orders(_N, _BATCH, _STEPS, _own(row)):
            loss = functional.cross_entropy(net(x[chosen]), y[chosen])
            found.append(step(sgd, loss))
        params = [p for layer in _layers(net) for p in layer]
        found += [*looked_at(net, kind), *sketch(*params)]
    return found


def _found_steps(*, arm: str, kind: str) -> list[float]:
    spec = network(arm, kind)
    params = _stacked([plain(arm, kind, row) for row in range(2)])
    stack = Stack(spec.arranged(params), rates=_RATES, buffers=spec.running(params))
    x, y = _inputs(kind, _N, _N), _classes(_N)
    curve = Curve(np.arange(_STEPS))
    done = train(
        Classify(spec, x, torch.arange(_N)[None], y[None]),
        stack,
        SGD(momentum=0.9),
        steps=_STEPS,
        batches=Epochs(_N, _BATCH, [_own(0), _own(1)]),
        observers=[curve],
    )
    tests = (_inputs(kind, _TESTS, _TESTS), _classes(_TESTS))
    names = ("inputs", "classes", "test_inputs", "test_classes")
    seen = measured(spec, stack, dict(zip(names, (x, y, *tests), strict=True)))
    found: list[float] = []
    for row in range(2):
        own: dict[str, Any] = {n: v[row].tolist() for n, v in seen.items()}
        found += [*curve.values[row], own["train_accuracy"], own["train_loss"]]
        found += [own["test_accuracy"], *own["cosines"], *own["lengths"]]
        found += sketch(*(p[row] for p in done.final))
    return found


_ARMS: tuple[Case, ...] = (
    *grid(arm=("normrelu", "selu", "relu", "batch", "layer"), kind="dense"),
    *grid(arm=("normrelu", "batch", "layer", "fixup"), kind="residual"),
)

STEPS = closed(
    id="dc/sec7-steps",
    items=("Sec11", "Sec7-rates"),
    title="Training steps and measurements of dense and residual networks match plain"
    " PyTorch",
    statement=r"m\leftarrow0.9\,m+\nabla L,\qquad\theta\leftarrow\theta-\eta m",
    where="Section 7 and Appendix I.3",
    cases=_ARMS,
    twin=_plain_steps,
    measure=_found_steps,
    compare=UPDATES,
)

# --- condition numbers ------------------------------------------------------------------


def _plain_conditions(*, arm: str, inputs: int, wrong: bool) -> list[float]:
    """Differentiate the first output by every weight matrix, input by input.

    A norm over batches has its running statistics there, and all inputs as its batch in
    the top layer's kernel.
    Wrong: All parameters count, gains and shifts too.
    """
    found: list[float] = []
    for row in range(2):
        net, x = _met(arm, row), _inputs("dense", inputs, inputs)
        net.eval()
        own = [p for p in net.parameters() if wrong or p.ndim == 2]
        rows: list[Tensor] = []
        for one in x:
            slopes = torch.autograd.grad(net(one[None])[0, 0], own)
            rows.append(torch.cat([s.flatten() for s in slopes]))
        with torch.no_grad():
            top = _hidden(net.train(), x)[-1]
        for features in (torch.stack(rows), top):
            values = torch.linalg.eigvalsh(features @ features.T)
            found.append(math.log10(float(values[-1] / values[0])))
    return found


def _met(arm: str, row: int) -> nn.Sequential:
    """Return a network that has met batches of other means and variances than 0 and 1."""
    net = plain(arm, "dense", row)
    for place, part in enumerate(net):
        if isinstance(part, nn.BatchNorm1d):
            units, seed = part.num_features, [22, row, place]
            part.running_mean = normal(units, seed=[*seed, 0], size=0.3)
            part.running_var = normal(units, seed=[*seed, 1]).exp()
    return net


def _found_conditions(*, arm: str, inputs: int) -> list[float]:
    nets = [_met(arm, row) for row in range(2)]
    spec, x = network(arm, "dense"), _inputs("dense", inputs, inputs)
    each = [[b for b in net.buffers() if b.ndim] for net in nets]
    buffers = [torch.stack(same) for same in zip(*each, strict=True)]
    stack = Stack(spec.arranged(_stacked(nets)), rates=_RATES, buffers=buffers)
    found = conditioned(spec, stack, {"inputs": x})
    names = ("condition", "top_condition")
    return [float(found[name][row]) for row in range(2) for name in names]


CONDITIONS = closed(
    id="dc/sec11-conditions",
    items=("Sec11",),
    title="Condition numbers of networks' tangent and top layer's kernels, by definition",
    statement=r"\log_{10} \frac{\lambda_1}{\lambda_n}\text{ of }\sum_l \langle"
    r" \partial f(x)/\partial W_l, \partial f(x')/\partial W_l\rangle"
    r"\text{ and of } h_L h_L^T",
    where="Section 7, at finite width",
    cases=grid(arm=("normrelu", "selu", "relu", "batch", "layer"), inputs=(3, 6)),
    # Eigenvalues are right to 1e-15 of the largest, up to 6e5 times the least: 6e-10 of
    # that, 2.6e-10 of a decade.
    compare=AgreesTo(absolute=2.6e-10),
    twin=_plain_conditions,
    measure=_found_conditions,
)

# --- starts and whole courses, as they are trained --------------------------------------

_GAIN = {"normrelu": 1.0, "selu": 1.0}
_DECAY = 0.05


def _filled(
    net: nn.Sequential, arm: str, generator: torch.Generator, start: str = ""
) -> nn.Sequential:
    """Draw a network's weights by the definition, in float32."""
    net = net.float()
    layers = _layers(net)
    blocks = 6
    with torch.no_grad():
        for place, (weight, *others) in enumerate(layers):
            fan = weight[0].numel()
            last = place == len(layers) - 1
            variance = (1.0 if last else _GAIN.get(arm, 2.0)) / fan
            if start == "he" and not last:
                variance = 2.0 / fan
            if start == "glorot":
                variance = 2.0 / (fan + weight[:, 0].numel())
            residual = weight.ndim == 4 and not last
            outer = residual and place and place % 2 == 0
            if arm == "fixup":
                # He's start; inner weights over the root of all blocks, outer ones zero.
                inner = residual and place % 2 == 1
                size = blocks**-0.5 if inner else 0.0 if outer or last else 1.0
                weight.normal_(0.0, (2.0 / fan) ** 0.5, generator=generator)
                weight *= size
            else:
                drop = outer and arm not in ("batch", "layer") and len(layers) > 5
                scale = math.sqrt(variance / blocks if drop else variance)
                weight.normal_(generator=generator)
                weight *= scale
            for own in others:
                if own.shape == weight.shape[:1] and own.ndim == 1 and len(own) > 1:
                    own.zero_()
    for part in net.modules():
        if isinstance(part, nn.BatchNorm1d | nn.BatchNorm2d | nn.LayerNorm | Layered):
            nn.init.ones_(part.weight)
        if isinstance(part, Number):
            nn.init.constant_(part.value, 1.0 if part.factor else 0.0)
    return net


def _moved(images: Tensor, generator: torch.Generator, *, flip: bool) -> Tensor:
    """Shift each image by up to an eighth of its shorter side; mirror every second.

    Where none is mirrored, it is drawn which would be.
    """
    height, breadth = images.shape[2:]
    border = min(height, breadth) // 8
    shifts = torch.randint(2 * border + 1, (len(images), 2), generator=generator)
    mirrored = torch.randint(2, (len(images), 1), generator=generator)
    seen = torch.empty_like(images)
    for k, (down, across) in enumerate(shifts.tolist()):
        framed = torch.zeros(2, height + 2 * border, breadth + 2 * border)
        framed[:, border : border + height, border : border + breadth] = images[k]
        part = framed[:, down : down + height, across : across + breadth]
        seen[k] = torch.from_numpy(
            part.numpy()[..., :: -1 if flip and mirrored[k] else 1].copy()
        )
    return seen


def _conditions(net: nn.Sequential, x: Tensor) -> list[float]:
    """Return the decades of the tangent kernel's eigenvalues, and the top layer's."""
    exact = copy.deepcopy(net).double()
    rows: list[Tensor] = []
    for one in x.double():
        slopes = torch.autograd.grad(exact(one[None])[0, 0], [*exact.parameters()])
        rows.append(torch.cat([s.flatten() for s in slopes]))
    with torch.no_grad():
        top = _hidden(net, x)[-1].double()
    found: list[float] = []
    for features in (torch.stack(rows), top):
        values = torch.linalg.eigvalsh(features @ features.T)
        found.append(math.log10(float(values[-1] / values[0])))
    return found


def _plain_course(
    *,
    arm: str,
    kind: str,
    start: str,
    fault: str = "",
    after: int | None = None,
    wrong: bool,
) -> list[float]:
    """Train from the definition's start, in float32 as networks of the paper are.

    Wrong: Nesterov's momentum in the place of heavy-ball momentum.
    """
    found: list[float] = []
    losses = np.zeros((len(_RATES) * 2, _STEPS))
    classes = _classes(_N)
    if fault == "shuffled":
        order = torch_generator(5, "normrelu", "shuffled labels")
        classes = classes[torch.randperm(_N, generator=order)]
    names = [(rate, seed) for rate in _RATES for seed in (5, 6)]
    shape = _MOVED if start else _SHAPE
    for row, (rate, seed) in enumerate(names):
        generator = torch_generator(seed, "normrelu", "weights")
        net = _filled(plain(arm, kind, 0), arm, generator, start)
        x = _inputs(kind, _N, _N, shape).float()
        params = list(net.parameters())
        learnt = params[-1:] if fault == "frozen" else params
        size = {"slow": 0.01, "untrained": 0.0}.get(fault, 1.0)
        sgd = torch.optim.SGD(
            learnt,
            lr=size * rate,
            momentum=0.9,
            nesterov=wrong,
            weight_decay=_DECAY if start else 0.0,
        )
        order, shown = (
            torch_generator(seed, "normrelu", name)
            for name in ("batches", "augmentation")
        )
        conditions = _conditions(net, x) if fault else []
        # Of ten epochs of three updates, a fifteenth.
        steps = 2 if fault == "short" else _STEPS
        for made, chosen in enumerate(orders(_N, _BATCH, steps, order)):
            if start and made == _STEPS // 2:
                sgd.param_groups[0]["lr"] = 0.1 * rate
            flip = start == "he"
            seen = _moved(x[chosen], shown, flip=flip) if start else x[chosen]
            loss = functional.cross_entropy(net(seen), classes[chosen])
            losses[row, made] = step(sgd, loss)
        with torch.no_grad():
            net.eval()
            found.append(float(functional.cross_entropy(net(x), classes)))
            net.train()
            hidden = _hidden(net, _inputs(kind, _TESTS, _TESTS, shape).float())
            found += [float(h.square().mean()) for h in hidden]
        found += [*conditions, *(_conditions(net, x) if fault else [])]
    # Told of each update, where it is stopped: the median loss.
    told = [] if after is None else np.median(losses, axis=0).tolist()
    # Looked at first and after each epoch, of two or ten, or at the end alone.
    return [*found, *told, {"": 1, "short": 11}.get(fault, 3)]


def _found_course(
    *, arm: str, kind: str, start: str, fault: str = "", after: int | None = None
) -> list[float]:
    shape = _MOVED if start else _SHAPE
    inputs, tests = (_inputs(kind, n, n, shape).float() for n in (_N, _TESTS))
    practice = Recipe(
        schedule=(0.5,),
        decay=_DECAY,
        augmentation=("crop", "flip") if start == "he" else ("crop",),
        start=start or "arm",
    )
    train_all = partial(
        trained,
        ARMS[arm],
        network(arm, kind, shape),
        Examples(
            inputs=inputs,
            classes=_classes(_N),
            test_inputs=tests,
            test_classes=_classes(_TESTS),
        ),
        rates=_RATES,
        seeds=(5, 6),
        epochs=10 if fault == "short" else 2,
        batch=_BATCH,
        every_epoch=fault != "",
        recipe=practice if start else PLAIN,
        fault=fault,
    )
    done, told = resumed(train_all, after=after)
    losses, lengths = done.series["train_loss"][-1], done.series["lengths"][-1]
    found: list[float] = []
    for row in range(4):
        found += [losses[row], *lengths[row]]
        for when in (0, -1) if fault else ():
            names = ("condition", "top_condition")
            found += [done.series[name][when, row] for name in names]
    looked = len(done.series["train_loss"])
    return [*found, *(told[made] for made in sorted(told)), looked]


COURSE = closed(
    id="dc/sec7-course",
    items=("Sec11",),
    title="A whole training run, stopped or not, equals PyTorch's to float32 rounding",
    statement=r"W\sim N(0,\mathrm{gain}/n_{in}),\quad\text{two epochs at momentum }0.9,"
    r"\ \theta_T\text{ by way of a checkpoint of }\theta_t",
    where="Section 7 and Appendix I.3",
    cases=(
        *grid(arm=("normrelu", "relu", "batch"), kind="dense", fault="", start=""),
        *grid(arm=("normrelu", "batch", "fixup"), kind="residual", fault="", start=""),
        *grid(arm="selu", kind="dense", fault=tuple(FAULTS), start=""),
        # With what practice adds: a rate that falls, decay, images shifted and mirrored.
        *grid(arm="normrelu", kind="residual", fault="", start="he"),
        *grid(arm="batch", kind="residual", fault="", start="glorot"),
        # Stopped, and going on from a checkpoint.
        *grid(arm="batch", kind="dense", start="", after=4),
        *grid(arm="batch", kind="residual", start="he", after=(2, 3, 5)),
    ),
    twin=_plain_course,
    measure=_found_course,
    # Single precision: thousands of roundings of 6e-8.
    compare=AgreesTo(relative=3e-4, absolute=3e-5),
    version=2,
)
