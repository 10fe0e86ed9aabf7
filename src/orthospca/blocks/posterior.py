"""A proved bound on the stages of the original matrix, from those of its blocks.

With ``Q = A + E``, A block-diagonal and ``U_b`` a proved bound of block b given the components
before, a feasible vector x of which block b holds the part ``x_b``, on ``q_b`` indices, has

    xᵀQx ≤ Σ_b ‖x_b‖² U_b + xᵀEx,   Σ_b ‖x_b‖² = 1,   Σ_b q_b ≤ p.

The right side is bounded here.  The proof is in ``docs/theory/decomposition.md``.
"""

from __future__ import annotations

import math

import numpy as np

from orthospca._typing import Array
from orthospca.numerics.rounding import raised


def group_bound(
    uppers: Array,
    sparsity: int,
    cross: float,
    inside: float,
    groups: int = 8,
) -> float:
    """Split the most promising blocks off, one after another.

    Of two groups with bounds a and c on q and r indices, the value is at most the largest
    eigenvalue of ``[[a, δ'√(qr)], [δ'√(qr), c]]``.

    Parameters
    ----------
    uppers : array of shape (n_blocks,)
        Proved bounds of the blocks; ``-inf`` where no feasible vector is left.
    sparsity : int
    cross, inside : float
        Largest magnitudes of E between blocks and inside them.
    groups : int
        Blocks told apart; the others are one group.
    """
    order = np.argsort(-uppers, kind="stable")
    named = [int(b) for b in order[:groups] if uppers[b] > -math.inf]
    rest = float(uppers[order[groups]]) if len(order) > groups else -math.inf
    # A group on no index has no value at all, and neither has one without feasible vectors.
    sizes = np.arange(sparsity + 1.0)
    within = sizes * max(cross, inside) if inside > 0 else (sizes - 1) * cross
    group = np.where(sizes > 0, _sum_up(rest, within), -math.inf)
    for block in reversed(named):
        alone = np.where(sizes > 0, float(uppers[block]), -math.inf)
        if inside > 0:
            alone = _sum_up(alone, sizes * inside)
        group = _join(alone, group, cross)
    return float(group[-1])


def _join(alone: Array, others: Array, cross: float) -> Array:
    """Bounds of two groups together on 0, 1, … indices, from the bounds of each."""
    joined = np.maximum(alone, others)
    q, r = np.nonzero((alone[:, None] > -math.inf) & (others[None, :] > -math.inf))
    q, r = q[q + r < len(alone)], r[q + r < len(alone)]
    a, c, between = alone[q], others[r], cross * np.sqrt(q * r)
    top = 0.5 * (a + c) + np.hypot(0.5 * (a - c), between)
    top = raised(top, 8, np.abs(a) + np.abs(c) + between)
    np.maximum.at(joined, q + r, top)
    return np.maximum.accumulate(joined)


def _sum_up(left: Array | float, right: Array) -> Array:
    """Sums rounded up; what is infinite stays so."""
    total = np.asarray(left + right)
    magnitude = np.where(np.isfinite(total), np.abs(left) + np.abs(right), 0.0)
    return raised(total, 2, magnitude)
