"""Agarwal, Awasthi and Kale 2020, as its claims cite it."""

from verify.claims._sources import readings

KEY = "agarwal2021deep"
quoted, as_read, forced, ours = readings(KEY)
