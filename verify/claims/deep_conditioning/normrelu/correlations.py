"""Theorem I.1 and Eq. 28: NormReLU's correlations from inputs of any length.

Measurements: the layers themselves, by the defining Gaussian integrals.
"""

import math
from itertools import islice
from typing import Any

import mpmath
import numpy as np
from hypothesis import strategies as st

from theory import activations as act
from theory import lengths
from verify.claim import Case, adversarial, grid, numeric
from verify.claims._predictors import mistake, times
from verify.claims._searches import searched
from verify.claims.deep_conditioning._sources import as_read, ours, quoted
from verify.claims.deep_conditioning.normrelu import _definitions as normrelu
from verify.compare import AgreesTo, AtMost


def _measure_bias(*, kink: str, gamma: str) -> Any:
    mean, length = normrelu.moments_at(kink, mpmath.mpf(gamma))
    with mpmath.workdps(60):
        return mean * mean / length


def _predict_bias(*, kink: str, gamma: str) -> float:
    return lengths.normrelu_bias(float(gamma), float(kink))


def _wrong_bias(*, kink: str, gamma: str) -> float:
    """The bias without the division by the squared length."""
    g, c = float(gamma), float(kink)
    return lengths.normrelu_bias(g, c) * lengths.normrelu_length(g, c)


# --- Theorem I.1 and Eq. 28 -----------------------------------------------------------


def _measure_eq28(*, kink: str, which: str) -> Any:
    with mpmath.workdps(50):
        if which == "alpha":
            return 2 * (1 - normrelu.measure_length(kink=kink, gamma="0.5"))
        return 2 * max(_measure_bias(kink=kink, gamma=g) for g in ("0.5", "1.5"))


def _predict_eq28(*, kink: str, which: str) -> float:
    a = act.normrelu(float(kink))
    return getattr(lengths.normrelu_decay(0.5, 1.5, 1.0, a), which)


def _measure_decay(**case: Any) -> list[float]:
    return [abs(float(r)) for r in normrelu.correlations(**case)]


def _decay(*, kink: str, gamma_x: float, gamma_y: float, rho: float) -> Any:
    a = act.normrelu(float(kink))
    return lengths.normrelu_decay(gamma_x, gamma_y, 1.0 - abs(rho), a)


def _predict_decay(*, depth: int, **start: Any) -> list[float]:
    decay = _decay(**start)
    return [decay.bound(start["rho"], layer) for layer in range(1, depth + 1)]


def _wrong_decay(*, depth: int, **start: Any) -> list[float]:
    """The decay without the bias of lengths that are not one."""
    rate = _decay(**start).rate
    return [rate**layer * abs(start["rho"]) for layer in range(1, depth + 1)]


def _predict_layers(*, epsilons: list[float], **start: Any) -> list[int]:
    bounds = _decay(**start).bound(start["rho"], np.arange(1, 20_000))
    return [1 + int(np.argmax(bounds <= epsilon)) for epsilon in epsilons]


def _measure_layers(*, epsilons: list[float], **case: Any) -> list[int]:
    """Layers until the correlation is at most each epsilon, the largest one first."""
    found = enumerate(islice(normrelu.course(**case), 250), start=1)
    return [next(l for l, r in found if abs(r) <= epsilon) for epsilon in epsilons]


def _wrong_layers(
    *, kink: str, rho: float, epsilons: list[float], **_case: Any
) -> list[int]:
    """The rate 1 - mu, which orthogonal inputs of length one have."""
    rate = math.log1p(-act.normrelu(float(kink)).mu)
    return [math.ceil(math.log(epsilon / abs(rho)) / rate) for epsilon in epsilons]


def _measure_trajectory(**case: Any) -> list[Any]:
    return list(normrelu.correlations(**case))


def _predict_trajectory(*, kink: str, **start: Any) -> list[float]:
    trajectory = lengths.joint_trajectory(act.normrelu(float(kink)), **start)
    return [float(r) for r in trajectory[2][1:]]


def _wrong_trajectory(
    *, kink: str, rho: float, depth: int, **_case: Any
) -> list[float]:
    """Correlations of two inputs of length one."""
    out, r, a = [], rho, act.normrelu(float(kink))
    for _ in range(depth):
        r = a.dual(r)
        out.append(r)
    return out


def _predict_never_increases(*, rho: float, depth: int, **_: Any) -> list[float]:
    """Correlations that never grow."""
    return [abs(rho)] * depth


_FROM_HALF = grid(
    kink=normrelu.STAR_TEXT,
    gamma_x=0.5,
    gamma_y=(0.5, 1.5),
    rho=(0.5, 0.0, -0.9),
    depth=10,
)


def _far_apart(**case: Any) -> Case:
    return {"kink": normrelu.STAR_TEXT, "gamma_y": 1.5, **case}


CLAIMS = (
    numeric(
        id="dc/eq28",
        title="Values of NormReLU's constants alpha_1 and beta_0",
        statement=r"\alpha_1 = 2(1 - \hat\sigma_0(1/2)),\quad"
        r" \beta_0 = 2\max(\beta(1/2), \beta(3/2))",
        source=as_read("Appendix I, Eq. 28"),
        cases=grid(kink=(normrelu.STAR_TEXT, "-1.5975"), which=("alpha", "beta")),
        predict=_predict_eq28,
        measure=_measure_eq28,
        # beta is the square of a mean of 0.02, a difference of numbers near 1.6 known
        # to 4e-16: relative error 2 * 80 * 4e-16.
        compare=AgreesTo(relative=1e-13),
        must_refute=mistake("Half of each constant.", then=times(1.0 / 2.0)),
        uses=("dc/I.len", "dc/eq28-bias"),
    ),
    numeric(
        id="dc/eq28-bias",
        items=("Eq28", "I.len"),
        title="Values of NormReLU's bias function beta(gamma)",
        statement=r"\beta(\gamma) = \frac{(\mathbb{E}\,\sigma_c(\sqrt\gamma X))^2}"
        r"{\hat\sigma_0(\gamma)}",
        source=as_read("Appendix I, Eq. 28"),
        cases=(
            *grid(
                kink=(normrelu.STAR_TEXT, "-1.5975", "0", "0.5"),
                gamma=("0.1", "0.5", "0.75", "1.5", "4", "9"),
            ),
            # A mean that is nothing beside those whose difference it is, or all.
            *grid(kink=("-12", "12"), gamma=("0.26", "3")),
            *grid(kink=("-12", "-0.3", "12"), gamma=("0.979", "0.981", "1.021")),
        ),
        predict=_predict_bias,
        measure=_measure_bias,
        # As for beta_0; at gamma = 3/4 the mean is half as large.
        compare=AgreesTo(relative=1e-13),
        must_refute=_wrong_bias,
        uses=("dc/I.len",),
    ),
    adversarial(
        id="dc/thmI.1",
        title="NormReLU decorrelates inputs of squared lengths between 1/2 and 3/2",
        statement=r"|\rho_L| \le q^L |\rho_0| + \beta_0 t_0"
        r" \sum_{i<L} \alpha_1^i q^{L-1-i},\quad q = 1 - \mu_-(\delta - S)",
        source=ours("Theorem I.1 (constants ours)"),
        assumptions=(
            "squared lengths of both inputs within t_0 <= 1/2 of one",
            "|cos| <= 1 - delta, and S = beta_0 t_0 / (1 - alpha_1) < delta",
            "alpha_1, beta_0: dc/eq28; mu_-: dc/thmI.1-rest",
        ),
        cases=(
            *_FROM_HALF,
            *grid(kink="-1.5975", gamma_x=1.5, gamma_y=1.0, rho=0.9, depth=10),
        ),
        predict=_predict_decay,
        measure=_measure_decay,
        # The first step from rho = 0 and equal lengths attains the bias exactly: the
        # bound's own rounding, as of beta_0.
        compare=AtMost(rounding=1e-15, relative=1e-13),
        must_refute=_wrong_decay,
        uses=(
            "dc/fact1-alpha",
            "dc/fact1-beta",
            "dc/thmI.1-rest",
            "dc/thmI.1-bound",
            "dc/thmI.1-constants",
        ),
        examples=searched(
            kink=st.sampled_from((normrelu.STAR_TEXT, "-1.5975")),
            gamma_x=st.floats(0.5, 1.5),
            gamma_y=st.floats(0.5, 1.5),
            rho=st.floats(-0.98, 0.98),
            depth=st.just(3),
        ),
        max_examples=12,
    ),
    numeric(
        id="dc/thmI.1-depth",
        loose=True,
        items=("ThmI.1", "RemI.2"),
        title="Layers after which NormReLU has brought a correlation down to epsilon",
        statement=r"|\rho_L| \le \epsilon \text{ after } L ="
        r" O\left(\frac{\log(1/\epsilon)}{\mu_- (\delta - S)}\right) \text{ layers}",
        source=ours("Theorem I.1 and Remark I.2 (constants ours)"),
        assumptions=("as dc/thmI.1; L: where its bound is epsilon",),
        cases=(
            _far_apart(gamma_x=0.5, rho=0.5, epsilons=[0.25, 0.1]),
            _far_apart(gamma_x=1.5, rho=0.9, epsilons=[0.1]),
        ),
        predict=_predict_layers,
        measure=_measure_layers,
        compare=AtMost(),
        must_refute=_wrong_layers,
        uses=("dc/thmI.1",),
        finding=(
            "Ten times too many layers for a correlation of 1/2, and 48 times for 0.9:"
            " mu_- is the share at squared length 1/2, a sixth of that at length one,"
            " where lengths soon are, and the separation stays what it was at the start."
        ),
    ),
    numeric(
        id="dc/thmI.1-trajectory",
        items=("ThmI.1", "I.len"),
        title="Correlations of inputs of unequal length under NormReLU, layer by layer",
        statement=r"\rho_{l+1} = \frac{\mathbb{E}\,\sigma(\sqrt{\gamma_x} X)"
        r"\sigma(\sqrt{\gamma_y} Y)}"
        r"{\sqrt{\hat\sigma_0(\gamma_x)\hat\sigma_0(\gamma_y)}}",
        source=quoted("Appendix I"),
        cases=_FROM_HALF,
        predict=_predict_trajectory,
        measure=_measure_trajectory,
        # Each layer adds the dual's 1e-14; ten of them, correlations contract.
        compare=AgreesTo(absolute=1e-13),
        must_refute=_wrong_trajectory,
        uses=("dc/D.0", "dc/I.len"),
    ),
    numeric(
        id="dc/lemD.6-odd-needed",
        items=("E11", "LemD.6"),
        title="Activations that are not odd can correlate orthogonal inputs",
        statement=r"\gamma = 1/2,\ \rho_0 = 0,\ c = 0 \;\Rightarrow\; \rho_1 > 0",
        source=ours("Appendix D.2 (its hypothesis is needed)"),
        cases=({"kink": "0", "gamma_x": 0.5, "gamma_y": 0.5, "rho": 0.0, "depth": 1},),
        predict=_predict_trajectory,
        measure=_measure_trajectory,
        # One layer, of dc/thmI.1-trajectory.
        compare=AgreesTo(absolute=1e-14),
        must_refute=_predict_never_increases,
        uses=("dc/lemD.6", "dc/thmI.1-trajectory"),
        finding=(
            "At every length, only odd activations never increase a correlation: others"
            " have a mean at some length. NormReLU with kink 0 maps orthogonal inputs of"
            " squared length 1/2 to correlation 0.0741723."
        ),
    ),
)
