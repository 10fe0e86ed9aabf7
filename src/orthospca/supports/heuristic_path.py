"""Good supports of every size at once: greedy growth, truncated power, swaps, up and down again.

The supports of neighbouring sizes help each other: one index more, or one index less, is nearly
always a good start.  Several starts are grown together, so that a step on all of them is one matrix
product.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.model.stage import Subproblem
from orthospca.supports.best import Candidate, best_on_support, values_on_supports
from orthospca.supports.heuristics import eliminate, entering_value, polish

#: Rows from which supports are grown, at most: more of them where there are more features.
MOST_STARTS = 24
#: Indices that a swap tries to remove: those with the smallest loadings.
LEAVING = 3
#: Supports of each size that are solved exactly.
SOLVED = 2
#: Indices that are tried exactly where components have to be fitted.
TRIED = 6
#: Order up to which features are eliminated one after the other from the whole.
LARGEST_ELIMINATION = 400


def find_incumbent(problem: Subproblem) -> Candidate | None:
    """Return a good feasible vector for the sparsity of a stage, or None if none was found."""
    path = HeuristicPath(problem)
    path.run()
    return path.best[-1]


class HeuristicPath:
    """Candidates for sparsities 1, …, p of one stage.

    Parameters
    ----------
    problem : Subproblem
        With the largest of the sparsities.

    Attributes
    ----------
    best : list of Candidate or None
        At position s the best vector found with at most s nonzeros; it never gets worse with s.
    """

    def __init__(self, problem: Subproblem) -> None:
        self.problem = problem
        self.matrix = problem.projected
        self.size = min(problem.sparsity, problem.n_features)
        self.best: list[Candidate | None] = [None] * (self.size + 1)
        self._starts = min(MOST_STARTS, 4 + problem.n_features // 8)
        self._seen: set[bytes] = set()
        # The best supports of each size that were grown and are still to be solved.
        self._grown: list[IntArray] = []
        self._diagonal = self.matrix.diagonal()
        self._included = problem.included
        self._stop: Callable[[], bool] = lambda: False

    def run(self, stop: Callable[[], bool] | None = None) -> None:
        """Grow supports up to the largest size, and improve what that leads to by swaps.

        Smaller sizes have what was met on the way; :meth:`refine` improves them too.
        """
        self._stop = stop or self._stop
        alone = self._diagonal.copy()
        alone[self.problem.touched] = -np.inf
        if len(self._included):
            self._try(self._included)
        elif alone.max() > -np.inf:
            self._try(np.array([np.argmax(alone)]))
            self._take_partners(int(np.argmax(alone)))
        if self._stop():
            return
        self._grow()
        matrix = self.problem.penalised
        if len(matrix) <= LARGEST_ELIMINATION and self.size < len(matrix):
            self._try(eliminate(matrix, self.size, self._included))
        best = self.best[self.size]
        if best is not None and not self._stop():
            self.offer(polish(self.problem, best))

    def refine(self, stop: Callable[[], bool] | None = None) -> None:
        """Hand what was found down to all smaller sizes, and up again."""
        self._stop = stop or self._stop
        for supports in self._grown:
            for support in supports:
                self._try(support)
        self._grown = []
        self.spread(self.size, max(len(self._included), 1))

    def _take_partners(self, row: int) -> None:
        """A row with its strongest entries: soon found, if there is no time for more."""
        scores = np.abs(self.matrix[row])
        scores[row] = np.inf
        support = np.sort(np.argsort(-scores, kind="stable")[: self.size])
        # What begins there later may begin there: it does not count as seen.
        self.offer(best_on_support(self.problem, support))

    def spread(self, first: int, last: int) -> None:
        """Let neighbouring sizes improve each other, down from the first to the last and up again.

        The way up goes on to the largest size.
        """
        for size in range(first - 1, last - 1, -1):
            if not self._stop():
                self._from_larger(size)
        for size in range(max(last, 1) + 1, self.size + 1):
            if not self._stop():
                self._from_smaller(size)

    def offer(self, candidate: Candidate | None) -> bool:
        """Take a feasible vector for its own size and for all larger ones; whether it helps."""
        if candidate is None:
            return False
        first = len(self.problem.filled(candidate.vector))
        helped = False
        for size in range(max(first, 1), self.size + 1):
            known = self.best[size]
            if known is not None and known.value >= candidate.value:
                break
            self.best[size] = candidate
            helped = True
        return helped

    def _try(self, support: IntArray) -> Candidate | None:
        """Solve a support exactly, once."""
        support = np.sort(support)
        key = support.tobytes()
        # A vector may have vanished: where the form is zero, or nearly so, on all features.
        if len(support) == 0 or key in self._seen:
            return None
        self._seen.add(key)
        found = best_on_support(self.problem, support)
        self.offer(found)
        return found

    def _starting_rows(self) -> IntArray:
        """Rows that promise much: with all their strongest entries, with one, or with none."""
        count, diagonal = self._starts, self._diagonal
        scores = diagonal + self.problem.row_strengths
        order = np.argsort(-scores, kind="stable")[: 6 * count]
        # The best partner of each of the strongest rows.
        pairs = np.array(entering_value(diagonal[order, None], self.matrix[order], diagonal))
        pairs[np.arange(len(order)), order] = -np.inf
        paired = order[np.argsort(-pairs.max(axis=1), kind="stable")[: count // 3]]
        largest = np.argsort(-diagonal, kind="stable")[: count // 3]
        return np.unique(np.concatenate([order[:count], paired, largest]))

    def _grow(self) -> None:
        """Grow supports by their leading vectors, with what components use held down."""
        matrix = self.problem.penalised
        diagonal = matrix.diagonal()
        supports = self._starting_rows()[:, None]
        if len(self._included):
            rows = supports[~np.isin(supports[:, 0], self._included)]
            if len(rows) == 0 or len(self._included) >= self.size:
                return
            supports = np.hstack([np.tile(self._included, (len(rows), 1)), rows])
        values, images = _leading_images(matrix, supports)
        if len(self._included):
            self._grown.append(supports[np.argsort(-values, kind="stable")[:SOLVED]])
        for size in range(supports.shape[1] + 1, self.size + 1):
            if self._stop():
                break
            gains = np.asarray(entering_value(values[:, None], images, diagonal))
            gains[np.arange(len(supports))[:, None], supports] = -np.inf
            supports = np.sort(np.hstack([supports, gains.argmax(axis=1)[:, None]]), axis=1)
            values, images = _leading_images(matrix, supports)
            weights = np.abs(images)
            weights[:, self._included] = np.inf
            moved = np.sort(np.argpartition(-weights, size - 1, axis=1)[:, :size], axis=1)
            other = np.flatnonzero((moved != supports).any(axis=1))
            other_values, other_images = _leading_images(matrix, moved[other])
            better = other_values > values[other]
            other = other[better]
            supports[other] = moved[other]
            values[other], images[other] = other_values[better], other_images[better]
            first = {row.tobytes(): i for i, row in reversed([*enumerate(supports)])}
            kept = np.array(sorted(first.values()))
            order = np.argsort(-values[kept], kind="stable")[: self._starts]
            kept = kept[order]
            supports, values, images = supports[kept], values[kept], images[kept]
            self._grown.append(supports[:SOLVED])
        if self._grown:
            last = self._grown.pop()
            self._try(last[int(np.argmax(values_on_supports(self.problem, last)))])

    def _from_larger(self, size: int) -> None:
        larger = self.best[size + 1]
        if larger is not None and len(self.problem.filled(larger.vector)) > size:
            weights = np.abs(larger.vector)
            weights[self._included] = np.inf
            self.improve(np.argsort(-weights, kind="stable")[:size])

    def _from_smaller(self, size: int) -> None:
        smaller = self.best[size - 1]
        if smaller is None:
            return
        support = self.problem.filled(smaller.vector)
        entering = self._entering(support, smaller.value, smaller.vector[support])
        if len(entering):
            self.improve(np.append(support, entering))

    def _entering(self, support: IntArray, value: float, loading: Array) -> IntArray:
        """The index that brings most to a vector on a support; none, if all are in."""
        if len(support) >= len(self.matrix):
            return support[:0]
        gains = self._gains(self.matrix, support, value, loading)
        if not self.problem.constrained:
            return np.array([np.argmax(gains)])
        # What an index brings depends on how it fits the components: a few are tried, those that
        # promise most if that is ignored and those that promise most if it is feared.
        feared = self._gains(self.problem.penalised, support, value, loading)
        picked = np.unique(np.concatenate([_top(gains, TRIED), _top(feared, TRIED)]))
        supports = np.hstack([np.tile(support, (len(picked), 1)), picked[:, None]])
        values = values_on_supports(self.problem, np.sort(supports, axis=1))
        return picked[[int(np.argmax(values))]]

    def _gains(self, matrix: Array, support: IntArray, value: float, loading: Array) -> Array:
        """What each index brings to a support."""
        image = loading @ matrix[support]
        gains = np.asarray(entering_value(np.array(value), image, matrix.diagonal()))
        gains[support] = -np.inf
        return gains

    def improve(self, support: IntArray, rounds: int = 20) -> None:
        """Solve a support and go on with swaps of its smallest loadings as long as they help."""
        found = self._try(support)
        for _ in range(rounds):
            if found is None:
                return
            found = self._swap(found)

    def _swap(self, candidate: Candidate) -> Candidate | None:
        """Exchange one of the smallest loadings, if that is better."""
        support = self.problem.filled(candidate.vector)
        if len(support) < 2 or len(support) >= len(self.matrix):
            return None
        weights = np.abs(candidate.vector[support])
        if len(self._included):
            weights[np.isin(support, self._included)] = np.inf
        order = np.argsort(weights, kind="stable")[:LEAVING]
        for leaving in order[np.isfinite(weights[order])]:
            rest = np.delete(support, leaving)
            left = best_on_support(self.problem, rest) if self.problem.constrained else None
            if left is not None:
                value, loading = left.value, left.vector[rest]
            else:
                values, vectors = np.linalg.eigh(self.matrix[np.ix_(rest, rest)])
                value, loading = float(values[-1]), vectors[:, -1]
            found = self._try(np.append(rest, self._entering(rest, value, loading)))
            if found is not None and found.value > candidate.value * (1 + 1e-12):
                return found
        return None


def _top(scores: Array, count: int) -> IntArray:
    """The places of the largest scores that are finite."""
    order = np.argsort(-scores, kind="stable")[:count]
    return order[np.isfinite(scores[order])]


def _leading_images(matrix: Array, supports: IntArray) -> tuple[Array, Array]:
    """Largest eigenvalues on supports, and the products of the matrix with their vectors."""
    values, vectors = np.linalg.eigh(matrix[supports[:, :, None], supports[:, None, :]])
    return values[:, -1], np.einsum("bp,bpn->bn", vectors[:, :, -1], matrix[supports])
