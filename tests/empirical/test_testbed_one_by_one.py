"""Replicates one after another, for what `torch.vmap` can't run, against plain loops."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from test_testbed_modules import (
    BRANCHING,
    NETS,
    RANDOM,
    RATES,
    REPLICATES,
    Does,
    X,
    Y,
    generators,
    head,
)
from torch import nn
from torch.nn import functional

from empirical.jacobian import ntk_by_jacobian
from empirical.networks import FullyConnected
from empirical.randomness import torch_generator
from empirical.testbed import modules, stopping
from empirical.testbed.batches import Epochs
from empirical.testbed.checkpoints import Checkpoint
from empirical.testbed.loop import Trained, train
from empirical.testbed.observers import Curve
from empirical.testbed.optimisers import SGD, Adagrad, Adam, Adamax, RMSprop
from empirical.testbed.stack import Params, Stack
from empirical.testbed.supervised import Supervised, loaded

SERIES = X.flatten(1, 2)
"""Six steps of six numbers."""


class Reads(nn.Module):
    """Classes from the last output of a recurrent module."""

    def __init__(self, inner: nn.RNNBase, width: int) -> None:
        super().__init__()
        self.inner, self.readout = inner, nn.Linear(width, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.readout(self.inner(x)[0][:, -1])


class Normed(Reads):
    """Normalises what it reads over the batch, and scales it with one weight twice."""

    def __init__(self) -> None:
        super().__init__(nn.GRU(6, 4, batch_first=True), 4)
        self.norm, self.again = nn.BatchNorm1d(4), nn.Linear(4, 3)
        self.again.weight = self.readout.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm(self.inner(x)[0][:, -1])
        return self.readout(h) + self.again(h.square())


class Whitens(nn.Module):
    """Changes its inputs in place, and stops to look at values."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.readout = nn.Linear(6, 4), nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x.mul_(2.0).sub_(x.mean().item())
        h = self.inner(x)
        while h.abs().max() > 1.0:
            h = 0.5 * h
        return self.readout(h.sum(dim=1))


RECURRENT: dict[str, Callable[[], nn.Module]] = {
    "lstm": lambda: Reads(nn.LSTM(6, 4, batch_first=True), 4),
    "two layers, both ways": lambda: Reads(
        nn.LSTM(6, 4, num_layers=2, bidirectional=True, batch_first=True), 8
    ),
    "gru": lambda: Reads(nn.GRU(6, 4, batch_first=True), 4),
    "rnn": lambda: Reads(nn.RNN(6, 4, nonlinearity="relu", batch_first=True), 4),
    "a frozen cell": lambda: Reads(
        nn.LSTM(6, 4, batch_first=True).requires_grad_(False), 4
    ),
    "batch norm and a shared weight": Normed,
    "in place, and a loop": Whitens,
}
PAIRS: dict[str, tuple[Any, Callable[..., torch.optim.Optimizer]]] = {
    "sgd": (
        SGD(momentum=0.9, weight_decay=0.01),
        lambda p, r: torch.optim.SGD(p, lr=r, momentum=0.9, weight_decay=0.01),
    ),
    "adam": (Adam(), lambda p, r: torch.optim.Adam(p, lr=r)),
    "adamax": (Adamax(), lambda p, r: torch.optim.Adamax(p, lr=r)),
    "adagrad": (Adagrad(), lambda p, r: torch.optim.Adagrad(p, lr=r)),
    "rmsprop": (RMSprop(), lambda p, r: torch.optim.RMSprop(p, lr=r)),
}


def starts(make: Callable[[], nn.Module]) -> list[nn.Module]:
    """Return a module for each replicate, drawn from a generator of its own."""
    nets = [make().double() for _ in range(REPLICATES)]
    for net, generator in zip(nets, generators(), strict=True):
        with torch.no_grad():
            for p in net.parameters():
                p.normal_(0.0, 0.5, generator=generator)
    return nets


def orders(kind: str) -> Epochs | None:
    """Return batches of eight in one order, in an order each, or none."""
    count = {"common": 1, "own": REPLICATES, "whole": 0}[kind]
    return Epochs(24, 8, generators("order")[:count]) if count else None


@pytest.mark.parametrize(
    ("name", "optimiser", "kind"),
    [
        *((name, optimiser, "own") for name in RECURRENT for optimiser in PAIRS),
        *(("lstm", "sgd", kind) for kind in ("whole", "common")),
        *(("in place, and a loop", "sgd", kind) for kind in ("whole", "common")),
    ],
)
def test_replicates_are_trained_as_by_a_loop_over_ten_updates(
    name: str, optimiser: str, kind: str
) -> None:
    nets, (mine, theirs) = starts(RECURRENT[name]), PAIRS[optimiser]
    rates, curve = [0.1 * rate for rate in RATES], Curve(range(10))
    task = Supervised(nets[0], SERIES.clone(), Y, one_by_one=True)
    trained = train(
        task,
        Stack.of_modules(nets, rates=rates),
        mine,
        steps=10,
        check=4,
        batches=orders(kind),
        observers=[curve],
    )
    assert torch.equal(task.inputs, SERIES)
    batches = orders(kind)
    drawn = [None] * 10 if batches is None else batches.draw(0, 10)
    for row, (alone, rate) in enumerate(zip(nets, rates, strict=True)):
        moved = theirs([p for p in alone.parameters() if p.requires_grad], rate)
        for t, chosen in enumerate(drawn):
            examples = torch.arange(24) if chosen is None else chosen
            at = examples[row] if examples.ndim == 2 else examples
            moved.zero_grad()
            loss = functional.cross_entropy(alone(SERIES[at]), Y[at])
            # Rounding of a few hundred terms, through ten updates.
            assert curve.values[row, t] == pytest.approx(loss.item(), rel=1e-10)
            loss.backward()
            moved.step()
        found = loaded(nets[0], trained, replicate=row)
        for (part, wanted), got in zip(
            alone.state_dict().items(), found.state_dict().values(), strict=True
        ):
            # Adam's eps is 1e-8 of a gradient: where that is small, rounding shows.
            torch.testing.assert_close(got, wanted, rtol=1e-7, atol=1e-9, msg=part)


@pytest.mark.parametrize("kind", ["whole", "own"])
@pytest.mark.parametrize("name", NETS)
def test_both_ways_are_the_same_to_rounding(name: str, kind: str) -> None:
    net = NETS[name]().double()
    found: list[Trained] = []
    for one_by_one in (False, True):
        stack = Stack.of(net, generators(), rates=RATES)
        task = Supervised(net, X, Y, one_by_one=one_by_one)
        found.append(
            train(task, stack, SGD(momentum=0.9), steps=6, batches=orders(kind))
        )
    at_once, in_turn = found
    assert len(in_turn.buffers) == len([*net.buffers()])
    for one, other in zip(
        (*at_once.final, *at_once.buffers),
        (*in_turn.final, *in_turn.buffers),
        strict=True,
    ):
        # Sums of 64 products in another order, through six updates.
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", NETS)
def test_outputs_of_both_ways_are_the_same_to_rounding(name: str) -> None:
    net = NETS[name]().double()
    params, buffers = modules.drawn(net, generators())
    own = X.expand(REPLICATES, *X.shape)
    for inputs, shared in ((X, True), (own, False)):
        found: list[Any] = []
        for one_by_one in (False, True):
            held = tuple(b.clone() for b in buffers)
            outputs = modules.apply(
                *(net, params, inputs),
                buffers=held,
                shared=shared,
                one_by_one=one_by_one,
            )
            found.append((outputs, *held))
        for one, other in zip(*found, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-13)


def test_a_module_is_measured_in_the_mode_that_it_is_in() -> None:
    nets = starts(Normed)
    stack = Stack.of_modules(nets, rates=0.1)
    train(Supervised(nets[0], SERIES, Y, one_by_one=True), stack, SGD(), steps=3)
    before = [b.clone() for b in stack.buffers]
    outputs = modules.apply(
        *(nets[0].eval(), stack.params, SERIES), buffers=stack.buffers, one_by_one=True
    )
    assert all(map(torch.equal, stack.buffers, before))
    wanted = copy.deepcopy(nets[1])
    values = zip(
        (*wanted.parameters(), *wanted.buffers()),
        (*stack.params, *stack.buffers),
        strict=True,
    )
    with torch.no_grad():
        for own, value in values:
            own.copy_(value[1])
    torch.testing.assert_close(outputs[1], wanted.eval()(SERIES), rtol=0, atol=0)


@pytest.mark.parametrize("kind", ["whole", "common", "own"])
def test_who_is_trained_with_whom_moves_no_bit(kind: str) -> None:
    nets = starts(Normed)
    found: list[list[torch.Tensor]] = []
    for those, together in ((nets, None), (nets, 2), (nets, 1), (nets[:1], None)):
        orders_of = Epochs(24, 8, generators("order")[: len(those)])
        trained = train(
            Supervised(nets[0], SERIES, Y, one_by_one=True),
            *(Stack.of_modules(those, rates=0.1), SGD(momentum=0.9)),
            steps=5,
            batches=orders_of if kind == "own" else orders(kind),
            together=together,
        )
        found.append([*trained.final, *trained.buffers])
    whole, *others = found
    for other in others:
        for one, again in zip(whole, other, strict=True):
            assert torch.equal(one[: len(again)], again)


def test_a_run_that_was_stopped_anywhere_goes_on_to_the_same_bits(tmp_path) -> None:
    def run(checkpoint: Checkpoint | None, at: int | None) -> list[torch.Tensor]:
        class Stops(Supervised):
            """Asks for a stop in an update."""

            def losses(
                self, params: Params, stack: Stack, examples: torch.Tensor | None
            ) -> torch.Tensor:
                if stack.clock[0] == at:
                    stopping.request()
                return super().losses(params, stack, examples)

        nets = starts(Normed)
        trained = train(
            Stops(nets[0], SERIES, Y, one_by_one=True),
            Stack.of_modules(nets, rates=RATES),
            Adam(),
            steps=9,
            check=4,
            batches=orders("own"),
            checkpoint=checkpoint,
        )
        return [*trained.final, *trained.buffers]

    whole = run(None, None)
    for at in (2, 5):
        try:
            with pytest.raises(stopping.Stopped):
                run(Checkpoint(tmp_path / "c", of="a", seconds=1e9), at)
        finally:
            stopping.withdraw()
    again = run(Checkpoint(tmp_path / "c", of="a"), None)
    assert all(map(torch.equal, whole, again))


@pytest.mark.parametrize("name", BRANCHING)
def test_what_is_refused_side_by_side_is_trained_one_by_one(name: str) -> None:
    net = BRANCHING[name]().double()
    stack = Stack.of(net, generators(), rates=0.1)
    with pytest.raises(ValueError, match="one_by_one=True"):
        Supervised(net, X, Y)
    alone = loaded(
        net,
        train(Supervised(net, X, Y, one_by_one=True), stack, Adam(), steps=1),
        replicate=1,
    )
    first, _ = modules.drawn(net, generators())
    moved = [
        (a - b[1]).abs().max().item()
        for a, b in zip(alone.parameters(), first, strict=True)
    ]
    # Adam's first update is of size one, times the rate, whatever the gradient is.
    assert max(moved) == pytest.approx(0.1, rel=1e-3)


def test_sparse_gradients_make_the_updates_of_dense_ones() -> None:
    net = BRANCHING["sparse gradients"]().double()
    dense = copy.deepcopy(net)
    dense.inner.sparse = False
    for optimiser in (SGD(momentum=0.9, weight_decay=0.1), Adam()):
        (one,), (other,) = (
            train(
                Supervised(each, X, Y, one_by_one=True),
                *(Stack.of(each, generators(), rates=0.1), optimiser),
                steps=3,
            ).final
            for each in (net, dense)
        )
        assert torch.equal(one, other)


def test_a_padded_embedding_learns_from_orders_of_its_own() -> None:
    """PyTorch gets the gradient wrong side by side."""
    words = torch.randint(4, (24, 5), generator=torch_generator(7, "words"))
    net = nn.Sequential(nn.Embedding(4, 2, padding_idx=0), nn.Flatten(), head(10))
    task = Supervised(net.double(), words, Y, one_by_one=True)
    stack = Stack.of(net, generators(), rates=0.1)
    trained = train(task, stack, SGD(), steps=3, batches=orders("own"))
    assert not trained.final[0][:, 0].any()
    assert bool((trained.final[0][:, 1:] != trained.initial[0][:, 1:]).any())


@pytest.mark.parametrize("name", RANDOM)
def test_random_numbers_are_refused_one_by_one_too(name: str) -> None:
    net = RANDOM[name]().double()
    task = Supervised(net, X, Y, one_by_one=True)
    stack = Stack.of(net, generators(), rates=0.1)
    before = torch.random.get_rng_state()
    with pytest.raises(
        ValueError, match="`module` must not draw random numbers, but it"
    ):
        train(task, stack, SGD(), steps=1)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_loss_may_branch_but_not_draw() -> None:
    net = NETS["dense"]().double()
    targets = torch.zeros(24, 3, dtype=torch.float64)
    stack = Stack.of(net, generators(), rates=0.1)

    def branches(z: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (z - y).square().sum() if z.sum() > y.sum() else (z - y).abs().sum()

    task = Supervised(net, X, targets, branches, one_by_one=True)
    assert train(task, stack, SGD(), steps=1).status == ("finished",) * 3

    def draws(z: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (z - y + torch.randn_like(y)).square().sum()

    task = Supervised(net, X, targets, draws, one_by_one=True)
    with pytest.raises(ValueError, match="`loss` must not draw random numbers"):
        train(task, stack, SGD(), steps=1)


def test_a_dropping_layer_that_drops_nothing_is_trained() -> None:
    lone = nn.LSTM(6, 4, num_layers=2, batch_first=True, dropout=0.5)
    with pytest.raises(ValueError, match=r"'inner' drops units out. Set its `dropout`"):
        Stack.of(Reads(lone, 4), generators(), rates=0.1)
    assert len(Stack.of(Reads(lone, 4).eval(), generators(), rates=0.1)) == REPLICATES


@pytest.mark.parametrize("by_data", [False, True])
def test_a_module_that_moves_its_own_weights_is_refused(by_data: bool) -> None:
    class Bounded(nn.Linear):
        """Bounds its weights as it is called, as some keep norms below a limit."""

        def forward(self, input: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                if by_data:
                    self.weight.data = self.weight.data.clamp(-0.05, 0.05)
                else:
                    self.weight.clamp_(-0.05, 0.05)
            return super().forward(input.flatten(1))

    net = Bounded(36, 3).double()
    with pytest.raises(
        ValueError, match=r"must not change its parameters .*parametriz"
    ):
        Supervised(net, X, Y, one_by_one=True)
    assert net.weight.abs().max() > 0.05


def test_a_loss_reads_what_a_module_returns_besides() -> None:
    net = nn.LSTM(6, 3, batch_first=True).double()

    def of_last(returned: Any, y: torch.Tensor) -> torch.Tensor:
        _, (hidden, _) = returned
        return functional.cross_entropy(hidden[-1], y)

    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = net

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x)[0][:, -1]

    found = [
        train(
            Supervised(module, SERIES, Y, loss, one_by_one=True),
            *(Stack.of(module, generators(), rates=0.1), SGD()),
            steps=3,
        ).final
        for module, loss in ((net, of_last), (Last(), functional.cross_entropy))
    ]
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)


def test_a_module_that_returns_nothing_is_refused() -> None:
    net = Does(lambda z: None).double()  # pyright: ignore[reportArgumentType]
    task = Supervised(net, X, Y, one_by_one=True)
    with pytest.raises(
        ValueError, match="`module` must return tensors, but it returns NoneType"
    ):
        train(task, Stack.of(net, generators(), rates=0.1), SGD(), steps=1)


def test_slopes_are_right_though_weights_are_moved_in_memory() -> None:
    """As cuDNN moves those of nn.LSTM."""

    class Moves(nn.Linear):
        def forward(self, input: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                self.weight.set_(self.weight.detach().clone())  # pyright: ignore[reportArgumentType, reportCallIssue]
            return super().forward(input.flatten(1))

    found = []
    for kind in (Moves, Does):
        net = Moves(36, 3) if kind is Moves else Does(lambda z: z)
        stack = Stack.of(net.double(), generators(), rates=0.1)
        task = Supervised(net, X, Y, one_by_one=True)
        found.append(train(task, stack, SGD(), steps=3).final)
    for one, other in zip(*found, strict=True):
        assert torch.equal(one, other)


def test_outputs_side_by_side_are_refused_with_the_way_out() -> None:
    net = RECURRENT["lstm"]().double()
    params, _ = modules.drawn(net, generators())
    with pytest.raises(
        ValueError,
        match=r"apply: `module` must be one that.*It runs with `one_by_one=True`",
    ):
        modules.apply(net, params, SERIES)
    # What it can't run in either way is PyTorch's to say.
    with pytest.raises(RuntimeError, match="must be equal to input_size"):
        modules.apply(net, params, SERIES[..., :5], one_by_one=True)
    # A replicate that is called leaves the module as it was.
    before = net(SERIES)
    modules.apply(net, params, SERIES, one_by_one=True)
    assert torch.equal(net(SERIES), before)


def test_training_in_inference_mode_is_refused() -> None:
    net = RECURRENT["lstm"]().double()
    task = Supervised(net, SERIES, Y, one_by_one=True)
    stack = Stack.of(net, generators(), rates=0.1)
    with (
        torch.inference_mode(),
        pytest.raises(RuntimeError, match=r"train: must be called outside `torch\.inf"),
    ):
        train(task, stack, SGD(), steps=1)


def kernel_by_hand(net: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Return the sum over outputs of products of slopes by trained parameters."""
    trained = [p for p in net.parameters() if p.requires_grad]
    total = torch.zeros(len(x), len(x), dtype=torch.float64)
    for output in range(3):
        rows = []
        for one in x:
            slopes = torch.autograd.grad(net(one[None])[0, output], trained)
            rows.append(torch.cat([slope.flatten() for slope in slopes]))
        each = torch.stack(rows)
        total += each @ each.T
    return total


@pytest.mark.parametrize(
    "name", ["lstm", "two layers, both ways", "gru", "a frozen cell"]
)
def test_tangent_kernels_of_recurrent_modules(name: str) -> None:
    nets = starts(RECURRENT[name])
    params, _ = modules.stacked(nets)
    for most in (1 << 30, 1):
        found = ntk_by_jacobian(
            *(nets[0], params, SERIES[:4]),
            outputs="sum",
            max_bytes=most,
            one_by_one=True,
        )
        for kernel, net in zip(found, nets, strict=True):
            # Sums of a few hundred products below ten.
            wanted = kernel_by_hand(net, SERIES[:4])
            torch.testing.assert_close(kernel, wanted, rtol=1e-11, atol=1e-11)
    with pytest.raises(ValueError, match=r"ntk_by_jacobian: .* with `one_by_one=True`"):
        ntk_by_jacobian(nets[0], params, SERIES[:4])
    with (
        torch.inference_mode(),
        pytest.raises(RuntimeError, match="ntk_by_jacobian: must be called outside"),
    ):
        ntk_by_jacobian(nets[0], params, SERIES[:4], one_by_one=True)


@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("name", ["convolution", "batch norm", "frozen", "recurrence"])
def test_tangent_kernels_of_modules_both_ways(name: str, one_by_one: bool) -> None:
    nets = starts(NETS[name])
    params, buffers = modules.stacked(nets)
    buffers = tuple(b + 0.5 if b.is_floating_point() else b for b in buffers)
    before = [b.clone() for b in buffers]
    found = ntk_by_jacobian(
        *(nets[0].eval(), params, X[:4], X[:3]),
        buffers=buffers,
        one_by_one=one_by_one,
    )
    assert all(map(torch.equal, buffers, before))
    for row, net in enumerate(nets):
        with torch.no_grad():
            for own, value in zip(net.buffers(), buffers, strict=True):
                own.copy_(value[row])
        wanted = kernel_by_hand(net.eval(), X[:4]) / 3.0
        torch.testing.assert_close(found[row], wanted[:, :3], rtol=1e-11, atol=1e-11)


def test_a_kernel_of_words_keeps_no_graph() -> None:
    class Words(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(5, 6).requires_grad_(False)
            self.read = RECURRENT["gru"]()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.read(self.embed(x))

    (net, *_) = starts(Words)
    words = torch.randint(5, (4, 7), generator=torch_generator(7, "words"))
    leaves = tuple(p.detach()[None].requires_grad_() for p in net.parameters())
    (found,) = ntk_by_jacobian(net, leaves, words, outputs="sum", one_by_one=True)
    assert not found.requires_grad
    torch.testing.assert_close(
        found, kernel_by_hand(net, words), rtol=1e-11, atol=1e-11
    )


@pytest.mark.parametrize("one_by_one", [False, True])
def test_kernels_that_are_none_of_two_inputs_are_refused(one_by_one: bool) -> None:
    net = NETS["batch norm"]().double()
    params, buffers = modules.drawn(net, generators())
    with pytest.raises(ValueError, match="must map each input by itself"):
        ntk_by_jacobian(net, params, X, buffers=buffers, one_by_one=one_by_one)
    with pytest.raises(ValueError, match="`buffers` must have the module's shapes"):
        ntk_by_jacobian(net, params, X, one_by_one=one_by_one)
    with pytest.raises(ValueError, match="`params` must have the module's shapes"):
        ntk_by_jacobian(net, params[:3], X, buffers=buffers, one_by_one=one_by_one)
    network = FullyConnected(widths=(36, 3))
    weights = network.init(generator=torch_generator(7))
    with pytest.raises(ValueError, match=r"with an nn\.Module only.*FullyConnected"):
        ntk_by_jacobian(network, weights, X.flatten(1), buffers=buffers)
    whole = nn.GRU(6, 3, batch_first=True).double()
    params, _ = modules.drawn(whole, generators())
    with pytest.raises(
        ValueError, match="must return a tensor, but it returns a tuple"
    ):
        ntk_by_jacobian(whole, params, SERIES, one_by_one=one_by_one)
