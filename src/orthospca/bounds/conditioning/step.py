"""One step of the conditioned search: the complement of the included indices, bounded by norms.

See ``docs/theory/conditioning.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.bounds.conditioning import compiled
from orthospca.bounds.conditioning.weights import WeightedRows
from orthospca.model.tuning import WalkTuning
from orthospca.numerics import rigor
from orthospca.numerics.rounding import relative_error

#: Costs that differ by less count as equal, and the first of them is the dearest: which it is must
#: not depend on the order in which they are added up.
ALIKE = 1e-9


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


CLOSED = Elimination(np.arange(0), np.arange(0))


@dataclass(frozen=True, eq=False)
class Frame:
    """The form on some features, with what the features inside add to it at a level.

    Attributes
    ----------
    matrix : array of shape (n, n)
    level : float
        Lowered: what is proved below it, in exact arithmetic on the numbers as they are, is below
        the level asked for.
    """

    matrix: Array
    level: float

    def conditioned(self, inside: IntArray) -> Frame | None:
        """Condition on the features at some places, which leave the frame.

        None if they are not below the level, as far as can be told.
        """
        if not np.isfinite(self.matrix).all():
            # Comparisons with what is no number prove nothing, and could seem to.
            return None
        rows = np.zeros((len(inside), len(self.matrix)))
        # What overflows is not below the level, and shows on the diagonal.
        with np.errstate(over="ignore", invalid="ignore"):
            for k, place in enumerate(inside.tolist()):
                row = self.matrix[place] + rows[:k, place] @ rows[:k]
                room = self.level - row[place]
                if not room > 0.0:
                    return None
                rows[k] = row / math.sqrt(room)
            rest = np.delete(np.arange(len(self.matrix)), inside)
            added = rows[:, rest]
            return Frame(self.matrix[rest[:, None], rest] + added.T @ added, self.level)

    def split(self, rest: IntArray, place: int) -> tuple[Frame, Frame | None]:
        """Return the frame of the rest, and the same conditioned on one more feature."""
        matrix: Array = self.matrix[rest[:, None], rest]
        room = self.level - self.matrix[place, place]
        if not room > 0.0:
            return Frame(matrix, self.level), None
        # What overflows is not below the level, and shows on the diagonal.
        with np.errstate(over="ignore", invalid="ignore"):
            half = self.matrix[place, rest] / math.sqrt(room)
            conditioned = half[:, None] * half
            conditioned += matrix
        return Frame(matrix, self.level), Frame(conditioned, self.level)

    def eliminate(self, room: int, tuning: WalkTuning) -> Elimination | None:
        """Find which places an R can contain that is not proved to stay below the level.

        None if a feature alone is not.

        Parameters
        ----------
        room : int
            Largest size of R, at least 1.
        tuning : WalkTuning
        """
        diagonal = self.level - self.matrix.diagonal()
        if not (diagonal > 0.0).all():
            return None
        n = len(diagonal)
        if n <= 1 or room == 1:
            return CLOSED
        if n <= tuning.full_share * room and self.is_definite():
            return CLOSED
        roots = 1.0 / np.sqrt(diagonal)
        if n > tuning.largest_compiled or tuning.compiled_after == math.inf:
            return by_rules(self.matrix, roots, room, tuning)
        eliminate = compiled.loaded()
        if eliminate is None:
            return by_rules(self.matrix, roots, room, tuning)
        rounds = tuning.weight_rounds if n <= tuning.largest_weighted else 0
        numbers, places = compiled.space(n)
        W = np.empty((n, n))
        kept, forced, branch = eliminate(self.matrix, roots, room, rounds, W, numbers, places)
        if kept == 0:
            return CLOSED
        left = places[0, :kept]
        return Elimination(left, left[places[2, :forced]], int(left[branch]))

    def is_definite(self) -> bool:
        """Whether all features together are proved to stay below the level."""
        complement = -self.matrix
        complement.flat[:: len(complement) + 1] += self.level
        return rigor.proves_positive_definite(complement)


# What overflows is not below the level: comparisons with it rule nothing out.
@np.errstate(over="ignore", invalid="ignore")
def by_rules(matrix: Array, roots: Array, room: int, tuning: WalkTuning) -> Elimination:
    """Rule out places by costs, and by weighted rows where costs rule out little.

    Parameters
    ----------
    matrix : array of shape (n, n)
    roots : array of shape (n,)
        What scales the complement to a diagonal of ones.
    room : int
        At least 2.
    tuning : WalkTuning
    """
    # Roots, products and sums err by a few units each; below this they still prove λmax < 1.
    threshold = room / (room - 1) * (1 - relative_error(4 * room * room + 60))
    left = np.arange(len(roots))
    costs, forced = roots, left[:0]
    while len(left) > 1:
        part = matrix if len(left) == len(roots) else matrix[left[:, None], left]
        costs = _costs(part, roots[left], room, threshold, tuning)
        ordered = np.sort(costs)[::-1]
        total, base = float(ordered[:room].sum()), float(ordered[: room - 1].sum())
        stays = np.minimum(total, base + costs) >= threshold
        before, left, costs = len(left), left[stays], costs[stays]
        if len(left) <= 0.95 * before:
            continue
        # Little has changed: another round would not find more.  Weighted sums may.
        if len(left) > tuning.largest_weighted:
            break
        if len(left) < before:
            part = matrix[left[:, None], left]
        rows = WeightedRows(_magnitudes(part, roots[left]), room, tuning.weight_rounds)
        if rows.closed:
            return CLOSED
        stays = rows.stays()
        before, forced = len(left), left[rows.forced() & stays]
        left, costs = left[stays], costs[stays]
        if len(forced) or len(left) > 0.9 * before:
            break
    if len(left) <= 1:
        return CLOSED
    return Elimination(left, forced, int(left[np.argmax(costs >= costs.max() * (1 - ALIKE))]))


def _magnitudes(matrix: Array, roots: Array) -> Array:
    """Return ``|W|``, symmetric to the last digit, with zeros on its diagonal."""
    W = roots[:, None] * roots
    W *= np.abs(matrix)
    W.flat[:: len(W) + 1] = 0.0
    return W


def _costs(matrix: Array, roots: Array, room: int, threshold: float, tuning: WalkTuning) -> Array:
    """Sum of the room - 1 largest squares of each row of W, or a bound that decides as much."""
    n = len(roots)
    count = min(room - 1, n - 1)
    if n * n <= tuning.tile:
        return _largest_sums(np.square(_magnitudes(matrix, roots)), count)

    def squares(rows: IntArray) -> Array:
        tile: Array = matrix[rows] * roots[rows, None]
        tile *= roots
        np.square(tile, out=tile)
        tile[np.arange(len(rows)), rows] = 0.0
        return tile

    step = max(tuning.tile // n, 1)
    parts = [np.arange(start, min(start + step, n)) for start in range(0, n, step)]
    largest = np.concatenate([squares(part).max(axis=1) for part in parts])
    costs = count * largest
    exact = np.zeros(n, dtype=bool)
    chosen = np.argsort(-largest, kind="stable")[: max(tuning.first_rows, 2 * room)]
    while len(chosen):
        for start in range(0, len(chosen), step):
            some = chosen[start : start + step]
            costs[some] = _largest_sums(squares(some), count)
        exact[chosen] = True
        ordered = np.sort(costs)[::-1]
        base = float(ordered[: room - 1].sum())
        # In doubt: `count` times the largest entry keeps the row, the entry alone does not.
        doubtful = (base + costs >= threshold) & (base + largest < threshold)
        dearest = costs >= ordered[min(room, n) - 1]
        chosen = np.flatnonzero(~exact & (doubtful | dearest))
    return costs


def _largest_sums(values: Array, count: int) -> Array:
    """Sum of the ``count`` largest entries of each row."""
    m = values.shape[1]
    if count < m:
        values.partition(m - count, axis=1)
    return np.asarray(values[:, m - count :].sum(axis=1))
