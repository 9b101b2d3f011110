"""Claims of Agarwal, Awasthi, Kale 2020, one package per topic."""
