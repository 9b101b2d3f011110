"""Dual activations by three engines: piecewise polynomial, series, quadrature."""

from theory.duals.engine import Engine as Engine
from theory.duals.engine import Rescaled as Rescaled
from theory.duals.series import Arcsine as Arcsine
from theory.duals.series import Series as Series
from theory.duals.tabulated import Tabulated as Tabulated
from theory.duals.tabulated import polar_expectation as polar_expectation
from theory.duals.tabulated import strip_expectation as strip_expectation
from theory.duals.truncated import Truncated as Truncated
