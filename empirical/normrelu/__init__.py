"""Deep networks with NormReLU against batch and layer normalisation.

The experiments of section 7 of Agarwal, Awasthi and Kale 2021, whose protocol
``docs/normrelu.md`` states: arms that differ in what stands between two weight layers,
each at a rate chosen on examples held out, then networks of other seeds at that rate.
"""

from typing import TYPE_CHECKING

from empirical._lazily import names_of

if TYPE_CHECKING:
    from empirical.normrelu.experiments import Configuration, configurations
    from empirical.normrelu.networks import ARMS, KINK, Arm
    from empirical.normrelu.study import STUDY, run_configuration

__all__ = [
    "ARMS",
    "KINK",
    "STUDY",
    "Arm",
    "Configuration",
    "configurations",
    "run_configuration",
]

__getattr__ = names_of(__name__, "experiments", "networks", "study")
