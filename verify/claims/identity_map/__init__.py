"""Claims of Zhang, Bengio, Hardt, Mozer, Singer 2020, one module per topic."""
