"""Squared lengths off the unit sphere, layer by layer (appendix D)."""
