"""One step of the conditioned search: the complement of the included indices, bounded by norms.

A frame is the quadratic form on some indices, from which steps with fewer of them are computed.
See ``docs/theory/conditioning.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import lapack

from orthospca._typing import Array, IntArray
from orthospca.bounds.conditioning.weights import WeightedRows
from orthospca.model.tuning import WalkTuning
from orthospca.numerics import rigor
from orthospca.numerics.rounding import relative_error


@dataclass(frozen=True, eq=False)
class Elimination:
    """What is left of the free places.

    Attributes
    ----------
    kept : integer array
        Those that an R above the level can contain; none, if there is no such R.
    forced : integer array
        Those among them that every such R contains.
    branch : int
        The dearest of those kept; -1 if there are none.
    """

    kept: IntArray
    forced: IntArray
    branch: int = -1


@dataclass(frozen=True, eq=False)
class Frame:
    """The form on some indices, from which steps with fewer of them are computed.

    Attributes
    ----------
    indices : integer array, ascending
    matrix : array of shape (m, m)
    level : float
        Lowered: what is proved below it, in exact arithmetic on the factors, is below the level
        asked for.
    residual : float
        How far an entry of the factors, multiplied out, may be from the matrix.
    tuning : WalkTuning
    """

    indices: IntArray
    matrix: Array
    level: float
    residual: float
    tuning: WalkTuning = field(default_factory=WalkTuning)

    def condition(self, inside: IntArray) -> tuple[Array, Array] | None:
        """Condition on the indices at some places.

        Returns
        -------
        half : array of shape (len(inside), m)
            ``C⁻¹Q_F`` with ``CCᵀ = L·I - Q_F``.
        diagonal : array of shape (m,)
            ``L`` less the diagonal of ``Q + halfᵀhalf``.

        None if ``L·I - Q_F`` is not positive definite, or too close to singular for the factors to
        be accurate.
        """
        cross = self.matrix[inside]
        if len(inside) == 0:
            return cross, self.level - self.matrix.diagonal()
        core = -cross[:, inside]
        core[np.diag_indices(len(inside))] += self.level
        factor, info = lapack.dpotrf(core, lower=1, clean=1)
        if info != 0:
            return None
        half, info = lapack.dtrtrs(factor, cross, lower=1)
        if info != 0 or not (
            np.abs(factor @ factor.T - core).max() <= self.residual
            and np.abs(factor @ half - cross).max() <= self.residual
        ):
            return None
        added = np.einsum("ij,ij->j", half, half)
        return half, self.level - (self.matrix.diagonal() + added)

    def squares(self, half: Array, roots: Array, rows: IntArray) -> Array:
        """Rows of the squares of W; columns whose root is zero are left out."""
        tile: Array = self.matrix[rows]
        if len(half):
            tile += half[:, rows].T @ half
        tile *= roots[rows, None]
        tile *= roots
        np.square(tile, out=tile)
        tile[np.arange(len(rows)), rows] = 0.0
        return tile

    def eliminate(self, half: Array, diagonal: Array, free: IntArray, room: int) -> Elimination:
        """Find which free places an R can contain that is not proved to stay below the level.

        Parameters
        ----------
        half, diagonal : arrays
            From :meth:`condition`; the diagonal is positive at the free places.
        free : integer array
        room : int
            Largest size of R, at least 1.
        """
        # Roots, products and sums err by a few units each; below this they still prove λmax < 1.
        threshold = room / max(room - 1, 1) * (1 - relative_error(4 * room * room + 60))
        if len(free) <= self.tuning.full_share * room and self._is_definite(half, diagonal, free):
            return Elimination(free[:0], free[:0])
        roots = np.zeros(len(diagonal))
        while len(free) > 1 and room > 1:
            roots[:] = 0.0
            roots[free] = 1.0 / np.sqrt(diagonal[free])
            costs = self._costs(half, roots, free, room, threshold)
            ordered = np.sort(costs)[::-1]
            total, base = float(ordered[:room].sum()), float(ordered[: room - 1].sum())
            stays = np.minimum(total, base + costs) >= threshold
            before, free, costs = len(free), free[stays], costs[stays]
            if len(free) <= 0.95 * before:
                continue
            # Little has changed: another round would not find more.  Weighted sums may.
            if len(free) > self.tuning.largest_weighted:
                return Elimination(free, free[:0], int(free[np.argmax(costs)]))
            rows = WeightedRows(
                self._magnitudes(half, roots, free), room, self.tuning.weight_rounds
            )
            if rows.closed:
                break
            stays = rows.stays()
            before, forced = len(free), free[rows.forced() & stays]
            free, costs = free[stays], costs[stays]
            if len(forced) or len(free) > 0.9 * before:
                return Elimination(free, forced, int(free[np.argmax(costs)]))
        return Elimination(free[:0], free[:0])

    def _magnitudes(self, half: Array, roots: Array, free: IntArray) -> Array:
        """Return ``|W|`` on the free places."""
        matrix: Array = self.matrix[np.ix_(free, free)]
        if len(half):
            part = half[:, free]
            matrix += part.T @ part
        matrix *= roots[free, None]
        matrix *= roots[free]
        np.fill_diagonal(matrix, 0.0)
        return np.asarray(np.abs(matrix, out=matrix))

    def _is_definite(self, half: Array, diagonal: Array, free: IntArray) -> bool:
        """Whether the complement on all free places together is proved positive definite."""
        return rigor.proves_positive_definite(self._complement(half, diagonal, free))

    def _complement(self, half: Array, diagonal: Array, free: IntArray) -> Array:
        """What is left of ``L·I - Q`` on the free places, given what is conditioned on."""
        matrix: Array = -self.matrix[np.ix_(free, free)]
        if len(half):
            part = half[:, free]
            matrix -= part.T @ part
        matrix[np.diag_indices(len(free))] = diagonal[free]
        return matrix

    def _costs(
        self, half: Array, roots: Array, free: IntArray, room: int, threshold: float
    ) -> Array:
        """Sum of the room - 1 largest entries of each row, or a bound that decides as much."""
        count = min(room - 1, len(free) - 1)
        m = len(self.indices)
        if len(free) * m <= self.tuning.tile:
            return _largest_sums(self.squares(half, roots, free), count)
        step = max(self.tuning.tile // m, 1)
        parts = [free[start : start + step] for start in range(0, len(free), step)]
        largest = np.concatenate([self.squares(half, roots, p).max(axis=1) for p in parts])
        costs = count * largest
        exact = np.zeros(len(free), dtype=bool)
        chosen = np.argsort(-largest, kind="stable")[: max(self.tuning.first_rows, 2 * room)]
        while len(chosen):
            for start in range(0, len(chosen), step):
                some = chosen[start : start + step]
                costs[some] = _largest_sums(self.squares(half, roots, free[some]), count)
            exact[chosen] = True
            ordered = np.sort(costs)[::-1]
            base = float(ordered[: room - 1].sum())
            # In doubt: `count` times the largest entry keeps the row, the entry alone does not.
            doubtful = (base + costs >= threshold) & (base + largest < threshold)
            dearest = costs >= ordered[min(room, len(ordered)) - 1]
            chosen = np.flatnonzero(~exact & (doubtful | dearest))
        return costs


def _largest_sums(values: Array, count: int) -> Array:
    """Sum of the ``count`` largest entries of each row."""
    m = values.shape[1]
    if count >= m:
        return np.asarray(values.sum(axis=1))
    values.partition(m - count, axis=1)
    return np.asarray(values[:, m - count :].sum(axis=1))
