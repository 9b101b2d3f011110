"""Learn an initialisation: one network, unlabelled inputs, a loss on its perturbations."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from empirical import checkpoints
from empirical.mmd_init import noise, regularisers, uniformity
from empirical.mmd_init.networks import Network, State, from_module
from empirical.mmd_init.noise import Escalations
from empirical.mmd_init.recipes import Recipe

Array = npt.NDArray[np.float64]
Progress = Callable[[int, int, dict[str, float]], None]
"""Called with steps done, steps in all, and each term's mean over the last window."""

TERMS = ("loss", "uniformity", "degeneracy", "detachment", "constant")


class DegenerateStartWarning(UserWarning):
    """Most perturbed networks predict one class for everything."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pretrained:
    """A learnt initialisation.

    Attributes
    ----------
    state : dict
        For `torch.nn.Module.load_state_dict`: the parameters at the end of the window
        with the least mean loss.
    start, last : dict
        Before the first step and after the last.
    best : int
        Steps made when `state` was taken; 0 if no window was finished.
    history : dict
        Name to array, shape (steps,): ``"loss"``, ``"uniformity"`` (L_uni),
        ``"degeneracy"`` (L_sd), ``"detachment"`` (L_iod), and ``"constant"``, the share
        of perturbed networks that predict fewer than all classes in their batch. Terms
        whose weight is zero are nan.
    status : {"finished", "degenerate", "diverged"}
        Stopped because most perturbed networks were constant, or the loss not finite.
    degenerate : int, optional
        The step after which the run was found degenerate.
    escalations : Escalations
        Covariances that needed more jitter.
    """

    state: State
    start: State
    last: State
    best: int
    history: dict[str, Array]
    status: Literal["finished", "degenerate", "diverged"]
    degenerate: int | None
    escalations: Escalations


@dataclass(frozen=True, eq=False)
class Terms:
    """The losses of one batch; None where their weight is zero.

    Attributes
    ----------
    loss, uniformity, degeneracy, detachment : Tensor
    constant : Tensor
        Share of perturbed networks that leave a class of the batch empty.
    """

    loss: Tensor
    uniformity: Tensor | None
    degeneracy: Tensor | None
    detachment: Tensor | None
    constant: Tensor | None


def losses(
    network: Network,
    state: State,
    batch: Tensor,
    recipe: Recipe,
    generator: torch.Generator,
    *,
    bandwidths: Tensor | None = None,
    escalations: Escalations | None = None,
) -> Terms:
    """Return the loss of a batch and its terms.

    Parameters
    ----------
    network : Network
        Without batch normalisation.
    state : dict
        Of one draw.
    batch : Tensor, shape (n, features)
    recipe : Recipe
    generator : torch.Generator
        Of the noise, and of the uniform points where they are sampled.
    bandwidths : Tensor, shape (n,), optional
        In the place of the medians.
    escalations : Escalations, optional
        Where they are counted.
    """
    weights = network.weights(state)
    total = torch.zeros((), dtype=batch.dtype, device=batch.device)
    uni = sd = iod = constant = None
    if recipe.uni > 0.0 or recipe.lam > 0.0:
        logits = noise.BY_WAY[recipe.noise](
            weights,
            batch,
            recipe.perturbations,
            recipe.s,
            generator,
            escalations=escalations,
        )
        f = logits.softmax(dim=-1)
        constant = constant_share(f.detach())
        if recipe.uni > 0.0:
            uni = _uniformity(f, recipe, generator, bandwidths).mean()
            total = total + recipe.uni * uni
        if recipe.lam > 0.0:
            sd = regularisers.degeneracy(f).mean()
            total = total + recipe.lam * sd
    if recipe.xi > 0.0:
        _, entering = network.run(state, batch)
        norms = regularisers.jacobian_norms(weights, entering)
        iod = regularisers.detachment(norms)
        total = total + recipe.xi * iod
    return Terms(total, uni, sd, iod, constant)


def constant_share(f: Tensor) -> Tensor:
    """Return the share of perturbations whose n predictions miss a class.

    Parameters
    ----------
    f : Tensor, shape (M, n, d)
        Probabilities, or logits.

    Examples
    --------
    >>> f = torch.tensor([[[0.9, 0.1], [0.6, 0.4]], [[0.9, 0.1], [0.2, 0.8]]])
    >>> float(constant_share(f))
    0.5
    """
    chosen = f.argmax(dim=-1, keepdim=True)
    seen = torch.zeros_like(f[:, 0]).scatter_(1, chosen[..., 0], 1.0)
    return (seen.sum(dim=1) < f.shape[-1]).to(f).mean()


def _uniformity(
    f: Tensor,
    recipe: Recipe,
    generator: torch.Generator,
    bandwidths: Tensor | None,
) -> Tensor:
    if f.shape[-1] == 2 and recipe.closed:
        return uniformity.closed(
            f[..., 0],
            bandwidths=bandwidths,
            reference=recipe.reference,
            estimator=recipe.estimator,
        )
    u = uniformity.simplex_sample(
        recipe.reference, f.shape[-1], generator, dtype=f.dtype, device=f.device
    )
    return uniformity.sampled(f, u, bandwidths=bandwidths, estimator=recipe.estimator)


def pretrain(
    network: Network | nn.Module,
    data: Tensor | npt.ArrayLike,
    recipe: Recipe | None = None,
    *,
    generator: torch.Generator,
    state: State | None = None,
    on_degenerate: Literal["warn", "stop", "record"] = "warn",
    progress: Progress | None = None,
    checkpoint: Path | None = None,
    checkpoint_seconds: float = 30.0,
) -> Pretrained:
    """Learn an initialisation from unlabelled inputs.

    Parameters
    ----------
    network : torch.nn.Sequential or Network
        ``Linear`` layers with ``ReLU`` between them (a ``Flatten`` in front is let be),
        at least one of them hidden, logits of d >= 2 classes last. It is not changed; it
        is from its parameters that training starts.
    data : array, shape (n, ...)
        Inputs; flattened. Best with mean 0 and variance 1 over all of them.
    recipe : Recipe, optional
        The paper's by default.
    generator : torch.Generator
        On the CPU; all randomness comes from it.
    state : dict, optional
        The start, for a `Network`; its dtype and device are those of training.
    on_degenerate : {"warn", "stop", "record"}
        What to do about a run most of whose perturbed networks are constant.
    progress : callable, optional
        Called after each window.
    checkpoint : Path, optional
        Where progress is kept; a run that finds one goes on from it, step by step as if
        it had not stopped.
    checkpoint_seconds : float
        Least time between two writings of it.

    Returns
    -------
    Pretrained
        ``network.load_state_dict(result.state)`` puts it in.

    Raises
    ------
    TypeError
        If the network is not of this kind.
    ValueError
        If data are empty, constant, not finite or of other features; or the checkpoint
        is of other arguments.

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
    kept = recipe or Recipe()
    made, start = _start(network, state)
    inputs = _inputs(data, made, start)
    run = _Run(made, start, inputs, kept, generator)
    if checkpoint is not None and checkpoint.exists():
        run.load(checkpoint)
    saved = time.monotonic()
    while run.status is None:
        run.window()
        if run.newly_degenerate:
            if on_degenerate == "stop":
                run.status = "degenerate"
            elif on_degenerate == "warn":
                _warn(run)
        if progress is not None:
            progress(run.t, run.steps, run.means())
        if checkpoint is not None and time.monotonic() - saved >= checkpoint_seconds:
            run.save(checkpoint)
            saved = time.monotonic()
    return run.result()


class _Run:
    """The state of training between two windows."""

    def __init__(
        self,
        network: Network,
        start: State,
        inputs: Tensor,
        recipe: Recipe,
        generator: torch.Generator,
    ) -> None:
        self.network, self.recipe, self.inputs = network, recipe, inputs
        self.start = start
        self.fingerprint = checkpoints.fingerprint(
            (network, recipe, inputs.device.type),
            (*start.values(), inputs),
            generator,
        )
        self.orders = generator
        # On the device, so that its noise need not be carried there.
        seed = int(torch.randint(2**62, (), generator=generator))
        self.noise = torch.Generator(device=inputs.device).manual_seed(seed)
        self.state = {k: v.clone().requires_grad_() for k, v in start.items()}
        self.adam = torch.optim.Adam(list(self.state.values()), lr=recipe.rate)
        self.kept = {k: v.clone() for k, v in start.items()}
        self.steps = recipe.updates(len(inputs))
        self.t, self.best, self.least = 0, 0, float("inf")
        self.degenerate: int | None = None
        self.newly_degenerate, self.suspect = False, False
        self.status: Literal["finished", "degenerate", "diverged"] | None = None
        self.escalations = Escalations()
        self.order: Tensor = torch.empty(0, dtype=torch.int64)
        self.history = np.full((self.steps, len(TERMS)), np.nan)

    def window(self) -> None:
        """Make the steps up to the end of the window, and look back on them."""
        first = self.t
        last = min(first + self.recipe.window, self.steps)
        rows = [self._step() for _ in range(first, last)]
        self.t = last
        found = torch.stack(rows).double().cpu().numpy()
        self.history[first:last] = found
        mean = float(found[:, 0].mean())
        if not np.isfinite(mean):
            self.status = "diverged"
            return
        if last - first == self.recipe.window and mean < self.least:
            self.least, self.best = mean, last
            self.kept = {k: v.detach().clone() for k, v in self.state.items()}
        high = bool(found[:, 4].mean() >= self.recipe.degenerate)
        late = last > self.recipe.window * (self.recipe.grace + 1)
        self.newly_degenerate = (
            high and self.suspect and late and self.degenerate is None
        )
        if self.newly_degenerate:
            self.degenerate = last
        self.suspect = high
        if last == self.steps:
            self.status = "finished"

    def _step(self) -> Tensor:
        count = min(self.recipe.batch, len(self.inputs))
        if len(self.order) < count:
            self.order = torch.randperm(len(self.inputs), generator=self.orders)
        chosen, self.order = self.order[:count], self.order[count:]
        batch = self.inputs[chosen.to(self.inputs.device)]
        terms = losses(
            self.network,
            self.state,
            batch,
            self.recipe,
            self.noise,
            escalations=self.escalations,
        )
        self.adam.zero_grad()
        terms.loss.backward()
        self.adam.step()
        absent = torch.full_like(terms.loss, torch.nan)
        parts = (terms.uniformity, terms.degeneracy, terms.detachment, terms.constant)
        return torch.stack(
            [terms.loss, *(absent if p is None else p for p in parts)]
        ).detach()

    def means(self) -> dict[str, float]:
        """Return each term's mean over the last window."""
        rows = self.history[max(0, self.t - self.recipe.window) : self.t]
        return dict(zip(TERMS, rows.mean(axis=0).tolist(), strict=True))

    def save(self, path: Path) -> None:
        """Write all that the next step depends on."""
        state = {
            "t": self.t,
            "order": self.order,
            "orders": self.orders.get_state(),
            "noise": self.noise.get_state(),
            "state": {k: v.detach() for k, v in self.state.items()},
            "kept": self.kept,
            "adam": self.adam.state_dict(),
            "best": (self.best, self.least),
            "flags": (self.degenerate, self.suspect),
            "escalations": (self.escalations.count, self.escalations.largest),
            "history": torch.from_numpy(self.history),
        }
        checkpoints.write(path, state, of=self.fingerprint)

    def load(self, path: Path) -> None:
        """Read it again."""
        state = checkpoints.read(path, of=self.fingerprint, device=self.inputs.device)
        self.t, self.order = state["t"], state["order"].cpu()
        self.orders.set_state(state["orders"].cpu())
        self.noise.set_state(state["noise"].cpu())
        with torch.no_grad():
            for name, values in state["state"].items():
                self.state[name].copy_(values)
        self.kept = state["kept"]
        self.adam.load_state_dict(state["adam"])
        self.best, self.least = state["best"]
        self.degenerate, self.suspect = state["flags"]
        self.escalations = Escalations(*state["escalations"])
        self.history = state["history"].cpu().numpy()
        if self.t == self.steps:
            self.status = "finished"

    def result(self) -> Pretrained:
        """Return what is learnt."""
        if self.status is None:
            raise RuntimeError("pretrain: the run is not over")
        columns: Any = self.history[: self.t].T
        return Pretrained(
            state=self.kept,
            start=self.start,
            last={k: v.detach().clone() for k, v in self.state.items()},
            best=self.best,
            history=dict(zip(TERMS, columns.copy(), strict=True)),
            status=self.status,
            degenerate=self.degenerate,
            escalations=self.escalations,
        )


def _start(network: Network | nn.Module, state: State | None) -> tuple[Network, State]:
    if isinstance(network, nn.Module):
        if state is not None:
            raise ValueError(
                "pretrain: `state` must be left out for a torch module, which has its "
                "own. Load it into the module."
            )
        made, own = from_module(network)
    else:
        if state is None:
            raise ValueError(
                "pretrain: `state` must be given for a Network, e.g. "
                "`draw(network.init('he', [generator]), 0)`"
            )
        made, own = network, {k: v.detach().clone() for k, v in state.items()}
    if made.batch_norm:
        raise ValueError(
            "pretrain: `network` must be without batch normalisation: with it the noise "
            "of a layer's outputs is not Gaussian. `random_labels` trains such networks."
        )
    if len(made.widths) < 3:
        raise ValueError(
            f"pretrain: `network` must have a hidden layer, but its widths are "
            f"{made.widths}"
        )
    if not all(bool(torch.isfinite(v).all()) for v in own.values()):
        raise ValueError("pretrain: the start must be finite, but it is not")
    return made, own


def _inputs(data: Tensor | npt.ArrayLike, network: Network, start: State) -> Tensor:
    x = data if isinstance(data, Tensor) else torch.as_tensor(np.asarray(data))
    like = next(iter(start.values()))
    if x.ndim < 2 or not len(x) or not x.numel():
        raise ValueError(
            f"pretrain: `data` must be inputs, one a row, but the shape is "
            f"{tuple(x.shape)}"
        )
    x = x.flatten(1).to(like)
    if x.shape[1] != network.widths[0]:
        raise ValueError(
            f"pretrain: `data` must have the network's {network.widths[0]} features, "
            f"but it has {x.shape[1]}"
        )
    bad = ~torch.isfinite(x).all(dim=1)
    if bool(bad.any()):
        raise ValueError(
            f"pretrain: `data` must be finite, but {int(bad.sum())} of {len(x)} rows are "
            f"not, e.g. row {int(torch.nonzero(bad)[0])}"
        )
    if not bool((x != x[:1]).any()):
        raise ValueError(
            f"pretrain: `data` must hold different inputs, but all {len(x)} are equal: "
            "no network can predict several classes on them"
        )
    return x


def _warn(run: _Run) -> None:
    share = run.means()["constant"]
    warnings.warn(
        f"pretrain: after {run.t} steps {share:.0%} of perturbed networks predict one "
        "class for a whole batch. Raise `lam` (0.4 is the paper's) or lower `s`.",
        DegenerateStartWarning,
        stacklevel=3,
    )
