"""What norms rule out before any search.

For every number μ, ``λmax(Q_T) ≤ μ + ‖Q_T - μI‖_F``.  The squared norm is a sum over the rows k in
T, and the part of a row is at most ``(Q_kk - μ)²`` plus its p - 1 largest other squares: a cost of
having k in the support, so that an index is out if the dearest support with it stays below a level.
The best μ for a support with mean diagonal m and ``K = Σ_{i≠j} Q_ij² + Σ (Q_ii - m)²`` is
``m - √(K / (p(p - 1)))``.

Under orthogonality the adjusted covariance takes the place of Q.  See ``docs/theory/screening.md``.
"""

from __future__ import annotations

import math

from orthospca._typing import Array


def best_shift(matrix: Array) -> float:
    """Return the μ that makes ``μ + ‖matrix - μI‖_F`` smallest."""
    p = len(matrix)
    if p == 1:
        return float(matrix[0, 0])
    mean = float(matrix.diagonal().mean())
    spread = float((matrix * matrix).sum()) - p * mean * mean
    return mean - math.sqrt(max(spread, 0.0) / (p * (p - 1)))
