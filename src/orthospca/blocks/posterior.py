"""Proved bounds on the stages of the original matrix, from those of its blocks.

With ``Q = A + E``, A block-diagonal and ``U_b`` a proved bound of block b given the components
before, a feasible vector x of which block b holds the part ``x_b``, on ``q_b`` indices, has

    xᵀQx ≤ Σ_b ‖x_b‖² U_b + xᵀEx,   Σ_b ‖x_b‖² = 1,   Σ_b q_b ≤ p.

Everything here is a way to bound the right side, or to bound ``xᵀQx`` without the blocks.  Proofs
are in ``docs/theory/decomposition.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from orthospca._typing import Array, BoolArray, IntArray
from orthospca.blocks.partition import Blocks
from orthospca.bounds.classical import (
    eigenvalue_bound,
    frobenius_bound,
    gershgorin_bound,
    norm_bounds,
    row_bounds,
    shifted_squares,
)
from orthospca.bounds.screening import best_shift, neighbours, row_slack
from orthospca.model.stage import Subproblem
from orthospca.model.tuning import BlockTuning
from orthospca.numerics.rounding import add_up, mul_up, raised
from orthospca.numerics.sums import best_sums, row_sums


class PosteriorBound:
    """Bounds on ``xᵀQx``, given what is proved of the blocks.

    Parameters
    ----------
    covariance : array of shape (n, n)
        The original Q.
    blocks : Blocks
    tuning : BlockTuning

    Attributes
    ----------
    lossless : bool
        Whether A = Q.
    cross, inside : float
        Largest magnitudes of E between blocks and inside them.
    """

    def __init__(
        self, covariance: Array, blocks: Blocks, tuning: BlockTuning | None = None
    ) -> None:
        self.tuning = tuning or BlockTuning()
        self.covariance = covariance
        self.blocks = blocks
        self._remainder = blocks.remainder(covariance)
        self.lossless = not self._remainder.any()
        self.cross, self.inside = 0.0, 0.0
        if not self.lossless:
            self.cross, self.inside = self._magnitudes(np.arange(len(covariance)))
        self._remainder_bound = lru_cache(maxsize=None)(self._bound_remainder)
        self._cap = lru_cache(maxsize=None)(self._bound_small)

    def a_priori(self, sparsity: int) -> float:
        """Bound on ``|xᵀEx|``, from the magnitudes alone: ``(p-1)δ'``, or ``pδ'`` as printed."""
        if self.inside > 0:
            return mul_up(sparsity, max(self.cross, self.inside))
        return mul_up(sparsity - 1, self.cross) if self.cross > 0 else 0.0

    def bound(self, problem: Subproblem, uppers: Array, value: float, cutoff: float) -> float:
        """Return the smallest bound of the stage found until one is at most the cutoff.

        Parameters
        ----------
        problem : Subproblem
            The stage of the original matrix.
        uppers : array of shape (n_blocks,)
            Proved bounds of the blocks; ``-inf`` where no feasible vector is left.
        value : float
            Variance of the component in hand.
        cutoff : float
            A bound up to this one is as good as any.
        """
        best = float(uppers.max())
        if self.lossless:
            return best
        p = problem.sparsity
        best = add_up(best, min(self.a_priori(p), self._remainder_bound(p)))
        best = min(best, self.by_groups(uppers, p, self.cross, self.inside))
        if best > cutoff:
            best = min(best, self.by_rows(problem, uppers, best, value, cutoff))
        if best > cutoff and problem.n_features <= self.tuning.large:
            best = min(best, eigenvalue_bound(problem, np.arange(problem.n_features))[0])
        return best

    def by_groups(
        self,
        uppers: Array,
        sparsity: int,
        cross: float,
        inside: float,
        touched: BoolArray | None = None,
    ) -> float:
        """As :func:`group_bound`, with what is known of blocks on few indices."""
        if touched is not None:
            uppers = np.where(touched, uppers, -math.inf)
        return group_bound(uppers, sparsity, cross, inside, self._cap, self.tuning.groups)

    def by_rows(
        self, problem: Subproblem, uppers: Array, best: float, value: float, cutoff: float
    ) -> float:
        """Gershgorin, shifted Frobenius, and the blocks of each candidate row's neighbourhood."""
        matrix, p = problem.projected, problem.sparsity
        radius, slack = problem.projected_radius, row_slack(problem)
        row_uppers = row_bounds(matrix.diagonal(), problem.row_strengths, p, radius)
        best = min(best, float(row_uppers.max()))
        support = _leading_support(matrix, row_uppers, p)
        shift = best_shift(matrix[np.ix_(support, support)])
        best = min(best, shifted_frobenius(matrix, p, shift, radius))
        low, high = max(cutoff, value), best
        level = low
        for _ in range(self.tuning.levels):
            if best <= cutoff or low >= high:
                break
            found = self._screened(problem, uppers, row_uppers, slack, level)
            best = min(best, found)
            # Neighbourhoods shrink as the level rises; what is screened away is below the level.
            low, high = (level, high) if found > level else (low, level)
            level = 0.5 * (low + min(high, best))
        return best

    def _screened(
        self, problem: Subproblem, uppers: Array, row_uppers: Array, slack: Array, level: float
    ) -> float:
        """Bound all supports: those above the level lie in neighbourhoods of candidate rows."""
        candidates = np.flatnonzero(row_uppers > level)
        if len(candidates) > self.tuning.candidates:
            return math.inf
        upper = float(np.max(row_uppers, where=row_uppers <= level, initial=-math.inf))
        p = problem.sparsity
        for row in candidates:
            allowed, far = neighbours(problem.projected, int(row), p, level, float(slack[row]))
            upper = max(upper, far)
            cross, inside = self.cross, self.inside
            if len(allowed) <= self.tuning.large:
                cross, inside = self._magnitudes(allowed)
            touched = np.zeros(self.blocks.n_blocks, dtype=bool)
            touched[self.blocks.labels[allowed]] = True
            local = self.by_groups(uppers, p, cross, inside, touched)
            upper = max(upper, min(float(row_uppers[row]), local))
        return upper

    def _magnitudes(self, allowed: IntArray) -> tuple[float, float]:
        """Largest magnitudes of E on the allowed indices, between blocks and inside them."""
        part = np.abs(self._remainder[np.ix_(allowed, allowed)])
        labels = self.blocks.labels[allowed]
        same = labels[:, None] == labels[None, :]
        between = float(np.max(part, where=~same, initial=0.0))
        return between, float(np.max(part, where=same, initial=0.0))

    def _bound_remainder(self, sparsity: int) -> float:
        """Bound ``λmax(E_T)`` over all supports by rows and norms."""
        rows = gershgorin_bound(self._remainder, sparsity)
        norm = frobenius_bound(self._remainder, sparsity)
        if self.inside == 0 and sparsity > 1:
            # Of a matrix with trace 0: the other eigenvalues have to make up for the largest.
            norm = raised(norm * math.sqrt((sparsity - 1) / sparsity), 4)
        return min(rows, norm)

    def _bound_small(self, block: int, size: int) -> float:
        """Bound the values of a block on few indices, without orthogonality."""
        if len(self.blocks.blocks[block]) > self.tuning.large:
            return math.inf
        matrix = self.blocks.submatrix(self.covariance, block)
        size = min(size, len(matrix))
        return min(gershgorin_bound(matrix, size), frobenius_bound(matrix, size))


def group_bound(
    uppers: Array,
    sparsity: int,
    cross: float,
    inside: float,
    cap: Callable[[int, int], float] | None = None,
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
    cap : callable, optional
        Bound on a block, given how many of its indices are used.
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
        if cap is not None:
            caps = [math.inf, *(cap(block, int(q)) for q in sizes[1:])]
            alone = np.minimum(alone, caps)
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


def shifted_frobenius(matrix: Array, size: int, shift: float, radius: float = 0.0) -> float:
    """``μ + ‖Q_T - μI‖_F`` bounds λmax on every support T of that size; any μ is valid."""
    nothing = np.zeros(len(matrix), dtype=bool)
    costs = row_sums(shifted_squares(matrix, shift), nothing, size)
    total, _ = best_sums(costs, nothing, size)
    return float(norm_bounds(shift, np.array(total), size, radius))


def _leading_support(matrix: Array, row_uppers: Array, size: int) -> IntArray:
    """The most promising row with its strongest neighbours: a support to take the shift from."""
    row = int(np.argmax(row_uppers))
    magnitudes = np.abs(matrix[row])
    magnitudes[row] = math.inf
    return np.sort(np.argsort(-magnitudes, kind="stable")[:size])
