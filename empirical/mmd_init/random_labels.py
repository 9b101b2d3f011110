"""Pre-training on labels that mean nothing: the rival that sees the same inputs.

"R.label" of the paper. Labels are drawn for every minibatch, so nothing can be learnt but
to be unsure: the least expected cross entropy is log C, of a constant prediction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from empirical.mmd_init.binary_tasks import check_inputs
from empirical.mmd_init.recipes import Recipe
from empirical.mmd_init.task import check_params
from empirical.networks import FullyConnected, Params
from empirical.testbed import loop
from empirical.testbed.batches import Epochs
from empirical.testbed.observers import BestWindow, Curve
from empirical.testbed.optimisers import Adam
from empirical.testbed.stack import Stack
from empirical.testbed.supervised import Classify
from empirical.testbed.writing import Array, Bools, Integers


@dataclass(frozen=True, kw_only=True, eq=False)
class RandomLabelled:
    """Results of pre-training on random labels.

    Attributes
    ----------
    params, buffers : tuple of Tensor
        Of each replicate at the end of its best window; its start where no window has a
        finite mean.
    best_window : int array, shape (replicates,)
        1, 2, ..., the first of least mean loss; 0 where none is finite.
    losses : float array, shape (replicates, windows)
        Mean over each window of the losses that its steps went down from.
    diverged : bool array, shape (replicates,)
        Whether a loss was not finite, be it after the best window.
    """

    params: Params
    buffers: Params
    best_window: Integers
    losses: Array
    diverged: Bools


def pretrain_random_labels(
    network: FullyConnected,
    params: Params,
    inputs: Tensor,
    *,
    generators: Sequence[torch.Generator],
    recipe: Recipe | None = None,
    optimiser: Adam | None = None,
    progress: loop.Progress | None = None,
    checkpoint: Path | None = None,
) -> RandomLabelled:
    """Pre-train a stack on inputs with labels drawn uniformly for every minibatch.

    Windows are consecutive and do not overlap; steps after the last whole one count for
    nothing. The state kept is that at the end of the window of least mean loss, running
    statistics of batch normalisation included. The paper says which parameters it keeps
    by "averaged over each 100 steps", and leaves open which state of those that is.

    Parameters
    ----------
    network : FullyConnected
    params : tuple of Tensor
        Not changed.
    inputs : Tensor, shape (n, features)
        The same for all replicates, each in its own order, drawn anew each epoch.
    generators : sequence of torch.Generator
        Of orders and labels, on the CPU, one a replicate, whose course does not
        depend on the others, but for rounding.
    recipe : Recipe, optional
        For its batch, steps, rate, window and `frozen`; by default the paper's, with its
        9,375 steps on the 60,000 digits.
    optimiser : Adam, optional
        With other moments than PyTorch's, or another number below the line.
    progress, checkpoint
        As of `finetuning.finetune`, with windows in the place of epochs.

    Raises
    ------
    ValueError
        If shapes do not fit, values are not finite, there are fewer inputs than a batch
        or fewer steps than a window, a batch of one is to be normalised, or the
        checkpoint is of other arguments.

    Examples
    --------
    >>> from empirical.randomness import torch_generator
    >>> from empirical.mmd_init.networks import classifier, start
    >>> net = classifier((16, 32, 2))
    >>> first = start(net, "he", [torch_generator(7, "start")])
    >>> x = torch.randn(128, 16, generator=torch_generator(7, "inputs"))
    >>> made = pretrain_random_labels(
    ...     net,
    ...     first,
    ...     x,
    ...     generators=[torch_generator(7, "labels")],
    ...     recipe=Recipe(steps=600, rate=2e-3),
    ... )
    >>> made.losses.shape, bool(abs(made.losses[0, -1] - np.log(2.0)) < 0.02)
    ((1, 6), True)
    """
    recipe, optimiser = recipe or Recipe(), optimiser or Adam()
    replicates = check_params("pretrain_random_labels", network, params)
    steps = _checked(network, inputs, recipe)
    if len(generators) != replicates:
        raise ValueError(
            f"pretrain_random_labels: `generators` must be {replicates}, one each, but "
            f"they are {len(generators)}"
        )
    x, classes = inputs.to(params[0]), network.widths[-1]
    # Each input with each label is an example.
    every = torch.arange(len(x) * classes, device=x.device)[None]
    whole = len(x) // recipe.batch * recipe.batch

    def labelled(generator: torch.Generator) -> Tensor:
        order = torch.randperm(len(x), generator=generator)[:whole]
        labels = torch.randint(classes, (whole,), generator=generator)
        return order * classes + labels

    curve, best = Curve(np.arange(steps)), BestWindow(recipe.window)

    def told(done: int, total: int, loss: float) -> None:
        if progress is not None:
            windows = best.values.shape[1]
            progress(done, total, float(best.values[:, -1].mean()) if windows else loss)

    loop.train(
        Classify(network, x, every // classes, every % classes),
        Stack(
            network.arranged(params),
            rates=recipe.rate,
            buffers=network.running(params),
            learnt=network.of_layer(-1) if recipe.frozen else None,
        ),
        optimiser,
        steps=steps,
        check=recipe.window,
        batches=Epochs(whole, recipe.batch, generators, order=labelled),
        observers=[curve, best],
        checkpoint=checkpoint,
        progress=told,
    )
    return RandomLabelled(
        params=tuple(p.contiguous() for p in best.params),
        buffers=best.buffers,
        best_window=best.at // recipe.window,
        losses=best.values,
        diverged=np.asarray(~np.isfinite(curve.values).all(axis=1)),
    )


def _checked(network: FullyConnected, inputs: Tensor, recipe: Recipe) -> int:
    """Return the number of steps; refuse what does not fit together."""
    who = "pretrain_random_labels"
    check_inputs(who, "inputs", inputs)
    if inputs.shape[1] != network.widths[0]:
        raise ValueError(
            f"{who}: `inputs` must have {network.widths[0]} features, as many as "
            f"`network` has inputs, but they have {inputs.shape[1]}"
        )
    if len(inputs) < recipe.batch:
        raise ValueError(
            f"{who}: `inputs` must be at least a batch of {recipe.batch}, but there are "
            f"{len(inputs)}. Lower the recipe's `batch`."
        )
    if network.norm and recipe.batch == 1:
        raise ValueError(
            f"{who}: `batch` must be at least 2 with batch normalisation, but it is 1"
        )
    return recipe.checked_updates(who, len(inputs))
