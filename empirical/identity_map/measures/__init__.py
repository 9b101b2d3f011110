"""What trained networks learnt: towards identity or constant, layer by layer.

The functions act on plain tensors and callables; `measure` applies them to a stack of
trained networks and returns what a record keeps.
"""

from empirical.identity_map.measures.edges import edge_share as edge_share
from empirical.identity_map.measures.edges import sobel as sobel
from empirical.identity_map.measures.layers import layer_errors as layer_errors
from empirical.identity_map.measures.layers import picture as picture
from empirical.identity_map.measures.layers import signal_sizes as signal_sizes
from empirical.identity_map.measures.report import by_replicate as by_replicate
from empirical.identity_map.measures.report import measure as measure
from empirical.identity_map.measures.sections import MEASUREMENTS as MEASUREMENTS
from empirical.identity_map.measures.similarity import closeness as closeness
from empirical.identity_map.measures.similarity import cosine as cosine
from empirical.identity_map.measures.similarity import heat_map as heat_map
from empirical.identity_map.measures.similarity import (
    mean_squared_error as mean_squared_error,
)
from empirical.identity_map.measures.similarity import shares as shares
from empirical.identity_map.measures.subjects import Settings as Settings
from empirical.identity_map.measures.weights import cover as cover
from empirical.identity_map.measures.weights import relative_change as relative_change
