"""The reduced eigenproblem on one support under orthogonality (the Gram-Schmidt step).

On a support Y the best unit vector orthogonal to the previous components X solves the eigenproblem
of ``NᵀQ_Y N``, where the columns of N are an orthonormal basis of the complement of the restricted
components ``X[Y]``.  Projecting instead, ``P Q_Y P``, adds a zero for each removed dimension, and
those zeros win whenever the true maximum is negative.

A singular value of ``X[Y]`` up to ``rigor.RANK_TOLERANCE`` (just below 1e-12) counts as zero: the
direction is then left free, and orthogonality is violated by no more than that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.model.stage import Subproblem
from orthospca.numerics import rigor
from orthospca.numerics.exact import variance_down
from orthospca.numerics.rounding import UNIT

#: Loadings up to this one may be rounding noise: the support is then tried without them.
SUSPICIOUS_LOADING = 1e-7


@dataclass(frozen=True, eq=False)
class Candidate:
    """A feasible vector, with its value: ``xᵀQx / xᵀx``, exact and rounded down."""

    value: float
    vector: Array

    def within(self, places: IntArray) -> Candidate | None:
        """Return the candidate in terms of some features; None if it uses another one."""
        vector = self.vector[places]
        if np.count_nonzero(vector) < np.count_nonzero(self.vector):
            return None
        return Candidate(self.value, vector)

    def embedded(self, places: IntArray, n_features: int) -> Candidate:
        """Return the candidate among all features, given where its own are."""
        vector = np.zeros(n_features)
        vector[places] = self.vector
        vector.flags.writeable = False
        return Candidate(self.value, vector)


def better_of(one: Candidate | None, other: Candidate | None) -> Candidate | None:
    """Return the candidate of larger value, the first of equal ones; None if there is none."""
    if one is None or other is None:
        return one or other
    return other if other.value > one.value else one


def complement_basis(restricted: Array) -> Array | None:
    """Orthonormal basis of ``{z : restrictedᵀz = 0}``; None stands for the whole space.

    The basis has no columns if only z = 0 is left.
    """
    if restricted.shape[1] == 0 or not restricted.any():
        return None
    left, singular, _ = np.linalg.svd(restricted, full_matrices=True)
    rank = int(np.count_nonzero(singular > rigor.RANK_TOLERANCE))
    return left[:, rank:]


def direction(vector: Array) -> float:
    """The sign that makes the largest loading positive, the first of those that are equal.

    They are equal if rounding decides between them, as in ``(1, -1) / √2``: the sign would
    otherwise depend on the order in which the data were summed.
    """
    sizes = np.abs(vector)
    return float(np.sign(vector[np.argmax(sizes >= (1 - SUSPICIOUS_LOADING) * sizes.max())]))


def best_on_support(problem: Subproblem, support: IntArray) -> Candidate | None:
    """Best feasible vector on ``support``, or None if only zero is orthogonal to X there."""
    support = np.asarray(support, dtype=np.intp)
    matrix = problem.covariance[np.ix_(support, support)]
    basis = complement_basis(problem.touching(support))
    if basis is None:
        loading = np.linalg.eigh(matrix)[1][:, -1]
    elif basis.shape[1] == 0:
        return None
    else:
        # What the components have used up may be far larger than what is left: it is not there in
        # the adjusted covariance.
        core = basis.T @ problem.projected[np.ix_(support, support)] @ basis
        loading = basis @ np.linalg.eigh(0.5 * (core + core.T))[1][:, -1]
    loading /= math.sqrt(float(loading @ loading))
    # Sums of products would not do: what components have used up may cancel in them.
    value = variance_down(matrix, loading)
    noise = np.abs(loading) < SUSPICIOUS_LOADING
    if noise.any():
        # A loading of pure noise would tie later components to an index that is not really used.
        without = best_on_support(problem, support[~noise])
        if without is not None and without.value >= value - 8 * UNIT * problem.scale:
            return without
    vector = np.zeros(problem.n_features)
    vector[support] = direction(loading) * loading
    vector.flags.writeable = False
    return Candidate(value, vector)


def values_on_supports(problem: Subproblem, supports: IntArray) -> Array:
    """Best value on each support (rows of ``supports``), ``-inf`` where none is feasible.

    Batched: supports with restricted components of the same rank are solved in one LAPACK sweep.
    """
    matrices = problem.projected[supports[:, :, None], supports[:, None, :]]
    if not problem.constrained:
        return np.asarray(np.linalg.eigvalsh(matrices)[:, -1])
    left, singular, _ = np.linalg.svd(problem.previous[supports], full_matrices=True)
    ranks = np.count_nonzero(singular > rigor.RANK_TOLERANCE, axis=1)
    values = np.full(len(supports), -np.inf)
    for rank in np.unique(ranks):
        if rank < supports.shape[1]:
            chosen = np.flatnonzero(ranks == rank)
            basis = left[chosen][:, :, rank:]
            core = basis.transpose(0, 2, 1) @ matrices[chosen] @ basis
            values[chosen] = np.linalg.eigvalsh(0.5 * (core + core.transpose(0, 2, 1)))[:, -1]
    return values


def upper_on_support(problem: Subproblem, support: IntArray) -> float:
    """Proved upper bound on the value of ``support``, within rounding of it.

    ``-inf`` if it is proved that no feasible vector exists there.
    """
    support = np.asarray(support, dtype=np.intp)
    matrix = problem.covariance[np.ix_(support, support)]
    restricted = problem.touching(support)
    basis = complement_basis(restricted)
    if basis is None:
        return rigor.upper_eigenvalue(matrix)
    if basis.shape[1] == 0:
        # Full row rank: the smallest singular value is far above the error of the SVD.
        return -math.inf
    core = basis.T @ problem.projected[np.ix_(support, support)] @ basis
    estimate = float(np.linalg.eigvalsh(0.5 * (core + core.T))[-1])
    level = estimate - 0.1 * problem.scale
    constrained, radius = rigor.constrain(matrix, restricted, level)
    return rigor.upper_eigenvalue(constrained, estimate, float(radius))


def no_feasible_vector(problem: Subproblem, allowed: IntArray) -> bool:
    """Whether it is proved that only zero is supported in ``allowed`` and orthogonal to X."""
    restricted = problem.touching(allowed)
    if restricted.shape[1] < len(allowed):
        return False
    singular = np.linalg.svd(restricted, compute_uv=False)
    return bool(singular[-1] > rigor.RANK_TOLERANCE)
