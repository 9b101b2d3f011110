"""What deep kernels mean for learning: rates, interpolation, overfitting, regression."""
