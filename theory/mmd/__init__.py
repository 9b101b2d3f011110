"""Learning an initialisation by maximum mean discrepancy: its formulas and bounds.

A start is good if small perturbations of it predict anything: if the law of ``f(x)`` under
noise on the parameters is uniform on the simplex of class probabilities. Source: Lee and
Cho, *Unsupervised Learning of Initialization in Deep Neural Networks via Maximum Mean
Discrepancy* (2023). "MMD" is the squared discrepancy here, as there.
"""

from theory._naming import publish as _publish
from theory.mmd.coverage import coverage_bound as coverage_bound
from theory.mmd.coverage import coverage_radius as coverage_radius
from theory.mmd.coverage import degeneracy_floor as degeneracy_floor
from theory.mmd.coverage import degeneracy_loss as degeneracy_loss
from theory.mmd.coverage import least_square_norm as least_square_norm
from theory.mmd.coverage import segment_degeneracy_loss as segment_degeneracy_loss
from theory.mmd.jacobians import RowMoments as RowMoments
from theory.mmd.jacobians import detachment_limit as detachment_limit
from theory.mmd.jacobians import detachment_loss as detachment_loss
from theory.mmd.jacobians import jacobian_chain as jacobian_chain
from theory.mmd.jacobians import jacobian_row_moments as jacobian_row_moments
from theory.mmd.jacobians import layer_jacobians as layer_jacobians
from theory.mmd.kernels import estimator_gap as estimator_gap
from theory.mmd.kernels import kernel_bandwidths as kernel_bandwidths
from theory.mmd.kernels import median_bandwidth as median_bandwidth
from theory.mmd.kernels import mixture_kernel as mixture_kernel
from theory.mmd.kernels import mmd_squared as mmd_squared
from theory.mmd.noise import Noise as Noise
from theory.mmd.noise import ball_mean_square as ball_mean_square
from theory.mmd.noise import binary_task_count as binary_task_count
from theory.mmd.noise import noise_rule as noise_rule
from theory.mmd.noise import total_loss as total_loss
from theory.mmd.null import segment_null_bias as segment_null_bias
from theory.mmd.null import segment_null_variance_ratio as segment_null_variance_ratio
from theory.mmd.segment import segment_embedding as segment_embedding
from theory.mmd.segment import (
    segment_embedding_derivative as segment_embedding_derivative,
)
from theory.mmd.segment import segment_kernel_mean as segment_kernel_mean
from theory.mmd.segment import segment_mmd as segment_mmd
from theory.mmd.segment import segment_mmd_gradient as segment_mmd_gradient
from theory.mmd.segment import segment_point_mmd as segment_point_mmd
from theory.mmd.simplex import simplex_cdf as simplex_cdf
from theory.mmd.simplex import simplex_covariance as simplex_covariance
from theory.mmd.simplex import simplex_mean as simplex_mean
from theory.mmd.simplex import simplex_sample as simplex_sample
from theory.mmd.tails import CHI_SQUARE as CHI_SQUARE
from theory.mmd.tails import SubExponential as SubExponential
from theory.mmd.tails import chi_square_log_moment as chi_square_log_moment
from theory.mmd.tails import norm_tail as norm_tail
from theory.mmd.tails import sub_exponential_sum as sub_exponential_sum
from theory.mmd.tails import tail_bound as tail_bound
from theory.mmd.tails import vacuous_radius as vacuous_radius

_publish(globals())
