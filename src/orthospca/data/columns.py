"""The prepared columns of a data matrix, and the products that scan all of them.

With ``B = (X - mean) / divisor`` the covariance is ``Q = BᵀB``.  Where the data are decides where
its parts are computed: :class:`LocalColumns` reads them into this process, a range of columns at a
time, and fills those of a sparse matrix; :class:`orthospca.data.sparse.SparseColumns` multiplies
without filling; :class:`orthospca.data.cluster.ClusterColumns` leaves the work to Dask.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from orthospca._errors import InputError
from orthospca._typing import AnyArray, Array, BoolArray, IntArray
from orthospca.data.forming import DENSE_PIECE, NARROWEST, GiveUp, by_columns, width_of

#: Columns read together when the data are scanned, and entries of them.
CHUNK, CHUNK_ENTRIES = 4096, 2**24
#: Prepared columns (centred, scaled) are kept in memory up to this many bytes.
LARGEST_COPY = 2**30
#: Rows and columns of a tile of the thresholded graph.
TILE = 2048

#: Both ends and the entry of each edge.
Edges = tuple[IntArray, IntArray, AnyArray]


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean, sum of squared deviations and range of each column.

    Attributes
    ----------
    mean, squares, low, high : array
    """

    mean: Array
    squares: Array
    low: Array
    high: Array


class LocalColumns:
    """The columns of B, read into this process and multiplied there.

    Wherever else they are, there is a class with the same methods.

    Parameters
    ----------
    data : ndarray, memory map, sparse matrix, or anything that can be sliced by columns
    weights : array, optional
        How often each sample counts: the rows of B are multiplied by the roots.
    """

    def __init__(self, data: Any, weights: Array | None = None) -> None:
        self.data = data
        self.weights = weights
        self.shape = (int(data.shape[0]), int(data.shape[1]))
        self._prepared: Array | None = None

    def chunks(self) -> Iterator[slice]:
        """Column ranges that are read together."""
        step = min(max(CHUNK_ENTRIES // max(self.shape[0], 1), 1), CHUNK)
        for start in range(0, self.shape[1], step):
            yield slice(start, min(start + step, self.shape[1]))

    def moments(self) -> Moments:
        """Moments of the data before they are prepared; ``ValueError`` if not finite."""
        found = [
            _moments(dense(self.data[:, part]), self.weights, part.start) for part in self.chunks()
        ]
        return Moments(*(np.concatenate(each) for each in zip(*found, strict=True)))

    def prepare(self, mean: Array, divisor: Array) -> None:
        """Define B."""
        self.mean, self.divisor = mean, divisor
        self._fill()

    def _fill(self) -> None:
        """Keep B in memory if it is small enough."""
        if self._prepared is None and self.shape[0] * self.shape[1] * 8 <= LARGEST_COPY:
            prepared = np.empty(self.shape, order="F")
            for part in self.chunks():
                self._read(part, prepared[:, part])
            self._prepared = prepared

    def take(self, indices: IntArray | slice) -> Array:
        """Return a few columns, shape (m, k)."""
        return self._read(indices) if self._prepared is None else self._prepared[:, indices]

    def _read(self, indices: IntArray | slice, out: Array | None = None) -> Array:
        """Prepare a few columns."""
        columns = np.subtract(dense(self.data[:, indices]), self.mean[indices], out=out)
        columns /= self.divisor[indices]
        if self.weights is not None:
            columns *= np.sqrt(self.weights)[:, None]
        return columns

    def diagonal(self) -> Array:
        """Return the diagonal of Q."""
        parts = (self.take(part) for part in self.chunks())
        return np.concatenate([np.einsum("ij,ij->j", B, B) for B in parts])

    def cross(self, rows: IntArray, columns: IntArray) -> Array:
        """Return ``Q[rows][:, columns]``."""
        return self.take(rows).T @ self.take(columns)

    @property
    def entries(self) -> int:
        """Numbers that a product with all columns reads."""
        return self.shape[0] * self.shape[1]

    def cost(self, count: int) -> float:
        """About how many multiplications, of dense matrices, a submatrix of so many takes."""
        return 0.5 * self.shape[0] * float(count) ** 2

    def square(
        self, indices: IntArray, give_up: GiveUp, known: Array | None = None
    ) -> Array | None:
        """Return ``Q[indices][:, indices]``, exactly symmetric; None if it was given up."""
        m, k = self.shape[0], len(indices)
        width = max(width_of(float(m) * k * k, DENSE_PIECE, k), min(NARROWEST, k), 1)
        if m * k * 8 <= LARGEST_COPY:
            everything = k == self.shape[1] and bool((indices == np.arange(k)).all())
            if everything:
                self._fill()
            B = self.take(slice(0, k) if everything else indices)
            found = by_columns(
                lambda here, rest: B[:, here].T @ B[:, rest], k, width, give_up, known
            )
            if k == self.shape[1] and found is not None:
                # With the whole of Q there is hardly a use for B, and what it takes is needed.
                self._prepared = None
            return found
        # Columns are read, and those of sparse data filled, once for each piece: it is a large one.
        width = max(width, LARGEST_COPY // (16 * m), 1)

        def cross(here: slice, rest: slice) -> Array:
            left, right = self.take(indices[here]).T, indices[rest]
            steps = range(0, len(right), width)
            return np.hstack([left @ self.take(right[b : b + width]) for b in steps])

        return by_columns(cross, k, width, give_up, known)

    def times(self, samples: Array) -> Array:
        """Return ``Bᵀ samples`` for a few vectors, shape (n, k)."""
        self._fill()
        # Row by row it is twice as fast as column by column.
        rows = np.ascontiguousarray(samples.T)
        return np.hstack([rows @ self.take(part) for part in self.chunks()]).T

    def edges(self, threshold: float, roots: Array) -> Iterator[Edges]:
        """Yield the pairs with ``|Q_ij| ≥ threshold``, each once, tile by tile."""
        for rows, columns in tiles_of(roots, threshold):
            i, j, values = edges_of(self.cross(rows, columns), threshold, rows is columns)
            yield rows[i], columns[j], values


def is_constant(variance: Array, mean: Array, n_samples: int) -> BoolArray:
    """Whether a variance is nothing but the rounding error of its computation."""
    rounding = n_samples * np.finfo(np.float64).eps
    return np.asarray(variance <= rounding * variance + (rounding * mean) ** 2)


def dense(part: Any) -> Array:
    """Return a piece of data as an ndarray of doubles."""
    return np.asarray(part.toarray(order="F") if sparse.issparse(part) else part, dtype=float)


def tiles_of(roots: Array, threshold: float) -> list[tuple[IntArray, IntArray]]:
    """Return tiles with all pairs whose roots of variances leave room for such an entry."""
    order = np.argsort(-roots, kind="stable")
    parts = [order[start : start + TILE] for start in range(0, len(order), TILE)]
    pairs = itertools.combinations_with_replacement(parts, 2)
    return [(a, b) for a, b in pairs if roots[a[0]] * roots[b[0]] >= threshold]


def edges_of(tile: AnyArray, threshold: float, diagonal: bool) -> Edges:
    """Return the places of edges in a tile; each pair once if it is a tile on the diagonal."""
    kept = (np.abs(tile) >= threshold) & (tile != 0)
    if diagonal:
        kept = np.triu(kept, 1)
    i, j = np.nonzero(kept)
    return i, j, tile[i, j]


def not_finite(value: Any, row: int, column: int) -> InputError:
    """What is said of data with such an entry."""
    return InputError(f"data must be finite, got {value} at row {row}, column {column}")


def _moments(
    values: Array, weights: Array | None, first_column: int
) -> tuple[Array, Array, Array, Array]:
    """Mean, squares, smallest and largest entry of some columns."""
    finite = np.isfinite(values)
    if not finite.all():
        i, j = np.argwhere(~finite)[0]
        raise not_finite(values[i, j], i, first_column + j)
    with np.errstate(over="ignore", invalid="ignore"):
        if weights is None:
            mean = values.mean(axis=0)
            squares = np.square(values - mean).sum(axis=0)
        else:
            mean = weights @ values / weights.sum()
            squares = weights @ np.square(values - mean)
    return mean, squares, values.min(axis=0), values.max(axis=0)
