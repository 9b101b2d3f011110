"""Deep networks with NormReLU against batch and layer normalisation.

The experiments of section 7 of Agarwal, Awasthi and Kale 2021, whose protocol
``docs/trained/normrelu.md`` states: arms that differ in what stands between two weight
layers, each at a rate chosen on examples held out, then networks of other seeds at that
rate.
"""

from typing import TYPE_CHECKING

from empirical._lazily import names_of

if TYPE_CHECKING:
    from empirical.normrelu.experiments import Configuration as Configuration
    from empirical.normrelu.experiments import configurations as configurations
    from empirical.normrelu.networks import ARMS as ARMS
    from empirical.normrelu.networks import KINK as KINK
    from empirical.normrelu.networks import Arm as Arm
    from empirical.normrelu.study import STUDY as STUDY
    from empirical.normrelu.study import run_configuration as run_configuration

__getattr__ = names_of(__name__)
