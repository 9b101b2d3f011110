"""Claims, one module per topic; each module lists its own in ``CLAIMS``."""
