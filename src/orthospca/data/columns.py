"""The prepared columns of a data matrix, and the products that scan all of them.

With ``B = (X - mean) / divisor`` the covariance is ``Q = BᵀB``.  Where the data are decides where
its tiles are computed: :class:`LocalColumns` reads them into this process, and
:class:`orthospca.data.cluster.ClusterColumns` sends the work to the chunks of a Dask array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from orthospca._typing import AnyArray, Array, IntArray
from orthospca.data.forming import DENSE_PIECE, GiveUp, by_columns, width_of
from orthospca.data.tiles import (
    TILE,
    TILE_COLUMNS,
    Edges,
    Lists,
    Moments,
    dense,
    edges_of,
    keep_largest,
    largest_above,
    merge_largest,
    moments,
)

#: Columns read together when the data are scanned.
CHUNK = 4096
#: Prepared columns (centred, scaled) are kept in memory up to this many bytes.
LARGEST_COPY = 2**30


class Tiles(Protocol):
    """The search for the largest entries of rows, tile by tile.

    Attributes
    ----------
    parts_at_once : int
        Sets of rows that are looked at between two questions whether to stop.
    """

    parts_at_once: int

    def largest(self, parts: list[IntArray], count: int) -> list[tuple[AnyArray, AnyArray, int]]:
        """For each set of rows: the largest ``|Q_ij|``, j ≠ i, where they are; tiles computed.

        Rows with fewer than ``count`` of them are filled with zeros.
        """


class Columns(Protocol):
    """The columns of B, wherever they are."""

    shape: tuple[int, int]

    def moments(self) -> Moments:
        """Moments of the data before they are prepared; ``ValueError`` if not finite."""

    def prepare(self, mean: Array, divisor: Array) -> None:
        """Define B: everything below speaks of it."""

    def take(self, indices: IntArray) -> Array:
        """Return a few columns, shape (m, k)."""

    def diagonal(self) -> Array:
        """Return the diagonal of Q."""

    def cross(self, rows: IntArray, columns: IntArray) -> Array:
        """Return ``Q[rows][:, columns]``."""

    @property
    def entries(self) -> int:
        """Numbers that a product with all columns reads."""

    def cost(self, count: int) -> float:
        """About how many multiplications, of dense matrices, a submatrix of so many takes."""

    def square(self, indices: IntArray, give_up: GiveUp) -> Array | None:
        """Return ``Q[indices][:, indices]``, exactly symmetric; None if it was given up."""

    def times(self, samples: Array) -> Array:
        """Return ``Bᵀ samples`` for a few vectors, shape (n, k)."""

    def strongest(self, samples: Array, count: int) -> Lists:
        """Return the ``count`` largest ``|Bᵀ samples|`` of each vector, and where they are."""

    def edges(self, threshold: float, roots: Array) -> Iterator[Edges]:
        """Yield the pairs with ``|Q_ij| ≥ threshold``, each once, tile by tile.

        Tiles are skipped where ``roots[i] * roots[j]`` stays below the threshold.
        """

    def tiles(self, roots: Array, dtype: Any, n_jobs: int | None) -> Tiles:
        """Start a search for largest entries, with the square roots of the diagonal."""


class LocalColumns:
    """Columns that are read into this process and multiplied there.

    Parameters
    ----------
    data : ndarray, memory map, or anything that can be sliced by columns
    """

    def __init__(self, data: Any) -> None:
        self.data = data
        self.shape = (int(data.shape[0]), int(data.shape[1]))
        self._prepared: Array | None = None

    def chunks(self) -> Iterator[slice]:
        """Column ranges that are read together."""
        for start in range(0, self.shape[1], CHUNK):
            yield slice(start, min(start + CHUNK, self.shape[1]))

    def moments(self) -> Moments:
        """Moments of the data before they are prepared; ``ValueError`` if not finite."""
        found = [moments(self.data[:, part], 0, part.start) for part in self.chunks()]
        return Moments.side_by_side(found)

    def prepare(self, mean: Array, divisor: Array) -> None:
        """Define B, and keep it in memory if it is small enough."""
        self.mean, self.divisor = mean, divisor
        size = self.shape[0] * self.shape[1] * 8
        if size <= LARGEST_COPY:
            self._prepared = np.concatenate([self.take(part) for part in self.chunks()], axis=1)

    def take(self, indices: IntArray | slice) -> Array:
        """Return a few columns, shape (m, k)."""
        if self._prepared is not None:
            return self._prepared[:, indices]
        return (dense(self.data[:, indices]) - self.mean[indices]) / self.divisor[indices]

    def diagonal(self) -> Array:
        """Return the diagonal of Q."""
        parts = (self.take(part) for part in self.chunks())
        return np.concatenate([np.einsum("ij,ij->j", B, B) for B in parts])

    def cross(self, rows: IntArray, columns: IntArray) -> Array:
        """Return ``Q[rows][:, columns]``."""
        left = self.take(rows)
        return left.T @ (left if rows is columns else self.take(columns))

    @property
    def entries(self) -> int:
        """Numbers that a product with all columns reads."""
        return self.shape[0] * self.shape[1]

    def cost(self, count: int) -> float:
        """About how many multiplications, of dense matrices, a submatrix of so many takes."""
        return 0.5 * self.shape[0] * float(count) ** 2

    def square(self, indices: IntArray, give_up: GiveUp) -> Array | None:
        """Return ``Q[indices][:, indices]``, exactly symmetric; None if it was given up."""
        m, k = self.shape[0], len(indices)
        width = width_of(float(m) * k * k, DENSE_PIECE, k)
        if width == k:
            product = None if give_up(0.0) else self.cross(indices, indices)
            return None if product is None else 0.5 * (product + product.T)
        everything = k == self.shape[1] and bool((indices == np.arange(k)).all())
        B = self.take(slice(0, k) if everything else indices)
        return by_columns(lambda here, rest: B[:, here].T @ B[:, rest], k, width, give_up)

    def times(self, samples: Array) -> Array:
        """Return ``Bᵀ samples`` for a few vectors, shape (n, k)."""
        return np.vstack([self.take(part).T @ samples for part in self.chunks()])

    def strongest(self, samples: Array, count: int) -> Lists:
        """Return the ``count`` largest ``|Bᵀ samples|`` of each vector, and where they are."""
        rows = np.ascontiguousarray(samples.T)
        values = np.hstack([rows @ self.take(part) for part in self.chunks()])
        np.abs(values, out=values)
        return keep_largest(values, np.broadcast_to(np.arange(self.shape[1]), values.shape), count)

    def edges(self, threshold: float, roots: Array) -> Iterator[Edges]:
        """Yield the pairs with ``|Q_ij| ≥ threshold``, each once, tile by tile.

        Columns are taken by falling variance, so that the rest of a row of tiles is skipped as
        soon as one is ruled out.
        """
        order = np.argsort(-roots, kind="stable")
        for a in range(0, len(order), TILE):
            rows = order[a : a + TILE]
            left = self.take(rows).T
            for b in range(a, len(order), TILE):
                columns = order[b : b + TILE]
                if roots[rows[0]] * roots[columns[0]] < threshold:
                    break
                i, j, values = edges_of(left @ self.take(columns), threshold, a == b)
                yield rows[i], columns[j], values

    def tiles(self, roots: Array, dtype: Any, n_jobs: int | None) -> Tiles:
        """Start a search for largest entries, with the square roots of the diagonal."""
        return LocalTiles(self, roots, dtype, n_jobs)


class LocalTiles:
    """Tiles computed in this process, in threads over sets of rows."""

    def __init__(self, columns: Columns, roots: Array, dtype: Any, n_jobs: int | None) -> None:
        self.columns = columns
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.parts_at_once = effective_n_jobs(n_jobs)
        self.order = np.argsort(-roots, kind="stable")
        self._roots = roots
        self._place = np.empty(len(roots), dtype=np.intp)
        self._place[self.order] = np.arange(len(roots))
        self._by_variance: AnyArray | None = None

    def largest(self, parts: list[IntArray], count: int) -> list[tuple[AnyArray, AnyArray, int]]:
        """For each set of rows: the largest ``|Q_ij|``, j ≠ i, where they are; tiles computed."""
        if self._by_variance is None:
            self._by_variance = self._sorted_copy()
        with Parallel(n_jobs=self.n_jobs, backend="threading") as pool:
            return list(pool(delayed(self._collect)(part, count) for part in parts))

    def _sorted_copy(self) -> AnyArray | None:
        """Return the data by falling variance: picking columns anew for each tile costs more."""
        m, n = self.columns.shape
        if n * m * 8 > LARGEST_COPY:
            return None
        copy = np.empty((m, n), dtype=self.dtype)
        for start in range(0, n, TILE_COLUMNS):
            part = slice(start, start + TILE_COLUMNS)
            copy[:, part] = self.columns.take(self.order[part])
        return copy

    def _columns(self, part: slice) -> AnyArray:
        if self._by_variance is not None:
            return self._by_variance[:, part]
        return self.columns.take(self.order[part]).astype(self.dtype, copy=False)

    def _tiles_of(self, rows: IntArray) -> Callable[[slice], AnyArray]:
        """Return what makes tiles of some rows, given a range of columns by falling variance."""
        B = np.ascontiguousarray(self.columns.take(rows).T, dtype=self.dtype)
        return lambda part: B @ self._columns(part)

    def _collect(self, rows: IntArray, count: int) -> tuple[AnyArray, AnyArray, int]:
        tile_of = self._tiles_of(rows)
        places = self._place[rows]
        values = np.zeros((len(rows), count), dtype=self.dtype)
        indices = np.zeros((len(rows), count), dtype=np.int32)
        smallest = np.full(len(rows), -1.0, dtype=self.dtype)
        largest_root = float(self._roots[rows].max())
        tiles = 0
        for start in range(0, len(self.order), TILE_COLUMNS):
            columns = self.order[start : start + TILE_COLUMNS]
            if largest_root * self._roots[columns[0]] <= float(smallest.min()):
                break  # columns come by falling variance: nothing larger is left
            tile = np.abs(tile_of(slice(start, start + TILE_COLUMNS)))
            own = np.flatnonzero((places >= start) & (places < start + TILE_COLUMNS))
            tile[own, places[own] - start] = -1.0  # entries (i, i) do not count
            fresh, labels = largest_above(tile, columns, smallest, count)
            merge_largest(values, indices, smallest, fresh, labels)
            tiles += 1
        return values, indices, tiles
