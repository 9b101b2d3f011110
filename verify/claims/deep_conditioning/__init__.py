"""Claims of Agarwal, Awasthi, Kale 2020, one module per topic."""
