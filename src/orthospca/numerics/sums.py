"""Largest sums over supports: the combinatorics that every separable bound shares.

A support has ``size`` indices.  Sums are over numbers ≥ 0 where a maximum over smaller supports is
meant too.
"""

from __future__ import annotations

import numpy as np

from orthospca._typing import Array

#: Entries worked on at once: they then stay in the cache.
CHUNK = 2**17


def strongest_sums(matrix: Array, count: int) -> Array:
    """Sum of the ``count`` largest off-diagonal magnitudes of each row."""
    n = len(matrix)
    count = min(count, n - 1)
    if count <= 0:
        return np.zeros(n)
    sums = np.empty(n)
    step = max(CHUNK // n, 1)
    for start in range(0, n, step):
        magnitudes = np.abs(matrix[start : start + step])
        rows = np.arange(len(magnitudes))
        magnitudes[rows, rows + start] = 0.0
        if count < n - 1:
            magnitudes.partition(n - count, axis=1)
            magnitudes = magnitudes[:, n - count :]
        sums[start : start + step] = magnitudes.sum(axis=1)
    return sums


def sums_with_each(costs: Array, size: int) -> Array:
    """Return, for each index, the largest sum over supports that contain it.

    Parameters
    ----------
    costs : array
    size : int
        Size of a support.
    """
    ordered = np.sort(costs)[::-1]
    # An index outside the best support takes the place of its cheapest member.  Added up anew: the
    # difference of large sums would lose the digits of small ones.
    best, others = float(ordered[:size].sum()), float(ordered[: size - 1].sum())
    return np.minimum(best, others + costs)
