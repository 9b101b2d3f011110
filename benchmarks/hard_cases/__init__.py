"""Cases that used to be wrong, to fail or to take minutes: before and after.

``python benchmarks/accuracy.py --hard --write docs/accuracy.md`` writes the table. What
was found before is quoted; what is found now is computed when the table is written.
"""
