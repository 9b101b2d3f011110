"""Replicates of any `torch.nn.Module`: their parameters, and their outputs.

The modules are PyTorch's own, called by `torch.func`: what they compute one by one, is
computed for all replicates at once.
"""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

Params = tuple[Tensor, ...]
"""Parameters of a stack, replicates in front."""


def apply(
    module: nn.Module,
    params: Params,
    inputs: Tensor,
    *,
    buffers: Params = (),
    shared: bool = True,
) -> Tensor:
    """Return the outputs of all replicates, replicates in front.

    Parameters
    ----------
    module : nn.Module
        In training mode it updates `buffers` in place, as it does its own.
    params, buffers : tuple of Tensor
        In the order of the module's own.
    inputs : Tensor
        Of one replicate; with `shared` false, replicates in front.
    """
    names = [name for name, _ in module.named_parameters()]
    held = [name for name, _ in module.named_buffers()]

    def one(mine: Params, state: Params, x: Tensor) -> Tensor:
        given = dict(zip([*names, *held], [*mine, *state], strict=True))
        return functional_call(module, given, (x,))

    in_dims = (0, 0, None if shared else 0)
    return torch.vmap(one, in_dims=in_dims)(params, buffers, inputs)


def drawn(
    module: nn.Module, generators: Sequence[torch.Generator]
) -> tuple[Params, Params]:
    """Return parameters and buffers of a module initialised anew for each generator.

    By its parts' own ``reset_parameters``, on the CPU; then moved to the module's device.
    The state of PyTorch's global generator is as before.

    Raises
    ------
    ValueError
        If the module can't be stacked, or a part with parameters has no
        ``reset_parameters``.
    """
    check(module)
    if not generators:
        raise ValueError("drawn: `generators` must not be empty")
    for name, part in module.named_modules():
        own = list(part.parameters(recurse=False))
        if own and not callable(getattr(part, "reset_parameters", None)):
            raise ValueError(
                f"drawn: `module` must know how to draw its parameters, but {name!r} "
                f"({type(part).__name__}) has no `reset_parameters`. Build the modules "
                "yourself and use `stacked`."
            )
    return stacked([_one(module, generator) for generator in generators])


def stacked(modules: Sequence[nn.Module]) -> tuple[Params, Params]:
    """Return parameters and buffers of modules of one kind, replicates in front.

    Raises
    ------
    ValueError
        If there are none, they differ in shapes, or can't be stacked.
    """
    if not modules:
        raise ValueError("stacked: `modules` must not be empty")
    shapes = {_shapes(module) for module in modules}
    if len(shapes) > 1:
        raise ValueError(
            "stacked: `modules` must have parameters of the same names and shapes, but "
            f"there are {len(shapes)} kinds"
        )
    check(modules[0])
    params, buffers = stack_module_state(list(modules))
    return tuple(params.values()), tuple(buffers.values())


def check(module: nn.Module) -> None:
    """Refuse modules whose replicates can't be computed side by side.

    Raises
    ------
    ValueError
        If it draws random numbers, shares a parameter between parts, has parameters of
        several dtypes, or none; the message says what to do.
    """
    if not list(module.parameters()):
        raise ValueError("Stack.of: `module` must have parameters, but it has none")
    for name, part in module.named_modules():
        if isinstance(part, _DropoutNd) and part.training and part.p > 0.0:
            raise ValueError(
                f"Stack.of: `module` must not draw random numbers, but {name!r} drops "
                "units out. Set its `p` to 0, or call `eval()` on it."
            )
        if isinstance(part, _BatchNorm) and part.training and part.momentum is None:
            raise ValueError(
                f"Stack.of: `module` must average batch statistics with a momentum, but "
                f"{name!r} has none. Give it one, or `track_running_stats=False`."
            )
    every = [p for _, p in module.named_parameters(remove_duplicate=False)]
    if len({id(p) for p in every}) < len(every):
        raise ValueError(
            "Stack.of: `module` must have each parameter in one place, but some are "
            "shared. Copy them, or train the module alone."
        )
    kinds = {p.dtype for p in every}
    if len(kinds) > 1:
        raise ValueError(
            "Stack.of: `module` must have parameters of one dtype, but they are of "
            f"{', '.join(sorted(map(str, kinds)))}. Convert it with module.to(...)."
        )


def _one(module: nn.Module, generator: torch.Generator) -> nn.Module:
    made = copy.deepcopy(module).cpu()
    # Parts draw from the global generator: it takes the numbers of ours meanwhile.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.set_state(generator.get_state())
        for part in made.modules():
            reset = getattr(part, "reset_parameters", None)
            if callable(reset):
                reset()
        generator.set_state(torch.default_generator.get_state())
    return made.to(next(module.parameters()).device)


def _shapes(module: nn.Module) -> tuple[tuple[str, torch.Size], ...]:
    named = (*module.named_parameters(), *module.named_buffers())
    return tuple((name, tensor.shape) for name, tensor in named)
