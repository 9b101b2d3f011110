"""Trained networks: section 7 and its protocols."""
