"""Algorithm 2: the blocks that are left when small entries are ignored.

The indices are the vertices of a graph, and i and j are joined where ``|Q_ij| ≥ δ`` and
``Q_ij ≠ 0``.  Its connected components are the blocks.  What is solved in place of Q is the
block-diagonal matrix A that has, inside the blocks, the entries of Q itself (``inside="kept"``) or
only those of magnitude at least δ (``inside="thresholded"``, the algorithm as printed).  The first
keeps ``xᵀAx = xᵀQx`` on every block, and A positive semidefinite if Q is; the second neither.

See ``docs/theory/decomposition.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from orthospca._typing import Array, BoolArray, IntArray
from orthospca.data.covariance import DataCovariance
from orthospca.model.validation import validate_choice, validate_covariance, validate_nonnegative
from orthospca.numerics.rounding import raised

INSIDE = ("kept", "thresholded")


@dataclass(frozen=True, eq=False)
class Blocks:
    """A partition of the indices of Q, and the block-diagonal matrix that belongs to it.

    Attributes
    ----------
    labels : integer array of shape (n,)
        The block of each index; blocks are numbered in the order of their smallest indices.
    blocks : tuple of integer arrays
        The indices of each block, ascending.
    permutation : integer array of shape (n,)
        All indices, block after block.
    threshold : float
        The δ that gave the partition.
    inside : {"kept", "thresholded"}
        Whether entries below the threshold are kept inside the blocks.
    cross : float
        The largest ``|Q_ij|`` between different blocks; it is below the threshold, and exactly 0
        if the partition is along zeros of Q.
    """

    labels: IntArray
    blocks: tuple[IntArray, ...]
    permutation: IntArray
    threshold: float
    inside: str
    cross: float

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return len(self.blocks)

    @property
    def sizes(self) -> IntArray:
        """Number of indices in each block."""
        return np.bincount(self.labels, minlength=self.n_blocks)

    @property
    def largest(self) -> int:
        """Size of the largest block."""
        return int(self.sizes.max())

    def submatrix(self, Q: Array, block: int) -> Array:
        """Return the block A_i of the block-diagonal matrix."""
        chosen = self.blocks[block]
        return self.kept(Q[np.ix_(chosen, chosen)])

    def kept(self, entries: Array) -> Array:
        """Return entries of Q inside the blocks as they are in A."""
        lost = (np.abs(entries) < self.threshold) & (self.inside == "thresholded")
        return np.where(lost, 0.0, entries)

    def matrix(self, Q: Array) -> Array:
        """Return A in the order of Q; rows and columns ``permutation`` show its blocks."""
        A = np.zeros(np.shape(Q))
        for block, chosen in enumerate(self.blocks):
            A[np.ix_(chosen, chosen)] = self.submatrix(Q, block)
        return A

    def remainder(self, Q: Array) -> Array:
        """Return ``E = Q - A``, what the blocks leave out; no entry is rounded."""
        return np.asarray(Q, dtype=float) - self.matrix(Q)


def block_diagonalize(Q: Any, threshold: float, *, inside: str = "kept") -> Blocks:
    """Split the indices of Q into the connected components of ``|Q_ij| ≥ threshold``, ``≠ 0``.

    Parameters
    ----------
    Q : array-like of shape (n, n), or DataCovariance
        Symmetric.  For a covariance defined by data, the graph is found tile by tile, and Q is not
        formed.
    threshold : float
        The δ, at least 0.  With 0 the split is along exact zeros and loses nothing.
    inside : {"kept", "thresholded"}
        Whether smaller entries inside a block are kept as in Q or, as in the published algorithm,
        set to zero (on the diagonal too).

    Returns
    -------
    Blocks

    Examples
    --------
    >>> from orthospca import block_diagonalize
    >>> blocks = block_diagonalize([[4, 1, 0.1], [1, 3, 0.2], [0.1, 0.2, 2]], threshold=0.5)
    >>> [block.tolist() for block in blocks.blocks]
    [[0, 1], [2]]
    >>> blocks.cross
    0.2
    """
    delta = validate_nonnegative("threshold", threshold)
    validate_choice("inside", inside, INSIDE)
    if isinstance(Q, DataCovariance):
        if delta > 0:
            return blocks_of_data(Q, delta, inside)
        # Along exact zeros every entry counts, and all of them may be edges.
        Q = Q.submatrix(np.arange(Q.n_features))
    return blocks_of(validate_covariance(Q), delta, inside)


def blocks_of(matrix: Array, threshold: float, inside: str = "kept") -> Blocks:
    """As :func:`block_diagonalize`, of a validated matrix."""
    if is_connected_at_sight(matrix, threshold):
        return _as_blocks(np.zeros(len(matrix), dtype=np.intp), threshold, inside, 0.0)
    graph = csr_matrix(_joined(matrix, threshold))
    labels = connected_components(graph, directed=False)[1]
    between = labels[:, None] != labels
    cross = float(np.max(np.abs(matrix), where=between, initial=0.0))
    return _as_blocks(labels, threshold, inside, cross)


def blocks_of_data(covariance: DataCovariance, threshold: float, inside: str = "kept") -> Blocks:
    """As :func:`block_diagonalize` with a positive threshold, of a covariance that is not formed.

    ``cross`` is then a bound: the threshold, or what the variances allow if that is less, and the
    rounding of an entry.
    """
    n = covariance.n_features
    roots = np.sort(np.sqrt(covariance.diagonal))[::-1]
    largest = float(roots[0] * roots[min(1, n - 1)])
    graph = covariance.graph(threshold)
    labels = connected_components(graph, directed=False)[1]
    cross = 0.0
    if (labels != labels[0]).any():
        rounding = 2 * covariance.relative_radius * largest
        cross = raised(min(threshold, largest) + rounding, 2)
    return _as_blocks(labels, threshold, inside, cross)


def is_connected_at_sight(matrix: Array, threshold: float = 0.0) -> bool:
    """Whether one of two rows is joined to all others: a proof of one block that costs O(n)."""
    for row in {0, int(np.argmax(matrix.diagonal()))}:
        joined = _joined(matrix[row], threshold)
        joined[row] = True
        if joined.all():
            return True
    return False


def _joined(entries: Array, threshold: float) -> BoolArray:
    joined: BoolArray = entries != 0.0
    if threshold > 0:
        joined &= np.abs(entries) >= threshold
    return joined


def _as_blocks(found: IntArray, threshold: float, inside: str, cross: float) -> Blocks:
    """Return the blocks, numbered by their smallest index whatever order they were found in."""
    _, first, labels = np.unique(found, return_index=True, return_inverse=True)
    labels = np.argsort(np.argsort(first))[labels].astype(np.intp)
    permutation = np.argsort(labels, kind="stable")
    blocks = tuple(np.split(permutation, np.cumsum(np.bincount(labels))[:-1]))
    for array in (labels, permutation, *blocks):
        array.flags.writeable = False
    return Blocks(labels, blocks, permutation, threshold, inside, cross)


@dataclass(frozen=True, eq=False)
class Sweep:
    """The block structures for all thresholds.

    Attributes
    ----------
    magnitudes : array, descending
        The thresholds at which the structure changes: for every δ above ``magnitudes[t + 1]`` and
        up to ``magnitudes[t]`` the structure is the t-th.  Above all of them every index is alone.
    n_blocks, largest : integer arrays
        The number of blocks, and the size of the largest.
    n_features : int
    """

    magnitudes: Array
    n_blocks: IntArray
    largest: IntArray
    n_features: int

    def at(self, threshold: float) -> tuple[int, int, float]:
        """Return the number of blocks, the largest, and the largest entry between blocks."""
        position = int(np.searchsorted(-self.magnitudes, -threshold, side="right"))
        cross = float(self.magnitudes[position]) if position < len(self.magnitudes) else 0.0
        if position == 0:
            return self.n_features, 1, cross
        return int(self.n_blocks[position - 1]), int(self.largest[position - 1]), cross

    def threshold_for(self, cross: float) -> float:
        """Return the δ with the finest structure whose entries between blocks are ≤ ``cross``."""
        needed = self.magnitudes[self.magnitudes > cross]
        if len(needed):
            return float(needed[-1])
        above = self.magnitudes[0] if len(self.magnitudes) else 0.0
        return float(np.nextafter(above, np.inf))


def threshold_sweep(Q: Any) -> Sweep:
    """Find the block structures for all thresholds in one pass.

    Single linkage joins two blocks at each edge of a maximum spanning tree of ``|Q_ij|``, from
    large to small; that takes O(n²).

    Examples
    --------
    >>> from orthospca.blocks.partition import threshold_sweep
    >>> sweep = threshold_sweep([[4, 1, 0.1], [1, 3, 0.2], [0.1, 0.2, 2]])
    >>> sweep.magnitudes, sweep.n_blocks, sweep.largest
    (array([1. , 0.2]), array([2, 1]), array([2, 3]))
    """
    return sweep_of(validate_covariance(Q))


def sweep_of(matrix: Array) -> Sweep:
    """As :func:`threshold_sweep`, of a validated matrix."""
    # They take longer to load than most solves.
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    n = len(matrix)
    merges: Array = np.zeros((0, 4))
    if n > 1:
        merges = linkage(-np.abs(squareform(matrix, checks=False)), "single")
    # What is joined along zeros is not joined at all, and of equal entries the last one counts.
    merges = merges[merges[:, 2] < 0]
    last = np.flatnonzero(np.diff(merges[:, 2], append=0.0))
    sizes = np.maximum.accumulate(merges[:, 3]).astype(int)
    return Sweep(-merges[last, 2], n - 1 - last, sizes[last], n)
