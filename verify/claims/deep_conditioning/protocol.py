"""The networks that are trained, as they were registered."""

import inspect
from typing import Any

from empirical.conditioning.experiments import EXPERIMENTS
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


def _with_defaults(scale: Any) -> tuple[Any, ...]:
    """Return configurations, and what experiments do where nobody says."""
    told = {
        name: {p.name: p.default for p in inspect.signature(run).parameters.values()}
        for name, run in EXPERIMENTS.items()
    }
    return (*kernels(scale), told)


KERNELS = protocol(
    _with_defaults,
    {
        "small": (61, "ad094f8ddb1a954a"),
        "full": (73, "b36a77b958f7a698"),
        "paper": (85, "22435818e825bcf1"),
    },
    faults={},
    id="dc/cor3.3-protocol",
    items=("Cor3.3", "Cor3.5"),
    title="Kernels are measured at the widths, depths and draws that were registered",
    statement=r"\text{widths, depths and draws at each scale}",
    key="agarwal2021deep",
    where="Section 3",
)
