"""Square loss: the norm of a normalised network, where it moves and where it rests.

A homogeneous network is its norm rho times a network f with unit directions. For frozen
directions the norm obeys a linear law with the equilibrium ``rho_eq = sum y f / (lambda +
sum f^2)``; along training directions move too. Source: Poggio and Liao, *Explicit
regularization and implicit bias in deep network classifiers trained with the square loss*
(2021). Data are unit inputs with labels -1 and +1; every loss is a *sum* over examples,
and `torch_scale` converts the settings of an optimiser into this convention.
"""

from theory._naming import publish as _publish
from theory.square_loss._driver import FlowWarning as FlowWarning
from theory.square_loss.clusters import ClusterEquilibrium as ClusterEquilibrium
from theory.square_loss.clusters import cluster_equilibrium as cluster_equilibrium
from theory.square_loss.clusters import linear_mode as linear_mode
from theory.square_loss.clusters import typical_output as typical_output
from theory.square_loss.critical import alignment_gap as alignment_gap
from theory.square_loss.critical import critical_residual as critical_residual
from theory.square_loss.critical import overshoot_curvature as overshoot_curvature
from theory.square_loss.critical import per_sample_residual as per_sample_residual
from theory.square_loss.critical import projected_kernel as projected_kernel
from theory.square_loss.equilibrium import equilibrium_distance as equilibrium_distance
from theory.square_loss.equilibrium import (
    exponential_multiplier as exponential_multiplier,
)
from theory.square_loss.equilibrium import lagrange_multiplier as lagrange_multiplier
from theory.square_loss.equilibrium import off_sphere_rate as off_sphere_rate
from theory.square_loss.equilibrium import rho_equilibrium as rho_equilibrium
from theory.square_loss.equilibrium import rho_velocity as rho_velocity
from theory.square_loss.flow import Flow as Flow
from theory.square_loss.flow import gradient_flow as gradient_flow
from theory.square_loss.flow import unnormalised_flow as unnormalised_flow
from theory.square_loss.flow import weight_normalised_flow as weight_normalised_flow
from theory.square_loss.generalisation import MarginBound as MarginBound
from theory.square_loss.generalisation import margin_bound as margin_bound
from theory.square_loss.generalisation import rademacher_bound as rademacher_bound
from theory.square_loss.generalisation import rademacher_linear as rademacher_linear
from theory.square_loss.generalisation import (
    rademacher_linear_bound as rademacher_linear_bound,
)
from theory.square_loss.generalisation import ramp_loss as ramp_loss
from theory.square_loss.generalisation import vacuous_below as vacuous_below
from theory.square_loss.linear import RegularisationPath as RegularisationPath
from theory.square_loss.linear import linear_minimiser as linear_minimiser
from theory.square_loss.linear import maximum_margin as maximum_margin
from theory.square_loss.linear import regularisation_path as regularisation_path
from theory.square_loss.linear import ridge_solution as ridge_solution
from theory.square_loss.networks import aligned_directions as aligned_directions
from theory.square_loss.networks import layer_gradients as layer_gradients
from theory.square_loss.networks import normalise as normalise
from theory.square_loss.networks import norms as norms
from theory.square_loss.networks import output_bound as output_bound
from theory.square_loss.networks import outputs as outputs
from theory.square_loss.networks import weighted_gradients as weighted_gradients
from theory.square_loss.optimisers import OptimiserScale as OptimiserScale
from theory.square_loss.optimisers import largest_stable_width as largest_stable_width
from theory.square_loss.optimisers import torch_scale as torch_scale
from theory.square_loss.random_matrices import (
    gram_deviation_mean as gram_deviation_mean,
)
from theory.square_loss.random_matrices import (
    gram_deviation_variance as gram_deviation_variance,
)
from theory.square_loss.random_matrices import (
    gram_offdiagonal_rms as gram_offdiagonal_rms,
)
from theory.square_loss.random_matrices import (
    gram_spectrum_edges as gram_spectrum_edges,
)
from theory.square_loss.trajectories import StabilityWarning as StabilityWarning
from theory.square_loss.trajectories import rho_iterates as rho_iterates
from theory.square_loss.trajectories import rho_trajectory as rho_trajectory
from theory.square_loss.trajectories import settling_time as settling_time
from theory.square_loss.trajectories import stability_limit as stability_limit
from theory.square_loss.unnormalised import (
    critical_weight_decay as critical_weight_decay,
)
from theory.square_loss.unnormalised import unnormalised_barrier as unnormalised_barrier
from theory.square_loss.unnormalised import (
    unnormalised_equilibrium as unnormalised_equilibrium,
)
from theory.square_loss.velocities import (
    direction_from_weight_velocity as direction_from_weight_velocity,
)
from theory.square_loss.velocities import directions_velocity as directions_velocity
from theory.square_loss.velocities import weights_velocity as weights_velocity

_publish(globals())
