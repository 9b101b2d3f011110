r"""What noisy labels do where there is no decay (section 2, below equation 4).

The exact part is the smallest problem that is singular: one example x of length one and
label one, and one normalised layer at an angle theta to it. Every norm
:math:`\rho = 1 / \cos\theta` interpolates, and the flow of (3) and (4) conserves

.. math:: I = \rho^2 / 2 + \ln \sin\theta .

Estimands and smallest effects of the trained part are those of
``docs/trained/square-loss.md``.
"""

import math
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy.optimize import brentq

from empirical.square_loss import classifier
from verify.claim import grid, numeric
from verify.claims._descent import step
from verify.claims._predictors import always
from verify.claims.square_loss._flows import followed
from verify.claims.square_loss._networks import Array, Problem, gradients, tensors
from verify.claims.square_loss._runs import NORMALISED, effect, learnt, log_ratio, looks
from verify.claims.square_loss._sources import as_read, ours
from verify.claims.square_loss.training import share
from verify.compare import AgreesTo, Contrast

WHERE = "Section 2, below Equation 4, and footnote 3"

# --- one example and one normalised layer ---------------------------------------------


def _direction(angle: float) -> Array:
    return np.array([[np.cos(angle), np.sin(angle)]])


def _measure_end(*, angle: float, rho: float) -> float:
    """The norm at the end of the flow, by automatic differentiation."""
    p = Problem((_direction(angle),), np.array([[1.0, 0.0]]), np.ones(1), rho)
    ((last, _),) = followed(p, 0.0, [80.0])
    return float(last[0])


def _conserved(angle: float, rho: float) -> float:
    return 0.5 * rho**2 + math.log(math.sin(angle))


def _predict_end(*, angle: float, rho: float) -> float:
    """The interpolator at which the conserved quantity is that of the start."""
    wanted = _conserved(angle, rho)
    end: Any = brentq(
        lambda t: _conserved(t, 1.0 / math.cos(t)) - wanted, 1e-9, 1.57, xtol=1e-14
    )
    return 1.0 / math.cos(end)


FLOW = numeric(
    id="sl/sgd-noise-flow",
    items=("Fn3",),
    title="Without decay, where the flow of one example ends depends on its start",
    statement=(
        r"\lambda=0:\quad\tfrac12\rho^2+\ln\sin\theta\text{ is conserved},"
        r"\quad\rho\cos\theta\to1"
    ),
    source=ours(WHERE),
    cases=grid(angle=(0.3, 1.4), rho=(0.1, 1.0, 2.5)),
    predict=_predict_end,
    measure=_measure_end,
    # 1e-10 of a scale below three a step, some hundred steps; an error of I moves the end
    # by less.
    compare=AgreesTo(absolute=3e-8),
    must_refute=always(1.0, "The smallest norm that interpolates, from every start."),
    assumptions=("one example of label one", "one normalised layer"),
    uses=("sl/eq3", "sl/eq4"),
)


def _measure_step(*, angle: float, noise: float, rate: float) -> float:
    """Mean change of I over two noisy steps from an interpolator, by PyTorch."""
    net, found = classifier("wn", shape=(2,), widths=()), list[float]()
    x = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    for sign in (1.0, -1.0):
        rho = torch.tensor([1.0 / math.cos(angle)], dtype=torch.float64)
        params = net.load([_direction(angle), rho])
        leaves = tuple(p.requires_grad_() for p in params)
        loss = (net.apply(leaves, x) - (1.0 + sign * noise)).square().sum()
        step(torch.optim.SGD(leaves, lr=rate), loss)
        (v, size), start = (p.detach() for p in leaves), _direction(angle)
        after = float(v[0, 0, 1] / v.norm()) / start[0, 1]
        moved = 0.5 * (float(size) ** 2 - math.cos(angle) ** -2)
        found.append(moved + math.log(abs(after)))
    return sum(found) / 2.0


def _predict_step(*, angle: float, noise: float, rate: float) -> float:
    a = 4.0 * (rate * noise) ** 2
    turned = math.log1p(-a) - math.log1p(a * math.tan(angle) ** 2)
    return 0.5 * (a * math.cos(angle) ** 2 + turned)


def _as_decay(*, angle: float, noise: float, rate: float) -> float:
    """That of a decay of eta s^2, whatever the norm."""
    return -2.0 * (rate * noise / math.cos(angle)) ** 2


STEP = numeric(
    id="sl/sgd-noise-step",
    items=("Fn3",),
    title="Without decay, noisy labels carry one example's interpolators to smaller norms",
    statement=(
        r"\mathbb{E}\,\Delta I="
        r"\tfrac12\left[a\cos^2\theta+\ln(1-a)-\ln(1+a\tan^2\theta)\right]<0,"
        r"\quad a=4\eta^2s^2"
    ),
    source=ours(WHERE),
    cases=grid(angle=(0.02, 0.3, 1.0, 1.3), noise=(0.1, 1.0), rate=(0.01, 0.2)),
    predict=_predict_step,
    measure=_measure_step,
    # Squares of norms below 4 and logarithms of nearly one, rounded a few times.
    compare=AgreesTo(relative=1e-12, absolute=2e-14),
    must_refute=_as_decay,
    assumptions=(
        "one example of label one",
        "one weight-normalised layer of length one",
        "labels moved by s up or down",
    ),
    uses=("sl/sgd-noise-flow", "sl/wn-length"),
    finding=(
        "The paper's remark holds here: a step lowers what the flow conserves, in the"
        " mean and from every interpolator, and so the norm that the flow leads back to."
        " To leading order it is what a decay of eta s^2 (1 - cos^4 theta) does, which"
        " vanishes at the smallest norm: the last of the way takes forever."
    ),
)


def _measure_length(*, norm: float, noise: float) -> float:
    """Mean change of |V|^2 over two noisy steps on the Lagrangian (1)."""
    x, rate = torch.tensor([0.6, 0.8], dtype=torch.float64), 0.05
    found: list[float] = []
    for sign in (1.0, -1.0):
        (v,) = tensors([norm * np.array([0.8, 0.6])])
        f = v @ x
        rho = 1.0 / f.detach()
        error = rho * f - (1.0 + sign * noise)
        nu = -(rho * error * f).detach()
        (slope,) = gradients(error.square() + nu * v.square().sum(), [v])
        found.append(float(np.sum((v.detach().numpy() - rate * slope) ** 2)))
    return sum(found) / 2.0 - norm**2


def _predict_length(*, norm: float, noise: float) -> float:
    f = 0.96 * norm
    return 4.0 * (0.05 * noise / f) ** 2 * (1.0 + (norm**2 - 2.0) * f**2)


def _back_to_the_sphere(*, norm: float, noise: float) -> float:
    """A return to length one, at the rate of a decay of eta s^2."""
    return -4.0 * (0.05 * noise / (0.96 * norm)) ** 2 * (norm**2 - 1.0)


LENGTH = numeric(
    id="sl/sgd-noise-length",
    items=("Fn3",),
    title=(
        "Noisy steps from an interpolator lengthen directions, on the unit sphere and off"
    ),
    statement=(
        r"\mathbb{E}\|V'\|^2-\|V\|^2=4\eta^2s^2\rho^2\left(1+(\|V\|^2-2)f^2\right)\ge0"
    ),
    source=ours(WHERE),
    cases=grid(norm=(0.5, 0.9, 1.0, 1.1, 2.0), noise=(0.3, 1.0)),
    predict=_predict_length,
    measure=_measure_length,
    # Two squares of lengths below two, rounded a few times.
    compare=AgreesTo(absolute=1e-14),
    must_refute=_back_to_the_sphere,
    assumptions=("one example of label one", "one layer, by the flow of (1)"),
    uses=("sl/norm-rate", "sl/sing"),
    finding=(
        "In this sense noise does not counter the singularity: of interpolators of any"
        " length, it doesn't bring back those of length one, as decay does."
    ),
)


# --- trained networks -----------------------------------------------------------------

NOISY, BATCHES = "bn-noise", "bn-batches"


def _less_left(rival: str, *, scale: str, data: str) -> Contrast:
    """Shares left of the distance of two starts: as usual, and of a rival, by seed."""
    starts = ((NORMALISED, -1), (NORMALISED, 0), (rival, -1), (rival, 0))
    high, low, other_high, other_low = learnt(*starts, scale=scale, data=data)
    return Contrast(share(high, low), share(other_high, other_low))


_LEFT = r"\text{share of }\ln(\rho_0(5)/\rho_0(0.1))\text{ left, }\lambda=0:\quad"

SGD_NOISE = effect(
    id="sl/sgd-noise",
    runs=looks(NORMALISED, NOISY),
    items=("Fn3",),
    title="Without decay, small batches with noisy labels forget the start more",
    statement=_LEFT + r"\text{exact labels}-\text{noisy labels}\ge0.1",
    measure=partial(_less_left, NOISY),
    least=0.1,
    source=as_read(WHERE),
    uses=("sl/sing", "sl/sgd-noise-step", "sl/Fig6-spread"),
    version=2,
)

SGD_BATCHES = effect(
    id="sl/sgd-batches",
    runs=looks(NORMALISED, BATCHES),
    items=("Fn3",),
    title="Without decay, small batches alone forget the start more than large ones",
    statement=_LEFT + r"\text{batches of 128}-\text{batches of 20}\ge0.1",
    measure=partial(_less_left, BATCHES),
    least=0.1,
    small=False,
    source=as_read(WHERE),
    uses=("sl/sing", "sl/Fig6-spread"),
)

SGD_NORM = effect(
    id="sl/sgd-noise-norm",
    runs=looks(NORMALISED, NOISY),
    items=("Fn3",),
    title=("Without decay, noisy labels lower the norm at which a large start ends"),
    statement=r"\rho_{end}\text{ of exact labels}\ge1.2\,\rho_{end}\text{ of noisy ones}",
    measure=partial(log_ratio, "rho", (NORMALISED, -1), (NOISY, -1)),
    least=math.log(1.2),
    unit="e-folds",
    source=ours(WHERE),
    uses=("sl/sgd-noise-step",),
    finding=(
        "From the large start they do. From the small one the norm ends higher with them:"
        " with batch normalisation noise brings the two ends together, while that of one"
        " example and one layer lowers every norm (sl/sgd-noise-step)."
    ),
)

SGD_WEIGHT = effect(
    id="sl/sgd-noise-weight",
    runs=looks("wn", "wn-noise"),
    items=("Fn3",),
    title="Noisy labels lower the norm of weight-normalised networks, too",
    statement=r"\rho_{end}\text{ of exact labels}\ge1.2\,\rho_{end}\text{ of noisy ones}",
    measure=partial(log_ratio, "rho", ("wn", 0), ("wn-noise", 0)),
    least=math.log(1.2),
    unit="e-folds",
    small=False,
    source=ours(WHERE),
    uses=("sl/sgd-noise-step", "sl/wn"),
)
