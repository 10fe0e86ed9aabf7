"""A covariance defined by data and never formed in full: here, or in the chunks of a Dask array."""
