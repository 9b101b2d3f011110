"""The ledger: every claim of every paper, how it is checked and what was found."""
