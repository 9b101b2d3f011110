"""Updates as a GPU would make them: every tensor on one device, nothing waited for.

There need be no GPU. PyTorch's ``meta`` device has shapes and no numbers: whatever asks
for a number (``.item()``, a branch on a value) fails there as it would be refused while a
CUDA graph is recorded. A mode around it refuses operations on tensors of two devices,
some of which ``meta`` alone lets pass.
"""

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import pytest
import torch
from drawing import normal
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import empirical.conditioning.descent as descent
from empirical.activations import NormReLU
from empirical.identity_map import copier
from empirical.identity_map.measures.edges import edge_share, sobel
from empirical.identity_map.measures.layers import layer_errors, signal_sizes
from empirical.identity_map.measures.similarity import closeness
from empirical.identity_map.task import Copy, CopyDense
from empirical.mmd_init import measures as starts
from empirical.mmd_init import networks as mmd
from empirical.mmd_init.recipes import Recipe
from empirical.mmd_init.task import TERMS, Perturbed
from empirical.networks import FullyConnected, Norm
from empirical.normrelu.training import conditioned, measured
from empirical.randomness import torch_generator
from empirical.square_loss import measures as margins
from empirical.square_loss.classifiers import FAMILIES, classifier
from empirical.square_loss.networks import start
from empirical.square_loss.task import Classification
from empirical.testbed import optimisers
from empirical.testbed.capture import captured
from empirical.testbed.loop import Task, train
from empirical.testbed.stack import Params, Stack
from empirical.testbed.supervised import Classify, Supervised

aten = torch.ops.aten
REPLICATES = 3
Made = tuple[Task, Stack, Tensor | None]


class OneDevice(TorchDispatchMode):
    """Refuses operations on tensors of two devices; a GPU takes a number from the CPU."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
        devices = {t.device.type for t in tensors if t.ndim or t.device.type != "cpu"}
        if len(devices) > 1:
            raise AssertionError(f"{func} mixes {' and '.join(sorted(devices))}")
        return func(*args, **(kwargs or {}))


class Answering(OneDevice):
    """Answers what a measurement may ask for: all numbers alike, masks that take all.

    Whether something is wrong is answered by no.

    Random numbers need no generator of the device: ``meta`` has none.
    """

    def __init__(self, number: int = 0) -> None:
        super().__init__()
        self.number = number

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        given = dict(kwargs or {})
        there = bool(args) and isinstance(args[0], Tensor) and args[0].is_meta
        if there and func is aten._local_scalar_dense.default:
            asked = args[0].dtype != torch.bool
            return torch.tensor(self.number * asked, dtype=args[0].dtype).item()
        to = torch.device(given.get("device") or "meta").type
        if there and func is aten._to_copy.default and to == "cpu":
            kind = given.get("dtype") or args[0].dtype
            return torch.full(args[0].shape, self.number, dtype=kind)
        if there and func is aten.index.Tensor:
            places = [place for index in args[1] for place in _places(index)]
            args = args[0], places
        if given.get("generator") is not None:
            given["generator"] = None
        return super().__torch_dispatch__(func, types, args, given)


def _places(index: Tensor | None) -> list[Tensor | None]:
    """Return the indices of all entries of a mask; others as they are."""
    if index is None or index.dtype != torch.bool:
        return [index]
    shape = (index.numel(),)
    return [
        torch.zeros(shape, dtype=torch.int64, device=index.device)
        for _ in range(index.ndim)
    ]


def generators() -> list[torch.Generator]:
    return [torch_generator(7, i) for i in range(REPLICATES)]


def rows_of_each() -> Tensor:
    return torch.arange(4).expand(REPLICATES, 4).clone()


def copy_of(kind: str, task: type[Copy], *, activation: str = "relu") -> Made:
    net = copier(kind=kind, shape=(1, 4, 4), layers=4, width=16, activation=activation)
    params = net.init(
        "xavier-normal", generator=torch_generator(7), replicates=REPLICATES
    )
    x = normal(REPLICATES, 2, 1, 4, 4)
    made = task(network=net, images=x, targets=x, loss="mean")
    return made, Stack([p.double() for p in params], rates=0.1), None


def square(family: str, shape: tuple[int, ...] = (5,), outputs: int = 1) -> Made:
    net = classifier(family, shape=shape, widths=(4, 3), outputs=outputs)
    params = start(net, [1.0] * REPLICATES, generators())
    x = normal(6, *shape)
    made = Classification(net, x, normal(6, outputs).sign())
    return made, Stack(params, rates=[0.1, 0.2, 0.3]), torch.arange(4)


def top_layer() -> Made:
    made = descent._TopLayer(normal(REPLICATES, 4, 6), normal(REPLICATES, 4, 1))
    return made, Stack([normal(REPLICATES, 1, 6)], rates=0.1), None


def all_layers() -> Made:
    net = FullyConnected(widths=(5, 8, 1), activation=torch.tanh)
    params = net.init(replicates=REPLICATES, generator=torch_generator(7))
    made = descent._AllLayers(net, normal(1, 4, 5), normal(REPLICATES, 4, 1))
    return made, Stack(params, rates=0.1), None


def classify(*, batch_norm: bool) -> Made:
    net = mmd.classifier((5, 6, 2), batch_norm=batch_norm)
    params = mmd.start(net, "he", generators(), dtype=torch.float64)
    made = Classify(net, normal(8, 5), rows_of_each(), rows_of_each() % 2)
    stack = Stack(params, rates=0.1, buffers=net.running(params))
    return made, stack, rows_of_each()


def supervised() -> Made:
    net = nn.Sequential(
        nn.Linear(5, 6), nn.BatchNorm1d(6), nn.GELU(), nn.Linear(6, 3)
    ).double()
    made = Supervised(net, normal(8, 5), torch.arange(8) % 3)
    return made, Stack.of(net, generators(), rates=0.1), rows_of_each()


def cross_entropy(norm: Literal["batch", "layer"] | None) -> Made:
    net = FullyConnected.uniform(
        inputs=5,
        width=6,
        depth=2,
        outputs=3,
        norm=None if norm is None else Norm(over=norm),
        activation=NormReLU() if norm is None else "relu",
        parametrisation="standard",
    )
    params = net.init(replicates=REPLICATES, generator=torch_generator(7))
    made = Classify(net, normal(8, 5), torch.arange(8)[None], torch.arange(8)[None] % 3)
    stack = Stack(params, rates=0.1, buffers=net.running(params))
    return made, stack, rows_of_each()


CASES: dict[str, Callable[[], Made]] = {
    **{f"copy {k}": lambda k=k: copy_of(k, Copy) for k in ("cnn", "fcn", "residual")},
    **{f"by hand {k}": lambda k=k: copy_of(k, CopyDense) for k in ("fcn", "residual")},
    **{f"square {f}": lambda f=f: square(f) for f in FAMILIES},
    "square convolution": lambda: square("bn", (1, 4, 4)),
    "square classes": lambda: square("bn", outputs=3),
    "top layer": top_layer,
    "all layers": all_layers,
    "classify": lambda: classify(batch_norm=False),
    "classify, normalised": lambda: classify(batch_norm=True),
    "supervised": supervised,
    "cross entropy": lambda: cross_entropy(None),
    "cross entropy, batch": lambda: cross_entropy("batch"),
    "cross entropy, layer": lambda: cross_entropy("layer"),
}
OPTIMISERS = {
    "sgd": optimisers.SGD(momentum=0.9, weight_decay=0.1),
    "adam": optimisers.Adam(),
    "adamax": optimisers.Adamax(),
    "adagrad": optimisers.Adagrad(),
    "rmsprop": optimisers.RMSprop(),
    "clipped": optimisers.Clipped(
        base=optimisers.SGD(), largest=1.0, rescale_above=0.5
    ),
}


def moved(value: Any, device: str) -> Any:
    """Return tensors, and what holds them, on a device."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, nn.Module):
        return value.to(device)
    if isinstance(value, tuple):
        return tuple(moved(part, device) for part in value)
    if isinstance(value, dict):
        return {name: moved(part, device) for name, part in value.items()}
    return value


def move(made: Task | Stack, device: str) -> None:
    for name, value in vars(made).items():
        # As the constructor would: tasks are frozen.
        object.__setattr__(made, name, moved(value, device))


def update(
    task: Task, stack: Stack, how: optimisers.Optimiser, e: Tensor | None
) -> Any:
    seen, slopes = task.losses_and_slopes(stack, e)
    how.update(stack, seen if seen.ndim == 1 else seen[0], slopes)
    stack.clock.add_(1.0)
    return seen


def perturbed() -> Made:
    net = mmd.classifier((5, 6, 2))
    params = mmd.start(net, "he", generators(), dtype=torch.float64)
    made = Perturbed(net, normal(8, 5), [Recipe()] * REPLICATES, generators())
    return made, Stack(params, rates=0.1), rows_of_each()


def of_copies(task: Any, params: Params) -> list[object]:
    net, x = task.network, task.images[0]
    classes = torch.zeros(len(x), dtype=torch.int64, device=x.device)
    layers, made = partial(net.layer_outputs, params), net.apply(params, x)
    return [
        task.over_all(params),
        signal_sizes(layers, x),
        layer_errors(layers, training=(x, classes), tests=(x, classes)),
        closeness(made, x, x[0]),
        edge_share(made, x, x[0], sobel(x)),
    ]


def of_margins(task: Any, params: Params) -> list[object]:
    x, y = task.inputs, task.targets
    classes = torch.zeros(len(x), dtype=torch.int64, device=x.device)
    return [
        margins.observe(task.network, params, x, y, classes, penalty=0.1),
        margins.example_residuals(task.network, params, x, classes),
    ]


def of_starts(task: Any, params: Params) -> list[object]:
    net, x = task.network, task.inputs
    return [
        starts.jacobian_squares(net, params, x),
        starts.detachment(net, params, x),
        starts.dead_shares(net, params, x, generators=generators(), batch=4, batches=2),
    ]


def of_depth(task: Any, params: Params) -> list[object]:
    data = {
        "inputs": task.inputs,
        "classes": task.classes[0],
        "test_inputs": task.inputs,
        "test_classes": task.classes[0],
    }
    stack = Stack.__new__(Stack)
    stack.params, stack.buffers = params, ()
    return [made(task.network, stack, data) for made in (measured, conditioned)]


MEASUREMENTS: dict[str, tuple[Callable[[], Made], Callable[..., list[object]]]] = {
    "copies": (lambda: copy_of("cnn", Copy), of_copies),
    **{f"margins {f}": (lambda f=f: square(f), of_margins) for f in FAMILIES},
    "margins, convolution": (lambda: square("bn", (1, 4, 4)), of_margins),
    "starts": (perturbed, of_starts),
    "depth": (lambda: cross_entropy(None), of_depth),
}


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_a_measurement_stays_on_its_device(name: str) -> None:
    made, measure = MEASUREMENTS[name]
    task, stack, _ = made()
    move(task, "meta")
    move(stack, "meta")
    # The last of two classes, where a measurement asks for it.
    with torch.no_grad(), Answering(1):
        assert measure(task, stack.params)


def test_an_update_of_a_start_stays_on_its_device() -> None:
    task, stack, examples = perturbed()
    adam = OPTIMISERS["adam"]
    adam.prepare(stack)
    stack.set_rates(stack.rates.numpy() * [1.0, 0.5, 0.25])
    move(task, "meta")
    move(stack, "meta")
    assert examples is not None
    with torch.no_grad(), Answering():
        seen = update(task, stack, adam, examples.to("meta"))
    assert seen.shape == (len(TERMS), REPLICATES)
    assert {t.device.type for t in stack.params} == {"meta"}


def test_the_answers_are_not_of_two_devices() -> None:
    here, there = torch.ones(2, 2), torch.ones(2, 2, device="meta")
    with Answering(1):
        assert (there.sum().item(), there[there > 0.0].shape) == (1.0, (4,))
        assert there.cpu().device.type == "cpu"
        with pytest.raises(AssertionError, match="mixes cpu and meta"):
            there @ here


@pytest.mark.parametrize("how", OPTIMISERS)
@pytest.mark.parametrize("name", CASES)
def test_an_update_stays_on_its_device_and_waits_for_nothing(
    name: str, how: str
) -> None:
    task, stack, examples = CASES[name]()
    OPTIMISERS[how].prepare(stack)
    # PyTorch's fused pass over memory has no meta version, and needs none.
    stack.set_rates(stack.rates.numpy() * [1.0, 0.5, 0.25])
    move(task, "meta")
    move(stack, "meta")
    chosen = None if examples is None else examples.to("meta")
    with torch.no_grad(), OneDevice():
        seen = update(task, stack, OPTIMISERS[how], chosen)
    assert seen.shape[-1] == REPLICATES
    assert {t.device.type for t in (*stack.params, *stack.buffers)} == {"meta"}


def test_the_mode_refuses_what_meta_lets_pass() -> None:
    here, there = torch.ones(2, 2), torch.ones(2, 2, device="meta")
    for mixed in (lambda: there @ here, lambda: there.copy_(here)):
        mixed()
        with pytest.raises(AssertionError, match="mixes cpu and meta"), OneDevice():
            mixed()
    with OneDevice():
        assert (there * torch.tensor(2.0)).device.type == "meta"


def test_every_task_that_can_be_captured_is_tried() -> None:
    def below(kind: type) -> set[type]:
        return {kind}.union(*(below(each) for each in kind.__subclasses__()))

    known = {
        each
        for each in below(Task)
        if each.__module__.startswith("empirical.") and each.capturable
    }
    tried = {type(make()[0]) for make in CASES.values()}
    assert known - {Task} == tried


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize(
    ("name", "how"),
    [*itertools.product(CASES, ("sgd", "adam")), ("copy cnn", "clipped")],
)
def test_a_graph_makes_the_numbers_of_its_eager_twin(name: str, how: str) -> None:
    pairs = []
    for graphed in (False, True):
        task, stack, examples = CASES[name]()
        OPTIMISERS[how].prepare(stack)
        move(task, "cuda")
        move(stack, "cuda")
        chosen = None if examples is None else examples.cuda()

        def once(task=task, stack=stack, chosen=chosen) -> Tensor:
            return update(task, stack, OPTIMISERS[how], chosen)

        moments = [t for each in stack.state.values() for t in each]
        mutable = (*stack.params, *stack.buffers, *moments, stack.clock)
        with torch.no_grad():
            step = captured(once, mutable) if graphed else once
            for _ in range(5):
                step()
        pairs.append(stack.params)
    for eager, graph in zip(*pairs, strict=True):
        torch.testing.assert_close(graph, eager, rtol=1e-9, atol=1e-11)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("name", CASES)
def test_a_gpu_trains_to_the_numbers_of_a_cpu(name: str) -> None:
    finals = []
    for device in ("cpu", "cuda"):
        task, stack, _ = CASES[name]()
        move(task, device)
        move(stack, device)
        finals.append(train(task, stack, optimisers.SGD(momentum=0.5), steps=8).final)
    for here, there in zip(*finals, strict=True):
        torch.testing.assert_close(there.cpu(), here, rtol=1e-7, atol=1e-9)
