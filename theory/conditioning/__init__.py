r"""Deep conditioning: how depth drives correlations and condition numbers.

Every bound is a function of plain numbers: the separation ``delta = 1 - |rho|`` of the
inputs, the coefficient of non-linearity ``mu`` (or of non-affinity ``nu``) of the
activation and the number of hidden layers ``depth``. Arguments broadcast; numbers in,
Python numbers out. Source: Agarwal, Awasthi, Kale, *A Deep Conditioning Treatment of
Neural Networks* (2021). Where a function has a ``form``, "printed" is the paper's bound as
restored from its proof, the text before us having no formulas, "sharp" a stronger one in
closed form, and "attained" the best that holds for every activation with that mu: the one
with energies ``(0, 1 - mu, mu)`` attains it.
"""

from theory._naming import publish as _publish
from theory.activations import normrelu_constants as normrelu_constants
from theory.conditioning.correlations import correlation_bound as correlation_bound
from theory.conditioning.correlations import (
    correlation_envelope as correlation_envelope,
)
from theory.conditioning.correlations import one_layer_bound as one_layer_bound
from theory.conditioning.eigenvalues import (
    depth_for_condition_number as depth_for_condition_number,
)
from theory.conditioning.eigenvalues import eigenvalue_transfer as eigenvalue_transfer
from theory.conditioning.eigenvalues import nngp_condition_bound as nngp_condition_bound
from theory.conditioning.eigenvalues import (
    nngp_min_eigenvalue_bound as nngp_min_eigenvalue_bound,
)
from theory.conditioning.fixed_points import FixedPoint as FixedPoint
from theory.conditioning.fixed_points import (
    fixed_point_convergence as fixed_point_convergence,
)
from theory.conditioning.fixed_points import unit_slope_bound as unit_slope_bound
from theory.conditioning.schedule import burn_in_depth as burn_in_depth
from theory.conditioning.tangent import derivative_bound as derivative_bound
from theory.conditioning.tangent import ntk_condition_bound as ntk_condition_bound
from theory.conditioning.tangent import ntk_diagonal as ntk_diagonal
from theory.conditioning.tangent import (
    ntk_min_eigenvalue_bound as ntk_min_eigenvalue_bound,
)
from theory.conditioning.tangent import ntk_ratio_bound as ntk_ratio_bound
from theory.conditioning.tangent import ntk_threshold_depth as ntk_threshold_depth

_publish(globals())
