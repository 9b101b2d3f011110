"""Data sets, checked byte by byte, and synthetic inputs.

``load("mnist", "train")`` looks in an explicit directory, then in the user's cache,
then among the 5,000 real digits that an installed package carries. ``python -m
empirical.data fetch mnist`` downloads the full set with SHA-256 checks.
"""

from empirical.data.fetch import fetch as fetch
from empirical.data.inputs import assumption_a_inputs as assumption_a_inputs
from empirical.data.inputs import assumption_b_inputs as assumption_b_inputs
from empirical.data.inputs import largest_correlation as largest_correlation
from empirical.data.inputs import pair_inputs as pair_inputs
from empirical.data.inputs import planar_cluster as planar_cluster
from empirical.data.inputs import sphere_inputs as sphere_inputs
from empirical.data.inputs import unit_rows as unit_rows
from empirical.data.sources import NAMES as NAMES
from empirical.data.sources import Dataset as Dataset
from empirical.data.sources import cache_directory as cache_directory
from empirical.data.sources import load as load
