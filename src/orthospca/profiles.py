"""The largest entries of each row of a covariance that is never formed in full.

Screening needs of a row only its largest magnitudes and where they are.  They are collected tile by
tile, one matrix product each; tiles that ``|Q_ij| ≤ √(Q_ii Q_jj)`` rules out are skipped, and so
are rows that no caller has asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from orthospca._typing import AnyArray, Array, BoolArray, IntArray
from orthospca.covariance import LARGEST_COPY, DataCovariance

#: Rows and columns of a tile.
TILE_ROWS = 512
TILE_COLUMNS = 4096
#: Largest variances for which single precision is used.  Outside them its products may overflow, or
#: vanish where the relative error that is accounted for says that they do not.
SINGLE_RANGE = (2.0**-60, 2.0**60)


class RowProfiles:
    """The ``count`` largest ``|Q_ij|``, j ≠ i, of the rows asked for.

    Parameters
    ----------
    covariance : DataCovariance
    count : int
        Entries kept in each row.
    single : bool
        Compute the tiles in single precision, if it can hold the products;
        :attr:`relative_radius` accounts for it.
    n_jobs : int, optional
        Threads over tiles of rows.

    Attributes
    ----------
    known : boolean array
        Rows whose entries have been collected.
    values : array of shape (n, count)
        Largest magnitudes, in no order; zero where there are none.
    indices : integer array of shape (n, count)
    tail : array of shape (n,)
        No entry that is not in the list is larger.
    """

    def __init__(
        self,
        covariance: DataCovariance,
        count: int,
        *,
        single: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        n = covariance.n_features
        self.covariance = covariance
        self.count = min(count, n)
        self.n_jobs = n_jobs
        smallest, largest = SINGLE_RANGE
        single = single and smallest <= float(covariance.diagonal.max()) <= largest
        self.dtype: Any = np.float32 if single else np.float64
        self.known = np.zeros(n, dtype=bool)
        self.values = np.zeros((n, self.count), dtype=self.dtype)
        self.indices = np.zeros((n, self.count), dtype=np.int32)
        self.tail = np.zeros(n)
        self.order = np.argsort(-covariance.diagonal, kind="stable")
        self.tiles_done = 0
        self._roots = np.sqrt(covariance.diagonal)
        self._place = np.empty(n, dtype=np.intp)
        self._place[self.order] = np.arange(n)
        self._by_variance: AnyArray | None = None

    @property
    def relative_radius(self) -> float:
        """Error of a stored value, relative to ``√(Q_ii Q_jj)``."""
        unit = float(np.finfo(self.dtype).eps)
        return 2 * (self.covariance.n_samples + 8) * unit

    def ensure(self, rows: IntArray, stop: Callable[[], bool] | None = None) -> bool:
        """Collect the entries of ``rows``; False if it was stopped before all were there."""
        missing = rows[~self.known[rows]]
        if len(missing) > TILE_ROWS and self._by_variance is None:
            self._by_variance = self._sorted_copy()
        # Rows of similar variance together: their tiles can be skipped together.
        missing = missing[np.argsort(-self._roots[missing], kind="stable")]
        parts = [missing[a : a + TILE_ROWS] for a in range(0, len(missing), TILE_ROWS)]
        with Parallel(n_jobs=self.n_jobs, backend="threading") as pool:
            step = 16
            for start in range(0, len(parts), step):
                if stop is not None and stop():
                    return False
                found = pool(delayed(self._collect)(part) for part in parts[start : start + step])
                for part, (values, indices, tiles) in zip(
                    parts[start : start + step], found, strict=True
                ):
                    self.values[part], self.indices[part] = values, indices
                    self.tail[part] = values.min(axis=1)
                    self.known[part] = True
                    self.tiles_done += tiles
        return True

    def _sorted_copy(self) -> AnyArray | None:
        """Return the data by falling variance: picking columns anew for each tile costs more."""
        n = self.covariance.n_features
        if n * self.covariance.n_samples * 8 > LARGEST_COPY:
            return None
        copy = np.empty((self.covariance.n_samples, n), dtype=self.dtype)
        for start in range(0, n, TILE_COLUMNS):
            part = slice(start, start + TILE_COLUMNS)
            copy[:, part] = self.covariance.columns(self.order[part])
        return copy

    def _columns(self, part: slice) -> AnyArray:
        if self._by_variance is not None:
            return self._by_variance[:, part]
        return self.covariance.columns(self.order[part]).astype(self.dtype, copy=False)

    def _collect(self, rows: IntArray) -> tuple[AnyArray, AnyArray, int]:
        B = np.ascontiguousarray(self.covariance.columns(rows).T, dtype=self.dtype)
        places = self._place[rows]
        values = np.zeros((len(rows), self.count), dtype=self.dtype)
        indices = np.zeros((len(rows), self.count), dtype=np.int32)
        smallest = np.full(len(rows), -1.0, dtype=self.dtype)
        largest_root = float(self._roots[rows].max())
        tiles = 0
        n = self.covariance.n_features
        for start in range(0, n, TILE_COLUMNS):
            columns = self.order[start : start + TILE_COLUMNS]
            if largest_root * self._roots[columns[0]] <= float(smallest.min()):
                break  # columns come by falling variance: nothing larger is left
            tile = B @ self._columns(slice(start, start + TILE_COLUMNS))
            np.abs(tile, out=tile)
            own = np.flatnonzero((places >= start) & (places < start + TILE_COLUMNS))
            tile[own, places[own] - start] = -1.0  # entries (i, i) do not count
            merge_largest(values, indices, smallest, tile, columns)
            tiles += 1
        return values, indices, tiles


def merge_largest(
    values: AnyArray, indices: AnyArray, smallest: AnyArray, tile: AnyArray, columns: IntArray
) -> None:
    """Merge a tile into the lists of largest entries, in place.

    Only the entries above the smallest one kept are looked at: after the first tiles they are few.
    """
    count = values.shape[1]
    above: BoolArray = tile > smallest[:, None]
    rows, places = np.divmod(np.flatnonzero(above), tile.shape[1])
    if len(rows) == 0:
        return
    counts = np.bincount(rows, minlength=len(tile))
    width = int(counts.max())
    if width > 8 * count:
        # The first tile: everything is new, and partitioning it is cheaper than listing it.
        keep = min(count, tile.shape[1])
        at = np.argpartition(tile, tile.shape[1] - keep, axis=1)[:, tile.shape[1] - keep :]
        fresh = np.take_along_axis(tile, at, axis=1)
        labels = columns[at]
    else:
        offsets = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        fresh = np.full((len(tile), width), -1.0, dtype=tile.dtype)
        labels = np.zeros((len(tile), width), dtype=np.int64)
        fresh[rows, offsets] = tile[rows, places]
        labels[rows, offsets] = columns[places]
    merged = np.hstack([values, fresh])
    names = np.hstack([indices, labels.astype(np.int32)])
    at = np.argpartition(merged, merged.shape[1] - count, axis=1)[:, merged.shape[1] - count :]
    values[:] = np.maximum(np.take_along_axis(merged, at, axis=1), 0.0)
    indices[:] = np.take_along_axis(names, at, axis=1)
    smallest[:] = values.min(axis=1)


def potential(diagonal: Array, size: int) -> Array:
    """``Q_ii + √Q_ii · (size - 1 largest √Q_jj, j ≠ i)``: a bound that needs no product at all."""
    roots = np.sqrt(diagonal)
    top = np.sort(roots)[::-1][:size]
    others = float(top.sum()) - np.where(roots >= top[-1], roots, top[-1])
    # Rounded up: sums of at most `size` square roots.
    return (diagonal + roots * others) * (1 + 64 * size * math.ulp(1.0))
