"""Sets of components on disjoint blocks of features, improved by moves and exchanges of features.

Components on disjoint blocks are orthogonal whatever their loadings, and so are eigenvectors
of one block.  For a division of the features into blocks of at most p, the best set is that of the
K largest eigenvalues of all blocks: cheap to evaluate, and often close to the best set of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from orthospca._typing import Array

Block = frozenset[int]


def best_blocks(
    Q: Array, size: int, count: int, rng: np.random.Generator, stop: Callable[[], bool]
) -> list[Array]:
    """Return ``count`` orthonormal vectors on blocks of at most ``size`` features.

    Parameters
    ----------
    Q : array of shape (n, n)
    size, count : int
    rng : Generator
        Chooses where to begin.
    stop : callable
    """
    division = _Division(Q, size, count, rng)
    order, improved = rng.permutation(len(Q)).tolist(), True
    while improved:
        improved = False
        for j in order:
            if stop():
                return division.vectors()
            improved |= division.improve(j)
    return division.vectors()


class _Division:
    """Blocks of features; the last one is of those that are left over."""

    def __init__(self, Q: Array, size: int, count: int, rng: np.random.Generator) -> None:
        self.Q, self.size, self.count = Q, size, count
        n = len(Q)
        n_blocks = max(min(-(-n // size), max(count, 2)), -(-count // size))
        inside = rng.permutation(n)[: n_blocks * size].tolist()
        self.blocks = [frozenset(inside[b::n_blocks]) for b in range(n_blocks)]
        self.blocks.append(frozenset(range(n)).difference(inside))
        self._known: dict[Block, list[float]] = {frozenset(): []}

    def _eigenvalues(self, block: Block) -> list[float]:
        if block not in self._known:
            at = sorted(block)
            self._known[block] = np.linalg.eigvalsh(self.Q[np.ix_(at, at)]).tolist()
        return self._known[block]

    def _total(self, blocks: list[Block]) -> float:
        values = [value for block in blocks[:-1] for value in self._eigenvalues(block)]
        return sum(sorted(values)[-self.count :])

    def improve(self, j: int) -> bool:
        """Move a feature, or exchange it with another, if that helps."""
        total = self._total(self.blocks)
        best = max(self._moves(j), key=self._total, default=self.blocks)
        if self._total(best) <= total + 1e-9 * abs(total):
            return False
        self.blocks = best
        return True

    def _moves(self, j: int) -> Iterator[list[Block]]:
        here = next(b for b, block in enumerate(self.blocks) if j in block)
        for there, block in enumerate(self.blocks):
            if there == here:
                continue
            partners = [frozenset([i]) for i in sorted(block)]
            if there == len(self.blocks) - 1 or len(block) < self.size:
                partners.append(frozenset())
            for partner in partners:
                moved = list(self.blocks)
                moved[here] = moved[here] - {j} | partner
                moved[there] = block - partner | {j}
                yield moved

    def vectors(self) -> list[Array]:
        """The eigenvectors of the largest eigenvalues."""
        found: list[tuple[float, Array]] = []
        for block in self.blocks[:-1]:
            at = sorted(block)
            values, vectors = np.linalg.eigh(self.Q[np.ix_(at, at)])
            for value, loadings in zip(values, vectors.T, strict=True):
                x = np.zeros(len(self.Q))
                x[at] = loadings
                found.append((float(value), x))
        found.sort(key=lambda pair: -pair[0])
        return [x for _, x in found[: self.count]]
