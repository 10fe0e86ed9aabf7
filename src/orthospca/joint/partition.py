"""Sets of components on disjoint blocks of features, improved by moves and exchanges of features.

Components on disjoint blocks are orthogonal whatever their loadings, and so are eigenvectors
of one block.  For a division of the features into blocks of at most p, the best set is that of the
K largest eigenvalues of all blocks: cheap to evaluate, and often close to the best set of all.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from orthospca._typing import Array, IntArray

#: Features that take part, at most: those of the largest variance, and those asked for.
LARGEST = 48


def best_blocks(
    Q: Array,
    size: int,
    count: int,
    wanted: IntArray,
    rng: np.random.Generator,
    stop: Callable[[], bool],
) -> list[Array]:
    """Return ``count`` orthonormal vectors on blocks of at most ``size`` features.

    Parameters
    ----------
    Q : array of shape (n, n)
    size, count : int
    wanted : integer array
        Features that take part in any case.
    rng : Generator
        Chooses where to begin.
    stop : callable
    """
    n = len(Q)
    places = np.arange(n)
    if n > LARGEST:
        strongest = np.argsort(-Q.diagonal(), kind="stable")[:LARGEST]
        places = np.union1d(wanted, strongest[: max(LARGEST - len(wanted), size)])
    part = Q[np.ix_(places, places)]
    division = _Division(part, size, count, rng)
    division.improve(stop)
    vectors = []
    for x in division.vectors():
        vector = np.zeros(n)
        vector[places] = x
        vectors.append(vector)
    return vectors


class _Division:
    """Blocks of features, and a pool of those that are in none."""

    def __init__(self, Q: Array, size: int, count: int, rng: np.random.Generator) -> None:
        self.Q, self.size, self.count = Q, size, count
        n = len(Q)
        self.n_blocks = max(min(-(-n // size), max(count, 2)), -(-count // size))
        order = rng.permutation(n)
        self.label = np.full(n, self.n_blocks)
        inside = order[: self.n_blocks * size]
        self.label[inside] = np.arange(len(inside)) % self.n_blocks
        self._known: dict[bytes, Array] = {}
        self._order = rng.permutation(n)

    def blocks(self) -> list[IntArray]:
        return [np.flatnonzero(self.label == b) for b in range(self.n_blocks + 1)]

    def _eigenvalues(self, block: IntArray) -> Array:
        key = block.tobytes()
        found = self._known.get(key)
        if found is None:
            found = np.zeros(0)
            if len(block):
                found = np.asarray(np.linalg.eigvalsh(self.Q[np.ix_(block, block)]))
            self._known[key] = found
        return found

    def _total(self, values: list[Array]) -> float:
        return float(np.sort(np.concatenate(values))[-self.count :].sum())

    def improve(self, stop: Callable[[], bool]) -> None:
        """Move a feature, or exchange two, as long as that helps."""
        improved = True
        while improved and not stop():
            improved = False
            for j in self._order:
                if self._improve_at(int(j)):
                    improved = True
                if stop():
                    return

    def _improve_at(self, j: int) -> bool:
        blocks = self.blocks()
        values = [self._eigenvalues(block) for block in blocks[:-1]]
        here = int(self.label[j])
        best = self._total(values)
        best += 1e-9 * abs(best)
        move: tuple[int, int | None] | None = None
        rest = blocks[here][blocks[here] != j]
        for there in range(self.n_blocks + 1):
            if there == here:
                continue
            partners: list[int | None] = [int(i) for i in blocks[there]]
            if there == self.n_blocks or len(blocks[there]) < self.size:
                partners.append(None)
            for i in partners:
                changed = list(values)
                if here < self.n_blocks:
                    left = rest if i is None else np.sort(np.append(rest, i))
                    changed[here] = self._eigenvalues(left)
                if there < self.n_blocks:
                    others = blocks[there] if i is None else blocks[there][blocks[there] != i]
                    changed[there] = self._eigenvalues(np.sort(np.append(others, j)))
                total = self._total(changed)
                if total > best:
                    best, move = total, (there, i)
        if move is None:
            return False
        there, i = move[0], move[1]
        self.label[j] = there
        if i is not None:
            self.label[i] = here
        return True

    def vectors(self) -> list[Array]:
        """The eigenvectors of the largest eigenvalues."""
        found: list[tuple[float, int, Array]] = []
        for block in self.blocks()[:-1]:
            if len(block) == 0:
                continue
            values, vectors = np.linalg.eigh(self.Q[np.ix_(block, block)])
            for t, value in enumerate(values):
                x = np.zeros(len(self.Q))
                x[block] = vectors[:, t]
                found.append((-float(value), len(found), x))
        return [x for _, _, x in sorted(found, key=lambda entry: entry[:2])[: self.count]]
