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
from dataclasses import dataclass

import numpy as np

from orthospca._typing import Array, IntArray
from orthospca.bounds.classical import norm_bounds, row_bounds, shifted_squares
from orthospca.model.stage import Subproblem
from orthospca.numerics.rounding import dot_radius
from orthospca.numerics.sums import best_sums, row_sums

#: Rounds of fixing inside a neighbourhood; later ones hardly ever find anything.
ROUNDS = 4


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Supports led by one candidate row: the row is in, and the others lie in ``allowed``.

    Attributes
    ----------
    row : int
    allowed : integer array, ascending
        Contains ``row``.
    upper : float
        Proved bound on the value of these supports.
    """

    row: int
    allowed: IntArray
    upper: float


@dataclass(frozen=True, eq=False)
class Screening:
    """Neighbourhoods that cover every support with a value above the cutoff.

    Attributes
    ----------
    neighbourhoods : tuple of Neighbourhood
        Largest bound first.
    upper : float
        Proved bound on the whole problem, before anything was ruled out.
    removed_upper : float
        Proved bound on every support that is not covered; at most the cutoff.
    """

    neighbourhoods: tuple[Neighbourhood, ...]
    upper: float
    removed_upper: float

    @property
    def allowed(self) -> IntArray:
        """Return all indices that occur in a neighbourhood."""
        size = max((int(item.allowed[-1]) for item in self.neighbourhoods), default=-1) + 1
        occurs = np.zeros(size, dtype=bool)
        for item in self.neighbourhoods:
            occurs[item.allowed] = True
        return np.flatnonzero(occurs)


def best_shift(matrix: Array) -> float:
    """Return the μ that makes ``μ + ‖matrix - μI‖_F`` smallest."""
    p = len(matrix)
    if p == 1:
        return float(matrix[0, 0])
    mean = float(matrix.diagonal().mean())
    spread = float((matrix * matrix).sum()) - p * mean * mean
    return mean - math.sqrt(max(spread, 0.0) / (p * (p - 1)))


def screen(problem: Subproblem, cutoff: float, many: int = 500) -> Screening:
    """Find the candidate rows and their neighbourhoods.

    Parameters
    ----------
    problem : Subproblem
    cutoff : float
        Supports with values up to this one are of no interest.
    many : int
        With more candidate rows than this their neighbourhoods are not looked at one by one.
    """
    matrix, p = problem.projected, problem.sparsity
    diagonal, outer = matrix.diagonal(), problem.row_strengths
    row_uppers = row_bounds(diagonal, outer, p, problem.projected_radius)
    slack = row_slack(problem)
    upper = float(row_uppers.max())
    candidates = np.flatnonzero(row_uppers > cutoff)
    removed = float(np.max(row_uppers, where=row_uppers <= cutoff, initial=-math.inf))
    found = []
    everything = np.arange(problem.n_features)
    for row in candidates[np.argsort(-row_uppers[candidates], kind="stable")]:
        allowed, far = everything, -math.inf
        if len(candidates) <= many:
            allowed, far = neighbours(matrix, int(row), p, cutoff, float(slack[row]))
        removed = max(removed, far)
        found.append(Neighbourhood(int(row), allowed, float(row_uppers[row])))
    return Screening(tuple(found), upper, removed)


def refine(
    problem: Subproblem, screening: Screening, cutoff: float, shift: float = 0.0
) -> Screening:
    """Drop from each neighbourhood what the Frobenius norm rules out.

    Parameters
    ----------
    problem : Subproblem
    screening : Screening
        At the same cutoff.
    cutoff : float
    shift : float
        The μ of the Frobenius bound; any number is valid.
    """
    removed = screening.removed_upper
    found = []
    for part in screening.neighbourhoods:
        fixed = fix_by_frobenius(problem, np.array([part.row]), part.allowed, cutoff, shift)
        removed = max(removed, fixed.removed_upper)
        if len(fixed.allowed):
            found.append(Neighbourhood(part.row, fixed.allowed, part.upper))
    return Screening(tuple(found), screening.upper, removed)


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


@dataclass(frozen=True, eq=False)
class Fixed:
    """What is left of a node (nothing, if ``allowed`` is empty), and a proved bound on the rest."""

    allowed: IntArray
    removed_upper: float


def fix_by_frobenius(
    problem: Subproblem,
    included: IntArray,
    allowed: IntArray,
    cutoff: float,
    shift: float = 0.0,
) -> Fixed:
    """Drop the allowed indices that no support of norm above the cutoff can contain.

    Row k of a support contains the included columns, so ``(Q_kk - shift)² + Σ_F Q_kf²`` and the
    largest other squares bound its part of the squared norm.
    """
    p, radius = problem.sparsity, problem.projected_radius
    removed = -math.inf
    for _ in range(ROUNDS):
        if len(allowed) <= p:
            break
        matrix = problem.projected[np.ix_(allowed, allowed)]
        inside = np.isin(allowed, included)
        costs = row_sums(shifted_squares(matrix, shift), inside, p)
        total, with_each = best_sums(costs, inside, p)
        upper = float(norm_bounds(shift, np.array(total), p, radius))
        if upper <= cutoff:
            return Fixed(allowed[:0], max(removed, upper))
        uppers = norm_bounds(shift, with_each, p, radius)
        keep = inside | (uppers > cutoff)
        if keep.all():
            break
        removed = max(removed, float(uppers[~keep].max()))
        allowed = allowed[keep]
    return Fixed(allowed, removed)
