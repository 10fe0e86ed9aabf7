"""The bound of a node from multipliers, made rigorous.

Multipliers ``(W, A, s, N)`` with ``W ⪰ 0``, ``s > 0``, ``|N_ij| ≤ W_ij + A_ij + A_ji`` and
``N_ii = W_ii + 2A_ii`` prove, with ``M = Q - N + Diag(‖a_i‖²/s_i)`` and ``c_i = W_ii + s_i``, that
every feasible x on a support T satisfies ``xᵀQx ≤ xᵀMx + Σ_{i∈T} c_i``.  Deleting rows and columns
keeps them feasible, so one proof serves a whole subtree.  See ``docs/theory/strong-bound.md``.

Here the multipliers of the first-order method, feasible up to rounding, become a proof that is
feasible exactly: W is lifted until a shifted Cholesky factorisation shows it to be positive
semidefinite, N is clipped strictly inside its limits, and the rounding left in M is a radius.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from orthospca import rigor
from orthospca._typing import Array, BoolArray, IntArray
from orthospca.bounds import leading_pair, rounded_up
from orthospca.problem import Subproblem
from orthospca.relaxation import Multipliers
from orthospca.screening import best_sums


@dataclass(frozen=True, eq=False)
class Proof:
    """``xᵀQx ≤ xᵀMx + Σ_{i∈T} costs_i`` for every x on T ⊆ indices.

    Attributes
    ----------
    indices : integer array, ascending
    matrix : array
        M on these indices.
    radius : float
        Rounding error of an entry of M.
    costs : array
        Rounded up.
    cover : array or None
        A vector w with ``w wᵀ ⪯ W``, proved; it prices variables outside ``indices``.
    """

    indices: IntArray
    matrix: Array
    radius: float
    costs: Array
    cover: Array | None = None

    def restrict(self, kept: IntArray) -> Proof:
        """Return the proof on a subset of the indices."""
        if len(kept) == len(self.indices):
            return self
        at = np.searchsorted(self.indices, kept)
        cover = None if self.cover is None else self.cover[at]
        return Proof(kept, self.matrix[np.ix_(at, at)], self.radius, self.costs[at], cover)


@dataclass(frozen=True, eq=False)
class Eigenpart:
    """Largest eigenvalue of M on the complement of the previous components.

    Attributes
    ----------
    estimate : float
    upper : float
        Proved.
    direction : array
    """

    estimate: float
    upper: float
    direction: Array


def make_proof(
    matrix: Array, indices: IntArray, multipliers: Multipliers, pattern: Array | None = None
) -> Proof | None:
    """Turn multipliers into a rigorous proof; None if W is too far from positive semidefinite.

    Parameters
    ----------
    matrix : array
        Q on ``indices``.
    indices : integer array
    multipliers : Multipliers
    pattern : array, optional
        If given, the proof carries a ``cover`` shaped like ``W @ pattern``.
    """
    n = len(matrix)
    W, A, s = multipliers.W, multipliers.A, multipliers.s
    cover = None
    reduced = W
    if pattern is not None:
        image = W @ pattern
        form = float(pattern @ image)
        # Slightly shorter than the ellipsoid allows, so that rounding does not spoil W - wwᵀ ⪰ 0.
        cover = image * (0.999 / math.sqrt(form)) if form > 0 else np.zeros(n)
        reduced = W - np.outer(cover, cover)
    lift = _psd_lift(reduced)
    if lift is None:
        return None
    W_diagonal = W.diagonal() + lift
    # Limits of N, lowered by more than their rounding; where one is negative, A is raised.
    both = A + A.T
    size = np.abs(W) + np.abs(A) + np.abs(A.T)
    limits = W + both - 8 * rigor.UNIT * size
    lack = np.maximum(-limits, 0.0)
    np.fill_diagonal(lack, 0.0)
    if lack.any():
        A = A + 0.5 * lack * (1 + 8 * rigor.UNIT)
        limits = np.maximum(limits, 0.0)
    N = np.clip(multipliers.N, -limits, limits)
    squares = np.einsum("ij,ij->i", A, A) / s * (1 + 2 * (n + 8) * rigor.UNIT)
    diagonal = matrix.diagonal() - W_diagonal - 2 * A.diagonal() + squares
    M = matrix - 0.5 * (N + N.T)
    M[np.diag_indices(n)] = diagonal
    largest = float(np.abs(matrix).max() + size.max() + lift + squares.max())
    costs = (W_diagonal + s) * (1 + 4 * rigor.UNIT) + rigor.TINY
    return Proof(indices, M, 8 * rigor.UNIT * largest, costs, cover)


def _psd_lift(matrix: Array) -> float | None:
    """Return a small δ with ``matrix + δI`` proved positive semidefinite."""
    n = len(matrix)
    size = float(np.abs(matrix.diagonal()).sum())
    lift = 8 * rigor.cholesky_shift(n, size)
    for _ in range(8):
        lifted = matrix.copy()
        lifted[np.diag_indices(n)] += lift
        # The rounding of `matrix` itself, and of the addition, is part of the radius.
        if rigor.proves_positive_definite(lifted, 4 * rigor.UNIT * size / max(n, 1)):
            return lift
        lift *= 8
    return None


def eigenpart(problem: Subproblem, proof: Proof) -> Eigenpart:
    """Bound ``λmax(M)`` on the complement of the previous components, rigorously."""
    restricted = problem.touching(proof.indices)
    matrix, radius = proof.matrix, proof.radius
    if restricted.shape[1]:
        level = float(np.linalg.eigvalsh(matrix)[0]) - 0.1 * problem.scale
        matrix, more = rigor.constrain(matrix, restricted, level)
        radius += float(more)
    estimate, direction = leading_pair(matrix)
    return Eigenpart(estimate, rigor.upper_eigenvalue(matrix, estimate, radius), direction)


@dataclass(frozen=True, eq=False)
class Fixing:
    """What the costs say of a node: its bound, and which indices must be in or out.

    Attributes
    ----------
    upper : float
        Proved bound on the node.
    out, into : boolean arrays
        Free indices that no support above the cutoff contains, and those that all of them do.
    removed_upper : float
        Proved bound on the supports that the fixing removes.
    """

    upper: float
    out: BoolArray
    into: BoolArray
    removed_upper: float


def fix_by_costs(
    eigenvalue: float, costs: Array, inside: BoolArray, size: int, cutoff: float
) -> Fixing:
    """Bound a node by ``eigenvalue + (largest total cost of a support)`` and fix by reduced costs.

    Parameters
    ----------
    eigenvalue : float
        Proved bound on λmax(M).
    costs : array
    inside : boolean array
        Indices that are included already.
    size : int
        Size of a support.
    cutoff : float
    """
    total, with_each = best_sums(costs, inside, size)
    slack = 4 * (size + 8) * rigor.UNIT * (abs(eigenvalue) + abs(total)) + rigor.TINY
    upper = eigenvalue + total + slack
    with_upper = eigenvalue + with_each + slack
    out = ~inside & (with_upper <= cutoff)
    without_upper = eigenvalue + _sums_without(costs, inside, size, total) + slack
    into = ~inside & ~out & (without_upper <= cutoff)
    removed = max(
        float(np.max(with_upper, where=out, initial=-math.inf)),
        float(np.max(without_upper, where=into, initial=-math.inf)),
    )
    return Fixing(rounded_up(upper, 4), out, into, removed)


def _sums_without(costs: Array, inside: BoolArray, size: int, total: float) -> Array:
    """Largest total over supports that do not contain each free index."""
    free = np.flatnonzero(~inside)
    room = min(size - (len(costs) - len(free)), len(free))
    result = np.full(len(costs), total)
    if room <= 0:
        return result
    order = free[np.argsort(-costs[free], kind="stable")]
    chosen = order[:room]
    following = costs[order[room]] if room < len(order) else 0.0
    result[chosen] = total - costs[chosen] + following
    return result
