"""Any module of Linear and Conv layers as a network whose start can be learnt.

Noise is drawn on every weight, and the slopes by each layer are autograd's: slower than
what is known of fully connected ReLU networks, and for any activation.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from empirical.mmd_init.gram import normal
from empirical.mmd_init.networks import altered, check_layers
from empirical.mmd_init.regularisers import norm
from empirical.networks import Params
from empirical.testbed.stack import along

LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
"""Classes of layers whose noise is known: by what enters one unit, and their number."""


@dataclass(frozen=True, eq=False)
class Explicit:
    """A module as `losses` asks for it.

    Attributes
    ----------
    module : nn.Module
        Its own parameters are not used.
    names : tuple of str
        Of the parameters.
    shape : tuple of int
        Of one input.
    classes : int
    readout : tuple of int
        Which parameters are those of the layer that makes the logits, by index.
    """

    module: nn.Module
    names: tuple[str, ...]
    shape: tuple[int, ...]
    classes: int
    readout: tuple[int, ...]

    @property
    def widths(self) -> tuple[int, int]:
        """Features and classes."""
        return torch.Size(self.shape).numel(), self.classes

    def check_params(self, params: Params) -> None:
        """Raise ValueError unless `params` are a stack of the module's."""
        own = [tuple(p.shape) for p in self.module.parameters()]
        given = [tuple(p.shape[1:]) for p in params]
        if own != given:
            raise ValueError(
                f"pretrain: `params` must have the shapes {own} behind the replicates,"
                f" but they have {given}"
            )

    def logits(
        self,
        params: Params,
        batches: Tensor,
        perturbations: int,
        s: Tensor,
        generators: Sequence[torch.Generator],
    ) -> Tensor:
        """Return logits under noise, (S, perturbations, n, d), of batches (S, n, ...)."""
        noisy: list[Tensor] = []
        for p, scale in zip(params, self._scales(), strict=True):
            drawn = p.new_empty((len(p), perturbations, *p.shape[1:]))
            normal(drawn, generators).mul_(along(scale * s.to(p), drawn))
            noisy.append(p.unsqueeze(1) + drawn)
        found = [
            vmap(self._call, in_dims=(0, None))(tuple(p[index] for p in noisy), x)
            for index, x in enumerate(batches)
        ]
        return torch.stack(found)

    def norms(self, params: Params, batches: Tensor) -> Tensor:
        """Return the norms that `regularisers.jacobian_norms` returns, (L, S, n, d)."""
        each = [
            self._norms(tuple(p[index] for p in params), x)
            for index, x in enumerate(batches)
        ]
        return torch.stack(each, dim=1)

    def _call(self, params: Params, x: Tensor) -> Tensor:
        state = dict(zip(self.names, params, strict=True))
        return functional_call(self.module, state, (x.reshape(-1, *self.shape),))

    def _norms(self, params: Params, x: Tensor) -> Tensor:
        slopes, entered = torch.is_grad_enabled(), [x.detach().requires_grad_()]

        def keep(_module: nn.Module, _given: Any, made: Tensor) -> None:
            entered.append(made)

        hooks = [layer.register_forward_hook(keep) for _, layer in layers(self.module)]
        try:
            with torch.enable_grad():
                # Without slopes by parameters none but those by the layers are made.
                if not any(p.requires_grad for p in params):
                    params = tuple(p.detach() for p in params)
                logits = self._call(params, entered[0])
                rows = [
                    torch.autograd.grad(
                        logits[:, k].sum(),
                        entered[:-1],
                        create_graph=slopes,
                        retain_graph=True,
                        materialize_grads=True,
                    )
                    for k in range(self.classes)
                ]
        finally:
            for hook in hooks:
                hook.remove()
        each = [torch.stack([norm(j.flatten(1)) for j in row]) for row in rows]
        return torch.stack(each, dim=-1)

    def _scales(self) -> list[float]:
        """Return the deviations of the noise on each parameter for s = 1."""
        found: dict[str, float] = {}
        for name, layer in layers(self.module):
            weight, prefix = layer.get_parameter("weight"), f"{name}." if name else ""
            found[f"{prefix}weight"] = weight[0].numel() ** -0.5
            found[f"{prefix}bias"] = len(weight) ** -0.5
        return [found[name] for name in self.names]


def layers(module: nn.Module) -> list[tuple[str, nn.Module]]:
    """Return a module's layers of the known classes, by name."""
    return [(n, m) for n, m in module.named_modules() if type(m) in LAYERS]


def explicit(module: nn.Module, x: Tensor) -> tuple[Explicit, Params]:
    """Return the network that a module is, and its parameters, replicates in front.

    Parameters
    ----------
    module : nn.Module
        Not changed.
    x : Tensor, shape (n, ...)
        Inputs as it takes them.

    Raises
    ------
    TypeError
        If a parameter belongs to no Linear or Conv layer of its own, or is not real
        float32 or float64, or a layer has no bias; if there are buffers, as of batch
        normalisation; or what it predicts for an input is random, or depends on the
        other inputs.
    ValueError
        If it does not make at least two logits an input, or has no hidden layer.
    """
    own = copy.deepcopy(module)
    known = layers(own)
    of_layers = [id(p) for _, layer in known for p in layer.parameters()]
    others = [n for n, p in own.named_parameters() if id(p) not in of_layers]
    others += [n for n, _ in own.named_buffers()]
    others += [n for n, m in known if altered(m)]
    if others:
        raise TypeError(
            "pretrain: `network` must have all its parameters in Linear and Conv layers,"
            f" and no buffers, but it has {', '.join(others)}. Leave batch normalisation"
            " and the like out."
        )
    check_layers([layer for _, layer in known])
    if len(known) < 2:
        raise ValueError("pretrain: `network` must have a hidden layer, but has none")
    few, met = x[:3].to(next(own.parameters())), []
    hooks = [m.register_forward_hook(lambda *a: met.append(a)) for _, m in known]
    with torch.no_grad():
        once = own(few)
        for hook in hooks:
            hook.remove()
        again, single = own(few), own(few[:1])
    if len(met) != len(known) or not torch.equal(met[-1][-1], once):
        raise TypeError(
            "pretrain: `network` must use every layer once, and end in its logits: no"
            " Softmax behind the last layer"
        )
    if once.ndim != 2 or len(once) != len(few) or once.shape[1] < 2:
        raise ValueError(
            "pretrain: `network` must make a logit for each of two classes or more, but"
            f" of {len(few)} inputs it makes {tuple(once.shape)}"
        )
    close = torch.allclose(once[:1], single, rtol=1e-3, atol=1e-5)
    if not torch.equal(once, again) or not close:
        raise TypeError(
            "pretrain: `network` must predict the same for an input every time and in any"
            " company, but it does not. Leave Dropout and batch statistics out."
        )
    names = tuple(name for name, _ in own.named_parameters())
    params = tuple(p.detach().clone()[None] for p in own.parameters())
    mine = [id(p) for p in met[-1][0].parameters()]
    readout = tuple(i for i, p in enumerate(own.parameters()) if id(p) in mine)
    shape = tuple(x.shape[1:])
    return Explicit(own, names, shape, once.shape[1], readout), params
