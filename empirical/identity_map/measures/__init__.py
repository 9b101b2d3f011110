"""What trained networks learnt: towards identity or constant, layer by layer.

The functions act on plain tensors and callables; `measure` applies them to a stack of
trained networks and returns what a record keeps.
"""

from empirical.identity_map.measures.edges import edge_share, sobel
from empirical.identity_map.measures.layers import (
    Picture,
    layer_errors,
    picture,
    signal_sizes,
)
from empirical.identity_map.measures.report import by_replicate, measure
from empirical.identity_map.measures.sections import MEASUREMENTS
from empirical.identity_map.measures.similarity import (
    Closeness,
    closeness,
    cosine,
    heat_map,
    mean_squared_error,
    shares,
)
from empirical.identity_map.measures.subjects import Settings
from empirical.identity_map.measures.weights import cover, relative_change

__all__ = [
    "MEASUREMENTS",
    "Closeness",
    "Picture",
    "Settings",
    "by_replicate",
    "closeness",
    "cosine",
    "cover",
    "edge_share",
    "heat_map",
    "layer_errors",
    "mean_squared_error",
    "measure",
    "picture",
    "relative_change",
    "shares",
    "signal_sizes",
    "sobel",
]
