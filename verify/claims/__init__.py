"""Claims: a folder a paper, a module a topic; each lists its own in ``CLAIMS``."""
