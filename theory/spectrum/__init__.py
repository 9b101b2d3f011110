r"""Spectrum of dot-product kernels on the sphere (Funk and Hecke), deep ones directly.

For x, y uniform on the unit sphere in d dimensions, a kernel of their cosine is

.. math::

   \kappa(x \cdot y) = \sum_{k \ge 0} \lambda_k \sum_{j=1}^{N(d, k)} Y_{kj}(x) Y_{kj}(y),
   \qquad \lambda_k = E[\kappa(t) P_k(t)],

with orthonormal spherical harmonics Y (under the uniform probability measure), N(d, k)
of them in degree k, and the Gegenbauer polynomial P_k, :math:`P_k(1) = 1`; t is the
cosine of two uniform points. The trace is :math:`\kappa(1) = \sum_k N(d, k) \lambda_k`.

Kernels of infinitely wide networks have Taylor coefficients that are not negative (the
energies of the Hermite expansion, composed layer by layer), and each power of the cosine
has eigenvalues that are not negative: added up they lose no digit, however small the
eigenvalue. Where the series converges too slowly a quadrature in the angle takes over.

Sources: Agarwal, Awasthi, Kale (2020), Definition C.1 and equation 7, for the kernels;
Smola, Ovari, Williamson (2000) and Bach (2017), appendix D, for dot-product kernels.
"""

from theory._naming import publish as _publish
from theory.spectrum.deep import degree_shares as degree_shares
from theory.spectrum.deep import nngp_eigenvalues as nngp_eigenvalues
from theory.spectrum.deep import ntk_eigenvalues as ntk_eigenvalues
from theory.spectrum.deep import taylor_coefficients as taylor_coefficients
from theory.spectrum.dot_product import effective_rank as effective_rank
from theory.spectrum.dot_product import eigenvalues as eigenvalues
from theory.spectrum.dot_product import power_eigenvalues as power_eigenvalues
from theory.spectrum.dot_product import series_eigenvalues as series_eigenvalues
from theory.spectrum.harmonics import gegenbauer as gegenbauer
from theory.spectrum.harmonics import log_multiplicity as log_multiplicity
from theory.spectrum.harmonics import multiplicity as multiplicity

_publish(globals())
