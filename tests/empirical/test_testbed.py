"""The training loop against PyTorch's own, one network at a time."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from empirical.randomness import torch_generator
from empirical.testbed import checkpoints, optimisers, slopes, stopping
from empirical.testbed.batches import Afresh, Batches, Epochs, Whole
from empirical.testbed.budgets import Floor, Released
from empirical.testbed.checkpoints import (
    Checkpoint,
    UnreadableCheckpointWarning,
    UnwrittenCheckpointWarning,
    fingerprint,
)
from empirical.testbed.loop import Compiled, Task, Trained, by_autograd, train
from empirical.testbed.observers import (
    Array,
    BestWindow,
    Curve,
    Diverged,
    Drops,
    Observer,
    Series,
    Snapshots,
)
from empirical.testbed.stack import Params, Stack

REPLICATES, EXAMPLES = 5, 12
RATES = [0.02, 0.05, 0.03, 0.01, 0.04]

# Sums of some hundred products in another order, over some dozens of updates.
CLOSE = {"rtol": 1e-11, "atol": 1e-13}


class Regression(Task):
    """Two-layer networks on examples of their own; notes the largest residual."""

    told = ("x", "y")

    def __init__(self, seed: int = 7) -> None:
        shape = (REPLICATES, EXAMPLES)
        generator = torch_generator(seed, "data")
        self.x = torch.randn(*shape, 3, dtype=torch.float64, generator=generator)
        self.y = torch.randn(*shape, 1, dtype=torch.float64, generator=generator)

    def losses(self, params: Params, stack: Stack, examples: Tensor | None) -> Tensor:
        x, y = stack.select(self.x), stack.select(self.y)
        if examples is not None and examples.ndim == 1:
            x, y = x[:, examples], y[:, examples]
        elif examples is not None:
            mine = stack.examples(examples)[..., None]
            x, y = x.take_along_dim(mine, 1), y.take_along_dim(mine, 1)
        residual = torch.tanh(x @ params[0]) @ params[1] - y
        largest = residual.detach().abs().amax(dim=(1, 2))
        return torch.stack([residual.square().mean(dim=(1, 2)), largest])


def start() -> list[Tensor]:
    draws = [torch_generator(7, "weights", row) for row in range(REPLICATES)]
    shapes = [(3, 4), (4, 1)]
    return [
        torch.stack([torch.randn(s, dtype=torch.float64, generator=g) for g in draws])
        for s in shapes
    ]


def alone(
    row: int,
    make: Callable[[list[Tensor], float], torch.optim.Optimizer],
    steps: int,
    chosen: list[Tensor | None],
    drops: tuple[int, ...] = (),
    rate: float | None = None,
) -> tuple[list[Tensor], list[float]]:
    """Train one network by PyTorch's optimiser."""
    task = Regression()
    leaves = [p[row].clone().requires_grad_() for p in start()]
    optimiser = make(leaves, rate or RATES[row])
    losses = []
    for t in range(steps):
        if t in drops:
            for group in optimiser.param_groups:
                group["lr"] *= 0.1
        x, y = task.x[row], task.y[row]
        examples = chosen[t]
        if examples is not None:
            mine = examples if examples.ndim == 1 else examples[row]
            x, y = x[mine], y[mine]
        loss = (torch.tanh(x @ leaves[0]) @ leaves[1] - y).square().mean()
        losses.append(loss.item())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return [p.detach() for p in leaves], losses


PAIRS = {
    "sgd": (optimisers.SGD(), lambda p, r: torch.optim.SGD(p, lr=r)),
    "momentum and decay": (
        optimisers.SGD(momentum=0.9, weight_decay=0.1),
        lambda p, r: torch.optim.SGD(p, lr=r, momentum=0.9, weight_decay=0.1),
    ),
    "decay of the last": (
        optimisers.SGD(weight_decay=0.1, decayed=(1,)),
        lambda p, r: torch.optim.SGD(
            [{"params": p[0]}, {"params": p[1], "weight_decay": 0.1}], lr=r
        ),
    ),
    "adam": (optimisers.Adam(), lambda p, r: torch.optim.Adam(p, lr=r)),
    "adamax": (optimisers.Adamax(), lambda p, r: torch.optim.Adamax(p, lr=r)),
    "adagrad": (optimisers.Adagrad(), lambda p, r: torch.optim.Adagrad(p, lr=r)),
    "rmsprop": (optimisers.RMSprop(), lambda p, r: torch.optim.RMSprop(p, lr=r)),
}


@pytest.mark.parametrize("together", [None, 2])
@pytest.mark.parametrize("name", PAIRS)
def test_a_stack_is_trained_as_its_networks_are_alone(
    name: str, together: int | None
) -> None:
    mine, theirs = PAIRS[name]
    curve = Curve(range(30))
    trained = train(
        Regression(),
        Stack(start(), rates=RATES),
        mine,
        steps=30,
        check=7,
        observers=[curve, Drops([20, 25], 0.1)],
        together=together,
    )
    for row in range(REPLICATES):
        final, losses = alone(row, theirs, 30, [None] * 30, drops=(20, 25))
        np.testing.assert_allclose(curve.values[row], losses, **CLOSE)
        for found, wanted in zip(trained.final, final, strict=True):
            torch.testing.assert_close(found[row], wanted, **CLOSE)
    assert trained.status == ("finished",) * REPLICATES


@pytest.mark.parametrize("together", [None, 2])
def test_a_rate_that_all_have_drops_for_all(together: int | None) -> None:
    final = train(
        Regression(),
        Stack(start(), rates=0.03),
        optimisers.Adam(),
        steps=30,
        observers=[Drops([10, 20], 0.1)],
        together=together,
    ).final
    for row in range(REPLICATES):
        adam = PAIRS["adam"][1]
        wanted, _ = alone(row, adam, 30, [None] * 30, drops=(10, 20), rate=0.03)
        for found, other in zip(final, wanted, strict=True):
            torch.testing.assert_close(found[row], other, **CLOSE)


def test_replicates_of_one_rate_take_the_fused_adam() -> None:
    one = train(
        Regression(), Stack(start(), rates=0.05), optimisers.Adam(), steps=30
    ).final
    rates = [0.05] * (REPLICATES - 1) + [0.01]
    own = train(
        Regression(), Stack(start(), rates=rates), optimisers.Adam(), steps=30
    ).final
    for found, wanted in zip(one, own, strict=True):
        torch.testing.assert_close(found[:-1], wanted[:-1], **CLOSE)
        assert not torch.allclose(found[-1], wanted[-1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_fused_adam_counts_every_update_once(dtype: torch.dtype) -> None:
    class Slope(Task):
        """Gradients of one, whatever the parameters: Adam moves by its rate."""

        def losses(
            self, params: Params, stack: Stack, examples: Tensor | None
        ) -> Tensor:
            return torch.stack(params).sum(dim=0)

    stack = Stack([torch.zeros(2, dtype=dtype) for _ in range(5)], rates=0.125)
    final = train(Slope(), stack, optimisers.Adam(), steps=3).final
    # eps is 1e-8 of the gradient; bias corrections lose up to 1 / (1 - 0.999) units.
    rounding = 1e-8 + 2e3 * torch.finfo(dtype).eps
    for param in final:
        torch.testing.assert_close(
            param, torch.full_like(param, -0.375), rtol=rounding, atol=0.0
        )


def test_adam_corrects_its_bias_to_the_last_digits_in_single_precision() -> None:
    """The first update is the rate, whatever the gradient: PyTorch's is, to rounding."""
    stack = Stack([torch.zeros(2, 1)], rates=[0.25, 0.5])
    adam = optimisers.Adam()
    adam.prepare(stack)
    adam.update(stack, torch.zeros(2), [torch.ones(2, 1)])
    # Eight roundings, and eps of the gradient.
    rounding = 8 * torch.finfo(torch.float32).eps / 2 + 1e-8
    wanted = torch.tensor([[-0.25], [-0.5]])
    torch.testing.assert_close(stack.params[0], wanted, rtol=rounding, atol=0.0)


def test_a_stack_that_trains_again_is_a_new_start() -> None:
    stack = Stack(start(), rates=0.05)
    half = train(Regression(), stack, optimisers.Adam(), steps=15).final
    again = train(Regression(), stack, optimisers.Adam(), steps=15).final
    fresh = Stack(half, rates=0.05)
    wanted = train(Regression(), fresh, optimisers.Adam(), steps=15).final
    for found, other in zip(again, wanted, strict=True):
        assert torch.equal(found, other)


def test_a_stack_that_lacks_replicates_is_no_start() -> None:
    stack = Stack(start(), rates=0.05)
    stack.leave([1])
    with pytest.raises(ValueError, match=r"have left.*Stack\(stack\.params, rates="):
        train(Regression(), stack, optimisers.SGD(), steps=1)


def test_clipped_gradients_are_those_of_pytorch() -> None:
    clipped = optimisers.Clipped(base=optimisers.SGD(momentum=0.9), largest=0.3)
    final = train(Regression(), Stack(start(), rates=RATES), clipped, steps=20).final
    task = Regression()
    for row in range(REPLICATES):
        leaves = [p[row].clone().requires_grad_() for p in start()]
        sgd = torch.optim.SGD(leaves, lr=RATES[row], momentum=0.9)
        for _ in range(20):
            sgd.zero_grad()
            residual = torch.tanh(task.x[row] @ leaves[0]) @ leaves[1] - task.y[row]
            residual.square().mean().backward()
            torch.nn.utils.clip_grad_norm_(leaves, 0.3)
            sgd.step()
        for found, wanted in zip(final, leaves, strict=True):
            # clip_grad_norm_ divides by the norm plus 1e-6.
            torch.testing.assert_close(
                found[row], wanted.detach(), rtol=1e-4, atol=1e-5
            )


@pytest.mark.parametrize("size", [1e-4, 1e3])
@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_gradients_are_clipped_in_half_precision(
    size: float, kind: torch.dtype
) -> None:
    class Slope(Task):
        def losses(
            self, params: Params, stack: Stack, examples: Tensor | None
        ) -> Tensor:
            return 1.0 + size * params[0].sum(dim=1)

    clipped = optimisers.Clipped(base=optimisers.SGD(), largest=0.5, rescale_above=1e-6)
    stack = Stack([torch.zeros(1, 4, dtype=kind)], rates=1.0)
    (final,) = train(Slope(), stack, clipped, steps=1).final
    # Half along each of four: the norm's rounding, and the factor's.
    assert final.dtype == kind
    torch.testing.assert_close(
        final.float(), torch.full((1, 4), -0.25), rtol=2e-2, atol=0.0
    )


@pytest.mark.parametrize("size", [1e-37, 3e-30, 1.0, 1e20, 3e37])
@pytest.mark.parametrize("outer", [False, True])
def test_gradients_of_any_size_are_clipped_to_their_norm(
    size: float, outer: bool
) -> None:
    """Their squares are no numbers of float32, or zero."""
    clipped = optimisers.Clipped(base=optimisers.SGD(), largest=0.5, rescale_above=0.1)
    stack = Stack([torch.zeros(2, 2, 2), torch.zeros(2, 3)], rates=1.0)
    clipped.prepare(stack)
    # Of the second replicate all are zero.
    column = torch.tensor([[[1.0], [1.0]], [[0.0], [0.0]]])
    slope = slopes.Outer(size * column, column)
    first = slope if outer else slopes.dense(slope)
    clipped.update(stack, torch.ones(2), [first, torch.zeros(2, 3)])
    wanted = torch.tensor([-0.25, 0.0])[:, None, None].expand(2, 2, 2)
    # A few last digits.
    torch.testing.assert_close(stack.params[0], wanted, rtol=1e-6, atol=0.0)
    assert not stack.params[1].any()


def test_a_norm_has_the_same_bits_beside_one_that_needs_care() -> None:
    g = torch_generator(7)
    plain = [torch.randn(1, 4, n, generator=g) for n in (3, 5)]
    beside = [torch.cat([slope, 1e30 * slope]) for slope in plain]
    assert torch.equal(slopes.norms(beside)[:1], slopes.norms(plain))


@pytest.mark.parametrize(
    ("kind", "size"), [(torch.float32, 1e-44), (torch.float16, 1e-7)]
)
def test_the_smallest_gradients_are_raised_by_a_number(
    kind: torch.dtype, size: float
) -> None:
    """Half over them is none."""
    clipped = optimisers.Clipped(base=optimisers.SGD(), largest=0.5, rescale_above=0.1)
    stack = Stack([torch.zeros(1, 2, dtype=kind)], rates=1.0)
    clipped.prepare(stack)
    slope = torch.full((1, 2), size, dtype=kind)
    clipped.update(stack, torch.ones(1, dtype=kind), [slope])
    assert bool((stack.params[0] < 0.0).all())
    assert bool((stack.params[0] >= -0.5).all())


def test_small_gradients_are_raised_until_the_loss_has_fallen() -> None:
    class Flat(Task):
        def losses(
            self, params: Params, stack: Stack, examples: Tensor | None
        ) -> Tensor:
            return 1.0 + 1e-6 * params[0]

    clipped = optimisers.Clipped(
        base=optimisers.SGD(), largest=0.5, rescale_above=1.0 - 1e-6
    )
    # From 0 at rate 1 by steps of half; once at -1.5 the loss is below, and steps are
    # the gradient again.
    stack = Stack([torch.zeros(1, dtype=torch.float64)], rates=1.0)
    final = train(Flat(), stack, clipped, steps=5).final[0]
    assert final.item() == pytest.approx(-1.5 - 2e-6, abs=1e-12)


def test_small_gradients_stay_as_they_are_when_the_loss_rises_again() -> None:
    clipped = optimisers.Clipped(base=optimisers.SGD(), largest=0.5, rescale_above=0.5)
    stack = Stack([torch.zeros(1, 1, dtype=torch.float64)], rates=1.0)
    clipped.prepare(stack)
    found = []
    for loss in (1.0, 0.25, 0.75):
        told = torch.tensor([loss], dtype=torch.float64)
        clipped.update(stack, told, [torch.full_like(stack.params[0], 0.125)])
        stack.clock += 1.0
        found.append(stack.params[0].item())
    # By half, as long as the loss has not fallen to half, and by the gradient from then on.
    assert found == [-0.5, -0.625, -0.75]


@pytest.mark.parametrize(
    "make",
    [
        Whole,
        lambda: Epochs(EXAMPLES, 5, [torch_generator(7, "order")]),
        lambda: Epochs(
            EXAMPLES, 5, [torch_generator(7, "order", r) for r in range(REPLICATES)]
        ),
        lambda: Afresh(EXAMPLES, 4, torch_generator(7, "order")),
    ],
)
def test_each_update_learns_from_its_examples(make: Callable[[], Batches]) -> None:
    # Adam's moments depend on every batch, and on their order.
    final = train(
        Regression(),
        Stack(start(), rates=RATES),
        optimisers.Adam(),
        steps=25,
        check=4,
        batches=make(),
        together=2,
    ).final
    chosen = make().draw(0, 25)
    for row in range(REPLICATES):
        wanted, _ = alone(row, PAIRS["adam"][1], 25, chosen)
        for found, other in zip(final, wanted, strict=True):
            torch.testing.assert_close(found[row], other, **CLOSE)


@pytest.mark.parametrize("number", [REPLICATES - 1, REPLICATES + 2])
def test_orders_are_for_all_replicates_or_one_for_each(number: int) -> None:
    orders = Epochs(EXAMPLES, 3, [torch_generator(7, "o", k) for k in range(number)])
    stack = Stack(start(), rates=0.05)
    said = f"for each of the {REPLICATES}, but it draws for {number}"
    with pytest.raises(ValueError, match=said):
        train(Regression(), stack, optimisers.SGD(), steps=1, batches=orders)


NO_LIST: Any = torch.Generator()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Epochs(9, 3, []), "Epochs: `generators` must not be empty"),
        (
            lambda: Epochs(9, 3, [7]),
            "Epochs: `generators` must be torch.Generator, got 7",
        ),
        (lambda: Epochs(9, 3, NO_LIST), "Epochs: `generators` must be a list"),
        (lambda: Afresh(9, 3, 7), "Afresh: `generator` must be torch.Generator, got 7"),
    ],
)
def test_what_draws_no_order_is_refused(make: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()


def test_replicates_that_share_a_generator_share_its_orders() -> None:
    one, other = torch_generator(7, "one"), torch_generator(7, "other")
    (chosen,) = Epochs(EXAMPLES, EXAMPLES, [one, other, one]).draw(0, 1)
    assert chosen is not None
    assert torch.equal(chosen[0], chosen[2])
    assert not torch.equal(chosen[0], chosen[1])
    again = torch.randperm(EXAMPLES, generator=torch_generator(7, "one"))
    assert torch.equal(chosen[0], again)


def test_orders_of_each_replicate_go_on_from_a_checkpoint() -> None:
    def epochs() -> Epochs:
        generators = [torch_generator(7, "order", k) for k in range(REPLICATES)]
        return Epochs(EXAMPLES, 5, generators)

    whole = epochs().draw(0, 20)
    begun, other = epochs(), epochs()
    begun.draw(0, 8)
    other.load(begun.state())
    for mine, wanted in zip(other.draw(8, 20), whole[8:], strict=True):
        assert mine is not None
        assert wanted is not None
        assert torch.equal(mine, wanted)


@pytest.mark.parametrize("optimiser", [optimisers.SGD(), optimisers.Adam()])
def test_a_parameter_that_no_loss_depends_on_stays(
    optimiser: optimisers.Optimiser,
) -> None:
    rest = torch.ones(REPLICATES, 2, dtype=torch.float64)
    stack = Stack([*start(), rest], rates=0.1)

    class Rest(Task):
        def losses(
            self, params: Params, stack: Stack, examples: Tensor | None
        ) -> Tensor:
            return Regression().losses(params[:2], stack, examples)

    final = train(Rest(), stack, optimiser, steps=3).final
    assert torch.equal(final[2], rest)
    assert not torch.equal(final[0], start()[0])


def test_a_common_rate_is_that_of_a_checkpoint() -> None:
    stack = Stack([torch.zeros(2)], rates=2e-4)
    before = stack.common_rate
    stack.load(stack.saved())
    assert stack.common_rate == before


def test_a_common_rate_is_that_of_the_replicates_that_stayed() -> None:
    """As a checkpoint finds it: Adam's kernel depends on it, and with it rounding."""
    stack = Stack([torch.zeros(3)], rates=[0.25, 0.25, 8.0])
    assert stack.common_rate is None
    stack.leave([2])
    assert stack.common_rate == 0.25


def test_an_epoch_takes_every_example_once() -> None:
    drawn = Epochs(EXAMPLES, 5, [torch_generator(7)]).draw(0, 6)
    for epoch in (drawn[:3], drawn[3:]):
        assert sorted(torch.cat(epoch).tolist()) == list(range(EXAMPLES))


def test_a_replicate_that_explodes_leaves_and_moves_no_other() -> None:
    rates = [0.02, 50.0, 0.03, 0.01, 0.04]
    diverged, curve = Diverged(), Curve(range(40))
    trained = train(
        Regression(),
        Stack(start(), rates=rates),
        optimisers.SGD(),
        steps=40,
        check=3,
        observers=[diverged, curve],
    )
    assert trained.status == ("finished", "diverged", *["finished"] * 3)
    assert 0 < diverged.at[1] < trained.steps[1] < 40
    assert (np.delete(diverged.at, 1) == -1).all()
    assert np.isnan(curve.values[1, trained.steps[1] :]).all()
    for row in (0, 2, 3, 4):
        _, losses = alone(row, PAIRS["sgd"][1], 40, [None] * 40)
        np.testing.assert_allclose(curve.values[row], losses, **CLOSE)


def test_a_last_update_to_no_numbers_is_a_divergence() -> None:
    diverged = Diverged()
    stack = Stack(start(), rates=[0.02, 1e300, 0.03, 0.01, 1e300])
    # The slopes of two are so steep that a second update leaves float64.
    steep = optimisers.SGD(weight_decay=1e10)
    trained = train(Regression(), stack, steep, steps=1, observers=[diverged])
    assert trained.status == ("finished", "diverged", *["finished"] * 2, "diverged")
    assert diverged.at.tolist() == [-1, 1, -1, -1, 1]


def test_a_loss_below_zero_explodes_at_as_many_times_its_size() -> None:
    class Given(Task):
        def losses(
            self, params: Params, stack: Stack, examples: Tensor | None
        ) -> Tensor:
            return courses[int(stack.clock[0]), stack.rows] + 0.0 * params[0]

    courses = torch.tensor([[-2.0, -2.0], [1999.0, 2001.0], [1.0, 1.0]]).double()
    diverged = Diverged()
    stack = Stack([torch.zeros(2).double()], rates=1.0)
    trained = train(Given(), stack, optimisers.SGD(), steps=3, observers=[diverged])
    assert trained.status == ("finished", "diverged")
    assert diverged.at.tolist() == [-1, 1]


class Stop(Observer):
    """Pauses at a time, and asks for a stop there."""

    def __init__(self, at: int, *, asks: bool) -> None:
        self.at, self.asks = at, asks

    def following(self, t: int) -> int | None:
        return self.at if t < self.at else None

    def see(self, t: int, seen: np.ndarray, stack: Stack) -> dict[int, str]:
        if self.asks and t + len(seen) == self.at:
            stopping.request()
        return {}


class Falling(Task):
    """The loss is the parameter, and falls by the rate at every update."""

    def losses(self, params: Params, stack: Stack, examples: Tensor | None) -> Tensor:
        return params[0].clone()


@pytest.mark.parametrize("kind", [torch.float64, torch.bfloat16])
def test_a_budget_counts_from_the_release(kind: torch.dtype) -> None:
    first = torch.tensor([64.0, 64.0, 64.0, 64.0], dtype=kind)
    # Below three quarters of 64 after 17, 9, 3 updates, and never in time. Then eight at
    # the rate, four at half of it.
    rates = [1.0, 2.0, 8.0, 0.5]
    budget = Released(0.75, limit=20, steps=12, drops=[8], factor=0.5)
    trained = train(
        Falling(),
        Stack([first], rates=rates),
        optimisers.SGD(),
        steps=32,
        check=7,
        observers=[budget],
    )
    assert budget.at.tolist() == [17, 9, 3, -1]
    assert trained.steps.tolist() == [29, 21, 15, 20]
    assert trained.status == ("finished", "finished", "finished", "stalled")
    moved = (first - trained.final[0]).tolist()
    assert moved == [25 + 4 / 2, 2 * (17 + 4 / 2), 8 * (11 + 4 / 2), 10.0]


@pytest.mark.parametrize("pauses", [[], [13, 14, 23, 29]])
def test_no_pause_moves_who_leaves_at_a_floor_or_explodes(pauses: list[int]) -> None:
    class Given(Task):
        """Losses that were written down before."""

        def losses(
            self, params: Params, stack: Stack, examples: Tensor | None
        ) -> Tensor:
            column = stack.clock.long()[:1]
            return stack.select(courses).take_along_dim(column[:, None], 1)[:, 0] + (
                0.0 * params[0]
            )

    courses = torch.full((3, 50), 0.1, dtype=torch.float64)
    courses[:, 0] = 1.0
    # At the floor from update 8 on; once above it, at 12; exploded at 21.
    courses[0, 8:] = courses[1, 8:] = 0.01
    courses[1, 12] = 0.02
    courses[2, 21:] = torch.nan
    diverged = Diverged(10.0, every=10)
    trained = train(
        Given(),
        Stack([torch.zeros(3, dtype=torch.float64)], rates=1.0),
        optimisers.SGD(),
        steps=50,
        check=10,
        observers=[
            diverged,
            Floor(0.01, patience=15, every=10),
            Series(pauses, lambda _: {}),
        ],
    )
    # More than 15 after 7 and after 12, at the next multiple of ten.
    assert trained.steps.tolist() == [30, 30, 30]
    assert trained.status == ("floor", "floor", "diverged")
    assert diverged.at.tolist() == [-1, -1, 21]


def everything(
    checkpoint: Checkpoint | None, *more: Observer, released: bool = False
) -> tuple[Tensor, list[object]]:
    """Train with all that a checkpoint must hold; return what came of it.

    Rates drop at a time of all, or of each that is `released`.
    """
    rates = [0.02, 50.0, 0.03, 0.01, 0.04]
    looks = (
        Diverged(every=10),
        Released(0.9, limit=40, steps=56, drops=[15] if released else [], factor=0.5),
        Floor(1e-3, patience=5, every=5),
        Curve(range(0, 60, 2)),
        Series([0, 10, 37, 60], lambda s: {"norm": s.params[0].flatten(1).norm(dim=1)}),
        Drops([] if released else [30], 0.1),
        BestWindow(8),
        Snapshots([0, 12, 50]),
    )
    trained = train(
        Regression(),
        Stack(start(), rates=rates),
        optimisers.Clipped(
            base=optimisers.SGD(momentum=0.9), largest=5.0, rescale_above=0.5
        ),
        steps=60,
        check=5,
        batches=Epochs(EXAMPLES, 5, [torch_generator(7, "order")]),
        observers=[*looks, *more],
        checkpoint=checkpoint,
    )
    flat = torch.cat([p.flatten() for p in trained.final])
    found: list[object] = [trained.status, trained.steps.tolist()]
    for look in looks:
        found += [repr(look.state())]
    return flat, found


@pytest.mark.parametrize("released", [False, True])
@pytest.mark.parametrize("at", [2, 11, 33, 59])
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(
    at: int, released: bool, tmp_path
) -> None:
    whole, seen = everything(None, Stop(at, asks=False), released=released)
    of = fingerprint("a", start())
    try:
        with pytest.raises(stopping.Stopped):
            everything(
                Checkpoint(tmp_path / "c", of=of, seconds=1e9),
                Stop(at, asks=True),
                released=released,
            )
    finally:
        stopping.withdraw()
    # The observer that stopped it is there again, and pauses where it did.
    again, seen_again = everything(
        Checkpoint(tmp_path / "c", of=of), Stop(at, asks=False), released=released
    )
    assert torch.equal(whole.nan_to_num(), again.nan_to_num())
    assert seen == seen_again


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"stack": lambda: Stack([p[:4] for p in start()], rates=0.01)}, "`stack`"),
        ({"stack": lambda: Stack(start(), rates=0.02)}, "`stack`"),
        (
            {"stack": lambda: Stack([p + 1e-9 for p in start()], rates=0.01)},
            "`stack`",
        ),
        ({"task": lambda: Regression(8)}, "`task`"),
        ({"optimiser": lambda: optimisers.SGD(weight_decay=0.1)}, "`optimiser`"),
        ({"batches": Whole}, "`batches`"),
        (
            {"batches": lambda: Epochs(EXAMPLES, 4, [torch_generator(7)])},
            "`batches`",
        ),
        (
            {
                "batches": lambda: Epochs(
                    EXAMPLES, 5, [torch_generator(7, r) for r in range(REPLICATES)]
                )
            },
            "`batches`",
        ),
        (
            {"batches": lambda: Epochs(EXAMPLES, 5, [torch_generator(8)])},
            "`batches`",
        ),
        ({"observers": lambda: [Curve([0, 1])]}, "`observers`"),
        ({"observers": lambda: [Curve([0, 2, 4])]}, "`observers`"),
        ({"observers": lambda: [Curve([0, 2], note=1)]}, "`observers`"),
        ({"together": lambda: 2}, "`together`"),
        ({"steps": lambda: 6}, "`steps` must be at least 7, which .* but it is 6"),
    ],
)
def test_a_checkpoint_is_compared_with_what_is_trained(
    change: dict[str, Callable[[], Any]], said: str, tmp_path
) -> None:
    """Though who called knew no difference."""

    class Asking(Observer):
        def see(self, t: int, seen: Array, stack: Stack) -> None:
            if asked:
                stopping.request()

    def run(**changed: Callable[[], Any]) -> Array:
        given = {
            "task": Regression,
            "stack": lambda: Stack(start(), rates=0.01),
            "optimiser": optimisers.SGD,
            "batches": lambda: Epochs(EXAMPLES, 5, [torch_generator(7)]),
            "observers": lambda: [curve],
            "together": lambda: None,
            "steps": lambda: 9,
        }
        curve = Curve([0, 2])
        made = {name: make() for name, make in {**given, **changed}.items()}
        made["observers"] = [Asking(), *made["observers"]]
        train(**made, check=7, checkpoint=tmp_path / "c")
        return curve.values

    asked = True
    try:
        with pytest.raises(stopping.Stopped):
            run()
    finally:
        stopping.withdraw()
    asked = False
    with pytest.raises(ValueError, match=said):
        run(**change)
    assert np.isfinite(run()).all()


def test_what_was_interrupted_goes_on_with_the_batches_that_it_had(tmp_path) -> None:
    """As in a notebook: their generators have drawn since."""

    def run(task: Task, batches: Batches, **given: Any) -> Tensor:
        stack = Stack(start(), rates=0.01)
        done = train(
            task, stack, optimisers.SGD(), steps=9, check=4, batches=batches, **given
        )
        return done.final[0]

    def interrupt(done: int, *_: object) -> None:
        if done == 4:
            raise KeyboardInterrupt

    task, batches = Regression(), Epochs(EXAMPLES, 5, [torch_generator(7)])
    whole = run(Regression(), Epochs(EXAMPLES, 5, [torch_generator(7)]))
    kept = {"checkpoint": tmp_path / "c"}
    with pytest.raises(KeyboardInterrupt):
        run(task, batches, progress=interrupt, **kept)
    assert torch.equal(run(task, batches, **kept), whole)


@pytest.mark.parametrize("together", [None, 2])
def test_a_stop_need_not_wait_for_a_pause(together: int | None, tmp_path) -> None:
    """Slow updates: each call is stopped after one, and they add up to the same run."""
    generators = [torch_generator(row, "order") for row in range(5)]

    class Noisy(Regression):
        """Draws noise from the generator that orders the examples, as some tasks do."""

        def losses(
            self, params: Params, stack: Stack, examples: Tensor | None
        ) -> Tensor:
            made.append(1)
            if one_by_one:
                stopping.request()
            noise = torch.randn((), generator=generators[0], dtype=torch.float64)
            return super().losses(params, stack, examples) * (1.0 + 0.1 * noise)

    def run(checkpoint: Checkpoint | None) -> tuple[Trained, Array]:
        for row, generator in enumerate(generators):
            generator.manual_seed(row)
        return train(
            Noisy(),
            Stack(start(), rates=[0.02, 0.01, 0.03, 0.01, 0.04]),
            optimisers.SGD(momentum=0.9),
            steps=9,
            # An epoch ends and begins on the way to the first pause.
            check=7,
            batches=Epochs(EXAMPLES, 5, generators),
            observers=[series := Series([0, 7], lambda s: {"first": s.params[0]})],
            together=together,
            checkpoint=checkpoint,
        ), series.values["first"]

    made, one_by_one = [], False
    whole, seen = run(None)
    updates, one_by_one = len(made), True
    calls = 0
    while True:
        calls += 1
        made.clear()
        try:
            again, seen_again = run(Checkpoint(tmp_path / "c", of="a", seconds=1e9))
        except stopping.Stopped:
            assert len(made) == 1
            continue
        finally:
            stopping.withdraw()
        break
    assert calls == updates + 1
    for one, other in zip(whole.final, again.final, strict=True):
        assert torch.equal(one, other)
    np.testing.assert_array_equal(seen, seen_again)


@pytest.mark.parametrize("at", [10, 16])
def test_a_run_that_lost_a_replicate_before_its_release_goes_on_to_the_same_ends(
    at: int, tmp_path
) -> None:
    """Stopped at a pause, and on the way from the last drop at 10 to the ends at 31."""
    # Two explode: one before its release, one after the others' last drop.
    courses = torch.full((4, 40), 0.5, dtype=torch.float64)
    courses[:, 0] = 1.0
    courses[2, 1:] = courses[3, 12] = torch.nan

    def run(checkpoint: Checkpoint | None, stop: int | None) -> list[object]:
        class Given(Task):
            """Losses that were written down before."""

            def losses(
                self, params: Params, stack: Stack, examples: Tensor | None
            ) -> Tensor:
                t = int(stack.clock[0])
                if t + 1 == stop:
                    stopping.request()
                return stack.select(courses)[:, t] + 0.0 * params[0]

        budget = Released(0.9, limit=40, steps=30, drops=[4, 9], factor=0.5)
        trained = train(
            Given(),
            Stack([torch.zeros(4, dtype=torch.float64)], rates=1.0),
            optimisers.SGD(),
            steps=80,
            observers=[Diverged(), budget],
            checkpoint=checkpoint,
        )
        return [trained.status, trained.steps.tolist(), budget.at.tolist()]

    kept = Checkpoint(tmp_path / "c", of="a", seconds=1e9)
    try:
        with pytest.raises(stopping.Stopped):
            run(kept, at)
    finally:
        stopping.withdraw()
    ends = [("finished", "finished", "diverged", "diverged"), [31, 31, 4, 31]]
    assert run(kept, None) == run(None, None) == [*ends, [1, 1, -1, 1]]


def test_a_run_of_slow_updates_tells_and_keeps_on_the_way(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, told = 0.0, []

    class Slow(Regression):
        """Of which an update takes a second."""

        def losses(
            self, params: Params, stack: Stack, examples: Tensor | None
        ) -> Tensor:
            nonlocal now
            now += 1.0
            return super().losses(params, stack, examples)

    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now)
    kept = Checkpoint(tmp_path / "c", of="a", seconds=5.0)
    written = []
    monkeypatch.setattr(kept, "write", lambda state: written.append(state["t"]))
    train(
        Slow(),
        Stack(start(), rates=0.01),
        optimisers.SGD(),
        steps=14,
        check=10,
        checkpoint=kept,
        progress=lambda done, *_: told.append(done),
    )
    assert told == [3, 6, 9, 10, 13, 14]
    assert written[0] == 0


@pytest.mark.parametrize(("took", "wait"), [(0.1, 30.0), (4.0, 120.0)])
def test_a_state_that_takes_long_to_write_is_written_less_often(
    took: float, wait: float, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0

    def save(_state: object, path: Path) -> None:
        nonlocal now
        now += took
        path.touch()

    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now)
    kept = Checkpoint(tmp_path / "c", of="a")
    monkeypatch.setattr(torch, "save", save)
    kept.write({})
    now += wait - 0.01
    assert not kept.due
    now += 0.02
    assert kept.due


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Diverged(10.0), Diverged(20.0)),
        (Diverged(), Diverged(every=5)),
        (Drops([3], 0.5), Drops([3], 0.1)),
        (BestWindow(5), BestWindow(10)),
        (Floor(1.0, patience=3), Floor(1.0, patience=4)),
        (
            Released(0.5, limit=9, steps=3, drops=[1]),
            Released(0.5, limit=9, steps=3, drops=[2]),
        ),
    ],
)
def test_a_checkpoint_tells_the_settings_of_observers(one, other, tmp_path) -> None:
    def run(*observers: Observer) -> None:
        task, stack = Regression(), Stack(start(), rates=RATES)
        kept = {"steps": 1, "checkpoint": tmp_path / "c"}
        train(task, stack, optimisers.SGD(), observers=observers, **kept)

    for _ in range(2):
        run(one, curve := Curve([0]))
    for others in ((other, curve), (curve, one), (one,)):
        with pytest.raises(ValueError, match="be of the same `observers`, but"):
            run(*others)


@pytest.mark.parametrize("shape", [(), (1,), (REPLICATES, 1), (REPLICATES, 2)])
def test_losses_are_one_of_each_replicate(shape: tuple[int, ...]) -> None:
    class Other(Task):
        def losses(
            self, params: Params, stack: Stack, examples: Tensor | None
        ) -> Tensor:
            return params[0].sum().expand(shape)

    stack = Stack(start(), rates=RATES)
    with pytest.raises(ValueError, match=r"`task` must return losses of shape \(5,\)"):
        train(Other(), stack, optimisers.SGD(), steps=1)


@pytest.mark.parametrize(
    "one",
    [
        np.arange(3),
        torch.ones(EXAMPLES, dtype=torch.bool),
        torch.zeros(0, dtype=torch.int64),
        torch.zeros((1, 1, 1), dtype=torch.int64),
    ],
)
def test_batches_are_whole_numbers_by_update(one: Any) -> None:
    class Other(Batches):
        def draw(self, start: int, stop: int) -> list[Any]:
            return [one] * (stop - start)

    stack = Stack(start(), rates=RATES)
    with pytest.raises(ValueError, match="`batches` must draw int64 tensors of shape"):
        train(Regression(), stack, optimisers.SGD(), steps=2, batches=Other())


def test_batches_are_drawn_for_as_many_updates_as_are_asked_for() -> None:
    class Other(Batches):
        def draw(self, start: int, stop: int) -> list[Tensor | None]:
            return [None] * (stop - start + 3)

    stack = Stack(start(), rates=RATES)
    with pytest.raises(ValueError, match=r"each of 2 updates, but it draws for 5"):
        train(Regression(), stack, optimisers.SGD(), steps=2, batches=Other())


def test_an_observer_may_return_nothing() -> None:
    class Looking(Observer):
        def see(self, t: int, seen: Array, stack: Stack) -> None:
            self.last = t + len(seen)

    looking = Looking()
    stack = Stack(start(), rates=RATES)
    train(Regression(), stack, optimisers.SGD(), steps=2, observers=[looking])
    assert looking.last == 2


def test_a_finished_run_is_read_from_its_checkpoint(tmp_path) -> None:
    of = fingerprint("a", start())
    whole, seen = everything(Checkpoint(tmp_path / "c", of=of))
    again, seen_again = everything(Checkpoint(tmp_path / "c", of=of))
    assert torch.equal(whole.nan_to_num(), again.nan_to_num())
    assert seen == seen_again


def check_starts_anew(
    kept: Checkpoint,
    warned: type[Warning] = UnreadableCheckpointWarning,
    said: str = "training starts anew",
) -> None:
    """Train with a checkpoint that is of no use; it is told once, and costs nothing."""
    with pytest.warns(warned, match=said) as told:
        found, _ = everything(kept)
    assert len(told) == 1
    wanted, _ = everything(None)
    assert torch.equal(found.nan_to_num(), wanted.nan_to_num())


@pytest.mark.parametrize(
    "content", [b"", b"noise" * 99, b"\x80\x02K\x05."], ids=["empty", "noise", "pickle"]
)
def test_an_unreadable_checkpoint_is_set_aside(content: bytes, tmp_path) -> None:
    path = tmp_path / "c"
    path.write_bytes(content)
    check_starts_anew(Checkpoint(path))
    assert (tmp_path / "c.unreadable").read_bytes() == content


@pytest.mark.parametrize("damage", ["a bit of a tensor", "cut"])
def test_a_damaged_checkpoint_is_set_aside(damage: str, tmp_path) -> None:
    path = tmp_path / "c"
    everything(Checkpoint(path, of="x"))
    content = bytearray(path.read_bytes())
    if damage == "cut":
        del content[len(content) * 3 // 4 :]
    else:
        params = torch.load(path)["stack"]["params"][0]
        content[content.index(params.numpy().tobytes())] ^= 1
    path.write_bytes(content)
    check_starts_anew(Checkpoint(path, of="x"))


def test_a_checkpoint_of_other_arguments_is_refused(tmp_path) -> None:
    everything(Checkpoint(tmp_path / "c", of="one"))
    with pytest.raises(ValueError, match="be of the same `fingerprint`, but"):
        everything(Checkpoint(tmp_path / "c", of="another"))


def test_a_checkpoint_of_other_shapes_is_set_aside(tmp_path) -> None:
    path = tmp_path / "c"
    everything(Checkpoint(path, of="x"))
    state = torch.load(path)
    state["stack"]["params"] = [p[..., :1] for p in state["stack"]["params"]]
    torch.save(state, path)
    check_starts_anew(Checkpoint(path, of="x"), said="shapes")


@pytest.mark.parametrize("at", ["observers", "task", "stack/clock", "observers/2"])
def test_a_checkpoint_that_lacks_an_entry_is_set_aside(at: str, tmp_path) -> None:
    path = tmp_path / "c"
    everything(Checkpoint(path, of="x"))
    state = torch.load(path)
    first, _, second = at.partition("/")
    held = state[first] if second else state
    del held[int(second) if second.isdigit() else second or first]
    torch.save(state, path)
    check_starts_anew(Checkpoint(path, of="x"))


def test_a_checkpoint_that_cannot_be_written_costs_no_training(tmp_path) -> None:
    kept = Checkpoint(tmp_path / "c", of="x", seconds=0.0)
    # A folder comes in its place: no permission holds a superuser back.
    (tmp_path / "c" / "full").mkdir(parents=True)
    kept.read = lambda _: None
    check_starts_anew(kept, UnwrittenCheckpointWarning, "training goes on")


def test_a_fingerprint_is_of_any_kind_of_number() -> None:
    kinds = (torch.bfloat16, torch.float16, torch.bool, torch.complex64)
    every = [torch.zeros(2), *(torch.zeros(2, dtype=kind) for kind in kinds)]
    assert len({fingerprint("a", [tensor]) for tensor in every}) == len(every)


def test_a_checkpoint_is_of_the_code(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, seen = tmp_path / "c", []
    everything(Checkpoint(path))

    def other(*modules: str, others: tuple[str, ...]) -> str:
        seen.extend((*modules, *others))
        return "other"

    monkeypatch.setattr(checkpoints, "code_digest", other)
    with pytest.raises(ValueError, match="be of the same `code`, but"):
        everything(Checkpoint(path))
    # Whatever is trained with, and what it calls.
    names = {name.removeprefix("empirical.testbed.") for name in seen}
    assert names == {"loop", "batches", "budgets", "observers", "optimisers"}


def test_outer_products_are_what_they_stand_for() -> None:
    g = torch_generator(7)
    for n in (1, 3):
        outer = slopes.Outer(
            torch.randn(2, 4, n, dtype=torch.float64, generator=g),
            torch.randn(2, 5, n, dtype=torch.float64, generator=g),
        )
        full = slopes.dense(outer)
        factors = torch.tensor([2.0, 0.5], dtype=torch.float64)
        torch.testing.assert_close(
            slopes.square_norms(outer), slopes.square_norms(full)
        )
        torch.testing.assert_close(
            slopes.dense(slopes.scaled(outer, factors)), slopes.scaled(full, factors)
        )
        moments = [torch.ones_like(full) for _ in range(2)]
        for moment, slope in zip(moments, (outer, full), strict=True):
            slopes.fold_into_(moment, 0.9, slope)
        torch.testing.assert_close(*moments)


def test_what_is_not_learnt_stays() -> None:
    stack = Stack(start(), rates=RATES, learnt=[1])
    first = [p.clone() for p in stack.params]
    train(Regression(), stack, optimisers.SGD(momentum=0.5), steps=3)
    assert torch.equal(stack.params[0], first[0])
    assert not torch.equal(stack.params[1], first[1])


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"rates": [0.1, -1.0, 0.1, 0.1, 0.1]}, "positive and finite"),
        ({"rates": [0.1]}, "one for each of the 5 replicates"),
        ({"rates": np.nan}, "positive and finite"),
        ({"params": [torch.full((5, 1), torch.nan)]}, "5 entries are not"),
        ({"params": [torch.zeros(5, 1), torch.zeros(4)]}, "same replicates in front"),
        ({"params": []}, "same replicates in front"),
        # Rates in whole numbers are 0: nothing would be learnt.
        ({"params": [torch.ones(5, 1, dtype=torch.int64)]}, "one floating-point dtype"),
        (
            {"params": [torch.ones(5, 1), torch.ones(5, dtype=torch.float64)]},
            r"one floating-point dtype.* torch\.float32, torch\.float64",
        ),
        ({"params": [torch.ones(5, 1)], "rates": 1e-60}, r"finite in torch\.float32"),
        ({"params": [torch.ones(5, 1)], "rates": 1e60}, r"finite in torch\.float32"),
        ({"learnt": [2]}, "`learnt` must be positions among the 2 parameters"),
        ({"learnt": [-1]}, "`learnt` must be positions among the 2 parameters"),
        ({"learnt": []}, "at least one"),
        # It would be moved twice by every update.
        ({"learnt": [0, 0]}, "each once"),
        ({"rates": 0.0}, "Stack: `rates` must be positive"),
    ],
)
def test_a_stack_refuses_what_does_not_fit(change: dict, match: str) -> None:
    params = change.pop("params", start())
    with pytest.raises(ValueError, match=match):
        Stack(params, **{"rates": 0.1, **change})


@pytest.mark.parametrize(
    "make",
    [
        lambda v: optimisers.SGD(momentum=v),
        lambda v: optimisers.SGD(weight_decay=-abs(v)),
        lambda v: optimisers.Adam(betas=(0.9, v)),
        lambda v: optimisers.Adam(eps=-v),
        lambda v: optimisers.Adamax(betas=(v, 0.9)),
        lambda v: optimisers.Adagrad(eps=-v),
        lambda v: optimisers.RMSprop(alpha=v),
        lambda v: optimisers.Clipped(base=optimisers.SGD(), largest=-v),
        lambda v: Diverged(-v),
        lambda v: Drops([1], -v),
        lambda _: optimisers.Adam(betas=(0.9,)),
        lambda _: optimisers.Adam(eps=None),
        lambda _: optimisers.SGD(momentum=None),
        lambda _: optimisers.SGD(decayed=(0.5,)),
    ],
)
@pytest.mark.parametrize("value", [1.0, np.nan])
def test_optimisers_refuse_numbers_that_do_not_fit(
    make: Callable[[float], object], value: float
) -> None:
    with pytest.raises(ValueError, match="but it is"):
        make(value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Released(1.0, limit=1, steps=1),
        lambda: Released(np.nan, limit=1, steps=1),
        lambda: Released(0.5, limit=0, steps=1),
        lambda: Released(0.5, limit=1, steps=0),
        lambda: Released(0.5, limit=1, steps=1, drops=[-1]),
        lambda: Released(0.5, limit=1, steps=1, drops=[2.5]),
        lambda: Released(0.5, limit=1, steps=1, factor=np.nan),
        lambda: Curve([0], note=-1),
        lambda: Floor(0.0, patience=1),
        lambda: Floor(np.nan, patience=1),
        lambda: Floor(1e-9, patience=0),
        lambda: Floor(1e-9, patience=1, every=0),
        lambda: Floor(1e-9, patience=1.5),
        lambda: Diverged(every=0),
        lambda: BestWindow(0),
        lambda: Snapshots([-1]),
        lambda: Snapshots([0.5]),
        lambda: Curve("late"),
        lambda: Curve(None),
        lambda: Drops([1], None),
        lambda: optimisers.SGD(momentum="high"),
        lambda: optimisers.SGD(weight_decay=0.1, decayed=0),
        lambda: optimisers.Adam(eps=None),
        lambda: optimisers.Adam(betas=0.9),
        lambda: optimisers.Clipped(base=optimisers.SGD(), largest=None),
        lambda: optimisers.Clipped(base=optimisers.SGD, largest=1.0),
    ],
)
def test_observers_refuse_numbers_that_do_not_fit(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"but (it is|they are)"):
        make()


@pytest.mark.parametrize("make", [Curve, lambda times: Drops(times, 0.5)])
@pytest.mark.parametrize("times", [[3, 1], [-1, 2], [0.5], [[1, 2]], 3])
def test_times_that_would_be_missed_are_refused(make, times) -> None:
    with pytest.raises(ValueError, match="`times` must be whole numbers from 0 on"):
        make(times)


@pytest.mark.parametrize("shape", [(), (1,), (REPLICATES + 1, 2)])
@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda measure: Series([0], lambda s: {"a": measure(s)}), "`measure` of 'a'"),
        (lambda measure: BestWindow(1, measure), "`judge`"),
    ],
)
def test_a_measure_without_a_row_for_each_replicate_is_refused(
    make, named: str, shape: tuple[int, ...]
) -> None:
    looks = [make(lambda _: torch.ones(shape))]
    with pytest.raises(ValueError, match=f"{named} must return a tensor with a row"):
        train(
            Regression(),
            Stack(start(), rates=0.01),
            optimisers.SGD(),
            steps=1,
            observers=looks,
        )


def test_a_time_that_is_given_twice_is_measured_twice() -> None:
    series = Series([1, 1, 2], lambda stack: {"first": stack.params[0][:, 0, 0]})
    stack = Stack(start(), rates=RATES)
    train(Regression(), stack, optimisers.SGD(), steps=2, observers=[series])
    found = series.values["first"]
    np.testing.assert_array_equal(found[0], found[1])
    assert np.isfinite(found).all()


def test_a_note_that_the_task_does_not_make_is_refused() -> None:
    looks = [Curve([0], note=2)]
    stack = Stack(start(), rates=0.01)
    with pytest.raises(ValueError, match="`note` must be one of the 2 numbers"):
        train(Regression(), stack, optimisers.SGD(), steps=1, observers=looks)


@pytest.mark.parametrize("measured", [1.0, np.ones(REPLICATES), None])
def test_what_is_measured_is_a_tensor(measured: Any) -> None:
    looks = [Series([0], lambda _: {"a": measured})]
    stack = Stack(start(), rates=0.01)
    with pytest.raises(ValueError, match="`measure` of 'a' must return a tensor"):
        train(Regression(), stack, optimisers.SGD(), steps=1, observers=looks)


@pytest.mark.parametrize(
    "order",
    [torch.arange(5), torch.rand(EXAMPLES), list(range(EXAMPLES)), torch.arange(99)],
)
def test_an_order_has_as_many_examples_as_it_says(order: Any) -> None:
    """A batch of none would make a loss of nan."""
    batches = Epochs(EXAMPLES, 5, [torch_generator(7)], order=lambda _: order)
    with pytest.raises(ValueError, match=rf"`order` must .*\({EXAMPLES},\)"):
        batches.draw(0, 3)


def test_a_checkpoint_is_no_folder(tmp_path) -> None:
    with pytest.raises(ValueError, match=r"`path` must be a file, but .* is a folder"):
        Checkpoint(tmp_path, of="")


def test_a_checkpoint_may_be_named_by_text(tmp_path) -> None:
    for _ in range(2):
        kept = Checkpoint(str(tmp_path / "c"), of="mine")
        stack = Stack(start(), rates=0.01)
        train(Regression(), stack, optimisers.SGD(), steps=1, checkpoint=kept)
    assert (tmp_path / "c").exists()


def test_a_stack_refuses_columns_and_rates_that_it_has_not() -> None:
    stack = Stack(start(), rates=RATES)
    for columns in ([5], [-1]):
        with pytest.raises(ValueError, match=r"`columns` must lie in 0\.\.4"):
            stack.leave(columns)
    for rates in ([0.1], [-1.0] * 5, [np.nan] * 5):
        with pytest.raises(ValueError, match="`rates` must be finite and not negative"):
            stack.set_rates(rates)
    assert len(stack) == 5


def test_what_training_returns_fits_a_prompt() -> None:
    stack = Stack(start(), rates=RATES)
    assert repr(stack).startswith(f"<Stack of {len(stack)} replicates, rates ")
    done = train(Regression(), stack, optimisers.SGD(), steps=1)
    assert repr(done).startswith("Trained(status=('finished', ")
    assert "tensor" not in repr(done)


@pytest.mark.parametrize(
    "rates", ["large", "0.1", True, 1j, [0.1, None, "x", 0.1, 0.1]]
)
def test_rates_are_numbers(rates: Any) -> None:
    with pytest.raises(
        ValueError, match="Stack: `rates` must be numbers, but they are"
    ):
        Stack(start(), rates=rates)


@pytest.mark.parametrize(
    "number", [{"steps": 2.5}, {"steps": True}, {"check": 1.5}, {"together": 0}]
)
def test_training_takes_whole_numbers(number: dict) -> None:
    stack = Stack(start(), rates=RATES)
    with pytest.raises(ValueError, match="must be a"):
        train(Regression(), stack, optimisers.SGD(), **{"steps": 3, **number})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"optimiser": optimisers.SGD},
            r"\.Optimiser, but it is the class .*testbed.*SGD",
        ),
        ({"optimiser": "sgd"}, r"`optimiser` must be .*\.Optimiser, but it is str"),
        (
            {"task": torch.nn.Linear(3, 1)},
            r"\.Task, but it is torch.*Linear",
        ),
        ({"stack": start()}, r"`stack` must be a value of .*\.Stack, but it is list"),
        (
            {"checkpoint": "c"},
            r"`checkpoint` must be .*Checkpoint .* None, but it is str",
        ),
        ({"optimiser": torch.optim.SGD}, r"it is the class torch\.optim\.sgd\.SGD"),
        ({"batches": 5}, r"`batches` must be a value of .*\.Batches, but it is int"),
        (
            {"observers": Diverged()},
            "`observers` must be .*Sequence, but it is .*Diverged",
        ),
        ({"observers": [Diverged]}, r"`observers\[0\]` must be .*the class .*Diverged"),
        ({"observers": [Curve([0]), 3]}, r"`observers\[1\]` must be .*it is int"),
        ({"observers": 2 * [BestWindow(3)]}, "`observers` must be each there once"),
        (
            {"observers": [Drops([1], 0.5), Drops([2], 0.5)]},
            r"of which \['Drops', 'Drops'\] set them",
        ),
        (
            {
                "observers": [
                    Released(0.5, limit=9, steps=9, drops=[2]),
                    Drops([2], 0.5),
                ]
            },
            r"of which \['Released', 'Drops'\] set them",
        ),
    ],
)
def test_what_cannot_train_is_named(change: dict, said: str) -> None:
    given = {
        "task": Regression(),
        "stack": Stack(start(), rates=0.01),
        "optimiser": optimisers.SGD(),
    }
    with pytest.raises(ValueError, match=said):
        train(**{**given, **change}, steps=1)


def test_autograd_gives_each_replicate_its_own_gradient() -> None:
    stack = Stack(start(), rates=RATES)
    with torch.no_grad():
        _, found = by_autograd(Regression(), stack, None)
    task = Regression()
    for row, index in itertools.product(range(REPLICATES), range(2)):
        leaves = [p[row].clone().requires_grad_() for p in start()]
        residual = torch.tanh(task.x[row] @ leaves[0]) @ leaves[1] - task.y[row]
        (wanted,) = torch.autograd.grad(residual.square().mean(), [leaves[index]])
        torch.testing.assert_close(found[index][row], wanted, **CLOSE)


def trained_with_leaving(task: Task, **options: bool) -> list[Tensor]:
    stack = Stack(start(), rates=[0.02, 0.05, 1e6, 0.01, 0.04])
    run = train(
        task,
        stack,
        optimisers.SGD(momentum=0.9),
        steps=30,
        check=5,
        batches=Epochs(EXAMPLES, 5, [torch_generator(3, "order")]),
        observers=[Diverged()],
        **options,
    )
    assert run.status.count("finished") == REPLICATES - 1
    return [p[[0, 1, 3, 4]] for p in run.final]


def test_a_traced_task_trains_as_it_does_itself() -> None:
    traced = trained_with_leaving(Compiled(Regression(), backend="aot_eager"))
    for found, wanted in zip(traced, trained_with_leaving(Regression()), strict=True):
        torch.testing.assert_close(found, wanted, **CLOSE)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*script_method:DeprecationWarning")
def test_a_compiled_task_trains_as_it_does_itself() -> None:
    compiled = trained_with_leaving(Regression(), compile=True)
    for found, wanted in zip(compiled, trained_with_leaving(Regression()), strict=True):
        torch.testing.assert_close(found, wanted, **CLOSE)
