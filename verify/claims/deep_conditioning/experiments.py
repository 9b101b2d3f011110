"""The paper's experiments with residual networks: not yet on trial."""

from verify.claim import Claim, Evidence, Source

RESNETS = Claim(
    id="dc/sec11",
    items=("Sec11", "Fig4", "Fig5", "Fig8"),
    title="Residual networks train with NormReLU as with batch normalisation",
    statement=(
        r"\text{CIFAR-10, 300 epochs: ResNets of two depths, one of 110 layers,}"
        r"\text{ with NormReLU, against batch normalisation, Fixup and SELU}"
    ),
    source=Source("agarwal2021deep", "Experiments"),
    evidence=Evidence.TREND,
    open_reason=(
        "Residual networks on colour images take an evening of two cores at 20 layers,"
        " and a GPU at 110; none have been trained yet. The text before us gives neither"
        " rates nor accuracies, so what can be tried are its comparisons, by a protocol"
        " of ours, as for fully connected networks (dc/Fig3)."
    ),
)
