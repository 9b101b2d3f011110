"""The networks that are trained, as they were registered."""

from empirical.conditioning.grid import configurations as kernels
from empirical.normrelu.experiments import configurations
from verify.claims._protocols import protocol

PROTOCOL = protocol(
    configurations,
    {
        "small": (10, "d0e62e8585714e40"),
        "full": (14, "9e40e7b006e93302"),
        "paper": (18, "7340cb67cf28288b"),
    },
    faults={},
    id="dc/sec7-protocol",
    items=("Sec11",),
    title="NormReLU's networks and their rivals are trained as it was registered",
    statement=r"\text{sizes, seeds, rates and steps at each scale}",
    key="agarwal2021deep",
    where="Section 7",
)

KERNELS = protocol(
    kernels,
    {
        "small": (60, "a7a6c684b8d4938d"),
        "full": (72, "5db8e38e0f7a7093"),
        "paper": (84, "5112b61cc42a63d1"),
    },
    faults={},
    id="dc/cor3.3-protocol",
    items=("Cor3.3", "Cor3.5"),
    title="Kernels are measured at the widths, depths and draws that were registered",
    statement=r"\text{widths, depths and draws at each scale}",
    key="agarwal2021deep",
    where="Section 3",
)
