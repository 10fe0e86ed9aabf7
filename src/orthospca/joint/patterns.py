"""The sets of features that components of a joint problem may use.

A pattern is the set of features on which a vector is not zero, so patterns of all sizes up to the
sparsity are listed.  They are kept as rows of one array; short ones are filled up with features
that are not there, whose diagonal is far below every value, so that all are worked on in one sweep.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from orthospca._typing import Array, BoolArray, IntArray
from orthospca.numerics.rigor import proved_below_stacked
from orthospca.numerics.rounding import lowered

#: Matrices whose eigenvalues are computed, or bounded, at once.
AT_ONCE = 20_000


def count_patterns(n: int, largest: int) -> int:
    """Number of sets of at most so many of n features, the empty one left out."""
    return sum(math.comb(n, size) for size in range(1, min(n, largest) + 1))


def filled_up(rows: IntArray, n: int, width: int) -> IntArray:
    """Return sets of one size, filled up with features that are not there."""
    filling = np.arange(n, n + width - rows.shape[1])
    return np.hstack([rows, np.broadcast_to(filling, (len(rows), len(filling)))])


def extended(A: Array, width: int) -> Array:
    """Return the matrix with rows for the features that are not there."""
    n = len(A)
    size = float(np.abs(A).max(initial=0.0))
    larger = np.zeros((n + width, n + width))
    larger[:n, :n] = A
    # Below -λ of every submatrix, so that the largest eigenvalue is that of the features.
    np.fill_diagonal(larger[n:, n:], -4.0 * width * size - 1e-300)
    return larger


class Patterns:
    """Many sets of features, each of at most ``width``.

    Parameters
    ----------
    n : int
        Features there are.
    rows : sequence of integer arrays of shape (count, size)
        The sets, by size.

    Attributes
    ----------
    index : integer array of shape (N, width)
        Numbers from n on stand for features that are not there.
    sizes : integer array of shape (N,)
    """

    def __init__(self, n: int, rows: Sequence[IntArray]) -> None:
        self.n = n
        self.width = max((part.shape[1] for part in rows), default=1)
        self.index: IntArray = np.vstack(
            [np.zeros((0, self.width), np.intp), *(filled_up(part, n, self.width) for part in rows)]
        )
        self.sizes: IntArray = np.count_nonzero(self.index < n, axis=1)

    @classmethod
    def all_of(cls, n: int, largest: int) -> Patterns:
        """Every set of at most so many features."""
        rows = []
        for size in range(1, min(n, largest) + 1):
            flat = itertools.chain.from_iterable(itertools.combinations(range(n), size))
            rows.append(np.fromiter(flat, np.intp).reshape(-1, size))
        return cls(n, rows)

    @classmethod
    def within(cls, n: int, sets: Iterable[Iterable[int]]) -> Patterns:
        """The given sets."""
        by_size: dict[int, list[tuple[int, ...]]] = {}
        for members in sorted({tuple(sorted(members)) for members in sets}):
            by_size.setdefault(len(members), []).append(members)
        return cls(n, [np.array(by_size[size], dtype=np.intp) for size in sorted(by_size)])

    def __len__(self) -> int:
        return len(self.index)

    @cached_property
    def inside(self) -> BoolArray:
        """Which features each set has, of shape (N, n)."""
        table = np.zeros((len(self), self.n + self.width), dtype=bool)
        np.put_along_axis(table, self.index, True, axis=1)
        return np.ascontiguousarray(table[:, : self.n])

    def members(self, i: int) -> IntArray:
        """The features of one set."""
        return self.index[i, : self.sizes[i]]

    def values(self, A: Array, which: IntArray, prices: Array) -> Array:
        """Largest eigenvalue of A on each of some sets, less what its features cost."""
        larger, index = extended(A, self.width), self.index[which]
        found = np.empty(len(which))
        for start in range(0, len(which), AT_ONCE):
            rows = index[start : start + AT_ONCE]
            matrices = larger[rows[:, :, None], rows[:, None, :]]
            found[start : start + AT_ONCE] = np.linalg.eigvalsh(matrices)[:, -1]
        return found - self.inside[which] @ prices

    def proved_below(self, A: Array, which: IntArray, threshold: float, prices: Array) -> BoolArray:
        """Where it is proved that ``λmax(A on S) < threshold + (the prices of S)``."""
        inside = self.inside[which]
        sizes = inside @ np.abs(prices) + abs(threshold)
        levels = lowered(
            np.asarray(inside @ prices + threshold, float), self.n, np.asarray(sizes, float)
        )
        larger, index = extended(A, self.width), self.index[which]
        proved = np.empty(len(which), dtype=bool)
        for start in range(0, len(which), AT_ONCE):
            rows = index[start : start + AT_ONCE].T
            stack = larger[rows[:, None, :], rows[None, :, :]]
            part = levels[start : start + AT_ONCE]
            proved[start : start + AT_ONCE] = proved_below_stacked(stack, part, 0.0)
        return proved
