r"""Inputs that are not of unit length: how lengths and correlations move with depth.

One layer maps the squared length ``gamma`` to ``length_map(gamma)`` and the correlation
to ``dual(rho; gamma_x, gamma_y) / sqrt(length_map(gamma_x) length_map(gamma_y))``.
Arguments broadcast; numbers in, Python numbers out.
Source: Agarwal, Awasthi, Kale 2020, appendices D and I.
"""

from theory._naming import publish as _publish
from theory.lengths.normrelu import CRITICAL_KINK as CRITICAL_KINK
from theory.lengths.normrelu import NormReLUDecay as NormReLUDecay
from theory.lengths.normrelu import normrelu_bias as normrelu_bias
from theory.lengths.normrelu import normrelu_decay as normrelu_decay
from theory.lengths.normrelu import normrelu_length as normrelu_length
from theory.lengths.normrelu import normrelu_length_slope as normrelu_length_slope
from theory.lengths.normrelu import unstable_length as unstable_length
from theory.lengths.odd import (
    correlation_bound_any_length as correlation_bound_any_length,
)
from theory.lengths.odd import odd_correlation_bound as odd_correlation_bound
from theory.lengths.odd import settling_depth as settling_depth
from theory.lengths.trajectories import chord_rate as chord_rate
from theory.lengths.trajectories import generalised_mu as generalised_mu
from theory.lengths.trajectories import joint_trajectory as joint_trajectory
from theory.lengths.trajectories import length_trajectory as length_trajectory
from theory.lengths.trajectories import rest_share as rest_share

_publish(globals())
