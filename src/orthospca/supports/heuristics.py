"""Lower bounds: good feasible components, quickly.

Everything works on ``problem.penalised`` (Q - κXXᵀ), whose leading vectors on a support are nearly
orthogonal to the previous components; the winner is then solved exactly on its support, in a basis
of the complement, so that what is returned is feasible to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import eigh

from orthospca._typing import Array, IntArray
from orthospca.model.stage import Subproblem
from orthospca.numerics import rigor
from orthospca.supports.best import Candidate, best_on_support, values_on_supports

#: Swaps tested exactly in one step of the local search, times the cube of their size, and those
#: that promise most.
SWAPS_WORK, MOST_SWAPS, FIRST_SWAPS = 4e6, 4000, 12


def best_of(problem: Subproblem, supports: IntArray) -> Candidate | None:
    """Solve all supports and return the best feasible vector among them."""
    values = values_on_supports(problem, supports)
    leader = int(np.argmax(values))
    return None if values[leader] == -np.inf else best_on_support(problem, supports[leader])


def polish(problem: Subproblem, candidate: Candidate) -> Candidate:
    """Fill the support of a candidate up and improve it by swaps; never worse than before."""
    matrix, p = problem.penalised, problem.sparsity
    support = problem.filled(candidate.vector)
    while len(support) < p:
        values, vectors = np.linalg.eigh(matrix[np.ix_(support, support)])
        gains = entering_value(values[-1], vectors[:, -1] @ matrix[support], matrix.diagonal())
        gains[support] = -np.inf
        support = np.append(support, np.argmax(gains))
    everything = np.arange(problem.n_features)
    support = swap_search(matrix, support, everything, fixed=problem.included)
    found = best_on_support(problem, np.sort(support))
    return candidate if found is None or found.value <= candidate.value else found


def improved_start(problem: Subproblem, supports: Sequence[IntArray]) -> Candidate | None:
    """Improve the best of some supports by a few swaps, and solve it; None if there is none.

    Only the largest of those that are not too large are looked at.  Without swaps a vector that is
    within the tolerance would be kept where another support is a little better.
    """
    everything = np.arange(problem.n_features)
    if len(problem.included):
        supports = [np.union1d(support, problem.included) for support in supports]
    if len(problem.excluded):
        supports = [s for s in supports if not np.isin(s, problem.excluded).any()]
        everything = np.setdiff1d(everything, problem.excluded)
    most = max(
        (len(support) for support in supports if len(support) <= problem.sparsity), default=0
    )
    if most == 0:
        return None
    rows = np.array([support for support in supports if len(support) == most])
    values = values_on_supports(problem, rows)
    leader = int(np.argmax(values))
    if values[leader] == -np.inf:
        return None
    fixed = problem.included
    swapped = swap_search(problem.penalised, rows[leader], everything, 30, FIRST_SWAPS, fixed)
    found = best_on_support(problem, np.sort(swapped))
    if found is None or found.value < values[leader] * (1 - 1e-9):
        # What is nearly orthogonal may not be so at all.
        return best_on_support(problem, rows[leader])
    return found


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


def eliminate(matrix: Array, size: int, fixed: IntArray | None = None) -> IntArray:
    """Greedy backward elimination: drop the smallest loadings, a quarter of them at a time.

    Some features stay.
    """
    support = np.arange(len(matrix))
    while len(support) > size:
        last = len(support) - 1
        part = matrix[np.ix_(support, support)]
        vector = eigh(part, subset_by_index=(last, last), check_finite=False)[1][:, 0]
        kept = max(size, (3 * len(support)) // 4)
        weights = np.abs(vector)
        if fixed is not None and len(fixed):
            weights[np.isin(support, fixed)] = np.inf
        support = np.sort(support[np.argsort(-weights, kind="stable")[:kept]])
    return support


def entering_value(value: Array, gradient: Array, diagonal: Array) -> Array:
    """Larger eigenvalue of ``[[value, g], [g, d]]``: what index j at least brings to a support."""
    half = 0.5 * (value - diagonal)
    return 0.5 * (value + diagonal) + np.sqrt(half * half + gradient * gradient)


def swap_search(
    matrix: Array,
    support: IntArray,
    allowed: IntArray,
    rounds: int = 30,
    tested: int = MOST_SWAPS,
    fixed: IntArray | None = None,
) -> IntArray:
    """Exchange one index at a time while that improves ``λmax`` on the support.

    Parameters
    ----------
    matrix : array of shape (n, n)
    support : integer array
    allowed : integer array
        Indices that may enter.
    rounds, tested : int
        Exchanges, and those that are tested in each round, at most.
    fixed : integer array, optional
        Indices that may not leave.
    """
    p = len(support)
    if p == 0 or p >= len(allowed):
        return support
    diagonal = matrix.diagonal()[allowed]
    value = float(np.linalg.eigvalsh(matrix[np.ix_(support, support)])[-1])
    for _ in range(rounds):
        # Row i is the support without its i-th index.
        leaving = np.arange(p)
        if fixed is not None and len(fixed):
            leaving = leaving[~np.isin(support, fixed)]
        if len(leaving) == 0:
            break
        without = np.array([np.delete(support, i) for i in leaving]).reshape(len(leaving), p - 1)
        if p > 1:
            stacks = matrix[without[:, :, None], without[:, None, :]]
            values, vectors = np.linalg.eigh(stacks)
            rows = matrix[without][:, :, allowed]
            gradients = np.einsum("bp,bpn->bn", vectors[:, :, -1], rows)
            gains = entering_value(values[:, -1, None], gradients, diagonal)
        else:
            gains = np.broadcast_to(diagonal, (len(leaving), len(allowed))).copy()
        gains[:, np.isin(allowed, support)] = -np.inf
        best = _best_swap(matrix, without, allowed, gains, value, tested)
        if best is None:
            break
        support, value = best
    return support


def _best_swap(
    matrix: Array, without: IntArray, allowed: IntArray, gains: Array, value: float, tested: int
) -> tuple[IntArray, float] | None:
    """Try the most promising swaps exactly; None if no swap tested improves on ``value``."""
    threshold = value + 1e-12 * abs(value)
    order = np.argsort(-gains, axis=None, kind="stable")
    order = order[: np.count_nonzero(np.isfinite(gains))]
    most = int(min(SWAPS_WORK / (without.shape[1] + 1) ** 3, tested))
    for tried in (order[:FIRST_SWAPS], order[FIRST_SWAPS:most]):
        if len(tried) == 0:
            return None
        leaving, entering = np.divmod(tried, gains.shape[1])
        supports = np.hstack([without[leaving], allowed[entering][:, None]])
        if len(tried) > FIRST_SWAPS:
            supports = supports[~rigor.proved_below_on_supports(matrix, supports, threshold)]
            if len(supports) == 0:
                return None
        values = np.linalg.eigvalsh(matrix[supports[:, :, None], supports[:, None, :]])[:, -1]
        leader = int(np.argmax(values))
        if values[leader] > threshold:
            return supports[leader], float(values[leader])
    return None
