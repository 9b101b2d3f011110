"""Activations: duals, Hermite coefficients, non-linearity, and what is refused."""
