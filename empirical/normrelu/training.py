"""Training of a stack, and what is measured after every epoch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from empirical.checks import check_choice, check_classes, check_counts, check_finite
from empirical.kernels import gram
from empirical.networks import Network, Params
from empirical.normrelu.networks import Arm
from empirical.normrelu.recipes import PLAIN, Recipe
from empirical.normrelu.tangent import conditions, tangent_kernels
from empirical.randomness import Drawing, shared, torch_generator
from empirical.testbed.batches import Epochs
from empirical.testbed.checkpoints import Checkpoint, fingerprint
from empirical.testbed.faults import FAULTS, FEWER
from empirical.testbed.loop import train
from empirical.testbed.observers import Diverged, Drops, Series
from empirical.testbed.optimisers import SGD
from empirical.testbed.stack import Stack
from empirical.testbed.supervised import Classify
from empirical.testbed.writing import Array

PAIRS = 200
"""Test inputs whose dot products are followed, in pairs of neighbours."""
KERNEL = 256
"""Training examples of the tangent kernel."""
TOP = 32
"""Of these, so many in the kernel of the top layer: fewer than it has units."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Examples:
    """Inputs, shape (n, ...), float32 and of norm sqrt(d), with their classes."""

    inputs: Tensor
    classes: Tensor
    test_inputs: Tensor
    test_classes: Tensor


class Augmentation(Drawing):
    """Moves and mirrors the images of an update.

    What one network sees does not depend on the others, nor on how many have left.

    Parameters
    ----------
    kinds : collection of str
        As of `recipes.Recipe`.
    generators : sequence of torch.Generator
        On the CPU, one a replicate; those that are given the same one see the same.
    """

    told = ("kinds", "whose")

    def __init__(
        self, kinds: Sequence[str], generators: Sequence[torch.Generator]
    ) -> None:
        self.kinds = frozenset(kinds)
        self.generators = list(dict.fromkeys(generators))
        self.whose = [self.generators.index(g) for g in generators]

    def __call__(self, images: Tensor, stack: Stack) -> Tensor:
        """Return images, shape (replicates, batch, channels, height, width), as shown."""
        batch, sides = images.shape[1], images.shape[-2:]
        border = min(sides) // 8 if "crop" in self.kinds else 0
        drawn = torch.stack([self._draw(g, batch, border) for g in self.generators])
        mine = drawn[self.whose].to(images.device)[stack.rows]
        down, across = (
            torch.arange(side, device=images.device) + mine[..., i, None]
            for i, side in enumerate(sides)
        )
        across = torch.where(mine[..., 2, None] > 0, across.flip(-1), across)
        wide = functional.pad(images, [border] * 4).movedim(2, -1)
        row = torch.arange(len(images), device=images.device)[:, None, None, None]
        image = torch.arange(batch, device=images.device)[:, None, None]
        seen = wide[row, image, down[..., :, None], across[..., None, :]]
        return seen.movedim(-1, 2)

    def _draw(self, generator: torch.Generator, batch: int, border: int) -> Tensor:
        """Return shifts down and across, and whether to mirror: int64, (batch, 3)."""
        shifts = torch.randint(2 * border + 1, (batch, 2), generator=generator)
        mirrored = torch.randint(2, (batch, 1), generator=generator)
        return torch.cat([shifts, mirrored * ("flip" in self.kinds)], dim=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Course:
    """Results of training a stack.

    Attributes
    ----------
    status : tuple of str
        ``"finished"`` or ``"diverged"``.
    series : mapping of str to array, shape (times, replicates, ...)
        After each epoch, the start first, or at the end alone: ``train_accuracy``,
        ``test_accuracy``, ``train_loss``; ``cosines`` and ``lengths`` by hidden layer, see
        `hidden_signals`. At the start, half way and at the end, of networks of vectors:
        ``condition`` of the tangent kernel and ``top_condition`` of the top layer's, see
        `tangent.conditions`. NaN after a replicate's end.
    """

    status: tuple[str, ...]
    series: dict[str, Array]


def trained(
    arm: Arm,
    network: Network,
    examples: Examples,
    *,
    rates: Sequence[float],
    seeds: Sequence[int],
    epochs: int,
    batch: int,
    every_epoch: bool = True,
    recipe: Recipe = PLAIN,
    fault: str = "",
    device: str = "cpu",
    progress: Any = None,
    checkpoint: Path | None = None,
) -> Course:
    """Train one network for each rate and seed, in this order, side by side.

    Unless it is measured after `every_epoch`, it is so at the end alone. The `recipe` is
    what practice adds. With a `fault` of `empirical.testbed.faults` they are trained
    wrongly. An interrupted call goes on from its `checkpoint`.

    Raises
    ------
    ValueError
        If examples do not fit the network or are not finite, a number does not fit, or
        the fault is not known.
    """
    if fault:
        check_choice("trained", "fault", fault, FAULTS)
    check_counts("trained", epochs=epochs, batch=batch)
    names = [(rate, seed) for rate in rates for seed in seeds]
    if not names:
        raise ValueError(
            "trained: `rates` and `seeds` must not be empty, but they are "
            f"{list(rates)} and {list(seeds)}"
        )
    params = arm.init(
        network,
        [torch_generator(s, "normrelu", "weights") for _, s in names],
        recipe.start,
    )
    stack = Stack(
        [p.to(device) for p in params],
        rates=[rate for rate, _ in names],
        learnt=network.of_layer(-1) if fault == "frozen" else None,
        buffers=[b.to(device) for b in network.running(params)],
    )
    if fault in ("slow", "untrained"):
        factor = 0.01 if fault == "slow" else 0.0
        stack.set_rates(factor * stack.rates.double().cpu().numpy())
    if fault == "shuffled":
        order = torch_generator(seeds[0], "normrelu", "shuffled labels")
        mixed = examples.classes[torch.randperm(len(examples.classes), generator=order)]
        examples = replace(examples, classes=mixed)
    for split in ("", "test_"):
        inputs = getattr(examples, f"{split}inputs")
        network.check(params, inputs)
        check_finite("trained", f"{split}inputs", inputs)
        classes, most = getattr(examples, f"{split}classes"), network.units[-1] - 1
        check_classes("trained", f"{split}classes", classes, len(inputs), most)
    data = {k: v.to(device) for k, v in vars(examples).items()}

    def streams(name: str) -> list[torch.Generator]:
        each = (seed for _, seed in names)
        return shared(each, lambda seed: torch_generator(seed, "normrelu", name))

    batches = Epochs(len(examples.inputs), batch, streams("batches"))
    times = np.arange(epochs + 1) * batches.per_epoch
    if fault == "short":
        times = np.maximum(times // FEWER, np.minimum(times, 1))
    looks = [
        Series(
            times if every_epoch else times[-1:],
            lambda now: measured(network, now, data),
        )
    ]
    if every_epoch and examples.inputs.ndim == 2:
        some = np.unique(times[[0, len(times) // 2, -1]])
        looks.append(Series(some, lambda now: conditioned(network, now, data)))
    augmentation = None
    if recipe.augmentation:
        augmentation = Augmentation(recipe.augmentation, streams("augmentation"))
    every = torch.arange(len(data["inputs"]), device=device)[None]
    classes = data["classes"][None]
    done = train(
        Classify(network, data["inputs"], every, classes, augmentation),
        stack,
        SGD(momentum=0.9, weight_decay=recipe.decay),
        steps=int(times[-1]),
        batches=batches,
        check=batches.per_epoch,
        observers=[
            *looks,
            Drops(recipe.drops(epochs * batches.per_epoch), 0.1),
            Diverged(every=batches.per_epoch),
        ],
        # Tests are no part of the training.
        checkpoint=checkpoint and Checkpoint(checkpoint, of=fingerprint(data)),
        progress=progress,
    )
    series = {name: values for look in looks for name, values in look.values.items()}
    return Course(status=done.status, series=series)


def measured(
    network: Network, stack: Stack, data: dict[str, Tensor]
) -> dict[str, Tensor]:
    """Return accuracies, the training loss and the signals of a stack."""
    found: dict[str, Tensor] = {}
    for split, name in (("train", ""), ("test", "test_")):
        outputs = _outputs(network, stack, data[f"{name}inputs"])
        classes = data[f"{name}classes"]
        # The largest of numbers that are none would be the first class's.
        right = (outputs.argmax(dim=2) == classes) & ~outputs.isnan().any(dim=2)
        found[f"{split}_accuracy"] = right.double().mean(dim=1)
        if split == "train":
            each = functional.cross_entropy(
                outputs.flatten(0, 1), classes.repeat(len(outputs)), reduction="none"
            )
            found["train_loss"] = each.view(len(outputs), -1).double().mean(dim=1)
    # With the statistics of this batch: running ones are still 0 and 1 before the first
    # update.
    pairs = data["test_inputs"][: 2 * PAIRS]
    return found | hidden_signals(network.run(stack.params, pairs).hidden)


def conditioned(
    network: Network, stack: Stack, data: dict[str, Tensor]
) -> dict[str, Tensor]:
    """Return the condition numbers of a stack's tangent and top layers' kernels."""
    inputs = data["inputs"][:KERNEL]
    kernels = tangent_kernels(network, stack.params, inputs, buffers=stack.buffers)
    # A norm over batches takes all of `inputs` as its batch, as for the signals.
    top = network.run(stack.params, inputs).hidden[-1][:, :TOP].double()
    return {"condition": conditions(kernels), "top_condition": conditions(gram(top))}


def _outputs(network: Network, stack: Stack, inputs: Tensor) -> Tensor:
    """Return outputs, some inputs after others: hidden layers of all take memory."""
    return torch.cat(
        [
            network.run(
                stack.params, some, buffers=stack.buffers, training=False
            ).outputs
            for some in inputs.split(500)
        ],
        dim=1,
    )


def hidden_signals(hidden: Params) -> dict[str, Tensor]:
    """Return the mean absolute cosine of neighbouring inputs, and the mean square length.

    Of h_1, ..., h_L, each (replicates, n, ...): shape (replicates, L) both. A pair of
    which one is zero has no cosine; NaN where that is so of all.
    """
    cosines: list[Tensor] = []
    lengths: list[Tensor] = []
    for h in hidden:
        one = h.flatten(2).double()
        norms = one.norm(dim=2, keepdim=True)
        unit, zero = one / norms, norms[..., 0] == 0.0
        count = one.shape[1] // 2 * 2
        a, b = unit[:, 0:count:2], unit[:, 1:count:2]
        undefined = zero[:, 0:count:2] | zero[:, 1:count:2]
        each = (a * b).sum(dim=2).abs().masked_fill(undefined, 0.0)
        cosines.append(each.sum(dim=1) / (~undefined).sum(dim=1))
        lengths.append(one.square().mean(dim=(1, 2)))
    return {
        "cosines": torch.stack(cosines, dim=1),
        "lengths": torch.stack(lengths, dim=1),
    }
