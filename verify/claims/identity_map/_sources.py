"""Zhang and others 2020, as its claims cite it."""

from verify.claims._sources import readings

KEY = "zhang2020identity"
quoted, as_read, forced, ours = readings(KEY)
