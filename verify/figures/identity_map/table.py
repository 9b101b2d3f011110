"""The paper's figures by their numbers, and which of them the report shows."""

from collections.abc import Mapping

from verify.figures.identity_map import entries_depth, entries_variation
from verify.figures.identity_map.paper import PaperFigure

FIGURES: Mapping[int, PaperFigure] = {
    one.number: one for one in (*entries_depth.ENTRIES, *entries_variation.ENTRIES)
}
"""Every figure of the paper by its number."""

MAIN = (*range(1, 11), 14, 15, 19, 25, 27, 31, 32, 41, 42)
"""Figures that the report shows."""
