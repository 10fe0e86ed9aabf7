"""Tests of the largest sums over supports against all supports."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from orthospca.numerics.sums import sums_with_each


def test_sums_of_costs() -> None:
    """Tests the largest sums over all supports with each index."""
    rng = np.random.default_rng(0)
    for _ in range(1500):
        n = int(rng.integers(1, 8))
        size = int(rng.integers(1, n + 2))
        costs = rng.integers(0, 6, size=n).astype(float)
        with_each = sums_with_each(costs, size)
        sums = {T: costs[list(T)].sum() for T in combinations(range(n), min(size, n))}
        for i in range(n):
            assert with_each[i] == max(v for T, v in sums.items() if i in T)
