"""NormReLU: its constants, lengths, correlations and cost (section 7, appendix I)."""
