"""A covariance matrix defined by data and never formed in full.

With ``B = (X - mean) / (scale·√(m - ddof))`` the covariance is ``Q = BᵀB``.  Its diagonal, single
rows, submatrices and tiles are products of a few columns of B, which are read on demand: from an
array in memory, a memory-mapped file, a sparse matrix, a Dask array, or anything else with a
``shape`` that can be sliced by columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from orthospca import rigor
from orthospca._typing import Array, IntArray
from orthospca.problem import names_of

#: Columns read together when the data are scanned.
CHUNK = 4096
#: Rows and columns of a tile of the thresholded graph.
TILE = 2048
#: Prepared columns (centred, scaled) are kept in memory up to this many bytes.
LARGEST_COPY = 2**30


class DataCovariance:
    """The covariance or correlation matrix of ``data``, computed piece by piece.

    Parameters
    ----------
    data : array-like of shape (m, n)
        Samples in rows: ndarray, memory map, scipy sparse matrix, Dask array, or any object with
        ``shape`` that can be sliced as ``data[:, a:b]``.
    correlation : bool
        Divide each column by its standard deviation; constant columns stay zero.
    ddof : int
        The divisor is ``m - ddof``.

    Examples
    --------
    >>> import numpy as np
    >>> from orthospca import DataCovariance, solve
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> Q = DataCovariance(X)
    >>> bool(np.allclose(Q.submatrix(np.arange(8)), np.cov(X.T)))
    True
    >>> solve(Q, sparsity=3).status.name
    'OPTIMAL'
    """

    def __init__(self, data: Any, *, correlation: bool = False, ddof: int = 1) -> None:
        self.feature_names = names_of(data)
        self._data = _sliceable(data)
        self.n_samples, self.n_features = (int(size) for size in self._data.shape)
        if self.n_features == 0 or self.n_samples <= ddof:
            raise ValueError(
                f"data must have at least one column and more than {ddof} rows, "
                f"got shape {(self.n_samples, self.n_features)}"
            )
        self._divisor = math.sqrt(self.n_samples - ddof)
        self._measure(correlation)
        self._prepared: Array | None = None
        if self.n_samples * self.n_features * 8 <= LARGEST_COPY and not sparse.issparse(self._data):
            self._prepared = np.concatenate([B for _, B in self._scan()], axis=1)

    @property
    def shape(self) -> tuple[int, int]:
        """Order of the covariance matrix."""
        return self.n_features, self.n_features

    def columns(self, indices: IntArray | slice) -> Array:
        """Return columns of B, shape (m, len(indices))."""
        if self._prepared is not None:
            return self._prepared[:, indices]
        return self._prepare(_take(self._data, indices), indices)

    def cross(self, rows: IntArray, columns: IntArray) -> Array:
        """Return ``Q[rows][:, columns]``."""
        return self.columns(rows).T @ self.columns(columns)

    def submatrix(self, indices: IntArray) -> Array:
        """Return ``Q[indices][:, indices]``, exactly symmetric."""
        B = self.columns(indices)
        product = B.T @ B
        return 0.5 * (product + product.T)

    def image(self, vectors: Array) -> Array:
        """Return ``B @ vectors`` for sparse columns of length n (dense storage), shape (m, k)."""
        used = np.flatnonzero(np.abs(vectors).max(axis=1, initial=0.0) > 0)
        return self.columns(used) @ vectors[used]

    def chunks(self) -> Iterator[slice]:
        """Column ranges that are read together."""
        for start in range(0, self.n_features, CHUNK):
            yield slice(start, min(start + CHUNK, self.n_features))

    @cached_property
    def diagonal(self) -> Array:
        """The variances."""
        return np.concatenate([np.einsum("ij,ij->j", B, B) for _, B in self._scan()])

    def graph(self, threshold: float) -> sparse.csr_matrix:
        """Return the pairs with ``|Q_ij| ≥ threshold`` as a sparse matrix, found tile by tile.

        Columns are taken by falling variance, so that ``|Q_ij| ≤ √(Q_ii Q_jj)`` skips the rest of a
        row of tiles as soon as one is ruled out.  Memory: the tile and the edges.
        """
        n = self.n_features
        order = np.argsort(-self.diagonal, kind="stable")
        roots = np.sqrt(self.diagonal[order]) * (1 + self.relative_radius)
        rows, columns, values = [], [], []
        for a in range(0, n, TILE):
            left = self.columns(order[a : a + TILE]).T
            for b in range(a, n, TILE):
                if roots[a] * roots[b] < threshold:
                    break
                tile = left @ self.columns(order[b : b + TILE])
                i, j = np.nonzero((np.abs(tile) >= threshold) & (tile != 0))
                upper = a + i < b + j
                i, j = i[upper], j[upper]
                rows.append(order[a + i])
                columns.append(order[b + j])
                values.append(tile[i, j])
        entries = np.concatenate([np.zeros(0), *values])
        at = [np.concatenate([np.zeros(0, dtype=np.intp), *part]) for part in (rows, columns)]
        return sparse.csr_matrix((entries, (at[0], at[1])), shape=(n, n))

    @cached_property
    def relative_radius(self) -> float:
        """Rounding error of a computed ``Q_ij``, relative to ``√(Q_ii Q_jj)``."""
        return 4 * (self.n_samples + 8) * rigor.UNIT

    def _scan(self) -> Iterator[tuple[slice, Array]]:
        for part in self.chunks():
            yield part, self.columns(part) if hasattr(self, "_prepared") else self._read(part)

    def _read(self, part: slice) -> Array:
        return self._prepare(_take(self._data, part), part)

    def _measure(self, correlation: bool) -> None:
        """Find the mean and the scale of each column, and refuse what is not finite."""
        means, scales = [], []
        for part in self.chunks():
            values = _take(self._data, part)
            if not np.isfinite(values).all():
                i, j = np.argwhere(~np.isfinite(values))[0]
                raise ValueError(
                    f"data must be finite, got {values[i, j]} at row {i}, column {part.start + j}"
                )
            mean = values.mean(axis=0)
            means.append(mean)
            deviation = np.sqrt(np.square(values - mean).sum(axis=0)) / self._divisor
            constant = deviation <= 1e-12 * np.abs(mean)
            scales.append(np.where(constant, math.inf, deviation if correlation else 1.0))
        self.mean = np.concatenate(means)
        self.scale = np.concatenate(scales)

    def _prepare(self, values: Array, indices: IntArray | slice) -> Array:
        return (values - self.mean[indices]) / (self.scale[indices] * self._divisor)


def _sliceable(data: Any) -> Any:
    if sparse.issparse(data):
        return sparse.csc_matrix(data)
    if hasattr(data, "to_numpy"):
        data = data.to_numpy()
    if not hasattr(data, "shape"):
        data = np.asarray(data)
    if len(data.shape) != 2:
        raise ValueError(f"data must be a matrix of samples by features, got shape {data.shape}")
    kind = np.dtype(data.dtype).kind
    if kind not in "fiub":
        raise ValueError(f"data must be real numbers, got entries of type {data.dtype}")
    return data


def _take(data: Any, indices: IntArray | slice) -> Array:
    part = data[:, indices]
    if sparse.issparse(part):
        part = part.toarray()
    elif hasattr(part, "compute"):
        part = part.compute()
    return np.asarray(part, dtype=float)
