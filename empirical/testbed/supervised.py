"""Any `torch.nn.Module`, many replicates at once, on examples and targets.

::

    net = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))
    stack = Stack.of(net, [torch_generator(7, i) for i in range(8)], rates=0.1)
    trained = train(Supervised(net, x, y), stack, SGD(momentum=0.9), steps=500)
    third = loaded(net, trained, replicate=2)

Recurrent modules, and others that `torch.vmap` can't run, are trained in the same way, by
``Supervised(net, x, y, one_by_one=True)``: one replicate after another.
"""

import copy
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional
from torch.utils import _pytree as trees

from empirical.checks import check_finite, check_slopes, check_whole
from empirical.testbed.loop import Task, Trained, by_autograd
from empirical.testbed.modules import apply, check, check_hooks, each_of, first_sentence
from empirical.testbed.slopes import Slope
from empirical.testbed.stack import Params, Stack

if TYPE_CHECKING:
    from empirical.networks import Network

Loss = Callable[[Tensor, Tensor], Tensor]
"""Outputs and targets of one replicate to its loss."""

FEW = 8
"""Examples on which it is tried whether a module can be stacked."""


class Supervised(Task):
    """The loss of a module's outputs on examples.

    Parameters
    ----------
    module : nn.Module
        Of the stack's kind; its own parameters are not used.
    inputs : Tensor, shape (n, ...)
        Finite; shared by all replicates.
    targets : Tensor, shape (n, ...)
        Finite. For the cross entropy classes 0, ..., C - 1, of any whole numbers, or
        probabilities; it leaves out its `ignore_index`, by default -100.
    loss : callable, optional
        The mean cross entropy by default.
    one_by_one : bool
        Compute losses and gradients of one replicate after another, by plain autograd.
        For modules and losses that `torch.vmap` can't run: with nn.LSTM, nn.GRU or nn.RNN,
        branches on values, ``.item()``, sparse gradients. The numbers are those of all
        at once up to rounding, and the memory of signals is that of one replicate; the
        time is that of so many networks alone.

    Raises
    ------
    ValueError
        If the module can't be stacked, inputs and targets are no tensors of one length or
        not finite, outputs change from call to call, classes are no whole numbers or none
        of the outputs, the loss has parameters to train, or that of a replicate is not one
        number; with `one_by_one`, if
        the module changes its parameters when it is called, and in training if it draws
        random numbers, or can't take inputs of their shape.

    Examples
    --------
    Two recurrent networks learn which of eight steps was the largest:

    >>> from empirical.randomness import torch_generator
    >>> from empirical.testbed.loop import train
    >>> from empirical.testbed.optimisers import Adam
    >>> class Last(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.inner, self.readout = nn.GRU(1, 16, batch_first=True), nn.Linear(16, 8)
    ...     def forward(self, x):
    ...         return self.readout(self.inner(x)[0][:, -1])
    >>> x = torch.rand(64, 8, 1, generator=torch_generator(7, "x"))
    >>> task = Supervised(Last(), x, x[..., 0].argmax(dim=1), one_by_one=True)
    >>> stack = Stack.of(Last(), [torch_generator(7, i) for i in range(2)], rates=0.01)
    >>> trained = train(task, stack, Adam(), steps=1)
    >>> [tuple(p.shape) for p in trained.final[:2]]
    [(2, 48, 1), (2, 48, 16)]
    """

    told = ("module", "inputs", "targets", "loss", "one_by_one")

    def __init__(
        self,
        module: nn.Module,
        inputs: Tensor,
        targets: Tensor,
        loss: Loss = functional.cross_entropy,
        *,
        one_by_one: bool = False,
    ) -> None:
        check(module)
        if not one_by_one:
            check_hooks(module)
        for name, given in (("inputs", inputs), ("targets", targets)):
            # Callers may not be type-checked.
            if not isinstance(given, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ValueError(
                    f"Supervised: `{name}` must be a tensor, but they are of type "
                    f"{type(given).__name__}. `torch.as_tensor` makes one of an array; a "
                    "module of several inputs takes them from one tensor."
                )
            check_finite("Supervised", name, given)
        if isinstance(loss, type) or not callable(loss):
            raise ValueError(
                "Supervised: `loss` must be a function of outputs and targets, but it is "
                f"{loss!r:.80}. A class is called first: loss=nn.MSELoss()."
            )
        inner = loss.func if isinstance(loss, partial) else loss
        own = inner.named_parameters() if isinstance(inner, nn.Module) else ()
        if trained := [name for name, p in own if p.requires_grad]:
            raise ValueError(
                "Supervised: `loss` must have no parameters to train, which would stay as "
                f"they are, but it has {trained[0]!r}. Make it a part of `module`, or "
                "freeze it: loss.requires_grad_(False)."
            )
        ignored = _ignored(loss)
        if ignored is not None:
            targets = _classes(targets)
        count, answers = (len(t) if t.ndim else 0 for t in (inputs, targets))
        if not count or count != answers:
            raise ValueError(
                "Supervised: `inputs` and `targets` must be as many, at least one, but "
                f"their shapes are {tuple(inputs.shape)} and {tuple(targets.shape)}"
            )
        self.module, self.loss = module, loss
        self.inputs, self.targets, self.examples = inputs, targets, count
        # A recorded update would not branch.
        self.one_by_one, self.capturable = one_by_one, not one_by_one
        _check_repeats(module, inputs[:FEW])
        if ignored is not None:
            _check_classes(self, ignored)
        _try(self)

    def losses(self, params: Params, stack: Stack, examples: Tensor | None) -> Tensor:
        """Return each replicate's loss; see `Task.losses`."""
        x, y = self.inputs, self.targets
        shared = examples is None or examples.ndim == 1
        if examples is not None:
            mine = examples if shared else stack.examples(examples)
            x, y = x[mine], y[mine]
        try:
            outputs = apply(
                self.module,
                params,
                x,
                buffers=stack.buffers,
                shared=shared,
                one_by_one=self.one_by_one,
            )
        except (RuntimeError, ValueError) as error:
            # Of stacked operands; the module alone names its own.
            said = _complaint(self.module, x if shared else x[0])
            if said is None:
                raise
            raise ValueError(f"Supervised: {said}") from error
        in_dims = (0, None if shared else 0)
        who = "Supervised: `loss`"
        each = each_of(who, self.loss, in_dims, one_by_one=self.one_by_one)
        return each(outputs, y)

    def losses_and_slopes(
        self, stack: Stack, examples: Tensor | None
    ) -> tuple[Tensor, Sequence[Slope]]:
        """Return losses and gradients; see `Task.losses_and_slopes`."""
        check_slopes("train")
        if not self.one_by_one:
            return by_autograd(self, stack, examples)
        # Each for itself: what one needs for its gradient is gone before the next.
        each = [by_autograd(self, one, examples) for one in stack.parts(1)]
        losses, slopes = zip(*each, strict=True)
        # Optimisers ask for dense ones.
        every = [torch.cat(g).to_dense() for g in zip(*slopes, strict=True)]
        return torch.cat(losses), every


def _complaint(module: nn.Module, x: Tensor) -> str | None:
    """Return why a module can't run on inputs, if it can't; memory is no reason."""
    try:
        with torch.no_grad(), _aside(x):
            copy.deepcopy(module)(x)
    except (RuntimeError, ValueError) as error:
        said = first_sentence(error)
        if "allocate" not in str(error):
            shape = tuple(x.shape)
            return f"`module` must take `inputs` of shape {shape}, but PyTorch says: {said}"
    return None


def _ignored(loss: Loss) -> int | None:
    """Return the label that a cross entropy ignores; None for another loss."""
    if isinstance(loss, nn.CrossEntropyLoss):
        return loss.ignore_index
    given = loss.keywords if isinstance(loss, partial) else {}
    plain = loss.func if isinstance(loss, partial) else loss
    if plain is not functional.cross_entropy:
        return None
    return given.get("ignore_index", nn.CrossEntropyLoss().ignore_index)


def _classes(targets: Tensor) -> Tensor:
    """Return targets of the cross entropy; classes of any whole numbers as int64."""
    if not targets.is_floating_point():
        # Images' labels are uint8, which PyTorch takes but not by torch.vmap.
        return targets.long()
    if targets.ndim == 1:
        raise ValueError(
            "Supervised: `targets` must be whole numbers, the classes, for the cross "
            f"entropy, but they are {targets.dtype}. Use targets.long(), or another "
            "`loss=`."
        )
    return targets


def _check_classes(task: Supervised, ignored: int) -> None:
    """Refuse targets of the cross entropy that do not fit the outputs.

    What a module has no outputs for, or one not for each example, is left to training.
    """
    few = task.inputs[:FEW]
    outputs = _outputs(copy.deepcopy(task.module), few)
    if outputs is not None and not isinstance(outputs, Tensor):
        raise ValueError(
            "Supervised: `module` must return a tensor for the cross entropy, but it "
            f"returns {type(outputs).__name__}. Give a `loss=` that takes from it what it "
            "needs."
        )
    if outputs is None or outputs.ndim < 2 or len(outputs) != len(few):
        return
    targets, kind = task.targets, "probabilities"
    wanted = (len(targets), *outputs.shape[1:])
    if not targets.is_floating_point():
        kind, wanted = "classes", (wanted[0], *wanted[2:])
    if targets.shape != wanted:
        raise ValueError(
            f"Supervised: `targets` must be {kind} of shape {wanted} for outputs of shape "
            f"{tuple(outputs.shape)} of {len(outputs)} examples, but theirs is "
            f"{tuple(targets.shape)}"
        )
    if targets.is_floating_point():
        return
    count = outputs.shape[1]
    bad = ((targets < 0) | (targets >= count)) & (targets != ignored)
    if bool(bad.any()):
        raise ValueError(
            f"Supervised: `targets` must be classes from 0 to {count - 1}, as `module` has "
            f"{count} outputs, but {int(bad.sum())} of {bad.numel()} are not, e.g. "
            f"{int(targets[bad][0])}"
        )


def _try(task: Supervised) -> None:
    """Refuse a module that has a gradient alone, but not beside others, or many losses.

    An error that it makes alone, too, is left to training.
    """
    stack = Stack.of_modules([task.module], rates=1.0)
    few = torch.arange(min(len(task.inputs), FEW), device=task.inputs.device)
    try:
        losses, _ = by_autograd(task, stack, few)
    except Exception as error:
        _check_returned(task, few)
        if not task.one_by_one and _alone(task, few) is not None:
            said = first_sentence(error.__cause__ or error)
            raise ValueError(
                "Supervised: replicates of `module`, and their `loss`, must be computed "
                f"side by side, by `torch.vmap`, but PyTorch says: {said}. Give "
                "`one_by_one=True` if they branch on values, call `.item()`, or use "
                "nn.RNN, nn.GRU, nn.LSTM or sparse gradients. Random numbers must not be "
                "drawn: set dropout to 0."
            ) from error
        return
    if losses.ndim > 1:
        raise ValueError(
            "Supervised: `loss` must return one number for a replicate's outputs and "
            f"targets, but of {len(few)} examples it returns the shape "
            f"{tuple(losses.shape[1:])}. Take the mean over them, or the sum."
        )
    # One by one, what it is called with are copies.
    after = _alone(task, few) if task.one_by_one else None
    if after is not None and not all(
        map(torch.equal, after.parameters(), task.module.parameters())
    ):
        raise ValueError(
            "Supervised: `module` must not change its parameters when it is called, but "
            "it does. Compute what it uses from them, by `torch.nn.utils.parametrize`."
        )


def _check_repeats(module: nn.Module, few: Tensor) -> None:
    """Refuse a module whose outputs depend on its calls before, other than by buffers.

    Replicates would count each other's calls. What shows at the second call only is found.
    """
    used = copy.deepcopy(module)

    def afresh(x: Tensor) -> object:
        own = (*module.named_parameters(), *module.named_buffers())
        return functional_call(used, {name: t.clone() for name, t in own}, (x,))

    calls = (trees.tree_leaves(_outputs(afresh, few)) for _ in range(2))
    pairs = [
        (first, second)
        for first, second in zip(*calls, strict=False)
        if isinstance(first, Tensor) and isinstance(second, Tensor)
    ]
    # On a GPU, sums of the same may differ in their last digits.
    if not all(
        a.shape == b.shape
        and torch.allclose(a.double(), b.double(), rtol=1e-3, atol=0.0, equal_nan=True)
        for a, b in pairs
        if a.is_floating_point()
    ):
        raise ValueError(
            "Supervised: `module` must compute the same outputs at its next call, but for "
            "what buffers say, and it does not. Keep what it counts in a buffer that it "
            "changes, by `register_buffer`."
        )


def _outputs(call: Callable[[Tensor], object], x: Tensor) -> object:
    """Return what a call of a module returns, None if it fails."""
    try:
        with torch.no_grad(), _aside(x):
            return call(x.clone())
    except Exception:
        return None


def _aside(x: Tensor) -> AbstractContextManager[None]:
    """Give back the random numbers that are drawn meanwhile."""
    return torch.random.fork_rng(devices=[x.device] if x.is_cuda else [])


def _check_returned(task: Supervised, few: Tensor) -> None:
    """Refuse a loss that returns a number of Python's or NumPy's: it has no slopes."""
    module, x = copy.deepcopy(task.module), task.inputs[few]
    try:
        with _aside(x):
            found: object = task.loss(module(x), task.targets[few])
    except Exception:
        return
    if not isinstance(found, Tensor):
        raise ValueError(
            "Supervised: `loss` must return a tensor, for its slopes, but it returns "
            f"{found!r:.80}. Leave out `.item()`, `float()` and `.numpy()`."
        )


def _alone(task: Supervised, few: Tensor) -> nn.Module | None:
    """Return a copy of a module after a gradient of its own, if it has one."""
    module, x = copy.deepcopy(task.module), task.inputs[few]
    try:
        with _aside(x):
            task.loss(module(x), task.targets[few]).backward()
    except Exception:
        return None
    return module


class Classify(Task):
    """The mean cross entropy of specified networks over examples of each replicate's own.

    Batch normalisation is by the batch, and moves the running statistics, which are the
    buffers of the stack.

    Parameters
    ----------
    network : Network
    inputs : Tensor, shape (n, ...)
        Of all replicates.
    rows, classes : Tensor of int64, shape (replicates, examples) or (1, examples)
        Which input an example is, and its class.
    augmentation : callable, optional
        Inputs of an update and stack to inputs as they are shown; with `generators`.
    """

    told = ("network", "inputs", "rows", "classes", "augmentation")

    def __init__(
        self,
        network: "Network",
        inputs: Tensor,
        rows: Tensor,
        classes: Tensor,
        augmentation: Any = None,
    ) -> None:
        self.network, self.inputs = network, inputs
        self.rows, self.classes, self.augmentation = rows, classes, augmentation
        self.capturable = augmentation is None
        self.generators = augmentation.generators if augmentation else ()

    def losses(self, params: Params, stack: Stack, examples: Tensor | None) -> Tensor:
        """Return losses; see `Task.losses`."""
        rows, classes = (
            stack.select(table).expand(len(stack), -1)
            for table in (self.rows, self.classes)
        )
        if examples is not None:
            chosen = stack.examples(examples)
            rows, classes = rows.gather(1, chosen), classes.gather(1, chosen)
        x = self.inputs[rows]
        if self.augmentation is not None:
            x = self.augmentation(x, stack)
        outputs = self.network.run(params, x, buffers=stack.buffers).outputs
        return cross_entropy(outputs, classes)


def cross_entropy(logits: Tensor, classes: Tensor) -> Tensor:
    """Return the mean over the batch, (replicates,), of (replicates, batch, classes)."""
    each = functional.cross_entropy(
        logits.flatten(0, 1), classes.flatten(), reduction="none"
    )
    return each.view(classes.shape).mean(dim=-1)


def loaded(module: nn.Module, trained: Trained, *, replicate: int) -> nn.Module:
    """Return a copy of a module with the last parameters of a replicate.

    Raises
    ------
    IndexError
        If there is no such replicate.
    ValueError
        If `replicate` is no whole number, or the module has parameters or buffers of
        other shapes than were trained.
    """
    check_whole("loaded", replicate=replicate)
    if not 0 <= replicate < len(trained.status):
        raise IndexError(
            f"loaded: `replicate` must lie in 0..{len(trained.status) - 1}, but it is "
            f"{replicate}"
        )
    made = copy.deepcopy(module)
    own = (*made.parameters(), *made.buffers())
    kept = (*trained.final, *trained.buffers)
    wanted, mine = [tuple(t.shape[1:]) for t in kept], [tuple(t.shape) for t in own]
    if mine != wanted:
        raise ValueError(
            "loaded: `module` must have the parameters and buffers that were trained, of "
            f"shapes {wanted}, but they are of {mine}"
        )
    with torch.no_grad():
        for target, source in zip(own, kept, strict=True):
            target.copy_(source[replicate])
    return made
