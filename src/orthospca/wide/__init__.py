"""A stage on data with many features: what it reduces to, and its solve."""
