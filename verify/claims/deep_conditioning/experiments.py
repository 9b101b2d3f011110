"""The paper's training experiments (section 11): what would have to be known first."""

from verify.claim import Claim, Evidence, Source

SEC_11 = Claim(
    id="dc/sec11",
    items=("Sec11",),
    title="Deep networks of normalised ReLU train like batch-normalised ones",
    statement=(
        r"\text{CIFAR-10, 300 epochs: fully connected nets, ResNets, ResNet-110}"
        r"\text{ with NormReLU, against batch and layer normalisation, Fixup, SELU}"
    ),
    source=Source("agarwal2021deep", "Experiments"),
    evidence=Evidence.TREND,
    open_reason=(
        "The text that this ledger covers names the data set (CIFAR-10), 300 epochs,"
        " the architectures compared and what Figure 1 tracks (mean normalised dot"
        " product of test inputs by epoch). It gives no learning rate, decay factor or"
        " interval, number of runs, depth or width of the fully connected nets, depth"
        " of the second ResNet, batch size, optimiser, momentum, weight decay or"
        " initial variance, and not one accuracy: there is no number to compare with."
        " CIFAR-10 itself and some hundred GPU runs of 300 epochs are needed as well."
    ),
)
