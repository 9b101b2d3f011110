"""Stacks of PyTorch's modules against the modules, one by one."""

import copy
import re
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations

from empirical.randomness import torch_generator
from empirical.testbed import modules
from empirical.testbed.batches import Afresh, Epochs
from empirical.testbed.loop import Compiled, Task, train
from empirical.testbed.observers import Curve
from empirical.testbed.optimisers import SGD, Adagrad, Adam, Adamax, RMSprop
from empirical.testbed.stack import Stack
from empirical.testbed.supervised import Supervised, loaded

REPLICATES, RATES = 3, [0.1, 0.05, 0.2]
X = torch.randn(24, 1, 6, 6, dtype=torch.float64, generator=torch_generator(7, "x"))
Y = torch.randint(3, (24,), generator=torch_generator(7, "y"))
NETS = {
    "dense": lambda: nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.GELU(), head(8)),
    "no bias": lambda: nn.Sequential(nn.Flatten(), nn.Linear(36, 3, bias=False)),
    "convolution": lambda: nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), head(64)
    ),
    "batch norm": lambda: nn.Sequential(
        nn.Flatten(), nn.Linear(36, 8), nn.BatchNorm1d(8), nn.ReLU(), head(8)
    ),
    "batch norm of the batch": lambda: nn.Sequential(
        nn.Flatten(),
        nn.Linear(36, 8),
        nn.BatchNorm1d(8, track_running_stats=False),
        head(8),
    ),
    "layer norm": lambda: nn.Sequential(
        nn.Flatten(), nn.Linear(36, 8), nn.LayerNorm(8), nn.Tanh(), head(8)
    ),
    "residual": lambda: nn.Sequential(nn.Flatten(), Residual(36), head(36)),
    "frozen": lambda: nn.Sequential(
        nn.Flatten(), nn.Linear(36, 8).requires_grad_(False), nn.Tanh(), head(8)
    ),
    "a buffer assigned anew": lambda: nn.Sequential(nn.Flatten(), Running(36, 3)),
    "mask": lambda: nn.Sequential(nn.Flatten(), Masked(36, 3)),
    "recurrence": lambda: nn.Sequential(nn.Flatten(1, 2), Recurrence(6, 4), head(4)),
}
NORMED = parametrizations.weight_norm, parametrizations.orthogonal


def head(width: int) -> nn.Module:
    return nn.Linear(width, 3)


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.relu(self.inner(x))


class Running(nn.Linear):
    """Scales by a mean over earlier batches, which it assigns."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        self.register_buffer("mean", torch.ones(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        z = super().forward(x)
        scaled = z * self.mean
        self.mean = 0.9 * self.mean + 0.1 * z.detach().mean(dim=0)
        return scaled


class Masked(nn.Linear):
    """Attends to the outputs so far only."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        ones = torch.full((outputs, outputs), -torch.inf)
        self.register_buffer("mask", ones.triu(diagonal=1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        z = super().forward(x)
        return torch.einsum("ij,nj->ni", self.mask.softmax(dim=1), z)


class Recurrence(nn.Module):
    """The last output of nn.LSTM, whose cell is written in nn.Linear."""

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.gates = nn.Linear(inputs + units, 4 * units)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = c = x.new_zeros(len(x), self.gates.out_features // 4)
        for step in x.unbind(dim=1):
            i, f, g, o = self.gates(torch.cat([step, h], dim=1)).chunk(4, dim=1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        return h


def generators(name: str = "start") -> list[torch.Generator]:
    return [torch_generator(7, name, i) for i in range(REPLICATES)]


@pytest.fixture(params=NETS)
def net(request: pytest.FixtureRequest) -> nn.Module:
    return NETS[request.param]().double()


@pytest.mark.parametrize("shared", [True, False])
def test_a_stack_of_modules_is_trained_as_they_are_alone(net, shared) -> None:
    # As many examples in each batch: a last one of one could not be normalised.
    given = generators("order")[: 1 if shared else REPLICATES]
    orders = Epochs(24, 8, given)
    stack = Stack.of(net, generators(), rates=RATES)
    first = [p.clone() for p in stack.params]
    held = [b.clone() for b in stack.buffers]
    curve = Curve(range(9))
    trained = train(
        Supervised(net, X, Y),
        stack,
        SGD(momentum=0.9),
        steps=9,
        check=4,
        batches=orders,
        observers=[curve],
    )
    given = generators("order")[: 1 if shared else REPLICATES]
    drawn = Epochs(24, 8, given).draw(0, 9)
    for row, rate in enumerate(RATES):
        alone = copy.deepcopy(net)
        with torch.no_grad():
            for own, start in zip(alone.parameters(), first, strict=True):
                own.copy_(start[row])
            for own, start in zip(alone.buffers(), held, strict=True):
                own.copy_(start[row])
        sgd = torch.optim.SGD(alone.parameters(), lr=rate, momentum=0.9)
        for t, chosen in enumerate(drawn):
            mine = chosen if shared else chosen[row]
            sgd.zero_grad()
            loss = functional.cross_entropy(alone(X[mine]), Y[mine])
            assert curve.values[row, t] == pytest.approx(loss.item(), rel=1e-10)
            loss.backward()
            sgd.step()
        found = loaded(net, trained, replicate=row)
        for (name, wanted), mine in zip(
            alone.state_dict().items(), found.state_dict().values(), strict=True
        ):
            torch.testing.assert_close(mine, wanted, rtol=1e-9, atol=1e-11, msg=name)


def test_each_replicate_has_the_start_of_its_generator(net) -> None:
    before = torch.random.get_rng_state()
    params, _ = modules.drawn(net, generators())
    assert torch.equal(torch.random.get_rng_state(), before)
    one, _ = modules.drawn(net, generators()[1:2])
    for many, alone in zip(params, one, strict=True):
        assert torch.equal(many[1], alone[0])
    assert not torch.equal(params[0][0], params[0][1])


def test_a_start_is_pytorchs_own() -> None:
    (weight, bias), _ = modules.drawn(nn.Linear(400, 300), generators())
    # Uniform in +-1/sqrt(fan in): 120,000 weights, four standard errors.
    bound = 400**-0.5
    assert weight.abs().max() <= bound
    assert weight[0].std().item() == pytest.approx(bound / 3**0.5, rel=4 * 0.0013)
    assert bias.abs().max() <= bound


class Silent(nn.Module):
    """Begins with a last layer of zeros, as many residual branches do."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.last = nn.Linear(3, 2), nn.Linear(2, 2)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.zeros_(self.last.weight)


def test_a_start_that_a_module_gives_its_parts_is_kept() -> None:
    (inner, _, last, _), _ = modules.drawn(Silent(), generators())
    assert not last.any()
    assert not torch.equal(inner[0], inner[1])


def test_a_generator_goes_on_from_where_it_was() -> None:
    (one,) = generators()[:1]
    (first, *_), _ = modules.drawn(nn.Linear(3, 2), [one])
    (second, *_), _ = modules.drawn(nn.Linear(3, 2), [one])
    assert not torch.equal(first, second)


def test_modules_of_ones_own_are_stacked() -> None:
    nets = [nn.Linear(3, 2).double() for _ in range(2)]
    params, _ = modules.stacked(nets)
    x = torch.randn(5, 3, dtype=torch.float64, generator=torch_generator(7))
    found = modules.apply(nets[0], params, x)
    for each, one in zip(found, nets, strict=True):
        torch.testing.assert_close(each, one(x))


class Scaled(nn.Linear):
    def __init__(self, scale: object) -> None:
        super().__init__(2, 2)
        self.scale = scale


def after(part: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(2, 2), part)


@pytest.mark.parametrize(
    ("one", "other", "named"),
    [
        (nn.Linear(2, 2), nn.Linear(2, 3), "weight"),
        (nn.Linear(2, 2), nn.Linear(2, 2, bias=False), "bias"),
        (after(nn.PReLU()), after(nn.PReLU().requires_grad_(False)), r"1\.weight"),
        (nn.Linear(2, 2), Scaled(1.0), "class"),
        (after(nn.ReLU()), after(nn.Tanh()), "1"),
        (after(nn.LeakyReLU(0.1)), after(nn.LeakyReLU(0.3)), r"1\.negative_slope"),
        (after(nn.BatchNorm1d(2)), after(nn.BatchNorm1d(2).eval()), r"1\.training"),
        (Scaled(1.0), Scaled(2.0), "scale"),
        (Scaled("relu"), Scaled("tanh"), "scale"),
        (Scaled(torch.relu), Scaled(torch.tanh), "scale"),
        (Scaled(torch.ones(2)), Scaled(torch.zeros(2)), "scale"),
    ],
)
def test_modules_that_differ_in_more_than_values_are_refused(
    one: nn.Module, other: nn.Module, named: str
) -> None:
    with pytest.raises(ValueError, match=f"index 1 has another `{named}` than"):
        modules.stacked([one, other])


def test_modules_that_made_the_same_for_themselves_are_alike() -> None:
    nets = [Scaled(lambda z: z * z) for _ in range(2)]
    params, _ = modules.stacked([*nets])
    assert len(params[0]) == 2
    modules.stacked([Scaled(torch.ones(2)), Scaled(torch.ones(2))])


@pytest.mark.parametrize("normed", NORMED)
def test_parametrised_modules_are_trained_as_they_are_alone(normed) -> None:
    nets = [normed(nn.Linear(36, 3).double()) for _ in range(2)]
    x = X.flatten(1)
    stack = Stack.of_modules(nets, rates=0.1)
    # The weight norm has no batching rule.
    one_by_one = normed is parametrizations.weight_norm
    task = Supervised(nets[0], x, Y, one_by_one=one_by_one)
    trained = train(task, stack, SGD(), steps=5)
    for row, alone in enumerate(nets):
        sgd = torch.optim.SGD(alone.parameters(), lr=0.1)
        for _ in range(5):
            sgd.zero_grad()
            functional.cross_entropy(alone(x), Y).backward()
            sgd.step()
        found = loaded(nets[0], trained, replicate=row)
        torch.testing.assert_close(found(x), alone(x), rtol=1e-9, atol=1e-11)


def test_modules_parametrised_in_two_ways_are_refused() -> None:
    one, other = (normed(nn.Linear(3, 3)) for normed in NORMED)
    with pytest.raises(ValueError, match="index 1 has another"):
        modules.stacked([one, other])


def test_parameters_and_buffers_of_another_module_are_refused() -> None:
    x = torch.zeros(5, 3)
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    params, _ = modules.stacked([net])
    with pytest.raises(ValueError, match=r"`buffers` must have.*\[\(4,\).*are \[\]"):
        modules.apply(net, params, x)
    # Four hidden units fit the inputs and outputs, and would be computed.
    wider = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))
    params, _ = modules.stacked([nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))])
    with pytest.raises(ValueError, match=r"`params` must have.*\(5, 3\).*\(1, 4, 3\)"):
        modules.apply(wider, params, x)


@pytest.mark.parametrize("one_by_one", [False, True])
def test_outputs_are_of_the_same_replicates(one_by_one: bool) -> None:
    net = NETS["batch norm"]().double()
    params, buffers = modules.drawn(net, generators())
    own = X.expand(REPLICATES - 1, *X.shape)
    for held, x, shared in (
        (tuple(b[1:] for b in buffers), X, True),
        (buffers, own, False),
    ):
        with pytest.raises(ValueError, match=r"same replicates in front.*\[3, 3.*2\]"):
            modules.apply(
                *(net, params, x), buffers=held, shared=shared, one_by_one=one_by_one
            )


def test_a_checkpoint_holds_running_statistics(tmp_path) -> None:
    net = NETS["batch norm"]().double()
    stack = Stack.of(net, generators(), rates=0.1)
    train(Supervised(net, X, Y), stack, Adam(), steps=5)
    other = Stack.of(net, generators(), rates=0.1)
    Adam().prepare(other)
    torch.save(stack.saved(), tmp_path / "c")
    other.load(torch.load(tmp_path / "c"))
    for mine, theirs in zip(other.buffers, stack.buffers, strict=True):
        assert torch.equal(mine, theirs)


WEIGHTS = torch.tensor([1.0, 2.0, 1.0], dtype=torch.float64)


@pytest.mark.parametrize(
    "change",
    [
        {"inputs": X + 1e-9},
        {"targets": Y.flip(0)},
        {"module": nn.Sequential(nn.Flatten(), nn.Linear(36, 3), nn.ELU(0.5))},
        {"loss": functional.nll_loss},
        {"loss": partial(functional.cross_entropy, label_smoothing=0.1)},
        {"loss": nn.CrossEntropyLoss(weight=WEIGHTS)},
        {"loss": nn.CrossEntropyLoss(weight=2.0 * WEIGHTS)},
    ],
)
def test_a_checkpoint_is_of_a_module_its_examples_and_loss(change, tmp_path) -> None:
    net = nn.Sequential(nn.Flatten(), nn.Linear(36, 3), nn.ELU())

    def run(**changed: Any) -> torch.Tensor:
        given = {"module": net, "inputs": X, "targets": Y} | changed
        task = Supervised(**{**given, "module": given["module"].double()})
        stack = Stack.of(net.double(), generators(), rates=0.1)
        kept = {"steps": 2, "checkpoint": tmp_path / "c"}
        return train(task, stack, Adam(), **kept).final[0]

    assert torch.equal(run(), run())
    with pytest.raises(ValueError, match="be of the same `task`, but"):
        run(**change)


def test_modules_of_ones_own_keep_what_is_frozen() -> None:
    nets = [NETS["frozen"]().double() for _ in range(REPLICATES)]
    stack = Stack.of_modules(nets, rates=0.1)
    trained = train(Supervised(nets[0], X, Y), stack, Adam(), steps=3)
    moved = [
        not torch.equal(a, b)
        for a, b in zip(trained.initial, trained.final, strict=True)
    ]
    assert moved == [False, False, True, True]
    assert torch.equal(trained.initial[0][1], nets[1][1].weight)


@pytest.mark.parametrize("rates", [1e-3, [1e-3, 2e-3, 1e-3]])
def test_updates_are_counted_in_half_precision(rates) -> None:
    stack = Stack.of(nn.Linear(2, 1).bfloat16(), generators(), rates=rates)
    x = torch.ones(1, 2, dtype=torch.bfloat16)
    task = Supervised(nn.Linear(2, 1).bfloat16(), x, x[:, :1], functional.mse_loss)
    train(task, stack, Adam(), steps=300)
    assert stack.clock.tolist() == [300.0] * REPLICATES


@pytest.mark.parametrize("rates", [1e-3, [1e-3, 2e-3, 1e-3]])
@pytest.mark.parametrize("kind", [Adam, Adamax, Adagrad, RMSprop])
def test_what_keeps_from_a_division_by_zero_is_not_zero(kind, rates) -> None:
    net = nn.Linear(2, 1).half()
    x = torch.ones(1, 2, dtype=torch.float16)
    task = Supervised(net, x, x[:, :1], functional.mse_loss)
    stack = Stack.of(net, generators(), rates=rates)
    said = f"{kind.__name__}: `eps` must be positive in .* torch.float16, but 1e-"
    with pytest.raises(ValueError, match=said):
        train(task, stack, kind(), steps=1)
    train(task, stack, kind(eps=1e-4), steps=1)


@pytest.mark.parametrize("given", [3, nn.Linear, torch.relu])
def test_what_is_no_module_is_named(given: Any) -> None:
    for make in (
        lambda: Stack.of(given, generators(), rates=0.1),
        lambda: Stack.of_modules([given], rates=0.1),
        lambda: Supervised(given, X, Y),
    ):
        with pytest.raises(ValueError, match=r"`module` must be a value of torch.nn.M"):
            make()


def test_a_module_alone_is_no_list() -> None:
    alone: Any = nn.Linear(2, 1)
    with pytest.raises(ValueError, match="`modules` must be a list, but it is Linear"):
        Stack.of_modules(alone, rates=0.1)
    assert len(Stack.of_modules(nn.ModuleList([alone]), rates=0.1)) == 1


def test_a_buffer_that_is_no_number_is_refused() -> None:
    net = NETS["batch norm"]()
    net[2].running_var.fill_(torch.nan)
    with pytest.raises(ValueError, match="`buffers` must be numbers, but 8 entries"):
        Stack.of_modules([net], rates=0.1)


def test_a_shared_weight_is_one_parameter() -> None:
    def tied() -> nn.Module:
        net = nn.Sequential(
            nn.Flatten(), nn.Linear(36, 36), nn.Tanh(), nn.Linear(36, 36)
        )
        net[3].weight = net[1].weight
        return net.append(head(36)).double()

    nets = [tied() for _ in range(REPLICATES)]
    stack = Stack.of_modules(nets, rates=0.1)
    assert len(stack.params) == 5
    trained = train(Supervised(nets[0], X, Y), stack, SGD(momentum=0.9), steps=5)
    for row, alone in enumerate(nets):
        sgd = torch.optim.SGD(alone.parameters(), lr=0.1, momentum=0.9)
        for _ in range(5):
            sgd.zero_grad()
            functional.cross_entropy(alone(X), Y).backward()
            sgd.step()
        found = loaded(nets[0], trained, replicate=row)
        assert found.get_parameter("3.weight") is found.get_parameter("1.weight")
        for wanted, got in zip(alone.parameters(), found.parameters(), strict=True):
            torch.testing.assert_close(got, wanted, rtol=1e-9, atol=1e-11)


class Bare(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Linear(2, 2)
        self.two = nn.Linear(2, 2)
        self.two.weight = self.one.weight


class Mirrored(nn.Module):
    """Two parameters in one memory, as rows and as columns; PyTorch moves both."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(2, 2), nn.Linear(2, 2)
        self.two.weight = nn.Parameter(self.one.weight.data.t())


class Watching(nn.Linear):
    """Has a parameter's memory as a buffer."""

    def __init__(self) -> None:
        super().__init__(2, 2)
        self.register_buffer("seen", self.weight.data[:1])


class Flat(nn.Module):
    """Parameters that lie behind each other in one memory, and beside each other."""

    def __init__(self) -> None:
        super().__init__()
        flat = torch.randn(3, 40, generator=torch_generator(7))
        self.left, self.right = nn.Parameter(flat[:, :36]), nn.Parameter(flat[:, 36:39])
        self.register_buffer("shift", flat[:, 39])
        self.register_buffer("again", flat[:, 39])


class Asking(nn.Module):
    """Draws its parameters only if it is told a scale."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))

    def reset_parameters(self, scale: float) -> None:
        self.w.data.normal_(std=scale)


@pytest.mark.parametrize(
    ("module", "way_out"),
    [
        (nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)), "Set its `p` to 0"),
        (nn.ReLU(), "must have parameters"),
        (Tied(), "'two.weight' is another's.*use `Stack.of_modules`"),
        (Mirrored(), "lie in the same. Copy them"),
        (Watching(), "lie in the same. Copy them"),
        (nn.GRU(2, 2, num_layers=2, dropout=0.5), "Set its `dropout` to 0"),
        (nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).double()), r"module\.to"),
        (nn.BatchNorm1d(2, momentum=None), "track_running_stats=False"),
        (Bare(), "use `Stack.of_modules`"),
        (Asking(), "that needs arguments.*use `Stack.of_modules`"),
        (nn.Linear(2, 2, dtype=torch.complex64), r"by `torch\.complex`"),
        (nn.LazyLinear(2), r"module\(inputs\[:1\]\)"),
        (
            nn.Linear(2, 2).requires_grad_(False),
            "must have parameters that are trained",
        ),
    ],
)
def test_modules_that_cannot_be_stacked_are_refused_with_the_way_out(
    module: nn.Module, way_out: str
) -> None:
    with pytest.raises(ValueError, match=way_out):
        Stack.of(module, generators(), rates=0.1)


def test_parameters_that_divide_a_memory_are_stacked() -> None:
    params, _ = modules.stacked([Flat()])
    assert [p.shape for p in params] == [(1, 3, 36), (1, 3, 3)]


def test_padding_is_left_out_of_gradients_or_refused() -> None:
    """PyTorch gets the gradient wrong where each replicate has examples of its own."""
    words = torch.randint(4, (24, 5), generator=torch_generator(7, "words"))
    net = nn.Sequential(nn.Embedding(4, 2, padding_idx=0), nn.Flatten(), head(10))
    task = Supervised(net, words, Y)
    stack = Stack.of(net, generators(), rates=0.1)
    shared = Epochs(24, 8, generators("order")[:1])
    trained = train(task, stack, SGD(), steps=3, batches=shared)
    assert not trained.final[0][:, 0].any()
    own = Epochs(24, 8, generators("order"))
    with pytest.raises(ValueError, match=r"no nn.Embedding with a `padding_idx`.*'0'"):
        train(task, stack, SGD(), steps=3, batches=own)
    mine = words.expand(REPLICATES, -1, -1)
    assert modules.apply(net, trained.final, mine, shared=False).shape == (3, 24, 3)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.LSTM(36, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x.flatten(1))[0]


class Does(nn.Module):
    """Does something to the outputs of a linear layer."""

    def __init__(self, what: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.inner, self.what = nn.Linear(36, 3), what

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.what(self.inner(x.flatten(1)))


class Sparse(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Embedding(2, 3, sparse=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner((x.flatten(1)[:, 0] > 0.0).long())


RANDOM = {
    "dropout": lambda: Does(functional.dropout),
    "noise": lambda: Does(lambda z: z + torch.randn_like(z)),
    "a random slope": lambda: Does(nn.RReLU()),
}
BRANCHING = {
    "a branch": lambda: Does(lambda z: z if z.sum() > 0.0 else -z),
    "a number": lambda: Does(lambda z: z / z.detach().norm().item()),
    "recurrence": Recurrent,
    "sparse gradients": Sparse,
}


@pytest.mark.parametrize("name", [*RANDOM, *BRANCHING])
def test_modules_that_can_only_be_trained_alone_are_refused_before(name: str) -> None:
    before = torch.random.get_rng_state()
    net = (RANDOM | BRANCHING)[name]().double()
    torch.random.set_rng_state(before)
    with pytest.raises(ValueError, match=r"PyTorch says: .*Give `one_by_one=True` if"):
        Supervised(net, X, Y)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_cell_in_linear_layers_is_the_recurrence_that_is_refused() -> None:
    mine, refused = Recurrence(6, 4).double(), nn.LSTM(6, 4, batch_first=True).double()
    weights = torch.cat([refused.weight_ih_l0, refused.weight_hh_l0], dim=1)
    with torch.no_grad():
        mine.gates.weight.copy_(weights)
        mine.gates.bias.copy_(refused.bias_ih_l0 + refused.bias_hh_l0)
    outputs, _ = refused(X.flatten(1, 2))
    # Sums of ten products below one, through six steps.
    torch.testing.assert_close(
        mine(X.flatten(1, 2)), outputs[:, -1], rtol=0, atol=1e-14
    )


SMOOTHED = partial(functional.cross_entropy, label_smoothing=0.1)


@pytest.mark.parametrize(
    "loss", [functional.cross_entropy, nn.CrossEntropyLoss(), SMOOTHED]
)
@pytest.mark.parametrize("kind", [torch.uint8, torch.int32])
def test_classes_are_of_any_whole_numbers(loss, kind: torch.dtype) -> None:
    """The labels of images are bytes."""
    net = NETS["dense"]().double()
    found = []
    for targets in (Y, Y.to(kind)):
        task = Supervised(net, X, targets, loss=loss)
        stack = Stack.of(net, generators(), rates=0.1)
        found.append(train(task, stack, SGD(), steps=2).final)
    for one, other in zip(*found, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({23: 3}, "classes from 0 to 2, as .* 3 outputs, but 1 of 24 are not, e.g. 3"),
        ({0: -1, 1: -7}, "classes from 0 to 2.*2 of 24 are not, e.g. -1"),
        ({}, r"classes of shape \(24,\) for outputs of shape \(8, 3\).*\(24, 1\)"),
    ],
)
@pytest.mark.parametrize("one_by_one", [False, True])
def test_classes_are_those_of_the_outputs(changed, said, one_by_one: bool) -> None:
    net, targets = NETS["dense"]().double(), Y.clone()
    for row, label in changed.items():
        targets[row] = label
    targets = targets if changed else targets[:, None]
    for loss in (functional.cross_entropy, SMOOTHED):
        with pytest.raises(ValueError, match=f"Supervised: `targets` must be {said}"):
            Supervised(net, X, targets, loss, one_by_one=one_by_one)


def test_probabilities_are_one_for_each_output() -> None:
    with pytest.raises(
        ValueError, match=r"probabilities of shape \(24, 3\).*\(24, 2\)"
    ):
        Supervised(NETS["dense"]().double(), X, torch.full((24, 2), 0.5).double())


@pytest.mark.parametrize("ignored", [-100, 9])
@pytest.mark.parametrize(
    "make",
    [
        nn.CrossEntropyLoss,
        lambda ignore_index: partial(
            functional.cross_entropy, ignore_index=ignore_index
        ),
    ],
)
def test_what_the_cross_entropy_ignores_is_no_class(make, ignored: int) -> None:
    net, targets = NETS["dense"]().double(), Y.clone()
    targets[:4] = ignored
    loss = make(ignore_index=ignored)
    curve, stack = Curve([0]), Stack.of(net, generators(), rates=0.1)
    task = Supervised(net, X, targets, loss)
    train(task, stack, SGD(), steps=1, observers=[curve])
    rest, stack = Curve([0]), Stack.of(net, generators(), rates=0.1)
    train(Supervised(net, X[4:], Y[4:]), stack, SGD(), steps=1, observers=[rest])
    np.testing.assert_allclose(curve.values, rest.values, rtol=1e-13)


@pytest.mark.parametrize(
    ("batches", "said"),
    [
        (Epochs(30, 6, generators()[:1]), "task's 24 examples, but they are of 30"),
        (Epochs(20, 6, generators()[:1]), "task's 24 examples, but they are of 20"),
        (Afresh(25, 6, generators()[0]), "task's 24 examples, but they are of 25"),
        (
            Epochs(2, 2, generators(), order=lambda _: torch.tensor([0, 24])),
            r"from 0 to 23, as the task has 24, but it draws \[0, 24, 0, 24, 0, 24\]",
        ),
    ],
)
def test_batches_of_other_examples_are_refused(batches, said: str) -> None:
    net = NETS["dense"]().double()
    task, stack = Supervised(net, X, Y), Stack.of(net, generators(), rates=0.1)
    with pytest.raises(ValueError, match=f"`batches` must .*{said}"):
        train(task, stack, SGD(), steps=1, batches=batches)


@pytest.mark.filterwarnings("ignore:.*script_method:DeprecationWarning")
def test_batches_of_other_examples_are_refused_by_a_compiled_task() -> None:
    net = NETS["dense"]().double()
    task, stack = Supervised(net, X, Y), Stack.of(net, generators(), rates=0.1)
    other = Epochs(30, 6, generators()[:1])
    with pytest.raises(ValueError, match="the task's 24 examples, but they are of 30"):
        train(task, stack, SGD(), steps=1, batches=other, compile=True)


class Mismatched(Task):
    """Fails by itself, compiled or not."""

    def losses(self, params, stack, examples):
        return (params[0].flatten(1) @ torch.ones(7)).square()


def test_what_a_compiled_task_refuses_is_the_tasks_to_say() -> None:
    stack = Stack.of(nn.Linear(3, 2), generators(), rates=0.1)
    with pytest.raises(RuntimeError, match=r"^size mismatch, got") as error:
        train(Compiled(Mismatched(), backend="aot_eager"), stack, SGD(), steps=1)
    assert type(error.value) is RuntimeError


def test_a_task_that_can_not_be_compiled_is_refused() -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("there is no compiler. At all")

    net = nn.Linear(3, 2)
    task = Supervised(net, torch.ones(5, 3), torch.zeros(5, dtype=torch.int64))
    stack, untyped = Stack.of(net, generators(), rates=0.1), cast("str", broken)
    said = "`compile` must be False .* PyTorch says: .*there is no compiler"
    with pytest.raises(ValueError, match=said):
        train(Compiled(task, backend=untyped), stack, SGD(), steps=1)


def test_an_order_of_ones_own_may_choose_some_examples() -> None:
    net = NETS["dense"]().double()
    task, stack = Supervised(net, X, Y), Stack.of(net, generators(), rates=0.1)
    some = Epochs(3, 2, generators()[:1], order=lambda _: torch.tensor([23, 0, 5]))
    trained = train(task, stack, SGD(), steps=2, batches=some)
    first = Stack.of(net, generators(), rates=0.1)
    rows = [23, 0, 5]
    few = Supervised(net, X[rows], Y[rows])
    inside = Epochs(3, 2, generators()[:1], order=lambda _: torch.arange(3))
    for one, other in zip(
        trained.final,
        train(few, first, SGD(), steps=2, batches=inside).final,
        strict=True,
    ):
        assert torch.equal(one, other)


@pytest.mark.parametrize("name", ["inputs", "targets"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_examples_are_finite(name: str, bad: float) -> None:
    given = {"inputs": X.clone(), "targets": torch.zeros(24, 3).double()}
    given[name][3] = bad
    count = given[name][3].numel()
    said = f"`{name}` must be finite, but {count} of {given[name].numel()} entries"
    with pytest.raises(ValueError, match=said):
        Supervised(NETS["dense"]().double(), **given, loss=functional.mse_loss)


def test_complex_inputs_are_finite() -> None:
    x = torch.tensor([[1.0 + 2.0j], [complex(0.0, np.nan)]])
    with pytest.raises(ValueError, match="`inputs` must be finite, but 1 of 2"):
        Supervised(nn.Linear(1, 1), x, torch.zeros(2, 1), loss=functional.mse_loss)


def test_a_loss_that_branches_is_named_beside_the_module() -> None:
    net = NETS["dense"]().double()
    targets = torch.zeros(24, 3, dtype=torch.float64)
    with pytest.raises(ValueError, match=r"and their `loss`, must.*branch on values"):
        Supervised(
            net, X, targets, lambda z, y: z.sum() if z.sum() > y.sum() else -z.sum()
        )


@pytest.mark.parametrize("name", ["dense", "convolution"])
def test_the_order_of_parameters_in_memory_moves_no_update(name: str) -> None:
    net = NETS[name]().double()
    first = Stack.of(net, generators(), rates=0.01).params
    # The replicates behind; and channels last, as far as there are channels.
    behind = [p.movedim(0, -1).contiguous().movedim(-1, 0) for p in first]
    last = [p.movedim(1, -1).contiguous().movedim(-1, 1) for p in first]
    task = Supervised(net, X, Y)
    wanted = train(task, Stack(first, rates=0.01), Adam(), steps=5).final
    for params in (behind, last):
        for together in (None, 2):
            stack = Stack(params, rates=0.01)
            final = train(task, stack, Adam(), steps=5, together=together).final
            for found, other in zip(final, wanted, strict=True):
                # Rounding of sums in another order; Adam's eps is 1e-8 of a gradient.
                torch.testing.assert_close(found, other, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize(
    "loss", [lambda o, t: 1.0, lambda o, t: o.sum().item()], ids=["float", "item"]
)
def test_a_loss_that_returns_no_tensor_is_refused(loss, one_by_one):
    x, y = torch.ones(4, 3), torch.zeros(4, dtype=torch.int64)
    with pytest.raises(ValueError, match=r"`loss` must return a tensor, .* Leave out"):
        Supervised(nn.Linear(3, 2), x, y, loss=loss, one_by_one=one_by_one)


@pytest.mark.parametrize("shape", ["(8,)", "(8, 3)", "(1,)"])
def test_a_loss_is_one_number(shape: str) -> None:
    losses = {
        "(8,)": nn.CrossEntropyLoss(reduction="none"),
        "(8, 3)": lambda z, y: (z - y[:, None]).square(),
        "(1,)": lambda z, y: functional.cross_entropy(z, y)[None],
    }
    net = NETS["dense"]().double()
    said = rf"`loss` must return one number.*{re.escape(shape)}.*mean"
    with pytest.raises(ValueError, match=said):
        Supervised(net, X, Y, loss=losses[shape])


def test_refusals() -> None:
    net = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="`inputs` and `targets` must be as many"):
        Supervised(net, torch.zeros(3, 2), torch.zeros(2, dtype=torch.int64))
    with pytest.raises(ValueError, match="must not be empty"):
        modules.stacked([])
    with pytest.raises(ValueError, match="must not be empty"):
        modules.drawn(net, [])
    numbers: Any = [1, 2]
    array: Any = np.zeros((3, 2))
    for given, said in ((array, "`inputs`.*ndarray"), ((X, X), "`inputs`.*tuple")):
        with pytest.raises(ValueError, match=said):
            Supervised(net, given, torch.zeros(3))
    with pytest.raises(ValueError, match=r"the classes.*float32. Use targets.long\(\)"):
        Supervised(net, torch.zeros(3, 2), torch.zeros(3))
    with pytest.raises(ValueError, match=r"must be torch.Generator, got 1; `torch"):
        Stack.of(net, numbers, rates=0.1)
    spent: Any = (g for g in generators())
    with pytest.raises(ValueError, match="`generators` must be a list of torch"):
        Stack.of(net, spent, rates=0.1)
    stack = Stack.of(net, generators(), rates=0.1)
    task = Supervised(net, torch.zeros(3, 2), torch.zeros(3, dtype=torch.int64))
    for index in (2, -1):
        with pytest.raises(ValueError, match=f"from 0 to 1, got {index}"):
            train(task, stack, SGD(weight_decay=0.1, decayed=(index,)), steps=1)
    trained = train(task, stack, SGD(), steps=1)
    with pytest.raises(IndexError, match=r"must lie in 0..2, but it is 3"):
        loaded(net, trained, replicate=3)
    half: Any = 1.5
    with pytest.raises(ValueError, match="`replicate` must be a whole number"):
        loaded(net, trained, replicate=half)
    # PyTorch would spread one row over all.
    other = nn.Sequential(nn.Linear(99, 99), nn.Linear(99, 1))
    # Buffers, too.
    normed = nn.Sequential(net, nn.BatchNorm1d(2, affine=False))
    for module in (other, normed):
        with pytest.raises(
            ValueError, match="parameters and buffers that were trained"
        ):
            loaded(module, trained, replicate=0)
    assert np.array_equal(trained.steps, [1, 1, 1])


@pytest.mark.parametrize(
    "when", ["register_full_backward_hook", "register_full_backward_pre_hook"]
)
def test_hooks_on_the_backward_pass_are_called_or_refused(when: str) -> None:
    """By torch.vmap they are not called, and gradients would be others."""
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    getattr(net[1], when)(lambda part, first, *last: (0.0 * first[0],))
    x, y = torch.ones(5, 3, dtype=torch.float64), torch.zeros(5, dtype=torch.int64)
    said = "that of '1' has one, which `torch.vmap` does not call.*`one_by_one=True`"
    with pytest.raises(ValueError, match=said):
        Supervised(net, x, y)
    params, _ = modules.stacked([net, net])
    with pytest.raises(ValueError, match=said):
        modules.apply(net, params, x)
    stack = Stack.of_modules([net, net], rates=0.1)
    trained = train(Supervised(net, x, y, one_by_one=True), stack, SGD(), steps=1)
    moved = [
        not torch.equal(a, b)
        for a, b in zip(trained.initial, trained.final, strict=True)
    ]
    assert moved == [False, False, True, True]


class Tempered(nn.Module):
    """A loss that scales outputs by a number of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(self.scale * outputs, targets)


def test_a_loss_with_parameters_of_its_own_is_refused_unless_frozen() -> None:
    """They would stay as they are, unnoticed."""
    net, x, y = nn.Linear(3, 2), torch.ones(5, 3), torch.zeros(5, dtype=torch.int64)
    for loss in (Tempered(), partial(Tempered())):
        with pytest.raises(ValueError, match=r"`loss` must have no .*'scale'.*part of"):
            Supervised(net, x, y, loss)
    Supervised(net, x, y, Tempered().requires_grad_(False))


@pytest.mark.parametrize("one_by_one", [False, True])
def test_inputs_of_another_width_are_told_with_their_shape(one_by_one: bool) -> None:
    """PyTorch speaks of the operands of some product, stacked ones at that."""
    net, y = nn.Linear(3, 2), torch.zeros(5, dtype=torch.int64)
    task = Supervised(net, torch.ones(5, 4), y, one_by_one=one_by_one)
    stack = Stack.of(net, [torch_generator(7, i) for i in range(2)], rates=0.1)
    said = r"`module` must take `inputs` of shape \(5, 4\).*multiplied \(5x4 and 3x2\)"
    with pytest.raises(ValueError, match=said):
        train(task, stack, SGD(), steps=1)


@pytest.mark.parametrize("one_by_one", [False, True])
def test_a_batch_that_the_module_refuses_is_named(one_by_one):
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    task = Supervised(
        net, torch.ones(5, 3), torch.zeros(5).long(), one_by_one=one_by_one
    )
    stack = Stack.of(net, [torch_generator(7, i) for i in range(2)], rates=0.1)
    batches = Epochs(5, 2, [torch_generator(7)])
    said = r"`module` must take `inputs` of shape \(1, 3\).*more than 1 value"
    with pytest.raises(ValueError, match=said):
        train(task, stack, SGD(), steps=3, batches=batches)


@pytest.mark.filterwarnings("ignore:.*_norm:FutureWarning")
@pytest.mark.parametrize("name", ["weight_norm", "spectral_norm"])
def test_old_norms_of_weights_are_refused_with_what_to_use(name):
    net = nn.Sequential(getattr(nn.utils, name)(nn.Linear(3, 2)))
    y = torch.zeros(5, dtype=torch.int64)
    said = rf"'0.weight' .*`{name}`.* `torch.nn.utils.parametrizations`"
    for one_by_one in (False, True):
        with pytest.raises(ValueError, match=said):
            Supervised(net, torch.ones(5, 3), y, one_by_one=one_by_one)
    with pytest.raises(ValueError, match=said):
        Stack.of(net, [torch_generator(7)], rates=0.1)
    new = nn.Sequential(getattr(parametrizations, name)(nn.Linear(3, 2)))
    Supervised(new, torch.ones(5, 3), y, one_by_one=True)


class Counting(nn.Module):
    """Divides by its calls, which it counts in a buffer or by itself."""

    calls: torch.Tensor | int

    def __init__(self, *, buffered: bool) -> None:
        super().__init__()
        self.read = nn.Linear(3, 2)
        if buffered:
            self.register_buffer("calls", torch.zeros(()))
        else:
            self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls = self.calls + 1
        return self.read(x) / self.calls


@pytest.mark.parametrize("one_by_one", [False, True])
def test_calls_are_counted_in_buffers(one_by_one: bool) -> None:
    """Elsewhere replicates would count each other's."""
    x, y = torch.ones(5, 3), torch.zeros(5, dtype=torch.int64)
    with pytest.raises(ValueError, match=r"at its next call.*`register_buffer`"):
        Supervised(Counting(buffered=False), x, y, one_by_one=one_by_one)
    net = Counting(buffered=True)
    stack = Stack.of_modules([net, net], rates=0.1)
    task = Supervised(net, x, y, one_by_one=one_by_one)
    assert train(task, stack, SGD(), steps=3).buffers[0].tolist() == [3.0, 3.0]


@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize(
    "loss",
    [
        lambda outputs, classes: functional.cross_entropy(outputs.detach(), classes),
        lambda outputs, classes: (outputs.argmax(dim=1) != classes).double().mean(),
        lambda outputs, classes: torch.tensor(1.0),
    ],
)
def test_losses_have_slopes(
    loss: Callable[..., torch.Tensor], one_by_one: bool
) -> None:
    net = nn.Linear(3, 2)
    x, y = torch.ones(5, 3), torch.zeros(5, dtype=torch.int64)
    task = Supervised(net, x, y, loss, one_by_one=one_by_one)
    stack = Stack.of_modules([net, net], rates=0.1)
    said = "`task` must return losses that have slopes.*Leave out `detach`"
    with pytest.raises(ValueError, match=said):
        train(task, stack, SGD(), steps=1)


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (None, "`loss` must be .*, but it is None"),
        ("mse", "`loss` must be .*, but it is 'mse'"),
        (nn.MSELoss, "`loss` must be .*MSELoss.*A class is called first"),
    ],
)
def test_a_loss_is_a_function(loss: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Supervised(nn.Linear(3, 2), torch.ones(5, 3), torch.zeros(5, 2), loss)


def test_one_number_is_no_list_of_examples() -> None:
    with pytest.raises(ValueError, match=r"their shapes are \(\) and \(1,\)"):
        Supervised(nn.Linear(3, 2), torch.tensor(1.0), torch.zeros(1).long())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_scripted_modules_are_refused() -> None:
    """`torch.func` can't call them."""
    net = nn.Sequential(nn.Linear(3, 2))
    for made in (torch.jit.script(net), torch.jit.trace(net, torch.ones(1, 3))):
        with pytest.raises(ValueError, match="Give the module that it was made from"):
            Stack.of_modules([made], rates=0.1)


class Paired(nn.Linear):
    """Returns its inputs, too."""

    def forward(self, input: torch.Tensor) -> Any:
        return super().forward(input), input


def test_several_outputs_are_for_a_loss_of_ones_own() -> None:
    x, y = torch.ones(5, 3), torch.zeros(5, dtype=torch.int64)
    with pytest.raises(ValueError, match=r"but it returns tuple. Give a `loss=` that"):
        Supervised(Paired(3, 2), x, y)
    task = Supervised(
        Paired(3, 2),
        x,
        y,
        lambda both, classes: functional.cross_entropy(both[0], classes),
    )
    stack = Stack.of(Paired(3, 2), [torch_generator(7)], rates=0.1)
    assert train(task, stack, SGD(), steps=1).status == ("finished",)
