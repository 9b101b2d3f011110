"""Updates of a start under noise, against plain PyTorch (closed claims)."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from empirical.mmd_init import noise
from empirical.mmd_init.classifiers import classifier
from empirical.mmd_init.gram import cholesky
from empirical.mmd_init.modules import explicit
from empirical.mmd_init.pretraining import Pretrained, pretrain, pretrain_stack
from empirical.mmd_init.recipes import Recipe
from verify.claim import grid
from verify.claims._twins import closed, drawn_into, normal, sketch
from verify.claims.mmd_init.terms import degenerate, detached, discrepancy, median

KEY = "lee2023unsupervised"
Weights = list[tuple[Tensor, Tensor]]

# --- logits under noise, and their slopes -----------------------------------------------

_WIDTHS = (5, 9, 8, 7, 3)
_S = (0.6, 1.1)


def _layers(seed: int) -> Weights:
    return [
        (
            normal(b, a, seed=[90, seed, k], size=(2.0 / a) ** 0.5),
            normal(b, seed=[91, seed, k], size=0.3),
        )
        for k, (a, b) in enumerate(zip(_WIDTHS, _WIDTHS[1:], strict=False))
    ]


def _own(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(90 + seed)


def _normal(shape: tuple[int, ...], g: torch.Generator) -> Tensor:
    return torch.empty(shape, dtype=torch.float64).normal_(generator=g)


def root(c: Tensor) -> Tensor:
    """Return Cholesky's root of a covariance, with 1e-9 of its mean variance more."""
    return torch.linalg.cholesky(c + 1e-9 * c.diagonal().mean() * torch.eye(len(c)))


def on_outputs(
    h: Tensor,
    w: Tensor,
    b: Tensor,
    s: float,
    g: torch.Generator,
    *,
    biases: float = 1.0,
) -> Tensor:
    """Return a layer's outputs (P, n, out) with noise of the law that weights' noise has.

    Its slope by the inputs is that of the weights' mean, given this noise.
    """
    (perturbations, n, fan), out = h.shape, len(w)
    z = _normal((perturbations, n, out), g)
    made: list[Tensor] = []
    for one, numbers in zip(h, z, strict=True):
        known = one.detach()
        c = s**2 / fan * known @ known.T + biases * s**2 / out
        noisy = root(c) @ numbers
        jittered = c + 1e-9 * c.diagonal().mean() * torch.eye(n)
        mean = s**2 / fan * noisy.T @ torch.linalg.solve(jittered, known)
        made.append(one @ (w + mean).T + b + noisy - known @ mean.T)
    return torch.stack(made)


def on_weights(h: Tensor, w: Tensor, b: Tensor, s: float, g: torch.Generator) -> Tensor:
    """Return a layer's outputs with noise on each weight and bias."""
    e = _normal((len(h), *w.shape), g) * (s / w.shape[1] ** 0.5)
    d = _normal((len(h), len(b)), g) * (s / len(b) ** 0.5)
    pairs = zip(h, w + e, b + d, strict=True)
    return torch.stack([one @ each.T + bias for one, each, bias in pairs])


def noisy(
    weights: Weights,
    x: Tensor,
    perturbations: int,
    s: float,
    g: torch.Generator,
    *,
    way: str,
    few: int = 0,
    biases: float = 1.0,
) -> Tensor:
    """Return logits (P, n, d) under noise, drawn as the way says."""
    h = x.expand(perturbations, *x.shape)
    for k, (w, b) in enumerate(weights):
        h = h.relu() if k else h
        if way == "local":
            spread = (
                h.square().sum(dim=2, keepdim=True) / h.shape[2] + biases / len(b)
            ).sqrt()
            h = h @ w.T + b + s * spread * _normal((*h.shape[:2], len(b)), g)
        elif way == "explicit" or (k and w.numel() <= few):
            h = on_weights(h, w, b, s, g)
        else:
            h = on_outputs(h, w, b, s, g, biases=biases)
    return h


def _plain_logits(*, way: str, batch: int, wrong: bool) -> list[float]:
    # Weights of a layer that ten squares of the batch outnumber have noise of their own.
    few = 10 * batch**2 if way == "auto" else 0
    found: list[float] = []
    for row, s in enumerate(_S):
        weights = [(w.requires_grad_(), b.requires_grad_()) for w, b in _layers(row)]
        x = normal(batch, _WIDTHS[0], seed=[92, row])
        if wrong:
            s *= 1.001
        logits = noisy(weights, x, 3, s, _own(row), way=way, few=few)
        found += _with_slopes(logits, [p for pair in weights for p in pair])
    return found


def _with_slopes(logits: Tensor, leaves: list[Tensor]) -> list[float]:
    up = torch.cos(torch.arange(logits.numel(), dtype=torch.float64)).view(logits.shape)
    slopes = torch.autograd.grad((logits * up).sum(), leaves)
    return sketch(logits, *slopes)


def _found_logits(*, way: Any, batch: int) -> list[float]:
    each = [_layers(row) for row in range(2)]
    weights = [
        tuple(torch.stack(same).requires_grad_() for same in zip(*pairs, strict=True))
        for pairs in zip(*each, strict=True)
    ]
    x = torch.stack([normal(batch, _WIDTHS[0], seed=[92, row]) for row in range(2)])
    s = torch.tensor(_S, dtype=torch.float64)
    logits = noise.BY_WAY[way](weights, x, 3, s, [_own(0), _own(1)])
    up = torch.cos(torch.arange(logits[0].numel(), dtype=torch.float64))
    leaves = [p for pair in weights for p in pair]
    total = (logits * up.view(logits[0].shape)).sum()
    slopes = torch.autograd.grad(total, leaves)
    found: list[float] = []
    for row in range(2):
        found += sketch(logits[row], *(slope[row] for slope in slopes))
    return found


LOGITS = closed(
    id="mmd/gram-logits",
    items=("Gram",),
    title="Logits under noise and their slopes are the definition's, layer by layer",
    statement=(
        r"HW^T+b+Lz,\quad LL^T=\tfrac{s^2}{n_{in}}HH^T+\tfrac{s^2}{n_{out}}11^T"
    ),
    key=KEY,
    where="Section 3.3, on sampling perturbations",
    # Of two inputs "auto" has noise on the last layer's weights, of five on most.
    cases=grid(way=("auto", "gram", "explicit", "local"), batch=(1, 2, 5)),
    twin=_plain_logits,
    measure=_found_logits,
)


def _covariances(kind: str) -> Tensor:
    h = normal(3, 4, 2, seed=[93])
    c = h @ h.mT
    if kind == "singular":
        # Negative by so many ninths of its mean variance.
        c[1] -= 3e-8 * c[1].diagonal().mean() * torch.eye(4)
    return c


def _plain_root(*, kind: str, wrong: bool) -> list[float]:
    found: list[float] = []
    for c in _covariances(kind):
        jitter = 1e-8 if wrong else 1e-9
        while True:
            shifted = c + jitter * c.diagonal().mean() * torch.eye(4)
            made, bad = torch.linalg.cholesky_ex(shifted)
            if not int(bad):
                break
            jitter *= 10.0
        found += (made @ made.T - c).diagonal().tolist()
    return found


def _found_root(*, kind: str) -> list[float]:
    c = _covariances(kind)
    made = cholesky(c)
    return (made @ made.mT - c).diagonal(dim1=1, dim2=2).flatten().tolist()


ROOT = closed(
    id="mmd/gram-root",
    items=("Gram",),
    title="A singular covariance is lifted by the least power of ten that makes it definite",
    statement=r"LL^T=C+10^{k}\cdot10^{-9}\,\tfrac{\operatorname{tr}C}{n}I",
    key=KEY,
    where="Section 3.3, on sampling perturbations",
    cases=grid(kind=("definite", "singular")),
    twin=_plain_root,
    measure=_found_root,
)

# --- steps ------------------------------------------------------------------------------

_INPUTS, _BATCH, _STEPS, _MODELS = 11, 4, 7, 5


def _data(features: int) -> Tensor:
    return normal(_INPUTS, features, seed=[94])


def _recipe(way: Any, classes: int, **more: Any) -> Recipe:
    return Recipe(
        perturbations=_MODELS,
        reference=6,
        closed=classes == 2,
        noise=way,
        batch=_BATCH,
        steps=_STEPS,
        rate=0.01,
        window=3,
        **more,
    )


TERMS = ("loss", "uniformity", "degeneracy", "detachment", "constant")


class _Course:
    """Steps of one start, alone: Adam, windows, what is noted."""

    def __init__(self, params: list[Tensor], recipe: Recipe, seed: int) -> None:
        self.params = [p.detach().clone().requires_grad_() for p in params]
        self.recipe, self.orders = recipe, _own(seed)
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
            adam.zero_grad()
            noted[0].backward()
            adam.step()
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
    logits: Tensor, iod: Tensor, recipe: Recipe, g: torch.Generator
) -> list[Tensor]:
    """Return the loss and its parts from logits (P, n, d)."""
    f, classes = logits.softmax(dim=2), logits.shape[2]
    u, even = None, (torch.arange(6, dtype=torch.float64) + 0.5) / 6
    if classes > 2:
        e = torch.empty(6, classes, dtype=torch.float64).exponential_(generator=g)
        u = e / e.sum(dim=1, keepdim=True)
    pool = torch.stack([even, 1.0 - even], dim=1) if u is None else u
    each = [
        discrepancy(one, u, median(one, pool), "unbiased") for one in f.unbind(dim=1)
    ]
    uni, sd = torch.stack(each).mean(), torch.stack([degenerate(p) for p in f]).mean()
    chosen = f.argmax(dim=2)
    single = (chosen == chosen[:, :1]).all(dim=1).double().mean()
    loss = recipe.uni * uni + recipe.lam * sd + recipe.xi * iod
    return [loss, uni, sd, iod, single]


def _of_layers(
    params: list[Tensor], x: Tensor, recipe: Recipe, g: torch.Generator
) -> list[Tensor]:
    weights = list(zip(params[::2], params[1::2], strict=True))
    few = 10 * len(x) ** 2 if recipe.noise == "auto" else 0
    logits = noisy(weights, x, _MODELS, recipe.s, g, way=recipe.noise, few=few)
    return _terms(logits, detached(weights, x), recipe, g)


_WEIGHTS = ((0.7, 1.0, 0.4, 1.0), (1.2, 0.5, 1.5, 0.25))


def _starts(classes: int) -> list[list[Tensor]]:
    widths = (6, 8, 7, classes)
    made: list[list[Tensor]] = []
    for seed in range(2):
        layers = [
            nn.Linear(a, b).double() for a, b in zip(widths, widths[1:], strict=False)
        ]
        for k, layer in enumerate(layers):
            drawn_into(layer.parameters(), [95, seed, k], size=1.4)
        made.append([p.detach() for layer in layers for p in layer.parameters()])
    return made


def _recipes(way: str, classes: int) -> list[Recipe]:
    return [
        _recipe(way, classes, s=s, uni=uni, lam=lam, xi=xi)
        for s, uni, lam, xi in _WEIGHTS
    ]


def _plain_steps(*, way: str, classes: int, wrong: bool) -> list[float]:
    found: list[float] = []
    pairs = zip(_starts(classes), _recipes(way, classes), strict=True)
    for seed, (params, recipe) in enumerate(pairs):
        course = _Course(params, recipe, seed)
        found += course.run(_data(6), _of_layers, wrong=wrong).numbers()
    return found


def _told(result: Pretrained) -> list[float]:
    noted = np.array([result.history[name] for name in TERMS])
    kept = (p[0] for p in (*result.params, *result.last))
    return [result.best, *noted.ravel().tolist(), *sketch(*kept)]


def _stacked_steps(*, way: str, classes: int) -> list[float]:
    network = classifier((6, 8, 7, classes))
    params = [torch.stack(same) for same in zip(*_starts(classes), strict=True)]
    results = pretrain_stack(
        network,
        _data(6),
        _recipes(way, classes),
        params=network.load(params),
        generators=[_own(0), _own(1)],
        on_degenerate="record",
    )
    return [number for result in results for number in _told(result)]


STEPS = closed(
    id="mmd/eq11-steps",
    items=("Eq11", "Eq5"),
    title="Learning a start moves it as Adam does on the definition of the loss",
    statement=r"\theta_{t+1}=\theta_t-\eta\,\mathrm{Adam}(\nabla[L_{uni}+\lambda L_{sd}+\xi L_{iod}])",
    key=KEY,
    where="Section 3, equation (11), and appendix B",
    cases=(
        *grid(way=("explicit", "auto"), classes=(3,)),
        *grid(way=("gram", "auto"), classes=(2,)),
    ),
    twin=_plain_steps,
    measure=_stacked_steps,
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
        p + _normal((_MODELS, *p.shape), g) * recipe.s / fan**0.5
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
    course = _Course(list(_module().parameters()), _module_recipe(), 3)
    return course.run(_data(12), _of_module, wrong=wrong).numbers()


def _found_module(*, inputs: str) -> list[float]:
    x = _data(12)
    if inputs == "module":
        result = pretrain(
            _module(), x, _module_recipe(), generator=_own(3), on_degenerate="record"
        )
        return _told(result)
    network, params = explicit(_module(), x)
    (result,) = pretrain_stack(
        network,
        x.numpy(),
        [_module_recipe()],
        params=params,
        generators=[_own(3)],
        on_degenerate="record",
    )
    return _told(result)


MODULE = closed(
    id="mmd/eq11-module",
    items=("Eq11",),
    title="A convolutional module's start is learnt by the definition's steps as well",
    statement=r"\theta_{t+1}=\theta_t-\eta\,\mathrm{Adam}(\nabla L)",
    key=KEY,
    where="Section 3, equation (11)",
    cases=grid(inputs=("module", "stack")),
    twin=_plain_module,
    measure=_found_module,
)
