"""Lower bounds: good feasible components, quickly.

Everything works on ``problem.penalised`` (Q - κXXᵀ), whose leading vectors on a support are nearly
orthogonal to the previous components; the winner is then solved exactly on its support, in a basis
of the complement, so that what is returned is feasible to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.model.stage import Subproblem
from orthospca.model.tuning import HeuristicTuning
from orthospca.numerics import rigor
from orthospca.supports.best import Candidate, best_on_support, values_on_supports

#: Swaps tested exactly in one step of the local search.
SWAPS_TESTED = 4000


def find_incumbent(
    problem: Subproblem,
    row_scores: Array | None = None,
    tuning: HeuristicTuning | None = None,
) -> Candidate | None:
    """Return a good feasible vector, or None if none was found.

    Supports are grown from the rows that could carry the largest eigenvalues, improved by truncated
    power iteration until they repeat, and the best of them by swaps.

    Parameters
    ----------
    problem : Subproblem
    row_scores : array of shape (n,), optional
        How promising each row is; by default ``Q_ii`` plus its p - 1 largest ``|Q_ij|``.
    """
    tuning = tuning or HeuristicTuning()
    matrix, p = problem.penalised, problem.sparsity
    supports = _starting_supports(problem, row_scores, tuning)
    supports = truncated_power(matrix, supports)
    values = np.linalg.eigvalsh(matrix[supports[:, :, None], supports[:, None, :]])[:, -1]
    polished = tuning.polished if problem.n_features >= tuning.polish_all_from else 1
    order = np.argsort(-values, kind="stable")[:polished]
    everything = np.arange(problem.n_features)
    finalists = [swap_search(matrix, supports[k], everything) for k in order]
    best = best_of(problem, np.vstack([*finalists, supports[order]]))
    if best is None and p < problem.n_features:
        best = best_of(problem, supports)
    return best


def best_of(problem: Subproblem, supports: IntArray) -> Candidate | None:
    """Solve all supports and return the best feasible vector among them."""
    values = values_on_supports(problem, supports)
    leader = int(np.argmax(values))
    return None if values[leader] == -np.inf else best_on_support(problem, supports[leader])


def polish(problem: Subproblem, candidate: Candidate) -> Candidate:
    """Fill the support of a candidate up and improve it by swaps; never worse than before."""
    matrix, p = problem.penalised, problem.sparsity
    support = np.flatnonzero(candidate.vector)
    while len(support) < p:
        values, vectors = np.linalg.eigh(matrix[np.ix_(support, support)])
        gains = entering_value(values[-1], vectors[:, -1] @ matrix[support], matrix.diagonal())
        gains[support] = -np.inf
        support = np.append(support, np.argmax(gains))
    support = swap_search(matrix, support, np.arange(problem.n_features))
    found = best_on_support(problem, np.sort(support))
    return candidate if found is None or found.value <= candidate.value else found


def improved_start(problem: Subproblem, supports: Sequence[IntArray]) -> Candidate | None:
    """Improve the best vector on some supports by swaps; None if there is none.

    Only the largest of those that are not too large are looked at.  Without swaps a vector that is
    within the tolerance would be kept where another support is a little better.
    """
    fitting = [support for support in supports if len(support) <= problem.sparsity]
    most = max(map(len, fitting), default=0)
    if most == 0:
        return None
    best = best_of(problem, np.array([support for support in fitting if len(support) == most]))
    return None if best is None else polish(problem, best)


def round_to_support(
    problem: Subproblem, direction: Array, included: IntArray, allowed: IntArray
) -> IntArray:
    """Return the included indices and the free ones of largest ``|direction|``.

    ``direction`` is indexed as ``allowed`` is.
    """
    size = min(problem.sparsity, len(allowed))
    weight = np.abs(direction)
    weight[np.isin(allowed, included, assume_unique=True)] = np.inf
    return np.sort(allowed[np.argsort(-weight, kind="stable")[:size]])


def _starting_supports(
    problem: Subproblem, row_scores: Array | None, tuning: HeuristicTuning
) -> IntArray:
    matrix, p, n = problem.projected, problem.sparsity, problem.n_features
    if row_scores is None:
        row_scores = matrix.diagonal() + problem.row_strengths
    rows = np.argsort(-row_scores, kind="stable")[: tuning.starts]
    neighbours = np.abs(matrix[rows])
    neighbours[np.arange(len(rows)), rows] = np.inf
    supports = [np.argpartition(-neighbours, p - 1, axis=1)[:, :p] if p < n else _everything(n)]
    supports.append(np.argsort(-matrix.diagonal(), kind="stable")[None, :p])
    supports.append(grow(problem.penalised, rows[:8], p))
    if problem.constrained:
        # A support that few earlier components touch leaves room for another vector.
        counts = np.count_nonzero(problem.previous, axis=1)
        supports.append(np.argsort(counts, kind="stable")[None, :p])
        supports.extend(
            _widened(np.flatnonzero(x), row_scores, p)[None] for x in problem.previous.T
        )
    if n <= tuning.largest_elimination:
        supports.append(eliminate(problem.penalised, p)[None])
    return np.unique(np.sort(np.vstack(supports), axis=1), axis=0)


def _everything(n: int) -> IntArray:
    return np.arange(n)[None]


def _widened(support: IntArray, row_scores: Array, size: int) -> IntArray:
    """Return the best ``size`` of a support, or the support with the best rows outside it."""
    order = np.argsort(-row_scores, kind="stable")
    inside = np.isin(order, support)
    return np.concatenate([order[inside], order[~inside]])[:size]


def truncated_power(matrix: Array, supports: IntArray, iterations: int = 20) -> IntArray:
    """Replace each support by the largest entries of ``matrix @ x``, until they repeat."""
    n, p = len(matrix), supports.shape[1]
    if p == n:
        return supports
    finished = [supports[:0]]
    for _ in range(iterations):
        stacks = matrix[supports[:, :, None], supports[:, None, :]]
        vectors = np.linalg.eigh(stacks)[1][:, :, -1]
        images = np.abs(np.einsum("bp,bpn->bn", vectors, matrix[supports]))
        following = np.sort(np.argpartition(-images, p - 1, axis=1)[:, :p], axis=1)
        settled = (following == supports).all(axis=1)
        finished.append(supports[settled])
        if settled.all():
            break
        supports = np.unique(following[~settled], axis=0)
    else:
        finished.append(supports)
    return np.unique(np.vstack(finished), axis=0)


def grow(matrix: Array, starts: IntArray, size: int) -> IntArray:
    """Greedy forward selection from each of ``starts``, all at once."""
    supports = np.asarray(starts, dtype=np.intp)[:, None]
    diagonal = matrix.diagonal()
    while supports.shape[1] < size:
        values, vectors = np.linalg.eigh(matrix[supports[:, :, None], supports[:, None, :]])
        gradients = np.einsum("bp,bpn->bn", vectors[:, :, -1], matrix[supports])
        gains = entering_value(values[:, -1, None], gradients, diagonal)
        gains[np.arange(len(supports))[:, None], supports] = -np.inf
        supports = np.hstack([supports, gains.argmax(axis=1)[:, None]])
    return supports


def eliminate(matrix: Array, size: int) -> IntArray:
    """Greedy backward elimination: drop the smallest loadings, a quarter of them at a time."""
    support = np.arange(len(matrix))
    while len(support) > size:
        vector = np.linalg.eigh(matrix[np.ix_(support, support)])[1][:, -1]
        kept = max(size, (3 * len(support)) // 4)
        support = np.sort(support[np.argsort(-np.abs(vector), kind="stable")[:kept]])
    return support


def entering_value(value: Array, gradient: Array, diagonal: Array) -> Array:
    """Larger eigenvalue of ``[[value, g], [g, d]]``: what index j at least brings to a support."""
    half = 0.5 * (value - diagonal)
    return 0.5 * (value + diagonal) + np.sqrt(half * half + gradient * gradient)


def swap_search(
    matrix: Array, support: IntArray, allowed: IntArray, fixed: int = 0, rounds: int = 30
) -> IntArray:
    """Exchange one index at a time while that improves ``λmax`` on the support.

    Parameters
    ----------
    matrix : array of shape (n, n)
    support : integer array
        Its first ``fixed`` indices stay.
    allowed : integer array
        Indices that may enter.
    """
    p = len(support)
    movable = p - fixed
    if movable == 0 or p >= len(allowed):
        return support
    diagonal = matrix.diagonal()[allowed]
    value = float(np.linalg.eigvalsh(matrix[np.ix_(support, support)])[-1])
    for _ in range(rounds):
        # Row i is the support without its i-th movable index.
        without = np.array([np.delete(support, fixed + i) for i in range(movable)])
        without = without.reshape(movable, p - 1)
        if p > 1:
            stacks = matrix[without[:, :, None], without[:, None, :]]
            values, vectors = np.linalg.eigh(stacks)
            rows = matrix[without][:, :, allowed]
            gradients = np.einsum("bp,bpn->bn", vectors[:, :, -1], rows)
            gains = entering_value(values[:, -1, None], gradients, diagonal)
        else:
            gains = np.broadcast_to(diagonal, (movable, len(allowed))).copy()
        gains[:, np.isin(allowed, support)] = -np.inf
        best = _best_swap(matrix, without, allowed, gains, value)
        if best is None:
            break
        support, value = best
    return support


def _best_swap(
    matrix: Array, without: IntArray, allowed: IntArray, gains: Array, value: float
) -> tuple[IntArray, float] | None:
    """Try the most promising swaps exactly; None if no swap tested improves on ``value``."""
    threshold = value + 1e-12 * abs(value)
    order = np.argsort(-gains, axis=None, kind="stable")
    order = order[: np.count_nonzero(np.isfinite(gains))]
    for tried in (order[:12], order[12:SWAPS_TESTED]):
        if len(tried) == 0:
            return None
        leaving, entering = np.divmod(tried, gains.shape[1])
        supports = np.hstack([without[leaving], allowed[entering][:, None]])
        if len(tried) > 12:
            supports = supports[~rigor.proved_below_on_supports(matrix, supports, threshold)]
            if len(supports) == 0:
                return None
        values = np.linalg.eigvalsh(matrix[supports[:, :, None], supports[:, None, :]])[:, -1]
        leader = int(np.argmax(values))
        if values[leader] > threshold:
            return supports[leader], float(values[leader])
    return None
