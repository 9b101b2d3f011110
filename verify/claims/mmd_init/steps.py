"""Updates of a start under noise, against plain PyTorch (closed claims)."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from empirical.mmd_init.classifiers import classifier
from empirical.mmd_init.losses import losses
from empirical.mmd_init.modules import explicit
from empirical.mmd_init.networks import from_module
from empirical.mmd_init.pretraining import Pretrained, pretrain, pretrain_stack
from empirical.mmd_init.recipes import Recipe
from verify.claim import grid
from verify.claims._descent import step
from verify.claims._resumed import resumed
from verify.claims._twins import (
    SUMS,
    UPDATES,
    closed,
    drawn_into,
    normal,
    sketch,
    stacked,
)
from verify.claims.mmd_init.logits import noisy, normals, seeded
from verify.claims.mmd_init.terms import degenerate, detached, discrepancy, median
from verify.compare import Identical

# --- steps ------------------------------------------------------------------------------

_INPUTS, _BATCH, _STEPS, _MODELS = 11, 4, 7, 5


def _data(features: int) -> Tensor:
    return normal(_INPUTS, features, seed=[94])


def _recipe(way: Any, classes: int, **more: Any) -> Recipe:
    usual: dict[str, Any] = {"reference": 6, "closed": classes == 2}
    return Recipe(
        perturbations=_MODELS,
        noise=way,
        batch=_BATCH,
        steps=_STEPS,
        rate=0.01,
        window=3,
        **usual | more,
    )


TERMS = ("loss", "uniformity", "degeneracy", "detachment", "constant")


class _Course:
    """Steps of one start, alone: Adam, windows, what is noted."""

    def __init__(self, params: list[Tensor], recipe: Recipe, seed: int) -> None:
        self.params = [p.detach().clone().requires_grad_() for p in params]
        self.recipe, self.orders = recipe, seeded(seed)
        # The noise has a generator of its own, which the given one seeds.
        own = int(torch.randint(2**62, (), generator=self.orders))
        self.noise = torch.Generator().manual_seed(own)
        self.history: list[list[float]] = []
        self.best, self.at, self.least = self._now(), 0, np.inf

    def _now(self) -> list[Tensor]:
        return [p.detach().clone() for p in self.params]

    def run(self, x: Tensor, terms: Any, *, wrong: bool) -> "_Course":
        rate = self.recipe.rate
        adam = torch.optim.Adam(
            self.params, lr=rate, betas=(0.9, 0.99 if wrong else 0.999)
        )
        per = _INPUTS // _BATCH
        order = torch.zeros(0)
        for t in range(_STEPS):
            if t % per == 0:
                order = torch.randperm(len(x), generator=self.orders)
            chosen = x[order[t % per * _BATCH :][:_BATCH]]
            noted = terms(self.params, chosen, self.recipe, self.noise)
            step(adam, noted[0])
            self.history.append([float(value.detach()) for value in noted])
            if (t + 1) % 3 == 0:
                mean = float(np.mean([row[0] for row in self.history[t - 2 :]]))
                if mean < self.least:
                    self.least, self.at, self.best = mean, t + 1, self._now()
        return self

    def numbers(self) -> list[float]:
        every = np.array(self.history)
        return [self.at, *every.T.ravel().tolist(), *sketch(*self.best, *self.params)]


def _terms(
    logits: Tensor,
    iod: Tensor,
    recipe: Recipe,
    g: torch.Generator,
    bandwidths: Sequence[float] | None = None,
) -> list[Tensor]:
    """Return the loss and its parts from logits (P, n, d).

    Bandwidths, one for each input, stand in the place of medians.
    """
    f, classes, points = logits.softmax(dim=2), logits.shape[2], recipe.reference
    u, even = None, (torch.arange(points, dtype=torch.float64) + 0.5) / points
    if not recipe.closed:
        e = torch.empty(points, classes, dtype=torch.float64).exponential_(generator=g)
        u = e / e.sum(dim=1, keepdim=True)
    pool = torch.stack([even, 1.0 - even], dim=1) if u is None else u
    gammas = bandwidths or [median(one, pool) for one in f.unbind(dim=1)]
    each = [
        discrepancy(one, u, gamma, recipe.estimator)
        for one, gamma in zip(f.unbind(dim=1), gammas, strict=True)
    ]
    uni, sd = torch.stack(each).mean(), torch.stack([degenerate(p) for p in f]).mean()
    chosen = f.argmax(dim=2)
    single = (chosen == chosen[:, :1]).all(dim=1).double().mean()
    loss = recipe.uni * uni + recipe.lam * sd + recipe.xi * iod
    return [loss, uni, sd, iod, single]


def _of_layers(
    params: list[Tensor],
    x: Tensor,
    recipe: Recipe,
    g: torch.Generator,
    bandwidths: Sequence[float] | None = None,
) -> list[Tensor]:
    weights = list(zip(params[::2], params[1::2], strict=True))
    few = 10 * len(x) ** 2 if recipe.noise == "auto" else 0
    logits = noisy(weights, x, _MODELS, recipe.s, g, way=recipe.noise, few=few)
    return _terms(logits, detached(weights, x), recipe, g, bandwidths)


_WEIGHTS = ((0.7, 1.0, 0.4, 1.0), (1.2, 0.5, 1.5, 0.25))


def _starts(classes: int) -> list[list[Tensor]]:
    widths = (6, 8, 7, classes)
    made: list[list[Tensor]] = []
    for seed in range(2):
        layers = [nn.Linear(a, b).double() for a, b in itertools.pairwise(widths)]
        for k, layer in enumerate(layers):
            drawn_into(layer.parameters(), [95, seed, k], size=1.4)
        made.append([p.detach() for layer in layers for p in layer.parameters()])
    return made


_ABLATED = {
    "": _WEIGHTS,
    "uniformity": ((0.7, 0.0, 0.4, 1.0), _WEIGHTS[1]),
    "others": ((0.7, 1.0, 0.0, 1.0), (1.2, 0.5, 1.5, 0.0)),
}
"""Weights of two networks, some of them without a term that the other has."""


def _recipes(way: str, classes: int, without: str = "", **more: Any) -> list[Recipe]:
    return [
        _recipe(way, classes, s=s, uni=uni, lam=lam, xi=xi, **more)
        for s, uni, lam, xi in _ABLATED[without]
    ]


_GIVEN = (0.3, 0.9, 0.5, 1.4, 0.7, 0.2, 1.1, 0.4)
"""Bandwidths of the inputs of both networks."""


def _plain_terms(
    *, classes: int, given: bool, wrong: bool, estimator: str, **asked: Any
) -> list[float]:
    """Return the terms of both losses on four inputs each.

    Wrong: The other of the two estimates.
    """
    found: list[float] = []
    kind = {"unbiased": "biased", "biased": "unbiased"}[estimator]
    recipes = _recipes(
        "explicit", classes, estimator=kind if wrong else estimator, **asked
    )
    for k, (params, recipe) in enumerate(zip(_starts(classes), recipes, strict=True)):
        part = slice(_BATCH * k, _BATCH * (k + 1))
        x, bandwidths = _data(6)[part], _GIVEN[part] if given else None
        terms = _of_layers(params, x, recipe, seeded(k), bandwidths)
        found += [float(term.detach()) for term in terms]
    return found


def _stacked_terms(*, classes: int, given: bool, **asked: Any) -> list[float]:
    network = classifier((6, 8, 7, classes))
    found = losses(
        network,
        network.load(stacked(_starts(classes))),
        _data(6)[: 2 * _BATCH].view(2, _BATCH, 6),
        _recipes("explicit", classes, **asked),
        [seeded(0), seeded(1)],
        bandwidths=torch.tensor(_GIVEN, dtype=torch.float64) if given else None,
    )
    each = [getattr(found, name).tolist() for name in TERMS]
    return [value for one in zip(*each, strict=True) for value in one]


LOSS = closed(
    id="mmd/eq23-loss",
    items=("Eq23", "Est", "C1"),
    title="The loss of a batch has the estimate, points and bandwidths that are asked for",
    statement=r"L_{uni}+\lambda L_{sd}+\xi L_{iod}:\quad U\text{ or }V,\ N\text{ points"
    r" or none},\ \gamma\text{ given or the median}",
    where="Equation 23 and appendix C.1",
    cases=(
        *grid(
            classes=2,
            closed=(True, False),
            reference=(6, 9),
            estimator=("unbiased", "biased"),
            given=(False, True),
        ),
        *grid(
            classes=3,
            closed=False,
            reference=(6, 9),
            estimator=("unbiased", "biased"),
            given=(False, True),
        ),
        # One of the networks is without a term.
        *grid(
            classes=2,
            closed=True,
            reference=6,
            estimator="unbiased",
            given=False,
            without=("uniformity", "others"),
        ),
    ),
    compare=SUMS,
    twin=_plain_terms,
    measure=_stacked_terms,
    uses=("mmd/eq7-loss", "mmd/eq14-loss", "mmd/eq22-slopes", "mmd/gram-logits"),
)


def _plain_steps(
    *,
    way: str,
    classes: int,
    shared: bool = False,
    after: int | None = None,
    wrong: bool,
) -> list[float]:
    """Train each start by PyTorch's Adam on the definition of the loss.

    Wrong: Adam's second moment decaying at 0.99 in the place of 0.999.
    """
    found: list[float] = []
    pairs = zip(_starts(classes), _recipes(way, classes), strict=True)
    for seed, (params, recipe) in enumerate(pairs):
        course = _Course(params, recipe, 0 if shared else seed)
        found += course.run(_data(6), _of_layers, wrong=wrong).numbers()
    return found


def _told(result: Pretrained) -> list[float]:
    noted = np.array([result.history[name] for name in TERMS])
    kept = (p[0] for p in (*result.params, *result.last))
    return [result.best, *noted.ravel().tolist(), *sketch(*kept)]


def _stacked_steps(
    *,
    way: str,
    classes: int,
    shared: bool = False,
    after: int | None = None,
) -> list[float]:
    network = classifier((6, 8, 7, classes))

    def run(**kept: Any) -> list[Pretrained]:
        numbers = [seeded(0), seeded(1)]
        return pretrain_stack(
            network,
            _data(6),
            _recipes(way, classes),
            params=network.load(stacked(_starts(classes))),
            generators=numbers[:1] * 2 if shared else numbers,
            on_degenerate="record",
            **kept,
        )

    results, _ = resumed(run, after=after)
    return [number for result in results for number in _told(result)]


STEPS = closed(
    id="mmd/eq11-steps",
    items=("Eq23",),
    title="Pre-training, stopped or not, takes Adam's steps on the loss as it is defined",
    statement=(
        r"\theta\leftarrow\theta"
        r"-\eta\,\mathrm{Adam}(\nabla(L_{uni}+\lambda L_{sd}+\xi L_{iod})),\quad"
        r"\theta_T\text{ by way of a checkpoint of }\theta_t"
    ),
    where="Equation 23 and appendix D.2",
    cases=(
        *grid(way=("explicit", "auto"), classes=3),
        *grid(way=("gram", "auto"), classes=2),
        # By the same random numbers.
        *grid(way="explicit", classes=3, shared=True),
        # Stopped, and going on from a checkpoint.
        *grid(way="explicit", classes=3, after=(2, 3)),
        *grid(way="gram", classes=2, after=(4, 6)),
    ),
    twin=_plain_steps,
    measure=_stacked_steps,
    uses=("mmd/eq23", "mmd/eq23-loss"),
    version=2,
)

# --- any module -------------------------------------------------------------------------


def _module() -> nn.Sequential:
    net = nn.Sequential(
        nn.Unflatten(1, (1, 3, 4)),
        nn.Conv2d(1, 2, 2, stride=2),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(4, 5),
        nn.ReLU(),
        nn.Linear(5, 3),
    ).double()
    drawn_into(net.parameters(), [96], size=1.3)
    return net


def _of_module(
    params: list[Tensor], x: Tensor, recipe: Recipe, g: torch.Generator
) -> list[Tensor]:
    net = _module()
    names = [name for name, _ in net.named_parameters()]
    # Four, then four and five numbers enter a unit; two, five and three units share s.
    fans = (4, 2, 4, 5, 5, 3)
    noisy_params = [
        p + normals((_MODELS, *p.shape), g) * recipe.s / fan**0.5
        for p, fan in zip(params, fans, strict=True)
    ]
    rows = zip(*noisy_params, strict=True)
    logits = torch.stack(
        [
            torch.func.functional_call(net, dict(zip(names, row, strict=True)), (x,))
            for row in rows
        ]
    )
    total = x.new_zeros(())
    for one in x:
        a, b, c = (params[0], params[1]), (params[2], params[3]), (params[4], params[5])
        start = one.clone().requires_grad_()
        first = nn.functional.conv2d(start.view(1, 1, 3, 4), *a, stride=2)
        second = nn.functional.linear(first.tanh().flatten(1), *b)
        for logit in nn.functional.linear(second.relu(), *c)[0]:
            met = [start, first, second]
            slopes = torch.autograd.grad(logit, met, create_graph=True)
            total = (
                total + torch.stack([(1.0 - d.norm()) ** 2 for d in slopes]).max() / 3
            )
    return _terms(logits, total / len(x), recipe, g)


def _module_recipe() -> Recipe:
    return _recipe("explicit", 3, s=0.7, uni=1.0, lam=0.4, xi=0.8)


def _plain_module(*, inputs: str, wrong: bool) -> list[float]:
    """Train the module by PyTorch's Adam on the definition of the loss.

    Wrong: Adam's second moment decaying at 0.99 in the place of 0.999.
    """
    course = _Course(list(_module().parameters()), _module_recipe(), 3)
    return course.run(_data(12), _of_module, wrong=wrong).numbers()


def _found_module(*, inputs: str) -> list[float]:
    x = _data(12)
    if inputs == "module":
        result = pretrain(
            _module(), x, _module_recipe(), generator=seeded(3), on_degenerate="record"
        )
        taken = _module()
        taken.load_state_dict(result.state)
        kept = tuple(p.detach()[None] for p in taken.parameters())
        return _told(replace(result, params=kept))
    network, params = explicit(_module(), x)
    (result,) = pretrain_stack(
        network,
        x.numpy(),
        [_module_recipe()],
        params=params,
        generators=[seeded(3)],
        on_degenerate="record",
    )
    return _told(result)


MODULE = closed(
    id="mmd/eq11-module",
    items=("Eq23",),
    title="Pre-training a convolutional module takes the steps of the definition as well",
    statement=r"\theta_{t+1}=\theta_t-\eta\,\mathrm{Adam}(\nabla L)",
    where="Equation 23 and appendix D.2",
    cases=grid(inputs=("module", "stack")),
    twin=_plain_module,
    measure=_found_module,
    compare=UPDATES,
    uses=("mmd/eq11-steps",),
)

# --- what is refused --------------------------------------------------------------------


def _doubled(_layer: nn.Module, *met: Any) -> Any:
    return 2.0 * met[-1] if isinstance(met[-1], Tensor) else None


def _modules() -> list[tuple[nn.Module, bool, bool]]:
    """Return modules, and whether noise on two layers, or with ReLU, is all there is."""
    layers = [
        nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)) for _ in "1234"
    ]
    plain, changed, prepared, grown = layers
    first, relu, last = list(plain)
    changed[0].register_forward_hook(_doubled)
    prepared[2].register_forward_pre_hook(_doubled)
    grown[0].register_parameter("own", nn.Parameter(torch.zeros(3)))
    scaled = nn.Sequential(first, relu, nn.PReLU(), last)
    buffered = nn.Sequential(first, nn.BatchNorm1d(3, affine=False), relu, last).eval()
    refused = (changed, prepared, grown, scaled, buffered)
    return [
        (plain, True, True),
        *((module, False, False) for module in refused),
        (nn.Sequential(first, nn.Tanh(), last), True, False),
    ]


def _expected(*, way: str, wrong: bool) -> list[float]:
    """Say of each module whether it is taken.

    Wrong: Modules of every kind are taken.
    """
    return [float(wrong or fits[way == "relu"]) for _, *fits in _modules()]


def _taken(*, way: str) -> list[float]:
    x = normal(5, 4, seed=[97]).float()
    ways: dict[str, Callable[[nn.Module], object]] = {
        "any": lambda module: explicit(module, x),
        "relu": from_module,
    }
    found: list[float] = []
    for module, *_ in _modules():
        try:
            ways[way](module)
            found.append(1.0)
        except TypeError:
            found.append(0.0)
    return found


TAKEN = closed(
    id="mmd/eq11-refused",
    items=("Eq23",),
    title="Modules in which more happens than noise on layers accounts for are refused",
    statement=r"\text{refused: hooks, parameters outside layers, buffers}",
    where="Appendix D.2",
    cases=grid(way=("any", "relu")),
    twin=_expected,
    measure=_taken,
    compare=Identical(),
    uses=("mmd/eq11-module",),
)
