"""Replicates of any `torch.nn.Module`: their parameters, and their outputs.

The modules are PyTorch's own, called by `torch.func`: what they compute one by one, is
computed for all replicates at once, or one after another where `torch.vmap` can't.
"""

import copy
import inspect
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations
from types import BuiltinFunctionType, FunctionType
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.parameter import is_lazy
from torch.nn.utils.parametrize import type_before_parametrizations
from torch.nn.utils.spectral_norm import SpectralNorm
from torch.utils import _pytree as trees

from empirical.checks import check_generators

Params = tuple[Tensor, ...]
"""Parameters of a stack, replicates in front."""

_SETTINGS = (int, float, str, tuple, Tensor, FunctionType, BuiltinFunctionType)
"""What a module's attributes are that its outputs may depend on."""


def apply(
    module: nn.Module,
    params: Params,
    inputs: Tensor,
    *,
    buffers: Params = (),
    shared: bool = True,
    one_by_one: bool = False,
) -> Tensor:
    """Return the outputs of all replicates, replicates in front.

    Parameters
    ----------
    module : nn.Module
        What its own buffers would be after the pass, `buffers` are.
    params, buffers : tuple of Tensor
        In the order of the module's own.
    inputs : Tensor
        Of one replicate; with `shared` false, replicates in front.
    one_by_one : bool
        By plain calls of the module, one replicate after another: for what `torch.vmap`
        can't run, as nn.LSTM, nn.GRU, nn.RNN, and modules that branch on values. The
        same numbers up to rounding, in more time where replicates are small.

    Raises
    ------
    ValueError
        If parameters or buffers are not of the module's shapes or of other replicates,
        `torch.vmap` can't run the module, or it draws random numbers; or gradients would
        be wrong: of an nn.Embedding with a ``padding_idx``, where `shared` and
        `one_by_one` are false. PyTorch then leaves out the padding of the first replicate
        alone. Or of a module with hooks on its backward pass, which `torch.vmap` ignores.

    Examples
    --------
    >>> net = nn.RNN(3, 4, batch_first=True)
    >>> params, _ = stacked([net, net])
    >>> outputs, last = apply(net, params, torch.ones(5, 7, 3), one_by_one=True)
    >>> outputs.shape
    torch.Size([2, 5, 7, 4])
    """
    if not one_by_one and any(p.requires_grad for p in params):
        check_hooks(module)
        if not shared:
            _check_padding(module)
    learned = dict(module.named_parameters())
    held = dict(module.named_buffers())
    for name, own, mine in (("params", learned, params), ("buffers", held, buffers)):
        wanted = [tuple(t.shape) for t in own.values()]
        if wanted != [tuple(t.shape[1:]) for t in mine]:
            raise ValueError(
                f"apply: `{name}` must have the module's shapes behind the replicates, "
                f"{wanted}, but theirs are {[tuple(t.shape) for t in mine]}"
            )

    stacked = (*params, *buffers) if shared else (*params, *buffers, inputs)
    if len({len(t) for t in stacked}) > 1:
        raise ValueError(
            "apply: `params`, `buffers`, and `inputs` unless shared, must have the same "
            f"replicates in front, but they have {[len(t) for t in stacked]}"
        )

    def one(mine: Params, state: Params, x: Tensor) -> tuple[Tensor, Params]:
        given = dict(zip([*learned, *held], [*mine, *state], strict=True))
        outputs = functional_call(module, given, (x,))
        # Changed in place or assigned anew: both are in `given` now.
        return outputs, tuple(given[name].detach() for name in held)

    # Copies: the gradient may need a buffer as it was.
    before = tuple(b.clone() for b in buffers)
    in_dims = (0, 0, None if shared else 0)
    each = each_of("apply: `module`", one, in_dims, one_by_one=one_by_one)
    outputs, after = each(params, before, inputs)
    for kept, new in zip(buffers, after, strict=True):
        kept.copy_(new)
    return outputs


def each_of(
    who: str,
    function: Callable[..., Any],
    in_dims: tuple[int | None, ...],
    *,
    one_by_one: bool,
) -> Callable[..., Any]:
    """Return a function of replicates: by `torch.vmap`, or by calls one after another.

    Parameters
    ----------
    who : str
        What `function` calls, for messages.
    function : callable
        Of one replicate.
    in_dims : tuple of int or None
        For each argument 0 where its tensors have the replicates in front, or None.

    Returns
    -------
    callable
        With a ValueError where `torch.vmap` can't run the function, or where it draws
        random numbers.

    Examples
    --------
    >>> rooted = each_of("f", lambda x: x.sqrt() if x > 0.0 else x, (0,), one_by_one=True)
    >>> rooted(torch.tensor([4.0, -4.0]))
    tensor([ 2., -4.])
    """
    at_once = torch.vmap(function, in_dims=in_dims)

    def by_vmap(*given: Any) -> Any:
        try:
            return at_once(*given)
        except RuntimeError as error:
            if not _runs(in_turn, given):
                raise
            raise ValueError(
                f"{who} must be one that `torch.vmap` can run, but PyTorch says: "
                f"{first_sentence(error)}. It runs with `one_by_one=True`."
            ) from error

    def in_turn(*given: Any) -> Any:
        pairs = list(zip(given, in_dims, strict=True))
        leaves = trees.tree_leaves([tree for tree, dim in pairs if dim == 0])
        devices = [leaves[0].device] if leaves[0].is_cuda else []
        rows = zip(*(_rows(*pair, len(leaves[0])) for pair in pairs), strict=True)
        # Numbers that are drawn all the same are given back.
        with torch.random.fork_rng(devices=devices):
            before = _drawn_so_far(devices)
            found = [function(*row) for row in rows]
            if not all(map(torch.equal, before, _drawn_so_far(devices))):
                raise ValueError(
                    f"{who} must not draw random numbers, but it does. Set dropout to 0, "
                    "or call `eval()` on the module."
                )
        others = (t for t in trees.tree_leaves(found) if not isinstance(t, Tensor))
        for other in others:
            raise ValueError(
                f"{who} must return tensors, but it returns {type(other).__name__}"
            )
        return trees.tree_map(lambda *each: torch.stack(each), *found)

    return in_turn if one_by_one else by_vmap


def first_sentence(error: BaseException) -> str:
    """Return the first sentence of a message, without its full stop."""
    return str(error).partition("\n")[0].partition(". ")[0].rstrip(".")


def _runs(function: Callable[..., Any], given: tuple[Any, ...]) -> bool:
    try:
        with torch.no_grad():
            function(*given)
    except Exception:
        return False
    return True


def _rows(tree: Any, dim: int | None, count: int) -> Iterator[Any]:
    """Return what each of `count` replicates is given.

    Copies: modules change inputs in place, and cuDNN moves the weights of nn.LSTM to a
    memory of its own, after which slopes by a view of them would be wrong.
    """
    leaves, kind = trees.tree_flatten(tree)
    if dim is None or not leaves:
        each = ([*leaves] for _ in range(count))
    else:
        # Not by index: slopes of a row would be as large as all rows.
        each = zip(*(leaf.unbind() for leaf in leaves), strict=True)
    return (trees.tree_unflatten(map(torch.clone, row), kind) for row in each)


def _drawn_so_far(devices: Sequence[torch.device]) -> list[Tensor]:
    """Return the states of PyTorch's global generators."""
    states = [torch.cuda.get_rng_state(device) for device in devices]
    return [torch.random.get_rng_state(), *states]


def drawn(
    module: nn.Module, generators: Sequence[torch.Generator]
) -> tuple[Params, Params]:
    """Return parameters and buffers of a module initialised anew for each generator.

    By its parts' own ``reset_parameters``, inner parts first, on the CPU; then moved to
    the module's device.
    The state of PyTorch's global generator is as before.

    Raises
    ------
    ValueError
        If the module can't be stacked, a part with parameters has no
        ``reset_parameters``, or one needs arguments, or shares a parameter with another,
        which would draw it again; if a generator is none.
    """
    check(module)
    check_generators("drawn", generators)
    places = [name for name, _ in module.named_parameters(remove_duplicate=False)]
    once = {name for name, _ in module.named_parameters()}
    if shared := [name for name in places if name not in once]:
        raise ValueError(
            "drawn: `module` must have each parameter in one place, to draw it once, but "
            f"{shared[0]!r} is another's, too. Build the modules yourself and use "
            "`Stack.of_modules`."
        )
    for name, part in module.named_modules():
        own, reset = list(part.parameters(recurse=False)), _reset(part)
        lacks = "has no `reset_parameters`" if own and reset is None else ""
        if reset is not None and not _callable_bare(reset):
            lacks = "has a `reset_parameters` that needs arguments"
        if lacks:
            raise ValueError(
                f"drawn: `module` must know how to draw its parameters, but {name!r} "
                f"({type(part).__name__}) {lacks}. Build the modules yourself and use "
                "`Stack.of_modules`."
            )
    return stacked([_one(module, generator) for generator in generators])


def stacked(modules: Sequence[nn.Module]) -> tuple[Params, Params]:
    """Return parameters and buffers of modules of one kind, replicates in front.

    Raises
    ------
    ValueError
        If there are none, they differ in more than values, or can't be stacked.
    """
    # Callers may not be type-checked.
    if not isinstance(modules, Sequence | nn.ModuleList):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(
            f"stacked: `modules` must be a list, but it is {type(modules).__name__}"
        )
    if not modules:
        raise ValueError("stacked: `modules` must not be empty")
    for module in modules:
        check(module)
    first = _told(modules[0])
    for index, theirs in enumerate(map(_told, modules)):
        if others := [n for n in (*first, *theirs) if first.get(n) != theirs.get(n)]:
            raise ValueError(
                "stacked: `modules` must be alike but for the values of parameters and "
                "buffers, in classes, modes and settings of all parts, in names, shapes, "
                f"dtypes and `requires_grad`, but that at index {index} has another "
                f"`{others[0]}` than the first"
            )
    # Not by `torch.func.stack_module_state`, which wants one class.
    params = zip(*(module.parameters() for module in modules), strict=True)
    buffers = zip(*(module.buffers() for module in modules), strict=True)
    return tuple(map(_behind, params)), tuple(map(_behind, buffers))


def _behind(each: tuple[Tensor, ...]) -> Tensor:
    """Return a parameter, or a buffer, of all replicates."""
    stacked = torch.stack(each).detach()
    return stacked.requires_grad_(each[0].requires_grad)


def check_hooks(module: nn.Module) -> None:
    """Refuse modules with hooks on their backward pass, which torch.vmap does not call."""
    for name, part in module.named_modules():
        if part._backward_hooks or part._backward_pre_hooks:
            raise ValueError(
                "apply: `module` must have no hooks on its backward pass, but that of "
                f"{name!r} has one, which `torch.vmap` does not call. Remove it, or give "
                "`one_by_one=True`."
            )


def _check_padding(module: nn.Module) -> None:
    for name, part in module.named_modules():
        if isinstance(part, nn.Embedding) and part.padding_idx is not None:
            raise ValueError(
                "apply: `module` must have no nn.Embedding with a `padding_idx` where "
                f"replicates have inputs of their own, but {name!r} has one, whose "
                "gradient PyTorch gets wrong by torch.vmap. Give all replicates the same "
                "order of examples, or `one_by_one=True`."
            )


def learnt(module: nn.Module) -> tuple[int, ...]:
    """Return which parameters of a module are trained, by index.

    Examples
    --------
    >>> net = nn.Sequential(nn.Linear(3, 2).requires_grad_(False), nn.Linear(2, 1))
    >>> learnt(net)
    (2, 3)
    """
    every = enumerate(module.parameters())
    return tuple(index for index, p in every if p.requires_grad)


def check(module: nn.Module) -> None:
    """Refuse modules whose replicates can't be computed side by side.

    Raises
    ------
    ValueError
        If it is none, draws random numbers, has parameters in the same memory, of several
        dtypes, complex ones, some without a shape yet, or none to train, or holds what
        was computed from them; the message says what to do.
    """
    # Callers may not be type-checked.
    if not isinstance(module, nn.Module):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(
            "Stack.of: `module` must be a value of torch.nn.Module, but it is "
            f"{module!r:.80}"
        )
    if any(isinstance(part, torch.jit.ScriptModule) for part in module.modules()):
        raise ValueError(
            "Stack.of: `module` must be of plain Python, but `torch.jit` has made it. "
            "Give the module that it was made from."
        )
    if not list(module.parameters()):
        raise ValueError("Stack.of: `module` must have parameters, but it has none")
    if any(is_lazy(t) for t in (*module.parameters(), *module.buffers())):
        raise ValueError(
            "Stack.of: `module` must know its shapes, but some are left to the first "
            "inputs. Call it on an example first: module(inputs[:1])."
        )
    if not learnt(module):
        raise ValueError(
            "Stack.of: `module` must have parameters that are trained, but none has "
            "`requires_grad`"
        )
    for name, part in module.named_modules():
        kept = [n for n, t in vars(part).items() if isinstance(t, Tensor) and t.grad_fn]
        # This one computes it first at its first call.
        hooks = part._forward_pre_hooks.values()
        kept += [hook.name for hook in hooks if isinstance(hook, SpectralNorm)]
        for attribute in kept:
            raise ValueError(
                "Stack.of: `module` must compute what it makes of its parameters when it "
                f"is called, but {f'{name}.{attribute}'.lstrip('.')!r} was computed before."
                " In the place of `weight_norm` or `spectral_norm`, use those of"
                " `torch.nn.utils.parametrizations`, and `one_by_one=True`."
            )
        if part.training and (p := _share_dropped(part)):
            raise ValueError(
                f"Stack.of: `module` must not draw random numbers, but {name!r} drops "
                f"units out. Set its `{p}` to 0, or call `eval()` on it."
            )
        if isinstance(part, _BatchNorm) and part.training and part.momentum is None:
            raise ValueError(
                f"Stack.of: `module` must average batch statistics with a momentum, but "
                f"{name!r} has none. Give it one, or `track_running_stats=False`."
            )
    every = list(module.parameters())
    kinds = {p.dtype for p in every}
    if len(kinds) > 1:
        raise ValueError(
            "Stack.of: `module` must have parameters of one dtype, but they are of "
            f"{', '.join(sorted(map(str, kinds)))}. Convert it with module.to(...)."
        )
    if every[0].is_complex():
        raise ValueError(
            f"Stack.of: `module` must have real parameters, but they are {every[0].dtype}. "
            "Give it real and imaginary parts, and join them by `torch.complex`."
        )
    if _share_memory([*every, *module.buffers()]):
        raise ValueError(
            "Stack.of: `module` must have each parameter in a memory of its own, but some "
            "lie in the same. Copy them, or share the parameter itself."
        )


def _share_dropped(part: nn.Module) -> str:
    """Return the name of the share of units that a part drops out, if it does."""
    if isinstance(part, _DropoutNd) and part.p > 0.0:
        return "p"
    # Behind every layer but the last.
    if isinstance(part, nn.RNNBase) and part.num_layers > 1 and part.dropout > 0.0:
        return "dropout"
    return ""


def _share_memory(tensors: Sequence[Tensor]) -> bool:
    """Whether a number belongs to two parameters, or to one and a buffer behind them."""
    together: dict[int, list[Tensor]] = {}
    for t in tensors:
        together.setdefault(t.untyped_storage().data_ptr(), []).append(t)
    pairs = chain.from_iterable(combinations(those, 2) for those in together.values())
    return any(isinstance(a, nn.Parameter) and _overlap(a, b) for a, b in pairs)


def _overlap(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors of one storage have a number in common."""
    marks = torch.zeros(one.untyped_storage().nbytes(), dtype=torch.uint8)
    # The first byte of each of their numbers.
    mine, others = (
        marks.as_strided(
            t.size(),
            [t.element_size() * step for step in t.stride()],
            t.element_size() * t.storage_offset(),
        )
        for t in (one, other)
    )
    mine.fill_(1)
    return bool(others.any())


def _one(module: nn.Module, generator: torch.Generator) -> nn.Module:
    made = copy.deepcopy(module).cpu()
    # Parts draw from the global generator: it takes the numbers of ours meanwhile.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.set_state(generator.get_state())
        # Inner parts first, as they are built: an outer one may draw theirs its own way.
        made.apply(_draw)
        generator.set_state(torch.default_generator.get_state())
    return made.to(next(module.parameters()).device)


def _draw(part: nn.Module) -> None:
    reset = _reset(part)
    if reset is not None:
        reset()


def _reset(part: nn.Module) -> Callable[..., object] | None:
    reset = getattr(part, "reset_parameters", None)
    return reset if callable(reset) else None


def _callable_bare(function: Callable[..., object]) -> bool:
    try:
        inspect.signature(function).bind()
    except TypeError:
        return False
    return True


def _told(module: nn.Module) -> dict[str, object]:
    """Return all that outputs depend on but parameters and buffers, by name."""
    told: dict[str, object] = {}
    for name, t in (*module.named_parameters(), *module.named_buffers()):
        told[name] = t.shape, t.dtype, t.requires_grad
    for path, part in module.named_modules():
        # A parametrisation gives its module a class of its own.
        told[path or "class"] = type_before_parametrizations(part)
        for name, value in vars(part).items():
            if isinstance(value, _SETTINGS) and not name.startswith("_"):
                told[f"{path}.{name}".lstrip(".")] = _said(value)
    return told


def _said(value: object) -> object:
    if isinstance(value, Tensor):
        return value.tolist()
    # Of a function that each module has made for itself, the code.
    return getattr(value, "__code__", repr(value))
