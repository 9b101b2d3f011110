"""Kernels of inputs of any lengths: pairs, copies, crowds and tables."""
