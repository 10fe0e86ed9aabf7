"""Upper bounds of a node from eigenvalues, rows, norms and traces (the paper's own bounds).

Each is a proved bound: sums are rounded up, and the eigenvalue is confirmed by ``rigor``.  Proofs
are in ``docs/theory/classical-bounds.md``.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from scipy.linalg import eigh

from orthospca._typing import Array, BoolArray, IntArray
from orthospca.model.limits import Watch
from orthospca.model.nodes import Node, NodeBound
from orthospca.model.stage import Subproblem
from orthospca.numerics import rigor
from orthospca.numerics.rounding import TINY, add_up, mul_up, raised, root_of_squares_up
from orthospca.numerics.sums import strongest_sums
from orthospca.supports.heuristics import round_to_support


def gershgorin_bound(matrix: Array, size: int) -> float:
    """The largest ``Q_ii + Σ (size - 1 largest |Q_ij|)`` bounds λmax on every such support."""
    diagonal, strengths = matrix.diagonal(), strongest_sums(matrix, size - 1)
    # A row with nothing beside its diagonal is its own bound, without any rounding.
    bounds = raised(diagonal + strengths, size + 2, np.abs(diagonal) + strengths)
    return float(np.where(strengths == 0.0, diagonal, bounds).max())


def frobenius_bound(matrix: Array, size: int) -> float:
    """Return the root of the ``size`` largest row sums of squares (with size - 1 others each)."""
    squares = matrix * matrix
    rows = squares.diagonal() + strongest_sums(squares, size - 1)
    total = float(np.partition(rows, len(rows) - size)[len(rows) - size :].sum())
    return root_of_squares_up(total, size * size)


def norm_bounds(shift: float, squares: Array, size: int, radius: float = 0.0) -> Array:
    """``μ + ‖Q_T - μI‖_F`` bounds λmax on a support; any μ is valid.

    Parameters
    ----------
    shift : float
        The μ.
    squares : array
        Squared norms: sums of up to ``size²`` squares.
    size : int
        Size of a support.
    radius : float
        How far each entry may be from the true one.
    """
    roots = raised(np.sqrt(np.maximum(squares, 0.0) + TINY), size * size + 4) + size * radius
    return raised(shift + roots, 4, abs(shift) + roots)


def trace_bound(diagonal: Array, included: BoolArray, size: int) -> float:
    """Sum of the included diagonal entries and the largest others; valid if the matrix is PSD.

    Parameters
    ----------
    diagonal : array
    included : boolean array
    size : int
        Size of a support.
    """
    chosen = float(diagonal[included].sum())
    rest = np.sort(diagonal[~included])[::-1][: size - int(np.count_nonzero(included))]
    return raised(chosen + float(np.maximum(rest, 0.0).sum()), size)


def psd_deficit(matrix: Array) -> float | None:
    """Return a small δ ≥ 0 with ``matrix + δI`` proved PSD; None if indefinite beyond rounding."""
    n = len(matrix)
    trace = float(matrix.diagonal().sum())
    if trace < 0 or matrix.diagonal().min() < 0:
        return None
    deficit = 4 * rigor.cholesky_shift(n, trace)
    for _ in range(4):
        lifted = matrix.copy()
        lifted[np.diag_indices(n)] += deficit
        if rigor.proves_positive_definite(lifted):
            return deficit
        deficit *= 16
    return None


def leading_pair(matrix: Array) -> tuple[float, Array]:
    """Return the largest eigenvalue (an estimate) and its eigenvector."""
    n = len(matrix)
    if n >= 40:
        with suppress(np.linalg.LinAlgError):  # the subset driver gives up on a few matrices
            values, vectors = eigh(matrix, subset_by_index=[n - 1, n - 1], check_finite=False)
            return float(values[-1]), vectors[:, -1]
    values, vectors = np.linalg.eigh(matrix)
    return float(values[-1]), vectors[:, -1]


def eigenvalue_bound(problem: Subproblem, allowed: IntArray) -> tuple[float, Array]:
    """Proved bound from the eigenvalue on the complement of the restricted components.

    Returns
    -------
    upper : float
    direction : array of shape (len(allowed),)
        The leading eigenvector, to round and to branch on.
    """
    matrix = problem.covariance[np.ix_(allowed, allowed)]
    restricted = problem.touching(allowed)
    if restricted.shape[1] == 0:
        estimate, direction = leading_pair(matrix)
        return rigor.upper_eigenvalue(matrix, estimate), direction
    # Below every eigenvalue, so that the range of the components never holds the maximum.
    level = -1.1 * float(np.abs(matrix).sum(axis=1).max()) - TINY
    constrained, radius = rigor.constrain(matrix, restricted, level)
    estimate, direction = leading_pair(constrained)
    return rigor.upper_eigenvalue(constrained, estimate, float(radius)), direction


class ClassicalBound:
    """The cheapest of Gershgorin, Frobenius and (if PSD) trace, then the eigenvalue."""

    def __init__(self, problem: Subproblem) -> None:
        self.problem = problem
        self.deficit = psd_deficit(problem.covariance)

    def __call__(self, node: Node, cutoff: float, watch: Watch) -> NodeBound:
        """Bound a node; the eigenvalue is computed only if the cheap bounds do not suffice."""
        problem = self.problem
        upper = self.cheap(node)
        if upper <= cutoff:
            return NodeBound(upper, node.included, node.allowed)
        eigenvalue, direction = eigenvalue_bound(problem, node.allowed)
        weight = np.where(np.isin(node.allowed, node.included), -1.0, np.abs(direction))
        return NodeBound(
            min(eigenvalue, upper),
            node.included,
            node.allowed,
            branch=int(node.allowed[np.argmax(weight)]),
            supports=(round_to_support(problem, direction, node.included, node.allowed),),
        )

    def cheap(self, node: Node) -> float:
        """The best bound that needs no eigenvalue, on the adjusted covariance."""
        problem, size = self.problem, self.problem.sparsity
        matrix = problem.projected[np.ix_(node.allowed, node.allowed)]
        upper = min(gershgorin_bound(matrix, size), frobenius_bound(matrix, size))
        if self.deficit is not None:
            included = np.isin(node.allowed, node.included)
            trace = trace_bound(matrix.diagonal(), included, size)
            upper = min(upper, raised(trace + size * self.deficit, 4))
        return add_up(upper, mul_up(size, problem.projected_radius))
