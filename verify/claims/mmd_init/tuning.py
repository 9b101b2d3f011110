"""Fine-tuning and random labels, and what both are given (closed claims)."""

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from empirical import data
from empirical.mmd_init.binary_tasks import (
    Images,
    Split,
    draw_splits,
    images,
    random_tasks,
)
from empirical.mmd_init.classifiers import classifier
from empirical.mmd_init.finetuning import FineTuned, finetune
from empirical.mmd_init.networks import from_module
from empirical.mmd_init.random_labels import RandomLabelled, pretrain_random_labels
from empirical.mmd_init.recipes import FinetuneRecipe, Recipe
from empirical.testbed.optimisers import Adam
from verify.claim import grid
from verify.claims._descent import step
from verify.claims._resumed import resumed
from verify.claims._twins import (
    SUMS,
    closed,
    drawn_into,
    normal,
    orders,
    sketch,
    stacked,
)
from verify.compare import Identical

_RUNS, _EPOCHS = 2, 3


def plain(widths: list[int], seed: int, *, norm: bool) -> nn.Sequential:
    """Return a classifier of PyTorch's own layers, parameters drawn at random."""
    parts: list[nn.Module] = []
    for a, b in pairwise(widths):
        parts += [nn.Linear(a, b), *([nn.BatchNorm1d(b)] if norm else []), nn.ReLU()]
    net = nn.Sequential(*parts[: -2 if norm else -1]).double()
    drawn_into(net.parameters(), [100, seed], size=1.3)
    return net


def _state(net: nn.Module) -> list[Tensor]:
    """Return parameters, then running means and variances."""
    return [*net.parameters(), *(b for b in net.buffers() if b.ndim)]


def _stacked(each: list[nn.Sequential]) -> tuple[tuple[Tensor, ...], ...]:
    """Return parameters, and running statistics, replicates in front."""
    statistics = [[b for b in net.buffers() if b.ndim] for net in each]
    return stacked(net.parameters() for net in each), stacked(statistics)


def _images() -> Images:
    tests, labels = normal(13, 5, seed=[101]), torch.arange(13) % 3
    return Images(
        inputs=normal(29, 5, seed=[102]),
        labels=torch.arange(29) % 3,
        test_inputs=tests,
        test_labels=labels,
        source={},
        mean=0.0,
        std=1.0,
    )


_TASKS = np.array([[False, True, True], [True, False, True], [False, False, True]])
_SPLIT = Split(
    train=np.array([range(4, 12), [1, 2, 3, 5, 8, 13, 20, 27], range(20, 28)]),
    validation=np.array([[1, 2, 3], [0, 6, 7], [0, 9, 19]]),
)
_REACHED = (0, 4, 3 * _EPOCHS)
"""Updates after which accuracies are looked at: before any, within an epoch, at the end."""


def _split(run: int) -> Split:
    """Return a run's own examples: others for each."""
    moved = ((rows + run) % 29 for rows in (_SPLIT.train, _SPLIT.validation))
    return Split(**dict(zip(("train", "validation"), moved, strict=True)))


def _own(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(100 + seed)


# --- fine-tuning ------------------------------------------------------------------------


def _plain_tuning(
    *,
    norm: bool,
    frozen: bool,
    widths: list[int],
    after: int | None = None,
    shared: bool = True,
    wrong: bool,
) -> list[float]:
    """Train one network on one task after the other, and keep the best epoch.

    Told on the way is the mean loss of the epoch that has ended, over all networks.

    Wrong: Mean losses of batches averaged without their sizes.
    """
    found, told, given = list[float](), np.zeros(_EPOCHS), _images()
    means: list[float] = []
    for run in range(_RUNS):
        part = _split(0 if shared else run)
        means.append(0.0)
        for task, classes in enumerate(torch.from_numpy(_TASKS).long()):
            net = plain(widths, run, norm=norm)
            first = [p.detach().clone() for p in net.parameters()]
            train, held = (
                torch.from_numpy(rows[task]) for rows in (part.train, part.validation)
            )
            learnt = [*net.parameters()][-2:] if frozen else [*net.parameters()]
            adam = torch.optim.Adam(learnt, lr=0.05, betas=(0.8, 0.95), eps=1e-3)
            losses, least, best, accuracy, moved = [], np.inf, 0, 0.0, [0.0]
            validation: list[float] = []
            generator = _own(len(_TASKS) * run + task)
            steps = enumerate(orders(len(train), 3, 3 * _EPOCHS, generator))
            whole = 0.0
            reached = {0: _accuracy(net, given, classes)}
            for t, chosen in steps:
                net.train()
                rows = train[chosen]
                logits = net(given.inputs[rows])
                loss = nn.functional.cross_entropy(logits, classes[given.labels[rows]])
                whole += step(adam, loss) * (1 if wrong else len(rows))
                gaps = zip(net.parameters(), first, strict=True)
                far = [float((p.detach() - q).square().sum()) for p, q in gaps]
                moved.append(sum(far) ** 0.5)
                reached[t + 1] = _accuracy(net, given, classes)
                if t % 3 == 2:
                    losses.append(whole / (3 if wrong else len(train)))
                    whole = 0.0
                    value = _held_out(
                        net, given.inputs[held], classes[given.labels[held]]
                    )
                    validation.append(value)
                    if value < least:
                        least, best = value, len(validation)
                        accuracy = _accuracy(net, given, classes)
            means[-1] += accuracy / len(_TASKS)
            found += [accuracy, best, *validation, *losses, *moved]
            found += [reached[t] for t in _REACHED]
            told += np.array(losses) / (_RUNS * len(_TASKS))
    return [*found, *means, *told]


@torch.no_grad()
def _held_out(net: nn.Module, x: Tensor, y: Tensor) -> float:
    return float(nn.functional.cross_entropy(net.eval()(x), y))


@torch.no_grad()
def _accuracy(net: nn.Module, given: Images, classes: Tensor) -> float:
    chosen = net.eval()(given.test_inputs).argmax(dim=1)
    return float((chosen == classes[given.test_labels]).double().mean())


def _found_tuning(
    *,
    norm: bool,
    frozen: bool,
    widths: list[int],
    after: int | None = None,
    shared: bool = True,
) -> list[float]:
    network = classifier(widths, batch_norm=norm)
    each = [_split(run) for run in range(_RUNS)]
    split = Split(
        train=np.stack([one.train for one in each]),
        validation=np.stack([one.validation for one in each]),
    )
    params, buffers = _stacked([plain(widths, run, norm=norm) for run in range(_RUNS)])
    told: dict[int, float] = {}

    def tell(made: int, steps: int, loss: float) -> None:
        assert steps == 3 * _EPOCHS
        told[made] = loss

    def run_all(progress: Any = tell, checkpoint: Any = None) -> FineTuned:
        return finetune(
            network,
            params,
            _images(),
            _TASKS,
            _SPLIT if shared else split,
            generators=[_own(k) for k in range(_RUNS * len(_TASKS))],
            buffers=buffers,
            recipe=FinetuneRecipe(
                epochs=_EPOCHS,
                rate=0.05,
                batch=3,
                betas=(0.8, 0.95),
                eps=1e-3,
                frozen=frozen,
            ),
            recorded=True,
            reached=_REACHED,
            progress=progress,
            checkpoint=checkpoint,
        )

    if after is None:
        done = run_all()
    else:
        done, told = resumed(run_all, after=after)
    assert done.distances is not None
    assert done.reached is not None
    found: list[float] = []
    for run in range(_RUNS):
        for task in range(len(_TASKS)):
            at = (run, task)
            found += [done.test_accuracy[at], done.best_epoch[at]]
            found += [*done.validation_loss[at], *done.train_loss[at]]
            found += [*done.distances[at], *done.reached[at]]
    found += [*done.mean]
    found += [told[3 * epoch] for epoch in range(1, _EPOCHS + 1)]
    return [float(number) for number in found]


TUNING = closed(
    id="mmd/prelim-steps",
    title="Fine-tuning, stopped or not, keeps the best epoch of PyTorch's Adam",
    statement=r"\theta^*=\theta_{e^*},\qquad e^*=\operatorname{argmin}_eL_{val}(\theta_e),"
    r"\qquad\theta_T\text{ by way of a checkpoint of }\theta_t",
    where="Section 4, on training and evaluation",
    cases=(
        *grid(norm=(False, True), frozen=False, widths=([5, 6, 2], [5, 4, 6, 2])),
        *grid(norm=True, frozen=True, widths=([5, 4, 2],)),
        # Each run with examples of its own.
        *grid(norm=True, frozen=False, widths=([5, 6, 2],), shared=False),
        # Stopped between two epochs, and within one: of all networks or of four alone.
        *grid(norm=True, frozen=False, widths=([5, 6, 2],), after=(3, 4, 5)),
    ),
    twin=_plain_tuning,
    measure=_found_tuning,
    uses=("id/B1-norms",),
    version=2,
)

# --- random labels ----------------------------------------------------------------------


_WHOLE = (3, 6)
"""Updates after which a window of three is whole."""


def _plain_labels(
    *, norm: bool, frozen: bool, after: int | None = None, wrong: bool
) -> list[float]:
    """Learn random labels by PyTorch's Adam, and keep the best window.

    Wrong: Labels that are all of one class.
    """
    x, found, whole = normal(11, 5, seed=[103]), list[float](), list[list[float]]()
    for run in range(_RUNS):
        net, generator = plain([5, 6, 3], run, norm=norm), _own(run)
        learnt = [*net.parameters()][-2:] if frozen else [*net.parameters()]
        adam = torch.optim.Adam(learnt, lr=0.04, betas=(0.7, 0.9), eps=1e-6)
        kept, least, at, sums = _state(net), np.inf, 0, list[float]()
        kept = [p.detach().clone() for p in kept]
        windows: list[float] = []
        order = labels = torch.zeros(0, dtype=torch.int64)
        for t in range(7):
            if t % 2 == 0:
                # Two batches of four; three inputs are left out.
                order = torch.randperm(11, generator=generator)[:8]
                labels = torch.randint(3, (8,), generator=generator)
            part = slice(4 * (t % 2), 4 * (t % 2) + 4)
            y = torch.full_like(labels[part], 1) if wrong else labels[part]
            loss = nn.functional.cross_entropy(net(x[order[part]]), y)
            sums.append(step(adam, loss))
            if t % 3 == 2:
                windows.append(float(np.mean(sums)))
                sums = []
                if windows[-1] < least:
                    least, at = windows[-1], len(windows)
                    kept = [p.detach().clone() for p in _state(net)]
        found += [at, *windows, *sketch(*kept)]
        whole.append(windows)
    # Told once windows are whole, where it is stopped: the mean loss of the last.
    told = [] if after is None else np.mean(whole, axis=0).tolist()
    return [*told, *found]


def _found_labels(*, norm: bool, frozen: bool, after: int | None = None) -> list[float]:
    network = classifier([5, 6, 3], batch_norm=norm)
    params, _ = _stacked([plain([5, 6, 3], run, norm=norm) for run in range(_RUNS)])

    def run_all(**kept: Any) -> RandomLabelled:
        return pretrain_random_labels(
            network,
            params,
            normal(11, 5, seed=[103]),
            generators=[_own(run) for run in range(_RUNS)],
            recipe=Recipe(steps=7, window=3, batch=4, rate=0.04, frozen=frozen),
            optimiser=Adam(betas=(0.7, 0.9), eps=1e-6),
            **kept,
        )

    done, told = resumed(run_all, after=after)
    found = [told[made] for made in _WHOLE if made in told]
    for run in range(_RUNS):
        kept = [p[run] for p in (*done.params, *done.buffers)]
        found += [done.best_window[run], *done.losses[run], *sketch(*kept)]
    return [float(number) for number in found]


LABELS = closed(
    id="mmd/tab1-random",
    title="Random labels, stopped or not, are learned by Adam, and the best window is kept",
    statement=r"\theta^*=\theta_{t^*},\qquad t^*=\operatorname{argmin}\bar L_{window},"
    r"\qquad\theta_T\text{ by way of a checkpoint of }\theta_t",
    where="Section 4, on baselines, and appendix D.2",
    cases=(
        *grid(norm=(False, True), frozen=(False, True)),
        *grid(norm=True, frozen=False, after=(2, 3, 5)),
    ),
    twin=_plain_labels,
    measure=_found_labels,
    version=2,
)

# --- tasks, examples, images ------------------------------------------------------------


def _splits(limit: int) -> tuple[tuple[Any, int], ...]:
    return ("train", limit), ("test", 7)


def _plain_images(*, side: Any, limit: int, wrong: bool) -> list[float]:
    """Average pixels square by square, and standardise by loops.

    Wrong: The deviation of a sample, with one pixel fewer in the denominator.
    """
    train, test = (
        data.load("mnist", split, cached=False).head(n).images / 255.0
        for split, n in _splits(limit)
    )
    if side is not None:
        edge = 28 // side
        train, test = (
            x.reshape(len(x), side, edge, side, edge).mean(axis=(2, 4))
            for x in (train, test)
        )
    mean = train.mean()
    std = train.std(ddof=1 if wrong else 0)
    each = ((train - mean) / std, (test - mean) / std)
    return [mean, std, *sketch(*each), *sketch(*(x[-1] for x in each))]


def _found_images(*, side: Any, limit: int) -> list[float]:
    made = images(side=side, limit=limit, tests=7, cached=False, dtype=torch.float64)
    each = (made.inputs, made.test_inputs)
    return [made.mean, made.std, *sketch(*each), *sketch(*(x[-1] for x in each))]


IMAGES = closed(
    id="mmd/prelim-images",
    title="Images are standardised by the mean and deviation of all training pixels",
    statement=r"x\mapsto(x-\bar x)/\sqrt{\overline{(x-\bar x)^2}}",
    where="Section 4, on datasets",
    cases=(*grid(side=(None, 7, 14), limit=(5, 30)), {"side": 4, "limit": 4000}),
    compare=SUMS,
    twin=_plain_images,
    measure=_found_images,
)


def _labels(classes: int) -> np.ndarray[Any, Any]:
    return np.arange(60) * 7 % classes


def _plain_draws(
    *, classes: int, per_class: int, tasks: int, wrong: bool
) -> list[list[int]]:
    """Draw tasks by the digits of numbers, and examples class by class.

    Wrong: One example of validation among those to train on.
    """
    rng = np.random.default_rng([104, classes])
    codes = rng.choice(2**classes - 2, size=tasks, replace=False)
    made = [[(int(c) + 1) // 2**k % 2 for k in range(classes)] for c in codes]
    labels, held = _labels(classes), max(1, classes * per_class // 5)
    each, rng = held // classes, np.random.default_rng([105, classes])
    for _ in range(tasks):
        train, validation, used = [], [], list[int]()
        for label in range(classes):
            own = [i for i, found in enumerate(labels) if found == label]
            drawn = rng.choice(own, per_class + each, replace=False).tolist()
            cut = per_class + 1 if wrong else per_class
            train += drawn[:cut]
            validation += drawn[cut:]
            used += drawn
        if held % classes:
            unused = [i for i in range(60) if i not in used]
            validation += rng.choice(unused, held % classes, replace=False).tolist()
        made += [train, validation]
    return made


def _found_draws(*, classes: int, per_class: int, tasks: int) -> list[list[int]]:
    # Ten is what there are unless said.
    said: Any = {} if classes == 10 else {"classes": classes}
    made = random_tasks(tasks, np.random.default_rng([104, classes]), **said)
    found = made.astype(int).tolist()
    rng = np.random.default_rng([105, classes])
    drawn = draw_splits(_labels(classes), tasks, per_class, rng, **said)
    for train, validation in zip(drawn.train, drawn.validation, strict=True):
        found += [train.tolist(), validation.tolist()]
    return found


DRAWS = closed(
    id="mmd/prelim-draws",
    title="Tasks are non-constant labellings, with examples drawn class by class",
    statement=r"\tau\in\{0,1\}^C\setminus\{0,1\},\quad N,\tfrac N5\text{ a class}",
    where="Section 4, on tasks",
    cases=(
        {"classes": 3, "per_class": 5, "tasks": 6},
        {"classes": 4, "per_class": 7, "tasks": 3},
        {"classes": 2, "per_class": 1, "tasks": 2},
        {"classes": 10, "per_class": 4, "tasks": 2},
    ),
    compare=Identical(),
    twin=_plain_draws,
    measure=_found_draws,
    uses=("mmd/prelim",),
)


def _plain_module(*, flat: bool, wrong: bool) -> list[float]:
    """Return the sizes of a module's layers, and its outputs.

    Wrong: A bias left out.
    """
    net = plain([6, 5, 4, 3], 9, norm=False)
    x = normal(4, 6, seed=[106])
    if wrong:
        [*net.parameters()][3].data.zero_()
    return [6.0, 5.0, 4.0, 3.0, *sketch(net(x))]


def _found_module(*, flat: bool) -> list[float]:
    net = plain([6, 5, 4, 3], 9, norm=False)
    given = nn.Sequential(nn.Flatten(), *net) if flat else net
    network, params = from_module(given)
    outputs = network.apply(params, normal(4, 6, seed=[106]))
    return [*map(float, network.widths), *sketch(outputs)]


MODULE = closed(
    id="mmd/prelim-module",
    title="A sequential PyTorch module is read with every weight and bias",
    statement=r"f(x)=W_3\sigma(W_2\sigma(W_1x+b_1)+b_2)+b_3",
    where="Appendix D.1",
    cases=grid(flat=(False, True)),
    compare=SUMS,
    twin=_plain_module,
    measure=_found_module,
    uses=("mmd/prelim-given",),
)
