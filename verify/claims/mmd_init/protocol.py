"""The networks that are trained, as they were registered."""

from empirical.mmd_init.experiments import configurations
from empirical.mmd_init.faults import FAULTS
from verify.claims._protocols import protocol

PROTOCOL = protocol(
    configurations,
    {
        "small": (15, "23d938b9e1c0d143"),
        "full": (15, "e916939657d4687c"),
        "paper": (15, "7399d8d2fda6557e"),
    },
    faults=FAULTS,
    id="mmd/prelim-protocol",
    items=("Prelim",),
    title="Starts are learnt and fine-tuned as it was registered",
    statement=r"\text{sizes, seeds, rates and steps at each scale}",
    key="lee2023unsupervised",
    where="Section 5 and appendix B",
)
