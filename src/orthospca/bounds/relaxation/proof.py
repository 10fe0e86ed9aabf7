"""The bound of a node from multipliers, made rigorous.

Multipliers ``(W, A, s, N)`` with ``W ⪰ 0``, ``s > 0``, ``|N_ij| ≤ W_ij + A_ij + A_ji`` and
``N_ii = W_ii + 2A_ii`` prove, with ``M = Q - N + Diag(r_i/s_i)`` and ``c_i = W_ii + s_i``, that
every feasible x on a support T satisfies ``xᵀQx ≤ xᵀMx + Σ_{i∈T} c_i``.  Here r_i bounds
``‖a_i‖²`` with a_i restricted to a support that contains i: its p largest squares.  Deleting rows
and columns keeps them feasible, so one proof serves a whole subtree.  The derivation is in
``docs/theory/strong-bound.md``.

Here the multipliers of the first-order method, feasible up to rounding, become a proof that is
feasible exactly: W is lifted until a shifted Cholesky factorisation shows it to be positive
semidefinite, N is clipped strictly inside its limits, and the rounding left in M is a radius.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from orthospca._typing import Array, BoolArray, IntArray
from orthospca.bounds.classical import leading_pair
from orthospca.bounds.relaxation.solver import Multipliers
from orthospca.model.stage import Subproblem
from orthospca.numerics import rigor
from orthospca.numerics.rounding import UNIT, dot_radius, raised, relative_error
from orthospca.numerics.sums import best_sums, row_sums, sums_without


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
    matrix: Array,
    indices: IntArray,
    multipliers: Multipliers,
    inside: BoolArray,
    size: int,
    pattern: Array | None = None,
) -> Proof | None:
    """Turn multipliers into a rigorous proof; None if W is too far from positive semidefinite.

    Parameters
    ----------
    matrix : array
        Q on ``indices``.
    indices : integer array
    multipliers : Multipliers
    inside : boolean array
        The included indices: the proof speaks of supports that contain them.
    size : int
        Largest size of a support.
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
    # The rounding of W - wwᵀ scales with W, however small the difference is.
    lift = _psd_lift(reduced, float(np.abs(W.diagonal()).sum()))
    if lift is None:
        return None
    W_diagonal = W.diagonal() + lift
    # Limits of N, lowered by more than their rounding; where one is negative, A is raised.
    both = A + A.T
    magnitudes = np.abs(W) + np.abs(A) + np.abs(A.T)
    limits = W + both - relative_error(0) * magnitudes
    lack = np.maximum(-limits, 0.0)
    np.fill_diagonal(lack, 0.0)
    if lack.any():
        A = A + 0.5 * lack * (1 + relative_error(0))
        limits = np.maximum(limits, 0.0)
    N = np.clip(multipliers.N, -limits, limits)
    # Only the entries of a_i on a support count, and a support has `size` of them.
    squares = row_sums(A * A, inside, size) / s * (1 + relative_error(n + 4))
    diagonal = matrix.diagonal() - W_diagonal - 2 * A.diagonal() + squares
    M = matrix - 0.5 * (N + N.T)
    M[np.diag_indices(n)] = diagonal
    largest = float(max(np.abs(m).max(initial=0.0) for m in (matrix, magnitudes, squares)))
    largest = 3 * largest + lift
    costs = raised(W_diagonal + s, 1)
    return Proof(indices, M, relative_error(0) * largest, costs, cover)


def _psd_lift(matrix: Array, size: float | None = None) -> float | None:
    """Return a small δ with ``matrix + δI`` proved PSD; entries are off by up to 4·u·size."""
    n = len(matrix)
    if size is None:
        size = float(np.abs(matrix.diagonal()).sum())
    lift = 8 * (rigor.cholesky_shift(n, size) + n * UNIT * size)
    for _ in range(8):
        lifted = matrix.copy()
        lifted[np.diag_indices(n)] += lift
        if rigor.proves_positive_definite(lifted, 4 * UNIT * size):
            return lift
        lift *= 8
    return None


def eigenpart(problem: Subproblem, proof: Proof) -> Eigenpart:
    """Bound ``λmax(M)`` on the complement of the previous components, rigorously."""
    if len(proof.indices) == 0:
        return Eigenpart(-math.inf, -math.inf, np.zeros(0))
    restricted = problem.touching(proof.indices)
    matrix, radius = proof.matrix, proof.radius
    if restricted.shape[1]:
        level = float(np.linalg.eigvalsh(matrix)[0]) - 0.1 * float(np.abs(matrix).max())
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
    if not np.isfinite(costs).all():
        # Something could not be priced: nothing is known of the node.
        nothing = np.zeros(len(costs), dtype=bool)
        return Fixing(math.inf, nothing, nothing, -math.inf)
    total, with_each = best_sums(costs, inside, size)
    slack = 2 * dot_radius(size + 4, abs(eigenvalue) + abs(total))
    upper = eigenvalue + total + slack
    with_upper = eigenvalue + with_each + slack
    out = ~inside & (with_upper <= cutoff)
    without_upper = eigenvalue + sums_without(costs, inside, size, total) + slack
    into = ~inside & ~out & (without_upper <= cutoff)
    removed = max(
        float(np.max(with_upper, where=out, initial=-math.inf)),
        float(np.max(without_upper, where=into, initial=-math.inf)),
    )
    return Fixing(raised(upper, 4), out, into, removed)
