"""Lee and Cho 2023, as its claims cite it."""

from verify.claims._sources import readings

KEY = "lee2023unsupervised"
quoted, as_read, forced, ours = readings(KEY)
