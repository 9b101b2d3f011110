"""Phases of deep random networks: ordered, critical, chaotic.

The mean-field picture of Poole et al. (2016) and Schoenholz et al. (2017), for every
activation: wide layers of independent weights of variance ``weight_var / width`` and biases
of variance ``bias_var`` carry a variance of pre-activations and a correlation of two inputs
to the next layer, and both converge with depth. Draw the diagram with
``python -m theory.phase --activation tanh --output tanh.svg``.
"""

from theory.phase.correlations import (
    correlation_distance_map,
    correlation_map,
    fixed_correlation,
    fixed_distance,
)
from theory.phase.edges import Edge, edge_curve, edge_of_chaos, edge_points
from theory.phase.regimes import Phase, chi_1, classify
from theory.phase.variances import (
    FixedVariance,
    fixed_variance,
    fixed_variances,
    variance_map,
)

__all__ = [
    "Edge",
    "FixedVariance",
    "Phase",
    "chi_1",
    "classify",
    "correlation_distance_map",
    "correlation_map",
    "edge_curve",
    "edge_of_chaos",
    "edge_points",
    "fixed_correlation",
    "fixed_distance",
    "fixed_variance",
    "fixed_variances",
    "variance_map",
]
__dir__ = __all__.copy
