"""Learn initialisations: unlabelled inputs, a loss on perturbations of the start."""

import dataclasses
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from empirical.checks import check_finite, check_generators
from empirical.mmd_init.gram import Escalations
from empirical.mmd_init.inputs import checked, table
from empirical.mmd_init.modules import Explicit, explicit
from empirical.mmd_init.networks import as_module, check_classifier, from_module
from empirical.mmd_init.recipes import Recipe
from empirical.mmd_init.task import TERMS, Degenerate, Perturbed
from empirical.networks import FullyConnected, Params
from empirical.testbed import loop
from empirical.testbed.batches import Epochs
from empirical.testbed.observers import BestWindow, Curve, Diverged, Snapshots
from empirical.testbed.optimisers import Adam
from empirical.testbed.stack import Stack
from empirical.testbed.writing import Array

Progress = Callable[[int, int, dict[str, float]], None]
"""Called with steps done, steps in all, and each term's mean over the last window that is
whole and over the stack: nan before the first, but for the loss."""

Status = Literal["finished", "degenerate", "diverged"]
OnDegenerate = Literal["warn", "stop", "record"]


class DegenerateStartWarning(UserWarning):
    """Most perturbed networks predict one class for everything."""


class UnstandardisedWarning(UserWarning):
    """Inputs are far from mean 0 and deviation 1, for which the noise is meant."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pretrained:
    """A learnt initialisation.

    Attributes
    ----------
    params : tuple of Tensor
        At the end of the window with the least mean loss; one replicate.
    start, last : tuple of Tensor
        Before the first step and after the last.
    names : tuple of str
        Of the parameters in PyTorch's module.
    best : int
        Steps made when `params` were taken; 0, and `params` the start, if the loss of no
        window was finite.
    history : dict
        Name to array, shape (steps of the stack,), nan after the run's end: ``"loss"``,
        ``"uniformity"`` (L_uni), ``"degeneracy"`` (L_sd), ``"detachment"`` (L_iod), and
        ``"constant"``, the share of perturbed networks that predict one class for their
        whole batch. What the loss has no need of is nan.
    status : {"finished", "degenerate", "diverged"}
        Stopped because most perturbed networks were constant, or the loss not finite.
    degenerate : int, optional
        The step after which the run was found degenerate.
    escalations : Escalations
        Covariances that needed more jitter, in the whole stack.
    snapshots : dict
        Parameters after each of the steps that were asked for, on the CPU.
    """

    params: Params
    start: Params
    last: Params
    names: tuple[str, ...]
    best: int
    history: dict[str, Array]
    status: Status
    degenerate: int | None
    escalations: Escalations
    snapshots: dict[int, Params]

    @property
    def state(self) -> dict[str, Tensor]:
        """The parameters for `torch.nn.Module.load_state_dict`."""
        return {n: p[0] for n, p in zip(self.names, self.params, strict=True)}


def pretrain(
    network: FullyConnected | nn.Module,
    data: Tensor | npt.ArrayLike,
    recipe: Recipe | None = None,
    *,
    generator: torch.Generator,
    params: Params | None = None,
    on_degenerate: OnDegenerate = "warn",
    snapshots: Sequence[int] = (),
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> Pretrained:
    """Learn an initialisation from unlabelled inputs.

    Parameters
    ----------
    network : torch.nn.Module or FullyConnected
        A ``Sequential`` of ``Linear`` layers with ``ReLU`` between them (a ``Flatten`` in
        front is let be), at least one of them hidden, logits of d >= 2 classes last. With
        the recipe's ``noise="explicit"`` any module of ``Linear`` and ``Conv`` layers,
        whatever its activations; see `modules.explicit`. It is not changed; it is from
        its parameters that training starts.
    data : array, shape (n, ...)
        Inputs, without labels; with mean 0 and variance 1 over all of them, or there is
        an `UnstandardisedWarning`. Nothing is standardised here.
    recipe : Recipe, optional
        The paper's by default.
    generator : torch.Generator
        On the CPU; all randomness comes from it.
    params : tuple of Tensor, optional
        The start, for a `FullyConnected`, one replicate; its dtype and device are those
        of training.
    on_degenerate : {"warn", "stop", "record"}
        What to do about a run most of whose perturbed networks are constant.
    snapshots : sequence of int
        Steps after which parameters are kept; 0 is the start.
    progress : callable, optional
        Called after each window, and on the way to its end where steps are slow.
    checkpoint : Path, optional
        Where progress is kept; a run that finds one goes on from it, step by step as if
        it had not stopped.

    Returns
    -------
    Pretrained
        ``network.load_state_dict(result.state)`` puts it in.

    Raises
    ------
    TypeError
        If the network is not of this kind, or data are no array of numbers.
    ValueError
        If a FullyConnected is none that `classifier` makes; data are fewer than a batch,
        constant, not finite, of other features or labels; a parameter has no
        ``requires_grad``; steps fewer than a window, so that nothing could be kept; or
        the checkpoint is of other arguments.

    References
    ----------
    Lee and Cho 2023, section 3 and appendix B.

    Examples
    --------
    >>> g = torch.Generator().manual_seed(7)
    >>> net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    >>> recipe = Recipe(steps=200, perturbations=32, rate=1e-2)
    >>> result = pretrain(net, torch.randn(100, 4, generator=g), recipe, generator=g)
    >>> _ = net.load_state_dict(result.state)
    >>> loss = result.history["uniformity"]
    >>> bool(loss[-20:].mean() < 0.5 * loss[:20].mean())
    True
    """
    recipe = recipe or Recipe()
    x = table(data)
    made, start = _start(network, x, recipe, params)
    (found,) = pretrain_stack(
        made,
        x,
        [recipe],
        params=start,
        generators=[generator],
        on_degenerate=on_degenerate,
        snapshots=snapshots,
        progress=progress,
        checkpoint=checkpoint,
    )
    if isinstance(network, nn.Module):
        named = tuple(name for name, _ in network.named_parameters())
        found = dataclasses.replace(found, names=named)
    return found


def pretrain_stack(
    network: FullyConnected | Explicit,
    data: Tensor | npt.ArrayLike,
    recipes: Sequence[Recipe],
    *,
    params: Params,
    generators: Sequence[torch.Generator],
    on_degenerate: OnDegenerate = "warn",
    snapshots: Sequence[int] = (),
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> list[Pretrained]:
    """Learn a stack of initialisations side by side, each as if it were alone.

    Parameters
    ----------
    network : FullyConnected or Explicit
    data : array, shape (n, ...)
        The same for all.
    recipes : sequence of Recipe
        One each; alike but for `s`, `uni`, `lam` and `xi`.
    params : tuple of Tensor
        Starts, replicates in front.
    generators : sequence of torch.Generator
        One each, on the CPU; runs that are given the same one see the same batches and
        the same noise, and it is drawn once.
    on_degenerate, snapshots, progress, checkpoint
        See `pretrain`, which also tells what is raised; a stack stops when all its runs
        have.
    """
    given = len(params[0])
    if not len(recipes) == len(generators) == given:
        raise ValueError(
            "pretrain: `recipes`, `generators` and `params` must be of the same length, "
            f"but they are {len(recipes)}, {len(generators)} and {given}"
        )
    alike = {dataclasses.replace(r, s=1.0, uni=1.0, lam=1.0, xi=1.0) for r in recipes}
    if len(alike) > 1:
        raise ValueError(
            "pretrain: `recipes` must be alike but for `s`, `uni`, `lam` and `xi`. Train"
            " others on their own."
        )
    _check_network(network, params)
    check_generators("pretrain", generators, "generator")
    recipe = recipes[0]
    x = checked(data, network.widths[0], recipe.batch, like=params[0])
    steps, batch = recipe.checked_updates("pretrain", len(x)), recipe.batch
    _warn_of(x)
    whole = len(x) // batch * batch

    def found(t: int, share: float) -> bool:
        if on_degenerate == "warn":
            _warn(t, share, network.widths[-1])
        return on_degenerate == "stop"

    curves = {name: Curve(np.arange(steps), note=k) for k, name in enumerate(TERMS)}
    best, degenerate = BestWindow(recipe.window), Degenerate(recipe, steps, found)
    taken = Snapshots(snapshots)

    def told(done: int, total: int, loss: float) -> None:
        if progress is None:
            return
        means = {**dict.fromkeys(curves, math.nan), "loss": loss}
        if stop := done if done == total else done // recipe.window * recipe.window:
            last = slice((stop - 1) // recipe.window * recipe.window, stop)
            means = {n: float(c.values[:, last].mean()) for n, c in curves.items()}
        progress(done, total, means)

    if isinstance(network, Explicit):
        names, last_layer = network.names, network.readout
    else:
        names = tuple(n for n, _ in as_module(network, params).named_parameters())
        last_layer = network.of_layer(-1)
    learnt = last_layer if recipe.frozen else None
    task = Perturbed(network, x, recipes, generators)
    trained = loop.train(
        task,
        Stack(params, rates=recipe.rate, learnt=learnt),
        Adam(),
        steps=steps,
        check=recipe.window,
        batches=Epochs(
            whole,
            batch,
            generators,
            order=lambda g: torch.randperm(len(x), generator=g)[:whole],
        ),
        observers=[*curves.values(), best, Diverged(math.inf), degenerate, taken],
        checkpoint=checkpoint,
        progress=told,
    )
    made = int(trained.steps.max())

    def of(params: Params, index: int) -> Params:
        return tuple(p[index : index + 1].clone() for p in params)

    return [
        Pretrained(
            params=of(best.params, index),
            start=of(trained.initial, index),
            last=of(trained.final, index),
            names=names,
            best=int(best.at[index]),
            history={n: c.values[index, :made].copy() for n, c in curves.items()},
            status=status,
            degenerate=None if degenerate.at[index] < 0 else int(degenerate.at[index]),
            escalations=task.escalations,
            snapshots={at: of(kept, index) for at, kept in taken.taken.items()},
        )
        for index, status in enumerate(cast("tuple[Status, ...]", trained.status))
    ]


def _start(
    network: FullyConnected | nn.Module,
    x: Tensor,
    recipe: Recipe,
    params: Params | None,
) -> tuple[FullyConnected | Explicit, Params]:
    if isinstance(network, nn.Module):
        if params is not None:
            raise ValueError(
                "pretrain: `params` must be left out for a torch module, which has its "
                "own. Load them into the module."
            )
        if kept := [n for n, p in network.named_parameters() if not p.requires_grad]:
            raise ValueError(
                "pretrain: `network` must have parameters that are all trained, but"
                f" {', '.join(kept)} have no `requires_grad`. Set it; with the recipe's"
                " `frozen` the last layer alone is trained."
            )
        try:
            return from_module(network)
        except TypeError:
            if recipe.noise != "explicit":
                raise
        return explicit(network, x)
    if params is None:
        raise ValueError(
            "pretrain: `params` must be given for a FullyConnected, e.g. "
            "`networks.start(network, 'he', [generator])`"
        )
    return network, params


def _check_network(network: FullyConnected | Explicit, params: Params) -> None:
    if isinstance(network, FullyConnected):
        if network.norm is not None:
            raise ValueError(
                "pretrain: `network` must be without batch normalisation: with it the"
                " noise of a layer's outputs is not Gaussian. `random_labels` trains such"
                " networks."
            )
        check_classifier("pretrain", network, batch_norm=False)
        if len(network.widths) < 3:
            raise ValueError(
                f"pretrain: `network` must have a hidden layer, but its widths are "
                f"{network.widths}"
            )
    network.check_params(params)
    for p in params:
        check_finite("pretrain", "params", p)


def _warn_of(x: Tensor) -> None:
    mean, std = float(x.mean()), float(x.std(correction=0))
    if abs(mean) > 1.0 or not 1.0 / 3.0 <= std <= 3.0:
        warnings.warn(
            f"pretrain: inputs of mean {mean:.3g} and deviation {std:.3g}; the noise is "
            "meant for 0 and 1. Standardise them, and what the network is to be used on.",
            UnstandardisedWarning,
            stacklevel=4,
        )


def _warn(t: int, share: float, classes: int) -> None:
    lam = "Raise `lam` (0.4 is the paper's) or lower `s`."
    if classes > 2:
        lam = (
            "Lower `s`; with three classes and more a constant minimises `lam`'s loss."
        )
    warnings.warn(
        f"pretrain: after {t} steps {share:.0%} of perturbed networks predict one class "
        f"for a whole batch. {lam}",
        DegenerateStartWarning,
        # The caller of `pretrain_stack`, past the loop and its observer.
        stacklevel=7,
    )
