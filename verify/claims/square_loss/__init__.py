"""Claims of Poggio and Liao 2021, one module per topic."""
