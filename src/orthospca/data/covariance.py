"""A covariance matrix defined by data, of which only the parts that are needed are formed.

With ``B = (X - mean) / (scale·√(m - ddof))`` the covariance is ``Q = BᵀB``.  Its diagonal, single
rows, submatrices and tiles are products of a few columns of B, which are read on demand: from an
array in memory, a memory-mapped file, a sparse matrix, or anything else with a ``shape`` that can
be sliced by columns.  Of a Dask array the products are computed where its chunks are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from orthospca._errors import InputError
from orthospca._typing import Array, IntArray
from orthospca.data.cluster import ClusterColumns, is_distributed
from orthospca.data.columns import LocalColumns, Moments, is_constant
from orthospca.data.forming import GiveUp, never
from orthospca.data.moments import validate_weights
from orthospca.data.sparse import columns_of
from orthospca.model.validation import (
    column_name,
    names_of,
    numbers_of,
    refuse_anndata,
    refuse_masked,
    validate_range,
)
from orthospca.numerics.exact import factor_variance_down
from orthospca.numerics.rounding import relative_error

#: The columns of the data, wherever they are.
Columns = LocalColumns | ClusterColumns


class DataCovariance:
    """The covariance or correlation matrix of ``data``, of which only the needed parts are formed.

    Parameters
    ----------
    data : array-like of shape (m, n)
        Samples in rows: ndarray, memory map, scipy sparse matrix, or any object with ``shape`` that
        can be sliced as ``data[:, a:b]``.  A Dask array, chunked along one axis or both, stays
        where it is: Dask's scheduler computes products with all of its columns.
    correlation : bool
        Divide each column by its standard deviation; constant columns stay zero.
    ddof : int
        The divisor is ``m - ddof``.
    sample_weight : array-like of shape (m,), optional
        How often each sample counts; the divisor is the sum of the weights minus ``ddof``.

    Attributes
    ----------
    constant : boolean array
        Columns whose variance is nothing but rounding; they count as zero.

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

    def __init__(
        self, data: Any, *, correlation: bool = False, ddof: int = 1, sample_weight: Any = None
    ) -> None:
        self.feature_names = names_of(data)
        self.correlation = bool(correlation)
        self.source, total = _source(data, sample_weight)
        self.n_samples, self.n_features = self.source.shape
        if self.n_features == 0 or self.n_samples <= ddof:
            raise InputError(
                f"data must have at least one column and more than {ddof} rows, "
                f"got shape {(self.n_samples, self.n_features)}"
            )
        if total <= ddof:
            raise InputError(
                f"sample_weight counts observations, so its sum must be more than {ddof}, got "
                f"{total}; weights that sum to 1 can be multiplied by the number of observations"
            )
        divisor = math.sqrt(total - ddof)
        found = self.source.moments()
        _refuse_extremes(found, correlation, self.feature_names)
        self.constant = is_constant(found.squares / divisor**2, found.mean, self.n_samples)
        deviation = np.sqrt(found.squares) / divisor
        self.mean = found.mean
        self.scale = np.where(self.constant, math.inf, deviation if correlation else 1.0)
        self.source.prepare(self.mean, self.scale * divisor)

    @property
    def shape(self) -> tuple[int, int]:
        """Order of the covariance matrix."""
        return self.n_features, self.n_features

    def factor(self, indices: IntArray) -> Array:
        """Return columns of the factor B of ``Q = BᵀB``, shape (m, len(indices))."""
        return self.source.take(indices)

    def cross(self, rows: IntArray, columns: IntArray) -> Array:
        """Return ``Q[rows][:, columns]``."""
        return self.source.cross(rows, columns)

    def submatrix(self, indices: IntArray) -> Array:
        """Return ``Q[indices][:, indices]``, exactly symmetric."""
        found = self.formed(indices, never)
        assert found is not None
        return found

    def formed(
        self, indices: IntArray, give_up: GiveUp, known: Array | None = None
    ) -> Array | None:
        """As :meth:`submatrix`, piece by piece; None if ``give_up``, told what is done, says so.

        That of the first indices may be known.
        """
        return self.source.square(indices, give_up, known)

    def variances(self, vectors: Sequence[Array]) -> list[float]:
        """Return ``‖Bx‖² / xᵀx`` of each vector, rounded down: it has no less."""
        if not vectors:
            return []
        # One read of a few columns: on a cluster each one has to wait for its answer.
        used = np.unique(np.concatenate([np.flatnonzero(x) for x in vectors]))
        columns, found = self.factor(used), []
        for x in vectors:
            support = np.flatnonzero(x)
            found.append(
                factor_variance_down(columns[:, np.searchsorted(used, support)], x[support])
            )
        return found

    def times(self, samples: Array) -> Array:
        """Return ``Bᵀ @ samples`` for a few vectors of length m, shape (n, k)."""
        return self.source.times(samples)

    @cached_property
    def diagonal(self) -> Array:
        """The variances."""
        return self.source.diagonal()

    def graph(self, threshold: float) -> sparse.csr_matrix:
        """Return the pairs with ``|Q_ij| ≥ threshold``, i < j, as a sparse matrix.

        They are found tile by tile; tiles that ``|Q_ij| ≤ √(Q_ii Q_jj)`` rules out are skipped.
        Memory: the tile and the edges.
        """
        n = self.n_features
        roots = np.sqrt(self.diagonal) * (1 + self.relative_radius)
        none = np.zeros(0, dtype=np.intp)
        found = [(none, none, np.zeros(0)), *self.source.edges(threshold, roots)]
        i, j, values = (np.concatenate(part) for part in zip(*found, strict=True))
        return sparse.csr_matrix((values, (np.minimum(i, j), np.maximum(i, j))), shape=(n, n))

    @cached_property
    def relative_radius(self) -> float:
        """Rounding error of a computed ``Q_ij``, relative to ``√(Q_ii Q_jj)``.

        In whatever order the m products are added, partial sums over chunks included, it is at
        most ``m·u / (1 - m·u)``; the rest is for the computed diagonal.
        """
        return relative_error(2 * (self.n_samples + 8))


def _refuse_extremes(
    found: Moments, correlation: bool, names: tuple[str, ...] | None = None
) -> None:
    """Refuse data whose squares overflow or vanish; of correlations, any such column."""
    largest = np.maximum(np.abs(found.low), np.abs(found.high))
    column = int(largest.argmax())
    at = f"column {column_name(names, column)}"
    validate_range(f"the largest entry of data, in {at},", float(largest[column]), 0.5)
    varying = np.flatnonzero(found.high > found.low)
    if not len(varying):
        return
    width = found.high[varying] - found.low[varying]
    column = int(varying[width.argmin()])
    at = f"column {column_name(names, column)}"
    if correlation:
        validate_range(f"the range of {at} of data", float(width.min()), 0.5)
    elif width.min() ** 2 < np.finfo(np.float64).tiny:
        raise InputError(
            f"the range of {at} of data must not vanish when squared, got {width.min():g}: "
            "rescale the data"
        )


def _source(data: Any, sample_weight: Any) -> tuple[Columns, float]:
    """Return the columns of the data, where they are, and how many samples they count for."""
    refuse_anndata(data)
    refuse_masked(data)
    if not sparse.issparse(data) and hasattr(data, "to_numpy"):
        data = numbers_of(data)
    if not hasattr(data, "shape"):
        data = np.asarray(data)
    if len(data.shape) != 2:
        raise InputError(f"data must be a matrix of samples by features, got shape {data.shape}")
    kind = np.dtype(data.dtype).kind
    if kind not in "fiub":
        raise InputError(f"data must be real numbers, got entries of type {data.dtype}")
    if sample_weight is not None:
        weights = validate_weights(sample_weight, data.shape[0])
        data = data.tocsc() if sparse.issparse(data) else data
        used = weights > 0
        return LocalColumns(data[used], weights[used]), float(weights.sum())
    if is_distributed(data):
        columns: Columns = ClusterColumns(data)
    else:
        columns = columns_of(data) if sparse.issparse(data) else LocalColumns(data)
    return columns, float(columns.shape[0])
