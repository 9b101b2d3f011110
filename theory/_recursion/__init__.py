"""Kernels of inputs of any lengths, one layer after another: what `theory.kernels` runs on.

From inputs to matrices: `kernel_matrices` checks rows and chooses the way. Rows of one
length need the function of one correlation (`spheres`, `length_families`); others go
through the layers as lengths and distances (`recursion`, `uneven`, `deep_tables`). What a
layer does to them is known in closed form (`closed_maps`) or read from
tables (`layer_maps`, `row_maps` and the tables that these name).
"""
