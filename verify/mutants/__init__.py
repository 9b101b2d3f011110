"""Mutations of the source: small mistakes planted in a formula, which claims must see.

``python -m verify.mutants`` plants a reproducible sample of them in `theory`,
`empirical` and `verify.compare`, one at a time, and runs the claims that execute the
changed line until one turns red. See ``docs/mutations.md``.
"""
