"""Dual activations: in closed form, of piecewise polynomials, by series, by quadrature."""

from theory._naming import publish as _publish
from theory.duals._bulk import for_arrays as for_arrays
from theory.duals._closed_pairs import OfLengths as OfLengths
from theory.duals._planes import Broken as Broken
from theory.duals._planes import Plane as Plane
from theory.duals._planes import apart as apart
from theory.duals._spectra import MOST_VALUES as MOST_VALUES
from theory.duals._spectra import Spectrum as Spectrum
from theory.duals._spectra import spectra as spectra
from theory.duals.arc_cosine import ArcCosine as ArcCosine
from theory.duals.engine import Engine as Engine
from theory.duals.engine import Rescaled as Rescaled
from theory.duals.series import Monomial as Monomial
from theory.duals.series import Series as Series
from theory.duals.tabulated import Slope as Slope
from theory.duals.tabulated import Tabulated as Tabulated
from theory.duals.truncated import Truncated as Truncated

_publish(globals())
