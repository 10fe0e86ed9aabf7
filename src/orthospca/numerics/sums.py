"""Largest sums over supports: the combinatorics that every separable bound shares.

A support has ``size`` indices and contains the included ones.  Sums are over numbers ≥ 0 where a
maximum over smaller supports is meant too.
"""

from __future__ import annotations

import math

import numpy as np

from orthospca._typing import Array, BoolArray

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


def best_sums(costs: Array, inside: BoolArray, size: int) -> tuple[float, Array]:
    """Return the largest sum over a support, and the largest over supports with each index.

    Parameters
    ----------
    costs : array
    inside : boolean array
        Indices that every support contains.
    size : int
        Size of a support.
    """
    base = float(costs[inside].sum())
    free = costs[~inside]
    room = min(size - int(np.count_nonzero(inside)), len(free))
    if room <= 0:
        return base, np.where(inside, base, -math.inf)
    ordered = np.sort(free)[::-1]
    total = base + float(ordered[:room].sum())
    # An index outside the best support takes the place of its cheapest member.  Added up anew: the
    # difference of large sums would lose the digits of small ones.
    with_each = np.minimum(total, base + float(ordered[: room - 1].sum()) + costs)
    return total, np.where(inside, total, with_each)
