"""Choosing sparsity and number of components: what holds on other rows of the same data."""
