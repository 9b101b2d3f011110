"""The paper's experiments with residual networks: orderings, still open."""

from functools import partial

from verify.claim import Claim, Evidence, Source

_experiment = partial(
    Claim,
    evidence=Evidence.TREND,
    # No accuracy, depth, width or rate is in the text before us, but every statement is
    # an ordering, and can be put to smaller networks and other images.
    open_reason=(
        "An ordering of residual networks, which needs no number of the paper's. None are"
        " trained here yet: 20 layers on colour images take an evening of two cores, 110"
        " layers a GPU. Fully connected ones are on trial (dc/fig3)."
    ),
)


def _of(item: str, where: str, title: str, statement: str) -> Claim:
    return _experiment(
        id=f"dc/{item.lower()}",
        items=(item,),
        title=title,
        statement=statement,
        source=Source("agarwal2021deep", where),
    )


FIG_4 = _of(
    "Fig4",
    "Figure 4",
    "ResNets without batch normalisation: NormReLU is competitive, and ahead when deep",
    r"\text{test accuracy: NormReLU} \approx \text{batch norm},"
    r"\; > \text{ at the larger depth}",
)

FIG_5 = _of(
    "Fig5",
    "Figure 5",
    "NormReLU from a Gaussian start reaches the accuracy of Fixup",
    r"\text{test accuracy: NormReLU} \approx \text{ReLU with Fixup}",
)

FIG_8 = _of(
    "Fig8",
    "Figure 8",
    "ResNets without batch normalisation: NormReLU slightly ahead of SELU",
    r"\text{test accuracy: NormReLU} \gtrsim \text{SELU}",
)
