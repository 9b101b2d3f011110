"""The loss of pre-training and its optimiser beside a twin written with autograd alone.

The twin is the reference for whoever touches the slopes by hand of `gram`, `uniformity`
and `regularisers`. It draws the same numbers. Noise on outputs n = H E' + 1 e' tells the
noise on weights in the mean: E = s^2/n_in n' C^-1 H and e = s^2/n_out n' C^-1 1, which
give these outputs but for the jitter. The twin's slopes are those by H of that mean.
"""

import math
from itertools import combinations
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from empirical.mmd_init import networks
from empirical.mmd_init.gram import JITTER
from empirical.mmd_init.losses import losses
from empirical.mmd_init.modules import explicit
from empirical.mmd_init.pretraining import pretrain
from empirical.mmd_init.recipes import Recipe
from empirical.randomness import torch_generator

NET = networks.classifier((5, 7, 6, 2))
RECIPE = Recipe(perturbations=9, reference=8, batch=6, steps=3, window=3, rate=3e-3)
DATA = torch.randn(20, 5, generator=torch_generator(7, "x"), dtype=torch.float64)


def drawn(way: str, h: Tensor, w: Tensor, s: float, g: torch.Generator) -> Any:
    """Noise on a layer's weights and biases, and what they leave of that on outputs."""
    (out, fan), m, n = w.shape, RECIPE.perturbations, h.shape[-2]
    if way == "explicit":
        e = torch.empty(m, out, fan, dtype=w.dtype).normal_(generator=g)
        b = w.new_empty(m, out).normal_(generator=g)
        return e * s * fan**-0.5, b * s * out**-0.5, 0.0
    z, h = w.new_empty(m, n, out).normal_(generator=g), h.detach()
    c = s**2 * (h @ h.mT / fan + 1.0 / out)
    c = c + JITTER * c.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None] * torch.eye(
        n
    )
    noise = (torch.linalg.cholesky(c) @ z).mT
    back = torch.linalg.solve(c.mT, noise, left=False)
    e, b = s**2 / fan * back @ h, s**2 / out * back.sum(dim=-1)
    return e, b, noise.mT - h @ e.mT - b[:, None]


def twin(way: str, params: Any, x: Tensor, g: torch.Generator) -> Tensor:
    """L_uni + lam L_sd + xi L_iod of two classes."""
    s, h, entered = RECIPE.s, x, [x.clone().requires_grad_()]
    for k, (w, b) in enumerate(zip(params[::2], params[1::2], strict=True)):
        h = h.relu() if k else h
        e, shift, rest = drawn(way, h, w, s, g)
        h = h @ (w + e).mT + (b + shift)[:, None] + rest
        before = entered[-1].relu() if k else entered[-1]
        entered.append(before @ w.mT + b)
    p, total = h.softmax(dim=-1)[..., 0], torch.zeros((), dtype=x.dtype)
    even = (torch.arange(RECIPE.reference) + 0.5) / RECIPE.reference
    for column in p.unbind(dim=1):
        pool = torch.cat([column.detach(), even]).tolist()
        apart = [2.0**0.5 * abs(a - b) for a, b in combinations(pool, 2)]
        middle = torch.tensor(apart, dtype=x.dtype).quantile(0.5)
        for c in (2.0**i * middle for i in range(-4, 5)):
            k = torch.exp(-(((column[:, None] - column) / c) ** 2))
            m, root = len(column), c * math.pi**0.5
            within = (k.sum() - k.diagonal().sum()) / (m * (m - 1))
            across = root / 2 * (torch.erf(column / c) + torch.erf((1 - column) / c))
            both = root * torch.erf(1 / c) - c**2 * (1 - torch.exp(-(c**-2)))
            total = total + (within - 2 * across.mean() + both) / p.shape[1]
    f = torch.stack([p, 1 - p], dim=-1)
    far = (f[..., None, :] - torch.eye(2)).norm(dim=-1).mean(dim=1).amax(dim=-1)
    total = total + RECIPE.lam * (far - 0.5**0.5).clamp(min=0.0).mean()
    logits = entered.pop()
    rows = [
        torch.autograd.grad(logits[:, i].sum(), entered, create_graph=True)
        for i in (0, 1)
    ]
    worst = [
        torch.stack([(1 - j.norm(dim=1)) ** 2 for j in row]).amax(dim=0) for row in rows
    ]
    return total + RECIPE.xi * torch.stack(worst).mean()


def start(kind="he") -> Any:
    return networks.start(NET, kind, [torch_generator(7, kind)], dtype=torch.float64)


@pytest.mark.parametrize("kind", ["he", "xavier"])
@pytest.mark.parametrize("way", ["explicit", "gram"])
def test_value_and_slopes_are_the_twins(way, kind):
    ours, theirs = ([p.clone().requires_grad_() for p in start(kind)] for _ in range(2))
    x = DATA[: RECIPE.batch]
    recipe = Recipe(**{**vars(RECIPE), "noise": way})
    value = losses(NET, tuple(ours), x[None], [recipe], [torch_generator(7, "n")]).loss
    value.sum().backward()
    wanted = twin(way, [p[0] for p in theirs], x, torch_generator(7, "n"))
    wanted.backward()
    # Rounding of some hundred terms; on outputs of what the inverse of a covariance makes
    # of it, whose condition the jitter bounds by 1e9 times the batch.
    size = 1e-11 if way == "explicit" else 1e-6
    assert float(value.detach()) == pytest.approx(float(wanted.detach()), rel=size)
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine.grad, other.grad, rtol=size, atol=size)
    # The terms matter: another seed is far off.
    away = twin(way, [p[0] for p in theirs], x, torch_generator(8, "n"))
    assert abs(float(away.detach()) - float(wanted.detach())) > 1e-4


def test_the_optimiser_is_adam_with_the_papers_betas():
    recipe = Recipe(**{**vars(RECIPE), "noise": "explicit"})
    found = pretrain(
        NET, DATA, recipe, generator=torch_generator(7, "g"), params=start()
    )
    g = torch_generator(7, "g")
    noise = torch.Generator().manual_seed(int(torch.randint(2**62, (), generator=g)))
    order = torch.randperm(len(DATA), generator=g)
    made = [p[0].clone().requires_grad_() for p in start()]
    optimiser = torch.optim.Adam(made, lr=recipe.rate, betas=(0.9, 0.999))
    for rows in order[:18].split(recipe.batch):
        optimiser.zero_grad()
        twin("explicit", made, DATA[rows], noise).backward()
        optimiser.step()
    for mine, other in zip(found.last, made, strict=True):
        # Three steps of 3e-3; betas of 0.9 and 0.99 move them by a tenth of that.
        torch.testing.assert_close(mine[0], other.detach(), rtol=0.0, atol=1e-8)


class TestModules:
    """Any module of Linear and Conv layers, by noise on every weight."""

    def convolutional(self) -> nn.Module:
        g = torch_generator(7, "conv")
        made = nn.Sequential(
            *(nn.Unflatten(1, (1, 4, 4)), nn.Conv2d(1, 3, 3, padding=1), nn.GELU()),
            *(nn.Conv2d(3, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(16, 2)),
        ).double()
        with torch.no_grad():
            for p in made.parameters():
                p.normal_(generator=g).mul_(0.5)
        return made

    def images(self) -> Tensor:
        g = torch_generator(7, "images")
        return torch.randn(64, 16, generator=g, dtype=torch.float64)

    def test_is_the_fast_way_of_what_that_knows(self):
        module = networks.as_module(NET, start())
        net, params = explicit(module, DATA)
        recipe = Recipe(**{**vars(RECIPE), "noise": "explicit"})
        x, found = DATA[None, : RECIPE.batch], []
        for each, own in ((NET, start()), (net, params)):
            leaves = tuple(p.clone().requires_grad_() for p in own)
            terms = losses(each, leaves, x, [recipe], [torch_generator(7, "n")])
            terms.loss.sum().backward()
            found.append([terms.loss.detach(), *(p.grad for p in leaves)])
        # The same numbers, in sums of another order.
        torch.testing.assert_close(*found, rtol=1e-10, atol=1e-11)

    def test_norms_are_those_of_the_jacobian(self):
        module, x = self.convolutional(), self.images()[:3]
        net, params = explicit(module, x)
        found = net.norms(params, x[None])
        assert found.shape == (3, 1, 3, 2)
        for index, each in enumerate(x):
            jacobian = torch.autograd.functional.jacobian(module, each[None])
            # Sums of up to a hundred products of size one.
            torch.testing.assert_close(
                found[0, 0, index], jacobian[0, :, 0].norm(dim=1), rtol=1e-12, atol=0.0
            )

    def test_noise_is_by_what_enters_a_unit_and_by_their_number(self):
        net, params = explicit(self.convolutional(), self.images())
        scales = dict(zip(net.names, net._scales(), strict=True))
        assert scales["1.weight"] == pytest.approx(9**-0.5)
        assert scales["3.weight"] == pytest.approx(27**-0.5)
        assert scales["3.bias"] == pytest.approx(4**-0.5)
        assert scales["6.weight"] == pytest.approx(16**-0.5)
        assert len(scales) == len(params)

    def test_learns(self):
        module, recipe = (
            self.convolutional(),
            Recipe(
                noise="explicit",
                steps=90,
                window=30,
                perturbations=16,
                batch=8,
                rate=5e-3,
            ),
        )
        g = torch_generator(7, "learn")
        made = pretrain(module, self.images(), recipe, generator=g)
        loss = made.history["loss"]
        assert loss[-10:].mean() < 0.7 * loss[:10].mean()
        before = {k: v.clone() for k, v in module.state_dict().items()}
        module.load_state_dict(made.state)
        assert all(not torch.equal(before[k], v) for k, v in made.state.items())

    @pytest.mark.parametrize(
        ("parts", "match"),
        [
            (
                (nn.Linear(5, 4), nn.GELU(), nn.Linear(4, 2)),
                'ask for `noise="explicit"`',
            ),
        ],
    )
    def test_only_if_asked_for(self, parts, match):
        with pytest.raises(TypeError, match=match):
            pretrain(
                nn.Sequential(*parts).double(),
                DATA,
                RECIPE,
                generator=torch_generator(7),
            )

    @pytest.mark.parametrize(
        ("parts", "match"),
        [
            (
                (nn.Linear(5, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)),
                "in Linear",
            ),
            ((nn.Linear(5, 4), nn.Dropout(), nn.GELU(), nn.Linear(4, 2)), "every time"),
            (
                (nn.Linear(5, 4), nn.GELU(), nn.Linear(4, 2), nn.Softmax(1)),
                "no Softmax",
            ),
            (
                (nn.Linear(5, 4, bias=False), nn.GELU(), nn.Linear(4, 2)),
                "a bias in every",
            ),
            ((nn.Linear(5, 4), nn.PReLU(), nn.Linear(4, 2)), "it has 1.weight"),
        ],
    )
    def test_refuses(self, parts, match):
        with pytest.raises(TypeError, match=match):
            explicit(nn.Sequential(*parts).double(), DATA)
