"""Spectra of deep kernels on the sphere, non-singular kernels, statistical queries."""
