"""Closed forms of deep-learning theory."""
