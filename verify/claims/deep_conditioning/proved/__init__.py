"""Proofs: interval certificates over whole domains, enclosed constants, symbols."""
