"""The paper's training experiments (sections 7, I.2 and I.3): orderings, still open."""

from functools import partial

from verify.claim import Claim, Evidence, Source

_experiment = partial(
    Claim,
    evidence=Evidence.TREND,
    # No accuracy, depth, width or rate is in the text before us, but every statement is
    # an ordering, and can be put to smaller networks and other images.
    open_reason=(
        "An ordering of trained networks, which needs no number of the paper's. Networks"
        " with NormReLU, batch and layer normalisation are not trained here yet; it can"
        " be decided on digits and CIFAR-10 at several rates and starts, not at the"
        " paper's scale, whose depths, widths and rates are not in the text before us."
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


SEC_11 = _of(
    "Sec11",
    "Experiments",
    "Deep networks of normalised ReLU train like batch-normalised ones",
    r"\text{CIFAR-10, 300 epochs: fully connected nets, ResNets, ResNet-110}"
    r"\text{ with NormReLU, against batch and layer normalisation, Fixup, SELU}",
)

FIG_1 = _of(
    "Fig1",
    "Figure 1",
    "Mean cosines of test inputs fall while test accuracy rises",
    r"\text{epoch} \mapsto \text{mean}_{i \ne j} |\cos(\Phi(x_i), \Phi(x_j))|"
    r"\text{ falls under batch norm, layer norm and NormReLU}",
)

FIG_3 = _of(
    "Fig3",
    "Figure 3",
    "Fully connected networks: NormReLU trains faster and generalises better",
    r"\text{epochs and test error: NormReLU} < \text{batch norm, layer norm}",
)

RATES = _of(
    "Sec7-rates",
    "Section 7",
    "NormReLU needs small learning rates, the normalisations do not",
    r"\eta_{\max}(\text{NormReLU}) < \eta_{\max}(\text{batch norm}),"
    r"\; \eta_{\max}(\text{layer norm})",
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

FIG_7 = _of(
    "Fig7",
    "Figure 7",
    "Fully connected networks: NormReLU and SELU train and generalise alike",
    r"\text{train and test accuracy: NormReLU} \approx \text{SELU}",
)

FIG_8 = _of(
    "Fig8",
    "Figure 8",
    "ResNets without batch normalisation: NormReLU slightly ahead of SELU",
    r"\text{test accuracy: NormReLU} \gtrsim \text{SELU}",
)
