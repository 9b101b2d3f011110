"""Activations: duals, Hermite coefficients, coefficient of non-linearity, what is refused."""
