"""The paper's figures by their numbers, and which of them the report shows."""

from collections.abc import Mapping

from verify.figures.identity_map import curves, entries_depth, entries_variation
from verify.figures.identity_map.paper import PaperFigure

FIGURES: Mapping[int, PaperFigure] = {
    one.number: one for one in (*entries_depth.ENTRIES, *entries_variation.ENTRIES)
}
"""Every figure of the paper by its number."""

MAIN = (*range(1, 11), 14, 15, 19, 25, 27, 31, 32, 33, 41, 42)
"""Figures that the report shows."""

DEPTH_CURVE = PaperFigure(
    3,
    "The depth curve",
    "Means over test images at correlations 0 to 1 with the training image, points for"
    " seeds: agreement with the identity falls with depth, that with the constant rises.",
    "said of figures 3 and 4; the curve itself is not drawn.",
    curves.depth_curve,
    sections=("curve",),
)
"""The heat maps of figure 4 in one number for each depth."""
