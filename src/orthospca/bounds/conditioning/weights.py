"""Weighted row sums: a bound on spectral radii that knows how many columns a row can use.

For positive weights v, the spectral radius of a nonnegative matrix is at most the largest
``Σ_j A_ij v_j / v_i`` over its rows (Collatz and Wielandt).  In a submatrix of r indices row i has
at most r - 1 terms off the diagonal, so its r - 1 largest bound it whatever the submatrix.  The
best weights are the fixed point of a power iteration with such sums, and any weights are valid.

See ``docs/theory/conditioning.md``.
"""

from __future__ import annotations

import numpy as np

from orthospca._typing import Array, BoolArray
from orthospca.numerics.rounding import relative_error

#: Weights below this share of the largest are raised to it.
SMALLEST_WEIGHT = 1e-9


class WeightedRows:
    """Rows of ``A = |W|`` with weights, to prove ``ρ(A_R) < 1`` for every R of ``size`` indices.

    Parameters
    ----------
    magnitudes : array of shape (m, m)
        A, with zeros on its diagonal; it may err by a few units in the last place.
    size : int
        Largest size of R, at least 2.
    rounds : int
        Power iterations that the weights are given.

    Attributes
    ----------
    closed : bool
        Whether that is proved for all of them.
    """

    def __init__(self, magnitudes: Array, size: int, rounds: int) -> None:
        m = len(magnitudes)
        self._magnitudes = magnitudes
        self._count = min(size - 1, m - 1)
        # Entries, products and sums err by a few units each; below this they prove ρ < 1.
        self._limit = 1 - relative_error(8 * size + 60)
        self._weights = np.ones(m)
        self._sums = np.zeros(m)
        self.closed = False
        for k in range(rounds):
            if k:
                self._weights = np.maximum(self._sums / self._sums.max(), SMALLEST_WEIGHT)
            self._look()
            if (self._sums < self._limit * self._weights).all():
                self.closed = True
                return

    def _look(self) -> None:
        """Add up the largest products of each row; keep them, and the next one before them."""
        m, count = len(self._magnitudes), self._count
        self._products = self._magnitudes * self._weights
        ordered = self._products.copy()
        # The one that is next after those in the sum is the row's own zero if all others are in.
        ordered.partition(m - count - 1, axis=1)
        self._largest, self._next = ordered[:, m - count :], ordered[:, m - count - 1]
        self._sums = self._largest.sum(axis=1)

    def stays(self) -> BoolArray:
        """Whether an R with ``ρ(A_R) ≥ 1`` can contain each index.

        It cannot if, with a weight of its own that keeps its row below 1, every other row that has
        to share its sum with it stays below 1.
        """
        own = self._sums / self._limit * (1 + relative_error(4))
        others = np.maximum(self._sums - self._largest.min(axis=1), 0.0)
        others += relative_error(self._count + 4) * self._sums
        fits = others[:, None] + self._magnitudes * own < self._limit * self._weights[:, None]
        np.fill_diagonal(fits, True)
        return np.asarray(~fits.all(axis=0))

    def forced(self) -> BoolArray:
        """Whether every R with ``ρ(A_R) ≥ 1`` contains each index.

        It does if all other rows stay below 1 without it.
        """
        in_sum = self._products > self._next[:, None]
        without = self._sums[:, None] - np.where(in_sum, self._products - self._next[:, None], 0.0)
        without += relative_error(self._count + 4) * self._sums[:, None]
        fits = without < self._limit * self._weights[:, None]
        np.fill_diagonal(fits, True)
        return np.asarray(fits.all(axis=0))
