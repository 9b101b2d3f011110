"""Residual networks with NormReLU: section 7's, by the protocol of ``docs/normrelu.md``.

They are trained at the full scale and above; a published record stands for each claim.
"""

from dataclasses import replace

from verify.claim import Claim, Source, grid, trend
from verify.claims._predictors import stated
from verify.claims.deep_conditioning.training import CLOSED, NETWORKS, after, learnt
from verify.compare import Contrast, EffectWithin
from verify.reading import Reading
from verify.trained import Run

_DEPTHS = (20, 32)
LEARNT = 0.3
"""Training accuracy that every network with NormReLU must reach, three times chance."""


def _name(arm: str, depth: int) -> str:
    return f"{arm}-residual-{depth}"


def _runs(*, scale: str, depth: int, rival: str) -> tuple[Run, ...]:
    return tuple(Run(NETWORKS, _name(a, depth), scale) for a in ("normrelu", rival))


def _test_accuracies(*, scale: str, depth: int, rival: str) -> Contrast:
    own, other = (
        NETWORKS.record(_name(arm, depth), scale) for arm in ("normrelu", rival)
    )
    accuracies = (
        after(each, "test_accuracy", -1) for each in (learnt(own, LEARNT), other)
    )
    return Contrast(*accuracies)


def _trained(rival: str, item: str, title: str, name: str) -> Claim:
    return trend(
        id=f"dc/{item.lower()}",
        items=(item,),
        title=title,
        statement=rf"\text{{test accuracy: NormReLU}} - \text{{{name}}} \ge -0.05",
        source=Source("agarwal2021deep", f"Figure {item[3:]}", Reading.READING),
        larger_cases={
            "full": grid(scale="full", depth=_DEPTHS, rival=(rival,)),
            "gpu": grid(scale="paper", depth=_DEPTHS, rival=(rival,)),
        },
        measure=_test_accuracies,
        compare=EffectWithin(),
        runs=_runs,
        uses=CLOSED,
        figure="normrelu_figure_4",
        assumptions=(
            "SGD with momentum; at the full scale no augmentation, no decay",
            "weights N(0, 1/fan in), the last of a block's smaller by the root of blocks",
            "rates chosen for each arm on examples held out",
        ),
        # Not worse by the smallest effect; wrong would be as far ahead as fully connected
        # networks of 32 layers are of batch normalisation.
        **stated(-0.05, wrong=(0.3, None)),
    )


FIG_4 = _trained(
    "batch",
    "Fig4",
    "Residual networks with NormReLU are competitive with batch normalisation",
    "BatchNorm",
)

FIG_5 = _trained(
    "fixup", "Fig5", "Residual networks with NormReLU are comparable to Fixup", "Fixup"
)

FIG_8 = _trained(
    "selu", "Fig8", "Residual networks with NormReLU are not behind SELU's", "SELU"
)

FIG_4_DEEP = replace(
    FIG_4,
    id="dc/fig4-deep",
    title="ResNet-110 with NormReLU is ahead of batch normalisation",
    statement=r"\text{test accuracy of 110 layers: NormReLU} > \text{BatchNorm}",
    larger_cases={
        profile: grid(scale=(scale,), depth=110, rival="batch")
        for profile, scale in (("full", "full"), ("gpu", "paper"))
    },
    # Ahead at all; wrong would be as far ahead as fully connected networks are.
    **stated(0.0, wrong=(0.3, None)),
)
