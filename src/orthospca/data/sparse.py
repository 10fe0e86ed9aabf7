"""The columns of a sparse data matrix, which are centred without being filled.

With ``B = (X - 1μᵀ) / divisor`` the products with B follow from those with X: ``Q_ij`` is
``(x_iᵀx_j - m μ_i μ_j) / (divisor_i divisor_j)``.  Of a column with a share d of nonzeros,
``m μ² ≤ d ‖x‖²``, so at least ``1 - d`` of its square is left when it is centred.  The products err
by at most ``(1 + 3d) / (1 - d)`` times what they would if the columns were filled, which
``DataCovariance.relative_radius`` has room for if ``d ≤ ¼``.  Fuller columns are centred in full.
Data with more than a few nonzeros in a hundred entries are filled, a range of columns at a time: a
dense product is then the sooner done.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from orthospca._typing import Array, IntArray
from orthospca.data.columns import LocalColumns, Moments, not_finite
from orthospca.data.forming import (
    DENSE_SPEED,
    SPARSE_PIECE,
    GiveUp,
    by_columns,
    sparse_products,
    width_of,
)

#: Data with a larger share of nonzeros are multiplied sooner if they are filled.
SPARSE = 0.02
#: Columns with a larger share of nonzeros are kept in full.
FULLEST = 0.25


class FilledColumns(LocalColumns):
    """Columns of a sparse matrix that are filled, some at a time, to be multiplied.

    Parameters
    ----------
    data : csc_matrix
        Without duplicates.
    """

    def moments(self) -> Moments:
        """Moments of the data before they are prepared; ``ValueError`` if not finite."""
        m, n = self.shape
        if not np.isfinite(self.data.data).all():
            place = int(np.flatnonzero(~np.isfinite(self.data.data))[0])
            column = int(np.searchsorted(self.data.indptr, place, side="right")) - 1
            raise not_finite(self.data.data[place], self.data.indices[place], column)
        counts = np.diff(self.data.indptr)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.asarray(self.data.sum(axis=0)).ravel() / m
            squares = self._squares(mean)
        low, high = np.zeros(n), np.zeros(n)
        filled = np.flatnonzero(counts)
        if len(filled):
            starts = self.data.indptr[filled]
            low[filled] = np.minimum.reduceat(self.data.data, starts)
            high[filled] = np.maximum.reduceat(self.data.data, starts)
        zeros = counts < m
        low[zeros], high[zeros] = np.minimum(low[zeros], 0.0), np.maximum(high[zeros], 0.0)
        return Moments(mean, squares, low, high)

    def _squares(self, mean: Array) -> Array:
        """Sums of squared deviations: of the entries, and of the zeros that are not stored."""
        counts = np.diff(self.data.indptr)
        found = (self.shape[0] - counts) * mean**2
        filled = np.flatnonzero(counts)
        if len(filled):
            deviations = np.square(self.data.data - np.repeat(mean, counts))
            found[filled] += np.add.reduceat(deviations, self.data.indptr[filled])
        return found


class SparseColumns(FilledColumns):
    """Columns of a matrix with few nonzeros, multiplied without being filled."""

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        full = np.diff(self.data.indptr) > FULLEST * self.shape[0]
        self._full = np.flatnonzero(full)
        #: The place of a full column among them; -1 for the others.
        self._place = np.full(self.shape[1], -1, dtype=np.intp)
        self._place[self._full] = np.arange(len(self._full))

    def _fill(self) -> None:
        """Keep nothing: there are too many zeros."""

    @cached_property
    def _centred(self) -> Array:
        """The full columns."""
        return self.take(self._full)

    def diagonal(self) -> Array:
        """Return the diagonal of Q."""
        return np.asarray(self._squares(self.mean) / self.divisor**2)

    def cross(self, rows: IntArray, columns: IntArray) -> Array:
        """Return ``Q[rows][:, columns]``."""
        left, right = self.data[:, rows], self.data[:, columns]
        # Columns of columns: the product of few of them is all that is ever filled.
        product = (right.T @ left).T.toarray()
        product -= self.shape[0] * np.outer(self.mean[rows], self.mean[columns])
        product /= self.divisor[rows, None]
        product /= self.divisor[columns]
        full = np.flatnonzero(self._place[rows] >= 0)
        if len(full):
            samples = self._centred[:, self._place[rows[full]]]
            product[full] = self._products(right, columns, samples).T
        full = np.flatnonzero(self._place[columns] >= 0)
        if len(full):
            samples = self._centred[:, self._place[columns[full]]]
            product[:, full] = self._products(left, rows, samples)
        return np.asarray(product)

    @property
    def entries(self) -> int:
        """Numbers that a product with all columns reads; a sparse one takes longer."""
        return 8 * int(self.data.nnz) + self.shape[1]

    def cost(self, count: int) -> float:
        """About how many multiplications, of dense matrices, a submatrix of so many takes."""
        m, n = self.shape
        # As if the nonzeros were spread evenly over the rows; it is more if they are not.
        sparse_ones = m * (count / n * self.data.nnz / max(m, 1)) ** 2
        return 0.5 * min(m * float(count) ** 2, DENSE_SPEED * sparse_ones)

    def square(
        self, indices: IntArray, give_up: GiveUp, known: Array | None = None
    ) -> Array | None:
        """Return ``Q[indices][:, indices]``, exactly symmetric; None if it was given up."""
        k = len(indices)
        products = sparse_products(self.data[:, indices])
        if self.shape[0] * float(k) ** 2 <= DENSE_SPEED * products:
            # The columns asked for are fuller than the others, and multiplied sooner if filled.
            return super().square(indices, give_up, known)

        def cross(here: slice, rest: slice) -> Array:
            return self.cross(indices[here], indices[rest])

        return by_columns(cross, k, width_of(products, SPARSE_PIECE, k), give_up, known)

    def times(self, samples: Array) -> Array:
        """Return ``Bᵀ samples`` for a few vectors, shape (n, k)."""
        return self._products(self.data, np.arange(self.shape[1]), samples)

    def _products(self, data: Any, columns: IntArray, samples: Array) -> Array:
        """Products of some columns, of which these are the data, with a few vectors."""
        product = np.asarray(data.T @ samples)
        product -= np.outer(self.mean[columns], samples.sum(axis=0))
        product /= self.divisor[columns, None]
        full = np.flatnonzero(self._place[columns] >= 0)
        if len(full):
            product[full] = self._centred[:, self._place[columns[full]]].T @ samples
        return product


def columns_of(data: Any) -> LocalColumns:
    """Return the columns of a sparse matrix: filled where that is sooner multiplied."""
    matrix = sparse.csc_matrix(data, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    m, n = matrix.shape
    return (SparseColumns if matrix.nnz <= SPARSE * m * n else FilledColumns)(matrix)
