"""The networks that are trained, as they were registered."""

from dataclasses import replace
from functools import partial
from typing import Any

from empirical.identity_map.experiments import (
    FAULTS,
    Configuration,
    configurations,
    faulty,
)
from verify.claims._protocols import protocol


def _recipe(fault: str, configuration: Configuration) -> Any:
    return faulty(replace(configuration, fault=fault))


PROTOCOL = protocol(
    configurations,
    {
        "small": (49, "a0b990d9aa0aa7df"),
        "full": (78, "0a4e2225ea2fc8c9"),
        "paper": (131, "adc69c7ef9ee2cc1"),
    },
    faults={fault: partial(_recipe, fault) for fault in FAULTS},
    id="id/Fig2-protocol",
    items=(
        "Fig2",
        "Fig5",
    ),
    title="Networks that copy images are trained as it was registered",
    statement=r"\text{sizes, seeds, rates and steps at each scale}",
    key="zhang2020identity",
    where="Section 3 and appendices",
)
