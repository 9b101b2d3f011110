"""Modules of one's own in stacks: their starts and steps, and which are refused."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from empirical.jacobian import ntk_by_jacobian
from empirical.testbed.batches import Epochs
from empirical.testbed.loop import train
from empirical.testbed.modules import apply
from empirical.testbed.optimisers import SGD
from empirical.testbed.stack import Stack
from empirical.testbed.supervised import Supervised, loaded
from verify.claim import grid
from verify.claims._descent import step
from verify.claims._twins import (
    SUMS,
    UPDATES,
    Array,
    closed,
    normal,
    orders,
    sketch,
    stacked,
)
from verify.claims.identity_map.steps import plain, specified
from verify.compare import Identical

_EXAMPLES, _BATCH, _STEPS = 7, 3, 6
_RATES = (0.05, 0.02)


class Last(nn.Module):
    """What the last of a sequence's outputs is."""

    def forward(self, read: tuple[Tensor, Any]) -> Tensor:
        """Return the outputs behind the last row."""
        return read[0][:, -1]


class Branching(nn.Module):
    """Two slopes, for inputs of a positive mean and the others."""

    def forward(self, x: Tensor) -> Tensor:
        """Return them or their half."""
        return x if x.mean().item() > 0.0 else 0.5 * x


_DOUBLE: Any = {"dtype": torch.float64}


def _recurrent() -> nn.Module:
    read = nn.LSTM(4, 5, batch_first=True, **_DOUBLE)
    return nn.Sequential(read, Last(), nn.Linear(5, 3, **_DOUBLE))


def _normalised() -> nn.Module:
    inner = (nn.Conv2d(1, 4, 2, **_DOUBLE), nn.BatchNorm2d(4, **_DOUBLE), nn.Tanh())
    last = nn.Linear(24, 3, **_DOUBLE)
    return nn.Sequential(nn.Unflatten(1, (1, 3)), *inner, nn.Flatten(), last)


def _dense(between: type[nn.Module], *, frozen: bool = False) -> nn.Module:
    first = nn.Linear(12, 5, **_DOUBLE).requires_grad_(not frozen)
    return nn.Sequential(nn.Flatten(), first, between(), nn.Linear(5, 3, **_DOUBLE))


MODULES: Mapping[str, Callable[[], nn.Module]] = {
    "recurrent": _recurrent,
    "normalised": _normalised,
    "branching": lambda: _dense(Branching),
    "frozen": lambda: _dense(nn.ReLU, frozen=True),
}


def _examples() -> tuple[Tensor, Tensor]:
    return normal(_EXAMPLES, 3, 4, seed=[120]), torch.arange(_EXAMPLES) % 3


def _own(seed: int, replicate: int) -> torch.Generator:
    return torch.Generator().manual_seed(10 * seed + replicate)


def _built(module: str, start: torch.Generator) -> tuple[nn.Module, torch.Generator]:
    """Return a module built with the numbers of a generator, which go on behind it."""
    with torch.random.fork_rng():
        torch.default_generator.set_state(start.get_state())
        net = MODULES[module]()
        start.set_state(torch.default_generator.get_state())
    return net, start


def _plain_steps(
    *, module: str, one_by_one: bool, order: str, wrong: bool
) -> list[float]:
    """Build each module with the numbers of its generator, and train it by itself.

    Wrong: Nesterov's momentum in the place of heavy-ball momentum.
    """
    found: list[float] = []
    x, y = _examples()
    for replicate, rate in enumerate(_RATES):
        net, start = _built(module, _own(12, replicate))
        learnt = [p for p in net.parameters() if p.requires_grad]
        sgd = torch.optim.SGD(learnt, lr=rate, momentum=0.9, nesterov=wrong)
        numbers = _own(13, replicate if order == "own" else 0)
        batch = None if order == "whole" else _BATCH
        for chosen in orders(_EXAMPLES, batch, _STEPS, numbers):
            step(sgd, nn.functional.cross_entropy(net(x[chosen]), y[chosen]))
        found += sketch(*net.parameters(), *net.buffers())
        found += sketch(net.eval()(x), torch.rand(2, generator=start))
    return found


def _stacked_steps(*, module: str, one_by_one: bool, order: str) -> list[float]:
    x, y = _examples()
    net, starts = MODULES[module](), [_own(12, r) for r in range(len(_RATES))]
    before = torch.get_rng_state()
    stack = Stack.of(net, starts, rates=_RATES)
    generators = [_own(13, r) for r in range(len(_RATES) if order == "own" else 1)]
    done = train(
        Supervised(net, x, y, one_by_one=one_by_one),
        stack,
        SGD(momentum=0.9),
        steps=_STEPS,
        batches=None if order == "whole" else Epochs(_EXAMPLES, _BATCH, generators),
    )
    assert torch.equal(before, torch.get_rng_state())
    found: list[float] = []
    for replicate, start in enumerate(starts):
        one = loaded(net, done, replicate=replicate)
        found += sketch(*one.parameters(), *one.buffers())
        found += sketch(one.eval()(x), torch.rand(2, generator=start))
    return found


STEPS = closed(
    id="id/Fig2-modules",
    title="Any PyTorch module starts and learns in a stack as it does alone",
    statement=r"\theta_r\leftarrow\theta_r-\eta_rm_r,\qquad r=1,\ldots,R",
    where="Appendix A, on training",
    cases=(
        *grid(module="recurrent", one_by_one=True, order=("whole", "own")),
        *grid(module="normalised", one_by_one=(False, True), order=("shared", "own")),
        *grid(module="branching", one_by_one=True, order="own"),
        *grid(module="frozen", one_by_one=(False, True), order="own"),
    ),
    compare=UPDATES,
    twin=_plain_steps,
    measure=_stacked_steps,
    uses=("id/Fig2-steps",),
)

# --- tangent kernels --------------------------------------------------------------------


def _alone(kind: str) -> list[nn.Module]:
    """Return two networks, modules as they are read."""
    if kind in MODULES:
        return [_built(kind, _own(12, row))[0].eval() for row in range(2)]
    return [plain(kind, 2, "relu", True, row) for row in range(2)]  # noqa: FBT003


def _inputs(kind: str, *, cross: bool) -> tuple[Tensor, Tensor | None]:
    x = _examples()[0] if kind in MODULES else normal(5, 2, 3, 4, seed=[34])
    return (x[:3], x[3:]) if cross else (x, None)


def _jacobian(net: nn.Module, x: Tensor) -> Array:
    """Return slopes of every output, (n, outputs, parameters), one at a time."""
    learnt, rows = [p for p in net.parameters() if p.requires_grad], list[list[Array]]()
    for one in x:
        rows.append([])
        for output in net(one[None]).flatten():
            slopes = torch.autograd.grad(output, learnt, retain_graph=True)
            rows[-1].append(torch.cat([s.flatten() for s in slopes]).numpy())
    return np.array(rows)


def _plain_kernel(*, kind: str, outputs: str, cross: bool, wrong: bool) -> list[float]:
    """Multiply the gradients of single outputs.

    Wrong: The sum over outputs in the place of their mean.
    """
    found: list[float] = []
    x, y = _inputs(kind, cross=cross)
    for net in _alone(kind):
        a = _jacobian(net, x)
        whole = np.einsum("iap,jbp->ijab", a, a if y is None else _jacobian(net, y))
        trace = np.einsum("ijaa->ij", whole)
        mean = trace / (1 if wrong else a.shape[1])
        kinds = {"all": whole, "sum": trace, "mean": mean}
        found += sketch(*kinds[outputs].reshape(len(x), -1))
    return found


def _found_kernel(*, kind: Any, outputs: Any, cross: bool) -> list[float]:
    more: dict[str, Any] = {}
    if kind in MODULES:
        network: Any = MODULES[kind]().eval()
        stack = Stack.of(network, [_own(12, r) for r in range(2)], rates=0.1)
        params = stack.params
        more = {"buffers": stack.buffers, "one_by_one": kind == "recurrent"}
    else:
        network = specified(kind, 2, "relu", True)  # noqa: FBT003
        params = stacked(net.parameters() for net in _alone(kind))
    # The large budget takes all inputs at once, the small one input at a time.
    found: list[float] = []
    for most in (2**28, 1000):
        kernels = ntk_by_jacobian(
            network,
            params,
            *_inputs(kind, cross=cross),
            outputs=outputs,
            max_bytes=most,
            **more,
        )
        each = [n for kernel in kernels for n in sketch(*kernel.flatten(1))]
        assert not found or np.allclose(found, each, rtol=1e-12, atol=1e-12)
        found = each
    return found


KERNEL = closed(
    id="id/Fig2-tangent",
    title="The empirical tangent kernel is the Gram matrix of single outputs' gradients",
    statement=(
        r"\Theta_{ij}=\tfrac1d\textstyle\sum_k\langle\nabla_\theta f_k(x_i),"
        r"\nabla_\theta f_k(x_j)\rangle,\quad\theta\text{: what is trained}"
    ),
    where="not in the paper, which has no tangent kernels",
    cases=(
        *grid(kind=("fcn", "cnn", "residual"), outputs="mean", cross=False),
        *grid(kind="fcn", outputs=("sum", "all"), cross=True),
        # Not the module that branches on the mean of all images: it has no kernel.
        *grid(
            kind=("recurrent", "normalised", "frozen"),
            outputs="mean",
            cross=(False, True),
        ),
    ),
    compare=SUMS,
    twin=_plain_kernel,
    measure=_found_kernel,
    version=2,
)

# --- what is refused --------------------------------------------------------------------


class Bare(nn.Module):
    """Learns a number that it does not know how to draw, or is told of when it does."""

    def __init__(self) -> None:
        super().__init__()
        self.own = nn.Parameter(torch.zeros(2))


class Told(Bare):
    """Draws its number when it is told how large."""

    def reset_parameters(self, size: float) -> None:
        """Fill it."""
        nn.init.constant_(self.own, size)


def _holding(*tensors: Tensor) -> nn.Module:
    module = nn.Module()
    for place, tensor in enumerate(tensors):
        module.register_parameter(f"p{place}", nn.Parameter(tensor))
    return module


def _buffered(one: Tensor, other: Tensor) -> nn.Module:
    module = _holding(one)
    module.register_buffer("kept", other)
    return module


def _in_one_memory() -> list[tuple[Tensor, ...]]:
    """Return parts of one memory: rows, columns, every second number."""
    x = torch.zeros(6, 4)
    flat = x.view(-1)
    return [
        (x[:3], x[3:]),
        (x[:4], x[3:]),
        (x[:, :2], x[:, 2:]),
        (x[:, :3], x[:, 2:]),
        (flat[::2], flat[1::2]),
        (flat[::2], flat[::3]),
        (x[:2], x[2:4], x[4:]),
        (x[:2], x[2:5], x[4:]),
        (x[:2], torch.zeros(2, 4)),
    ]


def _drawing() -> list[tuple[nn.Module, bool]]:
    """Return modules, and whether they draw numbers when they are called."""
    deep = nn.LSTM(2, 3, num_layers=2, dropout=0.5)
    norm, mean = nn.BatchNorm1d(2), nn.BatchNorm1d(2, momentum=None)
    layer, alone = nn.Linear(2, 2), nn.LSTM(2, 3)
    # Numbers would be left out behind all layers but the last.
    alone.dropout = 0.5
    return [
        (alone, False),
        (nn.Sequential(layer, nn.Dropout(0.5)), True),
        (nn.Sequential(layer, nn.Dropout(0.0)), False),
        (nn.Sequential(layer, nn.Dropout(0.5)).eval(), False),
        (nn.Sequential(layer, nn.Dropout2d(0.1)), True),
        (deep, True),
        (nn.LSTM(2, 3, num_layers=2), False),
        (nn.Sequential(nn.LSTM(2, 3, num_layers=2, dropout=0.5)).eval(), False),
        # Its mean over batches is no average with a momentum.
        (mean, True),
        (nn.BatchNorm1d(2, momentum=None).eval(), False),
        (norm, False),
    ]


def _starting() -> list[tuple[nn.Module, bool]]:
    """Return modules, and whether they lack what draws each parameter, once."""
    layer, twice = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    twice[1].weight = twice[0].weight
    return [
        (layer, False),
        (nn.Sequential(layer, nn.ReLU(), nn.Flatten()), False),
        (nn.Sequential(layer, Bare()), True),
        (nn.Sequential(layer, Told()), True),
        (twice, True),
    ]


_WAYS = tuple(product((False, True), repeat=3))
"""Whether inputs are shared, modules called one by one, and gradients taken."""


def _padded(*, shared: bool, one_by_one: bool, learnt: bool) -> Tensor:
    """Return outputs of two modules that leave the gradient of one row out."""
    net = nn.Sequential(nn.Embedding(4, 2, padding_idx=1), nn.Flatten())
    rows = torch.arange(16.0).view(2, 4, 2).requires_grad_(learnt)
    inputs = torch.tensor([[0, 1, 2], [3, 1, 1]])
    given = inputs if shared else inputs[:, None]
    return apply(net, (rows,), given, shared=shared, one_by_one=one_by_one)


def _hooked(*, backward: bool, one_by_one: bool) -> Supervised:
    """Return the task of a module with a hook on its pass forward or backward."""
    net, x = nn.Linear(2, 3), torch.ones(4, 2)
    hook: Any = lambda *_: None  # noqa: E731
    (net.register_full_backward_hook if backward else net.register_forward_hook)(hook)
    return Supervised(net, x, torch.tensor([0, 1, 2, 0]), one_by_one=one_by_one)


def _is_refused(make: Callable[[], object]) -> float:
    try:
        make()
    except ValueError:
        return 1.0
    return 0.0


def _expected(*, why: str, wrong: bool) -> list[float]:
    """Say of each module whether it is refused; of memory, NumPy does.

    Wrong: Modules are refused that have parameters in one memory, though not in one place.
    """
    if why == "memory":
        test = np.may_share_memory if wrong else np.shares_memory
        found: list[float] = []
        for parts in _in_one_memory():
            pairs = combinations([part.numpy() for part in parts], 2)
            shared = [float(test(a, b)) for a, b in pairs]
            # Of parameters, and of the first and a buffer that is the second.
            found += [max(shared), shared[0]]
        return found
    if why == "padding":
        # By torch.vmap, the rows that are left out would be the first network's.
        return [float(not (s or one) and learnt) for s, one, learnt in _WAYS]
    if why == "hooks":
        # By torch.vmap, those on the pass backward would not be called.
        return [0.0, 0.0, 1.0, 0.0]
    if why == "running":
        # One that branches; then inputs of another shape.
        return [1.0, 0.0, 1.0]
    every = _drawing() if why == "drawing" else _starting()
    return [float(refused) for _, refused in every]


def _refused(*, why: str) -> list[float]:
    if why == "memory":
        return [
            _is_refused(lambda m=m: Stack.of_modules([m, m], rates=0.1))
            for parts in _in_one_memory()
            for m in (_holding(*parts), _buffered(*parts[:2]))
        ]
    if why == "padding":
        names = ("shared", "one_by_one", "learnt")
        ways = [dict(zip(names, way, strict=True)) for way in _WAYS]
        return [_is_refused(partial(_padded, **way)) for way in ways]
    if why == "hooks":
        pairs = product((False, True), repeat=2)
        return [
            _is_refused(lambda p=p: _hooked(backward=p[0], one_by_one=p[1]))
            for p in pairs
        ]
    if why == "running":
        net = nn.Sequential(nn.Linear(2, 3), Branching())
        stack = Stack.of_modules([net, net], rates=0.1)
        branches = partial(apply, net, stack.params, torch.ones(4, 2))
        task = Supervised(nn.Linear(2, 3), torch.ones(4, 5), torch.arange(4) % 3)
        return [
            *(_is_refused(partial(branches, one_by_one=one)) for one in (False, True)),
            _is_refused(lambda: task.losses(stack.params, stack, None)),
        ]
    if why == "drawing":
        return [
            _is_refused(lambda m=m: Stack.of_modules([m], rates=0.1))
            for m, _ in _drawing()
        ]
    return [
        _is_refused(lambda m=m: Stack.of(m, [_own(14, 0)], rates=0.1))
        for m, _ in _starting()
    ]


REFUSED = closed(
    id="id/Fig2-refused",
    title="Modules with shared weights, randomness or wrong gradients are refused",
    statement=(
        r"\text{refused: }\theta_i, \theta_j\text{ in one memory},\ f\text{ random},"
        r"\ \theta\text{ undrawn},\ \nabla\text{ of padded copies wrong}"
    ),
    where="Appendix A, on training",
    cases=grid(why=("memory", "drawing", "start", "padding", "hooks", "running")),
    twin=_expected,
    measure=_refused,
    compare=Identical(),
    uses=("id/Fig2-modules",),
)
