"""What can be ruled out before any search, from the rows of the matrix and an incumbent.

Suppose a support T of at most p indices has ``λ = λmax(Q_T) > L``, and let i be the index of the
largest entry of its leading vector.  Row i of the eigenvalue equation gives ``λ - Q_ii ≤ Σ |Q_ij|``
over the other j in T.  So i is a *candidate row*, ``Q_ii + (p - 1 largest |Q_ij|) > L``, and every
other member of T lies in its *neighbourhood*, ``|Q_ij| > L - Q_ii - (p - 2 largest |Q_ij|)``.

Within a neighbourhood the Frobenius norm rules out more.  For every number μ,
``λ ≤ μ + ‖Q_T - μI‖_F``, the squared norm is a sum over the rows k in T, and the part of a row is
at most ``(Q_kk - μ)²`` plus its p - 1 largest other squares: a cost of having k in the support, so
that an index is out if the dearest support with it stays below L.  The best μ for a support with
mean diagonal m and ``K = Σ_{i≠j} Q_ij² + Σ (Q_ii - m)²`` is ``m - √(K / (p(p - 1)))``.

Under orthogonality the adjusted covariance takes the place of Q.  See ``docs/theory/screening.md``.
"""

from __future__ import annotations

import math

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.model.stage import Subproblem
from orthospca.numerics.rounding import dot_radius


def best_shift(matrix: Array) -> float:
    """Return the μ that makes ``μ + ‖matrix - μI‖_F`` smallest."""
    p = len(matrix)
    if p == 1:
        return float(matrix[0, 0])
    mean = float(matrix.diagonal().mean())
    spread = float((matrix * matrix).sum()) - p * mean * mean
    return mean - math.sqrt(max(spread, 0.0) / (p * (p - 1)))


def row_slack(problem: Subproblem) -> Array:
    """What rounding may take from ``Q_ii + Σ |Q_ij|`` over a support, for each row."""
    p = problem.sparsity
    magnitudes = np.abs(problem.projected.diagonal()) + problem.row_strengths
    return dot_radius(p, magnitudes) + 2 * p * problem.projected_radius


def neighbours(
    matrix: Array, row: int, size: int, cutoff: float, slack: float
) -> tuple[IntArray, float]:
    """Return the row with the indices that a support led by it may contain; a bound on others."""
    if size == 1:
        return np.array([row]), -math.inf
    magnitudes = np.abs(matrix[row])
    magnitudes[row] = 0.0
    strongest = float(np.sort(magnitudes)[::-1][: size - 2].sum())
    reach = matrix[row, row] + strongest + magnitudes + slack
    near = reach > cutoff
    near[row] = True
    return np.flatnonzero(near), float(np.max(reach, where=~near, initial=-math.inf))
