r"""The widths that experiment A's and B's rates allow, of which the paper names none.

The protocol of the trained claim (`sl/expA-width-trained`), written before it was run.
Networks are the paper's of experiment A on small images: digits 3 and 8 at 8 by 8 pixels,
64 of each, all in every step, which is the paper's minibatch of 128; three hidden layers
of one width with batch normalisation, rate 0.1, weight decay 0.01. Widths are half and
twice the predicted limit, rounded away from it, with the paper's momentum of 0.9 and with
none; initial scales are the paper's. The replicate is a seed, eight of them.
A network counts as diverged if its loss exceeds a thousand times the first one, or is not
finite, within 100 updates. Estimand: the share of networks that diverge; a prediction
that they do, or do not, is that more, or less, than half of them do.
"""

from typing import Any

import mpmath
import torch
from torch import Tensor

from empirical.randomness import torch_generator
from empirical.square_loss.classifiers import Classifier, classifier
from empirical.square_loss.networks import start
from empirical.square_loss.problems import Problem, problem
from empirical.square_loss.recipes import Recipe
from empirical.square_loss.training import train
from theory import square_loss as sl
from verify.claim import grid, numeric, statistical, trend
from verify.claims._halving import bisected
from verify.claims._predictors import Limits, always, mistake
from verify.claims.square_loss._sources import ours
from verify.compare import AgreesTo, Contrast, EffectWithin, Estimate, MeanAtMost

RATE, MOMENTUM, DECAY = 0.1, 0.9, 0.01
"""Of experiment A, as printed."""
_SEED = 60
_STARTS, _TRAINED = 32, 8
"""Networks whose features are looked at before training, and networks trained, a case."""

# --- the limit ------------------------------------------------------------------------


def _radius(curvature: Any, rate: float, momentum: float) -> Any:
    """Return the spectral radius of heavy ball on a parabola, from its 2 x 2 matrix."""
    # (w, v) -> (w + v', v') with v' = momentum v - rate curvature w.
    push = mpmath.mpf(rate) * curvature
    trace, determinant = 1 - push + momentum, mpmath.mpf(momentum)
    root = mpmath.sqrt(mpmath.mpc(trace**2 - 4 * determinant))
    return max(abs(trace + root), abs(trace - root)) / 2


def _measure_limit(*, rate: float, momentum: float) -> Any:
    """The width at which updates along weights that are all alike no longer shrink.

    By bisection, with a feature's mean integrated from its definition.
    """
    with mpmath.workdps(40):
        mean: Any = mpmath.quad(lambda z: z * mpmath.npdf(z), [0, 4, 16])

        def stable(width: Any) -> bool:
            return _radius(2 * width * mean**2, rate, momentum) < 1

        low, high = mpmath.mpf(0), mpmath.mpf(1)
        while stable(high):
            low, high = high, 2 * high
        # 80 halvings leave 1e-24 of the limit.
        return sum(bisected(stable, low, high, halvings=80)) / 2


LIMIT = numeric(
    id="sl/expA-width",
    items=("ExpA", "ExpB"),
    title=(
        "Behind batch normalisation, heavy ball is stable for a limited number of features"
    ),
    statement=(
        r"n<\frac{2\pi(1+\mu)}\eta,\qquad\text{from }"
        r"2nm^2<\frac{2(1+\mu)}\eta,\ m=\mathbb{E}\max(Z,0)"
    ),
    source=ours("Captions of Figures 1 and 5; ours"),
    assumptions=(
        "the mean of squared errors, heavy-ball momentum",
        "pre-activations are Gaussian of mean 0 and variance 1: no gain, no shift",
        "a necessary condition: other directions and layers may diverge sooner",
    ),
    cases=grid(rate=(1e-6, 0.01, 0.1, 3.0), momentum=(0.0, 0.5, 0.9, 0.999)),
    predict=sl.largest_stable_width,
    measure=_measure_limit,
    # Four roundings of 1.1e-16: of pi, a sum, a quotient and a product; the measured
    # side's integral ends at z = 16, where e^{-128} = 3e-56 is left.
    compare=AgreesTo(relative=2.0**-51),
    must_refute=mistake("The limit without momentum.", momentum=0.0),
    uses=("sl/lin-stability",),
    finding=(
        "The paper prints rates and momentum, and no widths. With momentum 0.9 its rate"
        " of 0.1 allows 119 units at most, its 0.01 behind convolutions 1,193 features."
    ),
)

# --- before training ------------------------------------------------------------------


def _digits(*, images: bool = False) -> Problem:
    side, constant = (None, None) if images else (8, 0.25)
    return problem(per_class=64, tests=1, side=side, constant=constant, cached=False)


def _network(x: Tensor, widths: list[int]) -> Classifier:
    return classifier("bn", shape=tuple(x.shape[1:]), widths=widths)


def _starts(
    net: Classifier, scale: float, widths: list[int], count: int
) -> tuple[Tensor, ...]:
    names = ("widths", *widths)
    seeds = [torch_generator(_SEED, *names, k) for k in range(count)]
    return start(net, [scale] * count, seeds)


def _measure_start(
    *, images: bool, widths: list[int], rate: float, momentum: float
) -> Estimate:
    """Width times the largest stable rate of the last layer alone, over that of the case.

    By the largest eigenvalue of the features' second moments, network by network.
    """
    x = _digits(images=images).inputs
    net = _network(x, widths)
    with torch.no_grad():
        h = net.run(_starts(net, 1.0, widths, _STARTS), x).hidden[-1].flatten(2)
        # Squared singular values of h / sqrt(N) are eigenvalues of the mean of h h^T.
        largest = 2.0 * torch.linalg.matrix_norm(h, 2) ** 2 / len(x)
    return Estimate.of((h.shape[2] * 2.0 * (1.0 + momentum) / largest / rate).numpy())


def _predict_start(
    *, images: bool, widths: list[int], rate: float, momentum: float
) -> float:
    # Width times the largest rate, over the rate: as much at every width.
    del images, widths
    return sl.largest_stable_width(rate, momentum)


def _by_second_moments(
    *, images: bool, widths: list[int], rate: float, momentum: float
) -> float:
    """The features' second moment, 1/2, in the place of their squared mean, 1/(2 pi)."""
    del images, widths
    return 2.0 * (1.0 + momentum) / rate


AT_START = statistical(
    id="sl/expA-width-start",
    items=("ExpA", "ExpB"),
    title="At the start, no more features are stable than Gaussian pre-activations allow",
    statement=(
        r"\frac{2(1+\mu)}\eta\,\frac n{\lambda_{\max}(2\mathbb{E}\,hh^T)}"
        r"\le\frac{2\pi(1+\mu)}\eta"
    ),
    source=ours("Captions of Figures 1 and 5; ours"),
    assumptions=(
        "digits, 128 in a batch; 32 networks as they start",
        "pre-activations of a batch are about Gaussian",
    ),
    cases=(
        *grid(images=False, widths=([64] * 3, [256] * 3), rate=RATE, momentum=MOMENTUM),
        *grid(images=True, widths=([16, 32, 32],), rate=0.01, momentum=MOMENTUM),
    ),
    predict=_predict_start,
    measure=_measure_start,
    # A tenth of experiment A's limit, a hundredth of B's.
    compare=MeanAtMost(discrepancy=12.0, false_fail=1e-9),
    must_refute=_by_second_moments,
    uses=("sl/expA-width",),
    finding=(
        "Fully connected networks nearly attain the limit, the wider ones more nearly."
        " Behind convolutions means differ by place and features vary together: fewer of"
        " them are stable than the limit allows."
    ),
)

# --- in training ----------------------------------------------------------------------


def _predict_diverges(*, width: int, momentum: float, scale: float) -> Limits:
    del scale
    beyond = width > sl.largest_stable_width(RATE, momentum)
    return (0.5, None) if beyond else (None, 0.5)


def _measure_diverges(*, width: int, momentum: float, scale: float) -> Contrast:
    """Whether a network's loss explodes within 100 updates, by seed."""
    digits, widths = _digits(), [width] * 3
    net = _network(digits.inputs, widths)
    recipe = Recipe(
        epochs=100,
        rate=RATE,
        momentum=momentum,
        weight_decay=DECAY,
        exploded=1e3,
        check=1,
    )
    params = _starts(net, scale, widths, _TRAINED)
    done = train(net, params, digits, recipe)
    return Contrast.alone([status == "diverged" for status in done.status])


DIVERGES = trend(
    id="sl/expA-width-trained",
    title="Batch-normalised networks diverge at twice the width limit, not at half of it",
    statement=(
        r"n>\frac{2\pi(1+\mu)}\eta:\ \text{loss}>10^3\,\text{first loss within}"
        r"\ 100\text{ updates}"
    ),
    source=ours("Captions of Figures 1 and 2; ours"),
    assumptions=(
        "rate 0.1, weight decay 0.01, three hidden layers, initial norms 0.1, 1 and 5",
        "128 digits in every step; eight networks of independent starts",
        "most of them diverge, or most do not",
    ),
    cases=(
        *grid(width=(59, 239), momentum=MOMENTUM, scale=(0.1, 1.0, 5.0)),
        *grid(width=(31, 126), momentum=0.0, scale=(0.1, 1.0, 5.0)),
    ),
    predict=_predict_diverges,
    measure=_measure_diverges,
    compare=EffectWithin(paired=True),
    must_refute=always((None, 0.5), "Any width can be trained."),
    uses=("sl/expA-width", "sl/expA-steps", "sl/expA-ends", "sl/expA-examples"),
)
