"""Pre-training on labels that mean nothing: the rival that sees the same inputs.

"R.label" of the paper. Labels are drawn for every minibatch, so nothing can be learnt but
to be unsure: the least expected cross entropy is log C, of a constant prediction.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from empirical.mmd_init._adam import (
    Learner,
    Progress,
    Told,
    check_adam,
    check_count,
    check_state,
    draws_at_once,
    in_chunks,
)
from empirical.mmd_init.networks import Network, State
from empirical.mmd_init.tasks import check_inputs


@dataclass(frozen=True, kw_only=True)
class RandomLabelRecipe:
    """Adam on the cross entropy with labels drawn for every minibatch.

    Attributes
    ----------
    epochs : int
        Passes over the inputs; what is left of each after whole batches is left out.
    steps : int, optional
        So many steps in the place of `epochs`.
    batch : int
        Examples a step.
    rate, betas, eps
        Of Adam.
    window : int
        Steps over which losses are averaged to choose what to keep.

    Raises
    ------
    ValueError
        If a value does not fit.
    """

    epochs: int = 5
    steps: int | None = None
    batch: int = 32
    rate: float = 2e-4
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    window: int = 100

    def __post_init__(self) -> None:
        who = "RandomLabelRecipe"
        check_adam(
            who, rate=self.rate, betas=self.betas, eps=self.eps, batch=self.batch
        )
        check_count(who, "epochs", self.epochs)
        check_count(who, "window", self.window)
        if self.steps is not None:
            check_count(who, "steps", self.steps)


@dataclass(frozen=True, kw_only=True, eq=False)
class RandomLabelled:
    """What pre-training on random labels came to.

    Attributes
    ----------
    state : dict
        Of each draw at the end of its best window; its start where no window has a
        finite mean.
    best_window : int array, shape (draws,)
        1, 2, ..., the first of least mean loss; 0 where none is finite.
    losses : float array, shape (draws, windows)
        Mean over each window of the losses that its steps went down from.
    diverged : bool array, shape (draws,)
        Whether a loss was not finite, be it after the best window.
    """

    state: State
    best_window: npt.NDArray[np.int64]
    losses: npt.NDArray[np.float64]
    diverged: npt.NDArray[np.bool_]


def pretrain_random_labels(
    network: Network,
    state: Mapping[str, Tensor],
    inputs: Tensor,
    *,
    generators: Sequence[torch.Generator],
    recipe: RandomLabelRecipe | None = None,
    chunk: int | None = None,
    progress: Progress | None = None,
) -> RandomLabelled:
    """Pre-train a stack on inputs with labels drawn uniformly for every minibatch.

    Windows are consecutive and do not overlap; steps after the last whole one count for
    nothing. The state kept is that at the end of the window of least mean loss, running
    statistics of batch normalisation included. The paper says which parameters it keeps
    by "averaged over each 100 steps", and leaves open which state of those that is.

    Parameters
    ----------
    network : Network
    state : mapping
        A stack; not changed.
    inputs : Tensor, shape (n, features)
        The same for all draws, each in its own order, drawn anew each epoch.
    generators : sequence of torch.Generator
        Of orders and labels, one a draw, on the CPU. What becomes of a draw does not
        depend on the others, but for rounding.
    recipe : RandomLabelRecipe, optional
        By default the paper's, with its 9,375 steps on the 60,000 digits.
    chunk : int, optional
        Draws trained together: the same numbers up to rounding, at another speed. By
        default as many as fit into 256 MiB on a CPU, 8 GiB on a GPU, by their parameters,
        gradients and moments.
    progress : callable, optional
        Called after each window with the updates done, those in all, and its mean loss.

    Raises
    ------
    ValueError
        If shapes do not fit, values are not finite, there are fewer inputs than a batch
        or fewer steps than a window, or a batch of one is to be normalised.

    Examples
    --------
    >>> from empirical.randomness import torch_generator
    >>> net = Network(widths=(16, 32, 2))
    >>> start = net.init("he", [torch_generator(7, "start")])
    >>> x = torch.randn(128, 16, generator=torch_generator(7, "inputs"))
    >>> made = pretrain_random_labels(
    ...     net,
    ...     start,
    ...     x,
    ...     generators=[torch_generator(7, "labels")],
    ...     recipe=RandomLabelRecipe(steps=600, rate=2e-3),
    ... )
    >>> made.losses.shape, bool(abs(made.losses[0, -1] - np.log(2.0)) < 0.02)
    ((1, 6), True)
    """
    recipe = recipe or RandomLabelRecipe()
    draws = check_state("pretrain_random_labels", network, state)
    steps = _checked(network, inputs, recipe)
    if len(generators) != draws:
        raise ValueError(
            f"pretrain_random_labels: `generators` must be {draws}, one a draw, but they "
            f"are {len(generators)}"
        )
    chunk = draws_at_once(network, state) if chunk is None else chunk
    check_count("pretrain_random_labels", "chunk", chunk)
    x = inputs.to(state[network.learnt()[0]])
    parts: list[RandomLabelled] = []
    for members, told in in_chunks(draws, chunk, steps, progress):
        own = {name: t[members.start : members.stop] for name, t in state.items()}
        orders = [generators[d] for d in members]
        parts.append(_train(network, own, x, orders, recipe, steps, told))
    return RandomLabelled(
        state={
            name: torch.cat([p.state[name] for p in parts]) for name in parts[0].state
        },
        best_window=np.concatenate([p.best_window for p in parts]),
        losses=np.concatenate([p.losses for p in parts]),
        diverged=np.concatenate([p.diverged for p in parts]),
    )


def _checked(network: Network, inputs: Tensor, recipe: RandomLabelRecipe) -> int:
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
    if network.batch_norm and recipe.batch == 1:
        raise ValueError(
            f"{who}: `batch` must be at least 2 with batch normalisation, but it is 1"
        )
    steps = recipe.steps or recipe.epochs * (len(inputs) // recipe.batch)
    if steps < recipe.window:
        raise ValueError(
            f"{who}: `steps` must be at least a window of {recipe.window}, but there are "
            f"{steps}. Give more `epochs` or `steps`, or a smaller `window`."
        )
    return steps


def _train(
    network: Network,
    state: State,
    inputs: Tensor,
    generators: list[torch.Generator],
    recipe: RandomLabelRecipe,
    steps: int,
    told: Told,
) -> RandomLabelled:
    learner = Learner(
        network, state, rate=recipe.rate, betas=recipe.betas, eps=recipe.eps
    )
    total = torch.zeros(len(generators), dtype=torch.float64, device=inputs.device)
    best = torch.full_like(total, torch.inf)
    best_window = torch.zeros_like(total, dtype=torch.int64)
    losses: list[Tensor] = []
    batches = islice(_batches(network, inputs, generators, recipe.batch), steps)
    for taken, (rows, classes) in enumerate(batches, 1):
        total += learner.step(inputs[rows], classes)
        if taken % recipe.window == 0:
            losses.append(total / recipe.window)
            better = losses[-1] < best
            best = torch.where(better, losses[-1], best)
            best_window[better] = len(losses)
            learner.keep(better)
            told(taken, float(losses[-1].mean()))
            total = torch.zeros_like(total)
    return RandomLabelled(
        state={name: t.contiguous() for name, t in learner.kept.items()},
        best_window=best_window.cpu().numpy(),
        losses=torch.stack(losses, dim=1).cpu().numpy(),
        diverged=learner.diverged.cpu().numpy(),
    )


def _batches(
    network: Network, inputs: Tensor, generators: list[torch.Generator], batch: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Draw batches without end: rows and labels (draws, batch) of each."""
    whole = len(inputs) // batch * batch
    while True:
        orders, labels = [], []
        for generator in generators:
            orders.append(torch.randperm(len(inputs), generator=generator)[:whole])
            labels.append(torch.randint(network.classes, (whole,), generator=generator))
        rows, classes = (torch.stack(t).to(inputs.device) for t in (orders, labels))
        yield from zip(rows.split(batch, 1), classes.split(batch, 1), strict=True)
