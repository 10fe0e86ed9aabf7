"""A covariance defined by data, of which parts are formed: here, or by Dask."""
