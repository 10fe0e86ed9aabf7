"""The largest entries of each row of a covariance that is never formed in full.

Screening needs of a row only its largest magnitudes and where they are.  They are collected tile by
tile, one matrix product each; tiles that ``|Q_ij| ≤ √(Q_ii Q_jj)`` rules out are skipped, and so
are rows that no caller has asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.data.covariance import DataCovariance
from orthospca.numerics.rounding import raised

#: Rows of a tile.
TILE_ROWS = 512
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
        Threads over tiles of rows; of a Dask array the tiles are the scheduler's matter.

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
        smallest, largest = SINGLE_RANGE
        single = single and smallest <= float(covariance.diagonal.max()) <= largest
        self.dtype: Any = np.float32 if single else np.float64
        self.known = np.zeros(n, dtype=bool)
        self.values = np.zeros((n, self.count), dtype=self.dtype)
        self.indices = np.zeros((n, self.count), dtype=np.int32)
        self.tail = np.zeros(n)
        self.tiles_done = 0
        self._roots = np.sqrt(covariance.diagonal)
        self._tiles = covariance.source.tiles(self._roots, self.dtype, n_jobs)

    @property
    def relative_radius(self) -> float:
        """Error of a stored value, relative to ``√(Q_ii Q_jj)``."""
        unit = float(np.finfo(self.dtype).eps)
        return 2 * (self.covariance.n_samples + 8) * unit

    def ensure(self, rows: IntArray, stop: Callable[[], bool] | None = None) -> bool:
        """Collect the entries of ``rows``; False if it was stopped before all were there."""
        missing = rows[~self.known[rows]]
        # Rows of similar variance together: their tiles can be skipped together.
        missing = missing[np.argsort(-self._roots[missing], kind="stable")]
        parts = [missing[a : a + TILE_ROWS] for a in range(0, len(missing), TILE_ROWS)]
        step = self._tiles.parts_at_once
        for start in range(0, len(parts), step):
            if stop is not None and stop():
                return False
            batch = parts[start : start + step]
            found = self._tiles.largest(batch, self.count)
            for part, (values, indices, tiles) in zip(batch, found, strict=True):
                self.values[part], self.indices[part] = values, indices
                self.tail[part] = values.min(axis=1)
                self.known[part] = True
                self.tiles_done += tiles
        return True


def potential(roots: Array, size: int) -> Array:
    """``Q_ii + √Q_ii · (size - 1 largest √Q_jj, j ≠ i)``: a bound that needs no product at all.

    Parameters
    ----------
    roots : array
        The roots of the variances, or bounds on them.
    size : int
        Size of a support.
    """
    top = np.sort(roots)[::-1][:size]
    others = float(top.sum()) - np.where(roots >= top[-1], roots, top[-1])
    # Rounded up: sums of at most `size` square roots.
    return raised(roots * (roots + others), 2 * size + 4)
