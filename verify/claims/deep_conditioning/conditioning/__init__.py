"""Correlations, condition numbers and tangent kernels under depth, and their bounds."""
