"""Large n: variables priced out of a proof instead of taking part in the relaxation.

The relaxation is solved on an active set S that contains the supports of all previous components.
For the other variables J the proof is extended by hand.  With ``w wᵀ ⪯ W_S`` and numbers
``ρ_j ≥ 0`` the matrix W stays positive semidefinite if ``W_jS = ρ_j w`` and ``W_jk = ρ_j ρ_k``.
Take ``a_jS = max(|Q_jS| - ρ_j w, 0)``, so that row j decouples from S, and ``s_j = σ_j``.  Then,
with ``‖a_j‖²`` standing for the p - 1 largest squares (no support has room for more besides j),

    M_jj = Q_jj - ρ_j² + ‖a_j‖² / σ_j,     |M_jk| = max(|Q_jk| - ρ_j ρ_k, 0)     (j, k in J),

a soft-thresholded covariance, and by Gershgorin its rows stay below λ, the eigenvalue on S, as soon
as ``σ_j ≥ ‖a_j‖² / (λ - Q_jj + ρ_j² - Σ_k |M_jk|)``.  The price of j is ``c_j = ρ_j² + σ_j``: no
relaxation is needed as long as it does not enter the p largest, and a small price rules the
variable out for good.  See ``docs/theory/pricing.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.bounds.relaxation.proof import Proof
from orthospca.numerics.rounding import dot_radius, raised, relative_error

#: Trial values of ρ², relative to the price of the last variable that counts.
TRIALS = (0.0, 0.01, 0.03, 0.06, 0.1, 0.16, 0.25, 0.4, 0.6, 0.8)
#: Rounds in which the ρ of all variables are adapted to each other.
ROUNDS = 4
#: Rows of Q looked at together.
TILE = 512


@dataclass(frozen=True, eq=False)
class Lump:
    """Variables outside the active set, with what does not change from node to node.

    Attributes
    ----------
    indices : integer array, ascending
    roots : array
        The ρ of each variable.
    outside : array
        ``Σ_k max(|Q_jk| - ρ_j ρ_k, 0)`` over the lump, rounded up.
    size : int
        Largest size of a support.
    """

    indices: IntArray
    roots: Array
    outside: Array
    size: int

    def restrict(self, kept: IntArray) -> Lump:
        """Return a part of the lump; the sums over the whole lump stay valid."""
        if len(kept) == len(self.indices):
            return self
        at = np.searchsorted(self.indices, kept)
        return Lump(kept, self.roots[at], self.outside[at], self.size)

    def prices(self, Q: Array, proof: Proof, eigenvalue: float) -> Array:
        """Return the price of each variable; ``inf`` where it cannot be priced out.

        Parameters
        ----------
        Q : array of shape (n, n)
        proof : Proof
            On the active set, with a cover.
        eigenvalue : float
            Proved bound on the eigenvalue on the active set; the rows of the lump stay below it.
        """
        excess = _excess(Q, self.indices, proof, self.roots, self.size - 1)
        room = eigenvalue - Q.diagonal()[self.indices] + self.roots**2 - self.outside
        # Rounding of the room, whose terms may cancel.
        sizes = abs(eigenvalue) + np.abs(Q.diagonal()[self.indices]) + self.roots**2
        room -= dot_radius(4, sizes + self.outside)
        return _price(self.roots, excess, room)


def make_lump(
    Q: Array, indices: IntArray, proof: Proof, eigenvalue: float, last_price: float, size: int
) -> Lump:
    """Choose the ρ of variables outside the active set so that their prices are small.

    Parameters
    ----------
    Q : array of shape (n, n)
    indices : integer array
        The variables.
    proof : Proof
        On the active set, with a cover.
    eigenvalue : float
        Bound on the eigenvalue on the active set.
    last_price : float
        The smallest price among those that enter the bound.
    size : int
        Largest size of a support.
    """
    trials = np.sqrt(np.array(TRIALS) * max(last_price, 0.0))
    excesses = np.array([_excess(Q, indices, proof, root, size - 1) for root in trials])
    room = eigenvalue - Q.diagonal()[indices]
    outside = np.zeros(len(indices))
    for _ in range(ROUNDS):
        prices = np.array(
            [
                _price(root, excess, room + root**2 - outside)
                for root, excess in zip(trials, excesses, strict=True)
            ]
        )
        choice = prices.argmin(axis=0)
        # Where nothing works yet, a large ρ at least frees the neighbours.
        choice[~np.isfinite(prices.min(axis=0))] = len(trials) - 1
        roots = trials[choice]
        outside = _outside(Q, indices, roots)
    return Lump(indices, roots, outside, size)


def pattern_of(Q: Array, active: IntArray, lump: IntArray) -> Array:
    """Return the typical ``|Q_jS|``, dominated by the rows that are hardest to price out."""
    total = np.zeros(len(active))
    weight = 0.0
    for start in range(0, len(lump), TILE):
        rows = np.abs(Q[np.ix_(lump[start : start + TILE], active)])
        squares = np.einsum("jk,jk->j", rows, rows)
        total += squares @ rows
        weight += float(squares.sum())
    return total / weight if weight > 0 else np.ones(len(active))


def _price(roots: Array | float, excess: Array, room: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        sigma = raised(np.where(room > 0, excess / room, math.inf), 28)
    return (roots**2 + sigma) * (1 + relative_error(0))


def _excess(Q: Array, lump: IntArray, proof: Proof, roots: Array | float, count: int) -> Array:
    """Sum of the ``count`` largest squares of ``max(|Q_jS| - ρ_j w, 0)``, rounded up."""
    if proof.cover is None:
        raise ValueError("proof must carry a cover, got none")
    result = np.empty(len(lump))
    roots = np.broadcast_to(roots, len(lump))
    for start in range(0, len(lump), TILE):
        part = slice(start, start + TILE)
        rows = np.abs(Q[np.ix_(lump[part], proof.indices)])
        largest = rows.max(initial=0.0) + roots.max() * np.abs(proof.cover).max(initial=0.0)
        slack = dot_radius(0, float(largest))
        rows -= roots[part, None] * proof.cover
        np.maximum(rows + slack, 0.0, out=rows)
        if count < rows.shape[1]:
            rows.partition(rows.shape[1] - max(count, 1), axis=1)
            rows = rows[:, rows.shape[1] - count :]
        result[part] = np.einsum("jk,jk->j", rows, rows)
    return result * (1 + relative_error(len(proof.indices) + 4))


def _outside(Q: Array, lump: IntArray, roots: Array) -> Array:
    """``Σ_{k≠j} max(|Q_jk| - ρ_j ρ_k, 0)`` over the lump, rounded up."""
    result = np.empty(len(lump))
    for start in range(0, len(lump), TILE):
        part = slice(start, start + TILE)
        rows = np.abs(Q[np.ix_(lump[part], lump)])
        rows[np.arange(len(rows)), np.arange(start, start + len(rows))] = 0.0
        slack = dot_radius(0, float(rows.max(initial=0.0) + roots.max() ** 2)) * len(lump)
        rows -= np.outer(roots[part], roots)
        np.maximum(rows, 0.0, out=rows)
        result[part] = raised(rows.sum(axis=1), len(lump) + 4) + slack
    return result
