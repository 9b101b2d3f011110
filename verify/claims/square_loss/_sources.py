"""Poggio and Liao 2021, as its claims cite it."""

from verify.claims._sources import readings

KEY = "poggio2021explicit"
quoted, as_read, forced, ours = readings(KEY)
