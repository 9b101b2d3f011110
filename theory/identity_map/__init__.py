"""One training image and the identity map: closed forms and bounds.

Whether a network that learnt to reproduce one image became the identity, a constant, or
neither: for one layer all of it has a closed form, at every step of training. Source:
Zhang, Bengio, Hardt, Mozer, Singer, *Identity Crisis: Memorization and Generalization
under Extreme Overparameterization* (ICLR 2020).
"""

from theory._naming import publish as _publish
from theory.identity_map.architectures import SCHEMES as SCHEMES
from theory.identity_map.architectures import cnn_parameter_count as cnn_parameter_count
from theory.identity_map.architectures import fcn_parameter_count as fcn_parameter_count
from theory.identity_map.architectures import initial_variance as initial_variance
from theory.identity_map.architectures import (
    linear_convolution_identity as linear_convolution_identity,
)
from theory.identity_map.architectures import linear_identity as linear_identity
from theory.identity_map.architectures import (
    relu_convolution_identity as relu_convolution_identity,
)
from theory.identity_map.architectures import relu_identity as relu_identity
from theory.identity_map.architectures import relu_shrink as relu_shrink
from theory.identity_map.bounds import ErrorBound as ErrorBound
from theory.identity_map.bounds import Promise as Promise
from theory.identity_map.bounds import mse_bound as mse_bound
from theory.identity_map.bounds import mse_order as mse_order
from theory.identity_map.bounds import patch_norm_bound as patch_norm_bound
from theory.identity_map.bounds import promise as promise
from theory.identity_map.bounds import selector_norm_bound as selector_norm_bound
from theory.identity_map.bounds import split_patch_bound as split_patch_bound
from theory.identity_map.bounds import worst_patch_error as worst_patch_error
from theory.identity_map.chi_square import chi_square_tail as chi_square_tail
from theory.identity_map.chi_square import (
    chi_square_tail_bound as chi_square_tail_bound,
)
from theory.identity_map.chi_square import direction_bound as direction_bound
from theory.identity_map.chi_square import least_constant as least_constant
from theory.identity_map.chi_square import (
    least_failure_probability as least_failure_probability,
)
from theory.identity_map.convolution import expected_mse as expected_mse
from theory.identity_map.convolution import one_layer_conv_mse as one_layer_conv_mse
from theory.identity_map.convolution import (
    one_layer_conv_prediction as one_layer_conv_prediction,
)
from theory.identity_map.convolution import (
    one_layer_conv_weights as one_layer_conv_weights,
)
from theory.identity_map.descent import learning_rate_limit as learning_rate_limit
from theory.identity_map.descent import least_squares_weights as least_squares_weights
from theory.identity_map.descent import residual_factors as residual_factors
from theory.identity_map.descent import scheduled_factors as scheduled_factors
from theory.identity_map.one_layer import Moments as Moments
from theory.identity_map.one_layer import curvature as curvature
from theory.identity_map.one_layer import one_layer_prediction as one_layer_prediction
from theory.identity_map.one_layer import one_layer_weights as one_layer_weights
from theory.identity_map.one_layer import orthogonal_law as orthogonal_law
from theory.identity_map.one_layer import orthogonal_prediction as orthogonal_prediction
from theory.identity_map.one_layer import (
    two_layer_orthogonal_law as two_layer_orthogonal_law,
)
from theory.identity_map.patch_matrix import Rank as Rank
from theory.identity_map.patch_matrix import centre_selector as centre_selector
from theory.identity_map.patch_matrix import coverage as coverage
from theory.identity_map.patch_matrix import decide_rank as decide_rank
from theory.identity_map.patch_matrix import patch_rank as patch_rank
from theory.identity_map.patch_matrix import patches as patches
from theory.identity_map.patch_matrix import receptive_field as receptive_field
from theory.identity_map.patch_matrix import (
    weights_from_framework as weights_from_framework,
)
from theory.identity_map.patch_matrix import (
    weights_to_framework as weights_to_framework,
)
from theory.identity_map.random_weights import Signals as Signals
from theory.identity_map.random_weights import (
    expected_cosine_to_input as expected_cosine_to_input,
)
from theory.identity_map.random_weights import (
    expected_cosine_to_train as expected_cosine_to_train,
)
from theory.identity_map.random_weights import (
    expected_squared_cosine_to_train as expected_squared_cosine_to_train,
)
from theory.identity_map.random_weights import (
    expected_squared_norm as expected_squared_norm,
)
from theory.identity_map.random_weights import wide_signals as wide_signals

_publish(globals())
