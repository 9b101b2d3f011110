"""The networks that are trained, as they were registered."""

from empirical.square_loss.experiments import configurations
from empirical.square_loss.faults import FAULTS
from verify.claims._protocols import protocol

PROTOCOL = protocol(
    configurations,
    {
        "small": (9, "fe5ed891e001c7f2"),
        "full": (34, "d950da2c3e6f1ad3"),
        "paper": (17, "f0567864f86a441a"),
    },
    faults=FAULTS,
    id="sl/expA-protocol",
    items=(
        "ExpA",
        "ExpB",
        "ExpC",
    ),
    title="Classifiers with the square loss are trained as it was registered",
    statement=r"\text{sizes, seeds, rates and steps at each scale}",
    key="poggio2021explicit",
    where="Section 4",
)
