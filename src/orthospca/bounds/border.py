"""What a proved bound for one sparsity rules out of the next: the border rule.

Let U bound the values of supports of s - 1 indices, and let no component before use feature j.  A
feasible x on s indices with ``x_j ≠ 0`` is ``y + t·e_j`` with y feasible, up to its length, on the
other s - 1 of them.  With b the row of j there, ``xᵀQx`` is at most the larger eigenvalue of
``[[U, ‖b‖], [‖b‖, Q_jj]]``.  So x stays below a level L if

    L > U,   L > Q_jj   and   (L - U)(L - Q_jj) > β_j,

β_j being the sum of the s - 1 largest squares off the diagonal of row j.  Nothing is asked of Q; if
it is positive semidefinite, ``U + Q_jj < L`` is enough.  See ``docs/theory/ladder.md``.
"""

from __future__ import annotations

import math

import numpy as np

from orthospca._typing import Array, BoolArray, IntArray
from orthospca.numerics.rounding import raised, relative_error

#: Rows worked on at once: their squares then stay in the cache.
TILE = 2**17


def largest_squares(
    matrix: Array, count: int, radius: float = 0.0, own: IntArray | None = None
) -> Array:
    """Return the sums of the 1, 2, …, ``count`` largest squares of each row, rounded up.

    Entries on the diagonal do not count.

    Parameters
    ----------
    matrix : array of shape (m, n)
        Rows of a square matrix.
    count : int
    radius : float
        How far each entry may be from the true one.
    own : integer array, optional
        Where their entries on the diagonal are, if they are not all rows.

    Returns
    -------
    array of shape (m, count)
    """
    m, n = matrix.shape
    width = min(count, n - 1)
    sums = np.zeros((m, count))
    if width == 0:
        return sums
    step = max(TILE // n, 1)
    own = np.arange(m) if own is None else own
    for start in range(0, m, step):
        tile = np.abs(matrix[start : start + step])
        if radius:
            tile += radius
        tile[np.arange(len(tile)), own[start : start + step]] = 0.0
        if width < n:
            tile.partition(n - width, axis=1)
        top = tile[:, n - width :]
        top.sort(axis=1)
        np.square(top, out=top)
        sums[start : start + step, :width] = np.cumsum(top[:, ::-1], axis=1)
    sums[:, width:] = sums[:, width - 1 : width]
    return raised(sums, count + 4)


class LargestEntries:
    """The largest magnitudes off the diagonal of each row of a matrix: they serve all stages.

    Components change a row that they do not touch only in the columns that they use.  What is
    listed of those columns is replaced by the smallest entry of the list, which bounds all that is
    not listed, and by what the entries have become.

    Parameters
    ----------
    matrix : array of shape (n, n)
    count : int
        Entries kept of each row.
    """

    def __init__(self, matrix: Array, count: int) -> None:
        n = len(matrix)
        width = min(count, n - 1)
        self.values = np.zeros((n, width))
        self.columns = np.zeros((n, width), dtype=np.int32)
        step = max(TILE // n, 1)
        for start in range(0, n if width else 0, step):
            tile = np.abs(matrix[start : start + step])
            rows = np.arange(len(tile))
            tile[rows, rows + start] = -1.0
            at = np.argpartition(tile, n - width, axis=1)[:, n - width :]
            self.values[start : start + step] = np.take_along_axis(tile, at, axis=1)
            self.columns[start : start + step] = at
        self._rest = self.values.min(axis=1, initial=math.inf) if width < n - 1 else np.zeros(n)

    def sums(self, count: int, changed: IntArray, entries: Array, radius: float) -> Array:
        """Return the sums of the 1, 2, …, ``count`` largest squares of each row, rounded up.

        Parameters
        ----------
        count : int
        changed : integer array
            Columns that components use.
        entries : array of shape (n, len(changed))
            What the rows have there now.
        radius : float
            How far each entry may be from the true one.
        """
        values = self.values
        if len(changed):
            among = np.zeros(len(values), dtype=bool)
            among[changed] = True
            values = np.where(among[self.columns], self._rest[:, None], values)
            values = np.hstack([values, np.abs(entries)])
        values = values + radius
        width = min(count, values.shape[1])
        if width < values.shape[1]:
            values.partition(values.shape[1] - width, axis=1)
        top = np.sort(values[:, values.shape[1] - width :], axis=1)[:, ::-1]
        sums = np.zeros((len(values), count))
        sums[:, :width] = np.cumsum(np.square(top), axis=1)
        sums[:, width:] = sums[:, width - 1 : width] if width else 0.0
        return raised(sums, count + 4)


def stays(level: float, below: float, diagonal: Array, beta: Array) -> BoolArray:
    """Whether a support above the level can contain each feature.

    Parameters
    ----------
    level : float
    below : float
        Proved bound on supports with one index less.
    diagonal : array
        Not below the diagonal of the form.
    beta : array
        Sums of the largest squares of each row, as many as there are other indices; not below.
    """
    if not level > below or below == -math.inf:
        # Nothing feasible on fewer indices: components use all features, and the rule is silent.
        return np.ones(len(diagonal), dtype=bool)
    room = level - diagonal
    products = (level - below) * np.maximum(room, 0.0) * (1 - relative_error(4))
    return np.asarray(~((room > 0) & (products > beta)))


def stays_by_variance(level: float, below: float, diagonal: Array) -> BoolArray:
    """As :func:`stays`, of a positive semidefinite form, from its diagonal alone."""
    if below == -math.inf:
        return np.ones(len(diagonal), dtype=bool)
    return np.asarray(~(raised(diagonal + below, 2, np.abs(diagonal) + abs(below)) < level))


def bound_without_level(below: float, diagonal: Array, beta: Array, size: int) -> float:
    """Bound supports of ``size`` indices by the size-th largest root of their features.

    Every member of a support with a value λ satisfies ``(λ - U)(λ - Q_jj) ≤ β_j``, or λ is at most
    U: so at least ``size`` features have their larger root at λ or above.

    Parameters
    ----------
    below : float
    diagonal, beta : array
        As of :func:`stays`; ``inf`` in β for features that the rule does not speak of.
    size : int
    """
    if below == -math.inf:
        return math.inf
    if size > len(diagonal):
        return below
    half = 0.5 * (below - diagonal)
    roots = 0.5 * (below + diagonal) + np.sqrt(half * half + beta)
    roots = raised(roots, 8, abs(below) + np.abs(diagonal) + np.sqrt(beta))
    last = float(np.partition(roots, len(roots) - size)[len(roots) - size])
    return max(below, last) if not math.isnan(last) else math.inf


def potential(roots: Array, size: int) -> Array:
    """``Q_ii + √Q_ii · (size - 1 largest √Q_jj, j ≠ i)``: a bound that needs no row at all.

    Parameters
    ----------
    roots : array
        The roots of the diagonal of a positive semidefinite form, or bounds on them.
    size : int
        Size of a support.
    """
    top = np.sort(roots)[::-1][:size]
    others = float(top.sum()) - np.where(roots >= top[-1], roots, top[-1])
    # Rounded up: sums of at most `size` square roots.
    return raised(roots * (roots + others), 2 * size + 4)
